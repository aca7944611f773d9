/* SPDX-License-Identifier: MIT */
/* Formats of tracepoints that libtraceevent must not see, and the text that is made of the others.
 */
#define _GNU_SOURCE /* asprintf */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session/tracepoint/print_format.h"

#define FIELD(type_and_name, offset, size, sign) \
	"\tfield:" type_and_name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"
#define COMMON FIELD("unsigned short common_type", 0, 2, 0)
#define OTHERS                            \
	FIELD("int number", 8, 4, 1)      \
	FIELD("u8 length", 12, 1, 0)      \
	FIELD("char name[16]", 16, 16, 0) \
	FIELD("__data_loc char[] text", 32, 4, 0) FIELD("void * pointer", 40, 8, 0)
#define FIELDS COMMON OTHERS

/* Returns the text for the library, or NULL. */
static char *text_of(const char *fields, const char *print_fmt, const char *system)
{
	struct perch_tracepoint_format *format;
	struct perch_error err = { 0 };
	bool no_memory;
	char *source, *text;

	assert_true(asprintf(&source, "name: event\nID: 300\nformat:\n%s\nprint fmt: %s\n", fields,
			     print_fmt) > 0);
	if (perch_tracepoint_format_parse(&format,
					  &(struct perch_tracepoint_text){ .system = system,
									   .text = source,
									   .size = strlen(source),
									   .long_size = 8 },
					  &err))
		fail_msg("%s", err.message);
	text = perch__print_format_text(format, system, &no_memory);
	assert_false(no_memory);
	perch_tracepoint_format_free(format);
	free(source);
	return text;
}

/* Returns true if negative values of the field "number" or "small" are printed wrongly. */
static bool loses_sign(const char *print_fmt, const char *name)
{
	static const char fields[] = COMMON OTHERS FIELD("short small", 48, 2, 1)
		FIELD("int list[2]", 52, 8, 1) FIELD("s64 large", 64, 8, 1)
			FIELD("u32 plain", 72, 4, 0);
	struct perch_tracepoint_format *format;
	char *source;
	bool result;

	assert_true(asprintf(&source, "name: event\nID: 300\nformat:\n%s\nprint fmt: %s\n", fields,
			     print_fmt) > 0);
	assert_int_equal(perch_tracepoint_format_parse(
				 &format,
				 &(struct perch_tracepoint_text){ .system = "system",
								  .text = source,
								  .size = strlen(source),
								  .long_size = 8 },
				 NULL),
			 0);
	result = perch__print_format_loses_sign(format, perch_tracepoint_format_find(format, name));
	perch_tracepoint_format_free(format);
	free(source);
	return result;
}

