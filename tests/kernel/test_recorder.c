/* SPDX-License-Identifier: MIT */
/* Recorders on the running kernel: files, functions, pipes, copies of rings, and failures. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/build_id_cache.h>
#include <perch/recorder.h>
#include <perch/symbol.h>

#include "unprivileged.h"
#include "work.h"

static char directory[64], path[128], own_path[4096];
static struct perch_error err;

static int make_directory(void **state)
{
	ssize_t length = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/perch-recorder-XXXXXX");
	snprintf(path, sizeof(path), "%s/data", mkdtemp(directory));
	return length < 0;
}

static unsigned remove_files(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char name[512];
	unsigned nr = 0;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name);
			unlink(name);
			nr++;
		}
	closedir(dir);
	return nr;
}

static int remove_directory(void **state)
{
	(void)state;
	remove_files();
	return rmdir(directory);
}

/* What a file has. */
struct content {
	uint64_t samples, comms, rounds, bytes;
	bool self_mapped, worker, build_id, damaged;
	bool machine; /* the feature HOSTNAME */
};

static struct content read_file(const char *name)
{
	struct perch_reader_damage damage;
	const struct perch_build_id *ids;
	struct content content = { 0 };
	struct perch_reader *reader;
	struct perch_record record;

	if (perch_reader_open(&reader, name, PERCH_ORDER_TIME, &err) < 0) {
		print_message("%s: %s\n", name, err.message);
		fail();
	}
	while (perch_reader_next(reader, &record, NULL) > 0) {
		content.samples += record.type == PERCH_RECORD_SAMPLE;
		content.rounds += record.type == PERCH_RECORD_FINISHED_ROUND;
		content.bytes += record.size;
		if (record.type == PERCH_RECORD_MMAP2)
			content.self_mapped |= record.mmap.pid == (uint32_t)getpid() &&
					       !strcmp(record.mmap.filename.text, own_path);
		if (record.type == PERCH_RECORD_COMM)
			content.worker |= !strcmp(record.comm.comm.text, "worker");
	}
	for (size_t i = perch_reader_build_ids(reader, &ids); i-- > 0;)
		content.build_id |= !strcmp(ids[i].path, own_path);
	content.machine = perch_reader_text(reader, PERCH_FEATURE_HOSTNAME);
	perch_reader_get_damage(reader, &damage);
	content.damaged = damage.missing_bytes || damage.corrupt_bytes || damage.undecoded_records;
	perch_reader_close(reader);
	return content;
}

static const struct perch_recorder_options own = {
	.sampler.event.frequency = 2000,
	.no_kernel = true,
	.any_cost = true,
};

static struct perch_recorder *open_recorder(const struct perch_recorder_options *options)
{
	struct perch_recorder *recorder;

	if (perch_recorder_open(&recorder, "cpu-clock:u", NULL, options, &err) < 0) {
		print_message("perch_recorder_open: %s\n", err.message);
		fail();
	}
	return recorder;
}

static void start(struct perch_recorder *recorder)
{
	if (perch_recorder_start(recorder, &err) < 0) {
		print_message("perch_recorder_start: %s\n", err.message);
		fail();
	}
}

/* Works, and writes it down. */
static void work(struct perch_recorder *recorder)
{
	for (int i = 0; i < 4; i++) {
		ssize_t wrote = 0;

		/* an emulated machine may run its timer late */
		for (int tries = 0; !wrote && tries < 40; tries++) {
			burn(0.05);
			wrote = perch_recorder_write(recorder, &err);
		}
		assert_true(wrote > 0);
	}
}

static void end(struct perch_recorder *recorder, struct perch_recorder_stats *stats)
{
	assert_int_equal(perch_recorder_stop(recorder, &err), 0);
	assert_int_equal(perch_recorder_end_file(recorder, &err), 0);
	perch_recorder_get_stats(recorder, stats);
	assert_int_equal(stats->unwritten_bytes, 0);
	assert_int_equal(stats->files, 1);
	assert_false(stats->open);
}

