/* SPDX-License-Identifier: MIT */
/* Requests that wait: limits, the next start, and directories in which others write. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/push/spool.h"

#define SECOND 1000000000ull
#define NOW    (1000000 * SECOND)

struct fixture {
	char directory[64], path[80];
	struct agent_spool_options options;
	uint64_t dropped[AGENT_NR_DROP_REASONS], dropped_bytes;
};

static void on_dropped(void *context, uint64_t target, enum agent_drop_reason reason,
		       uint64_t bytes)
{
	struct fixture *fixture = context;

	assert_true(target);
	fixture->dropped[reason]++;
	fixture->dropped_bytes += bytes;
}

static int make_fixture(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->directory, "/tmp/perch-spool-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/spool", fixture->directory);
	fixture->options = (struct agent_spool_options){
		.directory = fixture->path,
		.dropped = on_dropped,
		.context = fixture,
	};
	*state = fixture;
	return 0;
}

static int remove_fixture(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->directory);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static struct agent_spool *open_spool(struct fixture *fixture)
{
	struct agent_spool *spool;
	struct perch_error err;

	if (agent_spool_open(&spool, &fixture->options, NOW, &err))
		fail_msg("%s", err.message);
	return spool;
}

static struct agent_spool_entry entry_of(uint64_t target, uint64_t begin, uint64_t size)
{
	struct agent_spool_entry entry = { .target = target, .begin = begin, .size = size };

	memcpy(entry.profile_id, &begin, sizeof(begin));
	return entry;
}

static void add(struct agent_spool *spool, uint64_t target, uint64_t begin, uint64_t size)
{
	struct agent_spool_entry entry = entry_of(target, begin, size);
	char *bytes = malloc(size + 1);

	memset(bytes, (int)begin, size);
	assert_int_equal(agent_spool_add(spool, &entry, bytes, NOW), 0);
	free(bytes);
}

static size_t count_files(const struct fixture *fixture)
{
	DIR *dir = opendir(fixture->path);
	size_t nr = 0;

	assert_non_null(dir);
	for (struct dirent *name; (name = readdir(dir));)
		nr += name->d_name[0] != '.' || (name->d_name[1] && name->d_name[1] != '.');
	closedir(dir);
	return nr;
}

/* Takes the oldest, checks its bytes, and removes it. */
static void take(struct agent_spool *spool, uint64_t target, uint64_t begin)
{
	struct agent_spool_entry entry;
	unsigned char *bytes;

	assert_true(agent_spool_oldest(spool, target, &entry));
	assert_int_equal(entry.begin, begin);
	bytes = agent_spool_load(spool, &entry);
	assert_non_null(bytes);
	for (uint64_t i = 0; i < entry.size; i++)
		assert_int_equal(bytes[i], (unsigned char)begin);
	free(bytes);
	agent_spool_remove(spool, &entry);
}

static void keeps_order(void **state)
{
	struct fixture *fixture = *state;

	for (int in_memory = 0; in_memory < 2; in_memory++) {
		struct agent_spool *spool;
		struct agent_spool_entry entry;
		struct agent_spool_stats stats;

		fixture->options.directory = in_memory ? NULL : fixture->path;
		spool = open_spool(fixture);
		add(spool, 1, NOW + 3, 10);
		add(spool, 1, NOW + 1, 20);
		add(spool, 2, NOW + 2, 30);
		add(spool, 1, NOW + 4, 0);
		agent_spool_stats(spool, &stats);
		assert_int_equal(stats.entries, 4);
		assert_int_equal(stats.oldest, NOW + 1);
		assert_int_equal(stats.bytes, 60 + (in_memory ? 0 : 4 * AGENT_SPOOL_HEAD));
		take(spool, 1, NOW + 1);
		take(spool, 1, NOW + 3);
		take(spool, 1, NOW + 4);
		assert_false(agent_spool_oldest(spool, 1, &entry));
		take(spool, 2, NOW + 2);
		agent_spool_stats(spool, &stats);
		assert_int_equal(stats.entries, 0);
		assert_int_equal(stats.bytes, 0);
		assert_int_equal(stats.oldest, 0);
		agent_spool_close(spool);
	}
	assert_int_equal(count_files(fixture), 0);
}

