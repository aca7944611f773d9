/* SPDX-License-Identifier: MIT */
/* The first process of the machine: mounts file systems, runs the tests, and powers off. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/machine.h>

#include "guest.h"

#define PASSED	0
#define FAILED	1
#define SKIPPED 77
#define SECONDS 20 /* limit for a test, by the clock of the guest, which counts instructions */

static const char *running = "the machine is ready";

/* Prints one line with one write. */
static void print_line(const char *before, const char *format, va_list arguments)
{
	char line[1024];
	int length = snprintf(line, sizeof(line), "%s%s", before, running);

	if (*format) {
		length += snprintf(line + length, sizeof(line) - length, ": ");
		length += vsnprintf(line + length, sizeof(line) - length, format, arguments);
	}
	if (length > (int)sizeof(line) - 1)
		length = sizeof(line) - 1;
	puts(line);
	fflush(stdout);
}

void guest_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("not ok - ", format, arguments);
	va_end(arguments);
	_exit(FAILED);
}

void guest_skip(const char *format, ...)
{
	char why[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	printf("ok - %s # skip %s\n", running, why);
	fflush(stdout);
	_exit(SKIPPED);
}

void guest_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("# ", format, arguments);
	va_end(arguments);
}

void guest_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		guest_fail("cannot write '%s' to %s: %s", text, path, strerror(errno));
	close(fd);
}

void guest_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		guest_fail("cannot move to CPU %d: %s", cpu, strerror(errno));
}

const char *guest_pmu(void)
{
	static char name[64];
	struct perch_machine *machine;
	const struct perch_pmu *pmus;
	struct perch_error err;
	size_t nr;

	CHECK_OK(perch_machine_new(&machine, NULL, NULL, &err), &err);
	CHECK_OK(perch_machine_pmus(machine, &pmus, &nr, &err), &err);
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			snprintf(name, sizeof(name), "%s", pmus[i].name);
	perch_machine_free(machine);
	if (!name[0])
		guest_fail("no PMU of the CPUs among %zu", nr);
	return name;
}

uint64_t guest_off(uint64_t value, uint64_t wanted)
{
	return (value > wanted ? value - wanted : wanted - value) * 1000 / wanted;
}

static void mount_or_fail(const char *kind, const char *where)
{
	mkdir(where, 0755);
	if (mount(kind, where, kind, 0, NULL))
		guest_fail("cannot mount %s on %s: %s", kind, where, strerror(errno));
}

/*
 * Mounts file systems and sets sysctls. perf_cpu_time_max_percent 100 disables the check that
 * lowers the maximum sample rate on slow machines, which the emulator is.
 */
static void prepare(void)
{
	mount_or_fail("proc", "/proc");
	mount_or_fail("sysfs", "/sys");
	mount_or_fail("tracefs", "/sys/kernel/tracing");
	guest_write("/proc/sys/kernel/perf_cpu_time_max_percent", "100");
	guest_write("/proc/sys/kernel/perf_event_paranoid", "-1");
	if (!access(GUEST_USER_ACCESS, F_OK)) /* Linux 5.17 */
		guest_write(GUEST_USER_ACCESS, "1");
	guest_write("/proc/sys/kernel/kptr_restrict", "0");
}

static void run_one(const struct guest_test *test)
{
	int status = 0;
	pid_t child;

	running = test->name;
	child = fork();
	if (!child) {
		alarm(SECONDS);
		test->run();
		_exit(PASSED);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		printf("not ok - %s: cannot fork: %s\n", running, strerror(errno));
	else if (WIFSIGNALED(status))
		printf("not ok - %s: killed by signal %d (%s)\n", running, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == PASSED)
		printf("ok - %s\n", running);
	else if (WEXITSTATUS(status) != FAILED && WEXITSTATUS(status) != SKIPPED)
		printf("not ok - %s: exit status %d\n", running, WEXITSTATUS(status));
	fflush(stdout);
}

/* The last line is the number of tests: without it the host reports a failure. */
int main(void)
{
	size_t nr = 0;
	pid_t child = fork();

	/* in a child, so a failure does not end the first process; mounts are shared */
	if (!child) {
		prepare();
		_exit(PASSED);
	}
	waitpid(child, NULL, 0);
	for (size_t i = 0; guest_lists[i]; i++)
		for (const struct guest_test *test = guest_lists[i]; test->name; test++, nr++)
			run_one(test);
	printf("# %zu tests ran\n", nr);
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
