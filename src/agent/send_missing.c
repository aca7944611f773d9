/* SPDX-License-Identifier: MIT */
/* Without the headers of libcurl nothing is sent. */
#include <errno.h>
#include <stddef.h>

#include "groups.h"
#include "send.h"
#include "state.h"

int agent_send_open(struct agent *agent, struct perch_error *err)
{
	if (!agent->options->send.nr)
		return 0;
	perch_error_set(err, ENOSYS, PERCH_ERROR_NOT_SUPPORTED,
			"this perch was built without libcurl, which sends windows");
	perch_error_remedy(err, "Install libcurl4-openssl-dev and build it again");
	return -ENOSYS;
}

bool agent_send_is_due(const struct agent *agent)
{
	(void)agent;
	return false;
}

void agent_send_run(struct agent *agent)
{
	(void)agent;
}

void agent_send_close(struct agent *agent)
{
	(void)agent;
}

int agent_send_renew(struct agent *agent)
{
	struct perch_error err = { 0 };
	int rc = agent_send_open(agent, &err);

	if (rc)
		agent_note(agent, "windows cannot be sent: %s", err.message);
	return rc;
}

int agent_groups_put(const struct agent_groups *groups, const struct agent_pprof *pprof,
		     const uint8_t *profile_id, FILE *out, struct perch_error *err)
{
	(void)groups, (void)pprof, (void)profile_id, (void)out, (void)err;
	return -ENOSYS;
}

uint64_t agent_send_memory(const struct agent *agent)
{
	(void)agent;
	return 0;
}

void agent_send_put(const struct agent *agent, struct agent_metrics *metrics)
{
	(void)agent, (void)metrics;
}
