/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <perch/off_cpu.h>

#include "touch.h"

static volatile uint64_t touched;

void touch_bytes(const void *data, uint64_t size)
{
	const uint8_t *bytes = data;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < size; i++)
		sum += bytes[i];
	touched = touched + sum;
}

/* The data of a view: NULL, or bytes of the record's body. */
static void touch_inside(const struct perch_record *record, const void *data, uint64_t size)
{
	const char *start = record->bytes, *at = data;

	if (!size)
		return;
	if (at < start + 8 || at > start + record->size ||
	    size > (uint64_t)(start + record->size - at))
		abort();
	touch_bytes(data, size);
}

static void touch_array(const struct perch_record *record, const void *data, uint64_t nr,
			uint64_t each)
{
	if (nr > record->size / each)
		abort();
	touch_inside(record, data, nr * each);
}

static void touch_text(const struct perch_record *record, const struct perch_text *text)
{
	touch_inside(record, text->text, (uint64_t)text->length + 1);
	if (strlen(text->text) != text->length)
		abort();
}

static void touch_values(const struct perch_record *record, const struct perch_read_values *values)
{
	struct perch_read_value value;

	if (values->nr)
		touch_array(record, values->words, values->nr, 8ul * values->words_each);
	for (uint64_t i = 0; i < values->nr; i++) {
		perch_read_values_at(values, i, &value);
		touch_bytes(&value, sizeof(value));
	}
}

static void touch_chain(const struct perch_record *record, const uint64_t *ip, uint64_t nr)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	uint64_t walked = 0;

	/* A merged call chain is not in the record; the sanitizers check access to it. */
	if ((const char *)ip >= (const char *)record->bytes &&
	    (const char *)ip < (const char *)record->bytes + record->size)
		touch_array(record, ip, nr, sizeof(*ip));
	for (uint64_t i = 0; i < nr; i++)
		touched = touched + perch_word(record, ip + i);
	for (perch_chain_init(&chain, record); perch_chain_next(&chain, &address); walked++)
		touch_bytes(&address, sizeof(address));
	if (walked > nr)
		abort();
}

static void touch_registers(const struct perch_record *record,
			    const struct perch_registers *registers)
{
	if (registers->nr > 64)
		abort();
	touch_array(record, registers->value, registers->nr, sizeof(uint64_t));
	for (uint32_t i = 0; i < registers->nr; i++)
		touched = touched + perch_word(record, registers->value + i);
}

static void touch_branches(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct perch_branch_entry entry;

	touch_array(record, sample->branches.entry, sample->branches.nr, sizeof(entry));
	if (sample->branches.counters)
		touch_array(record, sample->branches.counters, sample->branches.nr,
			    sizeof(uint64_t));
	for (uint64_t i = 0; i <= sample->branches.nr; i++) {
		perch_branch_at(record, i, &entry);
		touch_bytes(&entry, sizeof(entry));
	}
}

static void touch_off_cpu(const struct perch_record *record)
{
	struct perch_off_cpu off_cpu;

	if (!perch_off_cpu_decode(&off_cpu, &record->sample))
		return;
	if (off_cpu.nr)
		touch_inside(record, off_cpu.chain, off_cpu.nr * sizeof(uint64_t));
	if (off_cpu.waker_nr)
		touch_inside(record, off_cpu.waker_chain, off_cpu.waker_nr * sizeof(uint64_t));
}

static void touch_sample(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;

	touch_values(record, &sample->read);
	touch_chain(record, sample->callchain.ip, sample->callchain.nr);
	touch_inside(record, sample->raw.data, sample->raw.size);
	touch_branches(record);
	touch_registers(record, &sample->regs_user);
	touch_inside(record, sample->stack_user.data, sample->stack_user.size);
	if (sample->stack_user.dynamic_size > sample->stack_user.size)
		abort();
	touch_registers(record, &sample->regs_intr);
	touch_inside(record, sample->aux.data, sample->aux.size);
	touch_off_cpu(record);
}

static void touch_namespaces(const struct perch_record *record)
{
	struct perch_ns_link_info link;

	touch_array(record, record->namespaces.link, record->namespaces.nr, sizeof(link));
	for (uint64_t i = 0; i <= record->namespaces.nr; i++) {
		perch_namespace_at(record, i, &link);
		touch_bytes(&link, sizeof(link));
	}
}

static void touch_mmap(const struct perch_record *record)
{
	if (record->mmap.build_id_size > sizeof(record->mmap.build_id))
		abort();
	touch_text(record, &record->mmap.filename);
}

static void touch_body(const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		touch_mmap(record);
		break;
	case PERCH_RECORD_COMM:
		touch_text(record, &record->comm.comm);
		break;
	case PERCH_RECORD_READ:
		touch_values(record, &record->read.values);
		break;
	case PERCH_RECORD_SAMPLE:
		touch_sample(record);
		break;
	case PERCH_RECORD_NAMESPACES:
		touch_namespaces(record);
		break;
	case PERCH_RECORD_KSYMBOL:
		touch_text(record, &record->ksymbol.name);
		break;
	case PERCH_RECORD_CGROUP:
		touch_text(record, &record->cgroup.path);
		break;
	case PERCH_RECORD_TEXT_POKE:
		touch_inside(record, record->text_poke.before, record->text_poke.old_length);
		touch_inside(record, record->text_poke.after, record->text_poke.new_length);
		break;
	case PERCH_RECORD_CALLCHAIN_DEFERRED:
		touch_chain(record, record->deferred.ip, record->deferred.nr);
		break;
	}
}

void touch_record(const struct perch_record *record)
{
	if (record->size < sizeof(struct perch_record_header) ||
	    record->trailing_bytes > record->size - 8)
		abort();
	touch_bytes(record->bytes, record->size);
	touch_bytes(&record->sample_id, sizeof(record->sample_id));
	touch_body(record);
	touch_fields(record);
}
