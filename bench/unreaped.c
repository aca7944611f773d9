/* SPDX-License-Identifier: MIT */
/*
 * unreaped PROGRAM [ARGUMENT...]: runs a program whose costs do not become those of the caller.
 *
 * A recorder that waits for its program gets the program's CPU time and peak memory as those of a
 * child. This program waits for the end of the program, but leaves it to the nearest subreaper:
 * comparison.py, which then has the costs of the recorder and of the program separately.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	siginfo_t ended;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: unreaped PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	child = vfork();
	if (child == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || waitid(P_PID, child, &ended, WEXITED | WNOWAIT) < 0) {
		perror("unreaped");
		return 1;
	}
	return ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
}
