/* SPDX-License-Identifier: MIT */
/*
 * From a DSO and an offset to functions, with inlined ones and lines. A table of functions is read
 * when its DSO is first needed, and names are demangled when first shown. A recorded build id
 * decides which file was mapped; without one, device and inode verify a file, and another file
 * that can be the mapped one is used and has the state "unverified". The kernel of this machine is
 * not used for a recording of another one. Files are not trusted: offsets and sizes are checked
 * against the file.
 *
 * The debug information of a DSO is opened when frames of an address in it are first asked for. Of
 * all units only the addresses are decoded, of a unit with an address its functions, of a function
 * with an address what is inlined in it. dwarf/dwarf.h describes the reader. A file calls only
 * files below its own:
 *
 *	variables.c			variables of functions (perch/variables.h)
 *	caller.c			the function of a return address, frames for display
 *	code.c				the code of a DSO
 *	frames.c			the functions at an offset
 *	names/dso_name.c		displayed names of DSOs
 *	opened_files.c			opens files of DSOs for programs
 *	source.c			lines of source files (perch/source.h)
 *	symbols.c			the handle of all tables
 *	names/symbol_name.c		displayed names of functions
 *	recorded.c			functions that the recording has itself
 *	kinds/kinds.c			the kinds of DSOs; each is one file with one interface
 *	  kinds/kernel.c		  the kernel without its modules
 *	  kinds/module.c		  its modules
 *	  kinds/file.c			  files that programs map
 *	  kinds/jit.c			  code of JIT compilers that write a jitdump
 *	  kinds/memory.c		  memory without a file, with a perf map or not
 *	  kinds/vdso.c			  the vdso
 *	  kinds/bpf.c			  code that the kernel generates
 *	debug_info.c			opens the debug information of a DSO
 *	  index/index_frames.c		  frames that were found in it before
 *	  dwarf/split_units.c		  finds the split units of skeleton units
 *	  dwarf/dwp.c			  the index of a .dwp file
 *	  dwarf/dwarf_split.c		  split units
 *	  dwarf/dwarf_frames.c		  inlined functions, and the frames of an address
 *	  dwarf/dwarf_variables.c	  variables by name, and members of their types
 *	    dwarf/dwarf_locations.c	    where they are at an address
 *	    dwarf/dwarf_items.c	    entries of variables and types
 *	  dwarf/dwarf_inlined.c		  all inlined functions, and the code of a line
 *	  dwarf/dwarf_names.c		  entries that names are made of
 *	  dwarf/dwarf_units.c		  units and their functions
 *	  dwarf/dwarf_lines.c		  line tables
 *	    dwarf/dwarf_line_header.c	    their headers
 *	    dwarf/dwarf_line_program.c	    their programs
 *	  dwarf/dwarf_entries.c		  attributes of an entry
 *	  dwarf/dwarf_abbreviations.c	  abbreviations
 *	  dwarf/dwarf_walk.c		  passes over entries by their size
 *	  dwarf/scopes.c		  names from the scopes around an entry
 *	  dwarf/dwarf_sections.c	  bytes of sections, read when they are needed
 *	  elf/elf_relocate.c		  relocates the sections of kernel modules
 *	kernel/code_kernel.c		the code of the kernel
 *	kernel/kallsyms.c		functions of /proc/kallsyms or a copy
 *	  kernel/kallsyms_cache.c	  those of this kernel, in a file
 *	  kernel/module_file.c		  files of kernel modules, and where their code is
 *	  kernel/vmlinux.c		  the ELF file of the kernel
 *	kernel/bpf_lines.c		source lines of BPF programs
 *	load_file.c			opens the file of a DSO and loads its table
 *	  index/index_table.c		  a table that was loaded before
 *	  index/index_file.c		  the files of both
 *	perf_map.c			functions of map files, which grow
 *	  mapped_file.c			  opens the file that a process mapped
 *	  elf/misfit.c			  whether a file can be that file
 *	debuginfod.c			files from servers, once per build id and with a time limit
 *	files.c				build ids, the build id cache, separate debug files
 *	elf/elf_symbols.c		functions of ELF symbol tables
 *	elf/go_functions.c		finds the table of the Go runtime in stripped programs
 *	  elf/go_table.c		  reads it
 *	table.c				the functions of a DSO, by offset
 *	names/demangle.c		demangles, with limits on time and memory
 *	  names/demangle_languages.c	  OCaml, Java and D
 *	elf/elf_compressed.c		files that are compressed, and .gnu_debugdata
 *	elf/code_elf.c			code of ELF files, and the data in it
 *	elf/elf.c			ELF files
 *	decompress_thread.c		decompresses parts of files while symbols are looked up
 *	store.c				symbols and texts that live as long as the handle
 *	error.c				why a DSO has no symbols
 */
