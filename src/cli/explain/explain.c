/* SPDX-License-Identifier: MIT */
/* perch explain: why the kernel refused what a program, a running process or a log asked of perf
 * events. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "options.h"

const struct cli_usage cli_explain_usage = {
	.name = "explain",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Explains why the kernel refuses the perf events of a program.",
};

#define NO_PID UINT64_MAX

struct request {
	struct explain_job job;
	const char *output; /* NULL: stderr; of a log: stdout */
	const char *log;
	uint64_t pid; /* NO_PID: none */
	bool no_probe;
	bool here;
	bool causes;
	char **program; /* NULL: none */
};

static int check(const struct request *request)
{
	int sources =
		(request->program != NULL) + (request->pid != NO_PID) + (request->log != NULL);

	if (request->causes && sources)
		return cli_usage_error(EXPLAIN_COMMAND, "--causes goes alone");
	if (request->causes)
		return 0;
	if (request->log && request->program)
		return cli_usage_error(EXPLAIN_COMMAND, "a log is explained without a program");
	if (!sources)
		return cli_usage_error(EXPLAIN_COMMAND,
				       "nothing to watch: give a program, -p PID or --strace FILE");
	if (sources > 1)
		return cli_usage_error(EXPLAIN_COMMAND,
				       "a program, -p and --strace exclude each other");
	if (request->pid != NO_PID && (!request->pid || request->pid > INT_MAX))
		return cli_usage_error(EXPLAIN_COMMAND, "-p: no process can have that number");
	if (request->here && !request->log)
		return cli_usage_error(EXPLAIN_COMMAND,
				       "--here is for logs: what is watched is here anyway");
	return 0;
}

static int open_output(struct request *request)
{
	struct explain_job *job = &request->job;
	const char *plain = getenv("NO_COLOR");
	struct perch_error err;

	job->out = request->log ? stdout : stderr;
	if (request->output) {
		job->out = fopen(request->output, "we");
		if (!job->out) {
			perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot open %s: %s",
					request->output, strerror(errno));
			return cli_error(EXPLAIN_COMMAND, &err);
		}
	}
	job->colours = !job->json && isatty(fileno(job->out)) && !(plain && *plain);
	return 0;
}

/*
 * The status of what was done, or 1 when its output is not whole. A program's stderr that is closed
 * or full is the program's too, and its status matters more than what is not read there.
 */
static int close_output(struct request *request, int status)
{
	struct explain_job *job = &request->job;
	const char *name = request->output ? request->output : "what was found";
	struct perch_error err;

	explain_flush(job);
	if (request->output && fclose(job->out) && !job->write_failed) {
		job->write_failed = true;
		job->write_error = errno;
	}
	if (!job->write_failed || (!request->output && !request->log))
		return status;
	perch_error_set(&err, job->write_error ? job->write_error : EIO, PERCH_ERROR_FILE,
			"cannot write %s: %s", name,
			strerror(job->write_error ? job->write_error : EIO));
	return cli_error(EXPLAIN_COMMAND, &err);
}

/* The log could not be read, or nothing could be watched: which was said. */
static bool was_not_done(const struct request *request, int status)
{
	return request->program ? status == 126 || status == 127 : status != 0;
}

static int run_source(struct request *request)
{
	struct explain_job *job = &request->job;
	int status;

	if (request->log)
		status = explain_strace(job, request->log);
	else if (request->pid != NO_PID)
		status = explain_trace_process(job, (pid_t)request->pid);
	else
		status = explain_trace_program(job, request->program);
	if (job->calls || job->operations_refused || !was_not_done(request, status))
		explain_print_summary(job);
	explain_job_clear(job);
	return status;
}

static int run(struct request *request)
{
	struct explain_job *job = &request->job;
	struct perch_error err;
	int status;

	/* A log may be another machine's, whose facts are not known here. */
	job->from_log = request->log != NULL;
	job->probe = !request->no_probe && !request->log;
	if ((!request->log || request->here) && perch_machine_new(&job->machine, NULL, NULL, &err))
		return cli_error(EXPLAIN_COMMAND, &err);
	status = open_output(request);
	if (!status)
		status = close_output(request, run_source(request));
	perch_machine_free(job->machine);
	return status;
}

int perch_cmd_explain(int argc, char **argv)
{
	struct request request = { .pid = NO_PID };
	const struct cli_option options[] = {
		{ .letter = 'j',
		  .name = "json",
		  .help = "print JSON: an object a line for each refusal",
		  .kind = CLI_FLAG,
		  .value = &request.job.json },
		{ .letter = 'o',
		  .name = "output",
		  .argument = "FILE",
		  .help = "print to FILE instead of stderr",
		  .kind = CLI_STRING,
		  .value = &request.output },
		{ .letter = 'v',
		  .name = "verbose",
		  .kind = CLI_COUNT,
		  .help = "also calls that succeeded, and what they cannot have meant",
		  .value = &request.job.verbose },
		{ .letter = 'p',
		  .name = "pid",
		  .argument = "PID",
		  .help = "watch a running process",
		  .kind = CLI_NUMBER,
		  .value = &request.pid },
		{ .name = "strace",
		  .argument = "FILE",
		  .help = "explain the calls in a log of strace; -: stdin",
		  .kind = CLI_STRING,
		  .value = &request.log },
		{ .name = "here",
		  .help = "with --strace: the log was made on this machine, by this user",
		  .kind = CLI_FLAG,
		  .value = &request.here },
		{ .name = "no-probe",
		  .help = "make no further calls to look into refusals",
		  .kind = CLI_FLAG,
		  .value = &request.no_probe },
		{ .name = "causes",
		  .help = "list every cause that is told apart",
		  .kind = CLI_FLAG,
		  .value = &request.causes },
	};
	int first = cli_parse(&cli_explain_usage, options, CLI_NR(options), argc, argv);
	int status;

	if (first < argc)
		request.program = argv + first;
	status = check(&request);
	if (status)
		return status;
	if (request.causes)
		return explain_list_causes(request.job.json);
	return run(&request);
}
