/* SPDX-License-Identifier: MIT */
/*
 * Makes intervals of the switches of threads. Short ones are added up per thread, state and call
 * chain. A sum becomes a sample when its first interval is a second old, or when there are many.
 */
#include <string.h>

#include "base/array.h"
#include "recorder/off_cpu/off_cpu.h"

#define MAX_SUMS      4096
#define MAX_SUM_BYTES (4u << 20)
#define SUM_NS	      1000000000u
#define MAX_COPIES    (64u << 20)
#define ENDED_NS      1000000000u

/* common_flags of all tracepoints: interrupt context, hard or soft */
#define COMMON_FLAGS 2
#define IN_INTERRUPT (0x08 | 0x10)

/* ---- threads ---- */

static bool same_thread(const void *items, uint32_t index, const void *tid)
{
	return ((const struct off_cpu_thread *)items)[index].tid == *(const uint32_t *)tid;
}

static uint64_t hash_thread(const struct off_cpu_intervals *intervals, uint32_t tid)
{
	return perch__hash_integer(intervals->table.seed, tid);
}

static struct off_cpu_thread *find_thread(struct off_cpu_intervals *intervals, uint32_t tid)
{
	uint32_t index = perch__hash_find(&intervals->table, hash_thread(intervals, tid),
					  same_thread, intervals->thread, &tid);

	return index == PERCH__HASH_NONE ? NULL : &intervals->thread[index];
}

/* Returns NULL without memory. */
static struct off_cpu_thread *get_thread(struct off_cpu_intervals *intervals, uint32_t pid,
					 uint32_t tid)
{
	struct off_cpu_thread *thread;

	if (!intervals->table.seed)
		intervals->table.seed = perch__hash_seed(intervals);
	thread = find_thread(intervals, tid);
	if (thread || perch__hash_reserve(&intervals->table, intervals->nr + 1))
		return thread;
	thread = PERCH__ARRAY_APPEND(intervals->thread, intervals->nr, intervals->capacity);
	if (!thread)
		return NULL;
	*thread = (struct off_cpu_thread){ .tid = tid, .pid = pid };
	perch__hash_add(&intervals->table, hash_thread(intervals, tid), intervals->nr - 1);
	return thread;
}

static void remove_thread(struct off_cpu_intervals *intervals, struct off_cpu_thread *thread)
{
	uint32_t index = (uint32_t)(thread - intervals->thread), last;
	struct off_cpu_thread *moved = &intervals->thread[intervals->nr - 1];

	last = (uint32_t)(moved - intervals->thread);
	perch__hash_remove(&intervals->table, hash_thread(intervals, thread->tid), index);
	intervals->copied -= thread->capacity;
	free(thread->sample);
	free(thread->waker.chain);
	if (index != last) {
		perch__hash_move(&intervals->table, hash_thread(intervals, moved->tid), last,
				 index);
		*thread = *moved;
	}
	intervals->nr--;
}

/* The last switch of a thread that nobody waits for has no thread id any more. */
static void remove_ended(struct off_cpu_intervals *intervals)
{
	for (size_t i = intervals->nr; i-- > 0;) {
		struct off_cpu_thread *thread = &intervals->thread[i];

		if (thread->ended && intervals->now - thread->out >= ENDED_NS)
			remove_thread(intervals, thread);
	}
	intervals->swept = intervals->now;
}

/* ---- samples ---- */

static void drop(struct off_cpu_intervals *intervals, uint64_t nr, uint64_t ns)
{
	intervals->counts.dropped_intervals += nr;
	intervals->counts.dropped_ns += ns;
}

static void append_interval(struct off_cpu_intervals *intervals, const struct off_cpu_switch *from,
			    const struct perch_off_cpu *interval, bool only_chain)
{
	struct off_cpu_counts *counts = &intervals->counts;

	if (perch__off_cpu_append(&intervals->layout, &intervals->samples, from, interval,
				  intervals->now, only_chain)) {
		drop(intervals, interval->intervals, interval->ns);
		return;
	}
	intervals->nr_samples++;
	counts->intervals += interval->intervals;
	counts->ns += interval->ns;
	counts->without_stack += from->bytes ? 0 : interval->intervals;
	counts->not_ended += (interval->flags & PERCH_OFF_CPU_NOT_ENDED) != 0;
}

/* ---- sums ---- */

