/* SPDX-License-Identifier: MIT */
/*
 * Profiles of which old samples count less: for live reports. What has no samples left is removed,
 * with the addresses and contexts that nothing else uses.
 */
#include "base/no_memory.h"
#include "base/wide.h"
#include "internal.h"

/* Parts of a sample: one that is multiplied by 7/8 thirty times has less than one part left. */
#define UNIT 256

/* What is left, with new numbers. */
struct remainder {
	/* by old number: 1 if it is used, then the new number */
	struct address_id *address;
	struct context_id *context;
	struct key_set keys;
	struct perch_address *addresses;
	struct tuples contexts;
	struct tree stacks;
	struct flat flat;
};

static void clear_remainder(struct remainder *remainder)
{
	free(remainder->address);
	free(remainder->context);
	perch__key_set_clear(&remainder->keys);
	free(remainder->addresses);
	perch__tuples_clear(&remainder->contexts);
	perch__tree_clear(&remainder->stacks);
	perch__flat_clear(&remainder->flat);
}

/* ---- sums ---- */

struct factor {
	uint32_t numerator, denominator, unit; /* unit: more parts of a sample */
};

static uint64_t multiply(const struct factor *factor, uint64_t number)
{
	return perch__divide_product(number, factor->numerator, 0, factor->denominator);
}

static void decay(const struct factor *factor, uint64_t *period, uint64_t *samples)
{
	*samples = multiply(factor, *samples * factor->unit);
	*period = *samples ? multiply(factor, *period) : 0;
}

static void add_total(struct perch_profile *profile, struct context_id context, uint64_t period,
		      uint64_t samples)
{
	struct profile_event *event = &profile->event[perch__context_event(profile, context)];

	event->total.period += period;
	event->total.samples += samples;
}

static void decay_count(struct perch_profile *profile, const struct factor *factor,
			struct count *count)
{
	if (!count->samples)
		return;
	decay(factor, &count->period, &count->samples);
	add_total(profile, count->context, count->period, count->samples);
}

static void decay_stack(struct perch_profile *profile, const struct factor *factor,
			struct node_id at)
{
	const struct tree *stacks = &profile->stacks;
	struct above above = perch__below_node(at);
	struct node_count *count;

	if (!perch__tree_samples(stacks, &stacks->node[at.nr]))
		return;
	while (!perch__is_root(above))
		above = stacks->node[above.nr].above;
	count = &stacks->count[stacks->node[at.nr].count];
	decay(factor, &count->period, &count->samples);
	add_total(profile, perch__root_context(above), count->period, count->samples);
}

/* Totals are those of what is left, so that shares add up. */
static void decay_sums(struct perch_profile *profile, const struct factor *factor)
{
	struct flat *flat = profile->flat;

	for (size_t i = 0; i < profile->nr_events; i++) {
		struct profile_event *event = &profile->event[i];

		event->total = (struct perch_profile_total){ 0 };
		decay(factor, &event->skipped_period, &event->skipped_samples);
		event->skipped_latency *= (double)factor->numerator / factor->denominator;
	}
	for (size_t i = 0; i < profile->stacks.nr; i++)
		decay_stack(profile, factor, (struct node_id){ (uint32_t)i });
	for (size_t i = 0; flat && i < flat->nr_first; i++)
		decay_count(profile, factor, &flat->first[i]);
	for (size_t i = 0; flat && i < flat->keys.nr; i++)
		decay_count(profile, factor, &flat->other[i]);
}

/* ---- what is used ---- */

static void mark_flat(struct remainder *remainder, const struct flat *flat)
{
	for (size_t i = 0; i < flat->nr_first; i++)
		if (flat->first[i].samples)
			remainder->address[i].nr =
				remainder->context[flat->first[i].context.nr].nr = 1;
	for (size_t i = 0; i < flat->keys.nr; i++)
		if (flat->other[i].samples)
			remainder->address[flat->keys.key[i][1]].nr =
				remainder->context[flat->other[i].context.nr].nr = 1;
}

/* Returns 0 or -ENOMEM. */
static int mark_stacks(struct remainder *remainder, const struct tree *stacks)
{
	bool *used = calloc(stacks->nr + 1, sizeof(*used));

	if (!used)
		return -ENOMEM;
	for (size_t i = stacks->nr; i-- > 0;) {
		const struct node *stack = &stacks->node[i];

		used[i] |= perch__tree_samples(stacks, stack) > 0;
		if (!used[i])
			continue;
		if (perch__is_root(stack->above))
			remainder->context[perch__root_context(stack->above).nr].nr = 1;
		else
			used[stack->above.nr] = true;
		remainder->address[stack->key].nr = 1;
	}
	free(used);
	return 0;
}

static bool has_address(const struct perch_profile *profile, size_t word)
{
	const struct perch_column_methods *methods = profile->sample_column[word]->methods;

	return methods && methods->frame_value;
}

