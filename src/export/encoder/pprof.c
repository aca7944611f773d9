/* SPDX-License-Identifier: MIT */
/* pprof's format: a Profile message (profile.proto). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "encoder.h"
#include "profile.pb-c.h"

#define FLUSH_BYTES (1u << 20)

struct pprof {
	struct perch_encoder *encoder;
	struct encoder_output *output;
	struct encoder_bytes bytes;
	uint32_t *label_key; /* by number of a label: text */
	uint32_t *column;    /* by event: the index of the value that was added; 0: none */
	size_t cpu_column, nr_columns; /* cpu_column 0: there is none */
	/* of one sample */
	int64_t *value;
	uint64_t *location;
	size_t nr_locations;
	Perch__Pprof__Label *label, **labels;
	size_t nr_labels, nr_pointers;
};

static int put_part(struct pprof *pprof, const Perch__Pprof__Profile *profile)
{
	int rc = perch__encoder_put(&pprof->bytes, &profile->base);

	return rc || pprof->bytes.nr < FLUSH_BYTES
		       ? rc
		       : perch__encoder_flush(pprof->output, &pprof->bytes);
}

/* ---- events ---- */

/* Sets the name and unit of values. Returns 0 or -ENOMEM. */
static int set_type(struct pprof *pprof, const char *name, const char *unit,
		    Perch__Pprof__ValueType *type)
{
	uint32_t name_text = perch__encoder_text(pprof->encoder, name);
	uint32_t unit_text = perch__encoder_text(pprof->encoder, unit);

	perch__pprof__value_type__init(type);
	type->type = name_text;
	type->unit = unit_text;
	return name_text == NO_INDEX || unit_text == NO_INDEX ? -ENOMEM : 0;
}

static void set_own_type(const struct encoder_event *event, Perch__Pprof__ValueType *type)
{
	perch__pprof__value_type__init(type);
	type->type = event->name;
	type->unit = event->unit;
}

static int put_type(struct pprof *pprof, Perch__Pprof__ValueType *type)
{
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;

	profile.n_sample_type = 1;
	profile.sample_type = &type;
	pprof->nr_columns++;
	return put_part(pprof, &profile);
}

/* The values that were added are those of CPU time. */
static bool is_cpu_time(struct perch_encoder *encoder, uint32_t event)
{
	return event == encoder->cpu &&
	       encoder->event[event].unit == perch__encoder_text(encoder, "nanoseconds");
}

/* Writes the types of values: the number of samples, the CPU time, and that of each event. */
static int put_types(struct pprof *pprof)
{
	struct perch_encoder *encoder = pprof->encoder;
	Perch__Pprof__ValueType type;
	int rc = set_type(pprof, "samples", "count", &type);

	if (!rc)
		rc = put_type(pprof, &type);
	if (!rc && encoder->cpu != NO_INDEX) {
		pprof->cpu_column = pprof->nr_columns;
		rc = set_type(pprof, "cpu", "nanoseconds", &type);
		if (!rc)
			rc = put_type(pprof, &type);
	}
	for (uint32_t i = 0; i < encoder->options.nr_events && !rc; i++) {
		if (is_cpu_time(encoder, i))
			continue;
		pprof->column[i] = (uint32_t)pprof->nr_columns;
		set_own_type(&encoder->event[i], &type);
		rc = put_type(pprof, &type);
	}
	return rc;
}

/* Writes what lies between two samples, the value that is shown first, and the time. */
static int put_head(struct pprof *pprof)
{
	const struct perch_encoder *encoder = pprof->encoder;
	/* without events it is a zero that follows them */
	const struct encoder_event *main = &encoder->event[encoder->options.main_event];
	bool is_cpu = encoder->options.main_event == encoder->cpu;
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__ValueType cpu, own;
	int rc = set_type(pprof, "cpu", "nanoseconds", &cpu);

	set_own_type(main, &own);
	profile.default_sample_type = is_cpu ? cpu.type : own.type;
	profile.time_nanos = (int64_t)encoder->options.time_ns;
	profile.duration_nanos = (int64_t)encoder->options.duration_ns;
	/* engines name a profile by its period: that of CPU time wherever there is one */
	if (encoder->cpu != NO_INDEX) {
		profile.period_type = &cpu;
		profile.period = (int64_t)encoder->event[encoder->cpu].sample_ns;
	} else if (main->period) {
		profile.period_type = &own;
		profile.period = (int64_t)main->period;
	}
	return rc ? rc : put_part(pprof, &profile);
}

/* ---- code ---- */

