/* SPDX-License-Identifier: MIT */
/* The sandbox of a process on described machines: containers, namespaces, security modules; and
 * facts of other processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/machine.h>

#include "tree.h"

#define STATUS(seccomp, privileges)                                                  \
	"Name:\tx\nState:\tR (running)\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t7\n"   \
	"CapPrm:\t0000000000000000\n"                                                \
	"CapEff:\t0000000000000000\nNoNewPrivs:\t" privileges "\nSeccomp:\t" seccomp \
	"\nSeccomp_filters:\t1\n"
#define EVERY_ID "         0          0 4294967295\n"
/* clang-format off */
#define FIRST_NAMESPACES \
	{ "/proc/self/ns/user", "user:[4026531837]" }, { "/proc/self/ns/pid", "pid:[4026531836]" }
/* clang-format on */

struct described {
	const char *name;
	struct tree_file files[12];
	struct perch_sandbox expected;
};

static const struct described machines[] = {
	{ "no sandbox",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/proc/self/uid_map", EVERY_ID },
	    FIRST_NAMESPACES,
	    { "/sys/kernel/security/lockdown", "[none] integrity confidentiality\n" },
	    { "/sys/kernel/security/lsm", "lockdown,capability,yama,apparmor\n" },
	    { "/proc/sys/kernel/yama/ptrace_scope", "1\n" } },
	  { .lockdown = PERCH_LOCKDOWN_NONE,
	    .modules = "lockdown,capability,yama,apparmor",
	    .selinux = -1,
	    .yama = 1 } },
	{ "docker, cgroup v1",
	  { { "/proc/self/status", STATUS("2", "0") },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/proc/self/ns/user", "user:[4026531837]" },
	    { "/proc/self/ns/pid", "pid:[4026532200]" },
	    { "/proc/self/ns/mnt", "mnt:[4026532190]" },
	    { "/.dockerenv", "" },
	    { "/proc/self/cgroup", "3:perf_event:/docker/0123abc\n0::/docker/0123abc\n" } },
	  { .seccomp = 2, .pid_namespace = 1, .container = "docker", .selinux = -1, .yama = -1 } },
	{ "docker, cgroup v2, no file in the image",
	  { { "/proc/self/status", STATUS("2", "1") },
	    { "/proc/self/cgroup", "0::/\n" },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/proc/self/mountinfo",
	      "1 2 0:3 / / rw - overlay overlay rw,upperdir=/x\n"
	      "4 1 8:1 /var/lib/docker/containers/ab/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda rw\n" } },
	  { .seccomp = 2,
	    .no_new_privileges = 1,
	    .pid_namespace = -1,
	    .container = "docker",
	    .selinux = -1,
	    .yama = -1 } },
	{ "podman without root, SELinux",
	  { { "/proc/self/status", STATUS("2", "0") },
	    { "/proc/self/uid_map",
	      "         0       1000          1\n         1     100000      65536\n" },
	    { "/proc/self/ns/user", "user:[4026532300]" },
	    { "/proc/self/ns/pid", "pid:[4026532301]" },
	    { "/run/.containerenv", "engine=\"podman-4.3.1\"\n" },
	    { "/sys/fs/selinux/enforce", "1" },
	    { "/sys/kernel/security/lsm", "capability,selinux" } },
	  { .seccomp = 2,
	    .user_namespace = 1,
	    .pid_namespace = 1,
	    .container = "podman",
	    .modules = "capability,selinux",
	    .selinux = 1,
	    .yama = -1 } },
	{ "LXC, by systemd",
	  { { "/proc/self/status", STATUS("2", "0") },
	    { "/proc/self/uid_map", "0 100000 65536\n" },
	    { "/run/systemd/container", "lxc\n" } },
	  { .seccomp = 2,
	    .user_namespace = 1,
	    .pid_namespace = -1,
	    .container = "lxc",
	    .selinux = -1,
	    .yama = -1 } },
	{ "LXC, by lxcfs",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/proc/self/mountinfo",
	      "9 1 0:44 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n" } },
	  { .pid_namespace = -1, .container = "lxc", .selinux = -1, .yama = -1 } },
	{ "a pod",
	  { { "/proc/self/status", STATUS("0", "1") },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/var/run/secrets/kubernetes.io/serviceaccount/token", "t" },
	    { "/.dockerenv", "" } },
	  { .no_new_privileges = 1,
	    .pid_namespace = -1,
	    .container = "kubernetes",
	    .selinux = -1,
	    .yama = -1 } },
	{ "gVisor",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n" } },
	  { .user_namespace = -1,
	    .pid_namespace = -1,
	    .container = "gvisor",
	    .selinux = -1,
	    .yama = -1 } },
	{ "an Android program",
	  { { "/proc/self/status", STATUS("2", "1") },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/proc/self/attr/current", "u:r:untrusted_app:s0:c1,c2" } },
	  { .seccomp = 2, .no_new_privileges = 1, .pid_namespace = -1, .selinux = 1, .yama = -1 } },
	{ "permissive SELinux and strict seccomp",
	  { { "/proc/self/status", STATUS("1", "0") },
	    { "/proc/self/attr/current", "unconfined_u:r:t:s0" },
	    { "/sys/fs/selinux/enforce", "0" } },
	  { .seccomp = 1, .user_namespace = -1, .pid_namespace = -1, .yama = -1 } },
	{ "AppArmor",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/proc/self/attr/current", "a:b:docker-default (enforce)" },
	    { "/proc/sys/kernel/yama/ptrace_scope", "7\n" } },
	  { .user_namespace = -1, .pid_namespace = -1, .selinux = -1, .yama = -1 } },
	{ "lockdown",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" } },
	  { .user_namespace = -1,
	    .pid_namespace = -1,
	    .lockdown = PERCH_LOCKDOWN_CONFIDENTIALITY,
	    .selinux = -1,
	    .yama = -1 } },
	{ "lockdown at the level integrity",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n" } },
	  { .user_namespace = -1,
	    .pid_namespace = -1,
	    .lockdown = PERCH_LOCKDOWN_INTEGRITY,
	    .selinux = -1,
	    .yama = -1 } },
	{ "a user namespace that maps every id",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/proc/self/uid_map", EVERY_ID },
	    { "/proc/self/ns/user", "user:[4026532300]" } },
	  { .user_namespace = 1, .pid_namespace = -1, .selinux = -1, .yama = -1 } },
	{ "a container image as the root of the machine",
	  { { "/proc/self/status", STATUS("0", "0") },
	    { "/.dockerenv", "" },
	    { "/proc/self/ns/mnt", "mnt:[4026531832]" },
	    FIRST_NAMESPACES,
	    { "/proc/self/uid_map", EVERY_ID } },
	  { .selinux = -1, .yama = -1 } },
	{ "invalid files",
	  { { "/proc/self/status", "NoNewPrivs:\tx\nSeccomp:\t22\nSeccomp\nNSpid:\n" },
	    { "/proc/self/uid_map", "a" },
	    { "/proc/self/ns/pid", "pid:[12" },
	    { "/run/systemd/container", "a\033[2J" },
	    { "/sys/kernel/security/lockdown", "none [integ" },
	    { "/proc/sys/kernel/yama/ptrace_scope", "z" } },
	  { .seccomp = -1,
	    .no_new_privileges = -1,
	    .user_namespace = 1,
	    .pid_namespace = -1,
	    .selinux = -1,
	    .yama = -1 } },
};

