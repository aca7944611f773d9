/* SPDX-License-Identifier: MIT */
/* The PMUs that a name matches: one PMU, the units of an uncore PMU, or those of a glob. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "event/internal.h"

#define UNCORE "uncore_"

/*
 * Returns true if the rest of a PMU's name is a unit: empty, a number (imc_0, imc0), or an address
 * of at least three hexadecimal digits (arm_smmuv3_pmcg_3b402). Fewer digits may be a word
 * (cpum_cf).
 */
static bool is_unit(const char *rest)
{
	bool underscore = *rest == '_';
	size_t length = strlen(rest + underscore);

	if (!*rest)
		return true;
	return length &&
	       (strspn(rest + underscore, "0123456789") == length ||
		(underscore && length > 2 && strspn(rest + 1, "0123456789abcdef") == length));
}

static bool matches_pmu(const char *word, const char *pmu)
{
	size_t length = strlen(word);

	/* "uncore_" is optional, as in imc/cas_count_read/ */
	if (!strncmp(pmu, UNCORE, strlen(UNCORE)) && strncmp(word, UNCORE, strlen(UNCORE)) &&
	    matches_pmu(word, pmu + strlen(UNCORE)))
		return true;
	if (perch__is_glob(word))
		return !fnmatch(word, pmu, 0);
	/* imc_1 must not match imc_10 */
	return !strncmp(word, pmu, length) && is_unit(pmu + length) &&
	       !(isdigit((unsigned char)word[length - 1]) && isdigit((unsigned char)pmu[length]));
}

int perch__unknown_pmu(struct perch__parser *parser, const char *name, size_t at)
{
	struct perch__suggestions suggestions = { .word = name };
	const struct perch_pmu *pmus;
	size_t nr;

	if (perch__is_glob(name))
		perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_PMU,
				   "no PMU of this machine matches '%s'", name);
	else
		perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_PMU,
				   "this machine has no PMU '%s'", name);
	if (!perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		for (size_t i = 0; i < nr; i++)
			perch__suggest(&suggestions, pmus[i].name);
	perch__suggestions_remedy(&suggestions, parser->err,
				  "/sys/bus/event_source/devices lists the PMUs of this machine");
	return -ENOENT;
}

void perch__suggest_pmu_events(struct perch__suggestions *suggestions,
			       struct perch_machine *machine)
{
	const struct perch_pmu *pmus;
	char relative[128], path[PATH_MAX];
	size_t nr;

	if (!machine || perch_machine_pmus(machine, &pmus, &nr, NULL))
		return;
	for (size_t i = 0; i < nr; i++) {
		snprintf(relative, sizeof(relative), PERCH__PMUS "/%s/events", pmus[i].name);
		if (perch_machine_path(machine, relative, path, sizeof(path)) >= 0)
			perch__suggest_directory(suggestions, path);
	}
}

static int add_event(struct perch__parser *parser, const struct perch_pmu *pmu,
		     const struct perch__terms *terms)
{
	struct perch_event *event;
	int rc = perch__add_event(parser, &event);

	if (rc)
		return rc;
	event->attr.type = pmu->type;
	rc = perch__apply_pmu_terms(parser, pmu, terms, event);
	if (rc)
		perch__drop_events(parser->events, parser->events->nr - 1);
	return rc;
}

/*
 * The last event and event `first` have the same name. Their counts are added up if they have the
 * same unit and scale.
 */
static void link_to_first(struct perch__parser *parser, size_t first)
{
	const struct perch_event *other = &parser->events->event[first];
	struct perch_event *event = &parser->events->event[parser->events->nr - 1];

	if (event->scale == other->scale && !strcmp(event->unit, other->unit))
		event->first = first;
}

static bool is_fatal(int rc)
{
	return rc == -ENOMEM || rc == -E2BIG;
}

/*
 * A glob may match PMUs that do not have the event. They are skipped if another PMU has it;
 * otherwise the first error is reported.
 */
static int add_matches(struct perch__parser *parser, const struct perch_pmu *pmus, size_t nr,
		       const char *name, const struct perch__terms *terms, bool *found)
{
	struct perch_error *err = parser->err, first = { 0 }, again;
	size_t before = parser->events->nr;
	int rc, refused = 0;

	*found = false;
	for (size_t i = 0; i < nr; i++) {
		if (!matches_pmu(name, pmus[i].name))
			continue;
		*found = true;
		parser->err = refused ? &again : &first;
		rc = add_event(parser, &pmus[i], terms);
		parser->err = err;
		if (!rc) {
			link_to_first(parser, before);
			continue;
		}
		if (!refused || is_fatal(rc)) {
			first = refused ? again : first;
			refused = rc;
		}
		if (is_fatal(rc))
			break;
	}
	if (!*found)
		return -ENOENT;
	if (parser->events->nr > before && !is_fatal(refused))
		return 0;
	if (err)
		*err = first;
	return refused;
}

int perch__add_pmu_events(struct perch__parser *parser, const char *name,
			  const struct perch__terms *terms, bool *found)
{
	const struct perch_pmu *pmus, *pmu;
	size_t nr;
	int rc = perch__need_machine(parser);

	*found = true;
	if (rc)
		return rc;
	pmu = perch_machine_pmu(parser->machine, name);
	if (pmu)
		return add_event(parser, pmu, terms);
	if (perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		nr = 0;
	return add_matches(parser, pmus, nr, name, terms, found);
}

int perch__add_named_pmu_events(struct perch__parser *parser, const char *name, size_t at,
				const struct perch__terms *terms, bool *found)
{
	size_t before = parser->events->nr, nr;
	const struct perch_pmu *pmus;
	int rc = perch__need_machine(parser);

	*found = rc; /* the error is reported, not the unknown name */
	if (rc)
		return rc;
	if (perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		return -ENOENT;
	for (size_t i = 0; i < nr; i++) {
		struct perch_event *event;

		rc = perch__add_event(parser, &event);
		*found |= rc != 0;
		if (rc)
			return rc;
		event->attr.type = pmus[i].type;
		rc = perch__apply_pmu_event(parser, &pmus[i], name, at, terms, event);
		if (rc == 1 && terms)
			rc = perch__apply_pmu_terms(parser, &pmus[i], terms, event) ?: 1;
		*found |= rc != 0;
		if (rc == 1)
			link_to_first(parser, before);
		else
			perch__drop_events(parser->events, parser->events->nr - 1);
		if (rc < 0)
			return rc;
	}
	return *found ? 0 : -ENOENT;
}
