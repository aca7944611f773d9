/* SPDX-License-Identifier: MIT */
/* perch script: prints every sample as text, in the format that flame graph tools read. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "filter_options.h"
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

#define MAX_NAME 2000
#define MAX_PATH 4096
#define MAX_LINE (MAX_NAME + MAX_PATH + 64) /* with addresses, as text */
#define CHUNK	 (256u << 10)
#define UNIT	 8u /* lines begin at multiples of it, so that 32 bits address 32 GiB of text */

/* The line of a frame, with the lines of the functions inlined in it. */
struct line {
	uint32_t length;
	char cpumode_char; /* of the address */
	char text[];
};

struct script {
	struct cli_input input;
	struct cli_filter filter;
	struct perch_session *session;
	struct perch_symbols *symbols;
	/*
	 * By address: the offset of the lines of a frame, which are made once, in units; 0 is none.
	 * A recording may have a million addresses. The array is small, so that more of it stays in
	 * the CPU's cache.
	 */
	struct lines {
		uint32_t *line;
		size_t nr;
	} lines[2]; /* of a sampled address, and of a return address */
	bool no_inline;
	char *buffer; /* CHUNK bytes, for the lines of a frame */
	/* memory of the lines */
	char **chunk;
	size_t nr_chunks, chunks_capacity, chunk_used;
	/* by DSO: " (path)\n", NULL until it is needed */
	char **dso;
	size_t nr_dsos;
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

static char *put_text(char *at, const char *text, size_t length)
{
	memcpy(at, text, length);
	return at + length;
}

/*
 * Writes at least `digits` decimal digits in a field of at least `width` columns; printf takes
 * longer.
 */
static char *put_number(char *at, uint64_t number, int digits, int width)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char text[24], *end = text + sizeof(text), *start = end;
	int length;

	for (; number >= 10; number /= 100) {
		start -= 2;
		memcpy(start, pairs + 2 * (number % 100), 2);
	}
	if (number || start == end)
		*--start = '0' + number;
	while (end - start < digits)
		*--start = '0';
	length = end - start;
	for (; width > length; width--)
		*at++ = ' ';
	return put_text(at, start, length);
}

/* Writes a hexadecimal number in a field of at least `width` columns. */
static char *put_hex(char *at, uint64_t number, int width)
{
	int digits = number ? (67 - __builtin_clzll(number)) / 4 : 1;

	for (; width > digits; width--)
		*at++ = ' ';
	while (digits--)
		*at++ = "0123456789abcdef"[number >> 4 * digits & 15];
	return at;
}

