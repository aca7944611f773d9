/* SPDX-License-Identifier: MIT */
/* Facts of operations in words: what stands in the place of {words} in their rules' sentences and
 * remedies. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "operations.h"

typedef void writer(const struct perch__doing *d, char *buffer, size_t size);

static void kib(uint64_t value, char *buffer, size_t size)
{
	if (value == UINT64_MAX)
		snprintf(buffer, size, "unlimited");
	else
		snprintf(buffer, size, "%" PRIu64 " KiB", value);
}

static uint64_t ring_of(const struct perch__doing *d, bool above)
{
	uint64_t data = d->pages ? d->pages - 1 : 0, power = 1;

	while (power <= data / 2)
		power *= 2;
	if (above)
		power *= 2;
	return (power + 1) * d->page_bytes;
}

static void length_below(const struct perch__doing *d, char *buffer, size_t size)
{
	snprintf(buffer, size, "%" PRIu64, ring_of(d, false));
}

static void length_above(const struct perch__doing *d, char *buffer, size_t size)
{
	snprintf(buffer, size, "%" PRIu64, ring_of(d, true));
}

/* ---- Locked memory ---- */

static void need(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch__ring_room room;

	perch__ring_room(d, &room);
	snprintf(buffer, size, "%" PRIu64, room.need);
}

static void limits(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch__ring_room room;
	char process[32];

	if (!perch__ring_room(d, &room)) {
		snprintf(
			buffer, size,
			"kernel.perf_event_mlock_kb for each CPU, and each process RLIMIT_MEMLOCK beyond");
		return;
	}
	kib(room.process, process, sizeof(process));
	snprintf(buffer, size,
		 "kernel.perf_event_mlock_kb (%" PRIu64 ") x %" PRIu64 " CPUs = %" PRIu64
		 " KiB, and each process RLIMIT_MEMLOCK (%s) beyond",
		 room.per_cpu, room.cpus, room.user, process);
}

/* " (64 KiB)", or nothing when it is not known. */
static void process(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch_limits limits;

	buffer[0] = '\0';
	if (d->c.machine && !perch_machine_limits(d->c.machine, &limits, NULL) &&
	    limits.locked_bytes != UINT64_MAX)
		snprintf(buffer, size, " (%" PRIu64 " KiB)", limits.locked_bytes >> 10);
}

/* Alone it fits: what else there is can be told by the difference. */
static void others(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch__ring_room room;
	uint64_t all;

	if (!perch__ring_room(d, &room)) {
		snprintf(buffer, size, "that is used up");
		return;
	}
	if (__builtin_add_overflow(room.user, room.process, &all))
		all = UINT64_MAX;
	if (room.need > all)
		snprintf(buffer, size, "that is %" PRIu64 " KiB too few even for this ring alone",
			 room.need - all);
	else
		snprintf(buffer, size,
			 "rings mapped already have taken more than %" PRIu64 " KiB of that",
			 all - room.need);
}

/* The largest ring that fits where nothing else is mapped. */
static void smaller(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch__ring_room room;
	uint64_t all, pages = 1;

	if (!perch__ring_room(d, &room) || __builtin_add_overflow(room.user, room.process, &all) ||
	    room.need <= all || (all << 10) / d->page_bytes < 2) {
		snprintf(buffer, size, "map a smaller ring, or end other recordings of this user");
		return;
	}
	while (2 * pages + 1 <= (all << 10) / d->page_bytes)
		pages *= 2;
	snprintf(buffer, size, "map at most 1 + %" PRIu64 " pages (%" PRIu64 " bytes)", pages,
		 (pages + 1) * d->page_bytes);
}

/* Enough whatever is mapped already: others have at most what the limit gave them, and this adds
 * the ring's own need. */
static uint64_t per_cpu_needed(const struct perch__doing *d, const struct perch__ring_room *room)
{
	uint64_t page_kib = d->page_bytes >> 10 ? d->page_bytes >> 10 : 1;
	uint64_t value = room->per_cpu + room->need / room->cpus + !!(room->need % room->cpus) +
			 page_kib - 1;

	return value - value % page_kib;
}

static void raise_limits(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch__ring_room room;

	if (perch__ring_room(d, &room) && room.cpus && room.process != UINT64_MAX)
		snprintf(buffer, size,
			 "sysctl kernel.perf_event_mlock_kb=%" PRIu64
			 ", or raise RLIMIT_MEMLOCK to %" PRIu64 " KiB (ulimit -l)",
			 per_cpu_needed(d, &room), room.process + room.need);
	else
		snprintf(buffer, size,
			 "raise kernel.perf_event_mlock_kb, or raise RLIMIT_MEMLOCK (ulimit -l)");
}

static void of_ring(const struct perch__doing *d, char *buffer, size_t size)
{
	if (d->op->ring_size)
		snprintf(buffer, size, " of %zu bytes", d->op->ring_size);
	else
		buffer[0] = '\0';
}

/* ---- ioctl ---- */

static void request(const struct perch__doing *d, char *buffer, size_t size)
{
	const char *name = perch__request_of(d->op->request)->name;

	if (name)
		snprintf(buffer, size, "PERF_EVENT_IOC_%s", name);
	else
		snprintf(buffer, size, "the request 0x%lx", d->op->request);
}

