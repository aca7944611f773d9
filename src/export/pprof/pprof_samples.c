/* SPDX-License-Identifier: MIT */
/*
 * pprof's format: locations and samples.
 *
 * A location is a list of functions with lines. Most programs have many more addresses than lines,
 * so addresses with the same lines are one location, and stacks of the same locations are one
 * sample: files are many times smaller. A location of several addresses has no address.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "pprof.h"

#define MAX_LINES 256 /* functions at an address; the outer ones are left out */

/* A function at a line. */
struct pprof_line {
	uint64_t function; /* id */
	uint32_t line;
};

struct pprof_location {
	uint64_t mapping; /* id */
	size_t first;	  /* index in samples.line */
	uint32_t nr;
	bool several; /* addresses */
	uint64_t address;
};

/* A location below that of its caller. */
struct pprof_node {
	uint32_t parent, location; /* indexes; parent NO_INDEX: none */
};

/* The samples of a node, thread and event. */
struct sum {
	uint32_t node, thread, event;
	uint64_t samples, period;
};

struct samples {
	struct pprof *pprof;
	struct pprof_line *line;
	struct pprof_location *location;
	struct pprof_node *node;
	size_t nr_lines, nr_locations, nr_nodes;
	struct perch__hash_table locations, nodes;
	/* [0] is by number of an address as sampled, [1] as a return address: index of its
	 * location; NO_INDEX: none yet */
	uint32_t *location_of[2];
	uint32_t *caller; /* by stack: its node as a caller; NO_INDEX: none yet */
	struct sum *sum;
};

/* ---- locations ---- */

struct location_key {
	const struct samples *samples;
	const struct pprof_location *location;
};

static bool same_location(const void *locations, uint32_t index, const void *key)
{
	const struct pprof_location *location = (const struct pprof_location *)locations + index;
	const struct samples *samples = ((const struct location_key *)key)->samples;
	const struct pprof_location *wanted = ((const struct location_key *)key)->location;
	const struct pprof_line *a = samples->line + location->first,
				*b = samples->line + wanted->first;

	if (location->mapping != wanted->mapping || location->nr != wanted->nr ||
	    (samples->pprof->export->options.addresses && location->address != wanted->address))
		return false;
	for (uint32_t i = 0; i < location->nr; i++)
		if (a[i].function != b[i].function || a[i].line != b[i].line)
			return false;
	return true;
}

static uint64_t hash_of(const struct samples *samples, const struct pprof_location *location)
{
	uint64_t hash = perch__hash_integer(samples->locations.seed, location->mapping);

	if (samples->pprof->export->options.addresses)
		hash = perch__hash_integer(hash, location->address);
	for (uint32_t i = 0; i < location->nr; i++) {
		const struct pprof_line *line = &samples->line[location->first + i];

		hash = perch__hash_pair(hash, line->function, line->line);
	}
	return hash;
}

/* Appends the lines of an address to samples.line, which is one location if it is new. Returns 0 or
 * a negative errno. */
static int add_lines(struct samples *samples, uint32_t number, bool is_caller,
		     struct pprof_location *location)
{
	struct pprof *pprof = samples->pprof;
	const struct perch_address *address = perch_session_address(pprof->export->session, number);
	const struct perch_symbol_frame *frame;
	int nr = perch__export_frames(pprof->export, number, is_caller, &frame);
	int64_t mapping = perch__pprof_mapping(pprof, address->dso);

