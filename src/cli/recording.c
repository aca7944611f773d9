/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "options.h"
#include "recording.h"

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

static void handle_bus_errors(const struct cli_recording *recording)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	char path[400];

	perch_clean_text(path, sizeof(path), recording->path);
	snprintf(bus_error_message, sizeof(bus_error_message),
		 "perch %s: %s, or a binary that it names, became shorter while it was read\n",
		 recording->command, path);
	sigaction(SIGBUS, &action, NULL);
}

/*
 * True if the file is from another machine or another kernel, if the file shows that. Kernel
 * addresses then do not match the symbols of this machine.
 */
static bool is_foreign(const struct perch_reader *reader)
{
	struct perch_reader_damage damage;
	struct utsname here;
	bool any = false;
	const struct {
		enum perch_feature feature;
		const char *here;
	} facts[] = {
		{ PERCH_FEATURE_HOSTNAME, here.nodename },
		{ PERCH_FEATURE_OSRELEASE, here.release },
		{ PERCH_FEATURE_ARCH, here.machine },
	};

	if (uname(&here))
		return false;
	for (size_t i = 0; i < CLI_NR(facts); i++) {
		const char *there = perch_reader_text(reader, facts[i].feature);

		if (there && strcmp(there, facts[i].here))
			return true;
		any |= there != NULL;
	}
	/*
	 * A truncated file has no such features, and is probably of this machine. A complete file
	 * without them is from a pipe, recorded by perf before Linux 4.18.
	 */
	perch_reader_get_damage(reader, &damage);
	return !any && ((!damage.unfinished && !damage.missing_bytes) ||
			perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE);
}

int cli_recording_open(struct cli_recording *recording, const char *command, const char *path,
		       enum perch_order order, const char *kallsyms)
{
	const struct perch_build_id *build_ids;
	struct perch_symbols_options options = { .kallsyms = kallsyms };
	struct perch_error err;
	size_t nr;
	int rc;

	if (!path)
		path = default_input();
	memset(recording, 0, sizeof(*recording));
	recording->command = command;
	recording->path = strcmp(path, "-") ? path : "standard input";
	handle_bus_errors(recording);
	rc = perch_reader_open(&recording->reader, path, order, &err);
	if (!rc && order == PERCH_ORDER_TIME)
		rc = perch_reader_merge_deferred(recording->reader, &err);
	if (!rc)
		rc = perch_processes_new(&recording->processes, &err);
	if (!rc) {
		options.foreign = is_foreign(recording->reader);
		rc = perch_symbols_new(&recording->symbols, &options, &err);
	}
	if (rc) {
		cli_recording_close(recording);
		return cli_error(command, &err);
	}
	nr = perch_reader_build_ids(recording->reader, &build_ids);
	for (size_t i = 0; i < nr; i++)
		perch_processes_add_build_id(recording->processes, build_ids[i].path,
					     build_ids[i].bytes, build_ids[i].size);
	return 0;
}

void cli_recording_close(struct cli_recording *recording)
{
	perch_symbols_free(recording->symbols);
	perch_processes_free(recording->processes);
	perch_reader_close(recording->reader);
	recording->symbols = NULL;
	recording->processes = NULL;
	recording->reader = NULL;
}

bool cli_recording_count(struct cli_recording *recording, const struct perch_record *record)
{
	if (record->type == PERCH_RECORD_LOST)
		recording->lost_records += record->lost.lost;
	else if (record->type == PERCH_RECORD_LOST_SAMPLES)
		recording->lost_samples += record->lost.lost;
	else if (record->type == PERCH_RECORD_THROTTLE)
		recording->throttled++;
	else
		return false;
	return true;
}

int cli_recording_next(struct cli_recording *recording, struct perch_record *record)
{
	struct perch_error err;
	int rc = perch_reader_next(recording->reader, record, &err);

	if (rc < 0) {
		cli_error(recording->command, &err);
		return rc;
	}
	if (rc == 0)
		return 0;
	if (record->type == PERCH_RECORD_SAMPLE)
		return 1;
	if (!cli_recording_count(recording, record) &&
	    perch_processes_apply(recording->processes, record) < 0) {
		cli_note(recording->command, "out of memory for the processes of %s",
			 recording->path);
		return -1;
	}
	return 1;
}

/*
 * A recorder that reads the lost counts of its events at the end writes LOST_SAMPLES records. They
 * include the losses that LOST records report.
 */
uint64_t cli_recording_lost(const struct cli_recording *recording)
{
	return recording->lost_samples > recording->lost_records ? recording->lost_samples
								 : recording->lost_records;
}

/*
 * Reports only kernel symbols. For other DSOs without symbols, which are many, the report shows
 * addresses.
 */
static void print_kernel_symbol_errors(const struct cli_recording *recording)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(recording->processes, &dsos);

	for (size_t i = 0; i < nr; i++) {
		const char *error = perch_symbols_error(recording->symbols, dsos[i]);

		if (dsos[i]->kind == PERCH_DSO_KERNEL && dsos[i]->used && error)
			cli_note(recording->command, "kernel addresses have no symbols: %s", error);
	}
}

static void print_missing_data(const struct cli_recording *recording,
			       const struct perch_reader_damage *damage)
{
	const char *command = recording->command, *path = recording->path;

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

static void print_bad_records(const struct cli_recording *recording,
			      const struct perch_reader_damage *damage)
{
	if (damage->undecoded_records)
		cli_note(recording->command,
			 "%" PRIu64 " records of %s cannot be decoded and were %s",
			 damage->undecoded_records, recording->path,
			 recording->prints_damaged ? "shown as bytes" : "left out");
	if (damage->unknown_records)
		cli_note(recording->command,
			 "%" PRIu64 " records of %s have types that this version does not support",
			 damage->unknown_records, recording->path);
}

/*
 * For a file of record --overwrite: its rings are never full, but lose records while they are
 * paused.
 */
static bool is_snapshot(const struct cli_recording *recording)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(recording->reader, &events);

	return nr && events[0].attr.write_backward;
}

static void print_lost(const struct cli_recording *recording)
{
	uint64_t lost = cli_recording_lost(recording);

	if (recording->throttled)
		cli_note(recording->command,
			 "the kernel throttled sampling %" PRIu64
			 " times: record with a lower frequency (-F) to sample evenly",
			 recording->throttled);
	if (lost && is_snapshot(recording))
		cli_note(recording->command,
			 "%" PRIu64
			 " records were lost while the rings were paused for the previous "
			 "file: smaller rings (record -m) are paused for less time",
			 lost);
	else if (lost)
		cli_note(recording->command,
			 "%" PRIu64
			 " records were lost while recording: use larger rings (record -m) "
			 "or a lower frequency (-F)",
			 lost);
}

void cli_recording_print_damage(const struct cli_recording *recording)
{
	struct perch_reader_damage damage;

	perch_reader_get_damage(recording->reader, &damage);
	print_missing_data(recording, &damage);
	print_bad_records(recording, &damage);
	print_kernel_symbol_errors(recording);
	print_lost(recording);
}

int cli_recording_refuse_dump(void *command, const char *argument, bool negated)
{
	(void)argument, (void)negated;
	return cli_usage_error(command,
			       "no option -D: 'perch dump' prints every record with its fields");
}
