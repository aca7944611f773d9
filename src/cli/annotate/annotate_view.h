/* SPDX-License-Identifier: MIT */
/* The lines of a function for the browser: those of --stdio2, and where the samples and jumps are.
 */
#ifndef PERCH_CLI_ANNOTATE_VIEW_H
#define PERCH_CLI_ANNOTATE_VIEW_H

#include "annotate.h"

#define NO_LINE SIZE_MAX

enum { TITLE_SAMPLES, TITLE_FUNCTION, TITLE_DSO, VIEW_TITLES };

/* The line of an instruction. */
struct view_row {
	size_t line;
	uint64_t address;
	double percent; /* the largest one of the columns */
	enum perch_flow flow;
	bool has_target;
	uint64_t target;
};

struct annotate_view {
	char *text;
	const char *title[VIEW_TITLES];
	const char **line;
	size_t nr_lines;
	struct view_row *row; /* by address */
	size_t nr_rows;
	size_t *hot; /* indices of rows with samples, the hottest first */
	size_t nr_hot;
	int sums_width;		    /* columns of a line that have the shares */
	struct listing_range range; /* for the targets of calls */
	bool has_lines;		    /* the debug information has source lines of the function */
	size_t nr_source;	    /* source lines that are shown */
	char missing[256];	    /* the first source file that cannot be shown, "": none */
};

/* Makes the lines. Returns 0, or a negative errno with err: there are no instructions. */
int annotate_view_make(struct annotate_view *view, struct annotate *annotate,
		       const struct perch_annotated_function *function,
		       const struct annotate_columns *columns, bool count, struct perch_error *err);
void annotate_view_clear(struct annotate_view *view);
/* Returns the row of a line, or NULL: it is a source line. */
const struct view_row *annotate_view_row(const struct annotate_view *view, size_t line);
/* Returns the line of an address, or NO_LINE if no instruction starts there. */
size_t annotate_view_find(const struct annotate_view *view, uint64_t address);

#endif
