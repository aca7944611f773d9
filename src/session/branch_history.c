/* SPDX-License-Identifier: MIT */
/*
 * Call chains with the branches of a sample's branch stack: the sampled address, then the target
 * and the source of each branch, newest first, then the callers from before the oldest branch. All
 * addresses are those of instructions that ran: a caller has the address of its call, so that one
 * profile can have callers and branches.
 */
#include <string.h>

#include "internal.h"

#define MAX_BRANCHES	 (PERCH_MAX_CALL_CHAIN / 2)
#define LONGEST_CALL	 8 /* bytes of an instruction */
#define IS_ADDRESS(word) ((word) && (word) < PERCH_CONTEXT_MAX)

struct branch {
	uint64_t from, to;
};

/* A chain that is made, and the recorded one whose addresses it takes. */
struct history {
	uint64_t *words;
	size_t nr_words, nr; /* nr: of addresses */
	bool swapped, cut;
	uint8_t mode;  /* of the last word */
	uint64_t last; /* the last address */
	struct perch_chain recorded;
	struct perch_chain_address caller; /* the next one of the recorded chain */
	bool has_caller;
	bool is_return; /* the caller is a return address */
};

static uint64_t marker_of(uint8_t mode)
{
	switch (mode) {
	case PERCH_MISC_HYPERVISOR:
		return PERCH_CONTEXT_HV;
	case PERCH_MISC_KERNEL:
		return PERCH_CONTEXT_KERNEL;
	case PERCH_MISC_USER:
		return PERCH_CONTEXT_USER;
	case PERCH_MISC_GUEST_KERNEL:
		return PERCH_CONTEXT_GUEST_KERNEL;
	case PERCH_MISC_GUEST_USER:
		return PERCH_CONTEXT_GUEST_USER;
	default:
		return PERCH_CONTEXT_GUEST;
	}
}

static void put_word(struct history *history, uint64_t word)
{
	history->words[history->nr_words++] = history->swapped ? __builtin_bswap64(word) : word;
}

static void put_address(struct history *history, uint8_t mode, uint64_t ip)
{
	if (history->nr == PERCH_MAX_CALL_CHAIN) {
		history->cut = true;
		return;
	}
	if (mode != history->mode)
		put_word(history, marker_of(mode));
	history->mode = mode;
	history->last = ip;
	history->nr++;
	put_word(history, ip);
}

/* Reads the next caller. It has a return address, unless the code after it is of another mode. */
static void next_caller(struct history *history, uint8_t mode)
{
	history->has_caller = perch_chain_next(&history->recorded, &history->caller);
	history->is_return = history->has_caller && history->caller.cpumode == mode;
}

/* calls: the user part has addresses of calls. */
static void put_caller(struct history *history, bool calls)
{
	uint64_t ip = history->caller.ip;
	uint8_t mode = history->caller.cpumode;

	if (history->is_return && ip && !(calls && mode == PERCH_MISC_USER))
		ip--;
	put_address(history, mode, ip);
	next_caller(history, mode);
}

/* True if the branch is the call after which the caller continues, or the end of interrupted code.
 */
static bool is_call_of_caller(const struct history *history, uint64_t from)
{
	uint64_t ip = history->caller.ip;

	return history->has_caller && from < ip + !history->is_return && ip - from <= LONGEST_CALL;
}

static size_t read_branches(const struct perch_record *record, struct branch *branches)
{
	size_t nr = 0;

	for (uint64_t i = 0; i < record->sample.branches.nr && nr < MAX_BRANCHES; i++) {
		struct perch_branch_entry entry;

		perch_branch_at(record, i, &entry);
		if (IS_ADDRESS(entry.from) || IS_ADDRESS(entry.to))
			branches[nr++] = (struct branch){ entry.from, entry.to };
	}
	return nr;
}

static bool are_equal(const struct branch *a, const struct branch *b, size_t nr)
{
	return !memcmp(a, b, nr * sizeof(*a));
}

/*
 * Removes iterations of loops that follow one like them, as perf does: an iteration goes from the
 * first branch of an address to the next one. The last iteration may be incomplete.
 */
static size_t remove_loops(struct branch *branches, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		size_t first = 0, length;

		while (branches[first].from != branches[i].from)
			first++;
		length = i - first < nr - i ? i - first : nr - i;
		if (first == i || !are_equal(branches + first, branches + i, length))
			continue;
		memmove(branches + i, branches + i + length, (nr - i - length) * sizeof(*branches));
		nr -= length;
	}
	return nr;
}

/* A branch has the mode of its sample, unless it is in the other half of the addresses. */
static uint8_t mode_of(const struct perch_record *record, uint64_t address)
{
	uint8_t mode = record->misc & PERCH_MISC_CPUMODE_MASK;

	if (mode != PERCH_MISC_USER && mode != PERCH_MISC_KERNEL)
		return mode;
	return address >> 63 ? PERCH_MISC_KERNEL : PERCH_MISC_USER;
}

static void put_branches(struct history *history, const struct perch_record *record,
			 const struct branch *branches, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t from = branches[i].from, to = branches[i].to;

		/* no instruction ran between a branch and a sample at its target */
		if (IS_ADDRESS(to) && !(i == 0 && to == history->last))
			put_address(history, mode_of(record, to), to);
		if (!IS_ADDRESS(from))
			continue;
		put_address(history, mode_of(record, from), from);
		if (is_call_of_caller(history, from))
			next_caller(history, history->caller.cpumode);
	}
}

size_t perch__branch_history(const struct perch_record *record, bool calls, uint64_t *words,
			     bool *cut)
{
	uint8_t mode = record->misc & PERCH_MISC_CPUMODE_MASK;
	uint64_t ip = record->sample.ip;
	struct branch branches[MAX_BRANCHES];
	struct history history = { .words = words,
				   .swapped = record->parse_info->swapped,
				   .mode = mode };
	size_t nr = calls ? 0 : read_branches(record, branches);

	nr = remove_loops(branches, nr);
	perch_chain_init(&history.recorded, record);
	next_caller(&history, mode);
	/* readers of the chain take the sampled address to be before it if it is not in it */
	put_address(&history, mode, ip);
	if (history.has_caller && history.caller.cpumode == mode && history.caller.ip == ip)
		next_caller(&history, mode);
	/* user code ran before the kernel did, and branches of the kernel are not recorded */
	if (nr && mode_of(record, branches[0].to) == PERCH_MISC_USER)
		while (history.has_caller && history.mode == PERCH_MISC_KERNEL)
			put_caller(&history, calls);
	put_branches(&history, record, branches, nr);
	while (history.has_caller && !history.cut)
		put_caller(&history, calls);
	*cut = history.cut;
	return history.nr_words;
}
