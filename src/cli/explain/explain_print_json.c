/* SPDX-License-Identifier: MIT */
/* Refusals as JSON: one object per line for each refused call, without deduplication. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <jansson.h>

#include "explain.h"
#include "options.h"
#include "trace/descriptors.h"
#include "trace/names.h"

/* A message may quote a string of the program that is not UTF-8. */
static json_t *clean(const char *text)
{
	char buffer[1024];

	perch_clean_text(text, buffer, sizeof(buffer));
	return json_string(buffer);
}

/* jansson has signed integers: larger numbers are hexadecimal strings. */
static json_t *number(uint64_t value)
{
	char hex[32];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(hex, sizeof(hex), "%#" PRIx64, value);
	return json_string(hex);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void add_field(void *context, const char *name, uint64_t value, bool is_signed)
{
	set(context, name, is_signed ? json_integer((int32_t)value) : number(value));
}

static json_t *attr_object(const struct perch_attr *attr)
{
	struct perch_attr copy;
	json_t *object = json_object();

	if (!trace_copy_attr(&copy, attr))
		return object;
	explain_attr_for_each_field(&copy, add_field, object);
	explain_attr_for_each_unknown_word(attr, add_field, object);
	return object;
}

static json_t *fields_array(const struct perch_finding *finding)
{
	json_t *array = json_array();

	for (size_t i = 0; i < finding->nr_fields; i++)
		json_array_append_new(array, clean(finding->field[i]));
	return array;
}

static void set_finding(json_t *object, const struct perch_finding *finding)
{
	set(object, "cause", json_string(perch_cause_slug(finding->cause)));
	set(object, "kind", json_string(perch_error_kind_slug(finding->kind)));
	set(object, "fields", fields_array(finding));
	set(object, "since", clean(finding->since));
	set(object, "message", clean(finding->message));
	set(object, "remedy", clean(finding->remedy));
}

static json_t *findings_array(const struct perch_finding *findings, size_t nr)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nr; i++) {
		json_t *object = json_object();

		set_finding(object, &findings[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *new_object(uint64_t call, const struct trace_caller *caller)
{
	json_t *object = json_object();

	set(object, "call", call ? number(call) : json_null());
	set(object, "pid", json_integer(caller->process));
	set(object, "tid", json_integer(caller->thread));
	if (caller->name[0])
		set(object, "comm", clean(caller->name));
	return object;
}

static void set_explanation(json_t *object, const struct perch_explanation *explanation)
{
	size_t nr = explanation->nr_findings < PERCH_FINDINGS_MAX ? explanation->nr_findings
								  : PERCH_FINDINGS_MAX;
	size_t next = explanation->nr_next < PERCH_NEXT_MAX ? explanation->nr_next : PERCH_NEXT_MAX;
	char name[32];

	set(object, "errno", json_integer(explanation->errnum));
	set(object, "errno_name",
	    explanation->errnum
		    ? json_string(trace_format_errno(explanation->errnum, name, sizeof(name)))
		    : json_null());
	set_finding(object, &explanation->finding[0]);
	set(object, "next", findings_array(explanation->next, next));
	set(object, "confidence", json_string(perch_confidence_name(explanation->confidence)));
	if (explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		set(object, "candidates", findings_array(explanation->finding, nr));
	set(object, "probes", json_integer(explanation->open_calls));
}

static void set_call(json_t *object, const struct perch_open_call *call)
{
	json_t *arguments = json_object();

	set(object, "attr", attr_object(call->attr));
	if (call->attr_is_partial || !call->attr)
		set(object, "attr_is_partial", json_true());
	set(arguments, "pid", json_integer(call->pid));
	set(arguments, "cpu", json_integer(call->cpu));
	set(arguments, "group_fd", json_integer(call->group_fd));
	set(arguments, "flags", number(call->flags));
	set(object, "args", arguments);
}

static void write_line(struct explain_job *job, json_t *object)
{
	if (!object) {
		job->write_failed = true;
		job->write_error = ENOMEM;
		return;
	}
	json_dumpf(object, job->out, JSON_COMPACT);
	fputc('\n', job->out);
	json_decref(object);
	explain_flush(job);
}

static void object_call(struct trace_job *trace, uint64_t call_number,
			const struct trace_caller *caller, const struct perch_open_call *call,
			const struct perch_explanation *explanation)
{
	json_t *object = new_object(call_number, caller);

	set_explanation(object, explanation);
	if (!explanation->errnum)
		set(object, "signal", json_string("SIGSYS"));
	set_call(object, call);
	write_line(explain_job(trace), object);
}

/* First those of the open call that returned the descriptor; null if it was not seen. */
static json_t *operation_arguments(const struct trace_event *event, int fd,
				   const struct perch_operation *operation)
{
	json_t *arguments = json_object();
	char text[128];

	set(arguments, "pid", event ? json_integer(event->pid) : json_null());
	set(arguments, "cpu", event ? json_integer(event->cpu) : json_null());
	set(arguments, "group_fd", event ? json_integer(event->group_fd) : json_null());
	set(arguments, "flags", event ? number(event->flags) : json_null());
	set(arguments, "fd", json_integer(fd));
	if (operation->kind == PERCH_OPERATION_MMAP) {
		set(arguments, "address",
		    operation->address_known ? number(operation->address) : json_null());
		set(arguments, "length", number(operation->length));
		set(arguments, "protection", json_integer(operation->protection));
		set(arguments, "map_flags", json_integer(operation->map_flags));
		set(arguments, "offset", number(operation->offset));
	} else if (operation->kind == PERCH_OPERATION_IOCTL) {
		set(arguments, "request", number(operation->request));
		set(arguments, "request_name",
		    json_string(trace_format_request(operation->request, text, sizeof(text))));
		set(arguments, "argument", number(operation->argument));
		if (operation->filter)
			set(arguments, "filter", clean(operation->filter));
		if (operation->period_known)
			set(arguments, "period", number(operation->period));
	} else if (operation->kind == PERCH_OPERATION_MUNMAP) {
		set(arguments, "length", number(operation->length));
		set(arguments, "offset", number(operation->offset));
	} else {
		set(arguments, "size", number(operation->size));
	}
	return arguments;
}

static void object_operation(struct trace_job *trace, uint64_t call_number,
			     const struct trace_event *event, const struct trace_caller *caller,
			     int fd, const struct perch_operation *operation,
			     const struct perch_explanation *explanation)
{
	json_t *object = new_object(call_number, caller);

	set(object, "operation", json_string(trace_operation_name(operation->kind)));
	set_explanation(object, explanation);
	set(object, "attr", attr_object(operation->attr));
	if (!operation->attr)
		set(object, "attr_is_partial", json_true());
	set(object, "args", operation_arguments(event, fd, operation));
	write_line(explain_job(trace), object);
}

static void object_success(struct trace_job *trace, uint64_t call_number,
			   const struct trace_caller *caller, const struct perch_open_call *call,
			   int fd, const struct perch_finding *lint, size_t nr)
{
	json_t *object = new_object(call_number, caller);

	set(object, "errno", json_integer(0));
	set(object, "fd", json_integer(fd));
	set(object, "lint", findings_array(lint, nr));
	set_call(object, call);
	write_line(explain_job(trace), object);
}

const struct trace_output explain_json = {
	.call = object_call,
	.operation = object_operation,
	.success = object_success,
	.note = explain_note,
};
