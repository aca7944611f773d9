/* SPDX-License-Identifier: MIT */
/*
 * Checks of a tracepoint's format before libtraceevent prints its samples.
 *
 * libtraceevent trusts formats: it reads at offsets and with lengths of the sample without checks,
 * divides by zero, and parses by recursion. What a format of this check makes it read is within
 * PERCH__RAW_SPACE bytes, whatever the sample has. It is not a parser: it looks at the tokens of
 * the print fmt, and refuses what it does not know to be harmless. The text for libtraceevent is
 * made of the fields as perch_tracepoint_format_parse() has read them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print_format.h"

#define MAX_PRINT_FORMAT 65536 /* bytes; the longest one of Linux has about 16 KiB */
#define MAX_DEPTH	 64    /* of parentheses */
#define MAX_OPERATORS	 1500  /* between commas: the library recurses for each */
#define MAX_CONVERSIONS	 128   /* in the format string */
#define MAX_ARRAYS	 8     /* that are printed */
#define MAX_INDEX	 255   /* of an array of at most MAX_FIELD_SIZE bytes */
#define MAX_LENGTH	 65535
#define MAX_FIELDS	 512
#define MAX_FIELD_SIZE	 8192
#define MAX_FIELD_END	 32768

enum kind { END, NAME, NUMBER, STRING, OPERATOR };

struct token {
	enum kind kind;
	const char *at;
	size_t length;
	unsigned long number;
};

struct scanner {
	const char *at;
	struct token token;
	const struct perch_tracepoint_format *format;
	unsigned operators, arrays, conversions;
};

static bool is(const struct scanner *scanner, const char *text)
{
	const struct token *token = &scanner->token;

	return token->length == strlen(text) && !memcmp(token->at, text, token->length);
}

/* Removes a token from the text. Returns false if it is a string without an end. */
static bool next(struct scanner *scanner)
{
	const char *at = scanner->at + strspn(scanner->at, " \t");

	scanner->token = (struct token){ .kind = END, .at = at };
	if (*at == '"' || *at == '\'') {
		char quote = *at++;

		scanner->token.kind = STRING;
		for (; *at && *at != quote; at++)
			if (*at == '\\' && !*++at)
				return false;
		if (!*at++)
			return false;
	} else if (isdigit((unsigned char)*at)) {
		scanner->token.kind = NUMBER;
		/* binary numbers depend on the C library's version: 0 is refused as a divisor */
		if (at[0] != '0' || (at[1] != 'b' && at[1] != 'B'))
			scanner->token.number = strtoul(at, NULL, 0);
		while (isalnum((unsigned char)*at))
			at++;
	} else if (isalpha((unsigned char)*at) || *at == '_') {
		scanner->token.kind = NAME;
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
	} else if (*at) {
		scanner->token.kind = OPERATOR;
		at++;
	}
	scanner->token.length = at - scanner->token.at;
	scanner->at = at;
	return true;
}

/* ---- strings ---- */

/* Skips up to two digits. */
static const char *skip_number(const char *at, const char *end)
{
	const char *last = at + 2;

	while (at < end && at < last && isdigit((unsigned char)*at))
		at++;
	return at;
}

/*
 * True for what prints little and reads no further than its argument. A width or precision of the
 * sample ('*') may be negative, which the library passes to printf(3) without it.
 */
static bool is_harmless_conversion(const char *at, const char *end)
{
	const char *flags = at;

	while (at < end && at < flags + 4 && strchr("-+ #0", *at))
		at++;
	at = skip_number(at, end);
	if (at < end && *at == '.')
		at = skip_number(at + 1, end);
	if (at < end && strchr("s%p", *at))
		return true;
	if (at + 1 < end && (!strncmp(at, "ll", 2) || !strncmp(at, "hh", 2)))
		at += 2;
	else if (at < end && strchr("lhzL", *at))
		at++;
	return at < end && *at && strchr("diuxXoc", *at);
}

