/* SPDX-License-Identifier: MIT */
/* Parses the text of a tracepoint's format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/format_field.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"
#include "tracepoint.h"

/* Strings are copied to the end of the allocation. */
struct strings {
	char *next;
	size_t left;
};

struct parser {
	const struct perch_tracepoint_text *text;
	uint8_t long_size;
	size_t capacity; /* the text may change meanwhile: it may be in a mapped file */
	struct strings strings;
	struct perch_tracepoint_format *format;
	struct perch_error *err;
};

/*
 * Appends one or two spans as a string. The strings always have enough space: a string needs one
 * more byte than its text, and each follows a key ("field:", "name:") of more bytes than it has
 * strings.
 */
static const char *copy_strings(struct strings *strings, struct perch__span one,
				struct perch__span two)
{
	char *string = strings->next;

	if (one.length + two.length >= strings->left)
		return "";
	if (one.length)
		memcpy(string, one.at, one.length);
	if (two.length)
		memcpy(string + one.length, two.at, two.length);
	string[one.length + two.length] = '\0';
	strings->next += one.length + two.length + 1;
	strings->left -= one.length + two.length + 1;
	return string;
}

/* ---- the kind of a field ---- */

static bool is_word(struct perch__span span, const char *word)
{
	return span.length == strlen(word) && !memcmp(span.at, word, span.length);
}

/* Integers that tracepoints have as elements of arrays whose length is in the record. size 0 is
 * that of a long. */
static const struct integer {
	const char *type;
	uint8_t size;
	bool is_signed;
} integers[] = {
	{ "char", 1, true },
	{ "signed char", 1, true },
	{ "unsigned char", 1, false },
	{ "u8", 1, false },
	{ "__u8", 1, false },
	{ "uint8_t", 1, false },
	{ "s8", 1, true },
	{ "__s8", 1, true },
	{ "int8_t", 1, true },
	{ "bool", 1, false },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
	{ "u16", 2, false },
	{ "__u16", 2, false },
	{ "uint16_t", 2, false },
	{ "s16", 2, true },
	{ "__s16", 2, true },
	{ "int16_t", 2, true },
	{ "__le16", 2, false },
	{ "__be16", 2, false },
	{ "umode_t", 2, false },
	{ "int", 4, true },
	{ "unsigned int", 4, false },
	{ "unsigned", 4, false },
	{ "u32", 4, false },
	{ "__u32", 4, false },
	{ "uint32_t", 4, false },
	{ "s32", 4, true },
	{ "__s32", 4, true },
	{ "int32_t", 4, true },
	{ "__le32", 4, false },
	{ "__be32", 4, false },
	{ "pid_t", 4, true },
	{ "uid_t", 4, false },
	{ "gid_t", 4, false },
	{ "gfp_t", 4, false },
	{ "dev_t", 4, false },
	{ "long", 0, true },
	{ "unsigned long", 0, false },
	{ "long unsigned int", 0, false },
	{ "size_t", 0, false },
	{ "ssize_t", 0, true },
	{ "uintptr_t", 0, false },
	{ "long long", 8, true },
	{ "unsigned long long", 8, false },
	{ "long long unsigned int", 8, false },
	{ "u64", 8, false },
	{ "__u64", 8, false },
	{ "uint64_t", 8, false },
	{ "s64", 8, true },
	{ "__s64", 8, true },
	{ "int64_t", 8, true },
	{ "__le64", 8, false },
	{ "__be64", 8, false },
	{ "loff_t", 8, true },
	{ "sector_t", 8, false },
	{ "ktime_t", 8, true },
};

static const struct integer *find_integer(struct perch__span type)
{
	for (size_t i = 0; i < PERCH__NR(integers); i++)
		if (is_word(type, integers[i].type))
			return &integers[i];
	return NULL;
}

static bool is_integer_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_struct(struct perch__span type)
{
	return perch__span_begins(type, "struct ") || perch__span_begins(type, "union ");
}

/* A declaration without its first word. */
static struct perch__span after_word(struct perch__span type)
{
	perch__span_cut(&type, ' ');
	return perch__span_trim(type);
}

/* The type of the elements, without qualifiers: "char" of "const char[16]". */
static struct perch__span element_type(struct perch__span type)
{
	while (perch__span_begins(type, "const ") || perch__span_begins(type, "volatile "))
		type = after_word(type);
	return perch__span_trim(perch__span_cut(&type, '['));
}

/* The size of an element of an array of `size` bytes; 0 if it is not known. */
static uint32_t element_size(const struct parser *parser, struct perch__span element,
			     struct perch__span brackets, uint32_t size)
{
	const struct integer *integer = find_integer(element);
	uint32_t nr;

