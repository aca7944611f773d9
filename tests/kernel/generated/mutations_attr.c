/* SPDX-License-Identifier: MIT */
/* Mutations of the attr that do not depend on the event. */
#include <string.h>

#include "mutations.h"

static uint64_t one_bit(struct build_rng *rng, unsigned from, unsigned to)
{
	return UINT64_C(1) << (from + build_below(rng, to - from));
}

CHANGE(reserved_1)
{
	ATTR->reserved_1 = one_bit(rng, 0, 24);
	return true;
}

CHANGE(defer_callchain)
{
	ATTR->defer_callchain = 1;
	return true;
}

CHANGE(defer_output)
{
	ATTR->defer_output = 1;
	return true;
}

CHANGE(reserved_2)
{
	ATTR->reserved_2 = 1 + build_below(rng, 65535);
	return true;
}

CHANGE(reserved_3)
{
	ATTR->reserved_3 = one_bit(rng, 0, 29);
	return true;
}

CHANGE(read_format_bits)
{
	ATTR->read_format |= one_bit(rng, 5, 64);
	return true;
}

CHANGE(all_read_format_bits)
{
	ATTR->read_format = ~UINT64_C(0);
	return true;
}

/* ---- The size ---- */

CHANGE(size_small)
{
	ATTR->size = 1 + build_below(rng, 63);
	return true;
}

CHANGE(size_large)
{
	ATTR->size = 4097 + (build_random(rng) >> (33 + build_below(rng, 18)));
	return true;
}

CHANGE(config4)
{
	ATTR->config4 = build_random(rng) | 1;
	ATTR->size = sizeof(*ATTR);
	return true;
}

/* Sets a byte beyond all fields. */
CHANGE(size_tail)
{
	ATTR->size = sizeof(*ATTR) + 8 + 8 * build_below(rng, 480);
	call->bytes[sizeof(*ATTR) + build_below(rng, ATTR->size - sizeof(*ATTR))] = 1;
	return true;
}

CHANGE(attr_null)
{
	call->pointer = NULL;
	return true;
}

CHANGE(attr_unreadable)
{
	call->pointer = (const void *)(uintptr_t)(8 + 8 * build_below(rng, 400));
	return true;
}

/* ---- Dependent fields ---- */

CHANGE(inherit_thread_alone)
{
	ATTR->inherit_thread = 1;
	ATTR->inherit = 0;
	return true;
}

CHANGE(inherit_cleared)
{
	if (!ATTR->inherit_thread || !ATTR->inherit)
		return false;
	ATTR->inherit = 0;
	return true;
}

CHANGE(exec_both)
{
	ATTR->enable_on_exec = ATTR->remove_on_exec = 1;
	return true;
}

CHANGE(sigtrap_alone)
{
	ATTR->sigtrap = 1;
	ATTR->remove_on_exec = 0;
	return true;
}

CHANGE(remove_on_exec_cleared)
{
	if (!ATTR->sigtrap)
		return false;
	ATTR->remove_on_exec = 0;
	return true;
}

CHANGE(frequency)
{
	ATTR->freq = 1;
	ATTR->sample_freq = env->max_rate + 1 + (build_random(rng) >> (1 + build_below(rng, 62)));
	return true;
}

CHANGE(period)
{
	ATTR->freq = 0;
	ATTR->sample_period = build_random(rng) | UINT64_C(1) << 63;
	return true;
}

/* A negative number in the frequency, which was meant as a period. */
CHANGE(period_as_frequency)
{
	if (ATTR->freq || ATTR->sample_period <= env->max_rate)
		return false;
	ATTR->freq = 1;
	return true;
}

CHANGE(clockid)
{
	static const int clocks[] = { 2,  3,  5,  6,  8,  9,	10,	   12,
				      15, 16, -1, -2, -6, 1000, INT32_MIN, INT32_MAX };

	ATTR->use_clockid = 1;
	ATTR->clockid = clocks[build_below(rng, COUNT_OF(clocks))];
	return true;
}

/* ---- AUX ---- */

CHANGE(aux_output)
{
	ATTR->aux_output = 1;
	return true;
}

CHANGE(aux_start_paused)
{
	ATTR->aux_start_paused = 1;
	return true;
}

CHANGE(aux_pause)
{
	ATTR->aux_pause = 1;
	return true;
}

CHANGE(aux_resume)
{
	ATTR->aux_resume = 1;
	return true;
}

