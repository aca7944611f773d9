/* SPDX-License-Identifier: MIT */
/* Checks of the system: tracefs, kernel symbols, BPF settings, watchdog, CPUs, vDSO. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/probes.h>

#include "internal.h"

static bool read_number(const struct perch_checks *checks, const char *path, long *value)
{
	char text[32], *end;

	if (perch_machine_read(checks->machine, path, text, sizeof(text)) <= 0)
		return false;
	*value = strtol(text, &end, 10);
	return end != text;
}

/* A definition keeps its program, and the file system of that, in use. */
static void set_stale_probes(struct perch_check *result, const char *tracefs)
{
	struct perch_stale_probes stale;

	perch_probes_find_stale(tracefs, &stale);
	if (!stale.nr)
		return;
	perch__check_reason(result, PERCH_CHECK_LIMITED,
			    "%zu %s left by perch commands that were killed: perch/%s%s", stale.nr,
			    stale.nr == 1 ? "probe was" : "probes were", stale.name,
			    stale.nr > 1 ? " is one" : "");
	perch__check_change(result,
			    "as root: echo -:perch/%s >>%s/uprobe_events (or kprobe_events); the "
			    "next perch command with a probe of a program removes all",
			    stale.name, tracefs);
}

void perch__check_tracefs(struct perch_checks *checks, struct perch_check *result)
{
	char path[PATH_MAX], file[PATH_MAX + 64];
	struct perch_error err;
	int rc = perch_machine_tracefs(checks->machine, path, sizeof(path), &err);

	if (!rc) {
		snprintf(file, sizeof(file), "%s/events/sched/sched_switch/id", path);
		if (access(file, R_OK) && errno == EACCES)
			rc = perch_machine_tracefs_error(checks->machine, &err);
	}
	if (rc) {
		perch__check_reason(result, PERCH_CHECK_NO, "%s", err.message);
		perch__check_change(result, "%s", err.remedy);
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%s, readable by this user", path);
	set_stale_probes(result, path);
}

/* Returns 1 if this user can read addresses of symbols, 0 if all are zero, -1 if unknown. */
static int kallsyms_has_addresses(const struct perch_checks *checks)
{
	char text[16384];
	const char *line = text;
	ssize_t got = perch_machine_read(checks->machine, "/proc/kallsyms", text, sizeof(text));

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

void perch__check_kernel_symbols(struct perch_checks *checks, struct perch_check *result)
{
	/* The level has an effect only with kptr_restrict=0. */
	static const struct perch__privilege either = { 1, "syslog" },
					     capability = { PERCH__NO_LEVEL, "syslog" };
	long restricted = -1, level = -1;
	int shown = kallsyms_has_addresses(checks);

	perch_machine_sysctl(checks->machine, PERCH_SYSCTL_KPTR_RESTRICT, &restricted, NULL);
	perch_machine_sysctl(checks->machine, PERCH_SYSCTL_PARANOID, &level, NULL);
	if (shown < 0) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "/proc/kallsyms cannot be read");
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "addresses %s", shown ? "shown" : "hidden");
	if (!shown && !restricted && level > 1) /* kernel/ksyms_common.c: kallsyms_show_value() */
		perch__check_value(result,
				   "addresses hidden (kernel.perf_event_paranoid %ld without "
				   "CAP_SYSLOG; kernel.kptr_restrict 0)",
				   level);
	else if (restricted >= 0)
		perch__check_value(result, "addresses %s (kernel.kptr_restrict %ld)",
				   shown ? "shown" : "hidden", restricted);
	if (shown)
		return;
	perch__check_reason(result, PERCH_CHECK_LIMITED,
			    "this user cannot resolve kernel addresses to function names");
	if (restricted >= 2)
		perch__check_change(
			result,
			"as root: sysctl kernel.kptr_restrict=1, then run %s with CAP_SYSLOG",
			checks->options.program);
	else
		perch__check_suggest_privilege(checks, result, restricted ? &capability : &either);
}

void perch__check_bpf_settings(struct perch_checks *checks, struct perch_check *result)
{
	static const char *const meaning[] = { "permitted to unprivileged users",
					       "refused to unprivileged users until the next boot",
					       "refused to unprivileged users" };
	long disabled, stats;

	if (!read_number(checks, "/proc/sys/kernel/unprivileged_bpf_disabled", &disabled)) {
		perch__check_reason(
			result, PERCH_CHECK_UNKNOWN,
			"no kernel.unprivileged_bpf_disabled: the kernel may be built without BPF");
		return;
	}
	result->status = PERCH_CHECK_OK;
	if (read_number(checks, "/proc/sys/kernel/bpf_stats_enabled", &stats))
		perch__check_value(result,
				   "unprivileged_bpf_disabled %ld (%s); bpf_stats_enabled %ld (%s)",
				   disabled,
				   disabled >= 0 && disabled < 3 ? meaning[disabled] : "unknown",
				   stats,
				   stats ? "run times of programs are counted"
					 : "run times of programs are not counted");
	else
		perch__check_value(result, "unprivileged_bpf_disabled %ld (%s)", disabled,
				   disabled >= 0 && disabled < 3 ? meaning[disabled] : "unknown");
}

void perch__check_watchdog(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_check *core = perch_checks_find(checks, "core-pmu");
	long on;

	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_NMI_WATCHDOG, &on, NULL)) {
		result->status = PERCH_CHECK_OK;
		perch__check_value(result, "none in this kernel");
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, on ? "on" : "off");
	if (!on || core->status != PERCH_CHECK_OK)
		return;
	perch__check_reason(result, PERCH_CHECK_LIMITED,
			    "it uses one hardware counter of each CPU, except in kernels with the "
			    "buddy detector (since Linux 6.5)");
	perch__check_change(result, "as root, while measuring: sysctl kernel.nmi_watchdog=0");
}

void perch__check_cpus(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_cpus *cpus;
	struct perch_error err;
	size_t present;

	if (perch_machine_cpus(checks->machine, &cpus, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	if (perch_machine_cpus_present(checks->machine, &present, NULL))
		perch__check_value(result, "%zu online", cpus->nr);
	else
		perch__check_value(result, "%zu of %zu online", cpus->nr, present);
}

/* Symbols of the vDSO need its mapping, and reading the time without a system call needs certain
 * clock sources. */
void perch__check_vdso(struct perch_checks *checks, struct perch_check *result)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "jiffies", "refined-jiffies",
					    "pit" };
	char source[32] = "unknown", *maps = malloc(1 << 16);
	bool mapped;

	if (!maps || perch_machine_read(checks->machine, "/proc/self/maps", maps, 1 << 16) < 0) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "/proc/self/maps cannot be read");
		free(maps);
		return;
	}
	mapped = strstr(maps, "[vdso]");
	free(maps);
	if (perch_machine_read(checks->machine,
			       "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			       source, sizeof(source)) < 0)
		strcpy(source, "unknown");
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%s; clock source %s", mapped ? "mapped" : "not mapped", source);
	if (!mapped)
		perch__check_reason(result, PERCH_CHECK_LIMITED,
				    "reading the time needs a system call");
	for (size_t i = 0; i < PERCH__NR(slow); i++)
		if (!strcmp(source, slow[i]))
			perch__check_reason(
				result, PERCH_CHECK_LIMITED,
				"reading the time needs a system call with this clock source");
}
