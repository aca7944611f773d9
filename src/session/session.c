/* SPDX-License-Identifier: MIT */
/* A recording with the objects that interpret it: reader, processes, symbols, addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <perch/jitdump.h>
#include <perch/session.h>

#include "base/reserved.h"
#include "internal.h"
#include "reads.h"
#include "tracepoint_text.h"

enum { MAX_MARKERS = 8 };

struct perch_session {
	struct perch_session_options options;
	struct perch_reader *reader;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_addresses *addresses;
	const struct perch_file_event *events;
	size_t nr_events;
	/* lost: by LOST records; lost_samples: by LOST_SAMPLES records */
	struct perch_session_stats stats;
	uint64_t lost_samples;
	bool live;			/* records are passed by perch_session_put() */
	const struct perch_record *put; /* the next one; NULL: none */
	bool merging_deferred;		/* an event defers call chains, and records come by time */
	bool call_stacks;		/* an event has call stacks in branch records */
	struct perch_record record;	/* of perch_session_next_sample() */
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	struct perch_unwinder *unwinder; /* NULL until it is needed */
	bool truncated; /* the stack that was unwound last is longer than its copy */
	struct tracepoint_texts *texts; /* NULL until they are needed */
	struct reads *reads;		/* NULL: samples have no counts, or are not divided */
	/* the kernel's part of a chain with its markers, a marker, and the part that was unwound */
	uint64_t words[2 * PERCH_MAX_CALL_CHAIN + MAX_MARKERS + 1];
};

/* ---- opening and closing ---- */

/*
 * True if the file is from another machine or another kernel, if the file shows that. Kernel
 * addresses then do not match the symbols of this machine.
 */
static bool is_foreign(const struct perch_reader *reader)
{
	struct perch_reader_damage damage;
	struct utsname here;
	bool any = false;
	const struct {
		enum perch_feature feature;
		const char *here;
	} facts[] = {
		{ PERCH_FEATURE_HOSTNAME, here.nodename },
		{ PERCH_FEATURE_OSRELEASE, here.release },
		{ PERCH_FEATURE_ARCH, here.machine },
	};

	if (uname(&here))
		return false;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *there = perch_reader_text(reader, facts[i].feature);

		if (there && strcmp(there, facts[i].here))
			return true;
		any |= there != NULL;
	}
	/*
	 * A truncated file has no such features, and is probably of this machine. A complete file
	 * without them is from a pipe, recorded by perf before Linux 4.18.
	 */
	perch_reader_get_damage(reader, &damage);
	return !any && ((!damage.unfinished && !damage.missing_bytes) ||
			perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE);
}

static int check_owner(const struct perch_reader *reader, const char *path, struct perch_error *err)
{
	uid_t owner;

	if (perch_reader_get_owner(reader, &owner) || !owner || owner == geteuid())
		return 0;
	return perch_error_set(err, EPERM, PERCH_ERROR_FILE,
			       "%s is not owned by the current user or root (it belongs to uid %u)",
			       path, (unsigned)owner);
}

/* A build id that cannot be added for another reason than memory is that of a damaged file. */
static int add_build_ids(struct perch_session *session, struct perch_error *err)
{
	const struct perch_build_id *ids;
	size_t nr = perch_reader_build_ids(session->reader, &ids);

	for (size_t i = 0; i < nr; i++)
		if (perch_processes_add_build_id(session->processes, ids[i].path, ids[i].bytes,
						 ids[i].size) == -ENOMEM)
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory for the build ids of the file");
	return 0;
}

/* Functions of a JIT compiler are valid from a time on, so records in another order have none. */
static int use_jitdump(struct perch_session *session, struct perch_error *err)
{
	struct perch_jitdump_options options = { .root = session->options.symbols.root,
						 .foreign = session->options.symbols.foreign };

	if (session->options.file_order)
		return 0;
	if (options.root && !strcmp(options.root, "/"))
		options.root = NULL;
	for (size_t i = 0; i < session->nr_events; i++) {
		const struct perch_attr *attr = &session->events[i].attr;

		options.other_clock |= !(attr->sample_type & PERCH_SAMPLE_TIME) ||
				       !attr->use_clockid || attr->clockid != CLOCK_MONOTONIC;
	}
	return perch_processes_use_jitdump(session->processes, &options, err);
}

