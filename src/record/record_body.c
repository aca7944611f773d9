/* SPDX-License-Identifier: MIT */
/*
 * The bodies of all records but samples. Each is a table of the numbers at its start, which one
 * comparison guards, and for some a function for what comes behind them: names, lists, bytes.
 */
#include "internal.h"

/* A number of a body: where it is there, and where in struct perch_record it goes. */
struct piece {
	const char *name;
	uint16_t view;
	uint8_t at;
	uint8_t size;
};

/* clang-format off */
#define PIECE(offset, member, name)                                  \
	{                                                            \
		name, offsetof(struct perch_record, member), offset, \
			sizeof(((struct perch_record *)0)->member)   \
	}
/* clang-format on */

struct form {
	const struct piece *pieces;
	uint8_t nr;
	uint8_t bytes; /* of the pieces, and where `rest` starts */
	/* Bytes that the rest takes, or -EBADMSG. */
	int (*rest)(struct perch_record *record, const struct perch__body *body,
		    struct perch_error *err);
};

/* A name from byte `offset` of the body on, which must end inside it; the padding behind it is its
 * own. */
static int decode_text(struct perch_text *text, const struct perch_record *record,
		       const struct perch__body *body, size_t offset, const char *name,
		       struct perch_error *err)
{
	size_t most = body->size - offset, used;
	const char *start = body->at + offset;
	const char *end = most ? memchr(start, 0, most) : NULL;

	if (!end)
		return perch__too_short(record, start, name, err);
	text->text = start;
	text->length = end - start;
	used = perch__padded((size_t)text->length + 1);
	return used < most ? used : most;
}

static const struct piece mmap_pieces[] = {
	PIECE(0, mmap.pid, "pid"),
	PIECE(4, mmap.tid, "tid"),
	PIECE(8, mmap.start, "addr"),
	PIECE(16, mmap.length, "len"),
	PIECE(24, mmap.page_offset, "pgoff"),
};

static int rest_of_mmap(struct perch_record *record, const struct perch__body *body,
			struct perch_error *err)
{
	return decode_text(&record->mmap.filename, record, body, 32, "filename", err);
}

/*
 * Bytes 32 to 55 are the inode's identity or, when misc says so, a build id of at most 20 bytes:
 * its size is a byte that may say more.
 */
static const struct piece inode_pieces[] = {
	PIECE(32, mmap.major, "maj"),
	PIECE(36, mmap.minor, "min"),
	PIECE(40, mmap.inode, "ino"),
	PIECE(48, mmap.inode_generation, "ino_generation"),
};
static const struct piece protection_pieces[] = {
	PIECE(56, mmap.protection, "prot"),
	PIECE(60, mmap.flags, "flags"),
};
#define BUILD_ID_AT 32

#define NR(array)   (sizeof(array) / sizeof((array)[0]))

static int take(struct perch_record *record, const struct perch__body *body,
		const struct piece *pieces, size_t nr, struct perch_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		const struct piece *piece = &pieces[i];
		const char *from = body->at + piece->at;
		char *to = (char *)record + piece->view;

		if (piece->at + (size_t)piece->size > body->size)
			return perch__too_short(record, from, piece->name, err);
		if (piece->size == 8)
			memcpy(to, &(uint64_t){ perch__u64(from, body->swap) }, 8);
		else if (piece->size == 4)
			memcpy(to, &(uint32_t){ perch__u32(from, body->swap) }, 4);
		else
			memcpy(to, &(uint16_t){ perch__u16(from, body->swap) }, 2);
	}
	return 0;
}

static int rest_of_mmap2(struct perch_record *record, const struct perch__body *body,
			 struct perch_error *err)
{
	struct perch_mmap_record *map = &record->mmap;
	int rc = 0;

	if (!(record->misc & PERCH_MISC_MMAP_BUILD_ID)) {
		rc = take(record, body, inode_pieces, NR(inode_pieces), err);
	} else if (body->size < BUILD_ID_AT + 4 + sizeof(map->build_id)) {
		rc = perch__too_short(record, body->at + BUILD_ID_AT, "build_id", err);
	} else {
		uint8_t size = body->at[BUILD_ID_AT];

		map->build_id_size = size < sizeof(map->build_id) ? size : sizeof(map->build_id);
		memcpy(map->build_id, body->at + BUILD_ID_AT + 4, map->build_id_size);
	}
	if (!rc)
		rc = take(record, body, protection_pieces, NR(protection_pieces), err);
	if (!rc)
		rc = decode_text(&map->filename, record, body, 64, "filename", err);
	return rc < 0 ? rc : rc + 32;
}

