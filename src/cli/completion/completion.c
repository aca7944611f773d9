/* SPDX-License-Identifier: MIT */
/*
 * perch help --complete: the scripts in completions/ ask it, so that each shell knows the commands,
 * options and words of the tables, and the events of this machine and of a recording.
 */
#include <string.h>
#include <perch/column.h>
#include <perch/file.h>
#include <perch/symbol.h>

#include "completion.h"
#include "config_file.h"
#include "list/list.h"
#include "program/seccomp_kill.h"
#include "recording_names.h"
#include "script/fields.h"

/* The word at the cursor. */
struct completion {
	const struct cli_usage *usage; /* of the command; NULL: the word is the command */
	const struct cli_subcommand *subcommands; /* NULL: none, or there is one already */
	const char *word;
	size_t fixed;	       /* length of its part that stays: "--name=", "-e", "one,two," */
	int skipped;	       /* words of perch itself before the command */
	const char *recording; /* of -i */
	size_t nr;	       /* of options */
	struct cli_option options[CLI_MAX_OPTIONS];
};

/* Prints a whole word, if the word at the cursor is the beginning of it. The scripts would take one
 * with a colon first, as a file may have it, for a request. */
static void put_word(const struct completion *completion, const char *word, const char *meaning)
{
	const char *typed = completion->word + completion->fixed;

	if (strncmp(word, typed, strlen(typed)) || *word == ':')
		return;
	printf("%.*s%s", (int)completion->fixed, completion->word, word);
	if (meaning && *meaning)
		printf("\t%s", meaning);
	putchar('\n');
}

/* ---- what arguments and operands are ---- */

static void put_request(const struct completion *completion, const char *request)
{
	printf(":%s %.*s\n", request, (int)completion->fixed, completion->word);
}

static void put_files(const struct completion *completion)
{
	put_request(completion, "files");
}

static void put_directories(const struct completion *completion)
{
	put_request(completion, "directories");
}

/* Events that do not work here, and forms of events with placeholders, are left out. */
static void put_events(const struct completion *completion)
{
	struct list list = { 0 };
	char name[512];

	if (perch_machine_new(&list.machine, NULL, cli_calls_that_survive(), NULL))
		return;
	if (!list_gather(&list, NULL))
		for (size_t i = 0; i < list.nr; i++) {
			const struct list_event *event = &list.event[i];

			if (event->form || event->state == LIST_NOT_SUPPORTED)
				continue;
			perch_clean_text(event->name, name, sizeof(name));
			put_word(completion, name, list_kinds[event->kind].label);
		}
	list_clear(&list);
	perch_machine_free(list.machine);
}

/* The events of the recording, which no pipe is read for. */
static void put_recorded_events(const struct completion *completion)
{
	const struct perch_file_event *events;
	struct perch_reader *reader;
	struct perch_error err;
	char name[512];
	size_t nr;

	if (!perch_is_recording(completion->recording) ||
	    perch_reader_open(&reader, completion->recording, PERCH_ORDER_FILE, &err))
		return;
	nr = perch_reader_events(reader, &events);
	for (size_t i = 0; i < nr; i++) {
		perch_clean_text(events[i].name, name, sizeof(name));
		put_word(completion, name, NULL);
	}
	perch_reader_close(reader);
}

static bool has_option(const struct completion *completion, const char *name)
{
	for (size_t i = 0; i < completion->nr; i++)
		if (completion->options[i].name && !strcmp(completion->options[i].name, name))
			return true;
	return false;
}

static void put_name(const char *name, void *context)
{
	put_word((const struct completion *)context, name, NULL);
}

/* Live commands have no recording. */
static void put_recorded_names(const struct completion *completion, const char *column)
{
	if (has_option(completion, "input"))
		cli_recording_names(completion->recording, column, put_name, (void *)completion);
}

static void put_functions(const struct completion *completion)
{
	put_recorded_names(completion, "sym");
}

static void put_threads(const struct completion *completion)
{
	put_recorded_names(completion, "comm");
}

static void put_dsos(const struct completion *completion)
{
	put_recorded_names(completion, "dso");
}

