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
#ifndef PERCH_CLI_EXPLAIN_WATCH_H
#define PERCH_CLI_EXPLAIN_WATCH_H

#include <linux/filter.h>
#include <sys/types.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <sys/user.h>
#define WATCH_CAN_INJECT 1
#else
#define WATCH_CAN_INJECT 0
#endif

#include "explain.h"
#include "program.h"

/* Numbers of the calls of interest in one of the ABIs that a program on this machine may use. */
struct watch_abi {
	uint32_t arch; /* AUDIT_ARCH_* */
	bool narrow;   /* pointers of 4 bytes */
	/* of mmap's last argument: 12 where it counts pages of 4 KiB */
	unsigned offset_shift;
	/* perf_event_open ioctl mmap read seccomp prctl */
	uint32_t open, control, map, read, confine, option;
	uint32_t close, unmap;
};
/* NULL: not one that is known. */
const struct watch_abi *watch_abi(uint32_t arch, uint64_t number);

enum watch_kind { WATCH_OTHER, WATCH_OPEN, WATCH_CONTROL, WATCH_MAP, WATCH_READ, WATCH_CONFINE };

struct watch_filter {
	struct sock_filter code[160];
	unsigned short length;
};
/* Stops perf_event_open, ioctl of events, and what puts a program under a filter of its own. */
void watch_filter_calls(struct watch_filter *filter);
/* Stops mmap and read of the descriptors low to high. */
void watch_filter_descriptors(struct watch_filter *filter, uint32_t low, uint32_t high);

/* What the child tells of its preparations, in memory that both have. */
struct watch_preparation {
	struct watch_filter filter;
	int error;	 /* of the filter; 0: it is in force */
	bool restricted; /* it took no_new_privs to be allowed one */
};

struct watch_call {
	const struct watch_abi *abi;
	enum watch_kind kind;
	uint64_t number;
	uint64_t argument[6];
};

/* A process: threads that share descriptors and filters. */
struct watch_group {
	pid_t pid;
	unsigned threads;
	/* every call stops: the filter cannot tell, or there is none */
	bool every;
	unsigned filters;   /* of descriptors, installed so far */
	uint32_t low, high; /* the descriptors that they let stop; when filters > 0 */
	/* the one in perf_event_open: others wait, for its attr may be theirs too */
	struct watch_thread *opening;
	struct watch_group *next;
};

struct watch_registers {
#if WATCH_CAN_INJECT
	struct user_regs_struct native;
#endif
	bool valid;
};

struct watch_thread {
	pid_t tid;
	struct watch_group *group;
	bool entered; /* the next stop of a call is its end */
	/* stopped at the start of perf_event_open until another's has ended */
	bool waiting;
	bool running;		/* not in a stop that we know of */
	struct watch_call call; /* the one it is in; WATCH_OTHER: none of interest */
	/* as they were at the start of the call; NULL: nobody could read there */
	unsigned char *attr;
	size_t attr_size;
	/* a status that came while a call was made in its place */
	bool has_status;
	int status;
	struct watch_thread *next; /* of the same bucket */
};

struct watch_status {
	pid_t tid;
	int status;
};

#define WATCH_BUCKETS	256
#define WATCH_ATTR_MAX	4096		 /* bytes: what the kernel takes */
#define WATCH_CALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */
#define WATCH_OPTIONS                                                                             \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

struct watch {
	struct explain_job *job;
	struct perch_machine *machine; /* a watched thread's */
	struct perch_syscalls calls;   /* made in its place */
	struct watch_thread *probed;   /* that one */
	struct watch_registers before; /* of it, while calls are made in its place */
	uint64_t mask;		       /* its blocked signals */
	int late_signal;	       /* a signal that cannot be blocked and came meanwhile */
	bool interrupt;		       /* it is to take part in a stop of its process */
	unsigned char *room;	       /* what was in its attr's place */
	size_t room_size;
	bool every;	     /* no filter at all */
	bool no_information; /* PTRACE_GET_SYSCALL_INFO is not there: before Linux 5.3 */
	bool said_slow, said_set_uid;
	bool attached;			       /* -p */
	struct watch_preparation *preparation; /* of the program, before it executes */
	struct cli_program program;
	bool program_ended;
	int program_status; /* as of wait(2) */
	/* of other threads, while one made a call: from kept_first to kept_end */
	struct watch_status *kept;
	size_t kept_first, kept_end, kept_room;
	struct watch_group *groups;
	size_t nr_threads;
	struct watch_thread *thread[WATCH_BUCKETS];
};