static struct off_cpu_switch first_of(const struct off_cpu_intervals *intervals,
				      const struct off_cpu_sum *sum)
{
	struct off_cpu_switch first = sum->first;

	if (first.size)
		first.bytes = intervals->copies.bytes + sum->at;
	return first;
}

static void end_sums(struct off_cpu_intervals *intervals)
{
	for (size_t i = 0; i < intervals->nr_sums; i++) {
		const struct off_cpu_sum *sum = &intervals->sum[i];
		const struct perch_off_cpu interval = { .pid = sum->pid,
							.tid = sum->tid,
							.ns = sum->ns,
							.intervals = sum->intervals,
							.start = sum->start,
							.state = sum->state };
		struct off_cpu_switch first = first_of(intervals, sum);

		append_interval(intervals, &first, &interval, sum->intervals > 1);
		intervals->counts.summed += sum->intervals;
		intervals->counts.summed_ns += sum->ns;
	}
	intervals->nr_sums = 0;
	intervals->copies.used = 0;
	perch__hash_clear(&intervals->sums);
}

struct sum_key {
	const struct off_cpu_intervals *intervals;
	const struct off_cpu_thread *thread;
	const uint64_t *chain;
	uint64_t nr, hash;
};

static bool same_sum(const void *items, uint32_t index, const void *wanted)
{
	const struct off_cpu_sum *sum = &((const struct off_cpu_sum *)items)[index];
	const struct sum_key *key = wanted;
	struct off_cpu_switch first = first_of(key->intervals, sum);
	const uint64_t *chain;
	uint64_t nr;

	if (sum->hash != key->hash || sum->tid != key->thread->tid ||
	    sum->state != key->thread->state)
		return false;
	chain = perch__off_cpu_chain(&first, &nr);
	return nr == key->nr && (!nr || !memcmp(chain, key->chain, nr * sizeof(*chain)));
}

static struct off_cpu_sum *add_sum(struct off_cpu_intervals *intervals, const struct sum_key *key)
{
	const struct off_cpu_thread *thread = key->thread;
	struct off_cpu_bytes *copies = &intervals->copies;
	size_t size = thread->last.bytes ? thread->last.size : 0;
	struct off_cpu_sum *sum;

	if (intervals->nr_sums == MAX_SUMS || copies->used + size > MAX_SUM_BYTES)
		end_sums(intervals);
	if (PERCH__ARRAY_RESERVE(copies->bytes, copies->capacity, copies->used + size) ||
	    perch__hash_reserve(&intervals->sums, intervals->nr_sums + 1))
		return NULL;
	sum = PERCH__ARRAY_APPEND(intervals->sum, intervals->nr_sums, intervals->sums_capacity);
	if (!sum)
		return NULL;
	*sum = (struct off_cpu_sum){ .tid = thread->tid,
				     .pid = thread->pid,
				     .state = thread->state,
				     .hash = key->hash,
				     .start = thread->out,
				     .at = copies->used,
				     .first = thread->last };
	sum->first.size = size;
	sum->first.bytes = NULL;
	if (size)
		memcpy(copies->bytes + copies->used, thread->last.bytes, size);
	copies->used += size;
	perch__hash_add(&intervals->sums, key->hash, intervals->nr_sums - 1);
	if (intervals->nr_sums == 1)
		intervals->oldest_sum = intervals->now;
	return sum;
}

static void add_to_sum(struct off_cpu_intervals *intervals, const struct off_cpu_thread *thread,
		       uint64_t ns)
{
	struct sum_key key = { .intervals = intervals, .thread = thread };
	struct off_cpu_sum *sum;
	uint32_t index;

	key.chain = perch__off_cpu_chain(&thread->last, &key.nr);
	key.hash = perch__hash_pair(intervals->table.seed, thread->tid, thread->state);
	if (key.nr)
		key.hash = perch__hash_bytes(key.hash, key.chain, key.nr * sizeof(*key.chain));
	index = perch__hash_find(&intervals->sums, key.hash, same_sum, intervals->sum, &key);
	sum = index == PERCH__HASH_NONE ? add_sum(intervals, &key) : &intervals->sum[index];
	if (!sum) {
		drop(intervals, 1, ns);
		return;
	}
	sum->ns += ns;
	sum->intervals++;
}

/* ---- intervals ---- */

