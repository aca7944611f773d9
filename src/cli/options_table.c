/* SPDX-License-Identifier: MIT */
/*
 * What is read from a table of options: its rows and those of shared tables, their names, the help,
 * words.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

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

/* The forms of a long name, in the order in which they are looked for. */
enum form {
	FORM_NAME,     /* --name */
	FORM_NEGATED,  /* --no-name */
	FORM_POSITIVE, /* --name of an option that is called no-name */
	FORM_TWICE,    /* --no-no-name */
	NR_FORMS,
};

bool cli_begins_with_no(const char *name)
{
	return !strncmp(name, "no-", 3);
}

/* Returns the rest of the option's name after a word of this form; NULL if it has another name. */
static const char *rest_of_name(const struct cli_option *option, enum form form, const char *word,
				size_t length)
{
	const char *name = option->name;

	if (!name || (form == FORM_POSITIVE && !cli_begins_with_no(name)))
		return NULL;
	if (form == FORM_POSITIVE)
		name += 3;
	for (int no = form == FORM_NEGATED ? 1 : form == FORM_TWICE ? 2 : 0; no; no--) {
		if (length < 4 || !cli_begins_with_no(word))
			return NULL;
		word += 3;
		length -= 3;
	}
	return strncmp(name, word, length) ? NULL : name + length;
}

const struct cli_option *cli_options_find_long(const struct cli_option *options, size_t nr,
					       const char *name, size_t length, bool *negated,
					       const struct cli_option **other)
{
	*other = NULL;
	for (int prefixes = 0; prefixes < 2; prefixes++)
		for (enum form form = 0; form < NR_FORMS; form++) {
			const struct cli_option *found = NULL;

			for (size_t i = 0; i < nr && !*other; i++) {
				const char *rest = rest_of_name(&options[i], form, name, length);

				if (!rest || (*rest && !prefixes))
					continue;
				if (found)
					*other = &options[i];
				else
					found = &options[i];
			}
			*negated = form == FORM_NEGATED || form == FORM_POSITIVE;
			if (found)
				return found;
		}
	return NULL;
}

const struct cli_option *cli_options_find_letter(const struct cli_option *options, size_t nr,
						 char letter)
{
	for (size_t i = 0; i < nr; i++)
		if (options[i].letter == letter)
			return &options[i];
	return NULL;
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
	unsigned least = !*word ? 0 : strlen(word) < 5 ? 2 : 3;
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

const struct cli_word *cli_word_find(const struct cli_word *words, const char *text, size_t length)
{
	for (; words->name; words++)
		if (strlen(words->name) == length && !strncasecmp(words->name, text, length))
			return words;
	return NULL;
}

int cli_options_find_words(const char *command, const struct cli_option *option, const char *text,
			   uint64_t *value)
{
	const char *list = text;

	for (*value = 0;; list++) {
		size_t length = option->kind == CLI_BITS ? strcspn(list, ",") : strlen(list);
		const struct cli_word *found = cli_word_find(option->words, list, length);
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)length, list);
		if (!found)
			return refuse_word(command, option, word);
		*value |= found->value;
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
	/* that of "stat report" is the page of stat */
	printf("\nThe manual page is perch-%.*s(1).\n", (int)strcspn(usage->name, " "),
	       usage->name);
}
