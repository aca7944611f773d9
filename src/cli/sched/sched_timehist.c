/* SPDX-License-Identifier: MIT */
/* perch sched timehist: every time that a thread ran, and what it waited for before. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "shared_options.h"
#include "terminal/pager.h"
#include "timehist.h"

static struct timehist_thread *get_thread(struct timehist *timehist,
					  const struct perch_timeline_thread *thread)
{
	if (__builtin_expect(thread->index >= timehist->nr_threads, 0) &&
	    PERCH__ARRAY_RESERVE_ZEROED(timehist->thread, timehist->nr_threads,
					(size_t)thread->index + 1)) {
		timehist->no_memory = true;
		return NULL;
	}
	return &timehist->thread[thread->index];
}

/* ---- waits ---- */

/* Time off the CPU, of the kind that the state has in which the thread left it. */
static void add_wait(struct timehist_thread *thread, const struct perch_timeline_interval *interval)
{
	struct timehist_wait *wait = &thread->wait;
	uint64_t ns = interval->end - interval->start;
	bool runnable = interval->state == PERCH_TIMELINE_WOKEN ||
			interval->state == PERCH_TIMELINE_PREEMPTED;

	wait->uncertain |= interval->flags & PERCH_TIMELINE_UNCERTAIN;
	if (runnable)
		wait->delay += ns;
	if (!thread->ran)
		return;
	if (wait->letter == 'R')
		wait->preempt += ns;
	else if (wait->letter == 'D')
		wait->io += ns;
	else
		wait->sleep += ns;
}

static char letter_of(const struct perch_timeline_interval *interval)
{
	return (char)(interval->letter ? interval->letter : 'S');
}

/* ---- runs ---- */

static void add_run(struct timehist *timehist, struct timehist_thread *thread,
		    const struct perch_timeline_interval *interval)
{
	uint64_t ns =
		interval->flags & PERCH_TIMELINE_BEGAN_BEFORE ? 0 : interval->end - interval->start;

	perch__mean_add(&thread->runs, (double)ns);
	thread->run += ns;
	if (thread->runs.nr == 1 || ns < thread->least)
		thread->least = ns;
	if (ns > thread->most)
		thread->most = ns;
	thread->sleep += thread->wait.sleep;
	thread->io += thread->wait.io;
	thread->preempt += thread->wait.preempt;
	thread->delay += thread->wait.delay;
	timehist->run += ns;
	timehist->nr_switches++;
}

static void add_idle(struct timehist *timehist, const struct perch_timeline_interval *interval)
{
	if (interval->cpu > 4095 || PERCH__ARRAY_RESERVE_ZEROED(timehist->cpu, timehist->nr_cpus,
								(size_t)interval->cpu + 1)) {
		timehist->no_memory |= interval->cpu <= 4095;
		return;
	}
	timehist->cpu[interval->cpu].seen = true;
	if (!interval->thread->tid && !(interval->flags & PERCH_TIMELINE_BEGAN_BEFORE))
		timehist->cpu[interval->cpu].idle += interval->end - interval->start;
}

static void end_run(struct timehist *timehist, struct timehist_thread *thread,
		    const struct perch_timeline_interval *interval)
{
	bool idle = !interval->thread->tid;

	if (!sched_is_wanted(&timehist->reading, interval->thread))
		return;
	if (timehist->summary_only || timehist->with_summary)
		add_idle(timehist, interval);
	if (idle == timehist->idle_only && !(interval->flags & PERCH_TIMELINE_UNFINISHED)) {
		if (timehist->summary_only || timehist->with_summary)
			add_run(timehist, thread, interval);
		if (!timehist->summary_only)
			timehist_print_run(timehist, interval, &thread->wait);
	}
}

static int take_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct timehist *timehist = context;
	struct timehist_thread *thread = get_thread(timehist, interval->thread);

	if (!thread)
		return 0;
	if (interval->state == PERCH_TIMELINE_RUNNING) {
		end_run(timehist, thread, interval);
		thread->wait = (struct timehist_wait){ .letter = 0 };
		if (interval->next_letter == 'R')
			thread->wait.runnable_since = interval->end;
		thread->ran = true;
		return 0;
	}
	if (!thread->wait.letter)
		thread->wait.letter = letter_of(interval);
	add_wait(thread, interval);
	return 0;
}

/* ---- edges ---- */

static void end_thread(struct timehist *timehist, const struct perch_timeline_edge *edge)
{
	struct timehist_thread *thread = get_thread(timehist, edge->thread), *ended;

	if (!thread)
		return;
	if (thread->runs.nr) {
		ended = PERCH__ARRAY_APPEND(timehist->ended, timehist->nr_ended,
					    timehist->ended_capacity);
		if (!ended) {
			timehist->no_memory = true;
			return;
		}
		*ended = *thread;
		ended->tid = edge->thread->tid;
		ended->pid = edge->thread->pid;
		ended->parent = edge->thread->parent_pid;
		memcpy(ended->name, edge->thread->name, sizeof(ended->name));
		ended->still = edge->flags & PERCH_TIMELINE_UNFINISHED;
	}
	*thread = (struct timehist_thread){ 0 };
}

static void take_migration(struct timehist *timehist, const struct perch_timeline_edge *edge)
{
	struct timehist_thread *thread = get_thread(timehist, edge->thread);

	if (!thread)
		return;
	thread->migrations++;
	if (thread->wait.runnable_since)
		thread->wait.before_migration = edge->time - thread->wait.runnable_since;
}

static void take_wakeup(struct timehist *timehist, const struct perch_timeline_edge *edge)
{
	struct timehist_thread *thread = get_thread(timehist, edge->thread);

	if (thread && !(edge->flags & (PERCH_TIMELINE_REPEATED | PERCH_TIMELINE_WOKEN_EARLY)))
		thread->wait.runnable_since = edge->time;
}

