/* SPDX-License-Identifier: MIT */
/* Call chains of a file: if samples have them, and messages about what they lack. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/kernel/off_cpu_event.h"
#include "input.h"
#include "options.h"

#define MAX_NAMED_DSOS 8

/* ---- what samples have ---- */

uint64_t cli_input_sample_types(const struct cli_input *input)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);
	uint64_t sample_type = 0;

	for (size_t i = 0; i < nr; i++)
		sample_type |= perch__sample_type(&events[i]);
	return sample_type;
}

int cli_input_set_calls(const struct cli_input *input, struct perch_profile *profile,
			struct perch_error *err)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);

	for (size_t i = 0; i < nr; i++)
		if (perch_session_has_calls(input->session, &events[i]) &&
		    perch_profile_set_calls(profile, (unsigned)i, err))
			return -ENOMEM;
	return 0;
}

int cli_input_require_chains(const struct cli_input *input, const char *what)
{
	struct perch_error err;

	if (cli_input_sample_types(input) & PERCH_SAMPLE_CALLCHAIN)
		return 0;
	perch_error_set(&err, ENODATA, PERCH_ERROR_USAGE, "%s needs call chains, and %s has none",
			what, input->path);
	perch_error_remedy(&err, "record with -g");
	return cli_error(input->command, &err);
}

/* ---- programs without frame pointers ---- */

/* The first functions of a program and of a thread have no caller. */
static bool is_start(const char *name)
{
	static const char *const names[] = { "_start",	     "__libc_start_main",
					     "start_thread", "__libc_start_call_main",
					     "clone",	     "clone3",
					     "__clone",	     "__clone3" };
	size_t length = strcspn(name, "@");

	for (size_t i = 0; i < CLI_NR(names); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	return false;
}

/* Returns false if the outermost caller is no address. */
static bool locate_outermost(const struct cli_input *input, const struct perch_record *record,
			     struct perch_location *location)
{
	struct perch_processes *processes = perch_session_processes(input->session);
	const struct perch_sample *sample = &record->sample;
	uint64_t ip = perch_word(record, &sample->callchain.ip[sample->callchain.nr - 1]);
	struct perch_thread *thread = perch_processes_thread(processes, sample->pid, sample->tid);

	if (!thread || !ip)
		return false;
	/* a return address is behind its call */
	perch_processes_resolve(processes, thread, PERCH_MISC_USER, ip - 1, location);
	return true;
}

/* True if the outermost function of a chain is the first one of its thread. */
static bool is_whole(struct cli_input *input, const struct perch_record *record)
{
	struct perch_symbols *symbols = perch_session_symbols(input->session);
	const struct perch_symbol *symbol;
	struct cli_start *start;
	struct perch_location location;

	if (!locate_outermost(input, record, &location))
		return false;
	start = &input->starts[(location.offset ^ location.dso->index) % CLI_NR(input->starts)];
	if (start->dso != location.dso || start->offset != location.offset) {
		symbol = perch_symbols_find(symbols, location.dso, location.offset);
		*start = (struct cli_start){ location.dso, location.offset,
					     symbol && is_start(symbol->name) };
	}
	return start->is_start;
}

enum { CONTEXT_IP_AND_CALLER = 3 };

/* Tests the first chains, and then some, because it takes time. */
static void test_outermost(struct cli_input *input, const struct perch_record *record)
{
	enum { FIRST = 1024, INTERVAL = 16 };
	uint64_t weight = input->user_chains <= FIRST ? 1 : INTERVAL;
	struct perch_location location;

	if (input->user_chains % weight)
		return;
	input->tested_chains += weight;
	if (record->sample.callchain.nr < CONTEXT_IP_AND_CALLER)
		return;
	if (!locate_outermost(input, record, &location) ||
	    !perch_dso_is(location.dso, PERCH_DSO_IS_MAPPED))
		input->wrong_chains += weight;
}

/* Samples whose chains may be made of copies of stacks or of branches: without frame pointers, and
 * with the addresses of calls (--branch-history). A file with such samples gets no note. */
#define MADE_CHAINS (PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_BRANCH_STACK)

void cli_input_count_chain(struct cli_input *input, const struct perch_record *record)
{
	uint64_t nr = record->type == PERCH_RECORD_SAMPLE ? record->sample.callchain.nr : 0;

	if (!nr || record->parse_info->sample_type & MADE_CHAINS ||
	    (record->misc & PERCH_MISC_CPUMODE_MASK) != PERCH_MISC_USER)
		return;
	input->user_chains++;
	if (nr < CONTEXT_IP_AND_CALLER || (nr == CONTEXT_IP_AND_CALLER && !is_whole(input, record)))
		input->short_chains++;
	test_outermost(input, record);
}

/* True if the user part of all call chains was made by frame pointers. */
static bool has_frame_pointer_chains(const struct cli_input *input)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.exclude_callchain_user ||
		    events[i].attr.sample_type & MADE_CHAINS)
			return false;
	return true;
}

