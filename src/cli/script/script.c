/* SPDX-License-Identifier: MIT */
/* The command: options, reading, messages. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/dump.h"
#include "options.h"
#include "shared_options.h"
#include "terminal/pager.h"
#include "perf/perf_names.h"
#include "script.h"
#include "base/no_memory.h"

static int put_sample(struct script *script, const struct perch_record *record,
		      struct perch_error *err)
{
	const struct script_event *event = script_event_of(script, record);
	struct perch_session_sample sample;
	int rc;

	if (cli_switch_is_off(&script->switching, record))
		return 0;
	rc = event->queued && event->fields && !script->json
		     ? perch_session_add_chain(script->session, record, &sample, err)
		     : perch_session_resolve(script->session, record, &sample, err);
	if (rc)
		return rc;
	rc = script->json ? script_put_json(script, &sample) : script_put_sample(script, &sample);
	if (!rc && event->fields & SCRIPT_METRIC)
		rc = script_group_add(script, event, &sample);
	return rc ? PERCH__NO_MEMORY(err, "for the output") : 0;
}

static int put_record(struct script *script, const struct perch_record *record,
		      struct perch_error *err)
{
	int rc;

	script_group_next(script, record);
	if (record->type != PERCH_RECORD_SAMPLE && !script->show_records)
		return 0;
	rc = cli_filter_match(&script->filter, record);
	if (rc > 0 && record->type == PERCH_RECORD_SAMPLE)
		return put_sample(script, record, err);
	if (rc > 0)
		rc = perch_record_visit(record, &script->records, script);
	return rc < 0 ? PERCH__NO_MEMORY(err, "for the output") : 0;
}

/* True if the output cannot be written. A thread that prints ends then. */
static bool has_ended(const struct script *script)
{
	return !script_queue_has_output(script->queue) && script->out.error;
}

static int put_records(struct script *script, struct perch_error *err)
{
	struct perch_record record;
	int rc;

	while ((rc = perch_session_next(script->session, &record, err)) > 0 && !has_ended(script)) {
		rc = put_record(script, &record, err);
		if (rc)
			break;
	}
	return rc < 0 ? rc : 0;
}

/* The header is that of perf report, too. */
static int put_header(struct script *script)
{
	int rc = cli_input_print_header(&script->input, stdout, script->long_header);

	return rc < 0 ? cli_check_stdout(SCRIPT_COMMAND, -rc) : 0;
}

static int run_script(struct script *script)
{
	struct perch_error err;
	int rc, status = script->header || script->header_only ? put_header(script) : 0;

	if (status || script->header_only)
		return status;
	rc = put_records(script, &err);
	script_group_end(script);
	if (script_queue_flush(script->queue) && !rc)
		rc = PERCH__NO_MEMORY(&err, "for the output");
	if (rc)
		cli_error(SCRIPT_COMMAND, &err);
	perch__output_flush(&script->out);
	status = script_events_close(script);
	return cli_check_stdout(SCRIPT_COMMAND, script->out.error) || rc ? CLI_EXIT_FAILURE
									 : status;
}

static int set_fields(const struct cli_given *given)
{
	return script_fields_parse(given->state, given->text);
}

static void clear_script(struct script *script)
{
	script_queue_free(script->queue);
	script_events_clear(script);
	perch_switch_free(script->switching.by_events);
	cli_filter_close(&script->filter);
	for (size_t i = 0; i < script->nr_dsos; i++)
		free(script->dso[i]);
	free(script->dso);
	free(script->trace);
	script_code_free(script->code);
	script_group_free(script->group);
	perch__output_close(&script->out);
	cli_input_close(&script->input);
}

static void print_notes(const struct script *script)
{
	struct perch_session_stats stats;

	cli_filter_print_notes(&script->filter, &script->input);
	cli_switch_print_note(&script->switching, SCRIPT_COMMAND);
	cli_input_print_notes(&script->input);
	cli_input_print_chain_notes(&script->input);
	script_code_print_notes(script->code);
	if (script->unformatted)
		cli_note(SCRIPT_COMMAND,
			 "%" PRIu64
			 " samples of tracepoints are printed without their fields: the file does "
			 "not have the formats",
			 script->unformatted);
	perch_session_get_stats(script->session, &stats);
	if (stats.plain_tracepoints)
		cli_note(
			SCRIPT_COMMAND,
			"%" PRIu64
			" samples of tracepoints are printed as name=value: their format cannot be "
			"used to print them, or not for a negative number",
			stats.plain_tracepoints);
}

