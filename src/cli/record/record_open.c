/* SPDX-License-Identifier: MIT */
/* Which events `perch record` samples by, how often, and what this user may see. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND	      "record"
#define DEFAULT_HZ    4000
#define DEFAULT_EVENT "cycles:P"
#define REPLACEMENT   "cpu-clock"

static int too_often(struct record *record, long limit)
{
	uint64_t asked = record->frequency;
	struct perch_error err;

	if (!record->strict_frequency) {
		record->frequency = (uint64_t)limit;
		if (!record->quiet)
			cli_note(
				COMMAND,
				"sampling at %ld Hz instead of %llu, the limit of this machine (%s); with --strict-freq "
				"this is an error",
				limit, (unsigned long long)asked,
				perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE));
		return 0;
	}
	perch_error_set(&err, EINVAL, PERCH_ERROR_FREQUENCY,
			"-F %llu is above this machine's limit of %ld samples a second (%s)",
			(unsigned long long)asked, limit,
			perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE));
	perch_error_remedy(&err, "use -F max or less, or raise it as root: sysctl %s=%llu",
			   perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE),
			   (unsigned long long)asked);
	cli_error(COMMAND, &err);
	return CLI_EXIT_USAGE;
}

int record_choose_rate(struct record *record)
{
	const char *text = record->frequency_text;
	long limit = 0;
	char *end;

	if (record->period || record->flag[RECORD_NO_SAMPLES])
		return 0;
	if (perch_machine_sysctl(record->machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit, NULL) < 0)
		limit = 0;
	record->frequency = DEFAULT_HZ;
	if (!text) {
		if (limit > 0 && limit < DEFAULT_HZ) {
			record->frequency = limit;
			cli_note(COMMAND,
				 "sampling at %ld Hz: the kernel has lowered its limit (%s)", limit,
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
		return cli_usage_error(COMMAND,
				       "-F %s: not a number of samples a second, nor 'max'", text);
	if (limit > 0 && record->frequency > (uint64_t)limit)
		return too_often(record, limit);
	return 0;
}

static bool kernel_forbidden(struct record *record)
{
	long paranoid;

	return perch_machine_sysctl(record->machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL) >= 0 &&
	       paranoid >= 2 && !perch_machine_privileged(record->machine);
}

/* As if the user had written :u. */
static void restrict_to_user(struct perch_event *event)
{
	char name[sizeof(event->name)];

	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	cli_user_space_name(event, name, sizeof(name));
	memcpy(event->name, name, sizeof(name));
}

static void restrict_all(struct record *record)
{
	if (!record->user_only)
		return;
	for (size_t i = 0; i < record->events.nr; i++)
		if (!record->events.event[i].modified)
			restrict_to_user(&record->events.event[i]);
}

/* What is put into a place of a program or the kernel: recorded each time, where a frequency would
 * leave most hits out. */
static bool hits_a_place(struct record *record, const struct perch_event *event)
{
	const struct perch_pmu *pmu;

	if (event->attr.type == PERCH_TYPE_TRACEPOINT || event->attr.type == PERCH_TYPE_BREAKPOINT)
		return true;
	pmu = event->attr.type > PERCH_TYPE_BREAKPOINT
		      ? perch_machine_pmu_of_type(record->machine, event->attr.type)
		      : NULL;
	return pmu && (!strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe"));
}

/*
 * A tracepoint's own fields are in its raw data; a probe has none but the address, which the sample
 * has. The period is in samples whose period varies, as perf has it.
 */
static void choose_for_kind(struct record *record, struct perch_event *event)
{
	bool tracepoint = event->attr.type == PERCH_TYPE_TRACEPOINT;
	bool own = event->attr.sample_period != 0;
	bool asked = record->period || record->frequency_text;

	if (record->flag[RECORD_NO_SAMPLES])
		event->attr.sample_period = event->attr.freq = 0;
	else if (!asked && !own && hits_a_place(record, event))
		event->attr.sample_period = 1;
	if (event->attr.sample_period ? event->attr.freq : !record->period)
		event->attr.sample_type |= PERCH_SAMPLE_PERIOD;
	if (tracepoint)
		event->attr.sample_type |= PERCH_SAMPLE_RAW | PERCH_SAMPLE_CPU |
					   (own ? 0 : PERCH_SAMPLE_PERIOD);
	if (event->terms.call_graph == PERCH_CALL_GRAPH_UNSET) {
		event->terms.call_graph = record->call_graph;
		event->terms.stack_bytes = record->stack_bytes;
	}
	/* a copy of the stack is unwound with the data that it points into */
	if (event->terms.call_graph == PERCH_CALL_GRAPH_DWARF)
		event->attr.sample_type |= PERCH_SAMPLE_ADDR | PERCH_SAMPLE_DATA_SRC;
}

/*
 * Where a software event is there twice, the kernel makes one sample and hands it on to the other,
 * the id with it (seen on 6.18). So the samples of both have the same fields, or one of them could
 * not be read.
 */
static void make_twins_alike(struct perch_events *events)
{
	uint64_t fields[PERCH_COUNT_SW_MAX] = { 0 };

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < events->nr; i++) {
			struct perch_attr *attr = &events->event[i].attr;

			if (attr->type != PERCH_TYPE_SOFTWARE || attr->config >= PERCH_COUNT_SW_MAX)
				continue;
			fields[attr->config] |= attr->sample_type;
			attr->sample_type = pass ? fields[attr->config] : attr->sample_type;
		}
}

