/* SPDX-License-Identifier: MIT */
/*
 * Samples by address, then by function and offset. Addresses are counted in the order of their
 * first use; perch_annotation_finish() finds their functions and sorts them by function.
 */
#include <string.h>
#include <perch/annotation.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"

/* The samples of an event at an address of a DSO. */
struct address_count {
	const struct perch_dso *dso;
	uint64_t offset;
	uint64_t samples, period;
	uint32_t event;
	const struct perch_symbol *symbol; /* after perch_annotation_finish(); NULL if unknown */
};

struct perch_annotation {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch__hash_table by_address;
	struct address_count *count;
	size_t nr_counts, counts_capacity;
	struct perch_annotation_total *total; /* by event */
	size_t nr_totals;
	struct perch_annotation_point *point;	   /* of all functions, one after the other */
	struct perch_annotated_function *function; /* in the order of their points */
	size_t nr_functions, functions_capacity;
	struct perch_annotated_function *sorted;
};

static int is_finished(struct perch_error *err)
{
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "samples cannot be added: the annotation is finished");
}

int perch_annotation_new(struct perch_annotation **result, struct perch_processes *processes,
			 struct perch_symbols *symbols, struct perch_error *err)
{
	struct perch_annotation *annotation = calloc(1, sizeof(*annotation));

	*result = annotation;
	if (!annotation)
		return PERCH__NO_MEMORY(err, "for the annotation");
	annotation->processes = processes;
	annotation->symbols = symbols;
	annotation->by_address.seed = perch__hash_seed(annotation);
	return 0;
}

void perch_annotation_free(struct perch_annotation *annotation)
{
	if (!annotation)
		return;
	perch__hash_clear(&annotation->by_address);
	free(annotation->count);
	free(annotation->total);
	free(annotation->point);
	free(annotation->function);
	free(annotation->sorted);
	free(annotation);
}

static bool same_count(const void *items, uint32_t index, const void *key)
{
	const struct address_count *count = (const struct address_count *)items + index,
				   *wanted = key;

	return count->offset == wanted->offset && count->dso == wanted->dso &&
	       count->event == wanted->event;
}

/* Returns the count of an address, which may be new, or NULL if out of memory. */
static struct address_count *get_count(struct perch_annotation *annotation,
				       const struct address_count *wanted)
{
	uint64_t hash = perch__hash_pair(annotation->by_address.seed,
					 (uint64_t)wanted->dso->index << 32 | wanted->event,
					 wanted->offset);
	uint32_t index = perch__hash_find(&annotation->by_address, hash, same_count,
					  annotation->count, wanted);

	if (index != PERCH__HASH_NONE)
		return &annotation->count[index];
	index = (uint32_t)annotation->nr_counts;
	if (PERCH__ARRAY_RESERVE_MAX(annotation->count, annotation->counts_capacity,
				     annotation->nr_counts + 1, PERCH__HASH_MAX) ||
	    perch__hash_add(&annotation->by_address, hash, index))
		return NULL;
	annotation->count[index] = *wanted;
	annotation->nr_counts++;
	return &annotation->count[index];
}

int perch_annotation_add(struct perch_annotation *annotation, const struct perch_record *record,
			 struct perch_error *err)
{
	struct perch_thread *thread;
	struct perch_location location;
	struct address_count wanted = { .event = record->event };
	struct address_count *count;

	if (record->type != PERCH_RECORD_SAMPLE)
		return 0;
	if (annotation->sorted)
		return is_finished(err);
	thread = perch_processes_thread(annotation->processes, record->sample.pid,
					record->sample.tid);
	if (!thread || PERCH__ARRAY_RESERVE_ZEROED(annotation->total, annotation->nr_totals,
						   (size_t)record->event + 1))
		return PERCH__NO_MEMORY(err, "for the annotation");
	perch_processes_resolve(annotation->processes, thread,
				record->misc & PERCH_MISC_CPUMODE_MASK, record->sample.ip,
				&location);
	wanted.dso = location.dso;
	wanted.offset = location.offset;
	count = get_count(annotation, &wanted);
	if (!count)
		return PERCH__NO_MEMORY(err, "for the annotation");
	count->samples++;
	count->period += record->sample.period;
	annotation->total[record->event].samples++;
	annotation->total[record->event].period += record->sample.period;
	return 0;
}

int perch_annotation_merge(struct perch_annotation *annotation,
			   const struct perch_annotation *other, struct perch_error *err)
{
	if (annotation->sorted || other->sorted)
		return is_finished(err);
	if (PERCH__ARRAY_RESERVE_ZEROED(annotation->total, annotation->nr_totals, other->nr_totals))
		return PERCH__NO_MEMORY(err, "for the annotation");
	for (size_t i = 0; i < other->nr_totals; i++) {
		annotation->total[i].samples += other->total[i].samples;
		annotation->total[i].period += other->total[i].period;
	}
	for (size_t i = 0; i < other->nr_counts; i++) {
		struct address_count wanted = other->count[i], *count;

		wanted.samples = wanted.period = 0;
		count = get_count(annotation, &wanted);
		if (!count)
			return PERCH__NO_MEMORY(err, "for the annotation");
		count->samples += other->count[i].samples;
		count->period += other->count[i].period;
	}
	return 0;
}

