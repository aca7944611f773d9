/* SPDX-License-Identifier: MIT */
/* Reads the values of a tracepoint's fields from sample.raw. */
#include <errno.h>
#include <string.h>

#include "fields.h"
#include "internal.h"
#include "tracepoint.h"

/* A part of sample.raw. */
struct part {
	const char *at;
	size_t size;
};

/*
 * Finds the bytes of a field. Offsets are below 2^31 and have 16 bits in DATA_LOC and REL_LOC, so
 * that sums do not overflow.
 */
static int find_part(const struct perch_tracepoint_field *field, const struct perch_record *record,
		     struct part *part)
{
	uint64_t offset = field->offset, size = field->size, raw_size;
	const char *raw;

	if (record->type != PERCH_RECORD_SAMPLE || !record->sample.raw.data)
		return -ENODATA;
	raw = record->sample.raw.data;
	raw_size = record->sample.raw.size;
	if (field->location == PERCH_TRACEPOINT_TO_END)
		size = offset < raw_size ? raw_size - offset : 0;
	if (offset + size > raw_size)
		return -ENODATA;
	if (field->location == PERCH_TRACEPOINT_DATA_LOC ||
	    field->location == PERCH_TRACEPOINT_REL_LOC) {
		uint32_t word = perch__u32(raw + offset, record->parse_info->swapped);

		offset = (word & 0xffff) +
			 (field->location == PERCH_TRACEPOINT_REL_LOC ? offset + size : 0);
		size = word >> 16;
		if (offset + size > raw_size)
			return -ENODATA;
	}
	*part = (struct part){ raw + offset, size };
	return 0;
}

static uint64_t read_number(const char *at, uint32_t size, bool is_signed, bool swap)
{
	uint64_t value;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int64_t)(*(const int8_t *)at) : *(const uint8_t *)at;
	case 2:
		value = perch__u16(at, swap);
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
	case 4:
		value = perch__u32(at, swap);
		return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
	default:
		return perch__u64(at, swap);
	}
}

int perch_tracepoint_get_element(const struct perch_tracepoint_field *field,
				 const struct perch_record *record, size_t index, uint64_t *value)
{
	struct part part;
	int rc;

	*value = 0;
	if (field->kind != PERCH_TRACEPOINT_NUMBER && field->kind != PERCH_TRACEPOINT_POINTER &&
	    field->kind != PERCH_TRACEPOINT_ARRAY)
		return -EINVAL;
	rc = find_part(field, record, &part);
	if (rc)
		return rc;
	if (index >= part.size / field->element_size)
		return -ENODATA;
	*value = read_number(part.at + index * field->element_size, field->element_size,
			     field->is_signed, record->parse_info->swapped);
	return 0;
}

int perch_tracepoint_get_u64(const struct perch_tracepoint_field *field,
			     const struct perch_record *record, uint64_t *value)
{
	if (field->kind != PERCH_TRACEPOINT_ARRAY)
		return perch_tracepoint_get_element(field, record, 0, value);
	*value = 0;
	return -EINVAL;
}

int perch_tracepoint_get_s64(const struct perch_tracepoint_field *field,
			     const struct perch_record *record, int64_t *value)
{
	uint64_t number;
	int rc = perch_tracepoint_get_u64(field, record, &number);

	*value = (int64_t)number;
	return rc;
}

int perch_tracepoint_get_bytes(const struct perch_tracepoint_field *field,
			       const struct perch_record *record, const void **bytes, size_t *size)
{
	struct part part = { 0 };
	int rc = find_part(field, record, &part);

	*bytes = part.at;
	*size = part.size;
	return rc;
}

int perch_tracepoint_get_text(const struct perch_tracepoint_field *field,
			      const struct perch_record *record, const char **text, size_t *length)
{
	struct part part = { 0 };
	int rc = field->kind == PERCH_TRACEPOINT_TEXT ? find_part(field, record, &part) : -EINVAL;

	*text = part.at;
	*length = part.size ? strnlen(part.at, part.size) : 0;
	return rc;
}

/* ---- all fields of a record ---- */

static enum perch_field_kind number_kind(const struct perch_tracepoint_field *field)
{
	if (strchr(field->type, '*') || field->kind == PERCH_TRACEPOINT_POINTER)
		return PERCH_FIELD_ADDRESS;
	return field->is_signed ? PERCH_FIELD_SIGNED : PERCH_FIELD_NUMBER;
}

static void emit_array(struct perch__walk *walk, const struct perch_tracepoint_field *field,
		       const struct part *part)
{
	size_t nr = part->size / field->element_size;

	perch__emit_field(walk, field->name, PERCH_FIELD_LIST, nr);
	for (size_t i = 0; i < nr && !walk->rc; i++)
		perch__emit_field(walk, NULL, number_kind(field),
				  read_number(part->at + i * field->element_size,
					      field->element_size, field->is_signed,
					      walk->record->parse_info->swapped));
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

static void emit_value(struct perch__walk *walk, const struct perch_tracepoint_field *field,
		       const struct part *part)
{
	struct perch_text text;

	switch (field->kind) {
	case PERCH_TRACEPOINT_NUMBER:
	case PERCH_TRACEPOINT_POINTER:
		perch__emit_field(walk, field->name, number_kind(field),
				  read_number(part->at, field->element_size, field->is_signed,
					      walk->record->parse_info->swapped));
		break;
	case PERCH_TRACEPOINT_TEXT:
		text = (struct perch_text){ part->at, strnlen(part->at, part->size) };
		perch__emit_text(walk, field->name, &text);
		break;
	case PERCH_TRACEPOINT_ARRAY:
		emit_array(walk, field, part);
		break;
	default:
		perch__emit_bytes(walk, field->name, part->at, part->size);
	}
}

int perch_tracepoint_visit(const struct perch_tracepoint_format *format,
			   const struct perch_record *record, perch_field_function *function,
			   void *context)
{
	struct perch__walk walk = { .record = record, .function = function, .context = context };

	for (size_t i = 0; i < format->nr && !walk.rc; i++) {
		struct part part;

		if (!find_part(&format->field[i], record, &part))
			emit_value(&walk, &format->field[i], &part);
	}
	return walk.rc;
}
