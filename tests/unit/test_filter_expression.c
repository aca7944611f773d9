/* SPDX-License-Identifier: MIT */
/* Expressions over the fields of tracepoints: their syntax, values, and events with other fields.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session/filter/filter_expression.h"

#define FIELD(type_and_name, offset, size, sign) \
	"\tfield:" type_and_name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"

static const char *const texts[] = {
	"name: first\nID: 1\nformat:\n" FIELD("int pid", 0, 4, 1) FIELD("u8 small", 4, 1, 0)
		FIELD("s8 tiny", 5, 1, 1) FIELD("char name[8]", 8, 8, 0)
			FIELD("unsigned long address", 16, 8, 0) FIELD("long large", 24, 8, 1)
				FIELD("__data_loc char[] text", 32, 4, 0)
					FIELD("u32 list[2]", 16, 8, 0) "\nprint fmt: \"\"\n",
	"name: second\nID: 2\nformat:\n" FIELD("int other", 0, 4, 1) FIELD("int cpu", 4, 4, 1)
		FIELD("int name", 8, 4, 1) "\nprint fmt: \"\"\n",
};

#define FIRST  0
#define SECOND 1
#define NONE   2 /* an event without a format */

struct fixture {
	struct perch_tracepoint_format *formats[3];
	struct perch_parse_info parse_info;
	struct perch_record record;
	_Alignas(8) uint8_t raw[48];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const int32_t pid = -7;
	const uint64_t address = 0xffffffff81000000;
	const int64_t large = INT64_MIN;
	const uint32_t loc = 8 << 16 | 40;

	assert_non_null(fixture);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(perch_tracepoint_format_parse(
					 &fixture->formats[i],
					 &(struct perch_tracepoint_text){ .system = "test",
									  .text = texts[i],
									  .size = strlen(texts[i]),
									  .long_size = 8 },
					 NULL),
				 0);
	memcpy(fixture->raw, &pid, 4);
	fixture->raw[4] = 200;
	fixture->raw[5] = (uint8_t)-3;
	memcpy(fixture->raw + 8, "swapper", 8);
	memcpy(fixture->raw + 16, &address, 8);
	memcpy(fixture->raw + 24, &large, 8);
	memcpy(fixture->raw + 32, &loc, 4);
	memcpy(fixture->raw + 40, "a]b\\c*", 7);
	fixture->record.type = PERCH_RECORD_SAMPLE;
	fixture->record.parse_info = &fixture->parse_info;
	fixture->record.sample_id.has = PERCH_SAMPLE_CPU;
	fixture->record.sample_id.cpu = 3;
	fixture->record.sample.raw.data = fixture->raw;
	fixture->record.sample.raw.size = sizeof(fixture->raw);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++)
		perch_tracepoint_format_free(fixture->formats[i]);
	free(fixture);
	return 0;
}

static int parse(struct filter_expression **expression, const struct fixture *fixture,
		 const char *text, struct perch_error *err)
{
	return perch__filter_expression_new(
		expression, text, (const struct perch_tracepoint_format *const *)fixture->formats,
		3, err);
}

static bool matches(const struct fixture *fixture, const char *text, size_t event)
{
	struct filter_expression *expression;
	struct perch_error err;
	bool result;

	if (parse(&expression, fixture, text, &err))
		fail_msg("%s: %s", text, err.message);
	result = perch__filter_expression_match(expression, event, &fixture->record, "bash");
	perch__filter_expression_free(expression);
	return result;
}

static void check(const struct fixture *fixture, const char *text, size_t event, bool expected)
{
	if (matches(fixture, text, event) != expected)
		fail_msg("%s: event %zu is not %d", text, event, expected);
}

