/* SPDX-License-Identifier: MIT */
/* System calls: numbers, texts of arguments and results, and entries joined with exits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/syscall.h>
#include <perch/syscall.h>

/* ---- names and numbers ---- */

static void finds_calls(void **state)
{
	static const struct {
		enum perch_syscall_abi abi;
		int64_t number;
		const char *name;
	} rows[] = {
		{ PERCH_SYSCALL_X86_64, 0, "read" },
		{ PERCH_SYSCALL_X86_64, 257, "openat" },
		{ PERCH_SYSCALL_I386, 5, "open" },
		{ PERCH_SYSCALL_I386, 295, "openat" },
		{ PERCH_SYSCALL_ARM64, 56, "openat" },
		{ PERCH_SYSCALL_GENERIC, 63, "read" },
		{ PERCH_SYSCALL_S390X, 288, "openat" },
		{ PERCH_SYSCALL_X86_64, 0x40000000 + 1, "write" },
		{ PERCH_SYSCALL_X86_64, 435, "clone3" },
		{ PERCH_SYSCALL_ARM64, 462, "mseal" },
	};
	int64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct perch_syscall *syscall =
			perch_syscall_find(rows[i].abi, rows[i].number);

		assert_non_null(syscall);
		assert_string_equal(perch_syscall_name(syscall), rows[i].name);
		assert_ptr_equal(perch_syscall_find_name(rows[i].abi, rows[i].name, &number),
				 syscall);
		assert_int_equal(number, rows[i].number & 0xfff);
	}
	assert_null(perch_syscall_find(PERCH_SYSCALL_X86_64, -1));
	assert_null(perch_syscall_find(PERCH_SYSCALL_X86_64, 500));
	assert_null(perch_syscall_find(PERCH_SYSCALL_UNKNOWN, 0));
	assert_null(perch_syscall_find_name(PERCH_SYSCALL_ARM64, "open", &number));
	assert_int_equal(number, -1);
	assert_int_equal(perch_syscall_abi_of("x86_64", true), PERCH_SYSCALL_I386);
	assert_int_equal(perch_syscall_abi_of("aarch64", true), PERCH_SYSCALL_UNKNOWN);
	assert_int_equal(perch_syscall_abi_of("pdp11", false), PERCH_SYSCALL_UNKNOWN);
}

/* No two calls of an ABI have one number, and each number leads back to its name. */
static void has_each_number_once(void **state)
{
	(void)state;
	for (int abi = PERCH_SYSCALL_X86_64; abi < PERCH_SYSCALL_NR_ABIS; abi++) {
		for (int64_t i = 0; i < 512; i++) {
			const struct perch_syscall *syscall = perch_syscall_find(abi, i);
			int64_t number;

			if (!syscall)
				continue;
			perch_syscall_find_name(abi, perch_syscall_name(syscall), &number);
			assert_int_equal(number, i);
		}
	}
}

/* The numbers of the C library that the test is compiled with are those of the table. */
static void has_the_numbers_of_this_machine(void **state)
{
	static const struct {
		const char *name;
		int64_t number;
	} rows[] = {
		{ "read", SYS_read },	{ "openat", SYS_openat },	  { "execve", SYS_execve },
		{ "futex", SYS_futex }, { "exit_group", SYS_exit_group }, { "ppoll", SYS_ppoll },
		{ "bpf", SYS_bpf },	{ "io_uring_setup", 425 },
	};
	enum perch_syscall_abi abi =
#if defined(__x86_64__)
		PERCH_SYSCALL_X86_64;
#elif defined(__aarch64__)
		PERCH_SYSCALL_ARM64;
#elif defined(__s390x__)
		PERCH_SYSCALL_S390X;
#elif defined(__riscv) && __riscv_xlen == 64
		PERCH_SYSCALL_GENERIC;
#else
		PERCH_SYSCALL_UNKNOWN;
#endif

	(void)state;
	for (size_t i = 0; abi && i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t number;

		assert_non_null(perch_syscall_find_name(abi, rows[i].name, &number));
		assert_int_equal(number, rows[i].number);
	}
}

