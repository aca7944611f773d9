/* SPDX-License-Identifier: MIT */
/* Fields of tracepoints: the text of a format, and values in built bytes of both byte orders. */
#define _GNU_SOURCE /* nftw */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/tracepoint.h>
#include "fields_fixture.h"
#include "tree.h"

#define COMMON                                                                 \
	"name: test\nID: 77\nformat:\n"                                        \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Has every kind of field and every location. */
static const char everything[] = COMMON
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] file;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] message;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * pointer;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:s8 tiny;\toffset:40;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 small[3];\toffset:42;\tsize:6;\tsigned:0;\n"
	"\tfield:__data_loc short[] shorts;\toffset:48;\tsize:4;\tsigned:1;\n"
	"\tfield:struct pair pair;\toffset:52;\tsize:8;\tsigned:0;\n"
	"\tfield:void (*function)(int);\toffset:60;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long rest[];\toffset:72;\tsize:0;\tsigned:0;\n"
	"\nprint fmt: \"comm=%s\", REC->comm\n";

/* The test's part of a sample: sample.raw of at most 256 bytes. */
struct sample {
	struct perch_record record;
	struct perch_parse_info parse_info;
	struct bytes raw;
};

static struct perch_tracepoint_format *parse(const char *text, uint8_t long_size)
{
	struct perch_tracepoint_text source = {
		.system = "unit", .text = text, .size = strlen(text), .long_size = long_size
	};
	struct perch_tracepoint_format *format;
	struct perch_error err;

	if (perch_tracepoint_format_parse(&format, &source, &err))
		fail_msg("%s", err.message);
	return format;
}

static const struct perch_tracepoint_field *find(const struct perch_tracepoint_format *format,
						 const char *name)
{
	const struct perch_tracepoint_field *field = perch_tracepoint_format_find(format, name);

	assert_non_null(field);
	return field;
}

/* The data begin 4 bytes after a multiple of 8, as in a real sample. */
static void begin_raw(struct sample *sample, bool swap)
{
	memset(sample, 0, sizeof(*sample));
	sample->raw.swap = swap;
	add_32(&sample->raw, 0);
}

static struct perch_record *end_raw(struct sample *sample)
{
	sample->parse_info.swapped = sample->raw.swap;
	sample->record.type = PERCH_RECORD_SAMPLE;
	sample->record.parse_info = &sample->parse_info;
	sample->record.sample.raw.data = sample->raw.at + 4;
	sample->record.sample.raw.size = sample->raw.size - 4;
	return &sample->record;
}

static struct perch_record *build_everything(struct sample *sample, bool swap)
{
	begin_raw(sample, swap);
	add_16(&sample->raw, 77);
	add_16(&sample->raw, 0);
	add_32(&sample->raw, (uint32_t)-3);
	add(&sample->raw, "a name of 16 byt", 16);
	add_32(&sample->raw, 6 << 16 | 88); /* file: at 88 */
	add_32(&sample->raw, 4 << 16 | 62); /* message: 62 after its own end at 32 */
	add_64(&sample->raw, 0xffff800012345678);
	add(&sample->raw, "\xff", 2);
	add_16(&sample->raw, 1);
	add_16(&sample->raw, 0xfffe);
	add_16(&sample->raw, 3);
	add_32(&sample->raw, 4 << 16 | 98); /* shorts: at 98 */
	add(&sample->raw, "abcdefgh", 8);
	add_64(&sample->raw, 0x1000);
	add_32(&sample->raw, 0);
	add_64(&sample->raw, 5); /* rest */
	add_64(&sample->raw, 6);
	add(&sample->raw, "a.out\0hi\0.", 10);
	add_16(&sample->raw, (uint16_t)-1);
	add_16(&sample->raw, 2);
	return end_raw(sample);
}

