/* SPDX-License-Identifier: MIT */
/*
 * Where the addresses of a DSO are in a profile. Files have a range of their own, because processes
 * map them at different addresses.
 */
#include <errno.h>
#include <stdlib.h>

#include "encode.h"

#define PAGE 0x1000ull
/* Files have addresses from here on, but for the one with most samples, which has its own. */
#define FIRST_ADDRESS 0x20000000ul

static bool has_mapping(const struct perch_dso *dso)
{
	return perch_dso_is(dso, PERCH_DSO_IS_MAPPED) && !perch_dso_is(dso, PERCH_DSO_IS_MEMORY);
}

int perch__encode_mapping(struct encode *encode, const struct perch_dso *dso, uint32_t *number)
{
	struct encode_mapping *mapping = &encode->mapping[dso->index];
	uint64_t first = mapping->first & ~(PAGE - 1);
	const struct perch_encoder_mapping wanted = {
		.path = dso->path,
		.build_id = dso->build_id,
		.build_id_size = dso->build_id_size,
		/* pages with code only: pprof finds the segment of the file by the start */
		.start = mapping->base + first,
		.limit = (mapping->base + mapping->last + PAGE) & ~(PAGE - 1),
		.offset = perch_dso_is(dso, PERCH_DSO_IS_FILE) ? first : 0,
		/* otherwise pprof would search files of this machine for names */
		.functions = true,
		.lines = !encode->export->options.no_inline &&
			 perch_symbols_has_debug_info(
				 perch_session_symbols(encode->export->session), dso),
	};
	int rc = 0;

	if (!mapping->number && has_mapping(dso))
		rc = perch_encoder_add_mapping(encode->encoder, &wanted, &mapping->number,
					       encode->err);
	*number = mapping->number;
	return rc;
}

/* Finds the file with most samples. *main is NULL if no sample is in a file. Returns 0 or -ENOMEM.
 */
static int find_main(const struct encode *encode, const struct perch_address **main)
{
	const struct perch_export *export = encode->export;
	uint64_t *samples = calloc(encode->nr_mappings + 1, sizeof(*samples)), most = 0;

	*main = NULL;
	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[i];
		const struct perch_address *address;

		if (entry->stack == NO_INDEX)
			continue;
		address =
			perch_session_address(export->session, export->stack[entry->stack].address);
		samples[address->dso->index] += entry->samples;
		if (perch_dso_is(address->dso, PERCH_DSO_IS_FILE) &&
		    samples[address->dso->index] > most) {
			most = samples[address->dso->index];
			*main = address;
		}
	}
	free(samples);
	return 0;
}

/*
 * Gives a file the addresses that objdump(1) prints, as without randomization: pprof -disasm of Go
 * compares them. Files that cannot be read have other addresses.
 */
static void set_base(struct encode *encode, const struct perch_address *address)
{
	struct encode_mapping *mapping = &encode->mapping[address->dso->index];
	struct perch_code code;

	if (perch_symbols_read_code(perch_session_symbols(encode->export->session), address->dso,
				    address->offset, 1, &code, NULL))
		return;
	if (code.address >= code.offset && code.address < FIRST_ADDRESS / 2 &&
	    mapping->last < FIRST_ADDRESS / 2) {
		mapping->base = code.address - code.offset;
		mapping->at_base = true;
	}
	perch_code_clear(&code);
}

/* Finds the lowest and the highest offset in each DSO. */
static void find_offsets(struct encode *encode)
{
	const struct perch_export *export = encode->export;

	for (size_t i = 0; i < encode->nr_mappings; i++)
		encode->mapping[i].first = UINT64_MAX;
	for (size_t i = 0; i < export->nr_stacks; i++) {
		const struct perch_address *address =
			perch_session_address(export->session, export->stack[i].address);
		struct encode_mapping *mapping = &encode->mapping[address->dso->index];

		if (address->offset < mapping->first)
			mapping->first = address->offset;
		if (address->offset > mapping->last)
			mapping->last = address->offset;
	}
}

int perch__encode_ranges(struct encode *encode)
{
	const struct perch_address *main;
	const struct perch_dso *const *dsos;
	uint64_t next = FIRST_ADDRESS;
	uint32_t number;

	encode->nr_mappings =
		perch_processes_dsos(perch_session_processes(encode->export->session), &dsos);
	encode->mapping = calloc(encode->nr_mappings + 1, sizeof(*encode->mapping));
	if (!encode->mapping || find_main(encode, &main))
		return PERCH__NO_MEMORY(encode->err, "to export");
	find_offsets(encode);
	if (main)
		set_base(encode, main);
	for (size_t i = 0; i < encode->nr_mappings; i++) {
		struct encode_mapping *mapping = &encode->mapping[i];

		/* offsets in the kernel are addresses */
		if (mapping->at_base || mapping->first > mapping->last || !has_mapping(dsos[i]) ||
		    perch_dso_is(dsos[i], PERCH_DSO_IS_IN_KERNEL))
			continue;
		mapping->base = next;
		next = (next + mapping->last + 2 * PAGE) & ~(PAGE - 1);
	}
	return main ? perch__encode_mapping(encode, main->dso, &number) : 0;
}
