/* SPDX-License-Identifier: MIT */
/* The order of rows. */
#define _GNU_SOURCE /* qsort_r */
#include "base/reserved.h"
#include "internal.h"

/*
 * Rows are sorted in two steps, because most rows of a large profile have equal sums (one sample),
 * and a comparison that loads two rows from memory takes long: first by the sums, then the rows
 * with equal sums by all columns.
 */
struct order {
	struct perch_profile *profile;
	const struct perch_rows_options *options;
	const struct perch_dso *const *dsos; /* by index */
};

/* A row in the first step. */
struct item {
	uint64_t first, second; /* sums: the larger ones come first */
	uint32_t height;	/* of two rows with equal children, the caller comes first */
	uint32_t row;
};

static int by_period(const struct item *a, const struct item *b)
{
	if (a->first != b->first)
		return a->first < b->first ? 1 : -1;
	if (a->height != b->height)
		return a->height < b->height ? 1 : -1;
	if (a->second != b->second)
		return a->second < b->second ? 1 : -1;
	return 0;
}

static int by_list(const struct item *a, const struct item *b, const struct order *order)
{
	int rc = 0;

	for (size_t i = 0; i < order->options->nr_by && !rc; i++) {
		const struct perch_column *column = order->options->by[i];

		rc = perch_profile_compare(order->profile, &order->profile->row[a->row],
					   &order->profile->row[b->row], column);
		if (column->scope == PERCH_COLUMN_PERIOD)
			rc = -rc;
	}
	return rc;
}

static int by_sums(const struct item *a, const struct item *b, const struct order *order)
{
	return order->options->nr_by ? by_list(a, b, order) : by_period(a, b);
}

static int compare_items(const void *left, const void *right, void *order)
{
	const struct item *a = left, *b = right;
	int rc = by_sums(a, b, order);

	return rc ? rc : (a->row > b->row) - (a->row < b->row);
}

/* A row in the second step, with copies of what most comparisons need. */
struct tie {
	uint64_t hint; /* the first bytes of the name, or the offset without a function */
	uint32_t row, context;
	uint32_t dso;	  /* index */
	bool is_function; /* functions come before addresses */
};

static int by_dso(const struct order *order, uint32_t a, uint32_t b)
{
	struct perch_symbols *symbols = order->profile->symbols;

	return a == b ? 0
		      : strcmp(perch_symbols_dso_name(symbols, order->dsos[a]),
			       perch_symbols_dso_name(symbols, order->dsos[b]));
}

static int by_column(const struct order *order, const struct tie *a, const struct tie *b,
		     size_t index)
{
	struct perch_profile *profile = order->profile;
	const struct perch_column *column = profile->column[index];

	if (column->scope == PERCH_COLUMN_PERIOD)
		return 0;
	if (column->scope == PERCH_COLUMN_SAMPLE)
		return perch__compare_contexts(profile, a->context, b->context, index);
	if (column->methods == &perch__column_dso)
		return by_dso(order, a->dso, b->dso);
	if (column->methods == &perch__column_sym) {
		if (a->is_function != b->is_function)
			return a->is_function ? -1 : 1;
		if (a->hint != b->hint)
			return a->hint < b->hint ? -1 : 1;
	}
	return perch__compare_at(profile, &profile->row[a->row], &profile->row[b->row], index);
}

/* By all columns, so every run prints the same report. */
static int compare_ties(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct tie *a = left, *b = right;
	int rc = 0;

	for (size_t i = 0; i < order->profile->nr_columns && !rc; i++)
		rc = by_column(order, a, b, i);
	return rc ? rc : (a->row > b->row) - (a->row < b->row);
}

/* The first bytes of a text as a number: numbers of different texts have the order of strcmp(). */
static uint64_t first_bytes(const char *text)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | (*text ? (unsigned char)*text++ : 0);
	return number;
}

