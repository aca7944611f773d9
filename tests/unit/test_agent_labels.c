/* SPDX-License-Identifier: MIT */
/* Labels of processes: of cgroup paths, by rules of the user, and of the environment. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/labels/labels.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "/kubepods/pod1b2c3d4e-5f60-4718-8293-a4b5c6d7e8f9/" ID

static struct agent_label_rules *make_rules(const char *const *text)
{
	struct agent_label_rules *rules = NULL;
	struct perch_error err;

	for (; *text; text++)
		if (agent_label_rules_add(&rules, *text, &err))
			fail_msg("%s: %s", *text, err.message);
	return rules;
}

static void assert_label(const struct agent_labels *labels, const char *key, const char *value)
{
	const char *found = agent_label(labels, key);

	if (value)
		assert_string_equal(found ? found : "(none)", value);
	else
		assert_null(found);
}

static void labels_paths(void **state)
{
	struct agent_labels labels;

	(void)state;
	agent_labels_find(NULL, POD, &labels);
	assert_int_equal(labels.nr, 2);
	assert_label(&labels, "container.id", ID);
	assert_label(&labels, "k8s.pod.uid", "1b2c3d4e-5f60-4718-8293-a4b5c6d7e8f9");
	agent_labels_find(NULL, "/system.slice/nginx.service", &labels);
	assert_int_equal(labels.nr, 2);
	assert_label(&labels, "systemd.unit", "nginx.service");
	assert_label(&labels, "service.name", "nginx");
	agent_labels_find(NULL, "/", &labels);
	assert_int_equal(labels.nr, 0);
}

static void applies_rules(void **state)
{
	static const char *const text[] = {
		"cluster=prod",
		"^/system\\.slice/([a-z]+)-([0-9]+)?\\.service$ => team=\\1",
		"^/system\\.slice/([a-z]+)-([0-9]+)?\\.service$ => number=n\\2",
		"\\.service$ => systemd.unit=",
		"nginx => service.name=web \\0\\\\1",
		"/(a)(b)?(c)$ => groups=<\\1\\2\\3>",
		NULL,
	};
	struct agent_label_rules *rules = make_rules(text);
	struct agent_labels labels, other;

	(void)state;
	agent_labels_find(rules, "/system.slice/shop-12.service", &labels);
	assert_label(&labels, "cluster", "prod");
	assert_label(&labels, "team", "shop");
	assert_label(&labels, "number", "n12");
	assert_label(&labels, "systemd.unit", NULL);
	assert_label(&labels, "service.name", "shop-12");
	assert_int_equal(labels.nr, 4);
	agent_labels_find(rules, "/system.slice/nginx.service", &labels);
	assert_label(&labels, "service.name", "web nginx\\1");
	assert_label(&labels, "team", NULL);
	agent_labels_find(rules, "/x/ac", &labels);
	assert_label(&labels, "groups", "<ac>");
	/* equal labels are equal bytes, whatever was removed before */
	agent_labels_find(rules, "/system.slice/nginx.service", &labels);
	agent_labels_find(NULL, "/", &other);
	agent_labels_set(&other, "service.name", "old");
	agent_labels_set(&other, "cluster", "prod");
	agent_labels_set(&other, "service.name", "web nginx\\1");
	assert_int_equal(labels.nr, other.nr);
	assert_int_equal(labels.used, other.used);
	assert_memory_equal(labels.text, other.text, sizeof(labels.text));
	agent_label_rules_free(rules);
}

