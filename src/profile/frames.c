/* SPDX-License-Identifier: MIT */
/* Addresses become frames: each distinct address has one symbol lookup. */
#include "internal.h"

/*
 * DSOs with the same displayed name, for example libc inside and outside of a container, are shown
 * as one: the first of them is the canonical DSO of all, and functions of the same name share a
 * row.
 */
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
			  const struct perch_address *address, const struct perch_symbol *symbol)
{
	const struct perch_dso *dso = canonical->of[address->dso->index];
	uint64_t where = (uint64_t)dso->index << 10 | (symbol && symbol->inlined ? 1u << 9 : 0) |
			 (symbol ? 1u << 8 : 0) | (uint8_t)address->cpumode_char;
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

int perch__frames_of_addresses(struct perch_profile *profile, struct frame_lists *lists)
{
	size_t nr = perch_addresses_count(profile->addresses);
	size_t kinds = profile->inlined ? 2 : 0;

	lists->frame = calloc(nr ? nr : 1, sizeof(*lists->frame));
	if (!lists->frame || !find_canonical(profile, &lists->canonical))
		return -ENOMEM;
	for (size_t i = 0; i < kinds; i++) {
		lists->inlined[i] = calloc(nr ? nr : 1, sizeof(*lists->inlined[i]));
		if (!lists->inlined[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct perch_address *address = perch_addresses_at(profile->addresses, i);

		lists->frame[i] = get_frame(profile, &lists->canonical, address, address->symbol);
		if (lists->frame[i] == NO_NUMBER)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the frames of the functions that are inlined at an address. Returns 0 or -ENOMEM. */
static int add_inlined(struct perch_profile *profile, struct frame_lists *lists,
		       const struct perch_address *address, bool is_caller, struct inlined *inlined)
{
	const struct perch_symbol_frame *found;
	int nr = perch_symbols_frames(profile->symbols, address->dso,
				      address->offset - (is_caller ? 1 : 0), &found);

	if (nr < 0)
		return nr;
	/* a call at the end of a function returns to the next function, whose name is shown */
	if (found[nr - 1].symbol != address->symbol)
		return 0;
	for (int i = 0; i < nr - 1; i++) {
		uint32_t frame;

		if (!found[i].symbol)
			continue;
		frame = get_frame(profile, &lists->canonical, address, found[i].symbol);
		if (frame == NO_NUMBER ||
		    PERCH__ARRAY_RESERVE(lists->inlined_frame, lists->capacity,
					 lists->nr_inlined_frames + 1))
			return -ENOMEM;
		lists->inlined_frame[lists->nr_inlined_frames++] = frame;
		inlined->nr++;
	}
	return 0;
}

const struct inlined *perch__frames_inlined(struct perch_profile *profile,
					    struct frame_lists *lists, uint32_t number,
					    bool is_caller)
{
	struct inlined *inlined = &lists->inlined[is_caller][number];
	const struct perch_address *address;

	if (inlined->looked_up)
		return inlined;
	inlined->looked_up = true;
	inlined->first = (uint32_t)lists->nr_inlined_frames;
	address = perch_addresses_at(profile->addresses, number);
	if ((address->offset || !is_caller) &&
	    perch_symbols_has_debug_info(profile->symbols, address->dso) &&
	    add_inlined(profile, lists, address, is_caller, inlined))
		return NULL;
	return inlined;
}

void perch__frames_clear(struct frame_lists *lists)
{
	free(lists->frame);
	free(lists->canonical.of);
	free(lists->canonical.shared);
	free(lists->inlined[0]);
	free(lists->inlined[1]);
	free(lists->inlined_frame);
}