static void assert_complete(const struct content *content, uint64_t samples)
{
	print_message("%llu samples\n", (unsigned long long)samples);
	assert_true(samples >= 5);
	assert_int_equal(content->samples, samples);
	assert_false(content->damaged);
	assert_true(content->self_mapped);
	assert_true(content->machine);
	assert_true(content->build_id);
}

/* What ran before is in the file as well as what happens. */
static void writes_a_complete_file(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct content content;
	char name[16];

	(void)state;
	options.path = path;
	recorder = open_recorder(&options);
	assert_int_equal(access(path, F_OK), -1); /* not before the start */
	start(recorder);
	assert_int_equal(perch_recorder_start(recorder, &err), -EINVAL);
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "worker");
	work(recorder);
	prctl(PR_SET_NAME, name);
	end(recorder, &stats);
	assert_string_equal(stats.path, path);
	assert_true(stats.first_time && stats.first_time < stats.last_time);
	for (int part = 0; part < PERCH_RECORDER_NR_PARTS; part++)
		assert_null(perch_recorder_lacks(recorder, part));
	assert_int_equal(perch_recorder_end_file(recorder, &err), -EINVAL);
	assert_int_equal(perch_recorder_next_file(recorder, &err), -EINVAL);
	perch_recorder_close(recorder);
	content = read_file(path);
	assert_complete(&content, stats.samples);
	assert_true(content.worker);
	assert_true(content.rounds >= 4);
}

struct taken {
	uint64_t bytes, samples, mappings;
	int fail; /* with this errno */
};

static int take(void *context, const struct iovec *pieces, int nr, struct perch_error *error)
{
	struct taken *taken = context;
	char *all, *at;
	size_t size = 0;

	if (taken->fail)
		return perch_error_set(error, taken->fail, PERCH_ERROR_FILE, "no more");
	for (int i = 0; i < nr; i++)
		size += pieces[i].iov_len;
	at = all = malloc(size);
	for (int i = 0; i < nr; i++)
		at = (char *)memcpy(at, pieces[i].iov_base, pieces[i].iov_len) + pieces[i].iov_len;
	for (size_t offset = 0; offset < size;) {
		const struct perch_record_header *header = (void *)(all + offset);

		taken->samples += header->type == PERCH_RECORD_SAMPLE;
		taken->mappings += header->type == PERCH_RECORD_MMAP2;
		offset += header->size;
		assert_true(header->size >= 8 && offset <= size);
	}
	taken->bytes += size;
	free(all);
	return 0;
}

static void calls_a_function(void **state)
{
	struct taken taken = { 0 };
	struct perch_recorder_options options = own;
	const struct perch_file_event *events;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;

	(void)state;
	options.sink = take;
	options.context = &taken;
	recorder = open_recorder(&options);
	assert_int_equal(perch_recorder_events(recorder, &events), 1);
	assert_string_equal(events[0].name, "cpu-clock:u");
	start(recorder);
	assert_true(taken.mappings);
	work(recorder);
	end(recorder, &stats);
	assert_null(stats.path);
	assert_int_equal(taken.samples, stats.samples);
	assert_true(taken.samples >= 5);
	assert_int_equal(taken.bytes, perch_recorder_file_size(recorder));
	perch_recorder_close(recorder);
}

/* Records that the function does not take are counted, and it gets none any more. */
static void stops_when_the_function_fails(void **state)
{
	struct taken taken = { 0 };
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	uint64_t bytes;

	(void)state;
	options.sink = take;
	options.context = &taken;
	recorder = open_recorder(&options);
	start(recorder);
	work(recorder);
	bytes = taken.bytes;
	taken.fail = EPIPE;
	burn(0.05);
	assert_int_equal(perch_recorder_write(recorder, &err), -EPIPE);
	assert_string_equal(err.message, "no more");
	taken.fail = 0;
	burn(0.05);
	assert_int_equal(perch_recorder_stop(recorder, &err), 0);
	assert_int_equal(taken.bytes, bytes);
	perch_recorder_get_stats(recorder, &stats);
	assert_int_equal(stats.samples, taken.samples);
	assert_true(stats.unwritten_samples >= 2);
	assert_true(stats.unwritten_bytes > stats.unwritten_samples * 8);
	perch_recorder_close(recorder);
}

