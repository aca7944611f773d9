/* SPDX-License-Identifier: MIT */
/*
 * Compares the frames of the own reader of debug information with those of libdw, at offsets of a
 * file.
 *
 *   same_lines FILE < OFFSETS
 *
 * Prints the first differences, and "N of M equal, K by libdw alone". Fails if frames differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/debug_info.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_frames(const struct debug_frame *a, const struct debug_frame *b, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!same_text(a[i].function, b[i].function) || !same_text(a[i].file, b[i].file) ||
		    a[i].line != b[i].line)
			return false;
	return true;
}

static void print_frames(const char *title, const struct debug_frame *frame, int nr)
{
	printf("  %s\n", title);
	for (int i = 0; i < nr; i++)
		printf("\t%s %s:%" PRIu32 "\n", frame[i].function ? frame[i].function : "??",
		       frame[i].file ? frame[i].file : "??", frame[i].line);
}

int main(int argc, char **argv)
{
	struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = argc == 2 ? argv[1] : "" };
	struct debug_frame own[MAX_DEBUG_FRAMES], libdw[MAX_DEBUG_FRAMES];
	struct sources sources = { .foreign = false };
	struct debug_info *info = perch__debug_open(&sources, &dso);
	struct debug_info *other = perch__debug_open(&sources, &dso);
	uint64_t offset, nr = 0, equal = 0, by_libdw = 0;

	if (!info || !other || !perch__debug_is_open(info))
		return 1;
	perch__debug_use_libdw(other);
	while (scanf("%" SCNx64, &offset) == 1) {
		int nr_libdw = perch__debug_frames(other, offset, libdw);
		int nr_own = perch__debug_frames(info, offset, own);

		nr++;
		if (nr_libdw < 0 || nr_own < 0)
			return 1;
		if (nr_own == nr_libdw && same_frames(own, libdw, (size_t)nr_own)) {
			equal++;
		} else if (nr - equal <= 3) {
			printf("%" PRIx64 "\n", offset);
			print_frames("own", own, nr_own);
			print_frames("libdw", libdw, nr_libdw);
		}
	}
	by_libdw = info->nr_by_libdw;
	printf("%" PRIu64 " of %" PRIu64 " equal, %" PRIu64 " by libdw alone\n", equal, nr,
	       by_libdw);
	perch__debug_free(info);
	perch__debug_free(other);
	return equal < nr;
}
