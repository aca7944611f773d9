/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's format: the tables that the threads share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "firefox.h"

#define RESOURCE_LIBRARY 1

/* ---- files ---- */

int perch__firefox_number_libs(struct firefox *firefox)
{
	struct perch_symbols *symbols = perch_session_symbols(firefox->export->session);
	struct export_tree *tree = &firefox->tree;
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(firefox->export->session), &dsos);

	firefox->lib = calloc(nr + 1, sizeof(*firefox->lib));
	firefox->libs = calloc(nr + 1, sizeof(*firefox->libs));
	if (!firefox->lib || !firefox->libs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		firefox->lib[i] = NO_INDEX;
	for (size_t i = 0; i < tree->nr_functions; i++) {
		uint32_t dso = tree->function[i].dso, name;

		if (firefox->lib[dso] != NO_INDEX)
			continue;
		name = perch__export_texts_add(&tree->texts,
					       perch_symbols_dso_name(symbols, dsos[dso]));
		if (name == NO_INDEX)
			return -ENOMEM;
		firefox->lib[dso] = (uint32_t)firefox->nr_libs;
		firefox->libs[firefox->nr_libs++] = (struct firefox_lib){ dso, name };
	}
	return 0;
}

/* Writes the build id as text, and as the GUID of Breakpad: its first 16 bytes as three
 * little-endian numbers and 8 bytes, then an age of 0. */
static void put_build_id(struct json_file *file, const struct perch_dso *dso)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	char code_id[2 * sizeof(dso->build_id) + 1] = "", breakpad[34] = "";

	for (size_t i = 0; i < dso->build_id_size && i < sizeof(dso->build_id); i++)
		snprintf(code_id + 2 * i, 3, "%02x", dso->build_id[i]);
	for (size_t i = 0; i < sizeof(order) && dso->build_id_size; i++)
		snprintf(breakpad + 2 * i, 3, "%02X", dso->build_id[order[i]]);
	if (dso->build_id_size)
		strcat(breakpad, "0");
	perch__json_put_text(&file->json, "breakpadId", breakpad);
	if (dso->build_id_size)
		perch__json_put_text(&file->json, "codeId", code_id);
	else
		perch__json_put_null(&file->json, "codeId");
}

