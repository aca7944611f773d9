/* SPDX-License-Identifier: MIT */
/* Makes samples of off-CPU time from samples of context switches. */
#include <string.h>

#include "base/array.h"
#include "record/off_cpu.h"
#include "recorder/off_cpu/off_cpu.h"

#define WORD sizeof(uint64_t)

/* The fields at the start of a sample, a word each, in their order. */
static const uint64_t fixed[] = {
	PERCH_SAMPLE_IDENTIFIER, PERCH_SAMPLE_IP,   PERCH_SAMPLE_TID,
	PERCH_SAMPLE_TIME,	 PERCH_SAMPLE_ADDR, PERCH_SAMPLE_ID,
	PERCH_SAMPLE_STREAM_ID,	 PERCH_SAMPLE_CPU,  PERCH_SAMPLE_PERIOD,
};

/* Fields that follow the raw data. Each is one word when it is empty. */
#define REST                                                                               \
	(PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER |    \
	 PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_SRC |        \
	 PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_PHYS_ADDR |      \
	 PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE | PERCH_SAMPLE_CODE_PAGE_SIZE | \
	 PERCH_SAMPLE_AUX)

#define AFTER_CGROUP (PERCH_SAMPLE_DATA_PAGE_SIZE | PERCH_SAMPLE_CODE_PAGE_SIZE | PERCH_SAMPLE_AUX)

#define NEEDED                                                                           \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_RAW | \
	 PERCH_SAMPLE_CALLCHAIN)

static size_t offset_of(uint64_t sample_type, uint64_t field)
{
	size_t words = 0;

	if (!(sample_type & field))
		return 0;
	for (size_t i = 0; fixed[i] != field; i++)
		words += (sample_type & fixed[i]) != 0;
	return sizeof(struct perch_record_header) + words * WORD;
}

bool perch__off_cpu_layout_init(struct off_cpu_layout *layout, const struct perch_attr *attr,
				uint64_t id)
{
	uint64_t type = attr->sample_type;

	perch_parse_info_init(&layout->parse_info, attr, PERCH_BYTES_NATIVE);
	layout->id = id;
	layout->ip = offset_of(type, PERCH_SAMPLE_IP);
	layout->tid = offset_of(type, PERCH_SAMPLE_TID);
	layout->time = offset_of(type, PERCH_SAMPLE_TIME);
	layout->period = offset_of(type, PERCH_SAMPLE_PERIOD);
	layout->ids[0] = offset_of(type, PERCH_SAMPLE_ID);
	layout->ids[1] = offset_of(type, PERCH_SAMPLE_IDENTIFIER);
	layout->rest_words = (size_t)__builtin_popcountll(type & REST);
	layout->cgroup_word =
		type & PERCH_SAMPLE_CGROUP
			? layout->rest_words - 1 - (size_t)__builtin_popcountll(type & AFTER_CGROUP)
			: SIZE_MAX;
	if (type & PERCH_SAMPLE_BRANCH_STACK &&
	    attr->branch_sample_type & PERCH_SAMPLE_BRANCH_HW_INDEX)
		layout->rest_words++;
	return (type & NEEDED) == NEEDED && !(type & PERCH_SAMPLE_READ);
}

static size_t chain_offset(const struct off_cpu_layout *layout)
{
	return sizeof(struct perch_record_header) + layout->parse_info.fixed_words * WORD;
}

struct off_cpu_switch perch__off_cpu_switch(const struct off_cpu_layout *layout,
					    const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct off_cpu_switch found = { .bytes = record->bytes,
					.size = record->size,
					.chain = chain_offset(layout),
					.cgroup = sample->cgroup };

	/* the decoder has checked all of this against the end of the record */
	found.rest = found.chain + WORD + sample->callchain.nr * WORD;
	found.rest += (sizeof(uint32_t) + sample->raw.size + WORD - 1) / WORD * WORD;
	return found;
}

const uint64_t *perch__off_cpu_chain(const struct off_cpu_switch *from, uint64_t *nr)
{
	const uint64_t *chain;

	*nr = 0;
	if (!from->bytes)
		return NULL;
	chain = (const void *)(from->bytes + from->chain);
	*nr = *chain;
	return chain + 1;
}

static void put(char **at, const void *bytes, size_t size)
{
	if (size)
		memcpy(*at, bytes, size);
	*at += size;
}

static void set(char *bytes, size_t offset, const void *value, size_t size)
{
	if (offset)
		memcpy(bytes + offset, value, size);
}

/* The parts of a sample that differ in size. */
struct parts {
	uint64_t nr, raw_nr; /* entries of the call chain, and of its copy in the raw data */
	bool woken;
	uint64_t waker_nr;
	size_t rest;
	bool keeps_rest;
};

static size_t raw_size(const struct parts *parts)
{
	return sizeof(struct off_cpu_head) + parts->raw_nr * WORD + WORD +
	       sizeof(struct off_cpu_tail) + sizeof(uint32_t) +
	       (parts->woken ? sizeof(struct off_cpu_waker_head) + parts->waker_nr * WORD : 0);
}

static size_t size_of(const struct off_cpu_layout *layout, const struct parts *parts)
{
	return chain_offset(layout) + WORD + parts->nr * WORD + sizeof(uint32_t) + raw_size(parts) +
	       parts->rest;
}

/*
 * Chooses the parts, which have 65,535 bytes at most. With the large copy of a stack the call chain
 * is there once. perf takes the address of the sample from the second entry of the raw data's.
 */
