/* SPDX-License-Identifier: MIT */
/* Random descriptions: all that a kernel can write, and little that it cannot. */
#include <string.h>

#include "build.h"

#define SAMPLE_FIELDS 25
#define READ_FORMATS  (PERCH_FORMAT_MAX - 1)

static const uint64_t contexts[] = {
	PERCH_CONTEXT_HV,    PERCH_CONTEXT_KERNEL,	 PERCH_CONTEXT_USER,
	PERCH_CONTEXT_GUEST, PERCH_CONTEXT_GUEST_KERNEL, PERCH_CONTEXT_GUEST_USER,
};

/* None, one, few, half, or all of the bits below `bits`. */
static uint64_t some_bits(struct build_rng *rng, unsigned bits)
{
	uint64_t all = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	switch (build_below(rng, 6)) {
	case 0:
		return build_percent(rng, 30) ? 0 : UINT64_C(1) << build_below(rng, bits);
	case 1:
		return all & build_random(rng) & build_random(rng) & build_random(rng);
	case 2:
		return all & (build_random(rng) | build_random(rng) | build_random(rng));
	case 3:
		return all;
	default:
		return all & build_random(rng);
	}
}

void build_fill_shape(struct build_shape *shape, struct build_rng *rng)
{
	memset(shape, 0, sizeof(*shape));
	shape->big_endian = build_percent(rng, 50);
	shape->sample_id_all = build_percent(rng, 70);
	shape->sample_type = some_bits(rng, SAMPLE_FIELDS);
	if ((shape->sample_type & PERCH_SAMPLE_WEIGHT_TYPE) == PERCH_SAMPLE_WEIGHT_TYPE)
		shape->sample_type &= build_percent(rng, 50)
					      ? ~(uint64_t)PERCH_SAMPLE_WEIGHT
					      : ~(uint64_t)PERCH_SAMPLE_WEIGHT_STRUCT;
	shape->read_format = some_bits(rng, 5) & READ_FORMATS;
	shape->branch_sample_type = some_bits(rng, 20);
	shape->regs_user = some_bits(rng, 64);
	shape->regs_intr = some_bits(rng, 64);
	shape->period = build_number(rng);
	shape->build_id = build_percent(rng, 50);
}

/* The length of a list: mostly short, sometimes 0 or the maximum. */
static uint64_t some_entries(struct build_rng *rng)
{
	if (build_percent(rng, 15))
		return 0;
	if (build_percent(rng, 10))
		return BUILD_ENTRIES;
	return 1 + build_below(rng, build_percent(rng, 70) ? 8 : BUILD_ENTRIES);
}

static void fill_blob(struct build_blob *blob, uint64_t size, struct build_rng *rng)
{
	blob->size = size;
	for (uint64_t i = 0; i < size; i++)
		blob->byte[i] = build_random(rng);
}

static void fill_text(char *text, struct build_rng *rng)
{
	uint64_t length = build_below(rng, build_percent(rng, 80) ? 24 : BUILD_TEXT);

	for (uint64_t i = 0; i < length; i++)
		text[i] = build_percent(rng, 95) ? 'a' + build_below(rng, 26)
						 : 1 + build_below(rng, 255);
	text[length] = 0;
}

static void fill_values(struct build_values *values, uint64_t format, struct build_rng *rng)
{
	values->nr = format & PERCH_FORMAT_GROUP ? 1 + build_below(rng, BUILD_ENTRIES) : 1;
	values->enabled = build_number(rng);
	values->running = build_number(rng);
	for (uint64_t i = 0; i < values->nr; i++)
		values->value[i] = (struct build_value){ build_number(rng), build_number(rng),
							 build_number(rng) };
}

/* A call chain with markers; it may end in USER_DEFERRED. */
static void fill_chain(struct build_words *chain, bool deferred, struct build_rng *rng)
{
	chain->nr = some_entries(rng);
	for (uint64_t i = 0; i < chain->nr; i++) {
		uint64_t address = build_number(rng);

		chain->word[i] = address < PERCH_CONTEXT_MAX ? address : address - 4096;
		if (build_percent(rng, 15))
			chain->word[i] =
				contexts[build_below(rng, sizeof(contexts) / sizeof(*contexts))];
	}
	if (deferred && chain->nr >= 2)
		chain->word[chain->nr - 2] = PERCH_CONTEXT_USER_DEFERRED;
}

static void fill_registers(struct build_registers *registers, uint64_t mask, struct build_rng *rng)
{
	registers->abi = build_below(rng, 3);
	registers->value.nr = __builtin_popcountll(mask);
	for (uint64_t i = 0; i < registers->value.nr; i++)
		registers->value.word[i] = build_number(rng);
}

static void fill_branches(struct build_sample *sample, struct build_rng *rng)
{
	sample->nr_branches = some_entries(rng);
	sample->hw_index = build_number(rng);
	for (uint64_t i = 0; i < sample->nr_branches; i++)
		sample->branch[i] = (struct build_branch){
			.from = build_number(rng),
			.to = build_number(rng),
			.mispred = build_below(rng, 2),
			.predicted = build_below(rng, 2),
			.in_tx = build_below(rng, 2),
			.abort = build_below(rng, 2),
			.cycles = build_below(rng, 1 << 16),
			.type = build_below(rng, 1 << 4),
			.spec = build_below(rng, 1 << 2),
			.new_type = build_below(rng, 1 << 4),
			.priv = build_below(rng, 1 << 3),
			.reserved = build_percent(rng, 90) ? 0
							   : build_below(rng, UINT64_C(1) << 31),
			.counters = build_number(rng),
		};
}