static void refuses_rules(void **state)
{
	static const char *const wrong[] = {
		"",
		"a",
		"=b",
		"1a=b",
		"a b=c",
		"a\n=b",
		"( => a=b",
		"(a) => a=\\2",
		"a=>a=b",
		"[a => a=b",
		"a{1000} => a=b",
		"x => y",
		"a{9}{9} => a=b",
		"(a{2}){64} => a=b",
		".a=b",
	};
	struct agent_label_rules *rules = NULL;
	struct perch_error err;
	char text[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		print_message("case %zu\n", i);
		err.message[0] = 0;
		assert_int_equal(agent_label_rules_add(&rules, wrong[i], &err), -EINVAL);
		assert_true(err.message[0]);
	}
	memset(text, 'a', sizeof(text));
	memcpy(text, "k=", 2);
	text[2 + AGENT_LABEL_MAX + 1] = 0;
	assert_int_equal(agent_label_rules_add(&rules, text, &err), -EINVAL);
	text[2 + AGENT_LABEL_MAX] = 0;
	assert_int_equal(agent_label_rules_add(&rules, text, &err), 0);
	for (int i = 1; i < AGENT_RULES_MAX; i++)
		assert_int_equal(agent_label_rules_add(&rules, "a=b", &err), 0);
	assert_int_equal(agent_label_rules_add(&rules, "a=b", &err), -EINVAL);
	agent_label_rules_free(rules);
}

/* What does not fit is left out, and the labels say so. */
static void limits_labels(void **state)
{
	struct agent_labels labels = { .nr = 0 };
	char key[32], value[AGENT_LABEL_MAX + 2];

	(void)state;
	memset(value, 'v', sizeof(value));
	value[AGENT_LABEL_MAX + 1] = 0;
	agent_labels_set(&labels, "long", value);
	assert_true(labels.incomplete);
	assert_int_equal(labels.nr, 0);
	value[AGENT_LABEL_MAX] = 0;
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		agent_labels_set(&labels, key, value);
	}
	assert_in_range(labels.nr, 1, AGENT_LABELS_MAX);
	assert_in_range(labels.used, 1, AGENT_LABELS_BYTES);
	for (int i = 0; i < 100; i += 2) {
		snprintf(key, sizeof(key), "key%d", i);
		agent_labels_set(&labels, key, "");
	}
	assert_label(&labels, "key0", NULL);
	assert_label(&labels, "key1", value);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		agent_labels_set(&labels, key, "a\033b\xff");
	}
	assert_int_equal(labels.nr, AGENT_LABELS_MAX);
	assert_label(&labels, "k0", "a?b?");
}

static void chooses_cgroup_line(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{ "0::/system.slice/a.service\n", "/system.slice/a.service" },
		{ "12:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/system.slice/a.service\n0::/\n",
		  "/docker/" ID },
		{ "12:pids:/user.slice\n1:name=systemd:/system.slice/a.service\n0::/x\n",
		  "/system.slice/a.service" },
		{ "12:pids:/user.slice\n0::/x", "/x" },
		{ "2:a:/b:c/d\n", "/b:c/d" },
		{ "", NULL },
		{ "a\nb:c\n:\n::\n0::x\n", NULL },
		{ "1:\n0::/\n", "/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[512], path[PATH_MAX] = "";

		strcpy(text, cases[i].text);
		assert_int_equal(agent_cgroup_path(text, path), cases[i].path != NULL);
		assert_string_equal(path, cases[i].path ? cases[i].path : "");
	}
}

static void finds_variable(void **state)
{
	static const char bytes[] = "A=1\0OTEL_SERVICE_NAME_X=2\0OTEL_SERVICE_NAME=shop\0B=3";
	static const char wrong[] = "E=\0C=a\033b\0U=\xff\0LAST=cut";
	char value[AGENT_LABEL_MAX + 1];

	(void)state;
	assert_true(agent_environment_value(bytes, sizeof(bytes), "OTEL_SERVICE_NAME", value));
	assert_string_equal(value, "shop");
	assert_false(agent_environment_value(bytes, sizeof(bytes), "OTEL_SERVICE", value));
	assert_true(agent_environment_value(bytes, sizeof(bytes), "B", value));
	assert_false(agent_environment_value(wrong, sizeof(wrong), "E", value));
	assert_false(agent_environment_value(wrong, sizeof(wrong), "C", value));
	assert_false(agent_environment_value(wrong, sizeof(wrong), "U", value));
	assert_true(agent_environment_value(wrong, sizeof(wrong), "LAST", value));
	assert_false(agent_environment_value(wrong, sizeof(wrong) - 1, "LAST", value));
	assert_false(agent_environment_value("", 0, "A", value));
}

