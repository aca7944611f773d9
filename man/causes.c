/* SPDX-License-Identifier: MIT */
/* Writes perch-causes(7), for scdoc: every cause, and what the tables of rules say of it. Built and
 * run with the pages. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <perch/error.h>

#define NR(array) (sizeof(array) / sizeof(*(array)))

struct kind {
	const char *slug;
	const char *meaning;
};

static const struct kind kinds[] = {
/* clang-format off */
#define KIND(name, slug, meaning) { slug, meaning },
	/* clang-format on */
	PERCH_ERROR_KINDS(KIND)
};

struct cause {
	const char *slug;
	enum perch_error_kind kind;
	const char *meaning;
};

static const struct cause causes[] = { [PERCH_CAUSE_NONE] = { "", PERCH_ERROR_NONE, "" },
#define CAUSE(name, slug, kind, meaning) \
	[PERCH_CAUSE_##name] = { slug, PERCH_ERROR_##kind, meaning },
				       PERCH_CAUSES(CAUSE) };

/* A row of the tables, without its condition. */
struct rule {
	enum perch_cause cause;
	const char *errnum; /* its name, or "accepted" */
	/* by comma, or = and a list in C, of which the strings are meant */
	const char *fields;
	/* NULL when the release does not matter; "*": it is not the same each time */
	const char *since;
	const char *sentence; /* with {facts} */
	const char *remedy;
};

static const struct rule rules[] = {
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy)                \
	{ PERCH_CAUSE_##cause, #errnum, fields, since, sentence, remedy },
/* clang-format on */
#include "explain/rules.def"
#undef RULE

#define FIELDS(...) "=" #__VA_ARGS__
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, sentence, remedy)                      \
	{ PERCH_CAUSE_##cause, #errnum, fields, since, sentence, remedy },
/* clang-format on */
#define FALLBACK RULE
#include "explain/mmap.def"
#include "explain/ioctl.def"
#include "explain/read.def"
#undef RULE
#undef FALLBACK

/* clang-format off */
#define LINT(name, cause, fields, since, condition, sentence, remedy)                              \
	{ PERCH_CAUSE_##cause, "accepted", fields, since, sentence, remedy },
/* clang-format on */
#include "explain/lint.def"
#undef LINT
};

/* Where a part of the list begins. */
static const struct {
	enum perch_cause first;
	const char *title;
} parts[] = {
	{ PERCH_CAUSE_NO_SYSCALL, "Before perf sees the call" },
	{ PERCH_CAUSE_OPEN_FLAGS, "The arguments" },
	{ PERCH_CAUSE_RESERVED_BITS, "The attr by itself" },
	{ PERCH_CAUSE_PARANOID_ALL, "Who asks" },
	{ PERCH_CAUSE_DESCRIPTORS, "Descriptors and targets" },
	{ PERCH_CAUSE_NO_HARDWARE, "The PMU" },
	{ PERCH_CAUSE_AUX_OUTPUT, "What is allocated and connected" },
	{ PERCH_CAUSE_INTERRUPTED, "The target once more, and the group" },
	{ PERCH_CAUSE_MMAP_INHERIT, "Operations: mmap, ioctl and read" },
	{ PERCH_CAUSE_LINT_SIZE, "Lint: accepted, and not meant" },
};

/* What is shown in the place of facts. */
static const struct {
	const char *word;
	const char *phrase;
} phrases[] = {
/* clang-format off */
#define PLACEHOLDER(word, phrase) { #word, phrase },
/* clang-format on */
#include "explain/placeholders.def"
};

static bool incomplete; /* a word has no phrase */

static const char *phrase_of(const char *word, size_t length)
{
	for (size_t i = 0; i < NR(phrases); i++)
		if (strlen(phrases[i].word) == length && !memcmp(phrases[i].word, word, length))
			return phrases[i].phrase;
	fprintf(stderr, "placeholders.def does not have {%.*s}\n", (int)length, word);
	incomplete = true;
	return "";
}

/* Text with what means something to scdoc escaped, and facts as what they are. */
static void put(const char *text)
{
	for (; *text; text++) {
		size_t length = *text == '{'
					? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789")
					: 0;

		if (length && text[1 + length] == '}') {
			put(phrase_of(text + 1, length));
			text += length + 1;
			continue;
		}
		if (strchr("\\*_~`", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_fields(const char *fields)
{
	bool quoted = fields[0] == '=';

	while (*(fields += quoted ? strcspn(fields, "\"") : strspn(fields, ","))) {
		size_t length = strcspn(fields += quoted, "\",");

		printf(", _");
		for (size_t i = 0; i < length; i++)
			printf("%s%c", fields[i] == '_' ? "\\" : "", fields[i]);
		putchar('_');
		fields += length + (quoted && fields[length]);
	}
}

static bool same(const struct rule *a, const struct rule *b)
{
	return a->cause == b->cause && !strcmp(a->errnum, b->errnum) &&
	       !strcmp(a->fields, b->fields) && !strcmp(a->sentence, b->sentence) &&
	       !strcmp(a->remedy, b->remedy) && !a->since == !b->since &&
	       (!a->since || !strcmp(a->since, b->since));
}

static bool told_before(const struct rule *rule)
{
	for (const struct rule *before = rules; before < rule; before++)
		if (same(before, rule))
			return true;
	return false;
}

static void put_rule(const struct rule *rule)
{
	printf("\n\t%s", strcmp(rule->errnum, "0") ? rule->errnum : "no error");
	put_fields(rule->fields);
	if (rule->since && rule->since[0] && rule->since[0] != '*')
		printf(" (since Linux %s)", rule->since);
	printf(": ");
	put(rule->sentence);
	printf(". *Do:* ");
	put(rule->remedy);
	putchar('\n');
}

static void put_cause(enum perch_cause number)
{
	const struct cause *cause = &causes[number];

	printf("*%s* (%s)\n\t", cause->slug, kinds[cause->kind].slug);
	put(cause->meaning);
	putchar('\n');
	for (size_t i = 0; i < NR(rules); i++)
		if (rules[i].cause == number && !told_before(&rules[i]))
			put_rule(&rules[i]);
	putchar('\n');
}

static const char head[] =
	"perch-causes(7)\n\n"
	"# NAME\n\n"
	"perch-causes - why the kernel refuses perf events\n\n"
	"# DESCRIPTION\n\n"
	"When *perf\\_event\\_open*(2) fails, or an *mmap*(2), *ioctl*(2) or *read*(2) of what it gave, *perch* tells the\n"
	"_cause_: why exactly the kernel refused. Each cause has a name that stays as it is from release to release, so that\n"
	"scripts may match it: it is _cause_ in the output of *perch explain -j* and *perch list -j*, and\n"
	"*perch\\_cause\\_slug*() gives it to programs. Each cause is of a _kind_, which says what a program may decide by.\n\n"
	"The causes are listed in the order in which the kernel looks: of several that apply, the first is the one that it\n"
	"reports. Behind each are the error numbers it comes with, the fields at fault (those of\n"
	"*struct perf\\_event\\_attr*, or _pid_, _cpu_, _group\\_fd_ and _flags_ of the call), where it matters the first release of\n"
	"Linux that has what was asked (\"since\"), what the answer says, and what to do. What stands in angle brackets is a\n"
	"number, name or part of the sentence that the answer takes from the call and the machine.\n\n";

static const char tail[] =
	"# SEE ALSO\n\n"
	"*perch-explain*(1), *perch-doctor*(1), *perch-stat*(1), *perch-record*(1), *libperch*(3), *perf\\_event\\_open*(2)\n";

int main(void)
{
	size_t part = 0;

	fputs(head, stdout);
	puts("# KINDS\n");
	for (size_t i = 0; i < NR(kinds); i++) {
		printf("*%s*\n\t", kinds[i].slug);
		put(kinds[i].meaning);
		puts("\n");
	}
	puts("# CAUSES\n");
	for (size_t i = PERCH_CAUSE_NONE + 1; i < NR(causes); i++) {
		if (part < NR(parts) && i == parts[part].first)
			printf("## %s\n\n", parts[part++].title);
		put_cause((enum perch_cause)i);
	}
	fputs(tail, stdout);
	return part == NR(parts) && !incomplete && !ferror(stdout) && !fflush(stdout) ? 0 : 1;
}
