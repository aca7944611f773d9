/* SPDX-License-Identifier: MIT */
/*
 * The address that a sample of a hardware breakpoint has: on x86 that of the instruction after the
 * access, for execution that of the instruction itself. Labels in assembler code are the reference.
 * perch-events(7) documents the rule.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "needs.h"

#if defined(__x86_64__)

#define MOST 8

extern const char write_at[], write_end[], read_at[], read_end[], copy_at[], copy_end[];
extern const char call_at[], call_end[], called[];

static struct {
	long watched;
	long from[4], to[4];
	long stack[64];
} data;

/* A function that stays one function with an address of its own. */
#ifdef __clang__
#define NOT_INLINE __attribute__((noinline))
#else
#define NOT_INLINE __attribute__((noinline, noclone))
#endif

NOT_INLINE static void write_once(void)
{
	__asm__ volatile(".globl write_at, write_end\n"
			 "write_at: movq $77, %0\n"
			 "write_end: nop"
			 : "=m"(data.watched));
}

NOT_INLINE static long read_once(void)
{
	long value;

	__asm__ volatile(".globl read_at, read_end\n"
			 "read_at: movq %1, %0\n"
			 "read_end: nop"
			 : "=r"(value)
			 : "m"(data.watched));
	return value;
}

/* One instruction that writes several times. */
NOT_INLINE static void copy_string(void)
{
	long *to = data.to;
	const long *from = data.from;
	size_t nr = 4;

	__asm__ volatile(".globl copy_at, copy_end\n"
			 "copy_at: rep movsq\n"
			 "copy_end: nop"
			 : "+D"(to), "+S"(from), "+c"(nr)
			 :
			 : "memory");
}

/* A call writes the return address: the next instruction is the first one of the function. */
NOT_INLINE static void call_on_stack(long *top)
{
	__asm__ volatile(".globl call_at, call_end, called\n"
			 "	movq %%rsp, %%rbx\n"
			 "	movq %0, %%rsp\n"
			 "call_at: call called\n"
			 "call_end: jmp 1f\n"
			 "called: ret\n"
			 "1:	movq %%rbx, %%rsp"
			 :
			 : "r"(top)
			 : "rbx", "memory");
}

static struct perch_sampler *open_breakpoint(const void *address, const char *access)
{
	const struct perch_sampler_options options = {
		.event = { .period = 1,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR,
			   .exclude_kernel = 1 },
	};
	struct perch_sampler *sampler;
	struct perch_error err;
	char event[64];

	needs_breakpoints_that_fire();
	snprintf(event, sizeof(event), "mem:%p%s:u", address, access);
	if (perch_sampler_open(&sampler, event, NULL, &options, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (perch_sampler_enable(sampler, &err) < 0)
		fail_msg("%s", err.message);
	return sampler;
}

/* Closes the breakpoint. Returns the number of its samples, which must have this address. */
static size_t take_samples(struct perch_sampler *sampler, const void *address, uint64_t ip[MOST])
{
	struct perch_record record;
	struct perch_error err;
	size_t nr = 0;

	if (perch_sampler_disable(sampler, &err) < 0)
		fail_msg("%s", err.message);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		assert_true(nr < MOST);
		assert_int_equal(record.sample.addr, (uintptr_t)address);
		ip[nr++] = record.sample.ip;
	}
	perch_sampler_close(sampler);
	return nr;
}

static void a_write_is_before_the_ip(void **state)
{
	struct perch_sampler *sampler = open_breakpoint(&data.watched, "/8:w");
	uint64_t ip[MOST];

	(void)state;
	write_once();
	read_once();
	write_once();
	assert_int_equal(take_samples(sampler, &data.watched, ip), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(ip[i], (uintptr_t)write_end);
		assert_true(ip[i] - 1 >= (uintptr_t)write_at && ip[i] - 1 < (uintptr_t)write_end);
	}
}

static void a_read_is_before_the_ip(void **state)
{
	struct perch_sampler *sampler = open_breakpoint(&data.watched, "/8:rw");
	uint64_t ip[MOST];

	(void)state;
	read_once();
	write_once();
	assert_int_equal(take_samples(sampler, &data.watched, ip), 2);
	assert_int_equal(ip[0], (uintptr_t)read_end);
	assert_int_equal(ip[1], (uintptr_t)write_end);
}

/* Between two writes of the instruction the ip is that of the instruction itself. */
static void a_string_instruction_is_before_the_ip_or_at_it(void **state)
{
	uint64_t ip[MOST];
	struct perch_sampler *sampler;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sampler = open_breakpoint(&data.to[i], "/8:w");
		copy_string();
		assert_int_equal(take_samples(sampler, &data.to[i], ip), 1);
		assert_true(ip[0] == (uintptr_t)copy_at || ip[0] == (uintptr_t)copy_end);
	}
}

static void a_call_is_before_the_ip_in_time_only(void **state)
{
	long *top = &data.stack[60];
	struct perch_sampler *sampler = open_breakpoint(top - 1, "/8:w");
	uint64_t ip[MOST];

	(void)state;
	call_on_stack(top);
	assert_int_equal(take_samples(sampler, top - 1, ip), 1);
	assert_int_equal(ip[0], (uintptr_t)called);
	assert_int_equal(data.stack[59], (uintptr_t)call_end);
}

static void an_executed_instruction_is_at_the_ip(void **state)
{
	struct perch_sampler *sampler = open_breakpoint(write_at, ":x");
	uint64_t ip[MOST];

	(void)state;
	write_once();
	assert_int_equal(take_samples(sampler, write_at, ip), 1);
	assert_int_equal(ip[0], (uintptr_t)write_at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_is_before_the_ip),
		cmocka_unit_test(a_read_is_before_the_ip),
		cmocka_unit_test(a_string_instruction_is_before_the_ip_or_at_it),
		cmocka_unit_test(a_call_is_before_the_ip_in_time_only),
		cmocka_unit_test(an_executed_instruction_is_at_the_ip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	printf("skipped: the labels are in assembler code of x86_64\n");
	return 77;
}

#endif
