/* SPDX-License-Identifier: MIT */
/* perch script with a thread that prints: its output is that of a process with one CPU. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/file.h>
#include "build_record.h"
#include "base/batch_thread.h"
#include "cli/commands.h"

#define MANY	30000 /* samples: more than the thread starts for */
#define FEW	2000
#define TASKS	50
#define DEPTH	9
#define PARTIAL (3 << 20) /* bytes of the output, of which the thread writes the last ones */

#define TYPE                                                                                \
	(PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | \
	 PERCH_SAMPLE_PERIOD)

static const uint64_t ids[] = { 21, 22 };
static const struct perch_file_event events[] = {
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .sample_type = TYPE | PERCH_SAMPLE_CALLCHAIN,
			  .sample_id_all = 1,
			  .comm = 1,
			  .mmap = 1 },
		.name = "cpu-clock",
		.ids = ids,
		.nr_ids = 1,
		.members = 1,
	},
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .config = PERCH_COUNT_SW_PAGE_FAULTS,
			  .sample_type = TYPE | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_ADDR,
			  .sample_id_all = 1 },
		.name = "page-faults",
		.ids = ids + 1,
		.nr_ids = 1,
		.members = 1,
	},
};

static char directory[] = "/tmp/perch-test-script-XXXXXX";
static char many[64], few[64], output[64], expected[64], messages[64];

/* What the process that prints has counted. */
static struct shared {
	int threads;
	bool fail; /* there can be no threads */
} * shared;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context)
{
	shared->threads++;
	return shared->fail ? EAGAIN : __real_pthread_create(thread, attr, run, context);
}

/* ---- the recordings ---- */

static void put(struct perch_writer *writer, struct built *built)
{
	struct iovec piece = { built->bytes, built->size };

	assert_int_equal(perch_writer_append(writer, &piece, 1, NULL), 0);
}

/* Threads change their names. */
static void put_comm(struct perch_writer *writer, uint32_t task, uint64_t time)
{
	struct built built;
	char name[32];

	snprintf(name, sizeof(name), "task%u-%u", task, (unsigned)rand() % 10);
	start_record(&built, PERCH_RECORD_COMM, 0);
	put_u32(&built, BUILT_PID);
	put_u32(&built, BUILT_PID + task);
	put_name(&built, name);
	put_trailer(&built, TYPE, time, ids[0]);
	end_record(&built);
	put(writer, &built);
}

static void put_map(struct perch_writer *writer, const char *name, uint64_t start, uint64_t time)
{
	struct built built;

	start_record(&built, PERCH_RECORD_MMAP, PERCH_MISC_USER);
	put_u32(&built, BUILT_PID);
	put_u32(&built, BUILT_PID);
	put_u64(&built, start);
	put_u64(&built, 0x100000);
	put_u64(&built, 0);
	put_name(&built, name);
	put_trailer(&built, TYPE, time, ids[0]);
	end_record(&built);
	put(writer, &built);
}

static void put_sample(struct perch_writer *writer, size_t event, uint64_t time)
{
	uint64_t ip = 0x400000 + (uint64_t)rand() % 0x1fffff;
	unsigned nr = (unsigned)rand() % DEPTH;
	struct built built;

	start_record(&built, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(&built, ids[event]);
	put_u64(&built, ip);
	put_u32(&built, BUILT_PID);
	put_u32(&built, BUILT_PID + (unsigned)rand() % TASKS);
	put_u64(&built, time);
	if (event)
		put_u64(&built, ip + 8);
	put_u64(&built, 1 + (uint64_t)rand() % 1000);
	put_u64(&built, 2 + nr);
	put_u64(&built, PERCH_CONTEXT_USER);
	put_u64(&built, ip);
	while (nr--)
		put_u64(&built, 0x400000 + (uint64_t)rand() % 1000 * 0x400);
	end_record(&built);
	put(writer, &built);
}

/* Samples of the second event, which are not printed by the thread, are few. */
static void make_recording(const char *path, unsigned samples)
{
	struct perch_writer *writer;

	assert_int_equal(perch_writer_open(&writer, path, events, 2, NULL), 0);
	put_map(writer, "/absent/program", 0x400000, 1);
	put_map(writer, "/absent/library", 0x500000, 2);
	for (unsigned i = 0; i < samples; i++) {
		uint64_t time = 1000 * (i + 10);

		if (i % 100 == 0)
			put_comm(writer, (unsigned)rand() % TASKS, time - 1);
		put_sample(writer, i % 7001 == 7000, time);
	}
	assert_int_equal(perch_writer_close(writer, NULL), 0);
}

static int make_recordings(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -1;
	snprintf(many, sizeof(many), "%s/many", directory);
	snprintf(few, sizeof(few), "%s/few", directory);
	snprintf(output, sizeof(output), "%s/output", directory);
	snprintf(expected, sizeof(expected), "%s/expected", directory);
	snprintf(messages, sizeof(messages), "%s/messages", directory);
	make_recording(many, MANY);
	make_recording(few, FEW);
	return 0;
}

static int remove_recordings(void **state)
{
	const char *const paths[] = { many, few, output, expected, messages };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		unlink(paths[i]);
	return rmdir(directory);
}

/* ---- the command ---- */

static void use_one_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	for (int i = 0, nr = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &cpus) && nr++)
			CPU_CLR(i, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
}

