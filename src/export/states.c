/* SPDX-License-Identifier: MIT */
/* What threads and CPUs did when, in bounded memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "states.h"

#define MAX_TRACKS	32768
#define MAX_FINE_TRACKS 1024
#define MAX_SPANS	500000
#define MAX_CPUS	8192
#define MAX_MOVED	1024  /* spans, for the sum of a sample */
#define FIRST_QUANTUM	1024u /* ns */
#define LAST_QUANTUM	(UINT64_C(1) << 62)

void perch__states_init(struct export_states *states, uint64_t seed)
{
	*states = (struct export_states){ .max_tracks = MAX_TRACKS,
					  .max_spans = MAX_SPANS,
					  .max_fine_tracks = MAX_FINE_TRACKS,
					  .table.seed = seed };
}

void perch__states_clear(struct export_states *states)
{
	for (size_t i = 0; i < states->nr_tracks; i++)
		free(states->track[i].span);
	free(states->track);
	free(states->slot);
	free(states->cpu);
	perch__hash_clear(&states->table);
	*states = (struct export_states){ 0 };
}

/* ---- states ---- */

static unsigned state_of(uint32_t state)
{
	static const uint8_t states[PERCH_TIMELINE_STATES] = {
		[PERCH_TIMELINE_UNKNOWN] = EXPORT_OFF,
		[PERCH_TIMELINE_RUNNING] = EXPORT_RUNNING,
		[PERCH_TIMELINE_NEW] = EXPORT_NO_STATE,
		[PERCH_TIMELINE_WOKEN] = EXPORT_RUNNABLE,
		[PERCH_TIMELINE_PREEMPTED] = EXPORT_PREEMPTED,
		[PERCH_TIMELINE_BLOCKED] = EXPORT_BLOCKED,
		[PERCH_TIMELINE_SLEEPING] = EXPORT_BLOCKED,
		[PERCH_TIMELINE_UNINTERRUPTIBLE] = EXPORT_DISK,
		[PERCH_TIMELINE_IDLE] = EXPORT_BLOCKED,
		[PERCH_TIMELINE_STOPPED] = EXPORT_BLOCKED,
		[PERCH_TIMELINE_PARKED] = EXPORT_BLOCKED,
		[PERCH_TIMELINE_DEAD] = EXPORT_NO_STATE,
	};

	return state < PERCH_TIMELINE_STATES ? states[state] : EXPORT_OFF;
}

unsigned perch__states_of_off_cpu(uint32_t state)
{
	static const uint8_t states[PERCH_OFF_CPU_STATES] = {
		[PERCH_OFF_CPU_UNKNOWN] = EXPORT_OFF,
		[PERCH_OFF_CPU_BLOCKED] = EXPORT_BLOCKED,
		[PERCH_OFF_CPU_PREEMPTED] = EXPORT_PREEMPTED,
		[PERCH_OFF_CPU_SLEEPING] = EXPORT_BLOCKED,
		[PERCH_OFF_CPU_UNINTERRUPTIBLE] = EXPORT_DISK,
		[PERCH_OFF_CPU_STOPPED] = EXPORT_BLOCKED,
		[PERCH_OFF_CPU_DEAD] = EXPORT_OFF,
		[PERCH_OFF_CPU_PARKED] = EXPORT_BLOCKED,
		[PERCH_OFF_CPU_IDLE] = EXPORT_BLOCKED,
	};

	return state < PERCH_OFF_CPU_STATES ? states[state] : EXPORT_OFF;
}

/* ---- the busiest tracks ---- */

struct busy_track {
	uint64_t running;
	uint32_t index;
};