static void compares_numbers(void **state)
{
	static const char *const right[] = {
		"pid == -7",
		"pid==0xfffffff9",
		"pid != 0",
		"pid < 0",
		"pid <= -7",
		"pid > -8",
		"pid >= -7",
		"pid & 1",
		"pid & 0x80000000",
		"small == 200",
		"small > 199",
		"small & 0x80",
		"tiny == -3",
		"tiny < 127",
		"tiny == 0xfd",
		"address > 1",
		"address & 0x81000000",
		"large < 0",
		"large == -9223372036854775808",
		"large == 0x8000000000000000",
		"address == 0xffffffff81000000",
		"small == 0310",
		" pid\t==\n-7 ",
	};
	static const char *const wrong[] = { "pid == 0",    "pid > 0",	 "pid & 6",
					     "small < 200", "tiny > -3", "address < 1",
					     "large >= 0",  "pid != -7" };

	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		check(*state, right[i], FIRST, true);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		check(*state, wrong[i], FIRST, false);
}

static void compares_texts(void **state)
{
	static const char *const right[] = {
		"name == \"swapper\"", "name == 'swapper'",    "name != 'swap'",
		"name ~ \"swap*\"",    "name ~ '*per'",	       "name ~ '*app*'",
		"name ~ 's?app*r'",    "name ~ '[r-t]wapper'", "name ~ '[!a-r]wapper'",
		"name ~ '*'",	       "name ~ '!*x*'",	       "name ~ 's*a*p*r'",
		"name ~ 'swapper*'",   "name ~ '**per**'",     "text == 'a]b\\c*'",
		"text ~ 'a[]]b*'",     "text ~ 'a]b\\\\c\\*'", "text ~ '*c?'",
		"comm == 'bash'",      "COMM ~ 'b*'",
	};
	static const char *const wrong[] = {
		"name == 'swappers'", "name == ''",	"name ~ 'swap'",   "name ~ '?'",
		"name ~ '*x*'",	      "name ~ '[!s]*'", "name ~ '!swap*'", "name ~ ''",
		"text ~ '*c\\?'",     "comm != 'bash'", "name ~ '*[per'",  "name ~ 'swapper?'",
	};

	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		check(*state, right[i], FIRST, true);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		check(*state, wrong[i], FIRST, false);
}

static void combines_comparisons(void **state)
{
	check(*state, "pid == 0 || small == 200", FIRST, true);
	check(*state, "pid == -7 && small == 0", FIRST, false);
	/* && before || */
	check(*state, "pid == -7 || small == 200 && tiny == 0", FIRST, true);
	check(*state, "(pid == -7 || small == 200) && tiny == 0", FIRST, false);
	check(*state, "!(pid == 0) && !!(small == 200)", FIRST, true);
	check(*state, "!pid == 0 && ((tiny<0))", FIRST, true);
}

/* A comparison with a field that the event does not have is neither true nor false. */
static void leaves_out_events_without_the_field(void **state)
{
	check(*state, "pid == -7", SECOND, false);
	check(*state, "!(pid == -7)", SECOND, false);
	check(*state, "pid == -7 || other == -7", FIRST, true);
	check(*state, "pid == -7 || other == -7", SECOND, true);
	check(*state, "!(pid == 1 && other == 0)", SECOND, true);
	check(*state, "!(pid == 1 && other == -7)", SECOND, false);
	check(*state, "pid != 1 || cpu == 3", NONE, false);
	/* a field of the tracepoint is before the CPU of all samples */
	check(*state, "cpu == 3", FIRST, true);
	check(*state, "cpu == 3", SECOND, false);
	check(*state, "CPU == 3", SECOND, true);
	/* the name is a number in one of them */
	check(*state, "name == 'swapper'", SECOND, false);
	check(*state, "name > 0", SECOND, true);
	check(*state, "name > 0", FIRST, false);
}

static void leaves_out_truncated_samples(void **state)
{
	struct fixture *fixture = *state;

	fixture->record.sample.raw.size = 20;
	check(fixture, "pid == -7", FIRST, true);
	check(fixture, "address != 0", FIRST, false);
	check(fixture, "!(address != 0)", FIRST, false);
	check(fixture, "text != 'x'", FIRST, false);
	fixture->record.sample.raw.size = sizeof(fixture->raw);
}

