/* SPDX-License-Identifier: MIT */
/*
 * perch stat record: a file with the counts of each interval, or of the end, in perf's format.
 *
 *	EVENT_UPDATE	unit, scale and CPUs of each event
 *	THREAD_MAP	what is counted: a thread of STAT is its index here
 *	CPU_MAP
 *	STAT_CONFIG	how the counts are added up
 *	STAT		an event's count on a target, up to here
 *	STAT_ROUND	the counts before it are complete
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/file.h>

#include "base/no_memory.h"
#include "stat.h"
#include "stat_file.h"

#define MOST_ENTRIES ((UINT16_MAX - 32) / sizeof(struct stat_thread)) /* of a record */

static const struct stat_part *recorded_part(const struct stat_job *stat)
{
	return &stat->part[0]; /* cgroups are refused, so there is one */
}

static bool counts_cpus(const struct stat_job *stat)
{
	return recorded_part(stat)->targets.target[0].cpu >= 0;
}

/* perf needs an id for each count, but takes any: they are numbers from 1 on. */
static uint64_t id_of(const struct stat_job *stat, size_t event, size_t target)
{
	return 1 + event * recorded_part(stat)->targets.nr + target;
}

/* Appends a record: its body, and zeros up to a multiple of 8 bytes. */
static int append_record(struct stat_job *stat, uint32_t type, const void *body, size_t size,
			 struct perch_error *err)
{
	static const char zeros[8];
	size_t padding = -size % 8;
	struct perch_record_header header = {
		.type = type,
		.size = (uint16_t)(sizeof(header) + size + padding),
	};
	const struct iovec pieces[] = { { &header, sizeof(header) },
					{ (void *)body, size },
					{ (void *)zeros, padding } };

	return perch_writer_append(stat->recording, pieces, 2 + (padding != 0), err);
}

/* ---- what is counted ---- */

static int append_cpus(struct stat_job *stat, uint32_t type, const void *head, size_t head_size,
		       struct perch_error *err)
{
	const struct stat_part *part = recorded_part(stat);
	size_t nr = counts_cpus(stat) ? part->targets.nr : 1;
	uint16_t *numbers = calloc(nr + 2 + head_size / 2, sizeof(*numbers)), *at = numbers;
	int rc;

	if (!numbers)
		return PERCH__NO_MEMORY(err, "for the list of CPUs");
	memcpy(at, head, head_size);
	at += head_size / 2;
	*at++ = 0; /* the kind: a list */
	*at++ = (uint16_t)nr;
	for (size_t i = 0; i < nr; i++)
		*at++ = (uint16_t)(counts_cpus(stat) ? part->targets.target[i].cpu : -1);
	rc = append_record(stat, type, numbers, (size_t)((char *)at - (char *)numbers), err);
	free(numbers);
	return rc;
}

static int append_threads(struct stat_job *stat, struct perch_error *err)
{
	const struct stat_part *part = recorded_part(stat);
	size_t nr = counts_cpus(stat) ? 1 : part->targets.nr;
	struct stat_thread_map *map;
	int rc;

	if (nr > MOST_ENTRIES)
		return perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				       "a file has the counts of at most %zu threads, not of %zu",
				       MOST_ENTRIES, nr);
	map = calloc(1, sizeof(*map) + nr * sizeof(map->thread[0]));
	if (!map)
		return PERCH__NO_MEMORY(err, "for the list of threads");
	map->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct perch_process_state state;
		pid_t tid = counts_cpus(stat) ? -1 : part->targets.target[i].tid;

		map->thread[i].tid = (uint64_t)(int64_t)tid;
		if (tid > 0 && !perch_machine_process(stat->events.machine, tid, &state, NULL))
			memcpy(map->thread[i].comm, state.name, sizeof(map->thread[i].comm));
	}
	rc = append_record(stat, PERCH_RECORD_THREAD_MAP, map,
			   sizeof(*map) + nr * sizeof(map->thread[0]), err);
	free(map);
	return rc;
}

/* Perf has unit and scale of clocks, too. */
static int append_updates(struct stat_job *stat, const struct stat_line *line,
			  struct perch_error *err)
{
	struct {
		uint64_t kind, id;
		union {
			double scale;
			char unit[sizeof(line->event->unit)];
		};
	} update = { .id = id_of(stat, line->index, 0) };
	const size_t head = sizeof(update.kind) + sizeof(update.id);
	int rc = 0;

	if (*line->unit) {
		update.kind = STAT_UPDATE_UNIT;
		snprintf(update.unit, sizeof(update.unit), "%s", line->unit);
		rc = append_record(stat, PERCH_RECORD_EVENT_UPDATE, &update,
				   head + strlen(update.unit) + 1, err);
	}
	if (rc >= 0 && line->scale != 1) {
		update.kind = STAT_UPDATE_SCALE;
		update.scale = line->scale;
		rc = append_record(stat, PERCH_RECORD_EVENT_UPDATE, &update,
				   head + sizeof(update.scale), err);
	}
	if (rc >= 0 && counts_cpus(stat)) {
		update.kind = STAT_UPDATE_CPUS;
		rc = append_cpus(stat, PERCH_RECORD_EVENT_UPDATE, &update, head, err);
	}
	return rc;
}

