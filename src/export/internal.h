/* SPDX-License-Identifier: MIT */
/*
 * Writes the samples of a session in the formats of other tools. Samples are added up by stack of
 * addresses, thread and event: a stack is a node that has an address and the node of its callers.
 * Formats with times get each sample, too. A flame-graph page is the files of page/, which
 * page/assets.py makes C arrays of, and a data block; its script makes every view of the block.
 * Names in it are set as text, never as markup. A file calls only files below its own:
 *
 *	export.c			the table of formats, and perch/export.h
 *	page/page_text.c		pages from folded stacks and other text
 *	  page/page_script.c		  from the output of perf script
 *	    page/page_script_header.c	    the start of a sample in it
 *	page/svg.c			a picture of the tables of a page
 *	page/page.c			pages of samples
 *	  page/page_merge.c		  the tables of one page added to another
 *	  page/page_text_parts.c	  names, numbers and samples of texts
 *	  page/page_data.c		  the data block
 *	    page/page_states.c		    rows of threads and CPUs in it
 *	  page/page_model.c		  tables in which each item is once
 *	  page/page_sort.c		  their order
 *	  page/page_block.c		  numbers and bytes of the data block
 *	firefox/firefox.c		the Firefox Profiler's format
 *	  firefox/firefox_counters.c	  counts of groups
 *	  firefox/firefox_threads.c	  threads with samples and markers
 *	  firefox/firefox_tables.c	  tables that the threads share
 *	perfetto/perfetto.c		Perfetto's format
 *	  perfetto/perfetto_schedule.c	  switches and wakeups of CPUs
 *	  perfetto/perfetto_samples.c	  samples and counts
 *	  perfetto/perfetto_packet.c	  packets
 *	encode.c			pprof and OTLP: samples for an encoder
 *	  encode_mappings.c		  where addresses are in its profile
 *	  encoder/encoder_write.c	  perch/encoder.h: profiles of any stacks
 *	    encoder/pprof.c		    pprof's format
 *	    encoder/otlp.c		    OTLP: profiles, their samples and resources
 *	      encoder/otlp_dictionary.c	      what they refer to
 *	      encoder/encoder_output.c	      messages, one after the other
 *	  encoder/encoder_events.c	  events of the kernel
 *	  encoder/encoder.c		  what is added to a profile
 *	    encoder/encoder_tables.c	    tables in which each item is once
 *	json.c				JSON for scripts
 *	speedscope.c			speedscope's format
 *	folded.c			folded stacks
 *	schedule.c			when threads ran, and who woke them
 *	markers.c			what happened at a time: switches, mappings, tracepoints
 *	collect.c			threads, and single samples with their times
 *	  batch.c			  samples by stack of addresses, many at a time, in a thread
 *	states.c			what threads and CPUs did, in bounded memory
 *	tree.c				stacks of functions, made from those of addresses
 *	frames.c			the functions at an address
 *	events.c			the events, and which of them is shown first
 *	recording.c			facts about the recording
 *	tracks.c			single samples by thread and event
 *	texts.c				texts, each once
 *	json_file.c			what the formats in JSON share
 *	gzip.c				compression, in a thread if the program allows it
 *	result.c			errors of writing
 */
#ifndef PERCH_EXPORT_INTERNAL_H
#define PERCH_EXPORT_INTERNAL_H

#include <stdbool.h>
#include <string.h>
#include <perch/export.h>

#include "base/hash_table.h"
#include "base/json_writer.h"
#include "base/kernel/core_events.h"
#include "base/no_memory.h"

#define NO_INDEX UINT32_MAX

/* ---- recording.c: facts about the recording ---- */

/* The unit of an event's periods: "nanoseconds" or "count". */
const char *perch__export_unit(const struct perch_file_event *event);
/* Returns a time of the recording's clock in ns since 1970; 0 if the recording does not have the
 * time of day of its clock. */
uint64_t perch__export_time_of_day(const struct perch_export *export, uint64_t time);
/* Returns, by index of an event, its position among the events that are written; NO_INDEX for a
 * dummy event without samples, which is not written. The caller frees the array, which is NULL
 * without memory. */
uint32_t *perch__export_event_positions(const struct perch_export *export, size_t *nr_written);

/* ---- events.c: the events ---- */

/* An event of the recording. */
struct export_event {
	uint32_t leader;  /* the first of the events that are one; its own index: it is the first */
	char *name;	  /* of joined events; NULL: that of the recording */
	uint64_t samples; /* of a leader, with those of its other events */
	bool selected;	  /* by perch_export_options.event */
};

