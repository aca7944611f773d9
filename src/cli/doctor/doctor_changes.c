/* SPDX-License-Identifier: MIT */
/*
 * Changes to the system that permit a refused operation. The remedy of libperch's explanation is
 * for the author of the open call, and may ask for less; here the operation stays as it is.
 */
#include <string.h>

#include "doctor.h"
#include "options.h"

bool doctor_has_capability(struct doctor *doctor, int capability)
{
	struct perch_sandbox sandbox;
	uint64_t effective;

	if (perch_machine_capabilities(doctor->machine, &effective, NULL) ||
	    !(effective >> capability & 1))
		return false;
	return perch_machine_sandbox(doctor->machine, &sandbox, NULL) ||
	       sandbox.user_namespace != 1;
}

bool doctor_level_refuses_all(const struct doctor *doctor)
{
	const struct doctor_result *count = doctor_find_result(doctor, "count-user");

	return count && count->cause &&
	       !strcmp(count->cause, perch_cause_slug(PERCH_CAUSE_PARANOID_ALL));
}

/*
 * Linux 5.8 split CAP_PERFMON and CAP_BPF from CAP_SYS_ADMIN. Where the level refuses every event,
 * only CAP_SYS_ADMIN helps.
 */
static const char *required_capability(struct doctor *doctor, const char *wanted)
{
	struct perch_release release;

	if (strcmp(wanted, "perfmon") && strcmp(wanted, "bpf"))
		return wanted;
	if (doctor_level_refuses_all(doctor))
		return "sys_admin";
	if (!perch_machine_release(doctor->machine, &release, NULL) &&
	    (release.major < 5 || (release.major == 5 && release.minor < 8)))
		return "sys_admin";
	return wanted;
}

/* Formats how this process can get a capability; false if it cannot, in a user namespace. */
static bool format_capability_change(struct doctor *doctor, const char *wanted, char *text,
				     size_t size)
{
	const char *capability = required_capability(doctor, wanted);
	struct perch_sandbox sandbox;
	bool with_perfmon = !strcmp(capability, "bpf"); /* BPF programs on events need both */
	char upper[32] = "";

	for (size_t i = 0; i < sizeof(upper) - 1 && capability[i]; i++)
		upper[i] = capability[i] == '_' ? '_' : capability[i] - 'a' + 'A';
	if (perch_machine_sandbox(doctor->machine, &sandbox, NULL))
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
			"start perch from a process that has CAP_%s%s (with no_new_privs, perch cannot gain a capability)",
			upper, with_perfmon ? " and CAP_PERFMON" : "");
	else if (with_perfmon ||
		 !strcmp(capability, "syslog")) /* setcap replaces all capabilities of the file */
		snprintf(
			text, size,
			"as root, for perch only: setcap cap_perfmon,cap_%s+ep \"$(command -v perch)\"",
			capability);
	else if (!strcmp(capability, "sys_admin"))
		snprintf(text, size, "run perch as root (CAP_SYS_ADMIN)");
	else
		snprintf(text, size,
			 "as root, for perch only: setcap cap_%s+ep \"$(command -v perch)\"",
			 capability);
	return true;
}

static bool format_level_change(struct doctor *doctor, long level, char *text, size_t size)
{
	struct perch_sandbox sandbox;
	bool contained;
	long now;

	if (level == DOCTOR_NO_LEVEL ||
	    perch_machine_sysctl(doctor->machine, PERCH_SYSCTL_PARANOID, &now, NULL) ||
	    now <= level)
		return false;
	contained = !perch_machine_sandbox(doctor->machine, &sandbox, NULL) &&
		    (sandbox.container[0] || sandbox.user_namespace == 1);
	snprintf(text, size,
		 "as root%s, for all users: sysctl kernel.perf_event_paranoid=%ld (currently %ld)",
		 contained ? " outside the container" : "", level, now);
	if (contained && !sandbox.container[0])
		snprintf(text, size,
			 "as root outside the user namespace, for all users: sysctl "
			 "kernel.perf_event_paranoid=%ld (currently %ld)",
			 level, now);
	return true;
}

void doctor_suggest_privilege(struct doctor *doctor, struct doctor_result *result,
			      const struct doctor_privilege *privilege)
{
	char level[256], capability[256];
	bool has_level = format_level_change(doctor, privilege->level, level, sizeof(level));
	bool has_capability = format_capability_change(doctor, privilege->capability, capability,
						       sizeof(capability));

	if (has_level && has_capability)
		doctor_set_change(result, "%s; or %s", capability, level);
	else if (has_level || has_capability)
		doctor_set_change(result, "%s", has_level ? level : capability);
	else
		doctor_set_change(
			result,
			"run perch outside the user namespace: perf ignores capabilities in a user namespace");
}

