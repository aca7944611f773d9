/* SPDX-License-Identifier: MIT */
/* Bug reports with a wrong or missing explanation: perch names the cause and a remedy. */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "report_rows_access.h"
#include "report_rows_hardware.h"
#include "report_rows_limits.h"
#include "x86_rules.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

static char roots[NR_MACHINES][PATH_MAX];

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < NR_MACHINES; i++) {
		size_t nr = 0;

		while (nr < MACHINE_FILES_MAX && machine_files[i][nr].path)
			nr++;
		tree_make(roots[i], machine_files[i], nr);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < NR_MACHINES; i++)
		tree_remove(roots[i]);
	return 0;
}

static int asked_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	const struct report *report = context;
	int answer = report->kernel(attr, pid, cpu, group_fd, flags);

	if (answer < 0)
		errno = -answer;
	return answer < 0 ? -1 : answer;
}

static int asked_close(void *context, int fd)
{
	(void)context;
	assert_int_equal(fd, 100); /* what the simulated kernels return */
	return 0;
}

static struct perch_machine *machine_at(enum machine_id machine_id,
					const struct perch_syscalls *calls)
{
	struct perch_machine *machine;

	assert_int_equal(perch_machine_new(&machine, roots[machine_id], calls, NULL), 0);
	return machine;
}

static bool has_field(const struct perch_finding *finding, const char *field)
{
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (!strcmp(finding->field[i], field))
			return true;
	return false;
}

static bool is_wanted(const struct report *report, const struct perch_finding *finding)
{
	return finding->cause == report->cause ||
	       (report->or_cause && finding->cause == report->or_cause);
}

/* All texts of a finding and its follow-ups. */
static bool is_in_messages(const struct perch_explanation *explained,
			   const struct perch_finding *finding, const char *words)
{
	if (strcasestr(finding->message, words) || strcasestr(finding->remedy, words))
		return true;
	for (size_t i = 0; i < explained->nr_next; i++)
		if (strcasestr(explained->next[i].message, words) ||
		    strcasestr(explained->next[i].remedy, words))
			return true;
	return false;
}

/* What is missing in the explanation; NULL: nothing. */
static const char *lacks(const struct report *report, const struct perch_explanation *explained)
{
	const struct perch_finding *finding = NULL;

	for (size_t i = 0; i < explained->nr_findings && !finding; i++)
		if (is_wanted(report, &explained->finding[i]))
			finding = &explained->finding[i];
	if (!finding)
		return "the cause is not among the candidates";
	if (!report->among && finding != &explained->finding[0])
		return "the cause is not the first one";
	if (report->field && !has_field(finding, report->field))
		return report->field;
	if (report->since && strcmp(finding->since, report->since))
		return report->since;
	for (size_t i = 0; i < NR(report->words) && report->words[i]; i++)
		if (!is_in_messages(explained, finding, report->words[i]))
			return report->words[i];
	return NULL;
}

static void show(const struct perch_explanation *explained)
{
	for (size_t i = 0; i < explained->nr_findings; i++)
		print_error("  %s %s [%s]: %s. %s\n",
			    i ? "or" : perch_confidence_name(explained->confidence),
			    perch_cause_slug(explained->finding[i].cause),
			    explained->finding[i].nr_fields ? explained->finding[i].field[0] : "",
			    explained->finding[i].message, explained->finding[i].remedy);
	for (size_t i = 0; i < explained->nr_next; i++)
		print_error("  then %s: %s. %s\n", perch_cause_slug(explained->next[i].cause),
			    explained->next[i].message, explained->next[i].remedy);
}

