/* SPDX-License-Identifier: MIT */
/* The ways to look at a record that do not know its type: fields, words, the visitor. */
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
	walk->open[walk->depth].told = field->value;
}

/* A list has as many entries as it said. */
static void end_field(struct touch_walk *walk)
{
	if (!walk->depth)
		abort();
	if (walk->open[walk->depth].kind == PERCH_FIELD_LIST &&
	    walk->open[walk->depth].nr != walk->open[walk->depth].told)
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

/* Like snprintf(3): the same length wanted however little room there is, and a NUL where there is
 * any. */
#define TOUCH_WORDS(call, ...)                                                                     \
	do {                                                                                       \
		char words[1024], few[7];                                                          \
		size_t wanted = call(__VA_ARGS__, words, sizeof(words));                           \
                                                                                                   \
		if (wanted < sizeof(words) && strlen(words) != wanted)                             \
			abort();                                                                   \
		if (call(__VA_ARGS__, few, sizeof(few)) != wanted || strlen(few) >= sizeof(few) || \
		    strncmp(few, words, strlen(few)) || call(__VA_ARGS__, NULL, 0) != wanted)      \
			abort();                                                                   \
	} while (0)

static void touch_words(const struct perch_record *record)
{
	TOUCH_WORDS(perch_format_misc, record->type, record->misc);
	if (record->type == PERCH_RECORD_AUX)
		TOUCH_WORDS(perch_format_aux_flags, record->aux.flags);
	if (record->type != PERCH_RECORD_SAMPLE)
		return;
	TOUCH_WORDS(perch_format_data_src, record->sample.data_src);
	TOUCH_WORDS(perch_format_transaction, record->sample.transaction);
	for (uint64_t i = 0; i < record->sample.branches.nr && i < 4; i++) {
		struct perch_branch_entry entry;

		perch_branch_at(record, i, &entry);
		TOUCH_WORDS(perch_format_branch, &entry);
	}
}

static int visited(void *context, const struct perch_record *record)
{
	*(const struct perch_record **)context = record;
	return 5;
}

/* Whatever a record is, one of the functions gets it, and .other what has none. */
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
	unsigned told = 0;
	int rc;

	if (perch_record_fields(record, arch, touch_field, &walk) || walk.depth)
		abort();
	rc = perch_record_fields(record, arch, stop_at_third, &told);
	if (rc != (told == 3 ? 77 : 0) || told > 3)
		abort();
	touch_words(record);
	touch_visit(record);
}
