/* SPDX-License-Identifier: MIT */
/* perch list -j: an array with an object for each event. */
#include <stdlib.h>
#include <jansson.h>

#include "list.h"
#include "options.h"

/* Strings of the machine may be invalid UTF-8, which JSON cannot have. */
static json_t *clean(const char *text)
{
	char clean[1024];

	perch_clean_text(text, clean, sizeof(clean));
	return json_string(clean);
}

static int add_format(void *context, const struct list_field *field)
{
	json_object_set_new(context, field->name, clean(field->text));
	return 0;
}

static int add_field(void *context, const struct list_field *field)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", clean(field->name));
	json_object_set_new(object, "type", clean(field->text));
	if (field->count)
		json_object_set_new(object, "count", json_integer(field->count));
	json_object_set_new(object, "offset", json_integer(field->offset));
	json_object_set_new(object, "size", json_integer(field->size));
	json_object_set_new(object, "signed", json_boolean(field->is_signed));
	json_object_set_new(object, "common", json_boolean(field->common));
	json_array_append_new(context, object);
	return 0;
}

/* From sysfs: the PMU of an event and the event's terms, or the PMU's format files. */
static void add_pmu(json_t *object, const struct list *list, const struct list_event *event)
{
	char *end;
	double scale;

	if (event->pmu)
		json_object_set_new(object, "pmu", clean(event->pmu->name));
	if (event->terms)
		json_object_set_new(object, "terms", clean(event->terms));
	if (event->unit)
		json_object_set_new(object, "unit", clean(event->unit));
	if (event->scale) {
		scale = strtod(event->scale, &end);
		if (end != event->scale && !*end)
			json_object_set_new(object, "scale", json_real(scale));
	}
	if (event->kind == LIST_RAW && event->pmu) {
		json_t *formats = json_object();

		list_visit_formats(list, event->pmu, add_format, formats);
		json_object_set_new(object, "formats", formats);
	}
}

static void add_state(json_t *object, const struct list_event *event)
{
	if (event->state == LIST_NOT_TRIED)
		return;
	json_object_set_new(object, "works", json_boolean(event->state == LIST_WORKS));
	if (event->state == LIST_WORKS)
		return;
	json_object_set_new(object, "errno", json_integer(event->reason.errnum));
	json_object_set_new(object, "cause", json_string(perch_cause_slug(event->reason.cause)));
	json_object_set_new(object, "error_kind",
			    json_string(perch_error_kind_slug(event->reason.kind)));
	json_object_set_new(object, "reason", clean(event->reason.message));
}

static json_t *json_event(const struct list *list, const struct list_event *event)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", clean(event->name));
	if (event->alias)
		json_object_set_new(object, "alias", clean(event->alias));
	json_object_set_new(object, "kind", json_string(list_kinds[event->kind].slug));
	if (event->form)
		json_object_set_new(object, "form", json_true());
	add_pmu(object, list, event);
	add_state(object, event);
	if (list->details && event->kind == LIST_TRACEPOINT) {
		json_t *fields = json_array();

		list_visit_fields(list, event->name, add_field, fields);
		json_object_set_new(object, "fields", fields);
	}
	return object;
}

/* One object per line, so that an event is found by grep. */
int list_print_json(const struct list *list)
{
	puts("[");
	for (size_t i = 0; i < list->nr; i++) {
		json_t *object = json_event(list, &list->event[i]);
		int rc = json_dumpf(object, stdout, JSON_COMPACT);

		json_decref(object);
		if (rc)
			return CLI_EXIT_FAILURE;
		puts(i + 1 < list->nr ? "," : "");
	}
	puts("]");
	return 0;
}
