/* SPDX-License-Identifier: MIT */
/*
 * perch explain: where calls are seen (a watched program, a log of strace) and what becomes of them
 * (text, JSON).
 *
 *   explain_watch*.c  ptrace and a seccomp filter  ---+
 *                                                     +-->  explain_calls.c  ----> explain_print*.c
 *   explain_strace*.c a log                        ---+     explain_events.c        explain_told.c
 *                                                           numbers, descriptors    text, JSON
 */
#ifndef PERCH_CLI_EXPLAIN_H
#define PERCH_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/explain.h>

#define EXPLAIN_COMMAND "explain"

/* what is known of each process's events; explain_events.h */
struct explain_descriptors;
struct explain_event;
struct explain_dedup; /* which refusals were told already; explain_told.c */

struct explain_job {
	FILE *out; /* stderr, or the file of -o */
	bool json;
	bool colours; /* out is a terminal and NO_COLOR is not set */
	/* processes are those of a log: nothing can be asked about them */
	bool from_log;
	bool probe; /* further calls are allowed */
	/* 1: calls that succeeded too, and what they cannot have meant */
	int verbose;
	/* of this process: facts of the whole machine; NULL: another's log */
	struct perch_machine *machine;
	struct explain_descriptors *descriptors; /* made when the first is there */
	struct explain_dedup *told;
	uint64_t calls;	  /* of perf_event_open seen */
	uint64_t refused; /* of those */
	uint64_t operations_refused;
	uint64_t unreadable;	/* calls seen in part only */
	bool here_hint_printed; /* that facts of this machine would tell more of a log */
	bool write_failed;
	int write_error; /* the errno of the first that did */
};

/*
 * What the sources tell. process is the thread group, thread the caller. machine has the caller's
 * facts, and calls that are made in its place; NULL: nothing is known of the caller's machine.
 */

/* A call of perf_event_open has ended: fd >= 0, or call->errnum. */
void explain_handle_open(struct explain_job *job, pid_t process, pid_t thread,
			 const struct perch_open_call *call, int fd, struct perch_machine *machine);
/*
 * An mmap, ioctl or read of a descriptor has ended; operation->errnum 0 with result 0 bytes of a
 * read is end of file, otherwise success. The event's fields of the operation (attr, pid, cpu,
 * group_size, ring_size, other) are filled in here.
 */
void explain_handle_operation(struct explain_job *job, pid_t process, pid_t thread, int fd,
			      struct perch_operation *operation, long result,
			      struct perch_machine *machine);
/* Descriptors that came and went otherwise. An exec that succeeds closes those of
 * PERCH_FLAG_FD_CLOEXEC. */
void explain_handle_fork(struct explain_job *job, pid_t parent, pid_t child);
void explain_handle_exec(struct explain_job *job, pid_t process);
void explain_handle_close(struct explain_job *job, pid_t process, int fd);
void explain_handle_exit(struct explain_job *job, pid_t process);
/* Whether the descriptor is known to be an event's. */
bool explain_is_event(const struct explain_job *job, pid_t process, int fd);
void explain_job_clear(struct explain_job *job);

/* The two watchers return the exit status of the command: the program's own, or why it could not be
 * watched. */
int explain_trace_program(struct explain_job *job, char **arguments);
int explain_trace_process(struct explain_job *job, pid_t pid);
/* Explains a log of strace; "-" is stdin. Returns an exit status. */
int explain_strace(struct explain_job *job, const char *path);

/* Who made a call. */
struct explain_caller {
	pid_t process, thread;
	char name[64]; /* comm, cleaned; "" unknown */
	/* more than one process was seen: the name is worth telling */
	bool several;
	/* its facts, for the names of PMUs; NULL: nothing is known */
	struct perch_machine *machine;
	/* the machine's process is the caller, and has what pointers of the call point to */
	bool has_memory;
};

/* One failed call, told. number: of the perf_event_open call, from 1; of an operation, of its
 * descriptor's. */
void explain_print_call(struct explain_job *job, uint64_t number,
			const struct explain_caller *caller, const struct perch_open_call *call,
			const struct perch_explanation *explanation);
/* number 0: the descriptor was there before anything was seen. */
void explain_print_operation(struct explain_job *job, uint64_t number,
			     const struct explain_caller *caller, int fd,
			     const struct perch_operation *operation,
			     const struct perch_explanation *explanation);
/* A call that succeeded (verbose), with what it cannot have meant. */
void explain_print_success(struct explain_job *job, uint64_t number,
			   const struct explain_caller *caller, const struct perch_open_call *call,
			   int fd, const struct perch_finding *lint, size_t nr);
/* What is still to be told of repeated refusals, and the last line: how many calls, how many
 * refused. */
void explain_print_summary(struct explain_job *job);

/* The same as JSON: one object, one line. */
void explain_json_call(struct explain_job *job, uint64_t number,
		       const struct explain_caller *caller, const struct perch_open_call *call,
		       const struct perch_explanation *explanation);
/* event NULL: the descriptor was there before anything was seen. */
void explain_json_operation(struct explain_job *job, const struct explain_event *event,
			    const struct explain_caller *caller, int fd,
			    const struct perch_operation *operation,
			    const struct perch_explanation *explanation);
void explain_json_success(struct explain_job *job, uint64_t number,
			  const struct explain_caller *caller, const struct perch_open_call *call,
			  int fd, const struct perch_finding *lint, size_t nr);
/* --causes */
int explain_list_causes(bool json);

/*
 * What makes two refusals the same to a reader, who is told once: all that is said of them, but for
 * the CPU and the event (config), which are told with the number of times. number, fd, cpu: where
 * they differ.
 */
struct explain_refusal {
	uint64_t number;
	int fd;
	int cpu; /* -1: any, or unknown */
	pid_t process;
	int operation; /* enum perch_operation_kind + 1; 0: perf_event_open */
	unsigned long request;
	/* a hash of all messages and remedies, without that CPU and config */
	uint64_t text;
	int errnum;
	enum perch_cause cause;
	enum perch_confidence confidence;
	uint32_t type;
	uint64_t config;
};
/* Whether it was told already, and is counted now; never when verbose. What was counted of the one
 * before is printed first. */
bool explain_dedup_count(struct explain_job *job, const struct explain_refusal *refusal);
/* Prints the run of repetitions that ends because something else is told; and what is counted and
 * not told yet. */
void explain_dedup_print_last(struct explain_job *job);
void explain_dedup_print_all(struct explain_job *job);
void explain_dedup_free(struct explain_job *job);
/* Pushes out what was printed, and notes when that fails. */
void explain_flush(struct explain_job *job);

/* "ENOENT"; "errno 4000" in buffer. And back: 0 when there is no such name. */
const char *explain_format_errno(int errnum, char *buffer, size_t size);
int explain_parse_errno(const char *name, size_t length);

#endif
