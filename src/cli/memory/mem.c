/* SPDX-License-Identifier: MIT */
/* perch mem: perch record and perch report for memory accesses. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "names.h"

#define COMMAND "mem"

enum { TYPE_LOAD = 1, TYPE_STORE = 2 };

struct mem {
	uint64_t types, latency;
	bool physical;
};

static const struct cli_word types[] = {
	{ "load", TYPE_LOAD },
	{ "store", TYPE_STORE },
	{ 0 },
};

#define AT(member)   offsetof(struct mem, member)
#define SETS(member) CLI_SETS(struct mem, member)

static const struct cli_option table[] = {
	CLI_ROW(.letter = 't', .name = "type", .argument = "TYPES", .at = AT(types),
		.kind = CLI_BITS, .words = types,
		.help = "record: loads, stores or both (load,store)"),
	CLI_ROW(.name = "ldlat", .argument = "CYCLES", SETS(latency),
		.help = "record: loads that take at least this long (30); Intel"),
	CLI_ROW(.letter = 'p', .name = "phys-data", SETS(physical),
		.help = "record, report: physical addresses, too"),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "report", &cli_report_usage },
	{ 0 },
};

const struct cli_usage cli_mem_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] record|report [ARGUMENTS]",
	.summary = "Samples memory accesses, and shows where the data was.",
	.options = table,
	.subcommands = first_words,
};

static int record(const struct mem *mem, int argc, char **argv)
{
	const struct mem_events events = {
		.loads = mem->types & TYPE_LOAD,
		.stores = mem->types & TYPE_STORE,
		.latency = mem->latency,
	};
	const char *own[] = { "-d", "-W", mem->physical ? "--phys-data" : NULL, NULL };

	return mem_record(COMMAND, &events, own, argc, argv);
}

static int report_accesses(const struct mem *mem, int argc, char **argv)
{
	char **words = calloc((size_t)argc + 4, sizeof(*words));
	int used = 0, status;

	if (!words)
		return cli_no_memory(COMMAND);
	words[used++] = (char *)"report";
	words[used++] = (char *)"--mem-mode";
	if (mem->physical) {
		words[used++] = (char *)"-s";
		words[used++] = (char *)"local_weight,mem,sym,dso,symbol_daddr,phys_daddr,tlb";
	}
	for (int i = 1; i < argc; i++)
		words[used++] = argv[i];
	status = perch_cmd_report(used, words);
	free(words);
	return status;
}

int perch_cmd_mem(int argc, char **argv)
{
	struct mem mem = { 0 };
	int first = cli_options_parse(&cli_mem_usage, &mem, argc, argv);

	if (first < argc && cli_is_word(argv[first], "record"))
		return record(&mem, argc - first, argv + first);
	if (first < argc && cli_is_word(argv[first], "report"))
		return report_accesses(&mem, argc - first, argv + first);
	return cli_usage_error(COMMAND, "expected record or report%s%s",
			       first < argc ? ", not " : "", first < argc ? argv[first] : "");
}
