/* SPDX-License-Identifier: MIT */
/* Samples from the output of perf script and perch script. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/inlined_names.h"
#include "page_text.h"

/* ---- samples ---- */

/* Counts a header that no frame has followed, and that may be another text. */
static bool drop_sample(struct text_reader *reader)
{
	bool drop = reader->unsure && !reader->nr_frames;

	reader->stats->unreadable += drop;
	return drop;
}

int perch__script_finish(struct text_reader *reader)
{
	struct page_node_id node = PAGE_ROOT;
	struct page_text_id dso = { 0 };
	uint32_t kind = PAGE_USER;
	struct page *page = reader->page;
	int rc;

	if (!reader->has_sample)
		return 0;
	reader->has_sample = false;
	if (drop_sample(reader))
		return 0;
	if (reader->other) {
		reader->stats->other++;
		return 0;
	}
	for (size_t i = reader->nr_frames; i-- > 0;) {
		struct text_frame *frame = &reader->frame[i];

		if (frame->kind & PAGE_INLINED) { /* as the function that contains it */
			frame->dso = dso;
			frame->kind = kind | PAGE_INLINED;
		} else {
			dso = frame->dso;
			kind = frame->kind == PAGE_UNKNOWN ? PAGE_USER : frame->kind;
		}
		perch__text_add_frame(page, &node, frame);
	}
	reader->entry.node = node;
	rc = perch__text_add_samples(reader, 1, reader->sample.period);
	if (rc || PERCH__ARRAY_RESERVE_BY_NR(page->sample, page->nr_samples, 1))
		return rc ? rc : -ENOMEM;
	reader->stats->samples++;
	page->sample[page->nr_samples++] = reader->sample;
	page->has_cpus |= reader->sample.cpu != PAGE_NONE;
	return 0;
}

/* Periods of cpu-clock and task-clock, also with modifiers, are nanoseconds. */
static bool is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

static struct page_event_id add_event(struct text_reader *reader,
				      const struct script_header *header)
{
	char event[256] = "samples", clean[256];

	if (header->event)
		snprintf(event, sizeof(event), "%.*s", (int)(header->event_end - header->event),
			 header->event);
	perch_clean_text(event, clean, sizeof(clean));
	reader->other = !perch__text_wants(reader, clean);
	if (reader->other)
		return (struct page_event_id){ 0 };
	return perch__page_text_event(reader->page, clean, is_clock(clean));
}

/* A thread without a name has its id, as in perf. */
static struct page_thread_id add_thread(struct page *page, const struct script_header *header)
{
	char id[32] = "[unknown]";
	const char *comm = header->comm, *end = header->comm_end;

	if (comm == end) {
		if (header->has_id)
			snprintf(id, sizeof(id), ":%d", (int)(uint32_t)header->tid);
		comm = id;
		end = id + strlen(id);
	}
	return perch__page_thread_of(
		page, &(struct page_thread){ (uint32_t)header->pid, (uint32_t)header->tid,
					     perch__text_name(page, comm, end) });
}

static bool read_frame(struct text_reader *reader, const char *at);

int perch__script_begin(struct text_reader *reader, const struct script_header *header,
			enum header_kind kind)
{
	struct page *page = reader->page;
	int rc = perch__script_finish(reader);

	if (rc || kind == HEADER_RECORD)
		return rc ? rc : 1;
	reader->entry.thread = add_thread(page, header);
	reader->entry.event = add_event(reader, header);
	reader->sample.time = header->time;
	reader->sample.period = header->period;
	reader->sample.cpu = (uint32_t)header->cpu;
	reader->nr_frames = 0;
	reader->has_sample = true;
	/* in a text of perf script an id and an event are a sample without a call chain */
	reader->unsure = kind == HEADER_NAME ||
			 (kind == HEADER_LIKELY && !(header->event && header->has_id));
	page->has_times |= header->has_time;
	reader->inline_frame = header->rest && read_frame(reader, header->rest);
	return 1;
}

