/* SPDX-License-Identifier: MIT */
/* Messages about a file that has ended. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <perch/metrics.h>

#include "base/kernel/dummy_event.h"
#include "base/text_stream.h"
#include "record.h"

#define LEAST_EXPECTED 50   /* samples: a smaller number varies too much */
#define FEW	       0.75 /* of the expected samples */
#define MOST_RATE      1e5  /* the kernel sets no timer to less than 10 us */
#define MAX_NAMED      8    /* most CPUs, threads and events that are listed */

/* The CPU of a ring; with --per-thread cpu is -1 and tid its thread. */
struct event_source {
	int cpu;
	pid_t tid;
};

static struct event_source source_of(const struct perch_sampler *sampler, size_t nr_events,
				     size_t ring)
{
	struct event_source source;
	size_t found;

	for (size_t event = 0; event < nr_events; event++)
		for (size_t id = 0;
		     !perch_sampler_id_info(sampler, event, id, &source.cpu, &source.tid, &found);
		     id++)
			if (found == ring)
				return source;
	return (struct event_source){ -1, -1 };
}

/* Writes "12 on CPU 0, 30 on CPU 1", or "12 in thread 1234" with --per-thread. */
static void put_rings(FILE *to, const struct record *record, size_t nr_events, size_t event)
{
	const bool threads = record->options->per_thread;
	const size_t nr_rings = perch_sampler_rings(record->sampler);
	uint64_t others = 0;
	size_t nr = 0;

	for (size_t ring = 0; ring < nr_rings; ring++) {
		uint64_t lost = perch_recorder_lost(record->recorder, event, ring);
		struct event_source source;

		if (!lost)
			continue;
		if (nr++ >= MAX_NAMED) {
			others += lost;
			continue;
		}
		source = source_of(record->sampler, nr_events, ring);
		fprintf(to, "%s%" PRIu64 " %s %d", nr > 1 ? ", " : "", lost,
			threads ? "in thread" : "on CPU", threads ? source.tid : source.cpu);
	}
	if (others)
		fprintf(to, ", %" PRIu64 " %s %zu other %s", others, threads ? "in" : "on",
			nr - MAX_NAMED, threads ? "threads" : "CPUs");
}

static bool lost_any(const struct record *record, size_t event)
{
	for (size_t ring = 0; ring < perch_sampler_rings(record->sampler); ring++)
		if (perch_recorder_lost(record->recorder, event, ring))
			return true;
	return false;
}

/* name: that of the event; NULL for all events together. */
static void print_event_lost(const struct record *record, const char *name, size_t nr_events,
			     size_t event)
{
	char *text = NULL;
	size_t size;
	FILE *to = perch__open_text(&text, &size);

	if (!to)
		return;
	if (name)
		fprintf(to, "%s: ", name);
	put_rings(to, record, nr_events, event);
	if (perch__close_text(to, &text))
		cli_note(record->options->command, "lost: %s", text);
	free(text);
}

