/* SPDX-License-Identifier: MIT */
/* perch config: lists, prints and sets the user's defaults. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "config_file.h"
#include "options.h"

#define COMMAND "config"

const struct cli_usage cli_config_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SECTION.NAME[=VALUE]...]",
	.summary = "Prints or sets the defaults of options.",
};

static int unknown(const char *name, size_t length)
{
	const struct cli_variable *variables;
	char list[512] = "";
	size_t nr, used = 0;

	variables = cli_variables(&nr);
	for (size_t i = 0; i < nr && used < sizeof(list) - 64; i++)
		used += snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
				 variables[i].name);
	return cli_usage_error(COMMAND, "no variable '%.*s': use %s", (int)length, name, list);
}

static void put_item(const struct cli_config_item *item)
{
	cli_put_clean(stdout, item->section);
	putchar('.');
	cli_put_clean(stdout, item->name);
	putchar('=');
	cli_put_clean(stdout, item->value);
	putchar('\n');
}

/* Makes the directories of a path. */
static void make_directories(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(path, 0700);
		*at = '/';
	}
}

/* Adds a variable at the end of the file: the last value of a variable is used. */
static int set(struct cli_config *config, const struct cli_variable *variable, const char *value)
{
	const char *dot = strchr(variable->name, '.');
	FILE *file;
	int error;

	if (!config->path[0]) {
		cli_note(COMMAND, "there is no directory for the file: HOME is not set");
		return CLI_EXIT_FAILURE;
	}
	if (strpbrk(value, "\n\r") || !*value)
		return cli_usage_error(COMMAND, "%s: expected %s", variable->name,
				       variable->values);
	make_directories(config->path);
	file = fopen(config->path, "ae");
	if (file)
		fprintf(file, "[%.*s]\n\t%s = %s\n", (int)(dot - variable->name), variable->name,
			dot + 1, value);
	error = !file || ferror(file) ? errno : 0;
	if (file && fclose(file))
		error = errno;
	if (error)
		cli_note(COMMAND, "%s: %s", config->path, strerror(error));
	return error ? CLI_EXIT_FAILURE : 0;
}

static int run_word(struct cli_config *config, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct cli_variable *variable = cli_variable_find(word, length);
	const struct cli_config_item *item;

	if (!variable)
		return unknown(word, length);
	if (word[length])
		return set(config, variable, word + length + 1);
	item = cli_config_find(config, variable->name);
	if (item)
		put_item(item);
	return 0;
}

int perch_cmd_config(int argc, char **argv)
{
	struct cli_config config;
	bool list = false, user = true;
	const struct cli_option options[] = {
		{ 'l', "list", NULL, "print all variables of the file", CLI_FLAG, &list, NULL,
		  false, false },
		{ 0, "user", NULL, "the file of the user (always so)", CLI_FLAG, &user, NULL, false,
		  false },
	};
	int next = cli_parse(&cli_config_usage, options, CLI_NR(options), argc, argv);
	int status;

	if (list && next < argc)
		return cli_usage_error(COMMAND, "--list has no operands; '%s' is too much",
				       argv[next]);
	status = cli_config_read(&config, COMMAND);
	for (size_t i = 0; i < config.nr && next == argc && !status; i++)
		put_item(&config.item[i]);
	for (int i = next; i < argc && !status; i++)
		status = run_word(&config, argv[i]);
	cli_config_clear(&config);
	return status;
}
