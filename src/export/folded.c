/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks. Stacks of addresses become a tree of names, because several addresses are in one
 * function. The root of the tree has a child for each name of a thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

struct name_node {
	uint32_t parent, text; /* index of a node, number of a text */
	uint64_t period;
};

struct folded {
	struct perch_export *export;
	struct name_node *node;
	size_t nr_nodes;
	struct export_texts texts;
	struct export_lists lists; /* of texts */
	struct perch__hash_table nodes;
	/* by stack of the export: its node as a caller in a thread; thread is the index + 1, or 0
	 */
	struct {
		uint32_t thread, node;
	} * caller;
};

/* Replaces the separator of the format in a name. */
static void replace_characters(char *text, char from, char to)
{
	for (; *text; text++)
		if (*text == from)
			*text = to;
}

static bool same_node(const void *nodes, uint32_t index, const void *key)
{
	const struct name_node *node = (const struct name_node *)nodes + index, *wanted = key;

	return node->parent == wanted->parent && node->text == wanted->text;
}

/* Returns the child of a node with a text, NO_INDEX if out of memory. */
static uint32_t find_child(struct folded *folded, uint32_t parent, uint32_t text)
{
	struct name_node node = { parent, text, 0 };
	uint64_t hash = perch__hash_pair(folded->nodes.seed, parent, node.text);
	uint32_t found;

	if (node.text == NO_INDEX)
		return NO_INDEX;
	found = perch__hash_find(&folded->nodes, hash, same_node, folded->node, &node);
	if (found != PERCH__HASH_NONE)
		return found;
	if (PERCH__ARRAY_RESERVE_BY_NR(folded->node, folded->nr_nodes, 1) ||
	    perch__hash_add(&folded->nodes, hash, folded->nr_nodes))
		return NO_INDEX;
	folded->node[folded->nr_nodes] = node;
	return (uint32_t)folded->nr_nodes++;
}

/* The mark behind the name of a function. */
static const char *mark_of(const struct perch_export_options *options,
			   const struct perch_address *address, bool inlined)
{
	if (inlined)
		return options->mark_inlined ? "_[i]" : "";
	if (address->cpumode_char == 'k' || address->cpumode_char == 'g')
		return options->mark_kernel ? "_[k]" : "";
	if (perch_dso_is(address->dso, PERCH_DSO_IS_GENERATED))
		return options->mark_jit && address->symbol ? "_[j]" : "";
	return "";
}

/* Makes the list of the names of the functions at an address, the outermost one first. NULL if out
 * of memory. */
static const uint32_t *make_list(struct folded *folded, uint32_t number, bool is_caller)
{
	struct perch_export *export = folded->export;
	const struct perch_symbol_frame *frames;
	int nr = perch__export_frames(export, number, is_caller, &frames);
	uint32_t *list =
		nr < 0 ? NULL
		       : perch__export_lists_add(&folded->lists, number, is_caller, (uint32_t)nr);

	for (int i = 0; i < nr && list; i++) {
		const struct perch_address *address =
			perch_session_address(export->session, number);
		const struct perch_symbol *symbol = frames[nr - 1 - i].symbol;
		char buffer[PERCH__EXPORT_NAME], text[PERCH__EXPORT_NAME + 8];
		bool inlined = symbol && symbol->inlined;

		snprintf(text, sizeof(text), "%s%s",
			 perch__export_name(export, address, symbol, buffer),
			 mark_of(&export->options, address, inlined));
		replace_characters(text, ';', ':');
		list[1 + i] = perch__export_texts_add(&folded->texts, text);
		if (list[1 + i] == NO_INDEX)
			return NULL;
	}
	return list;
}

/* Adds the functions at an address below a node, the outermost one first. */
static uint32_t add_address(struct folded *folded, uint32_t node, uint32_t number, bool is_caller)
{
	const uint32_t *list = perch__export_list(&folded->lists, number, is_caller);

	if (!list)
		list = make_list(folded, number, is_caller);
	if (!list)
		return NO_INDEX;
	for (uint32_t i = 1; i <= list[0] && node != NO_INDEX; i++)
		node = find_child(folded, node, list[i]);
	return node;
}

static uint32_t add_thread(struct folded *folded, const struct thread_name *thread)
{
	const struct perch_export_options *options = &folded->export->options;
	char text[PERCH__EXPORT_NAME + 32]; /* for two ids */

	if (options->tid)
		snprintf(text, sizeof(text), "%s-%u/%u", thread->comm, thread->pid, thread->tid);
	else if (options->pid)
		snprintf(text, sizeof(text), "%s-%u", thread->comm, thread->pid);
	else
		snprintf(text, sizeof(text), "%s", thread->comm);
	replace_characters(text, ';', ':');
	replace_characters(text, ' ', '_');
	return find_child(folded, 0, perch__export_texts_add(&folded->texts, text));
}

