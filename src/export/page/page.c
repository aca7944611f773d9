/* SPDX-License-Identifier: MIT */
/* Flame-graph pages of samples: fills the tables of a page, and writes the file. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "export/schedule.h"
#include "page.h"
#include "export/page_assets.h"

/* ---- from an export to the tables ---- */

/* By index of the export, the index in the page. */
struct page_maps {
	struct page_location_id *location;
	struct page_node_id *node;
	struct page_thread_id *thread;
	struct page_event_id *event;
	struct page_entry_id *entry;
};

static const uint32_t kind_of[] = {
	[FUNCTION_USER] = PAGE_USER,
	[FUNCTION_KERNEL] = PAGE_KERNEL,
	[FUNCTION_JIT] = PAGE_JIT,
	[FUNCTION_UNKNOWN] = PAGE_UNKNOWN,
};

static struct page_location_id add_frame(struct page *page, struct perch_export *export,
					 const struct export_tree *tree,
					 const struct export_frame *frame)
{
	const struct export_function *function = &tree->function[frame->function];
	const struct perch_dso *const *dsos;
	const char *dso = "", *file = "";
	uint32_t kind = kind_of[function->kind] + (function->inlined ? PAGE_INLINED : 0);

	perch_processes_dsos(perch_session_processes(export->session), &dsos);
	dso = perch_symbols_dso_name(perch_session_symbols(export->session), dsos[function->dso]);
	if (!strcmp(dso, "[unknown]"))
		dso = "";
	if (function->file != NO_INDEX)
		file = perch__export_text(&tree->texts, function->file);
	return perch__page_location(
		page,
		perch__page_function(page, perch__export_text(&tree->texts, function->name), dso,
				     kind),
		file, frame->line);
}

