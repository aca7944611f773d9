/* SPDX-License-Identifier: MIT */
/*
 * perch kwork: interrupts, softirqs and works of workqueues. They run from entry to exit, and are
 * late from their raise to their entry.
 *
 * A softirq runs on the CPU that raised it. A work may run on another one, so works are joined by
 * their address alone. Of several raises before an entry the last one counts, as in perf.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "commands.h"
#include "kwork.h"

#define COMMAND "kwork"

enum { IRQ, SOFTIRQ, WORKQUEUE, SCHED, NR_CLASSES }; /* SCHED: for top alone */
enum { RUN, DELAY };				     /* pairs */
enum { ROW, LATE, RAISED, LATE_UNCERTAIN };	     /* values of a run */
enum { CPU };					     /* numbers of a row */

struct kwork {
	struct tables tables;
	uint64_t classes; /* bits; 0: all but SCHED */
	const char *name;
	bool with_summary, by_delay, lists, has_title;
	uint64_t first_time, last_time;
};

static const char *const softirqs[] = {
	"HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
	"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU",
};

static struct kwork *kwork_of(struct tables *tables)
{
	return (struct kwork *)tables;
}

/* ---- names ---- */

/* What runs. id: number of the interrupt or softirq, address of the work. */
struct work {
	unsigned class;
	uint64_t id, function;
	uint32_t cpu;
};

/* Stores the name without the marks of its class. */
static void put_plain_name(struct tables *tables, const struct tables_sample *sample,
			   const struct work *work, char *text, size_t size)
{
	if (work->class == IRQ)
		tables_text_of(sample, 1, text, size);
	else if (work->class == WORKQUEUE)
		tables_kernel_name(tables, work->function, false, text, size);
	else
		snprintf(text, size, "%s",
			 work->id < CLI_NR(softirqs) ? softirqs[work->id] : "unknown");
}

/* As in perf: "virtio1-req.0:36", "(s)RCU:9", "(w)vmstat_update". */
static void put_name(const struct work *work, const char *plain, char *text, size_t size)
{
	if (work->class == WORKQUEUE)
		snprintf(text, size, "(w)%s", plain);
	else
		snprintf(text, size, "%s%s:%" PRIu64, work->class == SOFTIRQ ? "(s)" : "", plain,
			 work->id);
}

/* ---- rows ---- */

static bool is_wanted(const struct kwork *kwork, unsigned class)
{
	return kwork->classes ? kwork->classes >> class & 1 : class != SCHED;
}

/* Returns the row of a work, in *row; NULL if -n does not want it. Returns 0 or -ENOMEM. */
static int find_row(struct kwork *kwork, const struct tables_sample *sample,
		    const struct work *work, struct tables_row **row)
{
	uint64_t key[TABLES_KEYS] = { work->class, work->id, work->cpu, work->function };
	char plain[TABLES_CELL - 64], name[TABLES_CELL];

	*row = NULL;
	put_plain_name(&kwork->tables, sample, work, plain, sizeof(plain));
	if (kwork->name && strcmp(kwork->name, plain))
		return 0;
	/* devices share an interrupt, and a later work may have the address of one before */
	if (work->class == IRQ)
		key[3] = perch__hash_bytes(0, plain, strlen(plain));
	*row = tables_row(&kwork->tables.table[0], key);
	if (!*row || (*row)->name)
		return *row ? 0 : -ENOMEM;
	put_name(work, plain, name, sizeof(name));
	(*row)->number[CPU] = work->cpu;
	(*row)->name = perch__strdup(name);
	return (*row)->name ? 0 : -ENOMEM;
}

/* ---- timehist ---- */

static void print_title(struct kwork *kwork)
{
	if (kwork->has_title || kwork->tables.json)
		return;
	kwork->has_title = true;
	printf(" Runtime start      Runtime end        Cpu     Kwork name                      Runtime     Delaytime\n"
	       "                                               (TYPE)NAME:NUM                  (msec)      (msec)\n"
	       " -----------------  -----------------  ------  ------------------------------  ----------  ----------\n");
}

/* True if the run or its delay may be wrong. */
static bool is_uncertain(const struct perch_pair *run)
{
	return run->uncertain || run->value[LATE_UNCERTAIN];
}

static void print_json_run(const struct tables_row *row, const struct perch_pair *run)
{
	char name[TABLES_CELL];

	perch_clean_text(row->name, name, sizeof(name));
	printf("{\"start\":%" PRIu64 ",\"end\":%" PRIu64 ",\"cpu\":%" PRIu64 ",\"name\":",
	       run->start, run->end, row->number[CPU]);
	perch__json_print_string(stdout, name);
	printf(",\"runtime\":%" PRIu64, run->end - run->start);
	if (run->value[RAISED])
		printf(",\"delay\":%" PRIu64, run->value[LATE]);
	printf(",\"uncertain\":%s}\n", is_uncertain(run) ? "true" : "false");
}