struct command {
	const char *recording, *option, *value;
	bool one_cpu;
	rlim_t max_size; /* of the output; 0: no limit */
	bool ignore;	 /* SIGXFSZ */
};

/* Starts the command in a process. out: its standard output; other: the end of a pipe that it must
 * not have, or -1. */
static pid_t start(const struct command *command, int out, int other)
{
	const char *argv[] = { "script",	"-i",		command->recording,
			       command->option, command->value, NULL };
	int argc = command->value ? 5 : command->option ? 4 : 3;
	pid_t pid;

	shared->threads = 0;
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	close(out);
	close(other);
	dup2(open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, command->ignore ? SIG_IGN : SIG_DFL);
	if (command->one_cpu)
		use_one_cpu();
	if (command->max_size)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ command->max_size, command->max_size });
	_exit(perch_cmd_script(argc, (char **)argv) | fflush(stdout));
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Writes the output to a file. Returns the status of the process. */
static int run(const struct command *command, const char *path)
{
	int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	pid_t pid = start(command, out, -1);

	close(out);
	return wait_for(pid);
}

/* Returns the length that both files have, or fails. */
static size_t check_same(const char *path, const char *other)
{
	FILE *file = fopen(path, "r"), *second = fopen(other, "r");
	size_t length = 0;
	int c;

	assert_true(file && second);
	do {
		c = getc(file);
		if (c != getc(second))
			fail_msg("%s and %s differ at byte %zu", path, other, length);
		length++;
	} while (c != EOF);
	fclose(file);
	fclose(second);
	return length - 1;
}

static int expected_threads(void)
{
	return perch__usable_cpus() > 1;
}

static void check_output(const char *recording, const char *option, const char *value, int threads)
{
	struct command command = { recording, option, value, .one_cpu = true };

	assert_int_equal(run(&command, expected), 0);
	assert_int_equal(shared->threads, 0);
	command.one_cpu = false;
	assert_int_equal(run(&command, output), 0);
	assert_int_equal(shared->threads, threads);
	assert_true(check_same(output, expected) > FEW * 20);
}

static void same_output(void **state)
{
	(void)state;
	check_output(many, NULL, NULL, expected_threads());
	check_output(many, "--deltatime", NULL, expected_threads());
	check_output(many, "--max-stack", "2", expected_threads());
	check_output(many, "--comms", "task3-4,task5-6,task7-8,task9-1,task11-2,task12-3,task13-4",
		     0);
	/* without frames, each sample is printed by itself */
	check_output(many, "-G", NULL, 0);
	check_output(many, "-F", "comm,tid,ip,sym,dso", expected_threads());
}

static void few_samples(void **state)
{
	(void)state;
	check_output(few, NULL, NULL, 0);
}

static void no_thread(void **state)
{
	(void)state;
	shared->fail = true;
	check_output(many, NULL, NULL, expected_threads());
	shared->fail = false;
}

/* ---- output that cannot be written ---- */

static void closed_pipe(void **state)
{
	const struct command command = { many, NULL, NULL };
	static char text[1 << 16];
	size_t total = 0;
	int ends[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = start(&command, ends[1], ends[0]);
	close(ends[1]);
	while (total < PARTIAL) {
		ssize_t got = read(ends[0], text, sizeof(text));

		assert_true(got > 0);
		total += (size_t)got;
	}
	assert_int_equal(shared->threads, expected_threads());
	close(ends[0]);
	status = wait_for(pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
}

static void size_limit(void **state)
{
	struct command command = { many, .max_size = PARTIAL };
	char text[1000] = "";
	FILE *file;
	int status;

	(void)state;
	status = run(&command, output);
	assert_int_equal(shared->threads, expected_threads());
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
	command.ignore = true;
	status = run(&command, output);
	assert_int_equal(shared->threads, expected_threads());
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 0);
	file = fopen(messages, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_non_null(strstr(text, "standard output cannot be written: File too large"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_output), cmocka_unit_test(few_samples),
		cmocka_unit_test(no_thread),   cmocka_unit_test(closed_pipe),
		cmocka_unit_test(size_limit),
	};

	return cmocka_run_group_tests(tests, make_recordings, remove_recordings);
}
