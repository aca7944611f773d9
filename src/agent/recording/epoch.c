/* SPDX-License-Identifier: MIT */
#include "epoch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <perch/encoder.h>
#include <perch/jitdump.h>

#include "base/kernel/off_cpu_event.h"
#include "agent/live_session.h"
#include "agent/source.h"

/* Files of JIT compilers that have ended: with more, the oldest lose their source lines. */
#define MOST_ENDED_JITDUMPS 64

/* They would be unwound here, by tables of strange files, which stay in memory. */
static int refuse_stacks(const char *name, struct perch_error *err)
{
	int rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				 "%s copies stacks (call-graph=dwarf), and perch agent takes call "
				 "chains by frame pointers only",
				 name);

	perch_error_remedy(err, "Use call-graph=fp, or 'perch record' for copied stacks");
	return rc;
}

static int make_decoder(struct agent_epoch *epoch, struct perch_error *err)
{
	struct perch_decoder_event decoded[AGENT_MOST_EVENTS] = { 0 };
	struct perch_encoder_event described;
	const struct perch_file_event *events;
	size_t nr = perch_recorder_events(epoch->recorder, &events);

	if (nr > AGENT_MOST_EVENTS)
		return perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				       "there are more than %d events", AGENT_MOST_EVENTS);
	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_STACK_USER)
			return refuse_stacks(events[i].name, err);
	epoch->off_cpu_event = SIZE_MAX;
	for (size_t i = 0; i < nr; i++)
		if (perch__is_off_cpu(&events[i]))
			epoch->off_cpu_event = i;
	perch_encoder_describe(&events[0], &described);
	epoch->sample_ns = described.sample_ns;
	for (size_t i = 0; i < nr; i++)
		decoded[i] = (struct perch_decoder_event){ .attr = &events[i].attr,
							   .ids = events[i].ids,
							   .nr_ids = events[i].nr_ids };
	return perch_decoder_new(&epoch->decoder, decoded, nr, PERCH_BYTES_NATIVE, err);
}

/* Rings have space for some seconds of samples, and for the records of many new processes; with
 * many CPUs they are smaller, so that all of them need few megabytes. */
static size_t ring_pages(size_t rings)
{
	return rings > 64 ? 16 : 32;
}

static int open_recorder(struct agent_epoch *epoch, const struct agent_source_options *options,
			 const struct perch_targets *targets, perch_recorder_sink *sink,
			 void *context, struct perch_error *err)
{
	struct perch_recorder_options to = {
		.sampler = { .event = { .frequency = options->frequency,
					.sample = PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_CPU |
						  PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_CGROUP,
					.sideband = PERCH_SIDEBAND_CGROUP,
					.exclude_idle = 1,
					.inherit = options->inherit,
					.use_clockid = true,
					.clockid = CLOCK_MONOTONIC,
					.may = PERCH_MAY_LOSE_TARGETS | PERCH_MAY_EXCLUDE_KERNEL,
					.machine = options->machine },
			     .ring_pages = ring_pages(targets->nr) },
		.cycles = PERCH_RECORDER_CYCLES_REPLACED,
		.sink = sink,
		.context = context,
		.no_build_ids = true,
		.off_cpu = options->off_cpu,
		.off_cpu_threshold_ns = options->off_cpu_ns,
	};

	return perch_recorder_open(&epoch->recorder, options->events, targets, &to, err);
}

int agent_epoch_open(struct agent_epoch *epoch, const struct agent_source_options *options,
		     const struct perch_targets *targets, perch_recorder_sink *sink, void *context,
		     struct perch_error *err)
{
	const struct perch_session_options session = { .symbols = options->symbols };
	int rc = open_recorder(epoch, options, targets, sink, context, err);

	if (rc >= 0)
		rc = make_decoder(epoch, err);
	if (rc >= 0)
		rc = agent_live_session(&epoch->session, epoch->recorder, &session, err);
	if (rc < 0)
		return rc;
	perch_processes_keep_jitdumps(perch_session_processes(epoch->session), MOST_ENDED_JITDUMPS);
	perch_session_put(epoch->session, NULL);
	return 0;
}

void agent_epoch_end(struct agent_epoch *epoch, uint64_t now)
{
	perch_recorder_close(epoch->recorder);
	perch_decoder_free(epoch->decoder);
	epoch->recorder = NULL;
	epoch->decoder = NULL;
	epoch->ended = now;
}

void agent_epoch_close(struct agent_epoch *epoch)
{
	agent_epoch_end(epoch, 0);
	perch_session_close(epoch->session);
	*epoch = (struct agent_epoch){ 0 };
}

/* Adds those of the CPUs of the options that are online. */
static int add_online(const struct agent_source_options *options, struct perch_targets *targets)
{
	const struct perch_cpus *online;
	struct perch_cpus chosen = { .cpu = calloc(options->targets->nr, sizeof(int)) };
	int rc = chosen.cpu ? perch_machine_cpus(options->machine, &online, NULL) : -ENOMEM;

	for (size_t i = 0; !rc && i < options->targets->nr; i++) {
		int cpu = options->targets->target[i].cpu;

		if (perch_cpus_contains(online, cpu))
			chosen.cpu[chosen.nr++] = cpu;
	}
	if (!rc)
		rc = chosen.nr ? perch_targets_add_cpus(targets, &chosen, options->machine, NULL)
			       : -ENODEV;
	free(chosen.cpu);
	return rc;
}

int agent_epoch_targets(const struct agent_source_options *options, struct perch_targets *targets)
{
	struct perch_targets online = { 0 };
	int rc = options->all_cpus ? perch_targets_add_cpus(&online, NULL, options->machine, NULL)
				   : add_online(options, &online);

	if (rc < 0) {
		perch_targets_clear(&online);
		return rc;
	}
	perch_targets_clear(targets);
	*targets = online;
	return 0;
}

size_t agent_epoch_ring_bytes(size_t rings)
{
	return rings * ring_pages(rings) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t agent_epoch_files(const struct agent_epoch *epoch, int *fds, size_t nr)
{
	const struct perch_dso *const *dsos;
	size_t nr_dsos, found = 0;

	if (!epoch->session)
		return 0;
	nr_dsos = perch_processes_dsos(perch_session_processes(epoch->session), &dsos);
	for (size_t i = 0; i < nr_dsos && found < nr; i++) {
		int fd = dsos[i]->jitdump ? perch_jitdump_fd(dsos[i]->jitdump) : -1;

		if (fd >= 0)
			fds[found++] = fd;
	}
	return found;
}
