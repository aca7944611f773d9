/* SPDX-License-Identifier: MIT */
/*
 * Names of functions with the scopes around them. A C++ compiler need not write the linkage name of
 * a function that no other file can call. Its name is then made of the entries around its
 * declaration: namespaces, types and functions. dwarf_names.c reads the entries.
 */
#ifndef PERCH_SYMBOL_SCOPES_H
#define PERCH_SYMBOL_SCOPES_H

#include "symbol/internal.h"

/* An entry. at: its offset; it increases in a unit. */
struct scope_key {
	void *unit; /* NULL: there is no entry */
	uint64_t at;
};

struct scope_entry {
	unsigned tag;
	const char *name, *linkage_name; /* NULL: it has none */
	struct scope_key declaration;	 /* what the entry completes, or is a copy of */
	struct scope_key object;	 /* of a function: its parameter with the object */
};

/* Where a type is defined. */
struct scope_position {
	const char *file;      /* NULL if unknown */
	uint64_t line, column; /* 0 if unknown */
};

/* An entry that may have functions inside of it. */
struct scope {
	uint64_t start, end;
	uint32_t first, nr; /* those directly inside, if they are listed; sorted */
	bool is_listed;
};

/* The scopes of a unit. The first one is the unit itself. */
struct scopes {
	struct scope *scope;
	size_t nr, capacity;
};

/* The functions return 0 or a negative errno; -ENOTSUP: the entry is not understood. */
struct scope_reader {
	int (*describe)(void *context, struct scope_key key, struct scope_entry *entry);
	int (*position)(void *context, struct scope_key key, struct scope_position *position);
	/* Finds the scopes of a unit. On the first call only the unit itself is one. */
	int (*scopes)(void *context, void *unit, struct scopes **scopes);
	/* Adds the scopes directly inside of one, which ends at `end`. */
	int (*list)(void *context, void *unit, struct scopes *scopes, uint64_t start, uint64_t end);
	/* Returns DW_LANG_*, or 0 if it is unknown. */
	unsigned (*language)(void *context, void *unit);
};

struct scope_name;
/* The names that were made. Begin with zeros, reader and context. */
struct scope_names {
	const struct scope_reader *reader;
	void *context;
	struct scope_name *name;
	size_t nr, capacity, bytes;
	struct perch__hash_table by_entry;
};

/* True if an entry with a tag can be a scope. */
bool perch__is_scope(unsigned tag);
bool perch__is_function(unsigned tag);
/* Returns 0, -ENOMEM or -ENOTSUP. */
int perch__scopes_add(struct scopes *scopes, uint64_t start, uint64_t end);
/*
 * Finds the name of the function of an entry, at the first call for the entry only: the linkage
 * name, or the name with its scopes. *name is NULL if it has none, and lives as long as names.
 * Returns 0, -ENOMEM or -ENOTSUP.
 */
int perch__scope_name(struct scope_names *names, struct scope_key key, const char **name);
void perch__scope_names_free(struct scope_names *names);

#endif
