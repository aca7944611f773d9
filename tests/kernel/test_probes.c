/* SPDX-License-Identifier: MIT */
/* Breakpoints and probes on the running kernel: what this program does n times is counted n times.
 */
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

#include "event/elf_lookup.h"

#define TIMES 37

static volatile long watched[2];

static __attribute__((noinline, used)) long called(long value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value + 1;
}

/*
 * A USDT probe as <sys/sdt.h> makes it: a note of the place, and a counter that says whether
 * anybody listens. Where the function is inlined twice, the probe has two places.
 */
#if __SIZEOF_POINTER__ == 8
#define ADDRESS ".8byte "
#else
#define ADDRESS ".4byte "
#endif
static volatile unsigned short listeners __asm__("perch_test_listeners")
	__attribute__((used, section(".probes")));

#define NOTE(name)                                                                                \
	__asm__ volatile("990:	nop\n"                                                             \
			 ".pushsection .note.stapsdt, \"\", %%note\n"                             \
			 ".balign 4\n"                                                            \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                                   \
			 "991:	.asciz \"stapsdt\"\n"                                              \
			 "992:	.balign 4\n"                                                       \
			 "993:	" ADDRESS "990b\n" ADDRESS "0\n" ADDRESS "perch_test_listeners\n" \
			 ".asciz \"perch\"\n"                                                     \
			 ".asciz \"" name "\"\n"                                                  \
			 ".asciz \"\"\n"                                                          \
			 "994:	.balign 4\n"                                                       \
			 ".popsection"                                                            \
			 :                                                                        \
			 :                                                                        \
			 : "memory")

static __attribute__((noinline)) void pass_once(void)
{
	NOTE("once");
}

static inline __attribute__((always_inline)) void pass_place(void)
{
	NOTE("twice");
}

static char here[PATH_MAX];

/* A kernel or machine without it is no failure: the reason is printed. */
static bool lacking(const char *text, const struct perch_error *err)
{
	bool lacks = err->kind == PERCH_ERROR_PRIVILEGE || err->kind == PERCH_ERROR_PARANOID ||
		     err->kind == PERCH_ERROR_UNKNOWN_PMU ||
		     err->kind == PERCH_ERROR_NOT_SUPPORTED || err->kind == PERCH_ERROR_BLOCKED ||
		     err->kind == PERCH_ERROR_NO_SYSCALL;

	if (!lacks)
		fail_msg("%s: %s", text, err->message);
	print_message("skipped: %s: %s\n", text, err->message);
	return lacks;
}

static struct perch_counter *counter(const char *text)
{
	struct perch_counter *made;
	struct perch_error err = { 0 };

	if (perch_counter_open(&made, text, &PERCH_SELF, NULL, &err) && lacking(text, &err))
		skip();
	return made;
}

