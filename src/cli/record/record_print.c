/* SPDX-License-Identifier: MIT */
/* Messages about a file that has ended. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text_stream.h"
#include "record.h"

#define MAX_NAMED 8 /* most CPUs, threads and events that are listed */

/* Writes "12 on CPU 0, 30 on CPU 1", or "12 in thread 1234" with --per-thread. */
static void put_rings(FILE *to, const struct record *record, const uint64_t *lost)
{
	const struct recorder_rings *rings = &record->rings;
	const bool threads = record->options->per_thread;
	uint64_t others = 0;
	size_t nr = 0;

	for (size_t ring = 0; ring < rings->nr; ring++) {
		struct recorder_ring_source source;

		if (!lost[ring])
			continue;
		if (nr++ >= MAX_NAMED) {
			others += lost[ring];
			continue;
		}
		source = perch__recorder_ring_source(rings, record->files.nr_events, ring);
		fprintf(to, "%s%" PRIu64 " %s %d", nr > 1 ? ", " : "", lost[ring],
			threads ? "in thread" : "on CPU", threads ? source.tid : source.cpu);
	}
	if (others)
		fprintf(to, ", %" PRIu64 " %s %zu other %s", others, threads ? "in" : "on",
			nr - MAX_NAMED, threads ? "threads" : "CPUs");
}

static bool lost_any(const uint64_t *lost, size_t nr_rings)
{
	for (size_t ring = 0; ring < nr_rings; ring++)
		if (lost[ring])
			return true;
	return false;
}

/* name: that of the event; NULL for all events together. */
static void print_event_lost(const struct record *record, const char *name, const uint64_t *lost)
{
	char *text = NULL;
	size_t size;
	FILE *to = perch__open_text(&text, &size);

	if (!to)
		return;
	if (name)
		fprintf(to, "%s: ", name);
	put_rings(to, record, lost);
	if (perch__close_text(to, &text))
		cli_note(RECORD_COMMAND, "lost: %s", text);
	free(text);
}

