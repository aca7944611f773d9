/* SPDX-License-Identifier: MIT */
/* Terms of an event's text override options. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <perch/open.h>

#include "tree.h"

#define DWARF_BITS (PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER)

static const struct perch_options sampling = { .period = 1000,
					       .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME };
static const struct perch_options with_fp = { .frequency = 99,
					      .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN,
					      .sample_max_stack = 9 };

static struct perch_event clock_event(struct perch_event_terms terms)
{
	return (struct perch_event){
		.name = "cpu-clock",
		.attr = { .type = PERCH_TYPE_SOFTWARE },
		.members = 1,
		.scale = 1.0,
		.terms = terms,
	};
}

static struct perch_attr built(struct perch_event_terms terms, const struct perch_options *options)
{
	struct perch_event event = clock_event(terms);
	struct perch_attr attr;
	struct perch_error err;

	if (perch_attr_build(&attr, &event, options, &err))
		fail_msg("%s", err.message);
	return attr;
}

#define BUILT(options, ...) built((struct perch_event_terms){ __VA_ARGS__ }, options)

static void frame_pointers(void **state)
{
	struct perch_attr attr = BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_FP);

	(void)state;
	assert_int_equal(attr.sample_type,
			 PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CALLCHAIN);
	assert_false(attr.exclude_callchain_user);
	assert_int_equal(attr.sample_max_stack, 0);
	attr = BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_FP, .max_stack = 5);
	assert_int_equal(attr.sample_max_stack, 5);
	attr = BUILT(&sampling,
		     .max_stack = 6); /* without call-graph= it enables call chains too */
	assert_true(attr.sample_type & PERCH_SAMPLE_CALLCHAIN);
	assert_int_equal(attr.sample_max_stack, 6);
	attr = BUILT(&with_fp, .max_stack = 7);
	assert_int_equal(attr.sample_max_stack, 7);
	attr = BUILT(&with_fp, .call_graph = PERCH_CALL_GRAPH_NONE, .max_stack = 7);
	assert_int_equal(attr.sample_type, PERCH_SAMPLE_IP);
	assert_int_equal(attr.sample_max_stack, 0);
}

static void stack_copies(void **state)
{
	struct perch_attr attr = BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_DWARF);
	struct perch_options wide = sampling;
	struct perch_event event = clock_event((struct perch_event_terms){
		.call_graph = PERCH_CALL_GRAPH_DWARF, .stack_bytes = 65529 });
	struct perch_error err;

	(void)state;
	assert_int_equal(attr.sample_type, PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | DWARF_BITS);
	assert_int_equal(attr.sample_stack_user, 8192);
	assert_true(attr.exclude_callchain_user);
#if defined(__x86_64__)
	assert_int_equal(attr.sample_regs_user, 0xff0fff);
#elif defined(__aarch64__)
	assert_true(attr.sample_regs_user == 0x1ffffffff);
#endif
	assert_true(attr.sample_regs_user);
	assert_int_equal(BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_DWARF, .stack_bytes = 4001)
				 .sample_stack_user,
			 4008);
	assert_int_equal(BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_DWARF,
			       .stack_bytes = 65528)
				 .sample_stack_user,
			 65528);
	assert_int_equal(perch_attr_build(&attr, &event, &sampling, &err), -EINVAL);
	assert_string_equal(err.field, "sample_stack_user");
	/* options with stack copies: other size, other mode, none */
	assert_int_equal(perch_options_set_call_graph(&wide, PERCH_CALL_GRAPH_DWARF, 16384, &err),
			 0);
	assert_int_equal(BUILT(&wide, .inherit = PERCH_TRISTATE_UNSET).sample_stack_user, 16384);
	assert_int_equal(BUILT(&wide, .stack_bytes = 64).sample_stack_user, 64);
	attr = BUILT(&wide, .call_graph = PERCH_CALL_GRAPH_FP);
	assert_int_equal(attr.sample_type,
			 PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CALLCHAIN);
	assert_int_equal(
		attr.sample_stack_user | attr.sample_regs_user | attr.exclude_callchain_user, 0);
	attr = BUILT(&wide, .call_graph = PERCH_CALL_GRAPH_NONE);
	assert_int_equal(attr.sample_type, sampling.sample);
	attr = BUILT(&sampling, .stack_bytes = 64); /* without stack copies the size is ignored */
	assert_int_equal(attr.sample_type, sampling.sample);
	assert_int_equal(attr.sample_stack_user, 0);
}

