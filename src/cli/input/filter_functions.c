/* SPDX-License-Identifier: MIT */
/* Tests of the sampled function, and shorter call chains: options of report and of exports. */
#include <errno.h>
#include <string.h>
#include <perch/profile.h>

#include "filter_options.h"
#include "messages.h"

/* The tests are made once per address. */
int cli_filter_open_functions(struct cli_filter *filter, const struct cli_input *input)
{
	struct perch_session *session = input->session;
	struct perch_error err;

	if (!filter->resolved && !filter->symbol_part)
		return 0;
	return perch_addresses_new(&filter->by_symbol, perch_session_processes(session),
				   perch_session_symbols(session), &err)
		       ? cli_error(input->command, &err)
		       : 0;
}

void cli_filter_close_functions(struct cli_filter *filter)
{
	perch_addresses_free(filter->by_symbol);
	filter->by_symbol = NULL;
}

static bool has_part(const struct cli_filter *filter, struct perch_symbols *symbols,
		     const struct perch_symbol *symbol)
{
	return symbol && strstr(perch_symbols_name(symbols, symbol), filter->symbol_part);
}

/* Returns enum cli_function, or -ENOMEM: by the functions that are inlined at an address. */
static int test_inlined(const struct cli_filter *filter, struct perch_symbols *symbols,
			const struct perch_address *address)
{
	const struct perch_symbol_frame *frames;
	int nr;

	if (filter->options.no_inline || !perch_symbols_has_debug_info(symbols, address->dso))
		return CLI_FUNCTION_OTHER;
	nr = perch_symbols_frames(symbols, address->dso, address->offset, &frames);
	for (int i = 0; i < nr - 1; i++)
		if (has_part(filter, symbols, frames[i].symbol))
			return CLI_FUNCTION_WANTED;
	return nr < 0 ? nr : CLI_FUNCTION_OTHER;
}

static int test_address(const struct cli_filter *filter, struct perch_symbols *symbols,
			const struct perch_address *address)
{
	if (!address->symbol)
		return filter->resolved ? CLI_FUNCTION_UNRESOLVED : CLI_FUNCTION_OTHER;
	return !filter->symbol_part || has_part(filter, symbols, address->symbol)
		       ? CLI_FUNCTION_WANTED
		       : test_inlined(filter, symbols, address);
}

int cli_filter_test_function(struct cli_filter *filter, const struct cli_input *input,
			     const struct perch_record *record)
{
	struct perch_session *session = input->session;
	const struct perch_dso *dso;
	struct perch_thread *thread;
	uint32_t number;
	int rc;

	if (!filter->by_symbol)
		return CLI_FUNCTION_WANTED;
	thread = perch_processes_thread(perch_session_processes(session), record->sample.pid,
					record->sample.tid);
	rc = thread ? perch_addresses_sampled(filter->by_symbol, thread, record, &number, &dso)
		    : -ENOMEM;
	if (!rc)
		rc = test_address(filter, perch_session_symbols(session),
				  perch_addresses_at(filter->by_symbol, number));
	if (rc == CLI_FUNCTION_WANTED)
		filter->wanted++;
	else
		filter->unwanted++;
	return rc;
}

void cli_filter_exclude_other(struct cli_filter *filter, const char *parent)
{
	if (filter->exclude_other)
		filter->options.parent = parent ? parent : "^sys_|^do_page_fault";
}

bool cli_filter_cut_chain(const struct cli_filter *filter, struct perch_record *record)
{
	uint64_t nr = 0;

	if (!filter->max_stack)
		return false;
	for (uint64_t i = 0; i < record->sample.callchain.nr; i++) {
		uint64_t ip = perch_word(record, &record->sample.callchain.ip[i]);

		if (ip == PERCH_CONTEXT_USER_DEFERRED) /* a cookie follows, not an address */
			return false;
		if (ip < PERCH_CONTEXT_MAX && ++nr > filter->max_stack) {
			record->sample.callchain.nr = i;
			return true;
		}
	}
	return false;
}
