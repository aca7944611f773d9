/* SPDX-License-Identifier: MIT */
/* The fields of tracepoints, as the kernel prints them. */
#include <errno.h>
#include <stdlib.h>

#include "script.h"

/* The first size of the buffer: few texts are longer. */
#define TRACE_SIZE 1024

/* Makes the buffer as long as a text of this length. Returns 0 or -ENOMEM. */
static int reserve_text(struct script *script, size_t length)
{
	char *larger = realloc(script->trace, length + 1);

	if (!larger)
		return -ENOMEM;
	script->trace = larger;
	script->trace_size = length + 1;
	return 0;
}

int script_put_trace(struct script *script, const struct script_event *event,
		     const struct perch_record *record)
{
	int length;

	if (!event->format || !record->sample.raw.size) {
		script->unformatted++;
		return 0;
	}
	if (!script->trace && reserve_text(script, TRACE_SIZE))
		return -ENOMEM;
	length = perch_session_tracepoint_text(script->session, record, script->trace,
					       script->trace_size, NULL);
	/* a longer text is printed again, which is rare */
	if (length >= (int)script->trace_size) {
		if (reserve_text(script, length))
			return -ENOMEM;
		length = perch_session_tracepoint_text(script->session, record, script->trace,
						       script->trace_size, NULL);
	}
	if (length < 0)
		return length;
	perch__output_text(event->out, script->trace);
	return 0;
}
