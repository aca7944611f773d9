/* SPDX-License-Identifier: MIT */
/* An attr, field by field: each word once, by the name that holds for this event. */
#include <inttypes.h>
#include <string.h>
#include <perch/event.h>

#include "explain_attr.h"
#include "options.h"

#define BEYOND_MAX 8 /* words told that are not known here */

static bool by_freq(const struct perch_attr *attr)
{
	return attr->freq;
}

static bool by_period(const struct perch_attr *attr)
{
	return !attr->freq;
}

static bool by_watermark(const struct perch_attr *attr)
{
	return attr->watermark;
}

static bool by_events(const struct perch_attr *attr)
{
	return !attr->watermark;
}

static bool by_breakpoint(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_BREAKPOINT;
}

static bool by_config(const struct perch_attr *attr)
{
	return attr->type != PERCH_TYPE_BREAKPOINT;
}

static bool never(const struct perch_attr *attr)
{
	(void)attr;
	return false;
}

/* Names of a word that has several: which holds is said by another field. */
static const struct {
	const char *name;
	bool (*holds)(const struct perch_attr *attr);
} alternatives[] = {
	{ "sample_freq", by_freq },
	{ "sample_period", by_period },
	{ "wakeup_watermark", by_watermark },
	{ "wakeup_events", by_events },
	{ "bp_addr", by_breakpoint },
	{ "bp_len", by_breakpoint },
	{ "config1", by_config },
	{ "config2", by_config },
	{ "kprobe_func", never },
	{ "uprobe_path", never },
	{ "kprobe_addr", never },
	{ "probe_offset", never },
	{ "aux_action", never }, /* told bit by bit */
};

static bool holds(const struct perch_attr *attr, const char *name)
{
	for (size_t i = 0; i < CLI_NR(alternatives); i++)
		if (!strcmp(alternatives[i].name, name))
			return alternatives[i].holds(attr);
	return true;
}

/* Bytes of the attr that can be read. */
static size_t readable(const struct perch_attr *attr)
{
	size_t size = attr->size ? attr->size : PERCH_ATTR_SIZE_VER0;

	return size > 4096 ? 4096 : size;
}

bool explain_attr_copy(struct perch_attr *copy, const struct perch_attr *attr)
{
	size_t size;

	memset(copy, 0, sizeof(*copy));
	if (!attr)
		return false;
	size = readable(attr);
	if (size < offsetof(struct perch_attr, config))
		size = offsetof(struct perch_attr, config);
	memcpy(copy, attr, size < sizeof(*copy) ? size : sizeof(*copy));
	return true;
}

void explain_attr_for_each_field(const struct perch_attr *attr, explain_field_callback *each,
				 void *context)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = perch_attr_get(attr, &fields[i]);

		if (value && holds(attr, fields[i].name))
			each(context, fields[i].name, value, !strcmp(fields[i].name, "clockid"));
	}
}

void explain_attr_for_each_unknown_word(const struct perch_attr *attr, explain_field_callback *each,
					void *context)
{
	size_t size = attr ? readable(attr) : 0, told = 0;
	char name[32];

	for (size_t at = sizeof(*attr); at < size && told < BEYOND_MAX; at += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, (const char *)attr + at,
		       size - at < sizeof(word) ? size - at : sizeof(word));
		if (!word)
			continue;
		snprintf(name, sizeof(name), "word_%zu", at);
		each(context, name, word, false);
		told++;
	}
}
