/* SPDX-License-Identifier: MIT */
/* Names, parents and namespaces of processes and their threads. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

#define COMM_BYTES   64	  /* names of kernel workers in /proc are longer than those of others */
#define STATUS_BYTES 1024 /* the first lines */

/* Opens a directory below the root of the machine. Returns NULL and sets errno after a failure. */
static DIR *open_directory(const struct perch__batch *batch, const char *path)
{
	char whole[PATH_MAX];
	int rc = perch_machine_path(batch->machine, path, whole, sizeof(whole));

	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	return opendir(whole);
}

/* Returns the next number among the names of a directory; 0 at the end. */
static pid_t next_number(DIR *directory)
{
	const struct dirent *entry;

	while ((entry = readdir(directory))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && !*end &&
		    number <= INT32_MAX)
			return (pid_t)number;
	}
	return 0;
}

/* Returns the number in a line of the status of a thread; -1 if that is unknown. */
static pid_t status_number(const struct perch__batch *batch, pid_t tid, const char *name)
{
	char path[64], text[STATUS_BYTES];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (perch_machine_read(batch->machine, path, text, sizeof(text)) < 0)
		return -1;
	/* the kernel escapes newlines in the name of the thread, so a line is what it seems */
	line = strstr(text, name);
	return line ? (pid_t)strtol(line + strlen(name), NULL, 10) : -1;
}

pid_t perch__process_of(const struct perch__batch *batch, pid_t tid)
{
	pid_t pid = status_number(batch, tid, "\nTgid:");

	return pid > 0 ? pid : tid;
}

/* Reads the name of a thread. Returns 0 or an errno. */
static int read_comm(const struct perch__batch *batch, pid_t pid, pid_t tid, char comm[COMM_BYTES])
{
	char path[64];
	ssize_t length;
	int fd, errnum;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	fd = perch__batch_open(batch, path);
	if (fd < 0)
		return -fd;
	length = read(fd, comm, COMM_BYTES - 1);
	errnum = length < 0 ? errno : ESRCH;
	close(fd);
	if (length <= 0)
		return errnum;
	comm[length - (comm[length - 1] == '\n')] = '\0';
	return 0;
}

static void add_fork(struct perch__batch *batch, pid_t pid, pid_t ppid, pid_t tid)
{
	const struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = { (uint32_t)pid, (uint32_t)(tid == pid ? ppid : pid), (uint32_t)tid,
		   (uint32_t)(tid == pid ? ppid : pid), batch->time };

	perch__batch_add(batch, PERCH_RECORD_FORK, PERCH_MISC_FORK_EXEC, &body, sizeof(body), NULL);
}

/* Adds the records of a thread. Returns 0 or an errno. */
static int add_thread(struct perch__batch *batch, pid_t pid, pid_t ppid, pid_t tid)
{
	const uint32_t body[2] = { (uint32_t)pid, (uint32_t)tid };
	char comm[COMM_BYTES];
	int errnum = 0;

	if (batch->records & PERCH_SYNTHESIZE_COMM)
		errnum = read_comm(batch, pid, tid, comm);
	if (errnum)
		return errnum;
	if (batch->records & PERCH_SYNTHESIZE_FORK)
		add_fork(batch, pid, ppid, tid);
	if (batch->records & PERCH_SYNTHESIZE_COMM)
		perch__batch_add(batch, PERCH_RECORD_COMM, PERCH_MISC_USER, body, sizeof(body),
				 comm);
	return 0;
}

/* Adds the records of all threads. Returns 0 or an errno. */
static int add_threads(struct perch__batch *batch, pid_t pid)
{
	const bool wanted = batch->records & (PERCH_SYNTHESIZE_COMM | PERCH_SYNTHESIZE_FORK);
	pid_t tid, ppid = 0;
	char path[64];
	DIR *directory;
	int errnum = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = open_directory(batch, path);
	if (!directory)
		return errno;
	if (batch->records & PERCH_SYNTHESIZE_FORK)
		ppid = status_number(batch, pid, "\nPPid:");
	if (ppid < 0)
		ppid = 0;
	while (wanted && !errnum && !batch->rc && (tid = next_number(directory))) {
		errnum = add_thread(batch, pid, ppid, tid);
		if (perch__has_ended(errnum)) {
			batch->counts.ended++;
			errnum = 0;
		}
	}
	closedir(directory);
	return errnum;
}

/* Adds a NAMESPACES record. Namespaces that the kernel does not have are zeros in it; there is no
 * record if none can be read. Returns 0 or an errno. */
