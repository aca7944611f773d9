/* SPDX-License-Identifier: MIT */
/* Breakpoints and probes on the running kernel count exactly how often they are hit. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>

#include "event/probe/elf_lookup.h"
#include "needs.h"

#define TIMES 37

static volatile long watched[2];

static __attribute__((noinline, used)) long called(long value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value + 1;
}

/*
 * A USDT probe as <sys/sdt.h> makes it: a note with its site and a reference counter. A probe in an
 * inlined function has several sites.
 */
#if __SIZEOF_POINTER__ == 8
#define ADDRESS ".8byte "
#else
#define ADDRESS ".4byte "
#endif
static volatile unsigned short references __asm__("perch_test_references")
	__attribute__((used, section(".probes")));

/* clang-format off */
#define NOTE(name) \
	__asm__ volatile("990:	nop\n" \
			 ".pushsection .note.stapsdt, \"\", %%note\n" \
			 ".balign 4\n" \
			 ".4byte 992f - 991f, 994f - 993f, 3\n" \
			 "991:	.asciz \"stapsdt\"\n" \
			 "992:	.balign 4\n" \
			 "993:	" ADDRESS "990b\n" ADDRESS "0\n" ADDRESS "perch_test_references\n" \
			 ".asciz \"perch\"\n" \
			 ".asciz \"" name "\"\n" \
			 ".asciz \"\"\n" \
			 "994:	.balign 4\n" \
			 ".popsection" \
			 : \
			 : \
			 : "memory")
/* clang-format on */

static __attribute__((noinline)) void pass_once(void)
{
	NOTE("once");
}

static inline __attribute__((always_inline)) void pass_twice(void)
{
	NOTE("twice");
}

static char self[PATH_MAX];

/* Prints the reason if the machine does not have the event; fails for any other error. */
static bool is_missing(const char *text, const struct perch_error *err)
{
	bool missing = err->kind == PERCH_ERROR_PRIVILEGE || err->kind == PERCH_ERROR_PARANOID ||
		       err->kind == PERCH_ERROR_UNKNOWN_PMU ||
		       err->kind == PERCH_ERROR_NOT_SUPPORTED || err->kind == PERCH_ERROR_BLOCKED ||
		       err->kind == PERCH_ERROR_NO_SYSCALL;

	if (!missing)
		fail_msg("%s: %s", text, err->message);
	print_message("skipped: %s: %s\n", text, err->message);
	return missing;
}

static struct perch_counter *counter(const char *text)
{
	struct perch_counter *made;
	struct perch_error err = { 0 };

	if (perch_counter_open(&made, text, &perch_self, NULL, &err) && is_missing(text, &err))
		skip();
	return made;
}

static uint64_t stop_and_read(struct perch_counter *counter)
{
	struct perch_count count;
	struct perch_error err;

	assert_int_equal(perch_counter_disable(counter, NULL), 0);
	if (perch_counter_read(counter, &count, &err))
		fail_msg("%s", err.message);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	perch_counter_close(counter);
	return count.value;
}

static void call(int times)
{
	for (int i = 0; i < times; i++)
		called(i);
}

/* Counts in user space only, which needs no privilege. */
static uint64_t hits_of_access(const char *access, unsigned width)
{
	struct perch_counter *made;
	char text[128];

	needs_breakpoints_that_fire();
	snprintf(text, sizeof(text), "mem:%#lx/%u%s", (unsigned long)&watched[0], width, access);
	made = counter(text);
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	for (int i = 0; i < TIMES; i++) {
		watched[0] = i;
		watched[1] = i; /* not in the breakpoint */
		(void)watched[0];
		(void)watched[0];
	}
	return stop_and_read(made);
}

static void writes_are_counted(void **state)
{
	(void)state;
	assert_int_equal(hits_of_access(":w:u", sizeof(long)), TIMES);
	assert_int_equal(hits_of_access(":w:u", 4), TIMES);
	assert_int_equal(hits_of_access(":w:u", 1), TIMES);
}

static void accesses_are_counted(void **state)
{
	(void)state;
	assert_int_equal(hits_of_access(":rw:u", sizeof(long)), 3 * TIMES);
	assert_int_equal(hits_of_access(":u", sizeof(long)), 3 * TIMES);
}

