/* SPDX-License-Identifier: MIT */
/*
 * Event strings become attrs. A name may stand for several events, as a glob does, or "cycles" on
 * a hybrid machine; .first links them. An error has its byte offset in the text. Functions that
 * return int return 0 or a negative errno, unless stated otherwise, and set the error of the
 * parser. A file calls only files below its own:
 *
 *	probe/definitions.c	definitions of probes in tracefs (perch/probes.h)
 *	file.c			events from a file: joins its lines to one text
 *	parse.c			the grammar, by recursive descent
 *	pmu/pmu_match.c		the PMUs that a name matches
 *	pmu/pmu.c		"pmu/name,term=value/"
 *	pmu/hybrid.c		generic names on machines with several core PMUs
 *	pmu/pmu_event.c		the format and events directories of a PMU
 *	pmu/pfm.c		names of libpfm4
 *	probe/probe.c		uprobe:, kprobe:, usdt: and their returns
 *	  probe/probe_sites.c	  the sites of user probes in their file
 *	  probe/probe_glob.c	  the functions that match a glob
 *	  probe/probe_offset.c	  checks the offsets of user probes
 *	  probe/usdt.c		  USDT notes
 *	    probe/usdt_arguments.c  their arguments
 *	  probe/elf_demangled.c	  functions by demangled names
 *	  probe/elf_function.c	  functions in symbol tables
 *	  probe/find_dso.c	  the file of a name such as "libc"
 *	  probe/kernel_function.c  checks a function against /proc/kallsyms
 *	term_list.c		terms between slashes
 *	  terms.c		  the terms of all events
 *	  term_values.c		  their values
 *	modifier.c		modes, precision, how an event is scheduled
 *	group.c			constraints of a group
 *	tracepoint.c		system:name
 *	breakpoint.c		mem:ADDRESS
 *	filter.c		filters of tracepoints
 *	events.c		the list of events
 *	attr_name.c		the reverse: from an attr to a name
 *	generic.c		hardware, software and raw events; keywords
 *	  cache.c		  hardware cache events
 *	config.c		the config fields of an attr
 *	kernel_only.c		whether an event occurs only in the kernel
 *	suggestions.c		similar names
 *	lexer.c			tokens with their positions, and errors
 */
#ifndef PERCH_EVENT_INTERNAL_H
#define PERCH_EVENT_INTERNAL_H

#include <perch/event.h>

#include "base/nr.h"

#define PERCH__PMUS	  "/sys/bus/event_source/devices"

#define PERCH__EVENTS_MAX 65536 /* events of a list */
#define PERCH__WORD_SIZE  128	/* bytes of a word, with its NUL */
#define PERCH__FILTER_MAX 4095	/* bytes of a filter: the kernel accepts a page, with the NUL */

struct perch__kernel_functions;

enum perch__token_kind {
	PERCH__TOKEN_END,
	PERCH__TOKEN_WORD, /* of the characters that names and numbers have */
	PERCH__TOKEN_COMMA,
	PERCH__TOKEN_COLON,
	PERCH__TOKEN_SLASH,
	PERCH__TOKEN_EQUALS,
	PERCH__TOKEN_OPEN,    /* { */
	PERCH__TOKEN_CLOSE,   /* } */
	PERCH__TOKEN_INVALID, /* any other byte */
};

struct perch__token {
	enum perch__token_kind kind;
	size_t at; /* byte offset in the text */
	size_t length;
};

/* True if the machine has several core PMUs. */
enum perch__hybrid { PERCH__HYBRID_UNKNOWN, PERCH__HYBRID_NO, PERCH__HYBRID_YES };

/* What the modifiers of a group need to know about a member. */
enum perch__mark {
	PERCH__MARK_GUEST_HOST = 1 << 0, /* it has its own modifier G or H */
	PERCH__MARK_RENAMED = 1 << 1,	 /* it has name= */
};

struct perch__parser {
	const char *text;
	struct perch__token token;     /* the next token */
	struct perch_machine *machine; /* NULL until perch__need_machine() */
	bool own_machine;	       /* to be freed with the parser */
	enum perch__hybrid hybrid;
	struct perch__kernel_functions *kernel; /* NULL until the first kprobe */
	/* the event has set its config fields itself, so config terms are errors */
	bool config_fixed;
	struct perch_events *events;
	/* PERCH__MARK_* bits by event; events after the last one that has a bit are not in it */
	unsigned char *mark;
	size_t nr_marks;
	struct perch_error *err;
};

/* ---- lexer.c ---- */

/* Reads the token at offset `at`, or after the white space there. */
struct perch__token perch__token_at(const char *text, size_t at);
/* Writes a token for a message: "','", "'cycles'", "the end". Returns buffer. */
const char *perch__token_name(const char *text, const struct perch__token *token, char *buffer,
			      size_t size);