/* Finds the events that are one. Returns 0 or -ENOMEM. */
int perch__export_events_open(struct perch_export *export);
void perch__export_events_close(struct perch_export *export);
/* The name of a leader. It is not cleaned. */
const char *perch__export_event_name(const struct perch_export *export, uint32_t index);
/* Selects events by a name. Returns 0, or -EINVAL. */
int perch__export_select(struct perch_export *export, const char *wanted, struct perch_error *err);
/* The event that was selected, else the one with the most samples; NO_INDEX: none. */
uint32_t perch__export_main_event(const struct perch_export *export);

/* ---- texts.c: texts, each once, numbered from 0 in the order they are added ---- */

struct export_texts {
	char *text; /* all texts, each with its NUL */
	size_t nr_bytes;
	uint32_t *offset; /* by number */
	size_t nr;
	struct perch__hash_table table;
};

/* Returns the number of a text; NO_INDEX if out of memory. The caller has set table.seed. */
uint32_t perch__export_texts_add(struct export_texts *texts, const char *text);
void perch__export_texts_clear(struct export_texts *texts);

static inline const char *perch__export_text(const struct export_texts *texts, uint32_t number)
{
	return texts->text + texts->offset[number];
}

/* ---- json_file.c: what the formats in JSON share ---- */

struct json_file {
	struct perch__output out;
	struct perch__json_writer json;
};

int perch__json_file_open(struct json_file *file, FILE *out); /* 0 or -ENOMEM */
/* Flushes and closes. rc is that of the writing; fills err. Returns 0 or a negative errno. */
int perch__json_file_close(struct json_file *file, int rc, struct perch_error *err);

/* nanoseconds as milliseconds with all digits */
void perch__json_put_ms(struct json_file *file, const char *name, uint64_t ns);

/* ---- collect.c: samples, added up ---- */

/* The end of a stack of addresses: an address, and the stack of its callers. */
struct stack_node {
	uint32_t parent;  /* index; NO_INDEX: none, it is the outermost address */
	uint32_t address; /* number for perch_session_address() */
	uint32_t entry;	  /* index of its first entry; NO_INDEX: none */
	bool calls;	  /* as a caller it is a return address; see perch__collect_callers() */
};

/* A thread under one name, in one cgroup. Members that the format does not have are 0. */
struct thread_name {
	uint32_t pid, tid, comm_index;
	char *comm;	    /* cleaned */
	const char *cgroup; /* path of perch_processes_cgroup_name(); NULL: none */
};

/* The samples of one stack, thread, event and state. */
struct export_entry {
	uint32_t stack, thread, event; /* indexes; stack NO_INDEX: no address */
	uint32_t state;		       /* enum export_state; 0 without EXPORT_MERGED */
	uint64_t samples, period;
};

/* A single sample. Formats with EXPORT_TIMES have them, in the order they were added: by time. */
struct occurrence {
	uint64_t time; /* ns; 0 if the event has no times */
	uint64_t period;
	uint32_t entry; /* index */
	uint32_t cpu;	/* NO_INDEX if the event has no CPUs */
};

enum {
	EXPORT_ONE_EVENT = 1 << 0,  /* has the samples of one event */
	EXPORT_ANY_THREAD = 1 << 1, /* threads are distinct by the options pid and tid only */
	EXPORT_TIMES = 1 << 2,	    /* has single samples */
	EXPORT_SCHEDULE = 1 << 3,   /* has switches and wakeups of threads: schedule.h */
	EXPORT_CGROUPS = 1 << 4,    /* threads have their cgroup */
	EXPORT_MAY_TIME = 1 << 5,   /* has single samples by the option timestamps */
	EXPORT_MERGED = 1 << 6,	    /* with it: states of threads in bounded memory: states.h */
};

/* What happened in a thread at a time, or during a time. */
struct marker {
	uint64_t start, end; /* ns; equal for a moment; end UINT64_MAX: until the recording ends */
	uint32_t thread;     /* index */
	uint32_t kind;	     /* enum marker_kind, or MARKER_EVENT + index of the event */
	uint32_t occurrence; /* index: its sample, with a call chain; NO_INDEX: none */
	size_t first, nr;    /* bytes of markers.text: a JSON object */
};

enum marker_kind {
	MARKER_OFF_CPU,
	MARKER_MAPPING,
	MARKER_LOST,
	MARKER_EVENT, /* and larger ones */
};

struct off_cpu {
	uint64_t since; /* ns; 0: the thread is on a CPU */
	bool preempted;
};

struct markers {
	struct marker *marker;
	size_t nr;
	struct off_cpu *off_cpu; /* by thread */
	size_t nr_threads;
	FILE *stream; /* writes text; NULL before the first marker */
	char *text;
	size_t size;
	struct json_file file;
};

struct perch_export_format_methods {
	/* Writes the file; the caller flushes out. */
	int (*write)(struct perch_export *export, FILE *out, struct perch_error *err);
	unsigned flags;
};

