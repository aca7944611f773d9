/* SPDX-License-Identifier: MIT */
/*
 * Creates the processes and descriptors that open calls use, and a machine whose system calls are
 * checked.
 */
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
static const char *violation;
/* System calls are checked only while a case is explained. The test itself opens events of the real
 * type. */
static uint32_t uprobe_type;

static int checked_perf_event_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
				   int group_fd, unsigned long flags)
{
	int fd;

	calls_made++;
	fd = perch_kernel_syscalls.perf_event_open(context, attr, pid, cpu, group_fd, flags);
	if (fd < 0)
		return fd;
	if (!attr->disabled)
		violation = "an event was opened enabled";
	else if (attr->enable_on_exec || attr->sigtrap)
		violation = attr->sigtrap ? "an event was opened with sigtrap"
					  : "an event was opened with enable_on_exec";
	else if (!(flags & PERCH_FLAG_FD_CLOEXEC))
		violation = "an event was opened without CLOEXEC";
	else if (uprobe_type && attr->type == uprobe_type)
		violation = "a uprobe was opened";
	return fd;
}

static const struct perch_syscalls *checked_syscalls(void)
{
	static struct perch_syscalls calls;

	calls = perch_kernel_syscalls;
	calls.perf_event_open = checked_perf_event_open;
	return &calls;
}

unsigned count_open_calls(bool reset)
{
	unsigned calls = calls_made;

	if (reset)
		calls_made = 0;
	return calls;
}

const char *take_violation(void)
{
	const char *what = violation;

	violation = NULL;
	return what;
}

/* Starts a process that sleeps until its parent exits. Returns when the process is ready. */
static pid_t start_sleeping_process(bool dumpable)
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

/* Returns the pid of a process that has exited. If reaped is true, the pid is free. */
static pid_t make_exited_process(bool reaped)
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

static void find_tracepoints(struct environment *env)
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
		env->tracepoint[env->nr_tracepoints] = number_in(path);
		if (!env->tracepoint[env->nr_tracepoints])
			continue;
		env->nr_tracepoints++;
		env->nr_open_tracepoints += i < 3;
	}
}

static void watched_function(void)
{
	__asm__ volatile("nop");
}

static uint64_t watched_data[64] __attribute__((aligned(64)));

/* The file offset of a function of this program: its address minus the load address. */
static void find_program(struct environment *env)
{
	ssize_t length = readlink("/proc/self/exe", env->program, sizeof(env->program) - 1);
	Dl_info info;

	env->code = (uintptr_t)watched_function;
	env->data = (uintptr_t)watched_data;
	if (length > 0 && dladdr((void *)(uintptr_t)watched_function, &info))
		env->program_offset = (uintptr_t)watched_function - (uintptr_t)info.dli_fbase;
}

static void find_cpus(struct environment *env)
{
	const struct perch_cpus *cpus;

	if (perch_machine_cpus(env->machine, &cpus, NULL))
		return;
	for (size_t i = 0; i < cpus->nr && i < COUNT_OF(env->cpu); i++)
		env->cpu[env->nr_cpus++] = cpus->cpu[i];
	env->first_absent_cpu = 8192 + 1;
	if (cpus->nr == (size_t)sysconf(_SC_NPROCESSORS_CONF))
		env->first_absent_cpu = sysconf(_SC_NPROCESSORS_CONF);
}

static void remove_cgroups(const struct environment *env)
{
	char path[4096], link[64];
	ssize_t length;

	for (size_t i = 0; i < COUNT_OF(env->cgroup); i++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", env->cgroup[i]);
		length = readlink(link, path, sizeof(path) - 1);
		if (length <= 0)
			continue;
		path[length] = '\0';
		rmdir(path);
		close(env->cgroup[i]);
	}
}

