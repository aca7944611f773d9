/* SPDX-License-Identifier: MIT */
/* Reads records without knowing their type: fields, names of flags, the visitor. */
#include <stdlib.h>
#include <string.h>
#include <perch/fields.h>

#include "touch.h"

static void open_field(struct touch_walk *walk, const struct perch_field *field)
{
	if (++walk->depth == TOUCH_DEPTH)
		abort();
	walk->open[walk->depth].kind = field->kind;
	walk->open[walk->depth].nr = 0;
	walk->open[walk->depth].announced = field->value;
}

/* The number of entries in a list must match the list's field. */
static void end_field(struct touch_walk *walk)
{
	if (!walk->depth)
		abort();
	if (walk->open[walk->depth].kind == PERCH_FIELD_LIST &&
	    walk->open[walk->depth].nr != walk->open[walk->depth].announced)
		abort();
	walk->depth--;
}

int touch_field(void *context, const struct perch_field *field)
{
	struct touch_walk *walk = context;

	if (field->kind == PERCH_FIELD_END) {
		end_field(walk);
		return 0;
	}
	walk->open[walk->depth].nr++;
	if (walk->open[walk->depth].kind != PERCH_FIELD_LIST && !field->name)
		abort();
	if (field->name)
		touch_bytes(field->name, strlen(field->name));
	if (field->text)
		touch_bytes(field->text, field->length);
	if (field->kind == PERCH_FIELD_LIST || field->kind == PERCH_FIELD_GROUP)
		open_field(walk, field);
	return 0;
}

static int stop_at_third(void *context, const struct perch_field *field)
{
	(void)field;
	return ++*(unsigned *)context == 3 ? 77 : 0;
}

/* As snprintf(3): returns the same length for any size, and writes a NUL if size is not 0. */
#define TOUCH_FORMAT(call, ...)                                                                    \
	do {                                                                                       \
		char text[1024], cut[7];                                                           \
		size_t wanted = call(__VA_ARGS__, text, sizeof(text));                             \
                                                                                                   \
		if (wanted < sizeof(text) && strlen(text) != wanted)                               \
			abort();                                                                   \
		if (call(__VA_ARGS__, cut, sizeof(cut)) != wanted || strlen(cut) >= sizeof(cut) || \
		    strncmp(cut, text, strlen(cut)) || call(__VA_ARGS__, NULL, 0) != wanted)       \
			abort();                                                                   \
	} while (0)

static void touch_formats(const struct perch_record *record)
{
	TOUCH_FORMAT(perch_format_misc, record->type, record->misc);
	if (record->type == PERCH_RECORD_AUX)
		TOUCH_FORMAT(perch_format_aux_flags, record->aux.flags);
	if (record->type != PERCH_RECORD_SAMPLE)
		return;
	TOUCH_FORMAT(perch_format_data_src, record->sample.data_src);
	TOUCH_FORMAT(perch_format_transaction, record->sample.transaction);
	for (uint64_t i = 0; i < record->sample.branches.nr && i < 4; i++) {
		struct perch_branch_entry entry;

		perch_branch_at(record, i, &entry);
		TOUCH_FORMAT(perch_format_branch, &entry);
	}
}

static int visited(void *context, const struct perch_record *record)
{
	*(const struct perch_record **)context = record;
	return 5;
}

/* Every record is passed to one function, and to .other if there is none for its type. */
static void touch_visit(const struct perch_record *record)
{
	static const struct perch_visitor none, other = { .other = visited };
	struct perch_visitor all;
	const struct perch_record *seen = NULL;
	perch_visit_function **each = (perch_visit_function **)&all;

	for (size_t i = 0; i < sizeof(all) / sizeof(*each); i++)
		each[i] = visited;
	all.other = NULL;
	if (perch_record_visit(record, &all, &seen) != 5 || seen != record)
		abort();
	seen = NULL;
	if (perch_record_visit(record, &other, &seen) != 5 || seen != record ||
	    perch_record_visit(record, &none, NULL))
		abort();
}

void touch_fields(const struct perch_record *record)
{
	enum perch_arch arch = record->misc % (PERCH_ARCH_CSKY + 1u);
	struct touch_walk walk = { 0 };
	unsigned emitted = 0;
	int rc;

	if (perch_record_fields(record, arch, touch_field, &walk) || walk.depth)
		abort();
	rc = perch_record_fields(record, arch, stop_at_third, &emitted);
	if (rc != (emitted == 3 ? 77 : 0) || emitted > 3)
		abort();
	touch_formats(record);
	touch_visit(record);
}
