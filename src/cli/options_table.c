/* SPDX-License-Identifier: MIT */
/* What is read from a table of options: its rows with those of shared tables, the help, words. */
#include <assert.h>
#include <string.h>

#include "base/edit_distance.h"
#include "options.h"

static void put_row(struct cli_option *options, size_t *nr, const struct cli_option *row, size_t at)
{
	assert(*nr < CLI_MAX_OPTIONS);
	options[*nr] = *row;
	options[*nr].at += at;
	if (row->get_words)
		options[*nr].words = row->get_words();
	++*nr;
}

static void list_rows(const struct cli_option *table, size_t at, struct cli_option *options,
		      size_t *nr)
{
	for (const struct cli_option *row = table; row->letter || row->name || row->table; row++) {
		size_t first = *nr, nr_names = row->short_names ? strlen(row->short_names) : 0;

		if (!row->table) {
			put_row(options, nr, row, at);
			continue;
		}
		list_rows(row->table, at + row->at, options, nr);
		for (size_t i = 0; i < nr_names && first + i < *nr; i++)
			options[first + i].letter =
				row->short_names[i] == '-' ? 0 : row->short_names[i];
		if (row->help)
			options[first].help = row->help;
		if (row->set)
			options[first].set = row->set;
	}
}

size_t cli_options_list(const struct cli_option *table, struct cli_option options[CLI_MAX_OPTIONS])
{
	size_t nr = 0;

	list_rows(table, 0, options, &nr);
	return nr;
}

/* True if a word is the first one of its value: the others are its aliases. */
static bool is_listed(const struct cli_word *words, const struct cli_word *word)
{
	for (; words < word; words++)
		if (words->value == word->value)
			return false;
	return true;
}

void cli_options_put_words(const struct cli_word *words, bool mark, char *list, size_t size)
{
	const struct cli_word *last = words;
	size_t used = 0;

	for (const struct cli_word *word = words; word->name; word++)
		if (is_listed(words, word))
			last = word;
	for (const struct cli_word *word = words; word->name && used < size; word++)
		if (is_listed(words, word))
			used += (size_t)snprintf(list + used, size - used, "%s%s%s",
						 word == words	? ""
						 : word == last ? " or "
								: ", ",
						 word->name,
						 mark && !word->value ? " (default)" : "");
}

static int refuse_word(const char *command, const struct cli_option *option, const char *word)
{
	const char *similar = NULL;
	unsigned least = strlen(word) < 5 ? 2 : 3;
	char list[512], shown[3] = { '-', option->letter, 0 };

	for (const struct cli_word *listed = option->words; listed->name; listed++) {
		unsigned distance = perch__edit_distance(word, listed->name);

		if (distance < least) {
			least = distance;
			similar = listed->name;
		}
	}
	cli_options_put_words(option->words, false, list, sizeof(list));
	return cli_usage_error(command, "%s%s '%s': expected %s%s%s%s", option->name ? "--" : "",
			       option->name ? option->name : shown, word, list,
			       similar ? "; did you mean " : "", similar ? similar : "",
			       similar ? "?" : "");
}

int cli_options_find_words(const char *command, const struct cli_option *option, const char *text,
			   uint64_t *value)
{
	const char *list = text;

	for (*value = 0;; list++) {
		size_t length = option->kind == CLI_BITS ? strcspn(list, ",") : strlen(list);
		const struct cli_word *listed = option->words;
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)length, list);
		while (listed->name && strcmp(listed->name, word))
			listed++;
		if (!listed->name)
			return refuse_word(command, option, word);
		*value |= listed->value;
		list += length;
		if (!*list)
			return 0;
	}
}

/* Prints the name of an option, at most 30 columns wide or in a line of its own. */
static void put_name(const struct cli_option *option)
{
	char left[64];
	int used;

	if (option->letter)
		used = snprintf(left, sizeof(left), "  -%c%s", option->letter,
				option->name ? ", " : "");
	else
		used = snprintf(left, sizeof(left), "      ");
	if (option->name)
		used += snprintf(left + used, sizeof(left) - used, "--%s", option->name);
	if (option->argument)
		snprintf(left + used, sizeof(left) - used,
			 option->attached   ? "[=%s]"
			 : option->optional ? " [%s]"
					    : " %s",
			 option->argument);
	printf(strlen(left) > 30 ? "%s\n%32s" : "%-31s%s", left, strlen(left) > 30 ? "" : " ");
}

void cli_options_print_help(const struct cli_usage *usage, const struct cli_option *options,
			    size_t nr)
{
	printf("Usage: perch %s %s\n%s\n\n", usage->name, usage->operands, usage->summary);
	for (size_t i = 0; i < nr; i++) {
		char words[512] = "";

		if (options[i].hidden)
			continue;
		put_name(&options[i]);
		if (options[i].words && !options[i].open)
			cli_options_put_words(options[i].words, !options[i].not_negated, words,
					      sizeof(words));
		printf("%s%s%s\n", options[i].help, *words ? ": " : "", words);
	}
	printf("\nThe manual page is perch-%s(1).\n", usage->name);
}
