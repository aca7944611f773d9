/* SPDX-License-Identifier: MIT */
/* Mutations of the sample contents. */
#include "mutations.h"

CHANGE(sample_type_bits)
{
	ATTR->sample_type |= UINT64_C(1) << (25 + build_below(rng, 39));
	return true;
}

CHANGE(all_sample_type_bits)
{
	ATTR->sample_type = ~UINT64_C(0);
	return true;
}

CHANGE(two_weights)
{
	ATTR->sample_type |= PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT;
	return true;
}

/* Branches of user space only: an unprivileged user may sample them. */
CHANGE(branch_stack)
{
	static const uint64_t kinds[] = { PERCH_SAMPLE_BRANCH_ANY, PERCH_SAMPLE_BRANCH_ANY_CALL,
					  PERCH_SAMPLE_BRANCH_CALL_STACK |
						  PERCH_SAMPLE_BRANCH_NO_FLAGS };

	ATTR->sample_type |= PERCH_SAMPLE_BRANCH_STACK;
	ATTR->branch_sample_type = PERCH_SAMPLE_BRANCH_USER |
				   kinds[build_below(rng, COUNT_OF(kinds))];
	return true;
}

CHANGE(branch_bits)
{
	branch_stack(env, rng, call);
	ATTR->branch_sample_type |= UINT64_C(1) << (20 + build_below(rng, 44));
	return true;
}

CHANGE(branch_kind)
{
	ATTR->sample_type |= PERCH_SAMPLE_BRANCH_STACK;
	ATTR->branch_sample_type = build_below(rng, PERCH_SAMPLE_BRANCH_ANY);
	return true;
}

CHANGE(branch_kernel)
{
	branch_stack(env, rng, call);
	ATTR->branch_sample_type |= build_percent(rng, 50) ? PERCH_SAMPLE_BRANCH_KERNEL
							   : PERCH_SAMPLE_BRANCH_HV;
	return true;
}

CHANGE(branch_like_event)
{
	branch_stack(env, rng, call);
	ATTR->branch_sample_type &= ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL;
	ATTR->exclude_hv = 0;
	return true;
}

/* ---- Registers and stacks ---- */

CHANGE(regs_user_none)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_USER;
	ATTR->sample_regs_user = 0;
	return true;
}

CHANGE(regs_intr_none)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_INTR;
	ATTR->sample_regs_intr = 0;
	return true;
}

/* The segment registers DS, ES, FS, GS, or bits without a register. */
static uint64_t bad_register(struct build_rng *rng)
{
	return 1 | UINT64_C(1) << (build_percent(rng, 60) ? 12 + build_below(rng, 4)
							  : 24 + build_below(rng, 8));
}

CHANGE(regs_user_bad)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_USER;
	ATTR->sample_regs_user |= bad_register(rng);
	return true;
}

CHANGE(regs_intr_bad)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_INTR;
	ATTR->sample_regs_intr |= bad_register(rng);
	return true;
}

static uint64_t wide_register(struct build_rng *rng)
{
	return 1 | UINT64_C(3) << (32 + 2 * build_below(rng, 16));
}

CHANGE(regs_user_wide)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_USER;
	ATTR->sample_regs_user |= wide_register(rng);
	return true;
}

CHANGE(regs_intr_wide)
{
	ATTR->sample_type |= PERCH_SAMPLE_REGS_INTR;
	ATTR->sample_regs_intr |= wide_register(rng);
	return true;
}

/* The kernel checks the mask even if no sample has registers. */
CHANGE(regs_user_unused)
{
	if (ATTR->sample_type & PERCH_SAMPLE_REGS_USER)
		return false;
	ATTR->sample_regs_user = wide_register(rng);
	return true;
}

CHANGE(stack_odd)
{
	ATTR->sample_type |= PERCH_SAMPLE_STACK_USER;
	ATTR->sample_stack_user = 8 * build_below(rng, 8191) + 1 + build_below(rng, 7);
	return true;
}

CHANGE(stack_large)
{
	ATTR->sample_type |= PERCH_SAMPLE_STACK_USER;
	ATTR->sample_stack_user = 65536 + 8 * (build_random(rng) >> 36);
	return true;
}

CHANGE(stack_depth)
{
	if (env->max_stack >= UINT16_MAX)
		return false;
	ATTR->sample_type |= PERCH_SAMPLE_CALLCHAIN;
	/* Linux 7.3 does not let an ordinary user sample call chains of the kernel. */
	ATTR->exclude_callchain_kernel |= !env->privileged;
	ATTR->sample_max_stack = env->max_stack + 1 + build_below(rng, UINT16_MAX - env->max_stack);
	return true;
}

