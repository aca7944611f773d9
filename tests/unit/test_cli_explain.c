/* SPDX-License-Identifier: MIT */
/* `perch explain` without a program: made-up calls become text and JSON, descriptors are known, repetitions counted. */
#define _GNU_SOURCE
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

#include "cli/explain_attr.h"
#include "cli/explain_events.h"
#include "cli/options.h"

/* main.c is not here. */
const struct cli_command *cli_command(const char *name)
{
	(void)name;
	return NULL;
}

#define PROCESS 100

struct scene {
	struct explain_job job;
	char *text;
	size_t size;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->job.out = open_memstream(&scene->text, &scene->size);
	scene->job.from_log = true;
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	explain_forget(&scene->job);
	fclose(scene->job.out);
	free(scene->text);
	free(scene);
	return 0;
}

static const char *printed(struct scene *scene)
{
	fflush(scene->job.out);
	return scene->text;
}

static size_t times(const char *text, const char *word)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		nr++;
	return nr;
}

static struct perch_attr software(void)
{
	return (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE, .size = sizeof(struct perch_attr),
				    .config = PERCH_COUNT_SW_DUMMY };
}

static void opened(struct scene *scene, const struct perch_attr *attr, int cpu, int group, int result)
{
	struct perch_call call = { .attr = attr, .cpu = cpu, .group_fd = group, .flags = PERCH_FLAG_FD_CLOEXEC };

	if (result < 0)
		call.errnum = -result;
	explain_opened(&scene->job, PROCESS, PROCESS, &call, result < 0 ? -1 : result, NULL);
}

/* What is certain without a machine: a clock that does not exist. */
static struct perch_attr bad_clock(void)
{
	struct perch_attr attr = software();

	attr.use_clockid = 1;
	attr.clockid = 99;
	return attr;
}

static void a_refusal_is_told(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();
	const char *text;

	opened(scene, &attr, -1, -1, -EINVAL);
	text = printed(scene);
	assert_non_null(strstr(text, "perch explain: call 1 of perf_event_open: EINVAL [clockid"));
	assert_non_null(strstr(text, "\n  fields: clockid"));
	assert_non_null(strstr(text, "\n  do:     "));
	assert_non_null(strstr(text, "call:   perf_event_open({type=1 SOFTWARE, size=144, config=0x9 dummy, "
				     "use_clockid=1, clockid=99}, pid 0, cpu -1, group_fd -1, flags FD_CLOEXEC)\n"));
	assert_null(strchr(text, '\033'));
	assert_int_equal(scene->job.calls, 1);
	assert_int_equal(scene->job.refused, 1);
}

static void colours_only_when_asked_for(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();

	scene->job.colours = true;
	opened(scene, &attr, -1, -1, -EINVAL);
	assert_non_null(strstr(printed(scene), "\033["));
}

static void the_same_refusal_is_told_once(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();
	const char *text;

	for (int cpu = 0; cpu < 64; cpu++)
		opened(scene, &attr, cpu, -1, -EINVAL);
	assert_int_equal(times(printed(scene), "perch explain:"), 1);
	attr.config = PERCH_COUNT_SW_CPU_CLOCK;
	opened(scene, &attr, 0, -1, -EINVAL);
	text = printed(scene);
	assert_non_null(strstr(text, "\n  again:  63 times more, on CPUs 1-63 (calls 2 to 64)\n"
				     "perch explain: call 65 "));
	attr.config = PERCH_COUNT_SW_DUMMY;
	opened(scene, &attr, 7, -1, -EINVAL);
	explain_told_rest(&scene->job);
	assert_non_null(strstr(printed(scene), "call 1's EINVAL [clockid] once more, on CPU 7 (call 66)\n"));
	assert_int_equal(scene->job.refused, 66);
}

static void another_process_is_another_refusal(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();
	struct perch_call call = { .attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL };

	explain_opened(&scene->job, 1, 1, &call, -1, NULL);
	explain_opened(&scene->job, 2, 3, &call, -1, NULL);
	assert_int_equal(times(printed(scene), "perch explain:"), 2);
	assert_non_null(strstr(scene->text, "(thread 3 of process 2)"));
}

