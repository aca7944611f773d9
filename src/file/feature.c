/* SPDX-License-Identifier: MIT */
/* Header features: finds their sections, and parses the ones with public functions. */
#include "base/no_memory.h"
#include "internal.h"

/* ---- finding sections ---- */

void perch__unknown_feature(struct perch_reader *reader, uint64_t number)
{
	if (!reader->unknown_features++)
		reader->unknown_feature = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Returns where the bytes of a feature are remembered; NULL: it is not read. */
static struct perch__view *feature_at(struct perch_reader *reader, unsigned number)
{
	unsigned simpleperf = number - PERCH__SIMPLEPERF_FIRST;

	if (perch__is_feature(number))
		return &reader->feature[number];
	if (simpleperf == PERCH__SIMPLEPERF_FILE || simpleperf == PERCH__SIMPLEPERF_META_INFO ||
	    simpleperf == PERCH__SIMPLEPERF_FILE2)
		return &reader->simpleperf[simpleperf];
	perch__unknown_feature(reader, number);
	return NULL;
}

/* The table has an entry for each bit that is set, also for unknown features. */
int perch__read_features(struct perch_reader *reader, struct perch_error *err)
{
	uint64_t at = reader->data_end;

	if (reader->missing_bytes)
		memset(reader->header.features, 0, sizeof(reader->header.features));
	for (unsigned int bit = 0; bit < PERCH__FEATURE_BITS; bit++) {
		struct perch__section section;
		struct perch__view *view;

		if (!(reader->header.features[bit / 64] >> bit % 64 & 1))
			continue;
		if (reader->size - at < sizeof(section)) {
			/* the table is truncated */
			reader->unfinished = true;
			memset(reader->feature, 0, sizeof(reader->feature));
			memset(reader->simpleperf, 0, sizeof(reader->simpleperf));
			reader->unknown_features = 0;
			return perch__parse_features(reader, err);
		}
		section = perch__file_section(reader, reader->file + at);
		at += sizeof(section);
		if (section.offset > reader->size || section.size > reader->size - section.offset) {
			reader->unfinished = true;
			continue;
		}
		view = feature_at(reader, bit);
		if (!view)
			continue;
		*view = (struct perch__view){ .at = reader->file + section.offset,
					      .left = section.size,
					      .swapped = reader->swapped };
	}
	return perch__parse_features(reader, err);
}

/* ---- parsing ---- */

static int parse_texts(struct perch_reader *reader, struct perch_error *err)
{
	static const enum perch_feature texts[] = {
		PERCH_FEATURE_HOSTNAME, PERCH_FEATURE_OSRELEASE, PERCH_FEATURE_VERSION,
		PERCH_FEATURE_ARCH,	PERCH_FEATURE_CPUDESC,	 PERCH_FEATURE_CPUID,
	};

	for (size_t i = 0; i < PERCH__NR(texts); i++) {
		struct perch__view view = reader->feature[texts[i]];
		const char *text;
		size_t length;

		if (!view.at || !perch__take_text(&view, &text, &length))
			continue;
		reader->text[texts[i]] = perch__reader_strndup(reader, text, length);
		if (!reader->text[texts[i]])
			return PERCH__NO_MEMORY(err, "for the file's header");
	}
	return 0;
}

static int parse_command_line(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_CMDLINE];
	const char *text;
	size_t length;
	uint32_t nr;

	/* each argument has at least 4 bytes */
	if (!view.at || !perch__take_u32(&view, &nr) || nr > view.left / 4)
		return 0;
	reader->arguments = perch__reader_alloc(reader, (nr + 1ul) * sizeof(*reader->arguments));
	if (!reader->arguments)
		return PERCH__NO_MEMORY(err, "for the file's header");
	while (reader->nr_arguments < nr && perch__take_text(&view, &text, &length)) {
		const char *argument = perch__reader_strndup(reader, text, length);

		if (!argument)
			return PERCH__NO_MEMORY(err, "for the file's header");
		reader->arguments[reader->nr_arguments++] = argument;
	}
	return 0;
}

/* nr, size of an attr; then attr, number of ids, name and ids of each event, in the order of attrs.
 */
static int parse_event_names(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_EVENT_DESC];
	uint32_t nr, attr_size, nr_ids;
	const char *text;
	size_t length;

	if (!view.at || !perch__take_u32(&view, &nr) || !perch__take_u32(&view, &attr_size))
		return 0;
	for (size_t i = 0; i < nr && i < reader->nr_events; i++) {
		if (view.left < attr_size)
			return 0;
		view.at += attr_size;
		view.left -= attr_size;
		if (!perch__take_u32(&view, &nr_ids) || !perch__take_text(&view, &text, &length) ||
		    nr_ids > view.left / sizeof(uint64_t))
			return 0;
		view.at += nr_ids * sizeof(uint64_t);
		view.left -= nr_ids * sizeof(uint64_t);
		reader->events[i].name = perch__reader_strndup(reader, text, length);
		if (!reader->events[i].name)
			return PERCH__NO_MEMORY(err, "for the file's header");
	}
	return 0;
}

/* nr; then name, index of the leader and number of members of each group. */
static void parse_groups(struct perch_reader *reader)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_GROUP_DESC];
	uint32_t nr, leader, members;
	const char *text;
	size_t length;

	if (!view.at || !perch__take_u32(&view, &nr))
		return;
	while (nr-- && perch__take_text(&view, &text, &length) && perch__take_u32(&view, &leader) &&
	       perch__take_u32(&view, &members)) {
		if (leader < reader->nr_events && members <= reader->nr_events - leader)
			reader->events[leader].members = members;
	}
}

