/* SPDX-License-Identifier: MIT */
/* The queue of windows, and the thread that sends them: see push.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/no_memory.h"
#include "base/thread.h"
#include "push_sender.h"

enum {
	QUEUE_MAX = 8 << 20, /* bytes of windows that the thread has not seen */
	REQUEST_SECONDS = 30,
	WAIT_SECONDS = 60,
};

struct queued {
	struct queued *next;
	enum agent_push_kind kind;
	struct agent_push_window window; /* its bytes follow */
	uint8_t bytes[];
};

struct agent_push {
	struct push_shared shared;
	pthread_t thread;
	bool has_thread;
	struct push_sender *sender;
	size_t nr;
	/* of what follows, the mutex is that of shared, too */
	struct queued *first, **last;
	uint64_t queued_bytes;
	struct agent_spool_stats spool_stats;
	uint64_t dropped_other; /* windows of targets that are no longer given */
	bool stop, pause;	/* pause: the thread ends, and another one goes on */
	uint64_t stop_wait;
};

/* The spool has dropped a window. */
static void on_dropped(void *context, uint64_t target, enum agent_drop_reason reason,
		       uint64_t bytes)
{
	struct agent_push *push = context;
	bool found = false;

	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target.hash == target) {
			push_sender_count_dropped(&push->sender[i], reason, bytes);
			found = true;
		}
	pthread_mutex_lock(&push->shared.mutex);
	push->dropped_other += !found;
	pthread_mutex_unlock(&push->shared.mutex);
}

/* ---- the queue ---- */

/* Returns bytes of gzip, or NULL if out of memory. */
static void *compress_window(const void *bytes, size_t size, size_t *compressed_size)
{
	z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size };
	void *compressed = NULL;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	*compressed_size = deflateBound(&stream, (uLong)size);
	compressed = malloc(*compressed_size + 1);
	stream.next_out = compressed;
	stream.avail_out = (uInt)*compressed_size;
	if (compressed && deflate(&stream, Z_FINISH) == Z_STREAM_END) {
		*compressed_size = stream.total_out;
	} else {
		free(compressed);
		compressed = NULL;
	}
	deflateEnd(&stream);
	return compressed;
}

static void store(struct agent_push *push, const struct queued *queued)
{
	size_t size = queued->window.size;
	void *compressed = queued->kind == AGENT_PUSH_OTLP
				   ? compress_window(queued->bytes, queued->window.size, &size)
				   : NULL;
	struct agent_spool_entry entry = {
		.begin = queued->window.begin,
		.size = compressed ? size : queued->window.size,
		.gzip = compressed,
	};

	memcpy(entry.profile_id, queued->window.profile_id, AGENT_PROFILE_ID);
	for (size_t i = 0; i < push->nr; i++) {
		if (push->sender[i].target.kind != queued->kind)
			continue;
		entry.target = push->sender[i].target.hash;
		agent_spool_add(push->shared.spool, &entry, compressed ? compressed : queued->bytes,
				push_clock(CLOCK_REALTIME));
	}
	free(compressed);
}

static void store_queue(struct agent_push *push)
{
	struct queued *queued;

	pthread_mutex_lock(&push->shared.mutex);
	while ((queued = push->first)) {
		push->first = queued->next;
		if (!push->first)
			push->last = &push->first;
		pthread_mutex_unlock(&push->shared.mutex);
		store(push, queued);
		pthread_mutex_lock(&push->shared.mutex);
		agent_spool_stats(push->shared.spool, &push->spool_stats);
		push->queued_bytes -= queued->window.size;
		free(queued);
	}
	pthread_mutex_unlock(&push->shared.mutex);
}

/* ---- the thread ---- */

static void work_once(struct agent_push *push, int wait)
{
	uint64_t now = push_clock(CLOCK_MONOTONIC);

	store_queue(push);
	agent_spool_expire(push->shared.spool, push_clock(CLOCK_REALTIME));
	for (size_t i = 0; i < push->nr; i++) {
		int sender_wait;

		push_sender_begin(&push->sender[i], now);
		sender_wait = push_sender_wait(&push->sender[i], now);
		wait = wait < sender_wait ? wait : sender_wait;
	}
	push_http_run(push->shared.http, wait);
	for (size_t i = 0; i < push->nr; i++)
		push_sender_end(&push->sender[i]);
	pthread_mutex_lock(&push->shared.mutex);
	agent_spool_stats(push->shared.spool, &push->spool_stats);
	pthread_mutex_unlock(&push->shared.mutex);
}

