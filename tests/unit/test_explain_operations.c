/* SPDX-License-Identifier: MIT */
/* Refused mmap, ioctl and read calls on described machines, rule by rule: cause, fields, values. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "explain/operation/operation.h"

#include "explain_operation_rows.h"
#include "tree.h"
#include "x86_rules.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

#define STATUS(capabilities) \
	"Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t" capabilities "\nSeccomp:\t0\n"
#define LIMITS                                                                             \
	"Max open files            1024                 4096                 files     \n" \
	"Max locked memory         65536                65536                bytes     \n"

static const struct tree_file user_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.14.2\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_mlock_kb", "516\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "5000\n" },
	{ "/proc/self/status", STATUS("0000000000000000") },
	{ "/proc/self/limits", LIMITS },
	{ "/sys/devices/system/cpu/online", "0-1\n" },
	{ "/proc/sys/vm/overcommit_memory", "0\n" },
	{ "/proc/meminfo", "MemTotal:  1000000 kB\nSwapTotal:   1000000 kB\n" },
};
static const struct tree_file root_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.14.2\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_mlock_kb", "516\n" },
	{ "/proc/self/status", STATUS("000001ffffffffff") },
	{ "/proc/self/limits", LIMITS },
	{ "/sys/devices/system/cpu/online", "0-1\n" },
	{ "/sys/kernel/tracing/events/sched/sched_switch/id", "314\n" },
	{ "/sys/kernel/tracing/events/sched/sched_switch/format",
	  "name: sched_switch\nID: 314\nformat:\n"
	  "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	  "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:__data_loc char[] exec_name;\toffset:28;\tsize:4;\tsigned:0;\n"
	  "\nprint fmt: \"%s\", REC->prev_comm\n" },
	{ "/proc/sys/vm/overcommit_memory", "2\n" },
	{ "/proc/meminfo", "CommitLimit:   1000000 kB\nCommitted_AS:   998000 kB\n" },
};
static const struct tree_file old_files[] = {
	{ "/proc/sys/kernel/osrelease", "3.10.0\n" },
	{ "/proc/self/status", STATUS("0000000000000000") },
};
/* A ring of five pages, and a sealed page. */
#define MAPS                                                                                     \
	"00400000-00452000 r-xp 00000000 08:02 173521                 /usr/bin/x\n"              \
	"10000000-10001000 rw-p 00000000 00:00 0\n"                                              \
	"50000000-50005000 rw-s 00000000 00:0e 1049                   anon_inode:[perf_event]\n" \
	"50006000-50007000 r--p 00000000 00:00 0\n"
#define VSYSCALL "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n"
static const struct tree_file new_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.0\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/vm/mmap_min_addr", "65536\n" },
	{ "/proc/sys/vm/max_map_count", "3\n" },
	{ "/proc/self/status", STATUS("0000000000000000") },
	{ "/proc/self/limits", "Max open files 9 9 files\nMax locked memory 0 0 bytes\n" },
	{ "/proc/self/maps", MAPS VSYSCALL },
	{ "/proc/self/smaps", MAPS
	  "Size:                  4 kB\nVmFlags: rd mr mw me sl sd \n" VSYSCALL "VmFlags: ex \n" },
};
static const struct tree_file stable_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.1.180\n" },
	{ "/proc/self/status", STATUS("0000000000000000") },
	{ "/proc/self/maps", MAPS },
};
static const struct tree_file selinux_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.0\n" },
	{ "/proc/self/status", STATUS("0000000000000000") },
	{ "/sys/fs/selinux/enforce", "1" },
};
static const struct tree_file limited_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.0\n" },
	{ "/proc/sys/vm/max_map_count", "65530\n" },
	{ "/proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme\n" },
	{ "/proc/self/status",
	  STATUS("0000000000000000") "VmSize:\t    1020 kB\nVmData:\t     120 kB\n" },
	{ "/proc/self/limits", "Max data size 122880 unlimited bytes\n"
			       "Max locked memory 65536 65536 bytes\n"
			       "Max address space 1048576 unlimited bytes\n" },
	{ "/proc/self/maps", MAPS },
};
static const struct {
	const struct tree_file *file;
	size_t nr;
} machine_files[NR_MACHINES] = {
	[USER] = { user_files, NR(user_files) },
	[ROOT] = { root_files, NR(root_files) },
	[OLD] = { old_files, NR(old_files) },
	[NEW] = { new_files, NR(new_files) },
	[STABLE] = { stable_files, NR(stable_files) },
	[SELINUX] = { selinux_files, NR(selinux_files) },
	[LIMITED] = { limited_files, NR(limited_files) },
};

