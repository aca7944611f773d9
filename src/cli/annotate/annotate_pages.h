/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_ANNOTATE_PAGES_H
#define PERCH_CLI_ANNOTATE_PAGES_H

#include "annotate.h"

#define ANNOTATE_NO_PAGE SIZE_MAX

/* A function that can be shown. */
struct annotate_page {
	struct perch_annotated_function function;
	struct annotate_columns columns;
	bool shown; /* its notes are counted */
};

struct annotate_pages {
	struct annotate_page *page;
	size_t nr;
};

/* Adds the functions with samples. Returns 0, or the exit status after it has printed an error. */
int annotate_pages_find(struct annotate_pages *pages, struct annotate *annotate);
/* Returns the function of the row that was selected in a report, or else the first one with the
 * name that was asked for, or ANNOTATE_NO_PAGE. */
size_t annotate_pages_wanted(const struct annotate_pages *pages, const struct annotate *annotate);
/* The share of the first event in percent: of periods or numbers of samples. */
double annotate_pages_share(const struct annotate *annotate, const struct annotate_page *page);
/* Returns the page of a function with the event of another page; it is new if the function has no
 * samples. ANNOTATE_NO_PAGE without memory. */
size_t annotate_pages_of(struct annotate_pages *pages, size_t page,
			 const struct perch_symbol *symbol);
void annotate_pages_clear(struct annotate_pages *pages);

#endif
