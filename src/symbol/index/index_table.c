/* SPDX-License-Identifier: MIT */
/*
 * The table of a DSO in an index: after its head the functions in the order of the table, and then
 * their names.
 */
#include <string.h>

#include "index.h"

/* A smaller table is read as fast from the file itself. */
enum { FEWEST_ENTRIES = 200 };

struct table_head {
	uint64_t nr; /* entries */
	uint64_t of_go;
};

/* A struct entry, without the number of its symbol. */
struct stored_entry {
	uint64_t start, end;
	uint32_t name; /* offset from the first name */
	uint32_t parent;
	uint8_t binding, type, plt, zero[5];
};

bool perch__table_key(struct index_key *key, const struct table *table, const struct elf_file *file,
		      const struct elf_file *debug)
{
	*key = (struct index_key){ 0 };
	strcpy(key->kind, table->of_variables ? "data" : "table");
	return !table->nr && (!file || perch__index_key_add(key, file)) &&
	       (!debug || perch__index_key_add(key, debug));
}

/* ---- reading ---- */

/* Converts the entries. Returns false if one of them is not possible. */
static bool convert_entries(struct table *table, const struct stored_entry *stored, size_t nr,
			    size_t names_size)
{
	for (size_t i = 0; i < nr; i++) {
		const struct stored_entry *from = &stored[i];

		if (from->name >= names_size || from->plt > 1 || from->start > from->end ||
		    (i && from->start < stored[i - 1].start) ||
		    (from->parent >= i && from->parent != NO_ENTRY))
			return false;
		table->entry[i] = (struct entry){
			.start = from->start,
			.end = from->end,
			.name = from->name,
			.parent = from->parent,
			.symbol = NO_ENTRY,
			.binding = from->binding,
			.type = from->type,
			.plt = from->plt,
		};
	}
	return true;
}

/* Fills the table. Takes the bytes, in which the names stay. */
static bool fill_table(struct table *table, char *bytes, size_t size)
{
	struct table_head head;
	size_t names;

	if (perch__table_blob(table, bytes, size) < 0)
		return false;
	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.nr > (size - sizeof(head)) / sizeof(struct stored_entry) || head.nr >= NO_ENTRY)
		return false;
	names = sizeof(head) + head.nr * sizeof(struct stored_entry);
	table->entry = perch__reallocarray(NULL, head.nr + 1, sizeof(*table->entry));
	if (!table->entry ||
	    !convert_entries(table, (const void *)(bytes + sizeof(head)), head.nr, size - names))
		return false;
	/* the blob begins with the names */
	memmove(bytes, bytes + names, size - names + 1);
	table->blob[0].size = size - names;
	table->nr = table->capacity = head.nr;
	table->of_go = head.of_go;
	return true;
}

bool perch__table_take_index(struct table *table, char *bytes, size_t size)
{
	bool of_variables = table->of_variables;

	if (fill_table(table, bytes, size))
		return true;
	perch__table_free(table);
	table->of_variables = of_variables;
	return false;
}

bool perch__table_read_index(struct table *table, const struct index_key *key)
{
	size_t size;
	char *bytes = perch__index_read(key, &size);

	return bytes && perch__table_take_index(table, bytes, size);
}

/* ---- writing ---- */

/* Copies the entries and their names. Returns the size of the names. */
static size_t copy_entries(const struct table *table, struct stored_entry *to, char *names)
{
	size_t size = 0;

	for (size_t i = 0; i < table->nr; i++) {
		const struct entry *from = &table->entry[i];
		size_t length = strlen(perch__table_name(table, from)) + 1;

		to[i] = (struct stored_entry){
			.start = from->start,
			.end = from->end,
			.name = (uint32_t)size,
			.parent = from->parent,
			.binding = from->binding,
			.type = from->type,
			.plt = from->plt,
		};
		memcpy(names + size, perch__table_name(table, from), length);
		size += length;
	}
	return size;
}

void perch__table_store(struct table *table)
{
	struct table_head head = { .nr = table->nr, .of_go = table->of_go };
	size_t size = sizeof(head) + table->nr * sizeof(struct stored_entry), names_size = 0;
	char *bytes, *names;

	if (!table->index || table->nr < FEWEST_ENTRIES || size > INDEX_BYTES_MAX)
		return;
	for (size_t i = 0; i < table->nr; i++)
		names_size += strlen(perch__table_name(table, &table->entry[i])) + 1;
	bytes = perch__malloc(size);
	names = names_size <= INDEX_BYTES_MAX ? perch__malloc(names_size + 1) : NULL;
	if (bytes && names) {
		memcpy(bytes, &head, sizeof(head));
		copy_entries(table, (void *)(bytes + sizeof(head)), names);
		perch__index_write(table->index, bytes, size, names, names_size);
	}
	free(bytes);
	free(names);
}
