/* SPDX-License-Identifier: MIT */
/*
 * The input is a sequence of records: samples of the scheduler's tracepoints with any bytes, of any
 * size, and records of switches, threads and lost records. Whatever they say, the intervals of a
 * thread follow each other without gaps, and the threads stay below the limit.
 */
#include <stdlib.h>
#include <string.h>
#include <perch/timeline.h>

#include "timeline_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_THREADS 64

struct input {
	uint8_t type, event, cpu, flags;
	uint16_t tid, other;
	int16_t after; /* ns since the record before; may be negative */
	uint8_t raw_size, unused;
};

struct fixture {
	struct perch_timeline *timeline;
	uint64_t end[MAX_THREADS], intervals;
	bool open[MAX_THREADS];
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int take_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct fixture *fixture = context;
	uint32_t index = interval->thread->index;

	check(index < MAX_THREADS && interval->end >= interval->start);
	check(perch_timeline_state_name(interval->state) != NULL);
	check(memchr(interval->thread->name, 0, sizeof(interval->thread->name)) != NULL);
	check(!fixture->open[index] || !interval->thread->tid ||
	      interval->start == fixture->end[index]);
	fixture->open[index] = true;
	fixture->end[index] = interval->end;
	fixture->intervals++;
	return 0;
}

static int take_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct fixture *fixture = context;

	check(edge->thread->index < MAX_THREADS && edge->event < PERCH_TIMELINE_EVENTS);
	if (edge->event == PERCH_TIMELINE_END)
		fixture->open[edge->thread->index] = false;
	return 0;
}

static void add_formats(struct perch_timeline *timeline)
{
	for (uint16_t i = 1; i < EVENTS; i++) {
		const struct perch_tracepoint_text text = { .system = "sched",
							    .text = timeline_formats[i],
							    .size = strlen(timeline_formats[i]),
							    .long_size = 8 };
		struct perch_tracepoint_format *format;

		check(!perch_tracepoint_format_parse(&format, &text, NULL));
		check(perch_timeline_add_event(timeline, i, format, NULL) == 1);
		perch_tracepoint_format_free(format);
	}
}

static void set_view(struct perch_record *record, const struct input *input, const char *raw)
{
	switch (record->type) {
	case PERCH_RECORD_SAMPLE:
		record->sample.raw.data = raw;
		record->sample.raw.size = input->raw_size;
		break;
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		record->context_switch = (struct perch_switch_record){ .out = input->flags & 1,
								       .preempt = input->flags & 2,
								       .other_tid = input->other };
		break;
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		record->task = (struct perch_task_record){ .pid = input->tid,
							   .tid = input->tid,
							   .ptid = input->other };
		break;
	case PERCH_RECORD_COMM:
		record->comm = (struct perch_comm_record){
			.tid = input->tid, .comm = { .text = raw, .length = input->raw_size }
		};
		break;
	default:
		record->lost.lost = input->other;
	}
}

/* Types of records that a timeline uses. */
static const uint32_t types[] = { PERCH_RECORD_SAMPLE, PERCH_RECORD_SAMPLE,
				  PERCH_RECORD_SAMPLE, PERCH_RECORD_SWITCH_CPU_WIDE,
				  PERCH_RECORD_SWITCH, PERCH_RECORD_FORK,
				  PERCH_RECORD_EXIT,   PERCH_RECORD_COMM,
				  PERCH_RECORD_LOST };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct perch_parse_info parse_info = { 0 };
	struct fixture fixture = { 0 };
	const struct perch_timeline_options options = { .interval = take_interval,
							.edge = take_edge,
							.context = &fixture,
							.max_threads = MAX_THREADS };
	struct perch_timeline_stats stats;
	struct input input;
	uint64_t time = 1 << 20;

	check(!perch_timeline_new(&fixture.timeline, &options, NULL));
	add_formats(fixture.timeline);
	while (size >= sizeof(input)) {
		struct perch_record record = { .parse_info = &parse_info };
		char *raw;

		memcpy(&input, data, sizeof(input));
		data += sizeof(input), size -= sizeof(input);
		if (input.raw_size > size)
			input.raw_size = (uint8_t)size;
		/* in a block of its own size, so that the sanitizers find any access beyond it */
		raw = malloc(input.raw_size + 1u);
		check(raw != NULL);
		memcpy(raw, data, input.raw_size);
		raw[input.raw_size] = '\0';
		data += input.raw_size, size -= input.raw_size;
		time += (uint64_t)(int64_t)input.after;
		record.type = types[input.type % (sizeof(types) / sizeof(*types))];
		record.event = input.event % (EVENTS + 1);
		record.sample_id = (struct perch_sample_id){
			.has = input.flags >> 4
				       ? PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU
				       : PERCH_SAMPLE_TIME,
			.pid = input.tid,
			.tid = input.tid,
			.time = time,
			.cpu = input.cpu
		};
		set_view(&record, &input, raw);
		check(!perch_timeline_feed(fixture.timeline, &record, NULL));
		free(raw);
	}
	check(!perch_timeline_finish(fixture.timeline, 0));
	perch_timeline_get_stats(fixture.timeline, &stats);
	check(stats.intervals == fixture.intervals && stats.most_threads <= MAX_THREADS &&
	      stats.uncertain <= stats.intervals);
	perch_timeline_free(fixture.timeline);
	return 0;
}
