/* SPDX-License-Identifier: MIT */
/* Writes records of the state before the recording: the kernel, processes and cgroups. */
#include <errno.h>
#include <stdlib.h>

#include "record.h"
#include "synthesize.h"

static int write_records(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct record *record = context;
	struct iovec piece = { (void *)bytes, size };
	int rc = 0;

	record_scan_synthesized(&record->scan, bytes, size);
	if (record->files.writer)
		rc = perch_writer_append(record->files.writer, &piece, 1, err);
	if (rc >= 0 && record_keeps_sideband(record->options) &&
	    record_sideband_add(&record->sideband, bytes, size) < 0)
		rc = perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				     "no memory to record with");
	return rc;
}

static void synthesize_maps(struct synthesizer *synthesizer, const struct record *record)
{
	const struct record_plan *plan = record->plan;
	const struct perch_cpus *cpus = plan->cpus.nr ? &plan->cpus : NULL;
	const pid_t one = plan->system_wide ? -1 : record->program.pid;

	synthesize_id_index(synthesizer, record->sampler);
	if (plan->threads)
		synthesize_thread_map(synthesizer, plan->threads, plan->nr_threads);
	else
		synthesize_thread_map(synthesizer, &one, 1);
	if (cpus || perch_machine_cpus(record->options->machine, &cpus, NULL) >= 0)
		synthesize_cpu_map(synthesizer, cpus);
}

int record_synthesize(struct record *record)
{
	const struct record_options *options = record->options;
	const struct record_plan *plan = record->plan;
	struct synthesizer *synthesizer = calloc(1, sizeof(*synthesizer));
	int rc;

	if (!synthesizer)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	synthesizer->machine = options->machine;
	synthesizer->sink = write_records;
	synthesizer->context = record;
	synthesizer->err = &record->err;
	synthesizer->id_size = record->scan.parse_info.id_size;
	synthesizer->data = plan->data_mappings;
	synthesizer->namespaces = options->flag[RECORD_NAMESPACES];
	synthesize_maps(synthesizer, record);
	if (options->flag[RECORD_CGROUPS])
		synthesize_cgroups(synthesizer);
	if (!plan->user_only) {
		synthesize_kernel(synthesizer);
		synthesize_modules(synthesizer);
	}
	if (plan->program_only)
		synthesize_child(synthesizer, record->program.pid, "perch");
	if (plan->system_wide)
		synthesize_all_processes(synthesizer);
	else if (plan->threads)
		synthesize_threads(synthesizer, plan->threads, plan->nr_threads);
	rc = synthesize_flush(synthesizer);
	record_sideband_end_synthesized(&record->sideband);
	free(synthesizer);
	return rc;
}
