/* SPDX-License-Identifier: MIT */
/* What /proc shows of a thread at this moment. */
#define _GNU_SOURCE /* process_vm_readv, pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define KERNEL_THREAD 0x00200000 /* a flag of /proc/TID/stat */

enum { MOST_QUEUE_MS = 200 }; /* that an answer of a CPU may take */

uint64_t calls_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

ssize_t calls_read_memory(uint32_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { NULL, size };

	if (address > UINTPTR_MAX)
		return -EFAULT;
	remote.iov_base = (void *)(uintptr_t)address;
	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
}

/* Reads the first line of a file of a thread. Returns 0 or a negative errno. */
static int read_line(uint32_t tid, const char *name, char *line, int size)
{
	char path[48];
	FILE *file;
	int rc;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	errno = 0;
	line[0] = '\0';
	rc = fgets(line, size, file) || !errno ? 0 : -errno;
	fclose(file);
	return rc;
}

int calls_thread_location(uint32_t tid, struct calls_location *location)
{
	uint64_t *argument = location->argument;
	char line[256];
	int rc = read_line(tid, "syscall", line, sizeof(line));

	*location = (struct calls_location){ .number = -1 };
	if (rc)
		return rc;
	location->runs = !strncmp(line, "running", strlen("running"));
	location->in_call = sscanf(line,
				   "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
				   " %" SCNx64 " %" SCNx64,
				   &location->number, &argument[0], &argument[1], &argument[2],
				   &argument[3], &argument[4], &argument[5]) == 7;
	return 0;
}

int calls_thread_state(uint32_t tid, struct calls_state *state)
{
	char line[512], *name, *end;
	unsigned flags = 0;
	int rc = read_line(tid, "stat", line, sizeof(line));

	*state = (struct calls_state){ .cpu = -1 };
	if (rc)
		return rc;
	/* the name, in parentheses, may have any characters */
	name = strchr(line, '(');
	end = strrchr(line, ')');
	if (!name || !end || end < name)
		return -EINVAL;
	snprintf(state->comm, sizeof(state->comm), "%.*s", (int)(end - name - 1), name + 1);
	if (sscanf(end + 1,
		   " %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
		   &state->letter, &flags, &state->cpu) != 3)
		return -EINVAL;
	state->is_kernel = flags & KERNEL_THREAD;
	if (read_line(tid, "wchan", state->function, sizeof(state->function)) ||
	    !strcmp(state->function, "0"))
		state->function[0] = '\0';
	return 0;
}

/* ---- since when ---- */

/* When a thread ran last, by the clock of its CPU's run queue, in ns; 0: unknown. */
static uint64_t last_run(const char *thread)
{
	char path[40], line[160];
	uint64_t ms = 0, ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/sched", thread);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "se.exec_start", strlen("se.exec_start"))) {
			sscanf(strchr(line, ':') ? strchr(line, ':') + 1 : "",
			       "%" SCNu64 ".%" SCNu64, &ms, &ns);
			break;
		}
	if (file)
		fclose(file);
	return ms * 1000000 + ns;
}

/* The time since a thread ran last, which is now, by its run queue: CLOCK_MONOTONIC less the clock
 * of that. Returns false if it is unknown. */
static bool measure_offset(int cpu, int64_t *offset)
{
	const struct timespec shortest = { .tv_nsec = 1 };
	uint64_t now, began;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return false;
	/* it sleeps on the CPU, so that it begins to run on it now */
	nanosleep(&shortest, NULL);
	now = calls_now();
	began = last_run("self");
	*offset = (int64_t)(now - began);
	return began;
}

/* A process of its own asks the CPU, as a program with a priority of real time may keep it from
 * that for ever. */
static bool ask_queue(int cpu, int64_t *offset)
{
	struct pollfd answer = { .events = POLLIN };
	bool done = false;
	int pipes[2];
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return false;
	child = fork();
	if (!child) {
		done = measure_offset(cpu, offset) &&
		       write(pipes[1], offset, sizeof(*offset)) == sizeof(*offset);
		_exit(!done);
	}
	close(pipes[1]);
	answer.fd = pipes[0];
	if (child > 0 && poll(&answer, 1, MOST_QUEUE_MS) == 1)
		done = read(pipes[0], offset, sizeof(*offset)) == sizeof(*offset);
	close(pipes[0]);
	/* one that does not get the CPU ends when it does, and nobody waits for it */
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, done ? 0 : WNOHANG);
	}
	return done;
}

/* True for a CPU that is for the programs of its user alone. */
static bool is_isolated(int cpu)
{
	static const char *const lists[] = { "/sys/devices/system/cpu/isolated",
					     "/sys/devices/system/cpu/nohz_full" };
	bool isolated = false;

	for (size_t i = 0; i < CLI_NR(lists) && !isolated; i++) {
		char line[4096] = "";
		FILE *file = fopen(lists[i], "re");
		struct perch_cpus cpus;

		if (file && fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			if (!perch_cpus_parse(&cpus, line, NULL)) {
				isolated = perch_cpus_contains(&cpus, cpu);
				perch_cpus_clear(&cpus);
			}
		}
		if (file)
			fclose(file);
	}
	return isolated;
}

uint64_t calls_thread_waited(struct calls_queues *queues, uint32_t tid, int cpu)
{
	struct calls_queue *queue;
	char name[16];
	uint64_t ran;
	int64_t waited;

	if (cpu < 0 || cpu >= CALLS_CPUS)
		return 0;
	queue = &queues->cpu[cpu];
	if (!queue->asked)
		queue->valid = !is_isolated(cpu) && ask_queue(cpu, &queue->offset);
	queue->asked = true;
	snprintf(name, sizeof(name), "%u", tid);
	ran = queue->valid ? last_run(name) : 0;
	waited = (int64_t)(calls_now() - ran) - queue->offset;
	return ran && waited > 0 ? (uint64_t)waited : 0;
}
