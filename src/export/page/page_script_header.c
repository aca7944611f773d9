/* SPDX-License-Identifier: MIT */
/*
 * Headers of samples in the output of perf script. Its option -F selects what they have, and names
 * of threads may have blanks and digits. What is before the time, or without one before the event,
 * is read from the right: names are at the left end.
 */
#define _GNU_SOURCE
#include "page_text.h"

#define NS_PER_S UINT64_C(1000000000)

/* Finds " 12.345678: ", the time of a header. Returns NULL if there is none. */
static const char *find_time(const char *line)
{
	for (const char *at = line; (at = strchr(at, '.')); at++) {
		const char *start = at, *end = at + 1;

		while (start > line && isdigit((unsigned char)start[-1]))
			start--;
		while (isdigit((unsigned char)*end))
			end++;
		if (start < at && (start == line || start[-1] == ' ' || start[-1] == '\t') &&
		    end - at > 1 && end - at <= 10 && *end == ':')
			return start;
	}
	return NULL;
}

bool perch__script_has_time(const char *line)
{
	return find_time(line);
}

/* Reads seconds with a fraction. Returns their end; NULL if they are too large. */
static const char *read_time(const char *at, uint64_t *ns)
{
	uint64_t seconds, unit = NS_PER_S / 10;

	at = perch__text_number(at, &seconds);
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

/* True if a word is made of these characters. */
static bool is_made_of(const char *word, const char *end, const char *characters)
{
	return word < end && (size_t)(end - word) <= strspn(word, characters);
}

/* Moves *end before a date and a time of day, "2026-01-31 12:00:00.000000". */
static void skip_time_of_day(const char *line, const char **end)
{
	const char *stop = *end, *word = last_word(line, &stop), *date_end = word, *date;

	if (!is_made_of(word, stop, "0123456789:.") || !memchr(word, ':', (size_t)(stop - word)))
		return;
	date = last_word(line, &date_end);
	if (is_made_of(date, date_end, "0123456789-") &&
	    memchr(date, '-', (size_t)(date_end - date)))
		*end = date;
}

/* Moves *end before the letters of the field misc, which are behind a number or a CPU. */
static void skip_misc(const char *line, const char **end)
{
	const char *stop = *end, *word = last_word(line, &stop), *before = word;

	if (!is_made_of(word, stop, "KUHGgMESp"))
		return;
	last_word(line, &before);
	if (before > line && (isdigit((unsigned char)before[-1]) || before[-1] == ']'))
		*end = word;
}

/* Reads the id of a process or thread. That of a task that has ended is -1. */
static const char *read_id(const char *at, uint64_t *id)
{
	if (strncmp(at, "-1", 2) || isdigit((unsigned char)at[2]))
		return perch__text_number(at, id);
	*id = UINT32_MAX;
	return at + 2;
}

static bool read_ids(const char *word, const char *end, struct script_header *header)
{
	uint64_t pid, tid;
	const char *after = word < end ? read_id(word, &pid) : NULL;

	tid = after ? pid : 0;
	if (after && *after == '/')
		after = read_id(after + 1, &tid);
	if (!after || after != end || pid > UINT32_MAX || tid > UINT32_MAX)
		return false;
	header->pid = pid;
	header->tid = tid;
	header->has_id = true;
	return true;
}

/* Reads a CPU in brackets. */
static bool read_cpu(const char *word, const char *end, struct script_header *header)
{
	uint64_t cpu;
	const char *after = word < end && *word == '[' ? perch__text_number(word + 1, &cpu) : NULL;

	if (!after || *after != ']' || after + 1 != end || cpu >= PAGE_NONE)
		return false;
	header->cpu = cpu;
	return true;
}

/* Reads NAME PID/TID [CPU] MISC DATE, each of which may be missing. */
static void read_thread(const char *line, const char *end, struct script_header *header)
{
	const char *stop, *word;

	header->has_id = false;
	header->cpu = PAGE_NONE;
	skip_time_of_day(line, &end);
	skip_misc(line, &end);
	stop = end;
	word = last_word(line, &stop);
	if (read_cpu(word, stop, header)) {
		end = stop = word;
		word = last_word(line, &stop);
	}
	if (read_ids(word, stop, header))
		end = word;
	last_word(line, &end); /* moves end to that of the name */
	header->comm = perch__text_skip_blanks(line);
	header->comm_end = end > header->comm ? end : header->comm;
}

/* Reads "EVENT:", of at least one character. Returns its end behind the colon; NULL: none. */
static const char *read_event(const char *at, struct script_header *header)
{
	const char *end = at + strcspn(at, " \t");

	if (end - at < 2 || end[-1] != ':')
		return NULL;
	header->event = at;
	header->event_end = end - 1;
	return end;
}

bool perch__is_script_frame(const char *at)
{
	const char *end = at + strspn(at, "0123456789abcdefABCDEF"), *offset;

	if (end == at || !isblank((unsigned char)*end))
		return false;
	end = perch__text_skip_blanks(end);
	offset = strstr(end, "+0x");
	return (*end && end[strlen(end) - 1] == ')' && strchr(end, '(')) ||
	       (offset && isxdigit((unsigned char)offset[3]));
}

/* Reads what is behind the time: PERIOD EVENT: REST. */
static enum header_kind read_after_time(const char *at, struct script_header *header)
{
	const char *after, *end;
	uint64_t period;

	at = perch__text_skip_blanks(at);
	if (!strncmp(at, "PERF_RECORD_", 12))
		return HEADER_RECORD;
	after = perch__text_number(at, &period);
	if (after && *after && !isblank((unsigned char)*after))
		after = NULL;
	/* a number that no event follows may be an address */
	end = read_event(after ? perch__text_skip_blanks(after) : at, header);
	if (after && (end || !*after)) {
		header->period = period;
		at = perch__text_skip_blanks(after);
	}
	if (end) {
		header->rest = perch__text_skip_blanks(end);
		return header->has_id ? HEADER_SURE : HEADER_LIKELY;
	}
	header->rest = at;
	if (!*at)
		return HEADER_LIKELY;
	return perch__is_script_frame(at) ? HEADER_SURE : HEADER_NONE;
}

/* Reads what is before the event, from which the period is split: NAME PID/TID [CPU] PERIOD. */
static void read_before_event(const char *line, const char *end, struct script_header *header)
{
	const char *stop = end, *word = last_word(line, &stop), *after;
	uint64_t period;

	header->period = 1;
	after = word < stop ? perch__text_number(word, &period) : NULL;
	if (after == stop) {
		read_thread(line, word, header);
		/* one number is an id */
		if (header->has_id || header->cpu != PAGE_NONE) {
			header->period = period;
			return;
		}
	}
	read_thread(line, end, header);
}

/* Reads a header without a time: the first word with a colon behind an id or a CPU is the event. */
static enum header_kind read_without_time(const char *line, struct script_header *header)
{
	const char *end, *first = NULL;

	for (const char *at = perch__text_skip_blanks(line); *at;
	     at = perch__text_skip_blanks(at + strcspn(at, " \t"))) {
		end = read_event(at, header);
		if (!end)
			continue;
		read_before_event(line, at, header);
		header->rest = perch__text_skip_blanks(end);
		if (!strncmp(at, "PERF_RECORD_", 12))
			return HEADER_RECORD;
		if (header->has_id || header->cpu != PAGE_NONE)
			return perch__is_script_frame(header->rest) ? HEADER_SURE : HEADER_LIKELY;
		first = first ? first : at;
	}
	header->event = NULL;
	header->rest = line + strlen(line);
	header->period = 1;
	read_thread(line, header->rest, header);
	if (header->has_id || header->cpu != PAGE_NONE)
		return HEADER_LIKELY;
	if (first) {
		header->rest = perch__text_skip_blanks(read_event(first, header));
		read_before_event(line, first, header);
	}
	return HEADER_NAME;
}

enum header_kind perch__script_header(const char *line, struct script_header *header)
{
	const char *time = find_time(line), *after = time ? read_time(time, &header->time) : NULL;

	*header = (struct script_header){
		.time = after ? header->time : 0, .has_time = after, .period = 1, .cpu = PAGE_NONE
	};
	if (!after)
		return read_without_time(line, header);
	read_thread(line, time, header);
	return read_after_time(after + 1, header);
}
