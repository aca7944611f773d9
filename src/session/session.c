/* SPDX-License-Identifier: MIT */
/* The records of a session, in order, and what they say of processes, symbols and addresses. */
#include <perch/jitdump.h>

#include "base/no_memory.h"
#include "session.h"

/* ---- statistics of samples ---- */

/* The number of addresses: callchain.nr includes context markers. */
static bool is_cut(const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	size_t nr = 0;

	perch_chain_init(&chain, record);
	while (nr <= PERCH_MAX_CALL_CHAIN && perch_chain_next(&chain, &address))
		nr++;
	return nr > PERCH_MAX_CALL_CHAIN;
}

/* True if the user part of the chain was to be in a later record, and is not merged. */
static bool is_incomplete(const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	perch_chain_init(&chain, record);
	while (!chain.deferred && perch_chain_next(&chain, &address))
		;
	return chain.deferred;
}

static void count_sample(struct perch_session *session, const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;

	session->stats.samples++;
	if (__builtin_expect(sample->callchain.nr > PERCH_MAX_CALL_CHAIN, 0))
		session->stats.cut_chains += is_cut(record);
	if (__builtin_expect(session->merging_deferred, 0))
		session->stats.incomplete_chains += is_incomplete(record);
}

/* ---- records ---- */

/* Not inlined: samples of most recordings do not need it. */
static __attribute__((noinline)) int apply_to_processes(struct perch_session *session,
							const struct perch_record *record,
							struct perch_error *err)
{
	if (perch_processes_apply(session->processes, record) >= 0)
		return 0;
	return PERCH__NO_MEMORY(err, "for the processes of the recording");
}

static int apply_record(struct perch_session *session, const struct perch_record *record,
			struct perch_error *err)
{
	struct perch_session_stats *stats = &session->stats;

	switch (record->type) {
	case PERCH_RECORD_LOST:
		stats->lost += record->lost.lost;
		return 0;
	case PERCH_RECORD_LOST_SAMPLES:
		session->lost_samples += record->lost.lost;
		return 0;
	case PERCH_RECORD_THROTTLE:
		stats->throttled++;
		return 0;
	case PERCH_RECORD_AUX:
		stats->truncated_aux += !!(record->aux.flags & PERCH_AUX_FLAG_TRUNCATED);
		return 0;
	}
	return apply_to_processes(session, record, err);
}

void perch_session_put(struct perch_session *session, const struct perch_record *record)
{
	session->live = true;
	session->put = record;
}

/* Takes the record that the caller has passed. */
static int take_put(struct perch_session *session, struct perch_record *record)
{
	if (!session->put)
		return 0;
	*record = *session->put;
	session->put = NULL;
	return 1;
}

static int unwind_sample(struct perch_session *session, struct perch_record *record,
			 struct perch_error *err)
{
	if (!session->options.keep_stacks && !session->options.file_order)
		return perch__unwind_sample(session, record, err);
	session->stats.not_unwound++;
	return 0;
}

static int next_record(struct perch_session *session, struct perch_record *record,
		       struct perch_error *err)
{
	int rc = __builtin_expect(session->live, 0)
			 ? take_put(session, record)
			 : perch_reader_next(session->reader, record, err);

	if (rc <= 0)
		return rc;
	session->stats.records++;
	if (record->sample_id.has & PERCH_SAMPLE_TIME &&
	    perch_processes_advance(session->processes, record->sample_id.time))
		return PERCH__NO_MEMORY(err, "for the generated code of the recording");
	if (record->type == PERCH_RECORD_SAMPLE) {
		if (__builtin_expect(session->off_cpu, 0) && perch__use_off_cpu(session, record))
			return PERCH__NO_MEMORY(err, "for the processes of the recording");
		if (__builtin_expect(session->call_stacks, 0))
			perch__use_call_stack(session, record);
		count_sample(session, record);
		if (__builtin_expect(session->counts_running, 0)) /* its thread runs */
			rc = apply_to_processes(session, record, err);
		if (__builtin_expect(perch__has_stack(session, record), 0) && rc >= 0)
			rc = unwind_sample(session, record, err);
		if (__builtin_expect(session->branch_history, 0) && rc >= 0)
			perch__use_branch_history(session, record);
		return rc < 0 ? rc : 1;
	}
	rc = apply_record(session, record, err);
	return rc ? rc : 1;
}

int perch_session_next(struct perch_session *session, struct perch_record *record,
		       struct perch_error *err)
{
	while (true) {
		int rc = __builtin_expect(session->reads != NULL, 0)
				 ? perch__reads_next(session->reads, record)
				 : 0;

		if (rc < 0)
			return PERCH__NO_MEMORY(err, "for the counts of events");
		if (!rc)
			rc = next_record(session, record, err);
		else
			return rc;
		if (rc <= 0 || __builtin_expect(!session->reads, 1) ||
		    record->type != PERCH_RECORD_SAMPLE ||
		    !perch__reads_start(session->reads, record))
			return rc;
	}
}

static int no_chain_memory(struct perch_error *err)
{
	return PERCH__NO_MEMORY(err, "for a call chain");
}

bool perch_session_is_truncated(const struct perch_session *session,
				const struct perch_record *record)
{
	return perch__has_truncated_stack(session, record);
}

bool perch_session_has_calls(const struct perch_session *session,
			     const struct perch_file_event *event)
{
	const struct perch_attr *attr = &event->attr;

	return (session->call_stacks && perch__has_call_stacks(attr)) ||
	       (attr->sample_type & PERCH_SAMPLE_STACK_USER && perch__lacks_user_chain(attr));
}

