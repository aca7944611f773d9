/* SPDX-License-Identifier: MIT */
/* Samples without their call chains: they are counted by context and address. */
#include "internal.h"

int perch__flat_reserve(struct flat *flat, size_t nr_addresses, size_t more)
{
	return PERCH__ARRAY_RESERVE_ZEROED(flat->first, flat->nr_first, nr_addresses) ||
			       perch__key_set_reserve(&flat->keys, more) ||
			       PERCH__ARRAY_RESERVE_BY_NR(flat->other, flat->keys.nr, more)
		       ? -ENOMEM
		       : 0;
}

/* Returns the count of an address in another context than its first one. */
static struct count *find_other(struct flat *flat, struct context_id context,
				struct address_id address)
{
	bool is_new;
	uint32_t at = perch__key_set_add(&flat->keys, context.nr, address.nr, &is_new);

	if (is_new)
		flat->other[at] = (struct count){ .context = context };
	return &flat->other[at];
}

static void add_samples(struct flat *flat, struct address_id address, struct context_id context,
			uint64_t period, uint64_t samples)
{
	struct count *count = &flat->first[address.nr];

	if (!count->samples)
		count->context = context;
	else if (count->context.nr != context.nr)
		count = find_other(flat, context, address);
	count->period += period;
	count->samples += samples;
}

int perch__flat_add(struct perch_profile *profile, struct address_id address,
		    struct context_id context, uint64_t period)
{
	if (perch__flat_reserve(profile->flat, (size_t)address.nr + 1, 1))
		return -ENOMEM;
	add_samples(profile->flat, address, context, period, profile->unit);
	return 0;
}

#define AHEAD 16

void perch__flat_add_batch(struct flat *flat, const struct batch *batch)
{
	for (size_t i = 0; i < batch->nr; i++) {
		if (i + AHEAD < batch->nr)
			__builtin_prefetch(&flat->first[batch->number[i + AHEAD]], 1);
		add_samples(flat, (struct address_id){ batch->number[i] }, batch->sample[i].context,
			    batch->sample[i].period, batch->unit);
	}
}

static int copy_count(struct flat *to, const struct count *count, struct address_id address,
		      struct context_id context)
{
	if (perch__flat_reserve(to, (size_t)address.nr + 1, 1))
		return -ENOMEM;
	add_samples(to, address, context, count->period, count->samples);
	return 0;
}

int perch__flat_copy(struct flat *to, const struct flat *from, const struct address_id *address,
		     const struct context_id *context)
{
	int rc = 0;

	for (size_t i = 0; i < from->nr_first && !rc; i++)
		if (from->first[i].samples)
			rc = copy_count(to, &from->first[i], address[i],
					context[from->first[i].context.nr]);
	for (size_t i = 0; i < from->keys.nr && !rc; i++)
		if (from->other[i].samples)
			rc = copy_count(to, &from->other[i], address[from->keys.key[i][1]],
					context[from->other[i].context.nr]);
	return rc;
}

static int fold_count(struct perch_profile *profile, const struct count *count,
		      struct frame_id frame)
{
	struct context_id context = perch__latency_context(profile, count->context);
	struct node_id node = perch__tree_child(&profile->tree, perch__root_of(context), frame.nr);

	return node.nr == NO_NUMBER ? -ENOMEM
				    : perch__count_samples(profile, node, count->context,
							   count->period, count->samples);
}

int perch__flat_fold(struct perch_profile *profile, const struct frame_lists *lists)
{
	const struct flat *flat = profile->flat;
	size_t nr = flat->nr_first + flat->keys.nr;
	int rc = 0;

	perch__tree_expect(&profile->tree, nr);
	for (size_t i = 0; i < flat->nr_first && !rc; i++) {
		rc = perch__profile_progress(profile, WORK_FOLD, i, nr);
		if (!rc && flat->first[i].samples)
			rc = fold_count(profile, &flat->first[i], lists->frame[i]);
	}
	for (size_t i = 0; i < flat->keys.nr && !rc; i++) {
		rc = perch__profile_progress(profile, WORK_FOLD, flat->nr_first + i, nr);
		if (!rc && flat->other[i].samples)
			rc = fold_count(profile, &flat->other[i],
					lists->frame[flat->keys.key[i][1]]);
	}
	return rc;
}

void perch__flat_clear(struct flat *flat)
{
	perch__key_set_clear(&flat->keys);
	free(flat->first);
	free(flat->other);
	*flat = (struct flat){ 0 };
}

void perch__flat_free(struct flat **flat)
{
	if (*flat)
		perch__flat_clear(*flat);
	free(*flat);
	*flat = NULL;
}

int perch__flat_detach(struct flat **flat)
{
	int rc = PERCH__DETACH(*flat, 1);

	if (!*flat)
		return rc;
	rc = perch__key_set_detach(&(*flat)->keys);
	rc |= PERCH__DETACH((*flat)->first, (*flat)->nr_first);
	rc |= PERCH__DETACH((*flat)->other, (*flat)->keys.nr);
	return rc ? -ENOMEM : 0;
}
