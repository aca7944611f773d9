/* SPDX-License-Identifier: MIT */
/* Events of PMUs in sysfs: "pmu/name/", "pmu/term=value,.../", by the PMU's own format and events files. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

#define PMUS "/sys/bus/event_source/devices"

/* A PMU's event while its terms are read. */
struct terms {
	struct perch__parser *parser;
	const char *pmu;
	struct perch_event *event;
	const char *alias;	/* the events file whose text is read; NULL: the user's own text */
	size_t at;		/* where in the user's text the term stands */
};

static int pmu_path(const struct terms *terms, char *path, size_t size, const char *folder, const char *name)
{
	int length = snprintf(path, size, PMUS "/%s/%s/%s", terms->pmu, folder, name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* A file of the PMU's folder; negative errno when there is none. Names from the text never leave the folder. */
static ssize_t pmu_file(const struct terms *terms, const char *folder, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	if (name[0] == '.' || strchr(name, '/') || pmu_path(terms, path, sizeof(path), folder, name))
		return -ENOENT;
	return perch_machine_read(terms->parser->machine, path, text, size);
}

static int parse_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return text[0] == '-' || end == text || *end || errno ? -EINVAL : 0;
}

static int unknown_term(const struct terms *terms, const char *name)
{
	struct perch__parser *parser = terms->parser;
	struct perch__nearest nearest = { .word = name };
	char inside[PATH_MAX], path[PATH_MAX];
	static const char *const folders[] = { "format", "events" };

	perch__refuse(parser, terms->at, EINVAL, PERCH_CAUSE_UNKNOWN_TERM, "PMU '%s' has no event or term '%s'",
		      terms->pmu, name);
	for (size_t i = 0; i < PERCH__NR(folders); i++)
		if (!pmu_path(terms, inside, sizeof(inside), folders[i], "") &&
		    perch_machine_path(parser->machine, path, sizeof(path), inside) >= 0)
			perch__nearest_offer_folder(&nearest, path);
	perch__nearest_offer(&nearest, "config");
	perch__nearest_remedy(&nearest, parser->err, "'perch list' shows the PMU's events");
	return -EINVAL;
}

static int apply_value(const struct terms *terms, const char *name, uint64_t value)
{
	struct perch_attr *attr = &terms->event->attr;
	uint64_t *word = perch__config_word(attr, name);
	struct perch__format format;
	char text[256];
	ssize_t got;

	if (word) {
		*word = value;
		return 0;
	}
	got = pmu_file(terms, "format", name, text, sizeof(text));
	if (got < 0)
		return unknown_term(terms, name);
	if (perch__format_parse(&format, text))
		return perch__refuse(terms->parser, terms->at, EBADMSG, PERCH_CAUSE_FORMAT,
				     "the format file of term '%s' of PMU '%s' says '%s'", name, terms->pmu, text);
	if (perch__format_apply(&format, attr, value))
		return perch__refuse(terms->parser, terms->at, ERANGE, PERCH_CAUSE_UNKNOWN_TERM,
				     "0x%llx is too large for term '%s' of PMU '%s': at most 0x%llx",
				     (unsigned long long)value, name, terms->pmu, (1ull << format.bits) - 1);
	return 0;
}

static int bad_alias(const struct terms *terms, const char *term)
{
	perch__refuse(terms->parser, terms->at, EBADMSG, PERCH_CAUSE_FORMAT,
		      "event '%s' of PMU '%s' has the term '%s', which has no value", terms->alias, terms->pmu, term);
	perch_error_remedy(terms->parser->err, "spell out the event's terms, as in pmu/config=0x1/");
	return -EBADMSG;
}

/* The text of an events file: "event=0x3c,umask=0x1,any". */
static int apply_alias(struct terms *terms, char *text)
{
	char *save = NULL;

	for (char *term = strtok_r(text, ",\n", &save); term; term = strtok_r(NULL, ",\n", &save)) {
		char *equals = strchr(term, '=');
		uint64_t value = 1;
		int rc;

		if (equals)
			*equals = '\0';
		if (equals && parse_number(equals + 1, &value))
			return bad_alias(terms, term);
		rc = apply_value(terms, term, value);
		if (rc)
			return rc;
	}
	return 0;
}

/* NAME.scale and NAME.unit, which events that are not plain counts have. */
static void read_unit(const struct terms *terms, const char *name)
{
	struct perch_event *event = terms->event;
	char file[160], text[64];
	locale_t plain;
	double scale;

	snprintf(file, sizeof(file), "%s.unit", name);
	if (pmu_file(terms, "events", file, text, sizeof(text)) > 0)
		perch_clean_text(event->unit, sizeof(event->unit), text);
	snprintf(file, sizeof(file), "%s.scale", name);
	if (pmu_file(terms, "events", file, text, sizeof(text)) <= 0)
		return;
	/* the kernel writes a point, whatever the caller's locale says */
	plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	scale = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
	if (plain)
		freelocale(plain);
	if (scale > 0 && scale < 1e300)
		event->scale = scale;
}

/* The PMU's event of that name, its terms applied: 1; 0 when it has none; or a negative errno. */
static int apply_name(struct terms *terms, const char *name)
{
	char text[1024];
	ssize_t got = pmu_file(terms, "events", name, text, sizeof(text));
	int rc;

	if (got < 0)
		return 0;
	terms->alias = name;
	rc = apply_alias(terms, text);
	terms->alias = NULL;
	if (rc)
		return rc;
	read_unit(terms, name);
	return 1;
}

/* NAME or NAME=VALUE. name=WORD renames the event. */
static int parse_term(struct terms *terms, char rename[PERCH__WORD])
{
	struct perch__parser *parser = terms->parser;
	char name[PERCH__WORD], word[PERCH__WORD];
	uint64_t value;
	size_t at;
	int rc;

	terms->at = parser->token.at;
	rc = perch__take_word(parser, name, "a term of the PMU");
	if (rc)
		return rc;
	if (parser->token.kind != PERCH__TOKEN_EQUALS) {
		rc = apply_name(terms, name);
		return rc ? (rc < 0 ? rc : 0) : apply_value(terms, name, 1);
	}
	perch__advance(parser);
	at = parser->token.at;
	if (!strcmp(name, "name"))
		return perch__take_word(parser, rename, "the event's new name");
	rc = perch__take_word(parser, word, "a number");
	if (rc)
		return rc;
	if (parse_number(word, &value))
		return perch__refuse(parser, at, EINVAL, PERCH_CAUSE_SYNTAX, "expected a number, found '%s'", word);
	return apply_value(terms, name, value);
}

static const struct perch_pmu *find_pmu(struct perch__parser *parser, const char *name, size_t at)
{
	struct perch__nearest nearest = { .word = name };
	const struct perch_pmu *pmu, *pmus;
	size_t nr;

	if (perch__need_machine(parser))
		return NULL;
	pmu = perch_machine_pmu(parser->machine, name);
	if (pmu)
		return pmu;
	perch__refuse(parser, at, ENOENT, PERCH_CAUSE_UNKNOWN_PMU, "this machine has no PMU '%s'", name);
	if (!perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		for (size_t i = 0; i < nr; i++)
			perch__nearest_offer(&nearest, pmus[i].name);
	perch__nearest_remedy(&nearest, parser->err, "'perch list' shows the PMUs of this machine");
	return NULL;
}

int perch__parse_pmu(struct perch__parser *parser, const char *name, size_t at, struct perch_event *event)
{
	struct terms terms = { .parser = parser, .pmu = name, .event = event, .at = at };
	const struct perch_pmu *pmu = find_pmu(parser, name, at);
	char rename[PERCH__WORD] = "";

	if (!pmu)
		return parser->machine ? -ENOENT : -ENOMEM;
	event->attr.type = pmu->type;
	while (parser->token.kind != PERCH__TOKEN_SLASH) {
		int rc = parse_term(&terms, rename);

		if (rc)
			return rc;
		if (parser->token.kind == PERCH__TOKEN_COMMA)
			perch__advance(parser);
		else if (parser->token.kind != PERCH__TOKEN_SLASH)
			return perch__expected(parser, "',' or '/' after a term");
	}
	perch__advance(parser);
	snprintf(event->name, sizeof(event->name), "%s", rename);
	return 0;
}

int perch__named_pmu_event(struct perch__parser *parser, const char *name, size_t at, struct perch_event *event)
{
	struct terms terms = { .parser = parser, .event = event, .at = at };
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch__need_machine(parser) || perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		return 0;
	for (size_t i = 0; i < nr; i++) {
		int rc;

		terms.pmu = pmus[i].name;
		event->attr.type = pmus[i].type;
		rc = apply_name(&terms, name);
		if (rc)
			return rc;
	}
	event->attr.type = 0;
	return 0;
}