#ifndef PERCH_SYMBOL_INTERNAL_H
#define PERCH_SYMBOL_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perch/build_id_cache.h>
#include <perch/jitdump.h>
#include <perch/symbol.h>

#include "base/array.h"
#include "base/files/elf.h"
#include "base/hash_table.h"
#include "base/files/open_file.h"
#include "base/kernel/recorded_process.h"
#include "decompress_thread.h"

#define NO_ENTRY UINT32_MAX

/* ---- table.c: the functions of one DSO ---- */

/*
 * One function. Small, because a table has tens of thousands, most of which are never used. Before
 * perch__table_finish(), a function of unknown size has end == start, and parent is an index in
 * table.limit, or the group of a grouped table.
 */
struct entry {
	uint64_t start, end; /* in the DSO's offsets */
	uint32_t name;	     /* offset in the blob */
	uint32_t parent;     /* index of the function around this one, or NO_ENTRY */
	uint32_t symbol;     /* index of the struct perch_symbol, or NO_ENTRY */
	uint8_t blob_index;
	uint8_t binding, type; /* STB_, STT_ */
	bool plt;	       /* a PLT stub, which calls the function of that name */
};

/* A string table. A NUL follows the last byte. */
struct blob {
	char *bytes;
	size_t size;
	bool borrowed;	  /* not freed with the table */
	const void *file; /* the elf_file and the section of the bytes, while tables are read */
	uint32_t section;
};

enum { MAX_BLOBS = 4 };

struct kallsyms_cache;
struct table {
	struct entry *entry;
	size_t nr, capacity;
	struct blob blob[MAX_BLOBS];
	unsigned nr_blobs;
	uint64_t *limit; /* ends of sections, until perch__table_finish() */
	size_t nr_limits;
	unsigned comparisons;	      /* of names: their number is limited */
	bool of_variables;	      /* not of functions */
	bool of_go;		      /* has those of the function table of the Go runtime */
	bool grouped;		      /* a function of unknown size ends where its group ends */
	struct kallsyms_cache *cache; /* has the functions, in place of entry; borrowed */
	struct index_key *index;      /* where it is stored; NULL: nowhere */
};

/* Returns NULL if out of memory. */
struct entry *perch__table_add(struct table *table);
/* Takes ownership of the bytes, also after a failure. Returns the index of the blob, or -ENOMEM. */
int perch__table_blob(struct table *table, char *bytes, size_t size);
const char *perch__table_name(const struct table *table, const struct entry *entry);
/*
 * Completes a table after the last perch__table_add(): sorts it, ends functions of unknown size at
 * the next function, and selects one of several functions at the same address. Returns 0 or
 * -ENOMEM.
 */
int perch__table_finish(struct table *table);
/* Returns the innermost function around the offset, or NULL. The table has no cache. */
struct entry *perch__table_find(const struct table *table, uint64_t offset);
static inline bool perch__table_has_functions(const struct table *table)
{
	return table->nr || table->cache;
}
void perch__table_free(struct table *table);
/* index/index_table.c: stores a table that was made from files. A failure has no effect. */
void perch__table_store(struct table *table);

/* ---- elf/elf.c: an ELF file, opened and checked ---- */

