/* SPDX-License-Identifier: MIT */
/* Attrs of options, and perf_event_open(2) of attrs on a replayed kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <perch/open.h>

static struct perch_events events;

static const struct perch_event *event(const char *text)
{
	perch_events_clear(&events);
	assert_int_equal(perch_events_parse(&events, text, NULL, NULL), 0);
	return &events.event[0];
}

static struct perch_attr built(const char *text, const struct perch_options *options)
{
	struct perch_attr attr;
	struct perch_error err;

	if (perch_attr_build(&attr, event(text), options, &err))
		fail_msg("%s: %s", text, err.message);
	return attr;
}

static void default_options(void **state)
{
	struct perch_attr attr = built("page-faults", NULL);

	(void)state;
	assert_int_equal(attr.type, PERCH_TYPE_SOFTWARE);
	assert_int_equal(attr.config, PERCH_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(attr.size, PERCH_ATTR_SIZE_VER0);
	assert_int_equal(attr.read_format,
			 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING);
	assert_true(attr.disabled);
	attr.disabled = 0;
	assert_int_equal(attr.flags, 0);
}

/* Each option, and the attr field that it must set. */
static const struct {
	const char *field;
	struct perch_options options;
	uint64_t value;
} each[] = {
	{ "sample_period", { .period = 7 }, 7 },
	{ "sample_freq", { .frequency = 99 }, 99 },
	{ "freq", { .frequency = 99 }, 1 },
	{ "sample_type", { .sample = PERCH_SAMPLE_IP }, PERCH_SAMPLE_IP },
	{ "read_format", { .read = PERCH_FORMAT_ID }, PERCH_FORMAT_ID },
	{ "mmap", { .sideband = PERCH_SIDEBAND_MMAP }, 1 },
	{ "mmap2", { .sideband = PERCH_SIDEBAND_MMAP }, 1 },
	{ "mmap_data", { .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_MMAP_DATA }, 1 },
	{ "build_id", { .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_BUILD_ID }, 1 },
	{ "comm", { .sideband = PERCH_SIDEBAND_COMM }, 1 },
	{ "comm_exec", { .sideband = PERCH_SIDEBAND_COMM }, 1 },
	{ "task", { .sideband = PERCH_SIDEBAND_TASK }, 1 },
	{ "context_switch", { .sideband = PERCH_SIDEBAND_SWITCH }, 1 },
	{ "namespaces", { .sideband = PERCH_SIDEBAND_NAMESPACES }, 1 },
	{ "ksymbol", { .sideband = PERCH_SIDEBAND_KSYMBOL }, 1 },
	{ "bpf_event", { .sideband = PERCH_SIDEBAND_BPF }, 1 },
	{ "cgroup", { .sideband = PERCH_SIDEBAND_CGROUP }, 1 },
	{ "text_poke", { .sideband = PERCH_SIDEBAND_TEXT_POKE }, 1 },
	{ "wakeup_events", { .wakeup_events = 3 }, 3 },
	{ "wakeup_watermark", { .wakeup_bytes = 4096 }, 4096 },
	{ "watermark", { .wakeup_bytes = 4096 }, 1 },
	{ "precise_ip", { .period = 1, .precise = 3 }, 3 },
	{ "disabled", { .enabled = 1 }, 0 },
	{ "inherit", { .inherit = 1 }, 1 },
	{ "inherit_thread", { .inherit = 1, .inherit_thread = 1 }, 1 },
	{ "inherit_stat", { .inherit = 1, .inherit_stat = 1 }, 1 },
	{ "pinned", { .pinned = 1 }, 1 },
	{ "exclusive", { .exclusive = 1 }, 1 },
	{ "exclude_user", { .exclude_user = 1 }, 1 },
	{ "exclude_kernel", { .exclude_kernel = 1 }, 1 },
	{ "exclude_hv", { .exclude_hv = 1 }, 1 },
	{ "exclude_idle", { .exclude_idle = 1 }, 1 },
	{ "exclude_host", { .exclude_host = 1 }, 1 },
	{ "exclude_guest", { .exclude_guest = 1 }, 1 },
	{ "exclude_callchain_user", { .exclude_callchain_user = 1 }, 1 },
	{ "exclude_callchain_kernel", { .exclude_callchain_kernel = 1 }, 1 },
	{ "enable_on_exec", { .enable_on_exec = 1 }, 1 },
	{ "remove_on_exec", { .remove_on_exec = 1 }, 1 },
	{ "sample_id_all", { .sample_id_all = 1 }, 1 },
	{ "write_backward", { .write_backward = 1 }, 1 },
	{ "aux_output", { .aux_output = 1 }, 1 },
	{ "aux_start_paused", { .aux_start_paused = 1 }, 1 },
	{ "aux_pause", { .aux_pause = 1 }, 1 },
	{ "aux_resume", { .aux_resume = 1 }, 1 },
	{ "defer_callchain", { .sample = PERCH_SAMPLE_CALLCHAIN, .defer_callchain = 1 }, 1 },
	{ "defer_output", { .defer_output = 1 }, 1 },
	{ "sigtrap", { .period = 1, .sigtrap = 1, .remove_on_exec = 1 }, 1 },
	{ "sig_data", { .period = 1, .sigtrap = 1, .remove_on_exec = 1, .sig_data = 77 }, 77 },
	{ "use_clockid", { .use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW }, 1 },
	{ "clockid", { .use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW }, CLOCK_MONOTONIC_RAW },
	{ "branch_sample_type",
	  { .sample = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 8 },
	  8 },
	{ "sample_regs_user", { .sample = PERCH_SAMPLE_REGS_USER, .sample_regs_user = 255 }, 255 },
	{ "sample_regs_intr", { .sample = PERCH_SAMPLE_REGS_INTR, .sample_regs_intr = 255 }, 255 },
	{ "sample_stack_user",
	  { .sample = PERCH_SAMPLE_STACK_USER, .sample_stack_user = 8192 },
	  8192 },
	{ "aux_watermark", { .aux_watermark = 65536 }, 65536 },
	{ "aux_sample_size", { .sample = PERCH_SAMPLE_AUX, .aux_sample_size = 4096 }, 4096 },
	{ "sample_max_stack", { .sample = PERCH_SAMPLE_CALLCHAIN, .sample_max_stack = 5 }, 5 },
};

