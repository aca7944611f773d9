/* SPDX-License-Identifier: MIT */
/* ioctl(2) and prctl(2) on open events, with a replayed kernel. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <perch/open.h>

struct seen {
	int answer, fd, calls;
	unsigned long request, argument;
	uint64_t period;
	uint32_t capacity, programs;
	struct perch_attr attr;
	bool enable;
};

static int control(void *context, int fd, unsigned long request, unsigned long argument)
{
	struct seen *seen = context;

	seen->calls++;
	seen->fd = fd;
	seen->request = request;
	seen->argument = argument;
	if (request == PERCH_IOC_PERIOD)
		memcpy(&seen->period, (const void *)argument, sizeof(seen->period));
	if (request == PERCH_IOC_MODIFY_ATTRIBUTES) {
		memcpy(&seen->attr, (const void *)argument, sizeof(seen->attr));
		((struct perch_attr *)argument)->size = 1;
	}
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 77;
	if (request == PERCH_IOC_QUERY_BPF) {
		struct perch_query_bpf *query = (struct perch_query_bpf *)argument;

		seen->capacity = query->ids_len;
		query->prog_cnt = seen->programs;
		for (uint32_t i = 0; i < query->ids_len && i < seen->programs; i++)
			query->ids[i] = 100 + i;
		if (query->ids_len && query->ids_len < seen->programs)
			seen->answer = -ENOSPC;
	}
	errno = seen->answer < 0 ? -seen->answer : 0;
	return seen->answer < 0 ? -1 : seen->answer;
}

static int tasks(void *context, bool enable)
{
	struct seen *seen = context;

	seen->calls++;
	seen->enable = enable;
	errno = -seen->answer;
	return seen->answer < 0 ? -1 : 0;
}

static struct seen seen;
static struct perch_syscalls calls;
static struct perch_machine *machine;

static int setup(void **state)
{
	(void)state;
	calls = perch_kernel_syscalls;
	calls.context = &seen;
	calls.ioctl = control;
	calls.prctl_tasks = tasks;
	return perch_machine_new(&machine, "/nowhere", &calls, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	return 0;
}

static void check(unsigned long request, unsigned long argument)
{
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.fd, 9);
	assert_int_equal(seen.request, request);
	if (argument != ULONG_MAX)
		assert_int_equal(seen.argument, argument);
	memset(&seen, 0, sizeof(seen));
}

static void passes_arguments_to_the_kernel(void **state)
{
	struct perch_attr attr = { .size = sizeof(attr), .config1 = 5 };
	uint64_t id = 0;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(perch_event_enable(9, false, machine, NULL), 0);
	check(PERCH_IOC_ENABLE, 0);
	assert_int_equal(perch_event_disable(9, true, machine, NULL), 0);
	check(PERCH_IOC_DISABLE, PERCH_IOC_FLAG_GROUP);
	assert_int_equal(perch_event_reset(9, true, machine, NULL), 0);
	check(PERCH_IOC_RESET, PERCH_IOC_FLAG_GROUP);
	assert_int_equal(perch_event_refresh(9, INT_MAX, machine, NULL), 0);
	check(PERCH_IOC_REFRESH, INT_MAX);
	assert_int_equal(perch_event_set_period(9, INT64_MAX, machine, NULL), 0);
	assert_true(seen.period == INT64_MAX);
	check(PERCH_IOC_PERIOD, ULONG_MAX);
	assert_int_equal(perch_event_set_output(9, 10, machine, NULL), 0);
	check(PERCH_IOC_SET_OUTPUT, 10);
	assert_int_equal(perch_event_set_output(9, -1, machine, NULL), 0);
	assert_int_equal((long)seen.argument, -1L); /* not 0xffffffff */
	check(PERCH_IOC_SET_OUTPUT, ULONG_MAX);
	assert_int_equal(perch_event_set_filter(9, "a == 1", NULL, machine, NULL), 0);
	assert_string_equal((const char *)seen.argument, "a == 1");
	check(PERCH_IOC_SET_FILTER, ULONG_MAX);
	assert_int_equal(perch_event_id(9, machine, &id, NULL), 0);
	assert_int_equal(id, 77);
	check(PERCH_IOC_ID, (unsigned long)&id);
	assert_int_equal(perch_event_set_bpf(9, 3, machine, NULL), 0);
	check(PERCH_IOC_SET_BPF, 3);
	assert_int_equal(perch_event_pause_output(9, true, machine, NULL), 0);
	check(PERCH_IOC_PAUSE_OUTPUT, 1);
	assert_int_equal(perch_event_modify(9, &attr, machine, NULL), 0);
	assert_int_equal(seen.attr.config1, 5);
	assert_int_equal(attr.size, sizeof(attr)); /* the attr of the caller does not change */
	check(PERCH_IOC_MODIFY_ATTRIBUTES, ULONG_MAX);
}