static bool check_string(struct scanner *scanner)
{
	const char *at = scanner->token.at, *end = at + scanner->token.length;

	for (at++; at < end; at++) {
		if (*at != '%')
			continue;
		if (++scanner->conversions > MAX_CONVERSIONS ||
		    !is_harmless_conversion(at + 1, end))
			return false;
		if (at[1] == '%')
			at++;
	}
	return true;
}

/* ---- lengths ---- */

/* Returns the field that the token names, or NULL. */
static const struct perch_tracepoint_field *field_of(const struct scanner *scanner)
{
	char name[128];

	if (scanner->token.kind != NAME || scanner->token.length >= sizeof(name))
		return NULL;
	memcpy(name, scanner->token.at, scanner->token.length);
	name[scanner->token.length] = '\0';
	return perch_tracepoint_format_find(scanner->format, name);
}

/* Removes "->field" after "REC". Returns the field, or NULL if there is none. */
static const struct perch_tracepoint_field *take_field(struct scanner *scanner)
{
	if (!next(scanner) || !is(scanner, "-") || !next(scanner) || !is(scanner, ">") ||
	    !next(scanner))
		return NULL;
	return field_of(scanner);
}

/* Removes "(field)" after "__get_str" and similar words. */
static bool take_dynamic_field(struct scanner *scanner)
{
	const struct perch_tracepoint_field *field;

	if (!next(scanner) || !is(scanner, "(") || !next(scanner))
		return false;
	field = field_of(scanner);
	return field && next(scanner) && is(scanner, ")") &&
	       (field->location == PERCH_TRACEPOINT_DATA_LOC ||
		field->location == PERCH_TRACEPOINT_REL_LOC);
}

static bool begins(const struct scanner *scanner, const char *text)
{
	return scanner->token.length >= strlen(text) &&
	       !strncmp(scanner->token.at, text, strlen(text));
}

/* Checks a length of at most 64 KiB: a constant, a short field, or the length of an array in the
 * sample. */
static bool check_length(struct scanner *scanner)
{
	if (!next(scanner))
		return false;
	if (scanner->token.kind == NUMBER)
		return scanner->token.number <= MAX_LENGTH && next(scanner);
	if (is(scanner, "REC")) {
		const struct perch_tracepoint_field *field = take_field(scanner);

		return field && field->kind == PERCH_TRACEPOINT_NUMBER && field->size <= 2 &&
		       field->location == PERCH_TRACEPOINT_AT_OFFSET && !field->is_signed &&
		       next(scanner);
	}
	if (!is(scanner, "__get_dynamic_array_len") && !is(scanner, "__get_rel_dynamic_array_len"))
		return false;
	if (!take_dynamic_field(scanner) || !next(scanner))
		return false;
	if (!is(scanner, "/"))
		return true;
	return next(scanner) && scanner->token.kind == NUMBER && scanner->token.number &&
	       next(scanner);
}

/* Checks "(ARRAY, LENGTH)" or "(ARRAY, LENGTH, SIZE)", of which ARRAY is a field. */
static bool check_array(struct scanner *scanner)
{
	if (++scanner->arrays > MAX_ARRAYS || !next(scanner) || !is(scanner, "(") || !next(scanner))
		return false;
	if (is(scanner, "REC") ? !take_field(scanner)
			       : (!is(scanner, "__get_dynamic_array") &&
				  !is(scanner, "__get_rel_dynamic_array")) ||
					 !take_dynamic_field(scanner))
		return false;
	if (!next(scanner) || !is(scanner, ","))
		return false;
	if (!check_length(scanner))
		return false;
	if (is(scanner, ",")) {
		if (!next(scanner) || scanner->token.kind != NUMBER || !scanner->token.number ||
		    scanner->token.number > 8 || !next(scanner))
			return false;
	}
	return is(scanner, ")");
}

/* ---- the print fmt: arguments are expressions of C ---- */

