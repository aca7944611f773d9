/* SPDX-License-Identifier: MIT */
/* Filters: checks the fields of those for tracepoints, and sets filters on the events of a list. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/format_field.h"
#include "base/no_memory.h"
#include "internal.h"

#define FORMAT_BYTES (64u << 10)
#define BLANKS	     " \t\n"

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

/* Fields that every tracepoint has. */
static bool is_common_field(const char *name)
{
	static const char *const names[] = { "CPU",  "cpu",	   "COMM",
					     "comm", "STACKTRACE", "stacktrace" };

	for (size_t i = 0; i < PERCH__NR(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "common_", 7);
}

/* Returns the && or || that ends a value, or the end of the text. */
static const char *skip_value(const char *at)
{
	while (*at && strncmp(at, "&&", 2) && strncmp(at, "||", 2)) {
		if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);

			if (!end)
				return at + strlen(at);
			at = end;
		}
		at++;
	}
	return at;
}

/*
 * Copies the next field of the expression, a name before a comparison, and moves *at after its
 * value. *value: what follows the name. Returns false at the end, or when the rest is not an
 * expression: the kernel then reports the error.
 */
static bool next_field(const char **at, char name[PERCH__WORD_SIZE], struct perch__span *value)
{
	const char *start = *at + strspn(*at, BLANKS "(!&|");
	size_t length = name_length(start);
	const char *after = start + length + strspn(start + length, BLANKS);

	if (!length || length >= PERCH__WORD_SIZE || !*after || !strchr("=!<>~&.", *after) ||
	    !strncmp(after, "&&", 2))
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	*at = skip_value(after);
	*value = (struct perch__span){ after, (size_t)(*at - after) };
	return true;
}

/* Copies the name of the field from a line of a format. Returns false for a line of another form.
 */
static bool field_name(struct perch__span line, char name[PERCH__WORD_SIZE])
{
	struct perch__format_field field;

	if (!perch__split_format_field(line, &field) || field.name.length >= PERCH__WORD_SIZE)
		return false;
	memcpy(name, field.name.at, field.name.length);
	name[field.name.length] = '\0';
	return true;
}

enum lookup { FOUND, NOT_FOUND, UNKNOWN };

/* Searches a format file for a field, and suggests its fields. */
static enum lookup find_field(const char *format, const char *wanted,
			      struct perch__suggestions *suggestions)
{
	const char *end = strstr(format, "print fmt:");
	struct perch__span rest = { format, end ? (size_t)(end - format) : 0 };
	char name[PERCH__WORD_SIZE];
	bool any = false;

	/* without an end the file is longer than the buffer, or not a format file */
	while (rest.length) {
		struct perch__span line = perch__span_cut(&rest, '\n');

		if (!perch__is_format_field(line))
			continue;
		if (!field_name(line, name))
			return UNKNOWN;
		if (!strcmp(name, wanted))
			return FOUND;
		if (strncmp(name, "common_", 7))
			perch__suggest(suggestions, name);
		any = true;
	}
	return any ? NOT_FOUND : UNKNOWN;
}

#define PATH_BYTES (PATH_MAX + 2 * PERCH__WORD_SIZE)

/* Finds the path of the format file and the name of a tracepoint. Returns false when tracefs cannot
 * be read, or when the name of the event is not that of its tracepoint. */
static bool find_format(const struct perch_event *event, struct perch_machine *machine,
			char path[PATH_BYTES], char name[PERCH__WORD_SIZE])
{
	size_t system = strcspn(event->name, ":/."), length;
	char tracefs[PATH_MAX], text[32];
	uint64_t id;
	ssize_t got;

	if (event->attr.type != PERCH_TYPE_TRACEPOINT || event->name[system] != ':' ||
	    perch_machine_tracefs(machine, tracefs, sizeof(tracefs), NULL) < 0)
		return false;
	length = strcspn(event->name + system + 1, ":/.");
	snprintf(name, PERCH__WORD_SIZE, "%.*s", (int)(system + 1 + length), event->name);
	snprintf(path, PATH_BYTES, "%s/events/%.*s/%.*s/id", tracefs, (int)system, name,
		 (int)length, name + system + 1);
	/* without the machine, because the path begins with its root already */
	got = perch_machine_read(NULL, path, text, sizeof(text));
	if (got <= 0 || perch__parse_number(text, strlen(text), &id) || id != event->attr.config)
		return false;
	strcpy(strrchr(path, '/'), "/format");
	return true;
}

