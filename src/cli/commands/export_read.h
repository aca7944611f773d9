/* SPDX-License-Identifier: MIT */
/* From a recording to a file in another format: what perch export and perch flamegraph share. */
#ifndef PERCH_CLI_EXPORT_READ_H
#define PERCH_CLI_EXPORT_READ_H

#include <perch/export.h>

#include "input/filter_options.h"
#include "input/input.h"

/* Opens the recording and its filter, which the caller closes. Returns the exit status, after it
 * printed an error. */
int cli_export_open(struct cli_input *input, struct cli_filter *filter);
/* Makes an export of the recording, with the options of the format. Returns the exit status, after
 * it printed an error. */
int cli_export_new(struct perch_export **to, const struct cli_input *input,
		   const struct cli_filter *filter, enum perch_export_format format,
		   const struct perch_export_options *options);
/* Adds the samples that the filter selects. Returns the exit status, after it printed an error. */
int cli_export_add_samples(struct cli_input *input, struct cli_filter *filter,
			   struct perch_export *to);
/* Returns 0 if a file can be written without destroying the input; else the exit status, after it
 * printed an error. */
int cli_export_check_output(const struct cli_input *input, const char *path);
/* Returns false if a file would have no samples, and no markers if its format has them; it must not
 * replace another one. Standard output (path "-") may have none. */
bool cli_export_has_content(const struct perch_export *from, bool markers, const char *path);
/* Prints that a file without content is not written. */
void cli_export_print_refusal(const char *command, const char *path);
/* Writes a file; path "-" is standard output. own: the command has made the name. Returns the exit
 * status, after it printed an error. */
int cli_export_write(const char *command, struct perch_export *from, const char *path, bool own);
/* Prints to stderr what the file and the recording lack. */
void cli_export_print_notes(struct cli_input *input, const struct cli_filter *filter,
			    const struct perch_export *from);
/* Prints that samples of switches are no time of waits. */
void cli_export_note_switches(const struct cli_input *input);

/* Prints how many samples are of other events than the one that is written. */
void cli_export_print_other(const struct cli_input *input, bool markers,
			    const struct perch_export *from);

#endif
