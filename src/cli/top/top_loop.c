/* SPDX-License-Identifier: MIT */
/* Reads the rings and refreshes until the user, a signal or the end of all targets. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program/signals.h"
#include "terminal/quit_key.h"
#include "top.h"

/* ---- text ---- */

/* Waits for the next round or refresh. A refresh that is due waits for nothing, but the signals are
 * looked at. */
static int wait_for_round(struct top *top, bool has_keys, double left)
{
	struct pollfd polls[] = { { top->signals, POLLIN, 0 },
				  { has_keys ? STDIN_FILENO : -1, POLLIN, 0 },
				  { cli_control_fd(&top->control), POLLIN, 0 } };
	int ms = left <= 0 ? 0 : left * 1000 < top->ms ? (int)(left * 1000) + 1 : top->ms;
	int nr = poll(polls, CLI_NR(polls), ms);

	if (nr < 0 && errno != EINTR) {
		cli_note(TOP_COMMAND, "cannot wait for signals by poll(2): %s", strerror(errno));
		return CLI_EXIT_FAILURE;
	}
	if (nr > 0)
		top->stopped = polls[0].revents || (polls[1].revents && cli_is_quit_key());
	if (nr > 0 && polls[2].revents)
		top_take_commands(top);
	return 0;
}

static int show_screen(struct top *top)
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
	bool has_keys = cli_start_quit_key();
	int status = 0;

	while (!status && !top->ended && !top->stopped) {
		status = wait_for_round(top, has_keys, (double)top->delay - top_seconds(top));
		if (status)
			break;
		top->ended = perch_sampler_ended(top->sampler);
		if (top->ended || top->stopped || top_seconds(top) >= (double)top->delay)
			status = show_screen(top);
		else
			status = top_read(top);
	}
	cli_end_quit_key();
	return status;
}

int top_loop(struct top *top)
{
	int status;

	top->signals = cli_open_ending_signals();
	if (top->signals < 0) {
		cli_note(TOP_COMMAND, "cannot wait for signals: %s", strerror(errno));
		return CLI_EXIT_FAILURE;
	}
	clock_gettime(CLOCK_MONOTONIC, &top->last);
	status = top_can_be_browsed(top) ? top_browse(top) : print_tables(top);
	close(top->signals);
	return status;
}
