/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait that are off the CPU when a recording begins: their switch was before it. The
 * kernel prints the names of their functions in /proc/TID/stack, for CAP_SYS_ADMIN, and the
 * addresses are those of the names in /proc/kallsyms.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recorder/off_cpu/off_cpu.h"

#define MAX_FRAMES 64 /* of a thread; as in the kernel */
#define MAX_NAME   128

struct wait_frame {
	char name[MAX_NAME];
	uint64_t offset;
};

/* A function that any thread waits in. */
struct wait_function {
	char name[MAX_NAME];
	uint64_t address; /* 0: unknown */
};

struct wait_thread {
	uint32_t pid, tid, state;
	size_t first, nr; /* frames */
};

struct off_cpu_waits {
	struct wait_thread *thread;
	size_t nr, capacity;
	struct wait_frame *frame;
	size_t nr_frames, frames_capacity;
	struct wait_function *function; /* by name */
	size_t nr_functions;
};

/* ---- /proc/TID/status ---- */

bool perch__off_cpu_read_status(const struct perch_machine *machine, uint32_t tid, uint32_t *pid,
				char *letter)
{
	const char *state, *process;
	char path[64], text[2048];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	if (perch_machine_read(machine, path, text, sizeof(text)) < 0)
		return false;
	state = strstr(text, "\nState:\t");
	process = strstr(text, "\nTgid:\t");
	if (!state || !process)
		return false;
	*letter = state[sizeof("\nState:\t") - 1];
	*pid = (uint32_t)strtoul(process + sizeof("\nTgid:\t") - 1, NULL, 10);
	return true;
}

/* ---- /proc/TID/stack ---- */

/* Reads a line: "[<0>] NAME+0xOFFSET/0xSIZE", and for a module its name. */
static bool read_frame(struct wait_frame *frame, const char *line)
{
	const char *name = strstr(line, "] "), *plus = name ? strchr(name, '+') : NULL;
	size_t length;

	if (!plus)
		return false;
	name += 2;
	length = (size_t)(plus - name);
	if (!length || length >= sizeof(frame->name))
		return false;
	memcpy(frame->name, name, length);
	frame->name[length] = '\0';
	frame->offset = strtoull(plus + 1, NULL, 16);
	return true;
}

static int read_stack(struct off_cpu_waits *waits, char *text)
{
	char *next;

	for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		struct wait_frame *frame;

		if (PERCH__ARRAY_RESERVE(waits->frame, waits->frames_capacity,
					 waits->nr_frames + 1))
			return -ENOMEM;
		frame = &waits->frame[waits->nr_frames];
		waits->nr_frames += read_frame(frame, line);
	}
	return 0;
}

/* A thread that runs has no wait. Returns 0, or a negative errno if the kernel shows no stack. */
static int read_thread(struct off_cpu_waits *waits, const struct perch_machine *machine,
		       uint32_t tid)
{
	struct wait_thread thread = { .tid = tid, .first = waits->nr_frames };
	char path[64], text[8192], letter;
	ssize_t rc;

	if (!perch__off_cpu_read_status(machine, tid, &thread.pid, &letter) || letter == 'R')
		return 0;
	thread.state = perch__off_cpu_state_of_letter(letter);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stack", tid);
	rc = perch_machine_read(machine, path, text, sizeof(text));
	if (rc < 0)
		return (int)rc;
	if (read_stack(waits, text) ||
	    PERCH__ARRAY_RESERVE(waits->thread, waits->capacity, waits->nr + 1))
		return -ENOMEM;
	thread.nr = waits->nr_frames - thread.first;
	waits->thread[waits->nr++] = thread;
	return 0;
}

/* ---- /proc/kallsyms ---- */

static int compare_functions(const void *one, const void *other)
{
	return strcmp(((const struct wait_function *)one)->name,
		      ((const struct wait_function *)other)->name);
}

static struct wait_function *find_function(const struct off_cpu_waits *waits, const char *name)
{
	struct wait_function key = { .address = 0 };

	snprintf(key.name, sizeof(key.name), "%s", name);
	return bsearch(&key, waits->function, waits->nr_functions, sizeof(key), compare_functions);
}

/* Makes the list of the functions of all frames, each once. */
static int list_functions(struct off_cpu_waits *waits)
{
	size_t nr = 0;

	waits->function = calloc(waits->nr_frames + 1, sizeof(*waits->function));
	if (!waits->function)
		return -ENOMEM;
	for (size_t i = 0; i < waits->nr_frames; i++)
		memcpy(waits->function[i].name, waits->frame[i].name, MAX_NAME);
	qsort(waits->function, waits->nr_frames, sizeof(*waits->function), compare_functions);
	for (size_t i = 0; i < waits->nr_frames; i++)
		if (!nr || compare_functions(&waits->function[i], &waits->function[nr - 1]))
			waits->function[nr++] = waits->function[i];
	waits->nr_functions = nr;
	return 0;
}

/* Of several functions with one name the first one is taken: the name is what is shown. */
static void find_addresses(struct off_cpu_waits *waits)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	size_t capacity = 0, left = waits->nr_functions;
	char *line = NULL;

	while (file && left && getline(&line, &capacity, file) > 0) {
		char *after, name[MAX_NAME];
		uint64_t address = strtoull(line, &after, 16);
		struct wait_function *function;

		if (!address || sscanf(after, " %*c %127s", name) != 1)
			continue;
		function = find_function(waits, name);
		if (!function || function->address)
			continue;
		function->address = address;
		left--;
	}
	free(line);
	if (file)
		fclose(file);
}

static void set_wait(const struct off_cpu_waits *waits, const struct wait_thread *thread,
		     struct off_cpu_intervals *intervals)
{
	uint64_t chain[1 + MAX_FRAMES] = { PERCH_CONTEXT_KERNEL };
	size_t nr = 1;

	for (size_t i = 0; i < thread->nr && nr <= MAX_FRAMES; i++) {
		const struct wait_frame *frame = &waits->frame[thread->first + i];
		const struct wait_function *function = find_function(waits, frame->name);

		if (function && function->address)
			chain[nr++] = function->address + frame->offset;
	}
	perch__off_cpu_set_wait(intervals, thread->pid, thread->tid, thread->state, chain,
				nr > 1 ? nr : 0);
}

static void free_waits(struct off_cpu_waits *waits)
{
	free(waits->thread);
	free(waits->frame);
	free(waits->function);
	free(waits);
}

void perch__off_cpu_read_waits(struct recorder_off_cpu *off_cpu)
{
	struct off_cpu_waits *waits = calloc(1, sizeof(*waits));

	if (off_cpu->waits)
		free_waits(off_cpu->waits);
	off_cpu->waits = waits;
	off_cpu->hidden_waits = 0;
	for (size_t i = 0; i < off_cpu->nr_tids && off_cpu->stacks && waits; i++) {
		int rc = read_thread(waits, off_cpu->machine, off_cpu->tids[i]);

		off_cpu->hidden_waits += rc == -EACCES || rc == -EPERM;
	}
}

void perch__off_cpu_end_waits(struct recorder_off_cpu *off_cpu, bool use)
{
	struct off_cpu_waits *waits = off_cpu->waits;

	if (!waits)
		return;
	if (use && waits->nr_frames && !list_functions(waits)) {
		find_addresses(waits);
		for (size_t i = 0; i < waits->nr; i++)
			set_wait(waits, &waits->thread[i], &off_cpu->intervals);
	}
	free_waits(waits);
	off_cpu->waits = NULL;
}
