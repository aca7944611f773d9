/* SPDX-License-Identifier: MIT */
/* Which thread reads the rings of which CPUs, and on which CPUs it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "workers.h"

#define MAX_NODES 1024

/* The files that have the CPUs of a part of the machine, from the newest name to the oldest. */
static const struct {
	const char *word;
	const char *files[2];
} words[] = {
	{ "cpu", { NULL, NULL } },
	{ "core", { "core_cpus_list", "thread_siblings_list" } },
	{ "package", { "package_cpus_list", "core_siblings_list" } },
	{ "numa", { NULL, NULL } },
};
enum { CPU, CORE, PACKAGE, NUMA, NR_WORDS };

static struct recorder_thread_cpus *add_thread(struct recorder_thread_list *list)
{
	struct recorder_thread_cpus *added =
		PERCH__ARRAY_APPEND(list->thread, list->nr, list->capacity);

	if (added)
		*added = (struct recorder_thread_cpus){ 0 };
	return added;
}

static int parse_list(struct perch_cpus *cpus, const char *text, size_t length)
{
	char copy[4096];

	if (!length || length >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, length);
	copy[length] = 0;
	return perch_cpus_parse(cpus, copy, NULL);
}

/* Returns the thread that reads the rings of a CPU, or NULL. */
static struct recorder_thread_cpus *thread_of(const struct recorder_thread_list *list, int cpu)
{
	for (size_t i = 0; i < list->nr; i++)
		if (perch_cpus_contains(&list->thread[i].rings, cpu))
			return &list->thread[i];
	return NULL;
}

/* ---- words ---- */

static bool read_list(struct perch_machine *machine, const char *path, struct perch_cpus *cpus)
{
	char text[4096];
	ssize_t size = perch_machine_read(machine, path, text, sizeof(text));

	while (size > 0 && text[size - 1] == '\n')
		size--;
	return size > 0 && !parse_list(cpus, text, (size_t)size);
}

/* Reads a list if the CPU is one of it. */
static bool read_list_of(struct perch_machine *machine, const char *path, int cpu,
			 struct perch_cpus *cpus)
{
	if (!read_list(machine, path, cpus))
		return false;
	if (perch_cpus_contains(cpus, cpu))
		return true;
	perch_cpus_clear(cpus);
	return false;
}

static bool read_node(struct perch_machine *machine, int cpu, struct perch_cpus *cpus)
{
	char path[64];

	for (int node = 0; node < MAX_NODES; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
		if (read_list_of(machine, path, cpu, cpus))
			return true;
	}
	return false;
}

/* The CPUs of the part that has a CPU. */
static bool read_part(struct perch_machine *machine, int word, int cpu, struct perch_cpus *cpus)
{
	char path[128];

	if (word == NUMA && read_node(machine, cpu, cpus))
		return true;
	for (int i = 0; i < 2 && words[word].files[i]; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
			 words[word].files[i]);
		if (read_list_of(machine, path, cpu, cpus))
			return true;
	}
	return false;
}

/* Of a machine that does not say what belongs together, each CPU is a part. */
static int add_parts(struct recorder_thread_list *list, struct perch_machine *machine, int word,
		     const struct perch_cpus *cpus)
{
	for (size_t i = 0; i < cpus->nr; i++) {
		struct recorder_thread_cpus *thread;
		char text[16];

		if (thread_of(list, cpus->cpu[i]))
			continue;
		thread = add_thread(list);
		if (!thread)
			return -ENOMEM;
		snprintf(text, sizeof(text), "%d", cpus->cpu[i]);
		if (!read_part(machine, word, cpus->cpu[i], &thread->rings) &&
		    parse_list(&thread->rings, text, strlen(text)))
			return -ENOMEM;
		thread->runs_there = true;
	}
	return 0;
}

/* ---- lists ---- */

static int wrong_list(const char *text, struct perch_error *err)
{
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "'%s' is no list of threads", text);
	perch_error_remedy(err, "use cpu, core, package, numa, or for each thread the CPUs whose "
				"rings it reads, and those on which it runs: 0-3/0:4-7/4");
	return -EINVAL;
}

/* CPUS/CPUS for each thread. */
static int parse_threads(struct recorder_thread_list *list, const char *text,
			 struct perch_error *err)
{
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ":"), rings = strcspn(at, "/");
		struct recorder_thread_cpus *thread = add_thread(list);

		if (!thread)
			return PERCH__NO_MEMORY(err, "to record with");
		if (rings >= length || parse_list(&thread->rings, at, rings) ||
		    parse_list(&thread->affinity, at + rings + 1, length - rings - 1))
			return wrong_list(text, err);
		at += length;
		if (!*at)
			return 0;
	}
}

/* Each ring needs one thread. */
static int check_threads(const struct recorder_thread_list *list, const struct perch_cpus *cpus,
			 struct perch_error *err)
{
	for (size_t i = 0; i < cpus->nr; i++) {
		size_t nr = 0;

		for (size_t k = 0; k < list->nr; k++)
			nr += perch_cpus_contains(&list->thread[k].rings, cpus->cpu[i]);
		if (nr != 1)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "the ring of CPU %d is in the lists of %zu threads, "
					       "not of one",
					       cpus->cpu[i], nr);
	}
	return 0;
}

int perch__recorder_choose_threads(struct recorder_thread_list *list, const char *text,
				   struct perch_machine *machine, const struct perch_cpus *cpus,
				   struct perch_error *err)
{
	int rc;

	for (int word = 0; word < NR_WORDS; word++)
		if (!strcmp(text, words[word].word))
			return add_parts(list, machine, word, cpus) < 0
				       ? PERCH__NO_MEMORY(err, "to record with")
				       : 0;
	rc = parse_threads(list, text, err);
	return rc < 0 ? rc : check_threads(list, cpus, err);
}

void perch__recorder_clear_threads(struct recorder_thread_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		perch_cpus_clear(&list->thread[i].rings);
		perch_cpus_clear(&list->thread[i].affinity);
	}
	free(list->thread);
	*list = (struct recorder_thread_list){ 0 };
}
