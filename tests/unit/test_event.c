/* SPDX-License-Identifier: MIT */
/* Event strings: the attrs of valid ones, and the errors of wrong ones. */
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

#include <perch/event.h>

#include "event/internal.h"
#include "event_fixture.h"
#include "tree_machine.h"

#define CPU	"/sys/bus/event_source/devices/cpu/"
#define POWER	"/sys/bus/event_source/devices/power/"
#define TRACING "/sys/kernel/tracing/events/"

static const struct tree_file files[] = {
	{ CPU "type", "4\n" },
	{ CPU "format/event", "config:0-7,32-35\n" },
	{ CPU "format/umask", "config:8-15\n" },
	{ CPU "format/any", "config:21\n" },
	{ CPU "format/offcore_rsp", "config1:0-63\n" },
	{ CPU "format/far", "config3:4-7\n" },
	{ CPU "format/bad", "config9:0\n" },
	{ CPU "format/worse", "config:60-70\n" },
	{ CPU "format/empty", "" },
	{ CPU "events/mem-loads", "event=0xcd,umask=0x1,any\n" },
	{ CPU "events/cpu-cycles", "event=0x3c\n" },
	{ CPU "events/asks", "event=0x1,umask=?\n" },
	{ POWER "type", "21\n" },
	{ POWER "format/event", "config:0-7\n" },
	{ POWER "events/energy-pkg", "event=0x02\n" },
	{ POWER "events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ POWER "events/energy-pkg.unit", "Joules\n" },
	{ TRACING "sched/sched_switch/id", "314\n" },
	{ TRACING "sched/sched_wakeup/id", "317\n" },
	{ TRACING "sched/broken/id", "many\n" },
	{ TRACING "syscalls/sys_enter_openat/id", "700\n" },
};

static int setup(void **state)
{
	(void)state;
	return tree_machine_make(files, sizeof(files) / sizeof(*files));
}

static struct perch_event one(const char *text)
{
	struct perch_event event = event_of(text, machine);

	assert_int_equal(event.attr.size, sizeof(event.attr));
	assert_int_equal(event.leader, 0);
	assert_int_equal(event.members, 1);
	return event;
}

static void splits_text_into_tokens(void **state)
{
	static const struct {
		enum perch__token_kind kind;
		size_t at, length;
	} wanted[] = {
		{ PERCH__TOKEN_OPEN, 1, 1 },	 { PERCH__TOKEN_WORD, 2, 11 },
		{ PERCH__TOKEN_COLON, 13, 1 },	 { PERCH__TOKEN_WORD, 14, 1 },
		{ PERCH__TOKEN_COMMA, 15, 1 },	 { PERCH__TOKEN_WORD, 17, 3 },
		{ PERCH__TOKEN_SLASH, 20, 1 },	 { PERCH__TOKEN_WORD, 21, 1 },
		{ PERCH__TOKEN_EQUALS, 22, 1 },	 { PERCH__TOKEN_WORD, 23, 3 },
		{ PERCH__TOKEN_SLASH, 26, 1 },	 { PERCH__TOKEN_CLOSE, 27, 1 },
		{ PERCH__TOKEN_INVALID, 28, 1 }, { PERCH__TOKEN_END, 30, 0 },
	};
	const char *text = " {page-faults:u, msr/e=0x1/}$ ";
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct perch__token token = perch__token_at(text, at);

		assert_int_equal(token.kind, wanted[i].kind);
		assert_int_equal(token.at, wanted[i].at);
		assert_int_equal(token.length, wanted[i].length);
		at = token.at + token.length;
	}
}

static void parses_generic_names(void **state)
{
	const struct perch_event_name *name;
	size_t nr = 0;

	(void)state;
	for (; (name = perch_event_get_name(nr)); nr++) {
		struct perch_event event = one(name->name);

		assert_int_equal(event.attr.type, name->type);
		assert_int_equal(event.attr.config, name->config);
		assert_string_equal(event.name, name->name);
		assert_false(event.modified);
		assert_int_equal(event.attr.flags, 0);
		if (name->alias)
			assert_int_equal(one(name->alias).attr.config, name->config);
	}
	assert_int_equal(nr, PERCH_COUNT_HW_MAX + PERCH_COUNT_SW_MAX);
}