static void choose_for_all(struct record *record)
{
	for (size_t i = 0; i < record->events.nr; i++)
		choose_for_kind(record, &record->events.event[i]);
	make_twins_alike(&record->events);
}

static int add_default(struct record *record, const char *name)
{
	struct perch_error err;

	if (perch_events_add(&record->events, name, record->machine, &err) < 0)
		return cli_error(COMMAND, &err);
	restrict_all(record);
	choose_for_all(record);
	return 0;
}

int record_choose_events(struct record *record)
{
	record->user_only = !record->flag[RECORD_ALL_USER] && !record->flag[RECORD_ALL_KERNEL] &&
			    kernel_forbidden(record);
	if (!record->events.nr)
		return 0;
	if (!record->no_inherit && !record->quiet)
		cli_target_warn_children(COMMAND, &record->target, &record->events);
	restrict_all(record);
	choose_for_all(record);
	return record_open_cgroups(record);
}

/* What the options that say yes or no add to samples, counts and records. */
static const struct {
	uint64_t sample, read;
	uint32_t sideband;
} adds[RECORD_ADDS] = {
	[RECORD_DATA] = { PERCH_SAMPLE_ADDR | PERCH_SAMPLE_DATA_SRC, 0, PERCH_SIDEBAND_MMAP_DATA },
	[RECORD_PHYS_DATA] = { PERCH_SAMPLE_PHYS_ADDR, 0, 0 },
	[RECORD_DATA_PAGE_SIZE] = { PERCH_SAMPLE_DATA_PAGE_SIZE, 0, 0 },
	[RECORD_CODE_PAGE_SIZE] = { PERCH_SAMPLE_CODE_PAGE_SIZE, 0, 0 },
	[RECORD_WEIGHT] = { PERCH_SAMPLE_WEIGHT_STRUCT, 0, 0 },
	[RECORD_TRANSACTION] = { PERCH_SAMPLE_TRANSACTION, 0, 0 },
	[RECORD_RAW] = { PERCH_SAMPLE_RAW | PERCH_SAMPLE_CPU, 0, 0 },
	[RECORD_CPU] = { PERCH_SAMPLE_CPU, 0, 0 },
	[RECORD_IDENTIFIER] = { PERCH_SAMPLE_IDENTIFIER, 0, 0 },
	[RECORD_STAT] = { 0, PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING, 0 },
	[RECORD_RUNNING_TIME] = { 0,
				  PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
				  0 },
	[RECORD_NAMESPACES] = { 0, 0, PERCH_SIDEBAND_NAMESPACES },
	[RECORD_CGROUPS] = { PERCH_SAMPLE_CGROUP, 0, PERCH_SIDEBAND_CGROUP },
	[RECORD_SWITCHES] = { 0, 0, PERCH_SIDEBAND_SWITCH },
	[RECORD_BUILD_ID_MMAP] = { 0, 0, PERCH_SIDEBAND_BUILD_ID },
	[RECORD_PERIOD] = { PERCH_SAMPLE_PERIOD, 0, 0 },
};

