/* SPDX-License-Identifier: MIT */
/* `perch explain`: the events of descriptors through groups, fork and exec, and their operations.
 */
#define _GNU_SOURCE
#include "explain_fixture.h"

static void counts_group_members(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();
	struct trace_job *job = &fixture->job.trace;
	struct perch_open_call_leader leader;

	opened(fixture, &attr, -1, -1, 3);
	opened(fixture, &attr, -1, 3, 4);
	opened(fixture, &attr, -1, 3, 5);
	map(fixture, PROCESS, 3, 0);
	assert_true(
		trace_get_leader(trace_find_event(job->descriptors, PROCESS, 3), PROCESS, &leader));
	assert_int_equal(leader.members, 3);
	assert_true(leader.has_ring);
	assert_false(leader.is_member);
	assert_int_equal(leader.attr->config, PERCH_COUNT_SW_DUMMY);
	assert_true(
		trace_get_leader(trace_find_event(job->descriptors, PROCESS, 5), PROCESS, &leader));
	assert_true(leader.is_member);
	trace_handle_close(job, PROCESS, 4);
	assert_int_equal(trace_group_size(trace_find_event(job->descriptors, PROCESS, 5)), 2);
	trace_handle_close(job, PROCESS, 3);
	assert_true(
		trace_get_leader(trace_find_event(job->descriptors, PROCESS, 5), PROCESS, &leader));
	assert_false(leader.is_member);
	assert_false(trace_is_event(job, PROCESS, 4));
	assert_true(trace_is_event(job, PROCESS, 5));
}

/* The close of descriptor 3 was not reported: the new event does not get the old one's members. */
static void reopened_descriptor_is_a_new_event(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();
	struct trace_job *job = &fixture->job.trace;

	opened(fixture, &attr, -1, -1, 3);
	opened(fixture, &attr, -1, 3, 4);
	attr.config = PERCH_COUNT_SW_CPU_CLOCK;
	opened(fixture, &attr, -1, -1, 3);
	assert_int_equal(trace_find_event(job->descriptors, PROCESS, 3)->attr.config,
			 PERCH_COUNT_SW_CPU_CLOCK);
	assert_int_equal(trace_group_size(trace_find_event(job->descriptors, PROCESS, 3)), 1);
	assert_int_equal(trace_group_size(trace_find_event(job->descriptors, PROCESS, 4)), 1);
	opened(fixture, &attr, -1, 4, 4); /* invalid: it becomes a leader */
	assert_int_equal(trace_group_size(trace_find_event(job->descriptors, PROCESS, 4)), 1);
}

static void fork_copies_and_exec_closes_descriptors(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct trace_job *job = &fixture->job.trace;

	opened(fixture, &attr, -1, -1, 3);
	trace_handle_open(job, PROCESS, PROCESS, &call, 4, NULL);
	trace_handle_fork(job, PROCESS, 101);
	trace_handle_close(job, PROCESS, 3);
	assert_false(trace_is_event(job, PROCESS, 3));
	assert_true(trace_is_event(job, 101, 3));
	trace_handle_exec(job, 101);
	assert_false(trace_is_event(job, 101, 3)); /* opened with FD_CLOEXEC */
	assert_true(trace_is_event(job, 101, 4));
	trace_handle_exit(job, PROCESS);
	trace_handle_exit(job, PROCESS);
	assert_false(trace_is_event(job, PROCESS, 4));
	map(fixture, 101, 4, EINVAL);
	assert_non_null(strstr(printed(fixture),
			       "mmap of descriptor 4, opened by call 2 (process 101): EINVAL ["));
	assert_non_null(
		strstr(fixture->text,
		       "mmap(length 20480, PROT_READ|PROT_WRITE, MAP_SHARED, fd 4, offset 0) of "
		       "{type=1 SOFTWARE, size=144, config=0x9 dummy}, pid 0, cpu -1\n"));
}

static void limits_descriptors(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();
	struct trace_job *job = &fixture->job.trace;

	for (int fd = 0; fd < 2000; fd++)
		opened(fixture, &attr, -1, -1, fd);
	for (int child = 1000; child < 2000; child++)
		trace_handle_fork(job, PROCESS, child);
	assert_true(trace_is_event(job, 1001, 1999));
	/* beyond a million descriptors, none is recorded */
	assert_false(trace_is_event(job, 1999, 0));
	opened(fixture, &attr, -1, -1, 2000);
	assert_false(trace_is_event(job, PROCESS, 2000));
	trace_handle_exit(job, 1001);
	opened(fixture, &attr, -1, -1, 2000);
	assert_true(trace_is_event(job, PROCESS, 2000));
}