static void has_groups(void **state)
{
	const struct perch_syscall *openat = perch_syscall_find(PERCH_SYSCALL_X86_64, 257);
	const struct perch_syscall *mmap = perch_syscall_find(PERCH_SYSCALL_X86_64, 9);

	(void)state;
	assert_true(perch_syscall_is_in(openat, PERCH_SYSCALL_FILE));
	assert_true(perch_syscall_is_in(openat, PERCH_SYSCALL_DESCRIPTOR));
	assert_false(perch_syscall_is_in(openat, PERCH_SYSCALL_MEMORY | PERCH_SYSCALL_NETWORK));
	assert_true(perch_syscall_is_in(mmap, PERCH_SYSCALL_MEMORY));
	assert_true(perch_syscall_reads_memory(openat));
	assert_false(perch_syscall_reads_memory(mmap));
	assert_true(perch_syscall_returns_descriptor(openat));
	assert_false(perch_syscall_returns_descriptor(mmap));
}

/* ---- texts ---- */

/* Memory of a process: one string at 0x1000, a struct at 0x2000; the page after 0x3000 ends soon.
 */
static const char *string_at_0x1000;
static const void *struct_at_0x4000;
static size_t struct_size;
static bool is_verified;

static ssize_t read_memory(void *context, uint64_t address, void *bytes, size_t size,
			   bool *verified)
{
	static const int64_t time[2] = { 1, 500 };
	static const unsigned char internet[16] = { 2, 0, 0, 80, 127, 0, 0, 1 };
	const void *from = address == 0x1000   ? string_at_0x1000
			   : address == 0x2000 ? (const void *)time
			   : address == 0x2100 ? (const void *)internet
			   : address == 0x4000 ? struct_at_0x4000
					       : NULL;
	size_t most = address == 0x1000	  ? strlen(string_at_0x1000) + 1
		      : address == 0x4000 ? struct_size
					  : 16;

	(void)context;
	*verified = is_verified;
	if (!from)
		return -EFAULT;
	memcpy(bytes, from, size < most ? size : most);
	return (ssize_t)(size < most ? size : most);
}

static size_t path_of(void *context, int fd, char *path, size_t size, bool *verified)
{
	(void)context;
	*verified = is_verified;
	return fd == 3 ? (size_t)snprintf(path, size, "/etc/\033passwd") : 0;
}

/* "openat(AT_FDCWD, ...)" */
static const char *text_of(enum perch_syscall_abi abi, const char *name, const uint64_t *argument)
{
	static const struct perch_syscall_process process = { .read = read_memory,
							      .path = path_of };
	static char text[1024];
	struct perch_syscall_call call = { .abi = abi };
	size_t used = 0;
	char one[512];

	call.syscall = perch_syscall_find_name(abi, name, NULL);
	assert_non_null(call.syscall);
	memcpy(call.argument, argument, sizeof(call.argument));
	text[0] = '\0';
	for (unsigned i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++) {
		size_t length = perch_syscall_argument_text(&call, i, &process, one, sizeof(one));

		assert_int_equal(length, strlen(one));
		if (length)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? ", " : "", one);
	}
	return text;
}

#define TEXT(abi, name, ...) text_of(PERCH_SYSCALL_##abi, name, (const uint64_t[6]){ __VA_ARGS__ })

