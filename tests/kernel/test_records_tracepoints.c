/* SPDX-License-Identifier: MIT */
/*
 * Fields of tracepoints of this kernel: all formats of tracefs are parsed, and samples of some have
 * the values that the test caused. __rel_loc is in the unit test tracepoint: this kernel's own
 * tracepoints do not have it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <cmocka.h>
#include <perch/event.h>
#include <perch/tracepoint.h>

#include "records.h"

static struct perch_tracepoint_format *read_format(const char *name)
{
	struct perch_tracepoint_format *format;
	struct perch_error err = { 0 };
	int rc = perch_tracepoint_format_read(&format, name, NULL, &err);

	if (rc == -EACCES || rc == -ENOENT) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (rc)
		fail_msg("%s", err.message);
	return format;
}

static const struct perch_tracepoint_field *find(const struct perch_tracepoint_format *format,
						 const char *name)
{
	const struct perch_tracepoint_field *field = perch_tracepoint_format_find(format, name);

	if (!field)
		fail_msg("%s has no field %s", perch_tracepoint_format_name(format), name);
	return field;
}

/* A field has a known kind and lies behind the common fields. */
static void check_format(const struct perch_tracepoint_format *format)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields);

	assert_true(perch_tracepoint_format_id(format) > 0);
	assert_string_equal(fields[0].name, "common_type");
	for (size_t i = 0; i < nr; i++) {
		assert_true(fields[i].is_common || fields[i].offset >= 8);
		assert_true(fields[i].element_size > 0);
		if (!strncmp(fields[i].type, "__data_loc", 10))
			assert_int_equal(fields[i].location, PERCH_TRACEPOINT_DATA_LOC);
		if (!strncmp(fields[i].type, "__rel_loc", 9))
			assert_int_equal(fields[i].location, PERCH_TRACEPOINT_REL_LOC);
	}
}

static size_t check_system(const char *events, const char *system)
{
	char path[PATH_MAX + NAME_MAX + 2], name[2 * NAME_MAX + 2];
	struct dirent *entry;
	size_t nr = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/%s", events, system);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		struct perch_tracepoint_format *format;
		struct perch_error err;
		int rc;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s:%s", system, entry->d_name);
		rc = perch_tracepoint_format_read(&format, name, NULL, &err);
		if (rc == -ENOENT)
			continue; /* it was removed, or has no format */
		if (rc)
			fail_msg("%s: %s", name, err.message);
		check_format(format);
		assert_string_equal(perch_tracepoint_format_system(format), system);
		perch_tracepoint_format_free(format);
		nr++;
	}
	if (directory)
		closedir(directory);
	return nr;
}

