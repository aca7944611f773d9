/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "commands/event_list.h"
#include "messages.h"
#include "options.h"

void cli_put_between(struct cli_event_format *list)
{
	fputs(list->between, list->out);
	list->between = ", ";
}

/* The words of the attr with several names. perf prints all of them. */
static const char *shown_name(const char *field)
{
	static const struct {
		const char *field, *shown;
	} names[] = {
		{ "sample_period", "{ sample_period, sample_freq }" },
		{ "sample_freq", "{ sample_period, sample_freq }" },
		{ "wakeup_events", "{ wakeup_events, wakeup_watermark }" },
		{ "wakeup_watermark", "{ wakeup_events, wakeup_watermark }" },
		{ "bp_addr", "{ bp_addr, config1 }" },
		{ "config1", "{ bp_addr, config1 }" },
		{ "bp_len", "{ bp_len, config2 }" },
		{ "config2", "{ bp_len, config2 }" },
	};

	for (size_t i = 0; i < CLI_NR(names); i++)
		if (!strcmp(names[i].field, field))
			return names[i].shown;
	return field;
}

static int put_attr_field(void *context, const struct perch_field *field)
{
	struct cli_event_format *list = context;

	if (!field->value)
		return 0;
	cli_put_between(list);
	fprintf(list->out, "%s: ", shown_name(field->name));
	if (field->kind == PERCH_FIELD_FLAGS)
		fputs(field->text, list->out);
	else if (field->kind == PERCH_FIELD_HEX || !strcmp(field->name, "bp_len"))
		fprintf(list->out, "%#" PRIx64, field->value);
	else if (field->kind == PERCH_FIELD_SIGNED)
		fprintf(list->out, "%" PRId64, (int64_t)field->value);
	else
		fprintf(list->out, "%" PRIu64, field->value);
	return 0;
}

size_t cli_put_group(const struct cli_event_format *list, const struct perch_file_event *events,
		     size_t nr)
{
	size_t members = events->members > 1 && events->members <= nr ? events->members : 1;

	if (members > 1)
		fputc('{', list->out);
	for (size_t i = 0; i < members; i++) {
		if (i)
			fputc(',', list->out);
		cli_put_clean(list->out, events[i].name);
	}
	if (members > 1)
		fputc('}', list->out);
	fputc('\n', list->out);
	return members;
}

void cli_put_event(struct cli_event_format *list, const struct perch_file_event *event)
{
	cli_put_clean(list->out, event->name);
	list->between = ": ";
	if (list->verbose) {
		perch_attr_each_field(&event->attr, put_attr_field, list);
	} else if (list->frequency) {
		cli_put_between(list);
		fprintf(list->out, "sample_%s=%" PRIu64, event->attr.freq ? "freq" : "period",
			event->attr.sample_period);
	}
}

void cli_put_events(struct cli_event_format *list, const struct perch_file_event *events, size_t nr)
{
	for (size_t i = 0; i < nr;) {
		if (list->groups) {
			i += cli_put_group(list, &events[i], nr - i);
			continue;
		}
		cli_put_event(list, &events[i++]);
		fputc('\n', list->out);
	}
}
