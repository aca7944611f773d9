/* SPDX-License-Identifier: MIT */
/* The output of `perch explain`, text and JSON, and the count of repeated refusals. */
#define _GNU_SOURCE
#include "explain_fixture.h"
#include <perch/syscall.h>

#include "tree.h"

static void prints_a_refusal(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();
	const char *text;

	opened(fixture, &attr, -1, -1, -EINVAL);
	text = printed(fixture);
	assert_non_null(strstr(text, "perch explain: call 1 of perf_event_open: EINVAL [clockid"));
	assert_non_null(strstr(text, "\n  fields: clockid"));
	assert_non_null(strstr(text, "\n  do:     "));
	assert_non_null(strstr(
		text,
		"call:   perf_event_open({type=1 SOFTWARE, size=144, config=0x9 dummy, "
		"use_clockid=1, clockid=99}, pid 0, cpu -1, group_fd -1, flags FD_CLOEXEC)\n"));
	assert_null(strchr(text, '\033'));
	assert_int_equal(fixture->job.trace.calls, 1);
	assert_int_equal(fixture->job.trace.refused, 1);
}

/* The first release of a feature, unless the kernel is known to have it. */
static void prints_a_release_that_may_matter(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();
	static const struct {
		const char *running;
		unsigned nr;
	} rows[] = { { NULL, 1 }, { "6.11.3-amd64\n", 2 }, { "6.12.0\n", 2 }, { "7.1.0\n", 2 } };

	fixture->job.trace.verbose = 1; /* repetitions too */
	attr.inherit = 1;
	attr.sample_type = PERCH_SAMPLE_READ;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct tree_file file = { "/proc/sys/kernel/osrelease", rows[i].running };
		char directory[PATH_MAX] = "";

		if (file.text) {
			tree_make(directory, &file, 1);
			assert_int_equal(perch_machine_new(&fixture->job.trace.machine, directory,
							   NULL, NULL),
					 0);
		}
		opened(fixture, &attr, (int)i, -1, -EINVAL);
		assert_int_equal(times(printed(fixture), " (since Linux 6.12)"), rows[i].nr);
		if (file.text)
			tree_remove(directory);
		perch_machine_free(fixture->job.trace.machine);
		fixture->job.trace.machine = NULL;
	}
}

static void prints_colours_if_enabled(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();

	fixture->job.colours = true;
	opened(fixture, &attr, -1, -1, -EINVAL);
	assert_non_null(strstr(printed(fixture), "\033["));
}

static void counts_repeated_refusals(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock(), other = bad_clock();

	for (int cpu = 0; cpu < 64; cpu++)
		opened(fixture, &attr, cpu, -1, -EINVAL);
	assert_int_equal(times(printed(fixture), "perch explain:"), 1);
	other.clockid = 98; /* the same cause and fields, another message */
	opened(fixture, &other, 0, -1, -EINVAL);
	assert_non_null(strstr(
		printed(fixture),
		"\nperch explain: call 1 of perf_event_open: EINVAL [clockid] 63 more times, on CPUs 1-63 "
		"(calls 2 to 64)\nperch explain: call 65 "));
	opened(fixture, &attr, 7, -1, -EINVAL);
	explain_dedup_print_all(&fixture->job);
	assert_non_null(strstr(
		printed(fixture),
		"call 1 of perf_event_open: EINVAL [clockid] 1 more time, on CPU 7 (call 66)\n"));
	assert_int_equal(times(fixture->text, "perch explain: call 65"), 1);
	assert_int_equal(fixture->job.trace.refused, 66);
}

/* Refusals that differ in config are the same; the line has each config and the exact call numbers.
 */
static void counts_repetitions_for_other_events(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock(), fine = software(), other = bad_clock();

	opened(fixture, &attr, -1, -1, -EINVAL);
	attr.config = PERCH_COUNT_SW_CPU_CLOCK;
	opened(fixture, &attr, -1, -1, -EINVAL);
	opened(fixture, &attr, -1, -1, -EINVAL);
	opened(fixture, &fine, -1, -1, 3);
	attr.config = 0x1234;
	opened(fixture, &attr, -1, -1, -EINVAL);
	opened(fixture, &fine, -1, -1, 4);
	for (int i = 0; i < 3; i++)
		opened(fixture, &attr, -1, -1, -EINVAL);
	other.clockid = 98;
	opened(fixture, &other, -1, -1, -EINVAL);
	assert_non_null(strstr(
		printed(fixture),
		"\nperch explain: call 1 of perf_event_open: EINVAL [clockid] 6 more times, for config 0 "
		"cpu-clock, 0x1234 (calls 2, 3, 5 and 7 to 9)\nperch explain: call 10 "));
}

