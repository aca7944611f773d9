/* SPDX-License-Identifier: MIT */
/*
 * Stacks of functions. Several addresses are in one function, and an address with inlined functions
 * has several, so stacks of addresses become a tree of frames. Callers of an address share its
 * node, but not the line: that of a caller is the line of its call.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "internal.h"

struct maker {
	struct perch_export *export;
	struct export_tree *tree;
	enum export_lines lines;
	struct perch__hash_table functions, frames, nodes;
	struct export_lists lists; /* of frames */
	uint64_t *function_key;	   /* by index of a function */
	uint32_t *caller; /* by index of a stack: its node as a caller; NO_INDEX: none yet */
};

/* ---- functions ---- */

static bool same_function(const void *keys, uint32_t index, const void *key)
{
	return ((const uint64_t *)keys)[index] == *(const uint64_t *)key;
}

static enum function_kind kind_of(const struct perch_address *address,
				  const struct perch_symbol *symbol)
{
	if (perch_dso_is(address->dso, PERCH_DSO_IS_IN_KERNEL))
		return FUNCTION_KERNEL;
	if (!symbol)
		return FUNCTION_UNKNOWN;
	return perch_dso_is(address->dso, PERCH_DSO_IS_GENERATED) ? FUNCTION_JIT : FUNCTION_USER;
}

static int fill_function(struct maker *maker, const struct perch_address *address,
			 const struct perch_symbol_frame *frame, struct export_function *function)
{
	struct export_texts *texts = &maker->tree->texts;
	char buffer[PERCH__EXPORT_NAME];

	*function = (struct export_function){
		.name = perch__export_texts_add(texts, perch__export_name(maker->export, address,
									  frame->symbol, buffer)),
		.file = frame->file ? perch__export_texts_add(texts, frame->file) : NO_INDEX,
		.dso = address->dso->index,
		.kind = kind_of(address, frame->symbol),
		.inlined = frame->symbol && frame->symbol->inlined,
	};
	return function->name == NO_INDEX || (frame->file && function->file == NO_INDEX) ? -ENOMEM
											 : 0;
}

/* Returns the index of a function, or of the code of a DSO that no function covers; NO_INDEX if out
 * of memory. */
static uint32_t find_function(struct maker *maker, const struct perch_address *address,
			      const struct perch_symbol_frame *frame)
{
	struct export_tree *tree = maker->tree;
	uint64_t key = perch__export_function_key(address, frame->symbol);
	uint64_t hash = perch__hash_integer(maker->functions.seed, key);
	uint32_t found =
		perch__hash_find(&maker->functions, hash, same_function, maker->function_key, &key);
	size_t nr_keys = tree->nr_functions;

	if (found != PERCH__HASH_NONE)
		return found;
	if (PERCH__ARRAY_RESERVE_BY_NR(maker->function_key, nr_keys, 1) ||
	    PERCH__ARRAY_RESERVE_BY_NR(tree->function, tree->nr_functions, 1) ||
	    fill_function(maker, address, frame, &tree->function[tree->nr_functions]) ||
	    perch__hash_add(&maker->functions, hash, tree->nr_functions))
		return NO_INDEX;
	maker->function_key[tree->nr_functions] = key;
	return (uint32_t)tree->nr_functions++;
}

/* ---- frames and nodes ---- */

static bool same_frame(const void *frames, uint32_t index, const void *key)
{
	const struct export_frame *frame = (const struct export_frame *)frames + index;
	const struct export_frame *wanted = key;

	return frame->function == wanted->function && frame->line == wanted->line;
}

static uint32_t find_frame(struct maker *maker, const struct export_frame *frame)
{
	const struct export_frame key = { frame->function,
					  maker->lines == EXPORT_MERGE_LINES ? 0 : frame->line };
	struct export_tree *tree = maker->tree;
	uint64_t hash = perch__hash_pair(maker->frames.seed, key.function, key.line);
	uint32_t found = perch__hash_find(&maker->frames, hash, same_frame, tree->frame, &key);

	if (found != PERCH__HASH_NONE)
		return found;
	if (PERCH__ARRAY_RESERVE_BY_NR(tree->frame, tree->nr_frames, 1) ||
	    perch__hash_add(&maker->frames, hash, tree->nr_frames))
		return NO_INDEX;
	tree->frame[tree->nr_frames] = key;
	return (uint32_t)tree->nr_frames++;
}

static bool same_node(const void *nodes, uint32_t index, const void *key)
{
	const struct export_node *node = (const struct export_node *)nodes + index;
	const struct export_node *wanted = key;

	return node->parent == wanted->parent && node->frame == wanted->frame;
}

