/* SPDX-License-Identifier: MIT */
/*
 * Tracing programs with ptrace(2) and seccomp(2). A file calls only files below its own:
 *
 *   ptrace.c            starts or attaches, waits for stops, ends
 *   ptrace_stops.c      entry and exit of a system call; reports to calls.c
 *   ptrace_attach.c     seizes and detaches a running process (-p); errors of ptrace
 *   ptrace_inject.c     system calls in a stopped thread: probes, and the second filter
 *   ptrace_threads.c    traced threads, their processes, their wait statuses
 *   ptrace_registers.c  registers, arguments and memory of a stopped thread
 *   ptrace_evaluate.c   what the seccomp filters of the program refuse
 *   ptrace_filter.c     numbers of system calls, seccomp filters
 */
#ifndef PERCH_TRACE_PTRACE_H
#define PERCH_TRACE_PTRACE_H

#include <linux/filter.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <sys/user.h>
#define TRACER_CAN_INJECT 1
#else
#define TRACER_CAN_INJECT 0
#endif

#include "base/hash_table.h"
#include "trace.h"

/* System call numbers of one ABI that programs on this machine may use. */
struct tracee_abi {
	uint32_t arch;	       /* AUDIT_ARCH_* */
	bool narrow;	       /* pointers of 4 bytes */
	unsigned offset_shift; /* 12 if the last argument of mmap is in units of 4 KiB */
	uint32_t perf_event_open, ioctl, mmap, read, seccomp, prctl;
	uint32_t close, munmap, readv, ptrace;
};
/* Returns NULL if the ABI is unknown. */
const struct tracee_abi *tracee_find_abi(uint32_t arch, uint64_t number);

enum tracee_syscall_kind {
	TRACEE_SYSCALL_OTHER,
	TRACEE_SYSCALL_OPEN,
	TRACEE_SYSCALL_IOCTL,
	TRACEE_SYSCALL_MMAP,
	TRACEE_SYSCALL_READ,
	TRACEE_SYSCALL_READV,
	TRACEE_SYSCALL_SECCOMP, /* or prctl */
	TRACEE_SYSCALL_PTRACE
};

struct tracer_filter {
	struct sock_filter code[160];
	unsigned short length;
};
/* A range of descriptors. */
struct tracee_range {
	uint32_t low, high;
};

/* The data of stops by these filters: a stop with other data is by a filter of the program. */
#define TRACER_FILTER_DATA 0x7063
/* Stops perf_event_open, ioctl of events, and system calls that install a filter or trace. */
void tracer_filter_syscalls(struct tracer_filter *filter);
/* Stops mmap, read and readv of the descriptors. */
void tracer_filter_descriptors(struct tracer_filter *filter, const struct tracee_range *range);

/* A seccomp filter that the program installs. */
struct tracer_filter_program {
	const struct sock_filter *code;
	unsigned length;
};
/* True if the filter may refuse a system call of this ABI that perch traces. */
bool tracer_filter_may_refuse(const struct tracer_filter_program *program,
			      const struct tracee_abi *abi);

/* Shared memory: the child installs the filter before exec and reports the result. */
struct tracer_child_setup {
	struct tracer_filter filter;
	int error;	   /* errno; 0 if the filter is installed */
	bool no_new_privs; /* the child had to set no_new_privs */
};

struct tracee_syscall {
	const struct tracee_abi *abi;
	enum tracee_syscall_kind kind;
	uint64_t number;
	uint64_t argument[6];
	uint32_t filter_data; /* of the filter that stopped it; TRACER_FILTER_DATA if unknown */
};

/* Filters of descriptors of a process; the kernel runs each of them at every read and mmap. */
#define TRACEE_FILTERS_MAX 12

