/* SPDX-License-Identifier: MIT */
/* Means over runs, and how far the runs lie apart. */
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

double stat_percent_running(const struct stat_cell *cell)
{
	return cell->enabled.mean > 0 ? 100.0 * cell->running.mean / cell->enabled.mean : 100.0;
}
