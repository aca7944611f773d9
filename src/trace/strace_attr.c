/* SPDX-License-Identifier: MIT */
/* The attr as strace writes it: all fields with -v, abbreviated otherwise, and without fields that
 * this version of strace does not have. */
#include <stdlib.h>
#include <string.h>

#include "strace.h"

struct reader {
	struct strace_text *text;
	struct perch_attr *attr;
	struct perch_open_call *call;
	bool has_gap; /* a field before the next one is unknown */
};

/* Sets the bits of the flags word from first on, for which an old strace has no names. */
static void set_flags_from(struct perch_attr *attr, unsigned first, uint64_t value)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		const struct perch_attr_field *field = &fields[i];

		if (field->offset == offsetof(struct perch_attr, flags) && field->bit >= (int)first)
			perch_attr_set(attr, field, value >> (field->bit - first));
	}
}

/* Copies a token as a string. */
static const char *token_text(const struct strace_token *note, char *buffer, size_t size)
{
	size_t length = note->length < size ? note->length : size - 1;

	memcpy(buffer, note->at, length);
	buffer[length] = '\0';
	return buffer;
}

/* Sets a field that strace writes by offset: "bytes 116..119: 0x5". */
static void set_bytes(struct perch_attr *attr, const char *note)
{
	const struct perch_attr_field *fields;
	unsigned from, to;
	unsigned long value;
	size_t nr;

	if (sscanf(note, " bytes %3u..%3u: %lx", &from, &to, &value) != 3)
		return;
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (fields[i].offset == from && fields[i].bit < 0 &&
		    fields[i].size == to - from + 1)
			perch_attr_set(attr, &fields[i], value);
}

static void apply_note(struct reader *reader, bool reserved, uint64_t value,
		       const struct strace_token *note)
{
	char buffer[64];
	unsigned high, low;

	if (!note->length)
		return;
	token_text(note, buffer, sizeof(buffer));
	if (!reserved)
		set_bytes(reader->attr, buffer);
	else if (sscanf(buffer, " Bits %2u..%2u", &high, &low) == 2 && low < 64)
		set_flags_from(reader->attr, low, value);
	else
		reader->call->attr_is_partial = true;
}

/* "=> 0x88": the size that the kernel wrote. */
static void read_kernel_size(struct reader *reader)
{
	struct strace_text ahead = *reader->text;
	uint64_t size;

	strace_skip_spaces(&ahead);
	if (!strace_accept(&ahead, "=>"))
		return;
	strace_skip_spaces(&ahead);
	if (!strace_read_value(&ahead, &size, NULL))
		return;
	reader->call->kernel_size = size;
	*reader->text = ahead;
}

static void set_field(struct reader *reader, const struct strace_token *name, uint64_t value,
		      const struct strace_token *note)
{
	const struct perch_attr_field *field;
	char buffer[40];

	if (strace_token_is(name, "__reserved_1")) {
		apply_note(reader, true, value, note);
		return;
	}
	if (strace_token_is(name, "__reserved_2"))
		field = perch_attr_get_field("reserved_2");
	else
		field = perch_attr_get_field(token_text(name, buffer, sizeof(buffer)));
	if (field) {
		perch_attr_set(reader->attr, field, value);
		if (!reader->has_gap)
			reader->call->attr_shown_size = field->offset + field->size;
	} else if (value)
		reader->call->attr_is_partial = true; /* a field of a newer kernel */
	apply_note(reader, false, value, note);
}

/* "name=value". A value that cannot be parsed is skipped; the attr is then partial. */
static bool read_field(struct reader *reader)
{
	struct strace_token name = strace_read_identifier(reader->text), note;
	struct strace_text before;
	uint64_t value;

	if (!name.length || !strace_accept(reader->text, "="))
		return false;
	before = *reader->text;
	if (strace_read_value(reader->text, &value, &note)) {
		set_field(reader, &name, value, &note);
		read_kernel_size(reader);
	} else {
		*reader->text = before;
		reader->call->attr_is_partial = reader->has_gap = true;
	}
	strace_skip_value(reader->text);
	return true;
}

bool strace_read_attr(struct strace_text *text, union strace_attr *attr,
		      struct perch_open_call *call)
{
	struct reader reader = { text, &attr->attr, call };

	memset(attr, 0, sizeof(*attr));
	if (!strace_accept(text, "{"))
		return false;
	call->attr = &attr->attr;
	do {
		strace_skip_spaces(text);
		if (strace_accept(text, "..."))
			call->attr_is_partial = reader.has_gap = true;
		else if (!read_field(&reader))
			return false;
	} while (strace_accept_comma(text));
	if (!strace_accept(text, "}"))
		return false;
	read_kernel_size(&reader);
	return true;
}
