/* SPDX-License-Identifier: MIT */
/*
 * Prints functions and lines of addresses in a kernel module.
 *
 *   module_lines ROOT PATH START RELEASE BUILD_ID < ADDRESSES
 *
 * ROOT: "" is this machine's; START: where the module was loaded; BUILD_ID: hexadecimal, "" is none
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/symbol.h>

static void print(struct perch_symbols *symbols, const struct perch_dso *dso, uint64_t address)
{
	const struct perch_symbol_frame *frame;
	int nr = perch_symbols_frames(symbols, dso, address, &frame);

	printf("%" PRIx64 "\n", address);
	for (int i = 0; i < nr; i++)
		printf("\t%s %s:%" PRIu32 "\n",
		       frame[i].symbol ? perch_symbols_name(symbols, frame[i].symbol) : "??",
		       frame[i].file ? frame[i].file : "??", frame[i].line);
}

int main(int argc, char **argv)
{
	struct perch_dso dso = { .kind = PERCH_DSO_MODULE, .length = 1 << 20 };
	struct perch_symbols_options options = { .foreign = true };
	struct perch_symbols *symbols;
	uint64_t address, errors;
	unsigned byte;

	if (argc != 6)
		return 2;
	options.root = *argv[1] ? argv[1] : NULL;
	dso.path = argv[2];
	dso.start = strtoull(argv[3], NULL, 16);
	for (const char *at = argv[5]; dso.build_id_size < 20 && sscanf(at, "%2x", &byte) == 1;
	     at += 2)
		dso.build_id[dso.build_id_size++] = (uint8_t)byte;
	if (perch_symbols_new(&symbols, &options, NULL) ||
	    perch_symbols_set_recorded_release(symbols, argv[4], NULL))
		return 1;
	while (scanf("%" SCNx64, &address) == 1)
		print(symbols, &dso, address);
	if (perch_symbols_debug_error(symbols, &dso, &errors))
		fprintf(stderr, "%s\n", perch_symbols_debug_error(symbols, &dso, &errors));
	perch_symbols_free(symbols);
	return 0;
}
