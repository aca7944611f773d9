/* SPDX-License-Identifier: MIT */
/* Event strings: terms of all events, globs, filters, and files of events. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/event.h>

#include "event_fixture.h"
#include "tree_machine.h"

#define TRACING "/sys/kernel/tracing/events/"
#define PT	"/sys/bus/event_source/devices/intel_pt/"

#define FORMAT(more) \
	"name: x\nID: 1\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" more

static const struct tree_file files[] = {
	{ TRACING "syscalls/sys_enter_open/format",
	  FORMAT("\tfield:const char * filename;\toffset:8;\tsize:8;\tsigned:0;\n"
		 "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n"
		 "\tfield:__data_loc char[] text;\toffset:64;\tsize:4;\tsigned:0;\n\n"
		 "print fmt: \"%s\", REC->zork\n") },
	{ TRACING "syscalls/sys_exit_open/format",
	  FORMAT("\tfield:long ret;\toffset:8;\tsize:8;\tsigned:1;\n") },
	{ TRACING "syscalls/sys_enter_close/format",
	  FORMAT("\tfield:int;\toffset:8;\tsize:8;\tsigned:0;\n\n"
		 "print fmt: \"\"\n") },
	{ TRACING "sched/sched_switch/id", "314\n" },
	{ TRACING "sched/sched_wakeup/id", "317\n" },
	{ TRACING "sched/enable", "0\n" },
	{ TRACING "sched/filter", "none\n" },
	{ TRACING "irq/irq_handler_entry/id", "90\n" },
	{ TRACING "syscalls/sys_enter_open/id", "700\n" },
	{ TRACING "syscalls/sys_exit_open/id", "699\n" },
	{ TRACING "syscalls/sys_enter_close/id", "698\n" },
	{ TRACING "ftrace/function/id", "1\n" },
	{ TRACING "header_page", "x\n" },
	{ PT "type", "8\n" },
	{ PT "nr_addr_filters", "2\n" },
	{ PT "format/tsc", "config:10\n" },
	{ "/sys/bus/event_source/devices/power/type", "21\n" },
	{ "/sys/bus/event_source/devices/power/nr_addr_filters", "0\n" },
};

static int setup(void **state)
{
	(void)state;
	return tree_machine_make(files, sizeof(files) / sizeof(*files));
}

static struct perch_event one(const char *text)
{
	return event_of(text, machine);
}

static void sets_periods(void **state)
{
	struct perch_event event = one("cycles/period=1000/u");

	(void)state;
	assert_true(event.attr.sample_period == 1000 && !event.attr.freq);
	assert_int_equal(event.attr.exclude_kernel, 1);
	assert_string_equal(event.name, "cycles/period=1000/u");
	event = one("sched:sched_switch/freq=0x63/:k");
	assert_true(event.attr.sample_freq == 99 && event.attr.freq);
	assert_int_equal(event.attr.config, 314);
	assert_true(one("L1-dcache-loads/period=9223372036854775807/").attr.sample_period ==
		    INT64_MAX);
	assert_true(one("r1a8/period=010/").attr.sample_period == 10);
	assert_true(one("cs/period/").attr.sample_period == 1);
	assert_true(one("1:3/period=5/").attr.sample_period == 5);
	assert_true(one("mem:0x1000:w/period=6/u").attr.sample_period == 6);
	assert_int_equal(one("cs//u").attr.exclude_kernel, 1);
	assert_int_equal(one("cs/ period = 4 , name = b /").attr.sample_period, 4);
}

static void sets_call_graphs(void **state)
{
	struct perch_event_terms terms =
		one("cycles/call-graph=dwarf,stack-size=4096,max-stack=12/").terms;

	(void)state;
	assert_int_equal(terms.call_graph, PERCH_CALL_GRAPH_DWARF);
	assert_int_equal(terms.stack_bytes, 4096);
	assert_int_equal(terms.max_stack, 12);
	terms = one("cycles/call-graph=\"dwarf,65528\"/").terms;
	assert_int_equal(terms.stack_bytes, 65528);
	assert_int_equal(one("cs/call-graph=fp/").terms.call_graph, PERCH_CALL_GRAPH_FP);
	assert_int_equal(one("cs/call-graph=lbr/").terms.call_graph, PERCH_CALL_GRAPH_LBR);
	assert_int_equal(one("cs/call-graph=no/").terms.call_graph, PERCH_CALL_GRAPH_NONE);
	assert_int_equal(one("cs").terms.call_graph, PERCH_CALL_GRAPH_UNSET);
	assert_int_equal(one("cs/max-stack=65535/").terms.max_stack, 65535);
}

static void sets_flags(void **state)
{
	struct perch_events events;

	(void)state;
	assert_int_equal(one("cs/inherit/").terms.inherit, PERCH_TRISTATE_YES);
	assert_int_equal(one("cs/inherit=0/").terms.inherit, PERCH_TRISTATE_NO);
	assert_int_equal(perch_events_parse(&events, "{cs,faults/no-inherit/},cs", machine, NULL),
			 0);
	assert_int_equal(events.event[0].terms.inherit, PERCH_TRISTATE_NO);
	assert_int_equal(events.event[2].terms.inherit, PERCH_TRISTATE_UNSET);
	perch_events_clear(&events);
	assert_int_equal(one("cs/no-inherit/").terms.inherit, PERCH_TRISTATE_NO);
	assert_int_equal(one("cs/no-inherit=0/").terms.inherit, PERCH_TRISTATE_YES);
	assert_int_equal(one("cs/overwrite/").terms.overwrite, PERCH_TRISTATE_YES);
	assert_int_equal(one("cs/no-overwrite/").terms.overwrite, PERCH_TRISTATE_NO);
	assert_int_equal(one("cs/time=1/").terms.time, PERCH_TRISTATE_YES);
	assert_int_equal(one("cs/time=0/").terms.time, PERCH_TRISTATE_NO);
	assert_int_equal(one("cs").terms.time, PERCH_TRISTATE_UNSET);
	assert_true(one("cs/percore/").terms.percore);
	assert_false(one("cs/percore=0/").terms.percore);
	assert_true(one("cs/aux-output/").terms.aux_output);
	assert_int_equal(one("cs/aux-sample-size=65535/").terms.aux_sample_bytes, 65535);
	assert_int_equal(one("cs/aux-action=pause/").terms.aux_action, 2);
	assert_int_equal(one("cs/aux-action=start-paused|resume/").terms.aux_action, 5);
	assert_int_equal(one("intel_pt/tsc,aux-action=start-paused/").terms.aux_action, 1);
	assert_int_equal(one("cs/metric-id=any.thing,config=3/").attr.config, 3);
}

static void sets_branch_types(void **state)
{
	(void)state;
	assert_true(one("cycles/branch_type=any_call/").terms.branch_sample_type ==
		    PERCH_SAMPLE_BRANCH_ANY_CALL);
	assert_true(one("cycles/branch_type='any,u'/").terms.branch_sample_type ==
		    (PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER));
	assert_true(one("cycles/branch_type=cond|k|save_type/").terms.branch_sample_type ==
		    (PERCH_SAMPLE_BRANCH_COND | PERCH_SAMPLE_BRANCH_KERNEL |
		     PERCH_SAMPLE_BRANCH_TYPE_SAVE));
	/* privilege levels without a branch type select all branch types */
	assert_true(one("cycles/branch_type=u/").terms.branch_sample_type ==
		    (PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER));
}

