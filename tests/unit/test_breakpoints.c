/* SPDX-License-Identifier: MIT */
/* Hosts on which breakpoints fire, never fire, or cannot be asked: what the library says and opens.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/explain.h>
#include <perch/sampler.h>

#define NR(array) (sizeof(array) / sizeof(*(array)))
#define FD	  700

/* A replayed kernel. It has events of one process, and reads of the breakpoint that asks. */
struct kernel {
	int refusal;		/* errno of each breakpoint; 0: none */
	bool refuses_questions; /* only the breakpoint that asks is refused */
	uint64_t hits, running;
	size_t bytes; /* of a read */
	unsigned opened, open, questions;
};

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	struct kernel *kernel = context;
	bool asks = attr->type == PERCH_TYPE_BREAKPOINT && attr->bp_len == sizeof(long) &&
		    !attr->disabled && attr->bp_addr != 0x1000;

	(void)group_fd, (void)flags;
	if (asks) {
		kernel->questions++;
		assert_int_equal(pid, 0);
		assert_int_equal(cpu, -1);
		assert_true(attr->exclude_kernel);
		assert_int_equal(attr->bp_type, PERCH_BREAKPOINT_W);
		assert_int_equal(attr->bp_addr % sizeof(long), 0);
	}
	if (attr->type == PERCH_TYPE_BREAKPOINT && kernel->refusal &&
	    (asks || !kernel->refuses_questions))
		return errno = kernel->refusal, -1;
	kernel->opened++;
	kernel->open++;
	return FD;
}

static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	const struct kernel *kernel = context;
	const uint64_t values[3] = { kernel->hits, 50, kernel->running };

	assert_int_equal(fd, FD);
	assert_int_equal(size, sizeof(values));
	memcpy(buffer, values, kernel->bytes);
	return (ssize_t)kernel->bytes;
}

static int replay_ioctl(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context, (void)fd, (void)request, (void)argument;
	return 0;
}

static int replay_close(void *context, int fd)
{
	assert_int_equal(fd, FD);
	((struct kernel *)context)->open--;
	return 0;
}

static struct perch_syscalls calls = {
	.perf_event_open = replay_open,
	.ioctl = replay_ioctl,
	.read = replay_read,
	.close = replay_close,
};

static const struct kernel fires = { .hits = 1, .running = 50, .bytes = 24 },
			   never = { .hits = 0, .running = 50, .bytes = 24 };

static struct perch_machine *machine_of(struct kernel *kernel, bool probing)
{
	struct perch_machine *machine;

	calls.context = kernel;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	perch_machine_set_probing(machine, probing);
	return machine;
}

static void answers(void **state)
{
	static const struct {
		struct kernel kernel;
		int answer;
		const char *words;
		unsigned questions; /* of two calls: an answer is kept */
	} hosts[] = {
		{ { .hits = 1, .running = 50, .bytes = 24 }, 1, "", 1 },
		/* emulators count some writes twice */
		{ { .hits = 2, .running = 50, .bytes = 24 }, 1, "", 1 },
		{ { .hits = 0, .running = 50, .bytes = 24 }, 0, "", 1 },
		/* nothing is claimed */
		{ { .hits = 0, .running = 0, .bytes = 24 }, -EAGAIN, "never active", 2 },
		{ { .hits = 0, .running = 50, .bytes = 8 }, -EIO, "unknown", 2 },
		{ { .refusal = ENOSPC }, -ENOSPC, "all debug registers", 2 },
		{ { .refusal = EACCES }, -EACCES, "Permission denied", 2 },
		{ { .refusal = EOPNOTSUPP }, -EOPNOTSUPP, "unknown", 2 },
	};

	(void)state;
	for (size_t i = 0; i < NR(hosts); i++) {
		struct kernel kernel = hosts[i].kernel;
		struct perch_machine *machine = machine_of(&kernel, false);
		struct perch_error err = { 0 };

		assert_int_equal(perch_machine_breakpoints_fire(machine, &err), hosts[i].answer);
		assert_non_null(strstr(err.message, hosts[i].words));
		assert_int_equal(perch_machine_breakpoints_fire(machine, NULL), hosts[i].answer);
		assert_int_equal(kernel.questions, hosts[i].questions);
		assert_int_equal(kernel.open, 0);
		perch_machine_free(machine);
	}
}

