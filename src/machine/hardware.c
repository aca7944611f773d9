/* SPDX-License-Identifier: MIT */
/* Hypervisor, capabilities of PMUs, size of the attr. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* DMI strings of virtual machines. */
static const struct {
	const char *file, *word;
} virtual_firmware[] = {
	{ "sys_vendor", "QEMU" },
	{ "sys_vendor", "VMware" },
	{ "sys_vendor", "innotek GmbH" },
	{ "sys_vendor", "Parallels" },
	{ "sys_vendor", "Xen" },
	{ "sys_vendor", "Nutanix" },
	{ "sys_vendor", "DigitalOcean" },
	{ "sys_vendor", "Hetzner" },
	{ "product_name", "KVM" },
	{ "product_name", "VirtualBox" },
	{ "product_name", "Virtual Machine" },
	{ "product_name", "Google Compute Engine" },
	{ "product_name", "HVM domU" },
};

static bool exists(const struct perch_machine *machine, const char *path)
{
	char full_path[PATH_MAX];

	return perch_machine_path(machine, path, full_path, sizeof(full_path)) > 0 &&
	       !access(full_path, F_OK);
}

/*
 * Finds the first CPU's line of flags. The kernel formats /proc/cpuinfo anew for each reader, one
 * CPU after the other, so no more is read than needed: 4 KiB, or 16 if the line ends behind them.
 */
static char *find_flags(const struct perch_machine *machine, char *text, size_t size)
{
	char *flags = NULL, *end = NULL;

	for (size_t part = 4096; !end && part <= size; part *= 4) {
		ssize_t got = perch_machine_read(machine, "/proc/cpuinfo", text, part);

		flags = got > 0 ? strstr(text, "\nflags") : NULL;
		end = flags ? strchr(flags + 1, '\n') : NULL;
		if (!end && got < (ssize_t)part - 1) /* the whole file was read */
			return flags;
	}
	if (end)
		*end = '\0';
	return flags;
}

/* x86 has a CPU flag: 1 or 0. -1 if /proc/cpuinfo has no flags. */
static int hypervisor_flag(const struct perch_machine *machine)
{
	char text[16384], *flags = find_flags(machine, text, sizeof(text));

	if (!flags)
		return -1;
	for (char *at = flags; (at = strstr(at, " hypervisor")); at++)
		if (at[11] == ' ' || !at[11])
			return 1;
	return 0;
}

static int virtual_by_firmware(const struct perch_machine *machine)
{
	char path[64], text[128];
	bool readable = false;

	for (size_t i = 0; i < sizeof(virtual_firmware) / sizeof(*virtual_firmware); i++) {
		snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", virtual_firmware[i].file);
		if (perch_machine_read(machine, path, text, sizeof(text)) <= 0)
			continue;
		readable = true;
		if (strstr(text, virtual_firmware[i].word))
			return 1;
	}
	return readable ? 0 : -1;
}

static int find_hypervisor(const struct perch_machine *machine)
{
	char text[16384];
	int flag = hypervisor_flag(machine);

	if (flag >= 0)
		return flag;
	if (exists(machine, "/sys/hypervisor/type") ||
	    exists(machine, "/proc/device-tree/hypervisor"))
		return 1;
	/* s390 lists the layers below the kernel. */
	if (perch_machine_read(machine, "/proc/sysinfo", text, sizeof(text)) > 0 &&
	    strstr(text, "LPAR Number"))
		return strstr(text, "VM00 Control Program") != NULL;
	return virtual_by_firmware(machine);
}

int perch_machine_virtual(struct perch_machine *machine)
{
	if (!machine)
		return find_hypervisor(NULL);
	if (!machine->is_virtual.valid) {
		machine->is_virtual.value = find_hypervisor(machine) + 1;
		machine->is_virtual.valid = true;
	}
	return (int)machine->is_virtual.value - 1;
}

int perch_machine_pmu_cap(struct perch_machine *machine, const struct perch_pmu *pmu,
			  const char *name, long *value, struct perch_error *err)
{
	char path[PATH_MAX], *end;
	const char *text;
	ssize_t got;

	if (!machine || !pmu || !name || !name[0] || name[0] == '.' || strchr(name, '/'))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the name of a PMU capability is invalid");
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/%s", pmu->name, name);
	got = perch_machine_read_cached(machine, path, &text);
	if (got == -ENOENT || got == -ENOTDIR)
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				       "the PMU %s has no capability %s", pmu->name, name);
	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(-got));
	errno = 0;
	*value = strtol(text, &end, 10);
	if (errno || end == text)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "%s is not a number",
				       path);
	return 0;
}

/*
 * Passes an attr of one page, the largest that a kernel accepts, whose last byte is set. No kernel
 * has a field there, so the system call fails with E2BIG. The target is invalid too.
 */
static int probe_attr_size(const struct perch_machine *machine, uint64_t *size)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	union {
		struct perch_attr attr;
		unsigned char bytes[4096];
	} page;
	int fd;

	memset(&page, 0, sizeof(page));
	page.attr.type = PERCH_TYPE_SOFTWARE;
	page.attr.config = PERCH_COUNT_SW_DUMMY;
	page.attr.disabled = 1;
	page.attr.size = sizeof(page);
	page.bytes[sizeof(page) - 1] = 1;
	fd = calls->perf_event_open(calls->context, &page.attr, -1, -1, -1, 0);
	if (fd >= 0) {
		calls->close(calls->context, fd);
		return -EBADMSG;
	}
	if (errno != E2BIG)
		return errno == 0 ? -EBADMSG : -errno;
	/* A seccomp filter may return any errno, but does not write the size. */
	if (page.attr.size == sizeof(page) || page.attr.size < PERCH_ATTR_SIZE_VER0 ||
	    page.attr.size > sizeof(page))
		return -EBADMSG;
	*size = page.attr.size;
	return 0;
}

static enum perch_error_kind kind_of(int errnum)
{
	if (errnum == ENOSYS)
		return PERCH_ERROR_NO_SYSCALL;
	return errnum == EPERM || errnum == EACCES ? PERCH_ERROR_BLOCKED : PERCH_ERROR_SYSTEM;
}

int perch_machine_attr_size(struct perch_machine *machine, uint32_t *size, struct perch_error *err)
{
	struct cached fresh = { 0 };
	struct cached *cached = machine ? &machine->attr_size : &fresh;

	if (!cached->valid) {
		cached->error = probe_attr_size(machine, &cached->value);
		cached->valid = perch__is_permanent(cached->error);
	}
	if (cached->error)
		return perch_error_set(err, -cached->error, kind_of(-cached->error),
				       "the attr size of the kernel is unknown: %s",
				       cached->error == -EBADMSG
					       ? "perf_event_open(2) is intercepted"
					       : strerror(-cached->error));
	*size = cached->value;
	return 0;
}
