/* SPDX-License-Identifier: MIT */
/* Logs of strace 4 to 6, valid and damaged. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "cli/options.h"
#include "explain_log_fixture.h"

static void parses_an_abbreviated_attr(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=PERF_TYPE_HARDWARE, size=PERF_ATTR_SIZE_VER5, "
		"config=PERF_COUNT_HW_INSTRUCTIONS, sample_freq=4000, sample_type=PERF_SAMPLE_IP|PERF_SAMPLE_BRANCH_STACK, "
		"read_format=PERF_FORMAT_ID, "
		"disabled=1, freq=1, precise_ip=2 /* requested to have 0 skid */, ...}, 1234, 3, -1, "
		"PERF_FLAG_FD_CLOEXEC) = -1 ENOENT (No such file or directory)\n");

	assert_int_equal(fixture->job.trace.unreadable, 0);
	assert_int_equal(fixture->job.trace.calls, 1);
	assert_int_equal(number(object, NULL, "errno"), ENOENT);
	assert_int_equal(number(object, "attr", "size"), 112);
	assert_int_equal(number(object, "attr", "config"), 1);
	assert_int_equal(number(object, "attr", "sample_freq"), 4000);
	assert_int_equal(number(object, "attr", "sample_type"),
			 PERCH_SAMPLE_IP | PERCH_SAMPLE_BRANCH_STACK);
	assert_int_equal(number(object, "attr", "read_format"), PERCH_FORMAT_ID);
	assert_int_equal(number(object, "attr", "precise_ip"), 2);
	assert_int_equal(number(object, "args", "pid"), 1234);
	assert_int_equal(number(object, "args", "cpu"), 3);
	assert_int_equal(number(object, "args", "flags"), 8);
	assert_true(json_is_true(json_object_get(object, "attr_is_partial")));
}

/* After EBADF of a descriptor that was an event, and of -1 after a refused open call. */
static void reports_misused_descriptors(void **state)
{
	static const char *const misuse[] = {
		"read(%d, 0x1, 8)",
		"readv(%d, [{iov_base=0x1, iov_len=0}, {iov_base=0x1, iov_len=24}], 2)",
		"mmap(NULL, 8192, PROT_READ, MAP_SHARED, %d, 0)",
		"ioctl(%d, PERF_EVENT_IOC_ENABLE, 0)"
	};
	struct fixture *fixture = *state;
	char line[256];
	json_t *object;

	assert_null(explain(
		fixture, "read(-1, 0x1, 8) = -1 EBADF (Bad file descriptor)\n"
			 "perf_event_open({type=PERF_TYPE_SOFTWARE, size=0x88}, 0, -1, -1, 0) = 3\n"
			 "read(-1, 0x1, 8) = -1 EBADF (Bad file descriptor)\n"
			 "close(3) = 0\n"
			 "read(4, 0x1, 8) = -1 EBADF (Bad file descriptor)\n"));
	for (int fd = 3; fd >= -1; fd -= 4) {
		for (size_t i = 0; i < CLI_NR(misuse); i++) {
			size_t used = snprintf(line, sizeof(line), misuse[i], fd);

			snprintf(line + used, sizeof(line) - used,
				 " = -1 EBADF (Bad file descriptor)\n");
			object = explain(fixture, line);
			assert_non_null(object);
			assert_string_equal(word(object, "cause"), "not-an-event");
			assert_int_equal(number(object, "args", "fd"), fd);
			assert_int_equal(number(object, NULL, "call"), fd < 0 ? 0 : 1);
			if (i == 1) {
				assert_string_equal(word(object, "operation"), "readv");
				assert_int_equal(number(object, "args", "size"), 24);
			}
		}
		explain(fixture,
			"perf_event_open({type=PERF_TYPE_MAX, size=0x88}, 0, -1, -1, 0) = -1 ENOENT (No such file or directory)\n");
	}
	assert_int_equal(fixture->job.trace.operations_refused, 8);
}

