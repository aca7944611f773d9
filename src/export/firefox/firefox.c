/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's format: the file, facts about the recording, and the kinds of markers. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <perch/version.h>

#include "base/kernel/off_cpu_event.h"
#include "firefox.h"

#define FORMAT_VERSION	     60 /* "preprocessedProfileVersion" */
#define GECKO_FORMAT_VERSION 24 /* "version", which the profiler ignores here */
#define NS_PER_S	     1000000000u
#define NS_PER_MS	     1000000u

/* ---- kinds of markers ---- */

struct schema_field {
	const char *key, *label, *format;
};

static const struct marker_schema {
	const char *type, *name, *label;
	struct schema_field field[3];
} marker_schemas[] = {
	[MARKER_OFF_CPU] = { "off-cpu",
			     "off CPU",
			     "off CPU: {marker.data.reason}",
			     { { "reason", "Reason", "string" } } },
	[MARKER_MAPPING] = { "mmap",
			     "mmap",
			     "{marker.data.file}",
			     { { "file", "File", "file-path" },
			       { "address", "Address", "string" },
			       { "bytes", "Bytes", "bytes" } } },
	[MARKER_LOST] = { "lost",
			  "lost records",
			  "{marker.data.records} lost records",
			  { { "records", "Records", "integer" } } },
};

static void put_field(struct json_file *file, const struct schema_field *field)
{
	perch__json_put_object(&file->json, NULL);
	perch__json_put_text(&file->json, "key", field->key);
	perch__json_put_text(&file->json, "label", field->label);
	perch__json_put_text(&file->json, "format", field->format);
	perch__json_end(&file->json);
}

static void begin_schema(struct json_file *file, const char *type, const char *label)
{
	static const char *const displays[] = { "marker-chart", "marker-table",
						"timeline-overview" };

	perch__json_put_object(&file->json, NULL);
	perch__json_put_text(&file->json, "name", type);
	perch__json_put_text(&file->json, "tableLabel", label);
	perch__json_put_text(&file->json, "tooltipLabel", label);
	perch__json_put_array(&file->json, "display");
	for (size_t i = 0; i < sizeof(displays) / sizeof(displays[0]); i++)
		perch__json_put_text(&file->json, NULL, displays[i]);
	perch__json_end(&file->json);
	perch__json_put_array(&file->json, "fields");
}

static void end_schema(struct json_file *file)
{
	perch__json_end(&file->json);
	perch__json_end(&file->json);
}

static void put_trace_fields(struct firefox *firefox, const struct perch_file_event *event)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *field;
	size_t nr;

	if (perch_session_format(firefox->export->session, event, &format, NULL))
		return;
	nr = perch_tracepoint_format_fields(format, &field);
	for (size_t i = 0; i < nr; i++) {
		const struct schema_field named = { field[i].name, field[i].name, "string" };

		if (!field[i].is_common)
			put_field(&firefox->file, &named);
	}
}

static void put_schemas(struct firefox *firefox)
{
	static const struct schema_field period = { "period", "Period", "integer" };
	struct json_file *file = &firefox->file;
	char type[32];

	perch__json_put_array(&file->json, "markerSchema");
	for (size_t i = 0; i < MARKER_EVENT; i++) {
		const struct marker_schema *schema = &marker_schemas[i];

		begin_schema(file, schema->type, schema->label);
		for (size_t j = 0; j < 3 && schema->field[j].key; j++)
			put_field(file, &schema->field[j]);
		end_schema(file);
	}
	for (size_t i = 0; i < firefox->nr_events; i++) {
		if (firefox->written[i] == NO_INDEX)
			continue;
		snprintf(type, sizeof(type), "event-%zu", i);
		begin_schema(file, type, firefox->event[i].name);
		if (firefox->event[i].attr.type == PERCH_TYPE_TRACEPOINT)
			put_trace_fields(firefox, &firefox->event[i]);
		else
			put_field(file, &period);
		end_schema(file);
	}
	perch__json_end(&file->json);
}

