/* SPDX-License-Identifier: MIT */
/*
 * Watching programs, in parts:
 *
 *   explain_watch.c      starts or attaches, waits for stops, ends
 *   explain_watch_wait.c       the statuses of threads, in turn
 *   explain_watch_attach.c     -p: seizing a running process, and letting go of it
 *   explain_watch_refused.c    why a process cannot be watched, and what to do
 *   explain_watch_thread.c     which threads there are, and of which process
 *   explain_watch_stops.c      a call begins, a call ends: told to explain_calls.c
 *   explain_watch_inject.c     calls made in a stopped thread: probes, and the second filter
 *   explain_watch_filter.c     the system calls of interest and their seccomp filters
 *   explain_watch_registers.c  what differs by architecture, and the memory of others
 */
#ifndef PERCH_CLI_EXPLAIN_PTRACE_H
#define PERCH_CLI_EXPLAIN_PTRACE_H

#include <linux/filter.h>
#include <sys/types.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <sys/user.h>
#define TRACER_CAN_INJECT 1
#else
#define TRACER_CAN_INJECT 0
#endif

#include "explain.h"
#include "program.h"

/* Numbers of the calls of interest in one of the ABIs that a program on this machine may use. */
struct tracee_abi {
	uint32_t arch; /* AUDIT_ARCH_* */
	bool narrow;   /* pointers of 4 bytes */
	/* of mmap's last argument: 12 where it counts pages of 4 KiB */
	unsigned offset_shift;
	/* perf_event_open ioctl mmap read seccomp prctl */
	uint32_t open, control, map, read, confine, option;
	uint32_t close, unmap;
};
/* NULL: not one that is known. */
const struct tracee_abi *tracee_find_abi(uint32_t arch, uint64_t number);

enum tracee_syscall_kind {
	TRACEE_SYSCALL_OTHER,
	TRACEE_SYSCALL_OPEN,
	TRACEE_SYSCALL_IOCTL,
	TRACEE_SYSCALL_MMAP,
	TRACEE_SYSCALL_READ,
	TRACEE_SYSCALL_SECCOMP
};

struct tracer_filter {
	struct sock_filter code[160];
	unsigned short length;
};
/* Stops perf_event_open, ioctl of events, and what puts a program under a filter of its own. */
void tracer_filter_syscalls(struct tracer_filter *filter);
/* Stops mmap and read of the descriptors low to high. */
void tracer_filter_descriptors(struct tracer_filter *filter, uint32_t low, uint32_t high);

/* What the child tells of its preparations, in memory that both have. */
struct tracer_child_setup {
	struct tracer_filter filter;
	int error;	   /* of the filter; 0: it is in force */
	bool no_new_privs; /* it took no_new_privs to be allowed one */
};

struct tracee_syscall {
	const struct tracee_abi *abi;
	enum tracee_syscall_kind kind;
	uint64_t number;
	uint64_t argument[6];
};

/* A process: threads that share descriptors and filters. */
struct tracee_process {
	pid_t pid;
	unsigned threads;
	/* every call stops: the filter cannot tell, or there is none */
	bool every;
	unsigned filters;   /* of descriptors, installed so far */
	uint32_t low, high; /* the descriptors that they let stop; when filters > 0 */
	/* the one in perf_event_open: others wait, for its attr may be theirs too */
	struct tracee *opening;
	struct tracee_process *next;
};

struct tracee_registers {
#if TRACER_CAN_INJECT
	struct user_regs_struct native;
#endif
	bool valid;
};

struct tracee {
	pid_t tid;
	struct tracee_process *group;
	bool entered; /* the next stop of a call is its end */
	/* stopped at the start of perf_event_open until another's has ended */
	bool waiting;
	bool running;		    /* not in a stop that we know of */
	struct tracee_syscall call; /* the one it is in; WATCH_OTHER: none of interest */
	/* as they were at the start of the call; NULL: nobody could read there */
	unsigned char *attr;
	size_t attr_size;
	/* a status that came while a call was made in its place */
	bool has_status;
	int status;
	struct tracee *next; /* of the same bucket */
};

struct tracee_status {
	pid_t tid;
	int status;
};

#define TRACER_BUCKETS	    256
#define TRACEE_ATTR_MAX	    4096	     /* bytes: what the kernel takes */
#define TRACEE_SYSCALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */
#define TRACER_OPTIONS                                                                            \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

