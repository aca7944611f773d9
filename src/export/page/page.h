/* SPDX-License-Identifier: MIT */
/*
 * The data of a flame-graph page and of a static picture. They are made from the samples of an
 * export (page.c) or from text (page_text.c):
 *
 *	samples (page.c), text (page_text.c) -> struct page -> page_data.c -> *.js
 *						   |-> svg.c
 */
#ifndef PERCH_EXPORT_PAGE_H
#define PERCH_EXPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash_table.h"

struct perch_error;
struct perch_export;
struct export_states;

#define PAGE_NONE UINT32_MAX

/* Kinds of functions; data.js has the same numbers. */
enum page_kind {
	PAGE_USER,
	PAGE_KERNEL,
	PAGE_JIT,
	PAGE_UNKNOWN,
	PAGE_INLINED = 4, /* added to one of the others */
};

/* ---- numbers of one kind each: the compiler does not let one be mistaken for another ---- */

struct page_text_id {
	uint32_t nr; /* offset in page.text */
};
struct page_function_id {
	uint32_t nr; /* in page.function[]; so are the others */
};
struct page_location_id {
	uint32_t nr;
};
struct page_node_id {
	uint32_t nr;
};
struct page_thread_id {
	uint32_t nr;
};
struct page_event_id {
	uint32_t nr;
};
struct page_entry_id {
	uint32_t nr;
};
/* No item of a kind (text, function, ...): there is none, or no memory for it. */
#define PAGE_NO(kind) ((struct page_##kind##_id){ PAGE_NONE })

/* ---- tables ---- */

struct page_function {
	struct page_text_id name, dso;
	uint32_t kind; /* enum page_kind */
};

struct page_location {
	struct page_function_id function;
	struct page_text_id file;
	uint32_t line; /* 0: unknown */
};

/* A stack: a location and the stack of its callers. The root has no location. */
#define PAGE_ROOT ((struct page_node_id){ 0 })
struct page_node {
	struct page_node_id parent;
	struct page_location_id location;
};

struct page_event {
	struct page_text_id name;
	uint32_t is_clock; /* periods are nanoseconds */
	/* of text: the name of the only event that is joined under the name; 0: there are several,
	 * or it is the name */
	struct page_text_id single;
};

struct page_thread {
	uint32_t pid, tid;
	struct page_text_id comm;
};

/* The samples of one stack, thread, event and state of the thread (enum export_state). old is 1 in
 * the recording to compare with, else 0. */
struct page_entry {
	struct page_node_id node;
	struct page_thread_id thread;
	struct page_event_id event;
	uint32_t old, state;
	uint64_t samples, period;
};

/* A sample, or several of one time and CPU. */
struct page_sample {
	uint64_t time, period; /* ns */
	struct page_entry_id entry;
	uint32_t cpu; /* PAGE_NONE: unknown */
};

struct page {
	char *text; /* each text once, with its NUL; offset 0 is "" */
	size_t nr_bytes;
	struct page_function *function;
	struct page_location *location;
	struct page_node *node;
	struct page_thread *thread;
	struct page_entry *entry;
	struct page_sample *sample; /* empty if times and CPUs are unknown */
	struct page_event *event;
	struct page_text_id *note; /* lines that the page shows */
	size_t nr_functions, nr_locations, nr_nodes, nr_threads, nr_entries, nr_samples, nr_events,
		nr_notes;
	struct perch__hash_table texts, functions, locations, nodes, threads, events, entries;
	/* Functions of one name are one, because folded stacks, with which the others are compared,
	 * have no DSOs, and few marks of kinds. */
	bool by_name;
	struct perch__hash_table names;	      /* with by_name: of functions */
	struct page_text_id title, old_title; /* old_title: 0 if there is nothing to compare with */
	bool has_cpus, has_times;
	bool has_counts; /* some entries have a number that may not be that of samples */
	/* What threads and CPUs did, of the export; NULL: unknown. row_name: of each track. */
	const struct export_states *states;
	struct page_text_id *row_name;
	unsigned digits; /* behind the point: all numbers of samples and periods are / 10^digits */
};

#define PAGE_MAX_DIGITS 9

/* ---- page_model.c: functions return an item, or PAGE_NO() if out of memory ---- */

