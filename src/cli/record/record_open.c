/* SPDX-License-Identifier: MIT */
/* Opens the events of `perch record`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "event_options.h"
#include "record.h"

#define LEAST_HZ 50 /* that the default rate is lowered to */

/* The effects of flags on samples, counts and records. */
static const struct {
	uint64_t sample, read;
	uint32_t sideband;
} contents[RECORD_NR_CONTENT_FLAGS] = {
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
	[RECORD_DATA_MAPPINGS] = { 0, 0, PERCH_SIDEBAND_MMAP_DATA },
	[RECORD_PERIOD] = { PERCH_SAMPLE_PERIOD, 0, 0 },
};

static void add_flags(struct perch_options *event, const struct record_options *options)
{
	for (int i = 0; i < RECORD_NR_CONTENT_FLAGS; i++) {
		if (!options->flag[i])
			continue;
		event->sample |= contents[i].sample;
		event->read |= contents[i].read;
		event->sideband |= contents[i].sideband;
	}
	if (options->call_graph == PERCH_CALL_GRAPH_DWARF)
		event->sample |= contents[RECORD_DATA].sample;
}

static void add_branches_and_registers(struct perch_options *event,
				       const struct record_options *options)
{
	if (options->branches) {
		event->sample |= PERCH_SAMPLE_BRANCH_STACK;
		event->branch_sample_type = options->branches;
	}
	if (options->regs_user) {
		event->sample |= PERCH_SAMPLE_REGS_USER;
		event->sample_regs_user = options->regs_user;
	}
	if (options->regs_intr) {
		event->sample |= PERCH_SAMPLE_REGS_INTR;
		event->sample_regs_intr = options->regs_intr;
	}
}

static struct perch_options event_options(const struct record_plan *plan,
					  const struct record_options *options)
{
	bool inherit = !options->no_inherit;
	struct perch_options event = {
		.period = options->period,
		.frequency = options->period ? 0 : plan->frequency,
		.inherit = inherit,
		.inherit_stat = inherit && options->flag[RECORD_STAT],
		.enable_on_exec = plan->program_only && !plan->system_wide && !options->delayed,
		.exclude_kernel = options->flag[RECORD_ALL_USER],
		.exclude_user = options->flag[RECORD_ALL_KERNEL],
		.exclude_callchain_kernel = options->flag[RECORD_USER_CALLCHAINS],
		.exclude_callchain_user = options->flag[RECORD_KERNEL_CALLCHAINS],
		.defer_callchain = options->defer_chains,
		.defer_output = options->defer_chains,
		.use_clockid = options->use_clock,
		.clockid = options->use_clock ? options->clock : 0,
		/* the events exclude the kernel then, but kernels differ about call chains */
		.may = plan->kernel_forbidden ? PERCH_MAY_EXCLUDE_KERNEL : 0,
		.machine = options->events.machine,
	};

	add_flags(&event, options);
	add_branches_and_registers(&event, options);
	return event;
}

/* The program (pid), the threads of -p, -t and -u, or CPUs. */
static int make_targets(struct perch_targets *targets, const struct record_plan *plan,
			const struct record_options *options, pid_t pid, struct perch_error *err)
{
	const struct perch_cpus *cpus = plan->cpus.nr ? &plan->cpus : NULL;
	struct perch_target target = { .tid = pid, .cpu = -1 };
	int rc = 0;

	if (plan->system_wide)
		return perch_targets_add_cpus(targets, cpus, options->events.machine, err);
	if (!plan->threads)
		rc = perch_targets_add(targets, &target, err);
	for (size_t i = 0; rc >= 0 && i < plan->nr_threads; i++) {
		target.tid = plan->threads[i];
		rc = perch_targets_add(targets, &target, err);
	}
	return rc < 0 || !cpus ? rc
			       : perch_targets_split(targets, cpus, options->events.machine, err);
}

