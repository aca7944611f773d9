/* SPDX-License-Identifier: MIT */
/* Splits an attr into fields and bits. */
#include <limits.h>
#include <string.h>

#include <perch/abi.h>

#define RELEASE_NUMBERS 3
#define RELEASE_DIGITS	3

unsigned perch_release_rank(const char *release)
{
	unsigned rank = 0;

	for (size_t i = 0; i < RELEASE_NUMBERS; i++) {
		unsigned number = 0;

		for (size_t digits = 0;
		     digits < RELEASE_DIGITS && *release >= '0' && *release <= '9'; digits++)
			number = number * 10 + (*release++ - '0');
		rank = rank * 1000 + number;
		if (*release == '.' && release[1] >= '0' && release[1] <= '9')
			release++;
	}
	return rank;
}

/* False for a second name of a word and for the fields that select the event. */
static bool is_part(const struct perch_attr_field *field)
{
	static const char *const others[] = {
		"type",		"size",	       "config",      "sample_freq", "wakeup_watermark",
		"bp_addr",	"kprobe_func", "uprobe_path", "bp_len",	     "kprobe_addr",
		"probe_offset", "aux_action",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(field->name, others[i]))
			return false;
	return true;
}

struct parts {
	struct perch_attr_part *part;
	size_t nr, max;
};

static void add_part(struct parts *parts, const struct perch_attr_field *field,
		     const struct perch_attr_bit *bit, uint64_t mask, unsigned rank)
{
	if (parts->nr < parts->max)
		parts->part[parts->nr] = (struct perch_attr_part){ field, bit, mask, rank };
	parts->nr++;
}

static void add_field(struct parts *parts, const struct perch_attr_field *field, uint64_t value)
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
			add_part(parts, field, &bits[i], bits[i].bit,
				 perch_release_rank(bits[i].since[0] ? bits[i].since
								     : field->since));
		value &= ~bits[i].bit;
	}
	if (!found)
		add_part(parts, field, NULL, UINT64_MAX, perch_release_rank(field->since));
	else if (value)
		add_part(parts, field, NULL, value, UINT_MAX);
}

size_t perch_attr_split(const struct perch_attr *attr, struct perch_attr_part *part, size_t max)
{
	struct parts parts = { part, 0, max };
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = perch_attr_get(attr, &fields[i]);

		if (value && is_part(&fields[i]))
			add_field(&parts, &fields[i], value);
	}
	return parts.nr;
}
