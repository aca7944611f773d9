/* SPDX-License-Identifier: MIT */
/* Opens the files of a DSO for programs. */
#include "symbols.h"

int perch_symbols_open_file(struct perch_symbols *symbols, const struct perch_dso *dso, int *fd,
			    struct perch_error *err)
{
	const struct dso_kind *kind = perch__kind_of(dso);
	struct symbol_error error = { 0 };
	struct proof proof = { 0 };
	struct dso_symbols *cached;
	int rc = -ENOENT;

	*fd = -1;
	perch__set_symbol_error(&error, "%s", kind->no_file ? kind->no_file : "not a file");
	if (kind->open)
		rc = kind->open(&symbols->sources, dso, &error, &proof);
	/* a DSO of a program's own may not live as long as the symbols */
	cached = dso->used ? perch__symbols_of_dso(symbols, dso) : NULL;
	if (cached && !cached->proof.state)
		cached->proof = proof;
	if (rc < 0)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "%s", error.text);
	*fd = rc;
	return 0;
}

int perch_symbols_open_debug_file(struct perch_symbols *symbols, const struct perch_dso *dso,
				  int *fd, struct perch_error *err)
{
	const struct dso_kind *kind = perch__kind_of(dso);

	*fd = kind->open_debug ? kind->open_debug(&symbols->sources, dso) : -ENOENT;
	if (*fd >= 0)
		return 0;
	*fd = -1;
	return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "no separate debug file");
}

int perch_symbols_open_shared_debug_file(struct perch_symbols *symbols, const struct perch_dso *dso,
					 int *fd, uint8_t build_id[20], struct perch_error *err)
{
	size_t size = 0;

	*fd = -ENOENT;
	if (perch_dso_is(dso, PERCH_DSO_IS_FILE))
		*fd = perch__open_shared_debug_of(&symbols->sources, dso, build_id, &size);
	if (*fd >= 0)
		return (int)size;
	*fd = -1;
	return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "no shared debug file");
}

int perch_symbols_download_debug_file(struct perch_symbols *symbols, const struct perch_dso *dso,
				      int *fd, struct perch_error *err)
{
	struct symbol_error error;

	perch__set_symbol_error(
		&error, "%s",
		symbols->sources.debuginfod
			? "the servers have no debug file, or it is not needed"
			: "no servers of debuginfod: perch_symbols_options.debuginfod "
			  "or DEBUGINFOD_URLS is not set");
	*fd = perch_dso_is(dso, PERCH_DSO_IS_FILE)
		      ? perch__download_debug_of(&symbols->sources, dso, &error)
		      : -ENOENT;
	if (*fd >= 0)
		return 0;
	*fd = -1;
	return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "%s", error.text);
}
