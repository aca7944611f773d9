/* SPDX-License-Identifier: MIT */
/* Waits for records, requests, children and signals. */
#define _GNU_SOURCE /* O_CLOEXEC of signalfd */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <perch/machine.h>

#include "base/no_memory.h"
#include "memory.h"
#include "state.h"

#define CHOICE_NS      10000000000ull /* between choices of the busiest cgroups */
#define CARE_NS	       1000000000ull  /* between two looks at what has ended */
#define FIRST_PAUSE_NS 8000000000ull  /* after a recording could not start anew; then doubled */
#define MOST_PAUSE_NS  3600000000000ull
#define SETTLE_NS      3000000000ull /* CPUs come and go one by one: until the last one did */
#define EXTRA_SECONDS  5 /* a profile of the longest time begins earlier, and is made later */

/* --once still writes the profile of what there is. */
static void end_or_wait(struct agent *agent)
{
	if (agent->options->once)
		agent->once_now = true;
	else
		agent->stopped = true;
}

/* ---- samples ---- */

static bool has_counters(const struct agent *agent)
{
	return agent->options->listen && agent->options->counters;
}

/* What cannot be counted is not in the metrics. */
static void open_counters(struct agent *agent, const struct perch_targets *targets)
{
	const struct agent_source_options *source = &agent->options->source;

	if (!source->inherit)
		agent->counters = agent_cpu_counters_open(targets, source->machine);
	if (agent->counters && agent->counts_cgroups)
		agent->cgroup_counters =
			agent_cgroup_counters_new(agent->counters, source->machine);
}

static void close_counters(struct agent *agent)
{
	agent_cgroup_counters_free(agent->cgroup_counters);
	agent_cpu_counters_close(agent->counters);
	agent->cgroup_counters = NULL;
	agent->counters = NULL;
}

/* A CPU that was away has new counters, and so have all: they begin at 0. */
static void renew_counters(struct agent *agent)
{
	close_counters(agent);
	if (has_counters(agent))
		open_counters(agent, agent_source_targets(agent->source));
	agent->chosen = 0;
}

/* What was outdated is not so any more. */
static void note_renewal(struct agent *agent)
{
	if (agent->cpus_changed)
		agent_note(agent, "CPUs came or went: the recording started anew");
	else if (agent->ended_rings)
		agent_note(agent, "all events had ended: the recording started anew");
	else
		return;
	renew_counters(agent);
	agent->cpus_changed = agent->ended_rings = false;
}

static void note_failed_renewal(const struct agent *agent, const struct perch_error *err)
{
	agent_note(agent, "cannot start anew, and tries again in %llu s: %s%s%s",
		   (unsigned long long)(agent->renewal_pause / 1000000000), err->message,
		   err->remedy[0] ? ". " : "", err->remedy);
}

static void renew(struct agent *agent)
{
	struct perch_error err = { 0 };

	if (agent_source_renew(agent->source, agent_now(), &err) >= 0) {
		agent->renewal_pause = 0;
		agent->first_memory = agent_names_memory(agent);
		agent->has_old = true;
		note_renewal(agent);
		return;
	}
	agent->renewal_pause = agent->renewal_pause ? agent->renewal_pause * 2 : FIRST_PAUSE_NS;
	if (agent->renewal_pause > MOST_PAUSE_NS)
		agent->renewal_pause = MOST_PAUSE_NS;
	agent->next_renewal = agent_now() + agent->renewal_pause;
	note_failed_renewal(agent, &err);
}

/* Names of threads and cgroups that have ended stay until the recording starts anew, and CPUs that
 * were away have no events until then. With threads as targets it goes on: children that they had
 * since then are recorded by inheritance only. */
static void renew_if_needed(struct agent *agent)
{
	uint64_t oldest, end, used;

	if (agent->options->source.inherit)
		return;
	agent->ended_rings |= agent_source_ended(agent->source);
	if (agent_source_cpus_changed(agent->source)) {
		agent->cpus_changed = true;
		agent->next_renewal = agent_now() + SETTLE_NS;
	}
	used = agent_names_memory(agent);
	agent_window_times(agent->window, 0, agent_window_oldest(agent->window) + 1, &oldest, &end);
	if (!agent_source_free_old(agent->source, oldest))
		return;
	if (agent->has_old) {
		/* what the new one has grown by since its start counts for it */
		uint64_t left = agent_names_memory(agent), freed = used > left ? used - left : 0;

		agent->has_old = false;
		agent->first_memory -= freed < agent->first_memory ? freed : agent->first_memory;
		used = left;
	}
	if (!agent->first_memory)
		agent->first_memory = used;
	if ((agent->cpus_changed || agent->ended_rings ||
	     used > agent->first_memory + AGENT_GROWTH) &&
	    agent_now() >= agent->next_renewal)
		renew(agent);
}