/* Writes a list of processes, as cgroup.procs of the cgroup /a, and finds their service. */
static bool find_service(const char *directory, char *value, const char *list)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/a", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/a/cgroup.procs", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(list, file);
	fclose(file);
	return agent_cgroup_service(directory, "/a", value);
}

/* A read that never ends, as that of a pipe here, has a second; the next one is as before. */
static void check_reader(const char *directory, pid_t pid)
{
	struct agent_service_reader reader = { .mount = directory };
	char value[AGENT_LABEL_MAX + 1], list[64], path[128];

	snprintf(list, sizeof(list), "%d\n", (int)pid);
	assert_true(find_service(directory, value, list));
	snprintf(path, sizeof(path), "%s/hangs", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/hangs/cgroup.procs", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(agent_service_reader_find(&reader, "/none", value));
		assert_false(agent_service_reader_find(&reader, "", value));
		assert_true(agent_service_reader_find(&reader, "/a", value));
		assert_string_equal(value, "shop");
		assert_int_equal(reader.hung, i);
		assert_false(agent_service_reader_find(&reader, "/hangs", value));
	}
	assert_int_equal(reader.hung, 3);
	assert_false(agent_service_reader_find(&reader, "/a", value));
	agent_service_reader_end(&reader);
	/* nothing is left to end */
	agent_service_reader_end(&reader);
}

/* The service of a cgroup is that of its processes, if they agree. */
static void check_cgroup(pid_t pid, pid_t other)
{
	char directory[] = "/tmp/perch-labels-XXXXXX", value[AGENT_LABEL_MAX + 1], list[64];

	assert_non_null(mkdtemp(directory));
	snprintf(list, sizeof(list), "1\n%d\n%d\n", (int)pid, (int)pid);
	assert_true(find_service(directory, value, list));
	assert_string_equal(value, "shop");
	snprintf(list, sizeof(list), "%d\n%d\n", (int)pid, (int)other);
	assert_false(find_service(directory, value, list));
	assert_false(find_service(directory, value, ""));
	assert_false(find_service(directory, value, "x\n"));
	assert_false(find_service(directory, value, "99999999999999999999\n"));
	assert_false(agent_cgroup_service(directory, "/", value));
	assert_false(agent_cgroup_service(directory, "/../a", value));
	assert_false(agent_cgroup_service(directory, "/b", value));
	check_reader(directory, pid);
	snprintf(list, sizeof(list), "rm -r %s", directory);
	assert_int_equal(system(list), 0);
}