static void sets_config_fields(void **state)
{
	struct perch_event event = one("cs/config1=0x7,config2=8,config3=9,config4=10/");

	(void)state;
	assert_int_equal(event.attr.config, PERCH_COUNT_SW_CONTEXT_SWITCHES);
	assert_true(event.attr.config1 == 7 && event.attr.config2 == 8);
	assert_true(event.attr.config3 == 9 && event.attr.config4 == 10);
	assert_int_equal(one("cycles/config=5/").attr.config, 5);
	assert_int_equal(one("cycles/r1a8/").attr.config, 0x1a8);
	assert_int_equal(one("cycles/raw=0x1a8/").attr.config, 0x1a8);
	event = one("4:0x1a8/name=loads/pp");
	assert_int_equal(event.attr.type, 4);
	assert_int_equal(event.attr.config, 0x1a8);
	assert_string_equal(event.name, "loads");
	assert_string_equal(one("cs/name='to be, or/not'/u").name, "to be, or/not");
}

static void sets_group_modifiers(void **state)
{
	struct perch_events events;
	struct perch_event event = one("cs:SWb");

	(void)state;
	assert_true(event.leader_sampling && event.weak && event.bpf_counter && !event.modified);
	assert_int_equal(
		perch_events_parse(&events, "{cs,faults/period=3/u}:SW,dummy", machine, NULL), 0);
	assert_true(events.event[0].leader_sampling && events.event[0].weak);
	assert_true(events.event[1].leader_sampling && events.event[1].weak &&
		    events.event[1].modified);
	assert_false(events.event[2].leader_sampling || events.event[2].weak);
	perch_events_clear(&events);
}

