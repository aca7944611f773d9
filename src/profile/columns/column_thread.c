/* SPDX-License-Identifier: MIT */
/* Columns of the thread and the CPU of a sample. */
#include <inttypes.h>

#include "profile/internal.h"

/* The value of a name is its index in the processes + 1. */
static int comm_number(struct perch_profile *profile, const struct perch_thread *thread,
		       uint64_t *number)
{
	size_t index = (size_t)perch_thread_comm_index(thread) + 1;

	if (PERCH__ARRAY_RESERVE_ZEROED(profile->comm, profile->nr_comms, index + 1))
		return -ENOMEM;
	if (!profile->comm[index])
		profile->comm[index] = perch_thread_comm(thread);
	*number = index;
	return 0;
}

static int comm_value(const struct sample *sample, uint64_t *value)
{
	return comm_number(sample->profile, sample->thread, value);
}

static const char *clean_comm(struct perch_profile *profile, uint32_t index, char *buffer,
			      size_t size)
{
	perch_clean_text(profile->comm[index], buffer, size);
	return buffer;
}

static const char *comm_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	return clean_comm(profile, cell->value, buffer, size);
}

static int compare_comms(struct perch_profile *profile, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile->comm[a], profile->comm[b]);
}

static int comm_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	return compare_comms(profile, a->value, b->value);
}

const struct perch_column_methods perch__column_comm = {
	.value = comm_value,
	.compare = comm_compare,
	.text = comm_text,
};

/* ---- comm_nodigit: the number of a text ---- */

/* buffer: for twice as many bytes as the name has, and 3: "1" becomes "<N>", and another character
 * follows it. */
static void put_without_digits(const char *comm, char *buffer)
{
	size_t at = 0;

	while (*comm) {
		size_t digits = strspn(comm, "0123456789");

		if (digits) {
			memcpy(buffer + at, "<N>", 3);
			at += 3;
			comm += digits;
		} else {
			buffer[at++] = *comm++;
		}
	}
	buffer[at] = 0;
}

/* Returns the number of the text of a name, or NO_NUMBER if out of memory. */
static uint32_t add_without_digits(struct perch_profile *profile, uint32_t comm)
{
	struct texts *texts = &profile->without_digits;
	char clean[PERCH_CELL_BYTES], *text;
	size_t before = texts->nr;
	uint32_t number;

	clean_comm(profile, comm, clean, sizeof(clean));
	text = malloc(2 * strlen(clean) + 3);
	if (text)
		put_without_digits(clean, text);
	number = text ? perch__texts_add(texts, text) : NO_NUMBER;
	if (texts->nr == before)
		free(text);
	return number;
}

static int no_digit_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	uint64_t comm;
	uint32_t number;

	if (comm_number(profile, sample->thread, &comm) ||
	    PERCH__ARRAY_RESERVE_ZEROED(profile->without_digits_of, profile->nr_without_digits,
					comm + 1))
		return -ENOMEM;
	if (!profile->without_digits_of[comm]) {
		number = add_without_digits(profile, (uint32_t)comm);
		if (number == NO_NUMBER)
			return -ENOMEM;
		profile->without_digits_of[comm] = number + 1;
	}
	*value = profile->without_digits_of[comm] - 1;
	return 0;
}

static int no_digit_compare(struct perch_profile *profile, const struct cell *a,
			    const struct cell *b)
{
	const char *const *text = profile->without_digits.text;

	return a->value == b->value ? 0 : strcmp(text[a->value], text[b->value]);
}

static const char *no_digit_text(struct perch_profile *profile, const struct cell *cell,
				 char *buffer, size_t size)
{
	(void)buffer;
	(void)size;
	return profile->without_digits.text[cell->value];
}

const struct perch_column_methods perch__column_comm_nodigit = {
	.value = no_digit_value,
	.compare = no_digit_compare,
	.text = no_digit_text,
};

void perch__comms_without_digits_clear(struct texts *texts)
{
	for (size_t i = 0; i < texts->nr && !texts->are_shared; i++)
		free((char *)texts->text[i]);
	perch__texts_clear(texts);
}

int perch__comms_without_digits_detach(struct texts *texts)
{
	texts->are_shared = true;
	return perch__texts_detach(texts);
}

/* ---- the threads of the columns tid and pid ---- */