static void request_since(const struct perch__doing *d, char *buffer, size_t size)
{
	const char *since = perch__request_of(d->op->request)->since;

	snprintf(buffer, size, "%s", since[0] ? since : "2.6.31");
}

/* Nothing, where the kernel is known to be new enough. */
static void or_older(const struct perch__doing *d, char *buffer, size_t size)
{
	const char *since = perch__request_of(d->op->request)->since;

	buffer[0] = '\0';
	if (since[0] && perch__older_than(&d->c, since) != PERCH__NO)
		snprintf(buffer, size, ", or this kernel is older than Linux %s", since);
}

static void release(const struct perch__doing *d, char *buffer, size_t size)
{
	struct perch_release running;

	if (d->c.machine && !perch_machine_release(d->c.machine, &running, NULL))
		snprintf(buffer, size, "%s", running.text);
	else
		snprintf(buffer, size, "an older one");
}

static void cpu_name(int cpu, char *buffer, size_t size)
{
	if (cpu < 0)
		snprintf(buffer, size, "every CPU (cpu -1)");
	else
		snprintf(buffer, size, "CPU %d", cpu);
}

static void cpu_told(const struct perch__doing *d, char *buffer, size_t size)
{
	cpu_name(d->c.cpu, buffer, size);
}

static void other_cpu(const struct perch__doing *d, char *buffer, size_t size)
{
	cpu_name(d->op->other ? d->op->other->cpu : -1, buffer, size);
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
		snprintf(buffer, size, "the kernel's own clock");
		return;
	}
	snprintf(buffer, size, "clock %d", attr->clockid);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].clock == attr->clockid)
			snprintf(buffer, size, "%s", names[i].name);
}

static void clock_told(const struct perch__doing *d, char *buffer, size_t size)
{
	clock_name(&d->c.attr, buffer, size);
}

static void other_clock(const struct perch__doing *d, char *buffer, size_t size)
{
	clock_name(&d->other, buffer, size);
}

static void period_told(const struct perch__doing *d, char *buffer, size_t size)
{
	if (d->op->period || d->op->period_known)
		snprintf(buffer, size, " (%" PRIu64 ")", d->op->period);
	else
		buffer[0] = '\0';
}

/* ---- read ---- */

static void members(const struct perch__doing *d, char *buffer, size_t size)
{
	bool exact;

	perch__read_bytes(d, &exact);
	if (!(d->c.attr.read_format & PERCH_FORMAT_GROUP))
		snprintf(buffer, size, " bytes");
	else if (exact)
		snprintf(buffer, size, " bytes for the %zu event%s of its group", d->op->group_size,
			 d->op->group_size == 1 ? "" : "s");
	else
		snprintf(buffer, size,
			 " bytes for one event, and more for each further one of its group");
}

static void at_least(const struct perch__doing *d, char *buffer, size_t size)
{
	if (d->has_attr)
		snprintf(buffer, size, " for all the events of its group");
	else
		buffer[0] = '\0';
}

static const struct {
	const char *name;
	writer *write;
} written[] = {
	{ "length_below", length_below },
	{ "length_above", length_above },
	{ "need", need },
	{ "limits", limits },
	{ "process", process },
	{ "others", others },
	{ "smaller", smaller },
	{ "raise", raise_limits },
	{ "of_ring", of_ring },
	{ "request", request },
	{ "request_since", request_since },
	{ "or_older", or_older },
	{ "release", release },
	{ "cpu_told", cpu_told },
	{ "other_cpu", other_cpu },
	{ "clock", clock_told },
	{ "other_clock", other_clock },
	{ "period_told", period_told },
	{ "members", members },
	{ "at_least", at_least },
};

bool perch__doing_text(const void *doing, const char *name, size_t length, char *buffer,
		       size_t size)
{
	const struct perch__doing *d = doing;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "page", d->page_bytes },
		{ "length", d->op->length },
		{ "offset", d->op->offset },
		{ "pages", d->pages },
		{ "data_pages", d->pages ? d->pages - 1 : 0 },
		{ "ring_size", d->op->ring_size },
		{ "size", d->op->size },
		{ "read_format", d->c.attr.read_format },
		{ "read_bytes", perch__read_bytes(d, NULL) },
		{ "period", d->op->period },
	};
	const struct {
		const char *name;
		long value;
	} signed_numbers[] = {
		{ "argument", (long)d->op->argument },
		{ "output_fd", (int)d->op->argument },
		{ "other_pid", d->op->other ? d->op->other->pid : 0 },
	};
	const struct {
		const char *name;
		unsigned long value;
	} bits[] = { { "argument_hex", d->op->argument }, { "request_number", d->op->request } };

#define FOR_THE_NAMED(table, i)                                       \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++) \
		if (strlen((table)[i].name) == length && !memcmp((table)[i].name, name, length))
	FOR_THE_NAMED(numbers, i)
	return snprintf(buffer, size, "%" PRIu64, numbers[i].value) > 0;
	FOR_THE_NAMED(signed_numbers, i)
	return snprintf(buffer, size, "%ld", signed_numbers[i].value) > 0;
	FOR_THE_NAMED(bits, i)
	return snprintf(buffer, size, "0x%lx", bits[i].value) > 0;
	FOR_THE_NAMED(written, i)
	return written[i].write(d, buffer, size), true;
#undef FOR_THE_NAMED
	return perch__fact_text(&d->c, name, length, buffer, size);
}
