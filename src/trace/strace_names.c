/* SPDX-License-Identifier: MIT */
/* Constants of the kernel's headers, which strace prints by name. */
#include <string.h>
#include <time.h>

#include "names.h"
#include "strace.h"

/* clang-format off */
#define PERF(name) { "PERF_" #name, PERCH_##name }
#define SAME(name) { #name, name }
/* clang-format on */

static const struct {
	const char *name;
	uint64_t value;
} names[] = {
	PERF(TYPE_HARDWARE),
	PERF(TYPE_SOFTWARE),
	PERF(TYPE_TRACEPOINT),
	PERF(TYPE_HW_CACHE),
	PERF(TYPE_RAW),
	PERF(TYPE_BREAKPOINT),
	PERF(COUNT_HW_CPU_CYCLES),
	PERF(COUNT_HW_INSTRUCTIONS),
	PERF(COUNT_HW_CACHE_REFERENCES),
	PERF(COUNT_HW_CACHE_MISSES),
	PERF(COUNT_HW_BRANCH_INSTRUCTIONS),
	PERF(COUNT_HW_BRANCH_MISSES),
	PERF(COUNT_HW_BUS_CYCLES),
	PERF(COUNT_HW_STALLED_CYCLES_FRONTEND),
	PERF(COUNT_HW_STALLED_CYCLES_BACKEND),
	PERF(COUNT_HW_REF_CPU_CYCLES),
	PERF(COUNT_HW_CACHE_L1D),
	PERF(COUNT_HW_CACHE_L1I),
	PERF(COUNT_HW_CACHE_LL),
	PERF(COUNT_HW_CACHE_DTLB),
	PERF(COUNT_HW_CACHE_ITLB),
	PERF(COUNT_HW_CACHE_BPU),
	PERF(COUNT_HW_CACHE_NODE),
	PERF(COUNT_HW_CACHE_OP_READ),
	PERF(COUNT_HW_CACHE_OP_WRITE),
	PERF(COUNT_HW_CACHE_OP_PREFETCH),
	PERF(COUNT_HW_CACHE_RESULT_ACCESS),
	PERF(COUNT_HW_CACHE_RESULT_MISS),
	PERF(COUNT_SW_CPU_CLOCK),
	PERF(COUNT_SW_TASK_CLOCK),
	PERF(COUNT_SW_PAGE_FAULTS),
	PERF(COUNT_SW_CONTEXT_SWITCHES),
	PERF(COUNT_SW_CPU_MIGRATIONS),
	PERF(COUNT_SW_PAGE_FAULTS_MIN),
	PERF(COUNT_SW_PAGE_FAULTS_MAJ),
	PERF(COUNT_SW_ALIGNMENT_FAULTS),
	PERF(COUNT_SW_EMULATION_FAULTS),
	PERF(COUNT_SW_DUMMY),
	PERF(COUNT_SW_BPF_OUTPUT),
	PERF(COUNT_SW_CGROUP_SWITCHES),
	PERF(ATTR_SIZE_VER0),
	PERF(ATTR_SIZE_VER1),
	PERF(ATTR_SIZE_VER2),
	PERF(ATTR_SIZE_VER3),
	PERF(ATTR_SIZE_VER4),
	PERF(ATTR_SIZE_VER5),
	PERF(ATTR_SIZE_VER6),
	PERF(ATTR_SIZE_VER7),
	PERF(ATTR_SIZE_VER8),
	PERF(ATTR_SIZE_VER9),
	PERF(FLAG_FD_NO_GROUP),
	PERF(FLAG_FD_OUTPUT),
	PERF(FLAG_PID_CGROUP),
	PERF(FLAG_FD_CLOEXEC),
	{ "PERF_IOC_FLAG_GROUP", PERCH_IOC_FLAG_GROUP },
	{ "HW_BREAKPOINT_EMPTY", PERCH_BREAKPOINT_EMPTY },
	{ "HW_BREAKPOINT_R", PERCH_BREAKPOINT_R },
	{ "HW_BREAKPOINT_W", PERCH_BREAKPOINT_W },
	{ "HW_BREAKPOINT_RW", PERCH_BREAKPOINT_RW },
	{ "HW_BREAKPOINT_X", PERCH_BREAKPOINT_X },
	{ "HW_BREAKPOINT_INVALID", 7 },
	SAME(CLOCK_REALTIME),
	SAME(CLOCK_MONOTONIC),
	SAME(CLOCK_PROCESS_CPUTIME_ID),
	SAME(CLOCK_THREAD_CPUTIME_ID),
	SAME(CLOCK_MONOTONIC_RAW),
	SAME(CLOCK_REALTIME_COARSE),
	SAME(CLOCK_MONOTONIC_COARSE),
	SAME(CLOCK_BOOTTIME),
	SAME(CLOCK_REALTIME_ALARM),
	SAME(CLOCK_BOOTTIME_ALARM),
	{ "CLOCK_SGI_CYCLE", 10 },
	SAME(CLOCK_TAI),
	{ "PROT_NONE", 0 },
	{ "NULL", 0 },
	{ "_IOC_NONE", _IOC_NONE },
	{ "_IOC_READ", _IOC_READ },
	{ "_IOC_WRITE", _IOC_WRITE },
};

bool strace_token_is(const struct strace_token *token, const char *name)
{
	return token->length == strlen(name) && !memcmp(token->at, name, token->length);
}

/* Skips the prefix of the token. */
static bool accept_prefix(struct strace_token *token, const char *prefix)
{
	size_t length = strlen(prefix);

	if (token->length < length || memcmp(token->at, prefix, length))
		return false;
	token->at += length;
	token->length -= length;
	return true;
}

/* PERF_SAMPLE_IP, PERF_SAMPLE_BRANCH_ANY, PERF_FORMAT_ID: names in the table of bits. */
static bool lookup_bit(struct strace_token token, uint64_t *value)
{
	const struct perch_attr_bit *bits;
	const char *field = "read_format";
	size_t nr;

	if (!accept_prefix(&token, "PERF_FORMAT_")) {
		if (!accept_prefix(&token, "PERF_SAMPLE_"))
			return false;
		/* BRANCH_STACK is a bit of sample_type */
		field = !strace_token_is(&token, "BRANCH_STACK") && accept_prefix(&token, "BRANCH_")
				? "branch_sample_type"
				: "sample_type";
	}
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(bits[i].field, field) && strace_token_is(&token, bits[i].name)) {
			*value = bits[i].bit;
			return true;
		}
	return false;
}

bool strace_lookup_constant(const struct strace_token *token, uint64_t *value)
{
	struct strace_token rest = *token;
	long bit;

	for (size_t i = 0; i < TRACE_NR(names); i++)
		if (strace_token_is(token, names[i].name)) {
			*value = names[i].value;
			return true;
		}
	if (lookup_bit(*token, value))
		return true;
	if (accept_prefix(&rest, "PERF_EVENT_IOC_")) {
		*value = trace_parse_request(rest.at, rest.length);
		return *value != 0;
	}
	bit = trace_parse_map_constant(token->at, token->length);
	*value = bit;
	return bit >= 0;
}
