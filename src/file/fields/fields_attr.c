/* SPDX-License-Identifier: MIT */
/* Emits the fields of an attr. A word with several names is emitted once, by the name that applies.
 */
#include <inttypes.h>
#include <stdio.h>
#include "fields.h"

enum { BY_FREQUENCY = 1, BY_PERIOD, BY_WATERMARK, BY_COUNT, OF_BREAKPOINT, OF_OTHERS, NEVER };

/* Words with several names: another field determines which name applies. */
static const struct {
	const char *name;
	int when;
} alternatives[] = {
	{ "sample_freq", BY_FREQUENCY },
	{ "sample_period", BY_PERIOD },
	{ "wakeup_watermark", BY_WATERMARK },
	{ "wakeup_events", BY_COUNT },
	{ "bp_addr", OF_BREAKPOINT },
	{ "bp_len", OF_BREAKPOINT },
	{ "config1", OF_OTHERS },
	{ "config2", OF_OTHERS },
	{ "kprobe_func", NEVER },
	{ "uprobe_path", NEVER },
	{ "kprobe_addr", NEVER },
	{ "probe_offset", NEVER },
	{ "aux_action", NEVER },
};

static bool applies(const struct perch_attr *attr, const char *name)
{
	int when = 0;

	for (size_t i = 0; i < PERCH__NR(alternatives); i++)
		if (!strcmp(alternatives[i].name, name))
			when = alternatives[i].when;
	switch (when) {
	case BY_FREQUENCY:
		return attr->freq;
	case BY_PERIOD:
		return !attr->freq;
	case BY_WATERMARK:
		return attr->watermark;
	case BY_COUNT:
		return !attr->watermark;
	case OF_BREAKPOINT:
		return attr->type == PERCH_TYPE_BREAKPOINT;
	case OF_OTHERS:
		return attr->type != PERCH_TYPE_BREAKPOINT;
	default:
		return !when;
	}
}

static enum perch_field_kind kind_of(const char *name)
{
	static const char *const masks[] = { "config",		 "config1",	     "config2",
					     "config3",		 "config4",	     "bp_addr",
					     "sample_regs_user", "sample_regs_intr", "sig_data" };

	for (size_t i = 0; i < PERCH__NR(masks); i++)
		if (!strcmp(name, masks[i]))
			return PERCH_FIELD_HEX;
	return strcmp(name, "clockid") ? PERCH_FIELD_NUMBER : PERCH_FIELD_SIGNED;
}

int perch_attr_each_field(const struct perch_attr *attr, perch_field_function *function,
			  void *context)
{
	const struct perch_attr_field *fields;
	char text[512];
	size_t nr;
	int rc = 0;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr && !rc; i++) {
		uint64_t value = perch_attr_get(attr, &fields[i]);
		struct perch_field field = { .name = fields[i].name, .value = value, .text = "" };

		/* type, size and config are emitted even if they are 0 */
		if ((!value && i > 2) || !applies(attr, field.name))
			continue;
		field.kind = kind_of(field.name);
		if (field.kind == PERCH_FIELD_SIGNED)
			field.value = (uint64_t)(int64_t)(int32_t)value;
		if (perch_attr_bits_text(field.name, value, text, sizeof(text))) {
			field.kind = PERCH_FIELD_FLAGS;
			field.text = text;
			field.length = strlen(text);
		}
		rc = function(context, &field);
	}
	return rc;
}
