/* SPDX-License-Identifier: MIT */
/* The rows of a report: one per combination of values, with self and children. */
#include "internal.h"

/* The nodes above the current one of a walk, and itself. */
struct open_node {
	uint32_t row, end;
	size_t deepest; /* nodes on the way to the deepest one below */
};

struct row_walk {
	struct perch_profile *profile;
	struct context_id context; /* of the current root */
	struct open_node *open;	   /* a stack */
	size_t nr, capacity;
	uint32_t *nr_open; /* by row: how many nodes of the row are open */
	size_t nr_open_capacity;
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
	size_t nr_rows, row_capacity;
};
enum { FIRST, LAST };

/* Returns a number that is equal for the nodes of one context and one row. */
static inline uint32_t values_of(const struct row_walk *walk, struct frame_id frame)
{
	if (walk->values_of)
		return walk->values_of[frame.nr];
	return walk->profile->nr_frame_columns ? frame.nr : 0;
}

/* Returns the number of a new row, or NO_NUMBER if out of memory. */
static uint32_t add_row(struct row_walk *walk, struct frame_id frame)
{
	struct perch_profile *profile = walk->profile;
	size_t at = walk->nr_rows;

	if (at >= PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE(profile->row, walk->row_capacity, at + 1) ||
	    PERCH__ARRAY_RESERVE_ZEROED(walk->nr_open, walk->nr_open_capacity, at + 1))
		return NO_NUMBER;
	profile->row[at] = (struct perch_row){
		.index = (uint32_t)at,
		.event = perch__context_event(profile, walk->context),
		.numbers = { [ROW_CONTEXT] = walk->context.nr, [ROW_FRAME] = frame.nr },
	};
	if (profile->nr_frame_columns)
		profile->row[at].frame = profile->frame[frame.nr];
	return (uint32_t)walk->nr_rows++;
}

/* Returns the row of a node whose values have a row in another context, too. Adds the row if it is
 * new. Returns NO_NUMBER if out of memory. */
static uint32_t find_other(struct row_walk *walk, struct frame_id frame, uint32_t values)
{
	bool is_new;
	uint32_t at = perch__key_set_add(&walk->keys, walk->context.nr, values, &is_new);

	if (at == NO_NUMBER || !is_new)
		return at == NO_NUMBER ? at : walk->other[at];
	if (PERCH__ARRAY_RESERVE_BY_NR(walk->other, at, 1))
		return NO_NUMBER;
	walk->other[at] = add_row(walk, frame);
	return walk->other[at];
}

/* Returns the row number of a node. Adds the row if it is new. Returns NO_NUMBER if out of memory.
 */
