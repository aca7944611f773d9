/* SPDX-License-Identifier: MIT */
/* The order of rows. */
#define _GNU_SOURCE /* qsort_r */
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

/*
 * Rows are sorted in steps, because most rows of a large profile have equal sums (one sample), and
 * a comparison that loads two rows from memory takes long: first by the sums, then the rows with
 * equal sums by the columns. A step sorts numbers that have the same order. Only rows whose numbers
 * are equal in all steps are compared.
 */
enum sort_step { FIRST_SUM, SECOND_SUM, PERIOD, HEIGHT, SELF, LOCATION, NAME, COMPARE };
enum { MAX_STEPS = COMPARE + 1 };

struct order {
	struct perch_profile *profile;
	const struct perch_rows_options *options;
	const struct perch_dso *const *dsos; /* by index */
	size_t nr_dsos;
	unsigned event;
	struct perch_row *row; /* those of the event */
	size_t nr_sums;	       /* the first columns of the list, of scope PERIOD */
	/* the first columns of the profile whose order numbers have: those of scope SAMPLE by ranks
	 * of contexts, then perhaps dso by ranks of DSOs, and the first bytes of sym */
	size_t nr_sample;
	bool with_dso, with_sym;
	size_t first_compared; /* column whose order numbers do not have, or not the whole one */
	enum sort_step step[MAX_STEPS];
	uint32_t *context_rank; /* by context; only of the event */
	uint32_t *dso_rank;	/* by index */
};

/* ---- ranks of contexts and DSOs: numbers that have the order of columns ---- */

static int compare_ranked_contexts(const struct order *order, uint32_t a, uint32_t b)
{
	int rc = 0;

	for (size_t i = 0; i < order->nr_sample && !rc; i++)
		if (order->profile->column[i]->scope == PERCH_COLUMN_SAMPLE)
			rc = perch__compare_contexts(order->profile, (struct context_id){ a },
						     (struct context_id){ b }, i);
	return rc;
}

static int compare_ranked_dsos(const struct order *order, uint32_t a, uint32_t b)
{
	struct perch_symbols *symbols = order->profile->symbols;

	return strcmp(perch_symbols_dso_name(symbols, order->dsos[a]),
		      perch_symbols_dso_name(symbols, order->dsos[b]));
}

static int compare_context_items(const void *left, const void *right, void *order)
{
	return compare_ranked_contexts(order, *(const uint32_t *)left, *(const uint32_t *)right);
}

static int compare_dso_items(const void *left, const void *right, void *order)
{
	return compare_ranked_dsos(order, *(const uint32_t *)left, *(const uint32_t *)right);
}

static bool is_of_event(const struct order *order, uint32_t context)
{
	return perch__context_event(order->profile, (struct context_id){ context }) == order->event;
}

static bool is_any(const struct order *order, uint32_t number)
{
	(void)order;
	(void)number;
	return true;
}

/* Returns the rank of each of nr numbers that are wanted; equal ones have equal ranks. NULL if out
 * of memory. */
static uint32_t *make_ranks(struct order *order, size_t nr,
			    bool (*is_wanted)(const struct order *order, uint32_t number),
			    int (*compare)(const void *left, const void *right, void *order))
{
	size_t wanted = 0;
	uint32_t *sorted = malloc((nr + 1) * sizeof(*sorted));
	uint32_t *rank = calloc(nr + 1, sizeof(*rank));

	if (!sorted || !rank) {
		free(sorted);
		free(rank);
		return NULL;
	}
	for (size_t i = 0; i < nr; i++)
		if (is_wanted(order, (uint32_t)i))
			sorted[wanted++] = (uint32_t)i;
	qsort_r(sorted, wanted, sizeof(*sorted), compare, order);
	for (size_t i = 1; i < wanted; i++)
		rank[sorted[i]] =
			rank[sorted[i - 1]] + (compare(&sorted[i - 1], &sorted[i], order) != 0);
	free(sorted);
	return rank;
}

static void find_columns(struct order *order)
{
	const struct perch_profile *profile = order->profile;
	size_t at = 0;

	while (at < profile->nr_columns && profile->column[at]->scope != PERCH_COLUMN_FRAME)
		at++;
	order->nr_sample = at;
	order->with_dso = at < profile->nr_columns &&
			  profile->column[at]->methods == &perch__column_dso;
	at += order->with_dso;
	order->with_sym = at < profile->nr_columns &&
			  profile->column[at]->methods == &perch__column_sym;
}

