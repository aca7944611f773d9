/* SPDX-License-Identifier: MIT */
/* Facts of the machine and its processes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "machine/sandbox.h"

/* -1 unknown, 0 no, 1 yes. */
static int in_user_namespace(const struct perch__case *c)
{
	const struct perch_sandbox *sandbox =
		perch__sandbox(c->machine, PERCH__SANDBOX_USER_NAMESPACE);

	return sandbox ? sandbox->user_namespace : -1;
}

static enum perch__match holds_any(const struct perch__case *c, uint64_t wanted)
{
	uint64_t effective;

	if (!c->machine || perch_machine_capabilities(c->machine, &effective, NULL))
		return PERCH__UNKNOWN;
	return perch__yes_if(effective & wanted);
}

/* The kernel checks capabilities in the initial user namespace: those of root in another one do not
 * count. */
static enum perch__match lacks_all(const struct perch__case *c, uint64_t wanted)
{
	enum perch__match holds = holds_any(c, wanted);

	if (holds != PERCH__YES)
		return perch__not(holds);
	return perch__yes_if(in_user_namespace(c) == 1);
}

#define PRIVILEGES (UINT64_C(1) << PERCH_CAP_PERFMON | UINT64_C(1) << PERCH_CAP_SYS_ADMIN)

enum perch__match perch__unprivileged(const struct perch__case *c)
{
	return lacks_all(c, PRIVILEGES);
}

enum perch__match perch__lacks(const struct perch__case *c, unsigned capability)
{
	return lacks_all(c, UINT64_C(1) << capability);
}

enum perch__match perch__namespace_capabilities(const struct perch__case *c)
{
	return perch__yes_if(holds_any(c, PRIVILEGES) == PERCH__YES && in_user_namespace(c) == 1);
}

enum perch__match perch__paranoid_above(const struct perch__case *c, long level)
{
	long value;

	return perch__sysctl(c, PERCH_SYSCTL_PARANOID, &value) ? perch__yes_if(value > level)
							       : PERCH__UNKNOWN;
}

enum perch__match perch__seccomp_filters(const struct perch__case *c)
{
	const struct perch_sandbox *sandbox = perch__sandbox(c->machine, PERCH__SANDBOX_STATUS);

	if (!sandbox || sandbox->seccomp < 0)
		return PERCH__UNKNOWN;
	if (sandbox->seccomp != 2 || !c->call->tracer_filters)
		return perch__yes_if(sandbox->seccomp > 0);
	if (sandbox->seccomp_filters < 0)
		return PERCH__UNKNOWN;
	return perch__yes_if((unsigned)sandbox->seccomp_filters > c->call->tracer_filters);
}

/* If the lockdown file is missing, lockdown is probably not supported. */
enum perch__match perch__locked_down(const struct perch__case *c)
{
	const struct perch_sandbox *sandbox =
		perch__sandbox(c->machine, PERCH__SANDBOX_LOCKDOWN | PERCH__SANDBOX_MODULES);

	if (!sandbox)
		return PERCH__UNKNOWN;
	if (sandbox->lockdown == PERCH_LOCKDOWN_UNKNOWN)
		return strstr(sandbox->modules, "lockdown") ? PERCH__UNKNOWN : PERCH__NO;
	return perch__yes_if(sandbox->lockdown == PERCH_LOCKDOWN_CONFIDENTIALITY);
}

enum perch__match perch__selinux_enforces(const struct perch__case *c)
{
	const struct perch_sandbox *sandbox = perch__sandbox(c->machine, PERCH__SANDBOX_MODULES);

	return sandbox ? perch__yes_if(sandbox->selinux == 1) : PERCH__UNKNOWN;
}

enum perch__match perch__older_than(const struct perch__case *c, const char *release)
{
	unsigned running = perch__running_rank(c);

	return running && running >= perch_release_rank(release) ? PERCH__NO : PERCH__UNKNOWN;
}

enum perch__match perch__may_lack_change(const struct perch__case *c, const char *release)
{
	return perch__running_rank(c) ? perch__older_than(c, release) : PERCH__NO;
}

