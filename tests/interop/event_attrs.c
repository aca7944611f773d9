/* SPDX-License-Identifier: MIT */
/* Prints what each event string given means, for events.py: "string<TAB>index leader field=value ..." in C's hex. */
#include <inttypes.h>
#include <stdio.h>
#include <perch/event.h>

static void print_event(const char *text, const struct perch_events *events, size_t index)
{
	const struct perch_event *event = &events->event[index];
	const struct perch_attr_field *field;
	size_t nr;

	printf("%s\t%zu %d name=%s", text, index, event->leader, event->name);
	field = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (perch_attr_get(&event->attr, &field[i]))
			printf(" %s=%#" PRIx64, field[i].name, perch_attr_get(&event->attr, &field[i]));
	putchar('\n');
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct perch_events events;
		struct perch_error err;

		if (perch_events_parse(&events, argv[i], NULL, &err)) {
			printf("%s\terror column=%d %s. %s\n", argv[i], err.column, err.message, err.remedy);
			continue;
		}
		for (size_t index = 0; index < events.nr; index++)
			print_event(argv[i], &events, index);
		perch_events_clear(&events);
	}
	return 0;
}
