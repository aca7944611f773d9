/* SPDX-License-Identifier: MIT */
/* Finds executables and libraries, and the functions and USDT probes in them. */
#ifndef PERCH_EVENT_ELF_LOOKUP_H
#define PERCH_EVENT_ELF_LOOKUP_H

#include "base/files/elf.h"
#include "event/internal.h"

/* Bytes that end a path and a name without quotes in an event. */
#define PERCH__PATH_ENDS ":,{} \t\n"
#define PERCH__NAME_ENDS PERCH__PATH_ENDS "/+("

/*
 * Finds the file that a name in an event means. A name with a slash is a path. Another name is
 * searched as a program in PATH, then as a library in the usual directories: "libc" finds libc.so
 * or the highest libc.so.*, first in the directory of this architecture. path: absolute, below the
 * machine's root. Returns 0, -ENOENT or -ENAMETOOLONG.
 */
int perch__find_dso(const char *name, char *path, size_t size, const struct perch_machine *machine);

/*
 * Opens an ELF file and reads its sections. path: below the machine's root. Returns 0; the -errno
 * of open(2); -EISDIR or -EACCES when it is not a regular file; -EBADMSG when it is not an ELF file
 * or a corrupt one; -ENOMEM.
 */
int perch__elf_file_open(struct perch__elf *elf, const char *path,
			 const struct perch_machine *machine);
void perch__elf_file_close(struct perch__elf *elf);

/* The result of a search for a function. */
struct perch__elf_function {
	uint64_t offset;    /* of its first instruction in the file */
	uint64_t size;	    /* bytes; 0 if no symbol has it */
	unsigned rank;	    /* 0 when not found; higher for symbols that are more visible */
	bool ambiguous;	    /* several functions have the name and the same rank */
	bool indirect;	    /* STT_GNU_IFUNC: the code at offset selects the function to call */
	bool undefined;	    /* the file refers to the function but does not define it */
	bool has_functions; /* the file has a symbol for at least one function */
	bool stripped;	    /* the file has no .symtab, so local functions have no symbols */
};

/*
 * Finds a function by name: "malloc", or "memcpy@GLIBC_2.2.5" with a version. Returns 0; -ENOENT
 * when not found, where *function has the reason; -EBADMSG, -EFBIG, -ENOMEM or -EIO.
 */
int perch__elf_find_function(const struct perch__elf *elf, const char *name,
			     struct perch__elf_function *function);
/* function: its offset, its size and whether it is indirect; the other members are 0 */
typedef int perch__visit_function(void *context, const char *name,
				  const struct perch__elf_function *function);
/* Calls visit for each function of the file, until it returns an error. */
int perch__elf_visit_functions(const struct perch__elf *elf, perch__visit_function *visit,
			       void *context);
/* Suggests the names of all functions. Names with special characters are in double quotes. */
void perch__elf_suggest_functions(const struct perch__elf *elf,
				  struct perch__suggestions *suggestions);

#define PERCH__NAMES_MAX 256 /* bytes of a list of names */

/* Finds the address of a variable. Returns false if there is none, or if several have the name. */
bool perch__elf_find_variable(const struct perch__elf *elf, const char *name, size_t length,
			      uint64_t *address);

/* Functions with a demangled name. */
struct perch__demangled {
	uint64_t offset; /* of the first one */
	uint64_t size;	 /* of the first one; 0 if no symbol has it */
	bool indirect;	 /* it is STT_GNU_IFUNC */
	bool ambiguous;	 /* there are others, at other offsets */
	/* of ambiguous ones: quoted names that are not, or mangled ones, or "" */
	char names[PERCH__NAMES_MAX];
	/* mangled names of the clones that the compiler has made of functions of the name; or "" */
	char clones[PERCH__NAMES_MAX];
};

/*
 * Finds the functions with a demangled name: "ns::f(int)", or "ns::f", which all functions of an
 * overloaded name have. Returns 0; -ENOENT if there is none; -EFBIG if the file has too many
 * mangled names; other errors as above.
 */
int perch__elf_find_demangled(const struct perch__elf *elf, const struct perch_machine *machine,
			      const char *name, struct perch__demangled *found);

/*
 * Suggests the demangled names of all functions: with parameters if the word has parentheses, and
 * by their last parts if it has no "::". Names with special characters are in quotes.
 */
void perch__elf_suggest_demangled(const struct perch__elf *elf, const struct perch_machine *machine,
				  struct perch__suggestions *suggestions);

/* A site of a USDT probe: the instruction that hits it. */
struct perch__usdt_site {
	uint64_t offset;  /* of the instruction in the file */
	uint64_t counter; /* offset of the 16-bit reference counter in the file; 0 is none */
	/* members of struct perch_event, or NULL; freed by perch__free_usdt_sites() */
	char *arguments, *unread;
};
#define PERCH__USDT_SITES_MAX 256
/*
 * Finds all sites of a USDT probe. Returns 0; -ENOENT when there is no such probe, where
 * suggestions, unless NULL, gets names "PROVIDER:NAME" of the file; -E2BIG for more than
 * PERCH__USDT_SITES_MAX sites; other errors as above.
 */
int perch__elf_find_usdt_sites(const struct perch__elf *elf, const char *provider, const char *name,
			       struct perch__usdt_site site[PERCH__USDT_SITES_MAX], size_t *nr,
			       struct perch__suggestions *suggestions);
void perch__free_usdt_sites(struct perch__usdt_site *site, size_t nr);

/* ---- usdt_arguments.c ---- */

/* The instruction of a probe. */
struct perch__usdt_code {
	uint64_t address, offset; /* in the file */
};

/*
 * Translates the arguments of a USDT note. *arguments: what the kernel can read, in the
 * language of tracefs; *unread: the others, each with its reason; NULL if there are none. free(3)
 * frees both. Returns 0 or -ENOMEM.
 */
int perch__usdt_arguments(const struct perch__elf *elf, struct perch__usdt_code code,
			  const char *text, char **arguments, char **unread);

#endif
