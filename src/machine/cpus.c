/* SPDX-License-Identifier: MIT */
/* Lists of CPUs and PMUs. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_CPUS 65536

static int refuse_list(struct perch_cpus *cpus, const char *text, const char *at,
		       struct perch_error *err)
{
	perch_cpus_clear(cpus);
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "'%s' is not a list of CPUs", text);
	perch_error_remedy(err, "use numbers and ranges, as in 0-3,8");
	if (err)
		err->column = at - text;
	return -EINVAL;
}

static int add_range(struct perch_cpus *cpus, unsigned long first, unsigned long last)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(cpus->cpu, cpus->nr, last - first + 1))
		return -ENOMEM;
	for (unsigned long cpu = first; cpu <= last; cpu++)
		cpus->cpu[cpus->nr++] = cpu;
	return 0;
}

static int by_number(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static void sort_unique(struct perch_cpus *cpus)
{
	size_t cached = 0;

	if (cpus->nr) /* an empty array is NULL */
		qsort(cpus->cpu, cpus->nr, sizeof(*cpus->cpu), by_number);
	for (size_t i = 0; i < cpus->nr; i++)
		if (!cached || cpus->cpu[cached - 1] != cpus->cpu[i])
			cpus->cpu[cached++] = cpus->cpu[i];
	cpus->nr = cached;
}

int perch_cpus_parse(struct perch_cpus *cpus, const char *text, struct perch_error *err)
{
	const char *at = text;

	cpus->nr = 0;
	cpus->cpu = NULL;
	while (true) {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*at))
			return refuse_list(cpus, text, at, err);
		first = last = strtoul(at, &end, 10);
		if (*end == '-') {
			at = end + 1;
			if (!isdigit((unsigned char)*at))
				return refuse_list(cpus, text, at, err);
			last = strtoul(at, &end, 10);
		}
		if (last < first || last >= MAX_CPUS || cpus->nr + (last - first) >= 2 * MAX_CPUS)
			return refuse_list(cpus, text, at, err);
		if (add_range(cpus, first, last)) {
			perch_cpus_clear(cpus);
			return PERCH__NO_MEMORY(err, "for a list of CPUs");
		}
		at = end;
		if (!*at)
			break;
		if (*at++ != ',')
			return refuse_list(cpus, text, at - 1, err);
	}
	sort_unique(cpus);
	return 0;
}

bool perch_cpus_contains(const struct perch_cpus *cpus, int cpu)
{
	for (size_t i = 0; cpus && i < cpus->nr; i++)
		if (cpus->cpu[i] == cpu)
			return true;
	return !cpus;
}

void perch_cpus_clear(struct perch_cpus *cpus)
{
	free(cpus->cpu);
	cpus->cpu = NULL;
	cpus->nr = 0;
}

int perch__read_cpus(struct perch_machine *machine, const char *path, struct perch_cpus *cpus,
		     struct perch_error *err)
{
	char text[16384];
	ssize_t got = perch_machine_read(machine, path, text, sizeof(text));

	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(-got));
	return perch_cpus_parse(cpus, text, err);
}

#define STAT_BYTES (1u << 20) /* the lines of 8192 CPUs are first */

