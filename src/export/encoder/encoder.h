/* SPDX-License-Identifier: MIT */
/*
 * A profile of any stacks, and the formats of profiling engines. What samples have is in tables, in
 * which each item is once; a format is made of the tables alone. Numbers of items are their index
 * and 1, so that 0 is none, in the program and in both formats.
 *
 *	encoder_write.c		the file
 *	  pprof.c		  pprof's format
 *	  otlp.c		  OTLP: profiles, their samples and resources
 *	    otlp_dictionary.c	    what they refer to
 *	  encoder_output.c	  messages, one after the other
 *	encoder_events.c	events of the kernel
 *	encoder.c		what is added
 *	  encoder_tables.c	  tables in which each item is once
 */
#ifndef PERCH_EXPORT_ENCODER_H
#define PERCH_EXPORT_ENCODER_H

#include <perch/encoder.h>

#include "export/internal.h"

struct ProtobufCMessage; /* of libprotobuf-c, which a build may lack */

/* ---- encoder_tables.c ---- */

/* Items of one size without padding, each once by its first bytes. */
struct encoder_items {
	uint8_t *item;
	size_t size, key_size, nr;
	struct perch__hash_table table;
};

/* Returns the number of an item, which is copied if it is new; 0 if out of memory. */
uint32_t perch__encoder_item(struct encoder_items *items, const void *item);
/* Returns the numbers of all items, which the caller frees; NULL if out of memory. */
uint32_t *perch__encoder_numbers(const struct encoder_items *items);
void perch__encoder_items_clear(struct encoder_items *items);

/* Lists of numbers, each once. */
struct encoder_lists {
	uint32_t *word;
	size_t nr_words;
	size_t *end; /* by index: where the list ends in word */
	size_t nr;
	struct perch__hash_table table;
};

/* Returns the number of a list, as above. */
uint32_t perch__encoder_list(struct encoder_lists *lists, const uint32_t *word, size_t nr);
void perch__encoder_lists_clear(struct encoder_lists *lists);

/* Returns the words of the list of a number. */
static inline const uint32_t *perch__encoder_words(const struct encoder_lists *lists,
						   uint32_t number, size_t *nr)
{
	size_t first = number > 1 ? lists->end[number - 2] : 0;

	*nr = lists->end[number - 1] - first;
	return lists->word + first;
}

/* ---- items: texts are numbers in perch_encoder.texts, of which 0 is "" ---- */

struct encoder_mapping {
	uint64_t start, limit, offset;
	uint32_t path;	   /* text */
	uint32_t build_id; /* number of a label; 0: none */
	uint32_t functions, lines;
};

struct encoder_function {
	uint32_t name, system_name, file; /* texts */
	uint32_t start_line;
};

struct encoder_location {
	uint64_t own_address; /* 0 of a location that several addresses share */
	uint32_t mapping;     /* number */
	uint32_t lines;	      /* number of a list: functions, each with its line; 0: none */
	uint32_t type;	      /* number of a label; 0: none */
	uint32_t unused;
	/* no key: */
	uint64_t address; /* the first one */
	uint64_t several; /* addresses */
};

struct encoder_stack {
	uint32_t callers, location; /* numbers */
};

struct encoder_label {
	int64_t number;
	uint32_t key, text, unit; /* texts */
	uint16_t is_text, resource;
};

struct encoder_sum {
	uint32_t event; /* index */
	uint32_t stack, labels;
	uint32_t unused;
	/* no key: */
	uint64_t samples, value;
};

/* A sample with its time. */
struct encoder_time {
	uint64_t time;
	uint64_t value; /* as the format has it */
	uint32_t sum;	/* number */
};

struct encoder_event {
	uint64_t period, sample_ns;
	uint32_t name, unit; /* texts */
};

struct perch_encoder {
	struct perch_encoder_options options;
	struct encoder_event *event; /* copies of options.events */
	uint32_t cpu;		     /* index of the event of CPU time; NO_INDEX: none */
	uint32_t labels;	     /* number of the set of options.labels; 0: none */
	uint8_t profile_id[16];
	bool several; /* samples that were added with one time */

	struct export_texts texts;
	struct encoder_items mappings, functions, locations, stacks, label, sums;
	struct encoder_lists lines, label_sets; /* of functions and lines; of label */
	struct encoder_time *time;
	size_t nr_times;
};

#define ENCODER_ITEM(type, items, number) \
	(&((const struct type *)(const void *)(items).item)[(number)-1])

static inline uint32_t perch__encoder_text(struct perch_encoder *encoder, const char *text)
{
	return perch__export_texts_add(&encoder->texts, text);
}

/* ---- encoder_output.c ---- */

/* Bytes of a message: messages that follow each other are one message with the elements of all. */
struct encoder_bytes {
	uint8_t *byte;
	size_t nr;
};

/* Appends a message. Returns 0, -ENOMEM, or -EFBIG for more than 2 GiB. */
int perch__encoder_put(struct encoder_bytes *bytes, const struct ProtobufCMessage *message);

/* A file. */
struct encoder_output {
	FILE *out;
	struct gzip *gzip; /* NULL: it is not compressed */
	uint64_t size;
	int error; /* of a write: an errno, or 0 */
};

/* Writes bytes and makes them none. Returns 0, or -EFBIG if the file has more than 2 GiB. */
int perch__encoder_flush(struct encoder_output *output, struct encoder_bytes *bytes);

/* ---- formats: they return 0, -ENOMEM or -EFBIG ---- */

int perch__encoder_pprof(struct perch_encoder *encoder, struct encoder_output *output);
int perch__encoder_otlp(struct perch_encoder *encoder, struct encoder_output *output);

#endif
