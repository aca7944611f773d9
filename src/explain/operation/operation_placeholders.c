/* SPDX-License-Identifier: MIT */
/* The values of {placeholders} in messages and remedies of operations. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "operation.h"

typedef void writer(const struct perch__operation_case *o, char *buffer, size_t size);

static void write_kib(uint64_t value, char *buffer, size_t size)
{
	if (value == UINT64_MAX)
		snprintf(buffer, size, "unlimited");
	else
		snprintf(buffer, size, "%" PRIu64 " KiB", value);
}

static uint64_t ring_of(const struct perch__operation_case *o, bool above)
{
	uint64_t data = o->pages ? o->pages - 1 : 0, power = 1;

	while (power <= data / 2)
		power *= 2;
	if (above)
		power *= 2;
	return (power + 1) * o->page_bytes;
}

static void length_below(const struct perch__operation_case *o, char *buffer, size_t size)
{
	snprintf(buffer, size, "%" PRIu64, ring_of(o, false));
}

static void length_above(const struct perch__operation_case *o, char *buffer, size_t size)
{
	snprintf(buffer, size, "%" PRIu64, ring_of(o, true));
}

/* ---- Locked memory ---- */

static void need(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__ring_limits ring;

	perch__ring_limits(o, &ring);
	snprintf(buffer, size, "%" PRIu64, ring.need);
}

static void limits(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__ring_limits ring;
	char process[32];

	if (!perch__ring_limits(o, &ring)) {
		snprintf(buffer, size,
			 "kernel.perf_event_mlock_kb per CPU, plus RLIMIT_MEMLOCK per process");
		return;
	}
	write_kib(ring.process, process, sizeof(process));
	snprintf(buffer, size,
		 "kernel.perf_event_mlock_kb (%" PRIu64 ") x %" PRIu64 " CPUs = %" PRIu64
		 " KiB, plus RLIMIT_MEMLOCK (%s) per process",
		 ring.per_cpu, ring.cpus, ring.user, process);
}

/* " (currently 64 KiB)", empty if unknown. */
static void process(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch_limits limits;

	buffer[0] = '\0';
	if (o->c.machine && !perch_machine_limits(o->c.machine, &limits, NULL) &&
	    limits.locked_bytes != UINT64_MAX)
		snprintf(buffer, size, " (currently %" PRIu64 " KiB)", limits.locked_bytes >> 10);
}

/*
 * The memory of other rings is unknown. If this ring alone is below the limit, it is at least the
 * difference.
 */
static void others(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__ring_limits ring;
	uint64_t all;

	if (!perch__ring_limits(o, &ring)) {
		snprintf(buffer, size, "the limit is reached");
		return;
	}
	if (__builtin_add_overflow(ring.user, ring.process, &all))
		all = UINT64_MAX;
	if (ring.need > all)
		snprintf(buffer, size, "this ring alone exceeds it by %" PRIu64 " KiB",
			 ring.need - all);
	else
		snprintf(buffer, size, "other rings already use more than %" PRIu64 " KiB of it",
			 all - ring.need);
}

/* The largest ring that fits when no other one is mapped. */
static void smaller(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__ring_limits ring;
	uint64_t all, pages = 1;

	if (!perch__ring_limits(o, &ring) ||
	    __builtin_add_overflow(ring.user, ring.process, &all) || ring.need <= all ||
	    (all << 10) / o->page_bytes < 2) {
		snprintf(buffer, size, "map a smaller ring, or stop other recordings of this user");
		return;
	}
	while (2 * pages + 1 <= (all << 10) / o->page_bytes)
		pages *= 2;
	snprintf(buffer, size, "map at most 1 + %" PRIu64 " pages (%" PRIu64 " bytes)", pages,
		 (pages + 1) * o->page_bytes);
}

/*
 * Other rings use at most the present limit, so the limit plus the size of this ring is always
 * enough.
 */
