/* SPDX-License-Identifier: MIT */
/* Writes records of the state before the recording: the kernel, processes and cgroups. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record.h"

/* With more processes, their records are made while the events are enabled. */
#define EARLY_BYTES (64u << 20)

/* Where synthesized records go. */
struct output {
	struct record *record;
	bool failed; /* the records could not be written */
};

static int write_records_as_they_are(void *context, const void *bytes, size_t size,
				     struct perch_error *err)
{
	struct output *output = context;
	struct record *record = output->record;
	struct perch_writer *writer = record->files.writer;
	struct iovec piece = { (void *)bytes, size };
	uint64_t before = writer ? perch_writer_size(writer) : 0;
	int rc = 0;

	perch__recorder_scan_synthesized(&record->scan, bytes, size);
	if (writer)
		rc = perch_writer_append(writer, &piece, 1, err);
	if (rc < 0)
		record->scan.unwritten_bytes += size - (perch_writer_size(writer) - before);
	if (rc >= 0 && record_keeps_sideband(record->options) &&
	    perch__recorder_sideband_add(&record->sideband, bytes, size) < 0)
		rc = perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				     "no memory to record with");
	output->failed |= rc < 0;
	return rc;
}

/* With the build ids of the mapped files, if the recorder reads them. */
static int write_records(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct output *output = context;
	struct recorder_scan *scan = &output->record->scan;
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

static int write_maps(struct output *output)
{
	struct record *record = output->record;
	const struct recorder_output to = { write_records, output, &record->err };
	const struct record_plan *plan = record->plan;
	struct perch_machine *machine = record->options->machine;
	const struct perch_cpus *cpus = plan->cpus.nr ? &plan->cpus : NULL;
	const pid_t one = plan->system_wide ? -1 : record->program.pid;
	int rc = perch__recorder_write_id_index(&to, record->sampler);

	if (rc >= 0 && plan->threads)
		rc = perch__recorder_write_thread_map(&to, machine, plan->threads,
						      plan->nr_threads);
	else if (rc >= 0)
		rc = perch__recorder_write_thread_map(&to, machine, &one, 1);
	if (rc >= 0 && (cpus || perch_machine_cpus(machine, &cpus, NULL) >= 0))
		rc = perch__recorder_write_cpu_map(&to, cpus);
	return rc;
}

/* The recording continues without records that cannot be made. Returns a negative errno if records
 * cannot be written. */
static int check(struct output *output, int rc, const struct perch_error *err,
		 const char *consequence)
{
	struct record *record = output->record;

	if (rc >= 0)
		return 0;
	if (output->failed) {
		record->err = *err;
		return rc;
	}
	if (!record->options->quiet)
		cli_note(RECORD_COMMAND, "%s: %s%s%s", consequence, err->message,
			 err->remedy[0] ? "; " : "", err->remedy);
	return 0;
}

/* A security module or another user namespace can refuse the mappings despite CAP_SYS_PTRACE. */
void record_print_denied(const struct record_options *options,
			 const struct perch_synthesize_counts *counts)
{
	uint64_t effective = 0;

	if (!counts->denied || options->quiet)
		return;
	perch_machine_capabilities(options->machine, &effective, NULL);
	cli_note(RECORD_COMMAND,
		 "processes whose mappings this user may not read: %" PRIu64 " (%sprocess %" PRIu64
		 "); their addresses will have no symbols%s",
		 counts->denied, counts->denied > 1 ? "one is " : "", counts->denied_pid,
		 effective >> PERCH_CAP_SYS_PTRACE & 1
			 ? "; a security module or another user namespace may refuse them"
			 : " (CAP_SYS_PTRACE allows it)");
}

static struct perch_synthesize_options options_of(const struct record *record)
{
	struct perch_synthesize_options options = {
		.records = PERCH_SYNTHESIZE_COMM | PERCH_SYNTHESIZE_MMAP,
		.attr = &record->files.events[0].attr,
	};

	if (record->plan->data_mappings)
		options.records |= PERCH_SYNTHESIZE_MMAP_DATA;
	if (record->options->flag[RECORD_NAMESPACES])
		options.records |= PERCH_SYNTHESIZE_NAMESPACES;
	if (record->plan->map_ids == RECORD_IDS_OF_KERNEL)
		options.records |= PERCH_SYNTHESIZE_BUILD_IDS;
	return options;
}

static int keep_early(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct record *record = context;
	struct record_early *early = &record->early;

	if (early->used + size > EARLY_BYTES ||
	    PERCH__ARRAY_RESERVE(early->bytes, early->capacity, early->used + size))
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "too many processes");
	memcpy(early->bytes + early->used, bytes, size);
	perch__recorder_edit_in_place(&record->scan.ids, &record->scan.parse_info,
				      early->bytes + early->used, size);
	early->used += size;
	return 0;
}

