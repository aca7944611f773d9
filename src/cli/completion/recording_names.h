/* SPDX-License-Identifier: MIT */
/* Names in a recording, for the completions of shells. */
#ifndef PERCH_CLI_RECORDING_NAMES_H
#define PERCH_CLI_RECORDING_NAMES_H

/*
 * Calls put() for each value of a column ("sym", "comm", "dso") in the samples of a recording: of
 * the first 50000, so that a user need not wait. A file of another user, a pipe and what is no
 * recording have none, and the servers of debuginfod are not used. Functions without a name are
 * left out, and names with commas, which separate names.
 */
void cli_recording_names(const char *path, const char *column,
			 void (*put)(const char *name, void *context), void *context);

#endif
