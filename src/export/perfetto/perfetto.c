/* SPDX-License-Identifier: MIT */
/* Perfetto's format: the file, the machine, processes and threads. */
#include <errno.h>
#include <stdlib.h>

#include "perfetto.h"

/* Perfetto's numbers of clocks. */
enum { CLOCK_WALL = 1, CLOCK_TRACE = 6 };

/* ---- the machine ---- */

static char *text_of(const struct perfetto *perfetto, enum perch_feature feature)
{
	return (char *)perch_reader_text(perch_session_reader(perfetto->export->session), feature);
}

/* The release determines what the bits of prev_state mean: they are those from 4.14 on. */
static int put_system(struct perfetto *perfetto)
{
	static char latest[] = "6.1";
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__SystemInfo system = PERCH__PERFETTO__SYSTEM_INFO__INIT;
	Perch__Perfetto__Utsname name = PERCH__PERFETTO__UTSNAME__INIT;
	char *release = text_of(perfetto, PERCH_FEATURE_OSRELEASE);

	name.sysname = (char *)"Linux";
	name.release = release && atoi(release) > 4 ? release : latest;
	name.machine = text_of(perfetto, PERCH_FEATURE_ARCH);
	system.utsname = &name;
	packet.system_info = &system;
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

/* Times of a recording are those of one clock. One moment has the time of day. */
static int put_clocks(struct perfetto *perfetto)
{
	const struct perch_export *export = perfetto->export;
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__ClockSnapshot snapshot = PERCH__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perch__Perfetto__Clock clock[2] = { PERCH__PERFETTO__CLOCK__INIT,
					    PERCH__PERFETTO__CLOCK__INIT };
	Perch__Perfetto__Clock *clocks[] = { &clock[0], &clock[1] };
	uint64_t first = export->first_time;
	uint64_t wall = first ? perch__export_time_of_day(export, first) : 0;

	if (!wall)
		return 0;
	PERFETTO_SET(clock[0], clock_id, CLOCK_TRACE);
	PERFETTO_SET(clock[0], timestamp, first);
	PERFETTO_SET(clock[1], clock_id, CLOCK_WALL);
	PERFETTO_SET(clock[1], timestamp, wall);
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	packet.clock_snapshot = &snapshot;
	PERFETTO_SET(packet, timestamp, first);
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

/* ---- processes and threads ---- */

struct named_thread {
	uint32_t pid, tid;
	uint32_t order; /* of names of a thread: the last is the present one */
	const char *name;
};

static int compare_threads(const void *left, const void *right)
{
	const struct named_thread *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* The names of samples, then those of the timeline, which are as long as the kernel's. */
static size_t list_threads(const struct perch_export *export, struct named_thread *list)
{
	const struct export_schedule *schedule = export->schedule;
	size_t nr = 0;

	for (size_t i = 0; i < schedule->nr_threads; i++) {
		const struct schedule_thread *thread = &schedule->thread[i];

		if (thread->pid)
			list[nr++] =
				(struct named_thread){ thread->pid, thread->tid, 0, thread->name };
	}
	for (size_t i = 0; i < export->nr_threads; i++) {
		const struct thread_name *thread = &export->thread[i];

		if (thread->tid && thread->pid && (int32_t)thread->pid > 0)
			list[nr++] = (struct named_thread){ thread->pid, thread->tid,
							    (uint32_t)i + 1, thread->comm };
	}
	if (nr)
		qsort(list, nr, sizeof(*list), compare_threads);
	return nr;
}

static int put_process(struct perfetto *perfetto, const struct named_thread *thread)
{
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__ProcessTree tree = PERCH__PERFETTO__PROCESS_TREE__INIT;
	Perch__Perfetto__Process process = PERCH__PERFETTO__PROCESS__INIT, *processes = &process;
	char *name = (char *)thread->name;

	PERFETTO_SET(process, pid, (int32_t)thread->pid);
	PERFETTO_SET(process, cmdline_is_comm, 1);
	process.n_cmdline = 1;
	process.cmdline = &name;
	tree.n_processes = 1;
	tree.processes = &processes;
	packet.process_tree = &tree;
	PERFETTO_SET(packet, timestamp, perfetto->export->first_time);
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

static int put_thread(struct perfetto *perfetto, const struct named_thread *named)
{
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__ProcessTree tree = PERCH__PERFETTO__PROCESS_TREE__INIT;
	Perch__Perfetto__Thread thread = PERCH__PERFETTO__THREAD__INIT, *threads = &thread;

	PERFETTO_SET(thread, tid, (int32_t)named->tid);
	PERFETTO_SET(thread, tgid, (int32_t)named->pid);
	thread.name = (char *)named->name;
	tree.n_threads = 1;
	tree.threads = &threads;
	packet.process_tree = &tree;
	PERFETTO_SET(packet, timestamp, perfetto->export->first_time);
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

/* The thread that has the name of a process: its main thread, or the first one. */
static const struct named_thread *main_thread(const struct named_thread *first, size_t nr)
{
	const struct named_thread *main = first;

	for (size_t i = 0; i < nr && first[i].pid == first->pid; i++)
		if (first[i].tid == first->pid)
			main = &first[i];
	return main;
}

static int put_threads(struct perfetto *perfetto)
{
	const struct perch_export *export = perfetto->export;
	struct named_thread *list =
		calloc(export->nr_threads + export->schedule->nr_threads + 1, sizeof(*list));
	size_t nr = list ? list_threads(export, list) : 0;
	int rc = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++) {
		if (!i || list[i - 1].pid != list[i].pid)
			rc = put_process(perfetto, main_thread(&list[i], nr - i));
		if (!rc && (i + 1 == nr || list[i + 1].tid != list[i].tid ||
			    list[i + 1].pid != list[i].pid))
			rc = put_thread(perfetto, &list[i]);
	}
	free(list);
	return rc;
}

/* ---- the file ---- */

static int put_trace(struct perfetto *perfetto)
{
	struct perch_timeline_stats stats = { 0 };
	struct perch_export *export = perfetto->export;
	int rc = perch__schedule_end(export);

	if (export->schedule->timeline)
		perch_timeline_get_stats(export->schedule->timeline, &stats);
	if (stats.first_time && (!export->first_time || stats.first_time < export->first_time))
		export->first_time = stats.first_time;
	if (!rc)
		rc = put_system(perfetto);
	if (!rc)
		rc = put_clocks(perfetto);
	if (!rc)
		rc = put_threads(perfetto);
	if (!rc)
		rc = perch__perfetto_schedule(perfetto);
	return rc ? rc : perch__perfetto_samples(perfetto);
}

int perch__export_perfetto(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct perfetto perfetto = { .export = export };
	int rc = -ENOMEM, error = 0;

	perfetto.gzip = perch__gzip_open(out, export->options.threads);
	if (perfetto.gzip) {
		rc = put_trace(&perfetto);
		error = perch__gzip_close(perfetto.gzip);
	}
	free(perfetto.message);
	return perch__export_protobuf_result(rc, error, "trace", err);
}
