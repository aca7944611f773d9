/* SPDX-License-Identifier: MIT */
/* Writes records of the state before the recording: the kernel, processes and cgroups. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "recorder/descendants/descendants.h"
#include "internal.h"

/* With more processes, their records are made while the events are enabled. */
#define EARLY_BYTES (64u << 20)

/* Where synthesized records go. */
struct synthesis_output {
	struct perch_recorder *recorder;
	perch_synthesize_sink *write; /* write_records() or pass_records() */
	perch_synthesize_sink *sink;  /* of pass_records() */
	void *context;
	struct perch_error *err;
	bool failed; /* the records could not be written */
};

static int write_records_as_they_are(void *context, const void *bytes, size_t size,
				     struct perch_error *err)
{
	struct synthesis_output *output = context;
	struct perch_recorder *recorder = output->recorder;
	struct iovec piece = { (void *)bytes, size };
	uint64_t before = perch__recorder_output_records(&recorder->output);
	int rc;

	perch__recorder_scan_synthesized(&recorder->scan, bytes, size);
	rc = perch__recorder_append_users(&recorder->output, &recorder->scan.users, err);
	if (rc >= 0)
		rc = perch__recorder_append(&recorder->output, &piece, 1, err);
	if (rc < 0)
		recorder->scan.unwritten_bytes +=
			size - (perch__recorder_output_records(&recorder->output) - before);
	if (rc >= 0 && perch__recorder_keeps_sideband(recorder) &&
	    perch__recorder_sideband_add(&recorder->sideband, bytes, size) < 0)
		rc = PERCH__NO_MEMORY(err, "to record with");
	output->failed |= rc < 0;
	return rc;
}

/* With the build ids of the mapped files, if the recorder reads them. */
static int write_records(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct synthesis_output *output = context;
	struct recorder_scan *scan = &output->recorder->scan;
	char *copy = NULL;
	int rc;

	if (scan->ids.symbols && (copy = malloc(size))) {
		memcpy(copy, bytes, size);
		perch__recorder_edit_in_place(&scan->ids, &scan->parse_info, copy, size);
	}
	rc = write_records_as_they_are(context, copy ? copy : bytes, size, err);
	free(copy);
	return rc;
}

/* To the program. */
static int pass_records(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct synthesis_output *output = context;
	int rc = output->sink(output->context, bytes, size, err);

	output->failed |= rc < 0;
	return rc;
}

static int write_maps(struct synthesis_output *output)
{
	const struct perch_recorder *recorder = output->recorder;
	const struct recorder_sink to = { write_records, output, output->err };
	struct perch_machine *machine = recorder->machine;
	const struct perch_cpus *cpus = recorder->cpus.nr ? &recorder->cpus : NULL;
	int rc = perch__recorder_write_id_index(&to, recorder->sampler);

	if (rc >= 0)
		rc = perch__recorder_write_thread_map(&to, machine, recorder->threads,
						      recorder->nr_threads);
	if (rc >= 0 && (cpus || perch_machine_cpus(machine, &cpus, NULL) >= 0))
		rc = perch__recorder_write_cpu_map(&to, cpus);
	return rc;
}

/* The recording continues without records that cannot be made. Returns a negative errno if records
 * cannot be written. */
static int check_output(struct synthesis_output *output, int rc, const struct perch_error *err,
			enum perch_recorder_part part)
{
	if (rc >= 0)
		return 0;
	if (!output->failed) {
		output->recorder->lacking[part] = *err;
		return 0;
	}
	if (output->err)
		*output->err = *err;
	return rc;
}

static struct perch_synthesize_options options_of(const struct perch_recorder *recorder)
{
	const uint32_t sideband = recorder->options.sampler.event.sideband;
	struct perch_synthesize_options options = {
		.records = PERCH_SYNTHESIZE_COMM,
		.attr = &recorder->events[0].attr,
	};

	if (sideband & PERCH_SIDEBAND_NAMESPACES)
		options.records |= PERCH_SYNTHESIZE_NAMESPACES;
	if (recorder->options.without & PERCH_RECORDER_WITHOUT_MAPPINGS)
		return options;
	options.records |= PERCH_SYNTHESIZE_MMAP;
	if (sideband & PERCH_SIDEBAND_MMAP_DATA)
		options.records |= PERCH_SYNTHESIZE_MMAP_DATA;
	if (sideband & PERCH_SIDEBAND_BUILD_ID)
		options.records |= PERCH_SYNTHESIZE_BUILD_IDS;
	return options;
}

static int keep_early(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct perch_recorder *recorder = context;
	struct recorder_early *early = &recorder->early;

	if (early->used + size > EARLY_BYTES ||
	    PERCH__ARRAY_RESERVE(early->bytes, early->capacity, early->used + size))
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "too many processes");
	memcpy(early->bytes + early->used, bytes, size);
	perch__recorder_edit_in_place(&recorder->scan.ids, &recorder->scan.parse_info,
				      early->bytes + early->used, size);
	early->used += size;
	return 0;
}

static void clear_early(struct recorder_early *early)
{
	free(early->bytes);
	*early = (struct recorder_early){ 0 };
}

void perch__recorder_synthesize_early(struct perch_recorder *recorder)
{
	const struct perch_synthesize_options options = options_of(recorder);
	struct recorder_early *early = &recorder->early;

	if (!recorder->system_wide || recorder->descendants || recorder->options.disabled ||
	    recorder->options.without & PERCH_RECORDER_WITHOUT_TASKS)
		return;
	early->complete = perch_synthesize_all_processes(&options, recorder->machine, keep_early,
							 recorder, &recorder->counts, NULL) >= 0;
	if (!early->complete)
		clear_early(early);
}

