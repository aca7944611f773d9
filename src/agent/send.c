/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <perch/version.h>

#include "base/nr.h"
#include "base/no_memory.h"
#include "metrics.h"
#include "push/push.h"
#include "send.h"
#include "state.h"

#define SECOND	     1000000000ull
#define CLOSE_WAIT   (SECOND / 2) /* for answers at the end */
#define LAST_WINDOWS (5 * SECOND) /* for windows that are being made at the end */
#define PAUSE_NS     (SECOND / 100)

/* The windows in one form. */
struct stream {
	enum agent_kind kind;
	enum agent_push_kind push_kind;
	bool wanted;
	bool busy;	/* a window is being made */
	bool last;	/* it is the one up to the end of the agent, or that was made */
	uint64_t from;	/* number of its first slice, or of the next one's */
	uint64_t due;	/* ns: when it ends */
	uint64_t begin; /* of the one that is being made, ns of the wall clock */
};

struct agent_send {
	struct agent_push *push; /* NULL: it could not start */
	struct stream stream[AGENT_NR_PUSH_KINDS];
};

/* Opens what sends windows, or changes what it sends where. */
static int set_push(struct agent *agent, struct perch_error *err)
{
	const struct agent_send_options *options = &agent->options->send;
	const struct agent_push_options push = {
		.target = options->target,
		.nr = options->nr,
		.spool = options->spool,
		.spool_bytes = options->spool_bytes,
		.spool_age = options->spool_age,
		/* what waits is sent faster than new windows come */
		.least_wait = options->interval < 4 * SECOND ? options->interval / 4 : SECOND,
		.user_agent = "perch-agent/" PERCH_VERSION_STRING,
		.note = agent->options->note,
		.context = agent->options->context,
	};
	struct agent_send *send = agent->send;
	int rc = send->push ? agent_push_change(send->push, &push, CLOSE_WAIT, err)
			    : agent_push_open(&send->push, &push, err);

	for (size_t i = 0; !rc && i < AGENT_NR_PUSH_KINDS; i++) {
		struct stream *stream = &send->stream[i];
		bool wanted = agent_push_wants(send->push, stream->push_kind);

		if (wanted && !stream->wanted) {
			stream->from = agent_cut(agent);
			stream->due = agent_now() + agent_push_first(options->interval);
		}
		stream->wanted = wanted;
	}
	return rc;
}

int agent_send_open(struct agent *agent, struct perch_error *err)
{
	if (!agent->options->send.nr)
		return 0;
	agent->send = calloc(1, sizeof(*agent->send));
	if (!agent->send)
		return PERCH__NO_MEMORY(err, "to send windows");
	agent->send->stream[AGENT_PUSH_OTLP].kind = AGENT_OTLP;
	agent->send->stream[AGENT_PUSH_PYROSCOPE].kind = AGENT_PYROSCOPE;
	for (size_t i = 0; i < AGENT_NR_PUSH_KINDS; i++)
		agent->send->stream[i].push_kind = (enum agent_push_kind)i;
	return set_push(agent, err);
}

/* ---- windows ---- */

