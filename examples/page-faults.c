/* SPDX-License-Identifier: MIT */
/* Counts the page faults of this program while it writes to a megabyte of fresh memory. */
#include <stdio.h>
#include <sys/mman.h>
#include <perch/count.h>

enum { PAGES = 256, PAGE = 4096 };

int main(void)
{
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED || madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE) < 0)
		return perror("no memory"), 1;
	if (perch_counter_open(&counter, "page-faults:u", &perch_self, NULL, &err) < 0)
		return perch_error_print(stderr, &err), 1; /* what failed, why, and a remedy */

	perch_counter_enable(counter, NULL);
	for (int page = 0; page < PAGES; page++)
		memory[page * PAGE] = 1;
	perch_counter_disable(counter, NULL);

	if (perch_counter_read(counter, &count, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	printf("%d pages touched, %llu page faults in %.1f us\n", PAGES,
	       (unsigned long long)count.value, count.enabled_ns / 1e3);
	perch_counter_close(counter);
	return 0;
}