static void parses_cache_events(void **state)
{
	char text[64], again[64];
	size_t legal = 0;

	(void)state;
	for (uint64_t config = 0; config < 1 << 20; config++) {
		struct perch_event event;

		if (!perch_cache_event_name(config, text, sizeof(text)))
			continue;
		legal++;
		event = one(text);
		assert_int_equal(event.attr.type, PERCH_TYPE_HW_CACHE);
		assert_int_equal(event.attr.config, config);
		assert_string_equal(perch_attr_name(&event.attr, again, sizeof(again)), text);
	}
	assert_int_equal(legal, 2 * (3 + 2 + 3 + 3 + 1 + 1 + 3));
	assert_int_equal(one("l1d-misses").attr.config, 0x10000);
	assert_int_equal(one("L1-dcache").attr.config, 0);
	assert_int_equal(one("Data-TLB-speculative-load-miss").attr.config, 0x10203);
	assert_int_equal(one("LLC-write-refs").attr.config, 0x102);
	assert_null(perch_cache_event_name(PERCH_COUNT_HW_CACHE_MAX, text, sizeof(text)));
	assert_null(perch_cache_event_name(PERCH_COUNT_HW_CACHE_ITLB | 0x100, text, sizeof(text)));
}

static void parses_raw_events(void **state)
{
	struct perch_event event = one("r1A8:u");

	(void)state;
	assert_int_equal(event.attr.type, PERCH_TYPE_RAW);
	assert_int_equal(event.attr.config, 0x1a8);
	assert_int_equal(event.attr.exclude_kernel, 1);
	assert_true(one("rffffffffffffffff").attr.config == UINT64_MAX);
}

static void parses_pmu_events(void **state)
{
	struct perch_event event;

	(void)state;
	event = one("cpu/mem-loads/");
	assert_int_equal(event.attr.type, 4);
	assert_true(event.attr.config == 0x2001cd);
	event = one("cpu/event=0xabc,umask=3,offcore_rsp=0xffffffffffffffff,far=9/pp");
	assert_true(event.attr.config == UINT64_C(0xa000003bc));
	assert_true(event.attr.config1 == UINT64_MAX);
	assert_int_equal(event.attr.config3, 0x90);
	assert_int_equal(event.attr.precise_ip, 2);
	event = one("cpu/mem-loads,umask=0x20,name=loads/:k");
	assert_true(event.attr.config == 0x2020cd);
	assert_string_equal(event.name, "loads");
	assert_int_equal(event.attr.exclude_user, 1);
	event = one("cpu/config=1,config1=2,config2=3,config3=4,config4=5/");
	assert_int_equal(event.attr.config2, 3);
	assert_int_equal(event.attr.config4, 5);
	event = one("power/energy-pkg/");
	assert_int_equal(event.attr.type, 21);
	assert_string_equal(event.unit, "Joules");
	assert_true(event.scale > 2.32e-10 && event.scale < 2.33e-10);
	event = one("mem-loads:u");
	assert_int_equal(event.attr.type, 4);
	assert_true(event.attr.config == 0x2001cd);
	assert_true(event.modified);
	assert_int_equal(one("cpu//").attr.config, 0);
}

static void parses_tracepoints(void **state)
{
	struct perch_event event = one("sched:sched_switch:u");

	(void)state;
	assert_int_equal(event.attr.type, PERCH_TYPE_TRACEPOINT);
	assert_int_equal(event.attr.config, 314);
	assert_int_equal(event.attr.exclude_kernel, 1);
	assert_string_equal(event.name, "sched:sched_switch:u");
	assert_int_equal(one("syscalls:sys_enter_openat").attr.config, 700);
}

/* Modifiers, and the bits that they set: exclude_user, _kernel, _hv, _idle, _host, _guest;
 * precise_ip, pinned, exclusive. */