/* The messages have different values, so no refusal is a repetition. */
static void prints_refusals_with_another_message(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();

	opened(fixture, &attr, -5, -1, -EINVAL);
	opened(fixture, &attr, -6, -1, -EINVAL);
	attr.clockid = 3;
	attr.use_clockid = 1;
	opened(fixture, &attr, -1, -1, -EINVAL);
	attr.clockid = 99;
	opened(fixture, &attr, -1, -1, -EINVAL);
	explain_dedup_print_all(&fixture->job);
	assert_int_equal(times(printed(fixture), "\n  do:     "), 4);
	assert_int_equal(times(fixture->text, "more"), 0);
}

static void verbose_prints_each_refusal(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();

	fixture->job.trace.verbose = 1;
	for (int cpu = 0; cpu < 8; cpu++)
		opened(fixture, &attr, cpu, -1, -EINVAL);
	explain_dedup_print_all(&fixture->job);
	assert_int_equal(times(printed(fixture), "[clockid"), 8);
	assert_int_equal(times(fixture->text, "more"), 0);
}

/* A thousand refusals on different CPUs, each followed by a success. */
static void limits_printed_numbers_of_repetitions(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock(), fine = software();

	for (int cpu = 0; cpu < 1000; cpu++) {
		attr.config = cpu;
		opened(fixture, &attr, cpu * 10, -1, -EINVAL);
		opened(fixture, &fine, cpu, -1, 3);
	}
	explain_dedup_print_all(&fixture->job);
	assert_int_equal(times(printed(fixture), "perch explain: call "), 2);
	assert_non_null(strstr(
		fixture->text,
		"call 1 of perf_event_open: EINVAL [clockid] 999 more times, for config 0x1 task-clock, "));
	assert_non_null(strstr(fixture->text, "(calls 3, 5, 7, "));
	assert_non_null(strstr(fixture->text, " and others)\n"));
}

static void prints_fields_by_name(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT,
				   .size = 128,
				   .bp_type = 3,
				   .bp_addr = 0x4ac161,
				   .bp_len = 3 };

	opened(fixture, &attr, -1, -1, -EINVAL);
	assert_non_null(
		strstr(printed(fixture),
		       "{type=5 BREAKPOINT, size=128, config=0, bp_type=RW, bp_addr=0x4ac161, "
		       "bp_len=3}"));
	attr = (struct perch_attr){ .type = 77, .size = 128, .config1 = 0x1000, .config2 = 16 };
	opened(fixture, &attr, -1, -1, -ENOENT);
	assert_non_null(strstr(printed(fixture),
			       "{type=77, size=128, config=0, config1=0x1000, config2=0x10}"));
	attr = software();
	attr.config = 99;
	opened(fixture, &attr, -1, -1, -ENOENT);
	assert_non_null(strstr(printed(fixture), "config=0x63}"));
}

static void prints_refusals_of_each_process(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
	};

	trace_handle_open(&fixture->job.trace, 1, 1, &call, -1, NULL);
	trace_handle_open(&fixture->job.trace, 2, 3, &call, -1, NULL);
	assert_int_equal(times(printed(fixture), "perch explain:"), 2);
	assert_non_null(strstr(fixture->text, "(thread 3 of process 2)"));
}

/* More distinct refusals than are recorded: each is printed in full. */
static void prints_refusals_beyond_the_limit_of_dedup(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();

	for (int i = 0; i < 1000; i++) {
		attr.clockid = 1000 + i;
		opened(fixture, &attr, -1, -1, -EINVAL);
	}
	assert_int_equal(times(printed(fixture), "perch explain: call "), 1000);
	explain_dedup_print_all(&fixture->job);
	assert_int_equal(times(printed(fixture), "more"), 0);
}

