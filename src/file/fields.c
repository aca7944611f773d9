/* SPDX-License-Identifier: MIT */
/*
 * perf.data's own records, field by field. Most are numbers one behind the other, which a table
 * tells; what follows those and has no fixed size is in fields_parts.c. Names are those that perf's
 * own structures have.
 */
#include "fields.h"

uint64_t perch__teller_load(const struct perch__teller *teller, const uint8_t *at, size_t size)
{
	switch (size) {
	case 1:
		return *at;
	case 2:
		return teller->swapped ? __builtin_bswap16(perch__u16(at)) : perch__u16(at);
	case 4:
		return teller->swapped ? __builtin_bswap32(perch__u32(at)) : perch__u32(at);
	default:
		return teller->swapped ? __builtin_bswap64(perch__u64(at)) : perch__u64(at);
	}
}

/* ---- telling ---- */

static void tell(struct perch__teller *teller, const struct perch_field *field)
{
	if (!teller->rc)
		teller->rc = teller->function(teller->context, field);
}

void perch__tell_field(struct perch__teller *teller, const char *name, enum perch_field_kind kind,
		       uint64_t value)
{
	tell(teller,
	     &(struct perch_field){ .name = name, .kind = kind, .value = value, .text = "" });
}

void perch__tell_words(struct perch__teller *teller, const char *name, uint64_t value,
		       const char *words)
{
	tell(teller, &(struct perch_field){ .name = name,
					    .kind = PERCH_FIELD_FLAGS,
					    .value = value,
					    .text = words,
					    .length = strlen(words) });
}

void perch__tell_bytes(struct perch__teller *teller, const char *name, enum perch_field_kind kind,
		       const void *bytes, size_t length)
{
	tell(teller,
	     &(struct perch_field){ .name = name, .kind = kind, .text = bytes, .length = length });
}

static uint64_t extend(uint64_t value, size_t size)
{
	unsigned int unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void tell_part(struct perch__teller *teller, const struct perch__part *part)
{
	const uint8_t *at = teller->at;
	uint64_t value;

	teller->at += part->size;
	if (part->kind == PERCH_FIELD_END)
		return;
	if (part->kind == PERCH_FIELD_TEXT) {
		perch__tell_bytes(teller, part->name, part->kind, at,
				  strnlen((const char *)at, part->size));
		return;
	}
	value = perch__teller_load(teller, at, part->size);
	if (part->kind == PERCH_FIELD_FLAGS)
		perch__tell_words(teller, part->name, value,
				  value < part->nr_words && part->words[value] ? part->words[value]
									       : "");
	else
		perch__tell_field(teller, part->name, part->kind,
				  part->kind == PERCH_FIELD_SIGNED ? extend(value, part->size)
								   : value);
}

size_t perch__tell_parts(struct perch__teller *teller, const struct perch__part *parts, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && teller->end - teller->at >= parts[i].size; i++)
		tell_part(teller, &parts[i]);
	return i;
}

void perch__tell_list(struct perch__teller *teller, const char *name, uint64_t nr,
		      const struct perch__part *parts, size_t nr_parts)
{
	size_t each = 0;
	uint64_t room;

	for (size_t i = 0; i < nr_parts; i++)
		each += parts[i].size;
	room = each ? (teller->end - teller->at) / each : 0;
	if (nr > room)
		nr = room;
	perch__tell_field(teller, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !teller->rc; i++) {
		if (nr_parts > 1)
			perch__tell_field(teller, NULL, PERCH_FIELD_GROUP, 0);
		perch__tell_parts(teller, parts, nr_parts);
		if (nr_parts > 1)
			perch__tell_end(teller);
	}
	perch__tell_end(teller);
}
