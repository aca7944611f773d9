/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "functions.h"

/* An option of perch trace that perch record has too. */
static const struct {
	const char *name;
	bool has_value;
} passed[] = {
	{ "-a", false }, { "-p", true }, { "-t", true }, { "-C", true }, { "-m", true },
};

bool functions_wanted(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++)
		if ((!strcmp(argv[i], "-u") || !strcmp(argv[i], "--uprobe")) &&
		    strchr(argv[i + 1], ':'))
			return true;
	return false;
}

/* Passes an option on to perch record. Returns the words that it has, or 0. */
static int pass_option(struct functions *functions, size_t *nr, int left, char **argv)
{
	for (size_t i = 0; i < CLI_NR(passed); i++) {
		const int words = 1 + passed[i].has_value;

		if (strcmp(argv[0], passed[i].name) || left < words)
			continue;
		for (int k = 0; k < words; k++)
			functions->options[(*nr)++] = argv[k];
		return words;
	}
	return 0;
}

static int parse_words(struct functions *functions, int argc, char **argv)
{
	size_t nr = 0;
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--")) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		int words = 1;

		if (!strcmp(argv[i], "-v") || !strcmp(argv[i], "--verbose")) {
			functions->verbose = true;
		} else if (value && (!strcmp(argv[i], "-u") || !strcmp(argv[i], "--uprobe"))) {
			if (functions->nr_probes == FUNCTIONS_PROBES)
				return cli_usage_error(FUNCTIONS_COMMAND, "at most %d options -u",
						       FUNCTIONS_PROBES);
			functions->probe[functions->nr_probes++] = value;
			words = 2;
		} else {
			words = pass_option(functions, &nr, argc - i, argv + i);
		}
		if (!words)
			return cli_usage_error(
				FUNCTIONS_COMMAND,
				"with -u PROBE the options are -v, -a, -p, -t, -C and "
				"-m, before PROGRAM (given %s)",
				argv[i]);
		i += words;
	}
	i += i < argc && !strcmp(argv[i], "--");
	functions->program = argv + i;
	if (i == argc && !nr)
		return cli_usage_error(FUNCTIONS_COMMAND, "-u PROBE needs PROGRAM, -p, -t or -a");
	return 0;
}

static void clear_functions(struct functions *functions)
{
	perch_function_calls_free(functions->calls);
	for (size_t i = 0; i < functions->nr_rows; i++) {
		free(functions->row[i].name);
		cli_delays_clear(&functions->row[i].delays);
	}
	free(functions->row);
	free(functions->event);
	free(functions->entry);
	free(functions->options);
	cli_input_close(&functions->input);
	cli_own_recording_remove(&functions->recording);
}

int functions_run(int argc, char **argv)
{
	struct functions functions = { .input.command = FUNCTIONS_COMMAND,
				       .first_free = UINT32_MAX };
	int status;

	functions.options = calloc((size_t)argc + 1, sizeof(*functions.options));
	if (!functions.options)
		return cli_no_memory(FUNCTIONS_COMMAND);
	status = parse_words(&functions, argc, argv);
	if (!status)
		status = functions_record(&functions);
	if (!status)
		status = functions_read(&functions);
	if (!status)
		functions_print_table(&functions);
	if (cli_check_stdout(FUNCTIONS_COMMAND, 0))
		status = CLI_EXIT_FAILURE;
	if (!status)
		status = functions.recording.status;
	clear_functions(&functions);
	return status;
}
