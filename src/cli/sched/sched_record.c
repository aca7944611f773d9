/* SPDX-License-Identifier: MIT */
/* perch sched record and script: perch record with the events of the scheduler, and perch script.
 */
#include <stdlib.h>
#include <string.h>
#include <perch/tracepoint.h>

#include "sched.h"

/* As perf sched record: all CPUs, in rings of 4 MiB, every event; but -p and -t are no error. */
static const char *const record_arguments[] = {
	"-a", "-R",
	"-m", "1024",
	"-c", "1",
	"-e", SCHED_SWITCH,
	"-e", "sched:sched_stat_runtime",
	"-e", "sched:sched_process_fork",
	"-e", "sched:sched_wakeup_new",
	"-e", "sched:sched_migrate_task",
	"-e", "sched:sched_waking",
};

/* Of a user who may not read tracepoints: records of the program's own switches. */
static const char *const switch_arguments[] = { "-e", "dummy:u", "--switch-events" };

static int run_with(int (*command)(int argc, char **argv), const char *name,
		    const char *const *arguments, size_t nr, int argc, char **argv)
{
	char **all = calloc(nr + (size_t)argc + 1, sizeof(*all));
	int status;

	if (!all)
		return cli_no_memory(SCHED_COMMAND);
	all[0] = (char *)name;
	for (size_t i = 0; i < nr; i++)
		all[1 + i] = (char *)arguments[i];
	for (int i = 1; i < argc; i++)
		all[nr + (size_t)i] = argv[i];
	status = command((int)nr + argc, all);
	free(all);
	return status;
}

int sched_record(int argc, char **argv)
{
	struct perch_tracepoint_format *format;
	struct perch_error err;

	if (!perch_tracepoint_format_read(&format, SCHED_SWITCH, NULL, &err)) {
		perch_tracepoint_format_free(format);
		return run_with(perch_cmd_record_all_cpus, "record", record_arguments,
				CLI_NR(record_arguments), argc, argv);
	}
	cli_note(
		"sched record",
		"%s. Tracepoints need root, or CAP_PERFMON and a tracefs that the user may read. "
		"Records of switches are recorded instead, which lack wakeups and delays after them",
		err.message);
	return run_with(perch_cmd_record, "record", switch_arguments, CLI_NR(switch_arguments),
			argc, argv);
}

int sched_script(const struct cli_input *input, int argc, char **argv)
{
	const char *arguments[3];
	size_t nr = 0;

	if (input->path) {
		arguments[nr++] = "-i";
		arguments[nr++] = input->path;
	}
	if (input->force)
		arguments[nr++] = "-f";
	return run_with(perch_cmd_script, "script", arguments, nr, argc, argv);
}