/* Moves to the next token. */
void perch__advance(struct perch__parser *parser);
/* Continues at an offset of the text, after a part that does not consist of tokens, such as a path.
 */
void perch__advance_to(struct perch__parser *parser, size_t at);
/* Sets the error, at an offset of the text. Returns -errnum. */
int perch__parse_error(struct perch__parser *parser, size_t at, int errnum,
		       enum perch_error_kind kind, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Sets the error "expected WHAT, found TOKEN". Returns -EINVAL. */
int perch__expected(struct perch__parser *parser, const char *what);
/* Copies the next token, which must be a word, and advances. what: for the error message. */
int perch__take_word(struct perch__parser *parser, char word[PERCH__WORD_SIZE], const char *what);
/*
 * Parses the number at offset *at of the text and moves *at to its end. It is hexadecimal after 0x,
 * else decimal, also after 0. Returns -EINVAL when it is not a number, -ERANGE for more than 64
 * bits.
 */
int perch__take_number(struct perch__parser *parser, size_t *at, uint64_t *value, const char *what);
/* Like perch__take_number(), for a number of exactly `length` bytes. Sets no error message. */
int perch__parse_number(const char *text, size_t length, uint64_t *value);
/* Makes parser->machine if the caller passed none. */
int perch__need_machine(struct perch__parser *parser);
bool perch__is_glob(const char *text);

/* ---- events.c ---- */

/* Appends an event without a type. Pointers to other events become invalid. Returns -ENOMEM, or
 * -E2BIG for too many events. */
int perch__add_event(struct perch__parser *parser, struct perch_event **event);
/* Marks the event with that index. Returns -ENOMEM. */
int perch__mark_event(struct perch__parser *parser, size_t index, enum perch__mark mark);
bool perch__is_marked(const struct perch__parser *parser, size_t index, enum perch__mark mark);
/* Removes the events from index `nr` on. */
void perch__drop_events(struct perch_events *events, size_t nr);

/* ---- generic.c, cache.c: names that do not depend on the machine ---- */

/* Sets type and config of a hardware, software, cache or raw event. False for other words. */
bool perch__find_generic_event(const char *word, struct perch_attr *attr);
/* Sets the config of a cache event. Returns false for other words. *legal is false for a name that
 * no cache has, such as "iTLB-stores". */
bool perch__find_cache_event(const char *word, uint64_t *config, bool *legal);
/* rNNN or r0xNNN, with up to 16 hexadecimal digits, as a term. */
bool perch__is_raw_term(const char *word, uint64_t *config);
/* True if the rest of an event that begins with this word and a colon is not a name: mem, pfm and
 * probes. */
bool perch__is_keyword(const char *word);

/* ---- modifier.c ---- */

/*
 * Applies the modifiers at an offset of the text. group: they follow a group, and the modifiers of
 * the event itself are already applied.
 */
int perch__apply_modifiers(struct perch__parser *parser, struct perch_event *event, size_t at,
			   size_t length, bool group);
/* True if all characters are modifiers. */
bool perch__is_modifiers(const char *word, size_t length);

/* ---- terms: see terms.h ---- */

/* A term between slashes, by offsets in the text. */
struct perch__term {
	size_t at, length;	       /* the name */
	size_t value_at, value_length; /* the value, without quotes */
	bool valued;		       /* has a value */
};
#define PERCH__TERMS_MAX 64
struct perch__terms {
	size_t nr;
	struct perch__term term[PERCH__TERMS_MAX];
	size_t from, to; /* the text between the slashes */
};

/* Parses from the opening slash, the current token, to the closing slash. */
int perch__parse_terms(struct perch__parser *parser, struct perch__terms *terms);
/* Applies all terms to an event that is not of a PMU in sysfs. */
int perch__apply_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       struct perch_event *event);
/* Refuses terms that contradict each other. */
int perch__check_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       const struct perch_event *event);
/* Copies the name of a term. */
void perch__term_name(const struct perch__parser *parser, const struct perch__term *term,
		      char name[PERCH__WORD_SIZE]);
/* Returns the value as a number; 1 if it has none. */
int perch__term_number(struct perch__parser *parser, const struct perch__term *term,
		       uint64_t *value);
/* Returns the term of that name that has a value, or NULL. */
const struct perch__term *perch__find_term(const struct perch__parser *parser,
					   const struct perch__terms *terms, const char *name);

/* ---- pmu/pmu_match.c, pmu/pmu.c, pmu/pmu_event.c: PMUs in sysfs ---- */

/* Adds the events of "pmu/terms/", one for each PMU that the name matches. *found is false, and the
 * result -ENOENT without an error message, when it matches none. */
