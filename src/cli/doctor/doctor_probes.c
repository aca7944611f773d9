/* SPDX-License-Identifier: MIT */
/* Checks of probes and BPF programs. Probes are checked by privileges only: opening a probe would
 * change the text of a program or of the kernel. */
#include <errno.h>
#include <string.h>

#include "doctor.h"
#include "options.h"

static unsigned kernel_rank(struct doctor *doctor)
{
	struct perch_release release;

	return perch_machine_release(doctor->machine, &release, NULL)
		       ? 0
		       : perch_release_rank(release.text);
}

/* A refusal of every event applies to probes too. */
static bool every_event_refused(struct doctor *doctor, struct doctor_result *result)
{
	const struct doctor_result *count = doctor_find_result(doctor, "count-user");
	struct perch_error err;
	uint32_t size;

	if (count->status == DOCTOR_OK)
		return false;
	/* kernels read the size of the attr before they check the level */
	if (!perch_machine_attr_size(doctor->machine, &size, &err) &&
	    !doctor_level_refuses_all(doctor))
		return false;
	result->cause = count->cause;
	doctor_set_reason(result, DOCTOR_NO, "%s", count->reason);
	doctor_set_change(result, "%s", count->change);
	return true;
}

static bool has_pmu(struct doctor *doctor, struct doctor_result *result, const char *name,
		    const char *option)
{
	if (perch_machine_pmu(doctor->machine, name))
		return true;
	result->cause = perch_cause_slug(PERCH_CAUSE_NO_PMU);
	doctor_set_reason(result, DOCTOR_NO, "the kernel has no PMU %s", name);
	doctor_set_change(result, "use a kernel%s built with %s=y",
			  kernel_rank(doctor) < perch_release_rank("4.17") ? " 4.17 or later" : "",
			  option);
	return false;
}

static void set_missing_privilege(struct doctor *doctor, struct doctor_result *result,
				  const struct doctor_privilege *privilege, const char *reason)
{
	result->cause = perch_cause_slug(PERCH_CAUSE_PROBE_PRIVILEGE);
	doctor_set_reason(result, DOCTOR_NO, "%s", reason);
	doctor_suggest_privilege(doctor, result, privilege);
}

void doctor_uprobes(struct doctor *doctor, struct doctor_result *result)
{
	static const struct doctor_privilege privilege = { DOCTOR_NO_LEVEL, "sys_admin" };
	unsigned rank = kernel_rank(doctor);

	if (every_event_refused(doctor, result) ||
	    !has_pmu(doctor, result, "uprobe", "CONFIG_UPROBE_EVENTS"))
		return;
	doctor_set_value(result, "checked by privileges, not opened");
	if (doctor_has_capability(doctor, PERCH_CAP_SYS_ADMIN))
		result->status = DOCTOR_OK;
	else if (doctor_has_capability(doctor, PERCH_CAP_PERFMON) && rank >= 5008 && rank < 6016)
		doctor_set_reason(
			result, DOCTOR_UNKNOWN,
			"CAP_PERFMON is enough for uprobes on Linux 5.8 to 6.15, but this "
			"distribution may need CAP_SYS_ADMIN");
	else
		set_missing_privilege(doctor, result, &privilege, "uprobes need CAP_SYS_ADMIN");
}

void doctor_kprobes(struct doctor *doctor, struct doctor_result *result)
{
	static const struct doctor_privilege privilege = { DOCTOR_NO_LEVEL, "perfmon" };
	struct perch_sandbox sandbox;

	if (every_event_refused(doctor, result) ||
	    !has_pmu(doctor, result, "kprobe", "CONFIG_KPROBE_EVENTS"))
		return;
	doctor_set_value(result, "checked by privileges, not opened");
	if (!perch_machine_sandbox(doctor->machine, &sandbox, NULL) &&
	    sandbox.lockdown == PERCH_LOCKDOWN_CONFIDENTIALITY) {
		result->cause = perch_cause_slug(PERCH_CAUSE_LOCKDOWN_PROBE);
		doctor_set_reason(result, DOCTOR_NO,
				  "kprobes need lockdown below the level confidentiality");
		doctor_suggest_lockdown(result);
	} else if (doctor_has_capability(doctor, PERCH_CAP_SYS_ADMIN) ||
		   doctor_has_capability(doctor, PERCH_CAP_PERFMON)) {
		result->status = DOCTOR_OK;
	} else {
		set_missing_privilege(doctor, result, &privilege, "kprobes need CAP_PERFMON");
	}
}

void doctor_bpf(struct doctor *doctor, struct doctor_result *result)
{
	static const struct doctor_privilege privilege = { DOCTOR_NO_LEVEL, "bpf" };
	int rc = doctor->load_program();

	if (!rc && doctor_level_refuses_all(doctor)) {
		every_event_refused(doctor, result);
		doctor_set_value(result, "a program loads, but no event can be opened for it");
	} else if (!rc) {
		result->status = DOCTOR_OK;
		doctor_set_value(result, "a program of type perf_event loads");
	} else if (rc == -ENOSYS) {
		doctor_set_reason(result, DOCTOR_NO, "the kernel has no bpf(2)");
		doctor_set_change(result, "use a kernel built with CONFIG_BPF_SYSCALL=y");
	} else if (rc == -EPERM || rc == -EACCES) {
		if (doctor_has_capability(doctor, PERCH_CAP_SYS_ADMIN) ||
		    (doctor_has_capability(doctor, DOCTOR_CAP_BPF) &&
		     doctor_has_capability(doctor, PERCH_CAP_PERFMON))) {
			doctor_set_reason(
				result, DOCTOR_NO,
				"loading a program fails although the capabilities suffice: a "
				"seccomp filter or a security module may refuse it%s",
				kernel_rank(doctor) < 5011
					? ", or RLIMIT_MEMLOCK is too low (ulimit -l)"
					: "");
			return;
		}
		doctor_set_reason(result, DOCTOR_NO, "loading a program for events needs %s",
				  kernel_rank(doctor) < 5008
					  ? "CAP_SYS_ADMIN"
					  : "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
		doctor_suggest_privilege(doctor, result, &privilege);
	} else {
		doctor_set_reason(result, DOCTOR_NO, "loading a program fails: %s", strerror(-rc));
	}
}
