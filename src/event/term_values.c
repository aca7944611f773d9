/* SPDX-License-Identifier: MIT */
/* The values of terms: names, numbers and keywords of a fixed set. */
#include <errno.h>
#include <string.h>

#include "terms.h"

struct keyword {
	const char *name;
	uint64_t bits;
};

/* clang-format off */
#define BRANCH(name, bit) { name, PERCH_SAMPLE_BRANCH_##bit }
/* clang-format on */

static const struct keyword branches[] = {
	BRANCH("u", USER),
	BRANCH("k", KERNEL),
	BRANCH("hv", HV),
	BRANCH("any", ANY),
	BRANCH("any_call", ANY_CALL),
	BRANCH("any_ret", ANY_RETURN),
	BRANCH("ind_call", IND_CALL),
	BRANCH("abort_tx", ABORT_TX),
	BRANCH("in_tx", IN_TX),
	BRANCH("no_tx", NO_TX),
	BRANCH("cond", COND),
	BRANCH("ind_jmp", IND_JUMP),
	BRANCH("call", CALL),
	BRANCH("no_flags", NO_FLAGS),
	BRANCH("no_cycles", NO_CYCLES),
	BRANCH("save_type", TYPE_SAVE),
	BRANCH("stack", CALL_STACK),
	BRANCH("hw_index", HW_INDEX),
	BRANCH("priv", PRIV_SAVE),
	BRANCH("counter", COUNTERS),
};

/* Bits of attr.aux_action. */
static const struct keyword actions[] = { { "start-paused", 1 }, { "pause", 2 }, { "resume", 4 } };

static const struct keyword call_graphs[] = {
	{ "fp", PERCH_CALL_GRAPH_FP },
	{ "dwarf", PERCH_CALL_GRAPH_DWARF },
	{ "lbr", PERCH_CALL_GRAPH_LBR },
	{ "no", PERCH_CALL_GRAPH_NONE },
};

static int report_keyword(struct perch__parser *parser, const struct keyword *keywords, size_t nr,
			  size_t at, size_t length, const char *what)
{
	char word[64];
	struct perch__suggestions suggestions = { .word = word };

	length = length < sizeof(word) ? length : sizeof(word) - 1;
	memcpy(word, parser->text + at, length);
	word[length] = '\0';
	perch__parse_error(parser, at, EINVAL, PERCH_ERROR_SYNTAX, "'%s' is not %s", word, what);
	for (size_t i = 0; i < nr; i++)
		perch__suggest(&suggestions, keywords[i].name);
	if (suggestions.nr || !parser->err)
		perch__suggestions_remedy(&suggestions, parser->err, "");
	else if (keywords == branches)
		perch_error_remedy(
			parser->err,
			"branch types are any, any_call, any_ret, ind_call, ind_jmp, call, cond, stack, "
			"abort_tx, in_tx, no_tx; with u, k, hv, no_flags, no_cycles, save_type, hw_index, "
			"priv, counter");
	else
		perch_error_remedy(parser->err, keywords == actions
							? "use start-paused, pause or resume"
							: "use fp, dwarf, lbr or no");
	return -EINVAL;
}

static const struct keyword *find_keyword(const struct keyword *keywords, size_t nr,
					  const char *text, size_t length)
{
	for (size_t i = 0; i < nr; i++)
		if (strlen(keywords[i].name) == length && !memcmp(keywords[i].name, text, length))
			return &keywords[i];
	return NULL;
}

/* Parses keywords separated by ',' or '|' and combines their bits. */
static int parse_keywords(struct perch__parser *parser, const struct perch__term *term,
			  const struct keyword *keywords, size_t nr, const char *what,
			  uint64_t *bits)
{
	size_t at = term->value_at, end = at + term->value_length;

	*bits = 0;
	while (true) {
		const struct keyword *keyword;
		size_t length = 0;

		while (at + length < end && parser->text[at + length] != ',' &&
		       parser->text[at + length] != '|')
			length++;
		keyword = find_keyword(keywords, nr, parser->text + at, length);
		if (!keyword)
			return report_keyword(parser, keywords, nr, at, length, what);
		*bits |= keyword->bits;
		at += length;
		if (at == end)
			return 0;
		at++;
	}
}

