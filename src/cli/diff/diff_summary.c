/* SPDX-License-Identifier: MIT */
/* What has changed most between two files, how likely that is by chance, and in what the recordings
 * themselves differ. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"

/* Prints the cells of a row, separated by blanks. */
static void put_cells(const struct diff *diff, const struct perch_comparison *rows, size_t row)
{
	bool first = true;

	for (size_t i = 0; i < diff->nr_keys; i++) {
		const char *text = perch_comparison_text(rows, row, i);

		if (diff_is_sum(diff->key[i]))
			continue;
		printf(first ? "%s" : " %s", text + strspn(text, " "));
		first = false;
	}
}

static void put_probability(double probability)
{
	if (probability < 0.0001)
		fputs("below 0.01%", stdout);
	else
		printf(probability < 0.1 ? "%.2g%%" : "%.0f%%", 100 * probability);
}

static void put_change(const struct diff *diff, const struct perch_comparison *rows, size_t file,
		       const struct perch_comparison_change *change)
{
	const struct perch_comparison_sum *before = perch_comparison_row_sum(rows, change->row, 0);
	const struct perch_comparison_sum *after =
		perch_comparison_row_sum(rows, change->row, file);
	double old_share = perch_comparison_share(rows, change->row, 0);
	double new_share = perch_comparison_share(rows, change->row, file);

	fputs("# Changed most: ", stdout);
	put_cells(diff, rows, change->row);
	printf(": %.2f%% to %.2f%% (%+.2f points, standard error %.2f; %" PRIu64 " of %" PRIu64
	       " samples, %" PRIu64 " of %" PRIu64 ")\n",
	       old_share, new_share, new_share - old_share, change->error, before->samples,
	       perch_comparison_total(rows, 0)->samples, after->samples,
	       perch_comparison_total(rows, file)->samples);
	if (isnan(change->chance))
		return;
	fputs("# Probability of this change by sampling alone, in any of the ", stdout);
	printf("%zu rows: ", perch_comparison_rows(rows));
	put_probability(change->chance);
	putchar('\n');
}

static void put_pair(const struct diff *diff, const struct diff_event *event, size_t file)
{
	const struct perch_comparison *rows = event->comparison;
	const struct perch_comparison_sum *before = perch_comparison_total(rows, 0);
	const struct perch_comparison_sum *after = perch_comparison_total(rows, file);
	struct perch_comparison_change change;

	if (event->found[file] && !before->samples && !after->samples)
		return;
	if (diff->nr_files > 2) {
		printf("#\n# [%zu] ", file);
		cli_put_clean(stdout, diff->file[file].path);
	} else {
		fputs("#", stdout);
	}
	putchar('\n');
	if (!event->found[file]) {
		puts("# The file does not have this event.");
		return;
	}
	printf("# Event count (approx.): %" PRIu64 " to %" PRIu64, before->period, after->period);
	if (before->period)
		printf(" (ratio %.3f)", (double)after->period / before->period);
	putchar('\n');
	if (!before->samples || !after->samples)
		return;
	perch_comparison_most_changed(rows, file, &change);
	if (change.row != PERCH_COMPARISON_NONE)
		put_change(diff, rows, file, &change);
	else
		puts("# No share has changed.");
}

void diff_print_summary(const struct diff *diff, const struct diff_event *event)
{
	for (size_t file = 1; file < diff->nr_files; file++)
		put_pair(diff, event, file);
}

/* ---- differences of the recordings ---- */

static void note_machine(const struct diff *diff, size_t file)
{
	for (size_t i = 0; i < CLI_NR(diff_machine_features); i++) {
		const char *base = diff->file[0].texts[i], *text = diff->file[file].texts[i];

		if (base && text && strcmp(base, text))
			cli_note(DIFF_COMMAND, "the %s differs: %s in %s, %s in %s",
				 diff_machine_features[i].name, base, diff->file[0].path, text,
				 diff->file[file].path);
	}
}

static void note_event(const struct diff *diff, const struct diff_event *event, size_t file)
{
	char name[128];

	if (event->is_dummy)
		return;
	perch_clean_text(event->name, name, sizeof(name));
	if (!event->found[file])
		cli_note(DIFF_COMMAND, "%s does not have the event %s", diff->file[file].path,
			 name);
	else if (event->freq[0] != event->freq[file] || event->rate[0] != event->rate[file])
		cli_note(DIFF_COMMAND,
			 "%s has a %s of %" PRIu64 " in %s and a %s of %" PRIu64 " in %s", name,
			 event->freq[0] ? "frequency" : "period", event->rate[0],
			 diff->file[0].path, event->freq[file] ? "frequency" : "period",
			 event->rate[file], diff->file[file].path);
}

static void note_names(const struct diff *diff, size_t file)
{
	for (size_t i = 0; i < diff->nr_events; i++) {
		if (!perch_comparison_is_renamed(diff->event[i].comparison, file))
			continue;
		cli_note(
			DIFF_COMMAND,
			"most of the change from %s to %s is of functions with the same names in "
			"DSOs of other names: -s sym compares functions of programs with different "
			"names",
			diff->file[0].path, diff->file[file].path);
		return;
	}
}

void diff_print_differences(const struct diff *diff)
{
	for (size_t file = 1; file < diff->nr_files; file++) {
		note_machine(diff, file);
		note_names(diff, file);
		for (size_t i = 0; i < diff->nr_events; i++)
			note_event(diff, &diff->event[i], file);
	}
}
