/* SPDX-License-Identifier: MIT */
/* What the gathering of events shares: adding one that is wanted, trying it, names in a folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "options.h"

static bool matches(const char *text, const char *word)
{
	if (strpbrk(word, "*?["))
		return fnmatch(word, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, word);
}

static bool wanted(const struct list_filter *filter, enum list_kind kind, const char *name,
		   const char *alias)
{
	if (filter->kinds && !(filter->kinds & 1u << kind))
		return false;
	if (!filter->nr_words)
		return true;
	for (size_t i = 0; i < filter->nr_words; i++)
		if (matches(name, filter->words[i]) || (alias && matches(alias, filter->words[i])))
			return true;
	return false;
}

int list_add(struct list *list, enum list_kind kind, const char *name, const char *alias,
	     struct list_event **added)
{
	struct list_event *larger;

	*added = NULL;
	if (!wanted(&list->filter, kind, name, alias))
		return 0;
	if (!(list->nr & (list->nr - 1))) {
		larger = reallocarray(list->event, list->nr ? 2 * list->nr : 1, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		list->event = larger;
	}
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
	event->state = call.errnum == EACCES || call.errnum == EPERM ? LIST_FORBIDDEN
								     : LIST_UNSUPPORTED;
	perch_explain(&call, list->machine, &event->reason);
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int list_names_in(const char *path, struct dirent ***names)
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
