/* SPDX-License-Identifier: MIT */
/*
 * The program that explain.sh traces. Its argument selects how it makes open calls that are
 * refused. It checks that tracing changes nothing, and exits with 100 if a check fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <perch/abi.h>

#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(100);                                             \
		}                                                               \
	} while (0)

static struct perch_attr good(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER0,
				   .config = PERCH_COUNT_SW_PAGE_FAULTS,
				   .disabled = 1,
				   .exclude_kernel = 1 };

	return attr;
}

/* An attr that the kernel refuses: read_format has an unknown bit. */
static struct perch_attr bad(unsigned bit)
{
	struct perch_attr attr = good();

	attr.read_format = 1ull << bit;
	return attr;
}

static int open_event(const struct perch_attr *attr, int group)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, group, 0ul);
}

static void fail_once(void)
{
	struct perch_attr attr = bad(40), before = attr;

	CHECK(open_event(&attr, -1) == -1 && errno == EINVAL);
	CHECK(!memcmp(&attr, &before, sizeof(attr)));
}

static int mode_one(void)
{
	fail_once();
	return 0;
}

/* The kernel writes its own size into the attr, where it must stay. */
static int mode_size(void)
{
	unsigned char bytes[4096] = { 0 };
	struct perch_attr *attr = (void *)bytes;

	*attr = good();
	attr->size = 4000;
	bytes[3999] = 1;
	CHECK(open_event(attr, -1) == -1 && errno == E2BIG);
	CHECK(attr->size >= PERCH_ATTR_SIZE_VER0 && attr->size < 1000 && bytes[3999] == 1);
	return 0;
}

static const struct perch_attr constant = { .type = PERCH_TYPE_SOFTWARE,
					    .size = PERCH_ATTR_SIZE_VER0,
					    .config = PERCH_COUNT_SW_PAGE_FAULTS,
					    .read_format = 1ull << 41 };

static int mode_constant(void)
{
	CHECK(open_event(&constant, -1) == -1 && errno == EINVAL);
	CHECK(constant.read_format == 1ull << 41 && constant.config == PERCH_COUNT_SW_PAGE_FAULTS);
	return 0;
}

static int mode_null(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perch_attr attr = good();

	CHECK(open_event(NULL, -1) == -1 && errno == EFAULT);
	CHECK(open_event((void *)8, -1) == -1 && errno == EFAULT);
	CHECK(open_event((void *)-32l, -1) == -1 && errno == EFAULT);
	/* the second half of the attr is not mapped */
	CHECK(pages != MAP_FAILED && !munmap(pages + 4096, 4096));
	memcpy(pages + 4096 - 32, &attr, 32);
	CHECK(open_event((void *)(pages + 4096 - 32), -1) == -1 && errno == EFAULT);
	return 0;
}

static void *fail_repeatedly(void *argument)
{
	for (int i = 0; i < 25; i++)
		CHECK(open_event(argument, -1) == -1 && errno == EINVAL);
	return NULL;
}

/* Threads share one attr. */
static int mode_threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, fail_repeatedly, (void *)&constant));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], NULL));
	return 0;
}

static int ended_with(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Children by fork, vfork and clone: each is refused once. */
static int mode_children(void)
{
	char *const arguments[] = { (char *)"explain_target", (char *)"one", NULL };
	pid_t pid;

	pid = fork();
	if (!pid) {
		fail_once();
		_exit(3);
	}
	CHECK(ended_with(pid) == 3);
	pid = vfork();
	if (!pid) {
		execv("/proc/self/exe", arguments);
		_exit(99);
	}
	CHECK(ended_with(pid) == 0);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		fail_once();
		raise(SIGKILL);
	}
	CHECK(ended_with(pid) == 128 + SIGKILL);
	return 0;
}

static void *execute(void *unused)
{
	char *const arguments[] = { (char *)"explain_target", (char *)"one", NULL };

	(void)unused;
	fail_once();
	execv("/proc/self/exe", arguments);
	_exit(99);
}

static void *sleeper(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

/* A thread other than the leader executes a program while the others sleep. */
static int mode_exec(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, sleeper, NULL));
	CHECK(!pthread_create(&thread, NULL, execute, NULL));
	pause();
	return 99;
}

