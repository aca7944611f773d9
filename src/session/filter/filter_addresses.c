/* SPDX-License-Identifier: MIT */
/* Filters: tests samples by their address and their call chain. */
#include "filter.h"
#include "session/internal.h"

/* Returns the number of the sampled address, or a negative errno. */
static int sampled(struct perch_filter *filter, const struct perch_record *record, uint32_t *number,
		   const struct perch_dso **dso)
{
	struct perch_thread *thread = perch__filter_thread(filter, record);

	return thread ? perch_addresses_sampled(perch__session_addresses(filter->session), thread,
						record, number, dso)
		      : -ENOMEM;
}

/* The kernel has two names, one with and one without its ELF file. */
static bool is_named_dso(struct perch_filter *filter, const struct perch_dso *dso)
{
	struct filter_names *names = &filter->dsos;
	bool named = perch__filter_is_named(names, perch_symbols_dso_name(filter->symbols, dso));

	named |= perch__filter_is_named(names, dso->path);
	if (perch_dso_is(dso, PERCH_DSO_IS_KERNEL)) {
		named |= perch__filter_is_named(names, "[kernel.kallsyms]");
		named |= perch__filter_is_named(names, "[kernel.vmlinux]");
		named |= perch__filter_is_named(names, dso->kernel_image);
	}
	return named;
}

int perch__filter_test_dso(struct perch_filter *filter, const struct perch_record *record)
{
	const struct perch_dso *dso;
	uint8_t *result;
	uint32_t number;

	if (sampled(filter, record, &number, &dso))
		return -ENOMEM;
	result = result_of(&filter->by_dso, dso->index);
	if (!result || perch__filter_count(&filter->values[PERCH_FILTER_DSO], dso->index,
					   perch_symbols_dso_name(filter->symbols, dso)))
		return -ENOMEM;
	if (*result == UNTESTED)
		*result = is_named_dso(filter, dso) ? PASSES : FAILS;
	return *result == PASSES;
}

/* The list has seen each name of the function. */
static bool has_listed_name(struct perch_filter *filter, const struct perch_symbol *symbol)
{
	struct filter_names *names = &filter->symbol_names;
	bool named = perch__filter_is_named(names, perch_symbols_name(filter->symbols, symbol));

	named |= perch__filter_is_named(names, symbol->name);
	for (size_t i = 0; i < names->nr; i++)
		if (names->name[i].signs &&
		    perch_symbols_is_named(filter->symbols, symbol, names->name[i].text))
			named = names->name[i].seen = true;
	return named;
}

/* Tests a function once: 1, 0 or -ENOMEM. */
static int is_named_symbol(struct perch_filter *filter, const struct perch_symbol *symbol)
{
	uint8_t *result = symbol ? result_of(&filter->by_symbol, symbol->index) : NULL;

	if (!symbol)
		return 0;
	if (!result)
		return -ENOMEM;
	if (*result == UNTESTED)
		*result = has_listed_name(filter, symbol) ? PASSES : FAILS;
	return *result == PASSES;
}

/* Returns if a function with a name in the list is inlined at an address: 1, 0 or -ENOMEM. */
static int is_inlined(struct perch_filter *filter, const struct perch_address *address)
{
	const struct perch_symbol_frame *frames;
	int named = 0, nr;

	if (filter->no_inline || !perch_symbols_has_debug_info(filter->symbols, address->dso))
		return 0;
	nr = perch_symbols_frames(filter->symbols, address->dso, address->offset, &frames);
	for (int i = 0; i < nr - 1; i++) {
		const struct perch_symbol *symbol = frames[i].symbol;
		int rc = is_named_symbol(filter, symbol);

		if (rc < 0)
			return rc;
		named |= rc;
		if (symbol && perch__filter_add(&filter->values[PERCH_FILTER_SYMBOL], symbol->index,
						perch_symbols_name(filter->symbols, symbol)))
			return -ENOMEM;
	}
	return nr < 0 ? nr : named;
}

