/* SPDX-License-Identifier: MIT */
/* What the parts of `perch stat` share: whom and what it counts, and what came out. */
#ifndef PERCH_CLI_STAT_H
#define PERCH_CLI_STAT_H

#include <perch/event.h>
#include <perch/machine.h>
#include <perch/open.h>

#include "options.h"
#include "program.h"

#define STAT_COMMAND "stat"

/* Mean and spread of a number over the runs. */
struct stat_spread {
	unsigned nr;
	double mean;
	double squares;			/* sum of squared distances from the mean */
};
void stat_add(struct stat_spread *spread, double number);
/* Standard error of the mean; 0 with fewer than two numbers. */
double stat_error(const struct stat_spread *spread);
/* The same in percent of the mean; 0 when that is 0. */
double stat_error_percent(const struct stat_spread *spread);

struct stat_event {
	const struct perch_event *event;
	char name[sizeof(((struct perch_event *)0)->name) + 4]; /* as shown: with :u where the kernel's side is refused */
	const char *unit;
	double scale;			/* of what is shown: 1e-6 for clocks, shown in msec */
	bool clock;
	bool user_only;			/* fell back to user space */
	bool supported;
	int *fd;			/* one per target; -1 where the target was gone */
	struct perch_attr attr;		/* as refused */
	int errnum;			/* why it is not supported */
	struct perch_error reason;
	struct stat_spread value, enabled, running; /* value: scaled up for the time off the PMU */
};

struct stat {
	const char *separator;		/* -x; NULL: none */
	bool json;
	const char *output_path;
	bool append;
	const char *pids, *tids, *cpu_list;
	bool all_cpus;
	bool no_inherit;
	int detailed;
	int verbose;
	uint64_t repeat;

	char **argv;			/* the program; NULL: none */
	struct perch_machine *machine;
	struct perch_events events;
	struct stat_event *event;	/* events.nr of them */
	struct perch_target *target;
	size_t nr_targets;
	FILE *output;

	struct cli_program program;
	int status;			/* exit status of the program's last run */
	struct stat_spread elapsed_ns;
	double user_seconds, sys_seconds;
};

/* Whom to count: fills target. Returns 0 or the exit status after having told what is wrong. */
int stat_choose_targets(struct stat *stat);
/* One run from open to read. Returns 0 or the exit status after having told what is wrong. */
int stat_run(struct stat *stat);
/* SIGINT ends the counting and not the report. Also true after SIGTERM. */
bool stat_stopped(void);
void stat_catch_signals(void);

bool stat_counted(const struct stat_event *event);

/* What is worked out of a count and others: "0.484 CPUs utilized". False: nothing. */
struct stat_metric {
	double value;
	int width, decimals;
	const char *sign;		/* printed behind the number: "%" */
	char unit[40];
};
bool stat_metric(const struct stat *stat, const struct stat_event *event, struct stat_metric *metric);

void stat_print_table(const struct stat *stat, FILE *out);
void stat_print_csv(const struct stat *stat, FILE *out);
void stat_print_json(const struct stat *stat, FILE *out);
#endif
