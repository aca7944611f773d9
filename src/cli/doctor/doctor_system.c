/* SPDX-License-Identifier: MIT */
/* Checks of the system: tracefs, kernel symbols, BPF settings, watchdog, CPUs, vDSO. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/probes.h>

#include "doctor.h"
#include "options.h"

static bool read_number(const struct doctor *doctor, const char *path, long *value)
{
	char text[32], *end;

	if (perch_machine_read(doctor->machine, path, text, sizeof(text)) <= 0)
		return false;
	*value = strtol(text, &end, 10);
	return end != text;
}

/* A definition keeps its program, and the file system of that, in use. */
static void set_stale_probes(struct doctor_result *result, const char *tracefs)
{
	struct perch_stale_probes stale;

	perch_probes_find_stale(tracefs, &stale);
	if (!stale.nr)
		return;
	doctor_set_reason(result, DOCTOR_LIMITED,
			  "%zu %s left by perch commands that were killed: perch/%s%s", stale.nr,
			  cli_word(stale.nr, "probe was", "probes were"), stale.name,
			  stale.nr > 1 ? " is one" : "");
	doctor_set_change(result,
			  "as root: echo -:perch/%s >>%s/uprobe_events (or kprobe_events); the "
			  "next perch command with a probe of a program removes all",
			  stale.name, tracefs);
}

void doctor_tracefs(struct doctor *doctor, struct doctor_result *result)
{
	char path[PATH_MAX], file[PATH_MAX + 64];
	struct perch_error err;
	int rc = perch_machine_tracefs(doctor->machine, path, sizeof(path), &err);

	if (!rc) {
		snprintf(file, sizeof(file), "%s/events/sched/sched_switch/id", path);
		if (access(file, R_OK) && errno == EACCES)
			rc = perch_machine_tracefs_error(doctor->machine, &err);
	}
	if (rc) {
		doctor_set_reason(result, DOCTOR_NO, "%s", err.message);
		doctor_set_change(result, "%s", err.remedy);
		return;
	}
	result->status = DOCTOR_OK;
	doctor_set_value(result, "%s, readable by this user", path);
	set_stale_probes(result, path);
}

/* Returns 1 if this user can read addresses of symbols, 0 if all are zero, -1 if unknown. */
static int kallsyms_has_addresses(const struct doctor *doctor)
{
	char text[16384];
	const char *line = text;
	ssize_t got = perch_machine_read(doctor->machine, "/proc/kallsyms", text, sizeof(text));

	if (got <= 0)
		return -1;
	while (line && *line) {
		if (strtoull(line, NULL, 16))
			return 1;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return 0;
}

void doctor_kernel_symbols(struct doctor *doctor, struct doctor_result *result)
{
	/* The level has an effect only with kptr_restrict=0. */
	static const struct doctor_privilege either = { 1, "syslog" },
					     capability = { DOCTOR_NO_LEVEL, "syslog" };
	long restricted = -1;
	int shown = kallsyms_has_addresses(doctor);

	perch_machine_sysctl(doctor->machine, PERCH_SYSCTL_KPTR_RESTRICT, &restricted, NULL);
	if (shown < 0) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "/proc/kallsyms cannot be read");
		return;
	}
	result->status = DOCTOR_OK;
	doctor_set_value(result, "addresses %s", shown ? "shown" : "hidden");
	if (restricted >= 0)
		doctor_set_value(result, "addresses %s (kernel.kptr_restrict %ld)",
				 shown ? "shown" : "hidden", restricted);
	if (shown)
		return;
	doctor_set_reason(result, DOCTOR_LIMITED,
			  "this user cannot resolve kernel addresses to function names");
	if (restricted >= 2)
		doctor_set_change(
			result,
			"as root: sysctl kernel.kptr_restrict=1, then run perch with CAP_SYSLOG");
	else
		doctor_suggest_privilege(doctor, result, restricted ? &capability : &either);
}

