/* SPDX-License-Identifier: MIT */
/* perch doctor: reports what this user can measure, and which changes permit more. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"
#include "options.h"
#include "output_file.h"
#include "program/seccomp_kill.h"

/* Loads the smallest program for events, "return 0", and unloads it. */
static int load_program(void)
{
	static const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uintptr_t)program;
	attr.insn_cnt = CLI_NR(program);
	attr.license = (uintptr_t) "MIT";
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* In place of a bpf(2) that would end the process. */
static int refuse_program(void)
{
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

static bool print_results(const struct doctor *doctor, FILE *out, bool json)
{
	const char *no_colour = getenv("NO_COLOR");
	unsigned width = terminal_width(out);

	if (json)
		return doctor_print_json(doctor, out);
	return doctor_print_text(doctor, out, width && !(no_colour && *no_colour), width);
}

/* Opens the file first: if that fails, the checks need not run. */
static int check_and_print(struct doctor *doctor, const char *path, bool json)
{
	struct cli_output_file file = { .stream = stdout };
	struct perch_error err;
	int error = 0;

	if (path && cli_output_open(&file, path, 0, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	doctor_run_checks(doctor);
	errno = 0;
	if (!print_results(doctor, file.stream, json) || fflush(file.stream) || ferror(file.stream))
		error = errno ? errno : EIO;
	if (path && cli_output_close(&file, error, &err))
		return cli_error(DOCTOR_COMMAND, &err);
	if (!path && error)
		return cli_check_stdout(DOCTOR_COMMAND, error);
	return doctor->usable ? 0 : CLI_EXIT_FAILURE;
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
	const struct perch_syscalls *calls;
	struct doctor *doctor;
	struct perch_error err;
	int first, status;

	first = cli_options_parse(&cli_doctor_usage, &request, argc, argv);
	if (first < argc)
		return cli_usage_error(DOCTOR_COMMAND, "unexpected operand '%s'", argv[first]);
	doctor = calloc(1, sizeof(*doctor));
	if (!doctor) {
		perch_error_set(&err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for the results");
		return cli_error(DOCTOR_COMMAND, &err);
	}
	doctor->load_program = cli_filter_kills(NULL, load_program) ? refuse_program : load_program;
	calls = cli_calls_that_survive();
	doctor->filter_kills = calls != NULL;
	if (perch_machine_new(&doctor->machine, NULL, calls, &err))
		status = cli_error(DOCTOR_COMMAND, &err);
	else
		status = check_and_print(doctor, request.path, request.json);
	perch_machine_free(doctor->machine);
	free(doctor);
	return status;
}
