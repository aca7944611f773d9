/* SPDX-License-Identifier: MIT */
/* Lines of source files (perch/source.h). */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/source.h>

#include "base/array.h"
#include "base/files/io.h"
#include "base/files/open_file.h"
#include "base/reserved.h"
#include "base/no_memory.h"

#define MAX_FILE  (16u << 20)
#define MAX_BYTES (256u << 20) /* of all files */

struct source_file {
	char *path;
	char *text; /* NULL: it cannot be read */
	size_t size;
	uint32_t *line; /* where each line begins */
	size_t nr_lines, lines_capacity;
};

struct perch_sources {
	struct perch_sources_options options;
	struct source_file **file;
	size_t nr;
	size_t bytes; /* of all texts */
	struct perch_sources_stats stats;
	char missing_path[256], newer_path[256], large_path[256];
};

/* Replaces the first directories by the prefix, as objdump(1) does. Returns false if too long. */
static bool make_path(const struct perch_sources_options *options, const char *path, char *result,
		      size_t size)
{
	const char *rest = path;

	if (!options->prefix)
		return snprintf(result, size, "%s", path) < (int)size;
	for (uint64_t i = 0; i < options->strip && *rest; i++) {
		const char *slash = strchr(rest + (*rest == '/'), '/');

		if (!slash)
			break;
		rest = slash;
	}
	return snprintf(result, size, "%s%s%s", options->prefix, *rest == '/' ? "" : "/", rest) <
	       (int)size;
}

static char *read_text(int fd, size_t size)
{
	char *text = perch__malloc(size + 1);

	if (text && perch__read_upto(fd, text, size) != (ssize_t)size) {
		free(text);
		return NULL;
	}
	return text;
}

static bool find_lines(struct source_file *file)
{
	size_t at = 0;

	while (at < file->size) {
		const char *newline = memchr(file->text + at, '\n', file->size - at);

		if (PERCH__ARRAY_RESERVE(file->line, file->lines_capacity, file->nr_lines + 2))
			return false;
		file->line[file->nr_lines++] = (uint32_t)at;
		if (!newline)
			break;
		at = (size_t)(newline - file->text) + 1;
	}
	return true;
}

static void note(size_t *count, char *first, size_t size, const char *path)
{
	if (!(*count)++)
		perch_clean_text(path, first, size);
}

static void read_file(struct perch_sources *sources, struct source_file *file, uint64_t modified_at)
{
	char path[PATH_MAX];
	struct stat status;
	int fd = make_path(&sources->options, file->path, path, sizeof(path))
			 ? perch__open_regular(sources->options.root, path)
			 : -ENAMETOOLONG;

	if (fd < 0 || fstat(fd, &status)) {
		note(&sources->stats.missing, sources->missing_path, sizeof(sources->missing_path),
		     file->path);
	} else if (status.st_size > MAX_FILE ||
		   sources->bytes + (size_t)status.st_size > MAX_BYTES) {
		note(&sources->stats.too_large, sources->large_path, sizeof(sources->large_path),
		     path);
	} else {
		uint64_t written = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				   (uint64_t)status.st_mtim.tv_nsec;

		file->size = (size_t)status.st_size;
		file->text = read_text(fd, file->size);
		if (file->text && !find_lines(file)) {
			free(file->text);
			file->text = NULL;
		}
		if (!file->text) {
			note(&sources->stats.missing, sources->missing_path,
			     sizeof(sources->missing_path), file->path);
		} else {
			sources->bytes += file->size;
			if (modified_at && written > modified_at)
				note(&sources->stats.newer, sources->newer_path,
				     sizeof(sources->newer_path), path);
		}
	}
	if (fd >= 0)
		close(fd);
}

/* Functions have few files, and mostly the one of the line before: it is first. */
static struct source_file *find_file(struct perch_sources *sources, const char *path,
				     uint64_t modified_at)
{
	struct source_file *file;

	for (size_t i = 0; i < sources->nr; i++) {
		file = sources->file[i];
		if (strcmp(file->path, path))
			continue;
		memmove(sources->file + 1, sources->file, i * sizeof(*sources->file));
		sources->file[0] = file;
		return file;
	}
	if (sources->nr >= PERCH_SOURCES_MAX) {
		sources->stats.too_many = true;
		return NULL;
	}
	if (PERCH__ARRAY_RESERVE_BY_NR(sources->file, sources->nr, 1))
		return NULL;
	file = perch__calloc(1, sizeof(*file));
	if (!file || !(file->path = perch__strdup(path))) {
		free(file);
		return NULL;
	}
	memmove(sources->file + 1, sources->file, sources->nr * sizeof(*sources->file));
	sources->file[0] = file;
	sources->nr++;
	read_file(sources, file, modified_at);
	return file;
}

const char *perch_sources_line(struct perch_sources *sources, const char *path,
			       uint64_t modified_at, uint32_t line, size_t *length)
{
	struct source_file *file = sources ? find_file(sources, path, modified_at) : NULL;
	size_t end;

	if (!file || !file->text || !line || line > file->nr_lines)
		return NULL;
	end = line < file->nr_lines ? file->line[line] : file->size;
	*length = end - file->line[line - 1];
	while (*length && (file->text[file->line[line - 1] + *length - 1] == '\n' ||
			   file->text[file->line[line - 1] + *length - 1] == '\r'))
		--*length;
	return file->text + file->line[line - 1];
}

bool perch_sources_has(const struct perch_sources *sources, const char *path)
{
	for (size_t i = 0; sources && i < sources->nr; i++)
		if (!strcmp(sources->file[i]->path, path))
			return sources->file[i]->text;
	return false;
}

void perch_sources_get_stats(const struct perch_sources *sources, struct perch_sources_stats *stats)
{
	*stats = sources ? sources->stats : (struct perch_sources_stats){ 0 };
	if (!sources)
		return;
	stats->missing_path = sources->missing_path;
	stats->newer_path = sources->newer_path;
	stats->large_path = sources->large_path;
}

int perch_sources_new(struct perch_sources **sources, const struct perch_sources_options *options,
		      struct perch_error *err)
{
	*sources = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_sources_options", err))
		return -EINVAL;
	*sources = calloc(1, sizeof(**sources));
	if (!*sources)
		return PERCH__NO_MEMORY(err, "for source files");
	if (options)
		(*sources)->options = *options;
	return 0;
}

void perch_sources_free(struct perch_sources *sources)
{
	for (size_t i = 0; sources && i < sources->nr; i++) {
		free(sources->file[i]->path);
		free(sources->file[i]->text);
		free(sources->file[i]->line);
		free(sources->file[i]);
	}
	if (sources)
		free(sources->file);
	free(sources);
}
