/* SPDX-License-Identifier: MIT */
/* Columns of a branch. */
#include <inttypes.h>

#include "profile/internal.h"

static int store_value(uint64_t *value, uint64_t number)
{
	*value = number;
	return 0;
}

static int from_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->from.nr);
}

static int to_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->to.nr);
}

/* ---- ends: the value is a frame, and is shown as in the columns dso, sym and srcline ---- */

/* A row of the frame. */
static struct perch_row row_of(const struct perch_profile *profile, const struct cell *cell)
{
	return (struct perch_row){ .frame = profile->frame[cell->value],
				   .numbers = { [ROW_FRAME] = (uint32_t)cell->value } };
}

static int compare_frames(struct perch_profile *profile, const struct cell *a, const struct cell *b,
			  const struct perch_column_methods *methods)
{
	struct perch_row left = row_of(profile, a), right = row_of(profile, b);

	return methods->compare(profile, &(struct cell){ .row = &left },
				&(struct cell){ .row = &right });
}

static const char *frame_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size, const struct perch_column_methods *methods)
{
	struct perch_row row = row_of(profile, cell);

	return methods->text(profile, &(struct cell){ .row = &row }, buffer, size);
}

static uint64_t dso_frame(const struct perch_profile *profile, struct frame_id frame)
{
	return profile->frame[frame.nr].dso->index;
}

static int dso_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	return compare_frames(profile, a, b, &perch__column_dso);
}

static const char *dso_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	return frame_text(profile, cell, buffer, size, &perch__column_dso);
}

const struct perch_column_methods perch__column_dso_from = {
	.value = from_value, .frame_value = dso_frame, .compare = dso_compare, .text = dso_text
};
const struct perch_column_methods perch__column_dso_to = {
	.value = to_value, .frame_value = dso_frame, .compare = dso_compare, .text = dso_text
};

static int symbol_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	return compare_frames(profile, a, b, &perch__column_sym);
}

static const char *symbol_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	return frame_text(profile, cell, buffer, size, &perch__column_sym);
}

const struct perch_column_methods perch__column_symbol_from = { .value = from_value,
								.frame_value = perch__sym_value,
								.compare = symbol_compare,
								.text = symbol_text };
const struct perch_column_methods perch__column_symbol_to = { .value = to_value,
							      .frame_value = perch__sym_value,
							      .compare = symbol_compare,
							      .text = symbol_text };

/* As in perf, addresses in no mapping have one text. */
static bool is_unmapped(const struct perch_profile *profile, struct frame_id frame)
{
	return !perch_dso_is(profile->frame[frame.nr].dso, PERCH_DSO_IS_MAPPED);
}

static uint64_t line_frame(const struct perch_profile *profile, struct frame_id frame)
{
	return is_unmapped(profile, frame) ? 0 : perch__column_srcline.frame_value(profile, frame);
}

static int line_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	return compare_frames(profile, a, b, &perch__column_srcline);
}

static const char *line_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	return is_unmapped(profile, (struct frame_id){ (uint32_t)cell->value })
		       ? "??:0"
		       : frame_text(profile, cell, buffer, size, &perch__column_srcline);
}

const struct perch_column_methods perch__column_srcline_from = {
	.value = from_value, .frame_value = line_frame, .compare = line_compare, .text = line_text
};
const struct perch_column_methods perch__column_srcline_to = {
	.value = to_value, .frame_value = line_frame, .compare = line_compare, .text = line_text
};

/* ---- flags ---- */

enum { PREDICTED, MISPREDICTED, UNKNOWN };

static int mispredict_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->branch->predicted ? PREDICTED
				  : sample->branch->mispred ? MISPREDICTED
							    : UNKNOWN);
}

static const char *mispredict_text(struct perch_profile *profile, const struct cell *cell,
				   char *buffer, size_t size)
{
	static const char *const texts[] = { "N", "Y", "N/A" };

	(void)profile;
	(void)buffer;
	(void)size;
	return texts[cell->value];
}

const struct perch_column_methods perch__column_mispredict = { .value = mispredict_value,
							       .text = mispredict_text };

static int cycles_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->branch->cycles);
}

/* 0 is unknown. */
static const char *cycles_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	(void)profile;
	if (!cell->value)
		return "-";
	snprintf(buffer, size, "%" PRIu64, cell->value);
	return buffer;
}

const struct perch_column_methods perch__column_cycles = { .value = cycles_value,
							   .text = cycles_text };

static int in_tx_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->branch->in_tx);
}

static const char *in_tx_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	(void)profile;
	(void)buffer;
	(void)size;
	return cell->value ? "T" : ".";
}

const struct perch_column_methods perch__column_in_tx = { .value = in_tx_value,
							  .text = in_tx_text };

static int abort_value(const struct sample *sample, uint64_t *value)
{
	return store_value(value, sample->branch->abort);
}

static const char *abort_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	(void)profile;
	(void)buffer;
	(void)size;
	return cell->value ? "A" : ".";
}

const struct perch_column_methods perch__column_abort = { .value = abort_value,
							  .text = abort_text };