static void every_option_sets_its_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		const struct perch_attr_field *field = perch_attr_get_field(each[i].field);
		struct perch_attr attr = built("page-faults", &each[i].options);

		assert_non_null(field);
		if (perch_attr_get(&attr, field) != each[i].value)
			fail_msg("%s is %llu", each[i].field,
				 (unsigned long long)perch_attr_get(&attr, field));
	}
}

/* Fields that one option sets together, or that share a word. An option must not change other
 * fields. */
static bool set_together(const char *one, const char *other)
{
	static const char *const sets[] = {
		" sample_period sample_freq freq ",
		" wakeup_events wakeup_watermark watermark ",
		" mmap mmap2 mmap_data build_id ",
		" comm comm_exec ",
		" inherit inherit_thread ",
		" inherit inherit_stat ",
		" sigtrap remove_on_exec sig_data sample_period sample_freq ",
		" precise_ip sample_period sample_freq ",
		" use_clockid clockid ",
		" sample_type branch_sample_type ",
		" sample_type sample_regs_user ",
		" sample_type sample_regs_intr ",
		" sample_type sample_stack_user ",
		" sample_type sample_max_stack ",
		" sample_type defer_callchain ",
		" sample_type aux_sample_size ",
		" aux_action aux_start_paused ",
		" aux_action aux_pause ",
		" aux_action aux_resume ",
	};
	char first[64], second[64];

	snprintf(first, sizeof(first), " %s ", one);
	snprintf(second, sizeof(second), " %s ", other);
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (strstr(sets[i], first) && strstr(sets[i], second))
			return true;
	return !strcmp(one, other) || !strcmp(other, "size");
}

static void options_set_no_other_field(void **state)
{
	const struct perch_options none = { 0 };
	const struct perch_attr_field *fields;
	struct perch_attr plain = built("page-faults", &none);
	size_t nr;

	(void)state;
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct perch_attr attr = built("page-faults", &each[i].options);

		for (size_t k = 0; k < nr; k++)
			if (perch_attr_get(&attr, &fields[k]) !=
				    perch_attr_get(&plain, &fields[k]) &&
			    !set_together(each[i].field, fields[k].name))
				fail_msg("the option of %s sets %s", each[i].field, fields[k].name);
	}
}

