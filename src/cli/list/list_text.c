/* SPDX-License-Identifier: MIT */
/* perch list as text: a line for each event, then the reasons why some do not work. */
#include <string.h>

#include "list.h"
#include "options.h"

static int print_pair(const struct list_field *field, unsigned indent)
{
	char line[512], clean[512];

	snprintf(line, sizeof(line), "%s: %s", field->name, field->text);
	perch_clean_text(line, clean, sizeof(clean));
	printf("%*s%s\n", indent, "", clean);
	return 0;
}

static int print_format(void *context, const struct list_field *field)
{
	(void)context;
	return print_pair(field, 6);
}

static int print_field(void *context, const struct list_field *field)
{
	char line[512], clean[512], count[16] = "";

	(void)context;
	if (field->common)
		return 0;
	if (field->count)
		snprintf(count, sizeof(count), "[%u]", field->count);
	snprintf(line, sizeof(line), "%s %s%s", field->text, field->name, count);
	perch_clean_text(line, clean, sizeof(clean));
	printf("      %-48s offset %u, %u %s%s\n", clean, field->offset, field->size,
	       field->size == 1 ? "byte" : "bytes", field->is_signed ? ", signed" : "");
	return 0;
}

static void print_word(const char *what, const char *text)
{
	char clean[512];

	if (!text)
		return;
	perch_clean_text(text, clean, sizeof(clean));
	printf("      %s: %s\n", what, clean);
}

static void print_details(const struct list *list, const struct list_event *event)
{
	print_word("terms", event->terms);
	print_word("unit", event->unit);
	print_word("scale", event->scale);
	if (event->kind == LIST_RAW && event->pmu)
		list_visit_formats(list, event->pmu, print_format, NULL);
	if (event->kind == LIST_TRACEPOINT)
		list_visit_fields(list, event->name, print_field, NULL);
}

static void print_event(const struct list_event *event)
{
	char name[1280], clean[1280];

	snprintf(name, sizeof(name), "%s%s%s", event->name, event->alias ? " OR " : "",
		 event->alias ? event->alias : "");
	perch_clean_text(name, clean, sizeof(clean));
	printf("  %-50s [%s]", clean, list_kinds[event->kind].label);
	if (event->state == LIST_NOT_SUPPORTED || event->state == LIST_NOT_PERMITTED)
		printf(" (%s here)", list_state_text(event->state));
	putchar('\n');
}

static bool same_reason(const struct list_event *one, const struct list_event *other)
{
	return one->state == other->state && one->reason.kind == other->reason.kind &&
	       one->reason.cause == other->reason.cause &&
	       one->reason.errnum == other->reason.errnum;
}

static bool is_repeated(const struct list *list, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_reason(&list->event[i], &list->event[index]))
			return true;
	return false;
}

/* Writes "10 hardware events, 33 hardware cache events": events that fail for one reason. */
static void describe_failed(const struct list *list, const struct list_event *like, char *text,
			    size_t size)
{
	size_t nr[LIST_KINDS] = { 0 }, used = 0;

	for (size_t i = 0; i < list->nr; i++)
		nr[list->event[i].kind] += same_reason(&list->event[i], like);
	text[0] = '\0';
	for (unsigned kind = 0; kind < LIST_KINDS && used < size; kind++)
		if (nr[kind])
			used += snprintf(text + used, size - used, "%s%zu %.*s", used ? ", " : "",
					 nr[kind],
					 (int)strlen(list_kinds[kind].plural) -
						 (nr[kind] == 1 && kind != LIST_PFM),
					 list_kinds[kind].plural);
}

static void print_reason(const char *what, const char *state, const struct perch_error *reason)
{
	printf("\n%s %s: ", what, state);
	perch_error_print(stdout, reason);
}

static void print_reasons(const struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct list_event *event = &list->event[i];
		char text[256], state[64];

		if ((event->state != LIST_NOT_SUPPORTED && event->state != LIST_NOT_PERMITTED) ||
		    is_repeated(list, i))
			continue;
		describe_failed(list, event, text, sizeof(text));
		snprintf(state, sizeof(state), "%s here", list_state_text(event->state));
		print_reason(text, state, &event->reason);
	}
	if (list->no_tracepoints.kind != PERCH_ERROR_NONE)
		print_reason("tracepoints", "not listed", &list->no_tracepoints);
}

void list_print_text(const struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (i && list->event[i].kind != list->event[i - 1].kind)
			putchar('\n');
		print_event(&list->event[i]);
		if (list->details)
			print_details(list, &list->event[i]);
	}
	print_reasons(list);
}
