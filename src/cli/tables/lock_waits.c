/* SPDX-License-Identifier: MIT */
/*
 * A wait in the kernel is from lock:contention_begin to lock:contention_end of the same thread and
 * lock; a second begin while a mutex is waited for is that of its optimistic spinning, and is not
 * counted, as in perf. A wait in a program is from the call of futex(2) to its return. The thread
 * that wakes the waiter is that of sched:sched_waking in between, if the recording has it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "lock.h"

#define UNKNOWN "[unknown]"

/* Values of a wait. */
enum { ROW, WOKEN_BY, WAKER_TID };

/* The call chain of a wait may lack the code that a variable is found by, so a name that another
 * wait has given is kept, also for the second reading of the file. */
static bool put_user_variable(struct lock *lock, const struct tables_sample *sample,
			      uint64_t address, char *text, size_t size)
{
	const uint64_t key[TABLES_KEYS] = { address, sample->pid };
	struct tables_row *row = tables_find(&lock->variables, key);

	if (row && row->name) {
		snprintf(text, size, "%s", row->name);
		return true;
	}
	if (!tables_user_variable(&lock->tables, sample, address, text, size))
		return false;
	row = tables_row(&lock->variables, key);
	if (row)
		row->name = perch__strdup(text);
	return true;
}

/* Stores the variable that the lock is. Returns false if it is none with a name. */
static bool put_variable(struct lock *lock, const struct tables_sample *sample, uint64_t address,
			 char *text, size_t size)
{
	return lock->user ? put_user_variable(lock, sample, address, text, size)
			  : tables_kernel_variable(&lock->tables, address, text, size);
}

/* True without -L, or if the lock has one of its addresses or names. */
static bool is_wanted_lock(struct lock *lock, const struct tables_sample *sample, uint64_t address)
{
	char text[TABLES_CELL];

	if (!lock->locks)
		return true;
	snprintf(text, sizeof(text), "%" PRIx64, address);
	if (cli_list_has(lock->locks, text))
		return true;
	snprintf(text, sizeof(text), "%#" PRIx64, address);
	if (cli_list_has(lock->locks, text))
		return true;
	return put_variable(lock, sample, address, text, sizeof(text)) &&
	       cli_list_has(lock->locks, text);
}

/* Idle threads have the same number on all CPUs. */
static struct perch_pair_key wait_key(const struct tables_sample *sample, uint64_t lock)
{
	return (struct perch_pair_key){
		.word = { sample->tid, lock, sample->tid ? 0 : sample->cpu },
	};
}

static void set_row_key(const struct lock *lock, const struct tables_sample *sample,
			uint64_t address, const struct lock_stack *stack, uint64_t key[TABLES_KEYS])
{
	memset(key, 0, TABLES_KEYS * sizeof(*key));
	if (lock->by_address) {
		key[0] = address;
		key[1] = lock->user ? sample->pid : 0;
	} else if (lock->by_thread) {
		key[0] = sample->tid;
	} else {
		key[0] = stack->hash[0];
		key[1] = stack->hash[1];
	}
}

/* Returns the text of a row. stack: not needed by_address */
static char *make_name(struct lock *lock, const struct tables_sample *sample, uint64_t address,
		       const struct lock_stack *stack)
{
	char text[TABLES_CELL] = "";

	if (lock->by_address) {
		put_variable(lock, sample, address, text, sizeof(text));
	} else if (lock->by_thread) {
		struct perch_thread *thread =
			perch_processes_thread(perch_session_processes(lock->tables.input.session),
					       sample->pid, sample->tid);

		if (!thread)
			return NULL;
		snprintf(text, sizeof(text), "%s", perch_thread_comm(thread));
	} else if (stack->caller < stack->nr) {
		tables_caller_name(&lock->tables, stack->number[stack->caller], text, sizeof(text));
	} else if (stack->nr) {
		tables_frame_name(&lock->tables, stack->number[stack->nr - 1], text, sizeof(text));
	}
	return perch__strdup(*text ? text : UNKNOWN);
}

