/* SPDX-License-Identifier: MIT */
/* The recorder: what a program calls, and its results. */
#define _GNU_SOURCE /* gettid */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "recorder/descendants/descendants.h"
#include "internal.h"
#include "workers.h"

/* ---- opening and closing ---- */

static int check_compression(const struct perch_recorder_options *options, struct perch_error *err)
{
	if (!options->compression_level)
		return 0;
	if (!options->path && options->sink)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "records are compressed in a file or a pipe, not for a "
				       "function");
	return perch_writer_compress(NULL, options->compression_level, PERCH_RECORD_COMPRESSED,
				     err);
}

static int check_options(const struct perch_recorder_options *options, struct perch_error *err)
{
	if (PERCH__CHECK_RESERVED(options, "perch_recorder_options", err))
		return -EINVAL;
	if ((options->several || options->sampler.overwrite) && !options->path &&
	    (options->fd || options->sink))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "several files, and copies of rings, need a path");
	if (options->threads &&
	    (options->several || options->sampler.overwrite || options->sampler.per_thread ||
	     options->durable || options->off_cpu || !options->path))
		return perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
				       "threads record to one path, from rings of CPUs, not "
				       "durably, and no off-CPU time");
	if (options->durable && !options->path && (options->fd || options->sink))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "only a file with a path can be durable");
	if (check_compression(options, err) < 0 ||
	    perch__recorder_check_descendants(options, err) < 0)
		return -EINVAL;
	if (options->off_cpu && (options->sampler.overwrite || options->sampler.event_targets))
		return perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
				       "off-CPU time is not recorded with %s",
				       options->sampler.overwrite ? "copies of rings"
								  : "lists of targets of events");
	if (options->argc > 0 && !options->argv)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "argc is %d without argv",
				       options->argc);
	if ((unsigned)options->cycles > PERCH_RECORDER_CYCLES_DEFAULT)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "cycles is %d: 0 to %d are defined", (int)options->cycles,
				       PERCH_RECORDER_CYCLES_DEFAULT);
	if ((unsigned)options->map_ids > PERCH_RECORDER_NO_IDS)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "map_ids is %d: 0 to %d are defined", (int)options->map_ids,
				       PERCH_RECORDER_NO_IDS);
	if (options->max_files > UINT32_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "max_files is too large");
	return 0;
}

/* A list that perch_targets_split() has made has each thread on each CPU. */
static int keep_targets(struct perch_recorder *recorder, const struct perch_targets *targets)
{
	const struct perch_target *first = targets->target;

	recorder->threads = calloc(targets->nr + 1, sizeof(*recorder->threads));
	recorder->cpus.cpu = calloc(targets->nr + 1, sizeof(*recorder->cpus.cpu));
	if (!recorder->threads || !recorder->cpus.cpu)
		return -ENOMEM;
	for (size_t i = 0; i < targets->nr; i++) {
		const struct perch_target *target = &first[i];
		bool all = target->use_cgroup || target->tid < 0;

		recorder->system_wide |= all;
		if (target->cpu == first->cpu)
			recorder->threads[recorder->nr_threads++] = all		  ? -1
								    : target->tid ? target->tid
										  : gettid();
		if (target->cpu >= 0 && target->tid == first->tid)
			recorder->cpus.cpu[recorder->cpus.nr++] = target->cpu;
	}
	return 0;
}

static int make_machine(struct perch_recorder *recorder, struct perch_error *err)
{
	recorder->machine = recorder->options.sampler.event.machine;
	if (recorder->machine)
		return 0;
	if (perch_machine_new(&recorder->own_machine, NULL, NULL, err) < 0)
		return -ENOMEM;
	recorder->machine = recorder->own_machine;
	return 0;
}

/* ---- off-CPU time ---- */

/* Adds the event of its samples. It has the call chains of the first event, or by frame pointers.
 */
static int add_off_cpu(const struct perch_recorder *recorder, struct perch_events *events,
		       struct perch_error *err)
{
	int rc = perch_events_add(events, "bpf-output", recorder->machine, err);
	const struct perch_event_terms *first = &events->event[0].terms;
	struct perch_event *added = rc < 0 ? NULL : &events->event[events->nr - 1];

