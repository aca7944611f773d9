/* SPDX-License-Identifier: MIT */
/* An operation for each rule of src/explain/operation/{mmap,ioctl,read}.def, and its expected
 * explanation. */
#ifndef PERCH_TEST_EXPLAIN_OPERATION_ROWS_H
#define PERCH_TEST_EXPLAIN_OPERATION_ROWS_H

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <perch/explain.h>

/* The machines of the rows: see machine_files in test_explain_operations.c. */
enum machine_kind {
	NONE, /* no facts at all */
	/* 6.14, paranoid 2, unprivileged user, 2 CPUs x 516 KiB and 64 KiB */
	USER,
	ROOT, /* the same with all capabilities */
	OLD,  /* 3.10 */
	NEW,  /* 6.18, vm.mmap_min_addr 65536, no locked memory, too many mappings: see the test */
	STABLE, /* 6.1, with the mappings of NEW */
	SELINUX,
	LIMITED, /* RLIMIT_AS and RLIMIT_DATA */
	NR_MACHINES
};

struct operation_row {
	const char *rule;
	enum machine_kind machine;
	int errnum;
	enum perch_confidence confidence;
	const char *words;  /* part of the message */
	const char *remedy; /* part of the remedy; NULL: any */
	bool has_attr, has_other;
	struct perch_attr attr, other_attr;
	struct perch_open_call_leader other;
	struct perch_operation op;
};

#define CERTAIN	  PERCH_CONFIDENCE_CERTAIN
#define LIKELY	  PERCH_CONFIDENCE_LIKELY
#define AMBIGUOUS PERCH_CONFIDENCE_AMBIGUOUS
/* clang-format off */
#define ROW(rule, machine, errnum, confidence, text, ...) \
	{ #rule, machine, errnum, confidence, .words = text, __VA_ARGS__ }
/* clang-format on */
#define ADVISES(text)	.remedy = text
#define EVENT(...)	.has_attr = true, .attr = { __VA_ARGS__ }
#define OTHER(...)	.has_other = true, .other = { __VA_ARGS__ }
#define OTHER_ATTR(...) .other_attr = { __VA_ARGS__ }
#define SHARED		.map_flags = MAP_SHARED, .cpu = -1
#define MAP(...)	.op = { .kind = PERCH_OPERATION_MMAP, __VA_ARGS__ }
/* with MAP_FIXED or MAP_FIXED_NOREPLACE */
#define AT(at, fixed, ...) \
	MAP(.address = at, .address_known = true, .map_flags = MAP_SHARED | (fixed), __VA_ARGS__)
#define UNMAP(...) .op = { .kind = PERCH_OPERATION_MUNMAP, __VA_ARGS__ }
#define READ(...)  .op = { .kind = PERCH_OPERATION_READ, __VA_ARGS__ }
#define ASK(name, ...) \
	.op = { .kind = PERCH_OPERATION_IOCTL, .request = PERCH_IOC_##name, __VA_ARGS__ }
#define PAGE	   4096ul /* the described machines have pages of this size */
#define SOFTWARE   .type = PERCH_TYPE_SOFTWARE
#define TRACEPOINT .type = PERCH_TYPE_TRACEPOINT
#define TRACE_UNIT .type = 9
#define SAMPLING   .sample_period = 1000

static char longest[2 * PAGE]; /* filled when the tests begin */
/* a comparison with a string of 256 bytes */
#define TEXT_64	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT_256 TEXT_64 TEXT_64 TEXT_64 TEXT_64
static const char long_text[] = "prev_comm == \"" TEXT_256 "\"";

static const struct operation_row operation_rows[] = {
	/* any mapping of a file */
	ROW(mmap_negative, NONE, EBADF, CERTAIN, "negative",
	    MAP(.length = 9 * PAGE, SHARED, .fd = -1)),
	ROW(mmap_not_open, NONE, EBADF, CERTAIN, "not open", MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_nothing, NONE, EINVAL, CERTAIN, "length is 0", MAP(SHARED)),
	ROW(mmap_odd_offset, NONE, EINVAL, CERTAIN, "offset 100",
	    MAP(.length = PAGE, .offset = 100, SHARED)),
	ROW(mmap_no_type, NONE, EINVAL, CERTAIN, "neither", EVENT(SOFTWARE),
	    MAP(.length = 9 * PAGE)),
	ROW(mmap_huge, NONE, EINVAL, CERTAIN, "huge pages",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED | MAP_HUGETLB)),
	ROW(mmap_sync, NONE, EOPNOTSUPP, CERTAIN, "persistent",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED_VALIDATE | 0x80000)),
	ROW(mmap_validate, NONE, EOPNOTSUPP, CERTAIN, "MAP_FIXED_NOREPLACE",
	    ADVISES("ignores unknown flags"),
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED_VALIDATE | 0x100000)),
	ROW(mmap_validate, NONE, EOPNOTSUPP, CERTAIN, "0x2000000",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED_VALIDATE | 0x2000000)),
	ROW(mmap_no_type, NONE, EINVAL, CERTAIN, "neither", EVENT(SOFTWARE),
	    MAP(.length = 9 * PAGE, .map_flags = 9)),
	ROW(mmap_grows, NONE, EINVAL, CERTAIN, "stacks",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED | MAP_GROWSDOWN)),
	ROW(mmap_exec, NEW, EPERM, CERTAIN, "executable (PROT_EXEC)",
	    MAP(.length = 9 * PAGE, .protection = PROT_READ | PROT_EXEC, SHARED)),
	ROW(mmap_exec, USER, EPERM, AMBIGUOUS, "since Linux 6.16, and in stable",
	    MAP(.length = 9 * PAGE, .protection = PROT_READ | PROT_EXEC, SHARED)),
	ROW(mmap_write_exec, NONE, EACCES, LIKELY, "PR_SET_MDWE",
	    MAP(.length = 9 * PAGE, .protection = PROT_WRITE | PROT_EXEC, SHARED)),
	ROW(mmap_exec, NONE, EPERM, CERTAIN, "executable", ADVISES("PROT_READ | PROT_WRITE"),
	    MAP(.length = 9 * PAGE, .protection = PROT_READ | PROT_EXEC, SHARED)),
	ROW(mmap_lock_flag, USER, EAGAIN, CERTAIN,
	    "36 KiB of locked memory, which exceeds RLIMIT_MEMLOCK (currently 64 KiB)",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED | MAP_LOCKED)),

	ROW(mmap_lock_none, NEW, EPERM, CERTAIN, "above 0 (currently 0 KiB)",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED | MAP_LOCKED)),
	ROW(mmap_lock_all, USER, EAGAIN, CERTAIN, "36 KiB more exceed RLIMIT_MEMLOCK (currently 64",
	    ADVISES("munlockall"), MAP(.length = 9 * PAGE, SHARED)),

	/* addresses */
	ROW(mmap_past_end, NONE, EOVERFLOW, CERTAIN, "18446744073709547520 + length 8192",
	    MAP(.length = 2 * PAGE, .offset = -(uint64_t)PAGE, SHARED)),
	ROW(mmap_above, NONE, ENOMEM, CERTAIN, "0xfffffffffff000: 36864 bytes",
	    ADVISES("address NULL"), AT(0xfffffffffff000, MAP_FIXED, .length = 9 * PAGE)),
	ROW(mmap_above, NONE, ENOMEM, CERTAIN, "0xffffffffffffe000", ADVISES("address NULL"),
	    AT(-(uint64_t)2 * PAGE, 0x100000, .length = 9 * PAGE)),
