/* SPDX-License-Identifier: MIT */
/* Lists mutations, applies them, and evaluates explanations. */
#include <stdio.h>
#include <string.h>

#include "generated.h"

size_t mutations_for(const struct environment *env, const struct mutation *list[MUTATIONS_MAX])
{
	const struct mutations *const tables[] = { &attr_mutations, &sample_mutations,
						   &event_mutations, &target_mutations,
						   &group_mutations };
	unsigned users = env->privileged ? FOR_ROOT : FOR_USER;
	size_t nr = 0;

	for (size_t i = 0; i < COUNT_OF(tables); i++)
		for (size_t j = 0; j < tables[i]->nr && nr < MUTATIONS_MAX; j++)
			if (!tables[i]->mutation[j].users || tables[i]->mutation[j].users & users)
				list[nr++] = &tables[i]->mutation[j];
	return nr;
}

static unsigned weight_of(const struct mutation *mutation)
{
	return mutation->weight ? mutation->weight : 100;
}

size_t mutation_pick(const struct mutation *const *list, size_t nr, struct build_rng *rng)
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

bool mutation_apply(const struct mutation *mutation, const struct environment *env,
		    struct build_rng *rng, struct generated_call *call)
{
	if (!mutation->change(env, rng, call))
		return false;
	if (!mutation->sizes)
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

static bool names_field_of(const struct perch_finding *finding, const char *fields)
{
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (in_list(fields, finding->field[i]))
			return true;
	return false;
}

/* No other answer helps: the kernel refuses every value of the field. */
static bool names_too_new_field(const struct perch_finding *finding, unsigned features)
{
	if (finding->cause != PERCH_CAUSE_TOO_NEW)
		return false;
	for (unsigned feature = 1; feature <= features; feature <<= 1)
		if (features & feature && names_field_of(finding, feature_fields(feature)))
			return true;
	return false;
}

bool finding_names(const struct environment *env, const struct perch_finding *finding,
		   const struct mutation *mutation)
{
	if (mutation->uses & env->lacks)
		return names_too_new_field(finding, mutation->uses & env->lacks);
	if (!mutation->fields)
		return finding->cause == mutation->cause;
	return names_field_of(finding, mutation->fields);
}

bool mutations_share_field(const struct environment *env, const struct mutation *one,
			   const struct mutation *other)
{
	char name[64];

	if (one->uses & other->uses & env->lacks)
		return true;
	for (const char *next = one->fields; next && *next; next += strcspn(next, ",")) {
		next += *next == ',';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(next, ","), next);
		if (other->fields && in_list(other->fields, name))
			return true;
	}
	return false;
}

enum result evaluate_explanation(const struct environment *env,
				 const struct perch_explanation *explanation,
				 const struct mutation *mutation)
{
	if (explanation->confidence != PERCH_CONFIDENCE_AMBIGUOUS)
		return explanation->nr_findings &&
				       finding_names(env, &explanation->finding[0], mutation)
			       ? RESULT_CORRECT
			       : RESULT_WRONG;
	for (size_t i = 0; i < explanation->nr_findings; i++)
		if (finding_names(env, &explanation->finding[i], mutation))
			return RESULT_AMBIGUOUS;
	return RESULT_WRONG;
}
