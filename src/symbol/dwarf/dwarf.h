/* SPDX-License-Identifier: MIT */
/*
 * A reader of debug information (DWARF 2 to 5) that decodes only what frames of single addresses
 * need: the ranges, names and calls of functions, and rows of the line tables. It reads bytes of
 * the file when they are first needed. What it does not understand is -ENOTSUP.
 *
 *	dwarf_sections.c       bytes of the file
 *	dwarf_abbreviations.c  the layout of entries
 *	dwarf_entries.c        attributes of an entry, texts, address ranges
 *	dwarf_walk.c           entries that are passed over
 *	dwarf_lines.c          line tables
 *	dwarf_units.c          units and their functions
 *	dwarf_split.c          units in .dwo and .dwp files
 *	dwarf_names.c          names of functions, with the scopes around them
 *	dwarf_variables.c      variables by name, with members of their types
 *	dwarf_locations.c         where they are at an address
 *	dwarf_inlined.c        all inlined functions, and the code of a line
 *	dwarf_frames.c         inlined functions, and the frames of an address
 *
 * It is the only reader: libdw (elfutils) is in tests alone, as the oracle: same_lines.c and
 * source_lines.py of tests/interop. Measured on 2026-11-28 with gcc -O2 and libdw 0.188:
 *
 * - 506,001 addresses of 510 programs, libraries and debug files (of Debian, Rust and Go; gcc and
 *   clang with DWARF 2 to 5, split and compressed): all frames are equal. 0.8 s of CPU time, libdw
 *   1.5 s. 10,000 addresses of libc: 0.075 s and 25 MB, libdw 0.14 s and 43 MB.
 * - Call frame information (unwind/cfi.c): 9,702,836 rows of 2,440 files are equal, but for 8 in
 *   which libdw is wrong. 6.1 s, libdw 5.7 s.
 * - libdw 0.188 reads neither zstd, .dwp files nor units of types in .dwo files, and allocates what
 *   a file claims. 2,450 lines made copies of ELF files for it, or checked them.
 */
#ifndef PERCH_SYMBOL_DWARF_H
#define PERCH_SYMBOL_DWARF_H

#include <perch/variables.h>

#include "base/files/cursor.h"
#include "symbol/decompress_thread.h"
#include "scopes.h"

/* ---- dwarf_sections.c ---- */

enum dwarf_section_id {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	NR_DWARF_SECTIONS,
};

/*
 * A section. Bytes are read in blocks, when they are needed, and a compressed section as a whole.
 * A NUL follows the last byte.
 */
struct dwarf_section {
	uint8_t *bytes;
	size_t size; /* 0: the file does not have it */
	void *mapping;
	size_t mapping_size;
	uint64_t *have; /* a bit per block; NULL: all bytes are there */
	int fd;
	uint64_t offset;	  /* in the file */
	uint64_t compressed_size; /* 0: it is not compressed, or already decompressed */
	enum compression compression;
	struct decompress_job *job; /* NULL: no other thread decompresses it */
	bool lacks_memory;	    /* it could not be decompressed without memory */
};

/*
 * Finds the sections. suffix: of their names, "" or ".dwo". Those of relocatable files are
 * relocated. Returns 0, -EBADMSG: they are damaged, -EFBIG, -EINVAL, -ENOTSUP or -ENOMEM, as
 * perch__elf_load_section() and perch__elf_relocate().
 */
int perch__dwarf_sections(struct dwarf_section section[NR_DWARF_SECTIONS], struct elf_file *file,
			  const char *suffix);
/* Reads all sections, so that the file can be closed. Returns 0 or -EBADMSG. */
int perch__dwarf_load_sections(struct dwarf_section section[NR_DWARF_SECTIONS]);
/* Begins to decompress, in the thread, the sections that nearly all lookups need. */
void perch__dwarf_start_sections(struct dwarf_section section[NR_DWARF_SECTIONS],
				 struct decompress_thread *thread);
void perch__dwarf_free_sections(struct dwarf_section section[NR_DWARF_SECTIONS]);
/* Returns bytes of a section, or NULL if the section does not have them or cannot be read. */
const uint8_t *perch__dwarf_bytes(struct dwarf_section *section, uint64_t offset, uint64_t size);
/* Copies bytes without keeping them. Returns how many there are, at most size. */
size_t perch__dwarf_peek(struct dwarf_section *section, uint64_t offset, void *bytes, size_t size);
/* Returns a text, or NULL. */
const char *perch__dwarf_text(struct dwarf_section *section, uint64_t offset);

