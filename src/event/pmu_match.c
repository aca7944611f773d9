/* SPDX-License-Identifier: MIT */
/* Which PMUs a name means: one, the units of an uncore PMU, or all that a glob matches. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define UNCORE "uncore_"

/*
 * What is left of a unit's name behind the PMU's: nothing; a number, as in imc_0 and imc0; or an
 * address of three hex digits or more, as in arm_smmuv3_pmcg_3b402. Fewer make words, as the cf of
 * cpum_cf.
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

static bool matches(const char *word, const char *pmu)
{
	size_t length = strlen(word);

	/* "uncore_" may be left out, as in imc/cas_count_read/ */
	if (!strncmp(pmu, UNCORE, strlen(UNCORE)) && strncmp(word, UNCORE, strlen(UNCORE)) &&
	    matches(word, pmu + strlen(UNCORE)))
		return true;
	if (perch__is_glob(word))
		return !fnmatch(word, pmu, 0);
	/* imc_1 is no start of imc_10 */
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
				  "'perch list' shows the PMUs of this machine");
	return -ENOENT;
}

void perch__suggest_pmu_events(struct perch__suggestions *suggestions,
			       struct perch_machine *machine)
{
	const struct perch_pmu *pmus;
	char inside[128], path[PATH_MAX];
	size_t nr;

	if (!machine || perch_machine_pmus(machine, &pmus, &nr, NULL))
		return;
	for (size_t i = 0; i < nr; i++) {
		snprintf(inside, sizeof(inside), PERCH__PMUS "/%s/events", pmus[i].name);
		if (perch_machine_path(machine, path, sizeof(path), inside) >= 0)
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

/* The newest event, of a name that the event number `first` has too: their counts add up if they
 * count in one unit. */
static void join_first(struct perch__parser *parser, size_t first)
{
	const struct perch_event *other = &parser->events->event[first];
	struct perch_event *event = &parser->events->event[parser->events->nr - 1];

	if (event->scale == other->scale && !strcmp(event->unit, other->unit))
		event->first = first;
}

static bool fatal(int rc)
{
	return rc == -ENOMEM || rc == -E2BIG;
}

/*
 * A glob may match PMUs that have no such event: those are left out, as long as one has it. Errors
 * of all others are the user's.
 */
static int add_matches(struct perch__parser *parser, const struct perch_pmu *pmus, size_t nr,
		       const char *name, const struct perch__terms *terms, bool *known)
{
	struct perch_error *told = parser->err, first = { 0 }, again;
	size_t before = parser->events->nr;
	int rc, refused = 0;

	*known = false;
	for (size_t i = 0; i < nr; i++) {
		if (!matches(name, pmus[i].name))
			continue;
		*known = true;
		parser->err = refused ? &again : &first;
		rc = add_event(parser, &pmus[i], terms);
		parser->err = told;
		if (!rc) {
			join_first(parser, before);
			continue;
		}
		if (!refused || fatal(rc)) {
			first = refused ? again : first;
			refused = rc;
		}
		if (fatal(rc))
			break;
	}
	if (!*known)
		return -ENOENT;
	if (parser->events->nr > before && !fatal(refused))
		return 0;
	if (told)
		*told = first;
	return refused;
}

int perch__add_pmu_events(struct perch__parser *parser, const char *name,
			  const struct perch__terms *terms, bool *known)
{
	const struct perch_pmu *pmus, *pmu;
	size_t nr;
	int rc = perch__need_machine(parser);

	*known = true;
	if (rc)
		return rc;
	pmu = perch_machine_pmu(parser->machine, name);
	if (pmu)
		return add_event(parser, pmu, terms);
	if (perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		nr = 0;
	return add_matches(parser, pmus, nr, name, terms, known);
}

int perch__add_named_pmu_events(struct perch__parser *parser, const char *name, size_t at,
				const struct perch__terms *terms, bool *known)
{
	size_t before = parser->events->nr, nr;
	const struct perch_pmu *pmus;
	int rc = perch__need_machine(parser);

	*known = rc; /* what failed otherwise is told as such */
	if (rc)
		return rc;
	if (perch_machine_pmus(parser->machine, &pmus, &nr, NULL))
		return -ENOENT;
	for (size_t i = 0; i < nr; i++) {
		struct perch_event *event;

		rc = perch__add_event(parser, &event);
		*known |= rc != 0;
		if (rc)
			return rc;
		event->attr.type = pmus[i].type;
		rc = perch__apply_pmu_event(parser, &pmus[i], name, at, terms, event);
		if (rc == 1 && terms)
			rc = perch__apply_pmu_terms(parser, &pmus[i], terms, event) ?: 1;
		*known |= rc != 0;
		if (rc == 1)
			join_first(parser, before);
		else
			perch__drop_events(parser->events, parser->events->nr - 1);
		if (rc < 0)
			return rc;
	}
	return *known ? 0 : -ENOENT;
}
