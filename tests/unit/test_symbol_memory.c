/* SPDX-License-Identifier: MIT */
/* Debug information of this program without memory: every allocation may fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <perch/symbol.h>

#include "base/files/elf.h"
#include "failing_allocations.h"

enum { MAX_ALLOCATIONS = 1 << 20 };

/* ---- an allocator that fails ---- */

static long left = -1; /* allocations before the first one that fails; negative: none does */

/* After the first one, all fail. */
static bool fails(void)
{
	if (left) {
		left -= left > 0;
		return false;
	}
	errno = ENOMEM;
	return true;
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return fails() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

/* ---- a function of this program ---- */

static volatile int calls;

static inline __attribute__((always_inline)) void inlined_function(void)
{
	calls++;
}

__attribute__((noinline)) static void outer_function(void)
{
	inlined_function();
}

/* Stores the file offset of an address of the program, which is the first object. */
static int find_offset(struct dl_phdr_info *object, size_t size, void *data)
{
	uint64_t *address = data, at = *address - object->dlpi_addr;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && at - segment->p_vaddr < segment->p_filesz)
			*address = at - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

/* ---- the test ---- */

static bool has_inlined(struct perch_symbols *symbols, const struct perch_symbol_frame *frame,
			int nr)
{
	return nr == 2 && frame[0].symbol && frame[0].file && frame[0].line &&
	       !strcmp(perch_symbols_name(symbols, frame[0].symbol), "inlined_function");
}

/* Looks for the inlined function. Returns 1: found; 0: not; or -ENOMEM. */
static int look_up(const struct perch_dso *dso, uint64_t from, long nr_allocations)
{
	const struct perch_symbol_frame *frame;
	struct perch_symbols *symbols;
	int nr = 0, found = 0;

	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	left = nr_allocations;
	for (uint64_t i = 0; i < 64 && !found && nr >= 0; i++) {
		nr = perch_symbols_frames(symbols, dso, from + i, &frame);
		found = has_inlined(symbols, frame, nr);
	}
	left = -1;
	perch_symbols_free(symbols);
	return nr < 0 ? nr : found;
}

/* A lack of memory is not taken for damage. */
static void reports_a_lack_of_memory(void **state)
{
	char path[] = "/proc/self/exe", *file = realpath(path, NULL);
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = file };
	uint64_t offset = (uintptr_t)outer_function;
	unsigned without_memory = 0;
	long nr = 0;

	(void)state;
	dl_iterate_phdr(find_offset, &offset);
	assert_int_equal(look_up(&dso, offset, -1), 1);
	while (nr < MAX_ALLOCATIONS) {
		int found = look_up(&dso, offset, nr);

		if (found == 1)
			break;
		without_memory += found == -ENOMEM;
		nr += 1 + nr / 32;
	}
	assert_true(nr < MAX_ALLOCATIONS);
	assert_true(without_memory > 10);
	free(file);
}

/* What a failed call had allocated is freed, and a later call reads the sections. */
static void sections_without_memory(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), rc = -ENOMEM;
	struct perch__elf elf;

	(void)state;
	for (long nr = 0; rc; nr++) {
		assert_int_equal(perch__elf_init_file(&elf, fd), 0);
		left = nr;
		rc = perch__elf_read_sections(&elf);
		left = -1;
		assert_true(!rc || (rc == -ENOMEM && !elf.names && !elf.section));
		assert_int_equal(perch__elf_read_sections(&elf), 0);
		assert_true(perch__elf_find_section(&elf, ".text"));
		perch__elf_clear(&elf);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_a_lack_of_memory),
		cmocka_unit_test(sections_without_memory),
	};

	outer_function();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
