/* SPDX-License-Identifier: MIT */
/* The formats, and the functions of perch/export.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/kernel/dummy_event.h"
#include "base/no_memory.h"
#include "base/reserved.h"
#include "internal.h"
#include "export/page/page.h"
#include "schedule.h"

#define FORMAT(name_, extension_, write_, flags_, ...)                                       \
	{                                                                                    \
		.name = (name_), .extension = (extension_),                                  \
		.methods = &(const struct perch_export_format_methods){ .write = (write_),   \
									.flags = (flags_) }, \
		__VA_ARGS__                                                                  \
	}

static const struct perch_export_format_info formats[] = {
	[PERCH_EXPORT_FOLDED] = FORMAT("folded", "folded", perch__export_folded,
				       EXPORT_ONE_EVENT | EXPORT_ANY_THREAD),
	[PERCH_EXPORT_FIREFOX] = FORMAT("firefox", "json.gz", perch__export_firefox, EXPORT_TIMES,
					.binary = true, .markers = true),
	[PERCH_EXPORT_JSON] = FORMAT("json", "json", perch__export_json, 0),
#if PERCH_HAVE_PPROF
	[PERCH_EXPORT_PPROF] =
		FORMAT("pprof", "pb.gz", perch__export_pprof, EXPORT_CGROUPS, .binary = true),
#else
	[PERCH_EXPORT_PPROF] = { .name = "pprof", .extension = "pb.gz", .binary = true },
#endif
	[PERCH_EXPORT_SPEEDSCOPE] =
		FORMAT("speedscope", "speedscope.json", perch__export_speedscope, EXPORT_TIMES),
	[PERCH_EXPORT_PAGE] = FORMAT("page", "html", perch__export_page,
				     EXPORT_TIMES | EXPORT_SCHEDULE | EXPORT_MERGED,
				     .flame_graph = true),
	[PERCH_EXPORT_SVG] = FORMAT("svg", "svg", perch__export_svg, 0, .flame_graph = true),
#if PERCH_HAVE_PPROF
	[PERCH_EXPORT_PERFETTO] = FORMAT("perfetto", "pftrace.gz", perch__export_perfetto,
					 EXPORT_TIMES | EXPORT_SCHEDULE, .binary = true,
					 .timeline = true),
	[PERCH_EXPORT_OTLP] = FORMAT("otlp", "otlp.pb", perch__export_otlp,
				     EXPORT_ANY_THREAD | EXPORT_CGROUPS | EXPORT_MAY_TIME,
				     .binary = true),
#else
	[PERCH_EXPORT_PERFETTO] = { .name = "perfetto", .extension = "pftrace.gz", .binary = true },
	[PERCH_EXPORT_OTLP] = { .name = "otlp", .extension = "otlp.pb", .binary = true },
#endif
};
#define NR_FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct perch_export_format_info *perch_export_formats(size_t *nr)
{
	*nr = NR_FORMATS;
	return formats;
}

static int check_format(enum perch_export_format format, struct perch_error *err)
{
	if ((size_t)format >= NR_FORMATS)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "unknown format %d",
				       (int)format);
	return formats[format].methods ? 0 : perch__export_not_built(formats[format].name, err);
}

static int open_events(struct perch_export *export, struct perch_error *err)
{
	if (perch__export_events_open(export))
		return PERCH__NO_MEMORY(err, "to export");
	return export->options.event ? perch__export_select(export, export->options.event, err) : 0;
}

/* Of selected samples it is not known what a thread did between them. */
static bool has_schedule(const struct perch_export *export)
{
	unsigned flags = export->format->methods->flags;

	return export->session && flags & EXPORT_SCHEDULE &&
	       !(flags & EXPORT_MERGED && export->options.selected);
}

int perch_export_new(struct perch_export **export, struct perch_session *session,
		     enum perch_export_format format, const struct perch_export_options *options,
		     struct perch_error *err)
{
	struct perch_export *new;
	int rc = check_format(format, err);

