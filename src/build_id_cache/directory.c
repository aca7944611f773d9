/* SPDX-License-Identifier: MIT */
/* Finds the directory of the cache: by the environment, the user's file of perf-config(1), or
 * ~/.debug. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/open_file.h"
#include "internal.h"

enum { MAX_LINES = 10000 };

static char *trim_line(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return text;
}

/* Returns the value of a line "dir = VALUE", or NULL. */
static char *value_of(char *line)
{
	char *equals = strchr(line, '=');
	size_t length;
	char *value;

	if (!equals)
		return NULL;
	*equals = 0;
	if (strcasecmp(trim_line(line), "dir"))
		return NULL;
	value = trim_line(equals + 1);
	length = strlen(value);
	if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
		value[length - 1] = 0;
		value++;
	}
	return value;
}

/* With sudo, HOME may be that of another user, who must not choose where root writes files. */
static bool is_trusted(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && (!status.st_uid || status.st_uid == geteuid());
}

/* Reads buildid.dir from a file of perf-config(1). As in perf, a file of another user is ignored.
 */
static bool read_config(const char *config, char *path, size_t size)
{
	char line[PATH_MAX + 64], *value = NULL;
	int fd = perch__open_regular(NULL, config);
	FILE *file = fd < 0 || !is_trusted(fd) ? NULL : fdopen(fd, "r");
	bool in_section = false, found = false;

	if (fd >= 0 && !file)
		close(fd);

	for (int i = 0; file && i < MAX_LINES && fgets(line, sizeof(line), file); i++) {
		char *at = trim_line(line);

		if (*at == '[')
			in_section = !strncasecmp(at, "[buildid]", 9);
		else if (in_section && *at != '#' && *at != ';' && (value = value_of(at)))
			found = *value && (size_t)snprintf(path, size, "%s", value) < size;
	}
	if (file)
		fclose(file);
	return found;
}

int perch__build_id_dir(char *path, size_t size)
{
	const char *given = secure_getenv("PERF_BUILDID_DIR");
	const char *config = secure_getenv("PERF_CONFIG");
	const char *home = secure_getenv("HOME");
	char of_user[PATH_MAX];

	if (given && *given)
		return (size_t)snprintf(path, size, "%s", given) < size ? 0 : -ENAMETOOLONG;
	if (config && read_config(config, path, size))
		return 0;
	if (!config && home && *home &&
	    (size_t)snprintf(of_user, sizeof(of_user), "%s/.perfconfig", home) < sizeof(of_user) &&
	    read_config(of_user, path, size))
		return 0;
	if (!config && read_config("/etc/perfconfig", path, size))
		return 0;
	if (!home || !*home)
		return -ENOENT;
	return (size_t)snprintf(path, size, "%s/.debug", home) < size ? 0 : -ENAMETOOLONG;
}
