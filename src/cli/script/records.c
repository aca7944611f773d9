/* SPDX-License-Identifier: MIT */
/* Records other than samples, as perf prints them (--show-mmap-events and others). */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "options.h"
#include "script.h"

/* Writes formatted text. Names in it are clean. */
static void __attribute__((format(printf, 2, 3)))
put(struct perch__output *out, const char *format, ...)
{
	char text[512];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	perch__output_bytes(out, text,
			    (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static void put_clean(struct perch__output *out, const struct perch_text *text)
{
	perch__output_clean(out, text->text, text->length);
	perch__output_bytes(out, "\n", 1);
}

/* ---- who and when ---- */

/*
 * Writes the front of a line up to the name of the record. pid, tid: the thread that the record is
 * about, or else the one that was running.
 */
static int begin_record(struct script *script, const struct perch_record *record, uint32_t pid,
			uint32_t tid)
{
	const struct script_event *event = script_event_of(script, record);
	const struct perch_sample_id *id = &record->sample_id;
	struct script_start start = { .pid = id->pid,
				      .tid = id->tid,
				      .cpu = id->cpu,
				      .time = id->time,
				      .misc = record->misc,
				      .type = record->type };
	const struct perch_thread *thread;

	if (pid == UINT32_MAX && !tid) /* mappings of the kernel */
		pid = 0;
	thread = perch_processes_thread(perch_session_processes(script->session), pid, tid);
	if (!thread || script_queue_flush(script->queue))
		return -ENOMEM;
	start.comm = perch_thread_comm(thread);
	start.comm_index = perch_thread_comm_index(thread);
	if (!id->has) { /* before Linux 2.6.37 */
		start.pid = pid;
		start.tid = tid;
		if (record->type == PERCH_RECORD_FORK || record->type == PERCH_RECORD_EXIT)
			start.time = record->task.time;
	}
	perch__output_end(
		&script->out,
		script_put_start(script, event, &start,
				 perch__output_reserve(&script->out, SCRIPT_START_BYTES)));
	perch__output_text(&script->out, "PERF_RECORD_");
	perch__output_text(&script->out, perch_record_name(record->type));
	return 0;
}

/* The same for a record without a thread of its own. */
static int begin_running(struct script *script, const struct perch_record *record)
{
	return begin_record(script, record, record->sample_id.pid, record->sample_id.tid);
}

/* ---- the records: each returns 0 or -ENOMEM ---- */

/* "0x1f", and "0" as printf(3) writes it. */
#define HEX(number) (number) ? "0x" : "", number

static int put_mmap(void *context, const struct perch_record *record)
{
	struct script *script = context;
	struct perch__output *out = &script->out;
	const struct perch_mmap_record *mmap = &record->mmap;

	if (begin_record(script, record, mmap->pid, mmap->tid))
		return -ENOMEM;
	put(out, " %d/%d: [%s%" PRIx64 "(%s%" PRIx64 ") @ %s%" PRIx64, (int)mmap->pid,
	    (int)mmap->tid, HEX(mmap->start), HEX(mmap->length), HEX(mmap->page_offset));
	if (record->type == PERCH_RECORD_MMAP) {
		put(out, "]: %c ", record->misc & PERCH_MISC_MMAP_DATA ? 'r' : 'x');
	} else {
		if (mmap->build_id_size) {
			perch__output_text(out, " <");
			perch__output_hex_bytes(out, mmap->build_id, mmap->build_id_size);
			perch__output_text(out, ">]: ");
		} else {
			put(out, " %02x:%02x %" PRIu64 " %" PRIu64 "]: ", mmap->major, mmap->minor,
			    mmap->inode, mmap->inode_generation);
		}
		put(out, "%c%c%c%c ", mmap->protection & PROT_READ ? 'r' : '-',
		    mmap->protection & PROT_WRITE ? 'w' : '-',
		    mmap->protection & PROT_EXEC ? 'x' : '-', mmap->flags & MAP_SHARED ? 's' : 'p');
	}
	put_clean(out, &mmap->filename);
	return 0;
}

static int put_comm(void *context, const struct perch_record *record)
{
	struct script *script = context;
	struct perch__output *out = &script->out;
	const struct perch_comm_record *comm = &record->comm;

	if (begin_record(script, record, comm->pid, comm->tid))
		return -ENOMEM;
	perch__output_text(out, comm->exec ? " exec: " : ": ");
	perch__output_clean(out, comm->comm.text, comm->comm.length);
	put(out, ":%d/%d\n", (int)comm->pid, (int)comm->tid);
	return 0;
}

static int put_task(void *context, const struct perch_record *record)
{
	struct script *script = context;
	const struct perch_task_record *task = &record->task;

	if (begin_record(script, record, task->pid, task->tid))
		return -ENOMEM;
	put(&script->out, "(%d:%d):(%d:%d)\n", (int)task->pid, (int)task->tid, (int)task->ppid,
	    (int)task->ptid);
	return 0;
}

static int put_namespaces(void *context, const struct perch_record *record)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct script *script = context;
	struct perch__output *out = &script->out;
	uint64_t nr = record->namespaces.nr;

	if (begin_record(script, record, record->namespaces.pid, record->namespaces.tid))
		return -ENOMEM;
	put(out, " %d/%d - nr_namespaces: %" PRIu64 "\n\t\t[", (int)record->namespaces.pid,
	    (int)record->namespaces.tid, nr);
	for (uint64_t i = 0; i < nr; i++) {
		struct perch_ns_link_info link;

		perch_namespace_at(record, i, &link);
		put(out, "%s%" PRIu64 "/%s: %" PRIu64 "/%s%" PRIx64 "%s",
		    i && i % 4 == 0 ? "\n\t\t " : "", i, i < CLI_NR(names) ? names[i] : "unknown",
		    link.dev, HEX(link.ino), i + 1 < nr ? ", " : "");
	}
	perch__output_text(out, "]\n");
	return 0;
}

static int put_switch(void *context, const struct perch_record *record)
{
	struct script *script = context;
	const struct perch_switch_record *to = &record->context_switch;
	const char *way = !to->out ? "IN         " : to->preempt ? "OUT preempt" : "OUT        ";

	if (begin_running(script, record))
		return -ENOMEM;
	if (record->type == PERCH_RECORD_SWITCH)
		put(&script->out, " %s\n", way);
	else
		put(&script->out, " %s  %s pid/tid: %5d/%-5d\n", way, to->out ? "next" : "prev",
		    (int)to->other_pid, (int)to->other_tid);
	return 0;
}

static int put_lost(void *context, const struct perch_record *record)
{
	struct script *script = context;

	if (begin_running(script, record))
		return -ENOMEM;
	put(&script->out, " lost %" PRIu64 "\n", record->lost.lost);
	return 0;
}

static int put_ksymbol(void *context, const struct perch_record *record)
{
	struct script *script = context;
	const struct perch_ksymbol_record *ksymbol = &record->ksymbol;

	if (begin_running(script, record))
		return -ENOMEM;
	put(&script->out, " addr %" PRIx64 " len %u type %u flags 0x%x name ", ksymbol->address,
	    ksymbol->length, ksymbol->type, ksymbol->flags);
	put_clean(&script->out, &ksymbol->name);
	return 0;
}

static int put_bpf_event(void *context, const struct perch_record *record)
{
	struct script *script = context;

	if (begin_running(script, record))
		return -ENOMEM;
	put(&script->out, " type %u, flags %u, id %u\n", record->bpf.type, record->bpf.flags,
	    record->bpf.id);
	return 0;
}

static int put_cgroup(void *context, const struct perch_record *record)
{
	struct script *script = context;

	if (begin_running(script, record))
		return -ENOMEM;
	put(&script->out, " cgroup: %" PRIu64 " ", record->cgroup.id);
	put_clean(&script->out, &record->cgroup.path);
	return 0;
}

static void put_code(struct perch__output *out, const char *name, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (i % 16 == 0)
			put(out, "            %s bytes:", name);
		put(out, " %02x%s", bytes[i], i % 16 == 15 || i + 1 == size ? "\n" : "");
	}
}

static int put_text_poke(void *context, const struct perch_record *record)
{
	struct script *script = context;
	struct perch__output *out = &script->out;
	const struct perch_text_poke_record *poke = &record->text_poke;
	struct perch_processes *processes = perch_session_processes(script->session);
	struct perch_thread *kernel = perch_processes_thread(processes, 0, 0);
	const struct perch_symbol *symbol = NULL;
	struct perch_location location = { 0 };

	if (begin_running(script, record))
		return -ENOMEM;
	put(out, " %" PRIx64 " ", poke->address);
	if (kernel) {
		perch_processes_resolve(processes, kernel, PERCH_MISC_KERNEL, poke->address,
					&location);
		symbol = perch_symbols_find(script->symbols, location.dso, location.offset);
	}
	if (symbol) {
		perch__output_text(out, perch_symbols_name(script->symbols, symbol));
		put(out, "+0x%" PRIx64, location.offset - symbol->start);
	}
	put(out, " old len %u new len %u\n", poke->old_length, poke->new_length);
	put_code(out, "Old", poke->before, poke->old_length);
	put_code(out, "New", poke->after, poke->new_length);
	return 0;
}

/* The other records of perf.data are of no option. */
static int put_round(void *context, const struct perch_record *record)
{
	struct script *script = context;

	if (record->type != PERCH_RECORD_FINISHED_ROUND)
		return 0;
	if (script_queue_flush(script->queue))
		return -ENOMEM;
	perch__output_text(&script->out, "PERF_RECORD_");
	perch__output_text(&script->out, perch_record_name(record->type));
	perch__output_bytes(&script->out, "\n", 1);
	return 0;
}

/* ---- which are printed ---- */

bool script_choose_records(struct script *script)
{
	static const struct perch_visitor none;
	struct perch_visitor *chosen = &script->records;

	if (script->show_task) {
		chosen->comm = put_comm;
		chosen->fork = chosen->exit = put_task;
	}
	if (script->show_bpf) {
		chosen->ksymbol = put_ksymbol;
		chosen->bpf_event = put_bpf_event;
	}
	if (script->show_text_poke) {
		chosen->ksymbol = put_ksymbol;
		chosen->text_poke = put_text_poke;
	}
	chosen->mmap = script->show_mmap ? put_mmap : NULL;
	chosen->context_switch = script->show_switch ? put_switch : NULL;
	chosen->namespaces = script->show_namespace ? put_namespaces : NULL;
	chosen->lost = script->show_lost ? put_lost : NULL;
	chosen->cgroup = script->show_cgroup ? put_cgroup : NULL;
	chosen->file = script->show_round ? put_round : NULL;
	return memcmp(chosen, &none, sizeof(none));
}