/* True if the step LOCATION is used: no column of the list is left to compare. */
static bool has_location(const struct order *order)
{
	return order->nr_sums == order->options->nr_by;
}

/* Makes the ranks that the step LOCATION needs. Returns false if out of memory. */
static bool rank_columns(struct order *order)
{
	if (!has_location(order))
		return true;
	order->context_rank =
		make_ranks(order, order->profile->contexts.nr, is_of_event, compare_context_items);
	order->dso_rank =
		make_ranks(order, order->with_dso ? order->nr_dsos : 0, is_any, compare_dso_items);
	return order->context_rank && order->dso_rank;
}

/* ---- the steps ---- */

/* The sum of a row in a column of the list; 0 for other columns. */
static uint64_t listed_sum(const struct order *order, size_t i, const struct perch_row *row)
{
	const struct perch_column *column = order->options->by[i];

	return column->methods ? column->methods->sum(row) : 0;
}

/* The rank of the context, then that of the DSO; functions come before addresses. */
static uint64_t location_of(const struct order *order, const struct perch_row *row)
{
	uint64_t context = order->context_rank[row->numbers[ROW_CONTEXT]], dso = 0;

	if (order->with_dso && row->frame.dso)
		dso = order->dso_rank[row->frame.dso->index];
	return context << 32 | dso << 1 | (order->with_sym && !row->frame.symbol);
}

/* The first bytes of a text: numbers of different texts have the order of strcmp(). */
static uint64_t first_bytes(const char *text)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | (*text ? (unsigned char)*text++ : 0);
	return number;
}

/* Returns the number of a row in a step. Of sums, the larger ones come first. */
static inline uint64_t number_of(const struct order *order, enum sort_step step,
				 const struct perch_row *row)
{
	bool children = order->options->children;

	switch (step) {
	case FIRST_SUM:
		return ~listed_sum(order, 0, row);
	case SECOND_SUM:
		return ~listed_sum(order, 1, row);
	case PERIOD:
		return ~(children ? row->children : row->self);
	case HEIGHT: /* of two rows with equal children, the caller comes first */
		return ~(uint64_t)row->height;
	case SELF:
		return ~row->self;
	case LOCATION:
		return location_of(order, row);
	case NAME:
		return row->frame.symbol ? first_bytes(perch_symbols_name(order->profile->symbols,
									  row->frame.symbol))
					 : row->frame.offset;
	case COMPARE:
		break;
	}
	return 0;
}

/* Sets the steps that have the order of the options. */
static void set_steps(struct order *order)
{
	const struct perch_rows_options *options = order->options;
	enum sort_step *step = order->step;

	while (order->nr_sums < options->nr_by && order->nr_sums < 2 &&
	       options->by[order->nr_sums]->scope == PERCH_COLUMN_PERIOD)
		*step++ = order->nr_sums++ ? SECOND_SUM : FIRST_SUM;
	if (!options->nr_by)
		*step++ = PERIOD;
	if (!options->nr_by && options->children) {
		*step++ = HEIGHT;
		*step++ = SELF;
	}
	if (has_location(order)) {
		order->first_compared = order->nr_sample + order->with_dso;
		*step++ = LOCATION;
		if (order->with_sym)
			*step++ = NAME;
	}
	*step = COMPARE;
}

/* Compares by the columns of the list that are no steps. */
static int by_list(const struct order *order, const struct perch_row *a, const struct perch_row *b)
{
	int rc = 0;

	for (size_t i = order->nr_sums; i < order->options->nr_by && !rc; i++) {
		const struct perch_column *column = order->options->by[i];

		rc = perch_profile_compare(order->profile, a, b, column);
		if (column->scope == PERCH_COLUMN_PERIOD)
			rc = -rc;
	}
	return rc;
}

