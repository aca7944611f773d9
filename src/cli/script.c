/* SPDX-License-Identifier: MIT */
/* perch script: prints every sample as text, in the format that flame graph tools read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "pager.h"

#define COMMAND "script"

const struct cli_usage cli_script_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints each sample of a perf.data file.",
};

#define MAX_LINE 8192
#define CHUNK	 (256 << 10)

struct script {
	struct cli_input input;
	struct perch_session *session;
	struct perch_symbols *symbols;
	/* by address: the line of a frame, which is made once */
	struct line {
		char *text;
		uint32_t length;
	} * line;
	size_t nr_lines;
	/* memory of the lines */
	struct chunk {
		struct chunk *before;
		char text[CHUNK];
	} * chunk;
	size_t chunk_used;
	struct cli_output out;
	/* by event: the end of the first line of its samples */
	struct event_text {
		uint64_t type;
		int length;
		char text[256];
	} * event;
	size_t nr_events;
	uint32_t comm_index; /* of the name in comm */
	int comm_length;
	char comm[80];
};

/* Writes "sym+0xoff (dso)" of an address. */
static int describe(struct script *script, const struct perch_address *address, char *text,
		    size_t size)
{
	char path[4096];

	if (address->dso->kind == PERCH_DSO_FILE || address->dso->kind == PERCH_DSO_ANON)
		perch_clean_text(address->dso->path, path, sizeof(path));
	else if (address->dso->kernel_image && address->dso->length)
		perch_clean_text(address->dso->kernel_image, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s",
			 perch_symbols_dso_name(script->symbols, address->dso));
	if (!address->symbol)
		return snprintf(text, size, "[unknown] (%s)\n", path);
	return snprintf(text, size, "%.2000s+0x%" PRIx64 " (%s)\n",
			perch_symbols_name(script->symbols, address->symbol),
			address->offset - address->symbol->start, path);
}

/*
 * Copies a text into a chunk. So lines that are printed together are mostly close to each other in
 * memory.
 */
static char *store_text(struct script *script, const char *text, size_t length)
{
	if (!script->chunk || script->chunk_used + length > CHUNK) {
		struct chunk *chunk = malloc(sizeof(*chunk));

		if (!chunk)
			return NULL;
		chunk->before = script->chunk;
		script->chunk = chunk;
		script->chunk_used = 0;
	}
	script->chunk_used += length;
	return memcpy(script->chunk->text + script->chunk_used - length, text, length);
}

/* Returns the line of a frame. It is made when the address is printed for the first time. */
static const struct line *line_of(struct script *script, uint32_t number)
{
	char text[MAX_LINE];
	const struct perch_address *address;
	struct line *line;
	int length;

	if (PERCH__ARRAY_RESERVE_ZEROED(script->line, script->nr_lines, (size_t)number + 1))
		return NULL;
	line = &script->line[number];
	if (line->text)
		return line;
	address = perch_session_address(script->session, number);
	length = snprintf(text, sizeof(text), "\t%16" PRIx64 " ", address->offset);
	length += describe(script, address, text + length, sizeof(text) - length);
	if ((size_t)length >= sizeof(text))
		length = sizeof(text) - 1;
	line->text = store_text(script, text, length);
	line->length = length;
	return line->text ? line : NULL;
}

/*
 * Writes at least `digits` decimal digits in a field of at least `width` columns; printf takes
 * longer.
 */
static char *put_number(char *at, uint64_t number, int digits, int width)
{
	char reversed[24];
	int used = 0;

	do {
		reversed[used++] = '0' + number % 10;
		number /= 10;
	} while (number || used < digits);
	for (; width > used; width--)
		*at++ = ' ';
	while (used)
		*at++ = reversed[--used];
	return at;
}

static char *put_text(char *at, const char *text, size_t length)
{
	memcpy(at, text, length);
	return at + length;
}

/* Writes the name of a thread. The cleaned text is cached for the next sample of the same name. */
static char *put_comm(struct script *script, char *at, const struct perch_thread *thread,
		      bool chains)
{
	uint32_t index = perch_thread_comm_index(thread);

	if (index != script->comm_index) {
		char clean[64];

		perch_clean_text(perch_thread_comm(thread), clean, sizeof(clean));
		script->comm_length = snprintf(script->comm, sizeof(script->comm),
					       chains ? "%s " : "%16s ", clean);
		script->comm_index = index;
	}
	return put_text(at, script->comm, script->comm_length);
}

