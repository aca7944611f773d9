/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording: one, several in sequence (--switch-output), or snapshots (--overwrite).
 * Each of several starts with the side-band records before it, so each file is complete. Their
 * names are those of perf: OUTPUT.YYYYMMDDHHMMSSNN, the time of their end to hundredths of a
 * second.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define STEP_NS 10000000 /* the last digit of a name */

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory to record with");
}

int record_gather_events(const struct perch_sampler *sampler, size_t nr,
			 struct perch_file_event **result, size_t *nr_result)
{
	struct perch_file_event *events = calloc(nr + 1, sizeof(*events));
	size_t i;

	if (!events)
		return -ENOMEM;
	for (i = 0; i <= nr; i++) {
		struct perch_file_event *event = &events[i];
		const struct perch_attr *attr =
			perch_sampler_event(sampler, i, &event->name, &event->ids, &event->nr_ids);

		if (!attr)
			break;
		event->attr = *attr;
		events[perch_sampler_leader(sampler, i)].members++;
	}
	*result = events;
	*nr_result = i;
	return 0;
}

/* Sets the positions of times and names in the records of these events. */
static void init_scan(struct recorder_scan *scan, const struct record_files *files)
{
	perch_parse_info_init(&scan->parse_info, &files->events[0].attr, PERCH_BYTES_NATIVE);
	scan->mmap_parse_info = scan->parse_info;
	scan->same_time_word = true;
	for (size_t i = 0; i < files->nr_events; i++) {
		struct perch_parse_info parse_info;

		perch_parse_info_init(&parse_info, &files->events[i].attr, PERCH_BYTES_NATIVE);
		if (files->events[i].attr.mmap)
			scan->mmap_parse_info = parse_info;
		if (parse_info.sample_time_word != scan->parse_info.sample_time_word)
			scan->same_time_word = false;
	}
}

static int make_decoder(struct record_files *files, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(files->nr_events, sizeof(*events));
	int rc;

	if (!events)
		return no_memory(err);
	for (size_t i = 0; i < files->nr_events; i++)
		events[i] = (struct perch_decoder_event){ &files->events[i].attr,
							  files->events[i].ids,
							  files->events[i].nr_ids };
	rc = perch_decoder_new(&files->decoder, events, files->nr_events, PERCH_BYTES_NATIVE, err);
	free(events);
	return rc;
}

int record_prepare_files(struct record *record)
{
	const struct record_options *options = record->options;
	struct record_files *files = &record->files;
	size_t nr_events = record->plan->events.nr;

	if (record_gather_events(record->sampler, nr_events, &files->events, &files->nr_events) < 0)
		return no_memory(&record->err);
	init_scan(&record->scan, files);
	files->names = calloc(options->max_files + 1, sizeof(*files->names));
	if (!files->names ||
	    perch__recorder_lost_init(&record->lost, files->events, files->nr_events,
				      record->rings.nr,
				      options->overwrite ? nr_events : SIZE_MAX) < 0)
		return no_memory(&record->err);
	record->scan.lost = perch__recorder_lost_records(&record->lost);
	record->scan.sideband = record_keeps_sideband(options) ? &record->sideband : NULL;
	return options->overwrite ? make_decoder(files, &record->err) : 0;
}

void record_clear_files(struct record_files *files, const struct record_options *options)
{
	for (size_t i = 0; files->names && i <= options->max_files; i++)
		free(files->names[i]);
	free(files->names);
	free(files->last);
	free(files->events);
	perch_decoder_free(files->decoder);
}

static int open_pipe(struct record *record)
{
	struct record_files *files = &record->files;
	int rc = perch_writer_open_fd(&files->writer, STDOUT_FILENO, files->events,
				      files->nr_events, &record->err);

	return rc < 0 ? rc : record_write_first_features(record, &record->err);
}

/*
 * The first file of a recording is opened while the cache is empty. The cache gets these records in
 * their own order.
 */
