/* SPDX-License-Identifier: MIT */
/*
 * Options as perf parses them: prefixes of long names, --no- negates, --name of an option that is
 * called no-name, optional arguments.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit_distance.h"
#include "options.h"
#include "perf/perf_names.h"

struct parser {
	const struct cli_usage *usage;
	const struct cli_option *options;
	size_t nr;
	int argc;
	char **argv;
	int next; /* index of the next unread word */
	void *state;
};

__attribute__((noreturn)) static void print_help_and_exit(const struct parser *parser)
{
	cli_options_print_help(parser->usage, parser->options, parser->nr);
	exit(cli_check_stdout(parser->usage->name, 0));
}

__attribute__((noreturn, format(printf, 2, 3))) static void refuse(const struct parser *parser,
								   const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	exit(cli_usage_error(parser->usage->name, "%s", text));
}

bool cli_parse_number(const char *text, uint64_t *number)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	errno = 0;
	*number = strtoull(text, &end, hexadecimal ? 16 : 10);
	return isdigit((unsigned char)text[0]) && !*end && !errno;
}

bool cli_parse_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "", 1000000 },   { "ns", 1 },		{ "us", 1000 },
		{ "ms", 1000000 }, { "s", 1000000000 },
	};
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	for (size_t i = 0; i < CLI_NR(units) && !errno && isdigit((unsigned char)text[0]); i++)
		if (!strcmp(end, units[i].unit) && number <= 86400000000000 / units[i].ns) {
			*ns = number * units[i].ns;
			return true;
		}
	return false;
}

bool cli_take_id(const char **list, uint32_t *id)
{
	const char *at = *list;
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(at, &end, 10);
	if (errno || !isdigit((unsigned char)*at) || (*end && *end != ',') || number > INT32_MAX)
		return false;
	*id = (uint32_t)number;
	*list = *end ? end + 1 : NULL;
	return true;
}

static void set_number(const struct parser *parser, const struct cli_option *option,
		       const char *argument, uint64_t *value)
{
	uint64_t number;

	if (!cli_parse_number(argument, &number))
		refuse(parser, "--%s %s: expected a whole number (0 or more)", option->name,
		       argument);
	if (!number && option->positive)
		refuse(parser,
		       "--%s 0: expected a whole number from 1 on; without --%s there is no limit",
		       option->name, option->name);
	*value = number;
}

static double percent_of(const struct parser *parser, const char *argument)
{
	char *end;
	double percent = strtod(argument, &end);

	if (!isdigit((unsigned char)argument[argument[0] == '.']) || *end ||
	    !(percent >= 0 && percent <= 100))
		refuse(parser, "'%s' is not a percentage from 0 to 100", argument);
	return percent;
}

static void apply_option(const struct parser *parser, const struct cli_option *option,
			 const char *argument, bool negated)
{
	void *value = (char *)parser->state + option->at;
	struct cli_given given = {
		.command = parser->usage->name,
		.option = option,
		.state = value,
		.text = argument,
		.negated = negated,
	};

	if (option->refusal)
		refuse(parser, "%s", option->refusal);
	if (negated && option->not_negated)
		refuse(parser, "--%s cannot be negated%s", option->name,
		       option->kind == CLI_IGNORED ? ": perch always does this" : "");
	if (option->words && !option->open && argument &&
	    cli_options_find_words(given.command, option, argument, &given.value))
		exit(CLI_EXIT_USAGE);
	if (option->kind == CLI_PERCENT && argument)
		given.percent = percent_of(parser, argument);
	if (option->set) {
		if (option->set(&given))
			exit(CLI_EXIT_USAGE);
		return;
	}
	switch (option->kind) {
	case CLI_FLAG:
		*(bool *)value = option->words ? given.value != 0 : negated == option->inverted;
		break;
	case CLI_COUNT:
		*(int *)value = negated ? 0 : *(int *)value + 1;
		break;
	case CLI_STRING:
		*(const char **)value = argument;
		break;
	case CLI_NUMBER:
		if (negated)
			*(uint64_t *)value = 0;
		else
			set_number(parser, option, argument, value);
		break;
	case CLI_WORD:
		*(unsigned *)value = (unsigned)given.value;
		break;
	case CLI_BITS:
		*(uint64_t *)value = negated ? 0 : *(uint64_t *)value | given.value;
		break;
	case CLI_PERCENT:
		*(double *)value = given.percent;
		break;
	case CLI_IGNORED:
		if (argument)
			set_number(parser, option, argument, &given.value);
		break;
	}
}

/*
 * Returns the next word as argument; NULL if the argument is optional and the next word is an
 * option.
 */
static const char *argument_word(struct parser *parser, const struct cli_option *option,
				 const char *shown)
{
	bool has_next = parser->next < parser->argc;

	if (option->attached)
		return NULL;
	if (option->optional && (!has_next || parser->argv[parser->next][0] == '-'))
		return NULL;
	if (!has_next)
		refuse(parser, "option '%s' needs an argument: %s", shown, option->argument);
	return parser->argv[parser->next++];
}

