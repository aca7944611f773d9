/* SPDX-License-Identifier: MIT */
#ifndef PERCH_SESSION_TRACEPOINT_TEXT_H
#define PERCH_SESSION_TRACEPOINT_TEXT_H

#include <perch/file.h>
#include <perch/process.h>
#include <perch/symbol.h>

/* The formats of a recording's tracepoints, prepared to print samples. */
struct tracepoint_texts;

/* Where the names of kernel addresses are found. */
struct kernel_names {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_thread *thread; /* of the sample */
};

/*
 * Prints a sample. *texts is made when it is needed. *plain: the fields were printed instead of the
 * print fmt. Returns the length, as perch_session_tracepoint_text().
 */
int perch__tracepoint_text(struct tracepoint_texts **texts, struct perch_reader *reader,
			   const struct kernel_names *names, const struct perch_record *record,
			   const struct perch_tracepoint_format *format, char *text, size_t size,
			   bool *plain);
void perch__tracepoint_texts_free(struct tracepoint_texts *texts);

#endif
