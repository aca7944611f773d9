/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <perch/error.h>

#include "metrics.h"

static void begin_metric(struct agent_metrics *metrics, const char *name, bool counter,
			 const char *help)
{
	/* the older format has the suffix in the name of the metric */
	const char *suffix = counter && !metrics->open ? "_total" : "";

	metrics->name = name;
	metrics->counter = counter;
	fprintf(metrics->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
		counter ? "counter" : "gauge");
}

void agent_metric_counter(struct agent_metrics *metrics, const char *name, const char *help)
{
	begin_metric(metrics, name, true, help);
}

void agent_metric_gauge(struct agent_metrics *metrics, const char *name, const char *help)
{
	begin_metric(metrics, name, false, help);
}

static void put_label(FILE *out, const char *key, const char *text)
{
	/* a text that is cut may be that of another value */
	char clean[PATH_MAX];

	perch_clean_text(text, clean, sizeof(clean));
	fprintf(out, "%s=\"", key);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

void agent_metric_value2(struct agent_metrics *metrics, const char *key, const char *text,
			 const char *key2, const char *text2, double value)
{
	if (metrics->series >= AGENT_MOST_SERIES) {
		metrics->dropped++;
		return;
	}
	metrics->series++;
	fprintf(metrics->out, "%s%s", metrics->name, metrics->counter ? "_total" : "");
	if (key) {
		fputc('{', metrics->out);
		put_label(metrics->out, key, text);
		if (key2) {
			fputc(',', metrics->out);
			put_label(metrics->out, key2, text2);
		}
		fputc('}', metrics->out);
	}
	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
		fprintf(metrics->out, " %" PRIu64 "\n", (uint64_t)value);
	else
		fprintf(metrics->out, " %.15g\n", value);
}

void agent_metric_value(struct agent_metrics *metrics, const char *key, const char *text,
			double value)
{
	agent_metric_value2(metrics, key, text, NULL, NULL, value);
}
