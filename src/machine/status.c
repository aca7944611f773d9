/* SPDX-License-Identifier: MIT */
/* Status files of /proc. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MAX_BYTES (1 << 20) /* the kernel allows 65536 groups, about 700 KiB */

/* Returns the value of a line that starts with name and a colon, else NULL. */
static const char *value_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) || line[length] != ':')
		return NULL;
	return line + length + 1 + strspn(line + length + 1, " \t");
}

static int small_number(const char *text)
{
	return text[0] >= '0' && text[0] <= '9' && (text[1] < '0' || text[1] > '9') ? text[0] - '0'
										    : -1;
}

static int count_words(const char *text)
{
	int nr = 0;

	while (*(text += strspn(text, " \t\n"))) {
		nr++;
		text += strcspn(text, " \t\n");
	}
	return nr;
}

/* Returns the second of the four uids. */
static int64_t effective_uid(const char *text)
{
	char *end;
	unsigned long long uid;

	strtoull(text, &end, 10);
	if (end == text)
		return -1;
	text = end;
	uid = strtoull(text, &end, 10);
	return end == text || uid > UINT32_MAX ? -1 : (int64_t)uid;
}

/* Undoes the escapes of newline and backslash in a name. */
static void take_name(char name[16], const char *value)
{
	size_t used = 0;

	while (*value && *value != '\n' && used < 15) {
		if (value[0] == '\\' && (value[1] == '\\' || value[1] == 'n')) {
			name[used++] = value[1] == 'n' ? '\n' : '\\';
			value += 2;
		} else {
			name[used++] = *value++;
		}
	}
	name[used] = '\0';
}

static void take_line(struct status *status, const char *line)
{
	const char *value;

	if ((value = value_of(line, "Name")))
		take_name(status->name, value);
	else if ((value = value_of(line, "State")) && *value && *value != '\n')
		status->state = *value;
	else if ((value = value_of(line, "Uid")))
		status->uid = effective_uid(value);
	else if ((value = value_of(line, "NSpid")))
		status->pid_namespaces = count_words(value);
	else if ((value = value_of(line, "CapPrm")))
		status->permitted = strtoull(value, NULL, 16);
	else if ((value = value_of(line, "CapEff"))) {
		status->effective = strtoull(value, NULL, 16);
		status->has_capabilities = true;
	} else if ((value = value_of(line, "NoNewPrivs")))
		status->no_new_privileges = small_number(value);
	else if ((value = value_of(line, "Seccomp")))
		status->seccomp = small_number(value);
	else if ((value = value_of(line, "Seccomp_filters")))
		status->filters = atoi(value);
}

int perch__read_status(const struct perch_machine *machine, const char *path, struct status *status)
{
	char full_path[PATH_MAX], line[256];
	bool at_start = true;
	size_t total = 0;
	FILE *stream;
	int fd, rc;

	*status = (struct status){
		.state = '?', .uid = -1, .seccomp = -1, .filters = -1, .no_new_privileges = -1
	};
	rc = perch_machine_path(machine, path, full_path, sizeof(full_path));
	if (rc < 0)
		return rc;
	fd = open(full_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	stream = fdopen(fd, "r");
	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	/* A long line arrives in pieces. Only the first piece has the name. */
	while (total < MAX_BYTES && fgets(line, sizeof(line), stream)) {
		size_t length = strlen(line);

		if (at_start)
			take_line(status, line);
		at_start = length && line[length - 1] == '\n';
		total += length ? length : 1;
	}
	rc = ferror(stream) ? -ESRCH : 0; /* the process ended during the read */
	fclose(stream);
	return rc;
}
