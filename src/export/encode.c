/* SPDX-License-Identifier: MIT */
/* The samples of a session as a profile of an encoder. Each address, call chain and thread is added
 * once. */
#include <errno.h>
#include <stdlib.h>

#include "base/kernel/off_cpu_event.h"
#include "encode.h"

/* ---- events ---- */

/* Makes the events of the profile. Returns 0 or -ENOMEM. */
static int make_events(struct encode *encode, struct perch_encoder_event **events,
		       struct perch_encoder_options *options)
{
	const struct perch_export *export = encode->export;
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &event);

	encode->position = perch__export_event_positions(export, &options->nr_events);
	*events = calloc(options->nr_events + 1, sizeof(**events));
	if (!encode->position || !*events)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct perch_encoder_event *described;

		if (encode->position[i] == NO_INDEX)
			continue;
		described = &(*events)[encode->position[i]];
		perch_encoder_describe(&event[i], described);
		/* of joined events it is another one than that of the first */
		if (!perch__is_off_cpu(&event[i]))
			described->name = perch__export_event_name(export, i);
		if (i == export->main_event)
			options->main_event = encode->position[i];
	}
	options->events = *events;
	return 0;
}

/* Creates the encoder, with the time between the first and the last sample, and the time of day of
 * the first one if the recording has that. */
static int open_encoder(struct encode *encode)
{
	const struct perch_export *export = encode->export;
	const struct perch_encoder_label host = {
		.key = "host.name",
		.text = perch_reader_text(perch_session_reader(export->session),
					  PERCH_FEATURE_HOSTNAME),
	};
	struct perch_encoder_options options = {
		.addresses = export->options.addresses,
		.timestamps = perch__export_has_times(export),
		.labels = &host,
		.nr_labels = host.text != NULL,
	};
	struct perch_encoder_event *events = NULL;
	int rc;

	if (export->last_time) {
		/* times are before the end */
		options.duration_ns = export->last_time - export->first_time + options.timestamps;
		options.time_ns = perch__export_time_of_day(export, export->first_time);
	}
	if (options.timestamps && export->last_time && !options.time_ns)
		return perch_error_set(
			encode->err, EINVAL, PERCH_ERROR_USAGE,
			"the recording does not have the time of day of its samples");
	rc = make_events(encode, &events, &options)
		     ? PERCH__NO_MEMORY(encode->err, "to export")
		     : perch_encoder_new(&encode->encoder, &options, encode->err);
	free(events);
	return rc;
}

/* ---- call chains ---- */

static int add_location(struct encode *encode, uint32_t number, bool is_caller, uint32_t *location)
{
	struct perch_export *export = encode->export;
	const struct perch_address *address = perch_session_address(export->session, number);
	struct perch_encoder_line line[PERCH_ENCODER_MAX_LINES];
	struct perch_encoder_location wanted = {
		.address = encode->mapping[address->dso->index].base + address->offset,
		.lines = line,
		.type = perch_dso_is(address->dso, PERCH_DSO_IS_IN_KERNEL)   ? "kernel"
			: perch_dso_is(address->dso, PERCH_DSO_IS_GENERATED) ? NULL
									     : "native",
	};
	int rc = perch__encode_mapping(encode, address->dso, &wanted.mapping);
	const struct perch_symbol_frame *frame;
	char buffer[PERCH__EXPORT_NAME];
	int nr = rc ? rc : perch__export_frames(export, number, is_caller, &frame);

	if (nr < 0)
		return rc ? rc : PERCH__NO_MEMORY(encode->err, "to export");
	for (int i = 0; i < nr && i < PERCH_ENCODER_MAX_LINES; i++)
		/* of several frames, each has a symbol: the buffer is for one */
		line[wanted.nr_lines++] = (struct perch_encoder_line){
			.name = perch__export_name(export, address, frame[i].symbol, buffer),
			.system_name = frame[i].symbol ? frame[i].symbol->name : NULL,
			.file = frame[i].file,
			.line = frame[i].line,
		};
	return perch_encoder_add_location(encode->encoder, &wanted, location, encode->err);
}

static int find_location(struct encode *encode, uint32_t number, bool is_caller, uint32_t *location)
{
	uint32_t *cached = &encode->location[is_caller][number];
	int rc = *cached ? 0 : add_location(encode, number, is_caller, cached);

	*location = *cached;
	return rc;
}

/* Finds the call chain of a stack. Callers are found once for each stack. */
static int find_stack(struct encode *encode, uint32_t stack, uint32_t *number)
{
	const struct stack_node *stacks = encode->export->stack;
	uint32_t chain[PERCH_MAX_CALL_CHAIN], location = 0;
	size_t nr = 0;
	int rc = 0;

	*number = 0;
	for (uint32_t at = stack; at != NO_INDEX; at = stacks[at].parent) {
		if (nr && encode->callers[at]) {
			*number = encode->callers[at];
			break;
		}
		chain[nr++] = at;
	}
	while (nr && !rc) {
		const struct stack_node *node = &stacks[chain[--nr]];

		rc = find_location(encode, node->address, nr > 0 && node->calls, &location);
		if (!rc)
			rc = perch_encoder_add_stack(encode->encoder, *number, location, number,
						     encode->err);
		if (nr)
			encode->callers[chain[nr]] = *number;
	}
	return rc;
}