static void writes_a_pipe(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct content content;
	int fds[2], to;
	char buffer[4096];
	ssize_t got;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	options.fd = fds[1];
	recorder = open_recorder(&options);
	start(recorder);
	work(recorder);
	end(recorder, &stats);
	perch_recorder_close(recorder);
	close(fds[1]);
	to = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	while ((got = read(fds[0], buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, got), got);
	close(to);
	close(fds[0]);
	content = read_file(path);
	assert_complete(&content, stats.samples);
}

/* Each file is complete, and only the last ones stay. */
static void writes_several_files(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	int wait_ms = 5000;

	(void)state;
	remove_files();
	options.path = path;
	options.several = true;
	options.switch_ms = 1000;
	options.max_files = 2;
	recorder = open_recorder(&options);
	start(recorder);
	assert_false(perch_recorder_file_due(recorder, &wait_ms));
	assert_true(wait_ms <= 1000);
	for (int i = 1; i <= 3; i++) {
		struct content content;

		work(recorder);
		if (i == 3)
			assert_int_equal(perch_recorder_stop(recorder, &err), 0);
		assert_int_equal(perch_recorder_end_file(recorder, &err), 0);
		perch_recorder_get_stats(recorder, &stats);
		assert_int_equal(stats.files, i);
		assert_int_equal(strncmp(stats.path, path, strlen(path)), 0);
		content = read_file(stats.path);
		assert_complete(&content, stats.samples);
		if (i < 3)
			assert_int_equal(perch_recorder_next_file(recorder, &err), 0);
	}
	perch_recorder_close(recorder);
	assert_int_equal(remove_files(), 2);
}

/* The file of this program is in the cache, with its build id, when its recording has ended. */
static void fills_the_build_id_cache(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_missing_files missing = { 0 };
	struct perch_recorder_stats stats;
	struct perch_build_id_cache *cache;
	struct perch_build_id_text id;
	struct perch_recorder *recorder;
	uint8_t build_id[20];
	char name[160];
	int size = perch_build_id_of_file(own_path, build_id, NULL);

	(void)state;
	assert_true(size > 0);
	perch_format_build_id(&id, build_id, (size_t)size);
	snprintf(name, sizeof(name), "%s-cache", directory);
	assert_int_equal(perch_build_id_cache_new(&cache, name, NULL, NULL), 0);
	assert_int_equal(perch_build_id_cache_open(cache, true, &err), 0);
	options.path = path;
	options.pin_files = true;
	recorder = open_recorder(&options);
	start(recorder);
	assert_int_equal(perch_recorder_fill_cache(recorder, cache, &missing, &err), -EINVAL);
	work(recorder);
	end(recorder, &stats);
	assert_false(perch_build_id_cache_has(cache, &id, PERCH_CACHED_ELF));
	assert_int_equal(perch_recorder_fill_cache(recorder, cache, &missing, &err), 0);
	assert_true(perch_build_id_cache_has(cache, &id, PERCH_CACHED_ELF));
	assert_int_equal(missing.files, 0);
	perch_recorder_close(recorder);
	perch_build_id_cache_free(cache);
	snprintf(name, sizeof(name), "rm -rf %s-cache", directory);
	assert_int_equal(system(name), 0);
}

/* The newest records of small rings, twice. */
static void writes_copies_of_rings(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct content content;

	(void)state;
	remove_files();
	options.path = path;
	options.several = true;
	options.sampler.overwrite = true;
	options.sampler.ring_pages = 4;
	recorder = open_recorder(&options);
	start(recorder);
	assert_int_equal(access(path, F_OK), -1);
	for (int i = 0; i < 2; i++) {
		burn(1);
		assert_true(perch_recorder_write(recorder, &err) >= 0);
		assert_int_equal(perch_recorder_end_file(recorder, &err), 0);
		perch_recorder_get_stats(recorder, &stats);
		content = read_file(stats.path);
		assert_complete(&content, stats.samples);
		assert_int_equal(perch_recorder_next_file(recorder, &err), 0);
	}
	perch_recorder_close(recorder);
	assert_int_equal(remove_files(), 2);
}

/* In a child, whose files may not grow: what fits is readable. */
static int fill_disk(void)
{
	struct rlimit limit = { 16384, 16384 };
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	ssize_t rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	options.path = path;
	options.sampler.event.frequency = 5000;
	if (perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err) < 0 ||
	    perch_recorder_start(recorder, &err) < 0)
		return 1;
	for (int i = 0; i < 100 && rc >= 0; i++) {
		burn(0.05);
		rc = perch_recorder_write(recorder, &err);
	}
	if (rc != -EFBIG || perch_recorder_stop(recorder, &err))
		return 2;
	if (perch_recorder_end_file(recorder, &err) >= 0) /* the features have no space */
		return 3;
	perch_recorder_get_stats(recorder, &stats);
	if (!stats.unwritten_samples || !stats.samples || strcmp(stats.path, path))
		return 4;
	perch_recorder_close(recorder);
	return stats.samples > 1000 ? 5 : (int)(10 + stats.samples % 200);
}

