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

#include "explain_watch.h"

static bool room_for_one(struct watch *watch)
{
	struct watch_status *grown;
	size_t room;

	if (watch->kept_end < watch->kept_room)
		return true;
	room = watch->kept_room ? 2 * watch->kept_room : 16;
	grown = realloc(watch->kept, room * sizeof(*grown));
	if (!grown)
		return false;
	watch->kept = grown;
	watch->kept_room = room;
	return true;
}

pid_t watch_wait(struct watch *watch, int *status)
{
	struct watch_status *kept;

	if (watch->kept_first == watch->kept_end)
		return waitpid(-1, status, __WALL);
	kept = &watch->kept[watch->kept_first++];
	if (watch->kept_first == watch->kept_end)
		watch->kept_first = watch->kept_end = 0;
	*status = kept->status;
	return kept->tid;
}

pid_t watch_wait_for(struct watch *watch, pid_t tid, int *status)
{
	pid_t got;

	for (;;) {
		/* without memory to keep others in, they have to wait */
		const bool room = room_for_one(watch);

		got = waitpid(room ? -1 : tid, status, __WALL);
		if (got == tid || (got < 0 && errno != EINTR))
			return got;
		if (got > 0)
			watch->kept[watch->kept_end++] = (struct watch_status){ got, *status };
	}
}
