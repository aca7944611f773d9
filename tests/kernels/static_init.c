/* SPDX-License-Identifier: MIT */
/* The first process of a machine that has nothing but perch-static: runs its commands, and prints
 * lines 'ok - name' and 'not ok - name'. With an argument it is the program that is recorded. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT	"/tmp/output"
#define PERCH	"/perch-static"
#define WORK	"--", "/init", "work"
#define SECONDS 2

static const struct step {
	const char *name, *expected; /* expected is a part of the output */
	const char *arguments[12];
} steps[] = {
	{ "version", "static: [ on  ]", { PERCH, "version", "--build-options" } },
	{ "doctor", "paranoid", { PERCH, "doctor" } },
	{ "stat", "seconds time elapsed", { PERCH, "stat", WORK } },
	{ "record -g", "samples)", { PERCH, "record", "-g", "-o", "/tmp/data", WORK } },
	{ "report -g", "burn_time", { PERCH, "report", "--stdio", "-i", "/tmp/data" } },
	{ "script", "burn_time", { PERCH, "script", "-i", "/tmp/data" } },
	{ "record -z", "samples)", { PERCH, "record", "-z", "-o", "/tmp/data.z", WORK } },
	{ "report of a compressed file",
	  "burn_time",
	  { PERCH, "report", "--stdio", "-i", "/tmp/data.z" } },
	{ "export pprof",
	  "",
	  { PERCH, "export", "-i", "/tmp/data", "--format", "pprof", "-o", "/tmp/p" } },
	{ "trace", "exit_group(0)", { PERCH, "trace", "-o", OUTPUT, WORK } },
};

/* The function that has all samples. */
__attribute__((noinline, noclone)) int burn_time(void)
{
	volatile unsigned sum = 0;
	time_t end = time(NULL) + SECONDS;

	while (time(NULL) < end)
		for (unsigned i = 0; i < 1000000; i++)
			sum += i * i;
	return sum == 1;
}

static bool has_output(const char *expected)
{
	static char text[1 << 20];
	FILE *file = fopen(OUTPUT, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[size] = 0;
	if (file)
		fclose(file);
	if (strstr(text, expected))
		return true;
	text[size < 3000 ? size : 3000] = 0;
	puts(text);
	return false;
}

static bool run(const struct step *step, uid_t user)
{
	pid_t pid = fork();
	int status = -1, out;

	if (!pid) {
		out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		dup2(out, 1);
		dup2(out, 2);
		if (user && (setgid(user) || setuid(user)))
			_exit(126);
		execv(step->arguments[0], (char **)step->arguments);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	/* doctor ends with 1 where something is limited */
	return has_output(step->expected) && WIFEXITED(status) &&
	       WEXITSTATUS(status) <= !strcmp(step->name, "doctor");
}

static void run_all(uid_t user, const char *as)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		/* tracepoints are for root */
		if (user && !strcmp(steps[i].name, "trace"))
			continue;
		printf("%s - %s as %s\n", run(&steps[i], user) ? "ok" : "not ok", steps[i].name,
		       as);
		fflush(stdout);
	}
	unlink("/tmp/data");
	unlink("/tmp/data.z");
	unlink("/tmp/p");
	unlink(OUTPUT);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return;
	fputs(text, file);
	fclose(file);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return burn_time();
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/tmp", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	mount("tmp", "/tmp", "tmpfs", 0, "mode=1777");
	setenv("HOME", "/tmp", 1);
	setenv("PERCH_CACHE", "0", 1);
	/* Debian's newest kernels begin with 3, which permits users nothing */
	write_file("/proc/sys/kernel/perf_event_paranoid", "2");
	run_all(0, "root");
	run_all(65534, "a user");
	puts("# all ran");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