#if defined(__x86_64__)
	ROW(mmap_above, LIMITED, ENOMEM, CERTAIN, "ends at 0x7ffffffff000",
	    AT(0x7fffffffe000, MAP_FIXED, .length = 3 * PAGE)),
	ROW(mmap_low, NONE, ENOMEM, CERTAIN, "2147483648 bytes", ADVISES("MAP_32BIT"),
	    MAP(.length = 1ul << 31, .map_flags = MAP_SHARED | MAP_32BIT)),
#endif
	ROW(mmap_above, NONE, ENOMEM, LIKELY, "0xfffff000",
	    AT(0xfffff000, MAP_FIXED, .length = PAGE)),
	ROW(mmap_above, NONE, ENOMEM, LIKELY, "address (unknown)",
	    MAP(.length = PAGE, .map_flags = MAP_SHARED | MAP_FIXED)),
#if UINTPTR_MAX > UINT32_MAX
	ROW(mmap_overlong, NONE, ENOMEM, CERTAIN, "18446744073709551615",
	    MAP(.length = -1, SHARED)),
	ROW(mmap_too_long, NONE, ENOMEM, CERTAIN, "than user space has",
	    MAP(.length = 1ul << 60, SHARED)),
#else
	ROW(mmap_overlong, NONE, ENOMEM, CERTAIN, "4294967295", MAP(.length = -1, SHARED)),