static void branch_stacks(void **state)
{
	const uint64_t kinds = PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_CALL_STACK |
			       PERCH_SAMPLE_BRANCH_NO_FLAGS | PERCH_SAMPLE_BRANCH_NO_CYCLES |
			       PERCH_SAMPLE_BRANCH_HW_INDEX;
	struct perch_options any = sampling, kernel = sampling;
	struct perch_attr attr = BUILT(&sampling, .call_graph = PERCH_CALL_GRAPH_LBR);

	(void)state;
	assert_int_equal(attr.sample_type,
			 sampling.sample | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_BRANCH_STACK);
	assert_int_equal(attr.branch_sample_type, kinds);
	assert_false(attr.exclude_callchain_user);
	any.sample |= PERCH_SAMPLE_BRANCH_STACK;
	any.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY;
	attr = BUILT(&any, .call_graph = PERCH_CALL_GRAPH_LBR);
	assert_int_equal(attr.branch_sample_type, PERCH_SAMPLE_BRANCH_ANY);
	assert_true(attr.sample_type & PERCH_SAMPLE_CALLCHAIN);
	kernel.exclude_user = 1;
	attr = BUILT(&kernel, .call_graph = PERCH_CALL_GRAPH_LBR);
	assert_int_equal(attr.sample_type, sampling.sample | PERCH_SAMPLE_CALLCHAIN);
	assert_int_equal(attr.branch_sample_type, 0);
	assert_int_equal(perch_options_set_call_graph(&any, PERCH_CALL_GRAPH_NONE, 0, NULL), 0);
	/* requested by the options, not by a call graph */
	assert_int_equal(any.branch_sample_type, PERCH_SAMPLE_BRANCH_ANY);
	attr = BUILT(&sampling,
		     .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY_CALL | PERCH_SAMPLE_BRANCH_USER);
	assert_int_equal(attr.branch_sample_type,
			 PERCH_SAMPLE_BRANCH_ANY_CALL | PERCH_SAMPLE_BRANCH_USER);
	assert_true(attr.sample_type & PERCH_SAMPLE_BRANCH_STACK);
}