static struct parts choose_parts(const struct off_cpu_layout *layout,
				 const struct off_cpu_switch *from,
				 const struct perch_off_cpu *interval, bool only_chain)
{
	struct parts parts = { .rest = layout->rest_words * WORD };
	uint64_t few;
	size_t size;

	perch__off_cpu_chain(from, &parts.nr);
	parts.raw_nr = parts.nr ? parts.nr : 1;
	few = parts.raw_nr < 2 ? parts.raw_nr : 2;
	parts.keeps_rest = from->bytes && !only_chain && from->size > from->rest;
	if (parts.keeps_rest)
		parts.rest = from->size - from->rest;
	parts.woken = interval->flags & PERCH_OFF_CPU_WOKEN;
	parts.waker_nr = parts.woken ? interval->waker_nr : 0;
	if (size_of(layout, &parts) > UINT16_MAX)
		parts.waker_nr = 0;
	for (int i = 0; i < 2 && size_of(layout, &parts) > UINT16_MAX; i++)
		parts.raw_nr = i ? 0 : few;
	if (size_of(layout, &parts) > UINT16_MAX) {
		parts.raw_nr = few;
		parts.rest = layout->rest_words * WORD;
		parts.keeps_rest = false;
	}
	size = size_of(layout, &parts);
	if (size > UINT16_MAX)
		parts.nr -= (size - UINT16_MAX + WORD - 1) / WORD;
	return parts;
}

/* Writes the raw data, whose size is such that the next field is aligned, as the kernel does. */
static void put_raw(char **at, const struct parts *parts, const uint64_t *chain,
		    const struct perch_off_cpu *interval, uint64_t cgroup)
{
	const struct off_cpu_head head = { interval->pid, interval->tid, interval->ns,
					   parts->raw_nr };
	const struct off_cpu_tail tail = { interval->state, interval->flags, interval->intervals,
					   interval->start };
	const struct off_cpu_waker_head waker = { interval->waker_pid, interval->waker_tid,
						  parts->waker_nr };
	/* the chain of perf's samples without one: perf reads an entry after the marker */
	static const uint64_t empty[1] = { PERCH_CONTEXT_USER };
	const uint32_t padding = 0, size = (uint32_t)raw_size(parts);

	put(at, &size, sizeof(size));
	put(at, &head, sizeof(head));
	put(at, parts->nr ? chain : empty, parts->raw_nr * WORD);
	put(at, &cgroup, sizeof(cgroup));
	put(at, &tail, sizeof(tail));
	if (parts->woken) {
		put(at, &waker, sizeof(waker));
		put(at, interval->waker_chain, parts->waker_nr * WORD);
	}
	put(at, &padding, sizeof(padding));
}

static void put_rest(char *at, const struct off_cpu_layout *layout,
		     const struct off_cpu_switch *from, const struct parts *parts)
{
	if (parts->keeps_rest) {
		memcpy(at, from->bytes + from->rest, parts->rest);
		return;
	}
	memset(at, 0, parts->rest);
	if (layout->cgroup_word != SIZE_MAX)
		memcpy(at + layout->cgroup_word * WORD, &from->cgroup, WORD);
}

size_t perch__off_cpu_make_switch(const struct off_cpu_layout *layout, const uint64_t *chain,
				  size_t nr, char *to, struct off_cpu_switch *made)
{
	const size_t fixed_size = chain_offset(layout), size = fixed_size + WORD + nr * WORD;
	const struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL, 0 };
	const uint64_t entries = nr;
	char *at;

	if (!to)
		return size;
	at = to + fixed_size;
	memset(to, 0, fixed_size);
	memcpy(to, &header, sizeof(header));
	if (nr > 1)
		set(to, layout->ip, &chain[1], WORD);
	put(&at, &entries, WORD);
	put(&at, chain, nr * WORD);
	*made = (struct off_cpu_switch){
		.bytes = to, .size = size, .chain = fixed_size, .rest = size, .before = true
	};
	return size;
}

int perch__off_cpu_append(const struct off_cpu_layout *layout, struct off_cpu_bytes *to,
			  const struct off_cpu_switch *from, const struct perch_off_cpu *interval,
			  uint64_t time, bool only_chain)
{
	struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL, 0 };
	const uint32_t task[2] = { interval->pid, interval->tid };
	const struct parts parts = choose_parts(layout, from, interval, only_chain);
	size_t fixed_size = chain_offset(layout), size = size_of(layout, &parts);
	const uint64_t *chain;
	uint64_t nr;
	char *start, *at;

	chain = perch__off_cpu_chain(from, &nr);
	if (PERCH__ARRAY_RESERVE(to->bytes, to->capacity, to->used + size))
		return -ENOMEM;
	start = at = to->bytes + to->used;
	memset(start, 0, fixed_size);
	put(&at, from->bytes, from->bytes ? fixed_size : 0);
	if (from->bytes)
		memcpy(&header, from->bytes, sizeof(header));
	at = start + fixed_size;
	header.size = (uint16_t)size;
	memcpy(start, &header, sizeof(header));
	put(&at, &parts.nr, WORD);
	put(&at, chain, parts.nr * WORD);
	put_raw(&at, &parts, chain, interval, from->bytes ? from->cgroup : 0);
	put_rest(at, layout, from, &parts);
	set(start, layout->tid, task, sizeof(task));
	set(start, layout->time, &time, WORD);
	set(start, layout->period, &interval->ns, WORD);
	set(start, layout->ids[0], &layout->id, WORD);
	set(start, layout->ids[1], &layout->id, WORD);
	to->used += size;
	return 0;
}