/* Says what to do instead of an option of perf. */
__attribute__((noreturn)) static void refuse_without_similar(const struct parser *parser,
							     const char *option, size_t length)
{
	const char *hint = cli_perf_option(parser->usage->name, option, length);

	refuse(parser, "unknown option '%.*s'%s%s", (int)length, option, hint ? ": " : "",
	       hint ? hint : "");
}

static void parse_short_options(struct parser *parser, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct cli_option *option =
			cli_options_find_letter(parser->options, parser->nr, *letter);
		char shown[3] = { '-', *letter, 0 };

		if (!option && *letter == 'h')
			print_help_and_exit(parser);
		if (!option)
			refuse_without_similar(parser, shown, 2);
		if (!option->argument) {
			apply_option(parser, option, NULL, false);
			continue;
		}
		if (letter[1])
			apply_option(parser, option, letter + 1, false);
		else
			apply_option(parser, option, argument_word(parser, option, shown), false);
		return;
	}
}

/* Refuses --no-name or --name if perf has the other one, which the command does not have. */
static void refuse_opposite(const struct parser *parser, const char *name, size_t length)
{
	bool no = length > 3 && cli_begins_with_no(name);
	char other[64];

	snprintf(other, sizeof(other), "--%s%.*s", no ? "" : "no-", (int)length - (no ? 3 : 0),
		 name + (no ? 3 : 0));
	if (cli_perf_option(parser->usage->name, other, strlen(other)))
		refuse(parser, "unknown option '--%.*s': there is no %s, so omit the option",
		       (int)length, name, other);
}

/* Refuses a long option that does not exist, and suggests the most similar one. */
__attribute__((noreturn)) static void refuse_unknown(const struct parser *parser, const char *name,
						     size_t length)
{
	const char *no = length > 3 && cli_begins_with_no(name) ? "no-" : "";
	unsigned least = length < 5 ? 2 : 3;
	const char *found = NULL;
	char word[64];

	if (cli_perf_option(parser->usage->name, name - 2, length + 2))
		refuse_without_similar(parser, name - 2, length + 2);
	refuse_opposite(parser, name, length);
	snprintf(word, sizeof(word), "%.*s", (int)length - (int)strlen(no), name + strlen(no));
	for (size_t i = 0; i < parser->nr; i++) {
		const struct cli_option *option = &parser->options[i];
		unsigned distance;

		if (!option->name || option->hidden)
			continue;
		/* --freqency is similar to --freq */
		if (strlen(option->name) > 2 && !strncmp(word, option->name, strlen(option->name)))
			distance = 0;
		else
			distance = perch__edit_distance(word, option->name);
		if (distance >= least)
			continue;
		found = option->name;
		least = distance;
	}
	if (found)
		refuse(parser, "unknown option '--%.*s'. Did you mean --%s%s?", (int)length, name,
		       no, found);
	refuse_without_similar(parser, name - 2, length + 2);
}

static void parse_long(struct parser *parser, const char *word)
{
	const char *name = word + 2;
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct cli_option *option, *other = NULL;
	bool negated = false;

	if (length == 4 && !strncmp(name, "help", 4))
		print_help_and_exit(parser);
	option = length ? cli_options_find_long(parser->options, parser->nr, name, length, &negated,
						&other)
			: NULL;
	if (other)
		refuse(parser, "'--%.*s' is ambiguous: --%s or --%s", (int)length, name,
		       option->name, other->name);
	if (!option)
		refuse_unknown(parser, name, length);
	if (!option->argument || negated) {
		if (equals)
			refuse(parser, "option '--%.*s' takes no argument", (int)length, name);
		apply_option(parser, option, NULL, negated);
		return;
	}
	apply_option(parser, option, equals ? equals + 1 : argument_word(parser, option, word),
		     false);
}

static int parse_words(struct parser *parser)
{
	while (parser->next < parser->argc) {
		const char *word = parser->argv[parser->next];

		if (word[0] != '-' || !word[1])
			break;
		parser->next++;
		if (!strcmp(word, "--"))
			break;
		if (word[1] == '-')
			parse_long(parser, word);
		else
			parse_short_options(parser, word);
	}
	return parser->next;
}

int cli_options_parse(const struct cli_usage *usage, void *state, int argc, char **argv)
{
	struct cli_option options[CLI_MAX_OPTIONS];
	size_t nr = cli_options_list(usage->options, options);
	struct parser parser = { usage, options, nr, argc, argv, 1, state };

	return parse_words(&parser);
}

const char *cli_options_parse_operand(const struct cli_usage *usage, void *state, int argc,
				      char **argv, const char **operand)
{
	*operand = NULL;
	/* the parser takes argv[0] for the name of the command */
	for (int next; (next = cli_options_parse(usage, state, argc, argv)) < argc;
	     argc -= next, argv += next) {
		if (*operand)
			return argv[next];
		*operand = argv[next];
		if (!strcmp(argv[next - 1], "--"))
			return next + 1 < argc ? argv[next + 1] : NULL;
	}
	return NULL;
}

bool cli_list_has(const char *list, const char *text)
{
	size_t length = strlen(text);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == length && !strncmp(list, text, word))
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}
