/* SPDX-License-Identifier: MIT */
/*
 * The input is a log of strace. The output must be UTF-8, and one line of JSON for each refusal.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "cli/explain/explain.h"
#include "cli/messages.h"
#include "trace/strace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* These replace messages.c, which prints to stderr. */
void cli_note(const char *command, const char *format, ...)
{
	(void)command, (void)format;
}

void cli_put_clean(FILE *stream, const char *text)
{
	char clean[4096];

	perch_clean_text(text, clean, sizeof(clean));
	fputs(clean, stream);
}

static void check(const struct trace_job *job, const char *text, size_t size)
{
	uint64_t nr = 0;

	for (const char *at = text, *end; (end = memchr(at, '\n', size - (at - text)));
	     at = end + 1) {
		json_t *object = json_loadb(at, end - at, 0, NULL);

		if (!object)
			abort();
		json_decref(object);
		nr++;
	}
	if (nr > job->calls + job->operations_refused || nr < job->refused ||
	    job->refused > job->calls)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct explain_job job = { .trace.from_log = true };
	struct strace_log log = { .job = &job.trace };
	const char *at = (const char *)data + 1, *end = (const char *)data + size;
	const bool is_json = size && data[0] & 1;
	char *text = NULL;
	size_t written = 0;

	if (!size)
		return 0;
	job.trace.output = is_json ? &explain_json : &explain_text;
	job.colours = data[0] & 2;
	job.trace.verbose = data[0] >> 2 & 1;
	job.out = open_memstream(&text, &written);
	if (!job.out)
		abort();
	while (at < end) {
		const char *newline = memchr(at, '\n', end - at);
		size_t length = (newline ? newline : end) - at;
		/* a copy: the address sanitizer detects reads beyond the line */
		char *line = malloc(length ? length : 1);

		if (!line)
			abort();
		memcpy(line, at, length);
		strace_parse_line(&log, line, length);
		free(line);
		at += length + 1;
	}
	strace_log_clear(&log);
	if (!is_json)
		explain_dedup_print_all(&job);
	fflush(job.out);
	if (is_json)
		check(&job.trace, text, written);
	trace_job_clear(&job.trace);
	explain_dedup_free(&job);
	fclose(job.out);
	free(text);
	return 0;
}
