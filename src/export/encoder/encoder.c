/* SPDX-License-Identifier: MIT */
/* Profiles of any stacks: what is added to their tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "base/reserved.h"
#include "encoder.h"

#define NO_MEMORY(err)	    PERCH__NO_MEMORY(err, "for a profile")
#define MAX_EVENTS	    65535
#define MAX_BUILD_ID	    64
#define RESERVED(item, err) PERCH__CHECK_RESERVED(item, "perch_encoder_" #item, err)

static int invalid(struct perch_error *err, const char *what)
{
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "%s", what);
}

/* Adds a text, cleaned. NULL is "". *failed becomes true if out of memory. */
static uint32_t add_text(struct perch_encoder *encoder, const char *text, bool *failed)
{
	char clean[PERCH_ENCODER_MAX_TEXT + 1];
	uint32_t number;

	if (!text)
		return 0;
	perch_clean_text(text, clean, sizeof(clean));
	number = perch__export_texts_add(&encoder->texts, clean);
	*failed |= number == NO_INDEX;
	return number;
}

/* ---- labels ---- */

/* Returns the number of a label; 0 if out of memory. */
static uint32_t add_label(struct perch_encoder *encoder, const struct perch_encoder_label *label)
{
	bool failed = false;
	const struct encoder_label item = {
		.number = label->text ? 0 : label->number,
		.key = add_text(encoder, label->key, &failed),
		.text = add_text(encoder, label->text, &failed),
		.unit = label->text ? 0 : add_text(encoder, label->unit, &failed),
		.is_text = !!label->text,
		.resource = label->resource,
	};

	return failed ? 0 : perch__encoder_item(&encoder->label, &item);
}

/* Adds a label that OTLP has for code. */
static uint32_t add_code_label(struct perch_encoder *encoder, const char *key, const char *text,
			       bool *failed)
{
	uint32_t number =
		add_label(encoder, &(struct perch_encoder_label){ .key = key, .text = text });

	*failed |= !number;
	return number;
}

/* ---- code ---- */

static uint32_t add_build_id(struct perch_encoder *encoder,
			     const struct perch_encoder_mapping *mapping, bool *failed)
{
	char text[2 * MAX_BUILD_ID + 1] = "";

	if (!mapping->build_id || !mapping->build_id_size)
		return 0;
	for (size_t i = 0; i < mapping->build_id_size && i < MAX_BUILD_ID; i++)
		snprintf(text + 2 * i, 3, "%02x", mapping->build_id[i]);
	return add_code_label(encoder, "process.executable.build_id.gnu", text, failed);
}

int perch_encoder_add_mapping(struct perch_encoder *encoder,
			      const struct perch_encoder_mapping *mapping, uint32_t *number,
			      struct perch_error *err)
{
	int rc = RESERVED(mapping, err);
	bool failed = false;

	*number = 0;
	if (rc)
		return rc;
	struct encoder_mapping item = {
		.start = mapping->start,
		.limit = mapping->limit,
		.offset = mapping->offset,
		.path = add_text(encoder, mapping->path, &failed),
		.build_id = add_build_id(encoder, mapping, &failed),
		.functions = mapping->functions,
		.lines = mapping->lines,
	};
	if (!failed)
		*number = perch__encoder_item(&encoder->mappings, &item);
	return *number ? 0 : NO_MEMORY(err);
}

static uint32_t add_function(struct perch_encoder *encoder, const struct perch_encoder_line *line)
{
	bool failed = false;
	const struct encoder_function item = {
		.name = add_text(encoder, line->name, &failed),
		.system_name = add_text(encoder, line->system_name, &failed),
		.file = add_text(encoder, line->file, &failed),
		.start_line = line->start_line,
	};

	return failed ? 0 : perch__encoder_item(&encoder->functions, &item);
}

/* Adds the lines of a location, which has some. Returns 0 if out of memory. */
static uint32_t add_lines(struct perch_encoder *encoder,
			  const struct perch_encoder_location *location)
{
	uint32_t word[2 * PERCH_ENCODER_MAX_LINES];
	size_t nr = location->nr_lines;

	if (nr > PERCH_ENCODER_MAX_LINES)
		nr = PERCH_ENCODER_MAX_LINES;
	for (size_t i = 0; i < nr; i++) {
		word[2 * i] = add_function(encoder, &location->lines[i]);
		word[2 * i + 1] = location->lines[i].line;
		if (!word[2 * i])
			return 0;
	}
	return perch__encoder_list(&encoder->lines, word, 2 * nr);
}

