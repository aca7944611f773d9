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
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/tracepoint.h>

#include "base/array.h"
#include "internal.h"

#define MAX_FORMAT (1u << 16) /* bytes of a file of tracefs */

struct growing_text {
	char *bytes;
	size_t used, capacity;
	int rc;
};

static void append_bytes(struct growing_text *text, const void *bytes, size_t size)
{
	if (!text->rc)
		text->rc = PERCH__ARRAY_RESERVE(text->bytes, text->capacity, text->used + size);
	if (text->rc || !size)
		return;
	memcpy(text->bytes + text->used, bytes, size);
	text->used += size;
}

static void append_u32(struct growing_text *text, uint32_t value)
{
	append_bytes(text, &value, sizeof(value));
}

static void append_u64(struct growing_text *text, uint64_t value)
{
	append_bytes(text, &value, sizeof(value));
}

static void append_string(struct growing_text *text, const char *string)
{
	append_bytes(text, string, strlen(string) + 1);
}

/*
 * Writes the size and the text of a file of tracefs. The size is unknown until the file has been
 * read.
 */
static void append_file(struct growing_text *text, const char *path)
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
	append_bytes(text, buffer, used);
	if (fd >= 0)
		close(fd);
	free(buffer);
}

/*
 * Reads the format of an event's tracepoint. The name of the event may be that of the tracepoint:
 * "sched:sched_switch:u". A renamed event is found by its id, which takes longer. Returns NULL if
 * the tracepoint does not exist any more.
 */
static struct perch_tracepoint_format *read_format(const struct perch_file_event *event,
						   struct perch_machine *machine)
{
	size_t length = strcspn(event->name, ":/");
	struct perch_tracepoint_format *format;
	char name[2 * NAME_MAX + 2];

	if (event->name[length] == ':')
		length += 1 + strcspn(event->name + length + 1, ":/");
	snprintf(name, sizeof(name), "%.*s", (int)length, event->name);
	perch_tracepoint_format_read(&format, name, machine, NULL);
	if (format && perch_tracepoint_format_id(format) == event->attr.config)
		return format;
	perch_tracepoint_format_free(format);
	perch_tracepoint_format_read_id(&format, event->attr.config, machine, NULL);
	return format;
}

/* The tracepoints of the events, each once. */
struct tracepoints {
	struct perch_tracepoint_format **format;
	size_t nr;
};

static bool has_tracepoint(const struct tracepoints *points, uint64_t id)
{
	for (size_t i = 0; i < points->nr; i++)
		if (perch_tracepoint_format_id(points->format[i]) == id)
			return true;
	return false;
}

/* Lists the tracepoints that still exist. Returns 0 or -ENOMEM. */
static int find_tracepoints(struct tracepoints *points, const struct perch_file_event *events,
			    size_t nr_events, struct perch_machine *machine)
{
	points->format = calloc(nr_events, sizeof(*points->format));
	if (!points->format)
		return -ENOMEM;
	for (size_t i = 0; i < nr_events; i++) {
		const struct perch_file_event *event = &events[i];

		if (event->attr.type != PERCH_TYPE_TRACEPOINT ||
		    has_tracepoint(points, event->attr.config))
			continue;
		points->format[points->nr] = read_format(event, machine);
		points->nr += points->format[points->nr] != NULL;
	}
	return 0;
}

static void free_tracepoints(struct tracepoints *points)
{
	for (size_t i = 0; i < points->nr; i++)
		perch_tracepoint_format_free(points->format[i]);
	free(points->format);
}

static bool same_system(const struct tracepoints *points, size_t i, size_t k)
{
	return !strcmp(perch_tracepoint_format_system(points->format[i]),
		       perch_tracepoint_format_system(points->format[k]));
}

static bool first_of_system(const struct tracepoints *points, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_system(points, i, index))
			return false;
	return true;
}

static void append_system(struct growing_text *text, const struct tracepoints *points, size_t first,
			  const char *tracefs)
{
	const char *system = perch_tracepoint_format_system(points->format[first]);
	uint32_t members = 0;
	char path[PATH_MAX];

	append_string(text, system);
	for (size_t i = first; i < points->nr; i++)
		members += same_system(points, first, i);
	append_u32(text, members);
	for (size_t i = first; i < points->nr; i++) {
		if (!same_system(points, first, i))
			continue;
		snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, system,
			 perch_tracepoint_format_name(points->format[i]));
		append_file(text, path);
	}
}

static void append_systems(struct growing_text *text, const struct tracepoints *points,
			   const char *tracefs)
{
	uint32_t systems = 0;

	for (size_t i = 0; i < points->nr; i++)
		systems += first_of_system(points, i);
	append_u32(text, systems);
	for (size_t i = 0; i < points->nr; i++)
		if (first_of_system(points, i))
			append_system(text, points, i, tracefs);
}

static void append_header(struct growing_text *text, const char *tracefs)
{
	const uint16_t probe = 1;
	char path[PATH_MAX];
	uint8_t endian = !*(const uint8_t *)&probe, bytes_of_long = sizeof(long);

	append_bytes(text, "\x17\x08\x44tracing", 10);
	append_string(text, "0.6");
	append_bytes(text, &endian, 1);
	append_bytes(text, &bytes_of_long, 1);
	append_u32(text, (uint32_t)sysconf(_SC_PAGESIZE));
	append_string(text, "header_page");
	snprintf(path, sizeof(path), "%s/events/header_page", tracefs);
	append_file(text, path);
	append_string(text, "header_event");
	snprintf(path, sizeof(path), "%s/events/header_event", tracefs);
	append_file(text, path);
	append_u32(text, 0);
}

static bool any_tracepoint(const struct perch_file_event *events, size_t nr_events)
{
	for (size_t i = 0; i < nr_events; i++)
		if (events[i].attr.type == PERCH_TYPE_TRACEPOINT)
			return true;
	return false;
}

int perch__recorder_write_tracing_data(struct perch_writer *writer,
				       const struct perch_file_event *events, size_t nr_events,
				       struct perch_machine *machine, struct perch_error *err)
{
	struct growing_text text = { 0 };
	char tracefs[PATH_MAX / 2];
	struct tracepoints points = { 0 };
	int rc;

	if (!any_tracepoint(events, nr_events))
		return 0;
	rc = perch_machine_tracefs(machine, tracefs, sizeof(tracefs), err);
	if (rc < 0)
		return rc;
	append_header(&text, tracefs);
	if (!text.rc)
		text.rc = find_tracepoints(&points, events, nr_events, machine);
	append_systems(&text, &points, tracefs);
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
	free_tracepoints(&points);
	return rc;
}
