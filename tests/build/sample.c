/* SPDX-License-Identifier: MIT */
/* Samples, in the order of the kernel's perf_output_sample(). */
#include "build.h"

static void put8(struct build_bytes *bytes, uint64_t value)
{
	build_put_number(bytes, value, 8);
}

static void put_words(struct build_bytes *bytes, const struct build_words *words)
{
	for (uint64_t i = 0; i < words->nr; i++)
		put8(bytes, words->word[i]);
}

static void put_value(struct build_bytes *bytes, uint64_t format, const struct build_value *value)
{
	put8(bytes, value->value);
	if (format & PERCH_FORMAT_ID)
		put8(bytes, value->id);
	if (format & PERCH_FORMAT_LOST)
		put8(bytes, value->lost);
}

static void put_times(struct build_bytes *bytes, uint64_t format, const struct build_values *values)
{
	if (format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		put8(bytes, values->enabled);
	if (format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		put8(bytes, values->running);
}

/*
 * In a group the number and the times precede the values; a single event has its times after the
 * value.
 */
void build_write_values(struct build_bytes *bytes, uint64_t format,
			const struct build_values *values)
{
	const struct build_value *alone = &values->value[0];

	if (format & PERCH_FORMAT_GROUP) {
		put8(bytes, values->nr);
		put_times(bytes, format, values);
		for (uint64_t i = 0; i < values->nr; i++)
			put_value(bytes, format, &values->value[i]);
		return;
	}
	put8(bytes, alone->value);
	put_times(bytes, format, values);
	if (format & PERCH_FORMAT_ID)
		put8(bytes, alone->id);
	if (format & PERCH_FORMAT_LOST)
		put8(bytes, alone->lost);
}

static void write_fixed(struct build_bytes *bytes, const struct build_record *record)
{
	const struct build_sample_id *sample_id = &record->sample_id;
	uint64_t type = record->shape.sample_type;

	if (type & PERCH_SAMPLE_IDENTIFIER)
		put8(bytes, sample_id->id);
	if (type & PERCH_SAMPLE_IP)
		put8(bytes, record->sample.ip);
	if (type & PERCH_SAMPLE_TID) {
		build_put_number(bytes, sample_id->pid, 4);
		build_put_number(bytes, sample_id->tid, 4);
	}
	if (type & PERCH_SAMPLE_TIME)
		put8(bytes, sample_id->time);
	if (type & PERCH_SAMPLE_ADDR)
		put8(bytes, record->sample.addr);
	if (type & PERCH_SAMPLE_ID)
		put8(bytes, sample_id->id);
	if (type & PERCH_SAMPLE_STREAM_ID)
		put8(bytes, sample_id->stream_id);
	if (type & PERCH_SAMPLE_CPU) {
		build_put_number(bytes, sample_id->cpu, 4);
		build_put_number(bytes, 0, 4);
	}
	if (type & PERCH_SAMPLE_PERIOD)
		put8(bytes, record->sample.period);
}

static void put_raw(struct build_bytes *bytes, const struct build_blob *raw)
{
	build_put_number(bytes, raw->size, 4);
	build_put(bytes, raw->byte, raw->size);
}

/* struct perf_branch_entry has the same declaration of bit-fields on all machines. */
static void put_branch(struct build_bytes *bytes, const struct build_branch *branch)
{
	const struct {
		uint64_t value;
		unsigned bits;
	} field[] = {
		{ branch->mispred, 1 },	  { branch->predicted, 1 }, { branch->in_tx, 1 },
		{ branch->abort, 1 },	  { branch->cycles, 16 },   { branch->type, 4 },
		{ branch->spec, 2 },	  { branch->new_type, 4 },  { branch->priv, 3 },
		{ branch->reserved, 31 },
	};
	uint64_t flags = 0;
	unsigned first = 0;

	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++) {
		flags |= build_bits(bytes->big_endian, 64, first, field[i].bits, field[i].value);
		first += field[i].bits;
	}
	put8(bytes, branch->from);
	put8(bytes, branch->to);
	put8(bytes, flags);
}

static void put_branches(struct build_bytes *bytes, const struct build_record *record)
{
	const struct build_sample *sample = &record->sample;
	uint64_t kinds = record->shape.branch_sample_type;

	if (sample->no_branch_stack) {
		put8(bytes, 0);
		return;
	}
	put8(bytes, sample->nr_branches);
	if (kinds & PERCH_SAMPLE_BRANCH_HW_INDEX)
		put8(bytes, sample->hw_index);
	for (uint64_t i = 0; i < sample->nr_branches; i++)
		put_branch(bytes, &sample->branch[i]);
	if (kinds & PERCH_SAMPLE_BRANCH_COUNTERS)
		for (uint64_t i = 0; i < sample->nr_branches; i++)
			put8(bytes, sample->branch[i].counters);
}

static void put_registers(struct build_bytes *bytes, const struct build_registers *registers)
{
	put8(bytes, registers->abi);
	if (registers->abi != PERCH_SAMPLE_REGS_ABI_NONE)
		put_words(bytes, &registers->value);
}

/* The requested size, that many bytes, and the number of copied bytes. */
static void put_stack(struct build_bytes *bytes, const struct build_sample *sample)
{
	put8(bytes, sample->stack.size);
	if (!sample->stack.size)
		return;
	build_put(bytes, sample->stack.byte, sample->stack.size);
	put8(bytes, sample->stack_dynamic);
}

/* READ to STACK_USER: fields of variable size. */
static void write_middle(struct build_bytes *bytes, const struct build_record *record)
{
	const struct build_sample *sample = &record->sample;
	uint64_t type = record->shape.sample_type;

	if (type & PERCH_SAMPLE_READ)
		build_write_values(bytes, record->shape.read_format, &sample->read);
	if (type & PERCH_SAMPLE_CALLCHAIN) {
		put8(bytes, sample->callchain.nr);
		put_words(bytes, &sample->callchain);
	}
	if (type & PERCH_SAMPLE_RAW)
		put_raw(bytes, &sample->raw);
	if (type & PERCH_SAMPLE_BRANCH_STACK)
		put_branches(bytes, record);
	if (type & PERCH_SAMPLE_REGS_USER)
		put_registers(bytes, &sample->user);
	if (type & PERCH_SAMPLE_STACK_USER)
		put_stack(bytes, sample);
}

static void write_last(struct build_bytes *bytes, const struct build_record *record)
{
	const struct build_sample *sample = &record->sample;
	uint64_t type = record->shape.sample_type;

	if (type & PERCH_SAMPLE_WEIGHT_TYPE)
		put8(bytes, sample->weight);
	if (type & PERCH_SAMPLE_DATA_SRC)
		put8(bytes, sample->data_src);
	if (type & PERCH_SAMPLE_TRANSACTION)
		put8(bytes, sample->transaction);
	if (type & PERCH_SAMPLE_REGS_INTR)
		put_registers(bytes, &sample->intr);
	if (type & PERCH_SAMPLE_PHYS_ADDR)
		put8(bytes, sample->phys_addr);
	if (type & PERCH_SAMPLE_CGROUP)
		put8(bytes, sample->cgroup);
	if (type & PERCH_SAMPLE_DATA_PAGE_SIZE)
		put8(bytes, sample->data_page_size);
	if (type & PERCH_SAMPLE_CODE_PAGE_SIZE)
		put8(bytes, sample->code_page_size);
	if (type & PERCH_SAMPLE_AUX) {
		put8(bytes, sample->aux.size);
		build_put(bytes, sample->aux.byte, sample->aux.size);
	}
}

void build_write_sample(struct build_bytes *bytes, const struct build_record *record)
{
	write_fixed(bytes, record);
	write_middle(bytes, record);
	write_last(bytes, record);
}
