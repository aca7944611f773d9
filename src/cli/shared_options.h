/* SPDX-License-Identifier: MIT */
/*
 * The options that several commands have, each with one help text. The comment says what is at .at
 * of the row that names the table.
 */
#ifndef PERCH_CLI_SHARED_OPTIONS_H
#define PERCH_CLI_SHARED_OPTIONS_H

#include "options.h"

extern const struct cli_option cli_no_pager_option[];	  /* nothing: all commands share it */
extern const struct cli_option cli_modules_option[];	  /* nothing: it has no effect */
extern const struct cli_option cli_refused_dump_option[]; /* nothing: it is refused */

/* The file to read: struct cli_input. */
extern const struct cli_option cli_input_options[];	   /* -i and -f */
extern const struct cli_option cli_input_verbose_option[]; /* -v of commands that print names */
extern const struct cli_option cli_jobs_option[];	   /* how many threads read it */
extern const struct cli_option cli_kernel_options[];	   /* where names of the kernel are */
extern const struct cli_option cli_symbol_options[];	   /* these, and where other names are */

/* What is printed: bool. */
extern const struct cli_option cli_header_option[];
extern const struct cli_option cli_header_only_option[];
extern const struct cli_option cli_show_info_option[];
extern const struct cli_option cli_full_source_path_option[];
extern const struct cli_option cli_ns_option[];
extern const struct cli_option cli_off_cpu_options[]; /* struct cli_input */
extern const struct cli_option cli_inline_option[];   /* the bool is "no inline" */

/* How it is printed: bool. */
extern const struct cli_option cli_percentage_option[];
extern const struct cli_option cli_color_option[];

/* What is measured. */
extern const struct cli_option cli_event_list_options[]; /* -e, --filter: struct cli_event_list */
extern const struct cli_option cli_event_file_option[];	 /* struct cli_event_list */
extern const struct cli_option cli_all_user_option[];	 /* bool */
extern const struct cli_option cli_all_kernel_option[];	 /* bool */
extern const struct cli_option cli_target_options[];	 /* struct cli_target */

/* Which samples: struct cli_filter. */
extern const struct cli_option cli_filter_options[];	/* names: those of --comms, --dsos, --cpu */
extern const struct cli_option cli_expression_option[]; /* for commands that print tracepoints */
extern const struct cli_option cli_parent_option[];	/* for commands that have call chains */
extern const struct cli_option cli_function_options[];
extern const struct cli_option cli_max_stack_option[];

/* Which samples. */
extern const struct cli_option cli_ignore_callees_option[]; /* const char * */
extern const struct cli_option cli_event_option[];	    /* const char * */
extern const struct cli_option cli_switch_options[];	    /* struct cli_switch */
extern const struct cli_option cli_unsupported_options[];   /* struct cli_unsupported */

#endif