/* ---- functions ---- */

/* By function: those without one last. A function is of one DSO, and has one object. */
static int compare_counts(const void *a, const void *b)
{
	const struct address_count *x = a, *y = b;

	if (!x->symbol || !y->symbol)
		return !x->symbol - !y->symbol;
	if (x->symbol != y->symbol)
		return x->symbol->index < y->symbol->index ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->event == y->event ? 0 : x->event < y->event ? -1 : 1;
}

static int add_point(struct perch_annotation *annotation, const struct address_count *count,
		     size_t at)
{
	struct perch_annotated_function *last =
		annotation->nr_functions ? &annotation->function[annotation->nr_functions - 1]
					 : NULL;

	if (!last || last->symbol != count->symbol) {
		last = PERCH__ARRAY_APPEND(annotation->function, annotation->nr_functions,
					   annotation->functions_capacity);
		if (!last)
			return -ENOMEM;
		last->symbol = count->symbol;
		last->point = &annotation->point[at];
	}
	annotation->point[at] = (struct perch_annotation_point){
		.offset = count->offset - count->symbol->start,
		.samples = count->samples,
		.period = count->period,
		.event = count->event,
	};
	last->nr++;
	return 0;
}

int perch_annotation_finish(struct perch_annotation *annotation, struct perch_error *err)
{
	perch__hash_clear(&annotation->by_address);
	for (size_t i = 0; i < annotation->nr_counts; i++) {
		struct address_count *count = &annotation->count[i];

		/* the events of an address are mostly counted one after the other */
		if (i && count[-1].dso == count->dso && count[-1].offset == count->offset)
			count->symbol = count[-1].symbol;
		else
			count->symbol =
				perch_symbols_find(annotation->symbols, count->dso, count->offset);
		if (count->symbol)
			continue;
		annotation->total[count->event].nameless_samples += count->samples;
		annotation->total[count->event].nameless_period += count->period;
	}
	if (annotation->nr_counts)
		qsort(annotation->count, annotation->nr_counts, sizeof(*annotation->count),
		      compare_counts);
	annotation->point = calloc(annotation->nr_counts + 1, sizeof(*annotation->point));
	if (!annotation->point)
		return PERCH__NO_MEMORY(err, "for the annotation");
	for (size_t i = 0; i < annotation->nr_counts && annotation->count[i].symbol; i++)
		if (add_point(annotation, &annotation->count[i], i))
			return PERCH__NO_MEMORY(err, "for the annotation");
	free(annotation->count);
	annotation->count = NULL;
	annotation->nr_counts = annotation->counts_capacity = 0;
	annotation->sorted = calloc(annotation->nr_functions + 1, sizeof(*annotation->sorted));
	return annotation->sorted ? 0 : PERCH__NO_MEMORY(err, "for the annotation");
}

void perch_annotation_get_total(const struct perch_annotation *annotation, unsigned event,
				struct perch_annotation_total *total)
{
	*total = event < annotation->nr_totals ? annotation->total[event]
					       : (struct perch_annotation_total){ 0 };
}

static int compare_functions(const void *a, const void *b)
{
	const struct perch_annotated_function *x = a, *y = b;

	if (x->period != y->period)
		return x->period > y->period ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->symbol->dso != y->symbol->dso)
		return x->symbol->dso->index < y->symbol->dso->index ? -1 : 1;
	return x->symbol->start == y->symbol->start  ? 0
	       : x->symbol->start < y->symbol->start ? -1
						     : 1;
}

int perch_annotation_functions(struct perch_annotation *annotation, unsigned event,
			       const struct perch_annotated_function **functions, size_t *nr,
			       struct perch_error *err)
{
	*functions = annotation->sorted;
	*nr = 0;
	if (!annotation->sorted)
		return PERCH__NO_MEMORY(err, "for the annotation");
	for (size_t i = 0; i < annotation->nr_functions; i++) {
		struct perch_annotated_function *copy = &annotation->sorted[*nr];

		*copy = annotation->function[i];
		for (size_t j = 0; j < copy->nr; j++) {
			if (event != PERCH_ANNOTATION_ALL_EVENTS && copy->point[j].event != event)
				continue;
			copy->samples += copy->point[j].samples;
			copy->period += copy->point[j].period;
		}
		*nr += copy->samples > 0;
	}
	if (*nr)
		qsort(annotation->sorted, *nr, sizeof(*annotation->sorted), compare_functions);
	return 0;
}
