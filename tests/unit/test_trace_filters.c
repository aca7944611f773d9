/* SPDX-License-Identifier: MIT */
/* Whether a seccomp filter of a traced program may refuse a system call that perch traces. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <cmocka.h>

#include "trace/ptrace.h"

#define STMT(code, k)	      BPF_STMT(code, k)
#define JUMP(test, k, jt, jf) BPF_JUMP(BPF_JMP | (test) | BPF_K, k, jt, jf)
#define LOAD(member)	      STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(action)	      STMT(BPF_RET | BPF_K, action)
#define ALLOW		      RETURN(SECCOMP_RET_ALLOW)
#define REFUSE		      RETURN(SECCOMP_RET_ERRNO | EPERM)
#define LITTLE		      (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define LOW(argument)	      STMT(BPF_LD | BPF_W | BPF_ABS, argument_offset(argument, !LITTLE))
#define HIGH(argument)	      STMT(BPF_LD | BPF_W | BPF_ABS, argument_offset(argument, LITTLE))
#define UNUSED		      0x3ffffff0 /* no system call */

#define MAY_REFUSE(...)                                                  \
	may_refuse((const struct sock_filter[]){ __VA_ARGS__ },          \
		   sizeof((const struct sock_filter[]){ __VA_ARGS__ }) / \
			   sizeof(struct sock_filter))

static const struct tracee_abi abi = {
	.arch = 77,
	.perf_event_open = 1,
	.ioctl = 2,
	.mmap = 3,
	.read = 4,
	.seccomp = 5,
	.prctl = 6,
	.readv = 9,
};

static uint32_t argument_offset(unsigned argument, unsigned half)
{
	return offsetof(struct seccomp_data, args) + argument * 8 + half * 4;
}

static bool may_refuse(const struct sock_filter *code, unsigned length)
{
	const struct tracer_filter_program program = { code, length };

	return tracer_filter_may_refuse(&program, &abi);
}

static void evaluates_each_action(void **state)
{
	static const uint32_t refusals[] = {
		SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,   SECCOMP_RET_TRAP,
		SECCOMP_RET_ERRNO,	  SECCOMP_RET_ERRNO | EPERM, 0x7fc00000 /* USER_NOTIF */,
	};
	static const uint32_t others[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_LOG,
					   SECCOMP_RET_TRACE | 5 };

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		assert_true(MAY_REFUSE(RETURN(refusals[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(MAY_REFUSE(RETURN(others[i])));
	assert_false(
		MAY_REFUSE(STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), STMT(BPF_RET | BPF_A, 0)));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_IMM, 0), STMT(BPF_RET | BPF_A, 0)));
	assert_true(MAY_REFUSE(HIGH(5), STMT(BPF_RET | BPF_A, 0)));
}

static void finds_each_traced_system_call(void **state)
{
	(void)state;
	for (uint32_t number = 0; number < 12; number++) {
		const bool is_traced = (number >= 1 && number <= 6) || number == 9;

		assert_int_equal(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, number, 0, 1), REFUSE, ALLOW),
				 is_traced);
		assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, number, 0, 1), ALLOW, REFUSE));
	}
	/* only the architecture of the program counts */
	assert_false(MAY_REFUSE(LOAD(arch), JUMP(BPF_JEQ, 77, 1, 0), REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(arch), JUMP(BPF_JEQ, 78, 1, 0), REFUSE, ALLOW));
}

static void uses_arguments_of_events(void **state)
{
	(void)state;
	/* an ioctl of terminals, TIOCSTI, is none of events */
	assert_false(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 2, 0, 3), LOW(1),
				JUMP(BPF_JEQ, 0x5412, 0, 1), REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 2, 0, 3), LOW(1),
			       JUMP(BPF_JEQ, 0x2400, 0, 1), REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 2, 0, 4), LOW(1),
			       STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00), JUMP(BPF_JEQ, 0x2400, 0, 1),
			       REFUSE, ALLOW));
	/* executable memory */
	assert_false(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 3, 0, 3), LOW(2),
				JUMP(BPF_JSET, PROT_EXEC, 0, 1), REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 3, 0, 3), LOW(2),
			       JUMP(BPF_JSET, PROT_WRITE, 0, 1), REFUSE, ALLOW));
	/* the upper half is 0; the descriptor is unknown, so that both ways are taken */
	assert_false(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 2, 0, 3), HIGH(1), JUMP(BPF_JEQ, 0, 1, 0),
				REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 2, 0, 3), LOW(0), JUMP(BPF_JEQ, 3, 1, 0),
			       ALLOW, REFUSE, ALLOW));
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JEQ, 4, 0, 3), LOW(0), JUMP(BPF_JEQ, 3, 0, 1),
			       REFUSE, ALLOW));
}

