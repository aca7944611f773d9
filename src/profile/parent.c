/* SPDX-License-Identifier: MIT */
/* Functions of call chains that match an expression: the column parent, and callees to ignore. */
#include <errno.h>
#include "internal.h"

#define DEFAULT_PARENT "^sys_|^do_page_fault" /* of perf */

enum { UNTESTED, NO_MATCH, FIRST_NAME };

static int set_matcher(struct matcher *matcher, const char *expression, struct perch_error *err)
{
	char reason[128], text[128];
	int rc = regcomp(&matcher->regex, expression, REG_EXTENDED | REG_NOSUB);

	if (!rc) {
		matcher->is_set = true;
		return 0;
	}
	regerror(rc, &matcher->regex, reason, sizeof(reason));
	perch_clean_text(expression, text, sizeof(text));
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "'%s' is no extended regular expression: %s", text, reason);
}

int perch__parent_set(struct perch_profile *profile, const struct perch_profile_options *options,
		      bool with_column, struct perch_error *err)
{
	const char *parent = options && options->parent ? options->parent : DEFAULT_PARENT;
	int rc = 0;

	profile->outermost_parent = options && options->outermost_parent;
	if (with_column)
		rc = set_matcher(&profile->parent, parent, err);
	if (!rc && options && options->ignore_callees)
		rc = set_matcher(&profile->ignored, options->ignore_callees, err);
	return rc;
}

/* Tests the function of an address, or of the call before it. named: gets its name; NULL: none.
 * Returns its result, or NO_NUMBER if out of memory. */
static uint32_t test(struct perch_addresses *addresses, struct matcher *matcher,
		     struct texts *named, struct address_id address_id, bool is_caller)
{
	size_t at = (size_t)address_id.nr * 2 + is_caller;
	const struct perch_address *address;
	const struct perch_symbol *symbol;
	const char *name;
	uint32_t text;

	if (PERCH__ARRAY_RESERVE_ZEROED(matcher->result, matcher->nr, at + 1))
		return NO_NUMBER;
	if (matcher->result[at] != UNTESTED)
		return matcher->result[at];
	address = perch_addresses_at(addresses, address_id.nr);
	symbol = address->symbol;
	if (is_caller)
		symbol = perch_symbols_caller(addresses->symbols, address->dso, address->offset,
					      symbol);
	name = symbol ? perch_symbols_name(addresses->symbols, symbol) : NULL;
	if (!name || regexec(&matcher->regex, name, 0, NULL, 0))
		return matcher->result[at] = NO_MATCH;
	text = named ? perch__texts_add(named, name) : 0;
	return text == NO_NUMBER ? NO_NUMBER : (matcher->result[at] = FIRST_NAME + text);
}

/*
 * Finds the first function of a chain that matches: from the innermost one on, or from the
 * outermost one. Returns its result, NO_MATCH, or NO_NUMBER if out of memory. *at: its index.
 */
static uint32_t find_match(struct perch_addresses *addresses, struct matcher *matcher,
			   struct texts *named, struct perch_thread *thread,
			   const struct chain *chain, bool outermost, size_t *at)
{
	for (size_t i = 0; i < chain->nr; i++) {
		struct address_id address;
		uint32_t result = NO_NUMBER;

		*at = outermost ? chain->nr - 1 - i : i;
		address = perch__address_number(addresses, thread, chain->cpumode[*at],
						chain->ip[*at]);
		if (address.nr != NO_NUMBER)
			result = test(addresses, matcher, named, address,
				      *at && chain->cpumode[*at] == chain->cpumode[*at - 1]);
		if (result != NO_MATCH)
			return result;
	}
	return NO_MATCH;
}

/*
 * The address of a call before a return address, so that the line and the inlined functions are
 * those of the call. It is not used if no call is before the return address.
 */
static int address_of_call(struct perch_addresses *addresses, struct perch_thread *thread,
			   unsigned cpumode, uint64_t *ip)
{
	struct address_id call = perch__address_number(addresses, thread, cpumode, *ip - 1);
	struct address_id after = perch__address_number(addresses, thread, cpumode, *ip);
	const struct perch_address *address;
	const struct perch_symbol *symbol;

	if (call.nr == NO_NUMBER || after.nr == NO_NUMBER)
		return -ENOMEM;
	symbol = perch_addresses_at(addresses, call.nr)->symbol;
	address = perch_addresses_at(addresses, after.nr);
	if (symbol == perch_symbols_caller(addresses->symbols, address->dso, address->offset,
					   address->symbol))
		--*ip;
	return 0;
}

int perch__ignore_callees(struct perch_addresses *addresses, struct matcher *matcher,
			  struct perch_thread *thread, struct chain *chain, bool exact)
{
	size_t at;
	uint32_t result = find_match(addresses, matcher, NULL, thread, chain, true, &at);

	if (result == NO_NUMBER)
		return -ENOMEM;
	if (result == NO_MATCH || !at)
		return 0;
	chain->nr -= at;
	memmove(chain->ip, chain->ip + at, chain->nr * sizeof(*chain->ip));
	memmove(chain->cpumode, chain->cpumode + at, chain->nr * sizeof(*chain->cpumode));
	return exact ? 0 : address_of_call(addresses, thread, chain->cpumode[0], &chain->ip[0]);
}

int perch_addresses_ignore_callees(struct perch_addresses *addresses, const char *expression,
				   struct perch_error *err)
{
	perch__matcher_clear(&addresses->ignored);
	return set_matcher(&addresses->ignored, expression, err);
}

int perch_addresses_outer_chain(struct perch_addresses *addresses, struct perch_thread *thread,
				const struct perch_record *record, uint32_t *numbers, size_t max)
{
	struct chain chain;

	perch__chain_read(&chain, record);
	if (addresses->ignored.is_set &&
	    perch__ignore_callees(addresses, &addresses->ignored, thread, &chain, false))
		return -ENOMEM;
	return perch__addresses_number_chain(addresses, thread, &chain, numbers, max);
}

/* ---- the column: 0, or the number of the name + 1 ---- */

static int parent_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	size_t at;
	uint32_t result = find_match(profile->addresses, &profile->parent,
				     &profile->functions_named, sample->thread, sample->chain,
				     profile->outermost_parent, &at);

	*value = result == NO_MATCH ? 0 : result - FIRST_NAME + 1;
	return result == NO_NUMBER ? -ENOMEM : 0;
}

static const char *parent_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	(void)buffer;
	(void)size;
	return cell->value ? profile->functions_named.text[cell->value - 1] : "[other]";
}

/* Samples without a parent come last. */
static int parent_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	if (!a->value != !b->value)
		return a->value ? -1 : 1;
	return a->value == b->value ? 0
				    : strcmp(profile->functions_named.text[a->value - 1],
					     profile->functions_named.text[b->value - 1]);
}

const struct perch_column_methods perch__column_parent = {
	.value = parent_value,
	.compare = parent_compare,
	.text = parent_text,
};
