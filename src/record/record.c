/* SPDX-License-Identifier: MIT */
/* Records other than samples, and the trailer by which they tell whose they are. */
#include "internal.h"

/* The part of a record between its header and its trailer. */
struct body {
	const char *at;
	size_t size;
};

int perch__too_short(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err)
{
	const char *name = perch_record_name(record->type);
	long offset = (const char *)at - (const char *)record->bytes;

	return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			       "%s record of %u bytes: %s, at byte %ld, does not fit in it",
			       name ? name : "unknown", record->size, field, offset);
}

static void decode_trailer(struct perch_identity *identity, uint64_t type, const char *at)
{
	identity->has = type & PERCH__IDENTITY_BITS;
	if (type & PERCH_SAMPLE_TID) {
		identity->pid = perch__u32(at);
		identity->tid = perch__u32(at + 4);
		at += 8;
	}
	if (type & PERCH_SAMPLE_TIME) {
		identity->time = perch__u64(at);
		at += 8;
	}
	if (type & PERCH_SAMPLE_ID) {
		identity->id = perch__u64(at);
		at += 8;
	}
	if (type & PERCH_SAMPLE_STREAM_ID) {
		identity->stream_id = perch__u64(at);
		at += 8;
	}
	if (type & PERCH_SAMPLE_CPU) {
		identity->cpu = perch__u32(at);
		at += 8;
	}
	if (type & PERCH_SAMPLE_IDENTIFIER)
		identity->id = perch__u64(at);
}

/* A name from `offset` on; false when no NUL ends it inside the body. */
static bool decode_text(struct perch_text *text, const struct body *body, size_t offset)
{
	const char *end;

	if (body->size <= offset)
		return false;
	end = memchr(body->at + offset, 0, body->size - offset);
	if (!end)
		return false;
	text->text = body->at + offset;
	text->length = end - text->text;
	return true;
}

static int decode_mmap(struct perch_record *record, const struct body *body,
		       struct perch_error *err)
{
	struct perch_mmap_record *map = &record->mmap;

	if (body->size < 32)
		return perch__too_short(record, body->at, "pid, tid, address, length, offset", err);
	map->pid = perch__u32(body->at);
	map->tid = perch__u32(body->at + 4);
	map->start = perch__u64(body->at + 8);
	map->length = perch__u64(body->at + 16);
	map->page_offset = perch__u64(body->at + 24);
	if (!decode_text(&map->filename, body, 32))
		return perch__too_short(record, body->at + 32, "filename", err);
	return 0;
}

/* Bytes 32..55 of an MMAP2 body: a build id when misc says so, else the inode's identity. */
static void decode_mmap2_identity(struct perch_mmap_record *map, uint16_t misc, const char *at)
{
	if (misc & PERCH_MISC_MMAP_BUILD_ID) {
		uint8_t size = *at;

		map->build_id_size = size < sizeof(map->build_id) ? size : sizeof(map->build_id);
		memcpy(map->build_id, at + 4, map->build_id_size);
		return;
	}
	map->major = perch__u32(at);
	map->minor = perch__u32(at + 4);
	map->inode = perch__u64(at + 8);
	map->inode_generation = perch__u64(at + 16);
}

static int decode_mmap2(struct perch_record *record, const struct body *body,
			struct perch_error *err)
{
	struct perch_mmap_record *map = &record->mmap;

	if (body->size < 64)
		return perch__too_short(record, body->at, "address, inode, protection", err);
	map->pid = perch__u32(body->at);
	map->tid = perch__u32(body->at + 4);
	map->start = perch__u64(body->at + 8);
	map->length = perch__u64(body->at + 16);
	map->page_offset = perch__u64(body->at + 24);
	decode_mmap2_identity(map, record->misc, body->at + 32);
	map->protection = perch__u32(body->at + 56);
	map->flags = perch__u32(body->at + 60);
	if (!decode_text(&map->filename, body, 64))
		return perch__too_short(record, body->at + 64, "filename", err);
	return 0;
}

static int decode_comm(struct perch_record *record, const struct body *body,
		       struct perch_error *err)
{
	struct perch_comm_record *comm = &record->comm;

	if (body->size < 8)
		return perch__too_short(record, body->at, "pid, tid", err);
	comm->pid = perch__u32(body->at);
	comm->tid = perch__u32(body->at + 4);
	comm->exec = record->misc & PERCH_MISC_COMM_EXEC;
	if (!decode_text(&comm->comm, body, 8))
		return perch__too_short(record, body->at + 8, "comm", err);
	return 0;
}

static int decode_task(struct perch_record *record, const struct body *body,
		       struct perch_error *err)
{
	struct perch_task_record *task = &record->task;

