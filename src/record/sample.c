/* SPDX-License-Identifier: MIT */
/*
 * PERF_RECORD_SAMPLE. The fields come in the order of the kernel's perf_output_sample(): first
 * those of one word, whose number the layout knows, so that one comparison guards them all; then
 * the ones that tell their own size.
 */
#include "internal.h"

/* What is left of a sample's body, in words, and whom to blame. */
struct cursor {
	const uint64_t *at;
	const uint64_t *end;
	const struct perch_layout *layout;
	struct perch_record *record;
	struct perch_error *err;
};

static inline uint64_t left(const struct cursor *c)
{
	return c->end - c->at;
}

static int too_short(const struct cursor *c, const char *field)
{
	return perch__too_short(c->record, c->at, field, c->err);
}

/* pid and tid, cpu and its reserved half: two u32 in memory order. */
static inline uint32_t low_half(const uint64_t *word)
{
	return perch__u32(word);
}

static inline uint32_t high_half(const uint64_t *word)
{
	return perch__u32((const char *)word + 4);
}

/*
 * The identity is written along with the fields it repeats: copied together afterwards, it would
 * wait for them to leave the store buffer, which takes longer than all the rest.
 */
static inline int decode_fixed(struct cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	struct perch_identity *identity = &c->record->identity;
	uint64_t type = c->layout->sample_type;
	const uint64_t *at = c->at;

	if (__builtin_expect(left(c) < c->layout->fixed_words, 0))
		return too_short(c, "ip, tid, time, id, cpu, period");
	identity->has = type & PERCH__IDENTITY_BITS;
	if (type & PERCH_SAMPLE_IDENTIFIER)
		identity->id = sample->id = *at++;
	if (type & PERCH_SAMPLE_IP)
		sample->ip = *at++;
	if (type & PERCH_SAMPLE_TID) {
		identity->pid = sample->pid = low_half(at);
		identity->tid = sample->tid = high_half(at++);
	}
	if (type & PERCH_SAMPLE_TIME)
		identity->time = sample->time = *at++;
	if (type & PERCH_SAMPLE_ADDR)
		sample->addr = *at++;
	if (type & PERCH_SAMPLE_ID)
		identity->id = sample->id = *at++;
	if (type & PERCH_SAMPLE_STREAM_ID)
		identity->stream_id = sample->stream_id = *at++;
	if (type & PERCH_SAMPLE_CPU)
		identity->cpu = sample->cpu = low_half(at++);
	sample->period = type & PERCH_SAMPLE_PERIOD ? *at++ : c->layout->period;
	c->at = at;
	return 0;
}

static int decode_read_values(struct cursor *c)
{
	const uint64_t *after =
		perch__decode_read(&c->record->sample.read, c->layout->read_format, c->at, c->end);

	if (!after)
		return too_short(c, "read");
	c->at = after;
	return 0;
}

static inline int decode_callchain(struct cursor *c)
{
	struct perch_sample *sample = &c->record->sample;

	/* With no word left there is no nr either; left() - 1 must not wrap. */
	if (__builtin_expect(!left(c) || *c->at > left(c) - 1, 0))
		return too_short(c, "callchain");
	sample->callchain.nr = *c->at;
	sample->callchain.ip = c->at + 1;
	c->at += 1 + sample->callchain.nr;
	return 0;
}

/* u32 size and the bytes: together a multiple of 8 when the kernel wrote them. */
static int decode_raw(struct cursor *c)
{
	uint64_t bytes, words;

	if (!left(c))
		return too_short(c, "raw");
	bytes = 4 + (uint64_t)low_half(c->at);
	words = (bytes + 7) / 8;
	if (words > left(c))
		return too_short(c, "raw");
	c->record->sample.raw.size = bytes - 4;
	c->record->sample.raw.data = (const char *)c->at + 4;
	c->at += words;
	return 0;
}

static int decode_branches(struct cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t kinds = c->layout->branch_sample_type;
	uint64_t head = 1 + !!(kinds & PERCH_SAMPLE_BRANCH_HW_INDEX);
	uint64_t entry_words = sizeof(struct perch_branch_entry) / sizeof(uint64_t);
	uint64_t words_each = entry_words + !!(kinds & PERCH_SAMPLE_BRANCH_COUNTERS);
	uint64_t nr;

	if (left(c) < head)
		return too_short(c, "branch stack");
	nr = c->at[0];
	if (nr > (left(c) - head) / words_each)
		return too_short(c, "branch stack");
	sample->branches.nr = nr;
	if (head == 2)
		sample->branches.hw_index = c->at[1];
	c->at += head;
	sample->branches.entry = (const struct perch_branch_entry *)c->at;
	c->at += nr * entry_words;
	if (kinds & PERCH_SAMPLE_BRANCH_COUNTERS) {
		sample->branches.counters = c->at;
		c->at += nr;
	}
	return 0;
}

