/* SPDX-License-Identifier: MIT */
/* Records itself into a perf.data file, which perf and other tools can read. Then reads the file
 * and counts its records. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <perch/recorder.h>

/* The recorder adds mappings, the machine and build ids, as perf record does. */
static int record_into(const char *path, struct perch_error *err)
{
	const struct perch_recorder_options options = {
		.sampler.event.frequency = 1000,
		.path = path,
		.no_kernel = true,
	};
	struct perch_recorder *recorder;
	int rc = perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, err);

	if (rc < 0)
		return rc;
	rc = perch_recorder_start(recorder, err);
	if (rc >= 0) {
		prctl(PR_SET_NAME, "worker"); /* makes a COMM record */
		for (volatile long i = 0; i < 300000000; i++)
			;
		rc = perch_recorder_stop(recorder, err);
	}
	if (rc >= 0)
		rc = perch_recorder_end_file(recorder, err);
	perch_recorder_close(recorder);
	return rc;
}

struct tally {
	unsigned long long samples, others, last;
};

static int count_sample(void *context, const struct perch_record *record)
{
	struct tally *tally = context;

	tally->samples++;
	if (record->sample.time < tally->last)
		return -1; /* PERCH_ORDER_TIME delivers records by time */
	tally->last = record->sample.time;
	return 0;
}

static int count_other(void *context, const struct perch_record *record)
{
	const char *name = perch_record_name(record->type);

	((struct tally *)context)->others++;
	printf("%s at byte %llu\n", name ? name : "unknown", (unsigned long long)record->offset);
	return 0;
}

static int read_from(const char *path, struct tally *tally, struct perch_error *err)
{
	static const struct perch_visitor visitor = { .sample = count_sample,
						      .other = count_other };
	struct perch_reader_damage damage;
	struct perch_record record;
	struct perch_reader *reader;
	int rc = perch_reader_open(&reader, path, PERCH_ORDER_TIME, err);

	if (rc < 0)
		return rc;
	while ((rc = perch_reader_next(reader, &record, err)) > 0)
		if (perch_record_visit(&record, &visitor, tally) < 0)
			printf("a sample is out of order\n");
	/* damage is no error of perch_reader_next() */
	perch_reader_get_damage(reader, &damage);
	if (damage.missing_bytes || damage.corrupt_bytes || damage.undecoded_records)
		printf("the file is damaged\n");
	perch_reader_close(reader);
	return rc;
}

int main(int argc, char **argv)
{
	char own[] = "/tmp/perch-example-XXXXXX";
	const char *path = argc > 1 ? argv[1] : own;
	struct tally tally = { 0 };
	struct perch_error err;
	int fd = argc > 1 ? -1 : mkstemp(own), rc;

	if (argc < 2 && fd < 0)
		return perror(own), 1;
	if (fd >= 0) {
		close(fd);
		unlink(own); /* the writer creates it */
	}
	rc = argc > 1 ? 0 : record_into(path, &err);
	if (rc == 0)
		rc = read_from(path, &tally, &err);
	if (argc < 2)
		unlink(own);
	if (rc < 0)
		return perch_error_print(stderr, &err), 1;
	printf("%llu samples, %llu other records\n", tally.samples, tally.others);
	return argc < 2 && !tally.samples;
}