/* If a file is the one that was mapped, and why that is not certain or not so. */
struct proof {
	enum perch_symbols_state state;
	enum perch_symbols_reason reason;
	const char *text; /* static; NULL for a verified file */
};
/* Of the kernel or a module: named is a file that the user names, proven a build id or address. */
struct proof perch__kernel_proof(bool named, bool proven);

struct elf_file {
	struct perch__elf elf; /* the sections of modules have code at other offsets */
	int build_id_size;     /* 0 if none */
	uint8_t build_id[20];
	struct proof proof; /* of perch__open_if_same() */
};

/*
 * Takes ownership of fd, also after a failure. Returns 0, -ENOEXEC if it is not an ELF file or
 * corrupt, -ENOMEM or -EIO.
 */
int perch__elf_open(struct elf_file *file, int fd);
int perch__elf_open_image(struct elf_file *file, const void *image, size_t size);
/* Reads the sections, on the first call only. Returns 0, -ENOEXEC or -ENOMEM. */
int perch__elf_sections(struct elf_file *file);
void perch__elf_close(struct elf_file *file);
/*
 * Returns a copy of bytes of the file with a NUL after them, or NULL if they exceed the file or if
 * out of memory.
 */
char *perch__elf_bytes(const struct elf_file *file, uint64_t offset, uint64_t size);
/* Returns the index of a section, or 0, which is never one. */
size_t perch__elf_section(const struct elf_file *file, const char *name, uint32_t type);
size_t perch__elf_section_of_type(const struct elf_file *file, uint32_t type);
bool perch__elf_has_debug_info(struct elf_file *file);
/*
 * True if perch__elf_offset() of a debug file alone is that of the mapped file. Linkers that leave
 * out pages before the code, such as lld, place it at another offset, which the debug file lacks.
 */
bool perch__elf_has_offsets(const struct elf_file *file);
/* Returns the file offset of a virtual address: by the segment around it, or by the section. */
uint64_t perch__elf_offset(const struct elf_file *file, uint64_t address,
			   const struct perch__elf_section *section);
/*
 * Finds the offset of a variable. Memory without bytes in the file (.bss) goes on behind those of
 * its segment. Returns false if there is none, or another segment has bytes at this offset.
 */
bool perch__elf_data_offset(const struct perch__elf_segment *segment, size_t nr, uint64_t address,
			    uint64_t *offset);

/* ---- elf/elf_compressed.c ---- */

/*
 * Opens the ELF file that is compressed in .gnu_debugdata: the symbol table that stripping removed.
 * Returns 0, -ENOENT: it has none, -EBADMSG: it is damaged, -EFBIG: it is too large, -ENOTSUP,
 * -ENOMEM, or another errno.
 */
int perch__elf_open_mini(struct elf_file *mini, const struct elf_file *file);

/* Opens an ELF file, or a copy in memory of one that is compressed as a whole (gzip, xz, zstd).
 * Takes fd. Returns the same. */
int perch__elf_open_compressed(struct elf_file *file, int fd);

/* ---- elf/elf_relocate.c ---- */

/*
 * Relocates the bytes of a section of a relocatable file. A section with code is at the address
 * that is its offset member; others are at 0. Returns 0, -EINVAL: it has relocations that are not
 * supported, -EBADMSG or -ENOMEM.
 */
int perch__elf_relocate(const struct elf_file *file, size_t index, uint8_t *bytes, uint64_t size);

/* ---- elf/elf_symbols.c ---- */

/*
 * Adds the functions of the symbol table in section `index` of file. mapped: the file whose
 * segments map addresses to offsets; it is not `file` if that is a separate debug file. Invalid
 * symbols are skipped. Returns 0 or -ENOMEM.
 */
int perch__elf_symbols(struct table *table, struct elf_file *file, size_t index,
		       const struct elf_file *mapped);
/* Adds a function name@plt for each PLT stub. */
int perch__elf_plt(struct table *table, struct elf_file *file);

/* ---- elf/go_functions.c: the function table of the Go runtime ---- */

/*
 * Adds the functions of a program in Go, also of a stripped one; none if its table is damaged.
 * Returns 0 or -ENOMEM.
 */
int perch__elf_go_functions(struct table *table, const struct elf_file *file);

