/* SPDX-License-Identifier: MIT */
/*
 * perch trace: system calls as strace prints them. A file calls only files below its own:
 *
 *	calls.c		the command: perch trace record, a file, or live
 *	calls_options.c	the command line
 *	calls_live.c	opens the events, starts the program, reads the rings until it ends
 *	calls_waits.c	--waits: what threads wait for at this moment, by /proc
 *	calls_take.c	records -> calls -> lines, objects or sums
 *	  calls_summary.c	  -s and -S
 *	  calls_print.c	  a call as a line
 *	  calls_json.c	  -j: a call as an object
 *	calls_paths.c	probes in the kernel that have the paths of calls
 *	calls_events.c	the fields of entries and exits in the samples of an event
 *	calls_select.c	-e: which system calls
 *	calls_process.c	numbers, paths of descriptors and memory of the callers
 *	  calls_held.c	  what was read of open calls
 *	calls_thread.c	what /proc shows of a thread at this moment
 */
#ifndef PERCH_CLI_CALLS_H
#define PERCH_CLI_CALLS_H

#include <perch/syscall.h>

#include "base/hash_table.h"
#include "base/json_writer.h"
#include "base/output.h"
#include "input/input.h"
#include "options.h"
#include "output_file.h"
#include "program/program.h"
#include "record/record.h"

#define CALLS_COMMAND "trace"

enum { CALLS_NUMBERS = 512 }; /* that are cached, of an ABI */

/* Which system calls, by number. */
struct calls_select {
	bool given;   /* else all */
	bool negated; /* all but these */
	bool call[PERCH_SYSCALL_NR_ABIS][CALLS_NUMBERS];
};

/* Members of perch_syscall_open.user: the ABI with CALLS_INTERRUPTED; those of calls_held.c and
 * calls_process.c. */
enum { CALLS_ABI, CALLS_HELD, CALLS_ATTEMPTS, CALLS_VERIFIED };
#define CALLS_INTERRUPTED 0x100 /* its line has been shown */

static inline enum perch_syscall_abi calls_abi_of(const struct perch_syscall_open *open)
{
	return (enum perch_syscall_abi)(open->user[CALLS_ABI] & ~(uint64_t)CALLS_INTERRUPTED);
}

enum calls_event_kind {
	CALLS_OTHER,
	CALLS_ENTER,
	CALLS_EXIT,
	CALLS_MAJOR_FAULT,
	CALLS_MINOR_FAULT,
	CALLS_PATH, /* a path as the kernel has read it */
};

/* What the samples of an event are. */
struct calls_event {
	enum calls_event_kind kind;
	bool looked_up; /* the kind is valid */
	const struct perch_tracepoint_field *number, *result;
	/* one array (raw_syscalls), or one field for each argument */
	const struct perch_tracepoint_field *arguments;
	const struct perch_tracepoint_field *argument[PERCH_SYSCALL_ARGUMENTS];
	/* the strings that arguments point to, as the kernel has copied them (Linux 6.19) */
	const struct perch_tracepoint_field *text[PERCH_SYSCALL_ARGUMENTS];
	const struct perch_tracepoint_field *path, *path_address; /* of CALLS_PATH */
};

/* The summary of a system call of a thread. */
struct calls_sum;
struct calls_summary {
	struct perch__hash_table table;
	struct calls_sum *sum;
	size_t nr, capacity;
};

enum calls_faults { CALLS_NO_FAULTS, CALLS_ALL_FAULTS, CALLS_MAJOR, CALLS_MINOR };

struct calls {
	/* the command line */
	struct record_options record; /* .target, .ring_pages, .machine and others */
	struct cli_input input;
	const char *set;    /* of -e */
	const char *output; /* of -o */
	const char *comms;  /* of --comms */
	const char *cgroup; /* of -G */
	double least_ms;    /* of --duration */
	bool from_file, no_comm, absolute, failures, summary_only, with_summary, errnos, json;
	bool no_paths;	  /* --no-paths */
	bool sees_closes; /* all calls that close a descriptor of a process are seen */
	bool waits;
	unsigned faults;
	unsigned mode; /* of --summary-mode: enum calls_mode */
	uint64_t most; /* calls; 0: no limit */

	struct calls_select select;
	enum perch_syscall_abi abi[2]; /* of the machine: wide and narrow programs */
	const struct perch_syscall *cache[PERCH_SYSCALL_NR_ABIS][CALLS_NUMBERS];
	bool cached[PERCH_SYSCALL_NR_ABIS][CALLS_NUMBERS];
	struct calls_event *event; /* by index of the event in the file */
	size_t nr_events;
	struct perch_syscall_joiner *joiner;
	struct perch_processes *processes;
	struct calls_process_table *table; /* calls_process.c */
	bool live;			   /* callers may run */
	struct perch__output out;
	struct perch__json_writer writer;
	struct cli_output_file file;
	struct calls_summary summary;
	uint64_t first_time; /* of the events, once has_time */
	bool has_time;
	uint32_t current; /* the thread whose line may be the next; 0: none */
	bool truncated;	  /* --max-events was reached */
	/* what was shown, and what cannot be */
	uint64_t shown, lost, exits_lost, entries_lost, uncertain, damaged, other;
	uint64_t unread;       /* arguments in memory that could not be read any more */
	uint64_t lost_samples; /* by LOST_SAMPLES records; lost: by LOST records */
};

