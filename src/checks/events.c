/* SPDX-License-Identifier: MIT */
/*
 * Checks that open events. Each event is opened disabled and closed at once, but for the breakpoint
 * that shows whether breakpoints fire.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define SOFTWARE(event)                                                 \
	.size = sizeof(struct perch_attr), .type = PERCH_TYPE_SOFTWARE, \
	.config = PERCH_COUNT_SW_##event, .disabled = 1
#define CYCLES                                                          \
	.size = sizeof(struct perch_attr), .type = PERCH_TYPE_HARDWARE, \
	.config = PERCH_COUNT_HW_CPU_CYCLES, .disabled = 1
#define USER_ONLY .exclude_kernel = 1, .exclude_hv = 1
#define SAMPLES                        \
	.freq = 1, .sample_freq = 100, \
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME
#define CHAINS                         \
	.freq = 1, .sample_freq = 100, \
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_CALLCHAIN

static const struct perch__privilege user_privilege = { 2, "perfmon" },
				     kernel_privilege = { 1, "perfmon" },
				     system_wide_privilege = { 0, "perfmon" };
static const struct perch__privilege raw_privilege = { -1, "perfmon" },
				     process_privilege = { PERCH__NO_LEVEL, "perfmon" };
static const struct perch__privilege admin_privilege = { PERCH__NO_LEVEL, "sys_admin" };

static struct perch_open_call own_call(const struct perch_attr *attr)
{
	return (struct perch_open_call){ .attr = attr, .pid = 0, .cpu = -1, .group_fd = -1 };
}

int perch__check_open_and_close(struct perch_checks *checks, struct perch_open_call *call)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(checks->machine);
	struct perch_attr attr = *call->attr; /* the kernel may write into it */
	int fd = calls->perf_event_open(calls->context, &attr, call->pid, call->cpu, call->group_fd,
					call->flags | PERCH_FLAG_FD_CLOEXEC);

	call->errnum = fd < 0 ? errno : 0;
	if (fd < 0 && call->errnum == E2BIG)
		call->kernel_size = attr.size;
	if (fd >= 0)
		calls->close(calls->context, fd);
	return call->errnum;
}

static bool try(struct perch_checks *checks, struct perch_check *result,
		struct perch_open_call *call, const struct perch__privilege *privilege)
{
	if (!perch__check_open_and_close(checks, call)) {
		result->status = PERCH_CHECK_OK;
		return true;
	}
	perch__check_explain_refusal(checks, result, call, privilege);
	return false;
}

static bool try_own(struct perch_checks *checks, struct perch_check *result,
		    const struct perch_attr *attr, const struct perch__privilege *privilege)
{
	struct perch_open_call call = own_call(attr);

	return try(checks, result, &call, privilege);
}

/*
 * If the complete event is refused but this part of it works, the result is limited, with the
 * reason of the refusal.
 */
static void try_part(struct perch_checks *checks, struct perch_check *result,
		     const struct perch_attr *attr, const char *part)
{
	struct perch_open_call call = own_call(attr);

	if (result->status == PERCH_CHECK_OK || perch__check_open_and_close(checks, &call))
		return;
	result->status = PERCH_CHECK_LIMITED;
	perch__check_value(result, "%s", part);
}

void perch__check_count_user(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { SOFTWARE(TASK_CLOCK), USER_ONLY };

	try_own(checks, result, &attr, &user_privilege);
}

void perch__check_count_kernel(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { SOFTWARE(TASK_CLOCK) };

	try_own(checks, result, &attr, &kernel_privilege);
}

void perch__check_clock(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { SOFTWARE(CPU_CLOCK), USER_ONLY, SAMPLES };

	if (try_own(checks, result, &attr, &user_privilege))
		perch__check_value(result, "cpu-clock");
}

void perch__check_cycles(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr counted = { CYCLES, USER_ONLY },
				       sampled = { CYCLES, USER_ONLY, SAMPLES };

	try_own(checks, result, &sampled, &user_privilege);
	try_part(checks, result, &counted, "only counting");
}