static uint32_t find_node(struct maker *maker, uint32_t parent, uint32_t frame)
{
	const struct export_node node = { parent, frame };
	struct export_tree *tree = maker->tree;
	uint64_t hash = perch__hash_pair(maker->nodes.seed, parent, frame);
	uint32_t found = perch__hash_find(&maker->nodes, hash, same_node, tree->node, &node);

	if (found != PERCH__HASH_NONE)
		return found;
	if (PERCH__ARRAY_RESERVE_BY_NR(tree->node, tree->nr_nodes, 1) ||
	    perch__hash_add(&maker->nodes, hash, tree->nr_nodes))
		return NO_INDEX;
	tree->node[tree->nr_nodes] = node;
	return (uint32_t)tree->nr_nodes++;
}

/* Makes the list of the frames at an address, the outermost one first. NULL if out of memory. */
static const uint32_t *make_list(struct maker *maker, uint32_t number, bool is_caller)
{
	struct perch_session *session = maker->export->session;
	const struct perch_symbol_frame *frames;
	int nr = perch__export_frames(maker->export, number, is_caller, &frames);
	uint32_t *list =
		nr < 0 ? NULL
		       : perch__export_lists_add(&maker->lists, number, is_caller, (uint32_t)nr);

	for (int i = 0; i < nr && list; i++) {
		const struct perch_symbol_frame *from = &frames[nr - 1 - i];
		struct export_frame frame = {
			.function =
				find_function(maker, perch_session_address(session, number), from),
			.line = from->line,
		};

		list[1 + i] = frame.function == NO_INDEX ? NO_INDEX : find_frame(maker, &frame);
		if (list[1 + i] == NO_INDEX)
			return NULL;
	}
	return list;
}

/* Adds the functions at an address below a node, the outermost one first. Returns 0 or -ENOMEM. */
static int add_address(struct maker *maker, uint32_t number, bool is_caller, uint32_t *node)
{
	const uint32_t *list = perch__export_list(&maker->lists, number, is_caller);

	if (!list)
		list = make_list(maker, number, is_caller);
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 1; i <= list[0]; i++) {
		*node = find_node(maker, *node, list[i]);
		if (*node == NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the frames of an entry: those of callers once for each stack. */
static int add_entry(struct maker *maker, size_t entry)
{
	const struct perch_export *export = maker->export;
	uint32_t chain[PERCH_MAX_CALL_CHAIN], node = NO_INDEX;
	size_t nr = 0;
	int rc = 0;

	for (uint32_t at = export->entry[entry].stack; at != NO_INDEX;
	     at = export->stack[at].parent) {
		if (nr && maker->caller[at] != NO_INDEX) {
			node = maker->caller[at];
			break;
		}
		chain[nr++] = at;
	}
	while (nr-- && !rc) {
		rc = add_address(maker, export->stack[chain[nr]].address,
				 nr > 0 && export->stack[chain[nr]].calls, &node);
		if (nr)
			maker->caller[chain[nr]] = node;
	}
	maker->tree->leaf[entry] = node;
	return rc;
}

static int make_tree(struct maker *maker)
{
	const struct perch_export *export = maker->export;
	int rc = 0;

	maker->caller = calloc(export->nr_stacks + 1, sizeof(*maker->caller));
	maker->tree->leaf = calloc(export->nr_entries + 1, sizeof(*maker->tree->leaf));
	if (!maker->caller || !maker->tree->leaf || perch__export_lists_open(&maker->lists, export))
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_stacks; i++)
		maker->caller[i] = NO_INDEX;
	for (size_t i = 0; i < export->nr_entries && !rc; i++)
		rc = add_entry(maker, i);
	return rc;
}

int perch__export_tree(struct perch_export *export, enum export_lines lines,
		       struct export_tree *tree)
{
	struct maker maker = { .export = export, .tree = tree, .lines = lines };
	int rc;

	*tree = (struct export_tree){ 0 };
	tree->texts.table.seed = maker.functions.seed = export->stacks.seed;
	maker.frames.seed = maker.nodes.seed = export->stacks.seed;
	rc = make_tree(&maker);
	perch__export_lists_clear(&maker.lists);
	free(maker.function_key);
	free(maker.caller);
	perch__hash_clear(&maker.functions);
	perch__hash_clear(&maker.frames);
	perch__hash_clear(&maker.nodes);
	return rc;
}

void perch__export_tree_clear(struct export_tree *tree)
{
	perch__export_texts_clear(&tree->texts);
	free(tree->function);
	free(tree->frame);
	free(tree->node);
	free(tree->leaf);
}