/* More kinds of refusals than are remembered: told in full, and no harm done. */
static void many_refusals(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();

	for (int i = 0; i < 1000; i++) {
		attr.config = 1000 + i;
		opened(scene, &attr, -1, -1, -EINVAL);
	}
	assert_int_equal(times(printed(scene), "perch explain: call "), 1000);
	explain_told_rest(&scene->job);
	assert_int_equal(times(printed(scene), "more"), 0);
}

static json_t *line_of(const char *text)
{
	const char *end = strchr(text, '\n');
	json_error_t error;
	json_t *object;

	assert_non_null(end);
	object = json_loadb(text, end - text, 0, &error);
	assert_non_null(object);
	return object;
}

static const char *word_of(const json_t *object, const char *key)
{
	const char *word = json_string_value(json_object_get(object, key));

	assert_non_null(word);
	return word;
}

static json_int_t number_of(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static void json_has_every_member(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();
	json_t *object, *inner;

	scene->job.json = true;
	attr.clockid = -5;
	attr.freq = 1;
	attr.sample_freq = 4000;
	attr.read_format = UINT64_MAX;
	opened(scene, &attr, 3, -1, -EINVAL);
	object = line_of(printed(scene));
	assert_int_equal(number_of(object, "call"), 1);
	assert_int_equal(number_of(object, "pid"), PROCESS);
	assert_int_equal(number_of(object, "errno"), EINVAL);
	assert_string_equal(word_of(object, "errno_name"), "EINVAL");
	assert_string_equal(word_of(object, "kind"), "bad-field");
	assert_string_equal(word_of(object, "cause"), "read-format-bits");
	assert_true(word_of(object, "message")[0] && word_of(object, "remedy")[0]);
	assert_non_null(word_of(object, "since"));
	assert_non_null(word_of(object, "confidence"));
	assert_true(json_is_array(json_object_get(object, "next")));
	assert_string_equal(json_string_value(json_array_get(json_object_get(object, "fields"), 0)), "read_format");
	assert_int_equal(number_of(object, "probes"), 0);
	inner = json_object_get(object, "attr");
	assert_int_equal(number_of(inner, "type"), 1);
	assert_int_equal(number_of(inner, "clockid"), -5);
	assert_int_equal(number_of(inner, "sample_freq"), 4000);
	assert_string_equal(word_of(inner, "read_format"), "0xffffffffffffffff");
	assert_null(json_object_get(inner, "sample_period"));
	assert_null(json_object_get(inner, "disabled"));
	inner = json_object_get(object, "args");
	assert_int_equal(number_of(inner, "pid"), 0);
	assert_int_equal(number_of(inner, "cpu"), 3);
	assert_int_equal(number_of(inner, "group_fd"), -1);
	assert_int_equal(number_of(inner, "flags"), PERCH_FLAG_FD_CLOEXEC);
	json_decref(object);
}

static void json_tells_each_of_the_same(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();

	scene->job.json = true;
	for (int cpu = 0; cpu < 8; cpu++)
		opened(scene, &attr, cpu, -1, -EINVAL);
	assert_int_equal(times(printed(scene), "\n"), 8);
}

/* Sizes that are none, bytes that mean nothing, errnos that nobody gave. */
static void garbage_is_told_too(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 7, 8, 63, 64, 100, 143, 144, 145, 152, 4095, 4096, 5000, UINT32_MAX };
	struct scene *scene = *state;
	unsigned seed = 1;

	for (size_t i = 0; i < 4 * sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t size = sizes[i / 4], readable = size ? size : 64;
		struct perch_attr *attr;
		char *bytes;
		json_t *object;

		readable = readable > 4096 ? 4096 : readable < 8 ? 8 : readable;
		bytes = malloc(readable);
		for (uint32_t at = 0; at < readable; at++)
			bytes[at] = i & 1 ? (char)rand_r(&seed) : 0;
		memcpy(bytes + 4, &size, sizeof(size));
		attr = (struct perch_attr *)bytes;
		scene->job.json = i & 2;
		printed(scene);
		object = NULL;
		size_t before = scene->size;

		opened(scene, attr, (int)seed, -7, -(int)(i * 37 % 600 + 1));
		if (scene->job.json)
			object = line_of(printed(scene) + before);
		assert_true(!scene->job.json || json_object_get(object, "attr"));
		json_decref(object);
		free(bytes);
	}
	assert_int_equal(scene->job.refused, 4 * sizeof(sizes) / sizeof(*sizes));
}