/* The summary and the exit status depend on this check. */
void perch__check_sample(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_check *cycles = perch_checks_find(checks, "cycles"),
				 *clock = perch_checks_find(checks, "clock");

	if (cycles->status == PERCH_CHECK_OK) {
		result->status = PERCH_CHECK_OK;
		perch__check_value(result, "by cycles");
		return;
	}
	result->cause = clock->status == PERCH_CHECK_OK ? cycles->cause : clock->cause;
	if (clock->status == PERCH_CHECK_OK) {
		perch__check_reason(result, PERCH_CHECK_LIMITED,
				    "cycles cannot be sampled here; cpu-clock is used instead");
		perch__check_change(result, "%s", cycles->change);
		perch__check_value(result, "by cpu-clock");
	} else {
		perch__check_reason(result, PERCH_CHECK_NO, "%s", clock->reason);
		perch__check_change(result, "%s", clock->change);
	}
}

void perch__check_sample_kernel(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr clock = { SOFTWARE(CPU_CLOCK), SAMPLES },
				       cycles = { CYCLES, SAMPLES };
	bool hardware = perch_checks_find(checks, "cycles")->status == PERCH_CHECK_OK;

	if (try_own(checks, result, hardware ? &cycles : &clock, &kernel_privilege))
		perch__check_value(result, hardware ? "by cycles" : "by cpu-clock");
}

void perch__check_callchains(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr whole = { SOFTWARE(CPU_CLOCK), CHAINS };
	static const struct perch_attr user = { SOFTWARE(CPU_CLOCK), USER_ONLY, CHAINS,
						.exclude_callchain_kernel = 1 };

	if (try_own(checks, result, &whole, &kernel_privilege))
		perch__check_value(result, "user space and kernel");
	try_part(checks, result, &user, "user space only");
}

/* perch record --off-cpu opens these events for threads of its own; see recorder/off_cpu/. */
void perch__check_off_cpu(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr whole = {
		SOFTWARE(CONTEXT_SWITCHES),
		.context_switch = 1,
		.sample_period = 1,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_CALLCHAIN,
	};
	static const struct perch_attr times = { SOFTWARE(DUMMY), USER_ONLY, .context_switch = 1 };

	if (try_own(checks, result, &whole, &kernel_privilege))
		perch__check_value(result, "with call chains");
	try_part(checks, result, &times, "times of threads, without call chains");
}

void perch__check_precise(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_attr attr = { CYCLES, USER_ONLY, SAMPLES };

	for (unsigned level = 3; level; level--) {
		struct perch_open_call call = own_call(&attr);

		attr.precise_ip = level;
		if (!perch__check_open_and_close(checks, &call)) {
			result->status = level > 1 ? PERCH_CHECK_OK : PERCH_CHECK_LIMITED;
			perch__check_value(result, "cycles:%.*s", (int)level, "ppp");
			if (level == 1)
				perch__check_reason(
					result, PERCH_CHECK_LIMITED,
					"this hardware supports at most precise_ip 1 (constant skid)");
			return;
		}
		if (level == 1)
			perch__check_explain_refusal(checks, result, &call, &user_privilege);
	}
}

void perch__check_branches(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = {
		.size = sizeof(struct perch_attr),
		.type = PERCH_TYPE_HARDWARE,
		.config = PERCH_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		USER_ONLY,
		.sample_period = 100000,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER,
	};

	try_own(checks, result, &attr, &user_privilege);
}

void perch__check_set_locked_down(struct perch_check *result)
{
	result->cause = perch_cause_slug(PERCH_CAUSE_LOCKDOWN_REGS);
	perch__check_value(result, "confidentiality");
	perch__check_reason(
		result, PERCH_CHECK_LIMITED,
		"lockdown forbids sampling registers at interrupts, and kprobes, even to root");
	perch__check_suggest_lockdown(result);
}