/* Writes the records of all processes. */
static int write_all_processes(struct synthesis_output *output,
			       struct perch_synthesize_options *options, struct perch_error *err)
{
	struct perch_recorder *recorder = output->recorder;
	struct recorder_early *early = &recorder->early;
	int rc;

	if (!early->complete || output->sink) {
		recorder->counts = (struct perch_synthesize_counts){ 0 };
		return perch_synthesize_all_processes(options, recorder->machine, output->write,
						      output, &recorder->counts, err);
	}
	rc = write_records_as_they_are(output, early->bytes, early->used, err);
	clear_early(early);
	return rc;
}

/* Writes the records of the processes that are measured. */
static int write_processes(struct synthesis_output *output,
			   struct perch_synthesize_options *options)
{
	struct perch_recorder *recorder = output->recorder;
	const struct recorder_descendants *descendants = recorder->descendants;
	const size_t nr = descendants ? descendants->nr : recorder->nr_threads;
	const bool all = recorder->system_wide && !descendants;
	struct perch_targets targets = { 0 };
	struct perch_error err;
	int rc = 0;

	if (recorder->options.without & PERCH_RECORDER_WITHOUT_TASKS)
		return 0;
	if (all)
		rc = write_all_processes(output, options, &err);
	for (size_t i = 0; rc >= 0 && !all && i < nr; i++) {
		struct perch_target target = { .cpu = -1 };

		target.tid = descendants ? (pid_t)descendants->process[i].pid
					 : recorder->threads[i];
		rc = perch_targets_add(&targets, &target, &err);
	}
	if (rc >= 0 && targets.nr)
		rc = perch_synthesize_targets(&targets, options, recorder->machine, output->write,
					      output, &recorder->counts, &err);
	perch_targets_clear(&targets);
	return check_output(output, rc, &err, PERCH_RECORDER_PROCESSES);
}

/*
 * Writes the BPF programs that are loaded now: some may be unloaded before the end. For a user who
 * may not list them nothing is missing, because /proc/kallsyms has names too.
 */
static int write_bpf_programs(struct synthesis_output *output,
			      struct perch_synthesize_options *options)
{
	struct perch_recorder *recorder = output->recorder;
	struct perch_machine *machine = recorder->machine;
	struct perch_error err;
	int rc = perch_synthesize_bpf(options, machine, output->write, output, NULL, &err);

	if (rc < 0 && !output->failed && err.kind == PERCH_ERROR_PRIVILEGE)
		rc = 0;
	rc = check_output(output, rc, &err, PERCH_RECORDER_BPF);
	if (rc >= 0 && recorder->output.writer)
		rc = perch_writer_add_bpf_programs(recorder->output.writer, machine, output->err);
	return rc;
}

/* The records of cgroups and the kernel. */
static int write_others(struct synthesis_output *output, struct perch_synthesize_options *options)
{
	struct perch_recorder *recorder = output->recorder;
	struct perch_machine *machine = recorder->machine;
	struct perch_error err;
	int rc = 0;

	if (recorder->options.sampler.event.sideband & PERCH_SIDEBAND_CGROUP &&
	    !(recorder->options.without & PERCH_RECORDER_WITHOUT_CGROUPS))
		rc = check_output(output,
				  perch_synthesize_cgroups(options, machine, output->write, output,
							   NULL, &err),
				  &err, PERCH_RECORDER_CGROUPS);
	if (rc >= 0 && !recorder->options.no_kernel)
		rc = check_output(output,
				  perch_synthesize_kernel(options, machine, output->write, output,
							  NULL, &err),
				  &err, PERCH_RECORDER_KERNEL);
	return rc < 0 || !perch__recorder_has_bpf(recorder) ? rc
							    : write_bpf_programs(output, options);
}

/* The program before its execve(2). */
static int write_child(struct synthesis_output *output, const struct perch_attr *attr)
{
	const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_NAMESPACES,
							  .attr = attr };
	const struct recorder_sink to = { write_records, output, output->err };
	struct perch_recorder *recorder = output->recorder;
	const pid_t child = recorder->options.child;
	struct perch_error err;
	int rc = perch__recorder_write_child(&to, child, recorder->scan.parse_info.id_size);

	if (rc < 0 || !(recorder->options.sampler.event.sideband & PERCH_SIDEBAND_NAMESPACES))
		return rc;
	rc = perch_synthesize_process(child, &options, recorder->machine, write_records, output,
				      NULL, &err);
	return check_output(output, rc, &err, PERCH_RECORDER_NAMESPACES);
}

int perch__recorder_synthesize(struct perch_recorder *recorder, struct perch_error *err)
{
	struct perch_synthesize_options options = options_of(recorder);
	struct synthesis_output output = { .recorder = recorder,
					   .write = write_records,
					   .err = err };
	int rc = write_maps(&output);

	if (rc >= 0)
		rc = write_others(&output, &options);
	if (rc >= 0)
		rc = recorder->options.child ? write_child(&output, options.attr)
					     : write_processes(&output, &options);
	perch__recorder_sideband_end_synthesized(&recorder->sideband);
	return rc;
}

int perch_recorder_synthesize(struct perch_recorder *recorder, perch_synthesize_sink *sink,
			      void *context, struct perch_error *err)
{
	struct perch_synthesize_options options = options_of(recorder);
	struct synthesis_output output = { .recorder = recorder,
					   .write = pass_records,
					   .sink = sink,
					   .context = context,
					   .err = err };
	int rc;

	options.attr = NULL;
	options.records &= ~(uint32_t)PERCH_SYNTHESIZE_BUILD_IDS; /* the files are those of now */
	memset(recorder->lacking, 0, sizeof(recorder->lacking));
	recorder->counts = (struct perch_synthesize_counts){ 0 };
	rc = write_others(&output, &options);
	return rc < 0 ? rc : write_processes(&output, &options);
}