#define CONDITION 16 /* the precedence of '?' */

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

	while (next(&ahead) &&
	       ((ahead.token.kind == NAME && !is(&ahead, "REC") && !begins(&ahead, "__print_") &&
		 !begins(&ahead, "__get_") && !is(&ahead, "sizeof")) ||
		(any && is(&ahead, "*"))))
		any = true;
	if (!any || !is(&ahead, ")"))
		return false;
	after = ahead;
	if (!next(&after) || (after.token.kind != NAME && after.token.kind != NUMBER &&
			      after.token.kind != STRING && !is(&after, "(")))
		return false;
	*scanner = ahead;
	return true;
}

/* "sizeof(struct name)" */
static bool take_sizeof(struct scanner *scanner)
{
	return next(scanner) && is(scanner, "(") && next(scanner) && scanner->token.kind == NAME &&
	       !is(scanner, "REC") && next(scanner) && is(scanner, ")");
}

static bool check_name(struct grammar *grammar)
{
	struct scanner *scanner = &grammar->scanner;
	bool flags = is(scanner, "__print_flags");

	bool constant = false;

	/* a pair has constants */
	for (unsigned i = 1; i <= grammar->depth; i++)
		constant |= grammar->frame[i].kind == PAIR;
	if (constant && (is(scanner, "REC") || begins(scanner, "__")))
		return false;
	if (flags || is(scanner, "__print_symbolic"))
		return next(scanner) && is(scanner, "(") &&
		       open_frame(grammar, flags ? FLAGS : SYMBOLS);
	if (!set_complete(grammar))
		return false;
	if (is(scanner, "REC"))
		return take_field(scanner);
	if (begins(scanner, "__print_hex") || is(scanner, "__print_array"))
		return check_array(scanner);
	if (begins(scanner, "__get_"))
		return take_dynamic_field(scanner);
	if (is(scanner, "sizeof"))
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
	if (pair && !next(scanner))
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
	return next(scanner) && scanner->token.kind == NUMBER && scanner->token.number &&
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
		return grammar->complete && !grammar->after_divisor && next(scanner) &&
		       scanner->token.kind == NUMBER && scanner->token.number <= MAX_INDEX &&
		       next(scanner) && is(scanner, "]");
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

static bool check_print_format(const struct perch_tracepoint_format *format)
{
	const char *text = perch_tracepoint_format_print_fmt(format);
	struct grammar grammar = { .scanner = { .at = text, .format = format }, .complete = true };
	struct scanner *scanner = &grammar.scanner;

	if (!text || strlen(text) > MAX_PRINT_FORMAT)
		return false;
	for (const char *at = text; *at; at++)
		if (!isprint((unsigned char)*at) && *at != '\t')
			return false;
	if (!next(scanner) || scanner->token.kind != STRING || *scanner->token.at != '"')
		return false;
	do
		if (!check_string(scanner) || !next(scanner))
			return false;
	while (scanner->token.kind == STRING && *scanner->token.at == '"');
	while (scanner->token.kind != END)
		if (!check_token(&grammar) || !next(scanner))
			return false;
	return !grammar.depth && end_argument(&grammar);
}

/* ---- signs ---- */

/* Finds which conversions of a string take an int, in the order of the arguments. */
static unsigned find_ints(const struct token *token, bool *is_int, unsigned nr)
{
	const char *end = token->at + token->length;

	for (const char *at = token->at; at < end && nr < MAX_CONVERSIONS; at++) {
		if (*at != '%')
			continue;
		if (at[1] == '%') {
			at++;
			continue;
		}
		at++;
		at += strspn(at, "-+ #0123456789.");
		is_int[nr++] = strchr("diuxXoc", *at);
	}
	return nr;
}

bool perch__print_format_loses_sign(const struct perch_tracepoint_format *format,
				    const struct perch_tracepoint_field *field)
{
	struct scanner scanner = { .at = perch_tracepoint_format_print_fmt(format),
				   .format = format };
	unsigned depth = 0, argument = 0, nr = 0, tokens = 0;
	bool is_int[MAX_CONVERSIONS + 1] = { 0 }, last = false;

	if (!field->is_signed || field->element_size == 8)
		return false;
	while (next(&scanner) && scanner.token.kind == STRING)
		nr = find_ints(&scanner.token, is_int, nr);
	for (; scanner.token.kind != END;
	     scanner.token.kind = next(&scanner) ? scanner.token.kind : END) {
		char sign = scanner.token.kind == OPERATOR ? *scanner.token.at : 0;

		if (last && !(sign == ',' && !depth)) /* the field is a part of the argument */
			return true;
		depth += sign == '(' || sign == '{';
		depth -= depth && (sign == ')' || sign == '}');
		if (sign == ',' && !depth) {
			argument += tokens > 0;
			tokens = 0;
			last = false;
			continue;
		}
		tokens++;
		if (!is(&scanner, "REC") || take_field(&scanner) != field)
			continue;
		last = tokens == 1 && argument < nr && is_int[argument] && field->size == 4 &&
		       field->kind == PERCH_TRACEPOINT_NUMBER;
		if (!last)
			return true;
	}
	return false;
}

/* ---- fields ---- */

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return length > 0 && length < 128 && !isdigit((unsigned char)text[0]);
}