/* -ENOENT only: without permission to read it, the file exists. */
enum perch__match perch__no_perf(const struct perch__case *c)
{
	long value;
	int rc;

	if (!c->machine)
		return PERCH__UNKNOWN;
	rc = perch_machine_sysctl(c->machine, PERCH_SYSCTL_PARANOID, &value, NULL);
	return perch__yes_if(rc == -ENOENT);
}

/* Whether the kernel was built with CONFIG_CGROUP_PERF, as the first 8 KiB of its configuration
 * say. */
static enum perch__match is_configured(const struct perch__case *c)
{
	struct perch_release release;
	char path[sizeof("/boot/config-") + sizeof(release.text)];
	const char *text;

	if (!c->machine || perch_machine_release(c->machine, &release, NULL))
		return PERCH__UNKNOWN;
	snprintf(path, sizeof(path), "/boot/config-%s", release.text);
	text = perch__file_text(c, path);
	if (text && strstr(text, "\nCONFIG_CGROUP_PERF=y"))
		return PERCH__YES;
	return text && strstr(text, "\n# CONFIG_CGROUP_PERF is not set") ? PERCH__NO
									 : PERCH__UNKNOWN;
}

/* Whether probing has shown that the kernel accepts PERF_SAMPLE_CGROUP. */
static enum perch__match accepts_cgroup_samples(const struct perch__case *c)
{
	if (c->shared && c->shared->present.sample_type & PERCH_SAMPLE_CGROUP)
		return PERCH__YES;
	return c->shared && c->shared->missing.sample_type & PERCH_SAMPLE_CGROUP ? PERCH__NO
										 : PERCH__UNKNOWN;
}

/*
 * A kernel whose /proc/cgroups lists perf_event has the option. Others may have it: some releases
 * leave perf_event out, because it has no files of its own, and a sandbox may hide the file.
 */
enum perch__match perch__no_cgroup_events(const struct perch__case *c)
{
	enum perch__match has = accepts_cgroup_samples(c);
	const char *controllers;

	if (has == PERCH__UNKNOWN) {
		controllers = perch__file_text(c, "/proc/cgroups");
		if (controllers && strstr(controllers, "perf_event"))
			has = PERCH__YES;
	}
	return perch__not(has == PERCH__UNKNOWN ? is_configured(c) : has);
}

enum perch__match perch__has_change(const struct perch__case *c, const char *release, int errnum)
{
	if (c->machine && perch__older_than(c, release) == PERCH__NO)
		return PERCH__YES;
	return c->errnum == errnum ? PERCH__UNKNOWN : PERCH__NO;
}

/*
 * Kernels of Debian refuse every event above 2, kernels of Ubuntu above 3, without CAP_SYS_ADMIN.
 * The release identifies the kernel: in a container, the user space may be of another distribution.
 */
long perch__refuse_all_level(const struct perch__case *c)
{
	static const struct {
		const char *part;
		long level;
	} builds[] = {
		{ "-generic", 3 }, { "-lowlatency", 3 }, { "-azure", 3 }, { "-aws", 3 },
		{ "-gcp", 3 },	   { "-oem", 3 },	 { "+deb", 2 },	  { "+bpo", 2 },
		{ "-amd64", 2 },   { "-arm64", 2 },	 { "-686", 2 },	  { "-armmp", 2 },
		{ "-android", 2 },
	};
	struct perch_release release;

	if (!c->machine || perch_machine_release(c->machine, &release, NULL))
		return -1;
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++)
		if (strstr(release.text, builds[i].part))
			return builds[i].level;
	return -1;
}

enum perch__match perch__paranoid_refuses_all(const struct perch__case *c)
{
	long level;

	if (perch__paranoid_above(c, 2) != PERCH__YES)
		return PERCH__NO;
	level = perch__refuse_all_level(c);
	if (level >= 0)
		return perch__paranoid_above(c, level);
	return c->errnum == EACCES ? PERCH__UNKNOWN : PERCH__NO;
}

/* If the limit is unknown: the default of kernels, which is lowered or raised at run time. */
enum perch__match perch__above_max_rate(const struct perch__case *c)
{
	long limit;

