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
	struct perch_row *row;		     /* those of the event */
};

/* A row in the first step. */
struct item {
	/* sums, the larger ones come first: of the first two columns of the list if they are of
	 * scope PERIOD; without a list, the period and a second one */
	uint64_t first, second;
	uint32_t height; /* of two rows with equal children, the caller comes first */
	uint32_t at;	 /* where the row is among those of the event */
	uint32_t index;	 /* of the row */
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

static int compare_sums(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_list(const struct item *a, const struct item *b, const struct order *order)
{
	int rc = 0;

	for (size_t i = 0; i < order->options->nr_by && !rc; i++) {
		const struct perch_column *column = order->options->by[i];

		if (column->scope == PERCH_COLUMN_PERIOD && i < 2) {
			rc = i ? compare_sums(a->second, b->second)
			       : compare_sums(a->first, b->first);
			continue;
		}
		rc = perch_profile_compare(order->profile, &order->row[a->at], &order->row[b->at],
					   column);
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

	return rc ? rc : (a->index > b->index) - (a->index < b->index);
}

/* A row in the second step, with copies of what most comparisons need. */
struct tie {
	uint64_t hint; /* the first bytes of the name, or the offset without a function */
	uint32_t at, index, context;
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
	return perch__compare_at(profile, &order->row[a->at], &order->row[b->at], index);
}

/* By all columns, so every run prints the same report. */
static int compare_ties(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct tie *a = left, *b = right;
	int rc = 0;

	for (size_t i = 0; i < order->profile->nr_columns && !rc; i++)
		rc = by_column(order, a, b, i);
	return rc ? rc : (a->index > b->index) - (a->index < b->index);
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
		const struct perch_row *row = &order->row[items[i].at];
		const struct perch_symbol *symbol = row->frame.symbol;

		ties[i] = (struct tie){
			.hint = row->frame.offset,
			.at = items[i].at,
			.index = row->index,
			.context = row->numbers[ROW_CONTEXT],
			.dso = row->frame.dso ? row->frame.dso->index : 0,
			.is_function = symbol != NULL,
		};
		if (by_function && symbol)
			ties[i].hint = first_bytes(perch_symbols_name(profile->symbols, symbol));
	}
	qsort_r(ties, nr, sizeof(*ties), compare_ties, order);
	for (size_t i = 0; i < nr; i++)
		items[i].at = ties[i].at;
}

/* Returns false if out of memory. */
static bool sort_items(struct order *order, struct item *items, size_t nr)
{
	struct tie *ties = calloc(nr + 1, sizeof(*ties));

	if (!ties)
		return false;
	perch__use_large_pages(ties, nr * sizeof(*ties));
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

/* The sum of a row in a column of the list; 0 for other columns. */
static uint64_t listed_sum(const struct perch_rows_options *options, size_t i,
			   const struct perch_row *row)
{
	const struct perch_column *column = i < options->nr_by ? options->by[i] : NULL;

	return column && column->scope == PERCH_COLUMN_PERIOD && column->methods
		       ? column->methods->sum(row)
		       : 0;
}

/* Stores the rows that are wanted, and then the others. Returns the number of the first ones. */
static size_t select_rows(const struct order *order, size_t nr_rows, struct item *items)
{
	const struct perch_rows_options *options = order->options;
	bool children = options->children;
	bool named = options->named_callers &&
		     perch__columns_has(order->profile, &perch__column_sym);
	size_t nr = 0, end = nr_rows;

	for (size_t i = 0; i < nr_rows; i++) {
		const struct perch_row *row = &order->row[i];
		bool wanted = row->samples || (children && (!named || row->frame.symbol));
		struct item *item = &items[wanted ? nr++ : --end];

		*item = (struct item){ .at = i, .index = row->index };
		if (options->nr_by) {
			item->first = listed_sum(options, 0, row);
			item->second = listed_sum(options, 1, row);
			continue;
		}
		item->first = children ? row->children : row->self;
		item->second = children ? row->self : 0;
		item->height = children ? row->height : 0;
	}
	return nr;
}

static inline void prefetch_row(const struct perch_row *row)
{
	for (size_t at = 0; at < sizeof(*row); at += 64)
		__builtin_prefetch((const char *)row + at);
}

/* Moves the rows into the order of the items. A copy would take as much memory as the rows. */
static void move_rows(struct perch_row *rows, struct item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct perch_row first = rows[i];
		size_t to = i, from;

		/* a cycle: each row moves to where the one before it was */
		while ((from = items[to].at) != i) {
			/* the row after the next one is loaded meanwhile */
			prefetch_row(&rows[items[from].at]);
			rows[to] = rows[from];
			items[to].at = to;
			to = from;
		}
		rows[to] = first;
		items[to].at = to;
	}
}

int perch_profile_rows(struct perch_profile *profile, unsigned event,
		       const struct perch_rows_options *options, const struct perch_row **rows,
		       size_t *result, struct perch_error *err)
{
	static const struct perch_rows_options none;
	struct order order = { .profile = profile, .options = options ? options : &none };
	struct profile_event *of;
	struct item *items;
	bool sorted = false;
	size_t nr = 0;

	*rows = NULL;
	*result = 0;
	if (check_options(profile, order.options, err))
		return -EINVAL;
	if (event >= profile->nr_events)
		return 0;
	perch_processes_dsos(profile->processes, &order.dsos);
	of = &profile->event[event];
	order.row = of->nr_rows ? profile->row + of->first_row : NULL;
	items = calloc(of->nr_rows + 1, sizeof(*items));
	if (items) {
		perch__use_large_pages(items, of->nr_rows * sizeof(*items));
		nr = select_rows(&order, of->nr_rows, items);
		sorted = sort_items(&order, items, nr);
	}
	if (sorted)
		move_rows(order.row, items, of->nr_rows);
	free(items);
	if (!sorted)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the rows of a report");
	*rows = order.row;
	*result = nr;
	return 0;
}
