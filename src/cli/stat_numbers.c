/* SPDX-License-Identifier: MIT */
/* Means over runs, and what counts tell together. */
#include <string.h>

#include "stat.h"

void stat_add(struct stat_spread *spread, double number)
{
	double distance = number - spread->mean;

	spread->nr++;
	spread->mean += distance / spread->nr;
	spread->squares += distance * (number - spread->mean);
}

/* Newton's method: one function is no reason to link libm. */
static double square_root(double number)
{
	double root = number > 1 ? number : 1;

	if (number <= 0)
		return 0;
	for (int i = 0; i < 1100; i++) {
		double next = (root + number / root) / 2;

		if (next >= root)
			break;
		root = next;
	}
	return root;
}

double stat_error(const struct stat_spread *spread)
{
	return spread->nr < 2 ? 0 : square_root(spread->squares / (spread->nr - 1) / spread->nr);
}

double stat_error_percent(const struct stat_spread *spread)
{
	return spread->mean != 0 ? 100.0 * stat_error(spread) / spread->mean : 0;
}

bool stat_counted(const struct stat_event *event)
{
	return event->supported && event->enabled.mean > 0 && event->running.mean > 0;
}

/* The mean of an event of that kind, counted on the same side (user, kernel) as `beside`; 0 when there is none. */
static double mean_of(const struct stat *stat, const struct stat_event *beside, uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < stat->events.nr; i++) {
		const struct stat_event *event = &stat->event[i];
		const struct perch_attr *attr = &event->event->attr;

		if (attr->type == type && attr->config == config && stat_counted(event) &&
		    event->user_only == beside->user_only && attr->exclude_user == beside->event->attr.exclude_user &&
		    attr->exclude_kernel == beside->event->attr.exclude_kernel)
			return event->value.mean;
	}
	return 0;
}

static double clock_ns(const struct stat *stat)
{
	struct stat_spread clocks = { 0 };

	for (size_t i = 0; i < stat->events.nr; i++)
		if (stat->event[i].clock && stat_counted(&stat->event[i]))
			stat_add(&clocks, stat->event[i].value.mean);
	return clocks.mean;
}

#define CACHE(id, op, result)                                                                      \
	((uint64_t)PERCH_COUNT_HW_CACHE_##id | PERCH_COUNT_HW_CACHE_OP_##op << 8 |                 \
	 PERCH_COUNT_HW_CACHE_RESULT_##result << 16)
#define MISSES(id) PERCH_TYPE_HW_CACHE, CACHE(id, READ, MISS), PERCH_TYPE_HW_CACHE, CACHE(id, READ, ACCESS)

/* One count as a share of another. */
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
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_INSTRUCTIONS, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES, 1,
	  7, 2, " ", "insn per cycle" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_BRANCH_MISSES, PERCH_TYPE_HARDWARE,
	  PERCH_COUNT_HW_BRANCH_INSTRUCTIONS, 100, 7, 2, "%", "of all branches" },
	{ PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CACHE_MISSES, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CACHE_REFERENCES,
	  100, 8, 3, " %", "of all cache refs" },
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

static bool set(struct stat_metric *metric, double value, const char *unit)
{
	metric->value = value;
	metric->width = 8;
	metric->decimals = 3;
	metric->sign = "";
	snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
	return true;
}

static bool set_ratio(struct stat_metric *metric, const struct ratio *ratio, double value)
{
	set(metric, ratio->factor * value, ratio->unit);
	metric->width = ratio->width;
	metric->decimals = ratio->decimals;
	metric->sign = ratio->sign;
	return true;
}

/* So many a second of CPU time, in thousands where that is shorter. */
static bool set_rate(struct stat_metric *metric, double count, double ns)
{
	static const char *const units[] = { "/sec", "K/sec", "M/sec", "G/sec" };
	double rate = 1e9 * count / ns;
	unsigned unit = 0;

	while (unit < 3 && rate > 1000.0) {
		rate /= 1000.0;
		unit++;
	}
	return set(metric, rate, units[unit]);
}

bool stat_metric(const struct stat *stat, const struct stat_event *event, struct stat_metric *metric)
{
	const struct perch_attr *attr = &event->event->attr;
	double ns;

	if (event->clock)
		return stat->elapsed_ns.mean > 0 &&
		       set(metric, event->value.mean / stat->elapsed_ns.mean, "CPUs utilized");
	ns = clock_ns(stat);
	if (attr->type == PERCH_TYPE_HARDWARE && attr->config == PERCH_COUNT_HW_CPU_CYCLES)
		return ns > 0 && set(metric, event->value.mean / ns, "GHz");
	for (size_t i = 0; i < CLI_NR(ratios); i++) {
		const struct ratio *ratio = &ratios[i];
		double base;

		if (attr->type != ratio->type || attr->config != ratio->config)
			continue;
		base = mean_of(stat, event, ratio->base_type, ratio->base_config);
		if (base > 0)
			return set_ratio(metric, ratio, event->value.mean / base);
	}
	return ns > 0 && set_rate(metric, event->value.mean, ns);
}