static int put_mapping(struct pprof *pprof, uint32_t number)
{
	const struct encoder_mapping *mapping =
		ENCODER_ITEM(encoder_mapping, pprof->encoder->mappings, number);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Mapping message = PERCH__PPROF__MAPPING__INIT, *messages = &message;

	message.id = number;
	message.memory_start = mapping->start;
	message.memory_limit = mapping->limit;
	message.file_offset = mapping->offset;
	message.filename = mapping->path;
	if (mapping->build_id)
		message.build_id =
			ENCODER_ITEM(encoder_label, pprof->encoder->label, mapping->build_id)->text;
	message.has_functions = mapping->functions;
	message.has_filenames = message.has_line_numbers = message.has_inline_frames =
		mapping->lines;
	profile.n_mapping = 1;
	profile.mapping = &messages;
	return put_part(pprof, &profile);
}

static int put_function(struct pprof *pprof, uint32_t number)
{
	const struct encoder_function *function =
		ENCODER_ITEM(encoder_function, pprof->encoder->functions, number);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Function message = PERCH__PPROF__FUNCTION__INIT, *messages = &message;

	message.id = number;
	message.name = function->name;
	message.system_name = function->system_name;
	message.filename = function->file;
	message.start_line = function->start_line;
	profile.n_function = 1;
	profile.function = &messages;
	return put_part(pprof, &profile);
}

static int put_location(struct pprof *pprof, uint32_t number)
{
	const struct encoder_location *location =
		ENCODER_ITEM(encoder_location, pprof->encoder->locations, number);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Location message = PERCH__PPROF__LOCATION__INIT, *messages = &message;
	Perch__Pprof__Line line[PERCH_ENCODER_MAX_LINES], *lines[PERCH_ENCODER_MAX_LINES];
	size_t nr = 0;
	const uint32_t *word =
		location->lines ? perch__encoder_words(&pprof->encoder->lines, location->lines, &nr)
				: NULL;

	for (size_t i = 0; i < nr / 2; i++) {
		perch__pprof__line__init(&line[i]);
		line[i].function_id = word[2 * i];
		line[i].line = word[2 * i + 1];
		lines[i] = &line[i];
	}
	message.id = number;
	message.mapping_id = location->mapping;
	message.address = location->several ? 0 : location->address;
	message.n_line = nr / 2;
	message.line = lines;
	profile.n_location = 1;
	profile.location = &messages;
	return put_part(pprof, &profile);
}

static int put_code(struct pprof *pprof)
{
	const struct perch_encoder *encoder = pprof->encoder;
	int rc = 0;

	for (uint32_t i = 1; i <= encoder->mappings.nr && !rc; i++)
		rc = put_mapping(pprof, i);
	for (uint32_t i = 1; i <= encoder->functions.nr && !rc; i++)
		rc = put_function(pprof, i);
	for (uint32_t i = 1; i <= encoder->locations.nr && !rc; i++)
		rc = put_location(pprof, i);
	return rc;
}

/* ---- samples ---- */

/* Labels that files of pprof have had before OTLP named them. */
static const struct {
	const char *name, *key;
} short_names[] = {
	{ "thread.name", "comm" },
	{ "process.pid", "pid" },
	{ "thread.id", "tid" },
	{ "process.linux.cgroup", "cgroup" },
};

/* Makes the name of a label: engines have no periods in them. key has PERCH_ENCODER_MAX_TEXT + 1
 * bytes. */
static void make_key(const char *name, char *key)
{
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		if (!strcmp(name, short_names[i].name))
			name = short_names[i].key;
	snprintf(key, PERCH_ENCODER_MAX_TEXT + 1, "%s", name);
	for (char *at = strchr(key, '.'); at; at = strchr(at, '.'))
		*at = '_';
}

