/* SPDX-License-Identifier: MIT */
/* Samples itself a thousand times per second, and prints the hottest functions. */
#include <stdio.h>
#include <perch/profile.h>
#include <perch/sampler.h>

__attribute__((noinline)) static unsigned long primes(unsigned long below)
{
	unsigned long found = 0;

	for (unsigned long n = 2, d; n < below; n++) {
		for (d = 2; d * d <= n && n % d; d++)
			;
		found += d * d > n;
	}
	return found;
}

__attribute__((noinline)) static unsigned long longest_collatz(unsigned long below)
{
	unsigned long longest = 0;

	for (unsigned long n = 1, steps = 0; n < below; n++, steps = 0) {
		for (unsigned long at = n; at != 1; at = at % 2 ? 3 * at + 1 : at / 2)
			steps++;
		longest = steps > longest ? steps : longest;
	}
	return longest;
}

/* volatile: otherwise the compiler specializes the functions for this value */
static volatile unsigned long size = 500000;

int main(void)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 1000, .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_PERIOD },
	};
	struct perch_sampler *sampler = NULL;
	struct perch_processes *processes = NULL;
	struct perch_symbols *symbols = NULL;
	const struct perch_profile_options columns = { .names = "sym" };
	struct perch_profile *profile = NULL;
	const struct perch_row *rows;
	struct perch_profile_total total;
	struct perch_record record;
	struct perch_error err;
	size_t nr;

	if (perch_sampler_open(&sampler, "cpu-clock:u", NULL, &options, &err) < 0 ||
	    perch_processes_new(&processes, &err) < 0 ||
	    perch_processes_add_running(processes, 0, NULL, &err) < 0 ||
	    perch_symbols_new(&symbols, NULL, &err) < 0 ||
	    perch_profile_new(&profile, processes, symbols, &columns, &err) < 0)
		return perch_error_print(stderr, &err), 1;

	perch_sampler_enable(sampler, NULL);
	printf("%lu primes, longest Collatz chain %lu\n", primes(4 * size), longest_collatz(size));
	perch_sampler_disable(sampler, NULL);

	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		perch_processes_apply(processes, &record);
		if (perch_profile_add(profile, &record, &err) < 0)
			return perch_error_print(stderr, &err), 1;
	}
	if (perch_profile_finish(profile, &err) < 0 ||
	    perch_profile_rows(profile, 0, NULL, &rows, &nr, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	perch_profile_get_total(profile, 0, &total);
	for (size_t i = 0; i < nr && i < 5; i++) {
		const struct perch_frame *frame = &rows[i].frame;

		printf("%5.1f %%  %s\n", 100.0 * rows[i].self / total.period,
		       frame->symbol ? perch_symbols_name(symbols, frame->symbol)
				     : perch_symbols_dso_name(symbols, frame->dso));
	}
	perch_profile_free(profile);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	perch_sampler_close(sampler);
	return 0;
}
