/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints: mem:ADDRESS[/LENGTH][:rwx]. A slash before a digit begins the length, another slash
 * begins terms. A word after the colon is the access if it begins with r, w or x; otherwise the
 * word has modifiers. A word after a second colon always has modifiers. The kernel refuses wrong
 * breakpoints with EINVAL only, so they are checked here.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "internal.h"

#if defined(__x86_64__) || defined(__i386__)
#define X86 1
#else
#define X86 0
#endif

/* The length of an execute breakpoint; x86 expects the size of a long. */
#if defined(__aarch64__) || defined(__arm__)
#define CODE_LENGTH 4
#else
#define CODE_LENGTH sizeof(long)
#endif

#define DATA_LENGTH 4 /* as in perf */

struct breakpoint {
	uint64_t address, length;
	unsigned access; /* PERCH_BREAKPOINT_* */
	bool sized;	 /* the text has a length */
	size_t at_address, at_length, at_access;
};

static int parse_access(struct perch__parser *parser, struct breakpoint *breakpoint, size_t *end)
{
	const char *text = parser->text;
	size_t at = *end + 1;

	breakpoint->access = PERCH_BREAKPOINT_RW;
	if (text[*end] != ':' || !text[at] || !strchr("rwx", text[at]))
		return 0;
	breakpoint->at_access = at;
	breakpoint->access = 0;
	for (; isalnum((unsigned char)text[at]); at++) {
		unsigned bit = text[at] == 'r'	 ? PERCH_BREAKPOINT_R
			       : text[at] == 'w' ? PERCH_BREAKPOINT_W
			       : text[at] == 'x' ? PERCH_BREAKPOINT_X
						 : 0;

		if (!bit || breakpoint->access & bit) {
			perch__parse_error(parser, at, EINVAL, PERCH_ERROR_SYNTAX,
					   "'%c' %s the access of a breakpoint", text[at],
					   bit ? "is twice in" : "is invalid in");
			perch_error_remedy(
				parser->err,
				"the access is w, rw or x; modifiers follow another colon, as in mem:0x1000:rw:u");
			return -EINVAL;
		}
		breakpoint->access |= bit;
	}
	*end = at;
	return 0;
}

static int check_access(struct perch__parser *parser, const struct breakpoint *breakpoint)
{
	if (breakpoint->access & PERCH_BREAKPOINT_X && breakpoint->access != PERCH_BREAKPOINT_X) {
		perch__parse_error(parser, breakpoint->at_access, EINVAL, PERCH_ERROR_CONFLICT,
				   "a breakpoint has either access x or accesses r and w");
		perch_error_field(parser->err, "bp_type", NULL);
		perch_error_remedy(parser->err, "use two events");
		return -EINVAL;
	}
	if (X86 && breakpoint->access == PERCH_BREAKPOINT_R) {
		perch__parse_error(parser, breakpoint->at_access, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
				   "x86 has no breakpoints on reads without writes");
		perch_error_field(parser->err, "bp_type", NULL);
		perch_error_remedy(parser->err,
				   "use rw, and a second event with w to count the writes");
		return -EINVAL;
	}
	return 0;
}

static int refuse_length(struct perch__parser *parser, const struct breakpoint *breakpoint,
			 const char *what, const char *remedy)
{
	perch__parse_error(parser, breakpoint->at_length, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "%s (given %llu)", what, (unsigned long long)breakpoint->length);
	perch_error_field(parser->err, "bp_len", NULL);
	perch_error_remedy(parser->err, "%s", remedy);
	return -EINVAL;
}

static int check_length(struct perch__parser *parser, const struct breakpoint *breakpoint)
{
	uint64_t length = breakpoint->length;

	if (breakpoint->access == PERCH_BREAKPOINT_X) {
		if (breakpoint->sized && length != CODE_LENGTH)
			return refuse_length(
				parser, breakpoint,
				CODE_LENGTH == 8 ? "the length of an execute breakpoint must be 8"
						 : "the length of an execute breakpoint must be 4",
				"omit the length");
		return 0;
	}
	if (X86 && (length & (length - 1) || !length || length > 8))
		return refuse_length(
			parser, breakpoint,
			"the length of a breakpoint on x86 must be 1, 2, 4 or 8",
			"use the next larger length at an aligned address, or several events");
	if (!length || length > 8)
		return refuse_length(parser, breakpoint,
				     "the length of a breakpoint must be 1 to 8",
				     "use several events");
	return 0;
}

/*
 * x86 ignores the low bits of an address. The remedy is the aligned address whose breakpoint has
 * the byte at the given address.
 */
static int check_alignment(struct perch__parser *parser, const struct breakpoint *breakpoint)
{
	uint64_t length = breakpoint->length, aligned = breakpoint->address & -length;

	if (!X86 || breakpoint->access == PERCH_BREAKPOINT_X ||
	    !(breakpoint->address & (length - 1)))
		return 0;
	perch__parse_error(parser, breakpoint->at_address, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "a breakpoint of %llu bytes%s must be at a multiple of %llu on x86",
			   (unsigned long long)length, breakpoint->sized ? "" : " (the default)",
			   (unsigned long long)length);
	perch_error_field(parser->err, "bp_addr", NULL);
	perch_error_remedy(parser->err, "use mem:%#llx/%llu%s", (unsigned long long)aligned,
			   (unsigned long long)length,
			   breakpoint->access == PERCH_BREAKPOINT_W ? ":w" : "");
	return -EINVAL;
}

int perch__parse_breakpoint(struct perch__parser *parser, size_t at, struct perch_event *event)
{
	struct breakpoint breakpoint = { .length = DATA_LENGTH,
					 .at_address = parser->token.at + 1 };
	size_t end = breakpoint.at_address;
	int rc;

	(void)at; /* errors are at the parts after the keyword */
	rc = perch__take_number(parser, &end, &breakpoint.address,
				"an address, as in mem:0x404080:w");
	if (!rc && parser->text[end] == '/' && isdigit((unsigned char)parser->text[end + 1])) {
		breakpoint.sized = true;
		breakpoint.at_length = ++end;
		rc = perch__take_number(parser, &end, &breakpoint.length,
					"the length of a breakpoint");
	}
	if (!rc)
		rc = parse_access(parser, &breakpoint, &end);
	if (!rc)
		rc = check_access(parser, &breakpoint);
	if (!rc)
		rc = check_length(parser, &breakpoint);
	if (!rc)
		rc = check_alignment(parser, &breakpoint);
	if (rc)
		return rc;
	event->attr.type = PERCH_TYPE_BREAKPOINT;
	event->attr.bp_type = breakpoint.access;
	event->attr.bp_addr = breakpoint.address;
	event->attr.bp_len = breakpoint.access == PERCH_BREAKPOINT_X ? CODE_LENGTH
								     : breakpoint.length;
	perch__advance_to(parser, end);
	return 0;
}
