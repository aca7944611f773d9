/* SPDX-License-Identifier: MIT */
/* A program with a flight recorder: sampled all the time at no cost of reading, and looked at when
 * a request took too long. */
#include <stdio.h>
#include <time.h>
#include <perch/ring.h>

struct look {
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

/* Whole records, oldest first: here each tells only when it was taken; .ip and .callchain would
 * tell where. */
static int look_at(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct look *look = context;
	struct perch_record record;

	(void)ring;
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len; at += record.size) {
			const char *bytes = (const char *)pieces[i].iov_base + at;

			if (perch_record_decode(&record, &look->parse_info, bytes,
						pieces[i].iov_len - at, &look->err) < 0)
				return -look->err.errnum;
			if (record.type == PERCH_RECORD_SAMPLE)
				*(record.sample.time < look->since ? &look->before
								   : &look->during) += 1;
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
		/* the newest 16 KiB for each CPU: some 500 samples */
		.overwrite = true,
		.ring_pages = 4,
	};
	struct look look = { .before = 0 };
	struct perch_sampler *sampler;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	if (perch_sampler_open(&sampler, "cpu-clock:u", &PERCH_SELF, &options, &look.err) < 0)
		return perch_error_print(stderr, &look.err), 1;
	perch_parse_info_init(&look.parse_info, perch_sampler_event(sampler, 0, &name, &ids, &nr),
			      PERCH_BYTES_NATIVE);
	perch_sampler_enable(sampler);
	for (int i = 0; i < 100; i++) {
		uint64_t start = now_ns();

		request(i == 90 ? 50000000 : 2000000); /* one is slow */
		if (now_ns() - start < 40000000)
			continue;
		look.since = start;
		if (perch_sampler_snapshot(sampler, look_at, &look, &look.err) < 0)
			return perch_error_print(stderr, &look.err), 1;
		printf("request %d took %.0f ms: %u samples of it, and %u of what came before\n", i,
		       (now_ns() - start) / 1e6, look.during, look.before);
		break;
	}
	perch_sampler_close(sampler);
	return look.during && look.before ? 0 : 1;
}