/* ---- dwarf_abbreviations.c ---- */

/* What the sizes of forms depend on. */
struct dwarf_format {
	uint8_t version, address_size, offset_size;
};

/* Reads the length of a unit or line table, which says how long offsets are. */
static inline uint64_t perch__read_unit_length(struct cursor *cursor, struct dwarf_format *format)
{
	uint64_t length = perch__read(cursor, 4);

	format->offset_size = length == UINT32_MAX ? 8 : 4;
	return length == UINT32_MAX ? perch__read(cursor, 8) : length;
}

/* Returns false if the version that follows the length is not understood. */
static inline bool perch__read_version(struct cursor *cursor, struct dwarf_format *format)
{
	uint64_t version = perch__read(cursor, 2);

	format->version = (uint8_t)version;
	return version >= 2 && version <= 5;
}

/* The attributes that are decoded. */
enum dwarf_attribute {
	ATTRIBUTE_NONE,
	ATTRIBUTE_SIBLING,
	ATTRIBUTE_LOW_PC,
	ATTRIBUTE_ENTRY_PC,
	ATTRIBUTE_HIGH_PC,
	ATTRIBUTE_RANGES,
	ATTRIBUTE_NAME,
	ATTRIBUTE_LINKAGE_NAME,
	ATTRIBUTE_ORIGIN,
	ATTRIBUTE_SPECIFICATION,
	ATTRIBUTE_CALL_FILE,
	ATTRIBUTE_CALL_LINE,
	ATTRIBUTE_STMT_LIST,
	ATTRIBUTE_COMP_DIR,
	ATTRIBUTE_PRODUCER,
	ATTRIBUTE_DWO_NAME,
	ATTRIBUTE_STR_OFFSETS_BASE,
	ATTRIBUTE_ADDR_BASE,
	ATTRIBUTE_RNGLISTS_BASE,
	ATTRIBUTE_RANGES_BASE, /* DW_AT_GNU_ranges_base */
	ATTRIBUTE_DWO_ID,      /* DW_AT_GNU_dwo_id */
	ATTRIBUTE_LANGUAGE,
	ATTRIBUTE_DECL_FILE,
	ATTRIBUTE_DECL_LINE,
	ATTRIBUTE_DECL_COLUMN,
	ATTRIBUTE_OBJECT_POINTER,
	/* of variables and types */
	ATTRIBUTE_TYPE,
	ATTRIBUTE_LOCATION,
	ATTRIBUTE_FRAME_BASE,
	ATTRIBUTE_CONST_VALUE,
	ATTRIBUTE_BYTE_SIZE,
	ATTRIBUTE_ENCODING,
	ATTRIBUTE_MEMBER_OFFSET, /* DW_AT_data_member_location */
	ATTRIBUTE_BIT_SIZE,
	ATTRIBUTE_BIT_OFFSET, /* DW_AT_data_bit_offset */
	ATTRIBUTE_DECLARATION,
	ATTRIBUTE_LOCLISTS_BASE,
	NR_ATTRIBUTES,
};

/* What a step skips after its bytes. */
enum dwarf_skip {
	SKIP_NONE,
	SKIP_LEB,
	SKIP_TEXT,
	SKIP_BLOCK,   /* a number, and as many bytes */
	SKIP_SIBLING, /* a number, which refers to the sibling */
};

/* How bytes are skipped: those of an attribute, or of several. */
struct dwarf_step {
	uint16_t bytes;
	uint8_t skip; /* enum dwarf_skip */
	uint8_t size; /* bytes of its number; 0: LEB128 */
};

/* Decodes an attribute. */
struct dwarf_spec {
	uint16_t bytes;	 /* that are skipped before it */
	uint16_t form;	 /* 0: nothing follows them */
	uint16_t wanted; /* enum dwarf_attribute */
	struct dwarf_step step;
	int64_t constant; /* of DW_FORM_implicit_const */
};

/* Kinds of entries that walks stop at or go into: bits. */
enum dwarf_kind {
	KIND_FUNCTION = 1, /* with addresses */
	KIND_NAMESPACE = 2,
	KIND_BLOCK = 4, /* a part of a function */
	KIND_INLINED = 8,
	KIND_SCOPE = 16, /* see perch__is_scope() */
	KIND_OTHER = 32,
	KIND_ALL = 63,
};

