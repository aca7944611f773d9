/* SPDX-License-Identifier: MIT */
/*
 * Compares the rules that the unwinder reads from .eh_frame with those of libdw, for each row of
 * the functions of files.
 *
 *   same_rules FILE...
 *
 * Prints the first differences, and "N rows, M differ". Fails if there are any, or no rows.
 */
#include <dwarf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <elfutils/libdw.h>

#include "unwind/internal.h"

enum { MOST_ROWS = 200 /* of a function */ };

static uint64_t rows, differences;

/* "CFA plus offset", the place or the value of a register. */
static bool same_sum(const Dwarf_Op *ops, size_t nr, const struct cfi_rule *rule)
{
	bool is_value = nr && ops[nr - 1].atom == DW_OP_stack_value;
	uint64_t offset = nr > 1 && ops[1].atom == DW_OP_plus_uconst ? ops[1].number : 0;

	return nr && ops[0].atom == DW_OP_call_frame_cfa && offset == (uint64_t)rule->offset &&
	       is_value == (rule->kind == CFI_SUM);
}

static bool same_register(Dwarf_Frame *frame, int number, const struct cfi_rule *rule,
			  const struct architecture *architecture)
{
	bool is_cfa = number == architecture->sp && rule->kind == CFI_SUM && !rule->offset;
	Dwarf_Op memory[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, number, memory, &ops, &nr))
		return false;
	/* libdw says that functions of x86-64 preserve rax, and not rbx */
	if (!nr && architecture->machine == EM_X86_64 && (number == 0 || number == 3))
		return rule->kind <= CFI_SAME;
	if (!nr)
		return is_cfa || rule->kind == (ops ? CFI_UNDEFINED : CFI_SAME);
	if (rule->kind == CFI_IN_STACK || rule->kind == CFI_SUM)
		return same_sum(ops, nr, rule);
	if (rule->kind == CFI_REGISTER)
		return nr == 1 &&
		       (ops->atom == DW_OP_regx ? ops->number == rule->number
						: ops->atom - DW_OP_reg0 == rule->number);
	return (ops[nr - 1].atom == DW_OP_stack_value) == (rule->kind == CFI_VALUE);
}

static bool same_cfa(Dwarf_Frame *frame, const struct cfi_rule *rule)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr))
		return rule->kind == CFI_UNDEFINED;
	if (rule->kind != CFI_SUM)
		return rule->kind == CFI_VALUE;
	if (nr != 1)
		return false;
	return ops->atom == DW_OP_bregx
		       ? ops->number == rule->number && ops->number2 == (uint64_t)rule->offset
		       : ops->atom - DW_OP_breg0 == rule->number &&
				 ops->number == (uint64_t)rule->offset;
}

/* Compares the row of an address. Returns where the next one begins, or 0. */
static uint64_t compare(const struct cfi *cfi, Dwarf_CFI *libdw,
			const struct architecture *architecture, uint64_t address)
{
	struct cfi_rules rules;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr end = 0;
	bool signal_frame = false, found = perch__cfi_find(cfi, architecture, address, &rules) == 1;
	bool same = !dwarf_cfi_addrframe(libdw, address, &frame) == found;

	if (found && same) {
		same = dwarf_frame_info(frame, NULL, &end, &signal_frame) ==
			       rules.return_register &&
		       end == rules.end && signal_frame == rules.signal_frame &&
		       same_cfa(frame, &rules.cfa);
		for (int i = 0; i < architecture->columns && same; i++)
			same = same_register(frame, i, &rules.of[i], architecture);
	}
	free(frame);
	rows++;
	if (!same && ++differences <= 3)
		printf("the rules at %" PRIx64 " differ\n", address);
	return found ? rules.end : 0;
}

/* Compares the rows of all functions that are listed. */
static void compare_all(const struct cfi *listed, struct cfi *found, Dwarf_CFI *libdw,
			const struct architecture *architecture)
{
	for (size_t i = 0; i < listed->nr; i++) {
		uint64_t next = i + 1 < listed->nr ? listed->function[i + 1].start : UINT64_MAX;
		uint64_t at = listed->function[i].start;

		for (int row = 0; at && at < next && row < MOST_ROWS; row++)
			at = compare(found, libdw, architecture, at);
	}
	perch__cfi_close(found);
}

static void compare_file(const struct perch__elf *elf, Dwarf_CFI *libdw,
			 const struct architecture *architecture)
{
	size_t section = perch__elf_find_section(elf, ".eh_frame");
	size_t table = perch__elf_find_section(elf, ".eh_frame_hdr");
	struct cfi listed, found;

	/* with an index of all functions, by the search table, and as a file without sections */
	if (!section || perch__cfi_open(&listed, elf, &elf->section[section], NULL))
		return;
	if (!perch__cfi_open(&found, elf, &elf->section[section],
			     table ? &elf->section[table] : NULL))
		compare_all(&listed, &found, libdw, architecture);
	if (table && perch__cfi_open_segment(&found, elf))
		differences++;
	else if (table)
		compare_all(&listed, &found, libdw, architecture);
	perch__cfi_close(&listed);
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		Elf *file = elf_begin(fd, ELF_C_READ, NULL);
		Dwarf_CFI *libdw = file ? dwarf_getcfi_elf(file) : NULL;
		struct perch__elf elf;

		if (libdw && !perch__elf_init_file(&elf, fd)) {
			const struct architecture *architecture = perch__architecture(
				elf.machine == EM_AARCH64 ? PERCH_ARCH_ARM64 : PERCH_ARCH_X86);

			if (!perch__elf_read_sections(&elf))
				compare_file(&elf, libdw,
					     elf.machine == EM_386 ? architecture->narrow
								   : architecture);
			perch__elf_clear(&elf);
		}
		dwarf_cfi_end(libdw);
		elf_end(file);
		close(fd);
	}
	printf("%" PRIu64 " rows, %" PRIu64 " differ\n", rows, differences);
	return !rows || differences;
}
