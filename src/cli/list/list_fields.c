/* SPDX-License-Identifier: MIT */
/* The fields of a tracepoint, from its format in tracefs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <perch/tracepoint.h>

#include "list.h"

/* Splits "char[16]" into the type of the elements and their number; other types stay whole. */
static void set_type(struct list_field *field, const char *type)
{
	size_t length = strcspn(type, "[");
	unsigned long count;
	char *end;

	if (type[length] && type[length + 1] >= '0' && type[length + 1] <= '9') {
		count = strtoul(type + length + 1, &end, 10);
		if (!strcmp(end, "]") && count <= UINT32_MAX)
			field->count = (unsigned)count;
	}
	if (!field->count)
		length = strlen(type);
	snprintf(field->text, sizeof(field->text), "%.*s", (int)length, type);
}

int list_visit_fields(const struct list *list, const char *tracepoint, list_visit *visit,
		      void *context)
{
	const struct perch_tracepoint_field *fields;
	struct perch_tracepoint_format *format;
	int rc = perch_tracepoint_format_read(&format, list->machine, tracepoint, NULL);
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
		set_type(&field, fields[i].type);
		rc = visit(context, &field);
	}
	perch_tracepoint_format_free(format);
	return rc;
}
