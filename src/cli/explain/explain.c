/* SPDX-License-Identifier: MIT */
/* perch explain: options, the output file, the list of causes. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "explain.h"
#include "options.h"
#include "output_file.h"
#include "program/program.h"

#define NO_PID UINT64_MAX

struct explain_request {
	struct explain_job job;
	const char *output; /* NULL for stderr, or stdout with a log */
	bool json;
	const char *log;
	uint64_t pid; /* NO_PID without -p */
	bool no_probe;
	bool here;
	bool causes;
	char **program;		     /* NULL if there is none */
	bool start_failed;	     /* of the source: the reason was printed */
	struct cli_output_file file; /* explanations of a finished log, which are written whole */
};

/* True if the output grows for as long as a program runs, and others read it meanwhile, as that of
 * strace -o. */
static bool is_growing(const struct explain_request *request)
{
	return !request->log || !strcmp(request->log, "-");
}

static int check_request(const struct explain_request *request)
{
	int sources =
		(request->program != NULL) + (request->pid != NO_PID) + (request->log != NULL);

	if (request->causes && sources)
		return cli_usage_error(
			EXPLAIN_COMMAND,
			"--causes prints all causes: leave out the program, -p and --strace");
	if (request->causes)
		return 0;
	if (!sources)
		return cli_usage_error(
			EXPLAIN_COMMAND,
			"nothing to explain: name a program, or add -p PID or --strace FILE");
	if (sources > 1)
		return cli_usage_error(EXPLAIN_COMMAND,
				       "a program, -p and --strace exclude each other: choose one");
	if (request->pid != NO_PID && (!request->pid || request->pid > INT_MAX))
		return cli_usage_error(EXPLAIN_COMMAND,
				       "-p %" PRIu64 ": a pid is a number from 1 to 2147483647",
				       request->pid);
	if (request->here && !request->log)
		return cli_usage_error(EXPLAIN_COMMAND, "--here is about a log: add --strace FILE");
	return 0;
}

static int open_output(struct explain_request *request)
{
	struct explain_job *job = &request->job;
	const char *plain = getenv("NO_COLOR");
	struct perch_error err;

	job->out = request->log ? stdout : stderr;
	if (request->output && !is_growing(request)) {
		if (cli_output_open(&request->file, request->output, 0, &err))
			return cli_error(EXPLAIN_COMMAND, &err);
		job->out = request->file.stream;
	} else if (request->output) {
		job->out = fopen(request->output, "we");
		if (!job->out) {
			perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot open %s: %s",
					request->output, strerror(errno));
			return cli_error(EXPLAIN_COMMAND, &err);
		}
	}
	job->colours = !request->json && isatty(fileno(job->out)) && !(plain && *plain);
	return 0;
}

/*
 * Returns the status, or 1 if the output could not be written. A failed write to stderr is ignored
 * for a traced program: the command exits with the status of the program.
 */
