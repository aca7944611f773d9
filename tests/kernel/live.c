/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <perch/fields.h>

#include "base/array.h"
#include "live.h"

#define PAGES 64

bool live_is_root(void)
{
	return geteuid() == 0;
}

uint64_t live_clock(const struct perch_attr *attr)
{
	struct timespec now;

	clock_gettime(attr->use_clockid ? attr->clockid : CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct perch_attr live_attr(void)
{
	return (struct perch_attr){
		.type = PERCH_TYPE_SOFTWARE,
		.config = PERCH_COUNT_SW_DUMMY,
		.sample_type = LIVE_SAMPLE_ID,
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.exclude_kernel = !live_is_root(),
		.exclude_hv = !live_is_root(),
		.size = PERCH_ATTR_SIZE_VER7,
	};
}

struct perch_attr live_sampling(uint32_t type, uint64_t config, uint64_t fields)
{
	struct perch_attr attr = live_attr();

	attr.type = type;
	attr.config = config;
	attr.sample_period = 1;
	attr.sample_type |= fields;
	return attr;
}

int live_open(struct live *live, const struct perch_attr *attr, const struct perch_target *target,
	      size_t pages, struct perch_error *err)
{
	int rc;

	*live = (struct live){ .attr = *attr, .target = *target, .from = live_clock(attr) };
	perch_parse_info_init(&live->parse_info, attr, PERCH_BYTES_NATIVE);
	live->fd = perch_open(attr, target, -1, 0, NULL, err);
	if (live->fd < 0)
		return live->fd;
	rc = perch_event_id(live->fd, NULL, &live->id, err);
	if (rc >= 0)
		rc = perch_ring_open(&live->ring, live->fd, pages ? pages : PAGES,
				     PERCH_RING_FORWARD, NULL, err);
	if (rc < 0)
		live_close(live);
	return rc;
}

void live_close(struct live *live)
{
	perch_ring_close(live->ring);
	if (live->fd >= 0)
		close(live->fd);
	for (size_t i = 0; i < live->nr; i++)
		free((void *)(uintptr_t)live->record[i].bytes);
	free(live->record);
	*live = (struct live){ .fd = -1 };
}

int live_enable(struct live *live)
{
	return perch_event_enable(live->fd, false, NULL, NULL);
}

int live_disable(struct live *live)
{
	return perch_event_disable(live->fd, false, NULL, NULL);
}

#define WRONG(...) perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, __VA_ARGS__)

/* Checks the sample id of a record. The pid of a task that has exited is -1. */
static int check_sample_id(const struct live *live, const struct perch_record *record,
			   struct perch_error *err)
{
	const struct perch_sample_id *sample_id = &record->sample_id;
	const bool whole = record->type == PERCH_RECORD_SAMPLE || live->attr.sample_id_all;
	const uint64_t wanted = whole ? live->attr.sample_type & LIVE_SAMPLE_ID : 0;
	const char *name = perch_record_name(record->type);

	if (sample_id->has != wanted)
		return WRONG("%s: sample id fields %#" PRIx64 ", expected %#" PRIx64, name,
			     sample_id->has, wanted);
	if (wanted & (PERCH_SAMPLE_ID | PERCH_SAMPLE_IDENTIFIER) && sample_id->id != live->id)
		return WRONG("%s: id %" PRIu64 ", expected %" PRIu64, name, sample_id->id,
			     live->id);
	if (wanted & PERCH_SAMPLE_STREAM_ID &&
	    (live->attr.inherit ? sample_id->stream_id < live->id
				: sample_id->stream_id != live->id))
		return WRONG("%s: stream id %" PRIu64 " of event %" PRIu64, name,
			     sample_id->stream_id, live->id);
	if (wanted & PERCH_SAMPLE_TIME &&
	    (sample_id->time < live->from || sample_id->time > live->to))
		return WRONG("%s: time %" PRIu64 " is outside %" PRIu64 "..%" PRIu64, name,
			     sample_id->time, live->from, live->to);
	if (wanted & PERCH_SAMPLE_CPU &&
	    (live->target.cpu >= 0 ? sample_id->cpu != (uint32_t)live->target.cpu
				   : sample_id->cpu >= (uint32_t)sysconf(_SC_NPROCESSORS_CONF)))
		return WRONG("%s: CPU %" PRIu32, name, sample_id->cpu);
	if (wanted & PERCH_SAMPLE_TID && live->target.cpu < 0 && !live->attr.inherit &&
	    live->target.tid == 0 && sample_id->pid != (uint32_t)getpid())
		return WRONG("%s: pid %" PRIu32, name, sample_id->pid);
	return 0;
}

/* Fails for a list or group that ends twice, and for a field outside of them without a name. */
static int check_nesting(void *context, const struct perch_field *field)
{
	int *depth = context;

	if (field->kind == PERCH_FIELD_END)
		return --*depth < 0;
	if (!*depth && !field->name)
		return 1;
	*depth += field->kind == PERCH_FIELD_LIST || field->kind == PERCH_FIELD_GROUP;
	return 0;
}

static int check(const struct live *live, const struct perch_record *record,
		 struct perch_error *err)
{
	int depth = 0;

	if (!perch_record_name(record->type) || record->type >= PERCH_RECORD_MAX)
		return WRONG("the kernel wrote a record of unknown type %" PRIu32, record->type);
	/* the kernel writes too large a size into these if another event records them too */
	if (record->trailing_bytes && record->type != PERCH_RECORD_KSYMBOL &&
	    record->type != PERCH_RECORD_BPF_EVENT && record->type != PERCH_RECORD_TEXT_POKE)
		return WRONG("%s: %u bytes after the last field", perch_record_name(record->type),
			     record->trailing_bytes);
	if (perch_record_fields(record, perch_arch_here(), check_nesting, &depth) || depth)
		return WRONG("%s: a list or group does not end", perch_record_name(record->type));
	return check_sample_id(live, record, err);
}

static int add_record(struct live *live, const struct perch_record_header *header,
		      struct perch_error *err)
{
	struct perch_record *record;
	void *bytes;
	int rc;

	bytes = malloc(header->size);
	record = bytes ? PERCH__ARRAY_APPEND(live->record, live->nr, live->capacity) : NULL;
	if (!record) {
		free(bytes);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a record");
	}
	memcpy(bytes, header, header->size);
	live->to = live_clock(&live->attr); /* for each record: the event may still be enabled */
	rc = perch_record_decode(record, &live->parse_info, bytes, header->size, err);
	record->bytes = bytes;
	return rc < 0 ? rc : check(live, record, err);
}

int live_take(struct live *live, struct perch_error *err)
{
	const struct perch_record_header *header;
	int rc = 0;

	while (rc >= 0 && (header = perch_ring_next(live->ring)))
		rc = add_record(live, header, err);
	return rc;
}

const struct perch_record *live_next(const struct live *live, uint32_t type,
				     const struct perch_record *after)
{
	for (size_t i = after ? (size_t)(after - live->record) + 1 : 0; i < live->nr; i++)
		if (live->record[i].type == type)
			return &live->record[i];
	return NULL;
}

size_t live_count(const struct live *live, uint32_t type)
{
	size_t nr = 0;

	for (size_t i = 0; i < live->nr; i++)
		nr += live->record[i].type == type;
	return nr;
}
