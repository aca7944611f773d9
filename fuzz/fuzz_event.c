/* SPDX-License-Identifier: MIT */
/*
 * The input is a list of events, on four described machines, the contents of a file of events, and
 * a filter. Accepted input must give complete events; an error must have the position of the fault.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/event.h>

#include "tree.h"

#define PMUS   "/sys/bus/event_source/devices/"
#define EVENTS "/sys/kernel/tracing/events/"

static const struct tree_file plain[] = {
	{ PMUS "cpu/type", "4\n" },
	{ PMUS "cpu/format/event", "config:0-7,32-35\n" },
	{ PMUS "cpu/format/umask", "config:8-15\n" },
	{ PMUS "cpu/format/ldlat", "config1:0-15\n" },
	{ PMUS "cpu/format/bad", "config9:0-70\n" },
	{ PMUS "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ PMUS "cpu/events/asks", "event=0x1,umask=?\n" },
	{ PMUS "power/type", "21\n" },
	{ PMUS "power/format/event", "config:0-7\n" },
	{ PMUS "power/events/energy-pkg", "event=0x02\n" },
	{ PMUS "power/events/energy-pkg.scale", "2.3e-10\n" },
	{ PMUS "power/events/energy-pkg.unit", "Joules\n" },
	{ PMUS "uprobe/type", "8\n" },
	{ PMUS "uprobe/format/retprobe", "config:0\n" },
	{ PMUS "uprobe/format/ref_ctr_offset", "config:32-63\n" },
	{ PMUS "kprobe/type", "9\n" },
	{ PMUS "kprobe/format/retprobe", "config:0\n" },
	{ EVENTS "sched/sched_switch/id", "314\n" },
	{ EVENTS "sched/sched_wakeup/id", "317\n" },
	{ EVENTS "sched/enable", "0\n" },
	{ EVENTS "syscalls/sys_enter_openat/id", "700\n" },
};

static const struct tree_file hybrid[] = {
	{ PMUS "cpu_core/type", "4\n" },
	{ PMUS "cpu_core/cpus", "0-3\n" },
	{ PMUS "cpu_core/format/event", "config:0-7\n" },
	{ PMUS "cpu_core/events/mem-loads", "event=0xcd\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "4-7\n" },
	{ PMUS "cpu_atom/format/event", "config:0-7\n" },
	{ PMUS "cpu_atom/events/mem-loads", "event=0xd0\n" },
	{ PMUS "uncore_imc_0/type", "20\n" },
	{ PMUS "uncore_imc_0/cpumask", "0\n" },
	{ PMUS "uncore_imc_0/format/event", "config:0-7\n" },
	{ PMUS "uncore_imc_0/events/reads", "event=0x4\n" },
	{ PMUS "uncore_imc_1/type", "21\n" },
	{ PMUS "uncore_imc_1/cpumask", "0\n" },
	{ PMUS "uncore_imc_1/format/event", "config:0-7\n" },
	{ PMUS "uncore_imc_1/events/reads", "event=0x4\n" },
};

/* Arm before Linux 6.6: generic events become events of the events directory of each PMU */
static const struct tree_file older[] = {
	{ "/proc/sys/kernel/osrelease", "6.1.75\n" },
	{ "/proc/kallsyms", "ffff0010 T vfs_read\nffff0020 t twice\nffff0030 t twice\t[module]\n" },
	{ PMUS "armv8_cortex_a53/type", "8\n" },
	{ PMUS "armv8_cortex_a53/cpus", "0-3\n" },
	{ PMUS "armv8_cortex_a53/format/event", "config:0-15\n" },
	{ PMUS "armv8_cortex_a53/events/cpu_cycles", "event=0x0011\n" },
	{ PMUS "armv8_cortex_a53/events/inst_retired", "event=0x0008\n" },
	{ PMUS "armv8_cortex_a72/type", "9\n" },
	{ PMUS "armv8_cortex_a72/cpus", "4-5\n" },
	{ PMUS "armv8_cortex_a72/format/event", "config:0-15\n" },
	{ PMUS "armv8_cortex_a72/events/cpu_cycles", "event=0x0011\n" },
	{ PMUS "kprobe/type", "6\n" },
};

#define MACHINES 4
static char roots[3][PATH_MAX];
static struct perch_machine *machines[MACHINES];

static void clean_up(void)
{
	for (size_t i = 0; i < MACHINES; i++)
		perch_machine_free(machines[i]);
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		tree_remove(roots[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	tree_make(roots[0], plain, sizeof(plain) / sizeof(*plain));
	tree_make(roots[1], hybrid, sizeof(hybrid) / sizeof(*hybrid));
	tree_make(roots[2], older, sizeof(older) / sizeof(*older));
	if (perch_machine_new(&machines[0], roots[0], NULL, NULL) ||
	    perch_machine_new(&machines[1], roots[1], NULL, NULL) ||
	    perch_machine_new(&machines[3], roots[2], NULL, NULL) ||
	    perch_machine_new(&machines[2], "/proc/none", NULL, NULL))
		abort();
	atexit(clean_up);
	return 0;
}

static void check(const struct perch_events *events, struct perch_machine *machine)
{
	char name[64];

	if (!events->nr)
		abort();
	for (size_t i = 0; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];

		if (event->leader < 0 || event->leader > (int)i || event->first < 0 ||
		    event->first > (int)i ||
		    memchr(event->name, '\0', sizeof(event->name)) == NULL ||
		    (event->members > 0) != (event->leader == (int)i) ||
		    event->attr.size != sizeof(event->attr) ||
		    events->event[event->leader].leader != event->leader || !(event->scale > 0))
			abort();
		if (i && event->leader == (int)i && events->event[i - 1].leader > (int)i)
			abort();
		if ((event->path ? strlen(event->path) : 0) > PATH_MAX)
			abort();
		perch_attr_name(&event->attr, name, sizeof(name));
		perch_attr_cpus(&event->attr, machine);
	}
}

static void as_file(const char *text, size_t size, struct perch_machine *machine)
{
	int fd = memfd_create("events", 0);
	struct perch_events events = { 0 };
	struct perch_error err;
	char path[64];

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perch_events_add_file(&events, path, machine, &err))
		check(&events, machine);
	else if (events.nr || !err.message[0])
		abort();
	perch_events_clear(&events);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perch_events events;
	struct perch_machine *machine;
	struct perch_error err;
	char *text;

	if (!size || size > 4096)
		return 0;
	machine = machines[data[0] % MACHINES];
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] & 64) {
		as_file(text, size - 1, machine);
	} else if (!perch_events_parse(&events, text, machine, &err)) {
		check(&events, machine);
		perch_events_set_filter(&events, 0, text, machine, &err);
		if (perch_events_add(&events, "{cs,faults},sched:*", machine, &err) &&
		    events.nr == 0)
			abort();
		check(&events, machine);
		perch_events_clear(&events);
	} else if (err.column < 0 || (size_t)err.column > strlen(text) || !err.message[0]) {
		abort();
	}
	free(text);
	return 0;
}
