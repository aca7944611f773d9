/* SPDX-License-Identifier: MIT */
/* Records its own threads into a file, which perf and perch report. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <perch/recorder.h>

static atomic_int running;

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (volatile long i = 0; i < 400000000; i++)
		;
	running--;
	return NULL;
}

/* Records two threads until they have ended. The rings are read ten times per second. */
static int record(struct perch_recorder *recorder, struct perch_error *err)
{
	static char names[][8] = { "parser", "painter" };
	pthread_t thread[2];
	int rc = perch_recorder_start(recorder, err);

	for (int i = 0; i < 2 && rc >= 0; i++)
		if (!pthread_create(&thread[i], NULL, work, names[i]))
			running++;
	while (rc >= 0 && running) {
		perch_sampler_wait(perch_recorder_sampler(recorder), 100, NULL);
		rc = (int)perch_recorder_write(recorder, err);
	}
	if (rc >= 0)
		rc = perch_recorder_stop(recorder, err);
	return rc < 0 ? rc : perch_recorder_end_file(recorder, err);
}

int main(int argc, char **argv)
{
	const struct perch_recorder_options options = {
		.sampler.event = { .frequency = 1000, .inherit = 1 },
		.path = argc > 1 ? argv[1] : "perf.data",
	};
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct perch_error err;

	if (perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err) < 0 ||
	    record(recorder, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	perch_recorder_get_stats(recorder, &stats);
	printf("%llu samples in %s\n", (unsigned long long)stats.samples, stats.path);
	perch_recorder_close(recorder);
	return 0;
}
