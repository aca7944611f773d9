/* SPDX-License-Identifier: MIT */
/* Prints samples of tracepoints as the kernel prints them, by libtraceevent. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if PERCH_HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#endif

#include "base/array.h"
#include "base/hash_table.h"
#include "print_format.h"
#include "tracepoint_text.h"

#define MAX_ELEMENTS 64 /* of an array or of bytes that are printed as a field */

/* ---- the fields, without print fmt ---- */

struct text_line {
	char *at, *end;
	size_t length; /* also of what has no space */
};

__attribute__((format(printf, 2, 3))) static void put(struct text_line *line, const char *format,
						      ...)
{
	size_t space = line->end - line->at;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line->at, space, format, list);
	va_end(list);
	if (length < 0)
		return;
	line->length += length;
	line->at += (size_t)length < space ? (size_t)length : space - 1;
}

static void put_text(struct text_line *line, const char *text, size_t length)
{
	for (size_t i = 0; i < length && text[i]; i++)
		put(line, "%c", text[i]);
}

static void put_elements(struct text_line *line, const struct perch_tracepoint_field *field,
			 const struct perch_record *record)
{
	const uint8_t *bytes;
	const void *start;
	uint64_t number;
	size_t size, i;

	if (field->kind == PERCH_TRACEPOINT_ARRAY) {
		put(line, "ARRAY[");
		for (i = 0;
		     i < MAX_ELEMENTS && !perch_tracepoint_get_element(field, record, i, &number);
		     i++)
			put(line, "%s%" PRIu64, i ? ", " : "", number);
		put(line, i == MAX_ELEMENTS ? ", ...]" : "]");
		return;
	}
	if (perch_tracepoint_get_bytes(field, record, &start, &size))
		return;
	bytes = start;
	for (i = 0; i < size && i < MAX_ELEMENTS; i++)
		put(line, "%02x", bytes[i]);
	if (i < size)
		put(line, "...");
}

static void put_fields(struct text_line *line, const struct perch_tracepoint_format *format,
		       const struct perch_record *record)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields), length;
	const char *separator = "", *text;
	uint64_t number;

	for (size_t i = 0; i < nr; i++) {
		const struct perch_tracepoint_field *field = &fields[i];

		if (field->is_common)
			continue;
		put(line, "%s%s=", separator, field->name);
		separator = " ";
		if (field->kind == PERCH_TRACEPOINT_TEXT) {
			if (!perch_tracepoint_get_text(field, record, &text, &length))
				put_text(line, text, length);
		} else if (field->kind == PERCH_TRACEPOINT_NUMBER ||
			   field->kind == PERCH_TRACEPOINT_POINTER) {
			if (perch_tracepoint_get_u64(field, record, &number))
				continue;
			if (field->kind == PERCH_TRACEPOINT_POINTER)
				put(line, "0x%" PRIx64, number);
			else if (field->is_signed)
				put(line, "%" PRId64, (int64_t)number);
			else
				put(line, "%" PRIu64, number);
		} else {
			put_elements(line, field, record);
		}
	}
}

static int print_fields(const struct perch_tracepoint_format *format,
			const struct perch_record *record, char *text, size_t size)
{
	struct text_line line = { text, text + size, 0 };

	*text = '\0';
	put_fields(&line, format, record);
	perch_clean_text(text, text, size);
	return (int)line.length;
}

#if PERCH_HAVE_TRACEEVENT

#define MAX_STRINGS	 65536	    /* of ftrace's printk */
#define MAX_STRING_BYTES (4u << 20) /* of all */

/* The library keeps the text that it parses in variables of its own. */
static pthread_mutex_t parsing = PTHREAD_MUTEX_INITIALIZER;

struct prepared {
	const struct perch_tracepoint_format *format;
	bool usable;
	/* fields whose negative values the library prints wrongly */
	const struct perch_tracepoint_field **loses_sign;
	size_t nr_loses_sign;
};

struct tracepoint_texts {
	struct tep_handle *tep;
	struct prepared *prepared;
	size_t nr, capacity;
	struct perch__hash_table by_format; /* -> prepared */
	uint8_t *raw; /* PERCH__RAW_SPACE bytes, of which raw_used are not 0 */
	size_t raw_used;
	struct trace_seq seq;
	const struct kernel_names *names;
};

