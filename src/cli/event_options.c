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

int cli_add_event_file(const char *command, struct perch_events *events, size_t *last,
		       const char *path, struct perch_machine *machine)
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

int cli_add_filter(const char *command, struct perch_events *events, size_t last,
		   const char *filter, struct perch_machine *machine)
{
	struct perch_error err;
	int rc;

	if (!filter)
		return refuse_negation(command, "filter");
	if (!events->nr) {
		cli_usage_error(
			command,
			"--filter must follow the -e that it filters, and there is none before it");
		return -EINVAL;
	}
	rc = perch_events_set_filter(events, last, filter, machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	return rc;
}

#define MODIFIERS "ukhIGHpPSDWeb"

/* "cycles:p": has the text letters of its own? A group's letters are not in it, and name= may end
 * in anything. */
static bool has_letters(const struct perch_event *event)
{
	const char *colon = strpbrk(event->name, ":/"), *next;
	bool place = event->attr.type == PERCH_TYPE_TRACEPOINT ||
		     event->attr.type == PERCH_TYPE_BREAKPOINT || event->path;
	bool any = event->modified || event->attr.precise_ip || event->attr.pinned ||
		   event->attr.exclusive || event->attr.exclude_idle || event->precise_max ||
		   event->weak || event->leader_sampling || event->bpf_counter;

	if (place && colon)
		/* the first one is part of sched:sched_switch, mem:0x1000 */
		colon = strpbrk(colon + 1, ":/");
	while (colon && (next = strpbrk(colon + 1, ":/")))
		colon = next;
	return any && colon && colon[1] && !colon[1 + strspn(colon + 1, MODIFIERS)];
}

void cli_user_space_name(const struct perch_event *event, char *name, size_t size)
{
	size_t length = strlen(event->name);
	bool slash = length && event->name[length - 1] == '/';
	int whole =
		snprintf(name, size, "%s%s", event->name, slash || has_letters(event) ? "u" : ":u");

	if (whole >= (int)size)
		snprintf(name, size, "%s", event->name);
}

/* Where the library's remedy speaks of the attr: what a user of the command does instead. */
static const struct {
	enum perch_cause cause;
	const char *field; /* the first one at fault; NULL: any */
	const char *remedy;
} rewordings[] = {
	{ PERCH_CAUSE_BRANCH_STACK, NULL,
	  "leave out -b, -j, branch_type= and --call-graph lbr; --call-graph fp or dwarf finds callers without" },
	{ PERCH_CAUSE_BRANCH_PRIVILEGE, NULL, "say -j any,u, or measure user space alone (:u)" },
	{ PERCH_CAUSE_NO_REGS, NULL, "leave out --user-regs, --intr-regs and --call-graph dwarf" },
	{ PERCH_CAUSE_EXTENDED_REGS, NULL, "name fewer registers with --user-regs and --intr-regs" },
	{ PERCH_CAUSE_LOCKDOWN_REGS, NULL, "leave out --intr-regs" },
	{ PERCH_CAUSE_SAMPLE_CGROUP, NULL, "leave out --all-cgroups" },
	{ PERCH_CAUSE_PHYS_ADDR, NULL, "leave out --phys-data, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_TRACEPOINT_RAW, "sample_type",
	  "count it with perch stat, which is allowed, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_CALLCHAIN_KERNEL, NULL,
	  "say --user-callchains, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_NAMESPACES, NULL, "leave out --namespaces, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_CLOCKID_NMI, NULL, "say -k monotonic or -k monotonic_raw" },
	{ PERCH_CAUSE_STACK_DEPTH, NULL,
	  "ask for fewer frames (max-stack=), or as root raise kernel.perf_event_max_stack" },
	{ PERCH_CAUSE_EXCLUDE_IDLE, NULL, "leave out the modifier I" },
	{ PERCH_CAUSE_EXCLUDE_GUEST, NULL, "write the modifier H: the host alone" },
	{ PERCH_CAUSE_NO_INTERRUPT, NULL,
	  "count it with perch stat, or sample by a timer: -e cpu-clock" },
	{ PERCH_CAUSE_PMU_SAMPLING, NULL,
	  "count it with perch stat, or sample by a timer: -e cpu-clock" },
	{ PERCH_CAUSE_PMU_TASK, NULL, "measure all processes of the CPUs (-a)" },
	{ PERCH_CAUSE_AUX_OUTPUT, NULL, "leave out the term aux-output" },
	{ PERCH_CAUSE_AUX_START_PAUSED, NULL, "leave out the term aux-action" },
	{ PERCH_CAUSE_SOFTWARE_EVENT, NULL,
	  "'perch list sw' shows the software events and their names" },
	{ PERCH_CAUSE_BREAKPOINT_KERNEL, NULL, "leave out the modifier u, or --all-user" },
	{ PERCH_CAUSE_PMU_EXCLUDE, NULL,
	  "leave out the modifiers u, k, h, I, G and H, and --all-user and --all-kernel" },
	{ PERCH_CAUSE_PRECISE, NULL, "ask for less: cycles in place of cycles:pp" },
	{ PERCH_CAUSE_PRECISE_COUNT, NULL, "leave out the modifier p" },
	{ PERCH_CAUSE_PMU_PERIOD, "freq", "sample at a fixed period: -c" },
	{ PERCH_CAUSE_BRANCH_FILTER, "freq", "say -e branch-brs -c 1000003 -b there" },
	{ PERCH_CAUSE_BREAKPOINT_LENGTH, NULL,
	  "write mem:ADDRESS/LENGTH with 1, 2, 4 or 8 bytes, mem:ADDRESS:x without a length" },
	{ PERCH_CAUSE_GROUP_AUX, NULL, "put the AUX event first in the braces of the group" },
	{ PERCH_CAUSE_NONE, "write_backward",
	  "leave the term off: --overwrite makes a flight recorder, of all events" },
	{ PERCH_CAUSE_GROUP_PINNED, NULL,
	  "write D and e behind the group's brace, or at its first event" },
};

/*
 * A breakpoint on the kernel, in an event that counts user space alone. That may be perch's own
 * doing, for a user whom the kernel would refuse its side: then the privilege is what is missing,
 * with the modifier or without.
 */
static bool lacks_kernel_breakpoints(const struct perch_error *err)
{
	return err->cause == PERCH_CAUSE_BREAKPOINT_KERNEL && err->next[0];
}

const struct perch_error *cli_reword(const struct perch_error *err, struct perch_error *reworded)
{
	if (lacks_kernel_breakpoints(err)) {
		*reworded = *err;
		perch_error_remedy(
			reworded,
			"run as root, and without the modifier u: a breakpoint on the kernel needs CAP_SYS_ADMIN");
		reworded->next[0] = '\0';
		return reworded;
	}
	for (size_t i = 0; i < CLI_NR(rewordings); i++)
		if (rewordings[i].cause == err->cause &&
		    (!rewordings[i].field || !strcmp(rewordings[i].field, err->field))) {
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
