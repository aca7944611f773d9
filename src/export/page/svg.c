/* SPDX-License-Identifier: MIT */
/* A flame graph as a picture without a script: SVG, for documents. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/internal.h"
#include "page.h"

/* Sizes in pixels of the picture. */
#define WIDTH	    1200.0
#define MARGIN	    10.0
#define HEAD	    46.0
#define FOOT	    42.0
#define ROW	    17.0
#define LETTER	    6.7
#define NOTE_LETTER 7.0 /* at most, of a note */
#define SWATCH	    12.0
#define LEAST	    0.3 /* narrower frames are left out */
#define MAX_ROWS    1024
#define TEXT_BYTES  512

/* The classes of frames by kind of function, and their names in the legend. */
static const struct {
	const char *class, *name;
} kinds[] = {
	[PAGE_USER] = { "user", "user" },
	[PAGE_KERNEL] = { "kernel", "kernel" },
	[PAGE_JIT] = { "jit", "JIT" },
	[PAGE_UNKNOWN] = { "unknown", "unknown" },
	[PAGE_INLINED] = { "inlined", "inlined" },
};
static const enum page_kind legend[] = { PAGE_USER, PAGE_KERNEL, PAGE_INLINED, PAGE_JIT,
					 PAGE_UNKNOWN };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct picture {
	const struct page *page;
	/* The nodes are stacks of functions. The number of a node's "location" is that of its
	 * function; of a child of the root it is the number of functions plus the text of its
	 * name. */
	struct page tree;
	uint64_t *total, *old;	   /* by node; old: of the recording to compare with */
	struct page_node_id *leaf; /* by entry of the page: its node */
	uint32_t *sorted;	   /* the nodes but the root, by parent and name */
	uint32_t *first;	   /* by node: its first child in sorted */
	struct page_event_id event;
	uint32_t rows;
	size_t hidden;
	bool drawn[KINDS]; /* kinds of functions that have frames */
	FILE *out;
};

/* ---- tree ---- */

static struct page_node_id child_of(struct picture *picture, struct page_node_id parent,
				    uint32_t key)
{
	return perch__page_child(&picture->tree, parent, (struct page_location_id){ key });
}

/* Adds the functions of an entry. Returns its node, or PAGE_NO(). */
static struct page_node_id add_stack(struct picture *picture, const struct page_entry *entry)
{
	const struct page *page = picture->page;
	uint32_t path[MAX_ROWS], nr = 0;
	const struct page_node *node = &page->node[entry->node.nr];
	uint32_t name = page->thread[entry->thread.nr].comm.nr;
	struct page_node_id to = child_of(picture, PAGE_ROOT, (uint32_t)page->nr_functions + name);

	/* deeper stacks lose their outer frames; those of recordings are not as deep */
	for (; node->parent.nr != PAGE_NONE && nr < MAX_ROWS; node = &page->node[node->parent.nr])
		path[nr++] = page->location[node->location.nr].function.nr;
	while (nr > 0)
		to = child_of(picture, to, path[--nr]);
	return to;
}