static void check_sandbox(const struct described *described, const struct perch_sandbox *found)
{
	const struct perch_sandbox *expected = &described->expected;

	print_message("%s\n", described->name);
	assert_int_equal(found->seccomp, expected->seccomp);
	assert_true(found->seccomp_filters <= 2);
	assert_int_equal(found->no_new_privileges, expected->no_new_privileges);
	assert_int_equal(found->user_namespace, expected->user_namespace);
	assert_int_equal(found->pid_namespace, expected->pid_namespace);
	assert_string_equal(found->container, expected->container);
	assert_int_equal(found->lockdown, expected->lockdown);
	assert_string_equal(found->modules, expected->modules);
	assert_int_equal(found->selinux, expected->selinux);
	assert_int_equal(found->yama, expected->yama);
}

static void reads_sandboxes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		struct perch_sandbox found;
		struct perch_machine *machine;
		char root[PATH_MAX];
		size_t nr = 0;

		while (machines[i].files[nr].path)
			nr++;
		tree_make(root, machines[i].files, nr);
		assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
		memset(&found, 0xff, sizeof(found));
		for (int again = 0; again < 2; again++) {
			assert_int_equal(perch_machine_sandbox(machine, &found, NULL), 0);
			check_sandbox(&machines[i], &found);
			/* the mode alone is the same, or unknown */
			assert_int_equal(perch_machine_seccomp(machine, NULL),
					 found.seccomp < 0 ? -ENODATA : found.seccomp);
		}
		perch_machine_free(machine);
		tree_remove(root);
	}
}