void perch__off_cpu_add_loss(struct off_cpu_intervals *intervals, uint64_t from, uint64_t to)
{
	struct off_cpu_loss *loss = intervals->loss;

	if (intervals->nr_losses == OFF_CPU_MAX_LOSSES) {
		/* the two oldest become one, which has all that is between them */
		loss[0].from = loss[0].from < loss[1].from ? loss[0].from : loss[1].from;
		loss[0].to = loss[0].to > loss[1].to ? loss[0].to : loss[1].to;
		memmove(&loss[1], &loss[2], (--intervals->nr_losses - 1) * sizeof(*loss));
	}
	loss[intervals->nr_losses++] = (struct off_cpu_loss){ from, to };
}

static bool spans_loss(const struct off_cpu_intervals *intervals, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < intervals->nr_losses; i++)
		if (start <= intervals->loss[i].to && end > intervals->loss[i].from)
			return true;
	return false;
}

/* The thread is on the CPU again, or the recording ends. */
static void end_interval(struct off_cpu_intervals *intervals, struct off_cpu_thread *thread,
			 uint64_t end, uint32_t flags)
{
	struct perch_off_cpu interval = { .pid = thread->pid,
					  .tid = thread->tid,
					  .ns = end > thread->out ? end - thread->out : 0,
					  .intervals = 1,
					  .start = thread->out,
					  .state = thread->state,
					  .flags = flags | thread->waker.flags,
					  .waker_pid = thread->waker.pid,
					  .waker_tid = thread->waker.tid,
					  .waker_nr = thread->waker.nr,
					  .waker_chain = thread->waker.chain };

	if (spans_loss(intervals, thread->out, end)) {
		intervals->counts.lost_intervals++;
		intervals->counts.lost_ns += interval.ns;
	} else if (interval.ns >= intervals->threshold || flags) {
		append_interval(intervals, &thread->last, &interval, false);
	} else {
		add_to_sum(intervals, thread, interval.ns);
	}
	thread->last.bytes = NULL;
	thread->waker.flags = 0;
}

/* A thread that was off the CPU when the recording began is first seen when it comes back. */
static void come_in(struct off_cpu_intervals *intervals, struct off_cpu_thread *thread,
		    uint64_t time)
{
	if (thread->position == OFF_CPU_OFF) {
		end_interval(intervals, thread, time, 0);
	} else if (thread->position == OFF_CPU_ON) {
		intervals->counts.lost_intervals++;
	} else if (thread->position == OFF_CPU_UNSEEN && intervals->started &&
		   time > intervals->started) {
		thread->out = intervals->started;
		thread->state = thread->last.bytes ? thread->last.state : PERCH_OFF_CPU_UNKNOWN;
		end_interval(intervals, thread, time, PERCH_OFF_CPU_BEGAN_BEFORE);
	}
	thread->position = OFF_CPU_ON;
}

static void take_switch(struct off_cpu_intervals *intervals, const struct perch_record *record)
{
	const struct perch_switch_record *change = &record->context_switch;
	struct off_cpu_thread *thread =
		get_thread(intervals, record->sample_id.pid, record->sample_id.tid);

	if (!thread) {
		drop(intervals, !change->out, 0);
		return;
	}
	if (thread->ended) {
		/* a thread that is preempted on its way to the last switch comes back once more */
		if (change->out && !change->preempt)
			remove_thread(intervals, thread);
		return;
	}
	if (!change->out) {
		come_in(intervals, thread, record->sample_id.time);
		return;
	}
	intervals->counts.lost_intervals += thread->position == OFF_CPU_OFF;
	if (thread->last.before)
		thread->last.bytes = NULL; /* it ran, and its sample was lost */
	thread->position = OFF_CPU_OFF;
	thread->waker.flags = 0;
	thread->out = record->sample_id.time;
	thread->state = change->preempt	     ? PERCH_OFF_CPU_PREEMPTED
			: thread->last.bytes ? thread->last.state
					     : PERCH_OFF_CPU_UNKNOWN;
	if (thread->state == PERCH_OFF_CPU_UNKNOWN)
		thread->state = PERCH_OFF_CPU_BLOCKED;
}

