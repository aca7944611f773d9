/* SPDX-License-Identifier: MIT */
/* The tables of fields.def, and what they say of a record type: its name and function. */
#include <stdio.h>

#include "fields.h"

#define AT(member)                                       \
	.offset = offsetof(struct perch_record, member), \
	.size = sizeof(((struct perch_record *)0)->member)
/* An item of an array: a byte of those without a type. */
#define ITEM(pointer) (*_Generic((pointer), const void * : (const char *)0, default : (pointer)))
#define ITEMS(view, pointer, number)                                                          \
	.source = PERCH__SOURCE_ARRAY, .offset = offsetof(struct perch_record, view.pointer), \
	.size = sizeof(ITEM(((struct perch_record *)0)->view.pointer)),                       \
	.number_offset = offsetof(struct perch_record, view.number),                          \
	.number_size = sizeof(((struct perch_record *)0)->view.number)
#define VALUE(member)		.source = PERCH__SOURCE_VALUE, AT(member)
#define FLAGS(member, function) VALUE(member), .format = perch__format_##function
#define TEXT(member)		.source = PERCH__SOURCE_TEXT, AT(member)
#define FIXED(member)		.source = PERCH__SOURCE_FIXED, AT(member)
#define READ(member)		.source = PERCH__SOURCE_READ, AT(member)
#define BUILD_ID(member, size_member)                                \
	.source = PERCH__SOURCE_BUILD_ID, AT(member),                \
	.number_offset = offsetof(struct perch_record, size_member), \
	.number_size = sizeof(((struct perch_record *)0)->size_member)
#define BYTES(view, pointer, number) ITEMS(view, pointer, number)
#define ARRAY(view, pointer, number, function) \
	ITEMS(view, pointer, number), .emit = perch__emit_##function
#define COUNTED(view, pointer, number, function) \
	ARRAY(view, pointer, number, function), .counted = true
#define EMIT(function) .emit = perch__emit_##function
#define ALWAYS	       .sample_type = 0
#define SAMPLE(bit)    .sample_type = PERCH_SAMPLE_##bit
#define MISC(bit)      .misc = PERCH_MISC_##bit
#define NO_MISC(bit)   .no_misc = PERCH_MISC_##bit

static const struct perch__row rows[] = {
/* clang-format off */
#define RECORD(record_, ...) { .is_record = true },
#define BIT(record_, member, bit_) \
	{ .source = PERCH__SOURCE_BIT, AT(member), .bit = PERCH_MISC_##bit_ },
#define FIELD(record_, name_, kind_, source_, condition, unit, since, what) \
	{ .name = #name_, .number_name = "number of " #name_, .kind = PERCH_FIELD_##kind_, \
	  source_, condition },
/* clang-format on */
#define PART(...)
#include "fields.def"
	{ .is_record = true },
};

/* Row numbers, to find the first row of a record. */
enum {
#define RECORD(record_, ...)	   ROW_##record_,
#define BIT(record_, member, bit)  ROW_##record_##_MISC_##bit,
#define FIELD(record_, name_, ...) ROW_##record_##_##name_,
#define PART(...)
#include "fields.def"
};

static const struct {
	const char *name;
	uint16_t function; /* offset in struct perch_visitor */
	uint16_t first_row;
} types[PERCH_RECORD_MAX] = {
#define RECORD(record_, function_, ...)                                                   \
	[PERCH_RECORD_##record_] = { #record_, offsetof(struct perch_visitor, function_), \
				     ROW_##record_ + 1 },
#define BIT(...)
#define FIELD(...)
#define PART(...)
#include "fields.def"
};

const struct perch__row *perch__rows(uint32_t type)
{
	return type > 0 && type < PERCH_RECORD_MAX ? rows + types[type].first_row : NULL;
}

const struct perch__row *perch__trailer_rows(void)
{
	return rows + types[PERCH_RECORD_TRAILER].first_row;
}

/* The types of perf.data, from 64 on, by the names in the output of perf report --stats. */
static const char *const file_names[] = {
	"ATTR",		  "EVENT_TYPE",	   "TRACING_DATA",     "BUILD_ID",
	"FINISHED_ROUND", "ID_INDEX",	   "AUXTRACE_INFO",    "AUXTRACE",
	"AUXTRACE_ERROR", "THREAD_MAP",	   "CPU_MAP",	       "STAT_CONFIG",
	"STAT",		  "STAT_ROUND",	   "EVENT_UPDATE",     "TIME_CONV",
	"FEATURE",	  "COMPRESSED",	   "FINISHED_INIT",    "COMPRESSED2",
	"BPF_METADATA",	  "SCHEDSTAT_CPU", "SCHEDSTAT_DOMAIN",
};

const char *perch_record_name(uint32_t type)
{
	if (type > 0 && type < PERCH_RECORD_MAX)
		return types[type].name;
	if (type >= 64 && type - 64 < PERCH__NR(file_names))
		return file_names[type - 64];
	return NULL;
}

int perch__bad_field(struct perch_error *err, const char *field, size_t offset)
{
	perch_error_field(err, field, NULL);
	if (err)
		err->column = (int)offset;
	return -EBADMSG;
}

/* The field is a path of perch-records(7), or a phrase with it: "number of callchain entries". */
int perch__truncated(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err)
{
	const char *name = perch_record_name(record->type);
	const size_t offset = (size_t)((const char *)at - (const char *)record->bytes);
	char path[sizeof(((struct perch_error *)0)->field)];

	if (!err)
		return -EBADMSG; /* snprintf() is not async-signal-safe */
	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			"%s record of %u bytes: %s at byte %zu exceeds the record",
			name ? name : "unknown", record->size, field, offset);
	if (!strncmp(field, "number of ", 10))
		field += 10;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(field, " ,"), field);
	return perch__bad_field(err, path, offset);
}

int perch_record_visit(const struct perch_record *record, const struct perch_visitor *visitor,
		       void *context)
{
	uint16_t function = offsetof(struct perch_visitor, unknown);
	perch_visit_function *visit;

	if (record->type >= PERCH__FIRST_USER_TYPE)
		function = offsetof(struct perch_visitor, file);
	else if (record->type > 0 && record->type < PERCH_RECORD_MAX)
		function = types[record->type].function;
	memcpy(&visit, (const char *)visitor + function, sizeof(visit));
	if (!visit)
		visit = visitor->other;
	return visit ? visit(context, record) : 0;
}
