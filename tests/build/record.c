/* SPDX-License-Identifier: MIT */
/*
 * Writes records as the kernel does: the members of the structs in perf_event.h, then the trailer.
 */
#include <string.h>

#include "build.h"

static void put8(struct build_bytes *bytes, uint64_t value)
{
	build_put_number(bytes, value, 8);
}

static void put4(struct build_bytes *bytes, uint64_t value)
{
	build_put_number(bytes, value, 4);
}

static void put2(struct build_bytes *bytes, uint64_t value)
{
	build_put_number(bytes, value, 2);
}

/* Text, and bytes of code, are padded with zeros. */
static void pad(struct build_bytes *bytes)
{
	build_put_zeros(bytes, -bytes->size % 8);
}

static void put_text(struct build_bytes *bytes, const char *text)
{
	build_put(bytes, text, strlen(text) + 1);
	pad(bytes);
}

static void put_task(struct build_bytes *bytes, const struct build_record *record)
{
	put4(bytes, record->pid);
	put4(bytes, record->tid);
}

static void write_mmap(struct build_bytes *bytes, const struct build_record *record)
{
	put_task(bytes, record);
	put8(bytes, record->address);
	put8(bytes, record->length);
	put8(bytes, record->page_offset);
	put_text(bytes, record->text);
}

static void write_mmap2(struct build_bytes *bytes, const struct build_record *record)
{
	put_task(bytes, record);
	put8(bytes, record->address);
	put8(bytes, record->length);
	put8(bytes, record->page_offset);
	if (record->misc & PERCH_MISC_MMAP_BUILD_ID) {
		build_put_number(bytes, record->build_id_size, 1);
		build_put_zeros(bytes, 3);
		build_put(bytes, record->build_id, sizeof(record->build_id));
	} else {
		put4(bytes, record->major);
		put4(bytes, record->minor);
		put8(bytes, record->inode);
		put8(bytes, record->generation);
	}
	put4(bytes, record->protection);
	put4(bytes, record->flags);
	put_text(bytes, record->text);
}

static void write_lost(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->id);
	put8(bytes, record->lost);
}

static void write_comm(struct build_bytes *bytes, const struct build_record *record)
{
	put_task(bytes, record);
	put_text(bytes, record->text);
}

/* FORK and EXIT: pid, ppid, tid, ptid. */
static void write_task(struct build_bytes *bytes, const struct build_record *record)
{
	put4(bytes, record->pid);
	put4(bytes, record->ppid);
	put4(bytes, record->tid);
	put4(bytes, record->ptid);
	put8(bytes, record->time);
}

static void write_throttle(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->time);
	put8(bytes, record->id);
	put8(bytes, record->stream_id);
}

static void write_read(struct build_bytes *bytes, const struct build_record *record)
{
	put_task(bytes, record);
	build_write_values(bytes, record->shape.read_format, &record->values);
}

static void write_aux(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->aux_offset);
	put8(bytes, record->aux_size);
	put8(bytes, record->aux_flags);
}

static void write_lost_samples(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->lost);
}

static void write_nothing(struct build_bytes *bytes, const struct build_record *record)
{
	(void)bytes;
	(void)record;
}

static void write_namespaces(struct build_bytes *bytes, const struct build_record *record)
{
	put_task(bytes, record);
	put8(bytes, record->nr_namespaces);
	for (uint64_t i = 0; i < record->nr_namespaces; i++) {
		put8(bytes, record->ns[i].dev);
		put8(bytes, record->ns[i].ino);
	}
}

static void write_ksymbol(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->address);
	put4(bytes, record->length);
	put2(bytes, record->kind);
	put2(bytes, record->kind_flags);
	put_text(bytes, record->text);
}

static void write_bpf_event(struct build_bytes *bytes, const struct build_record *record)
{
	put2(bytes, record->kind);
	put2(bytes, record->kind_flags);
	put4(bytes, record->bpf_id);
	build_put(bytes, record->tag, sizeof(record->tag));
}

static void write_cgroup(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->id);
	put_text(bytes, record->text);
}

static void write_text_poke(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->address);
	put2(bytes, record->before.size);
	put2(bytes, record->after.size);
	build_put(bytes, record->before.byte, record->before.size);
	build_put(bytes, record->after.byte, record->after.size);
	pad(bytes);
}

