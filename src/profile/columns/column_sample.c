/* SPDX-License-Identifier: MIT */
/* Columns of numbers that a sample has. */
#include <inttypes.h>

#include <perch/fields.h>
#include "profile/internal.h"

static bool has_bit(const struct sample *sample, uint64_t bit)
{
	return sample->record->parse_info->sample_type & bit;
}

static int store_value(uint64_t *value, uint64_t number)
{
	*value = number;
	return 0;
}

/* ---- time: the start of its quantum ---- */

static int time_value(const struct sample *sample, uint64_t *value)
{
	uint64_t time = has_bit(sample, PERCH_SAMPLE_TIME) ? sample->record->sample.time : 0;

	return store_value(value, time - time % sample->profile->time_quantum);
}

static const char *time_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	uint64_t seconds = cell->value / 1000000000, left = cell->value % 1000000000;

	if (profile->nanoseconds)
		snprintf(buffer, size, "%" PRIu64 ".%09" PRIu64, seconds, left);
	else
		snprintf(buffer, size, "%" PRIu64 ".%06" PRIu64, seconds, left / 1000);
	return buffer;
}

const struct perch_column_methods perch__column_time = { .value = time_value, .text = time_text };

/* ---- socket ---- */

static int socket_value(const struct sample *sample, uint64_t *value)
{
	const struct perch_profile *profile = sample->profile;
	uint32_t cpu = sample->record->sample.cpu;

	if (!has_bit(sample, PERCH_SAMPLE_CPU) || cpu >= profile->nr_sockets)
		return store_value(value, UINT32_MAX);
	return store_value(value, profile->socket[cpu]);
}

static const char *socket_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	(void)profile;
	snprintf(buffer, size, "%.3" PRId32, (int32_t)cell->value);
	return buffer;
}

const struct perch_column_methods perch__column_socket = { .value = socket_value,
							   .text = socket_text };

/* ---- parallelism ---- */

static int parallelism_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, perch_processes_parallelism(sample->profile->processes));
}

static const char *parallelism_text(struct perch_profile *profile, const struct cell *cell,
				    char *buffer, size_t size)
{
	(void)profile;
	snprintf(buffer, size, cell->value ? "%" PRIu64 : "unknown", cell->value);
	return buffer;
}

const struct perch_column_methods perch__column_parallelism = { .value = parallelism_value,
								.text = parallelism_text };

/* ---- cgroup: its id ---- */

static int cgroup_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->record->sample.cgroup);
}

static const char *cgroup_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	const char *name = NULL;

	if (cell->value)
		name = perch_processes_cgroup_name(profile->processes, cell->value);
	perch_clean_text(name ? name : cell->value ? "unknown" : "N/A", buffer, size);
	return buffer;
}

const struct perch_column_methods perch__column_cgroup = { .value = cgroup_value,
							   .text = cgroup_text };

/* ---- cgroup_id: the number of a namespace ---- */

static int namespace_value(const struct sample *sample, uint64_t *value)
{
	struct tuples *namespaces = &sample->profile->namespaces;
	struct perch_ns_link_info link;
	uint32_t number;

	perch_thread_cgroup_namespace(sample->thread, &link);
	namespaces->width = 2;
	number = perch__tuples_add(namespaces, (uint64_t[]){ link.dev, link.ino });
	return number == NO_NUMBER ? -ENOMEM : store_value(value, number);
}

