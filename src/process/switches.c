/* SPDX-License-Identifier: MIT */
/*
 * The number of threads that run, from SWITCH, COMM, EXIT and SAMPLE records.
 *
 * The kernel writes no SWITCH record when the event is enabled, so a thread that runs at that time
 * is found by its exec, or by its first sample. The clocks of two CPUs may differ a little: a
 * thread that moves can be switched in on one CPU before it is switched out on the other one, and
 * runs until it is switched out as often as it is switched in.
 */
#include "internal.h"

#define MAX_OPEN 2 /* switches in that may precede the switch out of the other CPU */

/* Returns the switches in of a thread that no switch out has followed. After exec, other threads of
 * the process have none. */
static uint8_t *open_switches(struct perch_thread *thread)
{
	if (thread->program != thread->process->program) {
		thread->program = thread->process->program;
		thread->open_switches = 0;
	}
	return &thread->open_switches;
}

static void switch_in(struct perch_processes *processes, struct perch_thread *thread)
{
	uint8_t *nr = open_switches(thread);

	if (!*nr) {
		thread->process->nr_running++;
		processes->switches.nr_running++;
	}
	*nr += *nr < MAX_OPEN;
}

static void switch_out(struct perch_processes *processes, struct perch_thread *thread)
{
	uint8_t *nr = open_switches(thread);

	if (!*nr || --*nr)
		return;
	thread->process->nr_running--;
	processes->switches.nr_running--;
}

void perch__switches_end(struct perch_processes *processes, struct perch_thread *thread)
{
	while (*open_switches(thread))
		switch_out(processes, thread);
}

void perch__switches_exec(struct perch_processes *processes, struct perch_thread *thread)
{
	struct process *process = thread->process;

	if (!processes->switches.counted)
		return;
	processes->switches.nr_running -= process->nr_running;
	process->nr_running = 0;
	process->program++;
	switch_in(processes, thread);
}

bool perch__switches_thread_of(struct perch_processes *processes, const struct perch_record *record,
			       uint32_t *pid, uint32_t *tid)
{
	bool is_sample = record->type == PERCH_RECORD_SAMPLE;

	*pid = is_sample ? record->sample.pid : record->sample_id.pid;
	*tid = is_sample ? record->sample.tid : record->sample_id.tid;
	if (!processes->switches.counted)
		return false;
	/* the idle tasks and SWITCH_CPU_WIDE records are of events of CPUs, not of threads */
	if (!*tid || record->type == PERCH_RECORD_SWITCH_CPU_WIDE) {
		processes->switches.counted = false;
		return false;
	}
	return *tid != UINT32_MAX; /* of a thread that has ended */
}

void perch__switches_apply(struct perch_processes *processes, struct perch_thread *thread,
			   const struct perch_record *record)
{
	if (thread->ended && thread->tid == thread->pid) {
		/* after the end of the first thread, only one that calls exec gets its id: it waits
		 * until all others have ended, and its COMM record follows */
		perch__switches_exec(processes, thread);
		thread->ended = 0;
	}
	if (record->type == PERCH_RECORD_SAMPLE) {
		if (!thread->ended && !*open_switches(thread))
			switch_in(processes, thread);
	} else if (record->context_switch.out) {
		switch_out(processes, thread);
	} else {
		switch_in(processes, thread);
	}
}

void perch_processes_count_running(struct perch_processes *processes, uint32_t cpus)
{
	processes->switches.counted = true;
	processes->switches.cpus = cpus;
}

uint32_t perch_processes_parallelism(const struct perch_processes *processes)
{
	uint32_t nr = processes->switches.nr_running, cpus = processes->switches.cpus;

	if (!processes->switches.counted)
		return 0;
	if (cpus && nr > cpus)
		nr = cpus;
	return nr ? nr : 1;
}
