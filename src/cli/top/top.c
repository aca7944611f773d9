/* SPDX-License-Identifier: MIT */
/* perch top: a live profile. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "attr_print.h"
#include "seccomp_kill.h"
#include "top.h"

/* Times between rounds. A round of a ring that is nearly full comes late. */
enum { LEAST_MS = 5, MOST_MS = 100 };

static int block_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CLI_NR(signals); i++)
		/* after nohup(1) SIGHUP is ignored */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static double seconds_of(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (to->tv_nsec - from->tv_nsec) / 1e9;
}

/* The next round comes before a ring of 16 pages, or of -m, has got a quarter of its size. */
static int next_round_ms(struct top *top, int ms)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE) *
		      (top->record.ring_pages ? top->record.ring_pages : 16);
	struct perch_sampler_stats stats;
	uint64_t most = 0, bytes;

	for (size_t i = 0; !perch_sampler_get_ring_stats(top->sampler, i, &stats); i++)
		most = stats.bytes > most ? stats.bytes : most;
	bytes = most - top->bytes;
	top->bytes = most;
	if (bytes > size / 4)
		return ms / 2 > LEAST_MS ? ms / 2 : LEAST_MS;
	return bytes < size / 16 && ms * 2 <= MOST_MS ? ms * 2 : ms;
}

struct loop {
	int signals;
	struct timespec last; /* refresh */
	int ms;		      /* until the next round */
	bool keys;	      /* the terminal passes keys at once */
	struct termios saved;
};

/* On a terminal the key q ends the command. */
static void start_keys(struct loop *loop)
{
	struct termios changed;

	if (!isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &loop->saved))
		return;
	changed = loop->saved;
	changed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	loop->keys = !tcsetattr(STDIN_FILENO, TCSANOW, &changed);
}

static void end_keys(const struct loop *loop)
{
	if (loop->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &loop->saved);
}

static bool is_quit(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

/* Waits for the next round or refresh. Returns false at the end. */
static bool wait_for_round(struct loop *loop, double left)
{
	struct pollfd polls[] = { { loop->signals, POLLIN, 0 },
				  { loop->keys ? STDIN_FILENO : -1, POLLIN, 0 } };
	int ms = left * 1000 < loop->ms ? (int)(left * 1000) + 1 : loop->ms;

	if (poll(polls, CLI_NR(polls), ms) <= 0)
		return true;
	return !polls[0].revents && !(polls[1].revents && is_quit());
}

static int show(struct top *top, struct loop *loop, const struct timespec *now)
{
	struct perch_profile *profile;
	int status = top_refresh(top, seconds_of(&loop->last, now), &profile);

	loop->last = *now;
	if (!status)
		status = top_print(stdout, top, profile);
	perch_profile_free(profile);
	if (!status)
		status = cli_check_stdout(TOP_COMMAND, 0);
	return status ? status : top_limit_memory(top);
}

static int run_loop(struct top *top)
{
	struct loop loop = { .signals = block_signals(), .ms = MOST_MS };
	bool ended = false;
	int status = 0;

	start_keys(&loop);
	clock_gettime(CLOCK_MONOTONIC, &loop.last);
	while (!status && !ended) {
		struct timespec now;
		double left;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = (double)top->delay - seconds_of(&loop.last, &now);
		if (left > 0)
			ended = !wait_for_round(&loop, left);
		ended |= perch_sampler_ended(top->sampler);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (ended || seconds_of(&loop.last, &now) >= (double)top->delay)
			status = show(top, &loop, &now);
		else
			status = top_read(top);
		loop.ms = next_round_ms(top, loop.ms);
	}
	end_keys(&loop);
	close(loop.signals);
	return status;
}

static int run(struct top *top)
{
	struct perch_error err;
	int status = record_make_plan(&top->plan, &top->record);

	record_raise_descriptor_limit();
	if (!status)
		status = record_open_sampler(&top->sampler, &top->plan, &top->record, 0);
	if (status)
		return status;
	record_print_plan(&top->plan, &top->record);
	status = top_start(top);
	if (!status && perch_sampler_enable(top->sampler, &err) < 0)
		status = cli_error(TOP_COMMAND, &err);
	if (!status)
		status = run_loop(top);
	top_stop(top);
	return status;
}

int perch_cmd_top(int argc, char **argv)
{
	struct top *top = calloc(1, sizeof(*top));
	struct cli_shown_calls shown;
	struct perch_error err;
	int status;

	if (!top)
		return CLI_EXIT_FAILURE;
	top->record.argc = argc;
	top->record.argv = argv;
	status = record_set_defaults(&top->record);
	cli_show_calls(&shown, &top->record.verbose);
	if (!status && perch_machine_new(&top->record.machine, NULL, &shown.calls, &err) < 0)
		status = cli_error(TOP_COMMAND, &err);
	if (!status) {
		perch_machine_set_probing(top->record.machine, true);
		status = top_parse(top, argc, argv);
	}
	if (!status)
		status = cli_check_filter(TOP_COMMAND, top->record.machine);
	__fsetlocking(stdout, FSETLOCKING_BYCALLER); /* there is one thread */
	if (!status)
		status = run(top);
	perch_sampler_close(top->sampler);
	record_clear_plan(&top->plan);
	top_clear_options(top);
	perch_machine_free(top->record.machine);
	free(top);
	return status;
}