/* How a program opens a breakpoint: each returns 0 or a negative errno, and closes what it opened.
 */
static int open_attr(const char *event, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_events events = { 0 };
	struct perch_attr attr;
	int fd;

	assert_int_equal(perch_events_parse(&events, event, NULL, NULL), 0);
	assert_int_equal(perch_attr_build(&attr, &events.event[0], NULL, NULL), 0);
	perch_events_clear(&events);
	fd = perch_open(&attr, NULL, -1, 0, machine, err);
	if (fd >= 0)
		calls.close(calls.context, fd);
	return fd < 0 ? fd : 0;
}

static int open_counter(const char *event, struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_options options = { .machine = machine };
	struct perch_counter *counter;
	int rc = perch_counter_open(&counter, event, NULL, &options, err);

	perch_counter_close(counter);
	return rc;
}

static int open_group(const char *event, struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_options options = { .machine = machine };
	struct perch_group *group;
	int rc = perch_group_open(&group, event, NULL, &options, err);

	perch_group_close(group);
	return rc;
}

/* As perch record does; the event that can be opened has no ring here. */
static int open_sampler(const char *event, struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_sampler_options options = { .event = { .machine = machine,
								  .period = 1 } };
	struct perch_sampler *sampler;
	int rc = perch_sampler_open(&sampler, event, NULL, &options, err);

	perch_sampler_close(sampler);
	return rc;
}

static int open_optional(const char *event, struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_attr optional = { .ksymbol = 1 };
	const struct perch_options options = { .machine = machine, .optional = &optional };
	struct perch_counter *counter;
	int rc = perch_counter_open(&counter, event, NULL, &options, err);

	perch_counter_close(counter);
	return rc;
}

static const struct {
	const char *name;
	int (*open)(const char *event, struct perch_machine *machine, struct perch_error *err);
} ways[] = {
	{ "perch_open", open_attr },
	{ "perch_counter_open", open_counter },
	{ "perch_group_open", open_group },
	{ "perch_sampler_open", open_sampler },
	{ "optional features", open_optional },
};

static const char *const breakpoints[] = { "mem:0x1000/8:w:u", "mem:0x1000/8:rw:u",
					   "mem:0x1000:x:u", "mem:0xffffffff81000000/8:w" };

static void refuses_what_never_fires(void **state)
{
	(void)state;
	for (size_t way = 0; way < NR(ways); way++)
		for (size_t i = 0; i < NR(breakpoints); i++) {
			struct kernel kernel = never;
			struct perch_machine *machine = machine_of(&kernel, true);
			struct perch_error err = { 0 };

			print_message("%s: %s\n", ways[way].name, breakpoints[i]);
			assert_int_equal(ways[way].open(breakpoints[i], machine, &err),
					 -EOPNOTSUPP);
			assert_int_equal(err.kind, PERCH_ERROR_NOT_SUPPORTED);
			assert_int_equal(err.cause, PERCH_CAUSE_BREAKPOINT_NEVER_FIRES);
			assert_non_null(strstr(err.message, "can be opened here and never fire: "));
			assert_non_null(strstr(err.remedy, "uprobe"));
			assert_int_equal(kernel.questions, 1);
			assert_int_equal(kernel.open, 0);
			perch_machine_free(machine);
		}
}

/* The refusal of the kernel comes first: its reason can be changed. */
static void reports_refusals_of_the_kernel(void **state)
{
	struct kernel kernel = never;
	struct perch_machine *machine = machine_of(&kernel, true);
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_machine_breakpoints_fire(machine, NULL), 0);
	kernel.refusal = ENOSPC;
	assert_int_equal(open_counter("mem:0x1000/8:w:u", machine, &err), -ENOSPC);
	assert_int_equal(err.kind, PERCH_ERROR_BREAKPOINTS);
	perch_machine_free(machine);
}