/* Starts a child with the variable, which waits until the pipe of its input is closed. */
static pid_t start_service(const char *variable, int *hold)
{
	int ready[2], ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[0], 0);
		dup2(ready[1], 1);
		execle("/bin/sh", "sh", "-c", "echo; read line", (char *)NULL,
		       (const char *const[]){ variable, NULL });
		_exit(1);
	}
	close(ready[1]);
	close(ends[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*hold = ends[1];
	return pid;
}

static void labels_process(void **state)
{
	struct agent_process_cgroups *cgroups = agent_process_cgroups_new();
	char path[PATH_MAX], own[PATH_MAX];
	int hold, hold_other, status;
	pid_t pid = start_service("OTEL_SERVICE_NAME=shop", &hold);
	pid_t second = start_service("OTEL_SERVICE_NAME=other", &hold_other);

	(void)state;
	check_cgroup(pid, second);
	assert_true(agent_process_cgroup(getpid(), own));
	assert_non_null(cgroups);
	assert_string_equal(agent_process_cgroups_find(cgroups, pid, 1), own);
	close(hold);
	close(hold_other);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(waitpid(second, &status, 0), second);
	/* it is gone, and is known for ten seconds */
	assert_false(agent_process_cgroup(pid, path));
	assert_string_equal(agent_process_cgroups_find(cgroups, pid, 2), own);
	assert_null(agent_process_cgroups_find(cgroups, pid, 20000000000));
	assert_null(agent_process_cgroups_find(cgroups, 0, 1));
	/* a child that ended before has the cgroup of its parent, and so has its child */
	agent_process_cgroups_forked(cgroups, pid, getpid());
	agent_process_cgroups_forked(cgroups, second, pid);
	assert_string_equal(agent_process_cgroups_find(cgroups, second, 3), own);
	agent_process_cgroups_free(cgroups);
}

/* A process that has ended and was not waited for is in no cgroup, and has that of its parent. */
static void labels_zombie(void **state)
{
	struct agent_process_cgroups *cgroups = agent_process_cgroups_new();
	char path[PATH_MAX], own[PATH_MAX];
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(agent_process_cgroup(getpid(), own));
	assert_false(agent_process_cgroup(pid, path));
	assert_null(agent_process_cgroups_find(cgroups, pid, 1));
	agent_process_cgroups_forked(cgroups, pid, getpid());
	assert_string_equal(agent_process_cgroups_find(cgroups, pid, 2), own);
	/* what was found before it ran another program, where nothing newer can be read */
	agent_process_cgroups_executed(cgroups, pid);
	assert_string_equal(agent_process_cgroups_find(cgroups, pid, 3), own);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	agent_process_cgroups_free(cgroups);
}

/* Two processes whose ids are far apart are both known, and a third one takes the place of that
 * which was not asked for longest. No process has such ids. */
static void keeps_distant_processes(void **state)
{
	struct agent_process_cgroups *cgroups = agent_process_cgroups_new();
	char own[PATH_MAX];
	pid_t pid[3];

	(void)state;
	assert_true(agent_process_cgroup(getpid(), own));
	for (int i = 0; i < 3; i++) /* not that of the parent */
		pid[i] = (1 << 30) + (getpid() + 1) % 4096 + i * 4096;
	for (int i = 0; i < 2; i++)
		agent_process_cgroups_forked(cgroups, pid[i], getpid());
	for (int i = 0; i < 4; i++)
		assert_string_equal(agent_process_cgroups_find(cgroups, pid[i % 2], 1), own);
	assert_string_equal(agent_process_cgroups_find(cgroups, pid[0], 1), own);
	agent_process_cgroups_forked(cgroups, pid[2], getpid());
	for (int i = 0; i < 3; i += 2)
		assert_string_equal(agent_process_cgroups_find(cgroups, pid[i], 1), own);
	assert_null(agent_process_cgroups_find(cgroups, pid[1], 1));
	agent_process_cgroups_free(cgroups);
}

/* Hierarchies of version 1 beside that of version 2, or none. */
static void finds_version_1(void **state)
{
	static const struct {
		const char *text;
		bool found;
	} cases[] = {
		{ "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n", false },
		{ "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
		  "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
		  "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
		  true },
		{ "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n", true },
		{ "", false },
	};
	char path[] = "/tmp/perch-mounts-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0),
				 strlen(cases[i].text));
		assert_int_equal(agent_has_cgroups_v1(path), cases[i].found);
	}
	close(fd);
	unlink(path);
	assert_false(agent_has_cgroups_v1(path));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_paths),	       cmocka_unit_test(applies_rules),
		cmocka_unit_test(refuses_rules),       cmocka_unit_test(limits_labels),
		cmocka_unit_test(chooses_cgroup_line), cmocka_unit_test(finds_variable),
		cmocka_unit_test(labels_process),      cmocka_unit_test(finds_version_1),
		cmocka_unit_test(labels_zombie),       cmocka_unit_test(keeps_distant_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
