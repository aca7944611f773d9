/* SPDX-License-Identifier: MIT */
/*
 * The text of source files that debug information names. The names are not trusted: only regular
 * files of limited size are read.
 */
#ifndef PERCH_CLI_SOURCE_TEXT_H
#define PERCH_CLI_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_TEXT_MAX_FILES 4096

struct source_file;

/* All files that were asked for. The options are set by the caller, the rest is zero. */
struct source_text {
	const char *root;   /* of --symfs; NULL: none */
	const char *prefix; /* put before the path; NULL: none */
	uint64_t strip;	    /* directories that are removed from the path; with prefix */
	struct source_file **file;
	size_t nr;
	size_t bytes; /* of all texts */
	/* what could not be shown */
	size_t missing, newer, too_large;
	bool too_many; /* there are more than SOURCE_TEXT_MAX_FILES */
	char missing_path[256], newer_path[256], large_path[256]; /* the first one of each */
};

/*
 * Returns a line of a file, without its newline, or NULL if there is none. modified_at: when the
 * binary was written, in ns since 1970; a source file that is newer is counted.
 */
const char *source_text_line(struct source_text *sources, const char *path, uint64_t modified_at,
			     uint32_t line, size_t *length);
/* True if lines of a file, which was asked for, can be shown. */
bool source_text_has(const struct source_text *sources, const char *path);
void source_text_clear(struct source_text *sources);

#endif
