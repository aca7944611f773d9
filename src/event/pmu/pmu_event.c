/* SPDX-License-Identifier: MIT */
/*
 * The format and events directories of a PMU in sysfs. A format file names the bits that a term
 * sets; a file in events has the terms of a named event, an alias.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "event/config.h"
#include "pmu.h"

static int pmu_path(const struct perch__pmu_event *target, char *path, size_t size,
		    const char *directory, const char *name)
{
	int length = snprintf(path, size, PERCH__PMUS "/%s/%s/%s", target->pmu, directory, name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* Reads a file of the PMU. A name from the text must not lead out of its directory. */
static ssize_t pmu_file(const struct perch__pmu_event *target, const char *directory,
			const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	if (name[0] == '.' || strchr(name, '/') ||
	    pmu_path(target, path, sizeof(path), directory, name))
		return -ENOENT;
	return perch_machine_read(target->parser->machine, path, text, size);
}

int perch__unknown_pmu_term(const struct perch__pmu_event *target, const char *name)
{
	struct perch__parser *parser = target->parser;
	struct perch__suggestions suggestions = { .word = name };
	char relative[PATH_MAX], path[PATH_MAX];
	static const char *const directories[] = { "format", "events" };

	perch__parse_error(parser, target->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			   "PMU '%s' has no event or term '%s'", target->pmu, name);
	for (size_t i = 0; i < PERCH__NR(directories); i++)
		if (!pmu_path(target, relative, sizeof(relative), directories[i], "") &&
		    perch_machine_path(parser->machine, relative, path, sizeof(path)) >= 0)
			perch__suggest_directory(&suggestions, path);
	perch__suggest_terms(&suggestions);
	perch__suggestions_remedy(
		&suggestions, parser->err,
		"the directories events and format of the PMU in /sys/bus/event_source/devices list them");
	return -EINVAL;
}

bool perch__has_pmu_format(const struct perch__pmu_event *target, const char *name)
{
	char text[8];

	return pmu_file(target, "format", name, text, sizeof(text)) >= 0;
}

int perch__set_pmu_term(const struct perch__pmu_event *target, const char *name, uint64_t value,
			size_t at)
{
	struct perch_attr *attr = &target->event->attr;
	uint64_t *field = perch__config_field(attr, name);
	struct perch__format format;
	char text[256];
	ssize_t got;

	if (field) {
		*field = value;
		return 0;
	}
	got = pmu_file(target, "format", name, text, sizeof(text));
	if (got < 0)
		return perch__unknown_pmu_term(target, name);
	if (perch__format_parse(&format, text))
		return perch__parse_error(
			target->parser, target->at, EBADMSG, PERCH_ERROR_FORMAT,
			"the format file of term '%s' of PMU '%s' is invalid: '%s'", name,
			target->pmu, text);
	if (perch__format_apply(&format, attr, value))
		return perch__parse_error(
			target->parser, at, ERANGE, PERCH_ERROR_UNKNOWN_TERM,
			"0x%llx is too large for term '%s' of PMU '%s': at most 0x%llx",
			(unsigned long long)value, name, target->pmu, (1ull << format.bits) - 1);
	return 0;
}

static int invalid_alias(const struct perch__pmu_event *target, const char *term)
{
	perch__parse_error(target->parser, target->at, EBADMSG, PERCH_ERROR_FORMAT,
			   "term '%s' of event '%s' of PMU '%s' has no numeric value", term,
			   target->alias, target->pmu);
	perch_error_remedy(target->parser->err,
			   "write the terms of the event, as in pmu/config=0x1/");
	return -EBADMSG;
}

/* "core=?" in an alias: the text must have a value for the parameter. */
static int parameter(const struct perch__pmu_event *target, const char *name, uint64_t *value,
		     size_t *at)
{
	struct perch__parser *parser = target->parser;
	const struct perch__term *given =
		target->terms ? perch__find_term(parser, target->terms, name) : NULL;

	if (given) {
		*at = given->value_at;
		return perch__term_number(parser, given, value);
	}
	perch__parse_error(parser, target->at, EINVAL, PERCH_ERROR_UNKNOWN_TERM,
			   "event '%s' of PMU '%s' needs a value for its parameter '%s'",
			   target->alias, target->pmu, name);
	perch_error_remedy(parser->err, "write %s/%s,%s=NUMBER/", target->pmu, target->alias, name);
	return -EINVAL;
}

