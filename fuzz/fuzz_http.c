/* SPDX-License-Identifier: MIT */
/*
 * Requests of clients of perch agent, after libmicrohttpd has divided them: method, path, and
 * parameters and headers by name. The input is a byte of flags and texts, each with a NUL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/http.h"
#include "text_input.h"

#define TOKEN	    "0123456789abcdef"
#define NOW	    1000000000000ull
#define MOST	    300 /* seconds */
#define MOST_VALUES 16

struct input {
	struct {
		const char *name, *value;
	} value[MOST_VALUES];
	size_t nr;
};

static void check(bool good)
{
	if (!good)
		abort();
}

/* The agent has these for the functions that are tried here. */
uint64_t agent_now(void)
{
	return NOW;
}

char *agent_metrics(const struct agent *agent, bool open_metrics, size_t *size)
{
	char *text = strdup(open_metrics ? "# EOF\n" : "");

	(void)agent;
	*size = text ? strlen(text) : 0;
	return text;
}

static const char *query(void *context, const char *name, bool header)
{
	const struct input *input = context;

	(void)header;
	for (size_t i = 0; i < input->nr; i++)
		if (!strcmp(input->value[i].name, name))
			return input->value[i].value;
	return NULL;
}

static void check_answer(const struct agent *agent, const struct agent_answer *answer)
{
	check(answer->status == 200 || answer->status == 400 || answer->status == 404);
	if (answer->text) {
		check(strlen(answer->text) == answer->size && answer->type);
		return;
	}
	check(answer->status == 200 && answer->kind < AGENT_NR_KINDS && answer->type);
	check(answer->kind != AGENT_OFF_CPU || agent->options->source.off_cpu);
	check(answer->due >= NOW && answer->due <= NOW + MOST * 1000000000ull);
	check(answer->from_now || answer->due == NOW);
}

/* Returns the next text of the input, which has a NUL at its end. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at;

	if (text >= end)
		return "";
	*at = text + strlen(text) + 1;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_options options = { .seconds = MOST };
	struct agent agent = { .options = &options };
	struct agent_answer answer = { .status = 200 };
	struct input input = { .nr = 0 };
	const char *reason = NULL, *method, *path, *at, *end;
	char *copy;
	unsigned refusal;

	if (!size)
		return 0;
	copy = text_of_input(data, size);
	options.token = data[0] & 1 ? TOKEN : NULL;
	options.source.off_cpu = data[0] & 2;
	agent.window = agent_window_new(1 << 20, MOST);
	check(agent.window != NULL);
	at = copy;
	end = copy + size;
	method = next_text(&at, end);
	path = next_text(&at, end);
	while (at < end && input.nr < MOST_VALUES) {
		input.value[input.nr].name = next_text(&at, end);
		input.value[input.nr++].value = next_text(&at, end);
	}
	refusal = agent_http_refusal(options.token, method, query, &input, &reason);
	if (refusal) {
		check((refusal == 401 || refusal == 403 || refusal == 405) && reason);
	} else {
		const char *token = query(&input, "Authorization", true);

		check(!options.token || (token && !strcmp(token, "Bearer " TOKEN)));
		check(agent_http_answer(&agent, path, query, &input, &answer));
		check_answer(&agent, &answer);
	}
	free(answer.text);
	agent_window_free(agent.window);
	free(copy);
	return 0;
}