/* ---- frames ---- */

/* Returns the "(" of the text in parentheses at the end of a line, behind a blank; NULL if there is
 * none. Names in C++ end in parentheses that no blank precedes. */
static const char *find_parentheses(const char *line)
{
	const char *at = line + strlen(line);
	int depth = 0;

	while (at-- > line) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return *at == '(' && (at == line || isblank((unsigned char)at[-1])) ? at
											    : NULL;
	}
	return NULL;
}

/* Modules of the kernel are in brackets. */
static bool is_kernel_dso(const char *dso)
{
	static const char *const user[] = { "[vdso", "[vsyscall]", "[heap]", "[stack",
					    "[anon", "[unknown",   "[JIT]",  "[uprobes" };
	const char *slash = strrchr(dso, '/');

	if (dso[0] != '[')
		return !strncmp(slash ? slash + 1 : dso, "vmlinux", 7) || strstr(dso, ".ko");
	for (size_t i = 0; i < PERCH__NR(user); i++)
		if (!strncmp(dso, user[i], strlen(user[i])))
			return false;
	return true;
}

static uint32_t kind_of_dso(uint64_t address, const char *dso)
{
	if (address >> 63 || is_kernel_dso(dso))
		return PAGE_KERNEL;
	return strstr(dso, "/perf-") || strstr(dso, "jitted-") || !strncmp(dso, "[JIT]", 5)
		       ? PAGE_JIT
		       : PAGE_USER;
}

/* Returns the end of a text without "+0x12" at its end. */
static const char *without_offset(const char *start, const char *end)
{
	const char *offset = memrchr(start, '+', (size_t)(end - start));

	return offset && !strncmp(offset, "+0x", 3) &&
			       offset + 3 + strspn(offset + 3, "0123456789abcdef") == end
		       ? offset
		       : end;
}

/* Sets the names of a frame: "function+0x12 (dso+0x34)" or "function (inlined)". */
static void set_names(struct text_reader *reader, struct text_frame *frame, const char *at,
		      uint64_t address)
{
	const char *parentheses = find_parentheses(at), *end = parentheses, *slash;
	char dso[TEXT_MAX_NAME] = "";

	if (!end)
		end = at + strlen(at);
	else
		snprintf(dso, sizeof(dso), "%.*s",
			 (int)(without_offset(parentheses, at + strlen(at) - 1) - parentheses) - 1,
			 parentheses + 1);
	while (end > at && isblank((unsigned char)end[-1]))
		end--;
	end = without_offset(at, end);
	slash = strrchr(dso, '/');
	slash = dso[0] != '[' && slash ? slash + 1 : dso;
	frame->kind = kind_of_dso(address, dso);
	if (!strcmp(dso, "inlined")) {
		frame->kind = PAGE_INLINED;
		slash = "";
	}
	if (!strcmp(dso, "[unknown]"))
		slash = "";
	if (end == at || !strncmp(at, "[unknown]", 9)) {
		char name[PERCH__EXPORT_NAME];

		if (frame->kind != PAGE_KERNEL)
			frame->kind = PAGE_UNKNOWN;
		snprintf(name, sizeof(name), slash[0] == '[' ? "%s" : "[%s]",
			 slash[0]		      ? slash
			 : frame->kind == PAGE_KERNEL ? "kernel"
						      : "unknown");
		frame->name = perch__text_name(reader->page, name, name + strlen(name));
	} else {
		frame->name = perch__text_name(reader->page, at, end);
	}
	frame->dso = perch__text_name(reader->page, slash, slash + strlen(slash));
}

/* Replaces a frame of a JIT compiler by those of the functions in its name: the innermost one is
 * first. */