/* A function without a frame pointer ends the chain, or has a wrong caller. */
static void print_short_chains(const struct cli_input *input)
{
	enum { ENOUGH = 20, WRONG_PERCENT = 10 };
	bool is_short = input->short_chains > input->user_chains / 2;

	if (input->user_chains < ENOUGH || !has_frame_pointer_chains(input))
		return;
	if (!is_short && input->tested_chains &&
	    input->wrong_chains > input->tested_chains / (100 / WRONG_PERCENT))
		cli_note(
			input->command,
			"about %.0f%% of the call chains in user space have a caller where no code "
			"is mapped, as in programs and libraries that are compiled without frame "
			"pointers: record with --call-graph dwarf to get their callers",
			100.0 * (double)input->wrong_chains / (double)input->tested_chains);
	if (is_short)
		cli_note(
			input->command,
			"%" PRIu64 " of %" PRIu64
			" call chains in user space have at most one caller, as in programs and libraries "
			"that are compiled without frame pointers: record with --call-graph dwarf to get "
			"their callers",
			input->short_chains, input->user_chains);
}

/* ---- unwinding ---- */

/* Why the chains that end in a DSO are incomplete; NULL: by the text of the reason. */
static const char *special_reason(const struct perch_unwinder *unwinder,
				  const struct perch_dso *dso, enum perch_unwind_end end)
{
	if (end == PERCH_UNWIND_NO_FILE)
		return perch_unwinder_error(unwinder, dso);
	if (end == PERCH_UNWIND_NO_RULE && perch_dso_is(dso, PERCH_DSO_IS_MEMORY))
		return "its JIT compiler describes no frames; some do in a jitdump: record -k mono "
		       "with node --perf-prof --perf-prof-unwinding-info, or python3 -X perf_jit "
		       "(3.13)";
	return NULL;
}

/* Prints why the chains that end in a DSO are incomplete, in one line. */
static void print_unwinding_of_dso(const struct cli_input *input, const struct perch_dso *dso,
				   size_t *lines)
{
	static const struct {
		enum perch_unwind_end end;
		const char *text;
	} reasons[] = {
		{ PERCH_UNWIND_NO_FILE, "its file cannot be used" },
		{ PERCH_UNWIND_NO_RULE, "it has no call frame information there" },
		{ PERCH_UNWIND_BAD_RULE, "its call frame information leads outside of the stack" },
		{ PERCH_UNWIND_LOOP, "its frames are not in order" },
		{ PERCH_UNWIND_NO_MAPPING, "no code is mapped at the return address" },
		{ PERCH_UNWIND_OTHER_STACK,
		  "functions of the Go runtime switch to another stack, and that of their callers was "
		  "not copied; --call-graph fp records these unless they call code in C" },
		{ PERCH_UNWIND_RETURNED,
		  "precise samples at a return have the registers after it, and the CPU does not "
		  "say where it returned to" },
		{ PERCH_UNWIND_NO_RULE_OF_GO,
		  "it has no call frame information there, as stripped programs in Go; record with "
		  "--call-graph fp: programs in Go have frame pointers" },
	};
	const struct perch_unwinder *unwinder = perch_session_unwinder(input->session);
	char path[PATH_MAX];

	perch_clean_text(dso->path, path, sizeof(path));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		uint64_t count = perch_unwinder_count(unwinder, dso, reasons[i].end);
		const char *special = special_reason(unwinder, dso, reasons[i].end);

		if (count && ++*lines <= MAX_NAMED_DSOS)
			cli_note(input->command, "%" PRIu64 " call %s in %s: %s", count,
				 cli_word(count, "chain ends", "chains end"), path,
				 special ? special : reasons[i].text);
	}
}