	if (body->size < 24)
		return perch__too_short(record, body->at, "pid, ppid, tid, ptid, time", err);
	task->pid = perch__u32(body->at);
	task->ppid = perch__u32(body->at + 4);
	task->tid = perch__u32(body->at + 8);
	task->ptid = perch__u32(body->at + 12);
	task->time = perch__u64(body->at + 16);
	return 0;
}

static int decode_lost(struct perch_record *record, const struct body *body,
		       struct perch_error *err)
{
	if (body->size < 16)
		return perch__too_short(record, body->at, "id, lost", err);
	record->lost.id = perch__u64(body->at);
	record->lost.lost = perch__u64(body->at + 8);
	return 0;
}

static int decode_lost_samples(struct perch_record *record, const struct body *body,
			       struct perch_error *err)
{
	if (body->size < 8)
		return perch__too_short(record, body->at, "lost", err);
	record->lost.lost = perch__u64(body->at);
	return 0;
}

static int decode_throttle(struct perch_record *record, const struct body *body,
			   struct perch_error *err)
{
	struct perch_throttle_record *throttle = &record->throttle;

	if (body->size < 24)
		return perch__too_short(record, body->at, "time, id, stream id", err);
	throttle->time = perch__u64(body->at);
	throttle->id = perch__u64(body->at + 8);
	throttle->stream_id = perch__u64(body->at + 16);
	return 0;
}

typedef int (*decode_body)(struct perch_record *record, const struct body *body,
			   struct perch_error *err);

/* READ is not among them: it needs the layout. */
static const decode_body bodies[] = {
	[PERCH_RECORD_MMAP] = decode_mmap,
	[PERCH_RECORD_LOST] = decode_lost,
	[PERCH_RECORD_COMM] = decode_comm,
	[PERCH_RECORD_EXIT] = decode_task,
	[PERCH_RECORD_THROTTLE] = decode_throttle,
	[PERCH_RECORD_UNTHROTTLE] = decode_throttle,
	[PERCH_RECORD_FORK] = decode_task,
	[PERCH_RECORD_MMAP2] = decode_mmap2,
	[PERCH_RECORD_LOST_SAMPLES] = decode_lost_samples,
};

static int decode_read_record(struct perch_record *record, const struct perch_layout *layout,
			      const struct body *body, struct perch_error *err)
{
	const uint64_t *at = (const uint64_t *)body->at;

	if (body->size < 8)
		return perch__too_short(record, body->at, "pid, tid", err);
	record->read.pid = perch__u32(body->at);
	record->read.tid = perch__u32(body->at + 4);
	if (!perch__decode_read(&record->read.values, layout->read_format, at + 1,
				at + body->size / 8))
		return perch__too_short(record, at + 1, "read values", err);
	return 0;
}

static int decode_other(struct perch_record *record, const struct perch_layout *layout,
			struct perch_error *err)
{
	const char *bytes = record->bytes;
	struct body body = {
		.at = bytes + PERCH__HEADER_BYTES,
		.size = record->size - PERCH__HEADER_BYTES,
	};

	if (perch__has_trailer(layout, record->type)) {
		if (body.size < layout->id_size)
			return perch__too_short(record, body.at, "sample_id trailer", err);
		body.size -= layout->id_size;
		decode_trailer(&record->identity, layout->sample_type, body.at + body.size);
	}
	if (record->type == PERCH_RECORD_READ)
		return decode_read_record(record, layout, &body, err);
	if (record->type < sizeof(bodies) / sizeof(bodies[0]) && bodies[record->type])
		return bodies[record->type](record, &body, err);
	return 0;
}

/* A record's header, checked against the bytes there are. */
static int decode_header(struct perch_record *record, const void *bytes, size_t size,
			 struct perch_error *err)
{
	struct perch_record_header header;

	if (size < PERCH__HEADER_BYTES)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "%zu bytes are too few for a record's header of 8", size);
	memcpy(&header, bytes, sizeof(header));
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->bytes = bytes;
	if ((uintptr_t)bytes % sizeof(uint64_t))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record must be 8-byte aligned");
	if (header.size < PERCH__HEADER_BYTES)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "a record's size of %u is less than its header of 8",
				       header.size);
	if (header.size > size)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
				       "a record of %u bytes, of which %zu are there", header.size,
				       size);
	return 0;
}

int perch_record_decode(struct perch_record *record, const struct perch_layout *layout,
			const void *bytes, size_t size, struct perch_error *err)
{
	size_t all = sizeof(*record);
	int rc;

	/*
	 * Kept from the compiler, which would inline a known size as rep stos: that costs more than
	 * all the decoding.
	 */
	__asm__("" : "+r"(all));
	memset(record, 0, all);
	record->layout = layout;
	rc = decode_header(record, bytes, size, err);
	if (__builtin_expect(rc, 0))
		return rc;
	if (__builtin_expect(record->type == PERCH_RECORD_SAMPLE, 1))
		return perch__decode_sample(record, layout, err);
	return decode_other(record, layout, err);
}
