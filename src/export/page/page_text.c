/* SPDX-License-Identifier: MIT */
/*
 * Stacks from text: folded stacks ("name;outer;inner 12") or the output of perf script and perch
 * script. The text is not trusted. Lines that are neither are counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/files/compressed_file.h"
#include "base/files/io.h"
#include "base/no_memory.h"
#include "page_text.h"

#define MAX_LINE (1 << 20) /* bytes; longer lines are not read */

/* ---- lines ---- */

/* True for a byte that no text has: a file with one is another file, whatever its lines look like.
 */
static bool is_control(int c)
{
	return (c < ' ' && c != '\t' && c != '\r') || c == 0x7f;
}

/*
 * Reads a line without its end. Returns 1; 0 at the end of the file; -EILSEQ after a control byte,
 * which is in reader->control; or another negative errno.
 */
static int read_line(struct text_reader *reader, FILE *in)
{
	int c;

	reader->length = 0;
	reader->line_number++;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (is_control(c)) {
			reader->control = c;
			return -EILSEQ;
		}
		if (reader->length >= MAX_LINE)
			continue;
		if (PERCH__ARRAY_RESERVE(reader->line, reader->capacity, reader->length + 2))
			return -ENOMEM;
		reader->line[reader->length++] = (char)c;
	}
	if (ferror(in))
		return errno ? -errno : -EIO;
	if (c == EOF && !reader->length)
		return 0;
	if (PERCH__ARRAY_RESERVE(reader->line, reader->capacity, reader->length + 2))
		return -ENOMEM;
	if (reader->length >= MAX_LINE) { /* cut: no part of it can be trusted */
		reader->length = 1;
		reader->line[0] = '?';
	}
	while (reader->length && isspace((unsigned char)reader->line[reader->length - 1]))
		reader->length--;
	reader->line[reader->length] = '\0';
	/* a return within the line is a control byte, too */
	if (!memchr(reader->line, '\r', reader->length))
		return 1;
	reader->control = '\r';
	return -EILSEQ;
}

static bool ends_with(const char *start, const char *end, const char *suffix)
{
	size_t length = strlen(suffix);

	return (size_t)(end - start) > length && !memcmp(end - length, suffix, length);
}

/* ---- folded stacks ---- */

static const struct text_mark {
	const char *text;
	uint32_t kind;
} marks[] = {
	{ "_[k]", PAGE_KERNEL },
	{ "_[i]", PAGE_USER | PAGE_INLINED },
	{ "_[j]", PAGE_JIT },
};

static uint32_t kind_of_name(const char *start, const char **end)
{
	for (size_t i = 0; i < PERCH__NR(marks); i++) {
		if (ends_with(start, *end, marks[i].text)) {
			*end -= strlen(marks[i].text);
			return marks[i].kind;
		}
	}
	return *start == '[' && (*end)[-1] == ']' ? PAGE_UNKNOWN : PAGE_USER;
}

/* Adds the functions of a folded line, from after the name of the thread to end. */
static struct page_node_id add_folded_frames(struct text_reader *reader, const char *at,
					     const char *end)
{
	struct page_node_id node = PAGE_ROOT;
	size_t depth = 0;

	while (at < end && node.nr != PAGE_NONE) {
		const char *next = memchr(at, ';', (size_t)(end - at));
		const char *stop = next ? next : end;
		struct text_frame frame = { 0 };

		if (depth++ == TEXT_MAX_DEPTH) {
			reader->stats->cut++;
			break;
		}
		if (stop > at) {
			const char *name_end = stop;

			frame.kind = kind_of_name(at, &name_end);
			frame.name = perch__text_name(reader->page, at, name_end);
			perch__text_add_frame(reader->page, &node, &frame);
		}
		at = stop + 1;
	}
	return node;
}

/* A number with at most 9 digits behind the point: value / 10^digits. */
struct text_count {
	uint64_t value;
	unsigned digits;
};

/* Multiplies a value by ten, and adds a digit. Returns true if it is too large. */
static bool add_digit(uint64_t *value, unsigned digit)
{
	return __builtin_mul_overflow(*value, UINT64_C(10), value) ||
	       __builtin_add_overflow(*value, (uint64_t)digit, value);
}

/* Reads a number at the end of a line, which may have a fraction. Returns false if it is none. */
static bool read_count(const char *at, struct text_count *count)
{
	at = perch__text_number(at, &count->value);
	count->digits = 0;
	if (!at || !*at)
		return at;
	if (*at != '.' || !isdigit((unsigned char)at[1]))
		return false;
	for (at++; isdigit((unsigned char)*at) && count->digits < PAGE_MAX_DIGITS; at++)
		if (add_digit(&count->value, (unsigned)(*at - '0')))
			return false;
		else
			count->digits++;
	for (count->value += isdigit((unsigned char)*at) && *at >= '5';
	     isdigit((unsigned char)*at);)
		at++;
	for (; count->digits && count->value % 10 == 0; count->digits--)
		count->value /= 10;
	return !*at;
}

