/* SPDX-License-Identifier: MIT */
/* Finds the events of the machine. Tracepoints are not opened, because the first open of each is
 * slow. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "list.h"
#include "options.h"

/* On a machine with several kinds of cores, adds "cpu_core/cycles/" and so on. */
static int gather_hybrid(struct list *list, enum list_kind kind, uint32_t type, uint64_t config,
			 const char *name)
{
	const struct perch_pmu *pmus;
	size_t nr, cores = 0;

	if (type == PERCH_TYPE_SOFTWARE || perch_machine_pmus(list->machine, &pmus, &nr, NULL))
		return 0;
	for (size_t i = 0; i < nr; i++)
		cores += pmus[i].core;
	for (size_t i = 0; cores > 1 && i < nr; i++) {
		struct list_event *event;
		char whole[256];

		if (!pmus[i].core)
			continue;
		snprintf(whole, sizeof(whole), "%s/%s/", pmus[i].name, name);
		if (list_add(list, kind, whole, NULL, &event))
			return -ENOMEM;
		if (!event)
			continue;
		event->pmu = &pmus[i];
		list_try(list, event, type,
			 config | (uint64_t)pmus[i].type << PERCH_PMU_TYPE_SHIFT);
	}
	return 0;
}

static int gather_named(struct list *list, uint32_t type, enum list_kind kind)
{
	const struct perch_event_name *name;
	struct list_event *event;

	for (size_t i = 0; (name = perch_event_get_name(i)); i++) {
		if (name->type != type)
			continue;
		if (list_add(list, kind, name->name, name->alias, &event))
			return -ENOMEM;
		if (event)
			list_try(list, event, name->type, name->config);
		if (gather_hybrid(list, kind, type, name->config, name->name))
			return -ENOMEM;
	}
	return 0;
}

static int gather_cache(struct list *list)
{
	struct list_event *event;
	char name[64];

	for (uint64_t cache = 0; cache < PERCH_COUNT_HW_CACHE_MAX; cache++)
		for (uint64_t operation = 0; operation < PERCH_COUNT_HW_CACHE_OP_MAX; operation++)
			for (uint64_t result = 0; result < PERCH_COUNT_HW_CACHE_RESULT_MAX;
			     result++) {
				uint64_t config = cache | operation << 8 | result << 16;

				if (!perch_cache_event_name(config, name, sizeof(name)))
					continue;
				if (list_add(list, LIST_CACHE, name, NULL, &event))
					return -ENOMEM;
				if (event)
					list_try(list, event, PERCH_TYPE_HW_CACHE, config);
				if (gather_hybrid(list, LIST_CACHE, PERCH_TYPE_HW_CACHE, config,
						  name))
					return -ENOMEM;
			}
	return 0;
}

/* The system "ftrace" also has formats of the trace file, which are not events and have no id. */
static bool has_id(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s/id", directory, name) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static int gather_system(struct list *list, const char *events, const char *system)
{
	char path[PATH_MAX], name[2 * NAME_MAX + 2];
	struct list_event *event;
	struct dirent **names;
	int nr, rc = 0;

	if (snprintf(path, sizeof(path), "%s/%s", events, system) >= (int)sizeof(path))
		return 0;
	nr = list_read_directory(path, &names);
	for (int i = 0; i < nr && !rc; i++) {
		if (names[i]->d_type != DT_DIR ||
		    (!strcmp(system, "ftrace") && !has_id(path, names[i]->d_name)))
			continue;
		snprintf(name, sizeof(name), "%s:%s", system, names[i]->d_name);
		rc = list_add(list, LIST_TRACEPOINT, name, NULL, &event);
	}
	list_free_names(names, nr);
	return rc;
}

static int gather_tracepoints(struct list *list)
{
	char path[PATH_MAX - 16], events[PATH_MAX];
	struct dirent **names;
	int nr, rc = 0;

	if (perch_machine_tracefs(list->machine, path, sizeof(path), &list->no_tracepoints))
		return 0;
	snprintf(events, sizeof(events), "%s/events", path);
	nr = list_read_directory(events, &names);
	for (int i = 0; i < nr && !rc; i++)
		if (names[i]->d_type == DT_DIR)
			rc = gather_system(list, events, names[i]->d_name);
	list_free_names(names, nr);
	return rc;
}

int list_gather(struct list *list, struct perch_error *err)
{
	unsigned kinds = list->filter.kinds ? list->filter.kinds : UINT_MAX;

	if ((kinds & 1u << LIST_HARDWARE &&
	     gather_named(list, PERCH_TYPE_HARDWARE, LIST_HARDWARE)) ||
	    (kinds & 1u << LIST_SOFTWARE &&
	     gather_named(list, PERCH_TYPE_SOFTWARE, LIST_SOFTWARE)) ||
	    (kinds & 1u << LIST_CACHE && gather_cache(list)) ||
	    (kinds & 1u << LIST_PMU && list_gather_pmus(list)) ||
	    (kinds & 1u << LIST_RAW &&
	     (list_gather_forms(list, LIST_RAW) || list_gather_formats(list))) ||
	    (kinds & 1u << LIST_BREAKPOINT && list_gather_forms(list, LIST_BREAKPOINT)) ||
	    (kinds & 1u << LIST_PROBE && list_gather_forms(list, LIST_PROBE)) ||
	    (kinds & 1u << LIST_PFM && list_gather_forms(list, LIST_PFM)) ||
	    (kinds & 1u << LIST_TRACEPOINT && gather_tracepoints(list)))
		return PERCH__NO_MEMORY(err, "for the list of events");
	return 0;
}

void list_clear(struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		free(list->event[i].name);
		free(list->event[i].terms);
		free(list->event[i].unit);
		free(list->event[i].scale);
	}
	free(list->event);
	list->event = NULL;
	list->nr = list->capacity = 0;
}