static uint64_t per_cpu_needed(const struct perch__operation_case *o,
			       const struct perch__ring_limits *ring)
{
	uint64_t page_kib = o->page_bytes >> 10 ? o->page_bytes >> 10 : 1;
	uint64_t value = ring->per_cpu + ring->need / ring->cpus + !!(ring->need % ring->cpus) +
			 page_kib - 1;

	return value - value % page_kib;
}

static void raise_limits(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__ring_limits ring;

	if (perch__ring_limits(o, &ring) && ring.cpus && ring.process != UINT64_MAX &&
	    per_cpu_needed(o, &ring) > INT_MAX) /* the sysctl is an int */
		snprintf(buffer, size, "raise RLIMIT_MEMLOCK to %" PRIu64 " KiB (ulimit -l)",
			 ring.process + ring.need);
	else if (perch__ring_limits(o, &ring) && ring.cpus && ring.process != UINT64_MAX)
		snprintf(buffer, size,
			 "sysctl kernel.perf_event_mlock_kb=%" PRIu64
			 ", or raise RLIMIT_MEMLOCK to %" PRIu64 " KiB (ulimit -l)",
			 per_cpu_needed(o, &ring), ring.process + ring.need);
	else
		snprintf(buffer, size,
			 "raise kernel.perf_event_mlock_kb, or raise RLIMIT_MEMLOCK (ulimit -l)");
}

static void of_ring(const struct perch__operation_case *o, char *buffer, size_t size)
{
	if (o->op->ring_size)
		snprintf(buffer, size, " of %zu bytes", o->op->ring_size);
	else
		buffer[0] = '\0';
}

/* ---- Addresses ---- */

static void address(const struct perch__operation_case *o, char *buffer, size_t size)
{
	if (o->op->address_known)
		snprintf(buffer, size, "0x%" PRIx64, o->op->address);
	else
		snprintf(buffer, size, "(unknown)");
}

/* Empty if unknown. */
static void min_address(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const uint64_t min = perch__min_address(o);

	buffer[0] = '\0';
	if (min)
		snprintf(buffer, size, " (currently %" PRIu64 ")", min);
}

static void address_limit(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const uint64_t limit = perch__address_limit(o);

	buffer[0] = '\0';
	if (limit != UINT64_MAX)
		snprintf(buffer, size, " (currently %" PRIu64 " KiB)", limit >> 10);
}

static void or_address_space(const struct perch__operation_case *o, char *buffer, size_t size)
{
	buffer[0] = '\0';
	if (!perch__address_space_known(o))
		snprintf(buffer, size,
			 ", or the process has no free addresses (RLIMIT_AS, vm.max_map_count)");
}

static void unsupported_flags(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const int flags = perch__unsupported_flags(o->op->map_flags);

	if (flags == 0x100000)
		snprintf(buffer, size, "MAP_FIXED_NOREPLACE");
	else
		snprintf(buffer, size, "0x%x", (unsigned)flags);
}

/* ---- ioctl ---- */

static void request(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const char *name = perch__find_request(o->op->request)->name;

	if (name)
		snprintf(buffer, size, "PERF_EVENT_IOC_%s", name);
	else
		snprintf(buffer, size, "request 0x%lx", o->op->request);
}

static void request_since(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const char *since = perch__find_request(o->op->request)->since;

	snprintf(buffer, size, "%s", since[0] ? since : "2.6.31");
}

/* Empty if the kernel is new enough. */
static void or_older(const struct perch__operation_case *o, char *buffer, size_t size)
{
	const char *since = perch__find_request(o->op->request)->since;

	buffer[0] = '\0';
	if (since[0] && perch__older_than(&o->c, since) != PERCH__NO)
		snprintf(buffer, size, ", or this kernel is older than Linux %s", since);
}

static void release(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch_release running;

	if (o->c.machine && !perch_machine_release(o->c.machine, &running, NULL))
		snprintf(buffer, size, "%s", running.text);
	else
		snprintf(buffer, size, "an older kernel");
}

static void cpu_name(int cpu, char *buffer, size_t size)
{
	if (cpu < 0)
		snprintf(buffer, size, "every CPU (cpu -1)");
	else
		snprintf(buffer, size, "CPU %d", cpu);
}