static void *execute_late(void *microseconds)
{
	char *const arguments[] = { (char *)"explain_target", (char *)"one", NULL };

	usleep((intptr_t)microseconds);
	execv("/proc/self/exe", arguments);
	_exit(99);
}

/*
 * The leader opens many events, so that system calls are often injected into it. During one of
 * them, another thread executes a program; it waits until the tracer takes the end of a third
 * thread.
 */
static int mode_exec_during_injection(void)
{
	struct perch_attr attr = good();
	pthread_t thread;

	for (intptr_t i = 0; i < 60; i++) {
		int status;
		pid_t pid = fork();

		if (pid) {
			CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			      !WEXITSTATUS(status));
			continue;
		}
		CHECK(!pthread_create(&thread, NULL, sleeper, NULL));
		CHECK(!pthread_create(&thread, NULL, execute_late, (void *)(i * 10)));
		for (;;)
			if (open_event(&attr, -1) < 0)
				pause();
	}
	return 0;
}

/* mmap, ioctl and read of an event fail; a read of a pipe with its number must not be reported. */
static int mode_operations(void)
{
	struct perch_attr attr = good();
	const size_t page = sysconf(_SC_PAGESIZE);
	char buffer[8] = "";
	int fd, zero[2];

	fd = open_event(&attr, -1);
	CHECK(fd >= 0);
	CHECK(mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
	      errno == EINVAL);
	CHECK(mmap((char *)page + 1, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   0) == MAP_FAILED &&
	      errno == EINVAL);
	CHECK(ioctl(fd, PERCH_IOC_SET_FILTER, "id == 1") == -1 && errno == EINVAL);
	CHECK(read(fd, buffer, 4) == -1 && errno == ENOSPC);
	CHECK(read(fd, buffer, 8) == 8);
	CHECK(!close(fd) && !pipe(zero) && zero[0] == fd);
	CHECK(read(fd, (void *)8, 0) == 0);
	CHECK(!close(zero[1]) && read(fd, buffer, 1) == 0);
	CHECK(ioctl(fd, PERCH_IOC_ENABLE, 0) == -1 && errno == ENOTTY);
	return 0;
}

/* Uses a descriptor as that of an event, by four system calls; all fail with the errno. */
static void use(int fd, int expected)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char buffer[8];
	struct iovec vector[2] = { { buffer, 0 }, { buffer, 8 } };

	CHECK(read(fd, buffer, sizeof(buffer)) == -1 && errno == expected);
	CHECK(readv(fd, vector, 2) == -1 && errno == expected);
	CHECK(mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
	      errno == expected);
	CHECK(ioctl(fd, PERCH_IOC_ENABLE, 0) == -1 && errno == expected);
}

/* The result of a refused open call is used, and that of an event after it is closed. */
static int mode_misused(void)
{
	struct perch_attr attr = bad(40);
	char buffer[4];
	struct iovec vector = { buffer, sizeof(buffer) };
	int fd;

	CHECK(open_event(&attr, -1) == -1 && errno == EINVAL);
	use(-1, EBADF);
	attr = good();
	fd = open_event(&attr, -1);
	CHECK(fd >= 0 && readv(fd, &vector, 1) == -1 && errno == ENOSPC);
	CHECK(!close(fd));
	use(fd, EBADF);
	return 0;
}

/* An event's number becomes a pipe, which is then used as the event. */
static int mode_foreign(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct perch_attr attr = good();
	int fd = open_event(&attr, -1), ends[2];

	CHECK(fd >= 0 && !close(fd) && !pipe(ends) && ends[0] == fd);
	CHECK(mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
	      errno == EACCES);
	CHECK(ioctl(fd, PERCH_IOC_ENABLE, 0) == -1 && errno == ENOTTY);
	return 0;
}

