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

	return perch_symbols_frames_shown(perch_session_symbols(export->session), address->dso,
					  address->offset, address->symbol,
					  (is_caller ? PERCH_FRAMES_CALLER : 0) |
						  (export->options.no_inline ? PERCH_FRAMES_ALONE
									     : 0),
					  &single, frames);
}

const char *perch__export_name(struct perch_export *export, const struct perch_address *address,
			       const struct perch_symbol *symbol, char *buffer)
{
	return perch_symbols_name_shown(perch_session_symbols(export->session), address->dso,
					address->cpumode_char, symbol, buffer, PERCH__EXPORT_NAME);
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
