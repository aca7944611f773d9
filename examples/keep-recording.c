/* SPDX-License-Identifier: MIT */
/* Records itself into a perf.data file, which perf and other tools can read. Then reads the file
 * and counts its records. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <perch/file.h>
#include <perch/sampler.h>

/* Writes batches of the rings to the file, without decoding. */
static int write_batch(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	return perch_writer_append(context, pieces, nr, NULL);
}

static int record_into(const char *path, struct perch_error *err)
{
	const struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME,
			   .sample_id_all = 1,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM },
	};
	struct perch_file_event event = { .members = 1 };
	struct perch_sampler *sampler;
	struct perch_writer *writer;
	ssize_t drained;
	int rc;

	rc = perch_sampler_open(&sampler, "cpu-clock:u", NULL, &options, err);
	if (rc < 0)
		return rc;
	event.attr = *perch_sampler_event(sampler, 0, &event.name, &event.ids, &event.nr_ids);
	rc = perch_writer_open(&writer, path, &event, 1, err);
	if (rc < 0) {
		perch_sampler_close(sampler);
		return rc;
	}
	perch_sampler_enable(sampler, NULL);
	prctl(PR_SET_NAME, "worker"); /* makes a COMM record */
	for (volatile long i = 0; i < 300000000; i++)
		;
	perch_sampler_disable(sampler, NULL);
	drained = perch_sampler_drain(sampler, write_batch, writer, NULL);
	perch_sampler_close(sampler);
	rc = perch_writer_close(writer, err);
	return rc < 0	     ? rc
	       : drained < 0 ? perch_error_set(err, -(int)drained, PERCH_ERROR_USAGE,
					       "cannot write all records")
			     : 0;
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
