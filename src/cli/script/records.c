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

/* True if an option asks for this type. */
static bool is_wanted(const struct script *script, uint32_t type)
{
	switch (type) {
	case PERCH_RECORD_COMM:
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		return script->show_task;
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		return script->show_mmap;
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		return script->show_switch;
	case PERCH_RECORD_NAMESPACES:
		return script->show_namespace;
	case PERCH_RECORD_LOST:
		return script->show_lost;
	case PERCH_RECORD_KSYMBOL:
		return script->show_bpf || script->show_text_poke;
	case PERCH_RECORD_BPF_EVENT:
		return script->show_bpf;
	case PERCH_RECORD_CGROUP:
		return script->show_cgroup;
	case PERCH_RECORD_TEXT_POKE:
		return script->show_text_poke;
	case PERCH_RECORD_FINISHED_ROUND:
		return script->show_round;
	}
	return false;
}

/* ---- who and when ---- */

/* The thread that the record is about; else the one that was running. */
static void find_thread(const struct perch_record *record, uint32_t *pid, uint32_t *tid)
{
	*pid = record->sample_id.pid;
	*tid = record->sample_id.tid;
	switch (record->type) {
	case PERCH_RECORD_COMM:
		*pid = record->comm.pid;
		*tid = record->comm.tid;
		break;
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		*pid = record->task.pid;
		*tid = record->task.tid;
		break;
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		*pid = record->mmap.pid;
		*tid = record->mmap.tid;
		break;
	case PERCH_RECORD_NAMESPACES:
		*pid = record->namespaces.pid;
		*tid = record->namespaces.tid;
	}
	if (*pid == UINT32_MAX && !*tid) /* mappings of the kernel */
		*pid = 0;
}

static int put_start(struct script *script, const struct script_event *event,
		     const struct perch_record *record)
{
	const struct perch_sample_id *id = &record->sample_id;
	struct script_start start = { .pid = id->pid,
				      .tid = id->tid,
				      .cpu = id->cpu,
				      .time = id->time,
				      .misc = record->misc,
				      .type = record->type };
	const struct perch_thread *thread;
	uint32_t pid, tid;

	find_thread(record, &pid, &tid);
	thread = perch_processes_thread(perch_session_processes(script->session), pid, tid);
	if (!thread)
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
	return 0;
}

/* ---- the bodies ---- */

/* "0x1f", and "0" as printf(3) writes it. */
#define HEX(number) (number) ? "0x" : "", number

static void put_mmap(struct perch__output *out, const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;

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
}

static void put_comm(struct perch__output *out, const struct perch_comm_record *comm)
{
	perch__output_text(out, comm->exec ? " exec: " : ": ");
	perch__output_clean(out, comm->comm.text, comm->comm.length);
	put(out, ":%d/%d\n", (int)comm->pid, (int)comm->tid);
}

static void put_namespaces(struct perch__output *out, const struct perch_record *record)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	uint64_t nr = record->namespaces.nr;

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
}

static void put_switch(struct perch__output *out, const struct perch_record *record)
{
	const struct perch_switch_record *to = &record->context_switch;
	const char *way = !to->out ? "IN         " : to->preempt ? "OUT preempt" : "OUT        ";

	if (record->type == PERCH_RECORD_SWITCH)
		put(out, " %s\n", way);
	else
		put(out, " %s  %s pid/tid: %5d/%-5d\n", way, to->out ? "next" : "prev",
		    (int)to->other_pid, (int)to->other_tid);
}

static void put_code(struct perch__output *out, const char *name, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (i % 16 == 0)
			put(out, "            %s bytes:", name);
		put(out, " %02x%s", bytes[i], i % 16 == 15 || i + 1 == size ? "\n" : "");
	}
}

static void put_text_poke(struct script *script, struct perch__output *out,
			  const struct perch_text_poke_record *poke)
{
	struct perch_processes *processes = perch_session_processes(script->session);
	struct perch_thread *kernel = perch_processes_thread(processes, 0, 0);
	const struct perch_symbol *symbol = NULL;
	struct perch_location location = { 0 };

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
}

static void put_body(struct script *script, struct perch__output *out,
		     const struct perch_record *record)
{
	const struct perch_ksymbol_record *ksymbol = &record->ksymbol;

	switch (record->type) {
	case PERCH_RECORD_COMM:
		put_comm(out, &record->comm);
		break;
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		put(out, "(%d:%d):(%d:%d)\n", (int)record->task.pid, (int)record->task.tid,
		    (int)record->task.ppid, (int)record->task.ptid);
		break;
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		put_mmap(out, record);
		break;
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		put_switch(out, record);
		break;
	case PERCH_RECORD_NAMESPACES:
		put_namespaces(out, record);
		break;
	case PERCH_RECORD_LOST:
		put(out, " lost %" PRIu64 "\n", record->lost.lost);
		break;
	case PERCH_RECORD_KSYMBOL:
		put(out, " addr %" PRIx64 " len %u type %u flags 0x%x name ", ksymbol->address,
		    ksymbol->length, ksymbol->type, ksymbol->flags);
		put_clean(out, &ksymbol->name);
		break;
	case PERCH_RECORD_BPF_EVENT:
		put(out, " type %u, flags %u, id %u\n", record->bpf.type, record->bpf.flags,
		    record->bpf.id);
		break;
	case PERCH_RECORD_CGROUP:
		put(out, " cgroup: %" PRIu64 " ", record->cgroup.id);
		put_clean(out, &record->cgroup.path);
		break;
	case PERCH_RECORD_TEXT_POKE:
		put_text_poke(script, out, &record->text_poke);
		break;
	default:
		perch__output_bytes(out, "\n", 1);
	}
}

int script_put_record(struct script *script, const struct perch_record *record)
{
	if (!is_wanted(script, record->type))
		return 0;
	if (script_queue_flush(script->queue))
		return -ENOMEM;
	if (record->type < PERCH_RECORD_HEADER_ATTR &&
	    put_start(script, script_event_of(script, record), record))
		return -ENOMEM;
	perch__output_text(&script->out, "PERF_RECORD_");
	perch__output_text(&script->out, perch_record_name(record->type));
	put_body(script, &script->out, record);
	return 0;
}
