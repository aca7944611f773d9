/* SPDX-License-Identifier: MIT */
/* A process with one DSO, and samples in it. */
#ifndef PROFILE_FIXTURE_H
#define PROFILE_FIXTURE_H

#include <perch/profile.h>
#include "process_fixture.h"

#define PID  100
#define CODE 0x10000ull /* address and offset of the DSO, which has no symbols */

struct fixture {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_profile *profile;
	const struct perch_row *rows;
	size_t nr;
};

static inline int setup(void **state)
{
	const struct perch_symbols_options options = { .root = "/proc/none",
						       .kallsyms = "/dev/null" };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->processes = new_processes();
	assert_int_equal(perch_symbols_new(&f->symbols, &options, NULL), 0);
	name_thread(f->processes, PID, PID, "begin", false);
	map_file(f->processes, PID, CODE, 0x10000, CODE, "/bin/first");
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	perch_profile_free(f->profile);
	perch_symbols_free(f->symbols);
	perch_processes_free(f->processes);
	free(f);
	return 0;
}

/* Makes a new profile. Frees the last one. */
static inline void start(struct fixture *f, const char *names)
{
	const struct perch_profile_options options = { .names = names };

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
}

static inline struct perch_record sample_record(uint32_t pid, uint32_t tid, uint64_t period,
						uint64_t ip)
{
	static const struct perch_parse_info parse_info = { .sample_type = PERCH_SAMPLE_CPU };

	return (struct perch_record){
		.type = PERCH_RECORD_SAMPLE,
		.misc = PERCH_MISC_USER,
		.parse_info = &parse_info,
		.sample = { .ip = ip, .pid = pid, .tid = tid, .period = period },
	};
}

static inline void add(struct fixture *f, const struct perch_record *record)
{
	assert_int_equal(perch_profile_add(f->profile, record, NULL), 0);
}

static inline void hit(struct fixture *f, uint16_t event, uint64_t period, uint64_t ip)
{
	struct perch_record record = sample_record(PID, PID, period, ip);

	record.event = event;
	add(f, &record);
}

/* Adds a sample with this call chain, which has context markers. */
static inline void chain(struct fixture *f, uint16_t misc, uint64_t period, uint64_t ip, size_t nr,
			 const uint64_t *ips)
{
	struct perch_record record = sample_record(PID, PID, period, ip);

	record.misc = misc;
	record.sample.callchain.nr = nr;
	record.sample.callchain.ip = ips;
	add(f, &record);
}

/* Adds a sample with user frames, innermost first, after the context marker. */
static inline void stack(struct fixture *f, uint64_t period, size_t nr, const uint64_t *ips)
{
	uint64_t *marked = calloc(nr + 1, sizeof(*marked));

	assert_non_null(marked);
	marked[0] = PERCH_CONTEXT_USER;
	memcpy(marked + 1, ips, nr * sizeof(*ips));
	chain(f, PERCH_MISC_USER, period, ips[0], nr + 1, marked);
	free(marked);
}

static inline void finish(struct fixture *f)
{
	assert_int_equal(perch_profile_finish(f->profile, NULL), 0);
}

static inline size_t rows_of(struct fixture *f, unsigned event, bool children)
{
	const struct perch_rows_options options = { .children = children };

	assert_int_equal(perch_profile_rows(f->profile, event, &options, &f->rows, &f->nr, NULL),
			 0);
	return f->nr;
}

static inline const struct perch_column *column(const char *name)
{
	const struct perch_column *found = perch_column_find(name, strlen(name));

	assert_non_null(found);
	return found;
}

static inline uint64_t value(struct fixture *f, size_t row, const char *name)
{
	return perch_profile_value(f->profile, &f->rows[row], column(name));
}

static inline void check_cell(struct fixture *f, size_t row, const char *name, const char *expected)
{
	char buffer[PERCH_CELL_BYTES];

	assert_string_equal(perch_profile_cell(f->profile, &f->rows[row], column(name), buffer,
					       sizeof(buffer)),
			    expected);
}

/* The row of an address, sorted by children, or NULL. */
static inline const struct perch_row *row_at(struct fixture *f, uint64_t offset)
{
	rows_of(f, 0, true);
	for (size_t i = 0; i < f->nr; i++)
		if (f->rows[i].frame.offset == offset)
			return &f->rows[i];
	return NULL;
}

static inline void check_row(struct fixture *f, uint64_t offset, uint64_t self, uint64_t children,
			     uint64_t samples)
{
	const struct perch_row *row = row_at(f, offset);

	assert_non_null(row);
	assert_int_equal(row->self, self);
	assert_int_equal(row->children, children);
	assert_int_equal(row->samples, samples);
}

#endif