/* Gives a number and those of the page the same digits behind the point. Returns false if one is
 * too large. */
static bool align_count(struct page *page, struct text_count *count)
{
	while (count->digits < page->digits) {
		if (add_digit(&count->value, 0))
			return false;
		count->digits++;
	}
	return !perch__page_set_digits(page, count->digits);
}

/* Returns 1; 0 if it is no folded line; -ENOMEM or -EOVERFLOW. */
static int read_folded(struct text_reader *reader, const char *line)
{
	const char *last = strrchr(line, ' '), *comm_end;
	struct text_count count;
	int rc;

	if (!last || last == line || !read_count(last + 1, &count) ||
	    !align_count(reader->page, &count))
		return 0;
	if (!perch__text_wants(reader, "count")) {
		reader->stats->other++;
		return 1;
	}
	while (last > line && last[-1] == ' ')
		last--;
	comm_end = memchr(line, ';', (size_t)(last - line));
	if (!comm_end)
		comm_end = last;
	reader->entry.thread = perch__page_thread_of(
		reader->page,
		&(struct page_thread){ .comm = perch__text_name(reader->page, line, comm_end) });
	reader->entry.event = perch__page_event(reader->page, "count", false);
	reader->page->has_counts = true;
	reader->entry.node = add_folded_frames(reader, comm_end + 1, last);
	rc = perch__text_add_samples(reader, count.value, count.value);
	for (; count.digits; count.digits--)
		count.value = count.value / 10 + (count.value % 10 > 0);
	reader->stats->samples += rc ? 0 : count.value;
	return rc ? rc : 1;
}

/* ---- text ---- */

/* Keeps a line that may be the header of a sample. Returns 0 or -ENOMEM. */
static int hold_line(struct text_reader *reader)
{
	if (PERCH__ARRAY_RESERVE(reader->held, reader->held_capacity, reader->length + 1))
		return -ENOMEM;
	memcpy(reader->held, reader->line, reader->length + 1);
	reader->has_held = true;
	return 0;
}

/* Reads a line that no frame has followed, in a text whose kind is unknown. Returns 0 or a
 * negative errno. */
static int read_held(struct text_reader *reader)
{
	int rc;

	if (!reader->has_held)
		return 0;
	reader->has_held = false;
	rc = read_folded(reader, reader->held);
	reader->folded = reader->detected = rc > 0;
	reader->stats->unreadable += !rc;
	return rc < 0 ? rc : 0;
}

/* True if a frame follows a held header. Text may begin with a word that is a number, too: what is
 * less likely a header needs a frame with an offset or a DSO. */
static bool is_first_frame(const struct text_reader *reader, enum header_kind held)
{
	const char *at = perch__text_skip_blanks(reader->line);
	size_t digits = strspn(at, "0123456789abcdef");

	if (perch__is_script_frame(at))
		return true;
	return held == HEADER_LIKELY && at > reader->line && digits &&
	       (!at[digits] || isblank((unsigned char)at[digits]));
}

/* Finds out from a line, and the one before it, what the text is. Returns 1; 0 if it is neither; or
 * -ENOMEM. */
static int detect(struct text_reader *reader)
{
	struct script_header header;
	enum header_kind kind;
	int rc;

	if (reader->has_held) {
		kind = perch__script_header(reader->held, &header);
		if (is_first_frame(reader, kind)) {
			reader->has_held = false;
			reader->detected = true;
			rc = perch__script_begin(reader, &header, kind);
			return rc < 0 ? rc : perch__script_line(reader);
		}
		rc = read_held(reader);
		if (rc || reader->detected)
			return rc ? rc : read_folded(reader, reader->line);
	}
	kind = perch__script_header(reader->line, &header);
	if (kind == HEADER_SURE) {
		reader->detected = true;
		return perch__script_begin(reader, &header, kind);
	}
	if (isblank((unsigned char)reader->line[0]) &&
	    perch__is_script_frame(perch__text_skip_blanks(reader->line))) {
		reader->detected = reader->without_headers = true;
		return perch__script_line(reader);
	}
	if (kind == HEADER_LIKELY || kind == HEADER_NAME)
		return hold_line(reader) ? -ENOMEM : 1;
	if (kind == HEADER_RECORD)
		return 1;
	reader->folded = reader->detected = (rc = read_folded(reader, reader->line)) > 0;
	return rc;
}

static int read_text(struct text_reader *reader, FILE *in)
{
	int rc, good;

	while ((rc = read_line(reader, in)) > 0) {
		if (reader->line[0] == '#' || (!reader->length && !reader->has_sample))
			continue;
		reader->lines++;
		good = !reader->detected ? detect(reader)
		       : reader->folded	 ? read_folded(reader, reader->line)
					 : perch__script_line(reader);
		if (good < 0)
			return good;
		reader->stats->unreadable += !good;
	}
	if (!rc)
		rc = read_held(reader);
	return rc < 0 ? rc : perch__script_finish(reader);
}