/* The number of a closed event is another file now. */
static void discards_a_reused_descriptor(void **state)
{
	struct fixture *fixture = *state;

	assert_null(explain(
		fixture, "perf_event_open({type=PERF_TYPE_SOFTWARE, size=0x88}, 0, -1, -1, 0) = 3\n"
			 "close(3) = 0\n"
			 "openat(AT_FDCWD, \"x\", O_WRONLY) = 3\n"
			 "read(3, 0x1, 8) = -1 EBADF (Bad file descriptor)\n"));
}

static void parses_a_full_attr(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"12 12:30:59.123456 perf_event_open({type=PERF_TYPE_HW_CACHE, size=0x88 /* PERF_ATTR_SIZE_??? */, "
		"config=PERF_COUNT_HW_CACHE_RESULT_MISS<<16|PERF_COUNT_HW_CACHE_OP_WRITE<<8|PERF_COUNT_HW_CACHE_DTLB, "
		"sample_period=010, sample_type=0, read_format=0, disabled=1, watermark=1, "
		"__reserved_1=0x5 /* Bits 63..38 */, wakeup_watermark=77, config1=0x1000, config2=0, "
		"branch_sample_type=PERF_SAMPLE_BRANCH_ANY_CALL|0x80000, clockid=CLOCK_TAI, "
		"sample_max_stack=257 /* bytes 110..111: 0x101 */, aux_sample_size=5 /* bytes 116..119: 0x2 */, "
		"sig_data=0xffffffffffffffff}, 0, -1, -1, PERF_FLAG_FD_OUTPUT|0x40) "
		"= -1 EINVAL (Invalid argument) <0.000011>\n");

	assert_int_equal(fixture->job.trace.unreadable, 0);
	assert_null(json_object_get(object, "attr_is_partial"));
	assert_int_equal(number(object, "attr", "type"), 3);
	assert_int_equal(number(object, "attr", "size"), 136);
	assert_int_equal(number(object, "attr", "config"), 0x10103);
	assert_int_equal(number(object, "attr", "sample_period"), 8);
	assert_int_equal(number(object, "attr", "defer_callchain"), 1);
	assert_int_equal(number(object, "attr", "reserved_1"), 1);
	assert_int_equal(number(object, "attr", "wakeup_watermark"), 77);
	assert_int_equal(number(object, "attr", "branch_sample_type"), 0x80010);
	assert_int_equal(number(object, "attr", "clockid"), 11);
	assert_int_equal(number(object, "attr", "sample_max_stack"), 257);
	assert_int_equal(number(object, "attr", "reserved_2"), 0x101);
	assert_int_equal(number(object, "attr", "aux_pause"), 1);
	assert_string_equal(word(json_object_get(object, "attr"), "sig_data"),
			    "0xffffffffffffffff");
	assert_int_equal(number(object, "args", "flags"), 0x42);
	assert_int_equal(number(object, NULL, "pid"), 12);
}

static void parses_numbers_in_place_of_names(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=1 /* PERF_TYPE_SOFTWARE */, size=0x80 /* PERF_ATTR_SIZE_VER7 */, config=0x9, "
		"sample_period=0, sample_type=0x10000 /* PERF_SAMPLE_IDENTIFIER */, read_format=0x3, precise_ip=0, "
		"...}, 4294967295, 0xffffffff, 0xffffffff, 0x8) = -1 EINVAL (Invalid argument)\n");

	assert_int_equal(number(object, "attr", "config"), 9);
	assert_int_equal(number(object, "attr", "sample_type"), 0x10000);
	assert_int_equal(number(object, "args", "pid"), -1);
	assert_int_equal(number(object, "args", "cpu"), -1);
	assert_int_equal(number(object, "args", "group_fd"), -1);
	assert_string_equal(word(object, "cause"), "no-target");
}

static void accepts_a_pointer_in_place_of_the_attr(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(fixture,
				 "[pid  4711] perf_event_open(0x7ffd5ab0d6c0, 0, -1, -1, 0x8 "
				 "/* PERF_FLAG_FD_CLOEXEC */) = -1 EACCES (Permission denied)\n");

	assert_int_equal(json_object_size(json_object_get(object, "attr")), 0);
	assert_true(json_is_true(json_object_get(object, "attr_is_partial")));
	assert_string_not_equal(word(object, "cause"), "attr-pointer");
	assert_int_equal(number(object, NULL, "pid"), 4711);
	object =
		explain(fixture, "perf_event_open(NULL, 0, -1, -1, 0) = -1 EFAULT (Bad address)\n");
	assert_string_equal(word(object, "cause"), "attr-pointer");
	object = explain(fixture, "perf_event_open(0x8, 0, -1, -1, 0) = -1 EFAULT (Bad address)\n");
	assert_string_equal(word(object, "cause"), "attr-pointer");
}

