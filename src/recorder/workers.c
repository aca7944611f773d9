/* SPDX-License-Identifier: MIT */
/*
 * Threads that read rings. Each has rings of its own, a file of the directory, and its own counts,
 * which are added to those of the recorder at the end. So they share nothing while they run but
 * what they report under a lock.
 */
#define _GNU_SOURCE /* pthread_setaffinity_np */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/no_memory.h"
#include "workers.h"

struct recorder_worker {
	struct recorder_workers *all;
	struct recorder_rings rings;
	struct recorder_scan scan;
	uint64_t *lost; /* by ring */
	struct recorder_output output;
	struct pollfd *polls;
	cpu_set_t *affinity; /* NULL: any CPU */
	size_t affinity_size;
	int wake; /* eventfd(2): it ends when this is readable */
	pthread_t thread;
	bool runs;
	/* under the lock of all */
	uint64_t bytes, samples;
	bool ended;
	uint64_t cpu_ns; /* that it has used, at its end */
};

struct recorder_workers {
	struct recorder_worker *worker;
	size_t nr;
	int changed;	      /* eventfd(2): a worker has failed, or its targets have ended */
	pthread_mutex_t lock; /* of the members below, and of some of the workers */
	int rc;
	struct perch_error err; /* of the first failure */
	uint64_t reported;	/* bytes, to the program */
};

/* ---- a thread ---- */

static void notify(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void report(struct recorder_worker *worker, ssize_t rc, const struct perch_error *err,
		   bool ended)
{
	struct recorder_workers *all = worker->all;
	bool changed;

	pthread_mutex_lock(&all->lock);
	worker->bytes = perch__recorder_output_size(&worker->output);
	worker->samples = worker->scan.samples;
	changed = (rc < 0 && !all->rc) || (ended && !worker->ended);
	worker->ended = ended;
	if (rc < 0 && !all->rc) {
		all->rc = (int)rc;
		all->err = *err;
	}
	pthread_mutex_unlock(&all->lock);
	if (changed)
		notify(all->changed);
}

/* Waits for data. Returns true if the thread is to end. *ended: no target of its rings runs. */
static bool wait_for_data(struct recorder_worker *worker, bool failed, bool *ended)
{
	struct pollfd stop = { worker->wake, POLLIN, 0 };
	int rc = 0;

	if (!failed && !*ended) {
		rc = perch_sampler_wait_rings(worker->rings.sampler, worker->rings.index,
					      worker->rings.nr, worker->wake, worker->polls,
					      PERCH_RECORDER_WRITE_MS);
		*ended = rc == -ENODATA;
		stop.revents = rc > 0 ? worker->polls[worker->rings.nr].revents : 0;
	}
	/* a filter of system calls may refuse the wait for rings; this then is one by time */
	if (failed || *ended || rc < 0)
		poll(&stop, 1, PERCH_RECORDER_WRITE_MS);
	return stop.revents != 0;
}

static void record_rings(struct recorder_worker *worker)
{
	struct perch_error err = { 0 };
	bool ended = false, stop = false;
	ssize_t rc = 0;

	if (worker->affinity)
		pthread_setaffinity_np(pthread_self(), worker->affinity_size, worker->affinity);
	while (!stop) {
		stop = wait_for_data(worker, rc < 0, &ended);
		if (rc < 0)
			continue;
		rc = perch__recorder_write_round(&worker->rings, &worker->scan, &worker->output,
						 &err);
		report(worker, rc, &err, ended);
	}
	if (rc < 0) {
		perch__recorder_discard_round(&worker->rings, &worker->scan);
		return;
	}
	perch__recorder_users_update(&worker->scan.users);
	rc = perch__recorder_append_users(&worker->output, &worker->scan.users, &err);
	report(worker, rc, &err, true);
}

static void *run_worker(void *context)
{
	struct recorder_worker *worker = context;

	record_rings(worker);
	worker->cpu_ns = recorder_clock(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* ---- all of them ---- */

static int set_affinity(struct recorder_worker *worker, const struct perch_cpus *cpus)
{
	int most = 0;

	for (size_t i = 0; i < cpus->nr; i++)
		most = cpus->cpu[i] > most ? cpus->cpu[i] : most;
	if (!cpus->nr)
		return 0;
	worker->affinity_size = CPU_ALLOC_SIZE(most + 1);
	worker->affinity = CPU_ALLOC(most + 1);
	if (!worker->affinity)
		return -ENOMEM;
	CPU_ZERO_S(worker->affinity_size, worker->affinity);
	for (size_t i = 0; i < cpus->nr; i++)
		CPU_SET_S(cpus->cpu[i], worker->affinity_size, worker->affinity);
	return 0;
}

static void init_scan(struct recorder_worker *worker, const struct recorder_scan *from,
		      size_t nr_workers, bool pin_files, bool own_namespace)
{
	struct recorder_scan *scan = &worker->scan;

	scan->parse_info = from->parse_info;
	scan->mmap_parse_info = from->mmap_parse_info;
	scan->same_time_word = from->same_time_word;
	scan->lost = worker->lost;
	/* without memory, records have device and inode */
	if (from->ids.symbols)
		perch__recorder_ids_begin(&scan->ids);
	if (pin_files)
		perch__recorder_pinned_begin(&scan->pinned, own_namespace);
	scan->pinned.limit = (scan->pinned.limit + nr_workers - 1) / nr_workers;
}

static int init_worker(struct recorder_worker *worker, const struct recorder_thread_cpus *thread,
		       const struct recorder_rings *rings, const int *cpu_of_ring)
{
	worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->wake < 0)
		return -errno;
	worker->lost = calloc(rings->nr + 1, sizeof(*worker->lost));
	worker->polls = calloc(rings->nr + 1, sizeof(*worker->polls));
	if (!worker->lost || !worker->polls ||
	    perch__recorder_rings_part(&worker->rings, rings, &thread->rings, cpu_of_ring) < 0)
		return -ENOMEM;
	return set_affinity(worker, thread->runs_there ? &thread->rings : &thread->affinity);
}

int perch__recorder_workers_new(struct recorder_workers **result,
				const struct recorder_thread_list *threads,
				const struct recorder_rings *rings, const int *cpu_of_ring,
				struct perch_error *err)
{
	struct recorder_workers *all = calloc(1, sizeof(*all));
	int rc = 0;

	*result = all;
	if (!all)
		return PERCH__NO_MEMORY(err, "to record with");
	pthread_mutex_init(&all->lock, NULL);
	all->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all->changed < 0)
		rc = -errno;
	all->worker = calloc(threads->nr, sizeof(*all->worker));
	if (!all->worker)
		rc = -ENOMEM;
	for (; !rc && all->nr < threads->nr; all->nr++) {
		all->worker[all->nr].all = all;
		all->worker[all->nr].wake = -1;
		rc = init_worker(&all->worker[all->nr], &threads->thread[all->nr], rings,
				 cpu_of_ring);
	}
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to record with");
	return rc ? perch_error_set(err, -rc, PERCH_ERROR_DESCRIPTORS,
				    "cannot make a descriptor for a thread: %s", strerror(-rc))
		  : 0;
}

int perch__recorder_workers_start(struct recorder_workers *all, const struct recorder_scan *scan,
				  struct perch_writer *writer, int level,
				  enum perch_file_record type, bool pin_files, bool own_namespace,
				  struct perch_error *err)
{
	for (size_t i = 0; i < all->nr; i++) {
		struct recorder_worker *worker = &all->worker[i];
		int rc = perch_writer_open_part(&worker->output.writer, writer, err);

		if (rc >= 0 && level)
			rc = perch_writer_compress(worker->output.writer, level, type, err);
		if (rc < 0)
			return rc;
		init_scan(worker, scan, all->nr, pin_files, own_namespace);
	}
	for (size_t i = 0; i < all->nr; i++) {
		struct recorder_worker *worker = &all->worker[i];

		worker->runs = perch__start_thread(&worker->thread, run_worker, worker, true);
		if (worker->runs)
			continue;
		perch_error_set(err, EAGAIN, PERCH_ERROR_SYSTEM, "cannot start thread %zu of %zu",
				i + 1, all->nr);
		perch_error_remedy(err, "raise the limit of processes (ulimit -u), or choose fewer "
					"threads");
		return -EAGAIN;
	}
	return 0;
}

int perch__recorder_workers_fd(const struct recorder_workers *all)
{
	return all->changed;
}

ssize_t perch__recorder_workers_check(struct recorder_workers *all, struct perch_error *err)
{
	uint64_t bytes = 0, changes;
	ssize_t rc;

	while (read(all->changed, &changes, sizeof(changes)) > 0)
		;
	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->nr; i++)
		bytes += all->worker[i].bytes;
	rc = all->rc;
	if (rc < 0 && err)
		*err = all->err;
	if (!rc)
		rc = (ssize_t)(bytes - all->reported);
	all->reported = bytes;
	pthread_mutex_unlock(&all->lock);
	return rc;
}