static void print_lost_by_cpu(const struct record *record)
{
	const struct perch_file_event *events;
	size_t nr_events = perch_recorder_events(record->recorder, &events), nr = 0;

	for (size_t event = 0; event < nr_events; event++)
		if (lost_any(record, event) && nr++ < MAX_NAMED)
			print_event_lost(record, events[event].name, nr_events, event);
	if (nr > MAX_NAMED)
		cli_note(record->options->command, "lost: records of %zu other %s", nr - MAX_NAMED,
			 cli_word(nr - MAX_NAMED, "event", "events"));
	if (lost_any(record, SIZE_MAX))
		print_event_lost(record, NULL, nr_events, SIZE_MAX);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Cycles, also those of one of several PMUs, whose number is in the upper bits. */
static bool is_cycles(const struct perch_attr *attr)
{
	uint32_t event = (uint32_t)attr->config;

	return attr->type == PERCH_TYPE_HARDWARE &&
	       (event == PERCH_COUNT_HW_CPU_CYCLES || event == PERCH_COUNT_HW_REF_CPU_CYCLES);
}

/* Samples per second of CPU time that an attr asks for; 0 if it does not ask for a rate, or if the
 * event may be seldom while a program runs. */
static double rate_of(const struct perch_attr *attr)
{
	bool clock = perch_metric_is_clock(attr);
	double rate = 0;

	if (attr->freq)
		rate = clock || is_cycles(attr) ? (double)attr->sample_freq : 0;
	else if (clock && attr->sample_period)
		rate = 1e9 / (double)attr->sample_period;
	return clock && rate > MOST_RATE ? MOST_RATE : rate;
}

/* The CPU time that samples were taken from: of the program, of the CPUs, or of one thread. */
static double sampled_seconds(const struct record *record, const struct perch_recording_cost *cost)
{
	const struct rusage *usage = &record->program_usage;

	if (record->plan->program_only && !record->plan->descendants && record->program_ended)
		return seconds_of(&usage->ru_utime) + seconds_of(&usage->ru_stime);
	return (double)cost->elapsed_ns / 1e9 * (double)(cost->cpus ? cost->cpus : 1);
}

/* The CPU time that samples took. */
static double sampling_seconds(const struct perch_recording_cost *cost)
{
	return (double)cost->samples * (double)cost->sample_ns / 1e9;
}

static bool is_costly(const struct record *record)
{
	struct perch_recording_cost cost;

	perch_recorder_get_cost(record->recorder, &cost);
	return sampling_seconds(&cost) > RECORD_NOTED_SHARE * sampled_seconds(record, &cost);
}

/*
 * The samples that one event should have had, by the CPU time of the program and of its children
 * that it has waited for; 0 if that is not known, or if they have other reasons to be few.
 */
static double expected_samples(const struct record *record,
			       const struct perch_recorder_stats *stats)
{
	const struct record_options *options = record->options;
	const struct record_plan *plan = record->plan;
	const struct rusage *usage = &record->program_usage;
	const struct perch_file_event *event;

	perch_recorder_events(record->recorder, &event);
	if (!plan->program_only || !record->program_ended || plan->events.nr != 1 ||
	    plan->cpus.nr || plan->descendants || options->delayed || options->no_inherit ||
	    record_is_part(options) || record->failed || record->without_events || stats->throttled)
		return 0;
	return rate_of(&event->attr) *
	       ((event->attr.exclude_user ? 0 : seconds_of(&usage->ru_utime)) +
		(event->attr.exclude_kernel ? 0 : seconds_of(&usage->ru_stime)));
}

/*
 * Each thread has a period of its own, which begins with it: threads that end before their first
 * period have no samples, and a program of many short processes has almost none. Returns true if
 * that was so.
 */
static bool print_few_samples(const struct record *record, const struct perch_recorder_stats *stats)
{
	struct perch_machine *machine = record->options->events.machine;
	const bool may_all = record_may_record_cpus(machine), more = !is_costly(record);
	double expected = expected_samples(record, stats);
	const struct perch_file_event *event;

	perch_recorder_events(record->recorder, &event);
	if (expected < LEAST_EXPECTED || (double)(stats->samples + stats->lost) > FEW * expected)
		return false;
	cli_note(
		record->options->command,
		"%" PRIu64
		" %s, where the CPU time of the program should have %.0f: threads and processes that "
		"end within a period (%.4g ms) have none, because each has a timer of its own; "
		"%s%s%s",
		stats->samples, cli_word(stats->samples, "sample", "samples"), expected,
		1e3 / rate_of(&event->attr), more ? "sample more often (-F), or " : "",
		may_all ? "sample by CPU (perch record --descendants ...)" : "record all CPUs (-a)",
		may_all ? ""
			: " as a user who may (kernel.perf_event_paranoid <= 0, or CAP_PERFMON)");
	return true;
}

/* True if every event has a sample each time that it occurs, as tracepoints. */
static bool samples_each_time(const struct record *record)
{
	const struct perch_file_event *event;
	size_t nr = perch_recorder_events(record->recorder, &event);

	while (nr && (perch__is_dummy(&event[nr - 1].attr) ||
		      (!event[nr - 1].attr.freq && event[nr - 1].attr.sample_period == 1)))
		nr--;
	return !nr;
}

static bool has_filter(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].filter)
			return true;
	return false;
}

