/* SPDX-License-Identifier: MIT */
/*
 * Compares the frames of the own reader of debug information with those of libdw, at offsets of a
 * file.
 *
 *   same_lines FILE < OFFSETS
 *
 * Prints the first differences, and "N of M equal, MS own, MS libdw": the time of both. Fails if
 * frames differ. Files with the split units of a .dwp are not compared: libdw 0.188 does not read
 * them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <unistd.h>

#include "libdw_frames.h"
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

static bool open_libdw(struct libdw *libdw, const struct debug_info *info)
{
	libdw->dwarf = dwarf_begin(info->with_debug->elf.fd, DWARF_C_READ);
	return libdw->dwarf && !libdw_units(libdw);
}

static uint64_t time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = argc == 2 ? argv[1] : "" };
	struct debug_frame own[MAX_DEBUG_FRAMES], others[MAX_DEBUG_FRAMES];
	uint64_t offset, nr = 0, equal = 0, start = time_ns(), own_time, libdw_time;
	struct sources sources = { .foreign = false };
	struct debug_info *info = perch__debug_open(&sources, &dso);
	struct libdw libdw = { 0 };

	own_time = time_ns() - start;
	start = time_ns();
	if (!info || !perch__debug_is_open(info) || !open_libdw(&libdw, info))
		return 1;
	libdw_time = time_ns() - start;
	while (scanf("%" SCNx64, &offset) == 1) {
		uint64_t at = time_ns(), after_own;
		int nr_own = perch__debug_frames(info, offset, own), nr_libdw = 0;
		uint64_t address;

		after_own = time_ns();
		if (perch__debug_address(info, offset, &address))
			nr_libdw = (int)libdw_frames(&libdw, address, others);
		own_time += after_own - at;
		libdw_time += time_ns() - after_own;
		nr++;
		if (nr_own < 0)
			return 1;
		if (nr_own == nr_libdw && same_frames(own, others, (size_t)nr_own)) {
			equal++;
		} else if (nr - equal <= 3) {
			printf("%" PRIx64 "\n", offset);
			print_frames("own", own, nr_own);
			print_frames("libdw", others, nr_libdw);
		}
	}
	printf("%" PRIu64 " of %" PRIu64 " equal, %" PRIu64 " ms own, %" PRIu64 " ms libdw\n",
	       equal, nr, own_time / 1000000, libdw_time / 1000000);
	if (perch__debug_error(info))
		printf("%s\n", perch__debug_error(info));
	libdw_free_units(&libdw);
	dwarf_end(libdw.dwarf);
	perch__debug_free(info);
	return equal < nr;
}
