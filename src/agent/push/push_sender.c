/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "push_answer.h"
#include "push_sender.h"

enum {
	RETRY_AFTER_WAITS = 10, /* the longest Retry-After, in longest waits */
	NOTE_MAX = 1024,
};

void push_note(const struct push_shared *shared, const char *format, ...)
{
	char text[NOTE_MAX];
	va_list list;

	if (!shared->options.note)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	shared->options.note(shared->options.context, text);
}

/* ---- counters ---- */

void push_sender_count_dropped(struct push_sender *sender, enum agent_drop_reason reason,
			       uint64_t bytes)
{
	pthread_mutex_lock(&sender->shared->mutex);
	sender->stats.dropped[reason]++;
	sender->stats.dropped_bytes[reason] += bytes;
	pthread_mutex_unlock(&sender->shared->mutex);
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
static void wait_longer(struct push_sender *sender, const char *retry_after)
{
	const struct agent_push_options *options = &sender->shared->options;
	uint64_t wait = options->least_wait, most = options->most_wait;
	int64_t seconds = agent_push_retry_after(retry_after, (int64_t)time(NULL));

	for (unsigned i = 0; i < sender->failures && wait < most; i++)
		wait *= 2;
	sender->failures++;
	wait = agent_push_jitter(wait < most ? wait : most);
	if (*retry_after && seconds >= 0) {
		uint64_t asked = (uint64_t)seconds * PUSH_SECOND;

		if (asked > most * RETRY_AFTER_WAITS)
			asked = most * RETRY_AFTER_WAITS;
		/* not before, and not all agents at once */
		if (asked < options->least_wait)
			asked = options->least_wait;
		wait = asked + (agent_push_jitter(asked) - (asked - asked / 5)) / 2;
	}
	sender->next = push_clock(CLOCK_MONOTONIC) + wait;
}

/* Remembers why a request failed. Returns true if that is news. */
static bool set_reason(struct push_sender *sender, bool failing, const char *reason)
{
	bool news;

	pthread_mutex_lock(&sender->shared->mutex);
	news = sender->stats.failing != failing || strcmp(sender->stats.reason, reason);
	sender->stats.failing = failing;
	snprintf(sender->stats.reason, sizeof(sender->stats.reason), "%s", reason);
	pthread_mutex_unlock(&sender->shared->mutex);
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

static void end_taken(struct push_sender *sender)
{
	struct push_shared *shared = sender->shared;
	const char *name = sender->target.name;
	char reason[AGENT_REASON_MAX] = "";
	uint64_t rejected = 0;

	if (sender->target.kind == AGENT_PUSH_OTLP)
		rejected = agent_push_rejected(sender->request.answer, sender->request.answer_size,
					       reason, sizeof(reason));
	agent_spool_remove(shared->spool, &sender->entry);
	pthread_mutex_lock(&shared->mutex);
	sender->stats.windows++;
	sender->stats.bytes += sender->entry.size;
	sender->stats.rejected += rejected;
	pthread_mutex_unlock(&shared->mutex);
	if (sender->failures)
		push_note(shared, "%s takes windows again", name);
	if (set_reason(sender, false, reason) && *reason)
		push_note(shared, "%s rejected %" PRIu64 " profiles: %s", name, rejected, reason);
	sender->failures = 0;
	sender->next = push_clock(CLOCK_MONOTONIC) + shared->options.least_wait;
}

static void end_refused(struct push_sender *sender, const char *reason)
{
	if (set_reason(sender, true, reason))
		push_note(sender->shared, "%s refused a window, which is dropped: %s",
			  sender->target.name, reason);
	agent_spool_drop(sender->shared->spool, &sender->entry, AGENT_DROP_REFUSED);
	sender->failures = 0;
	sender->next = push_clock(CLOCK_MONOTONIC) + sender->shared->options.least_wait;
}

static void end_untaken(struct push_sender *sender, const char *reason, bool unknown)
{
	struct push_shared *shared = sender->shared;

	if (set_reason(sender, true, reason))
		push_note(shared,
			  unknown ? "%s gave no answer to a window, which is dropped: %s"
				  : "%s does not take windows, which wait in the spool: %s",
			  sender->target.name, reason);
	if (unknown) {
		agent_spool_drop(shared->spool, &sender->entry, AGENT_DROP_UNANSWERED);
		sender->unsure = true;
	} else if (sender->request.all_sent) {
		agent_spool_mark(shared->spool, &sender->entry, false);
	}
	wait_longer(sender, sender->request.retry_after);
}

/* A request without a window asked whether the server answers. */
static void end_asking(struct push_sender *sender, enum agent_push_outcome outcome,
		       const char *reason)
{
	if (!sender->request.code || outcome == AGENT_PUSH_RETRY) {
		set_reason(sender, true, reason);
		wait_longer(sender, sender->request.retry_after);
		return;
	}
	sender->unsure = false;
	sender->next = push_clock(CLOCK_MONOTONIC) + sender->shared->options.least_wait;
}

void push_sender_end(struct push_sender *sender)
{
	const struct push_request *request = &sender->request;
	enum agent_push_outcome outcome = request->code	      ? agent_push_outcome_of(request->code)
					  : request->all_sent ? AGENT_PUSH_UNKNOWN
							      : AGENT_PUSH_RETRY;
	char reason[AGENT_REASON_MAX];

	if (!sender->busy || !request->ended)
		return;
	sender->busy = false;
	make_reason(request, reason);
	if (!sender->gone) {
		pthread_mutex_lock(&sender->shared->mutex);
		count_code(&sender->stats, request->code);
		pthread_mutex_unlock(&sender->shared->mutex);
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
	struct push_sender *sender = context;
	int rc = agent_spool_mark(sender->shared->spool, &sender->entry, true);

	sender->gone = rc == -ENOENT;
	return rc;
}

void push_sender_begin(struct push_sender *sender, uint64_t now)
{
	struct push_shared *shared = sender->shared;
	struct push_request *request = &sender->request;

	if (sender->busy || sender->next > now ||
	    !agent_spool_oldest(shared->spool, sender->target.hash, &sender->entry))
		return;
	sender->asks = sender->unsure;
	sender->gone = false;
	if (!sender->asks) {
		sender->body = agent_spool_load(shared->spool, &sender->entry);
		/* it is damaged: there is another one, or none */
		if (!sender->body ||
		    !agent_spool_oldest(shared->spool, sender->target.hash, &sender->entry))
			return;
	}
	request->target = &sender->target;
	request->user_agent = shared->options.user_agent;
	request->timeout = (long)(shared->options.timeout / PUSH_MILLISECOND);
	request->body = sender->body;
	request->size = sender->asks ? 0 : sender->entry.size;
	request->gzip = !sender->asks && sender->entry.gzip;
	request->before_last = before_last;
	request->context = sender;
	sender->busy = true;
	push_http_start(shared->http, request);
}

/* Milliseconds until a target can have a request; PUSH_IDLE_MS if it has none to send. */
int push_sender_wait(const struct push_sender *sender, uint64_t now)
{
	struct agent_spool_entry entry;

	if (sender->busy)
		return sender->request.ended ? 0 : PUSH_IDLE_MS;
	if (!agent_spool_oldest(sender->shared->spool, sender->target.hash, &entry))
		return PUSH_IDLE_MS;
	if (sender->next <= now)
		return 0;
	return (sender->next - now) / PUSH_MILLISECOND < PUSH_IDLE_MS
		       ? (int)((sender->next - now) / PUSH_MILLISECOND) + 1
		       : PUSH_IDLE_MS;
}

void push_sender_cancel(struct push_sender *sender)
{
	push_http_cancel(sender->shared->http, &sender->request);
	/* the code of its answer has come, and says whether the server has the window */
	if (sender->request.code)
		push_sender_end(sender);
	free(sender->body);
	sender->body = NULL;
}

void push_sender_interrupt(struct push_sender *sender)
{
	push_sender_end(sender); /* if its answer has come */
	if (!sender->busy)
		return;
	push_sender_cancel(sender);
	if (!sender->busy)
		return;
	sender->busy = false;
	if (sender->asks || sender->gone || !sender->request.all_sent)
		return;
	agent_spool_drop(sender->shared->spool, &sender->entry, AGENT_DROP_UNANSWERED);
	sender->unsure = true;
}

void push_sender_take_over(struct push_sender *sender, const struct push_sender *from)
{
	sender->unsure = from->unsure;
	sender->stats = from->stats;
	sender->stats.name = sender->target.name;
	if (!agent_push_target_equal(&sender->target, &from->target))
		return;
	sender->next = from->next;
	sender->failures = from->failures;
}
