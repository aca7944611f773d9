/* SPDX-License-Identifier: MIT */
/*
 * perch kwork top: what CPUs did. The time of interrupts and softirqs is not that of the thread
 * that they interrupt: what ends is taken off from what it has interrupted on the same CPU. A CPU
 * switches threads outside of both, so they end there if their own end is missing. With PREEMPT_RT
 * a softirq may be preempted: it ends as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kwork.h"

enum { THREAD, SOFTIRQ, IRQ }; /* levels: a later one interrupts earlier ones */
enum { ROW, INTERRUPTED };     /* values of a run; ns */
enum { IDLE = IRQ + 1 };       /* numbers of a CPU: times of the levels, and of the idle thread */

static struct perch_pair_key key_of(unsigned level, const struct tables_sample *sample)
{
	return (struct perch_pair_key){ .word = { level, sample->cpu } };
}

static struct tables_row *cpu_row(struct tables *tables, uint32_t cpu)
{
	const uint64_t key[TABLES_KEYS] = { cpu };

	return tables_row(&tables->table[KWORK_CPUS], key);
}

static int begin_run(struct tables *tables, const struct tables_sample *sample, unsigned level,
		     uint64_t row)
{
	const struct perch_pair run = { .key = key_of(level, sample),
					.start = sample->time,
					.value = { [ROW] = row } };

	return perch_pairs_begin(tables->pairs[0], &run, NULL) < 0 ? -ENOMEM : 0;
}

/* Ends a run, and takes off from it what has interrupted it. Returns false if it is not open. */
static bool end_run(struct tables *tables, const struct tables_sample *sample, unsigned level,
		    struct perch_pair *run)
{
	struct perch_pair_key key = key_of(level, sample);
	struct perch_pair *outer = NULL;
	uint64_t whole;

	if (!perch_pairs_find(tables->pairs[0], &key))
		return false;
	perch_pairs_end(tables->pairs[0], &key, sample->time, run);
	whole = run->end - run->start;
	for (unsigned other = level; other-- && !outer;) {
		key = key_of(other, sample);
		outer = perch_pairs_find(tables->pairs[0], &key);
		if (outer && outer->start > run->start)
			outer = NULL;
	}
	if (outer)
		outer->value[INTERRUPTED] += whole;
	run->end -= run->value[INTERRUPTED] < whole ? run->value[INTERRUPTED] : whole;
	return true;
}

/* Adds a run to its CPU. idle: it is of the idle thread. Returns 0 or -ENOMEM. */
static int add_to_cpu(struct tables *tables, const struct tables_sample *sample, unsigned level,
		      const struct perch_pair *run, bool idle)
{
	struct tables_row *cpu = cpu_row(tables, sample->cpu);
	uint64_t ns = run->end - run->start;

	if (!cpu)
		return -ENOMEM;
	if (run->uncertain) {
		cpu->uncertain++;
		cpu->uncertain_ns += ns;
		return 0;
	}
	cpu->number[level] += ns;
	cpu->number[IDLE] += idle ? ns : 0;
	return 0;
}

/* Ends an interrupt or softirq, if one is open. Returns 0 or -ENOMEM. */
static int end_interrupt(struct tables *tables, const struct tables_sample *sample, unsigned level)
{
	struct perch_pair run;

	return end_run(tables, sample, level, &run) ? add_to_cpu(tables, sample, level, &run, false)
						    : 0;
}

static int begin_thread(struct tables *tables, const struct tables_sample *sample, uint64_t tid)
{
	const uint64_t key[TABLES_KEYS] = { tid, tid ? 0 : sample->cpu };
	struct tables_row *row = tables_row(&tables->table[KWORK_THREADS], key);
	char name[TABLES_CELL];

	if (!row)
		return -ENOMEM;
	/* the last name counts: a program begins with that of its parent */
	tables_text_of(sample, 2, name, sizeof(name));
	if (!row->name || strcmp(row->name, name)) {
		free(row->name);
		row->name = perch__strdup(name);
	}
	if (!row->name)
		return -ENOMEM;
	return begin_run(tables, sample, THREAD,
			 (uint64_t)(row - tables->table[KWORK_THREADS].row));
}

static int end_thread(struct tables *tables, const struct tables_sample *sample)
{
	struct perch_pair run;
	struct tables_row *row;
	int rc;

	if (!end_run(tables, sample, THREAD, &run))
		return 0;
	row = &tables->table[KWORK_THREADS].row[run.value[ROW]];
	/* another thread leaves the CPU: the switch in between is missing */
	if (row->key[0] != sample->value[0] && !run.uncertain) {
		run.uncertain = true;
		tables->missing_ends++;
	}
	rc = tables_add(row, &run);
	return rc ? rc : add_to_cpu(tables, sample, THREAD, &run, !row->key[0]);
}

static int take_switch(struct tables *tables, const struct tables_sample *sample)
{
	int rc = end_interrupt(tables, sample, IRQ);

	if (!rc)
		rc = end_interrupt(tables, sample, SOFTIRQ);
	if (!rc)
		rc = end_thread(tables, sample);
	return rc ? rc : begin_thread(tables, sample, sample->value[1]);
}

static int enter_softirq(struct tables *tables, const struct tables_sample *sample)
{
	return begin_run(tables, sample, SOFTIRQ, 0);
}

