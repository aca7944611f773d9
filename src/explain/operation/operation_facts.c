/* SPDX-License-Identifier: MIT */
/* Facts for the rules of operations: limits of locked memory, sizes of reads, filter syntax. */
#include <string.h>
#include <unistd.h>

#include "operation.h"

static const struct perch__request requests[] = {
	{ PERCH_IOC_ENABLE, "ENABLE", "enable", "" },
	{ PERCH_IOC_DISABLE, "DISABLE", "disable", "" },
	{ PERCH_IOC_REFRESH, "REFRESH", "refresh", "" },
	{ PERCH_IOC_RESET, "RESET", "reset", "" },
	{ PERCH_IOC_PERIOD, "PERIOD", "set the period", "" },
	{ PERCH_IOC_SET_OUTPUT, "SET_OUTPUT", "set the output", "" },
	{ PERCH_IOC_SET_FILTER, "SET_FILTER", "set the filter", "2.6.33" },
	{ PERCH_IOC_ID, "ID", "read the id", "3.12" },
	{ PERCH_IOC_SET_BPF, "SET_BPF", "set the BPF program", "4.1" },
	{ PERCH_IOC_PAUSE_OUTPUT, "PAUSE_OUTPUT", "pause the output", "4.7" },
	{ PERCH_IOC_QUERY_BPF, "QUERY_BPF", "query the BPF programs", "4.16" },
	{ PERCH_IOC_MODIFY_ATTRIBUTES, "MODIFY_ATTRIBUTES", "modify the event", "4.17" },
};

const struct perch__request *perch__find_request(unsigned long request)
{
	static const struct perch__request unknown = { 0, NULL, "control the event", "" };

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (requests[i].request == request)
			return &requests[i];
	return &unknown;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

bool perch__ring_limits(const struct perch__operation_case *o, struct perch__ring_limits *ring)
{
	const struct perch_cpus *cpus;
	struct perch_limits limits;
	long per_cpu;

	ring->need = product(o->pages, o->page_bytes) >> 10;
	if (!o->c.machine || perch_machine_limits(o->c.machine, &limits, NULL) < 0 ||
	    perch_machine_cpus(o->c.machine, &cpus, NULL) < 0 ||
	    perch_machine_sysctl(o->c.machine, PERCH_SYSCTL_MLOCK_KB, &per_cpu, NULL) < 0 ||
	    per_cpu < 0)
		return false;
	ring->per_cpu = per_cpu;
	ring->cpus = cpus->nr;
	ring->user = product(ring->per_cpu, ring->cpus);
	ring->process = limits.locked_bytes == UINT64_MAX ? UINT64_MAX : limits.locked_bytes >> 10;
	return true;
}

/* The kernel checks neither with CAP_IPC_LOCK nor when perf_event_paranoid is -1. */
enum perch__match perch__memory_is_limited(const struct perch__operation_case *o)
{
	return perch__and(perch__paranoid_above(&o->c, -1),
			  perch__lacks(&o->c, PERCH_CAP_IPC_LOCK));
}

/* The kernel does not report the locked memory of the user's other rings: unknown if the ring alone
 * fits. */
enum perch__match perch__ring_above_limit(const struct perch__operation_case *o)
{
	struct perch__ring_limits ring;

	if (!perch__ring_limits(o, &ring))
		return PERCH__UNKNOWN;
	if (ring.process == UINT64_MAX)
		return PERCH__NO;
	return ring.need > sum(ring.user, ring.process) ? PERCH__YES : PERCH__UNKNOWN;
}

uint64_t perch__read_bytes(const struct perch__operation_case *o, bool *exact)
{
	uint64_t format = o->c.attr.read_format;
	uint64_t each = 8 * (1 + !!(format & PERCH_FORMAT_ID) + !!(format & PERCH_FORMAT_LOST));
	uint64_t head = 8 * (!!(format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERCH_FORMAT_TOTAL_TIME_RUNNING));
	uint64_t members = o->op->group_size ? o->op->group_size : 1;

	if (exact)
		*exact = o->has_attr && (!(format & PERCH_FORMAT_GROUP) || o->op->group_size);
	if (!(format & PERCH_FORMAT_GROUP))
		return head + each;
	return sum(head + 8, product(members, each));
}

/* Parentheses inside quoted strings do not count. */
char perch__filter_error(const char *filter)
{
	char quote = '\0';
	size_t open = 0;

	for (; *filter; filter++) {
		if (quote) {
			if (*filter == quote)
				quote = '\0';
		} else if (*filter == '"' || *filter == '\'') {
			quote = *filter;
		} else if (*filter == '(') {
			open++;
		} else if (*filter == ')' && !open--) {
			return ')';
		}
	}
	if (quote)
		return '"';
	return open ? '(' : '\0';
}

bool perch__filter_has_file(const char *filter)
{
	const char *at = strchr(filter, '@');

	return at && at[1] == '/';
}
