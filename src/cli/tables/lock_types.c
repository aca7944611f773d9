/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lock.h"

/* The names are those of perf. .other: as -Y also takes it. */
static const struct {
	uint64_t flags;
	const char *name, *other;
} types[] = {
	{ 0, "semaphore", "semaphore" },
	{ LOCK_SPIN, "spinlock", "spinlock" },
	{ LOCK_SPIN | LOCK_READ, "rwlock:R", "rwlock" },
	{ LOCK_SPIN | LOCK_WRITE, "rwlock:W", "rwlock" },
	{ LOCK_READ, "rwsem:R", "rwsem" },
	{ LOCK_WRITE, "rwsem:W", "rwsem" },
	{ LOCK_RT, "rt-mutex", "rt-mutex" },
	{ LOCK_RT | LOCK_READ, "rwlock-rt:R", "rwlock-rt" },
	{ LOCK_RT | LOCK_WRITE, "rwlock-rt:W", "rwlock-rt" },
	{ LOCK_PERCPU | LOCK_READ, "pcpu-sem:R", "percpu-rwsem" },
	{ LOCK_PERCPU | LOCK_WRITE, "pcpu-sem:W", "percpu-rwsem" },
	{ LOCK_MUTEX, "mutex", "mutex" },
	{ LOCK_MUTEX | LOCK_SPIN, "mutex", "mutex" },
	{ LOCK_FUTEX, "futex", "futex" },
	{ LOCK_FUTEX | LOCK_PI, "futex-pi", "futex" },
};

const char *lock_type_name(uint64_t flags)
{
	for (size_t i = 0; i < CLI_NR(types); i++)
		if (types[i].flags == flags)
			return types[i].name;
	return "unknown";
}

/* True if a word of the list, which commas divide, is the text. */
bool lock_is_wanted_type(const struct lock *lock, uint64_t flags)
{
	if (!lock->types)
		return true;
	for (size_t i = 0; i < CLI_NR(types); i++)
		if (types[i].flags == flags && (cli_list_has(lock->types, types[i].name) ||
						cli_list_has(lock->types, types[i].other)))
			return true;
	return false;
}

/* Returns 0, or CLI_EXIT_USAGE for an unknown type. */
int lock_check_types(const struct lock *lock)
{
	char list[300] = "";

	for (const char *at = lock->types; at && *at;) {
		size_t word = strcspn(at, ",");
		bool found = false;

		for (size_t i = 0; i < CLI_NR(types) && !found; i++)
			found = (!strncmp(types[i].name, at, word) && !types[i].name[word]) ||
				(!strncmp(types[i].other, at, word) && !types[i].other[word]);
		if (!found) {
			for (size_t i = 0; i < CLI_NR(types); i++)
				if (!i || strcmp(types[i].name, types[i - 1].name))
					snprintf(list + strlen(list), sizeof(list) - strlen(list),
						 "%s%s", i ? ", " : "", types[i].name);
			return cli_usage_error("lock", "-Y: '%.*s' is no type; there are %s",
					       (int)word, at, list);
		}
		at += word + (at[word] == ',');
	}
	return 0;
}
