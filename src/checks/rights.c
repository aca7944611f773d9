/* SPDX-License-Identifier: MIT */
/* Checks of the privileges of this process, and of its sandbox. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Returns what a level permits to users without capabilities. */
static const char *level_meaning(long level)
{
	if (level < 0)
		return "all users may measure CPUs and the kernel, with tracepoint data, but not single "
		       "processes of other users";
	if (level == 0)
		return "all users may measure CPUs and the kernel, without the data of most tracepoints";
	if (level == 1)
		return "unprivileged users may measure only their own processes, in user space and kernel";
	return "unprivileged users may measure only the user space of their own processes";
}

/*
 * The mainline kernel has no level above 2. Above 2, kernels of some distributions refuse every
 * event. An earlier check opened an event, which shows the behavior of this kernel.
 */
static void set_distribution_level(struct perch_checks *checks, struct perch_check *result,
				   long level)
{
	const struct perch_check *count = perch_checks_find(checks, "count-user");
	const struct perch__privilege privilege = { PERCH__LEVEL_OF_ANY_EVENT, "sys_admin" };

	if (count->status == PERCH_CHECK_OK) {
		perch__check_reason(
			result, PERCH_CHECK_LIMITED,
			"%s: this kernel has no level above 2, and %ld has the effect of 2",
			level_meaning(level), level);
		return;
	}
	if (count->cause && strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_PARANOID_ALL))) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "events are refused for another reason, see count-user");
		return;
	}
	perch__check_reason(
		result, PERCH_CHECK_NO,
		"on this distribution's kernel, every perf event needs kernel.perf_event_paranoid <= 2 "
		"(currently %ld) or CAP_SYS_ADMIN; CAP_PERFMON is not enough",
		level);
	perch__check_suggest_privilege(checks, result, &privilege);
}

void perch__check_paranoid(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch__privilege kernel_privilege = { 1, "perfmon" },
					     system_wide_privilege = { 0, "perfmon" };
	struct perch_error err;
	long level;

	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_PARANOID, &level, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "%s: the kernel may be built without perf events", err.message);
		return;
	}
	perch__check_value(result, "%ld", level);
	result->status = PERCH_CHECK_OK;
	if (perch_machine_privileged(checks->machine) &&
	    (level <= PERCH__LEVEL_OF_ANY_EVENT ||
	     perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN) ||
	     perch_checks_find(checks, "count-user")->status == PERCH_CHECK_OK)) {
		perch__check_value(result, "%ld, which does not restrict this process", level);
	} else if (level > 2) {
		set_distribution_level(checks, result, level);
	} else if (level > 0) {
		perch__check_reason(result, PERCH_CHECK_LIMITED, "%s", level_meaning(level));
		perch__check_suggest_privilege(
			checks, result, level == 2 ? &kernel_privilege : &system_wide_privilege);
	} else {
		perch__check_value(result, "%ld: %s", level, level_meaning(level));
	}
}

static const struct {
	int number;
	const char *name;
} capabilities[] = {
	{ PERCH_CAP_PERFMON, "CAP_PERFMON" },
	{ PERCH_CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ PERCH_CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ PERCH__CAP_BPF, "CAP_BPF" },
	{ PERCH_CAP_IPC_LOCK, "CAP_IPC_LOCK" },
	{ PERCH_CAP_SYSLOG, "CAP_SYSLOG" },
	{ PERCH_CAP_KILL, "CAP_KILL" },
};

