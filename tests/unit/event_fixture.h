/* SPDX-License-Identifier: MIT */
/* Helpers that parse event strings, valid and wrong ones. Include after cmocka.h. */
#ifndef PERCH_TEST_EVENT_FIXTURE_H
#define PERCH_TEST_EVENT_FIXTURE_H

#include <string.h>
#include <perch/event.h>

/* Parses a text that is one event without filter and path. */
static inline struct perch_event event_of(const char *text, struct perch_machine *machine)
{
	struct perch_events events;
	struct perch_error err;
	struct perch_event event;

	if (perch_events_parse(&events, text, machine, &err))
		fail_msg("%s: %s (column %d)", text, err.message, err.column);
	assert_int_equal(events.nr, 1);
	event = events.event[0];
	perch_events_clear(&events);
	assert_null(events.event);
	return event;
}

struct mistake {
	const char *text;
	int column;
	enum perch_error_kind kind;
	const char *expected; /* part of the message or the remedy */
};

/* The result is the same with and without a perch_error, and the list is empty. */
static inline void check_mistake(const struct mistake *mistake, struct perch_machine *machine)
{
	struct perch_events events = { 0 };
	struct perch_error err;

	if (!perch_events_parse(&events, mistake->text, machine, &err))
		fail_msg("%s is accepted", mistake->text);
	assert_int_equal(events.nr, 0);
	assert_null(events.event);
	if (err.column != mistake->column || err.kind != mistake->kind ||
	    (!strstr(err.message, mistake->expected) && !strstr(err.remedy, mistake->expected)))
		fail_msg("%s: column %d, kind %s: %s. %s", mistake->text, err.column,
			 perch_error_kind_slug(err.kind), err.message, err.remedy);
	assert_int_equal(perch_events_parse(&events, mistake->text, machine, NULL), -err.errnum);
}

struct bad_event {
	const char *text;
	int rc, column;
	const char *message, *remedy; /* parts of them; NULL allows any text */
};

static inline void check_bad_event(const struct bad_event *bad, struct perch_machine *machine)
{
	struct perch_events events;
	struct perch_error err = { 0 };
	int rc = perch_events_parse(&events, bad->text, machine, &err);

	print_message("%s: %s: %s\n", bad->text, err.message, err.remedy);
	assert_int_equal(rc, bad->rc);
	assert_int_equal(err.column, bad->column);
	if (bad->message)
		assert_non_null(strstr(err.message, bad->message));
	if (bad->remedy)
		assert_non_null(strstr(err.remedy, bad->remedy));
}

#endif
