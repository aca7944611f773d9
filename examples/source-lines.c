/* SPDX-License-Identifier: MIT */
/*
 * Prints the functions at offsets of a file, innermost first, with source file and line. Offsets
 * are hexadecimal, one per line of standard input, and count from the start of the file.
 *
 *   echo 117b | source-lines /usr/bin/program
 *
 * A line "117b" begins the frames of an offset. Each frame has a function and "file:line".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <perch/symbol.h>

static int print_frames(struct perch_symbols *symbols, const struct perch_dso *dso, uint64_t offset)
{
	const struct perch_symbol_frame *frame;
	int nr = perch_symbols_frames(symbols, dso, offset, &frame);

	printf("%" PRIx64 "\n", offset);
	for (int i = 0; i < nr; i++)
		printf("\t%s%s\n\t%s:%" PRIu32 "\n",
		       frame[i].symbol ? perch_symbols_name(symbols, frame[i].symbol) : "??",
		       i + 1 < nr ? " (inlined)" : "", frame[i].file ? frame[i].file : "??",
		       frame[i].line);
	return nr < 0 ? nr : 0;
}

int main(int argc, char **argv)
{
	struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = argv[1] };
	struct perch_symbols_options options = { .no_demangle = false };
	struct perch_symbols *symbols;
	struct perch_error err;
	uint64_t offset;
	int rc = 0, fd;

	if (argc == 3 && !strcmp(argv[2], "--no-demangle")) {
		options.no_demangle = true;
	} else if (argc != 2) {
		fprintf(stderr, "usage: source-lines FILE [--no-demangle] < OFFSETS "
				"(FILE: an absolute path)\n");
		return 2;
	}
	if (perch_symbols_new(&symbols, &options, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	while (!rc && scanf("%" SCNx64, &offset) == 1)
		rc = print_frames(symbols, &dso, offset);
	if (perch_symbols_open_file(symbols, &dso, &fd, &err)) {
		fprintf(stderr, "%s: %s\n", dso.path, err.message);
		rc = 1;
	} else {
		close(fd);
		if (perch_symbols_error(symbols, &dso))
			fprintf(stderr, "%s: %s\n", dso.path, perch_symbols_error(symbols, &dso));
	}
	perch_symbols_free(symbols);
	return rc ? 1 : 0;
}
