/* SPDX-License-Identifier: MIT */
/* The functions at an address, and their names. */
#include <string.h>

#include "internal.h"

bool perch__export_is_signal_return(const struct perch_symbol *symbol)
{
	static const char *const names[] = {
		"__restore_rt",		  "__restore",		 "__kernel_rt_sigreturn",
		"__kernel_sigreturn",	  "__vdso_rt_sigreturn", "__kernel_sigtramp_rt64",
		"__kernel_sigtramp_rt32", "__kernel_sigtramp32", "__kernel_start_sigtramp_rt64",
	};

	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(symbol->name, names[i]))
			return true;
	return false;
}

/*
 * The function of a return address: the one with the call. The call of a function that does not
 * return may be the end of its caller, so that the address is that of the next function. Handlers
 * of signals return to the start of a function that no instruction calls.
 */
static const struct perch_symbol *symbol_of_caller(struct perch_symbols *symbols,
						   const struct perch_address *address)
{
	const struct perch_symbol *symbol = address->symbol;
	const struct perch_symbol_frame *frames;
	int nr;

	if (!address->offset || (symbol && address->offset != symbol->start) ||
	    perch__export_is_signal_return(symbol))
		return symbol;
	nr = perch_symbols_frames(symbols, address->dso, address->offset - 1, &frames);
	/* no function has the byte before, so none has called: makecontext(3) has set the address
	 */
	return nr < 0 || !frames[nr - 1].symbol ? symbol : frames[nr - 1].symbol;
}

int perch__export_frames(struct perch_export *export, uint32_t number, bool is_caller,
			 const struct perch_symbol_frame **frames)
{
	static _Thread_local struct perch_symbol_frame single;
	const struct perch_address *address = perch_session_address(export->session, number);
	struct perch_symbols *symbols = perch_session_symbols(export->session);
	int nr = 1;

	single = (struct perch_symbol_frame){ .symbol = is_caller
								? symbol_of_caller(symbols, address)
								: address->symbol };
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
