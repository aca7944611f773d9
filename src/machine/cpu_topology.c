/* SPDX-License-Identifier: MIT */
/* Where CPUs sit: cores, dies, sockets and NUMA nodes. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MAX_NODES 1024 /* the kernel's own bound: 2^CONFIG_NODES_SHIFT */

void perch__forget_nodes(struct perch_machine *machine)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		perch_cpus_clear(&machine->node[i].cpus);
	free(machine->node);
	machine->node = NULL;
	machine->nr_nodes = 0;
}

/* "node3" -> 3; -1: another file. */
static int node_number(const char *name)
{
	char *end;
	long number;

	if (strncmp(name, "node", 4) || !isdigit((unsigned char)name[4]))
		return -1;
	number = strtol(name + 4, &end, 10);
	return *end || number > INT_MAX ? -1 : (int)number;
}

static int add_node(struct perch_machine *machine, int number)
{
	char path[128];
	struct node *larger;
	struct node node = { .number = number };

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", number);
	if (perch__read_cpus(machine, path, &node.cpus, NULL))
		return 0; /* a node of memory alone has an empty list */
	larger = reallocarray(machine->node, machine->nr_nodes + 1, sizeof(*larger));
	if (!larger) {
		perch_cpus_clear(&node.cpus);
		return -ENOMEM;
	}
	machine->node = larger;
	machine->node[machine->nr_nodes++] = node;
	return 0;
}

/* No folder of nodes: a kernel without NUMA, where no CPU has one. */
static int read_nodes(struct perch_machine *machine, struct perch_error *err)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *folder;
	int rc = 0;

	if (perch_machine_path(machine, path, sizeof(path), "/sys/devices/system/node") < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the machine's root is too long a path");
	folder = opendir(path);
	while (folder && !rc && machine->nr_nodes < MAX_NODES && (entry = readdir(folder))) {
		int number = node_number(entry->d_name);

		if (number >= 0)
			rc = add_node(machine, number);
	}
	if (folder)
		closedir(folder);
	if (rc) {
		perch__forget_nodes(machine);
		return perch_error_set(err, -rc, PERCH_ERROR_NO_MEMORY,
				       "no memory for the list of NUMA nodes");
	}
	machine->nodes_known = true;
	return 0;
}

static bool lists(const struct perch_cpus *cpus, int cpu)
{
	for (size_t i = 0; i < cpus->nr; i++)
		if (cpus->cpu[i] == cpu)
			return true;
	return false;
}

static int node_of(const struct perch_machine *machine, int cpu)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (lists(&machine->node[i].cpus, cpu))
			return machine->node[i].number;
	return -1;
}

/* One number of the CPU's topology folder; -1 where it is not there (or the kernel itself says -1).
 */
static int topology(const struct perch_machine *machine, int cpu, const char *name)
{
	char path[128], text[32], *end;
	long number;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
	if (perch_machine_read(machine, path, text, sizeof(text)) <= 0)
		return -1;
	number = strtol(text, &end, 10);
	return end == text || *end || number < 0 || number > INT_MAX ? -1 : (int)number;
}

int perch_machine_cpu_topology(struct perch_machine *machine, int cpu,
			       struct perch_cpu_topology *place, struct perch_error *err)
{
	char path[128], name[PATH_MAX];
	int rc;

	if (cpu < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_NO_CPU, "%d is no CPU", cpu);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	if (perch_machine_path(machine, name, sizeof(name), path) < 0 || access(name, F_OK)) {
		perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU, "there is no CPU %d", cpu);
		perch_error_remedy(err, "/sys/devices/system/cpu/online lists those that work");
		return -ENODEV;
	}
	rc = machine->nodes_known ? 0 : read_nodes(machine, err);
	if (rc)
		return rc;
	place->cpu = cpu;
	place->core = topology(machine, cpu, "core_id");
	place->die = topology(machine, cpu, "die_id");
	place->socket = topology(machine, cpu, "physical_package_id");
	place->node = node_of(machine, cpu);
	return 0;
}
