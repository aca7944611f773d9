/* SPDX-License-Identifier: MIT */
/*
 * What is known of the callers. A path in memory is right if it was read while the thread was in
 * the call: /proc/TID/syscall has shown the same call before and after, and no later event of the
 * thread is older than that. Memory that is read after the call may have changed, so its text is
 * marked; it is not read once another program runs in the process. The same holds for paths of
 * descriptors, which are kept until the descriptor is closed if each close is seen.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "calls.h"

enum {
	MOST_PATHS = 1024,  /* descriptors of a process whose paths are kept */
	MOST_ATTEMPTS = 3,  /* to find a thread in its call */
	MOST_VERIFIED = 64, /* calls that are looked at in one go */
	PATH_BYTES = 512,
	PATH_NS = 10000000, /* that a path is used which may change unseen */
};

struct path {
	int fd;
	bool verified;	/* for calls that end after .since */
	uint64_t since; /* CLOCK_MONOTONIC; of a recording its clock */
	char *text;	/* "" if it cannot be read */
};

struct process {
	uint32_t pid;
	bool narrow; /* 32 bits */
	bool gone;   /* it cannot be read */
	uint64_t vdso;
	struct path *path;
	size_t nr, capacity;
};

struct calls_process_table {
	struct perch__hash_table table;
	struct process *process;
	size_t nr, capacity;
	struct calls_held_table held;
	/* the call whose text is made */
	struct perch_syscall_process functions;
	struct calls *calls;
	struct perch_syscall_open *open;
	uint32_t pid;
	uint64_t now; /* the time of the last event */
	bool gather;  /* what is read is held */
};

/* ---- processes ---- */

static bool same_pid(const void *items, uint32_t index, const void *key)
{
	return ((const struct process *)items)[index].pid == *(const uint32_t *)key;
}

static uint64_t hash_of(const struct calls_process_table *table, uint32_t pid)
{
	return perch__hash_integer(table->table.seed, pid);
}

static struct process *find_process(const struct calls_process_table *table, uint32_t pid)
{
	uint32_t index = perch__hash_find(&table->table, hash_of(table, pid), same_pid,
					  table->process, &pid);

	return index == PERCH__HASH_NONE ? NULL : &table->process[index];
}

/* Returns NULL if out of memory. */
static struct process *get_process(struct calls_process_table *table, uint32_t pid)
{
	struct process *process = find_process(table, pid);

	if (process)
		return process;
	if (PERCH__ARRAY_RESERVE(table->process, table->capacity, table->nr + 1) ||
	    perch__hash_add(&table->table, hash_of(table, pid), table->nr))
		return NULL;
	process = &table->process[table->nr++];
	*process = (struct process){ .pid = pid };
	return process;
}

static void discard_paths(struct process *process)
{
	for (size_t i = 0; i < process->nr; i++)
		free(process->path[i].text);
	free(process->path);
	process->path = NULL;
	process->nr = process->capacity = 0;
}

static void remove_process(struct calls_process_table *table, uint32_t pid)
{
	struct process *process = find_process(table, pid), *last;
	uint32_t index;

	if (!process)
		return;
	last = &table->process[table->nr - 1];
	index = (uint32_t)(process - table->process);
	discard_paths(process);
	perch__hash_remove(&table->table, hash_of(table, pid), index);
	if (process != last) {
		perch__hash_move(&table->table, hash_of(table, last->pid), (uint32_t)table->nr - 1,
				 index);
		*process = *last;
	}
	table->nr--;
}

/* The vdso of a program of 32 bits is below 4 GiB, and its stack. */
static int take_mapping(struct calls_process_table *table, uint32_t pid, uint64_t start,
			struct perch_text name)
{
	bool vdso = name.length == 6 && !memcmp(name.text, "[vdso]", 6);
	bool stack = name.length == 7 && !memcmp(name.text, "[stack]", 7);
	struct process *process;

	if (!vdso && !stack)
		return 0;
	process = get_process(table, pid);
	if (!process)
		return -ENOMEM;
	if (vdso)
		process->vdso = start;
	process->narrow = start <= UINT32_MAX;
	return 0;
}

static int take_fork(struct calls_process_table *table, uint32_t parent, uint32_t pid)
{
	const struct process *from = find_process(table, parent);
	struct process copy, *to;

	if (!from || parent == pid)
		return 0;
	copy = *from;
	to = get_process(table, pid);
	if (!to)
		return -ENOMEM;
	to->narrow = copy.narrow;
	to->vdso = copy.vdso;
	return 0;
}

