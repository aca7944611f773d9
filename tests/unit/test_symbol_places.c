/* SPDX-License-Identifier: MIT */
/* Tests which file is used for a mapping, if it is verified, and where it is searched. */
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/kernel/recorded_process.h"

static const uint8_t this_id[20] = { 1, 2, 3 }, other_id[20] = { 9, 8, 7 };
static const struct built_symbol mapped[] = { { "mapped", CODE, 16, STB_LOCAL, STT_FUNC, TEXT,
						0 } };
static const struct built_symbol another[] = { { "another", CODE, 16, STB_LOCAL, STT_FUNC, TEXT,
						 0 } };

/* Replaced, or in a container: nothing says which. */
#define UNCERTAIN                                                                              \
	"[another file is at its path: it was replaced, or the process was in a container or " \
	"chroot]"

static const uint32_t no_process = 0x7ffffff0; /* above any pid */

/* The DSO of a file with its device and inode, as of a record without a build id. */
static struct perch_dso dso_of(const char *path)
{
	struct perch_dso dso = dso_at(path, PERCH_DSO_FILE);
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	dso.device_major = major(status.st_dev);
	dso.device_minor = minor(status.st_dev);
	dso.inode = status.st_ino;
	dso.pid = no_process;
	dso.map_start = 0x1000;
	dso.map_end = 0x2000;
	dso.code_map_start = 0x1000;
	dso.code_map_offset = CODE_OFFSET;
	dso.code_map_size = CODE_SIZE;
	return dso;
}

static uint64_t ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t changed_at(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return ns_of(status.st_ctim);
}

/* Programs decide by the reason, users by the text. */
static void check_reason(enum perch_symbols_reason reason, const char *error)
{
	static const struct {
		enum perch_symbols_reason reason;
		const char *text;
	} reasons[] = {
		{ PERCH_SYMBOLS_STRIPPED, "the ELF file has no symbol tables" },
		{ PERCH_SYMBOLS_STRIPPED, "no symbols: the file is stripped" },
		{ PERCH_SYMBOLS_REPLACED, "replaced since the recording" },
		{ PERCH_SYMBOLS_NOT_MOUNTED, "on a file system that is not mounted here" },
		{ PERCH_SYMBOLS_OTHER_MOUNTS, "in another mount namespace" },
		{ PERCH_SYMBOLS_OTHER_FILE, "another file is at its path" },
		{ PERCH_SYMBOLS_NO_FILE_ANY_MORE, "no such file:" },
		{ PERCH_SYMBOLS_NO_FILE, "no such file" },
		{ PERCH_SYMBOLS_DELETED, "the file was deleted" },
		{ PERCH_SYMBOLS_NO_PERMISSION, "in the mount namespace of process" },
		{ PERCH_SYMBOLS_NO_PERMISSION, "permission denied" },
	};
	enum perch_symbols_reason wanted = PERCH_SYMBOLS_OTHER_REASON;

	for (size_t i = 0; error && !wanted && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strncmp(error, reasons[i].text, strlen(reasons[i].text)))
			wanted = reasons[i].reason;
	if (reason != wanted)
		fail_msg("the reason of '%s' is %d", error ? error : "", (int)reason);
}

/*
 * Looks up a name with a new handle. Without a symbol, the error in brackets. A name that is not
 * verified has a question mark, and the reason why.
 */
static const char *ask_with(const struct perch_symbols_options *options,
			    const struct perch_dso *dso)
{
	static const char *const doubts[] = {
		[PERCH_SYMBOLS_REPLACED] = "written",	   [PERCH_SYMBOLS_OTHER_FILE] = "inode",
		[PERCH_SYMBOLS_OTHER_MACHINE] = "machine", [PERCH_SYMBOLS_NO_INODE] = "path",
		[PERCH_SYMBOLS_NO_TIME] = "time",	   [PERCH_SYMBOLS_NAMED] = "root",
	};
	static char answer[256];
	struct perch_symbols *symbols = new_symbols(options);
	enum perch_symbols_reason doubt;
	const char *name = name_at(symbols, dso, CODE_OFFSET);
	const char *error = perch_symbols_error(symbols, dso);
	enum perch_symbols_state state = perch_symbols_get_state(symbols, dso, &doubt);

	check_reason(perch_symbols_error_reason(symbols, dso), error);
	assert_true(state == PERCH_SYMBOLS_UNVERIFIED ||
		    (!doubt && !perch_symbols_doubt(symbols, dso)));
	if (state == PERCH_SYMBOLS_UNVERIFIED) {
		assert_true(*name && perch_symbols_doubt(symbols, dso) && doubts[doubt]);
		snprintf(answer, sizeof(answer), "%s? %s", name, doubts[doubt]);
	} else if (*name) {
		assert_int_equal(state, PERCH_SYMBOLS_VERIFIED);
		snprintf(answer, sizeof(answer), "%s", name);
	} else {
		assert_true(state == PERCH_SYMBOLS_REFUSED || state == PERCH_SYMBOLS_NO_STATE);
		snprintf(answer, sizeof(answer), "[%s]", error ? error : "");
	}
	perch_symbols_free(symbols);
	return answer;
}

