/* SPDX-License-Identifier: MIT */
/*
 * What a recording costs the machine that is measured: samples of timers before it begins, and the
 * recorder's own time while it records.
 */
#include <time.h>
#include <perch/metrics.h>

#include "recorder/descendants/descendants.h"
#include "recorder/internal.h"

#define MEASURED_ABOVE 1000   /* samples per second: below, not even 100 us each are a tenth */
#define MOST_RATE      100000 /* the kernel sets no timer to less than 10 us */
#define MOST	       0.5    /* share of a CPU */
#define TRUSTED	       0.1    /* a larger share by an earlier measurement is measured again */
#define ADVISED	       0.45   /* the next measurement may be larger than this one */

uint64_t perch__recorder_cpu_ns(void)
{
	return recorder_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Samples per second of a timer; 0 of other events. */
static uint64_t rate_of(const struct perch_attr *attr)
{
	uint64_t rate = attr->sample_period;

	if (!perch_metric_is_clock(attr) || !rate)
		return 0;
	if (!attr->freq)
		rate = 1000000000 / rate;
	return rate < MOST_RATE ? rate : MOST_RATE;
}

/* 4444 becomes 4400. */
static uint64_t rounded_down(uint64_t rate)
{
	uint64_t step = 1;

	while (rate / step >= 100)
		step *= 10;
	return rate / step * step;
}

static int refuse(const struct perch_recording_cost *cost, double share, struct perch_error *err)
{
	uint64_t rate = rounded_down((uint64_t)(ADVISED * 1e9 / (double)cost->sample_ns));
	char part[32] = "all";

	if (share < 1)
		snprintf(part, sizeof(part), "%.0f %%", 100 * share);
	perch_error_set(err, ERANGE, PERCH_ERROR_PERIOD,
			"each sample takes %.0f us here: %llu samples per second would take %s of "
			"the CPU time",
			(double)cost->sample_ns / 1e3, (unsigned long long)cost->rate, part);
	perch_error_remedy(err, "take at most %llu samples per second (a period of %llu ns)",
			   (unsigned long long)rate,
			   (unsigned long long)(1000000000 / (rate ? rate : 1)));
	return -ERANGE;
}

/* The rate and the contents of samples are those of the event, or else of the options. */
static bool build_attr(struct perch_attr *attr, const struct perch_event *event,
		       const struct perch_options *options)
{
	struct perch_options wanted = *options;
	struct perch_event from = *event;
	const uint64_t rate = from.attr.sample_period;

	wanted.sample |= from.attr.sample_type;
	if (rate) {
		wanted.period = from.attr.freq ? 0 : rate;
		wanted.frequency = from.attr.freq ? rate : 0;
	}
	from.attr.sample_type = from.attr.sample_period = from.attr.freq = 0;
	return perch_attr_build(attr, &from, &wanted, NULL) >= 0;
}

static double share_of(const struct perch_recording_cost *cost)
{
	return (double)cost->rate * (double)cost->sample_ns / 1e9;
}

/* An earlier measurement that other programs have disturbed must refuse nothing. */
static int find_cost(struct perch_machine *machine, const struct perch_attr *attr,
		     struct perch_recording_cost *cost)
{
	int rc;

	cost->sample_ns = perch__recorder_cached_cost(machine, attr);
	if (cost->sample_ns && share_of(cost) <= TRUSTED)
		return 0;
	rc = perch_machine_sample_cost(machine, attr, &cost->sample_ns, NULL);
	if (rc >= 0)
		perch__recorder_cache_cost(machine, attr, cost->sample_ns);
	return rc;
}

int perch__recorder_check_cost(struct perch_recorder *recorder, const struct perch_events *events,
			       struct perch_error *err)
{
	struct perch_recording_cost *cost = &recorder->cost;
	struct perch_attr attr, costly = { 0 };
	bool others = false;
	double share;

	*cost = (struct perch_recording_cost){ 0 };
	for (size_t i = 0; i < events->nr; i++) {
		uint64_t rate;

		/* the sampler reports what is wrong */
		if (!build_attr(&attr, &events->event[i], &recorder->options.sampler.event))
			return 0;
		/* members of a group with the modifier S take no samples */
		if (events->event[i].leader_sampling && events->event[i].leader != (int)i)
			continue;
		rate = rate_of(&attr);
		others |= !rate && attr.sample_period;
		cost->rate += rate;
		if (rate)
			costly = attr;
	}
	recorder->timers_only = !others;
	if (cost->rate <= MEASURED_ABOVE || find_cost(recorder->machine, &costly, cost) < 0)
		return 0;
	share = share_of(cost);
	return share > MOST && !recorder->options.any_cost ? refuse(cost, share, err) : 0;
}

void perch__recorder_end_cost(struct perch_recorder *recorder)
{
	uint64_t now = recorder_clock(CLOCK_MONOTONIC);

	recorder->cost.elapsed_ns = now - recorder->cost_since;
	recorder->cost.recorder_ns = recorder->busy_ns;
	recorder->cost.cpus = recorder->system_wide ? recorder->cpus.nr : 0;
	recorder->cost_since = now;
	recorder->busy_ns = 0;
}

void perch_recorder_get_cost(const struct perch_recorder *recorder,
			     struct perch_recording_cost *cost)
{
	*cost = recorder->cost;
	if (recorder->timers_only)
		cost->samples = recorder->scan.samples +
				(recorder->descendants ? recorder->descendants->other_samples : 0);
}

int perch__recorder_write_cost(const struct perch_recorder *recorder, struct perch_writer *writer,
			       struct perch_error *err)
{
	struct {
		uint32_t version, zero;
		uint64_t sample_ns, rate, samples, recorder_ns, elapsed_ns, cpus;
	} data = { .version = 1 };
	struct perch_recording_cost cost;

	perch_recorder_get_cost(recorder, &cost);
	data.sample_ns = cost.sample_ns;
	data.rate = cost.rate;
	data.samples = cost.samples;
	data.recorder_ns = cost.recorder_ns;
	data.elapsed_ns = cost.elapsed_ns;
	data.cpus = cost.cpus;
	return perch_writer_set_feature(writer, PERCH_FEATURE_RECORDING_COST, &data, sizeof(data),
					err);
}
