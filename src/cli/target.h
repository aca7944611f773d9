/* SPDX-License-Identifier: MIT */
/* Whom a command measures: -p, -t, -a, -C and -G, the same for all of them. */
#ifndef PERCH_CLI_TARGET_H
#define PERCH_CLI_TARGET_H

#include <perch/event.h>
#include <perch/open.h>

#include "options.h"

/* As asked for on the command line. */
struct cli_target {
	const char *pids;     /* -p 12,34: processes, all their threads */
	const char *tids;     /* -t 12,34: threads */
	const char *cpu_list; /* -C 0-2,5 */
	bool all_cpus;	      /* -a */
	const char *cgroups;  /* -G a,b: for the command to hand out among its events */
};

/* Rows for a command's table of options; the second without -G, for commands where the order of -e
 * and -G matters. */
#define CLI_TARGET_OPTIONS(target)                                                         \
	CLI_TARGET_OPTIONS_BUT_CGROUPS(target),                                            \
	{                                                                                  \
		'G', "cgroup", "NAME[,NAME]",                                              \
			"processes of these cgroups, on the CPUs of -a or -C", CLI_STRING, \
			&(target)->cgroups, NULL, false, false                             \
	}
/* clang-format off */
#define CLI_TARGET_OPTIONS_BUT_CGROUPS(target) \
	{ 'p', "pid", "PID[,PID]", "running processes", CLI_STRING, &(target)->pids, NULL, false, false }, \
	{ 't', "tid", "TID[,TID]", "running threads", CLI_STRING, &(target)->tids, NULL, false, false }, \
	{ 'a', "all-cpus", NULL, "everything on all CPUs", CLI_FLAG, &(target)->all_cpus, NULL, false, false }, \
	{ 'C', "cpu", "CPUS", "on these CPUs only: 0-2,5", CLI_STRING, &(target)->cpu_list, NULL, false, false }
/* clang-format on */

/* Neither processes nor threads: everything on some CPUs. */
bool cli_target_system_wide(const struct cli_target *target);
/*
 * The CPUs of -C; nr 0 without it. Tells of those that are offline. Returns 0 or the exit status
 * after having told what is wrong. Clear with perch_cpus_clear().
 */
int cli_target_cpus(const char *command, const struct cli_target *target,
		    struct perch_machine *machine, struct perch_cpus *cpus);
/*
 * Fills *targets: the threads of -p and -t (on each CPU of -C when there are any), or the CPUs of
 * -a and -C. Nothing where none of the options is there: the program is the target then.
 * Contradictions (-p with -a) are usage errors.
 */
int cli_target_choose(const char *command, const struct cli_target *target,
		      struct perch_machine *machine, struct perch_targets *targets);
/* What -G said, by event: NULL nothing, "" none. */
struct cli_cgroups {
	char **name;
	size_t nr;   /* of the array: events when the last -G came */
	size_t used; /* how many events names were handed out to, one by one */
};
/*
 * Hands "a,,b" out to the events that have none yet, in order; the first name, where it is the only
 * one, goes to all events so far. Later ones have none, as with perf. Returns 0 or the exit status
 * after having told what is wrong.
 */
int cli_hand_out_cgroups(const char *command, struct cli_cgroups *cgroups, const char *names,
			 size_t nr_events);
void cli_clear_cgroups(struct cli_cgroups *cgroups);
/* The next name of "a,,b", which may be empty, to be freed; *list: the rest, NULL behind the last
 * one. NULL: no memory. */
char *cli_next_name(const char **list);
/*
 * A probe whose attr points to a path is not inherited, and neither is its group: the kernel would
 * read the path from the memory of the process that forks, and refuse it the fork. Tells so where
 * it matters.
 */
void cli_target_tell_children(const char *command, const struct cli_target *target,
			      const struct perch_events *events);
#endif
