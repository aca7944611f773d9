/* SPDX-License-Identifier: MIT */
/*
 * Records of a big-endian machine. They are decoded there and compared with /proc and the program's
 * own data. Then they are printed with the result (tests/data/recording.h), and the host decodes
 * them in its byte order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/fields.h>

#include "../data/recording.h"
#include "../kernel/live.h"
#include "guest.h"

#define REGISTERS   ((UINT64_C(1) << 34) - 1) /* r0 to r15, fp0 to fp15, mask, pc */
#define MAX_PRINTED 12			      /* printed records of one attr */

static void open_or_fail(struct live *live, const struct perch_attr *attr,
			 const struct perch_target *target, size_t pages)
{
	struct perch_error err;

	CHECK_OK(live_open(live, attr, target, pages, &err), &err);
	CHECK(!live_enable(live), "");
}

static void take(struct live *live)
{
	struct perch_error err;

	CHECK(!live_disable(live), "");
	CHECK_OK(live_take(live, &err), &err);
}

/* Prints each line with the mark that the host searches for, with one write. */
static void print_lines(char *text)
{
	for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		printf("@ %s\n", line);
	fflush(stdout);
}

/* Prints the records, at most the first few of each type. */
static void print_records(const struct live *live)
{
	size_t size, sent[32] = { 0 }, nr = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &size);

	CHECK(file, "no memory");
	recording_put_attr(file, &live->attr);
	for (size_t i = 0; i < live->nr && nr < MAX_PRINTED; i++)
		if (live->record[i].type < 32 && sent[live->record[i].type]++ < 4) {
			recording_put_record(file, &live->record[i]);
			nr++;
		}
	fclose(file);
	print_lines(text);
	free(text);
}

static const struct perch_record *only(const struct live *live, uint32_t type)
{
	CHECK(live_count(live, type) == 1, "%zu %s", live_count(live, type),
	      perch_record_name(type));
	return live_next(live, type, NULL);
}

static bool is_text(const struct perch_text *text, const char *wanted)
{
	return text->length == strlen(wanted) && !memcmp(text->text, wanted, text->length);
}

static void tasks(void)
{
	struct perch_attr attr = live_attr();
	struct perch_target target = { .tid = 0, .cpu = 0 };
	const struct perch_record *record;
	struct live live;
	pid_t child;

	guest_pin(0);
	attr.inherit = attr.task = attr.comm = attr.comm_exec = 1;
	open_or_fail(&live, &attr, &target, 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "big \xf0\x9f\x8c\xb3 endian");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	take(&live);
	record = only(&live, PERCH_RECORD_FORK);
	CHECK(record->task.pid == (uint32_t)child && record->task.tid == (uint32_t)child &&
		      record->task.ppid == (uint32_t)getpid() &&
		      record->task.ptid == (uint32_t)getpid(),
	      "%u of %u", record->task.pid, record->task.ppid);
	CHECK(record->sample_id.pid == (uint32_t)getpid() && record->sample_id.cpu == 0, "");
	record = only(&live, PERCH_RECORD_EXIT);
	CHECK(record->task.pid == (uint32_t)child && record->task.ppid == (uint32_t)getpid() &&
		      record->sample_id.tid == (uint32_t)child,
	      "%u of %u", record->task.pid, record->task.ppid);
	CHECK(record->task.time >= record->sample_id.time && record->task.time <= live.to,
	      "%" PRIu64, record->task.time);
	record = only(&live, PERCH_RECORD_COMM);
	CHECK(is_text(&record->comm.comm, "big \xf0\x9f\x8c\xb3 endian") && !record->comm.exec,
	      "'%s'", record->comm.comm.text);
	print_records(&live);
	live_close(&live);
}

static void mappings(void)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	struct stat st;
	void *at;
	int fd = open("/tmp map", O_RDWR | O_CREAT, 0700);

	CHECK(fd >= 0 && !ftruncate(fd, 8192), "%s", strerror(errno));
	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	open_or_fail(&live, &attr, &perch_self, 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	take(&live);
	CHECK(at != MAP_FAILED && !fstat(fd, &st), "%s", strerror(errno));
	record = only(&live, PERCH_RECORD_MMAP2);
	CHECK(record->mmap.start == (uintptr_t)at && record->mmap.length == 4096 &&
		      record->mmap.page_offset == 4096,
	      "%#" PRIx64 " %#" PRIx64, record->mmap.start, record->mmap.length);
	CHECK(record->mmap.inode == st.st_ino &&
		      record->mmap.protection == (PROT_READ | PROT_EXEC) &&
		      record->mmap.flags & MAP_PRIVATE && record->mmap.pid == (uint32_t)getpid(),
	      "%" PRIu64, record->mmap.inode);
	CHECK(is_text(&record->mmap.filename, "/tmp map"), "'%s'", record->mmap.filename.text);
	print_records(&live);
	live_close(&live);
	attr.mmap2 = 0;
	open_or_fail(&live, &attr, &perch_self, 0);
	at = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	take(&live);
	record = only(&live, PERCH_RECORD_MMAP);
	CHECK(record->mmap.start == (uintptr_t)at && record->mmap.length == 8192 &&
		      !record->mmap.page_offset,
	      "");
	print_records(&live);
	live_close(&live);
}

