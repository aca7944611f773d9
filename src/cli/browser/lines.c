/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "lines.h"

/* Deeper branches are not unfolded: their indentation would not fit any terminal. */
enum { MOST_DEPTH = 1000 };

static void clear_open_row(struct browser_open_row *open)
{
	perch_call_graph_clear(&open->graph);
	free(open->unfolded);
	free(open->branch);
}

void browser_lines_fold(struct browser_lines *lines)
{
	for (size_t i = 0; i < lines->nr_open; i++)
		clear_open_row(&lines->open[i]);
	lines->nr_open = 0;
	lines->nr = lines->nr_rows;
}

void browser_lines_clear(struct browser_lines *lines)
{
	browser_lines_fold(lines);
	free(lines->open);
	free(lines->order);
	memset(lines, 0, sizeof(*lines));
}

int browser_lines_set(struct browser_lines *lines, size_t nr,
		      bool (*wanted)(void *context, size_t row), void *context)
{
	size_t *order = malloc((nr ? nr : 1) * sizeof(*order));
	size_t shown = 0;

	if (!order)
		return -ENOMEM;
	for (size_t row = 0; row < nr; row++)
		if (!wanted || wanted(context, row))
			order[shown++] = row;
	browser_lines_clear(lines);
	lines->order = order;
	lines->nr = lines->nr_rows = shown;
	return 0;
}

/* Computes where the branches of unfolded rows are. */
static void number_lines(struct browser_lines *lines)
{
	size_t before = 0;

	for (size_t i = 0; i < lines->nr_open; i++) {
		lines->open[i].first_line = lines->open[i].at + 1 + before;
		before += lines->open[i].nr;
	}
	lines->nr = lines->nr_rows + before;
}

/* Returns the index of the last unfolded row whose line is at or above a line, or -1. */
static ptrdiff_t open_above(const struct browser_lines *lines, size_t at)
{
	size_t low = PERCH__SEARCH(lines->nr_open, i, lines->open[i].first_line - 1 <= at);

	return (ptrdiff_t)low - 1;
}

struct browser_line browser_lines_get(const struct browser_lines *lines, size_t at)
{
	ptrdiff_t i = open_above(lines, at);
	const struct browser_open_row *open = i < 0 ? NULL : &lines->open[i];
	struct browser_line line = { 0 };

	if (!open) {
		line.at = at;
	} else if (at < open->first_line + open->nr) {
		line.at = open->at;
		line.open = open;
		if (at >= open->first_line)
			line.branch = &open->branch[at - open->first_line];
	} else {
		line.at = open->at + 1 + (at - open->first_line - open->nr);
	}
	line.row = lines->order[line.at];
	return line;
}

size_t browser_lines_of_row(const struct browser_lines *lines, size_t position)
{
	size_t line = position;

	for (size_t i = 0; i < lines->nr_open && lines->open[i].at < position; i++)
		line += lines->open[i].nr;
	return line;
}

/* Returns the next frame of a chain: the only child, with the whole period of its parent. */
static uint32_t next_in_chain(const struct perch_call_graph_node *node, uint32_t at)
{
	uint32_t child = node[at].first_child;

	return child && node[child].period == node[at].period && !node[child].next ? child : 0;
}

static int put_branch(struct browser_open_row *open, struct browser_branch branch)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(open->branch, open->nr, 1))
		return -ENOMEM;
	open->branch[open->nr++] = branch;
	return 0;
}

/* Adds the lines of a chain, and returns its last node. A folded chain is one line. */
static int put_chain(struct browser_open_row *open, uint32_t at, uint16_t depth, uint32_t *last)
{
	const struct perch_call_graph_node *node = open->graph.node;
	bool unfolded = open->unfolded[at];
	int rc = put_branch(open, (struct browser_branch){ at, depth, true,
							   node[at].first_child != 0, unfolded });

	*last = at;
	while (!rc && unfolded && next_in_chain(node, *last)) {
		*last = next_in_chain(node, *last);
		rc = put_branch(open, (struct browser_branch){ *last, depth, false, false, true });
	}
	return rc;
}

/* A branch of the tree that is being listed: its next sibling follows when its children are done.
 */
struct branch_level {
	uint32_t next;
};