int record_open_file(struct record *record, const char *path)
{
	struct iovec piece = { record->sideband.bytes, record->sideband.used };
	struct record_files *files = &record->files;
	int rc;

	perch__recorder_scan_reset(&record->scan);
	if (record_to_pipe(record->options))
		rc = open_pipe(record);
	else
		rc = perch_writer_open(&files->writer, path, files->events, files->nr_events,
				       &record->err);
	if (rc >= 0 && piece.iov_len)
		rc = perch_writer_append(files->writer, &piece, 1, &record->err);
	return rc;
}

/* Writes the sections after the data. Closes the file, also after a failure. */
static int finish_file(struct record *record)
{
	struct perch_error err;
	int rc = record_write_features(record, &record->err);

	/* only the first error is reported */
	if (perch_writer_close(record->files.writer, &err) < 0 && rc >= 0) {
		record->err = err;
		rc = -err.errnum;
	}
	record->files.writer = NULL;
	return rc;
}

/*
 * Makes a file name that does not exist. Two files in one hundredth of a second get different names
 * by a pause. Returns NULL if out of memory.
 */
static char *new_name(const char *output)
{
	struct timespec step = { 0, STEP_NS };
	char *name = NULL;

	do {
		struct timeval now;
		struct tm tm;
		char text[32];

		if (name)
			nanosleep(&step, NULL);
		free(name);
		gettimeofday(&now, NULL);
		localtime_r(&now.tv_sec, &tm);
		strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
		if (asprintf(&name, "%s.%s%02u", output, text,
			     (unsigned)(now.tv_usec / (STEP_NS / 1000))) < 0)
			return NULL;
	} while (!access(name, F_OK));
	return name;
}

/* Counts a file that was written, and with --switch-max-files removes the oldest one. */
static void add_name(struct record_files *files, uint64_t max_files, const char *name)
{
	char **slot = &files->names[max_files ? files->nr % max_files : 0];

	if (max_files && *slot)
		unlink(*slot);
	free(*slot);
	*slot = strdup(name);
	files->nr++;
}

/* Updates the state that depends on overwritten records, and prints the numbers of a file. */
static void report_samples(struct record *record)
{
	struct record_files *files = &record->files;
	uint64_t overwritten =
		record->options->overwrite ? perch__recorder_rings_overwritten(&record->rings) : 0;

	if (!record->options->quiet)
		record_print_samples(record, overwritten);
	files->only_overwritten = !record->scan.samples && overwritten > files->overwritten;
	files->overwritten = overwritten;
}

static void set_last(struct record_files *files, const char *name)
{
	free(files->last);
	files->last = strdup(name);
}

/* Ends the open file and renames it to name. If name is NULL, it keeps its name. */
static int end_file(struct record *record, const char *name)
{
	const char *output = record->options->output, *last = output;
	struct record_files *files = &record->files;
	int rc = 0, finished;

	/* after a failure, writing is not repeated; a snapshot has its records already */
	if (!files->failed && !record->options->overwrite)
		rc = perch__recorder_write_lost(&record->lost, &record->rings, files->writer,
						&record->err);
	finished = finish_file(record);
	perch__recorder_lost_add_records(&record->lost);
	rc = rc < 0 ? rc : finished;
	/* a file that the disk has no space to complete has its records */
	if (name && (rc >= 0 || files->failed) && !rename(output, name))
		last = name;
	else if (name && rc >= 0)
		rc = perch_error_set(&record->err, errno, PERCH_ERROR_FILE,
				     "'%s' cannot be renamed to '%s': %s", output, name,
				     strerror(errno));
	set_last(files, last);
	return rc;
}

static void print_dump(const char *name)
{
	fputs("[ perch record: Dump ", stderr);
	cli_put_clean(stderr, name);
	fputs(" ]\n", stderr);
}

/*
 * An incomplete snapshot is removed, because it takes disk space that the next one needs. A device
 * is not removed.
 */
static void remove_incomplete(const char *path)
{
	struct stat status;

	if (!lstat(path, &status) && S_ISREG(status.st_mode))
		unlink(path);
}