/* Adds the names of markers to the texts. Returns 0 or -ENOMEM. */
static int name_markers(struct firefox *firefox)
{
	struct export_texts *texts = &firefox->tree.texts;

	firefox->marker_name =
		calloc(MARKER_EVENT + firefox->nr_events, sizeof(*firefox->marker_name));
	if (!firefox->marker_name)
		return -ENOMEM;
	for (size_t i = 0; i < MARKER_EVENT + firefox->nr_events; i++) {
		const char *name = i < MARKER_EVENT
					   ? marker_schemas[i].name
					   : perch__export_event_name(firefox->export,
								      (uint32_t)i - MARKER_EVENT);

		if (i >= MARKER_EVENT && firefox->written[i - MARKER_EVENT] == NO_INDEX)
			continue;
		firefox->marker_name[i] = perch__export_texts_add(texts, name);
		if (firefox->marker_name[i] == NO_INDEX)
			return -ENOMEM;
	}
	return 0;
}

/* ---- facts about the recording ---- */

static void put_categories(struct json_file *file)
{
	static const struct {
		const char *name, *color;
	} categories[] = {
		[CATEGORY_OTHER] = { "Other", "grey" },
		[CATEGORY_USER] = { "User", "yellow" },
		[CATEGORY_KERNEL] = { "Kernel", "orange" },
		[CATEGORY_JIT] = { "JIT", "purple" },
		[CATEGORY_INLINED] = { "Inlined", "lightblue" },
	};

	perch__json_put_array(&file->json, "categories");
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		perch__json_put_object(&file->json, NULL);
		perch__json_put_text(&file->json, "name", categories[i].name);
		perch__json_put_text(&file->json, "color", categories[i].color);
		perch__json_put_array(&file->json, "subcategories");
		perch__json_put_text(&file->json, NULL, "Other");
		perch__json_end(&file->json);
		perch__json_end(&file->json);
	}
	perch__json_end(&file->json);
}

/* The time between two samples of the main event; 1 ms if it is unknown. */
static uint64_t interval_of(const struct firefox *firefox)
{
	const struct perch_file_event *event;
	const struct perch_attr *attr;

	if (firefox->export->main_event == NO_INDEX)
		return NS_PER_MS;
	event = &firefox->event[firefox->export->main_event];
	attr = &event->attr;
	if (attr->freq)
		return attr->sample_freq ? NS_PER_S / attr->sample_freq : NS_PER_MS;
	/* a sample of off-CPU time has its own */
	return perch__export_unit(event)[0] == 'n' && !perch__is_off_cpu(event)
		       ? attr->sample_period
		       : NS_PER_MS;
}

static void put_text_feature(struct firefox *firefox, const char *name, enum perch_feature feature)
{
	const char *text =
		perch_reader_text(perch_session_reader(firefox->export->session), feature);

	if (text)
		perch__json_put_text(&firefox->file.json, name, text);
}

static void put_extensions(struct json_file *file)
{
	static const char *const columns[] = { "baseURL", "id", "name" };

	perch__json_put_object(&file->json, "extensions");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		perch__json_put_array(&file->json, columns[i]);
		perch__json_end(&file->json);
	}
	perch__json_put_integer(&file->json, "length", 0);
	perch__json_end(&file->json);
}

