/* SPDX-License-Identifier: MIT */
/* Signals that end a live view. */
#include <signal.h>
#include <sys/signalfd.h>

#include "messages.h"
#include "signals.h"

int cli_open_ending_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CLI_NR(signals); i++)
		/* after nohup(1) SIGHUP is ignored */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
