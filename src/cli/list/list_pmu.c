/* SPDX-License-Identifier: MIT */
/* What the PMUs of sysfs say about themselves: their events with unit and scale, and the terms that
 * they understand. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "options.h"

#define DEVICES "/sys/bus/event_source/devices"

/* The entries of a PMU's folder, as list_names_in() has them. */
static int names_in(const struct list *list, const struct perch_pmu *pmu, const char *folder,
		    struct dirent ***names)
{
	char path[PATH_MAX], below[192];

	snprintf(below, sizeof(below), DEVICES "/%s/%s", pmu->name, folder);
	if (perch_machine_path(list->machine, path, sizeof(path), below) < 0)
		return -ENAMETOOLONG;
	return list_names_in(path, names);
}

/* A file of a PMU's events folder, as NULL-terminated text; NULL when there is none. */
static char *file_of(const struct list *list, const struct perch_pmu *pmu, const char *event,
		     const char *suffix)
{
	char path[PATH_MAX], text[256];

	if (snprintf(path, sizeof(path), DEVICES "/%s/events/%s%s", pmu->name, event, suffix) >=
		    (int)sizeof(path) ||
	    perch_machine_read(list->machine, path, text, sizeof(text)) <= 0)
		return NULL;
	return strdup(text);
}

/* The events folder of a PMU; EVENT.unit, EVENT.scale and their like describe others. */
static int gather_events(struct list *list, const struct perch_pmu *pmu)
{
	struct list_event *event;
	struct dirent **names;
	int nr = names_in(list, pmu, "events", &names), rc = 0;
	char name[384];

	for (int i = 0; i < nr && !rc; i++) {
		if (strchr(names[i]->d_name, '.'))
			continue;
		snprintf(name, sizeof(name), "%s/%s/", pmu->name, names[i]->d_name);
		rc = list_add(list, LIST_PMU, name, NULL, &event);
		if (rc || !event)
			continue;
		event->pmu = pmu;
		event->terms = file_of(list, pmu, names[i]->d_name, "");
		event->unit = file_of(list, pmu, names[i]->d_name, ".unit");
		event->scale = file_of(list, pmu, names[i]->d_name, ".scale");
	}
	list_free_names(names, nr);
	return rc;
}

int list_each_format(const struct list *list, const struct perch_pmu *pmu, list_part_call *call,
		     void *context)
{
	struct list_part part = { 0 };
	struct dirent **names;
	int nr = names_in(list, pmu, "format", &names), rc = 0;
	char path[PATH_MAX];

	for (int i = 0; i < nr && !rc; i++) {
		if (snprintf(path, sizeof(path), DEVICES "/%s/format/%s", pmu->name,
			     names[i]->d_name) >= (int)sizeof(path) ||
		    perch_machine_read(list->machine, path, part.text, sizeof(part.text)) <= 0)
			continue;
		snprintf(part.name, sizeof(part.name), "%.127s", names[i]->d_name);
		rc = call(context, &part);
	}
	list_free_names(names, nr);
	return rc;
}

/* How many bits "config:0-7,32-35" has; 0: it is no format. */
static unsigned bits_of(const char *format)
{
	const char *at = strchr(format, ':');
	unsigned bits = 0;

	while (at && *at) {
		char *end;
		unsigned long first = strtoul(at + 1, &end, 10), last = first;

		if (end == at + 1 || first > 63)
			return 0;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > 63)
			return 0;
		bits += last - first + 1;
		at = *end == ',' ? end : NULL;
	}
	return bits > 64 ? 64 : bits;
}

struct form {
	char text[1024];
	size_t used;
};

/* "event=0..255": a term and what it can be; one bit is said by its name alone. */
static int add_term(void *context, const struct list_part *part)
{
	struct form *form = context;
	unsigned bits = bits_of(part->text);
	const char *between = form->text[form->used - 1] == '/' ? "" : ",";
	size_t room = sizeof(form->text) - form->used;
	int length;

	if (!bits)
		return 0;
	if (bits == 1)
		length = snprintf(form->text + form->used, room, "%s%s", between, part->name);
	else if (bits <= 16)
		length = snprintf(form->text + form->used, room, "%s%s=0..%u", between, part->name,
				  (1u << bits) - 1);
	else
		length = snprintf(form->text + form->used, room, "%s%s=0..%#llx", between,
				  part->name, bits == 64 ? ~0ull : (1ull << bits) - 1);
	if ((size_t)length >= room) {
		form->text[form->used] = '\0';
		return -ENAMETOOLONG;
	}
	form->used += length;
	return 0;
}

/* What these take is a path or a symbol, which terms have no place for: the forms of probes stand
 * for them. */
static bool needs_text(const struct perch_pmu *pmu)
{
	return !strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe");
}

/* "msr/event=0..0xffffffffffffffff/modifier" for a PMU that has formats. */
static int gather_format(struct list *list, const struct perch_pmu *pmu)
{
	struct form form = { .used = 0 };
	struct list_event *event;
	size_t bare;
	int rc;

	if (needs_text(pmu))
		return 0;
	form.used = bare = snprintf(form.text, sizeof(form.text), "%s/", pmu->name);
	list_each_format(list, pmu, add_term, &form);
	if (form.used == bare)
		return 0;
	snprintf(form.text + form.used, sizeof(form.text) - form.used, "/modifier");
	rc = list_add(list, LIST_RAW, form.text, NULL, &event);
	if (event) {
		event->pmu = pmu;
		event->form = true;
	}
	return rc;
}

static int each_pmu(struct list *list,
		    int (*gather)(struct list *list, const struct perch_pmu *pmu))
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(list->machine, &pmus, &nr, NULL))
		return 0; /* no sysfs: nothing to list */
	for (size_t i = 0; i < nr; i++)
		if (gather(list, &pmus[i]))
			return -ENOMEM;
	return 0;
}

int list_gather_pmus(struct list *list)
{
	return each_pmu(list, gather_events);
}

int list_gather_formats(struct list *list)
{
	return each_pmu(list, gather_format);
}
