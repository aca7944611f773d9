/* SPDX-License-Identifier: MIT */
/*
 * Samples functions that have frame pointers, with call chains, registers and copies of the stack.
 * The host unwinds the stacks with this program's file, see unwind_here.c. Lines for the host:
 *
 *	@ map START LENGTH OFFSET PATH		executable memory; numbers are hexadecimal
 *	@ vdso BYTES
 *	@ attr BYTES				see tests/data/recording.h
 *	@ record BYTES
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../kernel/live.h"
#include "guest.h"

/* STACK: the frame of a signal alone has 4.6 KiB */
enum { REGISTERS = 33, STACK = 7168, MAX_PRINTED = 100, DEPTH = 12 };

static volatile unsigned long sink;

/* A function without calls has a frame only if it needs one. */
__attribute__((noinline)) static void work_leaf(int n)
{
	volatile char *space = __builtin_alloca(16 + n % 16);

	for (int i = 0; i < n; i++)
		sink += i;
	space[0] = 1;
}

/* Its return address is in a register. */
__attribute__((noinline)) static void work_without_frame(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

/* Its frame is not in the call chain of the kernel. */
__attribute__((noinline)) static void work_around(void)
{
	work_without_frame(600);
	sink++;
}

__attribute__((noinline)) static int work_deep(int depth)
{
	volatile char space[40];
	int result;

	space[depth % 40] = 1;
	if (!depth) {
		work_leaf(3000);
		return 1;
	}
	result = work_deep(depth - 1) + space[depth % 40];
	sink += result;
	return result;
}

__attribute__((noinline)) static long work_many(long a, long b, long c, long d, long e, long f)
{
	long result;

	if (!f)
		return a;
	result = work_many(b, c, d, e, a + f, f - 1);
	for (int i = 0; i < 20; i++)
		sink += result * a + b;
	return result + c * d + e;
}

static void work_handler(int number)
{
	(void)number;
	work_leaf(10000);
	sink++;
}

__attribute__((noinline)) static void work_interrupted(void)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	sink++;
}

__attribute__((noinline)) static void work_all(void)
{
	for (int i = 0; i < 100; i++) {
		work_deep(i % DEPTH);
		work_many(1, 2, 3, 4, 5, i % DEPTH);
		work_around();
		if (i % 10 == 0)
			work_interrupted();
	}
	sink++;
}

static void print_bytes(const char *before, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	char *line = malloc(strlen(before) + 2 * size + 2), *to;

	CHECK(line, "no memory");
	to = line + sprintf(line, "%s", before);
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, "%02x", at[i]);
	puts(line);
	fflush(stdout);
	free(line);
}

static void print_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512], path[256], access[8];
	uint64_t start, end, offset;

	CHECK(file, "no /proc/self/maps");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255s", &start,
			   &end, access, &offset, path) != 5 ||
		    access[2] != 'x')
			continue;
		printf("@ map %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", start, end - start, offset,
		       path);
		if (!strcmp(path, "[vdso]"))
			print_bytes("@ vdso ", (const void *)(uintptr_t)start, end - start);
	}
	fclose(file);
}

static void print_samples(const struct live *live)
{
	const struct perch_record *record = NULL;

	print_bytes("@ attr ", &live->attr, live->attr.size);
	for (size_t i = 0; i < MAX_PRINTED; i++) {
		record = live_next(live, PERCH_RECORD_SAMPLE, record);
		if (!record)
			break;
		print_bytes("@ record ", record->bytes, record->size);
	}
}

static void stacks_for_the_host(void)
{
	struct perch_attr attr =
		live_sampling(PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_CPU_CYCLES,
			      PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER |
				      PERCH_SAMPLE_STACK_USER);
	struct perch_error err;
	struct live live;

	signal(SIGUSR1, work_handler);
	attr.sample_period = 20011;
	attr.exclude_kernel = 1;
	attr.sample_regs_user = (UINT64_C(1) << REGISTERS) - 1;
	attr.sample_stack_user = STACK;
	CHECK_OK(live_open(&live, &attr, &perch_self, 1024, &err), &err);
	CHECK(!live_enable(&live), "");
	work_all();
	CHECK(!live_disable(&live), "");
	CHECK_OK(live_take(&live, &err), &err);
	guest_note("%zu samples", live_count(&live, PERCH_RECORD_SAMPLE));
	CHECK(live_count(&live, PERCH_RECORD_SAMPLE) >= 80, "%zu", live.nr);
	print_maps();
	print_samples(&live);
	live_close(&live);
}

const struct guest_test guest_unwind[] = {
	{ .name = "samples with stacks, for the host", .run = stacks_for_the_host },
	{ 0 },
};