static void json_has_every_member(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();
	json_t *object, *inner;

	fixture->job.trace.output = &explain_json;
	attr.clockid = -5;
	attr.freq = 1;
	attr.sample_freq = 4000;
	attr.read_format = UINT64_MAX;
	opened(fixture, &attr, 3, -1, -EINVAL);
	object = line_of(printed(fixture));
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
	assert_string_equal(json_string_value(json_array_get(json_object_get(object, "fields"), 0)),
			    "read_format");
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

static void json_prints_repeated_refusals(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();

	fixture->job.trace.output = &explain_json;
	for (int cpu = 0; cpu < 8; cpu++)
		opened(fixture, &attr, cpu, -1, -EINVAL);
	assert_int_equal(times(printed(fixture), "\n"), 8);
}

/* Invalid sizes, random bytes, errnos that the kernel does not return. */
static void prints_invalid_attrs(void **state)
{
	static const uint32_t sizes[] = { 0,   1,   7,	 8,    63,   64,   100,	      143,
					  144, 145, 152, 4095, 4096, 5000, UINT32_MAX };
	struct fixture *fixture = *state;
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
		fixture->job.trace.output = i & 2 ? &explain_json : &explain_text;
		printed(fixture);
		object = NULL;
		size_t before = fixture->size;

		opened(fixture, attr, (int)seed, -7, -(int)(i * 37 % 600 + 1));
		if (fixture->job.trace.output == &explain_json)
			object = line_of(printed(fixture) + before);
		assert_true(fixture->job.trace.output != &explain_json ||
			    json_object_get(object, "attr"));
		json_decref(object);
		free(bytes);
	}
	assert_int_equal(fixture->job.trace.refused, 4 * sizeof(sizes) / sizeof(*sizes));
}

static void prints_words_of_newer_attrs(void **state)
{
	struct fixture *fixture = *state;
	uint64_t words[32] = { 0 };
	struct perch_attr *attr = (struct perch_attr *)words;
	json_t *object;

	attr->size = 160;
	words[19] = 5; /* 152 */
	words[20] = 6; /* beyond attr.size */
	fixture->job.trace.output = &explain_json;
	opened(fixture, attr, -1, -1, -E2BIG);
	object = line_of(printed(fixture));
	assert_int_equal(number_of(json_object_get(object, "attr"), "word_152"), 5);
	assert_null(json_object_get(json_object_get(object, "attr"), "word_160"));
	json_decref(object);
}

static void json_attr_is_empty_without_attr(void **state)
{
	struct fixture *fixture = *state;
	json_t *object;

	fixture->job.trace.output = &explain_json;
	opened(fixture, NULL, -1, -1, -EFAULT);
	object = line_of(printed(fixture));
	assert_string_equal(word_of(object, "cause"), "attr-pointer");
	assert_int_equal(json_object_size(json_object_get(object, "attr")), 0);
	assert_true(json_is_object(json_object_get(object, "attr")));
	assert_true(json_is_true(json_object_get(object, "attr_is_partial")));
	json_decref(object);
}

static void cleans_text_that_is_not_utf8(void **state)
{
	struct fixture *fixture = *state;
	struct trace_caller caller = {
		.process = 1, .thread = 1, .name = "a\xff\xfe\033[2J", .several_processes = true
	};
	struct perch_explanation explanation = { .errnum = EINVAL, .nr_findings = 1 };
	struct perch_attr attr = software();
	struct perch_open_call call = { .attr = &attr, .errnum = EINVAL };
	json_t *object;

	strcpy(explanation.finding[0].message, "a message with \xc3\x28 in it");
	explanation.finding[0].cause = PERCH_CAUSE_UNEXPLAINED;
	explain_json.call(&fixture->job.trace, 1, &caller, &call, &explanation);
	object = line_of(printed(fixture));
	assert_string_equal(word_of(object, "comm"), "a???[2J");
	assert_string_equal(word_of(object, "message"), "a message with ?( in it");
	json_decref(object);
}

