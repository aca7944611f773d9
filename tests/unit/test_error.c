/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/error.h>
#include <perch/version.h>

static void sets_and_clears_all_members(void **state)
{
	struct perch_error err;

	(void)state;
	memset(&err, 'x', sizeof(err));
	assert_int_equal(perch_error_set(&err, ESRCH, PERCH_ERROR_NO_PROCESS, "pid %d", 7), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_int_equal(err.errnum, ESRCH);
	assert_int_equal(err.column, -1);
	assert_string_equal(err.message, "pid 7");
	assert_string_equal(err.field, "");
	assert_string_equal(err.since, "");
	assert_string_equal(err.remedy, "");
	/* any call can fail for lack of a descriptor */
	perch_error_set(&err, EMFILE, PERCH_ERROR_FILE, "no file");
	assert_non_null(strstr(err.remedy, "ulimit -n"));
}

static void accepts_null(void **state)
{
	(void)state;
	assert_int_equal(perch_error_set(NULL, EINVAL, PERCH_ERROR_USAGE, "%s", "x"), -EINVAL);
	perch_error_field(NULL, "pid", "6.13");
	perch_error_remedy(NULL, "do %s", "this");
	perch_error_prefix(NULL, "a: ");
}

static void accepts_its_own_texts_as_arguments(void **state)
{
	struct perch_error err;

	(void)state;
	perch_error_set(&err, EINVAL, PERCH_ERROR_FORMAT, "inner");
	perch_error_set(&err, EINVAL, PERCH_ERROR_FORMAT, "outer: %s", err.message);
	assert_string_equal(err.message, "outer: inner");
	perch_error_prefix(&err, "%s/", err.message);
	assert_string_equal(err.message, "outer: inner/outer: inner");
}

static void truncates_long_texts(void **state)
{
	struct perch_error err;
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	perch_error_set(&err, EINVAL, PERCH_ERROR_FORMAT, "%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	perch_error_remedy(&err, "%s", text);
	assert_int_equal(strlen(err.remedy), sizeof(err.remedy) - 1);
	perch_error_prefix(&err, "b%s", text);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	perch_error_field(&err, text, text);
	assert_int_equal(strlen(err.field), sizeof(err.field) - 1);
	assert_int_equal(strlen(err.since), sizeof(err.since) - 1);
}

static void assert_clean(const char *src, const char *expected)
{
	char dst[64];

	assert_int_equal(perch_clean_text(src, dst, sizeof(dst)), strlen(expected));
	assert_string_equal(dst, expected);
}

static void replaces_control_characters(void **state)
{
	(void)state;
	assert_clean("plain text", "plain text");
	assert_clean("a\033[31mb\nc\td\x7f", "a?[31mb?c?d?");
	assert_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f",
		     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f");
	assert_clean("\xc2\x9b"
		     "31m",
		     "?31m"); /* the escape character of C1 */
	assert_clean("\xc2\xa0", "\xc2\xa0");
	assert_clean("\xff\xc0\x80x", "???x");	  /* not UTF-8; an overlong NUL */
	assert_clean("\xe0\x80\x80", "???");	  /* overlong */
	assert_clean("\xed\xa0\x80", "???");	  /* a surrogate */
	assert_clean("\xf4\x90\x80\x80", "????"); /* beyond U+10FFFF */
	/* these break or reorder a line */
	assert_clean("a\xe2\x80\xa8"
		     "b\xe2\x80\xae"
		     "c\xe2\x81\xa6",
		     "a?b?c?");
	assert_clean("end\xe2\x82", "end??"); /* truncated */
	assert_clean("", "");
}

/* Eight bytes are looked at together: each byte counts at each of their positions, and after them.
 */
static void finds_each_byte_at_each_position(void **state)
{
	(void)state;
	for (unsigned byte = 1; byte < 256; byte++)
		for (size_t position = 0; position < 19; position++) {
			char text[] = " ~ plain text ~ ~~ ", expected[sizeof(text)];

			memcpy(expected, text, sizeof(text));
			text[position] = (char)byte;
			expected[position] = byte < ' ' || byte > '~' ? '?' : (char)byte;
			assert_clean(text, expected);
		}
}

static void truncates_only_whole_characters(void **state)
{
	char dst[4];

	(void)state;
	assert_int_equal(perch_clean_text("ab\xc3\xa9", dst, sizeof(dst)), 2);
	assert_string_equal(dst, "ab");
	assert_int_equal(perch_clean_text("ab", dst, 1), 0);
	assert_string_equal(dst, "");
	dst[0] = 'x';
	assert_int_equal(perch_clean_text("ab", dst, 0), 0);
	assert_int_equal(dst[0], 'x');
}

static void prints_sentences(void **state)
{
	struct perch_error err;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	(void)state;
	perch_error_set(&err, EINVAL, PERCH_ERROR_USAGE, "it is so");
	perch_error_print(stream, &err);
	perch_error_remedy(&err, "change it");
	perch_error_print(stream, &err);
	perch_error_remedy(&err, "did you mean x?");
	perch_error_print(stream, &err);
	fclose(stream);
	assert_string_equal(text, "it is so.\nit is so. Change it.\nit is so. Did you mean x?\n");
	free(text);
}

static void every_kind_has_a_slug(void **state)
{
	(void)state;
	for (int i = 0; i < PERCH_ERROR_MAX; i++) {
		assert_true(perch_error_kind_slug(i)[0]);
		assert_true(perch_error_kind_meaning(i)[0]);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(perch_error_kind_slug(i), perch_error_kind_slug(k));
	}
	assert_string_equal(perch_error_kind_slug(PERCH_ERROR_PARANOID), "paranoid");
	assert_string_equal(perch_error_kind_slug(PERCH_ERROR_MAX), "unknown");
	assert_non_null(perch_error_kind_meaning((enum perch_error_kind) - 1));
}

static void library_and_headers_have_one_version(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(perch_version(), PERCH_VERSION_STRING);
	snprintf(text, sizeof(text), "%d.%d.%d", PERCH_VERSION_MAJOR, PERCH_VERSION_MINOR,
		 PERCH_VERSION_PATCH);
	assert_string_equal(text, PERCH_VERSION_STRING);
}

static void compares_versions(void **state)
{
	(void)state;
	assert_true(PERCH_VERSION_AT_LEAST(PERCH_VERSION_MAJOR, PERCH_VERSION_MINOR,
					   PERCH_VERSION_PATCH));
	assert_false(PERCH_VERSION_AT_LEAST(PERCH_VERSION_MAJOR, PERCH_VERSION_MINOR,
					    PERCH_VERSION_PATCH + 1));
	assert_false(PERCH_VERSION_AT_LEAST(PERCH_VERSION_MAJOR, PERCH_VERSION_MINOR + 1, 0));
	assert_false(PERCH_VERSION_AT_LEAST(PERCH_VERSION_MAJOR + 1, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_and_clears_all_members),
		cmocka_unit_test(accepts_null),
		cmocka_unit_test(accepts_its_own_texts_as_arguments),
		cmocka_unit_test(truncates_long_texts),
		cmocka_unit_test(replaces_control_characters),
		cmocka_unit_test(finds_each_byte_at_each_position),
		cmocka_unit_test(truncates_only_whole_characters),
		cmocka_unit_test(prints_sentences),
		cmocka_unit_test(every_kind_has_a_slug),
		cmocka_unit_test(library_and_headers_have_one_version),
		cmocka_unit_test(compares_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