static struct perch_machine *machines[NR_MACHINES];
static char roots[NR_MACHINES][PATH_MAX];

static int setup(void **state)
{
	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < NR_MACHINES; i++) {
		if (!machine_files[i].file)
			continue;
		tree_make(roots[i], machine_files[i].file, machine_files[i].nr);
		if (perch_machine_new(&machines[i], roots[i], NULL, NULL))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_MACHINES; i++) {
		perch_machine_free(machines[i]);
		if (roots[i][0])
			tree_remove(roots[i]);
	}
	return 0;
}

static const struct perch__operation_rule *rule_named(const char *name)
{
	const struct perch__operation_rule *const tables[] = { perch__mmap_rules,
							       perch__ioctl_rules,
							       perch__read_rules };

	for (size_t i = 0; i < NR(tables); i++)
		for (const struct perch__operation_rule *rule = tables[i]; rule->name; rule++)
			if (!strcmp(rule->name, name))
				return rule;
	return NULL;
}

/* Fills the operation of a row; the parameters hold what it points to. */
struct made {
	struct perch_attr attr, other_attr;
	struct perch_open_call_leader other;
	struct perch_operation op;
};

static void make(struct made *made, const struct operation_row *row)
{
	made->attr = row->attr;
	made->other_attr = row->other_attr;
	if (!made->attr.size)
		made->attr.size = sizeof(made->attr);
	if (!made->other_attr.size)
		made->other_attr.size = sizeof(made->other_attr);
	made->op = row->op;
	made->op.errnum = row->errnum;
	made->op.from_log = row->machine == NONE;
	if (row->has_attr)
		made->op.attr = &made->attr;
	if (row->has_other) {
		made->other = row->other;
		made->other.attr = &made->other_attr;
		made->op.other = &made->other;
	}
}

static void check_finding(const struct operation_row *row, const struct perch__operation_rule *rule,
			  const struct perch_finding *finding)
{
	size_t fixed = strcspn(rule->message, "{"), nr = 0;
	char start[512];

	snprintf(start, sizeof(start), "%.*s", (int)fixed, rule->message);
	if (finding->cause != rule->cause || finding->kind != perch_cause_kind(rule->cause))
		fail_msg("%s: the cause is %s: %s", row->rule, perch_cause_slug(finding->cause),
			 finding->message);
	if (!strstr(finding->message, start) || !strstr(finding->message, row->words))
		fail_msg("%s: no '%s' or '%s' in '%s'", row->rule, start, row->words,
			 finding->message);
	if (strchr(finding->message, '{') || strchr(finding->remedy, '{') || !finding->remedy[0] ||
	    strstr(finding->message, "cannot ") != finding->message)
		fail_msg("%s: '%s', '%s'", row->rule, finding->message, finding->remedy);
	if (row->machine == NEW && strstr(finding->message, "since Linux"))
		fail_msg("%s: a release that does not matter: %s", row->rule, finding->message);
	if (row->remedy && !strstr(finding->remedy, row->remedy))
		fail_msg("%s: no '%s' in '%s'", row->rule, row->remedy, finding->remedy);
	while (nr < 4 && rule->field[nr])
		nr++;
	assert_int_equal(finding->nr_fields, nr);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal(finding->field[i], rule->field[i]);
	if (rule->since && *rule->since != '*')
		assert_string_equal(finding->since, rule->since);
}

