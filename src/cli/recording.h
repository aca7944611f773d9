/* SPDX-License-Identifier: MIT */
/* A perf.data file opened for a report: reader, processes and symbols together. */
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
	uint64_t lost_records, lost_samples; /* of the records seen so far */
	uint64_t throttled;
	/* Set by who shows records that cannot be decoded as bytes (dump):
	 * cli_recording_tell_damage() says so of them. */
	bool damaged_shown;
};

/*
 * Says what is wrong and returns the exit status; 0 when open. path NULL: what is piped in, else
 * perf.data. kallsyms NULL: this machine's.
 */
int cli_recording_open(struct cli_recording *recording, const char *command, const char *path,
		       enum perch_order order, const char *kallsyms);
void cli_recording_close(struct cli_recording *recording);
/* The next record, applied to the processes: 1; 0 at the end; negative when failed (already told).
 */
int cli_recording_next(struct cli_recording *recording, struct perch_record *record);
/* Counts what a record of lost data or of throttling tells, as cli_recording_next() does; false: it
 * is another one. */
bool cli_recording_count(struct cli_recording *recording, const struct perch_record *record);
/* Records lost so far. A recorder that asks its events at the end writes LOST_SAMPLES, which count
 * those of LOST again. */
uint64_t cli_recording_lost(const struct cli_recording *recording);
/* Tells on stderr what of the file could not be read. */
void cli_recording_tell_damage(const struct cli_recording *recording);

#endif
