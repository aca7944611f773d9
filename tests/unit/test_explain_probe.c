/* SPDX-License-Identifier: MIT */
/* Causes that only probing finds, on a simulated kernel that refuses what no rule covers. */
#define _GNU_SOURCE
#include "explain_kernel.h"

static struct kernel kernel;

static int setup(void **state)
{
	(void)state;
	kernel_start(&kernel, explain_files, sizeof(explain_files) / sizeof(*explain_files));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kernel_stop(&kernel);
	return 0;
}

/* An attr as of a profiler, with about thirty settings. */
#define BUSY                                                                                       \
	.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_CPU_CLOCK,                           \
	.size = sizeof(struct perch_attr), .sample_period = 4000, .freq = 1, .disabled = 1,        \
	.inherit = 1, .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1,                 \
	.sample_id_all = 1, .exclude_guest = 1, .ksymbol = 1, .bpf_event = 1, .build_id = 1,       \
	.watermark = 1, .context_switch = 1, .wakeup_watermark = 4096,                             \
	.read_format = PERCH_FORMAT_ID | PERCH_FORMAT_LOST,                                        \
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU | \
		       PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_CALLCHAIN |          \
		       PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_DATA_SRC | PERCH_SAMPLE_STACK_USER |     \
		       PERCH_SAMPLE_REGS_USER,                                                     \
	.sample_regs_user = 0xff, .sample_stack_user = 8192, .aux_watermark = 9

#define REFUSES(name, condition)                       \
	static bool name(const struct seen_call *call) \
	{                                              \
		(void)call;                            \
		return condition;                      \
	}
REFUSES(weight, call->attr->sample_type &PERCH_SAMPLE_WEIGHT)
REFUSES(lost, call->attr->read_format &PERCH_FORMAT_LOST)
REFUSES(stack, call->attr->sample_stack_user > 4096)
REFUSES(frequency, call->attr->freq)
REFUSES(sampling, call->attr->sample_period)
REFUSES(build_id, call->attr->build_id)
REFUSES(inherits, call->attr->inherit)
REFUSES(switches, call->attr->context_switch)
REFUSES(task_and_weight, call->attr->task && call->attr->sample_type & PERCH_SAMPLE_WEIGHT)
REFUSES(grouped, call->group_fd >= 0)
REFUSES(output, call->flags &PERCH_FLAG_FD_OUTPUT)
REFUSES(of_others, call->pid > 0)
REFUSES(on_cpu_2, call->cpu == 2)
REFUSES(hardware, call->attr->type == PERCH_TYPE_HARDWARE)
REFUSES(everything, true)
REFUSES(second_config, call->attr->config2)

static uint32_t largest; /* attr.size of any call */

static bool refuses_weight_and_notes_size(const struct seen_call *call)
{
	largest = call->attr->size > largest ? call->attr->size : largest;
	return call->attr->sample_type & PERCH_SAMPLE_WEIGHT;
}

/* The attr of a program may be shorter than struct perch_attr: probing passes no more bytes. */
static void passes_no_bytes_beyond_attr_size(void **state)
{
	static const uint32_t sizes[] = { 0, 64, 72, 96, 112, 128, sizeof(struct perch_attr) };
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ refuses_weight_and_notes_size, EDOM };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
						 .size = sizes[i],
						 .exclude_kernel = 1,
						 .sample_type = PERCH_SAMPLE_WEIGHT |
								PERCH_SAMPLE_IP };
		const struct perch_open_call call = {
			.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EDOM
		};

		largest = 0;
		kernel_explain(&kernel, &call, 0, &explanation);
		assert_true(explanation.open_calls > 1);
		assert_string_equal(explanation.finding[0].field[0], "sample_type");
		assert_int_equal(largest, sizes[i] ? sizes[i] : PERCH_ATTR_SIZE_VER0);
	}
}

/* Perf never returns EDOM: no rule covers it. */
struct refused_part {
	const char *what;
	struct fault fault;
	struct perch_attr attr;
	pid_t pid;
	int cpu, group_fd;
	unsigned long flags;
	const char *fields[2];
};