/* Where the records go: nowhere without options->output. */
static void set_output(struct perch_recorder_options *to, const struct record_options *options)
{
	if (options->output && record_to_pipe(options))
		to->fd = STDOUT_FILENO;
	else
		to->path = options->output;
	to->threads = options->threads;
	to->compression_level = options->compression_level;
	to->compressed2 = options->compressed2;
	to->several = options->switch_by != RECORD_ONE_FILE || options->timestamp_filename;
	to->switch_bytes = options->switch_by == RECORD_BY_SIZE ? options->switch_bytes : 0;
	to->switch_ms = options->switch_by == RECORD_BY_TIME ? options->switch_ms : 0;
	to->max_files = options->max_files;
	to->durable = options->durable;
	to->pin_files = options->output && record_fills_cache(options);
}

/* Tests of slow emulated machines allow it for all that they run. */
static bool allows_any_cost(const struct record_options *options)
{
	const char *value = getenv("PERCH_ANY_COST");

	return options->any_cost || (value && !strcmp(value, "1"));
}

/* pid: that of the program. */
static int try_open(struct perch_recorder **recorder, struct record_plan *plan,
		    const struct record_options *options, pid_t pid, struct perch_error *err)
{
	struct perch_recorder_options to = {
		.sampler = { .event = event_options(plan, options),
			     .ring_pages = options->ring_pages,
			     .overwrite = options->overwrite,
			     /* mappings are recorded while samples are disabled */
			     .tracking_event = options->control != NULL,
			     .per_thread = options->per_thread,
			     .event_targets = plan->event_targets },
		.cycles = plan->by_default ? PERCH_RECORDER_CYCLES_DEFAULT
					   : PERCH_RECORDER_CYCLES_REPLACED,
		.disabled = options->delayed,
		.child = plan->program_only ? pid : 0,
		.no_kernel = plan->user_only,
		.no_bpf = options->flag[RECORD_NO_BPF],
		.no_build_ids = options->no_build_ids,
		.any_cost = allows_any_cost(options),
		.map_ids = options->map_ids,
		.without = options->without,
		.off_cpu = options->off_cpu,
		.off_cpu_wakers = options->wakers,
		.off_cpu_threshold_ns = options->off_cpu_ns,
		.argc = options->command_line ? options->argc + 1 : 0,
		.argv = options->command_line,
	};
	struct perch_targets targets = { 0 };
	int rc = make_targets(&targets, plan, options, pid, err);

	if (plan->descendants) {
		to.descendants_of = plan->threads ? plan->threads : &pid;
		to.nr_descendants_of = plan->threads ? plan->nr_threads : 1;
	}
	set_output(&to, options);
	if (rc >= 0)
		rc = perch_recorder_open_events(recorder, &plan->events, &targets, &to, err);
	perch_targets_clear(&targets);
	return rc;
}

static void print_events(const struct perch_sampler *sampler, const struct record_options *options)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	char features[256];
	size_t nr;

	for (size_t i = 0; (attr = perch_sampler_event(sampler, i, &name, &ids, &nr)); i++) {
		const struct perch_attr *missing = perch_sampler_missing_features(sampler, i);

		cli_note(options->command,
			 "event %s: type %u, config %#llx, %s %llu, sample_type %#llx, "
			 "flags %#llx, precise_ip %u, %zu descriptors",
			 name, attr->type, (unsigned long long)attr->config,
			 attr->freq ? "frequency" : "period",
			 (unsigned long long)attr->sample_period,
			 (unsigned long long)attr->sample_type, (unsigned long long)attr->flags,
			 (unsigned)attr->precise_ip, nr);
		if (missing)
			cli_note(options->command,
				 "event %s: opened without %s, which this kernel does not support",
				 name,
				 perch_format_attr_features(missing, features, sizeof(features)));
	}
	cli_note(options->command, "%zu rings", perch_sampler_rings(sampler));
}

