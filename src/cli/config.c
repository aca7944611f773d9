/* SPDX-License-Identifier: MIT */
/* perch config: lists, prints and sets the user's defaults. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_file.h"
#include "names.h"
#include "options.h"
#include "record/record.h"
#include "report/report.h"

#define COMMAND "config"

const struct cli_usage cli_config_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SECTION.NAME[=VALUE]...]",
	.summary = "Prints or sets the defaults of options.",
};

static int unknown(const char *name, size_t length)
{
	const struct cli_variable *variables;
	const char *list[64];
	size_t nr;

	variables = cli_variables(&nr);
	for (size_t i = 0; i < nr && i < CLI_NR(list); i++)
		list[i] = variables[i].name;
	return cli_refuse_name(COMMAND, NULL,
			       &(struct cli_names){ "variable", NULL, list,
						    nr < CLI_NR(list) ? nr : CLI_NR(list) },
			       name, length);
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

static void put_line(FILE *file, const struct cli_variable *variable, const char *value)
{
	fprintf(file, "\t%s = %s\n", strchr(variable->name, '.') + 1, value);
}

/* Copies the file with another value in a line. Returns 0 or an errno. */
static int copy(FILE *from, FILE *to, unsigned line, const struct cli_variable *variable,
		const char *value)
{
	char *text = NULL;
	size_t size = 0;

	for (unsigned at = 1; getline(&text, &size, from) >= 0; at++)
		if (at == line)
			put_line(to, variable, value);
		else
			fputs(text, to);
	free(text);
	return ferror(from) || fflush(to) ? EIO : 0;
}

/* Replaces a line of the file. A link to the file stays. Returns 0 or an errno. */
static int replace(const char *path, unsigned line, const struct cli_variable *variable,
		   const char *value)
{
	char real[PATH_MAX], name[PATH_MAX + 8];
	struct stat status;
	FILE *from, *to;
	int error, fd;

	if (!realpath(path, real))
		return errno;
	snprintf(name, sizeof(name), "%s.XXXXXX", real);
	from = fopen(real, "re");
	if (!from)
		return errno;
	fd = mkstemp(name);
	error = fd < 0 ? errno : 0;
	to = fd < 0 ? NULL : fdopen(fd, "w");
	if (to) {
		error = copy(from, to, line, variable, value);
		if (!error && (fstat(fileno(from), &status) || fchmod(fd, status.st_mode & 0777)))
			error = errno;
		if (fclose(to) && !error)
			error = errno;
		if (!error && rename(name, real))
			error = errno;
		if (error)
			unlink(name);
	}
	fclose(from);
	return error;
}

/* Adds a variable at the end of the file. Returns 0 or an errno. */
static int append(const char *path, const struct cli_variable *variable, const char *value)
{
	FILE *file = fopen(path, "ae");
	int error;

	if (!file)
		return errno;
	fprintf(file, "[%.*s]\n", (int)strcspn(variable->name, "."), variable->name);
	put_line(file, variable, value);
	error = ferror(file) ? EIO : 0;
	return fclose(file) ? errno : error;
}

/* Replaces the last line of the variable, which is the one that is used, or adds one. */
static int set(struct cli_config *config, const struct cli_variable *variable, const char *value)
{
	const struct cli_config_item *item = cli_config_find(config, variable->name);
	int error;

	if (!config->path[0]) {
		cli_note(COMMAND, "there is no directory for the file: HOME is not set");
		return CLI_EXIT_FAILURE;
	}
	if (strpbrk(value, "\n\r") || !*value || !report_takes_variable(variable->name, value) ||
	    !record_takes_variable(variable->name, value))
		return cli_usage_error(COMMAND, "%s: expected %s", variable->name,
				       variable->values);
	make_directories(config->path);
	error = item ? replace(config->path, item->line, variable, value)
		     : append(config->path, variable, value);
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