struct tracer {
	struct explain_job *job;
	struct perch_machine *machine;	/* a watched thread's */
	struct perch_syscalls calls;	/* made in its place */
	struct tracee *probed;		/* that one */
	struct tracee_registers before; /* of it, while calls are made in its place */
	uint64_t mask;			/* its blocked signals */
	int late_signal;		/* a signal that cannot be blocked and came meanwhile */
	bool interrupt;			/* it is to take part in a stop of its process */
	unsigned char *room;		/* what was in its attr's place */
	size_t room_size;
	bool every;	     /* no filter at all */
	bool no_information; /* PTRACE_GET_SYSCALL_INFO is not there: before Linux 5.3 */
	bool said_slow, said_set_uid;
	bool attached;			  /* -p */
	struct tracer_child_setup *setup; /* of the program, before it executes */
	struct cli_program program;
	bool program_ended;
	int program_status; /* as of wait(2) */
	/* of other threads, while one made a call: from kept_first to kept_end */
	struct tracee_status *kept;
	size_t kept_first, kept_end, kept_room;
	struct tracee_process *groups;
	size_t nr_threads;
	struct tracee *thread[TRACER_BUCKETS];
};

/* explain_watch_thread.c */
struct tracee *tracer_find(struct tracer *tracer, pid_t tid);
struct tracee_process *tracer_find_process(struct tracer *tracer, pid_t pid);
/* The thread's entry, made if there is none; creator: whose child it is, 0 when that has to be
 * looked up. NULL: no memory. */
struct tracee *tracer_add(struct tracer *tracer, pid_t tid, pid_t creator);
void tracer_remove(struct tracer *tracer, struct tracee *thread);
/* A thread became the leader of its process by exec. */
struct tracee *tracer_replace_leader(struct tracer *tracer, pid_t before, pid_t leader);
void tracer_free(struct tracer *tracer);
void tracer_resume(struct tracer *tracer, struct tracee *thread, int signal);
/* Lets one of those go on that wait for the end of another's perf_event_open. */
void tracer_end_open(struct tracer *tracer, struct tracee *thread);
/* From now on every call of the process stops. reason: said once. */
void tracer_stop_every_syscall(struct tracer *tracer, struct tracee_process *group,
			       const char *reason);

/* explain_watch_wait.c: as waitpid(2). Of any thread; of this one, while those of others are kept
 * for the next time. */
pid_t tracer_wait(struct tracer *tracer, int *status);
pid_t tracer_wait_for(struct tracer *tracer, pid_t tid, int *status);

/* explain_watch_stops.c */
void tracer_handle_syscall_entry(struct tracer *tracer, struct tracee *thread);
void tracer_handle_syscall_exit(struct tracer *tracer, struct tracee *thread);

/* explain_watch_inject.c */
int tracer_init_injection(struct tracer *tracer, struct perch_error *err);
/* Sees to it that mmap and read of the descriptor stop. The thread is at the end of a call. */
void tracer_add_descriptor(struct tracer *tracer, struct tracee *thread, int fd);
/* After whatever was made in the thread's place: it is as it was. */
void tracer_end_injection(struct tracer *tracer);

/* explain_watch_registers.c */
bool tracee_read_syscall(struct tracer *tracer, struct tracee *thread);
bool tracee_read_result(struct tracer *tracer, const struct tracee *thread, int64_t *result);
/* 1: the stop of a call is its end, 0 its start, -1 unknown: it is the other one than the last
 * time. */
int tracee_at_syscall_exit(struct tracer *tracer, pid_t tid);
bool tracee_get_registers(pid_t tid, struct tracee_registers *registers);
bool tracee_set_registers(pid_t tid, const struct tracee_registers *registers);
/* As if the thread were about to execute the instruction again that made its last call. */
void tracee_set_syscall(struct tracee_registers *registers, const struct tracee_abi *abi,
			uint64_t number, const uint64_t argument[6]);
int64_t tracee_return_value(const struct tracee_registers *registers, const struct tracee_abi *abi);
/* Bytes copied, up to the first that is not there. */
size_t tracee_read_memory(pid_t tid, uint64_t address, void *buffer, size_t size);
/* Keeps the attr that its call points to as it is now: the size it says, of that as much as can be
 * read. */
void tracee_read_attr(struct tracee *thread);
bool tracee_write_memory(pid_t tid, uint64_t address, const void *buffer, size_t size);

/* explain_watch.c: until nothing is left to watch, or a signal ends it. */
void catch_signals(void);
void tracer_loop(struct tracer *tracer);

/* explain_watch_attach.c */
int tracer_attach(struct tracer *tracer, pid_t pid, struct perch_error *err);
void tracer_detach(struct tracer *tracer);

/* explain_watch_refused.c: what ptrace answered. tid 0: of the program to be started. Returns
 * -error. */
int tracer_ptrace_error(struct tracer *tracer, pid_t tid, int error, struct perch_error *err);
/* Says once when a program that executes does not get the rights of its file. */
void tracer_check_set_uid(struct tracer *tracer, pid_t tid);

#endif
