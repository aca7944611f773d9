/* SPDX-License-Identifier: MIT */
/* Event strings: probes, by functions of ELF files and of /proc/kallsyms. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/event.h>

#include "event/elf_lookup.h"
#include "event_fixture.h"
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

static int find(const char *path, const char *symbol, struct perch__elf_function *function)
{
	struct perch__elf elf;
	int rc;

	assert_int_equal(perch__elf_file_open(&elf, path, machine), 0);
	rc = perch__elf_find_function(&elf, symbol, function);
	perch__elf_file_close(&elf);
	return rc;
}

static uint64_t offset_of(const char *path, const char *symbol)
{
	struct perch__elf_function function;
	int rc = find(path, symbol, &function);

	if (rc || function.ambiguous)
		fail_msg("%s in %s: %s", symbol, path, rc ? strerror(-rc) : "several");
	return function.offset;
}

static void finds_functions(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		static struct elf_fixture elf;
		struct perch__elf_function function;

		elf = (struct elf_fixture){ .wide = kind & 1,
					    .swapped = kind & 2,
					    .machine = EM_SPARC,
					    .symbols = symbols,
					    .dynamic = dynamic,
					    .versions = versions };
		elf_make(&elf);
		write_elf(&elf, "/opt/kind", elf.size);
		assert_int_equal(offset_of("/opt/kind", "main"), ELF_CODE + 0x10);
		assert_int_equal(offset_of("/opt/kind", "serve"), ELF_CODE + 0x20);
		assert_int_equal(offset_of("/opt/kind", "seen"), ELF_CODE + 0x60);
		assert_int_equal(offset_of("/opt/kind", "_start"), ELF_CODE);
		assert_int_equal(offset_of("/opt/kind", "worn"), ELF_CODE + 0x80);
		assert_int_equal(offset_of("/opt/kind", "worn@NEW"), ELF_CODE + 0x80);
		assert_int_equal(offset_of("/opt/kind", "worn@OLD"), ELF_CODE + 0x90);
		assert_int_equal(offset_of("/opt/kind", "copy"), ELF_CODE + 0x110);
		assert_int_equal(offset_of("/opt/kind", "copy@V_1"), ELF_CODE + 0x100);
		assert_int_equal(offset_of("/opt/kind", "copy@@V_2"), ELF_CODE + 0x110);
		assert_int_equal(offset_of("/opt/kind", "gone@V_2"), ELF_CODE + 0x140);
		assert_int_equal(find("/opt/kind", "copy@V_3", &function), -ENOENT);
		assert_true(!find("/opt/kind", "gone", &function) && function.ambiguous);
		assert_true(!find("/opt/kind", "twin", &function) && function.ambiguous);
		assert_int_equal(find("/opt/kind", "number", &function), -ENOENT);
		assert_int_equal(find("/opt/kind", "lost", &function), -ENOENT);
		assert_int_equal(find("/opt/kind", "mai", &function), -ENOENT);
		assert_int_equal(find("/opt/kind", "", &function), -ENOENT);
	}
}

static void clears_thumb_bit(void **state)
{
	static const struct elf_symbol odd[] = {
		{ "thumb", ELF_CODE_ADDRESS + 0x11, STT_FUNC, STB_GLOBAL, 0 },
		{ NULL, 0, 0, 0, 0 },
	};
	static struct elf_fixture elf = { .machine = EM_ARM, .symbols = odd };

	(void)state;
	elf_make(&elf);
	write_elf(&elf, "/opt/thumb", elf.size);
	assert_int_equal(offset_of("/opt/thumb", "thumb"), ELF_CODE + 0x10);
}

static int find_sites(const char *path, const char *provider, const char *name,
		      struct perch__usdt_site *site, size_t *nr)
{
	struct perch__elf elf;
	int rc;

	assert_int_equal(perch__elf_file_open(&elf, path, machine), 0);
	rc = perch__elf_find_usdt_sites(&elf, provider, name, site, nr, NULL);
	perch__elf_file_close(&elf);
	return rc;
}

static void finds_usdt_probes(void **state)
{
	(void)state;
	for (int kind = 0; kind < 8; kind++) {
		static struct elf_fixture elf;
		struct perch__usdt_site site[PERCH__USDT_SITES_MAX];
		unsigned moved = kind & 4 ? 0x40 : 0;
		size_t nr;

		elf = (struct elf_fixture){ .wide = kind & 1,
					    .swapped = kind & 2,
					    .notes = notes,
					    .base = 0x500000 + moved };
		elf_make(&elf);
		write_elf(&elf, "/opt/kind", elf.size);
		assert_int_equal(find_sites("/opt/kind", "shop", "opened", site, &nr), 0);
		assert_int_equal(nr, 1);
		assert_int_equal(site[0].offset, ELF_CODE + 0x11);
		assert_int_equal(site[0].counter, 0);
		assert_int_equal(find_sites("/opt/kind", "shop", "sold", site, &nr), 0);
		assert_int_equal(nr, 2);
		assert_int_equal(site[0].offset, ELF_CODE + 0x21 + moved);
		assert_int_equal(site[0].counter, ELF_DATA + 2 + moved);
		assert_int_equal(site[1].offset, ELF_CODE + 0x31 + moved);
		assert_int_equal(find_sites("/opt/kind", "shop", "nowhere", site, &nr), -EBADMSG);
		assert_int_equal(find_sites("/opt/kind", "shop", "closed", site, &nr), -ENOENT);
		assert_int_equal(find_sites("/opt/kind", "sho", "sold", site, &nr), -ENOENT);
	}
}

/* The limit on bytes of notes holds for all sections together, because they may overlap. */
static void limits_bytes_of_notes(void **state)
{
	static struct elf_fixture elf = { .wide = true };
	struct perch__usdt_site site[PERCH__USDT_SITES_MAX];
	char path[PATH_MAX + 64];
	size_t nr;

	(void)state;
	elf.nr_sections = elf.names = 1;
	elf.size = ELF_DATA + ELF_DATA_SIZE;
	for (int i = 0; i < 3; i++) {
		size_t number = elf_begin(&elf, ".note.stapsdt", SHT_NOTE);

		elf.section[number].offset = 1 << 20;
		elf.section[number].size = 30 << 20;
	}
	elf_put_header(&elf, elf_put_sections(&elf));
	write_elf(&elf, "/opt/notes", elf.size);
	snprintf(path, sizeof(path), "%s/opt/notes", root);
	assert_int_equal(truncate(path, 40 << 20), 0);
	assert_int_equal(find_sites("/opt/notes", "shop", "sold", site, &nr), -EFBIG);
}