/* Copies a call chain to a row. Returns 0 or -ENOMEM. */
static int set_chain(struct tables_row *row, const struct lock_stack *stack)
{
	uint32_t *chain = perch__reallocarray(row->chain, stack->nr + 1, sizeof(*chain));

	if (!chain)
		return -ENOMEM;
	memcpy(chain, stack->number, stack->nr * sizeof(*chain));
	row->chain = chain;
	row->nr_chain = stack->nr;
	return 0;
}

/* Another wait may name a lock. Returns the row, or NULL without memory. */
static struct tables_row *name_again(struct lock *lock, const struct tables_sample *sample,
				     struct tables_row *row)
{
	if (!lock->user || !lock->by_address || strcmp(row->name, UNKNOWN))
		return row;
	free(row->name);
	row->name = make_name(lock, sample, row->number[LOCK_ADDRESS], NULL);
	return row->name ? row : NULL;
}

static struct tables_row *find_row(struct lock *lock, const struct tables_sample *sample,
				   uint64_t address, uint64_t flags, const struct lock_stack *stack)
{
	uint64_t key[TABLES_KEYS];
	struct tables_row *row;

	set_row_key(lock, sample, address, stack, key);
	row = tables_row(&lock->tables.table[0], key);
	if (!row || row->name)
		return row ? name_again(lock, sample, row) : NULL;
	row->name = make_name(lock, sample, address, stack);
	row->number[LOCK_TYPE] = flags;
	row->number[LOCK_ADDRESS] = address;
	row->number[LOCK_PID] = sample->pid;
	row->number[LOCK_TID] = sample->tid;
	row->number[LOCK_WAKER] = UINT64_MAX;
	return row->name && (lock->by_thread || !set_chain(row, stack)) ? row : NULL;
}

/* Begins a wait. Returns 0 or -ENOMEM. */
static int begin_wait(struct lock *lock, const struct tables_sample *sample,
		      const struct perch_pair_key *key, uint64_t address, uint64_t flags)
{
	struct perch_pair pair = { .key = *key, .start = sample->time };
	struct tables_row *row;
	uint32_t stack;
	int rc;

	if (!lock_is_wanted_type(lock, flags) || !is_wanted_lock(lock, sample, address))
		return 0;
	stack = lock_find_stack(lock, sample, LOCK_WAITS);
	if (stack == UINT32_MAX)
		return -ENOMEM;
	if (!lock_has_wanted_function(lock, &lock->stack[stack]))
		return 0;
	row = find_row(lock, sample, address, flags, &lock->stack[stack]);
	if (!row)
		return -ENOMEM;
	pair.value[ROW] = (uint64_t)(row - lock->tables.table[0].row);
	pair.value[WOKEN_BY] = UINT64_MAX;
	rc = perch_pairs_begin(lock->tables.pairs[0], &pair, NULL);
	if (!rc)
		row->number[LOCK_CONTENDED]++;
	if (rc < 0 || lock->user || flags & LOCK_SPIN)
		return rc < 0 ? rc : 0;
	/* who waits for a lock asleep is woken for it */
	pair.key = (struct perch_pair_key){ .word = { sample->tid } };
	pair.value[0] = address;
	return perch_pairs_begin(lock->blocked, &pair, NULL) < 0 ? -ENOMEM : 0;
}

/* The row of the thread that ended a wait, for -o. NULL: without memory. */
static struct tables_row *find_owner(struct lock *lock, const struct perch_pair *pair,
				     const struct tables_row *waiter)
{
	const struct lock_stack *stack = &lock->stack[pair->value[WOKEN_BY]];
	uint64_t type = waiter->number[LOCK_TYPE], address = waiter->number[LOCK_ADDRESS];
	const uint64_t key[TABLES_KEYS] = { stack->hash[0], stack->hash[1], type,
					    pair->value[WAKER_TID] };
	struct tables_row *row = tables_row(&lock->tables.table[1], key);

	if (!row)
		return NULL;
	row->number[LOCK_CONTENDED]++;
	if (row->name)
		return row;
	row->name = make_name(lock, NULL, address, stack);
	row->number[LOCK_TYPE] = type;
	row->number[LOCK_ADDRESS] = address;
	row->number[LOCK_TID] = pair->value[WAKER_TID];
	return row->name && !set_chain(row, stack) ? row : NULL;
}

