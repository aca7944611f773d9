/* SPDX-License-Identifier: MIT */
#include "terminal/color.h"
#include "event_options.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "input/switch_options.h"
#include "perf/unsupported.h"
#include "program/target.h"
#include "shared_options.h"
#include "terminal/pager.h"

static int set_no_pager(const struct cli_given *given)
{
	cli_no_pager = !given->negated;
	return 0;
}

const struct cli_option cli_no_pager_option[] = {
	CLI_ROW(.name = "no-pager", .set = set_no_pager,
		.help = "print long output on a terminal without a pager"),
	{ 0 },
};

const struct cli_option cli_modules_option[] = {
	CLI_ROW(.letter = 'm', .name = "modules", .kind = CLI_IGNORED, .hidden = true),
	{ 0 },
};

const struct cli_option cli_refused_dump_option[] = {
	CLI_ROW(.letter = 'D', .name = "dump-raw-trace",
		.refusal = "no option -D: 'perch dump' prints every record with its fields",
		.hidden = true),
	{ 0 },
};

/* ---- the file to read ---- */

#define INPUT(member) CLI_SETS(struct cli_input, member)

const struct cli_option cli_input_options[] = {
	CLI_ROW(.letter = 'i', .name = "input", .argument = "FILE", INPUT(path),
		.help = "the file, directory or pipe to read, - for standard input (perf.data)"),
	CLI_ROW(.letter = 'f', .name = "force", INPUT(force),
		.help = "read a file of another user, too"),
	{ 0 },
};

const struct cli_option cli_input_verbose_option[] = {
	CLI_ROW(.letter = 'v', .name = "verbose", INPUT(verbose),
		.help = "list the files whose names are unverified"),
	{ 0 },
};

const struct cli_option cli_jobs_option[] = {
	CLI_ROW(.name = "jobs", .argument = "N", INPUT(jobs),
		.help = "use at most N threads (2, or up to 4 for a large file)"),
	{ 0 },
};

const struct cli_option cli_kernel_options[] = {
	CLI_ROW(.letter = 'k', .name = "vmlinux", .argument = "FILE",
		INPUT(options.symbols.vmlinux), .help = "kernel symbols from this ELF file"),
	CLI_ROW(.name = "kallsyms", .argument = "FILE", INPUT(options.symbols.kallsyms),
		.help = "kernel symbols from this file (/proc/kallsyms)"),
	CLI_ROW(.name = "demangle", INPUT(options.symbols.no_demangle), .inverted = true,
		.help = "print C++ and Rust names demangled (default)"),
	{ 0 },
};

const struct cli_option cli_symbol_options[] = {
	CLI_ROW(.table = cli_kernel_options),
	CLI_ROW(.name = "symfs", .argument = "DIR", INPUT(options.symbols.root),
		.help = "the directory that has the files of the recorded machine"),
	CLI_ROW(.name = "ignore-vmlinux", INPUT(options.symbols.no_vmlinux),
		.help = "use no ELF file of the kernel"),
	CLI_ROW(.name = "demangle-kernel", INPUT(options.symbols.demangle_kernel),
		.help = "print names of the kernel demangled, too"),
	CLI_ROW(.name = "debuginfod", INPUT(no_debuginfod), .inverted = true,
		.help = "ask the servers in DEBUGINFOD_URLS (default)"),
	{ 0 },
};

/* ---- what is printed ---- */

const struct cli_option cli_header_option[] = {
	CLI_ROW(.name = "header", .help = "print the header of the file, too"),
	{ 0 },
};

const struct cli_option cli_header_only_option[] = {
	CLI_ROW(.name = "header-only", .help = "print only the header"),
	{ 0 },
};

const struct cli_option cli_show_info_option[] = {
	CLI_ROW(.letter = 'I', .name = "show-info",
		.help = "print the header with topology, caches and memory, too"),
	{ 0 },
};

const struct cli_option cli_full_source_path_option[] = {
	CLI_ROW(.name = "full-source-path", .help = "print source files with directories"),
	{ 0 },
};