/* The kernel would read the path from the memory of the process that forks. */
static void paths_are_not_inherited(void **state)
{
	char path[] = "/bin/true";
	struct perch_event probe = { .name = "uprobe:/bin/true:main",
				     .attr = { .type = 9 },
				     .path = path };
	struct perch_options inherits = { .inherit = 1 };
	struct perch_error err = { 0 };
	struct perch_attr attr;

	(void)state;
	assert_int_equal(perch_attr_build(&attr, &probe, &inherits, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
	assert_string_equal(err.field, "inherit");
	probe.terms.inherit = PERCH_TRISTATE_NO;
	assert_int_equal(perch_attr_build(&attr, &probe, &inherits, &err), 0);
	assert_false(attr.inherit);
}

static void other_terms(void **state)
{
	struct perch_options all = { .period = 1,
				     .sample = PERCH_SAMPLE_IP,
				     .inherit = 1,
				     .inherit_thread = 1,
				     .write_backward = 1 };
	struct perch_attr attr;

	(void)state;
	attr = BUILT(&all, .inherit = PERCH_TRISTATE_NO, .overwrite = PERCH_TRISTATE_NO,
		     .time = PERCH_TRISTATE_YES);
	assert_false(attr.inherit || attr.inherit_thread || attr.write_backward);
	assert_int_equal(attr.sample_type, PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME);
	attr = BUILT(&sampling, .inherit = PERCH_TRISTATE_YES, .overwrite = PERCH_TRISTATE_YES,
		     .time = PERCH_TRISTATE_NO);
	assert_true(attr.inherit && attr.write_backward);
	assert_int_equal(attr.sample_type, PERCH_SAMPLE_IP);
	attr = BUILT(&sampling, .aux_sample_bytes = 4096, .aux_action = 2);
	assert_int_equal(attr.aux_sample_size, 4096);
	assert_true(attr.sample_type & PERCH_SAMPLE_AUX);
	assert_true(attr.aux_pause && !attr.aux_start_paused && !attr.aux_resume);
	assert_true(BUILT(&sampling, .aux_action = 1).aux_start_paused);
	assert_true(BUILT(&sampling, .aux_action = 4).aux_resume);
	assert_true(BUILT(&sampling, .aux_output = true).aux_output);
}

static void rates(void **state)
{
	struct perch_event often = clock_event((struct perch_event_terms){ 0 }), rarely = often;
	struct perch_attr attr;

	(void)state;
	often.attr.freq = 1;
	often.attr.sample_freq = 77;
	rarely.attr.sample_period = 5000;
	assert_int_equal(perch_attr_build(&attr, &often, &sampling, NULL), 0);
	assert_true(attr.freq);
	assert_int_equal(attr.sample_freq, 77);
	assert_int_equal(perch_attr_build(&attr, &rarely, &with_fp, NULL), 0);
	assert_false(attr.freq);
	assert_int_equal(attr.sample_period, 5000);
	assert_int_equal(perch_attr_build(&attr, &rarely, NULL, NULL), 0); /* a counter */
	assert_int_equal(attr.sample_period, 0);
	assert_int_equal(perch_attr_build(&attr, &often, NULL, NULL), 0);
	assert_false(attr.freq);
}

static void counters_take_no_samples(void **state)
{
	struct perch_attr plain = BUILT(NULL, .inherit = PERCH_TRISTATE_UNSET);
	struct perch_attr attr = BUILT(NULL, .call_graph = PERCH_CALL_GRAPH_DWARF,
				       .stack_bytes = 70000, .max_stack = 3,
				       .overwrite = PERCH_TRISTATE_YES, .time = PERCH_TRISTATE_YES,
				       .aux_sample_bytes = 8, .aux_action = 7, .aux_output = true,
				       .branch_sample_type = 8, .percore = true);

	(void)state;
	assert_memory_equal(&attr, &plain, sizeof(attr));
	assert_true(BUILT(NULL, .inherit = PERCH_TRISTATE_YES).inherit);
}

#define PMUS "/sys/bus/event_source/devices/"

static const struct tree_file arm[] = {
	{ PMUS "armv8_a53/type", "8\n" },
	{ PMUS "armv8_a53/cpus", "0-3\n" },
	{ PMUS "armv8_a53/format/rdpmc", "config1:1\n" },
	{ PMUS "armv8_a53/format/long", "config1:0\n" },
	{ PMUS "armv8_a72/type", "9\n" },
	{ PMUS "armv8_a72/cpus", "4-5\n" },
	{ PMUS "armv8_a72/format/rdpmc", "config1:5\n" },
	{ PMUS "ddr/type", "20\n" },
	{ PMUS "ddr/cpumask", "0\n" },
	{ PMUS "ddr/format/rdpmc", "config1:1\n" },
	{ PMUS "odd/type", "21\n" },
	{ PMUS "odd/cpus", "0\n" },
	{ PMUS "odd/format/rdpmc", "config1:64\n" },
};

static const struct {
	uint32_t type;
	uint64_t config, config1, expected;
} readable[] = {
	{ PERCH_TYPE_HARDWARE, 0, 0, 2 },
	{ PERCH_TYPE_HARDWARE, 0, 1, 3 }, /* the bit of long does not change */
	{ PERCH_TYPE_HARDWARE, 9ull << 32, 0, 32 },
	{ PERCH_TYPE_HW_CACHE, 8ull << 32 | 1, 0, 2 },
	{ PERCH_TYPE_HARDWARE, 77ull << 32, 0, 0 }, /* no such PMU */
	{ PERCH_TYPE_RAW, 0x11, 0, 2 },
	{ 9, 0x11, 0, 32 },
	{ 20, 1, 0, 0 }, /* not a core PMU */
	{ 21, 1, 0, 0 }, /* no such bit */
	{ 33, 1, 0, 0 },
	{ PERCH_TYPE_SOFTWARE, 1, 0, 0 },
	{ PERCH_TYPE_TRACEPOINT, 1, 0, 0 },
};

static void requests_user_access(void **state)
{
	struct perch_options options = { .self_monitoring = 1 };
	struct perch_machine *machine;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, arm, sizeof(arm) / sizeof(*arm));
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	options.machine = machine;
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable); i++) {
		struct perch_event event = { .name = "x",
					     .attr = { .type = readable[i].type,
						       .config = readable[i].config } };
		struct perch_attr attr;

		event.attr.config1 = readable[i].config1;
		assert_int_equal(perch_attr_build(&attr, &event, &options, NULL), 0);
		if (attr.config1 != readable[i].expected)
			fail_msg("line %zu: config1 is %llu", i, (unsigned long long)attr.config1);
	}
	perch_machine_free(machine);
	tree_remove(root);
}