static void calls_are_counted(void **state)
{
	struct perch_counter *made;
	char text[128];

	(void)state;
	needs_breakpoints_that_fire();
	snprintf(text, sizeof(text), "mem:%#lx:x:u", (unsigned long)(uintptr_t)called);
	made = counter(text);
	call(5); /* not enabled yet */
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	call(TIMES);
	assert_int_equal(stop_and_read(made), TIMES);
}

static void a_breakpoint_is_moved(void **state)
{
	struct perch_events events;
	struct perch_counter *made;
	struct perch_error err;
	struct perch_attr attr;
	char text[128];

	(void)state;
	needs_breakpoints_that_fire();
	snprintf(text, sizeof(text), "mem:%#lx/4:w:u", (unsigned long)&watched[0]);
	made = counter(text);
	assert_int_equal(perch_events_parse(&events, text, NULL, &err), 0);
	assert_int_equal(perch_attr_build(&attr, &events.event[0], NULL, &err), 0);
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	watched[0] = 1;
	watched[1] = 1;
	attr.bp_addr = (uintptr_t)&watched[1];
	attr.disabled = 0;
	if (perch_event_modify(perch_counter_fd(made), &attr, NULL, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < TIMES; i++)
		watched[1] = i;
	watched[0] = 2;
	assert_int_equal(stop_and_read(made), 1 + TIMES);
	perch_events_clear(&events);
}

static void too_many_breakpoints_are_reported(void **state)
{
	enum { MOST = 64 };
	struct perch_counter *made[MOST];
	struct perch_error err = { 0 };
	char text[128];
	int nr = 0, rc = 0;

	(void)state;
	snprintf(text, sizeof(text), "mem:%#lx/4:w:u", (unsigned long)&watched[0]);
	made[nr++] = counter(text);
	while (nr < MOST && !(rc = perch_counter_open(&made[nr], text, &perch_self, NULL, &err)))
		nr++;
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(err.kind, PERCH_ERROR_BREAKPOINTS);
	assert_true(err.message[0] && err.remedy[0]);
#if defined(__x86_64__)
	assert_int_equal(nr, 4);
#endif
	while (nr)
		perch_counter_close(made[--nr]);
}

static uint64_t hits_of_probe(const char *text)
{
	struct perch_counter *made = counter(text);

	call(5); /* not enabled yet */
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	call(TIMES);
	return stop_and_read(made);
}

static void functions_are_probed_by_name(void **state)
{
	char text[PATH_MAX + 64];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:\"%s\":called", self);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uprobe:'%s':called:u", self);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uretprobe:\"%s\":called", self);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uprobe:\"%s\":called/name=calls/", self);
	assert_int_equal(hits_of_probe(text), TIMES);
}

static void functions_are_probed_by_offset(void **state)
{
	struct perch__elf_function function;
	unsigned long long offset;
	char text[PATH_MAX + 64];
	struct perch__elf elf;

	(void)state;
	assert_int_equal(perch__elf_file_open(&elf, self, NULL), 0);
	assert_int_equal(perch__elf_find_function(&elf, "called", &function), 0);
	perch__elf_file_close(&elf);
	offset = function.offset;
	snprintf(text, sizeof(text), "uprobe:\"%s\":%#llx", self, offset);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uretprobe:\"%s\":%llu", self, offset);
	assert_int_equal(hits_of_probe(text), TIMES);
}

static void libraries_are_probed(void **state)
{
	struct perch_counter *made = counter("uprobe:libc:getppid");

	(void)state;
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	for (int i = 0; i < TIMES; i++)
		getppid();
	assert_int_equal(stop_and_read(made), TIMES);
}

static void usdt_probes_are_counted_and_increment_counter(void **state)
{
	struct perch_counter *made;
	char text[PATH_MAX + 64];

	(void)state;
	snprintf(text, sizeof(text), "usdt:\"%s\":perch:once", self);
	assert_int_equal(references, 0);
	made = counter(text);
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	assert_int_equal(references, 1);
	for (int i = 0; i < TIMES; i++)
		pass_once();
	assert_int_equal(stop_and_read(made), TIMES);
	assert_int_equal(references, 0);
}