static void formats_arguments(void **state)
{
	(void)state;
	is_verified = true;
	string_at_0x1000 = "a\"b\n\033";
	assert_string_equal(TEXT(X86_64, "openat", -100u, 0x1000, 02000000, 0644),
			    "AT_FDCWD, \"a\\\"b\\n\\x1b\", O_RDONLY|O_CLOEXEC");
	assert_string_equal(TEXT(X86_64, "openat", 3, 0, 0102, 0644),
			    "3</etc/?passwd>, NULL, O_RDWR|O_CREAT, 0644");
	assert_string_equal(TEXT(ARM64, "openat", 4, 0x9000, 040000, 0),
			    "4, 0x9000, O_RDONLY|O_DIRECTORY");
	assert_string_equal(TEXT(X86_64, "openat", 4, 0x9000, 040000, 0),
			    "4, 0x9000, O_RDONLY|O_DIRECT");
	assert_string_equal(TEXT(X86_64, "mmap", 0, 4096, 3, 0x22, -1ull, 0),
			    "NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0");
	assert_string_equal(
		TEXT(X86_64, "mmap", 0, 4096, 0, 0x12, 3, 0x1000),
		"NULL, 4096, PROT_NONE, MAP_PRIVATE|MAP_FIXED, 3</etc/?passwd>, 0x1000");
	assert_string_equal(TEXT(X86_64, "lseek", 5, -60ull, 1), "5, -60, SEEK_CUR");
	assert_string_equal(TEXT(X86_64, "futex", 0x10, 0x80, 2, 0x2000),
			    "0x10, FUTEX_WAIT_PRIVATE, 2, {tv_sec=1, tv_nsec=500}, NULL, 0");
	assert_string_equal(TEXT(X86_64, "futex", 0x10, 0x81, 1, 7),
			    "0x10, FUTEX_WAKE_PRIVATE, 1, 7, NULL, 0");
	assert_string_equal(TEXT(X86_64, "connect", 4, 0x2100, 16),
			    "4, {AF_INET, 127.0.0.1, port 80}, 16");
	assert_string_equal(TEXT(X86_64, "socket", 2, 02000001, 6),
			    "AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 6");
	assert_string_equal(TEXT(X86_64, "setsockopt", 4, 1, 2, 0x9000, 4),
			    "4, SOL_SOCKET, SO_REUSEADDR, 0x9000, 4");
	assert_string_equal(TEXT(X86_64, "setsockopt", 4, 6, 1, 0x9000, 4),
			    "4, SOL_TCP, TCP_NODELAY, 0x9000, 4");
	assert_string_equal(TEXT(X86_64, "ioctl", 1, 0x5401, 0x10), "1, TCGETS, 0x10");
	assert_string_equal(TEXT(X86_64, "ioctl", 1, 0xc0045678, 0x10),
			    "1, _IOC(_IOC_READ|_IOC_WRITE, 0x56, 0x78, 0x4), 0x10");
	assert_string_equal(TEXT(X86_64, "kill", -1ull, 15), "-1, SIGTERM");
	assert_string_equal(TEXT(X86_64, "kill", 5, 34), "5, SIGRT_2");
	assert_string_equal(TEXT(X86_64, "access", 0x9000, 0), "0x9000, F_OK");
	assert_string_equal(TEXT(X86_64, "clone", 0x1200011, 0),
			    "SIGCHLD|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID, NULL, NULL, NULL, 0");
	assert_string_equal(TEXT(X86_64, "getppid", 1, 2, 3), "");
	assert_string_equal(TEXT(X86_64, "chown", 0x9000, -1ull, 5), "0x9000, -1, 5");
	/* numbers of 64 bits in two arguments, and what follows them */
	assert_string_equal(TEXT(I386, "pread64", 4, 0x9000, 10, 1, 2),
			    "4, 0x9000, 10, 8589934593");
	assert_string_equal(TEXT(I386, "readahead", 4, 1, 0, 77), "4, 1, 77");
	assert_string_equal(TEXT(I386, "sync_file_range", 4, 1, 0, 2, 0, 3), "4, 1, 2, 0x3");
	/* bits without a name */
	assert_string_equal(TEXT(X86_64, "pipe2", 0x9000, 02000001), "0x9000, O_CLOEXEC|0x1");
	/* not known: all six */
	assert_string_equal(TEXT(X86_64, "tuxcall", 1, 2, 3, 4, 5, 6),
			    "0x1, 0x2, 0x3, 0x4, 0x5, 0x6");
}

#define STRUCT(...) (const uint64_t[8]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ })

