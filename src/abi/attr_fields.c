/* SPDX-License-Identifier: MIT */
/* The fields of an attr as data. */
#include <string.h>

#include <perch/abi.h>

/* clang-format off */
#define SIZE(member) sizeof(((struct perch_attr *)0)->member)
#define WORD(member, release) \
	{ #member, offsetof(struct perch_attr, member), SIZE(member), -1, 8 * SIZE(member), \
	  release }
#define FLAGS(name, first, width, release) \
	{ #name, offsetof(struct perch_attr, flags), 8, first, width, release }
#define ACTION(name, first, release) \
	{ #name, offsetof(struct perch_attr, aux_action), 4, first, 1, release }
/* clang-format on */

static const struct perch_attr_field fields[] = {
	WORD(type, ""),
	WORD(size, ""),
	WORD(config, ""),
	WORD(sample_period, ""),
	WORD(sample_freq, ""),
	WORD(sample_type, ""),
	WORD(read_format, ""),
	FLAGS(disabled, 0, 1, ""),
	FLAGS(inherit, 1, 1, ""),
	FLAGS(pinned, 2, 1, ""),
	FLAGS(exclusive, 3, 1, ""),
	FLAGS(exclude_user, 4, 1, ""),
	FLAGS(exclude_kernel, 5, 1, ""),
	FLAGS(exclude_hv, 6, 1, ""),
	FLAGS(exclude_idle, 7, 1, ""),
	FLAGS(mmap, 8, 1, ""),
	FLAGS(comm, 9, 1, ""),
	FLAGS(freq, 10, 1, ""),
	FLAGS(inherit_stat, 11, 1, ""),
	FLAGS(enable_on_exec, 12, 1, ""),
	FLAGS(task, 13, 1, ""),
	FLAGS(watermark, 14, 1, ""),
	FLAGS(precise_ip, 15, 2, "2.6.35"),
	FLAGS(mmap_data, 17, 1, "2.6.36"),
	FLAGS(sample_id_all, 18, 1, "2.6.38"),
	FLAGS(exclude_host, 19, 1, "3.2"),
	FLAGS(exclude_guest, 20, 1, "3.2"),
	FLAGS(exclude_callchain_kernel, 21, 1, "3.7"),
	FLAGS(exclude_callchain_user, 22, 1, "3.7"),
	FLAGS(mmap2, 23, 1, "3.16"),
	FLAGS(comm_exec, 24, 1, "3.16"),
	FLAGS(use_clockid, 25, 1, "4.1"),
	FLAGS(context_switch, 26, 1, "4.3"),
	FLAGS(write_backward, 27, 1, "4.7"),
	FLAGS(namespaces, 28, 1, "4.12"),
	FLAGS(ksymbol, 29, 1, "5.1"),
	FLAGS(bpf_event, 30, 1, "5.1"),
	FLAGS(aux_output, 31, 1, "5.4"),
	FLAGS(cgroup, 32, 1, "5.7"),
	FLAGS(text_poke, 33, 1, "5.9"),
	FLAGS(build_id, 34, 1, "5.12"),
	FLAGS(inherit_thread, 35, 1, "5.13"),
	FLAGS(remove_on_exec, 36, 1, "5.13"),
	FLAGS(sigtrap, 37, 1, "5.13"),
	FLAGS(defer_callchain, 38, 1, "6.19"),
	FLAGS(defer_output, 39, 1, "6.19"),
	FLAGS(reserved_1, 40, 24, ""),
	WORD(wakeup_events, ""),
	WORD(wakeup_watermark, ""),
	WORD(bp_type, "2.6.33"),
	WORD(bp_addr, "2.6.33"),
	WORD(kprobe_func, "4.17"),
	WORD(uprobe_path, "4.17"),
	WORD(config1, "2.6.39"),
	WORD(bp_len, "2.6.33"),
	WORD(kprobe_addr, "4.17"),
	WORD(probe_offset, "4.17"),
	WORD(config2, "2.6.39"),
	WORD(branch_sample_type, "3.4"),
	WORD(sample_regs_user, "3.7"),
	WORD(sample_stack_user, "3.7"),
	WORD(clockid, "4.1"),
	WORD(sample_regs_intr, "3.19"),
	WORD(aux_watermark, "4.1"),
	WORD(sample_max_stack, "4.8"),
	WORD(reserved_2, ""),
	WORD(aux_sample_size, "5.5"),
	WORD(aux_action, "6.13"),
	ACTION(aux_start_paused, 0, "6.13"),
	ACTION(aux_pause, 1, "6.13"),
	ACTION(aux_resume, 2, "6.13"),
	{ "reserved_3", offsetof(struct perch_attr, aux_action), 4, 3, 29, "" },
	WORD(sig_data, "5.13"),
	WORD(config3, "6.3"),
	WORD(config4, "6.19"),
};

const struct perch_attr_field *perch_attr_fields(size_t *nr)
{
	*nr = sizeof(fields) / sizeof(*fields);
	return fields;
}

const struct perch_attr_field *perch_attr_get_field(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i].name[0] == name[0] && !strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

/*
 * Returns the position of the lowest bit of a field. Bit-fields start at the highest bit on
 * big-endian machines.
 */
static unsigned shift_of(const struct perch_attr_field *field)
{
	if (field->bit < 0)
		return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return field->bit;
#else
	return 8 * field->size - field->bit - field->bits;
#endif
}

static uint64_t load_field(const struct perch_attr *attr, const struct perch_attr_field *field)
{
	const char *at = (const char *)attr + field->offset;
	uint64_t word64;
	uint32_t word32;
	uint16_t word16;

	switch (field->size) {
	case 2:
		memcpy(&word16, at, sizeof(word16));
		return word16;
	case 4:
		memcpy(&word32, at, sizeof(word32));
		return word32;
	default:
		memcpy(&word64, at, sizeof(word64));
		return word64;
	}
}

static uint64_t mask_of(const struct perch_attr_field *field)
{
	return field->bits == 64 ? UINT64_MAX : (1ull << field->bits) - 1;
}

uint64_t perch_attr_get(const struct perch_attr *attr, const struct perch_attr_field *field)
{
	return load_field(attr, field) >> shift_of(field) & mask_of(field);
}

void perch_attr_set(struct perch_attr *attr, const struct perch_attr_field *field, uint64_t value)
{
	char *at = (char *)attr + field->offset;
	uint64_t mask = mask_of(field) << shift_of(field);
	uint64_t word = (load_field(attr, field) & ~mask) | (value << shift_of(field) & mask);
	uint32_t word32 = word;
	uint16_t word16 = word;

	if (field->size == 2)
		memcpy(at, &word16, sizeof(word16));
	else if (field->size == 4)
		memcpy(at, &word32, sizeof(word32));
	else
		memcpy(at, &word, sizeof(word));
}