static int compare_busy(const void *left, const void *right)
{
	const struct busy_track *a = left, *b = right;

	if (a->running != b->running)
		return a->running > b->running ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Returns the tracks, the busiest first; NULL without memory. */
static struct busy_track *sort_tracks(const struct export_states *states)
{
	struct busy_track *order = calloc(states->nr_tracks + 1, sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < states->nr_tracks; i++)
		order[i] = (struct busy_track){ states->track[i].sum[EXPORT_RUNNING], (uint32_t)i };
	qsort(order, states->nr_tracks, sizeof(*order), compare_busy);
	return order;
}

/* ---- fewer spans ---- */

/* True if a span and what follows it are in one of the equal parts of the time. */
static bool are_close(const struct state_span *span, uint64_t end, uint64_t quantum)
{
	return quantum && span->start / quantum == (end - 1) / quantum;
}

static void join(struct state_span *to, const struct state_span *from)
{
	to->end = from->end;
	for (size_t i = 0; i < EXPORT_STATES; i++)
		to->ns[i] += from->ns[i];
	if (to->tid != from->tid)
		to->tid = NO_INDEX;
	to->uncertain |= from->uncertain;
}

/* Frees most of what merged spans do not need. */
static void shrink_track(struct state_track *track)
{
	size_t capacity = 2 * track->nr;
	struct state_span *smaller;

	if (!track->nr || track->capacity / 4 <= track->nr)
		return;
	smaller = realloc(track->span, capacity * sizeof(*smaller));
	if (!smaller)
		return;
	track->span = smaller;
	track->capacity = capacity;
}

/* Merges the spans of a track. Returns how many fewer there are. */
static size_t merge_track(struct state_track *track, uint64_t quantum)
{
	size_t nr = 0, before = track->nr;

	for (size_t i = 1; i < track->nr; i++) {
		struct state_span *last = &track->span[nr];

		if (are_close(last, track->span[i].end, quantum))
			join(last, &track->span[i]);
		else
			track->span[++nr] = track->span[i];
	}
	track->nr = before ? nr + 1 : 0;
	shrink_track(track);
	return before - track->nr;
}

/* Doubles the quantum until there are at most this many spans. */
static void merge_spans(struct export_states *states, size_t most)
{
	while (states->nr_spans > most && states->quantum < LAST_QUANTUM) {
		states->quantum = states->quantum ? 2 * states->quantum : FIRST_QUANTUM;
		for (size_t i = 0; i < states->nr_tracks; i++)
			states->nr_spans -= merge_track(&states->track[i], states->quantum);
	}
}

/* Each of the less busy tracks becomes one span. Returns 0 or -ENOMEM. */
static int merge_idle_tracks(struct export_states *states)
{
	struct busy_track *order = sort_tracks(states);

	if (!order)
		return -ENOMEM;
	for (size_t i = states->max_fine_tracks; i < states->nr_tracks; i++)
		states->nr_spans -= merge_track(&states->track[order[i].index], LAST_QUANTUM);
	free(order);
	return 0;
}

/* Merges what is likely to have no row, then short spans. Returns 0 or -ENOMEM. */
static int make_space(struct export_states *states)
{
	int rc = merge_idle_tracks(states);

	if (!rc)
		merge_spans(states, states->max_spans / 2);
	return rc;
}

/* ---- fewer tracks ---- */

static void add_to_sum(uint64_t *to, const uint64_t *from)
{
	for (size_t i = 0; i < EXPORT_STATES; i++)
		to[i] += from[i];
}

/* Frees a track. A thread is counted among those without one. */
static void leave_out(struct export_states *states, struct state_track *track)
{
	if (!track->is_cpu) {
		states->left_out++;
		add_to_sum(states->left_sum, track->sum);
	}
	states->nr_spans -= track->nr;
	free(track->span);
}

/* Moves what refers to tracks. map: by old index the new one + 1; 0: left out. */
static void renumber_tracks(struct export_states *states, const uint32_t *map)
{
	for (size_t i = 0; i < states->nr_slots; i++) {
		struct state_slot *slot = &states->slot[i];

		if (slot->track == NO_INDEX)
			continue;
		if (map[slot->track]) {
			slot->track = map[slot->track] - 1;
			continue;
		}
		/* the thread gets another track if more comes of it */
		states->left_out -= slot->left_out;
		*slot = (struct state_slot){ slot->tid, NO_INDEX, true, states->last };
	}
	for (size_t i = 0; i < states->nr_cpus; i++)
		if (states->cpu[i])
			states->cpu[i] = map[states->cpu[i] - 1];
}

/* Keeps the busiest threads and CPUs. Returns 0 or -ENOMEM. */
static int keep_busiest(struct export_states *states, size_t threads, size_t cpus)
{
	struct busy_track *order = sort_tracks(states);
	uint32_t *map = calloc(states->nr_tracks + 1, sizeof(*map));
	size_t allowed[2] = { threads, cpus }, nr = 0;

	if (!order || !map) {
		free(order);
		free(map);
		return -ENOMEM;
	}
	for (size_t i = 0; i < states->nr_tracks; i++) {
		size_t *left = &allowed[states->track[order[i].index].is_cpu];

		map[order[i].index] = *left > 0;
		*left -= *left > 0;
	}
	for (size_t i = 0; i < states->nr_tracks; i++) {
		struct state_track *track = &states->track[i];

		if (!map[i]) {
			leave_out(states, track);
			continue;
		}
		states->track[nr++] = *track;
		map[i] = (uint32_t)nr;
	}
	states->nr_tracks = nr;
	renumber_tracks(states, map);
	free(order);
	free(map);
	return 0;
}

int perch__states_select(struct export_states *states, size_t threads, size_t cpus, size_t spans)
{
	int rc = keep_busiest(states, threads, cpus);

	if (!rc)
		merge_spans(states, spans);
	return rc;
}

/* ---- tracks ---- */

static uint32_t add_track(struct export_states *states, uint32_t id, bool is_cpu)
{
	struct state_track *track;

	if (states->nr_tracks >= states->max_tracks &&
	    keep_busiest(states, states->max_tracks / 2, MAX_CPUS))
		return NO_INDEX;
	track = PERCH__ARRAY_APPEND(states->track, states->nr_tracks, states->capacity);
	if (!track)
		return NO_INDEX;
	track->id = id;
	track->is_cpu = is_cpu;
	return (uint32_t)(states->nr_tracks - 1);
}

static bool same_tid(const void *slots, uint32_t index, const void *key)
{
	return ((const struct state_slot *)slots)[index].tid == *(const uint32_t *)key;
}

static struct state_slot *find_slot(const struct export_states *states, uint32_t tid)
{
	uint32_t found = perch__hash_find(&states->table,
					  perch__hash_integer(states->table.seed, tid), same_tid,
					  states->slot, &tid);

	return found == PERCH__HASH_NONE ? NULL : &states->slot[found];
}

static struct state_slot *add_slot(struct export_states *states, uint32_t tid)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(states->slot, states->nr_slots, 1) ||
	    perch__hash_add(&states->table, perch__hash_integer(states->table.seed, tid),
			    states->nr_slots))
		return NULL;
	states->slot[states->nr_slots] = (struct state_slot){ .tid = tid, .track = NO_INDEX };
	return &states->slot[states->nr_slots++];
}

