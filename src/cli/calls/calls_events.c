/* SPDX-License-Identifier: MIT */
/*
 * The fields of entries and exits, and of the probe of paths. raw_syscalls has an array of
 * arguments, and syscalls:sys_enter_X a field for each.
 */
#include <stdio.h>
#include <string.h>

#include "calls.h"

#define ENTER "sys_enter"
#define EXIT  "sys_exit"

static void find_raw(struct calls_event *event, const struct perch_tracepoint_format *format,
		     const char *name)
{
	event->number = perch_tracepoint_format_find(format, "id");
	event->arguments = perch_tracepoint_format_find(format, "args");
	event->result = perch_tracepoint_format_find(format, "ret");
	if (!strcmp(name, ENTER) && event->number && event->arguments)
		event->kind = CALLS_ENTER;
	if (!strcmp(name, EXIT) && event->number && event->result)
		event->kind = CALLS_EXIT;
}

/* Fields of syscalls:sys_enter_X follow the number in the order of the arguments. The text of the
 * argument "filename" is "__filename_val". */
static void find_arguments(struct calls_event *event, const struct perch_tracepoint_format *format)
{
	const struct perch_tracepoint_field *field;
	size_t nr = perch_tracepoint_format_fields(format, &field), at = 0;
	char name[72];

	for (size_t i = 0; i < nr && at < PERCH_SYSCALL_ARGUMENTS; i++) {
		if (field[i].is_common || &field[i] == event->number ||
		    field[i].location != PERCH_TRACEPOINT_AT_OFFSET)
			continue;
		event->argument[at] = &field[i];
		snprintf(name, sizeof(name), "__%s_val", field[i].name);
		event->text[at++] = perch_tracepoint_format_find(format, name);
	}
}

static void find_single(struct calls_event *event, const struct perch_tracepoint_format *format,
			const char *name)
{
	event->number = perch_tracepoint_format_find(format, "__syscall_nr");
	if (!event->number)
		event->number = perch_tracepoint_format_find(format, "nr");
	event->result = perch_tracepoint_format_find(format, "ret");
	if (!strncmp(name, ENTER, strlen(ENTER)) && event->number) {
		event->kind = CALLS_ENTER;
		find_arguments(event, format);
	} else if (!strncmp(name, EXIT, strlen(EXIT)) && event->number && event->result) {
		event->kind = CALLS_EXIT;
	}
}

static void find_path(struct calls_event *event, const struct perch_tracepoint_format *format)
{
	event->path = perch_tracepoint_format_find(format, CALLS_PATH_FIELD);
	event->path_address = perch_tracepoint_format_find(format, CALLS_ADDRESS_FIELD);
	if (event->path && event->path_address)
		event->kind = CALLS_PATH;
}

void calls_event_find(struct calls_event *event, struct perch_session *session,
		      const struct perch_file_event *file_event)
{
	const struct perch_attr *attr = &file_event->attr;
	const struct perch_tracepoint_format *format;
	const char *system;

	*event = (struct calls_event){ .looked_up = true };
	if (attr->type == PERCH_TYPE_SOFTWARE && attr->config == PERCH_COUNT_SW_PAGE_FAULTS_MAJ)
		event->kind = CALLS_MAJOR_FAULT;
	if (attr->type == PERCH_TYPE_SOFTWARE && attr->config == PERCH_COUNT_SW_PAGE_FAULTS_MIN)
		event->kind = CALLS_MINOR_FAULT;
	if (attr->type != PERCH_TYPE_TRACEPOINT ||
	    perch_session_format(session, file_event, &format, NULL))
		return;
	system = perch_tracepoint_format_system(format);
	if (!strcmp(system, "raw_syscalls"))
		find_raw(event, format, perch_tracepoint_format_name(format));
	else if (!strcmp(system, "syscalls"))
		find_single(event, format, perch_tracepoint_format_name(format));
	else
		find_path(event, format);
}

bool calls_event_read(const struct calls_event *event, const struct perch_record *record,
		      int64_t *number, uint64_t argument[PERCH_SYSCALL_ARGUMENTS], int64_t *result)
{
	if (perch_tracepoint_get_s64(event->number, record, number))
		return false;
	/* the field of 4 bytes is signed, and so is that of 8 */
	if (event->kind == CALLS_EXIT)
		return !perch_tracepoint_get_s64(event->result, record, result);
	for (size_t i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++) {
		argument[i] = 0;
		if (event->arguments &&
		    perch_tracepoint_get_element(event->arguments, record, i, &argument[i]))
			return false;
		if (event->argument[i] &&
		    perch_tracepoint_get_u64(event->argument[i], record, &argument[i]))
			return false;
	}
	return true;
}
