/* SPDX-License-Identifier: MIT */
/* Signals that end a command. */
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "messages.h"
#include "signals.h"

static bool held;
static sigset_t before; /* .held */

static void set_ending_signals(sigset_t *set)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;

	sigemptyset(set);
	for (size_t i = 0; i < CLI_NR(signals); i++)
		/* after nohup(1) SIGHUP is ignored */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}

void cli_hold_signals(void)
{
	sigset_t set;

	set_ending_signals(&set);
	held = held || !sigprocmask(SIG_BLOCK, &set, &before);
}

bool cli_signals_are_held(void)
{
	return held;
}

void cli_release_signals(void)
{
	if (held)
		sigprocmask(SIG_SETMASK, &before, NULL);
	held = false;
}

int cli_open_ending_signals(void)
{
	sigset_t set;

	set_ending_signals(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