static int decode_registers(struct cursor *c, struct perch_registers *regs, uint64_t mask,
			    uint32_t nr, const char *field)
{
	if (!left(c))
		return too_short(c, field);
	regs->abi = *c->at++;
	if (regs->abi == PERCH_SAMPLE_REGS_ABI_NONE)
		return 0;
	if (left(c) < nr)
		return too_short(c, field);
	regs->mask = mask;
	regs->nr = nr;
	regs->value = c->at;
	c->at += nr;
	return 0;
}

/* u64 size, then, unless it is 0, the bytes and how many of them the kernel could really copy. */
static int decode_stack(struct cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	uint64_t size, words;

	if (!left(c))
		return too_short(c, "user stack");
	size = *c->at++;
	if (!size)
		return 0;
	words = size / 8 + !!(size % 8);
	if (words >= left(c))
		return too_short(c, "user stack");
	sample->stack_user.size = size;
	sample->stack_user.data = c->at;
	c->at += words;
	sample->stack_user.dynamic_size = *c->at < size ? *c->at : size;
	c->at++;
	return 0;
}

static int decode_word(struct cursor *c, uint64_t *value, const char *field)
{
	if (!left(c))
		return too_short(c, field);
	*value = *c->at++;
	return 0;
}

static int decode_aux(struct cursor *c)
{
	uint64_t size, words;

	if (!left(c))
		return too_short(c, "aux");
	size = *c->at++;
	words = size / 8 + !!(size % 8);
	if (words > left(c))
		return too_short(c, "aux");
	c->record->sample.aux.size = size;
	c->record->sample.aux.data = c->at;
	c->at += words;
	return 0;
}

/* RAW to STACK_USER. */
static int decode_middle(struct cursor *c)
{
	const struct perch_layout *layout = c->layout;
	uint64_t type = layout->sample_type;
	int rc = 0;

	if (type & PERCH_SAMPLE_RAW)
		rc = decode_raw(c);
	if (!rc && type & PERCH_SAMPLE_BRANCH_STACK)
		rc = decode_branches(c);
	if (!rc && type & PERCH_SAMPLE_REGS_USER)
		rc = decode_registers(c, &c->record->sample.regs_user, layout->regs_user,
				      layout->nr_regs_user, "user registers");
	if (!rc && type & PERCH_SAMPLE_STACK_USER)
		rc = decode_stack(c);
	return rc;
}

/* WEIGHT to AUX. */
static int decode_last(struct cursor *c)
{
	struct perch_sample *sample = &c->record->sample;
	const struct perch_layout *layout = c->layout;
	uint64_t type = layout->sample_type;
	int rc = 0;

	if (type & (PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT))
		rc = decode_word(c, &sample->weight, "weight");
	if (!rc && type & PERCH_SAMPLE_DATA_SRC)
		rc = decode_word(c, &sample->data_src, "data source");
	if (!rc && type & PERCH_SAMPLE_TRANSACTION)
		rc = decode_word(c, &sample->transaction, "transaction");
	if (!rc && type & PERCH_SAMPLE_REGS_INTR)
		rc = decode_registers(c, &sample->regs_intr, layout->regs_intr,
				      layout->nr_regs_intr, "registers");
	if (!rc && type & PERCH_SAMPLE_PHYS_ADDR)
		rc = decode_word(c, &sample->phys_addr, "physical address");
	if (!rc && type & PERCH_SAMPLE_CGROUP)
		rc = decode_word(c, &sample->cgroup, "cgroup");
	if (!rc && type & PERCH_SAMPLE_DATA_PAGE_SIZE)
		rc = decode_word(c, &sample->data_page_size, "data page size");
	if (!rc && type & PERCH_SAMPLE_CODE_PAGE_SIZE)
		rc = decode_word(c, &sample->code_page_size, "code page size");
	if (!rc && type & PERCH_SAMPLE_AUX)
		rc = decode_aux(c);
	return rc;
}

#define MIDDLE_BITS                                                              \
	(PERCH_SAMPLE_RAW | PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_REGS_USER | \
	 PERCH_SAMPLE_STACK_USER)
#define LAST_BITS                                                                          \
	(PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_SRC |        \
	 PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_PHYS_ADDR |      \
	 PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE | PERCH_SAMPLE_CODE_PAGE_SIZE | \
	 PERCH_SAMPLE_AUX)

int perch__decode_sample(struct perch_record *record, const struct perch_layout *layout,
			 struct perch_error *err)
{
	const char *bytes = record->bytes;
	uint64_t type = layout->sample_type;
	struct cursor c = {
		.at = (const uint64_t *)(bytes + PERCH__HEADER_BYTES),
		.end = (const uint64_t *)(bytes + (record->size & ~7u)),
		.layout = layout,
		.record = record,
		.err = err,
	};
	int rc = decode_fixed(&c);

	if (!rc && type & PERCH_SAMPLE_READ)
		rc = decode_read_values(&c);
	if (!rc && type & PERCH_SAMPLE_CALLCHAIN)
		rc = decode_callchain(&c);
	if (!rc && type & MIDDLE_BITS)
		rc = decode_middle(&c);
	if (!rc && type & LAST_BITS)
		rc = decode_last(&c);
	return rc;
}