/* Many short threads may have no sample together. */
static void print_rare_events(const struct record *record)
{
	const struct record_plan *plan = record->plan;
	const struct rusage *usage = &record->program_usage;
	double seconds = seconds_of(&usage->ru_utime) + seconds_of(&usage->ru_stime);
	const bool by_cpu = !plan->system_wide && plan->program_only &&
			    record_may_record_cpus(record->options->events.machine);
	char used[64] = "";

	if (plan->program_only && record->program_ended && seconds > 0)
		snprintf(used, sizeof(used), " (the program used %.3f s of CPU time)", seconds);
	if (samples_each_time(record)) {
		cli_note(record->options->command, "no samples: %s%s",
			 has_filter(&plan->events) ? "no event passed its filter"
			 : plan->events.nr == 1	   ? "the event did not occur"
						   : "the events did not occur",
			 used);
		return;
	}
	cli_note(record->options->command,
		 "no samples: %s did an event occur as often as its sampling period%s: sample "
		 "more often (-F, -c),%s or choose another event",
		 plan->system_wide && !plan->descendants ? "on no CPU" : "in no thread", used,
		 by_cpu ? " or by CPU (--descendants)," : "");
}

static void print_no_samples(const struct record *record, uint64_t lost)
{
	const struct record_options *options = record->options;
	bool only_overwritten = record->only_overwritten;

	/* a file that ended early, or one of several, may have no samples by chance */
	if (options->flag[RECORD_NO_SAMPLES] || record->failed || record->err.errnum ||
	    (record_is_part(options) && !only_overwritten) ||
	    /* record_print_plan() names these reasons */
	    record_plan_excludes_all(record->plan, options) || record_never_enables(options))
		return;
	if (only_overwritten || (lost && !options->overwrite))
		cli_note(
			record->options->command,
			"no samples: the rings are smaller than one sample; use larger rings (-m)");
	else if (options->delayed && !record->next_window_time)
		cli_note(record->options->command,
			 "no samples: the recording ended before %s enabled the events",
			 options->control ? "a command of --control or -D" : "-D");
	else if (!record->without_events)
		print_rare_events(record);
}

/* The kernel does not allow a user to see into a program that runs with other rights. */
static void print_removed_events(const struct record *record, uint64_t samples)
{
	if (record->without_events)
		cli_note(
			record->options->command,
			"%sthe kernel removed the events of process %d when it executed a program that "
			"is set-user-ID or set-group-ID, or that this user may not read: record all "
			"CPUs (-a), or record as the user as which it runs",
			samples ? "" : "no samples: ", (int)record->without_events);
}

static void print_throttled(const struct record *record, uint64_t times)
{
	char limit[64] = "";
	long rate;

	if (!perch_machine_sysctl(record->options->events.machine, PERCH_SYSCTL_MAX_SAMPLE_RATE,
				  &rate, NULL))
		snprintf(limit, sizeof(limit), " (%s, currently %ld)",
			 perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE), rate);
	cli_note(record->options->command,
		 "the kernel throttled sampling %" PRIu64
		 " %s: it takes no samples until the next tick of a CPU that had more than its "
		 "limit allows%s; sample less often (-F)",
		 times, cli_word(times, "time", "times"), limit);
}

