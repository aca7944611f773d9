/* SPDX-License-Identifier: MIT */
/* The plan of a recording: threads, CPUs, cgroups, the frequency, and the events. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <perch/metrics.h>

#include "event_options.h"
#include "record.h"
#include "probes.h"

#define DEFAULT_HZ    4000
#define DEFAULT_EVENT "cycles:P"
#define TIME_EVENT    "cpu-clock" /* with --off-cpu: both have the unit ns */

/* Ignores -C, because the sampler gets CPUs separately from threads. */
static int choose_threads(struct record_plan *plan, const struct record_options *options)
{
	struct cli_target tasks = options->target;
	struct perch_targets targets = { 0 };
	int status;

	tasks.cpu_list = NULL;
	status = cli_target_choose(options->command, &tasks, options->events.machine, &targets);
	if (!status && targets.nr) {
		plan->threads = calloc(targets.nr, sizeof(*plan->threads));
		if (!plan->threads)
			status = CLI_EXIT_FAILURE;
	}
	for (size_t i = 0; !status && i < targets.nr; i++)
		plan->threads[plan->nr_threads++] = targets.target[i].tid;
	perch_targets_clear(&targets);
	return status;
}

static int choose_target(struct record_plan *plan, const struct record_options *options)
{
	int status = 0;

	plan->descendants = options->descendants;
	plan->system_wide = cli_target_system_wide(&options->target) || plan->descendants;
	if (cli_target_has_tasks(&options->target))
		status = choose_threads(plan, options);
	plan->program_only = options->program_argv && !plan->threads &&
			     (!plan->system_wide || plan->descendants);
	return status ? status
		      : cli_target_cpus(options->command, &options->target, options->events.machine,
					&plan->cpus);
}

/* The kernel then refuses to change the sample rate. */
static bool lowering_is_off(const struct record_options *options)
{
	long percent;

	return !perch_machine_sysctl(options->events.machine, PERCH_SYSCTL_CPU_TIME_PERCENT,
				     &percent, NULL) &&
	       (percent == 0 || percent == 100);
}

static int exceeds_limit(struct record_plan *plan, const struct record_options *options, long limit)
{
	const char *sysctl = perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE);
	unsigned long long wanted = plan->frequency;
	struct perch_error err;

	if (!options->strict_frequency) {
		plan->frequency = (uint64_t)limit;
		if (!options->quiet)
			cli_note(options->command,
				 "-F %llu needs %s >= %llu (currently %ld): sampling at %ld Hz "
				 "(--strict-freq makes this an error)",
				 wanted, sysctl, wanted, limit, limit);
		return 0;
	}
	perch_error_set(&err, EINVAL, PERCH_ERROR_FREQUENCY,
			"-F %llu needs %s >= %llu (currently %ld)", wanted, sysctl, wanted, limit);
	if (wanted > INT_MAX)
		perch_error_remedy(&err, "use -F max or less: the sysctl can be at most %d",
				   INT_MAX);
	else
		perch_error_remedy(
			&err, "use -F max or less, or raise it as root: sysctl %s%s=%llu",
			lowering_is_off(options) ? "kernel.perf_cpu_time_max_percent=25 " : "",
			sysctl, wanted);
	cli_error(options->command, &err);
	return CLI_EXIT_USAGE;
}

static int choose_frequency(struct record_plan *plan, const struct record_options *options)
{
	long limit = 0;

	if (options->period || options->flag[RECORD_NO_SAMPLES])
		return 0;
	if (perch_machine_sysctl(options->events.machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit,
				 NULL) < 0)
		limit = 0;
	plan->frequency = DEFAULT_HZ;
	if (!options->frequency) {
		if (limit > 0 && limit < DEFAULT_HZ) {
			plan->frequency = limit;
			cli_note(options->command,
				 "the default frequency needs %s >= %d (currently %ld): "
				 "sampling at %ld Hz",
				 perch_sysctl_name(PERCH_SYSCTL_MAX_SAMPLE_RATE), DEFAULT_HZ, limit,
				 limit);
		}
		return 0;
	}
	if (options->frequency == RECORD_MAX_FREQUENCY) {
		plan->frequency = limit > 0 ? limit : DEFAULT_HZ;
		return 0;
	}
	plan->frequency = options->frequency;
	if (limit > 0 && plan->frequency > (uint64_t)limit)
		return exceeds_limit(plan, options, limit);
	return 0;
}

static long paranoid_level(struct perch_machine *machine)
{
	long value;

	return perch_machine_sysctl(machine, PERCH_SYSCTL_PARANOID, &value, NULL) < 0 ? -1 : value;
}