static const struct refused_part parts[] = {
	{ "a bit of sample_type", { weight, EDOM }, { BUSY }, 0, -1, -1, 0, { "sample_type" } },
	{ "a bit of read_format", { lost, EDOM }, { BUSY }, 0, -1, -1, 0, { "read_format" } },
	{ "a number", { stack, EDOM }, { BUSY }, 0, -1, -1, 0, { "sample_stack_user" } },
	{ "a frequency", { frequency, EDOM }, { BUSY }, 0, -1, -1, 0, { "freq" } },
	{ "a period", { sampling, EDOM }, { BUSY }, 0, -1, -1, 0, { "sample_period" } },
	{ "a bit", { build_id, EDOM }, { BUSY }, 0, -1, -1, 0, { "build_id" } },
	{ "inherit", { inherits, EDOM }, { BUSY }, 0, -1, -1, 0, { "inherit" } },
	{ "a costly bit", { switches, EDOM }, { BUSY }, 0, -1, -1, 0, { "context_switch" } },
	{ "two together",
	  { task_and_weight, EDOM },
	  { BUSY },
	  0,
	  -1,
	  -1,
	  0,
	  { "task", "sample_type" } },
	{ "config2",
	  { second_config, EDOM },
	  { .type = PERCH_TYPE_RAW, .size = 144, .config2 = 7, .exclude_hv = 1 },
	  0,
	  -1,
	  -1,
	  0,
	  { "config2" } },
	{ "the group", { grouped, EDOM }, { BUSY }, 0, -1, 5, 0, { "group_fd" } },
	{ "the output", { output, EDOM }, { BUSY }, 0, -1, 5, PERCH_FLAG_FD_OUTPUT, { "flags" } },
	{ "the thread", { of_others, EDOM }, { BUSY }, 77, -1, -1, 0, { "pid" } },
	{ "the CPU of a thread", { on_cpu_2, EDOM }, { BUSY }, 77, 2, -1, 0, { "cpu" } },
	{ "the CPU", { on_cpu_2, EDOM }, { BUSY }, -1, 2, -1, 0, { "cpu" } },
	{ "a cgroup", { on_cpu_2, EDOM }, { BUSY }, 9, 2, -1, PERCH_FLAG_PID_CGROUP, { "cpu" } },
	{ "the event",
	  { hardware, EDOM },
	  { .type = PERCH_TYPE_HARDWARE, .size = 144, .config = 1 },
	  0,
	  -1,
	  -1,
	  0,
	  { "type", "config" } },
};

static bool has_field(const struct perch_finding *finding, const char *name)
{
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (!strcmp(finding->field[i], name))
			return true;
	return false;
}

static void finds_fields_without_a_rule(void **state)
{
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct refused_part *part = &parts[i];
		const struct perch_open_call call = { .attr = &part->attr,
						      .pid = part->pid,
						      .cpu = part->cpu,
						      .group_fd = part->group_fd,
						      .flags = part->flags,
						      .errnum = EDOM };
		size_t wanted = part->fields[1] ? 2 : 1;

		kernel.fault[0] = part->fault;
		kernel.named = part->pid;
		kernel_explain(&kernel, &call, 0, &explanation);
		if (explanation.finding[0].nr_fields != wanted || explanation.nr_next)
			print_error("%s: %zu fields, %u calls: %s; then %s\n", part->what,
				    explanation.finding[0].nr_fields, explanation.open_calls,
				    explanation.finding[0].message,
				    explanation.nr_next ? explanation.next[0].message : "nothing");
		assert_int_equal(explanation.finding[0].nr_fields, wanted);
		for (size_t k = 0; k < wanted; k++)
			assert_true(has_field(&explanation.finding[0], part->fields[k]));
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_UNEXPLAINED);
		assert_int_equal(explanation.nr_next, 0);
		assert_true(explanation.open_calls <= 25);
		assert_false(explanation.out_of_budget);
	}
}

