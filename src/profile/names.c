/* SPDX-License-Identifier: MIT */
/* Addresses become functions: the one place where symbols are looked up, once per distinct address.
 */
#include <stdlib.h>

#include "internal.h"

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

/*
 * Binaries shown by one name (libc in and outside of a container) are one to the reader: their
 * functions of one name share a line. Each binary's stand-in is the first of its name; shared[]
 * tells which stand for several.
 */
struct standins {
	const struct perch_dso **of;
	bool *shared;
};

static bool find_standins(struct perch_profile *profile, struct standins *standins)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(profile->processes, &dsos);
	struct index names = { 0 };
	uint32_t *first = calloc(nr + 1, sizeof(*first));
	bool fresh, fine;

	standins->of = calloc(nr + 1, sizeof(*standins->of));
	standins->shared = calloc(nr + 1, sizeof(*standins->shared));
	fine = first && standins->of && standins->shared;
	for (size_t i = 0; fine && i < nr; i++) {
		uint64_t hash = hash_text(perch_symbols_dso_name(profile->symbols, dsos[i]));
		uint32_t name = perch__index_of(&names, hash, dsos[i]->kind, &fresh);

		if (name == INDEX_FULL) {
			fine = false;
			break;
		}
		if (fresh)
			first[name] = i;
		else
			standins->shared[first[name]] = true;
		standins->of[i] = dsos[first[name]];
	}
	perch__index_clear(&names);
	free(first);
	return fine;
}

static uint32_t frame_of(struct perch_profile *profile, const struct standins *standins,
			 const struct perch_address *address)
{
	const struct perch_dso *dso = standins->of[address->dso->index];
	const struct perch_symbol *symbol = address->symbol;
	uint64_t where = (uint64_t)dso->index << 9 | (symbol ? 1u << 8 : 0) |
			 (uint8_t)address->cpumode_char;
	uint64_t what = address->offset;
	uint32_t frame;
	bool fresh;

	if (symbol)
		what = standins->shared[dso->index] ? hash_text(symbol->name) : symbol->index;
	frame = perch__index_of(&profile->frames, where, what, &fresh);
	if (frame == INDEX_FULL || !fresh)
		return frame;
	if (!perch__room(&profile->frame, frame, sizeof(*profile->frame)))
		return INDEX_FULL;
	profile->frame[frame] = (struct perch_frame){ dso, symbol, symbol ? 0 : address->offset,
						      address->cpumode_char };
	return frame;
}

uint32_t *perch__name_addresses(struct perch_profile *profile)
{
	size_t nr = perch_addresses_count(profile->addresses);
	uint32_t *frames = calloc(nr ? nr : 1, sizeof(*frames));
	struct standins standins = { 0 };
	bool fine = frames && find_standins(profile, &standins);

	for (size_t i = 0; fine && i < nr; i++) {
		frames[i] = frame_of(profile, &standins, perch_addresses_at(profile->addresses, i));
		fine = frames[i] != INDEX_FULL;
	}
	free(standins.of);
	free(standins.shared);
	if (fine)
		return frames;
	free(frames);
	return NULL;
}