/* Adds functions, lines, stacks and threads. Returns 0 or -ENOMEM. */
static int add_tables(struct page *page, struct perch_export *export,
		      const struct export_tree *tree, const struct page_maps *map)
{
	for (size_t i = 0; i < tree->nr_frames; i++) {
		map->location[i] = add_frame(page, export, tree, &tree->frame[i]);
		if (map->location[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < tree->nr_nodes; i++) {
		uint32_t parent = tree->node[i].parent;

		map->node[i] = perch__page_child(page,
						 parent == NO_INDEX ? PAGE_ROOT : map->node[parent],
						 map->location[tree->node[i].frame]);
		if (map->node[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < export->nr_threads; i++) {
		const struct thread_name *thread = &export->thread[i];

		map->thread[i] = perch__page_thread(page, thread->pid, thread->tid, thread->comm);
		if (map->thread[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the events in the order of the file: the page shows the first one that has samples. */
static int add_events(struct page *page, struct perch_export *export, const struct page_maps *map,
		      bool old)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &events), nr_written;
	uint32_t *position = perch__export_event_positions(export, &nr_written);
	int rc = position ? 0 : -ENOMEM;
	char name[256];

	for (size_t i = 0; i < nr && !rc; i++) {
		const char *unit = perch__export_unit(&events[i]);

		if (position[i] == NO_INDEX)
			continue;
		perch_clean_text(perch__export_event_name(export, (uint32_t)i), name, sizeof(name));
		/* folded stacks, with which it is compared, have no name of their event */
		map->event[i] = (struct page_event_id){ 0 };
		if (!old || !page->has_counts || i != export->main_event)
			map->event[i] = perch__page_event(page, name, !strcmp(unit, "nanoseconds"));
		if (map->event[i].nr == PAGE_NONE)
			rc = -ENOMEM;
	}
	free(position);
	return rc;
}

static int add_entries(struct page *page, struct perch_export *export,
		       const struct export_tree *tree, const struct page_maps *map, bool old)
{
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *from = &export->entry[i];
		struct page_entry entry = {
			.node = tree->leaf[i] == NO_INDEX ? PAGE_ROOT : map->node[tree->leaf[i]],
			.thread = map->thread[from->thread],
			.event = map->event[from->event],
			.old = old,
			.state = from->state,
		};

		map->entry[i] = perch__page_entry(page, &entry);
		if (map->entry[i].nr == PAGE_NONE)
			return -ENOMEM;
		page->entry[map->entry[i].nr].samples += from->samples;
		page->entry[map->entry[i].nr].period += from->period;
	}
	return 0;
}

static int add_samples(struct page *page, const struct perch_export *export,
		       const struct page_maps *map)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(page->sample, page->nr_samples, export->nr_occurrences))
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_occurrences; i++) {
		const struct occurrence *from = &export->occurrence[i];

		page->sample[page->nr_samples++] = (struct page_sample){
			.time = from->time,
			.period = from->period,
			.entry = map->entry[from->entry],
			.cpu = from->cpu == NO_INDEX ? PAGE_NONE : from->cpu,
		};
		page->has_times |= from->time > 0;
		page->has_cpus |= from->cpu != NO_INDEX;
	}
	return 0;
}

/* Adds the samples of an export that were added by perch_export_add(). old: to compare with. */
static int add_export(struct page *page, struct perch_export *export, bool old)
{
	struct export_tree tree = { 0 };
	const struct perch_file_event *events;
	size_t nr_events = perch_reader_events(perch_session_reader(export->session), &events), nr;
	struct page_maps map;
	uint32_t *memory = NULL;
	int rc = perch__export_tree(export, EXPORT_EACH_LINE, &tree);

	nr = tree.nr_frames + tree.nr_nodes + export->nr_threads + export->nr_entries + nr_events;
	if (!rc) {
		memory = calloc(nr + 1, sizeof(*memory));
		rc = memory ? 0 : -ENOMEM;
	}
	if (!rc) {
		map.location = (struct page_location_id *)memory;
		map.node = (struct page_node_id *)(map.location + tree.nr_frames);
		map.thread = (struct page_thread_id *)(map.node + tree.nr_nodes);
		map.event = (struct page_event_id *)(map.thread + export->nr_threads);
		map.entry = (struct page_entry_id *)(map.event + nr_events);
		rc = add_tables(page, export, &tree, &map);
	}
	if (!rc)
		rc = add_events(page, export, &map, old);
	if (!rc)
		rc = add_entries(page, export, &tree, &map, old);
	if (!rc && !old)
		rc = add_samples(page, export, &map);
	if (!rc && !old && export->schedule)
		rc = perch__schedule_end(export);
	if (!rc && !old && export->schedule)
		rc = perch__page_add_states(page, &export->schedule->states);
	free(memory);
	perch__export_tree_clear(&tree);
	return rc;
}

/* ---- file ---- */

/* Writes a text in which no character is markup. */
int perch__page_put_text(const char *text, FILE *out)
{
	static const char *const escaped[128] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	int rc = 0;

	for (; *text && !rc; text++) {
		unsigned char byte = (unsigned char)*text;
		const char *as = byte < 128 ? escaped[byte] : NULL;

		rc = as ? perch__page_put(as, strlen(as), out) : perch__page_put(text, 1, out);
	}
	return rc;
}

static struct page_text_id add_title(struct page *page, const char *title, const char *standard)
{
	char clean[512];

	perch_clean_text(title ? title : standard, clean, sizeof(clean));
	return perch__page_text(page, clean);
}

/* Adds the samples and the text of an export. */
static int add_source(struct page *page, struct perch_export *export, bool old)
{
	int rc = export->nr_entries ? add_export(page, export, old) : 0;

	if (!rc && export->text)
		rc = perch__page_merge(page, export->text, old);
	return rc;
}

static struct perch_session_stats lost_of(const struct perch_export *export)
{
	struct perch_session_stats stats = { 0 };

	if (export->session)
		perch_session_get_stats(export->session, &stats);
	return stats;
}

/* Adds a line "name: text". The text is not trusted; NULL and "" are left out. */
static int add_fact(struct page *page, const char *name, const char *text)
{
	char line[1024];

	if (!text || !text[0])
		return 0;
	snprintf(line, sizeof(line), "%s: %s", name, text);
	perch_clean_text(line, line, sizeof(line));
	return perch__page_note(page, line);
}

static int add_command_line(struct page *page, const struct perch_reader *reader)
{
	const char *const *argument;
	size_t nr = perch_reader_command_line(reader, &argument), used = 0;
	char text[1024] = "";

	for (size_t i = 0; i < nr && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 argument[i]);
	return add_fact(page, "Command", text);
}

/* Adds lines about the recording: its command and its machine. */
static int add_recording_notes(struct page *page, const struct perch_export *export)
{
	const struct perch_reader *reader;
	int rc;

	if (!export->session)
		return 0;
	reader = perch_session_reader(export->session);
	rc = add_command_line(page, reader);
	if (!rc)
		rc = add_fact(page, "Machine", perch_reader_text(reader, PERCH_FEATURE_HOSTNAME));
	if (!rc)
		rc = add_fact(page, "Kernel", perch_reader_text(reader, PERCH_FEATURE_OSRELEASE));
	if (!rc)
		rc = add_fact(page, "CPU", perch_reader_text(reader, PERCH_FEATURE_CPUDESC));
	return rc;
}

/* Adds lines about what the page lacks. */
static int add_notes(struct page *page, const struct perch_export *export)
{
	struct perch_session_stats stats = lost_of(export);
	const struct {
		uint64_t number;
		const char *text;
	} notes[] = {
		{ stats.lost, "Records that the kernel could not write" },
		{ export->schedule ? export->schedule->uncertain : 0,
		  "Intervals of threads that may be wrong, because switches are missing" },
		{ export->stats.unreadable, "Lines of the text that could not be read" },
		{ export->stats.cut, "Frames below 1024 others, which are left out" },
	};
	char line[256];
	int rc = 0;

	for (size_t i = 0; i < PERCH__NR(notes) && !rc; i++) {
		if (!notes[i].number)
			continue;
		snprintf(line, sizeof(line), "%s: %" PRIu64, notes[i].text, notes[i].number);
		rc = perch__page_note(page, line);
	}
	return rc ? rc : add_recording_notes(page, export);
}

int perch__export_make_page(struct perch_export *export, struct page *page)
{
	const struct perch_export_options *options = &export->options;
	int rc = perch__page_init(page);

	if (rc)
		return rc;
	page->title = add_title(page, options->title, "perch flame graph");
	if (options->old)
		page->old_title = add_title(page, options->old_title, "the other recording");
	if (page->title.nr == PAGE_NONE || page->old_title.nr == PAGE_NONE)
		return -ENOMEM;
	page->by_name = options->old && (export->text || options->old->text);
	rc = add_source(page, export, false);
	if (!rc && options->old)
		rc = add_source(page, options->old, true);
	if (!rc)
		rc = add_notes(page, export);
	return rc ? rc : perch__page_sort(page);
}

static int put_page(const struct page *page, FILE *out)
{
	int rc = perch__page_put(perch__page_head, perch__page_head_size, out);

	if (!rc)
		rc = perch__page_put_text(page->text + page->title.nr, out);
	if (!rc)
		rc = perch__page_put(perch__page_body, perch__page_body_size, out);
	if (!rc)
		rc = perch__page_put_data(page, out);
	if (!rc)
		rc = perch__page_put(perch__page_end, perch__page_end_size, out);
	return rc;
}

int perch__page_error(int rc, struct perch_error *err)
{
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to export");
	if (rc == -EOVERFLOW)
		return perch_error_set(err, EOVERFLOW, PERCH_ERROR_FILE,
				       "the sum of the numbers of the stacks is too large");
	return rc ? perch__export_cannot_write(-rc, err) : 0;
}

int perch__export_page(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct page page;
	int rc = perch__export_make_page(export, &page);

	if (!rc)
		rc = put_page(&page, out);
	perch__page_clear(&page);
	return perch__page_error(rc, err);
}