static void prints_candidates_and_next_causes(void **state)
{
	struct fixture *fixture = *state;
	struct trace_caller caller = { .process = 1, .thread = 1 };
	struct perch_explanation explanation = {
		.errnum = EACCES,
		.confidence = PERCH_CONFIDENCE_AMBIGUOUS,
		.nr_findings = 2,
		.nr_next = 1,
		.finding = { { .cause = PERCH_CAUSE_KERNEL_PROFILING,
			       .kind = PERCH_ERROR_PARANOID,
			       .message = "first",
			       .remedy = "do this" },
			     { .cause = PERCH_CAUSE_SECURITY_MODULE,
			       .message = "second",
			       .remedy = "do that" } },
		.next = { { .cause = PERCH_CAUSE_CLOCKID, .message = "third" } },
	};
	struct perch_attr attr = software();
	struct perch_open_call call = { .attr = &attr, .errnum = EACCES };
	json_t *object;

	explain_text.call(&fixture->job.trace, 1, &caller, &call, &explanation);
	assert_non_null(strstr(printed(fixture),
			       "EACCES [kernel-profiling, ambiguous]\n  first\n  do:     do this\n"
			       "  or:     [security-module] second; do that\n"
			       "  then:   [clockid] third\n"));
	rewind(fixture->job.out);
	explain_json.call(&fixture->job.trace, 1, &caller, &call, &explanation);
	object = line_of(printed(fixture));
	assert_int_equal(json_array_size(json_object_get(object, "candidates")), 2);
	assert_string_equal(word_of(json_array_get(json_object_get(object, "next"), 0), "cause"),
			    "clockid");
	json_decref(object);
}

static void verbose_prints_successful_open_calls(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();

	attr.clockid = 4;
	opened(fixture, &attr, -1, -1, 3);
	assert_int_equal(times(printed(fixture), "perch"), 0);
	fixture->job.trace.verbose = 1;
	opened(fixture, &attr, -1, -1, 4);
	assert_non_null(strstr(printed(fixture),
			       "perch explain: call 2 of perf_event_open: descriptor 4\n  lint:   "
			       "[lint-clockid] "));
}

static void formats_and_parses_errnos(void **state)
{
	char buffer[32];

	(void)state;
	for (int errnum = 1; errnum < 134; errnum++) {
		const char *name = trace_format_errno(errnum, buffer, sizeof(buffer));

		if (name != buffer)
			assert_int_equal(perch_errno_find(name, strlen(name)), errnum);
	}
	assert_string_equal(trace_format_errno(4000, buffer, sizeof(buffer)), "errno 4000");
	assert_string_equal(trace_format_errno(EOPNOTSUPP, buffer, sizeof(buffer)), "EOPNOTSUPP");
	assert_string_equal(trace_format_errno(EAGAIN, buffer, sizeof(buffer)), "EAGAIN");
	assert_int_equal(perch_errno_find("EINVALID", 8), 0);
	assert_int_equal(perch_errno_find("", 0), 0);
}

static void records_a_failed_write(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = bad_clock();
	FILE *memory = fixture->job.out, *full = fopen("/dev/full", "w");

	if (!full)
		skip();
	fixture->job.out = full;
	opened(fixture, &attr, -1, -1, -EINVAL);
	assert_true(fixture->job.write_failed);
	assert_int_equal(fixture->job.write_error, ENOSPC);
	fixture->job.out = memory;
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(prints_a_refusal),
		TEST(prints_a_release_that_may_matter),
		TEST(prints_colours_if_enabled),
		TEST(counts_repeated_refusals),
		TEST(counts_repetitions_for_other_events),
		TEST(prints_refusals_with_another_message),
		TEST(verbose_prints_each_refusal),
		TEST(limits_printed_numbers_of_repetitions),
		TEST(prints_fields_by_name),
		TEST(prints_refusals_of_each_process),
		TEST(prints_refusals_beyond_the_limit_of_dedup),
		TEST(json_has_every_member),
		TEST(json_prints_repeated_refusals),
		TEST(prints_invalid_attrs),
		TEST(prints_words_of_newer_attrs),
		TEST(json_attr_is_empty_without_attr),
		TEST(cleans_text_that_is_not_utf8),
		TEST(prints_candidates_and_next_causes),
		TEST(verbose_prints_successful_open_calls),
		TEST(formats_and_parses_errnos),
		TEST(records_a_failed_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