/* A call that has ended, or a half of one. */
struct calls_call {
	struct perch_syscall_call call;
	const struct perch_syscall_open *open; /* NULL: its entry is unknown */
	uint32_t pid, tid;
	int64_t number;
	uint64_t time; /* of the exit, or of the entry without one */
	int64_t result;
	bool has_result;
	enum perch_syscall_exit what;
	const char *why;		   /* it has no result; NULL: it does not return */
	const char *comm;		   /* of the thread */
	const struct perch_record *record; /* of the exit, for its call chain; NULL without one */
};

/* ---- calls_options.c ---- */

/* Returns 0, or the exit status after it has printed an error. */
int calls_parse(struct calls *calls, int argc, char **argv);

/* ---- calls_live.c ---- */

int calls_run_live(struct calls *calls);

/* ---- calls_waits.c ---- */

int calls_waits_run(struct calls *calls);

/* ---- calls_take.c ---- */

/* Begins, with an open session in calls->input. Each returns 0, or the exit status after it has
 * printed an error. */
int calls_begin(struct calls *calls);
int calls_take(struct calls *calls, const struct perch_record *record);
/* Shows the calls that have not ended. */
int calls_end(struct calls *calls);
/* Opens standard output, standard error or the file of -o, and closes it after the last line. Each
 * returns 0, or the exit status after it has printed an error. */
int calls_open_output(struct calls *calls);
int calls_close_output(struct calls *calls);
/* Finds the system call of a call, and its arguments. The numbers of a call are those of the
 * program that began it. */
void calls_describe(struct calls *calls, struct calls_call *call);
/* True for the threads of --comms, or all. */
bool calls_shows_thread(const struct calls *calls, const char *comm);
/* Prints what is missing. */
void calls_print_notes(const struct calls *calls);
void calls_clear(struct calls *calls);

/* ---- calls_summary.c ---- */

enum calls_mode { CALLS_BY_THREAD, CALLS_TOTAL };

/* Adds a call. Returns 0 or -ENOMEM. */
int calls_summary_add(struct calls *calls, const struct calls_call *call);
int calls_summary_print(struct calls *calls);
void calls_summary_clear(struct calls_summary *summary);

/* ---- calls_print.c ---- */

/* Writes "   0.018 ( 0.001 ms): ls/459 "; start and end: 0 is unknown. */
void calls_put_start(struct calls *calls, uint64_t start, uint64_t end, const char *comm,
		     uint32_t tid);
/* Writes "openat(AT_FDCWD, "a")"; the open call's memory is read. */
void calls_put_call(struct calls *calls, const struct calls_call *call);
/* Writes the line of a call that has ended, or of a half of one. */
void calls_put_line(struct calls *calls, const struct calls_call *call);
/* Writes the line of a call that goes on while the line of another thread follows. */
void calls_put_interrupted(struct calls *calls, const struct calls_call *call);

/* ---- calls_json.c ---- */

void calls_put_json(struct calls *calls, const struct calls_call *call);
/* Puts the members of the call itself: its name, number and arguments. */
void calls_put_json_call(struct calls *calls, const struct calls_call *call);

/* ---- calls_paths.c ---- */

enum { CALLS_PATHS_BYTES = 512 };

/* Defines probes that have the paths of calls, if the user may, and stores the text of their
 * events; "": there are none. They are removed when the command exits. */
void calls_paths_define(struct perch_machine *machine, char *events, size_t size);

/* ---- calls_events.c ---- */

/* The fields of a probe in the function of the kernel that reads paths. */
#define CALLS_PATH_FIELD    "user_path"
#define CALLS_ADDRESS_FIELD "user_address"

/* Finds what the samples of an event are. */
void calls_event_find(struct calls_event *event, struct perch_session *session,
		      const struct perch_file_event *file_event);
/* Reads an entry or an exit. Returns false if the sample is damaged. */
bool calls_event_read(const struct calls_event *event, const struct perch_record *record,
		      int64_t *number, uint64_t argument[PERCH_SYSCALL_ARGUMENTS], int64_t *result);

/* ---- calls_select.c ---- */

/* Parses the argument of -e. Returns 0 or CLI_EXIT_USAGE. */
int calls_select_parse(struct calls *calls);
bool calls_selects(const struct calls *calls, enum perch_syscall_abi abi, int64_t number);
/* Stores a filter for the kernel, in which less than size bytes of other conditions are; "" if it
 * would be too long. */