/* True if an address of the list stands for the sampled one. */
static bool covers_address(const struct perch_filter *filter, uint64_t listed, uint64_t ip,
			   uint64_t start)
{
	return listed == ip || listed == start ||
	       (ip > listed && ip - listed < filter->symbols_size);
}

/* True if the sampled address, or that of its function, is in the list. */
static bool is_listed_address(struct perch_filter *filter, const struct perch_record *record,
			      const struct perch_address *address)
{
	struct filter_names *names = &filter->symbol_names;
	uint64_t ip = record->sample.ip, start = ip;
	bool listed = false;

	if (address->symbol)
		start = ip - (address->offset - address->symbol->start);
	for (size_t i = 0; i < names->nr; i++)
		if (names->name[i].address &&
		    covers_address(filter, names->name[i].address, ip, start))
			listed = names->name[i].seen = true;
	return listed;
}

int perch__filter_test_symbol(struct perch_filter *filter, const struct perch_record *record)
{
	const struct perch_address *address;
	const struct perch_symbol *symbol;
	const struct perch_dso *dso;
	uint8_t *result;
	uint32_t number;

	if (sampled(filter, record, &number, &dso))
		return -ENOMEM;
	address = perch_session_address(filter->session, number);
	symbol = address->symbol;
	result = result_of(&filter->by_address, number);
	if (!result ||
	    (symbol && perch__filter_count(&filter->values[PERCH_FILTER_SYMBOL], symbol->index,
					   perch_symbols_name(filter->symbols, symbol))))
		return -ENOMEM;
	if (*result == UNTESTED) {
		int inlined = is_inlined(filter, address);
		int named = inlined < 0 ? inlined : is_named_symbol(filter, symbol);

		if (named < 0)
			return named;
		*result = named ? PASSES : inlined ? PASSES_INLINED : FAILS;
	}
	filter->stats.inlined += *result == PASSES_INLINED;
	return *result == PASSES || *result == PASSES_INLINED ||
	       (filter->symbol_names.has_addresses && is_listed_address(filter, record, address));
}

/* Tests an address once, and counts it for its function, or for that of the call before it. Returns
 * 1, 0 or -ENOMEM. */
static int matches_parent(struct perch_filter *filter, const struct perch_address *address,
			  bool is_caller)
{
	const struct perch_symbol *symbol =
		is_caller ? perch_symbols_caller(filter->symbols, address->dso, address->offset,
						 address->symbol)
			  : address->symbol;
	const char *name = symbol ? perch_symbols_name(filter->symbols, symbol) : NULL;

	if (!symbol)
		return 0;
	if (perch__filter_count(&filter->values[PERCH_FILTER_PARENT], symbol->index, name))
		return -ENOMEM;
	return !regexec(&filter->parent, name, 0, NULL, 0);
}

int perch__filter_test_parent(struct perch_filter *filter, const struct perch_record *record)
{
	struct perch_thread *thread = perch__filter_thread(filter, record);
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	char called = 0;
	int nr;

	if (!thread)
		return -ENOMEM;
	nr = perch_addresses_call_chain(perch__session_addresses(filter->session), thread, record,
					chain, PERCH_MAX_CALL_CHAIN);
	for (int i = 0; i < nr; i++) {
		const struct perch_address *address =
			perch_session_address(filter->session, chain[i]);
		bool is_caller = i && address->cpumode_char == called;
		uint8_t *result = result_of(&filter->by_caller, 2 * chain[i] + is_caller);

		called = address->cpumode_char;
		if (!result)
			return -ENOMEM;
		if (*result == UNTESTED) {
			int matches = matches_parent(filter, address, is_caller);

			if (matches < 0)
				return matches;
			*result = matches ? PASSES : FAILS;
		}
		if (*result == PASSES)
			return 1;
	}
	return nr < 0 ? nr : 0;
}
