/* SPDX-License-Identifier: MIT */
/* Which events `perch record` samples by, how often, and what this user may see. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND "record"
#define DEFAULT_HZ 4000
#define DEFAULT_EVENT "cycles:P"
#define REPLACEMENT "cpu-clock"

static int too_often(uint64_t asked, long limit)
{
	struct perch_error err;

	perch_error_set(&err, EINVAL, PERCH_CAUSE_FREQUENCY,
			"-F %llu is above this machine's limit of %ld samples a second (%s)", (unsigned long long)asked, limit,
			perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE));
	perch_error_remedy(&err, "use -F max or less, or raise it as root: sysctl %s=%llu",
			   perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE), (unsigned long long)asked);
	cli_error(COMMAND, &err);
	return CLI_EXIT_USAGE;
}

int record_choose_rate(struct record *record)
{
	const char *text = record->frequency_text;
	long limit = 0;
	char *end;

	if (record->period >> 63)
		return cli_usage_error(COMMAND, "-c takes a period below 2^63");
	if (record->period)
		return 0;
	if (perch_machine_sysctl(record->machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit, NULL) < 0)
		limit = 0;
	record->frequency = DEFAULT_HZ;
	if (!text) {
		if (limit > 0 && limit < DEFAULT_HZ) {
			record->frequency = limit;
			cli_note(COMMAND, "sampling at %ld Hz: the kernel has lowered its limit (%s)", limit,
				 perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE));
		}
		return 0;
	}
	if (!strcmp(text, "max")) {
		record->frequency = limit > 0 ? limit : DEFAULT_HZ;
		return 0;
	}
	errno = 0;
	record->frequency = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || !record->frequency)
		return cli_usage_error(COMMAND, "-F %s: not a number of samples a second, nor 'max'", text);
	if (limit > 0 && record->frequency > (uint64_t)limit)
		return too_often(record->frequency, limit);
	return 0;
}

static bool kernel_forbidden(struct record *record)
{
	long paranoid;

	return perch_machine_sysctl(record->machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL) >= 0 && paranoid >= 2 &&
	       !perch_machine_privileged(record->machine);
}

/* As if the user had written :u. */
static void restrict_to_user(struct perch_event *event)
{
	size_t length = strlen(event->name);
	bool colon = event->attr.type == PERCH_TYPE_TRACEPOINT || event->attr.type == PERCH_TYPE_BREAKPOINT ||
		     (!strchr(event->name, ':') && length && event->name[length - 1] != '/');

	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	if (length + 3 <= sizeof(event->name))
		strcpy(event->name + length, colon ? ":u" : "u");
}

static void restrict_all(struct record *record)
{
	if (!record->user_only)
		return;
	for (size_t i = 0; i < record->events.nr; i++)
		if (!record->events.event[i].modified)
			restrict_to_user(&record->events.event[i]);
}

static int add_default(struct record *record, const char *name)
{
	struct perch_error err;

	if (perch_events_add(&record->events, name, record->machine, &err) < 0)
		return cli_error(COMMAND, &err);
	restrict_all(record);
	return 0;
}

/* A tracepoint or breakpoint is hit rarely enough to record each time. A tracepoint's own fields are in its raw data. */
static void choose_for_kind(const struct record *record, struct perch_event *event)
{
	bool tracepoint = event->attr.type == PERCH_TYPE_TRACEPOINT;

	if ((tracepoint || event->attr.type == PERCH_TYPE_BREAKPOINT) && !record->period && !record->frequency_text)
		event->attr.sample_period = 1;
	if (tracepoint)
		event->attr.sample_type |= PERCH_SAMPLE_RAW;
}

int record_choose_events(struct record *record)
{
	record->user_only = kernel_forbidden(record);
	if (!record->events.nr)
		return 0;
	restrict_all(record);
	for (size_t i = 0; i < record->events.nr; i++)
		choose_for_kind(record, &record->events.event[i]);
	return 0;
}

static struct perch_sampler_options sampler_options(struct record *record)
{
	struct perch_release release;
	struct perch_sampler_options options = {
		.event = {
			.period = record->period,
			.frequency = record->period ? 0 : record->frequency,
			.sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_PERIOD,
			.read = PERCH_FORMAT_ID,
			.follow = PERCH_FOLLOW_MMAP | PERCH_FOLLOW_COMM | PERCH_FOLLOW_TASK,
			.inherit = !record->no_inherit && !record->system_wide,
			.enable_on_exec = record->program_argv && !record->system_wide && !record->threads,
			.sample_id_all = 1,
			.machine = record->machine,
		},
		.ring_pages = record->ring_pages,
		.cpus = record->cpus.nr ? &record->cpus : NULL,
		.threads = record->threads,
		.nr_threads = record->nr_threads,
	};

	if (record->callchain)
		options.event.sample |= PERCH_SAMPLE_CALLCHAIN;
	if (record->system_wide)
		options.event.sample |= PERCH_SAMPLE_CPU;
	if (perch_machine_release(record->machine, &release, NULL) >= 0 &&
	    (release.major > 5 || (release.major == 5 && release.minor >= 1)))
		options.event.follow |= PERCH_FOLLOW_KSYMBOL | PERCH_FOLLOW_BPF;
	return options;
}

static bool not_on_this_machine(int rc)
{
	return rc == -ENOENT || rc == -ENODEV || rc == -EOPNOTSUPP || rc == -ENXIO;
}

static int try_open(struct record *record, struct perch_error *err)
{
	struct perch_sampler_options options = sampler_options(record);
	struct perch_target target = { -1, -1, 0 };

	if (!record->system_wide)
		target.pid = record->threads ? record->threads[0] : record->program.pid;
	return perch_sampler_open_events(&record->sampler, &record->events, &target, &options, err);
}

static void tell_events(struct record *record)
{
	for (size_t i = 0; i < record->events.nr; i++) {
		const char *name;
		const uint64_t *ids;
		size_t nr;
		const struct perch_attr *attr = perch_sampler_event(record->sampler, i, &name, &ids, &nr);

		cli_note(COMMAND, "event %s: type %u, config %#llx, %s %llu, sample_type %#llx, flags %#llx, precise_ip %u, "
			 "%zu descriptors", name, attr->type, (unsigned long long)attr->config,
			 attr->freq ? "frequency" : "period", (unsigned long long)attr->sample_period,
			 (unsigned long long)attr->sample_type, (unsigned long long)attr->flags, (unsigned)attr->precise_ip, nr);
	}
	cli_note(COMMAND, "%zu rings", perch_sampler_rings(record->sampler));
}

int record_open_sampler(struct record *record)
{
	bool by_default = !record->events.nr;
	struct perch_error err;
	int rc;

	if (by_default && add_default(record, DEFAULT_EVENT))
		return CLI_EXIT_FAILURE;
	rc = try_open(record, &err);
	if (by_default && not_on_this_machine(rc)) {
		record->replaced = true;
		perch_events_clear(&record->events);
		if (add_default(record, REPLACEMENT))
			return CLI_EXIT_FAILURE;
		rc = try_open(record, &err);
	}
	if (rc < 0)
		return cli_error(COMMAND, &err);
	if (record->verbose)
		tell_events(record);
	return 0;
}

void record_tell_choices(const struct record *record)
{
	if (record->user_only)
		cli_note(COMMAND, "user space only: kernel.perf_event_paranoid keeps this user out of the kernel");
	if (record->replaced)
		cli_note(COMMAND, "sampling by " REPLACEMENT ", a timer: this machine offers no hardware cycle counter");
}
