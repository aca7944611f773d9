/* SPDX-License-Identifier: MIT */
/* Columns of which no sample of the file has the value. */
#include <string.h>

#include "options.h"
#include "report.h"

/* Each column with the bits of sample_type of which one is needed, and the option of record. */
static const struct {
	const char *column;
	uint64_t needs;
	const char *option;
} needs[] = {
	{ "cgroup", PERCH_SAMPLE_CGROUP, "--all-cgroups" },
	{ "weight", PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "local_weight", PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "ins_lat", PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "local_ins_lat", PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "p_stage_cyc", PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "local_p_stage_cyc", PERCH_SAMPLE_WEIGHT_STRUCT, "-W" },
	{ "transaction", PERCH_SAMPLE_TRANSACTION, "--transaction" },
	{ "code_page_size", PERCH_SAMPLE_CODE_PAGE_SIZE, "--code-page-size" },
	{ "phys_daddr", PERCH_SAMPLE_PHYS_ADDR, "--phys-data" },
	{ "data_page_size", PERCH_SAMPLE_DATA_PAGE_SIZE, "--data-page-size" },
	{ "mem", PERCH_SAMPLE_DATA_SRC, "-d" },
	{ "snoop", PERCH_SAMPLE_DATA_SRC, "-d" },
	{ "tlb", PERCH_SAMPLE_DATA_SRC, "-d" },
	{ "locked", PERCH_SAMPLE_DATA_SRC, "-d" },
	{ "blocked", PERCH_SAMPLE_DATA_SRC, "-d" },
	{ "symbol_daddr", PERCH_SAMPLE_ADDR, "-d" },
	{ "dso_daddr", PERCH_SAMPLE_ADDR, "-d" },
	{ "dcacheline", PERCH_SAMPLE_ADDR, "-d" },
};

/* Returns the index in needs[], or CLI_NR(needs) if the column needs nothing. */
static size_t find_needs(const struct perch_column *column)
{
	size_t i = 0;

	while (i < CLI_NR(needs) && strcmp(needs[i].column, column->name))
		i++;
	return i;
}

void report_note_lacking(const struct report *report, uint64_t sample_type)
{
	char list[1024] = "";
	size_t used = 0;

	/* columns of branches have values of branches; default columns are not the user's choice */
	if (report->branches || (!report->sort && !report->output))
		return;
	for (size_t i = 0; i < report->keys.nr; i++) {
		size_t at = find_needs(report->keys.column[i]);

		if (at == CLI_NR(needs) || sample_type & needs[at].needs)
			continue;
		used += snprintf(list + used, sizeof(list) - used, "%s%s (record with %s)",
				 used ? ", " : "", needs[at].column, needs[at].option);
	}
	if (used)
		cli_note(REPORT_COMMAND,
			 "no sample has what these columns show, which are empty or 0: %s", list);
}
