/* SPDX-License-Identifier: MIT */
/* perch dump: prints every record of a file with all its fields. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "input/input.h"
#include "options.h"
#include "shared_options.h"
#include "terminal/pager.h"

#define COMMAND "dump"

static int set_types(const struct cli_given *given)
{
	struct dump *dump = given->state;
	const char *wrong, *similar;
	int length;

	dump->filtered = !given->negated;
	if (given->negated) {
		dump->nr_types = 0;
		dump->unnamed = false;
		return 0;
	}
	wrong = dump_add_types(dump, given->text);
	if (!wrong)
		return 0;
	if (dump->nr_types == CLI_NR(dump->types))
		return cli_usage_error(COMMAND,
				       "-t has more than %zu types: name fewer, or leave it out",
				       CLI_NR(dump->types));
	length = (int)strcspn(wrong, ",");
	similar = dump_similar_type(wrong, length);
	if (similar)
		return cli_usage_error(COMMAND, "there is no record type '%.*s'. Did you mean %s?",
				       length, wrong, similar);
	return cli_usage_error(
		COMMAND,
		"there is no record type '%.*s': use names as report --stats prints them "
		"(SAMPLE, MMAP2), or numbers",
		length, wrong);
}

static int set_limit(const struct cli_given *given)
{
	struct dump *dump = given->state;

	dump->limited = !given->negated;
	if (given->negated)
		return 0;
	if (!cli_parse_number(given->text, &dump->limit))
		return cli_usage_error(COMMAND, "-n %s: expected a number of records", given->text);
	return 0;
}

static void put_record(struct dump *dump, const struct perch_record *record, const char *error)
{
	if (dump->json)
		dump_json_record(dump, record, error);
	else
		dump_text_record(dump, record, error);
}

/* Returns 0, or a negative errno after it has printed an error of the file. */
static int put_records(struct dump *dump, const struct cli_input *input)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t shown = 0;

	while (!dump->out.error && (!dump->limited || shown < dump->limit)) {
		int rc = perch_session_next(input->session, &record, &err);

		if (!rc)
			return 0;
		if (rc < 0 && rc != -EBADMSG) {
			cli_error(input->command, &err);
			return rc;
		}
		if (!dump_wants(dump, record.type))
			continue;
		put_record(dump, &record, rc < 0 ? err.message : NULL);
		shown++;
	}
	return 0;
}

static int print_recording(struct dump *dump, const struct cli_input *input)
{
	int rc = 0;

	if (perch__output_open(&dump->out, stdout))
		return cli_no_memory(input->command);
	if (dump->header || dump->header_only) {
		if (dump->json)
			dump_json_header(dump);
		else
			dump_text_header(dump);
	}
	if (!dump->header_only)
		rc = put_records(dump, input);
	perch__output_flush(&dump->out);
	if (cli_check_stdout(input->command, dump->out.error))
		rc = -EIO;
	perch__output_close(&dump->out);
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

int dump_run(struct dump *dump, const struct cli_input *input)
{
	int status;

	dump->reader = perch_session_reader(input->session);
	cli_start_pager();
	status = print_recording(dump, input);
	/* damage is known only after the file was read to its end */
	if (!dump->header_only && !dump->limited)
		cli_input_print_notes(input);
	return status;
}

struct command {
	struct cli_input input;
	struct dump dump;
};

#define AT(member)   offsetof(struct command, member)
#define SETS(member) CLI_SETS(struct command, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'j', .name = "json", SETS(dump.json),
		.help = "print JSON, one object per line"),
	CLI_ROW(.letter = 'x', .name = "hex", SETS(dump.raw),
		.help = "print the bytes of each record too"),
	CLI_ROW(.table = cli_header_option, .at = AT(dump.header)),
	CLI_ROW(.table = cli_header_only_option, .at = AT(dump.header_only)),
	CLI_ROW(.letter = 't', .name = "type", .argument = "NAMES", .at = AT(dump),
		.set = set_types, .help = "print only records of these types (SAMPLE,MMAP2)"),
	CLI_ROW(.name = "time", SETS(dump.by_time), .help = "sort records by time"),
	CLI_ROW(.letter = 'n', .name = "number", .argument = "N", .at = AT(dump), .set = set_limit,
		.help = "print at most N records"),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_dump_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [FILE]",
	.summary = "Prints every record of a perf.data file with all its fields.",
	.options = options,
};

int perch_cmd_dump(int argc, char **argv)
{
	struct command command = { .input = { .command = COMMAND,
					      .options = { .keep_damaged = true,
							   .keep_stacks = true,
							   .keep_reads = true } } };
	struct cli_input *input = &command.input;
	int next = cli_options_parse(&cli_dump_usage, &command, argc, argv);
	int status;

	if (next < argc && !input->path) {
		input->path = argv[next];
		next += cli_options_parse(&cli_dump_usage, &command, argc - next, argv + next);
	}
	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is a second file: name one file", argv[next]);
	input->options.file_order = !command.dump.by_time;
	status = cli_input_open(input);
	if (status)
		return status;
	status = dump_run(&command.dump, input);
	cli_input_close(input);
	return status;
}