#endif
	ROW(mmap_odd_address, NONE, EINVAL, CERTAIN, "4096, not 0x100000000010",
	    AT(0x100000000010, MAP_FIXED, .length = 9 * PAGE)),
	ROW(mmap_odd_address, NONE, EINVAL, AMBIGUOUS, "(unknown)",
	    MAP(.length = 9 * PAGE, .map_flags = MAP_SHARED | MAP_FIXED)),
	ROW(mmap_min_address, NEW, EPERM, CERTAIN,
	    "address 0x0 is below vm.mmap_min_addr (currently 65536), and needs CAP_SYS_RAWIO",
	    ADVISES("address NULL"), AT(0, MAP_FIXED, .length = 9 * PAGE)),
	ROW(mmap_min_address, NEW, EPERM, CERTAIN, "address 0xf000",
	    AT(0xf000, 0x100000, .length = 9 * PAGE)),
	ROW(mmap_min_address, NONE, EPERM, AMBIGUOUS, "address 0x0",
	    AT(0, MAP_FIXED, .length = PAGE)),
	ROW(mmap_min_policy, SELINUX, EACCES, LIKELY, "mmap_zero",
	    AT(0, MAP_FIXED, .length = 9 * PAGE)),
	ROW(mmap_in_use, NONE, EEXIST, CERTAIN, "36864 bytes of address 0x10000000",
	    AT(0x10000000, 0x100000, .length = 9 * PAGE)),
	ROW(mmap_sealed, NEW, EPERM, CERTAIN, "address 0x50006000",
	    AT(0x50006000, MAP_FIXED, .length = PAGE)),
	ROW(mmap_part_of_ring, NEW, EINVAL, CERTAIN, "within 12288 bytes of address 0x50001000",
	    EVENT(SOFTWARE), AT(0x50001000, MAP_FIXED, .length = 3 * PAGE)),
	ROW(mmap_part_of_old_ring, STABLE, ENOMEM, CERTAIN,
	    "within 12288 bytes of address 0x50001000", EVENT(SOFTWARE),
	    AT(0x50001000, MAP_FIXED, .length = 3 * PAGE)),
	ROW(mmap_part_of_ring, STABLE, EINVAL, AMBIGUOUS, "within 12288 bytes", EVENT(SOFTWARE),
	    AT(0x50001000, MAP_FIXED, .length = 3 * PAGE)),

	/* the address space */
	ROW(mmap_mappings, NEW, ENOMEM, CERTAIN, "allows (currently 3)",
	    ADVISES("vm.max_map_count=6"), MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_address_limit, LIMITED, ENOMEM, CERTAIN,
	    "36 KiB more than the process has mapped exceed RLIMIT_AS (currently 1024 KiB)",
	    ADVISES("ulimit -v"), MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_memory, LIMITED, ENOMEM, CERTAIN, "no 8 KiB of memory for it",
	    AT(0x50000000, MAP_FIXED, .length = 2 * PAGE)),
	ROW(mmap_data_limit, LIMITED, ENOMEM, CERTAIN, "4 KiB more exceed RLIMIT_DATA",
	    ADVISES("MAP_SHARED"),
	    MAP(.length = PAGE, .protection = PROT_WRITE, .map_flags = MAP_PRIVATE)),
	ROW(mmap_commit, USER, ENOMEM, CERTAIN, "2097152 KiB exceed", ADVISES("MAP_SHARED"),
	    MAP(.length = 1ul << 31, .protection = PROT_WRITE, .map_flags = MAP_PRIVATE)),
	ROW(mmap_commit, ROOT, ENOMEM, CERTAIN, "exceed what vm.overcommit_memory",
	    MAP(.length = 1ul << 21, .protection = PROT_WRITE, .map_flags = MAP_PRIVATE)),

	/* any mapping of an event */
	ROW(mmap_inherit, NONE, EINVAL, CERTAIN, "cpu -1", EVENT(SOFTWARE, .inherit = 1),
	    MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_inherit, NONE, EINVAL, AMBIGUOUS, "cpu -1", MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_private, NONE, EINVAL, CERTAIN, "MAP_PRIVATE", ADVISES("MAP_SHARED"),
	    EVENT(SOFTWARE), MAP(.length = 9 * PAGE, .map_flags = MAP_PRIVATE)),
#if UINTPTR_MAX > UINT32_MAX
	ROW(mmap_too_many, NONE, ENOMEM, CERTAIN, "4294967297 pages", EVENT(SOFTWARE),
	    MAP(.length = ((1ul << 32) + 1) * PAGE, SHARED)),
	/* kernels before 6.15 check the power of two first */
	ROW(mmap_length, NONE, EINVAL, CERTAIN, "1 + 4294967299 pages", EVENT(SOFTWARE),
	    MAP(.length = ((1ul << 32) + 4) * PAGE, SHARED)),
