/* SPDX-License-Identifier: MIT */
/* The addresses of a batch are resolved when it is counted, with what was mapped at each sample. */
#include "process/mappings.h"
#include "profile/internal.h"

#define SPACES 64u /* by the low bits of their generation */

struct batch_mappings {
	uint64_t used; /* a bit for each space */
	uint64_t key[SPACES];
	struct perch__mappings of[SPACES];
};
_Static_assert(SPACES <= 64, "a word has a bit for each space");

/* A key with a smaller word is not resolved. The address of a DSO is larger. */
#define RESOLVED (SPACES << 3)
#define NO_MODE	 (PERCH_MISC_CPUMODE_MASK + 1u)

/* Returns the index of the mappings of an address, or SPACES if it is to be resolved at once. */
static unsigned find_mappings(struct perch_profile *profile, const struct perch_thread *thread,
			      unsigned cpumode)
{
	uint64_t key = perch__space_key(profile->processes, thread, cpumode);
	/* half of the spaces are for the kernel's addresses */
	unsigned at = (unsigned)(key >> 3 << 1 | (cpumode == PERCH_MISC_KERNEL)) % SPACES;
	struct batch_mappings *mappings = profile->batch->mappings;

	if (!mappings)
		mappings = profile->batch->mappings = calloc(1, sizeof(*mappings));
	if (!mappings)
		return SPACES;
	if (mappings->used >> at & 1)
		return mappings->key[at] == key ? at : SPACES;
	if (!perch__mappings_hold(&mappings->of[at], profile->processes, thread, cpumode))
		return SPACES;
	mappings->key[at] = key;
	mappings->used |= 1ull << at;
	return at;
}

void perch__batch_add_keys(struct perch_profile *profile, struct perch_thread *thread,
			   const uint64_t *ip, const uint8_t *cpumode, size_t nr)
{
	struct batch *batch = profile->batch;
	unsigned mode = NO_MODE, at = SPACES;

	while (nr-- > 0) {
		if (cpumode[nr] != mode) {
			mode = cpumode[nr];
			at = find_mappings(profile, thread, mode);
		}
		batch->key[batch->nr_keys++] =
			at < SPACES ? (struct address_key){ { at << 3 | mode, ip[nr] } }
				    : perch__address_key(profile->addresses, thread, mode, ip[nr]);
	}
}

void perch__batch_resolve(struct batch *batch)
{
	for (size_t i = 0; i < batch->nr_keys; i++) {
		uint64_t *key = batch->key[i].word;
		unsigned cpumode = key[0] & PERCH_MISC_CPUMODE_MASK;
		const struct perch_dso *dso;

		if (key[0] >= RESOLVED)
			continue;
		dso = perch__mappings_resolve(&batch->mappings->of[key[0] >> 3], key[1], &key[1]);
		key[0] = (uintptr_t)dso | cpumode;
	}
}

void perch__batch_drop_mappings(struct batch *batch)
{
	struct batch_mappings *mappings = batch->mappings;

	for (; mappings && mappings->used; mappings->used &= mappings->used - 1)
		perch__mappings_drop(&mappings->of[__builtin_ctzll(mappings->used)]);
}

void perch__batch_free(void *freed)
{
	struct batch *batch = freed;

	if (!batch)
		return;
	perch__batch_drop_mappings(batch);
	free(batch->mappings);
	free(batch);
}
