/* SPDX-License-Identifier: MIT */
/* What has changed most between two files, how likely that is by chance, and in what the recordings
 * themselves differ. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/library.h"
#include "diff.h"

#if __has_include(<gnu/lib-names.h>)
#include <gnu/lib-names.h>
#endif

/*
 * Returns the variance of a share that was found by sampling, of the number of samples with and
 * without the property. One sample is added to both, because the share of 0 of 10 samples is not
 * certain (Agresti and Caffo, 2000).
 */
static double variance(uint64_t samples, uint64_t all)
{
	double share = (samples + 1.0) / (all + 2.0);

	return share * (1 - share) / (all + 2.0);
}

/* Prints the cells of a row, separated by blanks. */
static void put_cells(const struct diff *diff, const struct diff_event *event, size_t row)
{
	const char *text = event->text + event->row[row].text;
	bool first = true;

	for (size_t i = 0; i < diff->nr_keys; i++) {
		if (!diff_is_sum(diff->key[i])) {
			printf(first ? "%s" : " %s", text + strspn(text, " "));
			first = false;
		}
		text += strlen(text) + 1;
	}
}

/*
 * Returns erfc(x), or NaN if libm cannot be loaded. The command is not linked with libm: this is
 * the only function that needs it, and `perch stat true` is mostly start.
 */
static double complementary_error(double x)
{
#ifdef LIBM_SO
	double (*function)(double);

	return perch__load_library(LIBM_SO, &(struct perch__function){ "erfc", &function }, 1)
		       ? function(x)
		       : NAN;
#else
	return erfc(x);
#endif
}

static void put_probability(double probability)
{
	if (probability < 0.0001)
		fputs("below 0.01%", stdout);
	else
		printf(probability < 0.1 ? "%.2g%%" : "%.0f%%", 100 * probability);
}

/* The two-sided test of a difference of shares; with many rows, one of them differs by chance, so
 * the probability is multiplied by their number (Bonferroni). */
static void put_change(const struct diff *diff, const struct diff_event *event, size_t row,
		       size_t file)
{
	const struct diff_sum *before = diff_sum_of(diff, event, row, 0);
	const struct diff_sum *after = diff_sum_of(diff, event, row, file);
	const struct diff_sum *total = event->total;
	double old_share = diff_share(event, 0, before->period);
	double new_share = diff_share(event, file, after->period);
	double error = sqrt(variance(before->samples, total[0].samples) +
			    variance(after->samples, total[file].samples));
	double chance = complementary_error(fabs(new_share - old_share) / 100 / error / sqrt(2)) *
			event->nr_rows;

	fputs("# Changed most: ", stdout);
	put_cells(diff, event, row);
	printf(": %.2f%% to %.2f%% (%+.2f points, standard error %.2f; %" PRIu64 " of %" PRIu64
	       " samples, %" PRIu64 " of %" PRIu64 ")\n",
	       old_share, new_share, new_share - old_share, 100 * error, before->samples,
	       total[0].samples, after->samples, total[file].samples);
	if (isnan(chance))
		return;
	fputs("# Probability of this change by sampling alone, in any of the ", stdout);
	printf("%zu rows: ", event->nr_rows);
	put_probability(chance < 1 ? chance : 1);
	putchar('\n');
}

static void put_pair(const struct diff *diff, const struct diff_event *event, size_t file)
{
	const struct diff_sum *before = &event->total[0], *after = &event->total[file];
	double most = -1;
	size_t found = 0;

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
	for (size_t row = 0; row < event->nr_rows; row++) {
		double change =
			fabs(diff_share(event, file, diff_sum_of(diff, event, row, file)->period) -
			     diff_share(event, 0, diff_sum_of(diff, event, row, 0)->period));

		if (change > most) {
			most = change;
			found = row;
		}
	}
	if (!before->samples || !after->samples)
		return;
	if (most > 0)
		put_change(diff, event, found, file);
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
		if (!diff_is_renamed(diff, &diff->event[i], file))
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