static bool listed(const char *const *list, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

/* Every field of an attr is set by an option or by the event. */
static void every_field_can_be_set(void **state)
{
	static const char *const of_the_event[] = {
		"type",	       "config",      "config1",      "config2", "config3",
		"config4",     "bp_type",     "bp_addr",      "bp_len",	 "kprobe_func",
		"uprobe_path", "kprobe_addr", "probe_offset",
	};
	static const char *const set_by_nothing[] = { "size", "reserved_1", "reserved_2",
						      "reserved_3", "aux_action" };
	const struct perch_attr_field *fields;
	size_t nr;

	(void)state;
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct perch_event one = { .name = "one", .scale = 1.0 };
		struct perch_attr attr;
		bool found = false;

		for (size_t k = 0; k < sizeof(each) / sizeof(*each); k++)
			found |= !strcmp(each[k].field, fields[i].name);
		if (found ||
		    listed(set_by_nothing, sizeof(set_by_nothing) / sizeof(*set_by_nothing),
			   fields[i].name))
			continue;
		if (!listed(of_the_event, sizeof(of_the_event) / sizeof(*of_the_event),
			    fields[i].name))
			fail_msg("nothing sets %s", fields[i].name);
		perch_attr_set(&one.attr, &fields[i], 1);
		assert_int_equal(perch_attr_build(&attr, &one, NULL, NULL), 0);
		if (perch_attr_get(&attr, &fields[i]) != 1)
			fail_msg("%s of the event is lost", fields[i].name);
	}
}

static void attr_size_is_the_smallest(void **state)
{
	const struct perch_options clock = { .use_clockid = 1, .clockid = 1 };
	const struct perch_options stack = { .sample = PERCH_SAMPLE_CALLCHAIN,
					     .sample_max_stack = 5 };
	const struct perch_options paused = { .aux_start_paused = 1 };
	const struct perch_options trap = {
		.period = 1, .sigtrap = 1, .remove_on_exec = 1, .sig_data = 1
	};

	(void)state;
	assert_int_equal(built("cycles", NULL).size, PERCH_ATTR_SIZE_VER0);
	assert_int_equal(built("cycles", &clock).size, PERCH_ATTR_SIZE_VER3);
	assert_int_equal(built("cycles", &stack).size, PERCH_ATTR_SIZE_VER5);
	assert_int_equal(built("cycles", &paused).size, PERCH_ATTR_SIZE_VER6);
	assert_int_equal(built("cycles", &trap).size, PERCH_ATTR_SIZE_VER7);
}

static void modifiers_and_options_are_combined(void **state)
{
	const struct perch_options idle = { .period = 1, .exclude_idle = 1, .precise = 1 };
	struct perch_attr attr = built("cycles:upp", &idle);

	(void)state;
	assert_true(attr.exclude_kernel);
	assert_true(attr.exclude_hv);
	assert_false(attr.exclude_user);
	assert_true(attr.exclude_idle);
	assert_int_equal(attr.precise_ip, 2);
}

