/* SPDX-License-Identifier: MIT */
/* The perf.data file that report, script and dump read, and the notes about what it lacks. */
#ifndef PERCH_CLI_INPUT_H
#define PERCH_CLI_INPUT_H

#include <perch/session.h>

/* An address, and if it is in the first function of a program or thread. */
struct cli_start {
	const struct perch_dso *dso;
	uint64_t offset;
	bool is_start;
};

struct cli_input {
	const char *command; /* for messages */
	const char *path;    /* of -i; NULL: standard input if it is a pipe, else perf.data */
	bool records;	     /* 'perch COMMAND record' makes its files */
	bool force;	     /* of -f */
	bool no_debuginfod;
	bool wakers;	 /* of --wakers */
	bool states;	 /* of --states */
	bool any_wakers; /* a sample that was selected has one */
	int verbose;	 /* of -v: lists the files that are unverified */
	uint64_t jobs;	 /* of --jobs; 0: by the number of CPUs and the size of the file */
	struct perch_session_options options;
	struct perch_session *session;
	/* samples in user space with a call chain, and of them those with at most one caller */
	uint64_t user_chains, short_chains;
	/* of these, how many were tested, and how many of them begin in no mapping */
	uint64_t tested_chains, wrong_chains;
	struct cli_start starts[64]; /* of these callers, so that few are looked up twice */
};

/* True for an operand that is meant as a file, which -i names. Other files may have the name of a
 * function. */
bool cli_input_is_file_name(const char *operand);
/*
 * Refuses two operands of a command if one is meant as a file. Both may be NULL. other: how what is
 * not a file is named, as "a function with -s". Returns 0 or CLI_EXIT_USAGE.
 */
int cli_input_refuse_files(const char *command, const char *operand, const char *extra,
			   const char *other);

#define CLI_INPUT_COMMAND 300 /* bytes */
/* Stores "COMMAND: PATH", the command of messages about one of several files. Returns text. */
const char *cli_input_command(const struct cli_input *input, char text[CLI_INPUT_COMMAND]);

/* Opens input->session. Returns 0, or the exit status after it has printed an error. */
int cli_input_open(struct cli_input *input);
void cli_input_close(struct cli_input *input);
/*
 * Reads a record. Returns 1; 0 at the end; or a negative number after it has printed an error.
 */
int cli_input_next(struct cli_input *input, struct perch_record *record);
/* Prints the header of the file. long_header: with topology, caches and memory. Returns 0, or -EIO
 * after an error of the stream. */
int cli_input_print_header(const struct cli_input *input, FILE *out, bool long_header);
/* Prints to stderr which records could not be read or are missing. */
void cli_input_print_notes(const struct cli_input *input);
/* True for a file of perf stat record, which has counts and no samples. */
bool cli_input_has_counts(const struct cli_input *input);
/* How many threads may work on the file, which is open, or on a text: 1 or more. */
unsigned cli_input_threads(const struct cli_input *input);
/* Lets a profile count in the threads beside the one that reads. */
void cli_input_set_threads(const struct cli_input *input, struct perch_profile_options *options);

/* ---- input_chains.c ---- */

/* Declares to a profile the events whose call chains have addresses of calls, see
 * perch_session_has_calls(). Returns 0 or -ENOMEM. */
int cli_input_set_calls(const struct cli_input *input, struct perch_profile *profile,
			struct perch_error *err);

/* Returns the bits of perch_attr.sample_type of all events. */
uint64_t cli_input_sample_types(const struct cli_input *input);
/* Refuses files without call chains. what: the option that needs them. Returns 0, or the exit
 * status after it has printed an error. */
int cli_input_require_chains(const struct cli_input *input, const char *what);
/* Counts a sample, to find out if programs have frame pointers. */
void cli_input_count_chain(struct cli_input *input, const struct perch_record *record);
/* Prints to stderr what call chains lack. */
void cli_input_print_chain_notes(const struct cli_input *input);

#endif