static int append_config(struct stat_job *stat, struct perch_error *err)
{
	/* without the level of caches, of which perf before 6.5 says that it is unknown */
	const struct stat_config config = {
		.nr = CLI_NR(config.term),
		.term = { { STAT_CONFIG_AGGREGATION,
			    stat_file_aggregation(stat->aggregation, STAT_FILE_NEWEST) },
			  { STAT_CONFIG_INTERVAL, stat->options.interval_ms },
			  { STAT_CONFIG_SCALE, stat->options.scale } },
	};

	return append_record(stat, PERCH_RECORD_STAT_CONFIG, &config, sizeof(config), err);
}

/* ---- the file ---- */

static struct perch_file_event file_event(const struct stat_job *stat, const struct stat_line *line,
					  const uint64_t *ids)
{
	const struct perch_set_event *opened =
		perch_set_get_event(recorded_part(stat)->set, line->index);
	struct perch_file_event event = {
		.attr = opened->attr,
		.name = line->name,
		.ids = ids + id_of(stat, line->index, 0) - 1,
		.nr_ids = recorded_part(stat)->targets.nr,
		.members = (uint32_t)opened->event.members,
	};

	event.attr.sample_type = PERCH_SAMPLE_IDENTIFIER;
	event.attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING;
	return event;
}

static int create(struct stat_job *stat, struct perch_error *err)
{
	const char *path = stat->options.recording_path;
	size_t nr_ids = stat->nr_lines * recorded_part(stat)->targets.nr;
	struct perch_file_event *events = calloc(stat->nr_lines, sizeof(*events));
	uint64_t *ids = calloc(nr_ids, sizeof(*ids));
	int rc = -ENOMEM;

	for (size_t i = 0; ids && i < nr_ids; i++)
		ids[i] = i + 1;
	for (size_t i = 0; events && ids && i < stat->nr_lines; i++)
		events[i] = file_event(stat, &stat->line[i], ids);
	if (!events || !ids)
		PERCH__NO_MEMORY(err, "for the events");
	else if (!strcmp(path, "-"))
		rc = perch_writer_open_fd(&stat->recording, STDOUT_FILENO, events, stat->nr_lines,
					  err);
	else
		rc = perch_writer_open(&stat->recording, path, events, stat->nr_lines, err);
	free(events);
	free(ids);
	return rc;
}

int stat_record_open(struct stat_job *stat)
{
	struct perch_error err;
	int rc = create(stat, &err);

	if (rc >= 0)
		rc = perch_writer_set_feature(stat->recording, PERCH_FEATURE_STAT, NULL, 0, &err);
	if (rc >= 0)
		rc = perch_writer_describe(stat->recording, cli_version, stat->command_line_size,
					   stat->command_line, stat->events.machine, &err);
	for (size_t i = 0; rc >= 0 && i < stat->nr_lines; i++)
		rc = append_updates(stat, &stat->line[i], &err);
	if (rc >= 0)
		rc = append_threads(stat, &err);
	if (rc >= 0)
		rc = append_cpus(stat, PERCH_RECORD_CPU_MAP, "", 0, &err);
	if (rc >= 0)
		rc = append_config(stat, &err);
	return rc < 0 ? cli_error(STAT_COMMAND, &err) : 0;
}

/* A count as the record STAT has it. A thread is an index; -1 stands for the CPU of a thread. */
static int append_count(struct stat_job *stat, size_t event, size_t target, struct perch_error *err)
{
	const struct stat_part *part = recorded_part(stat);
	const struct perch_count *count = &part->now[event * part->targets.nr + target];
	bool valid = count->state != PERCH_COUNT_STATE_ERROR;
	const struct stat_count record = {
		.id = id_of(stat, event, target),
		.cpu = (uint32_t)(counts_cpus(stat) ? part->targets.target[target].cpu : -1),
		.thread = counts_cpus(stat) ? 0 : (uint32_t)target,
		.value = count->value,
		.enabled = count->enabled_ns,
		.running = valid ? count->running_ns : 0,
	};

	if (count->state == PERCH_COUNT_STATE_NOT_OPEN)
		return 0;
	return append_record(stat, PERCH_RECORD_STAT, &record, sizeof(record), err);
}

int stat_record_round(struct stat_job *stat, enum stat_round_kind kind, uint64_t ns)
{
	const struct stat_round round = { .kind = kind, .ns = ns };
	const struct stat_part *part = recorded_part(stat);
	struct perch_error err;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < part->events.nr; i++)
		for (size_t k = 0; rc >= 0 && k < part->targets.nr; k++)
			rc = append_count(stat, i, k, &err);
	if (rc >= 0)
		rc = append_record(stat, PERCH_RECORD_STAT_ROUND, &round, sizeof(round), &err);
	return rc < 0 ? cli_error(STAT_COMMAND, &err) : 0;
}

int stat_record_close(struct stat_job *stat)
{
	struct perch_writer *writer = stat->recording;
	struct perch_error err;

	stat->recording = NULL;
	return perch_writer_close(writer, &err) < 0 ? cli_error(STAT_COMMAND, &err) : 0;
}
