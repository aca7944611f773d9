/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/probes.h>

#include "probes.h"
#include "program/signals.h"

/* For the function of atexit(3): the events of a command, those of --switch-output-event, and those
 * for paths of calls. */
static struct perch_probes *defined[3];
static size_t nr_defined;

static void remove_defined(void)
{
	while (nr_defined)
		perch_probes_free(defined[--nr_defined]);
}

int cli_define_until_exit(struct perch_events *events, struct perch_machine *machine,
			  struct perch_error *err)
{
	int rc;

	if (nr_defined == CLI_NR(defined))
		return 0;
	cli_hold_signals();
	rc = perch_probes_define(&defined[nr_defined], events, machine, err);
	if (!rc && !nr_defined++)
		atexit(remove_defined);
	if (!nr_defined)
		cli_release_signals(); /* there is nothing to remove */
	return rc;
}

static bool has_probe(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].path)
			return true;
	return false;
}

static bool has_arguments(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].arguments)
			return true;
	return false;
}

/* A USDT probe has arguments that nobody asked for. */
static bool asks_for_arguments(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].arguments && strncmp(events->event[i].name, "usdt:", 5))
			return true;
	return false;
}

static bool may_define(struct perch_machine *machine)
{
	char path[PATH_MAX];

	return !perch_machine_tracefs(machine, path, sizeof(path) - sizeof("/uprobe_events"),
				      NULL) &&
	       !access(strcat(path, "/uprobe_events"), W_OK);
}

/* Of functions it is notable without arguments, too: places of theirs can be missing. */
static void note_unread(const char *command, const struct perch_events *events, bool arguments)
{
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].unread &&
		    (arguments || strncmp(events->event[i].name, "usdt:", 5)))
			cli_note(command, "'%s': not read: %s", events->event[i].name,
				 events->event[i].unread);
}

int cli_define_probes(const char *command, struct cli_probes wanted,
		      const struct cli_target *target, struct perch_events *events,
		      struct perch_machine *machine)
{
	const bool inherit = wanted.inherit && !cli_target_system_wide(target);
	bool arguments = wanted.arguments && has_arguments(events);
	struct perch_error err;

	/* the open call of an ordinary user is refused, and the refusal is explained */
	if (!has_probe(events) || !perch_machine_privileged(machine))
		return 0;
	note_unread(command, events, wanted.arguments);
	if (arguments && !inherit && !asks_for_arguments(events) && !may_define(machine)) {
		cli_note(command, "the arguments of USDT probes are not read: this needs a "
				  "tracefs that is mounted and writable");
		arguments = false;
	}
	if (!inherit && !arguments)
		return 0;
	if (cli_define_until_exit(events, machine, &err)) {
		if (inherit && err.errnum != EINVAL)
			perch_error_remedy(
				&err,
				"measure only the first thread with -i, or every process with -a, or mount tracefs and make it writable");
		return cli_error(command, &err);
	}
	return 0;
}
