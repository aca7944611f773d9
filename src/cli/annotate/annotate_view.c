/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate_view.h"
#include "base/array.h"
#include "base/search.h"
#include "base/text_stream.h"
#include "base/no_memory.h"

/* ---- rows ---- */

static double largest_share(const struct listing *listing, const struct annotate_row *row)
{
	double most = 0;

	for (size_t i = 0; i < listing->columns->nr; i++) {
		double percent = listing_percent(listing, row->sum, i);

		most = percent > most ? percent : most;
	}
	return most;
}

/* line: for now the position in the text. */
static int add_row(struct annotate_view *view, const struct listing *listing,
		   const struct annotate_row *row, size_t position)
{
	const struct perch_instruction *instruction = &row->instruction;

	if (PERCH__ARRAY_RESERVE_BY_NR(view->row, view->nr_rows, 1))
		return -ENOMEM;
	view->row[view->nr_rows++] = (struct view_row){
		.line = position,
		.address = instruction->address,
		.percent = row->has_samples ? largest_share(listing, row) : 0,
		.flow = instruction->flow,
		.has_target = instruction->has_target,
		.target = instruction->target,
	};
	return 0;
}

static int put_rows(FILE *out, struct annotate_view *view, struct listing *listing)
{
	struct source_walk walk = { 0 };
	struct annotate_row row;
	int rc = 0;

	annotate_put_title(out, listing);
	while (!rc && listing_next(listing, &row)) {
		long position;

		annotate_walk_source(out, &walk, listing, &row, annotate_put_source_line);
		position = ftell(out);
		rc = position < 0 ? -ENOMEM : add_row(view, listing, &row, (size_t)position);
		annotate_put_row(out, listing, &row);
	}
	view->has_lines = listing->has_lines;
	view->nr_source = walk.shown;
	if (walk.missing)
		perch_clean_text(walk.missing, view->missing, sizeof(view->missing));
	return rc;
}

/* ---- lines ---- */

/* Splits the text: the lines of the title, and the others. Rows get the numbers of their lines. */
static int split_lines(struct annotate_view *view)
{
	size_t nr = 0, at = 0;

	for (char *text = view->text, *end; *text; text = end + 1, nr++) {
		size_t position = (size_t)(text - view->text);

		end = strchrnul(text, '\n');
		if (nr < VIEW_TITLES) {
			view->title[nr] = text;
		} else {
			if (PERCH__ARRAY_RESERVE_BY_NR(view->line, view->nr_lines, 1))
				return -ENOMEM;
			if (at < view->nr_rows && view->row[at].line == position)
				view->row[at++].line = view->nr_lines;
			view->line[view->nr_lines++] = text;
		}
		if (!*end)
			break;
		*end = '\0';
	}
	view->nr_rows = at;
	return 0;
}

static int compare_hot(const void *a, const void *b, void *context)
{
	const struct view_row *row = context;
	const struct view_row *x = &row[*(const size_t *)a], *y = &row[*(const size_t *)b];

	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

static int sort_hot(struct annotate_view *view)
{
	view->hot = calloc(view->nr_rows + 1, sizeof(*view->hot));
	if (!view->hot)
		return -ENOMEM;
	for (size_t i = 0; i < view->nr_rows; i++)
		if (view->row[i].percent > 0)
			view->hot[view->nr_hot++] = i;
	if (view->nr_hot)
		qsort_r(view->hot, view->nr_hot, sizeof(*view->hot), compare_hot, view->row);
	return 0;
}

int annotate_view_make(struct annotate_view *view, struct annotate *annotate,
		       const struct perch_annotated_function *function,
		       const struct annotate_columns *columns, bool count, struct perch_error *err)
{
	struct listing listing;
	size_t size = 0;
	FILE *out;
	int rc;

	*view = (struct annotate_view){ .text = NULL };
	rc = listing_open(&listing, annotate, function, columns, err);
	if (rc)
		return rc;
	view->sums_width = annotate_sums_width(&listing);
	view->range = listing_range(&listing);
	out = perch__open_text(&view->text, &size);
	rc = out ? put_rows(out, view, &listing) : -ENOMEM;
	if (out && !perch__close_text(out, &view->text))
		rc = -ENOMEM;
	if (!rc && (split_lines(view) || sort_hot(view)))
		rc = -ENOMEM;
	if (!rc && count)
		annotate_count_shown(annotate, &listing);
	listing_close(&listing);
	if (rc)
		annotate_view_clear(view);
	return rc ? PERCH__NO_MEMORY(err, "for a listing") : 0;
}

void annotate_view_clear(struct annotate_view *view)
{
	free(view->text);
	free(view->line);
	free(view->row);
	free(view->hot);
	*view = (struct annotate_view){ .text = NULL };
}

/* ---- looking up ---- */

const struct view_row *annotate_view_row(const struct annotate_view *view, size_t line)
{
	size_t low = PERCH__SEARCH(view->nr_rows, i, view->row[i].line < line);

	return low < view->nr_rows && view->row[low].line == line ? &view->row[low] : NULL;
}

size_t annotate_view_find(const struct annotate_view *view, uint64_t address)
{
	size_t low = PERCH__SEARCH(view->nr_rows, i, view->row[i].address < address);

	return low < view->nr_rows && view->row[low].address == address ? view->row[low].line
									: NO_LINE;
}
