/* SPDX-License-Identifier: MIT */
/* Applies the terms of an event's text to the options. */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

#define STACK_BYTES	8192 /* default of stack_bytes */
#define MAX_STACK_BYTES 65528

/* The registers that unwinding needs: the general registers, the stack pointer and the program
 * counter. 0 if the architecture is unknown. */
#if defined(__x86_64__)
#define UNWIND_REGS 0xff0fffull /* not DS, ES, FS, GS, which the kernel refuses */
#elif defined(__i386__)
#define UNWIND_REGS 0xfffull
#elif defined(__aarch64__)
#define UNWIND_REGS 0x1ffffffffull
#elif defined(__arm__)
#define UNWIND_REGS 0xffffull
#elif defined(__riscv) || defined(__loongarch__) || defined(__mips__)
#define UNWIND_REGS 0xffffffffull
#elif defined(__powerpc__)
#define UNWIND_REGS 0x1fffffffffffull
#elif defined(__s390__)
#define UNWIND_REGS 0x3ffffffffull
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

/* Clears what an earlier call graph mode has set. */
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
				"the stack copy must be at most %d bytes (currently %" PRIu32 ")",
				MAX_STACK_BYTES, bytes);
		perch_error_field(err, "sample_stack_user", NULL);
		return -EINVAL;
	}
	if (!UNWIND_REGS) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
			"call graphs by DWARF are not supported on this architecture: its registers are unknown");
		perch_error_field(err, "sample_regs_user", NULL);
		return -EINVAL;
	}
	options->sample |= PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER |
			   PERCH_SAMPLE_STACK_USER;
	options->sample_regs_user |= UNWIND_REGS;
	options->sample_stack_user = (bytes + 7) / 8 * 8;
	options->exclude_callchain_user = 1; /* unwound from the stack copy */
	options->defer_callchain = 0;
	return 0;
}

/* The call stack of the CPU has user space only, and excludes other branch types. Where it cannot
 * be used, frame pointers are. */
static void record_branch_stack(struct perch_options *options, bool user)
{
	options->sample |= PERCH_SAMPLE_CALLCHAIN;
	if (!user || options->sample & PERCH_SAMPLE_BRANCH_STACK)
		return;
	options->sample |= PERCH_SAMPLE_BRANCH_STACK;
	options->branch_sample_type = CALL_STACK_BRANCHES;
}

static int set_call_graph(struct perch_options *options, enum perch_call_graph_mode mode,
			  uint32_t stack_bytes, bool user, struct perch_error *err)
{
	if (mode == PERCH_CALL_GRAPH_UNSET)
		return 0;
	clear_call_graph(options);
	switch (mode) {
	case PERCH_CALL_GRAPH_FP:
		options->sample |= PERCH_SAMPLE_CALLCHAIN;
		break;
	case PERCH_CALL_GRAPH_DWARF:
		return copy_stack(options, stack_bytes, err);
	case PERCH_CALL_GRAPH_LBR:
		options->defer_callchain = 0;
		record_branch_stack(options, user);
		break;
	default:
		options->sample_max_stack = 0;
		options->defer_callchain = 0;
		break;
	}
	return 0;
}

int perch_options_set_call_graph(struct perch_options *options, enum perch_call_graph_mode mode,
				 uint32_t stack_bytes, struct perch_error *err)
{
	return set_call_graph(options, mode, stack_bytes, !options->exclude_user, err);
}

/* max-stack= without call-graph= enables call chains. stack-size= without it changes the size of
 * stack copies that the options request. */
static int apply_call_graph(struct perch_options *options, const struct perch_event *event,
			    struct perch_error *err)
{
	const struct perch_event_terms *terms = &event->terms;
	enum perch_call_graph_mode mode = terms->call_graph;
	uint32_t bytes = terms->stack_bytes;
	int rc;

	if (mode == PERCH_CALL_GRAPH_UNSET && bytes && options->sample & PERCH_SAMPLE_STACK_USER)
		mode = PERCH_CALL_GRAPH_DWARF;
	else if (mode == PERCH_CALL_GRAPH_UNSET && terms->max_stack &&
		 !(options->sample & PERCH_SAMPLE_CALLCHAIN))
		mode = PERCH_CALL_GRAPH_FP;
	rc = set_call_graph(options, mode, bytes,
			    !options->exclude_user && !event->attr.exclude_user, err);
	if (!rc && terms->max_stack && mode != PERCH_CALL_GRAPH_NONE)
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

/* The parser stores period= and freq= in the attr. */
static void apply_rate(struct perch_options *options, const struct perch_attr *attr)
{
	if (!attr->sample_period)
		return;
	options->period = attr->freq ? 0 : attr->sample_period;
	options->frequency = attr->freq ? attr->sample_freq : 0;
}

/* Terms about samples do not turn a counter into a sampling event. */
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
