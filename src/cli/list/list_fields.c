/* SPDX-License-Identifier: MIT */
/* The fields of a tracepoint, from its format in tracefs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <perch/tracepoint.h>

#include "list.h"

/*
 * Splits the type of an array into that of its elements and their number. "__data_loc char[]" stays
 * whole.
 */
static void set_type(struct list_field *field, const struct perch_tracepoint_field *from)
{
	const char *brackets = strchr(from->type, '[');
	size_t length = strlen(from->type);
	unsigned long count;
	char *end;

	if (brackets && (from->location == PERCH_TRACEPOINT_AT_OFFSET ||
			 from->location == PERCH_TRACEPOINT_TO_END)) {
		length = (size_t)(brackets - from->type);
		count = strtoul(brackets + 1, &end, 10);
		field->count = end > brackets + 1 && *end == ']' && count <= UINT32_MAX
				       ? (unsigned)count
				       : 0;
	}
	snprintf(field->text, sizeof(field->text), "%.*s", (int)length, from->type);
}

int list_visit_fields(const struct list *list, const char *tracepoint, list_visit *visit,
		      void *context)
{
	const struct perch_tracepoint_field *fields;
	struct perch_tracepoint_format *format;
	int rc = perch_tracepoint_format_read(&format, tracepoint, list->machine, NULL);
	size_t nr;

	if (rc)
		return rc;
	nr = perch_tracepoint_format_fields(format, &fields);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct list_field field = { .offset = fields[i].offset,
					    .size = fields[i].size,
					    .is_signed = fields[i].is_signed,
					    .common = fields[i].is_common };

		snprintf(field.name, sizeof(field.name), "%s", fields[i].name);
		set_type(&field, &fields[i]);
		rc = visit(context, &field);
	}
	perch_tracepoint_format_free(format);
	return rc;
}