/* Sampling registers at interrupts needs neither a PMU nor privileges: only lockdown refuses it. */
void perch__check_detect_lockdown(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr plain = { SOFTWARE(DUMMY), USER_ONLY };
	struct perch_attr attr = plain;
	struct perch_open_call without = own_call(&plain), with = own_call(&attr);

	attr.sample_type = PERCH_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1;
	if (perch__check_open_and_close(checks, &without) ||
	    (perch__check_open_and_close(checks, &with) && with.errnum != EPERM)) {
		perch__check_reason(
			result, PERCH_CHECK_UNKNOWN,
			"/sys/kernel/security/lockdown cannot be read, and the event that would show the mode cannot be opened");
	} else if (!with.errnum) {
		result->status = PERCH_CHECK_OK;
		perch__check_value(result, "not confidentiality (tried by opening an event)");
	} else {
		perch__check_set_locked_down(result);
	}
}

static uint64_t watched; /* the address of the breakpoint, which stays disabled */

static const struct perch_attr breakpoint = {
	.size = sizeof(struct perch_attr),
	.type = PERCH_TYPE_BREAKPOINT,
	.disabled = 1,
	.bp_type = PERCH_BREAKPOINT_W,
	.bp_len = 4,
};

/* A breakpoint that was opened is of no use if it never fires. */
static void check_that_it_fires(struct perch_checks *checks, struct perch_check *result,
				const struct perch_attr *attr)
{
	struct perch_open_call call = own_call(attr);
	struct perch_error err;
	int fire = perch_machine_breakpoints_fire(checks->machine, &err);

	if (fire > 0)
		return;
	if (fire < 0) {
		perch__check_value(result, "opened; %s", err.message);
		return;
	}
	call.errnum = EOPNOTSUPP; /* what perch_open() returns for it */
	perch__check_explain_refusal(checks, result, &call, &user_privilege);
}

void perch__check_breakpoint_user(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_attr attr = breakpoint;

	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.bp_addr = (uintptr_t)&watched;
	if (try_own(checks, result, &attr, &user_privilege))
		check_that_it_fires(checks, result, &attr);
}

/* The address is not in user space on any architecture, and the kernel never writes to it. */
void perch__check_breakpoint_kernel(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_attr attr = breakpoint;

	attr.bp_addr = UINTPTR_MAX & ~(uintptr_t)0xfff;
	if (try_own(checks, result, &attr, &admin_privilege)) {
		check_that_it_fires(checks, result, &attr);
		return;
	}
	if (perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN) || !result->cause)
		return;
	/* The kernel checks the right to profile the kernel first, but that right is not enough. */
	if (!strcmp(result->cause, perch_cause_slug(PERCH_CAUSE_KERNEL_PROFILING)) ||
	    !strcmp(result->cause, perch_cause_slug(PERCH_CAUSE_USER_NAMESPACE))) {
		result->cause = perch_cause_slug(PERCH_CAUSE_BREAKPOINT_PRIVILEGE);
		perch__check_reason(result, PERCH_CHECK_NO,
				    "watching an address of the kernel needs CAP_SYS_ADMIN");
	}
}

int perch__check_first_cpu(struct perch_checks *checks)
{
	const struct perch_cpus *cpus;

	return perch_machine_cpus(checks->machine, &cpus, NULL) || !cpus->nr ? 0 : cpus->cpu[0];
}

void perch__check_system_wide(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { SOFTWARE(CPU_CLOCK), USER_ONLY };
	struct perch_open_call call = own_call(&attr);

	call.pid = -1;
	call.cpu = perch__check_first_cpu(checks);
	if (try(checks, result, &call, &system_wide_privilege))
		perch__check_value(result, "tried on CPU %d", call.cpu);
}

/*
 * Returns a process of another user. If there is none, returns process 1, which has more
 * capabilities in most containers, or 0.
 */