/* Prints what samples and the recorder took, if it is much. */
static void print_cost(const struct record *record)
{
	const double noted = record->options->verbose ? 0 : RECORD_NOTED_SHARE;
	const double least = record->options->verbose ? 0 : 0.01; /* seconds */
	struct perch_recording_cost cost;
	double sampling, recorder, all;

	perch_recorder_get_cost(record->recorder, &cost);
	sampling = sampling_seconds(&cost);
	recorder = (double)cost.recorder_ns / 1e9;
	all = sampled_seconds(record, &cost);
	if (sampling > noted * all && sampling > least)
		cli_note(record->options->command,
			 "sampling took %.3f s of %.3f s of CPU time: %" PRIu64
			 " samples of %.0f us; "
			 "sample less often (-F) to disturb less",
			 sampling, all, cost.samples, (double)cost.sample_ns / 1e3);
	if (recorder > noted * (double)cost.elapsed_ns / 1e9 && recorder > least)
		cli_note(record->options->command,
			 "the recorder itself took %.3f s of CPU time in %.3f s", recorder,
			 (double)cost.elapsed_ns / 1e9);
}

void record_print_off_cpu_rights(const struct record *record)
{
	struct perch_recorder_off_cpu off;

	perch_recorder_get_off_cpu(record->recorder, &off);
	if (record->options->off_cpu && !record->options->quiet && !off.stacks)
		cli_note(record->options->command,
			 "off-CPU time will have threads, but no call chains: they need %s <= 1, "
			 "or CAP_PERFMON",
			 perch_sysctl_name(PERCH_SYSCTL_PARANOID));
}

/* What a file has of the off-CPU time: the recorder adds up that of all files. */
static struct perch_recorder_off_cpu off_cpu_of_file(struct record *record)
{
	struct perch_recorder_off_cpu now, *before = &record->off_cpu_before, off;

	perch_recorder_get_off_cpu(record->recorder, &now);
	off = now;
	off.intervals -= before->intervals;
	off.ns -= before->ns;
	off.summed -= before->summed;
	off.summed_ns -= before->summed_ns;
	off.uncertain -= before->uncertain;
	off.uncertain_ns -= before->uncertain_ns;
	off.lost -= before->lost;
	off.dropped -= before->dropped;
	off.dropped_ns -= before->dropped_ns;
	*before = now;
	return off;
}

static void print_off_cpu(struct record *record)
{
	const struct record_options *options = record->options;
	const struct perch_recorder_off_cpu off = off_cpu_of_file(record);

	if (!options->off_cpu)
		return;
	cli_note(options->command,
		 "off-CPU time: %.6f s in %" PRIu64 " %s%s, %.6f s of it in sums of %" PRIu64
		 " that are short",
		 (double)off.ns / 1e9, off.intervals,
		 cli_word(off.intervals, "interval", "intervals"),
		 off.stacks ? "" : " (no call chains)", (double)off.summed_ns / 1e9, off.summed);
	if (off.hidden_waits)
		cli_note(options->command,
			 "%" PRIu64 " %s waited already at the start: its call chain is in "
			 "/proc/TID/stack, which needs CAP_SYS_ADMIN",
			 off.hidden_waits, cli_word(off.hidden_waits, "thread", "threads"));
	if (off.uncertain)
		cli_note(options->command,
			 "the off-CPU time is without %" PRIu64 " %s, %.6f s in all: switches "
			 "are missing in between (%" PRIu64
			 " records were lost); use larger rings (-m)",
			 off.uncertain, cli_word(off.uncertain, "interval", "intervals"),
			 (double)off.uncertain_ns / 1e9, off.lost);
	else if (off.lost)
		cli_note(options->command,
			 "%" PRIu64 " records of switches were lost: the off-CPU time lacks "
			 "intervals; use larger rings (-m)",
			 off.lost);
	if (off.dropped)
		cli_note(options->command,
			 "the off-CPU time is without %" PRIu64
			 " %s, %.6f s in all: memory was short",
			 off.dropped, cli_word(off.dropped, "interval", "intervals"),
			 (double)off.dropped_ns / 1e9);
}

