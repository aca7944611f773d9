/* SPDX-License-Identifier: MIT */
/*
 * JSON for scripts: the functions, the tree of stacks, the samples of each node by thread and
 * event, and rows with the sums of each function. Values refer to others by their index in an
 * array, so the depth of stacks does not limit readers. perch-export(1) describes the members.
 */
#include <errno.h>
#include <stdlib.h>
#include <perch/version.h>

#include "internal.h"

#define FORMAT_VERSION 1

static const char *const kind_names[] = {
	[FUNCTION_USER] = "user",
	[FUNCTION_KERNEL] = "kernel",
	[FUNCTION_JIT] = "jit",
	[FUNCTION_UNKNOWN] = "unknown",
};

/* The sums of an event, by node and then by function. */
struct sums {
	uint64_t samples, period;
};

struct event_sums {
	struct sums all;
	struct sums *self, *total; /* by node */
	struct sums *function_self, *function_total;
};

/* ---- sums ---- */

static void add_sums(struct sums *to, const struct sums *sums)
{
	to->samples += sums->samples;
	to->period += sums->period;
}

/* True if a caller of a node is the same function. */
static bool is_recursive(const struct export_tree *tree, uint32_t node)
{
	uint32_t function = tree->frame[tree->node[node].frame].function;

	for (uint32_t at = tree->node[node].parent; at != NO_INDEX; at = tree->node[at].parent)
		if (tree->frame[tree->node[at].frame].function == function)
			return true;
	return false;
}

/* Adds up an event. A function counts once for a stack, however often it is there. */
static void add_up(const struct perch_export *export, const struct export_tree *tree,
		   uint32_t event, struct event_sums *sums)
{
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[i];
		const struct sums one = { entry->samples, entry->period };

		if (entry->event != event)
			continue;
		add_sums(&sums->all, &one);
		if (tree->leaf[i] == NO_INDEX)
			continue;
		add_sums(&sums->self[tree->leaf[i]], &one);
		add_sums(&sums->total[tree->leaf[i]], &one);
	}
	for (size_t i = tree->nr_nodes; i--;) {
		uint32_t parent = tree->node[i].parent;
		uint32_t function = tree->frame[tree->node[i].frame].function;

		if (!sums->total[i].samples)
			continue;
		if (parent != NO_INDEX)
			add_sums(&sums->total[parent], &sums->total[i]);
		add_sums(&sums->function_self[function], &sums->self[i]);
		if (!is_recursive(tree, (uint32_t)i))
			add_sums(&sums->function_total[function], &sums->total[i]);
	}
}

/* ---- the parts of the file ---- */