static void applies_modifiers(void **state)
{
	static const struct {
		const char *modifiers;
		unsigned char user, kernel, hv, idle, host, guest, precise, pinned, exclusive,
			modified;
	} cases[] = {
		{ "u", 0, 1, 1, 0, 0, 0, 0, 0, 0, 1 },	 { "k", 1, 0, 1, 0, 0, 0, 0, 0, 0, 1 },
		{ "h", 1, 1, 0, 0, 0, 0, 0, 0, 0, 1 },	 { "uk", 0, 0, 1, 0, 0, 0, 0, 0, 0, 1 },
		{ "ukh", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, { "I", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 },
		{ "G", 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 },	 { "H", 0, 0, 0, 0, 0, 1, 0, 0, 0, 1 },
		{ "GH", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },	 { "p", 0, 0, 0, 0, 0, 1, 1, 0, 0, 0 },
		{ "ppp", 0, 0, 0, 0, 0, 1, 3, 0, 0, 0 }, { "ukp", 0, 0, 1, 0, 0, 1, 1, 0, 0, 1 },
		{ "D", 0, 0, 0, 0, 0, 0, 0, 1, 0, 0 },	 { "e", 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 },
		{ "uDe", 0, 1, 1, 0, 0, 0, 0, 1, 1, 1 }, { "Gp", 0, 0, 0, 0, 1, 0, 1, 0, 0, 1 },
		{ "pG", 0, 0, 0, 0, 1, 0, 1, 0, 0, 1 },	 { "pGH", 0, 0, 0, 0, 0, 0, 1, 0, 0, 1 },
		{ "pup", 0, 1, 1, 0, 0, 1, 2, 0, 0, 1 }, { "kI", 1, 0, 1, 1, 0, 0, 0, 0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_event event;
		char text[32];

		snprintf(text, sizeof(text), "cycles:%s", cases[i].modifiers);
		event = one(text);
		assert_string_equal(event.name, text);
		assert_int_equal(event.attr.exclude_user, cases[i].user);
		assert_int_equal(event.attr.exclude_kernel, cases[i].kernel);
		assert_int_equal(event.attr.exclude_hv, cases[i].hv);
		assert_int_equal(event.attr.exclude_idle, cases[i].idle);
		assert_int_equal(event.attr.exclude_host, cases[i].host);
		assert_int_equal(event.attr.exclude_guest, cases[i].guest);
		assert_int_equal(event.attr.precise_ip, cases[i].precise);
		assert_int_equal(event.attr.pinned, cases[i].pinned);
		assert_int_equal(event.attr.exclusive, cases[i].exclusive);
		assert_int_equal(event.modified, cases[i].modified);
	}
	assert_true(one("cycles:P").precise_max);
}

static void parses_groups(void **state)
{
	char many[512];
	struct perch_events events;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_events_parse(&events, " cs , {cycles:k,faults}:uD ,{ dummy }",
					    machine, &err),
			 0);
	assert_int_equal(events.nr, 4);
	assert_int_equal(events.event[0].leader, 0);
	assert_int_equal(events.event[0].members, 1);
	assert_string_equal(events.event[0].name, "cs");
	assert_int_equal(events.event[1].leader, 1);
	assert_int_equal(events.event[1].members, 2);
	assert_int_equal(events.event[1].attr.exclude_user, 0);
	assert_int_equal(events.event[1].attr.exclude_kernel, 0);
	assert_int_equal(events.event[1].attr.exclude_hv, 1);
	assert_int_equal(events.event[1].attr.pinned, 1);
	assert_string_equal(events.event[1].name, "cycles:ku");
	assert_string_equal(events.event[2].name, "faults:u");
	assert_int_equal(events.event[2].leader, 1);
	assert_int_equal(events.event[2].members, 0);
	assert_int_equal(events.event[2].attr.exclude_kernel, 1);
	assert_int_equal(events.event[2].attr.pinned, 0);
	assert_string_equal(events.event[3].name, "dummy");
	assert_int_equal(events.event[3].members, 1);
	/* events are appended; a wrong text changes nothing */
	assert_int_equal(perch_events_add(&events, "{cs,faults}", machine, &err), 0);
	assert_int_equal(events.nr, 6);
	assert_int_equal(events.event[5].leader, 4);
	assert_int_equal(perch_events_add(&events, "cs,{cs,nonsense}", machine, &err), -ENOENT);
	assert_int_equal(events.nr, 6);
	assert_int_equal(events.event[4].members, 2);
	perch_events_clear(&events);
	perch_events_clear(&events);
	/* the modifiers of each member are kept, also after more than 64 members */
	strcpy(many, "{cs");
	for (size_t i = 0; i < 70; i++)
		strcat(many, ",cs:G");
	strcat(many, "}:H");
	assert_int_equal(perch_events_parse(&events, many, machine, &err), 0);
	assert_int_equal(events.nr, 71);
	assert_true(events.event[0].attr.exclude_guest && !events.event[0].attr.exclude_host);
	for (size_t i = 1; i < events.nr; i++)
		assert_true(!events.event[i].attr.exclude_guest &&
			    !events.event[i].attr.exclude_host);
	perch_events_clear(&events);
}

static void reports_wrong_text(void **state)
{
	static const struct mistake cases[] = {
		{ "", 0, PERCH_ERROR_SYNTAX, "the event string is empty" },
		{ " ", 0, PERCH_ERROR_SYNTAX, "a $NAME that is not set" },
		{ ",", 0, PERCH_ERROR_SYNTAX, "expected an event" },
		{ "cycles,", 7, PERCH_ERROR_SYNTAX,
		  "expected an event such as page-faults, found the end" },
		{ "cycles,,cs", 7, PERCH_ERROR_SYNTAX,
		  "expected an event such as page-faults, found ','" },
		{ "cycles cs", 7, PERCH_ERROR_SYNTAX, "expected ',' or the end" },
		{ "cycles:", 7, PERCH_ERROR_SYNTAX, "expected modifiers" },
		{ "cycles:ux", 8, PERCH_ERROR_SYNTAX, "modifier 'x' is unknown" },
		{ "cycles:uu", 8, PERCH_ERROR_SYNTAX, "repeated" },
		{ "cycles:pppp", 10, PERCH_ERROR_SYNTAX, "more than three" },
		{ "cs,cycels", 3, PERCH_ERROR_UNKNOWN_EVENT, "did you mean cycles?" },
		{ "page-fault", 0, PERCH_ERROR_UNKNOWN_EVENT, "page-faults" },
		{ "L1-icache-stores", 0, PERCH_ERROR_UNKNOWN_EVENT, "no such operation" },
		{ "zzzzzzzz", 0, PERCH_ERROR_UNKNOWN_EVENT, "perch-events(7)" },
		{ "rxyz", 0, PERCH_ERROR_UNKNOWN_EVENT, "no event 'rxyz'" },
		{ "read", 0, PERCH_ERROR_UNKNOWN_EVENT, "no event 'read'" },
		{ "r12345678901234567", 0, PERCH_ERROR_UNKNOWN_EVENT, "no event" },
		{ "{cs", 3, PERCH_ERROR_SYNTAX, "expected ',' or '}'" },
		{ "{}", 1, PERCH_ERROR_SYNTAX, "expected an event such as page-faults, found '}'" },
		{ "{cs,{faults}}", 4, PERCH_ERROR_SYNTAX, "cannot contain a group" },
		{ "cs}", 2, PERCH_ERROR_SYNTAX, "found '}'" },
		{ "{cs,faults}:x", 12, PERCH_ERROR_SYNTAX, "'x' is unknown" },
		{ "cs,cpv/event=1/", 3, PERCH_ERROR_UNKNOWN_PMU, "did you mean cpu?" },
		{ "cpu/evnt=1/", 4, PERCH_ERROR_UNKNOWN_TERM, "did you mean event?" },
		{ "cpu/event=1,umsk=2/", 12, PERCH_ERROR_UNKNOWN_TERM, "umask" },
		{ "cpu/umask=256/", 10, PERCH_ERROR_UNKNOWN_TERM, "too large" },
		{ "cpu/umask=-1/", 10, PERCH_ERROR_SYNTAX, "expected a number" },
		{ "cpu/umask=0x/", 10, PERCH_ERROR_SYNTAX, "expected a number" },
		{ "cpu/umask=/", 10, PERCH_ERROR_SYNTAX, "expected a number, found '/'" },
		{ "cpu/event=1", 11, PERCH_ERROR_SYNTAX, "after a term" },
		{ "cpu/bad=1/", 4, PERCH_ERROR_FORMAT, "config9" },
		{ "cpu/worse=1/", 4, PERCH_ERROR_FORMAT, "config:60-70" },
		{ "cpu/empty=1/", 4, PERCH_ERROR_FORMAT, "format file" },
		{ "cpu/asks/", 4, PERCH_ERROR_UNKNOWN_TERM, "its parameter 'umask'" },
		{ "cpu/../", 4, PERCH_ERROR_UNKNOWN_TERM, "'..'" },
		{ "../cpu/", 0, PERCH_ERROR_UNKNOWN_PMU, "'..'" },
		{ "sched:sched_swich", 6, PERCH_ERROR_UNKNOWN_EVENT, "did you mean sched_switch?" },
		{ "shed:sched_switch", 0, PERCH_ERROR_UNKNOWN_EVENT, "did you mean sched?" },
		{ "uporbe:/bin/sh:main", 7, PERCH_ERROR_SYNTAX, "did you mean uprobe or kprobe?" },
		{ "kporbe:vfs_read", 0, PERCH_ERROR_UNKNOWN_EVENT, "did you mean kprobe" },
		{ "sched:/", 6, PERCH_ERROR_SYNTAX,
		  "expected the name of a tracepoint after ':', found '/'" },
		{ "sched:broken", 0, PERCH_ERROR_FORMAT, "many" },
		{ "..:sched", 0, PERCH_ERROR_UNKNOWN_EVENT, "no tracepoint" },
		{ "cycles:\x1b[2J", 7, PERCH_ERROR_SYNTAX, "'?'" },
		{ "=", 0, PERCH_ERROR_SYNTAX, "expected an event such as page-faults, found '='" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_mistake(&cases[i], machine);
}

static void names_attrs(void **state)
{
	static const char *const same[] = {
		"cycles",      "cycles:u",   "instructions:k", "faults:uk", "task-clock",
		"LLC-loads:u", "cycles:ppp", "cycles:kh",      "cs:uI",	    "dTLB-load-misses:up"
	};
	struct perch_attr attr = { .type = PERCH_TYPE_RAW, .config = 0x1c2 };
	char name[64], tiny[4];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct perch_event event = one(same[i]), again;

		perch_attr_name(&event.attr, name, sizeof(name));
		again = one(name);
		assert_memory_equal(&again.attr, &event.attr, sizeof(again.attr));
	}
	assert_string_equal(perch_attr_name(&attr, name, sizeof(name)), "raw 0x1c2");
	assert_string_equal(perch_attr_name(&attr, tiny, sizeof(tiny)), "raw");
	attr.type = PERCH_TYPE_HW_CACHE;
	attr.config = 0xffffff;
	perch_attr_name(&attr, name, sizeof(name));
	attr.type = PERCH_TYPE_SOFTWARE;
	attr.config = UINT64_MAX;
	perch_attr_name(&attr, name, sizeof(name));
	for (size_t size = 0; size < sizeof(name); size++)
		perch_attr_name(&attr, name, size);
}

/* Any text is accepted, or refused with a column inside the text. */
static void accepts_or_refuses_random_text(void **state)
{
	static const char *const parts[] = { "cycles", "cs",	    "cpu", "sched", "sched_switch",
					     "event",  "mem-loads", "r1",  "u",	    "ppp",
					     "k",      "0x1",	    ":",   "/",	    ",",
					     "=",      "{",	    "}",   " ",	    "\xff",
					     "..",     "\n",	    "%s" };
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct perch_events events;
		struct perch_error err;
		char text[256] = "";

		for (int i = rand_r(&seed) % 12; i >= 0; i--)
			strcat(text, parts[rand_r(&seed) % (sizeof(parts) / sizeof(*parts))]);
		if (!perch_events_parse(&events, text, machine, &err)) {
			assert_true(events.nr > 0);
			perch_events_clear(&events);
		} else if (err.column < 0 || err.column > (int)strlen(text) || !err.message[0]) {
			fail_msg("%s: column %d: %s", text, err.column, err.message);
		}
	}
}

/* On a machine without sysfs and tracefs, events that need no file are accepted. */
static void parses_without_sysfs(void **state)
{
	struct perch_machine *empty;
	struct perch_events events;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_machine_new(&empty, "/proc/none", NULL, &err), 0);
	assert_int_equal(perch_events_parse(&events, "{cycles:u,cs},LLC-loads,r1", empty, &err), 0);
	perch_events_clear(&events);
	assert_int_equal(perch_events_parse(&events, "sched:sched_switch", empty, &err), -ENOENT);
	assert_int_equal(err.column, 0);
	assert_non_null(strstr(err.message, "tracefs"));
	assert_int_equal(perch_events_parse(&events, "cpu/event=1/", empty, &err), -ENOENT);
	perch_machine_free(empty);
}