void perch__named_threads_clear(struct named_threads *named)
{
	perch__hash_clear(&named->table);
	free(named->thread);
}

int perch__named_threads_detach(struct named_threads *named)
{
	named->table = (struct perch__hash_table){ 0 };
	return PERCH__DETACH(named->thread, named->nr);
}

/* ---- ids with the last name: the number of the thread in the upper half of the value, the id in
 * the lower one ---- */

struct named_key {
	const struct perch_thread *thread;
	uint32_t id;
};

/* A thread whose id was used again is another one. */
static bool same_named(const void *items, uint32_t index, const void *key)
{
	const struct named_thread *named = &((const struct named_thread *)items)[index];
	const struct named_key *wanted = key;

	return named->thread == wanted->thread && named->id == wanted->id;
}

int perch__named_value(struct perch_profile *profile, const struct perch_thread *thread,
		       uint32_t id, uint64_t *value)
{
	struct named_threads *named = &profile->named;
	const struct named_key key = { thread, id };
	uint64_t hash, comm;
	uint32_t at;

	if (!named->table.slot)
		named->table.seed = perch__hash_seed(profile);
	hash = perch__hash_pair(named->table.seed, (uintptr_t)thread, id);
	at = perch__hash_find(&named->table, hash, same_named, named->thread, &key);
	if (at == PERCH__HASH_NONE) {
		at = (uint32_t)named->nr;
		if (named->nr >= PERCH__HASH_MAX ||
		    PERCH__ARRAY_RESERVE_BY_NR(named->thread, named->nr, 1) ||
		    perch__hash_add(&named->table, hash, at))
			return -ENOMEM;
		named->thread[named->nr++] = (struct named_thread){ .thread = thread, .id = id };
	}
	if (comm_number(profile, thread, &comm))
		return -ENOMEM;
	named->thread[at].comm = (uint32_t)comm;
	*value = (uint64_t)at << 32 | id;
	return 0;
}

/* A process has the name of its first thread. */
static int pid_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	uint32_t pid = perch_thread_pid(sample->thread);
	const struct perch_thread *first = perch_processes_thread(profile->processes, pid, pid);

	return first ? perch__named_value(profile, first, pid, value) : -ENOMEM;
}

static int tid_value(const struct sample *sample, uint64_t *value)
{
	return perch__named_value(sample->profile, sample->thread, perch_thread_tid(sample->thread),
				  value);
}

static uint32_t name_of(const struct perch_profile *profile, uint64_t value)
{
	return profile->named.thread[value >> 32].comm;
}

static int id_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	uint32_t id_a = a->value, id_b = b->value;
	int order;

	if (id_a != id_b)
		return id_a < id_b ? -1 : 1;
	order = compare_comms(profile, name_of(profile, a->value), name_of(profile, b->value));
	return order ? order : (a->value > b->value) - (a->value < b->value);
}

static const char *id_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			   size_t size)
{
	int length = snprintf(buffer, size, "%7" PRIu32 ":", (uint32_t)cell->value);

	if ((size_t)length < size)
		clean_comm(profile, name_of(profile, cell->value), buffer + length, size - length);
	return buffer;
}

static uint64_t id_number(uint64_t value)
{
	return (uint32_t)value;
}

#define ID_METHODS(value_)                                                                     \
	{                                                                                      \
		.value = (value_), .compare = id_compare, .text = id_text, .number = id_number \
	}

const struct perch_column_methods perch__column_pid = ID_METHODS(pid_value);
const struct perch_column_methods perch__column_tgid = ID_METHODS(pid_value);
const struct perch_column_methods perch__column_tid = ID_METHODS(tid_value);

static int cpu_value(const struct sample *sample, uint64_t *value)
{
	*value = sample->record->parse_info->sample_type & PERCH_SAMPLE_CPU
			 ? sample->record->sample.cpu
			 : PERCH_NO_CPU;
	return 0;
}

/* Samples without a CPU come first. */
static int cpu_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	int32_t left = (int32_t)a->value, right = (int32_t)b->value;

	(void)profile;
	return (left > right) - (left < right);
}

static const char *cpu_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	(void)profile;
	snprintf(buffer, size, "%.3" PRId32, (int32_t)cell->value);
	return buffer;
}

const struct perch_column_methods perch__column_cpu = {
	.value = cpu_value,
	.compare = cpu_compare,
	.text = cpu_text,
};
