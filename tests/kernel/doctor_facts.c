/* SPDX-License-Identifier: MIT */
/*
 * Finds the facts of perch doctor without perch, with the system calls and the header of the
 * system.
 *
 *   doctor_facts events TRACEPOINT SYSCALL_TRACEPOINT PID CGROUP
 *                              opens each event, prints lines "id ok|limited|no"
 *   doctor_facts rings KIB     maps a ring of KIB on every CPU: "yes" or "no"
 *   doctor_facts descriptors   opens events until the limit, prints their number
 *   doctor_facts attr          prints the size of perf_event_attr in the kernel
 *   doctor_facts lockdown      tries REGS_INTR: "ok", "limited" or "unknown"
 *   doctor_facts uprobe FILE TYPE   opens a uprobe in the file: "ok" or "no"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long watched;

static int event_on(struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags);
}

static bool opens(struct perf_event_attr attr, pid_t pid, int cpu, unsigned long flags)
{
	int fd = event_on(&attr, pid, cpu, flags);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Some hypervisors accept breakpoints and pass no debug exception on. */
static bool fires(struct perf_event_attr attr)
{
	uint64_t hits = 0;
	int fd;

	attr.bp_addr = (uintptr_t)&watched;
	attr.exclude_kernel = 1;
	fd = event_on(&attr, 0, -1, 0);
	if (fd < 0)
		return false;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	((volatile long *)&watched)[0] = 1;
	if (read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 0;
	close(fd);
	return hits > 0;
}

static struct perf_event_attr event(unsigned type, uint64_t config, bool user)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = type;
	attr.config = config;
	attr.exclude_kernel = attr.exclude_hv = user;
	return attr;
}

static struct perf_event_attr sampled(unsigned type, uint64_t config, bool user,
				      uint64_t sample_type)
{
	struct perf_event_attr attr = event(type, config, user);

	attr.sample_period = 10000000;
	attr.sample_type = sample_type;
	return attr;
}

static void print_status(const char *id, bool whole, bool part)
{
	printf("%s %s\n", id, whole ? "ok" : part ? "limited" : "no");
}

static void own_events(void)
{
	struct perf_event_attr chain =
		sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, PERF_SAMPLE_CALLCHAIN);
	struct perf_event_attr precise = sampled(PERF_TYPE_HARDWARE, 0, true, PERF_SAMPLE_IP),
			       branches = precise;
	struct perf_event_attr point = event(PERF_TYPE_BREAKPOINT, 0, true);
	bool cycles, clock;

	print_status("count-user",
		     opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true), 0, -1, 0),
		     false);
	print_status("count-kernel",
		     opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false), 0, -1, 0),
		     false);
	clock = opens(sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, PERF_SAMPLE_IP), 0,
		      -1, 0);
	print_status("clock", clock, false);
	cycles = opens(sampled(PERF_TYPE_HARDWARE, 0, true, PERF_SAMPLE_IP), 0, -1, 0);
	print_status("cycles", cycles, opens(event(PERF_TYPE_HARDWARE, 0, true), 0, -1, 0));
	print_status("sample", cycles, clock);
	print_status("sample-kernel",
		     opens(sampled(cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE, 0, false,
				   PERF_SAMPLE_IP),
			   0, -1, 0),
		     false);
	chain.exclude_callchain_kernel = 1;
	print_status("callchains",
		     opens(sampled(PERF_TYPE_SOFTWARE, 0, false, PERF_SAMPLE_CALLCHAIN), 0, -1, 0),
		     opens(chain, 0, -1, 0));
	precise.precise_ip = 2;
	print_status("precise", opens(precise, 0, -1, 0),
		     (precise.precise_ip = 1, opens(precise, 0, -1, 0)));
	branches.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	branches.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	print_status("branch-stacks", opens(branches, 0, -1, 0), false);
	point.bp_type = HW_BREAKPOINT_RW;
	point.bp_len = HW_BREAKPOINT_LEN_4;
	point.bp_addr = (uintptr_t)&watched;
	print_status("breakpoints", opens(point, 0, -1, 0) && fires(point), false);
	point.bp_addr = UINT64_C(0xffffffff80000000);
	point.exclude_kernel = point.exclude_hv = 0;
	print_status("kernel-breakpoints", opens(point, 0, -1, 0) && fires(point), false);
}

static void system_wide_events(pid_t pid, const char *cgroup)
{
	int fd = open(cgroup, O_RDONLY);

	print_status("system-wide",
		     opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true), -1, 0, 0),
		     false);
	print_status("other-users",
		     opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true), pid, -1, 0),
		     false);
	print_status("cgroups",
		     fd >= 0 && opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true),
				      fd, 0, PERF_FLAG_PID_CGROUP),
		     false);
}

