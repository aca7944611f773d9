/* SPDX-License-Identifier: MIT */
/*
 * Decodes the bodies of all records but samples. A table has the fixed fields at the start of a
 * body; a function decodes the variable tail, if there is one: names, lists, bytes.
 */
#include "base/kernel/mmap_build_id.h"
#include "internal.h"

/* A number in a body. */
struct fixed_field {
	const char *name;
	uint16_t view; /* offset in struct perch_record */
	uint8_t at;    /* offset in the body */
	uint8_t size;  /* 2, 4 or 8 bytes */
};

/* clang-format off */
#define FIELD(offset, member, name)                                  \
	{                                                            \
		name, offsetof(struct perch_record, member), offset, \
			sizeof(((struct perch_record *)0)->member)   \
	}
/* clang-format on */

struct body_format {
	const struct fixed_field *fields;
	uint8_t nr;
	uint8_t bytes; /* size of the fixed fields */
	/* returns the size of the tail, or -EBADMSG */
	int (*decode_tail)(struct perch_record *record, const struct perch__body *body,
			   struct perch_error *err);
};

/* Decodes a name at a byte offset of the body. Its NUL must be in the body. Returns its size with
 * the padding. */
static int decode_text(struct perch_text *text, const struct perch_record *record,
		       const struct perch__body *body, size_t offset, const char *name,
		       struct perch_error *err)
{
	size_t most = body->size - offset, used;
	const char *start = body->at + offset;
	const char *end = most ? memchr(start, 0, most) : NULL;

	if (!end)
		return perch__truncated(record, start, name, err);
	text->text = start;
	text->length = end - start;
	used = perch__padded((size_t)text->length + 1);
	return used < most ? used : most;
}

static const struct fixed_field mmap_fields[] = {
	FIELD(0, mmap.pid, "pid"),
	FIELD(4, mmap.tid, "tid"),
	FIELD(8, mmap.start, "addr"),
	FIELD(16, mmap.length, "len"),
	FIELD(24, mmap.page_offset, "pgoff"),
};

static int decode_mmap_tail(struct perch_record *record, const struct perch__body *body,
			    struct perch_error *err)
{
	return decode_text(&record->mmap.filename, record, body, 32, "filename", err);
}

/*
 * Bytes 32 to 55 are the device and inode, or, with MMAP_BUILD_ID in misc, a build id. The byte
 * with the size of the build id may be more than the 20 bytes there are.
 */
static const struct fixed_field inode_fields[] = {
	FIELD(32, mmap.major, "maj"),
	FIELD(36, mmap.minor, "min"),
	FIELD(40, mmap.inode, "ino"),
	FIELD(48, mmap.inode_generation, "ino_generation"),
};
static const struct fixed_field protection_fields[] = {
	FIELD(56, mmap.protection, "prot"),
	FIELD(60, mmap.flags, "flags"),
};
#define BUILD_ID_AT 32

static int decode_fixed_fields(struct perch_record *record, const struct perch__body *body,
			       const struct fixed_field *fields, size_t nr, struct perch_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		const struct fixed_field *field = &fields[i];
		const char *from = body->at + field->at;
		char *to = (char *)record + field->view;

		if (field->at + (size_t)field->size > body->size)
			return perch__truncated(record, from, field->name, err);
		if (field->size == 8)
			memcpy(to, &(uint64_t){ perch__u64(from, body->swap) }, 8);
		else if (field->size == 4)
			memcpy(to, &(uint32_t){ perch__u32(from, body->swap) }, 4);
		else
			memcpy(to, &(uint16_t){ perch__u16(from, body->swap) }, 2);
	}
	return 0;
}

/*
 * Linux 3.10 of RHEL 7 (and 3.12 to 3.15) write no prot and flags: the name is where they are in
 * newer records. A name has at least two characters, and begins with printable ones. Zeros follow
 * up to a multiple of 8 bytes. prot and flags are no such text: a byte of prot is 0, and flags is
 * not. Tools write other numbers than the kernel: perf inject --jit the mode of the file to prot.
 */
#define PROTECTION_AT 56