static bool holds(const struct report *report)
{
	struct perch_syscalls calls = perch_kernel_syscalls;
	struct perch_probing probing = { .microseconds = 1000000 };
	struct perch_attr attr = report->attr;
	struct perch_open_call call = {
		.attr = &attr,
		.pid = report->pid,
		.cpu = report->cpu_plus_1 - 1,
		.group_fd = report->group_plus_1 - 1,
		.flags = report->flags,
		.errnum = report->errnum,
		.leader = report->leader,
	};
	struct perch_explanation explained = { 0 };
	struct perch_machine *machine;
	const char *why;

	if (!attr.size)
		attr.size = sizeof(attr);
	calls.context = (void *)(uintptr_t)report;
	calls.perf_event_open = asked_event;
	calls.close = asked_close;
	machine = machine_at(report->machine_id, report->kernel ? &calls : NULL);
	assert_int_equal(perch_explain_open_call(&call, report->kernel ? &probing : NULL, machine,
						 &explained),
			 0);
	perch_machine_free(machine);
	assert_in_range(explained.nr_findings, 1, PERCH_FINDINGS_MAX);
	assert_in_range(explained.open_calls, 0, report->kernel ? 25 : 0);
	why = lacks(report, &explained);
	if (!why)
		return true;
	print_error("%s: %s\n", report->name, why);
	show(&explained);
	return false;
}

static void check_all(const struct report *reports, size_t nr)
{
	size_t bad = 0;

	for (size_t i = 0; i < nr; i++)
		bad += !holds(&reports[i]);
	assert_int_equal(bad, 0);
}

static void explains_refused_access(void **state)
{
	(void)state;
	NEEDS_X86_RULES();
	check_all(access_reports, NR(access_reports));
}

static void explains_missing_hardware(void **state)
{
	(void)state;
	check_all(hardware_reports, NR(hardware_reports));
}

static void explains_limits(void **state)
{
	(void)state;
	NEEDS_X86_RULES();
	check_all(limit_reports, NR(limit_reports));
}

static void check_operation(const struct perch_operation *operation, enum machine_id machine_id,
			    enum perch_cause cause, const char *const words[])
{
	struct perch_machine *machine = machine_at(machine_id, NULL);
	struct perch_explanation explained = { 0 };

	assert_int_equal(perch_explain_operation(operation, machine, &explained), 0);
	perch_machine_free(machine);
	if (explained.finding[0].cause != cause)
		show(&explained);
	assert_string_equal(perch_cause_slug(explained.finding[0].cause), perch_cause_slug(cause));
	for (; *words; words++)
		if (!is_in_messages(&explained, &explained.finding[0], *words)) {
			show(&explained);
			fail_msg("'%s' is in no message", *words);
		}
}

static const struct perch_attr sampling = {
	.type = PERCH_TYPE_SOFTWARE, .size = sizeof(sampling), OFTEN, USER_ONLY
};

/*
 * github.com/mstange/samply/issues/25, github.com/KDAB/hotspot/issues/712,
 * github.com/async-profiler/async-profiler/issues/875: rings above the limit of an unprivileged
 * user, reported as missing permission. The message has the sum.
 */
static void message_has_the_sum_of_locked_memory(void **state)
{
	const char *const words[] = { "perf_event_mlock_kb", "516", "RLIMIT_MEMLOCK", NULL };
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.errnum = EPERM,
		.attr = &sampling,
		.cpu = 0,
		.group_size = 1,
		.length = 4097 * (size_t)sysconf(_SC_PAGESIZE),
		.protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.other_fd = -1,
	};

	(void)state;
	check_operation(&operation, PARANOID_2, PERCH_CAUSE_MMAP_LOCKED, words);
}

/* github.com/hunter-ht-2018/ptfuzzer/issues/16: an AUX area mapped before aux_offset is set; the
 * program advised to raise the limit. */
static void explains_unset_aux_offset(void **state)
{
	const char *const words[] = { "aux_offset", "aux_size", NULL };
	static const struct perch_attr trace = { .type = INTEL_PT,
						 .size = sizeof(trace),
						 USER_ONLY };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.errnum = EINVAL,
		.attr = &trace,
		.cpu = -1,
		.group_size = 1,
		.ring_size = 65 * page,
		.length = 1024 * page,
		.protection = PROT_READ,
		.map_flags = MAP_SHARED,
		.offset = 65 * page,
		.other_fd = -1,
	};

	(void)state;
	check_operation(&operation, SERVER, PERCH_CAUSE_MMAP_AUX_FIELDS, words);
}

