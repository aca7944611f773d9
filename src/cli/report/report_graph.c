/* SPDX-License-Identifier: MIT */
/* Call graphs as trees of text, in perf's format. */
#include <inttypes.h>

#include "options.h"
#include "report.h"

struct graph {
	FILE *out;
	const struct report *report;
	const struct perch_call_graph_node *node;
	struct perch_profile *profile;
	int margin;
};

#define MAX_DEPTH 60 /* of branches: open branches are bits of a 64-bit word */

static void left_margin(const struct graph *graph)
{
	fprintf(graph->out, "%*s", 12 + graph->margin, "");
}

static void put_frame(const struct graph *graph, const struct perch_frame *frame)
{
	char buffer[REPORT_FRAME_BYTES];

	fputs(report_frame(graph->report, graph->profile, frame, buffer), graph->out);
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

/* Prints the start of a line of a branch. */
static void put_indent(const struct graph *graph, int depth, uint64_t open)
{
	left_margin(graph);
	put_pipes(graph, depth - 1, open);
	fputs(open & 1ull << (depth - 1) ? "|" : " ", graph->out);
}

/* total: the period of 100 %. */
static void put_value(const struct graph *graph, uint64_t period, uint64_t samples, uint64_t total)
{
	fputs("--", graph->out);
	report_put_value(graph->out, graph->report, period, samples, total);
	fputs("--", graph->out);
}

/* Prints a chain of frames, the first one with its percentage. Returns the last node. */
static uint32_t put_chain(const struct graph *graph, uint32_t at, int depth, uint64_t open,
			  uint64_t total)
{
	bool first = true;

	while (true) {
		uint32_t next = only_child(graph, at);

		put_indent(graph, depth, open);
		if (first)
			put_value(graph, graph->node[at].period, graph->node[at].samples, total);
		else
			fputs("          ", graph->out);
		put_frame(graph, &graph->node[at].frame);
		first = false;
		if (!next)
			return at;
		at = next;
	}
}

/* The period of 100 % below a node. */
static uint64_t total_below(const struct graph *graph, uint32_t at, uint64_t total)
{
	if (graph->report->graph.shape != SHAPE_FRACTAL)
		return total;
	return graph->node[at].period - graph->node[at].self;
}

static uint64_t samples_below(const struct graph *graph, uint32_t at)
{
	return graph->node[at].samples - graph->node[at].self_samples;
}

/* In a fractal graph, the limit is a percentage of the branch above. */
static uint32_t large_enough(const struct graph *graph, uint32_t at, uint64_t total)
{
	double least = graph->report->graph.limit * total / 100;

	while (at && graph->report->graph.shape == SHAPE_FRACTAL && graph->node[at].period < least)
		at = graph->node[at].next;
	return at;
}

/* Prints what smaller branches of a fractal graph have, as perf does. */
static void put_rest(const struct graph *graph, int depth, uint64_t open, uint64_t rest,
		     uint64_t samples, uint64_t total)
{
	open &= ~(1ull << (depth - 1));
	put_indent(graph, depth, open);
	put_value(graph, rest, samples, total);
	fputs("[...]\n", graph->out);
}

/* samples: those of all branches. */
static bool put_branches(const struct graph *graph, uint32_t at, int depth, uint64_t open,
			 uint64_t samples, uint64_t total)
{
	bool fractal = graph->report->graph.shape == SHAPE_FRACTAL;
	uint64_t rest = total;
	unsigned long nr = 0;

	if (depth > MAX_DEPTH)
		return false;
	at = large_enough(graph, at, total);
	while (at) {
		uint32_t next = large_enough(graph, graph->node[at].next, total);
		uint32_t last;
		uint64_t below;

		rest -= graph->node[at].period;
		samples -= graph->node[at].samples;
		below = next || (fractal && rest) ? open : open & ~(1ull << (depth - 1));
		put_pipe_line(graph, depth, open);
		last = put_chain(graph, at, depth, below, total);
		put_branches(graph, graph->node[last].first_child, depth + 1, below | 1ull << depth,
			     samples_below(graph, last), total_below(graph, last, total));
		at = next;
		if (++nr == graph->report->graph.max)
			break;
	}
	if (fractal && rest && rest != total)
		put_rest(graph, depth, open, rest, samples, total);
	return nr;
}

/* Prints the chain that has the whole period of the row, without a percentage. Returns the last
 * node. */
static uint32_t put_full_chain(struct graph *graph, uint32_t at, bool skip_first)
{
	bool printed = false;
	unsigned long nr = 0, max = graph->report->graph.max;

	for (bool first = true;; first = false) {
		uint32_t next = only_child(graph, at);

		if ((!first || !skip_first) && (!max || nr++ < max)) {
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
			return at;
		at = next;
	}
}

/* The tree of the row, or a part of it. any: anything was printed. */
static int put_graph(FILE *out, const struct report *report, struct perch_profile *profile,
		     const struct perch_row *row, uint64_t total, bool *any)
{
	bool fractal = report->graph.shape == SHAPE_FRACTAL;
	uint64_t period = report->children ? row->children : row->self;
	uint64_t least = fractal ? 0 : total * report->graph.limit / 100;
	struct perch_call_graph tree;
	struct graph graph;
	bool skip_first, printed = false;
	uint32_t first, last = 0;
	int status;

	if (!period || period < least)
		return 0;
	status = report_make_graph(report, profile, row, least, &tree);
	if (status)
		return status;
	/* as in perf: not with -F */
	skip_first = !report->output && report->keys.nr &&
		     report->keys.column[0] == perch_column_find("sym", 3);
	graph = (struct graph){ out, report, tree.node, profile, 0 };
	first = tree.node[0].first_child;
	total = fractal ? period : total;
	if (first && tree.node[first].period == period) {
		last = put_full_chain(&graph, first, skip_first);
		printed = !skip_first || last != first;
		first = tree.node[last].first_child;
	}
	printed |= put_branches(&graph, first, 1, 1, samples_below(&graph, last), total);
	if (printed)
		putc('\n', out);
	*any = printed;
	perch_call_graph_clear(&tree);
	return 0;
}

/* True if the row has callers or callees, however small. */
static bool has_branches(const struct report *report, struct perch_profile *profile,
			 const struct perch_row *row)
{
	struct perch_call_graph tree;
	bool found;

	if (report_make_graph(report, profile, row, 1, &tree))
		return false;
	found = tree.nr > 2; /* more than the root and the function itself */
	perch_call_graph_clear(&tree);
	return found;
}

int report_print_graph(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t total)
{
	struct report_graphs *graphs = report->graphs;
	bool any = false;
	int status;

	if (report->graph.shape == SHAPE_FLAT || report->graph.shape == SHAPE_FOLDED)
		status = report_print_chains(out, report, profile, row, total, &any);
	else
		status = put_graph(out, report, profile, row, total, &any);
	if (!graphs || graphs->printed)
		return status;
	graphs->printed = any;
	if (!status && !any && !graphs->left_out)
		graphs->left_out = has_branches(report, profile, row);
	return status;
}