/* Ends a wait. Returns 0 or -ENOMEM. */
static int end_wait(struct lock *lock, const struct tables_sample *sample,
		    const struct perch_pair_key *key)
{
	struct tables_row *row;
	struct perch_pair pair;
	int rc;

	if (!perch_pairs_end(lock->tables.pairs[0], key, sample->time, &pair))
		return 0;
	row = &lock->tables.table[0].row[pair.value[ROW]];
	rc = tables_add(row, &pair);
	if (rc || pair.value[WOKEN_BY] == UINT64_MAX)
		return rc;
	if (row->max_end == pair.end && row->max_start == pair.start)
		row->number[LOCK_WAKER] = pair.value[WOKEN_BY];
	if (!lock->by_owner)
		return 0;
	row = find_owner(lock, &pair, row);
	return row ? tables_add(row, &pair) : -ENOMEM;
}

static int begin_contention(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = wait_key(sample, sample->value[0]);

	return begin_wait(lock_of(tables), sample, &key, sample->value[0], sample->value[1]);
}

static int end_contention(struct tables *tables, const struct tables_sample *sample)
{
	const struct lock *lock = lock_of(tables);
	const struct perch_pair_key key = wait_key(sample, sample->value[0]);

	/* waits that are not wanted have no begin */
	if ((lock->types || lock->locks || lock->functions) &&
	    !perch_pairs_find(tables->pairs[0], &key))
		return 0;
	return end_wait(lock_of(tables), sample, &key);
}

/* ---- futex(2) ---- */

/* The operations that wait: the low bits of the argument op. */
static const struct {
	unsigned operation;
	uint64_t flags;
} futex_waits[] = {
	{ 0, LOCK_FUTEX },	      /* FUTEX_WAIT */
	{ 6, LOCK_FUTEX | LOCK_PI },  /* FUTEX_LOCK_PI */
	{ 9, LOCK_FUTEX },	      /* FUTEX_WAIT_BITSET */
	{ 11, LOCK_FUTEX | LOCK_PI }, /* FUTEX_WAIT_REQUEUE_PI */
	{ 13, LOCK_FUTEX | LOCK_PI }, /* FUTEX_LOCK_PI2 */
};

static int enter_futex(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = { .word = { sample->tid } };

	for (size_t i = 0; i < CLI_NR(futex_waits); i++)
		if (futex_waits[i].operation == (sample->value[1] & 127))
			return begin_wait(lock_of(tables), sample, &key, sample->value[0],
					  futex_waits[i].flags);
	return 0;
}

static int exit_futex(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = { .word = { sample->tid } };

	/* the returns of other calls have no begin */
	return perch_pairs_find(tables->pairs[0], &key) ? end_wait(lock_of(tables), sample, &key)
							: 0;
}

/* The thread that wakes a waiter, by FUTEX_WAKE or as it gives up a lock of the kernel. */
static int wake(struct tables *tables, const struct tables_sample *sample)
{
	struct lock *lock = lock_of(tables);
	struct perch_pair_key key = { .word = { sample->value[0] } };
	struct perch_pair *pair;
	uint32_t stack;

	if (!lock->user) {
		pair = perch_pairs_find(lock->blocked, &key);
		if (!pair)
			return 0;
		key.word[1] = pair->value[0];
	}
	pair = perch_pairs_find(tables->pairs[0], &key);
	if (!pair)
		return 0;
	stack = lock_find_stack(lock, sample, LOCK_WAITS | LOCK_WAKES);
	if (stack == UINT32_MAX)
		return -ENOMEM;
	pair->value[WOKEN_BY] = stack;
	pair->value[WAKER_TID] = sample->tid;
	return 0;
}

const struct tables_event lock_kernel_events[] = {
	{ "lock:contention_begin", { "lock_addr", "flags" }, begin_contention },
	{ "lock:contention_end", { "lock_addr" }, end_contention },
	{ "sched:sched_waking", { "pid" }, wake, .optional = true },
	{ 0 },
};

const struct tables_event lock_user_events[] = {
	{ "syscalls:sys_enter_futex", { "uaddr", "op" }, enter_futex },
	{ "syscalls:sys_exit_futex", { NULL }, exit_futex },
	{ "sched:sched_waking", { "pid" }, wake, .optional = true },
	{ 0 },
};
