/* SPDX-License-Identifier: MIT */
/* Emits fields: single values, and the lists and groups whose contents depend on the record. */
#include <stdio.h>

#include "fields.h"

static void emit_record_field(struct perch__walk *walk, const struct perch_field *field)
{
	if (!walk->rc)
		walk->rc = walk->function(walk->context, field);
}

void perch__emit_field(struct perch__walk *walk, const char *name, enum perch_field_kind kind,
		       uint64_t value)
{
	emit_record_field(walk,
			  &(struct perch_field){ .name = name, .kind = kind, .value = value });
}

void perch__emit_flags(struct perch__walk *walk, const char *name, uint64_t value,
		       perch__format_function *format)
{
	char text[PERCH__FORMAT_BYTES];
	size_t length = format(walk->arch, value, text, sizeof(text));

	emit_record_field(walk, &(struct perch_field){
					.name = name,
					.kind = PERCH_FIELD_FLAGS,
					.value = value,
					.text = text,
					.length = length < sizeof(text) ? length : sizeof(text) - 1,
				});
}

void perch__emit_bytes(struct perch__walk *walk, const char *name, const void *bytes, size_t length)
{
	emit_record_field(walk, &(struct perch_field){ .name = name,
						       .kind = PERCH_FIELD_BYTES,
						       .text = length ? bytes : "",
						       .length = length });
}

void perch__emit_text(struct perch__walk *walk, const char *name, const struct perch_text *text)
{
	emit_record_field(walk, &(struct perch_field){ .name = name,
						       .kind = PERCH_FIELD_TEXT,
						       .text = text->text ? text->text : "",
						       .length = text->length });
}

