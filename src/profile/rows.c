/* SPDX-License-Identifier: MIT */
/* The rows of a report: one per combination of sort keys, with self and children. */
#define _GNU_SOURCE /* qsort_r */
#include "internal.h"

/*
 * Returns the row number of a node. Adds the row if it is new. Returns NO_NUMBER if out of memory.
 */
static uint32_t find_row(struct perch_profile *profile, const struct node *node)
{
	unsigned keys = profile->keys;
	const struct perch_frame *frame = &profile->frame[node->frame];
	const struct context *context = &profile->context[node->context];
	uint64_t code = 0; /* the part of the key that depends on the frame */
	uint32_t at;
	bool is_new;

	if (keys & PERCH_KEY_SYMBOL)
		code = (uint64_t)node->frame + 1;
	else if (keys & PERCH_KEY_DSO)
		code = (uint64_t)frame->dso->index + 1;
	at = perch__key_set_add(&profile->row_keys, node->context, code, &is_new);
	if (at == NO_NUMBER || !is_new)
		return at;
	if (PERCH__ARRAY_RESERVE_BY_NR(profile->row, at, 1) ||
	    PERCH__ARRAY_RESERVE_BY_NR(profile->lists, at, 1)) {
		perch__key_set_remove_last(&profile->row_keys);
		return NO_NUMBER;
	}
	profile->lists[at] = (struct row_lists){ NO_NODE, NO_NODE, node->context };
	profile->row[at] = (struct perch_row){
		.comm = context->comm,
		.pid = context->pid,
		.tid = context->tid,
		.cpu = context->cpu,
		.index = at,
	};
	if (code)
		profile->row[at].frame = *frame;
	return at;
}

/* Like the function above, with a cache by frame. */
static uint32_t get_row(struct perch_profile *profile, const struct node *node)
{
	struct cached_row *cached = &profile->cached_row[node->frame];

	if (!cached->row || cached->context != node->context) {
		uint32_t row = find_row(profile, node);

		if (row == NO_NUMBER)
			return row;
		*cached = (struct cached_row){ node->context, row + 1 };
	}
	return cached->row - 1;
}

/* A depth-first walk through the tree, outermost frames first. */
struct step {
	uint32_t node, row;
	bool expanded; /* the node's children are on the stack, or done */
};

struct row_walk {
	struct perch_profile *profile;
	struct step *step; /* a stack */
	size_t nr, capacity;
	uint32_t *open; /* by row: how many nodes of the row are on the way to the current node */
	size_t open_capacity;
};

static int push(struct row_walk *walk, uint32_t node)
{
	struct step *step = PERCH__ARRAY_APPEND(walk->step, walk->nr, walk->capacity);

	if (!step)
		return -ENOMEM;
	step->node = node;
	return 0;
}

static int push_children(struct row_walk *walk, const struct node *node)
{
	for (uint32_t child = node->first_child; child != NO_NODE;
	     child = walk->profile->tree.node[child].next)
		if (push(walk, child))
			return -ENOMEM;
	return 0;
}

/*
 * Adds a node to its row. A function may occur twice in a stack: only its outermost node, which has
 * no other node of the row above it, adds to children.
 */
static void add_to_row(struct row_walk *walk, struct node *node, uint32_t number)
{
	struct row_lists *lists = &walk->profile->lists[node->row];
	struct perch_row *row = &walk->profile->row[node->row];

	row->self += node->self;
	row->samples += node->samples;
	if (!walk->open[node->row]++) {
		row->children += node->total;
		node->next_outermost = lists->outermost;
		lists->outermost = number;
	}
	if (node->samples) {
		node->next_hit = lists->hit;
		lists->hit = number;
	}
	if (row->height < node->height)
		row->height = node->height;
}

