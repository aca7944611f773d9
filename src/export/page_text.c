/* SPDX-License-Identifier: MIT */
/*
 * Stacks from text: folded stacks ("name;outer;inner 12") or the output of perf script and perch
 * script. The text is not trusted. Lines that are neither are counted.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "internal.h"
#include "page.h"

#define MAX_LINE  (1 << 20) /* bytes; longer lines are not read */
#define MAX_DEPTH 1024	    /* frames of a stack, as script.h of the page can show */
#define MAX_NAME  4096	    /* bytes of a name */
#define NS_PER_S  UINT64_C(1000000000)

/* A frame of perf script, which prints the innermost one first. */
struct text_frame {
	uint32_t name, dso, kind, file, line; /* texts of the page */
};

struct text_reader {
	struct page *page;
	struct perch_export_stats *stats;
	char *line;
	size_t length, capacity;
	bool folded, detected;
	/* the sample of perf script that is being read */
	bool has_sample;
	struct page_entry entry;
	struct page_sample sample;
	struct text_frame frame[MAX_DEPTH];
	size_t nr_frames;
	uint64_t lines;
};

/* ---- lines ---- */

/* Reads a line without its end. Returns 1, 0 at the end of the file, or a negative errno. */
static int read_line(struct text_reader *reader, FILE *in)
{
	int c;

	reader->length = 0;
	while ((c = getc(in)) != EOF && c != '\n') {
		if (reader->length >= MAX_LINE)
			continue;
		if (PERCH__ARRAY_RESERVE(reader->line, reader->capacity, reader->length + 2))
			return -ENOMEM;
		reader->line[reader->length++] = c ? (char)c : ' ';
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
	return 1;
}

/* Adds a name of the text, cleaned, without the bytes from end on. */
static uint32_t add_name(struct page *page, const char *start, const char *end)
{
	char name[MAX_NAME], clean[MAX_NAME];
	size_t length = (size_t)(end - start);

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, start, length);
	name[length] = '\0';
	perch_clean_text(name, clean, sizeof(clean));
	return perch__page_text(page, clean);
}