/*
 * Only the record's size distinguishes a missing branch stack from an empty one with an index. So
 * no field of variable size and no bytes of a newer kernel may follow.
 */
#define SIZED_AFTER_BRANCHES                                                         \
	(PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_REGS_INTR | \
	 PERCH_SAMPLE_AUX)

static void leave_out_branches(struct build_record *record, struct build_rng *rng)
{
	struct build_sample *sample = &record->sample;

	if (!(record->shape.sample_type & SIZED_AFTER_BRANCHES) && build_percent(rng, 20)) {
		sample->no_branch_stack = true;
		sample->nr_branches = sample->hw_index = 0;
	}
	if (!sample->nr_branches)
		record->newer = 0;
}

void build_fill_sample(struct build_record *record, struct build_rng *rng)
{
	struct build_sample *sample = &record->sample;
	const struct build_shape *shape = &record->shape;
	uint64_t *number[] = {
		&sample->ip,
		&sample->addr,
		&sample->period,
		&sample->weight,
		&sample->data_src,
		&sample->transaction,
		&sample->phys_addr,
		&sample->cgroup,
		&sample->data_page_size,
		&sample->code_page_size,
	};

	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		*number[i] = build_number(rng);
	fill_values(&sample->read, shape->read_format, rng);
	fill_chain(&sample->callchain, build_percent(rng, 20), rng);
	fill_blob(&sample->raw, 8 * (1 + build_below(rng, 20)) - 4, rng);
	fill_branches(sample, rng);
	leave_out_branches(record, rng);
	fill_registers(&sample->user, shape->regs_user, rng);
	fill_registers(&sample->intr, shape->regs_intr, rng);
	fill_blob(&sample->stack, 8 * build_below(rng, build_percent(rng, 70) ? 8 : BUILD_BLOB / 8),
		  rng);
	sample->stack_dynamic = build_below(rng, sample->stack.size + 1);
	fill_blob(&sample->aux, 8 * build_below(rng, build_percent(rng, 70) ? 8 : BUILD_BLOB / 8),
		  rng);
}

static void fill_numbers(struct build_record *record, struct build_rng *rng)
{
	uint64_t *wide[] = {
		&record->time,
		&record->id,
		&record->stream_id,
		&record->address,
		&record->length,
		&record->page_offset,
		&record->inode,
		&record->generation,
		&record->lost,
		&record->aux_offset,
		&record->aux_size,
		&record->aux_flags,
		&record->hw_id,
		&record->cookie,
		&record->sample_id.time,
		&record->sample_id.id,
		&record->sample_id.stream_id,
	};
	uint32_t *narrow[] = {
		&record->pid,		&record->tid,		&record->ppid,
		&record->ptid,		&record->major,		&record->minor,
		&record->flags,		&record->bpf_id,	&record->sample_id.pid,
		&record->sample_id.tid, &record->sample_id.cpu,
	};

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		*wide[i] = build_number(rng);
	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		*narrow[i] = build_number(rng);
	/* the kernel sets no other bits */
	record->protection = build_below(rng, 8);
	record->kind = build_percent(rng, 70) ? build_below(rng, 3) : build_random(rng);
	record->kind_flags = build_percent(rng, 70) ? build_below(rng, 2) : build_random(rng);
}

/* The members that only some types use. */
static void fill_for_type(struct build_record *record, struct build_rng *rng)
{
	if (record->type == PERCH_RECORD_SAMPLE)
		build_fill_sample(record, rng);
	if (record->type == PERCH_RECORD_KSYMBOL)
		record->length = (uint32_t)record->length;
	if (record->type == PERCH_RECORD_READ)
		fill_values(&record->values, record->shape.read_format, rng);
	if (record->type == PERCH_RECORD_CALLCHAIN_DEFERRED)
		fill_chain(&record->chain, false, rng);
	if (record->type == PERCH_RECORD_TEXT_POKE) {
		fill_blob(&record->before, build_below(rng, 40), rng);
		fill_blob(&record->after, build_below(rng, 40), rng);
	}
	if (record->type == PERCH_RECORD_NAMESPACES) {
		record->nr_namespaces = build_percent(rng, 50) ? PERCH_NR_NAMESPACES
							       : some_entries(rng);
		for (uint64_t i = 0; i < record->nr_namespaces; i++)
			record->ns[i] =
				(struct build_namespace){ build_number(rng), build_number(rng) };
	}
}

void build_fill(struct build_record *record, uint32_t type, struct build_rng *rng)
{
	struct build_shape shape = record->shape;
	struct build_blob id, tag;

	memset(record, 0, sizeof(*record));
	record->shape = shape;
	record->type = type ? type : 1 + build_below(rng, PERCH_RECORD_MAX + 1);
	record->misc = build_below(rng, 6) | (build_random(rng) & 0xf000);
	if (record->type == PERCH_RECORD_MMAP2 && !shape.build_id)
		record->misc &= ~PERCH_MISC_MMAP_BUILD_ID;
	record->newer = build_percent(rng, 10) ? 8 * (1 + build_below(rng, 4)) : 0;
	fill_numbers(record, rng);
	fill_text(record->text, rng);
	record->build_id_size = build_percent(rng, 60) ? sizeof(record->build_id)
						       : build_below(rng, 21);
	fill_blob(&id, record->build_id_size, rng);
	memcpy(record->build_id, id.byte, id.size);
	fill_blob(&tag, sizeof(record->tag), rng);
	memcpy(record->tag, tag.byte, tag.size);
	fill_for_type(record, rng);
}