/* Returns " (path)\n" of a DSO, or NULL if out of memory. */
static const char *dso_text(struct script *script, const struct perch_dso *dso)
{
	char path[MAX_PATH], *text = NULL;

	if (dso->index < script->nr_dsos && script->dso[dso->index])
		return script->dso[dso->index];
	if (PERCH__ARRAY_RESERVE_ZEROED(script->dso, script->nr_dsos, (size_t)dso->index + 1))
		return NULL;
	if (dso->kind == PERCH_DSO_FILE || dso->kind == PERCH_DSO_ANON ||
	    dso->kind == PERCH_DSO_JIT)
		perch_clean_text(dso->path, path, sizeof(path));
	else if (dso->kernel_image && dso->length)
		perch_clean_text(dso->kernel_image, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", perch_symbols_dso_name(script->symbols, dso));
	if (asprintf(&text, " (%s)\n", path) < 0)
		return NULL;
	script->dso[dso->index] = text;
	return text;
}

/* Writes "sym+0xoff (dso)" of an address. Returns the end, or NULL if out of memory. */
static char *put_address(struct script *script, char *at, const struct perch_address *address)
{
	const char *dso = dso_text(script, address->dso);

	if (!dso)
		return NULL;
	if (address->symbol) {
		const char *name = perch_symbols_name(script->symbols, address->symbol);

		at = put_text(at, name, strnlen(name, MAX_NAME));
		at = put_text(at, "+0x", 3);
		at = put_hex(at, address->offset - address->symbol->start, 1);
	} else {
		at = put_text(at, "[unknown]", 9);
	}
	return put_text(at, dso, strlen(dso));
}

/*
 * Copies a line into a chunk, and returns its offset, or 0 if out of memory. Lines that are printed
 * together are mostly close to each other in memory.
 */
static uint32_t store_line(struct script *script, char cpumode_char, const char *text,
			   uint32_t length)
{
	size_t size = (offsetof(struct line, text) + length + UNIT - 1) / UNIT * UNIT;
	struct line *line;
	size_t offset;

	if (!script->nr_chunks || script->chunk_used + size > CHUNK) {
		if ((script->nr_chunks + 1) * (uint64_t)(CHUNK / UNIT) > UINT32_MAX ||
		    PERCH__ARRAY_RESERVE(script->chunk, script->chunks_capacity,
					 script->nr_chunks + 1))
			return 0;
		script->chunk[script->nr_chunks] = malloc(CHUNK);
		if (!script->chunk[script->nr_chunks])
			return 0;
		/* no line is at offset 0 */
		script->chunk_used = script->nr_chunks++ ? 0 : UNIT;
	}
	line = (struct line *)(script->chunk[script->nr_chunks - 1] + script->chunk_used);
	line->length = length;
	line->cpumode_char = cpumode_char;
	memcpy(line->text, text, length);
	offset = (script->nr_chunks - 1) * (CHUNK / UNIT) + script->chunk_used / UNIT;
	script->chunk_used += size;
	return (uint32_t)offset;
}

static char *put_ip(char *at, const struct perch_address *address)
{
	*at++ = '\t';
	return put_text(put_hex(at, address->offset, 16), " ", 1);
}

/*
 * Writes the lines of the functions that are inlined at an address, as perf does. Returns the end,
 * or NULL if out of memory.
 */
static char *put_inlined(struct script *script, char *at, const struct perch_address *address,
			 bool is_return)
{
	const struct perch_symbol_frame *frame;
	int nr;

	if (is_return && !address->offset)
		return at;
	/* what a return address is part of may be another function than the call */
	nr = perch_symbols_frames(script->symbols, address->dso,
				  address->offset - (is_return ? 1 : 0), &frame);
	if (nr < 0)
		return NULL;
	if (frame[nr - 1].symbol != address->symbol)
		return at;
	for (int i = 0; i < nr - 1; i++) {
		const char *name = frame[i].symbol
					   ? perch_symbols_name(script->symbols, frame[i].symbol)
					   : "[unknown]";

		if (at + 2 * MAX_LINE > script->buffer + CHUNK)
			break;
		at = put_ip(at, address);
		at = put_text(at, name, strnlen(name, MAX_NAME));
		if (address->symbol) {
			at = put_text(at, "+0x", 3);
			at = put_hex(at, address->offset - address->symbol->start, 1);
		}
		at = put_text(at, " (inlined)\n", 11);
	}
	return at;
}

/* Sets the lines of an address in one of the arrays. Returns 0 or -ENOMEM. */
static int set_line(struct lines *lines, uint32_t number, uint32_t offset)
{
	if (PERCH__ARRAY_RESERVE_ZEROED(lines->line, lines->nr, (size_t)number + 1))
		return -ENOMEM;
	lines->line[number] = offset;
	return 0;
}

/* Makes the lines of an address. Returns their offset, or 0 if out of memory. */
static uint32_t make_line(struct script *script, uint32_t number, bool is_return)
{
	const struct perch_address *address = perch_session_address(script->session, number);
	bool inlined = !script->no_inline &&
		       perch_symbols_has_debug_info(script->symbols, address->dso);
	uint32_t offset = 0;
	char *end;

	if (!script->buffer)
		script->buffer = malloc(CHUNK);
	end = script->buffer;
	if (end && inlined)
		end = put_inlined(script, end, address, is_return);
	if (end)
		end = put_address(script, put_ip(end, address), address);
	if (end)
		offset = store_line(script, address->cpumode_char, script->buffer,
				    (uint32_t)(end - script->buffer));
	if (!offset || set_line(&script->lines[is_return], number, offset) ||
	    /* without inlined functions, a return address has the same lines */
	    (!inlined && set_line(&script->lines[!is_return], number, offset)))
		return 0;
	return offset;
}

static inline const struct line *line_at(const struct script *script, uint32_t offset)
{
	return (const struct line *)(script->chunk[offset / (CHUNK / UNIT)] +
				     (size_t)(offset % (CHUNK / UNIT)) * UNIT);
}

/* Returns the offset of the lines of an address, or 0 if they are not made. */
static inline uint32_t find_line(const struct script *script, uint32_t number, bool is_return)
{
	const struct lines *lines = &script->lines[is_return];

	return number < lines->nr ? lines->line[number] : 0;
}

/*
 * Returns the lines of a frame, or NULL if out of memory. called: the kind of the frame before, or
 * 0. Code of user space that the kernel interrupted was not called from there. The kind of this
 * frame is read from its lines: the address itself is seldom in the CPU's cache.
 */
static const struct line *line_of(struct script *script, uint32_t number, char called)
{
	uint32_t offset = find_line(script, number, called != 0);
	bool is_return;

	if (offset && (!called || line_at(script, offset)->cpumode_char == called))
		return line_at(script, offset);
	is_return = perch_session_address(script->session, number)->cpumode_char == called;
	offset = find_line(script, number, is_return);
	if (!offset)
		offset = make_line(script, number, is_return);
	return offset ? line_at(script, offset) : NULL;
}

/* Starts to load the lines of a chain that are made, so that the loads overlap. */
static void prefetch_lines(const struct script *script, const struct perch_session_sample *sample)
{
	const struct lines *lines = &script->lines[1];

	for (size_t i = 0; i < sample->nr; i++)
		if (sample->chain[i] < lines->nr)
			__builtin_prefetch(&lines->line[sample->chain[i]]);
	for (size_t i = 0; i < sample->nr; i++) {
		uint32_t offset = find_line(script, sample->chain[i], i != 0);

		if (offset)
			__builtin_prefetch(line_at(script, offset));
	}
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
	char called = 0; /* the kind of the frame before */
	int rc = perch_session_resolve(script->session, record, &sample, err);

	if (rc)
		return rc;
	put_first_line(script, sample.thread, record);
	/* readers of this text take the first form as a sample without a call chain */
	if (!(script->event[record->event].type & PERCH_SAMPLE_CALLCHAIN)) {
		char text[MAX_LINE], *end = put_text(text, "  ", 2);

		end = put_text(put_hex(end, record->sample.ip, 16), " ", 1);
		end = put_address(script, end,
				  perch_session_address(script->session, sample.chain[0]));
		if (!end)
			return no_memory(err);
		cli_output_bytes(&script->out, text, end - text);
		return 0;
	}
	cli_output_bytes(&script->out, "\n", 1);
	prefetch_lines(script, &sample);
	for (size_t i = 0; i < sample.nr; i++) {
		const struct line *line = line_of(script, sample.chain[i], called);

		if (!line)
			return no_memory(err);
		called = line->cpumode_char;
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

	while ((rc = perch_session_next(script->session, &record, err)) > 0 && !script->out.error) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		rc = cli_filter_match(&script->filter, &record);
		if (rc < 0)
			return no_memory(err);
		if (rc && (rc = put_sample(script, &record, err)) != 0)
			break;
	}
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

static int set_inline(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct script *)value)->no_inline = negated;
	return 0;
}

