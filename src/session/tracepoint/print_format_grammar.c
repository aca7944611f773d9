/* SPDX-License-Identifier: MIT */
/* Checks a print fmt: its arguments are expressions of C. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "print_format_scan.h"

#define MAX_PRINT_FORMAT 65536 /* bytes; the longest one of Linux has about 16 KiB */
#define MAX_DEPTH	 64    /* of parentheses */
#define MAX_OPERATORS	 1500  /* between commas: the library recurses for each */
#define MAX_INDEX	 255   /* of an array of at most MAX_FIELD_SIZE bytes */

#define CONDITION	 16 /* the precedence of '?' */

enum frame_kind { ARGUMENTS, GROUP, FLAGS, SYMBOLS, PAIR };

/* What is open: the arguments of the format string, or a parenthesis. */
struct frame {
	enum frame_kind kind;
	unsigned argument;  /* number of commas */
	unsigned questions; /* 1: a '?' waits for its ':' */
	bool plain;	    /* the argument is one string */
	bool pair;	    /* the argument is a pair in braces */
	bool after_colon;   /* the argument ends with the operand after '?' and ':' */
	/* precedences of binary operators, 0: none */
	unsigned before;  /* of the one before the parenthesis */
	unsigned highest; /* in the parenthesis, or in the one that is all of it */
	unsigned last;	  /* of the last one in the argument */
	unsigned outer;	  /* of the last one whose right operand has operators */
	bool last_associative, outer_associative;
	/* of scanner.operators: at the parenthesis, and the highest after an argument */
	unsigned operators_before, most_operators;
};

struct grammar {
	struct scanner scanner;
	struct frame frame[MAX_DEPTH];
	unsigned depth;
	bool complete; /* an operand was read: an operator, a comma or the end follows */
	bool divisor, after_divisor;   /* the token, and the one before, is a divisor */
	unsigned binary, after_binary; /* the precedence if these are binary operators */
};

static bool open_frame(struct grammar *grammar, enum frame_kind kind)
{
	if (grammar->complete || grammar->depth + 1 >= MAX_DEPTH)
		return false;
	grammar->frame[++grammar->depth] = (struct frame){
		.kind = kind,
		.before = kind == GROUP ? grammar->after_binary : 0,
		.operators_before = grammar->scanner.operators,
	};
	return true;
}

/* Checks the argument that ends: the kinds of arguments that the functions of the kernel have. */
static bool end_argument(const struct grammar *grammar)
{
	const struct frame *frame = &grammar->frame[grammar->depth];

	if (!grammar->complete || frame->questions)
		return false;
	switch (frame->kind) {
	case FLAGS:
		return frame->argument == 1 ? frame->plain : frame->pair == (frame->argument > 1);
	case SYMBOLS:
		return frame->pair == (frame->argument > 0);
	case PAIR:
		/* a list may end with { 0, ((void *)0) } */
		return frame->argument < 2 && (frame->argument == 1 || !frame->plain);
	default:
		return !frame->pair;
	}
}

static bool close_frame(struct grammar *grammar, bool brace)
{
	const struct frame *frame = &grammar->frame[grammar->depth];
	struct frame *outside = &grammar->frame[grammar->depth - !!grammar->depth];
	static const unsigned least[] = { [GROUP] = 0, [FLAGS] = 2, [SYMBOLS] = 1, [PAIR] = 1 };

	if (!grammar->depth || !end_argument(grammar) || brace != (frame->kind == PAIR) ||
	    frame->argument < least[frame->kind])
		return false;
	if (frame->kind == GROUP && frame->before && frame->highest > frame->before)
		return false;
	if (frame->kind == GROUP && !outside->highest)
		outside->highest = frame->highest;
	if (frame->most_operators > grammar->scanner.operators)
		grammar->scanner.operators = frame->most_operators;
	grammar->depth--;
	outside->plain = false;
	outside->pair = brace;
	return true;
}

/* An operand was read. */
static bool set_complete(struct grammar *grammar)
{
	if (grammar->complete)
		return false;
	grammar->frame[grammar->depth].plain = false;
	return grammar->complete = true;
}

/*
 * After '(': removes a cast, "unsigned long)". Returns false, and removes nothing, if it is
 * something else. What a cast is for must follow: "(X) - 1" may be a cast or not.
 */
