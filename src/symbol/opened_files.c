/* SPDX-License-Identifier: MIT */
/* Opens the files of a DSO for programs. */
#include "symbols.h"

int perch_symbols_open_file(struct perch_symbols *symbols, const struct perch_dso *dso, int *fd,
			    struct perch_error *err)
{
	struct symbol_error error = { "not a file" };
	struct proof proof = { 0 };
	struct dso_symbols *cached;
	int rc = -ENOENT;

	*fd = -1;
	if (dso->kind == PERCH_DSO_MODULE)
		perch__set_symbol_error(&error, "no file of the module");
	if (dso->kind == PERCH_DSO_FILE || dso->kind == PERCH_DSO_VDSO ||
	    dso->kind == PERCH_DSO_MODULE)
		rc = perch__open_dso(&symbols->sources, dso, &error, &proof);
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
	*fd = -ENOENT;
	if (dso->kind == PERCH_DSO_FILE || dso->kind == PERCH_DSO_MODULE)
		*fd = perch__open_debug_of(&symbols->sources, dso);
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
	if (dso->kind == PERCH_DSO_FILE)
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
	*fd = perch__download_debug_of(&symbols->sources, dso, &error);
	if (*fd >= 0)
		return 0;
	*fd = -1;
	return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "%s", error.text);
}
