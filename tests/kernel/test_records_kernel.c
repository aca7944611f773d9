/* SPDX-License-Identifier: MIT */
/*
 * Records about the kernel: KSYMBOL and BPF_EVENT of a BPF program that the test loads, CGROUP of a
 * cgroup that the test makes.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <cmocka.h>

#include "needs.h"
#include "records.h"

#define NAME "perch_test"

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Loads the BPF program "return 0". */
static int load_program(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL",
		.prog_name = NAME,
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static void get_program_info(int fd, struct bpf_prog_info *info, uint64_t *address,
			     uint32_t *length)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = fd, .info_len = sizeof(*info), .info = (uintptr_t)info }
	};

	*info = (struct bpf_prog_info){
		.nr_jited_ksyms = 1,
		.jited_ksyms = (uintptr_t)address,
		.nr_jited_func_lens = 1,
		.jited_func_lens = (uintptr_t)length,
	};
	assert_int_equal(bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), 0);
}

/* Finds the symbol that starts at an address. */
static bool in_kallsyms(uint64_t address, char name[512])
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	bool found = false;
	char line[1024];
	uint64_t at;

	while (symbols && !found && fgets(line, sizeof(line), symbols))
		found = sscanf(line, "%" SCNx64 " %*c %511s", &at, name) == 2 && at == address;
	if (symbols)
		fclose(symbols);
	return found;
}

static void check_symbol(const struct perch_record *record, uint64_t address, uint32_t length,
			 const char *name, uint16_t flags)
{
	assert_int_equal(record->ksymbol.address, address);
	assert_int_equal(record->ksymbol.length, length);
	assert_int_equal(record->ksymbol.type, PERCH_RECORD_KSYMBOL_TYPE_BPF);
	assert_int_equal(record->ksymbol.flags, flags);
	assert_text(&record->ksymbol.name, name);
	assert_written_by(record, getpid(), current_tid());
}

static void check_program(const struct perch_record *record, const struct bpf_prog_info *info,
			  uint16_t type)
{
	assert_int_equal(record->bpf.type, type);
	assert_int_equal(record->bpf.flags, 0);
	assert_int_equal(record->bpf.id, info->id);
	assert_memory_equal(record->bpf.tag, info->tag, sizeof(record->bpf.tag));
	assert_int_equal(sizeof(record->bpf.tag), sizeof(info->tag));
	assert_written_by(record, getpid(), current_tid());
}

/*
 * Records a program that is loaded and unloaded. False if the records of its end are missing: the
 * kernel writes them in the thread that closes the last descriptor, and a recorder of all programs
 * has one of each program for a moment.
 */
static bool record_program(void)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	char name[BPF_OBJ_NAME_LEN + 32], listed[512];
	struct bpf_prog_info info;
	uint64_t address = 0;
	uint32_t length = 0;
	struct live live;
	bool whole;
	int fd;

	attr.ksymbol = attr.bpf_event = 1;
	record_self(&live, &attr);
	live_enable(&live);
	fd = load_program();
	if (fd < 0) {
		live_close(&live);
		print_message("skipped: cannot load a BPF program: %s\n", strerror(errno));
		skip();
	}
	record_take(&live);
	get_program_info(fd, &info, &address, &length);
	check_program(only_record(&live, PERCH_RECORD_BPF_EVENT), &info, PERCH_BPF_EVENT_PROG_LOAD);
	snprintf(name, sizeof(name), "bpf_prog_");
	for (size_t i = 0; i < sizeof(info.tag); i++)
		snprintf(name + strlen(name), 3, "%02x", info.tag[i]);
	strcat(name, "_" NAME);
	/* 0 if the kernel interprets the program, or hides the address from this user */
	if (address) {
		assert_int_equal(length, info.jited_prog_len);
		check_symbol(only_record(&live, PERCH_RECORD_KSYMBOL), address, length, name, 0);
		assert_true(in_kallsyms(address, listed));
		assert_string_equal(listed, name);
	}
	close(fd);
	record_end(&live);
	whole = live_count(&live, PERCH_RECORD_BPF_EVENT) == 2;
	if (whole) {
		record = live_next(&live, PERCH_RECORD_BPF_EVENT,
				   live_next(&live, PERCH_RECORD_BPF_EVENT, NULL));
		check_program(record, &info, PERCH_BPF_EVENT_PROG_UNLOAD);
	}
	if (whole && address) {
		record = live_next(&live, PERCH_RECORD_KSYMBOL,
				   live_next(&live, PERCH_RECORD_KSYMBOL, NULL));
		assert_non_null(record);
		check_symbol(record, address, length, name, PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	}
	live_close(&live);
	return whole;
}