/* An id of 0 is a tracepoint that cannot be read. */
static void tracepoints(uint64_t id, uint64_t syscall_id)
{
	struct perf_event_attr data = sampled(PERF_TYPE_TRACEPOINT, id, true, PERF_SAMPLE_RAW);
	struct perf_event_attr syscall_data =
		sampled(PERF_TYPE_TRACEPOINT, syscall_id, true, PERF_SAMPLE_RAW);

	print_status("tracepoints", id && opens(event(PERF_TYPE_TRACEPOINT, id, false), 0, -1, 0),
		     id && opens(event(PERF_TYPE_TRACEPOINT, id, true), 0, -1, 0));
	print_status("tracepoint-data", id && opens(data, 0, -1, 0),
		     syscall_id && opens(syscall_data, 0, -1, 0));
}

static void bpf_program(void)
{
	struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
				   { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACEPOINT;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	print_status("bpf", fd >= 0, false);
}

static int rings(size_t kib)
{
	size_t page = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (long cpu = 0; cpu < cpus; cpu++) {
		struct perf_event_attr attr =
			sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, PERF_SAMPLE_IP);
		int fd = event_on(&attr, 0, (int)cpu, 0);

		if (fd < 0 || mmap(NULL, page + kib * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				   0) == MAP_FAILED) {
			puts(fd < 0 || errno != EPERM ? "broken" : "no");
			return 0;
		}
	}
	puts("yes");
	return 0;
}

static int descriptors(void)
{
	struct perf_event_attr attr = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, true);
	int nr = 0;

	while (event_on(&attr, 0, -1, 0) >= 0)
		nr++;
	printf("%d\n", errno == EMFILE ? nr : -errno);
	return 0;
}

/* The kernel returns E2BIG for a byte that is set beyond its last field. */
static int attr_size(void)
{
	static unsigned char bytes[4096];
	uint32_t size;

	for (size = PERF_ATTR_SIZE_VER0; size < sizeof(bytes); size += 8) {
		uint32_t whole = size + 8;

		memset(bytes, 0, sizeof(bytes));
		bytes[0] = PERF_TYPE_SOFTWARE;
		memcpy(bytes + 4, &whole, sizeof(whole));
		bytes[size] = 1;
		if (syscall(SYS_perf_event_open, bytes, -1, -1, -1, 0) < 0 && errno == E2BIG)
			break;
	}
	printf("%u\n", size);
	return 0;
}

/* At the level confidentiality, lockdown refuses REGS_INTR to every user. */
static int lockdown(void)
{
	struct perf_event_attr attr =
		sampled(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, PERF_SAMPLE_IP);

	if (!opens(attr, 0, -1, 0)) {
		puts("unknown");
		return 0;
	}
	attr.sample_type |= PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 3;
	puts(opens(attr, 0, -1, 0) ? "ok" : errno == EPERM ? "limited" : "unknown");
	return 0;
}

/* The caller made the file, and nothing executes it. */
static int uprobe(const char *file, unsigned type)
{
	struct perf_event_attr attr = event(type, 0, false);
	unsigned char header[64];
	int fd = open(file, O_RDONLY);

	if (fd < 0 || read(fd, header, sizeof(header)) != sizeof(header))
		return 1;
	close(fd);
	attr.config1 = (uintptr_t)file;
	attr.config2 = 0x1000;
	puts(opens(attr, 0, -1, 0) ? "ok" : "no");
	return 0;
}

/* Whether the cgroup has perf_event: without it an event cannot be opened on the directory. */
static int cgroup(const char *directory)
{
	int fd = open(directory, O_RDONLY);

	puts(fd >= 0 && opens(event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, true), fd, 0,
			      PERF_FLAG_PID_CGROUP)
		     ? "yes"
		     : "no");
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "events") && argc == 6) {
		own_events();
		system_wide_events(atoi(argv[4]), argv[5]);
		tracepoints(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
		bpf_program();
		return 0;
	}
	if (!strcmp(command, "rings") && argc == 3)
		return rings(strtoul(argv[2], NULL, 10));
	if (!strcmp(command, "cgroup") && argc == 3)
		return cgroup(argv[2]);
	if (!strcmp(command, "descriptors"))
		return descriptors();
	if (!strcmp(command, "attr"))
		return attr_size();
	if (!strcmp(command, "lockdown"))
		return lockdown();
	if (!strcmp(command, "uprobe") && argc == 4)
		return uprobe(argv[2], atoi(argv[3]));
	fprintf(stderr, "usage: see the head of doctor_facts.c\n");
	return 2;
}