/* Threads that share descriptors and filters. */
struct tracee_process {
	pid_t pid;
	unsigned threads;
	bool every_syscall;   /* stop every system call: the filter cannot be used */
	unsigned reads;	      /* that succeeded, see READS_CHECKED */
	unsigned own_filters; /* of the program, that may refuse system calls of events */
	unsigned filters;     /* filters of descriptors installed */
	struct tracee_range range[TRACEE_FILTERS_MAX]; /* what each of them stops */
	/* the thread in perf_event_open; others wait, because they may share its attr */
	struct tracee *opener;
	struct tracee_process *next;
};

struct tracee_registers {
#if TRACER_CAN_INJECT
	struct user_regs_struct native;
#endif
	bool valid;
};

/* A traced thread. */
struct tracee {
	pid_t tid;
	struct tracee_process *process;
	bool in_syscall; /* the next syscall stop is an exit */
	bool waiting;	 /* at the entry of perf_event_open, until the opener is done */
	bool running;
	bool skipped; /* a filter of the program refuses its current system call: ENOSYS */
	bool allowed; /* no seccomp filter refuses its current system call */
	/* SIGSYS of a seccomp filter that refused perf_event_open is the next stop, or the end */
	bool trapped;
	bool filter_may_refuse;	       /* the filter that its current system call installs */
	struct tracee_syscall syscall; /* the current one; TRACEE_SYSCALL_OTHER if not relevant */
	unsigned char *attr;	       /* read at syscall entry; NULL if it was unreadable */
	size_t attr_size;
	bool has_status; /* a status that was received during an injected system call */
	int status;
};

struct tracee_status {
	pid_t tid;
	int status;
};

#define TRACEE_ATTR_MAX	    4096	     /* the largest attr that the kernel accepts */
#define TRACEE_SYSCALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */
#define TRACER_OPTIONS                                                                            \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

struct tracer {
	struct trace_job *job;
	struct perch_machine *machine;	/* facts of the current tracee */
	struct perch_syscalls syscalls; /* injected into target */
	struct tracee *target;
	/* state of the target, saved while system calls are injected */
	struct tracee_registers saved_registers;
	uint64_t saved_mask; /* blocked signals */
	unsigned char *saved_attr;
	size_t saved_attr_size;
	int pending_signal; /* received meanwhile and cannot be blocked: sent again afterwards */
	bool interrupt_pending; /* the target must take part in a group-stop afterwards */
	bool every_syscall;	/* no filter: stop every system call of all processes */
	bool no_syscall_info;	/* no PTRACE_GET_SYSCALL_INFO (before Linux 5.3) */
	/* of the syscall-entry-stop of this thread, read already; 0: none */
	pid_t entry_tid;
	struct __ptrace_syscall_info entry;
	bool slow_noted, set_uid_noted, memory_noted, ptrace_noted, trace_noted, strict_noted;
	struct tracer_child_setup *setup;
	pid_t program;	       /* -1 without one */
	bool program_executed; /* its exec succeeded */
	bool program_ended;
	int program_status; /* of wait(2) */
	/*
	 * statuses of other threads that were received during an injected system call: first_status
	 * up to nr_statuses
	 */
	struct tracee_status *statuses;
	size_t first_status, nr_statuses, statuses_capacity;
	struct tracee_process *processes;
	struct tracee **threads;
	size_t nr_threads, threads_capacity;
	struct perch__hash_table by_tid;
};

/* ptrace_threads.c */
struct tracee *tracer_find(struct tracer *tracer, pid_t tid);
/*
 * Returns the thread, and adds it if it is new. creator is the process that created it, 0 if /proc
 * must be read for it. Returns NULL if out of memory.
 */
struct tracee *tracer_add(struct tracer *tracer, pid_t tid, pid_t creator);
void tracer_remove(struct tracer *tracer, struct tracee *thread);
/* The thread `before` executed a program and now has the tid of its leader. */
struct tracee *tracer_replace_leader(struct tracer *tracer, pid_t before, pid_t leader);
void tracer_free(struct tracer *tracer);
/* Returns false if the thread was killed: waitpid(2) reports its end. */
bool tracer_resume(struct tracer *tracer, struct tracee *thread, int signal);
/* Ends the thread's turn in perf_event_open and resumes a thread that waits for it. */
void tracer_end_open(struct tracer *tracer, struct tracee *thread);
/* Stops every system call of the process from now on. The first time, prints the reason. */
void tracer_stop_every_syscall(struct tracer *tracer, struct tracee_process *process,
			       const char *reason);
