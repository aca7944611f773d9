/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Counters, groups and sets.
 *
 * A counter is one event on one target. A group is several events on one target that the kernel
 * schedules together. A set is many events on many targets.
 *
 * In all functions err may be NULL. Functions that open an object store it in their first
 * parameter, or NULL after a failure. They take a target of NULL for the calling thread, and
 * options of NULL for disabled events.
 *
 * Threads: one thread per object at a time. Different objects may be used at the same time.
 *
 * Fork: in a child of fork(2) the descriptors still mean the events of the parent. Functions that
 * read, enable, disable or reset an object that was opened before the fork return -ESTALE there
 * (PERCH_ERROR_FORK) and do not change it. Names, attrs and numbers of events can be read. Closing
 * is allowed: it closes the descriptors of the child and frees its memory, and the counts of the
 * parent go on. The kernel keeps an event until each copy of its descriptor is closed: a child that
 * lives long should close the objects of its parent before other descriptors are opened. A child
 * can open objects of its own. The check makes no system call. A child of vfork(2), or of clone(2)
 * with CLONE_VM, uses the memory of its parent, and must leave the objects of the parent alone.
 *
 * With perch_options.inherit the kernel counts the child too, and adds its counts to what the
 * parent reads. The child has nothing to do for that, and closing in the child does not end it.
 *
 * Signals: a function is async-signal-safe only if its description says so, and only with err NULL.
 * The signal handler must not interrupt a call that uses the same object. errno may change.
 */
#ifndef PERCH_COUNT_H
#define PERCH_COUNT_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/open.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How complete a count is. */
enum perch_count_state {
	/** The event was on the PMU all the time it was enabled: value is exact. */
	PERCH_COUNT_STATE_EXACT,
	/** The event shared its counter (multiplexing): scaled is an estimate. */
	PERCH_COUNT_STATE_SCALED,
	/** The event was enabled but never on the PMU: the count is unknown, not 0. */
	PERCH_COUNT_STATE_NEVER_RAN,
	/** The event was not enabled since the open or the last reset, or its thread or cgroup did
	 * not run while it was: value is 0. */
	PERCH_COUNT_STATE_NOT_ENABLED,
	/** A pinned event lost its counter: the count is unknown. */
	PERCH_COUNT_STATE_ERROR,
	/** The event is not open on this target. Only in sets. */
	PERCH_COUNT_STATE_NOT_OPEN,
};

/** A count, with the times that belong to it. */
struct perch_count {
	uint64_t value;	 /**< the count of the kernel, not scaled */
	uint64_t scaled; /**< value * enabled_ns / running_ns; 0 if running_ns is 0 */
	/** nanoseconds enabled since the open or the last reset; of a thread or cgroup, only those
	 * in which it ran */
	uint64_t enabled_ns;
	uint64_t running_ns; /**< nanoseconds on the PMU in that time */
	uint64_t id;	     /**< id of the event with PERCH_FORMAT_ID, else 0 */
	uint64_t lost;	     /**< lost samples with PERCH_FORMAT_LOST, else 0; since Linux 6.0 */
	enum perch_count_state state; /**< how complete the count is */
	uint64_t reserved[1];	      /**< for members of later versions */
};

/** Returns the name of a state: "exact", "scaled", "never ran", "not enabled", "error", "not open".
 * Never NULL. Async-signal-safe. */
PERCH_API const char *perch_count_state_name(enum perch_count_state state);

/** One event on one target. */
struct perch_counter;

/**
 * Opens one event on one target.
 *
 * @param[out] counter  the new counter; NULL after a failure
 * @param text          one event, see perch-events(7)
 * @param target        thread and CPU; NULL is the calling thread
 * @param options       NULL is a disabled event
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_counter_open(struct perch_counter **counter, const char *text,
				 const struct perch_target *target,
				 const struct perch_options *options, struct perch_error *err);

/**
 * Opens a parsed event on one target.
 *
 * @param[out] counter  the new counter; NULL after a failure
 * @param event         the event, which is not used after the open
 * @param target        thread and CPU; NULL is the calling thread
 * @param options       NULL is a disabled event
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_counter_open_event(struct perch_counter **counter,
				       const struct perch_event *event,
				       const struct perch_target *target,
				       const struct perch_options *options,
				       struct perch_error *err);

/** Closes a counter. NULL is allowed. */
PERCH_API void perch_counter_close(struct perch_counter *counter);

/** Returns the descriptor, which perch_counter_close() closes. Async-signal-safe. */
PERCH_API int perch_counter_fd(const struct perch_counter *counter);