static void own_cpu(const struct perch__operation_case *o, char *buffer, size_t size)
{
	cpu_name(o->c.cpu, buffer, size);
}

static void other_cpu(const struct perch__operation_case *o, char *buffer, size_t size)
{
	cpu_name(o->op->other ? o->op->other->cpu : -1, buffer, size);
}

static void clock_name(const struct perch_attr *attr, char *buffer, size_t size)
{
	static const struct {
		int clock;
		const char *name;
	} names[] = {
		{ CLOCK_REALTIME, "CLOCK_REALTIME" },
		{ CLOCK_MONOTONIC, "CLOCK_MONOTONIC" },
		{ CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW" },
		{ CLOCK_BOOTTIME, "CLOCK_BOOTTIME" },
		{ CLOCK_TAI, "CLOCK_TAI" },
	};

	if (!attr->use_clockid) {
		snprintf(buffer, size, "the default clock");
		return;
	}
	snprintf(buffer, size, "clock %d", attr->clockid);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].clock == attr->clockid)
			snprintf(buffer, size, "%s", names[i].name);
}

static void own_clock(const struct perch__operation_case *o, char *buffer, size_t size)
{
	clock_name(&o->c.attr, buffer, size);
}

static void other_clock(const struct perch__operation_case *o, char *buffer, size_t size)
{
	clock_name(&o->other, buffer, size);
}

static void or_raise_rate(const struct perch__operation_case *o, char *buffer, size_t size)
{
	perch__write_or_raise_rate(&o->c, o->op->period, buffer, size);
}

static void new_period(const struct perch__operation_case *o, char *buffer, size_t size)
{
	if (o->op->period || o->op->period_known)
		snprintf(buffer, size, " (%" PRIu64 ")", o->op->period);
	else
		buffer[0] = '\0';
}

/* What a placeholder says about a part of the filter: the text around it, or without it. */
struct filter_text {
	const char *name;
	size_t member; /* a string of struct perch__filter */
	const char *before, *after, *without;
};

/* clang-format off */
#define PART(member) offsetof(struct perch__filter, member)
static const struct filter_text filter_texts[] = {
	{ "filter_part", PART(part), "", "", "" },
	{ "filter_found", PART(part), ": '", "' is none", "" },
	{ "filter_before", PART(part), " before '", "'", " at its end" },
	{ "filter_field", PART(field), "", "", "" },
	{ "filter_tracepoint", PART(tracepoint), "", "", "the tracepoint" },
	{ "filter_fields", PART(fields), ": ", "", "" },
};
/* clang-format on */

static void write_filter_text(const struct perch__operation_case *o, const struct filter_text *text,
			      char *buffer, size_t size)
{
	struct perch__filter filter;
	const char *part = (const char *)&filter + text->member;

	perch__check_filter_of(o, &filter);
	if (*part)
		snprintf(buffer, size, "%s%s%s", text->before, part, text->after);
	else
		snprintf(buffer, size, "%s", text->without);
}

/* What the type of the field allows. */
static void filter_comparison(const struct perch__operation_case *o, char *buffer, size_t size)
{
	struct perch__filter filter;

	perch__check_filter_of(o, &filter);
	if (filter.type == PERCH__FILTER_TYPE_NUMBER)
		snprintf(buffer, size,
			 "'%s' is a signed number: use == != < <= > >= or &, and a number from "
			 "-2^63 to 2^63-1 without quotes (10, -1, 0xff)",
			 filter.field);
	else if (filter.type == PERCH__FILTER_TYPE_UNSIGNED)
		snprintf(buffer, size,
			 "'%s' is an unsigned number: use == != < <= > >= or &, and a number from "
			 "0 to 2^64-1 without quotes (10, 0xff)",
			 filter.field);
	else if (filter.type == PERCH__FILTER_TYPE_STRING)
		snprintf(buffer, size,
			 "'%s' is a string: use == != or ~ (a glob), and a string in quotes",
			 filter.field);
	else
		snprintf(buffer, size,
			 "use == != < <= > >= or & with a number of at most 64 bits (10, -1, "
			 "0xff), and == != or ~ (a glob) with a string in quotes");
}