static void count_cgroups(struct agent *agent)
{
	const char *paths[AGENT_MOST_CGROUPS];
	size_t nr = agent_cgroups_paths(agent->cgroups, paths);

	if (agent->cgroup_counters)
		agent_cgroup_counters_choose(agent->cgroup_counters, paths, nr);
}

static void tick(struct agent *agent)
{
	uint64_t now = agent_now();

	if (now < agent->next_slice)
		agent_read(agent);
	else
		agent_cut(agent);
	/* profiles begin slices, too, maybe so often that none ends here */
	if (now < agent->next_care)
		return;
	agent->next_care = now + CARE_NS;
	agent_source_tidy(agent->source);
	renew_if_needed(agent);
	if (agent->cgroups && agent_now() - agent->chosen > CHOICE_NS) {
		agent->chosen = agent_now();
		agent_cgroups_choose(agent->cgroups, agent->chosen);
		count_cgroups(agent);
	}
	if (agent->options->source.inherit && agent_source_ended(agent->source))
		end_or_wait(agent);
}

/* ---- --once ---- */

static void once_done(struct agent *agent, struct agent_job *job, bool ok)
{
	char reason[256] = "it was killed, perhaps for its memory";
	ssize_t size;

	agent->stopped = true;
	agent->once_rc = -EIO;
	if (ok) {
		agent->once_rc = agent->options->write_once(agent->options->context, job->fd);
		return;
	}
	size = pread(job->fd, reason, sizeof(reason) - 1, 0);
	if (size > 0)
		reason[size] = '\0';
	agent_note(agent, "cannot make the profile: %s", reason);
}

static void check_once(struct agent *agent)
{
	const struct agent_options *options = agent->options;
	int rc;

	if (!options->once || agent->once_started || agent->nr_jobs >= AGENT_MOST_JOBS ||
	    (!agent->once_now && agent_now() < agent->started + options->once_ns))
		return;
	agent->once_started = true;
	rc = agent_job_start(agent, AGENT_ALL, 0, agent_cut(agent), NULL, once_done, NULL);
	if (!rc)
		return;
	agent_note(agent, "cannot make the profile: %s", strerror(-rc));
	agent->once_rc = rc;
	agent->stopped = true;
}

/* ---- the loop ---- */

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* if it was ignored, nothing would be known of children */
	return sigprocmask(SIG_BLOCK, &set, NULL) ? -1
						  : signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct agent *agent, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM)
			agent->ended = true;
		agent->reload |= info.ssi_signo == SIGHUP;
	}
}

/* The options are those of the command, which sets some of them anew. */
static void reload_options(struct agent *agent)
{
	const struct agent_options *options = agent->options;

	agent->reload = false;
	if (!options->reload) {
		agent_note(agent, "SIGHUP reads the file of --config, and there is none");
		return;
	}
	agent->reload_failed = true;
	if (!options->reload(options->context))
		return;
	if (!agent_send_renew(agent)) {
		agent->reload_failed = false;
		agent->reloaded = agent_wall_now();
		return;
	}
	options->restore(options->context);
	/* the second failure has its own note, and each window tries again */
	if (!agent_send_renew(agent))
		agent_note(agent, "the options of before are used again");
}

/* A second signal ends it without the profile of --once. */
static void end_by_signal(struct agent *agent)
{
	if (agent->once_now) {
		agent_note(agent, "a second signal ended it, without the profile");
		agent->once_rc = -EINTR;
		agent->stopped = true;
	}
	end_or_wait(agent);
	agent->ended = false;
}

