/* SPDX-License-Identifier: MIT */
/* Checks of the kernel and its PMUs, and a search in the kernel log. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MAX_LOG_RECORDS 8192 /* to read */

void perch__check_release(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_release release;
	struct perch_error err;
	char system[128];

	if (perch_machine_release(checks->machine, &release, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	if (perch_machine_distribution(checks->machine, system, sizeof(system), NULL))
		perch__check_value(result, "Linux %s", release.text);
	else
		perch__check_value(result, "Linux %s; system: %s", release.text, system);
}

/*
 * Formats the names of the attr fields at or after an offset, with the release that added each.
 * Returns the newest of these releases.
 */
static const char *format_new_fields(uint32_t offset, char *text, size_t size)
{
	size_t nr, used = 0;
	const struct perch_attr_field *field = perch_attr_fields(&nr);
	const char *newest = "";

	text[0] = '\0';
	for (size_t i = 0; i < nr && used < size; i++)
		if (field[i].offset >= offset && field[i].since[0]) {
			used += snprintf(text + used, size - used, "%s%s (Linux %s)",
					 used ? ", " : "", field[i].name, field[i].since);
			newest = field[i].since; /* new fields are at the end */
		}
	return newest;
}

void perch__check_attr_size(struct perch_checks *checks, struct perch_check *result)
{
	char missing[400];
	const char *newest;
	struct perch_error err;
	uint32_t size;

	if (perch_machine_attr_size(checks->machine, &size, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	perch__check_value(result, "%u bytes; perch supports %zu", (unsigned)size,
			   sizeof(struct perch_attr));
	if (size >= sizeof(struct perch_attr))
		return;
	newest = format_new_fields(size, missing, sizeof(missing));
	perch__check_reason(result, PERCH_CHECK_LIMITED, "this kernel does not have the field%s %s",
			    strchr(missing, ',') ? "s" : "", missing);
	perch__check_change(result, "use Linux %s or later for programs that set %s", newest,
			    strchr(missing, ',') ? "them" : "it");
}

void perch__check_pmus(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_pmu *pmu;
	struct perch_error err;
	char text[sizeof(result->value)] = "";
	size_t nr, used = 0;

	if (perch_machine_pmus(checks->machine, &pmu, &nr, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	for (size_t i = 0; i < nr && used < sizeof(text); i++) {
		used += snprintf(text + used, sizeof(text) - used, "%s%s %u", i ? ", " : "",
				 pmu[i].name, (unsigned)pmu[i].type);
		if (pmu[i].cpus.nr && used < sizeof(text))
			used += snprintf(text + used, sizeof(text) - used, " (%zu CPU%s)",
					 pmu[i].cpus.nr, pmu[i].cpus.nr == 1 ? "" : "s");
	}
	if (used >= sizeof(text))
		strcpy(text + sizeof(text) - 4, "...");
	perch__check_value(result, "%s", text);
	result->status = PERCH_CHECK_OK;
	if (!nr)
		perch__check_reason(result, PERCH_CHECK_NO, "sysfs lists no PMU");
}

/* Returns the first line of a log record, without its prefix "6,123,456789,-;". */
static char *log_text(char *record)
{
	char *text = record[0] >= '0' && record[0] <= '9' ? strchr(record, ';') : NULL;

	record[strcspn(record, "\n")] = '\0';
	return text ? text + 1 : record;
}

int perch__check_find_in_log(const struct perch_checks *checks, const char *const *words, size_t nr,
			     char *text, size_t size)
{
	char path[PATH_MAX], record[8192];
	int fd, rc = -ENOENT;
	ssize_t got;

	if (perch_machine_path(checks->machine, "/dev/kmsg", path, sizeof(path)) < 0)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < MAX_LOG_RECORDS; i++) {
		/* each read returns one record; EPIPE: older records were overwritten */
		got = read(fd, record, sizeof(record) - 1);
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (got <= 0) {
			if (got < 0 && errno != EAGAIN && rc)
				rc = -errno;
			break;
		}
		record[got] = '\0';
		for (size_t word = 0; word < nr; word++)
			if (strstr(record, words[word])) {
				/* the last match wins */
				perch_clean_text(log_text(record), text, size);
				rc = 0;
				break;
			}
	}
	close(fd);
	return rc;
}

/* Explains why there is no core PMU, with the boot message of the kernel if it can be read. */
static void explain_no_core_pmu(struct perch_checks *checks, struct perch_check *result)
{
	static const char *const words[] = { "Performance Events:", "hw perfevents:",
					     "no PMU driver" };
	struct perch_sandbox sandbox;
	char logged[256], text[400];
	int rc = perch__check_find_in_log(checks, words, PERCH__NR(words), logged, sizeof(logged));
	bool virtual = perch_machine_virtual(checks->machine) == 1;

	if (!rc)
		snprintf(text, sizeof(text), "the kernel logged at boot: %s", logged);
	else if (rc == -EPERM || rc == -EACCES)
		snprintf(text, sizeof(text),
			 "this user may not read the kernel log, which may have the reason "
			 "(kernel.dmesg_restrict)");
	else
		snprintf(text, sizeof(text), "the kernel log has no reason");
	perch__check_reason(
		result, PERCH_CHECK_NO, "%s; %s",
		virtual ? "this is a virtual machine, and its hypervisor provides no PMU that Linux supports"
			: "Linux has no driver for a PMU of this machine",
		text);
	result->cause = perch_cause_slug(PERCH_CAUSE_NO_HARDWARE);
	if (!perch_machine_sandbox(checks->machine, &sandbox, NULL) &&
	    !strcmp(sandbox.container, "gvisor")) {
		perch__check_reason(
			result, PERCH_CHECK_NO,
			"gVisor has its own kernel, which does not implement perf events");
		perch__check_change(
			result,
			"run the container with a runtime other than gVisor: --runtime=runc");
		return;
	}
	perch__check_suggest_pmu(checks, result);
}

void perch__check_core_pmu(struct perch_checks *checks, struct perch_check *result)
{
	const struct perch_pmu *pmu;
	char text[sizeof(result->value)] = "", branches[32];
	struct perch_error err;
	size_t nr, used = 0;

	if (perch_machine_pmus(checks->machine, &pmu, &nr, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	for (size_t i = 0; i < nr && used < sizeof(text); i++) {
		long precise = 0, depth = 0;

		if (!pmu[i].core)
			continue;
		branches[0] = '\0';
		if (!perch_machine_pmu_cap(checks->machine, &pmu[i], "branches", &depth, NULL))
			snprintf(branches, sizeof(branches), ", %ld branches", depth);
		used += snprintf(text + used, sizeof(text) - used, "%s%s", used ? "; " : "",
				 pmu[i].name);
		if (used < sizeof(text) &&
		    !perch_machine_pmu_cap(checks->machine, &pmu[i], "max_precise", &precise, NULL))
			used += snprintf(text + used, sizeof(text) - used, " (precise up to %ld%s)",
					 precise, branches);
	}
	perch__check_value(result, "%s", text);
	if (!used)
		explain_no_core_pmu(checks, result);
	else
		result->status = PERCH_CHECK_OK;
}