static void expands_globs(void **state)
{
	static const char *const wanted[] = { "sched:sched_switch:u", "sched:sched_wakeup:u",
					      "cs" };
	static const struct {
		const char *text, *first, *last;
		size_t nr;
	} cases[] = {
		{ "sched:*", "sched:sched_switch", "sched:sched_wakeup", 2 },
		{ "sys*:sys_enter_*/period=2/", "syscalls:sys_enter_close/period=2/",
		  "syscalls:sys_enter_open/period=2/", 2 },
		{ "syscalls:sys_e[nx]*_open", "syscalls:sys_enter_open", "syscalls:sys_exit_open",
		  2 },
		{ "[is]*:*_[hs]*", "irq:irq_handler_entry", "sched:sched_switch", 2 },
		{ "sched:sched_switc?", "sched:sched_switch", "sched:sched_switch", 1 },
		{ "*:*", "irq:irq_handler_entry", "syscalls:sys_exit_open", 6 },
		{ "ftrace:f*", "ftrace:function", "ftrace:function", 1 },
	};
	struct perch_events events;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "sched:*:u,cs", machine, NULL), 0);
	assert_int_equal(events.nr, 3);
	for (size_t i = 0; i < events.nr; i++) {
		assert_string_equal(events.event[i].name, wanted[i]);
		assert_int_equal(events.event[i].first, i);
		assert_int_equal(events.event[i].leader, i);
	}
	perch_events_clear(&events);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(perch_events_parse(&events, cases[i].text, machine, NULL), 0);
		assert_int_equal(events.nr, cases[i].nr);
		assert_string_equal(events.event[0].name, cases[i].first);
		assert_string_equal(events.event[events.nr - 1].name, cases[i].last);
		perch_events_clear(&events);
	}
	assert_int_equal(perch_events_parse(&events, "{cs,sched:*}:D", machine, NULL), 0);
	assert_int_equal(events.event[0].members, 3);
	assert_int_equal(events.event[2].leader, 0);
	perch_events_clear(&events);
}

static void refuses_too_many_matches(void **state)
{
	struct perch_events events;
	struct perch_error err;
	char *text = malloc(4 * 12000);

	(void)state;
	text[0] = '\0';
	for (size_t i = 0; i < 11000; i++)
		memcpy(text + 4 * i, "*:*,", 5);
	text[4 * 11000 - 1] = '\0';
	assert_int_equal(perch_events_parse(&events, text, machine, &err), -E2BIG);
	assert_int_equal(err.errnum, E2BIG);
	assert_non_null(strstr(err.message, "65536"));
	assert_non_null(strstr(err.remedy, "globs"));
	free(text);
}

