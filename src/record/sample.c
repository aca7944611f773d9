/* SPDX-License-Identifier: MIT */
/*
 * Decodes PERF_RECORD_SAMPLE. The fields have the order of the kernel's perf_output_sample(): first
 * the fixed fields of one word each, whose number is in the parse info, so one comparison checks
 * them all; then fields of variable size.
 */
#include "internal.h"

/* The undecoded words of a sample. */
struct sample_cursor {
	const uint64_t *at;
	const uint64_t *end;
	const struct perch_parse_info *parse_info;
	struct perch_record *record;
	struct perch_error *err;
	bool swap;
	bool no_hw_index; /* an empty branch stack has no hw_index */
};

PERCH__INLINE uint64_t words_left(const struct sample_cursor *c)
{
	return c->end - c->at;
}

PERCH__INLINE uint64_t next_word(struct sample_cursor *c)
{
	return perch__u64(c->at++, c->swap);
}

/* Two u32 in memory order: pid and tid, cpu and reserved. */
PERCH__INLINE uint32_t low_half(const struct sample_cursor *c)
{
	return perch__u32(c->at, c->swap);
}

PERCH__INLINE uint32_t high_half(const struct sample_cursor *c)
{
	return perch__u32((const char *)c->at + 4, c->swap);
}

/*
 * A sample is not cleared before it is decoded, because that takes longer than decoding. Instead,
 * each field is set, to the value in the record or to zero. The variable fields have the same order
 * in struct perch_sample as in the record, so the fields from the truncated one on are cleared
 * here.
 */
static __attribute__((noinline)) int truncated_sample(struct perch_record *record, const void *at,
						      void *view, const char *field,
						      struct perch_error *err)
{
	memset(view, 0, (char *)(&record->sample + 1) - (char *)view);
	return perch__truncated(record, at, field, err);
}

PERCH__INLINE int truncated_at(const struct sample_cursor *c, void *view, const char *field)
{
	return truncated_sample(c->record, c->at, view, field, c->err);
}

static const struct {
	uint64_t bit;
	const char *name;
} fixed_fields[] = {
	{ PERCH_SAMPLE_IDENTIFIER, "identifier" },
	{ PERCH_SAMPLE_IP, "ip" },
	{ PERCH_SAMPLE_TID, "pid, tid" },
	{ PERCH_SAMPLE_TIME, "time" },
	{ PERCH_SAMPLE_ADDR, "addr" },
	{ PERCH_SAMPLE_ID, "id" },
	{ PERCH_SAMPLE_STREAM_ID, "stream_id" },
	{ PERCH_SAMPLE_CPU, "cpu" },
	{ PERCH_SAMPLE_PERIOD, "period" },
};

/* Finds the first fixed field that exceeds the record. */
static __attribute__((noinline)) int truncated_fixed(struct perch_record *record, uint64_t words,
						     struct perch_error *err)
{
	const uint64_t *at = (const uint64_t *)record->bytes + 1;
	const char *name = "period";

	memset(&record->sample_id, 0, sizeof(record->sample_id));
	for (size_t i = 0; i < PERCH__NR(fixed_fields); i++) {
		if (!(record->parse_info->sample_type & fixed_fields[i].bit))
			continue;
		name = fixed_fields[i].name;
		if (!words--)
			break;
		at++;
	}
	return truncated_sample(record, at, &record->sample, name, err);
}

/*
 * sample_id repeats fields of the sample. It is written along with them: a copy afterwards would
 * wait until they leave the CPU's store buffer, which takes longer than the rest of the decoding.
 */
