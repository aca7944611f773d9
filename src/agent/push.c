/* SPDX-License-Identifier: MIT */
/* The thread that sends windows, and the state of each target: see push.h. */
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
#include "push_answer.h"
#include "push_http.h"

enum {
	MILLISECOND = 1000000,
	SECOND = 1000000000,
	QUEUE_MAX = 8 << 20, /* bytes of windows that the thread has not seen */
	IDLE_MS = 10000,     /* without requests, until the spool is looked at for old windows */
	REQUEST_SECONDS = 30,
	WAIT_SECONDS = 60,
	RETRY_AFTER_WAITS = 10, /* the longest Retry-After, in longest waits */
	NOTE_MAX = 1024,
};

struct queued {
	struct queued *next;
	enum agent_push_kind kind;
	struct agent_push_window window; /* its bytes follow */
	uint8_t bytes[];
};

struct sender {
	struct agent_push *push;
	const struct agent_push_target *target;
	struct push_request request;
	struct agent_spool_entry entry; /* of the request */
	void *body;
	bool busy;
	bool asks;	   /* the request is without a window */
	bool unsure;	   /* a window got no answer: the next request is without one */
	bool gone;	   /* the spool dropped the window while it was sent */
	uint64_t next;	   /* ns of the monotonic clock: no request before */
	unsigned failures; /* one after another */
	struct agent_push_target_stats stats; /* guarded by push.mutex */
};

struct agent_push {
	struct agent_push_options options;
	struct agent_spool *spool;
	struct push_http *http;
	pthread_t thread;
	bool has_thread;
	struct sender sender[AGENT_TARGETS_MAX];
	size_t nr;
	pthread_mutex_t mutex; /* of what follows */
	struct queued *first, **last;
	uint64_t queued_bytes;
	struct agent_spool_stats spool_stats;
	uint64_t dropped_other; /* windows of targets that are no longer given */
	bool stop;
	uint64_t stop_wait;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void note(const struct agent_push *push,
						       const char *format, ...)
{
	char text[NOTE_MAX];
	va_list list;

	if (!push->options.note)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	push->options.note(push->options.context, text);
}

/* ---- counters ---- */

static void count_dropped(struct sender *sender, enum agent_drop_reason reason, uint64_t bytes)
{
	pthread_mutex_lock(&sender->push->mutex);
	sender->stats.dropped[reason]++;
	sender->stats.dropped_bytes[reason] += bytes;
	pthread_mutex_unlock(&sender->push->mutex);
}

/* The spool has dropped a window. */
static void on_dropped(void *context, uint64_t target, enum agent_drop_reason reason,
		       uint64_t bytes)
{
	struct agent_push *push = context;
	bool found = false;

	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target->hash == target) {
			count_dropped(&push->sender[i], reason, bytes);
			found = true;
		}
	pthread_mutex_lock(&push->mutex);
	push->dropped_other += !found;
	pthread_mutex_unlock(&push->mutex);
}

static void count_code(struct agent_push_target_stats *stats, int code)
{
	size_t i = 0;

	while (i < stats->nr_codes && stats->code[i].code != code)
		i++;
	/* a hostile server may answer with any code: the last counter has the rest */
	if (i == AGENT_CODES_MAX)
		i--;
	else if (i == stats->nr_codes)
		stats->code[stats->nr_codes++].code = code;
	stats->code[i].requests++;
}

/* ---- the state after a request ---- */

/* The next request begins later after each failure, and not before the server wants it. */
static void wait_longer(struct sender *sender, const char *retry_after)
{
	const struct agent_push_options *options = &sender->push->options;
	uint64_t wait = options->least_wait, most = options->most_wait;
	int64_t seconds = agent_push_retry_after(retry_after, (int64_t)time(NULL));

	for (unsigned i = 0; i < sender->failures && wait < most; i++)
		wait *= 2;
	sender->failures++;
	wait = agent_push_jitter(wait < most ? wait : most);
	if (*retry_after && seconds >= 0) {
		uint64_t asked = (uint64_t)seconds * SECOND;

		if (asked > most * RETRY_AFTER_WAITS)
			asked = most * RETRY_AFTER_WAITS;
		/* not before, and not all agents at once */
		if (asked < options->least_wait)
			asked = options->least_wait;
		wait = asked + (agent_push_jitter(asked) - (asked - asked / 5)) / 2;
	}
	sender->next = clock_ns(CLOCK_MONOTONIC) + wait;
}

/* Remembers why a request failed. Returns true if that is news. */
static bool set_reason(struct sender *sender, bool failing, const char *reason)
{
	bool news;

	pthread_mutex_lock(&sender->push->mutex);
	news = sender->stats.failing != failing || strcmp(sender->stats.reason, reason);
	sender->stats.failing = failing;
	snprintf(sender->stats.reason, sizeof(sender->stats.reason), "%s", reason);
	pthread_mutex_unlock(&sender->push->mutex);
	return news;
}