/* Structs at 0x4000, as the kernel has them on 64 bits. */
static void formats_structs(void **state)
{
	const struct {
		enum perch_syscall_abi abi;
		const char *name;
		uint64_t argument[6];
		const uint64_t *bytes;
		size_t size;
		const char *text;
	} rows[] = {
		{ PERCH_SYSCALL_X86_64,
		  "readv",
		  { 1, 0x4000, 2 },
		  STRUCT(0x10, 5, 0, 6),
		  "1, [{iov_base=0x10, iov_len=5}, {iov_base=NULL, iov_len=6}], 2" },
		{ PERCH_SYSCALL_I386,
		  "readv",
		  { 1, 0x4000, 2 },
		  STRUCT(0x10, 5, 0, 6),
		  "1, 0x4000, 2" },
		{ PERCH_SYSCALL_X86_64,
		  "setrlimit",
		  { 7, 0x4000 },
		  STRUCT(8 << 20, -1ull),
		  "RLIMIT_NOFILE, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}" },
		{ PERCH_SYSCALL_X86_64,
		  "rt_sigaction",
		  { 17, 0x4000, 0, 8 },
		  STRUCT(0x1000, 0x14000000, 0x2000, 1 << 1 | 1ull << 33),
		  "SIGCHLD, {sa_handler=0x1000, sa_mask=[INT RT_2], sa_flags=SA_RESTORER|SA_RESTART, "
		  "sa_restorer=0x2000}, NULL, 8" },
		/* libraries extend the sign of the flags, and the kernel ignores that */
		{ PERCH_SYSCALL_S390X,
		  "rt_sigaction",
		  { 17, 0x4000, 0, 8 },
		  STRUCT(0x1000, 0xffffffff84000000, 0x2000, 0),
		  "SIGCHLD, {sa_handler=0x1000, sa_mask=[], sa_flags=SA_RESTORER|SA_RESETHAND, "
		  "sa_restorer=0x2000}, NULL, 8" },
		{ PERCH_SYSCALL_GENERIC,
		  "rt_sigaction",
		  { 17, 0x4000, 0, 8 },
		  STRUCT(0, 0, 0, 0),
		  "SIGCHLD, 0x4000, NULL, 8" },
		{ PERCH_SYSCALL_X86_64,
		  "rt_sigprocmask",
		  { 2, 0x4000, 0, 8 },
		  STRUCT(~(1ull << 8)),
		  "SIG_SETMASK, ~[KILL], NULL, 8" },
		{ PERCH_SYSCALL_X86_64,
		  "epoll_ctl",
		  { 4, 1, 6, 0x4000 },
		  STRUCT(0x700000001, 0),
		  "4, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data={u32=7, u64=7}}" },
		{ PERCH_SYSCALL_ARM64,
		  "epoll_ctl",
		  { 4, 1, 6, 0x4000 },
		  STRUCT(0x80000001, 7),
		  "4, EPOLL_CTL_ADD, 6, {events=EPOLLIN|EPOLLET, data={u32=7, u64=7}}" },
		{ PERCH_SYSCALL_X86_64,
		  "timerfd_settime",
		  { 4, 0, 0x4000 },
		  STRUCT(0, 0, 1, 500),
		  "4, 0, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=1, tv_nsec=500}}, NULL" },
		{ PERCH_SYSCALL_X86_64,
		  "utimensat",
		  { 4, 0, 0x4000 },
		  STRUCT(0, 0x3fffffff, 5, 6),
		  "4, NULL, [{tv_sec=0, tv_nsec=UTIME_NOW}, {tv_sec=5, tv_nsec=6}], 0" },
		{ PERCH_SYSCALL_X86_64,
		  "fcntl",
		  { 4, 7, 0x4000 },
		  STRUCT(1, 10, -5ull, 0),
		  "4, F_SETLKW, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=10, l_len=-5}" },
		{ PERCH_SYSCALL_X86_64, "fcntl", { 4, 3, 9 }, STRUCT(0), "4, F_GETFL" },
		{ PERCH_SYSCALL_X86_64,
		  "fcntl",
		  { 4, 4, 04002 },
		  STRUCT(0),
		  "4, F_SETFL, O_RDWR|O_NONBLOCK" },
		{ PERCH_SYSCALL_X86_64,
		  "fcntl",
		  { 4, 1030, 10 },
		  STRUCT(0),
		  "4, F_DUPFD_CLOEXEC, 10" },
		{ PERCH_SYSCALL_X86_64,
		  "select",
		  { 70, 0x4000, 0, 0, 0 },
		  STRUCT(0x28, 1 << 5),
		  "70, [3 5 69], NULL, NULL, NULL" },
		{ PERCH_SYSCALL_X86_64,
		  "sched_setaffinity",
		  { 0, 8, 0x4000 },
		  STRUCT(0x5),
		  "0, 8, [0 2]" },
		{ PERCH_SYSCALL_X86_64,
		  "setsockopt",
		  { 4, 1, 2, 0x4000, 4 },
		  STRUCT(1),
		  "4, SOL_SOCKET, SO_REUSEADDR, [1], 4" },
		{ PERCH_SYSCALL_X86_64,
		  "semop",
		  { 4, 0x4000, 1 },
		  STRUCT(0x1000ffff0001),
		  "4, [{sem_num=1, sem_op=-1, sem_flg=SEM_UNDO}], 1" },
		{ PERCH_SYSCALL_X86_64,
		  "openat2",
		  { 4, 0, 0x4000, 24 },
		  STRUCT(02000000, 0, 8),
		  "4, NULL, {flags=O_RDONLY|O_CLOEXEC, mode=0, resolve=RESOLVE_BENEATH}, 24" },
		{ PERCH_SYSCALL_X86_64,
		  "clone3",
		  { 0x4000, 88 },
		  STRUCT(0x100, 0, 0x10, 0, 17, 0x20, 0x30, 0),
		  "{flags=CLONE_VM, pidfd=NULL, child_tid=0x10, parent_tid=NULL, exit_signal=SIGCHLD, "
		  "stack=0x20, stack_size=0x30, tls=NULL}, 88" },
		{ PERCH_SYSCALL_X86_64,
		  "sendmsg",
		  { 4, 0x4000, 0 },
		  STRUCT(0x2100, 16, 0x2000, 1, 0, 0, 0),
		  "4, {msg_name={AF_INET, 127.0.0.1, port 80}, msg_namelen=16, msg_iov=[{iov_base=0x1, iov_len=500}], "
		  "msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0" },
		{ PERCH_SYSCALL_X86_64,
		  "recvmsg",
		  { 4, 0x4000, 0 },
		  STRUCT(0x2100, 16, 0x2000, 1, 0, 0, 0x20),
		  "4, {msg_name=0x2100, msg_namelen=16, msg_iov=[{iov_base=0x1, iov_len=500}], "
		  "msg_iovlen=1, msg_controllen=0}, 0" },
		{ PERCH_SYSCALL_I386,
		  "setrlimit",
		  { 7, 0x4000 },
		  STRUCT(1, 2),
		  "RLIMIT_NOFILE, 0x4000" },
		/* less memory than the struct has, and more elements than are shown */
		{ PERCH_SYSCALL_X86_64,
		  "setrlimit",
		  { 7, 0x4000 },
		  STRUCT(1),
		  "RLIMIT_NOFILE, 0x4000" },
		{ PERCH_SYSCALL_X86_64, "readv", { 1, 0x4000, -1ull }, STRUCT(1), "1, 0x4000, -1" },
		{ PERCH_SYSCALL_X86_64,
		  "select",
		  { -1ull, 0x4000 },
		  STRUCT(1),
		  "-1, 0x4000, NULL, NULL, NULL" },
	};

	(void)state;
	is_verified = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct_at_0x4000 = rows[i].bytes;
		struct_size = rows[i].size;
		assert_string_equal(text_of(rows[i].abi, rows[i].name, rows[i].argument),
				    rows[i].text);
	}
	is_verified = false;
	struct_at_0x4000 = rows[0].bytes;
	struct_size = rows[0].size;
	assert_string_equal(text_of(rows[0].abi, rows[0].name, rows[0].argument), "1, 0x4000, 2");
}

