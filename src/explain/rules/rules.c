/* SPDX-License-Identifier: MIT */
/* The table of rules: each row of rules.def becomes two functions and a struct perch__rule. */
#include <errno.h>
#include <string.h>

#include "rules.h"
#include "predicates.h"

bool perch__names_field(const char *fields, const char *name)
{
	size_t length = strlen(name);

	while (*fields) {
		size_t part = strcspn(fields, ",");

		if (part == length && !memcmp(fields, name, length))
			return true;
		fields += part + (fields[part] == ',');
	}
	return false;
}

bool perch__needs_attr(const char *fields)
{
	static const char arguments[] = "pid,cpu,group_fd,flags,attr";
	char name[32];

	while (*fields) {
		size_t length = strcspn(fields, ",");

		if (length >= sizeof(name))
			return true;
		memcpy(name, fields, length);
		name[length] = '\0';
		if (!perch__names_field(arguments, name))
			return true;
		fields += length + (fields[length] == ',');
	}
	return false;
}

/* Releases must fit into perch_finding.since. */
enum { SINCE_SIZE = sizeof(((struct perch_finding *)NULL)->since) };

#define NO_FIX
#define RULE(name, cause, errnum, fields, since, condition, fix, message, remedy)         \
	static enum perch__match match_##name(const struct perch__case *c)                \
	{                                                                                 \
		return LACKS_ATTR && perch__needs_attr(fields) ? PERCH__NO : (condition); \
	}                                                                                 \
	_Static_assert(sizeof(since) <= SINCE_SIZE, #name);                               \
	static inline void fix_##name(struct perch__case *c)                              \
	{                                                                                 \
		(void)c;                                                                  \
		fix;                                                                      \
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