void perch__emit_read(struct perch__walk *walk, const char *name,
		      const struct perch_read_values *values)
{
	bool group = values->format & PERCH_FORMAT_GROUP;
	struct perch_read_value value = { 0 };

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	if (!group) {
		perch_read_values_at(values, 0, &value);
		perch__emit_field(walk, "value", PERCH_FIELD_NUMBER, value.value);
	}
	if (values->format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		perch__emit_field(walk, "time_enabled", PERCH_FIELD_NUMBER, values->enabled_ns);
	if (values->format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		perch__emit_field(walk, "time_running", PERCH_FIELD_NUMBER, values->running_ns);
	if (group)
		perch__emit_field(walk, "values", PERCH_FIELD_LIST, values->nr);
	for (uint64_t i = 0; i < values->nr && !walk->rc; i++) {
		perch_read_values_at(values, i, &value);
		if (group) {
			perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
			perch__emit_field(walk, "value", PERCH_FIELD_NUMBER, value.value);
		}
		if (values->format & PERCH_FORMAT_ID)
			perch__emit_field(walk, "id", PERCH_FIELD_NUMBER, value.id);
		if (values->format & PERCH_FORMAT_LOST)
			perch__emit_field(walk, "lost", PERCH_FIELD_NUMBER, value.lost);
		if (group)
			perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	}
	if (group)
		perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

/* Markers are emitted by name. The word after USER_DEFERRED is a cookie, not an address. */
static void emit_chain(struct perch__walk *walk, const char *name, const uint64_t *ip, uint64_t nr)
{
	bool cookie = false;

	perch__emit_field(walk, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !walk->rc; i++) {
		uint64_t word = perch_word(walk->record, ip + i);

		if (cookie)
			perch__emit_field(walk, NULL, PERCH_FIELD_HEX, word);
		else if (word >= PERCH_CONTEXT_MAX)
			perch__emit_flags(walk, NULL, word, perch__format_context);
		else
			perch__emit_field(walk, NULL, PERCH_FIELD_ADDRESS, word);
		cookie = !cookie && word == PERCH_CONTEXT_USER_DEFERRED;
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_namespace_links(struct perch__walk *walk, const char *name)
{
	uint64_t nr = walk->record->namespaces.nr;

	perch__emit_field(walk, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !walk->rc; i++) {
		struct perch_ns_link_info link;

		perch_namespace_at(walk->record, i, &link);
		perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
		perch__emit_flags(walk, "ns", i, perch__format_namespace);
		perch__emit_field(walk, "dev", PERCH_FIELD_HEX, link.dev);
		perch__emit_field(walk, "inode", PERCH_FIELD_NUMBER, link.ino);
		perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_deferred_chain(struct perch__walk *walk, const char *name)
{
	emit_chain(walk, name, walk->record->deferred.ip, walk->record->deferred.nr);
}

/* id and identifier are read from the bytes: the view has only one of them, but in an invalid
 * record they may differ. */
void perch__emit_trailer_id(struct perch__walk *walk, const char *name)
{
	const struct perch_record *record = walk->record;
	const char *end = (const char *)record->bytes + walk->extent;
	uint64_t before = record->parse_info->sample_type & (PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME);
	const char *at = end - record->parse_info->id_size + 8 * __builtin_popcountll(before);

	perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
			  perch__u64(at, record->parse_info->swapped));
}

void perch__emit_trailer_identifier(struct perch__walk *walk, const char *name)
{
	const char *end = (const char *)walk->record->bytes + walk->extent;

	perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
			  perch__u64(end - sizeof(uint64_t), walk->record->parse_info->swapped));
}

/* ---- fields of SAMPLE ---- */

/* Read from the bytes, as the identifier of the trailer is. */
void perch__emit_sample_identifier(struct perch__walk *walk, const char *name)
{
	const char *body = (const char *)walk->record->bytes + PERCH__HEADER_BYTES;

	if (walk->record->size >= PERCH__HEADER_BYTES + sizeof(uint64_t))
		perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
				  perch__u64(body, walk->record->parse_info->swapped));
}

void perch__emit_sample_callchain(struct perch__walk *walk, const char *name)
{
	emit_chain(walk, name, walk->record->sample.callchain.ip,
		   walk->record->sample.callchain.nr);
}

static void emit_branch(struct perch__walk *walk, uint64_t index)
{
	const uint64_t *counters = walk->record->sample.branches.counters;
	struct perch_branch_entry entry;

	perch_branch_at(walk->record, index, &entry);
	perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "from", PERCH_FIELD_ADDRESS, entry.from);
	perch__emit_field(walk, "to", PERCH_FIELD_ADDRESS, entry.to);
	perch__emit_flags(walk, "flags", perch__branch_flags(&entry), perch__format_branch);
	perch__emit_field(walk, "cycles", PERCH_FIELD_NUMBER, entry.cycles);
	if (counters)
		perch__emit_field(walk, "counters", PERCH_FIELD_HEX,
				  perch_word(walk->record, counters + index));
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

/* An empty stack may be without the index. */
void perch__emit_sample_branches(struct perch__walk *walk, const char *name)
{
	const struct perch_sample *sample = &walk->record->sample;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	if (walk->record->parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_HW_INDEX &&
	    (sample->branches.nr || sample->branches.hw_index))
		perch__emit_field(walk, "hw_idx", PERCH_FIELD_HEX, sample->branches.hw_index);
	perch__emit_field(walk, "entries", PERCH_FIELD_LIST, sample->branches.nr);
	for (uint64_t i = 0; i < sample->branches.nr && !walk->rc; i++)
		emit_branch(walk, i);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

static void emit_registers(struct perch__walk *walk, const char *name,
			   const struct perch_registers *registers)
{
	uint64_t mask = registers->mask;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_flags(walk, "abi", registers->abi, perch__format_abi);
	for (uint32_t i = 0; i < registers->nr && mask && !walk->rc; i++, mask &= mask - 1) {
		unsigned int bit = __builtin_ctzll(mask);
		const char *register_name = perch_register_name(walk->arch, bit);
		char number[16];

		snprintf(number, sizeof(number), "reg%u", bit);
		perch__emit_field(walk, register_name ? register_name : number, PERCH_FIELD_HEX,
				  perch_word(walk->record, registers->value + i));
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_sample_regs_user(struct perch__walk *walk, const char *name)
{
	emit_registers(walk, name, &walk->record->sample.regs_user);
}

void perch__emit_sample_regs_intr(struct perch__walk *walk, const char *name)
{
	emit_registers(walk, name, &walk->record->sample.regs_intr);
}

/* Bytes after dyn_size are old contents of the ring: they are not emitted. */
void perch__emit_sample_stack(struct perch__walk *walk, const char *name)
{
	const struct perch_sample *sample = &walk->record->sample;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "size", PERCH_FIELD_NUMBER, sample->stack_user.size);
	if (sample->stack_user.size) {
		perch__emit_bytes(walk, "data", sample->stack_user.data,
				  sample->stack_user.dynamic_size);
		perch__emit_field(walk, "dyn_size", PERCH_FIELD_NUMBER,
				  sample->stack_user.dynamic_size);
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_sample_weight(struct perch__walk *walk, const char *name)
{
	union perch_sample_weight weight = { .full = walk->record->sample.weight };

	if (!(walk->record->parse_info->sample_type & PERCH_SAMPLE_WEIGHT_STRUCT)) {
		perch__emit_field(walk, name, PERCH_FIELD_NUMBER, weight.full);
		return;
	}
	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "var1_dw", PERCH_FIELD_NUMBER, weight.var1_dw);
	perch__emit_field(walk, "var2_w", PERCH_FIELD_NUMBER, weight.var2_w);
	perch__emit_field(walk, "var3_w", PERCH_FIELD_NUMBER, weight.var3_w);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}
