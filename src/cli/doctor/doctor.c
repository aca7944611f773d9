/* SPDX-License-Identifier: MIT */
/* perch doctor: reports what this user can measure, and which changes permit more. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor.h"
#include "options.h"
#include "output_file.h"
#include "program/seccomp_kill.h"

/* In place of a bpf(2) that would end the process. */
static int refuse_program(void *context)
{
	(void)context;
	return -EPERM;
}

/* Returns the columns of the terminal, or 0, which does not wrap lines, if out is no terminal. */
static unsigned terminal_width(FILE *out)
{
	struct winsize size;

	if (!isatty(fileno(out)))
		return 0;
	return ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col < 40 ? 80 : size.ws_col;
}

struct doctor_request {
	const char *path;
	bool json, agent;
};

static bool print_results(const struct perch_checks *checks, struct perch_machine *machine,
			  FILE *out, const struct doctor_request *request)
{
	struct perch_check results[DOCTOR_AGENT_RESULTS];
	size_t nr;
	const char *no_colour = getenv("NO_COLOR");
	unsigned width = terminal_width(out);

	bool colours = width && !(no_colour && *no_colour);

	if (request->agent) {
		nr = doctor_agent_results(checks, machine, results);
		return request->json ? doctor_print_results_json(results, nr, out)
				     : doctor_print_results(results, nr, out, colours, width);
	}
	if (request->json)
		return doctor_print_json(checks, machine, out);
	return doctor_print_text(checks, out, colours, width);
}

/* The agent is for all CPUs. */
static bool is_usable(const struct perch_checks *checks, const struct doctor_request *request)
{
	const struct perch_check *cpus = perch_checks_find(checks, "system-wide");

	return request->agent ? cpus && cpus->status == PERCH_CHECK_OK
			      : perch_checks_usable(checks);
}

/* Opens the file first: if that fails, the checks need not run. */
static int check_and_print(const struct perch_checks_options *options,
			   const struct doctor_request *request)
{
	const char *path = request->path;
	struct cli_output_file file = { .stream = stdout };
	struct perch_checks *checks;
	struct perch_error err;
	int error = 0, status;

	if (path && cli_output_open(&file, path, 0, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	if (perch_checks_run(&checks, options, &err)) {
		cli_error(DOCTOR_COMMAND, &err);
		if (path)
			cli_output_close(&file, ENOMEM, &err);
		return CLI_EXIT_FAILURE;
	}
	errno = 0;
	if (!print_results(checks, options->machine, file.stream, request) || fflush(file.stream) ||
	    ferror(file.stream))
		error = errno ? errno : EIO;
	status = is_usable(checks, request) ? 0 : CLI_EXIT_FAILURE;
	perch_checks_free(checks);
	if (path && cli_output_close(&file, error, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	if (!path && error)
		return cli_check_stdout(DOCTOR_COMMAND, error);
	return status;
}

#define SETS(member) CLI_SETS(struct doctor_request, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON: an object with an array of checks"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(path),
		.help = "write into FILE instead of standard output"),
	CLI_ROW(.name = "agent", SETS(agent),
		.help = "only what perch agent needs, and what a missing right costs"),
	{ 0 },
};

const struct cli_usage cli_doctor_usage = {
	.name = "doctor",
	.operands = "[OPTIONS]",
	.summary =
		"Reports what this user can measure on this machine, and which changes permit more.",
	.options = options,
};

int perch_cmd_doctor(int argc, char **argv)
{
	struct doctor_request request = { 0 };
	struct perch_checks_options how = { 0 };
	const struct perch_syscalls *calls;
	struct perch_error err;
	int first, status;

	first = cli_options_parse(&cli_doctor_usage, &request, argc, argv);
	if (first < argc)
		return cli_usage_error(
			DOCTOR_COMMAND,
			"'%s' is not an option: it checks this machine, not a program or file",
			argv[first]);
	if (cli_filter_kills(NULL, perch_checks_load_program))
		how.load_program = refuse_program;
	calls = cli_calls_that_survive();
	how.filter_kills = calls != NULL;
	if (perch_machine_new(&how.machine, NULL, calls, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	status = check_and_print(&how, &request);
	perch_machine_free(how.machine);
	return status;
}
