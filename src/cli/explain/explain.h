/* SPDX-License-Identifier: MIT */
/*
 * perch explain: sources of system calls (a traced program, a log of strace), their explanation,
 * and its output as text or JSON. A file uses those below it:
 *
 *   explain.c                                   options, output file
 *   explain_ptrace*.c     explain_strace*.c     sources: ptrace with seccomp filters; a log
 *   (explain_ptrace.h)    (explain_strace.h)
 *            explain_calls.c                    explains what a source reports
 *   explain_print.c       explain_print_json.c  text; JSON
 *   explain_dedup.c                             counts refusals that were already printed
 *   explain_attr.c        explain_descriptors.c attrs as text; events of descriptors
 *   explain_names.c                             names of errnos, flags and requests
 */
#ifndef PERCH_CLI_EXPLAIN_H
#define PERCH_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/explain.h>

#define EXPLAIN_COMMAND "explain"

struct explain_descriptors; /* explain_descriptors.h */
struct explain_event;
struct explain_dedup; /* explain_dedup.c */

struct explain_job {
	FILE *out; /* stderr, stdout for a log, or the file of -o */
	bool json;
	bool colours;  /* out is a terminal and NO_COLOR is not set */
	bool from_log; /* the processes no longer exist: their facts cannot be read */
	bool probe;    /* further open calls are allowed */
	int verbose;   /* 1 also prints open calls that succeeded, with lint findings */
	/* facts of the whole machine, read by this process; NULL for a log of another machine */
	struct perch_machine *machine;
	struct explain_descriptors *descriptors; /* NULL until the first is added */
	struct explain_dedup *dedup;		 /* NULL until the first refusal */
	uint64_t calls;				 /* open calls seen */
	uint64_t refused;			 /* open calls that failed */
	uint64_t operations_refused;
	uint64_t unreadable; /* lines of a log that could not be parsed */
	bool start_failed;   /* the program was not started, and the reason was printed */
	bool here_hint_printed;
	bool write_failed;
	int write_error; /* errno of the first failed write */
};

/*
 * The functions that the sources call. process is the thread group, thread is the caller. machine
 * has the caller's facts and may run open calls in the caller; NULL if the caller's machine is
 * unknown.
 */

/* perf_event_open returned: fd >= 0, or call->errnum is set. */
void explain_handle_open(struct explain_job *job, pid_t process, pid_t thread,
			 const struct perch_open_call *call, int fd, struct perch_machine *machine);
enum explain_filter_action {
	EXPLAIN_FILTER_KILLS, /* ended the caller */
	EXPLAIN_FILTER_TRAPS, /* sent it SIGSYS */
	EXPLAIN_FILTER_TRACES /* wants a tracer; without one, ENOSYS */
};
/* A seccomp filter refused perf_event_open with something else than an errno. */
void explain_handle_filtered_open(struct explain_job *job, pid_t process, pid_t thread,
				  const struct perch_open_call *call,
				  enum explain_filter_action action);
/*
 * mmap, ioctl, read or readv of a descriptor returned. operation->errnum 0 is success; for a read
 * with result 0 it is end of file. The members that describe the event (attr, pid, cpu, flags,
 * group_size, ring_size, other) are filled in here.
 */
void explain_handle_operation(struct explain_job *job, pid_t process, pid_t thread, int fd,
			      struct perch_operation *operation, long result,
			      struct perch_machine *machine);
/* The same of a descriptor that is another file (what its link in /proc shows), by mistake. */
void explain_handle_other_file(struct explain_job *job, pid_t process, pid_t thread, int fd,
			       const struct perch_operation *operation, const char *file);
void explain_handle_fork(struct explain_job *job, pid_t parent, pid_t child);
/* A successful exec closes the descriptors opened with PERCH_FLAG_FD_CLOEXEC. */
void explain_handle_exec(struct explain_job *job, pid_t process);
/* The descriptor was closed. Its number is recorded for later use of it, which is a mistake. */
void explain_handle_close(struct explain_job *job, pid_t process, int fd);
/* The number belongs to another file now. */
void explain_handle_reuse(struct explain_job *job, pid_t process, int fd);
void explain_handle_exit(struct explain_job *job, pid_t process);
/* True if an event was opened with the descriptor and it was not closed since. */
bool explain_is_event(const struct explain_job *job, pid_t process, int fd);
/*
 * True if a failed system call of this descriptor, or of this number without a descriptor, concerns
 * events: it is an event, or was one until it was closed, or is negative after a refused open call.
 */