/* Reads a number. Returns its end; NULL if there is none or if it is too large. */
static const char *read_number(const char *at, uint64_t *number)
{
	const char *start = at;

	for (*number = 0; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(*number, UINT64_C(10), number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
			return NULL;
	return at > start ? at : NULL;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static bool ends_with(const char *start, const char *end, const char *suffix)
{
	size_t length = strlen(suffix);

	return (size_t)(end - start) > length && !memcmp(end - length, suffix, length);
}

/* ---- stacks ---- */

/* Adds samples of a stack. Returns 0 or -ENOMEM. */
static int add_samples(struct text_reader *reader, uint64_t samples, uint64_t period)
{
	struct page *page = reader->page;
	uint32_t index = reader->entry.thread == PAGE_NONE || reader->entry.event == PAGE_NONE ||
					 reader->entry.node == PAGE_NONE
				 ? PAGE_NONE
				 : perch__page_entry(page, &reader->entry);

	if (index == PAGE_NONE)
		return -ENOMEM;
	page->entry[index].samples += samples;
	page->entry[index].period += period;
	reader->sample.entry = index;
	reader->stats->samples += samples;
	return 0;
}

static void add_frame(struct page *page, uint32_t *node, const struct text_frame *frame)
{
	uint32_t function;

	if (*node == PAGE_NONE || frame->name == PAGE_NONE || frame->dso == PAGE_NONE ||
	    frame->file == PAGE_NONE) {
		*node = PAGE_NONE;
		return;
	}
	function = perch__page_function_of(page, frame->name, frame->dso, frame->kind);
	*node = perch__page_child(
		page, *node, perch__page_location_of(page, function, frame->file, frame->line));
}

/* ---- folded stacks ---- */

static const struct mark {
	const char *text;
	uint32_t kind;
} marks[] = {
	{ "_[k]", PAGE_KERNEL },
	{ "_[i]", PAGE_USER | PAGE_INLINED },
	{ "_[j]", PAGE_JIT },
};

static uint32_t kind_of_name(const char *start, const char **end)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (ends_with(start, *end, marks[i].text)) {
			*end -= strlen(marks[i].text);
			return marks[i].kind;
		}
	}
	return *start == '[' && (*end)[-1] == ']' ? PAGE_UNKNOWN : PAGE_USER;
}

/* Adds the functions of a folded line, from after the name of the thread to end. */
static uint32_t add_folded_frames(struct text_reader *reader, const char *at, const char *end)
{
	uint32_t node = 0;
	size_t depth = 0;

	while (at < end && node != PAGE_NONE) {
		const char *next = memchr(at, ';', (size_t)(end - at));
		const char *stop = next ? next : end;
		struct text_frame frame = { 0 };

		if (depth++ == MAX_DEPTH) {
			reader->stats->cut++;
			break;
		}
		if (stop > at) {
			const char *name_end = stop;

			frame.kind = kind_of_name(at, &name_end);
			frame.name = add_name(reader->page, at, name_end);
			add_frame(reader->page, &node, &frame);
		}
		at = stop + 1;
	}
	return node;
}

/* Returns 1; 0 if it is no folded line; or -ENOMEM. */
static int read_folded(struct text_reader *reader)
{
	const char *last = strrchr(reader->line, ' '), *number_end, *comm_end;
	uint64_t number;

	if (!last || last == reader->line)
		return 0;
	number_end = read_number(last + 1, &number);
	if (!number_end || *number_end)
		return 0;
	while (last > reader->line && last[-1] == ' ')
		last--;
	comm_end = memchr(reader->line, ';', (size_t)(last - reader->line));
	if (!comm_end)
		comm_end = last;
	reader->entry.thread = perch__page_thread_of(
		reader->page, 0, 0, add_name(reader->page, reader->line, comm_end));
	reader->entry.event = perch__page_event(reader->page, "count", false);
	reader->page->has_counts = true;
	reader->entry.node = add_folded_frames(reader, comm_end + 1, last);
	return add_samples(reader, number, number) ? -ENOMEM : 1;
}

/* ---- perf script ---- */

/* Adds the sample whose frames were read. Returns 0 or -ENOMEM. */
static int finish_sample(struct text_reader *reader)
{
	uint32_t node = 0, dso = 0;
	struct page *page = reader->page;

	if (!reader->has_sample)
		return 0;
	reader->has_sample = false;
	for (size_t i = reader->nr_frames; i-- > 0;) {
		struct text_frame *frame = &reader->frame[i];

		if (frame->kind & PAGE_INLINED)
			frame->dso = dso; /* that of the function that contains it */
		dso = frame->dso;
		add_frame(page, &node, frame);
	}
	reader->entry.node = node;
	if (add_samples(reader, 1, reader->sample.period) ||
	    PERCH__ARRAY_RESERVE_BY_NR(page->sample, page->nr_samples, 1))
		return -ENOMEM;
	page->sample[page->nr_samples++] = reader->sample;
	page->has_times = true;
	page->has_cpus |= reader->sample.cpu != PAGE_NONE;
	return 0;
}

/* Finds " 12.345678: ", the time of a header. Returns NULL if there is none. */
static const char *find_time(const char *line)
{
	for (const char *at = line; (at = strchr(at, '.')); at++) {
		const char *start = at, *end = at + 1;

		while (start > line && isdigit((unsigned char)start[-1]))
			start--;
		while (isdigit((unsigned char)*end))
			end++;
		if (start > line && start < at && (start[-1] == ' ' || start[-1] == '\t') &&
		    end - at > 1 && end - at <= 10 && *end == ':')
			return start;
	}
	return NULL;
}

/* Reads seconds with a fraction. Returns their end; NULL if they are too large. */
static const char *read_time(const char *at, uint64_t *ns)
{
	uint64_t seconds, unit = NS_PER_S / 10;

	at = read_number(at, &seconds);
	if (!at || seconds > UINT32_MAX)
		return NULL;
	*ns = seconds * NS_PER_S;
	for (at++; isdigit((unsigned char)*at); at++, unit /= 10)
		*ns += unit * (uint64_t)(*at - '0');
	return at;
}

/* Moves *end back over blanks and a word, and returns the start of the word. */
static const char *last_word(const char *line, const char **end)
{
	const char *start;

	while (*end > line && isblank((unsigned char)(*end)[-1]))
		(*end)--;
	for (start = *end; start > line && !isblank((unsigned char)start[-1]);)
		start--;
	return start;
}

/* Reads the id of a process or thread. That of a task that has ended is -1. */
static const char *read_id(const char *at, uint64_t *id)
{
	if (strncmp(at, "-1", 2) || isdigit((unsigned char)at[2]))
		return read_number(at, id);
	*id = UINT32_MAX;
	return at + 2;
}

/* Reads what is before the time: NAME PID/TID [CPU]. Returns 1, or 0 if it is something else. */
static int read_thread(struct text_reader *reader, const char *end)
{
	const char *line = reader->line, *word = last_word(line, &end), *after;
	uint64_t pid, tid, cpu = PAGE_NONE;

	if (*word == '[') {
		after = read_number(word + 1, &cpu);
		if (!after || *after != ']' || cpu >= PAGE_NONE)
			return 0;
		end = word;
		word = last_word(line, &end);
	}
	after = word < end ? read_id(word, &pid) : NULL;
	tid = after ? pid : 0;
	if (after && *after == '/')
		after = read_id(after + 1, &tid);
	if (!after || after != end || pid > UINT32_MAX || tid > UINT32_MAX)
		return 0;
	end = word;
	last_word(line, &end); /* moves end to that of the name */
	line = skip_blanks(line);
	if (end <= line)
		return 0;
	reader->sample.cpu = (uint32_t)cpu;
	reader->entry.thread = perch__page_thread_of(reader->page, (uint32_t)pid, (uint32_t)tid,
						     add_name(reader->page, line, end));
	return 1;
}

static bool read_frame(struct text_reader *reader, const char *at);

/* Periods of cpu-clock and task-clock, also with modifiers, are nanoseconds. */
static bool is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

/*
 * Reads a header: NAME PID/TID [CPU] TIME: PERIOD EVENT: and without call chains the address.
 * Returns 1; 0 if it is none; or -ENOMEM.
 */
static int read_header(struct text_reader *reader)
{
	const char *time = find_time(reader->line), *at, *end, *after;
	char event[256], clean[256];
	uint64_t ns, period = 1;
	int rc;

	at = time ? read_time(time, &ns) : NULL;
	if (!at)
		return 0;
	at = skip_blanks(at + 1);
	after = read_number(at, &period);
	if (after && isblank((unsigned char)*after))
		at = skip_blanks(after);
	else
		period = 1;
	end = at + strcspn(at, " \t");
	if (end - at < 2 || end[-1] != ':' || end - at > (ptrdiff_t)sizeof(event))
		return 0;
	rc = finish_sample(reader);
	if (rc || !read_thread(reader, time))
		return rc;
	memcpy(event, at, (size_t)(end - at) - 1);
	event[end - at - 1] = '\0';
	perch_clean_text(event, clean, sizeof(clean));
	reader->entry.event = perch__page_event(reader->page, clean, is_clock(clean));
	reader->sample.time = ns;
	reader->sample.period = period;
	reader->nr_frames = 0;
	reader->has_sample = true;
	read_frame(reader, skip_blanks(end));
	return 1;
}

/* Returns the "(" of the text in parentheses at the end of a line; NULL if there is none. */
static const char *find_parentheses(const char *line)
{
	const char *at = line + strlen(line);
	int depth = 0;

	while (at-- > line) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return *at == '(' ? at : NULL;
	}
	return NULL;
}

