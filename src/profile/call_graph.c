/* SPDX-License-Identifier: MIT */
/*
 * The call graph of one row. Stacks are merged level by level. Branches below the limit are not
 * expanded, so the cost depends on the size of the result, not on the number of stacks.
 */
#include "base/no_memory.h"
#include "internal.h"

/* A node of the folded tree, and the part of the row's period that passes through it. */
struct perch__graph_item {
	struct node_id node;
	uint32_t function : 31; /* of its frame, see function_at() */
	uint32_t inner : 1;	/* the row's function called the function with the sample */
	/* in caller order: those of the row's own nodes that are at the node and below, in
	 * row_nodes.hit */
	uint32_t first_hit, end_hit;
	uint64_t weight, samples;
};

/* A stack: the items of a level are above those of the levels before. */
struct items {
	struct perch__graph_item *item;
	size_t nr, capacity;
};

/* Items of one frame: they become one node of the call graph. */
struct graph_group {
	struct frame_id frame; /* of the first item */
	uint32_t function;
	size_t first, nr; /* of the items; first: after the level is grouped */
	uint64_t weight, samples;
};

struct builder {
	const struct perch_profile *profile;
	enum perch_call_graph_order order;
	uint64_t least;
	struct row_begin row, next_row; /* in profile->row_nodes */
	uint32_t *group_of;		/* by frame: group number + 1, while one level is grouped */
	struct items items;
	struct perch_call_graph *tree;
	size_t capacity;
};

/* Returns the number of the function of a node's frame. Frames of one function at several lines are
 * one node of the graph, unless it has lines. */
static uint32_t function_at(const struct builder *builder, struct node_id node)
{
	const struct perch_profile *profile = builder->profile;
	struct frame_id frame = profile->forest.node[node.nr].frame;

	return profile->with_lines && profile->graph_key == PERCH_CALL_GRAPH_FUNCTION
		       ? profile->position[frame.nr].function
		       : frame.nr;
}

static int add_item(struct items *items, struct perch__graph_item item)
{
	if (!item.weight)
		return 0;
	if (PERCH__ARRAY_RESERVE(items->item, items->capacity, items->nr + 1))
		return -ENOMEM;
	items->item[items->nr++] = item;
	return 0;
}

/* Puts the newest nodes first: their frame stands for the others of the function. */
static void reverse_items(struct items *items, size_t from)
{
	for (size_t to = items->nr; from + 1 < to; from++) {
		struct perch__graph_item item = items->item[from];

		items->item[from] = items->item[--to];
		items->item[to] = item;
	}
}

