/* SPDX-License-Identifier: MIT */
/* The user's defaults of call chains, from the file of perch config. */
#include <stdlib.h>
#include <string.h>

#include "config_file.h"
#include "record.h"

static bool set_mode(struct record_options *options, const char *value)
{
	const struct cli_word *word = cli_word_find(record_call_graphs, value, strlen(value));

	if (!word || word->value == PERCH_CALL_GRAPH_NONE || word->value & RECORD_DEFER)
		return false;
	options->default_mode = (enum perch_call_graph_mode)word->value;
	return true;
}

static bool set_dump_size(struct record_options *options, const char *value)
{
	char *end;
	unsigned long bytes = strtoul(value, &end, 10);

	if (value[0] < '0' || value[0] > '9' || *end || !bytes || bytes > 65528)
		return false;
	options->default_stack_bytes = (uint32_t)(bytes + 7) & ~7u; /* as of --call-graph */
	return true;
}

static const struct {
	const char *name;
	bool (*set)(struct record_options *options, const char *value);
} variables[] = {
	{ "call-graph.record-mode", set_mode },
	{ "call-graph.dump-size", set_dump_size },
};

bool record_takes_variable(const char *name, const char *value)
{
	struct record_options options = { .argc = 0 };

	for (size_t i = 0; i < CLI_NR(variables); i++)
		if (!strcmp(name, variables[i].name))
			return variables[i].set(&options, value);
	return true;
}

int record_set_defaults(struct record_options *options)
{
	struct cli_config config;
	int status = cli_config_read(&config, options->command);

	options->default_mode = PERCH_CALL_GRAPH_FP;
	for (size_t i = 0; i < CLI_NR(variables) && !status; i++) {
		const char *name = variables[i].name;
		const struct cli_config_item *item = cli_config_find(&config, name);

		if (item && !variables[i].set(options, item->value))
			cli_note(options->command, "%s:%u: %s: expected %s; the line is not used",
				 config.path, item->line, name,
				 cli_variable_find(name, strlen(name))->values);
	}
	cli_config_clear(&config);
	return status;
}