static void clear_early(struct record_early *early)
{
	free(early->bytes);
	*early = (struct record_early){ 0 };
}

void record_synthesize_early(struct record *record)
{
	const struct perch_synthesize_options options = options_of(record);
	struct record_early *early = &record->early;

	if (!record->plan->system_wide || record->options->delayed)
		return;
	early->complete = perch_synthesize_all_processes(&options, record->options->machine,
							 keep_early, record, &early->counts,
							 NULL) >= 0;
	if (!early->complete)
		clear_early(early);
}

/* Writes the records of all processes. */
static int write_all_processes(struct output *output, struct perch_synthesize_options *options,
			       struct perch_synthesize_counts *counts, struct perch_error *err)
{
	struct record_early *early = &output->record->early;
	int rc;

	if (!early->complete)
		return perch_synthesize_all_processes(options, output->record->options->machine,
						      write_records, output, counts, err);
	*counts = early->counts;
	rc = write_records_as_they_are(output, early->bytes, early->used, err);
	clear_early(early);
	return rc;
}

/* Writes the records of the processes that are measured. */
static int write_processes(struct output *output, struct perch_synthesize_options *options)
{
	const struct record *record = output->record;
	const struct record_plan *plan = record->plan;
	struct perch_synthesize_counts counts = { 0 };
	struct perch_targets targets = { 0 };
	struct perch_error err;
	int rc = 0;

	if (plan->system_wide)
		rc = write_all_processes(output, options, &counts, &err);
	for (size_t i = 0; rc >= 0 && !plan->system_wide && i < plan->nr_threads; i++)
		rc = perch_targets_add(&targets,
				       &(struct perch_target){ .tid = plan->threads[i], .cpu = -1 },
				       &err);
	if (rc >= 0 && targets.nr)
		rc = perch_synthesize_targets(&targets, options, record->options->machine,
					      write_records, output, &counts, &err);
	perch_targets_clear(&targets);
	record_print_denied(record->options, &counts);
	return check(output, rc, &err, "some addresses will have no symbols");
}

/*
 * Writes the BPF programs that are loaded now: some may be unloaded before the end. A user who may
 * not list them gets no message, because /proc/kallsyms has names too.
 */
static int write_bpf_programs(struct output *output, struct perch_synthesize_options *options)
{
	struct record *record = output->record;
	struct perch_machine *machine = record->options->machine;
	struct perch_error err;
	int rc = perch_synthesize_bpf(options, machine, write_records, output, NULL, &err);

	if (rc < 0 && !output->failed && err.kind == PERCH_ERROR_PRIVILEGE)
		rc = 0;
	rc = check(output, rc, &err, "BPF programs will have no names");
	if (rc >= 0 && record->files.writer)
		rc = perch_writer_add_bpf_programs(record->files.writer, machine, &record->err);
	return rc;
}

/* The records of the kernel, the cgroups, and the program before its execve(2). */
static int write_others(struct output *output, struct perch_synthesize_options *options)
{
	struct record *record = output->record;
	const struct recorder_output to = { write_records, output, &record->err };
	struct perch_machine *machine = record->options->machine;
	struct perch_error err;
	int rc = 0;

	if (record->options->flag[RECORD_CGROUPS])
		rc = check(output,
			   perch_synthesize_cgroups(options, machine, write_records, output, NULL,
						    &err),
			   &err, "the file lacks names of cgroups");
	if (rc >= 0 && !record->plan->user_only)
		rc = check(output,
			   perch_synthesize_kernel(options, machine, write_records, output, NULL,
						   &err),
			   &err, "some kernel addresses will have no symbols");
	if (rc >= 0 && !record->plan->user_only && !record->options->flag[RECORD_NO_BPF])
		rc = write_bpf_programs(output, options);
	if (rc < 0 || !record->plan->program_only)
		return rc;
	return perch__recorder_write_child(&to, record->program.pid,
					   record->scan.parse_info.id_size);
}

static int write_program(struct output *output, const struct perch_attr *attr)
{
	const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_NAMESPACES,
							  .attr = attr };
	const struct record *record = output->record;
	struct perch_error err;
	int rc;

	if (!record->plan->program_only || !record->options->flag[RECORD_NAMESPACES])
		return 0;
	rc = perch_synthesize_process(record->program.pid, &options, record->options->machine,
				      write_records, output, NULL, &err);
	return check(output, rc, &err, "the file lacks the namespaces of the program");
}

int record_synthesize(struct record *record)
{
	struct perch_synthesize_options options = options_of(record);
	struct output output = { .record = record };
	int rc = write_maps(&output);

	if (rc >= 0)
		rc = write_others(&output, &options);
	if (rc >= 0)
		rc = write_program(&output, options.attr);
	if (rc >= 0)
		rc = write_processes(&output, &options);
	perch__recorder_sideband_end_synthesized(&record->sideband);
	return rc;
}
