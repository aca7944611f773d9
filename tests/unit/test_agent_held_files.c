/* SPDX-License-Identifier: MIT */
/* Files of programs with samples stay open, but not too many, and not for longer than needed. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/symbol.h>

#include "agent/recording/held_files.h"
#include "base/kernel/recorded_process.h"
#include "tree.h"

enum { NR = AGENT_MOST_HELD + 10 };

struct fixture {
	char root[PATH_MAX];
	struct perch_dso dso[NR];
	struct agent_held_files files;
};

/* Writes a file that programs could map, without code: a header, and the path. */
static void write_elf(const char *path)
{
	static const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	assert_int_equal(fwrite(&header, sizeof(header), 1, stream), 1);
	assert_true(fputs(path, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

/* Makes files, and DSOs that are these. */
static int make_files(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	static const struct tree_file first = { "/first", "" };

	assert_non_null(fixture);
	tree_make(fixture->root, &first, 1);
	for (uint32_t i = 0; i < NR; i++) {
		struct perch_dso *dso = &fixture->dso[i];
		struct stat status;
		char path[PATH_MAX + 16];

		snprintf(path, sizeof(path), "%s/%u", fixture->root, i);
		write_elf(path);
		assert_int_equal(stat(path, &status), 0);
		*dso = (struct perch_dso){ .index = i,
					   .kind = PERCH_DSO_FILE,
					   .path = strdup(path),
					   .device_major = major(status.st_dev),
					   .device_minor = minor(status.st_dev),
					   .inode = status.st_ino };
		assert_non_null(dso->path);
	}
	*state = fixture;
	return 0;
}

static int remove_files(void **state)
{
	struct fixture *fixture = *state;

	agent_held_files_clear(&fixture->files);
	for (size_t i = 0; i < NR; i++)
		free((char *)fixture->dso[i].path);
	tree_remove(fixture->root);
	free(fixture);
	return 0;
}

/* What the descriptor of a DSO has after the header is its path. */
static bool is_open(const struct fixture *fixture, size_t i)
{
	char text[PATH_MAX] = "";
	int fd = agent_held_files_find(&fixture->files, &fixture->dso[i]);

	if (fd < 0)
		return false;
	assert_true(pread(fd, text, sizeof(text) - 1, sizeof(Elf64_Ehdr)) > 0);
	assert_string_equal(text, fixture->dso[i].path);
	return true;
}

static void has_removed_files(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;

	agent_held_files_see(files, &fixture->dso[100]);
	agent_held_files_see(files, &fixture->dso[0]);
	agent_held_files_see(files, &fixture->dso[0]);
	assert_int_equal(files->nr, 2);
	assert_int_equal(unlink(fixture->dso[0].path), 0);
	assert_true(is_open(fixture, 0));
	assert_true(is_open(fixture, 100));
	assert_false(is_open(fixture, 1));
	/* too late: it is gone, or another one is at its path; and it is looked for once */
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(unlink(fixture->dso[i].path), 0);
		if (i == 2) {
			fixture->dso[i].inode = fixture->dso[3].inode;
			write_elf(fixture->dso[i].path);
		}
		agent_held_files_see(files, &fixture->dso[i]);
		agent_held_files_see(files, &fixture->dso[i]);
		assert_int_equal(files->unheld[AGENT_UNHELD_GONE], i);
		assert_false(is_open(fixture, i));
	}
	/* what is no file, or has no inode, is not opened */
	fixture->dso[4].kind = PERCH_DSO_ANON;
	fixture->dso[5].inode = 0;
	agent_held_files_see(files, &fixture->dso[4]);
	agent_held_files_see(files, &fixture->dso[5]);
	assert_int_equal(files->nr, 2);
}

/* Records of mappings have a build id from Linux 5.12 on, and no inode. */
static void compares_build_ids(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;
	struct perch_dso own = { .kind = PERCH_DSO_FILE, .path = "/proc/self/exe" }, other;
	int size = perch_build_id_of_file(own.path, own.build_id, NULL);

	if (size <= 0) {
		print_message("skipped: this program has no build id\n");
		skip();
	}
	own.build_id_size = (uint8_t)size;
	other = own;
	other.index = 1;
	other.build_id[0] ^= 1;
	agent_held_files_see(files, &own);
	agent_held_files_see(files, &other);
	assert_true(agent_held_files_find(files, &own) >= 0);
	assert_int_equal(agent_held_files_find(files, &other), -1);
	assert_int_equal(files->unheld[AGENT_UNHELD_GONE], 1);
}

static void limits_files(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;

	for (size_t i = 0; i < NR; i++)
		agent_held_files_see(files, &fixture->dso[i]);
	assert_int_equal(files->nr, AGENT_MOST_HELD);
	assert_int_equal(files->unheld[AGENT_UNHELD_LIMIT], NR - AGENT_MOST_HELD);
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(is_open(fixture, i), i >= NR - AGENT_MOST_HELD);
	agent_held_files_clear(files);
	assert_int_equal(files->nr, 0);
	agent_held_files_see(files, &fixture->dso[0]);
	assert_true(is_open(fixture, 0));
}

/* What is not open for want of descriptors is not gone. */
static void counts_errors(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;
	struct rlimit limit, less;

	agent_held_files_see(files, &fixture->dso[0]);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = limit;
	less.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	agent_held_files_see(files, &fixture->dso[1]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(is_open(fixture, 1));
	assert_int_equal(files->unheld[AGENT_UNHELD_OTHER], 1);
	assert_int_equal(files->unheld[AGENT_UNHELD_GONE], 0);
}

/* What is packed as a whole is not unpacked, though the kernel takes modules of that form. */
static void ignores_other_formats(void **state)
{
	static const char xz[] = "\3757zXZ";
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;

	tree_write(fixture->dso[0].path, xz);
	tree_write(fixture->dso[1].path, "\177ELF");
	agent_held_files_see(files, &fixture->dso[0]);
	agent_held_files_see(files, &fixture->dso[1]);
	assert_int_equal(files->nr, 0);
	assert_int_equal(files->unheld[AGENT_UNHELD_OTHER], 2);
}

/* Another recording has other DSOs with the same indexes. */
static void keeps_old_files(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;

	for (size_t i = 0; i < 4; i++)
		agent_held_files_see(files, &fixture->dso[i]);
	agent_held_files_begin_anew(files);
	fixture->dso[4].index = 0;
	fixture->dso[5].index = 3;
	agent_held_files_see(files, &fixture->dso[4]);
	agent_held_files_see(files, &fixture->dso[5]);
	assert_int_equal(files->nr, 6);
	for (size_t i = 0; i < 6; i++)
		assert_true(is_open(fixture, i));
	agent_held_files_close_old(files);
	assert_int_equal(files->nr, 2);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(is_open(fixture, i), i >= 4);
}

/* DSOs are freed, and the others get other indexes. */
static void keeps_up_with_dsos(void **state)
{
	struct fixture *fixture = *state;
	struct agent_held_files *files = &fixture->files;
	bool sampled[NR] = { false }, left[NR];

	for (size_t i = 0; i < 20; i++)
		agent_held_files_see(files, &fixture->dso[i]);
	memset(left, true, sizeof(left));
	for (size_t i = 0; i < 20; i++) {
		sampled[i] = i % 2;
		left[i] = i % 4 != 0;
	}
	agent_held_files_close_others(files, sampled);
	agent_held_files_renumber(files, left, NR);
	for (uint32_t i = 0, index = 0; i < NR; i++)
		if (left[i])
			fixture->dso[i].index = index++;
	assert_int_equal(files->nr, 10);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(is_open(fixture, i), i % 2);
	/* a new sample opens it again, but not what is open */
	for (size_t i = 0; i < 20; i++)
		if (left[i])
			agent_held_files_see(files, &fixture->dso[i]);
	assert_int_equal(files->nr, 15);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(is_open(fixture, i), left[i]);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_files, remove_files)
	static const struct CMUnitTest tests[] = {
		TEST(has_removed_files),  TEST(compares_build_ids),    TEST(limits_files),
		TEST(counts_errors),	  TEST(ignores_other_formats), TEST(keeps_old_files),
		TEST(keeps_up_with_dsos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
