/* SPDX-License-Identifier: MIT */
/* Processes that already run: applies records of perch/synthesize.h. */
#include <perch/synthesize.h>
#include "base/no_memory.h"
#include "internal.h"

/*
 * The mappings of a process follow each other. They are all that it has, so the first one replaces
 * earlier mappings.
 */
static int replace_mappings(struct perch_processes *processes, const struct perch_record *record)
{
	struct perch_thread *thread;
	bool user_mapping = record->type == PERCH_RECORD_MMAP2;

	if (!user_mapping ||
	    (processes->synthesizing && processes->synthesized == record->mmap.pid)) {
		processes->synthesizing &= user_mapping;
		return 0;
	}
	thread = perch__processes_thread(processes, record->mmap.pid, record->mmap.pid);
	if (!thread)
		return -ENOMEM;
	thread->process->replaced = REPLACED_BY_LIST;
	processes->synthesizing = true;
	processes->synthesized = record->mmap.pid;
	return 0;
}

int perch_processes_apply_synthesized(void *context, const void *records, size_t size,
				      struct perch_error *err)
{
	static const struct perch_attr without_sample_id;
	struct perch_processes *processes = context;
	struct perch_parse_info parse_info;
	const char *at = records;
	size_t done = 0;

	perch_parse_info_init(&parse_info, &without_sample_id, PERCH_BYTES_NATIVE);
	/* the caller may have enabled the events before */
	processes->sampled = true;
	while (done < size) {
		struct perch_record record;
		int rc = perch_record_decode(&record, &parse_info, at + done, size - done, err);

		if (rc)
			return rc;
		if (replace_mappings(processes, &record) ||
		    perch_processes_apply(processes, &record))
			return PERCH__NO_MEMORY(err, "for address spaces");
		done += record.size;
	}
	return 0;
}

int perch_processes_add_running(struct perch_processes *processes, pid_t pid,
				struct perch_machine *machine, struct perch_error *err)
{
	processes->synthesizing = false;
	return perch_synthesize_process(pid, NULL, machine, perch_processes_apply_synthesized,
					processes, NULL, err);
}
