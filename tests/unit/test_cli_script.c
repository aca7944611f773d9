/* SPDX-License-Identifier: MIT */
/* perch script: the parser of -F, and which fields of it an event has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/script/fields.h"

#define FRAME (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)
#define START (SCRIPT_COMM | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_EVENT)

static struct script_fields fields;

static uint64_t of(enum script_type type)
{
	return fields.type[type].fields;
}

/* Parses the arguments of options -F, up to NULL, after the defaults. */
static int parse(const char *first, ...)
{
	const char *argument = first;
	va_list list;
	int rc = 0;

	script_fields_init(&fields);
	va_start(list, first);
	for (; argument && !rc; argument = va_arg(list, const char *))
		rc = script_fields_parse(&fields, argument);
	va_end(list);
	return rc;
}

/* Parses an argument that is refused, and checks the message. */
static void refuses(const char *argument, const char *message)
{
	char text[1000] = "";
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	ssize_t length;

	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	script_fields_init(&fields);
	assert_int_not_equal(script_fields_parse(&fields, argument), 0);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	length = pread(fileno(file), text, sizeof(text) - 1, 0);
	assert_true(length > 0);
	fclose(file);
	if (!strstr(text, message))
		fail_msg("'%s' has not '%s'", text, message);
}

static void has_the_defaults_of_perf(void **state)
{
	(void)state;
	script_fields_init(&fields);
	assert_false(fields.any_set);
	assert_int_equal(of(SCRIPT_HARDWARE), START | FRAME | SCRIPT_PERIOD);
	assert_int_equal(of(SCRIPT_SOFTWARE), START | FRAME | SCRIPT_PERIOD | SCRIPT_BPF_OUTPUT);
	assert_int_equal(of(SCRIPT_TRACEPOINT), START | SCRIPT_TRACE);
	assert_true(of(SCRIPT_RAW) & SCRIPT_DATA_SRC && of(SCRIPT_RAW) & SCRIPT_INS_LAT);
}

static void replaces_the_fields_of_all_types(void **state)
{
	(void)state;
	assert_int_equal(parse("comm,ip,sym", NULL), 0);
	assert_true(fields.any_set);
	for (int type = 0; type < SCRIPT_NR_TYPES; type++) {
		assert_int_equal(of(type), SCRIPT_COMM | SCRIPT_IP | SCRIPT_SYM);
		assert_int_equal(fields.type[type].asked, of(type));
		assert_true(fields.type[type].set);
	}
	/* perf ignores empty words */
	assert_int_equal(parse(",comm,,ip,", NULL), 0);
	assert_int_equal(of(SCRIPT_RAW), SCRIPT_COMM | SCRIPT_IP);
}

static void replaces_the_fields_of_one_type(void **state)
{
	(void)state;
	assert_int_equal(parse("sw:comm,ip", NULL), 0);
	assert_int_equal(of(SCRIPT_SOFTWARE), SCRIPT_COMM | SCRIPT_IP);
	assert_int_equal(of(SCRIPT_HARDWARE), START | FRAME | SCRIPT_PERIOD);
	assert_false(fields.type[SCRIPT_HARDWARE].set);
	assert_int_equal(parse("trace:", NULL), 0);
	assert_int_equal(of(SCRIPT_TRACEPOINT), 0);
	assert_true(fields.type[SCRIPT_TRACEPOINT].set);
	assert_int_equal(parse("comm,tid", "hw:time", "raw:addr", "break:ip", "synth:cpu", NULL),
			 0);
	assert_int_equal(of(SCRIPT_SOFTWARE), SCRIPT_COMM | SCRIPT_TID);
	assert_int_equal(of(SCRIPT_HARDWARE), SCRIPT_TIME);
	assert_int_equal(of(SCRIPT_RAW), SCRIPT_ADDR);
	assert_int_equal(of(SCRIPT_BREAKPOINT), SCRIPT_IP);
	assert_int_equal(of(SCRIPT_SYNTH), SCRIPT_CPU);
}

