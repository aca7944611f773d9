/* SPDX-License-Identifier: MIT */
/* A machine with uprobes and kprobes, and ELF files with functions and USDT probes. */
#ifndef PROBE_FIXTURE_H
#define PROBE_FIXTURE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "event/probe/elf_lookup.h"
#include "elf_fixture.h"
#include "tree.h"

#define UPROBE "/sys/bus/event_source/devices/uprobe/"
#define KPROBE "/sys/bus/event_source/devices/kprobe/"

static const struct tree_file files[] = {
	{ UPROBE "type", "8\n" },
	{ UPROBE "format/retprobe", "config:0\n" },
	{ UPROBE "format/ref_ctr_offset", "config:32-63\n" },
	{ KPROBE "type", "6\n" },
	{ KPROBE "format/retprobe", "config:0\n" },
	{ "/proc/kallsyms",
	  "ffffffff81000000 T _stext\nffffffff81000010 T vfs_read\nffffffff81000020 t vfs_write\n"
	  "ffffffff81000030 t twice\nffffffff81000040 t twice\nffffffff81000050 D vfs_data\n"
	  "ffffffffc0000000 t twice\t[nf_tables]\n"
	  "ffffffffc0000010 T nft_do_chain\t[nf_tables]\nbroken\nffff T \n" },
	{ "/opt/script", "#!/bin/sh\n" },
	{ "/opt/empty", "" },
	{ "/opt/bin/tool", "" },
	{ "/usr/lib/strange-linux-gnu/libfix.so", "INPUT(libfix.so.1)\n" },
	{ "/usr/lib/libfix.so.0", "" },
	{ "/old/sys/bus/event_source/devices/uprobe/type", "7\n" },
	{ "/old/sys/bus/event_source/devices/uprobe/format/retprobe", "config:0\n" },
	{ "/old/opt/bin/tool", "" },
};