/* Writes why the request failed: the code and what the server says, or what libcurl says. */
static void make_reason(const struct push_request *request, char reason[AGENT_REASON_MAX])
{
	char answer[AGENT_REASON_MAX - 32];

	if (!request->code) {
		perch_clean_text(request->reason, reason, AGENT_REASON_MAX);
		return;
	}
	agent_push_reason(request->answer, request->answer_size, request->is_protobuf, answer,
			  sizeof(answer));
	snprintf(reason, AGENT_REASON_MAX, "%d%s%s", request->code, *answer ? ": " : "", answer);
}

static void end_taken(struct sender *sender)
{
	struct agent_push *push = sender->push;
	const char *name = sender->target->name;
	char reason[AGENT_REASON_MAX] = "";
	uint64_t rejected = 0;

	if (sender->target->kind == AGENT_PUSH_OTLP)
		rejected = agent_push_rejected(sender->request.answer, sender->request.answer_size,
					       reason, sizeof(reason));
	agent_spool_remove(push->spool, &sender->entry);
	pthread_mutex_lock(&push->mutex);
	sender->stats.windows++;
	sender->stats.bytes += sender->entry.size;
	sender->stats.rejected += rejected;
	pthread_mutex_unlock(&push->mutex);
	if (sender->failures)
		note(push, "%s takes windows again", name);
	if (set_reason(sender, false, reason) && *reason)
		note(push, "%s rejected %" PRIu64 " profiles: %s", name, rejected, reason);
	sender->failures = 0;
	sender->next = clock_ns(CLOCK_MONOTONIC) + push->options.least_wait;
}

static void end_refused(struct sender *sender, const char *reason)
{
	if (set_reason(sender, true, reason))
		note(sender->push, "%s refused a window, which is dropped: %s",
		     sender->target->name, reason);
	agent_spool_drop(sender->push->spool, &sender->entry, AGENT_DROP_REFUSED);
	sender->failures = 0;
	sender->next = clock_ns(CLOCK_MONOTONIC) + sender->push->options.least_wait;
}

static void end_untaken(struct sender *sender, const char *reason, bool unknown)
{
	struct agent_push *push = sender->push;

	if (set_reason(sender, true, reason))
		note(push,
		     unknown ? "%s gave no answer to a window, which is dropped: %s"
			     : "%s does not take windows, which wait in the spool: %s",
		     sender->target->name, reason);
	if (unknown) {
		agent_spool_drop(push->spool, &sender->entry, AGENT_DROP_UNANSWERED);
		sender->unsure = true;
	} else if (sender->request.all_sent) {
		agent_spool_mark(push->spool, &sender->entry, false);
	}
	wait_longer(sender, sender->request.retry_after);
}

/* A request without a window asked whether the server answers. */
static void end_asking(struct sender *sender, enum agent_push_outcome outcome, const char *reason)
{
	if (!sender->request.code || outcome == AGENT_PUSH_RETRY) {
		set_reason(sender, true, reason);
		wait_longer(sender, sender->request.retry_after);
		return;
	}
	sender->unsure = false;
	sender->next = clock_ns(CLOCK_MONOTONIC) + sender->push->options.least_wait;
}

static void end_request(struct sender *sender)
{
	const struct push_request *request = &sender->request;
	enum agent_push_outcome outcome = request->code	      ? agent_push_outcome_of(request->code)
					  : request->all_sent ? AGENT_PUSH_UNKNOWN
							      : AGENT_PUSH_RETRY;
	char reason[AGENT_REASON_MAX];

	sender->busy = false;
	make_reason(request, reason);
	if (!sender->gone) {
		pthread_mutex_lock(&sender->push->mutex);
		count_code(&sender->stats, request->code);
		pthread_mutex_unlock(&sender->push->mutex);
		if (sender->asks)
			end_asking(sender, outcome, reason);
		else if (outcome == AGENT_PUSH_TAKEN)
			end_taken(sender);
		else if (outcome == AGENT_PUSH_REFUSED)
			end_refused(sender, reason);
		else
			end_untaken(sender, reason, outcome == AGENT_PUSH_UNKNOWN);
	}
	free(sender->body);
	sender->body = NULL;
}

/* ---- beginning a request ---- */

/* From here on the server may have the window. */
static int before_last(void *context)
{
	struct sender *sender = context;
	int rc = agent_spool_mark(sender->push->spool, &sender->entry, true);

	sender->gone = rc == -ENOENT;
	return rc;
}