	if (rc < 0)
		return rc;
	snprintf(added->name, sizeof(added->name), "%s", PERCH_OFF_CPU_EVENT);
	added->attr.sample_period = 1;
	added->attr.sample_type |= PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_RAW | PERCH_SAMPLE_CPU;
	added->terms.stack_bytes = first->stack_bytes < PERCH_OFF_CPU_MAX_STACK
					   ? first->stack_bytes
					   : PERCH_OFF_CPU_MAX_STACK;
	added->terms.max_stack = first->max_stack;
	added->terms.call_graph = first->call_graph == PERCH_CALL_GRAPH_DWARF
					  ? PERCH_CALL_GRAPH_DWARF
					  : PERCH_CALL_GRAPH_FP;
	return 0;
}

/* After a failure: the caller may open the same list again. */
static void drop_events(struct perch_events *events, size_t nr)
{
	while (events->nr > nr) {
		const struct perch_event *event = &events->event[--events->nr];

		free(event->filter);
		free(event->path);
	}
}

static int open_off_cpu(struct perch_recorder *recorder, const struct perch_events *events,
			const struct perch_targets *targets, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	size_t index = events->nr - 1, nr;
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	int rc;

	attr = perch_sampler_event(recorder->sampler, index, &name, &ids, &nr);
	rc = perch__off_cpu_open(&recorder->off_cpu, attr, nr ? ids[0] : 0,
				 &events->event[index].terms, targets, &options->sampler,
				 options->off_cpu_wakers, err);
	if (rc >= 0)
		recorder->off_cpu->intervals.threshold = options->off_cpu_threshold_ns;
	return rc;
}

/* Now, by the clock of the samples; 0 if that is unknown. */
static uint64_t sample_time(const struct perch_recorder *recorder)
{
	struct recorder_moment moment = { 0 };

	perch__recorder_take_moment(&moment, &recorder->options.sampler.event, recorder->machine);
	return moment.time;
}

/* Chooses the rings of each thread. */
static int prepare_threads(struct perch_recorder *recorder, const char *text,
			   struct perch_error *err)
{
	const size_t nr = recorder->rings.nr;
	struct recorder_thread_list list = { 0 };
	struct perch_cpus cpus = { 0, calloc(nr + 1, sizeof(*cpus.cpu)) };
	int *cpu_of_ring = calloc(nr + 1, sizeof(*cpu_of_ring)), rc = 0, cpu;
	size_t ring;
	pid_t tid;

	if (!cpus.cpu || !cpu_of_ring)
		rc = PERCH__NO_MEMORY(err, "to record with");
	for (size_t event = 0; rc >= 0 && event < recorder->nr_events; event++)
		for (size_t id = 0;
		     !perch_sampler_id_info(recorder->sampler, event, id, &cpu, &tid, &ring); id++)
			cpu_of_ring[ring] = cpu;
	for (size_t i = 0; rc >= 0 && i < nr; i++)
		if (cpu_of_ring[i] < 0)
			rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					     "threads read rings of CPUs, but an event is bound to "
					     "none");
		else if (!cpus.nr || !perch_cpus_contains(&cpus, cpu_of_ring[i]))
			cpus.cpu[cpus.nr++] = cpu_of_ring[i];
	if (rc >= 0)
		rc = perch__recorder_choose_threads(&list, text, recorder->machine, &cpus, err);
	if (rc >= 0)
		rc = perch__recorder_workers_new(&recorder->workers, &list, &recorder->rings,
						 cpu_of_ring, err);
	perch__recorder_clear_threads(&list);
	free(cpus.cpu);
	free(cpu_of_ring);
	return rc;
}

static int open_parts(struct perch_recorder *recorder, struct perch_events *events,
		      const struct perch_targets *targets, struct perch_error *err)
{
	int rc = make_machine(recorder, err);

	if (rc >= 0 && keep_targets(recorder, targets) < 0)
		rc = PERCH__NO_MEMORY(err, "to record with");
	if (rc >= 0 && !recorder->options.sink)
		perch__recorder_take_moment(&recorder->moment, &recorder->options.sampler.event,
					    recorder->machine);
	if (rc >= 0 && recorder->options.off_cpu)
		rc = add_off_cpu(recorder, events, err);
	if (rc >= 0)
		rc = perch__recorder_open_sampler(recorder, events, targets, err);
	if (rc >= 0 && recorder->options.off_cpu)
		rc = open_off_cpu(recorder, events, targets, err);
	if (rc >= 0 &&
	    perch__recorder_rings_init(&recorder->rings, recorder->sampler,
				       recorder->options.sampler.overwrite ? events->nr : 0) < 0)
		rc = PERCH__NO_MEMORY(err, "to record with");
	recorder->rings.off_cpu = recorder->off_cpu;
	recorder->nr_own_events = events->nr;
	if (rc >= 0)
		rc = perch__recorder_prepare_files(recorder, err);
	if (rc >= 0 && recorder->options.threads)
		rc = prepare_threads(recorder, recorder->options.threads, err);
	if (rc >= 0 && recorder->options.descendants_of)
		rc = perch__recorder_open_descendants(recorder, err);
	recorder->options.descendants_of = NULL;
	/* without memory, records have device and inode */
	if (rc >= 0 && recorder->options.map_ids == PERCH_RECORDER_IDS_OF_RECORDER)
		perch__recorder_ids_begin(&recorder->scan.ids);
	return rc;
}