static const char *ask(const struct perch_dso *dso, uint64_t recorded_at, bool foreign)
{
	const struct perch_symbols_options options = { .recorded_at = recorded_at,
						       .foreign = foreign };

	return ask_with(&options, dso);
}

/* The same for a program that records: what is not verified is refused. */
static const char *ask_verified(const struct perch_dso *dso, uint64_t recorded_at, bool foreign)
{
	const struct perch_symbols_options options = { .recorded_at = recorded_at,
						       .foreign = foreign,
						       .verified_only = true };

	return ask_with(&options, dso);
}

static void compares_device_and_inode(void **state)
{
	const char *path = path_in_directory("inode");
	struct perch_dso dso;
	uint64_t later;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	dso = dso_of(path);
	later = changed_at(path);
	assert_string_equal(ask(&dso, 0, false), "mapped");
	assert_string_equal(ask(&dso, later, false), "mapped");
	assert_string_equal(ask_verified(&dso, later, false), "mapped");
	/* another machine may have another file with these numbers */
	assert_string_equal(ask(&dso, later, true), "mapped? machine");
	dso.inode++;
	assert_string_equal(ask(&dso, 0, false), "mapped? inode");
	assert_string_equal(ask(&dso, later, false), "mapped? inode");
	assert_string_equal(ask_verified(&dso, 0, false),
			    "[another file than the one that was mapped]");
	assert_string_equal(ask_verified(&dso, later, false), UNCERTAIN);
	assert_string_equal(ask_verified(&dso, later - 1, false), "[replaced since the recording]");
	dso.inode--;
	dso.device_major = 0xfff; /* of no file system */
	assert_string_equal(ask(&dso, later, false), "mapped? inode");
	assert_string_equal(ask_verified(&dso, later, false),
			    "[on a file system that is not mounted here]");
	dso.device_major = dso_of(path).device_major;
	dso.inode_generation = 12345678; /* a file system without generations ignores it */
	assert_true(!strcmp(ask(&dso, later, false), "mapped") ||
		    !strcmp(ask(&dso, later, false), "mapped? inode"));
}

/* A recording that does not say when it was made. */
static void without_the_time_of_the_recording_nothing_is_verified(void **state)
{
	const struct perch_symbols_options verified_only = { .verified_only = true };
	const char *path = path_in_directory("undated");
	struct perch_dso dso;
	struct perch_symbols *symbols;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	dso = dso_of(path);
	for (int other = 0; other < 2; other++) {
		enum perch_symbols_reason doubt;

		symbols = new_symbols(NULL);
		assert_int_equal(perch_symbols_set_recorded_release(symbols, NULL, NULL), 0);
		assert_string_equal(name_at(symbols, &dso, CODE_OFFSET), "mapped");
		assert_int_equal(perch_symbols_get_state(symbols, &dso, &doubt),
				 PERCH_SYMBOLS_UNVERIFIED);
		assert_int_equal(doubt, other ? PERCH_SYMBOLS_OTHER_FILE : PERCH_SYMBOLS_NO_TIME);
		perch_symbols_free(symbols);
		dso.inode++;
	}
	/* another file is not said to be newer */
	symbols = new_symbols(&verified_only);
	assert_int_equal(perch_symbols_set_recorded_release(symbols, NULL, NULL), 0);
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET), "");
	check_reason(PERCH_SYMBOLS_OTHER_FILE, perch_symbols_error(symbols, &dso));
	perch_symbols_free(symbols);
}

