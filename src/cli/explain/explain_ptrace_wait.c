/* SPDX-License-Identifier: MIT */
/*
 * Statuses of watched threads. While one thread makes a call for us, those of others are taken too
 * and kept: a thread that executes ends all others of its process first, and the kernel lets it go
 * on only when we have taken the ends of these.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "explain_ptrace.h"

static bool room_for_one(struct tracer *tracer)
{
	struct tracee_status *grown;
	size_t room;

	if (tracer->kept_end < tracer->kept_room)
		return true;
	room = tracer->kept_room ? 2 * tracer->kept_room : 16;
	grown = realloc(tracer->kept, room * sizeof(*grown));
	if (!grown)
		return false;
	tracer->kept = grown;
	tracer->kept_room = room;
	return true;
}

pid_t tracer_wait(struct tracer *tracer, int *status)
{
	struct tracee_status *kept;

	if (tracer->kept_first == tracer->kept_end)
		return waitpid(-1, status, __WALL);
	kept = &tracer->kept[tracer->kept_first++];
	if (tracer->kept_first == tracer->kept_end)
		tracer->kept_first = tracer->kept_end = 0;
	*status = kept->status;
	return kept->tid;
}

pid_t tracer_wait_for(struct tracer *tracer, pid_t tid, int *status)
{
	pid_t got;

	for (;;) {
		/* without memory to keep others in, they have to wait */
		const bool room = room_for_one(tracer);

		got = waitpid(room ? -1 : tid, status, __WALL);
		if (got == tid || (got < 0 && errno != EINTR))
			return got;
		if (got > 0)
			tracer->kept[tracer->kept_end++] = (struct tracee_status){ got, *status };
	}
}
