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

static bool print_results(const struct perch_checks *checks, struct perch_machine *machine,
			  FILE *out, bool json)
{
	const char *no_colour = getenv("NO_COLOR");
	unsigned width = terminal_width(out);

	if (json)
		return doctor_print_json(checks, machine, out);
	return doctor_print_text(checks, out, width && !(no_colour && *no_colour), width);
}

/* Opens the file first: if that fails, the checks need not run. */
static int check_and_print(const struct perch_checks_options *options, const char *path, bool json)
{
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
	if (!print_results(checks, options->machine, file.stream, json) || fflush(file.stream) ||
	    ferror(file.stream))
		error = errno ? errno : EIO;
	status = perch_checks_usable(checks) ? 0 : CLI_EXIT_FAILURE;
	perch_checks_free(checks);
	if (path && cli_output_close(&file, error, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	if (!path && error)
		return cli_check_stdout(DOCTOR_COMMAND, error);
	return status;
}

struct doctor_request {
	const char *path;
	bool json;
};

#define SETS(member) CLI_SETS(struct doctor_request, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON: an object with an array of checks"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(path),
		.help = "write into FILE instead of standard output"),
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
		return cli_usage_error(DOCTOR_COMMAND, "unexpected operand '%s'", argv[first]);
	if (cli_filter_kills(NULL, perch_checks_load_program))
		how.load_program = refuse_program;
	calls = cli_calls_that_survive();
	how.filter_kills = calls != NULL;
	if (perch_machine_new(&how.machine, NULL, calls, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	status = check_and_print(&how, request.path, request.json);
	perch_machine_free(how.machine);
	return status;
}
