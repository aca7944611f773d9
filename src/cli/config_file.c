/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/edit_distance.h"
#include "base/files/io.h"
#include "config_file.h"
#include "messages.h"

#define TEXT(number)  #number
#define DIGITS(macro) TEXT(macro)
#define LIMIT	      DIGITS(CLI_CONFIG_MAX_BYTES)

static const struct cli_variable variables[] = {
	{ "report.sort_order", "columns as of -s", "the default of -s" },
	{ "report.percent-limit", "a percentage", "the default of --percent-limit" },
	{ "report.children", "true or false", "the default of --children" },
	{ "report.group", "true or false", "the default of --group" },
	{ "report.skip-empty", "true or false", "the default of --skip-empty" },
	{ "report.queue-size", "a number of bytes", "without effect: no queue grows with a file" },
	{ "hist.percentage", "relative or absolute", "the default of --percentage" },
	{ "call-graph.record-mode", "fp, dwarf or lbr", "the mode of perch record -g" },
	{ "call-graph.dump-size", "bytes of stack from 1 to 65528", "the SIZE of dwarf" },
	{ "call-graph.print-type", "graph, flat, fractal, folded or none", "the shape of -g" },
	{ "call-graph.order", "caller or callee", "the order of -g" },
	{ "call-graph.threshold", "a percentage", "the limit of -g" },
	{ "call-graph.print-limit", "a number", "the most branches of -g" },
	{ "call-graph.sort-key", "function, srcline or address", "by what -g merges branches" },
};

const struct cli_variable *cli_variables(size_t *nr)
{
	*nr = CLI_NR(variables);
	return variables;
}

static bool same_name(const char *a, const char *b, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (a[i] != b[i] && !((a[i] == '-' || a[i] == '_') && (b[i] == '-' || b[i] == '_')))
			return false;
	return !a[length];
}

const struct cli_variable *cli_variable_find(const char *name, size_t length)
{
	for (size_t i = 0; i < CLI_NR(variables); i++)
		if (strlen(variables[i].name) == length &&
		    same_name(variables[i].name, name, length))
			return &variables[i];
	return NULL;
}

const char *cli_variable_similar(const char *name)
{
	unsigned least = 4;
	const char *similar = NULL;

	for (size_t i = 0; i < CLI_NR(variables); i++) {
		unsigned distance = perch__edit_distance(name, variables[i].name);

		if (distance < least) {
			least = distance;
			similar = variables[i].name;
		}
	}
	return similar;
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = 0;
	return text;
}

static int set_path(struct cli_config *config)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int length = 0;

	if (xdg && xdg[0] == '/')
		length = snprintf(config->path, sizeof(config->path), "%s/perch/config", xdg);
	else if (home && home[0] == '/')
		length = snprintf(config->path, sizeof(config->path), "%s/.config/perch/config",
				  home);
	if (length <= 0 || (size_t)length >= sizeof(config->path))
		config->path[0] = 0;
	return config->path[0] ? 0 : -ENOENT;
}

/* root_too: the administrator may have written it. */
static int open_config(int at, const char *path, bool root_too, const char **reason)
{
	int file = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (file < 0) {
		*reason = strerror(errno);
		return errno == ENOTDIR ? -ENOENT : -errno;
	}
	if (!fstat(file, &status) && S_ISREG(status.st_mode) &&
	    (status.st_uid == geteuid() || (root_too && !status.st_uid)) &&
	    status.st_size <= CLI_CONFIG_MAX_BYTES)
		return file;
	close(file);
	*reason = root_too ? "it must be a file of the current user or root, of at most " LIMIT
			     " bytes"
			   : "it must be a file of the current user, of at most " LIMIT " bytes";
	return -EPERM;
}

int cli_config_open_file(int at, const char *path, const char **reason)
{
	return open_config(at, path, false, reason);
}

/* Returns the text of a file, with a NUL, or NULL and errno. Closes the file. */
static char *read_all(int file)
{
	char *text = calloc(1, CLI_CONFIG_MAX_BYTES + 1);
	ssize_t length = text ? perch__read_upto(file, text, CLI_CONFIG_MAX_BYTES) : -ENOMEM;

	close(file);
	if (length >= 0)
		return text;
	free(text);
	errno = (int)-length;
	return NULL;
}

/* Reads the text of the file, if it is a file of this user. */
static int read_text(struct cli_config *config, const char *command)
{
	const char *reason;
	int file = cli_config_open_file(AT_FDCWD, config->path, &reason);

	if (file < 0) {
		if (file != -ENOENT)
			cli_note(command, "%s is not used: %s", config->path, reason);
		return 0;
	}
	config->text = read_all(file);
	if (config->text)
		return 0;
	cli_note(command, "%s is not used: %s", config->path, strerror(errno));
	return CLI_EXIT_FAILURE;
}

/* Adds the variable of a line. Returns what is wrong with it, or NULL. */
static const char *add_line(struct cli_config *config, char *line, const char **section,
			    unsigned number)
{
	char *equal = strchr(line, '=');
	size_t length = strlen(line);
	struct cli_config_item *item;

	if (!*line || *line == '#' || *line == ';')
		return NULL;
	if (*line == '[') {
		if (length < 3 || line[length - 1] != ']')
			return "expected [SECTION]";
		line[length - 1] = 0;
		*section = trim(line + 1);
		return NULL;
	}
	if (!equal || equal == line)
		return "expected NAME = VALUE";
	if (!*section)
		return "expected [SECTION] before it";
	item = PERCH__ARRAY_APPEND(config->item, config->nr, config->capacity);
	if (!item)
		return "no memory";
	*equal = 0;
	*item = (struct cli_config_item){ *section, trim(line), trim(equal + 1), number };
	return NULL;
}

