/* SPDX-License-Identifier: MIT */
/* Records for timelines, and what the timeline delivers for them. Each includer uses all of it. */
#ifndef TIMELINE_FIXTURE_H
#define TIMELINE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/timeline.h>

#include "timeline_formats.h"

#define MOST_DELIVERED 4096

struct timeline_fixture {
	struct perch_timeline *timeline;
	struct perch_timeline_interval interval[MOST_DELIVERED];
	struct perch_timeline_thread thread[MOST_DELIVERED]; /* of the intervals */
	size_t nr;
	struct perch_timeline_edge edge[MOST_DELIVERED];
	uint32_t edge_tid[MOST_DELIVERED], edge_index[MOST_DELIVERED];
	size_t edge_after[MOST_DELIVERED]; /* so many intervals */
	size_t nr_edges;
	size_t taken; /* intervals that the test has looked at */
};

static int keep_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct timeline_fixture *fixture = context;

	assert_in_range(fixture->nr, 0, MOST_DELIVERED - 1);
	fixture->thread[fixture->nr] = *interval->thread;
	fixture->interval[fixture->nr++] = *interval;
	return 0;
}

static int keep_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct timeline_fixture *fixture = context;

	assert_in_range(fixture->nr_edges, 0, MOST_DELIVERED - 1);
	fixture->edge_tid[fixture->nr_edges] = edge->thread->tid;
	fixture->edge_index[fixture->nr_edges] = edge->thread->index;
	fixture->edge_after[fixture->nr_edges] = fixture->nr;
	fixture->edge[fixture->nr_edges++] = *edge;
	return 0;
}

static int add_format(struct perch_timeline *timeline, uint16_t event, const char *text,
		      struct perch_error *err)
{
	const struct perch_tracepoint_text source = {
		.system = "sched", .text = text, .size = strlen(text), .long_size = 8
	};
	struct perch_tracepoint_format *format;
	int rc;

	assert_int_equal(perch_tracepoint_format_parse(&format, &source, err), 0);
	rc = perch_timeline_add_event(timeline, event, format, err);
	perch_tracepoint_format_free(format);
	return rc;
}

/* events: bits of EVENT_*. */
static void begin_timeline(struct timeline_fixture *fixture, uint32_t events, uint32_t max_threads)
{
	const struct perch_timeline_options options = { .interval = keep_interval,
							.edge = keep_edge,
							.context = fixture,
							.max_threads = max_threads };
	struct perch_error err;

	fixture->nr = fixture->nr_edges = fixture->taken = 0;
	assert_int_equal(perch_timeline_new(&fixture->timeline, &options, &err), 0);
	for (uint16_t i = 1; i < EVENTS; i++)
		if (events >> i & 1)
			assert_int_equal(
				add_format(fixture->timeline, i, timeline_formats[i], &err), 1);
}

static void feed(struct timeline_fixture *fixture, const struct perch_record *record)
{
	struct perch_error err;

	assert_int_equal(perch_timeline_feed(fixture->timeline, record, &err), 0);
}

#define HAS (PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU)

/* The process of a thread is 100 times its id. */
static struct perch_record record_of(uint32_t type, uint64_t time, uint32_t cpu, uint32_t tid)
{
	static const struct perch_parse_info parse_info = { 0 };

	return (struct perch_record){
		.type = type,
		.parse_info = &parse_info,
		.sample_id = { .has = HAS, .pid = tid * 100, .tid = tid, .time = time, .cpu = cpu },
	};
}

/* words: of sample.raw from byte 24 on. */
static void feed_sample(struct timeline_fixture *fixture, uint16_t event, uint64_t time,
			uint32_t cpu, uint32_t tid, const uint32_t *words, size_t size)
{
	static _Alignas(8) char raw[64];
	struct perch_record record = record_of(PERCH_RECORD_SAMPLE, time, cpu, tid);

	memset(raw, 0, sizeof(raw));
	memcpy(raw + 24, words, size);
	record.event = event;
	record.sample.raw.data = raw;
	record.sample.raw.size = sizeof(raw);
	feed(fixture, &record);
}

static void feed_switch(struct timeline_fixture *fixture, uint64_t time, uint32_t cpu,
			uint32_t prev, uint32_t state, uint32_t next)
{
	const uint32_t words[] = { prev, 120, state, 0, 0, 0, 0, 0, next, 119 };

	feed_sample(fixture, EVENT_SWITCH, time, cpu, prev, words, sizeof(words));
}

static void feed_waking(struct timeline_fixture *fixture, uint16_t event, uint64_t time,
			uint32_t cpu, uint32_t waker, uint32_t tid)
{
	const uint32_t words[] = { tid, 120, cpu };

	feed_sample(fixture, event, time, cpu, waker, words, sizeof(words));
}

/* The SWITCH_CPU_WIDE records of a switch, or the SWITCH records of its threads. */
static void feed_switch_records(struct timeline_fixture *fixture, uint32_t type, uint64_t time,
				uint32_t cpu, uint32_t prev, bool preempt, uint32_t next)
{
	struct perch_record record = record_of(type, time, cpu, prev);

	record.context_switch = (struct perch_switch_record){
		.out = true, .preempt = preempt, .other_pid = next * 100, .other_tid = next
	};
	feed(fixture, &record);
	record = record_of(type, time, cpu, next);
	record.context_switch =
		(struct perch_switch_record){ .other_pid = prev * 100, .other_tid = prev };
	feed(fixture, &record);
}

static void feed_task(struct timeline_fixture *fixture, uint32_t type, uint64_t time, uint32_t cpu,
		      uint32_t tid, uint32_t parent)
{
	struct perch_record record = record_of(type, time, cpu, parent);

	record.task = (struct perch_task_record){
		.pid = tid * 100, .tid = tid, .ppid = parent * 100, .ptid = parent, .time = time
	};
	feed(fixture, &record);
}

static inline void feed_losses(struct timeline_fixture *fixture, enum perch_record_type type,
			       uint64_t time, uint32_t cpu, uint64_t lost)
{
	struct perch_record record = record_of(type, time, cpu, 0);

	record.lost.lost = lost;
	feed(fixture, &record);
}

static void feed_lost(struct timeline_fixture *fixture, uint64_t time, uint32_t cpu)
{
	feed_losses(fixture, PERCH_RECORD_LOST, time, cpu, 5);
}

#endif