/* Returns NULL, or why the window is lost. */
static const char *add_window(struct agent *agent, const struct stream *stream, int fd)
{
	struct agent_push_window window = { .begin = stream->begin };
	struct stat status;
	void *bytes;

	memcpy(window.profile_id, agent->profile_id[stream->kind], sizeof(window.profile_id));
	if (fstat(fd, &status))
		return strerror(errno);
	if (!status.st_size) /* without samples */
		return NULL;
	window.size = (size_t)status.st_size;
	bytes = mmap(NULL, window.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return strerror(errno);
	window.bytes = bytes;
	agent_push_add(agent->send->push, stream->push_kind, &window);
	munmap(bytes, window.size);
	return NULL;
}

static void window_done(struct agent *agent, struct agent_job *job, bool ok)
{
	char text[256] = "it was killed, perhaps for its memory";
	struct stream *stream = job->context;
	const char *reason = text;
	ssize_t size;

	stream->busy = false;
	if (!agent->send->push)
		return;
	if (ok) {
		reason = add_window(agent, stream, job->fd);
	} else {
		size = pread(job->fd, text, sizeof(text) - 1, 0);
		if (size > 0)
			text[size] = '\0';
		text[strcspn(text, "\n")] = '\0';
	}
	if (!reason)
		return;
	agent_push_not_made(agent->send->push, stream->push_kind);
	agent_note(agent, "cannot make a window: %s", reason);
}

/* Starts to make the window up to now. If it cannot be made now, it grows. Returns 0, -EAGAIN if
 * too many profiles are being made, or another negative errno. */
static int make_window(struct agent *agent, struct stream *stream)
{
	uint64_t to = agent_cut(agent), begin, end;
	int rc;

	agent_window_times(agent->window, stream->from, to, &begin, &end);
	stream->begin = agent_wall_now() - (agent_now() > begin ? agent_now() - begin : 0);
	agent_push_profile_id(agent->profile_id[stream->kind]);
	rc = agent_job_start(agent, stream->kind, stream->from, to, NULL, window_done, stream);
	if (rc) {
		if (rc != -EAGAIN)
			agent_note(agent, "cannot make a window: %s", strerror(-rc));
		stream->due = agent_now() + SECOND;
		return rc;
	}
	stream->busy = true;
	stream->from = to;
	stream->due = agent_now() + agent_push_jitter(agent->options->send.interval);
	return 0;
}

/* Returns NULL if there is none. */
static struct stream *find_due(const struct agent *agent)
{
	for (size_t i = 0; agent->send && agent->send->push && i < AGENT_NR_PUSH_KINDS; i++) {
		struct stream *stream = &agent->send->stream[i];

		if (stream->wanted && !stream->busy && agent_now() >= stream->due)
			return stream;
	}
	return NULL;
}

bool agent_send_is_due(const struct agent *agent)
{
	return find_due(agent);
}

void agent_send_run(struct agent *agent)
{
	struct stream *stream;

	while (agent->nr_jobs < AGENT_MOST_JOBS && (stream = find_due(agent)))
		make_window(agent, stream);
}

/* Makes the last windows: one that is being made when the end comes lacks what came since. Returns
 * true while there is something to wait for, as the end of profiles that clients have asked for. */
static bool make_last(struct agent *agent)
{
	bool waits = false;

	for (size_t i = 0; agent->send->push && i < AGENT_NR_PUSH_KINDS; i++) {
		struct stream *stream = &agent->send->stream[i];

		if (stream->wanted && !stream->last && !stream->busy &&
		    agent->nr_jobs < AGENT_MOST_JOBS)
			stream->last = make_window(agent, stream) != -EAGAIN;
		waits |= stream->busy || (stream->wanted && !stream->last);
	}
	return waits;
}

void agent_send_close(struct agent *agent)
{
	uint64_t end = agent_now() + LAST_WINDOWS;

	if (!agent->send)
		return;
	while (make_last(agent) && agent_now() < end) {
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		agent_jobs_reap(agent);
	}
	agent_jobs_end(agent);
	agent_push_close(agent->send->push, CLOSE_WAIT);
	free(agent->send);
	agent->send = NULL;
}

static void stop_sending(struct agent *agent)
{
	agent_push_close(agent->send->push, CLOSE_WAIT);
	agent->send->push = NULL;
	for (size_t i = 0; i < AGENT_NR_PUSH_KINDS; i++)
		agent->send->stream[i].wanted = false;
}

int agent_send_renew(struct agent *agent)
{
	struct perch_error err = { 0 };
	int rc = 0;

	if (!agent->send)
		rc = agent_send_open(agent, &err);
	else if (agent->options->send.nr)
		rc = set_push(agent, &err);
	else
		stop_sending(agent);
	if (rc < 0)
		agent_note(agent, "windows cannot be sent: %s", err.message);
	return rc;
}

uint64_t agent_send_memory(const struct agent *agent)
{
	struct agent_push_stats stats;

	if (!agent->send || !agent->send->push)
		return 0;
	agent_push_stats(agent->send->push, &stats);
	return stats.queued_bytes + (agent->options->send.spool ? 0 : stats.spool.bytes);
}

/* ---- metrics ---- */

#define OF_TARGET(member) offsetof(struct agent_push_target_stats, member)

/* A value of each target. */
static const struct {
	const char *name, *help;
	size_t at;
} target_counters[] = {
	{ "perch_push_windows", "Windows that a target has taken.", OF_TARGET(windows) },
	{ "perch_push_bytes", "Bytes of windows that a target has taken.", OF_TARGET(bytes) },
	{ "perch_push_rejected_profiles", "Profiles that a target rejected of windows it took.",
	  OF_TARGET(rejected) },
};

static void put_codes(struct agent_metrics *metrics, const struct agent_push_stats *stats)
{
	agent_metric_counter(metrics, "perch_push_requests",
			     "Requests by the code of the answer; 0: there was none.");
	for (size_t i = 0; i < stats->nr_targets; i++)
		for (size_t k = 0; k < stats->target[i].nr_codes; k++) {
			char code[16];

			snprintf(code, sizeof(code), "%d", stats->target[i].code[k].code);
			agent_metric_value2(metrics, "target", stats->target[i].name, "code", code,
					    (double)stats->target[i].code[k].requests);
		}
}

static void put_drops(struct agent_metrics *metrics, const struct agent_push_stats *stats,
		      bool bytes)
{
	agent_metric_counter(metrics,
			     bytes ? "perch_push_dropped_bytes" : "perch_push_dropped_windows",
			     bytes ? "Bytes of windows that no target gets, by reason."
				   : "Windows that no target gets, by reason.");
	for (size_t i = 0; i < stats->nr_targets; i++)
		for (unsigned reason = 0; reason < AGENT_NR_DROP_REASONS; reason++)
			agent_metric_value2(metrics, "target", stats->target[i].name, "reason",
					    agent_drop_reason_name(reason),
					    (double)(bytes ? stats->target[i].dropped_bytes[reason]
							   : stats->target[i].dropped[reason]));
}

static void put_spool(struct agent_metrics *metrics, const struct agent_push_stats *stats)
{
	uint64_t ns = agent_wall_now(), oldest = stats->spool.oldest;

	agent_metric_gauge(metrics, "perch_spool_bytes", "Bytes of windows that wait.");
	agent_metric_value(metrics, NULL, NULL, (double)stats->spool.bytes);
	agent_metric_gauge(metrics, "perch_spool_windows", "Windows that wait, of all targets.");
	agent_metric_value(metrics, NULL, NULL, (double)stats->spool.entries);
	agent_metric_gauge(metrics, "perch_spool_oldest_seconds",
			   "Age of the oldest window that waits.");
	agent_metric_value(metrics, NULL, NULL,
			   oldest && oldest < ns ? (double)(ns - oldest) / 1e9 : 0);
	agent_metric_gauge(metrics, "perch_spool_foreign_files",
			   "Files in the directory of the spool that are not its own.");
	agent_metric_value(metrics, NULL, NULL, (double)stats->spool.foreign);
}

void agent_send_put(const struct agent *agent, struct agent_metrics *metrics)
{
	struct agent_push_stats stats;

	if (!agent->send || !agent->send->push)
		return;
	agent_push_stats(agent->send->push, &stats);
	put_codes(metrics, &stats);
	for (size_t i = 0; i < PERCH__NR(target_counters); i++) {
		agent_metric_counter(metrics, target_counters[i].name, target_counters[i].help);
		for (size_t k = 0; k < stats.nr_targets; k++) {
			uint64_t value;

			memcpy(&value, (char *)&stats.target[k] + target_counters[i].at,
			       sizeof(value));
			agent_metric_value(metrics, "target", stats.target[k].name, (double)value);
		}
	}
	put_drops(metrics, &stats, false);
	put_drops(metrics, &stats, true);
	agent_metric_counter(metrics, "perch_push_dropped_other_windows",
			     "Windows in the spool of targets that are not given any more.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.dropped_other);
	agent_metric_gauge(metrics, "perch_push_failing",
			   "1 if the last window of a target was not taken.");
	for (size_t i = 0; i < stats.nr_targets; i++)
		agent_metric_value(metrics, "target", stats.target[i].name,
				   stats.target[i].failing);
	put_spool(metrics, &stats);
}
