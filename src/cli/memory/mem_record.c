/* SPDX-License-Identifier: MIT */
/* The events of memory accesses of this machine, and perch record of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { MOST_EVENTS = 8, TEXT = 160 };

/* The PMUs of cores; hybrid CPUs have two. */
static const char *const cores[] = { "cpu", "cpu_core", "cpu_atom" };

static bool has_event(const char *pmu, const char *event)
{
	char path[TEXT];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/events/%s", pmu, event);
	return !access(path, F_OK);
}

/* Adds the loads and stores of a PMU. From Sapphire Rapids on, loads need the event mem-loads-aux
 * before them in a group. */
static void add_core(const struct mem_events *events, const char *pmu, char list[MOST_EVENTS][TEXT],
		     size_t *nr)
{
	bool both = events->loads == events->stores;
	unsigned long long latency = events->latency ? events->latency : 30;

	if ((both || events->loads) && has_event(pmu, "mem-loads")) {
		if (has_event(pmu, "mem-loads-aux"))
			snprintf(list[(*nr)++], TEXT,
				 "{%s/mem-loads-aux/,%s/mem-loads,ldlat=%llu/}:P", pmu, pmu,
				 latency);
		else
			snprintf(list[(*nr)++], TEXT, "%s/mem-loads,ldlat=%llu/P", pmu, latency);
	}
	if ((both || events->stores) && has_event(pmu, "mem-stores"))
		snprintf(list[(*nr)++], TEXT, "%s/mem-stores/P", pmu);
}

static size_t find_events(const struct mem_events *events, char list[MOST_EVENTS][TEXT])
{
	size_t nr = 0;

	for (size_t i = 0; i < CLI_NR(cores); i++)
		add_core(events, cores[i], list, &nr);
	if (!nr && !access("/sys/bus/event_source/devices/ibs_op", F_OK))
		snprintf(list[nr++], TEXT, "ibs_op//");
	return nr;
}

int mem_record(const char *command, const struct mem_events *events, const char *const *own,
	       int argc, char **argv)
{
	char list[MOST_EVENTS][TEXT];
	size_t named, nr, used = 0;
	char **words;
	int status = perch_cmd_record_events(argc, argv, &named);

	if (status)
		return status;
	nr = named ? 0 : find_events(events, list);
	if (!nr && !named)
		return cli_usage_error(
			command,
			"this machine samples no memory accesses: it has neither the event "
			"mem-loads (Intel) nor the PMU ibs_op (AMD); -e mem:ADDRESS/8:w samples "
			"the writes to one address");
	words = calloc((size_t)argc + 2 * nr + 16, sizeof(*words));
	if (!words)
		return cli_no_memory(command);
	words[used++] = (char *)"record";
	while (*own)
		words[used++] = (char *)*own++;
	for (size_t i = 0; i < nr; i++) {
		words[used++] = (char *)"-e";
		words[used++] = list[i];
	}
	for (int i = 1; i < argc; i++)
		words[used++] = argv[i];
	status = perch_cmd_record((int)used, words);
	free(words);
	return status;
}
