/* SPDX-License-Identifier: MIT */
/* Writes the scdoc source of perch-records(7) from the library's table of records and fields. */
#include <stdio.h>
#include <string.h>

#include <perch/fields.h>

#include "records_prose.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

static const char *const kinds[] = {
	[PERCH_FIELD_NUMBER] = "number",   [PERCH_FIELD_SIGNED] = "signed number",
	[PERCH_FIELD_HEX] = "hexadecimal", [PERCH_FIELD_ADDRESS] = "address",
	[PERCH_FIELD_TIME] = "time",	   [PERCH_FIELD_FLAGS] = "flags",
	[PERCH_FIELD_TEXT] = "text",	   [PERCH_FIELD_BYTES] = "bytes",
	[PERCH_FIELD_LIST] = "list",	   [PERCH_FIELD_GROUP] = "group",
};

/* Not a record type: the trailer of the other records. */
#define PERCH_RECORD_TRAILER 0

/* A row of the table: a record, or a field of the record before it. */
struct row {
	const char *record;
	unsigned int type;
	const char *name;
	enum perch_field_kind kind;
	const char *condition; /* a phrase, "" if the field always exists */
	const char *unit;
	const char *since;
	const char *when; /* of records; NULL for fields */
	const char *what;
};

#define ALWAYS	     ""
#define SAMPLE(bit)  "with PERF_SAMPLE_" #bit
#define MISC(bit)    "with " #bit " in misc"
#define NO_MISC(bit) "without " #bit " in misc"

static const struct row rows[] = {
/* clang-format off */
#define RECORD(name, function, size, since, when, what) \
	{ #name, PERCH_RECORD_##name, NULL, 0, "", "", since, when, what },
#define BIT(...)
#define FIELD(record, name, kind, source, condition, unit, since, what) \
	{ NULL, 0, #name, PERCH_FIELD_##kind, condition, unit, since, NULL, what },
#define PART(record, name, kind, condition, unit, since, what) \
	{ NULL, 0, #name, PERCH_FIELD_##kind, condition, unit, since, NULL, what },
/* clang-format on */
#include "record/fields.def"
};

/* Writes text with the special characters of scdoc escaped. */
static void put(const char *text)
{
	for (; *text; text++) {
		if (strchr("\\*_~`", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_comma(const char *before, const char *text)
{
	if (!text[0])
		return;
	printf(", %s", before);
	put(text);
}

static void put_record(const struct row *row)
{
	printf("## %s", row->record);
	if (row->type)
		printf(" (%u)", row->type);
	puts("\n");
	put(row->what);
	printf(" Written ");
	put(row->when);
	if (row->since[0])
		printf("; since Linux %s", row->since);
	puts(".\n");
}

/* A weight has two bits, one for each of its forms. */
static const char *condition_of(const struct row *row)
{
	return strcmp(row->condition, SAMPLE(WEIGHT_TYPE))
		       ? row->condition
		       : "with PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT";
}

static void put_field(const struct row *row)
{
	putchar('*');
	put(row->name);
	printf("* (%s", kinds[row->kind]);
	if (strcmp(row->unit, kinds[row->kind]))
		put_comma("in ", row->unit);
	put_comma("", condition_of(row));
	put_comma("since Linux ", row->since);
	printf(")\n\t");
	put(row->what);
	puts("\n");
}

int main(void)
{
	fputs(before_records, stdout);
	for (size_t i = 0; i < NR(rows); i++)
		if (rows[i].record)
			put_record(&rows[i]);
		else
			put_field(&rows[i]);
	fputs(after_records, stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
