/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "shared_options.h"
#include "tables.h"
#include "terminal/pager.h"

#define AT(member)   offsetof(struct tables, member)
#define SETS(member) CLI_SETS(struct tables, member)

const struct cli_option tables_options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'a', .name = "all-cpus", SETS(all_cpus),
		.help = "record everything on all CPUs"),
	CLI_ROW(.letter = 'p', .name = "pid", .argument = "IDS", SETS(pids),
		.help = "record these processes; of a file, only samples of these"),
	CLI_ROW(.name = "tid", .argument = "IDS", SETS(tids),
		.help = "record these threads; of a file, only samples of these"),
	CLI_ROW(.letter = 'C', .name = "cpu", .argument = "CPUS", SETS(cpus),
		.help = "record these CPUs; of a file, only samples on these (0,2-5)"),
	CLI_ROW(.name = "time", .argument = "TIMES", SETS(time),
		.help = "only samples in START,STOP or +1,+2 or 10%-20% or 10%/2"),
	CLI_ROW(.letter = 'F', .name = "field", .argument = "COLUMNS", SETS(fields),
		.help = "the columns to print, with commas"),
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON, one object per row"),
	CLI_ROW(.letter = 'x', .name = "field-separator", .argument = "TEXT", SETS(separator),
		.help = "print values with this text between them, times in ns"),
	CLI_ROW(.letter = 'q', .name = "quiet", SETS(quiet), .help = "print no notes"),
	CLI_ROW(.table = cli_kernel_options, .at = AT(input), .short_names = "-"),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

static bool is_live(const struct tables *tables, char **program)
{
	return (program && *program) || (tables->all_cpus && !tables->input.path) ||
	       ((tables->pids || tables->tids || tables->cpus) && !tables->input.path);
}

/* Returns 0 or the exit status. */
static int open_input(struct tables *tables, char **program)
{
	int status;

	if (program && *program && tables->input.path)
		return cli_usage_error(tables->input.command,
				       "-i names a recording; '%s' is too much", *program);
	if (is_live(tables, program)) {
		status = tables_record_live(tables, program);
		if (status)
			return status;
	} else {
		tables->filter.options.pids = tables->pids;
		tables->filter.options.tids = tables->tids;
		tables->filter.options.cpus = tables->cpus;
	}
	tables->filter.options.time = tables->time;
	status = cli_input_open(&tables->input);
	return status ? status : cli_filter_open(&tables->filter, &tables->input);
}

static int make_pairs(struct tables *tables)
{
	for (size_t i = 0; i < TABLES_PAIRS; i++) {
		struct perch_pairs_options options = { .keep_first = tables->keep_first[i] };

		if (perch_pairs_new(&tables->pairs[i], &options, NULL))
			return cli_no_memory(tables->input.command);
	}
	return 0;
}

static void note_lacking_events(const struct tables *tables)
{
	char list[200] = "";

	for (const struct tables_event *event = tables->events; event->name; event++)
		if (event->optional && !tables_has_event(tables, event->name))
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 *list ? ", " : "", event->name);
	if (*list)
		cli_note(tables->input.command, "%s has no %s: %s", tables->input.path, list,
			 tables->lacking);
}

static void print_notes(struct tables *tables)
{
	const char *command = tables->input.command;
	uint64_t open = 0, without_begin = 0, uncertain = tables->missing_ends, left_out = 0;

	if (tables->quiet)
		return;
	for (size_t i = 0; i < TABLES_PAIRS; i++) {
		struct perch_pairs_stats stats;

		perch_pairs_get_stats(tables->pairs[i], &stats);
		open += stats.open;
		without_begin += stats.without_begin;
		uncertain += stats.uncertain;
		left_out += stats.left_out;
	}
	cli_filter_print_notes(&tables->filter, &tables->input);
	cli_input_print_notes(&tables->input);
	if (tables->lacking)
		note_lacking_events(tables);
	if (tables->if_empty && !tables->table[0].nr)
		cli_note(command, "%s", tables->if_empty);
	if (uncertain && tables->command->uncertain)
		cli_note(command, "%" PRIu64 " %s", uncertain, tables->command->uncertain);
	else if (uncertain)
		cli_note(command,
			 "%" PRIu64 " %s in which events were lost may be wrong, and %s only in "
			 "the columns uncertain and uncertain_ns",
			 uncertain, cli_word(uncertain, "interval", "intervals"),
			 cli_word(uncertain, "is", "are"));
	if (left_out)
		cli_note(command, "%" PRIu64 " intervals are left out: too many at the same time",
			 left_out);
	if (tables->command->counts_missing)
		return;
	if (open)
		cli_note(command, "%" PRIu64 " %s not ended in the recording", open,
			 cli_word(open, "interval has", "intervals have"));
	if (without_begin)
		cli_note(command, "%" PRIu64 " %s begun before the recording", without_begin,
			 cli_word(without_begin, "interval had", "intervals had"));
}