/* explain_watch_thread.c */
struct watch_thread *watch_find(struct watch *watch, pid_t tid);
struct watch_group *watch_find_group(struct watch *watch, pid_t pid);
/* The thread's entry, made if there is none; creator: whose child it is, 0 when that has to be
 * looked up. NULL: no memory. */
struct watch_thread *watch_meet(struct watch *watch, pid_t tid, pid_t creator);
void watch_leave(struct watch *watch, struct watch_thread *thread);
/* A thread became the leader of its process by exec. */
struct watch_thread *watch_became(struct watch *watch, pid_t before, pid_t leader);
void watch_free(struct watch *watch);
void watch_resume(struct watch *watch, struct watch_thread *thread, int signal);
/* Lets one of those go on that wait for the end of another's perf_event_open. */
void watch_opening_over(struct watch *watch, struct watch_thread *thread);
/* From now on every call of the process stops. reason: said once. */
void watch_every_call(struct watch *watch, struct watch_group *group, const char *reason);

/* explain_watch_wait.c: as waitpid(2). Of any thread; of this one, while those of others are kept
 * for the next time. */
pid_t watch_wait(struct watch *watch, int *status);
pid_t watch_wait_for(struct watch *watch, pid_t tid, int *status);

/* explain_watch_stops.c */
void watch_entry(struct watch *watch, struct watch_thread *thread);
void watch_exit(struct watch *watch, struct watch_thread *thread);

/* explain_watch_inject.c */
int watch_inject_new(struct watch *watch, struct perch_error *err);
/* Sees to it that mmap and read of the descriptor stop. The thread is at the end of a call. */
void watch_descriptor(struct watch *watch, struct watch_thread *thread, int fd);
/* After whatever was made in the thread's place: it is as it was. */
void watch_restore(struct watch *watch);

/* explain_watch_registers.c */
bool watch_get_call(struct watch *watch, struct watch_thread *thread);
bool watch_get_result(struct watch *watch, const struct watch_thread *thread, int64_t *result);
/* 1: the stop of a call is its end, 0 its start, -1 unknown: it is the other one than the last
 * time. */
int watch_is_end(struct watch *watch, pid_t tid);
bool watch_get_registers(pid_t tid, struct watch_registers *registers);
bool watch_set_registers(pid_t tid, const struct watch_registers *registers);
/* As if the thread were about to execute the instruction again that made its last call. */
void watch_set_call(struct watch_registers *registers, const struct watch_abi *abi, uint64_t number,
		    const uint64_t argument[6]);
int64_t watch_result(const struct watch_registers *registers, const struct watch_abi *abi);
/* Bytes copied, up to the first that is not there. */
size_t watch_get_memory(pid_t tid, uint64_t address, void *buffer, size_t size);
/* Keeps the attr that its call points to as it is now: the size it says, of that as much as can be
 * read. */
void watch_get_attr(struct watch_thread *thread);
bool watch_put_memory(pid_t tid, uint64_t address, const void *buffer, size_t size);

/* explain_watch.c: until nothing is left to watch, or a signal ends it. */
void watch_catch_signals(void);
void watch_loop(struct watch *watch);

/* explain_watch_attach.c */
int watch_attach(struct watch *watch, pid_t pid, struct perch_error *err);
void watch_detach(struct watch *watch);

/* explain_watch_refused.c: what ptrace answered. tid 0: of the program to be started. Returns
 * -error. */
int watch_refused(struct watch *watch, pid_t tid, int error, struct perch_error *err);
/* Says once when a program that executes does not get the rights of its file. */
void watch_check_set_uid(struct watch *watch, pid_t tid);

#endif
