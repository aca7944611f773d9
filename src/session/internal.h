/* SPDX-License-Identifier: MIT */
/* The parts of a session. */
#ifndef PERCH_SESSION_INTERNAL_H
#define PERCH_SESSION_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <perch/session.h>

/* ---- session.c ---- */

/* Returns the addresses of perch_session_address(). */
struct perch_addresses *perch__session_addresses(struct perch_session *session);

/* ---- branch_chain.c ---- */

/*
 * Makes the call chain of a sample whose branch stack is a call stack (branch_sample_type has
 * PERCH_SAMPLE_BRANCH_CALL_STACK). The words have the byte order of the recording. Returns their
 * number, at most `capacity`; 0 if the recorded call chain stays, because it has no user part.
 */
size_t perch__branch_chain(const struct perch_record *record, uint64_t *words, size_t capacity);

/* ---- branch_history.c ---- */

/* Words of a chain with branches: the mode may change before each address. */
#define BRANCH_HISTORY_WORDS (2 * PERCH_MAX_CALL_CHAIN)

/*
 * Makes the call chain of a sample with the branches of its branch stack. calls: the branch stack
 * is a call stack, from which the user part of the chain was made: only return addresses of the
 * kernel are changed. The words have the byte order of the recording. cut: the chain lacks its
 * outer addresses. Returns the number of words, at least 1.
 */
size_t perch__branch_history(const struct perch_record *record, bool calls, uint64_t *words,
			     bool *cut);

#endif