/* "unsigned long", "struct page *", "u8[16]", "__data_loc char[]" */
static bool is_type(const char *text)
{
	const char *bracket = strchr(text, '[');
	size_t length = bracket ? (size_t)(bracket - text) : strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != ' ' &&
		    text[i] != '*')
			return false;
	if (!length || length > 128 || (!isalpha((unsigned char)text[0]) && text[0] != '_'))
		return false;
	if (!bracket)
		return true;
	/* the number of elements: the size in bytes is checked */
	bracket++;
	bracket += strspn(bracket, "0123456789");
	return !strcmp(bracket, "]");
}

static bool check_field(const struct perch_tracepoint_field *field)
{
	return is_name(field->name) && is_type(field->type) && field->size &&
	       field->size <= MAX_FIELD_SIZE && field->offset <= MAX_FIELD_END - field->size;
}

static void put_field(FILE *out, const struct perch_tracepoint_field *field)
{
	const char *bracket = strchr(field->type, '[');

	if (bracket && bracket[1] != ']')
		fprintf(out, "\tfield:%.*s %s%s;", (int)(bracket - field->type), field->type,
			field->name, bracket);
	else
		fprintf(out, "\tfield:%s %s;", field->type, field->name);
	fprintf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", field->offset, field->size,
		field->is_signed);
}

char *perch__print_format_text(const struct perch_tracepoint_format *format, const char *system,
			       bool *no_memory)
{
	const char *name = perch_tracepoint_format_name(format);
	const struct perch_tracepoint_field *fields, *type;
	size_t nr = perch_tracepoint_format_fields(format, &fields), size = 0;
	char *text = NULL;
	FILE *out;

	*no_memory = false;
	type = perch_tracepoint_format_find(format, "common_type");
	/* events of ftrace itself have functions of their own in the library */
	if (!name || !is_name(name) || !system || !is_name(system) || !strcmp(system, "ftrace") ||
	    nr > MAX_FIELDS || !type || type->offset || type->size != 2 ||
	    !check_print_format(format))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (!check_field(&fields[i]))
			return NULL;
	out = open_memstream(&text, &size);
	*no_memory = !out;
	if (!out)
		return NULL;
	fprintf(out, "name: %s\nID: %llu\nformat:\n", name,
		(unsigned long long)perch_tracepoint_format_id(format));
	for (size_t i = 0; i < nr; i++) {
		if (i && fields[i - 1].is_common && !fields[i].is_common)
			fputc('\n', out);
		put_field(out, &fields[i]);
	}
	fprintf(out, "\nprint fmt: %s\n", perch_tracepoint_format_print_fmt(format));
	*no_memory = ferror(out);
	if (fclose(out))
		*no_memory = true;
	if (!*no_memory)
		return text;
	free(text);
	return NULL;
}
