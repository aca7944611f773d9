/* SPDX-License-Identifier: MIT */
/* The nodes of each row, which the first call graph lists. */
#include "profile/internal.h"

/* Counts the nodes of each row, then makes the counts positions. row: one more than there are. */
static void position_rows(struct row_begin *row, const struct forest *forest, size_t nr_rows)
{
	struct row_begin sum = { 0, 0, false };

	for (size_t i = 0; i < forest->nr; i++) {
		struct row_begin *of_node = &row[forest->row[i].nr];

		of_node->hit += perch__forest_is_hit(&forest->node[i]);
		of_node->outermost += forest->row[i].outermost;
		of_node->recursive |= !forest->row[i].outermost;
	}
	for (size_t i = 0; i <= nr_rows; i++) {
		const struct row_begin of_row = row[i];

		row[i].hit = sum.hit;
		row[i].outermost = sum.outermost;
		sum.hit += of_row.hit;
		sum.outermost += of_row.outermost;
	}
}

/* Lists the nodes. Positions move on by the nodes of a row, to those of the next one. */
static void list_nodes(struct row_nodes *nodes, const struct forest *forest, size_t nr_rows)
{
	for (uint32_t i = 0; i < forest->nr; i++) {
		struct row_begin *row = &nodes->row[forest->row[i].nr];

		if (perch__forest_is_hit(&forest->node[i]))
			nodes->hit[row->hit++] = i;
		if (forest->row[i].outermost)
			nodes->outermost[row->outermost++] = i;
	}
	for (size_t i = nr_rows; i-- > 0;) {
		nodes->row[i + 1].hit = nodes->row[i].hit;
		nodes->row[i + 1].outermost = nodes->row[i].outermost;
	}
	nodes->row[0].hit = nodes->row[0].outermost = 0;
}

int perch__row_nodes_make(struct row_nodes *nodes, const struct forest *forest, size_t nr_rows)
{
	size_t nr = forest->nr_hits;

	if (nodes->samples)
		return 0;
	perch__row_nodes_clear(nodes);
	nodes->row = calloc(nr_rows + 1, sizeof(*nodes->row));
	if (!nodes->row)
		return -ENOMEM;
	position_rows(nodes->row, forest, nr_rows);
	nodes->hit = malloc((nr + 1) * sizeof(*nodes->hit));
	nodes->outermost =
		malloc(((size_t)nodes->row[nr_rows].outermost + 1) * sizeof(*nodes->outermost));
	nodes->period = malloc((nr + 1) * sizeof(*nodes->period));
	nodes->samples = malloc((nr + 1) * sizeof(*nodes->samples));
	if (!nodes->hit || !nodes->outermost || !nodes->period || !nodes->samples) {
		perch__row_nodes_clear(nodes);
		return -ENOMEM;
	}
	list_nodes(nodes, forest, nr_rows);
	nodes->period[0] = nodes->samples[0] = 0;
	for (size_t i = 0; i < nr; i++) {
		struct node_id hit = { nodes->hit[i] };
		uint64_t period = perch__forest_self(forest, forest->period, hit);
		uint64_t samples = perch__forest_self(forest, forest->samples, hit);

		nodes->period[i + 1] = nodes->period[i] + period;
		nodes->samples[i + 1] = nodes->samples[i] + (period ? samples : 0);
	}
	return 0;
}

void perch__row_nodes_clear(struct row_nodes *nodes)
{
	free(nodes->row);
	free(nodes->hit);
	free(nodes->outermost);
	free(nodes->period);
	free(nodes->samples);
	*nodes = (struct row_nodes){ 0 };
}
