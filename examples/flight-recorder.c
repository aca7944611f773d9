/* SPDX-License-Identifier: MIT */
/* A flight recorder: the program is sampled all the time, and reads the samples only when a request
 * took too long. */
#include <stdio.h>
#include <time.h>
#include <perch/sampler.h>

struct snapshot {
	struct perch_parse_info parse_info;
	uint64_t since;
	unsigned before, during;
	struct perch_error err;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void request(uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end;)
		;
}

/* Gets complete records, oldest first. This program uses only the time; .ip and .callchain are the
 * code that was running. */
static int count_samples(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct snapshot *snapshot = context;
	struct perch_record record;

	(void)ring;
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len; at += record.size) {
			const char *bytes = (const char *)pieces[i].iov_base + at;

			if (perch_record_decode(&record, &snapshot->parse_info, bytes,
						pieces[i].iov_len - at, &snapshot->err) < 0)
				return -snapshot->err.errnum;
			if (record.type == PERCH_RECORD_SAMPLE)
				*(record.sample.time < snapshot->since ? &snapshot->before
								       : &snapshot->during) += 1;
		}
	return 0;
}

int main(void)
{
	const struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME,
			   .use_clockid = 1,
			   .clockid = CLOCK_MONOTONIC },
		/* the newest 16 KiB of each CPU: about 500 samples */
		.overwrite = true,
		.ring_pages = 4,
	};
	struct snapshot snapshot = { .before = 0 };
	struct perch_sampler *sampler;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	if (perch_sampler_open(&sampler, "cpu-clock:u", NULL, &options, &snapshot.err) < 0)
		return perch_error_print(stderr, &snapshot.err), 1;
	perch_parse_info_init(&snapshot.parse_info,
			      perch_sampler_event(sampler, 0, &name, &ids, &nr),
			      PERCH_BYTES_NATIVE);
	perch_sampler_enable(sampler, NULL);
	for (int i = 0; i < 100; i++) {
		uint64_t start = now_ns();

		request(i == 90 ? 50000000 : 2000000); /* one request is slow */
		if (now_ns() - start < 40000000)
			continue;
		snapshot.since = start;
		if (perch_sampler_snapshot(sampler, count_samples, &snapshot, &snapshot.err) < 0)
			return perch_error_print(stderr, &snapshot.err), 1;
		printf("request %d took %.0f ms: %u samples during it, %u before it\n", i,
		       (now_ns() - start) / 1e6, snapshot.during, snapshot.before);
		break;
	}
	perch_sampler_close(sampler);
	return snapshot.during && snapshot.before ? 0 : 1;
}
