/* SPDX-License-Identifier: MIT */
/* What an answer of a server means. All of it is untrusted. */
#ifndef PERCH_AGENT_PUSH_ANSWER_H
#define PERCH_AGENT_PUSH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What becomes of a request. */
enum agent_push_outcome {
	AGENT_PUSH_TAKEN,
	AGENT_PUSH_RETRY,   /* the server has not taken it, or it was not sent */
	AGENT_PUSH_REFUSED, /* and would refuse it again */
	AGENT_PUSH_UNKNOWN, /* all was sent, and there is no answer */
};

enum agent_push_outcome agent_push_outcome_of(int code);

/*
 * Parses Retry-After: seconds, or a date in one of the three forms of HTTP. now: seconds of the
 * wall clock. Returns the seconds to wait, 0 for a date that has passed, -1 for another text.
 */
int64_t agent_push_retry_after(const char *text, int64_t now);

/*
 * Reads the partial_success of an answer of OTLP. reason is set to its message, cleaned, "" without
 * one. Returns the number of profiles that the server rejected, 0 if the bytes are no such answer.
 */
uint64_t agent_push_rejected(const void *bytes, size_t size, char *reason, size_t reason_size);

/*
 * Finds the reason in the answer of an error: the message of a google.rpc.Status if is_protobuf, or
 * of an object of JSON, or the first line of the text, cleaned.
 */
void agent_push_reason(const void *bytes, size_t size, bool is_protobuf, char *reason,
		       size_t reason_size);

#endif
