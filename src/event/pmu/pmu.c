/* SPDX-License-Identifier: MIT */
/*
 * The terms of "pmu/name,term=value,.../", applied in three passes: terms of all events
 * (config fields among them), aliases, then format terms. So the more specific term takes
 * precedence, independent of its position in the text.
 */
#include <errno.h>
#include <string.h>

#include "pmu.h"
#include "event/terms.h"

enum pass { PASS_COMMON, PASS_ALIASES, PASS_FORMATS };

struct application {
	struct perch__pmu_event target;
	const struct perch_pmu *pmu;
	uint64_t done;	       /* bit n: term n is applied */
	unsigned config_terms; /* terms that set config fields */
	bool generic;	       /* one of them is a generic name, such as cycles */
};

/* A term with a value is a format term. One without may also be rNNN, or a generic name if the PMU
 * counts on cores. */
static int apply_format_term(struct application *application, const struct perch__term *term,
			     const char *name)
{
	const struct perch__pmu_event *target = &application->target;
	bool has_format = perch__has_pmu_format(target, name);
	uint64_t value;
	int rc;

	if (!term->valued && !has_format) {
		if (perch__is_raw_term(name, &value)) {
			target->event->attr.config = value;
			return 0;
		}
		rc = perch__apply_core_event(target->parser, application->pmu, name, term->at,
					     target->event);
		application->generic |= rc > 0;
		if (rc)
			return rc < 0 ? rc : 0;
	}
	/* the name is checked first: its error is more useful than that of the value */
	if (term->valued && !has_format)
		return perch__unknown_pmu_term(target, name);
	rc = perch__term_number(target->parser, term, &value);
	return rc ? rc
		  : perch__set_pmu_term(target, name, value,
					term->valued ? term->value_at : term->at);
}

/* filter and raw are common terms, unless the PMU has a format file of that name. */
static bool is_common(const struct perch__pmu_event *target, const char *name)
{
	return (strcmp(name, "filter") && strcmp(name, "raw")) ||
	       !perch__has_pmu_format(target, name);
}

static int apply_in_pass(struct application *application, const struct perch__term *term,
			 enum pass pass, uint64_t bit)
{
	struct perch__pmu_event *target = &application->target;
	char name[PERCH__WORD_SIZE];
	int rc = 0;

	if (application->done & bit)
		return 0;
	target->at = term->at;
	perch__term_name(target->parser, term, name);
	if (pass == PASS_COMMON)
		rc = is_common(target, name)
			     ? perch__apply_common_term(target->parser, term, target->event)
			     : 0;
	else if (pass == PASS_ALIASES)
		rc = term->valued ? 0 : perch__apply_pmu_alias(target, name);
	else
		rc = apply_format_term(application, term, name);
	if (rc > 0)
		application->done |= bit;
	application->config_terms +=
		pass == PASS_FORMATS ||
		(rc > 0 && (pass == PASS_ALIASES || perch__is_config_term(name)));
	return rc < 0 ? rc : 0;
}

int perch__apply_pmu_terms(struct perch__parser *parser, const struct perch_pmu *pmu,
			   const struct perch__terms *terms, struct perch_event *event)
{
	struct application application = {
		.target = { .parser = parser, .pmu = pmu->name, .event = event, .terms = terms },
		.pmu = pmu,
	};
	int rc = 0;

	for (enum pass pass = PASS_COMMON; pass <= PASS_FORMATS; pass++)
		for (size_t i = 0; i < terms->nr && !rc; i++)
			rc = apply_in_pass(&application, &terms->term[i], pass, UINT64_C(1) << i);
	/* config then has a generic event number: format terms would change single bits of it */
	if (!rc && application.generic && application.config_terms > 1)
		return perch__parse_error(
			parser, terms->from, EINVAL, PERCH_ERROR_CONFLICT,
			"a generic event of PMU '%s' cannot be combined with other events or terms of the PMU",
			pmu->name);
	return rc ? rc : perch__check_terms(parser, terms, event);
}
