/* SPDX-License-Identifier: MIT */
/*
 * Writes the header features that describe the machine, the command and the events, in perf's
 * formats. Features whose values are not available are left out.
 */
#include <ctype.h>
#include <sys/utsname.h>
#include "internal.h"

struct description {
	struct perch_writer *writer;
	struct perch_machine *machine;
	struct perch_error *err;
};

/* Writes a feature that is one string. An empty string is left out. */
static int add_text(const struct description *d, enum perch_feature feature, const char *text)
{
	struct perch__bytes bytes = { 0 };

	if (!text[0])
		return 0;
	perch__bytes_put_text(&bytes, text);
	return perch__writer_set_feature(d->writer, feature, &bytes, d->err);
}

/* ---- from /proc/cpuinfo and /proc/meminfo ---- */

/* The value of the first line "name<blanks>: value", or "". */
static void find_value(const char *text, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	value[0] = 0;
	while (text && *text) {
		const char *at = text;

		if (!strncmp(at, name, length)) {
			at += length;
			at += strspn(at, " \t");
			if (*at == ':') {
				at += 1 + strspn(at + 1, " \t");
				snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
				return;
			}
		}
		text = strchr(text, '\n');
		text += !!text;
	}
}

/* The name of the CPU. Architectures have different keys for it. */
static void describe_cpu(const char *cpuinfo, char *value, size_t size)
{
	static const char *const names[] = { "model name", "Processor", "cpu model", "cpu",
					     "Model Name", "uarch",	"vendor_id" };

	value[0] = 0;
	for (size_t i = 0; !value[0] && i < PERCH__NR(names); i++)
		find_value(cpuinfo, names[i], value, size);
}

/* x86: vendor,family,model,stepping. arm64: MIDR_EL1. Empty on other architectures. */
static void identify_cpu(const struct description *d, const char *cpuinfo, char *id, size_t size)
{
	char vendor[64], family[16], model[16], stepping[16];

	find_value(cpuinfo, "vendor_id", vendor, sizeof(vendor));
	find_value(cpuinfo, "cpu family", family, sizeof(family));
	find_value(cpuinfo, "model", model, sizeof(model));
	find_value(cpuinfo, "stepping", stepping, sizeof(stepping));
	if (vendor[0] && family[0] && model[0] && stepping[0]) {
		snprintf(id, size, "%s,%s,%s,%s", vendor, family, model, stepping);
		return;
	}
	if (perch_machine_read(d->machine,
			       "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", id,
			       size) < 0)
		id[0] = 0;
}

static int add_cpu(const struct description *d)
{
	char cpuinfo[8192], text[256];
	int rc;

	if (perch_machine_read(d->machine, "/proc/cpuinfo", cpuinfo, sizeof(cpuinfo)) < 0)
		return 0;
	describe_cpu(cpuinfo, text, sizeof(text));
	rc = add_text(d, PERCH_FEATURE_CPUDESC, text);
	if (rc)
		return rc;
	identify_cpu(d, cpuinfo, text, sizeof(text));
	return add_text(d, PERCH_FEATURE_CPUID, text);
}

static int add_memory(const struct description *d)
{
	char meminfo[4096], text[64];
	struct perch__bytes bytes = { 0 };

	if (perch_machine_read(d->machine, "/proc/meminfo", meminfo, sizeof(meminfo)) < 0)
		return 0;
	find_value(meminfo, "MemTotal", text, sizeof(text));
	if (!isdigit((unsigned char)text[0]))
		return 0;
	perch__bytes_put_u64(&bytes, strtoull(text, NULL, 10));
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_TOTAL_MEM, &bytes, d->err);
}

/* ---- names ---- */

static int add_names(const struct description *d, const char *version)
{
	char host[256];
	struct perch_release release;
	struct utsname name;
	int rc = 0;

	if (perch_machine_read(d->machine, "/proc/sys/kernel/hostname", host, sizeof(host)) > 0)
		rc = add_text(d, PERCH_FEATURE_HOSTNAME, host);
	if (!rc && !perch_machine_release(d->machine, &release, NULL))
		rc = add_text(d, PERCH_FEATURE_OSRELEASE, release.text);
	if (!rc && !uname(&name))
		rc = add_text(d, PERCH_FEATURE_ARCH, name.machine);
	return rc ? rc : add_text(d, PERCH_FEATURE_VERSION, version);
}

static int add_command_line(const struct description *d, int argc, char *const *argv)
{
	struct perch__bytes bytes = { 0 };

	if (argc <= 0)
		return 0;
	perch__bytes_put_u32(&bytes, argc);
	for (int i = 0; i < argc; i++)
		perch__bytes_put_text(&bytes, argv[i]);
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_CMDLINE, &bytes, d->err);
}

/* ---- events ---- */

/* nr, size of an attr; then attr, number of ids, name and ids of each event. */
static int add_events(const struct description *d)
{
	struct perch__bytes bytes = { 0 };
	size_t nr;
	const struct perch_file_event *events = perch__writer_events(d->writer, &nr);
	uint32_t attr_size = perch__writer_attr_size(d->writer);

	perch__bytes_put_u32(&bytes, nr);
	perch__bytes_put_u32(&bytes, attr_size);
	for (size_t i = 0; i < nr; i++) {
		struct perch_attr attr = events[i].attr;

		attr.size = attr_size;
		perch__bytes_put(&bytes, &attr, attr_size);
		perch__bytes_put_u32(&bytes, events[i].nr_ids);
		perch__bytes_put_text(&bytes, events[i].name);
		perch__bytes_put(&bytes, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	}
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_EVENT_DESC, &bytes, d->err);
}