static void describes_every_field(void **state)
{
	static const struct {
		const char *name, *type;
		enum perch_tracepoint_kind kind;
		enum perch_tracepoint_location location;
		uint32_t element_size;
		bool is_signed;
	} wanted[] = {
		{ "common_type", "unsigned short", PERCH_TRACEPOINT_NUMBER, 0, 2, false },
		{ "common_pid", "int", PERCH_TRACEPOINT_NUMBER, 0, 4, true },
		{ "comm", "char[16]", PERCH_TRACEPOINT_TEXT, 0, 1, false },
		{ "file", "__data_loc char[]", PERCH_TRACEPOINT_TEXT, PERCH_TRACEPOINT_DATA_LOC, 1,
		  false },
		{ "message", "__rel_loc char[]", PERCH_TRACEPOINT_TEXT, PERCH_TRACEPOINT_REL_LOC, 1,
		  false },
		{ "pointer", "const char *", PERCH_TRACEPOINT_POINTER, 0, 8, false },
		{ "tiny", "s8", PERCH_TRACEPOINT_NUMBER, 0, 1, true },
		{ "small", "u16[3]", PERCH_TRACEPOINT_ARRAY, 0, 2, false },
		{ "shorts", "__data_loc short[]", PERCH_TRACEPOINT_ARRAY, PERCH_TRACEPOINT_DATA_LOC,
		  2, true },
		{ "pair", "struct pair", PERCH_TRACEPOINT_BYTES, 0, 1, false },
		{ "function", "void (*function)(int)", PERCH_TRACEPOINT_POINTER, 0, 8, false },
		{ "rest", "unsigned long[]", PERCH_TRACEPOINT_ARRAY, PERCH_TRACEPOINT_TO_END, 8,
		  false },
	};
	struct perch_tracepoint_format *format = parse(everything, 8);
	const struct perch_tracepoint_field *fields;

	(void)state;
	assert_string_equal(perch_tracepoint_format_system(format), "unit");
	assert_string_equal(perch_tracepoint_format_name(format), "test");
	assert_int_equal(perch_tracepoint_format_id(format), 77);
	assert_string_equal(perch_tracepoint_format_print_fmt(format), "\"comm=%s\", REC->comm");
	assert_int_equal(perch_tracepoint_format_fields(format, &fields),
			 sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_string_equal(fields[i].name, wanted[i].name);
		assert_string_equal(fields[i].type, wanted[i].type);
		assert_int_equal(fields[i].kind, wanted[i].kind);
		assert_int_equal(fields[i].location, wanted[i].location);
		assert_int_equal(fields[i].element_size, wanted[i].element_size);
		assert_int_equal(fields[i].is_signed, wanted[i].is_signed);
		assert_int_equal(fields[i].is_common, i < 2);
	}
	assert_null(perch_tracepoint_format_find(format, "absent"));
	perch_tracepoint_format_free(format);
}

static void reads_values_of_both_byte_orders(void **state)
{
	struct perch_tracepoint_format *format = parse(everything, 8);
	const char *text;
	const void *bytes;
	size_t size;
	struct sample sample;
	uint64_t value;
	int64_t number;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct perch_record *record = build_everything(&sample, swap);

		assert_int_equal(
			perch_tracepoint_get_u64(find(format, "common_type"), record, &value), 0);
		assert_int_equal(value, 77);
		assert_int_equal(
			perch_tracepoint_get_s64(find(format, "common_pid"), record, &number), 0);
		assert_int_equal(number, -3);
		assert_int_equal(perch_tracepoint_get_u64(find(format, "tiny"), record, &value), 0);
		assert_true(value == UINT64_MAX);
		assert_int_equal(perch_tracepoint_get_u64(find(format, "pointer"), record, &value),
				 0);
		assert_true(value == 0xffff800012345678);
		assert_int_equal(
			perch_tracepoint_get_text(find(format, "comm"), record, &text, &size), 0);
		assert_int_equal(size, 16);
		assert_memory_equal(text, "a name of 16 byt", 16);
		assert_int_equal(
			perch_tracepoint_get_text(find(format, "file"), record, &text, &size), 0);
		assert_int_equal(size, 5);
		assert_string_equal(text, "a.out");
		assert_int_equal(perch_tracepoint_get_text(find(format, "message"), record, &text,
							   &size),
				 0);
		assert_int_equal(size, 2);
		assert_string_equal(text, "hi");
		assert_int_equal(
			perch_tracepoint_get_element(find(format, "small"), record, 1, &value), 0);
		assert_int_equal(value, 0xfffe);
		assert_int_equal(
			perch_tracepoint_get_element(find(format, "shorts"), record, 0, &value), 0);
		assert_true((int64_t)value == -1);
		assert_int_equal(
			perch_tracepoint_get_element(find(format, "rest"), record, 1, &value), 0);
		assert_int_equal(value, 6);
		assert_int_equal(
			perch_tracepoint_get_bytes(find(format, "pair"), record, &bytes, &size), 0);
		assert_int_equal(size, 8);
		assert_memory_equal(bytes, "abcdefgh", 8);
	}
	perch_tracepoint_format_free(format);
}

