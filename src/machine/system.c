/* SPDX-License-Identifier: MIT */
/* Facts of the whole system: distribution, open files. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* The value of a line NAME=value without quotes; "" if there is none. */
static void take_value(const char *text, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	const char *at = text;
	char quote[2] = "";

	value[0] = '\0';
	while (strncmp(at, name, length) || at[length] != '=') {
		at = strchr(at, '\n');
		if (!at)
			return;
		at++;
	}
	at += length + 1;
	if (*at == '"' || *at == '\'')
		quote[0] = *at++;
	snprintf(value, size, "%.*s", (int)(quote[0] ? strcspn(at, quote) : strcspn(at, " \t\n")),
		 at);
	value[strcspn(value, "\n")] = '\0';
}

/* Android has properties instead of os-release. */
static bool read_android(const struct perch_machine *machine, char *version, size_t size)
{
	char text[65536];

	if (perch_machine_read(machine, "/system/build.prop", text, sizeof(text)) <= 0)
		return false;
	take_value(text, "ro.build.version.release", version, size);
	return true;
}

int perch_machine_distribution(struct perch_machine *machine, char *buffer, size_t size,
			       struct perch_error *err)
{
	static const char *const files[] = { "/etc/os-release", "/usr/lib/os-release" };
	char text[8192], id[64] = "", version[64] = "";

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !id[0]; i++) {
		if (perch_machine_read(machine, files[i], text, sizeof(text)) <= 0)
			continue;
		take_value(text, "ID", id, sizeof(id));
		take_value(text, "VERSION_ID", version, sizeof(version));
	}
	if (!id[0] && read_android(machine, version, sizeof(version)))
		snprintf(id, sizeof(id), "android");
	if (!id[0])
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				       "no os-release file has an ID");
	if (snprintf(text, sizeof(text), version[0] ? "%s %s" : "%s", id, version) >= (int)size)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the buffer is too small for the name of the distribution");
	strcpy(buffer, text);
	return 0;
}

/* The file has three numbers: open files, 0, and the limit. */
int perch_machine_open_files(struct perch_machine *machine, uint64_t *nr, uint64_t *limit,
			     struct perch_error *err)
{
	unsigned long long open, most;
	char text[128];
	ssize_t got = perch_machine_read(machine, "/proc/sys/fs/file-nr", text, sizeof(text));

	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE, "cannot read fs.file-nr: %s",
				       strerror(-got));
	if (sscanf(text, "%llu %*u %llu", &open, &most) != 2)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "fs.file-nr does not have three numbers");
	*nr = open;
	*limit = most;
	return 0;
}
