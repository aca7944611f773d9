/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "options.h"
#include "quit_key.h"

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

static struct {
	bool used;
	struct termios saved;
	struct sigaction action[CLI_NR(signals)]; /* the ones before */
} keys;

/* A signal that ends the process must not leave the terminal without echo. */
static void restore_terminal(int number)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &keys.saved);
	raise(number); /* its action is the default one again */
}

bool cli_start_quit_key(void)
{
	const struct sigaction action = { .sa_handler = restore_terminal,
					  .sa_flags = (int)SA_RESETHAND };
	struct termios changed;

	if (keys.used || !isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &keys.saved))
		return keys.used;
	changed = keys.saved;
	changed.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	for (size_t i = 0; i < CLI_NR(signals); i++)
		if (!sigaction(signals[i], NULL, &keys.action[i]) &&
		    keys.action[i].sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	keys.used = true;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &changed))
		cli_end_quit_key();
	return keys.used;
}

void cli_end_quit_key(void)
{
	if (!keys.used)
		return;
	keys.used = false;
	tcsetattr(STDIN_FILENO, TCSANOW, &keys.saved);
	for (size_t i = 0; i < CLI_NR(signals); i++)
		sigaction(signals[i], &keys.action[i], NULL);
}

bool cli_is_quit_key(void)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };
	bool quits = false;
	char key;

	while (keys.used && !quits && poll(&input, 1, 0) > 0)
		quits = read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
	return quits;
}
