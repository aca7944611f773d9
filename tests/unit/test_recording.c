/* SPDX-License-Identifier: MIT */
/*
 * Decodes records of a big-endian kernel (tests/data/s390x.records, from tests/emulated/run).
 * Compares the fields with those that the same decoder printed on that machine, and with values
 * that are known from the recorded program.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../data/recording.h"

/* The output of the emulated machine so far. */
static const uint32_t types[] = {
	PERCH_RECORD_MMAP,	 PERCH_RECORD_LOST,    PERCH_RECORD_COMM,
	PERCH_RECORD_EXIT,	 PERCH_RECORD_FORK,    PERCH_RECORD_SAMPLE,
	PERCH_RECORD_MMAP2,	 PERCH_RECORD_SWITCH,  PERCH_RECORD_SWITCH_CPU_WIDE,
	PERCH_RECORD_NAMESPACES, PERCH_RECORD_KSYMBOL, PERCH_RECORD_BPF_EVENT,
};

static char *whole;

static int read_recording(void **state)
{
	const char *root = getenv("PERCH_SOURCE_ROOT");
	char path[4096];
	size_t size = 0;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/data/s390x.records", root ? root : ".");
	file = fopen(path, "re");
	if (!file || getdelim(&whole, &size, 0, file) <= 0) {
		print_message("no %s\n", path);
		return -1;
	}
	return fclose(file);
}

static int free_recording(void **state)
{
	(void)state;
	free(whole);
	return 0;
}

static int check(char *text, enum perch_byte_order order, struct recording_count *count,
		 struct perch_error *err)
{
	FILE *file = fmemopen(text, strlen(text), "r");
	int rc;

	assert_non_null(file);
	rc = recording_check(file, "", order, count, err);
	fclose(file);
	return rc;
}

static void decodes_foreign_records(void **state)
{
	struct recording_count count;
	struct perch_error err = { 0 };

	(void)state;
	if (check(whole, PERCH_BYTES_BIG, &count, &err))
		fail_msg("after %zu records: %s", count.records, err.message);
	print_message("%zu records, %zu of them samples\n", count.records, count.samples);
	assert_true(count.records >= 25 && count.samples >= 8);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_true(count.types >> types[i] & 1);
}

/* The comparison detects a changed byte, except in bytes without a field. */
static void detects_differences(void **state)
{
	struct recording_count count;
	struct perch_error err;
	size_t tried = 0, seen = 0;

	(void)state;
	for (char *line = strstr(whole, "record "); line; line = strstr(line + 1, "\nrecord ")) {
		/* in the first words of the body */
		char *from = strchr(line, ' ') + 1, *digit = from + 2 * 12;

		if (*digit == '\n')
			continue;
		*digit ^= 1;
		tried++;
		seen += check(whole, PERCH_BYTES_BIG, &count, &err) != 0;
		*digit ^= 1;
	}
	assert_true(tried >= 25);
	assert_int_equal(seen, tried);
}

static void refuses_wrong_byte_order(void **state)
{
	struct recording_count count;
	struct perch_error err;

	(void)state;
	assert_true(check(whole, PERCH_BYTES_LITTLE, &count, &err) < 0);
	assert_int_equal(count.records, 0);
}

/* Values of the recorded program: the number in a register, a name, the size of a page. */
static void decodes_recorded_values(void **state)
{
	/* "big (a tree) endian" */
	static const char comm[] = " comm=62696720f09f8cb320656e6469616e ";
	uint64_t first = 0, addr, previous = 0;
	size_t faults = 0, registers = 0;

	(void)state;
	assert_non_null(strstr(whole, comm));
	for (const char *at = whole; (at = strstr(at, "fields SAMPLE")); at++) {
		const char *end = strchr(at, '\n'), *found = strstr(at, " r3=");

		if (found && found < end) {
			assert_int_equal(strtoull(found + 4, NULL, 0),
					 UINT64_C(0x0123456789abcdef));
			registers++;
			continue;
		}
		found = strstr(at, " addr=");
		if (!found || found > end)
			continue;
		addr = strtoull(found + 6, NULL, 0);
		if (first && faults)
			assert_true(addr > previous);
		first = first ? first : addr;
		previous = addr;
		faults++;
	}
	assert_true(registers >= 4 && faults >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_foreign_records),
		cmocka_unit_test(detects_differences),
		cmocka_unit_test(refuses_wrong_byte_order),
		cmocka_unit_test(decodes_recorded_values),
	};

	return cmocka_run_group_tests(tests, read_recording, free_recording);
}
