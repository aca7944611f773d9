/* SPDX-License-Identifier: MIT */
/*
 * Each round of the recorder is sorted by time, applied to the processes by a session, and its
 * samples are added to the window. Addresses are resolved to a DSO and an offset; they get names
 * when somebody asks for them.
 */
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "labels/labels.h"
#include "memory.h"
#include "recording/epoch.h"
#include "recording/held_files.h"
#include "recording/rounds.h"

#define NEW_DSOS    256 /* until DSOs that nobody needs are freed */
#define CLOSE_TICKS 5	/* until files without samples are closed */

const struct agent_part agent_parts[AGENT_NR_PARTS] = {
	{ PERCH_RECORDER_CGROUPS, "cgroups", "cgroups" },
	{ PERCH_RECORDER_KERNEL, "kernel", "names of the kernel" },
	{ PERCH_RECORDER_BPF, "bpf", "BPF programs" },
	{ PERCH_RECORDER_PROCESSES, "processes", "mappings of processes that ran before" },
};

struct agent_source {
	const struct agent_source_options *options;
	struct agent_window *window;
	struct perch_targets online; /* if they are CPUs */
	const struct perch_targets *targets;
	struct agent_epoch now, before; /* before: its stacks may be in the window */
	bool starting;			/* records are those of what runs already */
	struct agent_rounds rounds;
	struct agent_held_files held;
	uint64_t samples[AGENT_MOST_EVENTS];
	size_t most_dsos;	/* until DSOs that nobody needs are freed */
	size_t unused_jitdumps; /* of processes that run, when some were freed */
	unsigned ticks;
	struct agent_process_cgroups *cgroups; /* NULL: events know all */
	struct agent_source_stats
		stats; /* of recordings that have ended, and what is counted here */
	struct agent_address chain[PERCH_MAX_CALL_CHAIN];
};

/* ---- samples ---- */

static char mode_character(unsigned cpumode)
{
	switch (cpumode) {
	case PERCH_MISC_KERNEL:
		return 'k';
	case PERCH_MISC_USER:
		return '.';
	case PERCH_MISC_HYPERVISOR:
		return 'H';
	case PERCH_MISC_GUEST_KERNEL:
		return 'g';
	case PERCH_MISC_GUEST_USER:
		return 'u';
	default:
		return '?';
	}
}

static void resolve(struct agent_source *source, struct perch_thread *thread, unsigned cpumode,
		    uint64_t address, size_t at)
{
	struct agent_address *to = &source->chain[at];
	struct perch_location location;

	perch_processes_resolve(perch_session_processes(source->now.session), thread, cpumode,
				address, &location);
	agent_held_files_see(&source->held, location.dso);
	*to = (struct agent_address){ .dso = location.dso,
				      .offset = location.offset,
				      .mode = mode_character(cpumode) };
	/* code that was interrupted, or that made a system call, is no caller */
	to->caller = at > 0 && to->mode == source->chain[at - 1].mode;
}

/* Returns the length of the call chain, or of the sampled address alone. */
static size_t resolve_chain(struct agent_source *source, struct perch_thread *thread,
			    const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	size_t nr = 0;

	perch_chain_init(&chain, record);
	while (nr < PERCH_MAX_CALL_CHAIN && perch_chain_next(&chain, &address))
		resolve(source, thread, address.cpumode, address.ip, nr++);
	if (!nr)
		resolve(source, thread, record->misc & PERCH_MISC_CPUMODE_MASK, record->sample.ip,
			nr++);
	return nr;
}

/* In a hierarchy of version 1 that events do not know, a process may be in a container though it is
 * in the root of that which they know. */
static const char *find_cgroup(struct agent_source *source, const struct perch_sample *sample)
{
	struct perch_processes *processes = perch_session_processes(source->now.session);
	const char *path = perch_processes_cgroup_name(processes, sample->cgroup), *other;

	if (!source->cgroups || (path && strcmp(path, "/")))
		return path;
	other = agent_process_cgroups_find(source->cgroups, (pid_t)sample->pid, sample->time);
	return other ? other : path;
}

