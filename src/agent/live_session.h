/* SPDX-License-Identifier: MIT */
/* A session whose records come from the rings of a recorder. */
#ifndef PERCH_AGENT_LIVE_SESSION_H
#define PERCH_AGENT_LIVE_SESSION_H

#include <perch/recorder.h>

/* Opens a session for perch_session_put(). options->symbols.recorded_at is set. Returns 0, or a
 * negative errno. */
int agent_live_session(struct perch_session **session, const struct perch_recorder *recorder,
		       const struct perch_session_options *options, struct perch_error *err);

#endif