/* Prints all records, as perch dump does. */
static int dump(struct script *script)
{
	struct dump dump = { .by_time = !script->dump_unsorted,
			     .header = script->header,
			     .header_only = script->header_only };
	int status;

	script->input.options.keep_damaged = true;
	script->input.options.keep_stacks = true;
	script->input.options.file_order = script->dump_unsorted;
	status = cli_input_open(&script->input);
	if (status)
		return status;
	status = dump_run(&dump, &script->input);
	cli_input_close(&script->input);
	return status;
}

static int check_options(const struct script *script)
{
	if (script->json && script->show_records)
		return cli_usage_error(SCRIPT_COMMAND, "-j prints samples; perch dump --json has "
						       "the other records");
	if (script->filter.options.symbols_size && !script->filter.options.symbols)
		return cli_usage_error(SCRIPT_COMMAND, "--addr-range needs an address: -S 0x4007a0 "
						       "--addr-range 10");
	if (script->max_blocks && !script_fields_any(&script->fields, SCRIPT_PATH))
		return cli_usage_error(SCRIPT_COMMAND, "--max-blocks is about the code of branch "
						       "stacks: add -F +brstackinsn");
	if (script->reltime && script->deltatime)
		return cli_refuse_both(SCRIPT_COMMAND, "--reltime", "--deltatime");
	if (script->per_event_dump && !strcmp(script->input.path, "standard input"))
		return cli_usage_error(SCRIPT_COMMAND, "--per-event-dump names its files after "
						       "that of -i: name one");
	return 0;
}

static int print_samples(struct script *script)
{
	int status = cli_input_open(&script->input);
	bool threads;

	script->show_records = script_choose_records(script);
	if (!status)
		status = check_options(script);
	if (!status)
		status = cli_check_unsupported(&script->unsupported, &script->input);
	script->header |= script->long_header && !script->header_only;
	script->filter.options.relative_time = script->reltime;
	script->filter.options.no_inline = script->no_inline;
	if (!status && !script->header_only)
		status = cli_filter_open(&script->filter, &script->input);
	if (status)
		return status;
	script->session = script->input.session;
	script->symbols = perch_session_symbols(script->session);
	script->arch = perch_reader_arch(perch_session_reader(script->session));
	if (script->arch == PERCH_ARCH_UNKNOWN)
		script->arch = perch_arch_here();
	/* on a terminal, messages stay between the samples where they are without a thread */
	threads = !script->per_event_dump && !isatty(STDOUT_FILENO) &&
		  cli_input_threads(&script->input) > 1;
	script->queue = script_queue_new(script, threads);
	if (!script->queue || perch__output_open(&script->out, stdout)) {
		return cli_no_memory(SCRIPT_COMMAND);
	}
	if (!script->header_only)
		status = script_events_open(script);
	if (status)
		return status;
	if (!script->per_event_dump)
		cli_start_pager();
	status = run_script(script);
	if (!script->header_only)
		print_notes(script);
	return status;
}

/* perf script has operands: "record", "report", or the name of a script. */
static int refuse_operand(const char *word)
{
	const char *hint = NULL;

	if (!strcmp(word, "flamegraph"))
		hint = "'perch flamegraph' writes a page";
	else if (!cli_input_is_file_name(word))
		hint = cli_perf_option(SCRIPT_COMMAND, "-s", 2);
	return cli_usage_error(SCRIPT_COMMAND, "'%s' is not an option; name a file with -i%s%s",
			       word, hint ? "; " : "", hint ? hint : "");
}