/* Called by the library for %pS and %ps. */
static char *find_function(void *context, unsigned long long *address, char **module)
{
	struct tracepoint_texts *texts = context;
	const struct kernel_names *names = texts->names;
	const struct perch_symbol *symbol;
	struct perch_location location;

	*module = NULL;
	if (!names->thread)
		return NULL;
	perch_processes_resolve(names->processes, names->thread, PERCH_MISC_KERNEL, *address,
				&location);
	symbol = perch_symbols_find(names->symbols, location.dso, location.offset);
	if (!symbol)
		return NULL;
	*address -= location.offset - symbol->start;
	return (char *)perch_symbols_name(names->symbols, symbol);
}

/* Adds the strings of lines "0xffffffff82a1b2c3 : "text"". */
static void add_strings(struct tep_handle *tep, const char *text, size_t size)
{
	size_t added = 0;

	if (size > MAX_STRING_BYTES)
		size = MAX_STRING_BYTES;
	while (size && added++ < MAX_STRINGS) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		char line[1024], *rest;
		unsigned long long address;

		if (length < sizeof(line)) {
			memcpy(line, text, length);
			line[length] = '\0';
			address = strtoull(line, &rest, 16);
			rest += strspn(rest, " :");
			/* the library reads before the start of shorter ones */
			if (*rest == '"' && strlen(rest) >= 4)
				tep_register_print_string(tep, rest, address);
		}
		text += length + (end != NULL);
		size -= length + (end != NULL);
	}
}

static struct tracepoint_texts *new_texts(struct perch_reader *reader, uint8_t long_size)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const bool native = perch_reader_byte_order(reader) == PERCH_BYTES_NATIVE;
	struct tracepoint_texts *texts = calloc(1, sizeof(*texts));
	const char *strings;
	size_t size;

	if (!texts)
		return NULL;
	tep_set_loglevel(TEP_LOG_NONE);
	trace_seq_init(&texts->seq);
	texts->by_format.seed = perch__hash_seed(texts);
	texts->raw = calloc(1, PERCH__RAW_SPACE);
	texts->tep = tep_alloc();
	if (!texts->raw || !texts->tep || !texts->seq.buffer) {
		perch__tracepoint_texts_free(texts);
		return NULL;
	}
	tep_set_flag(texts->tep, TEP_NSEC_OUTPUT);
	tep_set_local_bigendian(texts->tep, here_big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_file_bigendian(texts->tep, here_big == native ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(texts->tep, long_size ? long_size : sizeof(long));
	tep_set_function_resolver(texts->tep, find_function, texts);
	if (!perch_reader_trace_strings(reader, &strings, &size))
		add_strings(texts->tep, strings, size);
	return texts;
}

void perch__tracepoint_texts_free(struct tracepoint_texts *texts)
{
	if (!texts)
		return;
	if (texts->tep)
		tep_free(texts->tep);
	trace_seq_destroy(&texts->seq);
	perch__hash_clear(&texts->by_format);
	for (size_t i = 0; i < texts->nr; i++)
		free(texts->prepared[i].loses_sign);
	free(texts->prepared);
	free(texts->raw);
	free(texts);
}

/* Lists the fields whose negative values must not be printed. Returns 0 or -ENOMEM. */
static int find_signs(struct prepared *prepared)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(prepared->format, &fields);

	prepared->loses_sign = calloc(nr + 1, sizeof(*prepared->loses_sign));
	if (!prepared->loses_sign)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (perch__print_format_loses_sign(prepared->format, &fields[i]))
			prepared->loses_sign[prepared->nr_loses_sign++] = &fields[i];
	return 0;
}

static bool has_lost_sign(const struct prepared *prepared, const struct perch_record *record)
{
	for (size_t i = 0; i < prepared->nr_loses_sign; i++) {
		const struct perch_tracepoint_field *field = prepared->loses_sign[i];
		uint64_t value;

		for (size_t k = 0; !perch_tracepoint_get_element(field, record, k, &value); k++)
			if ((int64_t)value < 0)
				return true;
	}
	return false;
}

static bool same_format(const void *prepared, uint32_t index, const void *format)
{
	return ((const struct prepared *)prepared)[index].format == format;
}

/* Lets the library parse the format if it is harmless. Returns 0 or -ENOMEM. */
static int parse_format(struct tracepoint_texts *texts, const struct perch_tracepoint_text *text,
			struct prepared *prepared)
{
	bool no_memory;
	char *checked = perch__print_format_text(prepared->format, text->system, &no_memory);

