/* SPDX-License-Identifier: MIT */
/* Compares processes that run, and the files that they use, with those of a recording. */
#ifndef PERCH_BASE_RECORDED_PROCESS_H
#define PERCH_BASE_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True if a file has the device and inode of a recorded mapping. Files of btrfs and overlayfs have
 * other numbers in stat(2) than in records of mappings: a mapping of this process has the same kind
 * of numbers as the record.
 */
bool perch__is_file(int fd, unsigned major, unsigned minor, uint64_t inode);
/* Returns when a process started, in ns since 1970, to 10 ms; 0 if it does not run. */
uint64_t perch__process_start(unsigned pid);
/* Reads /proc/PID/stat. Returns the values after the name, which may have any characters, or NULL
 * if there is no such process. */
const char *perch__process_stat(unsigned pid, char *line, size_t size);
/* True if the task is there and is not about to end. */
bool perch__task_runs(unsigned tid);
/* Times of files and of processes are coarse. */
#define PERCH__TIME_MARGIN 2000000000ull
/* True for a process that got the id of a recorded one later. recorded_at: the end of the recording
 * in ns since 1970; 0 is unknown, or every process counts as recorded. */
static inline bool perch__started_later(uint64_t started, uint64_t recorded_at)
{
	return recorded_at && started > recorded_at + PERCH__TIME_MARGIN;
}
/* True if the recorded process with this id runs. */
bool perch__recorded_process_runs(unsigned pid, uint64_t recorded_at);
/*
 * True if an inode of a namespace is not that of the calling process. name: as in /proc/PID/ns;
 * inode: 0 if unknown.
 */
bool perch__other_namespace(const char *name, uint64_t inode);
/* True if no file system of this device is mounted where this process sees it. */
bool perch__device_is_gone(unsigned major, unsigned minor);
/* Returns the id of a process in its own pid namespace, or 0 if the process has ended. */
unsigned perch__namespace_pid(unsigned pid);

#endif