/* Lists the visible branches of a row, by a stack of its own: a hostile file may be deep. */
static int list_branches(struct browser_open_row *open)
{
	const struct perch_call_graph_node *node = open->graph.node;
	struct branch_level level[MOST_DEPTH + 1];
	size_t depth = 0;
	int rc = 0;

	open->nr = 0;
	level[0].next = open->graph.nr ? node[0].first_child : 0;
	while (!rc) {
		uint32_t at = level[depth].next, last;

		if (!at) {
			if (!depth)
				break;
			depth--;
			continue;
		}
		level[depth].next = node[at].next;
		rc = put_chain(open, at, (uint16_t)depth, &last);
		if (open->unfolded[at] && node[last].first_child && depth < MOST_DEPTH)
			level[++depth].next = node[last].first_child;
	}
	return rc;
}

static int open_row(struct browser_lines *lines, size_t at, bool whole, browser_make_graph *make,
		    void *context)
{
	struct browser_open_row open = { .at = at };
	size_t i = lines->nr_open;
	int rc = make(context, lines->order[at], &open.graph);

	if (rc)
		return rc;
	if (open.graph.nr <= 1 || !open.graph.node[0].first_child) {
		clear_open_row(&open);
		return 0;
	}
	open.unfolded = malloc(open.graph.nr * sizeof(*open.unfolded));
	if (!open.unfolded || PERCH__ARRAY_RESERVE_BY_NR(lines->open, lines->nr_open, 1)) {
		clear_open_row(&open);
		return -ENOMEM;
	}
	for (size_t node = 0; node < open.graph.nr; node++)
		open.unfolded[node] = whole;
	/* the chain that the whole row has in common is seen at once */
	if (!open.graph.node[open.graph.node[0].first_child].next)
		open.unfolded[open.graph.node[0].first_child] = true;
	if (list_branches(&open)) {
		clear_open_row(&open);
		return -ENOMEM;
	}
	while (i && lines->open[i - 1].at > at)
		i--;
	memmove(&lines->open[i + 1], &lines->open[i], (lines->nr_open - i) * sizeof(open));
	lines->open[i] = open;
	lines->nr_open++;
	return 1;
}

static void close_row(struct browser_lines *lines, const struct browser_open_row *open)
{
	size_t i = (size_t)(open - lines->open);

	clear_open_row(&lines->open[i]);
	lines->nr_open--;
	memmove(&lines->open[i], &lines->open[i + 1], (lines->nr_open - i) * sizeof(*open));
}

static struct browser_open_row *writable(struct browser_lines *lines,
					 const struct browser_open_row *open)
{
	return &lines->open[open - lines->open];
}

int browser_lines_toggle(struct browser_lines *lines, size_t at, browser_make_graph *make,
			 void *context)
{
	struct browser_line line = browser_lines_get(lines, at);
	struct browser_open_row *open;
	int rc = 1;

	if (!line.open) {
		rc = open_row(lines, line.at, false, make, context);
	} else if (!line.branch) {
		close_row(lines, line.open);
	} else if (!line.branch->foldable) {
		return 0;
	} else {
		open = writable(lines, line.open);
		open->unfolded[line.branch->node] = !line.branch->unfolded;
		if (list_branches(open))
			rc = -ENOMEM;
	}
	number_lines(lines);
	return rc;
}

/* Returns true if all branches of a row are unfolded. */
static bool is_whole(const struct browser_open_row *open)
{
	for (size_t i = 0; i < open->nr; i++)
		if (open->branch[i].foldable && !open->branch[i].unfolded)
			return false;
	return true;
}

int browser_lines_toggle_all(struct browser_lines *lines, size_t at, browser_make_graph *make,
			     void *context)
{
	struct browser_line line = browser_lines_get(lines, at);
	bool whole = line.open && is_whole(line.open);
	int rc = 1;

	if (line.open)
		close_row(lines, line.open);
	if (!whole)
		rc = open_row(lines, line.at, true, make, context);
	number_lines(lines);
	return rc;
}

int browser_lines_unfold(struct browser_lines *lines, size_t most, browser_make_graph *make,
			 void *context)
{
	int rc = 0;

	browser_lines_fold(lines);
	for (size_t at = 0; at < lines->nr_rows && at < most && rc >= 0; at++)
		rc = open_row(lines, at, true, make, context);
	number_lines(lines);
	return rc < 0 ? rc : 0;
}