/* In memory, because there are thousands of files. */
static void search_file(const unsigned char *bytes, size_t size)
{
	static int fd = -1;
	struct perch__suggestions suggestions = { .word = "mian" };
	struct perch__usdt_site site[PERCH__USDT_SITES_MAX];
	struct perch__elf_function function;
	struct perch__elf elf;
	char path[64];
	size_t nr = 0;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (perch__elf_file_open(&elf, path, NULL))
		return;
	if (!perch__elf_find_function(&elf, "copy@V_1", &function))
		assert_true(function.offset < elf.size);
	perch__elf_suggest_functions(&elf, &suggestions);
	if (!perch__elf_find_usdt_sites(&elf, "shop", "sold", site, &nr, &suggestions))
		for (size_t i = 0; i < nr; i++)
			assert_true(site[i].offset < elf.size && site[i].counter < elf.size);
	perch__elf_file_close(&elf);
}

/* Each byte of a file is changed, and the file is truncated at each byte. */
static void survives_corrupt_files(void **state)
{
	static const unsigned char values[] = { 0x00, 0x7f, 0xff };
	static struct elf_fixture elf;

	(void)state;
	elf = whole;
	for (size_t at = 0; at < elf.size; at++) {
		unsigned char good;

		if (at == 0x100)
			at = ELF_DATA + ELF_DATA_SIZE; /* code and data are not read */
		good = elf.bytes[at];
		for (size_t i = 0; i < PERCH__NR(values); i++) {
			elf.bytes[at] = values[i];
			search_file(elf.bytes, elf.size);
		}
		elf.bytes[at] = good;
		search_file(elf.bytes, at);
	}
}