/* A success costs one system call, unless the machine may probe. */
static void asks_only_if_it_may(void **state)
{
	struct kernel kernel = never;
	struct perch_machine *machine = machine_of(&kernel, false);

	(void)state;
	assert_int_equal(open_counter("mem:0x1000/8:w:u", machine, NULL), 0);
	assert_int_equal(kernel.questions, 0);
	assert_int_equal(kernel.opened, 1);
	/* now it knows */
	assert_int_equal(perch_machine_breakpoints_fire(machine, NULL), 0);
	assert_int_equal(open_counter("mem:0x1000/8:w:u", machine, NULL), -EOPNOTSUPP);
	assert_int_equal(kernel.questions, 1);
	assert_int_equal(kernel.open, 0);
	perch_machine_free(machine);
}

static void opens_what_may_fire(void **state)
{
	static const struct kernel unknown = { .refusal = ENOSPC, .refuses_questions = true },
				   *const hosts[] = { &fires, &unknown };

	(void)state;
	for (size_t i = 0; i < NR(hosts); i++) {
		struct kernel kernel = *hosts[i];
		struct perch_machine *machine = machine_of(&kernel, true);
		struct perch_error err;

		for (size_t k = 0; k < NR(breakpoints); k++)
			assert_int_equal(open_counter(breakpoints[k], machine, &err), 0);
		assert_int_equal(kernel.questions, hosts[i] == &fires ? 1 : NR(breakpoints));
		assert_int_equal(kernel.open, 0);
		perch_machine_free(machine);
	}
}

/* Other events are not asked about. */
static void other_events_ask_nothing(void **state)
{
	struct kernel kernel = never;
	struct perch_machine *machine = machine_of(&kernel, true);
	struct perch_error err;

	(void)state;
	assert_int_equal(open_counter("page-faults:u", machine, &err), 0);
	assert_int_equal(kernel.questions, 0);
	perch_machine_free(machine);
}

/* As in perch stat: <not supported>, with the reason. */
static void sets_skip_what_never_fires(void **state)
{
	struct kernel kernel = never;
	struct perch_machine *machine = machine_of(&kernel, true);
	const struct perch_options options = { .machine = machine, .may = PERCH_MAY_SKIP_ALL };
	struct perch_events events = { 0 };
	const struct perch_set_event *event;
	struct perch_set *set;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "{mem:0x1000/8:w:u,faults:u}", NULL, NULL), 0);
	assert_int_equal(perch_set_open(&set, &events, NULL, &options, NULL), 0);
	event = perch_set_get_event(set, 0);
	assert_true(event->skipped);
	assert_int_equal(event->reason->cause, PERCH_CAUSE_BREAKPOINT_NEVER_FIRES);
	/* explained again, with what the machine knows */
	perch_set_explain(set, machine);
	assert_int_equal(event->reason->cause, PERCH_CAUSE_BREAKPOINT_NEVER_FIRES);
	assert_false(perch_set_get_event(set, 1)->skipped);
	perch_set_close(set);
	perch_events_clear(&events);
	assert_int_equal(kernel.open, 0);
	perch_machine_free(machine);
}

/* For programs that open events themselves. */
static void lint_finds_what_never_fires(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT,
					 .size = sizeof(attr),
					 .bp_type = PERCH_BREAKPOINT_W,
					 .bp_addr = 0x1000,
					 .bp_len = 8 };
	const struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct kernel kernel = never;
	struct perch_machine *machine = machine_of(&kernel, false);
	struct perch_finding finding;

	(void)state;
	assert_int_equal(perch_lint(&call, machine, &finding, 1), 0);
	assert_int_equal(kernel.questions, 0);
	perch_machine_set_probing(machine, true);
	assert_int_equal(perch_lint(&call, machine, &finding, 1), 1);
	assert_int_equal(finding.cause, PERCH_CAUSE_LINT_BREAKPOINT);
	perch_machine_free(machine);
	kernel = fires;
	machine = machine_of(&kernel, true);
	assert_int_equal(perch_lint(&call, machine, &finding, 1), 0);
	perch_machine_free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(refuses_what_never_fires),
		cmocka_unit_test(reports_refusals_of_the_kernel),
		cmocka_unit_test(asks_only_if_it_may),
		cmocka_unit_test(opens_what_may_fire),
		cmocka_unit_test(other_events_ask_nothing),
		cmocka_unit_test(sets_skip_what_never_fires),
		cmocka_unit_test(lint_finds_what_never_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
