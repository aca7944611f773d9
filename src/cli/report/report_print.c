/* SPDX-License-Identifier: MIT */
/* The rows of a report, in perf's columns. */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "report.h"

#define ADDRESS_WIDTH 18 /* 0x and 16 digits */

struct table {
	FILE *out;
	const struct report *report;
	struct cli_recording *recording;
	size_t width[8];
	/* the last percentage as text: many rows with few samples have the same one */
	struct share {
		uint64_t period;
		char text[32];
	} share[2];
};

static const char *comm_of(const struct perch_row *row, char *buffer, size_t size)
{
	perch_clean_text(buffer, size, row->comm);
	return buffer;
}

/* Columns are characters, not bytes. */
static size_t columns_of(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += (*text & 0xc0) != 0x80;
	return nr;
}

static void put_padded(FILE *out, const char *text, size_t width)
{
	static const char spaces[] = "                                ";
	size_t length = strlen(text), used = columns_of(text);

	fwrite(text, 1, length, out);
	while (used < width) {
		size_t some = width - used < sizeof(spaces) - 1 ? width - used : sizeof(spaces) - 1;

		fwrite(spaces, 1, some, out);
		used += some;
	}
}

/* As "%-#*.16" PRIx64; printf takes longer, and the report of a stripped program has many
 * addresses. */
static void put_address(FILE *out, uint64_t address, size_t width)
{
	char text[ADDRESS_WIDTH + 1], *at = text + ADDRESS_WIDTH;
	uint64_t left = address;

	*at = 0;
	for (int i = 0; i < 16; i++, left >>= 4)
		*--at = "0123456789abcdef"[left & 15];
	if (address) {
		*--at = 'x';
		*--at = '0';
	}
	put_padded(out, at, width);
}

static void put_share(struct table *table, struct share *share, uint64_t period, uint64_t total)
{
	if (!share->text[0] || share->period != period) {
		share->period = period;
		snprintf(share->text, sizeof(share->text), "   %6.2f%%",
			 total ? 100.0 * period / total : 0);
	}
	fputs(share->text, table->out);
}

static size_t cell_width(const struct table *table, const struct report_key *key,
			 const struct perch_row *row)
{
	struct perch_symbols *symbols = table->recording->symbols;
	char comm[64];

	switch (key->key) {
	case PERCH_KEY_COMM:
		return columns_of(comm_of(row, comm, sizeof(comm)));
	case PERCH_KEY_PID:
	case PERCH_KEY_TID:
		return 8 + columns_of(comm_of(row, comm, sizeof(comm)));
	case PERCH_KEY_DSO:
		return columns_of(perch_symbols_dso_name(symbols, row->frame.dso));
	case PERCH_KEY_SYMBOL:
		return 4 + (row->frame.symbol
				    ? columns_of(perch_symbols_name(symbols, row->frame.symbol))
				    : ADDRESS_WIDTH);
	default:
		return 3;
	}
}

static void put_cell(const struct table *table, size_t column, const struct perch_row *row)
{
	const struct report_key *key = table->report->keys[column];
	struct perch_symbols *symbols = table->recording->symbols;
	size_t width = column + 1 < table->report->nr_keys ? table->width[column] : 0;
	FILE *out = table->out;
	char comm[64];

	switch (key->key) {
	case PERCH_KEY_COMM:
		put_padded(out, comm_of(row, comm, sizeof(comm)), width);
		break;
	case PERCH_KEY_PID:
	case PERCH_KEY_TID:
		fprintf(out, "%7" PRIu32 ":", key->key == PERCH_KEY_PID ? row->pid : row->tid);
		put_padded(out, comm_of(row, comm, sizeof(comm)), width > 8 ? width - 8 : 0);
		break;
	case PERCH_KEY_DSO:
		put_padded(out, perch_symbols_dso_name(symbols, row->frame.dso), width);
		break;
	case PERCH_KEY_SYMBOL:
		putc('[', out);
		putc(row->frame.cpumode_char, out);
		fputs("] ", out);
		if (row->frame.symbol)
			put_padded(out, perch_symbols_name(symbols, row->frame.symbol),
				   width > 4 ? width - 4 : 0);
		else
			put_address(out, row->frame.offset, width > 4 ? width - 4 : 0);
		break;
	default:
		fprintf(out, "%03" PRId32, (int32_t)row->cpu);
	}
}

static void put_titles(const struct table *table)
{
	const struct report *report = table->report;
	FILE *out = table->out;

	fputs(report->children ? "# Children      Self" : "# Overhead", out);
	for (size_t i = 0; i < report->nr_keys; i++) {
		fputs("  ", out);
		put_padded(out, report->keys[i]->title, table->width[i]);
	}
	fputs(report->children ? "\n# ........  ........" : "\n# ........", out);
	for (size_t i = 0; i < report->nr_keys; i++) {
		fputs("  ", out);
		for (size_t dots = 0; dots < table->width[i]; dots++)
			putc('.', out);
	}
	fputs("\n#\n", out);
}

/* 1234 as it is, 804133 as 804K, as perf does. */
static void put_samples(FILE *out, uint64_t nr)
{
	static const char units[] = " KMG";
	int unit = 0;

	while (nr / 1000 && unit < 3 && nr >= 10000) {
		nr /= 1000;
		unit++;
	}
	fprintf(out, "# Samples: %" PRIu64 "%c", nr, units[unit]);
}

static void put_event(const struct table *table, const char *name,
		      const struct perch_profile_total *total)
{
	fputs("#\n", table->out);
	put_samples(table->out, total->samples);
	fputs(" of event '", table->out);
	cli_put_clean(table->out, name);
	fprintf(table->out, "'\n# Event count (approx.): %" PRIu64 "\n#\n", total->period);
}

int report_print_event(FILE *out, const struct report *report, struct cli_recording *recording,
		       struct perch_profile *profile, unsigned event, const char *name)
{
	struct table table = { .out = out, .report = report, .recording = recording };
	struct perch_profile_total total;
	const struct perch_row *rows;
	struct perch_error err;
	size_t nr;

	perch_profile_get_total(profile, event, &total);
	if (perch_profile_rows(profile, event, report->children, &rows, &nr, &err))
		return cli_error("report", &err);
	for (size_t column = 0; column < report->nr_keys; column++) {
		table.width[column] = strlen(report->keys[column]->title);
		for (size_t i = 0; i < nr; i++) {
			size_t width = cell_width(&table, report->keys[column], &rows[i]);

			if (width > table.width[column])
				table.width[column] = width;
		}
	}
	put_event(&table, name, &total);
	put_titles(&table);
	for (size_t i = 0; i < nr; i++) {
		const struct perch_row *row = &rows[i];
		uint64_t period = report->children ? row->children : row->self;
		double share = total.period ? 100.0 * period / total.period : 0;

		if (share < report->percent_limit)
			break;
		put_share(&table, &table.share[0], period, total.period);
		if (report->children)
			put_share(&table, &table.share[1], row->self, total.period);
		for (size_t column = 0; column < report->nr_keys; column++) {
			fputs("  ", out);
			put_cell(&table, column, row);
		}
		putc('\n', out);
		if (report->graph != GRAPH_NONE &&
		    report_print_graph(out, report, recording, profile, row, total.period))
			return CLI_EXIT_FAILURE;
	}
	fputs("\n\n", out);
	return 0;
}