/** Returns the text of the event. It is valid until perch_counter_close(). Async-signal-safe. */
PERCH_API const char *perch_counter_name(const struct perch_counter *counter);

/**
 * Makes a counter of an event that was opened elsewhere: before an exec(2), or in another process
 * that sent the descriptor over a socket (SCM_RIGHTS).
 *
 * The counter reads and controls the same event as the other holders of the descriptor.
 *
 * @param[out] counter  the new counter; NULL after a failure
 * @param fd            the event; perch_counter_close() closes it. After a failure the caller
 *                      still owns it
 * @param attr          the attr as opened, see perch_counter_attr(). It is copied. Its read_format
 *                      is what the kernel returns; it needs both times, as counters always have
 * @param name          the name of the event; NULL is the name of the attr
 * @param machine       where system calls are made; NULL is this machine
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL the descriptor has another read_format
 */
PERCH_API int perch_counter_from_fd(struct perch_counter **counter, int fd,
				    const struct perch_attr *attr, const char *name,
				    struct perch_machine *machine, struct perch_error *err);

/**
 * Returns the attr as it was opened.
 *
 * It differs from that of perch_attr_build(): counters add bits to read_format, and optional
 * features may be missing. Records in the ring of the counter are laid out by this attr, and
 * perch_event_modify() takes it with changes. Valid until perch_counter_close().
 */
PERCH_API const struct perch_attr *perch_counter_attr(const struct perch_counter *counter);

/**
 * Returns whether the kernel is excluded, because kernel profiling was not permitted and
 * perch_options.may has PERCH_MAY_EXCLUDE_KERNEL.
 *
 * Only user space is counted then, except by task-clock and cpu-clock: for the kernel these are
 * clocks, which do not stop in system calls. Async-signal-safe.
 */
PERCH_API bool perch_counter_user_only(const struct perch_counter *counter);

/**
 * Enables the event with one ioctl(2). Async-signal-safe if err is NULL.
 *
 * @param counter   the counter
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_counter_enable(struct perch_counter *counter, struct perch_error *err);

/** Disables the event with one ioctl(2), see perch_counter_enable(). Async-signal-safe if err is
 * NULL. */
PERCH_API int perch_counter_disable(struct perch_counter *counter, struct perch_error *err);

/**
 * Sets the value to 0, and the times of later reads to 0.
 *
 * The kernel does not reset times: they are read here once, and later reads subtract them. That is
 * two system calls in total. The value keeps the counts of children of an inherited event that have
 * exited, because the kernel resets only tasks that exist.
 *
 * Async-signal-safe if err is NULL.
 *
 * @param counter   the counter
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_counter_reset(struct perch_counter *counter, struct perch_error *err);

/**
 * Reads the count with one read(2), or with none (perch_counter_self_monitoring()).
 *
 * Async-signal-safe.
 *
 * @param counter     the counter
 * @param[out] count  the count
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENODATA the event is pinned and lost its counter (PERCH_ERROR_SCHEDULE)
 */
PERCH_API int perch_counter_read(struct perch_counter *counter, struct perch_count *count,
				 struct perch_error *err);

/**
 * Reads the id of the event.
 *
 * Async-signal-safe.
 *
 * @param counter   the counter
 * @param[out] id   the id
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 3.12
 */
PERCH_API int perch_counter_id(struct perch_counter *counter, uint64_t *id,
			       struct perch_error *err);

/**
 * Reads the times of the event without a system call, from its control page: perch_page_times().
 *
 * The first call maps the page, with one mmap(2). The times are those since the open, also after
 * perch_counter_reset(). The kernel maps one size per event: an event with a ring has no page of
 * its own for this function, and after this function it can have no ring.
 *
 * @param counter          the counter. The kernel maps no page of an inherited event of a thread
 * @param[out] enabled_ns  nanoseconds enabled
 * @param[out] running_ns  nanoseconds on the PMU
 * @param[out] err         the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_counter_times(struct perch_counter *counter, uint64_t *enabled_ns,
				  uint64_t *running_ns, struct perch_error *err);

/**
 * Reads the relation between the clock of the CPU and times of samples from the control page, see
 * perch_clock_from_page() and perch_counter_times().
 *
 * @param counter     the counter
 * @param[out] clock  the relation
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -EOPNOTSUPP the machine has no such relation
 * @since Linux 3.12
 */
PERCH_API int perch_counter_clock(struct perch_counter *counter,
				  struct perch_clock_conversion *clock, struct perch_error *err);

/** Returns the features of perch_options.optional that the kernel does not have, or NULL if none
 * are missing. Async-signal-safe. */
