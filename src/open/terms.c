/* SPDX-License-Identifier: MIT */
/* What the terms of an event's text make of the options. */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

#define STACK_BYTES	8192 /* of the user's stack, where nothing else is said */
#define MAX_STACK_BYTES 65528

/* The registers that unwinding needs: all general ones, the stack's and the program's pointer. 0:
 * none are known. */
#if defined(__x86_64__)
#define UNWIND_REGS 0xff0fffull /* not DS, ES, FS, GS, which the kernel refuses */
#elif defined(__i386__)
#define UNWIND_REGS 0xfffull
#elif defined(__aarch64__)
#define UNWIND_REGS 0x1ffffffffull
#elif defined(__arm__)
#define UNWIND_REGS 0xffffull
#elif defined(__riscv) || defined(__loongarch__)
#define UNWIND_REGS 0xffffffffull
#elif defined(__powerpc__)
#define UNWIND_REGS 0x1fffffffffffull
#elif defined(__s390__)
#define UNWIND_REGS 0x3ffffffffull
#elif defined(__mips__)
#define UNWIND_REGS 0x3fffffffull
#else
#define UNWIND_REGS 0ull
#endif

#define CALL_STACK_BRANCHES                                             \
	(PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_CALL_STACK |    \
	 PERCH_SAMPLE_BRANCH_NO_FLAGS | PERCH_SAMPLE_BRANCH_NO_CYCLES | \
	 PERCH_SAMPLE_BRANCH_HW_INDEX)

bool perch__is_sampling(const struct perch_options *options)
{
	return options->period || options->frequency || options->sample;
}

/* Takes away what an earlier choice has set, so that one way of telling callers is left. */
static void clear_call_graph(struct perch_options *options)
{
	if (options->sample & PERCH_SAMPLE_STACK_USER) {
		options->sample &= ~(uint64_t)(PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_REGS_USER);
		options->sample_stack_user = 0;
		options->sample_regs_user = 0;
		options->exclude_callchain_user = 0;
	}
	if (options->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK) {
		options->sample &= ~(uint64_t)PERCH_SAMPLE_BRANCH_STACK;
		options->branch_sample_type = 0;
	}
	options->sample &= ~(uint64_t)PERCH_SAMPLE_CALLCHAIN;
}

static int copy_stack(struct perch_options *options, uint32_t stack_bytes, struct perch_error *err)
{
	uint32_t bytes = stack_bytes ? stack_bytes : STACK_BYTES;

	if (bytes > MAX_STACK_BYTES) {
		perch_error_set(err, EINVAL, PERCH_ERROR_BAD_FIELD,
				"a stack copy of %" PRIu32
				" bytes is more than a sample may have, which is %d",
				bytes, MAX_STACK_BYTES);
		perch_error_field(err, "sample_stack_user", NULL);
		return -EINVAL;
	}
	if (!UNWIND_REGS) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
			"the registers that unwinding needs are not known for this architecture");
		perch_error_field(err, "sample_regs_user", NULL);
		return -EINVAL;
	}
	options->sample |= PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER |
			   PERCH_SAMPLE_STACK_USER;
	options->sample_regs_user |= UNWIND_REGS;
	options->sample_stack_user = (bytes + 7) / 8 * 8;
	options->exclude_callchain_user = 1; /* it is unwound from the copy */
	return 0;
}

/* The CPU remembers the user's calls alone, and one kind of branch at a time: elsewhere frame
 * pointers must do. */
static void record_branch_stack(struct perch_options *options, bool user)
{
	options->sample |= PERCH_SAMPLE_CALLCHAIN;
	if (!user || options->sample & PERCH_SAMPLE_BRANCH_STACK)
		return;
	options->sample |= PERCH_SAMPLE_BRANCH_STACK;
	options->branch_sample_type = CALL_STACK_BRANCHES;
}

