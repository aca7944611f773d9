/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/jitdump.h>
#include "input.h"
#include "options.h"
#include "base/batch_thread.h"

/*
 * As in perf, standard input is read instead of the file perf.data if it is a pipe. This is also so
 * for an empty pipe, because the user does not mean an old perf.data then.
 */
static const char *default_input(void)
{
	struct stat status;

	return !fstat(STDIN_FILENO, &status) && S_ISFIFO(status.st_mode) ? "-" : "perf.data";
}

/* For the signal handler. Files are mapped: when another process truncates one, access to the lost
 * pages raises SIGBUS. */
static char bus_error_message[512];

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != BUS_ADRERR) {
		/* the access is repeated, and the signal ends the command */
		signal(number, SIG_DFL);
		return;
	}
	while (write(STDERR_FILENO, bus_error_message, strlen(bus_error_message)) < 0 &&
	       errno == EINTR)
		;
	_exit(CLI_EXIT_FAILURE);
}

static void handle_bus_errors(const struct cli_input *input)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	char path[400];

	perch_clean_text(input->path, path, sizeof(path));
	snprintf(bus_error_message, sizeof(bus_error_message),
		 "perch %s: %s, or a binary that it names, became shorter while it was read\n",
		 input->command, path);
	sigaction(SIGBUS, &action, NULL);
}

/* Shows what is awaited from debuginfod, in a line of a terminal that is cleared at the end. */
static bool show_download(void *context, const struct perch_dso *dso, uint64_t bytes,
			  uint64_t total)
{
	const struct cli_input *input = context;
	const char *slash = dso ? strrchr(dso->path, '/') : NULL;
	char name[60], text[160] = "";

	if (dso) {
		perch_clean_text(slash ? slash + 1 : dso->path, name, sizeof(name));
		snprintf(text, sizeof(text), "debuginfod: %s", name);
	}
	if (dso && total)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 " %" PRIu64 " of %" PRIu64 " KiB", bytes >> 10, total >> 10);
	cli_put_progress(input->command, text);
	return true;
}

/* Returns 0 if a file of an option can be read, or was not given; else CLI_EXIT_USAGE. */
static int check_readable(const struct cli_input *input, const char *option, const char *path)
{
	if (!path || !access(path, R_OK))
		return 0;
	return cli_usage_error(input->command, "%s: cannot read %s: %s", option, path,
			       strerror(errno));
}

const char *cli_input_command(const struct cli_input *input, char text[CLI_INPUT_COMMAND])
{
	char path[256];

	perch_clean_text(input->path, path, sizeof(path));
	snprintf(text, CLI_INPUT_COMMAND, "%s: %s", input->command, path);
	return text;
}

int cli_input_open(struct cli_input *input)
{
	const char *path = input->path ? input->path : default_input();
	const char *root = input->options.symbols.root;
	struct perch_error err;
	struct stat st;
	int rc;

	if (root && (stat(root, &st) || !S_ISDIR(st.st_mode)))
		return cli_usage_error(input->command, "--symfs: '%s' is not a directory", root);
	if (check_readable(input, "--kallsyms", input->options.symbols.kallsyms) ||
	    check_readable(input, "--vmlinux", input->options.symbols.vmlinux))
		return CLI_EXIT_USAGE;
	input->path = strcmp(path, "-") ? path : "standard input";
	input->options.check_owner = !input->force;
	input->options.symbols.any_owner = input->force;
	input->options.symbols.debuginfod = !input->no_debuginfod;
	handle_bus_errors(input);
	rc = perch_session_open(&input->session, path, &input->options, &err);
	if (!rc && isatty(STDERR_FILENO))
		perch_symbols_set_download_progress(perch_session_symbols(input->session),
						    show_download, input);
	if (!rc)
		return 0;
	if (rc == -EINVAL && err.kind == PERCH_ERROR_USAGE)
		return cli_usage_error(input->command, "%s", err.message);
	if (rc == -EPERM)
		perch_error_remedy(&err, "Use -f to read it anyway");
	else if (rc == -ENOENT && err.kind == PERCH_ERROR_FILE)
		perch_error_remedy(&err, "Record one first: perch %.*s%srecord PROGRAM",
				   input->records ? (int)strcspn(input->command, " ") : 0,
				   input->command, input->records ? " " : "");
	else if (err.kind == PERCH_ERROR_TRUNCATED && !strcmp(path, "-"))
		perch_error_remedy(&err, "Use -i FILE to read a file instead of standard input");
	return cli_error(input->command, &err);
}

void cli_input_close(struct cli_input *input)
{
	perch_session_close(input->session);
	input->session = NULL;
}

bool cli_input_is_file_name(const char *operand)
{
	const char *end = strrchr(operand, '.');

	return strchr(operand, '/') || (end && !strcmp(end, ".data")) ||
	       perch_is_recording(operand);
}

int cli_input_refuse_files(const char *command, const char *operand, const char *extra,
			   const char *other)
{
	const char *const words[] = { operand, extra };

	for (size_t i = 0; i < CLI_NR(words); i++)
		if (words[i] && cli_input_is_file_name(words[i]))
			return cli_usage_error(command,
					       "'%s' is not an option; name a file with -i, or %s",
					       words[i], other);
	return 0;
}

int cli_input_next(struct cli_input *input, struct perch_record *record)
{
	struct perch_error err;
	int rc = perch_session_next(input->session, record, &err);

	if (rc < 0)
		cli_error(input->command, &err);
	return rc;
}

int cli_input_print_header(const struct cli_input *input, FILE *out, bool long_header)
{
	struct perch_reader *reader = perch_session_reader(input->session);

	return long_header ? perch_reader_print_long_header(reader, out)
			   : perch_reader_print_header(reader, out);
}

unsigned cli_input_threads(const struct cli_input *input)
{
	enum { LARGE = 16 << 20, MOST = 4, MOST_GIVEN = 64 };
	uint64_t done, total = 0, most = 2;
	unsigned cpus = perch__usable_cpus();

	if (input->jobs)
		return input->jobs < MOST_GIVEN ? (unsigned)input->jobs : MOST_GIVEN;
	if (input->session)
		perch_reader_progress(perch_session_reader(input->session), &done, &total);
	if (total >= LARGE)
		most = MOST;
	return cpus < most ? cpus : (unsigned)most;
}

void cli_input_set_threads(const struct cli_input *input, struct perch_profile_options *options)
{
	options->max_threads = cli_input_threads(input) - 1;
	options->threads = options->max_threads > 0;
}
