/* SPDX-License-Identifier: MIT */
/*
 * Describes the host of a run of the tests, so that the reader of its output knows how it differs
 * from others. Scripts ask it, too:
 *
 *	host               a paragraph
 *	host slowness      the number by which limits are multiplied
 *	host 32-bit        nothing if 32-bit programs of x86 run, else why not; exit status 1
 *	host breakpoints   nothing if breakpoints fire, else why not; exit status 1
 *	host frequency N   N, or a lower frequency at which samples take half of the time
 */
#define _GNU_SOURCE
#include "host.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/utsname.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* Prints the first line of a file from behind the first colon that follows the word, or all of it.
 */
static void print_line(const char *label, const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	char line[512] = "";
	const char *text = NULL;

	while (file && !text && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (!word)
			text = line;
		else if (!strncmp(line, word, strlen(word)) && strchr(line, ':'))
			text = strchr(line, ':') + 1;
	}
	if (file)
		fclose(file);
	while (text && isspace((unsigned char)*text))
		text++;
	if (text)
		printf("%s%s", label, text);
}

static void print_hypervisor(void)
{
#ifdef __x86_64__
	unsigned words[4] = { 0 };

	__cpuid(1, words[0], words[1], words[2], words[3]);
	if (!(words[2] & 1u << 31)) {
		printf("; no hypervisor");
		return;
	}
	__cpuid(0x40000000, words[0], words[1], words[2], words[3]);
	printf("; hypervisor %.12s", (const char *)&words[1]);
#else
	print_line("; hypervisor ", "/sys/hypervisor/type", NULL);
#endif
	print_line(" ", "/sys/class/dmi/id/sys_vendor", NULL);
	print_line(" ", "/sys/class/dmi/id/product_name", NULL);
}

static void print_pmu(void)
{
	int event = host_open((struct perch_attr){ .type = PERCH_TYPE_HARDWARE,
						   .config = PERCH_COUNT_HW_CPU_CYCLES,
						   .exclude_kernel = 1 });

	printf("; %s", event < 0 ? "no PMU (cycles: " : "a PMU");
	if (event < 0)
		printf("%s)", strerror(errno));
	else
		close(event);
}

static const char *why_no_breakpoints(void)
{
	int fire = host_breakpoints_fire();

	return fire > 0 ? NULL : fire < 0 ? strerror(-fire) : "they can be opened and never fire";
}

static bool has_event(const char *pid)
{
	char path[300], target[64];
	struct dirent *entry;
	bool found = false;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory))) {
		ssize_t size =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		target[size < 0 ? 0 : size] = 0;
		found = !strcmp(target, "anon_inode:[perf_event]");
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Prints the processes that have events open. Those of other users are unknown. */
static void print_recorders(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300];
	int nr = 0;

	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)*entry->d_name) || !has_event(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		print_line(nr++ ? ", " : "; events are open in ", path, NULL);
		printf(" (%s)", entry->d_name);
	}
	if (proc)
		closedir(proc);
	if (!nr)
		printf("; no other recorder%s", geteuid() ? " of this user" : "");
}

static void print_limits(void)
{
	int narrow = host_executes_32_bits();
	const char *why = why_no_breakpoints();
	double cost = host_sample_cost();

	printf("; breakpoints %s%s%s", why ? "do not fire (" : "fire", why ? why : "",
	       why ? ")" : "");
	if (cost < 0)
		printf("; no samples of cpu-clock");
	else
		printf("; a sample of cpu-clock takes %.1f us", cost * 1e6);
	printf("; 32-bit programs %s", narrow ? "do not run" : "run");
}

static void describe(void)
{
	struct utsname name;

	printf("host: ");
	print_line("", "/proc/cpuinfo", "model name");
	printf(", %ld CPUs, %.1f GiB of memory", sysconf(_SC_NPROCESSORS_ONLN),
	       (double)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / (1 << 30));
	print_hypervisor();
	if (!uname(&name))
		printf("; %s %s %s", name.sysname, name.release, name.machine);
	printf("; uid %u", (unsigned)geteuid());
	print_line("; kernel.perf_event_paranoid ", "/proc/sys/kernel/perf_event_paranoid", NULL);
	print_pmu();
	print_limits();
	print_recorders();
	print_line("; load ", "/proc/loadavg", NULL);
	printf("; slowness %.1f\n", host_slowness());
}

static int answer(const char *why)
{
	if (why)
		printf("%s\n", why);
	return why != NULL;
}

/* A program makes no progress if a sample takes as long as the time to the next one. */
static void print_frequency(double wanted)
{
	double most = 0.5 / (host_sample_cost() + 1e-9);

	printf("%.0f\n", most > 0 && most < wanted ? most : wanted);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int narrow;

	if (!*what)
		return describe(), 0;
	if (!strcmp(what, "slowness"))
		return printf("%.2f\n", host_slowness()), 0;
	if (!strcmp(what, "breakpoints"))
		return answer(why_no_breakpoints());
	if (!strcmp(what, "frequency") && argc > 2)
		return print_frequency(atof(argv[2])), 0;
	if (strcmp(what, "32-bit")) {
		fprintf(stderr, "usage: host [slowness|32-bit|breakpoints|frequency N]\n");
		return 2;
	}
	narrow = host_executes_32_bits();
	return answer(narrow ? strerror(-narrow) : NULL);
}
