/* SPDX-License-Identifier: MIT */
/*
 * The rows of threads and CPUs of a page: what each did when. In the data block:
 *
 *	states     number of rows; if it is 0 nothing follows
 *	           for each row: 1 for a CPU else 0; pids; tids, or CPUs; names; then for each
 *	           state the sums in ns; number of spans
 *	           for each span: ns since the end of the one before, or of the first time; its
 *	           length in ns; its state, or ROW_MIXED, + ROW_UNCERTAIN; then of each span of
 *	           a CPU the thread + 1, 0 for several; then of each mixed span the parts of each
 *	           state, in 1/255
 *	           quantum in ns; threads without a row, and for each state their sums in ns
 */
#include <errno.h>
#include <stdlib.h>

#include "base/nr.h"
#include "export/states.h"
#include "page.h"

/* A span has 4 to 12 bytes before compression, so rows have at most about 1 MB in a page. */
#define MAX_THREADS   256
#define MAX_CPUS      256
#define MAX_SPANS     150000

#define ROW_MIXED     EXPORT_STATES
#define ROW_UNCERTAIN 8

int perch__page_add_states(struct page *page, struct export_states *states)
{
	if (perch__states_select(states, MAX_THREADS, MAX_CPUS, MAX_SPANS))
		return -ENOMEM;
	if (!states->nr_tracks || !states->first)
		return 0;
	page->row_name = calloc(states->nr_tracks, sizeof(*page->row_name));
	if (!page->row_name)
		return -ENOMEM;
	page->states = states;
	for (size_t i = 0; i < states->nr_tracks; i++) {
		page->row_name[i] = perch__page_text(page, states->track[i].name);
		if (page->row_name[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t part_of(const struct state_span *span, size_t state)
{
	return (uint64_t)(span->ns[state] * 255 / (float)(span->end - span->start) + 0.5f);
}

/* The state that has the whole span, by its parts; else ROW_MIXED. */
static unsigned state_of(const struct state_span *span)
{
	for (unsigned i = 0; i < EXPORT_STATES; i++)
		if (span->ns[i] * 512 >= (float)(span->end - span->start) * 511)
			return i;
	return ROW_MIXED;
}

/* ---- columns of spans ---- */

/* The parts of each span of a row in one column. */
struct column {
	struct page_block *block;
	uint64_t first; /* the time that is 0 */
	void (*put)(const struct column *column, const struct state_track *track,
		    const struct state_span *span);
};

static void put_gap(const struct column *column, const struct state_track *track,
		    const struct state_span *span)
{
	uint64_t before = span == track->span ? column->first : span[-1].end;

	perch__page_put_number(column->block, span->start - before);
}

static void put_length(const struct column *column, const struct state_track *track,
		       const struct state_span *span)
{
	(void)track;
	perch__page_put_number(column->block, span->end - span->start);
}

static void put_state(const struct column *column, const struct state_track *track,
		      const struct state_span *span)
{
	(void)track;
	perch__page_put_number(column->block,
			       state_of(span) + (span->uncertain ? ROW_UNCERTAIN : 0));
}

static void put_thread(const struct column *column, const struct state_track *track,
		       const struct state_span *span)
{
	uint64_t thread = span->tid == NO_INDEX ? 0 : (uint64_t)span->tid + 1;

	if (track->is_cpu)
		perch__page_put_number(column->block, thread);
}

static void put_parts(const struct column *column, const struct state_track *track,
		      const struct state_span *span)
{
	(void)track;
	if (state_of(span) == ROW_MIXED)
		PUT_COLUMN(column->block, EXPORT_STATES, part_of(span, i));
}

static void put_spans(struct page_block *block, const struct export_states *states, uint64_t first)
{
	const struct column columns[] = {
		{ block, first, put_gap },   { block, first, put_length },
		{ block, first, put_state }, { block, first, put_thread },
		{ block, first, put_parts },
	};

	for (size_t column = 0; column < PERCH__NR(columns); column++)
		for (size_t i = 0; i < states->nr_tracks; i++)
			for (size_t k = 0; k < states->track[i].nr; k++)
				columns[column].put(&columns[column], &states->track[i],
						    &states->track[i].span[k]);
}

void perch__page_put_states(struct page_block *block, const struct page *page,
			    const uint32_t *number, uint64_t first)
{
	const struct export_states *states = page->states;
	const struct state_track *track = states ? states->track : NULL;
	size_t nr = states ? states->nr_tracks : 0;

	perch__page_put_number(block, nr);
	if (!nr)
		return;
	PUT_COLUMN(block, nr, track[i].is_cpu);
	PUT_COLUMN(block, nr, track[i].pid);
	PUT_COLUMN(block, nr, track[i].id);
	PUT_COLUMN(block, nr, number[page->row_name[i].nr]);
	for (size_t state = 0; state < EXPORT_STATES; state++)
		PUT_COLUMN(block, nr, track[i].sum[state]);
	PUT_COLUMN(block, nr, track[i].nr);
	put_spans(block, states, first);
	perch__page_put_number(block, states->quantum);
	perch__page_put_number(block, states->left_out);
	PUT_COLUMN(block, EXPORT_STATES, states->left_sum[i]);
}