static void parses_the_size_that_the_kernel_wrote(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=0xc8 /* PERF_ATTR_SIZE_??? */ => 0x70 "
		"/* PERF_ATTR_SIZE_VER5 */, config=PERF_COUNT_SW_DUMMY, sample_period=0, sample_type=0, read_format=0, "
		"sig_data=1, ...}, 0, -1, -1, 0) = -1 E2BIG (Argument list too long)\n");

	assert_int_equal(number(object, "attr", "size"), 200);
	assert_string_equal(word(object, "cause"), "too-new");
}

/* clang-format off */
#define ATTR \
	"{type=PERF_TYPE_SOFTWARE, size=PERF_ATTR_SIZE_VER7, config=PERF_COUNT_SW_DUMMY, " \
	"sample_period=0, sample_type=0, read_format=0, "
#define DUMMY ATTR "disabled=1, precise_ip=0 /* arbitrary skid */, ...}"
#define CLOCK ATTR "use_clockid=1, clockid=0x63 /* CLOCK_??? */}"
/* clang-format on */

static void joins_unfinished_and_resumed_lines(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(fixture,
				 "100 perf_event_open( <unfinished ...>\n"
				 "101 perf_event_open(" DUMMY ", 0, -1, -1, 0 <unfinished ...>\n"
				 "100 <... perf_event_open resumed> " CLOCK
				 ", 0, 5, -1, 0) = -1 EINVAL (Invalid argument)\n"
				 "101 <... perf_event_open resumed>)  = 3\n"
				 "102 <... perf_event_open resumed>) = 9\n");

	assert_int_equal(fixture->job.trace.calls, 2);
	assert_int_equal(fixture->job.trace.refused, 1);
	assert_int_equal(fixture->job.trace.unreadable, 1); /* "resumed" without "unfinished" */
	assert_int_equal(number(object, NULL, "pid"), 100);
	assert_int_equal(number(object, "args", "cpu"), 5);
	assert_string_equal(word(object, "cause"), "clockid");
}

/* strace writes no pid before the second process exists, and its messages may interrupt a line. */
static void assigns_threads_to_processes(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, PERF_FLAG_FD_CLOEXEC) = 3\n"
		"clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLDstrace: Process 51 attached\n"
		", child_tidptr=0x7f5b7a65ea10) = 51\n"
		"[pid    51] ioctl(3, PERF_EVENT_IOC_REFRESH, 1) = -1 EINVAL (Invalid argument)\n"
		"[pid    50] clone3({flags=CLONE_FILES|CLONE_THREAD, exit_signal=0} => {parent_tid=[52]}, 88) = 52\n"
		"[pid    52] close(3)                    = 0\n"
		"[pid    50] ioctl(3, PERF_EVENT_IOC_REFRESH, 1) = -1 EBADF (Bad file descriptor)\n"
		"[pid    51] execve(\"/bin/true\", [\"true\"], 0x7ffc1 /* 20 vars */) = 0\n"
		"[pid    51] read(3, 0x7ffc1, 8)         = -1 ENOSPC (No space left on device)\n"
		"[pid    51] +++ exited with 0 +++\n"
		"--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=51} ---\n"
		"+++ exited with 0 +++\n");

	assert_int_equal(fixture->job.trace.unreadable, 0);
	assert_int_equal(fixture->job.trace.operations_refused,
			 2); /* exec closed the event: the read is of another file */
	assert_int_equal(json_object_size(json_object_get(object, "attr")), 0);
	assert_string_equal(word(object, "errno_name"), "EBADF");
	assert_non_null(strstr(fixture->text, "\"pid\":51"));
}