/* The kernel drops records while a ring is full, so the recorder never delays the program. */
static void print_full_rings(const struct record *record, const struct perch_recorder_stats *stats)
{
	double all = (double)(stats->lost + stats->samples);

	cli_note(record->options->command,
		 "%" PRIu64
		 " records were lost because the rings were full (%.1f %%): sample less often "
		 "(-F)%s%s, or use larger rings (-m)",
		 stats->lost, 100 * (double)stats->lost / all,
		 record->plan->events.nr > 1 ? ", record fewer events" : "",
		 record->options->compression_level ? ", do not compress (-z)" : "");
}

void record_print_warnings(struct record *record)
{
	struct perch_recorder_stats stats;

	perch_recorder_get_stats(record->recorder, &stats);
	if (stats.lost && record->options->overwrite)
		cli_note(record->options->command,
			 "%" PRIu64
			 " records were lost while the rings were paused for the previous "
			 "file; smaller rings (-m) are paused for less time",
			 stats.lost);
	else if (stats.lost && stats.samples)
		print_full_rings(record, &stats);
	if (stats.lost_sideband)
		cli_note(record->options->command,
			 "%" PRIu64
			 " mappings, names and tasks were lost because their rings were full: "
			 "some addresses will have no symbols",
			 stats.lost_sideband);
	print_lost_by_cpu(record);
	if (stats.unwritten_bytes)
		cli_note(record->options->command,
			 "%" PRIu64 " %s missing: %.3f MB of records could not be written",
			 stats.unwritten_samples,
			 cli_word(stats.unwritten_samples, "sample", "samples"),
			 (double)stats.unwritten_bytes / 1024 / 1024);
	if (stats.throttled)
		print_throttled(record, stats.throttled);
	print_cost(record);
	if (!print_few_samples(record, &stats) && !stats.samples)
		print_no_samples(record, stats.lost);
	print_removed_events(record, stats.samples);
	print_off_cpu(record);
}

/* Prints how many processes have mappings that this user may not read. pid: one of them. A security
 * module or another user namespace can refuse them despite CAP_SYS_PTRACE. */
static void print_denied(const struct record_options *options, uint64_t denied, uint64_t pid)
{
	uint64_t effective = 0;

	if (!denied || options->quiet)
		return;
	perch_machine_capabilities(options->events.machine, &effective, NULL);
	cli_note(options->command,
		 "processes whose mappings this user may not read: %" PRIu64 " (%sprocess %" PRIu64
		 "); their addresses will have no symbols%s",
		 denied, denied > 1 ? "one is " : "", pid,
		 effective >> PERCH_CAP_SYS_PTRACE & 1
			 ? "; a security module or another user namespace may refuse them"
			 : " (CAP_SYS_PTRACE allows it)");
}

void record_print_lacking(const struct perch_recorder *recorder,
			  const struct record_options *options)
{
	static const char *const consequences[] = {
		[PERCH_RECORDER_CGROUPS] = "the file lacks names of cgroups",
		[PERCH_RECORDER_KERNEL] = "some kernel addresses will have no symbols",
		[PERCH_RECORDER_BPF] = "BPF programs will have no names",
		[PERCH_RECORDER_NAMESPACES] = "the file lacks the namespaces of the program",
		[PERCH_RECORDER_PROCESSES] = "some addresses will have no symbols",
	};
	struct perch_recorder_stats stats;

	perch_recorder_get_stats(recorder, &stats);
	print_denied(options, stats.denied, stats.denied_pid);
	for (size_t part = 0; part < CLI_NR(consequences) && !options->quiet; part++) {
		const struct perch_error *err = perch_recorder_lacks(recorder, part);

		if (err)
			cli_note(options->command, "%s: %s%s%s", consequences[part], err->message,
				 err->remedy[0] ? "; " : "", err->remedy);
	}
}

