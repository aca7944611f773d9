/* SPDX-License-Identifier: MIT */
/* What the commands that open events have in common. */
#include <errno.h>
#include <string.h>

#include "event_options.h"
#include "options.h"

static int refuse_negation(const char *command, const char *name)
{
	cli_usage_error(command, "--%s cannot be negated", name);
	return -EINVAL;
}

int cli_add_events(const char *command, struct perch_events *events, size_t *last, const char *text,
		   struct perch_machine *machine)
{
	size_t before = events->nr;
	struct perch_error err;
	int rc;

	if (!text)
		return refuse_negation(command, "event");
	rc = perch_events_add(events, text, machine, &err);
	if (rc < 0)
		cli_event_error(command, text, &err);
	else
		*last = before;
	return rc;
}

int cli_add_event_file(const char *command, struct perch_events *events, size_t *last, const char *path,
		       struct perch_machine *machine)
{
	size_t before = events->nr;
	struct perch_error err;
	int rc;

	if (!path)
		return refuse_negation(command, "event-file");
	rc = perch_events_add_file(events, path, machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	else
		*last = before;
	return rc;
}

int cli_add_filter(const char *command, struct perch_events *events, size_t last, const char *filter,
		   struct perch_machine *machine)
{
	struct perch_error err;
	int rc;

	if (!filter)
		return refuse_negation(command, "filter");
	if (!events->nr) {
		cli_usage_error(command, "--filter must follow the -e that it filters, and there is none before it");
		return -EINVAL;
	}
	rc = perch_events_set_filter(events, last, filter, machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	return rc;
}

#define MODIFIERS "ukhIGHpPSDWeb"

/* "cycles:p": has the text letters of its own? A group's letters are not in it, and name= may end in anything. */
static bool has_letters(const struct perch_event *event)
{
	const char *colon = strpbrk(event->name, ":/"), *next;
	bool place = event->attr.type == PERCH_TYPE_TRACEPOINT || event->attr.type == PERCH_TYPE_BREAKPOINT || event->path;
	bool any = event->modified || event->attr.precise_ip || event->attr.pinned || event->attr.exclusive ||
		   event->attr.exclude_idle || event->precise_max || event->weak || event->leader_sampling ||
		   event->bpf_counter;

	if (place && colon)
		colon = strpbrk(colon + 1, ":/");	/* the first one is part of sched:sched_switch, mem:0x1000 */
	while (colon && (next = strpbrk(colon + 1, ":/")))
		colon = next;
	return any && colon && colon[1] && !colon[1 + strspn(colon + 1, MODIFIERS)];
}

void cli_user_space_name(const struct perch_event *event, char *name, size_t size)
{
	size_t length = strlen(event->name);
	bool slash = length && event->name[length - 1] == '/';
	int whole = snprintf(name, size, "%s%s", event->name, slash || has_letters(event) ? "u" : ":u");

	if (whole >= (int)size)
		snprintf(name, size, "%s", event->name);
}

/* The remedies of the library that a command's user cannot follow, by a word in them. */
static const struct { enum perch_error_kind kind; const char *field, *word, *remedy; } rewordings[] = {
	{ PERCH_ERROR_NOT_SUPPORTED, "sample_type", "BRANCH_STACK",
	  "leave out -b, -j, branch_type= and --call-graph lbr; --call-graph fp or dwarf finds callers without" },
	{ PERCH_ERROR_NOT_SUPPORTED, "sample_type", "STACK_USER",
	  "leave out --user-regs, --intr-regs and --call-graph dwarf" },
	{ PERCH_ERROR_PARANOID, "sample_type", "PHYS_ADDR", "leave out --phys-data, or give the program CAP_PERFMON" },
	{ PERCH_ERROR_PARANOID, "sample_type", "RAW",
	  "count it with perch stat, which is allowed, or give the program CAP_PERFMON" },
	{ PERCH_ERROR_PRIVILEGE, "sample_type", "REGS_INTR", "leave out --intr-regs" },
	{ PERCH_ERROR_PARANOID, "branch_sample_type", "exclude_kernel", "say -j any,u, or measure user space alone (:u)" },
	{ PERCH_ERROR_NOT_SUPPORTED, "sample_regs_user", "masks", "name fewer registers with --user-regs and --intr-regs" },
	{ PERCH_ERROR_NOT_SUPPORTED, "aux_output", "aux_output", "leave out the term aux-output" },
	{ PERCH_ERROR_NOT_SUPPORTED, "aux_action", "aux_start_paused", "leave out the term aux-action" },
	{ PERCH_ERROR_NOT_SUPPORTED, "exclude_idle", "exclude_idle", "leave out the modifier I" },
	{ PERCH_ERROR_BAD_FIELD, "config", "PERCH_COUNT_SW", "'perch list sw' shows the software events and their names" },
	{ PERCH_ERROR_CONFLICT, "exclude_kernel", "exclude_kernel", "leave out the modifier u, or --all-user" },
	{ PERCH_ERROR_BAD_FIELD, "bp_len", "sizeof(long)", "write mem:ADDRESS:x without a length" },
	{ PERCH_ERROR_BAD_GROUP, "group_fd", "group_fd", "put the AUX event first in the braces of the group" },
	{ PERCH_ERROR_BAD_GROUP, "pinned", "members", "write D and e behind the group's brace, or at its first event" },
};

const struct perch_error *cli_reword(const struct perch_error *err, struct perch_error *reworded)
{
	for (size_t i = 0; i < CLI_NR(rewordings); i++)
		if (rewordings[i].kind == err->kind && !strcmp(rewordings[i].field, err->field) &&
		    strstr(err->remedy, rewordings[i].word)) {
			*reworded = *err;
			perch_error_remedy(reworded, "%s", rewordings[i].remedy);
			return reworded;
		}
	return err;
}

int cli_open_error(const char *command, const struct perch_error *err)
{
	struct perch_error reworded;

	return cli_error(command, cli_reword(err, &reworded));
}
