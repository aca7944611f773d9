/* SPDX-License-Identifier: MIT */
/* What the browser of perch annotate shows. */
#ifndef PERCH_CLI_ANNOTATE_DRAW_H
#define PERCH_CLI_ANNOTATE_DRAW_H

#include "annotate_pages.h"
#include "annotate_view.h"

/* Where a call was followed from. */
struct visit {
	size_t page;
	uint64_t address;
};

struct functions {
	struct annotate *annotate;
	struct annotate_pages pages;
	size_t current;
	struct annotate_view view;
	char reason[1000]; /* why the function has no instructions, else "" */
	size_t cursor, top, hot, left;
	struct visit *visit;
	size_t nr_visits;
	char searched[128];
	char message[256]; /* on the last line, until the next key */
};

/* The lines between the titles and the last line. */
size_t annotate_draw_lines(void);
/* Draws the current function. */
void annotate_draw(const struct functions *functions);
/* Shows the keys, until one is pressed. */
void annotate_draw_help(void);

#endif