/* Prints that --call-graph fp,defer has no effect on this kernel. */
static void print_missing_deferral(const struct perch_sampler *sampler,
				   const struct record_plan *plan,
				   const struct record_options *options)
{
	struct perch_release release = { .text = "unknown" };
	const struct perch_attr *missing;
	bool any = false;

	for (size_t i = 0; options->defer_chains && i < plan->events.nr; i++) {
		missing = perch_sampler_missing_features(sampler, i);
		any |= missing && missing->defer_callchain;
	}
	if (!any)
		return;
	perch_machine_release(options->events.machine, &release, NULL);
	cli_note(options->command,
		 "--call-graph fp,defer needs Linux 6.19 (currently %s): user call chains are "
		 "taken at each sample, as with -g",
		 release.text);
}

static void print_ignored(const struct perch_sampler *sampler, const struct perch_events *events,
			  const struct record_options *options)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	for (size_t i = 0; (attr = perch_sampler_event(sampler, i, &name, &ids, &nr)); i++)
		cli_note_ignored(options->command, name, attr, options->events.machine);
	for (size_t i = 0; i < events->nr; i++)
		cli_note_filter(options->command, &events->event[i], options->events.machine);
}

/* Prints weak groups that the kernel refused as groups. */
static void print_broken_groups(const struct perch_sampler *sampler,
				const struct perch_events *events,
				const struct record_options *options)
{
	for (size_t i = 0; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];

		if (event->leader != (int)i && perch_sampler_leader(sampler, i) == i)
			cli_note(options->command,
				 "'%s' is not grouped: its weak group does not fit the PMU",
				 event->name);
	}
}

/* Prints groups with the modifier S that this kernel does not inherit. */
static void print_uninherited_groups(const struct perch_sampler *sampler,
				     const struct record_plan *plan,
				     const struct record_options *options)
{
	struct perch_release release = { .text = "unknown" };
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	if (options->no_inherit || plan->system_wide)
		return;
	for (size_t i = 0; i < plan->events.nr; i++) {
		const struct perch_event *event = &plan->events.event[i];

		attr = perch_sampler_event(sampler, i, &name, &ids, &nr);
		if (!event->leader_sampling || event->leader != (int)i || !attr || attr->inherit ||
		    event->terms.inherit == PERCH_TRISTATE_NO)
			continue;
		perch_machine_release(options->events.machine, &release, NULL);
		cli_note(
			options->command,
			"%s (S) does not record new threads and child processes: the kernel inherits "
			"such groups since Linux 6.12 (currently %s), groups without S always",
			name, release.text);
	}
}

/* The user has not written the default event, so the message does not name it. */
static int default_open_error(const struct record_plan *plan, const struct record_options *options,
			      struct perch_error *err)
{
	const char *name = plan->events.event[0].name;
	size_t length = strlen(name);
	char message[sizeof(err->message)];

	if (!strncmp(err->message, name, length) && !strncmp(err->message + length, ": ", 2)) {
		snprintf(message, sizeof(message), "%s", err->message + length + 2);
		memcpy(err->message, message, sizeof(message));
	}
	return cli_open_error(options->command, err);
}

void record_raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Prints that samples of timers take much of the CPU time. */
static void print_cost(const struct perch_recorder *recorder, const struct record_options *options)
{
	struct perch_recording_cost cost;
	double percent;

	perch_recorder_get_cost(recorder, &cost);
	percent = 100 * (double)cost.rate * (double)cost.sample_ns / 1e9;
	if (percent >= 100 * RECORD_NOTED_SHARE)
		cli_note(options->command,
			 "each sample takes %.0f us here: %" PRIu64
			 " samples per second take %.0f %% of the CPU time",
			 (double)cost.sample_ns / 1e3, cost.rate, percent < 100 ? percent : 100);
}

static bool is_too_costly(const struct perch_error *err)
{
	return err->errnum == ERANGE && err->kind == PERCH_ERROR_PERIOD;
}

