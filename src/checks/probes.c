/* SPDX-License-Identifier: MIT */
/* Checks of probes and BPF programs. Probes are checked by privileges only: opening a probe would
 * change the text of a program or of the kernel. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

static unsigned kernel_rank(struct perch_checks *checks)
{
	struct perch_release release;

	return perch_machine_release(checks->machine, &release, NULL)
		       ? 0
		       : perch_release_rank(release.text);
}

/* A refusal of every event applies to probes too. */
static bool every_event_refused(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_check *count = perch_checks_find(checks, "count-user");
	struct perch_error err;
	uint32_t size;

	if (count->status == PERCH_CHECK_OK)
		return false;
	/* kernels read the size of the attr before they check the level */
	if (!perch_machine_attr_size(checks->machine, &size, &err) &&
	    !perch__check_level_refuses_all(checks))
		return false;
	result->cause = count->cause;
	perch__check_reason(result, PERCH_CHECK_NO, "%s", count->reason);
	perch__check_change(result, "%s", count->change);
	return true;
}

static bool has_pmu(struct perch_checks *checks, struct perch_check *result, const char *name,
		    const char *option)
{
	if (perch_machine_pmu(checks->machine, name))
		return true;
	result->cause = perch_cause_slug(PERCH_CAUSE_NO_PMU);
	perch__check_reason(result, PERCH_CHECK_NO, "the kernel has no PMU %s", name);
	perch__check_change(
		result, "use a kernel%s built with %s=y",
		kernel_rank(checks) < perch_release_rank("4.17") ? " 4.17 or later" : "", option);
	return false;
}

static void set_missing_privilege(struct perch_checks *checks, struct perch_check *result,
				  const struct perch__privilege *privilege, const char *reason)
{
	result->cause = perch_cause_slug(PERCH_CAUSE_PROBE_PRIVILEGE);
	perch__check_reason(result, PERCH_CHECK_NO, "%s", reason);
	perch__check_suggest_privilege(checks, result, privilege);
}

void perch__check_uprobes(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch__privilege privilege = { PERCH__NO_LEVEL, "sys_admin" };
	unsigned rank = kernel_rank(checks);

	if (every_event_refused(checks, result) ||
	    !has_pmu(checks, result, "uprobe", "CONFIG_UPROBE_EVENTS"))
		return;
	perch__check_value(result, "checked by privileges, not opened");
	if (perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN))
		result->status = PERCH_CHECK_OK;
	else if (perch__check_has_capability(checks, PERCH_CAP_PERFMON) && rank >= 5008 &&
		 rank < 6016)
		perch__check_reason(
			result, PERCH_CHECK_UNKNOWN,
			"CAP_PERFMON is enough for uprobes on Linux 5.8 to 6.15, but this "
			"distribution may need CAP_SYS_ADMIN");
	else
		set_missing_privilege(checks, result, &privilege, "uprobes need CAP_SYS_ADMIN");
}

void perch__check_kprobes(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch__privilege privilege = { PERCH__NO_LEVEL, "perfmon" };
	struct perch_sandbox sandbox;

	if (every_event_refused(checks, result) ||
	    !has_pmu(checks, result, "kprobe", "CONFIG_KPROBE_EVENTS"))
		return;
	perch__check_value(result, "checked by privileges, not opened");
	if (!perch_machine_sandbox(checks->machine, &sandbox, NULL) &&
	    sandbox.lockdown == PERCH_LOCKDOWN_CONFIDENTIALITY) {
		result->cause = perch_cause_slug(PERCH_CAUSE_LOCKDOWN_PROBE);
		perch__check_reason(result, PERCH_CHECK_NO,
				    "kprobes need lockdown below the level confidentiality");
		perch__check_suggest_lockdown(result);
	} else if (perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN) ||
		   perch__check_has_capability(checks, PERCH_CAP_PERFMON)) {
		result->status = PERCH_CHECK_OK;
	} else {
		set_missing_privilege(checks, result, &privilege, "kprobes need CAP_PERFMON");
	}
}

int perch_checks_load_program(void)
{
	/* of linux/bpf.h, which old systems lack */
	enum { PROG_LOAD = 5, PROG_TYPE_PERF_EVENT = 7, MOVE_NUMBER = 0xb7, EXIT = 0x95 };
	static const struct {
		uint8_t code, registers;
		int16_t offset;
		int32_t number;
	} program[] = { { MOVE_NUMBER, 0, 0, 0 }, { EXIT, 0, 0, 0 } }; /* return 0 */
	const struct {
		uint32_t type, instructions;
		uint64_t program, license, rest[12];
	} attr = { PROG_TYPE_PERF_EVENT,
		   PERCH__NR(program),
		   (uintptr_t)program,
		   (uintptr_t) "MIT",
		   { 0 } };
	int fd = (int)syscall(SYS_bpf, PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void perch__check_bpf(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch__privilege privilege = { PERCH__NO_LEVEL, "bpf" };
	int rc = checks->options.load_program
			 ? checks->options.load_program(checks->options.context)
			 : perch_checks_load_program();

	if (!rc && perch__check_level_refuses_all(checks)) {
		every_event_refused(checks, result);
		perch__check_value(result, "a program loads, but no event can be opened for it");
	} else if (!rc) {
		result->status = PERCH_CHECK_OK;
		perch__check_value(result, "a program of type perf_event loads");
	} else if (rc == -ENOSYS) {
		perch__check_reason(result, PERCH_CHECK_NO, "the kernel has no bpf(2)");
		perch__check_change(result, "use a kernel built with CONFIG_BPF_SYSCALL=y");
	} else if (rc == -EPERM || rc == -EACCES) {
		if (perch__check_has_capability(checks, PERCH_CAP_SYS_ADMIN) ||
		    (perch__check_has_capability(checks, PERCH__CAP_BPF) &&
		     perch__check_has_capability(checks, PERCH_CAP_PERFMON))) {
			perch__check_reason(
				result, PERCH_CHECK_NO,
				"loading a program fails although the capabilities suffice: a "
				"seccomp filter or a security module may refuse it%s",
				kernel_rank(checks) < 5011
					? ", or RLIMIT_MEMLOCK is too low (ulimit -l)"
					: "");
			return;
		}
		perch__check_reason(result, PERCH_CHECK_NO, "loading a program for events needs %s",
				    kernel_rank(checks) < 5008
					    ? "CAP_SYS_ADMIN"
					    : "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
		perch__check_suggest_privilege(checks, result, &privilege);
	} else {
		perch__check_reason(result, PERCH_CHECK_NO, "loading a program fails: %s",
				    strerror(-rc));
	}
}
