/* SPDX-License-Identifier: MIT */
/* The state and the scaled value of a count; sums and differences. */
#include "base/wide.h"
#include "internal.h"

uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running)
{
	/* running / 2 rounds to nearest */
	return running ? perch__divide_product(value, enabled, running / 2, running) : 0;
}

int perch__evaluate_scaled(struct perch_count *count, uint64_t enabled, uint64_t running)
{
	count->enabled_ns = enabled;
	count->running_ns = running;
	count->scaled = perch_scale(count->value, enabled, running);
	count->state = running ? PERCH_COUNT_STATE_SCALED : PERCH_COUNT_STATE_NEVER_RAN;
	return 0;
}

int perch__evaluate_signed(struct perch_count *count, uint64_t enabled, uint64_t running)
{
	static const struct perch__base none;

	return perch__evaluate(count, (int64_t)enabled < 0 ? 0 : enabled,
			       (int64_t)running < 0 ? 0 : running, &none);
}

static uint64_t add_saturated(uint64_t left, uint64_t right)
{
	uint64_t sum;

	return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

/* The sum of several counts has the state of the highest rank. A target that was not enabled does
 * not make the other counts less exact. */
static int rank_of(enum perch_count_state state)
{
	static const int ranks[] = {
		[PERCH_COUNT_STATE_NOT_OPEN] = 0,  [PERCH_COUNT_STATE_NOT_ENABLED] = 1,
		[PERCH_COUNT_STATE_EXACT] = 2,	   [PERCH_COUNT_STATE_SCALED] = 3,
		[PERCH_COUNT_STATE_NEVER_RAN] = 4, [PERCH_COUNT_STATE_ERROR] = 5,
	};

	return (size_t)state < sizeof(ranks) / sizeof(ranks[0]) ? ranks[state]
								: ranks[PERCH_COUNT_STATE_ERROR];
}

const char *perch_count_state_name(enum perch_count_state state)
{
	switch (state) {
	case PERCH_COUNT_STATE_EXACT:
		return "exact";
	case PERCH_COUNT_STATE_SCALED:
		return "scaled";
	case PERCH_COUNT_STATE_NEVER_RAN:
		return "never ran";
	case PERCH_COUNT_STATE_NOT_ENABLED:
		return "not enabled";
	case PERCH_COUNT_STATE_ERROR:
		return "error";
	case PERCH_COUNT_STATE_NOT_OPEN:
		return "not open";
	}
	return "unknown";
}

void perch_count_sum(struct perch_count *sum, const struct perch_count *counts, size_t nr)
{
	struct perch_count total = { .state = PERCH_COUNT_STATE_NOT_OPEN };

	for (size_t i = 0; i < nr; i++) {
		const struct perch_count *count = &counts[i];

		if (rank_of(count->state) > rank_of(total.state))
			total.state = count->state;
		if (count->state == PERCH_COUNT_STATE_NOT_OPEN ||
		    count->state == PERCH_COUNT_STATE_ERROR)
			continue;
		total.value = add_saturated(total.value, count->value);
		total.scaled = add_saturated(total.scaled, count->scaled);
		total.enabled_ns = add_saturated(total.enabled_ns, count->enabled_ns);
		total.running_ns = add_saturated(total.running_ns, count->running_ns);
		total.lost = add_saturated(total.lost, count->lost);
	}
	if (nr == 1)
		total.id = counts[0].id;
	*sum = total;
}

static bool counted(const struct perch_count *count)
{
	return count->state != PERCH_COUNT_STATE_NOT_OPEN &&
	       count->state != PERCH_COUNT_STATE_ERROR;
}

static uint64_t difference(uint64_t now, uint64_t earlier)
{
	return now > earlier ? now - earlier : 0;
}

void perch_count_delta(struct perch_count *delta, const struct perch_count *now,
		       const struct perch_count *earlier)
{
	struct perch_count between = *now;
	struct perch__base base = { 0 };

	/* the earlier value is unknown, so the difference is too */
	if (counted(now) && earlier && !counted(earlier)) {
		*delta = (struct perch_count){ .id = now->id, .state = earlier->state };
		return;
	}
	/* less time than before means a reset in between: the whole count is new */
	if (counted(now) && earlier && now->enabled_ns >= earlier->enabled_ns) {
		base = (struct perch__base){ earlier->enabled_ns, earlier->running_ns };
		between.value = difference(now->value, earlier->value);
		between.lost = difference(now->lost, earlier->lost);
	}
	if (counted(now))
		perch__evaluate(&between, now->enabled_ns, now->running_ns, &base);
	*delta = between;
}
