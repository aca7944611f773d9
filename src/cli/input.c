/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/jitdump.h>
#include "input.h"
#include "options.h"

/*
 * As in perf, standard input is read instead of the file perf.data if it is a pipe. This is also so
 * for an empty pipe, because the user does not mean an old perf.data then.
 */
static const char *default_input(void)
{
	struct stat status;

	return !fstat(STDIN_FILENO, &status) && S_ISFIFO(status.st_mode) ? "-" : "perf.data";
}

/* For the signal handler. Files are mapped: when another process truncates one, access to the lost
 * pages raises SIGBUS. */
static char bus_error_message[512];

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != BUS_ADRERR) {
		/* the access is repeated, and the signal ends the command */
		signal(number, SIG_DFL);
		return;
	}
	while (write(STDERR_FILENO, bus_error_message, strlen(bus_error_message)) < 0 &&
	       errno == EINTR)
		;
	_exit(CLI_EXIT_FAILURE);
}

static void handle_bus_errors(const struct cli_input *input)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	char path[400];

	perch_clean_text(input->path, path, sizeof(path));
	snprintf(bus_error_message, sizeof(bus_error_message),
		 "perch %s: %s, or a binary that it names, became shorter while it was read\n",
		 input->command, path);
	sigaction(SIGBUS, &action, NULL);
}

/* Shows what is awaited from debuginfod, in a line of a terminal that is cleared at the end. */
static bool show_download(void *context, const struct perch_dso *dso, uint64_t bytes,
			  uint64_t total)
{
	const struct cli_input *input = context;
	const char *slash = dso ? strrchr(dso->path, '/') : NULL;
	char name[60];

	fputs("\r\033[K", stderr);
	if (!dso)
		return true;
	perch_clean_text(slash ? slash + 1 : dso->path, name, sizeof(name));
	fprintf(stderr, "perch %s: debuginfod: %s", input->command, name);
	if (total)
		fprintf(stderr, " %" PRIu64 " of %" PRIu64 " KiB", bytes >> 10, total >> 10);
	return true;
}

int cli_input_open(struct cli_input *input)
{
	const char *path = input->path ? input->path : default_input();
	const char *root = input->options.symbols.root;
	struct perch_error err;
	struct stat st;
	int rc;

	if (root && (stat(root, &st) || !S_ISDIR(st.st_mode)))
		return cli_usage_error(input->command, "--symfs: '%s' is not a directory", root);
	input->path = strcmp(path, "-") ? path : "standard input";
	input->options.check_owner = !input->force;
	input->options.symbols.debuginfod = !input->no_debuginfod;
	handle_bus_errors(input);
	rc = perch_session_open(&input->session, path, &input->options, &err);
	if (!rc && isatty(STDERR_FILENO))
		perch_symbols_set_download_progress(perch_session_symbols(input->session),
						    show_download, input);
	if (!rc)
		return 0;
	if (rc == -EPERM)
		perch_error_remedy(&err, "Use -f to read it anyway");
	else if (rc == -ENOENT && err.kind == PERCH_ERROR_FILE)
		perch_error_remedy(&err, "Record one first: perch record PROGRAM");
	else if (err.kind == PERCH_ERROR_TRUNCATED && !strcmp(path, "-"))
		perch_error_remedy(&err, "Use -i FILE to read a file instead of standard input");
	return cli_error(input->command, &err);
}

void cli_input_close(struct cli_input *input)
{
	perch_session_close(input->session);
	input->session = NULL;
}

int cli_input_set_demangle(void *symbols, const char *argument, bool negated)
{
	(void)argument;
	((struct perch_symbols_options *)symbols)->no_demangle = negated;
	return 0;
}

int cli_input_set_debuginfod(void *no_debuginfod, const char *argument, bool negated)
{
	(void)argument;
	*(bool *)no_debuginfod = negated;
	return 0;
}

int cli_input_next(struct cli_input *input, struct perch_record *record)
{
	struct perch_error err;
	int rc = perch_session_next(input->session, record, &err);

	if (rc < 0)
		cli_error(input->command, &err);
	return rc;
}

#define MAX_NAMED_FILES 3
#define MAX_NAMED_DSOS	8

