/* SPDX-License-Identifier: MIT */
/* The formats, and the functions of perch/export.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/dummy_event.h"
#include "base/reserved.h"
#include "internal.h"
#include "page.h"

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");
}

static const struct export_format formats[] = {
	[PERCH_EXPORT_FOLDED] = { perch__export_folded, EXPORT_ONE_EVENT | EXPORT_ANY_THREAD },
#if PERCH_HAVE_PPROF
	[PERCH_EXPORT_PPROF] = { perch__export_pprof },
#else
	[PERCH_EXPORT_PPROF] = { .missing = "pprof",
				 .remedy = "build it with libprotobuf-c and protoc-c" },
#endif
	[PERCH_EXPORT_SPEEDSCOPE] = { perch__export_speedscope, EXPORT_TIMES },
	[PERCH_EXPORT_JSON] = { perch__export_json },
	[PERCH_EXPORT_FIREFOX] = { perch__export_firefox, EXPORT_TIMES | EXPORT_MARKERS },
	[PERCH_EXPORT_PAGE] = { perch__export_page, EXPORT_TIMES | EXPORT_TEXT },
	[PERCH_EXPORT_SVG] = { perch__export_svg, EXPORT_TEXT },
};

static int check_format(enum perch_export_format format, struct perch_error *err)
{
	if ((size_t)format >= sizeof(formats) / sizeof(formats[0]))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "unknown format %d",
				       (int)format);
	if (formats[format].write)
		return 0;
	perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
			"this build of perch has no %s format", formats[format].missing);
	perch_error_remedy(err, "%s", formats[format].remedy);
	return -ENOTSUP;
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
		new->batch = perch__export_batch_new();
	if (!new || !new->batch) {
		free(new);
		return no_memory(err);
	}
	new->session = session;
	new->format = &formats[format];
	if (options)
		new->options = *options;
	new->first_event = NO_INDEX;
	new->stacks.seed = perch__hash_seed(new);
	new->threads.seed = new->entries.seed = new->stacks.seed;
	*export = new;
	return 0;
}

void perch_export_free(struct perch_export *export)
{
	if (!export)
		return;
	perch__collect_clear(export);
	perch__markers_clear(&export->markers);
	if (export->text)
		perch__page_clear(export->text);
	free(export->text);
	free(export);
}

/* ---- samples ---- */

/* Returns the first event that is no dummy, and no tracepoint if those are markers; if there is
 * none, the event of the first sample. */
static uint32_t main_event(const struct perch_export *export, uint32_t sampled)
{
	bool markers = export->format->flags & EXPORT_MARKERS;
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &event);

	for (uint32_t i = 0; i < nr; i++) {
		const struct perch_attr *attr = &event[i].attr;

		if (!perch__is_dummy(attr) && !(markers && attr->type == PERCH_TYPE_TRACEPOINT))
			return i;
	}
	return sampled;
}

/* True for a sample that is a marker: of a tracepoint, or of an event that the format cannot have
 * beside the first one. Counts of groups become counters. */
static bool is_marker(const struct perch_export *export, const struct perch_session_sample *sample)
{
	if (sample->event->attr.type == PERCH_TYPE_TRACEPOINT)
		return true;
	return sample->record->event != export->first_event &&
	       !(sample->event->attr.sample_type & PERCH_SAMPLE_READ);
}

int perch_export_add_record(struct perch_export *export, const struct perch_record *record,
			    struct perch_error *err)
{
	int rc = 0;

	if (export->format->flags & EXPORT_MARKERS)
		rc = perch__markers_add_record(export, record);
	return rc ? no_memory(err) : 0;
}

int perch_export_add(struct perch_export *export, const struct perch_session_sample *sample,
		     struct perch_error *err)
{
	unsigned flags = export->format->flags;
	uint32_t event = sample->record->event, thread;
	int rc;

	if (export->first_event == NO_INDEX)
		export->first_event = flags & EXPORT_ONE_EVENT && export->options.event
					      ? (uint32_t)(export->options.event - 1)
					      : main_event(export, event);
	if (flags & EXPORT_ONE_EVENT && event != export->first_event) {
		export->stats.other++;
		return perch__export_batch_skip(export, sample) ? no_memory(err) : 0;
	}
	rc = perch__collect_add(export, sample, &thread);
	if (!rc && flags & EXPORT_MARKERS && is_marker(export, sample))
		rc = perch__markers_add_sample(export, sample, thread);
	if (rc)
		return no_memory(err);
	export->stats.samples++;
	return 0;
}

/* ---- the file ---- */

static int flush(FILE *out, struct perch_error *err)
{
	int error;

	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	error = errno ? errno : EIO;
	return perch__export_cannot_write(error, err);
}

static int check_event(const struct perch_export *export, struct perch_error *err)
{
	const struct perch_file_event *events;
	size_t nr;

	if (!(export->format->flags & EXPORT_ONE_EVENT) || !export->options.event)
		return 0;
	nr = perch_reader_events(perch_session_reader(export->session), &events);
	if (export->options.event <= nr)
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"perch_export_options.event is %" PRIu64
			", and the recording has %zu event%s",
			export->options.event, nr, nr == 1 ? "" : "s");
	perch_error_remedy(err, "the first event is 1, and 0 selects an event");
	return -EINVAL;
}

int perch_export_write(struct perch_export *export, FILE *out, struct perch_error *err)
{
	int rc = check_event(export, err);

	if (rc)
		return rc;
	if (perch__export_batch_flush(export) ||
	    (export->options.old && perch__export_batch_flush(export->options.old)))
		return no_memory(err);
	perch__collect_callers(export);
	if (export->options.old)
		perch__collect_callers(export->options.old);
	rc = export->format->write(export, out, err);
	return rc ? rc : flush(out, err);
}

void perch_export_get_stats(const struct perch_export *export, struct perch_export_stats *stats)
{
	*stats = export->stats;
	stats->stacks = export->nr_entries + (export->text ? export->text->nr_entries : 0);
}