static const struct elf_symbol symbols[] = {
	{ "main", ELF_CODE_ADDRESS + 0x10, STT_FUNC, STB_GLOBAL, 0 },
	{ "serve", ELF_CODE_ADDRESS + 0x20, STT_FUNC, STB_LOCAL, 0 },
	{ "twin", ELF_CODE_ADDRESS + 0x30, STT_FUNC, STB_LOCAL, 0 },
	{ "twin", ELF_CODE_ADDRESS + 0x40, STT_FUNC, STB_LOCAL, 0 },
	{ "seen", ELF_CODE_ADDRESS + 0x50, STT_FUNC, STB_LOCAL, 0 },
	{ "seen", ELF_CODE_ADDRESS + 0x60, STT_FUNC, STB_WEAK, 0 },
	{ "fastest", ELF_CODE_ADDRESS + 0x70, STT_GNU_IFUNC, STB_GLOBAL, 0 },
	{ "_start", ELF_CODE_ADDRESS, STT_NOTYPE, STB_GLOBAL, 0 },
	{ "malloc", 0, STT_FUNC, STB_GLOBAL, 0 },
	{ "number", ELF_DATA_ADDRESS, STT_OBJECT, STB_GLOBAL, 0 },
	{ "lost", 0x10, STT_FUNC, STB_GLOBAL, 0 },
	{ "worn@@NEW", ELF_CODE_ADDRESS + 0x80, STT_FUNC, STB_GLOBAL, 0 },
	{ "worn@OLD", ELF_CODE_ADDRESS + 0x90, STT_FUNC, STB_GLOBAL, 0 },
	{ "name with spaces, (all)", ELF_CODE_ADDRESS + 0xa0, STT_FUNC, STB_GLOBAL, 0 },
	{ "_ZN2ns1gEi", ELF_CODE_ADDRESS + 0xb0, STT_FUNC, STB_GLOBAL, 0 },
	{ "_ZN2ns1fEi", ELF_CODE_ADDRESS + 0xc0, STT_FUNC, STB_GLOBAL, 0 },
	{ "_ZN2ns1fEic", ELF_CODE_ADDRESS + 0xd0, STT_FUNC, STB_LOCAL, 0 },
	{ "_ZN2ns1XC1Ei", ELF_CODE_ADDRESS + 0xe0, STT_FUNC, STB_WEAK, 0 },
	{ "_ZN2ns1XC2Ei", ELF_CODE_ADDRESS + 0xe0, STT_FUNC, STB_WEAK, 0 },
	{ "_ZN2ns1YC1Ei", ELF_CODE_ADDRESS + 0xe4, STT_FUNC, STB_WEAK, 0 },
	{ "_ZN2ns1YC2Ei", ELF_CODE_ADDRESS + 0xe8, STT_FUNC, STB_WEAK, 0 },
	{ "_ZL1hi", ELF_CODE_ADDRESS + 0xf0, STT_FUNC, STB_LOCAL, 0 },
	{ "_ZL1hi", ELF_CODE_ADDRESS + 0xf4, STT_FUNC, STB_LOCAL, 0 },
	{ "_ZN2ns1gEi.cold", ELF_CODE_ADDRESS + 0xf8, STT_FUNC, STB_LOCAL, 0 },
	{ "_ZNK2ns1X3getEv", ELF_CODE_ADDRESS + 0xfc, STT_FUNC, STB_GLOBAL, 0 },
	{ "_ZZN2ns3getEvENKUlvE_clEv", ELF_CODE_ADDRESS + 0xfe, STT_FUNC, STB_LOCAL, 0 },
	{ "sized", ELF_CODE_ADDRESS + 0x150, STT_FUNC, STB_GLOBAL, 0, 8 },
	{ "sized", ELF_CODE_ADDRESS + 0x150, STT_FUNC, STB_GLOBAL, 0, 0x10 },
	{ "_ZN2ns6blocksEv", ELF_CODE_ADDRESS + 0x160, STT_FUNC, STB_GLOBAL, 0, 0x10 },
	{ "main.(*T).Count", ELF_CODE_ADDRESS + 0x190, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "host.org/pack.(*T).Sum", ELF_CODE_ADDRESS + 0x194, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "main.Sum[go.shape.int]", ELF_CODE_ADDRESS + 0x198, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "main.Sum[go/ast.Node,int]", ELF_CODE_ADDRESS + 0x19c, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "_ZN2ns5wholeEi.isra.0", ELF_CODE_ADDRESS + 0x180, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "_ZN2ns5wholeEi.isra.0.cold", ELF_CODE_ADDRESS + 0x184, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "pair", ELF_CODE_ADDRESS + 0x178, STT_FUNC, STB_LOCAL, 0, 4 },
	{ "pair", ELF_CODE_ADDRESS + 0x17c, STT_FUNC, STB_LOCAL, 0, 4 },
	{ NULL, 0, 0, 0, 0 },
};

/* As perch_demangle() of libperch-profile. */
static char *demangle(const char *name)
{
	static const char *const names[][2] = {
		{ "_ZN2ns1gEi", "ns::g(int)" },
		{ "_ZN2ns1fEi", "ns::f(int)" },
		{ "_ZN2ns1fEic", "ns::f(int, char)" },
		{ "_ZN2ns1XC1Ei", "ns::X::X(int)" },
		{ "_ZN2ns1XC2Ei", "ns::X::X(int)" },
		{ "_ZN2ns1YC1Ei", "ns::Y::Y(int)" },
		{ "_ZN2ns1YC2Ei", "ns::Y::Y(int)" },
		{ "_ZL1hi", "h(int)" },
		{ "_ZN2ns5wholeEi.isra.0", "ns::whole(int) [clone .isra.0]" },
		{ "_ZN2ns5wholeEi.isra.0.cold", "ns::whole(int) [clone .isra.0] [clone .cold]" },
		{ "_ZN2ns6blocksEv", "ns::blocks()" },
		{ "_ZN2ns1gEi.cold", "ns::g(int) [clone .cold]" },
		{ "_ZNK2ns1X3getEv", "ns::X::get() const" },
		{ "_ZZN2ns3getEvENKUlvE_clEv", "ns::get()::{lambda()#1}::operator()() const" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i][0]))
			return strdup(names[i][1]);
	return NULL;
}