static void marks_what_is_not_verified(void **state)
{
	(void)state;
	is_verified = false;
	string_at_0x1000 = "/etc";
	assert_string_equal(TEXT(X86_64, "fchdir", 3), "3</etc/?passwd>?");
	assert_string_equal(TEXT(X86_64, "chdir", 0x1000), "\"/etc\"?");
	/* structs are on stacks, which are soon used again */
	assert_string_equal(TEXT(X86_64, "connect", 4, 0x2100, 16), "4, 0x2100, 16");
	assert_string_equal(TEXT(X86_64, "nanosleep", 0x2000, 0), "0x2000, NULL");
}

static void cuts_texts(void **state)
{
	struct perch_syscall_call call = { .abi = PERCH_SYSCALL_X86_64,
					   .argument = { -100u, 0, 02000000 } };
	char text[8];

	(void)state;
	call.syscall = perch_syscall_find(PERCH_SYSCALL_X86_64, 257);
	assert_int_equal(perch_syscall_argument_text(&call, 2, NULL, text, sizeof(text)), 7);
	assert_string_equal(text, "O_RDONL");
	assert_int_equal(perch_syscall_argument_text(&call, 2, NULL, text, 1), 0);
	assert_int_equal(perch_syscall_argument_text(&call, 6, NULL, text, sizeof(text)), 0);
}