bool record_never_enables(const struct record_options *options)
{
	return options->delayed && !options->nr_window_times && !options->control;
}

bool record_may_record_cpus(struct perch_machine *machine)
{
	return paranoid_level(machine) <= 0 || perch_machine_privileged(machine);
}

static bool kernel_forbidden(struct perch_machine *machine)
{
	return paranoid_level(machine) >= 2 && !perch_machine_privileged(machine);
}

/* Restricts the event to user space, as the modifier u does. */
static void restrict_to_user(struct perch_event *event)
{
	char name[sizeof(event->name)];

	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	cli_user_space_name(event, name, sizeof(name));
	memcpy(event->name, name, sizeof(name));
}

static void restrict_events(struct record_plan *plan)
{
	if (!plan->user_only)
		return;
	for (size_t i = 0; i < plan->events.nr; i++)
		if (!plan->events.event[i].modified)
			restrict_to_user(&plan->events.event[i]);
}

/*
 * True for tracepoints, breakpoints and probes. Each of their hits is sampled: at a frequency, most
 * hits would be missing.
 */
static bool is_sampled_each_time(struct perch_machine *machine, const struct perch_event *event)
{
	const struct perch_pmu *pmu;

	if (event->attr.type == PERCH_TYPE_TRACEPOINT || event->attr.type == PERCH_TYPE_BREAKPOINT)
		return true;
	pmu = event->attr.type > PERCH_TYPE_BREAKPOINT
		      ? perch_machine_pmu_of_type(machine, event->attr.type)
		      : NULL;
	return pmu && (!strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe"));
}

/*
 * Sets the contents of samples. The raw data of a tracepoint has its fields. A probe has only its
 * address, which each sample has. As in perf, samples have their period if it varies.
 */
static void choose_contents(struct perch_event *event, const struct record_options *options)
{
	bool tracepoint = event->attr.type == PERCH_TYPE_TRACEPOINT;
	bool own_period = event->attr.sample_period != 0;
	bool set = options->period || options->frequency;

	if (options->flag[RECORD_NO_SAMPLES])
		event->attr.sample_period = event->attr.freq = 0;
	else if (!set && !own_period && is_sampled_each_time(options->events.machine, event))
		event->attr.sample_period = 1;
	if (event->attr.sample_period ? event->attr.freq : !options->period)
		event->attr.sample_type |= PERCH_SAMPLE_PERIOD;
	if (tracepoint)
		event->attr.sample_type |= PERCH_SAMPLE_RAW | PERCH_SAMPLE_CPU |
					   (own_period ? 0 : PERCH_SAMPLE_PERIOD);
	/* max-stack= of an event still asks for call chains after --call-graph no */
	if (event->terms.call_graph == PERCH_CALL_GRAPH_UNSET && record_has_mode(options)) {
		event->terms.call_graph = options->call_graph;
		event->terms.stack_bytes = options->stack_bytes;
	}
	/* unwinding a copied stack needs the data that it points to */
	if (event->terms.call_graph == PERCH_CALL_GRAPH_DWARF)
		event->attr.sample_type |= PERCH_SAMPLE_ADDR | PERCH_SAMPLE_DATA_SRC;
}

static void finish_events(struct record_plan *plan, const struct record_options *options)
{
	restrict_events(plan);
	for (size_t i = 0; i < plan->events.nr; i++)
		choose_contents(&plan->events.event[i], options);
}

static int open_cgroup(struct record_plan *plan, const char *name,
		       const struct record_options *options, const struct perch_targets **targets)
{
	struct perch_targets *cgroup = &plan->cgroups[plan->nr_cgroups];
	struct perch_error err;

	if (perch_targets_add_cgroup(cgroup, name, plan->cpus.nr ? &plan->cpus : NULL,
				     options->events.machine, &err) < 0)
		return cli_error(options->command, &err);
	plan->nr_cgroups++;
	*targets = cgroup;
	return 0;
}

/* Events of one cgroup share its list of targets. */
static int open_cgroups(struct record_plan *plan, const struct record_options *options)
{
	char **name = options->cgroups.name;
	int status = 0;

	if (!options->cgroups.nr)
		return 0;
	plan->event_targets = calloc(plan->events.nr, sizeof(*plan->event_targets));
	plan->cgroups = calloc(options->cgroups.nr, sizeof(*plan->cgroups));
	if (!plan->event_targets || !plan->cgroups)
		return cli_no_memory(options->command);
	for (size_t i = 0; !status && i < options->cgroups.nr; i++) {
		size_t same = 0;

		if (!name[i] || !*name[i])
			continue;
		while (!name[same] || strcmp(name[same], name[i]))
			same++;
		if (same < i)
			plan->event_targets[i] = plan->event_targets[same];
		else
			status = open_cgroup(plan, name[i], options, &plan->event_targets[i]);
	}
	return status;
}

static int choose_events(struct record_plan *plan, struct record_options *options)
{
	const struct cli_probes wanted = { .inherit = !options->no_inherit, .arguments = true };
	struct perch_error err;
	int status = 0;

	plan->kernel_forbidden = kernel_forbidden(options->events.machine);
	plan->user_only = !options->flag[RECORD_ALL_USER] && !options->flag[RECORD_ALL_KERNEL] &&
			  plan->kernel_forbidden;
	plan->by_default = !options->events.list.nr;
	plan->events = options->events.list;
	options->events.list = (struct perch_events){ 0 };
	if (plan->by_default) {
		const char *name = options->off_cpu ? TIME_EVENT : DEFAULT_EVENT;

		if (perch_events_add(&plan->events, name, options->events.machine, &err) < 0)
			return cli_error(options->command, &err);
		finish_events(plan, options);
		return 0;
	}
	status = cli_define_probes(options->command, wanted, &options->target, &plan->events,
				   options->events.machine);
	if (status)
		return status;
	finish_events(plan, options);
	return open_cgroups(plan, options);
}

/*
 * An event of --switch-output-event that has no period or frequency of its own is sampled each
 * time. A clock has no events to wait for, and a counter of hardware counts too fast.
 */
static int choose_switch_event(struct perch_event *event, const struct record_options *options)
{
	if (perch_metric_is_clock(&event->attr))
		return cli_usage_error(options->command,
				       "--switch-output-event %s is a clock: use "
				       "--switch-output=TIME, such as 30s",
				       event->name);
	if (event->attr.sample_period)
		return 0;
	if (event->attr.type != PERCH_TYPE_SOFTWARE &&
	    !is_sampled_each_time(options->events.machine, event))
		return cli_usage_error(options->command,
				       "--switch-output-event %s needs a number of events: add a "
				       "period to its terms, such as cycles/period=1000000000/",
				       event->name);
	event->attr.sample_period = 1;
	return 0;
}

static int choose_switch_events(struct record_options *options)
{
	const struct cli_probes wanted = { .inherit = !options->no_inherit };
	struct perch_events *events = &options->switch_events.list;
	int status = 0;

	if (events->nr)
		status = cli_define_probes(options->command, wanted, &options->target, events,
					   options->events.machine);
	for (size_t i = 0; i < events->nr && !status; i++)
		status = choose_switch_event(&events->event[i], options);
	return status;
}

const char *record_excludes_descendants(const struct record_options *options)
{
	const struct cli_target *target = &options->target;

	return target->all_cpus			? "-a (all processes)"
	       : options->cgroups.nr		? "-G (processes of a cgroup)"
	       : target->tids			? "-t (single threads)"
	       : options->no_inherit		? "-i (no child processes)"
	       : options->per_thread		? "--per-thread (rings of threads)"
	       : options->flag[RECORD_STAT]	? "-s (counts of each thread)"
	       : options->threads		? "--threads (each reads its own rings)"
	       : options->overwrite		? "--overwrite (rings lose old records)"
	       : options->off_cpu		? "--off-cpu (events of threads)"
	       : options->latency		? "--latency (events of threads)"
	       : options->flag[RECORD_SWITCHES] ? "--switch-events (they name others)"
						: NULL;
}

/* True if no CPU is kept free of timers: of isolcpus= and nohz_full=. */
static bool no_cpu_is_isolated(const struct perch_machine *machine)
{
	static const char *const lists[] = { "/sys/devices/system/cpu/isolated",
					     "/sys/devices/system/cpu/nohz_full" };
	char text[256];

	for (size_t i = 0; i < CLI_NR(lists); i++)
		if (perch_machine_read(machine, lists[i], text, sizeof(text)) > 0 &&
		    text[strspn(text, " \n")] && strncmp(text, "(null)", 6) != 0)
			return false;
	return true;
}

/* A timer, also one that the recorder will take in place of cycles. */
static bool is_timer(const struct perch_attr *attr, struct perch_machine *machine)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch_metric_is_clock(attr))
		return true;
	if (attr->type != PERCH_TYPE_HARDWARE || attr->config != PERCH_COUNT_HW_CPU_CYCLES ||
	    perch_machine_pmus(machine, &pmus, &nr, NULL) < 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			return false;
	return true;
}