PERCH_API const struct perch_attr *perch_counter_missing_features(
	const struct perch_counter *counter);

/**
 * Returns whether the last perch_counter_read() made no system call.
 *
 * With perch_options.self_monitoring, perch_counter_read() uses the CPU's own instruction (rdpmc)
 * on x86 and arm64, if a hardware event of the calling thread (perch_self) is on the PMU. Otherwise
 * it uses read(2). The counts are the same.
 *
 * Events of other threads are always read with read(2): the instruction reads the counters of the
 * CPU that executes it, and the control page of an event does not have the CPU on which its thread
 * runs. So the thread that opens the event, for itself, is the only one that reads it without a
 * system call. An event of a CPU or cgroup is read with read(2) too, because the reader may be
 * moved to another CPU between the page and the register.
 *
 * Async-signal-safe.
 *
 * @param counter   the counter
 * @param[out] err  the reason why the last read was a system call; NULL is allowed
 * @return true if it made no system call
 */
PERCH_API bool perch_counter_self_monitoring(const struct perch_counter *counter,
					     struct perch_error *err);

/** Several events on one target that the kernel schedules together. */
struct perch_group;

/**
 * Opens events as one group, which one read(2) reads.
 *
 * With perch_options.inherit before Linux 4.13, each member is read separately. With
 * perch_options.enabled, the group is enabled with one ioctl(2) after all members are open.
 *
 * @param[out] group  the new group; NULL after a failure
 * @param text        the events, with or without braces, see perch-events(7)
 * @param target      thread and CPU; NULL is the calling thread
 * @param options     options of all members; NULL is a disabled group
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_group_open(struct perch_group **group, const char *text,
			       const struct perch_target *target,
			       const struct perch_options *options, struct perch_error *err);

/**
 * Opens parsed events as one group, see perch_group_open().
 *
 * @param[out] group  the new group; NULL after a failure
 * @param events      one group in braces, or single events, which become one group. They are not
 *                    used after the open
 * @param target      thread and CPU; NULL is the calling thread
 * @param options     options of all members; NULL is a disabled group
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_group_open_events(struct perch_group **group, const struct perch_events *events,
				      const struct perch_target *target,
				      const struct perch_options *options, struct perch_error *err);

/**
 * Adds a member to a group, which may be enabled.
 *
 * The member has the target of the group, and is enabled and disabled with it. If the group is
 * enabled, the member counts from now on, and its times begin now. Other members keep their
 * indices, and their names and attrs stay valid.
 *
 * @param group     the group, not of perch_group_from_fds()
 * @param text      one event, see perch-events(7)
 * @param options   options of the member: another period, sample or filter than the others. read,
 *                  inherit and machine are those of the group. enabled, enable_on_exec, pinned and
 *                  exclusive belong to the leader and are refused. NULL is none
 * @param[out] err  the reason of a failure; the group is then as before
 * @return 0, or a negative errno
 */
PERCH_API int perch_group_add(struct perch_group *group, const char *text,
			      const struct perch_options *options, struct perch_error *err);

/** Adds a parsed event to a group, see perch_group_add(). The event is not used after that. */
PERCH_API int perch_group_add_event(struct perch_group *group, const struct perch_event *event,
				    const struct perch_options *options, struct perch_error *err);

/**
 * Makes a group of events that were opened elsewhere, see perch_counter_from_fd().
 *
 * @param[out] group  the new group; NULL after a failure
 * @param fds         the events in the order in which they joined, the leader first.
 *                    perch_group_close() closes them. After a failure the caller still owns them
 * @param attrs       the attr of each event as opened, see perch_group_attr(); they are copied
 * @param nr          number of events
 * @param machine     where system calls are made; NULL is this machine
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL a descriptor has another read_format, or is at another place in the group. The
 *         order can be checked only if the group is read with PERCH_FORMAT_ID
 */
PERCH_API int perch_group_from_fds(struct perch_group **group, const int *fds,
				   const struct perch_attr *attrs, size_t nr,
				   struct perch_machine *machine, struct perch_error *err);

/** Closes a group. NULL is allowed. */
PERCH_API void perch_group_close(struct perch_group *group);

/** Returns the number of members. Async-signal-safe. */
PERCH_API size_t perch_group_size(const struct perch_group *group);

/** Returns the descriptor of a member, which perch_group_close() closes. Member 0 is the leader.
 * Returns -EINVAL if there is no such member. Async-signal-safe. */
PERCH_API int perch_group_fd(const struct perch_group *group, size_t member);

/** Returns the text of a member's event, or NULL if there is no such member. It is valid until
 * perch_group_close(). Async-signal-safe. */
