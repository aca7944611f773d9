/* SPDX-License-Identifier: MIT */
/* perch script: prints every sample as text, in the format that flame graph tools read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "options.h"
#include "pager.h"
#include "output.h"
#include "recording.h"

#define COMMAND "script"

const struct cli_usage cli_script_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints each sample of a perf.data file.",
};

#define MAX_LINE 8192
#define CHUNK	 (256 << 10)

struct script {
	struct cli_recording recording;
	struct perch_addresses *addresses;
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

	if (address->dso->kind == PERCH_DSO_FILE)
		perch_clean_text(path, sizeof(path), address->dso->path);
	else
		snprintf(path, sizeof(path), "%s",
			 perch_symbols_dso_name(script->recording.symbols, address->dso));
	if (!address->symbol)
		return snprintf(text, size, "[unknown] (%s)\n", path);
	return snprintf(text, size, "%.2000s+0x%" PRIx64 " (%s)\n",
			perch_symbols_name(script->recording.symbols, address->symbol),
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
	address = perch_addresses_at(script->addresses, number);
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

		perch_clean_text(clean, sizeof(clean), perch_thread_comm(thread));
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

static int put_sample(struct script *script, const struct perch_record *record)
{
	struct perch_thread *thread = perch_processes_thread(
		script->recording.processes, record->sample.pid, record->sample.tid);
	uint32_t numbers[256];
	int nr;

	if (!thread)
		return -1;
	put_first_line(script, thread, record);
	nr = perch_addresses_call_chain(script->addresses, thread, record, numbers,
					CLI_NR(numbers));
	if (nr < 0)
		return nr;
	if (!record->sample.callchain.nr) {
		char text[MAX_LINE];
		const struct perch_address *address =
			perch_addresses_at(script->addresses, numbers[0]);
		int length = snprintf(text, sizeof(text), "  %16" PRIx64 " ", record->sample.ip);

		length += describe(script, address, text + length, sizeof(text) - length);
		cli_output_bytes(&script->out, text,
				 (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
		return 0;
	}
	cli_output_bytes(&script->out, "\n", 1);
	for (int i = 0; i < nr; i++) {
		const struct line *line = line_of(script, numbers[i]);

		if (!line)
			return -1;
		cli_output_bytes(&script->out, line->text, line->length);
	}
	cli_output_bytes(&script->out, "\n", 1);
	return 0;
}

/* Names of events are right-aligned. */
static int name_events(struct script *script)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(script->recording.reader, &events);
	char clean[200];
	int width = 0;

	script->event = calloc(nr + 1, sizeof(*script->event));
	if (!script->event)
		return -1;
	script->nr_events = nr;
	for (size_t i = 0; i < nr; i++) {
		int used = perch_clean_text(clean, sizeof(clean), events[i].name);

		width = used > width ? used : width;
	}
	for (size_t i = 0; i < nr; i++) {
		struct event_text *event = &script->event[i];

		perch_clean_text(clean, sizeof(clean), events[i].name);
		event->type = events[i].attr.sample_type;
		if (!events[i].attr.freq)
			/* the decoder sets it to the period of the attr */
			event->type |= PERCH_SAMPLE_PERIOD;
		event->length = snprintf(event->text, sizeof(event->text), "%*s:", width, clean);
	}
	return 0;
}

static int run(struct script *script)
{
	struct perch_record record;
	int rc;

	if (cli_output_open(&script->out, stdout) || name_events(script) ||
	    perch_addresses_new(&script->addresses, script->recording.processes,
				script->recording.symbols, NULL)) {
		cli_note(COMMAND, "out of memory");
		return CLI_EXIT_FAILURE;
	}
	while ((rc = cli_recording_next(&script->recording, &record)) > 0 && !script->out.error)
		if (record.type == PERCH_RECORD_SAMPLE && record.event < script->nr_events &&
		    put_sample(script, &record)) {
			cli_note(COMMAND, "out of memory");
			return CLI_EXIT_FAILURE;
		}
	cli_output_flush(&script->out);
	if (cli_check_stdout(COMMAND, script->out.error))
		return CLI_EXIT_FAILURE;
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

static void clear(struct script *script)
{
	perch_addresses_free(script->addresses);
	while (script->chunk) {
		struct chunk *before = script->chunk->before;

		free(script->chunk);
		script->chunk = before;
	}
	free(script->line);
	free(script->event);
	cli_output_close(&script->out);
	cli_recording_close(&script->recording);
}

int perch_cmd_script(int argc, char **argv)
{
	const char *input = NULL, *kallsyms = NULL;
	const struct cli_option options[] = {
		{ 'i', "input", "FILE",
		  "the file, directory or pipe to read, - for standard input (perf.data)",
		  CLI_STRING, &input, NULL, false, false },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING, &kallsyms,
		  NULL, false, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND,
		  cli_recording_refuse_dump, false, true },
		CLI_NO_PAGER,
	};
	int next = cli_parse(&cli_script_usage, options, CLI_NR(options), argc, argv);
	struct script script = { .comm_index = UINT32_MAX };
	int status;

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	status = cli_recording_open(&script.recording, COMMAND, input, PERCH_ORDER_TIME, kallsyms);
	if (status)
		return status;
	cli_start_pager();
	status = run(&script);
	cli_recording_print_damage(&script.recording);
	clear(&script);
	return status;
}
