/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nr.h"
#include "http.h"

#define DEFAULT_SECONDS 30  /* as Go's net/http/pprof */
#define PAGE_SECONDS	120 /* of the page */

bool agent_http_text(struct agent_answer *answer, unsigned status, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	answer->text = strdup(text);
	answer->size = answer->text ? strlen(text) : 0;
	return answer->text;
}

/* ---- who may ask ---- */

/* Takes as long for any wrong text. */
static bool is_token(const char *text, const char *token)
{
	size_t length = strlen(token), given;
	unsigned char difference = 0;

	if (!text || strncmp(text, "Bearer ", 7) != 0)
		return false;
	text += 7;
	given = strlen(text);
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(token[i] ^ (i < given ? text[i] : '\0'));
	return !difference && given == length;
}

unsigned agent_http_refusal(const char *token, const char *method, agent_query *query,
			    void *context, const char **reason)
{
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		*reason = "only GET and HEAD";
		return 405;
	}
	if (token && !is_token(query(context, "Authorization", true), token)) {
		*reason = "the token is missing or wrong: Authorization: Bearer TOKEN";
		return 401;
	}
	if (!token && !agent_http_host_is_local(query(context, "Host", true))) {
		*reason =
			"the request names the server otherwise than by IP address or localhost: use these, or --token-file";
		return 403;
	}
	return 0;
}

/* ---- what is at a path ---- */

/* Reads a number of seconds. Returns false if it is none, or too large. */
static bool get_seconds(const struct agent *agent, const char *text, uint64_t *seconds)
{
	char *end;

	if (!text)
		return true;
	errno = 0;
	*seconds = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	return *seconds && !*end && !errno && *seconds <= agent->options->seconds;
}

/* ?seconds=N waits for N seconds, ?past=N has the last N seconds at once; &cgroup=PATH has samples
 * of a cgroup and those below it. */
static bool ask_profile(struct agent *agent, enum agent_kind kind, bool past, agent_query *query,
			void *context, struct agent_answer *answer)
{
	const char *text = query(context, "past", false);
	uint64_t seconds = past ? PAGE_SECONDS : DEFAULT_SECONDS;

	answer->cgroup = query(context, "cgroup", false);
	if (answer->cgroup && answer->cgroup[0] != '/')
		return agent_http_text(answer, 400, "cgroup: expected a path that begins with /\n");
	if (text && query(context, "seconds", false))
		return agent_http_text(answer, 400, "past or seconds, not both\n");
	past |= text != NULL;
	if (!past)
		text = query(context, "seconds", false);
	if (seconds > agent->options->seconds)
		seconds = agent->options->seconds;
	if (!get_seconds(agent, text, &seconds))
		return agent_http_text(answer, 400, "%s: expected 1 to %llu seconds\n",
				       past ? "past" : "seconds",
				       (unsigned long long)agent->options->seconds);
	answer->status = 200;
	answer->kind = kind;
	answer->due = agent_now();
	if (past) {
		uint64_t before = seconds * 1000000000;

		answer->from = agent_window_since(agent->window,
						  answer->due > before ? answer->due - before : 0);
	} else {
		answer->from_now = true;
		answer->due += seconds * 1000000000;
	}
	return true;
}

static bool answer_profile(struct agent *agent, agent_query *query, void *context,
			   struct agent_answer *answer)
{
	answer->type = "application/octet-stream";
	answer->file = "profile.pb.gz";
	return ask_profile(agent, AGENT_CPU, false, query, context, answer);
}

static bool answer_off_cpu(struct agent *agent, agent_query *query, void *context,
			   struct agent_answer *answer)
{
	if (!agent->options->source.off_cpu)
		return agent_http_text(answer, 404,
				       "off-CPU time is not recorded: perch agent --off-cpu\n");
	answer->type = "application/octet-stream";
	answer->file = "offcpu.pb.gz";
	return ask_profile(agent, AGENT_OFF_CPU, false, query, context, answer);
}

static bool answer_page(struct agent *agent, agent_query *query, void *context,
			struct agent_answer *answer)
{
	answer->type = "text/html; charset=utf-8";
	answer->refresh = query(context, "refresh", false);
	return ask_profile(agent, AGENT_PAGE, true, query, context, answer);
}

static bool answer_metrics(struct agent *agent, agent_query *query, void *context,
			   struct agent_answer *answer)
{
	const char *accept = query(context, "Accept", true);
	bool open = accept && strstr(accept, "application/openmetrics-text");

	answer->status = 200;
	answer->type = open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			    : "text/plain; version=0.0.4; charset=utf-8";
	answer->text = agent_metrics(agent, open, &answer->size);
	return answer->text;
}

static bool answer_health(struct agent *agent, agent_query *query, void *context,
			  struct agent_answer *answer)
{
	(void)agent, (void)query, (void)context;
	return agent_http_text(answer, 200, "ok\n");
}

static const struct {
	const char *path;
	bool (*answer)(struct agent *agent, agent_query *query, void *context,
		       struct agent_answer *answer);
} paths[] = {
	{ "/", answer_page },
	{ "/healthz", answer_health },
	{ "/metrics", answer_metrics },
	{ "/debug/pprof/profile", answer_profile },
	{ "/debug/pprof/offcpu", answer_off_cpu },
};

bool agent_http_answer(struct agent *agent, const char *path, agent_query *query, void *context,
		       struct agent_answer *answer)
{
	for (size_t i = 0; i < PERCH__NR(paths); i++)
		if (!strcmp(path, paths[i].path))
			return paths[i].answer(agent, query, context, answer);
	return agent_http_text(answer, 404,
			       "there are /, /healthz, /metrics, /debug/pprof/profile and "
			       "/debug/pprof/offcpu\n");
}