/* As the build id cache makes them. */
static void another_link_is_no_replacement(void **state)
{
	const char *path = path_in_directory("linked");
	struct perch_dso dso;
	struct statx status;
	uint64_t recorded_at;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) || !(status.stx_mask & STATX_BTIME))
		skip(); /* a file system without the times of creation */
	dso = dso_of(path);
	dso.inode++;
	recorded_at = changed_at(path);
	usleep(20000); /* the clock of files has ticks of up to 10 ms */
	assert_int_equal(link(path, path_in_directory("link")), 0);
	assert_true(changed_at(path) > recorded_at);
	assert_string_equal(ask_verified(&dso, recorded_at, false), UNCERTAIN);
}

/* A copy over the file has the same content and a newer time. */
static void content_newer_than_the_recording_is_unverified(void **state)
{
	const char *path = path_in_directory("newer");
	struct perch_dso dso;
	struct stat status;

	(void)state;
	write_elf(path, SHT_SYMTAB, another, 1, NULL, 0);
	dso = dso_of(path);
	assert_int_equal(stat(path, &status), 0);
	assert_string_equal(ask(&dso, ns_of(status.st_mtim) - 1, false), "another? written");
	assert_string_equal(ask_verified(&dso, ns_of(status.st_mtim) - 1, false),
			    "[replaced since the recording]");
	/* a file without device and inode (MMAP records), too */
	dso.inode = 0;
	assert_string_equal(ask(&dso, ns_of(status.st_mtim) - 1, false), "another? path");
	assert_string_equal(ask(&dso, ns_of(status.st_ctim), false), "another? path");
	assert_string_equal(ask(&dso, ns_of(status.st_ctim), true), "another? machine");
	assert_string_equal(ask_verified(&dso, ns_of(status.st_ctim), true),
			    "[recorded on another machine, and without the build id of the file]");
	/* a build id is proof enough */
	write_elf(path, SHT_SYMTAB, mapped, 1, this_id, 20);
	dso.build_id_size = 20;
	memcpy(dso.build_id, this_id, 20);
	assert_string_equal(ask(&dso, 1, true), "mapped");
}

/* Looks up a name in the directory that the user names. */
static const char *ask_below_root(const struct perch_dso *dso, enum perch_arch arch)
{
	const struct perch_symbols_options options = { .root = test_directory, .arch = arch };
	struct perch_dso below = *dso;

	below.path = dso->path + strlen(test_directory);
	return ask_with(&options, &below);
}

/* A file that cannot be the mapped one is refused everywhere, also below the directory of the user.
 */
static void refuses_files_that_cannot_be_the_mapped_one(void **state)
{
	static const char no_code[] = "has no code at the offset that was mapped]";
	const char *path = path_in_directory("layout");
	struct perch_dso right, dso;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	dso = right = dso_of(path);
	right.inode++;
	dso.inode++;
	assert_string_equal(ask(&dso, 0, false), "mapped? inode");
	assert_string_equal(ask_below_root(&dso, PERCH_ARCH_UNKNOWN), "mapped? root");
	/* a part of the code, as after mprotect(2) */
	dso.code_map_size = CODE_SIZE / 2;
	assert_string_equal(ask(&dso, 0, false), "mapped? inode");
	/* more than the code, or beside it */
	dso.code_map_size = 2 * CODE_SIZE;
	assert_non_null(strstr(ask(&dso, 0, false), no_code));
	assert_non_null(strstr(ask(&dso, 0, true), no_code));
	assert_non_null(strstr(ask_below_root(&dso, PERCH_ARCH_UNKNOWN), no_code));
	dso = right;
	dso.code_map_offset += CODE_SIZE;
	assert_non_null(strstr(ask(&dso, 0, false), no_code));
	dso.code_map_offset = UINT64_MAX - 1;
	assert_non_null(strstr(ask(&dso, 0, false), no_code));
	/* the inode is of a file that was written in place */
	dso.inode = dso_of(path).inode;
	assert_non_null(strstr(ask(&dso, 0, false), no_code));
	/* nothing says what was mapped */
	dso = right;
	dso.code_map_size = 0;
	assert_string_equal(ask(&dso, 0, false), "mapped? inode");
	/* the file is of x86-64 */
	assert_string_equal(ask_below_root(&right, PERCH_ARCH_X86), "mapped? root");
	assert_non_null(
		strstr(ask_below_root(&right, PERCH_ARCH_ARM64), "is of another architecture]"));
	/* a build id is proof enough */
	write_elf(path, SHT_SYMTAB, mapped, 1, this_id, 20);
	dso = right;
	dso.code_map_size = 2 * CODE_SIZE;
	dso.build_id_size = 20;
	memcpy(dso.build_id, this_id, 20);
	assert_string_equal(ask(&dso, 0, false), "mapped");
}