static void keeps_what_fits_on_a_full_disk(void **state)
{
	struct content content;
	struct stat status;
	int result;
	pid_t pid;

	(void)state;
	remove_files();
	pid = fork();
	if (!pid)
		_exit(fill_disk());
	assert_int_equal(waitpid(pid, &result, 0), pid);
	assert_true(WIFEXITED(result));
	assert_true(WEXITSTATUS(result) >= 10);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size <= 16384);
	content = read_file(path);
	assert_false(content.damaged);
	assert_int_equal(content.samples % 200, WEXITSTATUS(result) - 10);
}

/* Other users may record themselves, and not all CPUs; they get the reason, and no file. */
static int record_unprivileged(void)
{
	struct perch_recorder_options options = own;
	struct perch_recorder *recorder;

	options.path = path;
	if (perch_recorder_open(&recorder, "cpu-clock", &perch_all_cpus, &options, &err) !=
		    -EACCES ||
	    recorder || !err.remedy[0])
		return 1;
	options.no_kernel = false;
	options.sampler.event.may = PERCH_MAY_EXCLUDE_KERNEL;
	if (perch_recorder_open(&recorder, "cpu-clock", NULL, &options, &err) < 0)
		return 2;
	if (perch_recorder_start(recorder, &err) != -EACCES) /* the directory is another user's */
		return 3;
	perch_recorder_close(recorder);
	return access(path, F_OK) == 0 ? 4 : 0;
}

static void explains_missing_rights(void **state)
{
	(void)state;
	remove_files();
	chmod(directory, 0755);
	run_unprivileged(record_unprivileged);
}

static void refuses_contradictions(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder *recorder;

	(void)state;
	recorder = open_recorder(&options); /* for its sampler only */
	assert_int_equal(perch_recorder_start(recorder, &err), -EINVAL);
	assert_int_equal(perch_recorder_end_file(recorder, &err), -EINVAL);
	perch_recorder_close(recorder);
	options.sink = take;
	options.several = true;
	assert_int_equal(perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err),
			 -EINVAL);
	assert_null(recorder);
	options.several = false;
	options.reserved[1] = 1;
	assert_int_equal(perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err),
			 -EINVAL);
	assert_string_equal(err.message, "perch_recorder_options.reserved must be 0");
	options = own;
	options.cycles = PERCH_RECORDER_CYCLES_DEFAULT + 1;
	assert_int_equal(perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err),
			 -EINVAL);
	assert_string_equal(err.message, "cycles is 3: 0 to 2 are defined");
	options = own;
	options.map_ids = (enum perch_recorder_map_ids) - 1;
	assert_int_equal(perch_recorder_open(&recorder, "cpu-clock:u", NULL, &options, &err),
			 -EINVAL);
	assert_string_equal(err.message, "map_ids is -1: 0 to 3 are defined");
	options = own;
	assert_true(perch_recorder_open(&recorder, "no-such-event", NULL, &options, &err) < 0);
	assert_null(recorder);
	perch_recorder_close(NULL);
}