void doctor_bpf_settings(struct doctor *doctor, struct doctor_result *result)
{
	static const char *const meaning[] = { "permitted to unprivileged users",
					       "refused to unprivileged users until the next boot",
					       "refused to unprivileged users" };
	long disabled, stats;

	if (!read_number(doctor, "/proc/sys/kernel/unprivileged_bpf_disabled", &disabled)) {
		doctor_set_reason(
			result, DOCTOR_UNKNOWN,
			"no kernel.unprivileged_bpf_disabled: the kernel may be built without BPF");
		return;
	}
	result->status = DOCTOR_OK;
	if (read_number(doctor, "/proc/sys/kernel/bpf_stats_enabled", &stats))
		doctor_set_value(result,
				 "unprivileged_bpf_disabled %ld (%s); bpf_stats_enabled %ld (%s)",
				 disabled,
				 disabled >= 0 && disabled < 3 ? meaning[disabled] : "unknown",
				 stats,
				 stats ? "run times of programs are counted"
				       : "run times of programs are not counted");
	else
		doctor_set_value(result, "unprivileged_bpf_disabled %ld (%s)", disabled,
				 disabled >= 0 && disabled < 3 ? meaning[disabled] : "unknown");
}

void doctor_watchdog(struct doctor *doctor, struct doctor_result *result)
{
	const struct doctor_result *core = doctor_find_result(doctor, "core-pmu");
	long on;

	if (perch_machine_sysctl(doctor->machine, PERCH_SYSCTL_NMI_WATCHDOG, &on, NULL)) {
		result->status = DOCTOR_OK;
		doctor_set_value(result, "none in this kernel");
		return;
	}
	result->status = DOCTOR_OK;
	doctor_set_value(result, on ? "on" : "off");
	if (!on || core->status != DOCTOR_OK)
		return;
	doctor_set_reason(result, DOCTOR_LIMITED,
			  "it uses one hardware counter of each CPU, except in kernels with the "
			  "buddy detector (since Linux 6.5)");
	doctor_set_change(result, "as root, while measuring: sysctl kernel.nmi_watchdog=0");
}

void doctor_cpus(struct doctor *doctor, struct doctor_result *result)
{
	const struct perch_cpus *cpus;
	struct perch_error err;
	size_t present;

	if (perch_machine_cpus(doctor->machine, &cpus, &err)) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = DOCTOR_OK;
	if (perch_machine_cpus_present(doctor->machine, &present, NULL))
		doctor_set_value(result, "%zu online", cpus->nr);
	else
		doctor_set_value(result, "%zu of %zu online", cpus->nr, present);
}

/* Symbols of the vDSO need its mapping, and reading the time without a system call needs certain
 * clock sources. */
void doctor_vdso(struct doctor *doctor, struct doctor_result *result)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies",
					    "pit" };
	char source[32] = "unknown", *maps = malloc(1 << 16);
	bool mapped;

	if (!maps || perch_machine_read(doctor->machine, "/proc/self/maps", maps, 1 << 16) < 0) {
		doctor_set_reason(result, DOCTOR_UNKNOWN, "/proc/self/maps cannot be read");
		free(maps);
		return;
	}
	mapped = strstr(maps, "[vdso]");
	free(maps);
	if (perch_machine_read(doctor->machine,
			       "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			       source, sizeof(source)) < 0)
		strcpy(source, "unknown");
	result->status = DOCTOR_OK;
	doctor_set_value(result, "%s; clock source %s", mapped ? "mapped" : "not mapped", source);
	if (!mapped)
		doctor_set_reason(result, DOCTOR_LIMITED, "reading the time needs a system call");
	for (size_t i = 0; i < CLI_NR(slow); i++)
		if (!strcmp(source, slow[i]))
			doctor_set_reason(
				result, DOCTOR_LIMITED,
				"reading the time needs a system call with this clock source");
}