static void words_beyond_the_known_are_told(void **state)
{
	struct scene *scene = *state;
	uint64_t words[32] = { 0 };
	struct perch_attr *attr = (struct perch_attr *)words;
	json_t *object;

	attr->size = 160;
	words[19] = 5;			/* 152 */
	words[20] = 6;			/* not of the attr any more */
	scene->job.json = true;
	opened(scene, attr, -1, -1, -E2BIG);
	object = line_of(printed(scene));
	assert_int_equal(number_of(json_object_get(object, "attr"), "word_152"), 5);
	assert_null(json_object_get(json_object_get(object, "attr"), "word_160"));
	json_decref(object);
}

static void no_attr_is_null(void **state)
{
	struct scene *scene = *state;
	json_t *object;

	scene->job.json = true;
	opened(scene, NULL, -1, -1, -EFAULT);
	object = line_of(printed(scene));
	assert_string_equal(word_of(object, "cause"), "attr-pointer");
	assert_true(json_is_null(json_object_get(object, "attr")));
	json_decref(object);
}

static void names_that_are_no_text(void **state)
{
	struct scene *scene = *state;
	struct explain_caller caller = { .process = 1, .thread = 1, .name = "a\xff\xfe\033[2J", .several = true };
	struct perch_explanation explanation = { .errnum = EINVAL, .nr_findings = 1 };
	struct perch_attr attr = software();
	struct perch_call call = { .attr = &attr, .errnum = EINVAL };
	json_t *object;

	strcpy(explanation.finding[0].message, "a message with \xc3\x28 in it");
	explanation.finding[0].cause = PERCH_CAUSE_UNEXPLAINED;
	explain_json_call(&scene->job, 1, &caller, &call, &explanation);
	object = line_of(printed(scene));
	assert_string_equal(word_of(object, "comm"), "a???[2J");
	assert_string_equal(word_of(object, "message"), "a message with ?( in it");
	json_decref(object);
}

static void candidates_and_what_comes_next(void **state)
{
	struct scene *scene = *state;
	struct explain_caller caller = { .process = 1, .thread = 1 };
	struct perch_explanation explanation = {
		.errnum = EACCES, .confidence = PERCH_CONFIDENCE_AMBIGUOUS, .nr_findings = 2, .nr_next = 1,
		.finding = { { .cause = PERCH_CAUSE_KERNEL_SIDE, .kind = PERCH_ERROR_PARANOID, .message = "first",
			       .remedy = "do this" },
			     { .cause = PERCH_CAUSE_SECURITY_MODULE, .message = "second", .remedy = "do that" } },
		.next = { { .cause = PERCH_CAUSE_CLOCKID, .message = "third" } },
	};
	struct perch_attr attr = software();
	struct perch_call call = { .attr = &attr, .errnum = EACCES };
	json_t *object;

	explain_print_call(&scene->job, 1, &caller, &call, &explanation);
	assert_non_null(strstr(printed(scene), "EACCES [kernel-side, ambiguous]\n  first\n  do:     do this\n"
					       "  or:     [security-module] second; do that\n"
					       "  then:   [clockid] third\n"));
	rewind(scene->job.out);
	explain_json_call(&scene->job, 1, &caller, &call, &explanation);
	object = line_of(printed(scene));
	assert_int_equal(json_array_size(json_object_get(object, "candidates")), 2);
	assert_string_equal(word_of(json_array_get(json_object_get(object, "next"), 0), "cause"), "clockid");
	json_decref(object);
}

static void map(struct scene *scene, pid_t process, int fd, int errnum)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MAP, .errnum = errnum, .length = 5 * 4096, .protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED, .other_fd = -1,
	};

	explain_operated(&scene->job, process, process, fd, &operation, errnum ? -1 : 4096, NULL);
}

