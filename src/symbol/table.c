/* SPDX-License-Identifier: MIT */
/* The table of a DSO's functions: sorting, and the search by offset. */
#include "internal.h"

struct entry *perch__table_add(struct table *table)
{
	struct entry *entry =
		PERCH__ARRAY_APPEND_MAX(table->entry, table->nr, table->capacity, NO_ENTRY / 2);

	if (entry)
		entry->symbol = NO_ENTRY;
	return entry;
}

int perch__table_blob(struct table *table, char *bytes, size_t size)
{
	if (table->nr_blobs == MAX_BLOBS || !bytes) {
		free(bytes);
		return -ENOMEM;
	}
	table->blob[table->nr_blobs] = (struct blob){ .bytes = bytes, .size = size };
	return (int)table->nr_blobs++;
}

const char *perch__table_name(const struct table *table, const struct entry *entry)
{
	return table->blob[entry->blob_index].bytes + entry->name;
}

struct sort_key {
	uint64_t start;
	uint32_t index;
};

enum { DIGIT_BITS = 11, DIGITS = 6 }; /* 6 * 11 bits hold 64 */

static unsigned digit_of(uint64_t value, unsigned digit)
{
	return value >> (digit * DIGIT_BITS) & ((1u << DIGIT_BITS) - 1);
}

/*
 * A radix sort. It is stable: the order of functions at one address stays. Digits that are equal in
 * all keys are skipped, so file offsets take at most three passes.
 */
static struct sort_key *sort_keys(struct sort_key *keys, struct sort_key *spare, size_t nr)
{
	uint64_t differs = 0;

	for (size_t i = 1; i < nr; i++)
		differs |= keys[i].start ^ keys[0].start;
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		uint32_t position[1 << DIGIT_BITS] = { 0 };
		uint32_t at = 0;
		struct sort_key *other = spare;

		if (!digit_of(differs, digit))
			continue;
		for (size_t i = 0; i < nr; i++)
			position[digit_of(keys[i].start, digit)]++;
		for (size_t i = 0; i < 1 << DIGIT_BITS; i++) {
			uint32_t count = position[i];

			position[i] = at;
			at += count;
		}
		for (size_t i = 0; i < nr; i++)
			spare[position[digit_of(keys[i].start, digit)]++] = keys[i];
		spare = keys;
		keys = other;
	}
	return keys;
}

static bool is_sorted(const struct table *table)
{
	for (size_t i = 1; i < table->nr; i++)
		if (table->entry[i].start < table->entry[i - 1].start)
			return false;
	return true;
}

/* Moves the entries to the order of the keys, along the cycles of the permutation: a second array
 * would be large. */
static void permute(struct entry *entry, struct sort_key *sorted, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct entry first = entry[i];
		size_t at = i;

		while (sorted[at].index != i) {
			size_t from = sorted[at].index;

			entry[at] = entry[from];
			sorted[at].index = (uint32_t)at;
			at = from;
		}
		entry[at] = first;
		sorted[at].index = (uint32_t)at;
	}
}

static int sort_entries(struct table *table)
{
	struct sort_key *keys, *spare;
	int rc = -ENOMEM;

	if (is_sorted(table))
		return 0;
	keys = perch__reallocarray(NULL, table->nr, sizeof(*keys));
	spare = perch__reallocarray(NULL, table->nr, sizeof(*spare));
	if (keys && spare) {
		for (size_t i = 0; i < table->nr; i++)
			keys[i] = (struct sort_key){ table->entry[i].start, (uint32_t)i };
		permute(table->entry, sort_keys(keys, spare, table->nr), table->nr);
		rc = 0;
	}
	free(keys);
	free(spare);
	return rc;
}

/* Drops labels inside of functions of known size, such as jump targets: they would hide the
 * function. */
static void drop_inner_labels(struct table *table)
{
	uint64_t covered = 0;
	size_t nr = 0;

	for (size_t i = 0; i < table->nr; i++) {
		struct entry *entry = &table->entry[i];

		if (entry->type == STT_NOTYPE && entry->end == entry->start &&
		    entry->start < covered)
			continue;
		if (entry->type == STT_FUNC && entry->end > covered)
			covered = entry->end;
		table->entry[nr++] = *entry;
	}
	table->nr = nr;
}

static uint64_t page_after(uint64_t address)
{
	uint64_t end = ((address + 4095) & ~4095ull) + 4096;

	return end > address ? end : UINT64_MAX;
}

/*
 * A function of unknown size ends at the next function or at the end of its section. In a grouped
 * table it does not reach into the next group: kernel text does not extend to BPF programs and
 * trampolines.
 */
static void end_symbols(struct table *table)
{
	for (size_t i = 0; i < table->nr; i++) {
		struct entry *entry = &table->entry[i], *next = entry + 1;

		if (entry->end != entry->start)
			continue;
		if (i + 1 == table->nr)
			entry->end = page_after(entry->start);
		else if (table->grouped && entry->parent != next->parent)
			entry->end = page_after(entry->start);
		else
			entry->end = next->start;
		if (entry->parent < table->nr_limits &&
		    table->limit[entry->parent] > entry->start &&
		    table->limit[entry->parent] < entry->end)
			entry->end = table->limit[entry->parent];
	}
}

