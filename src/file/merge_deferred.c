/* SPDX-License-Identifier: MIT */
/*
 * Samples whose user callchain a later record tells are handed out when that record is reached,
 * right before it; those that wait in vain, after the last record.
 */
#include "internal.h"

/* A recording without such samples takes no part in it, and pays nothing. */
static bool has_deferred_callchains(const struct perch_reader *reader)
{
	for (size_t i = 0; i < reader->nr_events; i++)
		if (reader->events[i].attr.defer_callchain)
			return true;
	return false;
}

int perch_reader_merge_deferred(struct perch_reader *reader, struct perch_error *err)
{
	int rc;

	if (reader->merging_deferred || !has_deferred_callchains(reader))
		return 0;
	rc = perch_deferred_new(&reader->deferred, 0, err);
	reader->merging_deferred = !rc;
	return rc;
}

void perch__deferred_restart(struct perch_reader *reader)
{
	struct perch_record record;

	reader->delivering_deferred = false;
	reader->ended = false;
	while (reader->merging_deferred && perch_deferred_next(reader->deferred, NULL, &record) > 0)
		;
}

/* The samples that the deferred record completes, then itself. */
static int next_merged(struct perch_reader *reader, struct perch_record *record)
{
	if (perch_deferred_next(reader->deferred, &reader->callchain_deferred, record) <= 0) {
		reader->delivering_deferred = false;
		*record = reader->callchain_deferred;
	}
	return 1;
}

int perch__deferred_next(struct perch_reader *reader, struct perch_record *record,
			 struct perch_error *err)
{
	int rc;

	if (reader->delivering_deferred)
		return next_merged(reader, record);
	while (!reader->ended) {
		rc = perch__reader_record(reader, record, err);
		if (rc < 0)
			return rc;
		reader->ended = !rc;
		if (rc && record->type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
			reader->delivering_deferred = true;
			reader->callchain_deferred = *record;
			return next_merged(reader, record);
		}
		if (rc && perch_deferred_hold(reader->deferred, record) <= 0)
			return 1;
	}
	return perch_deferred_next(reader->deferred, NULL, record) > 0;
}