/* A run in the layout of perf. '?' follows one that may be wrong. */
static void print_run(struct kwork *kwork, const struct tables_row *row,
		      const struct perch_pair *run)
{
	char name[TABLES_CELL];

	print_title(kwork);
	if (kwork->tables.json) {
		print_json_run(row, run);
		return;
	}
	perch_clean_text(row->name, name, sizeof(name));
	printf("%11" PRIu64 ".%06" PRIu64 "  %11" PRIu64 ".%06" PRIu64 "  [%04" PRIu64
	       "]  %-30s  %10.3f",
	       run->start / 1000000000, run->start % 1000000000 / 1000, run->end / 1000000000,
	       run->end % 1000000000 / 1000, row->number[CPU], name,
	       (double)(run->end - run->start) / 1e6);
	if (run->value[RAISED])
		printf("  %10.3f", (double)run->value[LATE] / 1e6);
	puts(is_uncertain(run) ? " ?" : "");
}

/* ---- events ---- */

static struct perch_pair_key key_of(const struct work *work)
{
	return (struct perch_pair_key){
		.word = { work->class, work->id, work->class == WORKQUEUE ? 0 : work->cpu },
	};
}

static void see_time(struct kwork *kwork, uint64_t time)
{
	if (!kwork->first_time)
		kwork->first_time = time;
	kwork->last_time = time;
}

static int add_raise(struct tables *tables, const struct tables_sample *sample,
		     const struct work *work)
{
	const struct perch_pair pair = { .key = key_of(work), .start = sample->time };

	if (!is_wanted(kwork_of(tables), work->class))
		return 0;
	return perch_pairs_begin(tables->pairs[DELAY], &pair, NULL) < 0 ? -ENOMEM : 0;
}

static int add_entry(struct tables *tables, const struct tables_sample *sample,
		     const struct work *work)
{
	struct kwork *kwork = kwork_of(tables);
	struct perch_pair run = { .key = key_of(work), .start = sample->time }, delay;
	struct tables_row *row;
	bool raised;
	int rc;

	if (!is_wanted(kwork, work->class))
		return 0;
	see_time(kwork, sample->time);
	/* an interrupt has no raise, and what was raised before the recording has none here */
	raised = perch_pairs_find(tables->pairs[DELAY], &run.key) &&
		 perch_pairs_end(tables->pairs[DELAY], &run.key, sample->time, &delay);
	if (kwork->by_delay) {
		rc = raised ? find_row(kwork, sample, work, &row) : 0;
		return rc || !raised || !row ? rc : tables_add(row, &delay);
	}
	/* the name of an interrupt is only in its entry, that of a work only where functions are */
	rc = find_row(kwork, sample, work, &row);
	if (rc || !row)
		return rc;
	run.value[ROW] = (uint64_t)(row - tables->table[0].row);
	run.value[LATE] = raised ? delay.end - delay.start : 0;
	run.value[RAISED] = raised;
	run.value[LATE_UNCERTAIN] = raised && delay.uncertain;
	return perch_pairs_begin(tables->pairs[RUN], &run, NULL) < 0 ? -ENOMEM : 0;
}

static int add_exit(struct tables *tables, const struct tables_sample *sample,
		    const struct work *work)
{
	struct kwork *kwork = kwork_of(tables);
	const struct perch_pair_key key = key_of(work);
	struct tables_row *row;
	struct perch_pair run;

	if (kwork->by_delay || !is_wanted(kwork, work->class))
		return 0;
	see_time(kwork, sample->time);
	if ((kwork->name && !perch_pairs_find(tables->pairs[RUN], &key)) ||
	    !perch_pairs_end(tables->pairs[RUN], &key, sample->time, &run))
		return 0;
	row = &tables->table[0].row[run.value[ROW]];
	if (kwork->lists)
		print_run(kwork, row, &run);
	return tables_add(row, &run);
}

/* The functions of events: the class, then what happened. */
#define EVENT(name, class_, function_, add)                                        \
	static int name(struct tables *tables, const struct tables_sample *sample) \
	{                                                                          \
		const struct work work = { .class = class_,                        \
					   .id = sample->value[0],                 \
					   .function = function_,                  \
					   .cpu = sample->cpu };                   \
                                                                                   \
		return add(tables, sample, &work);                                 \
	}

EVENT(enter_irq, IRQ, 0, add_entry)
EVENT(exit_irq, IRQ, 0, add_exit)
EVENT(raise_softirq, SOFTIRQ, 0, add_raise)
EVENT(enter_softirq, SOFTIRQ, 0, add_entry)
EVENT(exit_softirq, SOFTIRQ, 0, add_exit)
EVENT(activate_work, WORKQUEUE, sample->value[1], add_raise)
EVENT(start_work, WORKQUEUE, sample->value[1], add_entry)
EVENT(end_work, WORKQUEUE, sample->value[1], add_exit)