static int make_tree(struct picture *picture)
{
	const struct page *page = picture->page;
	struct page *tree = &picture->tree;

	picture->leaf = calloc(page->nr_entries + 1, sizeof(*picture->leaf));
	if (!picture->leaf || perch__page_init(tree))
		return -ENOMEM;
	for (size_t i = 0; i < page->nr_entries; i++) {
		picture->leaf[i] = add_stack(picture, &page->entry[i]);
		if (picture->leaf[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	picture->total = calloc(2 * tree->nr_nodes, sizeof(*picture->total));
	if (!picture->total)
		return -ENOMEM;
	picture->old = picture->total + tree->nr_nodes;
	for (size_t i = 0; i < page->nr_entries; i++)
		if (page->entry[i].event.nr == picture->event.nr)
			(page->entry[i].old ? picture->old : picture->total)[picture->leaf[i].nr] +=
				page->entry[i].period;
	for (size_t i = tree->nr_nodes - 1; i > 0; i--) {
		picture->total[tree->node[i].parent.nr] += picture->total[i];
		picture->old[tree->node[i].parent.nr] += picture->old[i];
	}
	return 0;
}

static const char *name_of(const struct picture *picture, uint32_t node)
{
	const struct page *page = picture->page;
	uint32_t key = picture->tree.node[node].location.nr;

	if (!node)
		return "all";
	if (key < page->nr_functions)
		return page->text + page->function[key].name.nr;
	return page->text + key - page->nr_functions;
}

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct picture *picture = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct page_node *node = picture->tree.node;
	int order;

	if (node[a].parent.nr != node[b].parent.nr)
		return node[a].parent.nr < node[b].parent.nr ? -1 : 1;
	order = strcmp(name_of(picture, a), name_of(picture, b));
	return order ? order : a < b ? -1 : 1;
}

static int sort_tree(struct picture *picture)
{
	size_t nr = picture->tree.nr_nodes;

	picture->sorted = calloc(2 * nr + 2, sizeof(*picture->sorted));
	if (!picture->sorted)
		return -ENOMEM;
	picture->first = picture->sorted + nr;
	for (uint32_t i = 1; i < nr; i++) {
		picture->sorted[i - 1] = i;
		picture->first[picture->tree.node[i].parent.nr + 1]++;
	}
	for (size_t i = 0; i < nr; i++)
		picture->first[i + 1] += picture->first[i];
	qsort_r(picture->sorted, nr - 1, sizeof(*picture->sorted), compare_nodes, picture);
	return 0;
}

/* ---- frames ---- */

struct drawn {
	uint32_t node, row;
	double x;
};

static double width_of(const struct picture *picture, uint32_t node)
{
	double total = (double)picture->total[0];

	return total > 0 ? (WIDTH - 2 * MARGIN) * (double)picture->total[node] / total : 0;
}

/* The share of a node minus that in the recording to compare with. */
static double change_of(const struct picture *picture, uint32_t node)
{
	double total = (double)picture->total[0], old = (double)picture->old[0];

	return (total > 0 ? (double)picture->total[node] / total : 0) -
	       (old > 0 ? (double)picture->old[node] / old : 0);
}

/* Writes the class of a frame whose share has changed. */
static void put_change(const struct picture *picture, double change)
{
	static const double steps[] = { 0.005, 0.02, 0.045, 0.08 };
	double size = change < 0 ? -change : change;
	int step = 0;

	if (size < 0.0005) {
		fputs("same", picture->out);
		return;
	}
	while (step < 4 && size >= steps[step])
		step++;
	fprintf(picture->out, "%s%d", change > 0 ? "more" : "less", step);
}

/* Writes the class of a frame's color. */
static void put_class(struct picture *picture, uint32_t node)
{
	const struct page *page = picture->page;
	uint32_t key = picture->tree.node[node].location.nr, kind;

	if (page->old_title.nr) {
		put_change(picture, change_of(picture, node));
	} else if (!node || key >= page->nr_functions) {
		fputs("thread", picture->out);
	} else {
		kind = page->function[key].kind;
		kind = kind & PAGE_INLINED ? PAGE_INLINED : kind & 3;
		picture->drawn[kind] = true;
		fputs(kinds[kind].class, picture->out);
	}
}

/* Writes the text in a frame, cut to its width. Bytes of UTF-8 are not cut apart. */
static int put_label(const struct picture *picture, const char *name, double width)
{
	char text[TEXT_BYTES];
	size_t most = (size_t)((width - 6) / LETTER), bytes = 0, nr = 0;

	while (bytes < sizeof(text) - 8 && name[bytes]) {
		bool starts = ((unsigned char)name[bytes] & 0xc0) != 0x80;

		if (starts && nr == most)
			break;
		nr += starts;
		bytes++;
	}
	while (name[bytes] && bytes && ((unsigned char)name[bytes] & 0xc0) == 0x80)
		bytes--;
	if (name[bytes] && bytes > 1)
		for (bytes--; bytes && ((unsigned char)name[bytes] & 0xc0) == 0x80;)
			bytes--;
	memcpy(text, name, bytes);
	strcpy(text + bytes, name[bytes] ? ".." : "");
	return perch__page_put_text(text, picture->out);
}

/* Writes a period, with its digits behind the point. */
static void put_number(const struct picture *picture, uint64_t number)
{
	unsigned digits = picture->page->digits;
	uint64_t unit = 1;

	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	for (; digits && number % 10 == 0; digits--, number /= 10)
		unit /= 10;
	fprintf(picture->out, "%" PRIu64, number / unit);
	if (digits)
		fprintf(picture->out, ".%0*" PRIu64, (int)digits, number % unit);
}

static int put_frame(struct picture *picture, const struct drawn *frame, double height)
{
	const char *name = name_of(picture, frame->node);
	double width = width_of(picture, frame->node);
	double y = height - FOOT - ROW * (frame->row + 1);
	double total = (double)picture->total[0];
	int rc;

	fputs("<g><title>", picture->out);
	rc = perch__page_put_text(name, picture->out);
	fprintf(picture->out, " (%.2f%%, ",
		total > 0 ? 100 * (double)picture->total[frame->node] / total : 0);
	put_number(picture, picture->total[frame->node]);
	fputc(')', picture->out);
	if (picture->page->old_title.nr)
		fprintf(picture->out, " %+.2f%%", 100 * change_of(picture, frame->node));
	fputs("</title><rect class=\"", picture->out);
	put_class(picture, frame->node);
	fprintf(picture->out, "\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"16\"/>", frame->x,
		y, width > 0.4 ? width - 0.3 : 0.1);
	if (width >= 4 * LETTER && !rc) {
		fprintf(picture->out, "<text x=\"%.2f\" y=\"%.0f\">", frame->x + 3, y + 12);
		rc = put_label(picture, name, width);
		fputs("</text>", picture->out);
	}
	fputs("</g>\n", picture->out);
	return rc;
}

/* Visits the frames that are wide enough; draws them if height is not 0. */
static int visit_frames(struct picture *picture, struct drawn *stack, double height)
{
	size_t nr = 0;
	int rc = 0;

	stack[nr++] = (struct drawn){ .x = MARGIN };
	while (nr && !rc) {
		struct drawn frame = stack[--nr];
		double x = frame.x;

		if (frame.row >= picture->rows)
			picture->rows = frame.row + 1;
		if (height > 0)
			rc = put_frame(picture, &frame, height);
		for (uint32_t i = picture->first[frame.node]; i < picture->first[frame.node + 1];
		     i++) {
			double width = width_of(picture, picture->sorted[i]);

			if (width >= LEAST)
				stack[nr++] =
					(struct drawn){ picture->sorted[i], frame.row + 1, x };
			x += width;
		}
	}
	return rc;
}

/* ---- file ---- */

static const char style[] =
	"<style>\n"
	"svg { background: #fdfcfa; font: 11px monospace; fill: #1b1a17; }\n"
	".user { fill: #f2c27d; } .kernel { fill: #94b4e0; } .inlined { fill: #9fdcc4; }\n"
	".jit { fill: #b7dc95; } .unknown { fill: #c4c4c4; } .thread { fill: #d5d6d8; }\n"
	".more0 { fill: #f3e3e1; } .more1 { fill: #f0c4bf; } .more2 { fill: #ec9f97; }\n"
	".more3 { fill: #e57a70; } .more4 { fill: #dd5448; }\n"
	".less0 { fill: #e2e7f0; } .less1 { fill: #c0d2ec; } .less2 { fill: #98b9e6; }\n"
	".less3 { fill: #6f9fdf; } .less4 { fill: #4784d6; } .same { fill: #e6e6e6; }\n"
	".title { font: 600 16px sans-serif; } .note { font: 12px sans-serif; }\n"
	"</style>\n";

/* Counts the frames that visit_frames() leaves out. */
static void count_hidden(struct picture *picture)
{
	for (uint32_t i = 1; i < picture->tree.nr_nodes; i++)
		picture->hidden += picture->total[i] > 0 && width_of(picture, i) < LEAST;
}

static int put_head(struct picture *picture, double height)
{
	const struct page *page = picture->page;
	const char *event = page->nr_events ? perch__page_event_name(page, picture->event)
					    : "no event";
	int rc;

	fprintf(picture->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
		WIDTH, height, WIDTH, height);
	rc = perch__page_put_text(page->text + page->title.nr, picture->out);
	fprintf(picture->out, "</title>\n%s<text class=\"title\" x=\"%.0f\" y=\"20\">", style,
		MARGIN);
	if (!rc)
		rc = perch__page_put_text(page->text + page->title.nr, picture->out);
	fprintf(picture->out, "</text>\n<text class=\"note\" x=\"%.0f\" y=\"37\">", MARGIN);
	if (!rc)
		rc = perch__page_put_text(event, picture->out);
	fputs(": ", picture->out);
	put_number(picture, picture->total[0]);
	if (page->old_title.nr) {
		fputs(", compared with ", picture->out);
		if (!rc)
			rc = perch__page_put_text(page->text + page->old_title.nr, picture->out);
	}
	fputs("</text>\n", picture->out);
	return rc;
}

/* Writes a color and what it means. Returns the position of the next one. */
static double put_swatch(struct picture *picture, double x, double y, const char *class,
			 const char *name)
{
	fprintf(picture->out,
		"<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>"
		"<text class=\"note\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
		class, x, y - SWATCH + 2, SWATCH, SWATCH, x + SWATCH + 5, y, name);
	return x + SWATCH + 20 + NOTE_LETTER * (double)strlen(name);
}

/* Writes the legend of the colors, after the frames. */
static void put_legend(struct picture *picture, double y)
{
	double x = MARGIN;

	fputs("<g class=\"legend\">\n", picture->out);
	if (picture->page->old_title.nr) {
		x = put_swatch(picture, x, y, "more3", "larger share than before");
		put_swatch(picture, x, y, "less3", "smaller share than before");
	}
	for (size_t i = 0; i < KINDS; i++)
		if (picture->drawn[legend[i]])
			x = put_swatch(picture, x, y, kinds[legend[i]].class,
				       kinds[legend[i]].name);
	fputs("</g>\n", picture->out);
}

static int put_picture(struct picture *picture)
{
	struct drawn *stack = calloc(picture->tree.nr_nodes, sizeof(*stack));
	double height;
	int rc;

	if (!stack)
		return -ENOMEM;
	visit_frames(picture, stack, 0);
	count_hidden(picture);
	height = HEAD + FOOT + ROW * picture->rows;
	rc = put_head(picture, height);
	if (!rc)
		rc = visit_frames(picture, stack, height);
	put_legend(picture, height - 26);
	if (picture->hidden)
		fprintf(picture->out,
			"<text class=\"note\" x=\"%.0f\" y=\"%.0f\">%zu %s narrower than "
			"%.1f pixels and not drawn.</text>\n",
			MARGIN, height - 8, picture->hidden,
			picture->hidden == 1 ? "frame is" : "frames are", LEAST);
	fputs("</svg>\n", picture->out);
	free(stack);
	return rc;
}

int perch__export_svg(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct page page;
	struct picture picture = { .page = &page, .out = out };
	uint64_t others;
	int rc = perch__export_make_page(export, &page);

	if (!rc) {
		picture.event = perch__page_main_event(&page, &others);
		rc = picture.event.nr == PAGE_NONE ? -ENOMEM : 0;
		export->stats.other += others;
	}
	if (!rc)
		rc = make_tree(&picture);
	if (!rc)
		rc = sort_tree(&picture);
	if (!rc)
		rc = put_picture(&picture);
	perch__page_clear(&picture.tree);
	perch__page_clear(&page);
	free(picture.total);
	free(picture.leaf);
	free(picture.sorted);
	return perch__page_error(rc, err);
}