struct abbreviation {
	uint32_t spec, nr_specs;	/* in the table */
	uint32_t address, nr_addresses; /* of these, what decodes addresses and sibling alone */
	uint32_t step, nr_steps;
	uint16_t tag; /* 0: there is no such abbreviation */
	uint8_t kind; /* bits of enum dwarf_kind */
	bool has_children;
	uint16_t size;	  /* of an entry, if all are as long; else 0 */
	uint16_t sibling; /* where a reference in 4 bytes to the sibling is in it; 0: nowhere */
};

struct abbreviations {
	uint64_t offset;
	struct dwarf_format format;
	struct abbreviation *code; /* by code */
	size_t nr_codes;
	struct dwarf_spec *spec;
	size_t nr_specs, specs_capacity;
	struct dwarf_step *step;
	size_t nr_steps, steps_capacity;
	uint64_t searched; /* bytes, by perch__abbreviation_find(): limited */
};

/* Decodes a table. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__abbreviations_read(struct abbreviations *table, struct dwarf_section *section,
			      uint64_t offset, struct dwarf_format format);
void perch__abbreviations_clear(struct abbreviations *table);
/* Finds one abbreviation without decoding the table. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__abbreviation_find(struct abbreviations *table, struct dwarf_section *section,
			     uint64_t offset, struct dwarf_format format, uint64_t code);
/* Sets form and step. Returns false if the form is not understood. */
bool perch__dwarf_form(struct dwarf_spec *spec, uint64_t form, struct dwarf_format format);
/* If values of the form refer to entries of the same unit. */
bool perch__is_reference(unsigned form);

static inline const struct abbreviation *perch__abbreviation(const struct abbreviations *table,
							     uint64_t code)
{
	return code < table->nr_codes && table->code[code].tag ? &table->code[code] : NULL;
}

/* ---- dwarf_entries.c ---- */

struct dwarf_value {
	uint16_t form; /* 0: the entry does not have it */
	union {
		uint64_t number;
		const char *text;     /* of DW_FORM_string */
		const uint8_t *block; /* of forms with bytes: their number, then the bytes */
	};
};

/* The decoded attributes of an entry. */
struct dwarf_entry {
	uint64_t has; /* bits of enum dwarf_attribute */
	struct dwarf_value value[NR_ATTRIBUTES];
};

struct dwarf_function;
struct dwarf_inlined;
struct dwarf_lines;

struct dwarf_range {
	uint64_t start, end;
};

struct dwarf_unit {
	uint64_t offset, end; /* in .debug_info */
	uint64_t abbreviations_offset;
	uint64_t low_pc, addr_base, str_offsets_base, rnglists_base, loclists_base;
	uint64_t ranges_base, rnglists_start; /* what offsets of range lists are relative to */
	struct dwarf *dwarf;		      /* that has it */
	struct dwarf_format format;
	uint8_t header_size;
	bool not_understood;
	bool is_loaded;	  /* all bytes are in memory */
	bool split_asked; /* its split unit was searched */
	bool is_read;	  /* the members below are set */
	bool has_functions, all_listed;
	bool of_gcc;
	int error;	/* of reading */
	uint64_t first; /* entry below the unit; 0: none */
	const struct abbreviations *abbreviations;
	struct dwarf_lines *lines; /* NULL: not read */
	struct dwarf_value stmt_list;
	const char *directory;
	uint64_t language; /* DW_LANG_*, or 0 */
	/* of a skeleton unit: the id and name of the split unit, which is NULL if it is missing */
	uint64_t split_id;
	struct dwarf_value split_name; /* .form is 0: it is no skeleton */
	struct dwarf_unit *split;
	struct dwarf_unit *skeleton;	 /* of a split unit */
	struct dwarf_function *function; /* sorted */
	size_t nr_functions, functions_capacity;
	uint32_t nr_range_steps; /* limited */
	struct scopes scopes;
};

struct dwarf_unit_range {
	uint64_t start, end;
	uint32_t unit;
};

/* The error if an element cannot be added to an array. */
#define DWARF_APPEND_ERROR(nr, most) ((size_t)(nr) < (most) ? -ENOMEM : -ENOTSUP)