static struct perch_open_call busy_call(const struct perch_attr *attr, int errnum)
{
	return (struct perch_open_call){
		.attr = attr, .cpu = -1, .group_fd = -1, .errnum = errnum
	};
}

static void finds_two_faults_of_one_errno(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ weight, EDOM };
	kernel.fault[1] = (struct fault){ build_id, EDOM };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_true(has_field(&explanation.finding[0], "sample_type"));
	assert_true(has_field(&explanation.finding[0], "build_id"));
	assert_false(explanation.out_of_budget);
}

static void finds_the_next_fault(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ weight, EDOM };
	kernel.fault[1] = (struct fault){ build_id, ERANGE };
	kernel_explain(&kernel, &call, 60, &explanation);
	assert_int_equal(explanation.finding[0].nr_fields, 1);
	assert_string_equal(explanation.finding[0].field[0], "sample_type");
	assert_int_equal(explanation.nr_next, 1);
	assert_string_equal(explanation.next[0].field[0], "build_id");
}

/* A rule is certain for the first fault; the second fault has no rule. */
static void finds_a_fault_after_a_certain_one(void **state)
{
	const struct perch_attr attr = { BUSY, .remove_on_exec = 1, .enable_on_exec = 1 };
	const struct perch_open_call call = busy_call(&attr, EINVAL);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ weight, EDOM };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_EXEC_CONFLICT);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.nr_next, 1);
	assert_string_equal(explanation.next[0].field[0], "sample_type");
	kernel.fault[0].refuses = NULL;
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.open_calls, 1);
	assert_int_equal(explanation.nr_next, 0);
}

static void reports_temporary_causes(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TRANSIENT);
	assert_true(explanation.succeeds_now);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	/* without attr, without effects, the check of the effects, and the open call itself */
	assert_int_equal(explanation.open_calls, 4);
}

/* If the open call now returns another errno, the first failure cannot be analyzed. */
static void stops_if_the_errno_has_changed(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ everything, ERANGE };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_UNEXPLAINED);
	assert_false(explanation.succeeds_now);
	assert_int_equal(explanation.open_calls, 3);
}

static void finds_causes_before_perf(void **state)
{
	static const struct {
		int errnum;
		enum perch_cause cause;
	} causes_before_perf[] = { { EPERM, PERCH_CAUSE_SECCOMP },
				   { ENOSYS, PERCH_CAUSE_NO_SYSCALL },
				   { EDOM, PERCH_CAUSE_SECCOMP } };
	const struct perch_attr attr = { BUSY };
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(causes_before_perf) / sizeof(*causes_before_perf); i++) {
		const struct perch_open_call call = busy_call(&attr, causes_before_perf[i].errnum);

		kernel.filter_errno = causes_before_perf[i].errnum;
		kernel_explain(&kernel, &call, 0, &explanation);
		assert_int_equal(explanation.finding[0].cause, causes_before_perf[i].cause);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_int_equal(explanation.open_calls, 1);
	}
}

static void stops_at_the_call_limit(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ task_and_weight, EDOM };
	for (unsigned calls = 1; calls <= 12; calls++) {
		kernel_explain(&kernel, &call, calls, &explanation);
		assert_true(explanation.out_of_budget);
		assert_int_equal(explanation.open_calls, calls);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_UNEXPLAINED);
	}
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_false(explanation.out_of_budget);
	assert_true(explanation.open_calls > 12);
}

/* No open call starts after the time limit. */
static void stops_at_the_time_limit(void **state)
{
	static struct perch_explanation explanation;
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	const struct perch_probing probing = { .open_calls = 1000, .microseconds = 1 };

	(void)state;
	kernel.calls = 0;
	kernel.fault[0] = (struct fault){ task_and_weight, EDOM };
	assert_int_equal(perch_explain_open_call(&call, &probing, kernel.machine, &explanation), 0);
	assert_true(explanation.out_of_budget);
	assert_true(kernel.calls < 13);
}