static const struct piece comm_pieces[] = {
	PIECE(0, comm.pid, "pid"),
	PIECE(4, comm.tid, "tid"),
};

static int rest_of_comm(struct perch_record *record, const struct perch__body *body,
			struct perch_error *err)
{
	record->comm.exec = record->misc & PERCH_MISC_COMM_EXEC;
	return decode_text(&record->comm.comm, record, body, 8, "comm", err);
}

static const struct piece task_pieces[] = {
	PIECE(0, task.pid, "pid"),    PIECE(4, task.ppid, "ppid"),  PIECE(8, task.tid, "tid"),
	PIECE(12, task.ptid, "ptid"), PIECE(16, task.time, "time"),
};
static const struct piece lost_pieces[] = {
	PIECE(0, lost.id, "id"),
	PIECE(8, lost.lost, "lost"),
};
static const struct piece lost_samples_pieces[] = { PIECE(0, lost.lost, "lost") };
static const struct piece throttle_pieces[] = {
	PIECE(0, throttle.time, "time"),
	PIECE(8, throttle.id, "id"),
	PIECE(16, throttle.stream_id, "stream_id"),
};
static const struct piece aux_pieces[] = {
	PIECE(0, aux.offset, "aux_offset"),
	PIECE(8, aux.size, "aux_size"),
	PIECE(16, aux.flags, "flags"),
};
static const struct piece itrace_pieces[] = {
	PIECE(0, itrace.pid, "pid"),
	PIECE(4, itrace.tid, "tid"),
};
static const struct piece cpu_wide_pieces[] = {
	PIECE(0, context_switch.other_pid, "next_prev_pid"),
	PIECE(4, context_switch.other_tid, "next_prev_tid"),
};
static const struct piece hw_id_pieces[] = { PIECE(0, hw_id.hw_id, "hw_id") };

static int rest_of_switch(struct perch_record *record, const struct perch__body *body,
			  struct perch_error *err)
{
	(void)body;
	(void)err;
	record->context_switch.out = record->misc & PERCH_MISC_SWITCH_OUT;
	record->context_switch.preempt = record->misc & PERCH_MISC_SWITCH_OUT_PREEMPT;
	return 0;
}

static const struct piece read_pieces[] = {
	PIECE(0, read.pid, "pid"),
	PIECE(4, read.tid, "tid"),
};

static int rest_of_read(struct perch_record *record, const struct perch__body *body,
			struct perch_error *err)
{
	const uint64_t *words = (const uint64_t *)body->at;
	struct perch__misfit misfit;
	const uint64_t *after = perch__decode_read(&record->read.values, body->read_format,
						   words + 1, words + body->size / 8, body->swap,
						   &misfit);

	if (!after)
		return perch__too_short(record, misfit.at, misfit.field, err);
	return (const char *)after - (body->at + 8);
}

static const struct piece namespaces_pieces[] = {
	PIECE(0, namespaces.pid, "pid"),
	PIECE(4, namespaces.tid, "tid"),
	PIECE(8, namespaces.nr, "number of namespaces"),
};

static int rest_of_namespaces(struct perch_record *record, const struct perch__body *body,
			      struct perch_error *err)
{
	struct perch_namespaces_record *namespaces = &record->namespaces;
	const char *at = body->at + 16;

