/* SPDX-License-Identifier: MIT */
/* Which container runtime started the process, by the marks that they leave. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* The mount namespace that Linux starts with: since 6.18, and the first two that older kernels give
 * out. */
static const char *const first_mounts[] = { "mnt:[4026531832]", "mnt:[4026531840]",
					    "mnt:[4026531841]" };

/* Words in a file of the process, on one line: the kernel's view of it, which an image cannot
 * forge. */
static const struct {
	const char *file, *word, *also, *name;
} traces[] = {
	{ "/cgroup", "kubepods", "", "kubernetes" },
	{ "/cgroup", "libpod", "", "podman" },
	{ "/cgroup", "/docker/", "", "docker" },
	{ "/cgroup", "/docker-", ".scope", "docker" },
	{ "/cgroup", "cri-containerd", "", "containerd" },
	{ "/cgroup", "/crio-", "", "cri-o" },
	{ "/cgroup", "/lxc", "", "lxc" },
	{ "/cgroup", "machine-nspawn", "", "systemd-nspawn" },
	{ "/mountinfo", "/kubelet/pods/", " /etc/", "kubernetes" },
	{ "/mountinfo", "/docker/containers/", " /etc/", "docker" },
	{ "/mountinfo", "/containers/storage/", " /etc/", "podman" },
	{ "/mountinfo", " /proc/cpuinfo ", "fuse.lxcfs", "lxc" },
};

/* A file of the image or that the runtime puts into it. */
static const struct {
	const char *file, *name;
} marks[] = {
	{ "/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes" },
	{ "/run/.containerenv", "podman" },
	{ "/.dockerenv", "docker" },
	{ "/.flatpak-info", "flatpak" },
	{ "/dev/lxd/sock", "lxc" },
	{ "/dev/.lxc-boot-id", "lxc" },
};

/* Files that hold the runtime's name. */
static const char *const named[] = { "/run/systemd/container", "/run/host/container-manager" };

static bool has_mounts_of_its_own(const struct perch_machine *machine)
{
	char path[64], whole[PATH_MAX], text[64];
	ssize_t got;

	perch__process_path(machine, path, sizeof(path), "/ns/mnt");
	if (perch_machine_path(machine, whole, sizeof(whole), path) < 0)
		return true;
	got = readlink(whole, text, sizeof(text) - 1);
	if (got < 0 && errno == EINVAL)
		got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0)
		return true; /* nothing is known against it */
	text[got] = '\0';
	for (size_t i = 0; i < sizeof(first_mounts) / sizeof(*first_mounts); i++)
		if (!strcmp(text, first_mounts[i]))
			return false;
	return true;
}

/* A file in the folder that is the process's root. */
static void path_for_process(const struct perch_machine *machine, char *path, size_t size,
			     const char *file)
{
	if (machine->process)
		snprintf(path, size, "/proc/%d/root%s", (int)machine->process, file);
	else
		snprintf(path, size, "%s", file);
}

/* Whether a line of the text has both words. */
static bool line_has(const char *text, const char *word, const char *also)
{
	for (const char *at = text; (at = strstr(at, word)); at++) {
		size_t length = strcspn(at, "\n");
		const char *other = strstr(at, also);

		if (other && other < at + length)
			return true;
	}
	return false;
}

static bool find_trace(const struct perch_machine *machine, char *name, size_t size)
{
	char path[64], text[16384];
	const char *last = "";
	ssize_t got = -1;

	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		if (strcmp(last, traces[i].file)) {
			last = traces[i].file;
			perch__process_path(machine, path, sizeof(path), last);
			got = perch_machine_read(machine, path, text, sizeof(text));
		}
		if (got > 0 && line_has(text, traces[i].word, traces[i].also)) {
			snprintf(name, size, "%s", traces[i].name);
			return true;
		}
	}
	return false;
}

static bool find_mark(const struct perch_machine *machine, char *name, size_t size)
{
	char path[128], whole[PATH_MAX];

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		path_for_process(machine, path, sizeof(path), marks[i].file);
		if (perch_machine_path(machine, whole, sizeof(whole), path) < 0 ||
		    access(whole, F_OK))
			continue;
		snprintf(name, size, "%s", marks[i].name);
		return true;
	}
	return false;
}

/* The name is shown and compared: letters, digits and dashes, or it is none. */
static bool find_named(const struct perch_machine *machine, char *name, size_t size)
{
	char path[128], text[32];

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		ssize_t got;
		size_t good = 0;

		path_for_process(machine, path, sizeof(path), named[i]);
		got = perch_machine_read(machine, path, text, sizeof(text));
		while (got > 0 && (isalnum((unsigned char)text[good]) || text[good] == '-'))
			good++;
		if (got > 0 && good == (size_t)got) {
			snprintf(name, size, "%s", text);
			return true;
		}
	}
	return false;
}

/* gVisor is a kernel of its own, that tells of itself in no other way. */
static bool is_gvisor(const struct perch_machine *machine)
{
	char text[256];

	return perch_machine_read(machine, "/proc/version", text, sizeof(text)) > 0 &&
	       strstr(text, "Linux version 4.4.0 ") && strstr(text, "Sun Jan 10 15:06:54 PST 2016");
}

void perch__find_container(const struct perch_machine *machine, char *name, size_t size)
{
	name[0] = '\0';
	if (is_gvisor(machine)) {
		snprintf(name, size, "gvisor");
		return;
	}
	/* An image may be unpacked as the root of a machine; no runtime shares the machine's own
	 * mounts. */
	if (!has_mounts_of_its_own(machine))
		return;
	if (!find_trace(machine, name, size) && !find_named(machine, name, size))
		find_mark(machine, name, size);
}