/* Contexts have numbers of addresses, too. */
static void mark_contexts(struct remainder *remainder, const struct perch_profile *profile)
{
	for (size_t word = 1; word < profile->contexts.width; word++)
		for (size_t i = 0; has_address(profile, word) && i < profile->contexts.nr; i++)
			if (remainder->context[i].nr)
				remainder->address[perch__tuples_at(&profile->contexts, i)[word]]
					.nr = 1;
}

/* ---- new numbers ---- */

static int number_addresses(struct remainder *remainder, const struct perch_addresses *addresses)
{
	bool is_new;

	for (size_t i = 0; i < addresses->keys.nr; i++) {
		const uint64_t *key = addresses->keys.key[i];
		uint32_t number;

		if (!remainder->address[i].nr)
			continue;
		if (PERCH__ARRAY_RESERVE_BY_NR(remainder->addresses, remainder->keys.nr, 1))
			return -ENOMEM;
		number = perch__key_set_add(&remainder->keys, key[0], key[1], &is_new);
		if (number == NO_NUMBER)
			return -ENOMEM;
		remainder->addresses[number] = addresses->address[i];
		remainder->address[i].nr = number;
	}
	return 0;
}

static int number_contexts(struct remainder *remainder, const struct perch_profile *profile)
{
	size_t width = profile->contexts.width;
	uint64_t words[1 + MAX_COLUMNS];

	remainder->contexts.width = width;
	for (size_t i = 0; i < profile->contexts.nr; i++) {
		if (!remainder->context[i].nr)
			continue;
		memcpy(words, perch__tuples_at(&profile->contexts, i), width * sizeof(*words));
		for (size_t word = 1; word < width; word++)
			if (has_address(profile, word))
				words[word] = remainder->address[words[word]].nr;
		remainder->context[i].nr = perch__tuples_add(&remainder->contexts, words);
		if (remainder->context[i].nr == NO_NUMBER)
			return -ENOMEM;
	}
	return 0;
}

/* Makes the remainder of a profile. Returns 0 or -ENOMEM. */
static int gather(struct remainder *remainder, const struct perch_profile *profile)
{
	int rc;

	remainder->address = calloc(profile->addresses->keys.nr + 1, sizeof(*remainder->address));
	remainder->context = calloc(profile->contexts.nr + 1, sizeof(*remainder->context));
	rc = remainder->address && remainder->context ? mark_stacks(remainder, &profile->stacks)
						      : -ENOMEM;
	if (rc)
		return rc;
	if (profile->flat)
		mark_flat(remainder, profile->flat);
	mark_contexts(remainder, profile);
	rc = number_addresses(remainder, profile->addresses);
	if (!rc)
		rc = number_contexts(remainder, profile);
	if (!rc)
		rc = perch__stacks_copy(&remainder->stacks, &profile->stacks, remainder->address,
					remainder->context);
	if (!rc && profile->flat)
		rc = perch__flat_copy(&remainder->flat, profile->flat, remainder->address,
				      remainder->context);
	return rc;
}

#define SWAP(a, b)                         \
	do {                               \
		__typeof__(a) saved = (a); \
		(a) = (b);                 \
		(b) = saved;               \
	} while (0)

/* Results by the number of an address are made anew. */
static void clear_results(struct matcher *matcher)
{
	free(matcher->result);
	matcher->result = NULL;
	matcher->nr = 0;
}

/* Puts the remainder into the profile; what it had is in the remainder, to be freed. */
static void use_remainder(struct perch_profile *profile, struct remainder *remainder)
{
	struct perch_addresses *addresses = profile->addresses;

	SWAP(addresses->keys, remainder->keys);
	SWAP(addresses->address, remainder->addresses);
	SWAP(profile->contexts, remainder->contexts);
	SWAP(profile->stacks, remainder->stacks);
	if (profile->flat)
		SWAP(*profile->flat, remainder->flat);
	memset(addresses->recent, 0, sizeof(addresses->recent));
	memset(addresses->last_stack, 0, sizeof(addresses->last_stack));
	memset(profile->last_stack, 0, sizeof(profile->last_stack));
	memset(profile->recent_context, 0, sizeof(profile->recent_context));
	clear_results(&profile->parent);
	clear_results(&profile->ignored);
}

int perch_profile_decay(struct perch_profile *profile, uint32_t numerator, uint32_t denominator,
			struct perch_error *err)
{
	const struct factor factor = { numerator, denominator, UNIT / profile->unit };
	struct remainder remainder = { 0 };
	int rc;

	if (!profile->addresses || !profile->batch)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a profile that is finished cannot decay");
	if (!denominator || numerator > denominator)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a profile decays by a factor from 0 to 1 (currently %u/%u)",
				       numerator, denominator);
	if (perch__samples_count(profile))
		return PERCH__NO_MEMORY(err, "for the profile");
	decay_sums(profile, &factor);
	profile->unit = UNIT;
	rc = gather(&remainder, profile);
	if (!rc)
		use_remainder(profile, &remainder);
	clear_remainder(&remainder);
	return rc ? PERCH__NO_MEMORY(err, "for the profile") : 0;
}
