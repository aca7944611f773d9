/* SPDX-License-Identifier: MIT */
/* Functions and USDT probes of ELF files, also of corrupt ones. */
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

#include "probe_fixture.h"

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
	perch__free_usdt_sites(site, *nr); /* the offsets stay */
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
	perch__free_usdt_sites(site, nr);
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

static const struct {
	uint16_t machine;
	const char *text, *arguments, *unread; /* NULL: none */
} usdt_arguments[] = {
	{ EM_X86_64, "", NULL, NULL },
	{ EM_X86_64, "8@%rax -4@%edi 2@%r8w -1@%sil",
	  "arg1=%ax:u64 arg2=%di:s32 arg3=%r8:u16 arg4=%si:s8", NULL },
	{ EM_X86_64, "1@%ah 8@%rsp", "arg1=%ax:b8@8/16 arg2=%sp:u64", NULL },
	{ EM_X86_64, "-4@16(%rbp) 8@-0x20(%rsp) 4@(%rdx) 4@8+4(%r13)",
	  "arg1=+16(%bp):s32 arg2=-32(%sp):u64 arg3=+0(%dx):u32 arg4=+12(%r13):u32", NULL },
	{ EM_X86_64, "-4@$-7 8@$0x10 %rcx", "arg1=\\-7:s32 arg2=\\16:u64 arg3=%cx:u64", NULL },
	{ EM_X86_64, "8@-8(%rbp,%rax,8) 4@( %rax, %rbx) 8@%rdi", "arg3=%di:u64",
	  "arg1 (8@-8(%rbp,%rax,8)): the kernel adds no two registers; "
	  "arg2 (4@( %rax, %rbx)): the kernel adds no two registers" },
	{ EM_X86_64, "4@count(%rip) 8@count+8(%rip) 8@$count 8@count", NULL,
	  "arg1 (4@count(%rip)): its address is a symbol; "
	  "arg2 (8@count+8(%rip)): its address is a symbol; "
	  "arg3 (8@$count): its address is a symbol; arg4 (8@count): its address is a symbol" },
	{ EM_X86_64, "8f@%xmm0 -1@%ah 3@%eax 4@%nix 8@8(%rax 8@0x7fffffffff(%rax)", NULL,
	  "arg1 (8f@%xmm0): it is a floating-point number; "
	  "arg2 (-1@%ah): the kernel reads this part of the register without a sign; "
	  "arg3 (3@%eax): its form is unknown; arg4 (4@%nix): its form is unknown; "
	  "arg5 (8@8(%rax 8@0x7fffffffff(%rax)): its form is unknown" },
	{ EM_X86_64, "8@0x7fffffffff(%rax)", NULL,
	  "arg1 (8@0x7fffffffff(%rax)): its form is unknown" },
	{ EM_386, "-4@%eax 4@8(%ebp) %edx", "arg1=%ax:s32 arg2=+8(%bp):u32 arg3=%dx:u32", NULL },
	{ EM_AARCH64, "-4@x0 8@x30 4@w19 -4@5 8@-1",
	  "arg1=%x0:s32 arg2=%x30:u64 arg3=%x19:u32 arg4=\\5:s32 "
	  "arg5=\\-1:u64",
	  NULL },
	{ EM_AARCH64, "-4@[sp, 12] 8@[x29, #-16] 8@[x1] 8@sp",
	  "arg1=+12(%sp):s32 arg2=-16(%x29):u64 arg3=+0(%x1):u64 arg4=%sp:u64", NULL },
	{ EM_AARCH64, "8@[x0, x1] 4@[x0, w1, sxtw 2] 8@d0 8@x31 8@[x0, :lo12:name] 4@name", NULL,
	  "arg1 (8@[x0, x1]): the kernel adds no two registers; "
	  "arg2 (4@[x0, w1, sxtw 2]): the kernel adds no two registers; "
	  "arg3 (8@d0): it is a floating-point number; arg4 (8@x31): its address is a symbol; "
	  "arg5 (8@[x0, :lo12:name]): its address is a symbol; "
	  "arg6 (4@name): its address is a symbol" },
	{ EM_S390, "8@%r2", NULL, "arg1 (8@%r2): arguments of this architecture are not known" },
};

static void assert_text(const char *text, const char *wanted)
{
	if (wanted && text)
		assert_string_equal(text, wanted);
	else
		assert_ptr_equal(text, wanted);
}

static void translates_usdt_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(usdt_arguments); i++) {
		const struct perch__elf elf = { .machine = usdt_arguments[i].machine,
						.wide = usdt_arguments[i].machine != EM_386 };
		char *arguments, *unread;

		assert_int_equal(perch__usdt_arguments(&elf, (struct perch__usdt_code){ 0, 0 },
						       usdt_arguments[i].text, &arguments, &unread),
				 0);
		assert_text(arguments, usdt_arguments[i].arguments);
		assert_text(unread, usdt_arguments[i].unread);
		free(arguments);
		free(unread);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(clears_thumb_bit),
		cmocka_unit_test(translates_usdt_arguments),
		cmocka_unit_test(finds_usdt_probes),
		cmocka_unit_test(limits_bytes_of_notes),
		cmocka_unit_test(survives_corrupt_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