static const struct elf_symbol dynamic[] = {
	{ "copy", ELF_CODE_ADDRESS + 0x100, STT_FUNC, STB_GLOBAL, 0x8002 },
	{ "copy", ELF_CODE_ADDRESS + 0x110, STT_FUNC, STB_GLOBAL, 3 },
	{ "free", ELF_CODE_ADDRESS + 0x120, STT_FUNC, STB_GLOBAL, 3 },
	{ "gone", ELF_CODE_ADDRESS + 0x130, STT_FUNC, STB_GLOBAL, 0x8002 },
	{ "gone", ELF_CODE_ADDRESS + 0x140, STT_FUNC, STB_GLOBAL, 0x8003 },
	{ NULL, 0, 0, 0, 0 },
};

static const char *const versions[] = { "V_1", "V_2", NULL };

static const struct elf_note notes[] = {
	{ "shop", "opened", ELF_CODE_ADDRESS + 0x11, 0, 0 },
	{ "shop", "sold", ELF_CODE_ADDRESS + 0x21, 0x500000, ELF_DATA_ADDRESS + 2 },
	{ "shop", "sold", ELF_CODE_ADDRESS + 0x31, 0x500000, ELF_DATA_ADDRESS + 2 },
	{ "shop", "sold", ELF_CODE_ADDRESS + 0x21, 0x500000, ELF_DATA_ADDRESS + 2 },
	{ "shop", "nowhere", 0x77, 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

static struct perch_machine *machine, *old;
static char root[PATH_MAX];
static struct elf_fixture whole = { .symbols = symbols,
				    .dynamic = dynamic,
				    .versions = versions,
				    .notes = notes,
				    .base = 0x500000 };
static struct elf_fixture bare;

static void write_elf(const struct elf_fixture *elf, const char *path, size_t size)
{
	char inside[PATH_MAX + 64];

	snprintf(inside, sizeof(inside), "%s%s", root, path);
	elf_write(elf, inside, size);
}

/* Only libraries of this architecture are found, so the fixtures have it. */
static int setup(void **state)
{
	static const char *const programs[] = { "/opt/bin/tool", "/old/opt/bin/tool" };
	char path[PATH_MAX + 64];
	struct perch__elf mine;

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch__elf_file_open(&mine, "/proc/self/exe", NULL), 0);
	whole.wide = bare.wide = mine.wide;
	whole.machine = bare.machine = mine.machine;
	perch__elf_file_close(&mine);
	elf_make(&whole);
	elf_make(&bare);
	write_elf(&whole, "/opt/whole", whole.size);
	write_elf(&bare, "/opt/bare", bare.size);
	write_elf(&whole, "/opt/a:b", whole.size);
	write_elf(&whole, "/usr/lib/strange-linux-gnu/libfix.so.9", whole.size);
	write_elf(&whole, "/usr/lib/strange-linux-gnu/libfix.so.10", whole.size);
	write_elf(&whole, "/usr/lib/libfix.so.11", whole.size);
	write_elf(&whole, "/usr/lib/libplain.so", whole.size);
	for (size_t i = 0; i < PERCH__NR(programs); i++) {
		write_elf(&whole, programs[i], whole.size);
		snprintf(path, sizeof(path), "%s%s", root, programs[i]);
		assert_int_equal(chmod(path, 0755), 0);
	}
	setenv("PATH", "relative:/nowhere::/opt/bin", 1);
	snprintf(path, sizeof(path), "%s/old", root);
	if (perch_machine_new(&machine, root, NULL, NULL) ||
	    perch_machine_new(&old, path, NULL, NULL))
		return -1;
	perch_machine_set_demangle(machine, demangle);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	perch_machine_free(old);
	tree_remove(root);
	return 0;
}

#endif
