/* SPDX-License-Identifier: MIT */
/* Prints the header features in the lines of `perf report --header-only`. */
#include <inttypes.h>
#include <limits.h>
#include "print.h"

static void print_cpus(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t available, online;

	(void)reader;
	if (perch__take_u32(&view, &available) && perch__take_u32(&view, &online))
		fprintf(stream, "# nrcpus online : %u\n# nrcpus avail : %u\n", online, available);
}

static void print_memory(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint64_t kb;

	(void)reader;
	if (perch__take_u64(&view, &kb))
		fprintf(stream, "# total memory : %" PRIu64 " kB\n", kb);
}

/* As in perf, a backslash precedes each single quote, and a space follows each argument. */
static void print_command_line(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	(void)view;
	fputs("# cmdline : ", stream);
	for (size_t i = 0; i < reader->nr_arguments; i++) {
		char clean[4096];

		perch_clean_text(reader->arguments[i], clean, sizeof(clean));
		for (const char *c = clean; *c; c++) {
			if (*c == '\'')
				fputc('\\', stream);
			fputc(*c, stream);
		}
		fputc(' ', stream);
	}
	fputc('\n', stream);
}

static void print_events(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	(void)view;
	for (size_t i = 0; i < reader->nr_events; i++) {
		const struct perch_file_event *event = &reader->events[i];
		struct perch_attr_text text;

		fputs("# event : name = ", stream);
		print_text(stream, event->name);
		fputs(", ", stream);
		for (size_t k = 0; k < event->nr_ids; k++)
			fprintf(stream, "%s %" PRIu64, k ? "," : ", id = {", event->ids[k]);
		if (event->nr_ids)
			fputs(" }", stream);
		for (size_t at = 0; perch_attr_next_text(&event->attr, &at, &text);)
			fprintf(stream, ", %s = %s", text.label, text.value);
		fputc('\n', stream);
	}
}

static void print_pmus(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t nr, type;

	(void)reader;
	if (!perch__take_u32(&view, &nr) || !nr) {
		fputs("# pmu mappings: not available\n", stream);
		return;
	}
	fputs("# pmu mappings: ", stream);
	for (uint32_t i = 0; i < nr && perch__take_u32(&view, &type); i++) {
		if (i)
			fputs(", ", stream);
		if (!print_string(stream, &view))
			break;
		fprintf(stream, " = %u", type);
	}
	fputc('\n', stream);
}

static void print_groups(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t nr, leader, members;
	const char *name;
	size_t length;

	if (!perch__take_u32(&view, &nr))
		return;
	while (nr-- && perch__take_text(&view, &name, &length) && perch__take_u32(&view, &leader) &&
	       perch__take_u32(&view, &members)) {
		if (members < 2 || leader >= reader->nr_events ||
		    members > reader->nr_events - leader)
			continue;
		fputs("# group: ", stream);
		/* perf writes {anon_group} for a group without a name */
		if (length && *name != '{')
			print_bytes(stream, name, length);
		for (uint32_t i = 0; i < members; i++) {
			fputs(i ? "," : "{", stream);
			print_text(stream, reader->events[leader + i].name);
		}
		fputs("}\n", stream);
	}
}

static void print_time(FILE *stream, const char *which, uint64_t ns)
{
	fprintf(stream, "# time of %s sample : %" PRIu64 ".%06" PRIu64 "\n", which, ns / 1000000000,
		ns % 1000000000 / 1000);
}

static void print_sample_time(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint64_t first, last;

	(void)reader;
	if (!perch__take_u64(&view, &first) || !perch__take_u64(&view, &last))
		return;
	print_time(stream, "first", first);
	print_time(stream, "last", last);
	fprintf(stream, "# sample duration : %10.3f ms\n", (double)(last - first) / 1e6);
}

static const char *clock_name(uint32_t clock)
{
	static const char *const names[] = {
		[CLOCK_REALTIME] = "realtime",
		[CLOCK_MONOTONIC] = "monotonic",
		[CLOCK_PROCESS_CPUTIME_ID] = "process_cputime_id",
		[CLOCK_THREAD_CPUTIME_ID] = "thread_cputime_id",
		[CLOCK_MONOTONIC_RAW] = "monotonic_raw",
		[CLOCK_REALTIME_COARSE] = "realtime_coarse",
		[CLOCK_MONOTONIC_COARSE] = "monotonic_coarse",
		[CLOCK_BOOTTIME] = "boottime",
		[CLOCK_TAI] = "tai",
	};

	if (clock == UINT32_MAX)
		return "default"; /* that of samples without a clock: the recorder's name of it */
	return clock < PERCH__NR(names) && names[clock] ? names[clock] : "(not found)";
}

