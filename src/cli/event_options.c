/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <perch/disassembler.h>
#include <perch/explain.h>
#include <perch/function.h>
#include <perch/symbol.h>

#include "event_options.h"
#include "options.h"

/*
 * Ends an option that has added the events from the index `first` on. Checks their user probes:
 * prints an error for a probe inside an instruction, and a note if that is not known.
 */
static int end_option(const char *command, struct cli_event_list *events, size_t first)
{
	struct perch_error err;
	int rc = 0;

	events->last = first;
	for (size_t i = first; i < events->list.nr && rc >= 0; i++) {
		rc = perch_check_probe_start(&events->list.event[i], events->machine, &err);
		if (rc > 0)
			cli_note(command, "%s", err.message);
		else if (rc)
			cli_error(command, &err);
	}
	return rc < 0 ? rc : 0;
}

/* Only the matches of a pattern have names that are not in the text. */
static void note_matches(const char *command, const struct cli_event_list *events, const char *text)
{
	size_t nr = 0;

	for (size_t i = events->last; i < events->list.nr; i++)
		nr += events->list.event[i].path && !strstr(text, events->list.event[i].name);
	if (nr)
		cli_note(command, "'%s': %zu function%s, %s event", text, nr, nr == 1 ? "" : "s",
			 nr == 1 ? "one" : "each is an");
}

int cli_add_events(const char *command, struct cli_event_list *events, const char *text)
{
	size_t before = events->list.nr;
	struct perch_error err;
	int rc = perch_events_add(&events->list, text, events->machine, &err);

	if (rc < 0) {
		cli_event_error(command, text, &err);
		return rc;
	}
	rc = end_option(command, events, before);
	if (!rc)
		note_matches(command, events, text);
	return rc;
}

int cli_add_event_file(const char *command, struct cli_event_list *events, const char *path)
{
	size_t before = events->list.nr;
	struct perch_error err;
	int rc = perch_events_add_file(&events->list, path, events->machine, &err);

	if (rc >= 0)
		return end_option(command, events, before);
	cli_error(command, &err);
	return rc;
}