static const struct tables_event events[] = {
	{ "irq:irq_handler_entry", { "irq", "name" }, enter_irq },
	{ "irq:irq_handler_exit", { "irq" }, exit_irq },
	{ "irq:softirq_raise", { "vec" }, raise_softirq },
	{ "irq:softirq_entry", { "vec" }, enter_softirq },
	{ "irq:softirq_exit", { "vec" }, exit_softirq },
	{ "workqueue:workqueue_activate_work", { "work", "function" }, activate_work },
	{ "workqueue:workqueue_execute_start", { "work", "function" }, start_work },
	{ "workqueue:workqueue_execute_end", { "work" }, end_work },
	{ 0 },
};

/* ---- columns ---- */

#define NAME_COLUMN                                                    \
	{                                                              \
		"name", "Kwork Name", TABLES_TEXT, .text = tables_name \
	}
#define CPU_COLUMN                                                       \
	{                                                                \
		"cpu", "Cpu", TABLES_COUNT, true, TABLES_AT(number[CPU]) \
	}
#define LOST_COLUMNS                                                                 \
	{ "uncertain", "uncertain", TABLES_COUNT, TABLES_AT(uncertain) },            \
	{                                                                            \
		"uncertain_ns", "uncertain time", TABLES_NS, TABLES_AT(uncertain_ns) \
	}
#define SHARES                                                     \
	{ "p50", "p50", TABLES_NS, .number = tables_p50 },         \
		{ "p90", "p90", TABLES_NS, .number = tables_p90 }, \
	{                                                          \
		"p99", "p99", TABLES_NS, .number = tables_p99      \
	}

static const struct tables_column run_columns[] = {
	NAME_COLUMN,
	CPU_COLUMN,
	{ "runtime", "Total Runtime", TABLES_NS, TABLES_AT(total) },
	{ "count", "Count", TABLES_COUNT, TABLES_AT(count) },
	{ "avg", "Avg runtime", TABLES_NS, .number = tables_average },
	SHARES,
	{ "max", "Max runtime", TABLES_NS, TABLES_AT(max) },
	{ "max_start", "Max runtime start", TABLES_TIME, TABLES_AT(max_start) },
	{ "max_end", "Max runtime end", TABLES_TIME, TABLES_AT(max_end) },
	LOST_COLUMNS,
	{ 0 },
};

static const struct tables_column delay_columns[] = {
	NAME_COLUMN,
	CPU_COLUMN,
	{ "avg", "Avg delay", TABLES_NS, .number = tables_average },
	{ "count", "Count", TABLES_COUNT, TABLES_AT(count) },
	SHARES,
	{ "max", "Max delay", TABLES_NS, TABLES_AT(max) },
	{ "max_start", "Max delay start", TABLES_TIME, TABLES_AT(max_start) },
	{ "max_end", "Max delay end", TABLES_TIME, TABLES_AT(max_end) },
	LOST_COLUMNS,
	{ 0 },
};

static const struct tables_view run_view = {
	NULL,
	run_columns,
	"name,cpu,runtime,count,p99,max,max_start,max_end",
	"runtime",
};

static const struct tables_view delay_view = {
	NULL,
	delay_columns,
	"name,cpu,avg,count,p99,max,max_start,max_end",
	"avg",
};

/* ---- command ---- */

static void restart_kwork(struct tables *tables)
{
	kwork_of(tables)->first_time = kwork_of(tables)->last_time = 0;
}

static void print_summary(const struct tables *tables)
{
	const struct kwork *kwork = (const struct kwork *)tables;
	uint64_t count = 0, runtime = 0, span = kwork->last_time - kwork->first_time;

	if (!kwork->with_summary || kwork->by_delay)
		return;
	for (size_t i = 0; i < tables->table[0].nr; i++) {
		count += tables->table[0].row[i].count;
		runtime += tables->table[0].row[i].total;
	}
	printf("  Total count            : %9" PRIu64 "\n", count);
	printf("  Total runtime   (msec) : %9.3f (%.3f%% load average)\n", (double)runtime / 1e6,
	       span ? 100.0 * runtime / span : 0);
	printf("  Total time span (msec) : %9.3f\n", (double)span / 1e6);
}

static int choose_kwork(struct tables *tables, bool by_delay, bool lists)
{
	struct kwork *kwork = kwork_of(tables);

	kwork->by_delay = by_delay;
	kwork->lists = tables->lists = lists;
	tables->events = events;
	tables->nr_tables = 1;
	tables->table[0].view = by_delay ? &delay_view : &run_view;
	tables->table[0].hidden = lists;
	return 0;
}

static int choose_report(struct tables *tables)
{
	return choose_kwork(tables, false, false);
}