static int close_output(struct explain_request *request, int status)
{
	struct explain_job *job = &request->job;
	const char *name = request->output ? request->output : "the explanations";
	struct perch_error err;

	explain_flush(job);
	if (request->file.path) {
		int error = !job->write_failed ? 0 : job->write_error ? job->write_error : EIO;

		return cli_output_close(&request->file, error, &err)
			       ? cli_error(EXPLAIN_COMMAND, &err)
			       : status;
	}
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

/* Starts the program and seizes it before its exec. */
static int start_program(struct tracer *tracer, char **arguments, struct perch_program *program,
			 struct perch_error *err)
{
	int rc = cli_program_start(program, arguments, trace_program_prepare, tracer, err);

	if (rc)
		return rc;
	rc = trace_program_seize(tracer, program->pid, err);
	if (rc)
		perch_program_cancel(program);
	else
		perch_program_begin_release(program);
	return rc;
}

/* Returns the exit status of the program, or that of a failed start. */
static int trace_program(struct explain_request *request)
{
	struct perch_program program;
	struct tracer *tracer;
	struct perch_error err;
	int rc, status;

	request->start_failed = true;
	rc = trace_program_new(&request->job.trace, &tracer, &err);
	if (!rc)
		rc = start_program(tracer, request->program, &program, &err);
	if (rc) {
		trace_program_free(tracer);
		return cli_error(EXPLAIN_COMMAND, &err);
	}
	status = cli_program_status(trace_program_run(tracer));
	rc = perch_program_finish_release(&program, &err); /* fails if its exec has failed */
	if (rc) {
		cli_error(EXPLAIN_COMMAND, &err);
		status = cli_program_exit_status(-rc);
	}
	request->start_failed = rc != 0;
	trace_program_free(tracer);
	return status;
}

static int run_source(struct explain_request *request)
{
	struct trace_job *trace = &request->job.trace;
	struct perch_error err;
	int rc;

	if (request->program)
		return trace_program(request);
	rc = request->log ? trace_read_strace(trace, request->log, &err)
			  : trace_process(trace, (pid_t)request->pid, &err);
	request->start_failed = rc != 0;
	return rc ? cli_error(EXPLAIN_COMMAND, &err) : 0;
}

static int explain_source(struct explain_request *request)
{
	struct explain_job *job = &request->job;
	int status = run_source(request);

	/* no totals of a source that has failed, and printed its error */
	if (job->trace.calls || job->trace.operations_refused || !request->start_failed)
		explain_print_summary(job);
	trace_job_clear(&job->trace);
	explain_dedup_free(job);
	return status;
}

static int run_request(struct explain_request *request)
{
	struct trace_job *trace = &request->job.trace;
	struct perch_error err;
	int status;

	trace->output = request->json ? &explain_json : &explain_text;
	/* A log may be of another machine: facts of this one are used only with --here. */
	trace->from_log = request->log != NULL;
	trace->probe = !request->no_probe && !request->log;
	if ((!request->log || request->here) &&
	    perch_machine_new(&trace->machine, NULL, NULL, &err))
		return cli_error(EXPLAIN_COMMAND, &err);
	status = open_output(request);
	if (!status)
		status = close_output(request, explain_source(request));
	perch_machine_free(trace->machine);
	return status;
}

static int print_causes_json(void)
{
	struct perch__output out;
	struct perch__json_writer json = { .out = &out };

	if (perch__output_open(&out, stdout))
		return -1;
	perch__output_text(&out, "[\n");
	for (int cause = PERCH_CAUSE_NONE + 1; cause < PERCH_CAUSE_MAX; cause++) {
		perch__json_begin_object(&json);
		perch__json_put_text(&json, "cause", perch_cause_slug(cause));
		perch__json_put_text(&json, "kind", perch_error_kind_slug(perch_cause_kind(cause)));
		perch__json_put_text(&json, "meaning", perch_cause_meaning(cause));
		perch__json_end(&json);
		perch__output_text(&out, cause + 1 < PERCH_CAUSE_MAX ? ",\n" : "\n");
	}
	perch__output_text(&out, "]\n");
	perch__output_flush(&out);
	perch__output_close(&out);
	errno = out.error;
	return out.error ? -1 : 0;
}

static int print_causes_text(void)
{
	printf("%-21s %-16s %s\n", "CAUSE", "KIND", "MEANING");
	for (int cause = PERCH_CAUSE_NONE + 1; cause < PERCH_CAUSE_MAX; cause++)
		printf("%-21s %-16s %s\n", perch_cause_slug(cause),
		       perch_error_kind_slug(perch_cause_kind(cause)), perch_cause_meaning(cause));
	return 0;
}

static int print_causes(bool json)
{
	struct perch_error err;
	int rc = json ? print_causes_json() : print_causes_text(), error;

	if (!fflush(stdout) && !ferror(stdout) && !rc)
		return 0;
	error = errno ? errno : EIO;
	perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot write the list of causes: %s",
			strerror(error));
	return cli_error(EXPLAIN_COMMAND, &err);
}

#define SETS(member) CLI_SETS(struct explain_request, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON, one object per line for each refusal"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(output),
		.help = "print to FILE instead of stderr"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(job.trace.verbose),
		.help = "also open calls that succeeded, with lint findings"),
	CLI_ROW(.letter = 'p', .name = "pid", .argument = "PID", SETS(pid),
		.help = "trace a running process"),
	CLI_ROW(.name = "strace", .argument = "FILE", SETS(log),
		.help = "explain the system calls in a log of strace; - is stdin"),
	CLI_ROW(.name = "here", SETS(here),
		.help = "with --strace: the log was made on this machine, by this user"),
	CLI_ROW(.name = "no-probe", SETS(no_probe),
		.help = "make no further open calls to find a cause"),
	CLI_ROW(.name = "causes", SETS(causes), .help = "list all causes"),
	{ 0 },
};

const struct cli_usage cli_explain_usage = {
	.name = "explain",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Explains why the kernel refuses the perf events of a program.",
	.options = options,
};

int perch_cmd_explain(int argc, char **argv)
{
	struct explain_request request = { .pid = NO_PID };
	int first = cli_options_parse(&cli_explain_usage, &request, argc, argv);
	int status;

	if (first < argc)
		request.program = argv + first;
	status = check_request(&request);
	if (status)
		return status;
	if (request.causes)
		return print_causes(request.json);
	return run_request(&request);
}
