/* SPDX-License-Identifier: MIT */
/*
 * The input is an expression over the fields of tracepoints, a NUL, and the bytes of sample.raw. An
 * expression that is accepted is computed for the sample, of two events. "!(expression)" must not
 * be true together with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/filter/filter_expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const texts[] = {
	"\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 b;\toffset:4;\tsize:1;\tsigned:0;\n"
	"\tfield:char c[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] d;\toffset:16;\tsize:4;\tsigned:0;\n",
	"\tfield:s64 a;\toffset:0;\tsize:8;\tsigned:1;\n"
	"\tfield:u32 c;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:u16 e[2];\toffset:12;\tsize:4;\tsigned:0;\n",
};

static struct perch_tracepoint_format *format[3];

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void make_formats(void)
{
	for (size_t i = 0; i < 2 && !format[i]; i++)
		check(!perch_tracepoint_format_parse(
			&format[i],
			&(struct perch_tracepoint_text){
				.text = texts[i], .size = strlen(texts[i]), .long_size = 8 },
			NULL));
}

static struct filter_expression *parse(const char *text)
{
	struct filter_expression *expression;
	struct perch_error err;
	int rc = perch__filter_expression_new(
		&expression, text, (const struct perch_tracepoint_format *const *)format, 3, &err);

	check(rc ? !expression && err.message[0] : expression != NULL);
	return expression;
}

/* A format of the other byte order has been chosen by the first byte of sample.raw. */
static void compute(const struct filter_expression *expression,
		    const struct filter_expression *inverse, const void *raw, size_t size)
{
	const struct perch_parse_info parse_info = { .swapped = size && *(const char *)raw & 1 };
	struct perch_record record = { .type = PERCH_RECORD_SAMPLE, .parse_info = &parse_info };

	record.sample.raw.data = raw;
	record.sample.raw.size = (uint32_t)size;
	record.sample_id.has = PERCH_SAMPLE_CPU;
	for (size_t event = 0; event < 4; event++) {
		bool matches = perch__filter_expression_match(expression, event, &record, "comm");

		check(!matches || event < 2);
		if (inverse)
			check(!matches ||
			      !perch__filter_expression_match(inverse, event, &record, "comm"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length = strnlen((const char *)data, size), raw_size = size - length;
	char *text = malloc(length + 5), *raw = malloc(raw_size + 1);
	struct filter_expression *expression, *inverse;

	make_formats();
	check(text && raw);
	memcpy(text, data, length);
	text[length] = '\0';
	if (raw_size) /* without the NUL */
		memcpy(raw, data + length + 1, --raw_size);
	expression = parse(text);
	if (expression) {
		snprintf(text, length + 5, "!(%.*s)", (int)length, (const char *)data);
		inverse = parse(text);
		compute(expression, inverse, raw, raw_size);
		perch__filter_expression_free(inverse);
	}
	perch__filter_expression_free(expression);
	free(text);
	free(raw);
	return 0;
}
