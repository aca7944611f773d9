/* SPDX-License-Identifier: MIT */
/*
 * Only samples in functions whose name has "work" and in the vdso are compared, up to the outermost
 * such function: the C library has no frame pointers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_compare.h"

static const struct perch_symbol *find_symbol(struct oracle *oracle, uint64_t ip,
					      struct perch_location *location)
{
	perch_processes_resolve(oracle->processes, oracle->thread, PERCH_MISC_USER, ip, location);
	return perch_symbols_find(oracle->symbols, location->dso, location->offset);
}

static bool is_work(struct oracle *oracle, uint64_t ip)
{
	struct perch_location location;
	const struct perch_symbol *symbol = find_symbol(oracle, ip, &location);

	return location.dso->kind == PERCH_DSO_VDSO || (symbol && strstr(symbol->name, "work"));
}

/* Marks the names that the unwound chain has. */
static void find_names(struct oracle *oracle)
{
	for (size_t i = 0; oracle->nr_names && i < oracle->nr_found; i++) {
		struct perch_location location;
		const struct perch_symbol *symbol =
			find_symbol(oracle, oracle->found[i], &location);

		for (size_t k = 0; k < oracle->nr_names; k++)
			oracle->found_name[k] |= strstr(location.dso->path, oracle->name[k]) ||
						 (symbol && strstr(symbol->name, oracle->name[k]));
	}
}

size_t oracle_missing_names(const struct oracle *oracle)
{
	size_t nr = 0;

	for (size_t i = 0; i < oracle->nr_names; i++) {
		if (oracle->found_name[i])
			continue;
		fprintf(stderr, "no chain has %s\n", oracle->name[i]);
		nr++;
	}
	return nr;
}

/* The user part of the kernel's chain, up to the outermost function that is compared. */
static void read_expected(struct oracle *oracle, const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	size_t last = 0;

	oracle->nr_expected = 0;
	perch_chain_init(&chain, record);
	while (oracle->nr_expected < ORACLE_MAX && perch_chain_next(&chain, &address)) {
		if (address.cpumode != PERCH_MISC_USER)
			continue;
		oracle->expected[oracle->nr_expected++] = address.ip;
		if (is_work(oracle, address.ip - (oracle->nr_expected > 1)))
			last = oracle->nr_expected;
	}
	oracle->nr_expected = last;
}

/* Unwinding stores return addresses minus 1. */
static bool same(uint64_t expected, uint64_t found)
{
	return expected == found || expected == found + 1;
}

/* Returns how many of the frames that unwinding found the kernel's chain lacks; 0 if more than 2.
 */
static size_t missing_at(const struct oracle *oracle, size_t expected, size_t found)
{
	for (size_t nr = 1; nr <= 1 + (expected > 1); nr++)
		if (found + nr < oracle->nr_found &&
		    same(oracle->expected[expected], oracle->found[found + nr]))
			return nr;
	return 0;
}

/*
 * Compares a sample. In the first and the last instructions of a function the frame pointer is that
 * of the caller, and the kernel's chain lacks the caller. It also lacks a function that a signal
 * interrupted, and the caller of that function if this was in such instructions.
 */
static void compare(struct oracle *oracle, struct perch_unwind_result *result)
{
	size_t at = 0, missing, skipped_entry = 0, skipped_signal = 0;

	for (size_t i = 0; i < oracle->nr_expected; i++, at++) {
		if (at < oracle->nr_found && same(oracle->expected[i], oracle->found[at]))
			continue;
		missing = missing_at(oracle, i, at);
		if (missing) {
			skipped_entry += i == 1;
			skipped_signal += i > 1;
			at += missing;
			continue;
		}
		/* the last function may be one that a signal interrupted on another stack */
		if (at + (i > 2) >= oracle->nr_found && result->end == PERCH_UNWIND_TRUNCATED) {
			find_names(oracle);
			oracle->too_short++;
			return;
		}
		oracle->other++;
		if (getenv("ORACLE_VERBOSE")) {
			fprintf(stderr, "end %d:", (int)result->end);
			for (size_t k = 0; k < oracle->nr_expected; k++)
				fprintf(stderr, " %" PRIx64, oracle->expected[k]);
			fputs("\n  found", stderr);
			for (size_t k = 0; k < oracle->nr_found; k++)
				fprintf(stderr, " %" PRIx64, oracle->found[k]);
			fputs("\n", stderr);
		}
		return;
	}
	find_names(oracle);
	/* there is at most one signal handler */
	if (skipped_entry > 1 || skipped_signal > 1)
		oracle->other++;
	else if (skipped_signal)
		oracle->signal++;
	else if (skipped_entry)
		oracle->entry++;
	else
		oracle->equal++;
}

static void note_other(struct oracle *oracle, uint64_t ip)
{
	struct perch_location location;
	const struct perch_symbol *symbol = find_symbol(oracle, ip, &location);
	const char *error = perch_symbols_error(oracle->symbols, location.dso);

	oracle->of_others++;
	snprintf(oracle->reason, sizeof(oracle->reason), "%#" PRIx64 " in %s: %s", ip,
		 location.dso->path,
		 symbol	 ? symbol->name
		 : error ? error
			 : "no function");
}

void oracle_print_others(const struct oracle *oracle)
{
	fprintf(stderr,
		"%u records, %u samples of the kernel, %u without thread, %u of other functions, the last at %s\n",
		oracle->records, oracle->of_kernel, oracle->without_thread, oracle->of_others,
		oracle->reason);
}

static int take_sample(struct oracle *oracle, const struct perch_record *record)
{
	struct perch_unwind_result result;

	oracle->thread =
		perch_processes_thread(oracle->processes, record->sample.pid, record->sample.tid);
	if ((record->misc & PERCH_MISC_CPUMODE_MASK) != PERCH_MISC_USER) {
		oracle->of_kernel++;
		return 0;
	}
	if (!oracle->thread) {
		oracle->without_thread++;
		return 0;
	}
	if (!is_work(oracle, record->sample.ip)) {
		note_other(oracle, record->sample.ip);
		return 0;
	}
	read_expected(oracle, record);
	if (oracle->nr_expected < 2)
		return 0;
	if (perch_unwind(oracle->unwinder, oracle->thread, record, oracle->found, ORACLE_MAX,
			 &result))
		return -ENOMEM;
	oracle->nr_found = result.nr;
	oracle->samples++;
	compare(oracle, &result);
	return 0;
}

int oracle_take(struct oracle *oracle, const struct perch_record *record)
{
	oracle->records++;
	if (record->type == PERCH_RECORD_SAMPLE)
		return take_sample(oracle, record);
	return perch_processes_apply(oracle->processes, record);
}

int oracle_begin(struct oracle *oracle, enum perch_arch arch, const char *root,
		 struct perch_error *err)
{
	const struct perch_symbols_options options = { .root = root };
	int rc = perch_processes_new(&oracle->processes, err);

	if (!rc)
		rc = perch_symbols_new(&oracle->symbols, &options, err);
	if (!rc)
		rc = perch_unwinder_new(&oracle->unwinder, arch, oracle->processes, oracle->symbols,
					err);
	return rc;
}

void oracle_end(struct oracle *oracle)
{
	perch_unwinder_free(oracle->unwinder);
	perch_symbols_free(oracle->symbols);
	perch_processes_free(oracle->processes);
}
