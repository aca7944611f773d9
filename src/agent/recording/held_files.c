/* SPDX-License-Identifier: MIT */
#include "held_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/array.h"

static bool is_refused(int rc)
{
	return rc == -EACCES || rc == -EPERM;
}

/* What is not at its path may be where its process sees it. */
static bool is_hidden(const struct perch_dso *dso)
{
	struct stat status;
	char root[64];

	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root/", dso->pid);
	return stat(root, &status) && is_refused(-errno);
}

/* Only the file that was mapped: strange ones are read by the processes that make profiles. Returns
 * a descriptor or a negative errno. */
static int open_file(struct agent_held_files *files, const struct perch_dso *dso)
{
	const struct perch_symbols_options options = { .verified_only = true };
	/* the symbols note what is used, and DSOs are freed before them */
	struct perch_dso copy = *dso;
	struct perch_error err;
	int fd;

	if (!files->symbols && perch_symbols_new(&files->symbols, &options, NULL) < 0)
		return -ENOMEM;
	copy.used = false;
	return perch_symbols_open_file(files->symbols, &copy, &fd, &err) ? -err.errnum : fd;
}

static void close_at(struct agent_held_files *files, size_t at)
{
	close(files->file[at].fd);
	files->nr--;
	memmove(&files->file[at], &files->file[at + 1], (files->nr - at) * sizeof(*files->file));
}

static void count_unheld(struct agent_held_files *files, const struct perch_dso *dso, int rc)
{
	bool gone = rc == -ENOENT || rc == -ENOTDIR || rc == -ESTALE || rc == -ESRCH;
	enum agent_unheld_reason reason = gone ? AGENT_UNHELD_GONE : AGENT_UNHELD_OTHER;

	if (is_refused(rc) || (gone && is_hidden(dso)))
		reason = AGENT_UNHELD_PERMISSION;
	files->unheld[reason]++;
}

/* Without memory, the file is opened again with the next sample. */
static bool set_seen(struct agent_held_files *files, uint32_t index)
{
	if (PERCH__ARRAY_RESERVE_ZEROED(files->seen, files->nr_seen, (size_t)index + 1))
		return false;
	files->seen[index] = true;
	return true;
}

void agent_held_files_add(struct agent_held_files *files, const struct perch_dso *dso)
{
	int fd;

	if (!set_seen(files, dso->index) || !perch_dso_is(dso, PERCH_DSO_IS_FILE) ||
	    (!dso->inode && !dso->build_id_size) || dso->path[0] != '/')
		return;
	fd = open_file(files, dso);
	if (fd < 0) {
		count_unheld(files, dso, fd);
		return;
	}
	if (files->nr == AGENT_MOST_HELD) {
		close_at(files, 0);
		files->unheld[AGENT_UNHELD_LIMIT]++;
	}
	files->file[files->nr++] = (struct agent_held_file){ .dso = dso, .fd = fd };
}

void agent_held_files_close_others(struct agent_held_files *files, const bool *sampled)
{
	for (size_t i = files->nr; i-- > 0;) {
		uint32_t index = files->file[i].dso->index;

		if (sampled[index])
			continue;
		close_at(files, i);
		files->seen[index] = false; /* with the next sample it is opened again */
	}
}

void agent_held_files_renumber(struct agent_held_files *files, const bool *left, size_t nr)
{
	size_t index = 0;

	for (size_t i = 0; i < nr && i < files->nr_seen; i++)
		if (left[i])
			files->seen[index++] = files->seen[i];
	for (; index < files->nr_seen; index++)
		files->seen[index] = false;
}

static void discard_seen(struct agent_held_files *files)
{
	free(files->seen);
	files->seen = NULL;
	files->nr_seen = 0;
}

void agent_held_files_begin_anew(struct agent_held_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		files->file[i].old = true;
	discard_seen(files);
}

void agent_held_files_close_old(struct agent_held_files *files)
{
	for (size_t i = files->nr; i-- > 0;)
		if (files->file[i].old)
			close_at(files, i);
}

void agent_held_files_clear(struct agent_held_files *files)
{
	while (files->nr)
		close_at(files, files->nr - 1);
	discard_seen(files);
	perch_symbols_free(files->symbols);
	files->symbols = NULL;
}

int agent_held_files_find(const struct agent_held_files *files, const struct perch_dso *dso)
{
	for (size_t i = 0; i < files->nr; i++)
		if (files->file[i].dso == dso)
			return files->file[i].fd;
	return -1;
}