static inline int resolve_sample(struct perch_session *session, const struct perch_record *record,
				 perch__add_chain *add, bool join,
				 struct perch_session_sample *sample, struct perch_error *err)
{
	struct perch_thread *thread;
	int nr;

	if (record->type != PERCH_RECORD_SAMPLE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record of type %u is no sample", record->type);
	thread = perch_processes_thread(session->processes, record->sample.pid, record->sample.tid);
	nr = thread ? add(session->addresses, thread, record, session->chain, PERCH_MAX_CALL_CHAIN)
		    : -ENOMEM;
	if (__builtin_expect(join, 0) && session->options.off_cpu_states && nr >= 0)
		nr = perch__join_state(session, record, thread, add, nr);
	if (__builtin_expect(join, 0) && session->options.wakers && nr >= 0)
		nr = perch__join_waker(session, record, add, nr);
	if (nr < 0)
		return no_chain_memory(err);
	*sample = (struct perch_session_sample){
		.record = record,
		.event = perch_session_record_event(session, record),
		.thread = thread,
		.chain = session->chain,
		.nr = nr,
		.truncated = perch_session_is_truncated(session, record),
	};
	return 0;
}

int perch_session_resolve(struct perch_session *session, const struct perch_record *record,
			  struct perch_session_sample *sample, struct perch_error *err)
{
	return resolve_sample(session, record, perch_addresses_outer_chain, session->off_cpu,
			      sample, err);
}

int perch_session_resolve_waker(struct perch_session *session, const struct perch_record *record,
				struct perch_session_sample *sample, struct perch_error *err)
{
	struct perch_off_cpu off_cpu;
	int rc;

	if (!perch__make_waker(session, record, &off_cpu))
		return 0;
	rc = resolve_sample(session, &session->waker, perch_addresses_outer_chain, false, sample,
			    err);
	return rc ? rc : 1;
}

int perch_session_add_chain(struct perch_session *session, const struct perch_record *record,
			    struct perch_session_sample *sample, struct perch_error *err)
{
	return resolve_sample(session, record, perch_addresses_add_chain, session->off_cpu, sample,
			      err);
}

int perch_session_number_chains(struct perch_session *session, const uint32_t **numbers,
				struct perch_error *err)
{
	return perch_addresses_number_chains(session->addresses, numbers) ? no_chain_memory(err)
									  : 0;
}

int perch_session_next_sample(struct perch_session *session, struct perch_session_sample *sample,
			      struct perch_error *err)
{
	int rc;

	do
		rc = perch_session_next(session, &session->record, err);
	while (rc > 0 && session->record.type != PERCH_RECORD_SAMPLE);
	if (rc > 0) {
		int failed = perch_session_resolve(session, &session->record, sample, err);

		rc = failed ? failed : 1;
	}
	return rc;
}

/* ---- parts of a session ---- */

const struct perch_address *perch_session_address(struct perch_session *session, uint32_t number)
{
	return perch_addresses_at(session->addresses, number);
}

const struct perch_file_event *perch_session_record_event(const struct perch_session *session,
							  const struct perch_record *record)
{
	return record->type < PERCH_RECORD_HEADER_ATTR && record->event < session->nr_events
		       ? &session->events[record->event]
		       : NULL;
}

int perch_session_format(struct perch_session *session, const struct perch_file_event *event,
			 const struct perch_tracepoint_format **format, struct perch_error *err)
{
	*format = NULL;
	if (event->attr.type != PERCH_TYPE_TRACEPOINT)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "%s is not a tracepoint: its samples have no fields",
				       event->name);
	return perch_reader_tracepoint(session->reader, event->attr.config, format, err);
}

int perch_session_tracepoint_text(struct perch_session *session, const struct perch_record *record,
				  char *text, size_t size, struct perch_error *err)
{
	const struct perch_file_event *event = perch_session_record_event(session, record);
	struct kernel_names names = { session->processes, session->symbols, NULL };
	const struct perch_tracepoint_format *format;
	bool plain = false;
	int rc;

	*text = '\0';
	if (record->type != PERCH_RECORD_SAMPLE || !event || !record->sample.raw.size)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record without raw data is no sample of a tracepoint");
	rc = perch_session_format(session, event, &format, err);
	if (rc)
		return rc;
	names.thread =
		perch_processes_thread(session->processes, record->sample.pid, record->sample.tid);
	rc = perch__tracepoint_text(&session->texts, session->reader, &names, record, format, text,
				    size, &plain);
	session->stats.plain_tracepoints += plain;
	if (rc < 0)
		return PERCH__NO_MEMORY(err, "to print a tracepoint");
	return rc;
}

/*
 * A recorder that reads the lost counts of its events at the end writes LOST_SAMPLES records. They
 * include the losses that LOST records report.
 */
void perch_session_get_stats(const struct perch_session *session, struct perch_session_stats *stats)
{
	*stats = session->stats;
	if (session->lost_samples > stats->lost)
		stats->lost = session->lost_samples;
	stats->unknown_counts = perch__reads_unknown(session->reads);
	perch_reader_get_damage(session->reader, &stats->damage);
}

struct perch_reader *perch_session_reader(struct perch_session *session)
{
	return session->reader;
}

struct perch_processes *perch_session_processes(struct perch_session *session)
{
	return session->processes;
}

const struct perch_unwinder *perch_session_unwinder(const struct perch_session *session)
{
	return session->unwinder;
}

struct perch_symbols *perch_session_symbols(struct perch_session *session)
{
	return session->symbols;
}

struct perch_addresses *perch__session_addresses(struct perch_session *session)
{
	return session->addresses;
}
