/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* qsort_r() */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/output.h"
#include "tables.h"

enum { MOST_COLUMNS = 24, MOST_KEYS = 8 };

/* The columns of a list of names. */
struct columns {
	const struct tables_column *column[MOST_COLUMNS];
	size_t nr;
};

/* ---- cells ---- */

void tables_put_ns(uint64_t ns, char *text, size_t size)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { UINT64_C(3600000000000), "h" },
		      { UINT64_C(60000000000), "m" },
		      { 1000000000, "s" },
		      { 1000000, "ms" },
		      { 1000, "us" } };

	for (size_t i = 0; i < CLI_NR(units); i++) {
		if (ns < units[i].ns)
			continue;
		snprintf(text, size, "%.2f %s", (double)ns / units[i].ns, units[i].name);
		return;
	}
	snprintf(text, size, "%" PRIu64 " ns", ns);
}

void tables_name(const struct tables *tables, const struct tables_row *row, char text[TABLES_CELL])
{
	(void)tables;
	snprintf(text, TABLES_CELL, "%s", row->name ? row->name : "");
}

static uint64_t number_of(const struct tables *tables, const struct tables_row *row,
			  const struct tables_column *column)
{
	uint64_t number;

	if (column->number)
		return column->number(tables, row);
	memcpy(&number, (const char *)row + column->at, sizeof(number));
	return number;
}

/* Stores a cell for a table that people read. */
static void put_cell(const struct tables *tables, const struct tables_row *row,
		     const struct tables_column *column, char text[TABLES_CELL])
{
	char raw[TABLES_CELL];
	uint64_t number;

	if (column->text) {
		column->text(tables, row, raw);
		perch_clean_text(raw, text, TABLES_CELL);
		return;
	}
	number = number_of(tables, row, column);
	switch (column->kind) {
	case TABLES_NS:
		tables_put_ns(number, text, TABLES_CELL);
		break;
	case TABLES_TIME:
		snprintf(text, TABLES_CELL, "%" PRIu64 ".%06" PRIu64, number / 1000000000,
			 number % 1000000000 / 1000);
		break;
	case TABLES_PERCENT:
		snprintf(text, TABLES_CELL, "%" PRIu64 ".%03" PRIu64 "%%", number / 1000,
			 number % 1000);
		break;
	case TABLES_ID:
		snprintf(text, TABLES_CELL, "%" PRId32, (int32_t)number);
		break;
	case TABLES_HEX:
		snprintf(text, TABLES_CELL, "%" PRIx64, number);
		break;
	default:
		snprintf(text, TABLES_CELL, "%" PRIu64, number);
	}
}

/* ---- columns ---- */

static const struct tables_column *find_column(const struct tables_view *view, const char *name,
					       size_t length)
{
	for (const struct tables_column *column = view->columns; column->name; column++)
		if (!strncmp(column->name, name, length) && !column->name[length])
			return column;
	return NULL;
}

static int refuse_column(const struct tables *tables, const struct tables_view *view,
			 const char *name, size_t length)
{
	char list[800] = "";

	for (const struct tables_column *column = view->columns; column->name; column++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			 column == view->columns ? "" : ", ", column->name);
	return cli_usage_error(tables->input.command, "'%.*s' is no column; there are %s",
			       (int)length, name, list);
}

static bool is_known(const struct tables *tables, const struct tables_column *column)
{
	return !column->is_known || column->is_known(tables);
}

/* Finds the columns of a list that the file has. Returns 0 or CLI_EXIT_USAGE. */
static int find_columns(const struct tables *tables, const struct tables_view *view,
			const char *names, struct columns *columns)
{
	columns->nr = 0;
	while (*names) {
		size_t length = strcspn(names, ",");
		const struct tables_column *column = find_column(view, names, length);

		if (!column)
			return refuse_column(tables, view, names, length);
		if (columns->nr < MOST_COLUMNS && is_known(tables, column))
			columns->column[columns->nr++] = column;
		names += length;
		names += *names == ',';
	}
	return 0;
}

static const char *sort_of(const struct tables *tables, const struct tables_table *table)
{
	if (table->sort)
		return table->sort;
	return tables->sort ? tables->sort : table->view->sort;
}

int tables_check_columns(const struct tables *tables)
{
	struct columns columns;
	int status = 0;

	for (size_t i = 0; i < tables->nr_tables && !status; i++) {
		const struct tables_table *table = &tables->table[i];

		if (table->hidden)
			continue;
		status = find_columns(tables, table->view,
				      tables->fields ? tables->fields : table->view->fields,
				      &columns);
		if (!status)
			status =
				find_columns(tables, table->view, sort_of(tables, table), &columns);
	}
	return status;
}

