/* SPDX-License-Identifier: MIT */
/* Profiles of any stacks: what a request of OTLP has, sums, resources, times, refusals. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/encoder.h>

#include "failing_allocations.h"
#include "otlp_check.h"

#define HZ 19

static const struct perch_encoder_event events[] = {
	{ .name = "cycles", .sample_ns = 1000000000 / HZ },
	{ .name = "page-faults", .period = 1 },
};

static struct perch_encoder *encoder;
static size_t left; /* allocations until one fails; 0: none does */

static bool fails(void)
{
	return left && !--left;
}

static void open_encoder(struct perch_encoder_options options)
{
	options.events = events;
	options.nr_events = 2;
	assert_int_equal(perch_encoder_new(&encoder, &options, NULL), 0);
}

/* Adds a call chain of functions f0, f1, ...; by bits of a number. */
static uint32_t add_stack(unsigned bits)
{
	const struct perch_encoder_mapping file = { .path = "/bin/program",
						    .build_id = (const uint8_t *)"\1\2\xff",
						    .build_id_size = 3,
						    .start = 0x1000,
						    .limit = 0x9000 };
	uint32_t mapping, location, stack = 0;

	assert_int_equal(perch_encoder_add_mapping(encoder, &file, &mapping, NULL), 0);
	assert_int_equal(mapping, 1);
	for (unsigned i = 0; i < 8; i++) {
		char name[16];
		struct perch_encoder_line line = { .name = name, .file = "p.c", .line = i };

		if (!(bits >> i & 1))
			continue;
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(perch_encoder_add_location(
					 encoder,
					 &(struct perch_encoder_location){ .mapping = mapping,
									   .address = 0x1000 + bits,
									   .lines = &line,
									   .nr_lines = 1,
									   .type = "native" },
					 &location, NULL),
				 0);
		assert_int_equal(perch_encoder_add_stack(encoder, stack, location, &stack, NULL),
				 0);
	}
	return stack;
}

static uint32_t add_labels(const char *container, int64_t thread)
{
	const struct perch_encoder_label labels[] = {
		{ .key = "container.id", .text = container, .resource = true },
		{ .key = "thread.id", .number = thread },
	};
	uint32_t number;

	assert_int_equal(perch_encoder_add_labels(encoder, labels, 2, &number, NULL), 0);
	return number;
}

static void add(uint32_t event, uint32_t stack, uint32_t labels, uint64_t samples, uint64_t value)
{
	const struct perch_encoder_sample sample = { .event = event,
						     .stack = stack,
						     .labels = labels,
						     .samples = samples,
						     .value = value,
						     .time_ns = value };

	assert_int_equal(perch_encoder_add(encoder, &sample, NULL), 0);
}

/* Writes the profile, and frees the encoder. The caller frees the bytes. */
static char *write_profile(enum perch_encoder_format format, size_t *size)
{
	char *bytes;
	FILE *out = open_memstream(&bytes, size);
	struct perch_error err;
	int rc = perch_encoder_write(encoder, format, 0, out, &err);

	fclose(out);
	perch_encoder_free(encoder);
	if (rc == -ENOTSUP) {
		free(bytes);
		skip();
	}
	assert_int_equal(rc, 0);
	return bytes;
}

static struct otlp_facts read_otlp(void)
{
	struct otlp_facts facts = { 0 };
	size_t size;
	char *bytes = write_profile(PERCH_ENCODER_OTLP, &size);

	check_otlp(&facts, bytes, size);
	free(bytes);
	assert_string_equal(facts.error ? facts.error : "", "");
	return facts;
}

