/* SPDX-License-Identifier: MIT */
/* Processes, descriptors and addresses that open calls use, and a machine whose system calls are
 * checked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generated.h"

#define NOBODY	65534
#define CGROUPS "/sys/fs/cgroup"

static unsigned calls_made;
static const char *misconduct;
/* System calls are checked only while a case is explained. The test itself opens events of the real
 * type. */
static uint32_t uprobe_type;

static int watched_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			int group_fd, unsigned long flags)
{
	int fd;

	calls_made++;
	fd = perch_kernel_syscalls.perf_event_open(context, attr, pid, cpu, group_fd, flags);
	if (fd < 0)
		return fd;
	if (!attr->disabled)
		misconduct = "an event was opened enabled";
	else if (attr->enable_on_exec || attr->sigtrap)
		misconduct = attr->sigtrap ? "an event was opened with sigtrap"
					   : "an event was opened with enable_on_exec";
	else if (!(flags & PERCH_FLAG_FD_CLOEXEC))
		misconduct = "an event was opened without CLOEXEC";
	else if (uprobe_type && attr->type == uprobe_type)
		misconduct = "a probe was placed";
	return fd;
}

static const struct perch_syscalls *watched_calls(void)
{
	static struct perch_syscalls calls;

	calls = perch_kernel_syscalls;
	calls.perf_event_open = watched_open;
	return &calls;
}

unsigned world_calls(bool reset)
{
	unsigned calls = calls_made;

	if (reset)
		calls_made = 0;
	return calls;
}

const char *world_misconduct(void)
{
	const char *what = misconduct;

	misconduct = NULL;
	return what;
}

/* A process that sleeps until its parent exits, and reports when it is ready. */
static pid_t sleeper(bool dumpable)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		return 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, dumpable);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		pid = 0;
	close(ready[0]);
	return pid;
}

/* A process that has exited, and was waited for: its pid is free. */
static pid_t ended(bool reaped)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	waitid(P_PID, pid, &info, WEXITED | (reaped ? 0 : WNOWAIT));
	return pid;
}

static uint64_t number_in(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long number = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

static void find_tracepoints(struct world *world)
{
	static const char *const names[] = { "raw_syscalls/sys_enter",
					     "syscalls/sys_enter_getppid",
					     "syscalls/sys_exit_getppid",
					     "sched/sched_switch",
					     "sched/sched_wakeup",
					     "irq/softirq_entry",
					     "kmem/kmalloc" };
	char path[256];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", names[i]);
		world->tracepoint[world->nr_tracepoints] = number_in(path);
		if (!world->tracepoint[world->nr_tracepoints])
			continue;
		world->nr_tracepoints++;
		world->nr_open_tracepoints += i < 3;
	}
}

static void watch_here(void)
{
	__asm__ volatile("nop");
}

static uint64_t watched_data[64] __attribute__((aligned(64)));

/* The file offset of a function of this program: its address minus the load address. */
static void find_program(struct world *world)
{
	ssize_t length = readlink("/proc/self/exe", world->program, sizeof(world->program) - 1);
	Dl_info info;

	world->code = (uintptr_t)watch_here;
	world->data = (uintptr_t)watched_data;
	if (length > 0 && dladdr((void *)(uintptr_t)watch_here, &info))
		world->program_offset = (uintptr_t)watch_here - (uintptr_t)info.dli_fbase;
}

static void find_cpus(struct world *world)
{
	const struct perch_cpus *cpus;

	if (perch_machine_cpus(world->machine, &cpus, NULL))
		return;
	for (size_t i = 0; i < cpus->nr && i < COUNT_OF(world->cpu); i++)
		world->cpu[world->nr_cpus++] = cpus->cpu[i];
	world->first_absent_cpu = 8192 + 1;
	if (cpus->nr == (size_t)sysconf(_SC_NPROCESSORS_CONF))
		world->first_absent_cpu = sysconf(_SC_NPROCESSORS_CONF);
}

static int make_cgroup(const char *root, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s-%d", root, name, getpid());
	mkdir(path, 0755);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_cgroups(struct world *world)
{
	char root[256];

	world->cgroup[0] = world->cgroup[1] = -1;
	if (perch_machine_cgroups(world->machine, root, sizeof(root), NULL))
		return;
	world->cgroup[0] = make_cgroup(root, "perch-generated-a");
	world->cgroup[1] = make_cgroup(root, "perch-generated-b");
}

static void remove_cgroups(const struct world *world)
{
	char path[4096], link[64];
	ssize_t length;

	for (size_t i = 0; i < COUNT_OF(world->cgroup); i++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", world->cgroup[i]);
		length = readlink(link, path, sizeof(path) - 1);
		if (length <= 0)
			continue;
		path[length] = '\0';
		rmdir(path);
		close(world->cgroup[i]);
	}
}

static int open_bare(uint32_t type, uint64_t config, pid_t pid, int cpu, int group_fd,
		     unsigned long flags)
{
	struct perch_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .disabled = 1
	};

	attr.exclude_kernel = geteuid() != 0;
	if (group_fd != -1 || flags == PERCH_FLAG_FD_NO_GROUP)
		attr.read_format = PERCH_FORMAT_GROUP | PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	return syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd,
		       flags | PERCH_FLAG_FD_CLOEXEC);
}