static void count_cgroup(const struct agent_source *source, const struct agent_sample *sample)
{
	const struct agent_source_options *options = source->options;
	bool off_cpu = sample->event == source->now.off_cpu_event;

	if (options->cgroups && (off_cpu || !sample->event))
		agent_cgroups_add(options->cgroups, sample->labels.cgroup, off_cpu,
				  off_cpu ? sample->period : source->now.sample_ns);
}

static int add_sample(struct agent_source *source, const struct perch_record *record,
		      struct perch_error *err)
{
	struct perch_processes *processes = perch_session_processes(source->now.session);
	const struct perch_sample *from = &record->sample;
	struct agent_sample sample = { .event = record->event, .period = from->period };
	struct perch_thread *thread;

	if (!from->pid && !from->tid) {
		source->stats.idle++;
		return 0;
	}
	if (record->event >= AGENT_MOST_EVENTS)
		return 0;
	thread = perch_processes_thread(processes, from->pid, from->tid);
	if (!thread)
		return PERCH__NO_MEMORY(err, "for a thread");
	sample.chain = source->chain;
	sample.nr = resolve_chain(source, thread, record);
	sample.labels.cgroup = find_cgroup(source, from);
	sample.labels.comm = perch_thread_comm(thread);
	if (source->options->threads) {
		sample.labels.pid = from->pid;
		sample.labels.tid = from->tid;
	}
	source->samples[record->event]++;
	agent_window_add(source->window, &sample);
	count_cgroup(source, &sample);
	return 0;
}

/* Passes a record through the session. */
static int take_record(struct agent_source *source, const struct perch_record *record,
		       struct perch_error *err)
{
	struct perch_record next;
	int rc;

