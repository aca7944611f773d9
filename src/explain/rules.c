/* SPDX-License-Identifier: MIT */
/* The table of rules: a predicate and a row made from each line of rules.def. */
#include <errno.h>
#include <stddef.h>

#include "rules.h"

#define SAMPLES(what) (c->attr.sample_type & PERCH_SAMPLE_##what)
#define FLAGS(bits) ((c->call->flags & (bits)) != 0)
#define TYPE_ABOVE(type_number) (c->attr.type > (uint32_t)(type_number))
#define HARDWARE_TYPE                                                                              \
	(c->attr.type == PERCH_TYPE_HARDWARE || c->attr.type == PERCH_TYPE_HW_CACHE || c->attr.type == PERCH_TYPE_RAW)
#define SOFTWARE (c->attr.type == PERCH_TYPE_SOFTWARE)
#define BREAKPOINT (c->attr.type == PERCH_TYPE_BREAKPOINT)
#define SIZE_OUT_OF_RANGE (c->call->attr->size && (c->call->attr->size < PERCH_ATTR_SIZE_VER0 || c->call->attr->size > 4096))
#define BRANCHES_IN_KERNEL                                                                         \
	(SAMPLES(BRANCH_STACK) &&                                                                  \
	 (c->attr.branch_sample_type & (PERCH_SAMPLE_BRANCH_KERNEL | PERCH_SAMPLE_BRANCH_HV) ||     \
	  (!(c->attr.branch_sample_type & PERCH_SAMPLE_BRANCH_PLM_ALL) && !c->attr.exclude_kernel)))
#define OLDER_THAN(release) (perch__running_rank(c) && perch__running_rank(c) < perch__release_rank(release))
#define UNKNOWN_TO_RUNNING (asks_for_younger(c))
#define SIZE_OF_KERNEL (perch__field_beyond(c->call->attr, c->call->attr->size, &(struct perch__feature){ "", "" }))
#define USES_AUX                                                                                   \
	(c->attr.aux_output || c->attr.aux_pause || c->attr.aux_resume || SAMPLES(AUX) || c->attr.aux_sample_size)
#define EXCLUDES                                                                                   \
	(c->attr.exclude_user || c->attr.exclude_kernel || c->attr.exclude_hv || c->attr.exclude_idle || \
	 c->attr.exclude_host || c->attr.exclude_guest)
/* CLOCK_REALTIME, _MONOTONIC, _MONOTONIC_RAW, _BOOTTIME, _TAI; of these the second and third are safe in an NMI */
#define CLOCK_BITS (c->attr.clockid >= 0 && c->attr.clockid < 32 ? 1u << c->attr.clockid : 0)
#define KNOWN_CLOCK (CLOCK_BITS & (1u << 0 | 1u << 1 | 1u << 4 | 1u << 7 | 1u << 11))
#define NMI_SAFE_CLOCK (CLOCK_BITS & (1u << 1 | 1u << 4))

/* enum of <linux/hw_breakpoint.h> */
#define PERCH_BREAKPOINT_W 2
#define PERCH_BREAKPOINT_RW 3
#define PERCH_BREAKPOINT_X 4

/* The registers that can be in a mask here; elsewhere a mask that names none is all that is known to be wrong. */
#ifdef __x86_64__
#define BAD_REGS(mask) (!(mask) || ((mask) & 0xff00f000ull))	/* DS, ES, FS, GS and 24..31 */
#else
#define BAD_REGS(mask) (!(mask))
#endif

bool perch__unknown_to_running(const struct perch__case *c, struct perch__feature *feature)
{
	unsigned running = perch__running_rank(c);

	return perch__newest_feature(c, running ? running : perch__release_rank("5.12"), feature);
}

static bool asks_for_younger(const struct perch__case *c)
{
	struct perch__feature feature;

	return perch__unknown_to_running(c, &feature);
}

#define RULE(name, errnum, cause, field, since, condition, sentence, remedy)                       \
	static bool name##_applies(const struct perch__case *c)                                    \
	{                                                                                          \
		(void)c;                                                                           \
		return condition;                                                                  \
	}
#include "rules.def"
#undef RULE

#define RULE(name, errnum, cause, field, since, condition, sentence, remedy)                       \
	{ errnum, PERCH_CAUSE_##cause, field, since, name##_applies, sentence, remedy },
const struct perch__rule perch__rules[] = {
#include "rules.def"
	{ 0, PERCH_CAUSE_NONE, "", NULL, NULL, "", "" },
};
#undef RULE