/* On a busy machine. exec closes the event: the parent's line after it does not open it again. */
static void children_run_before_their_clone_returns(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture, "60 close(9) = 0\n50 perf_event_open(" DUMMY
			 ", 0, -1, -1, PERF_FLAG_FD_CLOEXEC) = 3\n"
			 "50 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
			 "60 ioctl(3, PERF_EVENT_IOC_REFRESH, 1) = 0\n"
			 "51 ioctl(3, PERF_EVENT_IOC_REFRESH, 1) = -1 EINVAL (Invalid argument)\n"
			 "51 execve(\"/bin/true\", [\"true\"], 0x7ffc1 /* 20 vars */) = 0\n"
			 "50 <... clone resumed>, child_tidptr=0x7f5b7a65ea10) = 51\n"
			 "51 read(3, 0x7ffc1, 8) = -1 ENOSPC (No space left on device)\n");

	assert_int_equal(fixture->job.trace.unreadable, 0);
	assert_int_equal(fixture->job.trace.operations_refused, 1);
	assert_int_equal(number(object, NULL, "call"), 1);
	assert_int_equal(number(object, NULL, "pid"), 51);
}

static void explains_operations(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"1700000000.123456 perf_event_open(" DUMMY
		", 0, -1, -1, 0) = 3<anon_inode:[perf_event]>\n"
		"1700000000.123457 mmap(NULL, 16384, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_SYNC, "
		"3<anon_inode:[perf_event]>, 0) = -1 EINVAL (Invalid argument)\n");

	assert_string_equal(word(object, "operation"), "mmap");
	assert_string_equal(word(object, "cause"), "mmap-length");
	assert_int_equal(number(object, "args", "length"), 16384);
	assert_int_equal(number(object, "args", "protection"), PROT_READ | PROT_WRITE);
	assert_int_equal(number(object, "attr", "config"), 9);
	object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"     0.000123 ioctl(3, PERF_EVENT_IOC_PERIOD, [1000]) = -1 EINVAL (Invalid argument)\n");
	assert_string_equal(word(object, "cause"), "ioctl-period");
	object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"ioctl(3, _IOC(_IOC_NONE, 0x24, 0x37, 0), 0x1) = -1 ENOTTY (Inappropriate ioctl for device)\n");
	assert_string_equal(word(object, "cause"), "ioctl-unknown");
	assert_int_equal(number(object, "args", "request"), 0x2437);
	object = explain(
		fixture,
		"ioctl(9, PERF_EVENT_IOC_SET_FILTER, \"a \\\"b\\\" \\x41\\101\\n\") = -1 EINVAL (Invalid argument)\n");
	assert_string_equal(word(json_object_get(object, "args"), "request_name"),
			    "PERF_EVENT_IOC_SET_FILTER");
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

static void explains_addresses(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"mmap(0x10000800, 12288, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED, 3, 0) = -1 "
		"EINVAL (Invalid argument)\n");

	assert_string_equal(word(object, "cause"), "mmap-address");
	assert_int_equal(number(object, "args", "address"), 0x10000800);
	assert_non_null(strstr(word(object, "message"), "0x10000800"));
	object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"mmap(NULL, 12288, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED_NOREPLACE, 3, 0) = -1 "
		"EEXIST (File exists)\n");
	assert_string_equal(word(object, "cause"), "mmap-in-use");
	assert_int_equal(number(object, "args", "address"), 0);
	assert_int_equal(number(object, "args", "map_flags"), MAP_SHARED | 0x100000);
	object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"mmap(NULL, 12288, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_GROWSDOWN, 3, 0) = -1 "
		"EINVAL (Invalid argument)\n");
	assert_string_equal(word(object, "cause"), "mmap-flags");
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

