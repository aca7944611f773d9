/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of the kernel from its ELF file. The "kernel" is this program, which has a
 * symbol _text, and which the recording has at another address (KASLR).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/symbol.h>

#define RECORDED 0xffffffff9a000000ull

extern const char text_of_kernel[] __asm__("_text");
__asm__(".text\n.globl _text\n_text:\n");

static volatile int sink;
static const int called_line = __LINE__ + 1;
static __attribute__((noinline)) void called_in_kernel(void)
{
	sink++;
}

static char directory[] = "/tmp/perch-test-vmlinux-XXXXXX";
static struct perch_dso kernel;

/* The address in the recording. */
static uint64_t recorded(void)
{
	return RECORDED + ((uintptr_t)called_in_kernel - (uintptr_t)text_of_kernel);
}

static struct perch_symbols *new_symbols(const struct perch_symbols_options *options)
{
	struct perch_symbols *symbols;

	assert_int_equal(perch_symbols_new(&symbols, options, NULL), 0);
	return symbols;
}

static bool finds_name(struct perch_symbols *symbols)
{
	const struct perch_symbol *symbol = perch_symbols_find(symbols, &kernel, recorded());

	return symbol && !strcmp(symbol->name, "called_in_kernel");
}

static bool finds_line(struct perch_symbols *symbols)
{
	const struct perch_symbol_frame *frames;
	int nr = perch_symbols_frames(symbols, &kernel, recorded(), &frames);

	assert_true(nr > 0);
	if (!frames[nr - 1].line)
		return false;
	assert_in_range(frames[nr - 1].line, called_line, called_line + 2);
	assert_non_null(strstr(frames[nr - 1].file, "test_symbol_vmlinux.c"));
	return true;
}

/* Builds without debug information have no lines. */
static bool has_lines(void)
{
	const struct perch_symbols_options options = { .vmlinux = "/proc/self/exe" };
	struct perch_symbols *symbols = new_symbols(&options);
	bool found = finds_line(symbols);

	perch_symbols_free(symbols);
	return found;
}

static void check(const struct perch_symbols_options *options, bool name, bool line)
{
	struct perch_symbols *symbols = new_symbols(options);

	assert_int_equal(finds_line(symbols), line && has_lines());
	assert_int_equal(finds_name(symbols), name);
	perch_symbols_free(symbols);
}

static int set_up(void **state)
{
	int size = perch_build_id_of_file("/proc/self/exe", kernel.build_id, NULL);

	(void)state;
	kernel.kind = PERCH_DSO_KERNEL;
	kernel.path = "[kernel.kallsyms]";
	kernel.text_start = kernel.start = RECORDED;
	kernel.length = 0x1000000;
	kernel.build_id_size = size > 0 ? (uint8_t)size : 0;
	called_in_kernel();
	return !mkdtemp(directory) || setenv("HOME", directory, 1);
}

static int tear_down(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static void reads_the_file_of_the_user(void **state)
{
	const struct perch_symbols_options options = { .vmlinux = "/proc/self/exe" };
	struct perch_dso before = kernel;

	(void)state;
	check(&options, true, true);
	if (!has_lines())
		print_message("this build has no debug information\n");
	/* without its recorded address, the kernel has no names and lines */
	kernel.text_start = 0;
	check(&options, false, false);
	kernel = before;
	/* another kernel */
	if (kernel.build_id_size) {
		kernel.build_id[3] ^= 1;
		check(&options, false, false);
	}
	kernel = before;
}

/* Neither the file of the user nor one that is found by its build id. */
static void uses_no_file_if_asked(void **state)
{
	const struct perch_symbols_options options = { .vmlinux = "/proc/self/exe",
						       .no_vmlinux = true };

	(void)state;
	check(&options, false, false);
}

static void copy_program(const char *path)
{
	static char bytes[1 << 16];
	FILE *from = fopen("/proc/self/exe", "re"), *to = fopen(path, "we");
	size_t got;

	assert_non_null(from);
	assert_non_null(to);
	while ((got = fread(bytes, 1, sizeof(bytes), from)) > 0)
		assert_int_equal(fwrite(bytes, 1, got, to), got);
	fclose(from);
	fclose(to);
}

static void finds_the_file_by_build_id(void **state)
{
	const struct perch_symbols_options options = { .root = directory };
	char path[200];
	int length;

	(void)state;
	if (!kernel.build_id_size) {
		print_message("this build has no build id\n");
		skip();
	}
	check(&options, false, false);
	length = snprintf(path, sizeof(path), "%s", directory);
	for (const char *part = "/usr/lib/debug/.build-id/"; *part; part++) {
		if (*part == '/' && length > (int)strlen(directory))
			mkdir(path, 0700);
		path[length++] = *part;
		path[length] = 0;
	}
	length += sprintf(path + length, "%02x", kernel.build_id[0]);
	mkdir(path, 0700);
	path[length++] = '/';
	for (int i = 1; i < kernel.build_id_size; i++)
		length += sprintf(path + length, "%02x", kernel.build_id[i]);
	strcpy(path + length, ".debug");
	copy_program(path);
	check(&options, true, true);
	kernel.build_id[3] ^= 1;
	check(&options, false, false);
	kernel.build_id[3] ^= 1;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_file_of_the_user),
		cmocka_unit_test(uses_no_file_if_asked),
		cmocka_unit_test(finds_the_file_by_build_id),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
