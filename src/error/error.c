/* SPDX-License-Identifier: MIT */
/* Errors as values: kinds and causes with their slugs, message, remedy; cleaning of text. */
#include <ctype.h>
#include <errno.h>
#include <perch/error.h>

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static const struct {
	const char *slug;
	const char *meaning;
} kinds[PERCH_ERROR_MAX] = {
#define CAUSE(name, slug, meaning) [PERCH_ERROR_##name] = { slug, meaning },
	PERCH_ERROR_KINDS(CAUSE)
#undef CAUSE
};

static bool is_kind(enum perch_error_kind kind)
{
	return (unsigned)kind < PERCH_ERROR_MAX;
}

const char *perch_error_kind_slug(enum perch_error_kind kind)
{
	return is_kind(kind) ? kinds[kind].slug : "unknown";
}

const char *perch_error_kind_meaning(enum perch_error_kind kind)
{
	return is_kind(kind) ? kinds[kind].meaning : "an unknown kind of error";
}

/* The first row is "no cause". */
static const struct {
	const char *slug;
	const char *meaning;
	enum perch_error_kind kind;
} causes[PERCH_CAUSE_MAX] = {
	[PERCH_CAUSE_NONE] = { "none", "the kernel did not refuse", PERCH_ERROR_NONE },
#define CAUSE(name, slug, kind, meaning) \
	[PERCH_CAUSE_##name] = { slug, meaning, PERCH_ERROR_##kind },
	PERCH_CAUSES(CAUSE)
#undef CAUSE
};

static bool is_cause(enum perch_cause cause)
{
	return (unsigned)cause < PERCH_CAUSE_MAX;
}

const char *perch_cause_slug(enum perch_cause cause)
{
	return is_cause(cause) ? causes[cause].slug : "unknown";
}

const char *perch_cause_meaning(enum perch_cause cause)
{
	return is_cause(cause) ? causes[cause].meaning : "an unknown cause";
}

enum perch_error_kind perch_cause_kind(enum perch_cause cause)
{
	return is_cause(cause) ? causes[cause].kind : PERCH_ERROR_SYSTEM;
}

size_t perch_clean_text(const char *src, char *dst, size_t size)
{
	size_t length = strlen(src), written = 0;

	if (!size)
		return 0;
	if (perch__is_plain(src, length)) {
		written = length < size ? length : size - 1;
		memmove(dst, src, written);
		length = 0;
	}
	while (length) {
		struct perch__character character = perch__next_character(src, length);
		size_t bytes = character.printable ? character.size : 1;

		if (size - written <= bytes)
			break;
		if (character.printable)
			memmove(dst + written, src, bytes);
		else
			dst[written] = '?';
		written += bytes;
		src += character.size;
		length -= character.size;
	}
	dst[written] = '\0';
	return written;
}

/* Formats into a copy first, because the arguments may point into dst. */
static void __attribute__((format(printf, 3, 0)))
set_text(char *dst, size_t size, const char *format, va_list arguments)
{
	char raw[1024];

	vsnprintf(raw, sizeof(raw), format, arguments);
	perch_clean_text(raw, dst, size);
}

int perch_error_set(struct perch_error *err, int errnum, enum perch_error_kind kind,
		    const char *format, ...)
{
	va_list arguments;

	if (!err)
		return -errnum;
	va_start(arguments, format);
	set_text(err->message, sizeof(err->message), format, arguments);
	va_end(arguments);
	err->kind = kind;
	err->cause = PERCH_CAUSE_NONE;
	err->errnum = errnum;
	err->column = -1;
	err->field[0] = '\0';
	err->since[0] = '\0';
	err->remedy[0] = '\0';
	err->next[0] = '\0';
	if (errnum == EMFILE) /* any call that makes a descriptor */
		perch_error_remedy(err, "raise the limit of open files: ulimit -n");
	return -errnum;
}

void perch_error_field(struct perch_error *err, const char *field, const char *since)
{
	if (!err)
		return;
	perch_clean_text(field, err->field, sizeof(err->field));
	perch_clean_text(since ? since : "", err->since, sizeof(err->since));
}

void perch_error_remedy(struct perch_error *err, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return;
	va_start(arguments, format);
	set_text(err->remedy, sizeof(err->remedy), format, arguments);
	va_end(arguments);
}

void perch_error_cause(struct perch_error *err, enum perch_cause cause)
{
	if (err)
		err->cause = cause;
}

void perch_error_next(struct perch_error *err, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return;
	va_start(arguments, format);
	set_text(err->next, sizeof(err->next), format, arguments);
	va_end(arguments);
}

void perch_error_prefix(struct perch_error *err, const char *format, ...)
{
	char prefix[sizeof(err->message)];
	char message[2 * sizeof(err->message)];
	va_list arguments;

	if (!err)
		return;
	va_start(arguments, format);
	set_text(prefix, sizeof(prefix), format, arguments);
	va_end(arguments);
	snprintf(message, sizeof(message), "%s%s", prefix, err->message);
	perch_clean_text(message, err->message, sizeof(err->message));
}

/* "." unless the sentence ends with a punctuation mark. */
static const char *full_stop(const char *sentence)
{
	size_t length = strlen(sentence);

	return length && strchr(".!?", sentence[length - 1]) ? "" : ".";
}

/* Prints a sentence with a capital letter and a period. */
static int print_sentence(FILE *stream, const char *before, const char *text)
{
	return *text ? fprintf(stream, " %s%c%s%s", before,
			       *before ? *text : toupper((unsigned char)*text), text + 1,
			       full_stop(text))
		     : 0;
}

int perch_error_print(FILE *stream, const struct perch_error *err)
{
	int message = fprintf(stream, "%s%s", err->message, full_stop(err->message));
	int remedy = print_sentence(stream, "", err->remedy);
	int next = print_sentence(stream, "Then: ", err->next);
	int end = fprintf(stream, "\n");

	return message < 0 || remedy < 0 || next < 0 || end < 0 ? -1
								: message + remedy + next + end;
}
