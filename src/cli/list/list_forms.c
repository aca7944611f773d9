/* SPDX-License-Identifier: MIT */
/* Forms of events that have arguments instead of fixed names. */
#include <errno.h>
#include <string.h>

#include "list.h"
#include "options.h"

static const struct {
	enum list_kind kind;
	const char *text;
	const char *pmu;     /* works if the machine has this PMU; NULL is always */
	const char *example; /* works if this event can be parsed, or NULL */
	bool raw;	     /* works if cores have a PMU */
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

static void try_parse(struct list *list, struct list_event *event, const char *text)
{
	struct perch_events events = { 0 };

	event->state = LIST_WORKS;
	if (perch_events_parse(&events, text, list->machine, &event->reason) < 0)
		event->state = LIST_NOT_SUPPORTED;
	perch_events_clear(&events);
}

static void find_pmu(struct list *list, struct list_event *event, const char *name)
{
	event->pmu = perch_machine_pmu(list->machine, name);
	if (event->pmu)
		return;
	event->state = LIST_NOT_SUPPORTED;
	perch_error_set(&event->reason, ENOENT, PERCH_ERROR_UNKNOWN_PMU,
			"the kernel was built without the PMU '%s'", name);
}

/* rNNN works if there is a core PMU, although not every number is an event. Without one, opening a
 * raw event gives the reason. */
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
		if (kind == LIST_BREAKPOINT && event->pmu)
			list_try_breakpoints(list, event);
		if (forms[i].raw)
			try_raw(list, event);
		if (forms[i].example)
			try_parse(list, event, forms[i].example);
	}
	return 0;
}