static bool is_name(const char *text, size_t most)
{
	size_t length = strnlen(text, most), end = perch__padded(length + 1);

	if (length < 2 || end > most)
		return false;
	for (size_t i = 0; i < length && i < sizeof(uint32_t); i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	for (size_t i = length; i < end; i++)
		if (text[i])
			return false;
	return true;
}

static bool has_protection(const struct perch_record *record, const struct perch__body *body)
{
	return record->misc & PERCH_MISC_MMAP_BUILD_ID || body->size < PROTECTION_AT ||
	       !is_name(body->at + PROTECTION_AT, body->size - PROTECTION_AT);
}

/* Another event's flag can be in the record, see struct perch_mmap_record. But a tool may have put
 * build ids into records of an event without them, as perch record and perf inject do. */
static bool is_build_id(const struct perch__body *body)
{
	const uint8_t *at = (const uint8_t *)body->at + BUILD_ID_AT;

	return perch__is_mmap_build_id(at, perch__u32(at + 4, body->swap));
}

static int decode_mmap2_tail(struct perch_record *record, const struct perch__body *body,
			     struct perch_error *err)
{
	struct perch_mmap_record *map = &record->mmap;
	size_t name_at = PROTECTION_AT;
	int rc = 0;

	if (record->misc & PERCH_MISC_MMAP_BUILD_ID && !body->build_id &&
	    body->size >= BUILD_ID_AT + 4 + sizeof(map->build_id) && !is_build_id(body))
		record->misc &= ~PERCH_MISC_MMAP_BUILD_ID;
	if (!(record->misc & PERCH_MISC_MMAP_BUILD_ID)) {
		rc = decode_fixed_fields(record, body, inode_fields, PERCH__NR(inode_fields), err);
	} else if (body->size < BUILD_ID_AT + 4 + sizeof(map->build_id)) {
		rc = perch__truncated(record, body->at + BUILD_ID_AT, "build_id", err);
	} else {
		uint8_t size = body->at[BUILD_ID_AT];

		map->build_id_size = size < sizeof(map->build_id) ? size : sizeof(map->build_id);
		memcpy(map->build_id, body->at + BUILD_ID_AT + 4, map->build_id_size);
	}
	if (!rc && has_protection(record, body)) {
		rc = decode_fixed_fields(record, body, protection_fields,
					 PERCH__NR(protection_fields), err);
		name_at += 8;
	}
	if (!rc)
		rc = decode_text(&map->filename, record, body, name_at, "filename", err);
	return rc < 0 ? rc : rc + (int)name_at - 32;
}

static const struct fixed_field comm_fields[] = {
	FIELD(0, comm.pid, "pid"),
	FIELD(4, comm.tid, "tid"),
};

static int decode_comm_tail(struct perch_record *record, const struct perch__body *body,
			    struct perch_error *err)
{
	record->comm.exec = record->misc & PERCH_MISC_COMM_EXEC;
	return decode_text(&record->comm.comm, record, body, 8, "comm", err);
}

static const struct fixed_field task_fields[] = {
	FIELD(0, task.pid, "pid"),    FIELD(4, task.ppid, "ppid"),  FIELD(8, task.tid, "tid"),
	FIELD(12, task.ptid, "ptid"), FIELD(16, task.time, "time"),
};
static const struct fixed_field lost_fields[] = {
	FIELD(0, lost.id, "id"),
	FIELD(8, lost.lost, "lost"),
};
static const struct fixed_field lost_samples_fields[] = { FIELD(0, lost.lost, "lost") };
static const struct fixed_field throttle_fields[] = {
	FIELD(0, throttle.time, "time"),
	FIELD(8, throttle.id, "id"),
	FIELD(16, throttle.stream_id, "stream_id"),
};
static const struct fixed_field aux_fields[] = {
	FIELD(0, aux.offset, "aux_offset"),
	FIELD(8, aux.size, "aux_size"),
	FIELD(16, aux.flags, "flags"),
};
static const struct fixed_field itrace_fields[] = {
	FIELD(0, itrace.pid, "pid"),
	FIELD(4, itrace.tid, "tid"),
};
static const struct fixed_field cpu_wide_fields[] = {
	FIELD(0, context_switch.other_pid, "next_prev_pid"),
	FIELD(4, context_switch.other_tid, "next_prev_tid"),
};
static const struct fixed_field hw_id_fields[] = { FIELD(0, hw_id.hw_id, "hw_id") };

static int decode_switch_tail(struct perch_record *record, const struct perch__body *body,
			      struct perch_error *err)
{
	(void)body;
	(void)err;
	record->context_switch.out = record->misc & PERCH_MISC_SWITCH_OUT;
	record->context_switch.preempt = record->misc & PERCH_MISC_SWITCH_OUT_PREEMPT;
	return 0;
}

static const struct fixed_field read_fields[] = {
	FIELD(0, read.pid, "pid"),
	FIELD(4, read.tid, "tid"),
};

static int decode_read_tail(struct perch_record *record, const struct perch__body *body,
			    struct perch_error *err)
{
	const uint64_t *words = (const uint64_t *)body->at;
	struct perch__truncated_field truncated;
	const uint64_t *after = perch__decode_read(&record->read.values, body->read_format,
						   words + 1, words + body->size / 8, body->swap,
						   &truncated);

	if (!after)
		return perch__truncated(record, truncated.at, truncated.field, err);
	return (const char *)after - (body->at + 8);
}

static const struct fixed_field namespaces_fields[] = {
	FIELD(0, namespaces.pid, "pid"),
	FIELD(4, namespaces.tid, "tid"),
	FIELD(8, namespaces.nr, "number of namespaces"),
};

static int decode_namespaces_tail(struct perch_record *record, const struct perch__body *body,
				  struct perch_error *err)
{
	struct perch_namespaces_record *namespaces = &record->namespaces;
	const char *at = body->at + 16;

	if (namespaces->nr > (body->size - 16) / sizeof(*namespaces->link)) {
		namespaces->nr = 0;
		return perch__truncated(record, at, "namespaces", err);
	}
	namespaces->link = (const struct perch_ns_link_info *)at;
	return namespaces->nr * sizeof(*namespaces->link);
}

void perch_namespace_at(const struct perch_record *record, uint64_t index,
			struct perch_ns_link_info *link)
{
	const bool swap = record->parse_info->swapped;
	const struct perch_ns_link_info *from;

	*link = (struct perch_ns_link_info){ 0 };
	if (record->type != PERCH_RECORD_NAMESPACES || index >= record->namespaces.nr)
		return;
	from = &record->namespaces.link[index];
	link->dev = perch__u64(&from->dev, swap);
	link->ino = perch__u64(&from->ino, swap);
}

static const struct fixed_field ksymbol_fields[] = {
	FIELD(0, ksymbol.address, "addr"),
	FIELD(8, ksymbol.length, "len"),
	FIELD(12, ksymbol.type, "ksym_type"),
	FIELD(14, ksymbol.flags, "flags"),
};

static int decode_ksymbol_tail(struct perch_record *record, const struct perch__body *body,
			       struct perch_error *err)
{
	return decode_text(&record->ksymbol.name, record, body, 16, "name", err);
}

static const struct fixed_field bpf_fields[] = {
	FIELD(0, bpf.type, "type"),
	FIELD(2, bpf.flags, "flags"),
	FIELD(4, bpf.id, "id"),
};

static int decode_bpf_tail(struct perch_record *record, const struct perch__body *body,
			   struct perch_error *err)
{
	const size_t size = sizeof(record->bpf.tag);

	if (body->size < 8 + size)
		return perch__truncated(record, body->at + 8, "tag", err);
	memcpy(record->bpf.tag, body->at + 8, size);
	return size;
}

static const struct fixed_field cgroup_fields[] = { FIELD(0, cgroup.id, "id") };

static int decode_cgroup_tail(struct perch_record *record, const struct perch__body *body,
			      struct perch_error *err)
{
	return decode_text(&record->cgroup.path, record, body, 8, "path", err);
}

static const struct fixed_field poke_fields[] = {
	FIELD(0, text_poke.address, "addr"),
	FIELD(8, text_poke.old_length, "old_len"),
	FIELD(10, text_poke.new_length, "new_len"),
};

/* Decodes the old and the new bytes, with one padding after both. */
static int decode_text_poke_bytes(struct perch_record *record, const struct perch__body *body,
				  struct perch_error *err)
{
	struct perch_text_poke_record *poke = &record->text_poke;
	size_t left = body->size - 12, used, before = poke->old_length, after = poke->new_length;
	const char *at = body->at + 12;

	if (before + after > left) {
		poke->old_length = poke->new_length = 0;
		return before > left ? perch__truncated(record, at, "old_bytes", err)
				     : perch__truncated(record, at + before, "new_bytes", err);
	}
	poke->before = (const uint8_t *)at;
	poke->after = poke->before + before;
	used = perch__padded(12 + before + after) - 12;
	return used < left ? used : left;
}

static const struct fixed_field deferred_fields[] = {
	FIELD(0, deferred.cookie, "cookie"),
	FIELD(8, deferred.nr, "number of ips"),
};

static int decode_deferred_tail(struct perch_record *record, const struct perch__body *body,
				struct perch_error *err)
{
	const char *at = body->at + 16;

	if (record->deferred.nr > (body->size - 16) / 8) {
		record->deferred.nr = 0;
		return perch__truncated(record, at, "ips", err);
	}
	record->deferred.ip = (const uint64_t *)at;
	return record->deferred.nr * 8;
}

/* clang-format off */
#define FORMAT(fields, bytes, decode_tail)               \
	{                                       \
		fields, PERCH__NR(fields), bytes, decode_tail \
	}
/* clang-format on */

static const struct body_format body_formats[] = {
	[PERCH_RECORD_MMAP] = FORMAT(mmap_fields, 32, decode_mmap_tail),
	[PERCH_RECORD_LOST] = FORMAT(lost_fields, 16, NULL),
	[PERCH_RECORD_COMM] = FORMAT(comm_fields, 8, decode_comm_tail),
	[PERCH_RECORD_EXIT] = FORMAT(task_fields, 24, NULL),
	[PERCH_RECORD_THROTTLE] = FORMAT(throttle_fields, 24, NULL),
	[PERCH_RECORD_UNTHROTTLE] = FORMAT(throttle_fields, 24, NULL),
	[PERCH_RECORD_FORK] = FORMAT(task_fields, 24, NULL),
	[PERCH_RECORD_READ] = FORMAT(read_fields, 8, decode_read_tail),
	[PERCH_RECORD_MMAP2] = FORMAT(mmap_fields, 32, decode_mmap2_tail),
	[PERCH_RECORD_AUX] = FORMAT(aux_fields, 24, NULL),
	[PERCH_RECORD_ITRACE_START] = FORMAT(itrace_fields, 8, NULL),
	[PERCH_RECORD_LOST_SAMPLES] = FORMAT(lost_samples_fields, 8, NULL),
	[PERCH_RECORD_SWITCH] = { NULL, 0, 0, decode_switch_tail },
	[PERCH_RECORD_SWITCH_CPU_WIDE] = FORMAT(cpu_wide_fields, 8, decode_switch_tail),
	[PERCH_RECORD_NAMESPACES] = FORMAT(namespaces_fields, 16, decode_namespaces_tail),
	[PERCH_RECORD_KSYMBOL] = FORMAT(ksymbol_fields, 16, decode_ksymbol_tail),
	[PERCH_RECORD_BPF_EVENT] = FORMAT(bpf_fields, 8, decode_bpf_tail),
	[PERCH_RECORD_CGROUP] = FORMAT(cgroup_fields, 8, decode_cgroup_tail),
	[PERCH_RECORD_TEXT_POKE] = FORMAT(poke_fields, 12, decode_text_poke_bytes),
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = FORMAT(hw_id_fields, 8, NULL),
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = FORMAT(deferred_fields, 16, decode_deferred_tail),
};

int perch__decode_body(struct perch_record *record, const struct perch__body *body,
		       struct perch_error *err)
{
	const struct body_format *format;
	int used = 0, rc;

	if (record->type >= PERCH__FIRST_USER_TYPE)
		return 0;
	if (record->type >= PERCH__NR(body_formats)) {
		record->trailing_bytes = body->size;
		return 0;
	}
	format = &body_formats[record->type];
	rc = decode_fixed_fields(record, body, format->fields, format->nr, err);
	if (rc)
		return rc;
	if (format->decode_tail)
		used = format->decode_tail(record, body, err);
	if (used < 0)
		return used;
	record->trailing_bytes = body->size - format->bytes - used;
	return 0;
}
