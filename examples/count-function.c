/* SPDX-License-Identifier: MIT */
/*
 * Counts several events around one function: count-function [EVENTS]. They are one group, so all of
 * them count at the same times. Users who may not profile the kernel count user space only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <perch/count.h>

enum { NUMBERS = 1 << 18, MEMBERS = 16 };

static int compare(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

static void sort_numbers(void)
{
	int *numbers = malloc(NUMBERS * sizeof(*numbers));

	for (int i = 0; numbers && i < NUMBERS; i++)
		numbers[i] = rand();
	if (numbers)
		qsort(numbers, NUMBERS, sizeof(*numbers), compare);
	free(numbers);
}

int main(int argc, char **argv)
{
	const char *events = argc > 1 ? argv[1] : "task-clock,page-faults,minor-faults";
	const struct perch_options options = { .may = PERCH_MAY_EXCLUDE_KERNEL };
	struct perch_count counts[MEMBERS];
	struct perch_group *group;
	struct perch_error err;
	size_t nr;

	if (perch_group_open(&group, events, &perch_self, &options, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	nr = perch_group_size(group);
	if (nr > MEMBERS)
		return fprintf(stderr, "at most %d events\n", MEMBERS), 1;

	perch_group_enable(group, NULL);
	sort_numbers();
	perch_group_disable(group, NULL);

	if (perch_group_read(group, counts, nr, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	for (size_t i = 0; i < nr; i++)
		printf("%12llu %s%s (%s)\n", (unsigned long long)counts[i].scaled,
		       perch_group_name(group, i),
		       perch_group_user_only(group, i) ? " without the kernel" : "",
		       perch_count_state_name(counts[i].state));
	perch_group_close(group);
	return 0;
}
