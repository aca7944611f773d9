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
	uint32_t function; /* of its frame, see function_at() */
	bool inner;	   /* the row's function called the function with the sample */
	/* in caller order: those of the row's own nodes that are at the node and below */
	uint32_t first_hit, end_hit;
	uint64_t weight, samples;
};

struct items {
	struct item *item;
	size_t nr, capacity;
};

/* Items of one frame: they become one node of the call graph. */
struct graph_group {
	struct frame_id frame; /* of the first item */
	uint32_t function;
	size_t nr_items;
	uint64_t weight, samples;
	struct items items;
};

/*
 * The row's own nodes with samples, in the order of a walk in depth first. Those below any node are
 * adjacent, so sums over the ones before give the samples of the row below the node.
 */
struct hits {
	uint32_t *visit;
	uint64_t *period, *samples; /* of all before; one more than there are nodes */
	size_t nr;
};

struct builder {
	const struct perch_profile *profile;
	enum perch_call_graph_order order;
	uint64_t least;
	struct hits hits;
	uint32_t *group_of; /* by frame: group number + 1, while one level is grouped */
	struct perch_call_graph *tree;
	size_t capacity;
};

/* Returns the number of the function of a node's frame. Frames of one function at several lines are
 * one node of the graph, unless it has lines. */
static uint32_t function_at(const struct builder *builder, struct node_id node)
{
	const struct perch_profile *profile = builder->profile;
	struct frame_id frame = profile->tree.node[node.nr].frame;

	return profile->with_lines && profile->graph_key == PERCH_CALL_GRAPH_FUNCTION
		       ? profile->position[frame.nr].function
		       : frame.nr;
}

static int add_item(struct items *items, struct item item)
{
	if (!item.weight)
		return 0;
	if (PERCH__ARRAY_RESERVE(items->item, items->capacity, items->nr + 1))
		return -ENOMEM;
	items->item[items->nr++] = item;
	return 0;
}

/* Lists the row's own nodes. */
static int list_hits(struct builder *builder, uint32_t row)
{
	const struct node *nodes = builder->profile->tree.node;
	const struct row_lists *lists = &builder->profile->lists[row];
	struct hits *hits = &builder->hits;
	size_t nr = lists->nr_hits, at = nr;

	hits->visit = malloc((nr + 1) * sizeof(*hits->visit));
	hits->period = malloc((nr + 1) * sizeof(*hits->period));
	hits->samples = malloc((nr + 1) * sizeof(*hits->samples));
	if (!hits->visit || !hits->period || !hits->samples)
		return -ENOMEM;
	hits->nr = nr;
	/* the list begins with the last visit */
	for (struct node_id hit = lists->hit; at; hit = nodes[hit.nr].next_hit) {
		hits->visit[--at] = nodes[hit.nr].visit;
		hits->period[at + 1] = nodes[hit.nr].self;
		hits->samples[at + 1] = nodes[hit.nr].self ? nodes[hit.nr].samples : 0;
	}
	hits->period[0] = hits->samples[0] = 0;
	for (size_t i = 0; i < nr; i++) {
		hits->period[i + 1] += hits->period[i];
		hits->samples[i + 1] += hits->samples[i];
	}
	return 0;
}

/* Returns the first of the hits from `low` to `high` that is not visited before a visit. */
static uint32_t hits_before(const struct hits *hits, size_t low, size_t high, uint32_t visit)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hits->visit[middle] < visit)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* The item of a node for the row's own samples. Its hits are from `low` to `high`. */
static struct item own_item(const struct builder *builder, struct node_id node, size_t low,
			    size_t high)
{
	const struct hits *hits = &builder->hits;

	return (struct item){
		.node = node,
		.function = function_at(builder, node),
		.first_hit = (uint32_t)low,
		.end_hit = (uint32_t)high,
		.weight = hits->period[high] - hits->period[low],
		.samples = hits->samples[high] - hits->samples[low],
	};
}

