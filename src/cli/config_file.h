/* SPDX-License-Identifier: MIT */
/* The user's defaults: $XDG_CONFIG_HOME/perch/config or ~/.config/perch/config. */
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
/* Returns the last value of a variable, and where it is. NULL: none. */
const struct cli_config_item *cli_config_find(const struct cli_config *config, const char *name);

#endif