CHANGE(inherit_read)
{
	ATTR->inherit = 1;
	ATTR->sample_type |= PERCH_SAMPLE_READ;
	ATTR->sample_type &= ~(uint64_t)PERCH_SAMPLE_TID;
	return true;
}

/* ---- Samples that need privilege ---- */

CHANGE(phys_addr)
{
	ATTR->sample_type |= PERCH_SAMPLE_PHYS_ADDR;
	return true;
}

/* Refused since Linux 7.3, and by older kernels with that fix. */
CHANGE(kernel_callchain)
{
	ATTR->sample_type |= PERCH_SAMPLE_CALLCHAIN;
	ATTR->exclude_callchain_kernel = 0;
	return true;
}

CHANGE(raw)
{
	for (size_t i = 0; i < env->nr_open_tracepoints; i++)
		if (ATTR->config == env->tracepoint[i] && call->cpu == -1)
			return false;
	ATTR->sample_type |= PERCH_SAMPLE_RAW;
	return true;
}

#define BRANCHES "branch_sample_type"

static const struct mutation table[] = {
	{ .name = "an unknown sample_type bit",
	  .fields = "sample_type",
	  .is_static = true,
	  .change = sample_type_bits },
	{ .name = "every sample_type bit",
	  .fields = "sample_type",
	  .alone = true,
	  .change = all_sample_type_bits },
	{ .name = "WEIGHT and WEIGHT_STRUCT",
	  .fields = "sample_type",
	  .is_static = true,
	  .uses = FEATURE_WEIGHT_STRUCT,
	  .change = two_weights },
	{ .name = "BRANCH_STACK", .fields = "sample_type", .change = branch_stack },
	{ .name = "an unknown branch_sample_type bit",
	  .fields = BRANCHES,
	  .is_static = true,
	  .change = branch_bits },
	{ .name = "BRANCH_STACK without a branch type",
	  .fields = BRANCHES,
	  .is_static = true,
	  .change = branch_kind },
	{ .name = "BRANCH_STACK of the kernel",
	  .fields = BRANCHES,
	  .users = FOR_USER,
	  .change = branch_kernel },
	{ .name = "BRANCH_STACK with the modes of the event",
	  .fields = BRANCHES ",sample_type,exclude_kernel,exclude_hv",
	  .users = FOR_USER,
	  .change = branch_like_event },
	{ .name = "REGS_USER without registers",
	  .fields = "sample_regs_user",
	  .is_static = true,
	  .change = regs_user_none },
	{ .name = "REGS_INTR without registers",
	  .fields = "sample_regs_intr",
	  .is_static = true,
	  .change = regs_intr_none },
	{ .name = "REGS_USER with a bad register",
	  .fields = "sample_regs_user",
	  .is_static = true,
	  .change = regs_user_bad },
	{ .name = "REGS_INTR with a bad register",
	  .fields = "sample_regs_intr",
	  .is_static = true,
	  .change = regs_intr_bad },
	{ .name = "REGS_USER with a vector register",
	  .fields = "sample_regs_user",
	  .change = regs_user_wide },
	{ .name = "REGS_INTR with a vector register",
	  .fields = "sample_regs_intr",
	  .change = regs_intr_wide },
	{ .name = "a mask of vector registers without samples of registers",
	  .fields = "sample_regs_user",
	  .change = regs_user_unused },
	{ .name = "sample_stack_user not a multiple of 8",
	  .fields = "sample_stack_user",
	  .is_static = true,
	  .change = stack_odd },
	{ .name = "sample_stack_user too large",
	  .fields = "sample_stack_user",
	  .is_static = true,
	  .change = stack_large },
	{ .name = "sample_max_stack above the limit",
	  .fields = "sample_max_stack",
	  .change = stack_depth },
	{ .name = "inherit and READ without TID",
	  .fields = "inherit,sample_type",
	  .is_static = true,
	  .change = inherit_read },
	{ .name = "PHYS_ADDR", .fields = "sample_type", .users = FOR_USER, .change = phys_addr },
	{ .name = "call chains of the kernel",
	  .fields = "exclude_callchain_kernel",
	  .users = FOR_USER,
	  .change = kernel_callchain },
	{ .name = "RAW of a tracepoint",
	  .fields = "sample_type",
	  .users = FOR_USER,
	  .requirements = REQUIRE_TRACEPOINT,
	  .change = raw },
};

const struct mutations sample_mutations = { table, COUNT_OF(table) };