struct dwarf {
	struct dwarf_section *section[NR_DWARF_SECTIONS];
	struct dwarf_section *own; /* sections that are freed with it */
	struct dwarf *alternative; /* what several debug files share; NULL: there is none */
	struct dwarf *split;	   /* a list of split units, by .next */
	struct dwarf *next;
	/* Opens the split unit of a skeleton unit, and sets .split. */
	void (*open_split)(void *context, struct dwarf_unit *skeleton);
	void *context;
	bool swapped;
	bool has_gaps;		 /* of a unit, the addresses are not known */
	bool lacks_memory;	 /* what is not understood may only lack memory */
	bool is_damaged;	 /* some frames lack what was not understood */
	uint64_t nr_range_steps; /* limited */
	struct dwarf_unit *unit; /* by offset */
	size_t nr_units, units_capacity;
	struct dwarf_unit_range *unit_range; /* sorted */
	size_t nr_unit_ranges, unit_ranges_capacity;
	struct dwarf_inlined *inlined;
	size_t nr_inlined, inlined_capacity;
	struct dwarf_range *range; /* of inlined functions that have several */
	size_t nr_ranges, ranges_capacity;
	struct abbreviations **abbreviations;
	size_t nr_abbreviations, abbreviations_capacity;
	struct perch__hash_table by_offset; /* of abbreviations */
	struct scope_names names;	    /* of functions */
};

/* Reads a value. Returns false if it is not understood. */
bool perch__dwarf_value(struct cursor *cursor, const struct dwarf_spec *spec,
			struct dwarf_value *value);
/*
 * Decodes the attributes of an entry. cursor: after the code of its abbreviation; moves to the next
 * entry. Returns 0 or -ENOTSUP.
 */
int perch__dwarf_entry(const struct abbreviations *table, const struct abbreviation *abbreviation,
		       struct cursor *cursor, struct dwarf_entry *entry);
/* Decodes addresses and sibling alone. */
int perch__dwarf_addresses(const struct abbreviations *table,
			   const struct abbreviation *abbreviation, struct cursor *cursor,
			   struct dwarf_entry *entry);
/* Returns the offset of the next sibling in the unit, or 0. */
uint64_t perch__dwarf_sibling(const struct dwarf_entry *entry);
/* *text is NULL if there is no text. Returns 0 or -ENOTSUP. */
int perch__dwarf_value_text(struct dwarf *dwarf, const struct dwarf_unit *unit,
			    const struct dwarf_value *value, const char **text);
/* Returns false if the attribute is missing or not a number. */
bool perch__dwarf_number(const struct dwarf_entry *entry, enum dwarf_attribute attribute,
			 uint64_t *number);
/* A reference to the file that several debug files share. */
#define IN_ALTERNATIVE (1ull << 63)
/* Returns the bytes of a block or an expression of a unit; at is NULL if it is none. */
struct cursor perch__dwarf_block(const struct dwarf_unit *unit, const struct dwarf_value *value);
/* Returns the offset in .debug_info that an attribute refers to, or 0. */
uint64_t perch__dwarf_reference(const struct dwarf_unit *unit, const struct dwarf_value *value);
/*
 * Returns the entry that alone has the name of a function, as an offset in .debug_info; 0 if the
 * entry may have one itself.
 */
uint64_t perch__dwarf_origin(const struct dwarf_unit *unit, const struct dwarf_entry *entry);
/* Returns 0 or -ENOTSUP. */
int perch__dwarf_address(struct dwarf *dwarf, const struct dwarf_unit *unit,
			 const struct dwarf_value *value, uint64_t *address);

/* Called for each range of an entry that is not empty. Returns 0 or a negative errno. */
typedef int dwarf_range_function(void *context, uint64_t start, uint64_t end);
/* Returns 0, -ENOTSUP, or what the function returned. */
int perch__dwarf_ranges(struct dwarf *dwarf, struct dwarf_unit *unit,
			const struct dwarf_entry *entry, dwarf_range_function *function,
			void *context);

/* ---- dwarf_walk.c ---- */

/* Entries that follow each other, and which of them are of interest. */
struct dwarf_walk {
	const struct abbreviations *table;
	struct cursor cursor;
	const uint8_t *start;  /* of the unit */
	const uint8_t *entry;  /* where it stopped; the cursor is after its code */
	unsigned stops, goes;  /* the kinds that it stops at, and goes into */
	bool goes_if_unlinked; /* also into entries that do not say where their siblings are */
	size_t depth;
};

/*
 * Moves to the next entry of a kind that the walk stops at; *abbreviation is NULL at the end.
 * Returns 0 or -ENOTSUP.
 */