static uint64_t ended(struct perch_counter *counter)
{
	struct perch_count count;
	struct perch_error err;

	assert_int_equal(perch_counter_disable(counter), 0);
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

/* In user space alone, which ordinary users may watch too. */
static uint64_t hits_of_access(const char *access, unsigned width)
{
	struct perch_counter *made;
	char text[128];

	snprintf(text, sizeof(text), "mem:%#lx/%u%s", (unsigned long)&watched[0], width, access);
	made = counter(text);
	assert_int_equal(perch_counter_enable(made), 0);
	for (int i = 0; i < TIMES; i++) {
		watched[0] = i;
		watched[1] = i; /* beside it: not watched */
		(void)watched[0];
		(void)watched[0];
	}
	return ended(made);
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
	snprintf(text, sizeof(text), "mem:%#lx:x:u", (unsigned long)(uintptr_t)called);
	made = counter(text);
	call(5); /* not enabled yet */
	assert_int_equal(perch_counter_enable(made), 0);
	call(TIMES);
	assert_int_equal(ended(made), TIMES);
}

static void a_breakpoint_is_moved(void **state)
{
	struct perch_events events;
	struct perch_counter *made;
	struct perch_error err;
	struct perch_attr attr;
	char text[128];

	(void)state;
	snprintf(text, sizeof(text), "mem:%#lx/4:w:u", (unsigned long)&watched[0]);
	made = counter(text);
	assert_int_equal(perch_events_parse(&events, text, NULL, &err), 0);
	assert_int_equal(perch_attr_build(&attr, &events.event[0], NULL, &err), 0);
	assert_int_equal(perch_counter_enable(made), 0);
	watched[0] = 1;
	watched[1] = 1;
	attr.bp_addr = (uintptr_t)&watched[1];
	attr.disabled = 0;
	if (perch_event_modify(perch_counter_fd(made), &attr, NULL, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < TIMES; i++)
		watched[1] = i;
	watched[0] = 2;
	assert_int_equal(ended(made), 1 + TIMES);
	perch_events_clear(&events);
}

static void too_many_breakpoints_are_told(void **state)
{
	enum { MOST = 64 };
	struct perch_counter *made[MOST];
	struct perch_error err = { 0 };
	char text[128];
	int nr = 0, rc = 0;

	(void)state;
	snprintf(text, sizeof(text), "mem:%#lx/4:w:u", (unsigned long)&watched[0]);
	made[nr++] = counter(text);
	while (nr < MOST && !(rc = perch_counter_open(&made[nr], text, &PERCH_SELF, NULL, &err)))
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
	assert_int_equal(perch_counter_enable(made), 0);
	call(TIMES);
	return ended(made);
}

static void functions_are_probed_by_name(void **state)
{
	char text[PATH_MAX + 64];

	(void)state;
	snprintf(text, sizeof(text), "uprobe:\"%s\":called", here);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uprobe:'%s':called:u", here);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uretprobe:\"%s\":called", here);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uprobe:\"%s\":called/name=calls/", here);
	assert_int_equal(hits_of_probe(text), TIMES);
}

static void functions_are_probed_by_place(void **state)
{
	struct perch__elf_function function;
	unsigned long long offset;
	char text[PATH_MAX + 64];
	struct perch__elf elf;

	(void)state;
	assert_int_equal(perch__elf_file_open(&elf, here, NULL), 0);
	assert_int_equal(perch__elf_find_function(&elf, "called", &function), 0);
	perch__elf_file_close(&elf);
	offset = function.offset;
	snprintf(text, sizeof(text), "uprobe:\"%s\":%#llx", here, offset);
	assert_int_equal(hits_of_probe(text), TIMES);
	snprintf(text, sizeof(text), "uretprobe:\"%s\":%llu", here, offset);
	assert_int_equal(hits_of_probe(text), TIMES);
}

static void libraries_are_probed(void **state)
{
	struct perch_counter *made = counter("uprobe:libc:getppid");

	(void)state;
	assert_int_equal(perch_counter_enable(made), 0);
	for (int i = 0; i < TIMES; i++)
		getppid();
	assert_int_equal(ended(made), TIMES);
}

static void usdt_probes_are_counted_and_listened_to(void **state)
{
	struct perch_counter *made;
	char text[PATH_MAX + 64];

	(void)state;
	snprintf(text, sizeof(text), "usdt:\"%s\":perch:once", here);
	assert_int_equal(listeners, 0);
	made = counter(text);
	assert_int_equal(perch_counter_enable(made), 0);
	assert_int_equal(listeners, 1);
	for (int i = 0; i < TIMES; i++)
		pass_once();
	assert_int_equal(ended(made), TIMES);
	assert_int_equal(listeners, 0);
}

