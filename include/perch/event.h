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

/*
 * One event. `attr` has only what the text says: type, config*, exclude_*, precise_ip, pinned, exclusive, size. As with
 * perf from 6.13 on, guests are excluded only where the text says so (H, or p without G); older ones do it unasked.
 */
struct perch_event {
	char name[128];			/* as written, with its modifiers: "cycles:u"; cut to fit */
	struct perch_attr attr;
	int leader;			/* index in the list of the group's leader; its own index when it leads or is alone */
	int members;			/* for a leader: how many events its group has, itself included; else 0 */
	bool modified;			/* the text has a u, k, h, G or H modifier: the exclude_* bits are the user's will */
	bool precise_max;		/* modifier P: as precise as the machine can */
	char unit[32];			/* sysfs .unit, "" when none */
	double scale;			/* sysfs .scale, 1.0 when none */
};

struct perch_events {
	size_t nr;
	struct perch_event *event;
};

/*
 * Parses "cycles:u,{page-faults,context-switches},msr/tsc/,sched:sched_switch". machine NULL: this one; generic names
 * read no file. On failure err->column is the byte offset of what is wrong. End with perch_events_clear().
 */
PERCH_API int perch_events_parse(struct perch_events *events, const char *text, struct perch_machine *machine,
				 struct perch_error *err);
/* Parses more text and appends (several -e). On failure *events is as before. */
PERCH_API int perch_events_add(struct perch_events *events, const char *text, struct perch_machine *machine,
			       struct perch_error *err);
PERCH_API void perch_events_clear(struct perch_events *events);

/* The generic names, for listing: index from 0; NULL past the end. */
struct perch_event_name {
	const char *name;
	const char *alias;		/* NULL when it has none */
	uint32_t type;			/* PERCH_TYPE_HARDWARE, _SOFTWARE */
	uint64_t config;
};
PERCH_API const struct perch_event_name *perch_event_name(size_t index);
/* "L1-dcache-load-misses" of a legal PERCH_TYPE_HW_CACHE config; NULL when the combination does not exist. */
PERCH_API const char *perch_cache_event_name(uint64_t config, char *buffer, size_t size);
/* The name of what an attr measures, with its modifiers, as perf shows it: "cycles:u", "raw 0x1c2". Returns buffer. */
PERCH_API const char *perch_attr_name(const struct perch_attr *attr, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
