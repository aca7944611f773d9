/* SPDX-License-Identifier: MIT */
/* Emits the fields of a record in the order of fields.def, with the values of its view. */
#include "fields.h"

static void emit_number(struct perch__walk *walk, const struct perch__row *row)
{
	uint64_t value = perch__number_at(walk->record, row->offset, row->size);

	if (row->format)
		perch__emit_flags(walk, row->name, value, row->format);
	else if (row->size == sizeof(uint32_t) && row->kind == PERCH_FIELD_SIGNED)
		perch__emit_field(walk, row->name, row->kind, (uint64_t)(int32_t)value);
	else
		perch__emit_field(walk, row->name, row->kind, value);
}

static void emit_row(struct perch__walk *walk, const struct perch__row *row)
{
	const void *member = (const char *)walk->record + row->offset;
	const void *bytes;

	if (row->emit) {
		row->emit(walk, row->name);
		return;
	}
	switch (row->source) {
	case PERCH__SOURCE_VALUE:
		emit_number(walk, row);
		break;
	case PERCH__SOURCE_TEXT:
		perch__emit_text(walk, row->name, member);
		break;
	case PERCH__SOURCE_FIXED:
		perch__emit_bytes(walk, row->name, member, row->size);
		break;
	case PERCH__SOURCE_BUILD_ID:
		perch__emit_bytes(walk, row->name, member,
				  perch__number_of_items(walk->record, row));
		break;
	case PERCH__SOURCE_READ:
		perch__emit_read(walk, row->name, member);
		break;
	case PERCH__SOURCE_ARRAY:
		memcpy(&bytes, member, sizeof(bytes));
		perch__emit_bytes(walk, row->name, bytes,
				  perch__number_of_items(walk->record, row));
		break;
	case PERCH__SOURCE_BIT:
	case PERCH__SOURCE_NONE:
		break;
	}
}

static void emit_rows(struct perch__walk *walk, const struct perch__row *row)
{
	for (; !row->is_record && !walk->rc; row++)
		if (perch__has_field(walk->record, row))
			emit_row(walk, row);
}

/* Returns the size of the record's trailer; 0 if it has none. */
static size_t trailer_bytes(const struct perch_record *record)
{
	size_t body = record->size > PERCH__HEADER_BYTES ? record->size - PERCH__HEADER_BYTES : 0;

	if (record->type == PERCH_RECORD_SAMPLE || record->type >= PERCH__FIRST_USER_TYPE)
		return 0;
	return record->parse_info->id_size <= body ? record->parse_info->id_size : 0;
}

/* The body of a record of unknown type, or the bytes after the last known field. */
static void emit_unknown_bytes(struct perch__walk *walk, size_t trailer, bool has_rows)
{
	const struct perch_record *record = walk->record;
	const char *bytes = record->bytes;
	size_t end = record->size - trailer;

	if (walk->extent < record->size)
		return;
	if (!has_rows) {
		perch__emit_bytes(walk, "bytes", bytes + PERCH__HEADER_BYTES,
				  end - PERCH__HEADER_BYTES);
		return;
	}
	if (record->trailing_bytes && record->trailing_bytes <= end - PERCH__HEADER_BYTES)
		perch__emit_bytes(walk, "trailing_bytes", bytes + end - record->trailing_bytes,
				  record->trailing_bytes);
}

int perch_record_fields(const struct perch_record *record, enum perch_arch arch,
			perch_field_function *function, void *context)
{
	struct perch__walk walk = {
		.record = record, .arch = arch, .function = function, .context = context
	};
	const struct perch__row *rows = perch__rows(record->type);
	size_t trailer = trailer_bytes(record);

	if (record->size < PERCH__HEADER_BYTES)
		return 0;
	walk.extent = perch__extent(record->parse_info, record->type, record->bytes, record->size);
	if (rows)
		emit_rows(&walk, rows);
	emit_unknown_bytes(&walk, trailer, rows != NULL);
	if (trailer) {
		perch__emit_field(&walk, "sample_id", PERCH_FIELD_GROUP, 0);
		emit_rows(&walk, perch__trailer_rows());
		perch__emit_field(&walk, NULL, PERCH_FIELD_END, 0);
	}
	if (walk.extent < record->size) /* the record is oversized */
		perch__emit_bytes(&walk, "trailing_bytes",
				  (const char *)record->bytes + walk.extent,
				  record->size - walk.extent);
	return walk.rc;
}
