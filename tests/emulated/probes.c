/* SPDX-License-Identifier: MIT */
/* Breakpoints, kprobes, uprobes and tracepoints on arm64: exact counts of hits. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"

#define HITS 20

static volatile uint32_t watched;

/* Not inlined and without merged calls, because calls are counted. */
__attribute__((noinline, used)) uint32_t guest_probed(uint32_t number)
{
	__asm__ volatile("" : "+r"(number));
	return number + 1;
}

static void write_it(void)
{
	watched = watched * 3 + 1;
}

static void read_it(void)
{
	(void)watched;
}

static void call_it(void)
{
	guest_probed(watched);
}

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

/* Calls act HITS times while the event is enabled. Returns the count. */
static uint64_t hits(const char *text, void (*act)(void))
{
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;

	CHECK_OK(perch_counter_open(&counter, text, &perch_self, NULL, &err), &err);
	act(); /* not counted */
	CHECK(!perch_counter_enable(counter, NULL), "%s", text);
	for (int i = 0; i < HITS; i++)
		act();
	CHECK(!perch_counter_disable(counter, NULL), "%s", text);
	act(); /* not counted */
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT, "%s: state %d", text, count.state);
	perch_counter_close(counter);
	return count.value;
}

static void expect_hits(const char *text, void (*act)(void), uint64_t wanted)
{
	uint64_t got = hits(text, act);

	CHECK(got == wanted, "%s: %" PRIu64 " instead of %" PRIu64, text, got, wanted);
}

static void watch_data(void)
{
	uintptr_t at = (uintptr_t)&watched;
	char text[64];

	snprintf(text, sizeof(text), "mem:%#" PRIxPTR ":w:u", at);
	expect_hits(text, write_it, HITS);
	expect_hits(text, read_it, 0);
	snprintf(text, sizeof(text), "mem:%#" PRIxPTR "/4:rw:u", at);
	expect_hits(text, write_it, 2 * HITS);
	expect_hits(text, read_it, HITS);
	snprintf(text, sizeof(text), "mem:%#" PRIxPTR "/4:r:u", at);
	expect_hits(text, read_it, HITS);
}

/* An arm64 instruction has four bytes; the kernel refuses other lengths. */
static void watch_code(void)
{
	struct perch_events events = { 0 };
	struct perch_error err;
	char text[64];

	snprintf(text, sizeof(text), "mem:%#" PRIxPTR ":x:u", (uintptr_t)guest_probed);
	CHECK_OK(perch_events_parse(&events, text, NULL, &err), &err);
	CHECK(events.nr == 1 && events.event[0].attr.bp_len == 4, "%zu events, length %" PRIu64,
	      events.nr, (uint64_t)events.event[0].attr.bp_len);
	perch_events_clear(&events);
	expect_hits(text, call_it, HITS);
	expect_hits(text, write_it, 0);
}

static void too_many_breakpoints(void)
{
	struct perch_counter *counter[32];
	static uint64_t data[32];
	struct perch_error err;
	int rc = 0, nr = 0;
	char text[64];

	while (nr < 32) {
		snprintf(text, sizeof(text), "mem:%#" PRIxPTR "/8:w:u", (uintptr_t)&data[nr]);
		rc = perch_counter_open(&counter[nr], text, &perch_self, NULL, &err);
		if (rc < 0)
			break;
		nr++;
	}
	CHECK(nr >= 2 && rc == -ENOSPC && err.kind == PERCH_ERROR_BREAKPOINTS,
	      "%d opened, then %d: %s", nr, rc, err.message);
	while (nr--)
		perch_counter_close(counter[nr]);
}

static void kernel_functions(void)
{
	expect_hits("kprobe:__arm64_sys_getppid", call_getppid, HITS);
	expect_hits("kretprobe:__arm64_sys_getppid", call_getppid, HITS);
	expect_hits("kprobe:__arm64_sys_getppid", write_it, 0);
}

static void unknown_kernel_function(void)
{
	struct perch_counter *counter;
	struct perch_error err = { 0 };
	int rc = perch_counter_open(&counter, "kprobe:no_such_function_here", &perch_self, NULL,
				    &err);

	CHECK(rc < 0, "%d", rc);
	CHECK(err.errnum == -rc &&
		      (strstr(err.message, "function") || strstr(err.message, "probe")),
	      "%d: %s", rc, err.message);
}

static void user_functions(void)
{
	char text[96];

	expect_hits("uprobe:/init:guest_probed", call_it, HITS);
	expect_hits("uretprobe:/init:guest_probed", call_it, HITS);
	expect_hits("uprobe:/init:guest_probed", write_it, 0);
	/* the second instruction */
	snprintf(text, sizeof(text), "uprobe:/init:guest_probed+%d", 4);
	expect_hits(text, call_it, HITS);
}

static void tracepoints(void)
{
	expect_hits("syscalls:sys_enter_getppid", call_getppid, HITS);
	expect_hits("syscalls:sys_exit_getppid", call_getppid, HITS);
	expect_hits("syscalls:sys_enter_getppid", write_it, 0);
}

const struct guest_test guest_probes[] = {
	{ .name = "breakpoints on data", .run = watch_data },
	{ .name = "breakpoints on code", .run = watch_code },
	{ .name = "more breakpoints than debug registers", .run = too_many_breakpoints },
	{ .name = "kprobes", .run = kernel_functions },
	{ .name = "a kprobe where there is no function", .run = unknown_kernel_function },
	{ .name = "uprobes", .run = user_functions },
	{ .name = "tracepoints", .run = tracepoints },
	{ 0 },
};
