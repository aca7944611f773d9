/* SPDX-License-Identifier: MIT */
/* The summary of timehist: what each thread did, with the columns of perf. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "timehist.h"

#define LINE                                                           \
	"------------------------------------------------------------" \
	"---------------------------------------------------------\n"

static void print_head(struct timehist *timehist)
{
	struct sched_reading *reading = &timehist->reading;

	sched_printf(reading, "\n%s summary\n",
		     timehist->idle_only ? "Idle-time"
		     : timehist->state	 ? "Wait-time"
					 : "Runtime");
	sched_printf(reading, "%30s  %6s  %9s  %11s", "comm", "parent",
		     timehist->idle_only ? "sched-out" : "sched-in",
		     timehist->idle_only ? "idle-time" : "run-time");
	if (timehist->state)
		sched_printf(reading, "  %9s  %10s  %10s  %10s\n", "sleep", "iowait", "preempt",
			     "delay");
	else
		sched_printf(reading, "  %9s  %10s  %10s  %6s  %10s\n",
			     timehist->idle_only ? "min-idle" : "min-run",
			     timehist->idle_only ? "avg-idle" : "avg-run",
			     timehist->idle_only ? "max-idle" : "max-run", "stddev", "migrations");
	sched_printf(reading, "%30s  %6s  %9s  %11s  %9s  %10s  %10s", "", "", "(count)", "(msec)",
		     "(msec)", "(msec)", "(msec)");
	sched_printf(reading, timehist->state ? "  %10s\n" : "  %6s\n",
		     timehist->state ? "(msec)" : "%");
	sched_printf(reading, LINE);
}

static void print_ms(struct timehist *timehist, uint64_t ns, int width)
{
	sched_printf(&timehist->reading, "%*" PRIu64 ".%03" PRIu64, width - 4, ns / 1000000,
		     ns / 1000 % 1000);
}

static void print_thread(struct timehist *timehist, const struct timehist_thread *thread)
{
	struct perch_timeline_thread named = { .tid = thread->tid, .pid = thread->pid };
	char task[SCHED_TASK_BYTES];

	memcpy(named.name, thread->name, sizeof(named.name));
	sched_put_task(task, &named);
	sched_printf(&timehist->reading, "%30s  %6" PRIi32 "  %9u", task, (int32_t)thread->parent,
		     thread->runs.nr);
	print_ms(timehist, thread->run, 13);
	if (timehist->state) {
		print_ms(timehist, thread->sleep, 11);
		print_ms(timehist, thread->io, 12);
		print_ms(timehist, thread->preempt, 12);
		print_ms(timehist, thread->delay, 12);
	} else {
		print_ms(timehist, thread->least, 11);
		print_ms(timehist, (uint64_t)thread->runs.mean, 12);
		print_ms(timehist, thread->most, 12);
		sched_printf(&timehist->reading, "  %6.2f  %6" PRIu64,
			     perch__mean_error_percent(&thread->runs), thread->migrations);
	}
	sched_printf(&timehist->reading, "\n");
}

static int compare_threads(const void *one, const void *other)
{
	const struct timehist_thread *a = one, *b = other;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static size_t print_threads(struct timehist *timehist, bool still)
{
	size_t nr = 0;

	for (size_t i = 0; i < timehist->nr_ended; i++) {
		if (timehist->ended[i].still != still)
			continue;
		print_thread(timehist, &timehist->ended[i]);
		nr++;
	}
	if (!nr)
		sched_printf(&timehist->reading,
			     still ? "<no still running tasks>\n" : "<no terminated tasks>\n");
	return nr;
}

static void print_idle(struct timehist *timehist)
{
	struct sched_reading *reading = &timehist->reading;
	uint64_t all = reading->last - reading->first;

	sched_printf(reading, "\nIdle stats:\n");
	for (size_t i = 0; i < timehist->nr_cpus; i++) {
		if (!timehist->cpu[i].seen)
			continue;
		sched_printf(reading, "    CPU %2zu idle for ", i);
		print_ms(timehist, timehist->cpu[i].idle, 10);
		sched_printf(reading, "  msec  (%6.2f%%)\n",
			     all ? 100.0 * (double)timehist->cpu[i].idle / (double)all : 0);
	}
	sched_printf(reading, "\n    Total number of unique tasks: %zu\n", timehist->nr_ended);
	sched_printf(reading, "Total number of context switches: %" PRIu64 "\n",
		     timehist->nr_switches);
	sched_printf(reading, "           Total run time (msec): ");
	print_ms(timehist, timehist->run, 6);
	sched_printf(reading, "\n    Total scheduling time (msec): ");
	print_ms(timehist, all, 6);
	sched_printf(reading, " (x %" PRIu32 ")\n", reading->max_cpu + 1);
}

void timehist_print_summary(struct timehist *timehist)
{
	struct sched_reading *reading = &timehist->reading;

	if (reading->json) {
		perch__json_end(&reading->writer);
		perch__output_char(&reading->out, '\n');
	}
	if (!timehist->summary_only && !timehist->with_summary)
		return;
	if (timehist->nr_ended)
		qsort(timehist->ended, timehist->nr_ended, sizeof(*timehist->ended),
		      compare_threads);
	print_head(timehist);
	print_threads(timehist, true);
	sched_printf(reading, "\nTerminated tasks:\n");
	print_threads(timehist, false);
	print_idle(timehist);
}
