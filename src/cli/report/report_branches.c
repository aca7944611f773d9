/* SPDX-License-Identifier: MIT */
/* The types of the branches, as perf prints them below the rows of branches. */
#include "report.h"

#define TYPES 16

/* The areas of addresses of this size differ. */
static bool crosses(const struct perch_branch_entry *branch, uint64_t area)
{
	return branch->from / area != branch->to / area;
}

static void count_branch(struct report_branch_types *types, const struct perch_branch_entry *branch)
{
	if (!branch->type || !branch->from)
		return;
	types->total++;
	if (branch->type == PERCH_BR_EXTEND_ABI)
		types->more[branch->new_type]++;
	else
		types->count[branch->type]++;
	if (branch->type == PERCH_BR_COND && branch->to > branch->from)
		types->forward++;
	else if (branch->type == PERCH_BR_COND)
		types->backward++;
	if (crosses(branch, 2 << 20))
		types->crosses_2m++;
	else if (crosses(branch, 4096))
		types->crosses_4k++;
}

void report_add_branch_types(struct report *report, const struct perch_record *record)
{
	struct perch_branch_entry branch;

	if (record->parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK)
		return;
	for (uint64_t i = 0; i < record->sample.branches.nr; i++) {
		perch_branch_at(record, i, &branch);
		count_branch(&report->branch_types, &branch);
	}
}

static void put_share(FILE *out, const struct report_branch_types *types, const char *name,
		      uint64_t nr)
{
	if (nr)
		fprintf(out, "%8s: %5.1f%%\n", name, 100.0 * nr / types->total);
}

static void put_type(FILE *out, const struct report_branch_types *types, unsigned type,
		     unsigned new_type, uint64_t nr)
{
	const struct perch_branch_entry branch = { .type = type, .new_type = new_type };
	char name[64];

	perch_format_branch(&branch, name, sizeof(name));
	put_share(out, types, name, nr);
}

void report_put_branch_types(FILE *out, const struct report *report)
{
	const struct report_branch_types *types = &report->branch_types;

	if (!types->total)
		return;
	fputs("\n#\n# Branch Statistics:\n#\n", out);
	put_share(out, types, "COND_FWD", types->forward);
	put_share(out, types, "COND_BWD", types->backward);
	put_share(out, types, "CROSS_4K", types->crosses_4k);
	put_share(out, types, "CROSS_2M", types->crosses_2m);
	for (unsigned i = 0; i < TYPES; i++)
		put_type(out, types, i, 0, types->count[i]);
	for (unsigned i = 0; i < TYPES; i++)
		put_type(out, types, PERCH_BR_EXTEND_ABI, i, types->more[i]);
}