CHANGE(aux_both)
{
	ATTR->aux_pause = ATTR->aux_resume = 1;
	return true;
}

CHANGE(aux_sample_size)
{
	ATTR->aux_sample_size = 1 + build_below(rng, 1 << 20);
	return true;
}

static const struct mutation table[] = {
	{ .name = "a flag bit that no kernel has",
	  .fields = "reserved_1,flags",
	  .is_static = true,
	  .change = reserved_1 },
	{ .name = "defer_callchain", .fields = "defer_callchain", .change = defer_callchain },
	{ .name = "defer_output", .fields = "defer_output", .change = defer_output },
	{ .name = "padding after sample_max_stack",
	  .fields = "reserved_2",
	  .is_static = true,
	  .change = reserved_2 },
	{ .name = "an unknown aux_action bit",
	  .fields = "aux_action,reserved_3",
	  .is_static = true,
	  .change = reserved_3 },
	{ .name = "an unknown read_format bit",
	  .fields = "read_format",
	  .is_static = true,
	  .change = read_format_bits },
	{ .name = "every read_format bit",
	  .fields = "read_format",
	  .alone = true,
	  .change = all_read_format_bits },
	{ .name = "size below 64",
	  .fields = "size",
	  .sizes = true,
	  .alone = true,
	  .change = size_small },
	{ .name = "size above a page",
	  .fields = "size",
	  .sizes = true,
	  .alone = true,
	  .change = size_large },
	{ .name = "config4", .fields = "config4", .sizes = true, .change = config4 },
	{ .name = "a byte after the fields of the attr",
	  .fields = "size",
	  .sizes = true,
	  .change = size_tail },
	{ .name = "attr NULL",
	  .fields = "attr",
	  .sizes = true,
	  .alone = true,
	  .change = attr_null },
	{ .name = "attr unreadable",
	  .fields = "attr",
	  .sizes = true,
	  .alone = true,
	  .change = attr_unreadable },
	{ .name = "inherit_thread without inherit",
	  .fields = "inherit_thread,inherit",
	  .is_static = true,
	  .uses = FEATURE_INHERIT_THREAD,
	  .change = inherit_thread_alone },
	{ .name = "inherit_thread with inherit cleared",
	  .fields = "inherit_thread,inherit",
	  .is_static = true,
	  .change = inherit_cleared },
	{ .name = "enable_on_exec and remove_on_exec",
	  .fields = "enable_on_exec,remove_on_exec",
	  .is_static = true,
	  .uses = FEATURE_REMOVE_ON_EXEC,
	  .change = exec_both },
	{ .name = "sigtrap without remove_on_exec",
	  .fields = "sigtrap,remove_on_exec",
	  .is_static = true,
	  .uses = FEATURE_SIGTRAP,
	  .change = sigtrap_alone },
	{ .name = "sigtrap with remove_on_exec cleared",
	  .fields = "sigtrap,remove_on_exec",
	  .is_static = true,
	  .change = remove_on_exec_cleared },
	{ .name = "sample_freq above the limit", .fields = "sample_freq", .change = frequency },
	{ .name = "sample_period negative",
	  .fields = "sample_period",
	  .is_static = true,
	  .change = period },
	{ .name = "a period used as a frequency",
	  .fields = "sample_freq,freq",
	  .change = period_as_frequency },
	{ .name = "a clock that events cannot use",
	  .fields = "clockid,use_clockid",
	  .is_static = true,
	  .change = clockid },
	{ .name = "aux_output", .fields = "aux_output", .change = aux_output },
	{ .name = "aux_start_paused",
	  .fields = "aux_action,aux_start_paused",
	  .uses = FEATURE_AUX_ACTION,
	  .change = aux_start_paused },
	{ .name = "aux_pause",
	  .fields = "aux_action,aux_pause",
	  .uses = FEATURE_AUX_ACTION,
	  .change = aux_pause },
	{ .name = "aux_resume",
	  .fields = "aux_action,aux_resume",
	  .uses = FEATURE_AUX_ACTION,
	  .change = aux_resume },
	{ .name = "aux_pause and aux_resume",
	  .fields = "aux_action,aux_pause,aux_resume",
	  .is_static = true,
	  .uses = FEATURE_AUX_ACTION,
	  .change = aux_both },
	{ .name = "aux_sample_size", .fields = "aux_sample_size", .change = aux_sample_size },
};

const struct mutations attr_mutations = { table, COUNT_OF(table) };