static void every_format_of_the_kernel_is_parsed(void **state)
{
	char events[PATH_MAX];
	struct perch_error err;
	struct dirent *entry;
	DIR *directory;
	size_t nr = 0;

	(void)state;
	if (perch_machine_tracefs(NULL, events, sizeof(events) - 8, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	strcat(events, "/events");
	directory = opendir(events);
	assert_non_null(directory);
	while ((entry = readdir(directory)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			nr += check_system(events, entry->d_name);
	closedir(directory);
	print_message("%zu formats\n", nr);
	assert_true(nr > 100);
}

static void formats_are_found_by_id(void **state)
{
	struct perch_tracepoint_format *by_name = read_format("sched:sched_switch"), *by_id;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_tracepoint_format_read_id(
				 &by_id, perch_tracepoint_format_id(by_name), NULL, &err),
			 0);
	assert_string_equal(perch_tracepoint_format_system(by_id), "sched");
	assert_string_equal(perch_tracepoint_format_name(by_id), "sched_switch");
	perch_tracepoint_format_free(by_id);
	assert_int_equal(perch_tracepoint_format_read_id(&by_id, UINT64_MAX, NULL, &err), -ENOENT);
	assert_null(by_id);
	perch_tracepoint_format_free(by_name);
}

static void names_that_are_not_tracepoints_are_refused(void **state)
{
	struct perch_tracepoint_format *format;
	struct perch_error err;

	(void)state;
	perch_tracepoint_format_free(read_format("sched:sched_switch")); /* or skips */
	assert_int_equal(perch_tracepoint_format_read(&format, "sched:no_such", NULL, &err),
			 -ENOENT);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_EVENT);
	assert_null(format);
	for (size_t i = 0; i < 5; i++) {
		static const char *const names[] = { "sched", "", ":", "sched:../sched/x",
						     "..:sched" };

		assert_int_equal(perch_tracepoint_format_read(&format, names[i], NULL, &err),
				 -EINVAL);
	}
}

/* Opens the tracepoint for this thread on all CPUs. Samples are those of the test. */
static struct perch_tracepoint_format *open_tracepoint(struct live *live, const char *name)
{
	struct perch_tracepoint_format *format = read_format(name);
	struct perch_attr attr = live_attr();

	attr.type = PERCH_TYPE_TRACEPOINT;
	attr.config = perch_tracepoint_format_id(format);
	attr.sample_type |= PERCH_SAMPLE_RAW;
	attr.sample_period = 1;
	record_self(live, &attr);
	assert_int_equal(live_enable(live), 0);
	return format;
}

static uint64_t number_of(const struct perch_tracepoint_format *format,
			  const struct perch_record *record, const char *name)
{
	uint64_t value;

	assert_int_equal(perch_tracepoint_get_u64(find(format, name), record, &value), 0);
	return value;
}

static void system_calls_have_their_arguments(void **state)
{
	struct perch_tracepoint_format *format;
	const struct perch_record *record = NULL;
	struct live live;
	bool found = false;
	uint64_t value;

	(void)state;
	format = open_tracepoint(&live, "raw_syscalls:sys_enter");
	syscall(SYS_lseek, -1, 0x123456789, 77);
	record_end(&live);
	while ((record = live_next(&live, PERCH_RECORD_SAMPLE, record))) {
		if (number_of(format, record, "id") != SYS_lseek)
			continue;
		found = true;
		assert_int_equal(number_of(format, record, "common_pid"), current_tid());
		assert_int_equal(
			perch_tracepoint_get_element(find(format, "args"), record, 1, &value), 0);
		assert_true(value == 0x123456789);
		assert_int_equal(
			perch_tracepoint_get_element(find(format, "args"), record, 2, &value), 0);
		assert_int_equal(value, 77);
		assert_int_equal(perch_tracepoint_get_element(find(format, "args"), record, 6,
							      &value),
				 -ENODATA);
	}
	assert_true(found);
	live_close(&live);
	perch_tracepoint_format_free(format);
}

/* task_rename has char[16]; signal_generate has signed numbers. */
static void strings_in_place_are_read(void **state)
{
	struct perch_tracepoint_format *format;
	const struct perch_record *record;
	struct live live;
	const char *text;
	size_t length;

	(void)state;
	format = open_tracepoint(&live, "task:task_rename");
	prctl(PR_SET_NAME, "a-name-of-15-ch");
	prctl(PR_SET_NAME, "short");
	record_end(&live);
	assert_int_equal(live_count(&live, PERCH_RECORD_SAMPLE), 2);
	record = live_next(&live, PERCH_RECORD_SAMPLE, NULL);
	assert_int_equal(perch_tracepoint_get_text(find(format, "newcomm"), record, &text, &length),
			 0);
	assert_int_equal(length, 15);
	assert_memory_equal(text, "a-name-of-15-ch", 15);
	record = live_next(&live, PERCH_RECORD_SAMPLE, record);
	assert_int_equal(perch_tracepoint_get_text(find(format, "newcomm"), record, &text, &length),
			 0);
	assert_int_equal(length, 5);
	assert_memory_equal(text, "short", 5);
	live_close(&live);
	perch_tracepoint_format_free(format);
}

/* The filename of sched_process_exec is __data_loc: its place and length are in the record. */
static void strings_of_data_loc_are_read(void **state)
{
	struct perch_tracepoint_format *format;
	const struct perch_record *record;
	struct perch_attr attr = live_attr();
	struct live live;
	const char *text;
	size_t length;
	int gate[2];
	pid_t child;

	(void)state;
	format = read_format("sched:sched_process_exec");
	attr.type = PERCH_TYPE_TRACEPOINT;
	attr.config = perch_tracepoint_format_id(format);
	attr.sample_type |= PERCH_SAMPLE_RAW;
	attr.sample_period = 1;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		char byte;

		while (read(gate[0], &byte, 1) < 0)
			;
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	record_open(&live, &attr, &(struct perch_target){ .tid = child, .cpu = -1 }, 0);
	assert_int_equal(live_enable(&live), 0);
	assert_int_equal(write(gate[1], "", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	record_take(&live);
	record = only_record(&live, PERCH_RECORD_SAMPLE);
	assert_int_equal(
		perch_tracepoint_get_text(find(format, "filename"), record, &text, &length), 0);
	assert_int_equal(length, strlen("/bin/true"));
	assert_string_equal(text, "/bin/true");
	assert_int_equal(number_of(format, record, "pid"), child);
	live_close(&live);
	close(gate[0]);
	close(gate[1]);
	perch_tracepoint_format_free(format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_of_the_kernel_is_parsed),
		cmocka_unit_test(formats_are_found_by_id),
		cmocka_unit_test(names_that_are_not_tracepoints_are_refused),
		cmocka_unit_test(system_calls_have_their_arguments),
		cmocka_unit_test(strings_in_place_are_read),
		cmocka_unit_test(strings_of_data_loc_are_read),
	};

	return records_run(tests, sizeof(tests) / sizeof(tests[0]));
}