PERCH__INLINE int decode_fixed(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	struct perch_sample_id *sample_id = &c->record->sample_id;
	uint64_t type = c->parse_info->sample_type;
	uint64_t id = 0;

	if (__builtin_expect(words_left(c) < c->parse_info->fixed_words, 0))
		return truncated_fixed(c->record, words_left(c), c->err);
	sample_id->has = type & PERCH__SAMPLE_ID_BITS;
	if (type & PERCH_SAMPLE_IDENTIFIER)
		id = next_word(c);
	sample->ip = type & PERCH_SAMPLE_IP ? next_word(c) : 0;
	sample_id->pid = sample->pid = type & PERCH_SAMPLE_TID ? low_half(c) : 0;
	sample_id->tid = sample->tid = type & PERCH_SAMPLE_TID ? high_half(c) : 0;
	c->at += !!(type & PERCH_SAMPLE_TID);
	sample_id->time = sample->time = type & PERCH_SAMPLE_TIME ? next_word(c) : 0;
	sample->addr = type & PERCH_SAMPLE_ADDR ? next_word(c) : 0;
	if (type & PERCH_SAMPLE_ID)
		id = next_word(c);
	sample_id->id = sample->id = id;
	sample_id->stream_id = sample->stream_id = type & PERCH_SAMPLE_STREAM_ID ? next_word(c) : 0;
	sample_id->cpu = sample->cpu = type & PERCH_SAMPLE_CPU ? low_half(c) : 0;
	c->at += !!(type & PERCH_SAMPLE_CPU);
	sample->period = type & PERCH_SAMPLE_PERIOD ? next_word(c) : c->parse_info->period;
	return 0;
}

PERCH__INLINE int decode_read_values(struct sample_cursor *c)
{
	struct perch__truncated_field truncated;
	const uint64_t *after = perch__decode_read(&c->record->sample.read,
						   c->parse_info->read_format, c->at, c->end,
						   c->swap, &truncated);

	if (!after)
		return truncated_sample(c->record, truncated.at, &c->record->sample.read,
					truncated.field, c->err);
	c->at = after;
	return 0;
}

PERCH__INLINE int decode_callchain(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t nr;

	if (__builtin_expect(!words_left(c), 0))
		return truncated_at(c, &sample->callchain, "number of callchain entries");
	nr = next_word(c);
	if (__builtin_expect(nr > words_left(c), 0))
		return truncated_at(c, &sample->callchain, "callchain");
	sample->callchain.nr = nr;
	sample->callchain.ip = c->at;
	c->at += nr;
	return 0;
}

/* u32 size, then the bytes. Both together are a multiple of 8 bytes. */
PERCH__INLINE int decode_raw(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t bytes, words;

	if (!words_left(c))
		return truncated_at(c, &sample->raw, "raw size");
	bytes = 4 + (uint64_t)low_half(c);
	words = (bytes + 7) / 8;
	if (words > words_left(c))
		return truncated_sample(c->record, (const char *)c->at + 4, &sample->raw, "raw",
					c->err);
	sample->raw.size = bytes - 4;
	sample->raw.data = (const char *)c->at + 4;
	c->at += words;
	return 0;
}

#define ENTRY_WORDS (sizeof(struct perch_branch_entry) / sizeof(uint64_t))

/* A stack without entries may or may not have a hw_index, see decode_hw_index(). */
PERCH__INLINE int decode_branches(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t kinds = c->parse_info->branch_sample_type;
	uint64_t nr, hw_index = 0;

	if (!words_left(c))
		return truncated_at(c, &sample->branches, "number of branch_stack.entries");
	nr = next_word(c);
	if (kinds & PERCH_SAMPLE_BRANCH_HW_INDEX && (nr || !c->no_hw_index)) {
		if (!words_left(c))
			return truncated_at(c, &sample->branches, "branch_stack.hw_idx");
		hw_index = next_word(c);
	}
	if (nr > words_left(c) / ENTRY_WORDS)
		return truncated_at(c, &sample->branches, "branch_stack.entries");
	sample->branches.entry = (const struct perch_branch_entry *)c->at;
	sample->branches.nr = nr;
	sample->branches.hw_index = hw_index;
	sample->branches.counters = NULL;
	c->at += nr * ENTRY_WORDS;
	if (kinds & PERCH_SAMPLE_BRANCH_COUNTERS) {
		if (nr > words_left(c))
			return truncated_at(c, &sample->branches,
					    "branch_stack.entries[].counters");
		sample->branches.counters = c->at;
		c->at += nr;
	}
	return 0;
}

PERCH__INLINE int decode_registers(struct sample_cursor *c, struct perch_registers *regs,
				   uint64_t mask, uint32_t nr, const char *abi_field,
				   const char *field)
{
	uint64_t abi;

	if (!words_left(c))
		return truncated_at(c, regs, abi_field);
	abi = next_word(c);
	if (abi == PERCH_SAMPLE_REGS_ABI_NONE) {
		*regs = (struct perch_registers){ 0 };
		return 0;
	}
	if (words_left(c) < nr)
		return truncated_at(c, regs, field);
	*regs = (struct perch_registers){ .abi = abi, .mask = mask, .nr = nr, .value = c->at };
	c->at += nr;
	return 0;
}