void perch__check_capabilities(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch__privilege privilege = { PERCH__NO_LEVEL, "perfmon" },
					     any_event = { PERCH__LEVEL_OF_ANY_EVENT, "sys_admin" };
	char text[sizeof(result->value)] = "";
	struct perch_error err;
	uint64_t effective;
	size_t used = 0;

	if (perch_machine_capabilities(checks->machine, &effective, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	for (size_t i = 0; i < PERCH__NR(capabilities); i++)
		if (effective >> capabilities[i].number & 1)
			used += snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
					 capabilities[i].name);
	perch__check_value(result, "%s", used ? text : "none that perf events need");
	result->status = PERCH_CHECK_OK;
	if (perch__check_level_refuses_all(checks)) {
		result->cause = perch_cause_slug(PERCH_CAUSE_PARANOID_ALL);
		perch__check_reason(
			result, PERCH_CHECK_LIMITED,
			"without CAP_SYS_ADMIN, kernel.perf_event_paranoid refuses every event to this "
			"process; CAP_PERFMON is not enough");
		perch__check_suggest_privilege(checks, result, &any_event);
		return;
	}
	if (perch_machine_privileged(checks->machine))
		return;
	if (effective & (1ull << PERCH_CAP_PERFMON | 1ull << PERCH_CAP_SYS_ADMIN)) {
		result->cause = perch_cause_slug(PERCH_CAUSE_USER_NAMESPACE);
		perch__check_reason(result, PERCH_CHECK_LIMITED,
				    "perf ignores capabilities in a user namespace");
	} else {
		perch__check_reason(
			result, PERCH_CHECK_LIMITED,
			"without CAP_PERFMON, kernel.perf_event_paranoid restricts this process");
	}
	perch__check_suggest_privilege(checks, result, &privilege);
}

/* True if the kernel itself may also refuse the open call with this errno. */
static bool errno_may_come_from_kernel(struct perch_checks *checks,
				       const struct perch_sandbox *sandbox, int errnum)
{
	long level = 2;

	if (errnum != EACCES)
		return false;
	perch_machine_sysctl(checks->machine, PERCH_SYSCTL_PARANOID, &level, NULL);
	return sandbox->selinux == 1 ||
	       (level > 2 && !perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN));
}

void perch__check_seccomp(struct perch_checks *checks, struct perch_check *result)
{
	static const char *const modes[] = { "none", "strict", "a filter" };
	const struct perch_check *count = perch_checks_find(checks, "count-user");
	struct perch_sandbox sandbox;
	const char *privileges;
	struct perch_error err;
	uint32_t size;
	bool is_cause;

	if (perch_machine_sandbox(checks->machine, &sandbox, &err) || sandbox.seccomp < 0 ||
	    sandbox.seccomp >= (int)PERCH__NR(modes)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "/proc does not have the seccomp mode");
		return;
	}
	privileges = sandbox.no_new_privileges == 1 ? "; no_new_privs" : "";
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%s%s", modes[sandbox.seccomp], privileges);
	if (!sandbox.seccomp)
		return;
	if (checks->options.filter_kills) {
		result->cause = perch_cause_slug(PERCH_CAUSE_SECCOMP);
		perch__check_reason(
			result, PERCH_CHECK_NO,
			"a seccomp filter kills the process at perf_event_open(2) (SIGSYS)");
		perch__check_suggest_filter(checks, result);
		return;
	}
	if (!perch_machine_attr_size(checks->machine, &size, &err)) {
		perch__check_value(result, "%s, which permits perf_event_open%s",
				   modes[sandbox.seccomp], privileges);
		return;
	}
	is_cause = count->cause && !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_SECCOMP));
	if (errno_may_come_from_kernel(checks, &sandbox, err.errnum) ||
	    (!is_cause && (err.errnum == EACCES || err.errnum == ENOSYS || err.errnum == EMFILE))) {
		perch__check_reason(
			result, PERCH_CHECK_UNKNOWN,
			"perf_event_open fails: %s; the filter or the kernel may be the reason",
			strerror(err.errnum));
		return;
	}
	result->cause = perch_cause_slug(PERCH_CAUSE_SECCOMP);
	perch__check_reason(result, PERCH_CHECK_NO, "the filter refuses perf_event_open: %s",
			    strerror(err.errnum));
	if (is_cause)
		perch__check_change(result, "%s", count->change);
	else
		perch__check_suggest_filter(checks, result);
}

