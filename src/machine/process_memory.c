/* SPDX-License-Identifier: MIT */
/* Memory and paths of a process, for system calls with pointers. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

/* Returns the number of bytes up to the end of the page. The next page may be unmapped. */
static size_t within_page(uint64_t address, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), left = page - address % page;

	return left < size ? left : size;
}

int perch_machine_process_string(struct perch_machine *machine, uint64_t address, char *buffer,
				 size_t size, struct perch_error *err)
{
	pid_t pid = machine->process ? machine->process : getpid();
	size_t used = 0;

	if (machine->root[0])
		return perch_error_set(err, ENOSYS, PERCH_ERROR_USAGE,
				       "a machine with a root directory has no process memory");
	while (used < size) {
		struct iovec local = { buffer + used, within_page(address + used, size - used) };
		struct iovec remote = { (void *)(uintptr_t)(address + used), local.iov_len };
		ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

		if (got <= 0)
			return perch_error_set(err, got ? errno : EFAULT, PERCH_ERROR_SYSTEM,
					       "cannot read the memory of process %d at 0x%llx",
					       (int)pid, (unsigned long long)address);
		if (memchr(buffer + used, '\0', got))
			return 0;
		used += got;
	}
	return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
			       "the string at 0x%llx is longer than %zu bytes",
			       (unsigned long long)address, size);
}

int perch_machine_process_path(struct perch_machine *machine, const char *path, char *buffer,
			       size_t size)
{
	int length;

	if (machine->process)
		length = snprintf(buffer, size, "/proc/%d/%s%s", (int)machine->process,
				  path[0] == '/' ? "root" : "cwd/", path);
	else
		length = snprintf(buffer, size, "%s", path);
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : length;
}