const struct cli_option cli_ns_option[] = {
	CLI_ROW(.name = "ns", .help = "print times with nanoseconds"),
	{ 0 },
};

const struct cli_option cli_inline_option[] = {
	CLI_ROW(.name = "inline", .inverted = true,
		.help = "show inlined functions in call chains (default)"),
	{ 0 },
};

/* ---- which samples ---- */

#define FILTER(member) CLI_SETS(struct cli_filter, member)

const struct cli_option cli_filter_options[] = {
	CLI_ROW(.name = "comms", .argument = "NAMES", FILTER(options.comms),
		.help = "only samples of threads with these names"),
	CLI_ROW(.name = "dsos", .argument = "NAMES", FILTER(options.dsos),
		.help = "only samples in these DSOs"),
	CLI_ROW(.name = "cpu", .argument = "CPUS", FILTER(options.cpus),
		.help = "only samples on these CPUs (0,2-5)"),
	CLI_ROW(.letter = 'S', .name = "symbols", .argument = "NAMES", FILTER(options.symbols),
		.help = "only samples in these functions"),
	CLI_ROW(.name = "pid", .argument = "IDS", FILTER(options.pids),
		.help = "only samples of these processes"),
	CLI_ROW(.name = "tid", .argument = "IDS", FILTER(options.tids),
		.help = "only samples of these threads"),
	CLI_ROW(.name = "cgroup", .argument = "PATHS", FILTER(options.cgroups),
		.help = "only samples in these cgroups and those below them"),
	CLI_ROW(.name = "parallelism", .argument = "NUMBERS", FILTER(options.parallelism),
		.help = "only samples while so many threads run (1,3-5)"),
	CLI_ROW(.name = "time", .argument = "TIMES", FILTER(options.time),
		.help = "only samples in START,STOP or +1,+2 or 10%-20% or 10%/2"),
	{ 0 },
};

const struct cli_option cli_expression_option[] = {
	CLI_ROW(.name = "filter", .argument = "EXPRESSION", FILTER(options.expression),
		.help = "only samples of tracepoints with such fields (prev_pid == 0)"),
	{ 0 },
};

const struct cli_option cli_parent_option[] = {
	CLI_ROW(.name = "parent", .argument = "REGEX", FILTER(options.parent),
		.help = "only samples with a function like this in their chain"),
	{ 0 },
};

const struct cli_option cli_function_options[] = {
	CLI_ROW(.name = "symbol-filter", .argument = "TEXT", FILTER(symbol_part),
		.help = "only samples in functions with this text in the name"),
	CLI_ROW(.letter = 'U', .name = "hide-unresolved", FILTER(resolved),
		.help = "only samples in functions with a name"),
	CLI_ROW(.letter = 'x', .name = "exclude-other", FILTER(exclude_other),
		.help = "only samples with a parent"),
	{ 0 },
};

const struct cli_option cli_max_stack_option[] = {
	CLI_ROW(.name = "max-stack", .argument = "N", FILTER(max_stack), .positive = true,
		.help = "use at most N addresses of call chains"),
	{ 0 },
};

const struct cli_option cli_ignore_callees_option[] = {
	CLI_ROW(.name = "ignore-callees", .argument = "REGEX", .kind = CLI_STRING,
		.help = "count samples for the outermost function with a name like this"),
	{ 0 },
};

const struct cli_option cli_off_cpu_options[] = {
	CLI_ROW(.name = "states", CLI_SETS(struct cli_input, states),
		.help = "a frame with the state of the thread above where it left the CPU"),
	CLI_ROW(.name = "wakers", CLI_SETS(struct cli_input, wakers),
		.help = "the call chains of wakers above those of threads that waited"),
	{ 0 },
};

const struct cli_option cli_event_option[] = {
	CLI_ROW(.letter = 'e', .name = "event", .argument = "EVENT", .kind = CLI_STRING,
		.help = "only samples of this event, by its name (the one with the most samples)"),
	{ 0 },
};