	perch__span_cut(&brackets, '[');
	if (perch__span_number(perch__span_cut(&brackets, ']'), &nr) && nr && !brackets.length)
		return size % nr ? 0 : size / nr;
	if (integer)
		return integer->size ? integer->size : parser->long_size;
	return element.length && element.at[element.length - 1] == '*' ? parser->long_size : 0;
}

static void set_array(const struct parser *parser, struct perch_tracepoint_field *field,
		      struct perch__span type, struct perch__span brackets)
{
	struct perch__span element = element_type(type);
	uint32_t size = element_size(parser, element, brackets, field->size);

	field->kind = PERCH_TRACEPOINT_BYTES;
	field->element_size = 1;
	if (is_word(element, "char")) {
		field->kind = PERCH_TRACEPOINT_TEXT;
	} else if (is_integer_size(size) && !is_struct(element)) {
		field->kind = PERCH_TRACEPOINT_ARRAY;
		field->element_size = size;
	}
}

static void set_single(struct perch_tracepoint_field *field, struct perch__span type)
{
	bool is_pointer = type.at[type.length - 1] == '*' || memchr(type.at, '(', type.length);

	field->element_size = field->size;
	if (is_pointer && (field->size == 4 || field->size == 8)) {
		field->kind = PERCH_TRACEPOINT_POINTER;
		field->is_signed = false;
	} else if (is_integer_size(field->size) && !is_struct(type)) {
		field->kind = PERCH_TRACEPOINT_NUMBER;
	} else {
		field->kind = PERCH_TRACEPOINT_BYTES;
		field->element_size = 1;
	}
}

/* Without "signed:", C's rules decide. */
static bool is_signed(const struct perch__format_field *line)
{
	const struct integer *integer = find_integer(element_type(line->type));

	if (line->has_sign)
		return line->is_signed;
	return integer ? integer->is_signed : !perch__span_begins(line->type, "unsigned ");
}

static void set_kind(const struct parser *parser, struct perch_tracepoint_field *field,
		     const struct perch__format_field *line)
{
	struct perch__span type = line->type, brackets = line->brackets;
	const char *inner = memchr(type.at, '[', type.length);

	if (perch__span_begins(type, "__data_loc ") && field->size == 4)
		field->location = PERCH_TRACEPOINT_DATA_LOC;
	else if (perch__span_begins(type, "__rel_loc ") && field->size == 4)
		field->location = PERCH_TRACEPOINT_REL_LOC;
	if (field->location != PERCH_TRACEPOINT_AT_OFFSET)
		type = after_word(type);
	if (!brackets.length && inner)
		brackets = (struct perch__span){ inner, (size_t)(line->type.at + line->type.length -
								 inner) };
	if (field->location == PERCH_TRACEPOINT_AT_OFFSET && !brackets.length) {
		set_single(field, type);
		return;
	}
	if (field->location == PERCH_TRACEPOINT_AT_OFFSET && !field->size &&
	    is_word(brackets, "[]"))
		field->location = PERCH_TRACEPOINT_TO_END;
	if (field->location != PERCH_TRACEPOINT_AT_OFFSET)
		brackets.length = 0; /* the size is in the record */
	set_array(parser, field, type, brackets);
}

/* ---- lines ---- */

static int bad_field(const struct parser *parser, struct perch__span line)
{
	size_t column = (size_t)(line.at - parser->text->text);
	int rc =
		perch_error_set(parser->err, EBADMSG, PERCH_ERROR_FORMAT,
				"the format of a tracepoint has an invalid field at byte %zu: %.*s",
				column, (int)(line.length < 100 ? line.length : 100), line.at);

	if (parser->err)
		parser->err->column = (int)column;
	return rc;
}

static int parse_field(struct parser *parser, struct perch__span line)
{
	struct perch_tracepoint_field *field = &parser->format->field[parser->format->nr];
	struct perch__format_field parts;

	if (parser->format->nr == parser->capacity || !perch__split_format_field(line, &parts))
		return bad_field(parser, line);
	*field = (struct perch_tracepoint_field){
		.name = copy_strings(&parser->strings, parts.name, (struct perch__span){ 0 }),
		.type = copy_strings(&parser->strings, parts.type, parts.brackets),
		.offset = parts.offset,
		.size = parts.size,
		.is_signed = is_signed(&parts),
		.is_common = perch__span_begins(parts.name, "common_"),
	};
	set_kind(parser, field, &parts);
	parser->format->nr++;
	return 0;
}

