/* SPDX-License-Identifier: MIT */
/* Columns of the function of a row. */
#include <inttypes.h>

#include "profile/internal.h"

#define ADDRESS_BYTES 19 /* 0x, 16 digits and a NUL */

/* ---- dso ---- */

static uint64_t dso_value(const struct perch_profile *profile, struct frame_id frame)
{
	return profile->frame[frame.nr].dso->index;
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

uint64_t perch__sym_value(const struct perch_profile *profile, struct frame_id frame)
{
	return profile->with_lines ? profile->position[frame.nr].function : frame.nr;
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

/* Copies as much of a text as fits. */
static void copy_text(char *buffer, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length >= size)
		length = size - 1;
	memcpy(buffer, text, length);
	buffer[length] = 0;
}

/* As "%-#.16" PRIx64; printf takes longer, and the report of a stripped program has many
 * addresses. */
static void put_address(char *buffer, size_t size, uint64_t address)
{
	char text[ADDRESS_BYTES];
	size_t at = 0;

	if (address) {
		text[at++] = '0';
		text[at++] = 'x';
	}
	for (int shift = 60; shift >= 0; shift -= 4)
		text[at++] = "0123456789abcdef"[address >> shift & 15];
	text[at] = 0;
	copy_text(buffer, size, text);
}

/* An address without a function: of a module, from its start on, as in perf. */
static uint64_t shown_offset(const struct perch_frame *frame)
{
	return perch_dso_is(frame->dso, PERCH_DSO_IS_MODULE) ? frame->offset - frame->dso->start
							     : frame->offset;
}

const char *perch_profile_frame_name(struct perch_profile *profile, const struct perch_frame *frame,
				     char *buffer, size_t size)
{
	const struct perch_symbol *symbol = frame->symbol;

	if (symbol && !symbol->inlined)
		return perch_symbols_name(profile->symbols, symbol);
	if (perch__is_truncated(frame))
		return "[stack truncated]";
	buffer[0] = 0;
	if (symbol)
		snprintf(buffer, size, "%.*s (inlined)", size > 16 ? (int)size - 16 : 0,
			 perch_symbols_name(profile->symbols, symbol));
	else if (frame->dso)
		put_address(buffer, size, shown_offset(frame));
	return buffer;
}

static const char *sym_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	const struct perch_frame *frame = &cell->row->frame;
	const char level[] = { '[', frame->cpumode_char, ']', ' ', 0 };
	size_t before = sizeof(level) - 1;
	const char *name;

	if (size <= before + 1) {
		copy_text(buffer, size, level);
		return buffer;
	}
	memcpy(buffer, level, before);
	name = perch_profile_frame_name(profile, frame, buffer + before, size - before);
	if (name != buffer + before)
		copy_text(buffer + before, size - before, name);
	return buffer;
}

const struct perch_column_methods perch__column_sym = {
	.frame_value = perch__sym_value,
	.compare = sym_compare,
	.text = sym_text,
};

/* ---- symoff ---- */

static uint64_t symoff_of(const struct perch_profile *profile, const struct cell *cell)
{
	return profile->position[cell->row->numbers[ROW_FRAME]].symoff;
}

static uint64_t symoff_value(const struct perch_profile *profile, struct frame_id frame)
{
	const struct position *position = &profile->position[frame.nr];

	return perch__hash_pair(profile->names_seed, position->function, position->symoff);
}

static int symoff_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	uint64_t left = symoff_of(profile, a), right = symoff_of(profile, b);
	int order = sym_compare(profile, a, b);

	return order ? order : (left > right) - (left < right);
}

/* As in perf: 9 digits of an address without a function. Only the function that contains inlined
 * ones has a start. */
static const char *symoff_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	const struct perch_frame *frame = &cell->row->frame;
	size_t length;

	if (!frame->symbol && frame->dso && !perch__is_truncated(frame)) {
		snprintf(buffer, size, "[%c] %#.9" PRIx64, frame->cpumode_char,
			 shown_offset(frame));
		return buffer;
	}
	sym_text(profile, cell, buffer, size);
	length = strlen(buffer);
	if (frame->symbol && !frame->symbol->inlined)
		snprintf(buffer + length, size - length, "+0x%" PRIx64, symoff_of(profile, cell));
	return buffer;
}