/* Returns the first of the row's own nodes from `low` to `high` that is not before a node. */
static uint32_t hits_before(const struct builder *builder, uint32_t low, uint32_t high,
			    uint32_t node)
{
	const uint32_t *hit = builder->profile->row_nodes.hit;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (hit[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The item of a node for the row's own samples. Its hits are from `low` to `high`. */
static struct perch__graph_item own_item(const struct builder *builder, struct node_id node,
					 uint32_t low, uint32_t high)
{
	const struct row_nodes *nodes = &builder->profile->row_nodes;

	return (struct perch__graph_item){
		.node = node,
		.function = function_at(builder, node),
		.first_hit = low,
		.end_hit = high,
		.weight = nodes->period[high] - nodes->period[low],
		.samples = nodes->samples[high] - nodes->samples[low],
	};
}

/* The item of a node for samples of functions that the row's function called. */
static struct perch__graph_item inner_item(const struct builder *builder, struct node_id node,
					   uint32_t low, uint32_t high)
{
	const struct perch_profile *profile = builder->profile;
	const struct forest *forest = &profile->forest;
	struct perch__graph_item item = own_item(builder, node, low, high);

	item.inner = true;
	item.weight = perch__forest_total(forest, forest->period, node) - item.weight;
	item.samples = profile->graph_samples
			       ? perch__forest_total(forest, forest->samples, node) - item.samples
			       : 0;
	return item;
}

/* Adds the items of the next level. The part of the period that ends at this item is added to the
 * node `call`. */
static int descend(struct builder *builder, struct perch__graph_item item,
		   struct perch_call_graph_node *call)
{
	const struct forest *forest = &builder->profile->forest;
	struct above above = forest->above[item.node.nr];
	uint32_t low = item.first_hit;
	size_t from = builder->items.nr;
	int rc = 0;

	if (builder->order == PERCH_CALL_GRAPH_CALLEE && !perch__is_root(above)) {
		item.node.nr = above.nr;
		item.function = function_at(builder, item.node);
		return add_item(&builder->items, item);
	}
	if (builder->order == PERCH_CALL_GRAPH_CALLEE) {
		call->self += item.weight;
		call->self_samples += item.samples;
		return 0;
	}
	/* the hits of the node itself */
	low = hits_before(builder, low, item.end_hit, item.node.nr + 1);
	for (struct node_id child = { item.node.nr + 1 };
	     child.nr < forest->node[item.node.nr].end && !rc;
	     child.nr = forest->node[child.nr].end) {
		uint32_t high = hits_before(builder, low, item.end_hit, forest->node[child.nr].end);
		struct perch__graph_item below = item.inner ? inner_item(builder, child, low, high)
							    : own_item(builder, child, low, high);

		low = high;
		item.weight -= below.weight;
		item.samples -= below.samples;
		rc = add_item(&builder->items, below);
	}
	reverse_items(&builder->items, from);
	call->self += item.weight;
	call->self_samples += item.samples;
	return rc;
}

struct groups {
	struct graph_group *group;
	size_t nr, capacity;
};

/* Adds up the items from a number on by function. */
static int add_groups(struct builder *builder, struct groups *groups, size_t from)
{
	for (size_t i = from; i < builder->items.nr; i++) {
		const struct perch__graph_item *item = &builder->items.item[i];
		uint32_t *number = &builder->group_of[item->function];
		struct graph_group *group;

		if (!*number) {
			group = PERCH__ARRAY_APPEND(groups->group, groups->nr, groups->capacity);
			if (!group)
				return -ENOMEM;
			group->function = item->function;
			group->frame = builder->profile->forest.node[item->node.nr].frame;
			*number = (uint32_t)groups->nr;
		}
		group = &groups->group[*number - 1];
		group->weight += item->weight;
		group->samples += item->samples;
		group->nr++;
	}
	return 0;
}

/* Copies the items of each group that is not below the limit, so that they are together. */
static int copy_items(struct builder *builder, struct groups *groups, size_t from)
{
	struct items *items = &builder->items;
	size_t end = items->nr, nr = end;

	for (size_t i = 0; i < groups->nr; i++) {
		groups->group[i].first = nr;
		nr += groups->group[i].weight >= builder->least ? groups->group[i].nr : 0;
	}
	if (PERCH__ARRAY_RESERVE(items->item, items->capacity, nr))
		return -ENOMEM;
	items->nr = nr;
	for (size_t i = from; i < end; i++) {
		uint32_t number = builder->group_of[items->item[i].function] - 1;

		if (groups->group[number].weight >= builder->least)
			items->item[groups->group[number].first++] = items->item[i];
	}
	return 0;
}

/* Groups items by function. Groups below the limit are left out. */
static int group_items(struct builder *builder, struct groups *groups, size_t from)
{
	size_t nr_large = 0;
	int rc = add_groups(builder, groups, from);

	if (!rc)
		rc = copy_items(builder, groups, from);
	for (size_t i = 0; i < groups->nr; i++) {
		struct graph_group *group = &groups->group[i];

		builder->group_of[group->function] = 0;
		if (group->weight < builder->least)
			continue;
		group->first -= group->nr;
		groups->group[nr_large++] = *group;
	}
	groups->nr = nr_large;
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

/* Adds the items from a number on as children of node `above`, with their own children, and removes
 * the items. */
static int expand(struct builder *builder, uint32_t above, size_t from)
{
	struct groups groups = { 0 };
	uint32_t last = 0;
	int rc = group_items(builder, &groups, from);

	if (groups.nr > 1 && !rc)
		qsort(groups.group, groups.nr, sizeof(*groups.group), by_weight);
	for (size_t i = 0; i < groups.nr && !rc; i++) {
		const struct graph_group *group = &groups.group[i];
		uint32_t call = (uint32_t)builder->tree->nr;
		size_t next = builder->items.nr;

		rc = new_node(builder, group);
		if (rc)
			break;
		if (last)
			builder->tree->node[last].next = call;
		else
			builder->tree->node[above].first_child = call;
		last = call;
		for (size_t j = 0; j < group->nr && !rc; j++)
			rc = descend(builder, builder->items.item[group->first + j],
				     &builder->tree->node[call]);
		if (!rc)
			rc = expand(builder, call, next);
	}
	free(groups.group);
	builder->items.nr = from;
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

/* Ends the walk below the innermost node. */
static int close_node(const struct builder *builder, struct open_nodes *open, struct items *items)
{
	const struct open_node *node = &open->node[--open->nr];

	return add_item(items,
			(struct perch__graph_item){ .node = node->node,
						    .function = function_at(builder, node->node),
						    .inner = true,
						    .weight = node->weight,
						    .samples = node->samples });
}

/*
 * Adds the innermost nodes of a row in the stacks below an outermost one, with the samples of
 * functions that they called.
 */
static int add_innermost(const struct builder *builder, struct node_id outermost, uint32_t row,
			 struct items *items)
{
	const struct forest *forest = &builder->profile->forest;
	const struct forest_node *nodes = forest->node;
	struct open_nodes open = { NULL, 0, 0 };
	int rc = 0;

	for (struct node_id at = outermost; at.nr < nodes[outermost.nr].end && !rc; at.nr++) {
		struct open_node *node;

		while (open.nr && nodes[open.node[open.nr - 1].node.nr].end <= at.nr && !rc)
			rc = close_node(builder, &open, items);
		if (forest->row[at.nr].nr == row) {
			node = PERCH__ARRAY_APPEND(open.node, open.nr, open.capacity);
			if (!node)
				rc = -ENOMEM;
			else
				node->node = at;
			continue;
		}
		node = &open.node[open.nr - 1];
		node->weight += perch__forest_self(forest, forest->period, at);
		node->samples += perch__forest_self(forest, forest->samples, at);
	}
	while (open.nr && !rc)
		rc = close_node(builder, &open, items);
	free(open.node);
	return rc;
}

/* Adds the items of the roots with hits, in caller order. */
static int add_roots(struct builder *builder, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	const struct forest_node *nodes = profile->forest.node;
	uint32_t low = builder->row.hit, end;
	int rc = 0;

	for (; low < builder->next_row.hit && !rc; low = end) {
		struct node_id root = { profile->row_nodes.hit[low] };

		while (!perch__is_root(profile->forest.above[root.nr]))
			root.nr = profile->forest.above[root.nr].nr;
		end = hits_before(builder, low, builder->next_row.hit, nodes[root.nr].end);
		rc = add_item(items, own_item(builder, root, low, end));
	}
	return rc;
}

/* Adds the items of the nodes with samples, in callee order. */
static int add_hits(struct builder *builder, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	int rc = 0;

	for (uint32_t i = builder->row.hit; i < builder->next_row.hit && !rc; i++) {
		struct node_id hit = { profile->row_nodes.hit[i] };

		rc = add_item(items, own_item(builder, hit, i, i + 1));
	}
	reverse_items(items, 0);
	return rc;
}

/* Adds the items of functions that the row's function called. */
static int add_called(struct builder *builder, uint32_t row, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	const struct forest_node *nodes = profile->forest.node;
	const struct row_nodes *of_rows = &profile->row_nodes;
	bool innermost = builder->order == PERCH_CALL_GRAPH_CALLEE && builder->row.recursive;
	uint32_t low = builder->row.hit, high, end = builder->next_row.hit;
	size_t from = items->nr;
	int rc = 0;

	for (uint32_t i = builder->row.outermost; i < builder->next_row.outermost && !rc; i++) {
		struct node_id at = { of_rows->outermost[i] };

		if (innermost) {
			rc = add_innermost(builder, at, row, items);
			continue;
		}
		/* the hits of the row are at its outermost nodes and below them */
		for (high = low; high < end && of_rows->hit[high] < nodes[at.nr].end;)
			high++;
		rc = add_item(items, inner_item(builder, at, low, high));
		low = high;
	}
	reverse_items(items, from);
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
	int rc = builder->order == PERCH_CALL_GRAPH_CALLEE ? add_hits(builder, items)
							   : add_roots(builder, items);

	return rc || !inner ? rc : add_called(builder, row, items);
}

int perch_profile_call_graph(struct perch_profile *profile, const struct perch_row *row,
			     enum perch_call_graph_order order, bool inner, uint64_t least,
			     struct perch_call_graph *tree, struct perch_error *err)
{
	struct builder builder = {
		.profile = profile,
		.order = order,
		.least = least ? least : 1,
		.group_of = profile->group_of,
		.items = { profile->graph_item, 0, profile->graph_items_capacity },
		.tree = tree,
	};
	const struct items *items = &builder.items;
	int rc = -ENOMEM;

	*tree = (struct perch_call_graph){ 0 };
	if (!perch__row_nodes_make(&profile->row_nodes, &profile->forest, profile->nr_rows) &&
	    PERCH__ARRAY_APPEND(tree->node, tree->nr, builder.capacity)) {
		builder.row = profile->row_nodes.row[row->index];
		builder.next_row = profile->row_nodes.row[row->index + 1];
		rc = collect_items(&builder, row->index, inner, &builder.items);
		for (size_t i = 0; i < items->nr; i++) {
			tree->node[0].period += items->item[i].weight;
			tree->node[0].samples += items->item[i].samples;
		}
		if (!rc)
			rc = expand(&builder, 0, 0);
	}
	profile->graph_item = items->item;
	profile->graph_items_capacity = items->capacity;
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
