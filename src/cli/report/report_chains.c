/* SPDX-License-Identifier: MIT */
/* Call chains of a row one by one, for the shapes flat and folded and for JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "options.h"
#include "report.h"

static int largest_first(const void *left, const void *right)
{
	const struct report_chain *a = left, *b = right;

	if (a->period != b->period)
		return a->period < b->period ? 1 : -1;
	return (a->node > b->node) - (a->node < b->node);
}

int report_make_chains(const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t least, struct report_chains *chains)
{
	const struct perch_call_graph_node *node;
	int status;

	*chains = (struct report_chains){ .nr = 0 };
	status = report_make_graph(report, profile, row, least, &chains->graph);
	if (status)
		return status;
	chains->parent = calloc(chains->graph.nr, sizeof(*chains->parent));
	chains->path = calloc(chains->graph.nr, sizeof(*chains->path));
	chains->chain = calloc(chains->graph.nr, sizeof(*chains->chain));
	if (!chains->parent || !chains->path || !chains->chain) {
		report_clear_chains(chains);
		cli_note(report->input.command, "no memory for call chains");
		return CLI_EXIT_FAILURE;
	}
	node = chains->graph.node;
	for (uint32_t i = 0; i < chains->graph.nr; i++) {
		for (uint32_t child = node[i].first_child; child; child = node[child].next)
			chains->parent[child] = i;
		if (i && node[i].self && node[i].self >= least)
			chains->chain[chains->nr++] = (struct report_chain){ i, node[i].self };
	}
	qsort(chains->chain, chains->nr, sizeof(*chains->chain), largest_first);
	return 0;
}

size_t report_chain_path(struct report_chains *chains, const struct report_chain *chain)
{
	size_t nr = 0;

	for (uint32_t at = chain->node; at; at = chains->parent[at])
		chains->path[nr++] = at;
	for (size_t i = 0; i < nr / 2; i++) {
		uint32_t node = chains->path[i];

		chains->path[i] = chains->path[nr - 1 - i];
		chains->path[nr - 1 - i] = node;
	}
	return nr;
}

void report_clear_chains(struct report_chains *chains)
{
	perch_call_graph_clear(&chains->graph);
	free(chains->parent);
	free(chains->path);
	free(chains->chain);
}

int report_print_chains(FILE *out, const struct report *report, struct perch_profile *profile,
			const struct perch_row *row, uint64_t total, bool *any)
{
	bool flat = report->graph.shape == SHAPE_FLAT;
	const char *separator = report->separator ? report->separator : ";";
	char buffer[REPORT_FRAME_BYTES];
	struct report_chains chains;
	int status;

	if (!(report->children ? row->children : row->self))
		return 0;
	status = report_make_chains(report, profile, row, total * report->graph.limit / 100,
				    &chains);
	if (status)
		return status;
	for (size_t i = 0; i < chains.nr; i++) {
		const struct perch_call_graph_node *node = &chains.graph.node[chains.chain[i].node];
		size_t nr = report_chain_path(&chains, &chains.chain[i]);

		if (report->graph.max && i == report->graph.max)
			break;
		*any = true;
		fputs(flat ? "           " : "", out);
		/* as in perf: flat chains have the period of longer chains, too */
		report_put_value(out, report, flat ? node->period : node->self,
				 flat ? node->samples : node->self_samples, total);
		fputs(flat ? "\n" : " ", out);
		for (size_t j = 0; j < nr; j++) {
			const struct perch_frame *frame = &chains.graph.node[chains.path[j]].frame;

			fputs(flat ? "                " : j ? separator : "", out);
			fputs(report_frame(report, profile, frame, buffer), out);
			fputs(flat ? "\n" : "", out);
		}
		putc('\n', out);
	}
	report_clear_chains(&chains);
	return 0;
}