static void parses_long_text(void **state)
{
	size_t size = 1 << 16;
	char *text = malloc(size + 8);
	struct perch_events events;
	struct perch_error err;

	(void)state;
	memset(text, 'a', size);
	text[size] = '\0';
	assert_true(perch_events_parse(&events, text, machine, &err) < 0);
	for (size_t i = 0; i < size; i += 3)
		memcpy(text + i, "cs,", 3);
	memcpy(text + size, "cs", 3);
	text[size - 1] = ',';
	assert_int_equal(perch_events_parse(&events, text + 1, machine, &err), -ENOENT);
	strcpy(text + size / 3 * 3, "cs");
	assert_int_equal(perch_events_parse(&events, text, machine, &err), 0);
	assert_int_equal(events.nr, size / 3 + 1);
	perch_events_clear(&events);
	memset(text, '{', size);
	assert_true(perch_events_parse(&events, text, machine, &err) < 0);
	free(text);
}

/* Every kind of event is refused as one too many. */
static void refuses_too_many_events(void **state)
{
	static const char *const last[] = { "cs",	    "mem-loads",
					    "cpu/event=1/", "sched:sched_switch",
					    "sysc*:*",	    "mem:0" };
	static char text[3 * PERCH__EVENTS_MAX + 32];
	struct perch_events events;
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < PERCH__EVENTS_MAX; i++)
		memcpy(text + 3 * i, "cs,", 3);
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++) {
		strcpy(text + 3 * PERCH__EVENTS_MAX, last[i]);
		assert_int_equal(perch_events_parse(&events, text, machine, &err), -E2BIG);
		assert_non_null(strstr(err.message, "at most 65536 events"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_text_into_tokens),
		cmocka_unit_test(parses_without_sysfs),
		cmocka_unit_test(parses_generic_names),
		cmocka_unit_test(parses_cache_events),
		cmocka_unit_test(parses_raw_events),
		cmocka_unit_test(parses_pmu_events),
		cmocka_unit_test(parses_tracepoints),
		cmocka_unit_test(applies_modifiers),
		cmocka_unit_test(parses_groups),
		cmocka_unit_test(reports_wrong_text),
		cmocka_unit_test(names_attrs),
		cmocka_unit_test(accepts_or_refuses_random_text),
		cmocka_unit_test(parses_long_text),
		cmocka_unit_test(refuses_too_many_events),
	};

	return cmocka_run_group_tests(tests, setup, tree_machine_remove);
}