/* Stripped files are many, and have one line together. */
static bool is_stripped(const char *error)
{
	return !strncmp(error, "no symbols:", 11) ||
	       !strncmp(error, "only exported symbols:", 22) ||
	       !strncmp(error, "the ELF file has no symbol", 26);
}

/*
 * What would help, after the reason of perch_symbols_error(). The cache finds a file by its build
 * id.
 */
static const char *remedy_of(const struct perch_dso *dso, const char *error)
{
	static const struct {
		const char *reason, *remedy;
	} remedies[] = {
		{ "replaced since the recording",
		  "; record again, or add the old file to the build id cache (perch buildid-cache -a)" },
		{ "in a container that is gone",
		  "; report while the container runs, or with --symfs and a copy of its files" },
		{ "in the mount namespace of", "; report as root" },
		{ "permission denied", "; report as root" },
	};

	if (!dso->build_id_size && !strcmp(error, remedies[0].reason))
		return "; record again";
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strncmp(error, remedies[i].reason, strlen(remedies[i].reason)))
			return remedies[i].remedy;
	return "";
}

/* True if the process of generated code has a jitdump that cannot be used. */
static bool has_unusable_jitdump(const struct cli_input *input, const struct perch_dso *dso)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	unsigned pid, of_jitdump;

	if (sscanf(dso->path, "/tmp/perf-%u.map", &pid) != 1)
		return false;
	for (size_t i = 0; i < nr; i++) {
		const char *slash = strrchr(dsos[i]->path, '/');

		if (dsos[i]->jitdump && perch_jitdump_error(dsos[i]->jitdump) &&
		    sscanf(slash ? slash + 1 : dsos[i]->path, "jit-%u.dump", &of_jitdump) == 1 &&
		    of_jitdump == pid)
			return true;
	}
	return false;
}

/* Reports addresses in the code of a JIT compiler that have no name, and what would give them one.
 */
static void print_generated_code(const struct cli_input *input, const struct perch_dso *dso,
				 size_t *processes)
{
	struct perch_symbols *symbols = perch_session_symbols(input->session);
	const char *error = perch_symbols_error(symbols, dso);
	uint64_t misses = perch_symbols_misses(symbols, dso);
	uint64_t damaged = perch_symbols_damaged_lines(symbols, dso);

	/* a jitdump that cannot be used has its own note, with the reason */
	if (misses && !damaged && has_unusable_jitdump(input, dso))
		return;
	if (dso->kind != PERCH_DSO_ANON || strncmp(dso->path, "/tmp/perf-", 10) ||
	    (!misses && !damaged) || ++*processes > MAX_NAMED_FILES)
		return;
	if (damaged)
		cli_note(input->command, "%" PRIu64 " %s of %s %s damaged and %s skipped", damaged,
			 cli_word(damaged, "line", "lines"), dso->path,
			 cli_word(damaged, "is", "are"), cli_word(damaged, "was", "were"));
	if (misses && error)
		cli_note(input->command,
			 "%" PRIu64 " %s of %s %s no name (%s): if it is code of a JIT "
			 "compiler, run the program with its option that writes this file "
			 "(node --perf-basic-prof, python3 -X perf, java -XX:+DumpPerfMapAtExit)",
			 misses, cli_word(misses, "address", "addresses"),
			 perch_symbols_dso_name(symbols, dso), cli_word(misses, "has", "have"),
			 error);
	else if (misses)
		cli_note(input->command, "%" PRIu64 " %s of %s %s no name in %s", misses,
			 cli_word(misses, "address", "addresses"),
			 perch_symbols_dso_name(symbols, dso), cli_word(misses, "has", "have"),
			 dso->path);
}

/* Reports a jitdump that cannot be used, or not in whole. */
static void print_jitdump(const struct cli_input *input, const struct perch_dso *dso,
			  size_t *processes)
{
	const char *error = perch_jitdump_error(dso->jitdump);
	uint64_t damaged = perch_jitdump_damaged_records(dso->jitdump);
	char path[PATH_MAX];

	if ((!error && !damaged) || ++*processes > MAX_NAMED_FILES)
		return;
	perch_clean_text(dso->path, path, sizeof(path));
	if (error)
		cli_note(input->command, "functions of a JIT compiler in %s were not read: %s",
			 path, error);
	else
		cli_note(input->command, "%" PRIu64 " %s of %s %s damaged and %s skipped", damaged,
			 cli_word(damaged, "record", "records"), path,
			 cli_word(damaged, "is", "are"), cli_word(damaged, "was", "were"));
}