/* Failures that have nothing to do with events. */
static int mode_unrelated(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct perch_attr attr = good();
	char buffer[8];
	int fd, directory;

	for (int i = 0; i < 2; i++) {
		CHECK(read(-1, buffer, 8) == -1 && read(900, buffer, 8) == -1 && errno == EBADF);
		CHECK(ioctl(-1, TCGETS, buffer) == -1 && errno == EBADF);
		CHECK(mmap(NULL, page, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED &&
		      errno == EBADF);
		directory = open("/", O_RDONLY);
		CHECK(directory >= 0 && read(directory, buffer, 8) == -1 && errno == EISDIR);
		fd = open_event(&attr, -1);
		CHECK(fd >= 0 && read(fd, buffer, 8) == 8);
	}
	return 0;
}

/* So many events that the range of the filter grows: reads of the first and the last are reported.
 */
static int mode_many(void)
{
	struct perch_attr attr = good();
	char buffer[8];
	int fd = -1;

	for (int i = 0; i < 300; i++) {
		fd = open_event(&attr, -1);
		CHECK(fd >= 0);
	}
	CHECK(read(fd, buffer, 4) == -1 && errno == ENOSPC);
	CHECK(read(fd - 299, buffer, 4) == -1 && errno == ENOSPC);
	return 0;
}

/* Adds a filter that gives a system call this answer. */
static void install_filter(unsigned number, unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

static int mode_filtered(void)
{
	struct perch_attr attr = good();

	install_filter(SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM);
	CHECK(open_event(&attr, -1) == -1 && errno == EPERM);
	return 0;
}

/* The filter does not concern events. */
static int mode_other_filter(void)
{
	install_filter(SYS_acct, SECCOMP_RET_ERRNO | EPERM);
	fail_once();
	return 0;
}

static int mode_filter_kills(void)
{
	struct perch_attr attr = good();

	install_filter(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS);
	open_event(&attr, -1);
	return 100;
}

static void *open_good(void *argument)
{
	struct perch_attr attr = good();

	open_event(&attr, -1);
	return argument;
}

/* Only the thread ends, and the process goes on. */
static int mode_filter_kills_thread(void)
{
	pthread_t thread;

	install_filter(SYS_perf_event_open, SECCOMP_RET_KILL_THREAD);
	CHECK(!pthread_create(&thread, NULL, open_good, NULL));
	usleep(300000);
	return 6;
}

static pthread_barrier_t barrier;

static void *open_at_once(void *argument)
{
	pthread_barrier_wait(&barrier);
	return open_good(argument);
}

/* The filter ends the process at the first of many open calls. */
static int mode_filter_kills_threads(void)
{
	pthread_t thread[16];

	CHECK(!pthread_barrier_init(&barrier, NULL, 16));
	install_filter(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < 16; i++)
		CHECK(!pthread_create(&thread[i], NULL, open_at_once, NULL));
	pause();
	return 100;
}

static void *fail_always(void *argument)
{
	while (argument)
		fail_repeatedly(argument);
	return NULL;
}

/* The filter ends the process at acct(2), while other threads are in perf_event_open. */
static int mode_filter_kills_another(void)
{
	pthread_t thread[3];

	install_filter(SYS_acct, SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&thread[i], NULL, fail_always, (void *)&constant));
	usleep(30000);
	syscall(SYS_acct, NULL);
	return 100;
}

/* A filter wants a tracer for two system calls, and the process has none. */
static int mode_filter_traces(void)
{
	struct perch_attr attr = good();

	install_filter(SYS_acct, SECCOMP_RET_TRACE | 1);
	CHECK(syscall(SYS_acct, (char *)8) == -1 && errno == ENOSYS);
	install_filter(SYS_perf_event_open, SECCOMP_RET_TRACE | 2);
	CHECK(open_event(&attr, -1) == -1 && errno == ENOSYS);
	CHECK(syscall(SYS_acct, (char *)8) == -1 && errno == ENOSYS);
	return 9;
}

/* The same, with another filter that makes every system call stop. */
static int mode_filter_traces_slowly(void)
{
	install_filter(SYS_readv, SECCOMP_RET_ERRNO | EPERM);
	return mode_filter_traces();
}

/* Exits with 12 in the strict mode of seccomp, with 13 if that fails. */
static int mode_strict(void)
{
	const bool fails = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);

	return syscall(SYS_exit, fails ? 13 : 12);
}

static int mode_filter_traps(void)
{
	struct perch_attr attr = good();

	install_filter(SYS_perf_event_open, SECCOMP_RET_TRAP);
	open_event(&attr, -1);
	return 100;
}

/* Drops all privileges, then opens an event. */
static int mode_dropped(void)
{
	struct perch_attr attr = good();
	char buffer[8];
	int fd;

	CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	fd = open_event(&attr, -1);
	CHECK(fd >= 0 && read(fd, buffer, 4) == -1 && errno == ENOSPC);
	return 0;
}

static volatile sig_atomic_t signals;

