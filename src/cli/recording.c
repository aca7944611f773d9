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

/* As perf's: what is piped in comes before a file perf.data, also when nothing comes: an old file
 * is not what was meant. */
static const char *default_input(void)
{
	struct stat status;

	return !fstat(STDIN_FILENO, &status) && S_ISFIFO(status.st_mode) ? "-" : "perf.data";
}

/* Files are mapped: of one that somebody makes shorter meanwhile, the pages behind its new end are
 * gone. */
static char became_shorter[512];

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != BUS_ADRERR) {
		signal(number, SIG_DFL); /* what caused it is done again, and ends us */
		return;
	}
	while (write(STDERR_FILENO, became_shorter, strlen(became_shorter)) < 0 && errno == EINTR)
		;
	_exit(CLI_EXIT_FAILURE);
}

static void tell_of_shorter_files(const struct cli_recording *recording)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	char path[400];

	perch_clean_text(path, sizeof(path), recording->path);
	snprintf(became_shorter, sizeof(became_shorter),
		 "perch %s: %s, or a binary that it names, became shorter while it was read.\n",
		 recording->command, path);
	sigaction(SIGBUS, &action, NULL);
}

/*
 * Whether another machine or another kernel was recorded than the one that runs here, as far as the
 * file tells: its kernel's addresses mean nothing here then.
 */
static bool recorded_elsewhere(const struct perch_reader *reader)
{
	struct perch_reader_damage damage;
	struct utsname here;
	bool told = false;
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
		told |= there != NULL;
	}
	/* what was cut off told it behind its records, probably here; what never told is a pipe
	 * from before Linux 4.18 */
	perch_reader_get_damage(reader, &damage);
	return !told && ((!damage.unfinished && !damage.missing_bytes) ||
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
	tell_of_shorter_files(recording);
	rc = perch_reader_open(&recording->reader, path, order, &err);
	if (!rc && order == PERCH_ORDER_TIME)
		rc = perch_reader_merge_deferred(recording->reader, &err);
	if (!rc)
		rc = perch_processes_new(&recording->processes, &err);
	if (!rc) {
		options.foreign = recorded_elsewhere(recording->reader);
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

uint64_t cli_recording_lost(const struct cli_recording *recording)
{
	return recording->lost_samples > recording->lost_records ? recording->lost_samples
								 : recording->lost_records;
}

/* Why the kernel's addresses have no names; files without symbols are common and speak for
 * themselves. */
static void tell_trouble(const struct cli_recording *recording)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(recording->processes, &dsos);

	for (size_t i = 0; i < nr; i++) {
		const char *trouble = perch_symbols_error(recording->symbols, dsos[i]);

		if (dsos[i]->kind == PERCH_DSO_KERNEL && dsos[i]->used && trouble)
			cli_note(recording->command, "the kernel's addresses have no names: %s",
				 trouble);
	}
}

/* Of a flight recorder: such rings are never full, and lose what comes while they stand still. */
static bool is_snapshot(const struct cli_recording *recording)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(recording->reader, &events);

	return nr && events[0].attr.write_backward;
}

void cli_recording_tell_damage(const struct cli_recording *recording)
{
	struct perch_reader_damage damage;

	perch_reader_get_damage(recording->reader, &damage);
	if (damage.missing_bytes)
		cli_note(recording->command,
			 "%s is truncated: %" PRIu64
			 " bytes of its data are missing. What is there is shown.",
			 recording->path, damage.missing_bytes);
	else if (damage.unfinished)
		cli_note(
			recording->command,
			"%s was not ended by its recorder, or is cut off behind its data: what it told of its recording is missing.",
			recording->path);
	if (damage.missing_files)
		cli_note(
			recording->command,
			"%" PRIu32
			" of the files of %s (data.0 and so on) are missing, with all their records.",
			damage.missing_files, recording->path);
	if (damage.too_large)
		cli_note(recording->command,
			 "%s would unpack to more than 64 times its size: %" PRIu64
			 " bytes of its data were not read.",
			 recording->path, damage.corrupt_bytes);
	else if (damage.corrupt_bytes)
		cli_note(recording->command,
			 "%s is damaged: the last %" PRIu64
			 " bytes of its data are no records and were not read.",
			 recording->path, damage.corrupt_bytes);
	if (damage.undecoded_records)
		cli_note(recording->command,
			 "%" PRIu64 " records of %s have fields that do not fit them and were %s.",
			 damage.undecoded_records, recording->path,
			 recording->damaged_shown ? "shown as bytes" : "left out");
	if (damage.unknown_records)
		cli_note(recording->command,
			 "%" PRIu64 " records of %s are of types this version does not know.",
			 damage.unknown_records, recording->path);
	tell_trouble(recording);
	if (recording->throttled)
		cli_note(recording->command,
			 "the kernel throttled sampling %" PRIu64
			 " times: a lower frequency (record -F) samples evenly.",
			 recording->throttled);
	if (cli_recording_lost(recording))
		cli_note(
			recording->command,
			is_snapshot(recording)
				? "%" PRIu64
				  " records came while the flight recorder's rings stood still for the file before, and were lost: smaller rings (record -m) are copied sooner."
				: "%" PRIu64
				  " records were lost while recording: larger rings (record -m) or a lower frequency (-F) help.",
			cli_recording_lost(recording));
}