static void sets_filters(void **state)
{
	struct perch_events events;
	struct perch_error err;
	char longest[4200];

	(void)state;
	assert_int_equal(
		perch_events_parse(&events,
				   "cs,sched:*/filter=\"prev_comm == 'a,b/c'\"/u,intel_pt/tsc/,"
				   "power/config=1/",
				   machine, &err),
		0);
	assert_int_equal(events.nr, 5);
	assert_null(events.event[0].filter);
	assert_string_equal(events.event[1].filter, "prev_comm == 'a,b/c'");
	assert_string_equal(events.event[2].filter, "prev_comm == 'a,b/c'");
	assert_int_equal(events.event[2].attr.exclude_kernel, 1);
	/* a wrong text changes nothing */
	assert_int_equal(perch_events_add(&events, "sched:sched_switch/filter=x/,nonsense", machine,
					  &err),
			 -ENOENT);
	assert_int_equal(events.nr, 5);
	assert_int_equal(perch_events_set_filter(&events, 2, "cpu == 1", machine, &err), 0);
	assert_string_equal(events.event[1].filter, "prev_comm == 'a,b/c'");
	assert_string_equal(events.event[2].filter, "(prev_comm == 'a,b/c') && (cpu == 1)");
	assert_string_equal(events.event[3].filter, "cpu == 1");
	assert_null(events.event[4].filter);
	assert_int_equal(perch_events_set_filter(&events, 4, "cpu == 1", machine, &err), -EINVAL);
	assert_non_null(strstr(err.message, "no event before the filter"));
	assert_int_equal(perch_events_set_filter(&events, 9, "cpu == 1", machine, &err), -EINVAL);
	assert_int_equal(perch_events_set_filter(&events, 0, "", machine, &err), -EINVAL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(perch_events_set_filter(&events, 0, longest, machine, &err), -EINVAL);
	assert_string_equal(events.event[3].filter, "cpu == 1");
	perch_events_clear(&events);
}

/* A missing field is an error, unless the fields are unknown: then the kernel checks them. */
static void checks_fields_of_filters(void **state)
{
	static const struct {
		const char *event, *filter, *unknown;
	} filters[] = {
		{ "syscalls:sys_enter_open", "filename == 1 && args & 2 || text ~ 'x'", NULL },
		{ "syscalls:sys_enter_open", "filenam == 1", "filenam" },
		{ "syscalls:sys_enter_open:u", "!(args != 0) && ( tex ~ \"filename\")", "tex" },
		{ "syscalls:sys_enter_open", "text == \"a' && zork == 1\" || zork.ustring ~ 'b'",
		  "zork" },
		{ "syscalls:sys_enter_open/name=other/", "zork == 1", NULL },
		{ "syscalls:sys_enter_open",
		  "common_x == 1 && CPU & CPUS{1} && comm ~ 'x' && stacktrace == 2", NULL },
		{ "syscalls:sys_enter_open", "text ~ 'no end && zork == 1", NULL },
		{ "syscalls:sys_enter_open", "zork", NULL },
		{ "syscalls:sys_enter_open", "&& || 7 == zork (", NULL },
		{ "syscalls:sys_exit_open", "zork == 1", NULL }, /* the format file is incomplete */
		/* a declaration cannot be parsed */
		{ "syscalls:sys_enter_close", "zork == 1", NULL },
		{ "sched:sched_switch", "zork == 1", NULL }, /* there is no format file */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct perch_events events;
		struct perch_error err;
		char wanted[64];

		assert_int_equal(perch_events_parse(&events, filters[i].event, machine, &err), 0);
		if (filters[i].unknown) {
			snprintf(wanted, sizeof(wanted), "no field '%s'", filters[i].unknown);
			assert_int_equal(perch_events_set_filter(&events, 0, filters[i].filter,
								 machine, &err),
					 -EINVAL);
			assert_int_equal(err.kind, PERCH_ERROR_BAD_FIELD);
			assert_non_null(strstr(err.message, wanted));
			if (!strcmp(filters[i].unknown, "zork"))
				assert_non_null(strstr(err.remedy,
						       "events/syscalls/sys_enter_open/format"));
			assert_null(events.event[0].filter);
		} else {
			assert_int_equal(perch_events_set_filter(&events, 0, filters[i].filter,
								 machine, &err),
					 0);
		}
		perch_events_clear(&events);
	}
}

/* A comparison with a string of user space is found, one with .ustring or with its address is not.
 */
static void finds_filters_that_are_never_true(void **state)
{
	static const struct {
		const char *filter, *found;
	} filters[] = {
		{ "filename ~ '*x'", "'filename'" },
		{ "args == 1 && filename == \"a\"", "'filename'" },
		{ "filename.ustring ~ '*x'", NULL },
		{ "filename == 1", NULL },
		{ "text ~ 'x'", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		struct perch_events events;
		struct perch_error note;
		int found;

		assert_int_equal(
			perch_events_parse(&events, "syscalls:sys_enter_open", machine, NULL), 0);
		assert_int_equal(perch_event_lint_filter(&events.event[0], machine, &note), 0);
		assert_int_equal(
			perch_events_set_filter(&events, 0, filters[i].filter, machine, NULL), 0);
		found = perch_event_lint_filter(&events.event[0], machine, &note);
		assert_int_equal(found, filters[i].found != NULL);
		if (found) {
			assert_non_null(strstr(note.message, filters[i].found));
			assert_non_null(strstr(note.remedy, "filename.ustring"));
		}
		perch_events_clear(&events);
	}
}

static void combines_filters(void **state)
{
	struct perch_events events;
	struct perch_error err;
	char half[2100];

	(void)state;
	assert_int_equal(
		perch_events_parse(&events, "sched:sched_switch,intel_pt/tsc/", machine, &err), 0);
	assert_int_equal(perch_events_set_filter(&events, 0, "filter 0/1", machine, &err), 0);
	assert_int_equal(perch_events_set_filter(&events, 0, "stop 2/3", machine, &err), 0);
	assert_string_equal(events.event[0].filter, "(filter 0/1) && (stop 2/3)");
	assert_string_equal(events.event[1].filter, "filter 0/1,stop 2/3");
	memset(half, 'x', sizeof(half) - 1);
	half[sizeof(half) - 1] = '\0';
	assert_int_equal(perch_events_set_filter(&events, 1, half, machine, &err), 0);
	assert_int_equal(perch_events_set_filter(&events, 0, half, machine, &err), -EINVAL);
	assert_non_null(strstr(err.message, "more than the 4095 bytes"));
	assert_string_equal(events.event[0].filter, "(filter 0/1) && (stop 2/3)");
	perch_events_clear(&events);
}

static void reports_wrong_terms(void **state)
{
	static const struct {
		const char *text;
		int column;
		enum perch_error_kind kind;
		const char *expected; /* part of the message or the remedy */
	} cases[] = {
		{ "cs/perod=3/", 3, PERCH_ERROR_UNKNOWN_TERM, "did you mean period?" },
		{ "cs/call-grap=fp/", 3, PERCH_ERROR_UNKNOWN_TERM, "call-graph" },
		{ "cs/bogus/", 3, PERCH_ERROR_UNKNOWN_TERM, "no term 'bogus'" },
		{ "cs/period=/", 10, PERCH_ERROR_SYNTAX, "expected a number, found '/'" },
		{ "cs/period=x/", 10, PERCH_ERROR_SYNTAX, "expected a number, found 'x'" },
		{ "cs/period=0/", 10, PERCH_ERROR_SYNTAX, "must be 1 to" },
		{ "cs/period=0x8000000000000000/", 10, PERCH_ERROR_SYNTAX, "must be 1 to" },
		{ "cs/period=0x10000000000000000/", 10, PERCH_ERROR_SYNTAX, "64 bits" },
		{ "cs/period=1,freq=2/", 12, PERCH_ERROR_CONFLICT, "exclude each other" },
		{ "cs/period=1,/", 12, PERCH_ERROR_SYNTAX, "expected a term after ','" },
		{ "cs/,/", 3, PERCH_ERROR_SYNTAX,
		  "expected a term such as period=1000, found ','" },
		{ "cs/period=1", 11, PERCH_ERROR_SYNTAX, "',' or '/' after a term" },
		{ "cs/time=2/", 8, PERCH_ERROR_SYNTAX, "0 or 1" },
		{ "cs/percore=7/", 11, PERCH_ERROR_SYNTAX, "0 or 1" },
		{ "cs,{cs/inherit/,faults/no-inherit/}", 3, PERCH_ERROR_CONFLICT,
		  "all its events must have the same" },
		{ "cs/max-stack=65536/", 13, PERCH_ERROR_SYNTAX, "1 to 65535" },
		{ "cs/stack-size=12/", 14, PERCH_ERROR_SYNTAX, "multiple of 8" },
		{ "cs/stack-size/", 3, PERCH_ERROR_SYNTAX, "8 to 65528" },
		{ "cs/stack-size=65536/", 14, PERCH_ERROR_SYNTAX, "8 to 65528" },
		{ "cs/call-graph=fp,stack-size=64/", 17, PERCH_ERROR_CONFLICT, "call-graph=dwarf" },
		{ "cs/call-graph=no,max-stack=4/", 3, PERCH_ERROR_CONFLICT, "exclude each other" },
		{ "cs/call-graph=dwrf/", 14, PERCH_ERROR_SYNTAX, "did you mean dwarf?" },
		{ "cs/call-graph=xyzzy/", 14, PERCH_ERROR_SYNTAX, "fp, dwarf, lbr or no" },
		{ "cs/call-graph='fp,64'/", 17, PERCH_ERROR_SYNTAX, "only dwarf" },
		{ "cs/call-graph='dwarf,65'/", 21, PERCH_ERROR_SYNTAX, "multiple of 8" },
		{ "cs/call-graph/", 13, PERCH_ERROR_SYNTAX, "needs '='" },
		{ "cs/name=/", 8, PERCH_ERROR_SYNTAX, "expected a name" },
		{ "cs/name='a/", 8, PERCH_ERROR_SYNTAX, "not closed" },
		{ "cs/branch_type=any|an_call/", 19, PERCH_ERROR_SYNTAX, "any_call" },
		{ "cs/branch_type=qqqqqq/", 15, PERCH_ERROR_SYNTAX, "ind_jmp" },
		{ "cs/branch_type=''/", 16, PERCH_ERROR_SYNTAX, "not a branch type" },
		{ "cs/aux-action=pause|resume/", 14, PERCH_ERROR_CONFLICT, "exclude each other" },
		{ "cs/aux-action=stop/", 14, PERCH_ERROR_SYNTAX, "start-paused, pause or resume" },
		{ "cs/aux-sample-size=65536/", 19, PERCH_ERROR_SYNTAX, "1 to 65535" },
		{ "cs/nr=3/", 3, PERCH_ERROR_UNKNOWN_TERM, "perf trace" },
		{ "cs/driver-config=3/", 3, PERCH_ERROR_UNKNOWN_TERM, "drivers" },
		{ "intel_pt/@sink/", 9, PERCH_ERROR_UNKNOWN_TERM, "driver" },
		{ "intel_pt/tcs/", 9, PERCH_ERROR_UNKNOWN_TERM, "did you mean tsc?" },
		{ "mem:0x1000:w/config1=3/", 13, PERCH_ERROR_UNKNOWN_TERM, "overwrite" },
		{ "1:", 2, PERCH_ERROR_SYNTAX, "after its type" },
		{ "1:zz", 2, PERCH_ERROR_SYNTAX, "expected a number" },
		{ "4294967296:1", 0, PERCH_ERROR_SYNTAX, "32 bits" },
		{ "cs,sched:nosuch*", 9, PERCH_ERROR_UNKNOWN_EVENT, "no tracepoint matches" },
		{ "cs,nosuch*:*", 3, PERCH_ERROR_UNKNOWN_EVENT, "no tracepoint matches" },
		{ "cs/period=1/x", 12, PERCH_ERROR_SYNTAX, "'x' is unknown" },
		{ "cs:SS", 4, PERCH_ERROR_SYNTAX, "repeated" },
		{ "cs:uy", 4, PERCH_ERROR_SYNTAX, "S (the leader samples)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_events events = { 0 };
		struct perch_error err;

		if (!perch_events_parse(&events, cases[i].text, machine, &err))
			fail_msg("%s is accepted", cases[i].text);
		assert_int_equal(events.nr, 0);
		if (err.column != cases[i].column || err.kind != cases[i].kind ||
		    (!strstr(err.message, cases[i].expected) &&
		     !strstr(err.remedy, cases[i].expected)))
			fail_msg("%s: column %d, kind %s: %s. %s", cases[i].text, err.column,
				 perch_error_kind_slug(err.kind), err.message, err.remedy);
		assert_int_equal(perch_events_parse(&events, cases[i].text, machine, NULL),
				 -err.errnum);
	}
}

static void limits_number_of_terms(void **state)
{
	char text[2048] = "cs/period=1";
	struct perch_events events;
	struct perch_error err;

	(void)state;
	for (size_t i = 1; i < 64; i++)
		strcat(text, ",period=1");
	strcat(text, "/");
	assert_int_equal(perch_events_parse(&events, text, machine, &err), 0);
	perch_events_clear(&events);
	strcpy(text + strlen(text) - 1, ",period=1/");
	assert_int_equal(perch_events_parse(&events, text, machine, &err), -EINVAL);
	assert_non_null(strstr(err.message, "64 terms"));
}

/* Writes a file and reads events from it. */
static int from_file(struct perch_events *events, const char *bytes, size_t size,
		     struct perch_error *err, char path[PATH_MAX + 16])
{
	FILE *stream;

	snprintf(path, PATH_MAX + 16, "%s/list", root);
	stream = fopen(path, "w");
	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	fclose(stream);
	memset(events, 0, sizeof(*events));
	return perch_events_add_file(events, path, machine, err);
}

static void reads_events_from_file(void **state)
{
	static const char good[] = "# what to count\n"
				   "cycles:u, cs # two of them\n"
				   "\r\n"
				   "{faults,\n"
				   "  dummy   # inside\n"
				   "  task-clock\n"
				   "}:k\n"
				   "sched:sched_switch/filter='prev_comm == \"#1\"'/,\n"
				   "minor-faults";
	struct perch_events events;
	struct perch_error err;
	char path[PATH_MAX + 16];

	(void)state;
	if (from_file(&events, good, sizeof(good) - 1, &err, path))
		fail_msg("%s", err.message);
	assert_int_equal(events.nr, 7);
	assert_string_equal(events.event[0].name, "cycles:u");
	assert_int_equal(events.event[2].members, 3);
	assert_string_equal(events.event[4].name, "task-clock:k");
	assert_int_equal(events.event[4].attr.exclude_user, 1);
	assert_string_equal(events.event[5].filter, "prev_comm == \"#1\"");
	assert_string_equal(events.event[6].name, "minor-faults");
	perch_events_clear(&events);
}

static void reads_events_from_standard_input(void **state)
{
	static const char text[] = "cs\n\nfaults:u # two\n";
	int saved = dup(STDIN_FILENO), ends[2];
	struct perch_events events = { 0 };

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(perch_events_add_file(&events, "-", machine, NULL), 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
	assert_int_equal(events.nr, 2);
	assert_string_equal(events.event[1].name, "faults:u");
	perch_events_clear(&events);
}

/* Files of the maximum size, with the most expensive contents. */
static void reads_large_files(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size), path[PATH_MAX + 16];
	struct perch_events events;
	struct perch_error err;

	(void)state;
	memset(text, '\n', size);
	memcpy(text, "cs", 2);
	assert_int_equal(from_file(&events, text, size, &err, path), 0);
	assert_int_equal(events.nr, 1);
	perch_events_clear(&events);
	memset(text, '#', size);
	assert_int_equal(from_file(&events, text, size, &err, path), -EINVAL);
	for (size_t i = 0; i + 3 <= size; i += 3)
		memcpy(text + i, "cs\n", 3);
	text[size - 1] = '\n';
	assert_int_equal(from_file(&events, text, size, &err, path), -E2BIG);
	assert_non_null(strstr(err.message, ":65537: "));
	assert_int_equal(err.column, 2);
	free(text);
}

static void reports_wrong_files(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *expected;
	} cases[] = {
		{ "cs\n  cycels\n", 2, 2, "no event 'cycels'" },
		{ "cs\n\n# x\nfaults/perod=1/\ncs", 4, 7, "perod" },
		{ "{cs\nfaults", 2, 6, "found the end" },
		{ "cs,\n,faults", 2, 0, "found ','" },
		{ "cs:", 1, 3, "expected modifiers" },
		{ "cs\nsched:sched_switch/filter='prev_pid > 0/\ncs/name='x'/", 2, 26,
		  "not closed in its line" },
	};
	struct perch_events events;
	struct perch_error err;
	char path[PATH_MAX + 16], prefix[PATH_MAX + 64], *large;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(from_file(&events, cases[i].text, strlen(cases[i].text), &err, path) <
			    0);
		assert_int_equal(events.nr, 0);
		snprintf(prefix, sizeof(prefix), "%s:%d: ", path, cases[i].line);
		if (strncmp(err.message, prefix, strlen(prefix)) || err.column != cases[i].column ||
		    !strstr(err.message, cases[i].expected))
			fail_msg("case %zu: column %d: %s", i, err.column, err.message);
	}
	assert_int_equal(from_file(&events, "cs\ncs\0cs", 8, &err, path), -EINVAL);
	assert_non_null(strstr(err.message, ":2: event strings must not contain a zero byte"));
	assert_int_equal(from_file(&events, " # nothing\n", 11, &err, path), -EINVAL);
	assert_non_null(strstr(err.message, "the file has no event"));
	large = malloc(1100000);
	memset(large, ' ', 1100000);
	assert_int_equal(from_file(&events, large, 1100000, &err, path), -EFBIG);
	free(large);
	assert_int_equal(perch_events_add_file(&events, root, machine, &err), -EISDIR);
	assert_int_equal(perch_events_add_file(&events, "/dev/zero", machine, &err), -EINVAL);
	assert_int_equal(perch_events_add_file(&events, "/proc/none", machine, &err), -ENOENT);
	assert_int_equal(perch_events_add_file(&events, "/proc/none", machine, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_periods),
		cmocka_unit_test(sets_call_graphs),
		cmocka_unit_test(sets_flags),
		cmocka_unit_test(sets_branch_types),
		cmocka_unit_test(sets_config_fields),
		cmocka_unit_test(sets_group_modifiers),
		cmocka_unit_test(expands_globs),
		cmocka_unit_test(refuses_too_many_matches),
		cmocka_unit_test(sets_filters),
		cmocka_unit_test(checks_fields_of_filters),
		cmocka_unit_test(finds_filters_that_are_never_true),
		cmocka_unit_test(combines_filters),
		cmocka_unit_test(reports_wrong_terms),
		cmocka_unit_test(limits_number_of_terms),
		cmocka_unit_test(reads_events_from_file),
		cmocka_unit_test(reports_wrong_files),
		cmocka_unit_test(reads_events_from_standard_input),
		cmocka_unit_test(reads_large_files),
	};

	return cmocka_run_group_tests(tests, setup, tree_machine_remove);
}
