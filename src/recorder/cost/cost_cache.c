/* SPDX-License-Identifier: MIT */
/*
 * What a sample costs, in a file of the user's cache for the next recording: it takes 2 ms to
 * measure, and is the same until the next boot. A virtual machine can move to another host, which
 * has another CPU. Only this user writes the file, but it may be damaged.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/files/user_cache.h"
#include "base/nr.h"
#include "recorder/internal.h"

#define FILE_NAME "sample-cost"
#define MOST_NS	  100000000

/* The contents of samples. */
struct cached_cost {
	uint64_t fields, stack_bytes, ns; /* ns is 0 if there is none */
};

struct cost_file {
	char boot[40], release[128], cpu[80];
	struct cached_cost cost[8]; /* the newest is the first one */
};

/* The first line of /proc/cpuinfo with this name. */
static void find_cpu(struct perch_machine *machine, char *cpu, size_t size)
{
	char text[4096];
	const char *found;

	if (perch_machine_read(machine, "/proc/cpuinfo", text, sizeof(text)) <= 0)
		return;
	found = strstr(text, "\nmodel name");
	if (found)
		snprintf(cpu, size, "%.*s", (int)strcspn(found + 1, "\n"), found + 1);
}

/* Returns false if the boot is unknown, as on a machine that a test describes. */
static bool describe(struct cost_file *file, struct perch_machine *machine)
{
	struct perch_release release;

	*file = (struct cost_file){ 0 };
	if (perch_machine_read(machine, "/proc/sys/kernel/random/boot_id", file->boot,
			       sizeof(file->boot)) <= 0 ||
	    perch_machine_release(machine, &release, NULL) < 0)
		return false;
	snprintf(file->release, sizeof(file->release), "%s", release.text);
	find_cpu(machine, file->cpu, sizeof(file->cpu));
	return true;
}

/* Reads the costs of this boot; all are 0 otherwise. Returns false if there can be no file. */
static bool read_file(struct cost_file *file, struct perch_machine *machine)
{
	struct cost_file found;
	uint64_t size;
	int fd;

	if (!perch__user_cache_is_used() || !describe(file, machine))
		return false;
	fd = perch__user_cache_open(FILE_NAME, sizeof(found) - 1, sizeof(found), &size);
	if (fd < 0)
		return true;
	if (!perch__pread_all(fd, &found, sizeof(found), 0) &&
	    !memcmp(&found, file, offsetof(struct cost_file, cost)))
		memcpy(file->cost, found.cost, sizeof(file->cost));
	close(fd);
	return true;
}

static bool is_like(const struct cached_cost *cost, const struct perch_attr *attr)
{
	return cost->fields == attr->sample_type && cost->stack_bytes == attr->sample_stack_user;
}

uint64_t perch__recorder_cached_cost(struct perch_machine *machine, const struct perch_attr *attr)
{
	struct cost_file file;

	if (!read_file(&file, machine))
		return 0;
	for (size_t i = 0; i < PERCH__NR(file.cost); i++)
		if (is_like(&file.cost[i], attr) && file.cost[i].ns <= MOST_NS)
			return file.cost[i].ns;
	return 0;
}

void perch__recorder_cache_cost(struct perch_machine *machine, const struct perch_attr *attr,
				uint64_t ns)
{
	struct perch__cache_part part = { 0 };
	struct cost_file file;
	size_t last = 0;

	if (!read_file(&file, machine))
		return;
	while (last < PERCH__NR(file.cost) - 1 && file.cost[last].ns &&
	       !is_like(&file.cost[last], attr))
		last++;
	memmove(&file.cost[1], &file.cost[0], last * sizeof(file.cost[0]));
	file.cost[0] = (struct cached_cost){ attr->sample_type, attr->sample_stack_user, ns };
	part = (struct perch__cache_part){ &file, sizeof(file) };
	perch__user_cache_write(FILE_NAME, &part, 1);
}
