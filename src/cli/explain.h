/* SPDX-License-Identifier: MIT */
/*
 * perch explain: where calls are seen (a watched program, a log of strace) and what becomes of them (text, JSON).
 *
 *   explain_watch*.c  ptrace and a seccomp filter  ---+
 *                                                     +-->  explain_calls.c  ---->  explain_print.c
 *   explain_strace*.c a log                        ---+     numbers, descriptors    text, JSON
 */
#ifndef PERCH_CLI_EXPLAIN_H
#define PERCH_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/explain.h>

#define EXPLAIN_COMMAND "explain"

struct explain_descriptors;		/* what is known of each process's events; explain_calls.c */

struct explain_job {
	FILE *out;			/* stderr, or the file of -o */
	bool json;
	bool colours;			/* out is a terminal and NO_COLOR is not set */
	bool probe;			/* further calls are allowed */
	int verbose;			/* 1: calls that succeeded too, and what they cannot have meant */
	struct perch_machine *machine;	/* of this process, for facts that are the whole machine's; NULL: another machine's log */
	struct explain_descriptors *descriptors;
	uint64_t calls;			/* of perf_event_open seen */
	uint64_t refused;		/* of those */
	uint64_t operations_refused;
	uint64_t unreadable;		/* calls seen in part only */
	bool write_failed;
};

/*
 * What the sources tell. process is the thread group, thread the caller. machine has the caller's facts, and calls that are
 * made in its place; NULL: nothing is known of the caller's machine.
 */

/* A call of perf_event_open has ended: fd >= 0, or call->errnum. */
void explain_opened(struct explain_job *job, pid_t process, pid_t thread, const struct perch_call *call, int fd,
		    struct perch_machine *machine);
/*
 * An mmap, ioctl or read of a descriptor has ended; operation->errnum 0 with result 0 bytes of a read is end of file,
 * otherwise success. The event's fields of the operation (attr, pid, cpu, group_size, ring_size, other) are filled in here.
 */
void explain_operated(struct explain_job *job, pid_t process, pid_t thread, int fd, struct perch_operation *operation,
		      long result, struct perch_machine *machine);
/* Descriptors that came and went otherwise. */
void explain_forked(struct explain_job *job, pid_t parent, pid_t child);
void explain_closed(struct explain_job *job, pid_t process, int fd);
void explain_ended(struct explain_job *job, pid_t process);
/* Whether the descriptor is known to be an event's. */
bool explain_is_event(const struct explain_job *job, pid_t process, int fd);
void explain_forget(struct explain_job *job);

/* The two watchers return the exit status of the command: the program's own, or why it could not be watched. */
int explain_watch_program(struct explain_job *job, char **arguments);
int explain_watch_process(struct explain_job *job, pid_t pid);
/* Explains a log of strace; "-" is stdin. Returns an exit status. */
int explain_strace(struct explain_job *job, const char *path);

/* One failed call, told. number: of the perf_event_open call, from 1. */
void explain_print_call(struct explain_job *job, uint64_t number, pid_t thread, const struct perch_call *call,
			const struct perch_explanation *explanation);
void explain_print_operation(struct explain_job *job, uint64_t number, pid_t thread,
			     const struct perch_operation *operation, const struct perch_explanation *explanation);
/* A call that succeeded (verbose), with what it cannot have meant. */
void explain_print_success(struct explain_job *job, uint64_t number, pid_t thread, const struct perch_call *call, int fd,
			   const struct perch_finding *lint, size_t nr);
/* The last line: how many calls, how many refused. */
void explain_print_summary(struct explain_job *job);

#endif
