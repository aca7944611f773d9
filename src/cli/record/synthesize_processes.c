/* SPDX-License-Identifier: MIT */
/* Names, mappings and namespaces of running processes. Other users' programs choose some of the
 * text in /proc, so it is not trusted. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synthesize.h"

struct mmap2_body {
	uint32_t pid, tid;
	uint64_t start, length, page_offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
};

bool synthesize_read_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, comm, size - 1);
	close(fd);
	if (length <= 0)
		return false;
	comm[length - (comm[length - 1] == '\n')] = 0;
	return true;
}

static void make_comm(struct synthesizer *synthesizer, pid_t pid, pid_t tid)
{
	uint32_t body[2] = { pid, tid };
	char comm[64];

	if (synthesize_read_comm(pid, tid, comm, sizeof(comm)))
		synthesize_record(synthesizer, PERCH_RECORD_COMM, PERCH_MISC_USER, body,
				  sizeof(body), comm);
}

/* One line of /proc/PID/maps: "start-end rwxp offset major:minor inode   path". */
static bool parse_mapping(const char *line, struct mmap2_body *body, const char **name)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char protection[5];
	int used = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, protection, &offset,
		   &major, &minor, &inode, &used) != 7 ||
	    strlen(protection) < 4 || end <= start)
		return false;
	*body = (struct mmap2_body){
		.start = start,
		.length = end - start,
		.page_offset = offset,
		.major = major,
		.minor = minor,
		.inode = inode,
		.protection = (protection[0] == 'r' ? PROT_READ : 0) |
			      (protection[1] == 'w' ? PROT_WRITE : 0) |
			      (protection[2] == 'x' ? PROT_EXEC : 0),
		.flags = protection[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
	};
	line += used;
	while (*line == ' ')
		line++;
	*name = *line ? line : "//anon";
	return true;
}

static void make_mapping(struct synthesizer *synthesizer, const char *line, pid_t pid)
{
	struct mmap2_body body;
	const char *name;
	bool data;

	if (!parse_mapping(line, &body, &name))
		return;
	data = !(body.protection & PROT_EXEC);
	if (data && !synthesizer->data)
		return;
	body.pid = body.tid = pid;
	synthesize_record(synthesizer, PERCH_RECORD_MMAP2,
			  PERCH_MISC_USER | (data ? PERCH_MISC_MMAP_DATA : 0), &body, sizeof(body),
			  name);
}

static void make_mappings(struct synthesizer *synthesizer, pid_t pid)
{
	size_t capacity = 0;
	char *line = NULL;
	char path[64];
	ssize_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while ((length = getline(&line, &capacity, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		make_mapping(synthesizer, line, pid);
	}
	free(line);
	fclose(file);
}

static void make_namespaces(struct synthesizer *synthesizer, pid_t pid)
{
	static const char *const names[PERCH_NR_NAMESPACES] = {
		[PERCH_NET_NS_INDEX] = "net",	    [PERCH_UTS_NS_INDEX] = "uts",
		[PERCH_IPC_NS_INDEX] = "ipc",	    [PERCH_PID_NS_INDEX] = "pid",
		[PERCH_USER_NS_INDEX] = "user",	    [PERCH_MNT_NS_INDEX] = "mnt",
		[PERCH_CGROUP_NS_INDEX] = "cgroup",
	};
	struct {
		uint32_t pid, tid;
		uint64_t nr;
		struct perch_ns_link_info link[PERCH_NR_NAMESPACES];
	} body = { pid, pid, PERCH_NR_NAMESPACES, { { 0, 0 } } };

	for (size_t i = 0; i < PERCH_NR_NAMESPACES; i++) {
		struct stat status;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, names[i]);
		if (stat(path, &status) < 0)
			continue;
		body.link[i].dev = status.st_dev;
		body.link[i].ino = status.st_ino;
	}
	synthesize_record(synthesizer, PERCH_RECORD_NAMESPACES, 0, &body, sizeof(body), NULL);
}

/* Returns the next number among the names of a directory; 0 at the end. */
static pid_t next_number(DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return atoi(entry->d_name);
	return 0;
}

static void make_process(struct synthesizer *synthesizer, pid_t pid)
{
	char path[64];
	DIR *directory;
	pid_t tid;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	if (!directory)
		return; /* it has ended since */
	while ((tid = next_number(directory)))
		make_comm(synthesizer, pid, tid);
	closedir(directory);
	if (synthesizer->namespaces)
		make_namespaces(synthesizer, pid);
	make_mappings(synthesizer, pid);
}

void synthesize_all_processes(struct synthesizer *synthesizer)
{
	DIR *directory = opendir("/proc");
	pid_t pid;

	if (!directory)
		return;
	while ((pid = next_number(directory)))
		make_process(synthesizer, pid);
	closedir(directory);
}

/* Returns the process of a thread; 0 when the thread has ended. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (file)
		fclose(file);
	return pid;
}

void synthesize_threads(struct synthesizer *synthesizer, const pid_t *threads, size_t nr)
{
	pid_t last = 0;

	/* the threads of a process are adjacent, so each process is synthesized once */
	for (size_t i = 0; i < nr; i++) {
		pid_t pid = process_of(threads[i]);

		if (pid && pid != last)
			make_process(synthesizer, pid);
		last = pid;
	}
}

void synthesize_child(struct synthesizer *synthesizer, pid_t pid, const char *comm)
{
	uint32_t body[2] = { pid, pid };

	synthesize_record(synthesizer, PERCH_RECORD_COMM, PERCH_MISC_USER, body, sizeof(body),
			  comm);
	if (synthesizer->namespaces)
		make_namespaces(synthesizer, pid);
}
