/* SPDX-License-Identifier: MIT */
/* perch dump: numbers, hostile text, records and damaged records, as text and as JSON. */
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

#include "build_record.h"
#include "cli/dump/dump.h"
#include "base/json_writer.h"

#define TYPE                                                                               \
	(PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CALLCHAIN | \
	 PERCH_SAMPLE_ID)

static const uint64_t ids[] = { 21, 22 };
static const struct perch_file_event events[] = {
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .sample_type = TYPE,
			  .sample_id_all = 1,
			  .sample_period = 1000 },
		.name = "cpu-clock",
		.ids = ids,
		.nr_ids = 1,
	},
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .config = PERCH_COUNT_SW_PAGE_FAULTS,
			  .sample_type = TYPE,
			  .sample_id_all = 1,
			  .sample_period = 1 },
		.name = "faults\033[2J",
		.ids = ids + 1,
		.nr_ids = 1,
	},
};

/* ---- the output of a test ---- */

static struct dump dump;
static char *text;
static size_t length;

static void begin(void)
{
	assert_int_equal(perch__output_open(&dump.out, open_memstream(&text, &length)), 0);
	dump.any = false;
}

/* The output since begin(). It is valid until the next call. */
static const char *printed(void)
{
	static char *last;

	perch__output_flush(&dump.out);
	assert_int_equal(fclose(dump.out.stream), 0);
	perch__output_close(&dump.out);
	free(last);
	last = text;
	return text;
}

#define assert_printed(call, expected)                    \
	do {                                              \
		begin();                                  \
		call;                                     \
		assert_string_equal(printed(), expected); \
	} while (0)

/* ---- output.c, json_writer.c ---- */

static void prints_numbers(void **state)
{
	(void)state;
	assert_printed(perch__output_number(&dump.out, 0), "0");
	assert_printed(perch__output_number(&dump.out, UINT64_MAX), "18446744073709551615");
	assert_printed(perch__output_padded(&dump.out, 0, 6), "000000");
	assert_printed(perch__output_padded(&dump.out, 1204, 6), "001204");
	assert_printed(perch__output_padded(&dump.out, 123456, 6), "123456");
	assert_printed(perch__output_padded(&dump.out, 1234567, 6), "1234567");
	assert_printed(perch__output_padded(&dump.out, 7, 20), "00000000000000000007");
	assert_printed(perch__output_signed(&dump.out, -1), "-1");
	assert_printed(perch__output_signed(&dump.out, INT64_MIN), "-9223372036854775808");
	assert_printed(perch__output_hex(&dump.out, 0), "0x0");
	assert_printed(perch__output_hex(&dump.out, 0xfedcba9876543210), "0xfedcba9876543210");
	assert_printed(perch__output_hex_bytes(&dump.out, "\0\xff\x1f", 3), "00ff1f");
}