static struct perch_event first_of(struct perch_events *events, const char *text,
				   struct perch_machine *of)
{
	struct perch_error err;

	if (perch_events_parse(events, text, of, &err))
		fail_msg("%s: %s (column %d)", text, err.message, err.column);
	return events->event[0];
}

struct good_probe {
	const char *text, *path; /* path is NULL if config1 is not a pointer */
	uint32_t type;
	uint64_t config, config2;
};

static const struct good_probe good_probes[] = {
	{ "uprobe:/opt/whole:main", "/opt/whole", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:main+0x6", "/opt/whole", 8, 0, ELF_CODE + 0x16 },
	{ "uprobe:/opt/whole:0x1010", "/opt/whole", 8, 0, 0x1010 },
	{ "uprobe:/opt/bare:16", "/opt/bare", 8, 0, 16 },
	{ "uprobe:/opt/whole:main(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32,
	  ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:0x1010(4612):u", "/opt/whole", 8, UINT64_C(4612) << 32, 0x1010 },
	{ "uretprobe:/opt/whole:main", "/opt/whole", 8, 1, ELF_CODE + 0x10 },
	{ "uretprobe:/opt/whole:main+0", "/opt/whole", 8, 1, ELF_CODE + 0x10 },
	{ "uretprobe:/opt/whole:0x1010(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32 | 1,
	  0x1010 },
	{ "uprobe:\"/opt/a:b\":main", "/opt/a:b", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:ns::g", "/opt/whole", 8, 0, ELF_CODE + 0xb0 },
	{ "uprobe:/opt/whole:ns::g:u", "/opt/whole", 8, 0, ELF_CODE + 0xb0 },
	{ "uprobe:/opt/whole:ns::g+2", "/opt/whole", 8, 0, ELF_CODE + 0xb2 },
	{ "uretprobe:/opt/whole:ns::f(int)", "/opt/whole", 8, 1, ELF_CODE + 0xc0 },
	{ "uprobe:/opt/whole:'ns::f(int, char)'", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::f(int,char)", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::f(int, char):u", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::X::X", "/opt/whole", 8, 0, ELF_CODE + 0xe0 },
	{ "uprobe:/opt/whole:_ZN2ns1YC2Ei", "/opt/whole", 8, 0, ELF_CODE + 0xe8 },
	{ "uprobe:/opt/whole:ns::X::get", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:'ns::X::get( )const'", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:'ns::X::get() const'", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:ns::g(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32,
	  ELF_CODE + 0xb0 },
	{ "uprobe:'/opt/a:b':'name with spaces, (all)'", "/opt/a:b", 8, 0, ELF_CODE + 0xa0 },
	{ "uprobe:/opt/whole:copy@V_1", "/opt/whole", 8, 0, ELF_CODE + 0x100 },
	{ "uprobe:tool:main", "/opt/bin/tool", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libfix:main", "/usr/lib/strange-linux-gnu/libfix.so.10", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libfix.so.9:main", "/usr/lib/strange-linux-gnu/libfix.so.9", 8, 0,
	  ELF_CODE + 0x10 },
	{ "uprobe:libfix.so.11:main", "/usr/lib/libfix.so.11", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libplain:main", "/usr/lib/libplain.so", 8, 0, ELF_CODE + 0x10 },
	{ "usdt:/opt/whole:shop:opened", "/opt/whole", 8, 0, ELF_CODE + 0x11 },
	{ "usdt:/opt/whole:shop:sold:u", "/opt/whole", 8, (uint64_t)(ELF_DATA + 2) << 32,
	  ELF_CODE + 0x21 },
	{ "kprobe:vfs_read", "vfs_read", 6, 0, 0 },
	{ "kprobe:vfs_read+0x10:k", "vfs_read", 6, 0, 0x10 },
	{ "kprobe:'nf_tables:nft_do_chain'", "nf_tables:nft_do_chain", 6, 0, 0 },
	{ "kprobe:nft_do_chain", "nft_do_chain", 6, 0, 0 },
	{ "kprobe:'nf_tables:twice'", "nf_tables:twice", 6, 0, 0 },
	{ "kretprobe:vfs_read", "vfs_read", 6, 1, 0 },
	{ "kprobe:0xffffffff81000000", NULL, 6, 0, 0xffffffff81000000 },
};

static void parses_probes(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(good_probes); i++) {
		const struct good_probe *good = &good_probes[i];
		struct perch_events events;
		struct perch_event event = first_of(&events, good->text, machine);

		print_message("%s\n", good->text);
		assert_string_equal(event.name, good->text);
		assert_int_equal(event.attr.type, good->type);
		assert_int_equal(event.attr.config, good->config);
		assert_int_equal(event.attr.probe_offset, good->config2);
		assert_int_equal(event.attr.config1, (uintptr_t)event.path);
		if (good->path)
			assert_string_equal(event.path, good->path);
		else
			assert_null(event.path);
		/* see inherit of struct perch_event_terms */
		assert_int_equal(event.terms.inherit,
				 good->path ? PERCH_TRISTATE_NO : PERCH_TRISTATE_UNSET);
		perch_events_clear(&events);
	}
}

/* Bytes that this process has read; -1 if the kernel does not count them. */
static long bytes_read(void)
{
	FILE *stream = fopen("/proc/self/io", "r");
	long bytes = -1;

	if (!stream)
		return -1;
	if (fscanf(stream, "rchar: %ld", &bytes) != 1)
		bytes = -1;
	fclose(stream);
	return bytes;
}

static void reads_kernel_functions_once(void **state)
{
	enum { PROBES = 1000 };
	static const char one[] = "kprobe:vfs_read,";
	static char text[PROBES * sizeof(one)];
	struct perch_events events;
	long before = bytes_read();

	(void)state;
	for (size_t i = 0; i < PROBES; i++)
		memcpy(text + i * strlen(one), one, strlen(one));
	text[strlen(text) - 1] = '\0';
	first_of(&events, text, machine);
	assert_int_equal(events.nr, PROBES);
	perch_events_clear(&events);
	if (before < 0)
		skip();
	assert_true(bytes_read() - before < 64 << 10);
}

static void adds_event_for_each_usdt_site(void **state)
{
	struct perch_events events;

	(void)state;
	first_of(&events, "page-faults,usdt:/opt/whole:shop:sold:u,uprobe:/opt/whole:main",
		 machine);
	assert_int_equal(events.nr, 4);
	assert_int_equal(events.event[1].first, 1);
	assert_int_equal(events.event[2].first, 1);
	assert_int_equal(events.event[3].first, 3);
	assert_int_equal(events.event[1].attr.probe_offset, ELF_CODE + 0x21);
	assert_int_equal(events.event[2].attr.probe_offset, ELF_CODE + 0x31);
	assert_int_equal(events.event[2].attr.config1, (uintptr_t)events.event[2].path);
	assert_ptr_not_equal(events.event[1].path, events.event[2].path);
	assert_true(events.event[1].attr.exclude_kernel && events.event[2].attr.exclude_kernel);
	perch_events_clear(&events);
}

static const struct bad_event bad_events[] = {
	{ "uprobe:", -EINVAL, 7, "expected a program or library", NULL },
	{ "uprobe:/opt/whole", -EINVAL, 17, "expected ':' after the file", NULL },
	{ "uprobe:/opt/whole,cycles", -EINVAL, 17, "found ','", NULL },
	{ "uprobe:/opt/whole:", -EINVAL, 18, "expected a function", NULL },
	{ "uprobe:\"/opt/whole:main", -EINVAL, 7, "quote", NULL },
	{ "uprobe:/opt/whole:main+", -EINVAL, 23, "expected an offset", NULL },
	{ "uprobe:/opt/whole:main+x", -EINVAL, 23, "expected an offset", NULL },
	{ "uprobe:/opt/whole:main(", -EINVAL, 23, "expected the file offset of a reference counter",
	  NULL },
	{ "uprobe:/opt/whole:main(2", -EINVAL, 24, "expected ')'", NULL },
	{ "uprobe:/opt/whole:main(3)", -EINVAL, 23, "even", NULL },
	{ "uprobe:/opt/whole:main(0x10000)", -EINVAL, 23, "beyond the end", NULL },
	{ "uprobe:/opt/whole:0x10000", -EINVAL, 18, "beyond the end", NULL },
	{ "uprobe:/opt/whole:main+0xfffffffffffffff0", -EINVAL, 23, "beyond the end", NULL },
	{ "uprobe:/opt/whole:0x10000000000000000", -ERANGE, 18, "64 bits", NULL },
	{ "uprobe:/opt/whole:0x10zz", -EINVAL, 22, "'z'", NULL },
	{ "uprobe:/opt/whole:mian", -ENOENT, 18, "no function 'mian'", "did you mean main?" },
	{ "uprobe:/opt/whole:malloc", -ENOENT, 18, "does not define it", "library" },
	{ "uprobe:/opt/whole:twin", -ENOTUNIQ, 18, "several functions", "0xOFFSET" },
	{ "uprobe:/opt/whole:ns::f", -ENOTUNIQ, 18, "several functions 'ns::f'",
	  "'ns::f(int)', 'ns::f(int, char)'" },
	{ "uprobe:/opt/whole:ns::Y::Y(int)", -ENOTUNIQ, 18, "several functions",
	  "'_ZN2ns1YC1Ei', '_ZN2ns1YC2Ei'" },
	{ "uprobe:/opt/whole:ns::Y::Y", -ENOTUNIQ, 18, "several functions",
	  "'_ZN2ns1YC1Ei', '_ZN2ns1YC2Ei'" },
	{ "uprobe:/opt/whole:h(int)", -ENOTUNIQ, 18, "several functions", "0xOFFSET" },
	{ "uprobe:/opt/whole:ns::f(long)", -ENOENT, 18, "no function 'ns::f(long)'",
	  "did you mean 'ns::f(int)'?" },
	{ "uprobe:/opt/whole:ns::get", -ENOENT, 18, "no function 'ns::get'",
	  "did you mean ns::g or 'ns::get()::{lambda()#1}::operator()'?" },
	{ "uprobe:/opt/whole:ns::X", -ENOENT, 18, "no function 'ns::X'",
	  "did you mean ns::f, ns::g or ns::X::X?" },
	{ "uprobe:/opt/whole:get", -ENOENT, 18, "no function 'get'", "ns::X::get" },
	{ "uprobe:/opt/whole:operator()", -ENOENT, 18, "no function 'operator()'",
	  "did you mean 'ns::get()::{lambda()#1}::operator()() const'?" },
	{ "uprobe:/opt/whole:ns::", -ENOENT, 18, "no function 'ns'", NULL },
	{ "usdt:/opt/whole:shop::sold", -EINVAL, 21, "expected the name", NULL },
	{ "uprobe:/opt/whole:gone", -ENOTUNIQ, 18, "several functions", "VERSION" },
	{ "uprobe:/opt/whole:fastest", -EINVAL, 18, "indirect function", NULL },
	{ "uprobe:/opt/bare:main", -ENOENT, 17, "stripped", "0xOFFSET" },
	{ "uprobe:/opt/none:main", -ENOENT, 7, "no file '/opt/none'", NULL },
	{ "uprobe:/opt:main", -EISDIR, 7, NULL, NULL },
	{ "uprobe:/opt/script:main", -EBADMSG, 7, "not an ELF file", "script" },
	{ "uprobe:/opt/empty:main", -EBADMSG, 7, "not an ELF file", NULL },
	{ "uprobe:toool:main", -ENOENT, 7, "in PATH", "path" },
	{ "uretprobe:/opt/whole:main+4", -EINVAL, 26, "first instruction", "offset" },
	{ "usdt:", -EINVAL, 5, "as in usdt:./server:shop:sold", NULL },
	{ "usdt:/opt/whole", -EINVAL, 15, "as in usdt:./server:shop:sold", NULL },
	{ "usdt:/opt/whole:shop", -EINVAL, 20, "expected ':' and a name", NULL },
	{ "usdt:/opt/whole:shop:", -EINVAL, 21, "expected the name", NULL },
	{ "usdt:/opt/whole:shop:solt", -ENOENT, 16, "no USDT probe 'shop:solt'", "shop:sold" },
	{ "usdt:/opt/whole:shop:nowhere", -EBADMSG, 5, "corrupt", NULL },
	{ "cs,uprobe:/opt/whole:main/inherit/", -EINVAL, 3, "cannot be inherited", "all CPUs" },
	{ "cs,{kprobe:vfs_read,cs/inherit/}", -EINVAL, 3, "cannot be inherited", "all CPUs" },
	{ "kprobe:", -EINVAL, 7, "expected a function of the kernel", NULL },
	{ "kprobe:vfs_read(2)", -EINVAL, 15, NULL, NULL },
	{ "kprobe:vfs_reed", -ENOENT, 7, "no function 'vfs_reed'", "vfs_read" },
	{ "kprobe:vfs_data", -ENOENT, 7, "no function 'vfs_data'", NULL },
	{ "kprobe:'nf:nft_do_chain'", -ENOENT, 7, "no function", NULL },
	{ "kretprobe:twice", -ENOTUNIQ, 10, "3 functions", "0xADDRESS" },
	{ "kretprobe:vfs_read+4", -EINVAL, 19, "first instruction", NULL },
	{ "cycles,uprobe:/opt/whole:mian", -ENOENT, 25, "mian", NULL },
	{ "{uprobe:/opt/whole:main,uprobe:/opt/whole:mian}", -ENOENT, 42, "mian", NULL },
};

static void reports_wrong_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(bad_events); i++)
		check_bad_event(&bad_events[i], machine);
}

static void reports_kernels_without_probes(void **state)
{
	struct perch_events events;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "kprobe:vfs_read", old, &err), -ENOENT);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_PMU);
	assert_int_equal(err.column, 0);
	assert_string_equal(err.since, "4.17");
	assert_non_null(strstr(err.remedy, "CONFIG_KPROBE_EVENTS"));
	first_of(&events, "uretprobe:tool:main", old);
	assert_int_equal(events.event[0].attr.type, 7);
	assert_int_equal(events.event[0].attr.config, 1);
	perch_events_clear(&events);
	assert_int_equal(perch_events_parse(&events, "usdt:tool:shop:sold", old, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err.since, "4.20");
	assert_int_equal(perch_events_parse(&events, "uprobe:tool:main(0x1202)", old, &err),
			 -EINVAL);
	assert_int_equal(err.column, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(clears_thumb_bit),
		cmocka_unit_test(finds_usdt_probes),
		cmocka_unit_test(limits_bytes_of_notes),
		cmocka_unit_test(survives_corrupt_files),
		cmocka_unit_test(parses_probes),
		cmocka_unit_test(reads_kernel_functions_once),
		cmocka_unit_test(adds_event_for_each_usdt_site),
		cmocka_unit_test(reports_wrong_text),
		cmocka_unit_test(reports_kernels_without_probes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