static void namespaces(void)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct perch_ns_link_info link;
	struct live live;
	struct stat st;

	attr.namespaces = 1;
	open_or_fail(&live, &attr, &perch_self, 0);
	CHECK(!unshare(CLONE_NEWUTS), "%s", strerror(errno));
	take(&live);
	record = only(&live, PERCH_RECORD_NAMESPACES);
	CHECK(record->namespaces.nr == PERCH_NR_NAMESPACES, "%" PRIu64, record->namespaces.nr);
	perch_namespace_at(record, PERCH_UTS_NS_INDEX, &link);
	CHECK(!stat("/proc/self/ns/uts", &st) && link.ino == st.st_ino && link.dev == st.st_dev,
	      "%" PRIu64, link.ino);
	perch_namespace_at(record, PERCH_MNT_NS_INDEX, &link);
	CHECK(!stat("/proc/self/ns/mnt", &st) && link.ino == st.st_ino, "%" PRIu64, link.ino);
	print_records(&live);
	live_close(&live);
}

static void switches(void)
{
	struct perch_target cpu = { .tid = -1, .cpu = 1 };
	struct perch_attr attr = live_attr();
	struct live live;
	size_t out = 0, in = 0;

	attr.context_switch = 1;
	open_or_fail(&live, &attr, &perch_self, 0);
	usleep(20000);
	take(&live);
	CHECK(live.nr >= 2 && live.nr == live_count(&live, PERCH_RECORD_SWITCH), "%zu", live.nr);
	CHECK(live.record[0].context_switch.out && !live.record[1].context_switch.out, "");
	print_records(&live);
	live_close(&live);
	guest_pin(1);
	open_or_fail(&live, &attr, &cpu, 0);
	usleep(20000);
	take(&live);
	for (size_t i = 0; i < live.nr; i++) {
		const struct perch_record *record = &live.record[i];

		CHECK(record->type == PERCH_RECORD_SWITCH_CPU_WIDE && record->sample_id.cpu == 1,
		      "type %u", record->type);
		out += record->context_switch.out && record->sample_id.tid == (uint32_t)getpid();
		in += !record->context_switch.out && record->sample_id.tid == (uint32_t)getpid();
		if (i && record[-1].context_switch.out &&
		    record[-1].sample_id.tid == (uint32_t)getpid())
			CHECK(record->sample_id.tid == record[-1].context_switch.other_tid &&
				      record->context_switch.other_tid == (uint32_t)getpid(),
			      "%u", record->sample_id.tid);
	}
	CHECK(out >= 1 && in >= 1, "%zu out, %zu in", out, in);
	print_records(&live);
	live_close(&live);
}

static void a_cgroup(void)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	struct stat st;

	mkdir("/groups", 0755);
	CHECK(!mount("none", "/groups", "cgroup2", 0, NULL), "%s", strerror(errno));
	attr.cgroup = 1;
	open_or_fail(&live, &attr, &perch_self, 0);
	CHECK(!mkdir("/groups/one of them", 0755), "%s", strerror(errno));
	take(&live);
	if (!live.nr)
		guest_skip("this kernel writes no CGROUP records");
	record = only(&live, PERCH_RECORD_CGROUP);
	CHECK(!stat("/groups/one of them", &st) && record->cgroup.id == st.st_ino, "%" PRIu64,
	      record->cgroup.id);
	CHECK(is_text(&record->cgroup.path, "/one of them"), "'%s'", record->cgroup.path.text);
	print_records(&live);
	live_close(&live);
	CHECK(!rmdir("/groups/one of them"), "%s", strerror(errno));
}