const struct perch_column_methods perch__column_symoff = {
	.frame_value = symoff_value,
	.compare = symoff_compare,
	.text = symoff_text,
};

/* ---- sizes ---- */

/* As in perf, the size of the code that is mapped, not of the file. 0 if unknown. */
static uint64_t size_of_dso(const struct perch_dso *dso)
{
	return dso->length ? dso->length : dso->code_size;
}

static uint64_t size_of_symbol(const struct perch_symbol *symbol)
{
	return symbol ? symbol->end - symbol->start : 0;
}

static uint64_t dso_size_value(const struct perch_profile *profile, struct frame_id frame)
{
	return size_of_dso(profile->frame[frame.nr].dso);
}

static uint64_t symbol_size_value(const struct perch_profile *profile, struct frame_id frame)
{
	return size_of_symbol(profile->frame[frame.nr].symbol);
}

static const char *size_text(uint64_t bytes, char *buffer, size_t size)
{
	if (bytes)
		snprintf(buffer, size, "%" PRIu64, bytes);
	else
		copy_text(buffer, size, "unknown");
	return buffer;
}

static const char *dso_size_text(struct perch_profile *profile, const struct cell *cell,
				 char *buffer, size_t size)
{
	(void)profile;
	return size_text(cell->row->frame.dso ? size_of_dso(cell->row->frame.dso) : 0, buffer,
			 size);
}

static const char *symbol_size_text(struct perch_profile *profile, const struct cell *cell,
				    char *buffer, size_t size)
{
	(void)profile;
	return size_text(size_of_symbol(cell->row->frame.symbol), buffer, size);
}

const struct perch_column_methods perch__column_dso_size = {
	.frame_value = dso_size_value,
	.text = dso_size_text,
};

const struct perch_column_methods perch__column_symbol_size = {
	.frame_value = symbol_size_value,
	.text = symbol_size_text,
};

/* ---- level and kind ---- */

static const char *level_name(char cpumode_char)
{
	static const struct {
		char cpumode_char;
		const char *name;
	} levels[] = {
		{ 'k', "kernel" },	 { '.', "user" },	{ 'H', "hypervisor" },
		{ 'g', "guest kernel" }, { 'u', "guest user" },
	};

	for (size_t i = 0; i < PERCH__NR(levels); i++)
		if (levels[i].cpumode_char == cpumode_char)
			return levels[i].name;
	return "unknown";
}

static uint64_t level_value(const struct perch_profile *profile, struct frame_id frame)
{
	return (unsigned char)profile->frame[frame.nr].cpumode_char;
}

static const char *level_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	(void)profile;
	(void)buffer;
	(void)size;
	return level_name(cell->row->frame.cpumode_char);
}

const struct perch_column_methods perch__column_level = {
	.frame_value = level_value,
	.text = level_text,
};

#define INLINED 64 /* a kind besides those of DSOs */

static uint64_t kind_of(const struct perch_frame *frame)
{
	if (frame->symbol && frame->symbol->inlined)
		return INLINED;
	return frame->dso ? frame->dso->kind : PERCH_DSO_UNKNOWN;
}

static uint64_t kind_value(const struct perch_profile *profile, struct frame_id frame)
{
	return kind_of(&profile->frame[frame.nr]);
}

static const char *kind_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	static const char *const names[] = {
		[PERCH_DSO_FILE] = "file",	 [PERCH_DSO_KERNEL] = "kernel",
		[PERCH_DSO_MODULE] = "module",	 [PERCH_DSO_VDSO] = "vdso",
		[PERCH_DSO_ANON] = "anonymous",	 [PERCH_DSO_UNKNOWN] = "unknown",
		[PERCH_DSO_KERNEL_CODE] = "bpf", [PERCH_DSO_JIT] = "jit",
	};
	uint64_t kind = kind_of(&cell->row->frame);

	(void)profile;
	(void)buffer;
	(void)size;
	return kind == INLINED ? "inlined" : names[kind];
}

const struct perch_column_methods perch__column_kind = {
	.frame_value = kind_value,
	.text = kind_text,
};