#endif

	/* the ring */
	ROW(mmap_length, NONE, EINVAL, CERTAIN, "16384 bytes are 1 + 3 pages of 4096",
	    ADVISES("12288 or 20480"), EVENT(SOFTWARE), MAP(.length = 4 * PAGE, SHARED)),
	ROW(mmap_length, NONE, EINVAL, CERTAIN, "1 + 9", ADVISES("36864 or 69632"), EVENT(SOFTWARE),
	    MAP(.length = 9 * PAGE + 1, SHARED)),
	ROW(mmap_existing, NONE, EINVAL, CERTAIN, "36864 bytes, and length is 20480",
	    ADVISES("36864 bytes again"), EVENT(SOFTWARE),
	    MAP(.length = 5 * PAGE, .ring_size = 9 * PAGE, SHARED)),
	ROW(mmap_existing_possible, NONE, EINVAL, LIKELY, "another size than 20480",
	    EVENT(SOFTWARE), MAP(.length = 5 * PAGE, SHARED)),
	ROW(mmap_redirected, NONE, EBUSY, CERTAIN, "another event's ring", ADVISES("-1L"),
	    MAP(.length = 5 * PAGE, SHARED)),

	/* the AUX area */
	ROW(mmap_offset, NONE, EINVAL, CERTAIN, "offset 65536", EVENT(SOFTWARE),
	    MAP(.length = PAGE, .offset = 16 * PAGE, SHARED)),
	ROW(mmap_aux_first, NONE, EINVAL, AMBIGUOUS, "no ring yet", EVENT(TRACE_UNIT),
	    MAP(.length = PAGE, .offset = 16 * PAGE, SHARED)),
	ROW(mmap_aux_overlap, NONE, EINVAL, CERTAIN, "overlaps the ring, which has 36864 bytes",
	    ADVISES("at least 36864"), EVENT(TRACE_UNIT),
	    MAP(.length = PAGE, .offset = 8 * PAGE, .ring_size = 9 * PAGE, SHARED)),
	ROW(mmap_aux_length, NONE, EINVAL, CERTAIN, "12288 bytes are 3 pages", EVENT(TRACE_UNIT),
	    MAP(.length = 3 * PAGE, .offset = 16 * PAGE, .ring_size = 9 * PAGE, SHARED)),
	ROW(mmap_aux_fields, NONE, EINVAL, LIKELY, "not 65536 and 8192", ADVISES("aux_size = 8192"),
	    EVENT(TRACE_UNIT),
	    MAP(.length = 2 * PAGE, .offset = 16 * PAGE, .ring_size = 9 * PAGE, SHARED)),
	ROW(mmap_no_aux, NONE, EOPNOTSUPP, CERTAIN, "intel_pt", EVENT(SOFTWARE),
	    MAP(.length = 2 * PAGE, .offset = 16 * PAGE, .ring_size = 9 * PAGE, SHARED)),

	/* memory */
	ROW(mmap_locked, USER, EPERM, CERTAIN, "4100 KiB of locked memory", ADVISES("CAP_IPC_LOCK"),
	    MAP(.length = 1025 * PAGE, SHARED)),
	ROW(mmap_locked, USER, EPERM, LIKELY, "use more than", MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_locked, NONE, EPERM, LIKELY, "perf_event_mlock_kb", ADVISES("ulimit -l"),
	    MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_blocked, ROOT, EPERM, LIKELY, "seccomp", MAP(.length = 1025 * PAGE, SHARED)),
	ROW(mmap_policy, NONE, EACCES, LIKELY, "SELinux", MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_memory, NONE, ENOMEM, LIKELY, "RLIMIT_AS, vm.max_map_count",
	    MAP(.length = 9 * PAGE, SHARED)),
#if defined(__x86_64__)
	ROW(mmap_above_largest, NONE, ENOMEM, CERTAIN, "2097156 KiB", ADVISES("1073745920"),
	    MAP(.length = (1ul << 31) + PAGE, SHARED)),
