/* SPDX-License-Identifier: MIT */
/* The parts of `perch record`. */
#ifndef PERCH_CLI_RECORD_H
#define PERCH_CLI_RECORD_H

#include <poll.h>
#include <time.h>
#include <perch/event.h>
#include <perch/file.h>
#include <perch/ring.h>

#include "attr_print.h"
#include "event_options.h"
#include "options.h"
#include "program.h"
#include "target.h"

/* A set of names: each is kept once. */
struct record_names {
	char **slot;
	size_t nr, slots;
};

/* Options that say yes or no. What the ones up to RECORD_ADDS ask of samples is a table in
 * record_events.c. */
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
	RECORD_BUILD_ID_MMAP,
	RECORD_PERIOD,
	RECORD_ADDS,
	RECORD_NO_BPF = RECORD_ADDS,
	RECORD_NO_SAMPLES,
	RECORD_KERNEL_CHAINS,
	RECORD_USER_CHAINS,
	RECORD_ALL_KERNEL,
	RECORD_ALL_USER,
	RECORD_FLAGS
};

#define RECORD_WINDOW_TIMES 64

/* What begins another file. */
enum record_switch { RECORD_ONE_FILE, RECORD_BY_SIGNAL, RECORD_BY_SIZE, RECORD_BY_TIME };

/* record_sideband.c: what each of several files begins with. */
struct record_sideband {
	char *bytes;
	size_t used, room;
	size_t made; /* bytes in front that were made here */
	size_t most; /* 0: RECORD_SIDEBAND_BYTES */
	/* records that did not fit, beside those of processes that had ended */
	uint64_t forgotten;
};
#define RECORD_SIDEBAND_BYTES (64u << 20)

struct record {
	/* as asked for */
	struct perch_events events;
	size_t last_events; /* index of the first one of the last -e */
	const char *frequency_text;
	bool strict_frequency;
	uint64_t period;
	uint64_t frequency;
	enum perch_call_graph_mode call_graph;
	uint32_t stack_bytes;	       /* of PERCH_CALL_GRAPH_DWARF; 0: 8192 */
	uint64_t regs_user, regs_intr; /* masks; 0: none */
	uint64_t branches;	       /* PERCH_SAMPLE_BRANCH_* */
	bool use_clock;
	int32_t clock;
	bool flag[RECORD_FLAGS];
	struct cli_target target;
	struct cli_cgroups cgroups;		 /* by event, what -G said */
	bool delayed;				 /* -D: events wait for the turns below */
	unsigned window_ms[RECORD_WINDOW_TIMES]; /* since the program's start: on, off, on... */
	size_t nr_window_times;
	uint64_t max_bytes; /* of the file; 0: no limit */
	bool overwrite;	    /* a flight recorder */
	enum record_switch switch_by;
	uint64_t switch_bytes, switch_ms;
	uint64_t max_files; /* 0: no limit */
	bool no_inherit, quiet, no_build_ids, ignored;
	int verbose;
	const char *output;
	size_t ring_pages;
	bool rounded_pages; /* they are more than was asked for */
	int argc;	    /* of the whole command line */
	char **argv;
	char **program_argv; /* NULL: no program */

	/* as found out */
	struct cli_shown_calls shown; /* the machine's */
	struct perch_machine *machine;
	struct perch_cpus cpus; /* of -C */
	pid_t *threads;		/* of -p and -t */
	size_t nr_threads;
	int *cgroup_fds;		     /* one an event; NULL without -G */
	struct perch_targets opened_cgroups; /* whose descriptors they are */
	bool system_wide;
	bool user_only; /* this user may not look into the kernel */
	bool data_maps; /* mappings of data are told too */
	bool replaced;	/* the default event does not exist here */

