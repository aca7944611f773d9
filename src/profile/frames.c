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
struct canonical {
	const struct perch_dso **of;
	bool *shared;
};

static bool find_canonical(struct perch_profile *profile, struct canonical *canonical)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(profile->processes, &dsos);
	struct key_set names = { 0 };
	uint32_t *first = calloc(nr + 1, sizeof(*first));
	bool is_new, fine;

	canonical->of = calloc(nr + 1, sizeof(*canonical->of));
	canonical->shared = calloc(nr + 1, sizeof(*canonical->shared));
	fine = first && canonical->of && canonical->shared;
	for (size_t i = 0; fine && i < nr; i++) {
		uint64_t hash = hash_text(perch_symbols_dso_name(profile->symbols, dsos[i]));
		uint32_t name = perch__key_set_add(&names, hash, dsos[i]->kind, &is_new);

		if (name == NO_NUMBER) {
			fine = false;
			break;
		}
		if (is_new)
			first[name] = i;
		else
			canonical->shared[first[name]] = true;
		canonical->of[i] = dsos[first[name]];
	}
	perch__key_set_clear(&names);
	free(first);
	return fine;
}

static uint32_t get_frame(struct perch_profile *profile, const struct canonical *canonical,
			  const struct perch_address *address)
{
	const struct perch_dso *dso = canonical->of[address->dso->index];
	const struct perch_symbol *symbol = address->symbol;
	uint64_t where = (uint64_t)dso->index << 9 | (symbol ? 1u << 8 : 0) |
			 (uint8_t)address->cpumode_char;
	uint64_t what = address->offset;
	uint32_t frame;
	bool is_new;

	if (symbol)
		what = canonical->shared[dso->index] ? hash_text(symbol->name) : symbol->index;
	frame = perch__key_set_add(&profile->frames, where, what, &is_new);
	if (frame == NO_NUMBER || !is_new)
		return frame;
	if (!perch__room(&profile->frame, frame, sizeof(*profile->frame)))
		return NO_NUMBER;
	profile->frame[frame] = (struct perch_frame){ dso, symbol, symbol ? 0 : address->offset,
						      address->cpumode_char };
	return frame;
}

uint32_t *perch__frames_of_addresses(struct perch_profile *profile)
{
	size_t nr = perch_addresses_count(profile->addresses);
	uint32_t *frames = calloc(nr ? nr : 1, sizeof(*frames));
	struct canonical canonical = { 0 };
	bool fine = frames && find_canonical(profile, &canonical);

	for (size_t i = 0; fine && i < nr; i++) {
		frames[i] =
			get_frame(profile, &canonical, perch_addresses_at(profile->addresses, i));
		fine = frames[i] != NO_NUMBER;
	}
	free(canonical.of);
	free(canonical.shared);
	if (fine)
		return frames;
	free(frames);
	return NULL;
}
