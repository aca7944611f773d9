/* SPDX-License-Identifier: MIT */
/*
 * A simulated kernel that refuses what a test sets, in order, and accepts the rest. It checks the
 * rules of probing: no event that starts by itself, no probe or trace unit, no unrelated thread, no
 * open descriptor.
 */
#ifndef EXPLAIN_KERNEL_H
#define EXPLAIN_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include <perch/explain.h>

#include "tree.h"

#define PMUS	     "/sys/bus/event_source/devices/"
#define TYPE_CPU     4
#define TYPE_UPROBE  8
#define TYPE_MSR     10
#define TYPE_PT	     11
#define TYPE_UNCORE  23
#define HIGHEST_TYPE 0xffffff

/* Root on Linux 6.18 with a hardware PMU, and PMUs that probing must not use. */
static const struct tree_file explain_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.1\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/self/status",
	  "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0\n" },
	{ "/proc/77/status",
	  "Name:\tother\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\nCapPrm:\t0000000000000000\n" },
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/possible", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ PMUS "software/type", "1\n" },
	{ PMUS "tracepoint/type", "2\n" },
	{ PMUS "breakpoint/type", "5\n" },
	{ PMUS "cpu/type", "4\n" },
	{ PMUS "uprobe/type", "8\n" },
	{ PMUS "msr/type", "10\n" },
	{ PMUS "intel_pt/type", "11\n" },
	{ PMUS "uncore_imc/type", "23\n" },
	{ PMUS "uncore_imc/cpumask", "0\n" },
};

/* An open call as the kernel sees it. */
struct seen_call {
	const struct perch_attr *attr;
	pid_t pid;
	int cpu, group_fd;
	unsigned long flags;
};

struct fault {
	bool (*refuses)(const struct seen_call *call);
	int errnum;
};

struct kernel {
	struct fault fault[4]; /* in the order of the checks */
	/* the errno of a filter before perf; 0: no filter */
	int filter_errno;
	pid_t named; /* the only other thread that may be opened */
	unsigned calls, open;
	struct perch_syscalls table;
	char root[PATH_MAX];
	struct perch_machine *machine;
};

static void check_open_call(const struct kernel *kernel, const struct seen_call *call)
{
	const struct perch_attr *attr = call->attr;

	assert_true(attr->disabled);
	assert_true(call->flags & PERCH_FLAG_FD_CLOEXEC);
	assert_true(attr->size <= sizeof(*attr) || attr->size > 4096); /* what is read is there */
	if (!(call->flags & PERCH_FLAG_PID_CGROUP) && call->pid > 0)
		assert_int_equal(call->pid, kernel->named);
}

/* No event may be opened that starts by itself, or has effects beside the event. */
static void check_accepted(const struct seen_call *call)
{
	const struct perch_attr *attr = call->attr;

	assert_false(attr->enable_on_exec || attr->sigtrap || attr->sig_data);
	assert_false(attr->context_switch || attr->cgroup);
	assert_false(call->group_fd < 0 &&
		     (attr->inherit || attr->inherit_thread || attr->inherit_stat));
	assert_int_not_equal(attr->type, TYPE_UPROBE);
	assert_int_not_equal(attr->type, TYPE_PT);
	assert_false(attr->type == PERCH_TYPE_HARDWARE &&
		     attr->config == PERCH_COUNT_HW_BRANCH_INSTRUCTIONS &&
		     attr->sample_period == 1 && !attr->freq);
}

static int kernel_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	struct kernel *kernel = context;
	const struct seen_call call = { attr, pid, cpu, group_fd, flags };

	kernel->calls++;
	errno = kernel->filter_errno ? kernel->filter_errno : EFAULT;
	if (!attr || kernel->filter_errno)
		return -1;
	check_open_call(kernel, &call);
	errno = E2BIG;
	if (attr->size < PERCH_ATTR_SIZE_VER0 || attr->size > 4096)
		return -1;
	for (size_t i = 0;
	     i < sizeof(kernel->fault) / sizeof(*kernel->fault) && kernel->fault[i].refuses; i++) {
		if (!kernel->fault[i].refuses(&call))
			continue;
		errno = kernel->fault[i].errnum;
		return -1;
	}
	errno = group_fd < -1 ? EBADF : ENOENT;
	if (group_fd < -1 || attr->type > HIGHEST_TYPE)
		return -1;
	check_accepted(&call);
	kernel->open++;
	return 100;
}

static int kernel_close(void *context, int fd)
{
	struct kernel *kernel = context;

	assert_int_equal(fd, 100);
	assert_true(kernel->open > 0);
	kernel->open--;
	return 0;
}

static void kernel_start(struct kernel *kernel, const struct tree_file *files, size_t nr)
{
	memset(kernel, 0, sizeof(*kernel));
	kernel->table = perch_kernel_syscalls;
	kernel->table.context = kernel;
	kernel->table.perf_event_open = kernel_open;
	kernel->table.close = kernel_close;
	tree_make(kernel->root, files, nr);
	assert_int_equal(perch_machine_new(&kernel->machine, kernel->root, &kernel->table, NULL),
			 0);
}

static void kernel_stop(struct kernel *kernel)
{
	perch_machine_free(kernel->machine);
	tree_remove(kernel->root);
}

/* Explains with a limit of open calls (0: the default) and no time limit. Checks that nothing stays
 * open. */
static void kernel_explain(struct kernel *kernel, const struct perch_open_call *call,
			   unsigned calls, struct perch_explanation *explanation)
{
	const struct perch_probing probing = { .open_calls = calls, .microseconds = 60000000 };

	kernel->calls = 0;
	assert_int_equal(perch_explain_open_call(call, &probing, kernel->machine, explanation), 0);
	assert_int_equal(explanation->open_calls, kernel->calls);
	assert_int_equal(kernel->open, 0);
	assert_in_range(explanation->nr_findings, 1, PERCH_FINDINGS_MAX);
	assert_true(explanation->finding[0].message[0]);
}

#endif