uint32_t perch__off_cpu_state_of_letter(char letter)
{
	static const uint8_t states[PERCH_TIMELINE_STATES] = {
		[PERCH_TIMELINE_PREEMPTED] = PERCH_OFF_CPU_PREEMPTED,
		[PERCH_TIMELINE_BLOCKED] = PERCH_OFF_CPU_BLOCKED,
		[PERCH_TIMELINE_SLEEPING] = PERCH_OFF_CPU_SLEEPING,
		[PERCH_TIMELINE_UNINTERRUPTIBLE] = PERCH_OFF_CPU_UNINTERRUPTIBLE,
		[PERCH_TIMELINE_IDLE] = PERCH_OFF_CPU_IDLE,
		[PERCH_TIMELINE_STOPPED] = PERCH_OFF_CPU_STOPPED,
		[PERCH_TIMELINE_PARKED] = PERCH_OFF_CPU_PARKED,
		[PERCH_TIMELINE_DEAD] = PERCH_OFF_CPU_DEAD,
	};

	return states[perch__timeline_state(letter)];
}

static uint32_t state_of(const struct off_cpu_intervals *intervals,
			 const struct perch_sample *sample)
{
	uint64_t bits;

	if (!intervals->state_at || sample->raw.size < intervals->state_at + sizeof(bits))
		return PERCH_OFF_CPU_UNKNOWN;
	memcpy(&bits, (const char *)sample->raw.data + intervals->state_at, sizeof(bits));
	return perch__off_cpu_state_of_letter(perch__timeline_letter(&intervals->states, bits));
}

/* The sample of a switch comes before its SWITCH record. */
static void take_sample(struct off_cpu_intervals *intervals, const struct perch_record *record)
{
	struct off_cpu_thread *thread =
		get_thread(intervals, record->sample.pid, record->sample.tid);
	struct off_cpu_switch last = perch__off_cpu_switch(&intervals->layout, record);
	size_t before;
	int rc;

	if (!thread || thread->ended)
		return;
	thread->last.bytes = NULL;
	before = thread->capacity;
	/* the stacks of 100,000 threads that wait would take a gigabyte */
	if (before < last.size && intervals->copied + last.size > MAX_COPIES)
		last.size = last.rest;
	rc = PERCH__ARRAY_RESERVE(thread->sample, thread->capacity, last.size);
	intervals->copied += thread->capacity - before;
	if (rc)
		return;
	memcpy(thread->sample, record->bytes, last.size);
	last.bytes = thread->sample;
	last.state = state_of(intervals, &record->sample);
	thread->last = last;
}

/* A thread that is still on its way off the CPU when it is woken does not leave it. */
static void take_waking(struct off_cpu_intervals *intervals, const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	const struct off_cpu_switch from = perch__off_cpu_switch(&intervals->layout, record);
	const char *data = sample->raw.data;
	struct off_cpu_thread *thread;
	struct off_cpu_waker *waker;
	const uint64_t *chain;
	uint64_t nr;
	uint32_t tid;

	if (sample->raw.size < intervals->woken_at + sizeof(tid))
		return;
	memcpy(&tid, data + intervals->woken_at, sizeof(tid));
	thread = find_thread(intervals, tid);
	if (!thread || thread->position != OFF_CPU_OFF)
		return;
	waker = &thread->waker;
	chain = perch__off_cpu_chain(&from, &nr);
	if (PERCH__ARRAY_RESERVE(waker->chain, waker->capacity, nr))
		return;
	if (nr)
		memcpy(waker->chain, chain, nr * sizeof(*chain));
	waker->nr = nr;
	waker->pid = sample->pid;
	waker->tid = sample->tid;
	waker->flags = PERCH_OFF_CPU_WOKEN;
	if (data[COMMON_FLAGS] & IN_INTERRUPT)
		waker->flags |= PERCH_OFF_CPU_WOKEN_BY_INTERRUPT;
}

static void take_fork(struct off_cpu_intervals *intervals, const struct perch_task_record *task)
{
	struct off_cpu_thread *thread = get_thread(intervals, task->pid, task->tid);

	if (!thread)
		return;
	/* another thread may have had this id */
	thread->pid = task->pid;
	thread->ended = false;
	thread->position = OFF_CPU_NEW;
	thread->last.bytes = NULL;
	thread->waker.flags = 0;
}

static void take_exit(struct off_cpu_intervals *intervals, const struct perch_task_record *task)
{
	struct off_cpu_thread *thread = find_thread(intervals, task->tid);

	if (!thread)
		return;
	thread->ended = true;
	thread->out = intervals->now;
	thread->last.bytes = NULL;
	if (!intervals->cpu_wide)
		remove_thread(intervals, thread);
}

