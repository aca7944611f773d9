/* SPDX-License-Identifier: MIT */
/* Mean of a series of numbers and its standard error, without storing the numbers (Welford's
 * method). Needs libm. */
#ifndef PERCH_BASE_MEAN_H
#define PERCH_BASE_MEAN_H

#include <math.h>

/* All zero before the first number. */
struct perch__mean {
	unsigned int nr;
	double mean;
	double squares; /* sum of squared distances from the mean */
};

static inline void perch__mean_add(struct perch__mean *mean, double number)
{
	double distance = number - mean->mean;

	mean->nr++;
	mean->mean += distance / mean->nr;
	mean->squares += distance * (number - mean->mean);
}

/* Standard deviation, estimated from the numbers as a sample; 0 with fewer than two numbers. */
static inline double perch__mean_deviation(const struct perch__mean *mean)
{
	return mean->nr < 2 ? 0 : sqrt(mean->squares / (mean->nr - 1));
}

/* Standard error of the mean; 0 with fewer than two numbers. */
static inline double perch__mean_error(const struct perch__mean *mean)
{
	return mean->nr < 2 ? 0 : perch__mean_deviation(mean) / sqrt(mean->nr);
}

/* Standard error in percent of the mean; 0 if the mean is 0. */
static inline double perch__mean_error_percent(const struct perch__mean *mean)
{
	return mean->mean != 0 ? 100.0 * perch__mean_error(mean) / mean->mean : 0;
}

#endif