static pid_t find_other_process(struct perch_checks *checks, uint32_t *uid, bool *same_user)
{
	struct perch_process_state self = { 0 }, other;
	char path[PATH_MAX];
	const struct dirent *entry;
	pid_t found = 0;
	DIR *directory;

	if (perch_machine_process(checks->machine, 0, &self, NULL) ||
	    perch_machine_path(checks->machine, "/proc", path, sizeof(path)) < 0 ||
	    !(directory = opendir(path)))
		return 0;
	for (int i = 0; i < 4096 && (entry = readdir(directory)); i++) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || pid > INT_MAX || pid == getpid() ||
		    perch_machine_process(checks->machine, pid, &other, NULL) ||
		    other.state == 'Z' || other.state == 'X' || (other.uid == self.uid && pid != 1))
			continue;
		*uid = other.uid;
		*same_user = other.uid == self.uid;
		found = pid;
		if (other.uid != self.uid)
			break;
	}
	closedir(directory);
	return found;
}

void perch__check_other_users(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { SOFTWARE(DUMMY), USER_ONLY };
	struct perch_open_call call = own_call(&attr);
	bool same_user = false;
	uint32_t uid = 0;

	call.pid = find_other_process(checks, &uid, &same_user);
	if (!call.pid) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "no process of another user is visible");
		return;
	}
	try(checks, result, &call, &process_privilege);
	perch__check_value(result, "tried on process %d of uid %u", (int)call.pid, (unsigned)uid);
	if (call.errnum == ESRCH)
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "the process to open the event on has exited");
	else if (!call.errnum && same_user && !perch_machine_privileged(checks->machine) &&
		 !perch__check_has_capability(checks, PERCH_CAP_SYS_PTRACE))
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "all visible processes belong to this same user");
}

/*
 * Reads the id of a tracepoint from tracefs. Returns false after an error, which is then the
 * result.
 */
static bool tracepoint_id(struct perch_checks *checks, struct perch_check *result, const char *name,
			  uint64_t *id)
{
	char path[PATH_MAX], file[PATH_MAX + 64], text[32], *end;
	ssize_t got = -1;
	int fd;

	perch__check_tracefs(checks, result);
	result->value[0] = '\0';
	if (result->status != PERCH_CHECK_OK ||
	    perch_machine_tracefs(checks->machine, path, sizeof(path), NULL))
		return false;
	snprintf(file, sizeof(file), "%s/events/%s/id", path, name);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (got > 0) {
		text[got] = '\0';
		*id = strtoull(text, &end, 10);
		if (end != text)
			return true;
	}
	perch__check_reason(result, PERCH_CHECK_NO, "%s cannot be read: %s", file,
			    got < 0 ? strerror(errno) : "not a number");
	return false;
}

static struct perch_attr tracepoint_attr(uint64_t id)
{
	return (struct perch_attr){ .size = sizeof(struct perch_attr),
				    .type = PERCH_TYPE_TRACEPOINT,
				    .config = id,
				    .disabled = 1,
				    USER_ONLY };
}

/* Most tracepoints occur only in the kernel: without the kernel, they can be opened and count 0. */
void perch__check_tracepoint_count(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_attr attr;
	uint64_t id;

	if (!tracepoint_id(checks, result, "sched/sched_switch", &id))
		return;
	attr = tracepoint_attr(id);
	attr.exclude_kernel = 0;
	if (try_own(checks, result, &attr, &kernel_privilege)) {
		perch__check_value(result, "tried on sched:sched_switch");
		return;
	}
	attr = tracepoint_attr(id);
	try_part(checks, result, &attr, "only for system calls and uprobes; others count 0");
}

static struct perch_attr tracepoint_with_data(uint64_t id)
{
	struct perch_attr attr = tracepoint_attr(id);

	attr.sample_period = 1;
	attr.sample_type = PERCH_SAMPLE_RAW;
	return attr;
}

/* Every user may read the data of system call tracepoints in their own processes. */
void perch__check_tracepoint_raw(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_check ignored = *result;
	struct perch_attr attr;
	uint64_t id;

	if (!tracepoint_id(checks, result, "sched/sched_switch", &id))
		return;
	attr = tracepoint_with_data(id);
	if (try_own(checks, result, &attr, &raw_privilege) ||
	    !tracepoint_id(checks, &ignored, "raw_syscalls/sys_enter", &id))
		return;
	attr = tracepoint_with_data(id);
	try_part(checks, result, &attr, "only for system calls");
}
