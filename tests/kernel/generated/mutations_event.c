/* SPDX-License-Identifier: MIT */
/* Mutations of the event itself. */
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mutations.h"

/* ---- type and config ---- */

CHANGE(software_config)
{
	ATTR->config = PERCH_COUNT_SW_MAX + (build_random(rng) >> (1 + build_below(rng, 63)));
	return true;
}

CHANGE(software_config_high)
{
	ATTR->config |= UINT64_C(1) << (32 + build_below(rng, 32));
	return true;
}

CHANGE(unknown_type)
{
	ATTR->type = 1000 + (build_random(rng) >> (32 + build_below(rng, 20)));
	return true;
}

CHANGE(negative_type)
{
	ATTR->type = UINT32_MAX - build_below(rng, 4);
	return true;
}

static void clear_event(struct perch_attr *attr)
{
	attr->bp_type = 0;
	attr->config1 = attr->config2 = 0;
}

CHANGE(hardware)
{
	clear_event(ATTR);
	ATTR->type = PERCH_TYPE_HARDWARE;
	ATTR->config = build_below(rng, PERCH_COUNT_HW_MAX);
	return true;
}

CHANGE(hardware_cache)
{
	clear_event(ATTR);
	ATTR->type = PERCH_TYPE_HW_CACHE;
	ATTR->config = build_below(rng, 7) | build_below(rng, 3) << 8 | build_below(rng, 2) << 16;
	return true;
}

CHANGE(raw_hardware)
{
	clear_event(ATTR);
	ATTR->type = PERCH_TYPE_RAW;
	ATTR->config = build_below(rng, 65536);
	return true;
}

CHANGE(extended_type)
{
	const uint32_t types[] = { PERCH_TYPE_SOFTWARE, PERCH_TYPE_TRACEPOINT, PERCH_TYPE_RAW, 99,
				   1000 };

	clear_event(ATTR);
	ATTR->type = PERCH_TYPE_HARDWARE;
	ATTR->config = build_below(rng, PERCH_COUNT_HW_MAX) |
		       (uint64_t)types[build_below(rng, COUNT_OF(types))] << PERCH_PMU_TYPE_SHIFT;
	return true;
}

/* ---- Tracepoints ---- */

CHANGE(tracepoint_id)
{
	ATTR->config = 60000 + (build_random(rng) >> (1 + build_below(rng, 48)));
	return true;
}

CHANGE(tracepoint_zero)
{
	ATTR->config = 0;
	return true;
}

CHANGE(nmi_clock)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI };

	ATTR->use_clockid = 1;
	ATTR->clockid = clocks[build_below(rng, COUNT_OF(clocks))];
	return true;
}

/* ---- Breakpoints ---- */

CHANGE(breakpoint_type)
{
	static const uint32_t types[] = { 0, PERCH_BREAKPOINT_R, 5, 6, 7, 8, 16, 0x80000000 };

	ATTR->bp_type = types[build_below(rng, COUNT_OF(types))];
	return true;
}

CHANGE(breakpoint_length)
{
	static const uint64_t lengths[] = {
		0, 3, 5, 6, 7, 9, 12, 16, 32, 4096, UINT64_C(1) << 40, UINT64_MAX
	};

	ATTR->bp_len = lengths[build_below(rng, COUNT_OF(lengths))];
	return true;
}

CHANGE(breakpoint_code_length)
{
	if (ATTR->bp_type != PERCH_BREAKPOINT_X)
		return false;
	ATTR->bp_len = UINT64_C(1) << build_below(rng, 3);
	return true;
}

CHANGE(breakpoint_align)
{
	if (ATTR->bp_type == PERCH_BREAKPOINT_X || ATTR->bp_len < 2)
		return false;
	ATTR->bp_addr |= 1 + build_below(rng, ATTR->bp_len - 1);
	return true;
}

#define KERNEL_ADDRESS UINT64_C(0xffffffff81000000)

CHANGE(breakpoint_in_kernel)
{
	ATTR->bp_addr = KERNEL_ADDRESS + 64 * build_below(rng, 1 << 16);
	ATTR->exclude_kernel = 1;
	return true;
}