int calls_process_take(struct calls *calls, const struct perch_record *record)
{
	struct calls_process_table *table = calls->table;
	struct process *process;

	switch (record->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		return take_mapping(table, record->mmap.pid, record->mmap.start,
				    record->mmap.filename);
	case PERCH_RECORD_FORK:
		return take_fork(table, record->task.ppid, record->task.pid);
	case PERCH_RECORD_EXIT:
		if (record->task.pid == record->task.tid)
			remove_process(table, record->task.pid);
		return 0;
	case PERCH_RECORD_COMM:
		process = record->comm.exec ? find_process(table, record->comm.pid) : NULL;
		if (process) {
			discard_paths(process);
			process->vdso = 0;
			process->narrow = false;
		}
		return 0;
	default:
		return 0;
	}
}

/* True for an executable of 32 bits, but not of x32, which has the numbers of 64 bits. */
static bool is_narrow(uint32_t pid)
{
	unsigned char head[20] = { 0 };
	char path[32];
	bool narrow;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	file = fopen(path, "re");
	narrow = file && fread(head, sizeof(head), 1, file) == 1 && head[EI_CLASS] == ELFCLASS32 &&
		 (head[18] | head[19] << 8) != EM_X86_64;
	if (file)
		fclose(file);
	return narrow;
}

int calls_process_look_up(struct calls *calls, uint32_t pid)
{
	struct process *process = find_process(calls->table, pid);

	if (process)
		return 0;
	process = get_process(calls->table, pid);
	if (!process)
		return -ENOMEM;
	process->narrow = is_narrow(pid);
	return 0;
}

enum perch_syscall_abi calls_process_abi(const struct calls *calls, uint32_t pid)
{
	const struct process *process = find_process(calls->table, pid);

	return calls->abi[process && process->narrow];
}

/* ---- memory ---- */

/* True if the process still runs the program with this vdso. */
static bool runs_same(const struct process *process)
{
	uint64_t pair[2];
	uint32_t narrow[2];
	char path[40];
	bool same = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/auxv", process->pid);
	file = process->vdso ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	if (process->narrow)
		while (!same && fread(narrow, sizeof(narrow), 1, file) == 1)
			same = narrow[0] == AT_SYSINFO_EHDR && narrow[1] == process->vdso;
	else
		while (!same && fread(pair, sizeof(pair), 1, file) == 1)
			same = pair[0] == AT_SYSINFO_EHDR && pair[1] == process->vdso;
	fclose(file);
	return same;
}

static ssize_t read_memory(void *context, uint64_t address, void *bytes, size_t size,
			   bool *verified)
{
	struct calls_process_table *table = context;
	struct perch_syscall_open *open = table->open;
	struct process *process;
	ssize_t got;

	*verified = true;
	if (table->gather) {
		got = calls_read_memory(table->pid, address, bytes, size);
		if (got > 0)
			calls_hold(&table->held, open, CALLS_IN_CALL, address, bytes, (size_t)got);
		return got;
	}
	got = calls_read_held(&table->held, open, table->now, false, address, bytes, size);
	if (got)
		return got;
	*verified = false;
	process = table->calls->live ? find_process(table, table->pid) : NULL;
	got = !process || process->gone ? -ESRCH
					: calls_read_memory(table->pid, address, bytes, size);
	if (got < 0 && process && errno == ESRCH)
		process->gone = true;
	if (got > 0 && !runs_same(process))
		got = -ESRCH;
	table->calls->unread += table->calls->live && got <= 0;
	return got;
}

/* ---- descriptors ---- */

static struct path *find_path(struct process *process, int fd)
{
	for (size_t i = 0; i < process->nr; i++)
		if (process->path[i].fd == fd)
			return &process->path[i];
	return NULL;
}

static void discard_path(struct process *process, int fd)
{
	struct path *path = find_path(process, fd);

	if (!path)
		return;
	free(path->text);
	*path = process->path[--process->nr];
}

static struct path *add_path(struct process *process, int fd, const char *text, bool verified,
			     uint64_t since)
{
	struct path *path;

	discard_path(process, fd);
	if (process->nr >= MOST_PATHS)
		discard_paths(process);
	if (PERCH__ARRAY_RESERVE_ZEROED(process->path, process->capacity, process->nr + 1))
		return NULL;
	path = &process->path[process->nr];
	*path = (struct path){
		.fd = fd, .verified = verified, .since = since, .text = strdup(text)
	};
	if (!path->text)
		return NULL;
	process->nr++;
	return path;
}