int perch__add_pmu_events(struct perch__parser *parser, const char *name,
			  const struct perch__terms *terms, bool *found);
/* Adds an event for each PMU that has the name in its events directory. *found as above. terms may
 * be NULL. */
int perch__add_named_pmu_events(struct perch__parser *parser, const char *name, size_t at,
				const struct perch__terms *terms, bool *found);
/* Reports that no PMU matches the name. Returns -ENOENT. */
int perch__unknown_pmu(struct perch__parser *parser, const char *name, size_t at);
/* Applies all terms to an event of the PMU. */
int perch__apply_pmu_terms(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const struct perch__terms *terms, struct perch_event *event);
/* Applies a file in the PMU's events directory. terms has values for its parameters and may be
 * NULL. Returns 1; 0 when there is no such file; or a negative errno. */
int perch__apply_pmu_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const char *name, size_t at, const struct perch__terms *terms,
			   struct perch_event *event);

/* ---- pmu/hybrid.c: machines with several core PMUs ---- */

/* Adds one event for a generic attr, or one for each core PMU of a hybrid machine. at: where its
 * name begins. */
int perch__add_generic_events(struct perch__parser *parser, const struct perch_attr *attr,
			      size_t at);
/*
 * Applies a generic name inside a core PMU, as in cpu_core/cycles/. Returns 1; 0 when the PMU is
 * not a core PMU or the name is not generic; or a negative errno.
 */
int perch__apply_core_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			    const char *name, size_t at, struct perch_event *event);

/* ---- tracepoint.c, breakpoint.c, probe/probe.c, pmu/pfm.c ---- */

/* Adds the event system:name of tracefs, or one for each tracepoint that matches if they are globs.
 * at, at_name: where they begin in the text. */
int perch__add_tracepoints(struct perch__parser *parser, const char *system, size_t at,
			   const char *name, size_t at_name);

/*
 * The rest of an event after its keyword. The current token is the colon; `at` is where the keyword
 * begins. Afterwards the current token is what follows: modifiers, a slash, a comma, the end.
 */
/* mem:ADDRESS[/LENGTH][:rwx] */
int perch__parse_breakpoint(struct perch__parser *parser, size_t at, struct perch_event *event);
/* uprobe, uretprobe, kprobe, kretprobe, usdt: keyword is one of them. Sets event->path. */
int perch__parse_probe(struct perch__parser *parser, const char *keyword, size_t at,
		       struct perch_event *event);
/* pfm:NAME[:UMASK...]: names of libpfm4. */
int perch__parse_pfm(struct perch__parser *parser, size_t at, struct perch_event *event);
/* Frees the functions that kprobes have read. */
void perch__free_kernel_functions(struct perch__parser *parser);

/* ---- group.c ---- */

/*
 * Decides whether the events from index `first` on, one event or a group, are inherited: all or
 * none, and never probes. at: where their text begins.
 */
int perch__resolve_inherit(struct perch__parser *parser, size_t first, size_t at);
/* Makes a group for each PMU when the names in a group mean several PMUs. */
int perch__split_group(struct perch__parser *parser, size_t leader);

/* ---- filter.c ---- */

/*
 * Refuses a filter on a field that the tracepoint does not have. Returns 0 when the fields are
 * unknown: tracefs cannot be read, or the filter is not an expression.
 */
int perch__check_filter(const struct perch_event *event, const char *filter,
			struct perch_machine *machine, struct perch_error *err);

/* ---- suggestions.c ---- */

#define PERCH__SUGGESTIONS 3
/* Names with the smallest edit distance to an unknown word. */
struct perch__suggestions {
	const char *word;
	struct {
		char name[64];
		unsigned distance;
	} best[PERCH__SUGGESTIONS];
	size_t nr;
};
/* Adds a name if it is similar enough. */
void perch__suggest(struct perch__suggestions *suggestions, const char *name);
/* The same, for a name of which only a part is compared, or that is shown in quotes. */
void perch__suggest_as(struct perch__suggestions *suggestions, const char *compared,
		       const char *name);
/* Adds the names in a directory that have no dot. */
void perch__suggest_directory(struct perch__suggestions *suggestions, const char *path);
/* Sets the remedy "did you mean a, b or c?", or `otherwise` when there are no suggestions. */
void perch__suggestions_remedy(struct perch__suggestions *suggestions, struct perch_error *err,
			       const char *otherwise);
/* Add names of generic.c, terms.c and pmu/pmu_match.c. machine may be NULL. */
void perch__suggest_generic_names(struct perch__suggestions *suggestions);
void perch__suggest_keywords(struct perch__suggestions *suggestions);
void perch__suggest_terms(struct perch__suggestions *suggestions);
void perch__suggest_pmu_events(struct perch__suggestions *suggestions,
			       struct perch_machine *machine);

#endif