static int check_fields(const char *format, const char *tracepoint, const char *filter,
			struct perch_error *err)
{
	char name[PERCH__WORD_SIZE];
	struct perch__span value;
	int rc = 0;

	while (!rc && next_field(&filter, name, &value)) {
		struct perch__suggestions suggestions = { .word = name };
		const char *event = strchr(tracepoint, ':') + 1;
		char remedy[2 * PERCH__WORD_SIZE];

		if (is_common_field(name) || find_field(format, name, &suggestions) != NOT_FOUND)
			continue;
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_BAD_FIELD,
				     "the tracepoint '%s' has no field '%s'", tracepoint, name);
		snprintf(remedy, sizeof(remedy),
			 "the file events/%.*s/%s/format in tracefs lists its fields",
			 (int)(event - 1 - tracepoint), tracepoint, event);
		perch__suggestions_remedy(&suggestions, err, remedy);
	}
	return rc;
}

typedef int format_function(const char *format, const char *tracepoint, const char *filter,
			    struct perch_error *err);

static int with_format(const struct perch_event *event, const char *filter,
		       struct perch_machine *machine, format_function *function,
		       struct perch_error *err)
{
	char path[PATH_BYTES], tracepoint[PERCH__WORD_SIZE], *format;
	int rc = 0;

	if (!find_format(event, machine, path, tracepoint))
		return 0;
	format = malloc(FORMAT_BYTES);
	if (!format)
		return PERCH__NO_MEMORY(err, "for the format of '%s'", tracepoint);
	if (perch_machine_read(NULL, path, format, FORMAT_BYTES) > 0)
		rc = function(format, tracepoint, filter, err);
	free(format);
	return rc;
}

int perch__check_filter(const struct perch_event *event, const char *filter,
			struct perch_machine *machine, struct perch_error *err)
{
	return with_format(event, filter, machine, check_fields, err);
}

/* True if the field is a char * that the format declares. */
static bool is_text_pointer(const char *format, const char *wanted)
{
	const char *end = strstr(format, "print fmt:");
	struct perch__span rest = { format, end ? (size_t)(end - format) : 0 };

	while (rest.length) {
		struct perch__span line = perch__span_cut(&rest, '\n');
		struct perch__format_field field;

		if (perch__is_format_field(line) && perch__split_format_field(line, &field) &&
		    field.name.length == strlen(wanted) &&
		    !memcmp(field.name.at, wanted, field.name.length))
			return !field.brackets.length && field.type.length >= 6 &&
			       !memcmp(field.type.at + field.type.length - 6, "char *", 6);
	}
	return false;
}

/* Pointers in arguments of system calls are those of user space. */
static int find_user_text(const char *format, const char *tracepoint, const char *filter,
			  struct perch_error *note)
{
	char name[PERCH__WORD_SIZE];
	struct perch__span value;

	while (!strncmp(tracepoint, "syscalls:", 9) && next_field(&filter, name, &value)) {
		bool of_text = memchr(value.at, '"', value.length) ||
			       memchr(value.at, '\'', value.length);

		if (*value.at == '.' || !of_text || !is_text_pointer(format, name))
			continue;
		perch_error_set(
			note, EINVAL, PERCH_ERROR_BAD_FIELD,
			"the filter compares '%s' of '%s', a string of user space, which the "
			"kernel does not read: it is never true",
			name, tracepoint);
		perch_error_remedy(note, "write %s.ustring (since Linux 5.17)", name);
		return 1;
	}
	return 0;
}

int perch_event_lint_filter(const struct perch_event *event, struct perch_machine *machine,
			    struct perch_error *note)
{
	struct perch_machine *own = NULL;
	int rc = 0;