	if (namespaces->nr > (body->size - 16) / sizeof(*namespaces->link)) {
		namespaces->nr = 0;
		return perch__too_short(record, at, "namespaces", err);
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

static const struct piece ksymbol_pieces[] = {
	PIECE(0, ksymbol.address, "addr"),
	PIECE(8, ksymbol.length, "len"),
	PIECE(12, ksymbol.type, "ksym_type"),
	PIECE(14, ksymbol.flags, "flags"),
};

static int rest_of_ksymbol(struct perch_record *record, const struct perch__body *body,
			   struct perch_error *err)
{
	return decode_text(&record->ksymbol.name, record, body, 16, "name", err);
}

static const struct piece bpf_pieces[] = {
	PIECE(0, bpf.type, "type"),
	PIECE(2, bpf.flags, "flags"),
	PIECE(4, bpf.id, "id"),
};

static int rest_of_bpf(struct perch_record *record, const struct perch__body *body,
		       struct perch_error *err)
{
	const size_t size = sizeof(record->bpf.tag);

	if (body->size < 8 + size)
		return perch__too_short(record, body->at + 8, "tag", err);
	memcpy(record->bpf.tag, body->at + 8, size);
	return size;
}

static const struct piece cgroup_pieces[] = { PIECE(0, cgroup.id, "id") };

static int rest_of_cgroup(struct perch_record *record, const struct perch__body *body,
			  struct perch_error *err)
{
	return decode_text(&record->cgroup.path, record, body, 8, "path", err);
}

static const struct piece poke_pieces[] = {
	PIECE(0, text_poke.address, "addr"),
	PIECE(8, text_poke.old_length, "old_len"),
	PIECE(10, text_poke.new_length, "new_len"),
};

/* The bytes before and after, padded together. */
static int rest_of_poke(struct perch_record *record, const struct perch__body *body,
			struct perch_error *err)
{
	struct perch_text_poke_record *poke = &record->text_poke;
	size_t left = body->size - 12, used, before = poke->old_length, after = poke->new_length;
	const char *at = body->at + 12;

	if (before + after > left) {
		poke->old_length = poke->new_length = 0;
		return before > left ? perch__too_short(record, at, "old_bytes", err)
				     : perch__too_short(record, at + before, "new_bytes", err);
	}
	poke->before = (const uint8_t *)at;
	poke->after = poke->before + before;
	used = perch__padded(12 + before + after) - 12;
	return used < left ? used : left;
}

static const struct piece deferred_pieces[] = {
	PIECE(0, deferred.cookie, "cookie"),
	PIECE(8, deferred.nr, "number of ips"),
};

static int rest_of_deferred(struct perch_record *record, const struct perch__body *body,
			    struct perch_error *err)
{
	const char *at = body->at + 16;

	if (record->deferred.nr > (body->size - 16) / 8) {
		record->deferred.nr = 0;
		return perch__too_short(record, at, "ips", err);
	}
	record->deferred.ip = (const uint64_t *)at;
	return record->deferred.nr * 8;
}

/* clang-format off */
#define FORM(pieces, bytes, rest)               \
	{                                       \
		pieces, NR(pieces), bytes, rest \
	}
/* clang-format on */

static const struct form forms[] = {
	[PERCH_RECORD_MMAP] = FORM(mmap_pieces, 32, rest_of_mmap),
	[PERCH_RECORD_LOST] = FORM(lost_pieces, 16, NULL),
	[PERCH_RECORD_COMM] = FORM(comm_pieces, 8, rest_of_comm),
	[PERCH_RECORD_EXIT] = FORM(task_pieces, 24, NULL),
	[PERCH_RECORD_THROTTLE] = FORM(throttle_pieces, 24, NULL),
	[PERCH_RECORD_UNTHROTTLE] = FORM(throttle_pieces, 24, NULL),
	[PERCH_RECORD_FORK] = FORM(task_pieces, 24, NULL),
	[PERCH_RECORD_READ] = FORM(read_pieces, 8, rest_of_read),
	[PERCH_RECORD_MMAP2] = FORM(mmap_pieces, 32, rest_of_mmap2),
	[PERCH_RECORD_AUX] = FORM(aux_pieces, 24, NULL),
	[PERCH_RECORD_ITRACE_START] = FORM(itrace_pieces, 8, NULL),
	[PERCH_RECORD_LOST_SAMPLES] = FORM(lost_samples_pieces, 8, NULL),
	[PERCH_RECORD_SWITCH] = { NULL, 0, 0, rest_of_switch },
	[PERCH_RECORD_SWITCH_CPU_WIDE] = FORM(cpu_wide_pieces, 8, rest_of_switch),
	[PERCH_RECORD_NAMESPACES] = FORM(namespaces_pieces, 16, rest_of_namespaces),
	[PERCH_RECORD_KSYMBOL] = FORM(ksymbol_pieces, 16, rest_of_ksymbol),
	[PERCH_RECORD_BPF_EVENT] = FORM(bpf_pieces, 8, rest_of_bpf),
	[PERCH_RECORD_CGROUP] = FORM(cgroup_pieces, 8, rest_of_cgroup),
	[PERCH_RECORD_TEXT_POKE] = FORM(poke_pieces, 12, rest_of_poke),
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = FORM(hw_id_pieces, 8, NULL),
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = FORM(deferred_pieces, 16, rest_of_deferred),
};

int perch__decode_body(struct perch_record *record, const struct perch__body *body,
		       struct perch_error *err)
{
	const struct form *form;
	int used = 0, rc;

	if (record->type >= PERCH__FIRST_USER_TYPE)
		return 0;
	if (record->type >= NR(forms)) {
		record->trailing_bytes = body->size;
		return 0;
	}
	form = &forms[record->type];
	rc = take(record, body, form->pieces, form->nr, err);
	if (rc)
		return rc;
	if (form->rest)
		used = form->rest(record, body, err);
	if (used < 0)
		return used;
	record->trailing_bytes = body->size - form->bytes - used;
	return 0;
}
