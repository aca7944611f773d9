/* SPDX-License-Identifier: MIT */
/*
 * Checks if a file can be the one that was mapped. Without a build id, that is what is left to
 * compare: the architecture of the file, and the segments that the kernel or the dynamic linker
 * mapped. The record of a mapping has offset and length of the code.
 */
#include "symbol/internal.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif
#ifndef EM_CSKY
#define EM_CSKY 252
#endif

/* The machines of an architecture: of programs, and of 32-bit programs. */
static bool is_of(uint16_t machine, enum perch_arch arch)
{
	static const struct {
		enum perch_arch arch;
		uint16_t machine[2];
	} machines[] = {
		{ PERCH_ARCH_X86, { EM_X86_64, EM_386 } },
		{ PERCH_ARCH_ARM, { EM_ARM, EM_ARM } },
		{ PERCH_ARCH_ARM64, { EM_AARCH64, EM_ARM } },
		{ PERCH_ARCH_RISCV, { EM_RISCV, EM_RISCV } },
		{ PERCH_ARCH_S390, { EM_S390, EM_S390 } },
		{ PERCH_ARCH_POWERPC, { EM_PPC64, EM_PPC } },
		{ PERCH_ARCH_LOONGARCH, { EM_LOONGARCH, EM_LOONGARCH } },
		{ PERCH_ARCH_MIPS, { EM_MIPS, EM_MIPS } },
		{ PERCH_ARCH_CSKY, { EM_CSKY, EM_CSKY } },
	};

	for (size_t i = 0; i < PERCH__NR(machines); i++)
		if (machines[i].arch == arch)
			return machine == machines[i].machine[0] ||
			       machine == machines[i].machine[1];
	return true;
}

/* The page size of the recorded machine, or more: a power of 2 that divides what was mapped. */
static uint64_t page_of(const struct elf_file *file, const struct perch_dso *dso)
{
	uint64_t bits = dso->code_map_start | dso->code_map_offset | dso->code_map_size | 1 << 16,
		 page;

	if (file->elf.machine == EM_X86_64 || file->elf.machine == EM_386)
		return 1 << 12;
	page = bits & -bits;
	return page < 1 << 12 ? 1 << 12 : page;
}

static uint64_t up(uint64_t value, uint64_t page)
{
	return value > UINT64_MAX - page ? UINT64_MAX : (value + page - 1) & ~(page - 1);
}

static uint64_t end_of(const struct perch__elf_segment *segment, uint64_t page)
{
	return segment->size > UINT64_MAX - segment->offset
		       ? UINT64_MAX
		       : up(segment->offset + segment->size, page);
}

/*
 * For the first segment, the kernel and the dynamic linker map as many bytes as all segments have
 * in memory, and map the others over them.
 */
static bool is_whole_image(const struct elf_file *file, const struct perch_dso *dso, uint64_t page)
{
	const struct perch__elf_segment *first = &file->elf.segment[0],
					*last = &file->elf.segment[file->elf.nr_loads - 1];
	uint64_t start = first->address & ~(page - 1);

	return dso->code_map_offset == (first->offset & ~(page - 1)) && last->address >= start &&
	       dso->code_map_size <= up(last->address - start + last->memory_size, page);
}

static bool is_code(const struct elf_file *file, size_t i)
{
	return file->elf.segment[i].flags & PF_X || file->elf.executable_data;
}

/* True if the executable segments have the pages. Segments that follow each other in memory may be
 * one line of /proc/PID/maps. */
static bool has_code(const struct elf_file *file, const struct perch_dso *dso)
{
	uint64_t at = dso->code_map_offset, end = at + dso->code_map_size,
		 page = page_of(file, dso);

	if (end < at)
		return false;
	for (size_t i = 0; i < file->elf.nr_loads && at < end; i++) {
		uint64_t first = file->elf.segment[i].offset & ~(page - 1);

		if (is_code(file, i) && first <= at && end_of(&file->elf.segment[i], page) > at)
			at = end_of(&file->elf.segment[i], page);
	}
	return at >= end || (is_code(file, 0) && is_whole_image(file, dso, page));
}

const char *perch__misfit(const struct elf_file *file, enum perch_arch arch,
			  const struct perch_dso *dso)
{
	if (!is_of(file->elf.machine, arch))
		return "is of another architecture";
	/* what was mapped is not known; or the file has no segments, as those of perf inject --jit
	 */
	if (!dso->code_map_size || !file->elf.nr_loads)
		return NULL;
	if (dso->code_map_start > UINT32_MAX && !file->elf.wide)
		return "is a 32-bit file";
	return has_code(file, dso) ? NULL : "has no code at the offset that was mapped";
}
