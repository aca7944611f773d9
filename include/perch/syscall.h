/* SPDX-License-Identifier: MIT */
/**
 * @file
 * System calls: names, arguments and results as text, and calls joined from their entries and
 * exits.
 *
 * The tracepoints raw_syscalls:sys_enter and raw_syscalls:sys_exit have a number, six arguments and
 * a result. This module knows what they mean on an architecture:
 *
 *	syscall = perch_syscall_find(PERCH_SYSCALL_X86_64, 257);
 *	length = perch_syscall_argument_text(&call, 2, NULL, text, sizeof(text));
 *
 * gives "openat" and "O_RDONLY|O_CLOEXEC".
 *
 * Threads: any number of threads may use the functions without a joiner; one thread per joiner at a
 * time.
 *
 * Fork: a child can use and free its copy of a joiner.
 *
 * Signals: perch_syscall_find(), perch_syscall_find_name(), perch_syscall_is_in(),
 * perch_errno_name() and perch_errno_find() are async-signal-safe, the others are not.
 */
#ifndef PERCH_SYSCALL_H
#define PERCH_SYSCALL_H

#include <stdbool.h>
#include <sys/types.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which numbers a thread uses for system calls. */
enum perch_syscall_abi {
	PERCH_SYSCALL_UNKNOWN, /**< no names are known: perch_syscall_find() finds none */
	PERCH_SYSCALL_X86_64,  /**< with x32, whose numbers have bit 30 set */
	PERCH_SYSCALL_I386,    /**< x86, 32 bits */
	PERCH_SYSCALL_ARM64,   /**< 64-bit ARM */
	PERCH_SYSCALL_GENERIC, /**< riscv64, loongarch64: as ARM64, with other flags of open(2) */
	PERCH_SYSCALL_S390X,   /**< s390x */
	PERCH_SYSCALL_NR_ABIS
};

/** Groups of system calls, as those of strace -e %GROUP: bits. */
enum perch_syscall_group {
	PERCH_SYSCALL_FILE = 1 << 0,	    /**< an argument is a path */
	PERCH_SYSCALL_DESCRIPTOR = 1 << 1,  /**< an argument is a file descriptor */
	PERCH_SYSCALL_NETWORK = 1 << 2,	    /**< sockets */
	PERCH_SYSCALL_PROCESS = 1 << 3,	    /**< start, end, exec, wait, kill */
	PERCH_SYSCALL_MEMORY = 1 << 4,	    /**< mappings */
	PERCH_SYSCALL_SIGNALS = 1 << 5,	    /**< signals */
	PERCH_SYSCALL_IPC = 1 << 6,	    /**< System V IPC */
	PERCH_SYSCALL_CREDENTIALS = 1 << 7, /**< users, groups, capabilities */
	PERCH_SYSCALL_CLOCK = 1 << 8,	    /**< reading and setting clocks */
};

#define PERCH_SYSCALL_ARGUMENTS 6 /**< at most */

/** A system call. A pointer to it is valid for ever, and equal for equal calls of an ABI. */
struct perch_syscall;

/**
 * Returns which numbers programs use.
 *
 * @param machine  as utsname.machine of uname(2), or PERCH_FEATURE_ARCH of a recording: "x86_64"
 * @param narrow   a program of 32 bits
 * @return PERCH_SYSCALL_UNKNOWN if this module does not know them
 */
PERCH_API enum perch_syscall_abi perch_syscall_abi_of(const char *machine, bool narrow);

/**
 * Finds a system call by its number. The search is linear: a program that reads many events caches
 * the results.
 *
 * @param abi     whose numbers
 * @param number  the number
 * @return the system call; NULL if it is not known
 */
PERCH_API const struct perch_syscall *perch_syscall_find(enum perch_syscall_abi abi,
							 int64_t number);

/**
 * Finds a system call by its name.
 *
 * @param abi          whose numbers
 * @param name         "openat"
 * @param[out] number  its number; -1 if there is none. NULL is allowed
 * @return the system call; NULL if the ABI has no such name
 */