static void every_rule_names_its_cause(void **state)
{
	(void)state;
	if (sysconf(_SC_PAGESIZE) != PAGE)
		skip();
	for (size_t i = 0; i < NR(operation_rows); i++) {
		const struct operation_row *row = &operation_rows[i];
		const struct perch__operation_rule *rule = rule_named(row->rule);
		struct perch_explanation explanation;
		struct made made;

		if (!rule)
			fail_msg("there is no rule %s", row->rule);
		make(&made, row);
		assert_int_equal(
			perch_explain_operation(&made.op, machines[row->machine], &explanation), 0);
		assert_int_equal(explanation.errnum, row->errnum);
		check_finding(row, rule, &explanation.finding[0]);
		if (explanation.confidence != row->confidence)
			fail_msg("%s: %s, with %zu findings", row->rule,
				 perch_confidence_name(explanation.confidence),
				 explanation.nr_findings);
		assert_true((explanation.nr_findings > 1) ==
			    (row->confidence == PERCH_CONFIDENCE_AMBIGUOUS));
		assert_int_equal(explanation.open_calls, 0);
	}
}

static void every_rule_has_a_row(void **state)
{
	const struct perch__operation_rule *const tables[] = { perch__mmap_rules,
							       perch__ioctl_rules,
							       perch__read_rules };

	(void)state;
	NEEDS_X86_RULES();
	for (size_t table = 0; table < NR(tables); table++)
		for (const struct perch__operation_rule *rule = tables[table]; rule->name; rule++) {
			bool found = false;

			for (size_t i = 0; i < NR(operation_rows) && !found; i++)
				found = !strcmp(operation_rows[i].rule, rule->name);
			if (!found)
				fail_msg("no row for the rule %s", rule->name);
		}
}

/* ---- Follow-ups and candidates ---- */

#define PAGES(nr) ((nr) * (size_t)sysconf(_SC_PAGESIZE))

static void both_faults_are_found(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .inherit = 1 };
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .from_log = true,
				      .errnum = EINVAL,
				      .attr = &attr,
				      .cpu = -1,
				      .length = PAGES(4),
				      .map_flags = MAP_PRIVATE };
	struct perch_explanation explanation;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_INHERIT);
	assert_int_equal(explanation.nr_next, 2);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_MMAP_PRIVATE);
	assert_int_equal(explanation.next[1].cause, PERCH_CAUSE_MMAP_LENGTH);
	assert_int_equal(perch_explanation_error(&explanation, &err), -EINVAL);
	assert_string_equal(err.field, "inherit");
	assert_non_null(strstr(err.next, "MAP_PRIVATE"));
	attr.inherit = 0;
	op.errnum = EPERM;
	op.protection = PROT_EXEC;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_EXEC);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_MMAP_PRIVATE);
}

/* A fault that the first remedy fixes, or a rule that only the errno proves, is no follow-up. */
static void followups_are_true(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perch_operation ops[] = {
		{ .kind = PERCH_OPERATION_MMAP,
		  .from_log = true,
		  .errnum = EINVAL,
		  .attr = &attr,
		  .length = PAGES(2),
		  .offset = PAGES(2),
		  .map_flags = MAP_SHARED },
		{ .kind = PERCH_OPERATION_IOCTL,
		  .from_log = true,
		  .errnum = EBADF,
		  .attr = &attr,
		  .request = PERCH_IOC_SET_OUTPUT,
		  .argument = UINT32_MAX },
		{ .kind = PERCH_OPERATION_IOCTL,
		  .from_log = true,
		  .errnum = EBADF,
		  .request = PERCH_IOC_SET_BPF,
		  .argument = 9 },
	};
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < NR(ops); i++) {
		assert_int_equal(perch_explain_operation(&ops[i], NULL, &explanation), 0);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_int_equal(explanation.nr_next, 0);
	}
	ops[1].ring_size = PAGES(3); /* matches whatever is passed instead */
	assert_int_equal(perch_explain_operation(&ops[1], NULL, &explanation), 0);
	assert_int_equal(explanation.nr_next, 1);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_IOCTL_OUTPUT);
}

