/* SPDX-License-Identifier: MIT */
/* The parts of an attr: its fields, and the bits of those words that are sets of bits. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Other names of a union's word, or of bits that have fields of their own; and what says which event it is. */
static bool is_part(const struct perch_attr_field *field)
{
	static const char *const others[] = {
		"type", "size", "config", "sample_freq", "wakeup_watermark", "bp_addr", "kprobe_func", "uprobe_path",
		"bp_len", "kprobe_addr", "probe_offset", "aux_action",
	};

	for (size_t i = 0; i < PERCH__NR(others); i++)
		if (!strcmp(field->name, others[i]))
			return false;
	return true;
}

static unsigned rank_of(const char *since)
{
	unsigned number[3] = { 0 };

	sscanf(since, "%3u.%3u.%3u", &number[0], &number[1], &number[2]);
	return number[0] * 1000000 + number[1] * 1000 + number[2];
}

static void add_part(struct perch__parts *parts, const struct perch_attr_field *field, const struct perch_attr_bit *bit)
{
	if (parts->nr == PERCH__NR(parts->part))
		return;
	parts->part[parts->nr++] = (struct perch__part){
		.field = field,
		.name = bit ? bit->name : NULL,
		.mask = bit ? bit->bit : UINT64_MAX,
		.rank = rank_of(bit && bit->since[0] ? bit->since : field->since),
	};
}

/* A word of bits: one part for each bit that is known, the word as one part when it has others. */
static bool add_bits(struct perch__parts *parts, const struct perch_attr_field *field, uint64_t value)
{
	const struct perch_attr_bit *bits;
	bool found = false;
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field->name))
			continue;
		found = true;
		if (value & bits[i].bit)
			add_part(parts, field, &bits[i]);
		value &= ~bits[i].bit;
	}
	return found && !value;
}

void perch__parts_of(struct perch__parts *parts, const struct perch_attr *attr)
{
	const struct perch_attr_field *fields;
	size_t nr;

	parts->nr = 0;
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = perch_attr_get(attr, &fields[i]);

		if (value && is_part(&fields[i]) && !add_bits(parts, &fields[i], value))
			add_part(parts, &fields[i], NULL);
	}
}

const char *perch_attr_parts(const struct perch_attr *attr, char *buffer, size_t size)
{
	struct perch__parts parts;
	size_t used = 0;

	if (!size)
		return buffer;
	buffer[0] = '\0';
	perch__parts_of(&parts, attr);
	for (size_t i = 0; i < parts.nr && used + 1 < size; i++) {
		const struct perch__part *part = &parts.part[i];
		int length = snprintf(buffer + used, size - used, "%s%s%s%s", used ? ", " : "", part->field->name,
				      part->name ? " " : "", part->name ? part->name : "");

		if (length < 0)
			break;
		used += length;
	}
	return buffer;
}
