/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's format: samples. Each event is a sequence of packets, with functions, frames and call
 * stacks that its samples refer to. Each sample has the count of its event on its CPU up to there,
 * of which Perfetto makes a counter.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "perfetto.h"

enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 }; /* of packets */
enum { MODE_KERNEL = 1, MODE_USER };

/* What the present sequence has: the number of the last sequence that has it. */
struct written {
	uint32_t *name, *file;	 /* by text */
	uint32_t *mapping;	 /* by DSO */
	uint32_t *frame, *stack; /* stack: by its innermost node */
};

struct writer {
	struct perfetto *perfetto;
	struct export_tree tree;
	struct written written;
	const struct perch_dso *const *dsos;
	uint64_t *frames; /* of a call stack */
	size_t frames_capacity;
	uint64_t *count; /* of the event, by CPU; the last is that of unknown CPUs */
	size_t nr_cpus;
	uint32_t sequence;
};

/* Returns true once for each sequence. */
static bool is_new(const struct writer *writer, uint32_t *written)
{
	bool new = *written != writer->sequence;

	*written = writer->sequence;
	return new;
}

static int put_interned(struct writer *writer, Perch__Perfetto__InternedData *data)
{
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	PERFETTO_SET(packet, sequence_flags, FLAG_NEEDS_STATE);
	return perch__perfetto_put(writer->perfetto, &packet, writer->sequence);
}

enum text_kind { TEXT_NAME, TEXT_FILE, TEXT_PATH };

static int put_text(struct writer *writer, enum text_kind kind, uint64_t iid, const char *text)
{
	Perch__Perfetto__InternedData data = PERCH__PERFETTO__INTERNED_DATA__INIT;
	Perch__Perfetto__InternedString string = PERCH__PERFETTO__INTERNED_STRING__INIT,
					*strings = &string;

	PERFETTO_SET(string, iid, iid);
	string.has_str = 1;
	string.str = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
	if (kind == TEXT_NAME) {
		data.n_function_names = 1;
		data.function_names = &strings;
	} else if (kind == TEXT_FILE) {
		data.n_source_paths = 1;
		data.source_paths = &strings;
	} else {
		data.n_mapping_paths = 1;
		data.mapping_paths = &strings;
	}
	return put_interned(writer, &data);
}

static int put_mapping(struct writer *writer, uint32_t dso)
{
	Perch__Perfetto__InternedData data = PERCH__PERFETTO__INTERNED_DATA__INIT;
	Perch__Perfetto__Mapping mapping = PERCH__PERFETTO__MAPPING__INIT, *mappings = &mapping;
	struct perch_symbols *symbols = perch_session_symbols(writer->perfetto->export->session);
	uint64_t iid = dso + 1;
	int rc;

	if (!is_new(writer, &writer->written.mapping[dso]))
		return 0;
	rc = put_text(writer, TEXT_PATH, iid, perch_symbols_dso_name(symbols, writer->dsos[dso]));
	PERFETTO_SET(mapping, iid, iid);
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &iid;
	data.n_mappings = 1;
	data.mappings = &mappings;
	return rc ? rc : put_interned(writer, &data);
}

