/* SPDX-License-Identifier: MIT */
/* The functions of the browser, each with the samples of one event or group. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate_pages.h"
#include "base/array.h"
#include "main_event.h"
#include "options.h"

static int add_page(void *context, struct annotate *annotate,
		    const struct perch_annotated_function *function,
		    const struct annotate_columns *columns)
{
	struct annotate_pages *pages = context;

	(void)annotate;
	if (PERCH__ARRAY_RESERVE_BY_NR(pages->page, pages->nr, 1))
		return cli_no_memory(ANNOTATE_COMMAND);
	pages->page[pages->nr++] = (struct annotate_page){
		.function = *function,
		.columns = *columns,
	};
	return 0;
}

static bool has_event(const struct annotate_page *page, unsigned event)
{
	for (size_t i = 0; i < page->columns.nr; i++)
		if (page->columns.event[i] == event)
			return true;
	return false;
}

static uint64_t samples_of(const void *context, uint32_t event)
{
	struct perch_annotation_total total;

	perch_annotation_get_total(context, event, &total);
	return total.samples;
}

size_t annotate_pages_wanted(const struct annotate_pages *pages, const struct annotate *annotate)
{
	const struct annotate_origin *origin = &annotate->origin;
	const uint32_t event = cli_main_event(annotate->events, annotate->nr_events, samples_of,
					      annotate->annotation);
	size_t named = ANNOTATE_NO_PAGE;
	bool has_main = false;

	for (size_t i = 0; i < pages->nr; i++) {
		const struct annotate_page *page = &pages->page[i];
		const struct perch_symbol *symbol = page->function.symbol;

		if (origin->dso && !has_event(page, origin->event))
			continue;
		if (origin->dso && symbol->start == origin->start &&
		    !strcmp(symbol->dso->path, origin->dso))
			return i;
		if ((named == ANNOTATE_NO_PAGE || (!has_main && has_event(page, event))) &&
		    annotate_is_wanted(annotate, &page->function)) {
			has_main = has_event(page, event);
			named = i;
		}
	}
	return named;
}

double annotate_pages_share(const struct annotate *annotate, const struct annotate_page *page)
{
	const struct perch_annotated_function *function = &page->function;
	struct perch_annotation_total total;
	uint64_t samples = 0, period = 0;

	for (size_t i = 0; i < function->nr; i++)
		if (function->point[i].event == page->columns.event[0]) {
			samples += function->point[i].samples;
			period += function->point[i].period;
		}
	perch_annotation_get_total(annotate->annotation, page->columns.event[0], &total);
	if (annotate->style.percent_type & ANNOTATE_HITS)
		return samples ? 100.0 * (double)samples / (double)total.samples : 0;
	return period ? 100.0 * (double)period / (double)total.period : 0;
}

int annotate_pages_find(struct annotate_pages *pages, struct annotate *annotate)
{
	return annotate_visit_functions(annotate, add_page, pages);
}

size_t annotate_pages_of(struct annotate_pages *pages, size_t page,
			 const struct perch_symbol *symbol)
{
	struct annotate_columns columns = pages->page[page].columns;

	for (size_t i = 0; i < pages->nr; i++)
		if (pages->page[i].function.symbol == symbol &&
		    pages->page[i].columns.event[0] == columns.event[0])
			return i;
	if (PERCH__ARRAY_RESERVE_BY_NR(pages->page, pages->nr, 1))
		return ANNOTATE_NO_PAGE;
	pages->page[pages->nr] = (struct annotate_page){
		.function.symbol = symbol,
		.columns = columns,
	};
	return pages->nr++;
}

void annotate_pages_clear(struct annotate_pages *pages)
{
	free(pages->page);
	*pages = (struct annotate_pages){ .nr = 0 };
}