/* The interrupt descriptor table begins the CPU entry area of every x86-64 kernel since 5.8. */
CHANGE(breakpoint_in_entry_area)
{
#if defined(__x86_64__)
	ATTR->bp_addr = UINT64_C(0xfffffe0000000000) + build_below(rng, 4000);
	return true;
#else
	(void)call;
	return false;
#endif
}

/* x86 has four debug registers. The case uses them all; the mutated open call needs a fifth. */
CHANGE(breakpoint_slots)
{
	int fd;

	if (call->nr_fds)
		return false;
	for (size_t i = 0; i < GENERATED_FDS; i++) {
		fd = generated_open(call, NULL);
		if (fd < 0)
			return true;
		generated_keep(call, fd);
	}
	return false;
}

/* ---- msr, which can only count, in all modes ---- */

CHANGE(msr_config)
{
	ATTR->config = 8 + (build_random(rng) >> (1 + build_below(rng, 60)));
	return true;
}

#define CHANGE_TO_SET(bit)     \
	CHANGE(set_##bit)      \
	{                      \
		ATTR->bit = 1; \
		return true;   \
	}
CHANGE_TO_SET(exclude_user)
CHANGE_TO_SET(exclude_kernel)
CHANGE_TO_SET(exclude_hv)
CHANGE_TO_SET(exclude_idle)
CHANGE_TO_SET(exclude_host)
CHANGE_TO_SET(exclude_guest)
CHANGE_TO_SET(namespaces)

CHANGE(msr_samples)
{
	ATTR->freq = 0;
	ATTR->sample_period = 1 + build_below(rng, 1000000);
	return true;
}

CHANGE(msr_samples_by_frequency)
{
	ATTR->freq = 1;
	ATTR->sample_freq = 1 + build_below(rng, env->max_rate);
	return true;
}

/* ---- uprobes ---- */

static bool probe_path(struct generated_call *call, const char *path)
{
	ATTR->config1 = (uintptr_t)path;
	return true;
}

CHANGE(probe_path_null)
{
	return probe_path(call, NULL);
}

CHANGE(probe_path_unreadable)
{
	ATTR->config1 = 8 + build_below(rng, 4000);
	return true;
}

CHANGE(probe_path_empty)
{
	return probe_path(call, "");
}

CHANGE(probe_path_missing)
{
	static const char *const paths[] = { "/proc/none/program", "/usr/bin/perch-is-not-here",
					     "relative-and-absent" };

	return probe_path(call, paths[build_below(rng, COUNT_OF(paths))]);
}

CHANGE(probe_path_directory)
{
	return probe_path(call, "/usr");
}

CHANGE(probe_path_long)
{
	static char path[8192];

	memset(path, 'x', sizeof(path) - 1);
	return probe_path(call, path);
}

CHANGE(probe_offset)
{
	ATTR->config2 = (UINT64_C(1) << 40) + build_below(rng, UINT64_C(1) << 40);
	return true;
}

CHANGE(probe_counter)
{
	ATTR->config |= (UINT64_C(1) + 2 * build_below(rng, 1 << 10)) << 32;
	return true;
}

/* An unprivileged user opens a probe where root may open one. */
CHANGE(probe_as_user)
{
	if (!env->uprobe_type)
		return false;
	clear_event(ATTR);
	ATTR->type = env->uprobe_type;
	ATTR->config = 0;
	ATTR->config1 = (uintptr_t)env->program;
	ATTR->config2 = env->program_offset;
	return true;
}

CHANGE(msr_as_user)
{
	if (!env->msr_type || ATTR->sample_period || ATTR->use_clockid)
		return false;
	clear_event(ATTR);
	ATTR->type = env->msr_type;
	ATTR->config = 0;
	return true;
}

#define HARDWARE_FIELDS "type,config"
#define EXCLUDES	"exclude_user,exclude_kernel,exclude_hv,exclude_idle,exclude_host,exclude_guest"
#define PATH_FIELDS	"config1,uprobe_path"
/*
 * When a probe is opened or closed, the kernel waits for every CPU, about 0.1 s. These mutations
 * are rare.
 */
#define RARE 6

static const struct mutation table[] = {
	{ .name = "a software event that does not exist",
	  .fields = "config",
	  .requirements = REQUIRE_SOFTWARE,
	  .change = software_config },
	{ .name = "a software event with high bits",
	  .fields = "config",
	  .requirements = REQUIRE_SOFTWARE,
	  .change = software_config_high },
	{ .name = "a type that no PMU has", .fields = "type", .change = unknown_type },
	{ .name = "type -1", .fields = "type", .change = negative_type },
	{ .name = "a hardware event",
	  .fields = HARDWARE_FIELDS,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = hardware },
	{ .name = "a hardware cache event",
	  .fields = HARDWARE_FIELDS,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = hardware_cache },
	{ .name = "a raw hardware event",
	  .fields = HARDWARE_FIELDS,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = raw_hardware },
	{ .name = "a hardware event of another PMU",
	  .fields = HARDWARE_FIELDS,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = extended_type },
	{ .name = "a tracepoint id that does not exist",
	  .fields = "config",
	  .requirements = REQUIRE_TRACEPOINT,
	  .change = tracepoint_id },
	{ .name = "tracepoint 0",
	  .fields = "config",
	  .requirements = REQUIRE_TRACEPOINT,
	  .change = tracepoint_zero },
	{ .name = "a clock that interrupts cannot read",
	  .fields = "clockid,use_clockid",
	  .requirements = REQUIRE_TRACEPOINT | REQUIRE_BREAKPOINT | REQUIRE_NO_GROUP,
	  .change = nmi_clock },
	{ .name = "bp_type",
	  .fields = "bp_type",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_type },
	{ .name = "bp_len",
	  .fields = "bp_len",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_length },
	{ .name = "bp_len of an execution breakpoint",
	  .fields = "bp_len",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_code_length },
	{ .name = "bp_addr not aligned",
	  .fields = "bp_addr,bp_len",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_align },
	{ .name = "bp_addr in the kernel with exclude_kernel",
	  .fields = "bp_addr,exclude_kernel",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_in_kernel },
	{ .name = "bp_addr in the CPU entry area",
	  .fields = "bp_addr",
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = breakpoint_in_entry_area },
	{ .name = "a fifth breakpoint",
	  .cause = PERCH_CAUSE_BREAKPOINT_SLOTS,
	  .requirements = REQUIRE_BREAKPOINT | REQUIRE_NO_GROUP,
	  .alone = true,
	  .change = breakpoint_slots },
	{ .name = "config of msr",
	  .fields = "config",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = msr_config },
	{ .name = "exclude_user on msr",
	  .fields = "exclude_user",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_user },
	{ .name = "exclude_kernel on msr",
	  .fields = "exclude_kernel",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_kernel },
	{ .name = "exclude_hv on msr",
	  .fields = "exclude_hv",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_hv },
	{ .name = "exclude_idle on msr",
	  .fields = "exclude_idle",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_idle },
	{ .name = "exclude_host on msr",
	  .fields = "exclude_host",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_host },
	{ .name = "exclude_guest on msr",
	  .fields = "exclude_guest",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = set_exclude_guest },
	{ .name = "a period on msr",
	  .fields = "sample_period",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = msr_samples },
	{ .name = "a frequency on msr",
	  .fields = "sample_freq,sample_period,freq",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_MSR,
	  .change = msr_samples_by_frequency },
	{ .name = "a uprobe's path NULL",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_null },
	{ .name = "a uprobe's path unreadable",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_unreadable },
	{ .name = "a uprobe's path empty",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_empty },
	{ .name = "a uprobe's file missing",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_missing },
	{ .name = "a uprobe on a directory",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_directory },
	{ .name = "a uprobe's path too long",
	  .fields = PATH_FIELDS,
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_path_long },
	{ .name = "a uprobe beyond the file's end",
	  .fields = "config2,probe_offset",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_offset },
	{ .name = "a uprobe's counter not aligned",
	  .fields = "config",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_UPROBE,
	  .weight = RARE,
	  .change = probe_counter },
	{ .name = "a uprobe as a user",
	  .fields = "type",
	  .users = FOR_USER,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = probe_as_user },
	{ .name = "msr with an exclude bit",
	  .fields = "type," EXCLUDES,
	  .users = FOR_USER,
	  .requirements = REQUIRE_SOFTWARE,
	  .change = msr_as_user },
	{ .name = "namespaces",
	  .fields = "namespaces",
	  .users = FOR_USER,
	  .change = set_namespaces },
};

const struct mutations event_mutations = { table, COUNT_OF(table) };
