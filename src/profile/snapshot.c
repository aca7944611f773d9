/* SPDX-License-Identifier: MIT */
/* The rows of the samples so far, while a profile goes on. */
#include "internal.h"

/* Returns a copy of nr items, NULL if out of memory. */
static void *copy_of(const void *items, size_t nr, size_t size, bool *failed)
{
	void *copy = malloc((nr + 1) * size);

	if (!copy)
		*failed = true;
	else if (nr)
		memcpy(copy, items, nr * size);
	return copy;
}
#define COPY(array, nr, failed) ((array) = copy_of((array), (nr), sizeof(*(array)), (failed)))

/* The tables stay with the profile: only numbers are used from now on. */
static void copy_tuples(struct tuples *tuples, bool *failed)
{
	tuples->table = (struct perch__hash_table){ 0 };
	tuples->capacity = 0;
	COPY(tuples->word, tuples->nr * tuples->width, failed);
}

static void copy_texts(struct texts *texts, bool *failed)
{
	texts->table = (struct perch__hash_table){ 0 };
	texts->capacity = 0;
	COPY(texts->text, texts->nr, failed);
}

static void copy_flat(struct perch_profile *copy, bool *failed)
{
	struct flat *flat = copy->flat;

	if (!flat)
		return;
	copy->flat = copy_of(flat, 1, sizeof(*flat), failed);
	if (!copy->flat)
		return;
	flat = copy->flat;
	flat->keys.table = (struct perch__hash_table){ 0 };
	COPY(flat->keys.key, flat->keys.nr, failed);
	COPY(flat->first, flat->nr_first, failed);
	COPY(flat->other, flat->keys.nr, failed);
}

/* Every array is copied, also after a failure, so that all of the copy can be freed. */
static bool copy_arrays(struct perch_profile *copy)
{
	bool failed = false;

	copy->shares_addresses = true;
	copy->batch = NULL;
	copy->count_thread = NULL;
	copy->parent = copy->ignored = (struct matcher){ .is_set = false };
	COPY(copy->comm, copy->nr_comms, &failed);
	copy_texts(&copy->without_digits, &failed);
	COPY(copy->without_digits_of, copy->nr_without_digits, &failed);
	copy->named.table = (struct perch__hash_table){ 0 };
	COPY(copy->named.thread, copy->named.nr, &failed);
	COPY(copy->socket, copy->nr_sockets, &failed);
	COPY(copy->event, copy->nr_events, &failed);
	copy->events_capacity = copy->nr_events;
	copy_tuples(&copy->contexts, &failed);
	copy_tuples(&copy->data_addresses, &failed);
	copy_tuples(&copy->namespaces, &failed);
	copy_texts(&copy->functions_named, &failed);
	copy_texts(&copy->dso_names, &failed);
	copy->stacks.table = (struct perch__hash_table){ 0 };
	COPY(copy->stacks.stack, copy->stacks.nr, &failed);
	copy_flat(copy, &failed);
	return !failed;
}

int perch_profile_snapshot(struct perch_profile *profile, struct perch_profile **snapshot,
			   struct perch_error *err)
{
	struct perch_profile *copy;
	int rc;

	*snapshot = NULL;
	if (!profile->addresses || !profile->batch)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a profile that is finished has no snapshot");
	copy = perch__samples_count(profile) ? NULL : malloc(sizeof(*copy));
	if (!copy)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the profile");
	*copy = *profile;
	rc = copy_arrays(copy) ? perch_profile_finish(copy, err)
			       : perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
						 "no memory for the profile");
	if (rc)
		perch_profile_free(copy);
	else
		*snapshot = copy;
	return rc;
}
