/* SPDX-License-Identifier: MIT */
/*
 * The states of a thread. The bits of prev_state have had four meanings: before Linux 4.14 it is
 * the state itself, whose bits differ between releases; since then it is the index that ps(1)
 * shows, as a bit, with one more for a thread that was preempted. The print fmt of the tracepoint
 * has the letters of them: __print_flags(REC->prev_state & ..., "|", { 0x1, "S" }, { 0x2, "D" }...
 */
#include "timeline/internal.h"

static const char *const state_names[PERCH_TIMELINE_STATES] = {
	[PERCH_TIMELINE_UNKNOWN] = "unknown",
	[PERCH_TIMELINE_RUNNING] = "running",
	[PERCH_TIMELINE_NEW] = "new",
	[PERCH_TIMELINE_WOKEN] = "woken",
	[PERCH_TIMELINE_PREEMPTED] = "preempted",
	[PERCH_TIMELINE_BLOCKED] = "blocked",
	[PERCH_TIMELINE_SLEEPING] = "sleeping",
	[PERCH_TIMELINE_UNINTERRUPTIBLE] = "uninterruptible",
	[PERCH_TIMELINE_IDLE] = "idle",
	[PERCH_TIMELINE_STOPPED] = "stopped",
	[PERCH_TIMELINE_PARKED] = "parked",
	[PERCH_TIMELINE_DEAD] = "dead",
};

const char *perch_timeline_state_name(uint32_t state)
{
	return state < PERCH_TIMELINE_STATES ? state_names[state] : NULL;
}

/* The meaning of bits without a print fmt: that of Linux 4.14 and later. */
static const struct timeline_task_states recent_states = {
	.letter = { 'S', 'D', 'T', 't', 'X', 'Z', 'P', 'I' },
	.preempted = 0x100,
};

/* Reads a letter: { NUMBER, "LETTER" }. */
static void read_pair(struct timeline_task_states *states, const char *at, const char *end)
{
	char *after;
	uint64_t bits = strtoull(at + 1, &after, 0);
	const char *quote = memchr(after, '"', (size_t)(end - after));

	/* the format is of the file: only what is a letter is printed as one */
	if (quote && bits && !(bits & (bits - 1)) &&
	    ((quote[1] >= 'A' && quote[1] <= 'Z') || (quote[1] >= 'a' && quote[1] <= 'z')))
		states->letter[__builtin_ctzll(bits)] = quote[1];
}

void perch__timeline_read_states(struct timeline_task_states *states, const char *print_fmt)
{
	const char *at = strstr(print_fmt, "__print_flags"), *last = strstr(print_fmt, ": \"R\"");
	int bits = 0;

	memset(states, 0, sizeof(*states));
	for (at = at ? strchr(at, '{') : NULL; at && last && at < last; at = strchr(at, '{')) {
		const char *end = strchr(at, '}');

		if (!end)
			break;
		read_pair(states, at, end);
		at = end;
	}
	for (int bit = 0; bit < 63; bit++)
		bits = states->letter[bit] ? bit + 1 : bits;
	if (bits)
		states->preempted = 1ull << bits;
	else
		*states = recent_states;
}

char perch__timeline_letter(const struct timeline_task_states *states, uint64_t prev_state)
{
	uint64_t bits = prev_state & (states->preempted - 1);
	char letter = 'R';

	/* an idle kernel thread was "D|N" from Linux 4.2 to 4.13 */
	for (; bits; bits &= bits - 1) {
		char next = states->letter[__builtin_ctzll(bits)];

		if (letter == 'R' && next)
			letter = next;
		else if (letter == 'D' && next == 'N')
			letter = 'I';
	}
	return letter;
}

enum perch_timeline_state perch__timeline_state(char letter)
{
	switch (letter) {
	case 'R':
		return PERCH_TIMELINE_PREEMPTED;
	case 'S':
		return PERCH_TIMELINE_SLEEPING;
	case 'D':
	case 'K':
		return PERCH_TIMELINE_UNINTERRUPTIBLE;
	case 'I':
		return PERCH_TIMELINE_IDLE;
	case 'T':
	case 't':
		return PERCH_TIMELINE_STOPPED;
	case 'P':
		return PERCH_TIMELINE_PARKED;
	case 'X':
	case 'Z':
	case 'x':
		return PERCH_TIMELINE_DEAD;
	default:
		return PERCH_TIMELINE_BLOCKED;
	}
}
