/* SPDX-License-Identifier: MIT */
/* Tests that a file is used only if it is the one that was mapped, and where it is searched. */
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

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

/* Looks up a name with a new handle. Without a symbol, the error in brackets. */
static const char *ask(const struct perch_dso *dso, uint64_t recorded_at, bool foreign)
{
	static char answer[256];
	const struct perch_symbols_options options = { .recorded_at = recorded_at,
						       .foreign = foreign };
	struct perch_symbols *symbols = new_symbols(&options);
	const char *name = name_at(symbols, dso, CODE_OFFSET);
	const char *error = perch_symbols_error(symbols, dso);

	check_reason(perch_symbols_error_reason(symbols, dso), error);
	if (*name)
		snprintf(answer, sizeof(answer), "%s", name);
	else
		snprintf(answer, sizeof(answer), "[%s]", error ? error : "");
	perch_symbols_free(symbols);
	return answer;
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
	assert_string_equal(ask(&dso, later, true), "mapped");
	dso.inode++;
	assert_string_equal(ask(&dso, 0, false), "[another file than the one that was mapped]");
	assert_string_equal(ask(&dso, later, false), UNCERTAIN);
	assert_string_equal(ask(&dso, later - 1, false), "[replaced since the recording]");
	dso.inode--;
	dso.device_major = 0xfff; /* of no file system */
	assert_string_equal(ask(&dso, later, false), "[on a file system that is not mounted here]");
	dso.device_major = dso_of(path).device_major;
	dso.inode_generation = 12345678; /* a file system without generations ignores it */
	assert_true(!strcmp(ask(&dso, later, false), "mapped") ||
		    !strcmp(ask(&dso, later, false), UNCERTAIN));
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
	assert_string_equal(ask(&dso, recorded_at, false), UNCERTAIN);
}

static void refuses_content_newer_than_the_recording(void **state)
{
	const char *path = path_in_directory("newer");
	struct perch_dso dso;
	struct stat status;

	(void)state;
	write_elf(path, SHT_SYMTAB, another, 1, NULL, 0);
	dso = dso_of(path);
	assert_int_equal(stat(path, &status), 0);
	assert_string_equal(ask(&dso, ns_of(status.st_mtim) - 1, false),
			    "[replaced since the recording]");
	/* a file without device and inode (MMAP records), too */
	dso.inode = 0;
	assert_string_equal(ask(&dso, ns_of(status.st_mtim) - 1, false),
			    "[replaced since the recording]");
	assert_string_equal(ask(&dso, ns_of(status.st_ctim), false), "another");
	assert_string_equal(ask(&dso, ns_of(status.st_ctim), true),
			    "[recorded on another machine, and without the build id of the file]");
	/* a build id is proof enough */
	write_elf(path, SHT_SYMTAB, mapped, 1, this_id, 20);
	dso.build_id_size = 20;
	memcpy(dso.build_id, this_id, 20);
	assert_string_equal(ask(&dso, 1, true), "mapped");
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
	assert_string_equal(ask(&dso, changed_at(path), false), UNCERTAIN);
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
	munmap(map, page);
	assert_string_equal(ask(&dso, 1, false), "[replaced since the recording]");
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
		cmocka_unit_test(another_link_is_no_replacement),
		cmocka_unit_test(refuses_content_newer_than_the_recording),
		cmocka_unit_test(build_id_of_a_shared_path_is_no_proof),
		cmocka_unit_test(missing_files_have_a_reason),
		cmocka_unit_test(opens_what_the_process_has_mapped),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