#define SWITCH(member) CLI_SETS(struct cli_switch, member)

const struct cli_option cli_switch_options[] = {
	CLI_ROW(.name = "switch-on", .argument = "EVENT", SWITCH(options.on),
		.help = "only samples after one of this event"),
	CLI_ROW(.name = "switch-off", .argument = "EVENT", SWITCH(options.off),
		.help = "no samples after one of this event"),
	CLI_ROW(.name = "show-on-off-events", SWITCH(options.show),
		.help = "with the samples of --switch-on and --switch-off themselves"),
	{ 0 },
};

#define UNSUPPORTED(member) CLI_SETS(struct cli_unsupported, member)

const struct cli_option cli_unsupported_options[] = {
	CLI_ROW(.name = "stitch-lbr", UNSUPPORTED(stitch_lbr), .hidden = true),
	CLI_ROW(.name = "itrace", .argument = "OPTIONS", UNSUPPORTED(itrace), .attached = true,
		.optional = true, .hidden = true),
	{ 0 },
};

/* ---- how it is printed ---- */

const struct cli_option cli_percentage_option[] = {
	CLI_ROW(.name = "percentage", .argument = "OF",
		.words = (const struct cli_word[]){ { "relative", true },
						    { "absolute", false },
						    { 0 } },
		.help = "shares of all samples or of the selected ones"),
	{ 0 },
};

const struct cli_option cli_color_option[] = {
	CLI_ROW(.name = "stdio-color", .argument = "WHEN", .set = cli_set_color, .optional = true,
		.words = (const struct cli_word[]){ { "always", CLI_COLOR_ALWAYS },
						    { "never", CLI_COLOR_NEVER },
						    { "auto", CLI_COLOR_AUTO },
						    { 0 } },
		.help = "colors of percentages"),
	{ 0 },
};

/* ---- what is measured ---- */

static int add_events(const struct cli_given *given)
{
	return cli_add_events(given->command, given->state, given->text);
}

static int add_event_file(const struct cli_given *given)
{
	return cli_add_event_file(given->command, given->state, given->text);
}

static int add_filter(const struct cli_given *given)
{
	return cli_add_filter(given->command, given->state, given->text);
}

const struct cli_option cli_event_list_options[] = {
	CLI_ROW(.letter = 'e', .name = "event", .argument = "EVENTS", .set = add_events,
		.not_negated = true, .help = "the events; 'perch list' lists them"),
	CLI_ROW(.name = "filter", .argument = "EXPR", .set = add_filter, .not_negated = true,
		.help = "filter for the tracepoints of the last -e"),
	{ 0 },
};

const struct cli_option cli_event_file_option[] = {
	CLI_ROW(.name = "event-file", .argument = "FILE", .set = add_event_file,
		.not_negated = true, .help = "events from a file; - is standard input"),
	{ 0 },
};

const struct cli_option cli_all_user_option[] = {
	CLI_ROW(.name = "all-user", .help = "only user space"),
	{ 0 },
};

const struct cli_option cli_all_kernel_option[] = {
	CLI_ROW(.name = "all-kernel", .help = "only the kernel"),
	{ 0 },
};

#define TARGET(member) CLI_SETS(struct cli_target, member)

const struct cli_option cli_target_options[] = {
	CLI_ROW(.letter = 'p', .name = "pid", .argument = "PID[,PID]", TARGET(pids),
		.help = "running processes"),
	CLI_ROW(.letter = 't', .name = "tid", .argument = "TID[,TID]", TARGET(tids),
		.help = "running threads"),
	CLI_ROW(.letter = 'u', .name = "uid", .argument = "USER", TARGET(user),
		.help = "the running processes of a user"),
	CLI_ROW(.letter = 'a', .name = "all-cpus", TARGET(all_cpus),
		.help = "everything on all CPUs"),
	CLI_ROW(.letter = 'C', .name = "cpu", .argument = "CPUS", TARGET(cpu_list),
		.help = "on these CPUs only: 0-2,5"),
	{ 0 },
};
