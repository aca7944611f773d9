/* SPDX-License-Identifier: MIT */
/* What is printed of each event: perf's defaults, or the fields of -F, without what it lacks. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/dummy_event.h"
#include "base/kernel/off_cpu_event.h"
#include "options.h"
#include "script.h"

#define FRAME (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)
#define LINES (SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO | SCRIPT_DSOFF | SCRIPT_SRCLINE)

static bool is_software(const struct perch_attr *attr, uint64_t config)
{
	return attr->type == PERCH_TYPE_SOFTWARE && attr->config == config;
}

/* True if one of the other events for which -F names the field has it. */
static bool another_has(const struct script *script, const struct script_field *field)
{
	for (size_t i = 0; i < script->nr_events; i++) {
		const struct script_event *event = &script->event[i];

		if (script->fields.type[event->type].asked & field->field &&
		    event->event->attr.sample_type & field->needs)
			return true;
	}
	return false;
}

static int refuse_missing(const struct script_event *event, const struct script_field *field)
{
	char name[256];

	perch_clean_text(event->event->name, name, sizeof(name));
	if (field->remedy)
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F %s: samples of %s have no %s; record with %s",
				       field->name, name, field->lacks, field->remedy);
	return cli_usage_error(SCRIPT_COMMAND, "-F %s: samples of %s have no %s", field->name, name,
			       field->lacks);
}

/* Fields that need others. */
static int check_combination(const struct script *script, const struct script_event *event)
{
	uint64_t asked = script->fields.type[event->type].asked, ns;

	if (asked & SCRIPT_SYMOFF && !(event->fields & SCRIPT_SYM))
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F symoff: offsets are printed after the name of the "
				       "function; add the field sym");
	if (asked & SCRIPT_SRCLINE && !(event->fields & SCRIPT_IP))
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F srcline: the line is that of the address; add the "
				       "field ip");
	if (script->json && asked & (SCRIPT_PATH | SCRIPT_SRCCODE))
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F: the fields brstackinsn, brstackinsnlen, brstackdisasm "
				       "and srccode are text; -j has brstack, insn, disasm and "
				       "srcline");
	if (script->json && asked & SCRIPT_METRIC)
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F: metrics are lines between samples, and -j prints "
				       "samples only; remove the field metric, or -j");
	if (asked & SCRIPT_PATH && event->event->attr.sample_type & PERCH_SAMPLE_BRANCH_STACK &&
	    !(event->event->attr.branch_sample_type & PERCH_SAMPLE_BRANCH_ANY))
		return cli_usage_error(
			SCRIPT_COMMAND,
			"-F brstackinsn, brstackdisasm: the code between branches is known only if "
			"all branches are recorded; record with -b");
	if (event->fields & SCRIPT_TOD &&
	    perch_reader_time_of_day(perch_session_reader(script->session), 0, &ns))
		return cli_usage_error(SCRIPT_COMMAND,
				       "-F tod: the file does not have the time of day of its "
				       "clock; record with perch record, or with perf record -k");
	return 0;
}

/* ---- the fields of each event ---- */