static void finds_numbers_that_lose_their_sign(void **state)
{
	static const struct {
		const char *print_fmt, *field;
		bool loses;
	} rows[] = {
		{ "\"%d\", REC->number", "number", false },
		{ "\"a %% %s \" \"%-5d\", REC->name, REC->number", "number", false },
		{ "\"%x %d\", REC->number, REC->number", "number", false },
		{ "\"%d\", REC->length", "number", false },
		{ "\"%ld\", REC->number", "number", true },
		{ "\"%s %ld\", REC->name, REC->number", "number", true },
		{ "\"%ld\", (long)REC->number", "number", true },
		{ "\"%d\", (REC->number)", "number", true },
		{ "\"%d\", REC->number < 0", "number", true },
		{ "\"%d\", REC->number + 1, REC->number", "number", true },
		{ "\"%d %d\", REC->number, 1 - REC->number", "number", true },
		{ "\"%s\", __print_symbolic(REC->number, { -1, \"A\" }, { 2, \"B\" })", "number",
		  true },
		{ "\"%s\", REC->number ? \"a\" : \"b\"", "number", true },
		{ "\"%d\", REC->small", "small", true },
		{ "\"%d\", REC->list[1]", "list", true },
		{ "\"%lld\", REC->large - 1", "large", false },
		{ "\"%lu\", REC->plain - 1", "plain", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (loses_sign(rows[i].print_fmt, rows[i].field) != rows[i].loses)
			fail_msg("%s: %s", rows[i].print_fmt, rows[i].field);
}

static void accepts_what_the_kernel_has(void **state)
{
	static const char *const formats[] = {
		"\"number=%d\", REC->number",
		"\"%s %10.3s %%\", REC->name, __get_str(text)",
		"\"%s\", __print_flags(REC->number & ~(1 << 3), \"|\", { 1, \"A\" }, { (2UL), \"B\" })",
		"\"%s\", REC->number ? __print_symbolic(REC->length, { 0, \"a, \\\" b\" }) : \"\"",
		"\"%pS %p %pI4\", (void *)REC->pointer, REC->pointer, REC->name",
		"\"%llu.%02hhu\", (unsigned long long)REC->number / 1000000, REC->length % 60",
		"\"%s\", __print_hex(__get_dynamic_array(text), __get_dynamic_array_len(text))",
		"\"%s\", __print_array(__get_dynamic_array(text), __get_dynamic_array_len(text) / 4, 4)",
		"\"%s %s\", __print_hex_str(REC->name, 6), __print_hex(REC->name, REC->length)",
		"\"%d\", REC->name[3]",
		"\"%u:%u\", ((unsigned int) ((REC->number) >> 20)), ((unsigned int) ((REC->number) & ((1U << 20) - 1)))",
		"\"%d\", REC->number == -1 || REC->length",
		"\"%d\", 1 + REC->number * 2 - 3",
		"\"%d\", (REC->number - 50) * 2 > 1 ? -1 : 2",
		"\"%d\", REC->number & 1 ? (REC->length ? 1 : 2) : 3",
		"\"%c %#lx %-5zu %+i %08X\", REC->number, REC->number, REC->number, 1, sizeof(int)",
	};
	char *text = text_of(FIELDS, "\"%d\", REC->number", "system");

	(void)state;
	assert_string_equal(text, "name: event\nID: 300\nformat:\n" COMMON "\n" OTHERS
				  "\nprint fmt: \"%d\", REC->number\n");
	free(text);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		text = text_of(FIELDS, formats[i], "system");
		if (!text)
			fail_msg("refused: %s", formats[i]);
		free(text);
	}
}

static void refuses_what_may_do_harm(void **state)
{
	static const char *const formats[] = {
		"",
		"REC->number",
		"\"%d",
		"\"%d\", (REC->number",
		"\"%d\", REC->number)",
		/* division by 0 */
		"\"%d\", REC->number / 0",
		"\"%d\", REC->number % REC->number",
		"\"%d\", REC->number / (0)",
		"\"%d\", REC->number / 0b1",
		"\"%d\", REC->number / 5[3]",
		/* the library divides by 5 / 6, 5 % 5 and 2 * 0 */
		"\"%d\", REC->number / 5 / 6",
		"\"%d\", REC->number % 5 % 5",
		"\"%d\", (int)REC->number / 2 * 0",
		"\"%d\", (1 - REC->number / 5 / 6)",
		/* the library gives other operands to the operators than C */
		"\"%d\", REC->number - 5 - 3",
		"\"%d\", REC->number - 5 * 2 + 3",
		"\"%d\", REC->number >> 2 >> 1",
		"\"%d\", 2 * (REC->number - 3)",
		"\"%d\", 2 * ((REC->number - 3))",
		"\"%d\", 1 << (REC->number & 3)",
		"\"%d\", 2 * -REC->number",
		"\"%d\", 2 * (REC->number ? 1 : 2)",
		"\"%d\", REC->number == 1 + 2 && 0",
		"\"%d\", 1 && REC->number == 1 ? 2 : 3",
		"\"%d\", 1 ? 2 : 3 + 4",
		"\"%d\", 1 ? 2 : 0 ? 4 : 5",
		/* fields that do not exist */
		"\"%s\", __print_flags(REC->nosuch, \"\", { 1, \"A\" })",
		"\"%s\", __get_str(nosuch)",
		"\"%s\", __get_str(number)",
		"\"%d\", REC",
		"\"%d\", (REC)->number",
		/* printf with other arguments than the library passes, or too much output */
		"\"%.*s\", REC->number, REC->name",
		"\"%*d\", REC->number, 1",
		"\"%n\", REC->pointer",
		"\"%ls\", REC->name",
		"\"%lls\", REC->name",
		"\"%S\", REC->name",
		"\"%999d\", 1",
		"\"%.100000d\", 1",
		"\"%\", 1",
		"\"%*ph\", 1, REC->name",
		/* beyond the sample */
		"\"%d\", REC->name[REC->number]",
		"\"%d\", REC->name[256]",
		"\"%d\", REC->name[-1]",
		"\"%s\", __print_hex(REC->name, REC->number)",
		"\"%s\", __print_hex(REC->name, 70000)",
		"\"%s\", __print_hex(REC->name, 6 * 100000)",
		"\"%s\", __print_hex(8, 8)",
		"\"%s\", __print_array(REC->name, 4, REC->number)",
		"\"%s\", __print_array(REC->name, 4, 0)",
		"\"%s\", __print_hex(\"\", 4)",
		"\"%s\", __print_array(REC->name, __get_dynamic_array_len(text) / 0, 4)",
		/* what is no expression of C */
		"\"%d\", ? 1",
		"\"%d\", 1 ? 2",
		"\"%d\", 1 : 2",
		"\"%d\", 1 2",
		"\"%d\", 1 +",
		"\"%d\", REC->number. 1",
		"\"%d\" 1",
		"\"%d\", 1,",
		"\"%d\", function(1)",
		"\"%d\", {1}",
		"\"%s\", __print_flags(1, \"|\")",
		"\"%s\", __print_flags(1, 2, { 1, \"A\" })",
		"\"%s\", __print_symbolic({ 1, \"A\" })",
		"\"%s\", __print_symbolic(1, 2)",
		"\"%s\", __print_symbolic(1, { REC->number, \"A\" })",
		"\"%d\", (1, 2)",
		/* statements */
		"\"%s\", ({ int x; x; })",
		"\"%d\", `1`",
	};
	char deep[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char *text = text_of(FIELDS, formats[i], "system");

		if (text)
			fail_msg("not refused: %s", formats[i]);
	}
	strcpy(deep, "\"%d\", ");
	memset(deep + 6, '!', 3000);
	strcpy(deep + 3006, "1");
	assert_null(text_of(FIELDS, deep, "system"));
	memset(deep + 6, '(', 100);
	deep[106] = '1';
	memset(deep + 107, ')', 100);
	deep[207] = '\0';
	assert_null(text_of(FIELDS, deep, "system"));
	/* one operand within the other, with commas between */
	strcpy(deep, "\"%d\", 1");
	for (size_t length = strlen(deep); length < 50000; length = strlen(deep))
		strcpy(deep + length, "+__print_symbolic(1, { 1, 2 })");
	assert_null(text_of(FIELDS, deep, "system"));
}

static void refuses_fields_and_names(void **state)
{
	static const char *const fields[] = {
		FIELD("int number", 8, 4, 1),
		FIELD("unsigned short common_type", 2, 2, 0),
		COMMON FIELD("char name[100000]", 8, 100000, 0),
		COMMON FIELD("int number", 60000, 4, 1),
		COMMON FIELD("int (*number", 8, 4, 1),
		COMMON FIELD("int nu\\\"mber", 8, 4, 1),
		COMMON FIELD("char name[16][2]", 8, 32, 0),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		char *text = text_of(fields[i], "\"\"", "system");

		if (text)
			fail_msg("not refused: %s", fields[i]);
	}
	assert_null(text_of(COMMON, "\"\"", "ftrace"));
	assert_null(text_of(COMMON, "\"\"", "a b"));
	assert_null(text_of(COMMON, "\"\"", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_numbers_that_lose_their_sign),
		cmocka_unit_test(accepts_what_the_kernel_has),
		cmocka_unit_test(refuses_what_may_do_harm),
		cmocka_unit_test(refuses_fields_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