static int put_frame(struct writer *writer, uint32_t index)
{
	Perch__Perfetto__InternedData data = PERCH__PERFETTO__INTERNED_DATA__INIT;
	Perch__Perfetto__Frame frame = PERCH__PERFETTO__FRAME__INIT, *frames = &frame;
	const struct export_frame *from = &writer->tree.frame[index];
	const struct export_function *function = &writer->tree.function[from->function];
	const struct export_texts *texts = &writer->tree.texts;
	int rc = put_mapping(writer, function->dso);

	if (!rc && is_new(writer, &writer->written.name[function->name]))
		rc = put_text(writer, TEXT_NAME, (uint64_t)function->name + 1,
			      perch__export_text(texts, function->name));
	PERFETTO_SET(frame, iid, (uint64_t)index + 1);
	PERFETTO_SET(frame, function_name_id, (uint64_t)function->name + 1);
	PERFETTO_SET(frame, mapping_id, (uint64_t)function->dso + 1);
	PERFETTO_SET(frame, rel_pc, from->line); /* frames of one address would be one */
	if (!rc && function->file != NO_INDEX && from->line) {
		if (is_new(writer, &writer->written.file[function->file]))
			rc = put_text(writer, TEXT_FILE, (uint64_t)function->file + 1,
				      perch__export_text(texts, function->file));
		PERFETTO_SET(frame, source_path_iid, (uint64_t)function->file + 1);
		PERFETTO_SET(frame, line_number, from->line);
	}
	data.n_frames = 1;
	data.frames = &frames;
	return rc ? rc : put_interned(writer, &data);
}

static int put_stack(struct writer *writer, uint32_t leaf)
{
	Perch__Perfetto__InternedData data = PERCH__PERFETTO__INTERNED_DATA__INIT;
	Perch__Perfetto__Callstack stack = PERCH__PERFETTO__CALLSTACK__INIT, *stacks = &stack;
	const struct export_node *node = writer->tree.node;
	size_t nr = 0;
	int rc = 0;

	if (!is_new(writer, &writer->written.stack[leaf]))
		return 0;
	for (uint32_t at = leaf; at != NO_INDEX; at = node[at].parent)
		nr++;
	if (PERCH__ARRAY_RESERVE(writer->frames, writer->frames_capacity, nr))
		return -ENOMEM;
	stack.n_frame_ids = nr;
	stack.frame_ids = writer->frames;
	for (uint32_t at = leaf; at != NO_INDEX && !rc; at = node[at].parent) {
		writer->frames[--nr] = (uint64_t)node[at].frame + 1;
		if (is_new(writer, &writer->written.frame[node[at].frame]))
			rc = put_frame(writer, node[at].frame);
	}
	PERFETTO_SET(stack, iid, (uint64_t)leaf + 1);
	data.n_callstacks = 1;
	data.callstacks = &stacks;
	return rc ? rc : put_interned(writer, &data);
}

/* ---- samples ---- */

static uint32_t mode_of(const struct writer *writer, const struct export_entry *entry)
{
	struct perch_export *export = writer->perfetto->export;
	const struct perch_address *address;

	if (entry->stack == NO_INDEX)
		return 0;
	address = perch_session_address(export->session, export->stack[entry->stack].address);
	return perch_dso_is(address->dso, PERCH_DSO_IS_IN_KERNEL) ? MODE_KERNEL : MODE_USER;
}

static int put_sample(struct writer *writer, const struct occurrence *occurrence)
{
	struct perch_export *export = writer->perfetto->export;
	const struct export_entry *entry = &export->entry[occurrence->entry];
	const struct thread_name *thread = &export->thread[entry->thread];
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__PerfSample sample = PERCH__PERFETTO__PERF_SAMPLE__INIT;
	uint32_t leaf = writer->tree.leaf[occurrence->entry];
	size_t cpu = occurrence->cpu < writer->nr_cpus ? occurrence->cpu : writer->nr_cpus;
	int rc = leaf == NO_INDEX ? 0 : put_stack(writer, leaf);

	writer->count[cpu] += occurrence->period;
	if (cpu < writer->nr_cpus)
		PERFETTO_SET(sample, cpu, occurrence->cpu);
	PERFETTO_SET(sample, pid, thread->pid);
	PERFETTO_SET(sample, tid, thread->tid);
	if (leaf != NO_INDEX)
		PERFETTO_SET(sample, callstack_iid, (uint64_t)leaf + 1);
	PERFETTO_SET(sample, cpu_mode, mode_of(writer, entry));
	PERFETTO_SET(sample, timebase_count, writer->count[cpu]);
	packet.perf_sample = &sample;
	PERFETTO_SET(packet, timestamp, occurrence->time);
	PERFETTO_SET(packet, sequence_flags, FLAG_NEEDS_STATE);
	return rc ? rc : perch__perfetto_put(writer->perfetto, &packet, writer->sequence);
}