int perch__dwarf_next(struct dwarf_walk *walk, const struct abbreviation **abbreviation);
/* Skips the bytes of a step. Returns the reference to the sibling that it has, or 0. */
uint64_t perch__dwarf_step(struct cursor *cursor, const struct dwarf_step *step);
/* Skips the attributes of an entry. Returns the value of DW_AT_sibling; 0 if it has none. */
uint64_t perch__dwarf_skip(const struct abbreviations *table,
			   const struct abbreviation *abbreviation, struct cursor *cursor);
/*
 * Goes into the entry that the walk stopped at, or passes over what is inside of it. sibling: the
 * value of DW_AT_sibling, or 0. The cursor must be after its attributes. Returns 0 or -ENOTSUP.
 */
int perch__dwarf_pass(struct dwarf_walk *walk, const struct abbreviation *abbreviation,
		      uint64_t sibling);

/* ---- dwarf_lines.c ---- */

/*
 * Finds the line of an address, in the line table of a unit. *file and *line are not changed if the
 * table does not have the address. Returns 0, -ENOMEM or -ENOTSUP.
 */
int perch__dwarf_line(struct dwarf_unit *unit, uint64_t address, const char **file, uint32_t *line);
/* Sets *has if the line table has a row in a range of addresses. Returns 0 or an errno, as above.
 */
int perch__dwarf_has_row(struct dwarf_unit *unit, uint64_t start, uint64_t end, bool *has);
/* Finds the address of the row after that of an address; `end` if there is none before. Returns 0
 * or an errno, as above. */
int perch__dwarf_next_row(struct dwarf_unit *unit, uint64_t address, uint64_t end, uint64_t *next);
/* A search for the addresses of a line. */
struct line_search {
	const char *source; /* the end of a path */
	uint32_t line;
	int (*visit)(void *context, uint64_t address);
	void *context;
	bool has_file; /* set: a unit has the file */
	uint32_t next; /* set: the next line with code, or 0 */
};
/* Visits each address of a unit that is read where the rows of the line begin. Returns 0, what
 * visit returned, or -ENOMEM. */
int perch__dwarf_visit_unit_line(struct dwarf_unit *unit, struct line_search *search);
/* Returns a relative path without the ./ before it. */
static inline const char *perch__relative_path(const char *path)
{
	return strncmp(path, "./", 2) || !path[2] ? path : path + 2;
}

/* Sets *file to the path of a file of the line table, or to NULL. */
int perch__dwarf_file(struct dwarf_unit *unit, uint64_t index, const char **file);
void perch__dwarf_free_lines(struct dwarf_lines *lines);

/* ---- dwarf_units.c ---- */

/* Decodes a unit's header, of which some bytes follow. left: up to the end of the section. Returns
 * false if the list of units ends here. */
bool perch__dwarf_header(struct dwarf_unit *unit, struct cursor *cursor, uint64_t left, int *type);

struct dwarf_function {
	uint64_t start, end; /* one range: a function may have several */
	uint64_t entry;	     /* offset in .debug_info */
	uint64_t origin;     /* the entry with its name, see perch__dwarf_origin(); 0: its own */
	uint32_t first, nr;  /* in dwarf.inlined */
	bool is_listed;
	const char *name;
};

/* Lists the units and their addresses. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__dwarf_units(struct dwarf *dwarf);
void perch__dwarf_free_units(struct dwarf *dwarf);
/* Reads the entries of a unit, on the first call only. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__dwarf_read_unit(struct dwarf *dwarf, struct dwarf_unit *unit);
/* Makes a skeleton unit its split unit, if that is there. Returns the same. */
int perch__dwarf_open_split(struct dwarf_unit **unit);
/* Returns the unit that has what perch__dwarf_reference() returned, or NULL. *offset is made that
 * in the file of the unit. */
struct dwarf_unit *perch__dwarf_unit_at(struct dwarf *dwarf, uint64_t *offset);
/* A cursor at an offset of .debug_info inside of a unit that is read. */
struct cursor perch__dwarf_cursor(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t offset);
/* A walk from there. cursor.at is NULL: no bytes. */
struct dwarf_walk perch__dwarf_walk(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t offset);
/* Finds unit and function of an address; both NULL if there are none. Returns 0 or an errno. */
int perch__dwarf_function(struct dwarf *dwarf, uint64_t address, struct dwarf_unit **unit,
			  struct dwarf_function **function);

/* ---- dwarf_split.c ---- */

/* The parts of sections that have a split unit in a .dwp file; of a .dwo file they begin at 0. */
struct dwarf_parts {
	uint64_t offset[NR_DWARF_SECTIONS], size[NR_DWARF_SECTIONS];
};
/*
 * Finds the split unit of a skeleton unit in sections, and sets .split. own: they, and the memory
 * of the array, are freed with it, also after a failure. Returns 0, -ENODATA: it is not there, or
 * -ENOMEM.
 */
