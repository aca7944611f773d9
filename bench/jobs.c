/* SPDX-License-Identifier: MIT */
/*
 * jobs DATA PERCH: what the stages of `perch report --jobs N` take, by their CPU time, and the time
 * of 2 to 4 threads on as many CPUs that follows from it. So it needs no CPUs that are idle.
 *
 * The samples of DATA are repeated with later times, until the file has BENCH_BYTES (1 GB). It is
 * in $TMPDIR or /var/tmp.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/session.h>

#include "bench.h"
#include "file/internal.h"

#define THREADS	     4
#define ROUNDS	     3
#define BUFFER_BYTES (1u << 20)

static char path[4096];

static _Noreturn void fail(const char *what, const struct perch_error *err)
{
	fprintf(stderr, "jobs: %s: %s\n", what,
		err	? err->message
		: errno ? strerror(errno)
			: "unexpected result");
	unlink(path);
	exit(1);
}

/* ---- the recording ---- */

struct copying {
	struct perch_writer *writer;
	uint8_t buffer[BUFFER_BYTES];
	size_t used;
	uint64_t first, last, later; /* times, and what is added to them */
	size_t samples;
};

static void flush(struct copying *copying)
{
	struct iovec piece = { copying->buffer, copying->used };
	struct perch_error err;

	if (copying->used && perch_writer_append(copying->writer, &piece, 1, &err))
		fail(path, &err);
	copying->used = 0;
}

static void copy_record(struct copying *copying, const struct perch_record *record)
{
	bool sample = record->type == PERCH_RECORD_SAMPLE;
	uint8_t *to;

	if (copying->used + record->size > sizeof(copying->buffer))
		flush(copying);
	to = copying->buffer + copying->used;
	/* what maps and names processes is in the first copy */
	if (copying->later && !sample && record->type != PERCH_RECORD_FINISHED_ROUND)
		return;
	memcpy(to, record->bytes, record->size);
	copying->used += record->size;
	copying->samples += sample;
	if (!sample || record->parse_info->sample_time_word < 0)
		return;
	if (!copying->first)
		copying->first = record->sample.time;
	if (record->sample.time + copying->later > copying->last)
		copying->last = record->sample.time + copying->later;
	*(uint64_t *)(to + 8 + 8 * record->parse_info->sample_time_word) += copying->later;
}

static void copy_features(struct perch_reader *reader, struct perch_writer *writer)
{
	const struct perch_build_id *ids;
	size_t size, nr = perch_reader_build_ids(reader, &ids);
	struct perch_error err;
	const void *data;

	for (size_t i = 0; i < nr; i++)
		if (perch_writer_add_build_id(writer, ids[i].misc, ids[i].bytes, ids[i].size,
					      ids[i].path, &err))
			fail(path, &err);
	for (int i = PERCH_FEATURE_HOSTNAME; i < PERCH_FEATURE_MAX; i++)
		if (i != PERCH_FEATURE_SAMPLE_TIME &&
		    !perch_reader_feature(reader, i, &data, &size) &&
		    perch_writer_set_feature(writer, i, data, size, &err))
			fail(path, &err);
}

/* Returns how many times as many samples as in the data are in the file. */
static double repeat(const char *data, uint64_t bytes)
{
	static struct copying copying;
	size_t samples = 0;
	const struct perch_file_event *events;
	struct perch_reader *reader;
	struct perch_record record;
	struct perch_error err;
	size_t nr;
	int rc;

	if (perch_reader_open(&reader, data, PERCH_ORDER_FILE, &err))
		fail(data, &err);
	nr = perch_reader_events(reader, &events);
	if (perch_writer_open(&copying.writer, path, events, nr, &err))
		fail(path, &err);
	do {
		copying.later = copying.last ? copying.last - copying.first + 1000 : 0;
		while ((rc = perch_reader_next(reader, &record, &err)) > 0)
			copy_record(&copying, &record);
		if (rc || !copying.last)
			fail(data, rc ? &err : NULL);
		flush(&copying);
		samples = samples ? samples : copying.samples;
		perch_reader_rewind(reader);
	} while (perch_writer_size(copying.writer) < bytes || copying.samples == samples);
	copy_features(reader, copying.writer);
	printf("jobs: %zu samples, %.0f MB\n", copying.samples,
	       (double)perch_writer_size(copying.writer) / 1e6);
	if (perch_writer_close(copying.writer, &err))
		fail(path, &err);
	perch_reader_close(reader);
	return (double)copying.samples / (double)samples;
}

/* ---- the stages ---- */

/* CPU seconds of a library's call, in one thread or by several. */
struct counting {
	double count, finish;
};

static void measure_order(double *least)
{
	struct perch_reader *reader;
	struct perch_error err;
	uint64_t offset;
	double start;
	int rc;

	if (perch_reader_open(&reader, path, PERCH_ORDER_TIME, &err))
		fail(path, &err);
	start = bench_cpu_ns();
	while ((rc = perch__blocks_next(reader, &offset, &err)) > 0)
		;
	if (rc)
		fail(path, &err);
	bench_keep_minimum(least, (bench_cpu_ns() - start) / 1e9);
	perch_reader_close(reader);
}

static void read_samples(struct perch_session *session, struct perch_profile *profile)
{
	struct perch_record record;
	struct perch_error err;
	int rc;

	while ((rc = perch_session_next(session, &record, &err)) > 0)
		if (record.type == PERCH_RECORD_SAMPLE && perch_profile_add(profile, &record, &err))
			fail(path, &err);
	if (rc)
		fail(path, &err);
}