static int add_namespaces(struct perch__batch *batch, pid_t pid)
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
	} body = { (uint32_t)pid, (uint32_t)pid, PERCH_NR_NAMESPACES, { { 0, 0 } } };
	int errnum = 0;
	bool any = false;

	for (size_t i = 0; i < PERCH_NR_NAMESPACES; i++) {
		char path[64], whole[PATH_MAX];
		struct stat status;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, names[i]);
		if (perch_machine_path(batch->machine, path, whole, sizeof(whole)) < 0 ||
		    stat(whole, &status) < 0) {
			errnum = errno;
			continue;
		}
		body.link[i].dev = status.st_dev;
		body.link[i].ino = status.st_ino;
		any = true;
	}
	if (any)
		perch__batch_add(batch, PERCH_RECORD_NAMESPACES, 0, &body, sizeof(body), NULL);
	/* an old kernel, or one built without them, does not have all */
	return perch__is_denied(errnum) ? errnum : 0;
}

/* Adds the records that the options request. Returns 0 or the first errno. */
static int add_records(struct perch__batch *batch, pid_t pid)
{
	int errnum = add_threads(batch, pid), later = 0;

	if (!errnum && batch->records & PERCH_SYNTHESIZE_NAMESPACES)
		errnum = add_namespaces(batch, pid);
	if ((!errnum || perch__is_denied(errnum)) &&
	    batch->records & (PERCH_SYNTHESIZE_MMAP | PERCH_SYNTHESIZE_MMAP_DATA))
		later = perch__add_mappings(batch, pid);
	return errnum ? errnum : later;
}

int perch__add_process(struct perch__batch *batch, pid_t pid)
{
	uint64_t before = batch->counts.records;
	int errnum = add_records(batch, pid);

	batch->counts.processes += batch->counts.records > before;
	if (perch__has_ended(errnum)) {
		batch->counts.ended++;
		return ESRCH;
	}
	if (perch__is_denied(errnum)) {
		if (!batch->counts.denied_pid)
			batch->counts.denied_pid = (uint64_t)pid;
		batch->counts.denied++;
		return EACCES;
	}
	return errnum;
}

int perch__add_process_or_count(struct perch__batch *batch, pid_t pid)
{
	int errnum = perch__add_process(batch, pid);

	if (!errnum || errnum == ESRCH || errnum == EACCES)
		return 0;
	return perch_error_set(batch->err, errnum, PERCH_ERROR_FILE,
			       "the files of process %d in /proc cannot be read: %s", (int)pid,
			       strerror(errnum));
}

static bool same_pid(const void *pids, uint32_t index, const void *pid)
{
	return ((const pid_t *)pids)[index] == *(const pid_t *)pid;
}

int perch__add_done(struct perch__batch *batch, struct perch__done *done, pid_t pid)
{
	uint64_t hash = perch__hash_integer(done->table.seed, (uint64_t)pid);
	pid_t *added;

	if (perch__hash_find(&done->table, hash, same_pid, done->pid, &pid) != PERCH__HASH_NONE)
		return 0;
	added = PERCH__ARRAY_APPEND(done->pid, done->nr, done->capacity);
	if (!added || perch__hash_add(&done->table, hash, done->nr - 1))
		return PERCH__NO_MEMORY(batch->err, "to synthesize records");
	*added = pid;
	return 1;
}

void perch__done_clear(struct perch__done *done)
{
	perch__hash_clear(&done->table);
	free(done->pid);
}

/* Adds the processes that are not done. Returns the number of listed ones that were not, or a
 * negative errno in batch->err. */
static int add_new_processes(struct perch__batch *batch, struct perch__done *done)
{
	DIR *directory = open_directory(batch, "/proc");
	int nr = 0, rc = 0;
	pid_t pid;

	if (!directory)
		return perch_error_set(batch->err, errno, PERCH_ERROR_FILE,
				       "the processes in /proc cannot be listed: %s",
				       strerror(errno));
	while (rc >= 0 && !batch->rc && (pid = next_number(directory))) {
		rc = perch__add_done(batch, done, pid);
		if (rc <= 0)
			continue;
		nr++;
		rc = perch__add_process_or_count(batch, pid);
	}
	closedir(directory);
	return rc < 0 ? rc : nr;
}

/*
 * A process that began after the directory was read is found in the next one. Its parent may have
 * executed another program before it was read, so the child's FORK record does not say what it is.
 */
int perch__add_all_processes(struct perch__batch *batch)
{
	enum { MOST_TIMES = 4 };
	struct perch__done done = { .table.seed = perch__hash_seed(batch) };
	int rc = 1;

	for (int i = 0; i < MOST_TIMES && rc > 0 && !batch->rc; i++)
		rc = add_new_processes(batch, &done);
	perch__done_clear(&done);
	return rc < 0 ? rc : 0;
}