static void a_program(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2,
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL",
		.prog_name = "perch_test",
	};
	struct bpf_prog_info info = { 0 };
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	union bpf_attr ask = { 0 };
	struct live live;
	int fd;

	attr.ksymbol = attr.bpf_event = 1;
	open_or_fail(&live, &attr, &perch_self, 0);
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	CHECK(fd >= 0, "%s", strerror(errno));
	take(&live);
	ask.info.bpf_fd = fd;
	ask.info.info_len = sizeof(info);
	ask.info.info = (uintptr_t)&info;
	CHECK(!syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)), "%s", strerror(errno));
	record = only(&live, PERCH_RECORD_BPF_EVENT);
	CHECK(record->bpf.id == info.id && record->bpf.type == PERCH_BPF_EVENT_PROG_LOAD &&
		      !memcmp(record->bpf.tag, info.tag, 8),
	      "%u", record->bpf.id);
	if (info.jited_prog_len) {
		record = only(&live, PERCH_RECORD_KSYMBOL);
		CHECK(record->ksymbol.length == info.jited_prog_len &&
			      record->ksymbol.type == PERCH_RECORD_KSYMBOL_TYPE_BPF &&
			      !record->ksymbol.flags,
		      "%u bytes", record->ksymbol.length);
	}
	print_records(&live);
	close(fd);
	live_close(&live);
}

/* A loop at a fixed address: r2 counts down, r3 is constant. */
#define CONSTANT UINT64_C(0x0123456789abcdef)
extern const char test_loop[], test_loop_end[];
void test_spin(uint64_t iterations, uint64_t number);
__asm__(".text\n"
	".globl test_spin, test_loop, test_loop_end\n"
	".type test_spin, @function\n"
	".balign 16\n"
	"test_spin:\n"
	"test_loop:\n"
	"	brctg	%r2, test_loop\n"
	"test_loop_end:\n"
	"	br	%r14\n"
	".size test_spin, . - test_spin\n");

static uint64_t named(const struct perch_record *record, const char *name)
{
	const struct perch_registers *registers = &record->sample.regs_user;
	unsigned int at = 0;

	for (unsigned int bit = 0; bit < 64; bit++)
		if (registers->mask >> bit & 1) {
			const char *found = perch_register_name(PERCH_ARCH_S390, bit);

			if (found && !strcmp(found, name))
				return perch_word(record, registers->value + at);
			at++;
		}
	guest_fail("no register %s", name);
}

static void check_sample(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct perch_chain_address address;
	struct perch_read_value value;
	struct perch_chain chain;

	CHECK(sample->regs_user.abi == PERCH_SAMPLE_REGS_ABI_64 && sample->regs_user.nr == 34, "%u",
	      sample->regs_user.nr);
	CHECK(named(record, "r3") == CONSTANT, "%#" PRIx64, named(record, "r3"));
	CHECK(named(record, "pc") == sample->ip, "%#" PRIx64, named(record, "pc"));
	CHECK(named(record, "r2") > 0 && named(record, "r2") <= 4000000000, "%" PRIu64,
	      named(record, "r2"));
	CHECK(sample->stack_user.size == 64 && sample->stack_user.dynamic_size == 64, "%" PRIu64,
	      sample->stack_user.size);
	CHECK(!memcmp(sample->stack_user.data, (const void *)(uintptr_t)named(record, "r15"), 8),
	      "another stack");
	CHECK(sample->period == 1000000, "%" PRIu64, sample->period);
	CHECK(sample->read.nr == 1, "%" PRIu64, sample->read.nr);
	perch_read_values_at(&sample->read, 0, &value);
	CHECK(value.id == sample->id && value.value > 0, "id %" PRIu64, value.id);
	CHECK(sample->read.enabled_ns >= sample->read.running_ns && sample->read.running_ns > 0,
	      "%" PRIu64, sample->read.enabled_ns);
	/* before 6.10 call chains on s390 have no user part */
	perch_chain_init(&chain, record);
	if (perch_chain_next(&chain, &address))
		CHECK(address.ip == sample->ip && address.cpumode == PERCH_MISC_USER, "%#" PRIx64,
		      address.ip);
}

static void samples(void)
{
	struct perch_attr attr = live_sampling(
		PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_TASK_CLOCK,
		PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_READ |
			PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER |
			PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_SRC |
			PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_CGROUP |
			PERCH_SAMPLE_CODE_PAGE_SIZE);
	size_t inside = 0;
	struct live live;

	attr.sample_period = 1000000;
	attr.exclude_kernel = 1;
	attr.sample_regs_user = REGISTERS;
	attr.sample_stack_user = 64;
	attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING |
			   PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	open_or_fail(&live, &attr, &perch_self, 64);
	test_spin(50000000, CONSTANT);
	take(&live);
	for (size_t i = 0; i < live.nr; i++) {
		const struct perch_record *record = &live.record[i];

		if (record->type != PERCH_RECORD_SAMPLE ||
		    record->sample.ip < (uintptr_t)test_loop ||
		    record->sample.ip >= (uintptr_t)test_loop_end)
			continue;
		check_sample(record);
		inside++;
	}
	guest_note("%zu samples, %zu of them in the loop", live_count(&live, PERCH_RECORD_SAMPLE),
		   inside);
	CHECK(inside >= 20, "%zu", inside);
	print_records(&live);
	live_close(&live);
}