/* Returns the track of a thread; NULL without memory. */
static struct state_track *find_thread(struct export_states *states, uint32_t pid, uint32_t tid,
				       const char *name)
{
	struct state_slot *slot = find_slot(states, tid);
	struct state_track *track;
	uint32_t index;

	if (!slot)
		slot = add_slot(states, tid);
	if (!slot)
		return NULL;
	if (slot->track == NO_INDEX) {
		index = add_track(states, tid, false);
		if (index == NO_INDEX)
			return NULL;
		slot->track = index;
	}
	track = &states->track[slot->track];
	if (pid)
		track->pid = pid;
	if (name[0] && strcmp(name, track->name))
		perch_clean_text(name, track->name, sizeof(track->name));
	return track;
}

/* Returns the track of a CPU; NULL: *rc is -ENOMEM, or 0 if it has none. */
static struct state_track *find_cpu(struct export_states *states, uint32_t cpu, int *rc)
{
	*rc = 0;
	if (cpu >= MAX_CPUS)
		return NULL;
	*rc = PERCH__ARRAY_RESERVE_ZEROED(states->cpu, states->nr_cpus, cpu + 1);
	if (!*rc && !states->cpu[cpu]) {
		uint32_t index = add_track(states, cpu, true);

		states->cpu[cpu] = index + 1; /* 0: no memory */
		*rc = index == NO_INDEX ? -ENOMEM : 0;
	}
	return *rc ? NULL : &states->track[states->cpu[cpu] - 1];
}

