/* SPDX-License-Identifier: MIT */
/*
 * The system calls about events that other programs make, and why the kernel refuses them. It is a
 * part of the command, `perch explain`. A file calls only files below its own:
 *
 *	ptrace*.c (ptrace.h)	strace*.c (strace.h)	sources: a traced program; a log of strace
 *	calls.c			explains what a source reports, and passes it to the output
 *	descriptors.c		the events of the descriptors of every process
 *	names.c			names of errnos, flags and requests
 */
#ifndef PERCH_TRACE_H
#define PERCH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <perch/explain.h>

struct trace_descriptors; /* descriptors.h */
struct trace_event;
struct trace_output;
struct tracer; /* ptrace.h */

struct trace_job {
	const struct trace_output *output;
	bool from_log; /* the processes no longer exist: their facts cannot be read */
	bool probe;    /* further open calls are allowed */
	int verbose;   /* 1 also reports open calls that succeeded, with lint findings */
	/* facts of the whole machine, read by this process; NULL for a log of another machine */
	struct perch_machine *machine;
	struct trace_descriptors *descriptors; /* NULL until the first is added */
	uint64_t calls;			       /* open calls seen */
	uint64_t refused;		       /* open calls that failed */
	uint64_t operations_refused;
	uint64_t unreadable; /* lines of a log, or calls, that could not be read */
};

/* The caller of a system call. */
struct trace_caller {
	pid_t process, thread;
	char name[64];		       /* comm, cleaned; "" if unknown */
	bool several_processes;	       /* more than one was seen: output names the process */
	struct perch_machine *machine; /* for names of PMUs; NULL if unknown */
	bool has_memory; /* pointers of the call can be read through the machine's process */
};

/* Where the command writes what was found. */
struct trace_output {
	/*
	 * An open call was refused. number is its own, counted from 1. An errno of 0 in the
	 * explanation is SIGSYS.
	 */
	void (*call)(struct trace_job *job, uint64_t number, const struct trace_caller *caller,
		     const struct perch_open_call *call,
		     const struct perch_explanation *explanation);
	/*
	 * An operation was refused. number is that of the open call that returned the descriptor, 0
	 * if that was not seen. event is NULL if it is unknown or was closed.
	 */
	void (*operation)(struct trace_job *job, uint64_t number, const struct trace_event *event,
			  const struct trace_caller *caller, int fd,
			  const struct perch_operation *operation,
			  const struct perch_explanation *explanation);
	/* An open call succeeded (verbose). lint has what its attr says in vain. */
	void (*success)(struct trace_job *job, uint64_t number, const struct trace_caller *caller,
			const struct perch_open_call *call, int fd,
			const struct perch_finding *lint, size_t nr);
	/* One line about the trace itself. */
	void (*note)(struct trace_job *job, const char *text);
};

/* ---- ptrace.c: traced programs ---- */

/*
 * Prepares the trace of a program that the caller then forks, which waits before exec. setup is a
 * mapping that both share.
 */
int trace_program_new(struct trace_job *job, struct tracer **tracer, struct perch_error *err);
/* Called in the child just before exec: installs the filter. */
void trace_program_prepare(void *tracer);
/* Seizes the child, which waits. Then the caller releases it and calls trace_program_run(). */
int trace_program_seize(struct tracer *tracer, pid_t pid, struct perch_error *err);
/* Traces until the program and its descendants have ended, or a signal. Returns the wait status. */
int trace_program_run(struct tracer *tracer);
void trace_program_free(struct tracer *tracer);
/* Traces a running process until it ends, or a signal. */
int trace_process(struct trace_job *job, pid_t pid, struct perch_error *err);

/* ---- strace.c: logs ---- */

/* Explains a log of strace; "-" is stdin. */
int trace_read_strace(struct trace_job *job, const char *path, struct perch_error *err);

/* ---- calls.c, descriptors.c: what the sources report ---- */

/*
 * process is the thread group, thread is the caller. machine
 * has the caller's facts and may run open calls in the caller; NULL if the caller's machine is
 * unknown.
 */

/* perf_event_open returned: fd >= 0, or call->errnum is set. */
void trace_handle_open(struct trace_job *job, pid_t process, pid_t thread,
		       const struct perch_open_call *call, int fd, struct perch_machine *machine);
enum trace_filter_action {
	TRACE_FILTER_KILLS, /* ended the caller */
	TRACE_FILTER_TRAPS, /* sent it SIGSYS */
	TRACE_FILTER_TRACES /* wants a tracer; without one, ENOSYS */
};
/* A seccomp filter refused perf_event_open with something else than an errno. */
void trace_handle_filtered_open(struct trace_job *job, pid_t process, pid_t thread,
				const struct perch_open_call *call,
				enum trace_filter_action action);
/*
 * mmap, ioctl, read or readv of a descriptor returned. operation->errnum 0 is success; for a read
 * with result 0 it is end of file. The members that describe the event (attr, pid, cpu, flags,
 * group_size, ring_size, other) are filled in here.
 */
void trace_handle_operation(struct trace_job *job, pid_t process, pid_t thread, int fd,
			    struct perch_operation *operation, long result,
			    struct perch_machine *machine);
/* The same of a descriptor that is another file (what its link in /proc shows), by mistake. */
void trace_handle_other_file(struct trace_job *job, pid_t process, pid_t thread, int fd,
			     const struct perch_operation *operation, const char *file);
void trace_handle_fork(struct trace_job *job, pid_t parent, pid_t child);
/* A successful exec closes the descriptors opened with PERCH_FLAG_FD_CLOEXEC. */
void trace_handle_exec(struct trace_job *job, pid_t process);
/* The descriptor was closed. Its number is recorded for later use of it, which is a mistake. */
void trace_handle_close(struct trace_job *job, pid_t process, int fd);
/* The number belongs to another file now. */
void trace_handle_reuse(struct trace_job *job, pid_t process, int fd);
void trace_handle_exit(struct trace_job *job, pid_t process);
/* True if an event was opened with the descriptor and it was not closed since. */
bool trace_is_event(const struct trace_job *job, pid_t process, int fd);
/*
 * True if a failed system call of this descriptor, or of this number without a descriptor, concerns
 * events: it is an event, or was one until it was closed, or is negative after a refused open call.
 */
bool trace_concerns_events(const struct trace_job *job, pid_t process, int fd);
/* Frees descriptors and counted refusals. */
/* Copies the readable bytes of an attr that this version has; the rest is zero. copy->size is the
 * size that was passed. Returns false if attr is NULL. */
bool trace_copy_attr(struct perch_attr *copy, const struct perch_attr *attr);
/* Returns the number of bytes of the attr that may be read. */
size_t trace_readable_attr(const struct perch_attr *attr);
/* Passes one line about the trace to the output. */
void trace_note(struct trace_job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Frees the descriptors. */
void trace_job_clear(struct trace_job *job);

#define TRACE_NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
