/* SPDX-License-Identifier: MIT */
/* The end of a recording: what the file says about itself, and what is told to the user. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "record.h"

#define COMMAND "record"

/* The vdso has no file: the kernel maps the same image into us. */
static int vdso_build_id(uint8_t build_id[20])
{
	unsigned long long start, end;
	int size = -ENOENT;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "[vdso]") && sscanf(line, "%llx-%llx", &start, &end) == 2 &&
		    start == getauxval(AT_SYSINFO_EHDR))
			size = perch_build_id_of_image((const void *)(uintptr_t)start, end - start,
						       build_id);
	if (file)
		fclose(file);
	return size;
}

static int add_build_id(struct record *record, uint16_t misc, const char *path,
			const uint8_t *build_id, int size)
{
	if (size <= 0)
		return 0; /* no ELF file, or one without: nothing to say about it */
	return perch_writer_add_build_id(record->writer, misc, build_id, size, path, &record->err);
}

static int add_build_ids(struct record *record)
{
	uint8_t build_id[20];
	int rc = 0;

	if (record->no_build_ids)
		return 0;
	if (!record->user_only)
		rc = add_build_id(record, PERCH_MISC_KERNEL, "[kernel.kallsyms]", build_id,
				  perch_build_id_of_kernel(build_id));
	for (size_t i = 0; i < record->dsos.slots && rc >= 0; i++) {
		const char *path = record->dsos.slot[i];

		if (path)
			rc = add_build_id(record, PERCH_MISC_USER, path, build_id,
					  *path == '[' ? vdso_build_id(build_id)
						       : perch_build_id_of_file(path, build_id));
	}
	return rc;
}

/* The command line as it was typed, with the command's own path in front as perf has it. */
static int describe(struct record *record)
{
	char **argv = calloc(record->argc + 1, sizeof(*argv));
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	if (!argv)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the command line");
	if (length < 0)
		length = snprintf(self, sizeof(self), "perch");
	self[length] = 0;
	argv[0] = self;
	memcpy(argv + 1, record->argv, record->argc * sizeof(*argv));
	rc = perch_writer_describe(record->writer, record->machine, cli_version, record->argc + 1,
				   argv, &record->err);
	free(argv);
	return rc;
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* The clock of -k: its resolution, and one moment by it and by the wall clock, so that readers can
 * show times of day. */
static int write_clock(struct record *record)
{
	struct {
		uint32_t version, clock;
		uint64_t wall, time;
	} data = { 1, (uint32_t)record->clock, 0, 0 };
	struct timespec resolution, wall, time;
	uint64_t ns;
	int rc;

	if (!record->use_clock || clock_getres(record->clock, &resolution) ||
	    clock_gettime(record->clock, &time) || clock_gettime(CLOCK_REALTIME, &wall))
		return 0;
	ns = ns_of(&resolution);
	data.wall = ns_of(&wall);
	data.time = ns_of(&time);
	rc = perch_writer_set_feature(record->writer, PERCH_FEATURE_CLOCKID, &ns, sizeof(ns),
				      &record->err);
	return rc < 0 ? rc
		      : perch_writer_set_feature(record->writer, PERCH_FEATURE_CLOCK_DATA, &data,
						 sizeof(data), &record->err);
}

static int write_features(struct record *record)
{
	int rc = describe(record);

	if (rc >= 0)
		rc = write_clock(record);
	if (rc >= 0 && record->last_time)
		rc = perch_writer_set_sample_time(record->writer, record->first_time,
						  record->last_time, &record->err);
	if (rc >= 0)
		rc = record_write_tracing_data(record);
	if (rc >= 0)
		rc = add_build_ids(record);
	return rc;
}

static void tell_no_samples(const struct record *record)
{
	/* a file that ended early says nothing of the program, nor does one of several */
	if (record->flag[RECORD_NO_SAMPLES] || record->failed || record->err.errnum ||
	    (record_keeps_sideband(record) && !record->none_whole))
		return;
	if (record->none_whole || (record->lost && !record->overwrite))
		cli_note(
			COMMAND,
			"no samples: the rings have no room for one as large as these: have larger ones (-m)");
	else if (record->delayed && !record->turn)
		cli_note(COMMAND, "no samples: the recording ended before -D started the events");
	else if (record->program_argv && !record->system_wide && !record->threads)
		cli_note(
			COMMAND,
			"no samples: the program used next to no CPU time, or did not cause the event");
	else
		cli_note(
			COMMAND,
			"no samples: nothing that was recorded used CPU time, or caused the event");
}

void record_print_problems(const struct record *record)
{
	if (record->lost && record->overwrite)
		cli_note(
			COMMAND,
			"%llu records came while the rings stood still for the file before, and are lost between the two",
			(unsigned long long)record->lost);
	else if (record->lost && record->samples)
		cli_note(
			COMMAND,
			"%llu records were lost, the rings being full: sample less often (-F), or have larger rings (-m)",
			(unsigned long long)record->lost);
	if (record->side_lost)
		cli_note(
			COMMAND,
			"%llu mappings, names and tasks were lost, their rings being full: what they tell of has no symbols",
			(unsigned long long)record->side_lost);
	record_print_lost(record);
	if (record->throttled)
		cli_note(COMMAND,
			 "the kernel throttled sampling %llu times: sample less often (-F)",
			 (unsigned long long)record->throttled);
	if (!record->samples)
		tell_no_samples(record);
}

void record_print_file(const struct record *record, const char *path)
{
	struct stat status = { 0 };

	stat(path, &status);
	fputs("[ perch record: Captured and wrote ", stderr);
	fprintf(stderr, "%.3f MB ", status.st_size / 1024.0 / 1024.0);
	cli_put_clean(stderr, path);
	fprintf(stderr, " (%llu samples) ]\n", (unsigned long long)record->samples);
}

int record_finish_file(struct record *record)
{
	struct perch_error err;
	int rc = write_features(record);

	/* the same trouble twice need not be told twice */
	if (perch_writer_close(record->writer, &err) < 0 && rc >= 0) {
		record->err = err;
		rc = -err.errnum;
	}
	record->writer = NULL;
	return rc;
}
