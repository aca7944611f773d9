/* SPDX-License-Identifier: MIT */
/* Environments are read in a process of their own, which a read that does not end stops alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labels.h"

enum {
	ANSWER_MS = 1000,
	MOST_HUNG = 3, /* processes: no more environments are read after them */
};

/* Answers each path by the service of its cgroup, or by nothing. */
static _Noreturn void answer_paths(const char *mount, int fd)
{
	char path[PATH_MAX], value[AGENT_LABEL_MAX + 1];
	ssize_t size;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((size = recv(fd, path, sizeof(path) - 1, 0)) > 0) {
		path[size] = '\0';
		if (!agent_cgroup_service(mount, path, value))
			value[0] = '\0';
		if (send(fd, value, strlen(value) + 1, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static bool start_reader(struct agent_service_reader *reader)
{
	int ends[2];

	if (reader->pid)
		return true;
	if (reader->hung == MOST_HUNG ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	reader->pid = fork();
	if (!reader->pid) {
		close(ends[0]);
		answer_paths(reader->mount, ends[1]);
	}
	close(ends[1]);
	reader->fd = ends[0];
	if (reader->pid > 0)
		return true;
	close(ends[0]);
	reader->pid = 0;
	return false;
}

bool agent_service_reader_find(struct agent_service_reader *reader, const char *path, char *value)
{
	struct pollfd wait = { .events = POLLIN };
	ssize_t size;

	if (!*path || strlen(path) >= PATH_MAX || !start_reader(reader))
		return false;
	wait.fd = reader->fd;
	if (send(reader->fd, path, strlen(path), MSG_NOSIGNAL) < 0 ||
	    poll(&wait, 1, ANSWER_MS) <= 0 ||
	    (size = recv(reader->fd, value, AGENT_LABEL_MAX + 1, 0)) <= 0) {
		reader->hung++;
		kill(reader->pid, SIGKILL);
		close(reader->fd);
		/* it may wait for what no signal ends */
		waitpid(reader->pid, NULL, WNOHANG);
		reader->pid = 0;
		return false;
	}
	value[size - 1] = '\0';
	return *value;
}

void agent_service_reader_end(struct agent_service_reader *reader)
{
	if (!reader->pid)
		return;
	close(reader->fd);
	waitpid(reader->pid, NULL, 0);
	reader->pid = 0;
}