static void write_hw_id(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->hw_id);
}

static void write_deferred(struct build_bytes *bytes, const struct build_record *record)
{
	put8(bytes, record->cookie);
	put8(bytes, record->chain.nr);
	for (uint64_t i = 0; i < record->chain.nr; i++)
		put8(bytes, record->chain.word[i]);
}

/* Indexed by type. Unknown types get a body of 8 bytes. */
static void (*const writers[])(struct build_bytes *bytes, const struct build_record *record) = {
	[PERCH_RECORD_MMAP] = write_mmap,
	[PERCH_RECORD_LOST] = write_lost,
	[PERCH_RECORD_COMM] = write_comm,
	[PERCH_RECORD_EXIT] = write_task,
	[PERCH_RECORD_THROTTLE] = write_throttle,
	[PERCH_RECORD_UNTHROTTLE] = write_throttle,
	[PERCH_RECORD_FORK] = write_task,
	[PERCH_RECORD_READ] = write_read,
	[PERCH_RECORD_SAMPLE] = build_write_sample,
	[PERCH_RECORD_MMAP2] = write_mmap2,
	[PERCH_RECORD_AUX] = write_aux,
	[PERCH_RECORD_ITRACE_START] = put_task,
	[PERCH_RECORD_LOST_SAMPLES] = write_lost_samples,
	[PERCH_RECORD_SWITCH] = write_nothing,
	[PERCH_RECORD_SWITCH_CPU_WIDE] = put_task,
	[PERCH_RECORD_NAMESPACES] = write_namespaces,
	[PERCH_RECORD_KSYMBOL] = write_ksymbol,
	[PERCH_RECORD_BPF_EVENT] = write_bpf_event,
	[PERCH_RECORD_CGROUP] = write_cgroup,
	[PERCH_RECORD_TEXT_POKE] = write_text_poke,
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = write_hw_id,
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = write_deferred,
};

/* The trailer of all records but samples, with sample_id_all. */
static void write_trailer(struct build_bytes *bytes, const struct build_record *record)
{
	const struct build_sample_id *sample_id = &record->sample_id;
	uint64_t type = record->shape.sample_type;

	if (type & PERCH_SAMPLE_TID) {
		put4(bytes, sample_id->pid);
		put4(bytes, sample_id->tid);
	}
	if (type & PERCH_SAMPLE_TIME)
		put8(bytes, sample_id->time);
	if (type & PERCH_SAMPLE_ID)
		put8(bytes, sample_id->id);
	if (type & PERCH_SAMPLE_STREAM_ID)
		put8(bytes, sample_id->stream_id);
	if (type & PERCH_SAMPLE_CPU) {
		put4(bytes, sample_id->cpu);
		put4(bytes, 0);
	}
	if (type & PERCH_SAMPLE_IDENTIFIER)
		put8(bytes, sample_id->id);
}

/*
 * Record types that the kernel may write with a too large size. The excess bytes follow the
 * trailer.
 */
static bool is_stretched(uint32_t type)
{
	return type == PERCH_RECORD_KSYMBOL || type == PERCH_RECORD_BPF_EVENT ||
	       type == PERCH_RECORD_TEXT_POKE;
}

void build_write(struct build_bytes *bytes, const struct build_record *record)
{
	size_t size;

	bytes->size = 0;
	bytes->big_endian = record->shape.big_endian;
	put4(bytes, record->type);
	put2(bytes, record->misc);
	put2(bytes, 0);
	if (record->type < sizeof(writers) / sizeof(*writers) && writers[record->type])
		writers[record->type](bytes, record);
	else
		put8(bytes, record->hw_id);
	if (!is_stretched(record->type))
		build_put_zeros(bytes, record->newer);
	if (record->type != PERCH_RECORD_SAMPLE && record->shape.sample_id_all)
		write_trailer(bytes, record);
	for (unsigned i = 0; is_stretched(record->type) && i < record->newer; i += 8)
		put8(bytes, UINT64_MAX); /* old contents of the ring */
	size = bytes->size;
	bytes->size = offsetof(struct perch_record_header, size);
	put2(bytes, size);
	bytes->size = size;
}