/* Returns 0 or -ENOMEM. page_clear() is allowed after a failure. */
int perch__page_init(struct page *page);
void perch__page_clear(struct page *page);

struct page_text_id perch__page_text(struct page *page, const char *text);
struct page_function_id perch__page_function(struct page *page, const char *name, const char *dso,
					     uint32_t kind);
struct page_location_id perch__page_location(struct page *page, struct page_function_id function,
					     const char *file, uint32_t line);
/* The same, of items of the page. If one is PAGE_NO(), so is the result. */
struct page_function_id perch__page_function_of(struct page *page,
						const struct page_function *wanted);
struct page_location_id perch__page_location_of(struct page *page,
						const struct page_location *wanted);
struct page_thread_id perch__page_thread_of(struct page *page, const struct page_thread *wanted);
struct page_node_id perch__page_child(struct page *page, struct page_node_id parent,
				      struct page_location_id location);
struct page_thread_id perch__page_thread(struct page *page, uint32_t pid, uint32_t tid,
					 const char *comm);
struct page_event_id perch__page_event(struct page *page, const char *name, bool is_clock);
/* The same for a name in a text, where one name on several kinds of cores is one event. */
struct page_event_id perch__page_text_event(struct page *page, const char *name, bool is_clock);
/* The name of an event. */
const char *perch__page_event_name(const struct page *page, struct page_event_id event);
/* The event with the most samples that are not to compare with; 0: there is none. samples: those of
 * other events. */
struct page_event_id perch__page_main_event(const struct page *page, uint64_t *others);
/* Finds the entry of wanted (its samples and period are not compared), or adds it with 0 samples.
 */
struct page_entry_id perch__page_entry(struct page *page, const struct page_entry *wanted);
/* Makes the digits behind the point at least as many. Returns 0, or -EOVERFLOW if a number is too
 * large; the page is then as before. */
int perch__page_set_digits(struct page *page, unsigned digits);
/* Adds a line that the page shows. Returns 0 or -ENOMEM. */
int perch__page_note(struct page *page, const char *text);

/*
 * Numbers the nodes again so that each is followed by its children, and sorts the entries by node.
 * Returns 0 or -ENOMEM.
 */
int perch__page_sort(struct page *page);

/* ---- page_merge.c ---- */

/* Adds the tables of another page. old: to compare with; of these it has no samples. Returns 0 or
 * -ENOMEM. */
int perch__page_merge(struct page *to, const struct page *from, bool old);

/* ---- page.c ---- */

/* Fills the tables of a page or picture. Returns 0 or -ENOMEM; the caller clears them in both
 * cases. */
int perch__export_make_page(struct perch_export *export, struct page *page);

/* Writes a text for HTML and SVG: it has no markup. Returns 0 or a negative errno. */
int perch__page_put_text(const char *text, FILE *out);
/* Fills err for what the functions above and below return. Returns rc. */
int perch__page_error(int rc, struct perch_error *err);

/* ---- page_block.c ---- */

/* A block of numbers and texts. */
struct page_block {
	unsigned char *byte;
	size_t nr, capacity;
	bool failed; /* out of memory */
};

/* Appends a number of any size. */
void perch__page_put_number(struct page_block *block, uint64_t number);
void perch__page_put_bytes(struct page_block *block, const char *bytes, size_t nr);
/* Writes a column of a table: expression is evaluated for each i. */
#define PUT_COLUMN(block, number, expression)                          \
	do {                                                           \
		for (size_t i = 0; i < (number); i++)                  \
			perch__page_put_number((block), (expression)); \
	} while (0)

/* ---- page_data.c ---- */

/* Writes bytes. Returns 0 or a negative errno. */
int perch__page_put(const void *bytes, size_t nr, FILE *out);
/* Writes the data block: numbers, compressed by zlib, in base64. Returns 0 or a negative errno. */
int perch__page_put_data(const struct page *page, FILE *out);

/* ---- page_states.c ---- */

/* Chooses the threads and CPUs that have rows. Returns 0 or -ENOMEM. */
int perch__page_add_states(struct page *page, struct export_states *states);
/* Writes the rows. number: of the texts, by offset; first: the time that is 0. */
void perch__page_put_states(struct page_block *block, const struct page *page,
			    const uint32_t *number, uint64_t first);

#endif
