/* SPDX-License-Identifier: MIT */
/*
 * perch sched: who ran when, and how long threads waited for a CPU.
 *
 *   sched.c            the command: its subcommands
 *   sched_record.c     record and script, which are those commands with arguments
 *   sched_latency.c    latency: delays of threads
 *   sched_rows.c       the rows of latency
 *   sched_timehist.c   timehist: every time that a thread ran
 *   sched_line.c       the lines of timehist
 *   sched_summary.c    its summary
 *   sched_map.c        map: what each CPU runs
 *   sched_read.c       reads a recording into a timeline
 *   sched_queue.c      feeds it, by a thread if the recording is large
 */
#ifndef PERCH_CLI_SCHED_H
#define PERCH_CLI_SCHED_H

#include <perch/timeline.h>

#include "base/json_writer.h"
#include "base/mean.h"
#include "base/output.h"
#include "delays.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "options.h"

#define SCHED_COMMAND	 "sched"
#define SCHED_SWITCH	 "sched:sched_switch"
#define SCHED_TASK_WIDTH 24
#define SCHED_NAME_BYTES 40   /* of a cleaned name */
#define SCHED_TASK_BYTES 64   /* of "NAME[TID/PID]" with a cleaned name */
#define SCHED_MAX_CPUS	 4096 /* with a column */

/* ---- sched_read.c ---- */

/* A recording that becomes a timeline. */
struct sched_reading {
	struct cli_input input;
	struct cli_filter filter;
	const char *pids, *tids, *comms; /* lists of options; NULL: all */
	bool json;
	const char *separator; /* NULL: no CSV */
	struct perch_timeline *timeline;
	struct perch_timeline_options options; /* set by the subcommand */
	/* called for each record after the timeline has it; NULL: none */
	void (*take_record)(void *context, const struct perch_record *record);
	struct perch_record record; /* that is read */
	struct perch_error err;	    /* of sched_take() */
	bool takes_all;		    /* no filter is given */
	int wanted;		    /* -1: unknown, else whether the record passes the filter */
	uint64_t first, last;	    /* times of records that pass the filter */
	bool has_switches;	    /* sched:sched_switch */
	bool has_runtimes;	    /* sched:sched_stat_runtime */
	bool has_wakeups;	    /* sched:sched_waking or sched_wakeup */
	bool shows_delays;	    /* set by the subcommand */
	uint32_t max_cpu;	    /* of the samples */
	uint32_t nr_cpus;	    /* of the recorded machine */
	struct perch__output out;
	struct perch__json_writer writer;
};

/* Rows of options of all that read a recording; the state is struct sched_reading. */
extern const struct cli_option sched_read_options[];
extern const struct cli_option sched_filter_options[];

/* Opens the recording and the timeline. Returns 0, or an exit status after a message. */
int sched_open(struct sched_reading *reading);
/* Feeds all records. Returns 0, or an exit status after a message. */
int sched_read(struct sched_reading *reading);

/* True if the filters take the record that is read, and this thread. */
bool sched_passes(struct sched_reading *reading, const struct perch_timeline_thread *thread);

/* True if the record that is read, and this thread, were asked for. */
static inline bool sched_is_wanted(struct sched_reading *reading,
				   const struct perch_timeline_thread *thread)
{
	return __builtin_expect(reading->takes_all, 1) || sched_passes(reading, thread);
}
/* Prints notes of what may be wrong, and flushes the output. Returns the exit status. */
int sched_finish(struct sched_reading *reading, int status);
void sched_close(struct sched_reading *reading);
/* "NAME[TID]", or "NAME[TID/PID]" of a thread that is not the first one of its process. */
void sched_put_task(char task[SCHED_TASK_BYTES], const struct perch_timeline_thread *thread);
/* The name of a thread, cleaned: ":TID" if it is unknown. */
void sched_put_name(char *name, size_t size, const struct perch_timeline_thread *thread);
/* The same for JSON or a line of fields. */
void sched_put_field(const struct sched_reading *reading, char name[SCHED_NAME_BYTES],
		     const struct perch_timeline_thread *thread);
/* Text of the output, by printf(). */
void sched_printf(struct sched_reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- sched_queue.c ---- */

/* SCHED_ENDED: nobody reads the output any more; SCHED_FAILED: after a message. */
enum { SCHED_ENDED = 1, SCHED_FAILED };
/* Feeds the record that is read. Returns 0, SCHED_ENDED, or a negative errno with reading->err. */
int sched_take(struct sched_reading *reading);
/* True if a thread may make the timeline while the program reads. */
bool sched_queue_is_useful(const struct sched_reading *reading);
/* Feeds all records. Returns as sched_take(), or SCHED_FAILED. */
int sched_queue_read(struct sched_reading *reading);

/* ---- sched_rows.c ---- */

/* Delays of a thread, or of threads of one name. */
struct sched_row {
	char name[SCHED_TASK_BYTES];
	uint32_t tid;	    /* 0: of threads of one name */
	uint32_t first_tid; /* of its first thread */
	uint64_t threads;
	uint64_t counted;    /* as perf counts: known delays, and first times on a CPU */
	uint64_t runtime;    /* ns */
	uint64_t total, max; /* ns */
	uint64_t max_start, max_end;
	uint64_t uncertain, uncertain_ns; /* delays that may be wrong: not among the others */
	uint64_t migrations, preemptions;
	struct cli_delays delays;
};

enum sched_key {
	SCHED_KEY_AVG,
	SCHED_KEY_MAX,
	SCHED_KEY_SWITCH,
	SCHED_KEY_RUNTIME,
	SCHED_KEY_P50,
	SCHED_KEY_P90,
	SCHED_KEY_P99,
	SCHED_KEYS,
};

extern const struct cli_word sched_key_words[];

struct sched_rows {
	struct sched_reading *reading;
	struct sched_row *row;
	size_t nr;
	enum sched_key key[SCHED_KEYS];
	size_t nr_keys;
};

/* Sorts and prints the rows. */
void sched_rows_print(struct sched_rows *rows);

/* ---- subcommands ---- */

extern const struct cli_usage sched_latency_usage, sched_timehist_usage, sched_map_usage;

int sched_record(int argc, char **argv);
int sched_script(const struct cli_input *input, int argc, char **argv);
int sched_latency(const struct cli_input *input, int argc, char **argv);
int sched_timehist(const struct cli_input *input, int argc, char **argv);
int sched_map(const struct cli_input *input, int argc, char **argv);

#endif