struct perch_export {
	struct perch_session *session;
	const struct perch_export_format_info *format;
	struct perch_export_options options;
	struct perch_export_stats stats;
	struct export_event *event; /* by index in perch_reader_events() */
	size_t nr_events;
	/* of folded stacks, of the samples of the Firefox Profiler; NO_INDEX: none */
	uint32_t main_event;
	struct page *text;		/* stacks of perch_export_add_text(); NULL: none */
	uint64_t first_time, last_time; /* ns; 0 if samples have no time */

	struct stack_node *stack;
	struct thread_name *thread;
	struct export_entry *entry;
	struct occurrence *occurrence;
	struct markers markers;
	struct export_schedule *schedule; /* NULL if the format has none */
	size_t nr_stacks, nr_threads, nr_entries, nr_occurrences;
	struct perch__hash_table stacks, threads, entries;
	/* samples that are not added up yet; with times, they count in nr_occurrences */
	struct export_batches *batches;
};

static inline bool perch__export_has_times(const struct perch_export *export)
{
	unsigned flags = export->format->methods->flags;

	return flags & EXPORT_TIMES || (flags & EXPORT_MAY_TIME && export->options.timestamps);
}

/* Threads are distinct by their id. */
static inline bool perch__export_has_tids(const struct perch_export *export)
{
	return !(export->format->methods->flags & EXPORT_ANY_THREAD) || export->options.tid;
}

/* Threads are distinct by the id of their process. */
static inline bool perch__export_has_pids(const struct perch_export *export)
{
	return perch__export_has_tids(export) || export->options.pid;
}

/* Adds a sample. *thread is the index of its thread. Returns 0 or -ENOMEM. */
int perch__collect_add(struct perch_export *export, const struct perch_session_sample *sample,
		       uint32_t *thread);
/* Finds which callers have return addresses, after the last sample. */
void perch__collect_callers(struct perch_export *export);
void perch__collect_clear(struct perch_export *export);
/* Finds a thread under its present name, and adds it if it is new. Returns 0 or -ENOMEM. */
int perch__export_thread(struct perch_export *export, const struct perch_thread *thread,
			 const char *cgroup, uint32_t *index);

/* ---- batch.c: stacks and entries of many samples at a time ---- */

struct export_batches *perch__export_batches_new(void); /* NULL: no memory */
/* Ends the thread. Returns true in a child of fork(2), which does not have it. */
bool perch__export_batches_free(struct export_batches *batches);
/* A child of fork(2) has no thread that adds up. */
bool perch__export_batches_are_forked(const struct export_batches *batches);
/* Adds a sample to the batch, which is added up if it is full. Its occurrence, if the format has
 * them, is the last one. Returns 0 or -ENOMEM. */
int perch__export_batches_add(struct perch_export *export,
			      const struct perch_session_sample *sample, uint32_t thread);
/* For a sample that is not added: its addresses wait for their numbers, too. Returns 0 or -ENOMEM.
 */
int perch__export_batches_skip(struct perch_export *export,
			       const struct perch_session_sample *sample);
/* Adds up all samples, and ends the thread. Returns 0 or -ENOMEM; then it fails again. */
int perch__export_batches_end(struct perch_export *export);

/* ---- markers.c ---- */

/* Adds a record that is not a sample, if it makes a marker. Returns 0 or -ENOMEM. */
int perch__markers_add_record(struct perch_export *export, const struct perch_record *record);
/* Adds the last occurrence, of a tracepoint, as a marker with its fields. Returns 0 or -ENOMEM. */
int perch__markers_add_sample(struct perch_export *export,
			      const struct perch_session_sample *sample, uint32_t thread);
/* Ends the markers: their text is complete. Returns 0 or -ENOMEM. */
int perch__markers_end(struct perch_export *export);
void perch__markers_clear(struct markers *markers);

/* ---- frames.c: the functions at an address ---- */

/*
 * Returns the functions at an address, innermost first: the inlined ones, then the function of
 * perch_address.symbol. is_caller: it is a return address, so the function and the line of the call
 * before it are meant. The frames are valid until the next call. Returns their number, at least 1,
 * or -ENOMEM.
 */
int perch__export_frames(struct perch_export *export, uint32_t number, bool is_caller,
			 const struct perch_symbol_frame **frames);

/* As perch_symbols_name_shown(); buffer has PERCH__EXPORT_NAME bytes. */
#define PERCH__EXPORT_NAME 4096
const char *perch__export_name(struct perch_export *export, const struct perch_address *address,
			       const struct perch_symbol *symbol, char *buffer);

/* The identity of a function, or of the code of a DSO that no function covers. */
static inline uint64_t perch__export_function_key(const struct perch_address *address,
						  const struct perch_symbol *symbol)
{
	return symbol ? (uint64_t)symbol->index << 1 : (uint64_t)address->dso->index << 1 | 1;
}

/* The number of the largest address in stacks, and one more. */
size_t perch__export_nr_addresses(const struct perch_export *export);

