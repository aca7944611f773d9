/* SPDX-License-Identifier: MIT */
/*
 * The input says what is added to a profile: names of any bytes, call chains, labels and samples
 * with any numbers. Numbers that were not given are refused, and what is written keeps the rules of
 * OTLP.
 */
#include <stdlib.h>
#include <string.h>

#include <perch/encoder.h>

#include "otlp_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What is left of the input. */
struct input {
	const uint8_t *at, *end;
};

static uint32_t get_byte(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* A small number mostly, so that it was given; else any. */
static uint64_t get_number(struct input *input)
{
	uint64_t number = get_byte(input);

	if (number < 0xf0)
		return number & 0x1f;
	for (size_t i = 0; i < 8; i++)
		number = number << 8 | get_byte(input);
	return number;
}

/* A text of up to 255 bytes. */
static const char *get_text(struct input *input, char *buffer)
{
	size_t size = get_byte(input), left = (size_t)(input->end - input->at);

	if (size == 255)
		return NULL;
	if (size > left)
		size = left;
	memcpy(buffer, input->at, size);
	buffer[size] = '\0';
	input->at += size;
	return buffer;
}

static void add_mapping(struct perch_encoder *encoder, struct input *input)
{
	char path[256];
	const struct perch_encoder_mapping mapping = {
		.path = get_text(input, path),
		.build_id = input->at,
		.build_id_size = (size_t)(input->end - input->at) & 0x1f,
		.start = get_number(input),
		.functions = 1,
	};
	uint32_t number;

	perch_encoder_add_mapping(encoder, &mapping, &number, NULL);
}

static void add_location(struct perch_encoder *encoder, struct input *input)
{
	char text[3][256];
	struct perch_encoder_line line[4] = {
		{ .name = get_text(input, text[0]), .line = (uint32_t)get_number(input) },
		{ .file = get_text(input, text[1]), .start_line = (uint32_t)get_number(input) },
	};
	const struct perch_encoder_location location = {
		.mapping = (uint32_t)get_number(input),
		.address = get_number(input),
		.lines = line,
		.nr_lines = get_byte(input) & 3,
		.type = get_text(input, text[2]),
	};
	uint32_t number;

	perch_encoder_add_location(encoder, &location, &number, NULL);
}

static void add_stack(struct perch_encoder *encoder, struct input *input)
{
	uint32_t callers = (uint32_t)get_number(input), number;

	perch_encoder_add_stack(encoder, callers, (uint32_t)get_number(input), &number, NULL);
}

static void add_labels(struct perch_encoder *encoder, struct input *input)
{
	char text[2][256];
	const struct perch_encoder_label label[2] = {
		{ .key = get_text(input, text[0]),
		  .text = get_text(input, text[1]),
		  .resource = get_byte(input) & 1 },
		{ .key = "n", .number = (int64_t)get_number(input), .unit = "bytes" },
	};
	uint32_t number;

	perch_encoder_add_labels(encoder, label, get_byte(input) % 3, &number, NULL);
}

static void add_sample(struct perch_encoder *encoder, struct input *input)
{
	const struct perch_encoder_sample sample = {
		.event = get_byte(input) & 3,
		.stack = (uint32_t)get_number(input),
		.labels = (uint32_t)get_number(input),
		.samples = get_number(input),
		.value = get_number(input),
		.time_ns = get_number(input),
	};

	perch_encoder_add(encoder, &sample, NULL);
}

static void write_profile(struct perch_encoder *encoder, enum perch_encoder_format format)
{
	struct otlp_facts facts = { 0 };
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out || perch_encoder_write(encoder, format, 0, out, NULL) || fclose(out))
		abort();
	if (format == PERCH_ENCODER_OTLP) {
		check_otlp(&facts, text, length);
		if (facts.error)
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const add[])(struct perch_encoder * encoder, struct input * input) = {
		add_mapping, add_location, add_stack, add_labels, add_sample,
	};
	struct input input = { bytes, bytes + size };
	char name[256] = "";
	const struct perch_encoder_event events[3] = {
		{ .name = "cpu", .unit = "nanoseconds", .sample_ns = get_number(&input) },
		{ .name = "", .period = get_number(&input) },
		{ .name = get_text(&input, name) ? name : "none", .unit = name },
	};
	struct perch_encoder_options options = {
		.events = events,
		.nr_events = get_byte(&input) & 3,
		.addresses = get_byte(&input) & 1,
		.timestamps = get_byte(&input) & 1,
		.time_ns = get_number(&input),
	};
	struct perch_encoder *encoder;

	if (perch_encoder_new(&encoder, &options, NULL))
		abort();
	while (input.at < input.end)
		add[get_byte(&input) % 5](encoder, &input);
	write_profile(encoder, PERCH_ENCODER_OTLP);
	write_profile(encoder, PERCH_ENCODER_PPROF);
	write_profile(encoder, PERCH_ENCODER_OTLP);
	perch_encoder_free(encoder);
	return 0;
}