	*export = NULL;
	if (!rc)
		rc = PERCH__CHECK_RESERVED(options, "perch_export_options", err);
	if (rc)
		return rc;
	new = calloc(1, sizeof(*new));
	if (new)
		new->batches = perch__export_batches_new();
	if (!new || !new->batches) {
		free(new);
		return PERCH__NO_MEMORY(err, "to export");
	}
	new->session = session;
	new->format = &formats[format];
	if (options)
		new->options = *options;
	new->main_event = NO_INDEX;
	new->stacks.seed = perch__hash_seed(new);
	new->threads.seed = new->entries.seed = new->stacks.seed;
	rc = session ? open_events(new, err) : 0;
	if (!rc && has_schedule(new) && perch__schedule_open(new))
		rc = PERCH__NO_MEMORY(err, "to export");
	if (rc) {
		perch_export_free(new);
		return rc;
	}
	*export = new;
	return 0;
}

void perch_export_free(struct perch_export *export)
{
	if (!export)
		return;
	perch__collect_clear(export);
	perch__markers_clear(&export->markers);
	perch__export_events_close(export);
	perch__schedule_close(export);
	if (export->text)
		perch__page_clear(export->text);
	free(export->text);
	free(export);
}

/* ---- samples ---- */

/* Samples are with a thread that this process does not have. */
static bool is_forked(const struct perch_export *export)
{
	return export->batches && perch__export_batches_are_forked(export->batches);
}

int perch_export_add_record(struct perch_export *export, const struct perch_record *record,
			    struct perch_error *err)
{
	int rc = 0;

	if (export->schedule)
		return perch__schedule_add(export, record, err);
	if (export->format->markers)
		rc = perch__markers_add_record(export, record);
	return rc ? PERCH__NO_MEMORY(err, "to export") : 0;
}

int perch_export_add(struct perch_export *export, const struct perch_session_sample *sample,
		     struct perch_error *err)
{
	bool markers = export->format->markers;
	uint32_t event = sample->record->event, thread;
	int rc;

	if (is_forked(export))
		return PERCH__FORK_ERROR(err, "the export");
	rc = export->schedule ? perch__schedule_add(export, sample->record, err) : 0;
	if (rc)
		return rc;

	if (export->options.event && !markers && !export->event[event].selected) {
		export->stats.other++;
		return perch__export_batches_skip(export, sample)
			       ? PERCH__NO_MEMORY(err, "to export")
			       : 0;
	}
	rc = perch__collect_add(export, sample, &thread);
	if (!rc && markers && sample->event->attr.type == PERCH_TYPE_TRACEPOINT)
		rc = perch__markers_add_sample(export, sample, thread);
	if (rc)
		return PERCH__NO_MEMORY(err, "to export");
	export->event[export->event[event].leader].samples++;
	export->stats.samples++;
	return 0;
}

/* ---- the file ---- */

/* Chooses the event of formats that show one. */
static void choose_event(struct perch_export *export)
{
	if (!export->session)
		return;
	export->main_event = perch__export_main_event(export);
	if (export->format->methods->flags & EXPORT_ONE_EVENT && export->main_event != NO_INDEX)
		for (uint32_t i = 0; i < export->nr_events; i++)
			export->stats.other += i != export->main_event ? export->event[i].samples
								       : 0;
}

int perch_export_write(struct perch_export *export, FILE *out, struct perch_error *err)
{
	int rc;

	if (is_forked(export) || (export->options.old && is_forked(export->options.old)))
		return PERCH__FORK_ERROR(err, "the export");
	if (perch__export_batches_end(export) ||
	    (export->options.old && perch__export_batches_end(export->options.old)))
		return PERCH__NO_MEMORY(err, "to export");
	export->stats.stacks = export->nr_entries;
	choose_event(export);
	if (export->options.old)
		choose_event(export->options.old);
	perch__collect_callers(export);
	if (export->options.old)
		perch__collect_callers(export->options.old);
	rc = export->format->methods->write(export, out, err);
	return rc ? rc : perch__export_flush(out, err);
}

void perch_export_get_stats(const struct perch_export *export, struct perch_export_stats *stats)
{
	*stats = export->stats;
	stats->stacks += export->text ? export->text->nr_entries : 0;
}

uint64_t perch_export_uncertain(const struct perch_export *export)
{
	return export->schedule ? export->schedule->uncertain : 0;
}
