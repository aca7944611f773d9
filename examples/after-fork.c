/* SPDX-License-Identifier: MIT */
/* A process that counts itself and forks. The child recognizes the counter of its parent, closes it
 * and opens its own. The counter of the parent goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/count.h>

static const struct perch_options enabled = { .enabled = 1 };

/* Touches new pages: one page fault each. They are too few for a huge page. */
static void touch(size_t pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory = malloc(pages * size);

	for (size_t i = 0; memory && i < pages; i++)
		memory[i * size] = 1;
	free((void *)memory);
}

/* Reads the counter, after it is opened again if it was opened before a fork. */
static int read_own(struct perch_counter **counter, struct perch_count *count,
		    struct perch_error *err)
{
	int rc = perch_counter_read(*counter, count, err);

	if (rc >= 0 || err->kind != PERCH_ERROR_FORK)
		return rc;
	printf("child: %s\n", err->message);
	perch_counter_close(*counter);
	rc = perch_counter_open(counter, "page-faults:u", NULL, &enabled, err);
	return rc < 0 ? rc : perch_counter_read(*counter, count, err);
}

int main(void)
{
	struct perch_counter *counter;
	struct perch_count before, after;
	struct perch_error err;
	int status;
	pid_t child;

	if (perch_counter_open(&counter, "page-faults:u", NULL, &enabled, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	touch(400);
	fflush(stdout);
	child = fork();
	if (child < 0)
		return perror("cannot fork"), 1;

	if (read_own(&counter, &before, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	touch(300);
	if (perch_counter_read(counter, &after, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	printf("%s: %llu page faults, then %llu more\n", child ? "parent" : "child",
	       (unsigned long long)before.value, (unsigned long long)(after.value - before.value));
	perch_counter_close(counter);
	if (!child)
		return before.value < 400 && after.value >= before.value + 300 ? 0 : 1;
	if (waitpid(child, &status, 0) < 0 || status)
		return 1;
	return before.value >= 400 ? 0 : 1;
}