/* A segment: file offset, address, bytes in the file and in memory. */
static Elf64_Phdr segment(uint32_t flags, uint64_t offset, uint64_t address, uint64_t size,
			  uint64_t memory)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_flags = flags,
			     .p_offset = offset,
			     .p_vaddr = address,
			     .p_filesz = size,
			     .p_memsz = memory };
}

/* Writes a program with these segments, whose data is not executable. */
static void write_segments(const char *path, uint16_t machine, const Elf64_Phdr *segments,
			   size_t nr)
{
	struct built symbols, names, out;
	struct built_file file = code_file();

	file.machine = machine;
	file.segment[0] = (Elf64_Phdr){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
	memcpy(file.segment + 1, segments, nr * sizeof(*segments));
	file.nr_segments = nr + 1;
	make_symbols(&symbols, &names, false, mapped, 1);
	add_symbols(&file, SHT_SYMTAB, &symbols, &names);
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

static void compares_what_is_mapped_of_segments(void **state)
{
	/* code first, as in programs in Go: the kernel maps the size of all segments, then the data
	 * over it */
	const Elf64_Phdr first[] = { segment(PF_R | PF_X, 0x2000, CODE, 0x1800, 0x1800),
				     segment(PF_R | PF_W, 0x3800, 0x8800, 0x100, 0x5000) };
	const Elf64_Phdr later[] = { segment(PF_R, 0, 0x3000, 0x800, 0x800),
				     segment(PF_R | PF_X, 0x2000, CODE, 0x1000, 0x1000),
				     segment(PF_R | PF_X, 0x3000, 0x6000, 0x1000, 0x1000) };
	static const struct {
		bool later;
		uint16_t machine;
		uint64_t offset, size;
		bool can_be;
	} rows[] = {
		{ false, EM_X86_64, 0x2000, 0x2000, true }, /* whole pages */
		{ false, EM_X86_64, 0x2000, 0x3000, true }, /* up to the data */
		{ false, EM_X86_64, 0x2000, 0x9000, true }, /* with the bytes of .bss */
		{ false, EM_X86_64, 0x2000, 0xa000, false },
		{ false, EM_X86_64, 0x1000, 0x3000, false },
		{ false, EM_X86_64, 0x3000, 0x1000, true },
		{ false, EM_X86_64, 0x3000, 0x2000, false },
		{ false, EM_AARCH64, 0, 0x10000, true }, /* pages of 64 KiB */
		{ false, EM_AARCH64, 0x2000, 0x3000, true },
		{ true, EM_X86_64, 0, 0x1000, false }, /* not executable */
		{ true, EM_X86_64, 0x2000, 0x1000, true },
		{ true, EM_X86_64, 0x2000, 0x2000, true }, /* two segments in one line of maps */
		{ true, EM_X86_64, 0x2000, 0x3000, false },
		{ true, EM_X86_64, 0, 0x4000, false },
	};
	const char *path = path_in_directory("segments");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perch_dso dso;
		const char *answer;

		write_segments(path, rows[i].machine, rows[i].later ? later : first,
			       rows[i].later ? 3 : 2);
		dso = dso_of(path);
		dso.inode++;
		dso.code_map_start = 0x10000;
		dso.code_map_offset = rows[i].offset;
		dso.code_map_size = rows[i].size;
		answer = ask(&dso, 0, false);
		if (!strcmp(answer, "mapped? inode") != rows[i].can_be)
			fail_msg("row %zu: %s", i, answer);
	}
}

static void build_id_of_a_shared_path_is_no_proof(void **state)
{
	const char *path = path_in_directory("shared");
	struct perch_dso dso;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, this_id, 20);
	dso = dso_of(path);
	dso.build_id_size = 20;
	memcpy(dso.build_id, this_id, 20);
	dso.inode++;
	assert_string_equal(ask(&dso, 0, false), "mapped");
	dso.build_id_of_path = dso.shared_path = true;
	assert_string_equal(ask(&dso, changed_at(path), false), "mapped? inode");
	assert_string_equal(ask_verified(&dso, changed_at(path), false), UNCERTAIN);
	/* the file itself, and the recording has the build id of the other one */
	dso.inode--;
	memcpy(dso.build_id, other_id, 20);
	assert_string_equal(ask(&dso, changed_at(path), false), "mapped");
}

