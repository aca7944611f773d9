/* SPDX-License-Identifier: MIT */
/* Metrics: ratios, rates and times computed from counts. */
#include <stdio.h>
#include <perch/metrics.h>

#include "base/mean.h"
#include "base/nr.h"
#include "base/reserved.h"

/* The event of a hardware or cache config; the bits above select one of several core PMUs. */
#define CONFIG_BITS 0xffffffffu

static bool is_event(const struct perch_attr *attr, uint32_t type, uint64_t config)
{
	return attr->type == type && (attr->config & CONFIG_BITS) == config;
}

static bool same_modes(const struct perch_metric_count *one, const struct perch_metric_count *other)
{
	return one->part == other->part && one->user_only == other->user_only &&
	       one->attr->exclude_user == other->attr->exclude_user &&
	       one->attr->exclude_kernel == other->attr->exclude_kernel;
}

/* Members that the program does not set, as those of later versions, are 0. */
static bool get_count(const struct perch_metric_counts *counts, size_t index,
		      struct perch_metric_count *count)
{
	*count = (struct perch_metric_count){ 0 };
	return index < counts->nr && counts->at(counts->context, index, count) &&
	       !PERCH__CHECK_RESERVED(count, "perch_metric_count", NULL);
}

/*
 * The count of an event that counts on the same PMU and in the same mode (user, kernel) as
 * `reference`; 0 if there is none.
 */
static double find_count(const struct perch_metric_counts *counts,
			 const struct perch_metric_count *reference, uint32_t type, uint64_t config)
{
	uint64_t pmu = reference->attr->config & ~(uint64_t)CONFIG_BITS;
	struct perch_metric_count count;

	for (size_t i = 0; i < counts->nr; i++)
		if (get_count(counts, i, &count) && !count.merged &&
		    is_event(count.attr, type, config) &&
		    (count.attr->config & ~(uint64_t)CONFIG_BITS) == pmu &&
		    same_modes(&count, reference))
			return count.value;
	return 0;
}

bool perch_metric_is_clock(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_SOFTWARE && (attr->config == PERCH_COUNT_SW_CPU_CLOCK ||
						     attr->config == PERCH_COUNT_SW_TASK_CLOCK);
}

static double clock_ns(const struct perch_metric_counts *counts,
		       const struct perch_metric_count *reference)
{
	struct perch__mean clocks = { 0 };
	struct perch_metric_count count;

	for (size_t i = 0; i < counts->nr; i++)
		if (get_count(counts, i, &count) && perch_metric_is_clock(count.attr) &&
		    count.part == reference->part)
			perch__mean_add(&clocks, count.value);
	return clocks.mean;
}

#define CACHE(id, op, result)                                                      \
	((uint64_t)PERCH_COUNT_HW_CACHE_##id | PERCH_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERCH_COUNT_HW_CACHE_RESULT_##result << 16)
#define MISSES(id) \
	PERCH_TYPE_HW_CACHE, CACHE(id, READ, MISS), PERCH_TYPE_HW_CACHE, CACHE(id, READ, ACCESS)

/* The ratio of one count to another. */
static const struct ratio {
	uint32_t type;
	uint64_t config;
	uint32_t base_type;
	uint64_t base_config;
	double factor;
	int width, decimals;
	const char *sign;
	const char *unit;
} ratios[] = {
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_INSTRUCTIONS, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_CPU_CYCLES, 1, 7, 2, " ", "insn per cycle" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_BRANCH_MISSES, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_BRANCH_INSTRUCTIONS, 100, 7, 2, "%", "of all branches" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CACHE_MISSES, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_CACHE_REFERENCES, 100, 8, 3, " %", "of all cache refs" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_CPU_CYCLES, 100, 7, 2, "%", "frontend cycles idle" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_STALLED_CYCLES_BACKEND, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_CPU_CYCLES, 100, 7, 2, "%", "backend cycles idle" },
	{ MISSES(L1D), 100, 7, 2, "%", "of all L1-dcache accesses" },
	{ MISSES(L1I), 100, 7, 2, "%", "of all L1-icache accesses" },
	{ MISSES(LL), 100, 7, 2, "%", "of all LL-cache accesses" },
	{ MISSES(DTLB), 100, 7, 2, "%", "of all dTLB cache accesses" },
	{ MISSES(ITLB), 100, 7, 2, "%", "of all iTLB cache accesses" },
};

