/* SPDX-License-Identifier: MIT */
/* Names that do not depend on the machine: hardware, software and raw events, and keywords. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* clang-format off */
#define HARDWARE(name, alias, id) { name, alias, PERCH_TYPE_HARDWARE, PERCH_COUNT_HW_##id }
#define SOFTWARE(name, alias, id) { name, alias, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_##id }
/* clang-format on */

/* The first name is the one that perf shows. */
static const struct perch_event_name names[] = {
	HARDWARE("cycles", "cpu-cycles", CPU_CYCLES),
	HARDWARE("instructions", NULL, INSTRUCTIONS),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES),
	HARDWARE("cache-misses", NULL, CACHE_MISSES),
	HARDWARE("branches", "branch-instructions", BRANCH_INSTRUCTIONS),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK),
	SOFTWARE("task-clock", NULL, TASK_CLOCK),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS),
	SOFTWARE("dummy", NULL, DUMMY),
	SOFTWARE("bpf-output", NULL, BPF_OUTPUT),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES),
};

const struct perch_event_name *perch_event_get_name(size_t index)
{
	return index < PERCH__NR(names) ? &names[index] : NULL;
}

/* Up to 16 hexadecimal digits and nothing else. */
static bool raw_number(const char *text, uint64_t *config)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");

	if (!digits || digits > 16 || text[digits])
		return false;
	*config = strtoull(text, NULL, 16);
	return true;
}

/* rNNN */
static bool raw_event(const char *word, uint64_t *config)
{
	return word[0] == 'r' && raw_number(word + 1, config);
}

bool perch__is_raw_term(const char *word, uint64_t *config)
{
	return raw_event(word, config) ||
	       (!strncmp(word, "r0x", 3) && raw_number(word + 3, config));
}

bool perch__find_generic_event(const char *word, struct perch_attr *attr)
{
	uint64_t config;
	bool legal;

	for (size_t i = 0; i < PERCH__NR(names); i++)
		if (!strcmp(word, names[i].name) ||
		    (names[i].alias && !strcmp(word, names[i].alias))) {
			attr->type = names[i].type;
			attr->config = names[i].config;
			return true;
		}
	if (perch__find_cache_event(word, &config, &legal) && legal)
		attr->type = PERCH_TYPE_HW_CACHE;
	else if (strcmp(word, "read") &&
		 raw_event(word, &config)) /* perf does not parse "read" as raw either */
		attr->type = PERCH_TYPE_RAW;
	else
		return false;
	attr->config = config;
	return true;
}

void perch__suggest_generic_names(struct perch__suggestions *suggestions)
{
	char name[64];

	for (size_t i = 0; i < PERCH__NR(names); i++) {
		perch__suggest(suggestions, names[i].name);
		if (names[i].alias)
			perch__suggest(suggestions, names[i].alias);
	}
	for (uint64_t cache = 0; cache < PERCH_COUNT_HW_CACHE_MAX; cache++)
		for (uint64_t operation = 0; operation < PERCH_COUNT_HW_CACHE_OP_MAX; operation++)
			for (uint64_t result = 0; result < PERCH_COUNT_HW_CACHE_RESULT_MAX;
			     result++)
				if (perch_cache_event_name(cache | operation << 8 | result << 16,
							   name, sizeof(name)))
					perch__suggest(suggestions, name);
}

/* After these words and a colon, the rest of the event is not a name. */
static const char *const keywords[] = { "mem",	  "pfm",       "uprobe", "uretprobe",
					"kprobe", "kretprobe", "usdt" };

void perch__suggest_keywords(struct perch__suggestions *suggestions)
{
	for (size_t i = 0; i < PERCH__NR(keywords); i++)
		perch__suggest(suggestions, keywords[i]);
}

bool perch__is_keyword(const char *word)
{
	for (size_t i = 0; i < PERCH__NR(keywords); i++)
		if (!strcmp(word, keywords[i]))
			return true;
	return false;
}