/* ---- threads ---- */

struct label_list {
	struct perch_encoder_label label[10];
	size_t nr;
};

static void append_text(struct label_list *list, const char *key, const char *text, bool resource)
{
	if (text && text[0])
		list->label[list->nr++] = (struct perch_encoder_label){ .key = key,
									.text = text,
									.resource = resource };
}

static void append_number(struct label_list *list, const char *key, int64_t number)
{
	list->label[list->nr++] = (struct perch_encoder_label){ .key = key, .number = number };
}

static int add_labels(struct encode *encode, const struct thread_name *thread, uint32_t *labels)
{
	struct perch_cgroup_names names;
	struct label_list list = { .nr = 0 };

	append_text(&list, "thread.name", thread->comm, false);
	if (perch__export_has_pids(encode->export))
		append_number(&list, "process.pid", thread->pid);
	if (perch__export_has_tids(encode->export))
		append_number(&list, "thread.id", thread->tid);
	if (thread->cgroup) {
		perch_cgroup_find_names(thread->cgroup, &names);
		append_text(&list, "process.linux.cgroup", thread->cgroup, false);
		append_text(&list, "container.id", names.container_id, true);
		append_text(&list, "container.name", names.container_name, true);
		append_text(&list, "container.runtime", names.runtime, true);
		append_text(&list, "k8s.pod.uid", names.pod_uid, true);
		append_text(&list, "systemd.unit", names.unit, true);
		append_text(&list, "service.name", names.service, true);
	}
	return perch_encoder_add_labels(encode->encoder, list.label, list.nr, labels, encode->err);
}

static int find_labels(struct encode *encode, uint32_t index, uint32_t *labels)
{
	uint32_t *cached = &encode->labels[index];
	int rc = *cached ? 0 : add_labels(encode, &encode->export->thread[index], cached);

	*labels = *cached;
	return rc;
}

/* ---- samples ---- */

static int add_entry(struct encode *encode, const struct export_entry *entry, uint64_t samples,
		     uint64_t value, uint64_t time)
{
	struct perch_encoder_sample sample = {
		.event = encode->position[entry->event],
		.samples = samples,
		.value = value,
		.time_ns = time,
	};
	int rc = find_stack(encode, entry->stack, &sample.stack);

	if (!rc)
		rc = find_labels(encode, entry->thread, &sample.labels);
	return rc ? rc : perch_encoder_add(encode->encoder, &sample, encode->err);
}

static int add_entries(struct encode *encode)
{
	const struct perch_export *export = encode->export;
	int rc = 0;

	for (size_t i = 0; i < export->nr_entries && !rc; i++) {
		const struct export_entry *entry = &export->entry[i];

		rc = add_entry(encode, entry, entry->samples, entry->period, 0);
	}
	return rc;
}

/* Adds each sample with its time. */
static int add_occurrences(struct encode *encode)
{
	const struct perch_export *export = encode->export;
	int rc = 0;

	for (size_t i = 0; i < export->nr_occurrences && !rc; i++) {
		const struct occurrence *sample = &export->occurrence[i];

		rc = add_entry(encode, &export->entry[sample->entry], 1, sample->period,
			       perch__export_time_of_day(export, sample->time));
	}
	return rc;
}

static int add_all(struct encode *encode)
{
	const struct perch_export *export = encode->export;
	size_t nr = perch__export_nr_addresses(export) + 1;
	int rc;

	encode->location[0] = calloc(nr, sizeof(uint32_t));
	encode->location[1] = calloc(nr, sizeof(uint32_t));
	encode->callers = calloc(export->nr_stacks + 1, sizeof(uint32_t));
	encode->labels = calloc(export->nr_threads + 1, sizeof(uint32_t));
	if (!encode->location[0] || !encode->location[1] || !encode->callers || !encode->labels)
		return PERCH__NO_MEMORY(encode->err, "to export");
	rc = perch__encode_ranges(encode);
	if (rc)
		return rc;
	return perch__export_has_times(export) ? add_occurrences(encode) : add_entries(encode);
}

static int export_as(struct perch_export *export, enum perch_encoder_format format, unsigned flags,
		     FILE *out, struct perch_error *err)
{
	struct encode encode = { .export = export, .format = format, .err = err };
	int rc = open_encoder(&encode);

	if (!rc)
		rc = add_all(&encode);
	if (!rc && export->options.threads)
		flags |= PERCH_ENCODER_THREADS;
	if (!rc)
		rc = perch_encoder_write(encode.encoder, format, flags, out, err);
	perch_encoder_free(encode.encoder);
	free(encode.mapping);
	free(encode.position);
	free(encode.location[0]);
	free(encode.location[1]);
	free(encode.callers);
	free(encode.labels);
	return rc;
}

int perch__export_pprof(struct perch_export *export, FILE *out, struct perch_error *err)
{
	return export_as(export, PERCH_ENCODER_PPROF, PERCH_ENCODER_GZIP, out, err);
}

int perch__export_otlp(struct perch_export *export, FILE *out, struct perch_error *err)
{
	return export_as(export, PERCH_ENCODER_OTLP, 0, out, err);
}