static bool adjoins_as_equal(const struct state_span *last, const struct state_span *span)
{
	return last->end == span->start && last->tid == span->tid &&
	       last->uncertain == span->uncertain;
}

static bool has_state(const struct state_span *span, unsigned state)
{
	for (unsigned i = 0; i < EXPORT_STATES; i++)
		if (i != state && span->ns[i] > 0)
			return false;
	return true;
}

/* A part of a row of one state. What overlaps earlier time is cut off. Returns 0 or -ENOMEM. */
static int add_span(struct export_states *states, struct state_track *track, unsigned state,
		    struct state_span span)
{
	struct state_span *last = track->nr ? &track->span[track->nr - 1] : NULL;

	if (span.start < track->end)
		span.start = track->end;
	if (span.end <= span.start || state == EXPORT_NO_STATE)
		return 0;
	if (!states->first || span.start < states->first)
		states->first = span.start;
	if (span.end > states->last)
		states->last = span.end;
	track->sum[state] += span.end - span.start;
	track->end = span.end;
	span.ns[state] = (float)(span.end - span.start);
	if (last && ((adjoins_as_equal(last, &span) && has_state(last, state)) ||
		     are_close(last, span.end, states->quantum))) {
		join(last, &span);
		return 0;
	}
	last = PERCH__ARRAY_APPEND(track->span, track->nr, track->capacity);
	if (!last)
		return -ENOMEM;
	*last = span;
	return ++states->nr_spans > states->max_spans ? make_space(states) : 0;
}

/* ---- from a timeline ---- */

int perch__states_interval(struct export_states *states,
			   const struct perch_timeline_interval *interval)
{
	const struct perch_timeline_thread *thread = interval->thread;
	struct state_span span = { .start = interval->start,
				   .end = interval->end,
				   .uncertain = interval->flags & PERCH_TIMELINE_UNCERTAIN };
	unsigned state = state_of(interval->state);
	struct state_track *track;
	int rc;

	if (!thread->tid || state == EXPORT_NO_STATE)
		return 0; /* an idle CPU, or no time of a thread */
	track = find_thread(states, thread->pid, thread->tid, thread->name);
	rc = track ? add_span(states, track, state, span) : -ENOMEM;
	if (rc || state != EXPORT_RUNNING)
		return rc;
	track = find_cpu(states, interval->cpu, &rc);
	span.tid = thread->tid;
	return track ? add_span(states, track, state, span) : rc;
}

void perch__states_end(struct export_states *states, uint32_t tid)
{
	struct state_slot *slot = find_slot(states, tid);

	if (slot)
		*slot = (struct state_slot){ .tid = tid, .track = NO_INDEX };
}

/* ---- from samples of off-CPU time ---- */

/* Moves time on the CPU since start, of the last spans, to another state. Returns how much of it
 * there was. */