void perch__check_container(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_sandbox sandbox;
	struct perch_error err;

	if (perch_machine_sandbox(checks->machine, &sandbox, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%s%s", sandbox.container[0] ? sandbox.container : "none found",
			   sandbox.pid_namespace == 1 ? ", with its own PID namespace" : "");
	if (sandbox.container[0])
		perch__check_reason(
			result, PERCH_CHECK_LIMITED,
			"the sysctls and the PMU belong to the host: they cannot be changed in the "
			"container");
}

void perch__check_user_namespace(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_sandbox sandbox;
	struct perch_error err;

	if (perch_machine_sandbox(checks->machine, &sandbox, &err) || sandbox.user_namespace < 0) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "/proc does not have the user namespace");
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, sandbox.user_namespace ? "its own" : "the initial one");
	if (!sandbox.user_namespace)
		return;
	result->cause = perch_cause_slug(PERCH_CAUSE_USER_NAMESPACE);
	perch__check_reason(
		result, PERCH_CHECK_LIMITED,
		"perf needs capabilities in the initial user namespace; root in another namespace has "
		"none there");
	perch__check_change(result, "run %s outside the user namespace", checks->options.program);
}

void perch__check_lockdown(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_sandbox sandbox;

	result->status = PERCH_CHECK_OK;
	if (perch_machine_sandbox(checks->machine, &sandbox, NULL))
		sandbox.lockdown = PERCH_LOCKDOWN_UNKNOWN;
	switch (sandbox.lockdown) {
	case PERCH_LOCKDOWN_NONE:
		perch__check_value(result, "none");
		break;
	case PERCH_LOCKDOWN_INTEGRITY:
		perch__check_value(result, "integrity, which does not restrict events");
		break;
	case PERCH_LOCKDOWN_CONFIDENTIALITY:
		perch__check_set_locked_down(result);
		break;
	case PERCH_LOCKDOWN_UNKNOWN:
		perch__check_detect_lockdown(checks, result);
		break;
	}
}

/* If the list of modules cannot be read, uses the result of an open call instead. */
static void set_unlisted_modules(struct perch_checks *checks, struct perch_check *result,
				 bool opens)
{
	char text[8];
	ssize_t got =
		perch_machine_read(checks->machine, "/sys/kernel/security/lsm", text, sizeof(text));
	const char *why = got == -EACCES || got == -EPERM
				  ? "this user may not read the list /sys/kernel/security/lsm"
				  : "securityfs is not mounted on /sys/kernel/security";

	if (opens)
		perch__check_value(result, "none that refuses events (%s)%s%s", why,
				   result->value[0] ? "; " : "", result->value);
	else
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", why);
}

void perch__check_security_modules(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_check *count = perch_checks_find(checks, "count-user");
	struct perch_sandbox sandbox;
	char yama[48] = "";

	if (perch_machine_sandbox(checks->machine, &sandbox, NULL)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN,
				    "/proc does not have the security modules");
		return;
	}
	if (sandbox.yama >= 0)
		snprintf(yama, sizeof(yama), "%syama.ptrace_scope %d",
			 sandbox.modules[0] || sandbox.selinux >= 0 ? "; " : "", sandbox.yama);
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%.160s%s%s", sandbox.modules,
			   sandbox.selinux < 0 ? ""
			   : sandbox.selinux   ? "; SELinux enforcing"
					       : "; SELinux permissive",
			   yama);
	if (count->cause && !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_SECURITY_MODULE)))
		perch__check_reason(result,
				    sandbox.selinux == 1 ? PERCH_CHECK_NO : PERCH_CHECK_UNKNOWN,
				    "%s", count->reason);
	else if (sandbox.selinux == 1)
		perch__check_reason(result, PERCH_CHECK_LIMITED,
				    "SELinux restricts perf events too (class perf_event)");
	else if (!sandbox.modules[0] && sandbox.selinux < 0)
		set_unlisted_modules(checks, result, count->status == PERCH_CHECK_OK);
}