static void print_clock_resolution(struct perch_reader *reader, FILE *stream,
				   struct perch__view view)
{
	uint64_t ns;

	(void)reader;
	if (perch__take_u64(&view, &ns))
		fprintf(stream, "# clockid frequency: %" PRIu64 " MHz\n", ns ? 1000 / ns : 0);
}

/* u32 version, u32 clock; then one point in time by the time of day and by that clock. */
static void print_clock(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t version, clock;
	uint64_t day, clock_ns;
	char text[64] = "";
	struct tm broken_down;
	time_t seconds;

	(void)reader;
	if (!perch__take_u32(&view, &version) || !perch__take_u32(&view, &clock) ||
	    !perch__take_u64(&view, &day) || !perch__take_u64(&view, &clock_ns))
		return;
	seconds = day / 1000000000;
	if (localtime_r(&seconds, &broken_down))
		strftime(text, sizeof(text), "%F %T", &broken_down);
	fprintf(stream, "# clockid: %s (%u)\n", clock_name(clock), clock);
	fprintf(stream,
		"# reference time: %s.%06" PRIu64 " = %" PRIu64 ".%06" PRIu64 " (TOD) = %" PRIu64
		".%09" PRIu64 " (%s)\n",
		text, day % 1000000000 / 1000, day / 1000000000, day % 1000000000 / 1000,
		clock_ns / 1000000000, clock_ns % 1000000000, clock_name(clock));
}

static void print_branches(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	(void)reader;
	(void)view;
	fputs("# contains samples with branch stack\n", stream);
}

static void print_auxtrace(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	(void)reader;
	(void)view;
	fputs("# contains AUX area data (e.g. instruction trace)\n", stream);
}

static void print_stat(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	(void)reader;
	(void)view;
	fputs("# contains stat data\n", stream);
}

static void print_directory(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint64_t version;

	(void)reader;
	if (perch__take_u64(&view, &version))
		fprintf(stream, "# directory data version : %" PRIu64 "\n", version);
}

/* u32 version, type, level, ratio, size of the rings */
static void print_compression(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t version, type, level, ratio;

	(void)reader;
	if (perch__take_u32(&view, &version) && perch__take_u32(&view, &type) &&
	    perch__take_u32(&view, &level) && perch__take_u32(&view, &ratio))
		fprintf(stream, "# compressed : %s, level = %u, ratio = %u\n",
			type == 1 ? "Zstd" : "Unknown", level, ratio);
}

/* The name and value of each capability. */
static void print_capabilities(FILE *stream, struct perch__view *view, uint32_t nr)
{
	const char *between = "";

	fputs(nr ? " pmu capabilities: " : " pmu capabilities: not available", stream);
	while (nr--) {
		fputs(between, stream);
		if (!print_string(stream, view))
			break;
		fputc('=', stream);
		if (!print_string(stream, view))
			break;
		between = ", ";
	}
	fputc('\n', stream);
}

static void print_cpu_capabilities(struct perch_reader *reader, FILE *stream,
				   struct perch__view view)
{
	uint32_t nr;

	(void)reader;
	if (!perch__take_u32(&view, &nr))
		return;
	fputs("# cpu", stream);
	print_capabilities(stream, &view, nr);
}

/* The name of the PMU follows its capabilities, so they are skipped first. */
static void print_pmu_capabilities(struct perch_reader *reader, FILE *stream,
				   struct perch__view view)
{
	uint32_t pmus, nr;

	(void)reader;
	if (!perch__take_u32(&view, &pmus))
		return;
	while (pmus-- && perch__take_u32(&view, &nr)) {
		struct perch__view values = view;
		const char *text;
		size_t length;

		for (uint64_t i = 0; i < 2ull * nr; i++) {
			if (!perch__take_text(&view, &text, &length))
				return;
		}
		if (!perch__take_text(&view, &text, &length))
			return;
		fputs("# ", stream);
		print_bytes(stream, text, length);
		print_capabilities(stream, &values, nr);
	}
}

/* u32 ELF machine of the recorded programs, u32 flags */
static void print_elf_machine(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t machine, flags;

	(void)reader;
	if (perch__take_u32(&view, &machine) && perch__take_u32(&view, &flags))
		fprintf(stream, "# e_machine : %u\n#   e_flags : %u\n", machine, flags);
}

