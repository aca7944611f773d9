/* SPDX-License-Identifier: MIT */
/* Metrics of the counts of a sampled group: they follow the samples of its events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/metrics.h>

#include "put.h"
#include "script.h"

#define MAX_COUNTS 256 /* of one record; a damaged one may have thousands */

/* The counts of one record: its samples, one for each event, come one after the other. */
struct script_group {
	const void *bytes; /* of the record */
	uint64_t offset;
	size_t nr; /* 0: none */
	struct group_count {
		const struct script_event *event;
		uint64_t value;
	} count[MAX_COUNTS];
	char start[SCRIPT_START_BYTES]; /* of the last sample, without the event */
	size_t start_length;
};

void script_group_free(struct script_group *group)
{
	free(group);
}

static bool count_at(const void *context, size_t index, struct perch_metric_count *count)
{
	const struct group_count *from = (const struct group_count *)context + index;

	*count = (struct perch_metric_count){ .attr = &from->event->event->attr,
					      .value = (double)from->value };
	return true;
}

static void put_metric(const struct script_group *group, const struct group_count *count,
		       const struct perch_metric *metric)
{
	struct perch__output *out = count->event->out;
	char text[64];

	perch__output_bytes(out, group->start, group->start_length);
	snprintf(text, sizeof(text), "%*.*f%s ", metric->width, metric->decimals, metric->value,
		 metric->sign);
	perch__output_text(out, "\tmetric: ");
	perch__output_text(out, text);
	perch__output_text(out, metric->unit);
	perch__output_bytes(out, "\n", 1);
}

void script_group_end(struct script *script)
{
	struct script_group *group = script->group;
	struct perch_metric metrics[PERCH_METRICS_MAX];
	/* the time in which the events counted is known only from a clock among them */
	const struct perch_metric_counts counts = { .nr = group ? group->nr : 0,
						    .at = count_at,
						    .context = group ? group->count : NULL };

	for (size_t i = 0; i < counts.nr; i++) {
		size_t nr = perch_metrics(&counts, i, metrics);

		for (size_t k = 0; k < nr; k++)
			put_metric(group, &group->count[i], &metrics[k]);
	}
	if (group)
		group->nr = 0;
}

void script_group_next(struct script *script, const struct perch_record *record)
{
	const struct script_group *group = script->group;

	if (group && group->nr &&
	    (group->bytes != record->bytes || group->offset != record->offset))
		script_group_end(script);
}

int script_group_add(struct script *script, const struct script_event *event,
		     const struct perch_session_sample *sample)
{
	struct script_group *group = script->group;
	const struct perch_record *record = sample->record;
	const struct script_start start = script_start_of(sample);

	if (!group)
		group = script->group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	for (size_t i = 0; i < group->nr; i++)
		if (group->count[i].event == event) /* damaged */
			return 0;
	if (group->nr == MAX_COUNTS)
		return 0;
	group->bytes = record->bytes;
	group->offset = record->offset;
	group->count[group->nr++] =
		(struct group_count){ .event = event, .value = record->sample.period };
	group->start_length =
		(size_t)(script_put_start(script, event, &start, group->start) - group->start);
	return 0;
}
