/* SPDX-License-Identifier: MIT */
/*
 * The call graph of one row. Stacks are merged level by level. Branches below the limit are not
 * expanded, so the cost depends on the size of the result, not on the number of stacks.
 */
#include "base/no_memory.h"
#include "internal.h"

/* A node of the folded tree, and the part of the row's period that passes through it. */
struct item {
	struct node_id node;
	bool inner; /* the row's function called the function with the sample */
	uint64_t weight, samples;
};

struct items {
	struct item *item;
	size_t nr, capacity;
};

/* Items of one frame: they become one node of the call graph. */
struct graph_group {
	struct frame_id frame;
	uint64_t weight, samples;
	struct items items;
};

struct builder {
	const struct perch_profile *profile;
	enum perch_call_graph_order order;
	uint64_t least;
	uint64_t *hits;	       /* by node: period of the row's own samples at the node and below */
	uint64_t *hit_samples; /* by node: their number; NULL if it is not wanted */
	uint32_t *group_of;    /* by frame: group number + 1, while one level is grouped */
	struct perch_call_graph *tree;
	size_t capacity;
};

static int add_item(struct items *items, struct node_id node, bool inner, uint64_t weight,
		    uint64_t samples)
{
	if (!weight)
		return 0;
	if (PERCH__ARRAY_RESERVE(items->item, items->capacity, items->nr + 1))
		return -ENOMEM;
	items->item[items->nr++] = (struct item){ node, inner, weight, samples };
	return 0;
}

/* Returns the number of samples at a node and below: the row's own ones, or those of functions that
 * it called. */
static uint64_t samples_of(const struct builder *builder, struct node_id node, bool inner)
{
	if (!builder->hit_samples)
		return 0;
	return inner ? builder->profile->samples_below[node.nr] - builder->hit_samples[node.nr]
		     : builder->hit_samples[node.nr];
}

/* Adds the items of the next level. The part of the period that ends at this item is added to the
 * node `call`. */
static int descend(const struct builder *builder, const struct item *item, struct items *next,
		   struct perch_call_graph_node *call)
{
	const struct node *nodes = builder->profile->tree.node;
	const struct node *node = &nodes[item->node.nr];
	uint64_t left = item->weight, left_samples = item->samples;
	int rc = 0;

	if (builder->order == PERCH_CALL_GRAPH_CALLEE && node->parent.nr != NO_NUMBER)
		return add_item(next, node->parent, false, left, left_samples);
	if (builder->order == PERCH_CALL_GRAPH_CALLEE) {
		call->self += left;
		call->self_samples += left_samples;
		return 0;
	}
	for (struct node_id child = node->first_child; child.nr != NO_NUMBER && !rc;
	     child = nodes[child.nr].next) {
		uint64_t weight = item->inner ? nodes[child.nr].total - builder->hits[child.nr]
					      : builder->hits[child.nr];
		uint64_t samples = samples_of(builder, child, item->inner);

		left -= weight;
		left_samples -= samples;
		rc = add_item(next, child, item->inner, weight, samples);
	}
	call->self += left;
	call->self_samples += left_samples;
	return rc;
}

static void clear_groups(struct graph_group *groups, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(groups[i].items.item);
	free(groups);
}

/* Frames of one function at several lines are one node of the graph, unless it has lines. */
static uint32_t function_of(const struct perch_profile *profile, struct frame_id frame)
{
	return profile->with_lines && profile->graph_key == PERCH_CALL_GRAPH_FUNCTION
		       ? profile->position[frame.nr].function
		       : frame.nr;
}

/* Groups items by function. Groups below the limit are left out. */
static int group_items(struct builder *builder, const struct items *items,
		       struct graph_group **result, size_t *nr)
{
	const struct node *nodes = builder->profile->tree.node;
	struct graph_group *groups = NULL;
	size_t capacity = 0, nr_large = 0;
	int rc = 0;

