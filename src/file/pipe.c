/* SPDX-License-Identifier: MIT */
/*
 * Reads a piped recording (`perf record -o -`) that is in a file. Attrs and features are records
 * among the others, at any position, so all records are searched once.
 */
#include "base/no_memory.h"
#include "internal.h"

#define MAX_EVENTS 65535u
/* Limits the events that are compared with ids of updates: unknown ids could need any time. */
#define MAX_SEARCHED (1u << 24)

/* Calls visit for each complete record, until it returns an error. */
static int for_each_header_record(struct perch_reader *reader,
				  int (*visit)(struct perch_reader *reader, uint32_t type,
					       const uint8_t *record, uint16_t size,
					       struct perch_error *err),
				  struct perch_error *err)
{
	uint64_t at = reader->data_offset;

	while (reader->data_end - at >= sizeof(struct perch_record_header)) {
		const uint8_t *record = reader->file + at;
		uint64_t left = reader->data_end - at, payload;
		uint16_t size = perch__file_u16(reader, record + 6);
		int rc;

		if (size < sizeof(struct perch_record_header) || size > left)
			return 0;
		rc = visit(reader, perch__file_u32(reader, record), record, size, err);
		if (rc)
			return rc;
		payload = perch__record_payload(reader->swapped, record, size);
		at += payload > left - size ? left : size + payload;
	}
	return 0;
}

static int count_attr(struct perch_reader *reader, uint32_t type, const uint8_t *record,
		      uint16_t size, struct perch_error *err)
{
	(void)record;
	(void)err;
	if (type == PERCH_RECORD_HEADER_ATTR && size >= 8 + PERCH__ATTR_MIN)
		reader->nr_events++;
	return 0;
}

static int read_attr(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		     struct perch_error *err)
{
	const uint8_t *attr = record + 8;
	size_t left = size - 8u;
	uint32_t attr_size;

	if (left < PERCH__ATTR_MIN)
		return 0;
	attr_size = perch__file_u32(reader, attr + offsetof(struct perch_attr, size));
	if (attr_size < PERCH__ATTR_MIN)
		attr_size = PERCH__ATTR_MIN;
	if (attr_size > left)
		attr_size = left;
	return perch__add_attr(reader, attr, attr_size, attr + attr_size,
			       (left - attr_size) / sizeof(uint64_t), err);
}

/* u64 feature, then its bytes. */
static int read_feature(struct perch_reader *reader, const uint8_t *record, uint16_t size)
{
	uint64_t feature;

	if (size < 16)
		return 0;
	feature = perch__file_u64(reader, record + 8);
	/* The last record has no bytes, and the number after the last feature that the recorder
	 * knows. */
	if (feature < PERCH_FEATURE_MAX && (size > 16 || feature == PERCH_FEATURE_BRANCH_STACK)) {
		reader->feature[feature] = (struct perch__view){ .at = record + 16,
								 .left = size - 16u,
								 .swapped = reader->swapped };
		reader->header.features[0] |= 1ull << feature;
	} else if (feature >= PERCH_FEATURE_MAX && size > 16) {
		perch__unknown_feature(reader, feature);
	}
	return 0;
}

/*
 * u32 size, then padding; the data follow the record. The data of several records cannot be one
 * feature: the first is used.
 */
static void read_tracing_data(struct perch_reader *reader, const uint8_t *record, uint16_t size)
{
	const uint64_t payload = perch__record_payload(reader->swapped, record, size);
	const uint64_t left = (uint64_t)(reader->file + reader->data_end - record) - size;

	if (size < 12 || reader->feature[PERCH_FEATURE_TRACING_DATA].at)
		return;
	reader->feature[PERCH_FEATURE_TRACING_DATA] =
		(struct perch__view){ .at = record + size,
				      .left = payload < left ? payload : left,
				      .swapped = reader->swapped };
	reader->header.features[0] |= 1ull << PERCH_FEATURE_TRACING_DATA;
}

/* Finds an event by its first id. Updates usually have the order of the events. */
static struct perch_file_event *event_of(struct perch_reader *reader, uint64_t id)
{
	for (size_t i = 0; i < reader->nr_events; i++) {
		size_t at = (reader->updated + i) % reader->nr_events;
		struct perch_file_event *event = &reader->events[at];

		if (++reader->searched > MAX_SEARCHED)
			return NULL;
		if (event->nr_ids && event->ids[0] == id) {
			reader->updated = at + 1;
			return event;
		}
	}
	return NULL;
}

/*
 * Reads the name of an event. perf wrote it to pipes before it wrote features there (Linux 4.18).
 */
static int read_update(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		       struct perch_error *err)
{
	struct perch_file_event *event;
	const char *name = (const char *)record + PERCH__UPDATE_HEAD;

	if (size <= PERCH__UPDATE_HEAD || perch__file_u64(reader, record + 8) != PERCH__UPDATE_NAME)
		return 0;
	event = event_of(reader, perch__file_u64(reader, record + 16));
	if (!event || event->name)
		return 0;
	event->name = perch__reader_strndup(reader, name, strnlen(name, size - PERCH__UPDATE_HEAD));
	return event->name ? 0 : PERCH__NO_MEMORY(err, "for an event's name");
}

static int read_record(struct perch_reader *reader, uint32_t type, const uint8_t *record,
		       uint16_t size, struct perch_error *err)
{
	switch (type) {
	case PERCH_RECORD_HEADER_ATTR:
		return read_attr(reader, record, size, err);
	case PERCH_RECORD_HEADER_FEATURE:
		return read_feature(reader, record, size);
	case PERCH_RECORD_HEADER_TRACING_DATA:
		read_tracing_data(reader, record, size);
		return 0;
	case PERCH_RECORD_HEADER_BUILD_ID:
		return perch__add_build_id(reader, record, size, err);
	case PERCH_RECORD_EVENT_UPDATE:
		return read_update(reader, record, size, err);
	case PERCH_RECORD_STAT_CONFIG: /* the feature has no bytes, so pipes do not have it */
		reader->feature[PERCH_FEATURE_STAT] = (struct perch__view){ .at = record };
		reader->header.features[0] |= 1ull << PERCH_FEATURE_STAT;
		return 0;
	default:
		return 0;
	}
}

int perch__read_pipe(struct perch_reader *reader, struct perch_error *err)
{
	size_t nr;
	int rc;

	memset(reader->header.features, 0, sizeof(reader->header.features));
	reader->data_offset = PERCH__HEADER_SIZE_PIPE;
	reader->data_end = reader->size;
	for_each_header_record(reader, count_attr, err);
	nr = reader->nr_events;
	if (!nr)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "the piped recording has no events");
	if (nr > MAX_EVENTS)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "the piped recording has more than %u events", MAX_EVENTS);
	/* Another program may change the file between both passes, so nr is the limit. */
	reader->nr_events = 0;
	reader->events_capacity = nr;
	reader->events = perch__reader_alloc(reader, nr * sizeof(*reader->events));
	if (!reader->events)
		return PERCH__NO_MEMORY(err, "for %zu events", nr);
	rc = for_each_header_record(reader, read_record, err);
	return rc ? rc : perch__parse_features(reader, err);
}
