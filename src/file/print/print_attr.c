/* SPDX-License-Identifier: MIT */
/* Prints the fields of an attr that are not 0, with perf's names and in perf's order. */
#include <inttypes.h>
#include <string.h>

#include "file/internal.h"

enum style { UNSIGNED, SIGNED, HEX, BITS };

static const struct {
	const char *field; /* the kernel's name */
	const char *shown; /* NULL if it is the same */
	enum style style;
} shown_fields[] = {
	{ "type", NULL, UNSIGNED },
	{ "size", NULL, UNSIGNED },
	{ "config", NULL, HEX },
	{ "sample_period", "{ sample_period, sample_freq }", UNSIGNED },
	{ "sample_type", NULL, BITS },
	{ "read_format", NULL, BITS },
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
	{ "branch_sample_type", NULL, BITS },
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

static void print_bits(FILE *stream, const char *field, uint64_t value)
{
	const struct perch_attr_bit *bits;
	const char *between = "";
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field) || !(value & bits[i].bit))
			continue;
		fprintf(stream, "%s%s", between, bits[i].name);
		between = "|";
	}
}

static void print_value(FILE *stream, const char *field, uint64_t value, enum style style)
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
	case BITS:
		print_bits(stream, field, value);
		break;
	}
}

void perch__file_print_attr(FILE *stream, const struct perch_attr *attr)
{
	for (size_t i = 0; i < PERCH__NR(shown_fields); i++) {
		const struct perch_attr_field *field = perch_attr_get_field(shown_fields[i].field);
		uint64_t value = field ? perch_attr_get(attr, field) : 0;

		if (!value)
			continue;
		fprintf(stream, ", %s = ",
			shown_fields[i].shown ? shown_fields[i].shown : shown_fields[i].field);
		print_value(stream, shown_fields[i].field, value, shown_fields[i].style);
	}
}