/* u64 size; if it is not 0, the bytes, and u64 dyn_size, the number of bytes that were copied. */
PERCH__INLINE int decode_stack(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t size, words, dynamic;

	if (!words_left(c))
		return truncated_at(c, &sample->stack_user, "user_stack.size");
	size = next_word(c);
	if (!size) {
		sample->stack_user.size = sample->stack_user.dynamic_size = 0;
		sample->stack_user.data = NULL;
		return 0;
	}
	words = size / 8 + !!(size % 8);
	if (words > words_left(c))
		return truncated_at(c, &sample->stack_user, "user_stack.data");
	sample->stack_user.size = size;
	sample->stack_user.data = c->at;
	c->at += words;
	if (!words_left(c))
		return truncated_at(c, &sample->stack_user, "user_stack.dyn_size");
	dynamic = next_word(c);
	sample->stack_user.dynamic_size = dynamic < size ? dynamic : size;
	return 0;
}

PERCH__INLINE int decode_u64(struct sample_cursor *c, uint64_t *value, const char *field)
{
	if (!words_left(c))
		return truncated_at(c, value, field);
	*value = next_word(c);
	return 0;
}

PERCH__INLINE int decode_aux(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t size, words;

	if (!words_left(c))
		return truncated_at(c, &sample->aux, "aux size");
	size = next_word(c);
	words = size / 8 + !!(size % 8);
	if (words > words_left(c))
		return truncated_at(c, &sample->aux, "aux");
	sample->aux.size = size;
	sample->aux.data = c->at;
	c->at += words;
	return 0;
}

/* Fields that a record does not have are cleared in groups: most samples have none of a group. */
#define CLEAR(member) memset(&sample->member, 0, sizeof(sample->member))

PERCH__INLINE void clear_raw_to_stack(struct perch_sample *sample)
{
	CLEAR(raw);
	CLEAR(branches);
	CLEAR(regs_user);
	CLEAR(stack_user);
}

PERCH__INLINE void clear_weight_to_aux(struct perch_sample *sample)
{
	sample->weight = sample->data_src = sample->transaction = 0;
	CLEAR(regs_intr);
	sample->phys_addr = sample->cgroup = sample->data_page_size = sample->code_page_size = 0;
	CLEAR(aux);
}

/* RAW to STACK_USER. */
PERCH__INLINE int decode_raw_to_stack(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	const struct perch_parse_info *parse_info = c->parse_info;
	uint64_t type = parse_info->sample_type;
	int rc = 0;

	if (type & PERCH_SAMPLE_RAW)
		rc = decode_raw(c);
	else
		CLEAR(raw);
	if (rc)
		return rc;
	if (type & PERCH_SAMPLE_BRANCH_STACK)
		rc = decode_branches(c);
	else
		CLEAR(branches);
	if (rc)
		return rc;
	if (type & PERCH_SAMPLE_REGS_USER)
		rc = decode_registers(c, &sample->regs_user, parse_info->regs_user,
				      parse_info->nr_regs_user, "user_regs.abi", "user_regs");
	else
		CLEAR(regs_user);
	if (rc)
		return rc;
	if (type & PERCH_SAMPLE_STACK_USER)
		rc = decode_stack(c);
	else
		CLEAR(stack_user);
	return rc;
}

/* WEIGHT to AUX. Samples with these fields are rare, so all are cleared first. */
PERCH__INLINE int decode_weight_to_aux(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	const struct perch_parse_info *parse_info = c->parse_info;
	uint64_t type = parse_info->sample_type;
	int rc = 0;

	clear_weight_to_aux(sample);
	if (type & (PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT))
		rc = decode_u64(c, &sample->weight, "weight");
	if (!rc && type & PERCH_SAMPLE_DATA_SRC)
		rc = decode_u64(c, &sample->data_src, "data_src");
	if (!rc && type & PERCH_SAMPLE_TRANSACTION)
		rc = decode_u64(c, &sample->transaction, "transaction");
	if (!rc && type & PERCH_SAMPLE_REGS_INTR)
		rc = decode_registers(c, &sample->regs_intr, parse_info->regs_intr,
				      parse_info->nr_regs_intr, "intr_regs.abi", "intr_regs");
	if (!rc && type & PERCH_SAMPLE_PHYS_ADDR)
		rc = decode_u64(c, &sample->phys_addr, "phys_addr");
	if (!rc && type & PERCH_SAMPLE_CGROUP)
		rc = decode_u64(c, &sample->cgroup, "cgroup");
	if (!rc && type & PERCH_SAMPLE_DATA_PAGE_SIZE)
		rc = decode_u64(c, &sample->data_page_size, "data_page_size");
	if (!rc && type & PERCH_SAMPLE_CODE_PAGE_SIZE)
		rc = decode_u64(c, &sample->code_page_size, "code_page_size");
	if (!rc && type & PERCH_SAMPLE_AUX)
		rc = decode_aux(c);
	return rc;
}

