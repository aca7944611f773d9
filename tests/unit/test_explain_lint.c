/* SPDX-License-Identifier: MIT */
/* Settings that the kernel accepts, but that have no effect: an open call for each rule, and
 * correct open calls. */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "explain/lint.h"

#include "machine/internal.h"
#include "tree_machine.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))
#define PMUS	  "/sys/bus/event_source/devices/"

static const struct tree_file files[] = {
	{ "/proc/sys/kernel/osrelease", "6.14.2\n" },
	{ "/proc/sys/kernel/nmi_watchdog", "1\n" },
	{ PMUS "cpu/type", "4\n" },
	{ PMUS "cpu/format/event", "config:0-7\n" },
	{ PMUS "cpu/format/umask", "config:8-15\n" },
	{ PMUS "cpu/format/cmask", "config:24-31\n" },
	{ PMUS "cpu/format/inv", "config:23\n" },
	{ PMUS "cpu/format/ldlat", "config1:0-15,20\n" },
	{ PMUS "cpu/format/nonsense", "config9:0-63\n" },
	{ PMUS "software/type", "1\n" },
};

static int setup(void **state)
{
	(void)state;
	return tree_machine_make(files, NR(files));
}

struct row {
	const char *rule;
	const char *words;
	const char *fields[4];
	struct perch_attr attr;
	int cpu, pid, group_plus_1;
	unsigned long flags;
	size_t members;	      /* of the leader's group */
	bool silent;	      /* the machine knows that breakpoints never fire */
	uint32_t size_plus_1; /* 0: all of the attr */
};

/* clang-format off */
#define ROW(rule, text, fields_, ...) { #rule, .words = text, .fields = fields_, __VA_ARGS__ }
#define FIELDS(...) { __VA_ARGS__ }
/* clang-format on */
#define ATTR(...)     .attr = { __VA_ARGS__ }
#define SAMPLES(what) .sample_type = PERCH_SAMPLE_##what, .sample_period = 1
#define SW(which)     .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_##which
#define FAULTS	      SW(PAGE_FAULTS)