/* Each calculates 12 and then allows that value only. */
static void calculates_as_the_kernel_does(void **state)
{
	static const struct {
		uint16_t operation;
		uint32_t a, b;
	} cases[] = {
		{ BPF_ADD, 5, 7 },
		{ BPF_ADD, 0xfffffffc, 16 },
		{ BPF_SUB, 5, 0xfffffff9 },
		{ BPF_MUL, 3, 4 },
		{ BPF_OR, 8, 4 },
		{ BPF_AND, 0x1c, 0xe },
		{ BPF_XOR, 0xf0f, 0xf03 },
		{ BPF_LSH, 3, 2 },
		{ BPF_RSH, 0xc0000000, 28 },
		{ BPF_NEG, 0xfffffff4, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_false(MAY_REFUSE(STMT(BPF_LD | BPF_IMM, cases[i].a),
					STMT(BPF_ALU | BPF_K | cases[i].operation, cases[i].b),
					JUMP(BPF_JEQ, 12, 1, 0), REFUSE, ALLOW));
		assert_false(
			MAY_REFUSE(STMT(BPF_LD | BPF_IMM, cases[i].b), STMT(BPF_MISC | BPF_TAX, 0),
				   STMT(BPF_LD | BPF_IMM, cases[i].a),
				   STMT(BPF_ALU | BPF_X | cases[i].operation, 0), STMT(BPF_ST, 15),
				   STMT(BPF_LDX | BPF_MEM, 15), STMT(BPF_MISC | BPF_TXA, 0),
				   JUMP(BPF_JEQ, 12, 1, 0), REFUSE, ALLOW));
	}
	assert_false(MAY_REFUSE(STMT(BPF_LD | BPF_W | BPF_LEN, 0),
				JUMP(BPF_JEQ, sizeof(struct seccomp_data), 1, 0), REFUSE, ALLOW));
	for (uint32_t a = 2; a <= 4; a++) {
		assert_int_equal(MAY_REFUSE(STMT(BPF_LD | BPF_IMM, a), JUMP(BPF_JGT, 3, 0, 1),
					    REFUSE, ALLOW),
				 a > 3);
		assert_int_equal(MAY_REFUSE(STMT(BPF_LD | BPF_IMM, a), JUMP(BPF_JGE, 3, 0, 1),
					    REFUSE, ALLOW),
				 a >= 3);
	}
}

/* A division has an unknown result; one by 0 ends the program. */
static void takes_no_division_for_harmless(void **state)
{
	(void)state;
	assert_false(
		MAY_REFUSE(STMT(BPF_LD | BPF_IMM, 9), STMT(BPF_ALU | BPF_DIV | BPF_K, 3), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_IMM, 9), STMT(BPF_ALU | BPF_DIV | BPF_K, 3),
			       JUMP(BPF_JEQ, 3, 0, 1), ALLOW, REFUSE));
	assert_false(
		MAY_REFUSE(STMT(BPF_LDX | BPF_IMM, 2), STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW));
	assert_true(
		MAY_REFUSE(STMT(BPF_LDX | BPF_IMM, 0), STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW));
	assert_true(MAY_REFUSE(LOW(5), STMT(BPF_MISC | BPF_TAX, 0),
			       STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW));
}

/* The program is untrusted: it may be anything until the kernel has checked it. */
static void survives_invalid_programs(void **state)
{
	struct sock_filter branches[4096];

	(void)state;
	assert_true(may_refuse(NULL, 0));
	assert_true(MAY_REFUSE(LOAD(nr)));
	assert_true(MAY_REFUSE(STMT(BPF_JMP | BPF_JA, 100), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_JMP | BPF_JA, 0xffffffff), ALLOW)); /* an endless loop */
	assert_true(MAY_REFUSE(LOAD(nr), JUMP(BPF_JGE, 0, 255, 255), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data)), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_W | BPF_ABS, 2), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_W | BPF_IND, 0), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_LD | BPF_MEM, 16), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_ST, 16), ALLOW));
	assert_true(MAY_REFUSE(STMT(BPF_STX, 0xffffffff), ALLOW));
	/* each jump depends on an unknown value: 2^4094 ways */
	branches[0] = (struct sock_filter)HIGH(5);
	for (size_t i = 1; i < 4095; i++)
		branches[i] = (struct sock_filter)JUMP(BPF_JEQ, i, 0, 0);
	branches[4095] = (struct sock_filter)ALLOW;
	assert_true(may_refuse(branches, 4096));
}

static void accepts_the_filters_of_perch(void **state)
{
	const struct tracee_range range = { 3, 10 };
	struct tracer_filter filter;

	(void)state;
	tracer_filter_syscalls(&filter);
	assert_true(filter.length <= sizeof(filter.code) / sizeof(*filter.code));
	assert_false(may_refuse(filter.code, filter.length));
	tracer_filter_descriptors(&filter, &range);
	assert_true(filter.length <= sizeof(filter.code) / sizeof(*filter.code));
	assert_false(may_refuse(filter.code, filter.length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluates_each_action),
		cmocka_unit_test(finds_each_traced_system_call),
		cmocka_unit_test(uses_arguments_of_events),
		cmocka_unit_test(calculates_as_the_kernel_does),
		cmocka_unit_test(takes_no_division_for_harmless),
		cmocka_unit_test(survives_invalid_programs),
		cmocka_unit_test(accepts_the_filters_of_perch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