static void formats_results(void **state)
{
	struct perch_syscall_call call = { .abi = PERCH_SYSCALL_X86_64 };
	char text[128];

	(void)state;
	call.syscall = perch_syscall_find(PERCH_SYSCALL_X86_64, 0);
	perch_syscall_result_text(&call, 832, text, sizeof(text));
	assert_string_equal(text, "832");
	perch_syscall_result_text(&call, -2, text, sizeof(text));
	assert_string_equal(text, "-1 ENOENT (No such file or directory)");
	perch_syscall_result_text(&call, -512, text, sizeof(text));
	assert_string_equal(text, "? ERESTARTSYS (interrupted by a signal)");
	perch_syscall_result_text(&call, -4096, text, sizeof(text));
	assert_string_equal(text, "-4096");
	call.syscall = perch_syscall_find(PERCH_SYSCALL_X86_64, 9);
	perch_syscall_result_text(&call, 0x7f0000001000, text, sizeof(text));
	assert_string_equal(text, "0x7f0000001000");
}

/* ---- entries and exits ---- */

static struct perch_syscall_joiner *new_joiner(void)
{
	struct perch_syscall_joiner *joiner;
	struct perch_error err;

	assert_int_equal(perch_syscall_joiner_new(&joiner, &err), 0);
	return joiner;
}

/* Returns the tid of a call whose exit was lost, or 0. */
static uint32_t enter(struct perch_syscall_joiner *joiner, uint32_t tid, int64_t number,
		      uint64_t time)
{
	const struct perch_syscall_open call = {
		.pid = 1, .tid = tid, .number = number, .time = time
	};
	struct perch_syscall_open *open, lost;

	assert_int_equal(perch_syscall_add_entry(joiner, &call, &open, &lost), 0);
	assert_int_equal(open->time, time);
	return lost.tid;
}

static enum perch_syscall_exit leave(struct perch_syscall_joiner *joiner, uint32_t tid,
				     int64_t number, uint64_t *time)
{
	struct perch_syscall_open open;
	enum perch_syscall_exit what;

	assert_int_equal(perch_syscall_add_exit(joiner, 1, tid, number, &open, &what), 0);
	*time = open.tid ? open.time : 0;
	return what;
}