static void begin_request(struct sender *sender)
{
	struct agent_push *push = sender->push;
	struct push_request *request = &sender->request;

	if (!agent_spool_oldest(push->spool, sender->target->hash, &sender->entry))
		return;
	sender->asks = sender->unsure;
	sender->gone = false;
	if (!sender->asks) {
		sender->body = agent_spool_load(push->spool, &sender->entry);
		/* it is damaged: there is another one, or none */
		if (!sender->body ||
		    !agent_spool_oldest(push->spool, sender->target->hash, &sender->entry))
			return;
	}
	request->target = sender->target;
	request->user_agent = push->options.user_agent;
	request->timeout = (long)(push->options.timeout / MILLISECOND);
	request->body = sender->body;
	request->size = sender->asks ? 0 : sender->entry.size;
	request->gzip = !sender->asks && sender->entry.gzip;
	request->before_last = before_last;
	request->context = sender;
	sender->busy = true;
	push_http_start(push->http, request);
}

/* Milliseconds until a target can have a request; IDLE_MS if it has none to send. */
static int wait_of(const struct sender *sender, uint64_t now)
{
	struct agent_spool_entry entry;

	if (sender->busy)
		return sender->request.ended ? 0 : IDLE_MS;
	if (!agent_spool_oldest(sender->push->spool, sender->target->hash, &entry))
		return IDLE_MS;
	if (sender->next <= now)
		return 0;
	return (sender->next - now) / MILLISECOND < IDLE_MS
		       ? (int)((sender->next - now) / MILLISECOND) + 1
		       : IDLE_MS;
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
		if (push->sender[i].target->kind != queued->kind)
			continue;
		entry.target = push->sender[i].target->hash;
		agent_spool_add(push->spool, &entry, compressed ? compressed : queued->bytes,
				clock_ns(CLOCK_REALTIME));
	}
	free(compressed);
}

static void store_queue(struct agent_push *push)
{
	struct queued *queued;

	pthread_mutex_lock(&push->mutex);
	while ((queued = push->first)) {
		push->first = queued->next;
		if (!push->first)
			push->last = &push->first;
		pthread_mutex_unlock(&push->mutex);
		store(push, queued);
		pthread_mutex_lock(&push->mutex);
		agent_spool_stats(push->spool, &push->spool_stats);
		push->queued_bytes -= queued->window.size;
		free(queued);
	}
	pthread_mutex_unlock(&push->mutex);
}

/* ---- the thread ---- */

static void work_once(struct agent_push *push, int wait)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	store_queue(push);
	agent_spool_expire(push->spool, clock_ns(CLOCK_REALTIME));
	for (size_t i = 0; i < push->nr; i++) {
		struct sender *sender = &push->sender[i];
		int sender_wait;

		if (!sender->busy && sender->next <= now)
			begin_request(sender);
		sender_wait = wait_of(sender, now);
		wait = wait < sender_wait ? wait : sender_wait;
	}
	push_http_run(push->http, wait);
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].busy && push->sender[i].request.ended)
			end_request(&push->sender[i]);
	pthread_mutex_lock(&push->mutex);
	agent_spool_stats(push->spool, &push->spool_stats);
	pthread_mutex_unlock(&push->mutex);
}

/* True while there is something to wait for before the end. */
static bool has_work(const struct agent_push *push)
{
	struct agent_spool_stats stats;

	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].busy)
			return true;
	agent_spool_stats(push->spool, &stats);
	return stats.entries && !push->options.spool;
}

static bool stops(struct agent_push *push, uint64_t *wait)
{
	bool stop;

	pthread_mutex_lock(&push->mutex);
	stop = push->stop;
	*wait = push->stop_wait;
	pthread_mutex_unlock(&push->mutex);
	return stop;
}

static void *run_push(void *context)
{
	struct agent_push *push = context;
	struct agent_spool_stats stats;
	uint64_t now, end;

	while (!stops(push, &end))
		work_once(push, IDLE_MS);
	now = clock_ns(CLOCK_MONOTONIC);
	end = end < UINT64_MAX - now ? now + end : UINT64_MAX;
	store_queue(push);
	while (has_work(push) && (now = clock_ns(CLOCK_MONOTONIC)) < end)
		work_once(push, (end - now) / MILLISECOND < IDLE_MS
					? (int)((end - now) / MILLISECOND)
					: IDLE_MS);
	for (size_t i = 0; i < push->nr; i++) {
		push_http_cancel(push->http, &push->sender[i].request);
		free(push->sender[i].body);
	}
	agent_spool_stats(push->spool, &stats);
	if (stats.entries)
		note(push, "%" PRIu64 " windows are %s", stats.entries,
		     push->options.spool ? "in the spool, for the next start"
					 : "lost, because there is no directory for them");
	return NULL;
}

/* ---- the caller ---- */