static bool take_cast(struct scanner *scanner)
{
	struct scanner ahead = *scanner, after;
	bool any = false;

	while (perch__fmt_next(&ahead) &&
	       ((ahead.token.kind == NAME && !perch__fmt_is(&ahead, "REC") &&
		 !perch__fmt_begins(&ahead, "__print_") && !perch__fmt_begins(&ahead, "__get_") &&
		 !perch__fmt_is(&ahead, "sizeof")) ||
		(any && perch__fmt_is(&ahead, "*"))))
		any = true;
	if (!any || !perch__fmt_is(&ahead, ")"))
		return false;
	after = ahead;
	if (!perch__fmt_next(&after) || (after.token.kind != NAME && after.token.kind != NUMBER &&
					 after.token.kind != STRING && !perch__fmt_is(&after, "(")))
		return false;
	*scanner = ahead;
	return true;
}

/* "sizeof(struct name)" */
static bool take_sizeof(struct scanner *scanner)
{
	return perch__fmt_next(scanner) && perch__fmt_is(scanner, "(") &&
	       perch__fmt_next(scanner) && scanner->token.kind == NAME &&
	       !perch__fmt_is(scanner, "REC") && perch__fmt_next(scanner) &&
	       perch__fmt_is(scanner, ")");
}

static bool check_name(struct grammar *grammar)
{
	struct scanner *scanner = &grammar->scanner;
	bool flags = perch__fmt_is(scanner, "__print_flags");

	bool constant = false;

	/* a pair has constants */
	for (unsigned i = 1; i <= grammar->depth; i++)
		constant |= grammar->frame[i].kind == PAIR;
	if (constant && (perch__fmt_is(scanner, "REC") || perch__fmt_begins(scanner, "__")))
		return false;
	if (flags || perch__fmt_is(scanner, "__print_symbolic"))
		return perch__fmt_next(scanner) && perch__fmt_is(scanner, "(") &&
		       open_frame(grammar, flags ? FLAGS : SYMBOLS);
	if (!set_complete(grammar))
		return false;
	if (perch__fmt_is(scanner, "REC"))
		return perch__fmt_take_field(scanner);
	if (perch__fmt_begins(scanner, "__print_hex") || perch__fmt_is(scanner, "__print_array"))
		return perch__fmt_check_array(scanner);
	if (perch__fmt_begins(scanner, "__get_"))
		return perch__fmt_take_dynamic_field(scanner);
	if (perch__fmt_is(scanner, "sizeof"))
		return take_sizeof(scanner);
	/* the name of a constant; functions are not known */
	return scanner->at[strspn(scanner->at, " \t")] != '(';
}

/* The library's numbers: a lower one binds its operands first. */
static unsigned precedence_of(char sign, bool pair)
{
	switch (sign) {
	case '*':
	case '/':
	case '%':
		return 6;
	case '+':
	case '-':
		return 7;
	case '<':
	case '>':
		return pair ? 8 : 9;
	case '&':
		return pair ? 14 : 11;
	case '^':
		return 12;
	case '|':
		return pair ? 15 : 13;
	default:
		return 10;
	}
}

/*
 * Returns true if the library gives a binary operator the operands that C gives it. The library
 * compares an operator only with the one before it: "a - b - c" becomes "a - (b - c)", and
 * "a / 2 / 3" divides by 0. Of "a * (b - c)" it moves the parenthesis, and of "a ? b : c + d" the
 * sum is of all before.
 */
static bool add_binary(struct frame *frame, char sign, bool pair)
{
	unsigned precedence = precedence_of(sign, pair);
	/* "a + (b - c)" is "a + b - c" */
	bool associative = sign == '+' || sign == '&' || sign == '|' || sign == '^';

	if (frame->after_colon)
		return false;
	if (frame->last && precedence <= frame->last) {
		if (precedence == frame->last && !frame->last_associative)
			return false;
		frame->outer = frame->last;
		frame->outer_associative = frame->last_associative;
	} else if (frame->outer && (precedence > frame->outer ||
				    (precedence == frame->outer && !frame->outer_associative))) {
		return false;
	}
	if (!frame->last || precedence > frame->highest)
		frame->highest = precedence;
	frame->last = precedence;
	frame->last_associative = associative;
	return true;
}

/* Operators between two operands; those of two characters are one. */
static bool check_binary(struct grammar *grammar)
{
	static const char *const pairs[] = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||" };
	struct scanner *scanner = &grammar->scanner;
	char first = *scanner->token.at, second = *scanner->at;
	bool pair = false;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		pair |= pairs[i][0] == first && pairs[i][1] == second;
	if (pair && !perch__fmt_next(scanner))
		return false;
	if (!pair && !strchr("+-*/%<>&|^", first))
		return false;
	if (second == '=')
		pair = false;
	if (!add_binary(&grammar->frame[grammar->depth], first, pair))
		return false;
	grammar->binary = precedence_of(first, pair);
	grammar->complete = false;
	if (pair || (first != '/' && first != '%'))
		return true;
	/* a divisor that is not 0 */
	grammar->divisor = true;
	return perch__fmt_next(scanner) && scanner->token.kind == NUMBER && scanner->token.number &&
	       set_complete(grammar);
}

