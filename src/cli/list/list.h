/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch list`. A file calls only files below its own:
 *
 *	list.c			the command
 *	list_file.c		functions and USDT probes of a file
 *	list_text.c		events as text
 *	list_json.c		events as JSON
 *	list_gather.c		finds the events of the machine
 *	  list_forms.c		  events with arguments
 *	  list_pmu.c		  events and terms of the PMUs of sysfs
 *	list_fields.c		fields of a tracepoint
 *	list_event.c		kinds and states, the filter, the test of an event
 */
#ifndef PERCH_CLI_LIST_H
#define PERCH_CLI_LIST_H

#include <dirent.h>
#include <perch/event.h>
#include <perch/explain.h>

/* In the order of the output. list_kinds has their texts. */
enum list_kind {
	LIST_HARDWARE,
	LIST_SOFTWARE,
	LIST_CACHE,
	LIST_PMU,
	LIST_RAW,
	LIST_BREAKPOINT,
	LIST_PROBE,
	LIST_PFM,
	LIST_TRACEPOINT,
	LIST_KINDS
};

enum list_state {
	LIST_NOT_TRIED,
	LIST_WORKS,
	LIST_NOT_SUPPORTED, /* the machine has no such event */
	LIST_NOT_PERMITTED  /* this user may not open it */
};

struct list_event {
	char *name;
	const char *alias; /* or NULL */
	enum list_kind kind;
	enum list_state state;
	bool form; /* the name is a form with placeholders, such as "rNNN", and not an event */
	const struct perch_pmu *pmu; /* of an event or form of one PMU, or NULL */
	char *terms;		     /* contents of the PMU's events file, or NULL */
	char *unit, *scale;	     /* from sysfs, or NULL */
	struct perch_error reason;   /* the reason why it does not work */
};

/* Selects events by kind and name. */
struct list_filter {
	unsigned kinds; /* bit n selects kind n; 0 selects all */
	char **words;	/* patterns for names; an event matches one of them */
	size_t nr_words;
};

struct list {
	struct perch_machine *machine;
	struct list_filter filter;
	bool json, details;
	const char *file; /* -x, or NULL */
	struct list_event *event;
	size_t nr, capacity;
	struct perch_error no_tracepoints; /* why events are missing; kind NONE if none are */
};

/* list_event.c */
struct list_kind_text {
	const char *label, *slug, *plural; /* in the text output, in JSON, in a sentence */
	const char *words[4];		   /* operands of `perch list` that select the kind */
};
extern const struct list_kind_text list_kinds[LIST_KINDS];
/* Adds the kinds that an operand selects. Returns false when it selects none. */
bool list_kind_word(const char *word, unsigned *kinds);
/* Returns the state as text: "not supported" and so on. */
const char *list_state_text(enum list_state state);
/* True if a name, or another one that may be NULL, matches a word of the filter. */
bool list_wanted(const struct list_filter *filter, const char *name, const char *alias);
/* Adds an event if the filter selects it. *added is the event or NULL. Returns 0 or -ENOMEM. */
int list_add(struct list *list, enum list_kind kind, const char *name, const char *alias,
	     struct list_event **added);
/* Opens and closes the event, disabled and for user space, on this process. Sets its state. */
void list_try(struct list *list, struct list_event *event, uint32_t type, uint64_t config);
/* Sets the state if breakpoints never fire here. */
void list_try_breakpoints(struct list *list, struct list_event *event);
/* Lists the entries of a directory, sorted by name, without hidden ones. Returns their number or a
 * negative errno. */
int list_read_directory(const char *path, struct dirent ***names);
void list_free_names(struct dirent **names, int nr);

/* list_gather.c: fills list->event in the order of the output, and tries generic events. */
int list_gather(struct list *list, struct perch_error *err);
void list_clear(struct list *list);
/* list_pmu.c: named events, and forms from format files. Returns 0 or -ENOMEM. */
int list_gather_pmus(struct list *list);
int list_gather_formats(struct list *list);
/* list_forms.c: forms of breakpoints, probes and others. Returns 0 or -ENOMEM. */
int list_gather_forms(struct list *list, enum list_kind kind);

/* A format file of a PMU, or a field of a tracepoint. */
struct list_field {
	char name[128];
	char text[256];		/* "config:0-7" of a format file; the type of a field */
	unsigned offset, size;	/* bytes; size is that of the whole array */
	unsigned count;		/* elements of an array; 0 when not an array of fixed size */
	bool is_signed, common; /* common: every tracepoint has the field */
};
/* Is called for each field. Returns 0 to continue. */
typedef int list_visit(void *context, const struct list_field *field);
/* Visits the format files of a PMU, sorted by name. */
int list_visit_formats(const struct list *list, const struct perch_pmu *pmu, list_visit *visit,
		       void *context);
/* list_fields.c: visits the fields of a tracepoint "system:name", in their order. */
int list_visit_fields(const struct list *list, const char *tracepoint, list_visit *visit,
		      void *context);

/* list_file.c: prints what probes can be placed in a file. Returns an exit status. */
int list_file(const char *file, const struct list_filter *filter, bool json,
	      const struct perch_machine *machine);
/* list_json.c, list_text.c. The first returns an exit status. */
int list_print_json(const struct list *list);
struct perch__json_writer;
/* Writes one item of a list. */
typedef void list_put_item(struct perch__json_writer *json, const void *list, size_t nth);
/* Prints an array with one item per line, so that an item is found by grep. Returns the exit
 * status. */
int list_print_array(size_t nr, list_put_item *put, const void *list);
void list_print_text(const struct list *list);

#endif
