/* SPDX-License-Identifier: MIT */
/* Facts of the machine as the rules ask for them, and as their sentences show them. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static bool sysctl(const struct perch__case *c, enum perch_sysctl which, long *value)
{
	return c->machine && !perch_machine_sysctl(c->machine, which, value, NULL);
}

bool perch__may_lack_privilege(const struct perch__case *c)
{
	return !c->machine || !perch_machine_privileged(c->machine);
}

bool perch__may_lack_admin(const struct perch__case *c)
{
	uint64_t effective;

	if (!c->machine || perch_machine_capabilities(c->machine, &effective, NULL))
		return true;
	return !(effective >> PERCH_CAP_SYS_ADMIN & 1);
}

bool perch__paranoid_exceeds(const struct perch__case *c, long level)
{
	long value;

	return sysctl(c, PERCH_SYSCTL_PARANOID, &value) && value > level;
}

bool perch__paranoid_may_exceed(const struct perch__case *c, long level)
{
	long value;

	return !sysctl(c, PERCH_SYSCTL_PARANOID, &value) || value > level;
}

/* Without the fact: the limit that kernels start with. */
bool perch__above_max_rate(const struct perch__case *c)
{
	long limit;

	if (!sysctl(c, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit))
		limit = 100000;
	return c->attr.freq && limit >= 0 && c->attr.sample_freq > (uint64_t)limit;
}

/* The highest CPU number of a list of sysfs, or -1. */
static int highest_cpu(const struct perch__case *c, const char *path)
{
	struct perch_cpus cpus = { 0 };
	char text[4096];
	int highest = -1;

	if (perch_machine_read(c->machine, path, text, sizeof(text)) <= 0 || perch_cpus_parse(&cpus, text, NULL))
		return -1;
	if (cpus.nr)
		highest = cpus.cpu[cpus.nr - 1];
	perch_cpus_clear(&cpus);
	return highest;
}

/* The numbers may have gaps, so that their count says nothing: the kernel refuses what is above the highest. */
bool perch__cpu_absent(const struct perch__case *c)
{
	int highest;

	if (!c->machine || c->call->cpu < 0)
		return false;
	highest = highest_cpu(c, "/sys/devices/system/cpu/possible");
	if (highest < 0)
		highest = highest_cpu(c, "/sys/devices/system/cpu/present");
	return highest >= 0 && c->call->cpu > highest;
}

/* PMUs of sysfs that are no cores' own: a machine which has these alone cannot count cycles. */
static bool is_core_pmu(const char *name)
{
	static const char *const others[] = { "software", "tracepoint", "breakpoint", "kprobe", "uprobe", "msr",
					      "power", "cstate", "uncore", "i915", "intel_", "amd_", "ibs_" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return name[0] != '.';
}

/* The folder's names are enough, and far cheaper than perch_machine_pmus(), which reads files of each PMU. */
bool perch__no_core_pmu(const struct perch__case *c)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *folder;

	if (!c->machine || perch_machine_path(c->machine, path, sizeof(path), "/sys/bus/event_source/devices") < 0)
		return false;
	folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder)))
		found = is_core_pmu(entry->d_name);
	closedir(folder);
	return !found;
}

static const struct perch_pmu *pmu_of_type(const struct perch__case *c, bool *known)
{
	const struct perch_pmu *pmus;
	size_t nr;

	*known = c->machine && !perch_machine_pmus(c->machine, &pmus, &nr, NULL);
	if (!*known)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].type == c->attr.type)
			return &pmus[i];
	return NULL;
}

bool perch__type_unregistered(const struct perch__case *c)
{
	bool known;

	return !pmu_of_type(c, &known) && known;
}

bool perch__pmu_is(const struct perch__case *c, const char *name)
{
	bool known;
	const struct perch_pmu *pmu = pmu_of_type(c, &known);

	return pmu && !strcmp(pmu->name, name);
}

bool perch__seccomp_filters(const struct perch__case *c)
{
	char text[4096];
	const char *line;

	if (!c->machine || perch_machine_read(c->machine, "/proc/self/status", text, sizeof(text)) < 0)
		return false;
	line = strstr(text, "\nSeccomp:");
	return line && strspn(line + 9, " \t2") > strspn(line + 9, " \t");
}

bool perch__locked_down(const struct perch__case *c)
{
	char text[128];

	return c->machine && perch_machine_read(c->machine, "/sys/kernel/security/lockdown", text, sizeof(text)) >= 0 &&
	       strstr(text, "[confidentiality]");
}