static int enter_irq(struct tables *tables, const struct tables_sample *sample)
{
	return begin_run(tables, sample, IRQ, 0);
}

static int exit_softirq(struct tables *tables, const struct tables_sample *sample)
{
	return end_interrupt(tables, sample, SOFTIRQ);
}

static int exit_irq(struct tables *tables, const struct tables_sample *sample)
{
	return end_interrupt(tables, sample, IRQ);
}

#define SOFTIRQ_ENTRY "irq:softirq_entry"
#define SOFTIRQ_EXIT  "irq:softirq_exit"
#define IRQ_ENTRY     "irq:irq_handler_entry"
#define IRQ_EXIT      "irq:irq_handler_exit"

static const struct tables_event events[] = {
	{ "sched:sched_switch", { "prev_pid", "next_pid", "next_comm" }, take_switch },
	{ SOFTIRQ_ENTRY, { "vec" }, enter_softirq, .optional = true },
	{ SOFTIRQ_EXIT, { "vec" }, exit_softirq, .optional = true },
	{ IRQ_ENTRY, { "irq" }, enter_irq, .optional = true },
	{ IRQ_EXIT, { "irq" }, exit_irq, .optional = true },
	{ 0 },
};

/* ---- columns ---- */

/* In 1/1000 %. */
static uint64_t share(uint64_t part, uint64_t all)
{
	return all ? (uint64_t)(1e5 * (double)part / (double)all + 0.5) : 0;
}

static uint64_t time_of_cpu(const struct tables_row *cpu)
{
	return cpu->number[THREAD] + cpu->number[SOFTIRQ] + cpu->number[IRQ];
}

/* Of one CPU, as in top(1): the mean of all. */
static uint64_t thread_share(const struct tables *tables, const struct tables_row *row)
{
	uint64_t all = 0;

	for (size_t i = 0; i < tables->table[KWORK_CPUS].nr; i++)
		all += time_of_cpu(&tables->table[KWORK_CPUS].row[i]);
	return share(row->total * tables->table[KWORK_CPUS].nr, all);
}

static uint64_t busy_share(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return share(time_of_cpu(row) - row->number[IDLE], time_of_cpu(row));
}

static uint64_t softirq_share(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return share(row->number[SOFTIRQ], time_of_cpu(row));
}

static uint64_t irq_share(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return share(row->number[IRQ], time_of_cpu(row));
}

static bool has_softirqs(const struct tables *tables)
{
	return tables_has_event(tables, SOFTIRQ_ENTRY) && tables_has_event(tables, SOFTIRQ_EXIT);
}

static bool has_irqs(const struct tables *tables)
{
	return tables_has_event(tables, IRQ_ENTRY) && tables_has_event(tables, IRQ_EXIT);
}

static uint64_t whole_time(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return time_of_cpu(row);
}

static const struct tables_column thread_columns[] = {
	{ "pid", "pid", TABLES_ID, true, TABLES_AT(key[0]) },
	{ "share", "%Cpu", TABLES_PERCENT, .number = thread_share },
	{ "runtime", "Runtime", TABLES_NS, TABLES_AT(total) },
	{ "count", "Count", TABLES_COUNT, TABLES_AT(count) },
	{ "max", "Max runtime", TABLES_NS, TABLES_AT(max) },
	{ "uncertain", "uncertain", TABLES_COUNT, TABLES_AT(uncertain) },
	{ "uncertain_ns", "uncertain time", TABLES_NS, TABLES_AT(uncertain_ns) },
	{ "name", "Command", TABLES_TEXT, .text = tables_name },
	{ 0 },
};

static const struct tables_column cpu_columns[] = {
	{ "cpu", "Cpu", TABLES_COUNT, true, TABLES_AT(key[0]) },
	{ "time", "Time", TABLES_NS, .number = whole_time },
	{ "busy", "busy", TABLES_PERCENT, .number = busy_share },
	{ "irq", "irq", TABLES_PERCENT, .number = irq_share, .is_known = has_irqs },
	{ "softirq", "softirq", TABLES_PERCENT, .number = softirq_share, .is_known = has_softirqs },
	{ "uncertain", "uncertain", TABLES_COUNT, TABLES_AT(uncertain) },
	{ "uncertain_ns", "uncertain time", TABLES_NS, TABLES_AT(uncertain_ns) },
	{ 0 },
};

const struct tables_view kwork_top_views[KWORK_TOP_TABLES] = {
	[KWORK_THREADS] = { "thread", thread_columns, "pid,share,runtime,count,name", "runtime" },
	[KWORK_CPUS] = { "cpu", cpu_columns, "cpu,time,busy,irq,softirq", "cpu" },
};

void kwork_choose_top(struct tables *tables)
{
	tables->events = events;
	tables->recorder = "kwork -k irq,softirq,sched";
	tables->lacking = "the times of threads have those of interrupts or softirqs in them";
	tables->nr_tables = KWORK_TOP_TABLES;
	for (unsigned i = 0; i < KWORK_TOP_TABLES; i++)
		tables->table[i].view = &kwork_top_views[i];
	/* columns of the options are those of threads */
	tables->table[KWORK_CPUS].hidden = tables->fields || tables->sort;
}
