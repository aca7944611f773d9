/* SPDX-License-Identifier: MIT */
/* Restrictions of a process: seccomp filters, namespaces, lockdown, security modules. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "sandbox.h"

/* Inode numbers of the initial namespaces; since 3.8. */
#define FIRST_USER_NAMESPACE 0xeffffffdul
#define FIRST_PID_NAMESPACE  0xeffffffcul

/* Returns 1 if a link of /proc/PID/ns is not the initial namespace, 0 if it is, -1 if unreadable.
 */
static int is_other_namespace(const struct perch_machine *machine, const char *kind,
			      unsigned long first)
{
	char name[32], path[64], whole[PATH_MAX], text[64];
	unsigned long number;
	const char *colon;
	ssize_t got;
	char *end;

	snprintf(name, sizeof(name), "/ns/%s", kind);
	perch__process_path(machine, path, sizeof(path), name);
	if (perch_machine_path(machine, path, whole, sizeof(whole)) < 0)
		return -1;
	got = readlink(whole, text, sizeof(text) - 1);
	/* a test machine has a file instead of the link */
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

/* The initial namespace maps all ids to themselves, but another namespace may do so too. */
static int in_user_namespace(const struct perch_machine *machine)
{
	unsigned long inside, outside, length;
	char path[64], text[256];
	bool whole;
	int linked;

	perch__process_path(machine, path, sizeof(path), "/uid_map");
	linked = is_other_namespace(machine, "user", FIRST_USER_NAMESPACE);
	if (perch_machine_read(machine, path, text, sizeof(text)) < 0)
		return linked;
	whole = sscanf(text, "%lu %lu %lu", &inside, &outside, &length) == 3 && !inside &&
		!outside && length == UINT32_MAX;
	if (!whole)
		return 1;
	return linked == 1;
}

/* A process with several pids is in a namespace below that of /proc. */
static int in_pid_namespace(const struct perch_machine *machine, const struct status *status)
{
	return status->pid_namespaces > 1 ? 1
					  : is_other_namespace(machine, "pid", FIRST_PID_NAMESPACE);
}

static enum perch_lockdown lockdown_mode(const char *word, size_t length)
{
	if (length == 4 && !strncmp(word, "none", 4))
		return PERCH_LOCKDOWN_NONE;
	if (length == 9 && !strncmp(word, "integrity", 9))
		return PERCH_LOCKDOWN_INTEGRITY;
	if (length == 15 && !strncmp(word, "confidentiality", 15))
		return PERCH_LOCKDOWN_CONFIDENTIALITY;
	return PERCH_LOCKDOWN_UNKNOWN;
}

/* The current mode is in brackets: "none [integrity] confidentiality". */
static enum perch_lockdown read_lockdown(const struct perch_machine *machine)
{
	char text[128];
	const char *open;

	if (perch_machine_read(machine, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0)
		return PERCH_LOCKDOWN_UNKNOWN;
	open = strchr(text, '[');
	return open ? lockdown_mode(open + 1, strcspn(open + 1, "]")) : PERCH_LOCKDOWN_UNKNOWN;
}

/* SELinux contexts have colons ("u:r:untrusted_app:s0"). AppArmor names end with a space and a
 * mode. */
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

/* Only an enforcing SELinux denies access to this file. */
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

static void read_parts(struct perch_machine *machine, unsigned parts, const struct status *status)
{
	struct perch_sandbox *sandbox = &machine->sandbox;

	if (parts & PERCH__SANDBOX_USER_NAMESPACE)
		sandbox->user_namespace = in_user_namespace(machine);
	if (parts & PERCH__SANDBOX_PID_NAMESPACE)
		sandbox->pid_namespace = in_pid_namespace(machine, status);
	if (parts & PERCH__SANDBOX_CONTAINER)
		perch__find_container(machine, sandbox->container, sizeof(sandbox->container));
	if (parts & PERCH__SANDBOX_LOCKDOWN)
		sandbox->lockdown = read_lockdown(machine);
	if (parts & PERCH__SANDBOX_MODULES) {
		if (perch_machine_read(machine, "/sys/kernel/security/lsm", sandbox->modules,
				       sizeof(sandbox->modules)) < 0)
			sandbox->modules[0] = '\0';
		sandbox->selinux = read_selinux(machine);
	}
	if (parts & PERCH__SANDBOX_YAMA)
		sandbox->yama = read_yama(machine);
}

static void set_status(struct perch_sandbox *sandbox, const struct status *status)
{
	memset(sandbox, 0, sizeof(*sandbox));
	sandbox->seccomp = status->seccomp > 2 ? -1 : status->seccomp;
	sandbox->seccomp_filters = status->filters;
	sandbox->no_new_privileges = status->no_new_privileges;
}

const struct perch_sandbox *perch__sandbox(struct perch_machine *machine, unsigned parts)
{
	const struct status *status;

	if (!machine || perch__process_status(machine, &status))
		return NULL;
	if (!machine->sandbox_valid) {
		set_status(&machine->sandbox, status);
		machine->sandbox_parts = 0;
		machine->sandbox_valid = true;
	}
	read_parts(machine, parts & ~machine->sandbox_parts, status);
	machine->sandbox_parts |= parts;
	return &machine->sandbox;
}

static int status_error(const struct perch_machine *machine, int rc, struct perch_error *err)
{
	return perch_error_set(err, -rc, PERCH_ERROR_FILE, "cannot read the status of %s: %s",
			       machine && machine->process ? "that process" : "this process",
			       strerror(-rc));
}

int perch_machine_sandbox(struct perch_machine *machine, struct perch_sandbox *sandbox,
			  struct perch_error *err)
{
	const struct perch_sandbox *read = perch__sandbox(machine, PERCH__SANDBOX_ALL);
	const struct status *status;

	if (read) {
		*sandbox = *read;
		return 0;
	}
	if (!machine)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "perch_machine_sandbox() needs a machine");
	return status_error(machine, perch__process_status(machine, &status), err);
}

int perch_machine_seccomp(struct perch_machine *machine, struct perch_error *err)
{
	const struct status *status;
	struct status fresh;
	int rc = perch__status_of(machine, &fresh, &status);

	if (rc)
		return status_error(machine, rc, err);
	if (status->seccomp < 0 || status->seccomp > 2)
		return perch_error_set(err, ENODATA, PERCH_ERROR_FILE,
				       "the status of the process has no seccomp mode");
	return status->seccomp;
}

/* Without the sandbox, the capabilities are assumed to be those of the initial namespace. */
static bool has_initial_namespace(struct perch_machine *machine)
{
	struct perch_machine *own = NULL;
	const struct perch_sandbox *sandbox;
	bool initial;

	if (!machine && perch_machine_new(&own, NULL, NULL, NULL))
		return true;
	sandbox = perch__sandbox(machine ? machine : own, PERCH__SANDBOX_USER_NAMESPACE);
	initial = !sandbox || sandbox->user_namespace != 1;
	perch_machine_free(own);
	return initial;
}

bool perch_machine_privileged(struct perch_machine *machine)
{
	uint64_t effective = 0;

	if (perch_machine_capabilities(machine, &effective, NULL) ||
	    !(effective & (1ull << PERCH_CAP_PERFMON | 1ull << PERCH_CAP_SYS_ADMIN)))
		return false;
	return has_initial_namespace(machine);
}