	/* at work */
	struct cli_program program;
	struct perch_sampler *sampler;
	struct perch_writer *writer;
	struct perch_file_event *file_events; /* the sampler's, as files have them */
	size_t nr_file_events;
	struct perch_decoder *decoder;	     /* of these */
	struct perch_parse_info parse_info;  /* of records made here: of the first event */
	struct perch_parse_info told_layout; /* of records that tell of mappings */
	bool samples_alike;	/* the time is in the same word of every event's samples */
	struct perch_error err; /* of what ended the recording early */
	int signals;		/* signalfd(2) */
	int ended_by;		/* the signal that ended the recording; 0: none */
	bool asked;		/* by SIGUSR2, for a file */
	int64_t switched_ms;	/* when the last file began, since the start */
	char **files;		/* the last max_files, to be removed when there are more */
	size_t nr_files;	/* so far */
	char *last_file;	/* the name of the one that was written last */
	struct record_sideband side;
	uint64_t *lost_told; /* by event and id, in files before */
	uint64_t *lost_now;  /* the same with this file */
	bool lost_known;     /* by events: Linux 6.0 */
	/* by event and ring, in this file; behind the last event what LOST records tell */
	uint64_t *lost_at;
	uint64_t overwritten; /* bytes, until the last snapshot */
	bool none_whole;      /* nothing but these came since the one before */
	bool failed;	      /* a file could not be written */
	bool full;	      /* it ended because the file is as large as it may be */
	struct timespec start;
	size_t turn; /* the next one of window_ms */
	bool program_ended;
	int program_status; /* as of wait(2) */
	size_t nr_rings;
	struct iovec *pieces; /* two a ring, and one for the end of the round */
	size_t *bytes;	      /* taken from each ring in this round */
	bool *backward;	      /* by ring: it is read by snapshots alone */
	struct pollfd *polls; /* signals, then the rings */

	/* what went by */
	uint64_t samples, lost, throttled;
	/* of --overwrite: mappings, names and tasks that had no room */
	uint64_t side_lost;
	uint64_t side_lost_told;	/* in files before */
	uint64_t first_time, last_time; /* of samples, ns */
	uint64_t wakeups;
	struct record_names dsos;	 /* mapped executable, for their build ids */
	uint64_t wrapped[(1 << 16) / 8]; /* a record that wraps, put together */
};

/* record_options.c: the command line. Returns the index of its first operand. */
int record_parse(struct record *record, int argc, char **argv);
/* Contradictions among the options. Exit status; 0: fine. */
int record_check(struct record *record);

/* record_values.c: arguments made into bits. 0, or a negative errno after having told. */
int record_set_clock(void *value, const char *text, bool negated);
int record_set_branches(void *value, const char *text, bool negated);
int record_set_any_branch(void *value, const char *text, bool negated);
int record_set_user_registers(void *value, const char *text, bool negated);
int record_set_intr_registers(void *value, const char *text, bool negated);
int record_set_delay(void *value, const char *text, bool negated);
int record_set_max_size(void *value, const char *text, bool negated);
int record_set_switch(void *value, const char *text, bool negated);
int record_set_max_files(void *value, const char *text, bool negated);
/* "4M", "512k", or a number, which is in units of one byte; *unit tells whether a unit was there.
 * -EINVAL. */
int record_parse_size(const char *text, uint64_t *bytes, bool *unit);

/* record_cgroups.c: -G, and the cgroups opened once events are known. */
int record_set_cgroups(void *value, const char *text, bool negated);
int record_open_cgroups(struct record *record);
void record_clear_cgroups(struct record *record);

/* record_events.c: the default event, rates, what this user may do. Exit status; 0: fine. */
int record_choose_events(struct record *record);
int record_choose_rate(struct record *record);
/* Opens the sampler, on a replacement where the default event does not exist here. Has told when it
 * fails. */
int record_open_sampler(struct record *record);
/* Says what was chosen in place of what is usual. */
void record_print_choices(const struct record *record);

/* record_target.c: the threads of -p and -t, the CPUs of -C. Exit status; 0: fine. */
int record_choose_target(struct record *record);

/* record_synthesize.c: what was there before the recording began. 0 or a negative errno. */
int record_synthesize(struct record *record);
/* synthesize_record.c: where records made here are gathered before they are written. */
struct synthesizer {
	struct record *record;
	size_t used;
	struct perch_error *err;
	int rc; /* the first failure; nothing is made after it */
	uint64_t bytes[(1 << 16) / 8];
};
/* name is padded, NULL when the record has none; an empty trailer follows. */
void synthesize_record(struct synthesizer *made, uint32_t type, uint16_t misc, const void *body,
		       size_t size, const char *name);