static void joins(void **state)
{
	struct perch_syscall_joiner *joiner = new_joiner();
	struct perch_syscall_open open;
	uint64_t time;

	(void)state;
	assert_int_equal(enter(joiner, 1, 0, 10), 0);
	assert_int_equal(enter(joiner, 2, 0, 11), 0);
	assert_int_equal(leave(joiner, 1, 0, &time), PERCH_SYSCALL_JOINED);
	assert_int_equal(time, 10);
	assert_int_equal(leave(joiner, 2, 0, &time), PERCH_SYSCALL_JOINED);
	assert_int_equal(time, 11);
	/* rt_sigreturn(2) */
	assert_int_equal(enter(joiner, 1, 15, 12), 0);
	assert_int_equal(leave(joiner, 1, -1, &time), PERCH_SYSCALL_JOINED);
	/* before the first event of the thread, and after it */
	assert_int_equal(leave(joiner, 3, 7, &time), PERCH_SYSCALL_BEGAN_BEFORE);
	assert_int_equal(leave(joiner, 3, 7, &time), PERCH_SYSCALL_ENTRY_LOST);
	assert_int_equal(time, 0);
	/* a child */
	assert_int_equal(perch_syscall_fork(joiner, 1, 4), 0);
	assert_int_equal(leave(joiner, 4, 56, &time), PERCH_SYSCALL_IN_CHILD);
	assert_int_equal(leave(joiner, 4, 56, &time), PERCH_SYSCALL_ENTRY_LOST);
	/* a lost exit, and a lost exit and entry */
	assert_int_equal(enter(joiner, 1, 0, 20), 0);
	assert_int_equal(enter(joiner, 1, 0, 21), 1);
	assert_int_equal(leave(joiner, 1, 5, &time), PERCH_SYSCALL_ENTRY_LOST);
	assert_int_equal(time, 21);
	/* calls that were open when records were lost */
	assert_int_equal(enter(joiner, 1, 0, 30), 0);
	perch_syscall_lost(joiner);
	assert_int_equal(enter(joiner, 2, 0, 31), 0);
	assert_int_equal(leave(joiner, 1, 0, &time), PERCH_SYSCALL_UNCERTAIN);
	assert_int_equal(leave(joiner, 2, 0, &time), PERCH_SYSCALL_JOINED);
	/* the end of a thread */
	assert_int_equal(enter(joiner, 1, 231, 40), 0);
	assert_non_null(perch_syscall_open_call(joiner, 1));
	perch_syscall_end(joiner, 1, &open);
	assert_int_equal(open.number, 231);
	assert_null(perch_syscall_open_call(joiner, 1));
	perch_syscall_end(joiner, 1, &open);
	assert_int_equal(open.tid, 0);
	assert_int_equal(leave(joiner, 1, 7, &time), PERCH_SYSCALL_BEGAN_BEFORE);
	perch_syscall_joiner_free(joiner);
	perch_syscall_joiner_free(NULL);
}

/* Threads that end give their memory to others, and open calls are visited once. */
static void frees_ended_threads(void **state)
{
	struct perch_syscall_joiner *joiner = new_joiner();
	struct perch_syscall_open open, *next;
	uint64_t sum = 0, time;
	size_t at = 0;

	(void)state;
	for (uint32_t tid = 1; tid <= 20000; tid++) {
		assert_int_equal(enter(joiner, tid, tid % 300, tid), 0);
		if (tid > 100)
			perch_syscall_end(joiner, tid - 100, &open);
	}
	while ((next = perch_syscall_next_open(joiner, &at)))
		sum += next->tid;
	assert_int_equal(at, 101);
	assert_int_equal(sum, (20000 - 99 + 20000) * 100 / 2);
	for (uint32_t tid = 19901; tid <= 20000; tid++) {
		assert_int_equal(leave(joiner, tid, tid % 300, &time), PERCH_SYSCALL_JOINED);
		assert_int_equal(time, tid);
	}
	perch_syscall_joiner_free(joiner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_calls),
		cmocka_unit_test(has_each_number_once),
		cmocka_unit_test(has_the_numbers_of_this_machine),
		cmocka_unit_test(has_groups),
		cmocka_unit_test(formats_arguments),
		cmocka_unit_test(formats_structs),
		cmocka_unit_test(marks_what_is_not_verified),
		cmocka_unit_test(cuts_texts),
		cmocka_unit_test(formats_results),
		cmocka_unit_test(joins),
		cmocka_unit_test(frees_ended_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
