/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Events: parses the event names of perf into attrs. perch-events(7) describes the grammar.
 *
 * Threads: one thread per object at a time, unless a function says otherwise. perch_events_parse()
 * and perch_events_add() may read the environment variable PATH, which no thread may change
 * meanwhile.
 *
 * Errors: a function that can fail fills err: the message names the wrong part, and column is its
 * offset in the text. Those without err cannot fail: a name that does not fit is truncated, and
 * NULL means that there is none.
 *
 * Fork: events are plain memory. A child can use and clear its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory and read files.
 */
#ifndef PERCH_EVENT_H
#define PERCH_EVENT_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How samples record the call chain: the term call-graph=. */
enum perch_call_graph_mode {
	PERCH_CALL_GRAPH_UNSET, /**< the options determine it */
	PERCH_CALL_GRAPH_NONE,	/**< call-graph=no: no call chain */
	PERCH_CALL_GRAPH_FP,	/**< the kernel follows frame pointers */
	PERCH_CALL_GRAPH_DWARF, /**< user registers and a copy of the user stack, unwound later */
	PERCH_CALL_GRAPH_LBR,	/**< last branch records in call stack mode */
};

/** A boolean that may be unset. */
enum perch_tristate {
	PERCH_TRISTATE_UNSET, /**< the text does not have the term */
	PERCH_TRISTATE_YES,   /**< the term is set */
	PERCH_TRISTATE_NO,    /**< the term is cleared */
};

/**
 * Terms about sampling. They take precedence over the options of the open call.
 *
 * The terms period= and freq= are in attr.sample_period, attr.sample_freq and attr.freq.
 */
struct perch_event_terms {
	enum perch_call_graph_mode call_graph; /**< call-graph= */
	/** stack-size=: bytes of the stack copy for PERCH_CALL_GRAPH_DWARF; 0 is 8192. */
	uint32_t stack_bytes;
	uint16_t max_stack; /**< max-stack=: frames of a call chain; 0 is unset */
	/**
	 * inherit, no-inherit. The same for all events of a group. Always PERCH_TRISTATE_NO for
	 * probes with a path or function: to inherit one, the kernel reads the path again from the
	 * memory of the process that forks, and that fork fails.
	 */
	enum perch_tristate inherit;
	enum perch_tristate overwrite; /**< overwrite, no-overwrite */
	enum perch_tristate time;      /**< time=1, time=0: PERCH_SAMPLE_TIME */
	bool percore;		       /**< percore: sum the counts of the threads of a core */
	bool aux_output;	       /**< aux-output: write into the AUX area of the leader */
	uint32_t aux_sample_bytes;     /**< aux-sample-size=: bytes; 0 is unset */
	/** aux-action=start-paused|pause|resume: bits 0, 1 and 2, as in attr.aux_action. */
	uint32_t aux_action;
	uint64_t branch_sample_type; /**< branch_type=: PERCH_SAMPLE_BRANCH_*; 0 is unset */
	uint64_t reserved[8];	     /**< must be 0 */
};

/**
 * One event.
 *
 * attr has only what the text sets: type, config*, exclude_*, precise_ip, pinned, exclusive and
 * size. Guests are excluded only if the text excludes them (modifier H, or p without G), as in perf
 * since 6.13.
 */