/* github.com/falcosecurity/libs/issues/1507: a ring size for another page size. */
static void explains_other_page_sizes(void **state)
{
	const char *const words[] = { "page", "2^n", NULL };
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.errnum = EINVAL,
		.attr = &sampling,
		.pid = -1,
		.cpu = 0,
		.group_size = 1,
		.length = 128 * (size_t)sysconf(_SC_PAGESIZE),
		.protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.other_fd = -1,
	};

	(void)state;
	check_operation(&operation, ARM, PERCH_CAUSE_MMAP_LENGTH, words);
}

/* github.com/mono/mono/pull/739: a ring of an inherited event on every CPU. */
static void explains_rings_of_inherited_events(void **state)
{
	const char *const words[] = { "inherit", "CPU", NULL };
	static const struct perch_attr inherited = { CYCLES, .size = sizeof(inherited), OFTEN,
						     USER_ONLY, .inherit = 1 };
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.errnum = EINVAL,
		.attr = &inherited,
		.cpu = -1,
		.group_size = 1,
		.length = 65 * (size_t)sysconf(_SC_PAGESIZE),
		.protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.other_fd = -1,
	};

	(void)state;
	check_operation(&operation, PARANOID_2, PERCH_CAUSE_MMAP_INHERIT, words);
}

/* github.com/cilium/ebpf/pull/293: accepted, but the probe was at offset 0. */
static void finds_an_attr_size_of_zero(void **state)
{
	static const struct perch_attr probe = { .type = 7,
						 .config1 = 0x7ffe1000,
						 .config2 = 0x1234 };
	struct perch_open_call call = {
		.attr = &probe, .pid = -1, .group_fd = -1, .flags = PERCH_FLAG_FD_CLOEXEC
	};
	struct perch_machine *machine = machine_at(PARANOID_2, NULL);
	struct perch_finding found[4] = { 0 };
	size_t nr = perch_lint(&call, machine, found, NR(found));

	(void)state;
	perch_machine_free(machine);
	assert_in_range(nr, 1, NR(found));
	assert_int_equal(found[0].cause, PERCH_CAUSE_LINT_SIZE);
	assert_true(has_field(&found[0], "size"));
	assert_non_null(strstr(found[0].message, "64"));
}

/* Each machine and each report is used. */
static void every_machine_and_report_is_used(void **state)
{
	static const struct {
		const struct report *report;
		size_t nr;
	} all[] = {
		{ access_reports, NR(access_reports) },
		{ hardware_reports, NR(hardware_reports) },
		{ limit_reports, NR(limit_reports) },
	};
	bool used[NR_MACHINES] = { false };
	size_t nr = 0;

	(void)state;
	for (size_t k = 0; k < NR(all); k++)
		for (size_t i = 0; i < all[k].nr; i++, nr++) {
			used[all[k].report[i].machine_id] = true;
			assert_true(all[k].report[i].cause != PERCH_CAUSE_NONE);
		}
	for (int i = 0; i < NR_MACHINES; i++)
		assert_true(used[i]);
	assert_true(nr >= 45);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explains_refused_access),
		cmocka_unit_test(explains_missing_hardware),
		cmocka_unit_test(explains_limits),
		cmocka_unit_test(message_has_the_sum_of_locked_memory),
		cmocka_unit_test(explains_unset_aux_offset),
		cmocka_unit_test(explains_other_page_sizes),
		cmocka_unit_test(explains_rings_of_inherited_events),
		cmocka_unit_test(finds_an_attr_size_of_zero),
		cmocka_unit_test(every_machine_and_report_is_used),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