	perch_session_put(source->now.session, record);
	while ((rc = perch_session_next(source->now.session, &next, err)) > 0) {
		if (next.type == PERCH_RECORD_SAMPLE)
			rc = add_sample(source, &next, err);
		else if (next.type == PERCH_RECORD_FORK && source->cgroups)
			agent_process_cgroups_forked(source->cgroups, (pid_t)next.task.pid,
						     (pid_t)next.task.ppid);
		else if (next.type == PERCH_RECORD_COMM && next.comm.exec && source->cgroups)
			agent_process_cgroups_executed(source->cgroups, (pid_t)next.comm.pid);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* ---- rounds ---- */

static int take_bytes(void *context, const char *bytes, size_t size, struct perch_error *err)
{
	struct agent_source *source = context;
	struct perch_record record;

	/* types of perf.data files say nothing here */
	if (perch_decoder_decode(source->now.decoder, bytes, size, &record, NULL)) {
		source->stats.damaged++;
		return 0;
	}
	return take_record(source, &record, err);
}

static int deliver_round(struct agent_source *source, struct perch_error *err)
{
	return agent_rounds_deliver(&source->rounds, !source->starting, take_bytes, source, err);
}

/* A sink of the recorder: the records of a round wait for its end. */
static int take_pieces(void *context, const struct iovec *pieces, int nr, struct perch_error *err)
{
	struct agent_source *source = context;
	int rc = agent_rounds_add(&source->rounds, source->now.decoder, pieces, nr, err);

	if (!rc && (source->starting || agent_rounds_are_large(&source->rounds)))
		rc = deliver_round(source, err);
	return rc;
}

/* ---- a recording ---- */

static int open_epoch(struct agent_source *source, struct perch_error *err)
{
	const struct agent_source_options *options = source->options;
	int rc;

	/* if those cannot be found out, the targets are those of before */
	if (!source->targets)
		source->targets = options->targets;
	if (!options->inherit && !agent_epoch_targets(options, &source->online))
		source->targets = &source->online;
	rc = agent_epoch_open(&source->now, options, source->targets, take_pieces, source, err);
	if (rc >= 0) {
		source->starting = true;
		rc = perch_recorder_start(source->now.recorder, err);
		source->starting = false;
	}
	source->stats.starts += rc >= 0;
	return rc < 0 ? rc : 0;
}

int agent_source_open(struct agent_source **source, const struct agent_source_options *options,
		      struct agent_window *window, struct perch_error *err)
{
	int rc;

	*source = calloc(1, sizeof(**source));
	if (!*source)
		return PERCH__NO_MEMORY(err, "for the samples");
	(*source)->options = options;
	(*source)->window = window;
	rc = open_epoch(*source, err);
	if (!rc && (agent_has_cgroups_v1("/proc/self/mounts") ||
		    agent_source_lacks(*source, PERCH_RECORDER_CGROUPS)))
		(*source)->cgroups = agent_process_cgroups_new();
	if (!rc)
		return 0;
	agent_source_close(*source);
	*source = NULL;
	return rc;
}

void agent_source_close(struct agent_source *source)
{
	if (!source)
		return;
	agent_epoch_close(&source->now);
	agent_epoch_close(&source->before);
	agent_process_cgroups_free(source->cgroups);
	perch_targets_clear(&source->online);
	agent_rounds_clear(&source->rounds);
	agent_held_files_clear(&source->held);
	free(source);
}

/* Adds the counts of the recording to those of earlier ones. */
static void count_epoch(const struct agent_source *source, struct agent_source_stats *stats)
{
	struct perch_sampler *sampler = perch_recorder_sampler(source->now.recorder);
	struct perch_sampler_stats rings;
	struct perch_recorder_stats recorded;
	struct perch_recorder_off_cpu off_cpu;

	perch_sampler_get_stats(sampler, &rings);
	perch_recorder_get_stats(source->now.recorder, &recorded);
	perch_recorder_get_off_cpu(source->now.recorder, &off_cpu);
	stats->samples += recorded.samples;
	stats->throttled += recorded.throttled;
	stats->lost += (rings.lost > recorded.lost ? rings.lost : recorded.lost) + off_cpu.lost;
	stats->rings = perch_sampler_rings(sampler);
	stats->ring_bytes = agent_epoch_ring_bytes(stats->rings);
}

/* Counts jitdumps that no sample has; used NULL: all. Their functions need much memory, and their
 * files are open. */
static size_t count_unused_jitdumps(const struct perch_processes *processes, const bool *used)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(processes, &dsos), unused = 0;

	for (size_t i = 0; i < nr; i++)
		unused += dsos[i]->jitdump && !(used && used[i]);
	return unused;
}

/* Frees what no sample has and no process maps. used: by index of a DSO. */
static void discard_dsos(struct agent_source *source, bool *used, size_t nr, size_t unused_jitdumps)
{
	struct perch_processes *processes = perch_session_processes(source->now.session);
	size_t jitdumps = count_unused_jitdumps(processes, NULL);
	size_t left = nr - perch_processes_discard_dsos(processes, used);

	agent_held_files_renumber(&source->held, used, nr);
	source->most_dsos = left + left / 4 + NEW_DSOS;
	source->unused_jitdumps =
		unused_jitdumps - (jitdumps - count_unused_jitdumps(processes, NULL));
}

/* Closes files of programs that the window has no samples of, and frees what is known of them if
 * they have ended. Each takes time, so files wait for some seconds, and the rest until there may be
 * much. Without memory it is for later. */
static void tidy_dsos(struct agent_source *source, bool now)
{
	struct perch_processes *processes = perch_session_processes(source->now.session);
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(processes, &dsos);
	bool many = nr >= source->most_dsos, *used;
	size_t unused_jitdumps;

	/* while the window has stacks of two recordings, it does not know which has a DSO */
	if (source->before.session || (!many && !now))
		return;
	used = calloc(nr, sizeof(*used));
	if (!used)
		return;
	agent_window_mark_dsos(source->window, used);
	agent_held_files_close_others(&source->held, used);
	unused_jitdumps = count_unused_jitdumps(processes, used);
	if (many || unused_jitdumps > source->unused_jitdumps)
		discard_dsos(source, used, nr, unused_jitdumps);
	else
		source->unused_jitdumps = unused_jitdumps;
	free(used);
}

void agent_source_tidy(struct agent_source *source)
{
	perch_processes_discard_ended(perch_session_processes(source->now.session));
	tidy_dsos(source, ++source->ticks % CLOSE_TICKS == 0);
}

bool agent_source_free_old(struct agent_source *source, uint64_t oldest)
{
	if (source->before.session && oldest > source->before.ended) {
		agent_held_files_close_old(&source->held);
		agent_epoch_close(&source->before);
		agent_trim_memory(); /* there were two of them for some minutes */
	}
	return !source->before.session;
}

int agent_source_renew(struct agent_source *source, uint64_t now, struct perch_error *err)
{
	struct agent_source_stats stats = source->stats;
	struct agent_epoch old = source->now;
	int rc;

	if (source->before.session)
		return 0;
	tidy_dsos(source, true);
	count_epoch(source, &stats);
	source->now = (struct agent_epoch){ 0 };
	rc = open_epoch(source, err);
	if (rc) {
		agent_epoch_close(&source->now);
		source->now = old;
		return rc;
	}
	stats.starts = source->stats.starts;
	source->stats = stats;
	agent_epoch_end(&old, now);
	source->before = old;
	agent_held_files_begin_anew(&source->held);
	return 0;
}

/* ---- what a program asks for ---- */

bool agent_source_cpus_changed(struct agent_source *source)
{
	return !source->options->inherit &&
	       perch_machine_update_cpus(source->options->machine, NULL) > 0;
}

const struct perch_targets *agent_source_targets(const struct agent_source *source)
{
	return source->targets;
}

void agent_source_fds(struct agent_source *source, int fds[2])
{
	struct perch_sampler *off_cpu = perch_recorder_off_cpu_sampler(source->now.recorder);

	fds[0] = perch_recorder_fd(source->now.recorder, NULL);
	fds[1] = off_cpu ? perch_sampler_fd(off_cpu, NULL) : -1;
	for (int i = 0; i < 2; i++)
		if (fds[i] < 0)
			fds[i] = -1;
}

int agent_source_read(struct agent_source *source, struct perch_error *err)
{
	ssize_t size = perch_recorder_write(source->now.recorder, err);

	return size < 0 ? (int)size : deliver_round(source, err);
}

bool agent_source_ended(struct agent_source *source)
{
	return perch_recorder_ended(source->now.recorder);
}

size_t agent_source_events(const struct agent_source *source,
			   const struct perch_file_event **events)
{
	return perch_recorder_events(source->now.recorder, events);
}

static bool has_dso(struct perch_session *session, const struct perch_dso *dso)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(session), &dsos);

	for (size_t i = 0; i < nr; i++)
		if (dsos[i] == dso)
			return true;
	return false;
}

