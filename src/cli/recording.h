/* SPDX-License-Identifier: MIT */
/* A perf.data file that is read: reader, processes and symbols. */
#ifndef PERCH_CLI_RECORDING_H
#define PERCH_CLI_RECORDING_H

#include <perch/file.h>
#include <perch/process.h>
#include <perch/profile.h>
#include <perch/symbol.h>

struct cli_recording {
	const char *command, *path;
	struct perch_reader *reader;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	/* of the records read so far */
	uint64_t lost_records, lost_samples, throttled;
	/* set by a command that prints the bytes of records which cannot be decoded */
	bool prints_damaged;
};

/*
 * path may be NULL: then standard input is read if it is a pipe, else perf.data. kallsyms may be
 * NULL for that of this machine. Returns 0, or the exit status after it has printed an error.
 */
int cli_recording_open(struct cli_recording *recording, const char *command, const char *path,
		       enum perch_order order, const char *kallsyms);
void cli_recording_close(struct cli_recording *recording);
/*
 * Reads a record and applies it to the processes. Returns 1; 0 at the end; or a negative number
 * after it has printed an error.
 */
int cli_recording_next(struct cli_recording *recording, struct perch_record *record);
/* Counts a record of lost data or of throttling, as cli_recording_next() does. Returns false for a
 * record of another type. */
bool cli_recording_count(struct cli_recording *recording, const struct perch_record *record);
/* Returns the number of lost records so far. */
uint64_t cli_recording_lost(const struct cli_recording *recording);
/*
 * Refuses perf's option -D with a usage error that names perch dump. command: the name of the
 * subcommand.
 */
int cli_recording_refuse_dump(void *command, const char *argument, bool negated);
/* Prints to stderr which records could not be read or are missing. */
void cli_recording_print_damage(const struct cli_recording *recording);

#endif
