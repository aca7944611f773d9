/* SPDX-License-Identifier: MIT */
/*
 * The input is the ELF file of a probe. The target looks up functions, versions and USDT probes in
 * it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/probe/elf_lookup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void search_elf(const struct perch__elf *elf)
{
	static const char *const names[] = { "main", "f", "f@V1", "f@@V2", "@", "" };
	struct perch__suggestions suggestions = { .word = "mian" };
	struct perch__usdt_site site[PERCH__USDT_SITES_MAX];
	struct perch__elf_function function;
	uint64_t address;
	size_t nr = 0;

	for (size_t i = 0; i < PERCH__NR(names); i++)
		if (!perch__elf_find_function(elf, names[i], &function) &&
		    function.offset >= elf->size)
			abort();
	perch__elf_suggest_functions(elf, &suggestions);
	perch__elf_find_variable(elf, "n", 1, &address);
	if (!perch__elf_find_usdt_sites(elf, "p", "n", site, &nr, &suggestions)) {
		for (size_t i = 0; i < nr; i++)
			if (site[i].offset >= elf->size || site[i].counter >= elf->size)
				abort();
		perch__free_usdt_sites(site, nr);
	}
	if (nr > PERCH__USDT_SITES_MAX || suggestions.nr > PERCH__SUGGESTIONS)
		abort();
}

/* The bytes are also the arguments of a note. */
static void translate_arguments(const uint8_t *bytes, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	char text[512], *arguments, *unread;
	size_t length = size < sizeof(text) ? size : sizeof(text) - 1;

	memcpy(text, bytes, length);
	text[length] = '\0';
	for (size_t i = 0; i < PERCH__NR(machines); i++) {
		struct perch__elf elf = { .machine = machines[i], .wide = true };

		if (perch__usdt_arguments(&elf, (struct perch__usdt_code){ 0x401000, 0x1000 }, text,
					  &arguments, &unread))
			abort();
		if (arguments && (strpbrk(arguments, "\n;") || !strchr(arguments, '=')))
			abort(); /* these begin another command of tracefs */
		free(arguments);
		free(unread);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int fd = -1;
	struct perch__elf elf;
	char path[64];

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		abort();
	translate_arguments(bytes, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perch__elf_file_open(&elf, path, NULL)) {
		search_elf(&elf);
		perch__elf_file_close(&elf);
	}
	return 0;
}