int perch_encoder_add_location(struct perch_encoder *encoder,
			       const struct perch_encoder_location *location, uint32_t *number,
			       struct perch_error *err)
{
	bool own = encoder->options.addresses || !location->nr_lines;
	struct encoder_location item = {
		.own_address = own ? location->address : 0,
		.mapping = location->mapping,
		.address = location->address,
	};
	int rc = RESERVED(location, err);
	struct encoder_location *found;
	bool failed = false;

	for (size_t i = 0; i < location->nr_lines && !rc; i++)
		rc = PERCH__CHECK_RESERVED(&location->lines[i], "perch_encoder_line", err);
	*number = 0;
	if (rc)
		return rc;
	if (location->mapping > encoder->mappings.nr)
		return invalid(err, "a location is in no mapping that was added");
	if (location->type)
		item.type = add_code_label(encoder, "profile.frame.type", location->type, &failed);
	if (location->nr_lines)
		item.lines = add_lines(encoder, location);
	if (!failed && (item.lines || !location->nr_lines))
		*number = perch__encoder_item(&encoder->locations, &item);
	if (!*number)
		return NO_MEMORY(err);
	found = (struct encoder_location *)(void *)encoder->locations.item + *number - 1;
	found->several |= found->address != location->address;
	return 0;
}

int perch_encoder_add_stack(struct perch_encoder *encoder, uint32_t callers, uint32_t location,
			    uint32_t *number, struct perch_error *err)
{
	const struct encoder_stack item = { callers, location };

	*number = 0;
	if (callers > encoder->stacks.nr || !location || location > encoder->locations.nr)
		return invalid(err, "a call chain has a number that was not given");
	*number = perch__encoder_item(&encoder->stacks, &item);
	return *number ? 0 : NO_MEMORY(err);
}

int perch_encoder_add_labels(struct perch_encoder *encoder,
			     const struct perch_encoder_label *labels, size_t nr, uint32_t *number,
			     struct perch_error *err)
{
	uint32_t *word;
	int rc = 0;

	*number = 0;
	if (!nr)
		return 0;
	word = calloc(nr, sizeof(*word));
	if (!word)
		return NO_MEMORY(err);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = PERCH__CHECK_RESERVED(&labels[i], "perch_encoder_label", err);
		if (!rc && !labels[i].key)
			rc = invalid(err, "a label has no key");
		if (!rc)
			word[i] = add_label(encoder, &labels[i]);
		if (!rc && !word[i])
			rc = NO_MEMORY(err);
	}
	if (!rc)
		*number = perch__encoder_list(&encoder->label_sets, word, nr);
	if (!rc && !*number)
		rc = NO_MEMORY(err);
	free(word);
	return rc;
}

/* ---- samples ---- */

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

static int add_time(struct perch_encoder *encoder, const struct perch_encoder_sample *sample,
		    uint32_t sum)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(encoder->time, encoder->nr_times, 1))
		return -ENOMEM;
	encoder->several |= sample->samples != 1;
	encoder->time[encoder->nr_times++] = (struct encoder_time){
		.time = sample->time_ns,
		.value = sum_of(sample->event == encoder->cpu ? sample->samples : sample->value, 0),
		.sum = sum,
	};
	return 0;
}

int perch_encoder_add(struct perch_encoder *encoder, const struct perch_encoder_sample *sample,
		      struct perch_error *err)
{
	const struct encoder_sum item = {
		.event = sample->event,
		.stack = sample->stack,
		.labels = sample->labels,
	};
	int rc = RESERVED(sample, err);
	struct encoder_sum *sum;
	uint32_t number;

	if (rc)
		return rc;
	if (sample->event >= encoder->options.nr_events || sample->stack > encoder->stacks.nr ||
	    sample->labels > encoder->label_sets.nr)
		return invalid(err, "a sample has a number that was not given");
	number = perch__encoder_item(&encoder->sums, &item);
	if (!number || (encoder->options.timestamps && add_time(encoder, sample, number)))
		return NO_MEMORY(err);
	sum = (struct encoder_sum *)(void *)encoder->sums.item + number - 1;
	sum->samples = sum_of(sum->samples, sample->samples);
	sum->value = sum_of(sum->value, sample->value);
	return 0;
}

/* ---- creation ---- */

