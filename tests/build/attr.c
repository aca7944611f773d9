/* SPDX-License-Identifier: MIT */
/* Attrs: struct perf_event_attr of the kernel's perf_event.h, word by word and bit by bit. */
#include <string.h>

#include "build.h"

/* clang-format off */
#define WORD(name, bytes) { name, bytes, 0 }
#define BIT(name)	  { name, 8, 1 }
#define BITS(name, bits)  { name, 8, bits }
#define ACTION(name, bits) { name, 4, bits }
/* clang-format on */

static const struct build_attr_field fields[] = {
	WORD("type", 4),
	WORD("size", 4),
	WORD("config", 8),
	WORD("sample_period", 8),
	WORD("sample_type", 8),
	WORD("read_format", 8),
	BIT("disabled"),
	BIT("inherit"),
	BIT("pinned"),
	BIT("exclusive"),
	BIT("exclude_user"),
	BIT("exclude_kernel"),
	BIT("exclude_hv"),
	BIT("exclude_idle"),
	BIT("mmap"),
	BIT("comm"),
	BIT("freq"),
	BIT("inherit_stat"),
	BIT("enable_on_exec"),
	BIT("task"),
	BIT("watermark"),
	BITS("precise_ip", 2),
	BIT("mmap_data"),
	BIT("sample_id_all"),
	BIT("exclude_host"),
	BIT("exclude_guest"),
	BIT("exclude_callchain_kernel"),
	BIT("exclude_callchain_user"),
	BIT("mmap2"),
	BIT("comm_exec"),
	BIT("use_clockid"),
	BIT("context_switch"),
	BIT("write_backward"),
	BIT("namespaces"),
	BIT("ksymbol"),
	BIT("bpf_event"),
	BIT("aux_output"),
	BIT("cgroup"),
	BIT("text_poke"),
	BIT("build_id"),
	BIT("inherit_thread"),
	BIT("remove_on_exec"),
	BIT("sigtrap"),
	BIT("defer_callchain"),
	BIT("defer_output"),
	BITS("reserved_1", 24),
	WORD("wakeup_events", 4),
	WORD("bp_type", 4),
	WORD("config1", 8),
	WORD("config2", 8),
	WORD("branch_sample_type", 8),
	WORD("sample_regs_user", 8),
	WORD("sample_stack_user", 4),
	WORD("clockid", 4),
	WORD("sample_regs_intr", 8),
	WORD("aux_watermark", 4),
	WORD("sample_max_stack", 2),
	WORD("reserved_2", 2),
	WORD("aux_sample_size", 4),
	ACTION("aux_start_paused", 1),
	ACTION("aux_pause", 1),
	ACTION("aux_resume", 1),
	ACTION("reserved_3", 29),
	WORD("sig_data", 8),
	WORD("config3", 8),
	WORD("config4", 8),
};

#define NR_FIELDS (sizeof(fields) / sizeof(*fields))
_Static_assert(NR_FIELDS <= BUILD_ATTR_FIELDS, "room for the value of each field");

const struct build_attr_field *build_attr_fields(size_t *nr)
{
	*nr = NR_FIELDS;
	return fields;
}

void build_fill_attr(struct build_attr_values *values, struct build_rng *rng)
{
	memset(values, 0, sizeof(*values));
	values->nr = NR_FIELDS;
	for (size_t i = 0; i < NR_FIELDS; i++) {
		unsigned bits = fields[i].bits ? fields[i].bits : 8 * fields[i].bytes;

		values->value[i] = build_number(rng) & (UINT64_MAX >> (64 - bits));
	}
}

void build_write_attr(struct build_bytes *bytes, const struct build_attr_values *values)
{
	uint64_t word = 0;
	unsigned first = 0;

	bytes->size = 0;
	for (size_t i = 0; i < NR_FIELDS; i++) {
		unsigned width = 8 * fields[i].bytes;

		if (!fields[i].bits) {
			build_put_number(bytes, values->value[i], fields[i].bytes);
			continue;
		}
		word |= build_bits(bytes->big_endian, width, first, fields[i].bits,
				   values->value[i]);
		first += fields[i].bits;
		if (first == width) {
			build_put_number(bytes, word, fields[i].bytes);
			word = first = 0;
		}
	}
}

void build_attr(struct perch_attr *attr, const struct build_shape *shape)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERCH_TYPE_SOFTWARE;
	attr->sample_period = shape->period;
	attr->sample_type = shape->sample_type;
	attr->read_format = shape->read_format;
	attr->sample_id_all = shape->sample_id_all;
	attr->build_id = shape->build_id;
	attr->branch_sample_type = shape->branch_sample_type;
	attr->sample_regs_user = shape->regs_user;
	attr->sample_regs_intr = shape->regs_intr;
}
