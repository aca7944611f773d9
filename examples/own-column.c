/* SPDX-License-Identifier: MIT */
/*
 * A profile with a column of the program's own: page faults of this process, by the part of an
 * array in which they are. The rows are grouped by two columns: the function, from the library, and
 * the part.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <perch/profile.h>
#include <perch/sampler.h>

#define PARTS	   4
#define PART_BYTES (256 * 1024)

struct array {
	unsigned char *bytes;
};

__attribute__((noinline)) static void write_all(struct array *array)
{
	for (size_t i = 0; i < (size_t)PARTS * PART_BYTES / 2; i += 4096)
		array->bytes[i] = 1;
}

__attribute__((noinline)) static void write_few(struct array *array)
{
	for (size_t i = 0; i < PART_BYTES; i += 16384)
		array->bytes[3 * PART_BYTES + i] = 2;
}

/* ---- the column ---- */

/* The value of a sample: the number of the part, or PARTS for other memory. */
static int part_value(void *data, const struct perch_record *record,
		      const struct perch_thread *thread, uint64_t *value)
{
	const struct array *array = (const struct array *)data;
	uint64_t offset = record->sample.addr - (uint64_t)(uintptr_t)array->bytes;

	(void)thread;
	*value = offset < (uint64_t)PARTS * PART_BYTES ? offset / PART_BYTES : PARTS;
	return 0;
}

/* The last part comes first. */
static int part_compare(void *data, uint64_t a, uint64_t b)
{
	(void)data;
	return (a < b) - (a > b);
}

static void part_format(void *data, uint64_t value, char *buffer, size_t size)
{
	(void)data;
	if (value < PARTS)
		snprintf(buffer, size, "part %d of %d", (int)value + 1, PARTS);
	else
		snprintf(buffer, size, "other memory");
}

/* ---- the profile ---- */

static int print_rows(struct perch_profile *profile, const struct perch_column *part,
		      struct perch_error *err)
{
	const struct perch_column *sym = perch_column_find("sym", 3);
	const struct perch_rows_options by_part = { .by = &part, .nr_by = 1 };
	char text[PERCH_CELL_BYTES], name[PERCH_CELL_BYTES];
	const struct perch_row *rows;
	size_t nr;
	int rc = perch_profile_finish(profile, err);

	if (rc >= 0)
		rc = perch_profile_rows(profile, 0, &by_part, &rows, &nr, err);
	if (rc < 0)
		return rc;
	printf("%8s  %-16s  %s\n", "faults", part->header, sym->header);
	for (size_t i = 0; i < nr; i++)
		printf("%8llu  %-16s  %s\n", (unsigned long long)rows[i].samples,
		       perch_profile_cell(profile, &rows[i], part, text, sizeof(text)),
		       perch_profile_cell(profile, &rows[i], sym, name, sizeof(name)));
	return 0;
}

int main(void)
{
	const struct perch_sampler_options options = {
		.event = { .period = 1,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_PERIOD },
	};
	struct array array = { NULL };
	const struct perch_column part = {
		.name = "part",
		.header = "Part of array",
		.summary = "part of the array",
		.scope = PERCH_COLUMN_SAMPLE,
		.type = PERCH_COLUMN_TEXT,
		.value = part_value,
		.compare = part_compare,
		.format = part_format,
		.data = &array,
	};
	const struct perch_column *columns[] = { &part };
	const struct perch_profile_options grouping = { .names = "sym",
							.columns = columns,
							.nr_columns = 1 };
	struct perch_sampler *sampler = NULL;
	struct perch_processes *processes = NULL;
	struct perch_symbols *symbols = NULL;
	struct perch_profile *profile = NULL;
	struct perch_record record;
	struct perch_error err;
	int rc;

	array.bytes = (unsigned char *)mmap(NULL, (size_t)PARTS * PART_BYTES,
					    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
					    0);
	if (array.bytes == MAP_FAILED)
		return perror("mmap"), 1;
	madvise(array.bytes, (size_t)PARTS * PART_BYTES, MADV_NOHUGEPAGE);
	if (perch_sampler_open(&sampler, "page-faults:u", NULL, &options, &err) < 0 ||
	    perch_processes_new(&processes, &err) < 0 ||
	    perch_processes_add_running(processes, 0, NULL, &err) < 0 ||
	    perch_symbols_new(&symbols, NULL, &err) < 0 ||
	    perch_profile_new(&profile, processes, symbols, &grouping, &err) < 0)
		return perch_error_print(stderr, &err), 1;

	perch_sampler_enable(sampler, NULL);
	write_all(&array);
	write_few(&array);
	perch_sampler_disable(sampler, NULL);

	while ((rc = perch_sampler_next(sampler, &record, &err)) > 0 &&
	       (rc = perch_processes_apply(processes, &record)) >= 0 &&
	       (rc = perch_profile_add(profile, &record, &err)) >= 0)
		;
	if (rc >= 0)
		rc = print_rows(profile, &part, &err);
	if (rc < 0)
		perch_error_print(stderr, &err);
	perch_profile_free(profile);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	perch_sampler_close(sampler);
	munmap(array.bytes, (size_t)PARTS * PART_BYTES);
	return rc < 0;
}