/* Programs of the other byte order have no lines. */
static void set_bpf_programs(struct perch_session *session)
{
	const void *programs = NULL, *btf = NULL;
	size_t size = 0, btf_size = 0;

	if (perch_reader_byte_order(session->reader) != PERCH_BYTES_NATIVE)
		return;
	perch_reader_feature(session->reader, PERCH_FEATURE_BPF_PROG_INFO, &programs, &size);
	perch_reader_feature(session->reader, PERCH_FEATURE_BPF_BTF, &btf, &btf_size);
	perch_symbols_set_bpf_programs(session->symbols, programs, size, btf, btf_size);
}

/* The recording began before its end by the time between its first and its last sample. */
static void set_recorded_since(struct perch_session *session)
{
	uint64_t end = session->options.symbols.recorded_at;
	uint64_t time[2]; /* of the first and the last sample */
	const void *data;
	size_t size;

	if (perch_reader_feature(session->reader, PERCH_FEATURE_SAMPLE_TIME, &data, &size) ||
	    size < sizeof(time))
		return;
	memcpy(time, data, sizeof(time));
	if (perch_reader_byte_order(session->reader) != PERCH_BYTES_NATIVE)
		for (size_t i = 0; i < 2; i++)
			time[i] = __builtin_bswap64(time[i]);
	if (time[0] <= time[1] && time[1] - time[0] < end)
		perch_symbols_set_recorded_since(session->symbols, end - (time[1] - time[0]));
}

/* Makes the objects that change with each record. */
static int begin(struct perch_session *session, struct perch_error *err)
{
	int rc = perch_processes_new(&session->processes, err);

	if (!rc)
		rc = perch_symbols_new(&session->symbols, &session->options.symbols, err);
	if (!rc)
		rc = perch_addresses_new(&session->addresses, session->processes, session->symbols,
					 err);
	if (!rc)
		rc = use_jitdump(session, err);
	if (!rc)
		rc = perch_symbols_set_recorded_release(
			session->symbols,
			perch_reader_text(session->reader, PERCH_FEATURE_OSRELEASE), err);
	if (!rc) {
		set_bpf_programs(session);
		set_recorded_since(session);
	}
	if (!rc && !session->options.keep_reads && !session->options.file_order &&
	    perch__reads_new(&session->reads, session->events, session->nr_events))
		rc = perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				     "no memory for the ids of events");
	return rc ? rc : add_build_ids(session, err);
}

static void end(struct perch_session *session)
{
	perch__reads_free(session->reads);
	perch__tracepoint_texts_free(session->texts);
	perch_unwinder_free(session->unwinder);
	perch_addresses_free(session->addresses);
	perch_symbols_free(session->symbols);
	perch_processes_free(session->processes);
	session->reads = NULL;
	session->texts = NULL;
	session->unwinder = NULL;
	session->addresses = NULL;
	session->symbols = NULL;
	session->processes = NULL;
}

/* True if the branch stacks of the samples are call stacks (`record --call-graph lbr`). */
static bool has_call_stacks(const struct perch_attr *attr)
{
	return attr->sample_type & PERCH_SAMPLE_BRANCH_STACK &&
	       attr->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK;
}

/* path: NULL opens fd. */
static int open_reader(struct perch_session *session, const char *path, int fd,
		       struct perch_error *err)
{
	enum perch_order order = session->options.file_order ? PERCH_ORDER_FILE : PERCH_ORDER_TIME;
	int rc = path ? perch_reader_open(&session->reader, path, order, err)
		      : perch_reader_open_fd(&session->reader, fd, order, err);

	if (!rc && path && session->options.check_owner)
		rc = check_owner(session->reader, path, err);
	if (!rc && order == PERCH_ORDER_TIME)
		rc = perch_reader_merge_deferred(session->reader, err);
	if (rc)
		return rc;
	perch_reader_keep_damaged(session->reader, session->options.keep_damaged);
	session->nr_events = perch_reader_events(session->reader, &session->events);
	for (size_t i = 0; i < session->nr_events; i++) {
		const struct perch_attr *attr = &session->events[i].attr;

		session->merging_deferred |= order == PERCH_ORDER_TIME && attr->defer_callchain;
		session->call_stacks |= has_call_stacks(attr) && !session->options.keep_stacks;
	}
	session->options.symbols.foreign |= is_foreign(session->reader);
	if (!session->options.symbols.recorded_at)
		perch_reader_get_modified(session->reader, &session->options.symbols.recorded_at);
	return 0;
}