int cli_add_filter(const char *command, struct cli_event_list *events, const char *filter)
{
	struct perch_error err;
	int rc;

	if (!events->list.nr) {
		cli_usage_error(command,
				"--filter applies to the preceding -e: put an -e before it");
		return -EINVAL;
	}
	rc = perch_events_set_filter(&events->list, events->last, filter, events->machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	return rc;
}

#define MODIFIERS "ukhIGHpPSDWeb"

/* True if the name ends in modifiers, such as "cycles:p". The modifiers of a group are not in the
 * names of its events, and name= can set any name. */
static bool has_modifiers(const struct perch_event *event)
{
	const char *colon = strpbrk(event->name, ":/"), *next;
	bool has_colon = event->attr.type == PERCH_TYPE_TRACEPOINT ||
			 event->attr.type == PERCH_TYPE_BREAKPOINT || event->path;
	bool any = event->modified || event->attr.precise_ip || event->attr.pinned ||
		   event->attr.exclusive || event->attr.exclude_idle || event->precise_max ||
		   event->weak || event->leader_sampling || event->bpf_counter;

	if (has_colon && colon)
		/* the first colon is part of sched:sched_switch or mem:0x1000 */
		colon = strpbrk(colon + 1, ":/");
	while (colon && (next = strpbrk(colon + 1, ":/")))
		colon = next;
	return any && colon && colon[1] && !colon[1 + strspn(colon + 1, MODIFIERS)];
}

void cli_user_space_name(const struct perch_event *event, char *name, size_t size)
{
	size_t length = strlen(event->name);
	bool slash = length && event->name[length - 1] == '/';
	int whole = snprintf(name, size, "%s%s", event->name,
			     slash || has_modifiers(event) ? "u" : ":u");

	if (whole >= (int)size)
		snprintf(name, size, "%s", event->name);
}

/* Remedies of the library name members of the attr; these name options and modifiers. */
static const struct {
	enum perch_cause cause;
	const char *field; /* the first wrong field; NULL for any field */
	const char *remedy;
} remedies[] = {
	{ PERCH_CAUSE_BRANCH_STACK, NULL,
	  "leave out -b, -j, branch_type= and --call-graph lbr; --call-graph fp and dwarf need no branches" },
	{ PERCH_CAUSE_BRANCH_PRIVILEGE, NULL, "use -j any,u, or record only user space (:u)" },
	{ PERCH_CAUSE_NO_REGS, NULL, "leave out --user-regs, --intr-regs and --call-graph dwarf" },
	{ PERCH_CAUSE_EXTENDED_REGS, NULL,
	  "name fewer registers with --user-regs and --intr-regs" },
	{ PERCH_CAUSE_LOCKDOWN_REGS, NULL, "leave out --intr-regs" },
	{ PERCH_CAUSE_SAMPLE_CGROUP, NULL, "leave out --all-cgroups" },
	{ PERCH_CAUSE_PHYS_ADDR, NULL, "leave out --phys-data, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_TRACEPOINT_RAW, "sample_type",
	  "count it with perch stat, which is allowed, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_CALLCHAIN_KERNEL, NULL,
	  "use --user-callchains, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_NAMESPACES, NULL, "leave out --namespaces, or give the program CAP_PERFMON" },
	{ PERCH_CAUSE_CLOCKID_NMI, NULL, "use -k monotonic or -k monotonic_raw" },
	{ PERCH_CAUSE_STACK_DEPTH, NULL,
	  "use fewer frames (max-stack=), or raise kernel.perf_event_max_stack as root" },
	{ PERCH_CAUSE_EXCLUDE_IDLE, NULL, "leave out the modifier I" },
	{ PERCH_CAUSE_EXCLUDE_GUEST, NULL, "use the modifier H, which counts only the host" },
	{ PERCH_CAUSE_NO_INTERRUPT, NULL,
	  "count it with perch stat, or sample by a timer: -e cpu-clock" },
	{ PERCH_CAUSE_PMU_SAMPLING, NULL,
	  "count it with perch stat, or sample by a timer: -e cpu-clock" },
	{ PERCH_CAUSE_PMU_TASK, NULL, "measure all processes of the CPUs (-a)" },
	{ PERCH_CAUSE_AUX_OUTPUT, NULL, "leave out the term aux-output" },
	{ PERCH_CAUSE_AUX_START_PAUSED, NULL, "leave out the term aux-action" },
	{ PERCH_CAUSE_SOFTWARE_EVENT, NULL, "'perch list sw' lists the software events" },
	{ PERCH_CAUSE_BREAKPOINT_KERNEL, NULL, "leave out the modifier u, or --all-user" },
	{ PERCH_CAUSE_PMU_EXCLUDE, NULL,
	  "leave out the modifiers u, k, h, I, G and H, and --all-user and --all-kernel" },
	{ PERCH_CAUSE_PRECISE, NULL, "use less precision: cycles instead of cycles:pp" },
	{ PERCH_CAUSE_PRECISE_COUNT, NULL, "leave out the modifier p" },
	{ PERCH_CAUSE_PMU_PERIOD, "freq", "use a fixed period (-c)" },
	{ PERCH_CAUSE_BRANCH_FILTER, "freq", "use -e branch-brs -c 1000003 -b" },
	{ PERCH_CAUSE_BREAKPOINT_LENGTH, NULL,
	  "use mem:ADDRESS/LENGTH with 1, 2, 4 or 8 bytes, mem:ADDRESS:x without a length" },
	{ PERCH_CAUSE_GROUP_AUX, NULL, "put the AUX event first in the braces of the group" },
	{ PERCH_CAUSE_NONE, "write_backward",
	  "leave out the term; --overwrite is the option, for all events" },
	{ PERCH_CAUSE_GROUP_PINNED, NULL,
	  "use the modifiers D and e after the brace of the group, or at its first event" },
};

/*
 * Detects a breakpoint on a kernel address in an event that counts only user space. perch may have
 * added the modifier u itself, for a user who may not profile the kernel; then the next refusal is
 * the lack of privilege, which is the one to report.
 */
static bool lacks_kernel_breakpoints(const struct perch_error *err)
{
	return err->cause == PERCH_CAUSE_BREAKPOINT_KERNEL && err->next[0];
}

const struct perch_error *cli_replace_remedy(const struct perch_error *err,
					     struct perch_error *replaced)
{
	if (lacks_kernel_breakpoints(err)) {
		*replaced = *err;
		perch_error_remedy(
			replaced,
			"run as root and leave out the modifier u: a breakpoint on a kernel address needs CAP_SYS_ADMIN");
		replaced->next[0] = '\0';
		return replaced;
	}
	for (size_t i = 0; i < CLI_NR(remedies); i++)
		if (remedies[i].cause == err->cause &&
		    (!remedies[i].field || !strcmp(remedies[i].field, err->field))) {
			*replaced = *err;
			perch_error_remedy(replaced, "%s", remedies[i].remedy);
			return replaced;
		}
	return err;
}

int cli_open_error(const char *command, const struct perch_error *err)
{
	struct perch_error replaced;

	return cli_error(command, cli_replace_remedy(err, &replaced));
}

void cli_note_filter(const char *command, const struct perch_event *event,
		     struct perch_machine *machine)
{
	struct perch_error note;

	if (perch_event_lint_filter(event, machine, &note) > 0)
		cli_note(command, "%s; %s", note.message, note.remedy);
}

void cli_note_ignored(const char *command, const char *name, const struct perch_attr *attr,
		      struct perch_machine *machine)
{
	/* other findings may be about what the command has added itself */
	static const enum perch_cause asked_for[] = {
		PERCH_CAUSE_LINT_HARDWARE_SAMPLE,
		PERCH_CAUSE_LINT_PRECISE,
		PERCH_CAUSE_LINT_EXCLUDE_IDLE,
		PERCH_CAUSE_LINT_RAW_BITS,
	};
	struct perch_attr without_source = *attr;
	const struct perch_open_call call = { .attr = &without_source, .cpu = -1, .group_fd = -1 };
	struct perch_finding found[8];
	size_t nr;

	/* --data is for the address, and software events have one */
	without_source.sample_type &= ~(uint64_t)PERCH_SAMPLE_DATA_SRC;
	nr = perch_lint(&call, machine, found, CLI_NR(found));
	for (size_t i = 0; i < nr && i < CLI_NR(found); i++)
		for (size_t j = 0; j < CLI_NR(asked_for); j++)
			if (found[i].cause == asked_for[j])
				cli_note(command, "%s: %s", name, found[i].message);
}

void cli_use_debug_info(struct perch_machine *machine)
{
	perch_machine_set_demangle(machine, perch_demangle);
	perch_machine_set_probe_finder(machine, perch_find_probe);
}
