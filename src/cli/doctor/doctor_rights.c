/* SPDX-License-Identifier: MIT */
/* Checks of the privileges of this process, and of its sandbox. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "options.h"
#include "program/seccomp_kill.h"

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
static void set_distribution_level(struct doctor *doctor, struct doctor_result *result, long level)
{
	const struct doctor_result *count = doctor_find_result(doctor, "count-user");
	const struct doctor_privilege privilege = { DOCTOR_LEVEL_OF_ANY_EVENT, "sys_admin" };

	if (count->status == DOCTOR_OK) {
		doctor_set_reason(
			result, DOCTOR_LIMITED,
			"%s: this kernel has no level above 2, and %ld has the effect of 2",
			level_meaning(level), level);
		return;
	}
	if (count->cause && strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_PARANOID_ALL))) {
		doctor_set_reason(result, DOCTOR_UNKNOWN,
				  "events are refused for another reason, see count-user");
		return;
	}
	doctor_set_reason(
		result, DOCTOR_NO,
		"on this distribution's kernel, every perf event needs kernel.perf_event_paranoid <= 2 "
		"(currently %ld) or CAP_SYS_ADMIN; CAP_PERFMON is not enough",
		level);
	doctor_suggest_privilege(doctor, result, &privilege);
}

void doctor_paranoid(struct doctor *doctor, struct doctor_result *result)
{
	static const struct doctor_privilege kernel_privilege = { 1, "perfmon" },
					     system_wide_privilege = { 0, "perfmon" };
	struct perch_error err;
	long level;

	if (perch_machine_sysctl(doctor->machine, PERCH_SYSCTL_PARANOID, &level, &err)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN,
				  "%s: the kernel may be built without perf events", err.message);
		return;
	}
	doctor_set_value(result, "%ld", level);
	result->status = DOCTOR_OK;
	if (perch_machine_privileged(doctor->machine) &&
	    (level <= DOCTOR_LEVEL_OF_ANY_EVENT ||
	     doctor_has_capability(doctor, PERCH_CAP_SYS_ADMIN) ||
	     doctor_find_result(doctor, "count-user")->status == DOCTOR_OK)) {
		doctor_set_value(result, "%ld, which does not restrict this process", level);
	} else if (level > 2) {
		set_distribution_level(doctor, result, level);
	} else if (level > 0) {
		doctor_set_reason(result, DOCTOR_LIMITED, "%s", level_meaning(level));
		doctor_suggest_privilege(doctor, result,
					 level == 2 ? &kernel_privilege : &system_wide_privilege);
	} else {
		doctor_set_value(result, "%ld: %s", level, level_meaning(level));
	}
}

static const struct {
	int number;
	const char *name;
} capabilities[] = {
	{ PERCH_CAP_PERFMON, "CAP_PERFMON" },
	{ PERCH_CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ PERCH_CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ DOCTOR_CAP_BPF, "CAP_BPF" },
	{ PERCH_CAP_IPC_LOCK, "CAP_IPC_LOCK" },
	{ PERCH_CAP_SYSLOG, "CAP_SYSLOG" },
	{ PERCH_CAP_KILL, "CAP_KILL" },
};

void doctor_capabilities(struct doctor *doctor, struct doctor_result *result)
{
	static const struct doctor_privilege privilege = { DOCTOR_NO_LEVEL, "perfmon" },
					     any_event = { DOCTOR_LEVEL_OF_ANY_EVENT, "sys_admin" };
	char text[sizeof(result->value)] = "";
	struct perch_error err;
	uint64_t effective;
	size_t used = 0;

	if (perch_machine_capabilities(doctor->machine, &effective, &err)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "%s", err.message);
		return;
	}
	for (size_t i = 0; i < CLI_NR(capabilities); i++)
		if (effective >> capabilities[i].number & 1)
			used += snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
					 capabilities[i].name);
	doctor_set_value(result, "%s", used ? text : "none that perf events need");
	result->status = DOCTOR_OK;
	if (doctor_level_refuses_all(doctor)) {
		result->cause = perch_cause_slug(PERCH_CAUSE_PARANOID_ALL);
		doctor_set_reason(
			result, DOCTOR_LIMITED,
			"without CAP_SYS_ADMIN, kernel.perf_event_paranoid refuses every event to this "
			"process; CAP_PERFMON is not enough");
		doctor_suggest_privilege(doctor, result, &any_event);
		return;
	}
	if (perch_machine_privileged(doctor->machine))
		return;
	if (effective & (1ull << PERCH_CAP_PERFMON | 1ull << PERCH_CAP_SYS_ADMIN)) {
		result->cause = perch_cause_slug(PERCH_CAUSE_USER_NAMESPACE);
		doctor_set_reason(result, DOCTOR_LIMITED,
				  "perf ignores capabilities in a user namespace");
	} else {
		doctor_set_reason(
			result, DOCTOR_LIMITED,
			"without CAP_PERFMON, kernel.perf_event_paranoid restricts this process");
	}
	doctor_suggest_privilege(doctor, result, &privilege);
}

/* True if the kernel itself may also refuse the open call with this errno. */
static bool errno_may_come_from_kernel(struct doctor *doctor, const struct perch_sandbox *sandbox,
				       int errnum)
{
	long level = 2;

	if (errnum != EACCES)
		return false;
	perch_machine_sysctl(doctor->machine, PERCH_SYSCTL_PARANOID, &level, NULL);
	return sandbox->selinux == 1 ||
	       (level > 2 && !doctor_has_capability(doctor, PERCH_CAP_SYS_ADMIN));
}

