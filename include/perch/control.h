/* SPDX-License-Identifier: MIT */
/**
 * @file
 * System calls on open events: ioctls, events of the calling thread, signals.
 *
 * In all functions a machine of NULL is the machine that the program runs on, and err may be NULL.
 * Kernel releases are those of Linux.
 *
 * Threads: one thread per machine at a time. A descriptor may be used from any thread.
 *
 * Fork: a descriptor means the same event in a child of fork(2). A function on it acts on the event
 * of the parent: perch_event_disable() in the child stops the event for both. This is not
 * recognized here; the objects of perch/count.h, perch/ring.h and perch/sampler.h recognize it.
 * perch_tasks_enable() and perch_tasks_disable() do not reach the events that the parent opened.
 *
 * Signals: a function is async-signal-safe only if its description says so, and only with err NULL.
 * errno may change.
 */
#ifndef PERCH_CONTROL_H
#define PERCH_CONTROL_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Enables an event: PERCH_IOC_ENABLE.
 *
 * This function and those down to perch_event_modify() make one ioctl(2) on the descriptor of an
 * event: perch_counter_fd(), perch_group_fd(), perch_set_fd(), perch_sampler_ring_fd(). err
 * explains a refusal.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param group     fd is a group leader: enable the whole group
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_event_enable(int fd, bool group, struct perch_machine *machine,
				 struct perch_error *err);

/** Disables an event: PERCH_IOC_DISABLE. Parameters are those of perch_event_enable().
 * Async-signal-safe. */
PERCH_API int perch_event_disable(int fd, bool group, struct perch_machine *machine,
				  struct perch_error *err);

/** Sets the count to 0: PERCH_IOC_RESET. Times are not reset. Parameters are those of
 * perch_event_enable(). Async-signal-safe. */
PERCH_API int perch_event_reset(int fd, bool group, struct perch_machine *machine,
				struct perch_error *err);

/**
 * Enables a sampling event for a number of samples, after which it is disabled: PERCH_IOC_REFRESH.
 *
 * With fcntl(2) O_ASYNC the signal of the last sample has si_code POLL_HUP. Inherited events are
 * refused.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param samples   number of samples to add, 1..2^31-1
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_event_refresh(int fd, unsigned samples, struct perch_machine *machine,
				  struct perch_error *err);

/**
 * Changes the period or frequency of a sampling event: PERCH_IOC_PERIOD.
 *
 * For cpu-clock and task-clock the value is always a period in nanoseconds, because the kernel
 * converts their frequency into a period. Before Linux 3.14 it takes effect after the next sample.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param period    period, or frequency for an event with attr.freq; 1..2^63-1
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_event_set_period(int fd, uint64_t period, struct perch_machine *machine,
				     struct perch_error *err);

/**
 * Writes the records of an event into the ring of another event: PERCH_IOC_SET_OUTPUT.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param into_fd   an event with a mapped ring, on the same CPU; -1 is the event's own ring
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_event_set_output(int fd, int into_fd, struct perch_machine *machine,
				     struct perch_error *err);

/**
 * Sets the filter expression of a tracepoint, or an address filter (since 4.7):
 * PERCH_IOC_SET_FILTER.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param filter    the filter
 * @param attr      the attr of the event, for the explanation of a refusal; NULL if unknown
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -EEXIST the tracepoint has a filter already, which cannot be replaced
 * @since Linux 2.6.33
 */
PERCH_API int perch_event_set_filter(int fd, const char *filter, const struct perch_attr *attr,
				     struct perch_machine *machine, struct perch_error *err);

/**
 * Reads the id that samples and reads of the event have: PERCH_IOC_ID.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param machine   the machine
 * @param[out] id   the id
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 3.12
 */
PERCH_API int perch_event_id(int fd, struct perch_machine *machine, uint64_t *id,
			     struct perch_error *err);

/**
 * Runs a BPF program each time the event occurs: PERCH_IOC_SET_BPF.
 *
 * Async-signal-safe.
 *
 * @param fd          the event
 * @param program_fd  descriptor of the BPF program
 * @param machine     the machine
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 4.1
 */
PERCH_API int perch_event_set_bpf(int fd, int program_fd, struct perch_machine *machine,
				  struct perch_error *err);

