/* SPDX-License-Identifier: MIT */
/* How annotate shows functions: options that report has, too, for its browser. */
#ifndef PERCH_CLI_ANNOTATE_STYLE_H
#define PERCH_CLI_ANNOTATE_STYLE_H

#include "options.h"

/* Bits of --percent-type. */
enum annotate_percent_type { ANNOTATE_HITS = 1, ANNOTATE_GLOBAL = 2 };

struct annotate_style {
	unsigned percent_type; /* enum annotate_percent_type */
	const char *prefix;    /* NULL: not given */
	uint64_t strip;	       /* directories of paths */
	bool asm_raw, no_source, intel;
	char strip_text[24]; /* of annotate_style_arguments() */
};

extern const struct cli_option annotate_style_options[];
/* Checks the options together. Returns 0 or the exit status. */
int annotate_style_check(const struct annotate_style *style, const char *command);

enum { ANNOTATE_STYLE_MOST_ARGUMENTS = 10 };
/* Stores the options that were given, as arguments of perch annotate. Returns their number. */
size_t annotate_style_arguments(struct annotate_style *style,
				const char *arguments[ANNOTATE_STYLE_MOST_ARGUMENTS]);

#endif
