/* SPDX-License-Identifier: MIT */
/*
 * rounds [PERCH]: reads a file by time, whose size is BENCH_BYTES (256 MB), and one of a quarter of
 * that, with perch_reader_next() and with `PERCH report`. The time grows with the size, the peak
 * memory does not.
 *
 * The files repeat a round of four rings, each time later: samples with call chains, as of `perf
 * record -g`. They are in $TMPDIR or /var/tmp. BENCH_BYTES=4294967296 needs 5 GB there.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/file.h>

#include "bench.h"

#define RINGS	       4
#define SAMPLES	       500 /* of a ring in a round */
#define CALLERS	       12
#define ROUND_NS       100000000ull
#define MOST_MEGABYTES 300

struct sample {
	struct perch_record_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t period;
	uint64_t nr;
	uint64_t chain[CALLERS];
};

static char path[4096];

static void fail(const char *what, const struct perch_error *err)
{
	fprintf(stderr, "rounds: %s: %s\n", what, err ? err->message : strerror(errno));
	unlink(path);
	exit(1);
}

/* The rings take turns in time. A third of a round is newer than the first records of the next. */
static void make_round(struct sample *samples)
{
	for (size_t ring = 0; ring < RINGS; ring++)
		for (size_t i = 0; i < SAMPLES; i++) {
			struct sample *sample = &samples[ring * SAMPLES + i];

			*sample = (struct sample){
				.header = { .type = PERCH_RECORD_SAMPLE,
					    .misc = PERCH_MISC_USER,
					    .size = sizeof(*sample) },
				.pid = 100 + ring,
				.tid = 100 + ring,
				.period = 1000000,
				.time = 1000 + ring + i * (ROUND_NS * 4 / 3 / SAMPLES),
				.nr = CALLERS,
			};
			sample->chain[0] = PERCH_CONTEXT_USER;
			for (size_t k = 1; k < CALLERS; k++)
				sample->chain[k] = 0x401000 + 16 * ((i * k + ring) % (16 << k % 4));
			sample->ip = sample->chain[1];
		}
}

/* Returns the number of records. */
static size_t make_file(uint64_t bytes)
{
	static struct sample samples[RINGS * SAMPLES];
	struct perch_record_header finished = { .type = PERCH_RECORD_FINISHED_ROUND,
						.size = sizeof(finished) };
	struct perch_file_event event = {
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
					 PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_CALLCHAIN,
			  .sample_period = 1000000 },
		.name = "cpu-clock",
	};
	struct iovec pieces[] = { { samples, sizeof(samples) }, { &finished, sizeof(finished) } };
	struct perch_writer *writer;
	struct perch_error err;
	size_t nr = 0;

	if (perch_writer_open(&writer, path, &event, 1, &err))
		fail(path, &err);
	for (make_round(samples); perch_writer_size(writer) < bytes; nr += RINGS * SAMPLES + 1) {
		if (perch_writer_append(writer, pieces, 2, &err))
			fail(path, &err);
		for (size_t i = 0; i < RINGS * SAMPLES; i++)
			samples[i].time += ROUND_NS;
	}
	if (perch_writer_close(writer, &err))
		fail(path, &err);
	return nr;
}

static void read_records(void)
{
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_record record;
	struct perch_error err;
	uint64_t last = 0;
	int rc;

	if (perch_reader_open(&reader, path, PERCH_ORDER_TIME, &err))
		fail(path, &err);
	while ((rc = perch_reader_next(reader, &record, &err)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		if (record.sample.time < last)
			fail("a sample is not in order", NULL);
		last = record.sample.time;
	}
	if (rc)
		fail(path, &err);
	perch_reader_get_damage(reader, &damage);
	if (damage.late_records)
		fail("late records", NULL);
	perch_reader_close(reader);
}

struct cost {
	double seconds, megabytes;
};

/* Runs the reader, or perch report, in a child. */
static struct cost measure(const char *perch)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child < 0)
		fail("fork", NULL);
	if (!child && perch)
		bench_exec_quietly(perch, (const char *[]){ "perch", "report", "--stdio", "-i",
							    path, NULL });
	if (!child) {
		read_records();
		_exit(0);
	}
	if (wait4(child, &status, 0, &usage) < 0 || status)
		fail(perch ? "perch report" : "the reader", NULL);
	return (struct cost){
		.seconds = bench_cpu_seconds(&usage),
		.megabytes = usage.ru_maxrss / 1024.0,
	};
}

static void compare(const char *name, const struct cost *small, const struct cost *large,
		    double sizes)
{
	double linear = large->seconds / small->seconds / sizes;

	printf("%s: %.2f s, %.1f MB; a quarter of the file: %.2f s, %.1f MB\n", name,
	       large->seconds, large->megabytes, small->seconds, small->megabytes);
	printf("  time per byte, ratio to the smaller file %.2f (target 1.25%s), "
	       "peak memory %.1f MB (target %d%s)\n",
	       linear, bench_missed(linear <= 1.25), large->megabytes, MOST_MEGABYTES,
	       bench_missed(large->megabytes < MOST_MEGABYTES));
}

int main(int argc, char **argv)
{
	const char *directory = getenv("TMPDIR"), *text = getenv("BENCH_BYTES");
	uint64_t bytes = text && *text ? strtoull(text, NULL, 0) : bench_size(256 << 20, 4 << 20);
	struct cost reader[2], report[2];
	size_t nr = 0;

	snprintf(path, sizeof(path), "%s/perch-rounds-%d",
		 directory && *directory ? directory : "/var/tmp", (int)getpid());
	for (int large = 0; large <= 1; large++) {
		nr = make_file(large ? bytes : bytes / 4);
		measure(NULL); /* fills the page cache */
		reader[large] = measure(NULL);
		if (argc > 1)
			report[large] = measure(argv[1]);
		unlink(path);
	}
	printf("rounds: %zu records, %.0f MB: %.1f ns each by time\n", nr, bytes / 1048576.0,
	       reader[1].seconds * 1e9 / nr);
	compare("reader", &reader[0], &reader[1], 4);
	if (argc > 1)
		compare("perch report", &report[0], &report[1], 4);
	return 0;
}