/* Samples of all events per second on a CPU, or 0 if they are not all of timers. */
static uint64_t timer_rate(const struct record_plan *plan, const struct record_options *options)
{
	uint64_t rate = 0;

	for (size_t i = 0; i < plan->events.nr; i++) {
		const struct perch_event *event = &plan->events.event[i];
		const struct perch_attr *attr = &event->attr;
		const uint64_t period = attr->freq ? 0 : attr->sample_period;
		uint64_t each = attr->freq ? attr->sample_period : plan->frequency;

		if (period || (!attr->sample_period && options->period))
			each = 1000000000 / (period ? period : options->period);
		if (!is_timer(attr, options->events.machine) || event->leader != (int)i || !each ||
		    event->terms.inherit != PERCH_TRISTATE_UNSET)
			return 0;
		rate += each;
	}
	return rate;
}

/*
 * Processes that end within a period have no samples of their own timers, and their share of those
 * of CPUs. But those interrupt all CPUs, for other programs too, and wake idle ones: on 256 CPUs at
 * 4000 Hz a million times a second. So they are only chosen for long periods on few CPUs, where
 * short processes lose most and others are not disturbed.
 */
#define MOST_INTERRUPTS 1000 /* per second of all CPUs */

static void choose_descendants(struct record_plan *plan, const struct record_options *options)
{
	struct perch_machine *machine = options->events.machine;
	const struct perch_cpus *cpus;
	uint64_t rate = timer_rate(plan, options);

	if (!plan->program_only || plan->cpus.nr || options->descendants_chosen ||
	    options->inherit_chosen || record_is_part(options) ||
	    options->flag[RECORD_RUNNING_TIME] || record_excludes_descendants(options) ||
	    !record_may_record_cpus(machine) || !rate ||
	    perch_machine_cpus(machine, &cpus, NULL) < 0 || rate > MOST_INTERRUPTS / cpus->nr ||
	    !no_cpu_is_isolated(machine))
		return;
	plan->descendants = plan->system_wide = plan->may_inherit = true;
}