static int new_session(struct perch_session **result, const char *path, int fd,
		       const struct perch_session_options *options, struct perch_error *err)
{
	struct perch_session *session;
	int rc;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_session_options", err))
		return -EINVAL;
	session = calloc(1, sizeof(*session));
	if (!session)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a session");
	if (options)
		session->options = *options;
	rc = open_reader(session, path, fd, err);
	if (!rc)
		rc = begin(session, err);
	if (rc)
		perch_session_close(session);
	else
		*result = session;
	return rc;
}

int perch_session_open(struct perch_session **session, const char *path,
		       const struct perch_session_options *options, struct perch_error *err)
{
	return new_session(session, path, -1, options, err);
}

int perch_session_open_fd(struct perch_session **session, int fd,
			  const struct perch_session_options *options, struct perch_error *err)
{
	return new_session(session, NULL, fd, options, err);
}

void perch_session_close(struct perch_session *session)
{
	if (!session)
		return;
	end(session);
	perch_reader_close(session->reader);
	free(session);
}

int perch_session_rewind(struct perch_session *session, struct perch_error *err)
{
	end(session);
	session->stats = (struct perch_session_stats){ 0 };
	session->lost_samples = 0;
	session->put = NULL;
	perch_reader_rewind(session->reader);
	return begin(session, err);
}

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

/* ---- user stacks ---- */

/* True if the sample has a copy of the user stack instead of a user call chain. */
static bool has_stack(const struct perch_session *session, const struct perch_record *record)
{
	const struct perch_attr *attr = &session->events[record->event].attr;

	return record->sample.stack_user.dynamic_size &&
	       (attr->exclude_callchain_user || !(attr->sample_type & PERCH_SAMPLE_CALLCHAIN));
}

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

/* Adds what unwinding finds to the call chain of a sample, after the kernel's part. */
static int unwind(struct perch_session *session, struct perch_record *record,
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
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to unwind a user stack");
	count_end(session, result.end);
	session->truncated = result.end == PERCH_UNWIND_TRUNCATED;
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

/* Replaces the user part of the call chain of a sample by the call stack of its branch records. */
static void use_call_stack(struct perch_session *session, struct perch_record *record)
{
	size_t nr;

	if (!has_call_stacks(&session->events[record->event].attr))
		return;
	nr = perch__branch_chain(record, session->words,
				 sizeof(session->words) / sizeof(*session->words));
	if (!nr)
		return;
	session->truncated = false;
	record->sample.callchain.ip = session->words;
	record->sample.callchain.nr = nr;
}

/* ---- records ---- */

static int apply(struct perch_session *session, const struct perch_record *record,
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
	if (perch_processes_apply(session->processes, record) < 0)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the processes of the recording");
	return 0;
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
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the generated code of the recording");
	if (record->type == PERCH_RECORD_SAMPLE) {
		if (__builtin_expect(session->call_stacks, 0))
			use_call_stack(session, record);
		count_sample(session, record);
		if (__builtin_expect(!has_stack(session, record), 1))
			return 1;
		if (!session->options.keep_stacks && !session->options.file_order)
			rc = unwind(session, record, err);
		else
			session->stats.not_unwound++;
		return rc < 0 ? rc : 1;
	}
	rc = apply(session, record, err);
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
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory for the counts of events");
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
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for a call chain");
}

bool perch_session_is_truncated(const struct perch_session *session,
				const struct perch_record *record)
{
	return session->truncated && record->sample.callchain.ip == session->words;
}

/* The type of perch_addresses_call_chain(). */
typedef int add_chain(struct perch_addresses *addresses, struct perch_thread *thread,
		      const struct perch_record *record, uint32_t *numbers, size_t max);

static inline int resolve(struct perch_session *session, const struct perch_record *record,
			  add_chain *add, struct perch_session_sample *sample,
			  struct perch_error *err)
{
	struct perch_thread *thread;
	int nr;

	if (record->type != PERCH_RECORD_SAMPLE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record of type %u is no sample", record->type);
	thread = perch_processes_thread(session->processes, record->sample.pid, record->sample.tid);
	nr = thread ? add(session->addresses, thread, record, session->chain, PERCH_MAX_CALL_CHAIN)
		    : -ENOMEM;
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
	return resolve(session, record, perch_addresses_call_chain, sample, err);
}

int perch_session_add_chain(struct perch_session *session, const struct perch_record *record,
			    struct perch_session_sample *sample, struct perch_error *err)
{
	return resolve(session, record, perch_addresses_add_chain, sample, err);
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
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to print a tracepoint");
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
