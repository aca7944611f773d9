/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints: mem:ADDRESS[/LENGTH][:rwx]. A slash with a digit behind it is the length's; another
 * one begins terms. Letters behind the colon are the access if the first of them is r, w or x; else
 * they are modifiers, as those behind a second colon always are. What the kernel would refuse
 * without a word is refused here with a sentence.
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

/* To execute: one instruction, whatever that is; x86 wants the size of a long for it. */
#if defined(__aarch64__) || defined(__arm__)
#define CODE_LENGTH 4
#else
#define CODE_LENGTH sizeof(long)
#endif

#define DATA_LENGTH 4 /* as perf has it */

/* What the text says, and where. */
struct breakpoint {
	uint64_t address, length;
	unsigned access; /* PERCH_BREAKPOINT_* */
	bool sized;	 /* it names a length */
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
					   "'%c' %s a breakpoint", text[at],
					   bit ? "is there twice in the access of"
					       : "is no access of");
			perch_error_remedy(
				parser->err,
				"the access is w, rw or x; modifiers come behind a colon of "
				"their own, as in mem:0x1000:rw:u");
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
		perch__parse_error(
			parser, breakpoint->at_access, EINVAL, PERCH_ERROR_CONFLICT,
			"a breakpoint watches an instruction (x) or data (r, w), not both");
		perch_error_field(parser->err, "bp_type", NULL);
		perch_error_remedy(parser->err, "make two events of it");
		return -EINVAL;
	}
	if (X86 && breakpoint->access == PERCH_BREAKPOINT_R) {
		perch__parse_error(parser, breakpoint->at_access, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
				   "x86 has no breakpoints that hit on reads alone");
		perch_error_field(parser->err, "bp_type", NULL);
		perch_error_remedy(parser->err,
				   "say rw, and w in an event beside it to tell the writes");
		return -EINVAL;
	}
	return 0;
}

static int refuse_length(struct perch__parser *parser, const struct breakpoint *breakpoint,
			 const char *what, const char *remedy)
{
	perch__parse_error(parser, breakpoint->at_length, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "%s, not %llu", what, (unsigned long long)breakpoint->length);
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
				CODE_LENGTH == 8
					? "a breakpoint on an instruction has the length 8 here"
					: "a breakpoint on an instruction has the length 4 here",
				"leave the length out");
		return 0;
	}
	if (X86 && (length & (length - 1) || !length || length > 8))
		return refuse_length(
			parser, breakpoint, "a breakpoint on x86 watches 1, 2, 4 or 8 bytes",
			"take the next longer one at an address that is a multiple of it, or several");
	if (!length || length > 8)
		return refuse_length(parser, breakpoint, "a breakpoint watches 1 to 8 bytes",
				     "make several events of it");
	return 0;
}

/* x86 compares addresses without their low bits. */
static int check_place(struct perch__parser *parser, const struct breakpoint *breakpoint)
{
	uint64_t length = breakpoint->length, fitting = breakpoint->address & -breakpoint->address;

	if (!X86 || breakpoint->access == PERCH_BREAKPOINT_X ||
	    !(breakpoint->address & (length - 1)))
		return 0;
	perch__parse_error(parser, breakpoint->at_address, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "a breakpoint of %llu bytes%s begins at a multiple of %llu on x86",
			   (unsigned long long)length,
			   breakpoint->sized ? "" : ", the length when none is said,",
			   (unsigned long long)length);
	perch_error_field(parser->err, "bp_addr", NULL);
	perch_error_remedy(parser->err, "say mem:%#llx/%llu",
			   (unsigned long long)breakpoint->address, (unsigned long long)fitting);
	return -EINVAL;
}

int perch__parse_breakpoint(struct perch__parser *parser, size_t at, struct perch_event *event)
{
	struct breakpoint breakpoint = { .length = DATA_LENGTH,
					 .at_address = parser->token.at + 1 };
	size_t end = breakpoint.at_address;
	int rc;

	(void)at; /* nothing is said of the keyword itself */
	rc = perch__take_number(parser, &end, &breakpoint.address, "the address of a breakpoint");
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
		rc = check_place(parser, &breakpoint);
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
