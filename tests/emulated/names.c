/* SPDX-License-Identifier: MIT */
/* Names of the PMU's events: sysfs gives the right attr, and the attr counts the right event. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <perch/count.h>

#include "guest.h"

#define ITERATIONS 100000

/* Parses a single event; %s in the format is the name of the PMU. */
static void parse_one(struct perch_events *events, const char *format)
{
	struct perch_error err;
	char text[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, guest_pmu());
#pragma GCC diagnostic pop
	*events = (struct perch_events){ 0 };
	CHECK_OK(perch_events_parse(events, text, NULL, &err), &err);
	CHECK(events->nr == 1, "'%s' is %zu events", text, events->nr);
}

/* All names of the event count the loop, up to the instructions of a tick. */
static void retired_instructions(void)
{
	static const char *const names[] = {
		"instructions:u",    "r8:u",	      "r0008:u",
		"%s/r8/u",	     "%s/event=8/u",  "%s/event=0x8/u",
		"%s/inst_retired/u", "%s/config=8/u", "inst_retired:u",
		"instructions:uP",
	};
	struct perch_counter *counter;
	struct perch_events events;
	struct perch_count count;
	struct perch_error err;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		parse_one(&events, names[i]);
		CHECK_OK(perch_counter_open_event(&counter, &events.event[0], &perch_self, NULL,
						  &err),
			 &err);
		perch_counter_enable(counter, NULL);
		guest_loop(ITERATIONS);
		perch_counter_disable(counter, NULL);
		CHECK_OK(perch_counter_read(counter, &count, &err), &err);
		CHECK(count.value >= ITERATIONS * GUEST_LOOP_INSTRUCTIONS &&
			      count.value < ITERATIONS * GUEST_LOOP_INSTRUCTIONS + 24000,
		      "%s: %" PRIu64, names[i], count.value);
		CHECK(count.state == PERCH_COUNT_STATE_EXACT, "%s: state %d", names[i],
		      count.state);
		perch_counter_close(counter);
		perch_events_clear(&events);
	}
}

/* Terms are stored in the bits of the PMU's format files. */
static void formats(void)
{
	static const struct {
		const char *text;
		uint64_t config, config1;
	} rows[] = {
		{ "%s/event=0x11/", 0x11, 0 },
		{ "%s/event=17,long=1/", 0x11, 1 },
		{ "%s/event=0x11,long/", 0x11, 1 },
		{ "%s/event=0x11,rdpmc=1/", 0x11, 2 },
		{ "%s/event=0x11,long=1,rdpmc=1/", 0x11, 3 },
		{ "%s/event=0x11,config1=3/", 0x11, 3 },
		{ "%s/cpu_cycles,rdpmc/", 0x11, 2 },
		{ "%s/cpu_cycles/", 0x11, 0 },
		{ "%s/event=0xffff/", 0xffff, 0 },
	};
	struct perch_machine *machine;
	const struct perch_pmu *pmu;
	struct perch_events events;
	struct perch_error err;

	CHECK_OK(perch_machine_new(&machine, NULL, NULL, &err), &err);
	pmu = perch_machine_pmu(machine, guest_pmu());
	CHECK(pmu && pmu->core && pmu->type > PERCH_TYPE_BREAKPOINT, "type %u",
	      pmu ? pmu->type : 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_one(&events, rows[i].text);
		CHECK(events.event[0].attr.type == pmu->type, "%s: type %u", rows[i].text,
		      events.event[0].attr.type);
		CHECK(events.event[0].attr.config == rows[i].config &&
			      events.event[0].attr.config1 == rows[i].config1,
		      "%s: config %#" PRIx64 " config1 %#" PRIx64, rows[i].text,
		      (uint64_t)events.event[0].attr.config,
		      (uint64_t)events.event[0].attr.config1);
		perch_events_clear(&events);
	}
	perch_machine_free(machine);
}

/* The error of a term has its column. */
static void wrong_terms(void)
{
	static const struct {
		const char *term;
		enum perch_error_kind kind;
		const char *text; /* in message or remedy */
	} rows[] = {
		{ "event=0x10000", PERCH_ERROR_SYNTAX, "event" },
		{ "long=2", PERCH_ERROR_SYNTAX, "long" },
		{ "inst_retird", PERCH_ERROR_UNKNOWN_TERM, "inst_retired" },
		{ "evnt=8", PERCH_ERROR_UNKNOWN_TERM, "event" },
	};
	struct perch_events events = { 0 };
	size_t at = strlen(guest_pmu()) + 1;
	struct perch_error err;
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc;

		snprintf(text, sizeof(text), "%s/%s/", guest_pmu(), rows[i].term);
		rc = perch_events_parse(&events, text, NULL, &err);
		CHECK(rc < 0 && !events.nr, "%s: %d", text, rc);
		CHECK(err.column >= (int)at && err.column < (int)(at + strlen(rows[i].term)),
		      "%s: column %d", text, err.column);
		CHECK(strstr(err.message, rows[i].text) || strstr(err.remedy, rows[i].text),
		      "%s: '%s' '%s'", text, err.message, err.remedy);
		if (rows[i].kind == PERCH_ERROR_UNKNOWN_TERM)
			CHECK(err.kind == rows[i].kind, "%s: %s", text,
			      perch_error_kind_slug(err.kind));
	}
}

/* Sampling terms on a generic hardware name and on the PMU's own. */
static void terms_of_generic_names(void)
{
	struct perch_events events;

	parse_one(&events, "cycles/period=12345/u");
	CHECK(events.event[0].attr.sample_period == 12345 && !events.event[0].attr.freq, "%" PRIu64,
	      (uint64_t)events.event[0].attr.sample_period);
	CHECK(events.event[0].attr.exclude_kernel && !events.event[0].attr.exclude_user,
	      "exclusions");
	perch_events_clear(&events);
	parse_one(&events, "%s/inst_retired,freq=777,name=mine/");
	CHECK(events.event[0].attr.sample_freq == 777 && events.event[0].attr.freq, "%" PRIu64,
	      (uint64_t)events.event[0].attr.sample_freq);
	CHECK(!strcmp(events.event[0].name, "mine"), "'%s'", events.event[0].name);
	perch_events_clear(&events);
}

/* A prefix or a glob selects the PMU. */
static void names_of_the_pmu(void)
{
	struct perch_events events;

	parse_one(&events, "armv8*/event=8/");
	CHECK(events.event[0].attr.config == 8, "%" PRIu64, (uint64_t)events.event[0].attr.config);
	perch_events_clear(&events);
}

const struct guest_test guest_names[] = {
	{ .name = "instructions by all their names", .run = retired_instructions },
	{ .name = "fields of the PMU's format", .run = formats },
	{ .name = "wrong terms of the PMU", .run = wrong_terms },
	{ .name = "sampling terms", .run = terms_of_generic_names },
	{ .name = "patterns of PMU names", .run = names_of_the_pmu },
	{ 0 },
};