void doctor_seccomp(struct doctor *doctor, struct doctor_result *result)
{
	static const char *const modes[] = { "none", "strict", "a filter" };
	const struct doctor_result *count = doctor_find_result(doctor, "count-user");
	struct perch_sandbox sandbox;
	const char *privileges;
	struct perch_error err;
	uint32_t size;
	bool is_cause;

	if (perch_machine_sandbox(doctor->machine, &sandbox, &err) || sandbox.seccomp < 0 ||
	    sandbox.seccomp >= (int)CLI_NR(modes)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "/proc does not have the seccomp mode");
		return;
	}
	privileges = sandbox.no_new_privileges == 1 ? "; no_new_privs" : "";
	result->status = DOCTOR_OK;
	doctor_set_value(result, "%s%s", modes[sandbox.seccomp], privileges);
	if (!sandbox.seccomp)
		return;
	if (doctor->filter_kills) {
		result->cause = perch_cause_slug(PERCH_CAUSE_SECCOMP);
		doctor_set_reason(result, DOCTOR_NO, CLI_FILTER_KILLS);
		doctor_suggest_filter(result);
		return;
	}
	if (!perch_machine_attr_size(doctor->machine, &size, &err)) {
		doctor_set_value(result, "%s, which permits perf_event_open%s",
				 modes[sandbox.seccomp], privileges);
		return;
	}
	is_cause = count->cause && !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_SECCOMP));
	if (errno_may_come_from_kernel(doctor, &sandbox, err.errnum) ||
	    (!is_cause && (err.errnum == EACCES || err.errnum == ENOSYS || err.errnum == EMFILE))) {
		doctor_set_reason(
			result, DOCTOR_UNKNOWN,
			"perf_event_open fails: %s; the filter or the kernel may be the reason",
			strerror(err.errnum));
		return;
	}
	result->cause = perch_cause_slug(PERCH_CAUSE_SECCOMP);
	doctor_set_reason(result, DOCTOR_NO, "the filter refuses perf_event_open: %s",
			  strerror(err.errnum));
	if (is_cause)
		doctor_set_change(result, "%s", count->change);
	else
		doctor_suggest_filter(result);
}