int perch__dwarf_take_split(struct dwarf_unit *skeleton, struct dwarf_section *section, bool own,
			    const struct dwarf_parts *parts);

/* ---- dwarf_names.c ---- */

/* Decodes the entry at an offset of .debug_info. Returns 0 or -ENOTSUP. */
int perch__dwarf_entry_at(struct dwarf_unit *unit, uint64_t offset, struct dwarf_entry *entry,
			  unsigned *tag);
/* Finds the entry that an attribute refers to; *key is not changed without the attribute. Returns 0
 * or -ENOTSUP. */
int perch__dwarf_refer(struct dwarf_unit *unit, const struct dwarf_entry *entry,
		       enum dwarf_attribute attribute, struct scope_key *key);
/* Sets what reads entries for names. */
void perch__dwarf_names(struct dwarf *dwarf);
/* Finds the name of the function of an entry, as perch__scope_name(). */
int perch__dwarf_name(struct dwarf_unit *unit, uint64_t entry, const char **name);

/* ---- dwarf_locations.c: where values are ---- */

/* A section of a file, whole. Arrays of two have .debug_loclists (DWARF 5), and .debug_loc. */
struct dwarf_location_lists {
	uint8_t *bytes;
	size_t size;
};

/* Where a value is. */
struct dwarf_location {
	enum perch_value_location kind;
	unsigned number; /* of a register */
	int64_t offset;
	uint64_t word; /* an address or a constant */
	bool in_frame; /* as in struct perch_variable */
};
/*
 * Finds the place of a variable at an address. function: the entry of the function around it.
 * start: its first address. Returns 0; -ENODATA: it has no value there; -ENOTSUP: it is in several
 * parts, or an expression is not understood; -ENOMEM.
 */
int perch__dwarf_location(struct dwarf_unit *unit, const struct dwarf_location_lists *locations,
			  const struct dwarf_entry *variable, const struct dwarf_entry *function,
			  uint64_t start, uint64_t address, struct dwarf_location *location);

/* ---- dwarf_variables.c: names to values ---- */

/*
 * Finds the value of an expression such as "item->next->name" at an address: as
 * perch_symbols_variable(). error: set after a failure.
 */
int perch__dwarf_variable(struct dwarf *dwarf, const struct dwarf_location_lists *locations,
			  uint64_t address, const char *text, struct perch_variable *variable,
			  struct symbol_error *error);
/* Calls visit with the name of each parameter of the function around an address, in their order.
 * Returns 0, what visit returned, -ENOENT: there is no function; or -ENOTSUP or -ENOMEM. */
int perch__dwarf_parameters(struct dwarf *dwarf, uint64_t address,
			    int (*visit)(void *context, const char *name), void *context);

/* Finds where the first line of a function ends, which begins at an address: after its prologue.
 * Returns 0, -ENOENT: there is none; -ENOTSUP or -ENOMEM. */
int perch__dwarf_after_prologue(struct dwarf *dwarf, uint64_t address, uint64_t *after);

/* ---- dwarf_inlined.c ---- */

/* Visits each copy of each inlined function, with the address where it begins. Returns 0, what
 * visit returned, or -ENOMEM. Units that are not understood are left out. */
int perch__dwarf_visit_inlined(struct dwarf *dwarf, perch_inlined_visit *visit, void *context);
/* The same for the addresses of a line. */
int perch__dwarf_visit_line(struct dwarf *dwarf, struct line_search *search);

/* ---- dwarf_frames.c ---- */

/* Has the sections, which are not freed with it. Returns NULL if out of memory. */
struct dwarf *perch__dwarf_new(bool swapped, struct dwarf_section section[NR_DWARF_SECTIONS]);
/* Finds the sections of a file. Returns 0 or an errno of perch__dwarf_sections(). */
int perch__dwarf_open(struct dwarf **dwarf, struct elf_file *file);
/* Lists the units, once, before frames are found. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__dwarf_list(struct dwarf *dwarf);
/* Returns the number of frames, as perch__debug_frames(), or -ENOMEM or -ENOTSUP. */
int perch__dwarf_frames(struct dwarf *dwarf, uint64_t address,
			struct debug_frame frame[MAX_DEBUG_FRAMES]);
void perch__dwarf_free(struct dwarf *dwarf);

#endif
