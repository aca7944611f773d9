/* SPDX-License-Identifier: MIT */
/* Writes perch-causes(7) for scdoc: every cause with its rules. The build runs it. */
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
	const char *message; /* with {placeholders} */
	const char *remedy;
};

static const struct rule rules[] = {
	/* src/explain/features.c finds these by the tables of abi */
	{ PERCH_CAUSE_TOO_NEW, "EINVAL", "", NULL,
	  "bits of the attr or of flags are newer than the kernel; the message names each with its "
	  "release, and perch-options(7) has the releases of all",
	  "do not use them, or use a newer kernel" },
	{ PERCH_CAUSE_TOO_NEW, "E2BIG", "", NULL,
	  "fields of the attr are beyond the size that the kernel has; the message names each with its "
	  "release",
	  "do not use them, or use a newer kernel" },
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, fix, message, remedy)                \
	{ PERCH_CAUSE_##cause, #errnum, fields, since, message, remedy },
/* clang-format on */
#include "explain/rules/rules.def"
#undef RULE

#define FIELDS(...) "=" #__VA_ARGS__
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, message, remedy)                      \
	{ PERCH_CAUSE_##cause, #errnum, fields, since, message, remedy },
/* clang-format on */
#define FALLBACK RULE
#include "explain/operation/mmap.def"
#include "explain/operation/ioctl.def"
#include "explain/operation/read.def"
#undef RULE
#undef FALLBACK

/* clang-format off */
#define LINT(name, cause, fields, since, condition, message, remedy)                              \
	{ PERCH_CAUSE_##cause, "accepted", fields, since, message, remedy },
/* clang-format on */
#include "explain/lint.def"
#undef LINT
};

/* Where a part of the list begins. */
static const struct {
	enum perch_cause first;
	const char *title;
} parts[] = {
	{ PERCH_CAUSE_NO_SYSCALL, "Before perf" },
	{ PERCH_CAUSE_OPEN_FLAGS, "The arguments" },
	{ PERCH_CAUSE_RESERVED_BITS, "The attr" },
	{ PERCH_CAUSE_PARANOID_ALL, "Permissions and limits" },
	{ PERCH_CAUSE_DESCRIPTORS, "Descriptors and targets" },
	{ PERCH_CAUSE_NO_HARDWARE, "The PMU" },
	{ PERCH_CAUSE_AUX_OUTPUT, "After the PMU has accepted the event" },
	{ PERCH_CAUSE_INTERRUPTED, "The target again, and the group" },
	{ PERCH_CAUSE_MMAP_INHERIT, "Operations: mmap, ioctl and read" },
	{ PERCH_CAUSE_LINT_SIZE, "Lint: accepted, but not meant" },
	{ PERCH_CAUSE_MMAP_ADDRESS, "Operations: addresses of mmap" },
};

/* The text for each placeholder. */
static const struct {
	const char *name;
	const char *text;
} placeholders[] = {
/* clang-format off */
#define PLACEHOLDER(name, text) { #name, text },
/* clang-format on */
#include "explain/rules/placeholders.def"
};

static bool incomplete; /* a placeholder has no text */

static const char *placeholder_text(const char *name, size_t length)
{
	for (size_t i = 0; i < NR(placeholders); i++)
		if (strlen(placeholders[i].name) == length &&
		    !memcmp(placeholders[i].name, name, length))
			return placeholders[i].text;
	fprintf(stderr, "placeholders.def does not have {%.*s}\n", (int)length, name);
	incomplete = true;
	return "";
}

/* Escapes characters that scdoc interprets, and replaces placeholders. */
static void put(const char *text)
{
	for (; *text; text++) {
		size_t length = *text == '{'
					? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789")
					: 0;

		if (length && text[1 + length] == '}') {
			put(placeholder_text(text + 1, length));
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
	       !strcmp(a->fields, b->fields) && !strcmp(a->message, b->message) &&
	       !strcmp(a->remedy, b->remedy) && !a->since == !b->since &&
	       (!a->since || !strcmp(a->since, b->since));
}

static bool is_repeated(const struct rule *rule)
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
	put(rule->message);
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
		if (rules[i].cause == number && !is_repeated(&rules[i]))
			put_rule(&rules[i]);
	putchar('\n');
}

static const char head[] =
	"perch-causes(7)\n\n"
	"# NAME\n\n"
	"perch-causes - why the kernel refuses perf events\n\n"
	"# DESCRIPTION\n\n"
	"When *perf\\_event\\_open*(2) fails, or an *mmap*(2), *ioctl*(2) or *read*(2) of an event, *perch* reports the\n"
	"_cause_: the exact reason. Cause names are stable, so that scripts may match them. They are in the output of\n"
	"*perch explain -j* and *perch list -j* (_cause_), and *perch\\_cause\\_slug*() returns them to programs. Each cause\n"
	"has a _kind_, for programs that only decide what to do next.\n\n"
	"The causes are in the order of the kernel's checks: if several apply, the kernel reports the first one. Each entry\n"
	"lists the error numbers of the cause, the fields at fault (of *struct perf\\_event\\_attr*, or the arguments _pid_,\n"
	"_cpu_, _group\\_fd_ and _flags_), the first release of Linux that has the feature (\"since\") if it matters, the\n"
	"message, and the remedy. Text in angle brackets is replaced by values of the open call and the machine.\n\n";

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