int perch_recorder_open_events(struct perch_recorder **result, struct perch_events *events,
			       const struct perch_targets *targets,
			       const struct perch_recorder_options *options,
			       struct perch_error *err)
{
	struct perch_targets own = { 0 };
	struct perch_recorder *recorder;
	const size_t nr = events->nr;
	int rc;

	*result = NULL;
	if (check_options(options, err) < 0)
		return -EINVAL;
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return PERCH__NO_MEMORY(err, "to record with");
	recorder->options = *options;
	recorder->generation = perch__fork_generation();
	rc = targets ? 0
		     : perch_targets_add_process(&own, getpid(), options->sampler.event.machine,
						 err);
	if (rc >= 0)
		rc = open_parts(recorder, events, targets ? targets : &own, err);
	perch_targets_clear(&own);
	if (rc < 0) {
		drop_events(events, nr);
		perch_recorder_close(recorder);
		return rc;
	}
	*result = recorder;
	return 0;
}

int perch_recorder_open(struct perch_recorder **recorder, const char *text,
			const struct perch_targets *targets,
			const struct perch_recorder_options *options, struct perch_error *err)
{
	struct perch_events events;
	int rc;

	*recorder = NULL;
	rc = perch_events_parse(&events, text, options->sampler.event.machine, err);
	if (rc >= 0)
		rc = perch_recorder_open_events(recorder, &events, targets, options, err);
	perch_events_clear(&events);
	return rc;
}

void perch_recorder_close(struct perch_recorder *recorder)
{
	if (!recorder)
		return;
	/* the file and the threads are those of the parent; memory of the child is lost */
	if (perch__is_forked(recorder->generation)) {
		perch_sampler_close(recorder->sampler);
		return;
	}
	perch__recorder_stop_workers(recorder, NULL);
	perch_writer_close(recorder->output.writer, NULL);
	perch__recorder_durable_free(recorder->durable);
	perch_sampler_close(recorder->sampler);
	perch__off_cpu_close(recorder->off_cpu);
	perch__recorder_workers_free(recorder->workers);
	if (recorder->descendants)
		perch__recorder_descendants_clear(recorder->descendants);
	free(recorder->descendants);
	perch__recorder_rings_clear(&recorder->rings);
	perch__recorder_scan_clear(&recorder->scan);
	perch__recorder_sideband_clear(&recorder->sideband);
	perch__recorder_lost_clear(&recorder->lost);
	perch__recorder_clear_files(recorder);
	free(recorder->early.bytes);
	free(recorder->threads);
	perch_cpus_clear(&recorder->cpus);
	perch_machine_free(recorder->own_machine);
	free(recorder);
}

/* ---- recording ---- */

/* Disabled: the intervals end now. */
static int set_off_cpu(struct perch_recorder *recorder, bool enable, struct perch_error *err)
{
	struct recorder_off_cpu *off_cpu = recorder->off_cpu;
	int rc;

	if (!off_cpu)
		return 0;
	if (enable && !off_cpu->intervals.started)
		perch__off_cpu_read_waits(off_cpu);
	rc = enable ? perch_sampler_enable(off_cpu->sampler, err)
		    : perch_sampler_disable(off_cpu->sampler, err);
	if (enable && !off_cpu->intervals.started)
		off_cpu->intervals.started = sample_time(recorder);
	if (!enable)
		perch__off_cpu_finish(off_cpu, sample_time(recorder));
	return rc;
}

int perch_recorder_enable(struct perch_recorder *recorder, struct perch_error *err)
{
	int rc = set_off_cpu(recorder, true, err);

	return rc < 0 ? rc : perch_sampler_enable(recorder->sampler, err);
}

int perch_recorder_disable(struct perch_recorder *recorder, struct perch_error *err)
{
	int rc = perch_sampler_disable(recorder->sampler, err),
	    off = set_off_cpu(recorder, false, rc < 0 ? NULL : err);

	return rc < 0 ? rc : off;
}

