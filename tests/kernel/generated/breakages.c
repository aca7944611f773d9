/* SPDX-License-Identifier: MIT */
/* Lists breakages, applies them, and evaluates explanations. */
#include <string.h>

#include "generated.h"

size_t breakages_for(const struct world *world, const struct breakage *list[BREAKAGES_MAX])
{
	const struct breakages *const tables[] = { &attr_breakages, &sample_breakages,
						   &event_breakages, &target_breakages,
						   &group_breakages };
	unsigned users = world->privileged ? FOR_ROOT : FOR_USER;
	size_t nr = 0;

	for (size_t i = 0; i < COUNT_OF(tables); i++)
		for (size_t j = 0; j < tables[i]->nr && nr < BREAKAGES_MAX; j++)
			if (!tables[i]->breakage[j].users || tables[i]->breakage[j].users & users)
				list[nr++] = &tables[i]->breakage[j];
	return nr;
}

static unsigned weight_of(const struct breakage *breakage)
{
	return breakage->weight ? breakage->weight : 100;
}

size_t breakage_pick(const struct breakage *const *list, size_t nr, struct build_rng *rng)
{
	uint64_t sum = 0, roll;

	for (size_t i = 0; i < nr; i++)
		sum += weight_of(list[i]);
	roll = build_below(rng, sum);
	for (size_t i = 0; i < nr; i++) {
		if (roll < weight_of(list[i]))
			return i;
		roll -= weight_of(list[i]);
	}
	return 0;
}

/* The kernel reads nothing beyond attr.size. */
static void grow(struct generated_call *call)
{
	size_t size = call->attr.size ? call->attr.size : PERCH_ATTR_SIZE_VER0;

	for (size_t i = size; i < sizeof(call->attr); i++)
		if (call->bytes[i]) {
			call->attr.size = sizeof(call->attr);
			return;
		}
}

bool breakage_apply(const struct breakage *breakage, const struct world *world,
		    struct build_rng *rng, struct generated_call *call)
{
	if (!breakage->change(world, rng, call))
		return false;
	if (!breakage->sizes)
		grow(call);
	return true;
}

static bool in_list(const char *list, const char *field)
{
	size_t length = strlen(field);

	for (const char *next = list; next; next = strchr(next, ',')) {
		next += *next == ',';
		if (!strncmp(next, field, length) && (next[length] == ',' || !next[length]))
			return true;
	}
	return false;
}

bool finding_names(const struct perch_finding *finding, const struct breakage *breakage)
{
	if (!breakage->fields)
		return finding->cause == breakage->cause;
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (in_list(breakage->fields, finding->field[i]))
			return true;
	return false;
}

enum result evaluate_explanation(const struct perch_explanation *explanation,
				 const struct breakage *breakage)
{
	if (explanation->confidence != PERCH_CONFIDENCE_AMBIGUOUS)
		return explanation->nr_findings && finding_names(&explanation->finding[0], breakage)
			       ? RESULT_RIGHT
			       : RESULT_WRONG;
	for (size_t i = 0; i < explanation->nr_findings; i++)
		if (finding_names(&explanation->finding[i], breakage))
			return RESULT_AMBIGUOUS;
	return RESULT_WRONG;
}
