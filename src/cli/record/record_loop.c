/* SPDX-License-Identifier: MIT */
/*
 * From the rings to the file. A round takes what is in all rings at one moment and writes it,
 * straight from the rings' memory, by one call; the record that ends the round tells readers how
 * far they may sort.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define FLUSH_MS 1000
#define STUCK_MS 10 /* between two looks at rings while a descriptor is in error */

/* The rings that the events of the user write into; mappings, names and tasks come through others.
 */
static void find_backward(struct record *record)
{
	for (size_t event = 0; event < record->events.nr; event++) {
		size_t ring;
		pid_t pid;
		int cpu;

		for (size_t id = 0;
		     !perch_sampler_id_info(record->sampler, event, id, &cpu, &pid, &ring); id++)
			record->backward[ring] = true;
	}
}

int record_prepare_loop(struct record *record)
{
	size_t rings = perch_sampler_rings(record->sampler);

	record->nr_rings = rings;
	record->pieces = calloc(2 * rings + 1, sizeof(*record->pieces));
	record->bytes = calloc(rings, sizeof(*record->bytes));
	record->polls = calloc(rings + 1, sizeof(*record->polls));
	record->backward = calloc(rings, sizeof(*record->backward));
	if (!record->pieces || !record->bytes || !record->polls || !record->backward)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	if (record->overwrite)
		find_backward(record);
	return 0;
}

/* Here, so that a SIGUSR2 that comes early is not the end, and the program does not inherit it. */
void record_block_asking(const struct record *record)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (record->switch_by)
		sigprocmask(SIG_BLOCK, &set, NULL);
	else
		/* as perf does: a script may ask recorders that cannot answer */
		signal(SIGUSR2, SIG_IGN);
}