static int open_parts(struct agent_push *push, struct perch_error *err)
{
	const struct agent_push_options *options = &push->options;
	const struct agent_spool_options spool = {
		.directory = options->spool,
		.bytes = options->spool_bytes,
		.age = options->spool_age,
		.dropped = on_dropped,
		.context = push,
	};
	int rc = push_http_new(&push->http, err);

	if (!rc)
		rc = agent_spool_open(&push->spool, &spool, clock_ns(CLOCK_REALTIME), err);
	if (rc)
		return rc;
	agent_spool_stats(push->spool, &push->spool_stats);
	if (push->spool_stats.taken_over)
		note(push, "%" PRIu64 " windows of an earlier agent are in the spool",
		     push->spool_stats.taken_over);
	if (push->spool_stats.foreign)
		note(push, "%" PRIu64 " files in the spool are of others; they are not used",
		     push->spool_stats.foreign);
	push->has_thread = perch__start_thread(&push->thread, run_push, push, false);
	return push->has_thread ? 0
				: perch_error_set(err, EAGAIN, PERCH_ERROR_SYSTEM,
						  "there cannot be a thread that sends windows");
}

int agent_push_open(struct agent_push **result, const struct agent_push_options *options,
		    struct perch_error *err)
{
	struct agent_push *push;
	int rc;

	*result = NULL;
	if (!options->nr || options->nr > AGENT_TARGETS_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "there can be 1 to %d targets", AGENT_TARGETS_MAX);
	for (size_t i = 1; i < options->nr; i++)
		for (size_t k = 0; k < i; k++)
			if (options->target[i].hash == options->target[k].hash)
				return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
						       "two targets are %s",
						       options->target[i].name);
	push = calloc(1, sizeof(*push));
	if (!push)
		return PERCH__NO_MEMORY(err, "to send windows");
	push->options = *options;
	if (!push->options.timeout)
		push->options.timeout = (uint64_t)REQUEST_SECONDS * SECOND;
	if (!push->options.least_wait)
		push->options.least_wait = SECOND;
	if (!push->options.most_wait)
		push->options.most_wait = (uint64_t)WAIT_SECONDS * SECOND;
	if (!push->options.user_agent)
		push->options.user_agent = "perch-agent";
	push->nr = options->nr;
	for (size_t i = 0; i < push->nr; i++) {
		push->sender[i].push = push;
		push->sender[i].target = &options->target[i];
		push->sender[i].stats.name = options->target[i].name;
	}
	pthread_mutex_init(&push->mutex, NULL);
	push->last = &push->first;
	rc = open_parts(push, err);
	if (rc)
		agent_push_close(push, 0);
	else
		*result = push;
	return rc;
}

bool agent_push_wants(const struct agent_push *push, enum agent_push_kind kind)
{
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target->kind == kind)
			return true;
	return false;
}

static int drop_new(struct agent_push *push, enum agent_push_kind kind, uint64_t size,
		    enum agent_drop_reason reason, int rc)
{
	for (size_t i = 0; i < push->nr; i++)
		if (push->sender[i].target->kind == kind)
			count_dropped(&push->sender[i], reason, size);
	return rc;
}

int agent_push_add(struct agent_push *push, enum agent_push_kind kind,
		   const struct agent_push_window *window)
{
	struct queued *queued;
	bool full;

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
	pthread_mutex_lock(&push->mutex);
	full = push->queued_bytes + window->size > QUEUE_MAX;
	if (!full) {
		*push->last = queued;
		push->last = &queued->next;
		push->queued_bytes += window->size;
	}
	pthread_mutex_unlock(&push->mutex);
	if (full) {
		free(queued);
		return drop_new(push, kind, window->size, AGENT_DROP_QUEUE, -ENOSPC);
	}
	push_http_wake(push->http);
	return 0;
}

void agent_push_stats(struct agent_push *push, struct agent_push_stats *stats)
{
	pthread_mutex_lock(&push->mutex);
	stats->nr_targets = push->nr;
	for (size_t i = 0; i < push->nr; i++)
		stats->target[i] = push->sender[i].stats;
	stats->spool = push->spool_stats;
	stats->queued_bytes = push->queued_bytes;
	stats->dropped_other = push->dropped_other;
	pthread_mutex_unlock(&push->mutex);
}

void agent_push_close(struct agent_push *push, uint64_t wait)
{
	if (!push)
		return;
	if (push->has_thread) {
		pthread_mutex_lock(&push->mutex);
		push->stop = true;
		push->stop_wait = wait;
		pthread_mutex_unlock(&push->mutex);
		push_http_wake(push->http);
		pthread_join(push->thread, NULL);
	}
	agent_spool_close(push->spool);
	push_http_free(push->http);
	pthread_mutex_destroy(&push->mutex);
	free(push);
}
