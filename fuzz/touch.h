/* SPDX-License-Identifier: MIT */
/*
 * Reads every byte that a decoded record points to, so that the sanitizers see a view that reaches
 * too far.
 */
#ifndef FUZZ_TOUCH_H
#define FUZZ_TOUCH_H

#include <stdlib.h>
#include <string.h>
#include <perch/record.h>

static uint64_t touched;

static void touch_bytes(const void *data, uint64_t size)
{
	const uint8_t *bytes = data;

	for (uint64_t i = 0; i < size; i++)
		touched += bytes[i];
}

static void touch_text(const struct perch_text *text)
{
	if (strlen(text->text) != text->length)
		abort();
	touch_bytes(text->text, text->length);
}

static void touch_values(const struct perch_read_values *values)
{
	struct perch_read_value value;

	for (uint64_t i = 0; i < values->nr; i++) {
		perch_read_values_at(values, i, &value);
		touched += value.value + value.id + value.lost;
	}
}

static void touch_sample(const struct perch_sample *sample)
{
	touch_values(&sample->read);
	touch_bytes(sample->callchain.ip, sample->callchain.nr * sizeof(uint64_t));
	touch_bytes(sample->raw.data, sample->raw.size);
	touch_bytes(sample->branches.entry,
		    sample->branches.nr * sizeof(struct perch_branch_entry));
	if (sample->branches.counters)
		touch_bytes(sample->branches.counters, sample->branches.nr * sizeof(uint64_t));
	touch_bytes(sample->regs_user.value, sample->regs_user.nr * sizeof(uint64_t));
	touch_bytes(sample->stack_user.data, sample->stack_user.size);
	if (sample->stack_user.dynamic_size > sample->stack_user.size)
		abort();
	touch_bytes(sample->regs_intr.value, sample->regs_intr.nr * sizeof(uint64_t));
	touch_bytes(sample->aux.data, sample->aux.size);
}

static void touch_record(const struct perch_record *record)
{
	touch_bytes(record->bytes, record->size);
	switch (record->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		touch_text(&record->mmap.filename);
		touch_bytes(record->mmap.build_id, record->mmap.build_id_size);
		break;
	case PERCH_RECORD_COMM:
		touch_text(&record->comm.comm);
		break;
	case PERCH_RECORD_READ:
		touch_values(&record->read.values);
		break;
	case PERCH_RECORD_SAMPLE:
		touch_sample(&record->sample);
		break;
	}
}

#endif
