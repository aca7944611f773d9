/* SPDX-License-Identifier: MIT */
/*
 * The input is an ELF file with unwinding rules. Its last bytes are also the registers and the
 * stack: each is an address in the file or in the stack.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/unwind.h>

enum { MAP = 0x400000, STACK = 0x7ff000, WORDS = 64, REGISTERS = 33, MAX = 40, STARTS = 50 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* One byte chooses an address. */
static uint64_t address_of(uint8_t byte, size_t size)
{
	return byte & 1 ? STACK + 4u * (byte & ~1u) : MAP + byte * (uint64_t)size / 256;
}

struct input {
	uint64_t registers[REGISTERS], stack[WORDS];
	struct perch_parse_info parse_info;
	struct perch_record record;
};

static void fill(struct input *input, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < REGISTERS; i++)
		input->registers[i] = address_of(size > i ? bytes[size - 1 - i] : 0, size);
	for (size_t i = 0; i < WORDS; i++)
		input->stack[i] = address_of(
			size > REGISTERS + i ? bytes[size - 1 - REGISTERS - i] : 0, size);
	input->record = (struct perch_record){
		.type = PERCH_RECORD_SAMPLE,
		.parse_info = &input->parse_info,
		.sample = { .regs_user = { .abi = PERCH_SAMPLE_REGS_ABI_64,
					   .mask = (1ull << REGISTERS) - 1,
					   .nr = REGISTERS,
					   .value = input->registers },
			    .stack_user = { .size = sizeof(input->stack),
					    .dynamic_size = sizeof(input->stack),
					    .data = input->stack } },
	};
}

static void map(struct perch_processes *processes, const char *path, size_t size)
{
	const struct perch_record record = {
		.type = PERCH_RECORD_MMAP2,
		.misc = PERCH_MISC_USER,
		.mmap = { .pid = 1,
			  .tid = 1,
			  .start = MAP,
			  .length = size + 4096,
			  .filename = { path, strlen(path) } },
	};

	if (perch_processes_apply(processes, &record))
		abort();
}

static void unwind_all(const char *path, const uint8_t *bytes, size_t size, enum perch_arch arch,
		       unsigned pc, unsigned sp)
{
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_unwinder *unwinder;
	struct perch_unwind_result result;
	struct perch_thread *thread;
	struct input input = { 0 };
	uint64_t ips[MAX];

	if (perch_processes_new(&processes, NULL) || perch_symbols_new(&symbols, NULL, NULL) ||
	    perch_unwinder_new(&unwinder, arch, processes, symbols, NULL))
		abort();
	map(processes, path, size);
	thread = perch_processes_thread(processes, 1, 1);
	fill(&input, bytes, size);
	input.registers[sp] = STACK;
	for (size_t i = 0; i < STARTS; i++) {
		input.registers[pc] = MAP + i * size / STARTS;
		if (perch_unwind(unwinder, thread, &input.record, ips, MAX, &result) ||
		    !result.nr || result.nr > MAX || ips[0] != input.registers[pc])
			abort();
	}
	perch_unwinder_free(unwinder);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unwind_all(path, bytes, size, PERCH_ARCH_X86, 8, 7);
	unwind_all(path, bytes, size, PERCH_ARCH_ARM64, 32, 31);
	close(fd);
	return 0;
}
