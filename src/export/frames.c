/* SPDX-License-Identifier: MIT */
/* The functions at an address, and their names. */
#include <string.h>

#include "base/array.h"
#include "internal.h"

int perch__export_frames(struct perch_export *export, uint32_t number, bool is_caller,
			 const struct perch_symbol_frame **frames)
{
	static _Thread_local struct perch_symbol_frame single;
	const struct perch_address *address = perch_session_address(export->session, number);
	struct perch_symbols *symbols = perch_session_symbols(export->session);
	int nr = 1;

	single = (struct perch_symbol_frame){ .symbol = address->symbol };
	if (is_caller)
		single.symbol = perch_symbols_caller(symbols, address->dso, address->offset,
						     address->symbol);
	*frames = &single;
	if (export->options.no_inline || !perch_symbols_has_debug_info(symbols, address->dso))
		return 1;
	nr = perch_symbols_frames(symbols, address->dso,
				  address->offset - (is_caller && address->offset), frames);
	/* the byte before the start of a function that handlers of signals return to */
	if (nr < 0 || (*frames)[nr - 1].symbol == single.symbol)
		return nr;
	*frames = &single;
	return 1;
}

void perch__export_unnamed(const char *dso, char *buffer)
{
	if (!dso[0])
		dso = "[unknown]";
	snprintf(buffer, PERCH__EXPORT_NAME, dso[0] == '[' ? "%s" : "[%s]", dso);
}

const char *perch__export_name(struct perch_export *export, const struct perch_address *address,
			       const struct perch_symbol *symbol, char *buffer)
{
	struct perch_symbols *symbols = perch_session_symbols(export->session);

	if (symbol)
		return perch_symbols_name(symbols, symbol);
	if (!perch_dso_is(address->dso, PERCH_DSO_IS_MAPPED))
		return "[unknown]";
	perch__export_unnamed(perch_symbols_dso_name(symbols, address->dso), buffer);
	return buffer;
}

/* ---- lists ---- */

size_t perch__export_nr_addresses(const struct perch_export *export)
{
	size_t nr = 0;

	for (size_t i = 0; i < export->nr_stacks; i++)
		if (export->stack[i].address >= nr)
			nr = (size_t) export->stack[i].address + 1;
	return nr;
}

int perch__export_lists_open(struct export_lists *lists, const struct perch_export *export)
{
	size_t nr = perch__export_nr_addresses(export);

	*lists = (struct export_lists){ .nr_numbers = 0 };
	for (size_t i = 0; i < 2; i++) {
		lists->at[i] = malloc((nr + 1) * sizeof(*lists->at[i]));
		if (!lists->at[i])
			return -ENOMEM;
		memset(lists->at[i], 0xff, (nr + 1) * sizeof(*lists->at[i]));
	}
	return 0;
}

void perch__export_lists_clear(struct export_lists *lists)
{
	free(lists->at[0]);
	free(lists->at[1]);
	free(lists->number);
}

uint32_t *perch__export_lists_add(struct export_lists *lists, uint32_t address, bool is_caller,
				  uint32_t nr)
{
	size_t more = (size_t)nr + 1;
	uint32_t *list;

	if (lists->nr_numbers + more > NO_INDEX ||
	    PERCH__ARRAY_RESERVE_BY_NR(lists->number, lists->nr_numbers, more))
		return NULL;
	list = lists->number + lists->nr_numbers;
	list[0] = nr;
	lists->at[is_caller][address] = (uint32_t)lists->nr_numbers;
	lists->nr_numbers += more;
	return list;
}
