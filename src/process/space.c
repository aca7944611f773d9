/* SPDX-License-Identifier: MIT */
/*
 * Address spaces: the current maps of a process, in a treap. A forked process starts with the nodes
 * of its parent. A change copies only the nodes between the root and the change.
 */
#include "internal.h"

void perch__map_node_put(struct map_node *node)
{
	if (!node || --node->references)
		return;
	perch__map_node_put(node->left);
	perch__map_node_put(node->right);
	free(node);
}

struct map_node *perch__map_node_get(struct map_node *node)
{
	if (node)
		node->references++;
	return node;
}

/*
 * Returns the next number of a generator (splitmix64). Its state starts with the address of the
 * space, which is not known in advance, so no recording can be made that unbalances the tree.
 */
static uint32_t next_priority(struct space *space)
{
	uint64_t word = space->random += 0x9e3779b97f4a7c15ull;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
	return (word ^ word >> 27) * 0x94d049bb133111ebull >> 32;
}

static struct map_node *new_node(struct space *space, const struct map *map)
{
	struct map_node *node = calloc(1, sizeof(*node));

	if (!node) {
		space->failed = true;
		return NULL;
	}
	node->map = *map;
	node->references = 1;
	node->priority = next_priority(space);
	return node;
}

/* Returns the node itself if it has one reference. Otherwise returns a copy, and the reference to
 * the old node is dropped. Returns NULL if out of memory. */
static struct map_node *writable_node(struct space *space, struct map_node *node)
{
	struct map_node *copy;

	if (node->references == 1)
		return node;
	copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *node;
		copy->references = 1;
		perch__map_node_get(copy->left);
		perch__map_node_get(copy->right);
	} else {
		space->failed = true;
	}
	perch__map_node_put(node);
	return copy;
}

/* Merges two trees. All maps of the first one are below those of the second one. */
static struct map_node *join_trees(struct space *space, struct map_node *first,
				   struct map_node *second)
{
	if (!first || !second)
		return first ? first : second;
	if (first->priority >= second->priority) {
		first = writable_node(space, first);
		if (first)
			first->right = join_trees(space, first->right, second);
		else
			perch__map_node_put(second);
		return first;
	}
	second = writable_node(space, second);
	if (second)
		second->left = join_trees(space, first, second->left);
	else
		perch__map_node_put(first);
	return second;
}

/*
 * Splits a tree in two: maps that start before an address, and maps that start at or after it. A
 * map that contains the address is cut: it then ends at the address, and *cut is the rest of it,
 * which is in neither tree.
 */
static void split_at(struct space *space, struct map_node *node, uint64_t at,
		     struct map_node **before, struct map_node **after, struct map *cut)
{
	struct map_node *below;

	*before = *after = NULL;
	if (node)
		node = writable_node(space, node);
	if (!node)
		return;
	if (node->map.start >= at) {
		below = node->left;
		*after = node;
		split_at(space, below, at, before, &node->left, cut);
	} else {
		below = node->right;
		*before = node;
		split_at(space, below, at, &node->right, after, cut);
		if (node->map.end <= at)
			return;
		*cut = node->map;
		cut->offset += at - cut->start;
		cut->start = at;
		node->map.end = at;
	}
}

static int insert_map(struct space *space, struct map_node **root, const struct map *map)
{
	struct map_node *before, *rest, *covered, *after;
	struct map around = { 0 }, into = { 0 };

	if (map->end <= map->start)
		return 0;
	split_at(space, *root, map->start, &before, &rest, &around);
	split_at(space, rest, map->end, &covered, &after, &into);
	perch__map_node_put(covered);
	before = join_trees(space, before, new_node(space, map));
	/* a map that starts before the new one may end after it */
	if (around.end > map->end) {
		into = around;
		into.offset += map->end - into.start;
		into.start = map->end;
	}
	if (into.end > into.start)
		before = join_trees(space, before, new_node(space, &into));
	*root = join_trees(space, before, after);
	return space->failed ? -ENOMEM : 0;
}

int perch__space_insert(struct space *space, const struct map *map)
{
	return insert_map(space, &space->root, map);
}

int perch__space_insert_code(struct space *space, const struct map *map)
{
	return insert_map(space, &space->code, map);
}

const struct map *perch__map_find(const struct map_node *node, uint64_t address)
{
	while (node && (address < node->map.start || address >= node->map.end))
		node = address < node->map.start ? node->left : node->right;
	return node ? &node->map : NULL;
}

const struct map *perch__space_find(const struct space *space, uint64_t address)
{
	return perch__map_find(space->root, address);
}

static bool has_generated(const struct map_node *node, uint64_t start, uint64_t end)
{
	if (!node)
		return false;
	if (node->map.start < end && node->map.end > start && !node->map.not_executable &&
	    perch_dso_is(node->map.dso, PERCH_DSO_IS_MEMORY))
		return true;
	return (node->map.start > start && has_generated(node->left, start, end)) ||
	       (node->map.end < end && has_generated(node->right, start, end));
}

bool perch__space_has_generated(const struct space *space, uint64_t start, uint64_t end)
{
	return has_generated(space->root, start, end);
}

const struct map *perch__space_find_code(const struct space *space, uint64_t address)
{
	const struct map *map = perch__map_find(space->code, address);

	return map && map->dso ? map : NULL;
}

/* ---- spaces ---- */

struct space *perch__space_new(uint64_t generation)
{
	struct space *space = calloc(1, sizeof(*space));

	if (space) {
		space->references = 1;
		space->generation = generation;
		space->random = (uintptr_t)space;
	}
	return space;
}

void perch__space_put(struct space *space)
{
	if (!space || --space->references)
		return;
	perch__map_node_put(space->root);
	perch__map_node_put(space->code);
	perch__space_discard_before(space);
	free(space);
}

void perch__space_discard_before(struct space *space)
{
	perch__space_put(space->before);
	space->before = NULL;
}

struct space *perch__space_get(struct space *space)
{
	space->references++;
	return space;
}

struct space *perch__space_writable(struct space *space)
{
	struct space *copy;

	if (space->references == 1)
		return space;
	copy = perch__space_new(space->generation);
	if (!copy)
		return NULL;
	copy->root = perch__map_node_get(space->root);
	copy->code = perch__map_node_get(space->code);
	perch__space_put(space);
	return copy;
}

struct space *perch__space_after(struct space *space)
{
	struct space *after = perch__space_new(space->generation);
	struct space *before = after ? perch__space_writable(space) : NULL;

	if (!before) {
		perch__space_put(after);
		return NULL;
	}
	perch__space_discard_before(before);
	after->before = before;
	return after;
}