/* ---- order ---- */

struct order {
	const struct tables *tables;
	struct columns keys;
};

static int compare_cells(const struct order *order, const struct tables_column *column,
			 const struct tables_row *a, const struct tables_row *b)
{
	if (column->text) {
		char first[TABLES_CELL], second[TABLES_CELL];

		column->text(order->tables, a, first);
		column->text(order->tables, b, second);
		return strcmp(first, second);
	}
	{
		uint64_t first = number_of(order->tables, a, column);
		uint64_t second = number_of(order->tables, b, column);
		int compared = (first > second) - (first < second);

		return column->ascending ? compared : -compared;
	}
}

/* Rows that are equal so far have the order of their keys, so that an output can be repeated. */
static int compare_rows(const void *first, const void *second, void *context)
{
	const struct tables_row *a = *(const struct tables_row *const *)first;
	const struct tables_row *b = *(const struct tables_row *const *)second;
	const struct order *order = context;
	int compared = 0;

	for (size_t i = 0; i < order->keys.nr && !compared; i++)
		compared = compare_cells(order, order->keys.column[i], a, b);
	for (size_t i = 0; i < TABLES_KEYS && !compared; i++)
		compared = (a->key[i] > b->key[i]) - (a->key[i] < b->key[i]);
	return compared;
}

/* Returns the rows that are printed, in their order, *nr of them; NULL without memory. */
static const struct tables_row **sort_rows(const struct tables *tables,
					   const struct tables_table *table, size_t *nr)
{
	const struct tables_row **rows = perch__reallocarray(NULL, table->nr + 1, sizeof(*rows));
	struct order order = { .tables = tables };

	if (!rows)
		return NULL;
	*nr = 0;
	for (size_t i = 0; i < table->nr; i++)
		if (!tables->command->leaves_out ||
		    !tables->command->leaves_out(tables, &table->row[i]))
			rows[(*nr)++] = &table->row[i];
	find_columns(tables, table->view, sort_of(tables, table), &order.keys);
	qsort_r(rows, *nr, sizeof(*rows), compare_rows, &order);
	return rows;
}

/* ---- text ---- */

static void put_text(const char *text, size_t width, const struct tables_column *column, bool last)
{
	/* names of functions are long: only those before other columns are filled */
	if (last && column->text)
		printf("%s\n", text);
	else if (column->text)
		printf("%-*s%s", (int)width, text, last ? "\n" : "  ");
	else
		printf("%*s%s", (int)width, text, last ? "\n" : "  ");
}

static void print_chain(const struct tables *tables, const struct tables_row *row)
{
	char text[TABLES_CELL], clean[TABLES_CELL];

	for (uint32_t i = 0; i < row->nr_chain; i++) {
		tables_frame_name(tables, row->chain[i], text, sizeof(text));
		perch_clean_text(text, clean, sizeof(clean));
		printf("\t\t\t%s\n", clean);
	}
}

static void print_text(const struct tables *tables, const struct tables_row *const *rows, size_t nr,
		       const struct columns *columns)
{
	size_t width[MOST_COLUMNS];
	char text[TABLES_CELL];

	for (size_t i = 0; i < columns->nr; i++) {
		width[i] = strlen(columns->column[i]->title);
		for (size_t j = 0; j < nr; j++) {
			put_cell(tables, rows[j], columns->column[i], text);
			if (strlen(text) > width[i])
				width[i] = strlen(text);
		}
	}
	for (size_t i = 0; i < columns->nr; i++)
		put_text(columns->column[i]->title, width[i], columns->column[i],
			 i + 1 == columns->nr);
	for (size_t j = 0; j < nr; j++) {
		for (size_t i = 0; i < columns->nr; i++) {
			put_cell(tables, rows[j], columns->column[i], text);
			put_text(text, width[i], columns->column[i], i + 1 == columns->nr);
		}
		if (tables->input.verbose)
			print_chain(tables, rows[j]);
	}
}

/* ---- for programs ---- */

static void print_separated(const struct tables *tables, const struct tables_row *const *rows,
			    size_t nr, const struct columns *columns)
{
	char text[TABLES_CELL];

	printf("# ");
	for (size_t i = 0; i < columns->nr; i++)
		printf("%s%s", i ? tables->separator : "", columns->column[i]->name);
	putchar('\n');
	for (size_t j = 0; j < nr; j++) {
		for (size_t i = 0; i < columns->nr; i++) {
			const struct tables_column *column = columns->column[i];

			if (column->kind == TABLES_NS || column->kind == TABLES_TIME)
				snprintf(text, sizeof(text), "%" PRIu64,
					 number_of(tables, rows[j], column));
			else
				put_cell(tables, rows[j], column, text);
			if (column->text)
				cli_make_field(text, tables->separator);
			printf("%s%s", i ? tables->separator : "", text);
		}
		putchar('\n');
	}
}

