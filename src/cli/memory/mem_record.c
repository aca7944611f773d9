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

/* Options of perf's record of this command, which perch record has with another meaning or not at
 * all. */
static const struct {
	const char *command, *option, *here;
	bool argument; /* perch record has one with an argument */
} perf_options[] = {
	{ "c2c", "-k", "--all-kernel", true },
	{ "c2c", "-l", "'perch mem --ldlat CYCLES record'", false },
	{ "c2c", "-u", "--all-user", true },
	{ "mem", "-p", "--phys-data", true },
};

/* Refuses an option that perf means, because what follows is no argument of perch record's. */
static int check_options(const char *command, int argc, char **argv)
{
	for (int i = 1; i < argc && *argv[i] == '-' && strcmp(argv[i], "--") != 0; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : "-";
		bool argument = *next != '-' && !strchr(next, '/');

		for (size_t j = 0; j < CLI_NR(perf_options); j++)
			if (!strcmp(perf_options[j].command, command) &&
			    !strcmp(perf_options[j].option, argv[i]) &&
			    !(argument && perf_options[j].argument))
				return cli_usage_error(
					command,
					"the options are those of perch record: %s of perf %s record is %s",
					argv[i], command, perf_options[j].here);
	}
	return 0;
}

int mem_record(const char *command, const struct mem_events *events, const char *const *own,
	       int argc, char **argv)
{
	char list[MOST_EVENTS][TEXT];
	size_t named, nr, used = 0;
	char **words;
	int status = check_options(command, argc, argv);

	argv[0] = (char *)"record";
	if (!status)
		status = perch_cmd_record_events(argc, argv, &named);
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
