/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/array.h"
#include "commands.h"
#include "tables.h"

/* The arguments of perch record. */
struct arguments {
	char **text; /* borrowed; NULL terminates it */
	size_t nr, capacity;
	bool failed; /* without memory */
};

static void add(struct arguments *arguments, const char *text)
{
	char **at;

	if (arguments->failed)
		return;
	at = PERCH__ARRAY_APPEND(arguments->text, arguments->nr, arguments->capacity);
	if (at)
		*at = (char *)text;
	else
		arguments->failed = true;
}

static void add_option(struct arguments *arguments, const char *option, const char *value)
{
	if (!value)
		return;
	add(arguments, option);
	add(arguments, value);
}

static void begin_arguments(struct arguments *arguments, const struct tables *tables)
{
	const char *const *own = tables->command->record(tables);

	add(arguments, "record");
	if (tables->all_cpus || tables->command->system_wide)
		add(arguments, "-a");
	while (*own)
		add(arguments, *own++);
}

static int run_record(struct arguments *arguments, const struct tables *tables)
{
	/* -a of the command itself gives way to options about the target */
	int (*record)(int argc, char **argv) = !tables->all_cpus && tables->command->system_wide
						       ? perch_cmd_record_all_cpus
						       : perch_cmd_record;
	int status;

	add(arguments, NULL);
	status = arguments->failed ? cli_no_memory(tables->input.command)
				   : record((int)arguments->nr - 1, arguments->text);
	free(arguments->text);
	return status;
}

int tables_record(const struct tables *tables, int argc, char **argv)
{
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	for (int i = 0; i < argc; i++)
		add(&arguments, argv[i]);
	return run_record(&arguments, tables);
}

struct live {
	const struct tables *tables;
	char **program;
};

static int record_program(void *context, const char *path)
{
	const struct live *live = context;
	const struct tables *tables = live->tables;
	char **program = live->program;
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	add(&arguments, "-q");
	add_option(&arguments, "-o", path);
	add_option(&arguments, "-p", tables->pids);
	add_option(&arguments, "-t", tables->tids);
	add_option(&arguments, "-C", tables->cpus);
	add(&arguments, "--");
	while (program && *program)
		add(&arguments, *program++);
	return run_record(&arguments, tables);
}

int tables_record_live(struct tables *tables, char **program)
{
	struct live live = { tables, program };
	int status = cli_own_recording_make(&tables->recording, tables->input.command,
					    record_program, &live);

	if (!status)
		tables->input.path = tables->recording.path;
	return status;
}