static int namespace_compare(struct perch_profile *profile, const struct cell *a,
			     const struct cell *b)
{
	const uint64_t *left = perch__tuples_at(&profile->namespaces, (uint32_t)a->value);
	const uint64_t *right = perch__tuples_at(&profile->namespaces, (uint32_t)b->value);

	for (size_t i = 0; i < 2; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static const char *namespace_text(struct perch_profile *profile, const struct cell *cell,
				  char *buffer, size_t size)
{
	const uint64_t *words = perch__tuples_at(&profile->namespaces, (uint32_t)cell->value);

	snprintf(buffer, size, "%" PRIu64 "/0x%" PRIx64, words[0], words[1]);
	return buffer;
}

const struct perch_column_methods perch__column_cgroup_id = { .value = namespace_value,
							      .compare = namespace_compare,
							      .text = namespace_text };

/* ---- weights ---- */

static union perch_sample_weight weight_of(const struct sample *sample)
{
	return (union perch_sample_weight){ .full = sample->record->sample.weight };
}

/* As in perf, the weight of a branch is its cycles. */
static int weight_value(const struct sample *sample, uint64_t *value)
{
	if (sample->branch)
		return store_value(value, sample->branch->cycles ? sample->branch->cycles : 1);
	return store_value(value, has_bit(sample, PERCH_SAMPLE_WEIGHT_STRUCT)
					  ? weight_of(sample).var1_dw
					  : sample->record->sample.weight);
}

static int latency_value(const struct sample *sample, uint64_t *value)
{
	return store_value(
		value, has_bit(sample, PERCH_SAMPLE_WEIGHT_STRUCT) ? weight_of(sample).var2_w : 0);
}

static int stage_value(const struct sample *sample, uint64_t *value)
{
	return store_value(
		value, has_bit(sample, PERCH_SAMPLE_WEIGHT_STRUCT) ? weight_of(sample).var3_w : 0);
}

/* Of all samples of the row, which have the same value. */
static const char *sum_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	(void)profile;
	snprintf(buffer, size, "%" PRIu64, cell->value * cell->row->samples);
	return buffer;
}

const struct perch_column_methods perch__column_local_weight = { .value = weight_value };
const struct perch_column_methods perch__column_weight = { .value = weight_value,
							   .text = sum_text };
const struct perch_column_methods perch__column_local_ins_lat = { .value = latency_value };
const struct perch_column_methods perch__column_ins_lat = { .value = latency_value,
							    .text = sum_text };
const struct perch_column_methods perch__column_local_p_stage_cyc = { .value = stage_value };
const struct perch_column_methods perch__column_p_stage_cyc = { .value = stage_value,
								.text = sum_text };

/* ---- transaction ---- */

static int transaction_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->record->sample.transaction);
}

static const char *transaction_text(struct perch_profile *profile, const struct cell *cell,
				    char *buffer, size_t size)
{
	(void)profile;
	if (cell->value)
		perch_format_transaction(cell->value, buffer, size);
	return buffer;
}

const struct perch_column_methods perch__column_transaction = { .value = transaction_value,
								.text = transaction_text };

/* ---- addresses ---- */

static int ip_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->record->sample.ip);
}

/* As in perf, with the mode of the instruction, which is in the highest bits: physical addresses
 * have at most 56. */
#define MODE_SHIFT 60

static int physical_value(const struct sample *sample, uint64_t *value)
{
	uint64_t mode = sample->record->misc & PERCH_MISC_CPUMODE_MASK;

	return store_value(value, sample->record->sample.phys_addr | mode << MODE_SHIFT);
}

static uint64_t physical_number(uint64_t value)
{
	return value & ((1ull << MODE_SHIFT) - 1);
}

static const char *physical_text(struct perch_profile *profile, const struct cell *cell,
				 char *buffer, size_t size)
{
	(void)profile;
	snprintf(buffer, size, "[%c] %#.16" PRIx64,
		 perch__cpumode_char((unsigned)(cell->value >> MODE_SHIFT)),
		 physical_number(cell->value));
	return buffer;
}

static int physical_compare(struct perch_profile *profile, const struct cell *a,
			    const struct cell *b)
{
	uint64_t left = physical_number(a->value), right = physical_number(b->value);

	(void)profile;
	return left == right ? (a->value > b->value) - (a->value < b->value)
			     : (left > right) - (left < right);
}

const struct perch_column_methods perch__column_addr = { .value = ip_value };
const struct perch_column_methods perch__column_phys_daddr = { .value = physical_value,
							       .number = physical_number,
							       .compare = physical_compare,
							       .text = physical_text };

/* ---- sizes of pages ---- */

static int code_page_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->record->sample.code_page_size);
}

static int data_page_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->record->sample.data_page_size);
}

static const char *size_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	static const char units[] = "\0KMGTPE";
	uint64_t number = cell->value;
	size_t unit = 0;

	(void)profile;
	while (number >= 1024 && number % 1024 == 0) {
		number /= 1024;
		unit++;
	}
	if (cell->value)
		snprintf(buffer, size, "%" PRIu64 "%.1s", number, &units[unit]);
	else
		perch_clean_text("N/A", buffer, size);
	return buffer;
}

const struct perch_column_methods perch__column_code_page_size = { .value = code_page_value,
								   .text = size_text };
const struct perch_column_methods perch__column_data_page_size = { .value = data_page_value,
								   .text = size_text };