/* How many places there are is the compiler's choice: it may unroll the loops too. */
static void all_places_of_a_usdt_probe_are_counted(void **state)
{
	enum { MOST = 128 };
	struct perch_counter *made[MOST];
	struct perch_events events;
	struct perch_error err = { 0 };
	char text[PATH_MAX + 64];
	uint64_t sum = 0;

	(void)state;
	snprintf(text, sizeof(text), "usdt:\"%s\":perch:twice", here);
	if (perch_events_parse(&events, text, NULL, &err) && lacking(text, &err))
		skip();
	assert_in_range(events.nr, 2, MOST);
	for (size_t i = 0; i < events.nr; i++) {
		assert_int_equal(events.event[i].first, 0);
		if (perch_counter_open_event(&made[i], &events.event[i], &PERCH_SELF, NULL, &err) &&
		    lacking(text, &err)) {
			perch_events_clear(&events);
			skip();
		}
		assert_int_equal(perch_counter_enable(made[i]), 0);
	}
	assert_int_equal(listeners, events.nr);
	for (int i = 0; i < TIMES; i++)
		pass_place();
	for (int i = 0; i < 5; i++)
		pass_place();
	for (size_t i = 0; i < events.nr; i++)
		sum += ended(made[i]);
	assert_int_equal(sum, TIMES + 5);
	assert_int_equal(listeners, 0);
	perch_events_clear(&events);
}

/* A shell that waits for a byte, then starts a program and ends with 7 if that went well. */
static pid_t start_shell(int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "/bin/true && exit 7", (char *)NULL);
		_exit(1);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

/* The kernel would make an inherited probe again in the memory of the program that forks, and find
 * no path there. */
static void a_probed_program_can_start_others(void **state)
{
	struct perch_options options = { .inherit = 1, .enable_on_exec = 1 };
	struct perch_target target = { .cpu = -1 };
	struct perch_error err = { 0 };
	struct perch_counter *made;
	int go, status, rc;

	(void)state;
	target.pid = start_shell(&go);
	rc = perch_counter_open(&made, "uprobe:libc:getppid", &target, &options, &err);
	assert_int_equal(write(go, "", 1), 1);
	close(go);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	if (rc && lacking("uprobe:libc:getppid", &err))
		skip();
	perch_counter_close(made);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* Probes in the kernel's own code hit for others too: at least as often as this program reads. */
static void kernel_functions_are_probed(void **state)
{
	struct perch_machine *machine;
	struct perch_counter *made;
	struct perch_error err;
	bool there;
	char byte;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	there = perch_machine_pmu(machine, "kprobe");
	perch_machine_free(machine);
	if (!there) {
		assert_int_equal(perch_counter_open(&made, "kprobe:vfs_read", &PERCH_SELF, NULL,
						    &err),
				 -ENOENT);
		assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_PMU);
		assert_non_null(strstr(err.message, "kprobe"));
		assert_non_null(strstr(err.remedy, "CONFIG_KPROBE_EVENTS"));
		return;
	}
	made = counter("kprobe:vfs_read");
	assert_int_equal(perch_counter_enable(made), 0);
	for (int i = 0; i < TIMES; i++) {
		FILE *stream = fopen("/proc/self/stat", "r");

		assert_non_null(stream);
		assert_int_equal(fread(&byte, 1, 1, stream), 1);
		fclose(stream);
	}
	assert_true(ended(made) >= TIMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_are_counted),
		cmocka_unit_test(accesses_are_counted),
		cmocka_unit_test(calls_are_counted),
		cmocka_unit_test(a_breakpoint_is_moved),
		cmocka_unit_test(too_many_breakpoints_are_told),
		cmocka_unit_test(functions_are_probed_by_name),
		cmocka_unit_test(functions_are_probed_by_place),
		cmocka_unit_test(libraries_are_probed),
		cmocka_unit_test(usdt_probes_are_counted_and_listened_to),
		cmocka_unit_test(all_places_of_a_usdt_probe_are_counted),
		cmocka_unit_test(a_probed_program_can_start_others),
		cmocka_unit_test(kernel_functions_are_probed),
	};
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (length <= 0)
		return perror("/proc/self/exe"), 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
