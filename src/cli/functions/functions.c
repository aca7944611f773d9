/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "functions.h"

enum what { PASSED, VERBOSE, JSON, OUTPUT, PROBE };

/* The options of perch trace that go with -u; perch record has the passed ones. */
static const struct {
	const char *letter, *name;
	enum what what;
	bool has_value;
} options_of_probes[] = {
	{ "-a", "--all-cpus", PASSED, false },	{ "-p", "--pid", PASSED, true },
	{ "-t", "--tid", PASSED, true },	{ "-C", "--cpu", PASSED, true },
	{ "-m", "--mmap-pages", PASSED, true }, { "-v", "--verbose", VERBOSE, false },
	{ "-j", "--json", JSON, false },	{ "-o", "--output", OUTPUT, true },
	{ "-u", "--uprobe", PROBE, true },
};

/* Returns the index of an option in options_of_probes[], or CLI_NR(options_of_probes). */
static size_t find_option(const char *word)
{
	size_t i = 0;

	while (i < CLI_NR(options_of_probes) && strcmp(word, options_of_probes[i].letter) &&
	       strcmp(word, options_of_probes[i].name))
		i++;
	return i;
}

bool functions_wanted(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
		const size_t option = find_option(argv[i]);

		if (option == CLI_NR(options_of_probes))
			continue;
		if (options_of_probes[option].what == PROBE && strchr(argv[i + 1], ':'))
			return true;
		i += options_of_probes[option].has_value;
	}
	return false;
}

/* Takes an option. Returns the words that it has; 0: it is none of them, or has no value. */
static int take_option(struct functions *functions, size_t *nr_passed, int left, char **argv)
{
	const size_t i = find_option(argv[0]);
	const int words = i < CLI_NR(options_of_probes) ? 1 + options_of_probes[i].has_value : 0;

	if (!words || left < words)
		return 0;
	switch (options_of_probes[i].what) {
	case PASSED:
		for (int k = 0; k < words; k++)
			functions->options[(*nr_passed)++] = argv[k];
		break;
	case VERBOSE:
		functions->verbose = true;
		break;
	case JSON:
		functions->json = true;
		break;
	case OUTPUT:
		functions->output = argv[1];
		break;
	case PROBE:
		if (functions->nr_probes < FUNCTIONS_PROBES)
			functions->probe[functions->nr_probes] = argv[1];
		functions->nr_probes++;
		break;
	}
	return words;
}

static int parse_words(struct functions *functions, int argc, char **argv)
{
	size_t nr = 0;
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--")) {
		int words = take_option(functions, &nr, argc - i, argv + i);

		if (!words)
			return cli_usage_error(
				FUNCTIONS_COMMAND,
				"with -u PROBE the options are -v, -j, -o, -a, -p, -t, -C and "
				"-m, before PROGRAM (given %s)",
				argv[i]);
		i += words;
	}
	if (functions->nr_probes > FUNCTIONS_PROBES)
		return cli_usage_error(FUNCTIONS_COMMAND, "at most %d options -u",
				       FUNCTIONS_PROBES);
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
	for (size_t i = 0; i < functions->nr_entries; i++)
		free(functions->entry[i].text);
	free(functions->entry);
	perch__output_close(&functions->members);
	free(functions->options);
	perch__output_close(&functions->out);
	cli_output_discard(&functions->file);
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
		status = functions_open_output(&functions); /* before the program runs */
	if (!status)
		status = functions_record(&functions);
	if (!status)
		status = functions_read(&functions);
	if (!status)
		functions_print_table(&functions);
	if (!status)
		status = functions_close_output(&functions);
	if (!status)
		status = functions.recording.status;
	clear_functions(&functions);
	return status;
}