static void clear(struct script *script)
{
	for (size_t i = 0; i < script->nr_chunks; i++)
		free(script->chunk[i]);
	free(script->chunk);
	for (size_t i = 0; i < script->nr_dsos; i++)
		free(script->dso[i]);
	free(script->dso);
	free(script->lines[0].line);
	free(script->lines[1].line);
	free(script->buffer);
	free(script->event);
	cli_output_close(&script->out);
	cli_filter_close(&script->filter);
	cli_input_close(&script->input);
}

int perch_cmd_script(int argc, char **argv)
{
	struct script script = { .input.command = COMMAND, .comm_index = UINT32_MAX };
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&script.input),
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &script.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&script.input),
		CLI_FILTER_OPTIONS(&script.filter, 'c', 0, 'C'),
		CLI_PARENT_OPTION(&script.filter, 0),
		{ 0, "inline", NULL, "show inlined functions in call chains (default)", CLI_CALL,
		  &script, set_inline, false, false },
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
	status = cli_filter_open(&script.filter, &script.input);
	if (status)
		return status;
	script.session = script.input.session;
	script.symbols = perch_session_symbols(script.session);
	cli_start_pager();
	status = run(&script);
	cli_input_print_notes(&script.input);
	cli_input_print_chain_notes(&script.input);
	cli_filter_print_notes(&script.filter, &script.input);
	clear(&script);
	return status;
}