bool perch__recorder_workers_ended(struct recorder_workers *all)
{
	bool ended = true;

	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->nr; i++)
		ended &= all->worker[i].ended || !all->worker[i].rings.nr;
	pthread_mutex_unlock(&all->lock);
	return ended;
}

void perch__recorder_workers_count(struct recorder_workers *all, uint64_t *bytes, uint64_t *samples)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->nr; i++) {
		*bytes += all->worker[i].bytes;
		*samples += all->worker[i].runs ? all->worker[i].samples : 0;
	}
	pthread_mutex_unlock(&all->lock);
}

/* Adds what a thread has counted. */
static void merge(struct recorder_worker *worker, struct recorder_scan *scan)
{
	for (size_t i = 0; i < worker->rings.nr; i++)
		scan->lost[worker->rings.index[i]] += worker->lost[i];
	perch__recorder_scan_merge(scan, &worker->scan);
}

int perch__recorder_workers_stop(struct recorder_workers *all, struct recorder_scan *scan,
				 uint64_t *record_bytes, uint64_t *cpu_ns, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < all->nr; i++)
		if (all->worker[i].runs)
			notify(all->worker[i].wake);
	for (size_t i = 0; i < all->nr; i++) {
		struct recorder_worker *worker = &all->worker[i];
		int closed;

		if (worker->runs) {
			pthread_join(worker->thread, NULL);
			worker->runs = false;
			merge(worker, scan);
			*cpu_ns += worker->cpu_ns;
		}
		*record_bytes += perch__recorder_output_records(&worker->output);
		closed = perch_writer_close(worker->output.writer, rc < 0 ? NULL : err);
		worker->output.writer = NULL;
		rc = rc < 0 ? rc : closed;
	}
	if (all->rc < 0 && err)
		*err = all->err;
	return all->rc < 0 ? all->rc : rc;
}

void perch__recorder_workers_free(struct recorder_workers *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->nr; i++) {
		struct recorder_worker *worker = &all->worker[i];

		perch__recorder_rings_clear(&worker->rings);
		perch__recorder_scan_clear(&worker->scan);
		if (worker->affinity)
			CPU_FREE(worker->affinity);
		if (worker->wake >= 0)
			close(worker->wake);
		free(worker->lost);
		free(worker->polls);
	}
	if (all->changed >= 0)
		close(all->changed);
	pthread_mutex_destroy(&all->lock);
	free(all->worker);
	free(all);
}
