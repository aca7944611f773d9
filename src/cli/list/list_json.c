/* SPDX-License-Identifier: MIT */
/* perch list -j: an array of events, one a line. */
#include <stdlib.h>
#include <jansson.h>

#include "list.h"
#include "options.h"

/* Strings of a machine may be no UTF-8, which JSON must be. */
static json_t *clean(const char *text)
{
	char clean[1024];

	perch_clean_text(clean, sizeof(clean), text);
	return json_string(clean);
}

static int add_format(void *context, const struct list_part *part)
{
	json_object_set_new(context, part->name, clean(part->text));
	return 0;
}

static int add_field(void *context, const struct list_part *part)
{
	json_t *field = json_object();

	json_object_set_new(field, "name", clean(part->name));
	json_object_set_new(field, "type", clean(part->text));
	if (part->count)
		json_object_set_new(field, "count", json_integer(part->count));
	json_object_set_new(field, "offset", json_integer(part->offset));
	json_object_set_new(field, "size", json_integer(part->size));
	json_object_set_new(field, "signed", json_boolean(part->is_signed));
	json_object_set_new(field, "common", json_boolean(part->common));
	json_array_append_new(context, field);
	return 0;
}

/* What sysfs tells of a PMU's event, or of the PMU's terms. */
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

		list_each_format(list, event->pmu, add_format, formats);
		json_object_set_new(object, "formats", formats);
	}
}

static void add_state(json_t *object, const struct list_event *event)
{
	if (event->state == LIST_UNTRIED)
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

		list_each_field(list, event->name, add_field, fields);
		json_object_set_new(object, "fields", fields);
	}
	return object;
}

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