/* Adds the CPUs of the lines "cpu0 ..." at the start of /proc/stat, the online ones. */
static int parse_stat(const char *text, struct perch_cpus *cpus)
{
	int rc = 0;

	while (!rc && !strncmp(text, "cpu", 3)) {
		unsigned long cpu = strtoul(text + 3, NULL, 10);

		if (isdigit((unsigned char)text[3]) && cpu < MAX_CPUS)
			rc = add_range(cpus, cpu, cpu);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	sort_unique(cpus);
	return rc;
}

/* A chroot or a container may have no /sys. Returns false if /proc/stat has no CPUs either. */
static bool read_cpus_of_stat(struct perch_machine *machine, struct perch_cpus *cpus)
{
	char *text = malloc(STAT_BYTES);
	int rc = -ENOMEM;

	*cpus = (struct perch_cpus){ 0 };
	if (text && perch_machine_read(machine, "/proc/stat", text, STAT_BYTES) > 0)
		rc = parse_stat(text, cpus);
	free(text);
	if (!rc && cpus->nr)
		return true;
	perch_cpus_clear(cpus);
	return false;
}

int perch_machine_cpus(struct perch_machine *machine, const struct perch_cpus **cpus,
		       struct perch_error *err)
{
	int rc;

	if (!machine->cpus_valid) {
		rc = perch__read_cpus(machine, "/sys/devices/system/cpu/online", &machine->cpus,
				      err);
		if (rc && (rc != -ENOENT || !read_cpus_of_stat(machine, &machine->cpus)))
			return rc;
		machine->cpus_valid = true;
	}
	*cpus = &machine->cpus;
	return 0;
}

int perch_machine_update_cpus(struct perch_machine *machine, struct perch_error *err)
{
	struct perch_cpus before;
	const struct perch_cpus *now;
	int rc;

	if (!machine->cpus_valid)
		return perch_machine_cpus(machine, &now, err);
	before = machine->cpus;
	machine->cpus = (struct perch_cpus){ 0 };
	machine->cpus_valid = false;
	rc = perch_machine_cpus(machine, &now, err);
	if (!rc && (now->nr != before.nr ||
		    memcmp(now->cpu, before.cpu, before.nr * sizeof(*before.cpu)))) {
		perch_cpus_clear(&before);
		return 1;
	}
	perch_cpus_clear(&machine->cpus);
	machine->cpus = before;
	machine->cpus_valid = true;
	return rc;
}

int perch_machine_cpus_present(struct perch_machine *machine, size_t *nr, struct perch_error *err)
{
	struct cached *cached = &machine->cpus_present;
	struct perch_cpus cpus;

	if (!cached->valid) {
		int rc = perch__read_cpus(machine, "/sys/devices/system/cpu/present", &cpus, err);

		if (rc)
			return rc;
		cached->value = cpus.nr;
		cached->valid = true;
		perch_cpus_clear(&cpus);
	}
	*nr = cached->value;
	return 0;
}

/* Reads a list of CPUs of a PMU. Returns false if the file is missing or broken. */
static bool read_pmu_cpus(int pmu, const char *file, struct perch_cpus *cpus)
{
	char text[16384];

	return perch__read_at(pmu, file, text, sizeof(text)) >= 0 &&
	       !perch_cpus_parse(cpus, text, NULL);
}

/* Reads the directory of a PMU. Returns false if it is not a PMU. */
static bool read_pmu(int directory, const char *name, struct perch_pmu *pmu)
{
	char text[64];

	memset(pmu, 0, sizeof(*pmu));
	if (strlen(name) >= sizeof(pmu->name) ||
	    perch__read_at(directory, "type", text, sizeof(text)) <= 0)
		return false;
	strcpy(pmu->name, name);
	pmu->type = strtoul(text, NULL, 10);
	pmu->core = !strcmp(name, "cpu");
	if (read_pmu_cpus(directory, "cpumask", &pmu->cpus))
		return true;
	if (read_pmu_cpus(directory, "cpus", &pmu->cpus))
		pmu->core = true;
	else
		pmu->cpus = (struct perch_cpus){ 0, NULL };
	return true;
}

/* Files are opened from the PMU's directory: that is three times as fast as by whole paths. */
static bool open_pmu(int devices, const char *name, struct perch_pmu *pmu)
{
	int directory = openat(devices, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_pmu = directory >= 0 && read_pmu(directory, name, pmu);

	if (directory >= 0)
		close(directory);
	return is_pmu;
}

static void clear_pmus(struct perch_machine *machine)
{
	for (size_t i = 0; i < machine->nr_pmus; i++)
		perch_cpus_clear(&machine->pmu[i].cpus);
	free(machine->pmu);
	machine->pmu = NULL;
	machine->nr_pmus = 0;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct perch_pmu *)left)->name,
		      ((const struct perch_pmu *)right)->name);
}

static int read_pmus(struct perch_machine *machine, struct perch_error *err)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *directory;

	if (perch_machine_path(machine, "/sys/bus/event_source/devices", path, sizeof(path)) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root of the machine is too long");
	directory = opendir(path);
	if (!directory)
		return perch_error_set(err, errno, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(errno));
	while ((entry = readdir(directory))) {
		struct perch_pmu pmu;

		if (entry->d_name[0] == '.' || !open_pmu(dirfd(directory), entry->d_name, &pmu))
			continue;
		if (PERCH__ARRAY_RESERVE_BY_NR(machine->pmu, machine->nr_pmus, 1)) {
			perch_cpus_clear(&pmu.cpus);
			closedir(directory);
			clear_pmus(machine); /* the next call reads the whole list again */
			return PERCH__NO_MEMORY(err, "for the list of PMUs");
		}
		machine->pmu[machine->nr_pmus++] = pmu;
	}
	closedir(directory);
	if (machine->nr_pmus)
		qsort(machine->pmu, machine->nr_pmus, sizeof(*machine->pmu), by_name);
	machine->pmus_valid = true;
	return 0;
}

int perch_machine_pmus(struct perch_machine *machine, const struct perch_pmu **pmus, size_t *nr,
		       struct perch_error *err)
{
	int rc = machine->pmus_valid ? 0 : read_pmus(machine, err);

	*pmus = machine->pmu;
	*nr = rc ? 0 : machine->nr_pmus;
	return rc;
}

const struct perch_pmu *perch_machine_pmu(struct perch_machine *machine, const char *name)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(machine, &pmus, &nr, NULL))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(pmus[i].name, name))
			return &pmus[i];
	return NULL;
}

const struct perch_pmu *perch_machine_pmu_of_type(struct perch_machine *machine, uint32_t type)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(machine, &pmus, &nr, NULL))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].type == type)
			return &pmus[i];
	return NULL;
}
