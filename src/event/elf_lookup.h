/* SPDX-License-Identifier: MIT */
/* Where probes go in ELF files: the code of a function, and the sites of USDT probes. */
#ifndef PERCH_EVENT_ELF_LOOKUP_H
#define PERCH_EVENT_ELF_LOOKUP_H

#include "base/elf.h"
#include "internal.h"

/*
 * path: below the machine's root. -errno of open(2); -EISDIR and -EACCES for what is no regular
 * file; -EBADMSG for what is no ELF file or a damaged one; -ENOMEM.
 */
int perch__elf_file_open(struct perch__elf *elf, const char *path,
			 const struct perch_machine *machine);
void perch__elf_file_close(struct perch__elf *elf);

/* What is known of a function that was looked for. */
struct perch__elf_function {
	uint64_t offset; /* of its first instruction in the file */
	unsigned rank;	 /* 0: not found; the more visible a symbol, the higher */
	bool several;	 /* different functions have the name, and none of them more right to it */
	bool indirect;	 /* STT_GNU_IFUNC: the code at offset chooses a function, and is not it */
	bool elsewhere;	 /* the file only refers to it */
	bool any;	 /* the file names at least one function of its own */
	bool stripped;	 /* it has no .symtab, which names the functions that it does not export */
};

/*
 * The function of that name: "malloc", or "memcpy@GLIBC_2.2.5" of a version. -ENOENT: not found,
 * *function says more; -EBADMSG, -EFBIG, -ENOMEM, -EIO.
 */
int perch__elf_find_function(const struct perch__elf *elf, const char *name,
			     struct perch__elf_function *function);
/* Offers the names of all its functions. */
void perch__elf_suggest_functions(const struct perch__elf *elf,
				  struct perch__suggestions *suggestions);

/* One place of a USDT probe: the probe hits when the instruction there runs. */
struct perch__usdt_site {
	uint64_t offset;  /* of the instruction in the file */
	uint64_t counter; /* of the 16-bit reference counter in the file; 0: the probe has none */
};
#define PERCH__USDT_SITES_MAX 256
/*
 * All places of the probe, at most PERCH__USDT_SITES_MAX of them (-E2BIG: it has more). -ENOENT:
 * none has that name; suggestions, when not NULL, is then offered the names "PROVIDER:NAME" of the
 * file. Other errors as above.
 */
int perch__elf_find_usdt_sites(const struct perch__elf *elf, const char *provider, const char *name,
			       struct perch__usdt_site site[PERCH__USDT_SITES_MAX], size_t *nr,
			       struct perch__suggestions *suggestions);

/*
 * The file that an unquoted or quoted name in an event means. A name with a slash is a path. One
 * without is looked up as a program in PATH, then as a library in the usual folders: "libc" finds
 * libc.so or the highest libc.so.*, in the folder of this machine's architecture first. path:
 * absolute and without the machine's root. -ENOENT; -ENAMETOOLONG.
 */
int perch__find_dso(const char *name, char *path, size_t size, const struct perch_machine *machine);

#endif