/* The kernel ignores the descriptor: no rule of events applies. */
static void anonymous_mappings_are_not_of_the_event(void **state)
{
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .from_log = true,
				      .errnum = ENOMEM,
				      .length = PAGES(4),
				      .map_flags = MAP_SHARED | MAP_ANONYMOUS };
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_NOT_AN_EVENT);
	assert_non_null(strstr(explanation.finding[0].message, "MAP_ANONYMOUS"));
}

/* A machine that maps its address without MAP_FIXED: the address is only a hint. */
static void hints_are_not_refused(void **state)
{
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .errnum = EPERM,
				      .length = PAGES(513),
				      .address_known = true,
				      .map_flags = MAP_SHARED };
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_operation(&op, machines[USER], &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_LOCKED);
	op.address = 0x1001;
	op.errnum = EINVAL;
	op.from_log = true;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_not_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_ADDRESS);
}

/* Candidates that a missing fact leaves possible are in the order of the kernel. */
static void candidates(void **state)
{
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .from_log = true,
				      .errnum = EINVAL,
				      .cpu = -1,
				      .length = PAGES(9),
				      .map_flags = MAP_SHARED };
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_AMBIGUOUS);
	assert_int_equal(explanation.nr_findings, 2);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_INHERIT);
	assert_int_equal(explanation.finding[1].cause, PERCH_CAUSE_MMAP_EXISTING);
	assert_int_equal(explanation.nr_next, 0);
	op.map_flags = MAP_PRIVATE; /* certain, but earlier ones are possible too */
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_LIKELY);
	assert_int_equal(explanation.nr_findings, 1);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_PRIVATE);
}

/* A ring of 1 + 512 pages of 4 KiB has 2052 KiB; the limit is 2 x 516 + 64 = 1096 KiB. */
static void locked_memory_has_the_sum(void **state)
{
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .errnum = EPERM,
				      .length = PAGES(513),
				      .protection = PROT_READ | PROT_WRITE,
				      .map_flags = MAP_SHARED };
	struct perch_explanation explanation;

	(void)state;
	if (sysconf(_SC_PAGESIZE) != PAGE)
		skip();
	assert_int_equal(perch_explain_operation(&op, machines[USER], &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_non_null(strstr(explanation.finding[0].message, "2052 KiB of locked memory"));
	assert_non_null(strstr(explanation.finding[0].message, "(516) x 2 CPUs = 1032 KiB"));
	assert_non_null(strstr(explanation.finding[0].message, "RLIMIT_MEMLOCK (64 KiB)"));
	/* 2052 - 1096 */
	assert_non_null(strstr(explanation.finding[0].message, "exceeds it by 956 KiB"));
	/* 257 pages are 1028 KiB, 513 exceed the limit */
	assert_non_null(
		strstr(explanation.finding[0].remedy, "at most 1 + 256 pages (1052672 bytes)"));
	/* 516 + 2052 / 2 = 1542, rounded up to a page: 1544 */
	assert_non_null(strstr(explanation.finding[0].remedy, "kernel.perf_event_mlock_kb=1544"));
	assert_non_null(strstr(explanation.finding[0].remedy, "to 2116 KiB")); /* 64 + 2052 */
	op.length = PAGES(129); /* 516 KiB: alone it would fit */
	assert_int_equal(perch_explain_operation(&op, machines[USER], &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_LIKELY);
	/* 1096 - 516 */
	assert_non_null(strstr(explanation.finding[0].message, "use more than 580 KiB"));
	op.length = SIZE_MAX; /* no sum turns over */
	assert_int_equal(perch_explain_operation(&op, machines[USER], &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_LOCKED);
}

static void read_has_the_size(void **state)
{
	struct perch_attr attr = { .size = sizeof(attr), .read_format = 0x1f }; /* all five */
	struct perch_operation op = { .kind = PERCH_OPERATION_READ,
				      .from_log = true,
				      .errnum = ENOSPC,
				      .attr = &attr,
				      .cpu = -1,
				      .size = 8,
				      .group_size = 3 };
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	/* 8 * (3 + 3 * 3) */
	assert_non_null(strstr(explanation.finding[0].message, "needs 96 bytes for the 3 events"));
	attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_ID;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_non_null(strstr(explanation.finding[0].remedy, "at least 24 bytes"));
	op.size = 24; /* enough: no rule may match */
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_READ_SHORT);
	assert_null(strstr(explanation.finding[0].message, "24 bytes, and"));
}

/* Any errno has a complete explanation; without a failure there is none. */
static void explains_any_errno(void **state)
{
	struct perch_attr attr = { .size = 72 };
	struct perch_operation op = {
		.attr = &attr, .filter = "(((", .length = 77, .offset = 12345, .other_fd = -1
	};
	struct perch_explanation explanation;

	(void)state;
	for (unsigned kind = 0; kind <= PERCH_OPERATION_MUNMAP; kind++)
		for (int errnum = 0; errnum < 600; errnum++)
			for (unsigned long request = 0x2400; request < 0x240c; request++) {
				op.kind = kind;
				op.errnum = errnum;
				op.request = request;
				if (!errnum && kind != PERCH_OPERATION_READ) {
					assert_int_equal(perch_explain_operation(&op, NULL,
										 &explanation),
							 -EINVAL);
					continue;
				}
				assert_int_equal(
					perch_explain_operation(&op, machines[errnum % NR_MACHINES],
								&explanation),
					0);
				assert_true(explanation.nr_findings >= 1);
				assert_true(explanation.finding[0].message[0] &&
					    explanation.finding[0].remedy[0]);
				assert_null(strchr(explanation.finding[0].message, '{'));
			}
	op.kind = 99;
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), -EINVAL);
	assert_int_equal(perch_explain_operation(NULL, NULL, &explanation), -EINVAL);
	op = (struct perch_operation){ .kind = PERCH_OPERATION_READ, .errnum = -5 };
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), -EINVAL);
}