static void groups_are_followed(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct explain_job *job = &scene->job;
	struct perch_call_leader leader;

	opened(scene, &attr, -1, -1, 3);
	opened(scene, &attr, -1, 3, 4);
	opened(scene, &attr, -1, 3, 5);
	map(scene, PROCESS, 3, 0);
	assert_true(explain_event_leader(explain_event_of(job->descriptors, PROCESS, 3), &leader));
	assert_int_equal(leader.members, 3);
	assert_true(leader.has_ring);
	assert_false(leader.is_member);
	assert_int_equal(leader.attr->config, PERCH_COUNT_SW_DUMMY);
	assert_true(explain_event_leader(explain_event_of(job->descriptors, PROCESS, 5), &leader));
	assert_true(leader.is_member);
	explain_closed(job, PROCESS, 4);
	assert_int_equal(explain_event_group(explain_event_of(job->descriptors, PROCESS, 5)), 2);
	explain_closed(job, PROCESS, 3);
	assert_true(explain_event_leader(explain_event_of(job->descriptors, PROCESS, 5), &leader));
	assert_false(leader.is_member);
	assert_false(explain_is_event(job, PROCESS, 4));
	assert_true(explain_is_event(job, PROCESS, 5));
}

/* The number of a descriptor that was closed unseen, given again: members of the old one do not become its. */
static void a_descriptor_opened_again(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct explain_job *job = &scene->job;

	opened(scene, &attr, -1, -1, 3);
	opened(scene, &attr, -1, 3, 4);
	attr.config = PERCH_COUNT_SW_CPU_CLOCK;
	opened(scene, &attr, -1, -1, 3);
	assert_int_equal(explain_event_of(job->descriptors, PROCESS, 3)->attr.config, PERCH_COUNT_SW_CPU_CLOCK);
	assert_int_equal(explain_event_group(explain_event_of(job->descriptors, PROCESS, 3)), 1);
	assert_int_equal(explain_event_group(explain_event_of(job->descriptors, PROCESS, 4)), 1);
	opened(scene, &attr, -1, 4, 4);		/* nonsense of a log: it becomes its own leader */
	assert_int_equal(explain_event_group(explain_event_of(job->descriptors, PROCESS, 4)), 1);
}

static void forks_and_execs(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct perch_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct explain_job *job = &scene->job;

	opened(scene, &attr, -1, -1, 3);
	explain_opened(job, PROCESS, PROCESS, &call, 4, NULL);
	explain_forked(job, PROCESS, 101);
	explain_closed(job, PROCESS, 3);
	assert_false(explain_is_event(job, PROCESS, 3));
	assert_true(explain_is_event(job, 101, 3));
	explain_executed(job, 101);
	assert_false(explain_is_event(job, 101, 3));	/* it was opened with FD_CLOEXEC */
	assert_true(explain_is_event(job, 101, 4));
	explain_ended(job, PROCESS);
	explain_ended(job, PROCESS);
	assert_false(explain_is_event(job, PROCESS, 4));
	map(scene, 101, 4, EINVAL);
	assert_non_null(strstr(printed(scene), "mmap of descriptor 4, from call 2 (process 101): EINVAL ["));
	assert_non_null(strstr(scene->text, "mmap(length 20480, PROT_READ|PROT_WRITE, MAP_SHARED, fd 4, offset 0) of "
					    "{type=1 SOFTWARE, size=144, config=0x9 dummy}, pid 0, cpu -1\n"));
}

static void growth_is_bounded(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct explain_job *job = &scene->job;

	for (int fd = 0; fd < 2000; fd++)
		opened(scene, &attr, -1, -1, fd);
	for (int child = 1000; child < 2000; child++)
		explain_forked(job, PROCESS, child);
	assert_true(explain_is_event(job, 1001, 1999));
	assert_false(explain_is_event(job, 1999, 0));	/* above a million descriptors nothing is remembered */
	opened(scene, &attr, -1, -1, 2000);
	assert_false(explain_is_event(job, PROCESS, 2000));
	explain_ended(job, 1001);
	opened(scene, &attr, -1, -1, 2000);
	assert_true(explain_is_event(job, PROCESS, 2000));
}