static const struct {
	const char *one, *other; /* the message must have both */
	struct perch_options options;
} contradictions[] = {
	{ "period", "frequency", { .period = 1, .frequency = 1 } },
	{ "wakeup_events", "wakeup_bytes", { .wakeup_events = 1, .wakeup_bytes = 1 } },
	{ "inherit_thread", "inherit", { .inherit_thread = 1 } },
	{ "inherit_stat", "inherit", { .inherit_stat = 1 } },
	{ "enable_on_exec", "remove_on_exec", { .enable_on_exec = 1, .remove_on_exec = 1 } },
	{ "enabled", "enable_on_exec", { .enabled = 1, .enable_on_exec = 1 } },
	{ "sigtrap", "remove_on_exec", { .sigtrap = 1 } },
	{ "sig_data", "sigtrap", { .sig_data = 1 } },
	{ "clockid", "use_clockid", { .clockid = 1 } },
	{ "WEIGHT",
	  "WEIGHT_STRUCT",
	  { .sample = PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT } },
	{ "BRANCH_STACK", "branch_sample_type", { .sample = PERCH_SAMPLE_BRANCH_STACK } },
	{ "branch_sample_type", "BRANCH_STACK", { .branch_sample_type = 8 } },
	{ "REGS_USER", "sample_regs_user", { .sample = PERCH_SAMPLE_REGS_USER } },
	{ "sample_regs_intr", "REGS_INTR", { .sample_regs_intr = 1 } },
	{ "sample_stack_user", "STACK_USER", { .sample_stack_user = 8 } },
	{ "sample_max_stack", "CALLCHAIN", { .sample_max_stack = 8 } },
	{ "aux_pause", "aux_resume", { .aux_pause = 1, .aux_resume = 1 } },
	{ "aux_output", "aux_pause", { .aux_output = 1, .aux_pause = 1 } },
	{ "aux_output",
	  "aux_sample_size",
	  { .aux_output = 1, .sample = PERCH_SAMPLE_AUX, .aux_sample_size = 8 } },
	{ "aux_start_paused", "aux_resume", { .aux_start_paused = 1, .aux_resume = 1 } },
	{ "aux_sample_size", "PERCH_SAMPLE_AUX", { .aux_sample_size = 8 } },
	{ "PERCH_SAMPLE_AUX", "aux_sample_size", { .sample = PERCH_SAMPLE_AUX } },
	{ "STACK_USER", "sample_stack_user", { .sample = PERCH_SAMPLE_STACK_USER } },
	{ "precise", "period", { .precise = 1 } },
	{ "sigtrap", "period", { .sigtrap = 1, .remove_on_exec = 1 } },
	{ "exclude_callchain_user",
	  "exclude_callchain_kernel",
	  { .sample = PERCH_SAMPLE_CALLCHAIN,
	    .exclude_callchain_user = 1,
	    .exclude_callchain_kernel = 1 } },
	{ "defer_callchain", "CALLCHAIN", { .defer_callchain = 1 } },
	{ "defer_callchain",
	  "exclude_callchain_user",
	  { .sample = PERCH_SAMPLE_CALLCHAIN, .defer_callchain = 1, .exclude_callchain_user = 1 } },
	{ "BRANCH_CALL_STACK",
	  "BRANCH_ANY",
	  { .sample = PERCH_SAMPLE_BRANCH_STACK,
	    .branch_sample_type = PERCH_SAMPLE_BRANCH_CALL_STACK | PERCH_SAMPLE_BRANCH_ANY } },
	{ "BRANCH_CALL_STACK",
	  "BRANCH_COUNTERS",
	  { .sample = PERCH_SAMPLE_BRANCH_STACK,
	    .branch_sample_type = PERCH_SAMPLE_BRANCH_CALL_STACK | PERCH_SAMPLE_BRANCH_COUNTERS } },
	{ "clockid", "type", { .use_clockid = 1, .clockid = CLOCK_TAI } },
	{ "exclude_host", "exclude_guest", { .exclude_host = 1, .exclude_guest = 1 } },
	{ "inherit", "PERCH_SAMPLE_TID", { .inherit = 1, .sample = PERCH_SAMPLE_READ } },
	{ "BUILD_ID", "SIDEBAND_MMAP", { .sideband = PERCH_SIDEBAND_BUILD_ID } },
	{ "exclude_user",
	  "exclude_kernel",
	  { .exclude_user = 1, .exclude_kernel = 1, .exclude_hv = 1 } },
};

static void contradictions_name_both_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(contradictions) / sizeof(*contradictions); i++) {
		struct perch_attr attr;
		struct perch_error err;

		if (perch_attr_build(&attr, event("cycles"), &contradictions[i].options, &err) !=
		    -EINVAL)
			fail_msg("%s and %s are taken", contradictions[i].one,
				 contradictions[i].other);
		assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
		assert_non_null(perch_attr_get_field(err.field));
		if (!strstr(err.message, contradictions[i].one) ||
		    !strstr(err.message, contradictions[i].other))
			fail_msg("'%s' does not name %s and %s", err.message, contradictions[i].one,
				 contradictions[i].other);
	}
}

/* Unusual options that the kernel accepts. */
static void accepts_unusual_options(void **state)
{
	const struct perch_options data = { .sideband = PERCH_SIDEBAND_MMAP_DATA };
	const struct perch_options stack = {
		.sample = PERCH_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERCH_SAMPLE_BRANCH_CALL_STACK | PERCH_SAMPLE_BRANCH_USER |
				      PERCH_SAMPLE_BRANCH_KERNEL,
	};
	struct perch_attr attr;

	(void)state;
	assert_int_equal(perch_attr_build(&attr, event("dummy"), &data, NULL), 0);
	/* with either of these, code as well */
	assert_true(attr.mmap_data && !attr.mmap && !attr.mmap2);
	assert_int_equal(perch_attr_build(&attr, event("cycles"), &stack, NULL), 0);
	assert_int_equal(attr.branch_sample_type, stack.branch_sample_type);
}