static const struct row rows[] = {
	ROW(size, "branch_sample_type and all later", FIELDS("size", "branch_sample_type"),
	    ATTR(FAULTS, .branch_sample_type = 8, .clockid = 1), .size_plus_1 = 1),
	ROW(size, "config2", FIELDS("size", "config2"), ATTR(.type = 8, .config2 = 1),
	    .size_plus_1 = 1),
	ROW(size, "bp_len", FIELDS("size", "bp_len"),
	    ATTR(.type = PERCH_TYPE_BREAKPOINT, .bp_len = 8), .size_plus_1 = 1),
	ROW(beyond_size, "attr.size is 72: branch_sample_type",
	    FIELDS("size", "branch_sample_type"),
	    ATTR(FAULTS, .config2 = 3, .branch_sample_type = 8), .size_plus_1 = 73),
	ROW(max_stack, "sample_max_stack 9 is", FIELDS("sample_max_stack", "sample_type"),
	    ATTR(FAULTS, SAMPLES(IP), .sample_max_stack = 9)),
	ROW(callchain_modes, "no frames",
	    FIELDS("exclude_callchain_kernel", "exclude_callchain_user"),
	    ATTR(FAULTS, SAMPLES(CALLCHAIN), .exclude_callchain_kernel = 1,
		 .exclude_callchain_user = 1)),
	ROW(callchain_exclude, "no CALLCHAIN",
	    FIELDS("exclude_callchain_kernel", "exclude_callchain_user", "sample_type"),
	    ATTR(FAULTS, SAMPLES(IP), .exclude_callchain_kernel = 1)),
	ROW(defer_callchain, "no CALLCHAIN", FIELDS("defer_callchain", "sample_type"),
	    ATTR(FAULTS, SAMPLES(IP), .defer_callchain = 1)),
	ROW(clockid, "clockid 4 is", FIELDS("clockid", "use_clockid"),
	    ATTR(FAULTS, .clockid = CLOCK_MONOTONIC_RAW)),
	ROW(build_id, "MMAP2", FIELDS("build_id", "mmap2"),
	    ATTR(SW(DUMMY), .mmap = 1, .build_id = 1)),
	ROW(mmap2, "mmap", FIELDS("mmap2", "mmap"), ATTR(SW(DUMMY), .mmap2 = 1)),
	ROW(comm_exec, "comm", FIELDS("comm_exec", "comm"), ATTR(SW(DUMMY), .comm_exec = 1)),
	ROW(inherit_stat, "child", FIELDS("inherit_stat", "inherit"),
	    ATTR(FAULTS, .inherit_stat = 1)),
	ROW(sig_data, "without sigtrap", FIELDS("sig_data", "sigtrap"),
	    ATTR(FAULTS, .sig_data = 1)),
	ROW(aux_size, "no AUX data", FIELDS("sample_type", "aux_sample_size"),
	    ATTR(FAULTS, SAMPLES(AUX))),
	ROW(aux_size_alone, "AUX", FIELDS("aux_sample_size", "sample_type"),
	    ATTR(FAULTS, SAMPLES(IP), .aux_sample_size = 64)),
	ROW(branch_type, "BRANCH_STACK", FIELDS("branch_sample_type", "sample_type"),
	    ATTR(FAULTS, .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY)),
	ROW(regs_user, "REGS_USER", FIELDS("sample_regs_user", "sample_type"),
	    ATTR(FAULTS, .sample_regs_user = 1)),
	ROW(regs_intr, "REGS_INTR", FIELDS("sample_regs_intr", "sample_type"),
	    ATTR(FAULTS, .sample_regs_intr = 1)),
	ROW(stack_alone, "sample_stack_user 8192 is", FIELDS("sample_stack_user", "sample_type"),
	    ATTR(FAULTS, .sample_stack_user = 8192)),
	ROW(stack_empty, "is 0", FIELDS("sample_type", "sample_stack_user"),
	    ATTR(FAULTS, SAMPLES(STACK_USER))),
	ROW(format_id, "PERF_FORMAT_ID", FIELDS("read_format", "sample_type"),
	    ATTR(FAULTS, SAMPLES(READ), .read_format = PERCH_FORMAT_GROUP)),
	ROW(bp_type, "bp_type 2 is", FIELDS("bp_type", "type"),
	    ATTR(FAULTS, .bp_type = PERCH_BREAKPOINT_W)),
	ROW(freq_zero, "only counts", FIELDS("freq", "sample_freq"), ATTR(FAULTS, .freq = 1)),
	ROW(no_samples, "no samples", FIELDS("sample_type", "sample_period"),
	    ATTR(FAULTS, .sample_type = PERCH_SAMPLE_IP)),
	ROW(watermark_small, "1 is a number of bytes", FIELDS("wakeup_watermark", "watermark"),
	    ATTR(FAULTS, SAMPLES(IP), .watermark = 1, .wakeup_events = 1)),
	ROW(watermark_zero, "half full", FIELDS("watermark", "wakeup_watermark"),
	    ATTR(FAULTS, SAMPLES(IP), .watermark = 1)),
	ROW(watermark_missing, "65536 is a number of samples", FIELDS("wakeup_events", "watermark"),
	    ATTR(FAULTS, SAMPLES(IP), .wakeup_watermark = 65536)),
	ROW(aux_watermark, "a software event has no AUX", FIELDS("aux_watermark", "type"),
	    ATTR(FAULTS, .aux_watermark = 4096)),
	ROW(hardware_sample, "have 0 in WEIGHT, DATA_SRC:", FIELDS("sample_type"),
	    ATTR(FAULTS, .sample_period = 1,
		 .sample_type = PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_DATA_SRC)),
	ROW(precise, "a breakpoint has no skid", FIELDS("precise_ip", "type"),
	    ATTR(.type = PERCH_TYPE_BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 8,
		 .precise_ip = 2)),
	ROW(breakpoint, "never fire, because the CPU raises", FIELDS("type"),
	    ATTR(.type = PERCH_TYPE_BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 8),
	    .silent = true),
	ROW(exclude_all, "both set", FIELDS("exclude_user", "exclude_kernel"),
	    ATTR(FAULTS, .exclude_user = 1, .exclude_kernel = 1)),
	ROW(kernel_only, "occurs only in the kernel", FIELDS("exclude_kernel", "config"),
	    ATTR(SW(CONTEXT_SWITCHES), .exclude_kernel = 1)),
	ROW(kernel_only, "occurs only in the kernel", FIELDS("exclude_kernel", "config"),
	    ATTR(SW(CPU_MIGRATIONS), .exclude_kernel = 1)),
	ROW(exclude_host_guest, "exclude_guest", FIELDS("exclude_host", "exclude_guest"),
	    ATTR(.type = PERCH_TYPE_HARDWARE, .exclude_host = 1, .exclude_guest = 1)),
	ROW(exclude_hv, "no effect for a software event", FIELDS("exclude_hv"),
	    ATTR(FAULTS, .exclude_hv = 1)),
	ROW(exclude_idle, "idle task", FIELDS("exclude_idle"), ATTR(FAULTS, .exclude_idle = 1)),
	ROW(clock_exclude, "together", FIELDS("exclude_user"),
	    ATTR(SW(TASK_CLOCK), .exclude_user = 1)),
	ROW(output, "-1", FIELDS("flags", "group_fd"), ATTR(FAULTS), .flags = PERCH_FLAG_FD_OUTPUT),
	ROW(no_group, "group_fd 3", FIELDS("flags", "group_fd"), ATTR(FAULTS),
	    .flags = PERCH_FLAG_FD_NO_GROUP, .group_plus_1 = 4),
	ROW(enable_on_exec, "at once", FIELDS("enable_on_exec", "disabled"),
	    ATTR(FAULTS, .enable_on_exec = 1)),
	ROW(exec_cpu, "whole CPU", FIELDS("enable_on_exec", "pid"),
	    ATTR(FAULTS, .enable_on_exec = 1, .disabled = 1), .pid = -1),
	ROW(remove_cpu, "whole CPU", FIELDS("remove_on_exec", "pid"),
	    ATTR(FAULTS, .remove_on_exec = 1), .pid = -1),
	ROW(raw_bits,
	    "config 0x5301c0 has bits outside the formats of the PMU cpu, which the kernel ignores: 0x530000",
	    FIELDS("config"), ATTR(.type = PERCH_TYPE_RAW, .config = 0x5301c0)),
	ROW(raw_bits,
	    "config1 0x1f0000 has bits outside the formats of the PMU cpu, which the kernel ignores: 0xf0000",
	    FIELDS("config1"), ATTR(.type = PERCH_TYPE_RAW, .config = 0xc0, .config1 = 0x1f0000)),
	ROW(exclusive_watchdog, "never counts", FIELDS("exclusive"),
	    ATTR(.type = PERCH_TYPE_HARDWARE, .exclusive = 1)),
	ROW(pinned_watchdog, "error", FIELDS("pinned"),
	    ATTR(.type = PERCH_TYPE_HARDWARE, .pinned = 1)),
	ROW(group_counters, "group of 4 events", FIELDS("group_fd"),
	    ATTR(.type = PERCH_TYPE_HARDWARE), .group_plus_1 = 4, .members = 3),
};