static void operations_as_json(void **state)
{
	struct scene *scene = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_CONTROL, .errnum = EBADF, .other_fd = 99,
					     .request = PERCH_IOC_SET_OUTPUT, .argument = 99 };
	struct perch_attr attr = software();
	json_t *object;

	scene->job.json = true;
	opened(scene, &attr, -1, -1, 3);
	explain_operated(&scene->job, PROCESS, PROCESS, 3, &operation, -1, NULL);
	object = line_of(printed(scene));
	assert_string_equal(word_of(object, "operation"), "ioctl");
	assert_string_equal(word_of(object, "cause"), "control-output-fd");
	assert_int_equal(number_of(object, "call"), 1);
	assert_int_equal(number_of(json_object_get(object, "attr"), "config"), PERCH_COUNT_SW_DUMMY);
	assert_string_equal(word_of(json_object_get(object, "args"), "request_name"), "PERF_EVENT_IOC_SET_OUTPUT");
	assert_int_equal(number_of(json_object_get(object, "args"), "argument"), 99);
	json_decref(object);
}

/* Of descriptors that were there before anything was seen. */
static void operations_of_unknown_events(void **state)
{
	struct scene *scene = *state;
	json_t *object;

	scene->job.json = true;
	map(scene, PROCESS, 77, EPERM);
	object = line_of(printed(scene));
	assert_true(json_is_null(json_object_get(object, "call")));
	assert_true(json_is_null(json_object_get(object, "attr")));
	json_decref(object);
}

static void a_read_of_nothing_is_told(void **state)
{
	struct scene *scene = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_READ, .size = 24, .other_fd = -1 };
	struct perch_attr attr = software();

	attr.pinned = 1;
	opened(scene, &attr, -1, -1, 3);
	explain_operated(&scene->job, PROCESS, PROCESS, 3, &operation, 8, NULL);
	assert_int_equal(times(printed(scene), "perch"), 0);
	explain_operated(&scene->job, PROCESS, PROCESS, 3, &operation, 0, NULL);
	assert_non_null(strstr(printed(scene), ": end of file [read-error-state"));
	assert_int_equal(scene->job.operations_refused, 1);
}

static void verbose_tells_successes(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();

	attr.clockid = 4;
	opened(scene, &attr, -1, -1, 3);
	assert_int_equal(times(printed(scene), "perch"), 0);
	scene->job.verbose = 1;
	opened(scene, &attr, -1, -1, 4);
	assert_non_null(strstr(printed(scene), "perch explain: call 2 of perf_event_open: descriptor 4\n  lint:   "
					       "[lint-clockid] "));
}

static void errnos_have_names(void **state)
{
	char buffer[32];

	(void)state;
	for (int errnum = 1; errnum < 134; errnum++) {
		const char *name = explain_errno_name(errnum, buffer, sizeof(buffer));

		if (name != buffer)
			assert_int_equal(explain_errno_number(name, strlen(name)), errnum);
	}
	assert_string_equal(explain_errno_name(4000, buffer, sizeof(buffer)), "errno 4000");
	assert_string_equal(explain_errno_name(EOPNOTSUPP, buffer, sizeof(buffer)), "EOPNOTSUPP");
	assert_string_equal(explain_errno_name(EAGAIN, buffer, sizeof(buffer)), "EAGAIN");
	assert_int_equal(explain_errno_number("EINVALID", 8), 0);
	assert_int_equal(explain_errno_number("", 0), 0);
}

static void a_full_disk_is_noticed(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = bad_clock();
	FILE *memory = scene->job.out, *full = fopen("/dev/full", "w");

	if (!full)
		skip();
	scene->job.out = full;
	opened(scene, &attr, -1, -1, -EINVAL);
	assert_true(scene->job.write_failed);
	assert_int_equal(scene->job.write_error, ENOSPC);
	scene->job.out = memory;
	fclose(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_refusal_is_told),
		TEST(colours_only_when_asked_for),
		TEST(the_same_refusal_is_told_once),
		TEST(another_process_is_another_refusal),
		TEST(many_refusals),
		TEST(json_has_every_member),
		TEST(json_tells_each_of_the_same),
		TEST(garbage_is_told_too),
		TEST(words_beyond_the_known_are_told),
		TEST(no_attr_is_null),
		TEST(names_that_are_no_text),
		TEST(candidates_and_what_comes_next),
		TEST(groups_are_followed),
		TEST(a_descriptor_opened_again),
		TEST(forks_and_execs),
		TEST(growth_is_bounded),
		TEST(operations_as_json),
		TEST(operations_of_unknown_events),
		TEST(a_read_of_nothing_is_told),
		TEST(verbose_tells_successes),
		TEST(errnos_have_names),
		TEST(a_full_disk_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
