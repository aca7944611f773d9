/* SPDX-License-Identifier: MIT */
/*
 * Reads an ExportProfilesServiceRequest with the numbers of opentelemetry-proto 1.10 and checks
 * what its comments demand: element 0 of each table is empty, each index is in its table, each item
 * is referred to, and samples have one value, or as many as they have times. It shares no code with
 * the writer.
 */
#ifndef PERCH_TESTS_OTLP_CHECK_H
#define PERCH_TESTS_OTLP_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The tables, by their number in ProfilesDictionary. */
enum { MAPPING = 1, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK, NR_TABLES };

struct otlp_facts {
	const char *error; /* NULL: the request is right */
	size_t nr[NR_TABLES];
	uint8_t *used[NR_TABLES]; /* by index */
	size_t resources, profiles, samples, times;
	uint64_t sum; /* of all values */
	uint64_t last_id;
};

struct wire {
	const uint8_t *at, *end;
	bool bad;
};

struct field {
	uint32_t number, type;
	uint64_t value;	   /* types 0 and 1 */
	struct wire bytes; /* type 2 */
};

static uint64_t get_varint(struct wire *wire)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (wire->at == wire->end)
			break;
		value |= (uint64_t)(*wire->at & 0x7f) << shift;
		if (!(*wire->at++ & 0x80))
			return value;
	}
	wire->bad = true;
	return 0;
}

static bool get_field(struct wire *wire, struct field *field)
{
	uint64_t size;

	if (wire->bad || wire->at == wire->end)
		return false;
	size = get_varint(wire);
	*field = (struct field){ .number = (uint32_t)(size >> 3), .type = size & 7 };
	if (field->type == 0) {
		field->value = get_varint(wire);
		return !wire->bad;
	}
	size = field->type == 2 ? get_varint(wire) : 8;
	wire->bad |= (field->type != 1 && field->type != 2) ||
		     size > (uint64_t)(wire->end - wire->at);
	if (wire->bad)
		return false;
	field->bytes = (struct wire){ wire->at, wire->at + size, false };
	if (field->type == 1)
		memcpy(&field->value, wire->at, 8);
	wire->at += size;
	return true;
}

static void fail_otlp(struct otlp_facts *facts, bool right, const char *error)
{
	if (!right && !facts->error)
		facts->error = error;
}

static void use(struct otlp_facts *facts, int table, uint64_t index)
{
	fail_otlp(facts, index < facts->nr[table], "an index is not in its table");
	if (index < facts->nr[table])
		facts->used[table][index] = 1;
}

/* One index, or a packed list of them. */
static void use_field(struct otlp_facts *facts, int table, struct field *field)
{
	if (field->type == 0)
		use(facts, table, field->value);
	while (field->type == 2 && field->bytes.at < field->bytes.end && !field->bytes.bad)
		use(facts, table, get_varint(&field->bytes));
	fail_otlp(facts, !field->bytes.bad, "a list is damaged");
}

/* Which table the fields of the items of a dictionary refer to. */
static const uint8_t refers[NR_TABLES][8] = {
	[MAPPING] = { [4] = STRING, [5] = ATTRIBUTE },
	[LOCATION] = { [1] = MAPPING, [4] = ATTRIBUTE },
	[FUNCTION] = { [1] = STRING, [2] = STRING, [3] = STRING },
	[ATTRIBUTE] = { [1] = STRING, [3] = STRING },
	[STACK] = { [1] = LOCATION },
};

static void check_item(struct otlp_facts *facts, uint32_t table, struct wire item)
{
	struct field field, inner;

	while (table != STRING && get_field(&item, &field)) {
		if (field.number < 8 && refers[table][field.number])
			use_field(facts, refers[table][field.number], &field);
		/* a Line of a Location */
		while (table == LOCATION && field.number == 3 && get_field(&field.bytes, &inner))
			if (inner.number == 1)
				use_field(facts, FUNCTION, &inner);
	}
	fail_otlp(facts, !item.bad, "an item of the dictionary is damaged");
}

