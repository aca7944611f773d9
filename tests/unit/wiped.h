/* SPDX-License-Identifier: MIT */
/* Whether memory is cleared in a child that asks for it, by which objects know that they are in
 * one. */
#ifndef PERCH_TESTS_WIPED_H
#define PERCH_TESTS_WIPED_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* qemu-user accepts MADV_WIPEONFORK and does nothing. */
static inline bool is_wiped_on_fork(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t child;

	if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK))
		return false;
	page[0] = 1;
	child = fork();
	if (!child)
		_exit(page[0]);
	waitpid(child, &status, 0);
	munmap(page, size);
	return !status;
}

#endif