static uint64_t move_running(struct state_track *track, uint64_t start, uint64_t ns, unsigned state)
{
	float running = 0, share;
	size_t i = track->nr;

	while (i && track->nr - i < MAX_MOVED && track->span[i - 1].end > start)
		running += track->span[--i].ns[EXPORT_RUNNING];
	if (running <= 0)
		return 0;
	share = (float)ns < running ? (float)ns / running : 1;
	for (; i < track->nr; i++) {
		float part = track->span[i].ns[EXPORT_RUNNING] * share;

		track->span[i].ns[EXPORT_RUNNING] -= part;
		track->span[i].ns[state] += part;
	}
	if ((float)ns > running)
		ns = (uint64_t)running;
	if (ns > track->sum[EXPORT_RUNNING])
		ns = track->sum[EXPORT_RUNNING];
	track->sum[EXPORT_RUNNING] -= ns;
	track->sum[state] += ns;
	return ns;
}

/* Time off the CPU that has no place is taken from the time on the CPU since start: what there is,
 * and the rest from what comes. */
static void take_from_running(struct state_track *track, uint64_t start)
{
	for (unsigned state = 0; state < EXPORT_STATES; state++)
		if (track->unplaced[state])
			track->unplaced[state] -=
				move_running(track, start, track->unplaced[state], state);
}

/* The thread has run since its last span. Returns 0 or -ENOMEM. */
static int add_running(struct export_states *states, struct state_track *track, uint64_t time)
{
	uint64_t start = track->end;
	int rc = add_span(states, track, EXPORT_RUNNING,
			  (struct state_span){ .start = start, .end = time });

	take_from_running(track, start);
	return rc;
}

int perch__states_off_cpu(struct export_states *states, const struct perch_off_cpu *off_cpu,
			  uint64_t time, uint64_t began, const char *name)
{
	struct state_track *track = find_thread(states, off_cpu->pid, off_cpu->tid, name);
	unsigned state = perch__states_of_off_cpu(off_cpu->state);
	/* a short wait that no other one was added to has its sample later */
	bool late = off_cpu->start && off_cpu->start + off_cpu->ns < time;
	uint64_t end = late ? off_cpu->start + off_cpu->ns : time;
	uint64_t start = end > off_cpu->ns ? end - off_cpu->ns : 0;
	int rc;

	if (!track)
		return -ENOMEM;
	if (!track->end) {
		uint64_t since = find_slot(states, off_cpu->tid)->since;

		track->end = off_cpu->flags & PERCH_OFF_CPU_BEGAN_BEFORE ? start
			     : since					 ? since
									 : began;
	}
	/* the thread can be off the CPU now */
	if (off_cpu->intervals != 1 || (late && start < track->end)) {
		track->unplaced[state] += off_cpu->ns;
		take_from_running(track, off_cpu->start);
		return 0;
	}
	rc = track->ended ? 0 : add_running(states, track, start);
	return rc ? rc
		  : add_span(states, track, state,
			     (struct state_span){ .start = start, .end = end });
}

int perch__states_fork(struct export_states *states, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct state_track *track;

	perch__states_end(states, tid);
	track = find_thread(states, pid, tid, "");
	if (!track)
		return -ENOMEM;
	track->end = time;
	return 0;
}

int perch__states_ran(struct export_states *states, uint32_t tid, uint64_t time)
{
	const struct state_slot *slot = find_slot(states, tid);
	struct state_track *track = slot && slot->track != NO_INDEX ? &states->track[slot->track]
								    : NULL;

	return track && track->end && !track->ended ? add_running(states, track, time) : 0;
}

int perch__states_exit(struct export_states *states, uint32_t tid, uint64_t time)
{
	const struct state_slot *slot = find_slot(states, tid);
	int rc = perch__states_ran(states, tid, time);

	if (slot && slot->track != NO_INDEX)
		states->track[slot->track].ended = true;
	return rc;
}

int perch__states_all_ran(struct export_states *states, uint64_t time)
{
	int rc = 0;

	for (size_t i = 0; i < states->nr_slots && !rc; i++)
		rc = perch__states_ran(states, states->slot[i].tid, time);
	return rc;
}
