/* SPDX-License-Identifier: MIT */
/*
 * Changes to the system that permit a refused operation. The remedy of libperch's explanation is
 * for the author of the open call, and may ask for less; here the operation stays as it is.
 */
#include <string.h>

#include "internal.h"

bool perch__check_has_capability(struct perch_checks *checks, int capability)
{
	struct perch_sandbox sandbox;
	uint64_t effective;

	if (perch_machine_capabilities(checks->machine, &effective, NULL) ||
	    !(effective >> capability & 1))
		return false;
	return perch_machine_sandbox(checks->machine, &sandbox, NULL) ||
	       sandbox.user_namespace != 1;
}

bool perch__check_level_refuses_all(const struct perch_checks *checks)
{
	const struct perch_check *count = perch_checks_find(checks, "count-user");

	return count && count->cause &&
	       !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_PARANOID_ALL));
}

/*
 * Linux 5.8 split CAP_PERFMON and CAP_BPF from CAP_SYS_ADMIN. Where the level refuses every event,
 * only CAP_SYS_ADMIN helps.
 */
static const char *required_capability(struct perch_checks *checks, const char *wanted)
{
	struct perch_release release;

	if (strcmp(wanted, "perfmon") && strcmp(wanted, "bpf"))
		return wanted;
	if (perch__check_level_refuses_all(checks))
		return "sys_admin";
	if (!perch_machine_release(checks->machine, &release, NULL) &&
	    (release.major < 5 || (release.major == 5 && release.minor < 8)))
		return "sys_admin";
	return wanted;
}

/* Formats how this process can get a capability; false if it cannot, in a user namespace. */
static bool format_capability_change(struct perch_checks *checks, const char *wanted, char *text,
				     size_t size)
{
	const char *capability = required_capability(checks, wanted);
	const char *program = checks->options.program;
	struct perch_sandbox sandbox;
	bool with_perfmon = !strcmp(capability, "bpf"); /* BPF programs on events need both */
	char upper[32] = "";

	for (size_t i = 0; i < sizeof(upper) - 1 && capability[i]; i++)
		upper[i] = capability[i] == '_' ? '_' : capability[i] - 'a' + 'A';
	if (perch_machine_sandbox(checks->machine, &sandbox, NULL))
		memset(&sandbox, 0, sizeof(sandbox));
	if (sandbox.user_namespace == 1)
		return false;
	if (!strcmp(sandbox.container, "kubernetes"))
		snprintf(text, size, "in the pod's securityContext: capabilities: add: [%s%s]",
			 upper, with_perfmon ? ", PERFMON" : "");
	else if (!strcmp(sandbox.container, "docker") || !strcmp(sandbox.container, "podman"))
		snprintf(text, size, "start the container with: %s run --cap-add %s%s",
			 sandbox.container, upper, with_perfmon ? " --cap-add PERFMON" : "");
	else if (sandbox.no_new_privileges == 1)
		snprintf(
			text, size,
			"start %s from a process that has CAP_%s%s (with no_new_privs, %s cannot gain a capability)",
			program, upper, with_perfmon ? " and CAP_PERFMON" : "", program);
	else if (with_perfmon ||
		 !strcmp(capability, "syslog")) /* setcap replaces all capabilities of the file */
		snprintf(text, size,
			 "as root, for %s only: setcap cap_perfmon,cap_%s+ep \"$(command -v %s)\"",
			 program, capability, program);
	else if (!strcmp(capability, "sys_admin"))
		snprintf(text, size, "run %s as root (CAP_SYS_ADMIN)", program);
	else
		snprintf(text, size, "as root, for %s only: setcap cap_%s+ep \"$(command -v %s)\"",
			 program, capability, program);
	return true;
}

static bool format_level_change(struct perch_checks *checks, long level, char *text, size_t size)
{
	struct perch_sandbox sandbox;
	bool contained;
	long now;

	if (level == PERCH__NO_LEVEL ||
	    perch_machine_sysctl(checks->machine, PERCH_SYSCTL_PARANOID, &now, NULL) ||
	    now <= level)
		return false;
	contained = !perch_machine_sandbox(checks->machine, &sandbox, NULL) &&
		    (sandbox.container[0] || sandbox.user_namespace == 1);
	snprintf(text, size,
		 "as root%s, for all users, instead of %ld: sysctl kernel.perf_event_paranoid=%ld",
		 contained ? " outside the container" : "", now, level);
	if (contained && !sandbox.container[0])
		snprintf(text, size,
			 "as root outside the user namespace, for all users, instead of %ld: "
			 "sysctl kernel.perf_event_paranoid=%ld",
			 now, level);
	return true;
}

void perch__check_suggest_privilege(struct perch_checks *checks, struct perch_check *result,
				    const struct perch__privilege *privilege)
{
	char level[256], capability[256];
	bool has_level = format_level_change(checks, privilege->level, level, sizeof(level));
	bool has_capability = format_capability_change(checks, privilege->capability, capability,
						       sizeof(capability));

	if (has_level && has_capability)
		perch__check_change(result, "%s; or %s", capability, level);
	else if (has_level || has_capability)
		perch__check_change(result, "%s", has_level ? level : capability);
	else
		perch__check_change(
			result,
			"run %s outside the user namespace: perf ignores capabilities in a user namespace",
			checks->options.program);
}

