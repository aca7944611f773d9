/* SPDX-License-Identifier: MIT */
/* Opens the recording of file_fixture.h as a session. */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include <perch/session.h>

#include "file_fixture.h"

static struct perch_session *open_session(const struct perch_session_options *options)
{
	struct perch_session *session;
	struct perch_error err = { 0 };

	if (perch_session_open(&session, path, options, &err))
		fail_msg("%s", err.message);
	return session;
}

#endif