/* The oldest go first, and each is counted. */
static void limits_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct agent_spool_stats stats;
	struct agent_spool *spool;
	struct agent_spool_entry entry = entry_of(1, NOW, 5000), sent;

	fixture->options.bytes = 4000;
	spool = open_spool(fixture);
	for (uint64_t i = 0; i < 10; i++) {
		add(spool, 1, NOW + i, 1000 - AGENT_SPOOL_HEAD);
		agent_spool_stats(spool, &stats);
		assert_in_range(stats.bytes, 1, 4000);
	}
	assert_int_equal(fixture->dropped[AGENT_DROP_SPOOL], 6);
	assert_int_equal(fixture->dropped_bytes, 6 * (1000 - AGENT_SPOOL_HEAD));
	assert_int_equal(count_files(fixture), 4);
	assert_int_equal(agent_spool_add(spool, &entry, "", NOW), -EFBIG);
	assert_int_equal(fixture->dropped[AGENT_DROP_SIZE], 1);
	/* what waits for its answer is not dropped */
	assert_true(agent_spool_oldest(spool, 1, &sent));
	assert_int_equal(agent_spool_mark(spool, &sent, true), 0);
	add(spool, 1, NOW + 10, 1000 - AGENT_SPOOL_HEAD);
	assert_int_equal(agent_spool_mark(spool, &sent, false), 0);
	take(spool, 1, NOW + 6);
	take(spool, 1, NOW + 8);
	agent_spool_close(spool);
}

static void limits_age(void **state)
{
	struct fixture *fixture = *state;
	struct agent_spool *spool = open_spool(fixture);
	struct agent_spool_entry entry;

	add(spool, 1, NOW - 3599 * SECOND, 10);
	add(spool, 1, NOW, 10);
	add(spool, 1, NOW + 599 * SECOND, 10);
	agent_spool_expire(spool, NOW);
	assert_int_equal(fixture->dropped[AGENT_DROP_AGE], 0);
	agent_spool_expire(spool, NOW + 2 * SECOND);
	assert_int_equal(fixture->dropped[AGENT_DROP_AGE], 1);
	/* the clock was wrong */
	agent_spool_expire(spool, NOW - 2 * SECOND);
	assert_int_equal(fixture->dropped[AGENT_DROP_AGE], 2);
	assert_true(agent_spool_oldest(spool, 1, &entry));
	assert_int_equal(entry.begin, NOW);
	assert_int_equal(count_files(fixture), 1);
	agent_spool_close(spool);
}

/* What was sent without an answer is never sent again. */
static void is_taken_over(void **state)
{
	struct fixture *fixture = *state;
	struct agent_spool *spool = open_spool(fixture), *other;
	struct agent_spool_entry entry;
	struct agent_spool_stats stats;
	struct perch_error err;

	add(spool, 1, NOW, 10);
	add(spool, 1, NOW + 1, 20);
	add(spool, 2, NOW + 2, 0);
	assert_int_equal(agent_spool_open(&other, &fixture->options, NOW, &err), -EBUSY);
	assert_true(agent_spool_oldest(spool, 1, &entry));
	assert_int_equal(agent_spool_mark(spool, &entry, true), 0);
	agent_spool_close(spool);
	spool = open_spool(fixture);
	agent_spool_stats(spool, &stats);
	assert_int_equal(stats.taken_over, 2);
	assert_int_equal(stats.entries, 2);
	assert_int_equal(fixture->dropped[AGENT_DROP_UNANSWERED], 1);
	take(spool, 1, NOW + 1);
	take(spool, 2, NOW + 2);
	assert_int_equal(count_files(fixture), 0);
	agent_spool_close(spool);
}