static uint32_t kind_of_dso(uint64_t address, const char *dso)
{
	if (address >> 63 || !strncmp(dso, "[kernel", 7) || !strncmp(dso, "[guest.kernel", 13))
		return PAGE_KERNEL;
	return strstr(dso, "/perf-") || strstr(dso, "jitted-") || !strncmp(dso, "[JIT]", 5)
		       ? PAGE_JIT
		       : PAGE_USER;
}

/* Sets the names of a frame: "function+0x12 (dso)" or "function (inlined)". */
static void set_names(struct text_reader *reader, struct text_frame *frame, const char *at,
		      uint64_t address)
{
	const char *parentheses = find_parentheses(at), *end = parentheses, *offset, *slash;
	char dso[MAX_NAME] = "";

	if (!end)
		end = at + strlen(at);
	else
		snprintf(dso, sizeof(dso), "%.*s", (int)strlen(parentheses + 1) - 1,
			 parentheses + 1);
	while (end > at && isblank((unsigned char)end[-1]))
		end--;
	offset = memrchr(at, '+', (size_t)(end - at));
	if (offset && !strncmp(offset, "+0x", 3) &&
	    offset + 3 + strspn(offset + 3, "0123456789abcdef") == end)
		end = offset;
	slash = strrchr(dso, '/');
	slash = dso[0] != '[' && slash ? slash + 1 : dso;
	if (!strcmp(dso, "inlined")) {
		frame->kind = PAGE_INLINED | (address >> 63 ? PAGE_KERNEL : PAGE_USER);
		slash = "";
	} else {
		frame->kind = kind_of_dso(address, dso);
	}
	if (end == at || !strncmp(at, "[unknown]", 9)) {
		char name[MAX_NAME + 2];

		snprintf(name, sizeof(name), "[%s]", slash);
		frame->kind = PAGE_UNKNOWN;
		at = !slash[0] ? "[unknown]" : slash[0] == '[' ? slash : name;
		frame->name = add_name(reader->page, at, at + strlen(at));
	} else {
		frame->name = add_name(reader->page, at, end);
	}
	frame->dso = add_name(reader->page, slash, slash + strlen(slash));
}