static int open_event(uint32_t type, uint64_t config, pid_t pid, int cpu, int group_fd,
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

bool environment_allows_events(void)
{
	int fd = open_event(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * A cgroup that can be measured; -1 if none can be made. Without a service manager, cgroups below
 * the root have no perf_event until a controller is enabled in cgroup.subtree_control.
 */
static int make_cgroup(const struct environment *env, const char *root, const char *name)
{
	char path[512];
	int cgroup, event;

	snprintf(path, sizeof(path), "%s/%s-%d", root, name, getpid());
	mkdir(path, 0755);
	cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	event = open_event(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, cgroup, env->cpu[0], -1,
			   PERCH_FLAG_PID_CGROUP);
	if (event >= 0) {
		close(event);
		return cgroup;
	}
	printf("no case measures a cgroup: %s: %s\n", path, strerror(errno));
	if (cgroup >= 0)
		close(cgroup);
	rmdir(path);
	return -1;
}

static void make_cgroups(struct environment *env)
{
	char root[256];

	env->cgroup[0] = env->cgroup[1] = -1;
	if (perch_machine_cgroups(env->machine, root, sizeof(root), NULL))
		return;
	env->cgroup[0] = make_cgroup(env, root, "perch-generated-a");
	env->cgroup[1] = make_cgroup(env, root, "perch-generated-b");
}

/* Adds members until one read of the group would exceed 16 KiB, which the kernel refuses. */
static void make_full_group(struct environment *env)
{
	env->full_leader = open_event(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, 0, -1, -1,
				      PERCH_FLAG_FD_NO_GROUP);
	if (env->full_leader < 0)
		return;
	while (open_event(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, 0, -1, env->full_leader, 0) >=
	       0)
		;
	if (errno == E2BIG)
		return;
	env->full_leader = -1;
}

/*
 * Opening the first event of a tracepoint or of some features waits for every CPU (40 ms), and so
 * does closing the last one. One event of each stays open to avoid that.
 */
static void keep_events_open(const struct environment *env)
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

	for (size_t i = 0; i < env->nr_tracepoints; i++)
		open_event(PERCH_TYPE_TRACEPOINT, env->tracepoint[i], 0, -1, -1, 0);
	if (env->cgroup[0] >= 0)
		open_event(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, env->cgroup[0], env->cpu[0],
			   -1, PERCH_FLAG_PID_CGROUP);
	syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
	open_event(PERCH_TYPE_BREAKPOINT, 0, 0, -1, -1, 0);
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

static uint64_t sysctl_or(struct environment *env, enum perch_sysctl which, uint64_t otherwise)
{
	long value;

	return perch_machine_sysctl(env->machine, which, &value, NULL) ? otherwise
								       : (uint64_t)value;
}

static int create_machine(struct environment *env)
{
	int status = perch_machine_new(&env->machine, NULL, checked_syscalls(), NULL);

	if (!status)
		perch_machine_set_probing(env->machine, true);
	return status;
}

static void make_processes(struct environment *env)
{
	env->self = getpid();
	env->child = start_sleeping_process(true);
	env->gone = make_exited_process(true);
	env->zombie = make_exited_process(false);
}

int environment_create(struct environment *env)
{
	int status;

	*env = (struct environment){ .privileged = true, .kthread = 2, .full_leader = -1 };
	raise_descriptors();
	status = create_machine(env);
	if (status)
		return status;
	find_cpus(env);
	find_tracepoints(env);
	find_program(env);
	make_cgroups(env);
	make_processes(env);
	env->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	env->directory_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uprobe_type = env->uprobe_type = number_in("/sys/bus/event_source/devices/uprobe/type");
	env->msr_type = number_in("/sys/bus/event_source/devices/msr/type");
	env->max_rate = sysctl_or(env, PERCH_SYSCTL_MAX_SAMPLE_RATE, 100000);
	env->max_stack = sysctl_or(env, PERCH_SYSCTL_MAX_STACK, 127);
	perch_machine_attr_size(env->machine, &env->kernel_size, NULL);
	env->lacks = features_lacking();
	keep_events_open(env);
	make_full_group(env);
	return 0;
}

int environment_drop_privileges(struct environment *env)
{
	pid_t root = getppid();

	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	/* After the change of user the process is not dumpable, and others may not measure it. */
	prctl(PR_SET_DUMPABLE, 1);
	perch_machine_free(env->machine);
	if (create_machine(env))
		return -ENOMEM;
	env->privileged = false;
	env->kthread = 0;
	env->foreign = root;
	make_processes(env);
	env->not_dumpable = start_sleeping_process(false);
	perch_machine_attr_size(env->machine, &env->kernel_size, NULL);
	make_full_group(env);
	return 0;
}

void environment_destroy(struct environment *env)
{
	pid_t processes[] = { env->child, env->zombie, env->not_dumpable };

	for (size_t i = 0; i < COUNT_OF(processes); i++) {
		if (processes[i] <= 0)
			continue;
		kill(processes[i], SIGKILL);
		waitpid(processes[i], NULL, 0);
	}
	perch_machine_free(env->machine);
	if (env->privileged)
		remove_cgroups(env);
}