static const struct tree_file intel[] = {
	{ PMUS "cpu_core/type", "4\n" },
	{ PMUS "cpu_core/cpus", "0-1\n" },
	{ PMUS "cpu_core/caps/max_precise", "3\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "2-3\n" },
	{ PMUS "cpu_atom/caps/max_precise", "2\n" },
	{ PMUS "cpu/type", "99\n" },
	{ PMUS "cpu/caps/max_precise", "1\n" },
	{ PMUS "odd/type", "11\n" },
	{ PMUS "odd/cpus", "2-3\n" },
	{ PMUS "odd/caps/max_precise", "7\n" },
};

static unsigned precision(struct perch_machine *machine, uint32_t type, uint64_t config,
			  struct perch_options options)
{
	struct perch_event event = { .name = "x",
				     .attr = { .type = type, .config = config },
				     .precise_max = true };
	struct perch_attr attr;

	options.machine = machine;
	assert_int_equal(perch_attr_build(&attr, &event, &options, NULL), 0);
	return attr.precise_ip;
}

static void maximum_precision(void **state)
{
	const struct perch_options counting = { 0 }, exact = { .period = 1, .precise = 1 };
	struct perch_machine *machine;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, intel, sizeof(intel) / sizeof(*intel));
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	assert_int_equal(precision(machine, PERCH_TYPE_HARDWARE, 0, sampling), 1);
	assert_int_equal(precision(machine, PERCH_TYPE_HARDWARE, 4ull << 32, sampling), 3);
	assert_int_equal(precision(machine, PERCH_TYPE_HARDWARE, 10ull << 32, sampling), 2);
	assert_int_equal(precision(machine, 10, 0x3c, sampling), 2);
	assert_int_equal(precision(machine, 11, 0x3c, sampling), 0);
	assert_int_equal(precision(machine, 10, 0x3c, counting), 0);
	assert_int_equal(precision(machine, 10, 0x3c, exact), 1); /* the options set it */
	perch_machine_free(machine);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_pointers),
		cmocka_unit_test(stack_copies),
		cmocka_unit_test(branch_stacks),
		cmocka_unit_test(other_terms),
		cmocka_unit_test(rates),
		cmocka_unit_test(counters_take_no_samples),
		cmocka_unit_test(requests_user_access),
		cmocka_unit_test(maximum_precision),
		cmocka_unit_test(paths_are_not_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
