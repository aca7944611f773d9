/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch record`, which records by perch/recorder.h. A file calls only files below its
 * own:
 *
 *	record.c		starts the program and the recording, ends both
 *	record_defaults.c	the user's defaults of call chains
 *	record_options.c	the command line -> struct record_options
 *	  record_arguments.c	  arguments of single options
 *	  record_writing.c	  those about how the file is written
 *	record_loop.c		waits for data, signals and times
 *	record_print.c		messages about a file
 *	record_open.c		struct record_plan -> the recorder
 *	record_plan.c		struct record_options -> struct record_plan
 *	record_cache.c		the file -> the build id cache
 */
#ifndef PERCH_CLI_RECORD_H
#define PERCH_CLI_RECORD_H

#include <sys/resource.h>
#include <string.h>
#include <time.h>
#include <perch/event.h>
#include <perch/recorder.h>

#include "event_options.h"
#include "options.h"
#include "program/control.h"
#include "program/program.h"
#include "program/target.h"

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

/* The conditions to start another file. */
enum record_switch { RECORD_ONE_FILE, RECORD_BY_SIGNAL, RECORD_BY_SIZE, RECORD_BY_TIME };

#define RECORD_MAX_WINDOW_TIMES 64
#define RECORD_MAX_FREQUENCY	UINT64_MAX /* -F max */
#define RECORD_NOTED_SHARE	0.1	   /* of the CPU time, for what recording takes */

/* The command line as it was parsed. */
struct record_options {
	const char *command;	      /* in messages: perch top opens events as perch record does */
	struct cli_event_list events; /* if empty, the default event is used */
	uint64_t frequency;	      /* 0: none was given */
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
	struct cli_event_list switch_events; /* each of them starts another file */
	uint64_t max_files;		     /* 0 is no limit */
	int compression_level;		     /* -z; 0: none */
	bool compressed2;
	const char *threads; /* NULL: none */
	enum perch_recorder_map_ids map_ids;
	uint64_t without;	 /* enum perch_recorder_without */
	bool descendants;	 /* by CPU, of the program or -p only */
	bool descendants_chosen; /* by --descendants or --no-descendants */
	bool off_cpu, wakers;
	uint64_t off_cpu_ns; /* threshold */
	bool latency;	     /* context switches, for latencies */
	bool inherit_chosen; /* by -i or --inherit */
	bool no_inherit, quiet, no_build_ids, no_cache;
	bool per_thread; /* a ring of each thread, not of each CPU */
	bool dry_run;
	bool timestamp_filename;
	const char *control; /* as of perch_channel_open() */
	bool durable;
	bool any_cost; /* --force: samples may take more than half of a CPU */
	int realtime;  /* -r: the priority of the recorder; 0: as it is */
	int verbose;
	const char *output;
	size_t ring_pages;  /* 0 is the default */
	bool rounded_pages; /* ring_pages is more than the user wrote */
	int argc;	    /* the whole command line */
	char **argv;
	char **command_line; /* the same after the path of this program; NULL terminates it */
	char **program_argv; /* NULL if there is no program */
};

/* The recording that the options request on this machine. */
struct record_plan {
	struct perch_events events; /* those of the options, or the default event */
	bool by_default;	    /* the user has chosen no event */
	uint64_t frequency;
	struct perch_cpus cpus; /* of -C */
	pid_t *threads;		/* of -p, -t and -u; NULL without them */
	size_t nr_threads;
	/* by event: one of cgroups, or NULL; NULL without -G */
	const struct perch_targets **event_targets;
	struct perch_targets *cgroups;
	size_t nr_cgroups;
	bool system_wide;      /* also with --descendants */
	bool descendants;      /* only of the program, or of .threads */
	bool may_inherit;      /* .descendants was chosen here: events of tasks will do */
	bool program_only;     /* the program is the only target */
	bool kernel_forbidden; /* this user may not profile the kernel */
	bool user_only;	       /* so events are restricted to user space */
	bool default_replaced; /* the timer cpu-clock has replaced hardware cycles */
};

/* A running recording. */
struct record {
	const struct record_options *options;
	const struct record_plan *plan;
	struct perch_program program;
	bool program_ended;
	int program_status;	     /* status of wait(2) */
	struct rusage program_usage; /* valid if program_ended */
	pid_t without_events; /* a target that has lost its events and runs; 0 if none was seen */
	struct perch_recorder *recorder;
	struct perch_sampler *sampler;		      /* of the recorder */
	int recorder_fd;			      /* to poll */
	struct perch_recorder_off_cpu off_cpu_before; /* at the end of the file before */
	int off_cpu_fd;				      /* to poll; -1 without --off-cpu */
	struct perch_sampler *trigger; /* of --switch-output-event; NULL without it */
	int trigger_fd;		       /* to poll; -1 without it */
	bool only_overwritten; /* the last file has no samples, because newer records replaced them
				* all */
	bool failed;	       /* writing a file has failed */
	struct timespec start;
	size_t next_window_time; /* index in window_ms */
	uint64_t wakeups;	 /* since the last file */
	int signals;		 /* signalfd(2) */
	int ended_by;		 /* the signal that ended the recording; 0 if none */
	bool switch_requested;	 /* by SIGUSR2, or by an event */
	bool full;		 /* the recording ended at --max-size, or by the command stop */
	bool stopped;		 /* by the command stop */
	struct cli_control control;
	bool has_commands;
	int snapshot_rc;	/* of the command snapshot */
	bool wait_failed;	/* it ended because the kernel refuses to wait; the file is whole */
	struct perch_error err; /* why the recording ended early */
};

/* True if a file may have no samples by chance: it is one of several, or a copy of the rings. */
static inline bool record_is_part(const struct record_options *options)
{
	return options->overwrite || options->switch_by;
}

/* True if the recording is written to standard output in pipe format. */
static inline bool record_to_pipe(const struct record_options *options)
{
	return !strcmp(options->output, "-");
}

/* ---- record.c ---- */

/* Adds events after all options were checked. Returns 0 or the exit status. */
typedef int record_more(struct record_options *options, void *context);
/* perch record with the arguments. more: NULL for none. */
int record_run(int argc, char **argv, record_more *more, void *context);

/* ---- record_options.c ---- */

/* Returns the index of the first operand. */
int record_parse(struct record_options *options, int argc, char **argv);
/* Refuses options that contradict each other. Returns 0 or the exit status. */
int record_check(struct record_options *options);
/* The part of it about events and samples. */
int record_check_samples(const struct record_options *options);
/* True if an option or the term of an event asks for call chains. */
bool record_has_chains(const struct record_options *options);
/* Sets no_inherit if no option did. */
void record_choose_inherit(struct record_options *options);
void record_clear_options(struct record_options *options);

/* The options about events and targets, also of perch top. */
extern const struct cli_option record_event_options[];
/* True if --call-graph or -g asks for call chains. */
static inline bool record_has_mode(const struct record_options *options)
{
	return options->call_graph != PERCH_CALL_GRAPH_UNSET &&
	       options->call_graph != PERCH_CALL_GRAPH_NONE;
}

int record_set_default_call_graph(const struct cli_given *given);

/* ---- record_arguments.c: words, and functions that set members of a struct record_options ---- */

#define RECORD_DEFER 0x100 /* in the value of a word of --call-graph: defer_chains */
extern const struct cli_word record_call_graphs[], record_clocks[], record_branch_kinds[];
/* The registers that every event can sample on this machine; their values are bits of a mask. */
const struct cli_word *record_registers(void);
int record_set_call_graph(const struct cli_given *given);

/* ---- record_writing.c: the same ---- */

int record_set_compression(const struct cli_given *given);
int record_set_threads(const struct cli_given *given);
extern const struct cli_word record_thread_kinds[], record_affinities[], record_synthesized[];
int record_set_affinity(const struct cli_given *given);
int record_set_synthesized(const struct cli_given *given);

/* ---- record_defaults.c ---- */

/* Sets the user's defaults, before options. Returns 0 or the exit status. */
int record_set_defaults(struct record_options *options);
/* False if the variable is one of a recording that cannot have the value. */
bool record_takes_variable(const char *name, const char *value);
int record_set_frequency(const struct cli_given *given);
int record_set_period(const struct cli_given *given);
int record_set_pages(const struct cli_given *given);
int record_set_cgroups(const struct cli_given *given);
int record_set_clock(const struct cli_given *given);
int record_set_branches(const struct cli_given *given);
int record_set_any_branch(const struct cli_given *given);
int record_set_user_registers(const struct cli_given *given);
int record_set_intr_registers(const struct cli_given *given);
int record_set_delay(const struct cli_given *given);
int record_set_max_size(const struct cli_given *given);
int record_set_switch(const struct cli_given *given);
int record_set_switch_event(const struct cli_given *given);
int record_set_max_files(const struct cli_given *given);
int record_set_off_cpu(const struct cli_given *given);
int record_set_off_cpu_ms(const struct cli_given *given);
int record_set_priority(const struct cli_given *given);
int record_set_map_ids(const struct cli_given *given);

/* ---- record_plan.c ---- */

/* Moves the events of the options into the plan. Returns 0, or the exit status after it has printed
 * an error. */
int record_make_plan(struct record_plan *plan, struct record_options *options);
/* Prints notes about restrictions and replacements. */
void record_print_plan(const struct record_plan *plan, const struct record_options *options);
/* True if no event can have samples: all occur only in the kernel, which is excluded. */
bool record_plan_excludes_all(const struct record_plan *plan, const struct record_options *options);
/* True with -D -1 if nothing can enable the events: record_print_plan() says so. */
bool record_never_enables(const struct record_options *options);
/* Returns an option that excludes --descendants, with its reason, or NULL. */
const char *record_excludes_descendants(const struct record_options *options);
/* True if this user may record all processes of a CPU. */
bool record_may_record_cpus(struct perch_machine *machine);
void record_clear_plan(struct record_plan *plan);

/* ---- record_open.c ---- */

/* Opens the recorder. program is its pid, 0 if there is none. Returns 0, or the exit status after
 * it has printed an error. */
int record_open(struct perch_recorder **recorder, struct record_plan *plan,
		const struct record_options *options, pid_t program);
/* Opens the events of --switch-output-event, on the targets of the recording. *trigger is NULL
 * without them. Returns 0, or the exit status after it has printed an error. */
int record_open_trigger(struct perch_sampler **trigger, const struct record_plan *plan,
			const struct record_options *options, pid_t program);
/* Refuses events whose samples would take too much CPU time, for --dry-run. Other refusals are
 * those of a target, which is not known here. Returns 0 or the exit status. */
int record_check_cost(struct perch_recorder **recorder, struct record_plan *plan,
		      const struct record_options *options);
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
/* Ends the last file. Returns the exit status. */
int record_end(struct record *record);

/* ---- record_print.c ---- */

/* Prints lost records, throttling, and why there are no samples. */
void record_print_warnings(struct record *record);
/* Prints at the start that samples of off-CPU time will have no call chains. */
void record_print_off_cpu_rights(const struct record *record);
/* Prints what the records of the state before the recording lack. */
void record_print_lacking(const struct perch_recorder *recorder,
			  const struct record_options *options);
/* Prints how many files had no build id in time. */
void record_print_missing(const struct record *record);
/* Prints the numbers of samples and of overwritten bytes. */
void record_print_samples(const struct record *record);
/* Prints the name of one of several files. */
void record_print_dump(const struct record *record);
/* Prints size and samples of the last file, as perf does. */
void record_print_file(const struct record *record);

/* ---- record_cache.c ---- */

/* True if the options let record_fill_cache() be called. */
bool record_fills_cache(const struct record_options *options);
/* Adds the files that have samples to the build id cache. A failure is printed. */
void record_fill_cache(const struct record *record);

#endif