static bool is_privilege_cause(enum perch_cause cause)
{
	enum perch_error_kind kind = perch_cause_kind(cause);

	return kind == PERCH_ERROR_PARANOID || kind == PERCH_ERROR_PRIVILEGE;
}

static bool in_container(struct perch_checks *checks)
{
	struct perch_sandbox sandbox;

	return !perch_machine_sandbox(checks->machine, &sandbox, NULL) && sandbox.container[0];
}

void perch__check_suggest_filter(const struct perch_checks *checks, struct perch_check *result)
{
	perch__check_change(
		result,
		"start %s without the seccomp filter: outside the sandbox, or in a systemd unit with "
		"SystemCallFilter=perf_event_open",
		checks->options.program);
}

void perch__check_suggest_lockdown(struct perch_check *result)
{
	perch__check_change(
		result,
		"boot with lockdown=integrity, or without lockdown; Secure Boot may enable lockdown");
}

void perch__check_suggest_pmu(struct perch_checks *checks, struct perch_check *result)
{
	if (perch_machine_virtual(checks->machine) == 1)
		perch__check_change(
			result,
			"enable a virtual PMU for this machine in its hypervisor (QEMU: -cpu host,pmu=on; in "
			"a cloud: use bare metal)");
	else
		perch__check_change(result,
				    "use a kernel with a driver for the PMU of this processor");
}

/* Capabilities of setcap commands, in their order in the merged command. */
static const struct {
	const char *name;
	int number;
} set_capabilities[] = {
	{ "cap_perfmon", PERCH_CAP_PERFMON },
	{ "cap_bpf", PERCH__CAP_BPF },
	{ "cap_syslog", PERCH_CAP_SYSLOG },
};

/* Finds the list of capabilities in a change; NULL if the change has no setcap command. */
static char *find_setcap(char *change, size_t *length)
{
	static const char command[] = "setcap ";
	char *list = strstr(change, command), *end;

	if (!list)
		return NULL;
	list += sizeof(command) - 1;
	end = strstr(list, "+ep");
	if (!end)
		return NULL;
	*length = (size_t)(end - list);
	return list;
}

static bool any_change_sets(struct perch_checks *checks, const char *capability)
{
	for (size_t i = 0; i < checks->nr; i++) {
		size_t length;
		const char *list = find_setcap(checks->result[i].change, &length),
			   *found = list ? strstr(list, capability) : NULL;

		if (found && found < list + length)
			return true;
	}
	return false;
}

void perch__check_merge_capabilities(struct perch_checks *checks)
{
	char all[64] = "", text[sizeof(checks->result[0].change)];

	for (size_t i = 0; i < PERCH__NR(set_capabilities); i++) {
		const char *name = set_capabilities[i].name;

		if (!any_change_sets(checks, name) &&
		    !perch__check_has_capability(checks, set_capabilities[i].number))
			continue;
		if (all[0])
			strcat(all, ",");
		strcat(all, name);
	}
	for (size_t i = 0; i < checks->nr; i++) {
		struct perch_check *result = &checks->result[i];
		size_t length;
		const char *list = find_setcap(result->change, &length);

		if (!list)
			continue;
		memcpy(text, result->change, sizeof(text));
		perch__check_change(result, "%.*s%s%s", (int)(list - result->change), text, all,
				    text + (list - result->change) + length);
	}
}

void perch__check_explain_refusal(struct perch_checks *checks, struct perch_check *result,
				  const struct perch_open_call *call,
				  const struct perch__privilege *privilege)
{
	const struct perch_probing budget = { 0 };
	struct perch__privilege any_event = { PERCH__LEVEL_OF_ANY_EVENT, "sys_admin" };
	struct perch_explanation explanation;
	const struct perch_finding *finding = &explanation.finding[0];

	memset(&explanation, 0, sizeof(explanation));
	if (perch_explain_open_call(call, &budget, checks->machine, &explanation) ||
	    !explanation.nr_findings) {
		perch__check_reason(result, PERCH_CHECK_NO, "%s", strerror(call->errnum));
		return;
	}
	result->cause = perch_cause_slug(finding->cause);
	perch__check_reason(result, PERCH_CHECK_NO, "%s", finding->message);
	if (privilege && privilege->level < any_event.level)
		any_event.level = privilege->level;
	if (finding->cause == PERCH_CAUSE_PARANOID_ALL)
		perch__check_suggest_privilege(checks, result, &any_event);
	else if (is_privilege_cause(finding->cause) && privilege)
		perch__check_suggest_privilege(checks, result, privilege);
	else if (finding->cause == PERCH_CAUSE_SECCOMP && !in_container(checks))
		/* the remedy of the explanation is only for containers */
		perch__check_suggest_filter(checks, result);
	else if (finding->cause == PERCH_CAUSE_NO_HARDWARE)
		perch__check_suggest_pmu(checks, result);
	else
		perch__check_change(result, "%s", finding->remedy);
}