PERCH_API const char *perch_group_name(const struct perch_group *group, size_t member);

/** Returns the features of perch_options.optional that the kernel does not have for a member, or
 * NULL if none are missing. Async-signal-safe. */
PERCH_API const struct perch_attr *perch_group_missing_features(const struct perch_group *group,
								size_t member);

/** Returns the attr of a member as it was opened, see perch_counter_attr(); NULL if there is no
 * such member. Valid until perch_group_close(). */
PERCH_API const struct perch_attr *perch_group_attr(const struct perch_group *group, size_t member);

/** Returns whether the kernel is excluded for a member, see perch_counter_user_only().
 * Async-signal-safe. */
PERCH_API bool perch_group_user_only(const struct perch_group *group, size_t member);

/**
 * Reads the id of a member with one ioctl(2).
 *
 * @param group     the group
 * @param member    index of the member
 * @param[out] id   the id
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @since Linux 3.12
 */
PERCH_API int perch_group_id(struct perch_group *group, size_t member, uint64_t *id,
			     struct perch_error *err);

/**
 * Finds a member by the id that samples and counts have. The first call reads the ids.
 *
 * @param group     the group
 * @param id        the id
 * @param[out] err  the reason of a failure
 * @return the index of the member, or a negative errno
 * @retval -ENOENT no member has that id
 * @since Linux 3.12
 */
PERCH_API int perch_group_find(struct perch_group *group, uint64_t id, struct perch_error *err);

/**
 * Enables the group with one ioctl(2). Async-signal-safe if err is NULL.
 *
 * @param group     the group
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_group_enable(struct perch_group *group, struct perch_error *err);

/** Disables the group with one ioctl(2), see perch_group_enable(). Async-signal-safe if err is
 * NULL. */
PERCH_API int perch_group_disable(struct perch_group *group, struct perch_error *err);

/** Resets the values and times of all members, see perch_counter_reset() and
 * perch_group_enable(). */
PERCH_API int perch_group_reset(struct perch_group *group, struct perch_error *err);

/**
 * Returns whether the last perch_group_read() made no system call, see
 * perch_counter_self_monitoring().
 *
 * All members are read without a system call, or all with one read(2): with a software event among
 * the members it is read(2). The members are read one after the other, while none of them leaves
 * the PMU.
 *
 * Async-signal-safe.
 *
 * @param group     the group
 * @param[out] err  the reason why the last read was a system call, with the name of the member;
 *                  NULL is allowed
 * @return true if it made no system call
 */
PERCH_API bool perch_group_self_monitoring(const struct perch_group *group,
					   struct perch_error *err);

/**
 * Reads the counts of all members.
 *
 * @param group        the group
 * @param[out] counts  one count for each member
 * @param nr           number of counts; must be perch_group_size()
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENODATA the group is pinned and lost its counters (PERCH_ERROR_SCHEDULE)
 */
PERCH_API int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr,
			       struct perch_error *err);

/** Many events on many targets. A group is a group on each target, and one read(2) reads it there.
 */
struct perch_set;

/** An event of a set, as it was opened. */
struct perch_set_event {
	/** The event. The members of a weak group that was broken up have themselves as leaders. */
	struct perch_event event;
	struct perch_attr attr; /**< the attr that was opened or refused */
	bool skipped;		/**< the event is not open; reason explains why */
	bool user_only;		/**< only user space is counted (PERCH_MAY_EXCLUDE_KERNEL) */
	bool broken;		/**< its weak group was too large and was broken up */
	/** Features of perch_options.optional that the kernel does not have; NULL if none are
	 * missing. */
	const struct perch_attr *missing_features;
	const struct perch_error *reason; /**< why it was skipped; NULL if it was not */
};

/**
 * Opens every event on every target.
 *
 * Events and targets are copied, except the strings of events (filter, path): these must outlive
 * the set. perch_targets_clear() may close the cgroups once the set is open.
 *
 * @param[out] set  the new set; NULL after a failure
 * @param events    the events; groups are opened as groups
 * @param targets   at least one target; NULL is the calling thread
 * @param options   options of all events; NULL is disabled events. PERCH_MAY_* bits in
 *                  options.may allow events to be skipped and targets to be lost
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_set_open(struct perch_set **set, const struct perch_events *events,
			     const struct perch_targets *targets,
			     const struct perch_options *options, struct perch_error *err);

/** Closes a set. NULL is allowed. */
PERCH_API void perch_set_close(struct perch_set *set);

/** Returns the number of events, including skipped ones. Async-signal-safe. */
PERCH_API size_t perch_set_events(const struct perch_set *set);

