/* SPDX-License-Identifier: MIT */
/*
 * The input is the text of a tracepoint's format and the bytes of sample.raw. The target parses the
 * text, and reads every field by every function. What is read must lie in sample.raw, and the
 * functions must agree.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/tracepoint.h>

#include "build/touch.h"
#include "tracepoint_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fixture {
	struct perch_parse_info parse_info;
	struct perch_record record;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_inside(const struct perch_record *record, const void *bytes, size_t size)
{
	const char *start = record->sample.raw.data, *at = bytes;

	check(at >= start && at <= start + record->sample.raw.size &&
	      size <= (size_t)(start + record->sample.raw.size - at));
	touch_bytes(bytes, size);
}

static void read_numbers(const struct perch_tracepoint_field *field,
			 const struct perch_record *record, size_t size)
{
	const size_t nr = size / field->element_size;
	uint64_t value, first = 0;
	int64_t number;

	for (size_t i = 0; i < nr; i++) {
		check(!perch_tracepoint_get_element(field, record, i, &value));
		first = i ? first : value;
	}
	check(perch_tracepoint_get_element(field, record, nr, &value) == -ENODATA && !value);
	if (field->kind == PERCH_TRACEPOINT_ARRAY)
		return;
	check(nr == 1 && !perch_tracepoint_get_u64(field, record, &value) && value == first);
	check(!perch_tracepoint_get_s64(field, record, &number) && (uint64_t)number == first);
}

static void read_field(const struct perch_tracepoint_format *format,
		       const struct perch_tracepoint_field *field,
		       const struct perch_record *record)
{
	const void *bytes;
	const char *text;
	size_t size, length;
	uint64_t value;

	touch_bytes(field->type, strlen(field->type));
	check(perch_tracepoint_format_find(format, field->name) != NULL);
	if (perch_tracepoint_get_bytes(field, record, &bytes, &size)) {
		check(!bytes && !size);
		check(perch_tracepoint_get_u64(field, record, &value) < 0 && !value);
		return;
	}
	check_inside(record, bytes, size);
	if (!perch_tracepoint_get_text(field, record, &text, &length)) {
		check(field->kind == PERCH_TRACEPOINT_TEXT && length <= size);
		check_inside(record, text, length);
	} else if (field->kind != PERCH_TRACEPOINT_BYTES) {
		read_numbers(field, record, size);
	}
}

static void read_all(const struct perch_tracepoint_format *format,
		     const struct perch_record *record)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields);
	struct touch_walk walk = { 0 };

	touch_bytes(perch_tracepoint_format_name(format),
		    strlen(perch_tracepoint_format_name(format)));
	touch_bytes(perch_tracepoint_format_print_fmt(format),
		    strlen(perch_tracepoint_format_print_fmt(format)));
	for (size_t i = 0; i < nr; i++)
		read_field(format, &fields[i], record);
	check(!perch_tracepoint_visit(format, record, touch_field, &walk) && !walk.depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perch_tracepoint_format *format;
	struct tracepoint_input input;
	struct fixture fixture = { 0 };
	struct perch_tracepoint_text text = { .system = "fuzz" };
	char *copy, *raw;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	data += sizeof(input);
	size -= sizeof(input);
	text.size = input.text_size < size ? input.text_size : size;
	text.long_size = input.flags & TRACEPOINT_INPUT_LONG_4 ? 4 : 8;
	/* in blocks of their own size, so that the sanitizers find any access beyond them */
	copy = malloc(text.size + 1);
	raw = malloc(size - text.size + 1);
	check(copy && raw);
	memcpy(copy + 1, data, text.size);
	memcpy(raw + 1, data + text.size, size - text.size);
	text.text = copy + 1;
	fixture.parse_info.swapped = input.flags & TRACEPOINT_INPUT_SWAPPED;
	fixture.record.type = PERCH_RECORD_SAMPLE;
	fixture.record.parse_info = &fixture.parse_info;
	fixture.record.sample.raw.data = raw + 1;
	fixture.record.sample.raw.size = (uint32_t)(size - text.size);
	if (!perch_tracepoint_format_parse(&format, &text, NULL)) {
		read_all(format, &fixture.record);
		perch_tracepoint_format_free(format);
	}
	free(copy);
	free(raw);
	return 0;
}