static void cleans_text(void **state)
{
	(void)state;
	assert_printed(perch__output_clean(&dump.out, "a\033[1m\n\177b", 8), "a?[1m??b");
	/* characters of two, three and four bytes; then C1 control, cut off, overlong and
	 * surrogate ones */
	assert_printed(perch__output_clean(&dump.out, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f", 9),
		       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f");
	assert_printed(perch__output_clean(&dump.out, "\xc2\x9b", 2), "?");
	assert_printed(perch__output_clean(&dump.out, "\xe2\x82", 2), "??");
	assert_printed(perch__output_clean(&dump.out, "\xc0\xaf", 2), "??");
	assert_printed(perch__output_clean(&dump.out, "\xed\xa0\x80", 3), "???");
	assert_printed(perch__output_clean(&dump.out, "\xf4\x90\x80\x80", 4), "????");
	assert_printed(perch__output_clean(&dump.out, "\xff\xfe", 2), "??");
	/* marks of bidirectional text, and a line separator */
	assert_printed(perch__output_clean(&dump.out,
					   "a\xe2\x80\xae"
					   "b\xe2\x81\xa6\xe2\x80\x8f\xe2\x80\xa8",
					   14),
		       "a?b???");
}

static void escapes_json_strings(void **state)
{
	struct perch__json_writer json = { .out = &dump.out };

	(void)state;
	assert_printed(perch__json_string(&json, "a\"b\\c\n\0d", 8),
		       "\"a\\\"b\\\\c\\u000a\\u0000d\"");
	assert_printed(perch__json_string(&json, "\177\xc2\x9b", 3), "\"\\u007f\\u009b\"");
	assert_printed(perch__json_string(&json, "\xe2\x80\xae\xe2\x80\xa8", 6),
		       "\"\\u202e\\u2028\"");
	assert_printed(perch__json_string(&json,
					  "\xff"
					  "a\xe2\x82",
					  4),
		       "\"\xef\xbf\xbd"
		       "a\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_printed(perch__json_string(&json, "\xc3\xa9", 2), "\"\xc3\xa9\"");
}

/* In one call and in many. */
static void prints_more_than_the_buffer(void **state)
{
	size_t size = 3u << 20;
	char *large = malloc(size);

	(void)state;
	memset(large, 'x', size);
	begin();
	perch__output_bytes(&dump.out, large, size);
	perch__output_hex_bytes(&dump.out, large, size);
	for (size_t i = 0; i < size; i++)
		perch__output_bytes(&dump.out, "y", 1);
	assert_int_equal(strspn(printed(), "x"), size);
	assert_int_equal(length, 4 * size);
	assert_memory_equal(text + size, "7878", 4);
	assert_int_equal(strlen(text + 3 * size), size);
	free(large);
}

static void reports_a_full_device(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(perch__output_open(&dump.out, full), 0);
	setvbuf(full, NULL, _IONBF, 0);
	perch__output_text(&dump.out, "text");
	perch__output_flush(&dump.out);
	assert_int_equal(dump.out.error, ENOSPC);
	perch__output_close(&dump.out);
	fclose(full);
}

/* ---- dump_select.c ---- */

static void selects_types(void **state)
{
	struct dump chosen = { 0 };

	(void)state;
	assert_true(dump_wants(&chosen, 9));
	chosen.filtered = true;
	assert_null(dump_add_types(&chosen, "sample,MMAP2,200,0x51"));
	assert_true(dump_wants(&chosen, PERCH_RECORD_SAMPLE) &&
		    dump_wants(&chosen, PERCH_RECORD_MMAP2));
	assert_true(dump_wants(&chosen, 200) && dump_wants(&chosen, PERCH_RECORD_COMPRESSED));
	assert_false(dump_wants(&chosen, PERCH_RECORD_MMAP));
	assert_string_equal(dump_add_types(&chosen, "COMM,SAMPLES,FORK"), "SAMPLES,FORK");
	assert_false(dump_wants(&chosen, 201));
	assert_null(dump_add_types(&chosen, "unknown"));
	assert_true(dump_wants(&chosen, 201) && dump_wants(&chosen, 0));
	assert_false(dump_wants(&chosen, PERCH_RECORD_MMAP));
	assert_string_equal(dump_similar_type("SAMPEL,MMAP", 6), "SAMPLE");
	assert_string_equal(dump_similar_type("namespace", 9), "NAMESPACES");
	assert_string_equal(dump_similar_type("Samples", 7), "SAMPLE");
	assert_null(dump_similar_type("cycles", 6));
	assert_null(dump_similar_type("", 0));
	assert_string_equal(dump_add_types(&chosen, ""), "");
	assert_string_equal(dump_add_types(&chosen, "-1"), "-1");
	assert_string_equal(dump_add_types(&chosen, "9x"), "9x");
	assert_string_equal(dump_add_types(&chosen, "99999999999"), "99999999999");
	for (int i = 0; i < DUMP_MAX_TYPES; i++)
		if (dump_add_types(&chosen, "9"))
			return;
	fail_msg("more types than DUMP_MAX_TYPES were added");
}

/* ---- records ---- */

static void put(struct perch_writer *writer, struct built *built)
{
	struct iovec piece = { built->bytes, built->size };

	assert_int_equal(perch_writer_append(writer, &piece, 1, NULL), 0);
}

/* nr: the number of entries that the callchain claims to have. */
static void put_sample(struct perch_writer *writer, uint64_t id, uint64_t nr)
{
	struct built built;

	start_record(&built, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(&built, 0x401000);
	put_u32(&built, 7);
	put_u32(&built, (uint32_t)-1);
	put_u64(&built, 12000000034);
	put_u64(&built, id);
	put_u64(&built, nr);
	put_u64(&built, PERCH_CONTEXT_USER);
	put_u64(&built, 0x401000);
	end_record(&built);
	put(writer, &built);
}

static void put_comm(struct perch_writer *writer, const char *comm)
{
	struct built built;

	start_record(&built, PERCH_RECORD_COMM, 0);
	put_u32(&built, 7);
	put_u32(&built, 8);
	put_name(&built, comm);
	put_u32(&built, 7);
	put_u32(&built, 8);
	put_u64(&built, 5);
	put_u64(&built, 22);
	end_record(&built);
	put(writer, &built);
}

/* Four records: a sample, a sample whose callchain exceeds the record, a name with control
 * characters, and a record of the file format. */
static int open_recording(void **state)
{
	static char path[] = "/tmp/perch-test-dump-XXXXXX";
	struct perch_machine *machine;
	struct perch_writer *writer;
	struct built built;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	/* a file of that name would be kept as PATH.old */
	unlink(path);
	assert_int_equal(perch_writer_open(&writer, path, events, 2, NULL), 0);
	put_sample(writer, 21, 2);
	put_sample(writer, 21, 9);
	put_comm(writer, "\033]0;x\a\xff\"");
	start_record(&built, PERCH_RECORD_STAT, 0);
	put_u64(&built, 1ull << 53);
	put_u32(&built, (uint32_t)-1);
	put_u32(&built, 0);
	put_u64(&built, (1ull << 53) + 1);
	put_u64(&built, 1);
	put_u64(&built, UINT64_MAX);
	end_record(&built);
	put(writer, &built);
	/* a machine without files: the features are the names of events, and few others */
	assert_int_equal(perch_machine_new(&machine, "/proc/none", NULL, NULL), 0);
	assert_int_equal(perch_writer_describe(writer, "1", 0, NULL, machine, NULL), 0);
	perch_machine_free(machine);
	assert_int_equal(perch_writer_close(writer, NULL), 0);
	assert_int_equal(perch_reader_open(&dump.reader, path, PERCH_ORDER_FILE, NULL), 0);
	unlink(path);
	perch_reader_keep_damaged(dump.reader, true);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	perch_reader_close(dump.reader);
	return 0;
}

/* Prints record number `wanted`, with 16 as its offset. */
static const char *show(int wanted, bool json, bool raw)
{
	struct perch_record record;
	struct perch_error err = { .message = "" };
	int rc = 0;

	perch_reader_rewind(dump.reader);
	for (int i = 0; i <= wanted; i++)
		rc = perch_reader_next(dump.reader, &record, &err);
	assert_int_equal(rc, wanted == 1 ? -EBADMSG : 1);
	record.offset = 16;
	dump.raw = raw;
	begin();
	if (json)
		dump_json_record(&dump, &record, rc < 0 ? err.message : NULL);
	else
		dump_text_record(&dump, &record, rc < 0 ? err.message : NULL);
	return printed();
}

static void prints_a_sample(void **state)
{
	(void)state;
	assert_string_equal(show(0, false, false),
			    "0x10 SAMPLE 64 bytes, misc 0x2 USER, cpu-clock\n"
			    "  ip                0x401000\n"
			    "  pid               7\n"
			    "  tid               -1\n"
			    "  time              12.000000034\n"
			    "  id                21\n"
			    "  callchain         2\n"
			    "  callchain[0]      0xfffffffffffffe00 USER\n"
			    "  callchain[1]      0x401000\n");
	assert_string_equal(
		show(0, true, false),
		"{\"offset\":16,\"type\":\"SAMPLE\",\"type_number\":9,\"size\":64,"
		"\"misc\":{\"value\":\"0x2\",\"words\":\"USER\"},\"event\":\"cpu-clock\",\"event_index\":0,"
		"\"fields\":{\"ip\":\"0x401000\",\"pid\":7,\"tid\":-1,\"time\":\"12000000034\",\"id\":21,"
		"\"callchain\":[\"0xfffffffffffffe00\",\"0x401000\"]}}\n");
}

static void prints_bytes_of_damaged_records(void **state)
{
	const char *shown = show(1, false, false);

	(void)state;
	assert_non_null(strstr(shown, "0x10 SAMPLE 64 bytes, misc 0x2 USER"));
	assert_non_null(
		strstr(shown, "\n  damaged           SAMPLE record of 64 bytes: callchain"));
	assert_non_null(strstr(
		shown,
		"\n  0030  00 fe ff ff ff ff ff ff 00 10 40 00 00 00 00 00  |..........@.....|\n"));
	shown = show(1, true, false);
	assert_non_null(strstr(shown, "\"error\":\"SAMPLE record of 64 bytes: callchain"));
	assert_non_null(strstr(shown, "\"raw\":\"0900000002004000"));
	assert_null(strstr(shown, "\"fields\""));
}

static void cleans_hostile_names(void **state)
{
	(void)state;
	assert_string_equal(show(2, false, false), "0x10 COMM 56 bytes, faults?[2J\n"
						   "  pid               7\n"
						   "  tid               8\n"
						   "  comm              ?]0;x??\"\n"
						   "  sample_id.pid     7\n"
						   "  sample_id.tid     8\n"
						   "  sample_id.time    0.000000005\n"
						   "  sample_id.id      22\n");
	assert_non_null(strstr(
		show(2, true, false),
		"\"event\":\"faults\\u001b[2J\",\"event_index\":1,\"fields\":{\"pid\":7,\"tid\":8,"
		"\"comm\":\"\\u001b]0;x\\u0007\xef\xbf\xbd\\\"\",\"sample_id\":{"));
}

/* 2^53 is exact as a double; numbers above are strings. */
static void quotes_large_json_numbers(void **state)
{
	(void)state;
	assert_string_equal(
		show(3, true, true),
		"{\"offset\":16,\"type\":\"STAT\",\"type_number\":76,\"size\":48,\"misc\":{\"value\":\"0x0\",\"words\":\"\"},"
		"\"fields\":{\"id\":9007199254740992,\"cpu\":-1,\"thread\":0,\"val\":\"9007199254740993\",\"ena\":1,"
		"\"run\":\"18446744073709551615\"},\"raw\":\"4c000000000030000000000000002000ffffffff00000000"
		"01000000000020000100000000000000ffffffffffffffff\"}\n");
}

static void prints_the_header(void **state)
{
	(void)state;
	begin();
	dump_json_header(&dump);
	assert_non_null(strstr(
		printed(),
		"{\"header\":\"event\",\"event_index\":1,\"event\":\"faults\\u001b[2J\",\"attr\":{\"type\":1,"));
	assert_non_null(strstr(
		text,
		"\"sample_type\":{\"value\":\"0x67\",\"words\":\"IP|TID|TIME|CALLCHAIN|ID\"}"));
	assert_non_null(strstr(text, "\"ids\":[22]}\n"));
	begin();
	dump_text_header(&dump);
	assert_null(strchr(printed(), '\033'));
	assert_non_null(strstr(text, "\nevent 1 faults?[2J\n  type              1\n"));
	assert_non_null(strstr(text, "\n  id                22\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_numbers),
		cmocka_unit_test(cleans_text),
		cmocka_unit_test(escapes_json_strings),
		cmocka_unit_test(prints_more_than_the_buffer),
		cmocka_unit_test(reports_a_full_device),
		cmocka_unit_test(selects_types),
		cmocka_unit_test(prints_a_sample),
		cmocka_unit_test(prints_bytes_of_damaged_records),
		cmocka_unit_test(cleans_hostile_names),
		cmocka_unit_test(quotes_large_json_numbers),
		cmocka_unit_test(prints_the_header),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