int perch_recorder_prepare(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	int rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0 || recorder->prepared)
		return rc;
	perch__recorder_synthesize_early(recorder);
	recorder->file_start_ms = perch__recorder_now_ms();
	recorder->cost_since = recorder->file_start_ms * 1000000;
	if (options->pin_files)
		perch__recorder_pinned_begin(&recorder->scan.pinned, !recorder->system_wide);
	rc = options->disabled || options->sampler.event.enable_on_exec
		     ? 0
		     : perch_recorder_enable(recorder, err);
	recorder->prepared = rc >= 0;
	return rc;
}

static int start_workers(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;

	return perch__recorder_workers_start(recorder->workers, &recorder->scan,
					     recorder->output.writer, options->compression_level,
					     options->compressed2 ? PERCH_RECORD_COMPRESSED2
								  : PERCH_RECORD_COMPRESSED,
					     options->pin_files, !recorder->system_wide, err);
}

int perch_recorder_start(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	uint64_t before = perch__recorder_cpu_ns();
	int rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0)
		return rc;
	if (recorder->started || (!options->path && !options->fd && !options->sink))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "%s",
				       recorder->started ? "the recorder was started before"
							 : "the recorder has no path, descriptor "
							   "or function for records");
	rc = perch_recorder_prepare(recorder, err);
	if (rc >= 0 && !options->sampler.overwrite)
		rc = perch__recorder_open_file(recorder, err);
	if (rc < 0)
		return rc;
	recorder->started = true;
	rc = perch__recorder_synthesize(recorder, err);
	recorder->file_start = perch__recorder_output_size(&recorder->output);
	if (rc >= 0 && recorder->workers)
		rc = start_workers(recorder, err);
	recorder->failed = rc < 0;
	recorder->busy_ns += perch__recorder_cpu_ns() - before;
	return rc;
}

ssize_t perch_recorder_write(struct perch_recorder *recorder, struct perch_error *err)
{
	uint64_t before = perch__recorder_cpu_ns();
	ssize_t rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0)
		return rc;
	rc = recorder->workers ? perch__recorder_workers_check(recorder->workers, err)
			       : perch__recorder_write_round(&recorder->rings, &recorder->scan,
							     &recorder->output, err);
	recorder->failed |= rc < 0;
	recorder->busy_ns += perch__recorder_cpu_ns() - before;
	return rc;
}

int perch_recorder_control(struct perch_recorder *recorder,
			   const struct perch_channel_request *request, struct perch_error *err)
{
	bool enable = request->command == PERCH_CHANNEL_ENABLE, found = false;
	char clean[80];
	int rc = 0;

	if (request->command == PERCH_CHANNEL_PING)
		return 0;
	if (!enable && request->command != PERCH_CHANNEL_DISABLE)
		return perch_error_set(err, EOPNOTSUPP, PERCH_ERROR_USAGE,
				       "the recorder has no such command");
	/* members follow their leader, and are enabled if they were disabled by name */
	for (size_t i = 0; rc >= 0 && i < recorder->nr_own_events; i++) {
		bool member = perch_sampler_leader(recorder->sampler, i) != i;

		if (request->event ? strcmp(request->event, recorder->events[i].name) != 0
				   : member != enable)
			continue;
		rc = perch_sampler_control(recorder->sampler, i, enable, err);
		if (rc >= 0 && !strcmp(recorder->events[i].name, PERCH_OFF_CPU_EVENT))
			rc = set_off_cpu(recorder, enable, err);
		found = true;
	}
	if (rc >= 0 && enable && !request->event)
		return perch_recorder_enable(recorder, err);
	if (found || !request->event)
		return rc;
	perch_clean_text(request->event, clean, sizeof(clean));
	return perch_error_set(err, ENOENT, PERCH_ERROR_USAGE, "no event '%s' is recorded", clean);
}

int perch_recorder_stop(struct perch_recorder *recorder, struct perch_error *err)
{
	ssize_t rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0)
		return (int)rc;
	perch_recorder_disable(recorder, NULL);
	if (recorder->workers)
		return perch__recorder_stop_workers(recorder, err);
	if (!recorder->failed)
		rc = perch_recorder_write(recorder, err);
	if (recorder->failed)
		perch__recorder_discard_round(&recorder->rings, &recorder->scan);
	return rc < 0 ? (int)rc : 0;
}

/* ---- results ---- */