/* Says which variables of the file no command uses. */
static void note_unknown(const struct cli_config *config, const char *command)
{
	for (size_t i = 0; i < config->nr; i++) {
		const struct cli_config_item *item = &config->item[i];
		const char *similar;
		char name[128];
		int length = snprintf(name, sizeof(name), "%s.%s", item->section, item->name);

		if (length > 0 && (size_t)length < sizeof(name) &&
		    cli_variable_find(name, (size_t)length))
			continue;
		similar = cli_variable_similar(name);
		perch_clean_text(name, name, sizeof(name));
		cli_note(command,
			 "%s:%u: there is no variable '%s'%s%s; the line is not used, and "
			 "perch-config(1) lists the variables",
			 config->path, item->line, name, similar ? ", perhaps " : "",
			 similar ? similar : "");
	}
}

int cli_config_read(struct cli_config *config, const char *command)
{
	const char *section = NULL;
	unsigned number = 0;
	int status;

	*config = (struct cli_config){ .nr = 0 };
	if (set_path(config))
		return 0;
	status = read_text(config, command);
	for (char *line = config->text, *next; !status && line; line = next) {
		const char *wrong;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		wrong = add_line(config, trim(line), &section, ++number);
		if (wrong)
			cli_note(command, "%s:%u: %s; the line is not used", config->path, number,
				 wrong);
	}
	note_unknown(config, command);
	return status;
}

void cli_config_clear(struct cli_config *config)
{
	free(config->text);
	free(config->item);
	config->text = NULL;
	config->item = NULL;
	config->nr = 0;
}

const struct cli_config_item *cli_config_find(const struct cli_config *config, const char *name)
{
	size_t dot = strcspn(name, ".");

	for (size_t i = config->nr; i-- > 0 && name[dot];) {
		const struct cli_config_item *item = &config->item[i];
		const char *rest = name + dot + 1;

		if (strlen(item->section) == dot && !strncmp(item->section, name, dot) &&
		    strlen(item->name) == strlen(rest) && same_name(item->name, rest, strlen(rest)))
			return item;
	}
	return NULL;
}

/* ---- files of options ---- */

/* Adds the word of a line. Returns what is wrong with it, or NULL. */
static const char *add_word(struct cli_config_arguments *arguments, char *line, unsigned number)
{
	size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
	char *value = line + length + strspn(line + length, " \t"), *text;
	struct cli_config_word *word;

	if (!length || *line == '-' || (*value && *value != '='))
		return "expected NAME = VALUE, with the long name of an option";
	if (length == strlen("config") && !strncmp(line, "config", length))
		return "a file of options cannot name another one";
	value = *value ? trim(value + 1) : NULL;
	text = malloc(length + (value ? strlen(value) : 0) + 4);
	word = text ? PERCH__ARRAY_APPEND(arguments->word, arguments->nr, arguments->capacity)
		    : NULL;
	if (!word) {
		free(text);
		return "no memory";
	}
	sprintf(text, "--%.*s%s%s", (int)length, line, value ? "=" : "", value ? value : "");
	word->text = text;
	word->line = number;
	return NULL;
}

int cli_config_arguments_parse(struct cli_config_arguments *arguments, const char *path,
			       const char *command)
{
	unsigned number = 0;

	arguments->path = path;
	for (char *line = arguments->text, *next; line; line = next) {
		const char *wrong = NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		line = trim(line);
		if (*line && *line != '#' && *line != ';')
			wrong = add_word(arguments, line, number);
		if (wrong) {
			cli_config_arguments_clear(arguments);
			return cli_usage_error(command, "%s:%u: %s", path, number, wrong);
		}
	}
	return 0;
}

int cli_config_arguments_read(struct cli_config_arguments *arguments, const char *path,
			      const char *command)
{
	const char *reason = NULL;
	int file = open_config(AT_FDCWD, path, true, &reason);

	*arguments = (struct cli_config_arguments){ .nr = 0 };
	if (file >= 0) {
		arguments->text = read_all(file);
		reason = arguments->text ? NULL : strerror(errno);
	}
	if (reason)
		return cli_usage_error(command, "--config %s: %s", path, reason);
	return cli_config_arguments_parse(arguments, path, command);
}

const struct cli_config_word *cli_config_arguments_find(
	const struct cli_config_arguments *arguments, const char *name, size_t length)
{
	for (size_t i = arguments->nr; i-- > 0;) {
		const char *text = arguments->word[i].text + strlen("--");

		if (!strncmp(text, name, length) && (!text[length] || text[length] == '='))
			return &arguments->word[i];
	}
	return NULL;
}

void cli_config_arguments_clear(struct cli_config_arguments *arguments)
{
	for (size_t i = 0; i < arguments->nr; i++)
		free(arguments->word[i].text);
	free(arguments->word);
	free(arguments->text);
	*arguments = (struct cli_config_arguments){ .nr = 0 };
}
