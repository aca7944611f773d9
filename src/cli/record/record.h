/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch record`. A file calls only files below its own:
 *
 *	record.c		starts the program and the recording, ends both
 *	record_options.c	the command line -> struct record_options
 *	  record_arguments.c	  arguments of single options
 *	record_plan.c		struct record_options -> struct record_plan
 *	record_open.c		struct record_plan -> the sampler
 *	record_loop.c		waits for data, signals and times
 *	record_files.c		opens, ends and switches files
 *	  record_print.c	  messages about a file
 *	  record_features.c	  the sections after the data of a file
 *	    record_build_ids.c	    the section BUILD_ID
 *	record_cache.c		the file -> the build id cache
 *	record_synthesize.c	records of the state before the recording -> the file
 *	--- src/recorder: between the rings and a file ---
 */
#ifndef PERCH_CLI_RECORD_H
#define PERCH_CLI_RECORD_H

#include <sys/resource.h>
#include <string.h>
#include <time.h>
#include <perch/event.h>
#include <perch/file.h>
#include <perch/sampler.h>

#include "options.h"
#include "program.h"
#include "recorder/internal.h"
#include "target.h"

/* The name of the command in messages: perch top opens events as perch record does. */
extern const char *record_command;
#define RECORD_COMMAND record_command

/*
 * Flags. A table in record_open.c has the effects of those before RECORD_NR_CONTENT_FLAGS on
 * samples, counts and records.
 */
enum record_flag {
	RECORD_DATA,
	RECORD_PHYS_DATA,
	RECORD_DATA_PAGE_SIZE,
	RECORD_CODE_PAGE_SIZE,
	RECORD_WEIGHT,
	RECORD_TRANSACTION,
	RECORD_RAW,
	RECORD_CPU,
	RECORD_IDENTIFIER,
	RECORD_STAT,
	RECORD_RUNNING_TIME,
	RECORD_NAMESPACES,
	RECORD_CGROUPS,
	RECORD_SWITCHES,
	RECORD_DATA_MAPPINGS,
	RECORD_PERIOD,
	RECORD_NR_CONTENT_FLAGS,
	RECORD_NO_BPF = RECORD_NR_CONTENT_FLAGS,
	RECORD_NO_SAMPLES,
	RECORD_KERNEL_CALLCHAINS,
	RECORD_USER_CALLCHAINS,
	RECORD_ALL_KERNEL,
	RECORD_ALL_USER,
	RECORD_NR_FLAGS
};

/* Where the build ids in MMAP2 records come from. */
enum record_map_ids {
	RECORD_IDS_DEFAULT, /* from the kernel if that harms nobody, or else the recorder */
	RECORD_IDS_OF_KERNEL,
	RECORD_IDS_OF_RECORDER,
	RECORD_NO_IDS
};

/* The conditions to start another file. */
enum record_switch { RECORD_ONE_FILE, RECORD_BY_SIGNAL, RECORD_BY_SIZE, RECORD_BY_TIME };

#define RECORD_MAX_WINDOW_TIMES 64

/* The command line as it was parsed. */
struct record_options {
	struct perch_machine *machine; /* names of events depend on it */
	struct perch_events events;    /* if empty, the default event is used */
	size_t last_events;	       /* index of the first event of the last -e */
	const char *frequency_text;
	bool strict_frequency;
	uint64_t period;				     /* 0 if sampling is by frequency */
	enum perch_call_graph_mode call_graph, default_mode; /* default_mode: of -g */
	uint32_t default_stack_bytes;			     /* 0: 8192 */
	uint32_t stack_bytes;	       /* of PERCH_CALL_GRAPH_DWARF; 0 is 8192 */
	bool rounded_stack;	       /* stack_bytes is more than the user wrote */
	bool defer_chains;	       /* of PERCH_CALL_GRAPH_FP */
	uint64_t regs_user, regs_intr; /* masks */
	uint64_t branches;	       /* PERCH_SAMPLE_BRANCH_* */
	bool use_clock;
	int32_t clock;
	bool flag[RECORD_NR_FLAGS];
	struct cli_target target;
	struct cli_cgroups cgroups;		     /* by event */
	bool delayed;				     /* -D: events start disabled */
	unsigned window_ms[RECORD_MAX_WINDOW_TIMES]; /* enable, disable, enable... */
	size_t nr_window_times;
	uint64_t max_bytes; /* maximum size of a file; 0 is no limit */
	bool overwrite;
	enum record_switch switch_by;
	uint64_t switch_bytes, switch_ms;
	uint64_t max_files; /* 0 is no limit */
	enum record_map_ids map_ids;
	bool latency;	     /* context switches, for latencies */
	bool inherit_chosen; /* by -i or --inherit */
	bool no_inherit, quiet, no_build_ids, no_cache, ignored;
	bool per_thread; /* a ring of each thread, not of each CPU */
	bool dry_run;
	int realtime; /* -r: the priority of the recorder; 0: as it is */
	int verbose;
	const char *output;
	size_t ring_pages;  /* 0 is the default */
	bool rounded_pages; /* ring_pages is more than the user wrote */
	int argc;	    /* the whole command line */
	char **argv;
	char **program_argv; /* NULL if there is no program */
};

/* The recording that the options request on this machine. */
struct record_plan {
	struct perch_events events; /* those of the options, or the default event */
	uint64_t frequency;
	struct perch_cpus cpus; /* of -C */
	pid_t *threads;		/* of -p and -t; NULL without them */
	size_t nr_threads;
	/* by event: one of cgroups, or NULL; NULL without -G */
	const struct perch_targets **event_targets;
	struct perch_targets *cgroups;
	size_t nr_cgroups;
	bool system_wide;
	bool program_only;	     /* the program is the only target */
	bool kernel_forbidden;	     /* this user may not profile the kernel */
	bool user_only;		     /* so events are restricted to user space */
	enum record_map_ids map_ids; /* not the default */
	bool data_mappings;	     /* mappings that are not executable are recorded too */
	bool default_replaced;	     /* this machine does not have the default event */
};

/* The files of a recording, one of which is open. */
struct record_files {
	struct perch_file_event *events; /* of the sampler */
	size_t nr_events;
	struct perch_decoder *decoder; /* of --overwrite */
	struct perch_writer *writer;   /* NULL if no file is open */
	char **names;		       /* the last max_files; older files are removed */
	size_t nr;		       /* number of files that were written */
	char *last;		       /* the name of the last one */
	int64_t start_ms;	       /* of the file that is open, since the recording started */
	uint64_t overwritten;	       /* bytes, at the end of the last file */
	bool only_overwritten;	       /* the last file has no samples, because newer records
					* replaced them all */
	bool failed;		       /* writing a file has failed */
};

/* Records of all processes, made before the events are enabled. */
struct record_early {
	char *bytes;
	size_t used, capacity;
	struct perch_synthesize_counts counts;
	bool complete;
};

/* A running recording. */
struct record {
	const struct record_options *options;
	const struct record_plan *plan;
	struct cli_program program;
	bool program_ended;
	int program_status;	     /* status of wait(2) */
	struct rusage program_usage; /* valid if program_ended */
	pid_t without_events; /* a target that has lost its events and runs; 0 if none was seen */
	struct perch_sampler *sampler;
	int sampler_fd; /* to poll */
	struct recorder_rings rings;
	struct recorder_scan scan;
	struct recorder_sideband sideband;
	struct record_early early;
	struct recorder_lost lost;
	struct record_files files;
	struct timespec start;
	size_t next_window_time; /* index in window_ms */
	uint64_t wakeups;	 /* since the last file */
	int signals;		 /* signalfd(2) */
	int ended_by;		 /* the signal that ended the recording; 0 if none */
	bool switch_requested;	 /* by SIGUSR2 */
	bool full;		 /* the recording ended at --max-size */
	bool wait_failed;	/* it ended because the kernel refuses to wait; the file is whole */
	struct perch_error err; /* why the recording ended early */
};

/* True if records are cached for files that start later. */
static inline bool record_keeps_sideband(const struct record_options *options)
{
	return options->overwrite || options->switch_by;
}

/* True if the recording is written to standard output in pipe format. */
static inline bool record_to_pipe(const struct record_options *options)
{
	return !strcmp(options->output, "-");
}

/* ---- record_options.c ---- */

/* Returns the index of the first operand. */
int record_parse(struct record_options *options, int argc, char **argv);
/* Refuses options that contradict each other. Returns 0 or the exit status. */
int record_check(struct record_options *options);
/* The part of it about events and samples. */
int record_check_samples(const struct record_options *options);
/* Sets no_inherit if no option did. */
void record_choose_inherit(struct record_options *options);
void record_clear_options(struct record_options *options);

/* Of -g, and below of -i: set members of a struct record_options. */
int record_set_default_call_graph(void *options, const char *text, bool negated);
int record_set_no_inherit(void *options, const char *text, bool negated);

/* ---- record_arguments.c: each sets members of a struct record_options ---- */

/* 0, or a negative errno after it has printed an error. */
int record_set_call_graph(void *options, const char *text, bool negated);

/* ---- record_defaults.c ---- */

/* Sets the user's defaults, before options. Returns 0 or the exit status. */
int record_set_defaults(struct record_options *options);
/* False if the variable is one of a recording that cannot have the value. */
bool record_takes_variable(const char *name, const char *value);
int record_set_period(void *options, const char *text, bool negated);
int record_set_pages(void *options, const char *text, bool negated);
int record_set_cgroups(void *options, const char *text, bool negated);
int record_set_clock(void *options, const char *text, bool negated);
int record_set_branches(void *options, const char *text, bool negated);
int record_set_any_branch(void *options, const char *text, bool negated);
int record_set_user_registers(void *options, const char *text, bool negated);
int record_set_intr_registers(void *options, const char *text, bool negated);
int record_set_delay(void *options, const char *text, bool negated);
int record_set_max_size(void *options, const char *text, bool negated);
int record_set_switch(void *options, const char *text, bool negated);
int record_set_max_files(void *options, const char *text, bool negated);
int record_set_priority(void *options, const char *text, bool negated);
int record_set_map_ids(void *options, const char *text, bool negated);

/* ---- record_plan.c ---- */

/* Moves the events of the options into the plan. Returns 0, or the exit status after it has printed
 * an error. */
int record_make_plan(struct record_plan *plan, struct record_options *options);
/* Adds the default event. Returns the exit status. */
int record_plan_default_event(struct record_plan *plan, const struct record_options *options);
/* Replaces hardware cycles by the event cpu-clock. Returns false if there are none. */
bool record_plan_replace_cycles(struct record_plan *plan);
/* Prints notes about restrictions and replacements. */
void record_print_plan(const struct record_plan *plan, const struct record_options *options);
/* True if no event can have samples: all occur only in the kernel, which is excluded. */
bool record_plan_excludes_all(const struct record_plan *plan, const struct record_options *options);
void record_clear_plan(struct record_plan *plan);

/* ---- record_open.c ---- */

/* Opens the sampler. program is its pid, 0 if there is none. Returns 0, or the exit status after it
 * has printed an error. */
int record_open_sampler(struct perch_sampler **sampler, struct record_plan *plan,
			const struct record_options *options, pid_t program);
/* Events on many threads and CPUs need many descriptors. The program was forked before, so its own
 * limit does not change. */
void record_raise_descriptor_limit(void);

/* ---- record_loop.c ---- */

/* Blocks or ignores SIGUSR2. Call it after the fork of the program, which must not inherit this. */
void record_block_switch_signal(const struct record_options *options);
/* Blocks the signals that end a recording; record->signals reads them. Returns 0 or a negative
 * errno. */
int record_block_signals(struct record *record);
/* Runs until the program, the targets or the user end the recording. Returns 0, or a negative errno
 * in record->err. */
int record_loop(struct record *record);

/* ---- record_files.c: each returns 0, or a negative errno in record->err ---- */

/* Makes the events of a file from those of a sampler. nr does not count the tracking event. Returns
 * 0 or -ENOMEM. */
int record_gather_events(const struct perch_sampler *sampler, size_t nr,
			 struct perch_file_event **result, size_t *nr_result);

int64_t record_ms_since_start(const struct record *record);
/* Call this before any other function of this section. */
int record_prepare_files(struct record *record);
/* Opens the file that records are written to. */
int record_open_file(struct record *record, const char *path);
/* True if it is time for another file. *sleep_ms becomes at most the time until then. */
bool record_switch_due(const struct record *record, int *sleep_ms);
/* Ends the file and opens another one, or writes a snapshot into a new one. */
int record_switch(struct record *record);
/* Ends the last file. Returns the exit status. */
int record_end_files(struct record *record);
void record_clear_files(struct record_files *files, const struct record_options *options);

/* ---- record_print.c ---- */

/* Prints lost records, throttling, and why there are no samples. */
void record_print_warnings(const struct record *record);
/* Prints how many files had no build id in time. */
void record_print_missing(const struct record *record);
/* Prints the numbers of samples and of overwritten bytes. overwritten: in all files so far. */
void record_print_samples(const struct record *record, uint64_t overwritten);
/* Prints size and samples of the last file, as perf does. */
void record_print_file(const struct record *record);

/* ---- record_features.c, record_build_ids.c: 0 or a negative errno ---- */

/* The features that are known before the first record. */
int record_write_first_features(const struct record *record, struct perch_error *err);
/* The others; to a file, all. */
int record_write_features(const struct record *record, struct perch_error *err);
int record_write_build_ids(const struct record *record, struct perch_error *err);
/* ---- record_cache.c ---- */

/* True if the options let record_fill_cache() be called. */
bool record_fills_cache(const struct record_options *options);
/* Adds the files that have samples to the build id cache. A failure is printed. */
void record_fill_cache(const struct record *record);

/* ---- record_synthesize.c: 0, or a negative errno in record->err ---- */

/*
 * -a: makes the records of all processes, for record_synthesize(). The tracking event is enabled
 * since it was opened, so an execve(2) during or after this is recorded. If the processes were read
 * while the events are enabled, samples before an execve(2) would get its name and mappings.
 */
void record_synthesize_early(struct record *record);
int record_synthesize(struct record *record);

/* Prints how many processes have mappings that this user may not read. */
void record_print_denied(const struct record_options *options,
			 const struct perch_synthesize_counts *counts);

#endif