static void refuses_what_the_record_does_not_have(void **state)
{
	struct perch_tracepoint_format *format = parse(everything, 8);
	struct sample sample;
	struct perch_record *record = build_everything(&sample, false);
	const void *bytes = "";
	const char *text = "";
	size_t size;
	uint64_t value = 1;

	(void)state;
	/* fields of another kind */
	assert_int_equal(perch_tracepoint_get_u64(find(format, "comm"), record, &value), -EINVAL);
	assert_int_equal(value, 0);
	assert_int_equal(perch_tracepoint_get_u64(find(format, "small"), record, &value), -EINVAL);
	assert_int_equal(perch_tracepoint_get_text(find(format, "tiny"), record, &text, &size),
			 -EINVAL);
	assert_null(text);
	/* an index after the last one */
	assert_int_equal(perch_tracepoint_get_element(find(format, "small"), record, 3, &value),
			 -ENODATA);
	/* data that end before the field, or before what DATA_LOC says */
	sample.record.sample.raw.size = 40;
	assert_int_equal(perch_tracepoint_get_u64(find(format, "tiny"), record, &value), -ENODATA);
	assert_int_equal(perch_tracepoint_get_bytes(find(format, "file"), record, &bytes, &size),
			 -ENODATA);
	assert_null(bytes);
	assert_int_equal(size, 0);
	/* no data, and no sample */
	sample.record.sample.raw.data = NULL;
	assert_int_equal(perch_tracepoint_get_u64(find(format, "tiny"), record, &value), -ENODATA);
	record = build_everything(&sample, false);
	record->type = PERCH_RECORD_MMAP;
	assert_int_equal(perch_tracepoint_get_u64(find(format, "tiny"), record, &value), -ENODATA);
	perch_tracepoint_format_free(format);
}

static void visits_every_field(void **state)
{
	struct perch_tracepoint_format *format = parse(everything, 8);
	struct sample sample;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct perch_record *record = build_everything(&sample, swap);
		struct printed printed = { 0 };

		sample.record.sample.raw.size = 88; /* without file, message and shorts */
		assert_int_equal(perch_tracepoint_visit(format, record, print_field, &printed), 0);
		assert_string_equal(printed.text,
				    "common_type=77 common_pid=-3 comm=\"a name of 16 byt\" "
				    "pointer=0xffff800012345678 tiny=-1 small=3[1 65534 3] "
				    "pair=6162636465666768 function=0x1000 rest=2[5 6]");
	}
	perch_tracepoint_format_free(format);
}

static int stop_at_third(void *context, const struct perch_field *field)
{
	(void)field;
	return ++*(int *)context == 3 ? 42 : 0;
}

static void a_visit_ends_when_the_function_says_so(void **state)
{
	struct perch_tracepoint_format *format = parse(everything, 8);
	struct sample sample;
	int calls = 0;

	(void)state;
	assert_int_equal(perch_tracepoint_visit(format, build_everything(&sample, false),
						stop_at_third, &calls),
			 42);
	assert_int_equal(calls, 3);
	perch_tracepoint_format_free(format);
}

/* A 32-bit machine: the size of long is not in the format where the record has the length. */
static void long_has_the_size_of_the_recording_machine(void **state)
{
	static const char text[] = COMMON
		"\tfield:unsigned long rest[];\toffset:8;\tsize:0;\tsigned:0;\n"
		"\tfield:__data_loc long[] some;\toffset:8;\tsize:4;\tsigned:1;\n";
	struct perch_tracepoint_format *format = parse(text, 4), *here = parse(text, 0);

	(void)state;
	assert_int_equal(find(format, "rest")->element_size, 4);
	assert_int_equal(find(format, "some")->element_size, 4);
	assert_int_equal(find(here, "rest")->element_size, sizeof(long));
	perch_tracepoint_format_free(format);
	perch_tracepoint_format_free(here);
}

/* Old kernels: no "signed:", names of constants as lengths, and "field special:". */
static void reads_formats_of_old_kernels(void **state)
{
	static const char text[] = "name: old\nID: 4\nformat:\n"
				   "\tfield:unsigned char flags;\toffset:2;\tsize:1;\n"
				   "\tfield:int pid;\toffset:4;\tsize:4;\n"
				   "\tfield:u32 mask;\toffset:8;\tsize:4;\n"
				   "\tfield:char comm[TASK_COMM_LEN];\toffset:12;\tsize:16;\n"
				   "\tfield special:unsigned int ids[NR];\toffset:28;\tsize:8;\n"
				   "\tfield:char[8] odd;\toffset:36;\tsize:8;\tsigned:0;\n";
	struct perch_tracepoint_format *format = parse(text, 8);

	(void)state;
	assert_false(find(format, "flags")->is_signed);
	assert_true(find(format, "pid")->is_signed);
	assert_false(find(format, "mask")->is_signed);
	assert_int_equal(find(format, "comm")->kind, PERCH_TRACEPOINT_TEXT);
	assert_int_equal(find(format, "ids")->kind, PERCH_TRACEPOINT_ARRAY);
	assert_int_equal(find(format, "ids")->element_size, 4);
	assert_int_equal(find(format, "odd")->kind, PERCH_TRACEPOINT_TEXT);
	assert_string_equal(find(format, "odd")->type, "char[8]");
	perch_tracepoint_format_free(format);
}

