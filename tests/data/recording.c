/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <perch/fields.h>

#include "recording.h"

#define MAX_BYTES 65536

static void put_bytes(FILE *file, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		fprintf(file, "%02x", at[i]);
}

static int put_field(void *context, const struct perch_field *field)
{
	FILE *file = context;

	if (field->kind == PERCH_FIELD_END)
		return fputs(" }", file) < 0;
	fprintf(file, " %s=", field->name ? field->name : "");
	switch (field->kind) {
	case PERCH_FIELD_TEXT:
	case PERCH_FIELD_BYTES:
		put_bytes(file, field->text, field->length);
		break;
	case PERCH_FIELD_GROUP:
		fputs("{", file);
		break;
	case PERCH_FIELD_LIST:
		fprintf(file, "%" PRIu64 "{", field->value);
		break;
	case PERCH_FIELD_FLAGS:
		fprintf(file, "%#" PRIx64 ":", field->value);
		put_bytes(file, field->text, strlen(field->text));
		break;
	default:
		fprintf(file, "%#" PRIx64, field->value);
	}
	return 0;
}

/* The header and the fields of a record as a line of text, which the caller frees. */
static char *text_of(const struct perch_record *record, enum perch_arch arch)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "%s misc=%#x size=%u", perch_record_name(record->type), record->misc,
		record->size);
	perch_record_fields(record, arch, put_field, file);
	fclose(file);
	return text;
}

void recording_put_attr(FILE *file, const struct perch_attr *attr)
{
	struct utsname name;

	uname(&name);
	fprintf(file, "arch %s\nattr ", name.machine);
	put_bytes(file, attr, attr->size);
	fputs("\n", file);
}

void recording_put_record(FILE *file, const struct perch_record *record)
{
	char *text = text_of(record, perch_arch_here());

	fputs("record ", file);
	put_bytes(file, record->bytes, record->size);
	fprintf(file, "\nfields %s\n", text ? text : "no memory");
	free(text);
}

/* Handles one line. */
struct reading {
	enum perch_byte_order order;
	struct recording_count *count;
	enum perch_arch arch;
	struct perch_parse_info parse_info;
	bool has_attr;
	struct perch_record record;
	uint64_t bytes[MAX_BYTES / 8];
	size_t size;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_bytes(struct reading *reading, const char *text)
{
	unsigned char *to = (unsigned char *)reading->bytes;

	reading->size = 0;
	while (digit(text[0]) >= 0 && digit(text[1]) >= 0 && reading->size < MAX_BYTES) {
		to[reading->size++] = digit(text[0]) * 16 + digit(text[1]);
		text += 2;
	}
	return !*text && reading->size;
}

#define WRONG(...) perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, __VA_ARGS__)

static int take_attr(struct reading *reading, struct perch_error *err)
{
	struct perch_attr attr;

	if (perch_attr_from_bytes(&attr, reading->bytes, reading->size, reading->order))
		return WRONG("an attr of %zu bytes cannot be read", reading->size);
	if (attr.size != reading->size)
		return WRONG("an attr of %zu bytes says it has %" PRIu32, reading->size, attr.size);
	perch_parse_info_init(&reading->parse_info, &attr, reading->order);
	reading->has_attr = true;
	return 0;
}

static int take_record(struct reading *reading, struct perch_error *err)
{
	int rc;

	if (!reading->has_attr)
		return WRONG("a record before its attr");
	rc = perch_record_decode(&reading->record, &reading->parse_info, reading->bytes,
				 reading->size, err);
	if (rc < 0)
		return rc;
	if (reading->record.trailing_bytes)
		return WRONG("%s: %u bytes are left over", perch_record_name(reading->record.type),
			     reading->record.trailing_bytes);
	reading->count->records++;
	reading->count->samples += reading->record.type == PERCH_RECORD_SAMPLE;
	if (reading->record.type < 32)
		reading->count->types |= UINT32_C(1) << reading->record.type;
	return 0;
}

static int compare(struct reading *reading, const char *wanted, struct perch_error *err)
{
	char *text = text_of(&reading->record, reading->arch);
	size_t same = 0;
	int rc = 0;

	while (text && text[same] && text[same] == wanted[same])
		same++;
	if (!text || text[same] != wanted[same])
		rc = WRONG("%s: here '%.60s', there '%.60s'",
			   perch_record_name(reading->record.type), text ? text + same : "",
			   wanted + same);
	free(text);
	return rc;
}

static int take_line(struct reading *reading, const char *line, struct perch_error *err)
{
	if (!strncmp(line, "arch ", 5)) {
		reading->arch = perch_arch_by_name(line + 5);
		return reading->arch ? 0 : WRONG("nobody knows a machine '%s'", line + 5);
	}
	if (!strncmp(line, "attr ", 5) && get_bytes(reading, line + 5))
		return take_attr(reading, err);
	if (!strncmp(line, "record ", 7) && get_bytes(reading, line + 7))
		return take_record(reading, err);
	if (!strncmp(line, "fields ", 7))
		return compare(reading, line + 7, err);
	return WRONG("a line that cannot be read: '%.60s'", line);
}

int recording_check(FILE *file, const char *before, enum perch_byte_order order,
		    struct recording_count *count, struct perch_error *err)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	size_t skip = strlen(before), capacity = 0;
	char *line = NULL;
	int rc = 0;

	*count = (struct recording_count){ 0 };
	if (!reading)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a recording");
	reading->order = order;
	reading->count = count;
	while (!rc && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncmp(line, before, skip) && line[skip])
			rc = take_line(reading, line + skip, err);
	}
	free(line);
	free(reading);
	return rc;
}
