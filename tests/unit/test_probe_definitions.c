/* SPDX-License-Identifier: MIT */
/* Definitions of probes in tracefs, with files in its place. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <perch/probes.h>

#include "tree.h"

#define PMUS   "/sys/bus/event_source/devices/"
#define EVENTS "/sys/kernel/tracing/events/"

static char names[3][64]; /* of the next definitions of this process */

static unsigned long pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

static void set_names(unsigned first)
{
	for (unsigned i = 0; i < 3; i++)
		snprintf(names[i], sizeof(names[i]), "p_%lu_%d_%u", pid_namespace(), (int)getpid(),
			 first + i);
}

/* A process that has ended, and whose id no process has now. */
static pid_t ended_process(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

/* The ids of definitions exist before, as files of a process that had the id of this one. */
static struct perch_machine *make_machine(char *root)
{
	char foreign[128], id[2][128];
	const struct tree_file files[] = {
		{ PMUS "uprobe/type", "8\n" },
		{ PMUS "kprobe/type", "6\n" },
		{ EVENTS "sched/sched_switch/id", "21\n" },
		{ "/sys/kernel/tracing/uprobe_events", "" },
		{ "/sys/kernel/tracing/kprobe_events", "" },
		{ foreign, "2\n" },
		{ id[0], "101\n" },
		{ id[1], "102\n" },
	};
	struct perch_machine *machine;

	snprintf(foreign, sizeof(foreign), EVENTS "perch/p_1_%d_0/id", (int)getpid());
	for (size_t i = 0; i < 2; i++)
		snprintf(id[i], sizeof(id[i]), EVENTS "perch/%s/id", names[i]);
	tree_make(root, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	return machine;
}

/* Adds an empty definition of another process. */
static void add_definition(const char *root, pid_t pid)
{
	char path[PATH_MAX + 128];

	snprintf(path, sizeof(path), "%s" EVENTS "perch/p_%lu_%d_0", root, pid_namespace(),
		 (int)pid);
	assert_int_equal(mkdir(path, 0755), 0);
}

static size_t nr_stale(const char *root)
{
	struct perch_stale_probes stale;
	char tracefs[PATH_MAX + 64];

	snprintf(tracefs, sizeof(tracefs), "%s/sys/kernel/tracing", root);
	perch_probes_find_stale(tracefs, &stale);
	return stale.nr;
}

/* What was written to a file of tracefs. */
static const char *written(const char *root, const char *name)
{
	static char text[4096];
	char path[PATH_MAX + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/kernel/tracing/%s", root, name);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return text;
}

/* A uprobe with a counter, its group's other event, and a kretprobe. */
static void make_events(struct perch_events *events)
{
	*events = (struct perch_events){ .nr = 3 };
	events->event = calloc(3, sizeof(*events->event));
	assert_non_null(events->event);
	for (int i = 0; i < 3; i++) {
		events->event[i].leader = i == 2 ? 2 : 0;
		events->event[i].terms.inherit = PERCH_TRISTATE_NO;
		snprintf(events->event[i].name, sizeof(events->event[i].name), "event-%d", i);
	}
	events->event[0].attr.type = 8;
	events->event[0].attr.config = UINT64_C(0x20) << 32;
	events->event[0].attr.config2 = 0x1234;
	events->event[0].path = strdup("/bin/true");
	events->event[2].attr.type = 6;
	events->event[2].attr.config = 1;
	events->event[2].path = strdup("vfs_read");
}

static void assert_defined(const struct perch_events *events)
{
	const struct perch_event *event = events->event;

	assert_int_equal(event[0].attr.type, PERCH_TYPE_TRACEPOINT);
	assert_int_equal(event[0].attr.config, 101);
	assert_int_equal(event[0].attr.config2, 0);
	assert_null(event[0].path);
	assert_string_equal(event[0].name, "event-0");
	assert_int_equal(event[1].attr.type, 0);
	assert_int_equal(event[1].terms.inherit, PERCH_TRISTATE_UNSET);
	assert_int_equal(event[2].attr.config, 102);
}

static void defines_and_removes(void **state)
{
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_probes *probes;
	char root[PATH_MAX], defined[512], removed[128];
	const char *text;

	(void)state;
	set_names(0);
	machine = make_machine(root);
	assert_int_equal(nr_stale(root), 2);
	add_definition(root, ended_process());
	add_definition(root, getppid());
	assert_int_equal(nr_stale(root), 3);
	make_events(&events);
	assert_int_equal(perch_probes_define(&probes, &events, machine, NULL), 0);
	assert_non_null(probes);
	assert_defined(&events);
	assert_int_equal(nr_stale(root), 1); /* not those of this process any more */

	snprintf(defined, sizeof(defined), "r:perch/%s vfs_read+0\n", names[1]);
	assert_string_equal(written(root, "kprobe_events"), defined);
	snprintf(defined, sizeof(defined), "p:perch/%s /bin/true:0x1234(0x20)\n", names[0]);
	snprintf(removed, sizeof(removed), "-:perch/%s\n", names[0]);
	/* the one that was left is removed before; foreign ones of other namespaces stay */
	text = written(root, "uprobe_events");
	assert_true(strstr(text, removed) < strstr(text, defined));
	assert_non_null(strstr(text, defined));
	assert_null(strstr(text, "p_1_"));

	perch_probes_free(probes);
	text = strstr(written(root, "uprobe_events"), defined);
	assert_non_null(text);
	assert_non_null(strstr(text, removed));
	perch_events_clear(&events);
	perch_machine_free(machine);
	tree_remove(root);
}

/* A second list has other names, and does not remove those of the first. */
static void names_are_used_once(void **state)
{
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_probes *probes;
	char root[PATH_MAX], defined[512];

	(void)state;
	set_names(2); /* after those of the test before */
	machine = make_machine(root);
	make_events(&events);
	assert_int_equal(perch_probes_define(&probes, &events, machine, NULL), 0);
	snprintf(defined, sizeof(defined), "p:perch/%s /bin/true:0x1234(0x20)\n", names[0]);
	assert_string_equal(written(root, "uprobe_events"), defined);
	perch_probes_free(probes);
	perch_events_clear(&events);
	perch_machine_free(machine);
	tree_remove(root);
}

/* A process that got its copy by fork(2) removes nothing. */
static void children_remove_nothing(void **state)
{
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_probes *probes;
	char root[PATH_MAX], before[4096];
	pid_t child;

	(void)state;
	set_names(4);
	machine = make_machine(root);
	make_events(&events);
	assert_int_equal(perch_probes_define(&probes, &events, machine, NULL), 0);
	snprintf(before, sizeof(before), "%s", written(root, "uprobe_events"));
	child = fork();
	if (!child) {
		perch_probes_free(probes);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_string_equal(written(root, "uprobe_events"), before);
	perch_probes_free(probes);
	assert_true(strlen(written(root, "uprobe_events")) > strlen(before));
	perch_events_clear(&events);
	perch_machine_free(machine);
	tree_remove(root);
}

static void needs_tracefs(void **state)
{
	static const struct tree_file files[] = { { PMUS "uprobe/type", "8\n" },
						  { PMUS "kprobe/type", "6\n" } };
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_probes *probes;
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, files, 2);
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	make_events(&events);
	assert_int_equal(perch_probes_define(&probes, &events, machine, &err), -ENOENT);
	assert_null(probes);
	assert_non_null(strstr(err.message, "'event-0' would miss new threads and children"));
	perch_events_clear(&events);
	/* without probes nothing is needed */
	assert_int_equal(perch_probes_define(&probes, &events, machine, &err), 0);
	assert_null(probes);
	perch_machine_free(machine);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defines_and_removes),
		cmocka_unit_test(names_are_used_once),
		cmocka_unit_test(children_remove_nothing),
		cmocka_unit_test(needs_tracefs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