struct perch_event {
	/**
	 * The event as written, with its modifiers and those of its group: "cycles:u". Truncated if
	 * it is too long. A generic name that means several core PMUs becomes "cpu_core/cycles/u"
	 * and so on; a glob becomes the name of each tracepoint.
	 */
	char name[128];
	struct perch_attr attr;	   /**< the fields that the text sets */
	uint64_t attr_reserved[8]; /**< must be 0: attr grows with the kernel */
	/** Index of the group's leader in the list; the event's own index if it is the leader. */
	int leader;
	int members; /**< for a leader: number of events in its group, itself included; else 0 */
	/**
	 * Index of the first event of the same name; the event's own index if there is only one.
	 * Several events have one name if the name of a PMU matches several PMUs, if a name means
	 * one event on each core PMU, or if a USDT probe has several sites. Their counts add up:
	 * perf shows the sum, except for core PMUs.
	 */
	int first;
	bool modified;	  /**< has modifier u, k, h, G or H: the text sets the exclude_* bits */
	bool precise_max; /**< modifier P: the highest precise_ip that the machine has */
	/** Modifier S: samples of the leader have the counts of the group (PERCH_FORMAT_GROUP). */
	bool leader_sampling;
	bool weak; /**< modifier W: the group may be opened as single events if the PMU refuses it
		    */
	bool bpf_counter; /**< modifier b: perf counts with a BPF program; perch opens the event */
	bool per_package; /**< sysfs .per-pkg: counts a whole CPU package */
	bool snapshot;	  /**< sysfs .snapshot: the value is a level, not a sum */
	struct perch_event_terms terms; /**< terms about sampling */
	char unit[32];			/**< sysfs .unit; "" is none */
	double scale; /**< sysfs .scale: factor from counts to unit; 1.0 is none */
	/** Term filter= and perch_events_set_filter(); set when the event is opened. Or NULL. */
	char *filter;
	/** The string that attr.config1 points to: file of a uprobe, function of a kprobe. Or NULL.
	 * perch_events_clear() frees it with free(3). */
	char *path;
	/**
	 * The arguments of a probe, in the language of uprobe_events of tracefs: "n=%di:s32
	 * name=+0(%si):string". perch_probes_define() makes a probe that reads them; others read
	 * none. NULL if there are none. perch_events_clear() frees it with free(3).
	 */
	char *arguments;
	/** What cannot be read, and why: arguments, as "arg2 (8@(%rax,%rbx)): the kernel adds no
	 * two registers", or debug information of a function. NULL if there is nothing.
	 * perch_events_clear() frees it with free(3). */
	char *unread;
	uint64_t reserved[6]; /**< must be 0 */
};

/** A list of events; all zero is an empty list. */
struct perch_events {
	size_t nr;		   /**< number of events, at most 65536 */
	struct perch_event *event; /**< the events; NULL if there are none */
	uint64_t reserved[2];	   /**< must be 0 */
};

/**
 * Parses event names: "cycles:u,{page-faults,context-switches},msr/tsc/,sched:sched_switch".
 *
 * Software events need no file of the machine. Hardware events need only the names of the core
 * PMUs.
 *
 * @param[out] events  the list; empty after a failure. Free it with perch_events_clear().
 * @param text         a list of events, see perch-events(7)
 * @param machine      the machine whose PMUs and tracepoints the names mean; NULL is this machine
 * @param[out] err     the reason of a failure, where column is the byte offset in text; NULL is
 *                     allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  syntax error
 * @retval -ENOENT  no such event, PMU, file or function
 * @retval -E2BIG   more than 65536 events
 */
PERCH_API int perch_events_parse(struct perch_events *events, const char *text,
				 struct perch_machine *machine, struct perch_error *err);

/**
 * Parses event names and appends the events to a list.
 *
 * @param events    an empty list, or a list that only functions of this header have changed;
 *                  unchanged after a failure
 * @param text      as for perch_events_parse()
 * @param machine   as for perch_events_parse()
 * @param[out] err  as for perch_events_parse()
 * @return 0, or a negative errno as from perch_events_parse()
 */
PERCH_API int perch_events_add(struct perch_events *events, const char *text,
			       struct perch_machine *machine, struct perch_error *err);

/**
 * Parses the events in a file and appends them to a list.
 *
 * A line has one event or several. A '#' starts a comment. The file has at most 1 MiB.
 *
 * @param events    as for perch_events_add()
 * @param path      a regular file; "-" is standard input
 * @param machine   as for perch_events_parse()
 * @param[out] err  the reason of a failure; its message begins with "FILE:LINE: ", its column is
 *                  the byte offset in that line. NULL is allowed
 * @return 0, or a negative errno as from perch_events_parse(), open(2) and read(2)
 * @retval -EFBIG  the file is too large
 */
PERCH_API int perch_events_add_file(struct perch_events *events, const char *path,
				    struct perch_machine *machine, struct perch_error *err);

