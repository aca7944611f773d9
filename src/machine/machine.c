/* SPDX-License-Identifier: MIT */
/* Facts about this machine and this user, from /proc and /sys. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "internal.h"

int perch_machine_new(struct perch_machine **result, const char *root,
		      const struct perch_syscalls *calls, struct perch_error *err)
{
	size_t length = root ? strlen(root) : 0;
	struct perch_machine *machine;

	for (size_t i = 0; calls && i < sizeof(calls->reserved) / sizeof(calls->reserved[0]); i++)
		if (calls->reserved[i])
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "perch_syscalls.reserved must be NULL");
	while (length && root[length - 1] == '/')
		length--;
	if (length >= sizeof(machine->root))
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root of the machine is too long: %zu bytes", length);
	machine = calloc(1, sizeof(*machine));
	if (!machine)
		return PERCH__NO_MEMORY(err, "for a machine");
	if (length)
		memcpy(machine->root, root, length);
	machine->calls = calls ? calls : &perch_kernel_syscalls;
	*result = machine;
	return 0;
}

void perch_machine_free(struct perch_machine *machine)
{
	if (!machine)
		return;
	perch_cpus_clear(&machine->cpus);
	for (size_t i = 0; i < machine->nr_pmus; i++)
		perch_cpus_clear(&machine->pmu[i].cpus);
	free(machine->pmu);
	free(machine->cgroups);
	for (size_t i = 0; i < NR_HIERARCHIES; i++)
		free(machine->hierarchy[i].path);
	perch__clear_nodes(machine);
	perch__clear_texts(machine);
	perch__clear_tracepoints(machine);
	free(machine);
}

const struct perch_syscalls *perch_machine_syscalls(const struct perch_machine *machine)
{
	return machine ? machine->calls : &perch_kernel_syscalls;
}

void perch_machine_set_probing(struct perch_machine *machine, bool allowed)
{
	machine->probing = allowed;
}

bool perch_machine_probing(const struct perch_machine *machine)
{
	return machine && machine->probing;
}

void perch_machine_set_demangle(struct perch_machine *machine, char *(*demangle)(const char *name))
{
	machine->demangle = demangle;
}

void perch_machine_set_probe_finder(struct perch_machine *machine, perch_probe_finder *finder)
{
	machine->find_probe = finder;
}

int perch_machine_find_probe(const struct perch_machine *machine,
			     const struct perch_probe_request *request,
			     struct perch_probe_site *site, size_t most, struct perch_error *err)
{
	return machine && machine->find_probe ? machine->find_probe(request, site, most, err)
					      : -ENOSYS;
}

char *perch_machine_demangle(const struct perch_machine *machine, const char *name)
{
	return machine && machine->demangle ? machine->demangle(name) : NULL;
}

static int read_release(const struct perch_machine *machine, struct perch_release *release,
			struct perch_error *err)
{
	struct utsname name;
	ssize_t got;

	memset(release, 0, sizeof(*release));
	got = perch_machine_read(machine, "/proc/sys/kernel/osrelease", release->text,
				 sizeof(release->text));
	if (got < 0 && (!machine || !machine->root[0]) && uname(&name) == 0) {
		snprintf(release->text, sizeof(release->text), "%s", name.release);
		got = strlen(release->text);
	}
	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE,
				       "cannot read the kernel release: %s", strerror(-got));
	if (sscanf(release->text, "%d.%d.%d", &release->major, &release->minor, &release->patch) <
	    2)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "'%s' is not a kernel release", release->text);
	return 0;
}

/* The release is cached, because many rules of refusals need it. */
int perch_machine_release(struct perch_machine *machine, struct perch_release *release,
			  struct perch_error *err)
{
	int rc;

	if (machine && machine->release_valid) {
		*release = machine->release;
		return 0;
	}
	rc = read_release(machine, release, err);
	if (!rc && machine) {
		machine->release = *release;
		machine->release_valid = true;
	}
	return rc;
}

static const char *const sysctls[PERCH_SYSCTL_MAX] = {
	[PERCH_SYSCTL_PARANOID] = "kernel.perf_event_paranoid",
	[PERCH_SYSCTL_MAX_SAMPLE_RATE] = "kernel.perf_event_max_sample_rate",
	[PERCH_SYSCTL_MLOCK_KB] = "kernel.perf_event_mlock_kb",
	[PERCH_SYSCTL_MAX_STACK] = "kernel.perf_event_max_stack",
	[PERCH_SYSCTL_MAX_CONTEXTS] = "kernel.perf_event_max_contexts_per_stack",
	[PERCH_SYSCTL_CPU_TIME_PERCENT] = "kernel.perf_cpu_time_max_percent",
	[PERCH_SYSCTL_KPTR_RESTRICT] = "kernel.kptr_restrict",
	[PERCH_SYSCTL_NMI_WATCHDOG] = "kernel.nmi_watchdog",
};

const char *perch_sysctl_name(enum perch_sysctl which)
{
	return (unsigned)which < PERCH_SYSCTL_MAX ? sysctls[which] : "";
}

static int read_sysctl(const struct perch_machine *machine, enum perch_sysctl which, long *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", sysctls[which] + strlen("kernel."));
	return perch__read_number(machine, path, value);
}

int perch_machine_sysctl(struct perch_machine *machine, enum perch_sysctl which, long *value,
			 struct perch_error *err)
{
	struct cached fresh = { 0 };
	struct cached *cached = &fresh;
	long number = 0;

	if ((unsigned)which >= PERCH_SYSCTL_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "there is no sysctl %d",
				       (int)which);
	if (machine)
		cached = &machine->sysctl[which];
	if (!cached->valid) {
		cached->error = read_sysctl(machine, which, &number);
		cached->value = number;
		cached->valid = perch__is_permanent(cached->error);
	}
	if (cached->error)
		return perch_error_set(err, -cached->error, PERCH_ERROR_FILE, "cannot read %s: %s",
				       sysctls[which], strerror(-cached->error));
	*value = (long)cached->value;
	return 0;
}