static void use_in_child(struct perch_recorder *recorder)
{
	int failed = perch_recorder_prepare(recorder, &err) != -ESTALE ||
		     err.kind != PERCH_ERROR_FORK ||
		     perch_recorder_start(recorder, NULL) != -ESTALE ||
		     perch_recorder_write(recorder, NULL) != -ESTALE ||
		     perch_recorder_stop(recorder, NULL) != -ESTALE ||
		     perch_recorder_end_file(recorder, NULL) != -ESTALE ||
		     perch_recorder_next_file(recorder, NULL) != -ESTALE;

	perch_recorder_close(recorder);
	_exit(failed);
}

/* A child of fork(2) changes nothing, neither by functions that fail nor when it closes it. */
static void a_child_cannot_use_it(void **state)
{
	struct perch_recorder_options options = own;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct content content;
	pid_t child;
	int status;

	(void)state;
	remove_files();
	options.path = path;
	recorder = open_recorder(&options);
	start(recorder);
	work(recorder);
	child = fork();
	if (!child)
		use_in_child(recorder);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	work(recorder);
	end(recorder, &stats);
	perch_recorder_close(recorder);
	content = read_file(path);
	assert_complete(&content, stats.samples);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A recorder that is killed leaves a file without features: here one that is not ended. */
static void a_file_without_end_has_its_date(void **state)
{
	struct perch_recorder_options options = own;
	uint64_t before = wall_ns(), after, first, last;
	struct perch_recording_times times;
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	struct perch_reader *reader;
	const void *data;
	size_t size;

	(void)state;
	remove_files();
	options.path = path;
	recorder = open_recorder(&options);
	start(recorder);
	work(recorder);
	after = wall_ns();
	perch_recorder_get_stats(recorder, &stats);
	assert_int_equal(perch_reader_open(&reader, path, PERCH_ORDER_FILE, &err), 0);
	assert_int_equal(perch_reader_feature(reader, PERCH_FEATURE_CLOCK_DATA, &data, &size),
			 -ENOENT);
	perch_reader_get_times(reader, &times);
	/* the clock may be set meanwhile, but not by an hour */
	assert_in_range(times.start, before - 3600000000000, after + 3600000000000);
	assert_int_equal(times.end, 0);
	assert_int_equal(perch_reader_time_of_day(reader, stats.first_time, &first), 0);
	assert_int_equal(perch_reader_time_of_day(reader, stats.last_time, &last), 0);
	assert_true(times.start <= first && first <= last);
	assert_in_range(last, before - 3600000000000, after + 3600000000000);
	perch_reader_close(reader);
	perch_recorder_close(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_a_complete_file),
		cmocka_unit_test(calls_a_function),
		cmocka_unit_test(stops_when_the_function_fails),
		cmocka_unit_test(writes_a_pipe),
		cmocka_unit_test(writes_several_files),
		cmocka_unit_test(fills_the_build_id_cache),
		cmocka_unit_test(writes_copies_of_rings),
		cmocka_unit_test(keeps_what_fits_on_a_full_disk),
		cmocka_unit_test(explains_missing_rights),
		cmocka_unit_test(refuses_contradictions),
		cmocka_unit_test(a_child_cannot_use_it),
		cmocka_unit_test(a_file_without_end_has_its_date),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
