/* SPDX-License-Identifier: MIT */
/* perch lock contention: waits for locks of the kernel, and with --user those of programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "lock.h"
#include "shared_options.h"

#define COMMAND "lock"

/* ---- columns ---- */

static void put_type(const struct tables *tables, const struct tables_row *row,
		     char text[TABLES_CELL])
{
	(void)tables;
	snprintf(text, TABLES_CELL, "%s", lock_type_name(row->number[LOCK_TYPE]));
}

/* The symbol with the type, as perf prints locks. */
static void put_symbol(const struct tables *tables, const struct tables_row *row,
		       char text[TABLES_CELL])
{
	char type[32];

	put_type(tables, row, text);
	snprintf(type, sizeof(type), "%.30s", text);
	snprintf(text, TABLES_CELL, "%.400s%s(%s)", strcmp(row->name, "[unknown]") ? row->name : "",
		 strcmp(row->name, "[unknown]") ? " " : "", type);
}

/* The function that the program has called: pthread_mutex_lock, pthread_cond_wait... */
static void put_function(const struct tables *tables, const struct tables_row *row,
			 char text[TABLES_CELL])
{
	*text = 0;
	for (uint32_t i = 0; i < row->nr_chain; i++) {
		const struct perch_address *address =
			perch_session_address(tables->input.session, row->chain[i]);

		if (address->cpumode_char == 'k')
			continue;
		if (!lock_is_library(address->dso->path))
			break;
		tables_frame_name(tables, row->chain[i], text, TABLES_CELL);
	}
	text[strcspn(text, "@+")] = 0; /* the version of the symbol, and the offset */
}

static void put_waker(const struct tables *tables, const struct tables_row *row,
		      char text[TABLES_CELL])
{
	const struct lock *lock = const_lock_of(tables);
	const struct lock_stack *stack;

	*text = 0;
	if (row->number[LOCK_WAKER] >= lock->nr_stacks)
		return;
	stack = &lock->stack[row->number[LOCK_WAKER]];
	if (stack->nr)
		tables_frame_name(
			tables,
			stack->number[stack->caller < stack->nr ? stack->caller : stack->nr - 1],
			text, TABLES_CELL);
}

#define TIMES                                                                          \
	{ "contended", "contended", TABLES_COUNT, TABLES_AT(number[LOCK_CONTENDED]) }, \
		{ "wait_total", "total wait", TABLES_NS, TABLES_AT(total) },           \
		{ "wait_max", "max wait", TABLES_NS, TABLES_AT(max) },                 \
		{ "wait_min", "min wait", TABLES_NS, TABLES_AT(min) },                 \
		{ "avg_wait", "avg wait", TABLES_NS, .number = tables_average },       \
		{ "p50", "p50", TABLES_NS, .number = tables_p50 },                     \
		{ "p90", "p90", TABLES_NS, .number = tables_p90 },                     \
		{ "p99", "p99", TABLES_NS, .number = tables_p99 },                     \
		{ "uncertain", "uncertain", TABLES_COUNT, TABLES_AT(uncertain) },      \
	{                                                                              \
		"uncertain_ns", "uncertain time", TABLES_NS, TABLES_AT(uncertain_ns)   \
	}

#define TYPE_COLUMN                                           \
	{                                                     \
		"type", "type", TABLES_TEXT, .text = put_type \
	}
#define ADDRESS_COLUMN                                                                  \
	{                                                                               \
		"address", "address", TABLES_HEX, true, TABLES_AT(number[LOCK_ADDRESS]) \
	}
#define WAKER_COLUMN                                                            \
	{                                                                       \
		"waker", "waker of the longest", TABLES_TEXT, .text = put_waker \
	}
#define FUNCTION_COLUMN                                                   \
	{                                                                 \
		"function", "function", TABLES_TEXT, .text = put_function \
	}
#define FIELDS "contended,wait_total,wait_max,avg_wait,p50,p99,"

static const struct tables_column caller_columns[] = {
	TIMES,
	TYPE_COLUMN,
	WAKER_COLUMN,
	FUNCTION_COLUMN,
	{ "caller", "caller", TABLES_TEXT, .text = tables_name },
	{ 0 },
};

static const struct tables_column address_columns[] = {
	TIMES,
	TYPE_COLUMN,
	ADDRESS_COLUMN,
	{ "pid", "pid", TABLES_ID, true, TABLES_AT(number[LOCK_PID]) },
	{ "symbol", "symbol", TABLES_TEXT, .text = put_symbol },
	{ 0 },
};

static const struct tables_column thread_columns[] = {
	TIMES,
	{ "pid", "pid", TABLES_ID, true, TABLES_AT(number[LOCK_TID]) },
	{ "comm", "comm", TABLES_TEXT, .text = tables_name },
	{ 0 },
};

static const struct tables_column owner_columns[] = {
	TIMES,
	TYPE_COLUMN,
	{ "tid", "tid", TABLES_ID, true, TABLES_AT(number[LOCK_TID]) },
	{ "caller", "woken by", TABLES_TEXT, .text = tables_name },
	{ 0 },
};

static const struct tables_view views[] = {
	{ NULL, caller_columns, FIELDS "type,caller", "wait_total" },
	{ NULL, address_columns, FIELDS "address,symbol", "wait_total" },
	{ NULL, thread_columns, FIELDS "pid,comm", "wait_total" },
	{ NULL, owner_columns, FIELDS "type,tid,caller", "wait_total" },
	{ NULL, caller_columns, FIELDS "function,waker,caller", "wait_total" },
	{ NULL, address_columns, FIELDS "pid,address,symbol", "wait_total" },
};

/* ---- command ---- */