/* Frames of tracepoints are printed by default if one of them has call chains. */
static bool tracepoints_have_chains(const struct script *script)
{
	for (size_t i = 0; i < script->nr_events; i++)
		if (script->event[i].type == SCRIPT_TRACEPOINT &&
		    script->event[i].event->attr.sample_type & PERCH_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

static void add_tracepoint_frames(struct script *script)
{
	struct script_choice *choice = &script->fields.type[SCRIPT_TRACEPOINT];

	if (!choice->set && !script->no_callchain && tracepoints_have_chains(script))
		choice->fields |= FRAME;
}

static int set_fields(struct script *script, struct script_event *event)
{
	const struct perch_attr *attr = &event->event->attr;
	struct script_choice choice = script->fields.type[event->type];
	const struct script_field *missing;

	if (script->json && !script->fields.any_set)
		choice.fields = SCRIPT_ALL;
	event->fields = script_fields_of(&choice, event->type, attr, &missing);
	if (event->fields & SCRIPT_DSOFF)
		event->fields |= SCRIPT_DSO;
	if (!is_software(attr, PERCH_COUNT_SW_BPF_OUTPUT))
		event->fields &= ~SCRIPT_BPF_OUTPUT;
	if (perch__is_dummy(attr))
		return 0;
	if (missing && !another_has(script, missing))
		return refuse_missing(event, missing);
	return check_combination(script, event);
}

/* Says which fields of -F the types of the file do not have. */
static void note_invalid(const struct script *script)
{
	uint64_t noted[SCRIPT_NR_TYPES] = { 0 };

	for (size_t i = 0; i < script->nr_events; i++) {
		enum script_type type = script->event[i].type;
		uint64_t asked = script->fields.type[type].asked;
		uint64_t fields = asked & script_fields_invalid(type) & ~noted[type];

		if (perch__is_dummy(&script->event[i].event->attr))
			continue;
		noted[type] |= fields;
		for (; fields; fields &= fields - 1)
			cli_note(SCRIPT_COMMAND, "%s events have no field '%s'",
				 script_type_name(type), script_field_at(fields & -fields)->name);
	}
}

/* ---- events ---- */

static bool is_branch(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_HARDWARE &&
	       attr->config == PERCH_COUNT_HW_BRANCH_INSTRUCTIONS && attr->sample_period == 1 &&
	       !attr->freq;
}

/* The address of a page fault is one of the process, and may be that of a function. */
static bool correlates(const struct perch_attr *attr)
{
	return is_software(attr, PERCH_COUNT_SW_PAGE_FAULTS) ||
	       is_software(attr, PERCH_COUNT_SW_PAGE_FAULTS_MIN) ||
	       is_software(attr, PERCH_COUNT_SW_PAGE_FAULTS_MAJ) || is_branch(attr);
}

static int set_lines(struct script *script, struct script_event *event)
{
	/* events of one type mostly have the same fields */
	for (size_t i = 0; i < script->nr_events; i++) {
		const struct script_event *other = &script->event[i];

		if (other->lines && other->lines->fields == (event->fields & LINES)) {
			event->lines = other->lines;
			return 0;
		}
	}
	event->lines = script_lines_new(script, event->fields & LINES);
	return event->lines ? 0 : -ENOMEM;
}

/* Opens the file of an event: its name may be chosen to mislead, so it has no directory. Only the
 * user may read it, as the recording. */
static int open_file(struct script *script, struct script_event *event)
{
	struct perch_error err;
	char name[200];

	perch_clean_text(event->event->name, name, sizeof(name));
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '_';
	if (asprintf(&event->path, "%s.%s.dump", script->input.path, name) < 0) {
		event->path = NULL;
		return -ENOMEM;
	}
	for (struct script_event *other = script->event; other < event; other++)
		if (other->path && !strcmp(other->path, event->path)) {
			event->out = other->out; /* two events of one name */
			return 0;
		}
	if (cli_output_open(&event->file, event->path, CLI_OUTPUT_OWN_NAME | CLI_OUTPUT_PRIVATE,
			    &err)) {
		cli_error(SCRIPT_COMMAND, &err);
		return -EIO;
	}
	if (perch__output_open(&event->dump, event->file.stream))
		return -ENOMEM;
	event->out = &event->dump;
	return 0;
}

static void set_name(struct script_event *event, int width)
{
	char clean[200];

	perch_clean_text(event->event->name, clean, sizeof(clean));
	event->name_length = snprintf(event->name, sizeof(event->name), "%*s:", width, clean);
}

static int set_event(struct script *script, struct script_event *event, int width)
{
	const struct perch_attr *attr = &event->event->attr;
	int rc = set_lines(script, event);

	event->chain = perch__sample_type(event->event) & PERCH_SAMPLE_CALLCHAIN &&
		       !script->no_callchain && event->fields & SCRIPT_IP;
	event->branches = is_branch(attr);
	event->has_calls = perch_session_has_calls(script->session, event->event);
	event->queued = script_is_queued(event);
	event->correlates = correlates(attr);
	event->out = &script->out;
	set_name(event, width);
	if (event->type == SCRIPT_TRACEPOINT)
		perch_session_format(script->session, event->event, &event->format, NULL);
	return rc || !script->per_event_dump ? rc : open_file(script, event);
}

static int width_of_names(const struct script *script)
{
	char clean[200];
	int width = 0;

	for (size_t i = 0; i < script->nr_events; i++) {
		int used =
			(int)perch_clean_text(script->event[i].event->name, clean, sizeof(clean));

		width = used > width ? used : width;
	}
	return width;
}

int script_events_open(struct script *script)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(script->session), &events);
	int width, status, rc = 0;

	script->event = calloc(nr + 1, sizeof(*script->event));
	if (!script->event)
		return cli_no_memory(SCRIPT_COMMAND);
	script->nr_events = nr;
	for (size_t i = 0; i < nr; i++) {
		script->event[i].event = &events[i];
		script->event[i].type = script_type_of(&events[i].attr);
	}
	add_tracepoint_frames(script);
	status = cli_switch_open(&script->switching, &script->input);
	width = width_of_names(script);
	for (size_t i = 0; i < nr && !status; i++)
		status = set_fields(script, &script->event[i]) ? CLI_EXIT_USAGE : 0;
	for (size_t i = 0; i < nr && !status && !rc; i++)
		rc = set_event(script, &script->event[i], width);
	if (rc == -ENOMEM)
		status = cli_no_memory(SCRIPT_COMMAND);
	if (!status && !rc)
		note_invalid(script);
	return status ? status : rc ? CLI_EXIT_FAILURE : 0;
}

int script_events_close(struct script *script)
{
	int status = 0;

	for (size_t i = 0; i < script->nr_events; i++) {
		struct script_event *event = &script->event[i];
		struct perch_error err;
		long bytes;

		if (!event->dump.buffer)
			continue;
		perch__output_flush(&event->dump);
		bytes = ftell(event->file.stream);
		if (cli_output_close(&event->file, event->dump.error, &err)) {
			status = cli_error(SCRIPT_COMMAND, &err);
			continue;
		}
		printf("[ perch script: Wrote %.3f MB %s (%" PRIu64 " samples) ]\n",
		       (double)bytes / 1024 / 1024, event->path, event->samples);
	}
	return status;
}

void script_events_clear(struct script *script)
{
	for (size_t i = 0; i < script->nr_events; i++) {
		struct script_event *event = &script->event[i];
		struct script_lines *lines = event->lines;

		for (size_t k = i; k < script->nr_events; k++)
			if (script->event[k].lines == lines)
				script->event[k].lines = NULL;
		script_lines_free(lines);
		cli_output_discard(&event->file);
		perch__output_close(&event->dump);
		free(event->path);
	}
	free(script->event);
}
