/* SPDX-License-Identifier: MIT */
/* Explains logs of strace, and reads the JSON. The file that includes it defines _GNU_SOURCE. */
#ifndef TESTS_EXPLAIN_LOG_FIXTURE_H
#define TESTS_EXPLAIN_LOG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "cli/explain/explain.h"
#include "trace/strace.h"

struct fixture {
	struct explain_job job;
	char *text;
	size_t size;
	json_t *object; /* the last line of the output */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->job.out = open_memstream(&fixture->text, &fixture->size);
	fixture->job.trace.from_log = true;
	fixture->job.trace.output = &explain_json;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	json_decref(fixture->object);
	trace_job_clear(&fixture->job.trace);
	explain_dedup_free(&fixture->job);
	fclose(fixture->job.out);
	free(fixture->text);
	free(fixture);
	return 0;
}

/* Explains the log. Returns the object of its last refusal, or NULL without one. */
static json_t *explain(struct fixture *fixture, const char *log)
{
	char path[64];
	int fd = memfd_create("log", 0);
	struct perch_error err;
	char *last;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, log, strlen(log)), strlen(log));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_read_strace(&fixture->job.trace, path, &err), 0);
	close(fd);
	fflush(fixture->job.out);
	json_decref(fixture->object);
	fixture->object = NULL;
	if (!fixture->size)
		return NULL;
	fixture->text[fixture->size - 1] = '\0';
	last = strrchr(fixture->text, '\n');
	fixture->object = json_loads(last ? last + 1 : fixture->text, 0, NULL);
	assert_non_null(fixture->object);
	fixture->text[fixture->size - 1] = '\n';
	return fixture->object;
}

static inline long long number(const json_t *object, const char *of, const char *key)
{
	const json_t *inner = of ? json_object_get(object, of) : object;

	return json_integer_value(json_object_get(inner, key));
}

static inline const char *word(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
