/* SPDX-License-Identifier: MIT */
/*
 * Structs of fixed fields (structs.def). They are on stacks, which are soon used again, so they are
 * shown only as they were in the call.
 */
#include "internal.h"

enum { MOST_ELEMENTS = 8, MOST_BYTES = 64 };

/* Forms of fields beside words; kinds with words have the numbers below. */
enum form {
	FORM_SIGNED = PERCH__ARG_NR,
	FORM_UNSIGNED,
	FORM_HEXADECIMAL,
	FORM_OCTAL,
	FORM_POINTER,
	FORM_LIMIT,
	FORM_HANDLER,
	FORM_SIGNALS,
	FORM_SIGNAL_NUMBER,
	FORM_FILE_TIME,
	FORM_END, /* no field */
};

enum how { ONE, LIST, TWO, NARROW = 4 };

struct row {
	const char *text;
	uint8_t offset, bytes;
	uint16_t form;
};

struct head {
	uint8_t size, how;
	const struct row *fields; /* the text after the last field, then the fields */
};

/* ---- the table ---- */

#define FORM_WORDS(kind)	    PERCH__ARG_##kind
#define LOWER_HALF(at)		    ((at) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))
#define FIELD(text, at, size, form) { text, at, size, FORM_##form },
#define STRUCT(kind, size, how, end) \
	{ NULL, 0, 0, FORM_END },    \
	}                            \
	;                            \
	static const struct row fields_##kind[] = { { end, 0, 0, FORM_END },
static const struct row no_fields[] = {
#include "structs.def"
	{ NULL, 0, 0, FORM_END },
};
#undef STRUCT
#undef FIELD

#define STRUCT(kind, size, how, end) [PERCH__ARG_##kind] = { size, how, fields_##kind },
#define FIELD(text, at, size, form)
static const struct head structs[PERCH__ARG_NR] = {
	[PERCH__ARG_NONE] = { 0, 0, no_fields },
#include "structs.def"
};

/* ---- forms ---- */

static void put_limit(struct perch__say *to, uint64_t value)
{
	bool kibibytes = value > 1024 && value % 1024 == 0;

	if (value == UINT64_MAX) {
		perch__say_add(to, "RLIM64_INFINITY");
		return;
	}
	perch__say_number(to, kibibytes ? value / 1024 : value, 10);
	if (kibibytes)
		perch__say_add(to, "*1024");
}

/* [INT CHLD], or ~[KILL] of the signals that are not in a large set. */
static void put_signals(struct perch__say *to, uint64_t set)
{
	bool most = __builtin_popcountll(set) > 32, any = false;

	perch__say_add(to, most ? "~[" : "[");
	for (int i = 1; i <= 64; i++) {
		char name[32];
		struct perch__say word = { name, sizeof(name), 0 };

		if ((set >> (i - 1) & 1) == most)
			continue;
		name[0] = '\0';
		perch__say_signal(&word, i);
		if (any)
			perch__say_put(to, " ", 1);
		any = true;
		perch__say_add(to, strncmp(name, "SIG", 3) ? name : name + 3);
	}
	perch__say_put(to, "]", 1);
}

static void put_octal(struct perch__say *to, uint64_t value)
{
	if (value)
		perch__say_put(to, "0", 1);
	perch__say_number(to, value, 8);
}

static void put_hexadecimal(struct perch__say *to, uint64_t value)
{
	if (value)
		perch__say_hex(to, value);
	else
		perch__say_put(to, "0", 1);
}

static void put_field(struct perch__say *to, unsigned form, uint64_t value, unsigned bytes)
{
	unsigned unused = 64 - 8 * bytes;

	switch (form) {
	case FORM_FILE_TIME:
		if (value == 0x3fffffff || value == 0x3ffffffe) {
			perch__say_add(to, value & 1 ? "UTIME_NOW" : "UTIME_OMIT");
			return;
		}
		/* fall through */
	case FORM_SIGNED:
		perch__say_signed(to, (int64_t)(value << unused) >> unused);
		return;
	case FORM_UNSIGNED:
		perch__say_number(to, value, 10);
		return;
	case FORM_HEXADECIMAL:
		put_hexadecimal(to, value);
		return;
	case FORM_OCTAL:
		put_octal(to, value);
		return;
	case FORM_POINTER:
		perch__say_pointer(to, value);
		return;
	case FORM_LIMIT:
		put_limit(to, value);
		return;
	case FORM_HANDLER:
		if (value < 2)
			perch__say_add(to, value ? "SIG_IGN" : "SIG_DFL");
		else
			perch__say_hex(to, value);
		return;
	case FORM_SIGNALS:
		put_signals(to, value);
		return;
	case FORM_SIGNAL_NUMBER:
		perch__say_signal(to, value <= 64 ? (int32_t)value : -1);
		return;
	default:
		perch__say_words(to, form, value);
		return;
	}
}

static uint64_t value_of(const unsigned char *bytes, const struct row *row)
{
	uint16_t half;
	uint32_t word;
	uint64_t value;

	switch (row->bytes) {
	case 2:
		memcpy(&half, bytes + row->offset, sizeof(half));
		return half;
	case 4:
		memcpy(&word, bytes + row->offset, sizeof(word));
		return word;
	default:
		memcpy(&value, bytes + row->offset, sizeof(value));
		return value;
	}
}

static void put_struct(struct perch__say *to, const struct head *head, const unsigned char *bytes)
{
	const struct row *end = head->fields;

	for (const struct row *row = end + 1; row->text; row++) {
		perch__say_add(to, row->text);
		put_field(to, row->form, value_of(bytes, row), row->bytes);
	}
	perch__say_add(to, end->text);
}

/* ---- structs and lists of them ---- */

bool perch__is_struct(unsigned kind, bool narrow)
{
	const struct head *head = kind < PERCH__ARG_NR ? &structs[kind] : NULL;

	return head && head->size && (!narrow || head->how & NARROW);
}

bool perch__say_struct(struct perch__say *to, unsigned kind,
		       const struct perch_syscall_process *process, uint64_t address, uint64_t nr)
{
	const struct head *head = &structs[kind];
	unsigned char bytes[MOST_ELEMENTS * MOST_BYTES];
	enum how how = head->how & ~NARROW;
	size_t shown;

	nr = how == ONE ? 1 : how == TWO ? 2 : nr;
	shown = nr < MOST_ELEMENTS ? (size_t)nr : MOST_ELEMENTS;
	if (!nr || !perch__read_whole(process, address, bytes, shown * head->size))
		return false;
	if (how != ONE)
		perch__say_put(to, "[", 1);
	for (size_t i = 0; i < shown; i++) {
		if (i)
			perch__say_put(to, ", ", 2);
		put_struct(to, head, bytes + i * head->size);
	}
	if (how != ONE)
		perch__say_add(to, nr > shown ? ", ...]" : "]");
	return true;
}
