/* SPDX-License-Identifier: MIT */
/*
 * perch explain: explains the system calls that a trace reports (trace/trace.h), as text or JSON. A
 * file calls only files below its own:
 *
 *   explain.c                                   options, output file
 *   explain_print_json.c  explain_print.c       JSON; text
 *   explain_dedup.c                             counts refusals that were already printed
 *   explain_attr.c                              attrs as text
 */
#ifndef PERCH_CLI_EXPLAIN_H
#define PERCH_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/trace.h"

#define EXPLAIN_COMMAND "explain"

struct explain_dedup; /* explain_dedup.c */

struct explain_job {
	struct trace_job trace; /* the first: the output gets its address */
	FILE *out;		/* stderr, stdout for a log, or the file of -o */
	bool colours;		/* out is a terminal and NO_COLOR is not set */
	bool here_hint_printed;
	bool write_failed;
	int write_error;	     /* errno of the first failed write */
	struct explain_dedup *dedup; /* NULL until the first refusal */
};

static inline struct explain_job *explain_job(struct trace_job *trace)
{
	return (struct explain_job *)trace;
}

/* With deduplication; and as JSON with one object per line. */
extern const struct trace_output explain_text, explain_json;

/* Prints the counts of repeated refusals, and the totals to stderr. */
void explain_print_summary(struct explain_job *job);
/* Flushes the output; records a failed write in the job. */
void explain_flush(struct explain_job *job);
/* Passes a note of the trace to stderr. */
void explain_note(struct trace_job *trace, const char *text);

/*
 * Two refusals are equal if all but number, fd, cpu and, for open calls, config is equal. The first
 * is printed in full, the others are counted.
 */
struct explain_refusal {
	uint64_t number;
	int fd;
	int cpu; /* -1 if any or unknown */
	pid_t process;
	int operation; /* enum perch_operation_kind + 1; 0 for perf_event_open */
	unsigned long request;
	uint64_t text; /* hash of messages and remedies, without this CPU and config */
	int errnum;
	enum perch_cause cause;
	enum perch_confidence confidence;
	uint32_t type;
	uint64_t config;
};
/*
 * Returns true and counts the refusal if an equal one was printed before. Returns false if the
 * caller must print it; always with -v. May print the count of the refusal printed last.
 */
bool explain_dedup_count(struct explain_job *job, const struct explain_refusal *refusal);
/* Prints the count of the refusal that was printed last. Call this before other output. */
void explain_dedup_print_last(struct explain_job *job);
/* Prints all counts that are not printed yet. */
void explain_dedup_print_all(struct explain_job *job);
void explain_dedup_free(struct explain_job *job);

/* ---- explain_attr.c ---- */

typedef void explain_field_callback(void *context, const char *name, uint64_t value,
				    bool is_signed);
/*
 * Calls each() once for every field that is not zero. A field with several names has the one that
 * the attr selects: sample_freq or sample_period, bp_addr or config1.
 */
void explain_attr_for_each_field(const struct perch_attr *attr, explain_field_callback *each,
				 void *context);
/* The same for 8-byte words beyond this version's struct perch_attr: "word_144". */
void explain_attr_for_each_unknown_word(const struct perch_attr *attr, explain_field_callback *each,
					void *context);

struct explain_attr_format {
	FILE *out;
	bool partial; /* some fields are unknown */
	bool memory;  /* pointers of the attr can be read through the machine's process */
	struct perch_machine *machine; /* for names of PMUs; may be NULL */
};
/* "{type=0 HARDWARE, size=136, config=0 cycles, sample_type=IP|TID, disabled=1, ...}" */
void explain_attr_print(const struct explain_attr_format *format, const struct perch_attr *attr);
/* "cycles"; returns false if the config has no name. */
bool explain_format_config(uint32_t type, uint64_t config, char *buffer, size_t size);

#endif