#endif
	ROW(mmap_revoked, NONE, ENODEV, CERTAIN, "PMU is gone", EVENT(SOFTWARE),
	    MAP(.length = 9 * PAGE, SHARED)),
	ROW(mmap_not_an_event, NONE, EINVAL, LIKELY, "not an event", EVENT(SOFTWARE),
	    MAP(.length = 9 * PAGE, .ring_size = 9 * PAGE, SHARED)),

	/* taking it away */
	ROW(munmap_part, NONE, EINVAL, CERTAIN,
	    "4096 bytes are a part of the mapping of 36864 bytes",
	    UNMAP(.length = PAGE, .offset = PAGE, .ring_size = 9 * PAGE)),
	ROW(munmap_part, NONE, EINVAL, LIKELY, "a part", UNMAP(.length = PAGE)),
	ROW(mremap_grow, NONE, EFAULT, CERTAIN, "grow", UNMAP(.length = PAGE)),

	/* any ioctl */
	ROW(output_int, NONE, EBADF, CERTAIN, "0xffffffff", ADVISES("-1L"),
	    ASK(SET_OUTPUT, .argument = 0xffffffff)),
	ROW(output_fd, NONE, EBADF, CERTAIN, "checks first, is not open",
	    ASK(SET_OUTPUT, .argument = 3)),
	ROW(output_no_event, NONE, EBADF, CERTAIN, "descriptor 3, the new output", EVENT(SOFTWARE),
	    ASK(SET_OUTPUT, .argument = 3)),
	ROW(bpf_not_open, NONE, EBADF, CERTAIN, "descriptor 99, the BPF program", EVENT(SOFTWARE),
	    ASK(SET_BPF, .argument = 99)),
	ROW(bpf_fd, NONE, EBADF, CERTAIN, "descriptor 99", ASK(SET_BPF, .argument = 99)),
	ROW(ioctl_negative, NONE, EBADF, CERTAIN, "cannot enable", ASK(ENABLE, .fd = -1)),
	ROW(ioctl_not_open, NONE, EBADF, CERTAIN, "cannot enable", ASK(ENABLE)),
	ROW(ioctl_no_request, NONE, ENOTTY, CERTAIN, "0x2499", EVENT(SOFTWARE),
	    .op = { .kind = PERCH_OPERATION_IOCTL, .request = 0x2499 }),
	ROW(ioctl_too_old, OLD, ENOTTY, LIKELY, "needs Linux 4.1 (this is 3.10.0", EVENT(SOFTWARE),
	    ASK(SET_BPF)),
	ROW(ioctl_no_event, NONE, ENOTTY, CERTAIN, "older than Linux 3.12", ASK(ID)),
	ROW(ioctl_no_event, USER, ENOTTY, CERTAIN, "not an event", ASK(ID)),
	ROW(ioctl_unknown, USER, ENOTTY, LIKELY, "PERF_EVENT_IOC_ID", EVENT(SOFTWARE), ASK(ID)),
	ROW(ioctl_policy, NONE, EACCES, LIKELY, "SELinux", ASK(RESET)),
	ROW(ioctl_revoked, NONE, ENODEV, CERTAIN, "PMU is gone", ASK(RESET)),

	/* REFRESH, PERIOD */
	ROW(refresh_inherit, NONE, EINVAL, CERTAIN, "without inherit",
	    EVENT(SOFTWARE, SAMPLING, .inherit = 1), ASK(REFRESH)),
	ROW(refresh_counting, NONE, EINVAL, CERTAIN, "only counts", EVENT(SOFTWARE), ASK(REFRESH)),
	ROW(refresh_either, NONE, EINVAL, LIKELY, "or is inherited", ASK(REFRESH)),
	ROW(period_pointer, NONE, EFAULT, CERTAIN, "0x7d0 is not", ADVISES("not the value"),
	    ASK(PERIOD, .argument = 2000)),
	ROW(period_counting, NONE, EINVAL, CERTAIN, "counts", EVENT(SOFTWARE),
	    ASK(PERIOD, .period = 5)),
	ROW(period_zero, NONE, EINVAL, CERTAIN, "is 0", EVENT(SOFTWARE, SAMPLING),
	    ASK(PERIOD, .period_known = true)),
	ROW(period_rate, USER, EINVAL, CERTAIN,
	    "6000 Hz needs kernel.perf_event_max_sample_rate >= 6000 (currently 5000)",
	    ADVISES("kernel.perf_event_max_sample_rate=6000"),
	    EVENT(TRACEPOINT, SAMPLING, .freq = 1), ASK(PERIOD, .period = 6000)),
	ROW(period_rate, NONE, EINVAL, LIKELY, "6000 Hz", EVENT(TRACEPOINT, SAMPLING, .freq = 1),
	    ASK(PERIOD, .period = 6000)),
	ROW(period_large, NONE, EINVAL, CERTAIN, "9223372036854775808", EVENT(SOFTWARE, SAMPLING),
	    ASK(PERIOD, .period = 1ull << 63)),
	ROW(period_floor, NONE, EINVAL, LIKELY, "period 3", EVENT(.type = PERCH_TYPE_RAW, SAMPLING),
	    ASK(PERIOD, .period = 3)),
	ROW(period_any, NONE, EINVAL, LIKELY, "frequency (7)", ASK(PERIOD, .period = 7)),

	/* SET_OUTPUT */
	ROW(output_cpu, NONE, EINVAL, CERTAIN, "on CPU 1, the other one on every CPU (cpu -1)",
	    EVENT(SOFTWARE), OTHER(.cpu = -1, .has_ring = true),
	    ASK(SET_OUTPUT, .cpu = 1, .argument = 4)),
	ROW(output_task, NONE, EINVAL, CERTAIN, "thread 7, the other one thread 8", EVENT(SOFTWARE),
	    OTHER(.cpu = -1, .pid = 8, .has_ring = true),
	    ASK(SET_OUTPUT, .cpu = -1, .pid = 7, .argument = 4)),
	ROW(output_context, OLD, EINVAL, CERTAIN, "before Linux 6.2", EVENT(SOFTWARE),
	    OTHER_ATTR(.type = PERCH_TYPE_HARDWARE), OTHER(.cpu = -1, .pid = 7, .has_ring = true),
	    ASK(SET_OUTPUT, .cpu = -1, .pid = 7, .argument = 4)),
	ROW(output_clock, NONE, EINVAL, CERTAIN, "CLOCK_MONOTONIC, the other one the default clock",
	    EVENT(SOFTWARE, .use_clockid = 1, .clockid = CLOCK_MONOTONIC), OTHER(.has_ring = true),
	    ASK(SET_OUTPUT, .argument = 4)),
	ROW(output_backward, NONE, EINVAL, CERTAIN, "only one of them", EVENT(SOFTWARE),
	    OTHER_ATTR(.write_backward = 1), OTHER(.has_ring = true),
	    ASK(SET_OUTPUT, .argument = 4)),
	ROW(output_itself, NONE, EINVAL, CERTAIN, "the event itself", EVENT(SOFTWARE),
	    OTHER(.has_ring = true), ASK(SET_OUTPUT, .argument = 4, .fd = 4)),
	ROW(output_mapped, NONE, EINVAL, CERTAIN, "(36864 bytes)", EVENT(SOFTWARE),
	    OTHER(.has_ring = true), ASK(SET_OUTPUT, .argument = 4, .ring_size = 9 * PAGE)),
	ROW(output_own, NONE, EINVAL, CERTAIN, "its own ring", ASK(SET_OUTPUT, .argument = -1ul)),
	ROW(output_no_ring, NONE, EINVAL, CERTAIN, "no ring yet", EVENT(SOFTWARE), OTHER(.cpu = 0),
	    ASK(SET_OUTPUT, .argument = 4)),
	ROW(output_any, NONE, EINVAL, LIKELY, "write_backward", ASK(SET_OUTPUT, .argument = 4)),

	/* SET_FILTER */
	ROW(filter_pointer, NONE, EFAULT, CERTAIN, "0x0", ASK(SET_FILTER)),
	ROW(filter_none, NONE, EINVAL, CERTAIN, "take a filter", EVENT(SOFTWARE),
	    ASK(SET_FILTER, .filter = "a == 1")),
	ROW(filter_long, NONE, EINVAL, CERTAIN, "a page", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = longest)),
	ROW(filter_empty, NONE, EINVAL, CERTAIN, "empty", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = " \t")),
	ROW(filter_not_opened, NONE, EPERM, CERTAIN, "without an opening",
	    ASK(SET_FILTER, .filter = "a == 1)")),
	ROW(filter_not_closed, NONE, ENOENT, CERTAIN, "without a closing",
	    ASK(SET_FILTER, .filter = "(a == 1")),
	ROW(filter_no_file, NONE, ENOENT, CERTAIN, "does not exist", EVENT(TRACE_UNIT),
	    ASK(SET_FILTER, .filter = "start 0@/none")),
	ROW(filter_quotes, NONE, ESRCH, CERTAIN, "closing quote",
	    ASK(SET_FILTER, .filter = "a ~ \"x")),
	ROW(filter_again, NONE, EEXIST, CERTAIN, "already", ASK(SET_FILTER, .filter = "a == 1")),
	ROW(filter_file_cpu, NONE, EOPNOTSUPP, CERTAIN, "whole CPU", EVENT(TRACE_UNIT),
	    ASK(SET_FILTER, .pid = -1, .filter = "start 0@/bin/true")),
	ROW(filter_ranges, NONE, EOPNOTSUPP, CERTAIN, "too many ranges", EVENT(TRACE_UNIT),
	    ASK(SET_FILTER, .filter = "start 0")),
	/* without the format of the tracepoint */
	ROW(filter_no_join, NONE, EPERM, CERTAIN, "'next_pid' follows", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "prev_pid == 1 next_pid == 2")),
	ROW(filter_no_operand, NONE, EPERM, CERTAIN, "'&&' is where", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "prev_pid == 1 && && next_pid == 1")),
	ROW(filter_no_operand, NONE, EPERM, CERTAIN, "'>' is where", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "> 5")),
	ROW(filter_no_operand, NONE, EPERM, CERTAIN, "'$pid' is where", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "$pid == 1"), ADVISES("the shell replaces $NAME")),
	ROW(filter_no_operand, NONE, EPERM, CERTAIN, "')' is where", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "(prev_pid == 1 && )")),
	ROW(filter_no_field, NONE, EINVAL, CERTAIN, "missing before ')'", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "()")),
	ROW(filter_operator, NONE, EINVAL, CERTAIN, "'=' is none", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "prev_pid = 1"),
	    ADVISES("with a number of at most 64 bits (10, -1, 0xff), and ==")),
	ROW(filter_operator, ROOT, EINVAL, CERTAIN, "'=' is none", EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "prev_pid = 1"),
	    ADVISES("'prev_pid' is a signed number: use == != < <= > >= or &, and")),
	ROW(filter_operator, ROOT, EINVAL, CERTAIN, "field 'exec_name'",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "exec_name"),
	    ADVISES("'exec_name' is a string: use == != or ~")),
	ROW(filter_value, NONE, EINVAL, CERTAIN, "'1a' is none", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "prev_pid == 1a")),
	ROW(filter_value, ROOT, EINVAL, CERTAIN, "'1a' is none", EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "prev_pid == 1a"),
	    ADVISES("a number from -2^63 to 2^63-1 without")),
	ROW(filter_value, ROOT, EINVAL, CERTAIN, "for the field 'exec_name'",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "exec_name =="),
	    ADVISES("'exec_name' is a string")),
	ROW(filter_value, ROOT, EINVAL, CERTAIN, "'9223372036854775808' is none",
	    EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "prev_pid == 9223372036854775808")),
	ROW(filter_value, ROOT, EINVAL, CERTAIN, "'-1' is none", EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "common_type == -1"),
	    ADVISES("'common_type' is an unsigned number: use == != < <= > >= or &, and")),
	ROW(filter_operator_text, NONE, EINVAL, CERTAIN, "'prev_comm' with the operator <",
	    EVENT(TRACEPOINT), ASK(SET_FILTER, .filter = "prev_comm < \"x\"")),
	ROW(filter_operator_number, NONE, EINVAL, CERTAIN, "by the operator ~", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "prev_pid ~ 1")),
	ROW(filter_operator_number, ROOT, EINVAL, CERTAIN, "by the operator ~",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "prev_pid ~ 1"),
	    ADVISES("'prev_pid' is a signed number: use ==")),
	/* with it */
	ROW(filter_field, ROOT, EINVAL, CERTAIN, "sched:sched_switch has no 'nosuch'",
	    ADVISES(": prev_comm, prev_pid, exec_name"), EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "prev_pid == 1 || (!nosuch == 1)")),
	ROW(filter_number_of_text, ROOT, EINVAL, CERTAIN, "with 1, which is not in quotes",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "exec_name == 1"),
	    ADVISES("a string in quotes")),
	ROW(filter_number_of_text, ROOT, EINVAL, CERTAIN, "with 1, which is not in quotes",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "exec_name ~ 1"),
	    ADVISES("a string in quotes")),
	ROW(filter_number_of_text, ROOT, EINVAL, CERTAIN, "'COMM' with 1",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "COMM == 1")),
	ROW(filter_text_of_number, ROOT, EINVAL, CERTAIN, "the string '1'",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = "prev_pid == '1'"),
	    ADVISES("without quotes")),
	ROW(filter_long_text, ROOT, EINVAL, CERTAIN, "more than 255 bytes",
	    EVENT(TRACEPOINT, .config = 314), ASK(SET_FILTER, .filter = long_text)),
	ROW(filter_fields, ROOT, EINVAL, LIKELY, "for the tracepoint",
	    EVENT(TRACEPOINT, .config = 314),
	    ASK(SET_FILTER, .filter = "prev_pid == 1 && prev_comm ~ \"x*\"")),
	ROW(filter_fields, NONE, EINVAL, LIKELY, "for the tracepoint", EVENT(TRACEPOINT),
	    ASK(SET_FILTER, .filter = "a == 1")),
	ROW(filter_addresses, NONE, EINVAL, LIKELY, "size 0", EVENT(TRACE_UNIT),
	    ASK(SET_FILTER, .filter = "filter 0/0@/bin/true")),
	ROW(filter_any, NONE, EINVAL, LIKELY, "takes no filter, or",
	    ASK(SET_FILTER, .filter = "a == 1")),
	ROW(filter_policy, NONE, EPERM, LIKELY, "security module",
	    ASK(SET_FILTER, .filter = "a == 1")),

	/* BPF */
	ROW(bpf_breakpoint, NONE, EINVAL, CERTAIN, "sampling event", EVENT(SOFTWARE),
	    ASK(SET_BPF, .argument = 5)),
	ROW(bpf_again, NONE, EEXIST, CERTAIN, "already", ASK(SET_BPF)),
	ROW(bpf_stack, NONE, EPROTO, CERTAIN, "stacks", ASK(SET_BPF)),
	ROW(bpf_context, NONE, EACCES, CERTAIN, "context", ASK(SET_BPF)),
	ROW(bpf_many, NONE, E2BIG, CERTAIN, "64", ASK(SET_BPF)),
	ROW(bpf_missing, NONE, EOPNOTSUPP, CERTAIN, "support BPF", ASK(SET_BPF)),
	ROW(bpf_missing_too, NONE, ENOENT, CERTAIN, "support BPF", ASK(SET_BPF)),
	ROW(bpf_tracepoint, NONE, EINVAL, LIKELY, "descriptor 5", EVENT(TRACEPOINT),
	    ASK(SET_BPF, .argument = 5)),
	ROW(bpf_kind, NONE, EINVAL, LIKELY, "type is not for this event",
	    ASK(SET_BPF, .argument = 5)),
	ROW(query_privilege, USER, EPERM, CERTAIN, "CAP_PERFMON", ASK(QUERY_BPF)),
	ROW(query_privilege, NONE, EPERM, LIKELY, "CAP_PERFMON", ASK(QUERY_BPF)),
	ROW(query_type, NONE, EINVAL, CERTAIN, "needs a tracepoint", EVENT(SOFTWARE),
	    ASK(QUERY_BPF)),
	ROW(query_pointer, NONE, EFAULT, CERTAIN, "0x8 is not", ASK(QUERY_BPF, .argument = 8)),
	ROW(query_many, NONE, E2BIG, CERTAIN, "at most 64", ASK(QUERY_BPF)),
	ROW(query_short, NONE, ENOSPC, CERTAIN, "prog_cnt", ASK(QUERY_BPF)),
	ROW(query_missing, NONE, EOPNOTSUPP, CERTAIN, "support BPF", ASK(QUERY_BPF)),

	/* PAUSE_OUTPUT, MODIFY_ATTRIBUTES */
	ROW(pause_no_ring, NONE, EINVAL, CERTAIN, "has none", ASK(PAUSE_OUTPUT)),
	ROW(pause_unmapped, NONE, EINVAL, LIKELY, "no longer mapped",
	    ASK(PAUSE_OUTPUT, .ring_size = 9 * PAGE)),
	ROW(modify_pointer, NONE, EFAULT, CERTAIN, "0x0", ASK(MODIFY_ATTRIBUTES)),
	ROW(modify_size, NONE, E2BIG, CERTAIN, "size", ASK(MODIFY_ATTRIBUTES)),
	ROW(modify_kind, NONE, EOPNOTSUPP, CERTAIN, "only breakpoints", EVENT(SOFTWARE),
	    ASK(MODIFY_ATTRIBUTES)),
	ROW(modify_clock, NONE, EINVAL, CERTAIN, "only breakpoints", EVENT(SOFTWARE),
	    ASK(MODIFY_ATTRIBUTES)),
	ROW(modify_slots, NONE, ENOSPC, CERTAIN, "debug registers", ASK(MODIFY_ATTRIBUTES)),
	ROW(modify_fields, NONE, EINVAL, LIKELY, "more than address",
	    EVENT(.type = PERCH_TYPE_BREAKPOINT), ASK(MODIFY_ATTRIBUTES)),
	ROW(ioctl_pointer, NONE, EFAULT, CERTAIN, "cannot read the id", ASK(ID)),
	ROW(ioctl_filtered, NONE, EPERM, LIKELY, "seccomp", ASK(ENABLE)),
	ROW(ioctl_filtered, ROOT, EPERM, LIKELY, "seccomp", ASK(QUERY_BPF)),
	ROW(ioctl_memory, NONE, ENOMEM, CERTAIN, "memory", ASK(SET_FILTER, .filter = "a")),

	/* read */
	ROW(read_negative, NONE, EBADF, CERTAIN, "negative", READ(.size = 8, .fd = -1)),
	ROW(read_negative, NONE, EBADF, CERTAIN, "negative",
	    .op = { .kind = PERCH_OPERATION_READV, .size = 8, .fd = -1 }),
	ROW(read_not_open, NONE, EBADF, CERTAIN, "not open", READ(.size = 8)),
	ROW(read_pinned, NONE, 0, CERTAIN, "pinned", EVENT(SOFTWARE, .pinned = 1), READ(.size = 8)),
	ROW(read_pinned, NONE, 0, CERTAIN, "end of file", READ(.size = 8)),
	ROW(read_aux_gone, NONE, 0, CERTAIN, "closed", EVENT(SOFTWARE, .aux_sample_size = 8),
	    READ(.size = 8)),
	ROW(read_error_state, NONE, 0, LIKELY, "leader", EVENT(SOFTWARE), READ(.size = 8)),
	ROW(read_short, NONE, ENOSPC, CERTAIN, "4 bytes, and read_format 3 needs 24 bytes",
	    ADVISES("24 bytes"), EVENT(SOFTWARE, .read_format = 3), READ(.size = 4)),
	ROW(read_short, NONE, ENOSPC, CERTAIN, "needs 16 bytes for one event, and more",
	    EVENT(SOFTWARE, .read_format = 8), READ(.size = 8)),
	ROW(read_short_group, NONE, ENOSPC, CERTAIN, "all the events",
	    EVENT(SOFTWARE, .read_format = 8), READ(.size = 16)),
	ROW(read_child, NONE, ECHILD, CERTAIN, "child", READ(.size = 8)),
	ROW(read_pointer, NONE, EFAULT, CERTAIN, "buffer", READ(.size = 8)),
	ROW(read_blocked, NONE, EACCES, LIKELY, "SELinux", READ(.size = 8)),
	ROW(read_filtered, NONE, EPERM, LIKELY, "seccomp", READ(.size = 8)),
	ROW(read_memory, NONE, ENOMEM, CERTAIN, "memory", READ(.size = 8)),
	ROW(read_revoked, NONE, ENODEV, CERTAIN, "gone", READ(.size = 8)),
	ROW(read_directory, NONE, EISDIR, CERTAIN, "directory", READ(.size = 8)),
	ROW(read_other_file, NONE, EINVAL, CERTAIN, "not an event", READ(.size = 8)),
	ROW(read_would_block, NONE, EAGAIN, CERTAIN, "never blocks", READ(.size = 8)),
};
#endif