static bool is_privilege_cause(enum perch_cause cause)
{
	enum perch_error_kind kind = perch_cause_kind(cause);

	return kind == PERCH_ERROR_PARANOID || kind == PERCH_ERROR_PRIVILEGE;
}

static bool in_container(struct doctor *doctor)
{
	struct perch_sandbox sandbox;

	return !perch_machine_sandbox(doctor->machine, &sandbox, NULL) && sandbox.container[0];
}

void doctor_suggest_filter(struct doctor_result *result)
{
	doctor_set_change(
		result,
		"start perch without the seccomp filter: outside the sandbox, or in a systemd unit with "
		"SystemCallFilter=perf_event_open");
}

void doctor_suggest_lockdown(struct doctor_result *result)
{
	doctor_set_change(
		result,
		"boot with lockdown=integrity, or without lockdown; Secure Boot may enable lockdown");
}

void doctor_suggest_pmu(struct doctor *doctor, struct doctor_result *result)
{
	if (perch_machine_virtual(doctor->machine) == 1)
		doctor_set_change(
			result,
			"enable a virtual PMU for this machine in its hypervisor (QEMU: -cpu host,pmu=on; in "
			"a cloud: use bare metal)");
	else
		doctor_set_change(result,
				  "use a kernel with a driver for the PMU of this processor");
}

/* Capabilities of setcap commands, in their order in the merged command. */
static const struct {
	const char *name;
	int number;
} set_capabilities[] = {
	{ "cap_perfmon", PERCH_CAP_PERFMON },
	{ "cap_bpf", DOCTOR_CAP_BPF },
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

static bool any_change_sets(struct doctor *doctor, const char *capability)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		size_t length;
		const char *list = find_setcap(doctor->result[i].change, &length),
			   *found = list ? strstr(list, capability) : NULL;

		if (found && found < list + length)
			return true;
	}
	return false;
}

void doctor_merge_capabilities(struct doctor *doctor)
{
	char all[64] = "", text[sizeof(doctor->result[0].change)];

	for (size_t i = 0; i < CLI_NR(set_capabilities); i++) {
		const char *name = set_capabilities[i].name;

		if (!any_change_sets(doctor, name) &&
		    !doctor_has_capability(doctor, set_capabilities[i].number))
			continue;
		if (all[0])
			strcat(all, ",");
		strcat(all, name);
	}
	for (size_t i = 0; i < doctor->nr; i++) {
		struct doctor_result *result = &doctor->result[i];
		size_t length;
		const char *list = find_setcap(result->change, &length);

		if (!list)
			continue;
		memcpy(text, result->change, sizeof(text));
		doctor_set_change(result, "%.*s%s%s", (int)(list - result->change), text, all,
				  text + (list - result->change) + length);
	}
}

void doctor_explain_refusal(struct doctor *doctor, struct doctor_result *result,
			    const struct perch_open_call *call,
			    const struct doctor_privilege *privilege)
{
	const struct perch_probing budget = { 0 };
	struct doctor_privilege any_event = { DOCTOR_LEVEL_OF_ANY_EVENT, "sys_admin" };
	struct perch_explanation explanation;
	const struct perch_finding *finding = &explanation.finding[0];

	memset(&explanation, 0, sizeof(explanation));
	if (perch_explain_open_call(call, &budget, doctor->machine, &explanation) ||
	    !explanation.nr_findings) {
		doctor_set_reason(result, DOCTOR_NO, "%s", strerror(call->errnum));
		return;
	}
	result->cause = perch_cause_slug(finding->cause);
	doctor_set_reason(result, DOCTOR_NO, "%s", finding->message);
	if (privilege && privilege->level < any_event.level)
		any_event.level = privilege->level;
	if (finding->cause == PERCH_CAUSE_PARANOID_ALL)
		doctor_suggest_privilege(doctor, result, &any_event);
	else if (is_privilege_cause(finding->cause) && privilege)
		doctor_suggest_privilege(doctor, result, privilege);
	else if (finding->cause == PERCH_CAUSE_SECCOMP && !in_container(doctor))
		/* the remedy of the explanation is only for containers */
		doctor_suggest_filter(result);
	else if (finding->cause == PERCH_CAUSE_NO_HARDWARE)
		doctor_suggest_pmu(doctor, result);
	else
		doctor_set_change(result, "%s", finding->remedy);
}