	if (nr < 0 || mapping < 0)
		return nr < 0 ? nr : (int)mapping;
	*location = (struct pprof_location){
		.mapping = (uint64_t)mapping,
		.first = samples->nr_lines,
		.nr = nr < MAX_LINES ? (uint32_t)nr : MAX_LINES,
		.address = pprof->mapping[address->dso->index].base + address->offset,
	};
	if (PERCH__ARRAY_RESERVE_BY_NR(samples->line, samples->nr_lines, location->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < location->nr; i++) {
		int64_t function = perch__pprof_function(pprof, address, &frame[i]);

		if (function < 0)
			return (int)function;
		samples->line[samples->nr_lines + i].function = (uint64_t)function;
		samples->line[samples->nr_lines + i].line = frame[i].line;
	}
	return 0;
}

/* Returns the index of a location; NO_INDEX after a failure, with the errno in *rc. */
static uint32_t find_location(struct samples *samples, uint32_t number, bool is_caller, int *rc)
{
	uint32_t *cached = &samples->location_of[is_caller][number], found;
	struct pprof_location location;
	const struct location_key key = { samples, &location };
	uint64_t hash;

	if (*cached != NO_INDEX)
		return *cached;
	*rc = add_lines(samples, number, is_caller, &location);
	if (*rc)
		return NO_INDEX;
	hash = hash_of(samples, &location);
	found = perch__hash_find(&samples->locations, hash, same_location, samples->location, &key);
	if (found != PERCH__HASH_NONE) {
		samples->location[found].several |= samples->location[found].address !=
						    location.address;
		return *cached = found;
	}
	*rc = -ENOMEM;
	if (PERCH__ARRAY_RESERVE_BY_NR(samples->location, samples->nr_locations, 1) ||
	    perch__hash_add(&samples->locations, hash, samples->nr_locations))
		return NO_INDEX;
	*rc = 0;
	samples->location[samples->nr_locations] = location;
	samples->nr_lines += location.nr;
	return *cached = (uint32_t)samples->nr_locations++;
}

static int put_location(struct samples *samples, size_t index)
{
	const struct pprof_location *location = &samples->location[index];
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Location message = PERCH__PPROF__LOCATION__INIT, *messages = &message;
	Perch__Pprof__Line line[MAX_LINES], *lines[MAX_LINES];

	for (uint32_t i = 0; i < location->nr; i++) {
		perch__pprof__line__init(&line[i]);
		line[i].function_id = samples->line[location->first + i].function;
		line[i].line = samples->line[location->first + i].line;
		lines[i] = &line[i];
	}
	message.id = index + 1;
	message.mapping_id = location->mapping;
	message.address = location->several ? 0 : location->address;
	message.n_line = location->nr;
	message.line = lines;
	profile.n_location = 1;
	profile.location = &messages;
	return perch__pprof_put(samples->pprof, &profile);
}

/* ---- stacks of locations ---- */

static bool same_node(const void *nodes, uint32_t index, const void *key)
{
	const struct pprof_node *node = (const struct pprof_node *)nodes + index, *wanted = key;

	return node->parent == wanted->parent && node->location == wanted->location;
}

static uint32_t find_node(struct samples *samples, uint32_t parent, uint32_t location)
{
	const struct pprof_node node = { parent, location };
	uint64_t hash = perch__hash_pair(samples->nodes.seed, parent, location);
	uint32_t found = perch__hash_find(&samples->nodes, hash, same_node, samples->node, &node);

	if (found != PERCH__HASH_NONE)
		return found;
	if (PERCH__ARRAY_RESERVE_BY_NR(samples->node, samples->nr_nodes, 1) ||
	    perch__hash_add(&samples->nodes, hash, samples->nr_nodes))
		return NO_INDEX;
	samples->node[samples->nr_nodes] = node;
	return (uint32_t)samples->nr_nodes++;
}

/* Finds the node of an entry's stack. Callers are found once for each stack. */
static int find_stack(struct samples *samples, uint32_t stack, uint32_t *node)
{
	const struct stack_node *stacks = samples->pprof->export->stack;
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	size_t nr = 0;
	int rc = 0;

	*node = NO_INDEX;
	for (uint32_t at = stack; at != NO_INDEX; at = stacks[at].parent) {
		if (nr && samples->caller[at] != NO_INDEX) {
			*node = samples->caller[at];
			break;
		}
		chain[nr++] = at;
	}
	while (nr--) {
		uint32_t location = find_location(samples, stacks[chain[nr]].address,
						  nr > 0 && stacks[chain[nr]].calls, &rc);

		if (location == NO_INDEX)
			return rc;
		*node = find_node(samples, *node, location);
		if (*node == NO_INDEX)
			return -ENOMEM;
		if (nr)
			samples->caller[chain[nr]] = *node;
	}
	return 0;
}

/* ---- samples ---- */

/* Sorts by thread, then by stack: neighbors have common callers, and compress better. */
static int compare_sums(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

/* Makes the sums of all entries, sorted, each node, thread and event once. Returns their number or
 * a negative errno. */
static int64_t make_sums(struct samples *samples)
{
	const struct perch_export *export = samples->pprof->export;
	size_t nr = 0;

	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[i];
		int rc = find_stack(samples, entry->stack, &samples->sum[i].node);

		if (rc)
			return rc;
		samples->sum[i].thread = entry->thread;
		samples->sum[i].event = entry->event;
		samples->sum[i].samples = entry->samples;
		samples->sum[i].period = entry->period;
	}
	qsort(samples->sum, export->nr_entries, sizeof(*samples->sum), compare_sums);
	for (size_t i = 0; i < export->nr_entries; i++) {
		if (!nr || compare_sums(&samples->sum[nr - 1], &samples->sum[i])) {
			samples->sum[nr++] = samples->sum[i];
			continue;
		}
		samples->sum[nr - 1].samples += samples->sum[i].samples;
		samples->sum[nr - 1].period += samples->sum[i].period;
	}
	return (int64_t)nr;
}

/* Writes a sample. values has a zero for each type of value. */
static int put_sum(const struct samples *samples, const struct sum *sum, int64_t *values,
		   size_t nr_values, const int64_t keys[3])
{
	const struct thread_name *thread = &samples->pprof->export->thread[sum->thread];
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Sample sample = PERCH__PPROF__SAMPLE__INIT, *messages = &sample;
	Perch__Pprof__Label label[3], *labels[3] = { &label[0], &label[1], &label[2] };
	uint64_t location[PERCH_MAX_CALL_CHAIN];
	size_t of_event = 1 + samples->pprof->position[sum->event];
	int rc;

	for (uint32_t at = sum->node; at != NO_INDEX; at = samples->node[at].parent)
		location[sample.n_location_id++] = samples->node[at].location + 1;
	for (size_t i = 0; i < 3; i++) {
		perch__pprof__label__init(&label[i]);
		label[i].key = keys[i];
	}
	label[0].str = perch__pprof_text(samples->pprof, thread->comm);
	label[1].num = thread->pid;
	label[2].num = thread->tid;
	values[0] = (int64_t)sum->samples;
	values[of_event] = (int64_t)sum->period;
	sample.location_id = location;
	sample.n_value = nr_values;
	sample.value = values;
	sample.n_label = 3;
	sample.label = labels;
	profile.n_sample = 1;
	profile.sample = &messages;
	rc = label[0].str < 0 ? (int)label[0].str : perch__pprof_put(samples->pprof, &profile);
	values[0] = values[of_event] = 0;
	return rc;
}

static int put_all(struct samples *samples)
{
	struct pprof *pprof = samples->pprof;
	const int64_t keys[3] = { perch__pprof_text(pprof, "comm"), perch__pprof_text(pprof, "pid"),
				  perch__pprof_text(pprof, "tid") };
	size_t nr_values = 1 + pprof->nr_written;
	int64_t *values = calloc(nr_values, sizeof(*values));
	int64_t nr = values ? make_sums(samples) : -ENOMEM;
	int rc = nr < 0 ? (int)nr : 0;

	for (size_t i = 0; i < 3 && !rc; i++)
		rc = keys[i] < 0 ? (int)keys[i] : 0;
	for (size_t i = 0; i < samples->nr_locations && !rc; i++)
		rc = put_location(samples, i);
	for (int64_t i = 0; i < nr && !rc; i++)
		rc = put_sum(samples, &samples->sum[i], values, nr_values, keys);
	free(values);
	return rc;
}

/* ---- memory ---- */

/* Returns numbers that all are NO_INDEX; NULL if out of memory. */
static uint32_t *new_numbers(size_t nr)
{
	uint32_t *number = malloc((nr + 1) * sizeof(*number));

	for (size_t i = 0; number && i < nr; i++)
		number[i] = NO_INDEX;
	return number;
}

static void close_samples(struct samples *samples)
{
	free(samples->line);
	free(samples->location);
	free(samples->node);
	free(samples->location_of[0]);
	free(samples->location_of[1]);
	free(samples->caller);
	free(samples->sum);
	perch__hash_clear(&samples->locations);
	perch__hash_clear(&samples->nodes);
}

int perch__pprof_samples(struct pprof *pprof)
{
	const struct perch_export *export = pprof->export;
	size_t nr_addresses = perch__export_nr_addresses(export);
	struct samples samples = {
		.pprof = pprof,
		.locations.seed = export->stacks.seed,
		.nodes.seed = export->stacks.seed,
		.location_of = { new_numbers(nr_addresses), new_numbers(nr_addresses) },
		.caller = new_numbers(export->nr_stacks),
		.sum = calloc(export->nr_entries + 1, sizeof(*samples.sum)),
	};
	int rc = -ENOMEM;

	if (samples.location_of[0] && samples.location_of[1] && samples.caller && samples.sum)
		rc = put_all(&samples);
	close_samples(&samples);
	return rc;
}
