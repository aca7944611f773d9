/* SPDX-License-Identifier: MIT */
/*
 * An attr's fields as perf prints them: those that are not zero, in its order and with its names.
 */
#include <inttypes.h>
#include "internal.h"

struct bit_name {
	uint64_t bit;
	const char *name;
};

static const struct bit_name sample_names[] = {
	{ PERCH_SAMPLE_IP, "IP" },
	{ PERCH_SAMPLE_TID, "TID" },
	{ PERCH_SAMPLE_TIME, "TIME" },
	{ PERCH_SAMPLE_ADDR, "ADDR" },
	{ PERCH_SAMPLE_READ, "READ" },
	{ PERCH_SAMPLE_CALLCHAIN, "CALLCHAIN" },
	{ PERCH_SAMPLE_ID, "ID" },
	{ PERCH_SAMPLE_CPU, "CPU" },
	{ PERCH_SAMPLE_PERIOD, "PERIOD" },
	{ PERCH_SAMPLE_STREAM_ID, "STREAM_ID" },
	{ PERCH_SAMPLE_RAW, "RAW" },
	{ PERCH_SAMPLE_BRANCH_STACK, "BRANCH_STACK" },
	{ PERCH_SAMPLE_REGS_USER, "REGS_USER" },
	{ PERCH_SAMPLE_STACK_USER, "STACK_USER" },
	{ PERCH_SAMPLE_IDENTIFIER, "IDENTIFIER" },
	{ PERCH_SAMPLE_REGS_INTR, "REGS_INTR" },
	{ PERCH_SAMPLE_DATA_SRC, "DATA_SRC" },
	{ PERCH_SAMPLE_WEIGHT, "WEIGHT" },
	{ PERCH_SAMPLE_PHYS_ADDR, "PHYS_ADDR" },
	{ PERCH_SAMPLE_AUX, "AUX" },
	{ PERCH_SAMPLE_CGROUP, "CGROUP" },
	{ PERCH_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE" },
	{ PERCH_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE" },
	{ PERCH_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
	{ PERCH_SAMPLE_TRANSACTION, "TRANSACTION" },
	{ 0, NULL },
};

static const struct bit_name read_names[] = {
	{ PERCH_FORMAT_TOTAL_TIME_ENABLED, "TOTAL_TIME_ENABLED" },
	{ PERCH_FORMAT_TOTAL_TIME_RUNNING, "TOTAL_TIME_RUNNING" },
	{ PERCH_FORMAT_ID, "ID" },
	{ PERCH_FORMAT_GROUP, "GROUP" },
	{ PERCH_FORMAT_LOST, "LOST" },
	{ 0, NULL },
};

static const struct bit_name branch_names[] = {
	{ PERCH_SAMPLE_BRANCH_USER, "USER" },
	{ PERCH_SAMPLE_BRANCH_KERNEL, "KERNEL" },
	{ PERCH_SAMPLE_BRANCH_HV, "HV" },
	{ PERCH_SAMPLE_BRANCH_ANY, "ANY" },
	{ PERCH_SAMPLE_BRANCH_ANY_CALL, "ANY_CALL" },
	{ PERCH_SAMPLE_BRANCH_ANY_RETURN, "ANY_RETURN" },
	{ PERCH_SAMPLE_BRANCH_IND_CALL, "IND_CALL" },
	{ PERCH_SAMPLE_BRANCH_ABORT_TX, "ABORT_TX" },
	{ PERCH_SAMPLE_BRANCH_IN_TX, "IN_TX" },
	{ PERCH_SAMPLE_BRANCH_NO_TX, "NO_TX" },
	{ PERCH_SAMPLE_BRANCH_COND, "COND" },
	{ PERCH_SAMPLE_BRANCH_CALL_STACK, "CALL_STACK" },
	{ PERCH_SAMPLE_BRANCH_IND_JUMP, "IND_JUMP" },
	{ PERCH_SAMPLE_BRANCH_CALL, "CALL" },
	{ PERCH_SAMPLE_BRANCH_NO_FLAGS, "NO_FLAGS" },
	{ PERCH_SAMPLE_BRANCH_NO_CYCLES, "NO_CYCLES" },
	{ PERCH_SAMPLE_BRANCH_TYPE_SAVE, "TYPE_SAVE" },
	{ PERCH_SAMPLE_BRANCH_HW_INDEX, "HW_INDEX" },
	{ PERCH_SAMPLE_BRANCH_PRIV_SAVE, "PRIV_SAVE" },
	{ PERCH_SAMPLE_BRANCH_COUNTERS, "COUNTERS" },
	{ 0, NULL },
};

enum style { UNSIGNED, SIGNED, HEX, SAMPLE_BITS, READ_BITS, BRANCH_BITS };

static const struct bit_name *const bit_names[] = {
	[SAMPLE_BITS] = sample_names,
	[READ_BITS] = read_names,
	[BRANCH_BITS] = branch_names,
};

static const struct {
	const char *field; /* the kernel's name */
	const char *shown; /* NULL: the same */
	enum style style;
} shown_fields[] = {
	{ "type", NULL, UNSIGNED },
	{ "size", NULL, UNSIGNED },
	{ "config", NULL, HEX },
	{ "sample_period", "{ sample_period, sample_freq }", UNSIGNED },
	{ "sample_type", NULL, SAMPLE_BITS },
	{ "read_format", NULL, READ_BITS },
	{ "disabled", NULL, UNSIGNED },
	{ "inherit", NULL, UNSIGNED },
	{ "pinned", NULL, UNSIGNED },
	{ "exclusive", NULL, UNSIGNED },
	{ "exclude_user", NULL, UNSIGNED },
	{ "exclude_kernel", NULL, UNSIGNED },
	{ "exclude_hv", NULL, UNSIGNED },
	{ "exclude_idle", NULL, UNSIGNED },
	{ "mmap", NULL, UNSIGNED },
	{ "comm", NULL, UNSIGNED },
	{ "freq", NULL, UNSIGNED },
	{ "inherit_stat", NULL, UNSIGNED },
	{ "enable_on_exec", NULL, UNSIGNED },
	{ "task", NULL, UNSIGNED },
	{ "watermark", NULL, UNSIGNED },
	{ "precise_ip", NULL, UNSIGNED },
	{ "mmap_data", NULL, UNSIGNED },
	{ "sample_id_all", NULL, UNSIGNED },
	{ "exclude_host", NULL, UNSIGNED },
	{ "exclude_guest", NULL, UNSIGNED },
	{ "exclude_callchain_kernel", NULL, UNSIGNED },
	{ "exclude_callchain_user", NULL, UNSIGNED },
	{ "mmap2", NULL, UNSIGNED },
	{ "comm_exec", NULL, UNSIGNED },
	{ "use_clockid", NULL, UNSIGNED },
	{ "context_switch", NULL, UNSIGNED },
	{ "write_backward", NULL, UNSIGNED },
	{ "namespaces", NULL, UNSIGNED },
	{ "ksymbol", NULL, UNSIGNED },
	{ "bpf_event", NULL, UNSIGNED },
	{ "aux_output", NULL, UNSIGNED },
	{ "cgroup", NULL, UNSIGNED },
	{ "text_poke", NULL, UNSIGNED },
	{ "build_id", NULL, UNSIGNED },
	{ "inherit_thread", NULL, UNSIGNED },
	{ "remove_on_exec", NULL, UNSIGNED },
	{ "sigtrap", NULL, UNSIGNED },
	{ "defer_callchain", NULL, UNSIGNED },
	{ "defer_output", NULL, UNSIGNED },
	{ "wakeup_events", "{ wakeup_events, wakeup_watermark }", UNSIGNED },
	{ "bp_type", NULL, UNSIGNED },
	{ "bp_addr", "{ bp_addr, config1 }", HEX },
	{ "bp_len", "{ bp_len, config2 }", HEX },
	{ "branch_sample_type", NULL, BRANCH_BITS },
	{ "sample_regs_user", NULL, HEX },
	{ "sample_stack_user", NULL, UNSIGNED },
	{ "clockid", NULL, SIGNED },
	{ "sample_regs_intr", NULL, HEX },
	{ "aux_watermark", NULL, UNSIGNED },
	{ "sample_max_stack", NULL, UNSIGNED },
	{ "aux_sample_size", NULL, UNSIGNED },
	{ "aux_start_paused", NULL, UNSIGNED },
	{ "aux_pause", NULL, UNSIGNED },
	{ "aux_resume", NULL, UNSIGNED },
	{ "sig_data", NULL, UNSIGNED },
	{ "config3", NULL, HEX },
	{ "config4", NULL, HEX },
};

static void print_bits(FILE *stream, uint64_t value, const struct bit_name *names)
{
	const char *between = "";

	for (; names->name; names++) {
		if (!(value & names->bit))
			continue;
		fprintf(stream, "%s%s", between, names->name);
		between = "|";
	}
}

static void print_value(FILE *stream, uint64_t value, enum style style)
{
	switch (style) {
	case UNSIGNED:
		fprintf(stream, "%" PRIu64, value);
		break;
	case SIGNED:
		fprintf(stream, "%" PRId32, (int32_t)value);
		break;
	case HEX:
		fprintf(stream, "%#" PRIx64, value);
		break;
	case SAMPLE_BITS:
	case READ_BITS:
	case BRANCH_BITS:
		print_bits(stream, value, bit_names[style]);
		break;
	}
}

void perch__file_print_attr(FILE *stream, const struct perch_attr *attr)
{
	for (size_t i = 0; i < sizeof(shown_fields) / sizeof(shown_fields[0]); i++) {
		const struct perch_attr_field *field = perch_attr_field(shown_fields[i].field);
		uint64_t value = field ? perch_attr_get(attr, field) : 0;

		if (!value)
			continue;
		fprintf(stream, ", %s = ",
			shown_fields[i].shown ? shown_fields[i].shown : shown_fields[i].field);
		print_value(stream, value, shown_fields[i].style);
	}
}
