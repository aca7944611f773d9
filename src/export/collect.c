/* SPDX-License-Identifier: MIT */
/* Adds up samples by stack, thread and event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/dummy_event.h"
#include "base/kernel/off_cpu_event.h"
#include "base/kernel/user_mode.h"
#include "internal.h"

/* ---- threads ---- */

static bool same_thread(const void *threads, uint32_t index, const void *key)
{
	const struct thread_name *thread = (const struct thread_name *)threads + index;
	const struct thread_name *wanted = key;

	return thread->pid == wanted->pid && thread->tid == wanted->tid &&
	       thread->comm_index == wanted->comm_index && thread->cgroup == wanted->cgroup;
}

int perch__export_thread(struct perch_export *export, const struct perch_thread *thread,
			 const char *cgroup, uint32_t *index)
{
	struct thread_name name = {
		.pid = perch__export_has_pids(export) ? perch_thread_pid(thread) : 0,
		.tid = perch__export_has_tids(export) ? perch_thread_tid(thread) : 0,
		.comm_index = perch_thread_comm_index(thread),
		.cgroup = cgroup,
	};
	uint64_t seed = perch__hash_integer(export->threads.seed, (uintptr_t)cgroup);
	uint64_t hash =
		perch__hash_pair(perch__hash_integer(seed, name.comm_index), name.pid, name.tid);
	const char *comm = perch_thread_comm(thread);
	size_t size = strlen(comm) + 1;

	*index = perch__hash_find(&export->threads, hash, same_thread, export->thread, &name);
	if (*index != PERCH__HASH_NONE)
		return 0;
	name.comm = malloc(size); /* cleaned, a name is not longer */
	if (name.comm)
		perch_clean_text(comm, name.comm, size);
	if (!name.comm || PERCH__ARRAY_RESERVE_BY_NR(export->thread, export->nr_threads, 1) ||
	    perch__hash_add(&export->threads, hash, export->nr_threads)) {
		free(name.comm);
		return -ENOMEM;
	}
	export->thread[export->nr_threads] = name;
	*index = (uint32_t) export->nr_threads++;
	return 0;
}

/* ---- samples ---- */

void perch__collect_clear(struct perch_export *export)
{
	bool is_forked = perch__export_batches_free(export->batches);

	for (size_t i = 0; i < export->nr_threads; i++)
		free(export->thread[i].comm);
	free(export->thread);
	perch__hash_clear(&export->threads);
	/* what the thread may have been changing stays allocated: its pointers may be those of
	 * memory that is free */
	if (is_forked)
		return;
	free(export->stack);
	free(export->entry);
	free(export->occurrence);
	perch__hash_clear(&export->stacks);
	perch__hash_clear(&export->entries);
}

/* Remembers the first and the last time. */
static void note_time(struct perch_export *export, const struct perch_session_sample *sample)
{
	uint64_t time = sample->record->sample.time;

	if (!(sample->event->attr.sample_type & PERCH_SAMPLE_TIME))
		return;
	if (!export->first_time || time < export->first_time)
		export->first_time = time;
	if (time > export->last_time)
		export->last_time = time;
}

/* The path of the sample's cgroup if the format has it and it is known; NULL. */
static const char *cgroup_of(const struct perch_export *export,
			     const struct perch_session_sample *sample)
{
	if (!(export->format->methods->flags & EXPORT_CGROUPS) ||
	    !(sample->event->attr.sample_type & PERCH_SAMPLE_CGROUP))
		return NULL;
	return perch_processes_cgroup_name(perch_session_processes(export->session),
					   sample->record->sample.cgroup);
}

int perch__collect_add(struct perch_export *export, const struct perch_session_sample *sample,
		       uint32_t *thread)
{
	if (perch__export_thread(export, sample->thread, cgroup_of(export, sample), thread))
		return -ENOMEM;
	note_time(export, sample);
	return perch__export_batches_add(export, sample, *thread);
}

/* True if user space has addresses of calls in all call chains: stacks are those of any event. */
static bool have_calls(const struct perch_export *export)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &events), chains = 0,
	       calls = 0;

	for (size_t i = 0; i < nr; i++) {
		bool has = perch_session_has_calls(export->session, &events[i]);

		if (perch__is_dummy(&events[i].attr))
			continue;
		calls += has;
		chains += has || perch__sample_type(&events[i]) & PERCH_SAMPLE_CALLCHAIN;
	}
	return calls && calls == chains;
}

/*
 * The address of a caller is a return address if it called code of the same kind. That of user code
 * below an interrupt, a fault, a system call or a signal is the address of the instruction itself.
 */
void perch__collect_callers(struct perch_export *export)
{
	bool has_calls = export->nr_stacks && have_calls(export);

	for (size_t i = 0; i < export->nr_stacks; i++) {
		const struct stack_node *node = &export->stack[i];
		const struct perch_address *address, *caller;

		if (node->parent == NO_INDEX)
			continue;
		address = perch_session_address(export->session, node->address);
		caller =
			perch_session_address(export->session, export->stack[node->parent].address);
		if (address->cpumode_char == caller->cpumode_char &&
		    !(has_calls && perch__is_user_mode(address->cpumode_char)) &&
		    !perch_symbol_is_signal_return(address->symbol))
			export->stack[node->parent].calls = true;
	}
}