/* pass 0 counts the items, pass 1 checks them. */
static void read_dictionary(struct otlp_facts *facts, struct wire wire, int pass)
{
	size_t seen[NR_TABLES] = { 0 };
	struct field field;

	while (get_field(&wire, &field)) {
		fail_otlp(facts, field.number < NR_TABLES && field.type == 2, "an unknown table");
		if (facts->error)
			return;
		if (pass)
			check_item(facts, field.number, field.bytes);
		else
			facts->nr[field.number]++;
		if (!seen[field.number]++) {
			const uint8_t *at = field.bytes.at;
			bool ids = field.number == LINK && field.bytes.end - at == 28;

			fail_otlp(facts, ids || at == field.bytes.end, "element 0 is not empty");
			for (size_t i = 0; ids && i < 28; i++)
				fail_otlp(facts, i < 2 || i == 18 || i == 19 || !at[i],
					  "link 0 is not empty");
		}
	}
	fail_otlp(facts, !wire.bad, "the dictionary is damaged");
}

static void check_type(struct otlp_facts *facts, struct wire wire)
{
	struct field field;

	while (get_field(&wire, &field))
		use_field(facts, STRING, &field);
}

static void check_sample(struct otlp_facts *facts, struct wire wire)
{
	size_t values = 0, times = 0;
	struct field field;

	while (get_field(&wire, &field)) {
		if (field.number == 1)
			use_field(facts, STACK, &field);
		else if (field.number == 2)
			use_field(facts, ATTRIBUTE, &field);
		else if (field.number == 4)
			for (; field.bytes.at < field.bytes.end && !field.bytes.bad; values++)
				facts->sum += get_varint(&field.bytes);
		else if (field.number == 5)
			times += (size_t)(field.bytes.end - field.bytes.at) / 8;
		else
			fail_otlp(facts, false, "a sample has an unknown field");
	}
	fail_otlp(facts, times ? !values || values == times : values == 1,
		  "a sample has a wrong number of values");
	facts->sum += times && !values ? times : 0;
	facts->times += times;
	facts->samples++;
}

static void check_profile(struct otlp_facts *facts, struct wire wire)
{
	bool has_id = false;
	struct field field;
	uint64_t id[2];

	facts->profiles++;
	while (get_field(&wire, &field)) {
		if (field.number == 1 || field.number == 5)
			check_type(facts, field.bytes);
		if (field.number == 2)
			check_sample(facts, field.bytes);
		if (field.number != 7)
			continue;
		has_id = field.bytes.end - field.bytes.at == 16;
		memcpy(id, field.bytes.at, has_id ? 16 : 0);
		fail_otlp(facts, has_id && (id[0] || id[1]) && id[1] != facts->last_id,
			  "a profile has a wrong id");
		facts->last_id = id[1];
	}
	fail_otlp(facts, has_id && !wire.bad, "a profile is damaged");
}

static void check_resource(struct otlp_facts *facts, struct wire wire)
{
	struct field scope, profile;

	facts->resources++;
	while (get_field(&wire, &scope))
		while (scope.number == 2 && get_field(&scope.bytes, &profile))
			if (profile.number == 2)
				check_profile(facts, profile.bytes);
}

/* Reads a request. The caller has set *facts to 0. */
static void check_otlp(struct otlp_facts *facts, const void *bytes, size_t size)
{
	const uint8_t *first = bytes;
	struct field field;

	for (int pass = 0; pass < 2; pass++) {
		struct wire wire = { first, first + size, false };

		while (get_field(&wire, &field))
			if (field.number == 2)
				read_dictionary(facts, field.bytes, pass);
			else if (pass)
				check_resource(facts, field.bytes);
		fail_otlp(facts, !wire.bad, "the request is damaged");
		for (int i = 1; !pass && i < NR_TABLES; i++)
			facts->used[i] = calloc(facts->nr[i] + 1, 1);
	}
	for (int i = 1; i < NR_TABLES; i++) {
		fail_otlp(facts, facts->nr[i], "a table has no element 0");
		for (size_t j = 1; j < facts->nr[i]; j++)
			fail_otlp(facts, facts->used[i][j], "nothing refers to an item");
		free(facts->used[i]);
	}
}

#endif
