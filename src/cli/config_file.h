/* SPDX-License-Identifier: MIT */
/*
 * The user's defaults: $XDG_CONFIG_HOME/perch/config or ~/.config/perch/config. And files of
 * options, which a service has in place of a long command line.
 */
#ifndef PERCH_CLI_CONFIG_FILE_H
#define PERCH_CLI_CONFIG_FILE_H

#include <limits.h>
#include <stddef.h>

#define CLI_CONFIG_MAX_BYTES 65536

/* A variable, as the command that uses it knows it. */
struct cli_variable {
	const char *name;    /* "report.children" */
	const char *values;  /* what is expected, for messages */
	const char *summary; /* one line */
};

struct cli_config {
	char path[PATH_MAX];
	char *text; /* NULL: there is no file */
	/* of each line with a variable, the name and value inside of text */
	struct cli_config_item {
		const char *section, *name, *value;
		unsigned line;
	} * item;
	size_t nr, capacity;
};

/* The variables that commands use. */
const struct cli_variable *cli_variables(size_t *nr);
/* Returns the variable with the name, of this length; '-' and '_' are the same. NULL: none. */
const struct cli_variable *cli_variable_find(const char *name, size_t length);

/* Returns the name of the variable that differs in few characters, or NULL. */
const char *cli_variable_similar(const char *name);

/*
 * Reads the file. A file that does not exist is empty. Prints each wrong line, and leaves it out;
 * and each line with a variable that no command uses. Returns 0, or the exit status after it has
 * printed an error.
 */
int cli_config_read(struct cli_config *config, const char *command);
void cli_config_clear(struct cli_config *config);
/*
 * Opens the file at a directory for reading, if it is one that cli_config_read() uses: a regular
 * file of the current user, of at most CLI_CONFIG_MAX_BYTES. Returns a descriptor; -ENOENT, or
 * another negative errno and the reason.
 */
int cli_config_open_file(int at, const char *path, const char **reason);
/* The options of a file, as words of a command line. */
struct cli_config_arguments {
	char *text;	  /* of the file */
	const char *path; /* for messages */
	struct cli_config_word {
		char *text; /* "--name", "--name=value" */
		unsigned line;
	} * word;
	size_t nr, capacity;
};

/*
 * Reads a file of options: lines NAME or NAME = VALUE with the long names of a command line's
 * options, empty lines, and comments after '#' or ';' at their beginning. Blanks around a value do
 * not belong to it, all else does. Nobody but the current user and root may own the file. path must
 * stay. Returns 0, or the exit status after it has printed the error; there are no words then.
 */
int cli_config_arguments_read(struct cli_config_arguments *arguments, const char *path,
			      const char *command);
/* The same for arguments->text, of memory of malloc(3); path is for messages. */
int cli_config_arguments_parse(struct cli_config_arguments *arguments, const char *path,
			       const char *command);
/* Returns the last word of an option, whose name has this length; NULL: there is none. */
const struct cli_config_word *cli_config_arguments_find(
	const struct cli_config_arguments *arguments, const char *name, size_t length);
void cli_config_arguments_clear(struct cli_config_arguments *arguments);
/* Returns the last value of a variable, and where it is. NULL: none. */
const struct cli_config_item *cli_config_find(const struct cli_config *config, const char *name);

#endif