static void count(int number)
{
	(void)number;
	signals++;
}

/* A filter, of this program or around it, sends SIGSYS. */
static int mode_traps_handled(void)
{
	struct perch_attr attr = good();

	signal(SIGSYS, count);
	open_event(&attr, -1);
	CHECK(signals == 1);
	return 7;
}

static int mode_filter_traps_handled(void)
{
	install_filter(SYS_perf_event_open, SECCOMP_RET_TRAP);
	return mode_traps_handled();
}

/* Traces a child, as a debugger does. */
static int mode_tracer(void)
{
	const long all = ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	CHECK(all == -1 && errno == EPERM);
	CHECK(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1 && errno == EPERM);
	CHECK(ptrace(PTRACE_CONT, pid, NULL, NULL) == -1 && errno == ESRCH);
	CHECK(!kill(pid, SIGKILL) && ended_with(pid) == 128 + SIGKILL);
	return 8;
}

/* Signals arrive during probes. */
static int mode_signals(void)
{
	const struct itimerspec often = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct perch_attr attr = bad(42);
	timer_t timer;

	signal(SIGUSR1, count);
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) &&
	      !timer_settime(timer, 0, &often, NULL));
	for (int i = 0; i < 200; i++)
		CHECK(open_event(&attr, -1) == -1 && errno == EINVAL);
	CHECK(!timer_settime(timer, 0, &never, NULL) && signals > 0);
	return 0;
}

/*
 * A child stops itself, and its parent continues it, as in job control. The child waits until the
 * parent has seen that: after its end waitpid() returns the end alone.
 */
static int mode_stopped(void)
{
	int status, seen[2];
	pid_t pid;
	char byte = 0;

	CHECK(!pipe(seen));
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		CHECK(read(seen[0], &byte, 1) == 1);
		fail_once();
		_exit(4);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
	      WSTOPSIG(status) == SIGSTOP);
	usleep(20000);
	CHECK(waitpid(pid, &status, WUNTRACED | WNOHANG) == 0);
	CHECK(!kill(pid, SIGCONT) && waitpid(pid, &status, WCONTINUED) == pid &&
	      WIFCONTINUED(status));
	CHECK(write(seen[1], &byte, 1) == 1);
	CHECK(ended_with(pid) == 4);
	return 0;
}

static int mode_interrupted(void)
{
	signal(SIGINT, count);
	puts("ready");
	fflush(stdout);
	while (!signals)
		pause();
	fail_once();
	return 40 + signals;
}

/* For -p: each signal makes one open call fail. Another thread sleeps. */
static int mode_waits(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, sleeper, NULL));
	signal(SIGUSR1, count);
	puts("ready");
	fflush(stdout);
	for (int done = 0; done < 2;) {
		if (done < signals) {
			fail_once();
			done++;
		}
		usleep(2000);
	}
	return 5;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "one", mode_one },
	{ "size", mode_size },
	{ "constant", mode_constant },
	{ "null", mode_null },
	{ "threads", mode_threads },
	{ "children", mode_children },
	{ "exec", mode_exec },
	{ "exec-during-injection", mode_exec_during_injection },
	{ "operations", mode_operations },
	{ "many", mode_many },
	{ "misused", mode_misused },
	{ "foreign", mode_foreign },
	{ "unrelated", mode_unrelated },
	{ "other-filter", mode_other_filter },
	{ "filter-kills", mode_filter_kills },
	{ "filter-kills-thread", mode_filter_kills_thread },
	{ "filter-kills-threads", mode_filter_kills_threads },
	{ "filter-kills-another", mode_filter_kills_another },
	{ "filter-traces", mode_filter_traces },
	{ "filter-traces-slowly", mode_filter_traces_slowly },
	{ "strict", mode_strict },
	{ "filter-traps", mode_filter_traps },
	{ "filter-traps-handled", mode_filter_traps_handled },
	{ "traps-handled", mode_traps_handled },
	{ "tracer", mode_tracer },
	{ "filtered", mode_filtered },
	{ "dropped", mode_dropped },
	{ "signals", mode_signals },
	{ "stopped", mode_stopped },
	{ "interrupted", mode_interrupted },
	{ "waits", mode_waits },
};

/* Turns off the leak sanitizer, which fails in a traced program. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	fprintf(stderr, "usage: explain_target MODE\n");
	return 2;
}