/* Begins the sequence of an event. */
static int put_event(struct writer *writer, uint32_t index)
{
	struct perch_export *export = writer->perfetto->export;
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__TracePacketDefaults defaults =
		PERCH__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perch__Perfetto__PerfSampleDefaults sample = PERCH__PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perch__Perfetto__Timebase timebase = PERCH__PERFETTO__TIMEBASE__INIT;
	const struct perch_file_event *event;
	char name[256];

	perch_reader_events(perch_session_reader(export->session), &event);
	perch_clean_text(perch__export_event_name(export, index), name, sizeof(name));
	timebase.name = name;
	if (event[index].attr.freq)
		PERFETTO_SET(timebase, frequency, event[index].attr.sample_freq);
	else
		PERFETTO_SET(timebase, period, event[index].attr.sample_period);
	sample.timebase = &timebase;
	defaults.perf_sample_defaults = &sample;
	packet.trace_packet_defaults = &defaults;
	PERFETTO_SET(packet, sequence_flags, FLAG_STATE_CLEARED);
	memset(writer->count, 0, (writer->nr_cpus + 1) * sizeof(*writer->count));
	return perch__perfetto_put(writer->perfetto, &packet, writer->sequence);
}

static int put_events(struct writer *writer)
{
	struct perch_export *export = writer->perfetto->export;
	int rc = 0;

	for (uint32_t event = 0; event < export->nr_events && !rc; event++) {
		if (!export->event[event].samples)
			continue;
		writer->sequence = SEQUENCE_EVENTS + event;
		rc = put_event(writer, event);
		for (size_t i = 0; i < export->nr_occurrences && !rc; i++)
			if (export->entry[export->occurrence[i].entry].event == event)
				rc = put_sample(writer, &export->occurrence[i]);
	}
	return rc;
}

static int open_writer(struct writer *writer)
{
	struct perch_export *export = writer->perfetto->export;
	struct export_tree *tree = &writer->tree;
	size_t nr_dsos =
		perch_processes_dsos(perch_session_processes(export->session), &writer->dsos);

	if (perch__export_tree(export, EXPORT_EACH_LINE, tree))
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_occurrences; i++)
		if (export->occurrence[i].cpu != NO_INDEX && export->occurrence[i].cpu < 65536 &&
		    export->occurrence[i].cpu >= writer->nr_cpus)
			writer->nr_cpus = export->occurrence[i].cpu + 1;
	writer->count = calloc(writer->nr_cpus + 1, sizeof(*writer->count));
	writer->written = (struct written){
		.name = calloc(tree->texts.nr + 1, sizeof(uint32_t)),
		.file = calloc(tree->texts.nr + 1, sizeof(uint32_t)),
		.mapping = calloc(nr_dsos + 1, sizeof(uint32_t)),
		.frame = calloc(tree->nr_frames + 1, sizeof(uint32_t)),
		.stack = calloc(tree->nr_nodes + 1, sizeof(uint32_t)),
	};
	return writer->count && writer->written.name && writer->written.file &&
			       writer->written.mapping && writer->written.frame &&
			       writer->written.stack
		       ? 0
		       : -ENOMEM;
}

int perch__perfetto_samples(struct perfetto *perfetto)
{
	struct writer writer = { .perfetto = perfetto };
	int rc = open_writer(&writer);

	if (!rc)
		rc = put_events(&writer);
	perch__export_tree_clear(&writer.tree);
	free(writer.written.name);
	free(writer.written.file);
	free(writer.written.mapping);
	free(writer.written.frame);
	free(writer.written.stack);
	free(writer.frames);
	free(writer.count);
	return rc;
}
