/* SPDX-License-Identifier: MIT */
/* A recording that a command makes, reads and removes. */
#ifndef PERCH_CLI_OWN_RECORDING_H
#define PERCH_CLI_OWN_RECORDING_H

struct cli_own_recording {
	char *directory, *path; /* NULL: there is none */
	int status;		/* of the recorder and its program */
};

/*
 * Makes the file by record(context, path), which returns an exit status, in a process of its own:
 * signals that it blocks, and descriptors, are not those of what follows. SIGINT ends the recording
 * alone; SIGTERM and SIGHUP remove it and end this process. Returns 0 if there is a file, or the
 * exit status after a message.
 */
int cli_own_recording_make(struct cli_own_recording *recording, const char *command,
			   int (*record)(void *context, const char *path), void *context);
/* Removes the file, if there is one. */
void cli_own_recording_remove(struct cli_own_recording *recording);

#endif