/* Only capabilities in the initial user namespace apply to the whole machine. */
static void ignores_capabilities_in_user_namespace(void **state)
{
	static const char status[] = "Name:\tx\nCapEff:\t000001ffffffffff\n";
	const struct tree_file first[] = { { "/proc/self/status", status },
					   { "/proc/self/uid_map", EVERY_ID } };
	const struct tree_file second[] = { { "/proc/self/status", status },
					    { "/proc/self/uid_map", "0 1000 1\n" } };
	struct perch_machine *machine;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, first, 2);
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	assert_true(perch_machine_privileged(machine));
	perch_machine_free(machine);
	tree_remove(root);
	tree_make(root, second, 2);
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	assert_false(perch_machine_privileged(machine));
	perch_machine_free(machine);
	tree_remove(root);
}

#define LIMITS(soft, hard, locked)                                                                 \
	"Max open files            " soft "  " hard " files\nMax locked memory " locked " " locked \
	" bytes\n"

/* The caller, a process in a container, and a zombie. */
static const struct tree_file processes[] = {
	{ "/proc/self/status", STATUS("0", "0") },
	{ "/proc/self/uid_map", EVERY_ID },
	{ "/proc/self/limits", LIMITS("1024", "4096", "8388608") },
	{ "/proc/self/fd/0", "" },
	{ "/proc/self/fd/1", "" },
	{ "/proc/self/fd/17", "" },
	{ "/proc/self/fd/x", "" },
	{ "/proc/77/status",
	  "Name:\tmy\\nname\nState:\tS (sleeping)\nUid:\t0\t65534\t0\t0\nNSpid:\t77\t5\n"
	  "CapPrm:\t0000000000200000\nCapEff:\t0000000000200000\nNoNewPrivs:\t1\nSeccomp:\t2\n" },
	{ "/proc/77/uid_map", "0 100000 65536\n" },
	{ "/proc/77/limits", LIMITS("16", "16", "unlimited") },
	{ "/proc/77/fd/3", "" },
	{ "/proc/77/fd/16", "" },
	{ "/proc/77/cgroup", "0::/../libpod-0123.scope\n" },
	{ "/proc/78/status", "Name:\tgone\nState:\tZ (zombie)\nUid:\t1\n" },
	{ "/.dockerenv", "" },
};

static int make_processes(void **state)
{
	static char root[PATH_MAX];

	tree_make(root, processes, sizeof(processes) / sizeof(*processes));
	assert_int_equal(perch_machine_new((struct perch_machine **)state, root, NULL, NULL), 0);
	return 0;
}