/* Files whose addresses have no names. */
struct nameless {
	size_t files;	 /* that are missing, or not the ones that were mapped */
	size_t stripped; /* without symbols */
	uint64_t addresses_of_stripped;
};

static void print_nameless(const struct cli_input *input, const struct perch_dso *dso,
			   const char *error, struct nameless *nameless)
{
	uint64_t misses = perch_symbols_misses(perch_session_symbols(input->session), dso);
	uint64_t lines;
	char path[PATH_MAX];

	/* print_debug_errors() has a line about the others */
	if (is_stripped(error) &&
	    perch_symbols_debug_error(perch_session_symbols(input->session), dso, &lines))
		return;
	if (is_stripped(error) && misses) {
		nameless->stripped++;
		nameless->addresses_of_stripped += misses;
	} else if (!is_stripped(error) && nameless->files++ < MAX_NAMED_DSOS) {
		perch_clean_text(dso->path, path, sizeof(path));
		cli_note(input->command, "%" PRIu64 " %s in %s %s: %s%s", misses,
			 cli_word(misses, "address", "addresses"), path,
			 cli_word(misses, "has no name", "have no names"), error,
			 remedy_of(dso, error));
	}
}

/* Reports the kernel, and program files that are missing, not the ones that were mapped, or
 * stripped. */
static void print_symbol_errors(const struct cli_input *input)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	struct nameless nameless = { 0 };
	size_t processes = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *error =
			perch_symbols_error(perch_session_symbols(input->session), dsos[i]);

		print_generated_code(input, dsos[i], &processes);
		if (dsos[i]->jitdump)
			print_jitdump(input, dsos[i], &processes);
		if (!dsos[i]->used || !error)
			continue;
		if (dsos[i]->kind == PERCH_DSO_KERNEL)
			cli_note(input->command, "kernel addresses have no symbols: %s", error);
		if (dsos[i]->kind == PERCH_DSO_FILE || dsos[i]->kind == PERCH_DSO_MODULE)
			print_nameless(input, dsos[i], error, &nameless);
	}
	if (processes > MAX_NAMED_FILES)
		cli_note(input->command, "%zu other %s generated code without names",
			 processes - MAX_NAMED_FILES,
			 cli_word(processes - MAX_NAMED_FILES, "process has", "processes have"));
	if (nameless.files > MAX_NAMED_DSOS)
		cli_note(input->command, "addresses in %zu other %s have no names",
			 nameless.files - MAX_NAMED_DSOS,
			 cli_word(nameless.files - MAX_NAMED_DSOS, "file", "files"));
	if (nameless.stripped)
		cli_note(input->command,
			 "%" PRIu64 " %s in stripped files (%zu) %s: install their debug "
			 "information, or set DEBUGINFOD_URLS",
			 nameless.addresses_of_stripped,
			 cli_word(nameless.addresses_of_stripped, "address", "addresses"),
			 nameless.stripped,
			 cli_word(nameless.addresses_of_stripped, "has no name", "have no names"));
}

/* Reports debug information that is damaged, or of which a part is missing. */
static void print_debug_errors(const struct cli_input *input)
{
	const struct perch_symbols *symbols = perch_session_symbols(input->session);
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	char path[PATH_MAX];
	size_t files = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t addresses;
		const char *error = perch_symbols_debug_error(symbols, dsos[i], &addresses);

		if (!error || !addresses || files++ >= MAX_NAMED_DSOS)
			continue;
		perch_clean_text(dsos[i]->path, path, sizeof(path));
		cli_note(input->command, "%" PRIu64 " %s in %s %s a name or line: %s", addresses,
			 cli_word(addresses, "address", "addresses"), path,
			 cli_word(addresses, "lacks", "lack"), error);
	}
	if (files > MAX_NAMED_DSOS)
		cli_note(input->command,
			 "addresses in %zu other %s lack a name or line for such reasons",
			 files - MAX_NAMED_DSOS, cli_word(files - MAX_NAMED_DSOS, "file", "files"));
}

