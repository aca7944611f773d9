/* SPDX-License-Identifier: MIT */
/* What to measure: perf's event names made into attrs. See perch-events(7) for the grammar. */
#ifndef PERCH_EVENT_H
#define PERCH_EVENT_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a sample tells its callers: the term call-graph=. */
enum perch_call_graph_mode {
	PERCH_CALL_GRAPH_UNSET, /* as the options say */
	PERCH_CALL_GRAPH_NONE,	/* call-graph=no: not for this event */
	PERCH_CALL_GRAPH_FP,	/* frame pointers, walked by the kernel */
	PERCH_CALL_GRAPH_DWARF, /* registers and a copy of the stack, unwound later */
	PERCH_CALL_GRAPH_LBR,	/* the CPU's own memory of calls */
};

/* A term that may be said either way, or not at all. */
enum perch_tristate { PERCH_TRISTATE_UNSET, PERCH_TRISTATE_YES, PERCH_TRISTATE_NO };

/*
 * What terms say about sampling: they win over the options of the call that opens the event.
 * period= and freq= are in attr.sample_period, attr.sample_freq and attr.freq.
 */
struct perch_event_terms {
	enum perch_call_graph_mode call_graph;
	uint32_t stack_bytes; /* stack-size=, of PERCH_CALL_GRAPH_DWARF; 0: 8192 */
	uint16_t max_stack;   /* max-stack=: frames */
	/*
	 * inherit, no-inherit: all of a group alike. Always no for probes with a path: the kernel
	 * reads that again at each fork, in the program that forks, which then fails
	 */
	enum perch_tristate inherit;
	enum perch_tristate overwrite; /* overwrite, no-overwrite */
	enum perch_tristate time;      /* time=1, time=0: sampled times */
	bool percore;		       /* percore: counts of a core's threads are added up */
	bool aux_output;	       /* aux-output: into the leader's AUX area */
	uint32_t aux_sample_bytes;     /* aux-sample-size= */
	/* aux-action=start-paused|pause|resume: bits 0, 1, 2, as attr.aux_action has them */
	uint32_t aux_action;
	uint64_t branch_sample_type; /* branch_type=: PERCH_SAMPLE_BRANCH_*; 0: unsaid */
};

/*
 * One event. `attr` has only what the text says: type, config*, exclude_*, precise_ip, pinned,
 * exclusive, size. As with perf from 6.13 on, guests are excluded only where the text says so (H,
 * or p without G); older ones do it unasked.
 */
struct perch_event {
	/*
	 * as written, with its modifiers: "cycles:u"; cut to fit. A generic name on several core
	 * PMUs is "cpu_core/cycles/u" and so on, a glob of tracepoints each's own.
	 */
	char name[128];
	struct perch_attr attr;
	/* index in the list of the group's leader; its own index when it leads or is alone */
	int leader;
	/* for a leader: how many events its group has, itself included; else 0 */
	int members;
	/*
	 * index of the first event that the same name stands for: less than its own when a PMU's
	 * name is a glob or the start of several, a name means one event on each core PMU, or a
	 * USDT probe is in several places. Their counts add up (perf shows one line, but for core
	 * PMUs). Else its own index.
	 */
	int first;
	/* the text has a u, k, h, G or H modifier: the exclude_* bits are the user's will */
	bool modified;
	bool precise_max; /* modifier P: as precise as the machine can */
	/* modifier S: the leader's samples hold the members' counts (PERCH_FORMAT_GROUP) */
	bool leader_sampling;
	/* modifier W: the group may be broken up when it does not fit the PMU */
	bool weak;
	/* modifier b: perf counts by a BPF program; perch opens the event itself */
	bool bpf_counter;
	bool per_package; /* sysfs .per-pkg: counts a whole socket */
	bool snapshot;	  /* sysfs .snapshot: a level rather than a sum */
	struct perch_event_terms terms;
	char unit[32]; /* sysfs .unit, "" when none */
	double scale;  /* sysfs .scale, 1.0 when none */
	/* term filter=, and perch_events_set_filter(): set by whoever opens it; NULL: none */
	char *filter;
	/* the string that attr.config1 points to: a uprobe's file, a kprobe's symbol; NULL */
	char *path;
};

struct perch_events {
	size_t nr;
	struct perch_event *event;
};

/*
 * Parses "cycles:u,{page-faults,context-switches},msr/tsc/,sched:sched_switch" (perch-events(7)).
 * machine NULL: this one. Software names read no file, hardware names only look whether there are
 * several kinds of cores. On failure err->column is the byte offset of what is wrong. At most 65536
 * events. End with perch_events_clear().
 */
PERCH_API int perch_events_parse(struct perch_events *events, const char *text,
				 struct perch_machine *machine, struct perch_error *err);
/*
 * Parses more text and appends (several -e). *events: zero, or made by these functions, for they
 * know how much room a list of theirs has. On failure it is as before.
 */
PERCH_API int perch_events_add(struct perch_events *events, const char *text,
			       struct perch_machine *machine, struct perch_error *err);
/*
 * Reads events from a file: lists as above, one or more a line; a line's rest after '#' is a
 * comment. "-" is standard input. The message of an error begins with "FILE:LINE:", its column is
 * the byte in the line.
 */
PERCH_API int perch_events_add_file(struct perch_events *events, const char *path,
				    struct perch_machine *machine, struct perch_error *err);
/*
 * Sets the filter of every event from number `from` on that takes one: a tracepoint's expression
 * over its fields, or an address filter of a PMU that has them (nr_addr_filters). An event that has
 * a filter, of an earlier call or of its term filter=, gets both as perf has it: "(FIRST) &&
 * (SECOND)", and "FIRST,SECOND" of addresses. -EINVAL when none of the events takes one, when
 * filters are longer than 4095 bytes together, or when a tracepoint whose format file can be read
 * has no field of a name that the expression compares; on failure all events are as before.
 */
PERCH_API int perch_events_set_filter(struct perch_events *events, size_t from, const char *filter,
				      struct perch_machine *machine, struct perch_error *err);
PERCH_API void perch_events_clear(struct perch_events *events);

/* The CPUs whose PMU counts the event (hybrid cores, uncore units); NULL: any CPU. The machine
 * keeps them. */
PERCH_API const struct perch_cpus *perch_attr_cpus(const struct perch_attr *attr,
						   struct perch_machine *machine);

/* The generic names, for listing: index from 0; NULL past the end. */
struct perch_event_name {
	const char *name;
	const char *alias; /* NULL when it has none */
	uint32_t type;	   /* PERCH_TYPE_HARDWARE, _SOFTWARE */
	uint64_t config;
};
PERCH_API const struct perch_event_name *perch_event_get_name(size_t index);
/* "L1-dcache-load-misses" of a legal PERCH_TYPE_HW_CACHE config; NULL when the combination does not
 * exist. */
PERCH_API const char *perch_cache_event_name(uint64_t config, char *buffer, size_t size);
/* The name of what an attr measures, with its modifiers, as perf shows it: "cycles:u", "raw 0x1c2".
 * Returns buffer. */
PERCH_API const char *perch_attr_name(const struct perch_attr *attr, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