/* Counts in this many threads, which do not read ahead. */
static void measure_counting(struct counting *least, unsigned counters)
{
	struct perch_profile_options options = {
		.names = "comm,dso,sym", .inlined = true, .threads = true, .max_threads = counters
	};
	double start = bench_cpu_ns(), all = bench_ns_of(CLOCK_PROCESS_CPUTIME_ID), read;
	struct perch_session *session;
	struct perch_profile *profile;
	struct perch_error err;

	if (perch_session_open(&session, path, NULL, &err) ||
	    perch_profile_new(&profile, perch_session_processes(session),
			      perch_session_symbols(session), &options, &err))
		fail(path, &err);
	read_samples(session, profile);
	read = bench_cpu_ns();
	if (perch_profile_finish(profile, &err))
		fail(path, &err);
	bench_keep_minimum(&least->finish, (bench_cpu_ns() - read) / 1e9);
	all = bench_ns_of(CLOCK_PROCESS_CPUTIME_ID) - all;
	bench_keep_minimum(&least->count, (all - (bench_cpu_ns() - start)) / 1e9);
	perch_profile_free(profile);
	perch_session_close(session);
}

/* CPU and wall seconds of `perch report --jobs N`. */
struct cost {
	double cpu, wall;
};

static void measure_command(struct cost *least, const char *perch, const char *jobs,
			    const char *data)
{
	struct rusage usage;
	double start = bench_now_ns();
	int status;
	pid_t child = fork();

	if (child < 0)
		fail("fork", NULL);
	if (!child)
		bench_exec_quietly(perch, (const char *[]){ "perch", "report", "--stdio", "--jobs",
							    jobs, "-i", data, NULL });
	if (wait4(child, &status, 0, &usage) < 0 || status)
		fail("perch report", NULL);
	bench_keep_minimum(&least->wall, (bench_now_ns() - start) / 1e9);
	bench_keep_minimum(&least->cpu, bench_cpu_seconds(&usage));
}

/* ---- the critical path ---- */

/* CPU seconds of the stages of the command. */
struct stages {
	double order;  /* bringing records into the order of time */
	double decode; /* decoding, filters, columns, call chains */
	double count;  /* addresses and stacks, by one thread */
	double counts; /* the same by several, which share caches */
	double merge;  /* of what several have counted */
	double rest;   /* the start, symbols, the tree of functions, rows, the output */
};

static double most_of(double a, double b)
{
	return a > b ? a : b;
}

/*
 * The time of as many CPUs. While samples are read, a thread is idle only if it has to be: threads
 * that have nothing to count bring records into their order, else the main thread does. It decodes
 * alone. What is before and after that, it does alone, too.
 */
static double path_of(const struct stages *stages, unsigned threads)
{
	double count = threads == 2 ? stages->count : stages->counts;
	double merge = threads == 2 ? 0 : stages->merge;
	double most = most_of(stages->decode, count / (threads - 1));

	return most_of(most, (stages->order + stages->decode + count) / threads) + merge +
	       stages->rest;
}

static void print_path(const struct stages *stages, double one, unsigned threads)
{
	double path_seconds = path_of(stages, threads), ratio = path_seconds / one;

	printf("jobs: %u threads: critical path %.2f s, of one thread %.3f", threads, path_seconds,
	       ratio);
	if (threads == THREADS)
		printf(" (target 0.333%s)", bench_missed(ratio <= 0.333));
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *directory = getenv("TMPDIR"), *text = getenv("BENCH_BYTES");
	uint64_t bytes = text && *text ? strtoull(text, NULL, 0) : bench_size(1 << 30, 1 << 16);
	struct counting one = { 0 }, several = { 0 };
	struct cost small = { 0 }, large = { 0 }, threads = { 0 };
	struct stages stages = { 0 };
	double times;

	if (argc != 3) {
		fprintf(stderr, "usage: jobs DATA PERCH\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/perch-jobs-%d",
		 directory && *directory ? directory : "/var/tmp", (int)getpid());
	times = repeat(argv[1], bytes);
	/* makes the symbol index */
	measure_command(&(struct cost){ 0 }, argv[2], "1", argv[1]);
	for (size_t round = 0; round < bench_size(ROUNDS, 1); round++) {
		measure_order(&stages.order);
		measure_counting(&one, 1);
		measure_counting(&several, THREADS - 1);
		measure_command(&small, argv[2], "1", argv[1]);
		measure_command(&large, argv[2], "1", path);
		measure_command(&threads, argv[2], (char[]){ '0' + THREADS, '\0' }, path);
	}
	unlink(path);
	/* the rest does not grow with equal samples */
	stages.rest = most_of((small.cpu * times - large.cpu) / (times - 1), 0);
	stages.count = one.count;
	stages.counts = several.count;
	stages.merge = most_of(several.finish - one.finish, 0);
	stages.decode = most_of(large.cpu - stages.rest - stages.order - stages.count, 0);
	printf("jobs: stages: order of time %.2f s, decoding %.2f s, counting %.2f s (%.2f s in "
	       "three threads), merging %.2f s, the rest %.2f s\n",
	       stages.order, stages.decode, stages.count, stages.counts, stages.merge, stages.rest);
	printf("jobs: report with one thread: %.2f s of CPU time; with %d here %.2f s, and %.2f s "
	       "until its end\n",
	       large.cpu, THREADS, threads.cpu, threads.wall);
	for (unsigned nr = 2; nr <= THREADS; nr++)
		print_path(&stages, large.cpu, nr);
	return 0;
}