static void print_cache_line(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t size;

	(void)reader;
	if (perch__take_u32(&view, &size))
		fprintf(stream, "# cacheline size: %u\n", size);
}

/* struct perch_recording_cost. The share of time is that of all CPUs, or of one thread. */
static void print_cost(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	struct perch_recording_cost cost;
	double seconds, elapsed;

	(void)view;
	if (perch_reader_cost(reader, &cost) < 0)
		return;
	elapsed = (double)cost.elapsed_ns / 1e9;
	fprintf(stream, "# recording cost: recorder %.3f s of CPU time in %.3f s",
		(double)cost.recorder_ns / 1e9, elapsed);
	seconds = (double)cost.sample_ns * (double)cost.samples / 1e9;
	if (cost.sample_ns)
		fprintf(stream, "; %" PRIu64 " samples of %.1f us = %.3f s", cost.samples,
			(double)cost.sample_ns / 1e3, seconds);
	if (cost.sample_ns && cost.cpus && elapsed > 0)
		fprintf(stream, ", %.1f %% of %" PRIu64 " CPUs",
			100 * seconds / elapsed / (double)cost.cpus, cost.cpus);
	fputc('\n', stream);
}

/*
 * Each feature in the order of its bit: its name, and how it is printed. A text feature has a
 * label. A feature without label and function is not printed. Long ones are only announced in
 * the short header.
 */
static const struct {
	const char *name;
	const char *label;
	print_feature *print;
	bool only_announced;
} features[PERCH__FEATURE_BITS] = {
	[PERCH_FEATURE_TRACING_DATA] = { .name = "TRACING_DATA" },
	[PERCH_FEATURE_BUILD_ID] = { .name = "BUILD_ID" },
	[PERCH_FEATURE_HOSTNAME] = { .name = "HOSTNAME", .label = "hostname" },
	[PERCH_FEATURE_OSRELEASE] = { .name = "OSRELEASE", .label = "os release" },
	[PERCH_FEATURE_VERSION] = { .name = "VERSION", .label = "perf version" },
	[PERCH_FEATURE_ARCH] = { .name = "ARCH", .label = "arch" },
	[PERCH_FEATURE_NRCPUS] = { .name = "NRCPUS", .print = print_cpus },
	[PERCH_FEATURE_CPUDESC] = { .name = "CPUDESC", .label = "cpudesc" },
	[PERCH_FEATURE_CPUID] = { .name = "CPUID", .label = "cpuid" },
	[PERCH_FEATURE_TOTAL_MEM] = { .name = "TOTAL_MEM", .print = print_memory },
	[PERCH_FEATURE_CMDLINE] = { .name = "CMDLINE", .print = print_command_line },
	[PERCH_FEATURE_EVENT_DESC] = { .name = "EVENT_DESC", .print = print_events },
	[PERCH_FEATURE_CPU_TOPOLOGY] = { .name = "CPU_TOPOLOGY",
					 .only_announced = true,
					 .print = perch__print_cpu_topology },
	[PERCH_FEATURE_NUMA_TOPOLOGY] = { .name = "NUMA_TOPOLOGY",
					  .only_announced = true,
					  .print = perch__print_numa_nodes },
	[PERCH_FEATURE_BRANCH_STACK] = { .name = "BRANCH_STACK", .print = print_branches },
	[PERCH_FEATURE_PMU_MAPPINGS] = { .name = "PMU_MAPPINGS", .print = print_pmus },
	[PERCH_FEATURE_GROUP_DESC] = { .name = "GROUP_DESC", .print = print_groups },
	[PERCH_FEATURE_AUXTRACE] = { .name = "AUXTRACE", .print = print_auxtrace },
	[PERCH_FEATURE_STAT] = { .name = "STAT", .print = print_stat },
	[PERCH_FEATURE_CACHE] = { .name = "CACHE",
				  .only_announced = true,
				  .print = perch__print_caches },
	[PERCH_FEATURE_SAMPLE_TIME] = { .name = "SAMPLE_TIME", .print = print_sample_time },
	[PERCH_FEATURE_MEM_TOPOLOGY] = { .name = "MEM_TOPOLOGY",
					 .only_announced = true,
					 .print = perch__print_memory_nodes },
	[PERCH_FEATURE_CLOCKID] = { .name = "CLOCKID", .print = print_clock_resolution },
	[PERCH_FEATURE_DIR_FORMAT] = { .name = "DIR_FORMAT", .print = print_directory },
	[PERCH_FEATURE_BPF_PROG_INFO] = { .name = "BPF_PROG_INFO",
					  .print = perch__print_bpf_programs },
	[PERCH_FEATURE_BPF_BTF] = { .name = "BPF_BTF", .print = perch__print_btfs },
	[PERCH_FEATURE_COMPRESSED] = { .name = "COMPRESSED", .print = print_compression },
	[PERCH_FEATURE_CPU_PMU_CAPS] = { .name = "CPU_PMU_CAPS", .print = print_cpu_capabilities },
	[PERCH_FEATURE_CLOCK_DATA] = { .name = "CLOCK_DATA", .print = print_clock },
	[PERCH_FEATURE_HYBRID_TOPOLOGY] = { .name = "HYBRID_TOPOLOGY",
					    .only_announced = true,
					    .print = perch__print_core_pmus },
	[PERCH_FEATURE_PMU_CAPS] = { .name = "PMU_CAPS", .print = print_pmu_capabilities },
	[PERCH_FEATURE_CPU_DOMAIN_INFO] = { .name = "CPU_DOMAIN_INFO", .only_announced = true },
	[PERCH_FEATURE_E_MACHINE] = { .name = "E_MACHINE", .print = print_elf_machine },
	[PERCH_FEATURE_CLN_SIZE] = { .name = "CLN_SIZE", .print = print_cache_line },
	[PERCH_FEATURE_RECORDING_COST] = { .name = "RECORDING_COST", .print = print_cost },
};