static void refuse(const char *text, int rc, int column)
{
	struct perch_tracepoint_text source = { .text = text, .size = strlen(text) };
	struct perch_tracepoint_format *format = (void *)1;
	struct perch_error err;

	assert_int_equal(perch_tracepoint_format_parse(&format, &source, &err), rc);
	assert_null(format);
	assert_int_equal(err.column, column);
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
}

static void refuses_invalid_text(void **state)
{
	struct perch_tracepoint_text source = { .text = COMMON, .size = 2 << 20 };
	struct perch_tracepoint_format *format;
	struct perch_error err;

	(void)state;
	refuse("", -EBADMSG, -1);
	refuse("name: x\nID: 3\nformat:\n", -EBADMSG, -1);
	refuse("\tfield:int x;\toffset:0;\tsize:4;\n\tfield:int y;\toffset:z;\tsize:4;\n", -EBADMSG,
	       32);
	refuse("\tfield:int x;\toffset:0;\n", -EBADMSG, 0);
	refuse("\tfield:int;\toffset:0;\tsize:4;\n", -EBADMSG, 0);
	refuse("\tfield:int 3;\toffset:0;\tsize:4;\n", -EBADMSG, 0);
	refuse("\tfield:int x;\toffset:2147483648;\tsize:4;\n", -EBADMSG, 0);
	assert_int_equal(perch_tracepoint_format_parse(&format, &source, &err), -EFBIG);
	source.size = strlen(COMMON);
	source.long_size = 3;
	assert_int_equal(perch_tracepoint_format_parse(&format, &source, &err), -EINVAL);
	assert_int_equal(perch_tracepoint_format_parse(&format, &source, NULL), -EINVAL);
}

/* No text cut at any byte does harm; the sanitizers check it. */
static void every_cut_is_safe(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(everything); size++) {
		char *text = malloc(size + 1);
		struct perch_tracepoint_text source = { .text = text, .size = size };
		struct perch_tracepoint_format *format;

		memcpy(text, everything, size);
		text = realloc(text, size ? size : 1);
		source.text = text;
		if (!perch_tracepoint_format_parse(&format, &source, NULL))
			perch_tracepoint_format_free(format);
		free(text);
	}
}

/* In a tree: an id that cannot be read may be the one that is searched. */
static void a_search_with_unreadable_ids_says_so(void **state)
{
	static const struct tree_file files[] = {
		{ "/sys/kernel/tracing/events/one/first/id", "5\n" },
		{ "/sys/kernel/tracing/events/one/first/format", everything },
		{ "/sys/kernel/tracing/events/two/second/format", everything },
	};
	struct perch_tracepoint_format *format;
	struct perch_machine *machine;
	char root[PATH_MAX], path[PATH_MAX];
	struct perch_error err;

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	assert_int_equal(perch_tracepoint_format_read_id(&format, 6, machine, &err), -ENOENT);
	assert_true(perch_machine_path(machine, "/sys/kernel/tracing/events/two/second/id", path,
				       sizeof(path)) > 0);
	assert_int_equal(symlink("id", path), 0); /* a loop */
	assert_int_equal(perch_tracepoint_format_read_id(&format, 6, machine, &err), -ELOOP);
	assert_int_equal(err.kind, PERCH_ERROR_FILE);
	assert_null(format);
	assert_int_equal(perch_tracepoint_format_read_id(&format, 5, machine, &err), 0);
	assert_string_equal(perch_tracepoint_format_system(format), "one");
	perch_tracepoint_format_free(format);
	perch_machine_free(machine);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_with_unreadable_ids_says_so),
		cmocka_unit_test(describes_every_field),
		cmocka_unit_test(reads_values_of_both_byte_orders),
		cmocka_unit_test(refuses_what_the_record_does_not_have),
		cmocka_unit_test(visits_every_field),
		cmocka_unit_test(a_visit_ends_when_the_function_says_so),
		cmocka_unit_test(long_has_the_size_of_the_recording_machine),
		cmocka_unit_test(reads_formats_of_old_kernels),
		cmocka_unit_test(refuses_invalid_text),
		cmocka_unit_test(every_cut_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
