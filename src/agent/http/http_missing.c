/* SPDX-License-Identifier: MIT */
/* The server of a build without libmicrohttpd. */
#include <errno.h>

#include "agent/state.h"

int agent_http_open(struct agent *agent, struct perch_error *err)
{
	(void)agent;
	perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"perch was built without libmicrohttpd, which --listen needs");
	perch_error_remedy(err, "Install libmicrohttpd-dev and build perch again");
	return -ENOTSUP;
}

void agent_http_close(struct agent *agent)
{
	(void)agent;
}

int agent_http_fd(const struct agent *agent, int *ms)
{
	(void)agent, (void)ms;
	return -1;
}

void agent_http_run(struct agent *agent)
{
	(void)agent;
}
