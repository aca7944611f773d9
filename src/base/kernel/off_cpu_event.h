/* SPDX-License-Identifier: MIT */
/* Recognizes the event of off-CPU time, and events whose samples have call chains. */
#ifndef PERCH_BASE_OFF_CPU_EVENT_H
#define PERCH_BASE_OFF_CPU_EVENT_H

#include <string.h>
#include <perch/file.h>
#include <perch/off_cpu.h>

/* Both perf and perch open it as bpf-output. */
static inline bool perch__is_off_cpu(const struct perch_file_event *event)
{
	return event->attr.type == PERCH_TYPE_SOFTWARE &&
	       event->attr.config == PERCH_COUNT_SW_BPF_OUTPUT && event->name &&
	       !strcmp(event->name, PERCH_OFF_CPU_EVENT);
}

/* True for the off-CPU time of perf since 6.16: the raw data has all that a sample says. */
static inline bool perch__is_off_cpu_of_perf(const struct perch_file_event *event)
{
	return (event->attr.sample_type & (PERCH_SAMPLE_RAW | PERCH_SAMPLE_CALLCHAIN)) ==
		       PERCH_SAMPLE_RAW &&
	       perch__is_off_cpu(event);
}

/* The bits of what samples have: a session finds the call chains of perf's off-CPU time. */
static inline uint64_t perch__sample_type(const struct perch_file_event *event)
{
	return event->attr.sample_type |
	       (perch__is_off_cpu_of_perf(event) ? PERCH_SAMPLE_CALLCHAIN : 0);
}

#endif