static void print_missing_data(const struct cli_input *input,
			       const struct perch_reader_damage *damage)
{
	const char *command = input->command, *path = input->path;

	if (damage->missing_bytes > INT64_MAX)
		cli_note(
			command,
			"%s is damaged: the data size in its header is not valid; the records that "
			"the file has are reported",
			path);
	else if (damage->missing_bytes)
		cli_note(command,
			 "%s is truncated: %" PRIu64
			 " bytes of its data are missing; the rest is reported",
			 path, damage->missing_bytes);
	else if (damage->unfinished)
		cli_note(command,
			 "%s is incomplete: the recorder did not finish it, or its end is missing; "
			 "its features (machine, command line, build ids) are missing",
			 path);
	if (damage->missing_files)
		cli_note(command,
			 "%" PRIu32
			 " files of %s (data.0 and so on) are missing, with all their records",
			 damage->missing_files, path);
	if (damage->too_large)
		cli_note(command,
			 "%s would decompress to more than 64 times its size: %" PRIu64
			 " bytes of its data were not read",
			 path, damage->corrupt_bytes);
	else if (damage->corrupt_bytes)
		cli_note(command,
			 "%s is damaged: the last %" PRIu64
			 " bytes of its data are not records and were not read",
			 path, damage->corrupt_bytes);
}

static void print_bad_records(const struct cli_input *input,
			      const struct perch_reader_damage *damage)
{
	if (damage->undecoded_records)
		cli_note(input->command, "%" PRIu64 " %s of %s cannot be decoded and %s %s",
			 damage->undecoded_records,
			 cli_word(damage->undecoded_records, "record", "records"), input->path,
			 cli_word(damage->undecoded_records, "was", "were"),
			 input->options.keep_damaged ? "shown as bytes" : "left out");
	if (damage->late_records)
		cli_note(input->command,
			 "%" PRIu64 " %s of %s %s shown after newer ones: the recorder ended a "
			 "round too early, or the clock went back",
			 damage->late_records, cli_word(damage->late_records, "record", "records"),
			 input->path, cli_word(damage->late_records, "is", "are"));
	if (damage->unknown_records)
		cli_note(input->command,
			 "%" PRIu64 " %s of %s %s that this version does not support",
			 damage->unknown_records,
			 cli_word(damage->unknown_records, "record", "records"), input->path,
			 cli_word(damage->unknown_records, "has a type", "have types"));
}

/*
 * For a file of record --overwrite: its rings are never full, but lose records while they are
 * paused.
 */
static bool is_snapshot(const struct cli_input *input)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);

	return nr && events[0].attr.write_backward;
}

static void print_lost(const struct cli_input *input, const struct perch_session_stats *stats)
{
	if (stats->throttled)
		cli_note(input->command,
			 "the kernel throttled sampling %" PRIu64
			 " %s: record with a lower frequency (-F) to sample evenly",
			 stats->throttled, cli_word(stats->throttled, "time", "times"));
	if (stats->lost && is_snapshot(input))
		cli_note(input->command,
			 "%" PRIu64 " %s lost while the rings were paused for the previous "
			 "file: smaller rings (record -m) are paused for less time",
			 stats->lost, cli_word(stats->lost, "record was", "records were"));
	else if (stats->lost)
		cli_note(input->command,
			 "%" PRIu64 " %s lost while recording: use larger rings (record -m) "
			 "or a lower frequency (-F)",
			 stats->lost, cli_word(stats->lost, "record was", "records were"));
	if (stats->truncated_aux)
		cli_note(input->command,
			 "%" PRIu64
			 " AUX %s lost data while recording: use a larger AUX area (perf "
			 "record -m ,PAGES)",
			 stats->truncated_aux, cli_word(stats->truncated_aux, "record", "records"));
}

