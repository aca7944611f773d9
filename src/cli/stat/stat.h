/* SPDX-License-Identifier: MIT */
/* What the parts of `perch stat` share: whom and what it counts, and what came out. */
#ifndef PERCH_CLI_STAT_H
#define PERCH_CLI_STAT_H

#include <perch/count.h>
#include <perch/event.h>
#include <perch/machine.h>
#include <perch/open.h>

#include "base/mean.h"
#include "attr_print.h"
#include "options.h"
#include "program.h"
#include "target.h"

#define STAT_COMMAND "stat"

/* What counts are added up over. */
enum stat_aggregation {
	STAT_GLOBAL,
	STAT_CPU, /* -A: nothing is added up */
	STAT_SOCKET,
	STAT_DIE,
	STAT_CORE,
	STAT_NODE,
	STAT_THREAD,
};

/* One of the sums: a socket, a core, a thread. */
struct stat_group {
	struct perch_cpu_topology place; /* what the aggregation does not tell apart is 0 */
	pid_t tid;
	char comm[64];
	unsigned nr; /* targets in it, of one part */
};

/* What a line counted in a group. */
struct stat_cell {
	struct perch__mean value, enabled, running; /* value: scaled up for the time off the PMU */
	unsigned nr;				    /* targets that it was open on */
};

/* What is shown under one name. */
struct stat_line {
	const struct perch_event *event;
	const char *cgroup; /* "" when it counts in none */
	size_t part, index; /* where it is opened */
	/* the line whose sums its counts go to; its own but when merged */
	size_t into;
	/* with :u where the kernel's side is refused */
	char name[sizeof(((struct perch_event *)0)->name) + 72];
	const char *unit;
	double scale; /* of what is shown: 1e-6 for clocks, shown in msec */
	bool clock;
	bool user_only; /* fell back to user space */
	bool supported;
	bool present;		/* open somewhere */
	struct stat_cell *cell; /* one for each group */
};

/* The events that have a cgroup, or none, in common: one set. */
struct stat_part {
	const char *cgroup; /* "": none */
	/* copies out of the list of all; their strings belong to that */
	struct perch_events events;
	struct perch_targets targets;
	size_t *group; /* that each target's counts are added to */
	/* of each target's CPU, where an event counts cores or sockets; else NULL */
	struct perch_cpu_topology *place;
	struct perch_set *set;
	struct perch_count *now, *before;
};

struct stat_job {
	/* as asked for: what */
	int detailed;
	bool null_run; /* -n: time alone */
	bool all_user, all_kernel;
	/* whom */
	struct cli_target target;
	const char *each_cgroup; /* --for-each-cgroup */
	bool no_inherit;
	char **argv; /* the program; NULL: none */
	/* how */
	uint64_t repeat; /* 0: until Ctrl-C */
	/* -x and -j have a field for it, even when Ctrl-C left one run alone */
	bool spread;
	uint64_t interval_ms, interval_count, timeout_ms;
	const char *delay;
	long delay_ms; /* -1: never enabled */
	bool sync;
	const char *pre, *post;
	const char *control; /* fd:CTL[,ACK] or fifo:CTL[,ACK] */
	/* how it is shown */
	bool no_aggregation, per_socket, per_die, per_core, per_node, per_thread;
	enum stat_aggregation aggregation;
	const char *separator; /* -x; NULL: none */
	bool json, metric_only, no_merge, scale, quiet, interval_clear, summary, name_summary,
		table;
	int big_num; /* -B: 1, --no-big-num: 0, neither: -1 */
	const char *output_path;
	bool append;
	uint64_t log_fd; /* 0: none */
	int verbose;

	struct cli_shown_calls calls;
	struct perch_machine *machine;
	struct perch_events events;
	size_t last_events;	    /* the first one of the last -e */
	struct cli_cgroups cgroups; /* by event, what -G said */
	const char *cgroups_first;  /* a -G in front of all events */
	char **each;		    /* the names of --for-each-cgroup */
	size_t nr_each;
	struct stat_line *line;
	size_t nr_lines;
	struct stat_part *part;
	size_t nr_parts;
	struct stat_group *group;
	size_t nr_groups;
	struct stat_cell *cells;
	FILE *output;
	bool terminal; /* the output is one */

	int control_fd, ack_fd; /* of --control; -1: none */
	char command[64];	/* the part of one that has come in */
	size_t command_length;
	bool told_to_stop;
	uint64_t descriptors; /* the soft limit before it was raised; 0: it was not */
	struct cli_program program;
	int status; /* exit status of the program's last run */
	bool post_failed;
	bool cut_short; /* the program was ended by --timeout or --interval-count */
	struct perch__mean elapsed_ns;
	/* the time of each run, as many as elapsed_ns.nr: --table alone */
	double *each_ns;
	/* what CPUs utilized is worked out of: the interval, or the mean of the runs */
	double wall_ns;
	uint64_t interval_ns;		       /* since the start; 0: not in interval mode */
	unsigned intervals_shown, lines_shown; /* since the last header */
	bool header_shown;
	double user_seconds, sys_seconds;
};

