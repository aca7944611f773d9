/* SPDX-License-Identifier: MIT */
/* Which functions are shown, and what to say if there are none. */
#include <inttypes.h>
#include <string.h>

#include "annotate.h"
#include "base/edit_distance.h"
#include "options.h"

enum { MAX_SUGGESTIONS = 3, MAX_COMPARED = 20000, MAX_COMPARED_NAME = 200 };

static bool is_named(const struct annotate *annotate, const struct perch_symbol *symbol)
{
	const char *wanted = annotate->symbol, *name;
	size_t length;

	name = perch_symbols_name(perch_session_symbols(annotate->input.session), symbol);
	length = strlen(wanted);
	return perch_symbols_is_named(perch_session_symbols(annotate->input.session), symbol,
				      wanted) ||
	       (!strncmp(name, wanted, length) && name[length] == '(');
}

/* ---- inlined functions ---- */

bool annotate_is_inlined(const struct annotate *annotate, const struct perch_dso *dso,
			 uint64_t offset)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	const struct perch_symbol_frame *frames;
	int nr = 0;

	if (!annotate->filter.options.no_inline && perch_symbols_has_debug_info(symbols, dso))
		nr = perch_symbols_frames(symbols, dso, offset, &frames);
	for (int i = 0; i < nr - 1; i++)
		if (frames[i].symbol && is_named(annotate, frames[i].symbol))
			return true;
	return false;
}

static uint64_t count_inlined(const struct annotate *annotate,
			      const struct perch_annotated_function *function)
{
	const struct perch_symbol *symbol = function->symbol;
	uint64_t samples = 0;

	for (size_t i = 0; i < function->nr; i++)
		if (annotate_is_inlined(annotate, symbol->dso,
					symbol->start + function->point[i].offset))
			samples += function->point[i].samples;
	return samples;
}

bool annotate_is_wanted(const struct annotate *annotate,
			const struct perch_annotated_function *function)
{
	if (annotate->by_inlined)
		return count_inlined(annotate, function);
	return !annotate->symbol || is_named(annotate, function->symbol);
}

int annotate_find_inlined(struct annotate *annotate, char *note, size_t size)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	const struct perch_annotated_function *function;
	struct perch_error err;
	bool named = false;
	size_t nr, found = 0, used;

	*note = '\0';
	if (!annotate->symbol)
		return 0;
	if (perch_annotation_functions(annotate->annotation, PERCH_ANNOTATION_ALL_EVENTS, &function,
				       &nr, &err))
		return cli_error(ANNOTATE_COMMAND, &err);
	for (size_t i = 0; i < nr && !named && !annotate->only_inlined; i++)
		named = is_named(annotate, function[i].symbol);
	used = (size_t)snprintf(note, size, "'%s' %s inlined into ", annotate->symbol,
				named ? "is also" : "is");
	for (size_t i = 0; i < nr; i++) {
		uint64_t samples = !annotate->only_inlined && is_named(annotate, function[i].symbol)
					   ? 0
					   : count_inlined(annotate, &function[i]);

		if (samples && found++ < MAX_SUGGESTIONS && used < size)
			used += (size_t)snprintf(note + used, size - used,
						 "%s%.200s (%" PRIu64 " %s)", found > 1 ? ", " : "",
						 perch_symbols_name(symbols, function[i].symbol),
						 samples, samples == 1 ? "sample" : "samples");
	}
	if (found > MAX_SUGGESTIONS && used < size)
		used += (size_t)snprintf(note + used, size - used, " and %zu %s",
					 found - MAX_SUGGESTIONS,
					 cli_word(found - MAX_SUGGESTIONS, "other", "others"));
	if (found && used < size)
		snprintf(note + used, size - used,
			 named ? "; these samples are not counted here" : "");
	if (!found)
		*note = '\0';
	annotate->by_inlined = annotate->only_inlined || (found && !named);
	return 0;
}

/* ---- names without samples ---- */

/* Copies: names of up to some length are compared. */
static unsigned distance_of(const char *wanted, const char *name)
{
	char left[MAX_COMPARED_NAME], right[MAX_COMPARED_NAME];

	snprintf(left, sizeof(left), "%s", wanted);
	snprintf(right, sizeof(right), "%s", name);
	if (strstr(right, left) || (*right && strstr(left, right)))
		return 1;
	return perch__edit_distance(left, right);
}