static void put_json_cell(struct perch__json_writer *json, const struct tables *tables,
			  const struct tables_row *row, const struct tables_column *column)
{
	char text[TABLES_CELL];

	if (column->text) {
		column->text(tables, row, text);
		perch__json_put_text(json, column->name, text);
	} else if (column->kind == TABLES_HEX) {
		perch__json_put_hex(json, column->name, number_of(tables, row, column));
	} else if (column->kind == TABLES_ID) {
		perch__json_put_signed(json, column->name, (int32_t)number_of(tables, row, column));
	} else if (column->kind == TABLES_PERCENT) {
		put_cell(tables, row, column, text);
		text[strlen(text) - 1] = 0; /* % */
		perch__json_key(json, column->name);
		perch__output_text(json->out, text);
	} else if (column->kind == TABLES_TIME) {
		/* since 1970 it has more than 53 bits: it is a number all the same */
		perch__json_put_integer(json, column->name, number_of(tables, row, column));
	} else {
		perch__json_put_number(json, column->name, number_of(tables, row, column));
	}
}

/* All columns, in one line. */
static void put_json_row(struct perch__json_writer *json, const struct tables *tables,
			 const struct tables_view *view, const struct tables_row *row)
{
	char text[TABLES_CELL];

	perch__json_begin_object(json);
	if (view->name)
		perch__json_put_text(json, "table", view->name);
	for (const struct tables_column *column = view->columns; column->name; column++)
		if (is_known(tables, column))
			put_json_cell(json, tables, row, column);
	if (row->nr_chain) {
		perch__json_put_array(json, "chain");
		for (uint32_t i = 0; i < row->nr_chain; i++) {
			tables_frame_name(tables, row->chain[i], text, sizeof(text));
			perch__json_put_text(json, NULL, text);
		}
		perch__json_end(json);
	}
	perch__json_end(json);
	perch__output_char(json->out, '\n');
}

/* Returns 0 or the exit status. */
static int print_json(const struct tables *tables, const struct tables_view *view,
		      const struct tables_row *const *rows, size_t nr)
{
	struct perch__output out;
	int error;

	if (perch__output_open(&out, stdout))
		return cli_no_memory(tables->input.command);
	for (size_t i = 0; i < nr; i++) {
		struct perch__json_writer json = { .out = &out };

		put_json_row(&json, tables, view, rows[i]);
	}
	perch__output_flush(&out);
	error = out.error;
	perch__output_close(&out);
	return cli_check_stdout(tables->input.command, error);
}

static bool has_uncertain(const struct tables_table *table)
{
	for (size_t i = 0; i < table->nr; i++)
		if (table->row[i].uncertain)
			return true;
	return false;
}

static int print_table(const struct tables *tables, const struct tables_table *table)
{
	static const struct tables_column uncertain = { "uncertain", "uncertain", TABLES_COUNT,
							TABLES_AT(uncertain) };
	size_t nr;
	const struct tables_row **rows = sort_rows(tables, table, &nr);
	uint64_t entries = table->entries ? table->entries : tables->entries;
	struct columns columns = { .nr = 0 };
	int status = 0;

	if (!rows)
		return cli_no_memory(tables->input.command);
	if (entries && entries < nr)
		nr = entries;
	find_columns(tables, table->view, tables->fields ? tables->fields : table->view->fields,
		     &columns);
	if (!tables->fields && has_uncertain(table) && columns.nr < MOST_COLUMNS) {
		memmove(columns.column + 1, columns.column, columns.nr * sizeof(*columns.column));
		columns.column[0] = &uncertain;
		columns.nr++;
	}
	if (tables->json)
		status = print_json(tables, table->view, rows, nr);
	else if (tables->separator)
		print_separated(tables, rows, nr, &columns);
	else
		print_text(tables, rows, nr, &columns);
	free(rows);
	return status;
}

int tables_print(struct tables *tables)
{
	bool text = !tables->json && !tables->separator, first = true;
	int status = 0;

	for (size_t i = 0; i < tables->nr_tables && !status; i++) {
		if (tables->table[i].hidden)
			continue;
		if (text && !first)
			putchar('\n');
		first = false;
		status = print_table(tables, &tables->table[i]);
	}
	if (!status && text && tables->command->summary)
		tables->command->summary(tables);
	return status ? status : cli_check_stdout(tables->input.command, 0);
}