static void adds_and_removes_fields(void **state)
{
	(void)state;
	assert_int_equal(parse("+srcline,-dso,+misc", NULL), 0);
	assert_int_equal(of(SCRIPT_SOFTWARE), ((START | FRAME | SCRIPT_PERIOD | SCRIPT_BPF_OUTPUT |
						SCRIPT_SRCLINE | SCRIPT_MISC) &
					       ~SCRIPT_DSO));
	assert_int_equal(fields.type[SCRIPT_SOFTWARE].asked, SCRIPT_SRCLINE | SCRIPT_MISC);
	assert_int_equal(parse("sw:-cpu,-period", NULL), 0);
	assert_false(of(SCRIPT_SOFTWARE) & (SCRIPT_CPU | SCRIPT_PERIOD));
	assert_true(of(SCRIPT_HARDWARE) & SCRIPT_PERIOD);
	/* a field that was asked for and removed is not missing */
	assert_int_equal(parse("+addr", "-addr", NULL), 0);
	assert_int_equal(fields.type[SCRIPT_RAW].asked, 0);
	assert_int_equal(parse("comm", "+ip", NULL), 0);
	assert_int_equal(of(SCRIPT_OTHER), SCRIPT_COMM | SCRIPT_IP);
}

static void refuses_what_is_no_field(void **state)
{
	(void)state;
	refuses("", "name at least one field");
	refuses("comm,srclin", "no field 'srclin', perhaps srcline. 'perch");
	refuses("brs", "no field 'brs', perhaps brstack, brstacksym or brstackoff. 'perch");
	refuses("zzzz", "no field 'zzzz'. 'perch");
	refuses("zzzz", "\nThe fields are:\n  comm tid");
	refuses("x", "no field 'x'");
	refuses("+", "no field ''");
	refuses("brcntr", "'brcntr' of perf is not supported");
	refuses("soft:comm", "no event type 'soft'; use hw, sw, trace, raw, break or synth");
	refuses(":comm", "no event type ''");
	refuses("comm,+ip", "either all fields have a sign");
	refuses("+ip,comm", "either all fields have a sign");
	refuses("sw:trace", "'trace' is not a field of software events");
	refuses("hw:+bpf-output", "'bpf-output' is not a field of hardware events");
	refuses("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"no field");
}

static void leaves_out_what_samples_lack(void **state)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE,
		.freq = 1,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME,
	};
	const struct script_field *missing;
	uint64_t found;

	(void)state;
	script_fields_init(&fields);
	found = script_fields_of(&fields.type[SCRIPT_SOFTWARE], SCRIPT_SOFTWARE, &attr, &missing);
	assert_null(missing);
	assert_false(found & (SCRIPT_CPU | SCRIPT_PERIOD));
	assert_true((found & FRAME) == FRAME);
	/* a fixed period is that of all samples */
	attr.freq = 0;
	found = script_fields_of(&fields.type[SCRIPT_SOFTWARE], SCRIPT_SOFTWARE, &attr, &missing);
	assert_true(found & SCRIPT_PERIOD);
	assert_int_equal(parse("+phys_addr", NULL), 0);
	found = script_fields_of(&fields.type[SCRIPT_SOFTWARE], SCRIPT_SOFTWARE, &attr, &missing);
	assert_non_null(missing);
	assert_string_equal(missing->name, "phys_addr");
	assert_string_equal(missing->remedy, "--phys-data");
	assert_false(found & SCRIPT_PHYS_ADDR);
	/* for all types, but no field of this one */
	assert_int_equal(parse("comm,trace", NULL), 0);
	found = script_fields_of(&fields.type[SCRIPT_SOFTWARE], SCRIPT_SOFTWARE, &attr, &missing);
	assert_null(missing);
	assert_int_equal(found, SCRIPT_COMM);
}

static void finds_the_type_of_an_event(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < PERCH_TYPE_MAX; type++)
		assert_int_equal(script_type_of(&(struct perch_attr){ .type = type }), type);
	assert_int_equal(script_type_of(&(struct perch_attr){ .type = 8 }), SCRIPT_OTHER);
	assert_int_equal(script_type_of(&(struct perch_attr){ .type = UINT32_C(1) << 31 }),
			 SCRIPT_SYNTH);
	for (int type = 0; type < SCRIPT_NR_TYPES; type++)
		assert_non_null(script_type_name(type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_defaults_of_perf),
		cmocka_unit_test(replaces_the_fields_of_all_types),
		cmocka_unit_test(replaces_the_fields_of_one_type),
		cmocka_unit_test(adds_and_removes_fields),
		cmocka_unit_test(refuses_what_is_no_field),
		cmocka_unit_test(leaves_out_what_samples_lack),
		cmocka_unit_test(finds_the_type_of_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
