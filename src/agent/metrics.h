/* SPDX-License-Identifier: MIT */
/* Writes metrics in the text format of Prometheus, 0.0.4, or as OpenMetrics 1.0. */
#ifndef PERCH_AGENT_METRICS_H
#define PERCH_AGENT_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define AGENT_MOST_SERIES 2000

struct agent_metrics {
	FILE *out;
	bool open; /* OpenMetrics */
	bool counter;
	const char *name;
	size_t series, dropped; /* dropped: those above the limit */
};

/* Begins a metric. The name of a counter is without "_total"; help is a sentence. */
void agent_metric_counter(struct agent_metrics *metrics, const char *name, const char *help);
void agent_metric_gauge(struct agent_metrics *metrics, const char *name, const char *help);
/* Writes a value of the metric. The texts of labels need not be clean; key NULL: no label. */
void agent_metric_value(struct agent_metrics *metrics, const char *key, const char *text,
			double value);
void agent_metric_value2(struct agent_metrics *metrics, const char *key, const char *text,
			 const char *key2, const char *text2, double value);

#endif
