/* SPDX-License-Identifier: MIT */
/* `perch explain`: which event a descriptor is, through groups, forks and execs, and what is told
 * of its operations. */
#define _GNU_SOURCE
#include "explain_scene.h"

static void groups_are_followed(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct explain_job *job = &scene->job;
	struct perch_open_call_leader leader;

	opened(scene, &attr, -1, -1, 3);
	opened(scene, &attr, -1, 3, 4);
	opened(scene, &attr, -1, 3, 5);
	map(scene, PROCESS, 3, 0);
	assert_true(explain_get_leader(explain_find_event(job->descriptors, PROCESS, 3), &leader));
	assert_int_equal(leader.members, 3);
	assert_true(leader.has_ring);
	assert_false(leader.is_member);
	assert_int_equal(leader.attr->config, PERCH_COUNT_SW_DUMMY);
	assert_true(explain_get_leader(explain_find_event(job->descriptors, PROCESS, 5), &leader));
	assert_true(leader.is_member);
	explain_handle_close(job, PROCESS, 4);
	assert_int_equal(explain_group_size(explain_find_event(job->descriptors, PROCESS, 5)), 2);
	explain_handle_close(job, PROCESS, 3);
	assert_true(explain_get_leader(explain_find_event(job->descriptors, PROCESS, 5), &leader));
	assert_false(leader.is_member);
	assert_false(explain_is_event(job, PROCESS, 4));
	assert_true(explain_is_event(job, PROCESS, 5));
}

/* The number of a descriptor that was closed unseen, given again: members of the old one do not
 * become its. */
static void a_descriptor_opened_again(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct explain_job *job = &scene->job;

	opened(scene, &attr, -1, -1, 3);
	opened(scene, &attr, -1, 3, 4);
	attr.config = PERCH_COUNT_SW_CPU_CLOCK;
	opened(scene, &attr, -1, -1, 3);
	assert_int_equal(explain_find_event(job->descriptors, PROCESS, 3)->attr.config,
			 PERCH_COUNT_SW_CPU_CLOCK);
	assert_int_equal(explain_group_size(explain_find_event(job->descriptors, PROCESS, 3)), 1);
	assert_int_equal(explain_group_size(explain_find_event(job->descriptors, PROCESS, 4)), 1);
	opened(scene, &attr, -1, 4, 4); /* nonsense of a log: it becomes its own leader */
	assert_int_equal(explain_group_size(explain_find_event(job->descriptors, PROCESS, 4)), 1);
}

