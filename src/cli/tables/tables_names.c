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

void tables_caller_name(const struct tables *tables, uint32_t number, char *text, size_t size)
{
	const struct perch_address *address = perch_session_address(tables->input.session, number);
	struct perch_symbols *symbols = perch_session_symbols(tables->input.session);
	const struct perch_symbol_frame *frames;
	char outer[TABLES_CELL];

	tables_frame_name(tables, number, text, size);
	if (!address->symbol || !perch_dso_is(address->dso, PERCH_DSO_IS_FILE) ||
	    perch_symbols_frames(symbols, address->dso, address->offset - 1, &frames) < 2 ||
	    !frames->symbol)
		return;
	snprintf(outer, sizeof(outer), "%s", text);
	snprintf(text, size, "%s (inlined in %.400s)", perch_symbols_name(symbols, frames->symbol),
		 outer);
}

bool tables_user_variable(const struct tables *tables, const struct tables_sample *sample,
			  uint64_t address, char *text, size_t size)
{
	struct perch_processes *processes = perch_session_processes(tables->input.session);
	struct perch_thread *thread = perch_processes_thread(processes, sample->pid, sample->tid);
	struct perch_symbols *symbols = perch_session_symbols(tables->input.session);
	const struct perch_symbol *symbol;
	struct perch_chain_address code;
	struct perch_location location;
	struct perch_chain chain;
	uint64_t offset;

	*text = 0;
	perch_chain_init(&chain, sample->record);
	while (thread && perch_chain_next(&chain, &code)) {
		if (code.cpumode != PERCH_MISC_USER)
			continue;
		perch_processes_resolve(processes, thread, code.cpumode, code.ip, &location);
		symbol = location.dso ? perch_symbols_find_data_near(symbols, location.dso,
								     location.offset,
								     (int64_t)(address - code.ip),
								     &offset)
				      : NULL;
		if (!symbol)
			continue;
		put_symbol(tables, symbol, offset, offset != symbol->start, text, size);
		return true;
	}
	return false;
}
