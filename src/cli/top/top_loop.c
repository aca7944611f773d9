/* SPDX-License-Identifier: MIT */
/* Reads the rings and refreshes until the user, a signal or the end of all targets. */
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

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

/* ---- text ---- */

struct keys {
	bool used; /* the terminal passes keys at once */
	struct termios saved;
};

/* On a terminal the key q ends the command. */
static void start_keys(struct keys *keys)
{
	struct termios changed;

	if (!isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &keys->saved))
		return;
	changed = keys->saved;
	changed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys->used = !tcsetattr(STDIN_FILENO, TCSANOW, &changed);
}

static void end_keys(const struct keys *keys)
{
	if (keys->used)
		tcsetattr(STDIN_FILENO, TCSANOW, &keys->saved);
}

static bool is_quit(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

/* Waits for the next round or refresh. Sets top->ended at the end. */
static void wait_for_round(struct top *top, const struct keys *keys, double left)
{
	struct pollfd polls[] = { { top->signals, POLLIN, 0 },
				  { keys->used ? STDIN_FILENO : -1, POLLIN, 0 } };
	int ms = left * 1000 < top->ms ? (int)(left * 1000) + 1 : top->ms;

	if (poll(polls, CLI_NR(polls), ms) > 0)
		top->ended = polls[0].revents || (polls[1].revents && is_quit());
}

static int show(struct top *top)
{
	struct perch_profile *profile;
	int status = top_refresh(top, &profile);

	if (!status)
		status = top_print(stdout, top, profile);
	perch_profile_free(profile);
	if (!status)
		status = cli_check_stdout(TOP_COMMAND, 0);
	return status || !top_is_full(top) ? status : top_restart(top);
}

static int print_tables(struct top *top)
{
	struct keys keys = { .used = false };
	int status = 0;

	start_keys(&keys);
	while (!status && !top->ended) {
		double left = (double)top->delay - top_seconds(top);

		if (left > 0)
			wait_for_round(top, &keys, left);
		top->ended |= perch_sampler_ended(top->sampler);
		if (top->ended || top_seconds(top) >= (double)top->delay)
			status = show(top);
		else
			status = top_read(top);
	}
	end_keys(&keys);
	return status;
}

int top_loop(struct top *top)
{
	int status;

	top->signals = block_signals();
	clock_gettime(CLOCK_MONOTONIC, &top->last);
	status = top_can_be_browsed(top) ? top_browse(top) : print_tables(top);
	close(top->signals);
	return status;
}
