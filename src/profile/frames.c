/* SPDX-License-Identifier: MIT */
/* Addresses become frames: each distinct address has one symbol lookup. */
#include "internal.h"

/*
 * DSOs with the same displayed name, for example libc inside and outside of a container, are shown
 * as one: the first of them is the canonical DSO of all, and functions of the same name share a
 * row.
 */
struct canonical {
	const struct perch_dso **of; /* by DSO index */
	bool *shared;		     /* by DSO index: canonical for other DSOs too */
};

static bool find_canonical(struct perch_profile *profile, struct canonical *canonical)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(profile->processes, &dsos);
	struct key_set names = { 0 };
	uint32_t *first = calloc(nr + 1, sizeof(*first));
	bool is_new, ok;

	canonical->of = calloc(nr + 1, sizeof(*canonical->of));
	canonical->shared = calloc(nr + 1, sizeof(*canonical->shared));
	ok = first && canonical->of && canonical->shared;
	for (size_t i = 0; ok && i < nr; i++) {
		const char *text = perch_symbols_dso_name(profile->symbols, dsos[i]);
		uint64_t hash = perch__hash_text(profile->names_seed, text);
		uint32_t name = perch__key_set_add(&names, hash, dsos[i]->kind, &is_new);

		if (name == NO_NUMBER) {
			ok = false;
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
	return ok;
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
		what = canonical->shared[dso->index]
			       ? perch__hash_text(profile->names_seed, symbol->name)
			       : symbol->index;
	frame = perch__key_set_add(&profile->frames, where, what, &is_new);
	if (frame == NO_NUMBER || !is_new)
		return frame;
	if (PERCH__ARRAY_RESERVE_BY_NR(profile->frame, frame, 1)) {
		perch__key_set_remove_last(&profile->frames);
		return NO_NUMBER;
	}
	profile->frame[frame] = (struct perch_frame){ dso, symbol, symbol ? 0 : address->offset,
						      address->cpumode_char };
	return frame;
}

uint32_t *perch__frames_of_addresses(struct perch_profile *profile)
{
	size_t nr = perch_addresses_count(profile->addresses);
	uint32_t *frames = calloc(nr ? nr : 1, sizeof(*frames));
	struct canonical canonical = { 0 };
	bool ok = frames && find_canonical(profile, &canonical);

	for (size_t i = 0; ok && i < nr; i++) {
		frames[i] =
			get_frame(profile, &canonical, perch_addresses_at(profile->addresses, i));
		ok = frames[i] != NO_NUMBER;
	}
	free(canonical.of);
	free(canonical.shared);
	if (ok)
		return frames;
	free(frames);
	return NULL;
}
