/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <perch/abi.h>

#include "base/nr.h"

/* How perf prints a field, if not as a number with the name of the field. */
struct style {
	const char *field;
	const char *label; /* NULL for the name of the field */
	enum { STYLE_HEX, STYLE_SIGNED, STYLE_NUMBER, STYLE_HIDDEN } kind;
};

static const struct style styles[] = {
	{ "config", NULL, STYLE_HEX },
	{ "sample_period", "{ sample_period, sample_freq }", STYLE_NUMBER },
	{ "wakeup_events", "{ wakeup_events, wakeup_watermark }", STYLE_NUMBER },
	{ "bp_addr", "{ bp_addr, config1 }", STYLE_HEX },
	{ "bp_len", "{ bp_len, config2 }", STYLE_HEX },
	{ "sample_regs_user", NULL, STYLE_HEX },
	{ "sample_regs_intr", NULL, STYLE_HEX },
	{ "clockid", NULL, STYLE_SIGNED },
	{ "config3", NULL, STYLE_HEX },
	{ "config4", NULL, STYLE_HEX },
	/* other names of the words above, a word whose bits are fields, and what has no meaning */
	{ "sample_freq", NULL, STYLE_HIDDEN },
	{ "wakeup_watermark", NULL, STYLE_HIDDEN },
	{ "config1", NULL, STYLE_HIDDEN },
	{ "config2", NULL, STYLE_HIDDEN },
	{ "kprobe_func", NULL, STYLE_HIDDEN },
	{ "kprobe_addr", NULL, STYLE_HIDDEN },
	{ "uprobe_path", NULL, STYLE_HIDDEN },
	{ "probe_offset", NULL, STYLE_HIDDEN },
	{ "aux_action", NULL, STYLE_HIDDEN },
	{ "reserved_1", NULL, STYLE_HIDDEN },
	{ "reserved_2", NULL, STYLE_HIDDEN },
	{ "reserved_3", NULL, STYLE_HIDDEN },
};

static const struct style *style_of(const char *field)
{
	static const struct style plain = { NULL, NULL, STYLE_NUMBER };

	for (size_t i = 0; i < PERCH__NR(styles); i++)
		if (!strcmp(styles[i].field, field))
			return &styles[i];
	return &plain;
}

bool perch_attr_bits_text(const char *field, uint64_t value, char *text, size_t size)
{
	const struct perch_attr_bit *bits;
	bool has_names = false;
	size_t nr, used = 0;

	bits = perch_attr_bits(&nr);
	text[0] = 0;
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field))
			continue;
		has_names = true;
		if (!(value & bits[i].bit))
			continue;
		value &= ~bits[i].bit;
		if (used < size)
			used += snprintf(text + used, size - used, "%s%s", used ? "|" : "",
					 bits[i].name);
	}
	if (has_names && value && used < size)
		snprintf(text + used, size - used, "%s%#" PRIx64, used ? "|" : "", value);
	return has_names;
}

static void format_value(char *text, size_t size, const char *field, uint64_t value, int kind)
{
	if (perch_attr_bits_text(field, value, text, size))
		return;
	if (kind == STYLE_HEX)
		snprintf(text, size, "%#" PRIx64, value);
	else if (kind == STYLE_SIGNED)
		snprintf(text, size, "%" PRId32, (int32_t)value);
	else
		snprintf(text, size, "%" PRIu64, value);
}

bool perch_attr_next_text(const struct perch_attr *attr, size_t *index,
			  struct perch_attr_text *text)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	while (*index < nr) {
		const struct perch_attr_field *field = &fields[(*index)++];
		const struct style *style = style_of(field->name);
		uint64_t value = perch_attr_get(attr, field);

		if (!value || style->kind == STYLE_HIDDEN)
			continue;
		text->label = style->label ? style->label : field->name;
		format_value(text->value, sizeof(text->value), field->name, value, style->kind);
		return true;
	}
	return false;
}
