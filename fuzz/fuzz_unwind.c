/* SPDX-License-Identifier: MIT */
/*
 * The input is an ELF file with unwinding rules. Its last bytes are also the registers and the
 * stack: each is an address in the file or in the stack. The input is also the separate debug file
 * of a copy whose sections of rules have other names, if its build id is abcd.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/unwind.h>

enum { MAP = 0x400000, STACK = 0x7ff000, WORDS = 64, REGISTERS = 33, MAX = 40, STARTS = 50 };

enum { INPUT_FD = 900, COPY_FD };

static char home[] = "/tmp/perch-fuzz-XXXXXX";

int LLVMFuzzerInitialize(int *argc, char ***argv);
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

static void map(struct perch_processes *processes, const char *path, size_t size, bool copy)
{
	const struct perch_record record = {
		.type = PERCH_RECORD_MMAP2,
		.misc = PERCH_MISC_USER | (copy ? PERCH_MISC_MMAP_BUILD_ID : 0),
		.mmap = { .pid = 1,
			  .tid = 1,
			  .start = MAP,
			  .length = size + 4096,
			  .build_id_size = copy ? 2 : 0,
			  .build_id = { 0xab, 0xcd },
			  .filename = { path, strlen(path) } },
	};

	if (perch_processes_apply(processes, &record))
		abort();
}

static void unwind_all(bool copy, const uint8_t *bytes, size_t size, enum perch_arch arch,
		       unsigned pc, unsigned sp)
{
	char path[64];
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
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy ? COPY_FD : INPUT_FD);
	map(processes, path, size, copy);
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

/* A file with these bytes, at a descriptor of always the same number. */
static void open_file(const void *bytes, size_t size, int fd)
{
	int file = memfd_create("fuzz", MFD_CLOEXEC);

	if (file < 0 || write(file, bytes, size) != (ssize_t)size || dup2(file, fd) != fd)
		abort();
	close(file);
}

/* The names of .eh_frame and .debug_frame end in another letter. */
static void open_copy(const uint8_t *bytes, size_t size)
{
	static const char name[] = "_frame";
	uint8_t *copy = malloc(size + 1), *at = copy;

	if (!copy)
		abort();
	memcpy(copy, bytes, size);
	while ((at = memmem(at, size - (size_t)(at - copy), name, sizeof(name) - 1)))
		at[sizeof(name) - 2] = 'x';
	open_file(copy, size, COPY_FD);
	free(copy);
}

static void remove_home(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", home);
	if (system(command))
		fprintf(stderr, "cannot remove %s\n", home);
}

/* The build id cache leads to the input. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const parts[] = { "/.debug", "/.build-id", "/ab", "/cd" };
	char path[256], file[64];

	(void)argc, (void)argv;
	if (!mkdtemp(home))
		abort();
	strcpy(path, home);
	for (size_t i = 0; i < 4; i++) {
		strcat(path, parts[i]);
		if (mkdir(path, 0700))
			abort();
	}
	strcat(path, "/debug");
	snprintf(file, sizeof(file), "/proc/self/fd/%d", INPUT_FD);
	if (symlink(file, path))
		abort();
	setenv("HOME", home, 1);
	return atexit(remove_home);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	open_file(bytes, size, INPUT_FD);
	open_copy(bytes, size);
	for (int copy = 0; copy < 2; copy++) {
		unwind_all(copy, bytes, size, PERCH_ARCH_X86, 8, 7);
		unwind_all(copy, bytes, size, PERCH_ARCH_ARM64, 32, 31);
	}
	close(INPUT_FD);
	close(COPY_FD);
	return 0;
}
