/* SPDX-License-Identifier: MIT */
/*
 * Splits the line of a field in the format of a tracepoint:
 *
 *	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *
 * The text is untrusted. It need not be NUL-terminated.
 */
#ifndef PERCH_BASE_FORMAT_FIELD_H
#define PERCH_BASE_FORMAT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A part of the line. */
struct perch__span {
	const char *at;
	size_t length;
};

struct perch__format_field {
	struct perch__span type;     /* "char": the declaration before the name */
	struct perch__span name;     /* "prev_comm" */
	struct perch__span brackets; /* "[16]", empty if there are none after the name */
	uint32_t offset, size;
	bool has_sign, is_signed; /* older kernels than 2.6.33 do not write "signed:" */
};

static inline bool perch__is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static inline bool perch__span_begins(struct perch__span span, const char *prefix)
{
	size_t length = strlen(prefix);

	return span.length >= length && !memcmp(span.at, prefix, length);
}

static inline struct perch__span perch__span_trim(struct perch__span span)
{
	while (span.length && (span.at[0] == ' ' || span.at[0] == '\t')) {
		span.at++;
		span.length--;
	}
	while (span.length && (span.at[span.length - 1] == ' ' || span.at[span.length - 1] == '\t'))
		span.length--;
	return span;
}

/* Removes the line, or the part up to a character, from the front of the text, and returns it. */
static inline struct perch__span perch__span_cut(struct perch__span *text, char end)
{
	const char *found = text->length ? memchr(text->at, end, text->length) : NULL;
	struct perch__span part = { text->at, found ? (size_t)(found - text->at) : text->length };

	text->at += part.length + !!found;
	text->length -= part.length + !!found;
	return part;
}

/* Reads a decimal number below 2^31 that is the whole span. */
static inline bool perch__span_number(struct perch__span span, uint32_t *number)
{
	uint64_t value = 0;

	if (!span.length || span.length > 10)
		return false;
	for (size_t i = 0; i < span.length; i++) {
		if (span.at[i] < '0' || span.at[i] > '9')
			return false;
		value = 10 * value + (uint64_t)(span.at[i] - '0');
	}
	*number = (uint32_t)value;
	return value < 1ull << 31;
}

/* Splits "char prev_comm[16]". The name of "void (*function)(int)" is in the brackets. */
static inline bool perch__split_declaration(struct perch__span text,
					    struct perch__format_field *field)
{
	const char *pointer = text.length ? memchr(text.at, '(', text.length) : NULL;
	size_t end, start;

	text = perch__span_trim(text);
	end = text.length;
	if (pointer) {
		end = (size_t)(pointer + 1 - text.at);
		while (end < text.length && (text.at[end] == '*' || text.at[end] == ' '))
			end++;
		while (end < text.length && perch__is_name_char(text.at[end]))
			end++;
	} else {
		while (end && text.at[end - 1] == ']') {
			while (end && text.at[end - 1] != '[')
				end--;
			end -= end > 0;
		}
	}
	field->brackets = (struct perch__span){ text.at + end, pointer ? 0 : text.length - end };
	while (end && text.at[end - 1] == ' ')
		end--;
	start = end;
	while (start && perch__is_name_char(text.at[start - 1]))
		start--;
	field->name = (struct perch__span){ text.at + start, end - start };
	field->type =
		perch__span_trim((struct perch__span){ text.at, pointer ? text.length : start });
	return field->name.length && field->type.length &&
	       !(text.at[start] >= '0' && text.at[start] <= '9');
}

/* True if the line describes a field. */
static inline bool perch__is_format_field(struct perch__span line)
{
	line = perch__span_trim(line);
	return perch__span_begins(line, "field:") || perch__span_begins(line, "field special:");
}

/* Splits a line for which perch__is_format_field() is true. Returns false for an invalid one. */
static inline bool perch__split_format_field(struct perch__span line,
					     struct perch__format_field *field)
{
	bool has_offset = false, has_size = false;
	uint32_t sign = 0;

	*field = (struct perch__format_field){ 0 };
	perch__span_cut(&line, ':');
	if (!perch__split_declaration(perch__span_cut(&line, ';'), field))
		return false;
	while (line.length) {
		struct perch__span value = perch__span_trim(perch__span_cut(&line, ';'));
		struct perch__span key = perch__span_cut(&value, ':');

		if (key.length == 6 && !memcmp(key.at, "offset", 6))
			has_offset = perch__span_number(value, &field->offset);
		else if (key.length == 4 && !memcmp(key.at, "size", 4))
			has_size = perch__span_number(value, &field->size);
		else if (key.length == 6 && !memcmp(key.at, "signed", 6))
			field->has_sign = perch__span_number(value, &sign);
	}
	field->is_signed = sign != 0;
	return has_offset && has_size;
}

#endif