/* Older kernels do without: nobody asked for these by name. */
static const struct perch_attr optional = {
	.ksymbol = 1,
	.bpf_event = 1,
	.read_format = PERCH_FORMAT_LOST,
	.branch_sample_type = PERCH_SAMPLE_BRANCH_HW_INDEX,
};

static void add_flags(const struct record *record, struct perch_options *options)
{
	for (int i = 0; i < RECORD_ADDS; i++) {
		if (!record->flag[i])
			continue;
		options->sample |= adds[i].sample;
		options->read |= adds[i].read;
		options->sideband |= adds[i].sideband;
	}
	if (record->call_graph == PERCH_CALL_GRAPH_DWARF)
		options->sample |= adds[RECORD_DATA].sample;
	for (size_t i = 0; i < record->events.nr; i++)
		if (record->events.event[i].terms.call_graph == PERCH_CALL_GRAPH_DWARF)
			options->sideband |= adds[RECORD_DATA].sideband;
	if (!record->flag[RECORD_NO_BPF])
		options->sideband |= PERCH_SIDEBAND_BPF;
	if (record->system_wide)
		options->sample |= PERCH_SAMPLE_CPU;
}

static void add_parts(const struct record *record, struct perch_options *options)
{
	if (record->branches) {
		options->sample |= PERCH_SAMPLE_BRANCH_STACK;
		options->branch_sample_type = record->branches;
	}
	if (record->regs_user) {
		options->sample |= PERCH_SAMPLE_REGS_USER;
		options->sample_regs_user = record->regs_user;
	}
	if (record->regs_intr) {
		options->sample |= PERCH_SAMPLE_REGS_INTR;
		options->sample_regs_intr = record->regs_intr;
	}
}

static struct perch_sampler_options sampler_options(struct record *record)
{
	bool inherit = !record->no_inherit;
	struct perch_sampler_options options = {
		.event = {
			.period = record->period,
			.frequency = record->period ? 0 : record->frequency,
			.sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME,
			.read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST,
			.sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM | PERCH_SIDEBAND_TASK | PERCH_SIDEBAND_KSYMBOL,
			.inherit = inherit,
			.inherit_stat = inherit && record->flag[RECORD_STAT],
			.enable_on_exec = record->program_argv && !record->system_wide && !record->threads && !record->delayed,
			.sample_id_all = 1,
			.exclude_kernel = record->flag[RECORD_ALL_USER],
			.exclude_user = record->flag[RECORD_ALL_KERNEL],
			.exclude_callchain_kernel = record->flag[RECORD_USER_CHAINS],
			.exclude_callchain_user = record->flag[RECORD_KERNEL_CHAINS],
			.use_clockid = record->use_clock,
			.clockid = record->use_clock ? record->clock : 0,
			.optional = &optional,
			.machine = record->machine,
		},
		.ring_pages = record->ring_pages,
		.overwrite = record->overwrite,
		.cpus = record->cpus.nr ? &record->cpus : NULL,
		.threads = record->threads,
		.nr_threads = record->nr_threads,
		.cgroups = record->cgroup_fds,
		.tracking_event = record->delayed || record->system_wide || record->cpus.nr,
	};

	add_flags(record, &options.event);
	add_parts(record, &options.event);
	record->data_maps = options.event.sideband & PERCH_SIDEBAND_MMAP_DATA;
	return options;
}

static bool not_on_this_machine(int rc)
{
	return rc == -ENOENT || rc == -ENODEV || rc == -EOPNOTSUPP || rc == -ENXIO;
}

/* Where no PMU of the cores is, it does not matter what else is wrong with an event of theirs. */
static bool no_core_pmu(struct record *record)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_machine_pmus(record->machine, &pmus, &nr, NULL))
		return false;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			return false;
	return true;
}

/* As perf does, but not without a word: where cycles are not counted, the timer samples in their
 * place. */
