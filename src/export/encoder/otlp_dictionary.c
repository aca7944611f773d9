/* SPDX-License-Identifier: MIT */
/* OTLP: the dictionary. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "otlp.h"

static int put_part(struct otlp *otlp, const Perch__Otlp__ProfilesDictionary *dictionary)
{
	return perch__encoder_put(&otlp->dictionary, &dictionary->base);
}

/* Returns the first negative number, or 0. */
static int first_error(int a, int b, int c)
{
	return a < 0 ? a : b < 0 ? b : c < 0 ? c : 0;
}

/* Notes that the next item of a table has been written. rc: of the writing. */
static int number_item(struct otlp *otlp, enum otlp_table table, uint32_t number, int rc)
{
	return rc ? rc : (otlp->index[table][number] = otlp->nr[table]++);
}

/* ---- texts and attributes ---- */

int perch__otlp_text(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	char *text = (char *)perch__export_text(&otlp->encoder->texts, number);

	if (!number || otlp->index[OTLP_TEXTS][number])
		return otlp->index[OTLP_TEXTS][number];
	dictionary.n_string_table = 1;
	dictionary.string_table = &text;
	return number_item(otlp, OTLP_TEXTS, number, put_part(otlp, &dictionary));
}

void perch__otlp_value(const struct perch_encoder *encoder, const struct encoder_label *label,
		       Perch__Otlp__AnyValue *value)
{
	perch__otlp__any_value__init(value);
	value->value_case = PERCH__OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value->int_value = label->number;
	if (!label->is_text)
		return;
	value->value_case = PERCH__OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = (char *)perch__export_text(&encoder->texts, label->text);
}

int perch__otlp_attribute(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__KeyValueAndUnit item = PERCH__OTLP__KEY_VALUE_AND_UNIT__INIT, *items = &item;
	const struct encoder_label *label;
	Perch__Otlp__AnyValue value;
	int rc;

	if (!number || otlp->index[OTLP_ATTRIBUTES][number])
		return otlp->index[OTLP_ATTRIBUTES][number];
	label = ENCODER_ITEM(encoder_label, otlp->encoder->label, number);
	perch__otlp_value(otlp->encoder, label, &value);
	item.key_strindex = perch__otlp_text(otlp, label->key);
	item.unit_strindex = perch__otlp_text(otlp, label->unit);
	item.value = &value;
	rc = first_error(item.key_strindex, item.unit_strindex, 0);
	dictionary.n_attribute_table = 1;
	dictionary.attribute_table = &items;
	return number_item(otlp, OTLP_ATTRIBUTES, number, rc ? rc : put_part(otlp, &dictionary));
}

/* ---- code ---- */

static int put_mapping(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__Mapping item = PERCH__OTLP__MAPPING__INIT, *items = &item;
	const struct encoder_mapping *mapping;
	int32_t build_id;
	int rc;

	if (!number || otlp->index[OTLP_MAPPINGS][number])
		return otlp->index[OTLP_MAPPINGS][number];
	mapping = ENCODER_ITEM(encoder_mapping, otlp->encoder->mappings, number);
	build_id = perch__otlp_attribute(otlp, mapping->build_id);
	item.filename_strindex = perch__otlp_text(otlp, mapping->path);
	rc = first_error(build_id, item.filename_strindex, 0);
	item.memory_start = mapping->start;
	item.memory_limit = mapping->limit;
	item.file_offset = mapping->offset;
	item.n_attribute_indices = build_id > 0;
	item.attribute_indices = &build_id;
	dictionary.n_mapping_table = 1;
	dictionary.mapping_table = &items;
	return number_item(otlp, OTLP_MAPPINGS, number, rc ? rc : put_part(otlp, &dictionary));
}

static int put_function(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__Function item = PERCH__OTLP__FUNCTION__INIT, *items = &item;
	const struct encoder_function *function;
	int rc;

	if (otlp->index[OTLP_FUNCTIONS][number])
		return otlp->index[OTLP_FUNCTIONS][number];
	function = ENCODER_ITEM(encoder_function, otlp->encoder->functions, number);
	item.name_strindex = perch__otlp_text(otlp, function->name);
	item.system_name_strindex = perch__otlp_text(otlp, function->system_name);
	item.filename_strindex = perch__otlp_text(otlp, function->file);
	item.start_line = function->start_line;
	rc = first_error(item.name_strindex, item.system_name_strindex, item.filename_strindex);
	dictionary.n_function_table = 1;
	dictionary.function_table = &items;
	return number_item(otlp, OTLP_FUNCTIONS, number, rc ? rc : put_part(otlp, &dictionary));
}

/* Sets the lines of a location. Returns their number or a negative errno. */
static int set_lines(struct otlp *otlp, uint32_t list, Perch__Otlp__Line *line,
		     Perch__Otlp__Line **lines)
{
	size_t nr = 0;
	const uint32_t *word = list ? perch__encoder_words(&otlp->encoder->lines, list, &nr) : NULL;

	for (size_t i = 0; i < nr / 2; i++) {
		perch__otlp__line__init(&line[i]);
		line[i].function_index = put_function(otlp, word[2 * i]);
		line[i].line = word[2 * i + 1];
		lines[i] = &line[i];
		if (line[i].function_index < 0)
			return line[i].function_index;
	}
	return (int)(nr / 2);
}

