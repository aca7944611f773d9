/* SPDX-License-Identifier: MIT */
/* perch config: lists, prints and sets the user's defaults. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/trusted_directory.h"
#include "config_file.h"
#include "names.h"
#include "options.h"
#include "output_file.h"
#include "record/record.h"
#include "report/report.h"

#define COMMAND "config"

static int refuse_variable(const char *name, size_t length)
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

/* ---- writing ---- */

static void put_line(FILE *file, const struct cli_variable *variable, const char *value)
{
	fprintf(file, "\t%s = %s\n", strchr(variable->name, '.') + 1, value);
}

/* Copies the file with another value in a line; line 0: adds the variable at the end. Returns 0 or
 * an errno. */
static int copy_variables(FILE *from, FILE *to, unsigned line, const struct cli_variable *variable,
			  const char *value)
{
	char *text = NULL;
	bool in_line = false; /* the last one may have no end */
	size_t size = 0;
	ssize_t length;

	for (unsigned at = 1; from && (length = getline(&text, &size, from)) >= 0; at++) {
		in_line = at != line && text[length - 1] != '\n';
		if (at == line)
			put_line(to, variable, value);
		else
			fputs(text, to);
	}
	free(text);
	if (!line) {
		fprintf(to, "%s[%.*s]\n", in_line ? "\n" : "", (int)strcspn(variable->name, "."),
			variable->name);
		put_line(to, variable, value);
	}
	if (from && ferror(from))
		return EIO;
	errno = 0;
	if (fflush(to) || ferror(to))
		return errno ? errno : EIO;
	return ftell(to) > CLI_CONFIG_MAX_BYTES ? EFBIG : 0;
}

/* Opens the old file. Returns 0, also if there is none, or a negative errno. */
static int open_old(int dir, const char *name, FILE **old, struct perch_error *err)
{
	const char *reason;
	int fd = cli_config_open_file(dir, name, &reason);

	*old = fd < 0 ? NULL : fdopen(fd, "r");
	if (*old || fd == -ENOENT)
		return 0;
	if (fd >= 0) {
		close(fd);
		reason = strerror(ENOMEM);
	}
	perch_error_set(err, EPERM, PERCH_ERROR_FILE, "it is not written: %s", reason);
	return -EPERM;
}

/* Writes the file below a directory that no other user can change. A link to the file stays. */
static int write_below(int dir, const char *name, unsigned line,
		       const struct cli_variable *variable, const char *value,
		       struct perch_error *err)
{
	struct cli_output_file file;
	struct stat status;
	FILE *old;
	int rc;

	/* one that the user has not made would choose which file is written */
	if (!fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) && status.st_uid != geteuid()) {
		perch_error_set(err, EPERM, PERCH_ERROR_FILE,
				"it is not written: it belongs to uid %u, not to the current user",
				(unsigned)status.st_uid);
		return -EPERM;
	}
	rc = open_old(dir, name, &old, err);
	if (rc)
		return rc;
	rc = cli_output_open_at(&file, dir, name, 0, err);
	if (!rc)
		rc = cli_output_close(&file,
				      copy_variables(old, file.stream, line, variable, value), err);
	if (old)
		fclose(old);
	return rc;
}

static int write_file(const char *path, unsigned line, const struct cli_variable *variable,
		      const char *value)
{
	const char *slash = strrchr(path, '/');
	char directory_path[PATH_MAX];
	struct perch__trusted_directory directory = {
		.path = directory_path,
		.what = "the directory",
		.remedy = "run it as that user, or name another directory by XDG_CONFIG_HOME",
		.create = true,
		.mode = 0700,
	};
	struct perch_error err;
	int dir, rc;

	snprintf(directory_path, sizeof(directory_path), "%.*s", (int)(slash - path), path);
	dir = perch__trusted_directory_open(&directory);
	if (dir < 0) {
		perch__trusted_directory_error(&directory, dir, &err);
		return cli_error(COMMAND, &err);
	}
	rc = write_below(dir, slash + 1, line, variable, value, &err);
	close(dir);
	if (rc)
		cli_note(COMMAND, "%s: %s", path, err.message);
	return rc ? CLI_EXIT_FAILURE : 0;
}

/* Replaces the last line of the variable, which is the one that is used, or adds one. */
static int set_variable(struct cli_config *config, const struct cli_variable *variable,
			const char *value)
{
	const struct cli_config_item *item = cli_config_find(config, variable->name);

	if (!config->path[0]) {
		cli_note(COMMAND, "there is no directory for the file: HOME is not set");
		return CLI_EXIT_FAILURE;
	}
	if (strpbrk(value, "\n\r") || !*value || !report_takes_variable(variable->name, value) ||
	    !record_takes_variable(variable->name, value))
		return cli_usage_error(COMMAND, "%s: expected %s", variable->name,
				       variable->values);
	return write_file(config->path, item ? item->line : 0, variable, value);
}

static int run_word(struct cli_config *config, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct cli_variable *variable = cli_variable_find(word, length);
	const struct cli_config_item *item;

	if (!variable)
		return refuse_variable(word, length);
	if (word[length])
		return set_variable(config, variable, word + length + 1);
	item = cli_config_find(config, variable->name);
	if (item)
		put_item(item);
	return 0;
}

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'l', .name = "list", .kind = CLI_FLAG,
		.help = "print all variables of the file"),
	CLI_ROW(.name = "user", .kind = CLI_IGNORED, .help = "the file of the user (always so)"),
	{ 0 },
};

const struct cli_usage cli_config_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SECTION.NAME[=VALUE]...]",
	.summary = "Prints or sets the defaults of options.",
	.options = options,
};

int perch_cmd_config(int argc, char **argv)
{
	struct cli_config config;
	bool list = false;
	int next = cli_options_parse(&cli_config_usage, &list, argc, argv);
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
