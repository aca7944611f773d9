/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "tables.h"

static bool locate(const struct tables *tables, uint64_t address, struct perch_location *location)
{
	struct perch_processes *processes = perch_session_processes(tables->input.session);
	struct perch_thread *thread = perch_processes_thread(processes, 0, 0);

	if (!thread)
		return false;
	perch_processes_resolve(processes, thread, PERCH_MISC_KERNEL, address, location);
	return location->dso;
}

static void put_symbol(const struct tables *tables, const struct perch_symbol *symbol,
		       uint64_t offset, bool with_offset, char *text, size_t size)
{
	struct perch_symbols *symbols = perch_session_symbols(tables->input.session);
	const char *name = perch_symbols_name(symbols, symbol);

	if (with_offset)
		snprintf(text, size, "%s+%#" PRIx64, name, offset - symbol->start);
	else
		snprintf(text, size, "%s", name);
}

bool tables_kernel_name(const struct tables *tables, uint64_t address, bool offset, char *text,
			size_t size)
{
	struct perch_symbols *symbols = perch_session_symbols(tables->input.session);
	const struct perch_symbol *symbol = NULL;
	struct perch_location location;

	if (locate(tables, address, &location))
		symbol = perch_symbols_find(symbols, location.dso, location.offset);
	if (symbol)
		put_symbol(tables, symbol, location.offset, offset, text, size);
	else
		snprintf(text, size, "%#" PRIx64, address);
	return symbol;
}

void tables_frame_name(const struct tables *tables, uint32_t number, char *text, size_t size)
{
	const struct perch_address *address = perch_session_address(tables->input.session, number);
	const char *base = strrchr(address->dso->path, '/');

	if (address->symbol)
		put_symbol(tables, address->symbol, address->offset, true, text, size);
	else
		snprintf(text, size, "%s+%#" PRIx64, base ? base + 1 : address->dso->path,
			 address->offset);
}
