/* SPDX-License-Identifier: MIT */
/*
 * Prints the events of each argument for events.py: "string<TAB>index leader name=... field=value
 * ..." with hexadecimal values. The fields of the event's attr come first, then modifiers, then
 * sampling.FIELD, the fields of the attr that samplers open.
 */
#include <inttypes.h>
#include <stdio.h>
#include <perch/open.h>

static void print_number(const char *name, uint64_t value)
{
	if (value)
		printf(" %s=%#" PRIx64, name, value);
}

static void print_fields(const char *prefix, const struct perch_attr *attr)
{
	const struct perch_attr_field *field;
	char name[64];
	size_t nr;

	field = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s%s", prefix, field[i].name);
		print_number(name, perch_attr_get(attr, &field[i]));
	}
}

/* The attr when the event is opened with the options of perf record. */
static void print_sampling(const struct perch_event *event)
{
	static const struct perch_options options = {
		.frequency = 4000,
		.sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME,
		.inherit = 1,
	};
	struct perch_error err;
	struct perch_attr attr;

	if (perch_attr_build(&attr, event, &options, &err))
		printf(" refused=0x1 (%s)", err.message);
	else
		print_fields("sampling.", &attr);
}

static void print_modifiers(const struct perch_event *event)
{
	print_number("precise_max", event->precise_max);
	print_number("leader_sampling", event->leader_sampling);
	print_number("weak", event->weak);
	print_number("bpf_counter", event->bpf_counter);
}

static void print_event(const char *text, const struct perch_events *events, size_t index)
{
	const struct perch_event *event = &events->event[index];

	printf("%s\t%zu %d name=%s", text, index, event->leader, event->name);
	print_fields("", &event->attr);
	print_modifiers(event);
	print_sampling(event);
	putchar('\n');
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct perch_events events;
		struct perch_error err;

		if (perch_events_parse(&events, argv[i], NULL, &err)) {
			printf("%s\terror column=%d %s. %s\n", argv[i], err.column, err.message,
			       err.remedy);
			continue;
		}
		for (size_t index = 0; index < events.nr; index++)
			print_event(argv[i], &events, index);
		perch_events_clear(&events);
	}
	return 0;
}
