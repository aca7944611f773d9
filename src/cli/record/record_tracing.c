/* SPDX-License-Identifier: MIT */
/*
 * The section TRACING_DATA: tracefs's descriptions of the recorded tracepoints. Its format is that
 * of trace-cmd's files, version 0.6, with numbers in the byte order of the machine:
 *
 *   17 08 44 "tracing" "0.6\0"  endian:u8  sizeof(long):u8  page size:u32
 *   "header_page\0" size:u64 text   "header_event\0" size:u64 text
 *   files of ftrace itself:u32 (none)
 *   systems:u32, for each: name\0, formats:u32, for each: size:u64 text
 *   kallsyms size:u32 (0)   printk formats size:u32 (0)   saved comms size:u64 (0)
 */
#define _GNU_SOURCE /* DT_DIR */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "record.h"

#define MAX_FORMAT (1u << 16) /* bytes of a file of tracefs */

struct text {
	char *bytes;
	size_t used, capacity;
	int rc;
};

static void append(struct text *text, const void *bytes, size_t size)
{
	if (!text->rc)
		text->rc = PERCH__ARRAY_RESERVE(text->bytes, text->capacity, text->used + size);
	if (text->rc || !size)
		return;
	memcpy(text->bytes + text->used, bytes, size);
	text->used += size;
}

static void append_u32(struct text *text, uint32_t value)
{
	append(text, &value, sizeof(value));
}

static void append_u64(struct text *text, uint64_t value)
{
	append(text, &value, sizeof(value));
}

static void append_string(struct text *text, const char *string)
{
	append(text, string, strlen(string) + 1);
}

/*
 * Writes the size and the text of a file of tracefs. The size is unknown until the file has been
 * read.
 */
static void append_file(struct text *text, const char *path)
{
	char *buffer = malloc(MAX_FORMAT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (!buffer || fd < 0)
		text->rc = buffer ? -errno : -ENOMEM;
	while (!text->rc && used < MAX_FORMAT &&
	       (got = read(fd, buffer + used, MAX_FORMAT - used)) > 0)
		used += got;
	if (got < 0)
		text->rc = -errno;
	append_u64(text, used);
	append(text, buffer, used);
	if (fd >= 0)
		close(fd);
	free(buffer);
}

/* A recorded tracepoint. The id identifies it, because the user may have renamed the event. */
struct tracepoint {
	uint64_t id;
	char system[NAME_MAX + 1], name[NAME_MAX + 1];
};

static bool has_id(const char *tracefs, const struct tracepoint *point)
{
	char path[PATH_MAX], line[32];
	unsigned long long id;
	bool same;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs, point->system,
		     point->name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	same = fgets(line, sizeof(line), file) && sscanf(line, "%llu", &id) == 1 && id == point->id;
	fclose(file);
	return same;
}

/* The event name may be that of the tracepoint: "sched:sched_switch:u". */
static bool find_by_name(const char *tracefs, const char *name, struct tracepoint *point)
{
	size_t system = strcspn(name, ":/"),
	       length = name[system] == ':' ? strcspn(name + system + 1, ":/") : 0;

	if (!system || !length || system > NAME_MAX || length > NAME_MAX)
		return false;
	snprintf(point->system, sizeof(point->system), "%.*s", (int)system, name);
	snprintf(point->name, sizeof(point->name), "%.*s", (int)length, name + system + 1);
	return has_id(tracefs, point);
}

static bool find_in_system(const char *tracefs, struct tracepoint *point)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *directory;

	if (snprintf(path, sizeof(path), "%s/events/%s", tracefs, point->system) >=
	    (int)sizeof(path))
		return false;
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		snprintf(point->name, sizeof(point->name), "%s", entry->d_name);
		found = has_id(tracefs, point);
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Finds the name of a renamed event. Reading all ids takes long. */
static bool find_by_id(const char *tracefs, struct tracepoint *point)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/events", tracefs);
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		snprintf(point->system, sizeof(point->system), "%s", entry->d_name);
		found = find_in_system(tracefs, point);
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Lists each tracepoint that still exists once. Returns their number or -ENOMEM. */
static ssize_t find_points(const struct perch_events *events, const char *tracefs,
			   struct tracepoint **points)
{
	size_t nr = 0;

	*points = calloc(events->nr, sizeof(**points));
	if (!*points)
		return -ENOMEM;
	for (size_t i = 0; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];
		struct tracepoint *point = &(*points)[nr];
		size_t same = 0;

		if (event->attr.type != PERCH_TYPE_TRACEPOINT)
			continue;
		while (same < nr && (*points)[same].id != event->attr.config)
			same++;
		point->id = event->attr.config;
		nr += same == nr &&
		      (find_by_name(tracefs, event->name, point) || find_by_id(tracefs, point));
	}
	return (ssize_t)nr;
}