static void write_file(int dir, const char *name, const void *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void name_of(uint64_t begin, bool sent, char name[AGENT_SPOOL_NAME])
{
	struct agent_spool_entry entry = entry_of(1, begin, 0);

	entry.sent = sent;
	agent_spool_name(&entry, name);
}

/* Links, files with other names, FIFOs and directories stay, unread; damaged files are dropped. */
static void survives_hostile_directory(void **state)
{
	struct fixture *fixture = *state;
	char name[AGENT_SPOOL_NAME], secret[256];
	struct agent_spool_entry entry;
	struct agent_spool_stats stats;
	struct agent_spool *spool;
	int dir;

	assert_int_equal(mkdir(fixture->path, 0700), 0);
	dir = open(fixture->path, O_RDONLY | O_DIRECTORY);
	snprintf(secret, sizeof(secret), "%s/secret", fixture->directory);
	write_file(dir, secret, "secret", 6);
	name_of(NOW + 1, false, name);
	assert_int_equal(symlinkat(secret, dir, name), 0);
	name_of(NOW + 2, true, name);
	assert_int_equal(symlinkat(secret, dir, name), 0);
	name_of(NOW + 3, false, name);
	assert_int_equal(linkat(AT_FDCWD, secret, dir, name, 0), 0);
	name_of(NOW + 4, false, name);
	assert_int_equal(mkfifoat(dir, name, 0600), 0);
	name_of(NOW + 5, true, name);
	assert_int_equal(mkdirat(dir, name, 0700), 0);
	write_file(dir, "other.window", "x", 1);
	assert_int_equal(symlinkat(secret, dir, ".perch.1.0"), 0);
	/* of a writer that was killed */
	write_file(dir, ".perch.2.0", "x", 1);
	name_of(NOW + 6, false, name);
	write_file(dir, name, "perchsp1 and not more", 21);
	name_of(NOW + 7, false, name);
	write_file(dir, name, "", 0);
	name_of(NOW + 8, false, name);
	write_file(dir, name, "", 0);
	snprintf(secret, sizeof(secret), "%s/%s", fixture->path, name);
	assert_int_equal(truncate(secret, 1ll << 40), 0);
	spool = open_spool(fixture);
	agent_spool_stats(spool, &stats);
	assert_int_equal(stats.foreign, 7);
	assert_int_equal(stats.entries, 2);
	assert_int_equal(fixture->dropped[AGENT_DROP_DAMAGED], 1);
	add(spool, 1, NOW + 9, 10);
	for (int i = 0; i < 2; i++) {
		assert_true(agent_spool_oldest(spool, 1, &entry));
		assert_null(agent_spool_load(spool, &entry));
	}
	assert_int_equal(fixture->dropped[AGENT_DROP_DAMAGED], 3);
	/* a file that is replaced while it waits */
	assert_true(agent_spool_oldest(spool, 1, &entry));
	agent_spool_name(&entry, name);
	assert_int_equal(unlinkat(dir, name, 0), 0);
	assert_int_equal(symlinkat("/dev/zero", dir, name), 0);
	assert_null(agent_spool_load(spool, &entry));
	assert_int_equal(fixture->dropped[AGENT_DROP_DAMAGED], 4);
	assert_int_equal(count_files(fixture), 8);
	agent_spool_close(spool);
	close(dir);
}

/* Each changed byte of a file is found. */
static void finds_damage(void **state)
{
	struct fixture *fixture = *state;
	struct agent_spool *spool = open_spool(fixture);
	struct agent_spool_entry entry = entry_of(1, NOW, 20), parsed;
	uint8_t bytes[AGENT_SPOOL_HEAD + 20];
	const char body[] = "twenty bytes of body";

	memcpy(bytes + AGENT_SPOOL_HEAD, body, 20);
	entry.gzip = true;
	agent_spool_make_head(&entry, bytes + AGENT_SPOOL_HEAD, bytes);
	parsed = entry_of(1, NOW, 0);
	assert_ptr_equal(agent_spool_parse(bytes, sizeof(bytes), &parsed),
			 bytes + AGENT_SPOOL_HEAD);
	assert_int_equal(parsed.size, 20);
	assert_true(parsed.gzip);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		/* flags and what is reserved are not in the sum */
		if (i >= 20 && i < AGENT_SPOOL_HEAD)
			continue;
		bytes[i] ^= 0x10;
		assert_null(agent_spool_parse(bytes, sizeof(bytes), &parsed));
		bytes[i] ^= 0x10;
	}
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_null(agent_spool_parse(bytes, size, &parsed));
	agent_spool_close(spool);
}

static void parses_names(void **state)
{
	char name[AGENT_SPOOL_NAME], changed[AGENT_SPOOL_NAME + 1];
	struct agent_spool_entry entry, parsed;

	(void)state;
	entry = entry_of(0xfedcba9876543210, UINT64_MAX, 0);
	for (int sent = 0; sent < 2; sent++) {
		entry.sent = sent;
		agent_spool_name(&entry, name);
		assert_true(agent_spool_parse_name(name, &parsed));
		assert_int_equal(parsed.target, entry.target);
		assert_int_equal(parsed.begin, entry.begin);
		assert_int_equal(parsed.sent, entry.sent);
		assert_memory_equal(parsed.profile_id, entry.profile_id, AGENT_PROFILE_ID);
		for (size_t i = 0; i < strlen(name); i++) {
			strcpy(changed, name);
			changed[i] = 'X';
			assert_false(agent_spool_parse_name(changed, &parsed));
			changed[i] = 0;
			assert_false(agent_spool_parse_name(changed, &parsed));
		}
		snprintf(changed, sizeof(changed), "%s~", name);
		assert_false(agent_spool_parse_name(changed, &parsed));
	}
}

/* A directory of another user is refused, and so is a file. */
static void refuses_directories(void **state)
{
	struct fixture *fixture = *state;
	struct agent_spool *spool;
	struct perch_error err;

	write_file(AT_FDCWD, fixture->path, "", 0);
	assert_int_equal(agent_spool_open(&spool, &fixture->options, NOW, &err), -ENOTDIR);
	assert_null(spool);
	assert_int_equal(unlink(fixture->path), 0);
	if (geteuid()) {
		print_message("the owner of a directory cannot be changed without root\n");
		return;
	}
	assert_int_equal(mkdir(fixture->path, 0700), 0);
	assert_int_equal(chown(fixture->path, 65534, 65534), 0);
	assert_int_equal(agent_spool_open(&spool, &fixture->options, NOW, &err), -EPERM);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, remove_fixture)
	static const struct CMUnitTest tests[] = {
		TEST(keeps_order),
		TEST(limits_bytes),
		TEST(limits_age),
		TEST(is_taken_over),
		TEST(survives_hostile_directory),
		TEST(finds_damage),
		TEST(parses_names),
		TEST(refuses_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
