/* SPDX-License-Identifier: MIT */
/*
 * Whether hardware breakpoints fire. Some hypervisors let a guest set its debug registers and pass
 * no debug exception on: each breakpoint can be opened there, and counts 0. Only a breakpoint that
 * should have fired shows it, so one watches a word of this function, which is written once.
 *
 * One kind of breakpoint answers for all. Execution breakpoints, breakpoints at kernel addresses
 * and those of other threads are the same debug registers and the same exception (on arm64 two sets
 * of registers, whose exceptions are routed by one bit).
 *
 * The answer is kept for as long as the machine lives, and not in a file per boot. open(2), read(2)
 * and close(2) of the event and the exception take 17 us (7 us where no exception comes), about as
 * long as reading boot_id and a cache file (7 us). A virtual machine that moves to another host
 * while it runs may also get another answer in the same boot.
 */
#include <errno.h>
#include <string.h>

#include "breakpoints.h"
#include "internal.h"

static int set_unknown(int errnum, struct perch_error *err)
{
	enum perch_error_kind kind = errnum == ENOSPC ? PERCH_ERROR_BREAKPOINTS
						      : PERCH_ERROR_SYSTEM;

	return perch_error_set(err, errnum, kind, "whether breakpoints fire here is unknown: %s",
			       errnum == ENOSPC	  ? "all debug registers of this thread are in use"
			       : errnum == EAGAIN ? "the breakpoint that asks was never active"
						  : strerror(errnum));
}

/* Returns whether a write was counted, or a negative errno. */
static int write_once(const struct perch_syscalls *calls)
{
	volatile unsigned long word = 0;
	const struct perch_attr attr = {
		.type = PERCH_TYPE_BREAKPOINT,
		.size = PERCH_ATTR_SIZE_VER1,
		.bp_type = PERCH_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&word,
		.bp_len = sizeof(word),
		.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct {
		uint64_t count, enabled, running;
	} now = { 0 };
	ssize_t got;
	int fd, error;

	fd = calls->perf_event_open(calls->context, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	word = 1;
	got = calls->read(calls->context, fd, &now, sizeof(now));
	error = got < 0 ? errno : EIO;
	calls->close(calls->context, fd);
	if (got != sizeof(now))
		return -error;
	if (now.count)
		return 1;
	return now.running ? 0 : -EAGAIN;
}

int perch_machine_breakpoints_fire(struct perch_machine *machine, struct perch_error *err)
{
	int fire;

	if (machine && machine->breakpoints_fire.valid)
		return (int)machine->breakpoints_fire.value;
	fire = write_once(perch_machine_syscalls(machine));
	if (fire < 0)
		return set_unknown(-fire, err);
	if (machine) {
		machine->breakpoints_fire.value = fire;
		machine->breakpoints_fire.valid = true;
	}
	return fire;
}

bool perch__breakpoints_found_silent(const struct perch_machine *machine)
{
	return machine && machine->breakpoints_fire.valid && !machine->breakpoints_fire.value;
}

bool perch__breakpoints_never_fire(struct perch_machine *machine)
{
	if (!machine || (!machine->probing && !machine->breakpoints_fire.valid))
		return false;
	return perch_machine_breakpoints_fire(machine, NULL) == 0;
}