static int put_location(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__Location item = PERCH__OTLP__LOCATION__INIT, *items = &item;
	Perch__Otlp__Line line[PERCH_ENCODER_MAX_LINES], *lines[PERCH_ENCODER_MAX_LINES];
	const struct encoder_location *location;
	int32_t type;
	int nr, rc;

	if (otlp->index[OTLP_LOCATIONS][number])
		return otlp->index[OTLP_LOCATIONS][number];
	location = ENCODER_ITEM(encoder_location, otlp->encoder->locations, number);
	nr = set_lines(otlp, location->lines, line, lines);
	item.mapping_index = put_mapping(otlp, location->mapping);
	type = perch__otlp_attribute(otlp, location->type);
	rc = first_error(nr, item.mapping_index, type);
	if (rc)
		return rc;
	item.address = location->several ? 0 : location->address;
	item.n_lines = (size_t)nr;
	item.lines = lines;
	item.n_attribute_indices = type > 0;
	item.attribute_indices = &type;
	dictionary.n_location_table = 1;
	dictionary.location_table = &items;
	return number_item(otlp, OTLP_LOCATIONS, number, put_part(otlp, &dictionary));
}

int perch__otlp_stack(struct otlp *otlp, uint32_t number)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__Stack item = PERCH__OTLP__STACK__INIT, *items = &item;
	const struct encoder_stack *stack;

	if (!number || otlp->index[OTLP_STACKS][number])
		return otlp->index[OTLP_STACKS][number];
	for (uint32_t at = number; at; at = stack->callers) {
		int location;

		stack = ENCODER_ITEM(encoder_stack, otlp->encoder->stacks, at);
		location = put_location(otlp, stack->location);
		if (location < 0)
			return location;
		if (PERCH__ARRAY_RESERVE(otlp->location, otlp->nr_locations,
					 item.n_location_indices + 1))
			return -ENOMEM;
		otlp->location[item.n_location_indices++] = location;
	}
	item.location_indices = otlp->location;
	dictionary.n_stack_table = 1;
	dictionary.stack_table = &items;
	return number_item(otlp, OTLP_STACKS, number, put_part(otlp, &dictionary));
}

/* ---- the dictionary ---- */

/* Writes the empty items, which are in each dictionary. */
static int put_empty(struct otlp *otlp)
{
	Perch__Otlp__ProfilesDictionary dictionary = PERCH__OTLP__PROFILES_DICTIONARY__INIT;
	Perch__Otlp__Mapping mapping = PERCH__OTLP__MAPPING__INIT, *mappings = &mapping;
	Perch__Otlp__Location location = PERCH__OTLP__LOCATION__INIT, *locations = &location;
	Perch__Otlp__Function function = PERCH__OTLP__FUNCTION__INIT, *functions = &function;
	Perch__Otlp__Link link = PERCH__OTLP__LINK__INIT, *links = &link;
	Perch__Otlp__KeyValueAndUnit attribute = PERCH__OTLP__KEY_VALUE_AND_UNIT__INIT,
				     *attributes = &attribute;
	Perch__Otlp__Stack stack = PERCH__OTLP__STACK__INIT, *stacks = &stack;
	uint8_t zeros[16] = { 0 };
	char empty[] = "", *texts = empty;

	/* readers that expect the lengths of ids take them */
	link.trace_id = (ProtobufCBinaryData){ 16, zeros };
	link.span_id = (ProtobufCBinaryData){ 8, zeros };
	dictionary.n_mapping_table = dictionary.n_location_table = dictionary.n_function_table = 1;
	dictionary.n_link_table = dictionary.n_string_table = 1;
	dictionary.n_attribute_table = dictionary.n_stack_table = 1;
	dictionary.mapping_table = &mappings;
	dictionary.location_table = &locations;
	dictionary.function_table = &functions;
	dictionary.link_table = &links;
	dictionary.string_table = &texts;
	dictionary.attribute_table = &attributes;
	dictionary.stack_table = &stacks;
	for (size_t i = 0; i < OTLP_NR_TABLES; i++)
		otlp->nr[i] = 1;
	return put_part(otlp, &dictionary);
}

int perch__otlp_dictionary_open(struct otlp *otlp)
{
	const struct perch_encoder *encoder = otlp->encoder;
	const size_t nr[OTLP_NR_TABLES] = {
		[OTLP_TEXTS] = encoder->texts.nr,	  [OTLP_ATTRIBUTES] = encoder->label.nr,
		[OTLP_MAPPINGS] = encoder->mappings.nr,	  [OTLP_FUNCTIONS] = encoder->functions.nr,
		[OTLP_LOCATIONS] = encoder->locations.nr, [OTLP_STACKS] = encoder->stacks.nr,
	};

	for (size_t i = 0; i < OTLP_NR_TABLES; i++) {
		otlp->index[i] = calloc(nr[i] + 1, sizeof(int32_t));
		if (!otlp->index[i])
			return -ENOMEM;
	}
	return put_empty(otlp);
}

void perch__otlp_dictionary_clear(struct otlp *otlp)
{
	for (size_t i = 0; i < OTLP_NR_TABLES; i++)
		free(otlp->index[i]);
	free(otlp->location);
	free(otlp->dictionary.byte);
}
