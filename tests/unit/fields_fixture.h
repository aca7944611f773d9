/* SPDX-License-Identifier: MIT */
/*
 * Builds records in either byte order, and formats their fields as a line of text: "pid=7
 * read={value=1} ips=[0x1 USER]".
 */
#ifndef FIELDS_FIXTURE_H
#define FIELDS_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/fields.h>

#define SAMPLE_ID_BITS                                                                     \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)
#define SAMPLE_ID_TEXT "sample_id={pid=71 tid=72 time=73ns id=74 stream_id=75 cpu=76 identifier=77}"

/* ---- bytes ---- */

struct bytes {
	_Alignas(8) uint8_t at[4096];
	size_t size;
	bool swap;
};

static inline void add(struct bytes *bytes, const void *data, size_t size)
{
	assert_true(bytes->size + size <= sizeof(bytes->at));
	memcpy(bytes->at + bytes->size, data, size);
	bytes->size += size;
}

static inline void add_16(struct bytes *bytes, uint16_t value)
{
	value = bytes->swap ? __builtin_bswap16(value) : value;
	add(bytes, &value, sizeof(value));
}

static inline void add_32(struct bytes *bytes, uint32_t value)
{
	value = bytes->swap ? __builtin_bswap32(value) : value;
	add(bytes, &value, sizeof(value));
}

static inline void add_64(struct bytes *bytes, uint64_t value)
{
	value = bytes->swap ? __builtin_bswap64(value) : value;
	add(bytes, &value, sizeof(value));
}

static inline void add_name(struct bytes *bytes, const char *name)
{
	add(bytes, name, strlen(name) + 1);
	while (bytes->size % 8)
		add(bytes, "", 1);
}

/* The size is written at the end. */
static inline void begin(struct bytes *bytes, uint32_t type, uint16_t misc)
{
	bytes->size = 0;
	add_32(bytes, type);
	add_16(bytes, misc);
	add_16(bytes, 0);
}

static inline void add_sample_id(struct bytes *bytes)
{
	add_32(bytes, 71);
	add_32(bytes, 72);
	add_64(bytes, 73);
	add_64(bytes, 74);
	add_64(bytes, 75);
	add_32(bytes, 76);
	add_32(bytes, 0);
	add_64(bytes, 77);
}

static inline void finish(struct bytes *bytes)
{
	uint16_t size = bytes->swap ? __builtin_bswap16((uint16_t)bytes->size)
				    : (uint16_t)bytes->size;

	memcpy(bytes->at + 6, &size, sizeof(size));
}

/* ---- fields as text ---- */

struct printed {
	char text[16384];
	size_t length;
	bool started; /* a field precedes it in the same list or group */
	int depth;
	char closing[16];  /* of each open list and group */
	char path[16][64]; /* its name, "" of an entry of a list */
	void (*seen)(const char *path, enum perch_field_kind kind);
};

static inline void print(struct printed *printed, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printed->length += (size_t)vsnprintf(printed->text + printed->length,
					     sizeof(printed->text) - printed->length, format, args);
	va_end(args);
	assert_true(printed->length < sizeof(printed->text));
}

/* "branch_stack.entries[].from" of a field. */
static inline void report_path(struct printed *printed, const struct perch_field *field)
{
	char path[sizeof(printed->path) + 64] = "";

	for (int i = 1; i <= printed->depth; i++)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s%s", printed->path[i],
			 printed->closing[i] == ']' ? "[]" : ".");
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s",
		 field->name ? field->name : "");
	printed->seen(path, field->kind);
}

static inline void print_value(struct printed *printed, const struct perch_field *field)
{
	switch (field->kind) {
	case PERCH_FIELD_NUMBER:
		print(printed, "%" PRIu64, field->value);
		break;
	case PERCH_FIELD_SIGNED:
		print(printed, "%" PRId64, (int64_t)field->value);
		break;
	case PERCH_FIELD_TIME:
		print(printed, "%" PRIu64 "ns", field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		print(printed, "0x%" PRIx64, field->value);
		break;
	case PERCH_FIELD_FLAGS:
		assert_int_equal(strlen(field->text), field->length);
		print(printed, "<%s>", field->text);
		break;
	case PERCH_FIELD_TEXT:
		print(printed, "\"%.*s\"", (int)field->length, field->text);
		break;
	default:
		for (size_t i = 0; i < field->length; i++)
			print(printed, "%02x", (uint8_t)field->text[i]);
	}
}

static inline int print_field(void *context, const struct perch_field *field)
{
	struct printed *printed = context;

	if (field->kind == PERCH_FIELD_END) {
		assert_true(printed->depth > 0);
		print(printed, "%c", printed->closing[printed->depth--]);
		printed->started = true;
		return 0;
	}
	if (printed->seen && (field->name || field->kind != PERCH_FIELD_GROUP))
		report_path(printed, field);
	print(printed, "%s%s%s", printed->started ? " " : "", field->name ? field->name : "",
	      field->name ? "=" : "");
	printed->started = true;
	if (field->kind != PERCH_FIELD_LIST && field->kind != PERCH_FIELD_GROUP) {
		print_value(printed, field);
		return 0;
	}
	printed->started = false;
	printed->closing[++printed->depth] = field->kind == PERCH_FIELD_LIST ? ']' : '}';
	snprintf(printed->path[printed->depth], sizeof(printed->path[0]), "%s",
		 field->name ? field->name : "");
	if (field->kind == PERCH_FIELD_LIST)
		print(printed, "%" PRIu64, field->value);
	print(printed, "%c", field->kind == PERCH_FIELD_LIST ? '[' : '{');
	return 0;
}

#endif