	if (!checked)
		return no_memory ? -ENOMEM : 0;
	pthread_mutex_lock(&parsing);
	tep_parse_event(texts->tep, checked, strlen(checked), text->system);
	pthread_mutex_unlock(&parsing);
	free(checked);
	prepared->usable =
		tep_find_event(texts->tep, (int)perch_tracepoint_format_id(prepared->format));
	return prepared->usable ? find_signs(prepared) : 0;
}

/* Finds what is known of a format, or prepares it. Returns NULL if out of memory. */
static const struct prepared *prepare_format(struct tracepoint_texts *texts,
					     const struct perch_tracepoint_text *text,
					     const struct perch_tracepoint_format *format)
{
	uint64_t hash = perch__hash_integer(texts->by_format.seed, (uintptr_t)format);
	uint32_t index =
		perch__hash_find(&texts->by_format, hash, same_format, texts->prepared, format);
	struct prepared *prepared;

	if (index != PERCH__HASH_NONE)
		return &texts->prepared[index];
	prepared = PERCH__ARRAY_APPEND(texts->prepared, texts->nr, texts->capacity);
	if (!prepared)
		return NULL;
	prepared->format = format;
	if (!parse_format(texts, text, prepared) &&
	    !perch__hash_add(&texts->by_format, hash, texts->nr - 1))
		return prepared;
	free(prepared->loses_sign);
	texts->nr--;
	return NULL;
}

/* Copies the raw data, followed by zeros. */
static bool copy_raw(struct tracepoint_texts *texts, const struct perch_record *record)
{
	size_t size = record->sample.raw.size;

	if (size > UINT16_MAX)
		return false;
	memcpy(texts->raw, record->sample.raw.data, size);
	if (size < texts->raw_used)
		memset(texts->raw + size, 0, texts->raw_used - size);
	texts->raw_used = size;
	return true;
}

/* True if all fields are within the sample, and it is one of this tracepoint. */
static bool is_complete(const struct perch_tracepoint_format *format,
			const struct perch_record *record)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields), size;
	const void *bytes;
	uint64_t id;

	for (size_t i = 0; i < nr; i++)
		if (perch_tracepoint_get_bytes(&fields[i], record, &bytes, &size))
			return false;
	return !perch_tracepoint_get_u64(perch_tracepoint_format_find(format, "common_type"),
					 record, &id) &&
	       id == perch_tracepoint_format_id(format);
}

/* Prints by the library. Returns false if it cannot. */
static bool print_record(struct tracepoint_texts *texts, const struct perch_record *record)
{
	struct tep_record whole = { .data = texts->raw };

	if (!copy_raw(texts, record))
		return false;
	whole.size = (int)record->sample.raw.size;
	whole.record_size = whole.size;
	whole.cpu = (int)record->sample.cpu;
	trace_seq_reset(&texts->seq);
	tep_print_event(texts->tep, &texts->seq, &whole, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&texts->seq);
	return texts->seq.state == TRACE_SEQ__GOOD && texts->seq.buffer;
}

int perch__tracepoint_text(struct tracepoint_texts **texts, struct perch_reader *reader,
			   const struct kernel_names *names, const struct perch_record *record,
			   const struct perch_tracepoint_format *format, char *text, size_t size,
			   bool *plain)
{
	struct perch_tracepoint_text source;
	const struct prepared *prepared;

	*plain = true;
	if (perch_reader_tracepoint_text(reader, perch_tracepoint_format_id(format), &source, NULL))
		return print_fields(format, record, text, size);
	if (!*texts)
		*texts = new_texts(reader, source.long_size);
	prepared = *texts ? prepare_format(*texts, &source, format) : NULL;
	if (!prepared)
		return -ENOMEM;
	(*texts)->names = names;
	if (!prepared->usable || !is_complete(format, record) || has_lost_sign(prepared, record) ||
	    !print_record(*texts, record))
		return print_fields(format, record, text, size);
	*plain = false;
	perch_clean_text((*texts)->seq.buffer, text, size);
	return (int)(*texts)->seq.len;
}

#else

struct tracepoint_texts {
	char unused;
};

void perch__tracepoint_texts_free(struct tracepoint_texts *texts)
{
	(void)texts;
}

int perch__tracepoint_text(struct tracepoint_texts **texts, struct perch_reader *reader,
			   const struct kernel_names *names, const struct perch_record *record,
			   const struct perch_tracepoint_format *format, char *text, size_t size,
			   bool *plain)
{
	(void)texts, (void)reader, (void)names;
	*plain = true;
	return print_fields(format, record, text, size);
}

#endif
