/* SPDX-License-Identifier: MIT */
/* Refusals as JSON: one object per line for each refused call, without deduplication. */
#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "explain.h"
#include "options.h"
#include "trace/descriptors.h"
#include "trace/names.h"

/* The line of one call. */
struct line {
	struct perch__output out;
	struct perch__json_writer json;
};

/* A message may quote a string of the program that is not UTF-8. */
static void put_clean(struct perch__json_writer *json, const char *name, const char *text)
{
	char buffer[1024];

	perch_clean_text(text, buffer, sizeof(buffer));
	perch__json_put_text(json, name, buffer);
}

/* Many readers have signed integers: larger numbers are hexadecimal strings. */
static void put_number(struct perch__json_writer *json, const char *name, uint64_t value)
{
	if (value <= INT64_MAX)
		perch__json_put_integer(json, name, value);
	else
		perch__json_put_hex(json, name, value);
}

static void put_int(struct perch__json_writer *json, const char *name, int value)
{
	perch__json_put_signed(json, name, value);
}

static void add_field(void *context, const char *name, uint64_t value, bool is_signed)
{
	if (is_signed)
		put_int(context, name, (int32_t)value);
	else
		put_number(context, name, value);
}

static void put_attr(struct perch__json_writer *json, const struct perch_attr *attr)
{
	struct perch_attr copy;

	perch__json_put_object(json, "attr");
	if (trace_copy_attr(&copy, attr)) {
		explain_attr_for_each_field(&copy, add_field, json);
		explain_attr_for_each_unknown_word(attr, add_field, json);
	}
	perch__json_end(json);
}

static void put_finding(struct perch__json_writer *json, const struct perch_finding *finding)
{
	perch__json_put_text(json, "cause", perch_cause_slug(finding->cause));
	perch__json_put_text(json, "kind", perch_error_kind_slug(finding->kind));
	perch__json_put_array(json, "fields");
	for (size_t i = 0; i < finding->nr_fields; i++)
		put_clean(json, NULL, finding->field[i]);
	perch__json_end(json);
	put_clean(json, "since", finding->since);
	put_clean(json, "message", finding->message);
	put_clean(json, "remedy", finding->remedy);
}

static void put_findings(struct perch__json_writer *json, const char *name,
			 const struct perch_finding *findings, size_t nr)
{
	perch__json_put_array(json, name);
	for (size_t i = 0; i < nr; i++) {
		perch__json_put_object(json, NULL);
		put_finding(json, &findings[i]);
		perch__json_end(json);
	}
	perch__json_end(json);
}

/* Begins a line. Returns its writer; NULL without memory, which is an error of the output. */
static struct perch__json_writer *begin_line(struct explain_job *job, struct line *line,
					     uint64_t call, const struct trace_caller *caller)
{
	struct perch__json_writer *json = &line->json;

	*line = (struct line){ .json.out = &line->out };
	if (perch__output_open(&line->out, job->out)) {
		job->write_failed = true;
		job->write_error = ENOMEM;
		return NULL;
	}
	perch__json_begin_object(json);
	if (call)
		put_number(json, "call", call);
	else
		perch__json_put_null(json, "call");
	put_int(json, "pid", caller->process);
	put_int(json, "tid", caller->thread);
	if (caller->name[0])
		put_clean(json, "comm", caller->name);
	return json;
}

static void end_line(struct explain_job *job, struct line *line)
{
	perch__json_end(&line->json);
	perch__output_char(&line->out, '\n');
	perch__output_flush(&line->out);
	perch__output_close(&line->out);
	explain_flush(job);
}

