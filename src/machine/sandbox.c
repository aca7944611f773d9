/* SPDX-License-Identifier: MIT */
/* What stands between a process and the kernel: filters, namespaces, lockdown, security modules. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* The numbers that Linux gives the namespaces it starts with; since 3.8. */
#define FIRST_USER_NAMESPACE 0xeffffffdul
#define FIRST_PID_NAMESPACE  0xeffffffcul

/* Whether the link of /proc/PID/ns names another namespace than the first one: 1, 0; -1: it cannot
 * be read. */
static int other_namespace(const struct perch_machine *machine, const char *kind,
			   unsigned long first)
{
	char name[32], path[64], whole[PATH_MAX], text[64];
	unsigned long number;
	const char *colon;
	ssize_t got;
	char *end;

	snprintf(name, sizeof(name), "/ns/%s", kind);
	perch__process_path(machine, path, sizeof(path), name);
	if (perch_machine_path(machine, whole, sizeof(whole), path) < 0)
		return -1;
	got = readlink(whole, text, sizeof(text) - 1);
	/* a described machine has a file in the link's place */
	if (got < 0 && errno == EINVAL)
		got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0)
		return -1;
	text[got] = '\0';
	colon = strstr(text, ":[");
	if (!colon)
		return -1;
	number = strtoul(colon + 2, &end, 10);
	return *end == ']' ? number != first : -1;
}

/* A map of less than all ids is a namespace's own; a map of all may be one's too. */
static int in_user_namespace(const struct perch_machine *machine)
{
	unsigned long inside, outside, length;
	char path[64], text[256];
	bool whole;
	int linked;

	perch__process_path(machine, path, sizeof(path), "/uid_map");
	linked = other_namespace(machine, "user", FIRST_USER_NAMESPACE);
	if (perch_machine_read(machine, path, text, sizeof(text)) < 0)
		return linked;
	whole = sscanf(text, "%lu %lu %lu", &inside, &outside, &length) == 3 && !inside &&
		!outside && length == UINT32_MAX;
	if (!whole)
		return 1;
	return linked == 1;
}

/* A process with several numbers is in a namespace below the one that /proc belongs to. */
static int in_pid_namespace(const struct perch_machine *machine, const struct status *status)
{
	return status->pid_levels > 1 ? 1 : other_namespace(machine, "pid", FIRST_PID_NAMESPACE);
}

static enum perch_lockdown lockdown_level(const char *word, size_t length)
{
	if (length == 4 && !strncmp(word, "none", 4))
		return PERCH_LOCKDOWN_NONE;
	if (length == 9 && !strncmp(word, "integrity", 9))
		return PERCH_LOCKDOWN_INTEGRITY;
	if (length == 15 && !strncmp(word, "confidentiality", 15))
		return PERCH_LOCKDOWN_CONFIDENTIALITY;
	return PERCH_LOCKDOWN_UNKNOWN;
}

/* The level that holds stands in brackets: "none [integrity] confidentiality". */
static enum perch_lockdown read_lockdown(const struct perch_machine *machine)
{
	char text[128];
	const char *open;

	if (perch_machine_read(machine, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0)
		return PERCH_LOCKDOWN_UNKNOWN;
	open = strchr(text, '[');
	return open ? lockdown_level(open + 1, strcspn(open + 1, "]")) : PERCH_LOCKDOWN_UNKNOWN;
}

/* SELinux's contexts have colons ("u:r:untrusted_app:s0"); AppArmor's names have a mode behind a
 * space. */
static bool has_selinux_context(const struct perch_machine *machine)
{
	char path[64], text[256];
	int colons = 0;

	perch__process_path(machine, path, sizeof(path), "/attr/current");
	if (perch_machine_read(machine, path, text, sizeof(text)) <= 0 || text[0] == ':' ||
	    strchr(text, ' '))
		return false;
	for (const char *at = text; *at; at++)
		colons += *at == ':';
	return colons >= 2;
}

/* Where a process may not even ask, it is enforced. */
static int read_selinux(const struct perch_machine *machine)
{
	char text[16];
	ssize_t got = perch_machine_read(machine, "/sys/fs/selinux/enforce", text, sizeof(text));

	if (got > 0)
		return text[0] == '1';
	return got == -EACCES || got == -EPERM || has_selinux_context(machine) ? 1 : -1;
}

static int read_yama(const struct perch_machine *machine)
{
	long scope;

	return perch__read_number(machine, "/proc/sys/kernel/yama/ptrace_scope", &scope) ||
			       scope < 0 || scope > 3
		       ? -1
		       : (int)scope;
}

static void read_confinement(struct perch_machine *machine, struct perch_sandbox *sandbox,
			     const struct status *status)
{
	memset(sandbox, 0, sizeof(*sandbox));
	sandbox->seccomp = status->seccomp > 2 ? -1 : status->seccomp;
	/* where their number is not told, nothing can be said of others */
	if (status->seccomp == 2 && machine->own_filters &&
	    status->filters <= (int)machine->own_filters)
		sandbox->seccomp = status->filters < 0 ? -1 : 0;
	sandbox->no_new_privileges = status->no_new_privileges;
	sandbox->user_namespace = in_user_namespace(machine);
	sandbox->pid_namespace = in_pid_namespace(machine, status);
	perch__find_container(machine, sandbox->container, sizeof(sandbox->container));
	sandbox->lockdown = read_lockdown(machine);
	if (perch_machine_read(machine, "/sys/kernel/security/lsm", sandbox->modules,
			       sizeof(sandbox->modules)) < 0)
		sandbox->modules[0] = '\0';
	sandbox->selinux = read_selinux(machine);
	sandbox->yama = read_yama(machine);
}

int perch_machine_sandbox(struct perch_machine *machine, struct perch_sandbox *sandbox,
			  struct perch_error *err)
{
	const struct status *status;
	int rc;

	if (!machine)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "there is no machine to ask");
	rc = perch__process_status(machine, &status);
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE,
				       "cannot read the status of %s: %s",
				       machine->process ? "that process" : "this process",
				       strerror(-rc));
	if (!machine->confinement_known) {
		read_confinement(machine, &machine->sandbox, status);
		machine->confinement_known = true;
	}
	*sandbox = machine->sandbox;
	return 0;
}
