/* SPDX-License-Identifier: MIT */
/*
 * Programs that run shortly may be removed before a profile is made. So the file of a DSO is opened
 * when the first sample of it comes, and stays open until no sample is left. The number of open
 * files is limited: the one that was opened first is closed for a new one, because a program that
 * has run for long is rarely removed.
 */
#ifndef PERCH_AGENT_HELD_FILES_H
#define PERCH_AGENT_HELD_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/process.h>

#define AGENT_MOST_HELD 256

/* Why a file is not open. */
enum agent_unheld_reason {
	AGENT_UNHELD_GONE,	 /* it was removed or replaced before the sample was read */
	AGENT_UNHELD_PERMISSION, /* this user may not read it */
	AGENT_UNHELD_LIMIT,	 /* it was closed for another one */
	AGENT_UNHELD_OTHER,
	AGENT_NR_UNHELD
};
#define AGENT_UNHELD_NAMES "gone", "permission", "limit", "other"

struct perch_symbols;

/* Files in the order in which they were opened. A zeroed one is empty. */
struct agent_held_files {
	struct agent_held_file {
		const struct perch_dso *dso;
		int fd;
		bool old; /* of the recording before */
	} file[AGENT_MOST_HELD];
	size_t nr;
	bool *seen; /* by index of a DSO: it has a sample */
	size_t nr_seen;
	struct perch_symbols *symbols;	  /* NULL until a file is opened */
	uint64_t unheld[AGENT_NR_UNHELD]; /* files since the start */
};

/* A DSO that was not seen yet has a sample. */
void agent_held_files_add(struct agent_held_files *files, const struct perch_dso *dso);
static inline void agent_held_files_see(struct agent_held_files *files, const struct perch_dso *dso)
{
	if (dso->index >= files->nr_seen || !files->seen[dso->index])
		agent_held_files_add(files, dso);
}
/* Closes files of DSOs that no sample has. sampled: by index. No file is of a recording before. */
void agent_held_files_close_others(struct agent_held_files *files, const bool *sampled);
/* DSOs were freed. left: by index before that, true for the others. */
void agent_held_files_renumber(struct agent_held_files *files, const bool *left, size_t nr);
/* Another recording begins, and all its DSOs are new. Files of the one before stay open. */
void agent_held_files_begin_anew(struct agent_held_files *files);
/* Before the DSOs of the recording before are freed. */
void agent_held_files_close_old(struct agent_held_files *files);
/* Closes all. */
void agent_held_files_clear(struct agent_held_files *files);
/* Returns the descriptor of a DSO's file; -1: it is not open. */
int agent_held_files_find(const struct agent_held_files *files, const struct perch_dso *dso);

#endif