/* Names the functions with the most similar names, or else the hottest ones. */
static void suggest_functions(const struct annotate *annotate,
			      const struct perch_annotated_function *function, size_t nr)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	size_t best[MAX_SUGGESTIONS], nr_best = 0, limit = strlen(annotate->symbol) / 2 + 1;
	bool similar = false;
	char text[1024];
	int used = 0;

	for (unsigned distance = 1; nr_best < MAX_SUGGESTIONS && distance <= limit; distance++) {
		for (size_t i = 0; i < nr && i < MAX_COMPARED && nr_best < MAX_SUGGESTIONS; i++)
			if (distance_of(annotate->symbol,
					perch_symbols_name(symbols, function[i].symbol)) ==
			    distance)
				best[nr_best++] = i;
		similar |= nr_best > 0;
		if (distance >= 3)
			break;
	}
	for (size_t i = 0; !similar && i < nr && nr_best < MAX_SUGGESTIONS; i++)
		best[nr_best++] = i;
	for (size_t i = 0; i < nr_best && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%.200s",
				 i ? ", " : "",
				 perch_symbols_name(symbols, function[best[i]].symbol));
	cli_note(ANNOTATE_COMMAND, "no %sfunction '%s' has samples%s%s",
		 annotate->only_inlined ? "inlined " : "", annotate->symbol,
		 !nr_best  ? ""
		 : similar ? "; similar names: "
			   : "; functions with the most samples: ",
		 nr_best ? text : "");
}

int annotate_explain_nothing(const struct annotate *annotate)
{
	const struct perch_annotated_function *function;
	size_t nr;

	if (perch_annotation_functions(annotate->annotation, PERCH_ANNOTATION_ALL_EVENTS, &function,
				       &nr, NULL))
		return CLI_EXIT_FAILURE;
	if (!nr) {
		/* the notes of a filter say what there is */
		if (!annotate->filter.filter)
			cli_note(ANNOTATE_COMMAND,
				 "%s has no samples in functions with names; perch report prints "
				 "where its samples are",
				 annotate->input.path);
		return CLI_EXIT_FAILURE;
	}
	if (annotate->origin.dso)
		cli_note(ANNOTATE_COMMAND,
			 "%s has no samples of its own: they are in functions "
			 "that it calls",
			 annotate->symbol);
	else if (annotate->symbol)
		suggest_functions(annotate, function, nr);
	else
		cli_note(ANNOTATE_COMMAND, "no function has a share of %.2f %% (--percent-limit)",
			 annotate->percent_limit);
	return CLI_EXIT_FAILURE;
}

/* ---- the functions of each event ---- */

/*
 * The functions with samples of the first event of the columns come in its order, then the others.
 * Returns 0, the exit status after it has printed an error, or what the call returned.
 */
static int visit_columns(struct annotate *annotate, const struct annotate_columns *columns,
			 annotate_visit *visit, void *context)
{
	uint32_t event = columns->nr == 1 ? columns->event[0] : PERCH_ANNOTATION_ALL_EVENTS;
	const struct perch_annotated_function *function;
	struct perch_annotation_total total;
	struct perch_error err;
	size_t nr;
	int rc = 0;

	if (perch_annotation_functions(annotate->annotation, event, &function, &nr, &err))
		return cli_error(ANNOTATE_COMMAND, &err);
	perch_annotation_get_total(annotate->annotation, columns->event[0], &total);
	for (size_t i = 0; i < nr && !rc; i++) {
		bool has_event = columns->nr == 1;

		for (size_t j = 0; j < function[i].nr && !has_event; j++)
			for (size_t k = 0; k < columns->nr && !has_event; k++)
				has_event = function[i].point[j].event == columns->event[k];
		if (!has_event)
			continue;
		if (columns->nr == 1 && total.period &&
		    100.0 * (double)function[i].period / (double)total.period <
			    annotate->percent_limit)
			continue;
		rc = visit(context, annotate, &function[i], columns);
	}
	return rc;
}

int annotate_visit_functions(struct annotate *annotate, annotate_visit *visit, void *context)
{
	struct annotate_columns columns = { 0 };
	int rc = 0;

	for (size_t i = 0; i < annotate->nr_events && !rc;) {
		size_t members = annotate->group ? annotate->nr_events
						 : annotate->events[i].members;

		if (!members)
			members = 1;
		columns.nr = 0;
		columns.is_group = members > 1 && !annotate->group;
		for (; members && i < annotate->nr_events; members--, i++)
			if (columns.nr < MAX_COLUMNS)
				columns.event[columns.nr++] = (uint32_t)i;
			else if (columns.nr == MAX_COLUMNS && !annotate->quiet)
				cli_note(ANNOTATE_COMMAND,
					 "event %zu is left out: at most %d are shown together", i,
					 MAX_COLUMNS);
		rc = visit_columns(annotate, &columns, visit, context);
	}
	return rc;
}