/* The variants of a constructor or destructor (C1, C2, D1, D2) have the same demangled name. */
static bool same_but_variant(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	return i && (a[i - 1] == 'C' || a[i - 1] == 'D') && a[i] >= '0' && a[i] <= '5' &&
	       b[i] >= '0' && b[i] <= '5' && !strcmp(a + i + 1, b + i + 1);
}

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

enum { MAX_COMPARISONS = 20000, MAX_COMPARED = 2000 };

/* True if name b is preferred: fewer leading underscores, then the longer one. */
static bool is_better_name(const char *b, const char *a)
{
	if (leading_underscores(a) != leading_underscores(b))
		return leading_underscores(b) < leading_underscores(a);
	return strlen(b) > strlen(a);
}

/* Like is_better_name(), for demangled names if that is not too expensive. */
static bool is_better_demangled(struct table *table, const char *a, const char *b)
{
	char *a_plain, *b_plain;
	bool better;

	if (!strcmp(a, b) || same_but_variant(a, b))
		return false;
	if (table->comparisons++ >= MAX_COMPARISONS || strlen(a) > MAX_COMPARED ||
	    strlen(b) > MAX_COMPARED)
		return is_better_name(b, a);
	a_plain = perch__demangle(a);
	b_plain = perch__demangle(b);
	better = is_better_name(b_plain ? b_plain : b, a_plain ? a_plain : a);
	free(a_plain);
	free(b_plain);
	return better;
}

/* True if b is preferred of two functions at one address. perf has the same order: it has a size,
 * it has a type, it is not weak, it is global, it has the better name. */
static bool second_is_better(struct table *table, const struct entry *a, const struct entry *b)
{
	bool a_sized = a->end > a->start, b_sized = b->end > b->start;

	if (a_sized != b_sized)
		return b_sized;
	if (a->type != b->type && (a->type == STT_NOTYPE || b->type == STT_NOTYPE))
		return a->type == STT_NOTYPE;
	if ((a->binding == STB_WEAK) != (b->binding == STB_WEAK))
		return a->binding == STB_WEAK;
	if ((a->binding == STB_GLOBAL) != (b->binding == STB_GLOBAL))
		return b->binding == STB_GLOBAL;
	return is_better_demangled(table, perch__table_name(table, a), perch__table_name(table, b));
}

static void drop_duplicates(struct table *table)
{
	size_t nr = 0;

	for (size_t i = 0; i < table->nr; i++) {
		struct entry *entry = &table->entry[i];
		struct entry *last = nr ? &table->entry[nr - 1] : NULL;

		if (!last || last->start != entry->start)
			table->entry[nr++] = *entry;
		else if (second_is_better(table, last, entry))
			*last = *entry;
	}
	table->nr = nr;
}

/* A function may lie inside of another one (labels in assembly code): sets the innermost function
 * around each. */
static void link_parents(struct table *table)
{
	for (size_t i = 0; i < table->nr; i++) {
		uint32_t parent = i ? (uint32_t)i - 1 : NO_ENTRY;

		while (parent != NO_ENTRY && table->entry[parent].end <= table->entry[i].start)
			parent = table->entry[parent].parent;
		table->entry[i].parent = parent;
	}
}

int perch__table_finish(struct table *table)
{
	if (sort_entries(table))
		return -ENOMEM;
	drop_inner_labels(table);
	end_symbols(table);
	free(table->limit);
	table->limit = NULL;
	table->nr_limits = 0;
	drop_duplicates(table);
	link_parents(table);
	return 0;
}

/* Limits the nesting of functions, because the cost of a search depends on it. */
enum { MAX_DEPTH = 64 };

/* Returns the last entry that starts at the offset or before it, or NO_ENTRY. Without branches that
 * depend on the offset: the CPU would guess half of them wrong. */
static uint32_t last_before(const struct table *table, uint64_t offset)
{
	const struct entry *first = table->entry;

	if (!table->nr || first->start > offset)
		return NO_ENTRY;
	for (size_t nr = table->nr, half; nr > 1; nr -= half) {
		half = nr / 2;
		/* one of the two comes next */
		__builtin_prefetch(&first[half / 2]);
		__builtin_prefetch(&first[half + half / 2]);
		first += half & -(size_t)(first[half].start <= offset);
	}
	return (uint32_t)(first - table->entry);
}

struct entry *perch__table_find(const struct table *table, uint64_t offset)
{
	uint32_t at = last_before(table, offset);

	for (int depth = 0; at != NO_ENTRY && depth < MAX_DEPTH; depth++) {
		if (offset < table->entry[at].end)
			return &table->entry[at];
		at = table->entry[at].parent;
	}
	return NULL;
}

void perch__table_free(struct table *table)
{
	free(table->entry);
	free(table->limit);
	free(table->index);
	for (unsigned i = 0; i < table->nr_blobs; i++)
		if (!table->blob[i].borrowed)
			free(table->blob[i].bytes);
	memset(table, 0, sizeof(*table));
}
