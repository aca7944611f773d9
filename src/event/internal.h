/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EVENT_INTERNAL_H
#define PERCH_EVENT_INTERNAL_H

#include <perch/event.h>

#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

enum perch__token_kind {
	PERCH__TOKEN_END,
	PERCH__TOKEN_WORD,	/* letters, digits and what names are made of */
	PERCH__TOKEN_COMMA,
	PERCH__TOKEN_COLON,
	PERCH__TOKEN_SLASH,
	PERCH__TOKEN_EQUALS,
	PERCH__TOKEN_OPEN,	/* { */
	PERCH__TOKEN_CLOSE,	/* } */
	PERCH__TOKEN_STRAY,	/* one byte that belongs nowhere */
};

struct perch__token {
	enum perch__token_kind kind;
	size_t at;		/* byte offset in the text */
	size_t length;
};

/* The token at or after offset `at`; spaces before it are skipped. */
struct perch__token perch__token_at(const char *text, size_t at);
/* What a token is called in a message: "','", "'x'", "the end". Returns buffer. */
const char *perch__token_name(const char *text, const struct perch__token *token, char *buffer, size_t size);

struct perch__parser {
	const char *text;
	struct perch__token token;		/* the next one, not yet taken */
	struct perch_machine *machine;		/* made when first needed if the caller gave none */
	bool own_machine;
	struct perch_events *events;
	size_t group;				/* index of the first event of the group in hand */
	uint64_t said_machine;			/* bit n: member n of it (of the first 64) has a G or H of its own */
	struct perch_error *err;
};

void perch__advance(struct perch__parser *parser);
/* Goes on at a byte offset of the text, for parts that are no words: paths, expressions. */
void perch__advance_to(struct perch__parser *parser, size_t at);
/* A mistake at a byte offset of the text. Returns -errnum. */
int perch__refuse(struct perch__parser *parser, size_t at, int errnum, enum perch_cause cause, const char *format,
		  ...) __attribute__((format(printf, 5, 6)));
/* "expected WHAT, found the next token". Returns -EINVAL. */
int perch__expected(struct perch__parser *parser, const char *what);
/* The next token, which must be a word, and on to the one behind it. */
#define PERCH__WORD 128
int perch__take_word(struct perch__parser *parser, char word[PERCH__WORD], const char *what);
int perch__need_machine(struct perch__parser *parser);

/* Fills type and config when the word is a hardware, software, cache or raw event. False: it is none. */
bool perch__generic_event(const char *word, struct perch_attr *attr);
/* A hardware cache event. False: it is none. *legal false: spelled right, but no cache does that ("iTLB-stores"). */
bool perch__cache_event(const char *word, uint64_t *config, bool *legal);

/* Applies the letters at [at, at + length) to an event. group: they come after what the event itself says. */
int perch__modify(struct perch__parser *parser, struct perch_event *event, size_t at, size_t length, bool group);

/* PMU terms after "name/", up to and with the closing slash: the token is the first one after the opening slash. */
int perch__parse_pmu(struct perch__parser *parser, const char *name, size_t at, struct perch_event *event);
/* A bare word that is an event in some PMU's events folder: 1 when found, 0 when not, or a negative errno. */
int perch__named_pmu_event(struct perch__parser *parser, const char *name, size_t at, struct perch_event *event);
/* system:name of tracefs. at: where the system's name starts in the text, at_name: the event's. */
int perch__tracepoint(struct perch__parser *parser, const char *system, size_t at, const char *name, size_t at_name,
		      struct perch_event *event);

/*
 * Events that begin with a keyword and a colon, and whose rest is no words: the token is the colon, `at` is where the
 * keyword starts. Each leaves the parser at what comes behind the event: letters, a slash of terms, a comma, the end.
 */
/* mem:ADDRESS[/LENGTH][:rwx] */
int perch__breakpoint(struct perch__parser *parser, size_t at, struct perch_event *event);
/* uprobe, uretprobe, kprobe, kretprobe, usdt; keyword is one of them. Fills event->path, which the event then owns. */
int perch__probe(struct perch__parser *parser, const char *keyword, size_t at, struct perch_event *event);
/* pfm:NAME[:UMASK...]: names of libpfm4. */
int perch__pfm(struct perch__parser *parser, size_t at, struct perch_event *event);

/*
 * A function of an ELF file: *offset is where its first instruction is in the file. -ENOENT: no such symbol; -EBADMSG:
 * no ELF file, or a damaged one. machine: whose file system; NULL: this one's.
 */
int perch__elf_function(const char *path, const char *symbol, uint64_t *offset, const struct perch_machine *machine);
/* A USDT probe (note .note.stapsdt): offset of its location in the file, and of its reference counter (0: none). */
int perch__elf_usdt(const char *path, const char *provider, const char *name, uint64_t *offset, uint64_t *counter,
		    const struct perch_machine *machine);

/* The up to three names nearest to a word that nobody knows. */
#define PERCH__NEAREST 3
struct perch__nearest {
	const char *word;
	struct {
		char name[64];
		unsigned distance;
	} best[PERCH__NEAREST];
	size_t nr;
};
void perch__nearest_offer(struct perch__nearest *nearest, const char *name);
/* Offers what a folder holds, hidden files and those with a dot excepted. */
void perch__nearest_offer_folder(struct perch__nearest *nearest, const char *path);
void perch__nearest_offer_generic(struct perch__nearest *nearest);
/* Makes a remedy of it: "did you mean a, b or c?"; otherwise (none near) the words given. */
void perch__nearest_remedy(struct perch__nearest *nearest, struct perch_error *err, const char *otherwise);

#endif
