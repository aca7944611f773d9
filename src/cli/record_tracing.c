/* SPDX-License-Identifier: MIT */
/*
 * The feature TRACING_DATA: how the raw data of the recorded tracepoints is laid out, as the kernel's own description of
 * each says. The layout of the section is that of trace-cmd's files, version 0.6, numbers in the machine's byte order:
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

#include "record.h"

#define FORMAT_MAX (1u << 16)

struct text {
	char *bytes;
	size_t used, room;
	int rc;
};

static void append(struct text *text, const void *bytes, size_t size)
{
	if (text->rc)
		return;
	if (size > text->room - text->used) {
		size_t room = 2 * (text->used + size);
		char *grown = realloc(text->bytes, room);

		if (!grown) {
			text->rc = -ENOMEM;
			return;
		}
		text->bytes = grown;
		text->room = room;
	}
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

/* A file of tracefs behind its size, which is known only when it has been read. */
static void append_file(struct text *text, const char *path)
{
	char *buffer = malloc(FORMAT_MAX);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (!buffer || fd < 0)
		text->rc = buffer ? -errno : -ENOMEM;
	while (!text->rc && used < FORMAT_MAX && (got = read(fd, buffer + used, FORMAT_MAX - used)) > 0)
		used += got;
	if (got < 0)
		text->rc = -errno;
	append_u64(text, used);
	append(text, buffer, used);
	if (fd >= 0)
		close(fd);
	free(buffer);
}

static bool is_tracepoint(const struct perch_event *event)
{
	return event->attr.type == PERCH_TYPE_TRACEPOINT;
}

/* "sched" of "sched:sched_switch:u": bytes of the system, and of the name behind its colon. */
static void split(const struct perch_event *event, size_t *system, size_t *name)
{
	*system = strcspn(event->name, ":");
	*name = event->name[*system] ? strcspn(event->name + *system + 1, ":") : 0;
}

static bool same_system(const struct perch_event *a, const struct perch_event *b)
{
	size_t system = strcspn(a->name, ":");

	return is_tracepoint(a) && is_tracepoint(b) && system == strcspn(b->name, ":") && !strncmp(a->name, b->name, system);
}

static bool first_of_system(const struct perch_events *events, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_system(&events->event[i], &events->event[index]))
			return false;
	return is_tracepoint(&events->event[index]);
}

static void append_system(struct text *text, const struct perch_events *events, size_t first, const char *tracefs)
{
	uint32_t nr = 0;

	append(text, events->event[first].name, strcspn(events->event[first].name, ":"));
	append(text, "", 1);
	for (size_t i = first; i < events->nr; i++)
		nr += same_system(&events->event[first], &events->event[i]);
	append_u32(text, nr);
	for (size_t i = first; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];
		char path[PATH_MAX];
		size_t system, name;

		if (!same_system(&events->event[first], event))
			continue;
		split(event, &system, &name);
		snprintf(path, sizeof(path), "%s/events/%.*s/%.*s/format", tracefs, (int)system, event->name, (int)name,
			 event->name + system + 1);
		append_file(text, path);
	}
}

static void append_systems(struct text *text, const struct perch_events *events, const char *tracefs)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += first_of_system(events, i);
	append_u32(text, nr);
	for (size_t i = 0; i < events->nr; i++)
		if (first_of_system(events, i))
			append_system(text, events, i, tracefs);
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

int record_write_tracing_data(struct record *record)
{
	struct text text = { 0 };
	char tracefs[PATH_MAX / 2];
	size_t i = 0;
	int rc;

	while (i < record->events.nr && !is_tracepoint(&record->events.event[i]))
		i++;
	if (i == record->events.nr)
		return 0;
	rc = perch_machine_tracefs(record->machine, tracefs, sizeof(tracefs), &record->err);
	if (rc < 0)
		return rc;
	append_header(&text, tracefs);
	append_systems(&text, &record->events, tracefs);
	append_u32(&text, 0);
	append_u32(&text, 0);
	append_u64(&text, 0);
	if (text.rc)
		rc = perch_error_set(&record->err, -text.rc, PERCH_CAUSE_FILE, "no description of the tracepoints for the file: %s",
				     strerror(-text.rc));
	else
		rc = perch_writer_feature(record->writer, PERCH_FEATURE_TRACING_DATA, text.bytes, text.used, &record->err);
	free(text.bytes);
	return rc;
}
