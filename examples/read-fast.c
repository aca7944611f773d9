/* SPDX-License-Identifier: MIT */
/* Counts the instructions of a piece of code, without system calls where the machine allows it. */
#include <stdint.h>
#include <stdio.h>

#include <perch/count.h>

static uint64_t work(uint64_t iterations)
{
	uint64_t hash = 1;

	for (uint64_t i = 0; i < iterations; i++)
		hash = (hash ^ i) * 0x100000001b3;
	return hash;
}

int main(void)
{
	const struct perch_options options = { .enabled = 1, .self_monitoring = 1 };
	struct perch_count before, after, delta;
	struct perch_counter *counter;
	struct perch_error err;

	/* without hardware counters: CPU time */
	if (perch_counter_open(&counter, "instructions:u", &perch_self, &options, &err) &&
	    perch_counter_open(&counter, "task-clock:u", &perch_self, &options, &err))
		return perch_error_print(stderr, &err), 77;
	if (perch_counter_read(counter, &before, &err))
		return perch_error_print(stderr, &err), 1;
	printf("a hash: %llx\n", (unsigned long long)work(1000000));
	if (perch_counter_read(counter, &after, &err))
		return perch_error_print(stderr, &err), 1;
	perch_count_delta(&delta, &after, &before);
	printf("%s: %llu\n", perch_counter_name(counter), (unsigned long long)delta.scaled);
	if (perch_counter_self_monitoring(counter, &err))
		puts("read without a system call");
	else
		puts(err.message);
	perch_counter_close(counter);
	return 0;
}
