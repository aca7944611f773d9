/* SPDX-License-Identifier: MIT */
/* The table of rules: each row of rules.def becomes two functions and a struct perch__rule. */
#include <errno.h>
#include <string.h>

#include "rules.h"
#include "predicates.h"

/* Without an attr (as in some logs), rules about fields of the attr are uncertain. */
static enum perch__match unknown_if_partial(enum perch__match match, const char *fields)
{
	static const char *const arguments[] = { "pid", "cpu", "group_fd", "flags", "attr" };
	size_t length = strcspn(fields, ",");

	if (!length)
		return match;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (!strncmp(fields, arguments[i], length) && !arguments[i][length])
			return match;
	return PERCH__UNKNOWN;
}

/* Releases must fit into perch_finding.since. */
enum { SINCE_SIZE = sizeof(((struct perch_finding *)NULL)->since) };

#define NO_FIX
#define RULE(name, cause, errnum, fields, since, condition, fix, message, remedy)        \
	static enum perch__match match_##name(const struct perch__case *c)               \
	{                                                                                \
		enum perch__match match = condition;                                     \
                                                                                         \
		return match == PERCH__YES && !c->call->attr && c->call->attr_is_partial \
			       ? unknown_if_partial(match, fields)                       \
			       : match;                                                  \
	}                                                                                \
	_Static_assert(sizeof(since) <= SINCE_SIZE, #name);                              \
	static inline void fix_##name(struct perch__case *c)                             \
	{                                                                                \
		(void)c;                                                                 \
		fix;                                                                     \
	}
#include "rules.def"
#undef RULE

/* The function of a fix, or NULL for NO_FIX. */
#define FIRST_OF(first, ...) first
#define FIX_OF(name, ...)    FIRST_OF(__VA_OPT__(fix_##name, ) NULL, )
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, fix, message, remedy)                \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, match_##name, FIX_OF(name, fix), \
	  message, remedy },
/* clang-format on */
const struct perch__rule perch__rules[] = {
#include "rules.def"
	{ NULL, PERCH_CAUSE_NONE, 0, NULL, NULL, NULL, NULL, NULL, NULL },
};
