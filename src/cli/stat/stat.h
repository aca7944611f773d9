/* SPDX-License-Identifier: MIT */
/*
 * What the files of `perch stat` share. A file calls only files below its own:
 *
 *	stat.c                                    the subcommand: runs, intervals, output file
 *	stat_report.c                             perch stat report
 *	stat_options.c                            the command line
 *	stat_run.c                                one run: open, start the program, wait, read
 *	stat_record.c                             perch stat record
 *	stat_print.c                              the result, in one of the formats
 *	stat_table.c  stat_metric_only.c          the table, --metric-only
 *	stat_lines.c  stat_reasons.c              order and prefix of lines, -x and -j; reasons
 *	stat_control.c  stat_wait.c               --control; waiting, signals
 *	stat_events.c  stat_target.c              events and lines; targets and groups
 *	stat_cgroups.c                            names and patterns of --for-each-cgroup
 *	stat_metrics.c                            metrics of lines (metrics.h)
 *	stat_aggregate.c                          counts added up by line and group
 *	stat_file.c                               numbers in files of counts (stat_file.h)
 */
#ifndef PERCH_CLI_STAT_H
#define PERCH_CLI_STAT_H

#include <signal.h>
#include <perch/count.h>
#include <perch/event.h>
#include <perch/file.h>
#include <perch/machine.h>
#include <perch/open.h>
#include <perch/metrics.h>

#include "base/mean.h"
#include "attr_print.h"
#include "event_options.h"
#include "input/input.h"
#include "options.h"
#include "output_file.h"
#include "program/control.h"
#include "program/program.h"
#include "program/target.h"

#define STAT_COMMAND "stat"

/* The groups over which counts are added up. */
enum stat_aggregation {
	STAT_GLOBAL,
	STAT_CPU, /* -A: one group per CPU */
	STAT_SOCKET,
	STAT_DIE,
	STAT_CORE,
	STAT_NODE,
	STAT_THREAD,
};
/* stat_file.c: the option of an aggregation: "--per-core". */
const char *stat_aggregation_option(enum stat_aggregation aggregation);

/* One group: a socket, a core, a thread. */
struct stat_group {
	struct perch_cpu_topology topology; /* members that the aggregation does not use are 0 */
	pid_t tid;
	char comm[64];
	unsigned nr; /* targets in it, of the first part */
};

/* The counts of a line in a group. */
struct stat_cell {
	struct perch__mean value; /* scaled for multiplexing, unless --no-scale */
	struct perch__mean enabled, running;
	unsigned nr; /* targets on which the event was open */
};

/* A line of the result: an event, in a cgroup if one is given. */
struct stat_line {
	const struct perch_event *event;
	const char *cgroup; /* "" for none */
	size_t part, index; /* the part, and the event's index in it */
	/* the line that shows the sum: this one, or the first event of the same name */
	size_t merged_into;
	/* ends in :u if the kernel refused to count itself */
	char name[sizeof(((struct perch_event *)0)->name) + 72];
	const char *unit;
	double scale; /* of the value shown: 1e-6 for clocks, which are shown in msec */
	bool clock;
	bool user_only; /* restricted to user space */
	bool supported;
	bool present;		/* open on at least one target */
	struct stat_cell *cell; /* one per group */
};

/* All events of one cgroup, or of no cgroup: one perch_set. */
struct stat_part {
	const char *cgroup; /* "" for none */
	/* copies of items of stat_job.events, which owns their strings */
	struct perch_events events;
	struct perch_targets targets;
	size_t *group; /* of each target */
	/* of each target's CPU if an event counts cores or sockets, else NULL */
	struct perch_cpu_topology *topology;
	struct perch_set *set;
	struct perch_count *now, *before; /* before: at the end of the last interval */
};

/* The command line. stat_parse() sets it; it does not change later. */
struct stat_options {
	/* events */
	int detailed;
	bool null; /* -n: only the time */
	bool all_user, all_kernel;
	/* targets */
	struct cli_target target;
	const char *for_each_cgroup;
	bool no_inherit;
	/* runs and intervals */
	uint64_t repeat; /* 0: until Ctrl-C */
	uint64_t interval_ms, interval_count, timeout_ms;
	const char *delay;
	long delay_ms; /* -1: perch does not enable the events */
	bool sync;
	const char *pre, *post;
	const char *control; /* as of perch_channel_open() */
	/* files of counts */
	bool record, report;	    /* perch stat record, perch stat report */
	const char *recording_path; /* of record */
	/* output */
	bool no_aggregation, per_socket, per_die, per_core, per_node, per_thread;
	const char *separator; /* -x; NULL for none */
	bool json, metric_only, no_merge, scale, quiet, interval_clear, summary, csv_summary, table;
	int big_num; /* -B: 1, --no-big-num: 0, neither: -1 */
	const char *output_path;
	bool append;
	uint64_t log_fd; /* 0: none */
	int verbose;
};