static bool is_busy(const struct agent_push *push)
{
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].busy)
			return true;
	return false;
}

/* True while there is something to wait for before the end. */
static bool has_work(const struct agent_push *push)
{
	struct agent_spool_stats stats;

	if (is_busy(push))
		return true;
	agent_spool_stats(push->shared.spool, &stats);
	return stats.entries && !agent_spool_directory(push->shared.spool);
}

static bool stops(struct agent_push *push, uint64_t *wait)
{
	bool stop;

	pthread_mutex_lock(&push->shared.mutex);
	stop = push->stop;
	*wait = push->stop_wait;
	pthread_mutex_unlock(&push->shared.mutex);
	return stop;
}

static int wait_ms(uint64_t now, uint64_t end)
{
	return (end - now) / PUSH_MILLISECOND < PUSH_IDLE_MS ? (int)((end - now) / PUSH_MILLISECOND)
							     : PUSH_IDLE_MS;
}

/* Gives requests that have begun, and the windows of memory, some time at the end. */
static void send_last(struct agent_push *push, uint64_t end)
{
	uint64_t now;

	while ((now = push_clock(CLOCK_MONOTONIC)) < end) {
		/* targets that take windows get the last ones at once */
		for (size_t i = 0; i < push->nr; i++)
			if (!push->sender[i].failures)
				push_sender_begin(&push->sender[i], UINT64_MAX);
		if (!has_work(push))
			break;
		work_once(push, wait_ms(now, end));
	}
	for (size_t i = 0; i < push->nr; i++)
		push_sender_cancel(&push->sender[i]);
}

static void note_left(struct agent_push *push, const char *of_directory)
{
	struct agent_spool_stats stats;

	agent_spool_stats(push->shared.spool, &stats);
	if (stats.entries)
		push_note(&push->shared, "%" PRIu64 " window%s %s", stats.entries,
			  stats.entries == 1 ? " is" : "s are",
			  agent_spool_directory(push->shared.spool)
				  ? of_directory
				  : "lost; with --spool DIR they would wait for the next start");
}

/* Waits for answers of requests that have begun. */
static void interrupt_requests(struct agent_push *push, uint64_t end)
{
	uint64_t now;

	while (is_busy(push) && (now = push_clock(CLOCK_MONOTONIC)) < end) {
		push_http_run(push->shared.http, wait_ms(now, end));
		for (size_t i = 0; i < push->nr; i++)
			push_sender_end(&push->sender[i]);
	}
	for (size_t i = 0; i < push->nr; i++)
		push_sender_interrupt(&push->sender[i]);
}

static void *run_push(void *context)
{
	struct agent_push *push = context;
	uint64_t now, end;

	while (!stops(push, &end))
		work_once(push, PUSH_IDLE_MS);
	now = push_clock(CLOCK_MONOTONIC);
	end = end < UINT64_MAX - now ? now + end : UINT64_MAX;
	store_queue(push);
	if (push->pause) {
		interrupt_requests(push, end);
		return NULL;
	}
	send_last(push, end);
	note_left(push, "in the spool, for the next start");
	return NULL;
}

static int start_thread(struct agent_push *push, struct perch_error *err)
{
	push->stop = push->pause = false;
	push->has_thread = perch__start_thread(&push->thread, run_push, push, false);
	return push->has_thread ? 0
				: perch_error_set(err, EAGAIN, PERCH_ERROR_SYSTEM,
						  "there cannot be a thread that sends windows");
}

static void stop_thread(struct agent_push *push, uint64_t wait, bool pause)
{
	if (!push->has_thread)
		return;
	pthread_mutex_lock(&push->shared.mutex);
	push->stop = true;
	push->pause = pause;
	push->stop_wait = wait;
	pthread_mutex_unlock(&push->shared.mutex);
	push_http_wake(push->shared.http);
	pthread_join(push->thread, NULL);
	push->has_thread = false;
}

/* ---- the caller ---- */

static void free_senders(struct push_sender *sender, size_t nr)
{
	for (size_t i = 0; sender && i < nr; i++)
		agent_push_target_clear(&sender[i].target);
	free(sender);
}

/* Returns 0, or a negative errno; there are none then. */
static int make_senders(struct agent_push *push, const struct agent_push_options *options,
			struct push_sender **senders, struct perch_error *err)
{
	struct push_sender *sender = NULL;
	int rc = 0;