/* text: the contents of a file in events, "event=0x3c,umask=0x1,any". */
static int apply_alias_terms(const struct perch__pmu_event *target, char *text)
{
	char *save = NULL;

	for (char *term = strtok_r(text, ",\n", &save); term; term = strtok_r(NULL, ",\n", &save)) {
		char *equals = strchr(term, '=');
		size_t at = target->at;
		uint64_t value = 1;
		int rc = 0;

		if (equals)
			*equals = '\0';
		if (equals && !strcmp(equals + 1, "?"))
			rc = parameter(target, term, &value, &at);
		else if (equals && perch__parse_number(equals + 1, strlen(equals + 1), &value))
			return invalid_alias(target, term);
		if (!rc)
			rc = perch__set_pmu_term(target, term, value, at);
		if (rc)
			return rc;
	}
	return 0;
}

/* Reads ALIAS.unit, ALIAS.scale and the like. */
static ssize_t read_attribute(const struct perch__pmu_event *target, const char *suffix, char *text,
			      size_t size)
{
	char file[PERCH__WORD_SIZE + 16];

	snprintf(file, sizeof(file), "%s.%s", target->alias, suffix);
	return pmu_file(target, "events", file, text, size);
}

static void read_unit(const struct perch__pmu_event *target)
{
	struct perch_event *event = target->event;
	char text[64];
	locale_t c_locale;
	double scale;

	if (read_attribute(target, "unit", text, sizeof(text)) > 0)
		perch_clean_text(text, event->unit, sizeof(event->unit));
	event->per_package |= read_attribute(target, "per-pkg", text, sizeof(text)) >= 0 &&
			      strcmp(text, "0");
	event->snapshot |= read_attribute(target, "snapshot", text, sizeof(text)) >= 0 &&
			   strcmp(text, "0");
	if (read_attribute(target, "scale", text, sizeof(text)) <= 0)
		return;
	/* the kernel writes a decimal point in every locale */
	c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	scale = c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
	if (c_locale)
		freelocale(c_locale);
	if (scale > 0 && scale < 1e300)
		event->scale = scale;
}

/* Finds the alias whose name differs only in case; the first by name if there are several. */
static bool find_other_case(const struct perch__pmu_event *target, const char *name,
			    char found[PERCH__WORD_SIZE])
{
	char relative[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	DIR *directory = NULL;

	found[0] = '\0';
	if (!pmu_path(target, relative, sizeof(relative), "events", "") &&
	    perch_machine_path(target->parser->machine, relative, path, sizeof(path)) >= 0)
		directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (!strcasecmp(entry->d_name, name) &&
		    (!found[0] || strcmp(entry->d_name, found) < 0))
			memcpy(found, entry->d_name, strlen(name) + 1);
	if (directory)
		closedir(directory);
	return found[0];
}

/* True if the file is not an alias but describes one, such as ALIAS.scale. */
static bool is_attribute(const char *name)
{
	static const char *const suffixes[] = { ".unit", ".scale", ".per-pkg", ".snapshot" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < PERCH__NR(suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

int perch__apply_pmu_alias(struct perch__pmu_event *target, const char *name)
{
	char text[4097], found[PERCH__WORD_SIZE]; /* sysfs writes at most a page */
	ssize_t got;
	int rc;

	if (is_attribute(name))
		return 0;
	got = pmu_file(target, "events", name, text, sizeof(text));
	if (got < 0 && !perch__has_pmu_format(target, name) &&
	    find_other_case(target, name, found)) {
		name = found;
		got = pmu_file(target, "events", name, text, sizeof(text));
	}
	if (got < 0)
		return 0;
	target->alias = name;
	rc = apply_alias_terms(target, text);
	if (!rc)
		read_unit(target);
	target->alias = NULL;
	return rc ? rc : 1;
}

int perch__apply_pmu_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const char *name, size_t at, const struct perch__terms *terms,
			   struct perch_event *event)
{
	struct perch__pmu_event target = {
		.parser = parser, .pmu = pmu->name, .event = event, .terms = terms, .at = at
	};

	return perch__apply_pmu_alias(&target, name);
}
