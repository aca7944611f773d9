/* SPDX-License-Identifier: MIT */
/*
 * Emits fields of perf.data's own records. Most records have fields of fixed size, which tables
 * describe. Fields of variable size are in fields_variable.c. The names are those of perf's
 * structures.
 */
#include "fields.h"

uint64_t perch__emitter_load(const struct perch__emitter *emitter, const uint8_t *at, size_t size)
{
	switch (size) {
	case 1:
		return *at;
	case 2:
		return emitter->swapped ? __builtin_bswap16(perch__u16(at)) : perch__u16(at);
	case 4:
		return emitter->swapped ? __builtin_bswap32(perch__u32(at)) : perch__u32(at);
	default:
		return emitter->swapped ? __builtin_bswap64(perch__u64(at)) : perch__u64(at);
	}
}

static void emit_file_field(struct perch__emitter *emitter, const struct perch_field *field)
{
	if (!emitter->rc)
		emitter->rc = emitter->function(emitter->context, field);
}

void perch__emitter_field(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, uint64_t value)
{
	emit_file_field(emitter, &(struct perch_field){
					 .name = name, .kind = kind, .value = value, .text = "" });
}

void perch__emitter_flags(struct perch__emitter *emitter, const char *name, uint64_t value,
			  const char *text)
{
	emit_file_field(emitter, &(struct perch_field){ .name = name,
							.kind = PERCH_FIELD_FLAGS,
							.value = value,
							.text = text,
							.length = strlen(text) });
}

void perch__emitter_bytes(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, const void *bytes, size_t length)
{
	emit_file_field(emitter,
			&(struct perch_field){
				.name = name, .kind = kind, .text = bytes, .length = length });
}

static uint64_t sign_extend(uint64_t value, size_t size)
{
	unsigned int unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void emit_field(struct perch__emitter *emitter, const struct perch__field_format *field)
{
	const uint8_t *at = emitter->at;
	uint64_t value;

	emitter->at += field->size;
	if (field->kind == PERCH_FIELD_END)
		return;
	if (field->kind == PERCH_FIELD_TEXT) {
		perch__emitter_bytes(emitter, field->name, field->kind, at,
				     strnlen((const char *)at, field->size));
		return;
	}
	value = perch__emitter_load(emitter, at, field->size);
	if (field->kind == PERCH_FIELD_FLAGS)
		perch__emitter_flags(
			emitter, field->name, value,
			value < field->nr_names && field->names[value] ? field->names[value] : "");
	else
		perch__emitter_field(emitter, field->name, field->kind,
				     field->kind == PERCH_FIELD_SIGNED
					     ? sign_extend(value, field->size)
					     : value);
}

size_t perch__emitter_fields(struct perch__emitter *emitter,
			     const struct perch__field_format *fields, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && emitter->end - emitter->at >= fields[i].size; i++)
		emit_field(emitter, &fields[i]);
	return i;
}

void perch__emitter_list(struct perch__emitter *emitter, const char *name, uint64_t nr,
			 const struct perch__field_format *fields, size_t nr_fields)
{
	size_t each = 0;
	uint64_t available;

	for (size_t i = 0; i < nr_fields; i++)
		each += fields[i].size;
	available = each ? (emitter->end - emitter->at) / each : 0;
	if (nr > available)
		nr = available;
	perch__emitter_field(emitter, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !emitter->rc; i++) {
		if (nr_fields > 1)
			perch__emitter_field(emitter, NULL, PERCH_FIELD_GROUP, 0);
		perch__emitter_fields(emitter, fields, nr_fields);
		if (nr_fields > 1)
			perch__emitter_end(emitter);
	}
	perch__emitter_end(emitter);
}
