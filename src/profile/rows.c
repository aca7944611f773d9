/* SPDX-License-Identifier: MIT */
/* The rows of a report: one per combination of values, with self and children. */
#include "internal.h"

/* A depth-first walk through the tree, outermost frames first. */
struct row_step {
	struct node_id node;
	uint32_t row;
	bool expanded; /* the node's children are on the stack, or done */
};

struct row_walk {
	struct perch_profile *profile;
	struct row_step *step; /* a stack */
	size_t nr, capacity;
	uint32_t *open; /* by row: how many nodes of the row are on the way to the current node */
	size_t open_capacity;
	/* by frame: a number that is equal for equal values in all columns of scope FRAME. NULL:
	 * the frame itself, or 0 without such columns. */
	uint32_t *values_of;
	/* by number of values: the row in the first context, which needs no lookup by hash; and the
	 * row of the last lookup: most recordings have few contexts */
	struct cached_row {
		struct context_id context;
		uint32_t row; /* row + 1; 0 if empty */
	} (*cached_row)[2];
	struct key_set keys; /* (context, number of values) -> other[] */
	uint32_t *other;     /* rows of other contexts */
	size_t nr_rows, row_capacity, lists_capacity;
	size_t nr_nodes; /* that were visited */
};
enum { FIRST, LAST };

/* Returns a number that is equal for the nodes of one context and one row. */
static inline uint32_t values_of(const struct row_walk *walk, const struct node *node)
{
	if (walk->values_of)
		return walk->values_of[node->frame.nr];
	return walk->profile->nr_frame_columns ? node->frame.nr : 0;
}

/* Returns the number of a new row, or NO_NUMBER if out of memory. */
static uint32_t add_row(struct row_walk *walk, const struct node *node)
{
	struct perch_profile *profile = walk->profile;
	size_t at = walk->nr_rows;

	if (at >= PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE(profile->row, walk->row_capacity, at + 1) ||
	    PERCH__ARRAY_RESERVE(profile->lists, walk->lists_capacity, at + 1))
		return NO_NUMBER;
	profile->lists[at] = (struct row_lists){ NO_NODE, NO_NODE, 0, false };
	profile->row[at] = (struct perch_row){
		.index = (uint32_t)at,
		.event = perch__context_event(profile, node->context),
		.numbers = { [ROW_CONTEXT] = node->context.nr, [ROW_FRAME] = node->frame.nr },
	};
	if (profile->nr_frame_columns)
		profile->row[at].frame = profile->frame[node->frame.nr];
	return (uint32_t)walk->nr_rows++;
}

/* Returns the row of a node whose values have a row in another context, too. Adds the row if it is
 * new. Returns NO_NUMBER if out of memory. */
static uint32_t find_other(struct row_walk *walk, const struct node *node, uint32_t values)
{
	bool is_new;
	uint32_t at = perch__key_set_add(&walk->keys, node->context.nr, values, &is_new);

	if (at == NO_NUMBER || !is_new)
		return at == NO_NUMBER ? at : walk->other[at];
	if (PERCH__ARRAY_RESERVE_BY_NR(walk->other, at, 1))
		return NO_NUMBER;
	walk->other[at] = add_row(walk, node);
	return walk->other[at];
}

/* Returns the row number of a node. Adds the row if it is new. Returns NO_NUMBER if out of memory.
 */
static uint32_t get_row(struct row_walk *walk, const struct node *node)
{
	uint32_t values = values_of(walk, node);
	struct cached_row *cached = walk->cached_row[values];
	uint32_t row;

	if (cached[FIRST].row && cached[FIRST].context.nr == node->context.nr)
		return cached[FIRST].row - 1;
	if (cached[LAST].row && cached[LAST].context.nr == node->context.nr)
		return cached[LAST].row - 1;
	row = cached[FIRST].row ? find_other(walk, node, values) : add_row(walk, node);
	if (row != NO_NUMBER)
		cached[cached[FIRST].row ? LAST : FIRST] =
			(struct cached_row){ node->context, row + 1 };
	return row;
}

static int push_node(struct row_walk *walk, struct node_id node)
{
	struct row_step *step = PERCH__ARRAY_APPEND(walk->step, walk->nr, walk->capacity);

	if (!step)
		return -ENOMEM;
	step->node = node;
	return 0;
}