static void missing_files_have_a_reason(void **state)
{
	struct perch_dso dso;
	static const char removed[] = "[no such file: it was deleted or moved, or the process was "
				      "in a container or chroot]";
	const char *path = path_in_directory("places/missing");
	struct stat status;
	uint64_t later;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	dso = dso_of(path);
	unlink(path);
	later = changed_at(path_in_directory("places"));
	assert_string_equal(ask(&dso, later, false), removed);
	assert_string_equal(ask(&dso, later - 1, false), removed);
	assert_string_equal(ask(&dso, 0, false), "[no such file]");
	assert_string_equal(ask(&dso, later, true), "[no such file]");
	assert_int_equal(stat("/proc/self/ns/mnt", &status), 0);
	dso.mount_namespace = status.st_ino;
	assert_string_equal(ask(&dso, later, false), removed);
	dso.mount_namespace++;
	assert_string_equal(ask(&dso, later, false),
			    "[in another mount namespace (container), whose process has ended]");
	dso.device_major = 0xfff; /* of no file system */
	assert_string_equal(ask(&dso, later, false), "[on a file system that is not mounted here]");
	dso.pid = (uint32_t)getpid();
	assert_string_equal(ask(&dso, later, false), "[no such file]");
	/* the id was used again since the recording */
	assert_string_equal(ask(&dso, 1, false), "[on a file system that is not mounted here]");
}

/* A process in a chroot does not see the mount of its root directory in the list of mounts. */
static void the_root_directory_of_a_chroot_is_mounted(void **state)
{
	const char *root = path_in_directory("chroot"), *proc = path_in_directory("chroot/proc");
	struct stat status;
	int ended;
	pid_t child;

	(void)state;
	assert_int_equal(mkdir(proc, 0755), 0);
	assert_int_equal(stat(root, &status), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) || chroot(root) ||
		    chdir("/"))
			_exit(77);
		_exit(perch__device_is_gone(major(status.st_dev), minor(status.st_dev)) ||
		      !perch__device_is_gone(0xfff, 0));
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_true(WIFEXITED(ended));
	if (WEXITSTATUS(ended) == 77)
		skip(); /* this user may not mount */
	assert_int_equal(WEXITSTATUS(ended), 0);
}

/* What this process has mapped is found also if the path is another file now. */
static void opens_what_the_process_has_mapped(void **state)
{
	const char *path = path_in_directory("process");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_dso dso, removed;
	char map_file[128], deleted[512];
	int fd;
	void *map;

	(void)state;
	write_elf(path, SHT_SYMTAB, mapped, 1, NULL, 0);
	dso = dso_of(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(fd >= 0 && map != MAP_FAILED);
	close(fd);
	dso.pid = (uint32_t)getpid();
	dso.map_start = (uintptr_t)map;
	dso.map_end = dso.map_start + page;
	unlink(path);
	write_elf(path_in_directory("in place of it"), SHT_SYMTAB, another, 1, NULL, 0);
	assert_int_equal(rename(path_in_directory("in place of it"), path), 0);
	removed = dso;
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	removed.path = deleted;
	snprintf(map_file, sizeof(map_file), "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)dso.map_start, (unsigned long long)dso.map_end);
	fd = open(map_file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) { /* root */
		close(fd);
		assert_string_equal(ask(&dso, 0, false), "mapped");
		assert_string_equal(ask(&removed, 0, false), "mapped");
	}
	/* a process of another machine has this id by chance */
	assert_string_equal(ask(&dso, 0, true), "another? machine");
	munmap(map, page);
	assert_string_equal(ask(&dso, 1, false), "another? inode");
	assert_string_equal(ask_verified(&dso, 1, false), "[replaced since the recording]");
	assert_string_equal(ask(&removed, 1, false), "[the file was deleted]");
	/* a file below the root directory of the process */
	dso = dso_of(path);
	dso.pid = (uint32_t)getpid();
	assert_string_equal(ask(&dso, 0, false), "another");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_device_and_inode),
		cmocka_unit_test(without_the_time_of_the_recording_nothing_is_verified),
		cmocka_unit_test(another_link_is_no_replacement),
		cmocka_unit_test(content_newer_than_the_recording_is_unverified),
		cmocka_unit_test(refuses_files_that_cannot_be_the_mapped_one),
		cmocka_unit_test(compares_what_is_mapped_of_segments),
		cmocka_unit_test(build_id_of_a_shared_path_is_no_proof),
		cmocka_unit_test(missing_files_have_a_reason),
		cmocka_unit_test(the_root_directory_of_a_chroot_is_mounted),
		cmocka_unit_test(opens_what_the_process_has_mapped),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