/**
 * Reads the ids of the BPF programs on a tracepoint: PERCH_IOC_QUERY_BPF.
 *
 * Async-signal-safe.
 *
 * @param fd        the tracepoint
 * @param machine   the machine
 * @param[out] ids  the ids
 * @param capacity  number of ids that fit into ids; at most 64 are stored
 * @param[out] nr   number of programs, which may be more than are stored
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 4.16
 */
PERCH_API int perch_event_query_bpf(int fd, struct perch_machine *machine, uint32_t *ids,
				    uint32_t capacity, uint32_t *nr, struct perch_error *err);

/**
 * Stops or resumes writing into the ring of the event: PERCH_IOC_PAUSE_OUTPUT.
 *
 * Async-signal-safe.
 *
 * @param fd        the event
 * @param pause     true stops, false resumes
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 4.7
 */
PERCH_API int perch_event_pause_output(int fd, bool pause, struct perch_machine *machine,
				       struct perch_error *err);

/**
 * Changes bp_addr, bp_len, bp_type or sig_data of a breakpoint: PERCH_IOC_MODIFY_ATTRIBUTES.
 *
 * Afterwards the breakpoint is enabled if attr.disabled is 0, and disabled otherwise.
 *
 * Async-signal-safe.
 *
 * @param fd        the breakpoint
 * @param attr      the attr that was opened (perch_counter_attr(), perch_group_attr()), with the
 *                  changes
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 4.17
 */
PERCH_API int perch_event_modify(int fd, const struct perch_attr *attr,
				 struct perch_machine *machine, struct perch_error *err);

/**
 * Enables every event that the calling thread has opened: prctl(2) with PR_TASK_PERF_EVENTS_ENABLE.
 *
 * It acts on leaders and on members of groups, whatever they measure: this thread, other threads,
 * CPUs or cgroups. It does not act on events that other threads of the process have opened, nor on
 * events of children, which inherited them.
 *
 * Async-signal-safe.
 *
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_tasks_enable(struct perch_machine *machine, struct perch_error *err);

/** Disables every event that the calling thread has opened, see
 * perch_tasks_enable(). Async-signal-safe. */
PERCH_API int perch_tasks_disable(struct perch_machine *machine, struct perch_error *err);

/**
 * Sends a signal to a thread for each sample of an event, with fcntl(2): F_SETOWN_EX, F_SETSIG and
 * O_ASYNC.
 *
 * The event needs a period or frequency, but no ring. It may be that of a counter
 * (perch_counter_fd()), a member of a group, or one of a sampler, for which
 * perch_sampler_set_signal() sets all of them. In a handler with SA_SIGINFO si_fd is the
 * descriptor, and si_code is POLL_IN, or POLL_HUP for the last sample of perch_event_refresh(). If
 * the thread cannot get the signals as fast as the samples come, several samples have one signal.
 * Children that inherit the event send the signal too.
 *
 * @param fd        the event
 * @param signal    the signal, 1..SIGRTMAX; 0 ends signals. A real-time signal is queued; of others
 *                  one at a time is pending
 * @param tid       the thread that gets the signal; 0 is the calling thread
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 2.6.32
 */
PERCH_API int perch_event_set_signal(int fd, int signal, pid_t tid, struct perch_error *err);

/** Flags of struct perch_sigtrap. */
enum perch_sigtrap_flags {
	/** The signal was blocked, so it comes later than the sample. Since 5.18. */
	PERCH_SIGTRAP_ASYNC = 1 << 0,
};

/** The fields of the SIGTRAP of perch_options.sigtrap. */
struct perch_sigtrap {
	void *address;	/**< address of the sample: of a breakpoint, the data that was accessed */
	uint64_t data;	/**< si_perf_data: sig_data of the event, truncated to a long */
	uint32_t type;	/**< si_perf_type: attr.type of the event */
	uint32_t flags; /**< si_perf_flags: PERCH_SIGTRAP_* bits */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Reads the fields of a SIGTRAP of an event, also where the headers of libc have no si_perf_data
 * (before glibc 2.36, musl).
 *
 * Async-signal-safe: for handlers with SA_SIGINFO. Cannot fail, so it needs no err.
 *
 * @param siginfo       the siginfo_t of the signal handler; not of that type here, because
 *                      signal.h does not declare it in strict C
 * @param[out] sigtrap  the fields; not changed if the result is false
 * @return true if an event has sent the signal; false for other signals
 * @since Linux 5.13
 */
PERCH_API bool perch_siginfo_get_sigtrap(const void *siginfo, struct perch_sigtrap *sigtrap);

#ifdef __cplusplus
}
#endif
#endif
