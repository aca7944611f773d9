/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EVENT_INTERNAL_H
#define PERCH_EVENT_INTERNAL_H

#include <perch/event.h>

#define PERCH__PMUS	 "/sys/bus/event_source/devices"
#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

struct perch__suggestions;
struct perch__kernel_functions;

enum perch__token_kind {
	PERCH__TOKEN_END,
	PERCH__TOKEN_WORD, /* letters, digits and what names are made of */
	PERCH__TOKEN_COMMA,
	PERCH__TOKEN_COLON,
	PERCH__TOKEN_SLASH,
	PERCH__TOKEN_EQUALS,
	PERCH__TOKEN_OPEN,  /* { */
	PERCH__TOKEN_CLOSE, /* } */
	PERCH__TOKEN_STRAY, /* one byte that belongs nowhere */
};

struct perch__token {
	enum perch__token_kind kind;
	size_t at; /* byte offset in the text */
	size_t length;
};

/* The token at or after offset `at`; spaces before it are skipped. */
struct perch__token perch__token_at(const char *text, size_t at);
/* What a token is called in a message: "','", "'x'", "the end". Returns buffer. */
const char *perch__token_name(const char *text, const struct perch__token *token, char *buffer,
			      size_t size);

/* The most events that a list may have. */
#define PERCH__EVENTS_MAX 65536

/* Whether the machine has several PMUs of CPU cores, as far as the parser knows. */
enum perch__hybrid { PERCH__HYBRID_UNKNOWN, PERCH__HYBRID_NO, PERCH__HYBRID_YES };

struct perch__parser {
	const char *text;
	struct perch__token token;     /* the next one, not yet taken */
	struct perch_machine *machine; /* made when first needed if the caller gave none */
	bool own_machine;
	enum perch__hybrid hybrid;
	struct perch__kernel_functions *kernel; /* read when the first kprobe asks for them */
	/* the text before the terms made the config words of the event */
	bool config_fixed;
	struct perch_events *events;
	size_t group; /* index of the first event of the group in hand */
	/* bit n: member n of it has a G or H of its own */
	uint64_t guest_host_set[PERCH__EVENTS_MAX / 64];
	struct perch_error *err;
};

void perch__advance(struct perch__parser *parser);
/* Goes on at a byte offset of the text, for parts that are no words: paths, expressions. */
void perch__advance_to(struct perch__parser *parser, size_t at);
/* A mistake at a byte offset of the text. Returns -errnum. */
int perch__parse_error(struct perch__parser *parser, size_t at, int errnum,
		       enum perch_error_kind kind, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* "expected WHAT, found the next token". Returns -EINVAL. */
int perch__expected(struct perch__parser *parser, const char *what);
/* The next token, which must be a word, and on to the one behind it. */
#define PERCH__WORD_SIZE 128
int perch__take_word(struct perch__parser *parser, char word[PERCH__WORD_SIZE], const char *what);
int perch__need_machine(struct perch__parser *parser);

/* One more event, of no type yet, a leader of itself; pointers to older ones end. -ENOMEM; -E2BIG:
 * too many. */
int perch__add_event(struct perch__parser *parser, struct perch_event **event);
/* Takes the events from number `nr` on away again, and frees what they own. */
void perch__drop_events(struct perch_events *events, size_t nr);

/* Fills type and config when the word is a hardware, software, cache or raw event. False: it is
 * none. */
bool perch__find_generic_event(const char *word, struct perch_attr *attr);
/* A hardware cache event. False: it is none. *legal false: spelled right, but no cache does that
 * ("iTLB-stores"). */
bool perch__find_cache_event(const char *word, uint64_t *config, bool *legal);
/* rNNN between slashes, or r0xNNN: up to 16 hexadecimal digits. */
bool perch__is_raw_term(const char *word, uint64_t *config);
/* 3, 0x3: decimal or hexadecimal, as perf reads numbers. The text need not end with a NUL. -EINVAL,
 * -ERANGE. */
int perch__parse_number(const char *text, size_t length, uint64_t *value);

/*
 * The number at offset *at of the text, hexadecimal after 0x, else decimal (a 0 in front changes
 * nothing); *at is then the byte behind it. Told: -EINVAL, there is none ("expected WHAT, found
 * ...") or it has letters; -ERANGE, it has more than 64 bits.
 */
int perch__take_number(struct perch__parser *parser, size_t *at, uint64_t *value, const char *what);
/* Applies the letters at [at, at + length) to an event. group: they come after what the event
 * itself says. */
int perch__apply_modifiers(struct perch__parser *parser, struct perch_event *event, size_t at,
			   size_t length, bool group);
/* The word is made of modifiers' letters alone. */
bool perch__is_modifiers(const char *word, size_t length);

/* A term between slashes, by its places in the text. */
struct perch__term {
	size_t at, length;	       /* the name */
	size_t value_at, value_length; /* the value, without its quotes */
	bool valued;
};
#define PERCH__TERMS_MAX 64
struct perch__terms {
	size_t nr;
	struct perch__term term[PERCH__TERMS_MAX];
	size_t from, to; /* what stands between the slashes */
};
/* Reads terms from the opening slash, which is the token, to behind the closing one. */
int perch__parse_terms(struct perch__parser *parser, struct perch__terms *terms);
/* Applies a term that every event takes: 1; 0 when it is no such term; or a negative errno. */
int perch__apply_common_term(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event);
/* Applies all terms to an event of no PMU's folder. */
int perch__apply_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       struct perch_event *event);
/* Terms that contradict each other. */
int perch__check_terms(struct perch__parser *parser, const struct perch__terms *terms,
		       const struct perch_event *event);