/*
 * Makes the name of an event that the recorder did not name: a tracepoint by the recorded formats,
 * because its id is that of the recording machine.
 */
static int make_event_name(struct perch_reader *reader, const struct perch_attr *attr, char *name,
			   size_t size, struct perch_error *err)
{
	const struct perch_tracepoint_format *format = NULL;
	int rc = attr->type == PERCH_TYPE_TRACEPOINT
			 ? perch_reader_tracepoint(reader, attr->config, &format, err)
			 : 0;

	if (rc == -ENOMEM)
		return rc;
	if (format && perch_tracepoint_format_name(format)[0])
		snprintf(name, size, "%s:%s", perch_tracepoint_format_system(format),
			 perch_tracepoint_format_name(format));
	else
		perch_attr_name(attr, name, size);
	return 0;
}

static int name_unnamed_events(struct perch_reader *reader, struct perch_error *err)
{
	for (size_t i = 0; i < reader->nr_events; i++) {
		struct perch_file_event *event = &reader->events[i];
		char name[512];
		int rc;

		if (event->name && event->name[0])
			continue;
		rc = make_event_name(reader, &event->attr, name, sizeof(name), err);
		if (rc)
			return rc;
		event->name = perch__reader_strndup(reader, name, strlen(name));
		if (!event->name)
			return PERCH__NO_MEMORY(err, "for the file's header");
	}
	return 0;
}

/*
 * The size byte is valid only if its bit in misc is set. Older perf versions did not write it:
 * their ids have 20 bytes.
 */
int perch__add_build_id(struct perch_reader *reader, const uint8_t *bytes, size_t size,
			struct perch_error *err)
{
	struct perch__build_id_record record;
	struct perch_build_id *id;
	const char *path;
	size_t id_size;

	if (size <= sizeof(record))
		return 0;
	memcpy(&record, bytes, sizeof(record));
	record.misc =
		perch__file_u16(reader, bytes + offsetof(struct perch__build_id_record, misc));
	id_size = sizeof(record.id);
	if (record.misc & PERCH__BUILD_ID_SIZE_KNOWN && record.id_size < id_size)
		id_size = record.id_size;
	path = perch__reader_strndup(reader, (const char *)bytes + sizeof(record),
				     strnlen((const char *)bytes + sizeof(record),
					     size - sizeof(record)));
	id = path ? PERCH__ARRAY_APPEND(reader->build_ids, reader->nr_build_ids,
					reader->build_ids_capacity)
		  : NULL;
	if (!id)
		return PERCH__NO_MEMORY(err, "for the file's header");
	id->misc = record.misc & PERCH_MISC_CPUMODE_MASK;
	id->size = id_size;
	id->path = path;
	memcpy(id->bytes, record.id, id_size);
	return 0;
}

static int parse_build_ids(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_BUILD_ID];

	if (!view.at)
		return 0;
	while (view.left > sizeof(struct perch__build_id_record)) {
		uint16_t size = perch__file_u16(reader, view.at + 6);
		int rc;

		if (size <= sizeof(struct perch__build_id_record) || size > view.left)
			return 0;
		rc = perch__add_build_id(reader, view.at, size, err);
		if (rc)
			return rc;
		view.at += size;
		view.left -= size;
	}
	return 0;
}

int perch__parse_features(struct perch_reader *reader, struct perch_error *err)
{
	int rc = parse_texts(reader, err);

	if (!rc)
		rc = parse_command_line(reader, err);
	if (!rc)
		rc = parse_event_names(reader, err);
	if (!rc)
		rc = parse_build_ids(reader, err);
	if (!rc)
		rc = perch__parse_meta_info(reader, err);
	if (!rc)
		rc = name_unnamed_events(reader, err);
	if (!rc)
		rc = perch__parse_recorded_files(reader, err);
	parse_groups(reader);
	return rc;
}

/* ---- public functions ---- */

int perch_reader_feature(const struct perch_reader *reader, enum perch_feature feature,
			 const void **data, size_t *size)
{
	if (feature < 0 || !perch__is_feature((uint64_t)feature) || !reader->feature[feature].at)
		return -ENOENT;
	*data = reader->feature[feature].at;
	*size = reader->feature[feature].left;
	return 0;
}

/* u32 version, u32 0, and the members. */
int perch_reader_cost(const struct perch_reader *reader, struct perch_recording_cost *cost)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_RECORDING_COST];
	uint32_t version, zero;

	*cost = (struct perch_recording_cost){ 0 };
	if (view.at && perch__take_u32(&view, &version) && perch__take_u32(&view, &zero) &&
	    perch__take_u64(&view, &cost->sample_ns) && perch__take_u64(&view, &cost->rate) &&
	    perch__take_u64(&view, &cost->samples) && perch__take_u64(&view, &cost->recorder_ns) &&
	    perch__take_u64(&view, &cost->elapsed_ns) && perch__take_u64(&view, &cost->cpus))
		return 0;
	*cost = (struct perch_recording_cost){ 0 };
	return -ENODATA;
}

const char *perch_reader_text(const struct perch_reader *reader, enum perch_feature feature)
{
	return feature >= 0 && feature < PERCH_FEATURE_MAX ? reader->text[feature] : NULL;
}

size_t perch_reader_command_line(const struct perch_reader *reader, const char *const **arguments)
{
	*arguments = reader->arguments;
	return reader->nr_arguments;
}

size_t perch_reader_build_ids(const struct perch_reader *reader, const struct perch_build_id **ids)
{
	*ids = reader->build_ids;
	return reader->nr_build_ids;
}
