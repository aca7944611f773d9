/* SPDX-License-Identifier: MIT */
/* Whose thread is whose, and the calls that were interrupted in the log by those of others. */
#include <stdlib.h>
#include <string.h>

#include "explain_strace.h"
#include "options.h"

#define THREADS_MAX 65536
#define KEPT_MAX    (16u << 20) /* bytes of unfinished calls: more is no log of strace */

static struct strace_thread **slot_of(const struct strace_log *log, pid_t tid)
{
	struct strace_thread **slot =
		(struct strace_thread **)&log->bucket[(uint32_t)tid % CLI_NR(log->bucket)];

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

static struct strace_thread *thread_of(struct strace_log *log, pid_t tid)
{
	struct strace_thread **slot = slot_of(log, tid);

	if (!*slot && log->threads < THREADS_MAX) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot) {
			(*slot)->tid = (*slot)->process = tid;
			log->threads++;
		}
	}
	return *slot;
}

pid_t strace_thread_process(const struct strace_log *log, pid_t tid)
{
	const struct strace_thread *thread = *slot_of(log, tid);

	return thread ? thread->process : tid;
}

void strace_add_thread(struct strace_log *log, pid_t tid, pid_t process)
{
	struct strace_thread *thread = thread_of(log, tid);

	if (thread)
		thread->process = process;
}

bool strace_has_thread(const struct strace_log *log, pid_t tid)
{
	return *slot_of(log, tid) != NULL;
}

static void drop_kept(struct strace_log *log, struct strace_thread *thread)
{
	if (thread->unfinished)
		log->kept -= strlen(thread->unfinished);
	free(thread->unfinished);
	thread->unfinished = NULL;
}

static void remove_thread(struct strace_log *log, struct strace_thread **slot)
{
	struct strace_thread *thread = *slot;

	*slot = thread->next;
	drop_kept(log, thread);
	free(thread);
	log->threads--;
}

void strace_remove_thread(struct strace_log *log, pid_t tid)
{
	pid_t process = strace_thread_process(log, tid);
	struct strace_thread **slot = slot_of(log, tid);

	if (process == tid)
		explain_handle_exit(log->job, process);
	if (*slot)
		remove_thread(log, slot);
}

bool strace_save_unfinished(struct strace_log *log, pid_t tid, const char *text, size_t length)
{
	struct strace_thread *thread = thread_of(log, tid);

	if (!thread)
		return false;
	drop_kept(log, thread);
	if (length > KEPT_MAX - log->kept)
		return false;
	thread->unfinished = strndup(text, length);
	if (!thread->unfinished)
		return false;
	log->kept += strlen(thread->unfinished);
	return true;
}

char *strace_take_unfinished(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = *slot_of(log, tid);
	char *text = thread ? thread->unfinished : NULL;

	if (text) {
		log->kept -= strlen(text);
		thread->unfinished = NULL;
	}
	return text;
}

void strace_log_clear(struct strace_log *log)
{
	for (size_t i = 0; i < CLI_NR(log->bucket); i++)
		while (log->bucket[i])
			remove_thread(log, &log->bucket[i]);
	free(log->broken);
	log->broken = NULL;
}
