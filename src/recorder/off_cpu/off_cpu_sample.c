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
	layout->tid = offset_of(type, PERCH_SAMPLE_TID);
	layout->time = offset_of(type, PERCH_SAMPLE_TIME);
	layout->period = offset_of(type, PERCH_SAMPLE_PERIOD);
	layout->ids[0] = offset_of(type, PERCH_SAMPLE_ID);
	layout->ids[1] = offset_of(type, PERCH_SAMPLE_IDENTIFIER);
	layout->rest_words = (size_t)__builtin_popcountll(type & REST);
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
					.chain = chain_offset(layout) };

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

/* Writes the raw data, whose size is such that the next field is aligned, as the kernel does. */
static void put_raw(char **at, uint32_t size, const uint64_t *chain, uint64_t nr,
		    const struct perch_off_cpu *interval)
{
	const struct off_cpu_head head = { interval->pid, interval->tid, interval->ns, nr };
	const struct off_cpu_tail tail = { interval->state, interval->flags, interval->intervals,
					   interval->start };
	const uint32_t padding = 0;

	put(at, &size, sizeof(size));
	put(at, &head, sizeof(head));
	put(at, chain, nr * WORD);
	put(at, &interval->cgroup, sizeof(interval->cgroup));
	put(at, &tail, sizeof(tail));
	put(at, &padding, sizeof(padding));
}

static void set(char *bytes, size_t offset, const void *value, size_t size)
{
	if (offset)
		memcpy(bytes + offset, value, size);
}

int perch__off_cpu_append(const struct off_cpu_layout *layout, struct off_cpu_bytes *to,
			  const struct off_cpu_switch *from, const struct perch_off_cpu *interval,
			  uint64_t time, bool only_chain)
{
	struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL, 0 };
	const uint32_t task[2] = { interval->pid, interval->tid };
	size_t fixed_size = chain_offset(layout), rest = layout->rest_words * WORD, size, raw;
	bool keeps_rest = from->bytes && !only_chain;
	const uint64_t *chain;
	uint64_t nr, raw_nr;
	char *start, *at;

	chain = perch__off_cpu_chain(from, &nr);
	if (keeps_rest)
		rest = from->size - from->rest;
	raw_nr = nr;
	raw = sizeof(struct off_cpu_head) + WORD + sizeof(struct off_cpu_tail) + 4;
	size = fixed_size + WORD + nr * WORD + 4 + raw + raw_nr * WORD + rest;
	if (size > UINT16_MAX) { /* the large copy of a stack: the call chain is there once */
		size -= raw_nr * WORD;
		raw_nr = 0;
	}
	if (size > UINT16_MAX) {
		size -= rest - layout->rest_words * WORD;
		rest = layout->rest_words * WORD;
		keeps_rest = false;
	}
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
	put(&at, &nr, WORD);
	put(&at, chain, nr * WORD);
	put_raw(&at, (uint32_t)(raw + raw_nr * WORD), chain, raw_nr, interval);
	memset(at, 0, rest);
	if (keeps_rest)
		memcpy(at, from->bytes + from->rest, rest);
	set(start, layout->tid, task, sizeof(task));
	set(start, layout->time, &time, WORD);
	set(start, layout->period, &interval->ns, WORD);
	set(start, layout->ids[0], &layout->id, WORD);
	set(start, layout->ids[1], &layout->id, WORD);
	to->used += size;
	return 0;
}
