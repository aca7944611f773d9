/* SPDX-License-Identifier: MIT */
/*
 * Arguments of USDT probes. A note has a text such as "-4@%edi 8@16(%rbp) 4@$5": for each argument
 * its bytes (negative: signed), an "@", and an operand in the syntax of the assembler. They become
 * arguments in the language of tracefs: "arg1=%di:s32 arg2=+16(%bp):u64 arg3=\5:u32".
 *
 *	x86	%REGISTER  $NUMBER  OFFSET(BASE)  OFFSET(BASE,INDEX,SCALE)  SYMBOL(%rip)
 *	arm64	REGISTER  NUMBER  [BASE]  [BASE, OFFSET]  [BASE, INDEX, EXTENSION SHIFT]
 *
 * The kernel adds no two registers, so it cannot read an operand with an index. A symbol is memory
 * at an offset from the probe, if it is a variable of the file.
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nr.h"
#include "elf_lookup.h"

enum {
	MAX_ARGUMENTS = 64, /* tracefs takes 128 */
	MAX_OPERAND = 256,  /* bytes */
	MAX_FETCH = 64,	    /* bytes of an argument, which tracefs limits too */
	MAX_TEXT = 1 << 13,
};

/* A general register of x86: its name in tracefs, and the names of its parts. */
static const char *const x86_registers[][5] = {
	/* tracefs, then of 8, 4, 2 and 1 bytes */
	{ "ax", "rax", "eax", "ax", "al" },	  { "bx", "rbx", "ebx", "bx", "bl" },
	{ "cx", "rcx", "ecx", "cx", "cl" },	  { "dx", "rdx", "edx", "dx", "dl" },
	{ "si", "rsi", "esi", "si", "sil" },	  { "di", "rdi", "edi", "di", "dil" },
	{ "bp", "rbp", "ebp", "bp", "bpl" },	  { "sp", "rsp", "esp", "sp", "spl" },
	{ "r8", "r8", "r8d", "r8w", "r8b" },	  { "r9", "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10", "r10d", "r10w", "r10b" }, { "r11", "r11", "r11d", "r11w", "r11b" },
	{ "r12", "r12", "r12d", "r12w", "r12b" }, { "r13", "r13", "r13d", "r13w", "r13b" },
	{ "r14", "r14", "r14d", "r14w", "r14b" }, { "r15", "r15", "r15d", "r15w", "r15b" },
	{ "ip", "rip", "eip", "ip", "ip" },
};
/* The second bytes of the first four. */
static const char *const x86_high[] = { "ah", "bh", "ch", "dh" };

/* What tracefs has for an operand. reason: why it has nothing. */
struct fetch {
	char text[MAX_FETCH]; /* without type */
	bool high;	      /* the second byte of the register */
	const char *reason;
};

/* Where the probe is. */
struct location {
	const struct perch__elf *elf;
	struct perch__usdt_code code;
};

static const char an_index[] = "the kernel adds no two registers",
		  a_symbol[] = "its address is a symbol",
		  floating[] = "it is a floating-point number", unknown[] = "its form is unknown";