/* True if no copy of the user stack can be larger. */
static bool has_largest_copies(const struct cli_input *input)
{
	enum { LARGEST = 65528 };
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_STACK_USER &&
		    events[i].attr.sample_stack_user < LARGEST)
			return false;
	return true;
}

/* ended: by the kernel, before the size that was asked for */
static void print_truncated(const struct cli_input *input, uint64_t truncated, uint64_t ended)
{
	uint64_t full = truncated - ended;

	if (full)
		cli_note(input->command,
			 "%" PRIu64 " call %s outer functions: the copies of stacks %s", full,
			 cli_word(full, "chain lacks its", "chains lack their"),
			 has_largest_copies(input)
				 ? "are too short, and the kernel makes no larger ones"
				 : "are too short; record with larger ones (--call-graph "
				   "dwarf,SIZE)");
	if (ended)
		cli_note(input->command,
			 "%" PRIu64 " call %s outer functions: the kernel ended the copies of "
			 "stacks at a page that is not in memory, or at the end of a signal "
			 "handler's stack; larger copies do not help",
			 ended, cli_word(ended, "chain lacks its", "chains lack their"));
}

/* What unwinding of user stacks could not find. */
static void print_unwinding(const struct cli_input *input, const struct perch_session_stats *stats)
{
	const struct perch_unwinder *unwinder = perch_session_unwinder(input->session);
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(input->session), &dsos);
	uint64_t truncated;
	size_t lines = 0;

	if (stats->not_unwound)
		cli_note(input->command,
			 "%" PRIu64 " %s copies of user stacks (--call-graph dwarf) that cannot be "
			 "unwound: only registers of x86-64, i386 and arm64 are supported",
			 stats->not_unwound,
			 cli_word(stats->not_unwound, "sample has", "samples have"));
	if (!unwinder)
		return;
	truncated = perch_unwinder_count(unwinder, NULL, PERCH_UNWIND_TRUNCATED);
	print_truncated(input, truncated,
			stats->ended_copies < truncated ? stats->ended_copies : truncated);
	for (size_t i = 0; i < nr; i++)
		print_unwinding_of_dso(input, dsos[i], &lines);
	if (lines > MAX_NAMED_DSOS)
		cli_note(input->command, "call chains end in %zu other %s for such reasons",
			 lines - MAX_NAMED_DSOS,
			 cli_word(lines - MAX_NAMED_DSOS, "place", "places"));
}

void cli_input_print_chain_notes(const struct cli_input *input)
{
	struct perch_session_stats stats;

	perch_session_get_stats(input->session, &stats);
	print_unwinding(input, &stats);
	print_short_chains(input);
	if (stats.incomplete_chains)
		cli_note(input->command,
			 "%" PRIu64 " of %" PRIu64
			 " samples have no user call chain: the later record that has it "
			 "(--call-graph fp,defer) was lost or is not in the file",
			 stats.incomplete_chains, stats.samples);
	if (stats.cut_chains)
		cli_note(input->command,
			 "%" PRIu64
			 " call %s longer than %d functions: the outermost ones are left out",
			 stats.cut_chains, cli_word(stats.cut_chains, "chain is", "chains are"),
			 PERCH_MAX_CALL_CHAIN);
}
