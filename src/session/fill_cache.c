/* SPDX-License-Identifier: MIT */
/* Adds the files of a recording that have samples to the build id cache. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <perch/build_id_cache.h>
#include <perch/session.h>

#include "base/reserved.h"

/* The path without the kernel's mark of a removed file. */
static void cached_name(const struct perch_dso *dso, char name[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	size_t length;

	snprintf(name, PATH_MAX, "%s",
		 perch_dso_is(dso, PERCH_DSO_IS_ON_DISK) ? dso->path : "[vdso]");
	length = strlen(name);
	if (length >= sizeof(deleted) && !strcmp(name + length - (sizeof(deleted) - 1), deleted))
		name[length - (sizeof(deleted) - 1)] = 0;
}

/* A file of another format, such as a device, has no names at any time. */
static void count_missing(struct perch_missing_files *missing, const struct perch_dso *dso,
			  const struct perch_error *why)
{
	if (!perch_dso_is(dso, PERCH_DSO_IS_FILE) || dso->path[0] != '/' ||
	    (why->errnum != ENOENT && why->errnum != ENOTDIR && why->errnum != ESTALE &&
	     why->errnum != EACCES && why->errnum != EPERM))
		return;
	if (missing->files++)
		return;
	cached_name(dso, missing->path);
	snprintf(missing->reason, sizeof(missing->reason), "%s", why->message);
}

/* A file without a build id cannot be in the cache. It has names for as long as it is there. */
static void check_without_id(struct perch_symbols *symbols, const struct perch_dso *dso,
			     struct perch_missing_files *missing)
{
	struct perch_error why;
	int fd;

	if (!perch_dso_is(dso, PERCH_DSO_IS_FILE))
		return;
	if (perch_symbols_open_file(symbols, dso, &fd, &why))
		count_missing(missing, dso, &why);
	else
		close(fd);
}

/* What perch_session_fill_cache() was called with. */
struct filling {
	const struct perch_build_id_cache *cache;
	struct perch_symbols *symbols;
	struct perch_missing_files *missing;
	const struct perch_fill_cache_options *options;
};

/* The symbols that find debug files: those of the recording, and of other root directories. Returns
 * NULL after the last ones. */
static struct perch_symbols *next_symbols(const struct filling *filling, size_t i)
{
	const struct perch_fill_cache_options *options = filling->options;

	if (!i)
		return filling->symbols;
	return i <= options->nr_roots ? options->root[i - 1] : NULL;
}

/* Adds a file with the name that is its path. */
static int add_shared(const struct filling *filling, struct perch_symbols *symbols,
		      const struct perch_dso *dso, bool *found, struct perch_error *err)
{
	char own[64], path[PATH_MAX];
	struct perch_build_id_text id;
	uint8_t build_id[20];
	ssize_t length;
	int fd, rc = 0,
		size = perch_symbols_open_shared_debug_file(symbols, dso, &fd, build_id, NULL);

	if (size < 2)
		return 0;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	length = readlink(own, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = 0;
	perch_format_build_id(&id, build_id, (size_t)size);
	if (*path == '/')
		rc = perch_build_id_cache_add(filling->cache, path, &id, PERCH_CACHED_DEBUG, fd,
					      err);
	close(fd);
	*found = true;
	return rc;
}

/* Adds the debug file that was opened. Takes fd. */
static int add_debug(const struct filling *filling, const char *name,
		     const struct perch_build_id_text *id, int fd, bool *found,
		     struct perch_error *err)
{
	int rc = 0;

	/* a file that is not stripped is its own debug file */
	if (!perch_build_id_cache_is(filling->cache, id, PERCH_CACHED_ELF, fd)) {
		rc = perch_build_id_cache_add(filling->cache, name, id, PERCH_CACHED_DEBUG, fd,
					      err);
		*found = true;
	}
	close(fd);
	return rc;
}

/* Adds the separate debug file, and the one that it shares with others. That is first: a link to it
 * begins in the directory of the debug file. */
static int add_debug_files(const struct filling *filling, const char *name,
			   const struct perch_dso *dso, const struct perch_build_id_text *id,
			   struct perch_error *err)
{
	bool shared = false,
	     found = perch_build_id_cache_has(filling->cache, id, PERCH_CACHED_DEBUG);
	bool local = found;
	struct perch_symbols *symbols;
	int fd, rc = 0;

	for (size_t i = 0; !rc && !shared && (symbols = next_symbols(filling, i)); i++)
		rc = add_shared(filling, symbols, dso, &shared, err);
	for (size_t i = 0; !rc && !found && (symbols = next_symbols(filling, i)); i++)
		if (!perch_symbols_open_debug_file(symbols, dso, &fd, NULL)) {
			local = true;
			rc = add_debug(filling, name, id, fd, &found, err);
		}
	if (rc || local || perch_symbols_download_debug_file(filling->symbols, dso, &fd, NULL))
		return rc;
	rc = add_debug(filling, name, id, fd, &found, err);
	return rc || shared ? rc : add_shared(filling, filling->symbols, dso, &shared, err);
}

static int add_file(const struct filling *filling, const struct perch_dso *dso,
		    const struct perch_build_id_text *id, struct perch_error *err)
{
	enum perch_cached_file kind = perch_dso_is(dso, PERCH_DSO_IS_ON_DISK) ? PERCH_CACHED_ELF
									      : PERCH_CACHED_VDSO;
	const struct perch_fill_cache_options *options = filling->options;
	struct perch_error why;
	char name[PATH_MAX];
	int fd, rc = 0;

	cached_name(dso, name);
	if (!perch_build_id_cache_has(filling->cache, id, kind)) {
		if (perch_symbols_open_file(filling->symbols, dso, &fd, &why) && options->open)
			fd = options->open(options->context, dso);
		if (fd < 0) {
			count_missing(filling->missing, dso, &why);
			return 0;
		}
		rc = perch_build_id_cache_add(filling->cache, name, id, kind, fd, err);
		close(fd);
	}
	return rc || kind == PERCH_CACHED_VDSO ? rc : add_debug_files(filling, name, dso, id, err);
}

static int add_dso(const struct filling *filling, const struct perch_dso *dso,
		   struct perch_error *err)
{
	struct perch_build_id_text id;

	if (!dso->used)
		return 0;
	if (dso->build_id_size < 2) {
		check_without_id(filling->symbols, dso, filling->missing);
		return 0;
	}
	perch_format_build_id(&id, dso->build_id, dso->build_id_size);
	if (perch_dso_is(dso, PERCH_DSO_IS_ELF))
		return add_file(filling, dso, &id, err);
	if (perch_dso_is(dso, PERCH_DSO_IS_KERNEL) && filling->options->kernel)
		return perch_build_id_cache_add_kallsyms(filling->cache, &id, err);
	return 0;
}

/* Finds which DSOs have samples. Returns 0 or a negative errno. */
static int read_samples(struct perch_session *session, struct perch_error *err)
{
	struct perch_session_sample sample;
	int rc;

	while ((rc = perch_session_next_sample(session, &sample, err)) > 0)
		;
	return rc;
}

int perch_session_fill_cache(struct perch_session *session,
			     const struct perch_build_id_cache *cache,
			     const struct perch_fill_cache_options *options,
			     struct perch_missing_files *missing, struct perch_error *err)
{
	static const struct perch_fill_cache_options none = { 0 };
	struct perch_missing_files unused = { 0 };
	const struct filling filling = { cache, perch_session_symbols(session),
					 missing ? missing : &unused, options ? options : &none };
	const struct perch_dso *const *dsos;
	size_t nr;
	int rc;

	if (PERCH__CHECK_RESERVED(options, "perch_fill_cache_options", err))
		return -EINVAL;
	rc = read_samples(session, err);
	nr = perch_processes_dsos(perch_session_processes(session), &dsos);

	for (size_t i = 0; i < nr && !rc; i++)
		rc = add_dso(&filling, dsos[i], err);
	return rc;
}