static int show(struct tables *tables, char **program)
{
	int status = tables_check_columns(tables);

	if (!status)
		status = open_input(tables, program);
	if (!status)
		status = make_pairs(tables);
	if (!status && tables->lists)
		cli_start_pager();
	if (!status)
		status = tables_read(tables);
	if (!status) {
		cli_start_pager();
		status = tables_print(tables);
		print_notes(tables);
	}
	return status ? status : tables->recording.status;
}

static void clear(struct tables *tables)
{
	for (size_t i = 0; i < tables->nr_tables; i++)
		tables_clear(&tables->table[i]);
	for (size_t i = 0; i < TABLES_PAIRS; i++)
		perch_pairs_free(tables->pairs[i]);
	free(tables->format);
	free(tables->cpu_time);
	cli_filter_close(&tables->filter);
	if (tables->input.session)
		cli_input_close(&tables->input);
	tables_clear_variables(&tables->variables);
	cli_own_recording_remove(&tables->recording);
}

/* ---- subcommands ---- */

const struct cli_word *tables_column_words(const struct tables_column *const *tables)
{
	static struct cli_word words[TABLES_WORDS + 1];
	size_t nr = 0;

	for (; *tables; tables++)
		for (const struct tables_column *column = *tables; column->name; column++) {
			size_t i = 0;

			while (i < nr && strcmp(words[i].name, column->name) != 0)
				i++;
			if (i == nr && nr < TABLES_WORDS)
				words[nr++].name = column->name;
		}
	return words;
}

/* Stores "record, report or latency". */
static void put_words(const struct tables_command *command, char *list, size_t size)
{
	snprintf(list, size, "record");
	for (const struct tables_subcommand *own = command->subcommands; own->name; own++)
		snprintf(list + strlen(list), size - strlen(list), "%s%s",
			 own[1].name ? ", " : " or ", own->name);
}

static int refuse_word(const struct tables *tables, const char *word)
{
	const struct tables_command *command = tables->command;
	const char *name = command->usage->name;
	char list[200];

	if (word && command->refused && strstr(command->refused, word) && strlen(word) > 2)
		return cli_usage_error(name, "perch %s has no '%s': %s", name, word, command->hint);
	put_words(command, list, sizeof(list));
	if (!word)
		return cli_usage_error(name, "nothing to do: name one of %s", list);
	return cli_usage_error(name, "there is no '%s'; expected %s", word, list);
}

/* A wrong word was taken for a program. */
static void note_words(const struct tables_command *command, const char *word)
{
	char list[200];

	put_words(command, list, sizeof(list));
	cli_note(command->usage->name, "'%s' is none of its words (%s) either", word, list);
}

/* Without a word it is the one by default. */
static const struct tables_subcommand *find_subcommand(const struct tables_command *command,
						       const char *word)
{
	for (const struct tables_subcommand *own = command->subcommands; own->name; own++) {
		if (word ? cli_is_word(word, own->name) : own->by_default)
			return own;
	}
	return NULL;
}

int tables_run(struct tables *tables, const struct tables_command *command, int argc, char **argv)
{
	const struct tables_subcommand *own;
	int next, status;
	char *word;

	tables->command = command;
	tables->input.command = command->usage->name;
	tables->input.records = true;
	next = cli_options_parse(command->usage, tables, argc, argv);
	word = next < argc ? argv[next] : NULL;
	if (word && cli_is_word(word, "record"))
		return tables_record(tables, argc - next - 1, argv + next + 1);
	own = find_subcommand(command, word);
	if (!own && word) {
		/* the word is a program */
		own = find_subcommand(command, NULL);
		word = NULL;
	}
	if (!own)
		return refuse_word(tables, next < argc ? argv[next] : NULL);
	if (word) {
		argc -= next;
		argv += next;
		next = cli_options_parse(command->usage, tables, argc, argv);
	}
	status = own->choose(tables);
	if (!status)
		status = show(tables, argv + next);
	if (status == CLI_EXIT_NOT_FOUND && !word && next < argc)
		note_words(command, argv[next]);
	clear(tables);
	return status;
}