	*senders = NULL;
	if (!options->nr || options->nr > AGENT_TARGETS_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "there can be 1 to %d targets", AGENT_TARGETS_MAX);
	for (size_t i = 1; i < options->nr; i++)
		for (size_t k = 0; k < i; k++)
			if (options->target[i].hash == options->target[k].hash)
				return perch_error_set(
					err, EINVAL, PERCH_ERROR_USAGE,
					"--push %s is there twice: leave one of them out",
					options->target[k].name);
	sender = calloc(options->nr, sizeof(*sender));
	if (!sender)
		return PERCH__NO_MEMORY(err, "to send windows");
	for (size_t i = 0; !rc && i < options->nr; i++) {
		rc = agent_push_target_copy(&sender[i].target, &options->target[i], err);
		sender[i].shared = &push->shared;
		sender[i].stats.name = sender[i].target.name;
	}
	if (rc)
		free_senders(sender, options->nr);
	else
		*senders = sender;
	return rc;
}

static int open_spool(struct agent_push *push, const struct agent_push_options *options,
		      struct agent_spool **spool, struct perch_error *err)
{
	const struct agent_spool_options to = {
		.directory = options->spool,
		.bytes = options->spool_bytes,
		.age = options->spool_age,
		.dropped = on_dropped,
		.context = push,
	};
	struct agent_spool_stats stats;
	int rc = agent_spool_open(spool, &to, push_clock(CLOCK_REALTIME), err);

	if (rc)
		return rc;
	agent_spool_stats(*spool, &stats);
	if (stats.taken_over)
		push_note(&push->shared, "windows of an earlier agent in the spool: %" PRIu64,
			  stats.taken_over);
	if (stats.foreign)
		push_note(&push->shared,
			  "files of others in the spool, which are not used: %" PRIu64,
			  stats.foreign);
	return 0;
}

static int open_parts(struct agent_push *push, const struct agent_push_options *options,
		      struct perch_error *err)
{
	int rc = make_senders(push, options, &push->sender, err);

	if (!rc)
		push->nr = options->nr;
	if (!rc)
		rc = push_http_new(&push->shared.http, err);
	if (!rc)
		rc = open_spool(push, options, &push->shared.spool, err);
	if (rc)
		return rc;
	agent_spool_stats(push->shared.spool, &push->spool_stats);
	return start_thread(push, err);
}

int agent_push_open(struct agent_push **result, const struct agent_push_options *options,
		    struct perch_error *err)
{
	struct agent_push *push = calloc(1, sizeof(*push));
	int rc;

	*result = NULL;
	if (!push)
		return PERCH__NO_MEMORY(err, "to send windows");
	push->shared.options = *options;
	push->shared.options.target = NULL; /* senders have their own */
	if (!push->shared.options.timeout)
		push->shared.options.timeout = REQUEST_SECONDS * PUSH_SECOND;
	if (!push->shared.options.least_wait)
		push->shared.options.least_wait = PUSH_SECOND;
	if (!push->shared.options.most_wait)
		push->shared.options.most_wait = WAIT_SECONDS * PUSH_SECOND;
	if (!push->shared.options.user_agent)
		push->shared.options.user_agent = "perch-agent";
	pthread_mutex_init(&push->shared.mutex, NULL);
	push->last = &push->first;
	push->shared.options.spool = NULL; /* and so has the spool */
	rc = open_parts(push, options, err);
	if (rc)
		agent_push_close(push, 0);
	else
		*result = push;
	return rc;
}

bool agent_push_wants(const struct agent_push *push, enum agent_push_kind kind)
{
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target.kind == kind)
			return true;
	return false;
}

static int drop_new(struct agent_push *push, enum agent_push_kind kind, uint64_t size,
		    enum agent_drop_reason reason, int rc)
{
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target.kind == kind)
			push_sender_count_dropped(&push->sender[i], reason, size);
	return rc;
}

void agent_push_not_made(struct agent_push *push, enum agent_push_kind kind)
{
	drop_new(push, kind, 0, AGENT_DROP_MADE, 0);
}

/* Returns false if too much waits. */
static bool enqueue(struct agent_push *push, struct queued *queued)
{
	bool has_space;

	pthread_mutex_lock(&push->shared.mutex);
	has_space = push->queued_bytes + queued->window.size <= QUEUE_MAX;
	if (has_space) {
		*push->last = queued;
		push->last = &queued->next;
		push->queued_bytes += queued->window.size;
	}
	pthread_mutex_unlock(&push->shared.mutex);
	return has_space;
}