/* The item of a node for samples of functions that the row's function called. */
static struct item inner_item(const struct builder *builder, struct node_id node, size_t low,
			      size_t high)
{
	const struct perch_profile *profile = builder->profile;
	struct item item = own_item(builder, node, low, high);

	item.inner = true;
	item.weight = profile->tree.node[node.nr].total - item.weight;
	item.samples = profile->samples_below ? profile->samples_below[node.nr] - item.samples : 0;
	return item;
}

/* Adds the items of the next level. The part of the period that ends at this item is added to the
 * node `call`. */
static int descend(const struct builder *builder, const struct item *item, struct items *next,
		   struct perch_call_graph_node *call)
{
	const struct node *nodes = builder->profile->tree.node;
	const struct node *node = &nodes[item->node.nr];
	uint64_t left = item->weight, left_samples = item->samples;
	size_t high = item->end_hit;
	int rc = 0;

	if (builder->order == PERCH_CALL_GRAPH_CALLEE && node->parent.nr != NO_NUMBER)
		return add_item(next, (struct item){ .node = node->parent,
						     .function = function_at(builder, node->parent),
						     .weight = left,
						     .samples = left_samples });
	if (builder->order == PERCH_CALL_GRAPH_CALLEE) {
		call->self += left;
		call->self_samples += left_samples;
		return 0;
	}
	/* the last child of the list is visited first, so the hits of this one end at `high` */
	for (struct node_id child = node->first_child; child.nr != NO_NUMBER && !rc;
	     child = nodes[child.nr].next) {
		size_t low =
			hits_before(&builder->hits, item->first_hit, high, nodes[child.nr].visit);
		struct item below = item->inner ? inner_item(builder, child, low, high)
						: own_item(builder, child, low, high);

		high = low;
		left -= below.weight;
		left_samples -= below.samples;
		rc = add_item(next, below);
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
		const struct item *item = &items->item[i];
		struct graph_group *group;

		if (!builder->group_of[item->function]) {
			group = PERCH__ARRAY_APPEND(groups, *nr, capacity);
			if (!group) {
				rc = -ENOMEM;
				break;
			}
			group->function = item->function;
			group->frame = nodes[item->node.nr].frame;
			builder->group_of[item->function] = *nr;
		}
		group = &groups[builder->group_of[item->function] - 1];
		group->weight += item->weight;
		group->samples += item->samples;
		group->nr_items++;
	}
	for (size_t i = 0; i < items->nr && !rc; i++) {
		struct graph_group *group = &groups[builder->group_of[items->item[i].function] - 1];

		if (group->weight < builder->least)
			continue;
		if (!group->items.item)
			rc = PERCH__ARRAY_RESERVE(group->items.item, group->items.capacity,
						  group->nr_items);
		if (!rc)
			group->items.item[group->items.nr++] = items->item[i];
	}
	for (size_t i = 0; i < *nr; i++) {
		builder->group_of[groups[i].function] = 0;
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

#define AHEAD 16

/* Loads the memory of nodes that descend() will need. */
static void prefetch_below(const struct builder *builder, const struct items *items, size_t at)
{
	const struct node *nodes = builder->profile->tree.node;

	if (at + AHEAD < items->nr)
		__builtin_prefetch(&nodes[items->item[at + AHEAD].node.nr]);
	if (at + AHEAD / 2 < items->nr) {
		const struct node *later = &nodes[items->item[at + AHEAD / 2].node.nr];
		struct node_id next = builder->order == PERCH_CALL_GRAPH_CALLEE
					      ? later->parent
					      : later->first_child;

		if (next.nr != NO_NUMBER)
			__builtin_prefetch(&nodes[next.nr]);
	}
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
		for (size_t j = 0; j < groups[i].items.nr && !rc; j++) {
			prefetch_below(builder, &groups[i].items, j);
			rc = descend(builder, &groups[i].items.item[j], &next,
				     &builder->tree->node[call]);
		}
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
static int close_node(const struct builder *builder, struct open_nodes *open, struct node_id at,
		      struct items *items)
{
	if (!open->nr || open->node[open->nr - 1].node.nr != at.nr)
		return 0;
	open->nr--;
	return add_item(items, (struct item){ .node = at,
					      .function = function_at(builder, at),
					      .inner = true,
					      .weight = open->node[open->nr].weight,
					      .samples = open->node[open->nr].samples });
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
static int add_innermost(const struct builder *builder, struct node_id outermost, uint32_t row,
			 struct items *items)
{
	const struct node *nodes = builder->profile->tree.node;
	struct open_nodes open = { NULL, 0, 0 };
	struct node_id at = outermost;
	int rc = open_node(nodes, &open, at, row);

	while (!rc) {
		struct node_id next = nodes[at.nr].first_child;

		/* back to the first node with another child */
		while (next.nr == NO_NUMBER && !rc) {
			rc = close_node(builder, &open, at, items);
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

/* Adds the items of the roots with hits, in caller order. */
static int add_roots(struct builder *builder, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	const struct node *nodes = profile->tree.node;
	const struct hits *hits = &builder->hits;
	size_t at = 0;
	int rc = 0;

	for (size_t low = 0; low < hits->nr && !rc;) {
		size_t high = profile->nr_roots, end;

		/* the last root that is not after the hit */
		while (high - at > 1) {
			size_t middle = at + (high - at) / 2;

			if (nodes[profile->root[middle].nr].visit <= hits->visit[low])
				at = middle;
			else
				high = middle;
		}
		end = hits_before(hits, low, hits->nr, nodes[profile->root[at].nr].visit_end);
		rc = add_item(items, own_item(builder, profile->root[at], low, end));
		low = end;
	}
	return rc;
}

/* Adds the items of the nodes with samples, in callee order. */
static int add_hits(struct builder *builder, uint32_t row, struct items *items)
{
	const struct node *nodes = builder->profile->tree.node;
	int rc = 0;

	for (struct node_id hit = builder->profile->lists[row].hit; hit.nr != NO_NUMBER && !rc;
	     hit = nodes[hit.nr].next_hit)
		rc = add_item(items, (struct item){ .node = hit,
						    .function = function_at(builder, hit),
						    .weight = nodes[hit.nr].self,
						    .samples = nodes[hit.nr].samples });
	return rc;
}

/* Adds the items of functions that the row's function called. */
static int add_called(struct builder *builder, uint32_t row, struct items *items)
{
	const struct perch_profile *profile = builder->profile;
	const struct node *nodes = profile->tree.node;
	bool innermost = builder->order == PERCH_CALL_GRAPH_CALLEE && profile->lists[row].recursive;
	const struct hits *hits = &builder->hits;
	size_t high = hits->nr, low;
	int rc = 0;

	/* as the list of hits, this one begins with the last visit */
	for (struct node_id at = profile->lists[row].outermost; at.nr != NO_NUMBER && !rc;
	     at = nodes[at.nr].next_outermost) {
		if (innermost) {
			rc = add_innermost(builder, at, row, items);
			continue;
		}
		while (high && hits->visit[high - 1] >= nodes[at.nr].visit_end)
			high--;
		for (low = high; low && hits->visit[low - 1] >= nodes[at.nr].visit;)
			low--;
		rc = add_item(items, inner_item(builder, at, low, high));
		high = low;
	}
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
	bool from_callee = builder->order == PERCH_CALL_GRAPH_CALLEE;
	int rc = 0;

	if (!from_callee || inner)
		rc = list_hits(builder, row);
	if (!rc)
		rc = from_callee ? add_hits(builder, row, items) : add_roots(builder, items);
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
	}
	free(items.item);
	free(builder.hits.visit);
	free(builder.hits.period);
	free(builder.hits.samples);
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
