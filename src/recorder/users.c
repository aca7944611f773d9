/* SPDX-License-Identifier: MIT */
/*
 * The users of processes that have code of JIT compilers: their map files and jitdumps belong to
 * these users. They are read in /proc when a process maps memory for code, when it forks, and at
 * the end of a file: a service changes its user after it has started. A process that has ended by
 * then has the users of its nearest ancestor that runs, or that was read when it forked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/process_owner.h"
#include "internal.h"

#define MAX_PROCESSES (1u << 18) /* the recorded programs make them */
#define MAX_ANCESTORS 64

static bool same_pid(const void *items, uint32_t index, const void *pid)
{
	return ((const struct recorder_user *)items)[index].pid == *(const uint32_t *)pid;
}

static struct recorder_user *find_user(const struct recorder_users *users, uint32_t pid)
{
	uint32_t index = users->nr ? perch__hash_find(&users->table,
						      perch__hash_integer(users->table.seed, pid),
						      same_pid, users->user, &pid)
				   : PERCH__HASH_NONE;

	return index == PERCH__HASH_NONE ? NULL : &users->user[index];
}

/* A process without memory for it, or above the limit, has no users in the file. */
static struct recorder_user *add_user(struct recorder_users *users, uint32_t pid)
{
	struct recorder_user *added;

	if (!users->nr)
		users->table.seed = perch__hash_seed(users);
	if (perch__hash_reserve(&users->table, users->nr + 1))
		return NULL;
	added = PERCH__ARRAY_APPEND_MAX(users->user, users->nr, users->capacity, MAX_PROCESSES);
	if (!added)
		return NULL;
	*added = (struct recorder_user){ .pid = pid, .round = users->round - 1 };
	perch__hash_add(&users->table, perch__hash_integer(users->table.seed, pid), users->nr - 1);
	return added;
}

/* Files of root need no record. */
static void put_user(struct recorder_users *users, uint32_t pid, uid_t user)
{
	struct perch__user_record *record;

	record = user ? PERCH__ARRAY_APPEND(users->record, users->nr_records,
					    users->records_capacity)
		      : NULL;
	if (record)
		*record = (struct perch__user_record){
			.header = { .type = PERCH_RECORD_HEADER_EVENT_TYPE,
				    .size = sizeof(*record) },
			.pid = pid,
			.user = user,
			.name = PERCH__USER_RECORD_NAME,
		};
}

static void put_both(struct recorder_users *users, const struct recorder_user *user)
{
	put_user(users, user->pid, user->user[0]);
	if (user->user[1] != user->user[0])
		put_user(users, user->pid, user->user[1]);
}

/* Reads the users of a process that has ended: those of its ancestors. Returns 0 or -ESRCH. */
static int read_ancestor(const struct recorder_users *users, const struct recorder_user *user,
			 uid_t found[2])
{
	for (int i = 0; i < MAX_ANCESTORS && user && user->ppid; i++) {
		const struct recorder_user *parent = find_user(users, user->ppid);

		if (!perch__process_users(user->ppid, found))
			return 0;
		if (parent && parent->was_read) {
			memcpy(found, parent->user, sizeof(parent->user));
			return 0;
		}
		user = parent;
	}
	return -ESRCH;
}

/* Reads the users of a process, once in a round. */
static void update(struct recorder_users *users, struct recorder_user *user)
{
	uid_t now[2];

	if (user->round == users->round)
		return;
	user->round = users->round;
	if (perch__process_users(user->pid, now) &&
	    (user->was_read || read_ancestor(users, user, now)))
		return;
	if (user->was_read && !memcmp(now, user->user, sizeof(now)))
		return;
	user->was_read = true;
	memcpy(user->user, now, sizeof(now));
	if (user->has_code)
		put_both(users, user);
}

static struct recorder_user *find_or_add(struct recorder_users *users, uint32_t pid)
{
	struct recorder_user *user = find_user(users, pid);

	return user ? user : add_user(users, pid);
}

/* Their memory has no build id, and a jitdump has none. The kernel maps code of its own. */
static bool may_be_of_compiler(const struct perch_mmap_record *mmap)
{
	const char *name = mmap->filename.text;

	return !mmap->build_id_size && strcmp(name, "[vdso]") && strcmp(name, "[vsyscall]") &&
	       strcmp(name, "[uprobes]");
}

/* The users of the process belong in the file, now and when they change. */
static void set_code(struct recorder_users *users, struct recorder_user *user)
{
	if (!user->has_code && user->was_read)
		put_both(users, user);
	user->has_code = true;
	update(users, user);
}

void perch__recorder_users_mapped(struct recorder_users *users,
				  const struct perch_mmap_record *mmap)
{
	struct recorder_user *user = may_be_of_compiler(mmap) ? find_or_add(users, mmap->pid)
							      : NULL;

	if (user)
		set_code(users, user);
}

/* A parent is read once, for children whose records come after the end of both. Its entry may move
 * when the one of the child is added. */
static bool take_parent(struct recorder_users *users, uint32_t ppid)
{
	struct recorder_user *parent = find_or_add(users, ppid);

	if (parent && !parent->was_read)
		update(users, parent);
	return parent && parent->has_code;
}

void perch__recorder_users_forked(struct recorder_users *users, uint32_t pid, uint32_t ppid)
{
	bool has_code = pid != ppid && take_parent(users, ppid);
	struct recorder_user *user = pid == ppid ? NULL : find_or_add(users, pid);

	if (!user)
		return;
	/* another process may have had the id; but rings of other CPUs had later records first */
	if (!user->has_code || user->round + 1 < users->round)
		*user = (struct recorder_user){ .pid = pid, .round = users->round - 1 };
	user->ppid = ppid;
	if (!user->was_read)
		user->round = users->round - 1;
	if (has_code || user->has_code)
		set_code(users, user);
}

void perch__recorder_users_update(struct recorder_users *users)
{
	users->round++;
	for (size_t i = 0; i < users->nr; i++)
		if (users->user[i].has_code)
			update(users, &users->user[i]);
}

void perch__recorder_users_repeat(struct recorder_users *users)
{
	users->nr_records = 0;
	for (size_t i = 0; i < users->nr; i++)
		if (users->user[i].has_code)
			put_both(users, &users->user[i]);
}

struct iovec perch__recorder_users_take(struct recorder_users *users)
{
	struct iovec records = { users->record, users->nr_records * sizeof(*users->record) };

	users->nr_records = 0;
	return records;
}

int perch__recorder_append_users(struct recorder_output *output, struct recorder_users *users,
				 struct perch_error *err)
{
	struct iovec records = perch__recorder_users_take(users);

	return records.iov_len ? perch__recorder_append(output, &records, 1, err) : 0;
}

void perch__recorder_users_clear(struct recorder_users *users)
{
	perch__hash_clear(&users->table);
	free(users->user);
	free(users->record);
	*users = (struct recorder_users){ 0 };
}
