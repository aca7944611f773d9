/* SPDX-License-Identifier: MIT */
/* Limits and mappings of a process, from its limits, status, maps and smaps in /proc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address_space.h"
#include "internal.h"

/* "VmSize:     1234 kB" */
static bool size_line(const char *text, const char *name, uint64_t *bytes)
{
	const char *line = strstr(text, name);
	uint64_t kib;

	if (!line || sscanf(line + strlen(name), ": %" SCNu64, &kib) != 1)
		return false;
	*bytes = kib << 10;
	return true;
}

int perch__address_space(const struct perch_machine *machine, struct perch__address_space *space)
{
	char path[64], text[16384]; /* status has the list of groups */
	ssize_t got;

	perch__process_path(machine, path, sizeof(path), "/limits");
	got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0)
		return got;
	if (!perch__limit_line(text, "Max address space", &space->limit, NULL) ||
	    !perch__limit_line(text, "Max data size", &space->data_limit, NULL))
		return -EBADMSG;
	perch__process_path(machine, path, sizeof(path), "/status");
	got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0)
		return got;
	return size_line(text, "\nVmSize", &space->mapped) &&
			       size_line(text, "\nVmData", &space->data)
		       ? 0
		       : -EBADMSG;
}

/* A mapping of maps or smaps. */
struct mapping {
	uint64_t start, end;
	bool is_ring;
};

/* "7f0000000000-7f0000005000 rw-s 00000000 00:0e 12      anon_inode:[perf_event]" */
static bool mapping_line(const char *line, struct mapping *mapping)
{
	char *end;

	mapping->start = strtoull(line, &end, 16);
	if (end == line || *end != '-')
		return false;
	mapping->end = strtoull(end + 1, &end, 16);
	mapping->is_ring = strstr(end, "anon_inode:[perf_event]");
	return *end == ' ';
}

static void touch(struct perch__range *range, const struct mapping *mapping)
{
	uint64_t start = mapping->start > range->start ? mapping->start : range->start;
	uint64_t end = mapping->end < range->end ? mapping->end : range->end;

	if (start >= end)
		return;
	range->used += end - start;
	if (mapping->is_ring && (mapping->start < start || mapping->end > end))
		range->cuts_ring = true;
}

/* What was read so far. A long line is cut: its start has all that is needed. */
struct reader {
	struct perch__range *range;
	uint64_t nr;
	struct mapping last;
	char line[512];
	size_t used;
};

static void end_line(struct reader *reader)
{
	struct perch__range *range = reader->range;
	struct mapping mapping;

	reader->line[reader->used] = '\0';
	reader->used = 0;
	if (mapping_line(reader->line, &mapping)) {
		reader->last = mapping;
		/* a page of the kernel, which is not among the counted mappings */
		reader->nr += !strstr(reader->line, "[vsyscall]");
		if (range)
			touch(range, &mapping);
	} else if (range && !strncmp(reader->line, "VmFlags:", 8) && strstr(reader->line, " sl") &&
		   reader->last.start < range->end && reader->last.end > range->start) {
		range->is_sealed = true;
	}
}

static int read_lines(int fd, struct reader *reader)
{
	char buffer[4096];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer)))) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		for (ssize_t i = 0; i < got; i++) {
			if (buffer[i] == '\n')
				end_line(reader);
			else if (reader->used < sizeof(reader->line) - 1)
				reader->line[reader->used++] = buffer[i];
		}
	}
	return 0;
}

int perch__mappings(const struct perch_machine *machine, bool with_flags,
		    struct perch__range *range, uint64_t *nr)
{
	struct reader reader = { .range = range };
	char path[64], whole[PATH_MAX];
	int fd, rc;

	if (range) {
		range->used = 0;
		range->cuts_ring = range->is_sealed = false;
	}
	perch__process_path(machine, path, sizeof(path), with_flags ? "/smaps" : "/maps");
	rc = perch_machine_path(machine, path, whole, sizeof(whole));
	if (rc < 0)
		return rc;
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = read_lines(fd, &reader);
	close(fd);
	if (!rc && !reader.nr)
		rc = -ESRCH; /* the process has ended */
	if (nr)
		*nr = reader.nr;
	return rc;
}
