/* SPDX-License-Identifier: MIT */
/*
 * Prints the source line of each sample of a recording, with its function:
 *
 *   perch record -k mono -- node --perf-prof app.js
 *   hot-lines perf.data | sort | uniq -c | sort -rn | head
 *
 * Lines come from the debug information of programs, and from jitdump files of JIT compilers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <perch/session.h>

static int print_line(struct perch_session *session, const struct perch_session_sample *sample)
{
	struct perch_symbols *symbols = perch_session_symbols(session);
	const struct perch_address *address = perch_session_address(session, sample->chain[0]);
	const struct perch_symbol_frame *frame;
	int nr = perch_symbols_frames(symbols, address->dso, address->offset, &frame);

	if (nr < 0)
		return nr;
	printf("%s %s:%" PRIu32 "\n",
	       frame->symbol ? perch_symbols_name(symbols, frame->symbol) : "??",
	       frame->file ? frame->file : "??", frame->line);
	return 0;
}

int main(int argc, char **argv)
{
	struct perch_session_sample sample;
	struct perch_session *session;
	struct perch_error err;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: hot-lines FILE\n");
		return 2;
	}
	rc = perch_session_open(&session, argv[1], NULL, &err);
	while (!rc && (rc = perch_session_next_sample(session, &sample, &err)) > 0)
		rc = print_line(session, &sample);
	if (rc < 0)
		fprintf(stderr, "%s\n", rc == -ENOMEM ? "out of memory" : err.message);
	perch_session_close(session);
	return rc ? 1 : 0;
}