bool explain_concerns_events(const struct explain_job *job, pid_t process, int fd);
/* Frees descriptors and counted refusals. */
void explain_job_clear(struct explain_job *job);

/* The sources return the exit status of the command: that of the program, or of a failed trace. */
int explain_trace_program(struct explain_job *job, char **arguments);
int explain_trace_process(struct explain_job *job, pid_t pid);
/* Explains a log of strace; "-" is stdin. */
int explain_strace(struct explain_job *job, const char *path);

/* The caller of a system call. */
struct explain_caller {
	pid_t process, thread;
	char name[64];		       /* comm, cleaned; "" if unknown */
	bool several_processes;	       /* more than one was seen: output names the process */
	struct perch_machine *machine; /* for names of PMUs; NULL if unknown */
	bool has_memory; /* pointers of the call can be read through the machine's process */
};

/*
 * Prints one refusal. number is that of the open call, counted from 1; for an operation that of the
 * open call that returned the descriptor, 0 if that was not seen. event is NULL if it is unknown or
 * was closed.
 */
void explain_print_call(struct explain_job *job, uint64_t number,
			const struct explain_caller *caller, const struct perch_open_call *call,
			const struct perch_explanation *explanation);
void explain_print_operation(struct explain_job *job, uint64_t number,
			     const struct explain_event *event, const struct explain_caller *caller,
			     int fd, const struct perch_operation *operation,
			     const struct perch_explanation *explanation);
/* Prints an open call that succeeded, with its lint findings (-v). */
void explain_print_success(struct explain_job *job, uint64_t number,
			   const struct explain_caller *caller, const struct perch_open_call *call,
			   int fd, const struct perch_finding *lint, size_t nr);
/* Prints the counts of repeated refusals, and the totals to stderr. */
void explain_print_summary(struct explain_job *job);
/* Flushes the output; records a failed write in the job. */
void explain_flush(struct explain_job *job);

/* Like the functions above, as JSON with one object per line. */
void explain_json_call(struct explain_job *job, uint64_t number,
		       const struct explain_caller *caller, const struct perch_open_call *call,
		       const struct perch_explanation *explanation);
void explain_json_operation(struct explain_job *job, uint64_t number,
			    const struct explain_event *event, const struct explain_caller *caller,
			    int fd, const struct perch_operation *operation,
			    const struct perch_explanation *explanation);
void explain_json_success(struct explain_job *job, uint64_t number,
			  const struct explain_caller *caller, const struct perch_open_call *call,
			  int fd, const struct perch_finding *lint, size_t nr);

/*
 * Two refusals are equal if all but number, fd, cpu and, for open calls, config is equal. The first
 * is printed in full, the others are counted.
 */
struct explain_refusal {
	uint64_t number;
	int fd;
	int cpu; /* -1 if any or unknown */
	pid_t process;
	int operation; /* enum perch_operation_kind + 1; 0 for perf_event_open */
	unsigned long request;
	uint64_t text; /* hash of messages and remedies, without this CPU and config */
	int errnum;
	enum perch_cause cause;
	enum perch_confidence confidence;
	uint32_t type;
	uint64_t config;
};
/*
 * Returns true and counts the refusal if an equal one was printed before. Returns false if the
 * caller must print it; always with -v. May print the count of the refusal printed last.
 */
bool explain_dedup_count(struct explain_job *job, const struct explain_refusal *refusal);
/* Prints the count of the refusal that was printed last. Call this before other output. */
void explain_dedup_print_last(struct explain_job *job);
/* Prints all counts that are not printed yet. */
void explain_dedup_print_all(struct explain_job *job);
void explain_dedup_free(struct explain_job *job);

#endif