/* ---- files.c: opens files ---- */

struct sources;

/* Returns rc, a size or a negative errno, after it has set *err for an errno. */
int perch__build_id_result(int rc, const char *what, struct perch_error *err);
/*
 * Finds the build id in a file of ELF notes, such as /sys/kernel/notes. Returns its size, or a
 * negative errno.
 */
int perch__notes_file_build_id(const char *path, uint8_t build_id[20]);
/* Writes the path of a build id below a .build-id directory: "ab/cdef...". */
void perch__build_id_path(const uint8_t *build_id, size_t size, char text[2 * 20 + 2]);
/* Trailing zeros are ignored: old perf versions pad build ids to 20 bytes. */
bool perch__same_build_id(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);
/* Returns the size of the recorded build id; 0 if it may be that of another file with the path. */
size_t perch__own_build_id_size(const struct perch_dso *dso);

/*
 * Opens the separate debug file of a DSO, found by build id or by .gnu_debuglink: one with debug
 * information, or else one with symbols. file: NULL if the file itself cannot be opened; then only
 * the build id is used. Returns 0, or -ENOENT: not found.
 */
int perch__open_debug(struct elf_file *debug, const struct sources *sources,
		      const struct perch_dso *dso, const struct elf_file *file);
/* The root directory of the process that mapped the DSO. Returns false if files below it are not
 * searched. The process may have ended. */
bool perch__root_of_process(const struct sources *sources, const struct perch_dso *dso,
			    char path[32]);
/* Opens a file of the build id cache. Returns a descriptor or a negative errno. */
int perch__open_build_id_cache(const struct sources *sources, const uint8_t *build_id,
			       size_t build_id_size, enum perch_cached_file kind);

/* ---- error.c: why a DSO has no symbols ---- */