static bool first_of_system(const struct tracepoint *points, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(points[i].system, points[index].system))
			return false;
	return true;
}

static void append_system(struct text *text, const struct tracepoint *points, size_t nr,
			  size_t first, const char *tracefs)
{
	uint32_t members = 0;
	char path[PATH_MAX];

	append_string(text, points[first].system);
	for (size_t i = first; i < nr; i++)
		members += !strcmp(points[first].system, points[i].system);
	append_u32(text, members);
	for (size_t i = first; i < nr; i++) {
		if (strcmp(points[first].system, points[i].system))
			continue;
		snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, points[i].system,
			 points[i].name);
		append_file(text, path);
	}
}

static void append_systems(struct text *text, const struct tracepoint *points, size_t nr,
			   const char *tracefs)
{
	uint32_t systems = 0;

	for (size_t i = 0; i < nr; i++)
		systems += first_of_system(points, i);
	append_u32(text, systems);
	for (size_t i = 0; i < nr; i++)
		if (first_of_system(points, i))
			append_system(text, points, nr, i, tracefs);
}

static void append_header(struct text *text, const char *tracefs)
{
	const uint16_t probe = 1;
	char path[PATH_MAX];
	uint8_t endian = !*(const uint8_t *)&probe, bytes_of_long = sizeof(long);

	append(text, "\x17\x08\x44tracing", 10);
	append_string(text, "0.6");
	append(text, &endian, 1);
	append(text, &bytes_of_long, 1);
	append_u32(text, (uint32_t)sysconf(_SC_PAGESIZE));
	append_string(text, "header_page");
	snprintf(path, sizeof(path), "%s/events/header_page", tracefs);
	append_file(text, path);
	append_string(text, "header_event");
	snprintf(path, sizeof(path), "%s/events/header_event", tracefs);
	append_file(text, path);
	append_u32(text, 0);
}

static bool any_tracepoint(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].attr.type == PERCH_TYPE_TRACEPOINT)
			return true;
	return false;
}

int record_write_tracing_data(struct perch_writer *writer, const struct perch_events *events,
			      struct perch_machine *machine, struct perch_error *err)
{
	struct text text = { 0 };
	char tracefs[PATH_MAX / 2];
	struct tracepoint *points;
	ssize_t nr;
	int rc;

	if (!any_tracepoint(events))
		return 0;
	rc = perch_machine_tracefs(machine, tracefs, sizeof(tracefs), err);
	if (rc < 0)
		return rc;
	nr = find_points(events, tracefs, &points);
	append_header(&text, tracefs);
	if (nr < 0)
		text.rc = (int)nr;
	else
		append_systems(&text, points, (size_t)nr, tracefs);
	append_u32(&text, 0);
	append_u32(&text, 0);
	append_u64(&text, 0);
	if (text.rc)
		rc = perch_error_set(err, -text.rc, PERCH_ERROR_FILE,
				     "the formats of the tracepoints cannot be read from '%s': %s",
				     tracefs, strerror(-text.rc));
	else
		rc = perch_writer_set_feature(writer, PERCH_FEATURE_TRACING_DATA, text.bytes,
					      text.used, err);
	free(text.bytes);
	free(points);
	return rc;
}
