/* SPDX-License-Identifier: MIT */
/* perch explain without a source: the tests report system calls and check the output. */
#ifndef PERCH_TEST_EXPLAIN_SCENE_H
#define PERCH_TEST_EXPLAIN_SCENE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include <jansson.h>

#include "cli/explain/explain.h"
#include "trace/descriptors.h"
#include "trace/names.h"
#include "cli/options.h"

#define PROCESS 100

struct fixture {
	struct explain_job job;
	char *text;
	size_t size;
};

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->job.out = open_memstream(&fixture->text, &fixture->size);
	fixture->job.trace.from_log = true;
	fixture->job.trace.output = &explain_text;
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	trace_job_clear(&fixture->job.trace);
	explain_dedup_free(&fixture->job);
	fclose(fixture->job.out);
	free(fixture->text);
	free(fixture);
	return 0;
}

static inline const char *printed(struct fixture *fixture)
{
	fflush(fixture->job.out);
	return fixture->text;
}

static inline size_t times(const char *text, const char *word)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		nr++;
	return nr;
}

static inline struct perch_attr software(void)
{
	return (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
				    .size = sizeof(struct perch_attr),
				    .config = PERCH_COUNT_SW_DUMMY };
}

static inline void opened(struct fixture *fixture, const struct perch_attr *attr, int cpu,
			  int group, int result)
{
	struct perch_open_call call = { .attr = attr,
					.cpu = cpu,
					.group_fd = group,
					.flags = PERCH_FLAG_FD_CLOEXEC,
					.from_log = true };

	if (result < 0)
		call.errnum = -result;
	trace_handle_open(&fixture->job.trace, PROCESS, PROCESS, &call, result < 0 ? -1 : result,
			  NULL);
}

/* An attr whose cause is certain without a machine: the clock does not exist. */
static inline struct perch_attr bad_clock(void)
{
	struct perch_attr attr = software();

	attr.use_clockid = 1;
	attr.clockid = 99;
	return attr;
}

static inline json_t *line_of(const char *text)
{
	const char *end = strchr(text, '\n');
	json_error_t error;
	json_t *object;

	assert_non_null(end);
	object = json_loadb(text, end - text, 0, &error);
	assert_non_null(object);
	return object;
}

static inline const char *word_of(const json_t *object, const char *key)
{
	const char *word = json_string_value(json_object_get(object, key));

	assert_non_null(word);
	return word;
}

static inline json_int_t number_of(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static inline void map(struct fixture *fixture, pid_t process, int fd, int errnum)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.errnum = errnum,
		.length = 5 * 4096,
		.protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.other_fd = -1,
	};

	trace_handle_operation(&fixture->job.trace, process, process, fd, &operation,
			       errnum ? -1 : 4096, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
