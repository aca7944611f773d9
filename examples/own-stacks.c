/* SPDX-License-Identifier: MIT */
/*
 * A program that knows what it does makes a profile of it: how many bytes each of its steps
 * allocated, below which others. No kernel takes part. The file is a request of OTLP, which an
 * OpenTelemetry Collector takes:
 *
 *	own-stacks request.pb
 *	curl --data-binary @request.pb -H 'Content-Type: application/x-protobuf' \
 *		http://localhost:4318/v1development/profiles
 */
#include <stdio.h>
#include <stdlib.h>
#include <perch/encoder.h>

static struct perch_encoder *encoder;
static uint32_t labels, inside; /* the labels, and the steps that have begun: numbers */
static struct perch_error err;

static void check(int rc)
{
	if (rc < 0) {
		perch_error_print(stderr, &err);
		exit(1);
	}
}

/* Begins a step. Returns the steps that it is in. */
static uint32_t begin(const char *name)
{
	const struct perch_encoder_line line = { .name = name };
	const struct perch_encoder_location location = { .lines = &line, .nr_lines = 1 };
	uint32_t before = inside, number;

	check(perch_encoder_add_location(encoder, &location, &number, &err));
	check(perch_encoder_add_stack(encoder, before, number, &inside, &err));
	return before;
}

static void allocated(size_t size)
{
	const struct perch_encoder_sample sample = {
		.stack = inside, .labels = labels, .samples = 1, .value = size
	};

	check(perch_encoder_add(encoder, &sample, &err));
}

static void parse(unsigned depth)
{
	uint32_t before = begin(depth % 2 ? "parse expression" : "parse term");

	allocated(100 * depth);
	if (depth)
		parse(depth - 1);
	inside = before;
}

int main(int argc, char **argv)
{
	const struct perch_encoder_event event = { .name = "allocated", .unit = "bytes" };
	const struct perch_encoder_options options = { .events = &event, .nr_events = 1 };
	const struct perch_encoder_label service = { .key = "service.name",
						     .text = "compiler",
						     .resource = true };
	char *bytes;
	size_t size;
	FILE *out = open_memstream(&bytes, &size), *file;

	check(perch_encoder_new(&encoder, &options, &err));
	check(perch_encoder_add_labels(encoder, &service, 1, &labels, &err));
	begin("compile");
	for (unsigned depth = 1; depth < 5; depth++)
		parse(depth);
	begin("optimize");
	allocated(4096);
	check(perch_encoder_write(encoder, PERCH_ENCODER_OTLP, 0, out, &err));
	perch_encoder_free(encoder);
	fclose(out);
	printf("%zu bytes of OTLP\n", size);
	file = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		return perror("own-stacks"), 1;
	free(bytes);
	return 0;
}