void calls_select_filter(const struct calls *calls, char *filter, size_t size);
/* True if all calls that close a descriptor of a process are selected. */
bool calls_selects_closes(const struct calls *calls);
/* True if a call with a path may be selected. */
bool calls_selects_paths(const struct calls *calls);

/* ---- calls_process.c ---- */

int calls_process_open(struct calls *calls); /* 0 or -ENOMEM */
void calls_process_close(struct calls *calls);
/* Takes records about processes. Returns 0 or -ENOMEM. */
int calls_process_take(struct calls *calls, const struct perch_record *record);
/* Adds a process that runs. Returns 0 or -ENOMEM. */
int calls_process_look_up(struct calls *calls, uint32_t pid);
/* Whose numbers a process uses. */
enum perch_syscall_abi calls_process_abi(const struct calls *calls, uint32_t pid);
/* Returns the functions of a call for perch_syscall_argument_text(); valid until the next call. */
const struct perch_syscall_process *calls_process_of(struct calls *calls,
						     const struct calls_call *call);
/* Notes what a call has done to descriptors. */
void calls_process_note(struct calls *calls, const struct calls_call *call);
/* Records were lost, maybe some that close descriptors. */
void calls_process_lost(struct calls *calls);
/* Finds memory of calls that last, while their threads are in them. */
void calls_process_verify(struct calls *calls);
/* Holds the memory of a call, and paths, if its thread is in it now. */
bool calls_process_hold(struct calls *calls, struct perch_syscall_open *open);
/* Notes a path that the kernel has read in a call. */
void calls_process_path(struct calls *calls, const struct calls_event *event,
			const struct perch_record *record, struct perch_syscall_open *open);
/* Notes the strings that an entry has. */
void calls_process_texts(struct calls *calls, const struct calls_event *event,
			 const struct perch_record *record, struct perch_syscall_open *open);

/* ---- calls_held.c ---- */

/* Memory as the kernel has read it, or as it was in the call; the path of a descriptor. */
enum calls_held_kind { CALLS_BY_KERNEL, CALLS_IN_CALL, CALLS_PATH_IN_CALL };

struct calls_held;
struct calls_held_table {
	struct calls_held *held;
	size_t nr, capacity, unused; /* no element before .unused is unused */
};

/* Holds something of a call. Without memory, less is held. */
void calls_hold(struct calls_held_table *table, struct perch_syscall_open *open,
		enum calls_held_kind kind, uint64_t address, const void *bytes, size_t size);
/* Reads what is held of a call, or of NULL. now: the time of the last event, which is later than
 * what was read in the call. Returns 0 if there is nothing. */
ssize_t calls_read_held(const struct calls_held_table *table, const struct perch_syscall_open *open,
			uint64_t now, bool is_path, uint64_t address, void *bytes, size_t size);
/* Discards what was read in the call, because the thread may not have been in it; or all. */
void calls_discard_in_call(struct calls_held_table *table, const struct perch_syscall_open *open);
void calls_discard_held(struct calls_held_table *table, struct perch_syscall_open *open);
void calls_held_clear(struct calls_held_table *table);

/* ---- calls_thread.c ---- */

/* Where a thread is. */
struct calls_location {
	bool runs;    /* it runs, or waits for its CPU */
	bool in_call; /* the others are valid */
	int64_t number;
	uint64_t argument[PERCH_SYSCALL_ARGUMENTS];
};

struct calls_state {
	char comm[32];	   /* not clean */
	char letter;	   /* as ps(1) has it: R, S, D, ... */
	char function[64]; /* of the kernel, in which it waits; "" if it is unknown */
	int cpu;	   /* on which it ran last */
	bool is_kernel;	   /* a thread of the kernel */
};

enum { CALLS_CPUS = 1024 };

/* The clocks of run queues, each asked when a thread of it is shown. */
struct calls_queues {
	struct calls_queue {
		bool asked, valid;
		int64_t offset; /* CLOCK_MONOTONIC less its clock */
	} cpu[CALLS_CPUS];
};

uint64_t calls_now(void); /* CLOCK_MONOTONIC in ns */
/* Reads memory of a process. Returns the number of bytes, or a negative number. */
ssize_t calls_read_memory(uint32_t pid, uint64_t address, void *bytes, size_t size);
/* Each returns 0 or a negative errno. */
int calls_thread_location(uint32_t tid, struct calls_location *location);
int calls_thread_state(uint32_t tid, struct calls_state *state);
/* How long a thread has not run, in ns; 0: unknown, as on isolated CPUs, on which nothing else
 * is to run, and on CPUs that do not answer. Interrupts of its CPU, and what its virtual
 * machine was without it, may not be included. */
uint64_t calls_thread_waited(struct calls_queues *queues, uint32_t tid, int cpu);

#endif