static int call_graph(struct perch_options *options, enum perch_call_graph_mode how,
		      uint32_t stack_bytes, bool user, struct perch_error *err)
{
	if (how == PERCH_CALL_GRAPH_UNSET)
		return 0;
	clear_call_graph(options);
	switch (how) {
	case PERCH_CALL_GRAPH_FP:
		options->sample |= PERCH_SAMPLE_CALLCHAIN;
		break;
	case PERCH_CALL_GRAPH_DWARF:
		return copy_stack(options, stack_bytes, err);
	case PERCH_CALL_GRAPH_LBR:
		record_branch_stack(options, user);
		break;
	default:
		options->sample_max_stack = 0;
		options->defer_callchain = 0;
		break;
	}
	return 0;
}

int perch_options_call_graph(struct perch_options *options, enum perch_call_graph_mode how,
			     uint32_t stack_bytes, struct perch_error *err)
{
	return call_graph(options, how, stack_bytes, !options->exclude_user, err);
}

/* max-stack= alone asks for call chains too; stack-size= alone for another size of copies that are
 * made anyway. */
static int apply_call_graph(struct perch_options *options, const struct perch_event *event,
			    struct perch_error *err)
{
	const struct perch_event_terms *terms = &event->terms;
	enum perch_call_graph_mode how = terms->call_graph;
	uint32_t bytes = terms->stack_bytes;
	int rc;

	if (how == PERCH_CALL_GRAPH_UNSET && bytes && options->sample & PERCH_SAMPLE_STACK_USER)
		how = PERCH_CALL_GRAPH_DWARF;
	else if (how == PERCH_CALL_GRAPH_UNSET && terms->max_stack &&
		 !(options->sample & PERCH_SAMPLE_CALLCHAIN))
		how = PERCH_CALL_GRAPH_FP;
	rc = call_graph(options, how, bytes, !options->exclude_user && !event->attr.exclude_user,
			err);
	if (!rc && terms->max_stack && how != PERCH_CALL_GRAPH_NONE)
		options->sample_max_stack = terms->max_stack;
	return rc;
}

static void apply_aux(struct perch_options *options, const struct perch_event_terms *terms)
{
	options->aux_output |= terms->aux_output;
	if (terms->aux_sample_bytes) {
		options->aux_sample_size = terms->aux_sample_bytes;
		options->sample |= PERCH_SAMPLE_AUX;
	}
	options->aux_start_paused |= terms->aux_action & 1;
	options->aux_pause |= terms->aux_action >> 1 & 1;
	options->aux_resume |= terms->aux_action >> 2 & 1;
}

/* period= and freq= are in the attr. */
static void apply_rate(struct perch_options *options, const struct perch_attr *attr)
{
	if (!attr->sample_period)
		return;
	options->period = attr->freq ? 0 : attr->sample_period;
	options->frequency = attr->freq ? attr->sample_freq : 0;
}

/* A counter takes no samples, whatever the text says of them. */
int perch__options_from_terms(struct perch_options *options, const struct perch_event *event,
			      struct perch_error *err)
{
	const struct perch_event_terms *terms = &event->terms;

	if (terms->inherit == PERCH_TRISTATE_YES)
		options->inherit = 1;
	else if (terms->inherit == PERCH_TRISTATE_NO)
		options->inherit = options->inherit_thread = options->inherit_stat = 0;
	if (!perch__is_sampling(options))
		return 0;
	apply_rate(options, &event->attr);
	if (terms->time == PERCH_TRISTATE_YES)
		options->sample |= PERCH_SAMPLE_TIME;
	else if (terms->time == PERCH_TRISTATE_NO)
		options->sample &= ~(uint64_t)PERCH_SAMPLE_TIME;
	if (terms->overwrite != PERCH_TRISTATE_UNSET)
		options->write_backward = terms->overwrite == PERCH_TRISTATE_YES;
	if (terms->branch_sample_type) {
		options->sample |= PERCH_SAMPLE_BRANCH_STACK;
		options->branch_sample_type = terms->branch_sample_type;
	}
	apply_aux(options, terms);
	return apply_call_graph(options, event, err);
}
