/* SPDX-License-Identifier: MIT */
/* Names and executable mappings of processes that run already, from /proc: text that other users'
 * programs may shape. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"

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

static void make_comm(struct synthesizer *made, pid_t pid, pid_t tid)
{
	uint32_t body[2] = { pid, tid };
	char comm[64];

	if (synthesize_read_comm(pid, tid, comm, sizeof(comm)))
		synthesize_record(made, PERCH_RECORD_COMM, PERCH_MISC_USER, body, sizeof(body),
				  comm);
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

static void make_mapping(struct synthesizer *made, const char *line, pid_t pid)
{
	struct mmap2_body body;
	const char *name;
	bool data;

	if (!parse_mapping(line, &body, &name))
		return;
	data = !(body.protection & PROT_EXEC);
	if (data && !made->record->data_maps)
		return;
	body.pid = body.tid = pid;
	synthesize_record(made, PERCH_RECORD_MMAP2,
			  PERCH_MISC_USER | (data ? PERCH_MISC_MMAP_DATA : 0), &body, sizeof(body),
			  name);
	if (data)
		return;
	if ((name[0] == '/' && name[1] != '/') || !strcmp(name, "[vdso]"))
		record_add_name(&made->record->dsos, name);
}

static void make_mappings(struct synthesizer *made, pid_t pid)
{
	size_t room = 0;
	char *line = NULL;
	char path[64];
	ssize_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while ((length = getline(&line, &room, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		make_mapping(made, line, pid);
	}
	free(line);
	fclose(file);
}

/* The next number among a folder's names; 0 at the end. */
static pid_t next_number(DIR *folder)
{
	struct dirent *entry;

	while ((entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return atoi(entry->d_name);
	return 0;
}

static void make_process(struct synthesizer *made, pid_t pid)
{
	char path[64];
	DIR *folder;
	pid_t tid;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		return; /* it has ended meanwhile */
	while ((tid = next_number(folder)))
		make_comm(made, pid, tid);
	closedir(folder);
	if (made->record->flag[RECORD_NAMESPACES])
		synthesize_namespaces(made, pid);
	make_mappings(made, pid);
}

void synthesize_processes(struct synthesizer *made)
{
	DIR *folder = opendir("/proc");
	pid_t pid;

	if (!folder)
		return;
	while ((pid = next_number(folder)))
		make_process(made, pid);
	closedir(folder);
}

/* The process that a thread belongs to; 0 when it has ended. */
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

void synthesize_threads(struct synthesizer *made, const pid_t *threads, size_t nr)
{
	pid_t last = 0;

	/* threads of a process follow each other: its mappings are told once */
	for (size_t i = 0; i < nr; i++) {
		pid_t pid = process_of(threads[i]);

		if (pid && pid != last)
			make_process(made, pid);
		last = pid;
	}
}
