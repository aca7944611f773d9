/* SPDX-License-Identifier: MIT */
/* Kinds and states of events, the filter, and a test whether an event can be opened. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "list.h"
#include "options.h"

const struct list_kind_text list_kinds[LIST_KINDS] = {
	[LIST_HARDWARE] = { "Hardware event", "hardware", "hardware events", { "hw", "hardware" } },
	[LIST_SOFTWARE] = { "Software event", "software", "software events", { "sw", "software" } },
	[LIST_CACHE] = { "Hardware cache event",
			 "cache",
			 "hardware cache events",
			 { "cache", "hwcache" } },
	[LIST_PMU] = { "Kernel PMU event", "pmu", "PMU events", { "pmu" } },
	[LIST_RAW] = { "Raw event descriptor", "raw", "raw events", { "raw", "pmu" } },
	[LIST_BREAKPOINT] = { "Hardware breakpoint",
			      "breakpoint",
			      "hardware breakpoints",
			      { "mem", "breakpoint", "breakpoints" } },
	[LIST_PROBE] = { "Probe", "probe", "probes", { "probe", "probes", "sdt", "usdt" } },
	[LIST_PFM] = { "libpfm4 event", "pfm", "names of libpfm4", { "pfm" } },
	[LIST_TRACEPOINT] = { "Tracepoint event",
			      "tracepoint",
			      "tracepoints",
			      { "tracepoint", "tp" } },
};

bool list_kind_word(const char *word, unsigned *kinds)
{
	bool found = false;

	for (unsigned kind = 0; kind < LIST_KINDS; kind++)
		for (size_t i = 0; i < CLI_NR(list_kinds[kind].words) && list_kinds[kind].words[i];
		     i++)
			if (!strcmp(word, list_kinds[kind].words[i])) {
				*kinds |= 1u << kind;
				found = true;
			}
	return found;
}

const char *list_state_text(enum list_state state)
{
	static const char *const texts[] = {
		[LIST_NOT_TRIED] = "not tried",
		[LIST_WORKS] = "works",
		[LIST_NOT_SUPPORTED] = "not supported",
		[LIST_NOT_PERMITTED] = "not permitted",
	};

	return texts[state];
}

static bool matches_word(const char *text, const char *word)
{
	if (strpbrk(word, "*?["))
		return fnmatch(word, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, word);
}

bool list_wanted(const struct list_filter *filter, const char *name, const char *alias)
{
	if (!filter->nr_words)
		return true;
	for (size_t i = 0; i < filter->nr_words; i++)
		if (matches_word(name, filter->words[i]) ||
		    (alias && matches_word(alias, filter->words[i])))
			return true;
	return false;
}

int list_add(struct list *list, enum list_kind kind, const char *name, const char *alias,
	     struct list_event **added)
{
	*added = NULL;
	if ((list->filter.kinds && !(list->filter.kinds & 1u << kind)) ||
	    !list_wanted(&list->filter, name, alias))
		return 0;
	if (PERCH__ARRAY_RESERVE(list->event, list->capacity, list->nr + 1))
		return -ENOMEM;
	*added = &list->event[list->nr];
	**added = (struct list_event){ .name = strdup(name), .alias = alias, .kind = kind };
	if (!(*added)->name)
		return -ENOMEM;
	list->nr++;
	return 0;
}

void list_try(struct list *list, struct list_event *event, uint32_t type, uint64_t config)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(list->machine);
	struct perch_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .flags = PERCH_FLAG_FD_CLOEXEC
	};
	int fd = calls->perf_event_open(calls->context, &attr, call.pid, call.cpu, call.group_fd,
					call.flags);

	if (fd >= 0) {
		calls->close(calls->context, fd);
		event->state = LIST_WORKS;
		return;
	}
	call.errnum = errno;
	if (call.errnum == E2BIG) {
		call.kernel_size = attr.size;
		attr.size = sizeof(attr);
	}
	event->state = call.errnum == EACCES || call.errnum == EPERM ? LIST_NOT_PERMITTED
								     : LIST_NOT_SUPPORTED;
	perch_explain(&call, list->machine, &event->reason);
}

void list_try_breakpoints(struct list *list, struct list_event *event)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT, .size = sizeof(attr) };
	const struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EOPNOTSUPP
	};

	if (perch_machine_breakpoints_fire(list->machine, NULL) != 0)
		return;
	event->state = LIST_NOT_SUPPORTED;
	perch_explain(&call, list->machine, &event->reason);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int list_read_directory(const char *path, struct dirent ***names)
{
	int nr = scandir(path, names, not_hidden, alphasort);

	return nr < 0 ? -errno : nr;
}

void list_free_names(struct dirent **names, int nr)
{
	for (int i = 0; i < nr; i++)
		free(names[i]);
	if (nr >= 0)
		free(names);
}