const struct perch_session *agent_source_session(const struct agent_source *source,
						 const struct perch_dso *dso)
{
	bool old = source->before.session && has_dso(source->before.session, dso);

	return old ? source->before.session : source->now.session;
}

const struct agent_held_files *agent_source_held_files(const struct agent_source *source)
{
	return &source->held;
}

size_t agent_source_files(const struct agent_source *source, int *fds, size_t nr)
{
	size_t found = 0;

	for (; found < source->held.nr && found < nr; found++)
		fds[found] = source->held.file[found].fd;
	found += agent_epoch_files(&source->now, fds + found, nr - found);
	return found + agent_epoch_files(&source->before, fds + found, nr - found);
}

static int find_held(void *context, const struct perch_dso *dso)
{
	return agent_held_files_find(context, dso);
}

int agent_source_new_symbols(const struct agent_source *source, struct perch_symbols **symbols,
			     struct perch_error *err)
{
	struct perch_symbols_options options = source->options->symbols;
	struct perch_release release;

	options.recorded_at = INT64_MAX;
	if (perch_symbols_new(symbols, &options, err) < 0)
		return -ENOMEM;
	perch_symbols_set_open_files(*symbols, find_held, (void *)&source->held);
	if (perch_machine_release(source->options->machine, &release, NULL) < 0)
		return 0;
	return perch_symbols_set_recorded_release(*symbols, release.text, err);
}

bool agent_source_replaced_cycles(const struct agent_source *source)
{
	return perch_recorder_replaced_cycles(source->now.recorder);
}

const struct perch_error *agent_source_lacks(const struct agent_source *source,
					     enum perch_recorder_part part)
{
	return perch_recorder_lacks(source->now.recorder, part);
}

void agent_source_get_stats(const struct agent_source *source, struct agent_source_stats *stats)
{
	*stats = source->stats;
	count_epoch(source, stats);
}

uint64_t agent_source_samples(const struct agent_source *source, size_t event)
{
	return event < AGENT_MOST_EVENTS ? source->samples[event] : 0;
}

uint64_t agent_source_sample_ns(const struct agent_source *source)
{
	return source->now.sample_ns;
}
