/* SPDX-License-Identifier: MIT */
/* Samples of off-CPU time: those of perf get the values of their raw data, and those of perch the
 * call chains of wakers. */
#include <perch/off_cpu.h>

#include "base/array.h"
#include "base/kernel/off_cpu_event.h"
#include "session.h"

bool perch_session_off_cpu(const struct perch_session *session, const struct perch_record *record,
			   struct perch_off_cpu *off_cpu)
{
	return record->type == PERCH_RECORD_SAMPLE && record->event < session->nr_events &&
	       perch__is_off_cpu(&session->events[record->event]) && !record->parse_info->swapped &&
	       perch_off_cpu_decode(off_cpu, &record->sample);
}

/* ---- samples of perf ---- */

/*
 * A sample that a BPF program writes has the fields of the thread before the switch, and its raw
 * data has the thread id first. One that perf writes at the end has no thread in its fields, and
 * the process id first. A thread's id is above that of its process until ids are used again.
 */
static void set_thread(struct perch_sample *sample, const struct perch_off_cpu *off_cpu)
{
	bool other_order = (sample->pid || sample->tid) && off_cpu->pid > off_cpu->tid;

	sample->pid = other_order ? off_cpu->tid : off_cpu->pid;
	sample->tid = other_order ? off_cpu->pid : off_cpu->tid;
}

static void use_sample_of_perf(struct perch_session *session, struct perch_record *record)
{
	const size_t most = sizeof(session->words) / sizeof(*session->words);
	struct perch_sample *sample = &record->sample;
	struct perch_chain_address address;
	struct perch_off_cpu off_cpu;
	struct perch_chain chain;

	if (!perch_session_off_cpu(session, record, &off_cpu))
		return;
	set_thread(sample, &off_cpu);
	record->sample_id.pid = sample->pid;
	record->sample_id.tid = sample->tid;
	sample->period = off_cpu.ns;
	sample->cgroup = off_cpu.cgroup;
	sample->callchain.nr = off_cpu.nr < most ? off_cpu.nr : most;
	sample->callchain.ip = session->words;
	if (off_cpu.nr)
		memcpy(session->words, off_cpu.chain,
		       sample->callchain.nr * sizeof(*session->words));
	session->truncated = false;
	perch_chain_init(&chain, record);
	if (!perch_chain_next(&chain, &address))
		return;
	sample->ip = address.ip;
	record->misc = (uint16_t)((record->misc & ~PERCH_MISC_CPUMODE_MASK) | address.cpumode);
}

/* ---- frames that say what no function does ---- */

/* Addresses of no kernel: above user space, and not canonical where addresses have fewer bits. */
#define FIRST_MARK 0x8000000000000000u
#define MARK_BYTES 16u

/* Frames by number; from MARK_WAKERS on those of wakers, by index of the name. */
enum { MARK_INTERRUPT, MARK_BEFORE, MARK_STATES, MARK_WAKERS = MARK_STATES + PERCH_OFF_CPU_STATES };

/* Makes a function of the kernel, once, whose name is the text. Returns 0 or -ENOMEM. */
static int make_mark(struct perch_session *session, const struct perch_record *like, size_t number,
		     const char *text, uint64_t *address)
{
	struct perch_record record = {
		.type = PERCH_RECORD_KSYMBOL,
		.parse_info = like->parse_info,
		.ksymbol = { .address = FIRST_MARK + number * MARK_BYTES,
			     .length = MARK_BYTES,
			     .type = PERCH_RECORD_KSYMBOL_TYPE_OOL,
			     .name = { text, (uint32_t)strlen(text) } },
	};

	*address = record.ksymbol.address + MARK_BYTES / 2;
	if (PERCH__ARRAY_RESERVE_ZEROED(session->marked, session->nr_marked, number + 1))
		return -ENOMEM;
	if (session->marked[number])
		return 0;
	session->marked[number] = true;
	return perch_processes_apply(session->processes, &record) < 0 ? -ENOMEM : 0;
}

/* A thread that was off the CPU when the recording began has no call chain, if nobody could read
 * where it waited. */
static int name_wait(struct perch_session *session, struct perch_record *record)
{
	struct perch_off_cpu off_cpu;

	if (record->sample.callchain.nr || !perch_session_off_cpu(session, record, &off_cpu) ||
	    !(off_cpu.flags & PERCH_OFF_CPU_BEGAN_BEFORE))
		return 0;
	record->misc = PERCH_MISC_KERNEL;
	return make_mark(session, record, MARK_BEFORE, "[off the CPU before the recording]",
			 &record->sample.ip);
}

int perch__use_off_cpu(struct perch_session *session, struct perch_record *record)
{
	if (!perch__is_off_cpu_of_perf(&session->events[record->event]))
		return name_wait(session, record);
	use_sample_of_perf(session, record);
	return 0;
}

/* ---- wakers ---- */