void perch__off_cpu_take(struct off_cpu_intervals *intervals, const struct perch_record *record)
{
	if (record->sample_id.time > intervals->now)
		intervals->now = record->sample_id.time;
	if (record->type == PERCH_RECORD_FORK)
		take_fork(intervals, &record->task);
	else if (record->type == PERCH_RECORD_EXIT)
		take_exit(intervals, &record->task);
	else if (record->type == PERCH_RECORD_SAMPLE && record->event == OFF_CPU_WAKING)
		take_waking(intervals, record);
	else if (!record->sample_id.tid || record->sample_id.tid == UINT32_MAX)
		return; /* the idle task of a CPU, which has no off-CPU time, or a dead task */
	else if (record->type == PERCH_RECORD_SAMPLE)
		take_sample(intervals, record);
	else if (record->type == PERCH_RECORD_SWITCH ||
		 record->type == PERCH_RECORD_SWITCH_CPU_WIDE)
		take_switch(intervals, record);
}

void perch__off_cpu_end_round(struct off_cpu_intervals *intervals)
{
	if (intervals->nr_sums && intervals->now - intervals->oldest_sum >= SUM_NS)
		end_sums(intervals);
	if (intervals->now - intervals->swept >= ENDED_NS)
		remove_ended(intervals);
}

void perch__off_cpu_add_waiting(struct off_cpu_intervals *intervals, uint32_t pid, uint32_t tid,
				uint64_t time)
{
	struct off_cpu_thread *thread = get_thread(intervals, pid, tid);

	if (!thread || thread->position != OFF_CPU_UNSEEN || !intervals->started)
		return;
	if (thread->pid != pid)
		return; /* it has ended, and another process has its id */
	if (time > intervals->now)
		intervals->now = time;
	thread->out = intervals->started;
	thread->state = thread->last.bytes ? thread->last.state : PERCH_OFF_CPU_BLOCKED;
	thread->position = OFF_CPU_ON;
	end_interval(intervals, thread, intervals->now,
		     PERCH_OFF_CPU_BEGAN_BEFORE | PERCH_OFF_CPU_NOT_ENDED);
}

void perch__off_cpu_set_wait(struct off_cpu_intervals *intervals, uint32_t pid, uint32_t tid,
			     uint32_t state, const uint64_t *chain, size_t nr)
{
	struct off_cpu_thread *thread = get_thread(intervals, pid, tid);
	size_t size = perch__off_cpu_make_switch(&intervals->layout, chain, nr, NULL, NULL), before;

	if (!thread || thread->position != OFF_CPU_UNSEEN || !nr)
		return;
	before = thread->capacity;
	if (intervals->copied + size > MAX_COPIES ||
	    PERCH__ARRAY_RESERVE(thread->sample, thread->capacity, size))
		return;
	intervals->copied += thread->capacity - before;
	perch__off_cpu_make_switch(&intervals->layout, chain, nr, thread->sample, &thread->last);
	thread->last.state = state;
}

void perch__off_cpu_end(struct off_cpu_intervals *intervals, uint64_t time)
{
	if (time > intervals->now)
		intervals->now = time;
	for (size_t i = 0; i < intervals->nr; i++) {
		struct off_cpu_thread *thread = &intervals->thread[i];

		if (thread->position == OFF_CPU_OFF && !thread->ended)
			end_interval(intervals, thread, intervals->now, PERCH_OFF_CPU_NOT_ENDED);
		thread->position = OFF_CPU_UNSEEN;
		thread->last.bytes = NULL;
	}
	intervals->started = 0; /* unknown until the events are enabled again */
	end_sums(intervals);
	for (size_t i = 0; i < intervals->nr_losses; i++)
		if (intervals->loss[i].to > intervals->now)
			intervals->loss[i].to = intervals->now;
}

void perch__off_cpu_clear(struct off_cpu_intervals *intervals)
{
	for (size_t i = 0; i < intervals->nr; i++) {
		free(intervals->thread[i].sample);
		free(intervals->thread[i].waker.chain);
	}
	free(intervals->thread);
	perch__hash_clear(&intervals->table);
	free(intervals->sum);
	perch__hash_clear(&intervals->sums);
	free(intervals->copies.bytes);
	free(intervals->samples.bytes);
}