static int set_control_error(const struct text_reader *reader, struct perch_error *err)
{
	perch_error_set(err, EILSEQ, PERCH_ERROR_FILE,
			"line %" PRIu64 " has the byte 0x%02x: this is no text of stacks",
			reader->line_number, (unsigned)reader->control);
	perch_error_remedy(err, "name a text with folded stacks (NAME;OUTER;INNER 12) or the "
				"output of perf script");
	return -EILSEQ;
}

static int set_error(int rc, const struct text_reader *reader, struct perch_error *err)
{
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to export");
	if (rc == -EOVERFLOW)
		return perch_error_set(err, EOVERFLOW, PERCH_ERROR_FILE,
				       "line %" PRIu64 ": the sum of the numbers is too large",
				       reader->line_number);
	if (rc == -EILSEQ)
		return set_control_error(reader, err);
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "cannot read the text: %s",
				       strerror(-rc));
	if (reader->event && !reader->found && reader->other_events[0])
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the text has no event '%s'; it has %s", reader->event,
				       reader->other_events);
	if (reader->detected || !reader->lines)
		return 0;
	if (reader->lines == 1)
		perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
				"its line is neither a folded stack nor of perf script");
	else
		perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
				"none of %" PRIu64 " lines is a folded stack or of perf script",
				reader->lines);
	perch_error_remedy(err, "a folded line is NAME;OUTER;INNER 12");
	return -EINVAL;
}

/* ---- compressed texts ---- */

/* Copies the rest of a stream behind its first byte to a temporary file. Returns its descriptor, or
 * a negative errno. */
static int copy_stream(FILE *in, int first)
{
	char bytes[1 << 14] = { (char)first };
	int to = perch__open_temporary(), rc = to < 0 ? to : 0;
	uint64_t at = 0;
	size_t nr = 1;

	while (!rc && nr) {
		rc = perch__pwrite_all(to, bytes, nr, at);
		at += nr;
		nr = fread(bytes, 1, sizeof(bytes), in);
	}
	if (!rc && ferror(in))
		rc = -EIO;
	if (!rc)
		return to;
	if (to >= 0)
		close(to);
	return rc;
}

/*
 * Opens what a compressed stream has. Returns 0: the stream is not compressed, and *plain is in; 1:
 * the caller closes *plain; or a negative errno, with err.
 */
static int open_compressed(FILE *in, FILE **plain, struct perch_error *err)
{
	static const unsigned char firsts[] = { 0x1f, 0xfd, 0x28, 'B' };
	int first = getc(in), copy, fd = -1;
	char start[PERCH__COMPRESSION_BYTES];
	const char *message, *remedy;
	enum compression compression;
	uint64_t most;

	*plain = in;
	if (first == EOF || !memchr(firsts, first, sizeof(firsts)))
		return first == EOF || ungetc(first, in) != EOF ? 0 : -EIO;
	copy = copy_stream(in, first);
	if (copy >= 0) {
		ssize_t got = pread(copy, start, sizeof(start), 0);

		fd = copy;
		if (got >= 4 && !memcmp(start, "BZh", 3) && isdigit((unsigned char)start[3]) &&
		    start[3] != '0') {
			close(copy);
			perch_error_set(err, ENOTSUP, PERCH_ERROR_FILE,
					"it is compressed by bzip2");
			perch_error_remedy(err, "Decompress it by 'bzip2 -d'");
			return -ENOTSUP;
		}
		if (got > 0 && perch__find_compression(start, (size_t)got, &compression)) {
			fd = perch__decompress_file(copy, compression, &most);
			close(copy);
		}
	}
	if (copy < 0 || fd < 0) {
		message = perch__decompress_message(copy < 0 ? copy : fd, &remedy);
		perch_error_set(err, copy < 0 ? -copy : -fd, PERCH_ERROR_FILE, "%s", message);
		perch_error_remedy(err, "%s", remedy);
		return copy < 0 ? copy : fd;
	}
	*plain = fdopen(fd, "r");
	if (*plain)
		return 1;
	close(fd);
	return PERCH__NO_MEMORY(err, "to export");
}

int perch_export_add_text(struct perch_export *export, FILE *in, struct perch_error *err)
{
	struct text_reader *reader;
	int rc = 0, opened;
	FILE *plain;

	if (!export->format->flame_graph)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "only pages and pictures of flame graphs are made of text");
	reader = calloc(1, sizeof(*reader));
	if (!export->text) {
		export->text = calloc(1, sizeof(*export->text));
		rc = export->text ? perch__page_init(export->text) : -ENOMEM;
	}
	if (!reader || rc) {
		free(reader);
		return set_error(-ENOMEM, NULL, err);
	}
	reader->page = export->text;
	reader->stats = &export->stats;
	reader->event = export->options.event;
	opened = open_compressed(in, &plain, err);
	if (opened >= 0) {
		flockfile(plain); /* each byte is read without a lock */
		rc = set_error(read_text(reader, plain), reader, err);
		funlockfile(plain);
		if (opened)
			fclose(plain);
	} else {
		rc = opened;
	}
	free(reader->line);
	free(reader->held);
	free(reader);
	return rc;
}