static int parse_line(struct parser *parser, struct perch__span line, struct perch__span rest)
{
	struct perch_tracepoint_format *format = parser->format;
	struct perch__span value = line, key = perch__span_cut(&value, ':');
	uint32_t id;

	value = perch__span_trim(value);
	if (perch__is_format_field(line))
		return parse_field(parser, line);
	if (is_word(key, "name") && !*format->name) {
		format->name = copy_strings(&parser->strings, value, (struct perch__span){ 0 });
	} else if (is_word(key, "ID") && perch__span_number(value, &id)) {
		format->id = id;
	} else if (is_word(key, "print fmt") && !*format->print_fmt) {
		/* the last key: its text may have newlines */
		value.length = (size_t)(rest.at + rest.length - value.at);
		while (value.length && value.at[value.length - 1] == '\n')
			value.length--;
		format->print_fmt =
			copy_strings(&parser->strings, value, (struct perch__span){ 0 });
	}
	return 0;
}

static int parse_lines(struct parser *parser)
{
	struct perch__span rest = { parser->text->text, parser->text->size };
	int rc = 0;

	while (rest.length && !rc && !*parser->format->print_fmt) {
		struct perch__span line = perch__span_cut(&rest, '\n');

		rc = parse_line(parser, line, rest);
	}
	if (!rc && !parser->format->nr)
		rc = perch_error_set(parser->err, EBADMSG, PERCH_ERROR_FORMAT,
				     "the format of a tracepoint has no fields");
	return rc;
}

static size_t count_fields(const struct perch_tracepoint_text *text)
{
	struct perch__span rest = { text->text, text->size };
	size_t nr = 0;

	while (rest.length)
		nr += perch__is_format_field(perch__span_cut(&rest, '\n'));
	return nr;
}

static int check_text(const struct perch_tracepoint_text *text, struct perch_error *err)
{
	if (PERCH__CHECK_RESERVED(text, "perch_tracepoint_text", err))
		return -EINVAL;
	if (text->size > PERCH__FORMAT_MAX)
		return perch_error_set(err, EFBIG, PERCH_ERROR_FORMAT,
				       "the format of a tracepoint has %zu bytes, more than 1 MiB",
				       text->size);
	if (text->long_size && text->long_size != 4 && text->long_size != 8)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "long_size is %u: it must be 0, 4 or 8", text->long_size);
	return 0;
}

int perch_tracepoint_format_parse(struct perch_tracepoint_format **format,
				  const struct perch_tracepoint_text *text, struct perch_error *err)
{
	struct parser parser = { .text = text, .err = err };
	size_t system = text->system ? strlen(text->system) : 0, fields;
	int rc = check_text(text, err);

	*format = NULL;
	if (rc)
		return rc;
	parser.capacity = count_fields(text);
	fields = parser.capacity * sizeof(struct perch_tracepoint_field);
	parser.strings.left = system + 1 + text->size + 1;
	parser.format = calloc(1, sizeof(*parser.format) + fields + parser.strings.left);
	if (!parser.format)
		return PERCH__NO_MEMORY(err, "for the format of a tracepoint");
	parser.strings.next = (char *)(parser.format + 1) + fields;
	parser.long_size = text->long_size ? text->long_size : sizeof(long);
	parser.format->name = parser.format->print_fmt = "";
	parser.format->system = copy_strings(&parser.strings,
					     (struct perch__span){ text->system, system },
					     (struct perch__span){ 0 });
	rc = parse_lines(&parser);
	if (rc)
		free(parser.format);
	else
		*format = parser.format;
	return rc;
}

void perch_tracepoint_format_free(struct perch_tracepoint_format *format)
{
	free(format);
}

const char *perch_tracepoint_format_system(const struct perch_tracepoint_format *format)
{
	return format->system;
}

const char *perch_tracepoint_format_name(const struct perch_tracepoint_format *format)
{
	return format->name;
}

uint64_t perch_tracepoint_format_id(const struct perch_tracepoint_format *format)
{
	return format->id;
}

const char *perch_tracepoint_format_print_fmt(const struct perch_tracepoint_format *format)
{
	return format->print_fmt;
}

size_t perch_tracepoint_format_fields(const struct perch_tracepoint_format *format,
				      const struct perch_tracepoint_field **fields)
{
	*fields = format->field;
	return format->nr;
}

const struct perch_tracepoint_field *perch_tracepoint_format_find(
	const struct perch_tracepoint_format *format, const char *name)
{
	for (size_t i = 0; i < format->nr; i++)
		if (!strcmp(format->field[i].name, name))
			return &format->field[i];
	return NULL;
}
