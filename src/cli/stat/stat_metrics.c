/* SPDX-License-Identifier: MIT */
/* Metrics: ratios, rates and times computed from counts. */
#include <string.h>

#include "stat.h"

/* The event of a hardware or cache config; the bits above select one of several core PMUs. */
#define CONFIG_BITS 0xffffffffu

static bool is_event(const struct perch_attr *attr, uint32_t type, uint64_t config)
{
	return attr->type == type && (attr->config & CONFIG_BITS) == config;
}

static bool same_modes(const struct stat_line *one, const struct stat_line *other)
{
	const struct perch_attr *attr = &one->event->attr, *reference = &other->event->attr;

	return one->part == other->part && one->user_only == other->user_only &&
	       attr->exclude_user == reference->exclude_user &&
	       attr->exclude_kernel == reference->exclude_kernel;
}

/*
 * The mean of an event that counts on the same PMU and in the same mode (user, kernel) as
 * `reference`; 0 if there is none.
 */
static double find_mean(const struct stat_job *stat, const struct stat_line *reference,
			size_t group, uint32_t type, uint64_t config)
{
	uint64_t pmu = reference->event->attr.config & ~(uint64_t)CONFIG_BITS;

	for (size_t i = 0; i < stat->nr_lines; i++) {
		const struct stat_line *line = &stat->line[i];
		const struct perch_attr *attr = &line->event->attr;

		if (line->merged_into == i && is_event(attr, type, config) &&
		    (attr->config & ~(uint64_t)CONFIG_BITS) == pmu && same_modes(line, reference) &&
		    stat_is_counted(line, group))
			return line->cell[group].value.mean;
	}
	return 0;
}

static double clock_ns(const struct stat_job *stat, const struct stat_line *reference, size_t group)
{
	struct perch__mean clocks = { 0 };

	for (size_t i = 0; i < stat->nr_lines; i++)
		if (stat->line[i].clock && stat->line[i].part == reference->part &&
		    stat_is_counted(&stat->line[i], group))
			perch__mean_add(&clocks, stat->line[i].cell[group].value.mean);
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

/* Events per second of CPU time, with the prefix K, M or G. */
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

/* Stalled cycles per instruction, of the frontend or the backend: the larger number. */
static bool set_stalled(const struct stat_job *stat, const struct stat_line *line, size_t group,
			struct stat_metric *metric)
{
	double front = find_mean(stat, line, group, PERCH_TYPE_HARDWARE,
				 PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND);
	double back = find_mean(stat, line, group, PERCH_TYPE_HARDWARE,
				PERCH_COUNT_HW_STALLED_CYCLES_BACKEND);
	double stalled = front > back ? front : back, instructions = line->cell[group].value.mean;

	if (stalled <= 0 || instructions <= 0)
		return false;
	set(metric, stalled / instructions, "stalled cycles per insn");
	metric->width = 7;
	metric->decimals = 2;
	metric->sign = " ";
	return true;
}

static const struct ratio *ratio_of(const struct perch_attr *attr)
{
	for (size_t i = 0; i < CLI_NR(ratios); i++)
		if (is_event(attr, ratios[i].type, ratios[i].config))
			return &ratios[i];
	return NULL;
}

const char *stat_metric_unit(const struct stat_line *line)
{
	const struct perch_attr *attr = &line->event->attr;
	const struct ratio *ratio = ratio_of(attr);

	if (is_event(attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES))
		return "GHz";
	return ratio ? ratio->unit : NULL;
}

static bool first_metric(const struct stat_job *stat, const struct stat_line *line, size_t group,
			 struct stat_metric *metric)
{
	const struct perch_attr *attr = &line->event->attr;
	const struct ratio *ratio = ratio_of(attr);
	double value = line->cell[group].value.mean;
	double ns, base = 0;

	if (line->clock)
		return stat->wall_ns > 0 && set(metric, value / stat->wall_ns, "CPUs utilized");
	ns = clock_ns(stat, line, group);
	if (is_event(attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES))
		return ns > 0 && set(metric, value / ns, "GHz");
	if (ratio)
		base = find_mean(stat, line, group, ratio->base_type, ratio->base_config);
	if (base > 0)
		return set_ratio(metric, ratio, value / base);
	return ns > 0 && set_rate(metric, value, ns);
}

size_t stat_metrics(const struct stat_job *stat, const struct stat_line *line, size_t group,
		    struct stat_metric metrics[STAT_METRICS])
{
	size_t nr;

	if (!stat_is_counted(line, group))
		return 0;
	nr = first_metric(stat, line, group, &metrics[0]);
	if (is_event(&line->event->attr, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_INSTRUCTIONS))
		nr += set_stalled(stat, line, group, &metrics[nr]);
	return nr;
}