static void put_columns(const struct completion *completion)
{
	size_t nr;
	const struct perch_column *columns = perch_columns(&nr);

	if (completion->usage->columns) {
		for (const struct cli_word *word = completion->usage->columns(); word->name; word++)
			put_word(completion, word->name, NULL);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		put_word(completion, columns[i].name, columns[i].summary);
}

static void put_fields(const struct completion *completion)
{
	const struct script_field *field;

	for (size_t i = 0; (field = script_field_get(i)); i++)
		put_word(completion, field->name, NULL);
}

/* The words are those of the option. */
static void put_nothing(const struct completion *completion)
{
	(void)completion;
}

static void put_variables(const struct completion *completion)
{
	size_t nr;
	const struct cli_variable *variables = cli_variables(&nr);

	for (size_t i = 0; i < nr; i++)
		put_word(completion, variables[i].name, variables[i].summary);
}

/* What is wanted where a table has this name for an argument or an option, or a usage for an
 * operand. */
static const struct wanted {
	const char *name;
	void (*put)(const struct completion *completion);
	bool list; /* of words with commas */
} wanted[] = {
	{ "FILE", put_files, false },
	{ "FILES", put_files, true },
	{ "ARCHIVE", put_files, false },
	{ "OLD", put_files, false },
	{ "DIR", put_directories, false },
	{ "EVENTS", put_events, true },
	{ "EVENT", put_recorded_events, false },
	{ "COLUMNS", put_columns, true },
	{ "KEYS", put_nothing, true },
	{ "[TYPE:]FIELDS", put_fields, true },
	{ "symbols", put_functions, true },
	{ "comms", put_threads, true },
	{ "dsos", put_dsos, true },
	{ "[SYMBOL]", put_functions, false },
	{ "[FILE]", put_files, false },
	{ "[FILE...]", put_files, false },
	{ "[WORD...]", put_events, false },
	{ "[SECTION.NAME[=VALUE]...]", put_variables, false },
};

/* Counts the words of a list before the last comma to the part that stays. */
static void keep_list(struct completion *completion)
{
	const char *comma = strrchr(completion->word + completion->fixed, ',');

	if (comma)
		completion->fixed = comma + 1 - completion->word;
}

/* True if the name, of this length, is that of a row of `wanted`, and so is printed. */
static bool put_wanted(struct completion *completion, const char *name, size_t length)
{
	for (size_t i = 0; i < CLI_NR(wanted); i++) {
		if (strlen(wanted[i].name) != length || strncmp(wanted[i].name, name, length))
			continue;
		if (wanted[i].list)
			keep_list(completion);
		wanted[i].put(completion);
		return true;
	}
	return false;
}

static void put_argument(struct completion *completion, const struct cli_option *option)
{
	if (!option->name || !put_wanted(completion, option->name, strlen(option->name)))
		put_wanted(completion, option->argument, strlen(option->argument));
	if (!option->words)
		return;
	if (option->kind == CLI_BITS)
		keep_list(completion);
	for (const struct cli_word *word = option->words; word->name; word++)
		put_word(completion, word->name, NULL);
}

static void put_operand(struct completion *completion)
{
	const char *name = completion->usage->operands;

	while (*name) {
		size_t length = strcspn(name, " ");

		if (put_wanted(completion, name, length))
			return;
		name += length + strspn(name + length, " ");
	}
}

/* ---- options ---- */

/* An option that is not in the help is offered when it is there as a whole. */
static void put_options(const struct completion *completion)
{
	bool short_names = !strcmp(completion->word, "-");
	bool opposites = !strncmp(completion->word, "--", 2) && completion->word[2];

	for (size_t i = 0; i < completion->nr; i++) {
		const struct cli_option *option = &completion->options[i];
		bool no = option->name && cli_begins_with_no(option->name);
		char word[64];

		if (option->refusal)
			continue;
		snprintf(word, sizeof(word), "-%c", option->letter);
		if (option->letter &&
		    (short_names ? !option->hidden : !strcmp(word, completion->word)))
			put_word(completion, word, option->help);
		if (!option->name)
			continue;
		snprintf(word, sizeof(word), "--%s", option->name);
		if (option->hidden && strcmp(word, completion->word))
			continue;
		put_word(completion, word, option->help);
		snprintf(word, sizeof(word), "--%s%s", no ? "" : "no-",
			 option->name + (no ? 3 : 0));
		if (opposites && !option->not_negated)
			put_word(completion, word, NULL);
	}
	put_word(completion, "--help", "print the options");
}

/*
 * Returns the option of a word whose argument is the next word, or NULL. If the argument is a part
 * of the word itself, *begin is where it begins, else 0.
 */
static const struct cli_option *option_of(const struct completion *completion, const char *word,
					  size_t *begin)
{
	const struct cli_option *option = NULL, *other = NULL;
	bool negated;

	*begin = 0;
	if (word[1] == '-') {
		size_t length = strcspn(word + 2, "=");

		option = cli_options_find_long(completion->options, completion->nr, word + 2,
					       length, &negated, &other);
		if (!option || other || negated || !option->argument)
			return NULL;
		*begin = word[2 + length] ? length + 3 : 0;
		return option;
	}
	for (size_t i = 1; word[i]; i++) {
		option = cli_options_find_letter(completion->options, completion->nr, word[i]);
		if (!option)
			return NULL;
		if (!option->argument)
			continue;
		*begin = word[i + 1] ? i + 1 : 0;
		return option;
	}
	return NULL;
}

static void put_program(const struct completion *completion, int word)
{
	printf(":program %d\n", completion->skipped + word + 1);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/* ---- subcommands ---- */

static void set_usage(struct completion *completion, const struct cli_usage *usage)
{
	completion->usage = usage;
	completion->subcommands = usage->subcommands;
	completion->nr = cli_options_list(usage->options, completion->options);
}

/* Returns true if the word is a subcommand, whose options follow. */
static bool enter_subcommand(struct completion *completion, const char *word)
{
	const struct cli_subcommand *found = completion->subcommands;

	while (found && found->name && strcmp(found->name, word) != 0)
		found++;
	if (!found || !found->name)
		return false;
	if (found->usage)
		set_usage(completion, found->usage);
	completion->subcommands = NULL;
	return true;
}

/* Returns true if there must be one: the usage has no [ before it. */
static bool put_subcommands(const struct completion *completion)
{
	const struct cli_subcommand *own = completion->subcommands;
	const char *first = own ? strstr(completion->usage->operands, own->name) : NULL;

	for (; own && own->name; own++)
		put_word(completion, own->name, NULL);
	return first && (first == completion->usage->operands || first[-1] != '[');
}

static bool runs_program(const struct completion *completion)
{
	return strstr(completion->usage->operands, "PROGRAM");
}

/* Prints what the last word of a command can be. words[0] is the command. */
static void complete_command(struct completion *completion, int nr, char **words)
{
	const struct cli_option *option;
	bool no_more = false;
	size_t begin;

	for (int i = 1; i < nr - 1; i++) {
		no_more |= !strcmp(words[i], "--");
		if (!no_more && enter_subcommand(completion, words[i]))
			continue;
		if (runs_program(completion) && (no_more || !is_option(words[i]))) {
			put_program(completion, i + no_more);
			return;
		}
		option = no_more || !is_option(words[i]) ? NULL
							 : option_of(completion, words[i], &begin);
		if (option && option->name && !strcmp(option->name, "input"))
			completion->recording = begin ? words[i] + begin : words[i + 1];
		if (!option || begin || option->attached ||
		    (option->optional && words[i + 1][0] == '-'))
			continue;
		if (i + 1 == nr - 1) {
			put_argument(completion, option);
			return;
		}
		i++;
	}
	if (no_more || completion->word[0] != '-') {
		if (!no_more && put_subcommands(completion))
			return;
		if (runs_program(completion))
			put_program(completion, nr - 1);
		else
			put_operand(completion);
		return;
	}
	option = is_option(completion->word) ? option_of(completion, completion->word, &begin)
					     : NULL;
	if (!option || !begin) {
		put_options(completion);
		return;
	}
	completion->fixed = begin;
	put_argument(completion, option);
}

int cli_complete(const struct cli_usage *const *commands, size_t nr, int nr_words, char **words)
{
	static const char cache[] = "--buildid-dir";
	struct completion completion = { .recording = "perf.data" };

	/* the options of all commands */
	while (nr_words > 1 && words[0][0] == '-') {
		int used = strcmp(words[0], cache) ? 1 : 2;

		nr_words -= used, words += used;
		completion.skipped += used;
	}
	if (nr_words < 1)
		return 0;
	completion.word = words[nr_words - 1];
	for (size_t i = 0; i < nr; i++) {
		bool helped = nr_words == 3 && !strcmp(words[0], "help") &&
			      !strcmp(words[1], commands[i]->name);

		if (helped) {
			completion.subcommands = commands[i]->subcommands;
			completion.usage = commands[i];
			put_subcommands(&completion);
			return 0;
		}
		if (nr_words == 1 || (nr_words == 2 && !strcmp(words[0], "help")))
			put_word(&completion, commands[i]->name, commands[i]->summary);
		else if (!strcmp(words[0], commands[i]->name) && commands[i]->options)
			completion.usage = commands[i];
	}
	if (!completion.usage)
		return 0;
	set_usage(&completion, completion.usage);
	complete_command(&completion, nr_words, words);
	return 0;
}
