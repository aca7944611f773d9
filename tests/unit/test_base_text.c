/* SPDX-License-Identifier: MIT */
/* Decoding of UTF-8, and which characters may be printed. */
#include <string.h>
#include "base/text.h"
#include "test_base.h"

static void check(const char *text, uint32_t code, uint8_t size, bool printable)
{
	struct perch__character character = perch__next_character(text, strlen(text));

	assert_true(character.valid);
	assert_int_equal(character.code, code);
	assert_int_equal(character.size, size);
	assert_int_equal(character.printable, printable);
}

static void decodes_characters(void **state)
{
	(void)state;
	check("a", 'a', 1, true);
	check(" ", ' ', 1, true);
	check("\xc2\xa0", 0xa0, 2, true);
	check("\xdf\xbf", 0x7ff, 2, true);
	check("\xe0\xa0\x80", 0x800, 3, true);
	check("\xe2\x82\xac", 0x20ac, 3, true);
	check("\xed\x9f\xbf", 0xd7ff, 3, true);
	check("\xee\x80\x80", 0xe000, 3, true);
	check("\xf0\x90\x80\x80", 0x10000, 4, true);
	check("\xf4\x8f\xbf\xbf", 0x10ffff, 4, true);
}

static void marks_characters_that_are_not_printable(void **state)
{
	(void)state;
	check("\x01", 1, 1, false);
	check("\x1b[m", 0x1b, 1, false);
	check("\x7f", 0x7f, 1, false);
	check("\xc2\x80", 0x80, 2, false);
	check("\xc2\x9f", 0x9f, 2, false);
	check("\xe2\x80\x8d", 0x200d, 3, true);
	check("\xe2\x80\x8e", 0x200e, 3, false);
	check("\xe2\x80\x8f", 0x200f, 3, false);
	check("\xe2\x80\xa7", 0x2027, 3, true);
	check("\xe2\x80\xa8", 0x2028, 3, false);
	check("\xe2\x80\xa9", 0x2029, 3, false);
	check("\xe2\x80\xae", 0x202e, 3, false);
	check("\xe2\x80\xaf", 0x202f, 3, true);
	check("\xe2\x81\xa5", 0x2065, 3, true);
	check("\xe2\x81\xa6", 0x2066, 3, false);
	check("\xe2\x81\xa9", 0x2069, 3, false);
	check("\xe2\x81\xaa", 0x206a, 3, true);
}

static void check_invalid(const char *text, size_t length)
{
	struct perch__character character = perch__next_character(text, length);

	assert_false(character.valid);
	assert_false(character.printable);
	assert_int_equal(character.size, 1);
}

static void refuses_invalid_utf8(void **state)
{
	(void)state;
	check_invalid("\x80", 1);
	check_invalid("\xbf\x80", 2);
	check_invalid("\xc0\x80", 2); /* overlong forms */
	check_invalid("\xc1\xbf", 2);
	check_invalid("\xe0\x9f\xbf", 3);
	check_invalid("\xf0\x8f\xbf\xbf", 4);
	check_invalid("\xed\xa0\x80", 3); /* surrogates */
	check_invalid("\xed\xbf\xbf", 3);
	check_invalid("\xf4\x90\x80\x80", 4); /* beyond U+10FFFF */
	check_invalid("\xf5\x80\x80\x80", 4);
	check_invalid("\xff", 1);
	check_invalid("\xe2(\xa1", 3);
	check_invalid("\xf0\x9f\x90", 3); /* truncated */
	check_invalid("\xe2\x82\xac", 2);
	check_invalid("\xc3", 1);
}

int test_base_text(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_characters),
		cmocka_unit_test(marks_characters_that_are_not_printable),
		cmocka_unit_test(refuses_invalid_utf8),
	};

	return cmocka_run_group_tests_name("base/text.h", tests, NULL, NULL);
}
