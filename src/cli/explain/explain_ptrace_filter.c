/* SPDX-License-Identifier: MIT */
/*
 * The filters of the watched program. Where they decide by the call's number alone, the kernel
 * (5.11 and later) works the answer out once and never runs them for that number again: so they
 * look at arguments only for the few calls of interest.
 */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "explain_ptrace.h"
#include "options.h"

#if defined(__x86_64__)
#define X32 0x40000000u
#endif

/* ABIs of one architecture stand together, the commonest first. */
static const struct tracee_abi abis[] = {
#if defined(__x86_64__)
	{ AUDIT_ARCH_X86_64, false, 0, 298, 16, 9, 0, 317, 157, 3, 11 },
	{ AUDIT_ARCH_X86_64, true, 0, X32 + 298, X32 + 514, X32 + 9, X32 + 0, X32 + 317, X32 + 157,
	  X32 + 3, X32 + 11 },
	{ AUDIT_ARCH_I386, true, 12, 336, 54, 192, 3, 354, 172, 6, 91 },
#elif defined(__aarch64__)
	{ AUDIT_ARCH_AARCH64, false, 0, 241, 29, 222, 63, 277, 167, 57, 215 },
	{ AUDIT_ARCH_ARM, true, 12, 364, 54, 192, 3, 383, 172, 6, 91 },
#elif defined(__i386__)
	{ AUDIT_ARCH_I386, true, 12, 336, 54, 192, 3, 354, 172, 6, 91 },
#elif defined(__arm__)
	{ AUDIT_ARCH_ARM, true, 12, 364, 54, 192, 3, 383, 172, 6, 91 },
#elif defined(__riscv) && __riscv_xlen == 64
	{ AUDIT_ARCH_RISCV64, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap },
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	{ AUDIT_ARCH_PPC64LE, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap },
#elif defined(__powerpc64__)
	{ AUDIT_ARCH_PPC64, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap },
#elif defined(__s390x__)
	/* mmap has its arguments in memory there, where a filter cannot look: a number that no call
	   has */
	{ AUDIT_ARCH_S390X, false, 0, SYS_perf_event_open, SYS_ioctl, 0x3fffffff, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap },
#else
#error "the numbers of system calls on this architecture are needed here"
#endif
};

const struct tracee_abi *tracee_find_abi(uint32_t arch, uint64_t number)
{
	for (size_t i = 0; i < CLI_NR(abis); i++) {
		if (abis[i].arch != arch)
			continue;
		/* x32 shares its architecture with x86_64: a bit of the number tells them apart */
		if ((abis[i].open & 0x40000000) == (number & 0x40000000))
			return &abis[i];
	}
	return NULL;
}

static void add(struct tracer_filter *filter, struct sock_filter instruction)
{
	filter->code[filter->length++] = instruction;
}

static void load(struct tracer_filter *filter, size_t offset)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* The lower half of an argument: where it lies depends on the order of bytes. */
static void load_argument(struct tracer_filter *filter, unsigned argument)
{
	const size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

	load(filter, offsetof(struct seccomp_data, args) + argument * 8 + low);
}

/* Goes over the next instructions unless the accumulator has the value. */
static void unless_equal_skip(struct tracer_filter *filter, uint32_t value, uint8_t instructions)
{
	add(filter,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, instructions));
}

static void answer(struct tracer_filter *filter, uint32_t action)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Stops the call of that number, or of one whose argument is the value below the mask. */
static void stop_always(struct tracer_filter *filter, uint32_t number)
{
	unless_equal_skip(filter, number, 1);
	answer(filter, SECCOMP_RET_TRACE);
}

static void stop_when(struct tracer_filter *filter, uint32_t number, unsigned argument,
		      uint32_t mask, uint32_t value)
{
	unless_equal_skip(filter, number, 5);
	load_argument(filter, argument);
	add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
	unless_equal_skip(filter, value, 1);
	answer(filter, SECCOMP_RET_TRACE);
	answer(filter, SECCOMP_RET_ALLOW);
}

static void stop_within(struct tracer_filter *filter, uint32_t number, unsigned argument,
			uint32_t low, uint32_t high)
{
	unless_equal_skip(filter, number, 5);
	load_argument(filter, argument);
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, 2));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, high, 1, 0));
	answer(filter, SECCOMP_RET_TRACE);
	answer(filter, SECCOMP_RET_ALLOW);
}

static void calls_of(struct tracer_filter *filter, const struct tracee_abi *abi)
{
	stop_always(filter, abi->open);
	stop_when(filter, abi->control, 1, 0xff00, '$' << 8);
	stop_when(filter, abi->option, 0, ~0u, PR_SET_SECCOMP);
	stop_when(filter, abi->confine, 0, ~0u, SECCOMP_SET_MODE_FILTER);
}

static void descriptors_of(struct tracer_filter *filter, const struct tracee_abi *abi, uint32_t low,
			   uint32_t high)
{
	stop_within(filter, abi->read, 0, low, high);
	stop_within(filter, abi->map, 4, low, high);
}

/* Both filters: for each architecture the numbers of its ABIs. high 0: the calls; else the
 * descriptors. */
static void build(struct tracer_filter *filter, uint32_t low, uint32_t high)
{
	filter->length = 0;
	load(filter, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < CLI_NR(abis);) {
		unsigned short start = filter->length;
		uint32_t arch = abis[i].arch;

		unless_equal_skip(filter, arch, 0);
		load(filter, offsetof(struct seccomp_data, nr));
		for (; i < CLI_NR(abis) && abis[i].arch == arch; i++) {
			if (high)
				descriptors_of(filter, &abis[i], low, high);
			else
				calls_of(filter, &abis[i]);
		}
		answer(filter, SECCOMP_RET_ALLOW);
		filter->code[start].jf = filter->length - start - 1;
	}
	answer(filter, SECCOMP_RET_ALLOW);
}

void tracer_filter_syscalls(struct tracer_filter *filter)
{
	build(filter, 0, 0);
}

void tracer_filter_descriptors(struct tracer_filter *filter, uint32_t low, uint32_t high)
{
	build(filter, low, high ? high : 1);
}
