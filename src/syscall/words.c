/* SPDX-License-Identifier: MIT */
/* Names of flags and constants. */
#include "internal.h"

struct word {
	uint32_t mask, value;
	const char *name; /* NULL ends a set */
};

/* An array for each set: SET() ends the one before. The name is an operand of # in each macro,
 * because some are macros of the C library. */
#define BIT(value, name)	{ value, value, #name },
#define IS(value, name)		{ UINT32_MAX, value, #name },
#define WORD(mask, value, name) { mask, value, #name },
#define SET(kind)       \
	{ 0, 0, NULL }, \
	}               \
	;               \
	static const struct word words_##kind[] = {
static const struct word words_NONE[] = {
#include "flags.def"
#include "flags_more.def"
	{ 0, 0, NULL },
};
#undef SET
#undef WORD
#undef BIT
#undef IS

#define SET(kind) [PERCH__ARG_##kind] = words_##kind,
#define WORD(mask, value, name)
#define BIT(value, name)
#define IS(value, name)
static const struct word *const sets[PERCH__ARG_NR] = {
	[PERCH__ARG_NONE] = words_NONE,
#include "flags.def"
#include "flags_more.def"
};

bool perch__say_words(struct perch__say *to, unsigned kind, uint64_t value)
{
	const struct word *word = kind < PERCH__ARG_NR ? sets[kind] : NULL;
	uint32_t rest = (uint32_t)value, unnamed = UINT32_MAX;

	if (!word)
		return false;
	for (; word->name; word++) {
		if ((rest & word->mask) != word->value || word->mask & ~unnamed)
			continue;
		if (unnamed != UINT32_MAX)
			perch__say_put(to, "|", 1);
		perch__say_add(to, word->name);
		unnamed &= ~word->mask;
		rest &= unnamed;
	}
	if (unnamed != UINT32_MAX && !rest)
		return true;
	if (unnamed != UINT32_MAX)
		perch__say_put(to, "|", 1);
	if (rest)
		perch__say_hex(to, rest);
	else
		perch__say_put(to, "0", 1);
	return true;
}

void perch__say_signal(struct perch__say *to, int32_t number)
{
	if (number > 32 && number <= 64) {
		perch__say_add(to, "SIGRT_");
		perch__say_number(to, (uint64_t)(number - 32), 10);
	} else if (number > 0 && number <= 32) {
		perch__say_words(to, PERCH__ARG_SIGNAL, (uint32_t)number);
	} else {
		perch__say_signed(to, number);
	}
}
