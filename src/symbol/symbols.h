/* SPDX-License-Identifier: MIT */
/* The handle of all symbol tables, and what symbols.c, frames.c, names/dso_name.c and
 * names/symbol_name.c share. */
#ifndef PERCH_SYMBOL_SYMBOLS_H
#define PERCH_SYMBOL_SYMBOLS_H

#include "internal.h"

/* The symbols of a DSO. */
struct dso_symbols {
	const struct perch_dso *dso;
	struct table table;
	bool loaded;
	struct table variables;
	bool variables_loaded;
	struct perch__elf_segment *load; /* PT_LOAD segments of its file; NULL before its first use
					  */
	size_t nr_loads;
	bool loads_copied;
	char *name;	  /* the displayed name; NULL before its first use */
	bool has_inlined; /* a name in its map has those of inlined functions */
	bool debug_opened;
	struct debug_info *debug; /* NULL before its first use */
	struct bpf_lines *bpf;	  /* the same, of a BPF program */
	struct symbol_error error, symtab_error;
	struct proof proof;   /* of its file */
	struct perf_map *map; /* of the generated code of a process */
	uint32_t *jit_symbol; /* of a jitdump: index of the struct perch_symbol plus 1, by number */
	size_t nr_jit_symbols;
	uint64_t misses;   /* lookups without a function */
	uint64_t lineless; /* addresses whose line the debug information lacks */
};

#define STUB_SUFFIX "@plt" /* of the names of PLT stubs */

/* A symbol that was found, and its displayed name. */
struct cached_symbol {
	struct perch_symbol symbol; /* first: perch_symbols_name() casts its address */
	const char *name;	    /* NULL before its first use */
};

/* The frames of an offset. */
struct cached_frames {
	const struct dso_symbols *dso;
	uint64_t offset;
	struct perch_symbol_frame *frame;
	int nr;
};

enum { SYMBOLS_PER_CHUNK = 256, TEXT_CHUNK = 1 << 16 };

/* Memory that lives as long as the handle. */
struct chunk {
	struct chunk *next;
	char bytes[];
};

struct perch_symbols {
	struct sources sources;
	bool no_demangle, demangle_kernel;
	struct dso_symbols **dso;
	size_t nr_dsos;
	struct perch__hash_table by_dso;
	struct cached_symbol *
		*chunk; /* of SYMBOLS_PER_CHUNK: the addresses of symbols are stable */
	size_t nr_symbols;
	struct perch__hash_table inlined;	     /* (DSO, name) -> symbol */
	struct perch__hash_table inlined_by_address; /* the same by the address of the name */
	struct perch__hash_table by_offset;
	struct cached_frames *frames;
	size_t nr_frames, frames_capacity;
	struct decompress_thread *thread; /* NULL: none was needed */
	struct chunk *text;
	size_t text_left;
	char *text_next;
};

static inline struct perch_symbol *perch__symbol_at(const struct perch_symbols *symbols,
						    uint32_t index)
{
	return &symbols->chunk[index / SYMBOLS_PER_CHUNK][index % SYMBOLS_PER_CHUNK].symbol;
}

/*
 * ---- kinds/: what differs between the kinds of DSOs, one file for each ----
 *
 * A function that a kind does not need is NULL. An int is 0 or a negative errno, if nothing else
 * is said.
 */
struct dso_kind {
	/* Adds the functions to cached->table, or sets cached->error. Returns 0 or -ENOMEM. */
	int (*load)(struct perch_symbols *symbols, struct dso_symbols *cached);
	/* Finds the function at an offset. NULL: the table has it. */
	const struct perch_symbol *(*find)(struct perch_symbols *symbols,
					   struct dso_symbols *cached, uint64_t offset);
	/* Returns the name that perf displays, which may be in the buffer. NULL: fixed_name, or
	 * that of the file. */
	const char *(*name)(const struct dso_symbols *cached, char *buffer, size_t size);
	/* Opens the file with the code: returns a descriptor. */
	int (*open)(const struct sources *sources, const struct perch_dso *dso,
		    struct symbol_error *error, struct proof *proof);
	/* Opens the separate debug file: returns a descriptor. */
	int (*open_debug)(const struct sources *sources, const struct perch_dso *dso);
	/* Sets cached->debug or cached->bpf. */
	void (*open_lines)(const struct sources *sources, struct dso_symbols *cached);
	/* Reads code->size bytes at code->offset. NULL: those of the opened file. */
	int (*code)(const struct sources *sources, const struct perch_dso *dso,
		    struct perch_code *code, struct perch_error *err);
	const char *no_functions; /* the reason if load() is NULL */
	const char *no_file;	  /* the reason if there is no file; NULL: it is none */
	const char *fixed_name;
	unsigned recorded; /* bits 1 << enum perch_recorded_kind: what a recording may have of it */
};
extern const struct dso_kind perch__kind_file, perch__kind_kernel, perch__kind_module,
	perch__kind_vdso, perch__kind_memory, perch__kind_bpf, perch__kind_jit;
const struct dso_kind *perch__kind_of(const struct perch_dso *dso);
/* open_lines() of files with DWARF */
void perch__open_debug_lines(const struct sources *sources, struct dso_symbols *cached);
/* store.c: adds a symbol, with all members 0. Returns NULL if out of memory. */
struct perch_symbol *perch__symbols_add(struct perch_symbols *symbols, uint32_t *index);
/* Adds the symbol of generated code. Returns NULL if out of memory. */
const struct perch_symbol *perch__symbols_add_generated(struct perch_symbols *symbols,
							const struct perch_symbol *symbol);
/* Returns memory that lives as long as the handle, or NULL. */
char *perch__symbols_alloc_text(struct perch_symbols *symbols, size_t size);
/* Returns the text itself if it is clean and lives as long as the handle, or a clean copy. */
const char *perch__symbols_clean(struct perch_symbols *symbols, const char *text, bool lives);

/* frames.c: opens the debug information of a DSO, on the first call only. Returns NULL if there is
 * none. */
struct debug_info *perch__symbols_debug_info(struct perch_symbols *symbols,
					     struct dso_symbols *cached);
/* Returns what is cached for a DSO, or NULL if out of memory. */
struct dso_symbols *perch__symbols_of_dso(struct perch_symbols *symbols,
					  const struct perch_dso *dso);
/* Loads the table of a DSO, on the first call only. */
void perch__symbols_load(struct perch_symbols *symbols, struct dso_symbols *cached);
/* The same as perch_symbols_find(), but does not count a lookup without a function. */
const struct perch_symbol *perch__symbols_find(struct perch_symbols *symbols,
					       struct dso_symbols *cached, uint64_t offset);
#endif
