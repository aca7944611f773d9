/* SPDX-License-Identifier: MIT */
/* The lines of a report: what the sort keys tell apart, with the periods of both kinds. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Entry number of a node; NO_NUMBER when out of memory. */
static uint32_t find_row(struct perch_profile *profile, const struct node *node)
{
	unsigned keys = profile->keys;
	const struct perch_frame *frame = &profile->frame[node->frame];
	const struct context *context = &profile->context[node->context];
	uint64_t place = 0;
	uint32_t at;
	bool is_new;

	if (keys & PERCH_KEY_SYMBOL)
		place = (uint64_t)node->frame + 1;
	else if (keys & PERCH_KEY_DSO)
		place = (uint64_t)frame->dso->index + 1;
	at = perch__key_set_add(&profile->row_keys, node->context, place, &is_new);
	if (at == NO_NUMBER || !is_new)
		return at;
	if (!perch__room(&profile->row, at, sizeof(*profile->row)) ||
	    !perch__room(&profile->lists, at, sizeof(*profile->lists)))
		return NO_NUMBER;
	profile->lists[at] = (struct row_lists){ NO_NODE, NO_NODE, node->context };
	profile->row[at] = (struct perch_row){
		.comm = context->comm,
		.pid = context->pid,
		.tid = context->tid,
		.cpu = context->cpu,
		.index = at,
	};
	if (place)
		profile->row[at].frame = *frame;
	return at;
}

/* The same, remembered by frame: most recordings have one context or few. */
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

/* One step of a walk through the tree from the outside in. */
struct step {
	uint32_t node, row;
	bool left; /* its children have been walked */
};

/* Puts a node and its siblings on the walk's stack. */
static int push(struct step **steps, size_t *nr, size_t *size, uint32_t node)
{
	if (*nr == *size) {
		struct step *larger =
			reallocarray(*steps, *size ? *size * 2 : 256, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		*steps = larger;
		*size = *size ? *size * 2 : 256;
	}
	(*steps)[(*nr)++] = (struct step){ .node = node };
	return 0;
}

/*
 * Adds one root's stacks. A function that occurs twice on a stack counts its samples once: only its
 * outermost occurrence, when none of the same entry is on the way, adds its total.
 */
static int fill_from(struct perch_profile *profile, uint32_t root, struct step **steps,
		     size_t *size, uint32_t **open, size_t *nr_open)
{
	size_t nr = 0;

	if (push(steps, &nr, size, root))
		return -ENOMEM;
	while (nr) {
		struct step *step = &(*steps)[nr - 1];
		struct node *node = &profile->tree.node[step->node];
		struct perch_row *row;

		if (step->left) {
			(*open)[step->row]--;
			nr--;
			continue;
		}
		step->row = node->row = get_row(profile, node);
		if (step->row == NO_NUMBER)
			return -ENOMEM;
		if (step->row >= *nr_open) {
			size_t more = *nr_open * 2 + 64 > step->row ? *nr_open * 2 + 64
								    : (size_t)step->row + 1;
			uint32_t *larger = reallocarray(*open, more, sizeof(*larger));

			if (!larger)
				return -ENOMEM;
			memset(larger + *nr_open, 0, (more - *nr_open) * sizeof(*larger));
			*open = larger;
			*nr_open = more;
		}
		row = &profile->row[step->row];
		row->self += node->self;
		row->samples += node->samples;
		if (!(*open)[step->row]++) {
			row->children += node->total;
			node->next_outermost = profile->lists[step->row].outermost;
			profile->lists[step->row].outermost = step->node;
		}
		if (node->samples) {
			node->next_hit = profile->lists[step->row].hit;
			profile->lists[step->row].hit = step->node;
		}
		if (row->height < node->height)
			row->height = node->height;
		step->left = true;
		for (uint32_t child = node->first_child; child != NO_NODE;
		     child = profile->tree.node[child].next)
			if (push(steps, &nr, size, child))
				return -ENOMEM;
	}
	return 0;
}

int perch__rows_fill(struct perch_profile *profile)
{
	struct step *steps = NULL;
	uint32_t *open = NULL;
	size_t size = 0, nr_open = 0;
	int rc;

	profile->hits = calloc(profile->tree.nr + 1, sizeof(*profile->hits));
	profile->group_of = calloc(profile->frames.nr + 1, sizeof(*profile->group_of));
	profile->cached_row = calloc(profile->frames.nr + 1, sizeof(*profile->cached_row));
	rc = profile->hits && profile->group_of && profile->cached_row ? 0 : -ENOMEM;

	for (size_t i = 0; i < profile->tree.nr && !rc; i++)
		if (profile->tree.node[i].parent == NO_NODE)
			rc = fill_from(profile, i, &steps, &size, &open, &nr_open);
	free(steps);
	free(open);
	free(profile->cached_row);
	profile->cached_row = NULL;
	return rc;
}

/* Lines of equal weight go by what is shown of them, so that a report is the same each time. */
static int by_names(const struct perch_row *a, const struct perch_row *b,
		    struct perch_symbols *symbols)
{
	/* a name is kept once: most are told to be the same without reading them */
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

/* Of two with the same samples the caller comes first. */
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
				       "no memory for the report's lines");
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