/* What /proc/PID/fd shows now; "" if it cannot be read. */
static void read_path(struct process *process, int fd, char target[PATH_BYTES])
{
	char link[48];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", process->pid, fd);
	length = readlink(link, target, PATH_BYTES - 1);
	target[length > 0 ? length : 0] = '\0';
	process->gone = length < 0 && errno == EACCES;
}

static void hold_path(struct calls_process_table *table, struct process *process, int fd)
{
	char target[PATH_BYTES];

	read_path(process, fd, target);
	calls_hold(&table->held, table->open, CALLS_PATH_IN_CALL, (uint64_t)fd, target,
		   strlen(target) + 1);
	add_path(process, fd, target, true, calls_now());
}

static size_t path_of(void *context, int fd, char *text, size_t size, bool *verified)
{
	struct calls_process_table *table = context;
	const struct calls *calls = table->calls;
	struct process *process = find_process(table, table->pid);
	struct path *path = process ? find_path(process, fd) : NULL;
	bool old = path && !calls->sees_closes && table->now > path->since + PATH_NS;
	char target[PATH_BYTES];

	if (process && table->gather) {
		hold_path(table, process, fd);
		return 0;
	}
	if (calls_read_held(&table->held, table->open, table->now, true, (uint64_t)fd, target,
			    sizeof(target))) {
		*verified = true;
		return (size_t)snprintf(text, size, "%s", target);
	}
	if (process && calls->live && !process->gone && (!path || old)) {
		read_path(process, fd, target);
		if (!runs_same(process))
			target[0] = '\0';
		if (!path || target[0])
			path = add_path(process, fd, target, false, calls_now());
	}
	if (!path)
		return 0;
	*verified = path->verified && calls->sees_closes && table->now > path->since;
	return (size_t)snprintf(text, size, "%s", path->text);
}

/* The path of open(2) and others, if it is absolute and the kernel has shown it. */
static void note_opened(struct calls *calls, const struct calls_call *call, struct process *process)
{
	char text[PATH_BYTES] = "";

	discard_path(process, (int)call->result);
	for (unsigned i = 0; i < 2 && text[0] != '/'; i++) {
		ssize_t got = calls_read_held(&calls->table->held, call->open, calls->table->now,
					      false, call->call.argument[i], text,
					      sizeof(text) - 1);

		text[got > 0 ? got : 0] = '\0';
	}
	if (text[0] == '/')
		add_path(process, (int)call->result, text, true, call->time);
}

void calls_process_lost(struct calls *calls)
{
	for (size_t i = 0; i < calls->table->nr; i++)
		discard_paths(&calls->table->process[i]);
}

void calls_process_note(struct calls *calls, const struct calls_call *call)
{
	const struct perch_syscall *syscall = call->call.syscall;
	bool opens = syscall && perch_syscall_returns_descriptor(syscall);
	bool closes = syscall && !strncmp(perch_syscall_name(syscall), "close", 5);
	struct process *process = NULL;

	if ((opens || closes) && call->has_result && call->result >= 0)
		process = find_process(calls->table, call->pid);
	if (process && opens)
		note_opened(calls, call, process);
	else if (process && !strcmp(perch_syscall_name(syscall), "close"))
		discard_path(process, (int)call->call.argument[0]);
	else if (process)
		discard_paths(process); /* close_range(2) */
	if (call->open)
		calls_discard_held(&calls->table->held, (struct perch_syscall_open *)call->open);
}

/* ---- calls ---- */

const struct perch_syscall_process *calls_process_of(struct calls *calls,
						     const struct calls_call *call)
{
	struct calls_process_table *table = calls->table;

	table->open = (struct perch_syscall_open *)call->open;
	table->pid = call->pid;
	table->now = call->time > table->now ? call->time : table->now;
	table->functions = (struct perch_syscall_process){
		.context = table,
		.read = read_memory,
		.path = calls->no_paths ? NULL : path_of,
	};
	return &table->functions;
}

/* True if the thread is in the call now. */
static bool is_in(const struct perch_syscall_open *open)
{
	struct calls_location location = { .in_call = false };

	return !calls_thread_location(open->tid, &location) && location.in_call &&
	       location.number == open->number &&
	       !memcmp(location.argument, open->argument, sizeof(location.argument));
}

