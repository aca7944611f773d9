/* SPDX-License-Identifier: MIT */
/* Columns of the function of a row. */
#include "internal.h"

#define ADDRESS_BYTES 19 /* 0x, 16 digits and a NUL */

/* ---- dso ---- */

static uint64_t dso_value(const struct perch_profile *profile, uint32_t frame)
{
	return profile->frame[frame].dso->index;
}

static const char *dso_name(struct perch_profile *profile, const struct perch_frame *frame)
{
	return perch_symbols_dso_name(profile->symbols, frame->dso);
}

static int dso_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	if (a->row->frame.dso == b->row->frame.dso)
		return 0;
	return strcmp(dso_name(profile, &a->row->frame), dso_name(profile, &b->row->frame));
}

static const char *dso_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	(void)buffer;
	(void)size;
	return dso_name(profile, &cell->row->frame);
}

const struct perch_column_methods perch__column_dso = {
	.frame_value = dso_value,
	.compare = dso_compare,
	.text = dso_text,
};

/* ---- sym ---- */

static uint64_t sym_value(const struct perch_profile *profile, uint32_t frame)
{
	(void)profile;
	return frame;
}

/* Functions come before addresses without one. */
static int sym_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	const struct perch_frame *left = &a->row->frame, *right = &b->row->frame;

	if (!left->symbol != !right->symbol)
		return left->symbol ? -1 : 1;
	if (left->symbol && left->symbol != right->symbol)
		return strcmp(perch_symbols_name(profile->symbols, left->symbol),
			      perch_symbols_name(profile->symbols, right->symbol));
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* As "%-#.16" PRIx64; printf takes longer, and the report of a stripped program has many
 * addresses. Returns the start of the text, within the array. */
static const char *put_address(char text[ADDRESS_BYTES], uint64_t address)
{
	char *at = text + ADDRESS_BYTES - 1;
	uint64_t left = address;

	*at = 0;
	for (int i = 0; i < 16; i++, left >>= 4)
		*--at = "0123456789abcdef"[left & 15];
	if (address) {
		*--at = 'x';
		*--at = '0';
	}
	return at;
}

/* An address without a function: of a module, from its start on, as in perf. */
static uint64_t shown_offset(const struct perch_frame *frame)
{
	return frame->dso->kind == PERCH_DSO_MODULE ? frame->offset - frame->dso->start
						    : frame->offset;
}

/* Copies as much of a text as fits. */
static void copy_text(char *buffer, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size)
		length = size - 1;
	memcpy(buffer, text, length);
	buffer[length] = 0;
}

const char *perch_profile_frame_name(struct perch_profile *profile, const struct perch_frame *frame,
				     char *buffer, size_t size)
{
	const struct perch_symbol *symbol = frame->symbol;
	char address[ADDRESS_BYTES];

	if (symbol && !symbol->inlined)
		return perch_symbols_name(profile->symbols, symbol);
	if (!symbol)
		copy_text(buffer, size,
			  frame->dso ? put_address(address, shown_offset(frame)) : "");
	else
		snprintf(buffer, size, "%.*s (inlined)", size > 16 ? (int)size - 16 : 0,
			 perch_symbols_name(profile->symbols, symbol));
	return buffer;
}

static const char *sym_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	const struct perch_frame *frame = &cell->row->frame;
	const char level[] = { '[', frame->cpumode_char, ']', ' ', 0 };
	size_t before = sizeof(level) - 1;
	const char *name;

	copy_text(buffer, size, level);
	if (size <= before + 1)
		return buffer;
	name = perch_profile_frame_name(profile, frame, buffer + before, size - before);
	if (name != buffer + before)
		copy_text(buffer + before, size - before, name);
	return buffer;
}

const struct perch_column_methods perch__column_sym = {
	.frame_value = sym_value,
	.compare = sym_compare,
	.text = sym_text,
};