static void test_sums(void **state)
{
	struct otlp_facts facts;

	(void)state;
	open_encoder((struct perch_encoder_options){ .time_ns = 1, .duration_ns = 2 });
	for (unsigned round = 0; round < 3; round++)
		for (unsigned bits = 0; bits < 256; bits++)
			add(bits & 1, add_stack(bits), add_labels(bits & 2 ? "a" : "b", bits & 12),
			    2, 7);
	facts = read_otlp();
	/* cpu: the number of samples; page-faults: the sum of values */
	assert_int_equal(facts.sum, 3 * 128 * (2 + 7));
	assert_int_equal(facts.samples, 256);
	assert_int_equal(facts.resources, 2);
	assert_int_equal(facts.profiles, 4);
	assert_int_equal(facts.nr[FUNCTION], 1 + 8);
	assert_int_equal(facts.nr[LOCATION], 1 + 8);
	assert_int_equal(facts.nr[STACK], 1 + 255);
	assert_int_equal(facts.nr[MAPPING], 1 + 1);
	/* the build id, native, and four threads; the container is of the resource */
	assert_int_equal(facts.nr[ATTRIBUTE], 1 + 6);
}

static void test_addresses(void **state)
{
	(void)state;
	open_encoder((struct perch_encoder_options){ .addresses = 1 });
	for (unsigned bits = 1; bits < 256; bits++)
		add(0, add_stack(bits), 0, 1, 1);
	assert_int_equal(read_otlp().nr[LOCATION], 1 + 256 / 2 * 8);
}

static void test_times(void **state)
{
	struct otlp_facts facts;

	(void)state;
	open_encoder((struct perch_encoder_options){ .timestamps = 1 });
	for (unsigned i = 0; i < 100; i++)
		add(0, add_stack(i & 3), 0, 1, 1000 - i);
	facts = read_otlp();
	assert_int_equal(facts.samples, 4);
	assert_int_equal(facts.times, 100);
	assert_int_equal(facts.sum, 100);
}

static void test_empty(void **state)
{
	struct otlp_facts facts;

	(void)state;
	open_encoder((struct perch_encoder_options){ 0 });
	facts = read_otlp();
	assert_int_equal(facts.resources, 0);
	for (int i = 1; i < NR_TABLES; i++)
		assert_int_equal(facts.nr[i], 1);
	assert_int_equal(perch_encoder_new(&encoder, &(struct perch_encoder_options){ 0 }, NULL),
			 0);
	assert_int_equal(read_otlp().profiles, 0);
}

/* Sums stay at the largest value of the formats. */
static void test_large(void **state)
{
	(void)state;
	open_encoder((struct perch_encoder_options){ 0 });
	add(1, add_stack(1), 0, UINT64_MAX, UINT64_MAX - 1);
	add(1, add_stack(1), 0, UINT64_MAX, UINT64_MAX - 1);
	assert_int_equal(read_otlp().sum, INT64_MAX);
}