static void put_explanation(struct perch__json_writer *json,
			    const struct perch_explanation *explanation)
{
	size_t nr = explanation->nr_findings < PERCH_FINDINGS_MAX ? explanation->nr_findings
								  : PERCH_FINDINGS_MAX;
	size_t next = explanation->nr_next < PERCH_NEXT_MAX ? explanation->nr_next : PERCH_NEXT_MAX;
	char name[32];

	put_int(json, "errno", explanation->errnum);
	if (explanation->errnum)
		perch__json_put_text(json, "errno_name",
				     trace_format_errno(explanation->errnum, name, sizeof(name)));
	else
		perch__json_put_null(json, "errno_name");
	put_finding(json, &explanation->finding[0]);
	put_findings(json, "next", explanation->next, next);
	perch__json_put_text(json, "confidence", perch_confidence_name(explanation->confidence));
	if (explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		put_findings(json, "candidates", explanation->finding, nr);
	put_number(json, "probes", explanation->open_calls);
}

static void put_call(struct perch__json_writer *json, const struct perch_open_call *call)
{
	put_attr(json, call->attr);
	if (call->attr_is_partial || !call->attr)
		perch__json_put_flag(json, "attr_is_partial", true);
	perch__json_put_object(json, "args");
	put_int(json, "pid", call->pid);
	put_int(json, "cpu", call->cpu);
	put_int(json, "group_fd", call->group_fd);
	put_number(json, "flags", call->flags);
	perch__json_end(json);
}

static void object_call(struct trace_job *trace, uint64_t call_number,
			const struct trace_caller *caller, const struct perch_open_call *call,
			const struct perch_explanation *explanation)
{
	struct explain_job *job = explain_job(trace);
	struct line line;
	struct perch__json_writer *json = begin_line(job, &line, call_number, caller);

	if (!json)
		return;
	put_explanation(json, explanation);
	if (!explanation->errnum)
		perch__json_put_text(json, "signal", "SIGSYS");
	put_call(json, call);
	end_line(job, &line);
}

/* First those of the open call that returned the descriptor; null if it was not seen. */
static void put_operation_arguments(struct perch__json_writer *json,
				    const struct trace_event *event, int fd,
				    const struct perch_operation *operation)
{
	static const char *const unknown[] = { "pid", "cpu", "group_fd", "flags" };
	char text[128];

	perch__json_put_object(json, "args");
	if (event) {
		put_int(json, "pid", event->pid);
		put_int(json, "cpu", event->cpu);
		put_int(json, "group_fd", event->group_fd);
		put_number(json, "flags", event->flags);
	} else {
		for (size_t i = 0; i < CLI_NR(unknown); i++)
			perch__json_put_null(json, unknown[i]);
	}
	put_int(json, "fd", fd);
	if (operation->kind == PERCH_OPERATION_MMAP) {
		if (operation->address_known)
			put_number(json, "address", operation->address);
		else
			perch__json_put_null(json, "address");
		put_number(json, "length", operation->length);
		put_int(json, "protection", operation->protection);
		put_int(json, "map_flags", operation->map_flags);
		put_number(json, "offset", operation->offset);
	} else if (operation->kind == PERCH_OPERATION_IOCTL) {
		put_number(json, "request", operation->request);
		perch__json_put_text(json, "request_name",
				     trace_format_request(operation->request, text, sizeof(text)));
		put_number(json, "argument", operation->argument);
		if (operation->filter)
			put_clean(json, "filter", operation->filter);
		if (operation->period_known)
			put_number(json, "period", operation->period);
	} else if (operation->kind == PERCH_OPERATION_MUNMAP) {
		put_number(json, "length", operation->length);
		put_number(json, "offset", operation->offset);
	} else {
		put_number(json, "size", operation->size);
	}
	perch__json_end(json);
}

static void object_operation(struct trace_job *trace, uint64_t call_number,
			     const struct trace_event *event, const struct trace_caller *caller,
			     int fd, const struct perch_operation *operation,
			     const struct perch_explanation *explanation)
{
	struct explain_job *job = explain_job(trace);
	struct line line;
	struct perch__json_writer *json = begin_line(job, &line, call_number, caller);

	if (!json)
		return;
	perch__json_put_text(json, "operation", trace_operation_name(operation->kind));
	put_explanation(json, explanation);
	put_attr(json, operation->attr);
	if (!operation->attr)
		perch__json_put_flag(json, "attr_is_partial", true);
	put_operation_arguments(json, event, fd, operation);
	end_line(job, &line);
}

static void object_success(struct trace_job *trace, uint64_t call_number,
			   const struct trace_caller *caller, const struct perch_open_call *call,
			   int fd, const struct perch_finding *lint, size_t nr)
{
	struct explain_job *job = explain_job(trace);
	struct line line;
	struct perch__json_writer *json = begin_line(job, &line, call_number, caller);

	if (!json)
		return;
	put_int(json, "errno", 0);
	put_int(json, "fd", fd);
	put_findings(json, "lint", lint, nr);
	put_call(json, call);
	end_line(job, &line);
}

const struct trace_output explain_json = {
	.call = object_call,
	.operation = object_operation,
	.success = object_success,
	.note = explain_note,
};