static int wait_ms(const struct agent *agent)
{
	uint64_t now = agent_now(), next = now + PERCH_RECORDER_WRITE_MS * 1000000ull;

	if (agent->next_slice < next)
		next = agent->next_slice;
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static int wait_and_work(struct agent *agent, int signals, struct perch_error *err)
{
	struct pollfd polls[4] = {
		{ signals, POLLIN, 0 }, { 0, POLLIN, 0 }, { 0, POLLIN, 0 }, { 0, POLLIN, 0 }
	};

	while (!agent->stopped) {
		int ms = wait_ms(agent), fds[2] = { -1, -1 };

		/* targets that have ended are readable for ever */
		if (!agent->once_now && !agent_source_ended(agent->source))
			agent_source_fds(agent->source, fds);
		polls[1].fd = fds[0];
		polls[2].fd = fds[1];
		polls[3].fd = agent_http_fd(agent, &ms);
		if (poll(polls, 4, ms) < 0 && errno != EINTR)
			return perch_error_set(err, errno, PERCH_ERROR_SYSTEM, "poll(2): %s",
					       strerror(errno));
		take_signals(agent, signals);
		tick(agent);
		agent_jobs_reap(agent);
		agent_http_run(agent);
		if (agent->reload)
			reload_options(agent);
		agent_send_run(agent);
		if (agent->ended)
			end_by_signal(agent);
		check_once(agent);
	}
	return agent->failed_read ? perch_error_set(err, EIO, PERCH_ERROR_SYSTEM,
						    "the rings cannot be read any more")
				  : 0;
}

static void open_sums(struct agent *agent)
{
	const struct agent_source_options *source = &agent->options->source;
	char mount[PATH_MAX];

	if (perch_machine_cgroups(source->machine, mount, sizeof(mount), NULL) < 0)
		mount[0] = '\0';
	agent->cgroups = agent->source_options.cgroups = agent_cgroups_new(mount[0] ? mount : NULL);
	agent->counts_cgroups = mount[0] && agent->options->cgroup_events;
	open_counters(agent, source->targets);
}

/* Says where it is, and what this user cannot read, so that names are missing. */
static void note_start(const struct agent *agent)
{
	char missing[256] = "";

	if (!agent->options->listen)
		return;
	for (size_t i = 0; i < AGENT_NR_PARTS; i++)
		if (agent_source_lacks(agent->source, agent_parts[i].part)) {
			size_t used = strlen(missing);

			snprintf(missing + used, sizeof(missing) - used, "%s%s",
				 used ? ", " : ". Missing: ", agent_parts[i].text);
		}
	agent_note(agent, "serves http://%s/%s%s", agent->options->listen, missing,
		   missing[0] ? " ('perch doctor --agent' has the reasons)" : "");
}

static int open_and_run(struct agent *agent, struct perch_error *err)
{
	const struct agent_options *options = agent->options;
	int signals = open_signals(), rc;

	if (signals < 0)
		return perch_error_set(err, errno, PERCH_ERROR_SYSTEM,
				       "cannot wait for signals: %s", strerror(errno));
	agent->window = agent_window_new(options->window_bytes, options->seconds + EXTRA_SECONDS);
	rc = agent->window ? 0 : PERCH__NO_MEMORY(err, "for samples");
	if (!rc && options->listen)
		rc = agent_http_open(agent, err);
	agent->source_options = options->source;
	if (!rc && has_counters(agent))
		open_sums(agent);
	if (!rc)
		rc = agent_source_open(&agent->source, &agent->source_options, agent->window, err);
	agent->started = agent_now();
	agent->reloaded = agent_wall_now();
	if (!rc) {
		agent_cut(agent);
		rc = agent_send_open(agent, err);
	}
	if (!rc) {
		if (agent_source_replaced_cycles(agent->source))
			agent_note(agent, "sampling by the timer cpu-clock: this machine has no "
					  "hardware cycle counter");
		note_start(agent);
		rc = wait_and_work(agent, signals, err);
	}
	agent_send_close(agent);
	agent_jobs_end(agent);
	if (rc >= 0)
		rc = agent->once_rc;
	agent_http_close(agent);
	agent_source_close(agent->source);
	agent_window_free(agent->window);
	close_counters(agent);
	agent_cgroups_free(agent->cgroups);
	close(signals);
	return rc;
}

int agent_run(const struct agent_options *options, struct perch_error *err)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	int rc;

	if (!agent)
		return PERCH__NO_MEMORY(err, "for the agent");
	agent->options = options;
	rc = open_and_run(agent, err);
	free(agent);
	return rc;
}
