/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "messages.h"
#include "switch_options.h"

/* Lists the names of the events. */
static void list_names(const struct perch_file_event *events, size_t nr, char *list, size_t size)
{
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		char name[128];

		perch_clean_text(events[i].name, name, sizeof(name));
		if (used + strlen(name) + 8 > size) {
			snprintf(list + used, size - used, ", ...");
			return;
		}
		used += snprintf(list + used, size - used, "%s%s", i ? ", " : "", name);
	}
}

/* Stores the index of the event with the name of an option. */
static int find_event(const struct cli_input *input, const char *option, const char *name,
		      unsigned *event)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);
	char list[512];

	if (!name)
		return 0;
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(events[i].name, name)) {
			*event = (unsigned)i;
			return 0;
		}
	list_names(events, nr, list, sizeof(list));
	return cli_usage_error(input->command, "%s: the file has no event '%s'; it has: %s", option,
			       name, list);
}

int cli_switch_open(struct cli_switch *options, const struct cli_input *input)
{
	int status = find_event(input, "--switch-on", options->on, &options->on_event);

	if (options->show && !options->on && !options->off)
		return cli_usage_error(input->command,
				       "--show-on-off-events shows the samples of --switch-on and "
				       "--switch-off: add one of them");
	options->is_off = options->on;
	return status ? status
		      : find_event(input, "--switch-off", options->off, &options->off_event);
}

bool cli_switch_is_off(struct cli_switch *options, unsigned event)
{
	if (options->is_off) {
		if (event != options->on_event)
			return true;
		options->is_off = false;
		options->was_on = true;
		return !options->show;
	}
	if (options->off && event == options->off_event) {
		options->is_off = true;
		return !options->show;
	}
	return false;
}

void cli_switch_print_note(const struct cli_switch *options, const char *command)
{
	if (options->on && !options->was_on)
		cli_note(command, "no sample is of the event '%s' (--switch-on): all are left out",
			 options->on);
}
