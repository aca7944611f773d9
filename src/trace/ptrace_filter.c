/* SPDX-License-Identifier: MIT */
/*
 * Numbers of system calls, and the seccomp filters of the traced program. The kernel (5.11 and
 * later) caches the result of a filter for a system call number if no argument is read. The filters
 * read arguments only of the few relevant system calls.
 */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ptrace.h"

#if defined(__x86_64__)
#define X32 0x40000000u
#endif

/* ABIs of one architecture are adjacent, the most common first. */
static const struct tracee_abi abis[] = {
#if defined(__x86_64__)
	{ AUDIT_ARCH_X86_64, false, 0, 298, 16, 9, 0, 317, 157, 3, 11, 19, 101 },
	{ AUDIT_ARCH_X86_64, true, 0, X32 + 298, X32 + 514, X32 + 9, X32 + 0, X32 + 317, X32 + 157,
	  X32 + 3, X32 + 11, X32 + 515, X32 + 521 },
	{ AUDIT_ARCH_I386, true, 12, 336, 54, 192, 3, 354, 172, 6, 91, 145, 26 },
#elif defined(__aarch64__)
	{ AUDIT_ARCH_AARCH64, false, 0, 241, 29, 222, 63, 277, 167, 57, 215, 65, 117 },
	{ AUDIT_ARCH_ARM, true, 12, 364, 54, 192, 3, 383, 172, 6, 91, 145, 26 },
#elif defined(__i386__)
	{ AUDIT_ARCH_I386, true, 12, 336, 54, 192, 3, 354, 172, 6, 91, 145, 26 },
#elif defined(__arm__)
	{ AUDIT_ARCH_ARM, true, 12, 364, 54, 192, 3, 383, 172, 6, 91, 145, 26 },
#elif defined(__riscv) && __riscv_xlen == 64
	{ AUDIT_ARCH_RISCV64, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap, SYS_readv, SYS_ptrace },
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	{ AUDIT_ARCH_PPC64LE, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap, SYS_readv, SYS_ptrace },
#elif defined(__powerpc64__)
	{ AUDIT_ARCH_PPC64, false, 0, SYS_perf_event_open, SYS_ioctl, SYS_mmap, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap, SYS_readv, SYS_ptrace },
#elif defined(__s390x__)
	/* mmap passes its arguments in memory, which a filter cannot read: an unused number */
	{ AUDIT_ARCH_S390X, false, 0, SYS_perf_event_open, SYS_ioctl, 0x3fffffff, SYS_read,
	  SYS_seccomp, SYS_prctl, SYS_close, SYS_munmap, SYS_readv, SYS_ptrace },
#else
#error "add the system call numbers of this architecture"
#endif
};

const struct tracee_abi *tracee_find_abi(uint32_t arch, uint64_t number)
{
	for (size_t i = 0; i < TRACE_NR(abis); i++) {
		if (abis[i].arch != arch)
			continue;
		/* x32 and x86_64 have the same arch; x32 numbers have bit 30 set */
		if ((abis[i].perf_event_open & 0x40000000) == (number & 0x40000000))
			return &abis[i];
	}
	return NULL;
}

static void add_instruction(struct tracer_filter *filter, struct sock_filter instruction)
{
	filter->code[filter->length++] = instruction;
}

static void load_word(struct tracer_filter *filter, size_t offset)
{
	add_instruction(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* Loads the lower half of an argument; its offset depends on the byte order. */
static void load_argument(struct tracer_filter *filter, unsigned argument)
{
	const size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

	load_word(filter, offsetof(struct seccomp_data, args) + argument * 8 + low);
}

/* Skips the next instructions unless the accumulator has the value. */
static void skip_unless_equal(struct tracer_filter *filter, uint32_t value, uint8_t instructions)
{
	add_instruction(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0,
							     instructions));
}

static void add_return(struct tracer_filter *filter, uint32_t action)
{
	add_instruction(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void add_stop(struct tracer_filter *filter)
{
	add_return(filter, SECCOMP_RET_TRACE | TRACER_FILTER_DATA);
}

/* Stops the system call with this number. */
static void stop_always(struct tracer_filter *filter, uint32_t number)
{
	skip_unless_equal(filter, number, 1);
	add_stop(filter);
}

/* Stops it if its argument, masked, has the value. */
static void stop_if_argument(struct tracer_filter *filter, uint32_t number, unsigned argument,
			     uint32_t mask, uint32_t value)
{
	skip_unless_equal(filter, number, 5);
	load_argument(filter, argument);
	add_instruction(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
	skip_unless_equal(filter, value, 1);
	add_stop(filter);
	add_return(filter, SECCOMP_RET_ALLOW);
}

/* Stops it if its argument is in the range. */
static void stop_if_within(struct tracer_filter *filter, uint32_t number, unsigned argument,
			   const struct tracee_range *range)
{
	skip_unless_equal(filter, number, 5);
	load_argument(filter, argument);
	add_instruction(filter,
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, range->low, 0, 2));
	add_instruction(filter,
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, range->high, 1, 0));
	add_stop(filter);
	add_return(filter, SECCOMP_RET_ALLOW);
}

/* Allows the system call if one of the bits of its argument is set. */
static void allow_if_set(struct tracer_filter *filter, uint32_t number, unsigned argument,
			 uint32_t bits)
{
	skip_unless_equal(filter, number, 4);
	load_argument(filter, argument);
	add_instruction(filter,
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
	add_return(filter, SECCOMP_RET_ALLOW);
	load_word(filter, offsetof(struct seccomp_data, nr));
}

static void add_syscalls(struct tracer_filter *filter, const struct tracee_abi *abi)
{
	stop_always(filter, abi->perf_event_open);
	stop_if_argument(filter, abi->ioctl, 1, 0xff00, '$' << 8);
	stop_if_argument(filter, abi->prctl, 0, ~0u, PR_SET_SECCOMP);
	/* SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER */
	stop_if_argument(filter, abi->seccomp, 0, ~1u, SECCOMP_SET_MODE_STRICT);
	stop_always(filter, abi->ptrace);
}

static void add_descriptors(struct tracer_filter *filter, const struct tracee_abi *abi,
			    const struct tracee_range *range)
{
	stop_if_within(filter, abi->read, 0, range);
	stop_if_within(filter, abi->readv, 0, range);
	if (range->high > INT32_MAX) /* other mappings have a descriptor of -1 */
		allow_if_set(filter, abi->mmap, 3, MAP_ANONYMOUS);
	stop_if_within(filter, abi->mmap, 4, range);
}

/* Builds a filter for every ABI: of the system calls if range is NULL, else of descriptors. */
static void build_filter(struct tracer_filter *filter, const struct tracee_range *range)
{
	filter->length = 0;
	load_word(filter, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < TRACE_NR(abis);) {
		unsigned short start = filter->length;
		uint32_t arch = abis[i].arch;

		skip_unless_equal(filter, arch, 0);
		load_word(filter, offsetof(struct seccomp_data, nr));
		for (; i < TRACE_NR(abis) && abis[i].arch == arch; i++) {
			if (range)
				add_descriptors(filter, &abis[i], range);
			else
				add_syscalls(filter, &abis[i]);
		}
		add_return(filter, SECCOMP_RET_ALLOW);
		filter->code[start].jf = filter->length - start - 1;
	}
	add_return(filter, SECCOMP_RET_ALLOW);
}

void tracer_filter_syscalls(struct tracer_filter *filter)
{
	build_filter(filter, NULL);
}

void tracer_filter_descriptors(struct tracer_filter *filter, const struct tracee_range *range)
{
	build_filter(filter, range);
}