static void put_functions(struct json_file *file, const struct perch_export *export,
			  const struct export_tree *tree)
{
	struct perch_symbols *symbols = perch_session_symbols(export->session);
	const struct perch_dso *const *dsos;

	perch_processes_dsos(perch_session_processes(export->session), &dsos);
	perch__json_put_array(&file->json, "functions");
	for (size_t i = 0; i < tree->nr_functions; i++) {
		const struct export_function *function = &tree->function[i];

		perch__json_put_object(&file->json, NULL);
		perch__json_put_text(&file->json, "name",
				     perch__export_text(&tree->texts, function->name));
		perch__json_put_text(&file->json, "dso",
				     perch_symbols_dso_name(symbols, dsos[function->dso]));
		if (function->file != NO_INDEX)
			perch__json_put_text(&file->json, "file",
					     perch__export_text(&tree->texts, function->file));
		perch__json_put_text(&file->json, "kind", kind_names[function->kind]);
		perch__json_put_flag(&file->json, "inlined", function->inlined);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

static void put_threads(struct json_file *file, const struct perch_export *export)
{
	perch__json_put_array(&file->json, "threads");
	for (size_t i = 0; i < export->nr_threads; i++) {
		const struct thread_name *thread = &export->thread[i];

		perch__json_put_object(&file->json, NULL);
		perch__json_put_integer(&file->json, "pid", thread->pid);
		perch__json_put_integer(&file->json, "tid", thread->tid);
		perch__json_put_text(&file->json, "comm", thread->comm);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

static void put_tree(struct json_file *file, const struct export_tree *tree)
{
	perch__json_put_array(&file->json, "tree");
	for (size_t i = 0; i < tree->nr_nodes; i++) {
		const struct export_node *node = &tree->node[i];
		const struct export_frame *frame = &tree->frame[node->frame];

		perch__json_put_object(&file->json, NULL);
		if (node->parent == NO_INDEX)
			perch__json_put_null(&file->json, "parent");
		else
			perch__json_put_integer(&file->json, "parent", node->parent);
		perch__json_put_integer(&file->json, "function", frame->function);
		if (frame->line)
			perch__json_put_integer(&file->json, "line", frame->line);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

static void put_samples(struct json_file *file, const struct perch_export *export,
			const struct export_tree *tree, const uint32_t *position)
{
	perch__json_put_array(&file->json, "samples");
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[i];

		perch__json_put_object(&file->json, NULL);
		if (tree->leaf[i] == NO_INDEX)
			perch__json_put_null(&file->json, "node");
		else
			perch__json_put_integer(&file->json, "node", tree->leaf[i]);
		perch__json_put_integer(&file->json, "thread", entry->thread);
		perch__json_put_integer(&file->json, "event", position[entry->event]);
		perch__json_put_integer(&file->json, "samples", entry->samples);
		perch__json_put_integer(&file->json, "period", entry->period);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

static void put_sums(struct json_file *file, const char *name, const struct sums *sums)
{
	perch__json_put_object(&file->json, name);
	perch__json_put_integer(&file->json, "samples", sums->samples);
	perch__json_put_integer(&file->json, "period", sums->period);
	perch__json_end(&file->json);
}

/* Writes the functions of an event that have samples. order has space for all functions. */
static void put_rows(struct json_file *file, const struct export_tree *tree,
		     const struct event_sums *sums)
{
	perch__json_put_array(&file->json, "rows");
	for (size_t i = 0; i < tree->nr_functions; i++) {
		if (!sums->function_total[i].samples)
			continue;
		perch__json_put_object(&file->json, NULL);
		perch__json_put_integer(&file->json, "function", i);
		put_sums(file, "self", &sums->function_self[i]);
		put_sums(file, "total", &sums->function_total[i]);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

static int put_event(struct json_file *file, const struct perch_export *export,
		     const struct export_tree *tree, const struct perch_file_event *event,
		     uint32_t index)
{
	size_t nodes = tree->nr_nodes, functions = tree->nr_functions;
	struct sums *memory = calloc(2 * nodes + 2 * functions + 1, sizeof(*memory));
	struct event_sums sums = { .self = memory };

	if (!memory)
		return -ENOMEM;
	sums.total = sums.self + nodes;
	sums.function_self = sums.total + nodes;
	sums.function_total = sums.function_self + functions;
	add_up(export, tree, index, &sums);
	perch__json_put_object(&file->json, NULL);
	perch__json_put_text(&file->json, "name", perch__export_event_name(export, index));
	perch__json_put_text(&file->json, "unit", perch__export_unit(event));
	perch__json_put_integer(&file->json, "samples", sums.all.samples);
	perch__json_put_integer(&file->json, "period", sums.all.period);
	put_rows(file, tree, &sums);
	perch__json_end(&file->json);
	free(memory);
	return 0;
}

static int put_events(struct json_file *file, const struct perch_export *export,
		      const struct export_tree *tree, const uint32_t *position)
{
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &event);
	int rc = 0;

	perch__json_put_array(&file->json, "events");
	for (size_t i = 0; i < nr && !rc; i++)
		if (position[i] != NO_INDEX)
			rc = put_event(file, export, tree, &event[i], (uint32_t)i);
	perch__json_end(&file->json);
	return rc;
}

static int put_file(struct json_file *file, const struct perch_export *export,
		    const struct export_tree *tree)
{
	size_t nr_written;
	uint32_t *position = perch__export_event_positions(export, &nr_written);
	int rc;

	if (!position)
		return -ENOMEM;
	perch__json_begin_object(&file->json);
	perch__json_put_integer(&file->json, "version", FORMAT_VERSION);
	perch__json_put_text(&file->json, "exporter", "perch " PERCH_VERSION_STRING);
	if (export->last_time) {
		perch__json_put_integer(&file->json, "first_time_ns", export->first_time);
		perch__json_put_integer(&file->json, "last_time_ns", export->last_time);
	}
	put_threads(file, export);
	put_functions(file, export, tree);
	put_tree(file, tree);
	put_samples(file, export, tree, position);
	rc = put_events(file, export, tree, position);
	perch__json_end(&file->json);
	free(position);
	return rc;
}

int perch__export_json(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct export_tree tree = { 0 };
	struct json_file file;
	int rc = perch__json_file_open(&file, out);

	if (!rc)
		rc = perch__export_tree(export, EXPORT_EACH_LINE, &tree);
	if (!rc)
		rc = put_file(&file, export, &tree);
	perch__export_tree_clear(&tree);
	return perch__json_file_close(&file, rc, err);
}