/* Returns the exit status. */
static int open_error(const struct record_plan *plan, const struct record_options *options,
		      struct perch_error *err)
{
	char remedy[sizeof(err->remedy)];

	if (!is_too_costly(err))
		return plan->by_default ? default_open_error(plan, options, err)
					: cli_open_error(options->command, err);
	memcpy(remedy, err->remedy, sizeof(remedy));
	perch_error_remedy(err, "%s by -F or -c (a cost above %.0f %% is printed), or use --force",
			   remedy, 100 * RECORD_NOTED_SHARE);
	cli_error(options->command, err);
	return CLI_EXIT_USAGE;
}

int record_open(struct perch_recorder **recorder, struct record_plan *plan,
		const struct record_options *options, pid_t program)
{
	const uint64_t by_default = options->frequency || options->period ? 0 : plan->frequency;
	const struct perch_sampler *sampler;
	struct perch_error err;
	int rc;

	/* the user has not chosen the rate, so a lower one is taken where samples are expensive */
	while ((rc = try_open(recorder, plan, options, program, &err)) < 0 && by_default &&
	       is_too_costly(&err) && plan->frequency > LEAST_HZ)
		plan->frequency /= 2;
	/* a container, or a filter of system calls, may refuse what a privileged user may do */
	if (rc < 0 && plan->may_inherit && !is_too_costly(&err)) {
		plan->descendants = plan->system_wide = false;
		rc = try_open(recorder, plan, options, program, &err);
	}
	if (rc < 0)
		return open_error(plan, options, &err);
	if (by_default > plan->frequency)
		cli_note(options->command, "samples are expensive here: sampling at %" PRIu64 " Hz",
			 plan->frequency);
	plan->default_replaced = perch_recorder_replaced_cycles(*recorder);
	sampler = perch_recorder_sampler(*recorder);
	if (options->verbose)
		print_events(sampler, options);
	if (!options->quiet) {
		print_missing_deferral(sampler, plan, options);
		print_broken_groups(sampler, &plan->events, options);
		print_uninherited_groups(sampler, plan, options);
		print_ignored(sampler, &plan->events, options);
		print_cost(*recorder, options);
		if (options->wakers && !cli_target_system_wide(&options->target))
			cli_note(options->command,
				 "--off-cpu=waker without -a: only threads that are recorded are "
				 "known as wakers, and interrupts while they run");
	}
	return 0;
}

int record_open_trigger(struct perch_sampler **trigger, const struct record_plan *plan,
			const struct record_options *options, pid_t program)
{
	const struct perch_sampler_options to = {
		.event = { .inherit = !options->no_inherit,
			   .enabled = !plan->program_only,
			   .enable_on_exec = plan->program_only,
			   .wakeup_events = 1,
			   .may = PERCH_MAY_LOSE_TARGETS,
			   .machine = options->events.machine },
		.ring_pages = 1, /* no more than one record matters */
	};
	struct perch_targets targets = { 0 };
	struct perch_error err;
	int rc;

	if (!options->switch_events.list.nr)
		return 0;
	rc = make_targets(&targets, plan, options, program, &err);
	if (rc >= 0)
		rc = perch_sampler_open_events(trigger, &options->switch_events.list, &targets, &to,
					       &err);
	perch_targets_clear(&targets);
	return rc < 0 ? cli_open_error(options->command, &err) : 0;
}

int record_check_cost(struct perch_recorder **recorder, struct record_plan *plan,
		      const struct record_options *options)
{
	struct perch_error err;

	/* a target that any user may record */
	plan->system_wide = plan->descendants = false;
	plan->nr_cgroups = 0;
	if (try_open(recorder, plan, options, 0, &err) < 0)
		return is_too_costly(&err) ? open_error(plan, options, &err) : 0;
	if (!options->quiet)
		print_cost(*recorder, options);
	return 0;
}