PERCH_API const struct perch_syscall *perch_syscall_find_name(enum perch_syscall_abi abi,
							      const char *name, int64_t *number);

/** Returns the name: "openat". */
PERCH_API const char *perch_syscall_name(const struct perch_syscall *syscall);

/** Returns true if the system call is in one of the groups (bits). */
PERCH_API bool perch_syscall_is_in(const struct perch_syscall *syscall, unsigned groups);

/** A call of a system call. */
struct perch_syscall_call {
	const struct perch_syscall *syscall;	    /**< NULL if it is not known */
	enum perch_syscall_abi abi;		    /**< of the caller */
	uint64_t argument[PERCH_SYSCALL_ARGUMENTS]; /**< as the tracepoint has them */
	uint64_t reserved[2];			    /**< must be 0 */
};

/** What is known of the process that made a call. Functions may be NULL. */
struct perch_syscall_process {
	void *context; /**< passed to the functions */
	/**
	 * Copies memory of the process. Returns the number of bytes, which may be less than size,
	 * or a negative errno. verified: set to true if this is the memory during the call. Text
	 * that is not verified gets a '?' after it.
	 */
	ssize_t (*read)(void *context, uint64_t address, void *bytes, size_t size, bool *verified);
	/**
	 * Stores the path of a descriptor. Returns its length (a longer one is cut), or 0 if it is
	 * unknown. verified: as of read.
	 */
	size_t (*path)(void *context, int fd, char *path, size_t size, bool *verified);
	uint64_t reserved[2]; /**< must be 0 */
};

/**
 * Formats an argument, as strace(1) does: `3</etc/passwd>`, `O_RDONLY|O_CLOEXEC`, `"/etc/passwd"`.
 *
 * The text is clean for a terminal. Memory that cannot be read is shown as its address.
 *
 * @param call       the call
 * @param index      0 to PERCH_SYSCALL_ARGUMENTS - 1
 * @param process    where memory and paths come from; NULL: neither is known
 * @param[out] text  the text; a longer one is cut
 * @param size       bytes of text, at least 1
 * @return its length; 0 if the call does not have this argument: it takes fewer, does not use it
 *         with these flags (the mode of open(2)), or it is part of the one before
 */
PERCH_API size_t perch_syscall_argument_text(const struct perch_syscall_call *call, unsigned index,
					     const struct perch_syscall_process *process,
					     char *text, size_t size);

/** Returns true if the text of an argument needs perch_syscall_process.read: a path, a struct. */
PERCH_API bool perch_syscall_reads_memory(const struct perch_syscall *syscall);

/**
 * Formats a result, as strace(1) does: "3", "0x7f1200000000", "-1 ENOENT (No such file or
 * directory)", "? ERESTARTSYS (interrupted by a signal)".
 *
 * @param call       the call
 * @param result     as the tracepoint has it: from -4095 to -1 it is an errno
 * @param[out] text  the text; a longer one is cut
 * @param size       bytes of text, at least 1
 * @return its length
 */
PERCH_API size_t perch_syscall_result_text(const struct perch_syscall_call *call, int64_t result,
					   char *text, size_t size);

/** Returns true if the result is a new file descriptor, if it is not negative. */
PERCH_API bool perch_syscall_returns_descriptor(const struct perch_syscall *syscall);

/** Returns the name of an errno of x86, ARM, RISC-V and s390: "ENOENT"; NULL if there is none.
 * Errnos above 511 are internal to the kernel: tracepoints have them. */
PERCH_API const char *perch_errno_name(int errnum);

/** Returns the number of an errno by its name, which need not be NUL-terminated; 0 if there is
 * none. */
PERCH_API int perch_errno_find(const char *name, size_t length);

/* ---- entries and exits ---- */

/** Joins entries and exits of system calls, by thread. */
struct perch_syscall_joiner;