static void queries_bpf_programs(void **state)
{
	uint32_t ids[80], nr = 0;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(ids, 0, sizeof(ids));
	seen.programs = 3;
	assert_int_equal(perch_event_query_bpf(9, machine, ids, 5, &nr, NULL), 0);
	assert_int_equal(nr, 3);
	assert_true(ids[0] == 100 && ids[2] == 102 && !ids[3]);
	memset(ids, 0, sizeof(ids));
	/* ENOSPC: more programs than capacity */
	assert_int_equal(perch_event_query_bpf(9, machine, ids, 2, &nr, NULL), 0);
	assert_int_equal(nr, 3);
	assert_true(ids[1] == 101 && !ids[2]);
	seen.answer = 0;
	seen.programs = 64;
	assert_int_equal(perch_event_query_bpf(9, machine, ids, 80, &nr, NULL), 0);
	assert_int_equal(seen.capacity, 64); /* the kernel refuses more */
	assert_int_equal(nr, 64);
	assert_true(ids[63] == 163 && !ids[64]);
	assert_int_equal(perch_event_query_bpf(9, machine, NULL, 0, &nr, NULL), 0);
	assert_int_equal(nr, 64);
	seen.programs = 9000; /* more than a kernel returns */
	assert_int_equal(perch_event_query_bpf(9, machine, ids, 80, &nr, NULL), 0);
	assert_int_equal(nr, 9000);
}

static void enables_all_events_of_the_thread(void **state)
{
	struct perch_syscalls older = calls;
	struct perch_machine *plain;
	struct perch_error err;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(perch_tasks_enable(machine, NULL), 0);
	assert_true(seen.enable);
	assert_int_equal(perch_tasks_disable(machine, NULL), 0);
	assert_false(seen.enable);
	seen.answer = -EINVAL;
	assert_int_equal(perch_tasks_disable(machine, &err), -EINVAL);
	assert_non_null(strstr(err.remedy, "CONFIG_PERF_EVENTS"));
	assert_int_equal(err.cause, PERCH_CAUSE_NO_SYSCALL);
	assert_int_equal(perch_tasks_enable(machine, NULL), -EINVAL);
	assert_int_equal(seen.calls, 4);
	older.prctl_tasks = NULL; /* a table without prctl_tasks uses the real system call */
	assert_int_equal(perch_machine_new(&plain, "/nowhere", &older, NULL), 0);
	(void)perch_tasks_enable(plain, NULL);
	assert_int_equal(seen.calls, 4);
	perch_machine_free(plain);
}

static int one_of_each(int number, struct perch_error *err)
{
	struct perch_attr attr = { .size = sizeof(attr) };
	uint32_t ids[4], nr;
	uint64_t id;

	switch (number) {
	case 0:
		return perch_event_enable(9, false, machine, err);
	case 1:
		return perch_event_disable(9, false, machine, err);
	case 2:
		return perch_event_refresh(9, 1, machine, err);
	case 3:
		return perch_event_reset(9, false, machine, err);
	case 4:
		return perch_event_set_period(9, 1, machine, err);
	case 5:
		return perch_event_set_output(9, 1, machine, err);
	case 6:
		return perch_event_set_filter(9, "x", NULL, machine, err);
	case 7:
		return perch_event_id(9, machine, &id, err);
	case 8:
		return perch_event_set_bpf(9, 1, machine, err);
	case 9:
		return perch_event_pause_output(9, true, machine, err);
	case 10:
		return perch_event_query_bpf(9, machine, ids, 4, &nr, err);
	default:
		return perch_event_modify(9, &attr, machine, err);
	}
}

/* For every request and errno, the error has that errno, and the message says what failed. */
static void every_refusal_has_a_message(void **state)
{
	static const char *const since[] = { "",       "",     "",    "",    "",     "",
					     "2.6.33", "3.12", "4.1", "4.7", "4.16", "4.17" };

	(void)state;
	for (int number = 0; number < 12; number++)
		for (int errnum = 1; errnum < 134; errnum++) {
			struct perch_error err = { 0 };
			int rc;

			memset(&seen, 0, sizeof(seen));
			seen.answer = -errnum;
			rc = one_of_each(number, &err);
			if (number == 10 && errnum == ENOSPC)
				continue; /* success: there are more programs than capacity */
			if (rc != -errnum || err.errnum != errnum ||
			    !strstr(err.message, "cannot "))
				fail_msg("call %d, errno %d: %d '%s'", number, errnum, rc,
					 err.message);
			if (errnum == ENOTTY)
				assert_string_equal(err.since, since[number]);
			assert_true(err.remedy[0]);
			assert_int_not_equal(err.cause, PERCH_CAUSE_NONE);
			assert_int_equal(one_of_each(number, NULL), -errnum);
		}
}

static void refuses_invalid_arguments(void **state)
{
	struct perch_attr attr = { .size = 1 };
	struct perch_error err;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(perch_event_refresh(9, 0, machine, &err), -EINVAL);
	assert_int_equal(perch_event_refresh(9, 1u + INT_MAX, machine, &err), -EINVAL);
	assert_int_equal(perch_event_set_period(9, 0, machine, &err), -EINVAL);
	assert_int_equal(perch_event_set_period(9, 1ull << 63, machine, &err), -EINVAL);
	assert_int_equal(perch_event_set_output(9, 9, machine, &err), -EINVAL);
	assert_int_equal(perch_event_set_filter(9, NULL, NULL, machine, &err), -EINVAL);
	assert_int_equal(perch_event_modify(9, &attr, machine, &err), -E2BIG);
	assert_int_equal(perch_event_modify(9, NULL, machine, &err), -EINVAL);
	assert_int_equal(seen.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_arguments_to_the_kernel),
		cmocka_unit_test(queries_bpf_programs),
		cmocka_unit_test(enables_all_events_of_the_thread),
		cmocka_unit_test(every_refusal_has_a_message),
		cmocka_unit_test(refuses_invalid_arguments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