struct perch_sampler *perch_recorder_sampler(struct perch_recorder *recorder)
{
	return recorder->sampler;
}

size_t perch_recorder_events(const struct perch_recorder *recorder,
			     const struct perch_file_event **events)
{
	*events = recorder->events;
	return recorder->nr_events;
}

bool perch_recorder_replaced_cycles(const struct perch_recorder *recorder)
{
	return recorder->replaced_cycles;
}

uint64_t perch_recorder_file_size(const struct perch_recorder *recorder)
{
	uint64_t bytes = perch__recorder_output_size(&recorder->output), samples = 0;

	if (recorder->output.writer)
		perch__recorder_workers_count(recorder->workers, &bytes, &samples);
	return bytes;
}

int perch_recorder_fd(struct perch_recorder *recorder, struct perch_error *err)
{
	return recorder->workers ? perch__recorder_workers_fd(recorder->workers)
				 : perch_sampler_fd(recorder->sampler, err);
}

bool perch_recorder_ended(struct perch_recorder *recorder)
{
	if (recorder->descendants)
		return perch__recorder_descendants_ended(recorder->descendants);
	return recorder->workers ? perch__recorder_workers_ended(recorder->workers)
				 : perch_sampler_ended(recorder->sampler);
}

void perch_recorder_get_stats(const struct perch_recorder *recorder,
			      struct perch_recorder_stats *stats)
{
	const struct recorder_scan *scan = &recorder->scan;
	uint64_t written = 0;

	*stats = (struct perch_recorder_stats){
		.samples = scan->samples,
		.throttled = scan->throttled,
		.lost = recorder->lost.total,
		.first_time = scan->first_time,
		.last_time = scan->last_time,
		.overwritten = recorder->overwritten - recorder->overwritten_since,
		.files = recorder->nr_files,
		.lost_sideband = recorder->lost.sideband,
		.dropped_sideband = recorder->sideband.dropped,
		.unwritten_bytes = scan->unwritten_bytes,
		.unwritten_samples = scan->unwritten_samples,
		.missing_files = perch__recorder_ids_missing(&scan->ids) + scan->missing_files,
		.missing_path = scan->ids.missing,
		.denied = recorder->counts.denied,
		.denied_pid = recorder->counts.denied_pid,
		.path = recorder->last,
		.open = recorder->output.writer,
		.record_bytes = recorder->output.writer
					? perch_writer_record_bytes(recorder->output.writer)
					: recorder->last_record_bytes,
	};
	perch__recorder_workers_count(recorder->workers, &written, &stats->samples);
}

struct perch_sampler *perch_recorder_off_cpu_sampler(struct perch_recorder *recorder)
{
	return recorder->off_cpu ? recorder->off_cpu->sampler : NULL;
}

void perch_recorder_get_off_cpu(const struct perch_recorder *recorder,
				struct perch_recorder_off_cpu *result)
{
	const struct recorder_off_cpu *off_cpu = recorder->off_cpu;
	const struct off_cpu_counts *counts = off_cpu ? &off_cpu->intervals.counts : NULL;

	*result = (struct perch_recorder_off_cpu){ 0 };
	if (!off_cpu)
		return;
	*result = (struct perch_recorder_off_cpu){
		.intervals = counts->intervals,
		.ns = counts->ns,
		.summed = counts->summed,
		.summed_ns = counts->summed_ns,
		.without_stack = counts->without_stack,
		.not_ended = counts->not_ended,
		.uncertain = counts->lost_intervals,
		.uncertain_ns = counts->lost_ns,
		.dropped = counts->dropped_intervals,
		.dropped_ns = counts->dropped_ns,
		.lost = off_cpu->lost,
		.stacks = off_cpu->stacks,
		.hidden_waits = off_cpu->hidden_waits,
	};
}

uint64_t perch_recorder_lost(const struct perch_recorder *recorder, size_t event, size_t ring)
{
	const struct recorder_lost *lost = &recorder->lost;

	if (ring >= lost->nr_rings || (event >= lost->nr_events && event != SIZE_MAX))
		return 0;
	if (event == SIZE_MAX)
		return lost->counted ? 0 : perch__recorder_lost_records(lost)[ring];
	return lost->in_ring[event * lost->nr_rings + ring];
}

const struct perch_error *perch_recorder_lacks(const struct perch_recorder *recorder,
					       enum perch_recorder_part part)
{
	if (part >= PERCH_RECORDER_NR_PARTS || !recorder->lacking[part].errnum)
		return NULL;
	return &recorder->lacking[part];
}
