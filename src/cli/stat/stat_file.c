/* SPDX-License-Identifier: MIT */
/* What the numbers in files of counts stand for. */
#include "stat.h"
#include "stat_file.h"

/* The numbers of each release of perf, see enum stat_file_release. */
static const struct {
	const char *option;
	uint64_t number[STAT_FILE_NEWEST + 1];
} aggregations[] = {
	[STAT_GLOBAL] = { "", { 1, 1, 1 } },
	[STAT_CPU] = { "-A", { 0, 0, 0 } },
	[STAT_SOCKET] = { "--per-socket", { 2, 2, 2 } },
	[STAT_DIE] = { "--per-die", { 3, 3, 3 } },
	[STAT_CORE] = { "--per-core", { 4, 5, 6 } },
	[STAT_NODE] = { "--per-node", { 7, 8, 9 } },
	[STAT_THREAD] = { "--per-thread", { 5, 6, 7 } },
};

uint64_t stat_file_aggregation(enum stat_aggregation aggregation, enum stat_file_release release)
{
	return aggregations[aggregation].number[release];
}

enum stat_aggregation stat_aggregation_of(uint64_t number, enum stat_file_release release)
{
	for (size_t i = 0; i < CLI_NR(aggregations); i++)
		if (aggregations[i].number[release] == number)
			return (enum stat_aggregation)i;
	return STAT_GLOBAL;
}

const char *stat_aggregation_option(enum stat_aggregation aggregation)
{
	return aggregations[aggregation].option;
}