static void split_frame(struct text_reader *reader)
{
	struct perch__inlined_name part[PERCH__MOST_INLINED_NAMES];
	struct text_frame frame = reader->frame[reader->nr_frames];
	char name[TEXT_MAX_NAME]; /* texts of the page move when one is added */
	size_t nr;

	snprintf(name, sizeof(name), "%s", reader->page->text + frame.name.nr);
	nr = perch__inlined_names(name, part);
	if (!nr || reader->nr_frames + nr > TEXT_MAX_DEPTH)
		return;
	for (size_t i = nr; i-- > 0;) {
		struct text_frame *to = &reader->frame[reader->nr_frames + nr - 1 - i];

		*to = frame;
		to->kind = i ? PAGE_INLINED : frame.kind;
		to->name = perch__text_name(reader->page, part[i].start,
					    part[i].start + part[i].length);
	}
	reader->nr_frames += nr - 1;
}

/* Reads a frame: ADDRESS FUNCTION (DSO). Returns false if it is none. */
static bool read_frame(struct text_reader *reader, const char *at)
{
	struct text_frame *frame;
	uint64_t address;
	char *end;

	if (!isxdigit((unsigned char)*at))
		return false;
	errno = 0;
	address = strtoull(at, &end, 16);
	if (errno || (*end && !isblank((unsigned char)*end)))
		return false;
	if (reader->inline_frame) { /* it is the sampled address, which the call chain has, too */
		reader->inline_frame = false;
		reader->nr_frames = 0;
	}
	if (reader->nr_frames == TEXT_MAX_DEPTH) {
		reader->stats->cut++;
		return true;
	}
	frame = &reader->frame[reader->nr_frames];
	*frame = (struct text_frame){ 0 };
	set_names(reader, frame, perch__text_skip_blanks(end), address);
	if (frame->kind == PAGE_JIT && frame->name.nr != PAGE_NONE)
		split_frame(reader);
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

	if (inlined && reader->nr_frames)
		reader->frame[reader->nr_frames - 1].kind = PAGE_INLINED;
	if (inlined)
		*inlined = '\0';
	if ((*at && at[strlen(at) - 1] == ']') || !strcmp(at, "??:0"))
		return true; /* DSO[ADDRESS]: no line is found */
	end = colon && reader->nr_frames ? perch__text_number(colon + 1, &line) : NULL;
	if (!end || *end || line > UINT32_MAX)
		return false;
	frame = &reader->frame[reader->nr_frames - 1];
	frame->file = perch__text_name(reader->page, at, colon);
	frame->line = (uint32_t)line;
	return true;
}

/* ---- lines ---- */

int perch__script_line(struct text_reader *reader)
{
	char *at = reader->line + strspn(reader->line, " \t");
	bool indented = at > reader->line;
	struct script_header header;
	enum header_kind kind;

	int rc;

	if (!*at) {
		rc = perch__script_finish(reader);
		return rc ? rc : 1;
	}
	/* names of threads can be indented, too, by blanks, and look like addresses */
	kind = !reader->has_sample || !indented || reader->inline_frame ||
			       (reader->line[0] == ' ' && perch__script_has_time(reader->line))
		       ? perch__script_header(reader->line, &header)
		       : HEADER_NONE;
	if (kind >= HEADER_SURE)
		return perch__script_begin(reader, &header, kind);
	if (!reader->has_sample && reader->without_headers && perch__is_script_frame(at)) {
		kind = HEADER_LIKELY;
		header = (struct script_header){
			.comm = at, .comm_end = at, .period = 1, .cpu = PAGE_NONE
		};
		rc = perch__script_begin(reader, &header, kind);
		if (rc < 0)
			return rc;
	}
	if (reader->has_sample && (indented || perch__is_script_frame(at)) &&
	    (read_frame(reader, at) || read_source_line(reader, at)))
		return 1;
	if (kind == HEADER_NONE || (indented && kind == HEADER_NAME))
		return 0;
	return perch__script_begin(reader, &header, kind);
}
