/* SPDX-License-Identifier: MIT */
/* The words that the rules' conditions are made of, and the table they become. */
#include <errno.h>
#include <time.h>

#include "rules.h"

#define FLAGS(bits) (c->call->flags & (bits))
#define IN_GROUP (c->call->group_fd >= 0 && !FLAGS(PERCH_FLAG_FD_NO_GROUP))
#define SAMPLES(what) (c->attr.sample_type & PERCH_SAMPLE_##what)
#define SOFTWARE (c->attr.type == PERCH_TYPE_SOFTWARE)
#define TRACEPOINT (c->attr.type == PERCH_TYPE_TRACEPOINT)
/* Others watch any number of bytes, or take an odd place without a word. */
#if defined(__x86_64__) || defined(__i386__)
#define X86 1
#else
#define X86 0
#endif
#define BREAKPOINT (c->attr.type == PERCH_TYPE_BREAKPOINT)
#define OTHER_PMU (c->attr.type >= PERCH_TYPE_MAX)	/* its number is in sysfs */
#define HARDWARE                                                                                   \
	(c->attr.type == PERCH_TYPE_HARDWARE || c->attr.type == PERCH_TYPE_HW_CACHE ||             \
	 c->attr.type == PERCH_TYPE_RAW)
#define SIZE_OUT_OF_RANGE                                                                          \
	(c->call->attr && c->call->attr->size &&                                                   \
	 (c->call->attr->size < PERCH_ATTR_SIZE_VER0 || c->call->attr->size > 4096))
#define KERNEL_ADDRESS (c->attr.bp_addr >> 63)
#define BRANCHES_IN_KERNEL                                                                         \
	(SAMPLES(BRANCH_STACK) &&                                                                  \
	 (c->attr.branch_sample_type & PERCH_SAMPLE_BRANCH_PLM_ALL                                 \
		  ? c->attr.branch_sample_type &                                                   \
			    (PERCH_SAMPLE_BRANCH_KERNEL | PERCH_SAMPLE_BRANCH_HV)                  \
		  : !c->attr.exclude_kernel || !c->attr.exclude_hv))
#if defined(__x86_64__)
#define BAD_REGS(mask) (!(mask) || (mask) & 0xf000)	/* DS, ES, FS, GS cannot be sampled */
#else
#define BAD_REGS(mask) (!(mask))
#endif
#define EXCLUDES                                                                                   \
	(c->attr.exclude_user || c->attr.exclude_kernel || c->attr.exclude_hv ||                   \
	 c->attr.exclude_idle || c->attr.exclude_host || c->attr.exclude_guest)
#define USES_AUX                                                                                   \
	(c->attr.aux_output || c->attr.aux_sample_size || c->attr.aux_pause || c->attr.aux_resume)
#define NMI_SAFE_CLOCK                                                                             \
	(c->attr.clockid == CLOCK_MONOTONIC || c->attr.clockid == CLOCK_MONOTONIC_RAW)
#define KNOWN_CLOCK                                                                                \
	(NMI_SAFE_CLOCK || c->attr.clockid == CLOCK_REALTIME ||                                    \
	 c->attr.clockid == CLOCK_BOOTTIME || c->attr.clockid == CLOCK_TAI)
#define OLDER_THAN(release)                                                                        \
	(perch__running_rank(c) && perch__running_rank(c) < perch__release_rank(release))

#define SURE(condition) ((condition) ? PERCH__YES : PERCH__NO)
#define PERHAPS(condition) ((condition) ? PERCH__MAYBE : PERCH__NO)

#define NO_MEND
#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy)                \
	static enum perch__fit fit_##name(const struct perch__case *c)                             \
	{                                                                                          \
		(void)c;                                                                           \
		return condition;                                                                  \
	}
#include "rules.def"
#undef RULE

#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy)                \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, fit_##name, NULL, sentence, remedy },
const struct perch__rule perch__rules[] = {
#include "rules.def"
	{ NULL, PERCH_CAUSE_NONE, 0, NULL, NULL, NULL, NULL, NULL, NULL },
};
