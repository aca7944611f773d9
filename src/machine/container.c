/* SPDX-License-Identifier: MIT */
/*
 * Finds the container runtime of a process by the traces of each runtime in /proc and in the root
 * directory.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/*
 * Inode numbers of the initial mount namespace: the first one since Linux 6.18, the others in older
 * kernels.
 */
static const char *const first_mounts[] = { "mnt:[4026531832]", "mnt:[4026531840]",
					    "mnt:[4026531841]" };

/*
 * Files in /proc of the process, and two words that one of their lines has. The kernel writes these
 * files, so an image cannot forge them.
 */
static const struct {
	const char *file, *word, *also, *name;
} process_markers[] = {
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

/* Files that the runtime or the image contains. */
static const struct {
	const char *file, *name;
} marker_files[] = {
	{ "/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes" },
	{ "/run/.containerenv", "podman" },
	{ "/.dockerenv", "docker" },
	{ "/.flatpak-info", "flatpak" },
	{ "/dev/lxd/sock", "lxc" },
	{ "/dev/.lxc-boot-id", "lxc" },
};

/* Files that contain the name of the runtime. */
static const char *const name_files[] = { "/run/systemd/container", "/run/host/container-manager" };

static bool has_own_mount_namespace(const struct perch_machine *machine)
{
	char path[64], full_path[PATH_MAX], text[64];
	ssize_t got;

	perch__process_path(machine, path, sizeof(path), "/ns/mnt");
	if (perch_machine_path(machine, path, full_path, sizeof(full_path)) < 0)
		return true;
	got = readlink(full_path, text, sizeof(text) - 1);
	if (got < 0 && errno == EINVAL)
		got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0)
		return true; /* unknown */
	text[got] = '\0';
	for (size_t i = 0; i < sizeof(first_mounts) / sizeof(*first_mounts); i++)
		if (!strcmp(text, first_mounts[i]))
			return false;
	return true;
}

/* A path in the root directory of the process. */
static void path_for_process(const struct perch_machine *machine, char *path, size_t size,
			     const char *file)
{
	if (machine->process)
		snprintf(path, size, "/proc/%d/root%s", (int)machine->process, file);
	else
		snprintf(path, size, "%s", file);
}

/* True if a line of the text has both words. */
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

static bool find_process_marker(const struct perch_machine *machine, char *name, size_t size)
{
	char path[64], text[16384];
	const char *last = "";
	ssize_t got = -1;

	for (size_t i = 0; i < sizeof(process_markers) / sizeof(*process_markers); i++) {
		if (strcmp(last, process_markers[i].file)) {
			last = process_markers[i].file;
			perch__process_path(machine, path, sizeof(path), last);
			got = perch_machine_read(machine, path, text, sizeof(text));
		}
		if (got > 0 && line_has(text, process_markers[i].word, process_markers[i].also)) {
			snprintf(name, size, "%s", process_markers[i].name);
			return true;
		}
	}
	return false;
}

static bool find_marker_file(const struct perch_machine *machine, char *name, size_t size)
{
	char path[128], full_path[PATH_MAX];

	for (size_t i = 0; i < sizeof(marker_files) / sizeof(*marker_files); i++) {
		path_for_process(machine, path, sizeof(path), marker_files[i].file);
		if (perch_machine_path(machine, path, full_path, sizeof(full_path)) < 0 ||
		    access(full_path, F_OK))
			continue;
		snprintf(name, size, "%s", marker_files[i].name);
		return true;
	}
	return false;
}

/*
 * The name is printed, so it is accepted only if it has no other characters than letters, digits
 * and dashes.
 */
static bool find_name_file(const struct perch_machine *machine, char *name, size_t size)
{
	char path[128], text[32];

	for (size_t i = 0; i < sizeof(name_files) / sizeof(*name_files); i++) {
		ssize_t got;
		size_t good = 0;

		path_for_process(machine, path, sizeof(path), name_files[i]);
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

/* gVisor implements its own kernel. This version string is the only sign of it. */
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
	/*
	 * An image may be installed on a real machine, with its marker files. A container never
	 * shares the initial mount namespace.
	 */
	if (!has_own_mount_namespace(machine))
		return;
	if (!find_process_marker(machine, name, size) && !find_name_file(machine, name, size))
		find_marker_file(machine, name, size);
}