bool calls_process_hold(struct calls *calls, struct perch_syscall_open *open)
{
	struct calls_process_table *table = calls->table;
	struct process *process = find_process(table, open->pid);
	struct perch_syscall_call call = { .abi = calls_abi_of(open) };
	char text[1024];

	if (!is_in(open))
		return false;
	call.syscall = perch_syscall_find(call.abi, open->number);
	memcpy(call.argument, open->argument, sizeof(call.argument));
	table->open = open;
	table->pid = open->pid;
	table->gather = true;
	table->functions = (struct perch_syscall_process){
		.context = table,
		.read = read_memory,
		.path = calls->no_paths ? NULL : path_of,
	};
	for (unsigned i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++)
		perch_syscall_argument_text(&call, i, &table->functions, text, sizeof(text));
	table->gather = false;
	if (is_in(open)) {
		open->user[CALLS_VERIFIED] = calls_now();
		return true;
	}
	calls_discard_in_call(&table->held, open);
	if (process)
		discard_paths(process);
	return false;
}

/* Holds the memory of a call that lasts. */
static void verify(struct calls *calls, struct perch_syscall_open *open)
{
	const struct perch_syscall *syscall = perch_syscall_find(calls_abi_of(open), open->number);

	open->user[CALLS_ATTEMPTS]++;
	if (!syscall || !perch_syscall_reads_memory(syscall) || calls_process_hold(calls, open))
		open->user[CALLS_ATTEMPTS] = MOST_ATTEMPTS;
}

void calls_process_verify(struct calls *calls)
{
	struct perch_syscall_open *open;
	size_t at = 0;
	unsigned nr = 0;

	while (nr < MOST_VERIFIED && (open = perch_syscall_next_open(calls->joiner, &at)))
		if (open->user[CALLS_ATTEMPTS] < MOST_ATTEMPTS && !open->user[CALLS_VERIFIED]) {
			verify(calls, open);
			nr++;
		}
}

/* True if an empty text has its NUL. Without one the kernel could not read it. */
static bool is_empty_text(const struct perch_tracepoint_field *field,
			  const struct perch_record *record)
{
	uint32_t size_and_offset;

	if (field->location != PERCH_TRACEPOINT_DATA_LOC || record->parse_info->swapped ||
	    field->offset + sizeof(size_and_offset) > record->sample.raw.size)
		return false;
	memcpy(&size_and_offset, (const char *)record->sample.raw.data + field->offset,
	       sizeof(size_and_offset));
	return size_and_offset >> 16;
}

/* Holds a text that the kernel has read. It is empty or "(fault)" if the kernel could not. */
static void hold_text(struct calls *calls, const struct perch_tracepoint_field *field,
		      const struct perch_record *record, struct perch_syscall_open *open,
		      uint64_t address)
{
	static const char fault[] = "(fault)";
	char text[PATH_BYTES];
	const char *at;
	size_t length;

	if (perch_tracepoint_get_text(field, record, &at, &length) || length >= sizeof(text) ||
	    (!length && !is_empty_text(field, record)) ||
	    (length == strlen(fault) && !memcmp(at, fault, length)))
		return;
	memcpy(text, at, length);
	text[length] = '\0';
	calls_hold(&calls->table->held, open, CALLS_BY_KERNEL, address, text, length + 1);
}

void calls_process_path(struct calls *calls, const struct calls_event *event,
			const struct perch_record *record, struct perch_syscall_open *open)
{
	uint64_t address;
	char byte;

	/* a function may call another one that is probed */
	if (!perch_tracepoint_get_u64(event->path_address, record, &address) &&
	    !calls_read_held(&calls->table->held, open, calls->table->now, false, address, &byte,
			     1))
		hold_text(calls, event->path, record, open, address);
}

void calls_process_texts(struct calls *calls, const struct calls_event *event,
			 const struct perch_record *record, struct perch_syscall_open *open)
{
	for (size_t i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++)
		if (event->text[i])
			hold_text(calls, event->text[i], record, open, open->argument[i]);
}

int calls_process_open(struct calls *calls)
{
	calls->table = calloc(1, sizeof(*calls->table));
	if (!calls->table)
		return -ENOMEM;
	calls->table->calls = calls;
	calls->table->table.seed = perch__hash_seed(calls->table);
	return 0;
}

void calls_process_close(struct calls *calls)
{
	struct calls_process_table *table = calls->table;

	if (!table)
		return;
	for (size_t i = 0; i < table->nr; i++)
		discard_paths(&table->process[i]);
	free(table->process);
	calls_held_clear(&table->held);
	perch__hash_clear(&table->table);
	free(table);
	calls->table = NULL;
}