/* nr; then name, index of the leader and number of members of each group. */
static int add_groups(const struct description *d)
{
	struct perch__bytes bytes = { 0 };
	size_t nr;
	const struct perch_file_event *events = perch__writer_events(d->writer, &nr);
	uint32_t groups = 0;

	for (size_t i = 0; i < nr; i++)
		groups += events[i].members > 1;
	if (!groups)
		return 0;
	perch__bytes_put_u32(&bytes, groups);
	for (size_t i = 0; i < nr; i++) {
		if (events[i].members < 2)
			continue;
		perch__bytes_put_text(&bytes, "{anon_group}");
		perch__bytes_put_u32(&bytes, i);
		perch__bytes_put_u32(&bytes, events[i].members);
	}
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_GROUP_DESC, &bytes, d->err);
}

/* ---- the machine ---- */

static int add_pmus(const struct description *d)
{
	struct perch__bytes bytes = { 0 };
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(d->machine, &pmus, &nr, NULL) || !nr)
		return 0;
	perch__bytes_put_u32(&bytes, nr);
	for (size_t i = 0; i < nr; i++) {
		perch__bytes_put_u32(&bytes, pmus[i].type);
		perch__bytes_put_text(&bytes, pmus[i].name);
	}
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_PMU_MAPPINGS, &bytes, d->err);
}

static int add_cpu_counts(const struct description *d, size_t *present)
{
	struct perch__bytes bytes = { 0 };
	const struct perch_cpus *online;

	*present = 0;
	if (perch_machine_cpus(d->machine, &online, NULL) ||
	    perch_machine_cpus_present(d->machine, present, NULL))
		return 0;
	perch__bytes_put_u32(&bytes, *present);
	perch__bytes_put_u32(&bytes, online->nr);
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_NRCPUS, &bytes, d->err);
}

static bool read_topology(const struct description *d, size_t cpu, const char *file, char *text,
			  size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/%s", cpu, file);
	return perch_machine_read(d->machine, path, text, size) > 0;
}

static uint32_t topology_number(const struct description *d, size_t cpu, const char *file)
{
	char text[32];

	return read_topology(d, cpu, file, text, sizeof(text)) ? (uint32_t)strtol(text, NULL, 10)
							       : UINT32_MAX;
}

/* True if the CPU is the first of its list. Each list is written for its first CPU only. */
static bool names_first(const char *list, size_t cpu)
{
	return strtoul(list, NULL, 10) == cpu;
}

/* nr, then each distinct list of CPUs. */
static void put_sharing(const struct description *d, struct perch__bytes *bytes, size_t cpus,
			const char *file)
{
	struct perch__bytes lists = { 0 };
	char text[1024];
	uint32_t nr = 0;

	for (size_t cpu = 0; cpu < cpus; cpu++) {
		if (!read_topology(d, cpu, file, text, sizeof(text)) || !names_first(text, cpu))
			continue;
		perch__bytes_put_text(&lists, text);
		nr++;
	}
	perch__bytes_put_u32(bytes, nr);
	perch__bytes_put(bytes, lists.data, lists.size);
	bytes->failed |= lists.failed;
	perch__bytes_free(&lists);
}

/* Lists of sockets and cores; core and socket of each CPU; list of dies; die of each CPU. */
static int add_topology(const struct description *d, size_t cpus)
{
	struct perch__bytes bytes = { 0 };
	char text[1024];

	if (!cpus || !read_topology(d, 0, "core_cpus_list", text, sizeof(text)))
		return 0;
	put_sharing(d, &bytes, cpus, "package_cpus_list");
	put_sharing(d, &bytes, cpus, "core_cpus_list");
	for (size_t cpu = 0; cpu < cpus; cpu++) {
		perch__bytes_put_u32(&bytes, topology_number(d, cpu, "core_id"));
		perch__bytes_put_u32(&bytes, topology_number(d, cpu, "physical_package_id"));
	}
	if (read_topology(d, 0, "die_cpus_list", text, sizeof(text))) {
		put_sharing(d, &bytes, cpus, "die_cpus_list");
		for (size_t cpu = 0; cpu < cpus; cpu++)
			perch__bytes_put_u32(&bytes, topology_number(d, cpu, "die_id"));
	}
	return perch__writer_set_feature(d->writer, PERCH_FEATURE_CPU_TOPOLOGY, &bytes, d->err);
}

int perch_writer_describe(struct perch_writer *writer, const char *version, int argc,
			  char *const *argv, struct perch_machine *machine, struct perch_error *err)
{
	struct description d = { .writer = writer, .machine = machine, .err = err };
	size_t cpus;
	int rc = add_names(&d, version);

	if (!rc)
		rc = add_command_line(&d, argc, argv);
	if (!rc)
		rc = add_events(&d);
	if (!rc)
		rc = add_groups(&d);
	if (!rc)
		rc = add_cpu(&d);
	if (!rc)
		rc = add_memory(&d);
	if (!rc)
		rc = add_pmus(&d);
	if (!rc)
		rc = add_cpu_counts(&d, &cpus);
	return rc ? rc : add_topology(&d, cpus);
}