#define RAW_TO_STACK_BITS                                                        \
	(PERCH_SAMPLE_RAW | PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_REGS_USER | \
	 PERCH_SAMPLE_STACK_USER)
#define WEIGHT_TO_AUX_BITS                                                                 \
	(PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_SRC |        \
	 PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_PHYS_ADDR |      \
	 PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE | PERCH_SAMPLE_CODE_PAGE_SIZE | \
	 PERCH_SAMPLE_AUX)

PERCH__INLINE int decode_variable(struct sample_cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t type = c->parse_info->sample_type;
	int rc = 0;

	if (type & PERCH_SAMPLE_READ)
		rc = decode_read_values(c);
	else
		CLEAR(read);
	if (rc)
		return rc;
	if (type & PERCH_SAMPLE_CALLCHAIN)
		rc = decode_callchain(c);
	else
		CLEAR(callchain);
	if (rc)
		return rc;
	if (type & RAW_TO_STACK_BITS)
		rc = decode_raw_to_stack(c);
	else
		clear_raw_to_stack(sample);
	if (rc)
		return rc;
	if (type & WEIGHT_TO_AUX_BITS)
		rc = decode_weight_to_aux(c);
	else
		clear_weight_to_aux(sample);
	return rc;
}

PERCH__INLINE int decode(struct perch_record *record, const struct perch_parse_info *parse_info,
			 struct perch_error *err, const bool swap, const bool no_hw_index)
{
	const char *bytes = record->bytes;
	struct sample_cursor c = {
		.at = (const uint64_t *)(bytes + PERCH__HEADER_BYTES),
		.end = (const uint64_t *)(bytes + (record->size & ~7u)),
		.parse_info = parse_info,
		.record = record,
		.err = err,
		.swap = swap,
		.no_hw_index = no_hw_index,
	};
	int rc = decode_fixed(&c);

	if (!rc)
		rc = decode_variable(&c);
	if (!rc)
		record->trailing_bytes = bytes + record->size - (const char *)c.at;
	return rc;
}

static __attribute__((noinline)) int decode_swapped(struct perch_record *record,
						    const struct perch_parse_info *parse_info,
						    struct perch_error *err)
{
	return decode(record, parse_info, err, true, false);
}

static __attribute__((noinline)) int decode_native(struct perch_record *record,
						   const struct perch_parse_info *parse_info,
						   struct perch_error *err)
{
	return decode(record, parse_info, err, false, false);
}

/*
 * If the event has no branch stack, the kernel writes nr = 0 without hw_index. An empty branch
 * stack is nr = 0 with hw_index. Only the record's size distinguishes them: the interpretation that
 * ends exactly at the record's end is right. If neither does, one that ends within the record is
 * used, the one with hw_index first.
 */
static __attribute__((noinline)) int decode_hw_index(struct perch_record *record,
						     const struct perch_parse_info *parse_info,
						     struct perch_error *err)
{
	const bool swap = parse_info->swapped;
	int first = decode(record, parse_info, NULL, swap, false);

	if (!first && (record->sample.branches.nr || !record->trailing_bytes))
		return 0;
	record->trailing_bytes = 0;
	if (!decode(record, parse_info, NULL, swap, true) && (first || !record->trailing_bytes))
		return 0;
	record->trailing_bytes = 0;
	return decode(record, parse_info, err, swap, false);
}

int perch__decode_sample(struct perch_record *record, const struct perch_parse_info *parse_info,
			 struct perch_error *err)
{
	if (__builtin_expect(parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_HW_INDEX, 0))
		return decode_hw_index(record, parse_info, err);
	if (__builtin_expect(parse_info->swapped, 0))
		return decode_swapped(record, parse_info, err);
	return decode_native(record, parse_info, err);
}
