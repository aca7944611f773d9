/* SPDX-License-Identifier: MIT */
/* Restrictions of a process, read in parts: each file is read when a fact from it is needed. */
#ifndef PERCH_MACHINE_SANDBOX_H
#define PERCH_MACHINE_SANDBOX_H

#include <perch/machine.h>

/* Members of struct perch_sandbox; those from /proc/PID/status are always read. */
enum perch__sandbox_part {
	PERCH__SANDBOX_STATUS = 0,
	PERCH__SANDBOX_USER_NAMESPACE = 1,
	PERCH__SANDBOX_PID_NAMESPACE = 2,
	PERCH__SANDBOX_CONTAINER = 4,
	PERCH__SANDBOX_LOCKDOWN = 8,
	PERCH__SANDBOX_MODULES = 16, /* modules and selinux */
	PERCH__SANDBOX_YAMA = 32,
	PERCH__SANDBOX_ALL = 63
};

/*
 * Returns the restrictions of the process, where the members of the parts are valid, until the
 * process of the machine changes. Returns NULL if its status cannot be read, or if the machine is
 * NULL.
 */
const struct perch_sandbox *perch__sandbox(struct perch_machine *machine, unsigned parts);

#endif