/* " (it is 2)", or nothing when the value is not known: a sentence is whole either way. */
static void current_value(const struct perch__case *c, enum perch_sysctl which, char *buffer, size_t size)
{
	long value;

	if (sysctl(c, which, &value))
		snprintf(buffer, size, " (it is %ld)", value);
	else
		buffer[0] = '\0';
}

static void pmu_name(const struct perch__case *c, char *buffer, size_t size)
{
	bool known;
	const struct perch_pmu *pmu = pmu_of_type(c, &known);

	if (pmu)
		snprintf(buffer, size, "%s", pmu->name);
	else
		snprintf(buffer, size, "of type %u", c->attr.type);
}

static void pid_name(const struct perch__case *c, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", c->call->pid_is_cgroup_fd ? "cgroup_fd" : "pid");
}

static void cpus_present(const struct perch__case *c, char *buffer, size_t size)
{
	size_t nr;

	if (c->machine && !perch_machine_cpus_present(c->machine, &nr, NULL))
		snprintf(buffer, size, "%zu CPU%s", nr, nr == 1 ? "" : "s");
	else
		snprintf(buffer, size, "fewer CPUs");
}

static void descriptor_limit(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch_limits limits;

	if (c->machine && !perch_machine_limits(c->machine, &limits, NULL))
		snprintf(buffer, size, " (it is %" PRIu64 ")", limits.descriptors);
	else
		buffer[0] = '\0';
}

bool perch__fact_text(const struct perch__case *c, const char *name, size_t length, char *buffer, size_t size)
{
	const struct {
		const char *name;
		long long value;
	} numbers[] = {
		{ "pid", c->call->pid },	 { "cpu", c->call->cpu },
		{ "group_fd", c->call->group_fd }, { "type", c->attr.type },
		{ "size", c->call->attr ? c->call->attr->size : 0 },
		{ "stack", c->attr.sample_stack_user }, { "depth", c->attr.sample_max_stack },
		{ "clockid", c->attr.clockid },	 { "precise", c->attr.precise_ip },
		{ "bp_type", c->attr.bp_type },
	};
	const struct {
		const char *name;
		uint64_t value;
	} large[] = { { "frequency", c->attr.sample_freq }, { "bp_len", c->attr.bp_len } };
	const struct {
		const char *name;
		uint64_t value;
	} bits[] = {
		{ "config", c->attr.config }, { "flags", c->call->flags }, { "bp_addr", c->attr.bp_addr },
		{ "sample_bits", c->attr.sample_type & ~(uint64_t)(PERCH_SAMPLE_MAX - 1) },
		{ "read_bits", c->attr.read_format & ~(uint64_t)(PERCH_FORMAT_MAX - 1) },
		{ "branch_bits", c->attr.branch_sample_type & ~(uint64_t)(PERCH_SAMPLE_BRANCH_MAX - 1) },
	};
	const struct {
		const char *name;
		enum perch_sysctl which;
	} sysctls[] = {
		{ "paranoid", PERCH_SYSCTL_PARANOID },
		{ "max_rate", PERCH_SYSCTL_MAX_SAMPLE_RATE },
		{ "max_stack", PERCH_SYSCTL_MAX_STACK },
	};
	const struct {
		const char *name;
		void (*write)(const struct perch__case *c, char *buffer, size_t size);
	} others[] = {
		{ "pmu", pmu_name }, { "pid_name", pid_name }, { "cpus", cpus_present }, { "descriptors", descriptor_limit },
	};

#define FOR_THE_NAMED(table, i)                                                                    \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++)                              \
		if (strlen((table)[i].name) == length && !memcmp((table)[i].name, name, length))
	FOR_THE_NAMED(numbers, i)
		return snprintf(buffer, size, "%lld", numbers[i].value) > 0;
	FOR_THE_NAMED(large, i)
		return snprintf(buffer, size, "%" PRIu64, large[i].value) > 0;
	FOR_THE_NAMED(bits, i)
		return snprintf(buffer, size, "0x%" PRIx64, bits[i].value) > 0;
	FOR_THE_NAMED(sysctls, i)
		return current_value(c, sysctls[i].which, buffer, size), true;
	FOR_THE_NAMED(others, i)
		return others[i].write(c, buffer, size), true;
#undef FOR_THE_NAMED
	return false;
}