static void forks_and_execs(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct explain_job *job = &scene->job;

	opened(scene, &attr, -1, -1, 3);
	explain_handle_open(job, PROCESS, PROCESS, &call, 4, NULL);
	explain_handle_fork(job, PROCESS, 101);
	explain_handle_close(job, PROCESS, 3);
	assert_false(explain_is_event(job, PROCESS, 3));
	assert_true(explain_is_event(job, 101, 3));
	explain_handle_exec(job, 101);
	assert_false(explain_is_event(job, 101, 3)); /* it was opened with FD_CLOEXEC */
	assert_true(explain_is_event(job, 101, 4));
	explain_handle_exit(job, PROCESS);
	explain_handle_exit(job, PROCESS);
	assert_false(explain_is_event(job, PROCESS, 4));
	map(scene, 101, 4, EINVAL);
	assert_non_null(strstr(printed(scene),
			       "mmap of descriptor 4, from call 2 (process 101): EINVAL ["));
	assert_non_null(
		strstr(scene->text,
		       "mmap(length 20480, PROT_READ|PROT_WRITE, MAP_SHARED, fd 4, offset 0) of "
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
		explain_handle_fork(job, PROCESS, child);
	assert_true(explain_is_event(job, 1001, 1999));
	/* above a million descriptors nothing is remembered */
	assert_false(explain_is_event(job, 1999, 0));
	opened(scene, &attr, -1, -1, 2000);
	assert_false(explain_is_event(job, PROCESS, 2000));
	explain_handle_exit(job, 1001);
	opened(scene, &attr, -1, -1, 2000);
	assert_true(explain_is_event(job, PROCESS, 2000));
}

/* Same event, same request, same errno: and each something else. */
static void operations_that_differ_are_each_told(void **state)
{
	struct scene *scene = *state;
	struct perch_attr attr = software();

	attr.sample_period = 1;
	opened(scene, &attr, -1, -1, 3);
	for (int i = 0; i < 3; i++) {
		struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
						     .errnum = EINVAL,
						     .other_fd = -1,
						     .request = PERCH_IOC_PERIOD,
						     .period_known = true,
						     .period = i ? UINT64_C(1) << 63 : 0 };

		explain_handle_operation(&scene->job, PROCESS, PROCESS, 3, &operation, -1, NULL);
	}
	assert_int_equal(times(printed(scene),
			       "ioctl of descriptor 3, from call 1: EINVAL [ioctl-period]\n"),
			 2);
	assert_non_null(strstr(printed(scene), "PERF_EVENT_IOC_PERIOD, [9223372036854775808])"));
	explain_dedup_print_all(&scene->job);
	assert_int_equal(times(printed(scene),
			       "perch explain: ioctl of descriptor 3, from call 1: EINVAL "
			       "[ioctl-period] once more\n"),
			 1);
}

static void operations_as_json(void **state)
{
	struct scene *scene = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
					     .errnum = EBADF,
					     .other_fd = 99,
					     .request = PERCH_IOC_SET_OUTPUT,
					     .argument = 99 };
	struct perch_attr attr = software();
	json_t *object;

	scene->job.json = true;
	opened(scene, &attr, -1, -1, 3);
	explain_handle_operation(&scene->job, PROCESS, PROCESS, 3, &operation, -1, NULL);
	object = line_of(printed(scene));
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

/* Of descriptors that were there before anything was seen. */
static void operations_of_unknown_events(void **state)
{
	struct scene *scene = *state;
	json_t *object;

	scene->job.json = true;
	map(scene, PROCESS, 77, EPERM);
	object = line_of(printed(scene));
	assert_true(json_is_null(json_object_get(object, "call")));
	assert_int_equal(json_object_size(json_object_get(object, "attr")), 0);
	assert_true(json_is_null(json_object_get(json_object_get(object, "args"), "cpu")));
	json_decref(object);
}

static void a_read_of_nothing_is_told(void **state)
{
	struct scene *scene = *state;
	struct perch_operation operation = { .kind = PERCH_OPERATION_READ,
					     .size = 24,
					     .other_fd = -1 };
	struct perch_attr attr = software();

	attr.pinned = 1;
	opened(scene, &attr, -1, -1, 3);
	explain_handle_operation(&scene->job, PROCESS, PROCESS, 3, &operation, 8, NULL);
	assert_int_equal(times(printed(scene), "perch"), 0);
	explain_handle_operation(&scene->job, PROCESS, PROCESS, 3, &operation, 0, NULL);
	assert_non_null(strstr(printed(scene), ": end of file [read-error-state"));
	assert_int_equal(scene->job.operations_refused, 1);
}

static void a_parameter_of_read_has_its_name(void **state)
{
	struct scene *scene = *state;
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_READ, .errnum = EFAULT, .size = 64, .other_fd = -1
	};
	struct perch_attr attr = software();

	opened(scene, &attr, -1, -1, 3);
	explain_handle_operation(&scene->job, PROCESS, PROCESS, 3, &operation, -1, NULL);
	assert_non_null(strstr(printed(scene), "EFAULT [read-pointer"));
	assert_non_null(strstr(scene->text, "\n  fields: buf\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_are_followed),
		TEST(a_descriptor_opened_again),
		TEST(forks_and_execs),
		TEST(growth_is_bounded),
		TEST(operations_that_differ_are_each_told),
		TEST(operations_as_json),
		TEST(operations_of_unknown_events),
		TEST(a_read_of_nothing_is_told),
		TEST(a_parameter_of_read_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