	if (!event->filter)
		return 0;
	if (!machine)
		rc = perch_machine_new(&own, NULL, NULL, note);
	if (!rc)
		rc = with_format(event, event->filter, machine ? machine : own, find_user_text,
				 note);
	perch_machine_free(own);
	return rc;
}

/* Tracepoints, and PMUs whose driver has address filters. */
static bool can_filter(const struct perch_attr *attr, struct perch_machine *machine)
{
	const struct perch_pmu *pmu;
	char path[PATH_MAX], text[32];
	uint64_t nr;
	ssize_t got;

	if (attr->type == PERCH_TYPE_TRACEPOINT)
		return true;
	if (attr->type < PERCH_TYPE_MAX)
		return false;
	pmu = perch_machine_pmu_of_type(machine, attr->type);
	if (!pmu)
		return false;
	snprintf(path, sizeof(path), PERCH__PMUS "/%s/nr_addr_filters", pmu->name);
	got = perch_machine_read(machine, path, text, sizeof(text));
	return got > 0 && !perch__parse_number(text, got, &nr) && nr;
}

/*
 * Combines the filter with that of the event. A tracepoint hit must pass both; address filters are
 * a list of ranges. Returns a string to free, or NULL.
 */
static char *join_filters(const struct perch_event *event, const char *filter)
{
	char *joined;

	if (!event->filter)
		return strdup(filter);
	if (asprintf(&joined, event->attr.type == PERCH_TYPE_TRACEPOINT ? "(%s) && (%s)" : "%s,%s",
		     event->filter, filter) < 0)
		return NULL;
	return joined;
}

static int make_filter(const struct perch_event *event, const char *filter,
		       struct perch_machine *machine, char **combined, struct perch_error *err)
{
	int rc = perch__check_filter(event, filter, machine, err);

	if (rc)
		return rc;
	*combined = join_filters(event, filter);
	if (!*combined)
		return PERCH__NO_MEMORY(err, "for filters");
	if (strlen(*combined) <= PERCH__FILTER_MAX)
		return 0;
	return perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"the filters of '%s' have more than the %d bytes that the kernel accepts",
		event->name, PERCH__FILTER_MAX);
}

/* Makes all filters before it sets the first, so a failure changes no event. */
static int set_all(struct perch_events *events, size_t from, const char *filter,
		   struct perch_machine *machine, struct perch_error *err)
{
	size_t nr = from < events->nr ? events->nr - from : 0, filtered = 0;
	char **combined = calloc(nr + 1, sizeof(*combined));
	int rc = 0;

	if (!combined)
		return PERCH__NO_MEMORY(err, "for filters");
	for (size_t i = 0; i < nr && !rc; i++) {
		if (!can_filter(&events->event[from + i].attr, machine))
			continue;
		filtered++;
		rc = make_filter(&events->event[from + i], filter, machine, &combined[i], err);
	}
	if (!rc && !filtered) {
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				     "no event before the filter '%s' can have a filter", filter);
		perch_error_remedy(err,
				   "filters are for tracepoints and for PMUs with nr_addr_filters");
	}
	for (size_t i = 0; i < nr; i++)
		if (combined[i] && !rc) {
			free(events->event[from + i].filter);
			events->event[from + i].filter = combined[i];
		} else {
			free(combined[i]);
		}
	free(combined);
	return rc;
}

int perch_events_set_filter(struct perch_events *events, size_t from, const char *filter,
			    struct perch_machine *machine, struct perch_error *err)
{
	struct perch_machine *own = NULL;
	size_t length = strlen(filter);
	int rc = 0;

	if (!length) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "the filter is empty");
		perch_error_remedy(
			err, "write comparisons as FIELD OPERATOR VALUE: 'prev_pid == 1'; the "
			     "shell replaces a $NAME that is not set by nothing");
		return -EINVAL;
	}
	if (length > PERCH__FILTER_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a filter has at most %d bytes", PERCH__FILTER_MAX);
	if (!machine)
		rc = perch_machine_new(&own, NULL, NULL, err);
	if (!rc)
		rc = set_all(events, from, filter, machine ? machine : own, err);
	perch_machine_free(own);
	return rc;
}