static uint32_t get_row(struct row_walk *walk, struct frame_id frame)
{
	uint32_t values = values_of(walk, frame);
	struct cached_row *cached = walk->cached_row[values];
	uint32_t row;

	if (cached[FIRST].row && cached[FIRST].context.nr == walk->context.nr)
		return cached[FIRST].row - 1;
	if (cached[LAST].row && cached[LAST].context.nr == walk->context.nr)
		return cached[LAST].row - 1;
	row = cached[FIRST].row ? find_other(walk, frame, values) : add_row(walk, frame);
	if (row != NO_NUMBER)
		cached[cached[FIRST].row ? LAST : FIRST] =
			(struct cached_row){ walk->context, row + 1 };
	return row;
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

/* Ends what the node that is open at last has below it: its row becomes as high as the deepest
 * stack. */
static void close_node(struct row_walk *walk)
{
	const struct open_node *node = &walk->open[--walk->nr];
	struct perch_row *row = &walk->profile->row[node->row];
	uint32_t height = (uint32_t)(node->deepest - walk->nr);

	walk->nr_open[node->row]--;
	if (row->height < height)
		row->height = height;
	if (walk->nr && walk->open[walk->nr - 1].deepest < node->deepest)
		walk->open[walk->nr - 1].deepest = node->deepest;
}

/*
 * Adds a node to its row. A function may occur twice in a stack: only its outermost node, which has
 * no other node of the row above it, adds to children.
 */
static void add_to_row(struct row_walk *walk, struct node_id at)
{
	const struct forest *forest = &walk->profile->forest;
	const struct forest_node *node = &forest->node[at.nr];
	struct forest_row *of_node = &forest->row[at.nr];
	struct perch_row *row = &walk->profile->row[of_node->nr];

	if (perch__forest_is_hit(node)) {
		uint64_t self = perch__forest_self(forest, forest->period, at);

		row->self += self;
		row->samples += perch__forest_self(forest, forest->samples, at);
		add_mode(row, walk->profile->frame[node->frame.nr].cpumode_char, self);
	}
	of_node->outermost = !walk->nr_open[of_node->nr]++;
	if (of_node->outermost)
		row->children += perch__forest_total(forest, forest->period, at);
}

/* Adds a node of the forest; those before it have been added. Returns 0 or -ENOMEM. */
static int add_node(struct row_walk *walk, struct node_id at)
{
	const struct forest_node *node = &walk->profile->forest.node[at.nr];
	struct above above = walk->profile->forest.above[at.nr];
	struct open_node *open;
	uint32_t row;

	while (walk->nr && walk->open[walk->nr - 1].end <= at.nr)
		close_node(walk);
	if (perch__is_root(above))
		walk->context = perch__root_context(above);
	row = get_row(walk, node->frame);
	open = row != NO_NUMBER ? PERCH__ARRAY_APPEND(walk->open, walk->nr, walk->capacity) : NULL;
	if (!open)
		return -ENOMEM;
	*open = (struct open_node){ row, node->end, walk->nr };
	walk->profile->forest.row[at.nr].nr = row;
	add_to_row(walk, at);
	return 0;
}

#define AHEAD 16

/* Loads the memory that a later node needs into the CPU's cache. */
static void prefetch_row(const struct row_walk *walk, size_t at)
{
	const struct perch_profile *profile = walk->profile;
	const struct forest_node *later = &profile->forest.node[at + AHEAD];
	const struct cached_row *cached;

	if (at + AHEAD >= profile->forest.nr)
		return;
	__builtin_prefetch(&walk->cached_row[values_of(walk, later->frame)]);
	cached = walk->cached_row[values_of(walk, (later - AHEAD / 2)->frame)];
	if (!cached[FIRST].row)
		return;
	__builtin_prefetch(&profile->row[cached[FIRST].row - 1].self);
	__builtin_prefetch(&profile->row[cached[FIRST].row - 1].height);
}

/* Adds all nodes to their rows. */
static int add_nodes(struct row_walk *walk)
{
	size_t nr = walk->profile->forest.nr;
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		rc = perch__profile_progress(walk->profile, WORK_ROWS, i, nr);
		if (rc)
			break;
		prefetch_row(walk, i);
		rc = add_node(walk, (struct node_id){ (uint32_t)i });
	}
	while (walk->nr)
		close_node(walk);
	return rc;
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
	walk->row_capacity = profile->row ? nr : 0;
}

/* Returns zeroed memory for nr items and one more, or NULL. */
static void *new_array(size_t nr, size_t size)
{
	void *array = calloc(nr + 1, size);

	perch__use_large_pages(array, (nr + 1) * size);
	return array;
}

int perch__rows_fill(struct perch_profile *profile)
{
	struct row_walk walk = { .profile = profile };
	int rc;

	profile->group_of = new_array(profile->frames.nr, sizeof(*profile->group_of));
	walk.cached_row = new_array(profile->frames.nr, sizeof(*walk.cached_row));
	reserve_rows(&walk);
	profile->forest.row =
		perch__large_alloc((profile->forest.nr + 1) * sizeof(*profile->forest.row));
	rc = profile->group_of && walk.cached_row && profile->forest.row ? number_values(&walk)
									 : -ENOMEM;
	if (!rc)
		rc = add_nodes(&walk);
	free(walk.open);
	free(walk.nr_open);
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
