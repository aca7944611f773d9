/* SPDX-License-Identifier: MIT */
/* Adds the files of a recording that have samples to the build id cache. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <perch/session.h>

#include "build_id_cache.h"

/* The path without the kernel's mark of a removed file. */
static void cached_name(const struct perch_dso *dso, char name[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	size_t length;

	snprintf(name, PATH_MAX, "%s", dso->kind == PERCH_DSO_VDSO ? "[vdso]" : dso->path);
	length = strlen(name);
	if (length >= sizeof(deleted) && !strcmp(name + length - (sizeof(deleted) - 1), deleted))
		name[length - (sizeof(deleted) - 1)] = 0;
}

/* A file that cannot be opened, or is not the recorded one, has no names anyway. */
static int add_file(const struct cli_cache *cache, struct perch_symbols *symbols,
		    const struct perch_dso *dso, const struct cli_cache_id *id,
		    struct perch_error *err)
{
	enum cli_cache_kind kind = dso->kind == PERCH_DSO_VDSO ? CLI_CACHE_VDSO : CLI_CACHE_ELF;
	char name[PATH_MAX];
	int fd, rc = 0;

	cached_name(dso, name);
	if (!cli_cache_has(cache, id, kind)) {
		if (perch_symbols_open_file(symbols, dso, &fd, NULL))
			return 0;
		rc = cli_cache_add(cache, name, id, kind, fd, err);
		close(fd);
	}
	if (rc || dso->kind == PERCH_DSO_VDSO || cli_cache_has(cache, id, CLI_CACHE_DEBUG) ||
	    perch_symbols_open_debug_file(symbols, dso, &fd, NULL))
		return rc;
	/* a file that is not stripped is its own debug file */
	if (!cli_cache_is(cache, id, CLI_CACHE_ELF, fd))
		rc = cli_cache_add(cache, name, id, CLI_CACHE_DEBUG, fd, err);
	close(fd);
	return rc;
}

static int add_dso(const struct cli_cache *cache, struct perch_symbols *symbols,
		   const struct perch_dso *dso, bool with_kernel, struct perch_error *err)
{
	struct cli_cache_id id;

	if (!dso->used || dso->build_id_size < 2)
		return 0;
	cli_cache_set_id(&id, dso->build_id, dso->build_id_size);
	switch (dso->kind) {
	case PERCH_DSO_KERNEL:
		return with_kernel ? cli_cache_add_kallsyms(cache, &id, err) : 0;
	case PERCH_DSO_FILE:
	case PERCH_DSO_MODULE:
	case PERCH_DSO_VDSO:
		return add_file(cache, symbols, dso, &id, err);
	default:
		return 0;
	}
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

int cli_cache_fill(const struct cli_cache *cache, struct perch_session *session, bool with_kernel,
		   struct perch_error *err)
{
	const struct perch_dso *const *dsos;
	int rc = read_samples(session, err);
	size_t nr = perch_processes_dsos(perch_session_processes(session), &dsos);

	for (size_t i = 0; i < nr && !rc; i++)
		rc = add_dso(cache, perch_session_symbols(session), dsos[i], with_kernel, err);
	return rc;
}