void perch__firefox_put_libs(struct firefox *firefox)
{
	struct json_file *file = &firefox->file;
	struct perch_reader *reader = perch_session_reader(firefox->export->session);
	const char *arch = perch_reader_text(reader, PERCH_FEATURE_ARCH);
	const struct perch_dso *const *dsos;

	perch_processes_dsos(perch_session_processes(firefox->export->session), &dsos);
	perch__json_put_array(&file->json, "libs");
	for (size_t i = 0; i < firefox->nr_libs; i++) {
		const struct perch_dso *dso = dsos[firefox->libs[i].dso];
		const char *name = perch__export_text(&firefox->tree.texts, firefox->libs[i].name);

		perch__json_put_object(&file->json, NULL);
		perch__json_put_text(&file->json, "arch", arch ? arch : "");
		perch__json_put_text(&file->json, "name", name);
		perch__json_put_text(&file->json, "path", dso->path);
		perch__json_put_text(&file->json, "debugName", name);
		perch__json_put_text(&file->json, "debugPath", dso->path);
		put_build_id(file, dso);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

int perch__firefox_number_sources(struct firefox *firefox)
{
	const struct export_tree *tree = &firefox->tree;

	firefox->source = calloc(tree->texts.nr + 1, sizeof(*firefox->source));
	firefox->source_text = calloc(tree->nr_functions + 1, sizeof(*firefox->source_text));
	if (!firefox->source || !firefox->source_text)
		return -ENOMEM;
	for (size_t i = 0; i < tree->texts.nr; i++)
		firefox->source[i] = NO_INDEX;
	for (size_t i = 0; i < tree->nr_functions; i++) {
		uint32_t file = tree->function[i].file;

		if (file == NO_INDEX || firefox->source[file] != NO_INDEX)
			continue;
		firefox->source[file] = (uint32_t)firefox->nr_sources;
		firefox->source_text[firefox->nr_sources++] = file;
	}
	return 0;
}

/* ---- columns ---- */

/* A value of a column: the row in, the value out. NO_VALUE is null, NONE is -1. */
#define NO_VALUE UINT64_MAX
#define NONE	 (UINT64_MAX - 1)

typedef uint64_t column_function(const struct firefox *firefox, size_t row);

struct column {
	const char *name;
	column_function *function;
};

static void put_value(struct json_file *file, uint64_t value)
{
	if (value < NONE) {
		perch__json_put_integer(&file->json, NULL, value);
		return;
	}
	perch__json_key(&file->json, NULL);
	perch__output_text(&file->out, value == NONE ? "-1" : "null");
}

/* Writes an array for each column, and the number of rows. */
static void put_columns(struct firefox *firefox, const struct column *columns, size_t nr_columns,
			size_t nr_rows)
{
	struct json_file *file = &firefox->file;

	for (size_t i = 0; i < nr_columns; i++) {
		perch__json_put_array(&file->json, columns[i].name);
		for (size_t row = 0; row < nr_rows; row++)
			put_value(file, columns[i].function(firefox, row));
		perch__json_end(&file->json);
	}
	perch__json_put_integer(&file->json, "length", nr_rows);
}

static void put_table(struct firefox *firefox, const char *name, const struct column *columns,
		      size_t nr_columns, size_t nr_rows)
{
	struct json_file *file = &firefox->file;

	perch__json_put_object(&file->json, name);
	put_columns(firefox, columns, nr_columns, nr_rows);
	perch__json_end(&file->json);
}

#define PUT_TABLE(firefox, name, columns, nr_rows) \
	put_table(firefox, name, columns, sizeof(columns) / sizeof((columns)[0]), nr_rows)

static uint64_t zero(const struct firefox *firefox, size_t row)
{
	(void)firefox, (void)row;
	return 0;
}

static uint64_t no_value(const struct firefox *firefox, size_t row)
{
	(void)firefox, (void)row;
	return NO_VALUE;
}

static uint64_t none(const struct firefox *firefox, size_t row)
{
	(void)firefox, (void)row;
	return NONE;
}

static uint64_t stack_frame(const struct firefox *firefox, size_t row)
{
	return firefox->tree.node[row].frame;
}

static uint64_t stack_prefix(const struct firefox *firefox, size_t row)
{
	uint32_t parent = firefox->tree.node[row].parent;

	return parent == NO_INDEX ? NO_VALUE : parent;
}

static const struct column stack_columns[] = {
	{ "frame", stack_frame },
	{ "prefix", stack_prefix },
};

static const struct export_function *function_of(const struct firefox *firefox, size_t frame)
{
	return &firefox->tree.function[firefox->tree.frame[frame].function];
}

static uint64_t frame_category(const struct firefox *firefox, size_t row)
{
	static const enum category category[] = {
		[FUNCTION_USER] = CATEGORY_USER,
		[FUNCTION_KERNEL] = CATEGORY_KERNEL,
		[FUNCTION_JIT] = CATEGORY_JIT,
		[FUNCTION_UNKNOWN] = CATEGORY_OTHER,
	};
	const struct export_function *function = function_of(firefox, row);

	return function->inlined ? CATEGORY_INLINED : category[function->kind];
}

static uint64_t frame_function(const struct firefox *firefox, size_t row)
{
	return firefox->tree.frame[row].function;
}

static uint64_t frame_inline_depth(const struct firefox *firefox, size_t row)
{
	return function_of(firefox, row)->inlined;
}

static uint64_t frame_line(const struct firefox *firefox, size_t row)
{
	return firefox->tree.frame[row].line ? firefox->tree.frame[row].line : NO_VALUE;
}

static const struct column frame_columns[] = {
	{ "address", none },
	{ "inlineDepth", frame_inline_depth },
	{ "category", frame_category },
	{ "subcategory", zero },
	{ "func", frame_function },
	{ "nativeSymbol", no_value },
	{ "innerWindowID", no_value },
	{ "line", frame_line },
	{ "column", no_value },
};

static uint64_t function_name(const struct firefox *firefox, size_t row)
{
	return firefox->tree.function[row].name;
}

static uint64_t function_resource(const struct firefox *firefox, size_t row)
{
	return firefox->lib[firefox->tree.function[row].dso];
}

static uint64_t function_source(const struct firefox *firefox, size_t row)
{
	uint32_t source = firefox->tree.function[row].file;

	return source == NO_INDEX ? NO_VALUE : firefox->source[source];
}

static const struct column function_columns[] = {
	{ "name", function_name },     { "resource", function_resource },
	{ "source", function_source }, { "lineNumber", no_value },
	{ "columnNumber", no_value },
};

static uint64_t resource_name(const struct firefox *firefox, size_t row)
{
	return firefox->libs[row].name;
}

static uint64_t resource_lib(const struct firefox *firefox, size_t row)
{
	(void)firefox;
	return row;
}

static uint64_t resource_type(const struct firefox *firefox, size_t row)
{
	(void)firefox, (void)row;
	return RESOURCE_LIBRARY;
}

static const struct column resource_columns[] = {
	{ "type", resource_type },
	{ "lib", resource_lib },
	{ "name", resource_name },
	{ "host", no_value },
};

static const struct column symbol_columns[] = {
	{ "libIndex", zero },
	{ "address", zero },
	{ "name", zero },
	{ "functionSize", zero },
};

static uint64_t source_name(const struct firefox *firefox, size_t row)
{
	return firefox->source_text[row];
}

static const struct column source_columns[] = {
	{ "uuid", no_value },
	{ "filename", source_name },
};

/* ---- the tables ---- */

/* The table of functions has two columns of flags, which no function here has. */
static void put_functions(struct firefox *firefox)
{
	static const char *const flags[] = { "isJS", "relevantForJS" };
	struct json_file *file = &firefox->file;
	size_t nr = firefox->tree.nr_functions;

	perch__json_put_object(&file->json, "funcTable");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		perch__json_put_array(&file->json, flags[i]);
		for (size_t row = 0; row < nr; row++)
			perch__json_put_flag(&file->json, NULL, false);
		perch__json_end(&file->json);
	}
	put_columns(firefox, function_columns,
		    sizeof(function_columns) / sizeof(function_columns[0]), nr);
	perch__json_end(&file->json);
}

static void put_texts(struct firefox *firefox)
{
	const struct export_texts *texts = &firefox->tree.texts;
	struct json_file *file = &firefox->file;

	perch__json_put_array(&file->json, "stringArray");
	for (uint32_t i = 0; i < texts->nr; i++)
		perch__json_put_text(&file->json, NULL, perch__export_text(texts, i));
	perch__json_end(&file->json);
}

void perch__firefox_put_tables(struct firefox *firefox)
{
	struct json_file *file = &firefox->file;

	perch__json_put_object(&file->json, "shared");
	PUT_TABLE(firefox, "stackTable", stack_columns, firefox->tree.nr_nodes);
	PUT_TABLE(firefox, "frameTable", frame_columns, firefox->tree.nr_frames);
	put_functions(firefox);
	PUT_TABLE(firefox, "resourceTable", resource_columns, firefox->nr_libs);
	PUT_TABLE(firefox, "nativeSymbols", symbol_columns, 0);
	PUT_TABLE(firefox, "sources", source_columns, firefox->nr_sources);
	put_texts(firefox);
	perch__json_end(&file->json);
}