	*nr = 0;
	for (size_t i = 0; i < items->nr; i++) {
		struct frame_id frame = nodes[items->item[i].node.nr].frame;
		uint32_t function = function_of(builder->profile, frame);

		if (!builder->group_of[function]) {
			struct graph_group *group = PERCH__ARRAY_APPEND(groups, *nr, capacity);

			if (!group) {
				rc = -ENOMEM;
				break;
			}
			group->frame = frame;
			builder->group_of[function] = *nr;
		}
		groups[builder->group_of[function] - 1].weight += items->item[i].weight;
		groups[builder->group_of[function] - 1].samples += items->item[i].samples;
	}
	for (size_t i = 0; i < items->nr && !rc; i++) {
		struct frame_id frame = nodes[items->item[i].node.nr].frame;
		struct graph_group *group =
			&groups[builder->group_of[function_of(builder->profile, frame)] - 1];

		if (group->weight >= builder->least)
			rc = add_item(&group->items, items->item[i].node, items->item[i].inner,
				      items->item[i].weight, items->item[i].samples);
	}
	for (size_t i = 0; i < *nr; i++) {
		builder->group_of[function_of(builder->profile, groups[i].frame)] = 0;
		if (groups[i].weight >= builder->least)
			groups[nr_large++] = groups[i];
	}
	*nr = nr_large;
	*result = groups;
	return rc;
}

static int by_weight(const void *left, const void *right)
{
	const struct graph_group *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return (a->frame.nr > b->frame.nr) - (a->frame.nr < b->frame.nr);
}

static int new_node(struct builder *builder, const struct graph_group *group)
{
	struct perch_call_graph_node *node =
		PERCH__ARRAY_APPEND(builder->tree->node, builder->tree->nr, builder->capacity);

	if (!node)
		return -ENOMEM;
	node->frame = builder->profile->frame[group->frame.nr];
	node->period = group->weight;
	node->samples = group->samples;
	return 0;
}

/* Adds the items as children of node `above`, with their own children. */
static int expand(struct builder *builder, uint32_t above, const struct items *items)
{
	struct graph_group *groups;
	size_t nr;
	uint32_t last = 0;
	int rc = group_items(builder, items, &groups, &nr);

	if (nr > 1 && !rc)
		qsort(groups, nr, sizeof(*groups), by_weight);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct items next = { 0 };
		uint32_t call = builder->tree->nr;

		rc = new_node(builder, &groups[i]);
		if (rc)
			break;
		if (last)
			builder->tree->node[last].next = call;
		else
			builder->tree->node[above].first_child = call;
		last = call;
		for (size_t j = 0; j < groups[i].items.nr && !rc; j++)
			rc = descend(builder, &groups[i].items.item[j], &next,
				     &builder->tree->node[call]);
		if (!rc)
			rc = expand(builder, call, &next);
		free(next.item);
	}
	clear_groups(groups, nr);
	return rc;
}

/* The nodes of a row on the way to the current node of a walk, the innermost one last. */
struct open_nodes {
	struct open_node {
		struct node_id node;
		uint64_t weight, samples; /* of samples for which this is the innermost one */
	} * node;
	size_t nr, capacity;
};

/* Ends the walk below a node. Adds it to the items if it is one of the row. */
static int close_node(struct open_nodes *open, struct node_id at, struct items *items)
{
	if (!open->nr || open->node[open->nr - 1].node.nr != at.nr)
		return 0;
	open->nr--;
	return add_item(items, at, true, open->node[open->nr].weight, open->node[open->nr].samples);
}

static int open_node(const struct node *nodes, struct open_nodes *open, struct node_id at,
		     uint32_t row)
{
	if (nodes[at.nr].row == row) {
		struct open_node *node = PERCH__ARRAY_APPEND(open->node, open->nr, open->capacity);

		if (!node)
			return -ENOMEM;
		*node = (struct open_node){ at, 0, 0 };
	} else {
		open->node[open->nr - 1].weight += nodes[at.nr].self;
		open->node[open->nr - 1].samples += nodes[at.nr].samples;
	}
	return 0;
}

/*
 * Adds the innermost nodes of a row in the stacks below an outermost one, with the samples of
 * functions that they called.
 */
static int add_innermost(const struct node *nodes, struct node_id outermost, uint32_t row,
			 struct items *items)
{
	struct open_nodes open = { NULL, 0, 0 };
	struct node_id at = outermost;
	int rc = open_node(nodes, &open, at, row);

	while (!rc) {
		struct node_id next = nodes[at.nr].first_child;

		/* back to the first node with another child */
		while (next.nr == NO_NUMBER && !rc) {
			rc = close_node(&open, at, items);
			if (at.nr == outermost.nr)
				break;
			next = nodes[at.nr].next;
			if (next.nr == NO_NUMBER)
				at = nodes[at.nr].parent;
		}
		if (next.nr == NO_NUMBER || rc)
			break;
		at = next;
		rc = open_node(nodes, &open, at, row);
	}
	free(open.node);
	return rc;
}