static bool is_name(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

/* Returns the name of a register in tracefs, or NULL. text: without '%'. */
static const char *x86_register(const char *text, size_t length, bool *high)
{
	*high = false;
	for (size_t i = 0; i < PERCH__NR(x86_high); i++)
		if (is_name(x86_high[i], text, length)) {
			*high = true;
			return x86_registers[i][0];
		}
	for (size_t i = 0; i < PERCH__NR(x86_registers); i++)
		for (size_t part = 1; part < PERCH__NR(x86_registers[i]); part++)
			if (is_name(x86_registers[i][part], text, length))
				return x86_registers[i][0];
	return NULL;
}

/* Reads a sum such as "-8", "0x10" or "8+16". Returns false if another text is in it. */
static bool read_sum(const char *text, size_t length, int64_t *sum)
{
	const char *end = text + length;
	char *after;

	*sum = 0;
	while (text < end) {
		int64_t number;

		if (!isdigit((unsigned char)text[*text == '-' || *text == '+']))
			return false;
		errno = 0;
		number = strtoll(text, &after, 0);
		if (errno || after > end || __builtin_add_overflow(*sum, number, sum))
			return false;
		text = after;
	}
	return true;
}

static void set_memory(struct fetch *fetch, const char *base, int64_t offset)
{
	if (offset != (int32_t)offset)
		fetch->reason = unknown;
	else
		snprintf(fetch->text, sizeof(fetch->text), "%+" PRId64 "(%%%s)", offset, base);
}

static void set_immediate(struct fetch *fetch, const char *text, size_t length)
{
	int64_t number;

	if (length && read_sum(text, length, &number))
		snprintf(fetch->text, sizeof(fetch->text), "\\%" PRId64, number);
	else
		fetch->reason = a_symbol;
}

/* SYMBOL+OFFSET(%rip). The kernel adds the number after '@' to where the beginning of the file
 * would be mapped, by the address of the probe. It takes a sign after the '+'. */
static void set_variable(struct fetch *fetch, const struct location *location, const char *text,
			 size_t length)
{
	size_t name = 0;
	uint64_t address;
	int64_t sum = 0, at;

	while (name < length && text[name] != '+' && text[name] != '-')
		name++;
	if (!name || !read_sum(text + name, length - name, &sum) ||
	    !perch__elf_find_variable(location->elf, text, name, &address)) {
		fetch->reason = a_symbol;
		return;
	}
	at = (int64_t)(address + (uint64_t)sum - location->code.address + location->code.offset);
	snprintf(fetch->text, sizeof(fetch->text), "@+%s%#" PRIx64, at < 0 ? "-" : "",
		 at < 0 ? 0 - (uint64_t)at : (uint64_t)at);
}

/* OFFSET(BASE,INDEX,SCALE), with at least one of its parts. */
static void read_x86_memory(struct fetch *fetch, const struct location *location, const char *text,
			    size_t length)
{
	const char *open = memchr(text, '(', length), *end = text + length - 1, *base;
	int64_t offset;

	if (!open) {
		fetch->reason = isdigit((unsigned char)*text) ? unknown : a_symbol;
		return;
	}
	if (*end != ')') {
		fetch->reason = unknown;
		return;
	}
	for (base = open + 1; *base == ' ';)
		base++;
	if (memchr(base, ',', end - base)) {
		fetch->reason = an_index;
	} else if (!read_sum(text, open - text, &offset)) {
		if (is_name("%rip", base, (size_t)(end - base)))
			set_variable(fetch, location, text, (size_t)(open - text));
		else
			fetch->reason = a_symbol;
	} else {
		bool high;
		const char *name = *base == '%' ? x86_register(base + 1, end - base - 1, &high)
						: NULL;

		if (name && !high)
			set_memory(fetch, name, offset);
		else
			fetch->reason = unknown;
	}
}

static void read_x86(struct fetch *fetch, const struct location *location, const char *text,
		     size_t length)
{
	const char *name;

	if (*text == '$') {
		set_immediate(fetch, text + 1, length - 1);
	} else if (*text == '%') {
		name = x86_register(text + 1, length - 1, &fetch->high);
		if (name)
			snprintf(fetch->text, sizeof(fetch->text), "%%%s", name);
		else
			fetch->reason = text[1] == 'x' || text[1] == 'y' || text[1] == 's'
						? floating
						: unknown;
	} else {
		read_x86_memory(fetch, location, text, length);
	}
}

/* x0 to x30, w0 to w30, sp. Writes its name in tracefs. */
static bool arm_register(const char *text, size_t length, char name[8])
{
	unsigned number = 0;

	if (is_name("sp", text, length) || is_name("wsp", text, length)) {
		strcpy(name, "sp");
		return true;
	}
	if (length < 2 || length > 3 || (*text != 'x' && *text != 'w'))
		return false;
	for (size_t i = 1; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		number = 10 * number + (unsigned)(text[i] - '0');
	}
	snprintf(name, 8, "x%u", number);
	return number <= 30;
}

/* [BASE], [BASE, OFFSET], [BASE, INDEX...] */
static void read_arm_memory(struct fetch *fetch, const char *text, size_t length)
{
	const char *end = text + length - 1, *comma = memchr(text, ',', length), *rest;
	const char *base = text + 1;
	char name[8], index[8];
	int64_t offset = 0;

	if (*end != ']') {
		fetch->reason = unknown;
		return;
	}
	rest = comma ? comma + 1 : end;
	while (*rest == ' ' || *rest == '#')
		rest++;
	if (!arm_register(base, (comma ? comma : end) - base, name))
		fetch->reason = unknown;
	else if (arm_register(rest, strcspn(rest, ",] "), index) || *rest == 'x' || *rest == 'w')
		fetch->reason = an_index;
	else if (!read_sum(rest, end - rest, &offset))
		fetch->reason = a_symbol;
	else
		set_memory(fetch, name, offset);
}

static void read_arm(struct fetch *fetch, const char *text, size_t length)
{
	char name[8];

	if (*text == '[')
		read_arm_memory(fetch, text, length);
	else if (arm_register(text, length, name))
		snprintf(fetch->text, sizeof(fetch->text), "%%%s", name);
	else if (isdigit((unsigned char)*text) || *text == '-' || *text == '#')
		set_immediate(fetch, text + (*text == '#'), length - (*text == '#'));
	else if (strchr("vqdsh", *text) && length > 1 && isdigit((unsigned char)text[1]))
		fetch->reason = floating;
	else
		fetch->reason = a_symbol;
}

/* The length of an argument: blanks inside of brackets do not end it. */
static size_t argument_length(const char *text)
{
	size_t length = 0, depth = 0;

	for (; text[length] && (depth || text[length] != ' '); length++) {
		depth += text[length] == '(' || text[length] == '[';
		depth -= depth && (text[length] == ')' || text[length] == ']');
	}
	return length;
}

/* Reads the size before the "@". Without one the argument is a word. Returns the operand. */
static const char *read_size(const char *text, size_t length, size_t word, int *size,
			     bool *is_float)
{
	const char *at = memchr(text, '@', length);
	char *after;
	long number;

	*size = (int)word;
	*is_float = false;
	if (!at)
		return text;
	number = strtol(text, &after, 10);
	*is_float = *after == 'f';
	after += *is_float;
	*size = after == at && (labs(number) == 1 || labs(number) == 2 || labs(number) == 4 ||
				labs(number) == 8)
			? (int)number
			: 0;
	return at + 1;
}

static void read_argument(struct fetch *fetch, const struct location *location, const char *text,
			  size_t length)
{
	const struct perch__elf *elf = location->elf;
	const char *operand;
	bool is_float;
	size_t used;
	int size;

	*fetch = (struct fetch){ .reason = NULL };
	operand = read_size(text, length, elf->wide ? 8 : 4, &size, &is_float);
	length -= operand - text;
	if (!size || !length || length >= MAX_OPERAND) {
		fetch->reason = unknown;
		return;
	}
	if (elf->machine == EM_AARCH64)
		read_arm(fetch, operand, length);
	else if (elf->machine == EM_X86_64 || elf->machine == EM_386)
		read_x86(fetch, location, operand, length);
	else
		fetch->reason = "arguments of this architecture are not known";
	if (!fetch->reason && is_float)
		fetch->reason = floating;
	used = strlen(fetch->text);
	if (fetch->high && size < 0)
		fetch->reason = "the kernel reads this part of the register without a sign";
	else if (fetch->high)
		snprintf(fetch->text + used, sizeof(fetch->text) - used, ":b8@8/16");
	else
		snprintf(fetch->text + used, sizeof(fetch->text) - used, ":%c%d",
			 size < 0 ? 's' : 'u', 8 * abs(size));
}

/* Appends to a text of MAX_TEXT bytes. */
static void append_argument(char *text, const char *separator, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append_argument(char *text, const char *separator, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	used += snprintf(text + used, MAX_TEXT - used, "%s", used ? separator : "");
	if (used >= MAX_TEXT)
		return;
	va_start(arguments, format);
	vsnprintf(text + used, MAX_TEXT - used, format, arguments);
	va_end(arguments);
}

/* Takes the text unless it is empty. Returns NULL without an error for an empty one. */
static char *copy_of(const char *text, int *rc)
{
	char *copy = *text ? strdup(text) : NULL;

	if (*text && !copy)
		*rc = -ENOMEM;
	return copy;
}

int perch__usdt_arguments(const struct perch__elf *elf, struct perch__usdt_code code,
			  const char *text, char **arguments, char **unread)
{
	const struct location location = { elf, code };
	char *can = calloc(2, MAX_TEXT), *cannot = can ? can + MAX_TEXT : NULL;
	unsigned nr = 0;
	int rc = 0;

	*arguments = *unread = NULL;
	if (!can)
		return -ENOMEM;
	for (text += strspn(text, " "); *text && nr < MAX_ARGUMENTS; text += strspn(text, " ")) {
		const size_t length = argument_length(text);
		struct fetch fetch;

		nr++;
		read_argument(&fetch, &location, text, length);
		if (fetch.reason)
			append_argument(cannot, "; ", "arg%u (%.*s): %s", nr,
					(int)(length < 80 ? length : 80), text, fetch.reason);
		else
			append_argument(can, " ", "arg%u=%s", nr, fetch.text);
		text += length;
	}
	*arguments = copy_of(can, &rc);
	*unread = copy_of(cannot, &rc);
	free(can);
	return rc;
}