bool perch__make_waker(struct perch_session *session, const struct perch_record *record,
		       struct perch_off_cpu *off_cpu)
{
	struct perch_sample *sample = &session->waker.sample;
	uint64_t nr;

	if (!perch_session_off_cpu(session, record, off_cpu) ||
	    !(off_cpu->flags & PERCH_OFF_CPU_WOKEN))
		return false;
	nr = off_cpu->waker_nr;
	if (nr > PERCH_MAX_CALL_CHAIN)
		nr = PERCH_MAX_CALL_CHAIN;
	/* the raw data is not aligned */
	if (nr)
		memcpy(session->waker_words, off_cpu->waker_chain, nr * sizeof(uint64_t));
	session->waker = *record;
	*sample = (struct perch_sample){ .pid = off_cpu->waker_pid,
					 .tid = off_cpu->waker_tid,
					 .time = record->sample.time,
					 .cpu = record->sample.cpu };
	sample->callchain.ip = session->waker_words;
	sample->callchain.nr = nr;
	/* the first entry is the marker of the kernel */
	sample->ip = nr > 1 ? session->waker_words[1] : 0;
	return true;
}

/* ---- call chains with states and wakers ---- */

/* Makes the frame of a waker. Returns 0 or -ENOMEM. */
static int make_waker_mark(struct perch_session *session, const struct perch_thread *waker,
			   uint32_t flags, uint64_t *address)
{
	char name[64];

	if (flags & PERCH_OFF_CPU_WOKEN_BY_INTERRUPT)
		return make_mark(session, &session->waker, MARK_INTERRUPT,
				 "[woken by an interrupt]", address);
	snprintf(name, sizeof(name), "[woken by %s]", perch_thread_comm(waker));
	return make_mark(session, &session->waker, MARK_WAKERS + perch_thread_comm_index(waker),
			 name, address);
}

/* Stores the number of the address of a frame. Returns 1 or -ENOMEM. */
static int add_mark(struct perch_session *session, const struct perch_record *like,
		    struct perch_thread *thread, uint64_t address, perch__add_chain *add,
		    uint32_t *number)
{
	struct perch_record mark = *like;

	mark.misc = PERCH_MISC_KERNEL;
	mark.sample.ip = address;
	mark.sample.callchain.nr = 0;
	return add(session->addresses, thread, &mark, number, 1);
}

int perch__join_state(struct perch_session *session, const struct perch_record *record,
		      struct perch_thread *thread, perch__add_chain *add, int nr)
{
	struct perch_off_cpu off_cpu;
	uint64_t address;
	uint32_t mark;
	char name[64];
	size_t state;

	if (nr == PERCH_MAX_CALL_CHAIN || !perch_session_off_cpu(session, record, &off_cpu))
		return nr;
	state = off_cpu.state < PERCH_OFF_CPU_STATES ? off_cpu.state : PERCH_OFF_CPU_UNKNOWN;
	snprintf(name, sizeof(name), "[%s]", perch_off_cpu_state_name((uint32_t)state));
	if (make_mark(session, record, MARK_STATES + state, name, &address) ||
	    add_mark(session, record, thread, address, add, &mark) < 0)
		return -ENOMEM;
	memmove(session->chain + 1, session->chain, (size_t)nr * sizeof(mark));
	session->chain[0] = mark;
	return nr + 1;
}

/* An interrupt interrupts any thread: only the kernel's part of the chain has to do with it. */
static void leave_out_interrupted(struct perch_session *session)
{
	size_t nr = 0;

	while (nr < session->waker.sample.callchain.nr &&
	       session->waker_words[nr] != PERCH_CONTEXT_USER)
		nr++;
	session->waker.sample.callchain.nr = nr;
}

int perch__join_waker(struct perch_session *session, const struct perch_record *record,
		      perch__add_chain *add, int nr)
{
	const int most = PERCH_MAX_CALL_CHAIN - nr - 1;
	uint32_t chain[PERCH_MAX_CALL_CHAIN], mark;
	struct perch_off_cpu off_cpu;
	struct perch_thread *waker;
	uint64_t address;
	int added;

	if (most < 1 || !perch__make_waker(session, record, &off_cpu))
		return nr;
	waker = perch_processes_thread(session->processes, off_cpu.waker_pid, off_cpu.waker_tid);
	if (off_cpu.flags & PERCH_OFF_CPU_WOKEN_BY_INTERRUPT)
		leave_out_interrupted(session);
	if (!waker || make_waker_mark(session, waker, off_cpu.flags, &address) ||
	    add_mark(session, &session->waker, waker, address, add, &mark) < 0)
		return -ENOMEM;
	added = off_cpu.waker_nr
			? add(session->addresses, waker, &session->waker, chain, (size_t)most)
			: 0;
	if (added < 0)
		return -ENOMEM;
	memmove(session->chain + added + 1, session->chain, (size_t)nr * sizeof(*chain));
	session->chain[added] = mark;
	for (int i = 0; i < added; i++)
		session->chain[i] = chain[added - 1 - i];
	return nr + added + 1;
}