static void refuses_unknown_bits(void **state)
{
	const struct perch_options all = { .sideband = PERCH_SIDEBAND_MAX - 1 },
				   beyond = { .sideband = 1u << 20 };
	struct perch_attr attr;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_attr_build(&attr, event("dummy"), &all, NULL), 0);
	assert_true(attr.build_id && attr.text_poke);
	assert_int_equal(perch_attr_build(&attr, event("dummy"), &beyond, &err), -EINVAL);
	assert_string_equal(err.field, "sideband");
}

static void refuses_values_out_of_range(void **state)
{
	const struct perch_options period = { .period = 1ull << 63 };
	const struct perch_options stack = { .sample = PERCH_SAMPLE_STACK_USER,
					     .sample_stack_user = 65536 };
	const struct perch_options user = { .exclude_user = 1 };
	struct perch_attr attr;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_attr_build(&attr, event("cycles"), &period, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_PERIOD);
	assert_int_equal(perch_attr_build(&attr, event("cycles"), &stack, &err), -EINVAL);
	assert_string_equal(err.field, "sample_stack_user");
	assert_int_equal(perch_attr_build(&attr, event("cycles:u"), &user, &err), -EINVAL);
	assert_string_equal(err.field, "exclude_user");
	assert_int_equal(perch_attr_build(&attr, event("cycles:u"), &user, NULL), -EINVAL);
}

/* ---- The open call, replayed ---- */

struct seen {
	struct perch_attr attr;
	pid_t pid;
	int cpu, group_fd, calls, answer;
	unsigned long flags;
	uint32_t kernel_size; /* written into the attr on E2BIG, as the kernel does */
};

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	struct seen *seen = context;

	seen->attr = *attr;
	seen->pid = pid;
	seen->cpu = cpu;
	seen->group_fd = group_fd;
	seen->flags = flags;
	seen->calls++;
	if (seen->answer >= 0)
		return seen->answer;
	if (seen->answer == -E2BIG)
		((struct perch_attr *)attr)->size = seen->kernel_size;
	errno = -seen->answer;
	return -1;
}

static void makes_one_system_call(void **state)
{
	struct seen seen = { .answer = 42 };
	struct perch_syscalls calls = perch_kernel_syscalls;
	const struct perch_target cgroup = { .tid = -1, .cpu = 3, .cgroup_fd = 9, .use_cgroup = 1 };
	const struct perch_attr attr = built("page-faults", NULL);
	struct perch_machine *machine;

	(void)state;
	calls.context = &seen;
	calls.perf_event_open = replay_open;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	assert_int_equal(perch_open(&attr, &perch_self, 7, PERCH_FLAG_FD_NO_GROUP, machine, NULL),
			 42);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.pid, 0);
	assert_int_equal(seen.cpu, -1);
	assert_int_equal(seen.group_fd, 7);
	assert_int_equal(seen.flags, PERCH_FLAG_FD_NO_GROUP | PERCH_FLAG_FD_CLOEXEC);
	assert_memory_equal(&seen.attr, &attr, sizeof(attr));
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, NULL), 42);
	assert_int_equal(seen.pid, 9);
	assert_int_equal(seen.cpu, 3);
	assert_int_equal(seen.flags, PERCH_FLAG_PID_CGROUP | PERCH_FLAG_FD_CLOEXEC);
	assert_int_equal(perch_open(&attr, NULL, -1, 0, machine, NULL), 42);
	assert_int_equal(seen.cpu, -1);
	perch_machine_free(machine);
}

/* A machine without files whose open calls are answered by seen. */
static struct perch_machine *replaying_machine(struct seen *seen)
{
	static struct perch_syscalls calls;
	struct perch_machine *machine;

	calls = perch_kernel_syscalls;
	calls.context = seen;
	calls.perf_event_open = replay_open;
	assert_int_equal(perch_machine_new(&machine, "/nowhere", &calls, NULL), 0);
	return machine;
}