/* Adds the names of an entry. The nodes of callers are found by the stack: entries of one thread
 * that share callers are mostly next to each other. */
static int add_entry(struct folded *folded, const struct export_entry *entry)
{
	const struct perch_export *export = folded->export;
	uint32_t chain[PERCH_MAX_CALL_CHAIN], node = NO_INDEX, thread = entry->thread + 1;
	size_t nr = 0;

	for (uint32_t at = entry->stack; at != NO_INDEX; at = export->stack[at].parent) {
		if (nr && folded->caller[at].thread == thread) {
			node = folded->caller[at].node;
			break;
		}
		chain[nr++] = at;
	}
	if (node == NO_INDEX)
		node = add_thread(folded, &export->thread[entry->thread]);
	while (nr-- && node != NO_INDEX) {
		node = add_address(folded, node, export->stack[chain[nr]].address,
				   nr > 0 && export->stack[chain[nr]].calls);
		if (nr) {
			folded->caller[chain[nr]].thread = node == NO_INDEX ? 0 : thread;
			folded->caller[chain[nr]].node = node;
		}
	}
	if (node == NO_INDEX)
		return -ENOMEM;
	folded->node[node].period += entry->period;
	return 0;
}

/* Makes the tree. Node 0 is the root. Returns 0 or -ENOMEM. */
static int make_tree(struct folded *folded)
{
	const struct perch_export *export = folded->export;
	int rc = 0;

	folded->nodes.seed = folded->texts.table.seed = export->stacks.seed;
	folded->caller = calloc(export->nr_stacks + 1, sizeof(*folded->caller));
	if (!folded->caller || perch__export_lists_open(&folded->lists, export) ||
	    find_child(folded, NO_INDEX, perch__export_texts_add(&folded->texts, "")) == NO_INDEX)
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_entries && !rc; i++)
		if (export->entry[i].event == export->main_event)
			rc = add_entry(folded, &export->entry[i]);
	return rc;
}

/* ---- lines, sorted by name ---- */

/* Sorts nodes by parent, then by name. */
static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct folded *folded = context;
	const struct name_node *a = &folded->node[*(const uint32_t *)left];
	const struct name_node *b = &folded->node[*(const uint32_t *)right];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return strcmp(perch__export_text(&folded->texts, a->text),
		      perch__export_text(&folded->texts, b->text));
}

/* Writes the names of a node and of its parents, and its period. */
static void put_line(const struct folded *folded, uint32_t node, uint32_t *path, FILE *out)
{
	uint64_t period = folded->node[node].period;
	size_t depth = 0;

	for (; node; node = folded->node[node].parent)
		path[depth++] = node;
	while (depth--) {
		fputs(perch__export_text(&folded->texts, folded->node[path[depth]].text), out);
		putc(depth ? ';' : ' ', out);
	}
	fprintf(out, "%" PRIu64 "\n", period);
}

/*
 * Writes the lines of all nodes, parents before their children. sorted: the nodes but the root, by
 * parent and name. first: for each node the position of its first child in sorted, and at the end
 * their number. stack and path: memory for one number for each node.
 */
static void put_lines(const struct folded *folded, const uint32_t *sorted, const uint32_t *first,
		      uint32_t *stack, uint32_t *path, FILE *out)
{
	size_t nr = 0;

	stack[nr++] = 0;
	while (nr) {
		uint32_t node = stack[--nr];

		if (folded->node[node].period)
			put_line(folded, node, path, out);
		for (uint32_t i = first[node + 1]; i > first[node]; i--)
			stack[nr++] = sorted[i - 1];
	}
}

static int sort_and_put(struct folded *folded, FILE *out)
{
	size_t nr = folded->nr_nodes;
	uint32_t *sorted = calloc(4 * nr + 1, sizeof(*sorted));
	uint32_t *first, *stack, *path;

	if (!sorted)
		return -ENOMEM;
	first = sorted + nr;
	stack = first + nr + 1;
	path = stack + nr;
	for (uint32_t i = 1; i < nr; i++)
		sorted[i - 1] = i;
	qsort_r(sorted, nr - 1, sizeof(*sorted), compare_nodes, folded);
	for (uint32_t i = 1; i < nr; i++)
		first[folded->node[i].parent + 1]++;
	for (size_t i = 0; i < nr; i++)
		first[i + 1] += first[i];
	put_lines(folded, sorted, first, stack, path, out);
	free(sorted);
	return 0;
}

int perch__export_folded(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct folded folded = { .export = export };
	int rc = make_tree(&folded);

	if (!rc)
		rc = sort_and_put(&folded, out);
	free(folded.node);
	free(folded.caller);
	perch__export_lists_clear(&folded.lists);
	perch__hash_clear(&folded.nodes);
	perch__export_texts_clear(&folded.texts);
	if (rc)
		return PERCH__NO_MEMORY(err, "to export");
	return 0;
}
