/* SPDX-License-Identifier: MIT */
/* Events that are written rather than named. */
#include <errno.h>
#include <string.h>

#include "list.h"
#include "options.h"

static const struct {
	enum list_kind kind;
	const char *text;
	const char *pmu;   /* works where the machine has this PMU; NULL: everywhere */
	const char *probe; /* or where this event can be read; NULL */
	bool raw;	   /* or where cores have a PMU */
} forms[] = {
	{ LIST_RAW, "rNNN", NULL, NULL, true },
	{ LIST_RAW, "PMU/t1=v1[,t2=v2,t3 ...]/modifier", NULL, NULL, false },
	{ LIST_BREAKPOINT, "mem:<addr>[/len][:access]", "breakpoint", NULL, false },
	{ LIST_PROBE, "uprobe:PATH:SYMBOL[+OFF]", "uprobe", NULL, false },
	{ LIST_PROBE, "uretprobe:PATH:SYMBOL", "uprobe", NULL, false },
	{ LIST_PROBE, "usdt:PATH:PROVIDER:NAME", "uprobe", NULL, false },
	{ LIST_PROBE, "kprobe:SYMBOL[+OFF]", "kprobe", NULL, false },
	{ LIST_PROBE, "kretprobe:SYMBOL", "kprobe", NULL, false },
	{ LIST_PFM, "pfm:NAME[:UMASK...]", NULL, "pfm:perf::PAGE-FAULTS", false },
};

/* libpfm4 and its like: known by asking for an event that every machine has. */
static void try_to_read(struct list *list, struct list_event *event, const char *text)
{
	struct perch_events events = { 0 };

	event->state = LIST_WORKS;
	if (perch_events_parse(&events, text, list->machine, &event->reason) < 0)
		event->state = LIST_UNSUPPORTED;
	perch_events_clear(&events);
}

static void find_pmu(struct list *list, struct list_event *event, const char *name)
{
	event->pmu = perch_machine_pmu(list->machine, name);
	if (event->pmu)
		return;
	event->state = LIST_UNSUPPORTED;
	perch_error_set(&event->reason, ENOENT, PERCH_ERROR_UNKNOWN_PMU,
			"the kernel has no PMU '%s': it was built without it", name);
}

/* rNNN is for the PMU of the cores, whatever its number means there: without one, opening it tells
 * why. */
static void try_raw(struct list *list, struct list_event *event)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(list->machine, &pmus, &nr, NULL))
		return;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core || pmus[i].type == PERCH_TYPE_RAW)
			return;
	list_try(list, event, PERCH_TYPE_RAW, 0);
}

int list_gather_forms(struct list *list, enum list_kind kind)
{
	for (size_t i = 0; i < CLI_NR(forms); i++) {
		struct list_event *event;

		if (forms[i].kind != kind)
			continue;
		if (list_add(list, kind, forms[i].text, NULL, &event))
			return -ENOMEM;
		if (!event)
			continue;
		event->form = true;
		if (forms[i].pmu)
			find_pmu(list, event, forms[i].pmu);
		if (forms[i].raw)
			try_raw(list, event);
		if (forms[i].probe)
			try_to_read(list, event, forms[i].probe);
	}
	return 0;
}
