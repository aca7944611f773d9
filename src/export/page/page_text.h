/* SPDX-License-Identifier: MIT */
/*
 * Stacks from text. page_text.c reads lines and folded stacks, page_script.c reads samples of perf
 * script, page_script_header.c the lines that begin them, and page_text_parts.c is what they share.
 */
#ifndef PERCH_EXPORT_PAGE_TEXT_H
#define PERCH_EXPORT_PAGE_TEXT_H

#include <ctype.h>

#include "export/internal.h"
#include "page.h"

#define TEXT_MAX_DEPTH 1024 /* frames of a stack */
#define TEXT_MAX_NAME  4096 /* bytes of a name */

/* A frame of perf script, which prints the innermost one first. */
struct text_frame {
	struct page_text_id name, dso, file;
	uint32_t kind, line;
};

struct text_reader {
	struct page *page;
	struct perch_export_stats *stats;
	const char *event;	/* whose samples are wanted; NULL: all */
	bool found;		/* there is one */
	char other_events[512]; /* the names of others, for a message */
	char *line, *held;	/* held: may begin a sample, which the next line decides */
	size_t length, capacity, held_capacity;
	bool has_held;
	bool folded, detected;
	/* the sample of perf script that is being read */
	bool has_sample;
	bool unsure;	      /* its header may be another text, if no frame follows */
	bool other;	      /* it is of an event that is not wanted */
	bool inline_frame;    /* its only frame is that of the header */
	bool without_headers; /* samples are frames between empty lines */
	struct page_entry entry;
	struct page_sample sample;
	struct text_frame frame[TEXT_MAX_DEPTH];
	size_t nr_frames;
	uint64_t lines;	      /* that are no comments */
	uint64_t line_number; /* of the last line */
	int control;	      /* the byte that no text has; 0: none */
};

/* ---- page_text_parts.c ---- */

/* Adds a name of the text, cleaned, without the bytes from end on. */
struct page_text_id perch__text_name(struct page *page, const char *start, const char *end);
/* True for an event whose samples are wanted. Its name must be clean. */
bool perch__text_wants(struct text_reader *reader, const char *event);
/* Adds samples of a stack, and sets reader->sample.entry. Returns 0, -ENOMEM or -EOVERFLOW. */
int perch__text_add_samples(struct text_reader *reader, uint64_t samples, uint64_t period);
/* Replaces a node by its child of a frame; PAGE_NO() if out of memory. */
void perch__text_add_frame(struct page *page, struct page_node_id *node,
			   const struct text_frame *frame);
/* Reads a number. Returns its end; NULL if there is none or if it is too large. */
const char *perch__text_number(const char *at, uint64_t *number);

static inline const char *perch__text_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* ---- page_script_header.c ---- */

/* How sure a line is the header of a sample. */
enum header_kind {
	HEADER_NONE,
	HEADER_NAME,   /* it may be the name of a thread, or any other text */
	HEADER_LIKELY, /* it has an id or an event */
	HEADER_SURE,   /* it has a time, a thread and an event; or a frame follows in the line */
	HEADER_RECORD, /* it is a record that is no sample */
};

/* What a header has. Pointers are into the line. */
struct script_header {
	const char *comm, *comm_end;   /* equal: none */
	const char *event, *event_end; /* NULL: none */
	const char *rest;	       /* after the event */
	uint64_t pid, tid, cpu;	       /* cpu PAGE_NONE: unknown */
	uint64_t time, period;
	bool has_id, has_time;
};

/*
 * Reads a header: NAME PID/TID [CPU] TIME: PERIOD EVENT: REST. perf script -F chooses among them,
 * so each may be missing.
 */
enum header_kind perch__script_header(const char *line, struct script_header *header);
bool perch__script_has_time(const char *line);
/* True for ADDRESS FUNCTION+0x12 (DSO), with an offset or a DSO. */
bool perch__is_script_frame(const char *at);

/* ---- page_script.c ---- */

/* Begins a sample. Returns 1; 0 if the header is none; or a negative errno. */
int perch__script_begin(struct text_reader *reader, const struct script_header *header,
			enum header_kind kind);
/* Reads a line. Returns 1; 0 if it is none of perf script; or a negative errno. */
int perch__script_line(struct text_reader *reader);
/* Adds the sample whose frames were read. Returns 0 or a negative errno. */
int perch__script_finish(struct text_reader *reader);

#endif