/* The same event, request and errno, but another period. */
static void prints_operations_that_differ(void **state)
{
	struct fixture *fixture = *state;
	struct perch_attr attr = software();

	attr.sample_period = 1;
	opened(fixture, &attr, -1, -1, 3);
	for (int i = 0; i < 3; i++) {
		struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
						     .errnum = EINVAL,
						     .other_fd = -1,
						     .request = PERCH_IOC_PERIOD,
						     .period_known = true,
						     .period = i ? UINT64_C(1) << 63 : 0 };

		trace_handle_operation(&fixture->job.trace, PROCESS, PROCESS, 3, &operation, -1,
				       NULL);
	}
	assert_int_equal(times(printed(fixture),
			       "ioctl of descriptor 3, opened by call 1: EINVAL [ioctl-period]\n"),
			 2);
	assert_non_null(strstr(printed(fixture), "PERF_EVENT_IOC_PERIOD, [9223372036854775808])"));
	explain_dedup_print_all(&fixture->job);
	assert_int_equal(times(printed(fixture),
			       "perch explain: ioctl of descriptor 3, opened by call 1: EINVAL "
			       "[ioctl-period] 1 more time\n"),
			 1);
}

static void json_of_an_operation(void **state)
{
	struct fixture *fixture = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
					     .errnum = EBADF,
					     .other_fd = 99,
					     .request = PERCH_IOC_SET_OUTPUT,
					     .argument = 99 };
	struct perch_attr attr = software();
	json_t *object;

	fixture->job.trace.output = &explain_json;
	opened(fixture, &attr, -1, -1, 3);
	trace_handle_operation(&fixture->job.trace, PROCESS, PROCESS, 3, &operation, -1, NULL);
	object = line_of(printed(fixture));
	assert_string_equal(word_of(object, "operation"), "ioctl");
	assert_string_equal(word_of(object, "cause"), "ioctl-output-fd");
	assert_int_equal(number_of(object, "call"), 1);
	assert_int_equal(number_of(json_object_get(object, "attr"), "config"),
			 PERCH_COUNT_SW_DUMMY);
	assert_string_equal(word_of(json_object_get(object, "args"), "request_name"),
			    "PERF_EVENT_IOC_SET_OUTPUT");
	assert_int_equal(number_of(json_object_get(object, "args"), "argument"), 99);
	assert_int_equal(number_of(json_object_get(object, "args"), "fd"), 3);
	assert_int_equal(number_of(json_object_get(object, "args"), "group_fd"), -1);
	assert_int_equal(number_of(json_object_get(object, "args"), "flags"),
			 PERCH_FLAG_FD_CLOEXEC);
	json_decref(object);
}

/* The open call of the descriptor was not seen. */
static void json_of_an_operation_without_event(void **state)
{
	struct fixture *fixture = *state;
	json_t *object;

	fixture->job.trace.output = &explain_json;
	map(fixture, PROCESS, 77, EPERM);
	object = line_of(printed(fixture));
	assert_true(json_is_null(json_object_get(object, "call")));
	assert_int_equal(json_object_size(json_object_get(object, "attr")), 0);
	assert_true(json_is_null(json_object_get(json_object_get(object, "args"), "cpu")));
	json_decref(object);
}

static void explains_read_at_end_of_file(void **state)
{
	struct fixture *fixture = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_READ,
					     .size = 24,
					     .other_fd = -1 };
	struct perch_attr attr = software();

	attr.pinned = 1;
	opened(fixture, &attr, -1, -1, 3);
	trace_handle_operation(&fixture->job.trace, PROCESS, PROCESS, 3, &operation, 8, NULL);
	assert_int_equal(times(printed(fixture), "perch"), 0);
	trace_handle_operation(&fixture->job.trace, PROCESS, PROCESS, 3, &operation, 0, NULL);
	assert_non_null(strstr(printed(fixture), ": end of file [read-error-state"));
	assert_int_equal(fixture->job.trace.operations_refused, 1);
}

static void names_the_buffer_of_read(void **state)
{
	struct fixture *fixture = *state;
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_READ, .errnum = EFAULT, .size = 64, .other_fd = -1
	};
	struct perch_attr attr = software();

	opened(fixture, &attr, -1, -1, 3);
	trace_handle_operation(&fixture->job.trace, PROCESS, PROCESS, 3, &operation, -1, NULL);
	assert_non_null(strstr(printed(fixture), "EFAULT [read-pointer"));
	assert_non_null(strstr(fixture->text, "\n  fields: buf\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_group_members),
		TEST(reopened_descriptor_is_a_new_event),
		TEST(fork_copies_and_exec_closes_descriptors),
		TEST(limits_descriptors),
		TEST(prints_operations_that_differ),
		TEST(json_of_an_operation),
		TEST(json_of_an_operation_without_event),
		TEST(explains_read_at_end_of_file),
		TEST(names_the_buffer_of_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