/* waitpid(2) for any thread. */
pid_t tracer_wait(struct tracer *tracer, int *status);
/* waitpid(2) for one thread. Statuses of others are queued for tracer_wait(). */
pid_t tracer_wait_for(struct tracer *tracer, pid_t tid, int *status);

/* ptrace_stops.c */
/* by_filter: it is the stop of a seccomp filter, so no filter returns an errno or kills. */
void tracer_handle_syscall_entry(struct tracer *tracer, struct tracee *thread, bool by_filter);
/* result is NULL if it is unknown: the system call was not traced from its entry. */
void tracer_handle_syscall_exit(struct tracer *tracer, struct tracee *thread,
				const int64_t *result);
/* A seccomp filter killed the thread in perf_event_open, or sent it SIGSYS. */
void tracer_handle_killed_open(struct tracer *tracer, struct tracee *thread, bool ended);

/* ptrace_inject.c */
int tracer_init_injection(struct tracer *tracer, struct perch_error *err);
/* Makes mmap, read and readv of the descriptor stop, also of -1. The thread is in a
 * syscall-exit-stop. */
void tracer_add_descriptor(struct tracer *tracer, struct tracee *thread, int fd);
/* Restores the target after injected system calls. */
void tracer_end_injection(struct tracer *tracer);

/* ptrace_registers.c */
/* Reads the system call at its entry. Returns false if it is unknown. */
bool tracee_read_syscall(struct tracer *tracer, struct tracee *thread);
/* Reads the result in a syscall-exit-stop, if the kernel does not report it with the stop. */
bool tracee_read_result(const struct tracee *thread, int64_t *result);
/*
 * 1 at a syscall-exit-stop, 0 at a syscall-entry-stop, -1 if the kernel does not report it. Sets
 * the result at a syscall-exit-stop, unless it is NULL.
 */
int tracee_at_syscall_exit(struct tracer *tracer, pid_t tid, int64_t *result);
/* True if a seccomp filter has sent SIGSYS, and the thread has not got it yet. */
bool tracee_has_seccomp_signal(pid_t tid);
/* Makes the system call fail with ENOSYS, at its entry. Returns false if that is not possible. */
bool tracee_skip_syscall(pid_t tid);
bool tracee_get_registers(pid_t tid, struct tracee_registers *registers);
bool tracee_set_registers(pid_t tid, const struct tracee_registers *registers);
/* Moves the instruction pointer back to the system call instruction and sets the arguments. */
void tracee_set_syscall(struct tracee_registers *registers, const struct tracee_abi *abi,
			uint64_t number, const uint64_t argument[6]);
int64_t tracee_return_value(const struct tracee_registers *registers, const struct tracee_abi *abi);
/* Returns the bytes read, up to the first that is not mapped. */
size_t tracee_read_memory(pid_t tid, uint64_t address, void *buffer, size_t size);
/* Copies the attr that the system call points to, or as much of it as can be read. */
void tracee_read_attr(struct tracee *thread);
bool tracee_write_memory(pid_t tid, uint64_t address, const void *buffer, size_t size);

/* ptrace_attach.c */
int tracer_attach(struct tracer *tracer, pid_t pid, struct perch_error *err);
void tracer_detach(struct tracer *tracer);
/* Finds the reason of a ptrace error. tid is 0 for a program that is started. Returns -error. */
int tracer_ptrace_error(struct tracer *tracer, pid_t tid, int error, struct perch_error *err);
/* Prints a note, once, if ptrace of the program failed because the target is traced already. */
void tracer_check_ptrace(struct tracer *tracer, const struct tracee *thread, int64_t result);
/* Prints a note, once, if exec did not give the program the privileges of its file. */
void tracer_check_set_uid(struct tracer *tracer, pid_t tid);

#endif