static void refusals_are_explained(void **state)
{
	struct seen seen = { .answer = -E2BIG, .kernel_size = PERCH_ATTR_SIZE_VER6 };
	struct perch_target cgroup = { .cpu = 1, .cgroup_fd = 5, .use_cgroup = 1 };
	const struct perch_options trap = {
		.period = 1, .sigtrap = 1, .remove_on_exec = 1, .sig_data = 1
	};
	struct perch_attr attr = built("page-faults", &trap);
	struct perch_machine *machine;
	struct perch_error err;

	(void)state;
	machine = replaying_machine(&seen);
	assert_int_equal(perch_open(&attr, &perch_self, -1, 0, machine, &err), -E2BIG);
	assert_int_equal(err.kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err.field, "sig_data");
	assert_string_equal(err.since, "5.13");
	assert_int_equal(attr.size,
			 PERCH_ATTR_SIZE_VER7); /* the attr of the caller does not change */
	seen.answer = -EMFILE;
	assert_int_equal(perch_open(&attr, &perch_self, -1, 0, machine, &err), -EMFILE);
	assert_int_equal(err.kind, PERCH_ERROR_DESCRIPTORS);
	assert_int_equal(perch_open(&attr, &perch_self, -1, 0, machine, NULL), -EMFILE);
	seen.answer = -EBADF;
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), -EBADF);
	assert_string_equal(err.field, "cgroup_fd");
	assert_non_null(strstr(err.message, "cgroup_fd is descriptor 5"));
	cgroup.cpu = -1;
	seen.answer = -EINVAL;
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), -EINVAL);
	assert_non_null(strstr(err.message, "cpu is -1, and cgroup_fd is descriptor 5"));
	assert_non_null(strstr(err.remedy, "one event per CPU"));
	attr.size = 10;
	assert_int_equal(perch_open(&attr, &perch_self, -1, 0, machine, &err), -E2BIG);
	assert_string_equal(err.field, "size");
	assert_int_equal(perch_open(NULL, &perch_self, -1, 0, machine, &err), -EINVAL);
	perch_machine_free(machine);
}

/* A negative descriptor is the result of a failed open(2), and not "no cgroup"; 0 is a descriptor.
 */
static void cgroup_descriptors(void **state)
{
	struct perch_target cgroup = { .tid = -1, .cpu = -1, .cgroup_fd = -1, .use_cgroup = 1 };
	const struct perch_attr attr = built("page-faults", NULL);
	struct seen seen = { .answer = 42 };
	struct perch_machine *machine;
	struct perch_error err;

	(void)state;
	machine = replaying_machine(&seen);
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), -EBADF);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_TARGET);
	assert_string_equal(err.field, "cgroup_fd");
	assert_non_null(strstr(err.message, "cgroup_fd is -1"));
	cgroup.use_cgroup = 0;
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), -EBADF);
	cgroup.cgroup_fd = 5;
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), -EINVAL);
	assert_non_null(strstr(err.message, "cgroup_fd needs use_cgroup"));
	assert_int_equal(seen.calls, 0);
	cgroup = (struct perch_target){ .cpu = 3, .cgroup_fd = 0, .use_cgroup = 1 };
	assert_int_equal(perch_open(&attr, &cgroup, -1, 0, machine, &err), 42);
	assert_int_equal(seen.pid, 0);
	assert_int_equal(seen.flags, PERCH_FLAG_PID_CGROUP | PERCH_FLAG_FD_CLOEXEC);
	perch_machine_free(machine);
}

static int teardown(void **state)
{
	(void)state;
	perch_events_clear(&events);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_unknown_bits),
		cmocka_unit_test(default_options),
		cmocka_unit_test(every_option_sets_its_field),
		cmocka_unit_test(options_set_no_other_field),
		cmocka_unit_test(every_field_can_be_set),
		cmocka_unit_test(attr_size_is_the_smallest),
		cmocka_unit_test(modifiers_and_options_are_combined),
		cmocka_unit_test(contradictions_name_both_options),
		cmocka_unit_test(accepts_unusual_options),
		cmocka_unit_test(refuses_values_out_of_range),
		cmocka_unit_test(makes_one_system_call),
		cmocka_unit_test(refusals_are_explained),
		cmocka_unit_test(cgroup_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
