/* SPDX-License-Identifier: MIT */
/*
 * Probes in the functions of the kernel that read the paths of all calls: paths are then as they
 * were in the call, also of programs that have ended, and in recordings.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "probes.h"

#define ARGUMENTS CALLS_ADDRESS_FIELD "=$arg1:x64 " CALLS_PATH_FIELD "=+0($arg1):ustring"

/* Stores "kprobe:getname,..." of the functions that there are: it depends on the release, and on
 * what the compiler has inlined. */
static void find_functions(char *text, size_t size)
{
	static const char *const names[] = { "getname", "getname_flags", "getname_uflags",
					     "do_getname" };
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[256], type, name[128];
	size_t used = 0;

	text[0] = '\0';
	while (file && used < size && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "getname") || sscanf(line, "%*s %c %127s", &type, name) != 2 ||
		    (type != 't' && type != 'T'))
			continue;
		for (size_t i = 0; i < CLI_NR(names); i++)
			if (!strcmp(name, names[i]))
				used += (size_t)snprintf(text + used, size - used, "%skprobe:%s",
							 used ? "," : "", name);
	}
	if (file)
		fclose(file);
}

/* True if one of the events is the tracepoint of a directory in tracefs. */
static bool is_defined(const struct perch_events *events, const char *directory, const char *name)
{
	char path[2 * PATH_MAX];
	unsigned long id = 0;
	FILE *file;
	bool is = false;

	snprintf(path, sizeof(path), "%s/%s/id", directory, name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%lu", &id) == 1)
		for (size_t i = 0; i < events->nr; i++)
			is |= events->event[i].attr.config == id;
	if (file)
		fclose(file);
	return is;
}

/* Stores the tracepoints of the events: "perch:p_4026531836_7_0,...". */
static void list_definitions(const struct perch_events *events, struct perch_machine *machine,
			     char *text, size_t size)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	size_t used = 0;
	DIR *directory;

	if (perch_machine_tracefs(machine, path, sizeof(path) - sizeof("/events/perch"), NULL))
		return;
	directory = opendir(strcat(path, "/events/perch"));
	while (directory && used < size && (entry = readdir(directory))) {
		if (is_defined(events, path, entry->d_name))
			used += (size_t)snprintf(text + used, size - used, "%sperch:%s",
						 used ? "," : "", entry->d_name);
	}
	if (directory)
		closedir(directory);
	if (used >= size)
		text[0] = '\0';
}

static bool add_arguments(const struct perch_events *events)
{
	for (size_t i = 0; i < events->nr; i++) {
		events->event[i].arguments = strdup(ARGUMENTS);
		if (!events->event[i].arguments)
			return false;
	}
	return true;
}

void calls_paths_define(struct perch_machine *machine, char *events, size_t size)
{
	struct perch_events list = { 0 };
	char text[256];

	events[0] = '\0';
	if (!perch_machine_privileged(machine))
		return;
	find_functions(text, sizeof(text));
	if (text[0] && perch_events_add(&list, text, machine, NULL) >= 0 && add_arguments(&list) &&
	    !cli_define_until_exit(&list, machine, NULL))
		list_definitions(&list, machine, events, size);
	perch_events_clear(&list);
}