const char *perch_feature_name(enum perch_feature feature)
{
	return feature >= 0 && feature < PERCH__FEATURE_BITS ? features[feature].name : NULL;
}

static void print_feature_line(struct perch_reader *reader, FILE *stream, int feature, bool info)
{
	if (features[feature].print && (info || !features[feature].only_announced)) {
		features[feature].print(reader, stream, reader->feature[feature]);
	} else if (features[feature].label && perch_reader_text(reader, feature)) {
		fprintf(stream, "# %s : ", features[feature].label);
		print_text(stream, reader->text[feature]);
		fputc('\n', stream);
	} else if (features[feature].only_announced) {
		fprintf(stream, "# %s info available%s\n", features[feature].name,
			info ? "" : ", use -I to display");
	}
}

static void print_start(struct perch_reader *reader, FILE *stream)
{
	const struct perch__file_header *header = &reader->header;
	struct perch_recording_times times;
	struct tm broken_down;
	char text[64] = "";
	time_t seconds;

	/* perf prints the time of the file, which a copy does not have */
	perch_reader_get_times(reader, &times);
	seconds = times.end ? (time_t)(times.end / 1000000000) : reader->modified.tv_sec;
	if (localtime_r(&seconds, &broken_down))
		strftime(text, sizeof(text), "%a %b %e %T %Y", &broken_down);
	fprintf(stream, "# captured on    : %s\n# header version : 1\n", text);
	if (reader->pipe)
		return;
	fprintf(stream, "# data offset    : %" PRIu64 "\n", header->data.offset);
	fprintf(stream, "# data size      : %" PRIu64 "\n", header->data.size);
	fprintf(stream, "# feat offset    : %" PRIu64 "\n",
		header->data.offset + header->data.size);
}

/* The last feature of perf 6.1. Newer ones are printed if present, but not listed as missing. */
#define LAST_MISSED PERCH_FEATURE_PMU_CAPS

static int print_header(struct perch_reader *reader, FILE *stream, bool info)
{
	bool any_missing = false;

	fputs("# ========\n", stream);
	print_start(reader, stream);
	for (int i = PERCH_FEATURE_TRACING_DATA; i < PERCH__FEATURE_BITS; i++) {
		if (reader->feature[i].at)
			print_feature_line(reader, stream, i, info);
		else
			any_missing |= i <= LAST_MISSED;
	}
	if (any_missing && !reader->pipe) {
		fputs("# missing features: ", stream);
		for (int i = PERCH_FEATURE_TRACING_DATA; i <= LAST_MISSED; i++) {
			if (!reader->feature[i].at)
				fprintf(stream, "%s ", features[i].name);
		}
		fputc('\n', stream);
	}
	fputs("# ========\n#\n", stream);
	return ferror(stream) ? -EIO : 0;
}

int perch_reader_print_header(struct perch_reader *reader, FILE *stream)
{
	return print_header(reader, stream, false);
}

int perch_reader_print_long_header(struct perch_reader *reader, FILE *stream)
{
	return print_header(reader, stream, true);
}
