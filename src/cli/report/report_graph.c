/* SPDX-License-Identifier: MIT */
/* Call graphs as text, in perf's format. */
#include <inttypes.h>

#include "options.h"
#include "report.h"

struct graph {
	FILE *out;
	const struct perch_call_graph_node *node;
	struct perch_profile *profile;
	uint64_t total; /* the value of 100 % */
	int margin;
};

#define MAX_DEPTH 60 /* of branches: open branches are bits of a 64-bit word */

static void left_margin(const struct graph *graph)
{
	fprintf(graph->out, "%*s", 12 + graph->margin, "");
}

static void put_frame(const struct graph *graph, const struct perch_frame *frame)
{
	char buffer[PERCH_CELL_BYTES];

	if (frame->symbol)
		fputs(perch_profile_frame_name(graph->profile, frame, buffer, sizeof(buffer)),
		      graph->out);
	else
		fprintf(graph->out, "%#" PRIx64, frame->offset);
	putc('\n', graph->out);
}

/*
 * Returns the child of a node that has one child and no samples of its own: both are printed as one
 * chain. Else returns 0.
 */
static uint32_t only_child(const struct graph *graph, uint32_t at)
{
	const struct perch_call_graph_node *node = &graph->node[at];

	/* a different period: samples of its own, or a branch below the limit */
	if (!node->first_child || graph->node[node->first_child].period != node->period)
		return 0;
	return node->first_child;
}

static void put_pipes(const struct graph *graph, int depth, uint64_t open)
{
	for (int i = 0; i < depth; i++)
		fprintf(graph->out, "%s          ", open & 1ull << i ? "|" : " ");
}

/* Prints a line of pipes without trailing spaces. */
static void put_pipe_line(const struct graph *graph, int depth, uint64_t open)
{
	while (depth && !(open & 1ull << (depth - 1)))
		depth--;
	if (depth) {
		left_margin(graph);
		put_pipes(graph, depth - 1, open);
		putc('|', graph->out);
	}
	putc('\n', graph->out);
}

/* Prints a chain of frames, the first one with its percentage. Returns the last node. */
static uint32_t put_chain(const struct graph *graph, uint32_t at, int depth, uint64_t open)
{
	bool first = true;

	while (true) {
		uint32_t next = only_child(graph, at);

		left_margin(graph);
		put_pipes(graph, depth - 1, open);
		fputs(open & 1ull << (depth - 1) ? "|" : " ", graph->out);
		if (first)
			fprintf(graph->out, "--%.2f%%--",
				100.0 * graph->node[at].period / graph->total);
		else
			fputs("          ", graph->out);
		put_frame(graph, &graph->node[at].frame);
		first = false;
		if (!next)
			return at;
		at = next;
	}
}

static bool put_branches(const struct graph *graph, uint32_t at, int depth, uint64_t open)
{
	bool any = false;

	if (depth > MAX_DEPTH)
		return false;
	while (at) {
		uint32_t next = graph->node[at].next;
		uint64_t below = next ? open : open & ~(1ull << (depth - 1));
		uint32_t last;

		put_pipe_line(graph, depth, open);
		last = put_chain(graph, at, depth, below);
		put_branches(graph, graph->node[last].first_child, depth + 1,
			     below | 1ull << depth);
		any = true;
		at = next;
		open = at ? open : below;
	}
	return any;
}

/* Prints the chain that has the whole period of the row, without a percentage. Returns the first
 * node below. */
static uint32_t put_full_chain(struct graph *graph, uint32_t at, bool skip_first)
{
	bool printed = false;

	for (bool first = true;; first = false) {
		uint32_t next = only_child(graph, at);

		if (!first || !skip_first) {
			left_margin(graph);
			if (!printed) {
				fputs("|\n", graph->out);
				left_margin(graph);
				fputs("---", graph->out);
				graph->margin += 3;
				printed = true;
			}
			put_frame(graph, &graph->node[at].frame);
		}
		if (!next)
			return graph->node[at].first_child;
		at = next;
	}
}

int report_print_graph(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t total)
{
	enum perch_call_graph_order order = report->graph == GRAPH_CALLEE ? PERCH_CALL_GRAPH_CALLEE
									  : PERCH_CALL_GRAPH_CALLER;
	uint64_t period = report->children ? row->children : row->self;
	uint64_t least = total * report->graph_limit / 100;
	bool skip_first = report->keys[0] == perch_column_find("sym", 3);
	struct perch_call_graph tree;
	struct perch_error err;
	struct graph graph;
	bool printed = false;
	uint32_t first;

	if (period < least)
		return 0;
	if (perch_profile_call_graph(profile, row, order, report->children, least, &tree, &err))
		return cli_error("report", &err);
	graph = (struct graph){ out, tree.node, profile, total, 0 };
	first = tree.node[0].first_child;
	if (first && tree.node[first].period == period) {
		bool alone = skip_first && !only_child(&graph, first);

		first = put_full_chain(&graph, first, skip_first);
		printed = !alone;
	}
	if (put_branches(&graph, first, 1, 1) || printed)
		putc('\n', out);
	perch_call_graph_clear(&tree);
	return 0;
}