int agent_push_add(struct agent_push *push, enum agent_push_kind kind,
		   const struct agent_push_window *window)
{
	struct queued *queued;

	if (window->size > AGENT_BODY_MAX)
		return drop_new(push, kind, window->size, AGENT_DROP_SIZE, -EFBIG);
	queued = malloc(sizeof(*queued) + window->size);
	if (!queued)
		return drop_new(push, kind, window->size, AGENT_DROP_STORE, -ENOMEM);
	queued->next = NULL;
	queued->kind = kind;
	queued->window = *window;
	queued->window.bytes = queued->bytes;
	memcpy(queued->bytes, window->bytes, window->size);
	if (!enqueue(push, queued)) {
		free(queued);
		return drop_new(push, kind, window->size, AGENT_DROP_QUEUE, -ENOSPC);
	}
	/* agent_push_change() may have found no thread */
	if (push->has_thread || !start_thread(push, NULL))
		push_http_wake(push->shared.http);
	return 0;
}

void agent_push_stats(struct agent_push *push, struct agent_push_stats *stats)
{
	pthread_mutex_lock(&push->shared.mutex);
	stats->nr_targets = push->nr;
	for (size_t i = 0; i < push->nr; i++)
		stats->target[i] = push->sender[i].stats;
	stats->spool = push->spool_stats;
	stats->queued_bytes = push->queued_bytes;
	stats->dropped_other = push->dropped_other;
	pthread_mutex_unlock(&push->shared.mutex);
}

/* True if nothing changes. */
static bool is_same(const struct agent_push *push, const struct agent_push_options *options)
{
	const struct agent_push_options *now = &push->shared.options;

	if (!push->has_thread || options->nr != push->nr ||
	    options->spool_bytes != now->spool_bytes || options->spool_age != now->spool_age ||
	    options->least_wait != now->least_wait ||
	    !agent_spool_is_in(push->shared.spool, options->spool))
		return false;
	for (size_t i = 0; i < push->nr; i++)
		if (!agent_push_target_equal(&options->target[i], &push->sender[i].target))
			return false;
	return true;
}

/* The thread does not run. */
static void replace_senders(struct agent_push *push, struct push_sender *senders, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < push->nr; k++)
			if (senders[i].target.hash == push->sender[k].target.hash)
				push_sender_take_over(&senders[i], &push->sender[k]);
	free_senders(push->sender, push->nr);
	push->sender = senders;
	push->nr = nr;
}

static void replace_spool(struct agent_push *push, struct agent_spool *spool)
{
	agent_spool_move(push->shared.spool, spool, push_clock(CLOCK_REALTIME));
	note_left(push, "in the directory of before, for an agent that has it as its spool");
	agent_spool_close(push->shared.spool);
	push->shared.spool = spool;
}

int agent_push_change(struct agent_push *push, const struct agent_push_options *options,
		      uint64_t wait, struct perch_error *err)
{
	struct agent_spool *spool = NULL;
	struct push_sender *senders;
	int rc;

	if (is_same(push, options))
		return 0;
	rc = make_senders(push, options, &senders, err);
	if (!rc && !agent_spool_is_in(push->shared.spool, options->spool))
		rc = open_spool(push, options, &spool, err);
	if (rc) {
		free_senders(senders, options->nr);
		return rc;
	}
	stop_thread(push, wait, true);
	replace_senders(push, senders, options->nr);
	if (spool)
		replace_spool(push, spool);
	agent_spool_limit(push->shared.spool, options->spool_bytes, options->spool_age);
	push->shared.options.spool_bytes = options->spool_bytes;
	push->shared.options.spool_age = options->spool_age;
	push->shared.options.least_wait = options->least_wait;
	agent_spool_stats(push->shared.spool, &push->spool_stats);
	return start_thread(push, err);
}

void agent_push_close(struct agent_push *push, uint64_t wait)
{
	if (!push)
		return;
	stop_thread(push, wait, false);
	store_queue(push); /* if there was no thread */
	agent_spool_close(push->shared.spool);
	push_http_free(push->shared.http);
	pthread_mutex_destroy(&push->shared.mutex);
	free_senders(push->sender, push->nr);
	free(push);
}