static void restart_lock(struct tables *tables)
{
	struct lock *lock = lock_of(tables);

	lock_clear_stacks(lock);
	if (lock->blocked)
		perch_pairs_restart(lock->blocked);
}

static const char *const *record_arguments(const struct tables *tables)
{
	static const char *const kernel[] = {
		"-e", "lock:contention_begin,lock:contention_end", "-g", "-m", "1024", NULL,
	};
	static const char *const wakers[] = {
		"-e",	"lock:contention_begin,lock:contention_end,sched:sched_waking",
		"-g",	"-m",
		"1024", NULL,
	};
	/* the stacks of C libraries need more than frame pointers */
	static const char *const user[] = {
		"-e",		"syscalls:sys_enter_futex",
		"--filter",	"op != 1 && op != 129",
		"-e",		"syscalls:sys_exit_futex,sched:sched_waking",
		"--call-graph", "dwarf,4096",
		"-m",		"1024",
		NULL,
	};

	if (const_lock_of(tables)->user)
		return user;
	return const_lock_of(tables)->by_owner ? wakers : kernel;
}

static int choose_contention(struct tables *tables)
{
	struct lock *lock = lock_of(tables);

	if (lock->by_address + lock->by_thread + lock->by_owner > 1)
		return cli_usage_error(COMMAND, "-l, -t and -o exclude each other: choose one");
	if (perch_pairs_new(&lock->blocked, NULL, NULL))
		return cli_no_memory(COMMAND);
	if (!lock->max_stack)
		lock->max_stack = lock->user ? LOCK_MOST_STACK : LOCK_DEFAULT_STACK;
	if (lock->max_stack > LOCK_MOST_STACK)
		lock->max_stack = LOCK_MOST_STACK;
	tables->events = lock->user ? lock_user_events : lock_kernel_events;
	tables->twice = lock->user && lock->locks; /* a later wait may name the lock */
	tables->keep_first[0] = true;
	if (lock->user)
		tables->if_empty =
			"no wait by futex(2) is shown; what threads wait for since before "
			"the recording is in 'perch trace --waits -p PID', or -a";
	tables->nr_tables = lock->by_owner ? 2 : 1;
	tables->table[0].hidden = lock->by_owner;
	tables->table[0].view = lock->by_address  ? &views[lock->user ? 5 : 1]
				: lock->by_thread ? &views[2]
						  : &views[lock->user ? 4 : 0];
	tables->table[1].view = &views[3];
	return lock_check_types(lock);
}

#define AT(member)   offsetof(struct lock, member)
#define SETS(member) CLI_SETS(struct lock, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'l', .name = "lock-addr", SETS(by_address),
		.help = "a row for each lock, by its address"),
	CLI_ROW(.letter = 't', .name = "threads", SETS(by_thread),
		.help = "a row for each thread that waits"),
	CLI_ROW(.letter = 'o', .name = "lock-owner", SETS(by_owner),
		.help = "a row for each thread and call chain that woke waiters, which ended waits"),
	CLI_ROW(.letter = 'U', .name = "user", SETS(user),
		.help = "locks of programs, which wait by futex(2)"),
	CLI_ROW(.letter = 'E', .name = "entries", .argument = "N", SETS(tables.entries),
		.positive = true, .help = "print at most N rows"),
	CLI_ROW(.letter = 'k', .name = "key", .argument = "COLUMNS", SETS(tables.sort),
		.help = "sort by these columns (wait_total)"),
	CLI_ROW(.letter = 'Y', .name = "type-filter", .argument = "TYPES", SETS(types),
		.help = "only locks of these types: spinlock, mutex, rwsem, rwsem:R..."),
	CLI_ROW(.letter = 'L', .name = "lock-filter", .argument = "LOCKS", SETS(locks),
		.help = "only these locks, by address or symbol"),
	CLI_ROW(.letter = 'S', .name = "callstack-filter", .argument = "NAMES", SETS(functions),
		.help = "only waits with one of these functions in the call chain"),
	CLI_ROW(.name = "max-stack", .argument = "N", SETS(max_stack), .positive = true,
		.help = "functions of a call chain that make a row (8)"),
	CLI_ROW(.name = "stack-skip", .argument = "N", SETS(stack_skip),
		.help = "never take the first N functions for the caller"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(tables.input.verbose),
		.help = "print the call chain of each row"),
	CLI_ROW(.table = tables_options, .at = AT(tables)),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "contention", NULL },
	{ 0 },
};

static const struct cli_word *column_words(void)
{
	return tables_column_words((const struct tables_column *const[]){
		caller_columns, address_columns, thread_columns, owner_columns, NULL });
}

const struct cli_usage cli_lock_usage = {
	.name = COMMAND,
	.operands = "record|contention [OPTIONS] [PROGRAM]",
	.summary = "Shows who waits for locks, and for how long.",
	.options = options,
	.subcommands = first_words,
	.columns = column_words,
};

int perch_cmd_lock(int argc, char **argv)
{
	static const struct tables_subcommand subcommands[] = {
		{ .name = "contention", .choose = choose_contention },
		{ 0 },
	};
	static const struct tables_command command = {
		.usage = &cli_lock_usage,
		.subcommands = subcommands,
		.record = record_arguments,
		.refused = "report script info",
		.hint = "lock:lock_acquire and others are only in debug kernels; "
			"'perch lock contention' works on all since 5.19",
		.restart = restart_lock,
	};
	struct lock lock = { 0 };
	int status = tables_run(&lock.tables, &command, argc, argv);

	restart_lock(&lock.tables);
	tables_clear(&lock.variables);
	free(lock.stack);
	perch_pairs_free(lock.blocked);
	return status;
}
