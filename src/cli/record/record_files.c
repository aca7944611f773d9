/* SPDX-License-Identifier: MIT */
/*
 * Several files, one after the other (--switch-output), and the file of a flight recorder, which is
 * made when it is asked for. Each begins with what was there before, and so can be read alone.
 * Names are perf's: OUTPUT.YYYYMMDDHHMMSSNN, the moment when the file was ended, to hundredths of a
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

#define COMMAND "record"
#define STEP_NS 10000000 /* the last digit of a name */

/* The sampler's events as files have them. */
static int gather_events(struct record *record)
{
	struct perch_file_event *events = calloc(record->events.nr + 1, sizeof(*events));
	size_t nr;

	if (!events)
		return -ENOMEM;
	for (nr = 0; nr <= record->events.nr; nr++) {
		struct perch_file_event *event = &events[nr];
		const struct perch_attr *attr = perch_sampler_event(
			record->sampler, nr, &event->name, &event->ids, &event->nr_ids);

		if (!attr)
			break;
		event->attr = *attr;
		events[perch_sampler_leader(record->sampler, nr)].members++;
	}
	record->file_events = events;
	record->nr_file_events = nr;
	return 0;
}

/* Where times and names are in the records of this recording. */
static void choose_layouts(struct record *record)
{
	const struct perch_file_event *events = record->file_events;

	perch_parse_info_init(&record->parse_info, &events[0].attr, PERCH_BYTES_NATIVE);
	record->told_layout = record->parse_info;
	record->samples_alike = true;
	for (size_t i = 0; i < record->nr_file_events; i++) {
		struct perch_parse_info parse_info;

		perch_parse_info_init(&parse_info, &events[i].attr, PERCH_BYTES_NATIVE);
		if (events[i].attr.mmap)
			record->told_layout = parse_info;
		if (parse_info.sample_time_word != record->parse_info.sample_time_word)
			record->samples_alike = false;
	}
}

static int make_decoder(struct record *record)
{
	struct perch_decoder_event *events = calloc(record->nr_file_events, sizeof(*events));
	int rc;

	if (!events)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	for (size_t i = 0; i < record->nr_file_events; i++)
		events[i] = (struct perch_decoder_event){ &record->file_events[i].attr,
							  record->file_events[i].ids,
							  record->file_events[i].nr_ids };
	rc = perch_decoder_new(&record->decoder, events, record->nr_file_events, PERCH_BYTES_NATIVE,
			       &record->err);
	free(events);
	return rc;
}

int record_prepare_files(struct record *record)
{
	size_t ids = 0;

	if (gather_events(record) < 0)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	choose_layouts(record);
	for (size_t i = 0; i < record->nr_file_events; i++)
		ids += record->file_events[i].nr_ids;
	record->lost_told = calloc(ids + 1, sizeof(*record->lost_told));
	record->lost_now = calloc(ids + 1, sizeof(*record->lost_now));
	record->lost_at =
		calloc((record->nr_file_events + 1) * record->nr_rings, sizeof(*record->lost_at));
	record->files = calloc(record->max_files + 1, sizeof(*record->files));
	if (!record->lost_told || !record->lost_now || !record->lost_at || !record->files)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	return record->overwrite ? make_decoder(record) : 0;
}

void record_clear_files(struct record *record)
{
	for (size_t i = 0; record->files && i <= record->max_files; i++)
		free(record->files[i]);
	free(record->files);
	free(record->last_file);
	free(record->file_events);
	free(record->lost_told);
	free(record->lost_now);
	free(record->lost_at);
	free(record->side.bytes);
	perch_decoder_free(record->decoder);
}

/* A recording's first file has what is there in its own order; any other one is given what came
 * before. */
int record_open_file(struct record *record, const char *path)
{
	struct iovec piece = { record->side.bytes, record->side.used };
	int rc;

	record->samples = record->throttled = 0;
	record->first_time = record->last_time = 0;
	rc = perch_writer_open(&record->writer, path, record->file_events, record->nr_file_events,
			       &record->err);
	if (rc >= 0 && piece.iov_len)
		rc = perch_writer_append(record->writer, &piece, 1, &record->err);
	return rc;
}

/* A name that nobody has yet. Two in one hundredth of a second are a moment apart. NULL: no memory.
 */
static char *new_name(const struct record *record)
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
		if (asprintf(&name, "%s.%s%02u", record->output, text,
			     (unsigned)(now.tv_usec / (STEP_NS / 1000))) < 0)
			return NULL;
	} while (!access(name, F_OK));
	return name;
}

/* --switch-max-files: of those that were written here, the oldest goes. */
static void remember(struct record *record, const char *name)
{
	char **slot = &record->files[record->max_files ? record->nr_files % record->max_files : 0];

	if (record->max_files && *slot)
		unlink(*slot);
	free(*slot);
	*slot = strdup(name);
	record->nr_files++;
}

static uint64_t overwritten_now(const struct record *record)
{
	uint64_t all = 0;

	for (size_t i = 0; i < record->nr_rings; i++) {
		struct perch_ring_stats stats;

		if (!record->backward[i])
			continue;
		perch_ring_get_stats(perch_sampler_ring(record->sampler, i), &stats);
		all += stats.overwritten;
	}
	return all;
}