/* By the list and then by all columns, so every run prints the same report. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct perch_row *a = &order->row[((const struct sort_item *)left)->at];
	const struct perch_row *b = &order->row[((const struct sort_item *)right)->at];
	struct perch_profile *profile = order->profile;
	int rc = by_list(order, a, b);

	for (size_t i = order->first_compared; i < profile->nr_columns && !rc; i++)
		if (profile->column[i]->scope != PERCH_COLUMN_PERIOD)
			rc = perch__compare_at(profile, a, b, i);
	return rc ? rc : (a->index > b->index) - (a->index < b->index);
}

static void sort_items(struct order *order, const enum sort_step *step, struct sort_item *items,
		       size_t nr, struct sort_item *scratch)
{
	if (*step == COMPARE) {
		qsort_r(items, nr, sizeof(*items), compare_rows, order);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		items[i].number = number_of(order, *step, &order->row[items[i].at]);
	perch__sort_by_numbers(items, nr, scratch);
	for (size_t i = 0, end; i < nr; i = end) {
		end = i + 1;
		while (end < nr && items[i].number == items[end].number)
			end++;
		if (end - i > 1)
			sort_items(order, step + 1, items + i, end - i, scratch);
	}
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

/* Stores the rows that are wanted, and then the others. Returns the number of the first ones. */
static size_t select_rows(const struct order *order, size_t nr_rows, struct sort_item *items)
{
	const struct perch_rows_options *options = order->options;
	bool children = options->children;
	bool named = options->named_callers &&
		     perch__columns_has(order->profile, &perch__column_sym);
	size_t nr = 0, end = nr_rows;

	for (size_t i = 0; i < nr_rows; i++) {
		const struct perch_row *row = &order->row[i];
		bool wanted = row->samples || (children && (!named || row->frame.symbol));

		items[wanted ? nr++ : --end] = (struct sort_item){ .at = i };
	}
	return nr;
}

static inline void prefetch_row(const struct perch_row *row)
{
	for (size_t at = 0; at < sizeof(*row); at += 64)
		__builtin_prefetch((const char *)row + at);
}

#define AHEAD 12 /* rows that are loaded at the same time */

/* Moves the rows into the order of the items. A copy would take as much memory as the rows. from:
 * scratch for nr numbers. */
static void move_rows(struct perch_row *rows, const struct sort_item *items, size_t nr,
		      uint32_t *from)
{
	for (size_t i = 0; i < nr; i++)
		from[i] = items[i].at;
	for (size_t i = 0; i < nr; i++) {
		size_t to = i, ahead = i, next = from[i];
		struct perch_row first;

		if (next == i)
			continue;
		/* a cycle: each row moves to where the one before it was */
		first = rows[i];
		for (size_t steps = 0; steps < AHEAD; steps++) {
			ahead = from[ahead];
			prefetch_row(&rows[ahead]);
		}
		for (; next != i; next = from[to]) {
			ahead = from[ahead]; /* stays at the end of the cycle */
			prefetch_row(&rows[ahead]);
			rows[to] = rows[next];
			from[to] = to;
			to = next;
		}
		rows[to] = first;
		from[to] = to;
	}
}

/* Returns the number of rows that are wanted, or -ENOMEM. */
static int64_t sort_rows(struct order *order, size_t nr_rows)
{
	struct sort_item *items = malloc((nr_rows + 1) * sizeof(*items));
	struct sort_item *scratch = malloc((nr_rows + 1) * sizeof(*scratch));
	int64_t nr = -ENOMEM;

	find_columns(order);
	set_steps(order);
	if (items && scratch && rank_columns(order)) {
		perch__use_large_pages(items, nr_rows * sizeof(*items));
		perch__use_large_pages(scratch, nr_rows * sizeof(*scratch));
		nr = (int64_t)select_rows(order, nr_rows, items);
		sort_items(order, order->step, items, (size_t)nr, scratch);
		move_rows(order->row, items, nr_rows, (uint32_t *)scratch);
	}
	free(items);
	free(scratch);
	free(order->context_rank);
	free(order->dso_rank);
	return nr;
}

int perch_profile_rows(struct perch_profile *profile, unsigned event,
		       const struct perch_rows_options *options, const struct perch_row **rows,
		       size_t *result, struct perch_error *err)
{
	static const struct perch_rows_options none;
	struct order order = { .profile = profile,
			       .options = options ? options : &none,
			       .event = event };
	struct profile_event *of;
	int64_t nr;

	*rows = NULL;
	*result = 0;
	if (check_options(profile, order.options, err))
		return -EINVAL;
	if (event >= profile->nr_events)
		return 0;
	order.nr_dsos = perch_processes_dsos(profile->processes, &order.dsos);
	of = &profile->event[event];
	order.row = of->nr_rows ? profile->row + of->first_row : NULL;
	nr = sort_rows(&order, of->nr_rows);
	if (nr < 0)
		return PERCH__NO_MEMORY(err, "for the rows of a report");
	*rows = order.row;
	*result = (size_t)nr;
	return 0;
}