struct stat_job {
	struct stat_options options;
	char **argv; /* the program; NULL for none. Of a report: the command line of the recorder */
	int command_line_size;
	char **command_line; /* of perch stat record */
	enum stat_aggregation aggregation;

	/* lists that are complete before the first run */
	struct cli_shown_calls calls;
	struct cli_event_list events;
	struct cli_cgroups cgroups; /* of each event, by -G */
	const char *cgroups_first;  /* a -G before all events */
	char **for_each;	    /* names of --for-each-cgroup */
	size_t nr_for_each, for_each_capacity;
	struct stat_line *line;
	size_t nr_lines;
	struct stat_part *part;
	size_t nr_parts, parts_capacity;
	struct stat_group *group;
	size_t nr_groups;
	struct stat_cell *cells;
	FILE *output;
	struct cli_output_file file; /* the output, if it is a file that is written at once */
	bool terminal;		     /* output is a terminal */

	/* of perch stat record: the file */
	struct perch_writer *recording;
	/* of perch stat report: the file, and what it says about the recorded machine */
	struct cli_input input;
	struct perch_cpu_topology *topology; /* by CPU */
	size_t nr_topology;
	struct stat_thread *thread; /* that were counted */
	size_t nr_threads;

	/* state of runs */
	struct cli_control control;
	bool stop_requested;
	uint64_t descriptors; /* soft limit before it was raised; 0 if it was not raised */
	struct perch_program program;
	int status; /* exit status of the program's last run */
	bool post_failed;
	bool stopped_program; /* --timeout, --interval-count or the command stop ended it */
	struct perch__mean elapsed_ns; /* of the runs so far */
	double *run_ns;		       /* with --table: the time of each run */
	size_t run_ns_capacity;
	double user_seconds, sys_seconds;

	/* state of the output */
	double wall_ns;			       /* of the interval, or the mean of the runs */
	uint64_t interval_ns;		       /* since the start; 0 without -I */
	unsigned intervals_shown, lines_shown; /* since the last header */
	bool header_shown;
};

#define STAT_DEFAULTS                                                                          \
	{                                                                                      \
		.options = { .repeat = 1, .scale = true, .csv_summary = true, .big_num = -1 }, \
		.input = { .command = STAT_COMMAND, .options.file_order = true },              \
	}

/*
 * stat_options.c: sets the options. Exits for -h and for an unknown option. Returns 0, or the exit
 * status after it printed an error.
 */
int stat_parse(struct stat_job *stat, int argc, char **argv);

/* stat_events.c: sets -G. */
int stat_add_cgroups(const struct cli_given *given);
/*
 * Adds the default events and those of -d, and makes the lines and the parts, still without
 * targets. Returns 0, or the exit status after it printed an error.
 */
int stat_complete_events(struct stat_job *stat);
void stat_free_events(struct stat_job *stat);

/* stat_cgroups.c: fills for_each. Returns 0, or the exit status after it printed an error. */
int stat_choose_cgroups(struct stat_job *stat);

/*
 * stat_target.c: sets the targets of each part, the groups and the cells. Returns 0, or the exit
 * status after it printed an error.
 */
int stat_choose_targets(struct stat_job *stat);
/* The part of it after the targets of each part are set. */
int stat_group_targets(struct stat_job *stat);

/*
 * stat_run.c: one run, from opening the events to reading the counts. With -I it calls
 * stat_print() for each interval. Returns 0, or the exit status after it printed an error.
 */
int stat_run(struct stat_job *stat);

/* stat_control.c: calls perch_set_enable() or _disable() for all parts. Returns as stat_run(). */
typedef int stat_set_call(struct perch_set *set, struct perch_error *err);
int stat_for_each_set(struct stat_job *stat, stat_set_call *call);
/*
 * Carries out the commands that have arrived. end_interval may be NULL; it is called before events
 * are enabled and after they are disabled. Returns its status.
 */
typedef int stat_end_interval(struct stat_job *stat, void *context);
int stat_read_control(struct stat_job *stat, stat_end_interval *end_interval, void *context);

