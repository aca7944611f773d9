/* SPDX-License-Identifier: MIT */
/* A struct of the caller with a reserved member that is not 0 is refused, before any system call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/column.h>
#include <perch/count.h>
#include <perch/explain.h>
#include <perch/export.h>
#include <perch/file.h>
#include <perch/filter.h>
#include <perch/jitdump.h>
#include <perch/pairs.h>
#include <perch/profile.h>
#include <perch/sampler.h>
#include <perch/session.h>
#include <perch/synthesize.h>
#include <perch/timeline.h>
#include <perch/tracepoint.h>

static struct perch_error err;

static void assert_refused(int rc, const char *name)
{
	char message[64];

	snprintf(message, sizeof(message), "%s.reserved must be 0", name);
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_string_equal(err.message, message);
	assert_string_not_equal(err.remedy, "");
	memset(&err, 0, sizeof(err));
}

static void refuses_options(void **state)
{
	struct perch_options options = { .reserved = { [15] = 1 } };
	struct perch_counter *counter;
	struct perch_group *group;

	(void)state;
	assert_refused(perch_counter_open(&counter, "page-faults", NULL, &options, &err),
		       "perch_options");
	assert_null(counter);
	assert_refused(perch_group_open(&group, "page-faults", NULL, &options, &err),
		       "perch_options");
	assert_null(group);
}

static void refuses_targets(void **state)
{
	struct perch_target target = { .cpu = -1, .reserved = { 1 } };
	struct perch_targets targets = { .nr = 1, .target = &target, .reserved = { 0, 1 } };
	struct perch_counter *counter;
	struct perch_sampler *sampler;
	struct perch_events events = { 0 };
	struct perch_set *set;

	(void)state;
	assert_refused(perch_counter_open(&counter, "page-faults", &target, NULL, &err),
		       "perch_target");
	assert_refused(perch_targets_add(&targets, &target, &err), "perch_target");
	target.reserved[0] = 0;
	assert_refused(perch_targets_add(&targets, &target, &err), "perch_targets");
	assert_refused(perch_sampler_open(&sampler, "cpu-clock/period=1000/", &targets, NULL, &err),
		       "perch_targets");
	assert_int_equal(perch_events_parse(&events, "page-faults", NULL, &err), 0);
	assert_refused(perch_set_open(&set, &events, &targets, NULL, &err), "perch_targets");
	perch_events_clear(&events);
}

static void refuses_timelines(void **state)
{
	struct perch_timeline_options options = { .reserved = { 0, 0, 0, 1 } };
	struct perch_pairs_options of_pairs = { .reserved = { 1 } };
	struct perch_timeline *timeline;
	struct perch_pairs *pairs;

	(void)state;
	assert_refused(perch_timeline_new(&timeline, &options, &err), "perch_timeline_options");
	assert_null(timeline);
	assert_refused(perch_pairs_new(&pairs, &of_pairs, &err), "perch_pairs_options");
	assert_null(pairs);
}

static void refuses_events(void **state)
{
	struct perch_events events = { 0 };
	struct perch_sampler *sampler;
	struct perch_attr attr;
	struct perch_set *set;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "page-faults", NULL, &err), 0);
	events.event[0].terms.reserved[0] = 1;
	assert_refused(perch_attr_build(&attr, &events.event[0], NULL, &err), "perch_event_terms");
	events.event[0].reserved[0] = 1;
	assert_refused(perch_attr_build(&attr, &events.event[0], NULL, &err), "perch_event");
	events.reserved[0] = 1;
	assert_refused(perch_set_open(&set, &events, NULL, NULL, &err), "perch_events");
	assert_refused(perch_sampler_open_events(&sampler, &events, NULL, NULL, &err),
		       "perch_events");
	events.reserved[0] = 0;
	perch_events_clear(&events);
}

static void refuses_sampler_options(void **state)
{
	struct perch_sampler_options options = { .event.period = 1000, .reserved = { 1 } };
	struct perch_sampler *sampler;

	(void)state;
	assert_refused(perch_sampler_open(&sampler, "cpu-clock", NULL, &options, &err),
		       "perch_sampler_options");
	assert_null(sampler);
}

static void refuses_calls_to_explain(void **state)
{
	struct perch_open_call_leader leader = { .reserved = { 1 } };
	struct perch_operation operation = { .kind = PERCH_OPERATION_MMAP, .errnum = EINVAL };
	struct perch_probing probing = { .reserved = { 1 } };
	struct perch_attr attr = { .size = PERCH_ATTR_SIZE_VER0 };
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
	};
	struct perch_explanation explanation;

	(void)state;
	operation.attr = &attr;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
	assert_int_equal(perch_explain_open_call(&call, &probing, NULL, &explanation), -EINVAL);
	call.leader = &leader;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), -EINVAL);
	call.leader = NULL;
	call.reserved[0] = 1;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), -EINVAL);
	assert_int_equal(perch_explain_operation(&operation, NULL, &explanation), 0);
	operation.reserved[0] = 1;
	assert_int_equal(perch_explain_operation(&operation, NULL, &explanation), -EINVAL);
}

static void refuses_decoder_events(void **state)
{
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_decoder_event event = { .attr = &attr, .reserved = { 1 } };
	struct perch_decoder *decoder;

	(void)state;
	assert_refused(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, &err),
		       "perch_decoder_event");
	assert_null(decoder);
}

static void refuses_a_table_of_system_calls(void **state)
{
	struct perch_syscalls calls = perch_kernel_syscalls;
	struct perch_machine *machine;

	(void)state;
	calls.reserved[1] = abort;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, &err), -EINVAL);
	assert_string_equal(err.message, "perch_syscalls.reserved must be NULL");
}

static int sink(void *context, const void *records, size_t size, struct perch_error *why)
{
	(void)context;
	(void)records;
	(void)size;
	(void)why;
	return 0;
}

static void refuses_other_structs(void **state)
{
	struct perch_synthesize_options synthesize = { .reserved = { 1 } };
	struct perch_tracepoint_text text = { .text = "", .reserved = { 1 } };
	struct perch_symbols_options symbols = { .reserved = { 1 } };
	struct perch_session_options session = { .reserved = { 1 } };
	struct perch_filter_options filter = { .reserved = { [4] = 1 } };
	struct perch_file_event event = { .reserved = { 1 } };
	struct perch_tracepoint_format *new_format;
	struct perch_session *new_session;
	struct perch_filter *new_filter;
	struct perch_symbols *new_symbols;
	struct perch_writer *new_writer;

	(void)state;
	assert_refused(perch_synthesize_process(1, &synthesize, NULL, sink, NULL, NULL, &err),
		       "perch_synthesize_options");
	assert_refused(perch_tracepoint_format_parse(&new_format, &text, &err),
		       "perch_tracepoint_text");
	assert_refused(perch_symbols_new(&new_symbols, &symbols, &err), "perch_symbols_options");
	assert_refused(perch_session_open(&new_session, "/dev/null", &session, &err),
		       "perch_session_options");
	assert_refused(perch_filter_new(&new_filter, NULL, &filter, &err), "perch_filter_options");
	assert_refused(perch_writer_open(&new_writer, "/dev/null", &event, 1, &err),
		       "perch_file_event");
}

static void refuses_options_of_profiles(void **state)
{
	struct perch_profile_options profile = { .reserved = { [9] = 1 } };
	struct perch_export_options export = { .reserved = { [3] = 1 } };
	struct perch_export *new_export;
	struct perch_profile *new_profile;

	(void)state;
	assert_refused(perch_profile_new(&new_profile, NULL, NULL, &profile, &err),
		       "perch_profile_options");
	assert_null(new_profile);
	assert_refused(perch_export_new(&new_export, NULL, PERCH_EXPORT_FOLDED, &export, &err),
		       "perch_export_options");
	assert_null(new_export);
}

static int no_value(void *data, const struct perch_record *record,
		    const struct perch_thread *thread, uint64_t *value)
{
	(void)data;
	(void)record;
	(void)thread;
	*value = 0;
	return 0;
}

static void refuses_columns_and_options_of_rows(void **state)
{
	const struct perch_column column = {
		.name = "mine", .header = "Mine", .value = no_value, .reserved = { [0] = 1 }
	};
	const struct perch_column *columns[] = { &column };
	struct perch_profile_options options = { .columns = columns, .nr_columns = 1 };
	struct perch_rows_options rows_options = { .reserved = { [7] = 1 } };
	const struct perch_row *rows;
	struct perch_profile *profile;
	size_t nr;

	(void)state;
	assert_refused(perch_profile_new(&profile, NULL, NULL, &options, &err), "perch_column");
	assert_null(profile);
	assert_int_equal(perch_profile_new(&profile, NULL, NULL, NULL, &err), 0);
	assert_refused(perch_profile_rows(profile, 0, &rows_options, &rows, &nr, &err),
		       "perch_rows_options");
	perch_profile_free(profile);
}

static void refuses_options_of_jitdump_files(void **state)
{
	struct perch_jitdump_options options = { .reserved = { [2] = 1 } };
	struct perch_processes *processes;

	(void)state;
	assert_int_equal(perch_processes_new(&processes, &err), 0);
	assert_refused(perch_processes_use_jitdump(processes, &options, &err),
		       "perch_jitdump_options");
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_options),
		cmocka_unit_test(refuses_targets),
		cmocka_unit_test(refuses_timelines),
		cmocka_unit_test(refuses_events),
		cmocka_unit_test(refuses_sampler_options),
		cmocka_unit_test(refuses_calls_to_explain),
		cmocka_unit_test(refuses_decoder_events),
		cmocka_unit_test(refuses_a_table_of_system_calls),
		cmocka_unit_test(refuses_other_structs),
		cmocka_unit_test(refuses_options_of_profiles),
		cmocka_unit_test(refuses_columns_and_options_of_rows),
		cmocka_unit_test(refuses_options_of_jitdump_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
