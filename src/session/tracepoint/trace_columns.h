/* SPDX-License-Identifier: MIT */
#ifndef PERCH_SESSION_TRACE_COLUMNS_H
#define PERCH_SESSION_TRACE_COLUMNS_H

#include <perch/session.h>

#include "base/hash_table.h"

/* A distinct value. Its key is the bytes of the field, or the text. */
struct value {
	char *text;
	const void *key;
	size_t key_size;
	uint64_t number; /* of fields of numbers */
	uint16_t event;
	bool is_number, is_signed;
	bool settled; /* the text does not change any more */
};

struct trace_column {
	struct perch_column column;
	struct perch_trace_columns *owner;
	char *name;
	bool whole; /* the text of the sample, not a field */
	bool raw;   /* the value as it is recorded, not as the sample prints it */
	size_t event;
	const struct perch_tracepoint_field **field; /* by event; NULL: it lacks the field */
	struct perch__hash_table table;		     /* key -> value[] */
	struct value *value;
	size_t nr, capacity;
};

struct perch_trace_columns {
	struct perch_session *session;
	const struct perch_file_event *events;
	size_t nr_events;
	const struct perch_tracepoint_format **format; /* by event; NULL: none */
	struct trace_column **column;
	size_t nr, capacity;
	const struct perch_column **found; /* of the last call */
	size_t found_capacity;
};

/* ---- trace_values.c: the functions of columns. A value is its index + 1, and 0 is N/A. ---- */

int perch__trace_value(void *column, const struct perch_record *record,
		       const struct perch_thread *thread, uint64_t *value);
int perch__trace_compare(void *column, uint64_t a, uint64_t b);
void perch__trace_format(void *column, uint64_t value, char *buffer, size_t size);
/* Frees a column with its values. */
void perch__trace_column_free(struct trace_column *column);

#endif