/* The kernel accepts members while one read of the group fits into 16 KiB: this group is full. */
static void make_full_group(struct world *world)
{
	world->full_leader = open_bare(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, 0, -1, -1,
				       PERCH_FLAG_FD_NO_GROUP);
	if (world->full_leader < 0)
		return;
	while (open_bare(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, 0, -1, world->full_leader, 0) >=
	       0)
		;
	if (errno == E2BIG)
		return;
	world->full_leader = -1;
}

/*
 * The first and the last event of a tracepoint, and of some features, wait for every CPU (40 ms).
 * One of each stays open.
 */
static void keep_open(const struct world *world)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .config = PERCH_COUNT_SW_DUMMY,
				   .disabled = 1,
				   .context_switch = 1,
				   .inherit = 1,
				   .mmap = 1,
				   .comm = 1,
				   .task = 1,
				   .namespaces = 1,
				   .cgroup = 1,
				   .text_poke = 1,
				   .ksymbol = 1,
				   .bpf_event = 1,
				   .sample_type = PERCH_SAMPLE_CALLCHAIN,
				   .exclude_kernel = 0 };

	for (size_t i = 0; i < world->nr_tracepoints; i++)
		open_bare(PERCH_TYPE_TRACEPOINT, world->tracepoint[i], 0, -1, -1, 0);
	if (world->cgroup[0] >= 0)
		open_bare(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, world->cgroup[0],
			  world->cpu[0], -1, PERCH_FLAG_PID_CGROUP);
	syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
	open_bare(PERCH_TYPE_BREAKPOINT, 0, 0, -1, -1, 0);
}

static void raise_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 4096 && limit.rlim_max >= 4096) {
		limit.rlim_cur = 4096;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static uint64_t sysctl_or(struct world *world, enum perch_sysctl which, uint64_t otherwise)
{
	long value;

	return perch_machine_sysctl(world->machine, which, &value, NULL) ? otherwise
									 : (uint64_t)value;
}

static int describe_machine(struct world *world)
{
	int status = perch_machine_new(&world->machine, NULL, watched_calls(), NULL);

	if (!status)
		perch_machine_set_probing(world->machine, true);
	return status;
}

static void make_processes(struct world *world)
{
	world->self = getpid();
	world->child = sleeper(true);
	world->gone = ended(true);
	world->zombie = ended(false);
}

int world_make(struct world *world)
{
	int status;

	*world = (struct world){ .privileged = true, .kthread = 2, .full_leader = -1 };
	raise_descriptors();
	status = describe_machine(world);
	if (status)
		return status;
	find_cpus(world);
	find_tracepoints(world);
	find_program(world);
	make_cgroups(world);
	make_processes(world);
	world->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	world->directory_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uprobe_type = world->uprobe_type = number_in("/sys/bus/event_source/devices/uprobe/type");
	world->msr_type = number_in("/sys/bus/event_source/devices/msr/type");
	world->max_rate = sysctl_or(world, PERCH_SYSCTL_MAX_SAMPLE_RATE, 100000);
	world->max_stack = sysctl_or(world, PERCH_SYSCTL_MAX_STACK, 127);
	perch_machine_attr_size(world->machine, &world->kernel_size, NULL);
	keep_open(world);
	make_full_group(world);
	return 0;
}

int world_become(struct world *world)
{
	pid_t root = getppid();

	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	/* Files of root must not be readable or measurable by others, but a program of nobody may
	 * be. */
	prctl(PR_SET_DUMPABLE, 1);
	perch_machine_free(world->machine);
	if (describe_machine(world))
		return -ENOMEM;
	world->privileged = false;
	world->kthread = 0;
	world->foreign = root;
	make_processes(world);
	world->undumpable = sleeper(false);
	perch_machine_attr_size(world->machine, &world->kernel_size, NULL);
	make_full_group(world);
	return 0;
}

void world_end(struct world *world)
{
	pid_t processes[] = { world->child, world->zombie, world->undumpable };

	for (size_t i = 0; i < COUNT_OF(processes); i++) {
		if (processes[i] <= 0)
			continue;
		kill(processes[i], SIGKILL);
		waitpid(processes[i], NULL, 0);
	}
	perch_machine_free(world->machine);
	if (world->privileged)
		remove_cgroups(world);
}