/* Sorts rows with equal sums. */
static void sort_ties(struct order *order, struct item *items, size_t nr, struct tie *ties)
{
	struct perch_profile *profile = order->profile;
	bool by_function = perch__columns_has(profile, &perch__column_sym);

	for (size_t i = 0; i < nr; i++) {
		const struct perch_row *row = &profile->row[items[i].row];
		const struct perch_symbol *symbol = row->frame.symbol;

		ties[i] = (struct tie){
			.hint = row->frame.offset,
			.row = items[i].row,
			.context = row->numbers[ROW_CONTEXT],
			.dso = row->frame.dso ? row->frame.dso->index : 0,
			.is_function = symbol != NULL,
		};
		if (by_function && symbol)
			ties[i].hint = first_bytes(perch_symbols_name(profile->symbols, symbol));
	}
	qsort_r(ties, nr, sizeof(*ties), compare_ties, order);
	for (size_t i = 0; i < nr; i++)
		items[i].row = ties[i].row;
}

/* Returns false if out of memory. */
static bool sort_items(struct order *order, struct item *items, size_t nr)
{
	struct tie *ties = calloc(nr + 1, sizeof(*ties));

	if (!ties)
		return false;
	qsort_r(items, nr, sizeof(*items), compare_items, order);
	for (size_t i = 0, end; i < nr; i = end) {
		end = i + 1;
		while (end < nr && !by_sums(&items[i], &items[end], order))
			end++;
		if (end - i > 1)
			sort_ties(order, items + i, end - i, ties);
	}
	free(ties);
	return true;
}

static int check_options(const struct perch_profile *profile,
			 const struct perch_rows_options *options, struct perch_error *err)
{
	if (PERCH__CHECK_RESERVED(options, "perch_rows_options", err))
		return -EINVAL;
	for (size_t i = 0; i < options->nr_by; i++)
		if (options->by[i]->scope != PERCH_COLUMN_PERIOD &&
		    perch__columns_index(profile, options->by[i]) == MAX_COLUMNS)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "the profile has no column '%s' to sort by",
					       options->by[i]->name);
	return 0;
}

/* Stores the rows that are wanted. Returns their number. */
static size_t select_rows(const struct order *order, unsigned event, struct item *items)
{
	const struct perch_profile *profile = order->profile;
	bool children = order->options->children;
	size_t nr = 0;

	for (size_t i = 0; i < profile->row_keys.nr; i++) {
		const struct perch_row *row = &profile->row[i];

		if (row->event == event && (children || row->samples))
			items[nr++] = (struct item){
				.first = children ? row->children : row->self,
				.second = children ? row->self : 0,
				.height = children ? row->height : 0,
				.row = i,
			};
	}
	return nr;
}

int perch_profile_rows(struct perch_profile *profile, unsigned event,
		       const struct perch_rows_options *options, const struct perch_row **rows,
		       size_t *result, struct perch_error *err)
{
	static const struct perch_rows_options none;
	struct order order = { .profile = profile, .options = options ? options : &none };
	struct perch_row *sorted = NULL;
	struct item *items;
	size_t nr = 0;

	*rows = NULL;
	*result = 0;
	if (check_options(profile, order.options, err))
		return -EINVAL;
	if (event >= profile->nr_events)
		return 0;
	perch_processes_dsos(profile->processes, &order.dsos);
	items = calloc(profile->row_keys.nr + 1, sizeof(*items));
	if (items) {
		nr = select_rows(&order, event, items);
		if (sort_items(&order, items, nr))
			sorted = calloc(nr + 1, sizeof(*sorted));
	}
	for (size_t i = 0; sorted && i < nr; i++)
		sorted[i] = profile->row[items[i].row];
	free(items);
	if (!sorted)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the rows of a report");
	free(profile->event[event].sorted);
	profile->event[event].sorted = sorted;
	*rows = sorted;
	*result = nr;
	return 0;
}