/* A record of the file's own, which has no trailer; size is a multiple of 8. */
void synthesize_plain(struct synthesizer *made, uint32_t type, const void *body, size_t size);
/* Writes what is gathered. */
void synthesize_flush(struct synthesizer *made);
/* record_maps.c: ID_INDEX, THREAD_MAP and CPU_MAP. */
void synthesize_maps(struct synthesizer *made);
/* record_groups.c */
void synthesize_cgroups(struct synthesizer *made);
void synthesize_namespaces(struct synthesizer *made, pid_t pid);
/* record_processes.c: names and executable mappings of processes that run already. */
void synthesize_processes(struct synthesizer *made);
/* The name of a thread; false when it has ended. */
bool synthesize_read_comm(pid_t pid, pid_t tid, char *comm, size_t size);
void synthesize_threads(struct synthesizer *made, const pid_t *threads, size_t nr);

/* record_loop.c: until the program, the targets or the user end it. 0 or a negative errno in
 * record->err. */
int record_prepare_loop(struct record *record);
/* One round. Returns the bytes taken, 0 when the rings are empty, or a negative errno in
 * record->err. */
ssize_t record_write_round(struct record *record);
int record_loop(struct record *record);
/* SIGUSR2, which asks for a file, is held back, or ignored when no file can be asked for. After the
 * program was forked. */
void record_block_asking(const struct record *record);
/* Signals that end a recording are blocked and read from record->signals from here on. */
int record_block_signals(struct record *record);

/* Whether a record of the type belongs to what each file begins with. */
bool record_sideband_has(uint32_t type);
/* Appends whole records. 0 or -ENOMEM. */
int record_sideband_add(struct record_sideband *side, const void *bytes, size_t size);
/* What was added until now was made here, and is forgotten with its process alone. */
void record_sideband_end_synthesized(struct record_sideband *side);
/* Whether files are made one after the other, or late: then records of tasks and mappings are kept.
 */
static inline bool record_keeps_sideband(const struct record *record)
{
	return record->overwrite || record->switch_by;
}

/* record_shot.c: what the rings of --overwrite hold now, by time, into the file. 0 or a negative
 * errno in record->err. */
int record_write_snapshot(struct record *record);

/* record_switch.c: one file after the other. What has several files, or makes its file late, begins
 * by this. 0 or an errno. */
int record_prepare_files(struct record *record);
/* Opens the file that records go to, by the name that was asked for or another one. 0 or a negative
 * errno in record->err. */
int record_open_file(struct record *record, const char *path);
/* Whether it is time for another file. *sleep_ms is lowered to when it will be. */
bool record_switch_due(struct record *record, int *sleep_ms);
/* Ends a file and begins another, or writes a snapshot into one. 0 or a negative errno in
 * record->err. */
int record_switch(struct record *record);
/* The last file, under its name. Exit status; 0: fine. */
int record_end_files(struct record *record);
void record_clear_files(struct record *record);

/* record_scan.c: counts a batch, remembers names of binaries. */
void record_scan(struct record *record, size_t ring, const struct iovec pieces[2]);
void record_add_name(struct record_names *names, const char *name);
void record_clear_names(struct record_names *names);

/* record_lost.c: writes how many records were lost, as events know by now. 0 or a negative errno in
 * record->err. */
int record_write_lost(struct record *record);
/* All of the file's records have been seen: what LOST records tell is the answer where events know
 * nothing. */
void record_add_lost(struct record *record);
/* The file is whole: what it tells is not told in the next. */
void record_save_lost(struct record *record);
/* Says of which events and on which CPUs records were lost. */
void record_print_lost(const struct record *record);

/* record_tracing.c: descriptions of the tracepoints, when there are any. 0 or a negative errno in
 * record->err. */
int record_write_tracing_data(struct record *record);

/* record_finish.c: features, build ids and the end of the file. 0 or a negative errno in
 * record->err. */
int record_finish_file(struct record *record);
/* What went wrong in the file that has just ended, or in all. */
void record_print_problems(const struct record *record);
/* The last file's size. */
void record_print_file(const struct record *record, const char *path);

#endif
