/* SPDX-License-Identifier: MIT */
/*
 * The processed profile of the Firefox Profiler, version 60 (docs-developer/CHANGELOG-formats.md of
 * github.com/firefox-devtools/profiler), which later versions of the profiler convert:
 *
 *	firefox.c		the file, facts about the recording, kinds of markers
 *	firefox_tables.c	tables that the threads share: stacks, frames, functions, files
 *	firefox_threads.c	threads with samples and markers
 *	firefox_counters.c	counters
 *
 * Times are milliseconds since the first sample or marker.
 */
#ifndef PERCH_EXPORT_FIREFOX_H
#define PERCH_EXPORT_FIREFOX_H

#include "export/internal.h"

/* Colors of frames and markers, as the Firefox Profiler has them. */
enum category {
	CATEGORY_OTHER, /* the default must be first and gray */
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_INLINED,
};

struct firefox_lib {
	uint32_t dso;  /* perch_dso.index */
	uint32_t name; /* text */
};

struct firefox {
	struct perch_export *export;
	const struct perch_file_event *event;
	size_t nr_events;
	uint32_t *written; /* of perch__export_event_positions() */
	struct export_tree tree;
	struct export_tracks tracks;
	uint64_t start; /* the time 0 of the file in ns */
	struct json_file file;

	uint32_t *lib; /* by DSO: index in libs; NO_INDEX: not written */
	struct firefox_lib *libs;
	size_t nr_libs;
	uint32_t *source;      /* by text: index in sources; NO_INDEX: no source file */
	uint32_t *source_text; /* by index in sources */
	size_t nr_sources;

	uint32_t *sorted;      /* threads, by process */
	uint32_t *position;    /* by thread: position in sorted */
	uint32_t *main;	       /* by position: that of the first thread of the process */
	uint32_t *marker_name; /* by kind of marker: text */
};

/* ---- firefox_tables.c ---- */

/* Numbers the DSOs that have functions. Returns 0 or -ENOMEM. */
int perch__firefox_number_libs(struct firefox *firefox);
/* Numbers the source files. Returns 0 or -ENOMEM. */
int perch__firefox_number_sources(struct firefox *firefox);
void perch__firefox_put_libs(struct firefox *firefox);
void perch__firefox_put_tables(struct firefox *firefox);

/* ---- firefox_threads.c ---- */

/* Sorts the threads by process. Returns 0 or -ENOMEM. */
int perch__firefox_sort_threads(struct firefox *firefox);
/* Writes a time of the recording. */
void perch__firefox_put_time(struct firefox *firefox, const char *name, uint64_t time);
/* Returns 0 or -ENOMEM. */
int perch__firefox_put_threads(struct firefox *firefox);

/* ---- firefox_counters.c ---- */

/* Returns 0 or -ENOMEM. */
int perch__firefox_put_counters(struct firefox *firefox);

#endif
