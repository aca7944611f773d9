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
#include "terminal/pager.h"
#include "perf/perf_names.h"
#include "script.h"
#include "base/batch_thread.h"

const struct cli_usage cli_script_usage = {
	.name = SCRIPT_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints each sample of a perf.data file.",
};

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "out of memory");
}

static int put_sample(struct script *script, const struct perch_record *record,
		      struct perch_error *err)
{
	const struct script_event *event = script_event_of(script, record);
	struct perch_session_sample sample;
	int rc;

	if (cli_switch_is_off(&script->switching, record->event))
		return 0;
	rc = event->queued && event->fields && !script->json
		     ? perch_session_add_chain(script->session, record, &sample, err)
		     : perch_session_resolve(script->session, record, &sample, err);
	if (rc)
		return rc;
	rc = script->json ? script_put_json(script, &sample) : script_put_sample(script, &sample);
	if (!rc && event->fields & SCRIPT_METRIC)
		rc = script_group_add(script, event, &sample);
	return rc ? no_memory(err) : 0;
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
		rc = script_put_record(script, record);
	return rc < 0 ? no_memory(err) : 0;
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
		rc = no_memory(&err);
	if (rc)
		cli_error(SCRIPT_COMMAND, &err);
	perch__output_flush(&script->out);
	status = script_events_close(script);
	return cli_check_stdout(SCRIPT_COMMAND, script->out.error) || rc ? CLI_EXIT_FAILURE
									 : status;
}

static int set_fields(void *value, const char *argument, bool negated)
{
	if (negated)
		return cli_usage_error(SCRIPT_COMMAND, "-F cannot be negated");
	return script_fields_parse(value, argument);
}

static int set_inline(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct script *)value)->no_inline = negated;
	return 0;
}

static void clear_script(struct script *script)
{
	script_queue_free(script->queue);
	script_events_clear(script);
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
	if (script->json && (script->show_task || script->show_mmap || script->show_switch ||
			     script->show_namespace || script->show_lost || script->show_round ||
			     script->show_bpf || script->show_cgroup || script->show_text_poke))
		return cli_usage_error(SCRIPT_COMMAND, "-j prints samples; perch dump --json has "
						       "the other records");
	if (script->filter.options.symbols_size && !script->filter.options.symbols)
		return cli_usage_error(SCRIPT_COMMAND, "--addr-range needs an address: -S 0x4007a0 "
						       "--addr-range 10");
	if (script->reltime && script->deltatime)
		return cli_usage_error(SCRIPT_COMMAND, "--reltime and --deltatime exclude each "
						       "other");
	if (script->per_event_dump && !strcmp(script->input.path, "standard input"))
		return cli_usage_error(SCRIPT_COMMAND, "--per-event-dump names its files after "
						       "that of -i: name one");
	return 0;
}

static int print_samples(struct script *script)
{
	int status = cli_input_open(&script->input);
	bool threads;

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
	script->show_records = !script->json &&
			       (script->show_task || script->show_mmap || script->show_switch ||
				script->show_namespace || script->show_lost || script->show_round ||
				script->show_bpf || script->show_cgroup || script->show_text_poke);
	/* on a terminal, messages stay between the samples where they are without a thread */
	threads = !script->per_event_dump && !isatty(STDOUT_FILENO) && perch__has_several_cpus();
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

#define FLAG(letter, name, member, help)                                               \
	{                                                                              \
		letter, name, NULL, help, CLI_FLAG, &script.member, NULL, false, false \
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

int perch_cmd_script(int argc, char **argv)
{
	struct script script = { .input.command = SCRIPT_COMMAND,
				 .comm = { { .index = UINT32_MAX }, { .index = UINT32_MAX } } };
	bool all_cpus = false;
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&script.input),
		CLI_FILTER_OPTIONS(&script.filter, 'c', 0, 'C'),
		CLI_PARENT_OPTION(&script.filter, 0),
		CLI_FILTER_EXPRESSION_OPTION(&script.filter),
		{ 0, "addr-range", "BYTES", "addresses of -S are the starts of ranges of this size",
		  CLI_NUMBER, &script.filter.options.symbols_size, NULL, false, false },
		{ 'F', "fields", "[TYPE:]FIELDS",
		  "the fields to print: comm,ip,sym... or changes of the default: +srcline,-dso",
		  CLI_CALL, &script.fields, set_fields, false, false },
		FLAG('j', "json", json, "print JSON, one object per sample"),
		FLAG('G', "hide-call-graph", no_callchain, "print no call chains"),
		{ 0, "max-stack", "N", "print at most N functions of a call chain", CLI_POSITIVE,
		  &script.max_stack, NULL, false, false },
		{ 0, "max-blocks", "N", "print at most N blocks of code for brstackinsn",
		  CLI_NUMBER, &script.max_blocks, NULL, false, false },
		{ 0, "stop-bt", "SYMBOLS", "end call chains at these functions", CLI_STRING,
		  &script.stop_at, NULL, false, false },
		FLAG('L', "Latency", latency, "print short names of threads and CPUs"),
		FLAG(0, "ns", ns, "print times with nanoseconds"),
		FLAG(0, "reltime", reltime, "print times since the first sample"),
		FLAG(0, "deltatime", deltatime, "print times since the previous sample"),
		FLAG(0, "header", header, "print the header of the file, too"),
		FLAG(0, "header-only", header_only, "print only the header"),
		FLAG('I', "show-info", long_header,
		     "print the header with topology, caches and memory, too"),
		FLAG(0, "full-source-path", full_path, "print source files with directories"),
		FLAG(0, "show-task-events", show_task, "print COMM, FORK and EXIT records"),
		FLAG(0, "show-mmap-events", show_mmap, "print MMAP and MMAP2 records"),
		FLAG(0, "show-switch-events", show_switch, "print SWITCH records"),
		FLAG(0, "show-namespace-events", show_namespace, "print NAMESPACES records"),
		FLAG(0, "show-lost-events", show_lost, "print LOST records"),
		FLAG(0, "show-round-events", show_round, "print FINISHED_ROUND records"),
		FLAG(0, "show-bpf-events", show_bpf, "print KSYMBOL and BPF_EVENT records"),
		FLAG(0, "show-cgroup-events", show_cgroup, "print CGROUP records"),
		FLAG(0, "show-text-poke-events", show_text_poke,
		     "print TEXT_POKE and KSYMBOL records"),
		CLI_SWITCH_OPTIONS(&script.switching),
		CLI_UNSUPPORTED_OPTIONS(&script.unsupported),
		/* for programs that perf starts, of which perch has none */
		{ 'a', "all-cpus", NULL, "", CLI_FLAG, &all_cpus, NULL, false, true },
		FLAG(0, "per-event-dump", per_event_dump,
		     "write the samples of each event to FILE.EVENT.dump"),
		FLAG('D', "dump-raw-trace", dump, "print all records, as perch dump --time"),
		FLAG(0, "dump-unsorted-raw-trace", dump_unsorted,
		     "print all records in the order of the file, as perch dump"),
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &script.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&script.input),
		{ 0, "inline", NULL, "show inlined functions in call chains (default)", CLI_CALL,
		  &script, set_inline, false, false },
		CLI_INPUT_VERBOSE_OPTION(&script.input),
		CLI_NO_PAGER,
	};
	int next, status;

	script_fields_init(&script.fields);
	next = cli_parse(&cli_script_usage, options, CLI_NR(options), argc, argv);
	if (next < argc)
		return refuse_operand(argv[next]);
	if (script.dump || script.dump_unsorted)
		return dump(&script);
	status = print_samples(&script);
	clear_script(&script);
	return status;
}