/** A call that has begun. */
struct perch_syscall_open {
	uint32_t pid;				    /**< process */
	uint32_t tid;				    /**< thread */
	int64_t number;				    /**< of the system call */
	uint64_t time;				    /**< of its entry */
	uint64_t argument[PERCH_SYSCALL_ARGUMENTS]; /**< as the tracepoint has them */
	/** Records were lost since its entry: the next exit may be that of a later call. */
	bool uncertain;
	uint64_t user[4];     /**< of the program: zeros at the entry */
	uint64_t reserved[2]; /**< must be 0 */
};

/** What an exit is. */
enum perch_syscall_exit {
	PERCH_SYSCALL_JOINED, /**< the exit of the open call */
	/** The exit of a call that began before the first event of the thread. */
	PERCH_SYSCALL_BEGAN_BEFORE,
	/** The return of fork(2), clone(2) or others in the new thread, which has no entry. */
	PERCH_SYSCALL_IN_CHILD,
	PERCH_SYSCALL_ENTRY_LOST, /**< its entry is not there, or the open call is another one */
	/** Records were lost between the entry and the exit: they may be of different calls. */
	PERCH_SYSCALL_UNCERTAIN,
};

/**
 * Creates a joiner.
 *
 * @param[out] joiner  the joiner; NULL after a failure
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_syscall_joiner_new(struct perch_syscall_joiner **joiner,
				       struct perch_error *err);

/** Frees a joiner. NULL is allowed. */
PERCH_API void perch_syscall_joiner_free(struct perch_syscall_joiner *joiner);

/**
 * Adds an entry. Events are added in the order of time.
 *
 * @param joiner     the joiner
 * @param call       .pid, .tid, .number, .time and .argument
 * @param[out] open  the open call; valid until the next function of the joiner
 * @param[out] lost  an open call of the thread whose exit was lost, and that is closed by this;
 *                   .tid is 0 if there was none
 * @return 0 or -ENOMEM, which needs no err
 */
PERCH_API int perch_syscall_add_entry(struct perch_syscall_joiner *joiner,
				      const struct perch_syscall_open *call,
				      struct perch_syscall_open **open,
				      struct perch_syscall_open *lost);

/**
 * Adds an exit.
 *
 * @param joiner     the joiner
 * @param pid        process
 * @param tid        thread
 * @param number     of the system call
 * @param[out] open  with JOINED and UNCERTAIN the call, which is closed by this. With ENTRY_LOST
 *                   an open call of another number, whose exit was lost; .tid is 0 if there was
 *                   none
 * @param[out] what  what the exit is
 * @return 0 or -ENOMEM, which needs no err
 */
PERCH_API int perch_syscall_add_exit(struct perch_syscall_joiner *joiner, uint32_t pid,
				     uint32_t tid, int64_t number, struct perch_syscall_open *open,
				     enum perch_syscall_exit *what);

/** Adds that records were lost: calls that are open now become uncertain. */
PERCH_API void perch_syscall_lost(struct perch_syscall_joiner *joiner);

/** Adds that a thread was started (FORK record). Returns 0 or -ENOMEM. */
PERCH_API int perch_syscall_fork(struct perch_syscall_joiner *joiner, uint32_t pid, uint32_t tid);

/**
 * Adds that a thread has ended (EXIT record), which frees its memory.
 *
 * @param joiner     the joiner
 * @param tid        thread
 * @param[out] open  its open call, such as exit_group(2); .tid is 0 if there was none
 */
PERCH_API void perch_syscall_end(struct perch_syscall_joiner *joiner, uint32_t tid,
				 struct perch_syscall_open *open);

/**
 * Returns the open call of a thread.
 *
 * @param joiner  the joiner
 * @param tid     thread
 * @return the call; valid until the next function of the joiner; NULL if there is none
 */
PERCH_API struct perch_syscall_open *perch_syscall_open_call(struct perch_syscall_joiner *joiner,
							     uint32_t tid);

/**
 * Visits the open calls, in no order.
 *
 * @param joiner     the joiner
 * @param[in,out] at 0 at first
 * @return the next one, valid until the next function of the joiner; NULL at the end
 */
PERCH_API struct perch_syscall_open *perch_syscall_next_open(struct perch_syscall_joiner *joiner,
							     size_t *at);

#ifdef __cplusplus
}
#endif
#endif
