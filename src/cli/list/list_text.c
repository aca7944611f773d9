/* SPDX-License-Identifier: MIT */
/* perch list for people: a line an event, and below the list why some of them do not work. */
#include <string.h>

#include "list.h"
#include "options.h"

static int print_part(const struct list_part *part, unsigned indent)
{
	char line[512], whole[512];

	snprintf(line, sizeof(line), "%s: %s", part->name, part->text);
	perch_clean_text(whole, sizeof(whole), line);
	printf("%*s%s\n", indent, "", whole);
	return 0;
}

static int print_format(void *context, const struct list_part *part)
{
	(void)context;
	return print_part(part, 6);
}

static int print_field(void *context, const struct list_part *part)
{
	char line[512], whole[512], count[16] = "";

	(void)context;
	if (part->common)
		return 0;
	if (part->count)
		snprintf(count, sizeof(count), "[%u]", part->count);
	snprintf(line, sizeof(line), "%s %s%s", part->text, part->name, count);
	perch_clean_text(whole, sizeof(whole), line);
	printf("      %-48s offset %u, %u %s%s\n", whole, part->offset, part->size,
	       part->size == 1 ? "byte" : "bytes", part->is_signed ? ", signed" : "");
	return 0;
}

static void print_word(const char *what, const char *text)
{
	char clean[512];

	if (!text)
		return;
	perch_clean_text(clean, sizeof(clean), text);
	printf("      %s: %s\n", what, clean);
}

static void print_details(const struct list *list, const struct list_event *event)
{
	print_word("terms", event->terms);
	print_word("unit", event->unit);
	print_word("scale", event->scale);
	if (event->kind == LIST_RAW && event->pmu)
		list_each_format(list, event->pmu, print_format, NULL);
	if (event->kind == LIST_TRACEPOINT)
		list_each_field(list, event->name, print_field, NULL);
}

static void print_event(const struct list_event *event)
{
	char name[1280], whole[1280];

	snprintf(name, sizeof(name), "%s%s%s", event->name, event->alias ? " OR " : "",
		 event->alias ? event->alias : "");
	perch_clean_text(whole, sizeof(whole), name);
	printf("  %-50s [%s]", whole, list_kinds[event->kind].label);
	if (event->state == LIST_UNSUPPORTED || event->state == LIST_FORBIDDEN)
		printf(" (%s here)", list_state_text(event->state));
	putchar('\n');
}

static bool same_reason(const struct list_event *one, const struct list_event *other)
{
	return one->state == other->state && one->reason.kind == other->reason.kind &&
	       one->reason.errnum == other->reason.errnum;
}

static bool told_before(const struct list *list, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_reason(&list->event[i], &list->event[index]))
			return true;
	return false;
}

/* "10 hardware events, 33 hardware cache events": how many are refused for the reason of one of
 * them. */
static void count_refused(const struct list *list, const struct list_event *like, char *text,
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

		if ((event->state != LIST_UNSUPPORTED && event->state != LIST_FORBIDDEN) ||
		    told_before(list, i))
			continue;
		count_refused(list, event, text, sizeof(text));
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