/* Names of any bytes become valid texts, and a chain may be longer than any of the kernel. */
static void test_hostile(void **state)
{
	char name[3 * PERCH_ENCODER_MAX_TEXT];
	struct perch_encoder_line line[PERCH_ENCODER_MAX_LINES + 10] = { { .name = name } };
	const struct perch_encoder_location deep = { .lines = line,
						     .nr_lines = PERCH_ENCODER_MAX_LINES + 10,
						     .address = UINT64_MAX };
	uint32_t location, stack = 0;

	(void)state;
	memset(name, 0xff, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	open_encoder((struct perch_encoder_options){ 0 });
	assert_int_equal(perch_encoder_add_location(encoder, &deep, &location, NULL), 0);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(perch_encoder_add_stack(encoder, stack, location, &stack, NULL),
				 0);
	add(0, stack, 0, 1, 1);
	assert_int_equal(read_otlp().sum, 1);
}

/* The same contents have the same id; others and a given one differ. */
static void test_ids(void **state)
{
	static const uint8_t given[16] = { 1, 2, 3 };
	size_t size[4];
	char *bytes[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		open_encoder((struct perch_encoder_options){ .time_ns = i == 2,
							     .profile_id = i == 3 ? given : NULL });
		add(0, add_stack(3), 0, 1, 1);
		bytes[i] = write_profile(PERCH_ENCODER_OTLP, &size[i]);
	}
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(bytes[0], bytes[1], size[0]);
	assert_true(size[0] != size[2] || memcmp(bytes[0], bytes[2], size[0]));
	assert_non_null(memmem(bytes[3], size[3], given, sizeof(given)));
	for (unsigned i = 0; i < 4; i++)
		free(bytes[i]);
}

/* Makes and writes a profile. Returns 0 or a negative errno. */
static int make_profile(FILE *out, enum perch_encoder_format format)
{
	const struct perch_encoder_options options = { .events = events,
						       .nr_events = 2,
						       .timestamps = 1 };
	struct perch_encoder_line line = { .name = "f" };
	const struct perch_encoder_location location = { .lines = &line, .nr_lines = 1 };
	const struct perch_encoder_label label = { .key = "k", .text = "v", .resource = true };
	struct perch_encoder_sample sample = { .samples = 1 };
	struct perch_error err;
	uint32_t number = 0;
	int rc = perch_encoder_new(&encoder, &options, &err);

	for (unsigned i = 0; i < 200 && !rc; i++) {
		line.line = i;
		rc = perch_encoder_add_location(encoder, &location, &number, &err);
		if (!rc)
			rc = perch_encoder_add_stack(encoder, sample.stack, number, &sample.stack,
						     &err);
		if (!rc)
			rc = perch_encoder_add_labels(encoder, &label, 1, &sample.labels, &err);
		if (!rc)
			rc = perch_encoder_add(encoder, &sample, &err);
	}
	if (!rc)
		rc = perch_encoder_write(encoder, format, PERCH_ENCODER_GZIP, out, &err);
	perch_encoder_free(encoder);
	return rc;
}

/* Each allocation fails once. */
static void test_memory(void **state)
{
	(void)state;
	for (int format = 0; format < 2; format++) {
		int rc = -ENOMEM;

		for (size_t failing = 1; rc == -ENOMEM; failing++) {
			FILE *out = fopen("/dev/null", "w");

			left = failing;
			rc = make_profile(out, (enum perch_encoder_format)format);
			assert_true(rc == 0 || rc == -ENOMEM || rc == -ENOTSUP);
			assert_true(rc == -ENOMEM || left);
			assert_true(rc != 0 || failing > 50);
			left = 0;
			fclose(out);
		}
	}
}

static void test_refusals(void **state)
{
	struct perch_encoder_options none = { .nr_events = 1,
					      .events = &(struct perch_encoder_event){ 0 } };
	const struct perch_encoder_label label = { .text = "without a key" };
	struct perch_error err;
	uint32_t number;

	(void)state;
	assert_int_equal(perch_encoder_new(&encoder, &none, &err), -EINVAL);
	assert_null(encoder);
	open_encoder((struct perch_encoder_options){ 0 });
	assert_int_equal(perch_encoder_add_labels(encoder, &label, 1, &number, &err), -EINVAL);
	assert_int_equal(perch_encoder_add_stack(encoder, 0, 0, &number, &err), -EINVAL);
	assert_int_equal(perch_encoder_add_stack(encoder, 1, 1, &number, &err), -EINVAL);
	assert_int_equal(perch_encoder_add_location(
				 encoder, &(struct perch_encoder_location){ .mapping = 1 }, &number,
				 &err),
			 -EINVAL);
	for (unsigned i = 0; i < 4; i++) {
		const struct perch_encoder_sample sample = { .event = i == 0 ? 2 : 0,
							     .stack = i == 1,
							     .labels = i == 2,
							     .reserved[0] = i == 3 };

		assert_int_equal(perch_encoder_add(encoder, &sample, &err), -EINVAL);
	}
	assert_int_not_equal(
		perch_encoder_write(encoder, (enum perch_encoder_format)7, 0, stdout, &err), 0);
	perch_encoder_free(encoder);
	perch_encoder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),   cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_times),  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_large),  cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_ids),    cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