/* MAP_ANONYMOUS ignores the descriptor, so the event has no ring: 12288 bytes are not refused. */
static void ignores_anonymous_mappings(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before = fixture->job.trace.operations_refused;
	json_t *object = explain(
		fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"mmap(NULL, 20480, PROT_READ, MAP_SHARED|MAP_ANONYMOUS, 3, 0) = 0x7f0000000000\n"
		"mmap(NULL, 4096, PROT_READ, MAP_SHARED|MAP_ANONYMOUS, 3, 0) = -1 ENOMEM (Cannot "
		"allocate memory)\n"
		"mmap(NULL, 12288, PROT_READ, MAP_SHARED, 3, 0) = -1 EINVAL (Invalid argument)\n");

	assert_int_equal(fixture->job.trace.operations_refused - before, 1);
	assert_null(strstr(word(object, "message"), "20480"));
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

/* Descriptor 3 was an event before. */
static void ignores_other_files(void **state)
{
	struct fixture *fixture = *state;

	explain(fixture,
		"perf_event_open(" DUMMY ", 0, -1, -1, 0) = 3\n"
		"read(3</etc/passwd>, \"\", 100) = 0\n"
		"openat(AT_FDCWD, \"/x)= -1\", O_RDONLY) = 3\n"
		"read(3, \"\", 100) = 0\n"
		"ioctl(3, TCGETS, {B38400 opost isig icanon echo ...}) = -1 ENOTTY (Inappropriate ioctl for device)\n"
		"mmap(NULL, 10, PROT_READ, MAP_PRIVATE, 3, 0) = -1 ENODEV (No such device)\n");
	assert_int_equal(fixture->job.trace.operations_refused, 0);
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

static void parses_errnos(void **state)
{
	static const struct {
		const char *result;
		int errnum;
	} rows[] = {
		{ "-1 ENOTSUPP (Unknown error 524)", 524 },
		{ "-1 (errno 600)", 600 },
		{ "-1 E2BIG (INJECTED)", E2BIG },
		{ "-1 EFOO (Unknown error 599)", 599 },
		{ "? ERESTARTNOINTR (To be restarted)", 0 },
		{ "?", 0 },
		{ "-1 ENOTSUP (Not supported)", EOPNOTSUPP },
	};
	struct fixture *fixture = *state;
	char log[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *object;
		uint64_t before = fixture->job.trace.refused;

		snprintf(log, sizeof(log), "perf_event_open(" DUMMY ", 0, -1, -1, 0) = %s\n",
			 rows[i].result);
		object = explain(fixture, log);
		assert_int_equal(fixture->job.trace.refused - before, rows[i].errnum ? 1 : 0);
		if (rows[i].errnum)
			assert_int_equal(number(object, NULL, "errno"), rows[i].errnum);
	}
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

static void counts_lines_that_cannot_be_parsed(void **state)
{
	static const char *const lines[] = {
		"perf_event_open(",
		"perf_event_open({",
		"perf_event_open({type=",
		"perf_event_open({type=1",
		"hello world",
		"perf_event_open({type=1}, 0, -1",
		"perf_event_open({type=1}, 0, -1, -1, 0) = ",
		"\xff\xfe\x01",
		"perf_event_open({type=1}, 0, -1, -1, 0) = -1 EWHAT",
		"[pid 1",
		"<... perf_event_open resumed",
		"((((((((",
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size}, 0, -1, -1, 0) = 3",
		"close(",
		"\"",
		"12 \\",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char log[256];

		snprintf(log, sizeof(log), "--- SIGCHLD {si_signo=SIGCHLD} ---\n%s", lines[i]);
		explain(fixture, log);
		if (fixture->job.trace.unreadable != i + 1)
			fail_msg("'%s' was accepted as a line of strace", lines[i]);
	}
	assert_int_equal(fixture->job.trace.calls, 0);
}

static void skips_unknown_fields(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=PERF_ATTR_SIZE_VER7, config=PERF_COUNT_SW_FUTURE, "
		"sample_type=PERF_SAMPLE_IP, new_field=7, other={a=1, b=\"}\"}, disabled=1}, 0, -1, -1, 0) "
		"= -1 EINVAL (Invalid argument)\n");

	assert_int_equal(fixture->job.trace.unreadable, 0);
	assert_true(json_is_true(json_object_get(object, "attr_is_partial")));
	assert_int_equal(number(object, "attr", "disabled"), 1);
}

static void truncates_long_lines(void **state)
{
	struct fixture *fixture = *state;
	size_t size = 300000;
	char *log = malloc(size + 500);

	memset(log, 'x', size);
	strcpy(log + size,
	       "\nperf_event_open(" CLOCK ", 0, -1, -1, 0) = -1 EINVAL (Invalid argument)");
	assert_string_equal(word(explain(fixture, log), "cause"), "clockid");
	assert_int_equal(fixture->job.trace.unreadable, 1);
	free(log);
}