/* Reads a frame: ADDRESS FUNCTION (DSO). Returns false if it is none. */
static bool read_frame(struct text_reader *reader, const char *at)
{
	struct text_frame *frame = &reader->frame[reader->nr_frames];
	uint64_t address;
	char *end;

	if (!isxdigit((unsigned char)*at))
		return false;
	errno = 0;
	address = strtoull(at, &end, 16);
	if (errno || (*end && !isblank((unsigned char)*end)))
		return false;
	if (reader->nr_frames == MAX_DEPTH) {
		reader->stats->cut++;
		return true;
	}
	*frame = (struct text_frame){ 0 };
	set_names(reader, frame, skip_blanks(end), address);
	reader->nr_frames++;
	return true;
}

/* Reads the source line of a frame: FILE:LINE. Returns false if it is none. */
static bool read_source_line(struct text_reader *reader, char *at)
{
	const char *colon = strrchr(at, ':'), *end;
	struct text_frame *frame;
	uint64_t line;
	char *inlined = strstr(at, " (inlined)");

	if (inlined && reader->nr_frames) {
		frame = &reader->frame[reader->nr_frames - 1];
		frame->kind &= ~(uint32_t)PAGE_INLINED;
		frame->kind = PAGE_INLINED | (frame->kind == PAGE_KERNEL ? PAGE_KERNEL : PAGE_USER);
	}
	if (inlined)
		*inlined = '\0';
	if ((*at && at[strlen(at) - 1] == ']') || !strcmp(at, "??:0"))
		return true; /* DSO[ADDRESS]: no line is found */
	end = colon && reader->nr_frames ? read_number(colon + 1, &line) : NULL;
	if (!end || *end || line > UINT32_MAX)
		return false;
	frame = &reader->frame[reader->nr_frames - 1];
	frame->file = add_name(reader->page, at, colon);
	frame->line = (uint32_t)line;
	return true;
}

/* Returns 1; 0 if the line is none of perf script; or -ENOMEM. */
static int read_script(struct text_reader *reader)
{
	char *at = reader->line + strspn(reader->line, " \t");
	int rc;

	if (!*at)
		return finish_sample(reader) ? -ENOMEM : 1;
	if (at > reader->line && reader->has_sample &&
	    (read_frame(reader, at) || read_source_line(reader, at)))
		return 1;
	rc = read_header(reader);
	return rc < 0 ? -ENOMEM : rc;
}

/* ---- text ---- */

static int read_text(struct text_reader *reader, FILE *in)
{
	int rc, good;

	while ((rc = read_line(reader, in)) > 0) {
		if (reader->line[0] == '#' || (!reader->length && !reader->has_sample))
			continue;
		reader->lines++;
		if (!reader->detected) {
			reader->folded = !read_header(reader);
			reader->detected = reader->folded ? read_folded(reader) > 0 : true;
			reader->stats->unreadable += !reader->detected;
			continue;
		}
		good = reader->folded ? read_folded(reader) : read_script(reader);
		if (good < 0)
			return good;
		reader->stats->unreadable += !good;
	}
	return rc < 0 ? rc : finish_sample(reader);
}

static int set_error(int rc, const struct text_reader *reader, struct perch_error *err)
{
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "cannot read the text: %s",
				       strerror(-rc));
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

int perch_export_add_text(struct perch_export *export, FILE *in, struct perch_error *err)
{
	struct text_reader *reader;
	int rc = 0;

	if (!(export->format->flags & EXPORT_TEXT))
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
	rc = set_error(read_text(reader, in), reader, err);
	free(reader->line);
	free(reader);
	return rc;
}
