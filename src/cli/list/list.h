/* SPDX-License-Identifier: MIT */
/* The events of a machine, as `perch list` shows them. */
#ifndef PERCH_CLI_LIST_H
#define PERCH_CLI_LIST_H

#include <dirent.h>
#include <perch/event.h>
#include <perch/explain.h>

/* In the order shown; the texts of a kind are in list_kinds.c. */
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
	LIST_UNTRIED, /* not a generic event */
	LIST_WORKS,
	LIST_UNSUPPORTED, /* the machine has no such event */
	LIST_FORBIDDEN	  /* this user may not */
};

struct list_event {
	char *name;
	const char *alias; /* NULL: none */
	enum list_kind kind;
	enum list_state state;
	bool form;		     /* how such events are written, rather than one of them */
	const struct perch_pmu *pmu; /* whose event it is, or whose formats; NULL: none */
	char *terms;		     /* of a PMU's event: what it is short for; NULL */
	char *unit, *scale;	     /* as sysfs tells; NULL */
	struct perch_error reason;   /* when it does not work */
};

/* What the user wants to see: events of these kinds whose names match a word. */
struct list_filter {
	unsigned kinds; /* bit n: kind n; 0: of all kinds */
	char **words;
	size_t nr_words; /* 0: whatever the name */
};

struct list {
	struct perch_machine *machine;
	struct list_filter filter;
	bool details;
	struct list_event *event;
	size_t nr;
	struct perch_error no_tracepoints; /* why they are missing; kind NONE: they are not */
};

/* list_kinds.c */
struct list_kind_text {
	const char *label, *slug, *plural; /* as shown, in JSON, in a sentence */
	const char *words[4];		   /* what asks for it */
};
extern const struct list_kind_text list_kinds[LIST_KINDS];
/* Adds the kinds that a word asks for. False: it is no such word. */
bool list_kind_word(const char *word, unsigned *kinds);
/* "not supported" */
const char *list_state_text(enum list_state state);

/* list_gather.c: fills list->event in the order shown. Tries generic events on this process, each
 * opened stopped and closed again. */
int list_gather(struct list *list, struct perch_error *err);
void list_clear(struct list *list);
/* list_found.c: adds an event that the filter wants: *added is then the new event, else NULL. 0 or
 * -ENOMEM. */
int list_add(struct list *list, enum list_kind kind, const char *name, const char *alias,
	     struct list_event **added);
/* A folder's entries in the order of their names, but hidden ones: how many, or -errno. To be freed
 * by the other. */
int list_names_in(const char *path, struct dirent ***names);
void list_free_names(struct dirent **names, int nr);
/* Opens the event, stopped and without the kernel's side, on this process, and closes it again:
 * does it work? */
void list_try(struct list *list, struct list_event *event, uint32_t type, uint64_t config);
/* list_pmu.c: the events and formats of PMUs. 0 or -ENOMEM. */
int list_gather_pmus(struct list *list);
int list_gather_formats(struct list *list);
/* list_forms.c: what is written rather than named: breakpoints, probes, names of libpfm4. 0 or
 * -ENOMEM. */
int list_gather_forms(struct list *list, enum list_kind kind);

/* One format of a PMU, or one field of a tracepoint. A function given some of them returns 0 to go
 * on. */
struct list_part {
	char name[128];
	char text[256];	       /* format: "config:0-7"; field: its type */
	unsigned offset, size; /* field: bytes, of an array as a whole */
	/* field: elements of an array; 0: it is none, or of no fixed size */
	unsigned count;
	bool is_signed, common; /* field: of every tracepoint */
};
typedef int list_part_call(void *context, const struct list_part *part);
/* Calls with each format of the event's PMU, by name. */
int list_each_format(const struct list *list, const struct perch_pmu *pmu, list_part_call *call,
		     void *context);
/* list_fields.c: calls with each field of a tracepoint "system:name", in their order. */
int list_each_field(const struct list *list, const char *tracepoint, list_part_call *call,
		    void *context);

/* list_nearest.c: what was meant by a word that nothing matches, on stderr, where something is
 * near. */
void list_tell_nearest(const struct list *list, const char *word);

/* list_json.c, list_text.c: exit status. */
int list_print_json(const struct list *list);
void list_print_text(const struct list *list);

#endif