int record_block_signals(struct record *record)
{
	struct sigaction hang_up;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	if (record->switch_by)
		sigaddset(&set, SIGUSR2);
	/* under nohup(1) it goes on */
	if (!sigaction(SIGHUP, NULL, &hang_up) && hang_up.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	record->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (record->signals < 0)
		return perch_error_set(&record->err, errno, PERCH_ERROR_SYSTEM,
				       "no descriptor for signals: %s", strerror(errno));
	return 0;
}

/* Without a file what is to be in all files is remembered. */
ssize_t record_write_round(struct record *record)
{
	static const struct perch_record_header round_end = { PERCH_RECORD_FINISHED_ROUND, 0, 8 };
	uint64_t samples = record->samples;
	ssize_t taken = 0;
	int nr = 0;
	int rc;

	for (size_t i = 0; i < record->nr_rings; i++) {
		struct iovec *pieces = &record->pieces[nr];

		record->bytes[i] = perch_ring_peek(perch_sampler_ring(record->sampler, i), pieces);
		if (!record->bytes[i])
			continue;
		record_scan(record, i, pieces);
		taken += record->bytes[i];
		nr += pieces[1].iov_len ? 2 : 1;
	}
	if (!taken)
		return 0;
	record->pieces[nr++] = (struct iovec){ (void *)&round_end, sizeof(round_end) };
	rc = record->writer ? perch_writer_append(record->writer, record->pieces, nr, &record->err)
			    : 0;
	for (size_t i = 0; i < record->nr_rings; i++)
		perch_ring_consume(perch_sampler_ring(record->sampler, i), record->bytes[i]);
	if (rc < 0)
		record->samples = samples; /* those of this round are not in the file */
	return rc < 0 ? rc : taken;
}

/* A signal from the terminal reaches the program without us; one sent to us alone is passed on. */
static void take_signal(struct record *record, const struct signalfd_siginfo *info)
{
	bool runs = record->program.pid > 0 && !record->program_ended;

	if (info->ssi_signo == SIGCHLD) {
		if (runs &&
		    !cli_program_wait(&record->program, WNOHANG, &record->program_status, NULL))
			record->program_ended = true;
		return;
	}
	if (info->ssi_signo == SIGUSR2) {
		record->asked = true;
		return;
	}
	if (!record->ended_by)
		record->ended_by = (int)info->ssi_signo;
	if (runs && info->ssi_code <= 0)
		kill(record->program.pid, (int)info->ssi_signo);
}

static bool take_signals(struct record *record)
{
	struct signalfd_siginfo info;

	while (read(record->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(record, &info);
	return record->ended_by || record->program_ended;
}

static int64_t ms_since_start(const struct record *record)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - record->start.tv_sec) * 1000 +
	       (now.tv_nsec - record->start.tv_nsec) / 1000000;
}

/* Starts and stops the events when their times of -D have come. Returns the milliseconds that may
 * be slept. */
static int switch_windows(struct record *record)
{
	while (record->turn < record->nr_window_times) {
		int64_t left = record->window_ms[record->turn] - ms_since_start(record);

		if (left > 0)
			return left < FLUSH_MS ? (int)left : FLUSH_MS;
		if (record->turn % 2)
			perch_sampler_disable(record->sampler);
		else
			perch_sampler_enable(record->sampler);
		record->turn++;
	}
	return FLUSH_MS;
}

/* The file is as large as it may become. */
static bool is_full(struct record *record)
{
	if (!record->max_bytes || !record->writer ||
	    perch_writer_size(record->writer) < record->max_bytes)
		return false;
	if (!record->quiet)
		cli_note("record",
			 "the file has reached the size of --max-size: the recording ends");
	record->full = true;
	return true;
}

/* Fills record->polls. False: no target of any ring is left. */
static bool look_at_rings(struct record *record)
{
	bool alive = false;

	record->polls[0] = (struct pollfd){ record->signals, POLLIN, 0 };
	for (size_t i = 0; i < record->nr_rings; i++) {
		record->polls[i + 1] = (struct pollfd){ perch_sampler_ring_fd(record->sampler, i),
							record->backward[i] ? 0 : POLLIN, 0 };
		alive |= record->polls[i + 1].fd >= 0;
	}
	return alive;
}

/*
 * Who of a ring is still there, after a descriptor hung up. One in error, as that of a pinned event
 * without a counter, would wake us at once for ever: then signals alone are waited for, for a
 * moment.
 */
static void look_at_troubles(struct record *record)
{
	bool hung_up = false, error = false;

	for (size_t i = 1; i <= record->nr_rings; i++) {
		hung_up |= record->polls[i].revents & (POLLHUP | POLLNVAL);
		error |= record->polls[i].revents & POLLERR;
	}
	if (hung_up)
		perch_sampler_wait(record->sampler, 0);
	else if (error && !record->polls[0].revents)
		poll(record->polls, 1, STUCK_MS);
}

/*
 * Waits for data or a signal. False: the recording ends, because of a signal, or because all
 * targets have exited. (The program's own exit is told by a signal.)
 */
static bool wait_for_more(struct record *record)
{
	bool alive = look_at_rings(record) || record->program_argv;
	int sleep_ms, ready;

	if (!alive || is_full(record))
		return false;
	sleep_ms = switch_windows(record);
	if (record_switch_due(record, &sleep_ms))
		sleep_ms = 0;
	ready = poll(record->polls, record->nr_rings + 1, sleep_ms);
	record->wakeups += ready > 0;
	if (ready > 0)
		look_at_troubles(record);
	return !(record->polls[0].revents && take_signals(record));
}

int record_loop(struct record *record)
{
	ssize_t rc = 0;

	while (rc >= 0 && wait_for_more(record)) {
		int sleep_ms = FLUSH_MS;

		rc = record_write_round(record);
		if (rc >= 0 && record_switch_due(record, &sleep_ms))
			rc = record_switch(record);
	}
	if (rc < 0)
		return (int)rc;
	perch_sampler_disable(record->sampler);
	return (int)record_write_round(record);
}