static void put_meta(struct firefox *firefox)
{
	struct json_file *file = &firefox->file;
	const struct perch_export *export = firefox->export;

	perch__json_put_object(&file->json, "meta");
	perch__json_put_integer(&file->json, "version", GECKO_FORMAT_VERSION);
	perch__json_put_integer(&file->json, "preprocessedProfileVersion", FORMAT_VERSION);
	perch__json_put_text(&file->json, "product",
			     export->nr_threads ? export->thread[firefox->sorted[0]].comm
						: "recording");
	perch__json_put_text(&file->json, "importedFrom", "perch " PERCH_VERSION_STRING);
	perch__json_put_ms(file, "interval", interval_of(firefox));
	perch__json_put_ms(file, "startTime", perch__export_time_of_day(export, firefox->start));
	perch__json_put_integer(&file->json, "processType", 0);
	perch__json_put_integer(&file->json, "stackwalk", 1);
	perch__json_put_flag(&file->json, "debug", false);
	perch__json_put_flag(&file->json, "symbolicated", true);
	perch__json_put_flag(&file->json, "usesOnlyOneStackType", true);
	perch__json_put_flag(&file->json, "sourceCodeIsNotOnSearchfox", true);
	put_text_feature(firefox, "oscpu", PERCH_FEATURE_OSRELEASE);
	put_text_feature(firefox, "CPUName", PERCH_FEATURE_CPUDESC);
	put_text_feature(firefox, "device", PERCH_FEATURE_HOSTNAME);
	put_extensions(file);
	put_categories(file);
	put_schemas(firefox);
	perch__json_end(&file->json);
}

/* ---- the file ---- */

static int put_file(struct firefox *firefox)
{
	int rc;

	perch__json_begin_object(&firefox->file.json);
	put_meta(firefox);
	perch__firefox_put_libs(firefox);
	perch__firefox_put_tables(firefox);
	rc = perch__firefox_put_threads(firefox);
	if (!rc)
		rc = perch__firefox_put_counters(firefox);
	perch__json_end(&firefox->file.json);
	return rc;
}

static uint64_t first_time(const struct perch_export *export)
{
	uint64_t first = export->first_time;

	for (size_t i = 0; i < export->markers.nr; i++)
		if (!first || export->markers.marker[i].start < first)
			first = export->markers.marker[i].start;
	return first;
}

static int prepare_tables(struct firefox *firefox)
{
	struct perch_export *export = firefox->export;
	size_t nr_written;
	int rc = perch__markers_end(export);

	firefox->written = perch__export_event_positions(export, &nr_written);
	if (!firefox->written)
		return -ENOMEM;
	firefox->nr_events =
		perch_reader_events(perch_session_reader(export->session), &firefox->event);
	firefox->start = first_time(export);
	if (!rc)
		rc = perch__export_tree(export, EXPORT_EACH_LINE, &firefox->tree);
	if (!rc)
		rc = perch__export_tracks(export, &firefox->tracks);
	if (!rc)
		rc = perch__firefox_number_libs(firefox);
	if (!rc)
		rc = perch__firefox_number_sources(firefox);
	if (!rc)
		rc = name_markers(firefox);
	return rc ? rc : perch__firefox_sort_threads(firefox);
}

static void close_firefox(struct firefox *firefox)
{
	perch__export_tree_clear(&firefox->tree);
	perch__export_tracks_clear(&firefox->tracks);
	free(firefox->written);
	free(firefox->lib);
	free(firefox->libs);
	free(firefox->source);
	free(firefox->source_text);
	free(firefox->marker_name);
	free(firefox->sorted);
	free(firefox->position);
	free(firefox->main);
}

static ssize_t write_compressed(void *gzip, const char *bytes, size_t size)
{
	perch__gzip_write(gzip, bytes, size);
	return (ssize_t)size;
}

int perch__export_firefox(struct perch_export *export, FILE *out, struct perch_error *err)
{
	const cookie_io_functions_t functions = { .write = write_compressed };
	struct firefox firefox = { .export = export };
	struct gzip *gzip = perch__gzip_open(out, export->options.threads);
	FILE *compressed = gzip ? fopencookie(gzip, "w", functions) : NULL;
	int rc = compressed ? perch__json_file_open(&firefox.file, compressed) : -ENOMEM;
	int error;

	if (!rc)
		rc = prepare_tables(&firefox);
	if (!rc)
		rc = put_file(&firefox);
	rc = perch__json_file_close(&firefox.file, rc, err);
	close_firefox(&firefox);
	if (compressed)
		fclose(compressed);
	error = perch__gzip_close(gzip);
	return !rc && error ? perch__export_cannot_write(error, err) : rc;
}
