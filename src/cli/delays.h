/* SPDX-License-Identifier: MIT */
/*
 * Percentiles of many times in constant memory: counts of classes that grow with the time. A class
 * is at most 1/32 of its times wide, so its middle is right within 1.6 %.
 */
#ifndef PERCH_CLI_DELAYS_H
#define PERCH_CLI_DELAYS_H

#include <stdint.h>

/* Zeros are none. Only the classes from the smallest to the largest time take memory. */
struct cli_delays {
	uint64_t nr;
	uint32_t first, nr_classes; /* the classes of .count */
	uint32_t *count;
};

int cli_delays_add(struct cli_delays *delays, uint64_t ns); /* 0 or -ENOMEM */
/* Adds all of `from`, and frees it. Returns 0 or -ENOMEM; then `from` is as it was. */
int cli_delays_merge(struct cli_delays *delays, struct cli_delays *from);
/* Returns the time that a share of them, in percent, does not exceed; 0 without any. */
uint64_t cli_delays_percentile(const struct cli_delays *delays, double percent);
void cli_delays_clear(struct cli_delays *delays);

#endif
