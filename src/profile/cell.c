/* SPDX-License-Identifier: MIT */
/* Values and texts of rows. */
#include <inttypes.h>

#include "internal.h"

/* The value of a row in the column with this index, as it is stored. */
static uint64_t stored_value(const struct perch_profile *profile, const struct perch_row *row,
			     size_t index)
{
	const struct perch_column *column = profile->column[index];

	if (column->scope == PERCH_COLUMN_FRAME)
		return column->methods->frame_value(profile,
						    (struct frame_id){ row->numbers[ROW_FRAME] });
	return perch__tuples_at(&profile->contexts,
				row->numbers[ROW_CONTEXT])[profile->word[index]];
}

/* false if the profile has no such column. */
static bool get_cell(const struct perch_profile *profile, const struct perch_row *row,
		     const struct perch_column *column, struct cell *cell)
{
	size_t index;

	*cell = (struct cell){ .row = row };
	if (column->scope == PERCH_COLUMN_PERIOD) {
		if (column->methods)
			cell->value = column->methods->sum(row);
		return column->methods;
	}
	index = perch__columns_index(profile, column);
	if (index != MAX_COLUMNS)
		cell->value = stored_value(profile, row, index);
	return index != MAX_COLUMNS;
}

uint64_t perch_profile_value(struct perch_profile *profile, const struct perch_row *row,
			     const struct perch_column *column)
{
	struct cell cell;

	if (!get_cell(profile, row, column, &cell))
		return 0;
	return column->methods && column->methods->number ? column->methods->number(cell.value)
							  : cell.value;
}

static int compare_values(struct perch_profile *profile, const struct perch_column *column,
			  const struct cell *a, const struct cell *b)
{
	if (column->methods && column->methods->compare)
		return column->methods->compare(profile, a, b);
	if (!column->methods && column->compare)
		return column->compare(column->data, a->value, b->value);
	return (a->value > b->value) - (a->value < b->value);
}

int perch__compare_contexts(struct perch_profile *profile, struct context_id a, struct context_id b,
			    size_t index)
{
	size_t word = profile->word[index];
	struct cell left, right;

	if (a.nr == b.nr)
		return 0;
	left = (struct cell){ .value = perch__tuples_at(&profile->contexts, a.nr)[word] };
	right = (struct cell){ .value = perch__tuples_at(&profile->contexts, b.nr)[word] };
	return compare_values(profile, profile->column[index], &left, &right);
}

int perch__compare_at(struct perch_profile *profile, const struct perch_row *a,
		      const struct perch_row *b, size_t index)
{
	const struct perch_column *column = profile->column[index];
	struct cell left = { .row = a }, right = { .row = b };

	if (column->scope == PERCH_COLUMN_SAMPLE)
		return perch__compare_contexts(profile,
					       (struct context_id){ a->numbers[ROW_CONTEXT] },
					       (struct context_id){ b->numbers[ROW_CONTEXT] },
					       index);
	if (!column->methods->compare) {
		left.value = stored_value(profile, a, index);
		right.value = stored_value(profile, b, index);
	}
	return compare_values(profile, column, &left, &right);
}

int perch_profile_compare(struct perch_profile *profile, const struct perch_row *a,
			  const struct perch_row *b, const struct perch_column *column)
{
	struct cell left, right;
	size_t index;

	if (column->scope == PERCH_COLUMN_PERIOD) {
		get_cell(profile, a, column, &left);
		get_cell(profile, b, column, &right);
		return compare_values(profile, column, &left, &right);
	}
	index = perch__columns_index(profile, column);
	return index == MAX_COLUMNS ? 0 : perch__compare_at(profile, a, b, index);
}

const char *perch_profile_cell(struct perch_profile *profile, const struct perch_row *row,
			       const struct perch_column *column, char *buffer, size_t size)
{
	struct cell cell = { .row = row };

	buffer[0] = 0;
	/* this is called for each cell of a report, and the row has what is shown of a function */
	if (column->scope == PERCH_COLUMN_FRAME && column->methods->text)
		/* the text is in the buffer or in the profile, never in the cell */
		/* cppcheck-suppress returnDanglingLifetime */
		return column->methods->text(profile, &cell, buffer, size);
	if (!get_cell(profile, row, column, &cell))
		return buffer;
	if (column->methods && column->methods->text)
		/* cppcheck-suppress returnDanglingLifetime */
		return column->methods->text(profile, &cell, buffer, size);
	if (!column->methods && column->format) {
		column->format(column->data, cell.value, buffer, size);
		buffer[size - 1] = 0;
		perch_clean_text(buffer, buffer, size);
		return buffer;
	}
	snprintf(buffer, size, column->type == PERCH_COLUMN_ADDRESS ? "%#" PRIx64 : "%" PRIu64,
		 cell.value);
	return buffer;
}