static void print_lost_by_cpu(const struct record *record)
{
	const struct recorder_lost *lost = &record->lost;
	const uint64_t *records = perch__recorder_lost_records(lost);
	size_t nr = 0;

	for (size_t event = 0; event < lost->nr_events; event++) {
		const uint64_t *row = &lost->in_ring[event * lost->nr_rings];

		if (lost_any(row, lost->nr_rings) && nr++ < MAX_NAMED)
			print_event_lost(record, record->files.events[event].name, row);
	}
	if (nr > MAX_NAMED)
		cli_note(RECORD_COMMAND, "lost: records of %zu other %s", nr - MAX_NAMED,
			 cli_word(nr - MAX_NAMED, "event", "events"));
	if (!lost->counted && lost_any(records, lost->nr_rings))
		print_event_lost(record, NULL, records);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Each thread has periods of its own: many short threads may have no sample together. */
static void print_rare_events(const struct record *record)
{
	const struct rusage *usage = &record->program_usage;
	double seconds = seconds_of(&usage->ru_utime) + seconds_of(&usage->ru_stime);
	char used[64] = "";

	if (record->plan->program_only && record->program_ended && seconds > 0)
		snprintf(used, sizeof(used), " (the program used %.3f s of CPU time)", seconds);
	cli_note(
		RECORD_COMMAND,
		"no samples: in no thread did an event occur as often as its sampling period%s: sample "
		"more often (-F, -c), or choose another event",
		used);
}

static void print_no_samples(const struct record *record)
{
	const struct record_options *options = record->options;
	bool only_overwritten = record->files.only_overwritten;

	/* a file that ended early, or one of several, may have no samples by chance */
	if (options->flag[RECORD_NO_SAMPLES] || record->files.failed || record->err.errnum ||
	    (record_keeps_sideband(options) && !only_overwritten) ||
	    record_plan_excludes_all(record->plan,
				     options)) /* record_print_plan() names the reason */
		return;
	if (only_overwritten || (record->lost.total && !options->overwrite))
		cli_note(
			RECORD_COMMAND,
			"no samples: the rings are smaller than one sample; use larger rings (-m)");
	else if (options->delayed && !record->next_window_time)
		cli_note(RECORD_COMMAND,
			 "no samples: the recording ended before -D enabled the events");
	else if (!record->without_events)
		print_rare_events(record);
}

/* The kernel does not allow a user to see into a program that runs with other rights. */
static void print_removed_events(const struct record *record)
{
	if (record->without_events)
		cli_note(
			RECORD_COMMAND,
			"%sthe kernel removed the events of process %d when it executed a program that "
			"is set-user-ID or set-group-ID, or that this user may not read: record all "
			"CPUs (-a), or record as the user as which it runs",
			record->scan.samples ? "" : "no samples: ", (int)record->without_events);
}

void record_print_warnings(const struct record *record)
{
	const struct recorder_lost *lost = &record->lost;

	if (lost->total && record->options->overwrite)
		cli_note(RECORD_COMMAND,
			 "%" PRIu64
			 " records were lost while the rings were paused for the previous "
			 "file; smaller rings (-m) are paused for less time",
			 lost->total);
	else if (lost->total && record->scan.samples)
		cli_note(RECORD_COMMAND,
			 "%" PRIu64
			 " records were lost because the rings were full: sample less often "
			 "(-F), or use larger rings (-m)",
			 lost->total);
	if (lost->sideband)
		cli_note(RECORD_COMMAND,
			 "%" PRIu64
			 " mappings, names and tasks were lost because their rings were full: "
			 "some addresses will have no symbols",
			 lost->sideband);
	print_lost_by_cpu(record);
	if (record->scan.unwritten_bytes)
		cli_note(RECORD_COMMAND,
			 "%" PRIu64 " %s missing: %.3f MB of records could not be written",
			 record->scan.unwritten_samples,
			 cli_word(record->scan.unwritten_samples, "sample", "samples"),
			 (double)record->scan.unwritten_bytes / 1024 / 1024);
	if (record->scan.throttled)
		cli_note(RECORD_COMMAND,
			 "the kernel throttled sampling %" PRIu64 " %s: sample less often (-F)",
			 record->scan.throttled, cli_word(record->scan.throttled, "time", "times"));
	if (!record->scan.samples)
		print_no_samples(record);
	print_removed_events(record);
}

/* If the build id cache is filled, the files with samples that are missing there have a message. */
void record_print_missing(const struct record *record)
{
	const struct recorder_ids *ids = &record->scan.ids;
	size_t nr = perch__recorder_ids_missing(ids);
	char path[PATH_MAX];

	if (!nr || !record->scan.samples || record_fills_cache(record->options))
		return;
	perch_clean_text(ids->missing, path, sizeof(path));
	cli_note(RECORD_COMMAND,
		 "%zu mapped %s could not be opened before the process ended, and will have no "
		 "names; %s%s",
		 nr, cli_word(nr, "file", "files"), nr > 1 ? "one is " : "", path);
}

void record_print_samples(const struct record *record, uint64_t overwritten)
{
	const char *since = record->files.nr > 1 ? "the last file" : "the start";
	uint64_t samples = record->scan.samples;
	uint64_t bytes = overwritten - record->files.overwritten;

	if (record->options->overwrite && !bytes)
		cli_note(RECORD_COMMAND, "%" PRIu64 " %s; none were overwritten since %s", samples,
			 cli_word(samples, "sample", "samples"), since);
	else if (record->options->overwrite)
		cli_note(RECORD_COMMAND,
			 "%" PRIu64 " %s, the newest; %.3f MB of older ones were overwritten "
			 "since %s",
			 samples, cli_word(samples, "sample", "samples"),
			 (double)bytes / 1024 / 1024, since);
	else
		cli_note(RECORD_COMMAND, "%" PRIu64 " %s", samples,
			 cli_word(samples, "sample", "samples"));
	if (record->sideband.dropped)
		cli_note(RECORD_COMMAND,
			 "the file lacks %" PRIu64
			 " earlier mappings, names and tasks: the limit of "
			 "%u MB was exceeded",
			 record->sideband.dropped, RECORDER_SIDEBAND_BYTES >> 20);
}

void record_print_file(const struct record *record)
{
	const char *path = record->files.last;
	struct stat status = { 0 };

	if (!path)
		return;
	if (record_to_pipe(record->options)) {
		fprintf(stderr,
			"[ perch record: Captured and wrote %" PRIu64 " %s to standard output ]\n",
			record->scan.samples, cli_word(record->scan.samples, "sample", "samples"));
		return;
	}
	stat(path, &status);
	fputs("[ perch record: Captured and wrote ", stderr);
	fprintf(stderr, "%.3f MB ", status.st_size / 1024.0 / 1024.0);
	cli_put_clean(stderr, path);
	fprintf(stderr, " (%" PRIu64 " samples) ]\n", record->scan.samples);
}
