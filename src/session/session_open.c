/* SPDX-License-Identifier: MIT */
/* Opens a recording with the objects that interpret it, and closes it. */
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <perch/jitdump.h>

#include "base/kernel/off_cpu_event.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "session.h"

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
			return PERCH__NO_MEMORY(err, "for the build ids of the file");
	return 0;
}

/* Functions of a JIT compiler are valid from a time on, so records in another order have none. */
static int use_jitdump(struct perch_session *session, struct perch_error *err)
{
	struct perch_jitdump_options options = { .root = session->options.symbols.root,
						 .foreign = session->options.symbols.foreign,
						 .any_owner = session->options.symbols.any_owner,
						 .recorded_at =
							 session->options.symbols.recorded_at };

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

static void set_recorded_files(struct perch_session *session)
{
	const struct perch_recorded_file *files;
	size_t nr = perch_reader_recorded_files(session->reader, &files);

	perch_symbols_set_recorded_files(session->symbols, files, nr);
}

/* Not if the program knows when it was made: that of records which come from a sampler. */
static void set_times(struct perch_session *session)
{
	struct perch_recording_times times;

	perch_reader_get_times(session->reader, &times);
	if (!session->options.symbols.recorded_at)
		session->options.symbols.recorded_at = times.end;
	session->recorded_since = times.start;
}

/* Returns the number of CPUs of the recorded machine; 0 if unknown. */
static uint32_t count_cpus(const struct perch_session *session)
{
	const void *data;
	uint32_t cpus;
	size_t size;

	if (perch_reader_feature(session->reader, PERCH_FEATURE_NRCPUS, &data, &size) ||
	    size < sizeof(cpus))
		return 0;
	memcpy(&cpus, data, sizeof(cpus));
	return perch_reader_byte_order(session->reader) == PERCH_BYTES_NATIVE
		       ? cpus
		       : __builtin_bswap32(cpus);
}

/* True if an event writes the context switches of threads and of their children. */
static bool has_switches(const struct perch_session *session)
{
	const uint64_t needs = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME;

	for (size_t i = 0; i < session->nr_events; i++) {
		const struct perch_attr *attr = &session->events[i].attr;

		if (attr->context_switch && attr->inherit && attr->sample_id_all &&
		    (attr->sample_type & needs) == needs)
			return true;
	}
	return false;
}

/* The number of threads that run is known if the records have the order of time. */
static void count_running(struct perch_session *session)
{
	session->counts_running = !session->options.file_order && has_switches(session);
	if (session->counts_running)
		perch_processes_count_running(session->processes, count_cpus(session));
}

/* Makes the objects that change with each record. */
static int begin_session(struct perch_session *session, struct perch_error *err)
{
	int rc = perch_processes_new(&session->processes, err);

	if (!rc)
		rc = perch_symbols_new(&session->symbols, &session->options.symbols, err);
	if (!rc)
		rc = perch_addresses_new(&session->addresses, session->processes, session->symbols,
					 err);
	if (!rc && session->options.ignore_callees)
		rc = perch_addresses_ignore_callees(session->addresses,
						    session->options.ignore_callees, err);
	if (!rc)
		rc = use_jitdump(session, err);
	if (!rc)
		rc = perch_symbols_set_recorded_release(
			session->symbols,
			perch_reader_text(session->reader, PERCH_FEATURE_OSRELEASE), err);
	if (!rc) {
		count_running(session);
		set_bpf_programs(session);
		perch_symbols_set_recorded_since(session->symbols, session->recorded_since);
		set_recorded_files(session);
	}
	if (!rc && !session->options.keep_reads && !session->options.file_order &&
	    perch__reads_new(&session->reads, session->events, session->nr_events))
		rc = PERCH__NO_MEMORY(err, "for the ids of events");
	return rc ? rc : add_build_ids(session, err);
}

static void end_session(struct perch_session *session)
{
	perch__reads_free(session->reads);
	perch__tracepoint_texts_free(session->texts);
	perch_unwinder_free(session->unwinder);
	perch_addresses_free(session->addresses);
	perch_symbols_free(session->symbols);
	perch_processes_free(session->processes);
	free(session->marked);
	session->marked = NULL;
	session->nr_marked = 0;
	session->reads = NULL;
	session->texts = NULL;
	session->unwinder = NULL;
	session->addresses = NULL;
	session->symbols = NULL;
	session->processes = NULL;
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
		session->call_stacks |= perch__has_call_stacks(attr) &&
					!session->options.keep_stacks;
		session->off_cpu |= perch__is_off_cpu(&session->events[i]);
		session->branch_history |= session->options.branch_history &&
					   perch__has_branch_history(attr);
	}
	session->options.symbols.foreign |= is_foreign(session->reader);
	if (!session->options.symbols.arch)
		session->options.symbols.arch = perch_reader_arch(session->reader);
	set_times(session);
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
	if (options && options->branch_history && options->ignore_callees)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "branch_history and ignore_callees exclude each other");
	session = calloc(1, sizeof(*session));
	if (!session)
		return PERCH__NO_MEMORY(err, "for a session");
	if (options)
		session->options = *options;
	rc = open_reader(session, path, fd, err);
	if (!rc)
		rc = begin_session(session, err);
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
	end_session(session);
	perch_reader_close(session->reader);
	free(session);
}

int perch_session_rewind(struct perch_session *session, struct perch_error *err)
{
	end_session(session);
	session->stats = (struct perch_session_stats){ 0 };
	session->lost_samples = 0;
	session->put = NULL;
	perch_reader_rewind(session->reader);
	return begin_session(session, err);
}