static void refuses_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *message;
		int column;
	} rows[] = {
		{ "", "the name of a field at the end", 0 },
		{ "pid", "an operator", 3 },
		{ "pid =", "an operator", 4 },
		{ "pid == ", "a number, or text in quotes", 7 },
		{ "pid == x", "a number, or text in quotes at character 8", 7 },
		{ "pid == 1x", "a number of at most 64 bits", 7 },
		{ "pid == 99999999999999999999", "a number of at most 64 bits", 7 },
		{ "pid == -", "a number of at most 64 bits", 7 },
		{ "pid == 1 & pid == 2", "&& or ||", 9 },
		{ "pid == 1 pid == 2", "&& or ||", 9 },
		{ "pid == 1 &&", "the name of a field", 11 },
		{ "(pid == 1", "&&, || or )", 9 },
		{ "pid == 1)", "&& or ||", 8 },
		{ "name == 'a", "the quote that ends the text", 10 },
		{ "name < 'a'", "text is compared by", 7 },
		{ "pid ~ 3", "a pattern in quotes", 6 },
		{ "name.ustring == 'a'", ".ustring", 4 },
		{ "name ~ 3", "a pattern in quotes", 7 },
		{ "pid == 'a'", "is a number", 0 },
		{ "text == 3", "is text", 0 },
		{ "list == 3", "neither a number nor text", 0 },
		{ "pid == 1 && small == 256", "small cannot have this value", 12 },
		{ "small == -1", "cannot have this value", 0 },
		{ "tiny == -129", "cannot have this value", 0 },
		{ "tiny > 128", "cannot have this value", 0 },
		{ "pid == 0x100000000", "cannot have this value", 0 },
		{ "pdi == 1", "no tracepoint of the recording has a field pdi", 0 },
	};
	struct filter_expression *expression;
	struct perch_error err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(&expression, *state, rows[i].text, &err), -EINVAL);
		assert_null(expression);
		if (!strstr(err.message, rows[i].message) || err.column != rows[i].column)
			fail_msg("%s: '%s' at %d", rows[i].text, err.message, err.column);
	}
	assert_string_equal(err.remedy, "Did you mean pid?");
	assert_int_equal(parse(&expression, *state, "nothing == 1", &err), -EINVAL);
	assert_non_null(strstr(err.remedy, "Fields of first are pid, small, tiny, name"));
	assert_int_equal(parse(&expression, *state, "nothing == 1", NULL), -EINVAL);
}

static char *repeat(const char *part, size_t nr, const char *end)
{
	char *text = malloc(nr * strlen(part) + strlen(end) + 1);

	assert_non_null(text);
	*text = '\0';
	for (size_t i = 0; i < nr; i++)
		memcpy(text + i * strlen(part), part, strlen(part) + 1);
	strcat(text, end);
	return text;
}

static void has_limits(void **state)
{
	static const struct {
		const char *part;
		size_t nr;
		const char *end;
		bool good;
	} rows[] = {
		{ "!", 63, "pid == 1", true },
		{ "!", 64, "pid == 1", false },
		{ "(", 100000, "pid == 1", false },
		{ "pid == 1 && ", 255, "pid == 1", true },
		{ "pid == 1 || ", 256, "pid == 1", false },
		{ "x", 127, " == 1", false },
		{ "x", 70000, " == 1", false },
	};
	struct filter_expression *expression;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = repeat(rows[i].part, rows[i].nr, rows[i].end);

		assert_int_equal(parse(&expression, *state, text, NULL),
				 rows[i].good ? 0 : -EINVAL);
		perch__filter_expression_free(expression);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_numbers),
		cmocka_unit_test(compares_texts),
		cmocka_unit_test(combines_comparisons),
		cmocka_unit_test(leaves_out_events_without_the_field),
		cmocka_unit_test(leaves_out_truncated_samples),
		cmocka_unit_test(refuses_what_is_wrong),
		cmocka_unit_test(has_limits),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
