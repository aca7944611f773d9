/* SPDX-License-Identifier: MIT */
/* The position of CPUs: cores, dies, sockets and NUMA nodes. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "internal.h"

#define MAX_NODES 1024 /* the maximum of the kernel: 2^CONFIG_NODES_SHIFT */

void perch__clear_nodes(struct perch_machine *machine)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		perch_cpus_clear(&machine->node[i].cpus);
	free(machine->node);
	machine->node = NULL;
	machine->nr_nodes = 0;
}

/* "node3" -> 3; -1 for another name. */
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
	struct node node = { .number = number };

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", number);
	if (perch__read_cpus(machine, path, &node.cpus, NULL))
		return 0; /* a node with memory and no CPU has an empty list */
	if (PERCH__ARRAY_RESERVE_BY_NR(machine->node, machine->nr_nodes, 1)) {
		perch_cpus_clear(&node.cpus);
		return -ENOMEM;
	}
	machine->node[machine->nr_nodes++] = node;
	return 0;
}

/* A kernel without NUMA has no node directory. */
static int read_nodes(struct perch_machine *machine, struct perch_error *err)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *directory;
	int rc = 0;

	if (perch_machine_path(machine, "/sys/devices/system/node", path, sizeof(path)) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root of the machine is too long");
	directory = opendir(path);
	while (directory && !rc && machine->nr_nodes < MAX_NODES && (entry = readdir(directory))) {
		int number = node_number(entry->d_name);

		if (number >= 0)
			rc = add_node(machine, number);
	}
	if (directory)
		closedir(directory);
	if (rc) {
		perch__clear_nodes(machine);
		return perch_error_set(err, -rc, PERCH_ERROR_NO_MEMORY,
				       "out of memory for the list of NUMA nodes");
	}
	machine->nodes_valid = true;
	return 0;
}

static int node_of(const struct perch_machine *machine, int cpu)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (perch_cpus_contains(&machine->node[i].cpus, cpu))
			return machine->node[i].number;
	return -1;
}

/* Reads a number from the topology directory of a CPU; -1 if it is missing or the kernel writes -1.
 */
static int read_topology(const struct perch_machine *machine, int cpu, const char *name)
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
			       struct perch_cpu_topology *topology, struct perch_error *err)
{
	char path[128], name[PATH_MAX];
	int rc;

	if (cpu < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_NO_CPU, "%d is not a CPU", cpu);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	if (perch_machine_path(machine, path, name, sizeof(name)) < 0 || access(name, F_OK)) {
		perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU, "there is no CPU %d", cpu);
		perch_error_remedy(err, "choose from the CPUs in /sys/devices/system/cpu/online");
		return -ENODEV;
	}
	rc = machine->nodes_valid ? 0 : read_nodes(machine, err);
	if (rc)
		return rc;
	topology->cpu = cpu;
	topology->core = read_topology(machine, cpu, "core_id");
	topology->die = read_topology(machine, cpu, "die_id");
	topology->socket = read_topology(machine, cpu, "physical_package_id");
	topology->node = node_of(machine, cpu);
	return 0;
}
