/* SPDX-License-Identifier: MIT */
/*
 * record_layouts <LAYOUTS: builds a record after each layout of the input, decodes it, and checks
 * that the decoded fields have the names, the order and the values of the layout. A line is the
 * name of a record, its type, misc, sample_type, and its fields as NAME:BYTES. 0 bytes are a text
 * to the end; b behind the number are bytes, z is a number that is 0, and s one below 256. Names of
 * reserved fields begin with '_'.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/abi.h>
#include <perch/fields.h>
#include <perch/record.h>

#define MAX_FIELDS 64
#define TEXT	   "a text"

struct field {
	char name[32];
	uint64_t value;
	unsigned size;
	char kind; /* 'b', 'z', 's' or 0 */
};

struct layout {
	char record[40];
	struct field field[MAX_FIELDS];
	size_t nr;
	size_t next; /* the field that the decoder should visit next */
	bool wrong;
};

static struct field *next_field(struct layout *layout)
{
	while (layout->next < layout->nr && layout->field[layout->next].name[0] == '_')
		layout->next++;
	return layout->next < layout->nr ? &layout->field[layout->next] : NULL;
}

static bool has_value(const struct field *expected, const struct perch_field *field)
{
	if (!expected->size)
		return field->length == strlen(TEXT) && !memcmp(field->text, TEXT, strlen(TEXT));
	if (expected->kind == 'b')
		return field->length == expected->size &&
		       !memcmp(field->text, &expected->value, expected->size);
	return field->value == expected->value;
}

static int check_field(void *context, const struct perch_field *field)
{
	struct layout *layout = context;
	const struct field *expected = next_field(layout);

	if (!expected || field->kind == PERCH_FIELD_END || field->kind == PERCH_FIELD_GROUP)
		return 0;
	/* the number of entries has the name of the list */
	if (field->kind == PERCH_FIELD_LIST && expected->kind != 'z')
		return 0;
	layout->next++;
	if (field->kind != PERCH_FIELD_LIST && strcmp(field->name, expected->name) != 0) {
		printf("not ok - %s: the field %s is decoded as %s\n", layout->record,
		       expected->name, field->name);
		layout->wrong = true;
		return 1;
	}
	if (!has_value(expected, field)) {
		printf("not ok - %s: %s is %#" PRIx64 ", decoded as %#" PRIx64 "\n", layout->record,
		       expected->name, expected->value, field->value);
		layout->wrong = true;
	}
	return 0;
}

/* Writes the record and returns its size. Each field has another value. */
static size_t build(struct layout *layout, uint64_t *words, unsigned type, unsigned misc)
{
	unsigned char *bytes = (unsigned char *)words;
	struct perch_record_header header = { .type = type, .misc = misc };
	size_t at = sizeof(header);

	for (size_t i = 0; i < layout->nr; i++) {
		struct field *field = &layout->field[i];

		if (!field->size) {
			memcpy(bytes + at, TEXT, sizeof(TEXT));
			at += (sizeof(TEXT) + 7) & ~7ul;
			continue;
		}
		for (unsigned byte = 0; byte < field->size; byte++) {
			if (field->kind != 'z' && (field->kind != 's' || !byte))
				bytes[at + byte] = (unsigned char)(1 + i * 3 + byte);
			field->value |= (uint64_t)bytes[at + byte] << 8 * byte;
		}
		at += field->size;
	}
	at = (at + 7) & ~7ul;
	header.size = (uint16_t)at;
	memcpy(bytes, &header, sizeof(header));
	return at;
}

/* Reads the fields of a line: the rest of it after the first four words. */
static void read_fields(struct layout *layout, char *rest)
{
	for (char *word = strtok(rest, " \n"); word && layout->nr < MAX_FIELDS;
	     word = strtok(NULL, " \n")) {
		struct field *field = &layout->field[layout->nr++];

		if (sscanf(word, "%31[^:]:%u%c", field->name, &field->size, &field->kind) < 2 ||
		    field->size > 8) {
			printf("not ok - %s: a field '%s'\n", layout->record, word);
			exit(1);
		}
	}
}

static bool check(char *line)
{
	static uint64_t words[128];
	struct layout layout = { 0 };
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_parse_info info;
	struct perch_record record;
	struct perch_error err;
	unsigned type, misc;
	uint64_t sample_type;
	size_t size;
	int start;

	if (sscanf(line, "%39s %u %u %" SCNu64 " %n", layout.record, &type, &misc, &sample_type,
		   &start) != 4)
		return false;
	read_fields(&layout, line + start);
	memset(words, 0, sizeof(words));
	size = build(&layout, words, type, misc);
	attr.sample_type = sample_type;
	perch_parse_info_init(&info, &attr, PERCH_BYTES_NATIVE);
	if (perch_record_decode(&record, &info, words, size, &err)) {
		printf("not ok - %s: %s\n", layout.record, err.message);
		return false;
	}
	perch_record_fields(&record, PERCH_ARCH_X86, check_field, &layout);
	if (!layout.wrong && next_field(&layout)) {
		printf("not ok - %s: %s is not decoded\n", layout.record,
		       next_field(&layout)->name);
		layout.wrong = true;
	}
	if (!layout.wrong)
		printf("ok - layout of %s: %zu fields\n", layout.record, layout.nr);
	return !layout.wrong;
}

int main(void)
{
	char line[2000];
	bool correct = true;

	while (fgets(line, sizeof(line), stdin))
		correct &= check(line);
	return !correct;
}