/* clang-format off */
#define STAT_DEFAULTS \
	{ .repeat = 1, .scale = true, .name_summary = true, .big_num = -1, .control_fd = -1, .ack_fd = -1 }
/* clang-format on */

/* stat_options.c: fills what was asked for; ends the process where it makes no sense. Returns 0 or
 * the exit status. */
int stat_parse(struct stat_job *stat, int argc, char **argv);

/* stat_events.c: calls of options, and the lists made when all options are known. */
int stat_add_events(void *value, const char *text, bool negated);
int stat_add_event_file(void *value, const char *path, bool negated);
int stat_add_filter(void *value, const char *filter, bool negated);
int stat_add_cgroups(void *value, const char *names, bool negated);
/* The default events and those of -d; then lines, and parts without targets. Returns 0 or the exit
 * status. */
int stat_complete_events(struct stat_job *stat);
void stat_free_events(struct stat_job *stat);

/* stat_target.c: whom each part counts, and the groups. Returns 0 or the exit status. */
int stat_choose_targets(struct stat_job *stat);

/* stat_run.c: one run from open to read. Returns 0 or the exit status after having told what is
 * wrong. */
int stat_run(struct stat_job *stat);
/* stat_control.c: opens what --control names, if it is there. Returns 0 or the exit status. */
int stat_open_control(struct stat_job *stat);
/* Does what has come in. An interval ends before events are enabled and after they are disabled.
 * Returns as above. */
typedef int stat_end_interval(struct stat_job *stat, void *context);
int stat_obey_control(struct stat_job *stat, stat_end_interval *end_interval, void *context);
/* stat_wait.c: SIGINT and SIGTERM end the counting and not the report. Which of them came; 0: none.
 */
int stat_stopped(void);
void stat_catch_signals(void);
/* From now on SIGTERM is passed on to that process; 0: to none. */
void stat_pass_signals_to(pid_t pid);
uint64_t stat_now_ns(void);
/*
 * Waits for the program, or for all processes of -p and -t, to end. False when the time (of
 * stat_now_ns(), UINT64_MAX: none) came first, or a signal, or a command (stat_commanded()). Does
 * not reap the program.
 */
bool stat_wait(const struct stat_job *stat, uint64_t until_ns);
bool stat_commanded(void);

/* stat_aggregate.c: reads and fills the cells. intervals: with what came since the last call; else
 * since the open. */
void stat_clear_cells(struct stat_job *stat);
int stat_gather(struct stat_job *stat, bool intervals, struct perch_error *err);
/* The same without reading: from what was read last. */
int stat_sum_up(struct stat_job *stat, bool intervals, struct perch_error *err);
/* The names, and what is supported, once the sets are open. */
void stat_learn(struct stat_job *stat);
/* Is the line shown for that group? Merged lines are not, nor those of a PMU that is not there. */
bool stat_shown(const struct stat_job *stat, const struct stat_line *line, size_t group);
bool stat_counted(const struct stat_line *line, size_t group);

/* stat_numbers.c: what is worked out of a count and others: "0.484 CPUs utilized". Returns how
 * many: 0 to 2. */
#define STAT_METRICS 2
struct stat_metric {
	double value;
	int width, decimals;
	const char *sign; /* printed behind the number: "%" */
	char unit[40];
};
size_t stat_metrics(const struct stat_job *stat, const struct stat_line *line, size_t group,
		    struct stat_metric metrics[STAT_METRICS]);
/* The unit of the ratio that the line's event is worth; NULL: none, rates and times apart. */
const char *stat_metric_unit(const struct stat_line *line);
double stat_percent_running(const struct stat_cell *cell);

/* stat_print.c */
/* Calls print for each line and group that is shown, in the order of the aggregation. */
typedef void stat_print_line(const struct stat_job *stat, const struct stat_line *line,
			     size_t group, FILE *out);
/* stat_each.c */
void stat_for_each(const struct stat_job *stat, stat_print_line *print, FILE *out);
/* All that was counted, as -x, -j or as a table: to the output, in one piece. Returns 0 or the exit
 * status. */
int stat_print(struct stat_job *stat);
/* stat_table.c */
void stat_print_table(const struct stat_job *stat, FILE *out);
void stat_print_interval_header(const struct stat_job *stat, FILE *out);
void stat_print_table_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			   FILE *out);
/* stat_reasons.c: below a table, what was not counted and why. */
void stat_print_reasons(const struct stat_job *stat, FILE *out);
/* stat_fields.c: for programs */
void stat_print_csv_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			 FILE *out);
void stat_print_json_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			  FILE *out);
/* stat_put.c: a text from outside */
void stat_put_json_string(FILE *out, const char *text);
/* A field of -x: in double quotes where it could be taken for several, as readers of CSV expect. */
void stat_put_field(const struct stat_job *stat, const char *text, FILE *out);
/* stat_prefix.c: time and group, in front of a line; the second as members of a JSON object. */
void stat_print_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
		       FILE *out);
void stat_print_json_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
			    FILE *out);
/* stat_metric_only.c: a column for each ratio, a row for each group. */
void stat_print_metric_header(const struct stat_job *stat, FILE *out);
void stat_print_metric_rows(const struct stat_job *stat, FILE *out);
#endif