/** Returns the number of targets. Async-signal-safe. */
PERCH_API size_t perch_set_targets(const struct perch_set *set);

/** Returns an event, or NULL if there is no such event. It is valid until perch_set_close().
 * Async-signal-safe. */
PERCH_API const struct perch_set_event *perch_set_get_event(const struct perch_set *set,
							    size_t event);

/** Returns a target, or NULL if there is no such target. It is valid until perch_set_close().
 * Async-signal-safe. */
PERCH_API const struct perch_target *perch_set_target(const struct perch_set *set, size_t target);

/** Returns the descriptor of an event on a target. Returns -1 if it is not open there: the event
 * was skipped, the thread had ended, or the PMU does not count on that CPU. Async-signal-safe. */
PERCH_API int perch_set_fd(const struct perch_set *set, size_t event, size_t target);

/**
 * Explains skipped events again, with another machine: one that allows probing
 * (perch_machine_set_probing()), or has the facts of another process.
 *
 * perch_set_open() explains them with the machine of the options.
 *
 * @param set      the set; perch_set_event.reason is updated
 * @param machine  the machine
 */
PERCH_API void perch_set_explain(struct perch_set *set, struct perch_machine *machine);

/** Enables all events, with one ioctl(2) for each group and target. Returns 0 or a negative errno.
 */
PERCH_API int perch_set_enable(struct perch_set *set, struct perch_error *err);

/** Disables all events, with one ioctl(2) for each group and target. Returns 0 or a negative
 * errno. */
PERCH_API int perch_set_disable(struct perch_set *set, struct perch_error *err);

/**
 * Enables or disables one event on all targets. The members of a group count only while its leader
 * is enabled, too.
 *
 * @param set       the set
 * @param event     index of the event
 * @param enable    true: enable it
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_set_control(struct perch_set *set, size_t event, bool enable,
				struct perch_error *err);

/** Resets the values and times of all events, see perch_counter_reset(). Returns 0 or a negative
 * errno. */
PERCH_API int perch_set_reset(struct perch_set *set, struct perch_error *err);

/**
 * Reads the counts of all events on all targets.
 *
 * An event that is not open on a target has the state PERCH_COUNT_STATE_NOT_OPEN there. A pinned
 * event that lost its counter has PERCH_COUNT_STATE_ERROR. The read succeeds with both.
 *
 * @param set          the set
 * @param[out] counts  counts[event * perch_set_targets() + target]
 * @param nr           number of counts; must be perch_set_events() * perch_set_targets()
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_set_read(struct perch_set *set, struct perch_count *counts, size_t nr,
			     struct perch_error *err);

/**
 * Returns whether the last perch_set_read() read an event on a target without a system call, see
 * perch_group_self_monitoring().
 *
 * It does so for targets that are the thread that opened the set, if that thread reads it.
 *
 * Async-signal-safe.
 *
 * @param set       the set
 * @param event     index of the event
 * @param target    index of the target
 * @param[out] err  the reason why the last read was a system call; NULL is allowed
 * @return true if it made no system call
 */
PERCH_API bool perch_set_self_monitoring(const struct perch_set *set, size_t event, size_t target,
					 struct perch_error *err);

/**
 * Adds counts.
 *
 * Values, scaled values, times and lost samples are added. The state is the least complete one of
 * the counts that are open.
 *
 * Async-signal-safe.
 *
 * @param[out] sum  the sum
 * @param counts    the counts
 * @param nr        number of counts
 */
PERCH_API void perch_count_sum(struct perch_count *sum, const struct perch_count *counts,
			       size_t nr);

/**
 * Computes the count between two reads, scaled by the times between them.
 *
 * If either count has the state PERCH_COUNT_STATE_ERROR or PERCH_COUNT_STATE_NOT_OPEN, the
 * difference is unknown: it has that state and value 0. If the time of now is less than that of
 * earlier, there was a reset in between, and the difference is all of now.
 *
 * Async-signal-safe.
 *
 * @param[out] delta  the difference; may be the same object as now
 * @param now         the later count
 * @param earlier     the earlier count; NULL is the open
 */
PERCH_API void perch_count_delta(struct perch_count *delta, const struct perch_count *now,
				 const struct perch_count *earlier);

/**
 * Returns value * enabled / running, rounded to nearest.
 *
 * Async-signal-safe.
 *
 * @param value    a count
 * @param enabled  time enabled
 * @param running  time on the PMU
 * @return the scaled value; 0 if running is 0, UINT64_MAX if it is larger than that
 */
PERCH_API uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running);

#ifdef __cplusplus
}
#endif
#endif
