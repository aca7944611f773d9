/* SPDX-License-Identifier: MIT */
/* Formats of tracepoints in a file: TRACING_DATA of both byte orders, whole and cut at every byte.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/file.h>
#include "fields_fixture.h"

#define ONE                                   \
	"name: one\nID: 300\nformat:\n"       \
	"\tfield:unsigned short common_type;" \
	"\toffset:0;\tsize:2;\tsigned:0;\n"   \
	"\tfield:unsigned long args[];"       \
	"\toffset:8;\tsize:0;\tsigned:0;\n\n" \
	"print fmt: \"\"\n"
#define TWO	"name: two\nID: 200\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"
#define DAMAGED "name: damaged\nID: 250\nformat:\n\tfield:int x;\toffset:8;\n"
#define NO_ID	"name: none\nformat:\n\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"

static const uint64_t ids[] = { 1 };
static const struct perch_file_event event = {
	.attr = { .type = PERCH_TYPE_TRACEPOINT, .config = 300, .sample_type = PERCH_SAMPLE_RAW },
	.name = "renamed",
	.ids = ids,
	.nr_ids = 1,
};

static void add_file(struct bytes *bytes, const char *text)
{
	add_64(bytes, strlen(text));
	add(bytes, text, strlen(text));
}

static void build(struct bytes *bytes, bool swap, uint8_t long_size)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	*bytes = (struct bytes){ .swap = swap };
	add(bytes, "\x17\x08\x44tracing0.6", 14);
	add(bytes, &(uint8_t){ here_big != swap }, 1);
	add(bytes, &long_size, 1);
	add_32(bytes, 4096);
	add(bytes, "header_page", 12);
	add_file(bytes, "page");
	add(bytes, "header_event", 13);
	add_file(bytes, "event");
	add_32(bytes, 1);
	add_file(bytes, NO_ID);
	add_32(bytes, 2);
	add(bytes, "system", 7);
	add_32(bytes, 2);
	add_file(bytes, ONE);
	add_file(bytes, DAMAGED);
	add(bytes, "other", 6);
	add_32(bytes, 1);
	add_file(bytes, TWO);
}

static struct perch_reader *make_file(const char *path, const void *data, size_t size)
{
	struct perch_writer *writer;
	struct perch_reader *reader;
	struct perch_error err;

	assert_int_equal(perch_writer_open(&writer, path, &event, 1, &err), 0);
	if (data)
		assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_TRACING_DATA, data,
							  size, &err),
				 0);
	assert_int_equal(perch_writer_close(writer, &err), 0);
	if (perch_reader_open(&reader, path, PERCH_ORDER_FILE, &err))
		fail_msg("%s", err.message);
	return reader;
}

static int make_path(void **state)
{
	char path[] = "/tmp/perch-tracing-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	close(fd);
	*state = strdup(path);
	return *state ? 0 : -1;
}

static int remove_path(void **state)
{
	char old[64];

	snprintf(old, sizeof(old), "%s.old", (const char *)*state);
	unlink(old);
	unlink(*state);
	free(*state);
	return 0;
}

static void finds_formats_by_id(void **state)
{
	const struct perch_tracepoint_format *format, *again;
	struct perch_tracepoint_text text;
	struct perch_reader *reader;
	struct perch_error err;
	struct bytes bytes;

	for (int swap = 0; swap < 2; swap++) {
		build(&bytes, swap, swap ? 4 : 8);
		reader = make_file(*state, bytes.at, bytes.size);
		assert_int_equal(perch_reader_tracepoint(reader, 300, &format, &err), 0);
		assert_string_equal(perch_tracepoint_format_system(format), "system");
		assert_string_equal(perch_tracepoint_format_name(format), "one");
		assert_int_equal(perch_tracepoint_format_find(format, "args")->element_size,
				 swap ? 4 : 8);
		assert_int_equal(perch_reader_tracepoint(reader, 300, &again, &err), 0);
		assert_ptr_equal(format, again);
		assert_int_equal(perch_reader_tracepoint(reader, 200, &format, &err), 0);
		assert_string_equal(perch_tracepoint_format_system(format), "other");
		assert_int_equal(perch_reader_tracepoint_text(reader, 200, &text, &err), 0);
		assert_string_equal(text.system, "other");
		assert_int_equal(text.size, strlen(TWO));
		assert_memory_equal(text.text, TWO, text.size);
		assert_int_equal(perch_reader_tracepoint(reader, 250, &format, &err), -EBADMSG);
		assert_null(format);
		assert_int_equal(perch_reader_tracepoint(reader, 7, &format, &err), -ENOENT);
		assert_non_null(strstr(err.message, "no format of the tracepoint 7"));
		assert_int_equal(perch_reader_tracepoint_text(reader, 7, &text, NULL), -ENOENT);
		assert_null(text.text);
		perch_reader_close(reader);
	}
}

static void a_file_without_formats_says_so(void **state)
{
	const struct perch_tracepoint_format *format;
	struct perch_reader *reader = make_file(*state, NULL, 0);
	struct perch_error err;

	assert_int_equal(perch_reader_tracepoint(reader, 300, &format, &err), -ENOENT);
	assert_non_null(strstr(err.message, "no formats of tracepoints"));
	perch_reader_close(reader);
}

/* Formats before the cut are found, those after it are not. */
static void data_may_be_cut_anywhere(void **state)
{
	const struct perch_tracepoint_format *format;
	struct perch_reader *reader;
	struct bytes bytes;
	size_t first = 0;

	build(&bytes, false, 8);
	for (size_t size = 0; size <= bytes.size; size++) {
		uint8_t *exact = malloc(size + 1);

		memcpy(exact, bytes.at, size);
		reader = make_file(*state, exact, size);
		if (!perch_reader_tracepoint(reader, 300, &format, NULL) && !first)
			first = size;
		assert_int_equal(perch_reader_tracepoint(reader, 300, &format, NULL),
				 first ? 0 : -ENOENT);
		assert_int_equal(perch_reader_tracepoint(reader, 200, &format, NULL),
				 size == bytes.size ? 0 : -ENOENT);
		perch_reader_close(reader);
		free(exact);
	}
	assert_true(first > strlen(ONE) && first < bytes.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_formats_by_id, make_path, remove_path),
		cmocka_unit_test_setup_teardown(a_file_without_formats_says_so, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(data_may_be_cut_anywhere, make_path, remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