/* The name of a term; and its value as a number, or 1 when it has none. */
void perch__term_name(const struct perch__parser *parser, const struct perch__term *term,
		      char name[PERCH__WORD_SIZE]);
int perch__term_number(struct perch__parser *parser, const struct perch__term *term,
		       uint64_t *value);
/* The term of that name that has a value; NULL. */
const struct perch__term *perch__find_term(const struct perch__parser *parser,
					   const struct perch__terms *terms, const char *name);
bool perch__is_config_term(const char *name);
void perch__suggest_terms(struct perch__suggestions *suggestions);

/* Makes the events of "pmu/terms/": one for each PMU that the name means. -ENOENT with *known
 * false: no such PMU. */
int perch__add_pmu_events(struct perch__parser *parser, const char *name,
			  const struct perch__terms *terms, bool *known);
/* Makes the events of a bare word that PMUs have in their events folder. *known false: none has,
 * none is made. */
int perch__add_named_pmu_events(struct perch__parser *parser, const char *name, size_t at,
				const struct perch__terms *terms, bool *known);
/* This machine has no PMU of that name. Returns -ENOENT. */
int perch__unknown_pmu(struct perch__parser *parser, const char *name, size_t at);
/* Applies the terms, named events among them, to an event of the PMU. */
int perch__apply_pmu_terms(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const struct perch__terms *terms, struct perch_event *event);
/* The PMU's event of that name and the terms: 1; 0 when it has none of that name; or a negative
 * errno. */
int perch__apply_pmu_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const char *name, size_t at, const struct perch__terms *terms,
			   struct perch_event *event);

/* The type of the PMU that counts an attr: its own, or of generic ones that above bit 32 (0: any
 * PMU of cores). */
uint32_t perch__pmu_type(const struct perch_attr *attr);
/* Hardware and cache events, whose config may have the type of a PMU in its upper 32 bits. */
bool perch__has_pmu_bits(uint32_t type);
/* Sets config from a term; a generic event stays on the PMU that its upper half says. */
void perch__set_config(struct perch_attr *attr, uint64_t config);
/* The machine has several PMUs of CPU cores. */
bool perch__is_hybrid(struct perch__parser *parser);
/* Makes one event of a generic attr, whose name is at `at`, or one for each core PMU of a hybrid
 * machine. */
int perch__add_generic_events(struct perch__parser *parser, const struct perch_attr *attr,
			      size_t at);
/*
 * A generic name inside a core PMU, as cpu_core/cycles/: 1; 0 when the PMU or the name is no such
 * one; or a negative errno.
 */
int perch__apply_core_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			    const char *name, size_t at, struct perch_event *event);
/* Makes a group for each PMU when its events, from leader on, are there once for each of several
 * PMUs. */
int perch__split_group(struct perch__parser *parser, size_t leader);

/*
 * Makes the event system:name of tracefs, or one for each that the names match when they are globs.
 * at: where the system's name starts in the text, at_name: the event's.
 */
int perch__add_tracepoints(struct perch__parser *parser, const char *system, size_t at,
			   const char *name, size_t at_name);
bool perch__is_glob(const char *text);

/*
 * Events that begin with a keyword and a colon, and whose rest is no words: the token is the colon,
 * `at` is where the keyword starts. Each leaves the parser at what comes behind the event: letters,
 * a slash of terms, a comma, the end.
 */
/* mem:ADDRESS[/LENGTH][:rwx] */
int perch__parse_breakpoint(struct perch__parser *parser, size_t at, struct perch_event *event);
/* uprobe, uretprobe, kprobe, kretprobe, usdt; keyword is one of them. Fills event->path, which the
 * event then owns. */
int perch__parse_probe(struct perch__parser *parser, const char *keyword, size_t at,
		       struct perch_event *event);
/* Frees what a parser has read of the kernel's functions. */
void perch__free_kernel_functions(struct perch__parser *parser);
/* pfm:NAME[:UMASK...]: names of libpfm4. */
int perch__parse_pfm(struct perch__parser *parser, size_t at, struct perch_event *event);

/*
 * Makes the events from number `first` on, one event's or a group's, agree on whether children are
 * followed: never those of probes. at: where the text of the event or group starts.
 */
int perch__resolve_inherit(struct perch__parser *parser, size_t first, size_t at);

/* The up to three names suggestions to a word that nobody knows. */
#define PERCH__SUGGESTIONS 3
struct perch__suggestions {
	const char *word;
	struct {
		char name[64];
		unsigned distance;
	} best[PERCH__SUGGESTIONS];
	size_t nr;
};
void perch__suggest(struct perch__suggestions *suggestions, const char *name);
/* Offers what a folder holds, hidden files and those with a dot excepted. */
void perch__suggest_directory(struct perch__suggestions *suggestions, const char *path);
void perch__suggest_generic_names(struct perch__suggestions *suggestions);
bool perch__is_keyword(const char *word);
void perch__suggest_keywords(struct perch__suggestions *suggestions);
/* Offers what the PMUs of the machine (NULL: none) have in their events folders. */
void perch__suggest_pmu_events(struct perch__suggestions *suggestions,
			       struct perch_machine *machine);
/* Makes a remedy of it: "did you mean a, b or c?"; otherwise (none near) the words given. */
void perch__suggestions_remedy(struct perch__suggestions *suggestions, struct perch_error *err,
			       const char *otherwise);

#endif