struct symbol_error {
	char text[200];
	enum perch_symbols_reason reason;
};
void perch__set_symbol_error(struct symbol_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same with a reason that programs decide by. */
void perch__set_symbol_reason(struct symbol_error *error, enum perch_symbols_reason reason,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "no such file", "not an ELF file"... */
void perch__set_symbol_errno(struct symbol_error *error, int errnum);

/* ---- mapped_file.c: the file that a process mapped ---- */

struct sources;
/*
 * Returns NULL if a file can be the mapped one, by its architecture and its segments; or what of it
 * cannot be that, a static text that follows "the file at its path".
 */
const char *perch__misfit(const struct elf_file *file, enum perch_arch arch,
			  const struct perch_dso *dso);
/*
 * Opens an executable or shared object if it is the file of the DSO, by its build id, or without
 * one if it can be; file->proof says if that is certain. Takes fd, which may be a negative errno.
 * Returns 0; -ESTALE for another file, then file has only the proof; -EXDEV or -ESTALE if that is
 * not certain and only certain files are wanted; -ELIBBAD if it is neither; or the errno of
 * perch__elf_open().
 */
int perch__open_if_same(struct elf_file *file, int fd, const struct sources *sources,
			const struct perch_dso *dso);
/* Opens the file at its path, or as a process that still runs sees it, one that is verified if
 * there is one. Returns the same. */
int perch__open_mapped(struct elf_file *file, const struct sources *sources,
		       const struct perch_dso *dso, struct symbol_error *error);

struct statx_timestamp;
/* A time of a file in ns since 1970. */
uint64_t perch__ns_of(const struct statx_timestamp *time);

/* ---- kernel/module_file.c: files of kernel modules ---- */

enum { MODULE_NAME_SIZE = 64 };
/* The name of a path: "/lib/modules/.../snd-hda.ko.xz" and "[snd_hda]" are both snd_hda. */
void perch__module_name(const char *path, char name[MODULE_NAME_SIZE]);
/* Returns the address of the loaded module from its line in /proc/modules, or 0 if unknown. */
uint64_t perch__module_start(const char *name);
/* Reads the build id of the loaded module. Returns its size, or a negative errno. */
int perch__module_build_id(const char *name, uint8_t build_id[20]);

struct module_file {
	struct elf_file file; /* a copy, if it is compressed */
	int installed;	      /* descriptor of the file, or -1 */
	char path[PATH_MAX];  /* of the file; with the build id cache that of the DSO */
};
/*
 * Opens the file of a module, if it has the recorded build id, or without one the recorded release.
 * The offset member of a section with code is its recorded address; sections whose address is not
 * known are not code. Returns 0, or a negative errno; error is not set if there is no file.
 */
int perch__open_module(struct module_file *module, const struct sources *sources,
		       const struct perch_dso *dso, struct symbol_error *error);
void perch__close_module(struct module_file *module);
/* Opens its separate debug file, with the same sections. module: NULL if that cannot be opened.
 * Returns 0 or -ENOENT. */
int perch__open_module_debug(struct elf_file *debug, const struct sources *sources,
			     const struct perch_dso *dso, struct module_file *module,
			     struct symbol_error *error);

/* Adds the functions of the file of a module. Returns 0 or -ENOMEM. */
int perch__load_module_file(struct table *table, const struct sources *sources,
			    const struct perch_dso *dso, struct symbol_error *error,
			    struct proof *proof);

/* ---- debuginfod.c: files from the servers in DEBUGINFOD_URLS ---- */

struct debuginfod;
enum debuginfod_kind { DEBUGINFOD_DEBUG, DEBUGINFOD_EXECUTABLE };
/* Sets *result to NULL if no servers are set. Returns 0 or -ENOMEM. */
int perch__debuginfod_new(struct debuginfod **result);
void perch__debuginfod_free(struct debuginfod *debuginfod);
void perch__debuginfod_set_progress(struct debuginfod *debuginfod,
				    perch_download_progress *function, void *context);
/*
 * Asks for a file by its build id, once. dso: for which one. Returns a descriptor, or -ENOENT;
 * error has the reason if the answer is not certain. The content is not checked.
 */
int perch__debuginfod_find(struct debuginfod *debuginfod, const struct perch_dso *dso,
			   enum debuginfod_kind kind, const uint8_t *build_id, size_t size,
			   struct symbol_error *error);
/*
 * Opens the debug file of a DSO. There is one request for each build id. file: the mapped file, or
 * NULL. Returns 0, or -ENOENT; error has the reason if the answer is not certain.
 */
int perch__open_debuginfod(struct elf_file *debug, struct debuginfod *debuginfod,
			   const struct perch_dso *dso, const struct elf_file *file,
			   struct symbol_error *error);

/* ---- load_file.c, kernel/kallsyms.c: load the table of a DSO ---- */

struct kallsyms;
struct debuginfod;
struct sources {
	char *root, *kallsyms_path, *vmlinux_path;
	struct perch_build_id_cache *cache; /* NULL: none */
	bool no_vmlinux;
	bool verified_only; /* files that are not certain to be the mapped ones are refused */
	enum perch_arch arch;
	bool foreign; /* this machine's kernel is used only if its build id is the recorded one */
	uint64_t recorded_at;	   /* the end of the recording in ns since 1970; 0 if unknown */
	uint64_t recorded_since;   /* its first sample; 0 if unknown */
	bool any_owner;		   /* of map files */
	bool recorded;		   /* DSOs are those of a recording, not of processes that run */
	char *release;		   /* of the recorded kernel; NULL if unknown */
	struct kallsyms *kallsyms; /* list of the files read so far */
	bool no_kallsyms_cache;	   /* it is damaged */
	struct debuginfod *debuginfod; /* NULL: not used */
	/* the features BPF_PROG_INFO and BPF_BTF of the recording */
	const uint8_t *bpf_programs, *btf;
	size_t bpf_programs_size, btf_size;
	const struct perch_recorded_file *recorded_file; /* functions of the recording itself */
	size_t nr_recorded_files;
	int (*open_file)(void *context, const struct perch_dso *dso); /* a descriptor; NULL: none */
	void *open_context;
};
/* True for a recording that does not say when it was made: no file is refused for its time then. */
static inline bool perch__is_undated(const struct sources *sources)
{
	return sources->recorded && !sources->recorded_at;
}
/* recorded.c: adds the functions that the recording has for a DSO. Returns 0 or -ENOMEM. */
int perch__load_recorded(struct table *table, const struct sources *sources,
			 const struct perch_dso *dso, struct symbol_error *error);
/* load_file.c: adds the functions or variables of a file and of its debug file, or of its
 * .gnu_debugdata. Either may be NULL. Without a symbol table, adds those of the function table of
 * the Go runtime. */
int perch__load_elf(struct table *table, struct elf_file *file, struct elf_file *debug);
/*
 * Returns 0 or -ENOMEM. If the table is empty, error has the reason. symtab_error: why functions
 * that the file has are not in the table. *proof is 0 at first.
 */
int perch__load_file(struct table *table, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error,
		     struct symbol_error *symtab_error, struct proof *proof);
int perch__load_kernel(struct table *table, struct sources *sources, const struct perch_dso *dso,
		       struct symbol_error *error, struct proof *proof);
/*
 * Returns the recorded address of the kernel minus that in a file, which has _text, _stext or both
 * (0: no such symbol). The recorded symbol is _text; or _stext, if the kernel that was recorded
 * lists only that. On some architectures, such as arm64, they differ. A kernel is moved by a
 * multiple of 2 MiB.
 */
static inline uint64_t perch__kernel_shift(uint64_t recorded, uint64_t text, uint64_t stext)
{
	const uint64_t alignment = 2 << 20;
	uint64_t by_text = recorded - text, by_stext = recorded - stext;

	if (!text || (stext && by_text % alignment && by_stext % alignment == 0))
		return by_stext;
	return by_text;
}
/*
 * kernel/vmlinux.c: from the file of sources->vmlinux_path, or from one with the recorded build id.
 * If there is none, error stays as it is.
 */
int perch__load_vmlinux(struct table *table, const struct sources *sources,
			const struct perch_dso *dso, struct symbol_error *error,
			struct proof *proof);
/* Adds the functions of a module that the kernel or the user's kallsyms file has. Returns the same.
 */
int perch__load_listed_module(struct table *table, struct sources *sources,
			      const struct perch_dso *dso, struct symbol_error *error);
/* Opens the file of a DSO of the kind FILE. Returns 0 or a negative errno. */
int perch__open_file(struct elf_file *file, const struct sources *sources,
		     const struct perch_dso *dso, struct symbol_error *error);
/* Opens the separate debug file of a mapped file. Returns a descriptor or -ENOENT. */
int perch__open_debug_of(const struct sources *sources, const struct perch_dso *dso);
/* The same from the servers of debuginfod, if the file itself has no debug information. Only of the
 * kind FILE. */
int perch__download_debug_of(const struct sources *sources, const struct perch_dso *dso,
			     struct symbol_error *error);
/*
 * The same for the file that several debug files share (.gnu_debugaltlink), of the kind FILE; with
 * its build id. It is in debug_info.c.
 */
int perch__open_shared_debug_of(const struct sources *sources, const struct perch_dso *dso,
				uint8_t build_id[20], size_t *size);
void perch__kallsyms_free(struct kallsyms *list);

/* ---- kernel/kallsyms_cache.c ---- */

/*
 * Finds the function of the kernel around an address: an entry of a table, or NULL. Returns 0, or
 * -EIO if the part of the file that has it is damaged or cannot be read.
 */
int perch__kallsyms_cache_find(struct kallsyms_cache *cache, uint64_t address, struct table **table,
			       struct entry **entry);
/* The functions of a table that takes the place of the cache keep the symbols that were made. */
void perch__kallsyms_cache_leave(const struct kallsyms_cache *cache, const struct table *table);

/*
 * Opens the ELF file of the recorded kernel. *shift is the recorded address of the kernel minus
 * that in the file. Returns 0 or a negative errno.
 */
int perch__open_vmlinux(struct elf_file *file, const struct sources *sources,
			const struct perch_dso *dso, uint64_t *shift);

/* ---- kernel/bpf_lines.c: source lines of the functions of BPF programs ---- */

struct bpf_lines;
/* Returns NULL if the recording has no lines of the function that is the DSO, or out of memory. */
struct bpf_lines *perch__bpf_lines_open(const struct sources *sources, const struct perch_dso *dso);
/* Sets file and line of an address, if they are known. The text lives as long as the sources. */
bool perch__bpf_line(const struct bpf_lines *lines, uint64_t address, const char **file,
		     uint32_t *line);

/* ---- debug_info.c: debug information of a DSO ---- */

struct debug_info;
/* Texts live as long as the debug information. */
struct debug_frame {
	const char *function; /* linkage name, or name; NULL if unknown */
	const char *file;     /* NULL if unknown */
	uint32_t line;	      /* 0 if unknown */
	bool lacks_functions; /* the file with the functions of the unit is missing */
};
enum { MAX_DEBUG_FRAMES = 128 };
/* Opens the debug information of a DSO of the kind FILE, KERNEL or MODULE. Without it, no address
 * has frames. Returns NULL if out of memory. */
struct debug_info *perch__debug_open(const struct sources *sources, const struct perch_dso *dso);
/*
 * The same in two parts. The thread decompresses in the meantime; NULL: none. What follows needs
 * the second part, but for perch__debug_free().
 */
struct debug_info *perch__debug_start(const struct sources *sources, const struct perch_dso *dso,
				      struct decompress_thread *thread);
void perch__debug_complete(struct debug_info *info);
/* False if there is no debug information, or if it cannot be read. */
bool perch__debug_is_open(const struct debug_info *info);
/* Returns what is wrong with debug information that the DSO has, or NULL. */
const char *perch__debug_error(const struct debug_info *info);
/*
 * Finds the functions at an offset, innermost first: the inlined ones, and last the function that
 * contains them. Returns their number; 0 without debug information of the offset; or -ENOMEM.
 */
int perch__debug_frames(struct debug_info *info, uint64_t offset,
			struct debug_frame frame[MAX_DEBUG_FRAMES]);
void perch__debug_free(struct debug_info *info);

/* ---- perf_map.c: functions of a JIT compiler, from /tmp/perf-PID.map ---- */

struct map_function {
	uint64_t start, end;
	const char *name; /* lives as long as the map */
	uint32_t symbol;  /* index of the struct perch_symbol, or NO_ENTRY */
};

struct perf_map;
/* True, with the process, if the DSO is the generated code of a process. */
bool perch__perf_map_pid(const struct perch_dso *dso, unsigned *pid);
/* The name of a file without its directory. */
static inline const char *perch__base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
/* "[JIT] tid 7" if the name of the file has the format, which reads the number; else its name. */
const char *perch__name_of_generated(const struct perch_dso *dso, const char *format, char *buffer,
				     size_t size);
/*
 * Finds a function. Reads what the file has in addition to the last time, but not at each call.
 * *map is NULL at first. Returns NULL if no function covers the address; if there are no functions
 * at all, error has the reason.
 */
struct map_function *perch__perf_map_find(struct perf_map **map, const struct sources *sources,
					  const struct perch_dso *dso, unsigned pid,
					  uint64_t address, struct symbol_error *error);
/* Of a map file in which functions were found. */
struct proof perch__perf_map_proof(const struct sources *sources);
/* Returns the number of lines that are not of the format. */
uint64_t perch__perf_map_damaged(const struct perf_map *map);
void perch__perf_map_free(struct perf_map *map);

/* ---- names/demangle.c ---- */

/*
 * Returns the demangled name, which the caller frees. Returns NULL if the name is not mangled, if
 * out of memory, or if the result is too long.
 */
char *perch__demangle(const char *name);
/* The same for a type: its name begins without _Z. */
char *perch__demangle_type(const char *name);
/* With the types of the parameters, and of the result if it is in the mangled name. C++ only. */
char *perch__demangle_parameters(const char *name, bool with_result);

/* ---- names/demangle_languages.c ---- */

/* The same for names of OCaml, Java and D; perch__demangle() calls it. */
char *perch__demangle_language(const char *name);

#endif
