/* SPDX-License-Identifier: MIT */
/*
 * Whether children are followed, where an event or its group leaves no choice.
 *
 * Not those of a probe: at each fork the kernel makes the event again for the child, and reads the
 * probe's path again from the address in config1, which now is one of the program that forks. It
 * finds no path there, and the program's fork or thread fails with EFAULT (seen on 6.18). And a
 * group is inherited as a whole: members that differ cannot join it.
 */
#include <errno.h>

#include "internal.h"

static int refuse_probe(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"a probe cannot be inherited: the kernel would make each fork of the program fail");
	perch_error_field(parser->err, "inherit", NULL);
	perch_error_remedy(parser->err,
			   "leave 'inherit' out; to follow children, count on all CPUs");
	return -EINVAL;
}

static int refuse_both(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"one event of the group says 'inherit' and another 'no-inherit': a group does one of them");
	perch_error_field(parser->err, "inherit", NULL);
	return -EINVAL;
}

int perch__resolve_inherit(struct perch__parser *parser, size_t first, size_t at)
{
	const struct perch_events *events = parser->events;
	bool yes = false, no = false, probe = false;

	for (size_t i = first; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];

		probe |= event->path != NULL;
		yes |= event->terms.inherit == PERCH_TRISTATE_YES;
		no |= event->terms.inherit == PERCH_TRISTATE_NO;
	}
	if (probe && yes)
		return refuse_probe(parser, at);
	if (yes && no)
		return refuse_both(parser, at);
	for (size_t i = first; i < events->nr; i++)
		events->event[i].terms.inherit = probe || no ? PERCH_TRISTATE_NO
						 : yes	     ? PERCH_TRISTATE_YES
							     : PERCH_TRISTATE_UNSET;
	return 0;
}