/* Call chains of kernel and user space: context markers and addresses. s390 has separate address
 * spaces, so kernel addresses may be lower than user addresses. */
static void kernel_samples(void)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_CONTEXT_SWITCHES,
					       PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN);
	const struct perch_record *record;
	struct live live;
	size_t kernel = 0;

	open_or_fail(&live, &attr, &perch_self, 0);
	for (int i = 0; i < 5; i++)
		/* the emulator is slow: a shorter sleep would end before it starts */
		usleep(10000);
	take(&live);
	record = live_next(&live, PERCH_RECORD_SAMPLE, NULL);
	CHECK(record, "no sample");
	for (uint64_t i = 0; i < record->sample.callchain.nr; i++)
		kernel += perch_word(record, &record->sample.callchain.ip[i]) ==
			  PERCH_CONTEXT_KERNEL;
	CHECK(kernel == 1 && record->sample.callchain.nr > 3, "%" PRIu64 " words",
	      record->sample.callchain.nr);
	print_records(&live);
	live_close(&live);
}

/* Each written page is a page fault with its address; a ring of one page loses some. */
static void faults(void)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_PAGE_FAULTS_MIN,
					       PERCH_SAMPLE_ADDR);
	char *pages =
		mmap(NULL, 400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct perch_record *record;
	struct perch_error err;
	struct live live;

	madvise(pages, 400 * 4096, MADV_NOHUGEPAGE);
	attr.exclude_kernel = 1;
	open_or_fail(&live, &attr, &perch_self, 1);
	for (int i = 0; i < 300; i++)
		((volatile char *)pages)[i * 4096] = 1;
	CHECK_OK(live_take(&live, &err), &err);
	for (int i = 300; i < 303; i++)
		((volatile char *)pages)[i * 4096] = 1;
	take(&live);
	record = only(&live, PERCH_RECORD_LOST);
	CHECK(record->lost.id == live.id &&
		      record->lost.lost + live_count(&live, PERCH_RECORD_SAMPLE) >= 303,
	      "%" PRIu64 " lost, %zu not", record->lost.lost,
	      live_count(&live, PERCH_RECORD_SAMPLE));
	record = live.nr ? &live.record[live.nr - 1] : NULL;
	CHECK(record->type == PERCH_RECORD_SAMPLE, "type %u", record->type);
	for (size_t i = 0; i < live.nr; i++)
		if (live.record[i].type == PERCH_RECORD_SAMPLE &&
		    live.record[i].sample.addr == (uintptr_t)pages + 302 * 4096)
			record = NULL;
	CHECK(!record, "no fault at the last page");
	print_records(&live);
	live_close(&live);
}

/* Raw data of a tracepoint: starts with its id, in big-endian order. */
static void raw(void)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_TRACEPOINT, 0, PERCH_SAMPLE_RAW);
	FILE *file = fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", "re");
	const struct perch_record *record;
	struct live live;
	uint16_t type;
	unsigned id;

	if (!file || fscanf(file, "%u", &id) != 1)
		guest_skip("this kernel has no tracepoint at getppid");
	fclose(file);
	attr.config = id;
	open_or_fail(&live, &attr, &perch_self, 0);
	syscall(SYS_getppid);
	take(&live);
	record = only(&live, PERCH_RECORD_SAMPLE);
	CHECK(record->sample.raw.size >= 12, "%u bytes", record->sample.raw.size);
	memcpy(&type, record->sample.raw.data, sizeof(type));
	CHECK(type == id, "%u instead of %u", type, id);
	print_records(&live);
	live_close(&live);
}

static const struct guest_test guest_records[] = {
	{ .name = "big-endian records of tasks", .run = tasks },
	{ .name = "big-endian records of mappings", .run = mappings },
	{ .name = "big-endian records of namespaces", .run = namespaces },
	{ .name = "big-endian records of switches", .run = switches },
	{ .name = "a big-endian record of a cgroup", .run = a_cgroup },
	{ .name = "big-endian records of a BPF program", .run = a_program },
	{ .name = "big-endian samples with registers, stack and call chains", .run = samples },
	{ .name = "big-endian samples of the kernel", .run = kernel_samples },
	{ .name = "big-endian page faults and lost records", .run = faults },
	{ .name = "big-endian raw data", .run = raw },
	{ 0 },
};
const struct guest_test *const guest_lists[] = { guest_records, NULL };