/*
 * The simulated kernel checks that none of these events is created, and accepts every dummy event.
 */
static void opens_no_events_with_side_effects(void **state)
{
	static const struct perch_attr attrs[] = {
		{ .type = TYPE_UPROBE,
		  .size = 144,
		  .config1 = 0x1000,
		  .config2 = 64,
		  .enable_on_exec = 1 },
		{ .type = TYPE_PT, .size = 144, .config = 0x300 },
		{ .type = PERCH_TYPE_HARDWARE,
		  .size = 144,
		  .config = PERCH_COUNT_HW_BRANCH_INSTRUCTIONS,
		  .sample_period = 1 },
	};
	static const int errnums[] = { EINVAL, EACCES, EBUSY, EOPNOTSUPP,
				       EDOM,   ENOENT, EPERM, ENODEV };
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		for (size_t k = 0; k < sizeof(errnums) / sizeof(*errnums); k++) {
			const struct perch_open_call call = busy_call(&attrs[i], errnums[k]);

			kernel.fault[0].refuses = NULL;
			kernel_explain(&kernel, &call, 0, &explanation);
			assert_int_not_equal(explanation.finding[0].cause, PERCH_CAUSE_TRANSIENT);
			kernel.fault[0] = (struct fault){ everything, errnums[k] };
			kernel_explain(&kernel, &call, 0, &explanation);
		}
}

/* A dummy event finds faults of a uprobe outside the fields of the probe. */
static void tests_other_fields_with_a_dummy_event(void **state)
{
	const struct perch_attr attr = {
		.type = TYPE_UPROBE, .size = 144, .config1 = 0x1000, .build_id = 1, .mmap2 = 1
	};
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ build_id, EDOM };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_true(has_field(&explanation.finding[0], "build_id"));
}

/* ENOSPC of a breakpoint is not probed: another process may wait for the register. */
static void does_not_probe_debug_registers(void **state)
{
	const struct perch_attr watch = {
		.type = PERCH_TYPE_BREAKPOINT, .size = 144, .bp_type = 2, .bp_len = 8
	};
	const struct perch_open_call slots = busy_call(&watch, ENOSPC);
	struct perch_open_call partial = busy_call(&watch, EDOM);
	struct perch_open_call lost = busy_call(NULL, EFAULT);
	struct perch_explanation explanation;

	(void)state;
	partial.attr_is_partial = true;
	kernel_explain(&kernel, &slots, 0, &explanation);
	assert_int_equal(explanation.open_calls, 0);
	kernel_explain(&kernel, &partial, 0, &explanation);
	assert_int_equal(explanation.open_calls, 0);
	kernel_explain(&kernel, &lost, 0, &explanation);
	assert_int_equal(explanation.open_calls, 0);
}

static bool bad_group_fd(const struct seen_call *call)
{
	return call->group_fd == 99;
}

static bool bad_cgroup_fd(const struct seen_call *call)
{
	return call->flags & PERCH_FLAG_PID_CGROUP && call->pid == 98;
}

/* The kernel checks group_fd before the cgroup: that is the cause, and the cgroup is next. */
static void finds_which_descriptor_the_kernel_looks_at_first(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = 144 };
	const struct perch_open_call call = { .attr = &attr,
					      .pid = 98,
					      .cpu = 0,
					      .group_fd = 99,
					      .flags = PERCH_FLAG_PID_CGROUP,
					      .errnum = EBADF };
	struct perch_explanation explanation;

	(void)state;
	kernel.fault[0] = (struct fault){ bad_group_fd, EBADF };
	kernel.fault[1] = (struct fault){ bad_cgroup_fd, EBADF };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_GROUP_FD);
	assert_int_equal(explanation.nr_next, 1);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_CGROUP_FD);

	kernel.fault[0].refuses = bad_cgroup_fd;
	kernel.fault[1].refuses = NULL;
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_CGROUP_FD);
}