/* If the build id cache is filled, the files with samples that are missing there have a message. */
void record_print_missing(const struct record *record)
{
	struct perch_recorder_stats stats;
	char path[PATH_MAX];

	perch_recorder_get_stats(record->recorder, &stats);
	if (!stats.missing_files || !stats.samples || record_fills_cache(record->options))
		return;
	perch_clean_text(stats.missing_path, path, sizeof(path));
	cli_note(record->options->command,
		 "%" PRIu64 " mapped %s could not be opened before the process ended, and will "
		 "have no names; %s%s",
		 stats.missing_files, cli_word(stats.missing_files, "file", "files"),
		 stats.missing_files > 1 ? "one is " : "", path);
}

void record_print_samples(const struct record *record)
{
	struct perch_recorder_stats stats;
	const char *since;

	perch_recorder_get_stats(record->recorder, &stats);
	since = stats.files > 1 ? "the last file" : "the start";
	if (record->options->overwrite && !stats.overwritten)
		cli_note(record->options->command, "%" PRIu64 " %s; none were overwritten since %s",
			 stats.samples, cli_word(stats.samples, "sample", "samples"), since);
	else if (record->options->overwrite)
		cli_note(record->options->command,
			 "%" PRIu64 " %s, the newest; %.3f MB of older ones were overwritten "
			 "since %s",
			 stats.samples, cli_word(stats.samples, "sample", "samples"),
			 (double)stats.overwritten / 1024 / 1024, since);
	else
		cli_note(record->options->command, "%" PRIu64 " %s", stats.samples,
			 cli_word(stats.samples, "sample", "samples"));
	if (stats.dropped_sideband)
		cli_note(record->options->command,
			 "the file lacks %" PRIu64
			 " earlier mappings, names and tasks: the limit of 64 MB was exceeded",
			 stats.dropped_sideband);
}

void record_print_dump(const struct record *record)
{
	struct perch_recorder_stats stats;

	perch_recorder_get_stats(record->recorder, &stats);
	fputs("[ perch record: Dump ", stderr);
	cli_put_clean(stderr, stats.path);
	fputs(" ]\n", stderr);
}

/* Of a directory, its files. */
static uint64_t size_of(const char *path)
{
	struct stat status = { 0 };
	uint64_t size = 0;
	char part[PATH_MAX];

	if (stat(path, &status) || !S_ISDIR(status.st_mode))
		return (uint64_t)status.st_size;
	snprintf(part, sizeof(part), "%s/data", path);
	for (size_t i = 0; !stat(part, &status); i++) {
		size += (uint64_t)status.st_size;
		snprintf(part, sizeof(part), "%s/data.%zu", path, i);
	}
	return size;
}

/* As perf does. The file has sections that are not compressed. */
static void print_ratio(const struct perch_recorder_stats *stats, uint64_t size)
{
	if (size)
		fprintf(stderr, ", compressed (original %.3f MB, ratio is %.3f)",
			(double)stats->record_bytes / 1024 / 1024,
			(double)stats->record_bytes / (double)size);
}

void record_print_file(const struct record *record)
{
	struct perch_recorder_stats stats;
	uint64_t size;

	perch_recorder_get_stats(record->recorder, &stats);
	if (record_to_pipe(record->options)) {
		fprintf(stderr,
			"[ perch record: Captured and wrote %" PRIu64 " %s to standard output ]\n",
			stats.samples, cli_word(stats.samples, "sample", "samples"));
		return;
	}
	if (!stats.path)
		return;
	size = size_of(stats.path);
	fputs("[ perch record: Captured and wrote ", stderr);
	fprintf(stderr, "%.3f MB ", (double)size / 1024 / 1024);
	cli_put_clean(stderr, stats.path);
	if (record->options->compression_level)
		print_ratio(&stats, size);
	fprintf(stderr, " (%" PRIu64 " samples) ]\n", stats.samples);
}