/* Writes "gcc 19780 [001]  4525.042075:     200000 cpu-clock:". */
static void put_first_line(struct script *script, const struct perch_thread *thread,
			   const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	const struct event_text *event = &script->event[record->event];
	char text[512], *at = text;

	at = put_comm(script, at, thread, event->type & PERCH_SAMPLE_CALLCHAIN);
	if ((int32_t)sample->tid < 0)
		at += sprintf(at, "%5" PRId32, (int32_t)sample->tid);
	else
		at = put_number(at, sample->tid, 1, 5);
	*at++ = ' ';
	if (event->type & PERCH_SAMPLE_CPU) {
		*at++ = '[';
		at = put_number(at, sample->cpu, 3, 0);
		at = put_text(at, "] ", 2);
	}
	if (event->type & PERCH_SAMPLE_TIME) {
		at = put_number(at, sample->time / 1000000000, 1, 5);
		*at++ = '.';
		at = put_number(at, sample->time / 1000 % 1000000, 6, 0);
		at = put_text(at, ": ", 2);
	}
	if (event->type & PERCH_SAMPLE_PERIOD) {
		at = put_number(at, sample->period, 1, 10);
		*at++ = ' ';
	}
	at = put_text(at, event->text, event->length);
	cli_output_bytes(&script->out, text, at - text);
}

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "out of memory");
}

static int put_sample(struct script *script, const struct perch_record *record,
		      struct perch_error *err)
{
	struct perch_session_sample sample;
	int rc = perch_session_resolve(script->session, record, &sample, err);

	if (rc)
		return rc;
	put_first_line(script, sample.thread, record);
	/* readers of this text take the first form as a sample without a call chain */
	if (!(script->event[record->event].type & PERCH_SAMPLE_CALLCHAIN)) {
		char text[MAX_LINE];
		const struct perch_address *address =
			perch_session_address(script->session, sample.chain[0]);
		int length = snprintf(text, sizeof(text), "  %16" PRIx64 " ", record->sample.ip);

		length += describe(script, address, text + length, sizeof(text) - length);
		cli_output_bytes(&script->out, text,
				 (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
		return 0;
	}
	cli_output_bytes(&script->out, "\n", 1);
	for (size_t i = 0; i < sample.nr; i++) {
		const struct line *line = line_of(script, sample.chain[i]);

		if (!line)
			return no_memory(err);
		cli_output_bytes(&script->out, line->text, line->length);
	}
	cli_output_bytes(&script->out, "\n", 1);
	return 0;
}

/* Names of events are right-aligned. */
static int name_events(struct script *script, struct perch_error *err)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(script->session), &events);
	char clean[200];
	int width = 0;

	script->event = calloc(nr + 1, sizeof(*script->event));
	if (!script->event)
		return no_memory(err);
	script->nr_events = nr;
	for (size_t i = 0; i < nr; i++) {
		int used = perch_clean_text(events[i].name, clean, sizeof(clean));

		width = used > width ? used : width;
	}
	for (size_t i = 0; i < nr; i++) {
		struct event_text *event = &script->event[i];

		perch_clean_text(events[i].name, clean, sizeof(clean));
		event->type = events[i].attr.sample_type;
		if (!events[i].attr.freq)
			/* the decoder sets it to the period of the attr */
			event->type |= PERCH_SAMPLE_PERIOD;
		event->length = snprintf(event->text, sizeof(event->text), "%*s:", width, clean);
	}
	return 0;
}

static int put_samples(struct script *script, struct perch_error *err)
{
	struct perch_record record;
	int rc;

	while ((rc = perch_session_next(script->session, &record, err)) > 0 && !script->out.error)
		if (record.type == PERCH_RECORD_SAMPLE &&
		    (rc = put_sample(script, &record, err)) != 0)
			break;
	return rc < 0 ? rc : 0;
}

static int run(struct script *script)
{
	struct perch_error err;
	int rc = cli_output_open(&script->out, stdout) ? no_memory(&err)
						       : name_events(script, &err);

	if (!rc)
		rc = put_samples(script, &err);
	if (rc)
		cli_error(COMMAND, &err);
	cli_output_flush(&script->out);
	return cli_check_stdout(COMMAND, script->out.error) || rc ? CLI_EXIT_FAILURE : 0;
}

static void clear(struct script *script)
{
	while (script->chunk) {
		struct chunk *before = script->chunk->before;

		free(script->chunk);
		script->chunk = before;
	}
	free(script->line);
	free(script->event);
	cli_output_close(&script->out);
	cli_input_close(&script->input);
}

int perch_cmd_script(int argc, char **argv)
{
	struct script script = { .input.command = COMMAND, .comm_index = UINT32_MAX };
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&script.input),
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &script.input.options.symbols.kallsyms, NULL, false, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND, cli_input_refuse_dump,
		  false, true },
		CLI_NO_PAGER,
	};
	int next = cli_parse(&cli_script_usage, options, CLI_NR(options), argc, argv);
	int status;

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	status = cli_input_open(&script.input);
	if (status)
		return status;
	script.session = script.input.session;
	script.symbols = perch_session_symbols(script.session);
	cli_start_pager();
	status = run(&script);
	cli_input_print_notes(&script.input);
	cli_input_print_chain_notes(&script.input);
	clear(&script);
	return status;
}