static bool replace_cycles(struct record *record)
{
	bool any = false;

	for (size_t i = 0; i < record->events.nr; i++) {
		struct perch_event *event = &record->events.event[i];
		struct perch_attr *attr = &event->attr;

		if (attr->type != PERCH_TYPE_HARDWARE || attr->config != PERCH_COUNT_HW_CPU_CYCLES)
			continue;
		attr->type = PERCH_TYPE_SOFTWARE;
		attr->config = PERCH_COUNT_SW_CPU_CLOCK;
		attr->precise_ip = 0;
		event->precise_max = false;
		if (!strncmp(event->name, "cycles", 6) || !strncmp(event->name, "cpu-cycles", 10))
			snprintf(event->name, sizeof(event->name), REPLACEMENT "%s",
				 attr->exclude_kernel ? ":u"
				 : attr->exclude_user ? ":k"
						      : "");
		any = true;
	}
	if (any)
		make_twins_alike(&record->events);
	return any;
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
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	char parts[256];
	size_t nr;

	for (size_t i = 0; (attr = perch_sampler_event(record->sampler, i, &name, &ids, &nr));
	     i++) {
		const struct perch_attr *missing_features =
			perch_sampler_missing_features(record->sampler, i);

		cli_note(
			COMMAND,
			"event %s: type %u, config %#llx, %s %llu, sample_type %#llx, flags %#llx, precise_ip %u, "
			"%zu descriptors",
			name, attr->type, (unsigned long long)attr->config,
			attr->freq ? "frequency" : "period",
			(unsigned long long)attr->sample_period,
			(unsigned long long)attr->sample_type, (unsigned long long)attr->flags,
			(unsigned)attr->precise_ip, nr);
		if (missing_features)
			cli_note(COMMAND, "event %s: without %s, which this kernel does not know",
				 name,
				 perch_format_attr_features(missing_features, parts,
							    sizeof(parts)));
	}
	cli_note(COMMAND, "%zu rings", perch_sampler_rings(record->sampler));
}

/* Weak groups that the kernel did not take whole. */
static void tell_broken_groups(struct record *record)
{
	for (size_t i = 0; i < record->events.nr; i++) {
		const struct perch_event *event = &record->events.event[i];

		if (event->leader != (int)i && perch_sampler_leader(record->sampler, i) == i)
			cli_note(
				COMMAND,
				"'%s' counts apart from its weak group, which does not fit the PMU",
				event->name);
	}
}

/* The name in front of the message is of an event that nobody has typed. */
static int refuse_default(const struct record *record, struct perch_error *err)
{
	const char *name = record->events.event[0].name;
	size_t length = strlen(name);
	char message[sizeof(err->message)];

	if (!strncmp(err->message, name, length) && !strncmp(err->message + length, ": ", 2)) {
		snprintf(message, sizeof(message), "%s", err->message + length + 2);
		memcpy(err->message, message, sizeof(message));
	}
	return cli_open_error(COMMAND, err);
}

int record_open_sampler(struct record *record)
{
	bool by_default = !record->events.nr;
	struct perch_error err;
	int rc;

	if (by_default && add_default(record, DEFAULT_EVENT))
		return CLI_EXIT_FAILURE;
	rc = try_open(record, &err);
	/* one that is there and cannot be as precise as was asked for is the user's to mend */
	if (rc == -EINVAL && err.cause == PERCH_CAUSE_CLOCKID_NMI && no_core_pmu(record))
		rc = -ENOENT;
	if (not_on_this_machine(rc) && (by_default || rc != -EOPNOTSUPP) &&
	    replace_cycles(record)) {
		record->replaced = true;
		rc = try_open(record, &err);
	}
	/* what would come next is told of what would be opened next */
	if (rc < 0 && by_default && !record->replaced && err.next[0] && replace_cycles(record))
		rc = try_open(record, &err);
	if (rc < 0)
		return by_default ? refuse_default(record, &err) : cli_open_error(COMMAND, &err);
	if (record->verbose)
		tell_events(record);
	if (!record->quiet)
		tell_broken_groups(record);
	return 0;
}

void record_print_choices(const struct record *record)
{
	if (record->user_only)
		cli_note(
			COMMAND,
			"user space only: kernel.perf_event_paranoid keeps this user out of the kernel");
	if (record->replaced)
		cli_note(COMMAND, "sampling by " REPLACEMENT
				  ", a timer: this machine offers no hardware cycle counter");
}
