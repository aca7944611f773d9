/* SPDX-License-Identifier: MIT */
/* Compares a decoded record with its description: every member of every view. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <perch/record.h>

#include "compare.h"

static char difference[256];

bool build_differs(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(difference, sizeof(difference), format, list);
	va_end(list);
	return true;
}

bool build_unlike(const char *what, uint64_t decoded, uint64_t described)
{
	return decoded != described &&
	       build_differs("%s is 0x%llx, not 0x%llx", what, (unsigned long long)decoded,
			     (unsigned long long)described);
}

static bool unlike_text(const struct perch_text *decoded, const char *described)
{
	if (UNLIKE("length of the text", decoded->length, strlen(described)))
		return true;
	return memcmp(decoded->text, described, decoded->length + 1) &&
	       build_differs("the text is another");
}

static bool unlike_bytes(const char *what, const void *decoded, const struct build_blob *described)
{
	return described->size && memcmp(decoded, described->byte, described->size) &&
	       build_differs("%s has other bytes", what);
}

bool build_unlike_values(const struct perch_read_values *decoded,
			 const struct build_values *described, uint64_t format)
{
	struct perch_read_value value;

	if (UNLIKE("number of values", decoded->nr, described->nr) ||
	    UNLIKE("enabled", decoded->enabled_ns,
		   format & PERCH_FORMAT_TOTAL_TIME_ENABLED ? described->enabled : 0) ||
	    UNLIKE("running", decoded->running_ns,
		   format & PERCH_FORMAT_TOTAL_TIME_RUNNING ? described->running : 0))
		return true;
	for (uint64_t i = 0; i < described->nr; i++) {
		const struct build_value *wanted = &described->value[i];

		memset(&value, 0xee, sizeof(value));
		perch_read_values_at(decoded, i, &value);
		if (UNLIKE("value", value.value, wanted->value) ||
		    UNLIKE("id of a value", value.id, format & PERCH_FORMAT_ID ? wanted->id : 0) ||
		    UNLIKE("lost of a value", value.lost,
			   format & PERCH_FORMAT_LOST ? wanted->lost : 0))
			return true;
	}
	return false;
}

static bool unlike_mmap(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_mmap_record *map = &decoded->mmap;
	bool two = record->type == PERCH_RECORD_MMAP2,
	     by_id = two && record->misc & PERCH_MISC_MMAP_BUILD_ID;

	if (UNLIKE("pid", map->pid, record->pid) || UNLIKE("tid", map->tid, record->tid) ||
	    UNLIKE("start", map->start, record->address) ||
	    UNLIKE("length", map->length, record->length) ||
	    UNLIKE("page_offset", map->page_offset, record->page_offset) ||
	    UNLIKE("build_id_size", map->build_id_size, by_id ? record->build_id_size : 0) ||
	    UNLIKE("protection", map->protection, two ? record->protection : 0) ||
	    UNLIKE("flags", map->flags, two ? record->flags : 0))
		return true;
	if (by_id && memcmp(map->build_id, record->build_id, record->build_id_size))
		return build_differs("the build id is another");
	two = two && !by_id;
	return UNLIKE("major", map->major, two ? record->major : 0) ||
	       UNLIKE("minor", map->minor, two ? record->minor : 0) ||
	       UNLIKE("inode", map->inode, two ? record->inode : 0) ||
	       UNLIKE("generation", map->inode_generation, two ? record->generation : 0) ||
	       unlike_text(&map->filename, record->text);
}

static bool unlike_comm(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("pid", decoded->comm.pid, record->pid) ||
	       UNLIKE("tid", decoded->comm.tid, record->tid) ||
	       UNLIKE("exec", decoded->comm.exec, !!(record->misc & PERCH_MISC_COMM_EXEC)) ||
	       unlike_text(&decoded->comm.comm, record->text);
}

static bool unlike_task(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_task_record *task = &decoded->task;

	return UNLIKE("pid", task->pid, record->pid) || UNLIKE("ppid", task->ppid, record->ppid) ||
	       UNLIKE("tid", task->tid, record->tid) || UNLIKE("ptid", task->ptid, record->ptid) ||
	       UNLIKE("time", task->time, record->time);
}

static bool unlike_lost(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("id", decoded->lost.id, record->type == PERCH_RECORD_LOST ? record->id : 0) ||
	       UNLIKE("lost", decoded->lost.lost, record->lost);
}

static bool unlike_throttle(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("time", decoded->throttle.time, record->time) ||
	       UNLIKE("id", decoded->throttle.id, record->id) ||
	       UNLIKE("stream_id", decoded->throttle.stream_id, record->stream_id);
}

static bool unlike_read(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("pid", decoded->read.pid, record->pid) ||
	       UNLIKE("tid", decoded->read.tid, record->tid) ||
	       build_unlike_values(&decoded->read.values, &record->values,
				   record->shape.read_format);
}

static bool unlike_aux(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("offset", decoded->aux.offset, record->aux_offset) ||
	       UNLIKE("size", decoded->aux.size, record->aux_size) ||
	       UNLIKE("flags", decoded->aux.flags, record->aux_flags);
}

static bool unlike_itrace(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("pid", decoded->itrace.pid, record->pid) ||
	       UNLIKE("tid", decoded->itrace.tid, record->tid);
}

static bool unlike_switch(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_switch_record *other = &decoded->context_switch;
	bool wide = record->type == PERCH_RECORD_SWITCH_CPU_WIDE;

	return UNLIKE("out", other->out, !!(record->misc & PERCH_MISC_SWITCH_OUT)) ||
	       UNLIKE("preempt", other->preempt,
		      !!(record->misc & PERCH_MISC_SWITCH_OUT_PREEMPT)) ||
	       UNLIKE("other_pid", other->other_pid, wide ? record->pid : 0) ||
	       UNLIKE("other_tid", other->other_tid, wide ? record->tid : 0);
}

static bool unlike_namespaces(const struct perch_record *decoded, const struct build_record *record)
{
	struct perch_ns_link_info link;

	if (UNLIKE("pid", decoded->namespaces.pid, record->pid) ||
	    UNLIKE("tid", decoded->namespaces.tid, record->tid) ||
	    UNLIKE("number of namespaces", decoded->namespaces.nr, record->nr_namespaces))
		return true;
	for (uint64_t i = 0; i < record->nr_namespaces + 2; i++) {
		bool past = i >= record->nr_namespaces;

		memset(&link, 0xee, sizeof(link));
		perch_namespace_at(decoded, i, &link);
		if (UNLIKE("dev", link.dev, past ? 0 : record->ns[i].dev) ||
		    UNLIKE("ino", link.ino, past ? 0 : record->ns[i].ino))
			return true;
	}
	return false;
}

static bool unlike_ksymbol(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("address", decoded->ksymbol.address, record->address) ||
	       UNLIKE("length", decoded->ksymbol.length, record->length) ||
	       UNLIKE("type", decoded->ksymbol.type, record->kind) ||
	       UNLIKE("flags", decoded->ksymbol.flags, record->kind_flags) ||
	       unlike_text(&decoded->ksymbol.name, record->text);
}

static bool unlike_bpf(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("type", decoded->bpf.type, record->kind) ||
	       UNLIKE("flags", decoded->bpf.flags, record->kind_flags) ||
	       UNLIKE("id", decoded->bpf.id, record->bpf_id) ||
	       (memcmp(decoded->bpf.tag, record->tag, sizeof(record->tag)) &&
		build_differs("the tag is another"));
}

static bool unlike_cgroup(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("id", decoded->cgroup.id, record->id) ||
	       unlike_text(&decoded->cgroup.path, record->text);
}

static bool unlike_text_poke(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_text_poke_record *poke = &decoded->text_poke;

	return UNLIKE("address", poke->address, record->address) ||
	       UNLIKE("old length", poke->old_length, record->before.size) ||
	       UNLIKE("new length", poke->new_length, record->after.size) ||
	       unlike_bytes("what was before", poke->before, &record->before) ||
	       unlike_bytes("what is after", poke->after, &record->after);
}

static bool unlike_hw_id(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("hw_id", decoded->hw_id.hw_id, record->hw_id);
}

static bool unlike_deferred(const struct perch_record *decoded, const struct build_record *record)
{
	return UNLIKE("cookie", decoded->deferred.cookie, record->cookie) ||
	       build_unlike_chain(decoded, decoded->deferred.ip, decoded->deferred.nr,
				  &record->chain);
}

static bool (*const unlike[])(const struct perch_record *decoded,
			      const struct build_record *record) = {
	[PERCH_RECORD_MMAP] = unlike_mmap,
	[PERCH_RECORD_LOST] = unlike_lost,
	[PERCH_RECORD_COMM] = unlike_comm,
	[PERCH_RECORD_EXIT] = unlike_task,
	[PERCH_RECORD_THROTTLE] = unlike_throttle,
	[PERCH_RECORD_UNTHROTTLE] = unlike_throttle,
	[PERCH_RECORD_FORK] = unlike_task,
	[PERCH_RECORD_READ] = unlike_read,
	[PERCH_RECORD_SAMPLE] = build_unlike_sample,
	[PERCH_RECORD_MMAP2] = unlike_mmap,
	[PERCH_RECORD_AUX] = unlike_aux,
	[PERCH_RECORD_ITRACE_START] = unlike_itrace,
	[PERCH_RECORD_LOST_SAMPLES] = unlike_lost,
	[PERCH_RECORD_SWITCH] = unlike_switch,
	[PERCH_RECORD_SWITCH_CPU_WIDE] = unlike_switch,
	[PERCH_RECORD_NAMESPACES] = unlike_namespaces,
	[PERCH_RECORD_KSYMBOL] = unlike_ksymbol,
	[PERCH_RECORD_BPF_EVENT] = unlike_bpf,
	[PERCH_RECORD_CGROUP] = unlike_cgroup,
	[PERCH_RECORD_TEXT_POKE] = unlike_text_poke,
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = unlike_hw_id,
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = unlike_deferred,
};

#define SAMPLE_ID_BITS                                                                     \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

static bool unlike_sample_id(const struct perch_sample_id *decoded,
			     const struct build_record *record)
{
	const struct build_sample_id *wanted = &record->sample_id;
	bool any = record->type == PERCH_RECORD_SAMPLE || record->shape.sample_id_all;
	uint64_t has = any ? record->shape.sample_type & SAMPLE_ID_BITS : 0;
	bool id = has & (PERCH_SAMPLE_ID | PERCH_SAMPLE_IDENTIFIER);

	return UNLIKE("sample_id.has", decoded->has, has) ||
	       UNLIKE("sample_id.pid", decoded->pid, has & PERCH_SAMPLE_TID ? wanted->pid : 0) ||
	       UNLIKE("sample_id.tid", decoded->tid, has & PERCH_SAMPLE_TID ? wanted->tid : 0) ||
	       UNLIKE("sample_id.time", decoded->time,
		      has & PERCH_SAMPLE_TIME ? wanted->time : 0) ||
	       UNLIKE("sample_id.id", decoded->id, id ? wanted->id : 0) ||
	       UNLIKE("sample_id.stream_id", decoded->stream_id,
		      has & PERCH_SAMPLE_STREAM_ID ? wanted->stream_id : 0) ||
	       UNLIKE("sample_id.cpu", decoded->cpu, has & PERCH_SAMPLE_CPU ? wanted->cpu : 0);
}

const char *build_difference(const struct perch_record *decoded, const struct build_record *record)
{
	bool has_view = record->type < sizeof(unlike) / sizeof(*unlike) && unlike[record->type];

	if (UNLIKE("type", decoded->type, record->type) ||
	    UNLIKE("misc", decoded->misc, record->misc) ||
	    unlike_sample_id(&decoded->sample_id, record) ||
	    (has_view && unlike[record->type](decoded, record)) ||
	    (has_view && UNLIKE("trailing_bytes", decoded->trailing_bytes, record->newer)))
		return difference;
	return NULL;
}