static int status_of(struct fixture *fixture, const char *text)
{
	char path[64];
	int fd = memfd_create("log", 0), status;
	struct perch_error err;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = trace_read_strace(&fixture->job.trace, path, &err);
	close(fd);
	return status;
}

static void refuses_files_that_are_not_logs(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(status_of(fixture, ""), -EINVAL);
	assert_int_equal(status_of(fixture, "root:x:0:0:root:/root:/bin/bash\nbin:x:1:1\n"),
			 -EINVAL);
	assert_int_equal(status_of(fixture, "\n\n"), -EINVAL);
	assert_int_equal(status_of(fixture, "hello\n12:00:01 +++ exited with 0 +++\n"), 0);
	assert_int_equal(status_of(fixture, "[pid 12] getpid() = 12\n"), 0);
	assert_int_equal(status_of(fixture, "perf_event_open({type=\n"), 0);
}

/* The size is in range and the kernel has every field in the log: a byte that the log does not show
 * is not zero. */
static void explains_e2big_by_bytes_that_the_log_omits(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=0xc8 => 0x88, config=PERF_COUNT_SW_DUMMY, ...}, 0, -1, -1, "
		"0) = -1 E2BIG (Argument list too long)\n");

	assert_string_equal(word(object, "cause"), "too-new");
	assert_string_equal(word(object, "confidence"), "certain");
	assert_non_null(strstr(word(object, "message"), "bytes 136 to 199"));
	object = explain(
		fixture,
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=0x1388 => 0x88, config=PERF_COUNT_SW_DUMMY, ...}, 0, -1, "
		"-1, 0) = -1 E2BIG (Argument list too long)\n");
	if (sysconf(_SC_PAGESIZE) == 4096) {
		assert_string_equal(word(object, "cause"), "attr-size");
		assert_non_null(strstr(word(object, "message"), "5000"));
	}
	object = explain(
		fixture, /* a group that is too large is E2BIG too */
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=0xc8 => 0x88, config=PERF_COUNT_SW_DUMMY, ...}, 0, -1, 3, "
		"0) = -1 E2BIG (Argument list too long)\n");
	assert_string_not_equal(word(object, "confidence"), "certain");
}

/* Any PMU may have the type: causes in fields of the attr come before probes without a name. */
static void sorts_candidates_of_unknown_types(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(
		fixture,
		"perf_event_open({type=0x9 /* PERF_TYPE_??? */, size=PERF_ATTR_SIZE_VER7, config=0, sample_period=1000, "
		"config1=0, config2=0}, 0, -1, -1, 0) = -1 EINVAL (Invalid argument)\n");

	assert_string_equal(word(object, "cause"), "pmu-sampling");
	assert_string_equal(word(object, "confidence"), "ambiguous");
	assert_string_equal(word(json_array_get(json_object_get(object, "candidates"), 0), "cause"),
			    "pmu-sampling");
	object = explain(
		fixture,
		"perf_event_open({type=0x9 /* PERF_TYPE_??? */, size=PERF_ATTR_SIZE_VER7, config=0x4d, config1=0, "
		"config2=0}, 0, -1, -1, 0) = -1 EINVAL (Invalid argument)\n");
	assert_string_not_equal(word(object, "cause"), "probe-file");
	assert_string_equal(word(object, "confidence"), "ambiguous");
}

#define CALL		   "perf_event_open(" CLOCK ", 0, -1, -1, 0) = "
#define SYSTEM_CALL_SIGNAL "--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_errno=0} ---\n"

