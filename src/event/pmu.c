/* SPDX-License-Identifier: MIT */
/* Terms of PMUs in sysfs: "pmu/name,term=value,.../", by the PMU's own format and events files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config.h"

/* A PMU's event while its terms are read. */
struct reading {
	struct perch__parser *parser;
	const char *pmu;
	struct perch_event *event;
	const struct perch__terms *terms; /* the user's own, for the parameters of aliases */
	const char *alias; /* the events file whose text is read; NULL: the user's own text */
	size_t at;	   /* where in the user's text the term stands */
	unsigned fields;   /* terms that made the config words */
	bool generic;	   /* one of them is a generic name, as cycles */
};

static int pmu_path(const struct reading *reading, char *path, size_t size, const char *folder,
		    const char *name)
{
	int length = snprintf(path, size, PERCH__PMUS "/%s/%s/%s", reading->pmu, folder, name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* A file of the PMU's folder; negative errno when there is none. Names from the text never leave
 * the folder. */
static ssize_t pmu_file(const struct reading *reading, const char *folder, const char *name,
			char *text, size_t size)
{
	char path[PATH_MAX];

	if (name[0] == '.' || strchr(name, '/') ||
	    pmu_path(reading, path, sizeof(path), folder, name))
		return -ENOENT;
	return perch_machine_read(reading->parser->machine, path, text, size);
}

static int unknown_term(const struct reading *reading, const char *name)
{
	struct perch__parser *parser = reading->parser;
	struct perch__suggestions suggestions = { .word = name };
	char inside[PATH_MAX], path[PATH_MAX];
	static const char *const folders[] = { "format", "events" };

	perch__parse_error(parser, reading->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			   "PMU '%s' has no event or term '%s'", reading->pmu, name);
	for (size_t i = 0; i < PERCH__NR(folders); i++)
		if (!pmu_path(reading, inside, sizeof(inside), folders[i], "") &&
		    perch_machine_path(parser->machine, path, sizeof(path), inside) >= 0)
			perch__suggest_directory(&suggestions, path);
	perch__suggest_terms(&suggestions);
	perch__suggestions_remedy(&suggestions, parser->err, "'perch list' shows the PMU's events");
	return -EINVAL;
}

/* at: where in the user's text the value stands, or what stands for it. */
static int apply_value(const struct reading *reading, const char *name, uint64_t value, size_t at)
{
	struct perch_attr *attr = &reading->event->attr;
	uint64_t *word = perch__config_field(attr, name);
	struct perch__format format;
	char text[256];
	ssize_t got;

	if (word) {
		*word = value;
		return 0;
	}
	got = pmu_file(reading, "format", name, text, sizeof(text));
	if (got < 0)
		return unknown_term(reading, name);
	if (perch__format_parse(&format, text))
		return perch__parse_error(reading->parser, reading->at, EBADMSG, PERCH_ERROR_FORMAT,
					  "the format file of term '%s' of PMU '%s' says '%s'",
					  name, reading->pmu, text);
	if (perch__format_apply(&format, attr, value))
		return perch__parse_error(
			reading->parser, at, ERANGE, PERCH_ERROR_UNKNOWN_TERM,
			"0x%llx is too large for term '%s' of PMU '%s': at most 0x%llx",
			(unsigned long long)value, name, reading->pmu, (1ull << format.bits) - 1);
	return 0;
}

static int bad_alias(const struct reading *reading, const char *term)
{
	perch__parse_error(reading->parser, reading->at, EBADMSG, PERCH_ERROR_FORMAT,
			   "event '%s' of PMU '%s' has the term '%s', which has no value",
			   reading->alias, reading->pmu, term);
	perch_error_remedy(reading->parser->err,
			   "spell out the event's terms, as in pmu/config=0x1/");
	return -EBADMSG;
}

/* "core=?": the user has to say which core. */
static int parameter(const struct reading *reading, const char *name, uint64_t *value, size_t *at)
{
	struct perch__parser *parser = reading->parser;
	const struct perch__term *given =
		reading->terms ? perch__find_term(parser, reading->terms, name) : NULL;

	if (given) {
		*at = given->value_at;
		return perch__term_number(parser, given, value);
	}
	perch__parse_error(parser, reading->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			   "event '%s' of PMU '%s' needs a value for its parameter '%s'",
			   reading->alias, reading->pmu, name);
	perch_error_remedy(parser->err, "write %s/%s,%s=NUMBER/", reading->pmu, reading->alias,
			   name);
	return -EINVAL;
}

/* The text of an events file: "event=0x3c,umask=0x1,any". */
static int apply_alias(const struct reading *reading, char *text)
{
	char *save = NULL;

	for (char *term = strtok_r(text, ",\n", &save); term; term = strtok_r(NULL, ",\n", &save)) {
		char *equals = strchr(term, '=');
		size_t at = reading->at;
		uint64_t value = 1;
		int rc = 0;

		if (equals)
			*equals = '\0';
		if (equals && !strcmp(equals + 1, "?"))
			rc = parameter(reading, term, &value, &at);
		else if (equals && perch__parse_number(equals + 1, strlen(equals + 1), &value))
			return bad_alias(reading, term);
		if (!rc)
			rc = apply_value(reading, term, value, at);
		if (rc)
			return rc;
	}
	return 0;
}

/* A file beside an event's own, as NAME.scale. */
static ssize_t beside(const struct reading *reading, const char *suffix, char *text, size_t size)
{
	char file[PERCH__WORD_SIZE + 16];

	snprintf(file, sizeof(file), "%s.%s", reading->alias, suffix);
	return pmu_file(reading, "events", file, text, size);
}

/* What the files beside it say, which events that are not plain counts have. */
static void read_unit(const struct reading *reading)
{
	struct perch_event *event = reading->event;
	char text[64];
	locale_t plain;
	double scale;

	if (beside(reading, "unit", text, sizeof(text)) > 0)
		perch_clean_text(event->unit, sizeof(event->unit), text);
	event->per_package |= beside(reading, "per-pkg", text, sizeof(text)) >= 0 &&
			      strcmp(text, "0");
	event->snapshot |= beside(reading, "snapshot", text, sizeof(text)) >= 0 &&
			   strcmp(text, "0");
	if (beside(reading, "scale", text, sizeof(text)) <= 0)
		return;
	/* the kernel writes a point, whatever the caller's locale says */
	plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	scale = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
	if (plain)
		freelocale(plain);
	if (scale > 0 && scale < 1e300)
		event->scale = scale;
}

/* The PMU's event whose name differs in case alone; of several the first by name. */
static bool other_case(const struct reading *reading, const char *name,
		       char found[PERCH__WORD_SIZE])
{
	char inside[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	DIR *folder = NULL;

	found[0] = '\0';
	if (!pmu_path(reading, inside, sizeof(inside), "events", "") &&
	    perch_machine_path(reading->parser->machine, path, sizeof(path), inside) >= 0)
		folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (!strcasecmp(entry->d_name, name) &&
		    (!found[0] || strcmp(entry->d_name, found) < 0))
			memcpy(found, entry->d_name, strlen(name) + 1);
	if (folder)
		closedir(folder);
	return found[0];
}

/* "event.scale" is no event, but a file beside one. */
static bool lies_beside(const char *name)
{
	static const char *const suffixes[] = { ".unit", ".scale", ".per-pkg", ".snapshot" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < PERCH__NR(suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

/* The PMU's event of that name, its terms applied: 1; 0 when it has none; or a negative errno. */
static int apply_name(struct reading *reading, const char *name)
{
	char text[4097], field[8], found[PERCH__WORD_SIZE]; /* sysfs writes at most a page */
	ssize_t got;
	int rc;

	if (lies_beside(name))
		return 0;
	got = pmu_file(reading, "events", name, text, sizeof(text));
	if (got < 0 && pmu_file(reading, "format", name, field, sizeof(field)) < 0 &&
	    other_case(reading, name, found)) {
		name = found;
		got = pmu_file(reading, "events", name, text, sizeof(text));
	}
	if (got < 0)
		return 0;
	reading->alias = name;
	rc = apply_alias(reading, text);
	if (!rc)
		read_unit(reading);
	reading->alias = NULL;
	return rc ? rc : 1;
}

int perch__apply_pmu_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const char *name, size_t at, const struct perch__terms *terms,
			   struct perch_event *event)
{
	struct reading reading = {
		.parser = parser, .pmu = pmu->name, .event = event, .terms = terms, .at = at
	};

	return apply_name(&reading, name);
}

/* A term of neither every event nor a named one: a field of the format, rNNN, or a generic name in
 * a core PMU. */
static int apply_field(struct reading *reading, const struct perch_pmu *pmu,
		       const struct perch__term *term, const char *name)
{
	struct perch_attr *attr = &reading->event->attr;
	char text[256];
	uint64_t value;
	int rc;

	if (!term->valued && pmu_file(reading, "format", name, text, sizeof(text)) < 0) {
		if (perch__is_raw_term(name, &value)) {
			attr->config = value;
			return 0;
		}
		rc = perch__apply_core_event(reading->parser, pmu, name, term->at, reading->event);
		reading->generic |= rc > 0;
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (term->valued && pmu_file(reading, "format", name, text, sizeof(text)) < 0)
		return unknown_term(reading, name); /* before its value is looked at */
	rc = perch__term_number(reading->parser, term, &value);
	return rc ? rc
		  : apply_value(reading, name, value, term->valued ? term->value_at : term->at);
}

/* filter and raw are common terms, unless the PMU has a field of that name. */
static bool is_common(const struct reading *reading, const char *name)
{
	char text[8];

	return (strcmp(name, "filter") && strcmp(name, "raw")) ||
	       pmu_file(reading, "format", name, text, sizeof(text)) < 0;
}

enum pass { PASS_COMMON, PASS_NAMES, PASS_FIELDS };

/* One term in one pass: what belongs to another one is left alone. */
static int apply_in_pass(struct reading *reading, const struct perch_pmu *pmu,
			 const struct perch__term *term, enum pass pass, uint64_t *done,
			 uint64_t bit)
{
	char name[PERCH__WORD_SIZE];
	int rc = 0;

	if (*done & bit)
		return 0;
	reading->at = term->at;
	perch__term_name(reading->parser, term, name);
	if (pass == PASS_COMMON)
		rc = is_common(reading, name)
			     ? perch__apply_common_term(reading->parser, term, reading->event)
			     : 0;
	else if (pass == PASS_NAMES)
		rc = term->valued ? 0 : apply_name(reading, name);
	else
		rc = apply_field(reading, pmu, term, name);
	if (rc > 0)
		*done |= bit;
	reading->fields += pass == PASS_FIELDS ||
			   (rc > 0 && (pass == PASS_NAMES || perch__is_config_term(name)));
	return rc < 0 ? rc : 0;
}

/* Config words come first, then named events, then fields: what is said in more detail wins,
 * wherever it stands. */
int perch__apply_pmu_terms(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const struct perch__terms *terms, struct perch_event *event)
{
	struct reading reading = {
		.parser = parser, .pmu = pmu->name, .event = event, .terms = terms
	};
	uint64_t done = 0;
	int rc = 0;

	for (enum pass pass = PASS_COMMON; pass <= PASS_FIELDS; pass++)
		for (size_t i = 0; i < terms->nr && !rc; i++)
			rc = apply_in_pass(&reading, pmu, &terms->term[i], pass, &done,
					   UINT64_C(1) << i);
	/* fields beside a generic name would change the number of it, which is no config of the
	 * PMU's format */
	if (!rc && reading.generic && reading.fields > 1)
		return perch__parse_error(
			parser, terms->from, EINVAL, PERCH_ERROR_CONFLICT,
			"a generic event of PMU '%s' goes with no other event or field of it",
			pmu->name);
	return rc ? rc : perch__check_terms(parser, terms, event);
}