int record_make_plan(struct record_plan *plan, struct record_options *options)
{
	int status = choose_target(plan, options);

	if (!status)
		status = choose_frequency(plan, options);
	if (!status)
		status = choose_events(plan, options);
	if (!status)
		status = choose_switch_events(options);
	if (!status)
		choose_descendants(plan, options);
	return status;
}

/* True for events such as context-switches:u, which have no samples. */
static bool excludes_its_kernel(const struct perch_event *event,
				const struct record_options *options)
{
	return event->attr.exclude_kernel &&
	       perch_event_is_kernel_only(event, options->events.machine);
}

bool record_plan_excludes_all(const struct record_plan *plan, const struct record_options *options)
{
	for (size_t i = 0; i < plan->events.nr; i++)
		if (!excludes_its_kernel(&plan->events.event[i], options))
			return false;
	return plan->events.nr;
}

static void print_kernel_only(const struct record_plan *plan, const struct record_options *options)
{
	for (size_t i = 0; i < plan->events.nr; i++) {
		const struct perch_event *event = &plan->events.event[i];

		if (excludes_its_kernel(event, options))
			cli_note(
				options->command,
				"%s has no samples: the event occurs only in the kernel, which is excluded",
				event->name);
	}
}

void record_print_plan(const struct record_plan *plan, const struct record_options *options)
{
	if (plan->user_only)
		cli_note(options->command,
			 "user space only: kernel profiling needs %s <= 1 (currently %ld)",
			 perch_sysctl_name(PERCH_SYSCTL_PARANOID),
			 paranoid_level(options->events.machine));
	if (plan->kernel_forbidden && options->flag[RECORD_KERNEL_CALLCHAINS] &&
	    options->call_graph == PERCH_CALL_GRAPH_FP)
		cli_note(
			options->command,
			"call chains are empty: with --kernel-callchains they have no user part, and "
			"their kernel part needs %s <= 1 (currently %ld)",
			perch_sysctl_name(PERCH_SYSCTL_PARANOID),
			paranoid_level(options->events.machine));
	print_kernel_only(plan, options);
	if (record_never_enables(options))
		cli_note(options->command,
			 "no samples: with -D -1 only commands of --control enable "
			 "the events; add --control");
	if (plan->default_replaced)
		cli_note(options->command, "sampling by the timer cpu-clock: this machine has no "
					   "hardware cycle counter");
}

void record_clear_plan(struct record_plan *plan)
{
	perch_events_clear(&plan->events);
	for (size_t i = 0; i < plan->nr_cgroups; i++)
		perch_targets_clear(&plan->cgroups[i]);
	free(plan->cgroups);
	perch_cpus_clear(&plan->cpus);
	free(plan->event_targets);
	free(plan->threads);
}
