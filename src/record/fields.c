/* SPDX-License-Identifier: MIT */
/* Emits the fields of a record in the order of fields.def, with the values of its view. */
#include "fields.h"

/* Not a record type: the trailer of the other records. */
#define PERCH_RECORD_TRAILER 0

struct row {
	const char *record; /* start of a record; the next rows are its fields */
	const char *name;
	enum perch_field_kind kind;
	uint16_t offset; /* in struct perch_record */
	uint16_t size;	 /* in bytes */
	bool text;
	perch__format_function *format;
	perch__emit_function *emit;
	/* the field exists if: */
	uint64_t sample_type;	/* one of these bits is set, or it is 0 */
	uint16_t misc, no_misc; /* all bits of misc and none of no_misc are set */
};

#define AT(member)                                       \
	.offset = offsetof(struct perch_record, member), \
	.size = sizeof(((struct perch_record *)0)->member)
#define VALUE(member)		AT(member)
#define FLAGS(member, function) AT(member), .format = perch__format_##function
#define TEXT(member)		AT(member), .text = true
#define EMIT(function)		.emit = perch__emit_##function
#define ALWAYS			.sample_type = 0
#define SAMPLE(bit)		.sample_type = PERCH_SAMPLE_##bit
#define MISC(bit)		.misc = PERCH_MISC_##bit
#define NO_MISC(bit)		.no_misc = PERCH_MISC_##bit

static const struct row rows[] = {
/* clang-format off */
#define RECORD(record_, since, when, what) { .record = #record_ },
#define FIELD(record_, name_, kind_, source, condition, unit, since, what) \
	{ .name = #name_, .kind = PERCH_FIELD_##kind_, source, condition },
/* clang-format on */
#define PART(...)
#include "fields.def"
#undef RECORD
#undef FIELD
	{ .record = "" },
};

/* Row numbers, to find the first row of a record. */
enum {
#define RECORD(record_, since, when, what) ROW_##record_,
#define FIELD(record_, name_, ...)	   ROW_##record_##_##name_,
#include "fields.def"
#undef RECORD
#undef FIELD
};

static const uint16_t first_row[PERCH_RECORD_MAX] = {
#define RECORD(record_, since, when, what) [PERCH_RECORD_##record_] = ROW_##record_ + 1,
#define FIELD(...)
#include "fields.def"
#undef RECORD
#undef FIELD
};

static uint64_t value_of(const struct perch_record *record, const struct row *row)
{
	const char *at = (const char *)record + row->offset;

	if (row->size == sizeof(uint16_t))
		return perch__u16(at, false);
	if (row->size == sizeof(uint32_t) && row->kind == PERCH_FIELD_SIGNED)
		return (uint64_t)(int32_t)perch__u32(at, false);
	if (row->size == sizeof(uint32_t))
		return perch__u32(at, false);
	return perch__u64(at, false);
}

static bool is_there(const struct perch_record *record, const struct row *row)
{
	if (row->sample_type && !(record->parse_info->sample_type & row->sample_type))
		return false;
	return (record->misc & row->misc) == row->misc && !(record->misc & row->no_misc);
}

static void emit_row(struct perch__walk *walk, const struct row *row)
{
	struct perch_text text;

	if (row->emit) {
		row->emit(walk, row->name);
	} else if (row->text) {
		memcpy(&text, (const char *)walk->record + row->offset, sizeof(text));
		perch__emit_text(walk, row->name, &text);
	} else if (row->format) {
		perch__emit_flags(walk, row->name, value_of(walk->record, row), row->format);
	} else {
		perch__emit_field(walk, row->name, row->kind, value_of(walk->record, row));
	}
}

static void emit_rows(struct perch__walk *walk, const struct row *row)
{
	for (; !row->record && !walk->rc; row++)
		if (is_there(walk->record, row))
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

/* The bytes after the trailer of an oversized record. */
static void emit_oversized_bytes(struct perch__walk *walk)
{
	const struct perch_record *record = walk->record;
	size_t extent =
		perch__extent(record->parse_info, record->type, record->bytes, record->size);

	if (extent < record->size)
		perch__emit_bytes(walk, "trailing_bytes", (const char *)record->bytes + extent,
				  record->size - extent);
}

/* The body of a record of unknown type, or the bytes after the last known field. */
static void emit_unknown_bytes(struct perch__walk *walk, size_t trailer, bool has_rows)
{
	const struct perch_record *record = walk->record;
	const char *bytes = record->bytes;
	size_t extent = perch__extent(record->parse_info, record->type, bytes, record->size);
	size_t end = record->size - trailer;

	if (extent < record->size)
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
	bool has_rows = record->type > 0 && record->type < PERCH_RECORD_MAX;
	size_t trailer = trailer_bytes(record);

	if (record->size < PERCH__HEADER_BYTES)
		return 0;
	if (has_rows)
		emit_rows(&walk, rows + first_row[record->type]);
	emit_unknown_bytes(&walk, trailer, has_rows);
	if (trailer) {
		perch__emit_field(&walk, "sample_id", PERCH_FIELD_GROUP, 0);
		emit_rows(&walk, rows + first_row[PERCH_RECORD_TRAILER]);
		perch__emit_field(&walk, NULL, PERCH_FIELD_END, 0);
	}
	emit_oversized_bytes(&walk);
	return walk.rc;
}