int perch__parse_branch_type(struct perch__parser *parser, const struct perch__term *term,
			     struct perch_event *event)
{
	uint64_t *bits = &event->terms.branch_sample_type;
	int rc = parse_keywords(parser, term, branches, PERCH__NR(branches), "a branch type", bits);

	/* the kernel requires a branch type in addition to the privilege levels */
	if (!rc && !(*bits & ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL))
		*bits |= PERCH_SAMPLE_BRANCH_ANY;
	return rc;
}

int perch__parse_aux_action(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event)
{
	uint64_t bits;
	int rc = parse_keywords(parser, term, actions, PERCH__NR(actions), "an AUX action", &bits);

	if (rc)
		return rc;
	if ((bits & 6) == 6)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_CONFLICT,
					  "pause and resume exclude each other");
	event->terms.aux_action = bits;
	return 0;
}

int perch__parse_call_graph(struct perch__parser *parser, const struct perch__term *term,
			    struct perch_event *event)
{
	const char *text = parser->text + term->value_at;
	size_t length = 0;
	const struct keyword *keyword;
	uint64_t bytes;

	while (length < term->value_length && text[length] != ',')
		length++;
	keyword = find_keyword(call_graphs, PERCH__NR(call_graphs), text, length);
	if (!keyword)
		return report_keyword(parser, call_graphs, PERCH__NR(call_graphs), term->value_at,
				      length, "a call graph mode");
	event->terms.call_graph = keyword->bits;
	if (length == term->value_length)
		return 0;
	if (keyword->bits != PERCH_CALL_GRAPH_DWARF)
		return perch__parse_error(parser, term->value_at + length, EINVAL,
					  PERCH_ERROR_SYNTAX,
					  "only dwarf can be followed by a stack size");
	length++;
	if (perch__parse_number(text + length, term->value_length - length, &bytes) || !bytes ||
	    bytes > 65528 || bytes % 8)
		return perch__parse_error(
			parser, term->value_at + length, EINVAL, PERCH_ERROR_SYNTAX,
			"the stack size must be a multiple of 8, from 8 to 65528");
	event->terms.stack_bytes = bytes;
	return 0;
}

void perch__term_name(const struct perch__parser *parser, const struct perch__term *term,
		      char name[PERCH__WORD_SIZE])
{
	/* perch__take_word() has checked the length */
	memcpy(name, parser->text + term->at, term->length);
	name[term->length] = '\0';
}

int perch__term_number(struct perch__parser *parser, const struct perch__term *term,
		       uint64_t *value)
{
	int shown = term->value_length < 64 ? (int)term->value_length : 64;
	const char *text = parser->text + term->value_at;
	int rc;

	*value = 1;
	rc = term->valued ? perch__parse_number(text, term->value_length, value) : 0;
	if (rc == -ERANGE)
		return perch__parse_error(
			parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
			"expected a number, found '%.*s', which has more than 64 bits", shown,
			text);
	if (rc)
		return perch__parse_error(parser, term->value_at, EINVAL, PERCH_ERROR_SYNTAX,
					  "expected a number, found '%.*s'", shown, text);
	return 0;
}

const struct perch__term *perch__find_term(const struct perch__parser *parser,
					   const struct perch__terms *terms, const char *name)
{
	for (size_t i = 0; i < terms->nr; i++) {
		const struct perch__term *term = &terms->term[i];

		if (term->valued && strlen(name) == term->length &&
		    !memcmp(parser->text + term->at, name, term->length))
			return term;
	}
	return NULL;
}
