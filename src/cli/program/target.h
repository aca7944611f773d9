/* SPDX-License-Identifier: MIT */
/* The targets of a command: options -p, -t, -u, -a, -C and -G. */
#ifndef PERCH_CLI_TARGET_H
#define PERCH_CLI_TARGET_H

#include <sys/types.h>
#include <perch/event.h>
#include <perch/open.h>

#include "options.h"

/* The options as given. */
struct cli_target {
	const char *pids;     /* -p 12,34: processes with all their threads */
	const char *tids;     /* -t 12,34: threads */
	const char *user;     /* -u NAME: processes of this user */
	const char *cpu_list; /* -C 0-2,5 */
	bool all_cpus;	      /* -a */
	const char *cgroups;  /* -G a,b: the command assigns them to its events */
};

/* True if the target is CPUs, not processes or threads. */
bool cli_target_system_wide(const struct cli_target *target);
/* True if there is -p, -t or -u. */
bool cli_target_has_tasks(const struct cli_target *target);
/* Refuses an option about new threads, such as -i, if the target is CPUs. */
int cli_target_check_inherit(const char *command, const struct cli_target *target,
			     const char *option);
/*
 * Parses the CPUs of -C; nr is 0 without -C. An offline CPU is an error. Returns 0, or the exit
 * status after it printed the error. The caller frees with perch_cpus_clear().
 */
int cli_target_cpus(const char *command, const struct cli_target *target,
		    struct perch_machine *machine, struct perch_cpus *cpus);
/*
 * Adds the threads of all processes, or of those of one user without this process. A process that
 * ends meanwhile is skipped. Returns 0 or the exit status.
 */
int cli_target_add_processes(const char *command, const uid_t *user, struct perch_machine *machine,
			     struct perch_targets *targets);
/*
 * Adds the threads of -p, -t and -u (on each CPU of -C, if given) or the CPUs of -a and -C to
 * *targets. Without these options the list stays empty: the target is the program. -p with -a and
 * other contradictions are usage errors.
 */
int cli_target_choose(const char *command, const struct cli_target *target,
		      struct perch_machine *machine, struct perch_targets *targets);
/* The cgroup of each event: NULL when -G did not set it, "" for no cgroup. */
struct cli_cgroups {
	char **name;
	size_t nr;   /* elements of name: the number of events at the last -G */
	size_t used; /* events with a name of their own */
};
/*
 * Assigns the names of "a,,b" to the events without a cgroup, in order. A single name is assigned
 * to all events so far. Later events have no cgroup, as in perf. Returns 0, or the exit status
 * after it printed the error.
 */
int cli_assign_cgroups(const char *command, struct cli_cgroups *cgroups, const char *names,
		       size_t nr_events);
void cli_clear_cgroups(struct cli_cgroups *cgroups);
/*
 * Returns the next name of "a,,b", which may be empty and which the caller frees, or NULL if out of
 * memory. *list becomes the rest, NULL after the last name.
 */
char *cli_next_name(const char **list);
#endif