/* What a format has found for addresses: lists of numbers, such as indexes of frames. Most
 * addresses are in several stacks. */
struct export_lists {
	uint32_t *at[2]; /* by is_caller and address: index in number; NO_INDEX: no list yet */
	uint32_t *number;
	size_t nr_numbers;
};

/* Returns 0 or -ENOMEM; the caller clears the lists in both cases. */
int perch__export_lists_open(struct export_lists *lists, const struct perch_export *export);
void perch__export_lists_clear(struct export_lists *lists);
/* Adds a list of nr numbers, which the caller sets: they follow nr. Returns NULL if out of memory.
 */
uint32_t *perch__export_lists_add(struct export_lists *lists, uint32_t address, bool is_caller,
				  uint32_t nr);

/* Returns nr and the numbers, which are valid until a list is added; NULL if there is no list yet.
 */
static inline const uint32_t *perch__export_list(const struct export_lists *lists, uint32_t address,
						 bool is_caller)
{
	uint32_t at = lists->at[is_caller][address];

	return at == NO_INDEX ? NULL : lists->number + at;
}

/* ---- tree.c: stacks of functions ---- */

enum function_kind {
	FUNCTION_USER,
	FUNCTION_KERNEL,
	FUNCTION_JIT,
	FUNCTION_UNKNOWN, /* no function covers the address: the name is that of the DSO */
};

struct export_function {
	uint32_t name, file; /* texts; file NO_INDEX: unknown */
	uint32_t dso;	     /* perch_dso.index */
	enum function_kind kind;
	bool inlined;
};

/* A function at a line. */
struct export_frame {
	uint32_t function; /* index */
	uint32_t line;	   /* 0 if unknown */
};

/* A frame below its callers. Parents have lower indexes than their children. */
struct export_node {
	uint32_t parent; /* index; NO_INDEX: none */
	uint32_t frame;	 /* index */
};

struct export_tree {
	struct export_texts texts;
	struct export_function *function;
	struct export_frame *frame;
	struct export_node *node;
	size_t nr_functions, nr_frames, nr_nodes;
	uint32_t *leaf; /* by index of an entry: the node of its innermost frame; NO_INDEX: none */
};

enum export_lines {
	EXPORT_MERGE_LINES, /* a function is one frame; its line is the first one seen */
	EXPORT_EACH_LINE,   /* each line of a function is a frame of its own */
};

/* Makes the tree of all entries. Returns 0 or -ENOMEM; the caller clears the tree in both cases. */
int perch__export_tree(struct perch_export *export, enum export_lines lines,
		       struct export_tree *tree);
void perch__export_tree_clear(struct export_tree *tree);

/* ---- tracks.c: single samples by thread and event ---- */

struct track {
	uint32_t thread, event;
	size_t first, nr; /* range of export_tracks.order */
};

struct export_tracks {
	struct track *track; /* sorted by thread, then by event */
	size_t nr;
	uint32_t *order; /* indexes of occurrences, by track, each in the order of time */
};

/* Sorts the single samples. Returns 0 or -ENOMEM; the caller clears the tracks in both cases. */
int perch__export_tracks(const struct perch_export *export, struct export_tracks *tracks);
void perch__export_tracks_clear(struct export_tracks *tracks);

/* ---- gzip.c: compression; failed writes are found at the end, by the flags of out ---- */

struct gzip;

/* threads: the compression may have a thread, which alone uses out until perch__gzip_close().
 * Returns NULL if out of memory. */
struct gzip *perch__gzip_open(FILE *out, bool threads);
void perch__gzip_write(struct gzip *gzip, const void *bytes, size_t size);
/* Writes the rest. Returns 0, or the errno of a write that has failed. NULL is allowed. */
int perch__gzip_close(struct gzip *gzip);

/* ---- result.c: errors of writing ---- */

/* Sets the error of a write that has failed with an errno. Returns the negative errno. */
int perch__export_cannot_write(int error, struct perch_error *err);
/*
 * Sets the error of a protobuf file, if there is one. rc: -ENOMEM, or another negative errno if a
 * message is too large; what: that is in it; error: of perch__gzip_close(). Returns 0 or a negative
 * errno.
 */
int perch__export_protobuf_result(int rc, int error, const char *what, struct perch_error *err);
/* Flushes a file. Returns 0 or a negative errno. */
int perch__export_flush(FILE *out, struct perch_error *err);
/* Sets the error of a format that this build does not have. Returns -ENOTSUP. */
int perch__export_not_built(const char *format, struct perch_error *err);

/* ---- formats ---- */

int perch__export_firefox(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_folded(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_json(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_otlp(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_pprof(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_perfetto(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_page(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_speedscope(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_svg(struct perch_export *export, FILE *out, struct perch_error *err);

#endif