static bool set_metric(struct perch_metric *metric, double value, const char *unit)
{
	*metric = (struct perch_metric){ .value = value, .width = 8, .decimals = 3, .sign = "" };
	snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
	return true;
}

static bool set_ratio(struct perch_metric *metric, const struct ratio *ratio, double value)
{
	set_metric(metric, ratio->factor * value, ratio->unit);
	metric->width = ratio->width;
	metric->decimals = ratio->decimals;
	metric->sign = ratio->sign;
	return true;
}

/* Events per second of CPU time, with the prefix K, M or G. */
static bool set_rate(struct perch_metric *metric, double count, double ns)
{
	static const char *const units[] = { "/sec", "K/sec", "M/sec", "G/sec" };
	double rate = 1e9 * count / ns;
	unsigned unit = 0;

	while (unit < 3 && rate > 1000.0) {
		rate /= 1000.0;
		unit++;
	}
	return set_metric(metric, rate, units[unit]);
}

/* Stalled cycles per instruction, of the frontend or the backend: the larger number. */
static bool set_stalled(const struct perch_metric_counts *counts,
			const struct perch_metric_count *count, struct perch_metric *metric)
{
	double front = find_count(counts, count, PERCH_TYPE_HARDWARE,
				  PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND);
	double back = find_count(counts, count, PERCH_TYPE_HARDWARE,
				 PERCH_COUNT_HW_STALLED_CYCLES_BACKEND);
	double stalled = front > back ? front : back, instructions = count->value;

	if (stalled <= 0 || instructions <= 0)
		return false;
	set_metric(metric, stalled / instructions, "stalled cycles per insn");
	metric->width = 7;
	metric->decimals = 2;
	metric->sign = " ";
	return true;
}

static const struct ratio *ratio_of(const struct perch_attr *attr)
{
	for (size_t i = 0; i < PERCH__NR(ratios); i++)
		if (is_event(attr, ratios[i].type, ratios[i].config))
			return &ratios[i];
	return NULL;
}

const char *perch_metric_unit(const struct perch_attr *attr)
{
	const struct ratio *ratio = ratio_of(attr);

	if (is_event(attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES))
		return "GHz";
	return ratio ? ratio->unit : NULL;
}

static bool first_metric(const struct perch_metric_counts *counts,
			 const struct perch_metric_count *count, struct perch_metric *metric)
{
	const struct ratio *ratio = ratio_of(count->attr);
	double ns, base = 0;

	if (perch_metric_is_clock(count->attr))
		return counts->wall_ns > 0 &&
		       set_metric(metric, count->value / counts->wall_ns, "CPUs utilized");
	ns = clock_ns(counts, count);
	if (is_event(count->attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES))
		return ns > 0 && set_metric(metric, count->value / ns, "GHz");
	if (ratio)
		base = find_count(counts, count, ratio->base_type, ratio->base_config);
	if (base > 0)
		return set_ratio(metric, ratio, count->value / base);
	return ns > 0 && set_rate(metric, count->value, ns);
}

size_t perch_metrics(const struct perch_metric_counts *counts, size_t index,
		     struct perch_metric metrics[PERCH_METRICS_MAX])
{
	struct perch_metric_count count;
	size_t nr;

	if (PERCH__CHECK_RESERVED(counts, "perch_metric_counts", NULL) ||
	    !get_count(counts, index, &count))
		return 0;
	nr = first_metric(counts, &count, &metrics[0]);
	if (is_event(count.attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_INSTRUCTIONS))
		nr += set_stalled(counts, &count, &metrics[nr]);
	return nr;
}
