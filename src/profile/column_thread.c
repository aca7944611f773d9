/* SPDX-License-Identifier: MIT */
/* Columns of the thread and the CPU of a sample. */
#include <inttypes.h>

#include "internal.h"

/* Longer names are cut: the kernel has 15 bytes, and the file is not trusted. */
#define COMM_BYTES 64

/* The value of a name is its index in the processes + 1. */
static int comm_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	size_t index = (size_t)perch_thread_comm_index(sample->thread) + 1;

	if (PERCH__ARRAY_RESERVE_ZEROED(profile->comm, profile->nr_comms, index + 1))
		return -ENOMEM;
	if (!profile->comm[index])
		profile->comm[index] = perch_thread_comm(sample->thread);
	*value = index;
	return 0;
}

static const char *clean_comm(struct perch_profile *profile, uint32_t index, char *buffer,
			      size_t size)
{
	perch_clean_text(profile->comm[index], buffer, size < COMM_BYTES ? size : COMM_BYTES);
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

/* ---- ids with the name: the name in the upper half of the value, the id in the lower one ---- */

static int pid_value(const struct sample *sample, uint64_t *value)
{
	uint64_t comm;
	int rc = comm_value(sample, &comm);

	*value = comm << 32 | perch_thread_pid(sample->thread);
	return rc;
}

static int tid_value(const struct sample *sample, uint64_t *value)
{
	uint64_t comm;
	int rc = comm_value(sample, &comm);

	*value = comm << 32 | perch_thread_tid(sample->thread);
	return rc;
}

static int id_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	uint32_t id_a = a->value, id_b = b->value;

	if (id_a != id_b)
		return id_a < id_b ? -1 : 1;
	return compare_comms(profile, a->value >> 32, b->value >> 32);
}

static const char *id_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			   size_t size)
{
	int length = snprintf(buffer, size, "%7" PRIu32 ":", (uint32_t)cell->value);

	if ((size_t)length < size)
		clean_comm(profile, cell->value >> 32, buffer + length, size - length);
	return buffer;
}

static uint64_t id_number(uint64_t value)
{
	return (uint32_t)value;
}

const struct perch_column_methods perch__column_pid = {
	.value = pid_value,
	.compare = id_compare,
	.text = id_text,
	.number = id_number,
};

const struct perch_column_methods perch__column_tid = {
	.value = tid_value,
	.compare = id_compare,
	.text = id_text,
	.number = id_number,
};

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
