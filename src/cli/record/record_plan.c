/* SPDX-License-Identifier: MIT */
/* Whom `perch record` samples: the threads of -p and -t, and the CPUs of -C. */
#include <stdlib.h>

#include "record.h"

#define COMMAND "record"

/* The threads alone: the sampler is told the CPUs apart from them. */
static int choose_threads(struct record *record)
{
	struct cli_target tasks = record->target;
	struct perch_targets targets = { 0 };
	int status;

	tasks.cpu_list = NULL;
	status = cli_target_choose(COMMAND, &tasks, record->machine, &targets);
	if (!status && targets.nr) {
		record->threads = calloc(targets.nr, sizeof(*record->threads));
		if (!record->threads)
			status = CLI_EXIT_FAILURE;
	}
	for (size_t i = 0; !status && i < targets.nr; i++)
		record->threads[record->nr_threads++] = targets.target[i].pid;
	perch_targets_clear(&targets);
	return status;
}

int record_choose_target(struct record *record)
{
	int status = 0;

	if (record->target.pids || record->target.tids)
		status = choose_threads(record);
	return status ? status
		      : cli_target_cpus(COMMAND, &record->target, record->machine, &record->cpus);
}