static int check_options(const struct perch_encoder_options *options, struct perch_error *err)
{
	int rc = RESERVED(options, err);

	if (rc)
		return rc;
	if (options->nr_events > MAX_EVENTS ||
	    (options->nr_events && options->main_event >= options->nr_events))
		return invalid(err,
			       "a profile has up to 65535 events, of which one is shown first");
	for (size_t i = 0; i < options->nr_events && !rc; i++) {
		rc = PERCH__CHECK_RESERVED(&options->events[i], "perch_encoder_event", err);
		if (!rc && !options->events[i].name)
			rc = invalid(err, "an event of a profile has no name");
	}
	return rc;
}

/* Copies the events, and finds the one of CPU time: that which is shown first if it is one. Returns
 * 0 or -ENOMEM. */
static int copy_events(struct perch_encoder *encoder)
{
	const struct perch_encoder_options *options = &encoder->options;
	bool failed = false;

	encoder->event = calloc(options->nr_events + 1, sizeof(*encoder->event));
	if (!encoder->event)
		return -ENOMEM;
	encoder->cpu = NO_INDEX;
	for (uint32_t i = 0; i < options->nr_events; i++) {
		const struct perch_encoder_event *from = &options->events[i];

		encoder->event[i] = (struct encoder_event){
			.period = from->period,
			.sample_ns = from->sample_ns,
			.name = add_text(encoder, from->name, &failed),
			.unit = add_text(encoder, from->unit ? from->unit : "count", &failed),
		};
		if (from->sample_ns && (encoder->cpu == NO_INDEX || i == options->main_event))
			encoder->cpu = i;
	}
	return failed ? -ENOMEM : 0;
}

static void set_sizes(struct perch_encoder *encoder)
{
	struct {
		struct encoder_items *items;
		size_t size, key_size;
	} tables[] = {
		{ &encoder->mappings, sizeof(struct encoder_mapping),
		  sizeof(struct encoder_mapping) },
		{ &encoder->functions, sizeof(struct encoder_function),
		  sizeof(struct encoder_function) },
		{ &encoder->locations, sizeof(struct encoder_location),
		  offsetof(struct encoder_location, address) },
		{ &encoder->stacks, sizeof(struct encoder_stack), sizeof(struct encoder_stack) },
		{ &encoder->label, sizeof(struct encoder_label), sizeof(struct encoder_label) },
		{ &encoder->sums, sizeof(struct encoder_sum),
		  offsetof(struct encoder_sum, samples) },
	};

	encoder->texts.table.seed = perch__hash_seed(encoder);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		tables[i].items->size = tables[i].size;
		tables[i].items->key_size = tables[i].key_size;
		tables[i].items->table.seed = encoder->texts.table.seed;
	}
	encoder->lines.table.seed = encoder->label_sets.table.seed = encoder->texts.table.seed;
}

int perch_encoder_new(struct perch_encoder **encoder, const struct perch_encoder_options *options,
		      struct perch_error *err)
{
	int rc = check_options(options, err);
	struct perch_encoder *new;

	*encoder = NULL;
	if (rc)
		return rc;
	new = calloc(1, sizeof(*new));
	if (!new)
		return NO_MEMORY(err);
	set_sizes(new);
	new->options = *options;
	if (perch__export_texts_add(&new->texts, "") == NO_INDEX || copy_events(new))
		rc = NO_MEMORY(err);
	if (!rc)
		rc = perch_encoder_add_labels(new, options->labels, options->nr_labels,
					      &new->labels, err);
	if (!rc && options->profile_id)
		memcpy(new->profile_id, options->profile_id, sizeof(new->profile_id));
	/* they belong to the caller */
	new->options.events = NULL;
	new->options.labels = NULL;
	new->options.profile_id = NULL;
	if (rc)
		perch_encoder_free(new);
	else
		*encoder = new;
	return rc;
}

void perch_encoder_free(struct perch_encoder *encoder)
{
	if (!encoder)
		return;
	perch__encoder_items_clear(&encoder->mappings);
	perch__encoder_items_clear(&encoder->functions);
	perch__encoder_items_clear(&encoder->locations);
	perch__encoder_items_clear(&encoder->stacks);
	perch__encoder_items_clear(&encoder->label);
	perch__encoder_items_clear(&encoder->sums);
	perch__encoder_lists_clear(&encoder->lines);
	perch__encoder_lists_clear(&encoder->label_sets);
	perch__export_texts_clear(&encoder->texts);
	free(encoder->time);
	free(encoder->event);
	free(encoder);
}