	if (!c->attr.freq)
		return PERCH__NO;
	if (perch__sysctl(c, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit))
		return perch__yes_if(limit >= 0 && c->attr.sample_freq > (uint64_t)limit);
	/* the sysctl is an int */
	return c->attr.sample_freq > INT_MAX  ? PERCH__YES
	       : c->attr.sample_freq > 100000 ? PERCH__UNKNOWN
					      : PERCH__NO;
}

uint64_t perch__highest_rate(const struct perch__case *c)
{
	long limit;

	return perch__sysctl(c, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit) && limit > 0 ? (uint64_t)limit
										   : 1000;
}

enum perch__match perch__above_max_stack(const struct perch__case *c)
{
	long limit;

	if (perch__sysctl(c, PERCH_SYSCTL_MAX_STACK, &limit))
		return perch__yes_if(limit >= 0 && c->attr.sample_max_stack > limit);
	return c->attr.sample_max_stack ? PERCH__UNKNOWN : PERCH__NO;
}

/* Returns the last number of a sysfs list such as "0-3,8", or -1 if unknown. */
static int highest_cpu(const struct perch__case *c, const char *path)
{
	const char *text = perch__file_text(c, path), *last;

	if (!text)
		return -1;
	last = text + strlen(text);
	while (last > text && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return *last ? atoi(last) : -1;
}

/* CPU numbers may have gaps: only the highest possible number is compared. */
enum perch__match perch__cpu_absent(const struct perch__case *c)
{
	int highest;

	/* cached, and usually sufficient */
	if (c->cpu < 0 || perch__cpu_offline(c) == PERCH__NO)
		return PERCH__NO;
	highest = highest_cpu(c, "/sys/devices/system/cpu/possible");
	if (highest < 0)
		highest = highest_cpu(c, "/sys/devices/system/cpu/present");
	return highest < 0 ? PERCH__UNKNOWN : perch__yes_if(c->cpu > highest);
}

enum perch__match perch__cpu_offline(const struct perch__case *c)
{
	const struct perch_cpus *cpus;

	if (c->cpu < 0)
		return PERCH__NO;
	if (!c->machine || perch_machine_cpus(c->machine, &cpus, NULL))
		return PERCH__UNKNOWN;
	return perch__not(perch__yes_if(perch_cpus_contains(cpus, c->cpu)));
}

/* False in a machine below another root, whose pids are not real. */
static bool is_self(const struct perch__case *c)
{
	char root[PATH_MAX];

	return c->pid == getpid() && !perch_machine_path(c->machine, "", root, sizeof(root));
}

/* With hidepid, /proc does not show processes of others: then pid 1 is missing too. */
static bool may_be_hidden(const struct perch__case *c)
{
	struct perch_process_state first;

	return perch__lacks(c, PERCH_CAP_SYS_PTRACE) != PERCH__NO &&
	       perch_machine_process(c->machine, 1, &first, NULL) == -ESRCH;
}

enum perch__match perch__process_absent(const struct perch__case *c)
{
	struct perch_process_state state;
	int error;

	if (c->pid < -1)
		return PERCH__YES;
	if (c->pid <= 0)
		return PERCH__NO;
	if (!c->machine)
		return PERCH__UNKNOWN;
	if (is_self(c))
		return PERCH__NO;
	error = perch_machine_process_cached(c->machine, c->pid, &state, NULL);
	if (error)
		return error == -ESRCH && !may_be_hidden(c) ? PERCH__YES : PERCH__UNKNOWN;
	return perch__yes_if(state.state == 'Z' || state.state == 'X');
}

/* The same uid is not enough: dumpable, capabilities and namespaces count too. */
enum perch__match perch__process_foreign(const struct perch__case *c)
{
	struct perch_process_state own, other;

	if (c->pid <= 0)
		return PERCH__NO;
	if (!c->machine || perch_machine_process_cached(c->machine, c->pid, &other, NULL) ||
	    perch_machine_process(c->machine, 0, &own, NULL))
		return PERCH__UNKNOWN;
	return own.uid != other.uid || other.permitted & ~own.permitted ? PERCH__YES
									: PERCH__UNKNOWN;
}