static const struct perch__lint_rule *rule_named(const char *name)
{
	for (const struct perch__lint_rule *rule = perch__lint_rules; rule->name; rule++)
		if (!strcmp(rule->name, name))
			return rule;
	return NULL;
}

static size_t lint(const struct row *row, struct perch_finding *findings, size_t max, bool partial)
{
	struct perch_attr attr = row->attr;
	struct perch_open_call_leader leader = { .attr = &attr, .members = row->members };
	struct perch_open_call call = {
		.attr = &attr,
		.pid = row->pid,
		.cpu = row->cpu,
		.group_fd = row->group_plus_1 - 1,
		.flags = row->flags,
		.leader = row->members ? &leader : NULL,
		.attr_is_partial = partial,
	};

	attr.size = row->size_plus_1 ? row->size_plus_1 - 1 : sizeof(attr);
	machine->breakpoints_fire.valid = row->silent;
	return perch_lint(&call, machine, findings, max);
}

/* Each row has its finding and no other one. */
static void every_row_has_its_finding(void **state)
{
	struct perch_finding found[4];

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		const struct perch__lint_rule *rule = rule_named(rows[i].rule);
		size_t nr;

		if (!rule)
			fail_msg("there is no row %s", rows[i].rule);
		nr = lint(&rows[i], found, NR(found), false);
		if (nr != 1)
			fail_msg("%s: %zu findings: %s; %s", rows[i].rule, nr,
				 nr ? found[0].message : "", nr ? found[1].message : "");
		assert_int_equal(found[0].cause, rule->cause);
		assert_int_equal(found[0].kind, PERCH_ERROR_USAGE);
		assert_string_equal(found[0].since, rule->since ? rule->since : "");
		if (!strstr(found[0].message, rows[i].words) || strchr(found[0].message, '{') ||
		    strchr(found[0].remedy, '{') || !found[0].remedy[0])
			fail_msg("%s: no '%s' in '%s' (%s)", rows[i].rule, rows[i].words,
				 found[0].message, found[0].remedy);
		for (size_t field = 0; field < 4; field++)
			if (field < found[0].nr_fields)
				assert_string_equal(found[0].field[field], rows[i].fields[field]);
			else
				assert_null(rows[i].fields[field]);
	}
}

static void every_lint_rule_has_a_row(void **state)
{
	bool cause_seen[PERCH_CAUSE_MAX] = { false };

	(void)state;
	for (const struct perch__lint_rule *rule = perch__lint_rules; rule->name; rule++) {
		bool found = false;

		for (size_t i = 0; i < NR(rows) && !found; i++)
			found = !strcmp(rows[i].rule, rule->name);
		if (!found)
			fail_msg("no call for %s", rule->name);
		cause_seen[rule->cause] = true;
	}
#define SEEN(name, slug, kind, meaning) assert_true(cause_seen[PERCH_CAUSE_##name]);
	PERCH_LINT_CAUSES(SEEN)
#undef SEEN
}