/* Makes the names of labels. Returns 0 or -ENOMEM. */
static int make_keys(struct pprof *pprof)
{
	struct perch_encoder *encoder = pprof->encoder;
	char key[PERCH_ENCODER_MAX_TEXT + 1];

	pprof->label_key = calloc(encoder->label.nr + 1, sizeof(*pprof->label_key));
	if (!pprof->label_key)
		return -ENOMEM;
	for (uint32_t i = 1; i <= encoder->label.nr; i++) {
		uint32_t text = ENCODER_ITEM(encoder_label, encoder->label, i)->key;

		make_key(perch__export_text(&encoder->texts, text), key);
		pprof->label_key[i] = perch__encoder_text(encoder, key);
		if (pprof->label_key[i] == NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

/* Sets the labels of a sample. Returns their number, or -ENOMEM. */
static int64_t set_labels(struct pprof *pprof, uint32_t set)
{
	size_t nr;
	const uint32_t *word = perch__encoder_words(&pprof->encoder->label_sets, set, &nr);

	if (PERCH__ARRAY_RESERVE(pprof->label, pprof->nr_labels, nr) ||
	    PERCH__ARRAY_RESERVE(pprof->labels, pprof->nr_pointers, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct encoder_label *label =
			ENCODER_ITEM(encoder_label, pprof->encoder->label, word[i]);

		perch__pprof__label__init(&pprof->label[i]);
		pprof->label[i].key = pprof->label_key[word[i]];
		pprof->label[i].str = label->text;
		pprof->label[i].num = label->number;
		pprof->label[i].num_unit = label->unit;
		pprof->labels[i] = &pprof->label[i];
	}
	return (int64_t)nr;
}

/* Sets the locations of a sample, innermost first. Returns their number, or -ENOMEM. */
static int64_t set_locations(struct pprof *pprof, uint32_t number)
{
	const struct encoder_stack *stack;
	size_t nr = 0;

	for (; number; number = stack->callers) {
		stack = ENCODER_ITEM(encoder_stack, pprof->encoder->stacks, number);
		if (PERCH__ARRAY_RESERVE(pprof->location, pprof->nr_locations, nr + 1))
			return -ENOMEM;
		pprof->location[nr++] = stack->location;
	}
	return (int64_t)nr;
}

static int put_sum(struct pprof *pprof, const struct encoder_sum *sum)
{
	const struct perch_encoder *encoder = pprof->encoder;
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Sample sample = PERCH__PPROF__SAMPLE__INIT, *messages = &sample;
	int64_t nr_labels = sum->labels ? set_labels(pprof, sum->labels) : 0;
	int64_t nr_locations = set_locations(pprof, sum->stack), cpu;
	uint32_t column = pprof->column[sum->event];

	if (nr_labels < 0 || nr_locations < 0)
		return -ENOMEM;
	for (size_t i = 0; i < pprof->nr_columns; i++)
		pprof->value[i] = 0;
	/* engines take a sample for the time of the period: that of CPU time if there is one */
	if (encoder->cpu == NO_INDEX || sum->event == encoder->cpu)
		pprof->value[0] = (int64_t)sum->samples;
	if (column)
		pprof->value[column] = (int64_t)sum->value;
	if (sum->event == encoder->cpu) {
		if (!column)
			cpu = (int64_t)sum->value;
		else if (__builtin_mul_overflow(sum->samples, encoder->event[sum->event].sample_ns,
						&cpu))
			cpu = INT64_MAX;
		pprof->value[pprof->cpu_column] = cpu;
	}
	sample.n_location_id = (size_t)nr_locations;
	sample.location_id = pprof->location;
	sample.n_value = pprof->nr_columns;
	sample.value = pprof->value;
	sample.n_label = (size_t)nr_labels;
	sample.label = pprof->labels;
	profile.n_sample = 1;
	profile.sample = &messages;
	return put_part(pprof, &profile);
}

/* Sorts by labels, then by stack: neighbors have common callers, and compress better. */
static int compare_sums(const void *left, const void *right, void *context)
{
	const struct perch_encoder *encoder = context;
	const struct encoder_sum *a =
		ENCODER_ITEM(encoder_sum, encoder->sums, *(const uint32_t *)left);
	const struct encoder_sum *b =
		ENCODER_ITEM(encoder_sum, encoder->sums, *(const uint32_t *)right);

	if (a->labels != b->labels)
		return a->labels < b->labels ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

static int put_samples(struct pprof *pprof)
{
	const struct perch_encoder *encoder = pprof->encoder;
	uint32_t *sorted = perch__encoder_numbers(&encoder->sums);
	int rc = 0;

	pprof->value = calloc(pprof->nr_columns, sizeof(*pprof->value));
	if (!sorted || !pprof->value)
		rc = -ENOMEM;
	else
		qsort_r(sorted, encoder->sums.nr, sizeof(*sorted), compare_sums, pprof->encoder);
	for (size_t i = 0; i < encoder->sums.nr && !rc; i++)
		rc = put_sum(pprof, ENCODER_ITEM(encoder_sum, encoder->sums, sorted[i]));
	free(sorted);
	return rc;
}

/* ---- texts ---- */

static int put_texts(struct pprof *pprof)
{
	const struct export_texts *texts = &pprof->encoder->texts;
	int rc = 0;

	for (uint32_t i = 0; i < texts->nr && !rc; i++) {
		Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
		char *text = (char *)perch__export_text(texts, i);

		profile.n_string_table = 1;
		profile.string_table = &text;
		rc = put_part(pprof, &profile);
	}
	return rc;
}

int perch__encoder_pprof(struct perch_encoder *encoder, struct encoder_output *output)
{
	struct pprof pprof = { .encoder = encoder, .output = output };
	int rc = -ENOMEM;

	pprof.column = calloc(encoder->options.nr_events + 1, sizeof(*pprof.column));
	if (pprof.column)
		rc = put_types(&pprof);
	if (!rc)
		rc = put_head(&pprof);
	if (!rc)
		rc = put_code(&pprof);
	if (!rc)
		rc = make_keys(&pprof);
	if (!rc)
		rc = put_samples(&pprof);
	if (!rc)
		rc = put_texts(&pprof);
	if (!rc)
		rc = perch__encoder_flush(output, &pprof.bytes);
	free(pprof.bytes.byte);
	free(pprof.column);
	free(pprof.value);
	free(pprof.location);
	free(pprof.label_key);
	free(pprof.label);
	free(pprof.labels);
	return rc;
}
