/* SPDX-License-Identifier: MIT */
/* perch list -j: an array with an object for each event. */
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "list.h"
#include "options.h"

/* Strings of the machine may have control characters. */
static void put_clean(struct perch__json_writer *json, const char *name, const char *text)
{
	char clean[1024];

	perch_clean_text(text, clean, sizeof(clean));
	perch__json_put_text(json, name, clean);
}

/* With all digits, and a point or an exponent. */
static void put_real(struct perch__json_writer *json, const char *name, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", number);
	perch__json_key(json, name);
	perch__output_text(json->out, text);
	if (!strpbrk(text, ".e"))
		perch__output_text(json->out, ".0");
}

static int add_format(void *context, const struct list_field *field)
{
	put_clean(context, field->name, field->text);
	return 0;
}

static int add_field(void *context, const struct list_field *field)
{
	struct perch__json_writer *json = context;

	perch__json_put_object(json, NULL);
	put_clean(json, "name", field->name);
	put_clean(json, "type", field->text);
	if (field->count)
		perch__json_put_integer(json, "count", field->count);
	perch__json_put_integer(json, "offset", field->offset);
	perch__json_put_integer(json, "size", field->size);
	perch__json_put_flag(json, "signed", field->is_signed);
	perch__json_put_flag(json, "common", field->common);
	perch__json_end(json);
	return 0;
}

/* From sysfs: the PMU of an event and the event's terms, or the PMU's format files. */
static void add_pmu(struct perch__json_writer *json, const struct list *list,
		    const struct list_event *event)
{
	char *end;
	double scale;

	if (event->pmu)
		put_clean(json, "pmu", event->pmu->name);
	if (event->terms)
		put_clean(json, "terms", event->terms);
	if (event->unit)
		put_clean(json, "unit", event->unit);
	if (event->scale) {
		scale = strtod(event->scale, &end);
		if (end != event->scale && !*end)
			put_real(json, "scale", scale);
	}
	if (event->kind == LIST_RAW && event->pmu) {
		perch__json_put_object(json, "formats");
		list_visit_formats(list, event->pmu, add_format, json);
		perch__json_end(json);
	}
}

static void add_state(struct perch__json_writer *json, const struct list_event *event)
{
	if (event->state == LIST_NOT_TRIED)
		return;
	perch__json_put_flag(json, "works", event->state == LIST_WORKS);
	if (event->state == LIST_WORKS)
		return;
	perch__json_put_signed(json, "errno", event->reason.errnum);
	perch__json_put_text(json, "cause", perch_cause_slug(event->reason.cause));
	perch__json_put_text(json, "error_kind", perch_error_kind_slug(event->reason.kind));
	put_clean(json, "reason", event->reason.message);
}

static void put_event(struct perch__json_writer *json, const struct list *list,
		      const struct list_event *event)
{
	perch__json_begin_object(json);
	put_clean(json, "name", event->name);
	if (event->alias)
		put_clean(json, "alias", event->alias);
	perch__json_put_text(json, "kind", list_kinds[event->kind].slug);
	if (event->form)
		perch__json_put_flag(json, "form", true);
	add_pmu(json, list, event);
	add_state(json, event);
	if (list->details && event->kind == LIST_TRACEPOINT) {
		perch__json_put_array(json, "fields");
		list_visit_fields(list, event->name, add_field, json);
		perch__json_end(json);
	}
	perch__json_end(json);
}

int list_print_array(size_t nr, list_put_item *put, const void *list)
{
	struct perch__output out;
	struct perch__json_writer json = { .out = &out };

	if (perch__output_open(&out, stdout))
		return CLI_EXIT_FAILURE;
	perch__output_text(&out, "[\n");
	for (size_t i = 0; i < nr; i++) {
		put(&json, list, i);
		perch__output_text(&out, i + 1 < nr ? ",\n" : "\n");
	}
	perch__output_text(&out, "]\n");
	perch__output_flush(&out);
	perch__output_close(&out);
	return out.error ? CLI_EXIT_FAILURE : 0;
}

static void put_nth_event(struct perch__json_writer *json, const void *list, size_t nth)
{
	const struct list *events = list;

	put_event(json, events, &events->event[nth]);
}

int list_print_json(const struct list *list)
{
	return list_print_array(list->nr, put_nth_event, list);
}