/* Correct attrs of profilers, counters and this library. */
static void correct_calls_have_no_finding(void **state)
{
	static const struct row good[] = {
		ROW(counter, "", FIELDS(0),
		    ATTR(.type = PERCH_TYPE_HARDWARE, .disabled = 1, .inherit = 1,
			 .exclude_kernel = 1, .exclude_hv = 1, .read_format = 3,
			 .sample_type = PERCH_SAMPLE_IDENTIFIER)),
		ROW(profile, "", FIELDS(0),
		    ATTR(SW(CPU_CLOCK), .freq = 1, .sample_freq = 99, .disabled = 1,
			 .enable_on_exec = 1,
			 .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_TID,
			 .sample_max_stack = 64, .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1,
			 .build_id = 1, .exclude_callchain_kernel = 1, .use_clockid = 1,
			 .clockid = 1, .watermark = 1, .wakeup_watermark = 65536,
			 .sample_id_all = 1)),
		ROW(stacks, "", FIELDS(0),
		    ATTR(SW(CPU_CLOCK), .freq = 1, .sample_freq = 99, .sample_stack_user = 8192,
			 .sample_regs_user = 0xff0fff,
			 .sample_type = PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER)),
		ROW(records, "", FIELDS(0),
		    ATTR(SW(DUMMY), .mmap = 1, .task = 1, .sample_id_all = 1,
			 .sample_type = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME)),
		ROW(bpf, "", FIELDS(0),
		    ATTR(SW(BPF_OUTPUT), .sample_type = PERCH_SAMPLE_RAW, .wakeup_events = 1)),
		ROW(raw, "", FIELDS(0),
		    ATTR(.type = PERCH_TYPE_RAW, .config = 0xff8001c0, .config1 = 0x10ffff)),
		ROW(watch, "", FIELDS(0),
		    ATTR(.type = PERCH_TYPE_BREAKPOINT, .bp_type = 3, .bp_addr = 4096,
			 .bp_len = 8)),
		ROW(short_attr, "", FIELDS(0), ATTR(FAULTS), .size_plus_1 = 1),
	};
	struct perch_finding found[4];

	(void)state;
	for (size_t i = 0; i < NR(good); i++)
		if (lint(&good[i], found, NR(found), false))
			fail_msg("%s: %s", good[i].rule, found[0].message);
}

/* In a partial attr, no field counts as missing. */
static void partial_attr_lacks_nothing(void **state)
{
	static const struct row some =
		ROW(some, "", FIELDS(0),
		    ATTR(FAULTS, .clockid = 1, .mmap2 = 1, .freq = 1, .sample_type = 1));
	struct perch_finding found[4];

	(void)state;
	assert_int_equal(lint(&some, found, NR(found), false), 3);
	assert_int_equal(lint(&some, found, NR(found), true), 0);
}

static void returns_more_than_max(void **state)
{
	struct perch_attr attr = { FAULTS, .size = sizeof(attr), .clockid = 1, .mmap2 = 1,
				   .comm_exec = 1 };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct perch_finding found[2] = { 0 };

	(void)state;
	assert_int_equal(perch_lint(&call, NULL, found, 1), 3);
	assert_int_equal(found[0].cause, PERCH_CAUSE_LINT_CLOCKID);
	assert_int_equal(found[1].cause, PERCH_CAUSE_NONE);
	assert_int_equal(perch_lint(&call, NULL, NULL, 0), 3);
	call.attr = NULL;
	assert_int_equal(perch_lint(&call, NULL, found, 1), 0);
	assert_int_equal(perch_lint(NULL, NULL, found, 1), 0);
}

/* Without facts, rules that need one do not match. Random bytes do no harm. */
static void without_facts_and_with_random_bytes(void **state)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_RAW, .size = sizeof(attr), .config = 0x5300c0, .exclusive = 1
	};
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	struct perch_finding found[64];
	uint64_t random = 88172645463325252u;

	(void)state;
	assert_int_equal(perch_lint(&call, NULL, found, NR(found)), 0);
	for (int round = 0; round < 20000; round++) {
		unsigned char *bytes = (unsigned char *)&attr;
		size_t nr;

		for (size_t i = 0; i < sizeof(attr); i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			bytes[i] = random & 0x300 ? 0 : random >> 16;
		}
		attr.type %= 12;
		nr = perch_lint(&call, round % 64 ? NULL : machine, found, NR(found));
		for (size_t i = 0; i < nr; i++)
			assert_true(found[i].message[0] && found[i].nr_fields &&
				    !strchr(found[i].message, '{'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_its_finding),
		cmocka_unit_test(every_lint_rule_has_a_row),
		cmocka_unit_test(correct_calls_have_no_finding),
		cmocka_unit_test(partial_attr_lacks_nothing),
		cmocka_unit_test(returns_more_than_max),
		cmocka_unit_test(without_facts_and_with_random_bytes),
	};

	return cmocka_run_group_tests(tests, setup, tree_machine_remove);
}