/* Begins the part of "a ? b : c" after '?' or ':'. */
static bool check_condition(struct grammar *grammar, bool colon)
{
	struct frame *frame = &grammar->frame[grammar->depth];

	if (!grammar->complete || colon != (frame->questions > 0) ||
	    (!colon && (frame->after_colon || frame->outer)))
		return false;
	frame->questions = !colon;
	frame->highest = CONDITION;
	frame->after_colon = colon;
	frame->last = frame->outer = 0;
	grammar->complete = false;
	return true;
}

static bool check_comma(struct grammar *grammar)
{
	struct frame *frame = &grammar->frame[grammar->depth];
	struct scanner *scanner = &grammar->scanner;

	if (frame->kind == GROUP || !end_argument(grammar))
		return false;
	frame->argument++;
	frame->plain = frame->pair = frame->after_colon = false;
	frame->last = frame->outer = frame->highest = 0;
	grammar->complete = false;
	/* an argument may be below the operators before the parenthesis */
	if (scanner->operators > frame->most_operators)
		frame->most_operators = scanner->operators;
	scanner->operators = frame->operators_before;
	return true;
}

static bool check_operator(struct grammar *grammar)
{
	struct scanner *scanner = &grammar->scanner;
	struct frame *frame = &grammar->frame[grammar->depth];

	if (++scanner->operators > MAX_OPERATORS)
		return false;
	if (!strchr(",)}", *scanner->token.at))
		frame->plain = false;
	switch (*scanner->token.at) {
	case '(':
		if (!grammar->complete && take_cast(scanner))
			return true;
		return open_frame(grammar, GROUP);
	case '{':
		return (frame->kind == FLAGS || frame->kind == SYMBOLS) &&
		       open_frame(grammar, PAIR);
	case ')':
	case '}':
		return close_frame(grammar, *scanner->token.at == '}');
	case ',':
		return check_comma(grammar);
	case '[':
		return grammar->complete && !grammar->after_divisor && perch__fmt_next(scanner) &&
		       scanner->token.kind == NUMBER && scanner->token.number <= MAX_INDEX &&
		       perch__fmt_next(scanner) && perch__fmt_is(scanner, "]");
	case '?':
	case ':':
		return check_condition(grammar, *scanner->token.at == ':');
	case '-':
		/* a sign: the library takes "2 * -a" for a difference */
		if (!grammar->complete)
			return grammar->after_binary != precedence_of('*', false);
		return check_binary(grammar);
	default:
		/* without an operand before it: a sign */
		return grammar->complete ? check_binary(grammar)
					 : strchr("!~", *scanner->token.at) != NULL;
	}
}

static bool check_token(struct grammar *grammar)
{
	struct frame *frame = &grammar->frame[grammar->depth];

	grammar->after_divisor = grammar->divisor;
	grammar->after_binary = grammar->binary;
	grammar->divisor = false;
	grammar->binary = 0;
	switch (grammar->scanner.token.kind) {
	case STRING:
		if (*grammar->scanner.token.at != '"')
			return grammar->scanner.token.length == 3 && set_complete(grammar);
		/* adjacent strings are one */
		if (!frame->plain && !set_complete(grammar))
			return false;
		return frame->plain = true;
	case OPERATOR:
		return check_operator(grammar);
	case NAME:
		return check_name(grammar);
	default:
		return set_complete(grammar);
	}
}

bool perch__fmt_is_harmless(const struct perch_tracepoint_format *format)
{
	const char *text = perch_tracepoint_format_print_fmt(format);
	struct grammar grammar = { .scanner = { .at = text, .format = format }, .complete = true };
	struct scanner *scanner = &grammar.scanner;

	if (!text || strlen(text) > MAX_PRINT_FORMAT)
		return false;
	for (const char *at = text; *at; at++)
		if (!isprint((unsigned char)*at) && *at != '\t')
			return false;
	if (!perch__fmt_next(scanner) || scanner->token.kind != STRING || *scanner->token.at != '"')
		return false;
	do
		if (!perch__fmt_check_string(scanner) || !perch__fmt_next(scanner))
			return false;
	while (scanner->token.kind == STRING && *scanner->token.at == '"');
	while (scanner->token.kind != END)
		if (!check_token(&grammar) || !perch__fmt_next(scanner))
			return false;
	return !grammar.depth && end_argument(&grammar);
}
