/* SPDX-License-Identifier: MIT */
/* The table of refusals: each row of rules.def becomes two functions, then a struct perch__rule. */
#include <errno.h>
#include <string.h>

#include "rules.h"
#include "vocabulary.h"

/* A log may have left the whole attr out: then its fields are no proof, for what is not told counts
 * as zero. */
static enum perch__fit unless_untold(enum perch__fit fit, const char *fields)
{
	static const char *const arguments[] = { "pid", "cpu", "group_fd", "flags", "attr" };
	size_t length = strcspn(fields, ",");

	if (!length)
		return fit;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (!strncmp(fields, arguments[i], length) && !arguments[i][length])
			return fit;
	return PERCH__MAYBE;
}

/* Releases are copied into findings as they are. */
enum { MOST_SINCE = sizeof(((struct perch_finding *)NULL)->since) };

#define NO_MEND
#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy)    \
	static enum perch__fit fit_##name(const struct perch__case *c)                 \
	{                                                                              \
		enum perch__fit fit = condition;                                       \
                                                                                       \
		return fit == PERCH__YES && !c->call->attr && c->call->attr_is_partial \
			       ? unless_untold(fit, fields)                            \
			       : fit;                                                  \
	}                                                                              \
	_Static_assert(sizeof(since) <= MOST_SINCE, #name);                            \
	static inline void mend_##name(struct perch__case *c)                          \
	{                                                                              \
		(void)c;                                                               \
		mend;                                                                  \
	}
#include "rules.def"
#undef RULE

/* The function of a mend, or NULL for none. */
#define FIRST_OF(first, ...) first
#define MEND_OF(name, ...)   FIRST_OF(__VA_OPT__(mend_##name, ) NULL, )
/* clang-format off */
#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy)                \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, fit_##name, MEND_OF(name, mend), sentence, remedy },
/* clang-format on */
const struct perch__rule perch__rules[] = {
#include "rules.def"
	{ NULL, PERCH_CAUSE_NONE, 0, NULL, NULL, NULL, NULL, NULL, NULL },
};
