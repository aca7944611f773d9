/* SPDX-License-Identifier: MIT */
/* The fields of tracepoints. */
#include <string.h>

#include "script.h"

static void put_value(struct cli_output *out, const struct perch_field *field)
{
	switch (field->kind) {
	case PERCH_FIELD_SIGNED:
		cli_output_signed(out, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
	case PERCH_FIELD_FLAGS:
		cli_output_hex(out, field->value);
		break;
	case PERCH_FIELD_TEXT:
		cli_output_clean(out, field->text, field->length);
		break;
	case PERCH_FIELD_BYTES:
		cli_output_hex_bytes(out, field->text, field->length);
		break;
	default:
		cli_output_number(out, field->value);
	}
}

struct writer {
	struct cli_output *out;
	bool array, first;
};

/* Writes " name=value" of a field, and the values of an array with commas. */
static int put_field(void *context, const struct perch_field *field)
{
	struct writer *writer = context;

	if (field->kind == PERCH_FIELD_END) {
		if (writer->array)
			cli_output_bytes(writer->out, "}", 1);
		writer->array = false;
		return 0;
	}
	if (writer->array) {
		if (!writer->first)
			cli_output_bytes(writer->out, ",", 1);
		writer->first = false;
		put_value(writer->out, field);
		return 0;
	}
	if (!field->name || !strncmp(field->name, "common_", 7)) {
		writer->array = field->kind == PERCH_FIELD_LIST;
		return 0;
	}
	cli_output_bytes(writer->out, " ", 1);
	cli_output_clean(writer->out, field->name, strlen(field->name));
	cli_output_bytes(writer->out, "=", 1);
	writer->array = field->kind == PERCH_FIELD_LIST;
	writer->first = true;
	if (writer->array)
		cli_output_bytes(writer->out, "{", 1);
	else
		put_value(writer->out, field);
	return 0;
}

void script_put_trace(struct script *script, const struct script_event *event,
		      const struct perch_record *record)
{
	struct writer writer = { .out = event->out };

	if (!event->format) {
		script->unformatted++;
		return;
	}
	perch_tracepoint_visit(event->format, record, put_field, &writer);
}