/* Prints why the chains that end in a DSO are incomplete, in one line. */
static void print_unwinding_of_dso(const struct cli_input *input, const struct perch_dso *dso,
				   size_t *lines)
{
	static const struct {
		enum perch_unwind_end end;
		const char *text;
	} reasons[] = {
		{ PERCH_UNWIND_NO_FILE, "its file cannot be used" },
		{ PERCH_UNWIND_NO_RULE, "it has no call frame information there" },
		{ PERCH_UNWIND_BAD_RULE, "its call frame information leads outside of the stack" },
		{ PERCH_UNWIND_LOOP, "its frames are not in order" },
		{ PERCH_UNWIND_NO_MAPPING, "no code is mapped at the return address" },
	};
	const struct perch_unwinder *unwinder = perch_session_unwinder(input->session);
	const char *error = perch_unwinder_error(unwinder, dso);
	char path[PATH_MAX];

	perch_clean_text(dso->path, path, sizeof(path));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		uint64_t count = perch_unwinder_count(unwinder, dso, reasons[i].end);

		if (count && ++*lines <= MAX_NAMED_DSOS)
			cli_note(input->command, "%" PRIu64 " call %s in %s: %s", count,
				 cli_word(count, "chain ends", "chains end"), path,
				 error && reasons[i].end == PERCH_UNWIND_NO_FILE ? error
										 : reasons[i].text);
	}
}

/* What unwinding of user stacks could not find. */
static void print_unwinding(const struct cli_input *input, const struct perch_session_stats *stats)
{
	const struct perch_unwinder *unwinder = perch_session_unwinder(input->session);
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	uint64_t truncated;
	size_t lines = 0;

	if (stats->not_unwound)
		cli_note(input->command,
			 "%" PRIu64 " %s copies of user stacks (--call-graph dwarf) that cannot be "
			 "unwound: only registers of x86-64, i386 and arm64 are supported",
			 stats->not_unwound,
			 cli_word(stats->not_unwound, "sample has", "samples have"));
	if (!unwinder)
		return;
	truncated = perch_unwinder_count(unwinder, NULL, PERCH_UNWIND_TRUNCATED);
	if (truncated)
		cli_note(input->command,
			 "%" PRIu64
			 " call %s outer functions: the copies of stacks are too short; record "
			 "with larger ones (--call-graph dwarf,SIZE)",
			 truncated, cli_word(truncated, "chain lacks its", "chains lack their"));
	for (size_t i = 0; i < nr; i++)
		print_unwinding_of_dso(input, dsos[i], &lines);
	if (lines > MAX_NAMED_DSOS)
		cli_note(input->command, "call chains end in %zu other %s for such reasons",
			 lines - MAX_NAMED_DSOS,
			 cli_word(lines - MAX_NAMED_DSOS, "place", "places"));
}

void cli_input_print_chain_notes(const struct cli_input *input)
{
	struct perch_session_stats stats;

	perch_session_get_stats(input->session, &stats);
	print_unwinding(input, &stats);
	if (stats.incomplete_chains)
		cli_note(input->command,
			 "%" PRIu64 " of %" PRIu64
			 " samples have no user call chain: the later record that has it "
			 "(--call-graph fp,defer) was lost or is not in the file",
			 stats.incomplete_chains, stats.samples);
	if (stats.cut_chains)
		cli_note(input->command,
			 "%" PRIu64
			 " call %s longer than %d functions: the outermost ones are left out",
			 stats.cut_chains, cli_word(stats.cut_chains, "chain is", "chains are"),
			 PERCH_MAX_CALL_CHAIN);
}

int cli_input_print_header(const struct cli_input *input, FILE *out, bool long_header)
{
	struct perch_reader *reader = perch_session_reader(input->session);

	return long_header ? perch_reader_print_long_header(reader, out)
			   : perch_reader_print_header(reader, out);
}

void cli_input_print_notes(const struct cli_input *input)
{
	struct perch_session_stats stats;

	perch_session_get_stats(input->session, &stats);
	print_missing_data(input, &stats.damage);
	print_bad_records(input, &stats.damage);
	print_symbol_errors(input);
	print_debug_errors(input);
	print_lost(input, &stats);
	if (stats.unknown_counts)
		cli_note(input->command,
			 "%" PRIu64
			 " counts in samples have the id of no event of %s: they are left out",
			 stats.unknown_counts, input->path);
}

int cli_input_refuse_dump(void *command, const char *argument, bool negated)
{
	(void)argument, (void)negated;
	return cli_usage_error(command,
			       "no option -D: 'perch dump' prints every record with its fields");
}
