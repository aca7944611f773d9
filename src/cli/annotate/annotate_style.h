/* SPDX-License-Identifier: MIT */
/* How annotate shows functions: options that report has, too, for its browser. */
#ifndef PERCH_CLI_ANNOTATE_STYLE_H
#define PERCH_CLI_ANNOTATE_STYLE_H

#include "options.h"

struct annotate_style {
	/* the options as they were given; NULL: not given */
	const char *percent_type, *syntax, *prefix;
	uint64_t strip; /* directories of paths */
	bool asm_raw, no_source;
	/* of percent_type and syntax */
	bool global, hits, intel;
	char strip_text[24]; /* of annotate_style_arguments() */
};

/* Sets style->percent_type. Returns 0, or nonzero after it has printed an error. */
int annotate_style_set_percent_type(struct annotate_style *style, const char *command,
				    const char *argument, bool negated);
/* Sets style->syntax. */
int annotate_style_set_syntax(struct annotate_style *style, const char *command,
			      const char *argument, bool negated);
/* Checks the options together. Returns 0 or the exit status. */
int annotate_style_check(const struct annotate_style *style, const char *command);

enum { ANNOTATE_STYLE_MOST_ARGUMENTS = 10 };
/* Stores the options that were given, as arguments of perch annotate. Returns their number. */
size_t annotate_style_arguments(struct annotate_style *style,
				const char *arguments[ANNOTATE_STYLE_MOST_ARGUMENTS]);

/* Sets or negates --source. */
int annotate_style_set_source(void *style, const char *argument, bool negated);

/* The options. The functions call those above for the command. */
#define ANNOTATE_STYLE_OPTIONS(style, set_percent_type, set_syntax)                              \
	{ 0,                                                                                     \
	  "percent-type",                                                                        \
	  "TYPE",                                                                                \
	  "what 100 % of annotate is: local-period, local-hits, global-period, global-hits",     \
	  CLI_CALL,                                                                              \
	  style,                                                                                 \
	  set_percent_type,                                                                      \
	  false,                                                                                 \
	  false },                                                                               \
		{ 'M',	      "disassembler-style",                                              \
		  "SYNTAX",   "syntax of x86: att (the default) or intel",                       \
		  CLI_CALL,   style,                                                             \
		  set_syntax, false,                                                             \
		  false },                                                                       \
		{ 0,	    "asm-raw",	       NULL, "show the bytes of instructions",           \
		  CLI_FLAG, &(style)->asm_raw, NULL, false,                                      \
		  false },                                                                       \
		{ 0,                                                                             \
		  "source",                                                                      \
		  NULL,                                                                          \
		  "show source lines between instructions (default)",                            \
		  CLI_CALL,                                                                      \
		  style,                                                                         \
		  annotate_style_set_source,                                                     \
		  false,                                                                         \
		  false },                                                                       \
		{ 0,	      "prefix",                                                          \
		  "DIR",      "directory to put before the paths of source files",               \
		  CLI_STRING, &(style)->prefix,                                                  \
		  NULL,	      false,                                                             \
		  false },                                                                       \
	{                                                                                        \
		0, "prefix-strip", "N", "first remove N directories of these paths", CLI_NUMBER, \
			&(style)->strip, NULL, false, false                                      \
	}

#endif