/* The number of sites depends on the compiler, which may unroll the loops. */
static void all_sites_of_a_usdt_probe_are_counted(void **state)
{
	enum { MOST = 128 };
	struct perch_counter *made[MOST];
	struct perch_events events;
	struct perch_error err = { 0 };
	char text[PATH_MAX + 64];
	uint64_t sum = 0;

	(void)state;
	snprintf(text, sizeof(text), "usdt:\"%s\":perch:twice", self);
	if (perch_events_parse(&events, text, NULL, &err) && is_missing(text, &err))
		skip();
	assert_in_range(events.nr, 2, MOST);
	for (size_t i = 0; i < events.nr; i++) {
		assert_int_equal(events.event[i].first, 0);
		if (perch_counter_open_event(&made[i], &events.event[i], &perch_self, NULL, &err) &&
		    is_missing(text, &err)) {
			perch_events_clear(&events);
			skip();
		}
		assert_int_equal(perch_counter_enable(made[i], NULL), 0);
	}
	assert_int_equal(references, events.nr);
	for (int i = 0; i < TIMES; i++)
		pass_twice();
	for (int i = 0; i < 5; i++)
		pass_twice();
	for (size_t i = 0; i < events.nr; i++)
		sum += stop_and_read(made[i]);
	assert_int_equal(sum, TIMES + 5);
	assert_int_equal(references, 0);
	perch_events_clear(&events);
}

/* A shell that waits for a byte, starts a program, and exits with 7 if that succeeds. */
static pid_t start_shell(int *go)
{
	int fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "/bin/true && exit 7", (char *)NULL);
		_exit(1);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

/* With an inherited probe, each fork of the program would fail. */
static void a_probed_program_can_fork(void **state)
{
	struct perch_options options = { .inherit = 1, .enable_on_exec = 1 };
	struct perch_target target = { .cpu = -1 };
	struct perch_error err = { 0 };
	struct perch_counter *made;
	int go, status, rc;

	(void)state;
	target.tid = start_shell(&go);
	rc = perch_counter_open(&made, "uprobe:libc:getppid", &target, &options, &err);
	assert_int_equal(write(go, "", 1), 1);
	close(go);
	assert_int_equal(waitpid(target.tid, &status, 0), target.tid);
	if (rc && is_missing("uprobe:libc:getppid", &err))
		skip();
	perch_counter_close(made);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* A kernel probe also hits for other processes: the count is at least the reads of this program. */
static void kernel_functions_are_probed(void **state)
{
	struct perch_machine *machine;
	struct perch_counter *made;
	struct perch_error err;
	bool has_pmu;
	char byte;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	has_pmu = perch_machine_pmu(machine, "kprobe");
	perch_machine_free(machine);
	if (!has_pmu) {
		assert_int_equal(perch_counter_open(&made, "kprobe:vfs_read", &perch_self, NULL,
						    &err),
				 -ENOENT);
		assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_PMU);
		assert_non_null(strstr(err.message, "kprobe"));
		assert_non_null(strstr(err.remedy, "CONFIG_KPROBE_EVENTS"));
		return;
	}
	made = counter("kprobe:vfs_read");
	assert_int_equal(perch_counter_enable(made, NULL), 0);
	for (int i = 0; i < TIMES; i++) {
		FILE *stream = fopen("/proc/self/stat", "r");

		assert_non_null(stream);
		assert_int_equal(fread(&byte, 1, 1, stream), 1);
		fclose(stream);
	}
	assert_true(stop_and_read(made) >= TIMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_are_counted),
		cmocka_unit_test(accesses_are_counted),
		cmocka_unit_test(calls_are_counted),
		cmocka_unit_test(a_breakpoint_is_moved),
		cmocka_unit_test(too_many_breakpoints_are_reported),
		cmocka_unit_test(functions_are_probed_by_name),
		cmocka_unit_test(functions_are_probed_by_offset),
		cmocka_unit_test(libraries_are_probed),
		cmocka_unit_test(usdt_probes_are_counted_and_increment_counter),
		cmocka_unit_test(all_sites_of_a_usdt_probe_are_counted),
		cmocka_unit_test(a_probed_program_can_fork),
		cmocka_unit_test(kernel_functions_are_probed),
	};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return perror("/proc/self/exe"), 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
