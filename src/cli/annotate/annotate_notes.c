/* SPDX-License-Identifier: MIT */
/* What was not shown, and why: counted while functions are shown, and printed at the end. */
#include <inttypes.h>
#include <string.h>

#include "annotate.h"
#include "options.h"

void annotate_count_missing(struct annotate *annotate, const struct perch_symbol *symbol,
			    const struct perch_error *err)
{
	struct annotate_missing *missing = annotate->missing_of;
	size_t i = 0;

	annotate->missing++;
	while (i < annotate->nr_reasons && (missing[i].first->dso != symbol->dso ||
					    strcmp(missing[i].err.message, err->message)))
		i++;
	if (i == MAX_REASONS)
		return;
	if (i == annotate->nr_reasons) {
		missing[i] = (struct annotate_missing){ .first = symbol, .err = *err };
		annotate->nr_reasons++;
	}
	missing[i].nr++;
}

static void print_missing(const struct annotate *annotate)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	size_t named = 0;

	for (size_t i = 0; i < annotate->nr_reasons; i++) {
		const struct annotate_missing *missing = &annotate->missing_of[i];
		char others[40] = "";

		named += missing->nr;
		if (missing->nr > 1)
			snprintf(others, sizeof(others), " and %zu %s", missing->nr - 1,
				 cli_word(missing->nr - 1, "other", "others"));
		cli_note(ANNOTATE_COMMAND, "no instructions of %s%s in %s: %s%s%s",
			 perch_symbols_name(symbols, missing->first), others,
			 perch_symbols_dso_name(symbols, missing->first->dso), missing->err.message,
			 missing->err.remedy[0] ? ". " : "", missing->err.remedy);
	}
	if (annotate->missing > named)
		cli_note(ANNOTATE_COMMAND, "no instructions of %zu other %s",
			 annotate->missing - named,
			 cli_word(annotate->missing - named, "function", "functions"));
}

void annotate_count_shown(struct annotate *annotate, const struct listing *listing)
{
	annotate->shown++;
	annotate->cut_samples += listing->cut;
	annotate->functions_without_lines += !listing->has_lines;
	annotate->undecoded_bytes += listing->undecoded;
	annotate->undecoded_vectors += listing->vectors;
	annotate->undecoded_functions += listing->undecoded > 0;
	/* both passes have counted them */
	annotate->inside_samples += listing->inside / 2;
	annotate->inside_functions += listing->inside > 0;
}

static void print_undecoded(const struct annotate *annotate)
{
	char vectors[80] = "";

	if (annotate->undecoded_vectors)
		snprintf(vectors, sizeof(vectors), " (%" PRIu64 " AVX or AVX-512 %s)",
			 annotate->undecoded_vectors,
			 cli_word(annotate->undecoded_vectors, "instruction", "instructions"));
	cli_note(ANNOTATE_COMMAND,
		 "%" PRIu64 " %s of %zu %s %s shown as .byte: they are no instructions, or "
		 "capstone does not decode them%s",
		 annotate->undecoded_bytes, cli_word(annotate->undecoded_bytes, "byte", "bytes"),
		 annotate->undecoded_functions,
		 cli_word(annotate->undecoded_functions, "function", "functions"),
		 cli_word(annotate->undecoded_bytes, "is", "are"), vectors);
}

static void print_source_notes(const struct perch_sources *sources)
{
	struct perch_sources_stats stats;

	perch_sources_get_stats(sources, &stats);
	if (stats.newer)
		cli_note(ANNOTATE_COMMAND,
			 "%s%s newer than the binary: the lines shown may not be the compiled "
			 "ones",
			 stats.newer_path, stats.newer > 1 ? " and other source files are" : " is");
	if (stats.missing)
		cli_note(ANNOTATE_COMMAND,
			 "%zu source %s cannot be read, for example %s: %s lines are left out "
			 "(--prefix and --prefix-strip change directories of source files)",
			 stats.missing, cli_word(stats.missing, "file", "files"),
			 stats.missing_path, cli_word(stats.missing, "its", "their"));
	if (stats.too_large)
		cli_note(ANNOTATE_COMMAND, "%zu source %s too large, for example %s",
			 stats.too_large, cli_word(stats.too_large, "file is", "files are"),
			 stats.large_path);
	if (stats.too_many)
		cli_note(
			ANNOTATE_COMMAND,
			"the functions have more than %d source files: the lines of the others are "
			"left out (name one function to see all)",
			PERCH_SOURCES_MAX);
}

void annotate_print_notes(const struct annotate *annotate)
{
	uint64_t nameless = 0;

	for (size_t i = 0; i < annotate->nr_events; i++) {
		struct perch_annotation_total total;

		perch_annotation_get_total(annotate->annotation, (unsigned)i, &total);
		nameless += total.nameless_samples;
	}
	if (nameless && !annotate->symbol)
		cli_note(ANNOTATE_COMMAND, "%" PRIu64 " %s at addresses without a function",
			 nameless, cli_word(nameless, "sample", "samples"));
	if (!annotate->skip_missing)
		print_missing(annotate);
	if (annotate->undecoded_bytes)
		print_undecoded(annotate);
	if (annotate->inside_samples)
		cli_note(ANNOTATE_COMMAND,
			 "%" PRIu64 " %s of %zu %s at addresses inside of an "
			 "instruction, shown with it: there may be data between the instructions",
			 annotate->inside_samples,
			 cli_word(annotate->inside_samples, "sample", "samples"),
			 annotate->inside_functions,
			 cli_word(annotate->inside_functions, "function", "functions"));
	if (annotate->cut_samples)
		cli_note(ANNOTATE_COMMAND,
			 "%" PRIu64
			 " %s not shown: after the first %u bytes of the function, or after "
			 "the end of its code",
			 annotate->cut_samples,
			 cli_word(annotate->cut_samples, "sample", "samples"), PERCH_MAX_CODE);
	if (annotate->print_line && annotate->functions_without_lines)
		cli_note(ANNOTATE_COMMAND,
			 "%zu %s no source lines (-l): compile with -g, or install the debug "
			 "information",
			 annotate->functions_without_lines,
			 cli_word(annotate->functions_without_lines, "function has",
				  "functions have"));
	print_source_notes(annotate->sources);
	cli_input_print_notes(&annotate->input);
}