/* What a file of several has, and what it has not. */
static void tell_figures(struct record *record)
{
	uint64_t overwritten = record->overwrite ? overwritten_now(record) : 0;
	const char *since = record->nr_files > 1 ? "the last file" : "the start";

	if (!record->quiet && record->overwrite && overwritten == record->overwritten)
		cli_note(COMMAND, "%" PRIu64 " samples; none were written over since %s",
			 record->samples, since);
	else if (!record->quiet && record->overwrite)
		cli_note(COMMAND,
			 "%" PRIu64
			 " samples, the newest; %.3f MB of older ones were written over since %s",
			 record->samples, (double)(overwritten - record->overwritten) / 1024 / 1024,
			 since);
	else if (!record->quiet)
		cli_note(COMMAND, "%" PRIu64 " samples", record->samples);
	record->none_whole = !record->samples && overwritten > record->overwritten;
	record->overwritten = overwritten;
	if (!record->quiet && record->side.forgotten)
		cli_note(
			COMMAND,
			"%" PRIu64
			" mappings, names and tasks of before are not in the file: there were too many",
			record->side.forgotten);
}

/* The end of a file: its features, and the name it keeps. NULL as name: the one that it has. */
static int end_file(struct record *record, const char *from, char *name)
{
	/* what failed may not be tried again */
	int rc = record->failed || record->overwrite ? 0 : record_write_lost(record);
	int finished = record_finish_file(record);

	record_add_lost(record);
	rc = rc < 0 ? rc : finished;
	if (name && from && rc >= 0 && rename(from, name) < 0)
		rc = perch_error_set(&record->err, errno, PERCH_ERROR_FILE,
				     "'%s' cannot be renamed to '%s': %s", from, name,
				     strerror(errno));
	free(record->last_file);
	record->last_file = strdup(name && rc >= 0 ? name : record->output);
	return rc;
}

static void tell_dump(const struct record *record, const char *name)
{
	if (record->quiet)
		return;
	fputs("[ perch record: Dump ", stderr);
	cli_put_clean(stderr, name);
	fputs(" ]\n", stderr);
}

/* The beginning of a file alone, which is in the way of the next one when the disk is full. A
 * device stays. */
static void remove_part(const char *path)
{
	struct stat status;

	if (!lstat(path, &status) && S_ISREG(status.st_mode))
		unlink(path);
}

/* A whole file out of what came into the rings since the last one that was written whole, as perf
 * has it. */
static int dump_snapshot(struct record *record, const char *path)
{
	int rc = record_open_file(record, path);

	if (rc >= 0)
		rc = record_write_lost(record);
	if (rc >= 0)
		rc = record_write_snapshot(record);
	if (rc >= 0) {
		rc = end_file(record, NULL, NULL);
	} else if (record->writer) {
		struct perch_error kept = record->err;

		record_finish_file(record);
		record->err = kept;
	}
	if (rc < 0)
		remove_part(path);
	else
		perch_sampler_snapshot_advance(record->sampler);
	return rc;
}

/* The file so far, or a new one of a flight recorder, under a name with the time. */
static int end_named(struct record *record)
{
	char *name = new_name(record);
	int rc;

	if (!name)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a file's name");
	rc = record->overwrite ? dump_snapshot(record, name)
			       : end_file(record, record->output, name);
	if (rc >= 0) {
		remember(record, name);
		tell_dump(record, name);
		tell_figures(record);
		free(record->last_file);
		record->last_file = name;
		return 0;
	}
	free(name);
	return rc;
}

/*
 * A flight recorder goes on when a file of it could not be written, for the next one may be: the
 * disk is full no more. A recording that is split would have a hole.
 */
int record_switch(struct record *record)
{
	struct timespec now;
	int rc;

	if (!record->quiet)
		fprintf(stderr, "[ perch record: dump data: Woken up %" PRIu64 " times ]\n",
			record->wakeups);
	record->wakeups = 0;
	record->asked = false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	record->switched_ms = (int64_t)(now.tv_sec - record->start.tv_sec) * 1000 +
			      (now.tv_nsec - record->start.tv_nsec) / 1000000;
	rc = end_named(record);
	if (rc >= 0 && !record->quiet)
		record_print_problems(record);
	if (rc >= 0)
		record_save_lost(record);
	if (!record->overwrite)
		return rc < 0 ? rc : record_open_file(record, record->output);
	if (rc < 0) {
		cli_error(COMMAND, &record->err);
		record->failed = true;
	}
	return 0;
}

bool record_switch_due(struct record *record, int *sleep_ms)
{
	struct timespec now;
	int64_t left;

	if (record->switch_by == RECORD_BY_SIZE && record->writer &&
	    perch_writer_size(record->writer) >= record->side.used + record->switch_bytes)
		return true;
	if (record->switch_by != RECORD_BY_TIME)
		return record->asked;
	clock_gettime(CLOCK_MONOTONIC, &now);
	left = record->switched_ms + (int64_t)record->switch_ms -
	       ((int64_t)(now.tv_sec - record->start.tv_sec) * 1000 +
		(now.tv_nsec - record->start.tv_nsec) / 1000000);
	if (left > 0 && left < *sleep_ms)
		*sleep_ms = (int)left;
	return record->asked || left <= 0;
}

int record_end_files(struct record *record)
{
	int rc;

	if (!record->overwrite && !record->writer)
		return CLI_EXIT_FAILURE;
	if (!record->quiet)
		fprintf(stderr, "[ perch record: Woken up %" PRIu64 " times to write data ]\n",
			record->wakeups);
	if (record->switch_by)
		rc = end_named(record);
	else if (record->overwrite)
		rc = dump_snapshot(record, record->output);
	else
		rc = end_file(record, NULL, NULL);
	if (rc < 0)
		cli_error(COMMAND, &record->err);
	if (rc < 0 && record->overwrite)
		return CLI_EXIT_FAILURE; /* there is no file that figures could be about */
	if (record->overwrite && !record->switch_by)
		tell_figures(record);
	if (!record->quiet)
		record_print_problems(record);
	if (!record->quiet && record->last_file)
		record_print_file(record, record->last_file);
	return rc < 0 || record->failed ? CLI_EXIT_FAILURE : 0;
}