static int take_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct timehist *timehist = context;

	if (edge->event == PERCH_TIMELINE_END)
		end_thread(timehist, edge);
	if (edge->event == PERCH_TIMELINE_MIGRATION)
		take_migration(timehist, edge);
	if (edge->event == PERCH_TIMELINE_WAKEUP)
		take_wakeup(timehist, edge);
	if (timehist->summary_only || !sched_is_wanted(&timehist->reading, edge->thread))
		return 0;
	if ((edge->event == PERCH_TIMELINE_WAKEUP && timehist->wakeups) ||
	    (edge->event == PERCH_TIMELINE_MIGRATION && timehist->migrations))
		timehist_print_edge(timehist, edge);
	return 0;
}

static void take_record(void *context, const struct perch_record *record)
{
	struct timehist *timehist = context;

	if (record->type == PERCH_RECORD_LOST && !timehist->reading.json &&
	    !timehist->reading.separator)
		timehist_print_lost(timehist, record);
}

/* ---- the command ---- */

#define SETS(member) CLI_SETS(struct timehist, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'w', .name = "wakeups", SETS(wakeups), .help = "print wakeups, too"),
	CLI_ROW(.letter = 'M', .name = "migrations", SETS(migrations),
		.help = "print migrations, too"),
	CLI_ROW(.letter = 'P', .name = "pre-migrations", SETS(before_migration),
		.help = "print how long threads were runnable before they were moved"),
	CLI_ROW(.letter = 'n', .name = "next", SETS(next), .help = "print which thread runs next"),
	CLI_ROW(.letter = 'V', .name = "cpu-visual", SETS(cpu_visual),
		.help = "print a column for each CPU: s is a switch, i idle, m a migration"),
	CLI_ROW(.name = "state", SETS(state),
		.help = "print the state in which the thread left the CPU"),
	CLI_ROW(.name = "show-prio", SETS(show_priority), .help = "print priorities"),
	CLI_ROW(.letter = 'I', .name = "idle-hist", SETS(idle_only),
		.help = "print only when CPUs were idle"),
	CLI_ROW(.letter = 's', .name = "summary", SETS(summary_only),
		.help = "print only sums of each thread"),
	CLI_ROW(.letter = 'S', .name = "with-summary", SETS(with_summary),
		.help = "print sums of each thread, too"),
	CLI_ROW(.letter = 'g', .name = "call-graph", SETS(no_chains), .inverted = true,
		.help = "print the call chains of switches, if they have some (default)"),
	CLI_ROW(.name = "max-stack", .argument = "N", SETS(max_stack), .positive = true,
		.help = "print so many functions of a call chain (5)"),
	CLI_ROW(.letter = 'p', .name = "pid", .argument = "IDS", SETS(reading.pids),
		.help = "only threads of these processes"),
	CLI_ROW(.letter = 'C', .name = "cpu", .argument = "CPUS", SETS(reading.filter.options.cpus),
		.help = "only what ends on these CPUs (0,2-5)"),
	CLI_ROW(.table = sched_filter_options, .at = offsetof(struct timehist, reading)),
	CLI_ROW(.table = cli_kernel_options, .at = offsetof(struct timehist, reading.input)),
	CLI_ROW(.name = "symfs", .argument = "DIR", SETS(reading.input.options.symbols.root),
		.help = "the directory that has the files of the recorded machine"),
	CLI_ROW(.table = sched_read_options, .at = offsetof(struct timehist, reading)),
	{ 0 },
};

const struct cli_usage sched_timehist_usage = {
	.name = TIMEHIST_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Shows every time that a thread ran, and how long it waited before.",
	.options = options,
};

static int check(struct timehist *timehist)
{
	if (timehist->summary_only && timehist->with_summary)
		return cli_refuse_both(TIMEHIST_COMMAND, "-s", "-S");
	if ((timehist->summary_only || timehist->with_summary) &&
	    (timehist->reading.json || timehist->reading.separator))
		return cli_usage_error(TIMEHIST_COMMAND,
				       "%s is for people; 'perch sched latency' has -j and -x",
				       timehist->summary_only ? "-s" : "-S");
	return 0;
}

static void clear_timehist(struct timehist *timehist)
{
	free(timehist->thread);
	free(timehist->ended);
	free(timehist->cpu);
	sched_close(&timehist->reading);
}

int sched_timehist(const struct cli_input *input, int argc, char **argv)
{
	static struct timehist timehist = { .max_stack = TIMEHIST_MAX_STACK };
	struct sched_reading *reading = &timehist.reading;
	const char *operand;
	int status;

	reading->input = *input;
	reading->input.command = TIMEHIST_COMMAND;
	if (cli_options_parse_operand(&sched_timehist_usage, &timehist, argc, argv, &operand) ||
	    operand)
		return cli_usage_error(TIMEHIST_COMMAND,
				       "'%s' is not an option; name a file with -i", operand);
	reading->options = (struct perch_timeline_options){ .interval = take_interval,
							    .edge = take_edge,
							    .context = &timehist };
	reading->take_record = take_record;
	reading->shows_delays = true;
	status = check(&timehist);
	if (!status)
		status = sched_open(reading);
	if (!status) {
		cli_start_pager();
		if (!timehist.summary_only)
			timehist_print_head(&timehist);
		status = sched_read(reading);
	}
	if (!status && timehist.no_memory)
		status = cli_no_memory(TIMEHIST_COMMAND);
	if (!status) {
		timehist_print_summary(&timehist);
		status = sched_finish(reading, status);
	}
	clear_timehist(&timehist);
	return status;
}
