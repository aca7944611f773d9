/* SPDX-License-Identifier: MIT */
/* What events of the kernel are in a profile. */
#include <perch/metrics.h>

#include "base/kernel/dummy_event.h"
#include "base/kernel/off_cpu_event.h"
#include "encoder.h"

#define SECOND 1000000000u

/* The CPU time that a sample stands for: of clocks, and of cycles that are sampled by time. */
static uint64_t sample_ns(const struct perch_attr *attr)
{
	bool cycles = attr->type == PERCH_TYPE_HARDWARE &&
		      ((uint32_t)attr->config == PERCH_COUNT_HW_CPU_CYCLES ||
		       (uint32_t)attr->config == PERCH_COUNT_HW_REF_CPU_CYCLES);

	if (!cycles && !perch_metric_is_clock(attr))
		return 0;
	if (attr->freq)
		return attr->sample_freq ? SECOND / attr->sample_freq : 0;
	return cycles ? 0 : attr->sample_period;
}

bool perch_encoder_describe(const struct perch_file_event *event,
			    struct perch_encoder_event *described)
{
	bool off_cpu = perch__is_off_cpu(event);

	*described = (struct perch_encoder_event){
		.name = off_cpu ? "off_cpu" : event->name,
		.unit = perch__export_unit(event),
		.period = event->attr.freq || off_cpu ? 0 : event->attr.sample_period,
		.sample_ns = sample_ns(&event->attr),
	};
	return !perch__is_dummy(&event->attr);
}
