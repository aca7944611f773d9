/* SPDX-License-Identifier: MIT */
/*
 * perf.data's own records, field by field. Most are numbers one behind the other, which a table
 * tells; what follows those and has no fixed size is in fields_parts.c. Names are those that perf's
 * own structures have.
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

/* ---- telling ---- */

static void emit(struct perch__emitter *emitter, const struct perch_field *field)
{
	if (!emitter->rc)
		emitter->rc = emitter->function(emitter->context, field);
}

void perch__emitter_field(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, uint64_t value)
{
	emit(emitter,
	     &(struct perch_field){ .name = name, .kind = kind, .value = value, .text = "" });
}

void perch__emitter_flags(struct perch__emitter *emitter, const char *name, uint64_t value,
			  const char *words)
{
	emit(emitter, &(struct perch_field){ .name = name,
					     .kind = PERCH_FIELD_FLAGS,
					     .value = value,
					     .text = words,
					     .length = strlen(words) });
}

void perch__emitter_bytes(struct perch__emitter *emitter, const char *name,
			  enum perch_field_kind kind, const void *bytes, size_t length)
{
	emit(emitter,
	     &(struct perch_field){ .name = name, .kind = kind, .text = bytes, .length = length });
}

static uint64_t extend(uint64_t value, size_t size)
{
	unsigned int unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void emit_part(struct perch__emitter *emitter, const struct perch__field_format *part)
{
	const uint8_t *at = emitter->at;
	uint64_t value;

	emitter->at += part->size;
	if (part->kind == PERCH_FIELD_END)
		return;
	if (part->kind == PERCH_FIELD_TEXT) {
		perch__emitter_bytes(emitter, part->name, part->kind, at,
				     strnlen((const char *)at, part->size));
		return;
	}
	value = perch__emitter_load(emitter, at, part->size);
	if (part->kind == PERCH_FIELD_FLAGS)
		perch__emitter_flags(
			emitter, part->name, value,
			value < part->nr_names && part->names[value] ? part->names[value] : "");
	else
		perch__emitter_field(emitter, part->name, part->kind,
				     part->kind == PERCH_FIELD_SIGNED ? extend(value, part->size)
								      : value);
}

size_t perch__emitter_parts(struct perch__emitter *emitter, const struct perch__field_format *parts,
			    size_t nr)
{
	size_t i;

	for (i = 0; i < nr && emitter->end - emitter->at >= parts[i].size; i++)
		emit_part(emitter, &parts[i]);
	return i;
}

void perch__emitter_list(struct perch__emitter *emitter, const char *name, uint64_t nr,
			 const struct perch__field_format *parts, size_t nr_parts)
{
	size_t each = 0;
	uint64_t available;

	for (size_t i = 0; i < nr_parts; i++)
		each += parts[i].size;
	available = each ? (emitter->end - emitter->at) / each : 0;
	if (nr > available)
		nr = available;
	perch__emitter_field(emitter, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !emitter->rc; i++) {
		if (nr_parts > 1)
			perch__emitter_field(emitter, NULL, PERCH_FIELD_GROUP, 0);
		perch__emitter_parts(emitter, parts, nr_parts);
		if (nr_parts > 1)
			perch__emitter_end(emitter);
	}
	perch__emitter_end(emitter);
}