/* The thread of the leader is not opened, because the failed open call did not name it. */
static void does_not_open_the_thread_of_a_leader(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = 144 };
	const struct perch_open_call_leader leader = { .attr = &attr, .pid = 99, .cpu = -1 };
	struct perch_open_call call = { .attr = &attr,
					.pid = 77,
					.cpu = -1,
					.group_fd = 3,
					.errnum = EINVAL,
					.leader = &leader };
	struct perch_explanation explanation;

	(void)state;
	kernel.named = 77;
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_GROUP_TARGET);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
}

REFUSES(profiles_kernel, !call->attr->exclude_kernel)
REFUSES(kernel_address, call->attr->bp_addr >> 63)

/*
 * A release in which a second cause is possible, as inherited samples with READ before 6.12: an
 * ordinary user who clears exclude_kernel is refused before the kernel checks the address.
 */
static void finds_a_kernel_address_as_an_ordinary_user(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/osrelease", "6.11.11\n" },
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\n"
				       "CapEff:\t0000000000000000\nSeccomp:\t0\n" },
		{ PMUS "breakpoint/type", "5\n" },
	};
	const struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT,
					 .size = 144,
					 .disabled = 1,
					 .inherit = 1,
					 .exclude_kernel = 1,
					 .sample_type = PERCH_SAMPLE_READ | PERCH_SAMPLE_TID,
					 .bp_type = PERCH_BREAKPOINT_X,
					 .bp_addr = UINT64_C(0xffffffff81241f40),
					 .bp_len = 8 };
	const struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
	};
	struct perch_explanation explanation;

	(void)state;
	kernel_stop(&kernel);
	kernel_start(&kernel, files, sizeof(files) / sizeof(*files));
	kernel.fault[0] = (struct fault){ profiles_kernel, EACCES };
	kernel.fault[1] = (struct fault){ kernel_address, EINVAL };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_BREAKPOINT_KERNEL);
	/* which this user can do, unlike clearing exclude_kernel */
	assert_non_null(strstr(explanation.finding[0].remedy, "an address of user space"));
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
}

/* Probing is off unless the caller or the machine enables it. */
static void probes_only_if_enabled(void **state)
{
	const struct perch_attr attr = { BUSY };
	const struct perch_open_call call = busy_call(&attr, EDOM);
	struct perch_explanation explanation;
	struct perch_error err;

	(void)state;
	kernel.fault[0] = (struct fault){ weight, EDOM };
	assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation), 0);
	assert_int_equal(explanation.open_calls, 0);
	assert_int_equal(perch_explain(&call, kernel.machine, &err), -EDOM);
	assert_int_equal(kernel.calls, 0);
	perch_machine_set_probing(kernel.machine, true);
	/* on a slow machine the default limit of time may end probing before the result */
	err.field[0] = '\0';
	for (int tries = 0; tries < 1000 && !err.field[0]; tries++) {
		assert_int_equal(perch_explain(&call, kernel.machine, &err), -EDOM);
		assert_true(kernel.calls > 0);
	}
	assert_string_equal(err.field, "sample_type");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_fields_without_a_rule),
		TEST(finds_two_faults_of_one_errno),
		TEST(finds_the_next_fault),
		TEST(finds_a_fault_after_a_certain_one),
		TEST(reports_temporary_causes),
		TEST(stops_if_the_errno_has_changed),
		TEST(finds_causes_before_perf),
		TEST(stops_at_the_call_limit),
		TEST(stops_at_the_time_limit),
		TEST(opens_no_events_with_side_effects),
		TEST(tests_other_fields_with_a_dummy_event),
		TEST(does_not_probe_debug_registers),
		TEST(finds_which_descriptor_the_kernel_looks_at_first),
		TEST(does_not_open_the_thread_of_a_leader),
		TEST(finds_a_kernel_address_as_an_ordinary_user),
		TEST(probes_only_if_enabled),
		TEST(passes_no_bytes_beyond_attr_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