/* A seccomp filter answers with SIGSYS: the result, if there is one, is no descriptor. */
static void finds_calls_that_a_filter_ended(void **state)
{
	static const struct {
		const char *log, *message;
	} cases[] = {
		{ CALL "298\n" SYSTEM_CALL_SIGNAL "ioctl(298, _IOC(_IOC_NONE, 0x24, 0x1, 0)) = 0\n",
		  "SECCOMP_RET_TRAP" },
		{ CALL "336\n > /lib/libc.so.6(syscall+0x1d) [0x10]\n" SYSTEM_CALL_SIGNAL,
		  "SECCOMP_RET_TRAP" },
		{ CALL "298\n+++ killed by SIGSYS (core dumped) +++\n", "SECCOMP_RET_KILL" },
		{ CALL "298\n" SYSTEM_CALL_SIGNAL "+++ killed by SIGSYS +++\n",
		  "SECCOMP_RET_TRAP" },
		{ CALL "187649984473520\n" SYSTEM_CALL_SIGNAL, "SECCOMP_RET_TRAP" },
		{ CALL "?\n+++ killed by SIGSYS (core dumped) +++\n", "SECCOMP_RET_KILL" },
		{ "12 " CALL "298\n13 getpid() = 13\n12 " SYSTEM_CALL_SIGNAL, "SECCOMP_RET_TRAP" },
		{ "[pid 12] 12:30:59 " CALL "?\n[pid 12] 12:30:59 +++ killed by SIGSYS +++\n",
		  "SECCOMP_RET_KILL" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *object = explain(fixture, cases[i].log);

		assert_int_equal(fixture->job.trace.calls, i + 1);
		assert_int_equal(fixture->job.trace.refused, i + 1);
		assert_string_equal(word(object, "cause"), "seccomp");
		assert_non_null(strstr(word(object, "message"), cases[i].message));
		assert_false(trace_is_event(&fixture->job.trace, 0, 298));
	}
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

/* Descriptors with these numbers are possible too, and "?" has other reasons. */
static void accepts_a_descriptor_with_the_number_of_the_call(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain(fixture, CALL "298\nread(298, 0x1, 4) = -1 ENOSPC (No space)\n");

	assert_string_equal(word(object, "cause"), "read-short");
	assert_int_equal(fixture->job.trace.calls, 1);
	explain(fixture, CALL "336");
	assert_int_equal(fixture->job.trace.calls, 2);
	explain(fixture, CALL "298\n--- SIGALRM {si_signo=SIGALRM} ---\n" SYSTEM_CALL_SIGNAL);
	assert_int_equal(fixture->job.trace.calls, 3);
	explain(fixture, CALL "?\n+++ killed by SIGKILL +++\n");
	assert_int_equal(fixture->job.trace.calls, 3);
	explain(fixture, CALL "?");
	assert_int_equal(fixture->job.trace.calls, 3);
	assert_int_equal(fixture->job.trace.refused, 0);
	assert_int_equal(fixture->job.trace.unreadable, 0);
	explain(fixture, CALL "187649984473520\ngetpid() = 13\n");
	assert_int_equal(fixture->job.trace.unreadable, 1);
}

static void refuses_a_missing_log(void **state)
{
	struct fixture *fixture = *state;
	struct perch_error err;

	assert_int_equal(trace_read_strace(&fixture->job.trace, "/proc/none", &err), -ENOENT);
	assert_int_equal(trace_read_strace(&fixture->job.trace, "/", &err), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parses_an_abbreviated_attr),
		TEST(reports_misused_descriptors),
		TEST(discards_a_reused_descriptor),
		TEST(parses_a_full_attr),
		TEST(parses_numbers_in_place_of_names),
		TEST(accepts_a_pointer_in_place_of_the_attr),
		TEST(parses_the_size_that_the_kernel_wrote),
		TEST(joins_unfinished_and_resumed_lines),
		TEST(children_run_before_their_clone_returns),
		TEST(assigns_threads_to_processes),
		TEST(explains_operations),
		TEST(explains_addresses),
		TEST(ignores_anonymous_mappings),
		TEST(ignores_other_files),
		TEST(parses_errnos),
		TEST(counts_lines_that_cannot_be_parsed),
		TEST(skips_unknown_fields),
		TEST(truncates_long_lines),
		TEST(refuses_files_that_are_not_logs),
		TEST(explains_e2big_by_bytes_that_the_log_omits),
		TEST(sorts_candidates_of_unknown_types),
		TEST(finds_calls_that_a_filter_ended),
		TEST(accepts_a_descriptor_with_the_number_of_the_call),
		TEST(refuses_a_missing_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
