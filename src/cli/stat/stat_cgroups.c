/* SPDX-License-Identifier: MIT */
/* The names of --for-each-cgroup: those of cgroups, and regular expressions over them, as in perf.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "stat.h"

static bool named_before(const struct stat_job *stat, const char *name)
{
	for (size_t i = 0; i < stat->nr_for_each; i++)
		if (!strcmp(stat->for_each[i], name))
			return true;
	return false;
}

/* Adds a name, which is freed with the others. */
static int add_name(struct stat_job *stat, char *name)
{
	char **added;

	if (!name)
		return cli_no_memory(STAT_COMMAND);
	if (named_before(stat, name)) {
		free(name);
		return 0;
	}
	added = PERCH__ARRAY_APPEND(stat->for_each, stat->nr_for_each, stat->for_each_capacity);
	if (!added) {
		free(name);
		return cli_no_memory(STAT_COMMAND);
	}
	*added = name;
	return 0;
}

static int is_cgroup(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

static int by_name(const struct dirent **one, const struct dirent **other)
{
	return strcmp((*one)->d_name, (*other)->d_name);
}

/* Adds the cgroups below a path of which the path below the mount point matches, each before its
 * own. */
static int add_matches(struct stat_job *stat, const char *path, size_t mount_length,
		       const regex_t *regex)
{
	struct dirent **entries = NULL;
	int nr = scandir(path, &entries, is_cgroup, by_name);
	int status = nr < 0 && errno == ENOMEM ? cli_no_memory(STAT_COMMAND) : 0;

	for (int i = 0; i < nr; i++) {
		char *below = NULL;

		if (!status && asprintf(&below, "%s/%s", path, entries[i]->d_name) < 0)
			status = cli_no_memory(STAT_COMMAND);
		free(entries[i]);
		if (status)
			continue;
		if (!regexec(regex, below + mount_length + 1, 0, NULL, 0))
			status = add_name(stat, strdup(below + mount_length + 1));
		if (!status)
			status = add_matches(stat, below, mount_length, regex);
		free(below);
	}
	free(entries);
	return status;
}

static int add_pattern(struct stat_job *stat, const char *pattern, const char *mount)
{
	size_t before = stat->nr_for_each;
	char why[128];
	regex_t regex;
	int status, rc = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);

	if (rc == REG_ESPACE)
		return cli_no_memory(STAT_COMMAND);
	if (rc) {
		regerror(rc, &regex, why, sizeof(why));
		return cli_usage_error(STAT_COMMAND,
				       "--for-each-cgroup %s: not a regular expression: %s",
				       pattern, why);
	}
	status = add_matches(stat, mount, strlen(mount), &regex);
	regfree(&regex);
	if (status || stat->nr_for_each > before)
		return status;
	return cli_usage_error(STAT_COMMAND,
			       "--for-each-cgroup %s: no cgroup below %s has a path that matches "
			       "this regular expression",
			       pattern, mount);
}

/* A name with characters of expressions is one, unless a cgroup has it. */
static bool is_pattern(const char *name, const char *mount)
{
	char path[PATH_MAX];

	if (!strpbrk(name, "{}[]()|*+?^$"))
		return false;
	return snprintf(path, sizeof(path), "%s/%s", mount, name) >= (int)sizeof(path) ||
	       access(path, F_OK);
}

int stat_choose_cgroups(struct stat_job *stat)
{
	const char *rest = stat->options.for_each_cgroup;
	char mount[PATH_MAX] = "";
	int status = 0;

	/* without cgroups, opening the events says so */
	if (rest && perch_machine_cgroups(stat->events.machine, mount, sizeof(mount), NULL) < 0)
		*mount = '\0';
	while (!status && rest) {
		char *name = cli_next_name(&rest);

		if (!name)
			return cli_no_memory(STAT_COMMAND);
		if (!*name) {
			status = cli_usage_error(STAT_COMMAND,
						 "--for-each-cgroup %s has an empty name",
						 stat->options.for_each_cgroup);
			free(name);
		} else if (*mount && is_pattern(name, mount)) {
			status = add_pattern(stat, name, mount);
			free(name);
		} else {
			status = add_name(stat, name);
		}
	}
	return status;
}