void doctor_container(struct doctor *doctor, struct doctor_result *result)
{
	struct perch_sandbox sandbox;
	struct perch_error err;

	if (perch_machine_sandbox(doctor->machine, &sandbox, &err)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = DOCTOR_OK;
	doctor_set_value(result, "%s%s", sandbox.container[0] ? sandbox.container : "none found",
			 sandbox.pid_namespace == 1 ? ", with its own PID namespace" : "");
	if (sandbox.container[0])
		doctor_set_reason(
			result, DOCTOR_LIMITED,
			"the sysctls and the PMU belong to the host: they cannot be changed in the "
			"container");
}

void doctor_user_namespace(struct doctor *doctor, struct doctor_result *result)
{
	struct perch_sandbox sandbox;
	struct perch_error err;

	if (perch_machine_sandbox(doctor->machine, &sandbox, &err) || sandbox.user_namespace < 0) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "/proc does not have the user namespace");
		return;
	}
	result->status = DOCTOR_OK;
	doctor_set_value(result, sandbox.user_namespace ? "its own" : "the initial one");
	if (!sandbox.user_namespace)
		return;
	result->cause = perch_cause_slug(PERCH_CAUSE_USER_NAMESPACE);
	doctor_set_reason(
		result, DOCTOR_LIMITED,
		"perf needs capabilities in the initial user namespace; root in another namespace has "
		"none there");
	doctor_set_change(result, "run perch outside the user namespace");
}

void doctor_lockdown(struct doctor *doctor, struct doctor_result *result)
{
	struct perch_sandbox sandbox;

	result->status = DOCTOR_OK;
	if (perch_machine_sandbox(doctor->machine, &sandbox, NULL))
		sandbox.lockdown = PERCH_LOCKDOWN_UNKNOWN;
	switch (sandbox.lockdown) {
	case PERCH_LOCKDOWN_NONE:
		doctor_set_value(result, "none");
		break;
	case PERCH_LOCKDOWN_INTEGRITY:
		doctor_set_value(result, "integrity, which does not restrict events");
		break;
	case PERCH_LOCKDOWN_CONFIDENTIALITY:
		doctor_set_locked_down(result);
		break;
	case PERCH_LOCKDOWN_UNKNOWN:
		doctor_detect_lockdown(doctor, result);
		break;
	}
}

/* If the list of modules cannot be read, uses the result of an open call instead. */
static void set_unlisted_modules(struct doctor *doctor, struct doctor_result *result, bool opens)
{
	char text[8];
	ssize_t got =
		perch_machine_read(doctor->machine, "/sys/kernel/security/lsm", text, sizeof(text));
	const char *why = got == -EACCES || got == -EPERM
				  ? "this user may not read the list /sys/kernel/security/lsm"
				  : "securityfs is not mounted on /sys/kernel/security";

	if (opens)
		doctor_set_value(result, "none that refuses events (%s)%s%s", why,
				 result->value[0] ? "; " : "", result->value);
	else
		doctor_set_reason(result, DOCTOR_UNKNOWN, "%s", why);
}

void doctor_security_modules(struct doctor *doctor, struct doctor_result *result)
{
	const struct doctor_result *count = doctor_find_result(doctor, "count-user");
	struct perch_sandbox sandbox;
	char yama[48] = "";

	if (perch_machine_sandbox(doctor->machine, &sandbox, NULL)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN,
				  "/proc does not have the security modules");
		return;
	}
	if (sandbox.yama >= 0)
		snprintf(yama, sizeof(yama), "%syama.ptrace_scope %d",
			 sandbox.modules[0] || sandbox.selinux >= 0 ? "; " : "", sandbox.yama);
	result->status = DOCTOR_OK;
	doctor_set_value(result, "%.160s%s%s", sandbox.modules,
			 sandbox.selinux < 0 ? ""
			 : sandbox.selinux   ? "; SELinux enforcing"
					     : "; SELinux permissive",
			 yama);
	if (count->cause && !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_SECURITY_MODULE)))
		doctor_set_reason(result, sandbox.selinux == 1 ? DOCTOR_NO : DOCTOR_UNKNOWN, "%s",
				  count->reason);
	else if (sandbox.selinux == 1)
		doctor_set_reason(result, DOCTOR_LIMITED,
				  "SELinux restricts perf events too (class perf_event)");
	else if (!sandbox.modules[0] && sandbox.selinux < 0)
		set_unlisted_modules(doctor, result, count->status == DOCTOR_OK);
}
