/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <perch/file.h>
#include <perch/profile.h>
#include <perch/session.h>

#include "recording_names.h"

enum { MOST_SAMPLES = 50000 };

static void add_samples(struct perch_session *session, struct perch_profile *profile)
{
	struct perch_record record;

	for (int nr = 0; nr < MOST_SAMPLES && perch_session_next(session, &record, NULL) > 0;) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		if (perch_profile_add(profile, &record, NULL))
			return;
		nr++;
	}
}

static void put_rows(struct perch_profile *profile, unsigned event, bool functions,
		     void (*put)(const char *name, void *context), void *context)
{
	size_t nr, nr_columns;
	const struct perch_column *const *columns = perch_profile_columns(profile, &nr_columns);
	const struct perch_row *rows;
	char cell[PERCH_CELL_BYTES];

	if (perch_profile_rows(profile, event, NULL, &rows, &nr, NULL))
		return;
	for (size_t i = 0; i < nr; i++) {
		const char *name;

		if (functions && !rows[i].frame.symbol)
			continue;
		name = functions ? perch_profile_frame_name(profile, &rows[i].frame, cell,
							    sizeof(cell))
				 : perch_profile_cell(profile, &rows[i], columns[0], cell,
						      sizeof(cell));
		if (!strchr(name, ','))
			put(name, context);
	}
}

void cli_recording_names(const char *path, const char *column,
			 void (*put)(const char *name, void *context), void *context)
{
	const struct perch_session_options options = { .check_owner = true };
	const struct perch_profile_options columns = { .names = column, .flat = true };
	const struct perch_file_event *events;
	struct perch_profile *profile;
	struct perch_session *session;

	if (!perch_is_recording(path) || perch_session_open(&session, path, &options, NULL))
		return;
	if (!perch_profile_new(&profile, perch_session_processes(session),
			       perch_session_symbols(session), &columns, NULL)) {
		add_samples(session, profile);
		if (!perch_profile_finish(profile, NULL)) {
			size_t nr = perch_reader_events(perch_session_reader(session), &events);

			for (unsigned i = 0; i < nr; i++)
				put_rows(profile, i, !strcmp(column, "sym"), put, context);
		}
		perch_profile_free(profile);
	}
	perch_session_close(session);
}