/* Writes the records of the rings since the last complete snapshot, as perf does. */
static int dump_snapshot(struct record *record, const char *path)
{
	struct record_files *files = &record->files;
	int rc = record_open_file(record, path);

	if (rc >= 0)
		rc = perch__recorder_write_lost(&record->lost, &record->rings, files->writer,
						&record->err);
	if (rc >= 0)
		rc = perch__recorder_write_snapshot(&record->rings, &record->scan, files->decoder,
						    files->writer, &record->err);
	if (rc >= 0) {
		rc = end_file(record, NULL);
	} else if (files->writer) {
		struct perch_error first = record->err;

		finish_file(record);
		record->err = first;
	}
	if (rc < 0)
		remove_incomplete(path);
	else
		perch_sampler_snapshot_advance(record->sampler);
	return rc;
}

/* Ends the file, or writes a snapshot, under a name with the time. */
static int end_named(struct record *record)
{
	const struct record_options *options = record->options;
	char *name = new_name(options->output);
	int rc;

	if (!name)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a file name");
	rc = options->overwrite ? dump_snapshot(record, name) : end_file(record, name);
	if (rc >= 0) {
		add_name(&record->files, options->max_files, name);
		if (!options->quiet)
			print_dump(name);
		report_samples(record);
		set_last(&record->files, name);
	}
	free(name);
	return rc < 0 ? rc : 0;
}

int64_t record_ms_since_start(const struct record *record)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - record->start.tv_sec) * 1000 +
	       (now.tv_nsec - record->start.tv_nsec) / 1000000;
}

/*
 * If a snapshot cannot be written, the recording continues: the next one may succeed when the disk
 * has space again. A recording into several files ends, because records would be missing.
 */
int record_switch(struct record *record)
{
	const struct record_options *options = record->options;
	int rc;

	if (!options->quiet)
		fprintf(stderr, "[ perch record: dump data: Woken up %" PRIu64 " times ]\n",
			record->wakeups);
	record->wakeups = 0;
	record->switch_requested = false;
	record->files.start_ms = record_ms_since_start(record);
	rc = end_named(record);
	if (rc >= 0 && !options->quiet)
		record_print_warnings(record);
	if (rc >= 0)
		perch__recorder_lost_next_file(&record->lost);
	if (!options->overwrite)
		return rc < 0 ? rc : record_open_file(record, options->output);
	if (rc < 0) {
		cli_error(RECORD_COMMAND, &record->err);
		record->files.failed = true;
	}
	return 0;
}

bool record_switch_due(const struct record *record, int *sleep_ms)
{
	const struct record_options *options = record->options;
	struct perch_writer *writer = record->files.writer;
	int64_t left;

	if (options->switch_by == RECORD_BY_SIZE && writer &&
	    perch_writer_size(writer) >= record->sideband.used + options->switch_bytes)
		return true;
	if (options->switch_by != RECORD_BY_TIME)
		return record->switch_requested;
	left = record->files.start_ms + (int64_t)options->switch_ms - record_ms_since_start(record);
	if (left > 0 && left < *sleep_ms)
		*sleep_ms = (int)left;
	return record->switch_requested || left <= 0;
}

int record_end_files(struct record *record)
{
	const struct record_options *options = record->options;
	int rc;

	if (!options->overwrite && !record->files.writer)
		return CLI_EXIT_FAILURE;
	if (!options->quiet)
		fprintf(stderr, "[ perch record: Woken up %" PRIu64 " times to write data ]\n",
			record->wakeups);
	if (options->switch_by)
		rc = end_named(record);
	else if (options->overwrite)
		rc = dump_snapshot(record, options->output);
	else
		rc = end_file(record, NULL);
	if (rc < 0 && record->files.failed && !options->overwrite)
		cli_note(RECORD_COMMAND,
			 "the machine, the command line and the build ids could not "
			 "be written either");
	else if (rc < 0)
		cli_error(RECORD_COMMAND, &record->err);
	if (rc < 0 && options->overwrite)
		return CLI_EXIT_FAILURE; /* there is no file to report about */
	if (options->overwrite && !options->switch_by)
		report_samples(record);
	if (!options->quiet) {
		record_print_warnings(record);
		record_print_missing(record);
		record_print_file(record);
	}
	return rc < 0 || record->files.failed ? CLI_EXIT_FAILURE : 0;
}