/* Adds all stacks of a root to their rows. */
static int fill_from(struct row_walk *walk, uint32_t root)
{
	if (push(walk, root))
		return -ENOMEM;
	while (walk->nr) {
		struct step *step = &walk->step[walk->nr - 1];
		struct node *node = &walk->profile->tree.node[step->node];

		if (step->expanded) {
			walk->open[step->row]--;
			walk->nr--;
			continue;
		}
		step->row = node->row = get_row(walk->profile, node);
		if (step->row == NO_NUMBER)
			return -ENOMEM;
		if (PERCH__ARRAY_RESERVE_ZEROED(walk->open, walk->open_capacity,
						(size_t)step->row + 1))
			return -ENOMEM;
		add_to_row(walk, node, step->node);
		step->expanded = true;
		if (push_children(walk, node))
			return -ENOMEM;
	}
	return 0;
}

int perch__rows_fill(struct perch_profile *profile)
{
	struct row_walk walk = { .profile = profile };
	int rc;

	profile->hits = calloc(profile->tree.nr + 1, sizeof(*profile->hits));
	profile->group_of = calloc(profile->frames.nr + 1, sizeof(*profile->group_of));
	profile->cached_row = calloc(profile->frames.nr + 1, sizeof(*profile->cached_row));
	rc = profile->hits && profile->group_of && profile->cached_row ? 0 : -ENOMEM;
	for (size_t i = 0; i < profile->tree.nr && !rc; i++)
		if (profile->tree.node[i].parent == NO_NODE)
			rc = fill_from(&walk, i);
	free(walk.step);
	free(walk.open);
	free(profile->cached_row);
	profile->cached_row = NULL;
	return rc;
}

/* Compares rows of equal period by displayed names, so every run prints the same report. */
static int by_names(const struct perch_row *a, const struct perch_row *b,
		    struct perch_symbols *symbols)
{
	/* equal names have the same address */
	int rc = a->comm == b->comm ? 0 : strcmp(a->comm ? a->comm : "", b->comm ? b->comm : "");

	if (!rc && a->frame.dso && b->frame.dso && a->frame.dso != b->frame.dso)
		rc = strcmp(perch_symbols_dso_name(symbols, a->frame.dso),
			    perch_symbols_dso_name(symbols, b->frame.dso));
	if (!rc && a->frame.symbol != b->frame.symbol && a->frame.symbol && b->frame.symbol)
		rc = strcmp(perch_symbols_name(symbols, a->frame.symbol),
			    perch_symbols_name(symbols, b->frame.symbol));
	if (!rc)
		rc = (a->frame.offset > b->frame.offset) - (a->frame.offset < b->frame.offset);
	if (!rc)
		rc = (a->index > b->index) - (a->index < b->index);
	return rc;
}

static int by_self(const void *left, const void *right, void *symbols)
{
	const struct perch_row *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return by_names(a, b, symbols);
}

/* Of two rows with the same samples, the caller comes first. */
static int by_children(const void *left, const void *right, void *symbols)
{
	const struct perch_row *a = left, *b = right;

	if (a->children != b->children)
		return a->children < b->children ? 1 : -1;
	if (a->height != b->height)
		return a->height < b->height ? 1 : -1;
	return by_self(a, b, symbols);
}

int perch_profile_rows(struct perch_profile *profile, unsigned event, bool children,
		       const struct perch_row **rows, size_t *result, struct perch_error *err)
{
	struct perch_row *sorted;
	size_t nr = 0;

	*rows = NULL;
	*result = 0;
	if (event >= profile->nr_events)
		return 0;
	sorted = calloc(profile->row_keys.nr + 1, sizeof(*sorted));
	if (!sorted)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the rows of a report");
	for (size_t i = 0; i < profile->row_keys.nr; i++) {
		uint32_t context = profile->lists[i].context;

		if (profile->context[context].event == event &&
		    (children || profile->row[i].samples))
			sorted[nr++] = profile->row[i];
	}
	qsort_r(sorted, nr, sizeof(*sorted), children ? by_children : by_self, profile->symbols);
	free(profile->event[event].sorted);
	profile->event[event].sorted = sorted;
	*rows = sorted;
	*result = nr;
	return 0;
}
