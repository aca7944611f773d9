/* SPDX-License-Identifier: MIT */
/* Messages after a file was read: what its records, names and call chains lack. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/jitdump.h>
#include "jit_advice.h"
#include "input.h"
#include "options.h"

#define MAX_NAMED_FILES 3
#define MAX_NAMED_DSOS	8

#define FORCE_REMEDY	"use -f to read it anyway, if you trust that user"

/* Stripped files are many, and have one line together. */
static bool is_stripped(enum perch_symbols_reason reason)
{
	return reason == PERCH_SYMBOLS_STRIPPED || reason == PERCH_SYMBOLS_NOT_ON_SERVERS;
}

/*
 * What would help, after the reason of perch_symbols_error(). path: of the DSO, without control
 * characters. The cache finds a file by its build id.
 */
static void put_remedy_of(const struct perch_dso *dso, enum perch_symbols_reason reason,
			  const char *path, char remedy[PATH_MAX + 300])
{
	static const struct {
		enum perch_symbols_reason reason;
		const char *remedy;
		bool copy; /* below a directory of --symfs */
	} remedies[] = {
		{ PERCH_SYMBOLS_NOT_MOUNTED,
		  " (of a container, or unmounted); report while the process runs, or", true },
		{ PERCH_SYMBOLS_OTHER_MOUNTS, "; report while the process runs, or", true },
		{ PERCH_SYMBOLS_OTHER_FILE,
		  "; report with --symfs and the root directory of the process, or", true },
		{ PERCH_SYMBOLS_NO_FILE_ANY_MORE,
		  "; report with --symfs and the root directory of the process, or", true },
		{ PERCH_SYMBOLS_DELETED, "; report", true },
		{ PERCH_SYMBOLS_REPLACED, "; record again", false },
		{ PERCH_SYMBOLS_NO_PERMISSION, "; report as root", false },
	};
	bool cached = dso->build_id_size && reason != PERCH_SYMBOLS_NO_PERMISSION;
	size_t i = 0;

	remedy[0] = '\0';
	while (i < sizeof(remedies) / sizeof(remedies[0]) && remedies[i].reason != reason)
		i++;
	if (i < sizeof(remedies) / sizeof(remedies[0]))
		snprintf(remedy, PATH_MAX + 300, "%s%s%s%s", remedies[i].remedy,
			 remedies[i].copy ? " with --symfs DIR and a copy of the file at DIR" : "",
			 remedies[i].copy ? path : "",
			 cached ? ", or add the file that was recorded to the build id cache: "
				  "perch buildid-cache -a FILE"
				: "");
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

#define REMEDY_BYTES 1024

/* The name of the first thread of the process that a map file is of. */
static const char *program_of_map(const struct cli_input *input, const struct perch_dso *dso,
				  uint32_t *pid)
{
	const struct perch_thread *thread;

	if (sscanf(dso->path, "/tmp/perf-%" SCNu32 ".map", pid) != 1)
		return NULL;
	thread = perch_processes_thread(perch_session_processes(input->session), *pid, *pid);
	return thread ? perch_thread_comm(thread) : NULL;
}

/* What would make a map file usable. A copy would be newer than the recording, and not be used,
 * except below the directory of --symfs. *advised: another note has the advice. */
static const char *map_remedy(const struct cli_input *input, const struct perch_dso *dso,
			      enum perch_symbols_reason reason, bool *advised,
			      char remedy[REMEDY_BYTES])
{
	bool other = reason == PERCH_SYMBOLS_OTHER_PIDS,
	     unknown = !dso->pid_namespace && reason == PERCH_SYMBOLS_NO_FILE;
	char advice[512];
	uint32_t pid = 0;
	int length = 0;

	if (reason == PERCH_SYMBOLS_LATER_MAP)
		snprintf(remedy, REMEDY_BYTES,
			 "if it is that of this process, copy it to DIR%.40s and report with "
			 "--symfs DIR, with copies of the other files below DIR",
			 dso->path);
	else if (reason == PERCH_SYMBOLS_OTHER_OWNER)
		snprintf(remedy, REMEDY_BYTES, FORCE_REMEDY);
	else if (!other)
		length = snprintf(remedy, REMEDY_BYTES,
				  "if it is code of a JIT compiler, run the program with its "
				  "option that writes this file (%s)",
				  *advised ? "see above"
					   : cli_jit_advice(program_of_map(input, dso, &pid), pid,
							    advice, sizeof(advice)));
	*advised |= length > 0;
	if (other || unknown)
		snprintf(remedy + length, REMEDY_BYTES - (size_t)length,
			 "%sreport while the process runs, or rename (mv) its "
			 "/tmp/perf-N.map to %.40s",
			 other ? "" : "; if it ran in another pid namespace (container), ",
			 dso->path);
	return remedy;
}

/* Reports addresses in the code of a JIT compiler that have no name, and what would give them one.
 */
static void print_generated_code(const struct cli_input *input, const struct perch_dso *dso,
				 size_t *processes, bool *advised)
{
	struct perch_symbols *symbols = perch_session_symbols(input->session);
	const char *error = perch_symbols_error(symbols, dso);
	uint64_t misses = perch_symbols_misses(symbols, dso);
	uint64_t damaged = perch_symbols_damaged_lines(symbols, dso);
	char remedy[REMEDY_BYTES];

	/* a jitdump that cannot be used has its own note, with the reason */
	if (misses && !damaged && has_unusable_jitdump(input, dso))
		return;
	if (!perch_dso_is(dso, PERCH_DSO_IS_MEMORY) || strncmp(dso->path, "/tmp/perf-", 10) ||
	    (!misses && !damaged) || ++*processes > MAX_NAMED_FILES)
		return;
	if (damaged)
		cli_note(input->command, "%" PRIu64 " %s of %s %s damaged and %s skipped", damaged,
			 cli_word(damaged, "line", "lines"), dso->path,
			 cli_word(damaged, "is", "are"), cli_word(damaged, "was", "were"));
	if (misses && error)
		cli_note(input->command, "%" PRIu64 " %s of %s %s no name (%s): %s", misses,
			 cli_word(misses, "address", "addresses"),
			 perch_symbols_dso_name(symbols, dso), cli_word(misses, "has", "have"),
			 error,
			 map_remedy(input, dso, perch_symbols_error_reason(symbols, dso), advised,
				    remedy));
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
	uint64_t lines = perch_jitdump_damaged_lines(dso->jitdump);
	uint64_t damaged = perch_jitdump_damaged_records(dso->jitdump) - lines;
	char path[PATH_MAX];

	if ((!error && !damaged && !lines) || ++*processes > MAX_NAMED_FILES)
		return;
	perch_clean_text(dso->path, path, sizeof(path));
	if (error)
		cli_note(input->command, "functions of a JIT compiler in %s were not read: %s%s",
			 path, error,
			 perch_jitdump_is_of_other_user(dso->jitdump) ? "; " FORCE_REMEDY : "");
	if (!error && lines)
		cli_note(input->command,
			 "%" PRIu64 " %s of source lines in %s %s damaged: %s no lines, but its "
			 "name and code",
			 lines, cli_word(lines, "record", "records"), path,
			 cli_word(lines, "is", "are"),
			 cli_word(lines, "the function has", "each function has"));
	if (!error && damaged)
		cli_note(input->command, "%" PRIu64 " %s of %s %s damaged and %s skipped", damaged,
			 cli_word(damaged, "record", "records"), path,
			 cli_word(damaged, "is", "are"), cli_word(damaged, "was", "were"));
}

/* Files with addresses that have no names. */
struct nameless {
	size_t files;	 /* that are missing, or not the ones that were mapped */
	size_t stripped; /* without symbols */
	size_t asked;	 /* of these: debuginfod does not have their debug information */
	size_t not_here; /* of these: not the files at their paths here */
	uint64_t addresses_of_stripped, most;
	const struct perch_dso *largest; /* the stripped file with most of these addresses */
};

/* False if the file at the path is missing, or another one. */
static bool is_at_its_path(const struct cli_input *input, const struct perch_dso *dso)
{
	uint8_t here[20] = { 0 };

	/* perf may pad build ids by zeros */
	return input->options.symbols.root || dso->path[0] != '/' || !dso->build_id_size ||
	       (perch_build_id_of_file(dso->path, here, NULL) > 0 &&
		!memcmp(here, dso->build_id, dso->build_id_size));
}

static void print_nameless(const struct cli_input *input, const struct perch_dso *dso,
			   const char *error, struct nameless *nameless)
{
	const struct perch_symbols *symbols = perch_session_symbols(input->session);
	enum perch_symbols_reason reason = perch_symbols_error_reason(symbols, dso);
	uint64_t misses = perch_symbols_misses(symbols, dso), lines;
	char path[PATH_MAX], remedy[PATH_MAX + 300];

	/* print_debug_errors() has a line about the others */
	if (is_stripped(reason) && perch_symbols_debug_error(symbols, dso, &lines))
		return;
	if (is_stripped(reason) && misses) {
		nameless->stripped++;
		nameless->asked += reason == PERCH_SYMBOLS_NOT_ON_SERVERS;
		nameless->not_here += !is_at_its_path(input, dso);
		nameless->addresses_of_stripped += misses;
		if (misses > nameless->most) {
			nameless->most = misses;
			nameless->largest = dso;
		}
	} else if (!is_stripped(reason) && misses && nameless->files++ < MAX_NAMED_DSOS) {
		perch_clean_text(dso->path, path, sizeof(path));
		put_remedy_of(dso, reason, path, remedy);
		cli_note(input->command, "%" PRIu64 " %s in %s %s: %s%s", misses,
			 cli_word(misses, "address", "addresses"), path,
			 cli_word(misses, "has no name", "have no names"), error, remedy);
	}
}

/* What would give the stripped files names. */
static void put_remedy(const struct cli_input *input, const struct nameless *nameless,
		       char remedy[200])
{
	bool servers = input->options.symbols.debuginfod && getenv("DEBUGINFOD_URLS");
	const char *their = cli_word(nameless->stripped, "its", "their");

	if (!nameless->asked)
		snprintf(remedy, 200, "install %s debug information%s", their,
			 servers ? "" : ", or set DEBUGINFOD_URLS");
	else if (nameless->asked == nameless->stripped)
		snprintf(remedy, 200,
			 "the servers of DEBUGINFOD_URLS do not have %s debug information: "
			 "install it, or add a server that has it (libdebuginfod keeps an answer, "
			 "by default for 10 minutes)",
			 their);
	else
		snprintf(remedy, 200,
			 "install their debug information; the servers of DEBUGINFOD_URLS do not "
			 "have that of %zu of them",
			 nameless->asked);
}

static void print_stripped(const struct cli_input *input, const struct nameless *nameless)
{
	uint64_t nr = nameless->addresses_of_stripped;
	char path[PATH_MAX], others[80] = "", remedy[200], other_root[200] = "", number[40] = "it";

	perch_clean_text(nameless->largest->path, path, sizeof(path));
	if (nameless->stripped > 1)
		snprintf(others, sizeof(others), " (%" PRIu64 ") and %zu other %s", nameless->most,
			 nameless->stripped - 1, cli_word(nameless->stripped - 1, "file", "files"));
	put_remedy(input, nameless, remedy);
	if (nameless->not_here && nameless->stripped > 1)
		snprintf(number, sizeof(number), "%zu of them", nameless->not_here);
	if (nameless->not_here)
		snprintf(other_root, sizeof(other_root),
			 "; %s %s not at %s here: if the program ran in another root directory "
			 "(chroot, container), report with --symfs ROOT",
			 number, cli_word(nameless->not_here, "is", "are"),
			 cli_word(nameless->not_here, "its path", "their paths"));
	cli_note(input->command, "%" PRIu64 " %s no name, because %s%s %s stripped: %s%s", nr,
		 cli_word(nr, "address has", "addresses have"), path, others,
		 cli_word(nameless->stripped, "is", "are"), remedy, other_root);
}

/* Files whose names may be those of another build. */
struct unverified {
	size_t files;
	size_t maps;	    /* of these: perf maps, which have no build id */
	size_t other_inode; /* of these: on this machine, but not with the recorded inode or content
			     */
	size_t undated;	    /* of these: the recording does not say when it was made */
};

static void count_unverified(const struct cli_input *input, const struct perch_dso *dso,
			     struct unverified *unverified)
{
	const struct perch_symbols *symbols = perch_session_symbols(input->session);
	enum perch_symbols_reason reason;
	char path[PATH_MAX];

	if (!dso->used ||
	    perch_symbols_get_state(symbols, dso, &reason) != PERCH_SYMBOLS_UNVERIFIED)
		return;
	unverified->files++;
	unverified->maps += perch_dso_is(dso, PERCH_DSO_IS_MEMORY);
	unverified->other_inode += reason == PERCH_SYMBOLS_OTHER_FILE ||
				   reason == PERCH_SYMBOLS_REPLACED;
	unverified->undated += reason == PERCH_SYMBOLS_NO_TIME;
	if (!input->verbose)
		return;
	perch_clean_text(dso->path, path, sizeof(path));
	cli_note(input->command, "names of %s are unverified: %s%s", path,
		 perch_dso_is(dso, PERCH_DSO_IS_MEMORY) ? "" : "no build id was recorded, and ",
		 perch_symbols_doubt(symbols, dso));
}

static void print_unverified(const struct cli_input *input, const struct unverified *unverified)
{
	const char *how = input->verbose ? "" : " (-v lists them)";
	const char *what = !unverified->maps ? cli_word(unverified->files, "program", "programs")
			   : unverified->maps < unverified->files
				   ? "programs and perf maps"
				   : cli_word(unverified->files, "perf map", "perf maps");
	bool programs = unverified->maps < unverified->files;

	if (unverified->undated == unverified->files) {
		cli_note(input->command,
			 "names of %zu %s are unverified: %sthe recording does not say when it was "
			 "made%s: record with perch record, or with perf record -k",
			 unverified->files, what, programs ? "no build id, and " : "", how);
		return;
	}
	cli_note(input->command, "names of %zu %s are unverified%s%s%s", unverified->files, what,
		 programs ? ": no build id" : "", how,
		 unverified->other_inode
			 ? "; the files at their paths were replaced or copied since the "
			   "recording: link programs with --build-id, or report with --symfs and "
			   "the files that were recorded"
			 : "");
}

/* Reports the kernel, and program files that are missing, not the ones that were mapped, or
 * stripped. */
static void print_symbol_errors(const struct cli_input *input)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	struct unverified unverified = { 0 };
	struct nameless nameless = { 0 };
	size_t processes = 0;
	bool advised = false;

	for (size_t i = 0; i < nr; i++) {
		const char *error =
			perch_symbols_error(perch_session_symbols(input->session), dsos[i]);

		print_generated_code(input, dsos[i], &processes, &advised);
		if (dsos[i]->jitdump)
			print_jitdump(input, dsos[i], &processes);
		count_unverified(input, dsos[i], &unverified);
		if (!dsos[i]->used || !error)
			continue;
		if (perch_dso_is(dsos[i], PERCH_DSO_IS_KERNEL))
			cli_note(input->command, "kernel addresses have no symbols: %s", error);
		if (perch_dso_is(dsos[i], PERCH_DSO_IS_ON_DISK))
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
		print_stripped(input, &nameless);
	if (unverified.files)
		print_unverified(input, &unverified);
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
			 "%s would decompress to more than 2048 times its size, or needs more than "
			 "256 times its size in memory: %" PRIu64
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
	if (damage->unknown_features)
		cli_note(input->command,
			 "%u %s in the header of %s %s not supported by this version (%s %u)",
			 damage->unknown_features,
			 cli_word(damage->unknown_features, "feature", "features"), input->path,
			 cli_word(damage->unknown_features, "is", "are"),
			 cli_word(damage->unknown_features, "number", "the first is number"),
			 damage->unknown_feature);
	if (damage->damaged_functions)
		cli_note(input->command,
			 "a part of the functions that %s has cannot be read: names are missing",
			 input->path);
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

bool cli_input_has_counts(const struct cli_input *input)
{
	const void *bytes;
	size_t size;

	return !perch_reader_feature(perch_session_reader(input->session), PERCH_FEATURE_STAT,
				     &bytes, &size);
}

void cli_input_print_notes(const struct cli_input *input)
{
	struct perch_session_stats stats;

	if (cli_input_has_counts(input) && strcmp(input->command, "stat") != 0)
		cli_note(input->command,
			 "%s is from stat record: it has counts and no samples; perch stat report "
			 "prints them%s",
			 input->path, strcmp(input->command, "report") ? "" : ", too");

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
