/* SPDX-License-Identifier: MIT */
/* The PMUs of sysfs: their named events with unit and scale, and their format terms. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "options.h"

#define DEVICES "/sys/bus/event_source/devices"

static int read_pmu_directory(const struct list *list, const struct perch_pmu *pmu,
			      const char *directory, struct dirent ***names)
{
	char path[PATH_MAX], relative[192];

	snprintf(relative, sizeof(relative), DEVICES "/%s/%s", pmu->name, directory);
	if (perch_machine_path(list->machine, relative, path, sizeof(path)) < 0)
		return -ENAMETOOLONG;
	return list_read_directory(path, names);
}

/* Returns the contents of events/EVENT or events/EVENT.SUFFIX; NULL if there is none. */
static char *read_event_file(const struct list *list, const struct perch_pmu *pmu,
			     const char *event, const char *suffix)
{
	char path[PATH_MAX], text[256];

	if (snprintf(path, sizeof(path), DEVICES "/%s/events/%s%s", pmu->name, event, suffix) >=
		    (int)sizeof(path) ||
	    perch_machine_read(list->machine, path, text, sizeof(text)) <= 0)
		return NULL;
	return strdup(text);
}

/* A file with a dot in its name, such as EVENT.unit, describes an event and is not an event itself.
 */
static int gather_events(struct list *list, const struct perch_pmu *pmu)
{
	struct list_event *event;
	struct dirent **names;
	int nr = read_pmu_directory(list, pmu, "events", &names), rc = 0;
	char name[384];

	for (int i = 0; i < nr && !rc; i++) {
		if (strchr(names[i]->d_name, '.'))
			continue;
		snprintf(name, sizeof(name), "%s/%s/", pmu->name, names[i]->d_name);
		rc = list_add(list, LIST_PMU, name, NULL, &event);
		if (rc || !event)
			continue;
		event->pmu = pmu;
		event->terms = read_event_file(list, pmu, names[i]->d_name, "");
		event->unit = read_event_file(list, pmu, names[i]->d_name, ".unit");
		event->scale = read_event_file(list, pmu, names[i]->d_name, ".scale");
	}
	list_free_names(names, nr);
	return rc;
}

int list_visit_formats(const struct list *list, const struct perch_pmu *pmu, list_visit *visit,
		       void *context)
{
	struct list_field field = { 0 };
	struct dirent **names;
	int nr = read_pmu_directory(list, pmu, "format", &names), rc = 0;
	char path[PATH_MAX];

	for (int i = 0; i < nr && !rc; i++) {
		if (snprintf(path, sizeof(path), DEVICES "/%s/format/%s", pmu->name,
			     names[i]->d_name) >= (int)sizeof(path) ||
		    perch_machine_read(list->machine, path, field.text, sizeof(field.text)) <= 0)
			continue;
		snprintf(field.name, sizeof(field.name), "%.127s", names[i]->d_name);
		rc = visit(context, &field);
	}
	list_free_names(names, nr);
	return rc;
}

/* Returns the number of bits in "config:0-7,32-35"; 0 if the text is invalid. */
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

struct pmu_form {
	char text[1024];
	size_t used;
};

/* Appends "event=0..255", the term with its range. A term of one bit needs no value. */
static int add_term(void *context, const struct list_field *field)
{
	struct pmu_form *form = context;
	unsigned bits = bits_of(field->text);
	const char *separator = form->text[form->used - 1] == '/' ? "" : ",";
	size_t left = sizeof(form->text) - form->used;
	int length;

	if (!bits)
		return 0;
	if (bits == 1)
		length = snprintf(form->text + form->used, left, "%s%s", separator, field->name);
	else if (bits <= 16)
		length = snprintf(form->text + form->used, left, "%s%s=0..%u", separator,
				  field->name, (1u << bits) - 1);
	else
		length = snprintf(form->text + form->used, left, "%s%s=0..%#llx", separator,
				  field->name, bits == 64 ? ~0ull : (1ull << bits) - 1);
	if ((size_t)length >= left) {
		form->text[form->used] = '\0';
		return -ENAMETOOLONG;
	}
	form->used += length;
	return 0;
}

/* These need a path or a symbol, which terms cannot have. Their forms are in list_forms.c. */
static bool needs_text(const struct perch_pmu *pmu)
{
	return !strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe");
}

/* Adds "msr/event=0..0xffffffffffffffff/modifier" for a PMU with format files. */
static int gather_format(struct list *list, const struct perch_pmu *pmu)
{
	struct pmu_form form = { .used = 0 };
	struct list_event *event;
	size_t prefix;
	int rc;

	if (needs_text(pmu))
		return 0;
	form.used = prefix = snprintf(form.text, sizeof(form.text), "%s/", pmu->name);
	list_visit_formats(list, pmu, add_term, &form);
	if (form.used == prefix)
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
		return 0; /* there is no sysfs */
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
