/* SPDX-License-Identifier: MIT */
/* Call graphs of several profiles. */
#include <inttypes.h>
#include <stdio.h>

#include "base/no_memory.h"
#include "internal.h"

#define ABOVE_LENGTH 9 /* of "r00000012": row, or 'b': branch, and its number */

static int open_branches(struct perch_comparison *comparison)
{
	struct perch_comparison *branches = comparison->branches;

	if (branches)
		return 0;
	comparison->branches = branches = calloc(1, sizeof(*branches));
	if (!branches)
		return -ENOMEM;
	branches->options = comparison->options;
	branches->by_text.seed = comparison->by_text.seed;
	return 0;
}

/* The children of a node that were not added yet, and what is above them. */
struct pending {
	uint32_t node;
	char above[ABOVE_LENGTH + 1];
};

/* Adds a branch. Returns its number or -ENOMEM. */
static int64_t add_branch(struct perch_comparison *branches, size_t index,
			  struct perch_profile *profile, const char *above,
			  const struct perch_call_graph_node *node)
{
	const struct perch_comparison_sum sum = { node->period, node->samples };
	char buffer[PERCH_CELL_BYTES], text[ABOVE_LENGTH + PERCH_CELL_BYTES];
	const char *name = perch_profile_frame_name(profile, &node->frame, buffer, sizeof(buffer));
	size_t length = strnlen(name, PERCH_CELL_BYTES - 1);

	memcpy(text, above, ABOVE_LENGTH);
	memcpy(text + ABOVE_LENGTH, name, length);
	text[ABOVE_LENGTH + length] = 0;
	return perch__comparison_join(branches, index, text, ABOVE_LENGTH + length + 1, &sum);
}

/* Adds the branches below a node. stack has space for all nodes. Returns 0 or -ENOMEM. */
static int add_branches(struct perch_comparison *branches, size_t index,
			struct perch_profile *profile, const struct perch_call_graph *graph,
			struct pending *stack)
{
	size_t nr = 1;

	while (nr) {
		struct pending from = stack[--nr];

		for (uint32_t at = graph->node[from.node].first_child; at;
		     at = graph->node[at].next) {
			int64_t branch =
				add_branch(branches, index, profile, from.above, &graph->node[at]);

			if (branch < 0)
				return -ENOMEM;
			stack[nr].node = at;
			snprintf(stack[nr].above, sizeof(stack[nr].above), "b%08" PRIx32,
				 (uint32_t)branch);
			nr++;
		}
	}
	return 0;
}

static bool has_functions(const struct perch_comparison *comparison)
{
	for (size_t i = 0; i < comparison->options.nr_keys; i++)
		if (!strcmp(comparison->key[i]->name, "sym"))
			return true;
	return false;
}

int perch__comparison_add_branches(struct perch_comparison *comparison, size_t index,
				   struct perch_profile *profile, const struct perch_row *row,
				   uint32_t number, struct perch_error *err)
{
	bool functions = has_functions(comparison);
	struct perch_call_graph graph;
	struct pending *stack;
	int rc = open_branches(comparison);

	if (rc)
		return PERCH__NO_MEMORY(err, "for call graphs");
	rc = perch_profile_call_graph(profile, row, PERCH_CALL_GRAPH_CALLEE, false, 1, &graph, err);
	if (rc)
		return rc;
	stack = malloc((graph.nr + 1) * sizeof(*stack));
	rc = stack ? 0 : -ENOMEM;
	if (!rc && graph.nr) {
		/* the first node below the root is the function of the row itself */
		stack->node = functions ? graph.node[0].first_child : 0;
		snprintf(stack->above, sizeof(stack->above), "r%08" PRIx32, number);
		if (stack->node || !functions)
			rc = add_branches(comparison->branches, index, profile, &graph, stack);
	}
	free(stack);
	perch_call_graph_clear(&graph);
	return rc ? PERCH__NO_MEMORY(err, "for call graphs") : 0;
}

/* ---- order ---- */

static const char *text_of(const struct perch_comparison *branches, uint32_t branch)
{
	return branches->text + branches->row[branch].text;
}

const char *perch_comparison_branch_name(const struct perch_comparison *comparison, uint32_t branch)
{
	return text_of(comparison->branches, branch) + ABOVE_LENGTH;
}

/* Returns nr numbers that are none. */
static uint32_t *new_numbers(uint32_t *old, size_t nr)
{
	uint32_t *number = malloc((nr + 1) * sizeof(*number));

	free(old);
	for (size_t i = 0; number && i < nr; i++)
		number[i] = PERCH_COMPARISON_NONE;
	return number;
}

/* Inserts the branches in the reverse order, each before the ones inserted before. */
static void insert_all(struct perch_comparison *comparison, size_t nr)
{
	const struct perch_comparison *branches = comparison->branches;

	while (nr--) {
		uint32_t branch = branches->sorted[nr], above, *first;
		const char *text = text_of(branches, branch);
		char digits[ABOVE_LENGTH];

		memcpy(digits, text + 1, ABOVE_LENGTH - 1);
		digits[ABOVE_LENGTH - 1] = 0;
		above = (uint32_t)strtoul(digits, NULL, 16);
		first = *text == 'r' ? &comparison->first_of_row[above] : &comparison->first[above];
		comparison->next[branch] = *first;
		*first = branch;
	}
}

int perch__comparison_sort_branches(struct perch_comparison *comparison)
{
	struct perch_comparison *branches = comparison->branches;
	int64_t nr;

	if (!branches)
		return 0;
	memcpy(branches->total, comparison->total, sizeof(branches->total));
	comparison->first = new_numbers(comparison->first, branches->nr_rows);
	comparison->next = new_numbers(comparison->next, branches->nr_rows);
	comparison->first_of_row = new_numbers(comparison->first_of_row, comparison->nr_rows);
	if (!comparison->first || !comparison->next || !comparison->first_of_row)
		return -ENOMEM;
	nr = perch__comparison_order(branches);
	if (nr < 0)
		return -ENOMEM;
	insert_all(comparison, (size_t)nr);
	return 0;
}

uint32_t perch_comparison_first_caller(const struct perch_comparison *comparison, size_t row)
{
	return comparison->first_of_row ? comparison->first_of_row[row] : PERCH_COMPARISON_NONE;
}

uint32_t perch_comparison_next_branch(const struct perch_comparison *comparison, uint32_t branch,
				      bool deeper)
{
	return deeper ? comparison->first[branch] : comparison->next[branch];
}