/* stat_wait.c: SIGINT, SIGTERM, SIGHUP and SIGQUIT end counting; the result is still printed. */
void stat_catch_signals(void);
/* Blocks the signals that are caught. before: the mask to restore. Returns 0 or an errno. */
int stat_block_signals(sigset_t *before);
/* True if the kernel refuses to wait: counting ends, and the counts up to then are printed. */
bool stat_wait_failed(void);
/* Prints why. Returns the exit status; 0 if nothing was refused. */
int stat_report_wait(void);
/* The last of these signals that arrived; 0 for none. */
int stat_stop_signal(void);
/* From now on, SIGTERM is forwarded to this process; 0 for none. */
void stat_forward_signals_to(pid_t pid);
/* CLOCK_MONOTONIC */
uint64_t stat_now_ns(void);
/*
 * Waits until the program, or all processes of -p and -t, have ended. Does not reap the program.
 * Returns false if a signal, a command (stat_has_command()) or until_ns comes first. until_ns is a
 * time of stat_now_ns(); UINT64_MAX is no limit.
 */
bool stat_wait(const struct stat_job *stat, uint64_t until_ns);
bool stat_has_command(void);

/* stat_aggregate.c */
void stat_clear_cells(struct stat_job *stat);
/*
 * Reads all counts and adds them to the cells: the difference to the previous read if intervals is
 * set, else all since the open.
 */
int stat_read_counts(struct stat_job *stat, bool intervals, struct perch_error *err);
/* The same, with the counts of the last read. */
int stat_add_counts(struct stat_job *stat, bool intervals, struct perch_error *err);
/* Sets the name of each line and whether it is supported. The sets must be open. */
void stat_describe_lines(struct stat_job *stat);
/* False for a line that is merged into another one, and for groups where the event is not open. */
bool stat_is_shown(const struct stat_job *stat, const struct stat_line *line, size_t group);
/* False if the event is not supported or never ran. */
bool stat_is_counted(const struct stat_line *line, size_t group);
/* The share of the enabled time in which the event ran; 100 if it was never enabled. */
double stat_percent_running(const struct stat_cell *cell);

/* stat_metrics.c: values computed from the count of a line, such as "0.484 CPUs utilized". */
/* Returns the number of metrics, 0 to PERCH_METRICS_MAX. */
size_t stat_metrics(const struct stat_job *stat, const struct stat_line *line, size_t group,
		    struct perch_metric metrics[PERCH_METRICS_MAX]);

/* stat_record.c: makes the file, after the events are open. All functions return 0, or the exit
 * status after they printed an error. */
int stat_record_open(struct stat_job *stat);
/* Writes the counts of the last read. ns: since the start. */
enum stat_round_kind { STAT_ROUND_INTERVAL, STAT_ROUND_FINAL };
int stat_record_round(struct stat_job *stat, enum stat_round_kind kind, uint64_t ns);
int stat_record_close(struct stat_job *stat);

/* stat_report.c: perch stat report, after its options were parsed. Returns the exit status. */
int stat_report(struct stat_job *stat);

/* stat_lines.c */
typedef void stat_print_line(const struct stat_job *stat, const struct stat_line *line,
			     size_t group, FILE *out);
/* Calls print for each line and group that is shown, in the order of the aggregation. */
void stat_for_each_line(const struct stat_job *stat, stat_print_line *print, FILE *out);
/* Prints the time of the interval and the group. line may be NULL. */
void stat_print_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
		       FILE *out);
/* "<not counted>", or "<not supported>" */
const char *stat_missing_text(const struct stat_line *line);
/* Digits after the decimal point of the value. */
int stat_decimals(const struct stat_line *line);
/* Prints a field of -x. Quotes it, as in CSV, if it contains a separator or a double quote. */
void stat_print_csv_text(const struct stat_job *stat, const char *text, FILE *out);
/* A line of -x, and of -j: the fields of perf 6.1. */
void stat_print_csv_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			 FILE *out);
void stat_print_json_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			  FILE *out);

/* stat_reasons.c: prints which events were not counted, and why. */
void stat_print_reasons(const struct stat_job *stat, FILE *out);

/* stat_table.c */
void stat_print_table(const struct stat_job *stat, FILE *out);
void stat_print_interval_header(const struct stat_job *stat, FILE *out);
void stat_print_table_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			   FILE *out);

/* stat_metric_only.c: one column per ratio, one row per group. */
void stat_print_metric_header(const struct stat_job *stat, FILE *out);
void stat_print_metric_rows(const struct stat_job *stat, FILE *out);

/*
 * stat_print.c: writes the result, or that of an interval, to the output with one write. Returns 0,
 * or the exit status after it printed an error.
 */
int stat_print(struct stat_job *stat);
#endif