static int push_children(struct row_walk *walk, const struct node *node)
{
	for (struct node_id child = node->first_child; child.nr != NO_NUMBER;) {
		const struct node *at = &walk->profile->tree.node[child.nr];

		if (push_node(walk, child))
			return -ENOMEM;
		__builtin_prefetch(&walk->cached_row[values_of(walk, at)]);
		child = at->next;
	}
	return 0;
}

/* Adds the period of samples to the sum of their mode. */
static void add_mode(struct perch_row *row, char cpumode_char, uint64_t self)
{
	switch (cpumode_char) {
	case 'k':
		row->system += self;
		break;
	case '.':
		row->user += self;
		break;
	case 'g':
		row->guest_system += self;
		break;
	case 'u':
		row->guest_user += self;
		break;
	}
}

/*
 * Adds a node to its row. A function may occur twice in a stack: only its outermost node, which has
 * no other node of the row above it, adds to children.
 */
static void add_to_row(struct row_walk *walk, struct node *node, struct node_id number)
{
	struct row_lists *lists = &walk->profile->lists[node->row];
	struct perch_row *row = &walk->profile->row[node->row];

	row->self += node->self;
	row->samples += node->samples;
	add_mode(row, walk->profile->frame[node->frame.nr].cpumode_char, node->self);
	if (!walk->open[node->row]++) {
		row->children += node->total;
		node->next_outermost = lists->outermost;
		lists->outermost = number;
	} else {
		lists->recursive = true;
	}
	if (node->samples) {
		node->next_hit = lists->hit;
		lists->hit = number;
		lists->nr_hits++;
	}
	if (row->height < node->height)
		row->height = node->height;
}

static int add_root(struct perch_profile *profile, struct node_id root)
{
	if (PERCH__ARRAY_RESERVE(profile->root, profile->roots_capacity, profile->nr_roots + 1))
		return -ENOMEM;
	profile->root[profile->nr_roots++] = root;
	return 0;
}

#define AHEAD 16

/* Loads the memory that a later root needs into the CPU's cache. */
static void prefetch_root(const struct row_walk *walk, size_t number)
{
	const struct perch_profile *profile = walk->profile;
	const struct node *later = &profile->tree.node[number + AHEAD], *next = later - AHEAD / 2;
	const struct cached_row *cached;

	if (number + AHEAD >= profile->tree.nr)
		return;
	if (later->parent.nr == NO_NUMBER) {
		__builtin_prefetch(&walk->cached_row[values_of(walk, later)]);
		if (later->first_child.nr != NO_NUMBER)
			__builtin_prefetch(&profile->tree.node[later->first_child.nr]);
	}
	cached = next->parent.nr == NO_NUMBER ? walk->cached_row[values_of(walk, next)] : NULL;
	if (!cached || !cached[FIRST].row)
		return;
	__builtin_prefetch(&profile->row[cached[FIRST].row - 1].self);
	__builtin_prefetch(&profile->row[cached[FIRST].row - 1].height);
	__builtin_prefetch(&profile->lists[cached[FIRST].row - 1]);
}

/* Adds all stacks of a root to their rows. */
static int fill_from(struct row_walk *walk, struct node_id root)
{
	if (push_node(walk, root) || add_root(walk->profile, root))
		return -ENOMEM;
	while (walk->nr) {
		struct row_step *step = &walk->step[walk->nr - 1];
		struct node *node = &walk->profile->tree.node[step->node.nr];

		if (step->expanded) {
			walk->open[step->row]--;
			node->visit_end = (uint32_t)walk->nr_nodes;
			walk->nr--;
			continue;
		}
		if (perch__profile_progress(walk->profile, WORK_ROWS, walk->nr_nodes++,
					    walk->profile->tree.nr))
			return -ECANCELED;
		step->row = node->row = get_row(walk, node);
		if (step->row == NO_NUMBER)
			return -ENOMEM;
		if (PERCH__ARRAY_RESERVE_ZEROED(walk->open, walk->open_capacity,
						(size_t)step->row + 1))
			return -ENOMEM;
		add_to_row(walk, node, step->node);
		node->visit = (uint32_t)walk->nr_nodes - 1;
		step->expanded = true;
		if (push_children(walk, node))
			return -ENOMEM;
	}
	return 0;
}

/* Finds the frames with equal values in the columns of scope FRAME. Equal frames have equal ones.
 */