static int choose_latency(struct tables *tables)
{
	return choose_kwork(tables, true, false);
}

static int choose_timehist(struct tables *tables)
{
	if (tables->separator)
		return cli_usage_error(COMMAND, "timehist has no -x; -j prints JSON");
	if (tables->entries || tables->fields || tables->sort)
		return cli_usage_error(COMMAND, "timehist has no %s: it prints runs as they end",
				       tables->entries	? "-E"
				       : tables->fields ? "-F"
							: "-s");
	return choose_kwork(tables, false, true);
}

static int choose_top(struct tables *tables)
{
	struct kwork *kwork = kwork_of(tables);

	if (tables->pids || tables->tids)
		return cli_usage_error(COMMAND,
				       "top has no %s: it needs the switches of all threads",
				       tables->pids ? "-p" : "--tid");
	if (kwork->name || kwork->classes || kwork->with_summary)
		return cli_usage_error(COMMAND, "top has no %s: it has threads and CPUs",
				       kwork->name	? "-n"
				       : kwork->classes ? "-k"
							: "-S");
	kwork->classes = 1 << IRQ | 1 << SOFTIRQ | 1 << SCHED;
	kwork_choose_top(tables);
	return 0;
}

static const char *const *record_arguments(const struct tables *tables)
{
	static const char *const texts[NR_CLASSES] = {
		"irq:irq_handler_entry,irq:irq_handler_exit",
		"irq:softirq_raise,irq:softirq_entry,irq:softirq_exit",
		/* in parentheses: clang takes two strings for a lacking comma */
		("workqueue:workqueue_activate_work,workqueue:workqueue_execute_start,"
		 "workqueue:workqueue_execute_end"),
		"sched:sched_switch",
	};
	static const char *arguments[2 * NR_CLASSES + 3];
	size_t nr = 0;

	for (unsigned class = 0; class < NR_CLASSES; class ++) {
		if (!is_wanted((const struct kwork *)tables, class))
			continue;
		arguments[nr++] = "-e";
		arguments[nr++] = texts[class];
	}
	arguments[nr++] = "-m";
	arguments[nr++] = "1024";
	return arguments;
}

static const struct cli_word classes[] = {
	{ "irq", 1 << IRQ },
	{ "softirq", 1 << SOFTIRQ },
	{ "workqueue", 1 << WORKQUEUE },
	{ "sched", 1 << SCHED },
	{ 0 },
};

#define AT(member)   offsetof(struct kwork, member)
#define SETS(member) CLI_SETS(struct kwork, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'k', .name = "kwork", .argument = "CLASSES", .kind = CLI_BITS,
		.at = AT(classes), .words = classes,
		.help = "irq, softirq, workqueue (all three); sched, to record for top"),
	CLI_ROW(.letter = 'n', .name = "name", .argument = "NAME", SETS(name),
		.help = "only the interrupt, softirq or function of this name"),
	CLI_ROW(.letter = 's', .name = "sort", .argument = "COLUMNS", SETS(tables.sort),
		.help = "sort by these columns (runtime; avg of latency)"),
	CLI_ROW(.letter = 'S', .name = "with-summary", SETS(with_summary),
		.help = "report: print sums, too"),
	CLI_ROW(.letter = 'E', .name = "entries", .argument = "N", SETS(tables.entries),
		.positive = true, .help = "print at most N rows"),
	CLI_ROW(.table = tables_options, .at = AT(tables)),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "report", NULL },
	{ "latency", NULL },
	{ "timehist", NULL },
	{ "top", NULL },
	{ 0 },
};

static const struct cli_word *column_words(void)
{
	return tables_column_words((const struct tables_column *const[]){
		run_columns, delay_columns, kwork_top_views[0].columns, kwork_top_views[1].columns,
		NULL });
}

const struct cli_usage cli_kwork_usage = {
	.name = COMMAND,
	.operands = "record|report|latency|timehist|top [OPTIONS] [PROGRAM]",
	.summary = "Shows how long interrupts and works of the kernel run, and how late they are.",
	.options = options,
	.subcommands = first_words,
	.columns = column_words,
};

int perch_cmd_kwork(int argc, char **argv)
{
	static const struct tables_subcommand subcommands[] = {
		{ .name = "report", .choose = choose_report },
		{ .name = "latency", .choose = choose_latency },
		{ .name = "timehist", .choose = choose_timehist },
		{ .name = "top", .choose = choose_top },
		{ 0 },
	};
	static const struct tables_command command = {
		.usage = &cli_kwork_usage,
		.subcommands = subcommands,
		.record = record_arguments,
		.system_wide = true,
		.summary = print_summary,
		.restart = restart_kwork,
	};
	struct kwork kwork = { 0 };

	return tables_run(&kwork.tables, &command, argc, argv);
}
