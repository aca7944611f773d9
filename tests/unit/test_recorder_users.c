/* SPDX-License-Identifier: MIT */
/* The recorder writes the users of processes that have code of JIT compilers. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/kernel/process_owner.h"
#include "recorder/internal.h"

/* A process that changes its users at each byte that it gets. */
struct service {
	pid_t pid;
	int to, from;
};

static void wait_for(const struct service *service)
{
	char byte;

	assert_int_equal(read(service->from, &byte, 1), 1);
}

static void serve(int in, int out)
{
	/* root keeps the right to change them by its saved user */
	static const uid_t users[][2] = { { 1234, 1235 }, { 1236, 1236 } };
	char byte = 0;

	for (size_t i = 0; write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1; i++)
		if (i < 2 && (seteuid(0) || setresuid(users[i][0], users[i][1], 0)))
			_exit(1);
	_exit(0);
}

static struct service start_service(void)
{
	struct service service;
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	service.pid = fork();
	assert_true(service.pid >= 0);
	if (!service.pid) {
		close(to[1]);
		close(from[0]);
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	service.to = to[1];
	service.from = from[0];
	wait_for(&service);
	return service;
}

static void change_users(const struct service *service)
{
	assert_int_equal(write(service->to, "", 1), 1);
	wait_for(service);
}

static void end_service(const struct service *service)
{
	close(service->to);
	close(service->from);
	kill(service->pid, SIGKILL);
	waitpid(service->pid, NULL, 0);
}

static void map(struct recorder_users *users, pid_t pid, const char *name, uint8_t build_id_size)
{
	const struct perch_mmap_record mmap = { .pid = (uint32_t)pid,
						.tid = (uint32_t)pid,
						.build_id_size = build_id_size,
						.filename = { name, strlen(name) } };

	perch__recorder_users_mapped(users, &mmap);
}

static void expect(struct recorder_users *users, pid_t pid, size_t nr, const uid_t *expected)
{
	struct iovec records = perch__recorder_users_take(users);
	const struct perch__user_record *record = records.iov_base;

	assert_int_equal(records.iov_len, nr * sizeof(*record));
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(record[i].header.type, PERCH_RECORD_HEADER_EVENT_TYPE);
		assert_int_equal(record[i].header.size, sizeof(*record));
		assert_int_equal(record[i].header.size % 8, 0);
		assert_int_equal(record[i].pid, pid);
		assert_int_equal(record[i].user, expected[i]);
		assert_string_equal(record[i].name, "perch: user of a process");
	}
	/* each is written once */
	assert_int_equal(perch__recorder_users_take(users).iov_len, 0);
}

static void writes_each_user_of_a_service(void **state)
{
	struct recorder_users users = { 0 };
	struct service service;
	pid_t child;

	(void)state;
	if (geteuid()) {
		print_message("only root makes a process of another user\n");
		skip();
	}
	service = start_service();
	/* it is root, whose files everybody reads */
	map(&users, service.pid, "//anon", 0);
	expect(&users, service.pid, 0, NULL);
	change_users(&service);
	map(&users, service.pid, "//anon", 0); /* in the same round */
	expect(&users, service.pid, 0, NULL);
	users.round++;
	map(&users, service.pid, "//anon", 0);
	expect(&users, service.pid, 2, (const uid_t[]){ 1234, 1235 });
	change_users(&service);
	perch__recorder_users_update(&users);
	expect(&users, service.pid, 1, (const uid_t[]){ 1236 });
	perch__recorder_users_update(&users);
	expect(&users, service.pid, 0, NULL);
	perch__recorder_users_repeat(&users);
	expect(&users, service.pid, 1, (const uid_t[]){ 1236 });
	/* what it was stays when it has ended */
	child = service.pid;
	end_service(&service);
	perch__recorder_users_update(&users);
	expect(&users, child, 0, NULL);
	perch__recorder_users_repeat(&users);
	expect(&users, child, 1, (const uid_t[]){ 1236 });
	perch__recorder_users_clear(&users);
}

/* The recorder sees the records of a process after it has ended. */
static void a_process_that_has_ended_has_the_users_of_its_ancestors(void **state)
{
	enum { ENDED = INT32_MAX - 10 }; /* above any pid */
	struct recorder_users users = { 0 };
	struct service service;

	(void)state;
	if (geteuid())
		skip();
	service = start_service();
	change_users(&service);
	perch__recorder_users_forked(&users, ENDED, (uint32_t)service.pid);
	perch__recorder_users_forked(&users, ENDED + 1, ENDED);
	assert_int_equal(perch__recorder_users_take(&users).iov_len, 0);
	map(&users, ENDED + 1, "//anon", 0);
	expect(&users, ENDED + 1, 2, (const uid_t[]){ 1234, 1235 });
	/* also if all have ended */
	map(&users, ENDED, "//anon", 0);
	expect(&users, ENDED, 2, (const uid_t[]){ 1234, 1235 });
	/* what was read stays */
	change_users(&service);
	perch__recorder_users_update(&users);
	expect(&users, ENDED + 1, 0, NULL);
	/* nobody knows this one, and a process cannot be its own ancestor for long */
	perch__recorder_users_forked(&users, ENDED + 2, ENDED + 3);
	perch__recorder_users_forked(&users, ENDED + 3, ENDED + 2);
	map(&users, ENDED + 2, "//anon", 0);
	expect(&users, ENDED + 2, 0, NULL);
	/* the record of its start is in another ring */
	map(&users, ENDED + 5, "//anon", 0);
	expect(&users, ENDED + 5, 0, NULL);
	users.round++;
	perch__recorder_users_forked(&users, ENDED + 5, (uint32_t)service.pid);
	expect(&users, ENDED + 5, 1, (const uid_t[]){ 1236 });
	/* its id is used again */
	users.round += 2;
	perch__recorder_users_forked(&users, ENDED + 1, ENDED + 9);
	perch__recorder_users_repeat(&users);
	/* of ENDED and of ENDED + 5 */
	assert_int_equal(perch__recorder_users_take(&users).iov_len,
			 3 * sizeof(struct perch__user_record));
	end_service(&service);
	perch__recorder_users_clear(&users);
}

static size_t with_code(const struct recorder_users *users)
{
	size_t nr = 0;

	for (size_t i = 0; i < users->nr; i++)
		nr += users->user[i].has_code;
	return nr;
}

static void only_processes_with_code_of_their_own_count(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	struct recorder_users users = { 0 };

	(void)state;
	map(&users, getpid(), "[vdso]", 0);
	map(&users, getpid(), "/bin/true", 20);
	perch__recorder_users_forked(&users, self, 12);
	assert_int_equal(with_code(&users), 0);
	map(&users, 12, "//anon", 0);
	perch__recorder_users_forked(&users, 12, 12); /* a thread */
	assert_int_equal(with_code(&users), 1);
	perch__recorder_users_forked(&users, self, 12);
	assert_int_equal(with_code(&users), 2);
	perch__recorder_users_clear(&users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_each_user_of_a_service),
		cmocka_unit_test(a_process_that_has_ended_has_the_users_of_its_ancestors),
		cmocka_unit_test(only_processes_with_code_of_their_own_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
