/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"

#define NS_PER_S 1000000000ull

/* ---- device and inode ---- */

/* Finds device and inode of a mapping of this process. */
static bool find_own_mapping(const void *address, unsigned device[2], uint64_t *inode)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start;
	char line[512];
	bool found = false, whole = true;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		/* a long path: only the beginning of its line has the numbers */
		if (whole)
			found = sscanf(line, "%" SCNx64 "-%*s %*s %*s %x:%x %" SCNu64, &start,
				       &device[0], &device[1], inode) == 4 &&
				start == (uintptr_t)address;
		whole = strchr(line, '\n');
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool same_when_mapped(int fd, unsigned major, unsigned minor, uint64_t inode)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned device[2];
	uint64_t mapped;
	bool same;

	if (map == MAP_FAILED)
		return false;
	same = find_own_mapping(map, device, &mapped) && mapped == inode && device[0] == major &&
	       device[1] == minor;
	munmap(map, page);
	return same;
}

bool perch__is_file(int fd, unsigned major, unsigned minor, uint64_t inode)
{
	struct stat status;

	if (fstat(fd, &status))
		return false;
	if (status.st_ino == inode && status.st_dev == makedev(major, minor))
		return true;
	return same_when_mapped(fd, major, minor, inode);
}

/* ---- namespaces ---- */

bool perch__other_namespace(const char *name, uint64_t inode)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	return inode && !stat(path, &status) && status.st_ino != inode;
}

bool perch__device_is_gone(unsigned major, unsigned minor)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	struct stat root;
	/* in a chroot, the mount of the root directory is not in the list */
	bool found = !mounts || (!stat("/", &root) && root.st_dev == makedev(major, minor));
	unsigned here[2];
	char line[512];
	bool whole = true;

	while (!found && fgets(line, sizeof(line), mounts)) {
		if (whole)
			found = sscanf(line, "%*u %*u %u:%u", &here[0], &here[1]) == 2 &&
				here[0] == major && here[1] == minor;
		whole = strchr(line, '\n');
	}
	if (mounts)
		fclose(mounts);
	return !found;
}

/* ---- processes ---- */

/* PF_EXITING in the flags of /proc/PID/stat: proc_pid_stat(5), include/linux/sched.h */
#define EXITING 0x4

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now) ? 0 : (uint64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

const char *perch__process_stat(unsigned pid, char *line, size_t size)
{
	char path[64], *end = NULL;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	stat = fopen(path, "re");
	/* the name is in parentheses, and may have ends of lines, too */
	if (stat) {
		line[fread(line, 1, size - 1, stat)] = 0;
		end = strrchr(line, ')');
		fclose(stat);
	}
	return end ? end + 1 : NULL;
}

bool perch__task_runs(unsigned tid)
{
	char line[1024], state;
	const char *values = perch__process_stat(tid, line, sizeof(line));
	unsigned flags;

	return values && sscanf(values, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 &&
	       state != 'Z' && state != 'X' && !(flags & EXITING);
}

uint64_t perch__process_start(unsigned pid)
{
	uint64_t ticks, since_boot, now = ns_of(CLOCK_REALTIME), uptime = ns_of(CLOCK_BOOTTIME);
	char line[1024];
	const char *values = perch__process_stat(pid, line, sizeof(line));

	if (!values || sscanf(values,
			      " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			      "%*s %*s %*s %*s %" SCNu64,
			      &ticks) != 1)
		return 0;
	since_boot = ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	return since_boot < uptime && uptime - since_boot < now ? now - (uptime - since_boot) : 0;
}

bool perch__recorded_process_runs(unsigned pid, uint64_t recorded_at)
{
	uint64_t started = perch__process_start(pid);

	return started && !perch__started_later(started, recorded_at);
}

unsigned perch__namespace_pid(unsigned pid)
{
	char path[64], line[256];
	unsigned found = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) || !last)
			continue;
		found = (unsigned)strtoul(last + 1, NULL, 10);
		break;
	}
	if (status)
		fclose(status);
	return found;
}