/*
 * Makes the items of the first level. In callee order, chains start at the function with the
 * sample. In caller order, they start at the outermost frame of the stacks with samples of the row.
 * Stacks in which the row's function only called others start at that function: in caller order at
 * its outermost frame, in callee order at its innermost one.
 */
static int collect_items(struct builder *builder, uint32_t row, bool inner, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	const struct node *nodes = profile->tree.node;
	bool from_callee = builder->order == PERCH_CALL_GRAPH_CALLEE;
	int rc = 0;

	for (struct node_id hit = profile->lists[row].hit; hit.nr != NO_NUMBER && !rc;
	     hit = nodes[hit.nr].next_hit) {
		uint64_t self = nodes[hit.nr].self;

		if (!self)
			continue;
		for (struct node_id up = hit; up.nr != NO_NUMBER; up = nodes[up.nr].parent) {
			/* a root is added once, for the first sample below it; its weight is set
			 * afterwards */
			if (nodes[up.nr].parent.nr == NO_NUMBER && !builder->hits[up.nr] &&
			    !from_callee)
				rc = add_item(items, up, false, 1, 0);
			builder->hits[up.nr] += self;
			if (builder->hit_samples)
				builder->hit_samples[up.nr] += nodes[hit.nr].samples;
		}
		if (from_callee && !rc)
			rc = add_item(items, hit, false, self, nodes[hit.nr].samples);
	}
	for (size_t i = 0; i < items->nr && !from_callee; i++) {
		items->item[i].weight = builder->hits[items->item[i].node.nr];
		items->item[i].samples = samples_of(builder, items->item[i].node, false);
	}
	if (!inner)
		return rc;
	for (struct node_id at = profile->lists[row].outermost; at.nr != NO_NUMBER && !rc;
	     at = nodes[at.nr].next_outermost)
		rc = from_callee && profile->lists[row].recursive
			     ? add_innermost(nodes, at, row, items)
			     : add_item(items, at, true, nodes[at.nr].total - builder->hits[at.nr],
					samples_of(builder, at, true));
	return rc;
}

/* hits[] is 0 between calls. Only the stacks of this row need clearing. */
static void clear_hits(struct builder *builder, uint32_t row)
{
	const struct node *nodes = builder->profile->tree.node;

	for (struct node_id hit = builder->profile->lists[row].hit; hit.nr != NO_NUMBER;
	     hit = nodes[hit.nr].next_hit)
		for (struct node_id up = hit; up.nr != NO_NUMBER; up = nodes[up.nr].parent) {
			builder->hits[up.nr] = 0;
			if (builder->hit_samples)
				builder->hit_samples[up.nr] = 0;
		}
}

int perch_profile_call_graph(struct perch_profile *profile, const struct perch_row *row,
			     enum perch_call_graph_order order, bool inner, uint64_t least,
			     struct perch_call_graph *tree, struct perch_error *err)
{
	struct builder builder = {
		.profile = profile,
		.order = order,
		.least = least ? least : 1,
		.hits = profile->hits,
		.hit_samples = profile->hit_samples,
		.group_of = profile->group_of,
		.tree = tree,
	};
	struct items items = { 0 };
	int rc = -ENOMEM;

	*tree = (struct perch_call_graph){ 0 };
	if (PERCH__ARRAY_APPEND(tree->node, tree->nr, builder.capacity)) {
		rc = collect_items(&builder, row->index, inner, &items);
		for (size_t i = 0; i < items.nr; i++) {
			tree->node[0].period += items.item[i].weight;
			tree->node[0].samples += items.item[i].samples;
		}
		if (!rc)
			rc = expand(&builder, 0, &items);
		clear_hits(&builder, row->index);
	}
	free(items.item);
	for (size_t i = 0; i < tree->nr && profile->unit > 1; i++) {
		tree->node[i].samples /= profile->unit;
		tree->node[i].self_samples /= profile->unit;
	}
	if (!rc)
		return 0;
	perch_call_graph_clear(tree);
	return PERCH__NO_MEMORY(err, "for a call graph");
}

void perch_call_graph_clear(struct perch_call_graph *tree)
{
	free(tree->node);
	tree->node = NULL;
	tree->nr = 0;
}
