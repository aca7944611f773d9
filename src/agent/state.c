/* SPDX-License-Identifier: MIT */
/* What all parts of the agent do with it. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "state.h"

#define SLICE_NS 1000000000ull
#define NEW_NS	 100000000ull /* a slice is new for this time */

static uint64_t now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t agent_now(void)
{
	return now_of(CLOCK_MONOTONIC);
}

uint64_t agent_wall_now(void)
{
	return now_of(CLOCK_REALTIME);
}

void agent_note(const struct agent *agent, const char *format, ...)
{
	char text[1024]; /* of a message and its remedy */
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	agent->options->note(agent->options->context, text);
}

void agent_read(struct agent *agent)
{
	struct perch_error err = { 0 };

	if (agent_source_read(agent->source, &err) >= 0)
		return;
	agent_note(agent, "%s", err.message);
	agent->stopped = true;
	agent->failed_read = true;
}

uint64_t agent_cut(struct agent *agent)
{
	agent_read(agent);
	agent->next_slice = agent_now() + SLICE_NS;
	agent->slice = agent_window_cut(agent->window, agent_now());
	return agent->slice;
}

uint64_t agent_boundary(struct agent *agent, uint64_t from)
{
	bool is_new = agent_now() + SLICE_NS < agent->next_slice + NEW_NS;

	return is_new && agent->slice > from ? agent->slice : agent_cut(agent);
}