#define AT(member)   offsetof(struct script, member)
#define SETS(member) CLI_SETS(struct script, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.table = cli_jobs_option, .at = AT(input)),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "c-C"),
	CLI_ROW(.table = cli_parent_option, .at = AT(filter)),
	CLI_ROW(.table = cli_expression_option, .at = AT(filter)),
	CLI_ROW(.name = "addr-range", .argument = "BYTES", SETS(filter.options.symbols_size),
		.help = "addresses of -S are the starts of ranges of this size"),
	CLI_ROW(.letter = 'F', .name = "fields", .argument = "[TYPE:]FIELDS", .at = AT(fields),
		.set = set_fields, .not_negated = true,
		.help = "the fields to print: comm,ip,sym... or changes of the default: +srcline,-dso"),
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON, one object per sample"),
	CLI_ROW(.letter = 'G', .name = "hide-call-graph", SETS(no_callchain),
		.help = "print no call chains"),
	CLI_ROW(.name = "max-stack", .argument = "N", SETS(max_stack), .positive = true,
		.help = "print at most N functions of a call chain"),
	CLI_ROW(.name = "max-blocks", .argument = "N", SETS(max_blocks),
		.help = "print at most N blocks of code for brstackinsn"),
	CLI_ROW(.name = "stop-bt", .argument = "SYMBOLS", SETS(stop_at),
		.help = "end call chains at these functions"),
	CLI_ROW(.letter = 'L', .name = "Latency", SETS(latency),
		.help = "print short names of threads and CPUs"),
	CLI_ROW(.table = cli_ns_option, .at = AT(ns)),
	CLI_ROW(.name = "reltime", SETS(reltime), .help = "print times since the first sample"),
	CLI_ROW(.name = "deltatime", SETS(deltatime),
		.help = "print times since the previous sample"),
	CLI_ROW(.table = cli_header_option, .at = AT(header)),
	CLI_ROW(.table = cli_header_only_option, .at = AT(header_only)),
	CLI_ROW(.table = cli_show_info_option, .at = AT(long_header)),
	CLI_ROW(.table = cli_full_source_path_option, .at = AT(full_path)),
	CLI_ROW(.name = "show-task-events", SETS(show_task),
		.help = "print COMM, FORK and EXIT records"),
	CLI_ROW(.name = "show-mmap-events", SETS(show_mmap),
		.help = "print MMAP and MMAP2 records"),
	CLI_ROW(.name = "show-switch-events", SETS(show_switch), .help = "print SWITCH records"),
	CLI_ROW(.name = "show-namespace-events", SETS(show_namespace),
		.help = "print NAMESPACES records"),
	CLI_ROW(.name = "show-lost-events", SETS(show_lost), .help = "print LOST records"),
	CLI_ROW(.name = "show-round-events", SETS(show_round),
		.help = "print FINISHED_ROUND records"),
	CLI_ROW(.name = "show-bpf-events", SETS(show_bpf),
		.help = "print KSYMBOL and BPF_EVENT records"),
	CLI_ROW(.name = "show-cgroup-events", SETS(show_cgroup), .help = "print CGROUP records"),
	CLI_ROW(.name = "show-text-poke-events", SETS(show_text_poke),
		.help = "print TEXT_POKE and KSYMBOL records"),
	CLI_ROW(.table = cli_switch_options, .at = AT(switching)),
	CLI_ROW(.table = cli_unsupported_options, .at = AT(unsupported)),
	/* for programs that perf starts, of which perch has none */
	CLI_ROW(.letter = 'a', .name = "all-cpus", .kind = CLI_IGNORED, .hidden = true),
	CLI_ROW(.name = "per-event-dump", SETS(per_event_dump),
		.help = "write the samples of each event to FILE.EVENT.dump"),
	CLI_ROW(.letter = 'D', .name = "dump-raw-trace", SETS(dump),
		.help = "print all records, as perch dump --time"),
	CLI_ROW(.name = "dump-unsorted-raw-trace", SETS(dump_unsorted),
		.help = "print all records in the order of the file, as perch dump"),
	CLI_ROW(.table = cli_symbol_options, .at = AT(input)),
	CLI_ROW(.table = cli_inline_option, .at = AT(no_inline)),
	CLI_ROW(.table = cli_input_verbose_option, .at = AT(input)),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_script_usage = {
	.name = SCRIPT_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints each sample of a perf.data file.",
	.options = options,
};

int perch_cmd_script(int argc, char **argv)
{
	struct script script = { .input.command = SCRIPT_COMMAND,
				 .comm = { { .index = UINT32_MAX }, { .index = UINT32_MAX } } };
	int next, status;

	script_fields_init(&script.fields);
	next = cli_options_parse(&cli_script_usage, &script, argc, argv);
	if (next < argc)
		return refuse_operand(argv[next]);
	if (script.dump || script.dump_unsorted)
		return dump(&script);
	status = print_samples(&script);
	clear_script(&script);
	return status;
}
