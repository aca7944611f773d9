/* SPDX-License-Identifier: MIT */
/* The functions at an address, and their names. */
#include <string.h>

#include "internal.h"

int perch__export_frames(struct perch_export *export, uint32_t number, bool is_caller,
			 const struct perch_symbol_frame **frames)
{
	static _Thread_local struct perch_symbol_frame single;
	const struct perch_address *address = perch_session_address(export->session, number);
	struct perch_symbols *symbols = perch_session_symbols(export->session);
	int nr = 1;

	single = (struct perch_symbol_frame){ .symbol = address->symbol };
	*frames = &single;
	if (export->options.no_inline || !perch_symbols_has_debug_info(symbols, address->dso))
		return 1;
	nr = perch_symbols_frames(symbols, address->dso,
				  address->offset - (is_caller && address->offset), frames);
	/* a call at the end of a function returns to the next function, whose name is shown */
	if (nr < 0 || (*frames)[nr - 1].symbol == address->symbol)
		return nr;
	*frames = &single;
	return 1;
}

const char *perch__export_name(struct perch_export *export, const struct perch_address *address,
			       const struct perch_symbol *symbol, char *buffer)
{
	struct perch_symbols *symbols = perch_session_symbols(export->session);

	if (symbol)
		return perch_symbols_name(symbols, symbol);
	if (address->dso->kind == PERCH_DSO_UNKNOWN)
		return "[unknown]";
	snprintf(buffer, PERCH__EXPORT_NAME, "[%s]", perch_symbols_dso_name(symbols, address->dso));
	return buffer;
}