static int remove_processes(void **state)
{
	char root[PATH_MAX];

	perch_machine_path(*state, "", root, sizeof(root));
	perch_machine_free(*state);
	tree_remove(root);
	return 0;
}

static void check_facts_of_caller(struct perch_machine *machine)
{
	struct perch_sandbox sandbox;
	struct perch_limits limits;
	uint64_t effective;
	size_t nr;

	assert_int_equal(perch_machine_capabilities(machine, &effective, NULL), 0);
	assert_true(effective == 0);
	assert_int_equal(perch_machine_limits(machine, &limits, NULL), 0);
	assert_int_equal(limits.descriptors, 1024);
	assert_int_equal(limits.locked_bytes, 8388608);
	assert_int_equal(perch_machine_open_descriptors(machine, &nr, NULL), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(perch_machine_sandbox(machine, &sandbox, NULL), 0);
	assert_int_equal(sandbox.seccomp, 0);
	assert_int_equal(sandbox.user_namespace, 0);
	assert_string_equal(sandbox.container, "docker");
}

static void reads_facts_of_other_process(void **state)
{
	struct perch_machine *machine = *state;
	struct perch_sandbox sandbox;
	struct perch_limits limits;
	struct perch_error err;
	uint64_t effective;
	size_t nr;

	check_facts_of_caller(machine);
	perch_machine_set_process(machine, 77);
	assert_int_equal(perch_machine_capabilities(machine, &effective, NULL), 0);
	assert_true(effective == UINT64_C(1) << PERCH_CAP_SYS_ADMIN);
	assert_false(perch_machine_privileged(machine)); /* it has its own user namespace */
	assert_int_equal(perch_machine_limits(machine, &limits, NULL), 0);
	assert_int_equal(limits.descriptors, 16);
	assert_true(limits.locked_bytes == UINT64_MAX);
	assert_int_equal(perch_machine_open_descriptors(machine, &nr, NULL), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(perch_machine_sandbox(machine, &sandbox, NULL), 0);
	assert_int_equal(sandbox.seccomp, 2);
	assert_int_equal(sandbox.no_new_privileges, 1);
	assert_int_equal(sandbox.user_namespace, 1);
	assert_int_equal(sandbox.pid_namespace, 1);
	assert_string_equal(sandbox.container, "podman");
	perch_machine_set_process(machine, 4711);
	assert_int_equal(perch_machine_capabilities(machine, &effective, &err), -ENOENT);
	assert_int_equal(perch_machine_sandbox(machine, &sandbox, &err), -ENOENT);
	assert_int_equal(perch_machine_limits(machine, &limits, &err), -ENOENT);
	assert_int_equal(perch_machine_open_descriptors(machine, &nr, &err), -ENOENT);
	perch_machine_set_process(machine, 0);
	check_facts_of_caller(machine);
}

static void reads_states_of_processes(void **state)
{
	struct perch_process_state target;
	struct perch_error err;

	assert_int_equal(perch_machine_process(*state, 77, &target, &err), 0);
	assert_int_equal(target.state, 'S');
	assert_int_equal(target.uid, 65534);
	assert_true(target.permitted == UINT64_C(1) << PERCH_CAP_SYS_ADMIN);
	assert_string_equal(target.name, "my\nname");
	assert_int_equal(perch_machine_process(*state, 78, &target, &err), 0);
	assert_int_equal(target.state, 'Z');
	assert_true(target.uid == UINT32_MAX);
	assert_string_equal(target.name, "gone");
	assert_int_equal(perch_machine_process(*state, 0, &target, &err), 0);
	assert_int_equal(target.uid, 1001);
	assert_int_equal(perch_machine_process(*state, 79, &target, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_int_equal(perch_machine_process(*state, -2, &target, &err), -ESRCH);
}

/* The line of groups before the capabilities has the greatest length of the kernel. */
static void reads_capabilities_after_many_groups(void **state)
{
	enum { GROUPS = 65536 };
	char *text = malloc(GROUPS * 11 + 256), *at = text;
	struct perch_machine *machine;
	struct tree_file file = { "/proc/self/status", text };
	uint64_t effective;
	char root[PATH_MAX];

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "Name:\tx\nGroups:\t");
	for (int i = 0; i < GROUPS; i++)
		at += sprintf(at, "%u ", 4294900000u + i);
	sprintf(at, "\nCapEff:\t0000000000000020\n");
	tree_make(root, &file, 1);
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	assert_int_equal(perch_machine_capabilities(machine, &effective, NULL), 0);
	assert_true(effective == UINT64_C(1) << PERCH_CAP_KILL);
	perch_machine_free(machine);
	tree_remove(root);
	free(text);
}

/* Without a free file descriptor no file can be read, but the limits are still available. A failed
 * read is not cached. */
static int use_all_descriptors(void)
{
	struct perch_machine *local;
	struct perch_limits limits;
	struct rlimit before, few;
	size_t nr = 0, low;
	long value;

	if (perch_machine_new(&local, NULL, NULL, NULL) || getrlimit(RLIMIT_NOFILE, &before) ||
	    perch_machine_open_descriptors(local, &low, NULL))
		return 1;
	few = before;
	few.rlim_cur = 32;
	if (setrlimit(RLIMIT_NOFILE, &few))
		return 2;
	while (dup(0) >= 0)
		nr++;
	if (low + nr != 32 || perch_machine_limits(local, &limits, NULL) ||
	    limits.descriptors != 32)
		return 3;
	if (perch_machine_open_descriptors(local, &nr, NULL) || nr != 32)
		return 4;
	if (perch_machine_sysctl(local, PERCH_SYSCTL_MAX_STACK, &value, NULL) != -EMFILE)
		return 5;
	setrlimit(RLIMIT_NOFILE, &before);
	if (perch_machine_sysctl(local, PERCH_SYSCTL_MAX_STACK, &value, NULL) == -EMFILE)
		return 6;
	perch_machine_free(local);
	return 0;
}

static void reads_limits_without_descriptors(void **state)
{
	pid_t child;
	int status;

	(void)state;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		_exit(use_all_descriptors());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void reads_local_machine(void **state)
{
	struct perch_sandbox sandbox;
	struct perch_process_state self;
	struct perch_machine *local;
	uint64_t files, most;
	size_t before, after;
	int fd;

	(void)state;
	assert_int_equal(perch_machine_new(&local, NULL, NULL, NULL), 0);
	assert_int_equal(perch_machine_open_descriptors(local, &before, NULL), 0);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(perch_machine_open_descriptors(local, &after, NULL), 0);
	assert_int_equal(after, before + 1);
	close(fd);
	assert_int_equal(perch_machine_process(local, getpid(), &self, NULL), 0);
	assert_int_equal(self.state, 'R');
	assert_int_equal(self.uid, geteuid());
	assert_int_equal(perch_machine_open_files(local, &files, &most, NULL), 0);
	assert_true(files && files <= most);
	assert_int_equal(perch_machine_sandbox(local, &sandbox, NULL), 0);
	assert_true(sandbox.seccomp >= -1 && sandbox.seccomp <= 2);
	perch_machine_set_process(local, getpid());
	assert_int_equal(perch_machine_open_descriptors(local, &after, NULL), 0);
	assert_true(after >= before);
	perch_machine_free(local);
	assert_int_equal(perch_machine_sandbox(NULL, &sandbox, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sandboxes),
		cmocka_unit_test(ignores_capabilities_in_user_namespace),
		cmocka_unit_test_setup_teardown(reads_facts_of_other_process, make_processes,
						remove_processes),
		cmocka_unit_test_setup_teardown(reads_states_of_processes, make_processes,
						remove_processes),
		cmocka_unit_test(reads_capabilities_after_many_groups),
		cmocka_unit_test(reads_limits_without_descriptors),
		cmocka_unit_test(reads_local_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
