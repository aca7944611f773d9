/* SPDX-License-Identifier: MIT */
/* Address -> name: ELF symbol tables, separate debug files, the kernel, the vdso; names demangled.
 */
#ifndef PERCH_SYMBOL_H
#define PERCH_SYMBOL_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/process.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perch_symbols_options {
	const char *root;     /* where the recorded machine's files are; NULL: "/" */
	const char *kallsyms; /* NULL: /proc/kallsyms of this machine */
	bool no_demangle;
	/*
	 * recorded on another machine, or under another kernel: this one's kernel, modules and vdso
	 * are asked only where a build id proves them the recorded ones; so with root
	 */
	bool foreign;
};

struct perch_symbols;
PERCH_API int perch_symbols_new(struct perch_symbols **symbols,
				const struct perch_symbols_options *options,
				struct perch_error *err);
PERCH_API void perch_symbols_free(struct perch_symbols *symbols);

/* A function. Lives as long as the perch_symbols; one object per function, so pointers can be
 * compared. */
struct perch_symbol {
	/* in the binary's offsets (see struct perch_location); end is exclusive */
	uint64_t start, end;
	const char *name; /* as in the symbol table; not trusted */
	const struct perch_dso *dso;
	uint32_t index; /* dense over all binaries looked at, in the order found */
	char binding;	/* 'g' global, 'l' local, 'w' weak, as the table says */
};

/* The symbol that covers the offset; NULL when there is none. The binary's table is read at the
 * first call for it. */
PERCH_API const struct perch_symbol *perch_symbols_find(struct perch_symbols *symbols,
							const struct perch_dso *dso,
							uint64_t offset);
/* The name for people: demangled (C++, Rust) unless switched off, control characters cleaned.
 * Cached. Never NULL. */
PERCH_API const char *perch_symbols_name(struct perch_symbols *symbols,
					 const struct perch_symbol *symbol);
/* The short name of a binary as perf's reports show it: base name, "[kernel.kallsyms]", "[vdso]",
 * "[module]". Cleaned. */
PERCH_API const char *perch_symbols_dso_name(struct perch_symbols *symbols,
					     const struct perch_dso *dso);
/* Why a binary has no symbols ("no such file", "another build", ...); NULL when it has or was not
 * looked at. */
PERCH_API const char *perch_symbols_error(const struct perch_symbols *symbols,
					  const struct perch_dso *dso);

/* The GNU build id of an ELF file. Returns its size (at most 20) or a negative errno. */
PERCH_API int perch_build_id_of_file(const char *path, uint8_t build_id[20]);
/* Of the running kernel (/sys/kernel/notes), and of a mapped ELF image such as the vdso. */
PERCH_API int perch_build_id_of_kernel(uint8_t build_id[20]);
PERCH_API int perch_build_id_of_image(const void *image, size_t size, uint8_t build_id[20]);

#ifdef __cplusplus
}
#endif
#endif
