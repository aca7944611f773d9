/* SPDX-License-Identifier: MIT */
/*
 * Call graphs of several files. A branch is a row of the event's branches: its text is the row or
 * the branch above it, and the name of its function. So branches join, compare and sort as rows do.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

#define ABOVE_LENGTH 9 /* of "r00000012": row, or 'b': branch, and its number */

static int no_memory(void)
{
	cli_note(DIFF_COMMAND, "no memory");
	return CLI_EXIT_FAILURE;
}

static int open_branches(struct diff_event *event)
{
	if (event->branches)
		return 0;
	event->branches = calloc(1, sizeof(*event->branches));
	if (!event->branches)
		return -ENOMEM;
	event->branches->by_text.seed = event->by_text.seed;
	return 0;
}

/* The children of a node that were not added yet, and what is above them. */
struct pending {
	uint32_t node;
	char above[ABOVE_LENGTH + 1];
};

/* Adds a branch. Returns its number or -ENOMEM. */
static int64_t add_branch(const struct diff *diff, struct diff_event *event, size_t file,
			  struct perch_profile *profile, const char *above,
			  const struct perch_call_graph_node *node)
{
	const struct diff_sum sum = { node->period, node->samples };
	char buffer[PERCH_CELL_BYTES], text[ABOVE_LENGTH + PERCH_CELL_BYTES];
	const char *name = perch_profile_frame_name(profile, &node->frame, buffer, sizeof(buffer));
	size_t length = strnlen(name, PERCH_CELL_BYTES - 1);

	memcpy(text, above, ABOVE_LENGTH);
	memcpy(text + ABOVE_LENGTH, name, length);
	text[ABOVE_LENGTH + length] = 0;
	return diff_join(diff, event->branches, file, text, ABOVE_LENGTH + length + 1, &sum);
}

/* Adds the branches below a node. stack has space for all nodes. Returns 0 or -ENOMEM. */
static int add_branches(const struct diff *diff, struct diff_event *event, size_t file,
			struct perch_profile *profile, const struct perch_call_graph *graph,
			struct pending *stack)
{
	size_t nr = 1;

	while (nr) {
		struct pending from = stack[--nr];

		for (uint32_t at = graph->node[from.node].first_child; at;
		     at = graph->node[at].next) {
			int64_t branch = add_branch(diff, event, file, profile, from.above,
						    &graph->node[at]);

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

static bool has_functions(const struct diff *diff)
{
	for (size_t i = 0; i < diff->nr_keys; i++)
		if (!strcmp(diff->key[i]->name, "sym"))
			return true;
	return false;
}

int diff_graph_add(const struct diff *diff, struct diff_event *event, size_t file,
		   struct perch_profile *profile, const struct perch_row *row, uint32_t number)
{
	struct perch_call_graph graph;
	struct pending *stack;
	struct perch_error err;
	int rc = open_branches(event);

	if (rc)
		return no_memory();
	if (perch_profile_call_graph(profile, row, PERCH_CALL_GRAPH_CALLEE, false, 1, &graph, &err))
		return cli_error(DIFF_COMMAND, &err);
	stack = malloc((graph.nr + 1) * sizeof(*stack));
	rc = stack ? 0 : -ENOMEM;
	if (!rc && graph.nr) {
		/* the first node below the root is the function of the row itself */
		stack->node = has_functions(diff) ? graph.node[0].first_child : 0;
		snprintf(stack->above, sizeof(stack->above), "r%08" PRIx32, number);
		if (stack->node || !has_functions(diff))
			rc = add_branches(diff, event, file, profile, &graph, stack);
	}
	free(stack);
	perch_call_graph_clear(&graph);
	return rc ? no_memory() : 0;
}

/* ---- order ---- */

static const char *text_of(const struct diff_event *event, uint32_t branch)
{
	return event->branches->text + event->branches->row[branch].text;
}

const char *diff_graph_name(const struct diff_event *event, uint32_t branch)
{
	return text_of(event, branch) + ABOVE_LENGTH;
}

bool diff_graph_is_shown(const struct diff *diff, const struct diff_event *event, uint32_t branch)
{
	double before = diff_share(event, 0, diff_sum_of(diff, event->branches, branch, 0)->period);

	for (size_t file = 1; file < diff->nr_files; file++) {
		uint64_t after = diff_sum_of(diff, event->branches, branch, file)->period;

		if (fabs(diff_share(event, file, after) - before) >= diff->graph_limit)
			return true;
	}
	return false;
}

static uint32_t *new_numbers(size_t nr)
{
	uint32_t *number = malloc((nr + 1) * sizeof(*number));

	for (size_t i = 0; number && i < nr; i++)
		number[i] = NO_BRANCH;
	return number;
}

/* Inserts the branches in the reverse order, each before the ones inserted before. */
static void insert_all(const struct diff_event *event, const uint32_t *sorted, size_t nr,
		       struct diff_graph *graph)
{
	while (nr--) {
		const char *text = text_of(event, sorted[nr]);
		char digits[ABOVE_LENGTH];
		uint32_t above, *first;

		memcpy(digits, text + 1, ABOVE_LENGTH - 1);
		digits[ABOVE_LENGTH - 1] = 0;
		above = (uint32_t)strtoul(digits, NULL, 16);
		first = *text == 'r' ? &graph->first_of_row[above] : &graph->first[above];
		graph->next[sorted[nr]] = *first;
		*first = sorted[nr];
	}
}

int diff_graph_sort(const struct diff *diff, const struct diff_event *event,
		    struct diff_graph *graph)
{
	struct diff_event *branches = event->branches;
	uint32_t *sorted;
	size_t nr;

	*graph = (struct diff_graph){ 0 };
	if (!branches)
		return 0;
	memcpy(branches->total, event->total, sizeof(branches->total));
	graph->first = new_numbers(branches->nr_rows);
	graph->next = new_numbers(branches->nr_rows);
	graph->first_of_row = new_numbers(event->nr_rows);
	sorted = diff_sort(diff, branches, &nr);
	if (sorted && graph->first && graph->next && graph->first_of_row)
		insert_all(event, sorted, nr, graph);
	free(sorted);
	return sorted && graph->first && graph->next && graph->first_of_row ? 0 : -ENOMEM;
}

void diff_graph_clear(struct diff_graph *graph)
{
	free(graph->first);
	free(graph->next);
	free(graph->first_of_row);
}
