/* SPDX-License-Identifier: MIT */
/* Call chains that are made: from copies of the user stack, or from branch records. */
#include "base/no_memory.h"
#include "session.h"

static int make_unwinder(struct perch_session *session, struct perch_error *err)
{
	enum perch_arch arch = perch_reader_arch(session->reader);

	if (session->unwinder)
		return 0;
	return perch_unwinder_new(&session->unwinder,
				  arch == PERCH_ARCH_UNKNOWN ? perch_arch_here() : arch,
				  session->processes, session->symbols, err);
}

/* Copies the kernel's part of a call chain. Returns its number of words. */
static size_t copy_kernel_chain(struct perch_session *session, const struct perch_record *record)
{
	size_t nr = record->sample.callchain.nr;

	if (nr > PERCH_MAX_CALL_CHAIN + MAX_MARKERS)
		nr = PERCH_MAX_CALL_CHAIN + MAX_MARKERS;
	if (nr)
		memcpy(session->words, record->sample.callchain.ip, nr * sizeof(*session->words));
	return nr;
}

static void count_end(struct perch_session *session, enum perch_unwind_end end)
{
	switch (end) {
	case PERCH_UNWIND_OUTERMOST:
		break;
	case PERCH_UNWIND_NO_REGISTERS:
	case PERCH_UNWIND_UNSUPPORTED:
		session->stats.not_unwound++;
		break;
	case PERCH_UNWIND_MAX_FRAMES:
		session->stats.cut_chains++;
		break;
	default:
		session->stats.incomplete_stacks++;
	}
}

int perch__unwind_sample(struct perch_session *session, struct perch_record *record,
			 struct perch_error *err)
{
	struct perch_thread *thread =
		perch_processes_thread(session->processes, record->sample.pid, record->sample.tid);
	size_t nr = copy_kernel_chain(session, record);
	size_t most = nr < PERCH_MAX_CALL_CHAIN ? PERCH_MAX_CALL_CHAIN - nr : 1;
	struct perch_unwind_result result;
	int rc = make_unwinder(session, err);

	if (rc)
		return rc;
	if (!thread ||
	    perch_unwind(session->unwinder, thread, record, session->words + nr + 1, most, &result))
		return PERCH__NO_MEMORY(err, "to unwind a user stack");
	count_end(session, result.end);
	session->truncated = result.end == PERCH_UNWIND_TRUNCATED;
	session->stats.ended_copies += session->truncated &&
				       record->sample.stack_user.dynamic_size <
					       record->sample.stack_user.size;
	if (!result.nr)
		return 0;
	session->words[nr++] = PERCH_CONTEXT_USER;
	/* the words of a call chain have the byte order of the recording */
	if (record->parse_info->swapped)
		for (size_t i = nr - 1; i < nr + result.nr; i++)
			session->words[i] = __builtin_bswap64(session->words[i]);
	record->sample.callchain.ip = session->words;
	record->sample.callchain.nr = nr + result.nr;
	return 0;
}

void perch__use_call_stack(struct perch_session *session, struct perch_record *record)
{
	size_t nr;

	if (!perch__has_call_stacks(&session->events[record->event].attr))
		return;
	nr = perch__branch_chain(record, session->words,
				 sizeof(session->words) / sizeof(*session->words));
	if (!nr)
		return;
	session->truncated = false;
	record->sample.callchain.ip = session->words;
	record->sample.callchain.nr = nr;
}

void perch__use_branch_history(struct perch_session *session, struct perch_record *record)
{
	bool calls = perch__has_call_stacks(&session->events[record->event].attr);
	bool cut;
	size_t nr;

	session->truncated = perch__has_truncated_stack(session, record);
	nr = perch__branch_history(record, calls, session->history, &cut);
	/* chains with more recorded words are counted already */
	session->stats.cut_chains += cut && record->sample.callchain.nr <= PERCH_MAX_CALL_CHAIN;
	record->sample.callchain.ip = session->history;
	record->sample.callchain.nr = nr;
}