/**
 * Sets a filter on all events of a list, from an index on, that support filters.
 *
 * These are tracepoints (an expression over their fields) and events of PMUs with address filters
 * (sysfs nr_addr_filters). A second filter is combined with the first as perf does it:
 * "(FIRST) && (SECOND)" for tracepoints, "FIRST,SECOND" for addresses.
 *
 * @param events    the list; unchanged after a failure
 * @param from      index of the first event
 * @param filter    the filter, not empty
 * @param machine   as for perch_events_parse()
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  no event can have a filter, the filters of an event exceed 4095 bytes, or a
 *                  tracepoint whose format file can be read has no such field
 */
PERCH_API int perch_events_set_filter(struct perch_events *events, size_t from, const char *filter,
				      struct perch_machine *machine, struct perch_error *err);

/**
 * Finds a comparison in the filter of a tracepoint that the kernel accepts and that is never true.
 *
 * These compare a string with a field that is a pointer to user space, as filename of
 * syscalls:sys_enter_openat: the kernel reads the string only if .ustring follows the field.
 *
 * @param event      a parsed event
 * @param machine    as for perch_events_parse()
 * @param[out] note  the comparison, with the remedy; NULL is allowed
 * @return 1 with a note; 0 if there is none, or if the format of the tracepoint cannot be read; or
 *         a negative errno
 * @since Linux 5.17 for .ustring
 */
PERCH_API int perch_event_lint_filter(const struct perch_event *event,
				      struct perch_machine *machine, struct perch_error *note);

/**
 * Frees the events and makes the list empty.
 *
 * @param events  the list; may be empty already
 */
PERCH_API void perch_events_clear(struct perch_events *events);

/**
 * Returns whether an event occurs only while the CPU runs the kernel, such as context-switches,
 * cpu-migrations, cgroup-switches and most tracepoints: without the kernel (":u") its count is 0.
 * Tracepoints of the system "syscalls" and those of uprobes also occur in user space.
 *
 * @param event    the event
 * @param machine  where tracefs and the PMUs are read; NULL is this machine
 * @return true if it does; false if it does not, or if that is unknown because tracefs cannot be
 *         read
 */
PERCH_API bool perch_event_is_kernel_only(const struct perch_event *event,
					  struct perch_machine *machine);

/**
 * Returns the CPUs on which the PMU of an event counts.
 *
 * @param attr     the attr of the event
 * @param machine  the machine; NULL is allowed, and the result is NULL then
 * @return the CPUs of a core PMU of a hybrid machine or of an uncore PMU; NULL if the event can
 *         count on every CPU. They belong to the machine.
 */
PERCH_API const struct perch_cpus *perch_attr_cpus(const struct perch_attr *attr,
						   struct perch_machine *machine);

/** A generic event: a name that does not depend on the machine. */
struct perch_event_name {
	const char *name;  /**< the name that perf shows */
	const char *alias; /**< another name, or NULL */
	uint32_t type;	   /**< PERCH_TYPE_HARDWARE or PERCH_TYPE_SOFTWARE */
	uint64_t config;   /**< PERCH_COUNT_HW_* or PERCH_COUNT_SW_* */
};

/**
 * Returns one of the generic hardware and software events, for listing them.
 *
 * Thread-safe.
 *
 * @param index  from 0
 * @return the event, in static memory; NULL if there are no more
 */
PERCH_API const struct perch_event_name *perch_event_get_name(size_t index);

/**
 * Writes the name of a hardware cache event, such as "L1-dcache-load-misses".
 *
 * Thread-safe.
 *
 * @param config       config of an attr of PERCH_TYPE_HW_CACHE; the upper 32 bits are ignored
 * @param[out] buffer  the name, truncated if it does not fit
 * @param size         bytes of buffer; 64 are enough for every name
 * @return buffer, or NULL if no cache has the event
 */
PERCH_API const char *perch_cache_event_name(uint64_t config, char *buffer, size_t size);

/**
 * Writes the name of the event of an attr, with its modifiers, as perf shows it: "cycles:u".
 *
 * An event without a generic name is written as numbers: "raw 0x1c2". Thread-safe.
 *
 * @param attr         the attr
 * @param[out] buffer  the name, truncated if it does not fit
 * @param size         bytes of buffer
 * @return buffer
 */
PERCH_API const char *perch_attr_name(const struct perch_attr *attr, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