static void bpf_program_is_recorded(void **state)
{
	bool whole = false;

	(void)state;
	for (int i = 0; i < 20 && !whole; i++)
		whole = record_program();
	assert_true(whole);
}

/*
 * If two events record them, kernels up to at least 6.18 write too large a size into the last
 * record.
 */
static void bpf_program_is_recorded_by_two_events(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct bpf_prog_info info;
	struct live live[2];
	uint64_t address;
	uint32_t length;
	int fd;

	(void)state;
	attr.ksymbol = attr.bpf_event = 1;
	for (int i = 0; i < 2; i++) {
		record_self(&live[i], &attr);
		live_enable(&live[i]);
	}
	fd = load_program();
	if (fd >= 0)
		get_program_info(fd, &info, &address, &length);
	for (int i = 0; fd >= 0 && i < 2; i++) {
		record_take(&live[i]);
		record = only_record(&live[i], PERCH_RECORD_BPF_EVENT);
		check_program(record, &info, PERCH_BPF_EVENT_PROG_LOAD);
		print_message("event %d: %u trailing bytes\n", i, record->trailing_bytes);
	}
	for (int i = 0; i < 2; i++)
		live_close(&live[i]);
	if (fd < 0) {
		print_message("skipped: cannot load a BPF program: %s\n", strerror(errno));
		skip();
	}
	close(fd);
}

/* Finds the mount point of cgroup2, mounted with its root directory. */
static bool find_cgroups(char *where, size_t size)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[1024], root[256], path[256], kind[64];
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts)) {
		const char *rest = strstr(line, " - ");

		found = rest && sscanf(line, "%*d %*d %*s %255s %255s", root, path) == 2 &&
			sscanf(rest, " - %63s", kind) == 1 && !strcmp(kind, "cgroup2") &&
			!strcmp(root, "/");
	}
	if (mounts)
		fclose(mounts);
	if (found)
		snprintf(where, size, "%s", path);
	return found;
}

static uint64_t cgroup_id(const char *path)
{
	struct {
		struct file_handle handle;
		uint64_t id;
	} buffer = { .handle.handle_bytes = sizeof(uint64_t) };
	uint64_t id;
	int mount;

	assert_int_equal(name_to_handle_at(AT_FDCWD, path, &buffer.handle, &mount, 0), 0);
	memcpy(&id, buffer.handle.f_handle, sizeof(id));
	return id;
}

static void new_cgroup_is_recorded(void **state)
{
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	char where[256], path[512];
	struct live live;
	struct stat st;
	uint64_t id;

	(void)state;
	if (!find_cgroups(where, sizeof(where))) {
		print_message("skipped: cgroup2 is not mounted with its root directory\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/perch test %d", where, (int)getpid());
	attr.cgroup = 1;
	record_self(&live, &attr);
	live_enable(&live);
	if (mkdir(path, 0755)) {
		live_close(&live);
		print_message("skipped: cannot make a cgroup: %s\n", strerror(errno));
		skip();
	}
	record_end(&live);
	if (!cgroup_has_perf_event(path)) {
		rmdir(path);
		live_close(&live);
		print_message("skipped: no controller is enabled in cgroup.subtree_control of %s, "
			      "so the kernel records no new cgroup\n",
			      where);
		skip();
	}
	id = cgroup_id(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(rmdir(path), 0);
	record = only_record(&live, PERCH_RECORD_CGROUP);
	assert_int_equal(record->cgroup.id, id);
	assert_int_equal(record->cgroup.id, st.st_ino);
	assert_text(&record->cgroup.path, path + strlen(where));
	assert_written_by(record, getpid(), current_tid());
	live_close(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bpf_program_is_recorded),
		cmocka_unit_test(bpf_program_is_recorded_by_two_events),
		cmocka_unit_test(new_cgroup_is_recorded),
	};

	return RECORDS_RUN(tests);
}