static int number_values(struct row_walk *walk)
{
	struct perch_profile *profile = walk->profile;
	struct tuples tuples = { .width = profile->nr_frame_columns };
	uint64_t values[MAX_COLUMNS];
	int rc = 0;

	if (!tuples.width ||
	    (!profile->with_lines && perch__columns_has(profile, &perch__column_sym)))
		return 0;
	walk->values_of = calloc(profile->frames.nr + 1, sizeof(*walk->values_of));
	if (!walk->values_of)
		return -ENOMEM;
	for (uint32_t frame = 0; frame < profile->frames.nr && !rc; frame++) {
		for (size_t i = 0; i < tuples.width; i++)
			values[i] = profile->frame_column[i]->methods->frame_value(
				profile, (struct frame_id){ frame });
		walk->values_of[frame] = perch__tuples_add(&tuples, values);
		if (walk->values_of[frame] == NO_NUMBER)
			rc = -ENOMEM;
	}
	perch__tuples_clear(&tuples);
	return rc;
}

/* Moves the rows of each event together. Their order among each other stays. */
static int group_rows(struct perch_profile *profile)
{
	size_t nr = profile->nr_rows, at = 0;
	struct perch_row *grouped;

	for (size_t i = 0; i < nr; i++)
		profile->event[profile->row[i].event].nr_rows++;
	for (size_t i = 0; i < profile->nr_events; at += profile->event[i++].nr_rows)
		profile->event[i].first_row = at;
	if (profile->nr_events < 2)
		return 0;
	grouped = calloc(nr + 1, sizeof(*grouped));
	if (!grouped)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		grouped[profile->event[profile->row[i].event].first_row++] = profile->row[i];
	for (size_t i = 0; i < profile->nr_events; i++)
		profile->event[i].first_row -= profile->event[i].nr_rows;
	free(profile->row);
	profile->row = grouped;
	return 0;
}

/* Makes space for as many rows as there usually are: one for each frame, and some more in other
 * contexts. Without memory it is made when rows are added. */
static void reserve_rows(struct row_walk *walk)
{
	struct perch_profile *profile = walk->profile;
	size_t nr = profile->frames.nr + profile->frames.nr / 4;

	if (!profile->nr_frame_columns)
		return;
	profile->row = perch__large_alloc(nr * sizeof(*profile->row));
	profile->lists = perch__large_alloc(nr * sizeof(*profile->lists));
	walk->row_capacity = profile->row ? nr : 0;
	walk->lists_capacity = profile->lists ? nr : 0;
}

/* Returns zeroed memory for nr items and one more, or NULL. */
static void *new_array(size_t nr, size_t size)
{
	void *array = calloc(nr + 1, size);

	perch__use_large_pages(array, (nr + 1) * size);
	return array;
}

/* Adds up the samples of each node and of its children, for call graphs. */
static int count_samples(struct perch_profile *profile)
{
	const struct node *node = profile->tree.node;

	profile->samples_below = calloc(profile->tree.nr + 1, sizeof(*profile->samples_below));
	if (!profile->samples_below)
		return -ENOMEM;
	for (size_t i = profile->tree.nr; i-- > 0;) {
		profile->samples_below[i] += node[i].samples;
		if (node[i].parent.nr != NO_NUMBER)
			profile->samples_below[node[i].parent.nr] += profile->samples_below[i];
	}
	return 0;
}

int perch__rows_fill(struct perch_profile *profile)
{
	struct row_walk walk = { .profile = profile };
	int rc;

	profile->group_of = new_array(profile->frames.nr, sizeof(*profile->group_of));
	walk.cached_row = new_array(profile->frames.nr, sizeof(*walk.cached_row));
	reserve_rows(&walk);
	rc = profile->group_of && walk.cached_row ? number_values(&walk) : -ENOMEM;
	if (!rc && profile->graph_samples)
		rc = count_samples(profile);
	for (size_t i = 0; i < profile->tree.nr && !rc; i++) {
		prefetch_root(&walk, i);
		if (profile->tree.node[i].parent.nr == NO_NUMBER)
			rc = fill_from(&walk, (struct node_id){ i });
	}
	free(walk.step);
	free(walk.open);
	free(walk.cached_row);
	free(walk.other);
	perch__key_set_clear(&walk.keys);
	profile->nr_rows = walk.nr_rows;
	/* rounded up: a row with parts of samples has samples */
	for (size_t i = 0; i < walk.nr_rows && profile->unit > 1; i++)
		profile->row[i].samples =
			(profile->row[i].samples + profile->unit - 1) / profile->unit;
	free(walk.values_of);
	return rc ? rc : group_rows(profile);
}