/* ---- read ---- */

static void members(const struct perch__operation_case *o, char *buffer, size_t size)
{
	bool exact;

	perch__read_bytes(o, &exact);
	if (!(o->c.attr.read_format & PERCH_FORMAT_GROUP))
		snprintf(buffer, size, " bytes");
	else if (exact)
		snprintf(buffer, size, " bytes for the %zu event%s of its group", o->op->group_size,
			 o->op->group_size == 1 ? "" : "s");
	else
		snprintf(buffer, size,
			 " bytes for one event, and more for each other event of its group");
}

static void at_least(const struct perch__operation_case *o, char *buffer, size_t size)
{
	if (o->has_attr)
		snprintf(buffer, size, " for all the events of its group");
	else
		buffer[0] = '\0';
}

static const struct {
	const char *name;
	writer *write;
} texts[] = {
	{ "length_below", length_below },
	{ "length_above", length_above },
	{ "need", need },
	{ "limits", limits },
	{ "process", process },
	{ "others", others },
	{ "smaller", smaller },
	{ "raise", raise_limits },
	{ "of_ring", of_ring },
	{ "address", address },
	{ "min_address", min_address },
	{ "address_limit", address_limit },
	{ "or_address_space", or_address_space },
	{ "unsupported_flags", unsupported_flags },
	{ "request", request },
	{ "request_since", request_since },
	{ "or_older", or_older },
	{ "release", release },
	{ "own_cpu", own_cpu },
	{ "other_cpu", other_cpu },
	{ "clock", own_clock },
	{ "other_clock", other_clock },
	{ "filter_comparison", filter_comparison },
	{ "new_period", new_period },
	{ "or_raise_rate", or_raise_rate },
	{ "members", members },
	{ "at_least", at_least },
};

bool perch__operation_placeholder(const void *operation_case, const char *name, size_t length,
				  char *buffer, size_t size)
{
	const struct perch__operation_case *o = operation_case;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "page", o->page_bytes },
		{ "length", o->op->length },
		{ "offset", o->op->offset },
		{ "pages", o->pages },
		{ "data_pages", o->pages ? o->pages - 1 : 0 },
		{ "ring_size", o->op->ring_size },
		{ "size", o->op->size },
		{ "read_format", o->c.attr.read_format },
		{ "read_bytes", perch__read_bytes(o, NULL) },
		{ "period", o->op->period },
		{ "max_mappings", perch__max_mappings(o) },
		{ "more_mappings", 2 * perch__max_mappings(o) },
	};
	const struct {
		const char *name;
		long value;
	} signed_numbers[] = {
		{ "argument", (long)o->op->argument },
		{ "output_fd", (int)o->op->argument },
		{ "other_pid", o->op->other ? o->op->other->pid : 0 },
	};
	const struct {
		const char *name;
		unsigned long value;
	} bits[] = { { "argument_hex", o->op->argument },
		     { "request_number", o->op->request },
		     { "user_end", perch__user_space_end() } };

#define FOR_THE_NAMED(table, i)                                       \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++) \
		if (strlen((table)[i].name) == length && !memcmp((table)[i].name, name, length))
	FOR_THE_NAMED(numbers, i)
	return snprintf(buffer, size, "%" PRIu64, numbers[i].value) > 0;
	FOR_THE_NAMED(signed_numbers, i)
	return snprintf(buffer, size, "%ld", signed_numbers[i].value) > 0;
	FOR_THE_NAMED(bits, i)
	return snprintf(buffer, size, "0x%lx", bits[i].value) > 0;
	FOR_THE_NAMED(filter_texts, i)
	return write_filter_text(o, &filter_texts[i], buffer, size), true;
	FOR_THE_NAMED(texts, i)
	return texts[i].write(o, buffer, size), true;
#undef FOR_THE_NAMED
	return perch__placeholder(&o->c, name, length, buffer, size);
}