/* Nothing is read beyond an attr of 64 bytes. */
static void short_attrs(void **state)
{
	void *attr = calloc(1, PERCH_ATTR_SIZE_VER0);
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .from_log = true,
				      .errnum = EINVAL,
				      .attr = attr,
				      .cpu = -1,
				      .length = PAGES(4),
				      .map_flags = MAP_SHARED };
	struct perch_explanation explanation;

	(void)state;
	assert_non_null(attr);
	assert_int_equal(perch_explain_operation(&op, NULL, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_LENGTH);
	free(attr);
}

static void filter_errors(void **state)
{
	static const struct {
		const char *filter;
		char fault;
	} cases[] = {
		{ "", 0 },
		{ "a == 1", 0 },
		{ "(a == 1", '(' },
		{ "a == 1)", ')' },
		{ "((a == 1)", '(' },
		{ ")(", ')' },
		{ "a ~ \"x", '"' },
		{ "a ~ 'x", '"' },
		{ "a ~ \"(\"", 0 },
		{ "(a ~ \")\"", '(' },
		{ "\"'\"", 0 },
		{ "(\"", '"' },
	};

	(void)state;
	for (size_t i = 0; i < NR(cases); i++)
		if (perch__filter_error(cases[i].filter) != cases[i].fault)
			fail_msg("%s", cases[i].filter);
	assert_true(perch__filter_has_file("filter 0x10/20@/bin/true"));
	assert_false(perch__filter_has_file("start 0xffffffff81000000@"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_names_its_cause),
		cmocka_unit_test(every_rule_has_a_row),
		cmocka_unit_test(both_faults_are_found),
		cmocka_unit_test(followups_are_true),
		cmocka_unit_test(anonymous_mappings_are_not_of_the_event),
		cmocka_unit_test(hints_are_not_refused),
		cmocka_unit_test(candidates),
		cmocka_unit_test(locked_memory_has_the_sum),
		cmocka_unit_test(read_has_the_size),
		cmocka_unit_test(explains_any_errno),
		cmocka_unit_test(short_attrs),
		cmocka_unit_test(filter_errors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
